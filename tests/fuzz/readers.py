"""Each reader of foreign bytes, with the inputs that the random ones are made from.

A reader raises a `WireError` for what it refuses, and nothing else.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import functools
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from unittest.mock import patch

import httpx
import msgspec
import yaml

from tests.agent.test_run_journal import drive
from tests.faults import received
from wire import AsyncChat, auth, bulk, sessions
from wire.agent import load_config, load_run, read_run, save_run
from wire.auth import aws_config
from wire.auth.credential import Absent, Fetched, Place
from wire.catalogue.catalogue import parse_file
from wire.core.event_stream import Decoder as FrameDecoder
from wire.core.event_stream import frame_bytes
from wire.core.limits import Limits
from wire.core.multipart import FormFile, Multipart
from wire.core.rate_limits import header_limits
from wire.core.response_headers import shown
from wire.errors import RuleError, WireError
from wire.gemini import live
from wire.http.websocket import WebSocket
from wire.neutral.data_source import DataSource
from wire.neutral.messages import Media, Message, ToolCall, ToolResult
from wire.neutral.request import Tool
from wire.openai import realtime
from wire.openai import responses as openai_responses
from wire.openai.responses import websocket as responses
from wire.pipeline import parse
from wire.pipeline.checkpoint import load_checkpoint
from wire.pipeline.conditions import parse_condition
from wire.pipeline.linting import lint
from wire.serving import Gateway
from wire.testing.cassette.checks.scan import scan
from wire.testing.cassette.convert.conversion import NothingToConvert, convert
from wire.testing.cassette.format.file import load
from wire.testing.emulator import AsyncEmulatorTransport, Emulator
from wire.testing.emulator.aws_signatures import KNOWN, Signed, is_signed, refusal
from wire.tools import Toolbox, mcp, tool

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "tests" / "fixtures"
_LONGEST = 20_000
"""Bytes of a seed. Each input costs time in proportion, and small ones find as much."""

Read = Callable[[bytes, str, Random], object]


class Reader(NamedTuple):
    """What reads bytes from elsewhere."""

    read: Read
    """Gets the bytes, the name of the seed from which they were made, and dice for its options."""
    seeds: Callable[[], Mapping[str, bytes]]
    """Valid inputs, by name."""
    seconds: float = 1.0
    """Seconds of the processor that a megabyte may take, in one operation of several."""


@tool
def look(place: str) -> str:
    """Look at a place."""
    return place


# --- what servers answer --------------------------------------------------------------------------


def _of_wire(name: str) -> Reader:
    def found() -> Sequence[received.Seed]:
        return [each for each in received.seeds() if each.wire == name]

    return _of_seeds(found)


def _of_seeds(found: Callable[[], Sequence[received.Seed]]) -> Reader:
    @functools.cache
    def seeds() -> Mapping[str, received.Seed]:
        return {each.name: each for each in found() if len(each.body) <= _LONGEST}

    def read(data: bytes, seed: str, dice: Random) -> object:
        of = seeds().get(seed) or dice.choice(list(seeds().values()))
        name = of.wire
        status = of.status if dice.random() < 0.8 else dice.choice((200, 400, 429, 500, 529))
        cut = dice.randrange(len(data) + 1)
        got, error = received.receive(name, dice.choice(of.calls), status, [data[:cut], data[cut:]])
        for each in received.after_each:
            each()
        if error is not None:
            assert "cannot be decoded" not in error.message, "the net under the decoders"
            received.use(name, error)
            raise error
        received.use(name, got[-1])
        return got

    return Reader(read, lambda: {key: each.body for key, each in seeds().items()})


@functools.cache
def _framed() -> Mapping[str, bytes]:
    return {
        each.name: each.body
        for each in received.seeds()
        if each.wire == "bedrock" and each.body[:1] == b"\0"
    }


def _frames(data: bytes, seed: str, dice: Random) -> object:
    """Frames as they come: each one that is read is written again with the same bytes."""
    decoder, frames = FrameDecoder(), []
    cut = dice.randrange(len(data) + 1)
    try:
        for piece in (data[:cut], data[cut:]):
            frames += decoder.feed(piece)
            if decoder.error is not None:
                raise decoder.error
    finally:
        again = b"".join(frame_bytes(each.headers, each.payload) for each in frames)
        assert data.startswith(again)
    return frames


def _socket(data: bytes, seed: str, dice: Random) -> object:
    """Frames of a WebSocket, in two reads."""
    websocket = WebSocket(Limits())
    cut = dice.randrange(len(data)) + 1 if data else 0
    for piece in filter(None, (data[:cut], data[cut:])):
        websocket.feed(piece)
        websocket.output()
    if websocket.error is not None:
        raise websocket.error
    return list(websocket.messages)


_SOCKET = b"".join(
    [
        b'\x81\x0d{"type": "a"}',
        b"\x89\x01p",
        b'\x02\x04{"b"\x00\x06: null\x80\x01}',
        b"\x88\x09\x03\xe8reason.",
    ]
)


def _messages_of_sessions(data: bytes, seed: str, dice: Random) -> object:
    """A message as an event of each API that has sessions, and as one of the emulator's clients."""
    turns = responses.ResponseTurns()
    turns.begin(b'{"model":"m","input":"Hi"}')
    turns.take(b'{"type":"response.created"}')
    turns.take(data)
    asked = {"model": "gpt-5.4", "input": [{"role": "user", "content": "Hi"}]}
    turns.known(turns.read(json.dumps(asked).encode()))
    emulator = Emulator()
    for path in ("/v1/responses", "/v1/realtime?model=gpt-realtime"):
        session: Any = emulator.session(path, [("authorization", "Bearer fake-key")])
        session.receive(data)
    problems = []
    readers = (realtime.parse_event, live.parse_message, openai_responses.socket().parse)
    for take in readers:
        try:
            take(data)
        except WireError as error:
            problems.append(error)
    if problems:
        raise problems[0]
    return turns


_EVENTS_OF_SESSIONS = {
    "completed": b'{"type": "response.completed", "response": {"id": "r", "output": [{"id": 1}]}}',
    "item": b'{"type": "response.output_item.done", "output_index": 0, "item": {"id": "i"}}',
    "error": b'{"type": "error", "status": 429, "error": {"code": "x", "message": "No."}}',
    "create": b'{"type": "response.create", "model": "gpt-5.4", "input": "Hi", "store": false}',
    "update": b'{"type": "session.update", "session": {"type": "realtime", "tools": [{"a": 1}], '
    b'"audio": {"output": {"voice": "ash"}}, "output_modalities": ["text"]}}',
    "item of the client": b'{"type": "conversation.item.create", "item": {"type": "message", '
    b'"role": "user", "content": [{"type": "input_text", "text": "Hi"}]}}',
    "audio": b'{"type": "input_audio_buffer.append", "audio": "AAAA"}',
    "live": b'{"serverContent": {"modelTurn": {"parts": [{"text": "Hi"}]}}, "usageMetadata": {}}',
}


def _payloads() -> Mapping[str, bytes]:
    """The events of each stream, a line each: what the checksums protect from random changes."""
    return {
        name: b"\n".join(
            each.text(":event-type").encode() + b" " + each.payload
            for each in FrameDecoder().feed(body)
        )
        for name, body in _framed().items()
    }


def _events(data: bytes, seed: str, dice: Random) -> object:
    """Lines as frames that are whole, whatever the events in them are."""
    frames, lines = [], data.split(b"\n")
    failing = dice.randrange(2 * len(lines))  # one of them, or none
    for at, line in enumerate(lines):
        name, _, payload = line.partition(b" ")
        kind = dice.choice(("exception", "error")) if at == failing else "event"
        headers = {":message-type": kind, f":{kind}-type": name.decode("utf-8", "replace")[:99]}
        frames.append(frame_bytes(headers, payload))
    call = dice.choice(received.calls_of("bedrock"))
    got, error = received.receive("bedrock", call, 200, frames)
    if error is not None:
        received.use("bedrock", error)
        raise error
    received.use("bedrock", got[-1])
    return got


def _headers(data: bytes, seed: str, dice: Random) -> object:
    lines = (line.partition(b":") for line in data.splitlines())
    # All transports refuse other names.
    headers = httpx.Headers([(name, value) for name, _, value in lines if _NAME.fullmatch(name)])
    return shown(headers), header_limits(headers, 1_800_000_000.0)


@functools.cache
def _messages() -> Mapping[str, bytes]:
    """The events of a recorded stream as a body of frames, and as lines to be framed."""
    body = (FIXTURES / "anthropic" / "streams" / "parallel-calls.sse").read_bytes()
    lines = [each[6:].strip() for each in body.splitlines() if each.startswith(b"data: ")]
    framed = b"".join(map(_frame, lines))
    return {"frames": framed, "events": b"\n".join(lines)}


def _frame(data: bytes, *, kind: str = "event", bare: bool = False) -> bytes:
    """A frame with right checksums around bytes of any kind; a bare one does not wrap them."""
    if not bare:
        data = json.dumps({"bytes": base64.b64encode(data).decode(), "p": "abc"}).encode()
    headers = {":event-type": "chunk", ":message-type": kind}
    return frame_bytes({**headers, ":exception-type": "throttlingException"}, data)


def _chunks(data: bytes, seed: str, dice: Random) -> object:
    if seed == "events":
        lines = data.splitlines()
        framed = [_frame(each) for each in lines]
        if dice.random() < 0.2 and lines:
            at, kind = dice.randrange(len(lines)), dice.choice(("event", "exception", "error", ""))
            framed[at] = _frame(lines[at], kind=kind, bare=True)
        data = b"".join(framed)
    cut = dice.randrange(len(data) + 1)
    call = received.chat_of("anthropic").stream_call("Hi")
    got, error = received.receive("bedrock@invoke", call, 200, [data[:cut], data[cut:]])
    for each in received.after_each:
        each()
    received.use("anthropic", error or got[-1])
    if error is not None:
        raise error
    return got


_NAME = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
HEADERS = b"""\
retry-after: Fri, 15 Jan 2027 09:00:05 GMT
date: Fri, 15 Jan 2027 09:00:00 GMT
x-ratelimit-limit-requests: 500
x-ratelimit-remaining-requests: 499
x-ratelimit-reset-requests: 1m30.5s
anthropic-ratelimit-tokens-reset: 2027-01-15T09:00:00Z
anthropic-ratelimit-tokens-limit: 80000
anthropic-ratelimit-tokens-remaining: 79000
ratelimit-policy: "burst";q=100;w=60,"daily";q=1000;w=86400
ratelimit: "burst";r=50;t=30
location: https://user:pass@example.com/a/b?key=fake#c
set-cookie: a=b; Path=/
"""


# --- what clients of the servers send -------------------------------------------------------------


@functools.cache
def _requests() -> Mapping[str, bytes]:
    """A request of each wire with everything that a conversation may have."""
    picture = Media(media_type="image/png", data=b"\x89PNG\r\n\x1a\n")
    call = ToolCall(id="call_1", name="look", arguments={"place": "pier", "deep": [1, {"a": None}]})
    turns = [
        Message.system("Be brief."),
        Message.user(["Look.", picture]),
        Message.assistant("I look.", call),
        Message.tool_response(ToolResult("call_1", "look", {"seen": ["boats", 2]})),
        Message.user("And now?"),
    ]
    settings: dict[str, Any] = {"tools": [look], "max_tokens": 99}
    hi = [{"parts": [{"text": "Hi"}]}]
    others: dict[str, Any] = {
        "/v1/embeddings": {"model": "m", "input": ["a", "b"], "dimensions": 8},
        "/v1/decisions": {
            "model": "gpt-6-luna",
            "input": [{"role": "user", "content": [{"type": "input_json", "data": {"a": 1}}]}],
            "questions": [
                {"type": "predicate", "instructions": "A"},
                {
                    "type": "choice",
                    "instructions": "B",
                    "choices": [{"value": True}, {"value": "c"}],
                },
                {"type": "score", "instructions": "D", "levels": [{"label": "e"}, {"label": "f"}]},
            ],
        },
        "/api/v1/systemone": {
            "model": "typesafe/jev-1",
            "state": {"a": 1},
            "questions": {
                "q": {"type": "choice", "instructions": "B", "criteria": {"a": None, "b": "c"}},
                "r": {"type": "box", "instructions": "D"},
            },
        },
        "/v1beta/decisions": {
            "model": "gemini-decision-1",
            "input": {"type": "text", "text": "Hi"},
            "questions": {"q": {"type": "score", "instructions": "B", "criteria": ["a", "b"]}},
        },
        "/v1/messages/count_tokens": {
            "model": "claude-opus-4-8",
            "messages": [{"role": "user", "content": "Hi"}],
        },
        "/api/generate": {
            "model": "qwen3:8b",
            "prompt": "Hi",
            "images": ["iVBORw0KGgo="],
            "options": {"num_ctx": 8192, "stop": ["a"]},
            "keep_alive": "0s",
        },
        "/api/embed": {"model": "nomic-embed-text", "input": ["a", "b"], "dimensions": 8},
        "/api/show": {"model": "qwen3:8b"},
        "/v1beta/agents": {"base_agent": "antigravity-preview-09-2026", "tools": []},
        "/v1beta/environments": {"sources": [{"type": "inline", "target": "a", "content": "b"}]},
        "/v1beta/triggers": {
            "interaction": {"agent": "antigravity-preview-09-2026", "input": "Hi"},
            "schedule": "0 6 * * *",
            "time_zone": "UTC",
        },
        "/v1beta/webhooks": {
            "uri": "https://a.example/",
            "subscribed_events": ["interaction.completed"],
        },
        "/v1beta/models/gemini-3.8-flash:countTokens": {"contents": hi},
        "/v1beta/models/gemini-embedding-001:embedContent": {"content": hi[0]},
    }
    others |= {
        "/v1/images/generations": {"model": "gpt-image-2", "prompt": "A cat", "n": 2},
        "/v1/audio/speech": {"model": "gpt-4o-mini-tts", "input": "Hi", "voice": "alloy"},
        "/api/v1/images": {
            "model": "m",
            "prompt": "A cat",
            "input_references": [{"type": "image_url", "image_url": {"url": "https://a.example"}}],
        },
        "/api/v1/audio/transcriptions": {
            "model": "m",
            "input_audio": {"data": "UklGRg==", "format": "wav"},
        },
        "/v1beta/models/imagen-4.0-generate-001:predict": {
            "instances": [{"prompt": "A cat"}],
            "parameters": {"sampleCount": 2},
        },
    }
    found = {f"{path} whole": json.dumps(body).encode() for path, body in others.items()}
    form: dict[str, Any] = {
        "model": "gpt-4o-transcribe",
        "include[]": ["logprobs"],
        "chunking_strategy[type]": "server_vad",
        "file": FormFile(DataSource(b"RIFF\x04\0\0\0WAVE"), "a.wav", "audio/wav"),
    }
    found["/v1/audio/transcriptions whole"] = b"".join(Multipart(form, boundary="b"))
    form["stream"] = "true"
    found["/v1/audio/transcriptions stream"] = b"".join(Multipart(form, boundary="b"))
    gif = FormFile(DataSource(b"GIF89a"), "a.gif", "image/gif")
    drawn: dict[str, Any] = {"model": "gpt-image-2", "prompt": "Blue", "image[]": [gif]}
    found["/v1/images/edits whole"] = b"".join(Multipart(drawn, boundary="b"))
    for name in received.MODELS:
        chat = received.chat_of(name)
        for kind, call_of in (("whole", chat.call), ("stream", chat.stream_call)):
            made = call_of(messages=turns, **settings)
            found[f"{made.path} {kind}"] = made.body
    return found


def _target(seed: str, dice: Random) -> str:
    return (seed or dice.choice(list(_requests()))).rpartition(" ")[0]


_KEYS = [(name, "fake-key") for name in ("x-goog-api-key", "x-api-key")]
_KEYS += [("authorization", "Bearer fake-key")]


_HOSTS_OF_MEDIA = ("", "openai", "mistral", "openrouter", "together", "groq")


def _headed(data: bytes) -> list[tuple[str, str]]:
    form = data.startswith(b"--b\r\n")
    kind = "multipart/form-data; boundary=b" if form else "application/json"
    return [*_KEYS, ("content-type", kind)]


def _gateway(data: bytes, seed: str, dice: Random) -> object:
    async def main() -> Any:
        backend = AsyncEmulatorTransport(Emulator())
        model = dice.choice(("anthropic:claude-sonnet-5", "gemini:gemini-3.8-flash"))
        gateway = Gateway(AsyncChat(model, api_key="fake-key", http=backend))
        answer = await gateway.respond("POST", _target(seed, dice), _headed(data), data)
        await gateway.aclose()
        return answer

    with _answers():
        return _checked(asyncio.run(main()))


@contextlib.contextmanager
def _answers() -> Iterator[None]:
    """A server answers each request: an exception is a defect, also a `WireError`."""
    try:
        yield
    except WireError as error:
        raise AssertionError("an exception in place of an answer") from error


def _emulator(data: bytes, seed: str, dice: Random) -> object:
    target = _target(seed, dice)
    of_media = "/images" in target or "/audio" in target
    emulator = Emulator(provider=dice.choice(_HOSTS_OF_MEDIA) if of_media else "")
    with _answers():
        answer = emulator.answer("POST", target, _headed(data), data)
    repr(emulator.requests)
    return _checked(answer)


def _checked(answer: Any) -> object:
    """A server has no defect that its client sees as one of the server."""
    assert answer.status < 500, (answer.status, answer)
    return answer


# --- files ----------------------------------------------------------------------------------------


@functools.cache
def _folder() -> Path:
    folder = tempfile.TemporaryDirectory(prefix="wire-fuzz-")
    _folder_lives.append(folder)
    return Path(folder.name)


_folder_lives: list[Any] = []


def _file(name: str, data: bytes) -> Path:
    path = _folder() / name
    path.write_bytes(data)
    return path


def _fixtures(*patterns: str) -> Callable[[], Mapping[str, bytes]]:
    @functools.cache
    def seeds() -> Mapping[str, bytes]:
        paths = [path for each in patterns for path in sorted(ROOT.glob(each)) if path.is_file()]
        return {path.name: path.read_bytes() for path in paths if path.stat().st_size <= _LONGEST}

    return seeds


_CASSETTES = _fixtures("tests/fixtures/cassettes/*.json", "examples/*.cassette.json")


def _cassette(data: bytes, seed: str, dice: Random) -> object:
    return load(data, str(FIXTURES / "cassettes" / "side_files.cassette.json"))


@functools.cache
def _recordings() -> Mapping[str, bytes]:
    found = {}
    for name, data in _CASSETTES().items():
        for kind in ("vcr", "har"):
            try:
                text = convert(data, str(FIXTURES / "cassettes" / name), kind).text  # type: ignore[arg-type]
            except WireError:
                continue  # a cassette that the other format cannot hold
            found[f"{name} {kind}"] = text.encode()
    return {name: data for name, data in found.items() if len(data) <= _LONGEST}


def _recording(data: bytes, seed: str, dice: Random) -> object:
    try:
        return convert(data, "a", dice.choice(("wire", "vcr", "har")))
    except NothingToConvert:
        return None


def _scan(data: bytes, seed: str, dice: Random) -> object:
    return scan(data.decode("utf-8", "replace"))


def _session(data: bytes, seed: str, dice: Random) -> object:
    loaded = sessions.load_session(data)
    again = sessions.load_session(sessions.dump_session(loaded.messages))
    assert again.messages == loaded.messages or repr(again.messages) == repr(loaded.messages)
    for kind in ("text", "markdown", "json"):
        sessions.export(loaded.messages, kind)  # type: ignore[call-overload]
    return loaded


@functools.cache
def _run_files() -> tuple[bytes, bytes]:
    """A saved run in the middle of a turn, and its journal."""
    path = _folder() / "seed.json"
    drive(lambda state: save_run(path, state), end=False)
    return path.read_bytes(), Path(f"{path}.journal").read_bytes()


@functools.cache
def _runs() -> Mapping[str, bytes]:
    from wire.agent import dump_run

    data, _ = _run_files()
    whole = dump_run(read_run(_pair("seed-again", data, _run_files()[1])))
    return {"whole": whole, "open": data}


def _pair(name: str, data: bytes, journal: bytes) -> Path:
    path = _file(f"{name}.json", data)
    _file(f"{name}.json.journal", journal)
    return path


def _run(data: bytes, seed: str, dice: Random) -> object:
    if dice.random() < 0.5:
        return load_run(data)
    return read_run(_pair("run", data, _run_files()[1]))


def _journal(data: bytes, seed: str, dice: Random) -> object:
    return read_run(_pair("journal", _run_files()[0], data))


_CONFIG: dict[str, Any] = {
    "provider": "gemini",
    "api_key": "${WIRE_FUZZ_KEY}",
    "model": "gemini-3.8-flash",
    "temperature": 0.7,
    "max_tokens": 4096,
    "timeout": 60,
    "base_url": "https://example.com/v1",
    "multi_agent": {"agents": {"parser": {"provider": "openai", "model": "gpt-5.4-mini"}}},
    "workspace_dir": "./workspace",
}
_TOML = b"""\
provider = "gemini"
api_key = "${WIRE_FUZZ_KEY}"
model = "gemini-3.8-flash"
temperature = 0.7
[multi_agent.agents.parser]
provider = "openai"
model = "gpt-5.4-mini"
"""


def _config(data: bytes, seed: str, dice: Random) -> object:
    kind = seed or dice.choice(("toml", "yaml", "json"))
    return load_config(
        _file(f"config.{kind}", data), env={"WIRE_FUZZ_KEY": "fake-key"}, date="2026-11-28"
    )


def _dot(data: bytes, seed: str, dice: Random) -> object:
    return lint(parse(data.decode("utf-8", "replace")), date="2026-11-28")


def _condition(data: bytes, seed: str, dice: Random) -> object:
    return parse_condition(data.decode("utf-8", "replace")).holds({"verdict": "ok", "a": {"b": 1}})


def _checkpoint(data: bytes, seed: str, dice: Random) -> object:
    return load_checkpoint(data)


def _catalogue(data: bytes, seed: str, dice: Random) -> object:
    return parse_file(data, "catalogue.json")


@functools.cache
def _catalogues() -> Mapping[str, bytes]:
    """The first rows of the built-in catalogue."""
    whole = json.loads((ROOT / "wire" / "catalogue" / "models.json").read_bytes())
    rows = whole["models"]
    few = rows[:3] if isinstance(rows, list) else dict(list(rows.items())[:3])
    return {"few": json.dumps({**whole, "models": few}).encode()}


def _script(data: bytes, seed: str, dice: Random) -> object:
    return Emulator(_file("script.json", data))


# --- tools ----------------------------------------------------------------------------------------

_SCHEMA: dict[str, Any] = {
    "type": "object",
    "description": "Where and what.",
    "properties": {
        "place": {"type": "string", "minLength": 1, "maxLength": 40, "pattern": "^[a-z ]+$"},
        "count": {"type": "integer", "minimum": 0, "exclusiveMaximum": 10, "multipleOf": 2},
        "kind": {"enum": ["boat", "bird", None, 3]},
        "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}, "maxItems": 3},
        "either": {"anyOf": [{"type": "number"}, {"type": ["string", "null"]}]},
        "day": {"type": "string", "format": "date-time"},
        "all": {"allOf": [{"type": "object"}, {"required": ["a"]}]},
        "fixed": {"const": {"a": [1]}},
    },
    "required": ["place"],
    "additionalProperties": {"type": "boolean"},
    "$defs": {"tag": {"type": "object", "properties": {"inner": {"$ref": "#/$defs/tag"}}}},
}
_ARGUMENTS: dict[str, Any] = {
    "place": "old pier",
    "count": 4,
    "kind": "boat",
    "tags": [{"inner": {"inner": {}}}],
    "either": 1.5,
    "day": "2026-11-28T09:00:00Z",
    "all": {"a": 1},
    "fixed": {"a": [1]},
    "more": True,
}


def _json(data: bytes) -> Any:
    """The value of JSON that has one, as the readers of requests and listings get it."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def _schema(data: bytes, seed: str, dice: Random) -> object:
    value = _json(data)
    if not isinstance(value, dict):
        return None
    made = Tool("search", "Searches.", value)
    for name in received.MODELS:
        try:
            received.chat_of(name).call("Hi", tools=[made])
        except RuleError:
            continue
    return made


def _found(**arguments: Any) -> str:
    return str(arguments)


def _arguments(data: bytes, seed: str, dice: Random) -> object:
    toolbox = Toolbox([look, tool(_found, name="search", parameters=_SCHEMA)])
    value, name = _json(data), dice.choice(("look", "search"))
    if isinstance(value, dict):
        return toolbox.prepare(ToolCall(name=name, arguments=value))
    return toolbox.prepare(
        ToolCall(name=name, arguments=None, text=data.decode("utf-8", "replace"))
    )


class _Found(msgspec.Struct):
    """What a model is asked for."""

    place: str
    count: int = 0
    tags: list[str] = []
    either: float | None = None


def _outcome(data: bytes, seed: str, dice: Random) -> object:
    text = data.decode("utf-8", "replace")
    body = {"candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": "STOP"}]}
    call = received.chat_of("gemini").call("Hi", output=dice.choice((_Found, _SCHEMA)))
    got, error = received.receive("gemini", call, 200, [json.dumps(body).encode()])
    if error is not None:
        raise error
    return got[0].output


class _Session:
    """A session of MCP whose server answers everything with one value."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def list_tools(self, cursor: str | None = None) -> Any:
        if cursor is not None:
            return {"tools": []}
        return self.value

    def call_tool(self, name: str, arguments: dict[str, Any]) -> Any:
        return self.value


_LISTING = {"tools": [{"name": "tide", "description": "Tells.", "inputSchema": _SCHEMA}]}
_LISTING["tools"] += [{"name": "now", "inputSchema": {"type": "object"}, "outputSchema": _SCHEMA}]
_RESULT = {
    "content": [
        {"type": "text", "text": '{"a": 1}'},
        {"type": "image", "data": "iVBORw0K", "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "file:///a", "text": "t", "mimeType": "text/a"}},
        {"type": "resource_link", "uri": "https://example.com/a", "name": "a"},
        {"type": "audio", "data": "AAAA", "mimeType": "audio/wav", "annotations": {"priority": 1}},
    ],
    "structuredContent": {"a": 1},
    "isError": False,
}


def _mcp_listing(data: bytes, seed: str, dice: Random) -> object:
    return mcp.tools_in_threads(_Session(_json(data)))


def _mcp_result(data: bytes, seed: str, dice: Random) -> object:
    session = _Session(_LISTING)
    [tide, _] = mcp.tools_in_threads(session)
    session.value = _json(data)
    return tide(place="old pier")


# --- rows -----------------------------------------------------------------------------------------

_ROWS = b"""\
{"id": "a", "prompt": "Hi", "max_tokens": 9, "metadata": {"n": 1}}
"A prompt."
{"custom_id": "b", "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}]}
{"custom_id": "c", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "m", \
"messages": [{"role": "user", "content": "Hi"}], "temperature": 0.5}}
{"key": "d", "request": {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}}
{"id": "e", "prompt": "Hi", "tools": [{"name": "look", "parameters": {"type": "object"}}]}
"""
_BULK: dict[str, Any] = {"api_key": "fake-key", "max_tokens": 9}


def _rows(data: bytes, seed: str, dice: Random) -> object:
    return bulk.run(_file("rows.jsonl", data), "gemini:gemini-3.8-flash", **_BULK).plan()


_TABLE = b"""\
\xef\xbb\xbfid,text,n\r
a,"Low tide,\r
then ""high"".",1\r
\r
b,Hi,2,3\r
,"",\r
"""


def _table(data: bytes, seed: str, dice: Random) -> object:
    rows, template = _file("rows.csv", data), "Summarise: {text}"
    return bulk.run(rows, "gemini:gemini-3.8-flash", template=template, **_BULK).plan()


@functools.cache
def _results() -> Mapping[str, bytes]:
    to = _folder() / "seed-results.jsonl"
    rows = _file("seed-rows.jsonl", _ROWS)

    async def main() -> None:
        http = AsyncEmulatorTransport()
        async for _ in bulk.run(rows, "gemini:gemini-3.8-flash", to=to, http=http, **_BULK):
            pass

    asyncio.run(main())
    return {"results": to.read_bytes()}


def _output(data: bytes, seed: str, dice: Random) -> object:
    rows, to = _file("seed-rows.jsonl", _ROWS), _file("results.jsonl", data)
    list(bulk.read(to))
    return bulk.run(rows, "gemini:gemini-3.8-flash", to=to, **_BULK).plan()


# --- credentials ----------------------------------------------------------------------------------

_ANSWER = {
    "access_token": "fake-token",
    "expires_in": "3600",
    "expires_on": "4102444800",
    "accessToken": "fake-token",
    "expireTime": "2199-01-01T00:00:00Z",
    "AccessKeyId": "fake-access-key",
    "SecretAccessKey": "fake-secret-key",
    "Token": "fake-session-token",
    "Expiration": "2199-01-01T00:00:00Z",
    "error": {"status": "DENIED", "message": "no"},
    "error_description": "never",
}
_ASSUMED = b"""\
<AccessKeyId>a</AccessKeyId><SecretAccessKey>s</SecretAccessKey>
<Expiration>2199-01-01T00:00:00Z</Expiration><Code>C</Code><Message>&lt;m</Message>"""


def _token(data: bytes, seed: str, dice: Random) -> object:
    """What a server of tokens answers: each source of credentials reads it."""
    identity = str(_file("identity", b"fake-identity-token"))
    user = {"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "r"}
    role: list[auth.Credential] = [auth.AwsWebIdentity("arn", identity)]
    sources: list[auth.Credential] = [
        auth.AwsMetadata(),
        auth.EntraSecret("tenant", "client", "fake-client-secret"),
        auth.EntraManagedIdentity(),
        auth.GoogleMetadata(),
        auth.GoogleFile(str(_file("user.json", json.dumps(user).encode()))),
        auth.OpenAIIdentity("p", "a", identity),
    ]
    status = dice.choice((200, 200, 200, 400, 401, 500, 302))
    headers = {"metadata-flavor": "Google"}
    chosen = dice.choice(role if seed == "role" else sources)
    return _exchanged(chosen, Fetched(status, headers, data))


def _profile(data: bytes, seed: str, dice: Random) -> object:
    path = str(_file("aws", data))
    with patch.dict(os.environ, AWS_CONFIG_FILE=path, AWS_SHARED_CREDENTIALS_FILE=path):
        # A process of a random file is not run.
        keys = aws_config.profile(dice.choice(("default", "dev"))) or {}
        if "credential_process" in keys:
            return keys
        return _exchanged(auth.AwsProfile(dice.choice(("", "dev"))), Fetched(500, {}, b""))


def _google(data: bytes, seed: str, dice: Random) -> object:
    token = Fetched(200, {}, json.dumps(_ANSWER).encode())
    return _exchanged(auth.GoogleFile(str(_file("google.json", data))), token)


def _exchanged(credential: auth.Credential, answer: Fetched) -> object:
    steps = credential._exchange(Place("fuzz", "https://llm.example", "us-east-1", "bedrock"))
    try:
        next(steps)
        while True:
            steps.send(answer)
    except StopIteration as end:
        return end.value
    except Absent as absent:
        raise WireError(str(absent)) from None


def _signature(data: bytes, seed: str, dice: Random) -> object:
    """A signed request of a client of the emulator."""
    head, _, body = data.decode("utf-8", "surrogateescape").partition("\n\n")
    first, *lines = head.split("\n") or [""]
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    if not is_signed(headers):
        raise WireError("not signed")
    signed = Signed("POST", first, headers, body.encode("utf-8", "surrogateescape"))
    return refusal(signed, ("bedrock",), "us-east-1", KNOWN.get, 1_800_000_000.0)


_SIGNED = b"""\
/model/a%3A0/invoke?a=b&c=%20
host: bedrock-runtime.us-east-1.amazonaws.com
x-amz-date: 20270115T080000Z
authorization: AWS4-HMAC-SHA256 \
Credential=fake-access-key/20270115/us-east-1/bedrock/aws4_request, \
SignedHeaders=host;x-amz-date, Signature=00

{}"""


def _one(value: Any) -> Callable[[], Mapping[str, bytes]]:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return lambda: {"": data}


READERS: Mapping[str, Reader] = {
    **{name: _of_wire(name) for name in received.MODELS},
    "media": _of_seeds(received.media_seeds),
    "frames": Reader(_frames, _framed),
    "events of frames": Reader(_events, _payloads),
    "chunks of frames": Reader(_chunks, _messages),
    **({"socket": Reader(_socket, _one(_SOCKET))} if find_spec("websockets") else {}),
    "messages of sessions": Reader(_messages_of_sessions, lambda: _EVENTS_OF_SESSIONS, seconds=4.0),
    "headers": Reader(_headers, _one(HEADERS)),
    "gateway": Reader(_gateway, _requests),
    "emulator": Reader(_emulator, _requests),
    "cassette": Reader(_cassette, _CASSETTES),
    "recording": Reader(_recording, _recordings),
    "scan": Reader(_scan, lambda: {**_CASSETTES(), **_recordings(), "headers": HEADERS}),
    "session": Reader(_session, _fixtures("tests/fixtures/sessions/*.json")),
    "run": Reader(_run, _runs),
    "journal": Reader(_journal, lambda: {"": _run_files()[1]}),
    "configuration": Reader(
        _config,
        lambda: {
            "toml": _TOML,
            "yaml": yaml.safe_dump(_CONFIG).encode(),
            "json": json.dumps(_CONFIG).encode(),
        },
    ),
    "pipeline": Reader(_dot, _fixtures("examples/*.dot")),
    "condition": Reader(_condition, _one(b"verdict == 'ok' || !(a.b && tries != 3)")),
    "checkpoint": Reader(
        _checkpoint,
        _one({"last_node_id": "ask", "data": {"seed": "a poem"}, "visits": {"ask": 2}}),
    ),
    "catalogue": Reader(_catalogue, _catalogues),
    "script": Reader(_script, _one([{"say": "Hi", "match": {"model": "m"}}, {"fault": "429"}])),
    # Each wire renders it, and the shortest one within it has three bytes.
    "schema": Reader(_schema, _one(_SCHEMA), seconds=8.0),
    "arguments": Reader(_arguments, _one(_ARGUMENTS)),
    "output": Reader(_outcome, _one({"place": "pier", "count": 2, "tags": ["a"], "either": 1.5})),
    # The schema of a tool is read for the listing, for its declaration, and for its validator.
    "MCP listing": Reader(_mcp_listing, _one(_LISTING), seconds=8.0),
    "MCP result": Reader(_mcp_result, _one(_RESULT)),
    # A row costs 30 microseconds, and the shortest one has two bytes.
    "bulk rows": Reader(_rows, _one(_ROWS), seconds=30.0),
    "bulk tables": Reader(_table, _one(_TABLE), seconds=30.0),
    "bulk results": Reader(_output, _results),
    "tokens": Reader(_token, lambda: {"answer": json.dumps(_ANSWER).encode(), "role": _ASSUMED}),
    "profiles": Reader(
        _profile,
        _one(
            b"[default]\naws_access_key_id = a\naws_secret_access_key = s\n[profile dev]\n"
            b"role_arn = r\nsource_profile = default\ns3 =\n  a = b\n[dev]\nregion = r\n"
        ),
    ),
    "Google's files": Reader(
        _google,
        _one(
            {
                "type": "external_account",
                "audience": "a",
                "subject_token_type": "t",
                "credential_source": {"url": "https://x.example", "format": {"type": "text"}},
                "service_account_impersonation_url": "",
                "quota_project_id": "p",
            }
        ),
    ),
    "signatures": Reader(_signature, _one(_SIGNED)),
}
