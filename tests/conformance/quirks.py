"""Odd streams: each read by a client, whole and one byte at a time, and compared with what it says.
Its reader takes the same chunks out of it wherever it is cut.

A case is one JSON object a line: `id`, `sse` (the body), `expect`, and maybe `status`,
`content_type`, `profile`. What the expectations mean is said in docs/rules.md, Q17 to Q21.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import msgspec

from tests.conformance.neutral import check_events
from tests.conformance.records import lines
from tests.conformance.result import Mismatch, Result
from wire import Client, notes, openai, retry
from wire.core.limits import Limits
from wire.core.memory import PARTIAL, encode
from wire.errors import APIError, WireError
from wire.neutral.messages import (
    Event,
    Reply,
    Text,
    ToolCall,
)
from wire.openai import ChatCompletion, Dialect, ErrorObject, EventReader, Message, parse_reply
from wire.openai.common.error_body import upstream_message
from wire.providers import PROVIDERS

PROFILES = {
    None: Dialect(),
    "think_tags": Dialect(think_tags="tags"),
    "think_tags_open_implied": Dialect(think_tags="open_implied"),
    "cumulative_reasoning_details": Dialect(cumulative_details=True),
}
FINISHES = {"end": "stop", "filter": "content_filter"}
REQUEST = openai.ChatCompletionRequest(model="m", messages=[Message(role="user", content="Hi")])

Case = dict[str, Any]


def run(paths: list[str]) -> Result:
    """Every case of the files."""
    result = Result()
    for path in paths:
        for case in lines(Path(path), ("id", "sse", "expect")):
            result.records += 1
            result.hold(case, [check])
    return result


def check(case: Case, places: Callable[[Sequence[int]], Sequence[int]] = list) -> None:
    """Raise `Mismatch` unless the case gives what it says, however its bytes are cut.

    Of all places to cut, those that `places` returns are tried.
    """
    body = case["sse"].encode()
    first = read(case, [body])
    compare(first, case["expect"])
    if (
        again := heard(case, [body[at : at + 1] for at in range(len(body))]).told()
    ) != first.told():
        raise Mismatch(f"byte by byte, it is {again}, not {first.told()}")
    # The client hands pieces to the wire's reader as they come, and reads an error status whole.
    # So the reader alone is asked at each cut: a client and an answer at each take five times that.
    if case.get("status", 200) == 200:
        chunks = taken(case, [body])
        for at in places(range(1, len(body))):
            pieces = [body[:at], body[at:]]
            if (others := taken(case, pieces)) != chunks:
                raise Mismatch(f"cut after {at}, it is {others}, not {chunks}")


# --- reading --------------------------------------------------------------------------------------


@dataclass
class Seen:
    """What a caller has of one answer."""

    events: dict[int, list[Event]]
    replies: dict[int, Reply]
    answer: ChatCompletion | None
    error: WireError | None
    warnings: tuple[str, ...]

    def told(self) -> Any:
        """All of it, as what can be compared."""
        raw = self.answer and self.answer.raw
        return self.events, self.replies, raw, repr(self.error), self.warnings


class Served(httpx.BaseTransport):
    """A server that has one answer, in these pieces."""

    def __init__(self, case: Case, pieces: Sequence[bytes]) -> None:
        self._case, self._pieces = case, pieces

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        headers = {"content-type": self._case.get("content_type", "text/event-stream")}
        return httpx.Response(
            self._case.get("status", 200), headers=headers, stream=_Pieces(self._pieces)
        )


class _Pieces(httpx.SyncByteStream):
    def __init__(self, pieces: Sequence[bytes]) -> None:
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._pieces)


def read(case: Case, pieces: Sequence[bytes]) -> Seen:
    """The case as a client's caller sees it, the events and the answer held to the replies."""
    seen = heard(case, pieces)
    for index, reply in seen.replies.items():
        check_events(seen.events[index], reply)
    if seen.answer is not None and seen.error is None:
        dialect = dialect_of_case(case)
        check_fold(seen.answer, seen.replies, dialect, _asked(dialect).body)
    return seen


def taken(case: Case, pieces: Sequence[bytes]) -> Any:
    """All that the wire's reader takes out of the body."""
    reader = _asked(dialect_of_case(case)).reader(Limits())
    chunks = [chunk.raw for piece in pieces for chunk in reader.feed(piece)]
    chunks += [chunk.raw for chunk in reader.close()]
    return chunks, repr(reader.error), reader.done, reader.finished, reader.notes


def heard(case: Case, pieces: Sequence[bytes]) -> Seen:
    """The case as a client's caller sees it."""
    dialect = dialect_of_case(case)
    call = _asked(dialect_of_case(case))
    readings: dict[int, EventReader] = {0: EventReader(dialect, body=call.body)}
    events: dict[int, list[Event]] = {0: []}
    failure: WireError | None = None
    answer: ChatCompletion | None = None
    with Client(
        "openai",
        api_key="fake-key-of-a-test",
        http=Served(case, pieces),
        retry=retry.NONE,
        dialect=dialect,
    ) as client:
        try:
            with client.stream(call) as stream:
                try:
                    for chunk in stream:
                        for index in {0} | {choice.index or 0 for choice in chunk.choices or ()}:
                            if index not in readings:
                                readings[index], events[index] = (
                                    EventReader(dialect, body=call.body, choice=index),
                                    [],
                                )
                            events[index] += readings[index].feed(chunk)
                finally:
                    answer = stream.partial()
        except WireError as error:
            failure = error
    for index, reading in readings.items():
        events[index] += reading.close(error=failure)
    replies = {index: reading.reply() for index, reading in readings.items()}
    partial = failure.partial if failure is not None else answer
    dropped = [note for note in (notes(partial) if partial is not None else ()) if note != PARTIAL]
    told = tuple(note.message.partition(":")[0] for note in dropped)
    return Seen(events, replies, partial, failure, told)


def dialect_of_case(case: Case) -> Dialect:
    """The dialect of the case's profile, and whether its vendor sends damaged chunks (Q3)."""
    vendor = PROVIDERS.get(case["vendor"], PROVIDERS["openai"])
    damaged = getattr(vendor.dialect, "sends_damaged_chunks", False)
    return msgspec.structs.replace(PROFILES[case.get("profile")], sends_damaged_chunks=damaged)


@functools.cache
def _asked(dialect: Dialect) -> Any:
    """The call that every case answers, as it is sent to a host of this dialect."""
    call: Any = openai.stream_chat_completions(REQUEST)
    row = msgspec.structs.replace(PROVIDERS["openai"], dialect=dialect)
    return msgspec.structs.replace(call.judge(row), host_rules=None)


def _text(reply: Reply) -> str:
    """The text that is no refusal. A folded answer has the two apart, whatever their order was."""
    texts = [part for part in reply.message.parts if isinstance(part, Text)]
    return "".join(part.text for part in texts if not part.refusal)


READINGS: dict[str, Callable[[Reply], Any]] = {
    "text": _text,
    "refusal": lambda reply: reply.message.refusal,
    "thought": lambda reply: reply.message.thought,
    "tool_calls": lambda reply: reply.message.tool_calls,
}


def check_fold(
    answer: ChatCompletion, replies: dict[int, Reply], dialect: Dialect, body: bytes
) -> None:
    """The answer that the chunks fold into says the same as the chunks."""
    for index, reply in replies.items():
        again = parse_reply(answer, dialect, body=body, choice=index)
        for name, read in READINGS.items():
            if read(again) != read(reply):
                raise Mismatch(f"folded, {name} is {read(again)!r}, not {read(reply)!r}")
        if (again.stop, again.usage) != (reply.stop, reply.usage):
            raise Mismatch(
                f"folded, it is {again.stop} {again.usage}, not {reply.stop} {reply.usage}"
            )


# --- comparing ------------------------------------------------------------------------------------


def compare(seen: Seen, expect: Case) -> None:
    """Raise `Mismatch` unless what was seen is what is expected (Q17 to Q20)."""
    reply = seen.replies[0]
    trimmed = str.strip if expect.get("trim") else str
    same_choice(reply, seen, 0, expect, trimmed)
    for index, choice in enumerate(expect.get("choices") or ()):
        number = choice.get("index", index)
        same_choice(seen.replies[number], seen, number, choice, trimmed)
    if "usage" in expect:
        _same("usage", _usage(reply), _filled(expect["usage"]))
    complete = expect.get("complete", True)
    if complete == (seen.error is not None):
        raise Mismatch(f"complete is {not complete}: {seen.error!r}")
    if "error" in expect:
        _same_error(seen.error, expect["error"])
    elif isinstance(seen.error, APIError):
        raise Mismatch(f"an error that is none: {seen.error!r}")
    # Codes that must be told; others may be, and that none is told is never expected (Q19).
    if missing := set(expect.get("warnings") or ()) - set(seen.warnings):
        raise Mismatch(f"not warned of {missing}, only of {seen.warnings}")
    if "citations" in expect:
        _same("citations", seen.answer and seen.answer.citations, expect["citations"])


def same_choice(reply: Reply, seen: Seen, index: int, expect: Case, trimmed: Any) -> None:
    """One choice against what is expected of it; `X_ok` lists what else is accepted for X (Q18)."""
    message = next(
        (
            choice.message
            for choice in (seen.answer and seen.answer.choices) or ()
            if (choice.index or 0) == index
        ),
        None,
    )
    ours = {
        "text": _text(reply),
        "reasoning": reply.message.thought,
        "finish_reason": _finish(reply),
        "finish_reason_raw": reply.stop.raw,
        "refusal": reply.message.refusal,
        "annotations": _plain(message and message.annotations) or [],
        "reasoning_details": _plain(message and message.reasoning_details) or [],
    }
    for name, value in ours.items():
        accepted = expect.get(f"{name}_ok") or ([expect[name]] if name in expect else [])
        if isinstance(value, str):
            value, accepted = (
                trimmed(value),
                [trimmed(each) if isinstance(each, str) else each for each in accepted],
            )
        if accepted and not any(_equal(value, each) for each in accepted):
            raise Mismatch(f"{name} is {value!r}, not {accepted}")
    if "tool_calls" in expect:
        _same("number of calls", len(reply.message.tool_calls), len(expect["tool_calls"]))
        for call, other in zip(reply.message.tool_calls, expect["tool_calls"], strict=True):
            _same(
                "call",
                _call(call, other),
                {name: value for name, value in other.items() if name != "index"},
            )


def _finish(reply: Reply) -> str | None:
    stop = reply.stop
    return stop.raw if stop.reason == "other" else FINISHES.get(stop.reason, stop.reason)


def _call(call: ToolCall, expect: Case) -> Case:
    """What is to be compared of a call."""
    if not call.id:
        raise Mismatch(f"a call without an id: {call}")
    ours: Case = {"id": call.id, "name": call.name, "extra_content": call.extra}
    ours["arguments"] = call.text if call.arguments is None else call.arguments
    if (
        call.arguments is None
        and "arguments_valid" not in expect
        and isinstance(expect.get("arguments"), (list, int, float, bool))
    ):
        ours["arguments"] = json.loads(call.text)
    ours["arguments_valid"] = call.arguments is not None
    return {name: ours.get(name) for name in expect if name != "index"} | (
        {} if "arguments_valid" in expect or ours["arguments_valid"] else {"arguments_valid": False}
    )


def _usage(reply: Reply) -> Case | None:
    usage = reply.usage
    if usage is None:
        return None
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.total,
        "cached_tokens": usage.cached,
        "cache_write_tokens": usage.cache_written,
        "reasoning_tokens": usage.reasoning,
    }


def _filled(usage: Case | None) -> Case | None:
    """Keys that are missing stand for 0, the total for the sum."""
    if usage is None:
        return None
    empty = dict.fromkeys(
        (
            "prompt_tokens",
            "completion_tokens",
            "cached_tokens",
            "cache_write_tokens",
            "reasoning_tokens",
        ),
        0,
    )
    total = {
        "total_tokens": (usage.get("prompt_tokens") or 0) + (usage.get("completion_tokens") or 0)
    }
    return {**empty, **total, **{name: value or 0 for name, value in usage.items()}}


def _same_error(error: WireError | None, expect: Case) -> None:
    if not isinstance(error, APIError):
        raise Mismatch(f"no error of the server: {error!r}")
    (details,) = error.details
    assert isinstance(details, ErrorObject)
    ours = {**msgspec.to_builtins(details), "upstream_message": upstream_message(details)}
    for name, value in expect.items():
        theirs = ours.get(name) or ("" if value == "" else None)
        if not _equal(theirs, value):
            raise Mismatch(f"error.{name} is {theirs!r}, not {value!r}")


def _plain(value: Any) -> Any:
    return None if value is None else json.loads(encode(value))


def _equal(ours: Any, theirs: Any) -> bool:
    return type(ours) is type(theirs) and bool(ours == theirs)


def _same(name: str, ours: Any, theirs: Any) -> None:
    if ours != theirs:
        raise Mismatch(f"{name} is {ours!r}, not {theirs!r}")
