"""What is to hold of a recorded exchange on chat completions, embeddings or models."""

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
    without_notes,
)
from tests.conformance.records import (
    Record,
    body_of,
    cut_at_random,
    path_of,
    row_of,
    same_bytes,
)
from tests.conformance.result import APART, Mismatch
from wire import errors
from wire.core.lenient import decoded
from wire.core.memory import WireStruct, encode
from wire.core.provider import Provider
from wire.openai.chat import types
from wire.openai.chat.endpoints import chat_completions, stream_chat_completions
from wire.openai.chat.fold import fold
from wire.openai.chat.parse import EventReader, parse_reply
from wire.openai.chat.reader import ChunkReader, parse_completion
from wire.openai.chat.rules import check
from wire.openai.common.batches import batch_results
from wire.openai.common.dialect import PLAIN, Dialect
from wire.openai.common.error_body import parse_error
from wire.openai.common.reader import parse_plain

REQUESTS: dict[str, type[WireStruct]] = {
    "chat.completions": types.ChatCompletionRequest,
    "embeddings": types.EmbeddingRequest,
    "batch": types.BatchCreateRequest,
}
ANSWERS: dict[str, type[WireStruct]] = {
    "embeddings": types.EmbeddingList,
    "models": types.ModelList,
    "model": types.Model,
    "deleted model": types.DeletedModel,
    "file": types.File,
    "files": types.FileList,
    "deleted file": types.DeletedFile,
    "batch": types.Batch,
    "cancelled batch": types.Batch,
    "batches": types.BatchList,
}


def scope(record: Record, *, every: bool = False) -> Checks | None:
    """What is to hold of a record, `None` if its endpoint is not built."""
    endpoint = _endpoint(record)
    if endpoint not in REQUESTS and endpoint not in ANSWERS and endpoint != "results":
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
    ("POST", r"/chat/completions", "chat.completions"),
    ("POST", r"/embeddings", "embeddings"),
    ("GET", r"/models", "models"),
    ("GET", r"/models/[^/]+", "model"),
    ("DELETE", r"/models/[^/]+", "deleted model"),
    ("POST", r"/files", "file"),
    ("GET", r"/files", "files"),
    ("GET", r"/files/[^/]+", "file"),
    ("DELETE", r"/files/[^/]+", "deleted file"),
    ("GET", r"/files/[^/]+/content", "results"),
    ("POST", r"/v1/batches", "batch"),
    ("POST", r"/batches/[^/]+/cancel", "cancelled batch"),
    ("GET", r"/v1/batches", "batches"),
    ("GET", r"/batches/[^/]+", "batch"),
]
_OTHERS = re.compile(
    r"/(api/models|ai/models|crewai_plus|containers|vector_stores|fine_tuning|uploads|evals)(/|$)"
)
"""Of other APIs, and files of things that the library has no calls for."""


def _endpoint(record: Record) -> str:
    """The endpoint that the record belongs to, by method and path."""
    method, path = record.get("method"), path_of(record)
    if not _OTHERS.search(path):
        for verb, pattern, name in _OPERATIONS:
            if method == verb and re.search(f"(?:{pattern})$", path):
                return name
    return f"{method} {path}"


def check_request(record: Record) -> None:
    """Decoded into our types, typed values equal; and, if a server took it, neither refused for
    the host that took it nor sent in other words.
    """
    kind = REQUESTS[_endpoint(record)]
    body = json.dumps(record["request_body"]).encode()
    request = decoded(body, kind)
    typed(request, record["request_body"], "request")
    same_bytes(encode(request), body)
    if isinstance(request, types.ChatCompletionRequest) and record["status"] == 200:
        row = row_of(record, "openai")
        for found in check(request, "", row):
            if found.severity == "error":
                raise Mismatch(f"an accepted request is refused: {found}")
        built = msgspec.structs.replace(request)  # without the bytes that it came in
        call = stream_chat_completions(built) if request.stream else chat_completions(built)
        if not path_of(record).endswith(call.path):
            raise Mismatch(f"{call.path} is not {record['url']}")
        sent = decoded(call.body, kind)
        typed(sent, json.loads(call.body), "sent")
        if request.stream and request.stream_options is None:
            sent = msgspec.structs.replace(sent, stream_options=None)  # usage is asked for
        if sent != request:
            raise Mismatch("what is sent is not the request")


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
            APART["empty body"] += 1
            return
        raise
    plain = json.loads(body)
    typed(answer, {"data": plain} if isinstance(plain, list) else plain, "answer")
    if not isinstance(plain, list):
        same_bytes(answer.raw, body)


def check_results(record: Record) -> None:
    """A struct for each line, equal as JSON and as bytes."""
    lines = [line for line in body_of(record).split(b"\n") if line.strip()]
    results = batch_results(body_of(record))
    if len(results) != len(lines):
        raise Mismatch(f"{len(results)} results of {len(lines)} lines")
    for result, line in zip(results, lines, strict=True):
        typed(result, json.loads(line), "result")
        same_bytes(result.raw, line)


def check_answer(record: Record) -> None:
    """A whole answer, equal as JSON from its typed values and unknown keys, as bytes from what it
    kept; and its neutral reading.
    """
    body = body_of(record)
    try:
        answer = parse_completion(body)
    except (errors.StreamInvalid, errors.StreamIncomplete):
        if has_nothing([body], is_ours):
            return
        raise
    except errors.APIError as error:
        check_error_in_success(error, body)
        return
    plain = json.loads(body or b"null")
    if not isinstance(plain, dict) or not isinstance(plain.get("choices"), list):
        raise Mismatch(f"nothing is taken for an answer: {body[:80]!r}")
    typed(answer, plain, "answer")
    same_bytes(answer.raw, body)
    dialect = dialect_of(record)
    for choice, other in zip(answer.choices or (), plain.get("choices") or (), strict=True):
        check_message(choice.message, other.get("message"))
        index = choice.index or 0
        check_reply(parse_reply(answer, choice=index), expected(other, plain, PLAIN))
        reply = parse_reply(answer, dialect, choice=index)
        if not dialect.think_tags:
            check_reply(reply, expected(other, plain, dialect))


def is_ours(plain: Any) -> bool:
    """Whether it is a completion, or a chunk of one."""
    choices = plain.get("choices") if isinstance(plain, dict) else None
    return isinstance(choices, list) and any(isinstance(each, dict) for each in choices)


def dialect_of(record: Record) -> Dialect:
    """The dialect of the host that answered."""
    row = row_of(record, "openai")
    return row.dialect if isinstance(row, Provider) else PLAIN


def check_error_in_success(error: errors.APIError, body: bytes) -> None:
    """An error in a 200 is in the body, and says what is written there."""
    APART["error in a 200"] += 1
    raw = error.raw.strip()
    if not raw or raw not in body:
        raise Mismatch(f"an error that nobody sent: {error!r}")
    plain = json.loads(raw)
    plain = plain[0] if isinstance(plain, list) else plain
    inside = [plain.get("error"), *(each.get("error") for each in plain.get("choices") or ())]
    found = next((each for each in inside if each), None)
    if found is None and plain.get("choices"):
        raise Mismatch(f"an answer is taken for an error: {error!r}")
    words = found.get("message") if isinstance(found, dict) else found
    if isinstance(words, str) and errors.one_line(words) not in error.message:
        raise Mismatch(f"error says {error.message!r}, not {words!r}")
    status = found.get("code") if isinstance(found, dict) else None
    if isinstance(status, int) and error.status != status:
        raise Mismatch(f"the status is {error.status}, not {status}")


def check_message(message: types.Message | None, plain: Any) -> None:
    """A message and its calls kept the bytes that say what they say."""
    if message is None:
        return
    identical(json.loads(message.raw or b"null"), plain, "message.raw")
    for call, other in zip(message.tool_calls or (), plain.get("tool_calls") or (), strict=True):
        identical(json.loads(call.raw or b"null"), other, "tool_call.raw")


STOPS = {
    "stop": "end",
    "eos": "end",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "content_filter": "filter",
}


def expected(choice: Any, plain: Any, dialect: Dialect) -> Expected:
    """What a choice of a whole answer says."""
    message = choice.get("message") or {}
    content = message.get("content")
    if isinstance(content, dict):  # of another type than the wire's
        content = _json_text(content)
    parts = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
    slots = [
        message[name]
        for name in ("reasoning_content", "reasoning", "reasoning_text")
        if message.get(name)
    ]
    inside = "".join(each.get("text", "") for part in parts for each in part.get("thinking") or ())
    details = message.get("reasoning_details")
    refusal = message.get("refusal") or ""
    annotations = [each for each in message.get("annotations") or () if each.get("url_citation")]
    texts = [part.get("text") or "" for part in parts if part.get("type") == "text"]
    found = Expected(
        text="".join([*texts, refusal]),
        refusal=refusal,
        thought=None if details and not slots else (slots or [""])[0] + inside,
        raw=choice.get("finish_reason") or None,
        message=refusal,
        sequence=choice["stop_reason"] if isinstance(choice.get("stop_reason"), str) else None,
        details=details or [],
        cited=[each["url_citation"].get("url") for each in annotations] or None,
    )
    legacy = message.get("function_call")
    calls = message.get("tool_calls") or (
        [{"function": legacy}] if legacy and legacy.get("name") else []
    )
    unsaid = "tool_calls" if found.raw is None and calls else "other"
    found.reason = STOPS.get(str(found.raw), unsaid)
    if (choice.get("native_finish_reason") or "").lower() in _CUT_OFF:
        found.reason = "length"
    elif found.reason == "end" and calls:
        found.reason = "tool_calls"
    found.calls = [_call_of(call, cut=found.reason == "length") for call in calls]
    found.usage = _counts(_usage(plain), dialect)
    return found


def _json_text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


_CUT_OFF = ("length", "max_tokens", "max_output_tokens")


def _call_of(call: Any, *, cut: bool) -> dict[str, Any]:
    own = {"id": call["id"]} if call.get("id") else {}
    if call.get("extra_content") is not None:
        own["extra"] = call["extra_content"]
    if call.get("custom") and call["custom"].get("name"):
        text = call["custom"]["input"]
        return {**own, "name": call["custom"]["name"], "arguments": {"input": text}, "text": text}
    function = call["function"]
    text = function.get("arguments")
    if not isinstance(text, str):
        return {**own, "name": function["name"], "arguments": text or {}}
    try:
        # Nothing is a call without arguments, unless the answer was cut off.
        read = json.loads(text or "null") or (None if cut else {})
    except ValueError:
        read = None
    arguments = read if isinstance(read, dict) else None
    return {**own, "name": function["name"], "arguments": arguments, "text": text}


def _counts(usage: Any, dialect: Dialect) -> dict[str, int] | None:
    if not usage or not isinstance(usage, dict):
        return None
    inside, outside = (
        usage.get(f"{side}_tokens_details") or {} for side in ("prompt", "completion")
    )
    reasoning = outside.get("reasoning_tokens") or usage.get("reasoning_tokens") or 0
    given, output = usage.get("prompt_tokens") or 0, usage.get("completion_tokens") or 0
    output += reasoning if dialect.reasoning_outside_output else 0
    return {
        "input": given,
        "output": output,
        "reasoning": reasoning,
        "total": usage.get("total_tokens") or given + output,
        "cached": next(
            (
                count
                for count in (
                    inside.get("cached_tokens"),
                    usage.get("prompt_cache_hit_tokens"),
                    usage.get("cached_tokens"),
                    usage.get("num_cached_tokens"),
                    usage.get("cache_read_input_tokens"),
                )
                if count
            ),
            0,
        ),
    }


def check_stream(record: Record, *, every: bool = False) -> None:
    """Each chunk as an answer; the fold and the events hold all of them; the same whole and cut at
    random; cut shorter it is incomplete.
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
    error = reader.error
    if isinstance(error, errors.StreamError) and has_nothing(payloads, is_ours):
        return
    if not payloads and not chunks and error is None and b"[DONE]" in body:
        APART["[DONE] alone"] += 1
        return
    if isinstance(error, errors.APIError):
        check_error_in_success(error, body)
        payloads = payloads[: len(chunks)]
    plains = [json.loads(payload) for payload in payloads]
    ended = b"[DONE]" in body or is_whole(plains)
    if not isinstance(error, errors.APIError) and (error is None) is not ended:
        raise error or Mismatch("a stream without an end passes for whole")
    if len(chunks) != len(payloads):
        raise Mismatch(f"{len(chunks)} chunks of {len(payloads)} events")
    for index, (chunk, plain, payload) in enumerate(zip(chunks, plains, payloads, strict=True)):
        typed(chunk, plain, f"chunk {index}", is_chunk=True)
        same_bytes(chunk.raw, payload)
    if chunks:
        check_fold(chunks, plains, error, dialect_of(record))
    if error is None:
        check_cut_short(
            record,
            body,
            payloads,
            every=every,
            read=_cut,
            is_whole=is_whole,
            fold=fold,
            reply_of=parse_reply,
            text_of=lambda plains: (
                expected(
                    next(
                        (each for each in folded(plains)["choices"] if each["index"] == 0),
                        {"index": 0},
                    ),
                    {},
                    PLAIN,
                ).text
            ),
        )


def is_whole(plains: Sequence[Any]) -> bool:
    """Whether chunks are a whole answer: each choice that began has a finish, which is no error."""
    finishes: dict[int, Any] = {}
    for plain in plains:
        for choice in plain.get("choices") or ():
            index = choice.get("index") or 0
            finish = choice.get("finish_reason") or choice.get("finishReason")
            finishes[index] = finish or finishes.get(index)
    return bool(finishes) and all(
        finish not in (None, "", "null") and STOPS.get(finish, finish) != "error"
        for finish in finishes.values()
    )


def _cut(
    pieces: list[bytes],
) -> tuple[list[types.ChatCompletionChunk], errors.WireError | None]:
    chunks, reader = _read(pieces)
    return chunks, reader.error


def check_fold(
    chunks: Sequence[types.ChatCompletionChunk],
    plains: Sequence[Any],
    error: errors.WireError | None,
    dialect: Dialect,
) -> None:
    """The fold is what the chunks make in another way than the library's, and the events come to
    its reply.
    """
    whole = fold(chunks)
    plain = json.loads(whole.raw or b"null")
    typed(whole, plain, "fold")
    same(plain, folded(plains), "fold")
    if error is not None:
        return
    indices = sorted({each.get("index") or 0 for each in plain.get("choices") or ()})
    is_read_alike = (dialect.think_tags, dialect.cumulative_details) == (None, False)
    for spoken in (PLAIN,) if is_read_alike else (PLAIN, dialect):
        answer = whole if spoken is PLAIN else fold(chunks, spoken)
        for index in indices:
            reading = EventReader(spoken, choice=index)
            events = [event for chunk in chunks for event in reading.feed(chunk)]
            events += reading.close()
            reply = reading.reply()
            check_events(events, reply)
            of_fold = parse_reply(answer, spoken, choice=index)
            if without_notes(of_fold) != without_notes(reply) and not spoken.think_tags:
                raise Mismatch("the reply of the fold is not the reply of the events")
            if spoken is PLAIN:
                choice = next(each for each in plain["choices"] if each["index"] == index)
                check_reply(reply, expected(choice, plain, PLAIN))


def folded(plains: Sequence[Any]) -> Any:
    """The chunks as one answer, made in another way than the library's."""
    whole = _last(plains, "choices", "usage", "obfuscation")
    whole["object"] = "chat.completion"
    usage = next((found for each in reversed(plains) if (found := _usage(each))), None)
    if usage is not None:
        whole["usage"] = usage
    pieces: dict[int, list[Any]] = {}
    for plain in plains:
        for choice in plain.get("choices") or ():
            pieces.setdefault(choice.get("index") or 0, []).append(choice)
    whole["choices"] = [_choice(index, pieces[index]) for index in sorted(pieces)]
    return whole


def _last(objects: Sequence[Any], *besides: str) -> Any:
    whole: dict[str, Any] = {}
    for each in objects:
        whole |= {
            key: value
            for key, value in each.items()
            if key not in besides and (key not in whole or value or isinstance(value, int | float))
        }
    return whole


def _choice(index: int, pieces: Sequence[Any]) -> Any:
    deltas = [piece.get("delta") or {} for piece in pieces]
    if not any(delta.get(name) for delta in deltas for name in _SAYS):
        deltas = [
            {**delta, **(piece.get("message") or {})}
            for delta, piece in zip(deltas, pieces, strict=True)
        ]
    choice = {
        **_last(pieces, "index", "delta", "message", "logprobs", "text"),
        "index": index,
        "message": _message(deltas),
    }
    finishes = [piece.get("finish_reason") or piece.get("finishReason") for piece in pieces]
    choice["finish_reason"] = next((each for each in reversed(finishes) if each), None)
    logprobs = [piece["logprobs"] for piece in pieces if piece.get("logprobs")]
    if logprobs:
        objects = [each for each in logprobs if isinstance(each, dict)]
        whole = _lists_go_on(objects or [{"logprobs": each} for each in logprobs])
        choice |= {"logprobs": whole} if objects else whole
    return choice


_SAYS = (
    "content",
    "refusal",
    "tool_calls",
    "function_call",
    "audio",
    "reasoning_content",
    "reasoning",
    "reasoning_text",
    "reasoning_details",
)


def _lists_go_on(objects: Sequence[Any]) -> Any:
    whole = _last(objects)
    for key in whole:
        lists = [each[key] for each in objects if isinstance(each.get(key), list)]
        if isinstance(whole[key], list):
            whole[key] = [item for each in lists for item in each]
    return whole


def _message(deltas: Sequence[Any]) -> Any:
    message = _lists_go_on(deltas)
    message["role"] = next((delta["role"] for delta in deltas if delta.get("role")), "assistant")
    contents = [delta["content"] for delta in deltas if delta.get("content") is not None]
    if all(isinstance(content, str) for content in contents):
        message["content"] = "".join(contents) if contents else None
    elif all(isinstance(content, list | str) for content in contents):
        message["content"] = _content(contents)
    for name in ("reasoning_content", "reasoning", "reasoning_text", "refusal"):
        texts = [delta[name] for delta in deltas if delta.get(name) is not None]
        if texts:
            message[name] = "".join(texts)
    audio = [delta["audio"] for delta in deltas if delta.get("audio")]
    if audio:
        message["audio"] = _last(audio) | {
            name: "".join(each[name] for each in audio if each.get(name))
            for name in ("data", "transcript")
            if any(name in each for each in audio)
        }
    details: dict[Any, Any] = {}
    for detail in (each for delta in deltas for each in delta.get("reasoning_details") or ()):
        known = details.setdefault((detail.get("type"), detail.get("index")), {})
        for key, value in detail.items():
            if key in ("text", "summary") and value is not None:
                known[key] = known.get(key, "") + value
            elif value is not None:
                known[key] = value
    if details:
        message["reasoning_details"] = list(details.values())
    calls = _calls([item for delta in deltas for item in delta.get("tool_calls") or ()])
    if calls:
        message["tool_calls"] = calls
    legacy = [delta["function_call"] for delta in deltas if delta.get("function_call")]
    if legacy:
        message["function_call"] = {
            name: "".join(each.get(name) or "" for each in legacy) for name in ("name", "arguments")
        }
    return message


def _content(contents: Sequence[Any]) -> Any:
    parts: list[Any] = []
    for content in contents:
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            last = parts[-1] if parts else {}
            if part == {"type": "text", "text": ""}:
                continue
            if part["type"] == last.get("type") == "text":
                parts[-1] = {"type": "text", "text": last["text"] + part["text"]}
            elif part["type"] == last.get("type") == "thinking":
                thinking = _content([last["thinking"], part["thinking"]])
                parts[-1] = {**last, **part, "thinking": thinking}
            else:
                parts.append(part)
    return parts


def _calls(fragments: Sequence[Any]) -> list[Any]:
    """A call for each id at its index; what has no id goes on with the call of its index, or
    the last.
    """
    calls: list[Any] = []
    for fragment in fragments:
        at, id = fragment.get("index"), fragment.get("id") or None
        call = next((each for each in reversed(calls) if at is None or each["at"] == at), None)
        if call is None or (id and call["whole"].get("id") and call["whole"]["id"] != id):
            call = {"at": at, "whole": {}}
            calls.append(call)
        whole = call["whole"]
        function = fragment.get("function") or {}
        known = whole.get("function") or {}
        arguments = function.get("arguments")
        if arguments is not None and not isinstance(arguments, str):
            arguments = _json_text(arguments)
        name = function.get("name") or ""
        merged = _last([known, function])
        merged["name"] = known.get("name") or name
        merged["arguments"] = (known.get("arguments") or "") + (arguments or "")
        beside = _last([whole, fragment], "index", "function")
        call["whole"] = {"id": None, "type": "function", **beside, "function": merged}
    return [call["whole"] for call in calls]


def _usage(plain: Any) -> Any:
    beside = [choice.get("usage") for choice in plain.get("choices") or ()]
    return next(
        (
            usage
            for usage in (plain.get("usage"), *beside, (plain.get("x_groq") or {}).get("usage"))
            if isinstance(usage, dict) and usage
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
