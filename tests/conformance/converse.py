"""What is to hold of a recorded exchange of Bedrock's Converse, of a count of tokens, and of an
embedding by InvokeModel."""

from __future__ import annotations

import functools
import json
import re
import struct
import urllib.parse
from collections.abc import Sequence
from typing import Any

import msgspec

from tests.conformance.compare import identical, typed
from tests.conformance.gemini import Checks
from tests.conformance.neutral import Expected, _check_part, check_events, check_reply
from tests.conformance.records import Record, body_of, cut_at_random, path_of, same_bytes
from tests.conformance.result import APART, Mismatch
from wire import errors
from wire.converse import types
from wire.converse.endpoints import converse, converse_stream, count_tokens, embed
from wire.converse.error_body import parse_error
from wire.converse.fold import fold
from wire.converse.neutral_calls import embed_flow
from wire.converse.parse import EventReader, parse_reply
from wire.converse.reader import ChunkReader, parse_answer, parse_plain
from wire.core.event_stream import Decoder, frame_bytes
from wire.core.lenient import decoded
from wire.core.memory import WireStruct, encode
from wire.errors import StreamInvalid, WireError
from wire.neutral.embeddings import EmbedRequest
from wire.neutral.messages import Done
from wire.providers import PROVIDERS

_PATH = re.compile(
    r"/model/(?P<model>.+)/(?P<end>converse(?P<stream>-stream)?|count-tokens|invoke(-with-response-stream)?)$"
)
_ALL_CUTS = 20_000
"""Bytes of the longest stream that is read one byte at a time."""
_EMBEDS: tuple[tuple[str, type[WireStruct], type[WireStruct]], ...] = (
    (r"amazon\.titan-embed", types.TitanEmbedRequest, types.TitanEmbedResponse),
    (r"cohere\.embed", types.CohereEmbedRequest, types.CohereEmbedResponse),
    (r"amazon\.nova.*embed", types.NovaEmbedRequest, types.NovaEmbedResponse),
)


def scope(record: Record, *, every: bool = False) -> Checks | None:
    """What is to hold of a record; `None` for other endpoints."""
    match, body = _PATH.search(path_of(record)), record.get("request_body")
    if match is None:
        return None
    if match["end"] == "invoke":
        found = _embedding_scope(record, match["model"])
        return [check_error] if found is None and record["status"] != 200 else found
    if match["end"] == "invoke-with-response-stream":  # of a model that speaks no wire of ours
        return [check_error if record["status"] != 200 else check_written]
    if match["end"] == "count-tokens":
        ours = isinstance(body, dict) and "converse" in body["input"]
        return [check_count] if ours else [check_error] if record["status"] != 200 else None
    checks: Checks = [check_request] if _request_of(record) is not None else []
    if record["status"] != 200:
        return [*checks, check_error]
    if match["stream"]:
        return [*checks, check_frames, functools.partial(check_stream, every=every)]
    return [*checks, check_answer]


def _model(record: Record) -> str:
    match = _PATH.search(path_of(record))
    assert match is not None
    return urllib.parse.unquote(match["model"])


def _request_of(record: Record) -> Any:
    """The body of the request; `None` if it was not recorded."""
    body = record.get("request_body")
    if isinstance(body, str):
        try:
            body = json.loads(body)
        except ValueError:
            return None
    return body if isinstance(body, dict) else None


def check_request(record: Record) -> None:
    """Decoded into our types and written again, equal; and, if a server took it, sent by ours in
    the same words to the same path.
    """
    plain = _request_of(record)
    body = json.dumps(plain).encode()
    request = decoded(body, types.ConverseRequest)
    typed(request, plain, "request")
    same_bytes(encode(request), body)
    if record["status"] != 200:
        return
    make = converse_stream if path_of(record).endswith("-stream") else converse
    call: Any = make(_model(record), msgspec.structs.replace(request))
    path = urllib.parse.unquote(path_of(record))
    if not path.endswith(urllib.parse.unquote(call.target)):
        raise Mismatch(f"{call.target} is not {path}")
    call.judge(PROVIDERS["bedrock"])  # raises what Bedrock would refuse
    sent = decoded(call.body, types.ConverseRequest)
    typed(sent, json.loads(call.body), "sent")
    if sent != request:
        raise Mismatch("what is sent is not the request")


def check_error(record: Record) -> None:
    """A typed error of the status, with the server's words and its type."""
    body, headers = body_of(record), record.get("response_headers") or {}
    error = parse_error(record["status"], headers, body)
    if (error.status, error.raw) != (record["status"], body):
        raise Mismatch(f"error is {error.status}")
    try:
        plain = json.loads(body)
    except ValueError:
        plain = {}
    words = plain.get("message") or plain.get("Message") or ""
    kind = headers.get("x-amzn-errortype", "").partition(":")[0]
    if errors.one_line(words) not in error.message:
        raise Mismatch(f"error says {error.message!r}, not {words!r}")
    if kind and error.code != kind:
        raise Mismatch(f"error is {error.code}, not {kind}")


def check_count(record: Record) -> None:
    """The recorded request, made by this library; the count of the answer."""
    plain = record["request_body"]
    request = decoded(json.dumps(plain).encode(), types.CountTokensRequest)
    typed(request, plain, "request")
    call = count_tokens(_model(record), msgspec.structs.replace(request))
    identical(json.loads(call.body), plain, "body")
    if record["status"] != 200:
        check_error(record)
        return
    answer = parse_plain(types.CountTokensResponse, body_of(record))
    typed(answer, json.loads(body_of(record)), "answer")


# --- embeddings -----------------------------------------------------------------------------------


def _embedding_scope(record: Record, model: str) -> Checks | None:
    kinds = next((each for each in _EMBEDS if re.search(each[0], model)), None)
    if kinds is None:
        return None
    if record["status"] != 200:
        return [check_error]
    if b'"data":[{' in body_of(record)[:12]:
        return None  # a gateway's own form
    return [functools.partial(_check_embedding, *kinds[1:])]


def _check_embedding(asked: type[WireStruct], answered: type[WireStruct], record: Record) -> None:
    """The request and the answer as structs; the vectors as neutral ones."""
    body, plain = body_of(record), record.get("request_body")
    answer = parse_plain(answered, body)
    typed(answer, json.loads(body), "answer")
    if isinstance(plain, dict):
        request: Any = decoded(json.dumps(plain).encode(), asked)
        typed(request, plain, "request")
        call = embed(_model(record), msgspec.structs.replace(request))
        identical(json.loads(call.body), plain, "body")
    texts = plain.get("texts", ["a"]) if isinstance(plain, dict) else ["a"]
    flow = embed_flow(EmbedRequest(texts), _model(record))
    found = next(flow).parse(body)  # type: ignore[attr-defined]
    vectors = json.loads(body).get("embeddings") or [json.loads(body)["embedding"]]
    vectors = vectors["float"] if isinstance(vectors, dict) else vectors
    vectors = [each["embedding"] if isinstance(each, dict) else each for each in vectors]
    identical(list(found.vectors), vectors, "vectors")


# --- answers --------------------------------------------------------------------------------------


def check_answer(record: Record) -> None:
    """A whole answer, equal as JSON from its typed values and unknown keys, as bytes from what it
    kept.
    """
    body = body_of(record)
    answer = parse_answer(body)
    plain = json.loads(body)
    typed(answer, plain, "answer")
    same_bytes(answer.raw, body)
    check_blocks(answer, plain)
    check_reply(parse_reply(answer), expected(plain))


def check_blocks(answer: types.ConverseResponse, plain: Any) -> None:
    """Each block kept the bytes that say what it says, and goes into a request with them."""
    content = _content(plain)
    blocks = answer.content
    identical([json.loads(block.raw or b"null") for block in blocks], content, "content")
    again = encode(types.Message(role="assistant", content=blocks))
    identical(json.loads(again)["content"], content, "message")
    if any((block.raw or b"?") not in again for block in blocks):
        raise Mismatch("a block does not go back with its bytes")
    identical(answer.text, _text(content), "text")


def _content(plain: Any) -> list[Any]:
    message = (plain.get("output") or {}).get("message") or {}
    content: list[Any] = message.get("content") or []
    return content


def _text(content: Sequence[Any]) -> str:
    texts = []
    for block in content:
        cited = (block.get("citationsContent") or {}).get("content") or []
        texts += [block.get("text") or "", *(each.get("text") or "" for each in cited)]
    return "".join(texts)


_COUNTS = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
STOPS = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "guardrail_intervened": "filter",
    "content_filtered": "filter",
}


def expected(plain: Any) -> Expected:
    """What an answer says."""
    content = _content(plain)
    calls = [
        {"id": each["toolUseId"], "name": each["name"], "arguments": each["input"]}
        for each in (block.get("toolUse") for block in content)
        if each and each.get("type") in (None, "tool_use")
    ]
    reasoning = [block["reasoningContent"] for block in content if "reasoningContent" in block]
    texts = [each.get("reasoningText") or {} for each in reasoning]
    redacted = [each["redactedContent"] for each in reasoning if "redactedContent" in each]
    reason = STOPS.get(plain["stopReason"], "other")
    guardrail = (plain.get("trace") or {}).get("guardrail") or {}
    usage = plain.get("usage")
    usage = None if usage is None else dict.fromkeys(_COUNTS, 0) | usage
    return Expected(
        text=_text(content),
        thought="".join(each.get("text") or "" for each in texts),
        calls=calls,
        parts=len(content),
        reason="tool_calls" if reason == "end" and calls else reason,
        raw=plain["stopReason"],
        message=guardrail.get("actionReason") or "" if reason == "filter" else "",
        signatures=[each["signature"] for each in texts if each.get("signature")],
        details=[{"data": each} for each in redacted],
        usage=None if usage is None else _usage(usage),
    )


def _usage(usage: Any) -> dict[str, int]:
    cached, written = usage["cacheReadInputTokens"], usage["cacheWriteInputTokens"]
    given = usage["inputTokens"] + cached + written
    return {
        "input": given,
        "output": usage["outputTokens"],
        "cached": cached,
        "cache_written": written,
        "total": given + usage["outputTokens"],
    }


# --- streams --------------------------------------------------------------------------------------


def check_written(record: Record) -> None:
    """All frames, written again byte for byte, whatever is in them."""
    body = body_of(record)
    if record.get("framing") != "aws-event-stream":
        APART["stream of another vendor's body, not recorded as bytes"] += 1
        return
    frames = Decoder().feed(body)
    if b"".join(frame_bytes(frame.headers, frame.payload) for frame in frames) != body:
        raise Mismatch("the frames that are written are not those that came")
    APART["stream of another vendor's body, of which the frames alone"] += 1


def check_frames(record: Record) -> None:
    """All frames, written again byte for byte; the same events wherever the bytes were cut."""
    body = body_of(record)
    decoder = Decoder()
    frames = decoder.feed(body)
    if decoder.error is not None or decoder.rest:
        raise Mismatch(f"frames end in {decoder.error!r}, with {len(decoder.rest)} bytes left")
    if b"".join(frame_bytes(frame.headers, frame.payload) for frame in frames) != body:
        raise Mismatch("the frames that are written are not those that came")
    whole = _raws([body])
    pieces = [cut_at_random(body, record["id"])]
    if len(body) <= _ALL_CUTS:
        pieces.append([body[at : at + 1] for at in range(len(body))])
    if any(_raws(each) != whole for each in pieces):
        raise Mismatch("the events depend on where the bytes were cut")
    broken = bytearray(body)
    broken[-1] ^= 1
    if _read([bytes(broken)])[1].__class__ is not StreamInvalid:
        raise Mismatch("a wrong checksum of the last frame is not told")


def _raws(pieces: list[bytes]) -> tuple[list[bytes], type[WireError] | None]:
    events, error = _read(pieces)
    return [bytes(event.raw or b"") for event in events], type(error) if error else None


def _read(
    pieces: list[bytes],
) -> tuple[list[types.ConverseStreamEvent], errors.WireError | None]:
    reader = ChunkReader()
    events = [event for piece in pieces for event in reader.feed(piece)]
    events += reader.close()
    return events, reader.error


def _plains(body: bytes) -> list[tuple[int, Any]]:
    """The end of each frame and its event, found in another way than the library's."""
    found, at = [], 0
    while at < len(body):
        size, headers = struct.unpack_from(">II", body, at)
        head = body[at + 12 : at + 12 + headers]
        name = re.search(rb":event-type\x07..(\w+?)(?=[\r\r\x0d:])", head, re.DOTALL)
        assert name is not None
        payload = json.loads(body[at + 12 + headers : at + size - 4])
        payload.pop("p", None)
        at += size
        found.append((at, {name[1].decode(): payload}))
    return found


def check_stream(record: Record, *, every: bool = False) -> None:
    """Each event as a chunk; the fold holds all of them; cut shorter it is incomplete."""
    body = body_of(record)
    events, error = _read([body])
    if error is not None:
        raise error
    frames = _plains(body)
    plains = [plain for _, plain in frames]
    if len(events) != len(plains):
        raise Mismatch(f"{len(events)} chunks of {len(plains)} events")
    for index, (event, plain) in enumerate(zip(events, plains, strict=True)):
        typed(event, plain, f"event {index}", is_chunk=True)
        identical(json.loads(event.raw or b""), plain, f"event {index}")
    check_fold(events, plains)
    last = len(plains) - 1
    for count in range(1, last + 1) if every else (1, last // 2 + 1, last):
        begin, end = frames[count - 1][0], frames[count][0]
        for cut in (begin, (begin + end) // 2):
            _check_part(body[:cut], plains[:count], _read, fold, parse_reply, _text_so_far)


def _text_so_far(plains: Sequence[Any]) -> str:
    texts: dict[int, str] = {}
    for plain in plains:
        delta = plain.get("contentBlockDelta")
        if delta:
            at = delta["contentBlockIndex"]
            texts[at] = texts.get(at, "") + (delta["delta"].get("text") or "")
    return "".join(texts[at] for at in sorted(texts))


def check_fold(events: list[types.ConverseStreamEvent], plains: list[Any]) -> None:
    """Nothing that any event held is lost."""
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
    closing = [
        each[name] for each in plains for name in ("messageStop", "metadata") if name in each
    ]
    beside = {key: value for each in closing for key, value in each.items()}
    identical({key: plain[key] for key in plain if key != "output"}, beside, "fold")
    indexes = sorted(
        {
            payload["contentBlockIndex"]
            for each in plains
            for payload in each.values()
            if "contentBlockIndex" in payload
            and ("contentBlockStart" in each or "contentBlockDelta" in each)
        }
    )
    if len(_content(plain)) != len(indexes):
        raise Mismatch(f"{len(_content(plain))} blocks of {len(indexes)}")
    for index, block in zip(indexes, _content(plain), strict=True):
        identical(block, _expected(index, plains), f"fold.content[{index}]")


def _expected(index: int, plains: Sequence[Any]) -> Any:
    """A block as its deltas make it, in another way than the library's."""
    payloads = [each for plain in plains for each in plain.values()]
    own = [each for each in payloads if each.get("contentBlockIndex") == index]
    block: dict[str, Any] = {}
    for each in own:
        block |= each.get("start") or {}
    deltas = [each["delta"] for each in own if "delta" in each]
    texts = [each["text"] for each in deltas if "text" in each]
    cited = [each["citation"] for each in deltas if "citation" in each]
    if cited:
        content = {"content": [{"text": "".join(texts)}]} if texts else {}
        block["citationsContent"] = {**content, "citations": cited}
    elif texts:
        block["text"] = "".join(texts)
    reasoning = [each["reasoningContent"] for each in deltas if "reasoningContent" in each]
    if reasoning:
        keys = {
            key: "".join(each[key] for each in reasoning if key in each)
            for key in ("text", "signature", "redactedContent")
            if any(key in each for each in reasoning)
        }
        redacted = keys.pop("redactedContent", None)
        block["reasoningContent"] = {
            **({"reasoningText": {"text": "", **keys}} if keys else {}),
            **({"redactedContent": redacted} if redacted is not None else {}),
        }
    if "toolUse" in block:
        text = "".join(each["toolUse"]["input"] for each in deltas if "toolUse" in each)
        block["toolUse"] = {**block["toolUse"], "input": json.loads(text or "{}")}
    if "toolResult" in block:
        parts = [part for each in deltas for part in each.get("toolResult", ())]
        block["toolResult"] = {**block["toolResult"], "content": parts}
    return block
