"""What is to hold of a recorded exchange of Ollama's own API."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from tests.conformance.compare import identical, typed
from tests.conformance.gemini import Checks
from tests.conformance.neutral import Expected, _check_part, check_events, check_reply
from tests.conformance.records import Record, body_of, cut_at_random, path_of, same_bytes
from tests.conformance.result import Mismatch
from tests.property import ALL
from wire import errors
from wire.core.lenient import decoded
from wire.core.memory import WireStruct, encode
from wire.errors import StreamIncomplete, WireError
from wire.neutral.embeddings import EmbedRequest
from wire.ollama import endpoints, types
from wire.ollama.error_body import parse_error
from wire.ollama.fold import fold, fold_generated, fold_progress
from wire.ollama.neutral_calls import embed_flow
from wire.ollama.parse import EventReader, parse_reply
from wire.ollama.reader import (
    ChunkReader,
    GeneratedReader,
    ProgressReader,
    parse_answer,
    parse_generated,
    parse_plain,
    parse_progress,
)
from wire.providers import PROVIDERS

_PATH = re.compile(r"/api/(?P<end>chat|generate|embed|pull)$")
_REQUESTS: dict[str, type[WireStruct]] = {
    "chat": types.ChatRequest,
    "generate": types.GenerateRequest,
    "embed": types.EmbedRequest,
    "pull": types.PullRequest,
}
_READERS: dict[str, Any] = {
    "chat": (ChunkReader, fold, parse_answer),
    "generate": (GeneratedReader, fold_generated, parse_generated),
    "pull": (ProgressReader, fold_progress, parse_progress),
}
_CALLS: dict[str, Any] = {
    "chat": (endpoints.chat, endpoints.stream_chat),
    "generate": (endpoints.generate, endpoints.stream_generate),
    "pull": (endpoints.pull_model, endpoints.stream_pull),
}
_ALL_CUTS = 20_000 if ALL else 1_000
"""Bytes of the longest stream that is read one byte at a time, and cut at each byte."""
_CUTS = 500 if ALL else 50
"""Cuts of a longer one."""


def scope(record: Record, *, every: bool = False) -> Checks | None:
    """What is to hold of a record; `None` for other endpoints."""
    match = _PATH.search(path_of(record))
    if match is None:
        return None
    end = match["end"]
    checks: Checks = []
    if isinstance(record.get("request_body"), dict):
        checks.append(functools.partial(check_request, end))
    if record["status"] != 200:
        return [*checks, check_error]
    if end == "embed":
        return [*checks, check_embedding]
    if is_stream(record):
        checks += [functools.partial(check_lines, end), functools.partial(check_cuts, end)]
    else:
        checks.append(functools.partial(check_whole, end))
    return [*checks, check_chat] if end == "chat" else checks


def is_stream(record: Record) -> bool:
    """Whether the body has one object a line."""
    return len(body_of(record).splitlines()) > 1


def check_request(end: str, record: Record) -> None:
    """Decoded into our types and written again, equal; and, if a server took it, sent by ours in
    the same words, with what the server would have decided in silence.
    """
    plain = record["request_body"]
    body = json.dumps(plain).encode()
    request: Any = decoded(body, _REQUESTS[end])
    typed(request, plain, "request")
    same_bytes(encode(request), body)
    if record["status"] != 200:
        return
    built = msgspec.structs.replace(request)
    if end == "embed":
        call = endpoints.embed(built)
    else:
        call = _CALLS[end][plain.get("stream") is not False](built, **_unchecked(end, plain))
    if not path_of(record).endswith(call.target):
        raise Mismatch(f"{call.target} is not {path_of(record)}")
    call.judge(PROVIDERS["ollama"])
    sent = json.loads(call.body)
    added = {key: sent.pop(key) for key in ("stream", "truncate", "shift") if key in sent}
    told = _known(plain, _REQUESTS[end])
    if "options" in told:
        told["options"] = _known(told["options"], types.Options)
    identical(sent, {key: each for key, each in told.items() if key not in added}, "sent")
    if any(added[key] != plain[key] for key in added if key in plain):
        raise Mismatch(f"{added} is sent")


def _known(plain: Any, kind: type[WireStruct]) -> dict[str, Any]:
    """The keys that the reference has; `typed` has told of others."""
    keys = kind.__struct_encode_fields__
    return {key: value for key, value in plain.items() if key in keys and value is not None}


def _unchecked(end: str, plain: Any) -> dict[str, bool]:
    """The options of a call of which the server drops something in silence, which we refuse."""
    known = types.Options.__struct_encode_fields__
    dropped = any(each not in known for each in plain.get("options") or ())
    return {"checked": False} if dropped and end != "pull" else {}


def check_error(record: Record) -> None:
    """A typed error of the status, with the server's words."""
    body = body_of(record)
    error = parse_error(record["status"], record.get("response_headers") or {}, body)
    if (error.status, error.raw) != (record["status"], body):
        raise Mismatch(f"error is {error.status}")
    words = json.loads(body)["error"]
    if not error.message.startswith(errors.one_line(words)):
        raise Mismatch(f"error says {error.message!r}, not {words!r}")


def check_embedding(record: Record) -> None:
    """The answer as a struct; the vectors as neutral ones."""
    body, asked = body_of(record), record["request_body"]
    answer = parse_plain(types.EmbedResponse, body)
    plain = json.loads(body)
    typed(answer, plain, "answer")
    texts = asked["input"]
    flow = embed_flow(EmbedRequest(texts), asked["model"])
    found = next(flow).parse(body)  # type: ignore[attr-defined]
    identical(list(found.vectors), plain["embeddings"], "vectors")


def check_whole(end: str, record: Record) -> None:
    """A whole answer, equal as JSON from its typed values and unknown keys, and as bytes."""
    body = body_of(record)
    answer = _READERS[end][2](body)
    typed(answer, json.loads(body), "answer")
    same_bytes(answer.raw, body.strip())


# --- streams --------------------------------------------------------------------------------------


def _read(end: str, pieces: list[bytes]) -> tuple[list[Any], WireError | None]:
    reader = _READERS[end][0]()
    lines = [each for piece in pieces for each in reader.feed(piece)]
    lines += reader.close()
    return lines, reader.error


def check_lines(end: str, record: Record) -> None:
    """Each line as a chunk, wherever the bytes were cut; the fold holds all of them."""
    body = body_of(record)
    lines, error = _read(end, [body])
    if error is not None:
        raise error
    plains = [json.loads(each) for each in body.splitlines()]
    if len(lines) != len(plains):
        raise Mismatch(f"{len(lines)} chunks of {len(plains)} lines")
    for index, (line, plain) in enumerate(zip(lines, plains, strict=True)):
        typed(line, plain, f"line {index}", is_chunk=True)
        identical(json.loads(line.raw or b""), plain, f"line {index}")
    pieces = [cut_at_random(body, record["id"])]
    if len(body) <= _ALL_CUTS:
        pieces.append([body[at : at + 1] for at in range(len(body))])
    if any(_read(end, each)[0] != lines for each in pieces):
        raise Mismatch("the lines depend on where the bytes were cut")
    folded = json.loads(encode(_READERS[end][1](lines)))
    identical(folded, merged(end, plains), "fold")


def merged(end: str, plains: Sequence[Any]) -> Any:
    """What lines come to, in another way than the library's."""
    if end == "pull":
        return plains[-1]
    whole = {key: value for each in plains for key, value in each.items()}
    if end == "chat":
        said = [each["message"] for each in plains]
        message = {key: value for each in said for key, value in each.items()}
        for key in ("content", "thinking"):
            if key in message:
                message[key] = "".join(each.get(key) or "" for each in said)
        if "tool_calls" in message:
            message["tool_calls"] = [call for each in said for call in each.get("tool_calls", ())]
        return {**whole, "message": message}
    texts = [key for key in ("response", "thinking") if key in whole]
    return whole | {key: "".join(each.get(key) or "" for each in plains) for key in texts}


def check_cuts(end: str, record: Record) -> None:
    """A stream that is cut at any byte is incomplete."""
    body = body_of(record).rstrip()
    step = 1 if len(body) <= _ALL_CUTS else len(body) // _CUTS
    for at in range(0, len(body), step):
        error = _read(end, [body[:at]])[1]
        if not isinstance(error, StreamIncomplete):
            raise Mismatch(f"cut at byte {at}: {error!r}, not StreamIncomplete")


# --- chats ----------------------------------------------------------------------------------------


def check_chat(record: Record) -> None:
    """The reply and the events say what the answer says; a part of it does not look whole."""
    body = body_of(record)
    answer = parse_answer(body)
    plains = [json.loads(each) for each in body.splitlines()]
    plain = merged("chat", plains)
    reply = parse_reply(answer)
    check_reply(reply, expected(plain))
    message = answer.message
    assert message is not None
    again = encode(types.ChatRequest(messages=[message]))
    if (message.raw or b"?") not in again:
        raise Mismatch("the message does not go back with its bytes")
    lines, _ = _read("chat", [body])
    reading = EventReader()
    told = [each for line in lines for each in reading.feed(line)]
    check_events([*told, *reading.close(reply)], reply)
    if len(plains) > 1:
        ends = [len(b"".join(body.splitlines(keepends=True)[:at])) for at in range(len(plains))]
        for count in {1, len(plains) // 2, len(plains) - 1} - {0}:
            part, reads = body[: ends[count]], functools.partial(_read, "chat")
            _check_part(part, plains[:count], reads, fold, parse_reply, _text_so_far)


def _text_so_far(plains: Sequence[Any]) -> str:
    return "".join(each["message"].get("content") or "" for each in plains)


def expected(plain: Any) -> Expected:
    """What an answer says."""
    message = plain["message"]
    calls = [
        {
            "id": each["id"],
            "name": each["function"]["name"],
            "arguments": each["function"]["arguments"],
        }
        for each in message.get("tool_calls", ())
    ]
    texts = [message.get("thinking"), message["content"]]
    reason = {"stop": "end", "load": "end", "unload": "end", "length": "length"}
    meant = reason.get(plain["done_reason"], "other")
    given, output = plain.get("prompt_eval_count"), plain.get("eval_count")
    counts = {"input": given or 0, "output": output or 0, "total": (given or 0) + (output or 0)}
    return Expected(
        text=message["content"],
        thought=message.get("thinking") or "",
        calls=calls,
        parts=len(list(filter(None, texts))) + len(calls),
        reason="tool_calls" if meant == "end" and calls else meant,
        raw=plain["done_reason"],
        usage=None if given is None and output is None else counts,
    )
