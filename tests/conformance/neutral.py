"""What is to hold of neutral replies and events, whichever wire they came over."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from tests.conformance.compare import identical
from tests.conformance.records import Record
from tests.conformance.result import APART, Mismatch
from wire.core.growing_json import GrowingJSON
from wire.core.memory import PARTIAL, with_notes
from wire.errors import StreamIncomplete, WireError
from wire.neutral.messages import (
    Done,
    Event,
    MediaDelta,
    Reply,
    TextDelta,
    Thought,
    ThoughtDelta,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
)
from wire.sessions import dump_session, load_session


@dataclass
class Expected:
    """What a reply is to say, read out of the vendor's JSON in another way than the library's."""

    text: str = ""
    thought: str | None = ""
    """`None`: not judged."""
    refusal: str | None = None
    """The end of `text` with which the model refuses; `None`: not judged."""
    calls: list[dict[str, Any]] = field(default_factory=list)
    """`name`, `arguments` or `text`, and `id` and `signature` where the vendor sent one."""
    parts: int | None = None
    """How many parts; `None`: not judged."""
    reason: str = "other"
    """The meaning of the finish; a word that nobody knows is another one."""
    raw: str | None = None
    message: str = ""
    """The words of the finish."""
    sequence: str | None = None
    """The text of `stop` that ended it."""
    token: str | None = None
    """With which the same request goes on."""
    usage: dict[str, int] | None = None
    signatures: list[str] | None = None
    """Of the parts that have one, in their order; `None`: not judged."""
    details: list[Any] | None = None
    """Objects beside the texts of thoughts, in their order; `None`: not judged."""
    cited: list[str] | None = None
    """URLs of the citations, in their order; `None`: not judged."""


def has_nothing(texts: Iterable[bytes], is_ours: Callable[[Any], bool]) -> bool:
    """Whether none of the texts of a body is JSON of the wire, or an error: no answer at all,
    counted apart.
    """
    given = [text for text in texts if text.strip()]
    for text in given:
        try:
            plain = json.loads(text)
            if is_ours(plain) or (isinstance(plain, dict) and plain.get("error")):
                return False
        except ValueError:
            pass  # no JSON
    APART["nothing of the wire in a 200" if given else "empty body"] += 1
    return True


def check_reply(reply: Reply, expected: Expected) -> None:
    """The reply says what the JSON says, and nothing else."""
    identical(reply.text, expected.text, "reply.text")
    if expected.refusal is not None:
        identical(reply.message.refusal, expected.refusal, "refusal")
    if expected.thought is not None:
        identical(reply.message.thought, expected.thought, "reply.thought")
    calls = [
        {key: getattr(call, key) for key in other}
        for call, other in zip(reply.message.tool_calls, expected.calls, strict=False)
    ]
    identical(len(reply.message.tool_calls), len(expected.calls), "number of calls")
    identical(calls, expected.calls, "reply.calls")
    ids = [call.id for call in reply.message.tool_calls]
    if not all(ids):
        raise Mismatch(f"a call without an id: {ids}")
    if expected.parts is not None:
        identical(len(reply.message.parts), expected.parts, "number of parts")
    identical(reply.stop.raw, expected.raw, "stop.raw")
    identical(reply.stop.reason, expected.reason, "stop.reason")
    identical(reply.stop.message, expected.message, "stop.message")
    identical(reply.stop.sequence, expected.sequence, "stop.sequence")
    identical(reply.stop.token, expected.token, "stop.token")
    check_opaque(reply, expected)
    usage = (
        None
        if reply.usage is None
        else {name: getattr(reply.usage, name) for name in expected.usage or ("input",)}
    )
    identical(usage, expected.usage, "usage")
    check_saved(reply)


def without_notes(reply: Reply) -> Reply:
    """The reply to be compared: what one way of reading told of is not lost in the other."""
    return msgspec.structs.replace(reply, notes=())


def check_opaque(reply: Reply, expected: Expected) -> None:
    """What only the vendor reads is as it came, and so are the sources of the texts."""
    parts = reply.message.parts
    signed = (getattr(part, "signature", "") for part in parts)
    thoughts = (part for part in parts if isinstance(part, Thought))
    for ours, theirs, what in (
        ([each for each in signed if each], expected.signatures, "signatures"),
        ([each for part in thoughts for each in part.details], expected.details, "details"),
        ([each.url for each in reply.citations if each.url], expected.cited, "citations"),
    ):
        if theirs is not None:
            identical(ours, theirs, what)


def check_saved(reply: Reply) -> None:
    """A session keeps the reply and its bytes, and finds no difference between the two."""
    session = load_session(dump_session([reply.message]))
    identical([str(note) for note in session.notes], [], "notes of the session")
    [message] = session.messages
    identical(message, reply.message, "saved message")
    for saved, part in zip(
        [message, *message.parts], [reply.message, *reply.message.parts], strict=True
    ):
        identical(saved.origin, part.origin, "saved origin")


def check_events(events: Sequence[Event], reply: Reply) -> None:
    """The events come to the reply; each call begins once, with the name and id of its end."""
    texts: list[str] = []
    thoughts: list[str] = []
    starts: list[ToolCallStart] = []
    pieces: dict[int, list[str]] = {}
    ends: list[ToolCallEnd] = []
    media: dict[int, list[MediaDelta]] = {}
    for event in events:
        match event:
            case TextDelta(text=text):
                texts.append(text)
            case ThoughtDelta(text=text):
                thoughts.append(text)
            case MediaDelta(position=position):
                media.setdefault(position, []).append(event)
            case ToolCallStart():
                starts.append(event)
            case ToolCallDelta(position=position, text=text):
                pieces.setdefault(position, []).append(text)
            case ToolCallEnd():
                ends.append(event)
    identical("".join(texts), reply.text, "text of the events")
    check_growing(texts, reply.text)
    identical("".join(thoughts), reply.message.thought, "thought of the events")
    identical(list(media), list(range(len(media))), "positions of media")
    whole = [(each.data or b"", each.transcript) for each in reply.media if not each.url]
    joined = [
        (b"".join(piece.data for piece in pieces), "".join(piece.transcript for piece in pieces))
        for pieces in media.values()
    ]
    identical([each for each in joined if each[0]], whole, "media of the events")
    if tuple(event.call for event in ends) != reply.message.tool_calls:
        raise Mismatch(f"the calls of the events are {ends}, not {reply.message.tool_calls}")
    identical([event.position for event in starts], list(range(len(ends))), "starts of calls")
    identical([event.position for event in ends], list(range(len(ends))), "ends of calls")
    for start, end in zip(starts, ends, strict=True):
        call = end.call
        identical(start.name, call.name, "name at the start of a call")
        if start.id:
            identical(start.id, call.id, "id at the start of a call")
        text = "".join(pieces.get(start.position, ()))
        if text != call.text and (call.text or json.loads(text) != call.arguments):
            raise Mismatch(f"the arguments of the events are {text!r}, of the reply {call}")
    check_positions(events)
    last = events[-1] if events else None
    if not isinstance(last, Done) or without_notes(last.reply) != without_notes(reply):
        raise Mismatch("the last event is not the reply")


def check_positions(events: Sequence[Event]) -> None:
    """Each piece of a call stands between the start and the end of its call."""
    open_calls: set[int] = set()
    for event in events:
        if isinstance(event, ToolCallStart):
            open_calls.add(event.position)
        elif isinstance(event, ToolCallDelta | ToolCallEnd) and event.position not in open_calls:
            raise Mismatch(f"{event} is outside of its call")
        if isinstance(event, ToolCallEnd):
            open_calls.remove(event.position)


def check_growing(pieces: Iterable[str], text: str) -> None:
    """An answer in JSON grows to its value, each of its fields is whole once."""
    if not text.lstrip().startswith(("{", "[")):
        return
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return  # prose that begins with a bracket, or JSON that was cut
    growing = GrowingJSON()
    fields = [each for piece in pieces for each in growing.feed(piece)]
    whole = [each for each in fields if not each.growing]
    identical(growing.growth.value(whole[-1].steps), value, "value of the growing answer")
    identical(whole[-1].path, (), "the last field that is whole")
    identical(len({each.path for each in whole}), len(whole), "fields that are whole once")
    for each in fields:
        growing.growth.value(each.steps, each.length)


def check_cut_short(
    record: Record,
    body: bytes,
    payloads: Sequence[bytes],
    *,
    every: bool,
    read: Callable[[list[bytes]], tuple[Sequence[Any], WireError | None]],
    is_whole: Callable[[Sequence[Any]], bool],
    fold: Callable[[Sequence[Any]], Any],
    reply_of: Callable[..., Reply],
    text_of: Callable[[Sequence[Any]], str],
) -> None:
    """A good stream that is cut before its finish is `StreamIncomplete`; what it comes to does not
    look whole and has all of its text.

    It is cut before the last event that it needs, and in the middle of one; before and in the
    middle of each if `every`.
    """
    plains = [json.loads(payload) for payload in payloads]
    ends = list(_ends(body, payloads))
    last = len(plains) - 1  # the most events that are not whole
    while last > 0 and is_whole(plains[:last]):
        last -= 1
    inside = range(last + 1) if every else [random.Random(record["id"]).randrange(last + 1)]
    before = range(last + 1) if every else [last]
    begins = [0, *ends]
    cuts = [(count, body[: (begins[count] + ends[count]) // 2]) for count in inside]
    cuts += [(count, body[: begins[count]] + END_OF_EVENT) for count in before]
    for count, part in cuts:
        if not is_whole(plains[:count]):
            _check_part(part, plains[:count], read, fold, reply_of, text_of)


END_OF_EVENT = b"\n\n"


def _check_part(
    part: bytes,
    plains: Sequence[Any],
    read: Callable[[list[bytes]], tuple[Sequence[Any], WireError | None]],
    fold: Callable[[Sequence[Any]], Any],
    reply_of: Callable[..., Reply],
    text_of: Callable[[Sequence[Any]], str],
) -> None:
    where = f"cut after event {len(plains)}"
    chunks, error = read([part])
    if not isinstance(error, StreamIncomplete):
        raise Mismatch(f"{where}: {error!r}, not StreamIncomplete")
    if not chunks:
        return
    reply = reply_of(with_notes(fold(chunks), [PARTIAL]), error=error)
    if reply.stop.reason in ("end", "tool_calls"):
        raise Mismatch(f"{where}: {reply.stop} looks whole")
    if PARTIAL not in reply.notes:
        raise Mismatch(f"{where}: the reply does not say that it is partial")
    identical(reply.text, text_of(plains), where)


def _ends(body: bytes, payloads: Iterable[bytes]) -> Iterable[int]:
    """Where each of the payloads ends in the body."""
    at = 0
    for payload in payloads:
        at = body.index(payload, at) + len(payload)
        yield at
