"""What is to hold of a recorded exchange on chat completions, embeddings or models."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from tests.conformance.compare import same, written
from tests.conformance.gemini import Checks
from tests.conformance.records import Record, body_of, cut_at_random, same_bytes
from tests.conformance.result import Mismatch
from wire import errors
from wire.core.lenient import decoded
from wire.core.memory import WireStruct, encode
from wire.neutral.messages import Reply
from wire.openai.chat import types
from wire.openai.chat.endpoints import chat_completions, stream_chat_completions
from wire.openai.chat.fold import fold
from wire.openai.chat.parse import EventReader, parse_reply
from wire.openai.chat.reader import ChunkReader, parse_completion
from wire.openai.common.error_body import parse_error
from wire.openai.common.reader import parse_plain

REQUESTS: dict[str, type[WireStruct]] = {
    "chat.completions": types.ChatCompletionRequest,
    "embeddings": types.EmbeddingRequest,
}
ANSWERS: dict[str, type[WireStruct]] = {
    "embeddings": types.EmbeddingList,
    "models": types.ModelList,
    "model": types.Model,
    "deleted model": types.DeletedModel,
}


def scope(record: Record) -> Checks | None:
    """What is to hold of a record, `None` if its endpoint is not built."""
    endpoint = _endpoint(record)
    if endpoint not in REQUESTS and endpoint not in ANSWERS:
        return None
    checks: Checks = []
    if isinstance(record.get("request_body"), dict) and endpoint in REQUESTS:
        checks.append(check_request)
    if not 200 <= record["status"] < 300:
        return [*checks, check_error]
    if endpoint in ANSWERS:
        return [*checks, check_plain]
    return [*checks, check_stream if record.get("framing") == "sse" else check_answer]


def _endpoint(record: Record) -> str:
    """The endpoint that the record belongs to: what else has `models` in its path is filed under it
    too.
    """
    endpoint = str(record.get("endpoint"))
    if endpoint != "models":
        return endpoint
    url = str(record.get("url")).partition("?")[0].rstrip("/")
    if "/api/models/" in url or "/ai/models/" in url:
        return "other models"
    names = {("GET", True): "models", ("GET", False): "model", ("DELETE", False): "deleted model"}
    return names.get((str(record.get("method")), url.endswith("/models")), "other models")


def check_request(record: Record) -> None:
    """Decoded into our types and written again, equal; and, if a server took it, taken by ours in
    the same words.
    """
    kind = REQUESTS[_endpoint(record)]
    body = json.dumps(record["request_body"]).encode()
    request = decoded(body, kind)
    same(written(request), record["request_body"], "request")
    same_bytes(encode(request), body)
    if isinstance(request, types.ChatCompletionRequest) and record["status"] == 200:
        call = stream_chat_completions(request) if request.stream else chat_completions(request)
        sent, typed = json.loads(call.body), json.loads(msgspec.json.encode(request))
        if request.stream_options is None:
            sent.pop("stream_options", None)  # usage is asked for
        same(sent, json.loads(encode(request)) if not request.stream else typed, "sent")


def check_error(record: Record) -> None:
    """A typed error of the status, with the server's words."""
    body = body_of(record)
    error = parse_error(record["status"], record.get("response_headers") or {}, body)
    if (error.status, error.raw) != (record["status"], body):
        raise Mismatch(f"error is {error.status}")
    try:
        plain = json.loads(body)
    except ValueError:
        return  # a page of a proxy, in its own words
    found = plain[0] if isinstance(plain, list) and plain else plain
    inside = found.get("error") if isinstance(found, dict) and found.get("error") else found
    words = inside.get("message", inside.get("detail")) if isinstance(inside, dict) else inside
    if isinstance(words, str) and errors.one_line(words) not in error.message:
        raise Mismatch(f"error says {error.message!r}, not {words!r}")
    code = inside.get("code") if isinstance(inside, dict) else None
    if code is not None and (error.code, error.details[0].code) != (str(code), code):
        raise Mismatch(f"error is {error.code}, not {code}")


def check_plain(record: Record) -> None:
    """One struct, equal as JSON and as bytes."""
    body = body_of(record)
    kind = ANSWERS[_endpoint(record)]
    try:
        answer = parse_plain(kind, body)
    except errors.StreamInvalid:
        if not body.strip():
            return  # nothing of the wire in it, and that is said
        raise
    plain = json.loads(body)
    same(written(answer), {"data": plain} if isinstance(plain, list) else plain, "answer")
    if not isinstance(plain, list):
        same_bytes(answer.raw, body)


def check_answer(record: Record) -> None:
    """A whole answer, equal as JSON from its typed values and unknown keys, as bytes from what it
    kept; and its neutral reading.
    """
    body = body_of(record)
    try:
        answer = parse_completion(body)
    except (errors.StreamInvalid, errors.StreamIncomplete):
        if not body.strip():
            return  # nothing of the wire in it, and that is said
        raise
    except errors.APIError as error:
        said = json.loads(body)
        if (
            isinstance(said, dict) and said.get("choices") and not said.get("error")
        ) or error.raw.strip() != body.strip():
            raise
        return
    plain = json.loads(body)
    same(written(answer), plain, "answer")
    same_bytes(answer.raw, body)
    for choice, other in zip(answer.choices or (), plain.get("choices") or (), strict=True):
        check_message(choice.message, other.get("message"))
        check_reply(
            parse_reply(answer, choice=choice.index or 0), other.get("message") or {}, other
        )


def check_message(message: types.Message | None, plain: Any) -> None:
    """A message and its calls kept the bytes that say what they say."""
    if message is None:
        return
    same(json.loads(message.raw or b"null"), plain, "message.raw")
    for call, other in zip(message.tool_calls or (), plain.get("tool_calls") or (), strict=True):
        same(json.loads(call.raw or b"null"), other, "tool_call.raw")


def check_reply(reply: Reply, message: Any, choice: Any) -> None:
    """The neutral reading holds all texts, thoughts and calls."""
    content = message.get("content")
    parts = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
    same(
        reply.text,
        "".join(part.get("text") or "" for part in parts if part.get("type") == "text"),
        "text",
    )
    slots = [
        message[name]
        for name in ("reasoning_content", "reasoning", "reasoning_text")
        if message.get(name)
    ]
    inside = "".join(each.get("text", "") for part in parts for each in part.get("thinking") or ())
    if slots or inside:
        same(reply.message.thought, (slots or [""])[0] + inside, "thought")
    legacy = message.get("function_call")
    calls = message.get("tool_calls") or (
        [{"function": legacy}] if legacy and legacy.get("name") else []
    )
    same(
        [call.name for call in reply.message.tool_calls], [_named(call) for call in calls], "calls"
    )
    for call, other in zip(reply.message.tool_calls, calls, strict=True):
        text = (other.get("function") or {}).get("arguments")
        if call.kind == "function" and isinstance(text, str) and text:
            same(call.text, text, "arguments")
            if call.arguments is not None:
                same(call.arguments, json.loads(text) or {}, "arguments")
    finish = choice.get("finish_reason")
    same(reply.stop.raw, finish or None, "finish")


def _named(call: Any) -> str:
    return str((call.get("function") or call.get("custom"))["name"])


def check_stream(record: Record) -> None:
    """Each chunk as an answer; the fold and the reading hold all of them; the same whole and cut at
    random.
    """
    body = body_of(record)
    if body.lstrip()[:1] in (b"{", b"["):
        check_answer(record)  # a server that does not stream
        return
    chunks, reader = _read([body])
    again, reader_again = _read(cut_at_random(body, record["id"]))
    if [chunk.raw for chunk in again] != [chunk.raw for chunk in chunks] or type(
        reader.error
    ) is not type(reader_again.error):
        raise Mismatch("the result depends on where the bytes were cut")
    payloads = _payloads(body)
    if reader.error is not None and not isinstance(
        reader.error, errors.StreamIncomplete | errors.APIError
    ):
        raise reader.error
    if isinstance(reader.error, errors.StreamIncomplete) and any(
        b'"finish_reason":"' in payload or b"[DONE]" in body for payload in payloads
    ):
        raise reader.error
    if isinstance(reader.error, errors.APIError):
        if not any(b'"error"' in payload for payload in payloads):
            raise reader.error
        payloads = payloads[: len(chunks)]
    if any("outside" not in note.message for note in reader.notes):
        raise Mismatch(f"dropped: {reader.notes}")
    if len(chunks) != len(payloads):
        raise Mismatch(f"{len(chunks)} chunks of {len(payloads)} events")
    plains = [json.loads(payload) for payload in payloads]
    for index, (chunk, plain, payload) in enumerate(zip(chunks, plains, payloads, strict=True)):
        same(written(chunk), plain, f"chunk {index}")
        same_bytes(chunk.raw, payload)
    if chunks:
        check_fold(chunks, plains, reader)


def check_fold(
    chunks: list[types.ChatCompletionChunk], plains: list[Any], reader: ChunkReader
) -> None:
    """Nothing that any chunk held is lost, and the answer they fold into reads as they do."""
    whole = fold(chunks)
    plain = json.loads(whole.raw or b"null")
    same(written(whole), plain, "fold")
    for choice in plain.get("choices") or ():
        index = choice.get("index") or 0
        pieces = [
            each
            for one in plains
            for each in one.get("choices") or ()
            if (each.get("index") or 0) == index
        ]
        deltas = [piece.get("delta") or {} for piece in pieces]
        reading = EventReader(choice=index)
        for chunk in chunks:
            reading.feed(chunk)
        reading.close(error=reader.error)
        reply = reading.reply()
        texts = [delta.get("content") for delta in deltas]
        if all(text is None or isinstance(text, str) for text in texts):
            same(
                choice["message"].get("content") or "",
                "".join(text or "" for text in texts),
                "fold content",
            )
            same(reply.text, choice["message"].get("content") or "", "reply text")
        for name in ("reasoning_content", "reasoning", "refusal"):
            same(
                choice["message"].get(name) or "",
                "".join(delta.get(name) or "" for delta in deltas),
                f"fold {name}",
            )
        fragments = [each for delta in deltas for each in delta.get("tool_calls") or ()]
        arguments = [
            "".join((each.get("function") or {}).get("arguments") or "" for each in fragments)
        ]
        same(
            ["".join(call.text for call in reply.message.tool_calls if call.kind == "function")],
            arguments,
            "reply arguments",
        )
        ids = list(dict.fromkeys(each["id"] for each in fragments if each.get("id")))
        same(
            [call.get("id") for call in choice["message"].get("tool_calls") or ()],
            ids or [None] * bool(fragments),
            "fold ids",
        )
        if reader.error is None:
            same(_said(parse_reply(whole, choice=index)), _said(reply), "folded reply")
    usages = [_usage(each) for each in plains]
    last = next((usage for usage in reversed(usages) if usage), None)
    if last is not None:
        same(plain.get("usage"), last, "fold usage")


def _said(reply: Reply) -> Any:
    return json.loads(
        json.dumps(
            [
                reply.text,
                reply.message.thought,
                [[c.id, c.name, c.text] for c in reply.message.tool_calls],
                repr(reply.stop),
            ]
        )
    )


def _usage(plain: Any) -> Any:
    beside = [choice.get("usage") for choice in plain.get("choices") or ()]
    return next(
        (
            usage
            for usage in (plain.get("usage"), *beside, (plain.get("x_groq") or {}).get("usage"))
            if usage
        ),
        None,
    )


def _read(pieces: list[bytes]) -> tuple[list[types.ChatCompletionChunk], ChunkReader]:
    reader = ChunkReader()
    chunks = [chunk for piece in pieces for chunk in reader.feed(piece)]
    chunks += reader.close()
    return chunks, reader


def _payloads(body: bytes) -> list[bytes]:
    """The JSON texts of a stream, found in another way than the library's."""
    found = [
        line[5:].strip()
        for line in body.lstrip().replace(b"\r\n", b"\n").split(b"\n")
        if line.startswith(b"data:")
    ]
    return [payload for payload in found if payload not in (b"", b"[DONE]")]
