"""What is to hold of a recorded exchange on Messages, token counts, models or batches."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from tests.conformance.compare import identical, same, typed
from tests.conformance.forms import check_form
from tests.conformance.gemini import Checks, check_opaque
from tests.conformance.neutral import (
    Expected,
    check_cut_short,
    check_events,
    check_reply,
    has_nothing,
)
from tests.conformance.records import Record, body_of, cut_at_random, path_of, same_bytes
from tests.conformance.result import Mismatch
from wire import errors
from wire.anthropic import types
from wire.anthropic.batches import create_batch
from wire.anthropic.endpoints import count_tokens, create_message, stream_message
from wire.anthropic.error_body import parse_error
from wire.anthropic.fold import fold
from wire.anthropic.parse import EventReader, parse_reply
from wire.anthropic.reader import ChunkReader, parse_message, parse_plain, parse_results
from wire.core.call import Call, StreamCall
from wire.core.lenient import decoded
from wire.core.memory import WireStruct, encode
from wire.neutral.messages import Done
from wire.providers import PROVIDERS

REQUESTS: dict[str, type[WireStruct]] = {
    "messages": types.MessageRequest,
    "count_tokens": types.CountTokensRequest,
    "batch": types.BatchCreateRequest,
}
ANSWERS: dict[str, type[WireStruct]] = {
    "count_tokens": types.TokenCount,
    "models": types.ModelList,
    "model": types.ModelInfo,
    "batch": types.MessageBatch,
    "cancelled batch": types.MessageBatch,
    "batches": types.MessageBatchList,
    "deleted batch": types.DeletedBatch,
    "file": types.FileMetadata,
    "files": types.FileList,
    "deleted file": types.DeletedFile,
}
_VERTEX = re.compile(r"/models/([^/:]+):(stream)?[rR]awPredict", re.IGNORECASE)


def scope(record: Record, *, every: bool = False) -> Checks | None:
    """What is to hold of a record, `None` if its endpoint is not built."""
    endpoint = _endpoint(record)
    if endpoint is None:
        return None
    checks: Checks = []
    if isinstance(record.get("request_body"), dict) and endpoint in REQUESTS:
        checks.append(check_request)
    elif record.get("request_body"):
        checks.append(check_form if endpoint == "file" else check_opaque)
    if not 200 <= record["status"] < 300:
        return [*checks, check_error]
    if endpoint == "results":
        return [*checks, check_results]
    if endpoint in ANSWERS:
        return [*checks, check_plain]
    if record.get("framing") == "sse":
        return [*checks, functools.partial(check_stream, every=every)]
    return [*checks, check_answer]


_OPERATIONS = [
    ("POST", r"/messages|/models/[^/:]+:(stream)?[rR]awPredict", "messages"),
    ("POST", r"/messages/count_tokens", "count_tokens"),
    ("GET", r"/models", "models"),
    ("GET", r"/models/[^/]+", "model"),
    ("POST", r"/messages/batches", "batch"),
    ("POST", r"/messages/batches/[^/]+/cancel", "cancelled batch"),
    ("GET", r"/messages/batches", "batches"),
    ("GET", r"/messages/batches/[^/]+/results", "results"),
    ("GET", r"/messages/batches/[^/]+", "batch"),
    ("DELETE", r"/messages/batches/[^/]+", "deleted batch"),
    ("POST", r"/files", "file"),
    ("GET", r"/files", "files"),
    ("GET", r"/files/[^/]+", "file"),
    ("DELETE", r"/files/[^/]+", "deleted file"),
]


def _endpoint(record: Record) -> str | None:
    """The endpoint that the record belongs to, by method and path."""
    method, path = record.get("method"), path_of(record)
    return next(
        (
            name
            for verb, pattern, name in _OPERATIONS
            if method == verb and re.search(f"(?:{pattern})$", path)
        ),
        None,
    )


def _header(record: Record, name: str) -> str | None:
    headers = record.get("request_headers") or {}
    return next((value for key, value in headers.items() if key.lower() == name), None)


def check_request(record: Record) -> None:
    """Decoded into our types and written again, equal; and, if a server took it, sent by ours in
    the same words.
    """
    plain = record["request_body"]
    on_vertex = _VERTEX.search(str(record.get("url")))
    if on_vertex:
        plain = {"model": on_vertex[1], **plain}  # there it stands in the URL
    body = json.dumps(plain).encode()
    request = decoded(body, REQUESTS[str(_endpoint(record))])
    typed(request, plain, "request")
    same_bytes(encode(request), body)
    if record["status"] == 200:
        call = _call(request)
        if not on_vertex and not path_of(record).endswith(f"/v1{call.path}"):
            raise Mismatch(f"{call.path} is not {record['url']}")
        version = str(_header(record, "anthropic-version") or "2023-06-01")
        # Raises what Anthropic would refuse under the version of the request.
        call.judge(msgspec.structs.replace(PROVIDERS["anthropic"], version=version))
        # What no field holds cannot be sent without the bytes that it came in.
        sent = decoded(call.body, type(request))
        typed(sent, json.loads(call.body), "sent")
        if sent != request:
            raise Mismatch("what is sent is not the request")


def _call(request: WireStruct) -> Call[Any] | StreamCall[Any, Any]:
    if isinstance(request, types.CountTokensRequest):
        return count_tokens(request)
    if isinstance(request, types.BatchCreateRequest):
        return create_batch(request)
    assert isinstance(request, types.MessageRequest)
    built = msgspec.structs.replace(request)  # without the bytes that it came in
    return stream_message(built) if request.stream else create_message(built)


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
    inside = plain.get("error") if isinstance(plain, dict) else None
    if not isinstance(inside, dict):
        return
    if errors.one_line(inside["message"]) not in error.message:
        raise Mismatch(f"error says {error.message!r}, not {inside['message']!r}")
    if (error.code, error.request_id) != (inside["type"], plain.get("request_id")):
        raise Mismatch(f"error is {error.code} of {error.request_id}")


def check_plain(record: Record) -> None:
    """One struct, equal as JSON and as bytes."""
    body = body_of(record)
    answer = parse_plain(ANSWERS[str(_endpoint(record))], body)
    typed(answer, json.loads(body), "answer")
    same_bytes(answer.raw, body)


def check_results(record: Record) -> None:
    """A struct for each line, equal as JSON and as bytes; in each the blocks of its answer."""
    lines = [line for line in body_of(record).split(b"\n") if line.strip()]
    results = parse_results(body_of(record))
    if len(results) != len(lines):
        raise Mismatch(f"{len(results)} results of {len(lines)} lines")
    for result, line in zip(results, lines, strict=True):
        typed(result, json.loads(line), "result")
        same_bytes(result.raw, line)
        if result.result is not None and result.result.message is not None:
            check_blocks(result.result.message, json.loads(line)["result"]["message"])


def check_answer(record: Record) -> None:
    """A whole answer, equal as JSON from its typed values and unknown keys, as bytes from what it
    kept.
    """
    body = body_of(record)
    try:
        answer = parse_message(body)
    except (errors.StreamInvalid, errors.StreamIncomplete):
        if has_nothing([body], is_ours):
            return
        raise
    plain = json.loads(body or b"null")
    if not is_ours(plain):
        raise Mismatch(f"nothing is taken for an answer: {body[:80]!r}")
    typed(answer, plain, "answer")
    same_bytes(answer.raw, body)
    check_blocks(answer, plain)
    check_reply(parse_reply(answer), expected(plain))


def is_ours(plain: Any) -> bool:
    """Whether it is a message, or an event of one."""
    if not isinstance(plain, dict):
        return False
    return isinstance(plain.get("content"), list) or "_" in str(plain.get("type"))


def check_blocks(answer: types.MessageResponse, plain: Any) -> None:
    """Each block kept the bytes that say what it says, and goes into a request with them."""
    identical(
        [json.loads(block.raw or b"null") for block in answer.content or ()],
        plain["content"],
        "content",
    )
    again = encode(answer.message)
    identical(json.loads(again)["content"], plain["content"], "message")
    if any((block.raw or b"?") not in again for block in answer.content or ()):
        raise Mismatch("a block does not go back with its bytes")
    identical(
        answer.text,
        "".join(block["text"] for block in plain["content"] if block["type"] == "text"),
        "text",
    )


STOPS = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "refusal": "filter",
    "pause_turn": "pause",
}


def expected(plain: Any) -> Expected:
    """What an answer says."""
    content = plain["content"]
    usage = plain["usage"]
    cached = usage.get("cache_read_input_tokens") or 0
    written = usage.get("cache_creation_input_tokens") or 0
    given, output = usage["input_tokens"] + cached + written, usage["output_tokens"]
    calls = [
        {"id": block["id"], "name": block["name"], "arguments": block["input"]}
        for block in content
        if block["type"] == "tool_use"
    ]
    reason = STOPS.get(plain["stop_reason"], "other")
    told = plain.get("stop_details") or {}
    return Expected(
        text=_texts(content, "text", "text"),
        thought=_texts(content, "thinking", "thinking"),
        calls=calls,
        parts=len(content),
        reason="tool_calls" if reason == "end" and calls else reason,
        raw=plain["stop_reason"],
        message=told.get("explanation") or told.get("category") or "",
        sequence=plain.get("stop_sequence"),
        signatures=[block["signature"] for block in content if block.get("signature")],
        details=[{"data": each["data"]} for each in content if each["type"] == "redacted_thinking"],
        usage={
            "input": given,
            "output": output,
            "cached": cached,
            "cache_written": written,
            "total": given + output,
        },
    )


def _texts(content: Sequence[Any], kind: str, key: str) -> str:
    return "".join(block[key] for block in content if block["type"] == kind)


def check_stream(record: Record, *, every: bool = False) -> None:
    """Each event as a chunk; the fold holds all of them; the same whole and cut at random; cut
    shorter it is incomplete.
    """
    body = body_of(record)
    events, error = _read([body])
    again, error_again = _read(cut_at_random(body, record["id"]))
    if [event.raw for event in again] != [event.raw for event in events] or type(error) is not type(
        error_again
    ):
        raise Mismatch("the result depends on where the bytes were cut")
    if isinstance(error, errors.StreamError) and has_nothing(_data(body), is_ours):
        return
    if error is not None:
        raise error
    payloads = _payloads(body)
    plains = [json.loads(payload) for payload in payloads]
    if len(events) != len(payloads):
        raise Mismatch(f"{len(events)} chunks of {len(payloads)} events")
    for index, (event, plain, payload) in enumerate(zip(events, plains, payloads, strict=True)):
        typed(event, plain, f"event {index}", is_chunk=True)
        same_bytes(event.raw, payload)
    check_fold(events, plains)
    check_cut_short(
        record,
        body,
        payloads,
        every=every,
        read=_read,
        is_whole=lambda plains: any(plain["type"] == "message_stop" for plain in plains),
        fold=fold,
        reply_of=parse_reply,
        text_of=_text_so_far,
    )


def _text_so_far(plains: Sequence[Any]) -> str:
    """The text of blocks that came in part, in the order of the blocks."""
    texts: dict[int, str] = {}
    for plain in plains:
        block, delta = plain.get("content_block") or {}, plain.get("delta") or {}
        if block.get("type") == "text" or delta.get("type") == "text_delta":
            at = plain["index"]
            texts[at] = texts.get(at, "") + (block.get("text") or delta.get("text") or "")
    return "".join(texts[at] for at in sorted(texts))


def check_fold(events: list[types.MessageStreamEvent], plains: list[Any]) -> None:
    """Nothing that any event held is lost: texts, thoughts, input, citations, and all of what came
    whole.
    """
    answer = fold(events)
    plain = json.loads(answer.raw or b"null")
    typed(answer, plain, "fold")
    check_blocks(answer, plain)
    reply = parse_reply(answer)
    check_reply(reply, expected(plain))
    reading = EventReader()
    told = [each for event in events for each in reading.feed(event)]
    try:
        told += reading.close(reply)
    except errors.BlockedError:
        if reply.stop.reason != "filter" or not reply.empty:
            raise
        told.append(Done(reply))
    check_events(told, reply)
    start = next(each["message"] for each in plains if each["type"] == "message_start")
    ends = [each for each in plains if each["type"] == "message_delta"]
    closing = [each for each in plains if each["type"] in ("message_delta", "message_stop")]
    whole = {**start, **{key: value for end in closing for key, value in _beside(end).items()}}
    same(
        {key: value for key, value in plain.items() if key not in ("content", "usage")},
        {key: value for key, value in whole.items() if key not in ("content", "usage")},
        "fold",
    )
    counts = dict(start.get("usage") or {})
    for end in ends:
        counts |= {
            key: value
            for key, value in (end.get("usage") or {}).items()
            if value is not None or key not in counts
        }
    identical(plain["usage"], counts, "fold.usage")
    starts = [each for each in plains if each["type"] == "content_block_start"]
    if len(plain["content"]) != len(starts):
        raise Mismatch(f"{len(plain['content'])} blocks of {len(starts)}")
    for begun, block in zip(starts, plain["content"], strict=True):
        deltas = [
            each["delta"]
            for each in plains
            if each["type"] == "content_block_delta" and each["index"] == begun["index"]
        ]
        identical(
            block, _expected(begun["content_block"], deltas), f"fold.content[{begun['index']}]"
        )


def _beside(end: Any) -> Any:
    """What a `message_delta` or `message_stop` says of the message itself."""
    beside = {key: value for key, value in end.items() if key not in ("type", "delta", "usage")}
    return {
        key: value
        for key, value in {**(end.get("delta") or {}), **beside}.items()
        if value is not None
    }


def _expected(block: Any, deltas: list[Any]) -> Any:
    """A block as its deltas make it, in another way than the library's."""
    block = dict(block)
    for kind, name, key in (
        ("text_delta", "text", "text"),
        ("thinking_delta", "thinking", "thinking"),
        ("signature_delta", "signature", "signature"),
        ("compaction_delta", "content", "content"),
    ):
        found = [each.get(key) or "" for each in deltas if each["type"] == kind]
        if found:
            block[name] = (block.get(name) or "") + "".join(found)
    citations = [each["citation"] for each in deltas if each["type"] == "citations_delta"]
    if citations:
        block["citations"] = (block.get("citations") or []) + citations
    pieces = "".join(each["partial_json"] for each in deltas if each["type"] == "input_json_delta")
    if pieces:
        block["input"] = json.loads(pieces)
    for delta in deltas:
        for name, value in delta.items() if delta["type"] not in _KNOWN else ():
            if isinstance(value, str) and name != "type":
                block[name] = (block.get(name) or "") + value
            elif name != "type" and value is not None:
                block[name] = value
    return block


_KNOWN = (
    "text_delta",
    "thinking_delta",
    "signature_delta",
    "compaction_delta",
    "citations_delta",
    "input_json_delta",
)


def _read(
    pieces: list[bytes],
) -> tuple[list[types.MessageStreamEvent], errors.WireError | None]:
    reader = ChunkReader()
    events = [event for piece in pieces for event in reader.feed(piece)]
    events += reader.close()
    return events, reader.error


def _data(body: bytes) -> list[bytes]:
    return [
        line[5:].strip()
        for line in body.replace(b"\r\n", b"\n").split(b"\n")
        if line.startswith(b"data:")
    ]


def _payloads(body: bytes) -> list[bytes]:
    """The JSON texts of one answer, found in another way than the library's: pings left out, and
    what follows its end.
    """
    found = _data(body)
    kinds = [
        json.loads(payload).get("type") if payload not in (b"", b"[DONE]") else None
        for payload in found
    ]
    end = kinds.index("message_stop") + 1
    return [
        payload
        for payload, kind in zip(found[:end], kinds[:end], strict=True)
        if kind not in (None, "ping")
    ]
