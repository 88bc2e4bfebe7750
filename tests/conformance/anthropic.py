"""What is to hold of a recorded exchange on Messages, token counts, models or batches."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

import wire
from tests.conformance.compare import same, written
from tests.conformance.gemini import Checks
from tests.conformance.records import Record, body_of, cut_at_random, same_bytes
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
from wire.neutral.messages import Reply, TextDelta, ThoughtDelta, ToolCallEnd
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
    "batches": types.MessageBatchList,
    "deleted batch": types.DeletedBatch,
}
_VERTEX = re.compile(r"/models/([^/:]+):(stream)?rawPredict", re.IGNORECASE)


def scope(record: Record) -> Checks | None:
    """What is to hold of a record, `None` if its endpoint is not built."""
    endpoint = _endpoint(record)
    if endpoint is None:
        return None
    checks: Checks = []
    if isinstance(record.get("request_body"), dict) and endpoint in REQUESTS:
        checks.append(check_request)
    if not 200 <= record["status"] < 300:
        return [*checks, check_error]
    if endpoint == "results":
        return [*checks, check_results]
    if endpoint in ANSWERS:
        return [*checks, check_plain]
    return [*checks, check_stream if record.get("framing") == "sse" else check_answer]


def _endpoint(record: Record) -> str | None:
    """The endpoint that the record belongs to, by its name, method and URL."""
    named, method = str(record.get("endpoint")), str(record.get("method") or "POST")
    url = str(record.get("url")).partition("?")[0].rstrip("/")
    if named in ("messages", "rawPredict", "streamRawPredict"):
        return "messages"
    if named == "messages/count_tokens":
        return "count_tokens"
    if named == "models":
        return "models" if url.endswith("/models") else "model"
    if named == "messages/batches":
        if url.endswith("/results"):
            return "results"
        if url.endswith("/batches"):
            return "batch" if method == "POST" else "batches"
        return "deleted batch" if method == "DELETE" else "batch"
    return None


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
    same(written(request), plain, "request")
    same_bytes(encode(request), body)
    if record["status"] == 200:
        call = _call(request)
        call.judge(PROVIDERS["anthropic"])  # raises what Anthropic would refuse
        # What no field holds cannot be sent without the bytes that it came in.
        same(
            json.loads(call.body),
            plain if not wire.unknown(request) else json.loads(msgspec.json.encode(request)),
            "sent",
        )


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
    same(written(answer), json.loads(body), "answer")
    same_bytes(answer.raw, body)


def check_results(record: Record) -> None:
    """A struct for each line, equal as JSON and as bytes; in each the blocks of its answer."""
    lines = [line for line in body_of(record).split(b"\n") if line.strip()]
    results = parse_results(body_of(record))
    if len(results) != len(lines):
        raise Mismatch(f"{len(results)} results of {len(lines)} lines")
    for result, line in zip(results, lines, strict=True):
        same(written(result), json.loads(line), "result")
        same_bytes(result.raw, line)
        if result.result is not None and result.result.message is not None:
            check_blocks(result.result.message, json.loads(line)["result"]["message"])


def check_answer(record: Record) -> None:
    """A whole answer, equal as JSON from its typed values and unknown keys, as bytes from what it
    kept.
    """
    body = body_of(record)
    answer, plain = parse_message(body), json.loads(body)
    same(written(answer), plain, "answer")
    same_bytes(answer.raw, body)
    check_blocks(answer, plain)
    check_reply(parse_reply(answer), plain)


def check_blocks(answer: types.MessageResponse, plain: Any) -> None:
    """Each block kept the bytes that say what it says, and goes into a request with them."""
    same(
        [json.loads(block.raw or b"null") for block in answer.content or ()],
        plain["content"],
        "content",
    )
    again = encode(answer.message)
    same(json.loads(again)["content"], plain["content"], "message")
    if any((block.raw or b"?") not in again for block in answer.content or ()):
        raise Mismatch("a block does not go back with its bytes")
    same(
        answer.text,
        "".join(block["text"] for block in plain["content"] if block["type"] == "text"),
        "text",
    )


def check_reply(reply: Reply, plain: Any) -> None:
    """The neutral reading holds every block, and of them all texts, thoughts and calls."""
    content = plain["content"]
    same(len(reply.message.parts), len(content), "parts")
    same(reply.text, "".join(block["text"] for block in content if block["type"] == "text"), "text")
    same(
        reply.message.thought,
        "".join(block["thinking"] for block in content if block["type"] == "thinking"),
        "thought",
    )
    calls = [
        [block["id"], block["name"], block["input"]]
        for block in content
        if block["type"] == "tool_use"
    ]
    same(
        [[call.id, call.name, call.arguments] for call in reply.message.tool_calls], calls, "calls"
    )
    same(reply.stop.raw, plain["stop_reason"], "stop")
    same(
        reply.usage.output if reply.usage is not None else None,
        plain["usage"]["output_tokens"],
        "output tokens",
    )


def check_told(events: list[types.MessageStreamEvent], answer: types.MessageResponse) -> None:
    """What the neutral events say is what the answer says that they fold into."""
    reading, reply = EventReader(), parse_reply(answer)
    told = [each for event in events for each in reading.feed(event)]
    same(
        "".join(each.text for each in told if isinstance(each, TextDelta)), reply.text, "told text"
    )
    same(
        "".join(each.text for each in told if isinstance(each, ThoughtDelta)),
        reply.message.thought,
        "told thought",
    )
    if [each.call for each in told if isinstance(each, ToolCallEnd)] != list(
        reply.message.tool_calls
    ):
        raise Mismatch("the calls that are told are not those of the answer")


def check_stream(record: Record) -> None:
    """Each event as a chunk; the fold holds all of them; the same whole and cut at random."""
    body = body_of(record)
    events, reader = _read([body])
    again, reader_again = _read(cut_at_random(body, record["id"]))
    if [event.raw for event in again] != [event.raw for event in events] or type(
        reader.error
    ) is not type(reader_again.error):
        raise Mismatch("the result depends on where the bytes were cut")
    if reader.error is not None:
        raise reader.error
    if reader.notes:
        raise Mismatch(f"dropped: {reader.notes}")
    payloads = _payloads(body)
    plains = [json.loads(payload) for payload in payloads]
    if len(events) != len(payloads):
        raise Mismatch(f"{len(events)} chunks of {len(payloads)} events")
    for index, (event, plain, payload) in enumerate(zip(events, plains, payloads, strict=True)):
        same(written(event), plain, f"event {index}")
        same_bytes(event.raw, payload)
    check_fold(events, plains)


def check_fold(events: list[types.MessageStreamEvent], plains: list[Any]) -> None:
    """Nothing that any event held is lost: texts, thoughts, input, citations, and all of what came
    whole.
    """
    answer = fold(events)
    plain = json.loads(answer.raw or b"null")
    same(written(answer), plain, "fold")
    check_blocks(answer, plain)
    check_reply(parse_reply(answer), plain)
    check_told(events, answer)
    start = next(each["message"] for each in plains if each["type"] == "message_start")
    ends = [each for each in plains if each["type"] == "message_delta"]
    for name in ("id", "model", "role", "type"):
        same(plain[name], start[name], f"fold.{name}")
    for end in ends:
        same(plain["stop_reason"], ends[-1]["delta"]["stop_reason"], "fold.stop_reason")
        beside = {
            key: value
            for key, value in end.items()
            if key not in ("type", "delta", "usage") and value is not None
        }
        same({key: plain.get(key) for key in beside}, beside, "fold beside")
    counts = dict(start.get("usage") or {})
    for end in ends:
        counts |= {
            key: value
            for key, value in (end.get("usage") or {}).items()
            if value is not None or key not in counts
        }
    same(plain["usage"], counts, "fold.usage")
    starts = [each for each in plains if each["type"] == "content_block_start"]
    if len(plain["content"]) != len(starts):
        raise Mismatch(f"{len(plain['content'])} blocks of {len(starts)}")
    for begun, block in zip(starts, plain["content"], strict=True):
        deltas = [
            each["delta"]
            for each in plains
            if each["type"] == "content_block_delta" and each["index"] == begun["index"]
        ]
        same(block, _expected(begun["content_block"], deltas), f"fold.content[{begun['index']}]")


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


def _read(pieces: list[bytes]) -> tuple[list[types.MessageStreamEvent], ChunkReader]:
    reader = ChunkReader()
    events = [event for piece in pieces for event in reader.feed(piece)]
    events += reader.close()
    return events, reader


def _payloads(body: bytes) -> list[bytes]:
    """The JSON texts of one answer, found in another way than the library's: pings left out, and
    what follows its end.
    """
    found = [
        line[5:].strip()
        for line in body.replace(b"\r\n", b"\n").split(b"\n")
        if line.startswith(b"data:")
    ]
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
