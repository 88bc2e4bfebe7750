"""What is to hold of a recorded exchange on Responses or conversations."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from tests.conformance.compare import identical, same, typed
from tests.conformance.gemini import Checks, check_opaque
from tests.conformance.neutral import (
    Expected,
    check_cut_short,
    check_events,
    check_reply,
    has_nothing,
)
from tests.conformance.openai import check_error, check_error_in_success
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
from wire.core.call import Call, StreamCall
from wire.core.lenient import decoded
from wire.core.memory import PARTIAL, WireStruct, encode, with_notes
from wire.core.provider import Provider
from wire.neutral.messages import Message, Reply, ToolResult
from wire.neutral.request import Request
from wire.openai.responses import conversations, stored, types
from wire.openai.responses.endpoints import create_response, stream_response
from wire.openai.responses.fold import fold
from wire.openai.responses.parse import EventReader, parse_reply
from wire.openai.responses.reader import ChunkReader, parse_response
from wire.openai.responses.rendering import render_request
from wire.openai.responses.rules import check
from wire.providers import PROVIDERS

REQUESTS: dict[str, type[WireStruct]] = {
    "create": types.ResponseRequest,
    "input_tokens": types.InputTokensRequest,
    "compact": types.CompactRequest,
    "new conversation": types.ConversationRequest,
    "update conversation": types.ConversationRequest,
    "add items": types.ItemsRequest,
}
_TOKENS = types.InputTokensRequest(model="m", input="Hi")
_ITEM = types.Item(role="user", content="Hi")
ANSWERS: dict[str, Callable[[], Call[Any]]] = {
    "get": lambda: stored.get_response("resp_1"),
    "cancel": lambda: stored.cancel_response("resp_1"),
    "delete": lambda: stored.delete_response("resp_1"),
    "input_items": lambda: stored.list_input_items("resp_1"),
    "input_tokens": lambda: stored.count_input_tokens(_TOKENS),
    "compact": lambda: stored.compact(types.CompactRequest(model="m")),
    "new conversation": conversations.create_conversation,
    "conversation": lambda: conversations.get_conversation("conv_1"),
    "update conversation": lambda: conversations.update_conversation("conv_1", {}),
    "delete conversation": lambda: conversations.delete_conversation("conv_1"),
    "items": lambda: conversations.list_items("conv_1"),
    "add items": lambda: conversations.add_items("conv_1", [_ITEM]),
    "item": lambda: conversations.get_item("conv_1", "msg_1"),
    "delete item": lambda: conversations.delete_item("conv_1", "msg_1"),
}
"""Endpoint -> a call of it, which reads the answer."""


def scope(record: Record, *, every: bool = False) -> Checks | None:
    """What is to hold of a record, `None` if its endpoint is not built."""
    endpoint = _endpoint(record)
    if endpoint is None:
        return None
    checks: Checks = []
    if isinstance(record.get("request_body"), dict) and endpoint in REQUESTS:
        checks.append(check_request)
    elif record.get("request_body"):
        checks.append(check_opaque)
    if not 200 <= record["status"] < 300:
        return [*checks, check_error]
    if record.get("framing") == "sse":
        return [*checks, functools.partial(check_stream, every=every)]
    return [*checks, check_plain if endpoint in ANSWERS else check_answer]


_OPERATIONS = [
    ("POST", r"/responses", "create"),
    ("POST", r"/responses/input_tokens", "input_tokens"),
    ("POST", r"/responses/compact", "compact"),
    ("GET", r"/responses/[^/]+", "get"),
    ("DELETE", r"/responses/[^/]+", "delete"),
    ("POST", r"/responses/[^/]+/cancel", "cancel"),
    ("GET", r"/responses/[^/]+/input_items", "input_items"),
    ("POST", r"/conversations", "new conversation"),
    ("GET", r"/conversations/[^/]+", "conversation"),
    ("POST", r"/conversations/[^/]+", "update conversation"),
    ("DELETE", r"/conversations/[^/]+", "delete conversation"),
    ("GET", r"/conversations/[^/]+/items", "items"),
    ("POST", r"/conversations/[^/]+/items", "add items"),
    ("GET", r"/conversations/[^/]+/items/[^/]+", "item"),
    ("DELETE", r"/conversations/[^/]+/items/[^/]+", "delete item"),
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


# --- requests -------------------------------------------------------------------------------------


def check_request(record: Record) -> None:
    """Decoded into our types and written again, equal; and, if a server took it, neither refused
    for the host that took it nor sent in other words.
    """
    plain = record["request_body"]
    body = json.dumps(plain).encode()
    request = decoded(body, REQUESTS[str(_endpoint(record))])
    typed(request, plain, "request")
    same_bytes(encode(request), body)
    if record["status"] != 200:
        return
    if isinstance(request, types.ResponseRequest):
        for found in check(request, "", row_of(record, "openai.responses")):
            if found.severity == "error":
                raise Mismatch(f"an accepted request is refused: {found}")
    call = _call(request, path_of(record))
    if not path_of(record).endswith(call.path):
        raise Mismatch(f"{call.path} is not {record['url']}")
    sent = decoded(call.body, type(request))
    typed(sent, json.loads(call.body), "sent")
    if sent != request:
        raise Mismatch("what is sent is not the request")


def _call(request: WireStruct, path: str) -> Call[Any] | StreamCall[Any, Any]:
    """The call that sends the request, built without the bytes that it came in."""
    built = msgspec.structs.replace(request)
    _, _, conversation = path.partition("/conversations/")
    match built:
        case types.ResponseRequest(stream=True):
            return stream_response(built)
        case types.ResponseRequest():
            return create_response(built)
        case types.InputTokensRequest():
            return stored.count_input_tokens(built)
        case types.CompactRequest():
            return stored.compact(built)
        case types.ItemsRequest():
            return conversations.add_items(conversation.partition("/")[0], built.items)
        case types.ConversationRequest() if conversation:
            return conversations.update_conversation(conversation, built.metadata or {})
        case types.ConversationRequest():
            return conversations.create_conversation(built)
    raise Mismatch(f"no call sends {type(request).__name__}")


# --- plain answers --------------------------------------------------------------------------------


def check_plain(record: Record) -> None:
    """One struct, equal as JSON and as bytes, with the bytes of each of its items."""
    body = body_of(record)
    try:
        answer = ANSWERS[str(_endpoint(record))]().parse(body)
    except (errors.StreamInvalid, errors.StreamIncomplete):
        if not body.strip() and has_nothing([], is_ours):
            return
        raise
    if isinstance(answer, types.DeletedResponse) and not body.strip():
        return  # the reference names no body
    plain = json.loads(body)
    typed(answer, plain, "answer")
    same_bytes(answer.raw, body)
    for key in ("output", "data"):
        check_items(getattr(answer, key, None) or (), plain.get(key) or ())
    if isinstance(answer, types.Response):
        check_neutral(record, answer, plain)


def check_answer(record: Record) -> None:
    """A complete response, equal as JSON from its typed values and unknown keys, as bytes from what
    it kept; and its neutral reading.
    """
    body = body_of(record)
    try:
        answer = parse_response(body)
    except errors.APIError as error:
        check_error_in_success(error, body)
        return
    except (errors.StreamInvalid, errors.StreamIncomplete):
        if has_nothing([body], is_ours):
            return
        raise
    plain = json.loads(body or b"null")
    if not is_ours(plain):
        raise Mismatch(f"nothing is taken for an answer: {body[:80]!r}")
    typed(answer, plain, "answer")
    same_bytes(answer.raw, body)
    check_items(answer.output or (), plain.get("output") or ())
    check_neutral(record, answer, plain)


def is_ours(plain: Any) -> bool:
    """Whether it is a response, or an event of one."""
    if not isinstance(plain, dict):
        return False
    return isinstance(plain.get("output"), list) or "." in str(plain.get("type"))


def check_items(items: Sequence[types.Item], plain: Sequence[Any]) -> None:
    """Each item kept the bytes that say what it says."""
    identical([json.loads(item.raw or b"null") for item in items], plain, "items")


def check_neutral(record: Record, answer: types.Response, plain: Any) -> None:
    """The reply says what the response says, and its items go back as they came."""
    row = row_of(record, "openai.responses") or PROVIDERS["openai@responses"]
    assert isinstance(row, Provider)
    reply = parse_reply(answer, provider=row.name, model="m")
    check_reply(reply, expected(plain))
    check_round_trip(reply, plain.get("output") or (), row)


STOPS = {
    "max_output_tokens": "length",
    "content_filter": "filter",
    "completed": "end",
    "queued": "pause",
    "in_progress": "pause",
    "failed": "error",
}


def expected(plain: Any) -> Expected:
    """What a response says."""
    output = plain.get("output") or ()
    calls = [_call_of(item) for item in output if item.get("type") in _ARGUMENTS]
    details, status = plain.get("incomplete_details") or {}, plain.get("status")
    raw = details.get("reason") or status
    reason = STOPS.get(str(raw), "other")
    return Expected(
        text="".join(text for item in output for text in _texts(item)),
        thought="".join(map(_thought, output)),
        calls=calls,
        parts=sum(map(_parts, output)),
        reason=("tool_calls" if calls else "other" if _waits(output) else reason)
        if reason == "end"
        else reason,
        raw=raw,
        message=(plain.get("error") or {}).get("message") or "".join(map(_refused, output)),
        usage=_counts(plain.get("usage")),
        signatures=[
            item["encrypted_content"]
            for item in output
            if item.get("type") == "reasoning" and item.get("encrypted_content")
        ],
        details=[],
        cited=[url for item in output for url in _cited(item)] or None,
    )


_FOR_CLIENTS = (
    "apply_patch_call",
    "computer_call",
    "local_shell_call",
    "mcp_approval_request",
    "shell_call",
    "tool_search_call",
)


def _waits(output: Any) -> bool:
    """Whether the client has to act on an item that is no call of a function."""
    done = {each.get("call_id") for each in output if str(each.get("type")).endswith("_output")}
    return any(
        each.get("type") in _FOR_CLIENTS
        and each.get("execution") != "server"
        and (each.get("call_id") is None or each["call_id"] not in done)
        for each in output
    )


_WORDS = {"output_text": "text", "refusal": "refusal"}
_OF_SERVER = ("web_search_call", "file_search_call", "code_interpreter_call", "mcp_call")


def _parts(item: Any) -> int:
    """Neutral parts of an item: its texts; the call of a server's tool, and what it returned."""
    if _is_message(item):
        return len(_texts(item))
    if item.get("type") not in _OF_SERVER:
        return 1
    returned = ((item.get("action") or {}).get("sources"), item.get("results"))
    returned += item.get("outputs"), item.get("output"), item.get("error") or None
    is_failed = item.get("status") == "failed"
    return 2 if is_failed or any(each is not None for each in returned) else 1


def _is_message(item: Any) -> bool:
    """Whether it is a message of the model with nothing but texts and refusals."""
    content = item.get("content")
    return item.get("type", "message") == "message" and (
        isinstance(content, str)
        or (isinstance(content, list) and all(part["type"] in _WORDS for part in content))
    )


def _texts(item: Any) -> list[str]:
    """The texts and refusals of a message, one for each part."""
    if not _is_message(item):
        return []
    content = item["content"]
    if isinstance(content, str):
        return [content]
    return [part.get(_WORDS[part["type"]]) or "" for part in content]


def _refused(item: Any) -> str:
    """The refusals of a message."""
    content = item.get("content")
    return "".join(
        part.get("refusal") or ""
        for part in (content if isinstance(content, list) else ())
        if part.get("type") == "refusal"
    )


def _cited(item: Any) -> list[str]:
    """The URLs that the texts of a message cite."""
    content = item.get("content")
    return [
        each["url"]
        for part in (content if isinstance(content, list) else ())
        for each in part.get("annotations") or ()
        if each.get("type") == "url_citation" and each.get("url")
    ]


def _thought(item: Any) -> str:
    """The text of reasoning, or its summary with a blank line between the parts."""
    if item.get("type") != "reasoning":
        return ""
    if item.get("content"):
        return "".join(part["text"] for part in item["content"])
    return "\n\n".join(part["text"] for part in item.get("summary") or () if part["text"])


_ARGUMENTS = {"function_call": "arguments", "custom_tool_call": "input"}


def _call_of(item: Any) -> dict[str, Any]:
    text = item.get(_ARGUMENTS[item["type"]]) or ""
    own = {"id": item["call_id"]} if item.get("call_id") else {}
    cut = item.get("status") == "incomplete"
    arguments: Any = None if cut else {"input": text}
    if item["type"] == "function_call":
        try:
            found = json.loads(text) if text else None if cut else {}
        except ValueError:
            found = None
        arguments = found if isinstance(found, dict) else None
    return {**own, "name": item["name"], "arguments": arguments, "text": text}


def _counts(usage: Any) -> dict[str, int] | None:
    if not usage:
        return None
    inside, outside = (usage.get(f"{side}_tokens_details") or {} for side in ("input", "output"))
    given, output = (usage.get(f"{side}_tokens") or 0 for side in ("input", "output"))
    return {
        "input": given,
        "output": output,
        "cached": inside.get("cached_tokens") or 0,
        "cache_written": inside.get("cache_write_tokens") or 0,
        "reasoning": outside.get("reasoning_tokens") or 0,
        "total": usage.get("total_tokens") or given + output,
    }


def check_round_trip(reply: Reply, output: Sequence[Any], row: Provider) -> None:
    """The turn goes back to the host item for item: with all that each has but its status, its
    `null`s, and the id that the server would look up. Reasoning that the host cannot read stays
    behind, and so do the items before the newest compaction.
    """
    results = [ToolResult(call.id, call.name, "ok") for call in reply.tool_calls]
    if not reply.message.parts:
        return
    messages = [
        Message.user("Hi"),
        reply.message,
        *([Message.tool_response(results)] if results else []),
        Message.user("Go on."),
    ]
    built = render_request(Request(messages=tuple(messages)), "m", row)
    items = json.loads(encode(built))["input"]
    # The server has put the items before its newest compaction into that item.
    kinds = [isinstance(item, dict) and item.get("type") == "compaction" for item in output]
    newest = len(kinds) - 1 - kinds[::-1].index(True) if True in kinds else 0
    output = output[newest:]
    wanted = [_going_back(item, row.dialect) for item in output if _is_read(item, row.dialect)]
    own = items[1 : len(items) - len(results) - 1]
    if json.dumps(own) != json.dumps(wanted):  # the order of the keys, too
        identical(own, wanted, "items that go back")
        raise Mismatch("the keys of the items that go back are in another order")
    answered = items[1 + len(own) : -1]
    identical(
        [(each["type"], each["call_id"], each["output"]) for each in answered],
        [
            (f"{each['type']}_output", each["call_id"], "ok")
            for each in output
            if each.get("type") in _ARGUMENTS
        ],
        "results",
    )


def _is_read(item: Any, dialect: Any) -> bool:
    if item.get("type") != "reasoning":
        return True
    names = {"encrypted": ("encrypted_content",), "content": ("content",)}
    return any(
        item.get(name) for name in names.get(dialect.reasoning, ("encrypted_content", "content"))
    )


def _going_back(item: Any, dialect: Any) -> Any:
    is_message = item.get("type", "message") == "message"
    keeps_id = dialect.ids == "all" or (dialect.ids == "messages" and is_message)
    dropped = () if keeps_id and is_message else ("status",) if keeps_id else ("status", "id")
    if item.get("type") == "image_generation_call":  # whose id and status are required
        dropped = ()
    return {key: value for key, value in item.items() if key not in dropped and value is not None}


# --- streams --------------------------------------------------------------------------------------

_ENDS = ("response.completed", "response.incomplete", "response.cancelled")


def check_stream(record: Record, *, every: bool = False) -> None:
    """Each event as a chunk; the fold and the neutral events hold all of them; the same whole and
    cut at random; cut shorter it is incomplete.
    """
    body = body_of(record)
    if body.lstrip()[:1] == b"{":
        check_answer(record)  # a server that does not stream
        return
    events, error = _read([body])
    again, error_again = _read(cut_at_random(body, record["id"]))
    if [event.raw for event in again] != [event.raw for event in events] or type(error) is not type(
        error_again
    ):
        raise Mismatch("the result depends on where the bytes were cut")
    if isinstance(error, errors.StreamError) and has_nothing(_data(body), is_ours):
        return
    payloads = _payloads(body)
    if isinstance(error, errors.APIError):
        check_failure(error, payloads)
        payloads = [each for each in payloads if json.loads(each)["type"] != "error"]
    plains = [json.loads(payload) for payload in payloads]
    if (error is None) is not any(plain["type"] in _ENDS for plain in plains):
        raise error or Mismatch("a stream without an end passes for whole")
    if len(events) != len(payloads):
        raise Mismatch(f"{len(events)} chunks of {len(payloads)} events")
    for index, (event, plain, payload) in enumerate(zip(events, plains, payloads, strict=True)):
        typed(event, plain, f"event {index}", is_chunk=True)
        same_bytes(event.raw, payload)
    if error is not None:
        check_failed(events, plains, error)
        return
    check_fold(record, events, plains)
    check_cut_short(
        record,
        body,
        payloads,
        every=every,
        read=_read,
        is_whole=lambda plains: any(plain["type"] in _ENDS for plain in plains),
        fold=fold,
        reply_of=parse_reply,
        text_of=_text_so_far,
    )


def check_failure(error: errors.APIError, payloads: Sequence[bytes]) -> None:
    """The error has the words of the event `error` or of the failed response."""
    APART["error in a 200"] += 1
    found = []
    for plain in map(json.loads, payloads):
        if plain["type"] == "error":
            found.append(plain.get("error") or plain)
        elif plain["type"] == "response.failed":
            found.append(plain["response"]["error"])
    if not any(
        errors.one_line(each["message"]) in error.message and error.code in _codes(each)
        for each in found
    ):
        raise Mismatch(f"an error that nobody sent: {error!r}")


def _codes(error: Any) -> list[Any]:
    """What an error may be called: by its code, or its type; nothing if it has neither."""
    named = [error.get("code"), None if error.get("type") == "error" else error.get("type")]
    return [each for each in named if each is not None] or [None]


def check_failed(
    events: Sequence[types.StreamEvent], plains: Sequence[Any], error: errors.WireError
) -> None:
    """What a failed response comes to has the error of its last event, and so has the reply."""
    if not events or plains[-1]["type"] != "response.failed":
        return
    answer = with_notes(fold(events), [PARTIAL])
    plain = json.loads(answer.raw or b"null")
    last = {key: value for key, value in plains[-1]["response"].items() if key != "output"}
    same({key: plain.get(key) for key in last}, last, "failed response")
    typed(answer, plain, "failed response")
    stop = parse_reply(answer, error=error).stop
    identical([stop.reason, stop.message], ["error", error.message], "stop of the failed response")


def check_fold(record: Record, events: Sequence[types.StreamEvent], plains: Sequence[Any]) -> None:
    """The response has the last state and each item as it was completed, and the events come to
    its reply.
    """
    answer = fold(events)
    plain = json.loads(answer.raw or b"null")
    typed(answer, plain, "fold")
    check_items(answer.output or (), plain["output"])
    identical(plain["output"], _annotated(_output(plains), plains), "fold.output")
    states = [each["response"] for each in plains if "response" in each]
    whole = {"object": "response", **{key: value for each in states for key, value in each.items()}}
    same({**plain, "output": None}, {**whole, "output": None}, "fold")
    check_neutral(record, answer, plain)
    reply = parse_reply(answer)
    reading = EventReader()
    told = [each for event in events for each in reading.feed(event)]
    check_events([*told, *reading.close(reply)], reply)
    check_deltas(events, plains)


def check_deltas(events: Sequence[types.StreamEvent], plains: Sequence[Any]) -> None:
    """The deltas alone form the texts that they sum up to."""
    built = parse_reply(
        fold(
            [
                each
                for each in events
                if not str(each.type).endswith(".done") and each.type not in _ENDS
            ]
        )
    )
    identical(built.text, "".join(_sums(plains, _TEXTS).values()), "text of the deltas")
    thoughts: dict[int, list[str]] = {}
    for (item, _), text in _sums(plains, _THOUGHTS).items():
        thoughts.setdefault(item, []).append(text)
    is_summary = any(plain["type"] == _THOUGHTS[1] for plain in plains)
    thought = "".join(("\n\n" if is_summary else "").join(each) for each in thoughts.values())
    identical(built.message.thought, thought, "thought of the deltas")
    cited = [
        annotation
        for item in built.answer.output or ()
        for part in (item.content if isinstance(item.content, list) else ())
        for annotation in part.annotations or ()
    ]
    added = [each["annotation"] for each in plains if each["type"] == _ANNOTATION]
    identical([json.loads(encode(each)) for each in cited], added, "annotations of the deltas")
    called = [call.text for call in built.tool_calls]
    if len(sums := _sums(plains, _CALLS)) == len(called):
        identical(called, list(sums.values()), "arguments of the deltas")


_ANNOTATION = "response.output_text.annotation.added"
_TEXTS = ("response.output_text.delta", "response.refusal.delta")
_THOUGHTS = ("response.reasoning_text.delta", "response.reasoning_summary_text.delta")
_CALLS = ("response.function_call_arguments.delta", "response.custom_tool_call_input.delta")


def _sums(plains: Sequence[Any], kinds: Sequence[str]) -> dict[tuple[int, int], str]:
    """Position of an item and of its part -> the sum of its deltas that are not empty, in order."""
    sums: dict[tuple[int, int], str] = {}
    for plain in plains:
        if plain["type"] in kinds and plain["delta"]:
            part = plain.get("content_index", plain.get("summary_index", 0))
            at = plain.get("output_index", 0), part
            sums[at] = sums.get(at, "") + plain["delta"]
    return dict(sorted(sums.items()))


def _output(plains: Sequence[Any]) -> list[Any]:
    """The items of a complete stream: each as it was completed, the others of the last event."""
    done = {
        each["output_index"]: each["item"]
        for each in plains
        if each["type"] == "response.output_item.done"
    }
    last = plains[-1]["response"].get("output") or []
    known = [(each.get("id"), each.get("call_id")) for each in done.values()]
    others = {
        index: each
        for index, each in enumerate(last)
        if index not in done and (each.get("id"), each.get("call_id")) not in known
    }
    return [item for _, item in sorted((others | done).items())]


def _annotated(output: list[Any], plains: Sequence[Any]) -> list[Any]:
    """The items, with the annotations of the deltas where a complete text has none."""
    added: dict[tuple[int, int], list[Any]] = {}
    for each in plains:
        if each["type"] == _ANNOTATION:
            at = each.get("output_index", 0), each.get("content_index", 0)
            added.setdefault(at, []).append(each["annotation"])
    for (item, part), cited in added.items():
        content = output[item]["content"][part]
        if not content.get("annotations"):
            content["annotations"] = cited
    return output


def _text_so_far(plains: Sequence[Any]) -> str:
    """The text of messages that came in part, in the order of the items and their parts."""
    texts: dict[tuple[int, int], str] = {}
    for plain in plains:
        item, part = plain.get("output_index", 0), plain.get("content_index", 0)
        if plain["type"] in _TEXTS:
            texts[item, part] = texts.get((item, part), "") + plain["delta"]
        elif plain["type"] in ("response.output_text.done", "response.refusal.done"):
            texts[item, part] = (
                plain.get("text") or plain.get("refusal") or texts.get((item, part), "")
            )
        elif plain["type"] == "response.output_item.done":
            whole = dict(enumerate(_texts(plain["item"])))
            texts = {at: text for at, text in texts.items() if at[0] != item}
            texts |= {(item, index): text for index, text in whole.items()}
    return "".join(texts[at] for at in sorted(texts))


def _read(pieces: list[bytes]) -> tuple[list[types.StreamEvent], errors.WireError | None]:
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
    """The JSON texts of one response, found in another way than the library's: what follows its
    end left out.
    """
    found = [payload for payload in _data(body) if payload not in (b"", b"[DONE]")]
    kinds = [json.loads(payload).get("type") for payload in found]
    end = next((at for at, kind in enumerate(kinds) if kind in _ENDS), len(kinds))
    return found[: end + 1]
