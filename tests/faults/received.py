"""Recorded bodies of all wires, the calls that receive them, and what a program does with a result.

`SEEDS` has each body with the calls that may receive it: the raw ones of the wire and the neutral
ones of `Chat`, whole, streamed, and with a status of an error. `receive` plays a body to a call
through a real client. `use` does what a program may do afterwards: read, print, copy, pickle, save,
load, continue, repair, prune, hand over.
"""

from __future__ import annotations

import base64
import copy
import json
import pickle
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import msgspec

import wire
from wire import (
    AsyncClient,
    Chat,
    Client,
    anthropic,
    converse,
    gemini,
    history,
    ollama,
    openai,
    sessions,
)
from wire.core.call import Call, StreamCall
from wire.core.memory import WireStruct
from wire.core.multipart import FormFile, Multipart
from wire.core.retry import NONE
from wire.errors import RuleError, WireError
from wire.gemini import interactions
from wire.gemini import media_calls as google_calls
from wire.gemini.uploads import start_upload
from wire.neutral.data_source import DataSource
from wire.neutral.decisions import DecideRequest, one_of, scale, yes_no
from wire.neutral.images import ImageRequest
from wire.neutral.messages import Media, Message, Reply, ToolResult
from wire.neutral.speech import SpeechRequest
from wire.neutral.transcripts import TranscriptRequest
from wire.openai import responses
from wire.openai.common import media_calls
from wire.testing.emulator import Emulator

FIXTURES = Path(__file__).parents[1] / "fixtures"
MODELS = {
    "gemini": "gemini-3.8-flash",
    "openai": "gpt-4.1",
    "openai@responses": "gpt-5.2",
    "anthropic": "claude-opus-4-8",
    "bedrock": "us.anthropic.claude-opus-4-6-v1",
    "ollama": "qwen3:8b",
    "gemini@interactions": "gemini-3.8-flash",
}
PLACES = {name: {"region": "us-east-1"} for name in ("bedrock", "bedrock@invoke")}
AnyCall = Call[Any] | StreamCall[Any, Any]


@dataclass(frozen=True)
class Seed:
    """A body, and the calls that may receive it."""

    name: str
    wire: str
    """The provider that sends it."""
    body: bytes
    status: int
    calls: tuple[AnyCall, ...]


# --- seeds ----------------------------------------------------------------------------------------


@cache
def chat_of(name: str) -> Chat:
    place = PLACES.get(name, {})
    model = f"{name}:{MODELS[name]}"
    return Chat(model, api_key="fake-key", http=_PLAYER, retry=NONE, **place)


def calls_of(name: str) -> tuple[AnyCall, ...]:
    """The calls of a wire for one response: both doors, streamed or not."""
    chat, model = chat_of(name), MODELS[name]
    neutral = (chat.call("Hi"), chat.stream_call("Hi"))
    if name == "gemini":
        asked = gemini.GenerateContentRequest(contents=gemini.contents("Hi"))
        return (
            gemini.generate_content(model, asked),
            gemini.stream_generate_content(model, asked),
            *neutral,
        )
    if name == "openai":
        request = openai.ChatCompletionRequest(model=model, messages=openai.messages("Hi"))
        return (openai.chat_completions(request), openai.stream_chat_completions(request), *neutral)
    if name == "openai@responses":
        asking = responses.ResponseRequest(model=model, input="Hi")
        return (responses.create_response(asking), responses.stream_response(asking), *neutral)
    if name == "ollama":
        asks = ollama.ChatRequest(model=model, messages=[ollama.Message(role="user", content="Hi")])
        return (ollama.chat(asks), ollama.stream_chat(asks), *neutral)
    if name == "gemini@interactions":
        first = interactions.InteractionRequest(model=model, input="Hi")
        return (
            interactions.create_interaction(first),
            interactions.stream_interaction(first),
            *neutral,
        )
    if name == "bedrock":
        said = converse.ConverseRequest(
            messages=[converse.Message(role="user", content=[converse.ContentBlock(text="Hi")])]
        )
        return (converse.converse(model, said), converse.converse_stream(model, said), *neutral)
    message = anthropic.MessageRequest(
        model=model, max_tokens=9, messages=[anthropic.Message(role="user", content="Hi")]
    )
    return (anthropic.create_message(message), anthropic.stream_message(message), *neutral)


def _recorded() -> Iterator[tuple[str, str, int, bytes]]:
    for name in ("gemini", "anthropic"):
        for path in sorted((FIXTURES / name / "streams").glob("*.sse")):
            yield f"{name}/{path.stem}", name, 200, path.read_bytes()
    for line in (FIXTURES / "openai" / "streams.jsonl").read_text().splitlines():
        record = json.loads(line)
        yield f"openai/{record['id']}", "openai", 200, record["sse"].encode()
    wires = {
        "sample": "gemini",
        "openai": "openai",
        "responses": "openai@responses",
        "anthropic": "anthropic",
        "converse": "bedrock",
        "ollama": "ollama",
        "interactions": "gemini@interactions",
    }
    vendors = {"gemini": "gemini", "anthropic": "anthropic", "openai-responses": "openai@responses"}
    for file in (*wires, "calls"):
        for line in (FIXTURES / "corpus" / f"{file}.jsonl").read_text().splitlines():
            record = json.loads(line)
            if record["endpoint"] in _GENERATING:
                name = wires.get(file) or vendors.get(record["vendor"], "openai")
                body = record["response_body"].encode()
                if record.get("response_body_encoding") == "base64":
                    body = base64.b64decode(body)
                yield f"{file}/{record['id']}", name, record["status"], body


_GENERATING = (
    "generateContent",
    "streamGenerateContent",
    "chat.completions",
    "responses",
    "messages",
    "converse",
    "converse-stream",
    "api/chat",
    "interactions.create",
)


def _plain() -> Iterator[tuple[str, str, Call[Any], Any]]:
    """Bodies of the other endpoints, each with its call."""
    status = {
        "code": 429,
        "message": "Slow down.",
        "status": "RESOURCE_EXHAUSTED",
        "details": [
            {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3.5s"},
            {"@type": "t/google.rpc.QuotaFailure", "violations": [{"quotaId": "PerDay"}]},
            {"@type": "t/google.rpc.ErrorInfo", "reason": "R", "metadata": {"a": "b"}},
        ],
    }
    answer = {
        "candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 1},
    }
    file = {
        "name": "files/a",
        "mimeType": "text/plain",
        "sizeBytes": "3",
        "createTime": "2026-11-01T00:00:00Z",
        "state": "ACTIVE",
        "uri": "https://example.com/a",
        "error": status,
        "videoMetadata": {"videoDuration": "3s"},
    }
    cached = {
        "name": "cachedContents/a",
        "model": "models/m",
        "expireTime": "2026-11-01T00:00:00Z",
        "usageMetadata": {"totalTokenCount": 7},
    }
    batch = {
        "name": "batches/a",
        "done": True,
        "metadata": {
            "@type": "t",
            "state": "BATCH_STATE_SUCCEEDED",
            "batchStats": {"requestCount": "2"},
            "output": {"inlinedResponses": {"inlinedResponses": [{"response": answer}]}},
        },
        "response": {"inlinedResponses": {"inlinedResponses": [{"response": answer}]}},
    }
    content = gemini.Content(parts=[gemini.Part(text="Hi")])
    model = {"name": "models/m", "inputTokenLimit": 9, "temperature": 1.0, "topK": 4}
    count = gemini.count_tokens("m", gemini.CountTokensRequest(contents=[content]))
    embedded = gemini.embed_content("m", gemini.EmbedContentRequest(content=content))
    yield "files", "gemini", gemini.get_file("files/a"), file
    yield "list of files", "gemini", gemini.list_files(), {"files": [file], "nextPageToken": "p"}
    yield "cached content", "gemini", gemini.get_cached_content("cachedContents/a"), cached
    yield "batch", "gemini", gemini.get_batch("batches/a"), batch
    yield "batches", "gemini", gemini.list_batches(), {"operations": [batch]}
    yield "model", "gemini", gemini.get_model("m"), model
    yield "models", "gemini", gemini.list_models(), {"models": [model]}
    details = [{"modality": "TEXT", "tokenCount": 7}]
    yield "count", "gemini", count, {"totalTokens": 7, "promptTokensDetails": details}
    yield "embedding", "gemini", embedded, {"embedding": {"values": [0.5, -1e-9]}}
    upload = start_upload(gemini.File(display_name="a"), size=3, mime_type="text/plain")
    yield "upload", "gemini", upload, {"file": file}
    request = openai.EmbeddingRequest(model="m", input="Hi")
    vectors = [{"object": "embedding", "index": 0, "embedding": [0.5, 1e-9]}]
    usage = {"prompt_tokens": 1, "total_tokens": 1}
    listed = {"object": "list", "data": vectors, "model": "m", "usage": usage}
    yield "embeddings", "openai", openai.embeddings(request), listed
    yield from _decisions()
    row = {"id": "m-1", "object": "model", "created": 1, "owned_by": "us"}
    yield "models", "openai", openai.list_models(), {"object": "list", "data": [row]}
    yield "list", "openai", openai.list_models(), [row]
    yield "model", "openai", openai.get_model("m-1"), row
    claude = {"id": "m", "type": "model", "display_name": "M", "max_tokens": 64000}
    page = {"data": [claude], "has_more": False, "first_id": "m", "last_id": "m"}
    yield "models", "anthropic", anthropic.list_models(), page
    yield "model", "anthropic", anthropic.get_model("m"), claude
    counts = {"processing": 0, "succeeded": 1, "errored": 0, "canceled": 0, "expired": 0}
    job = {"id": "msgbatch_1", "type": "message_batch", "request_counts": counts}
    yield "batch", "anthropic", anthropic.get_batch("msgbatch_1"), job
    blocks = [{"type": "text", "text": "Hi"}]
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": blocks}
    outcome = {"custom_id": "a", "result": {"type": "succeeded", "message": message}}
    yield "results", "anthropic", anthropic.batch_results("msgbatch_1"), outcome


def _decisions() -> Iterator[tuple[str, str, Any, Any]]:
    """Answers to closed questions, for raw calls and for neutral ones."""
    asked = {"q": yes_no("A"), "r": one_of("B", ["c", "d"]), "s": scale("E", ["f", "g"])}
    request = DecideRequest("Hi", asked)
    chances = [{"value": "c", "probability": 0.75}, {"value": "d", "probability": 0.25}]
    levels = [{"label": "f", "value": 0, "probability": 1}, {"label": "g", "value": 1}]
    listed = [
        {"type": "predicate", "name": "q", "probability": 0.5},
        {"type": "choice", "choice": "c", "confidence": 0.75, "probabilities": chances},
        {"type": "score", "score": 0.0, "confidence": 1, "probabilities": levels},
    ]
    named = {
        "q": {"type": "noul", "noul": 0.5, "confidence": 0.5},
        "r": {"type": "choice", "choice": "c", "probabilities": {"c": 0.75, "d": 0.25}},
        "s": {"type": "score", "score": 0.5, "probabilities": {"0": 0.5}, "legend": {"0": "f"}},
    }
    usage = {"input_tokens": 3, "input_tokens_details": {"cached_tokens": 1}, "cost": 0.5}
    tokens = {"total_input_tokens": 3, "input_tokens_by_modality": [{"modality": "text"}]}
    of_list = {"answers": listed, "model": "m", "usage": usage}
    of_map = {"answers": named, "model": "m", "usage": usage}
    at_google = {"answers": named, "usage": tokens}
    for name, made, answer in (
        ("decisions", openai.decide_call(request, "m", "openai"), of_list),
        ("system one", openai.decide_call(request, "m", "openrouter"), of_map),
    ):
        yield name, "openai", made, answer
    yield "decisions", "gemini", gemini.decide_call(request, "m", "gemini"), at_google
    one = {"q": gemini.DecisionQuestion(type="noul", instructions="A")}
    raw = gemini.CreateDecisionRequest(model="m", input="Hi", questions=one)
    yield "raw decisions", "gemini", gemini.create_decision(raw), at_google


_WAV = b"RIFF\x04\0\0\0WAVE"
_AT = {
    "openai": "https://api.openai.com/v1",
    "mistral": "https://api.mistral.ai/v1",
    "openrouter": "https://openrouter.ai/api/v1",
    "together": "https://api.together.ai/v1",
    "xai": "https://api.x.ai/v1",
    "gemini": "https://generativelanguage.googleapis.com/v1beta",
}


@cache
def media_seeds() -> tuple[Seed, ...]:
    """Images, speech and transcripts of the emulator: a whole response is for all calls, a stream
    for those that read one."""
    return tuple(_media())


def _media() -> Iterator[Seed]:
    emulator = Emulator([{"say": "H", "times": 0}])
    headers = {"authorization": "Bearer fake-key", "x-goog-api-key": "fake-key"}
    for number, (kind, host, path, asked) in enumerate(_MEDIA):
        if isinstance(asked, Multipart):
            form, body = asked.content_type, b"".join(asked)
        else:
            form, body = "application/json", json.dumps(asked).encode()
        url = f"{_AT[host]}{path}"
        answer = emulator.answer("POST", url, {**headers, "content-type": form}, body)
        assert answer.status == 200, answer.body
        is_stream = dict(answer.headers)["content-type"].startswith("text/event-stream")
        made = _media_calls(kind, host)
        made = tuple(each for each in made if isinstance(each, StreamCall) or not is_stream)
        name = f"media/{number} {kind} of {host}{', streamed' if is_stream else ''}"
        yield Seed(name, host, answer.body, 200, made)


def _form(**more: str) -> Multipart:
    sound = FormFile(DataSource(_WAV), "a.wav", "audio/wav")
    return Multipart({"model": "m", **more, "file": sound}, boundary="b")


_DRAW: dict[str, Any] = {"model": "m", "prompt": "A cat"}
_SAY: dict[str, Any] = {"model": "gpt-4o-mini-tts", "input": "Hi", "voice": "alloy"}
_TRANSCRIPTS = "/audio/transcriptions"
_GOOGLE_SAY: dict[str, Any] = {
    "contents": [{"parts": [{"text": "H"}]}],
    "generationConfig": {"responseModalities": ["AUDIO"]},
}
_GOOGLE_HEAR: dict[str, Any] = {
    "contents": [{"parts": [{"inlineData": {"mimeType": "audio/wav", "data": "UklGRg=="}}]}],
    "generationConfig": {"audioTranscriptionConfig": {"wordTimestamp": True}},
}
_GOOGLE_DRAW: dict[str, Any] = {
    "contents": [{"parts": [{"text": "A cat"}]}],
    "generationConfig": {"responseModalities": ["TEXT", "IMAGE"]},
}
_METHODS = ("generateContent", "streamGenerateContent?alt=sse")
_MEDIA: list[tuple[str, str, str, Any]] = [
    ("images", "openai", "/images/generations", _DRAW),
    ("images", "openai", "/images/generations", {**_DRAW, "stream": True, "partial_images": 1}),
    ("images", "openrouter", "/images", _DRAW),
    ("images", "openrouter", "/images", {**_DRAW, "stream": True, "partial_images": 1}),
    ("images", "together", "/images/generations", _DRAW),
    ("images", "xai", "/images/generations", _DRAW),
    ("images", "gemini", "/models/gemini-3.1-flash-image:generateContent", _GOOGLE_DRAW),
    (
        "drawn images",
        "gemini",
        "/models/imagen-4.0-generate-001:predict",
        {"instances": [{"prompt": "A cat"}]},
    ),
    ("speech", "openai", "/audio/speech", _SAY),
    ("speech", "openai", "/audio/speech", {**_SAY, "stream_format": "sse"}),
    ("speech", "mistral", "/audio/speech", {"input": "Hi", "voice_id": "v"}),
    ("speech", "mistral", "/audio/speech", {"input": "Hi", "voice_id": "v", "stream": True}),
    ("speech", "together", "/audio/speech", {**_SAY, "response_format": "mp3"}),
    ("speech", "together", "/audio/speech", {**_SAY, "response_format": "mp3", "stream": True}),
    *(("speech", "gemini", f"/models/gemini-3.8-flash-tts:{each}", _GOOGLE_SAY)
      for each in _METHODS),
    ("transcripts", "openai", _TRANSCRIPTS, _form(response_format="verbose_json")),
    ("transcripts", "openai", _TRANSCRIPTS, _form(response_format="diarized_json")),
    ("transcripts", "openai", _TRANSCRIPTS, _form(stream="true", include="logprobs")),
    ("transcripts", "openai", _TRANSCRIPTS, _form(stream="true", response_format="diarized_json")),
    ("transcripts", "mistral", _TRANSCRIPTS, _form(diarize="true")),
    ("transcripts", "mistral", _TRANSCRIPTS, _form(diarize="true", stream="true")),
    (
        "transcripts",
        "together",
        _TRANSCRIPTS,
        _form(diarize="true", response_format="verbose_json"),
    ),
    ("transcripts", "xai", "/stt", _form()),
    *(("transcripts", "gemini", f"/models/gemini-3.8-flash:{each}", _GOOGLE_HEAR)
      for each in _METHODS),
]  # fmt: skip
"""What is asked for, the host, the path and the body."""


def _media_calls(kind: str, host: str) -> tuple[AnyCall, ...]:
    """The raw and the neutral calls, whole and streamed where the host has streams."""
    makes: Any = google_calls if host == "gemini" else media_calls
    image, speech = ImageRequest("A cat"), SpeechRequest("Hi", voice="alloy")
    transcript = TranscriptRequest(Media(data=_WAV, media_type="audio/wav"))
    drawn = openai.ImageRequest(model="m", prompt="A cat")
    said = openai.SpeechRequest(model="gpt-4o-mini-tts", input="Hi", voice="alloy")
    heard = openai.TranscriptionRequest(model="m")
    raw: tuple[AnyCall, ...] = ()
    if kind == "images":
        raw = (openai.generate_images(drawn), openai.stream_images(drawn))
        neutral: tuple[tuple[str, Any], ...] = (("image", image), ("stream_image", image))
    elif kind == "drawn images":
        return (makes.image_call(image, "imagen-4.0-generate-001", host),)
    elif kind == "speech":
        events = "stream_format" if host == "openai" else "stream"
        asked = msgspec.structs.replace(said, **{events: "sse" if host == "openai" else True})
        raw = (openai.speech(said), openai.stream_speech(said), openai.stream_speech(asked))
        neutral = (("speech", speech), ("stream_speech", speech))
    else:
        raw = (openai.transcriptions(heard, _WAV), openai.stream_transcriptions(heard, _WAV))
        neutral = (("transcript", transcript), ("stream_transcript", transcript))
    has = makes.kinds_of(host)
    made = [
        getattr(makes, f"{name}_call")(asks, "m", host) for name, asks in neutral if name in has
    ]
    return (*(() if host == "gemini" else raw), *made)


@cache
def seeds() -> tuple[Seed, ...]:
    found = [
        Seed(name, vendor, body, status, calls_of(vendor))
        for name, vendor, status, body in _recorded()
    ]
    for name, vendor, call, value in _plain():
        found.append(Seed(f"{vendor} {name}", vendor, json.dumps(value).encode(), 200, (call,)))
    return (*(each for each in found if each.body), *media_seeds())


# --- receiving ------------------------------------------------------------------------------------


class _Player(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """Plays one body to each request, in pieces."""

    def __init__(self) -> None:
        self.status, self.pieces = 200, [b""]

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return httpx.Response(self.status, stream=_Pieces(self.pieces))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        return self.handle_request(request)


class _Pieces(httpx.SyncByteStream, httpx.AsyncByteStream):
    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._pieces)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece


_PLAYER = _Player()


@cache
def client_of(name: str) -> Client:
    return Client(name, api_key="fake-key", http=_PLAYER, retry=NONE, **PLACES.get(name, {}))


@cache
def async_client_of(name: str) -> AsyncClient:
    place = PLACES.get(name, {})
    return AsyncClient(name, api_key="fake-key", http=_PLAYER, retry=NONE, **place)


def receive(
    name: str, call: AnyCall, status: int, pieces: list[bytes]
) -> tuple[list[Any], WireError | None]:
    """The result of a call, with the chunks or events before it, and the error that ended it."""
    _PLAYER.status, _PLAYER.pieces = status, pieces
    client, got = client_of(name), []
    try:
        if isinstance(call, Call):
            got.append(client.send(call))
        else:
            with client.stream(call) as stream:
                got.extend(stream)
                got.append(stream.partial())
                got.append(stream.result())
    except WireError as error:
        return got, error
    return got, None


async def receive_async(
    name: str, call: AnyCall, status: int, pieces: list[bytes]
) -> tuple[list[Any], WireError | None]:
    """As `receive`, with the client for asyncio."""
    _PLAYER.status, _PLAYER.pieces = status, pieces
    client, got = async_client_of(name), []
    try:
        if isinstance(call, Call):
            got.append(await client.send(call))
        else:
            async with client.stream(call) as stream:
                got.extend([each async for each in stream])
                got.append(stream.partial())
                got.append(await stream.result())
    except WireError as error:
        return got, error
    return got, None


# --- using ----------------------------------------------------------------------------------------

after_each: list[Callable[[], None]] = []
"""Called after each operation below: a fuzz run measures what every one of them costs."""


def _done(_: object = None) -> None:
    for each in after_each:
        each()


def use(name: str, got: Any) -> None:
    """Do what a program may do with a result, a chunk, an event or an error."""
    _done(repr(got))
    _done(str(got))
    _done(copy.copy(got))
    _done(copy.deepcopy(got))
    pickled = pickle.dumps(got)
    _done()
    again = pickle.loads(pickled)
    _done()
    if isinstance(got, WireError):
        again.partial  # noqa: B018
        if got.partial is not None:
            use(name, got.partial)
        return
    _done(wire.notes(got))
    if isinstance(got, WireStruct):
        use_struct(name, got)
    elif isinstance(got, Reply):
        assert again == got or got != got
        use_reply(name, got)


_PARSE_REPLY: dict[str, Callable[[Any], Reply]] = {
    "GenerateContentResponse": gemini.parse_reply,
    "ChatCompletion": openai.parse_reply,
    "Response": responses.parse_reply,
    "MessageResponse": anthropic.parse_reply,
}


def use_struct(name: str, got: WireStruct) -> None:
    """Read a struct of a wire, and convert a response to a reply."""
    _done(wire.unknown(got))
    _done(got.raw)
    _done(hash(id(got)))
    _done(msgspec.to_builtins(got))
    if parse := _PARSE_REPLY.get(type(got).__name__):
        reply = parse(got)
        _done()
        use_reply(name, reply)


def use_reply(name: str, reply: Reply, *, continues: bool = False) -> None:
    """Read a reply, save and load it, and send it back, to its own wire and to the others.

    A reply without parts, or with a call that is none, may be refused; with `continues` it may not.
    """
    for part in reply.message.parts:
        repr(part.origin)
    _done(str((reply.text, reply.thought, reply.usage, reply.stop, reply.id, reply.model)))
    for call in reply.tool_calls:
        if call.arguments is not None:
            msgspec.json.encode(call.arguments)
    turn: list[Message] = [Message.user("Hi"), reply.message]
    results = [ToolResult(call.id, call.name, "done") for call in reply.tool_calls]
    turn.append(Message.tool_response(*results) if results else Message.user("And now?"))
    dumped = sessions.dump_session(turn)
    _done()
    loaded = sessions.load_session(dumped)
    _done()
    assert list(loaded.messages) == turn
    for kind in ("text", "markdown", "json"):
        _done(sessions.export(turn, kind))
    _done(history.estimate_tokens(reply.message))
    _done(history.check(turn))
    repaired = history.repair(turn)
    _done()
    _done(history.prune(turn, max_messages=2))
    for each in MODELS:
        _done(history.hand_over(turn, each, MODELS[each]))
        for messages in (repaired, loaded.messages) if each == name else (repaired,):
            try:
                _done(chat_of(each).call(messages=list(messages)))
            except RuleError:  # such as a turn without parts
                if continues:
                    raise
