"""Calls whose reply has an `output`: they parse it, stream its growth, and can be asked again.

A reply that does not fit is answered with a message of the user that says why. `again` builds that
call, and `answered` the final reply. The flow `asked` sends the calls for complete replies, and
`wire.output_stream` for streams.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

import msgspec

from wire.core.call import Call, EventSource, StreamCall
from wire.core.errors import OutputError, WireError
from wire.core.flow import Flow
from wire.core.growing_json import Field, GrowingJSON
from wire.core.memory import Note
from wire.neutral.messages import (
    Done,
    Event,
    Message,
    ObjectDelta,
    Reply,
    Restart,
    TextDelta,
    delta_of,
    with_reasks,
)
from wire.neutral.output import WRAPPED, OutputType
from wire.neutral.request import Request

AnyCall = TypeVar("AnyCall", bound=Call[Reply] | StreamCall[Event, Reply])

_HOPELESS = ("pause", "length", "filter", "error")
"""Stop reasons after which the same request would end in the same way."""


class Question(msgspec.Struct, frozen=True):
    """A request with an output type, and the replies to it that did not fit."""

    request: Request
    output_type: OutputType
    retries: int
    """How often the model may be asked again."""
    render: Callable[[Request], Any]
    """Renders a request as a call, for replies without output."""
    earlier: tuple[Reply, ...] = ()
    """The replies that did not fit, oldest first."""
    notes: tuple[Note, ...] = ()
    """Notes of these replies, and the reason why each of them did not fit."""


def call_of(question: Question) -> Any:
    """Build the call that asks a question.

    It sets `reply.output`. It raises `OutputError` for a reply of another type and for a refusal. A
    partial reply gets no output, because truncated JSON may still match a type.
    """
    call = question.render(question.request)
    if isinstance(call, Call):
        follow = call.follow
        parse = functools.partial(_parsed, call.parse, question=question, follows=bool(follow))
        if follow is not None:
            follow = functools.partial(_follow, follow, call.parse, question)
        return msgspec.structs.replace(call, parse=parse, follow=follow)
    events = functools.partial(_output_events, call.events, question=question)
    return msgspec.structs.replace(call, events=events)


def _question_of(call: Call[Reply] | StreamCall[Event, Reply]) -> Question:
    read: Any = call.parse if isinstance(call, Call) else call.events
    return cast(Question, read.keywords["question"])


def _parsed(
    parse: Callable[[bytes], Reply], body: bytes, *, question: Question, follows: bool = False
) -> Reply:
    reply = parse(body)
    if follows and reply.stop.next == "continue_token":
        return reply  # the JSON goes on in the next answer
    return read_output(reply, question.output_type)


def _follow(
    follow: Callable[[Any, Reply], Flow[Reply] | None],
    parse: Callable[[bytes], Reply],
    question: Question,
    call: Call[Reply],
    reply: Reply,
) -> Flow[Reply] | None:
    flow = follow(msgspec.structs.replace(call, parse=parse), reply)
    return None if reply.stop.next != "continue_token" else _read_after(flow, reply, question)


def _read_after(flow: Flow[Reply] | None, reply: Reply, question: Question) -> Flow[Reply]:
    return read_output(reply if flow is None else (yield from flow), question.output_type)


def read_output(reply: Reply, output_type: OutputType) -> Reply:
    """Return the reply with its `output`. Raises `OutputError` as `call_of`."""
    if reply.tool_calls:
        return reply  # the model answers only after it gets the results
    if refusal := reply.message.refusal:
        raise OutputError(f"the model refused: {refusal}", code="refusal", partial=reply)
    try:
        msgspec.structs.force_setattr(reply, "output", output_type.read(reply.text))
    except OutputError as error:
        stop = reply.stop
        end = stop.sequence or (None if stop.reason == "end" else stop.raw or stop.reason)
        cut = "" if end is None else f" (it stopped with {end!r})"
        raise OutputError(f"{error.message}{cut}", partial=reply) from error
    return reply


class _OutputEvents:
    """Adds the growing value to the events of a reply, and sets `output` in the last one."""

    def __init__(self, events: Any, output_type: OutputType) -> None:
        self._events, self._output_type = events, output_type
        self._growing = GrowingJSON()

    def feed(self, chunk: Any) -> Sequence[Event]:
        return self._with_values(self._events.feed(chunk))

    def close(self, answer: Reply) -> Sequence[Event]:
        events = self._with_values(self._events.close(answer))
        return [
            Done(read_output(each.reply, self._output_type)) if isinstance(each, Done) else each
            for each in events
        ]

    def _with_values(self, events: Sequence[Event]) -> list[Event]:
        """Add to the events, after each text, its completed fields and its growing text."""
        added: list[Event] = []
        for event in events:
            added.append(event)
            if type(event) is TextDelta:
                for field in self._growing.feed(event.text):
                    if (grown := self._delta(field)) is not None:
                        added.append(grown)
            elif type(event) is Restart:
                self._growing = GrowingJSON()
        return added

    def _delta(self, field: Field) -> ObjectDelta | None:
        build = functools.partial(self._growing.growth.value, field.steps, field.length)
        if not self._output_type.is_wrapped:
            return delta_of(build, field.path, field.growing)
        if field.path[:1] != (WRAPPED,):
            return None  # the object around the value
        return delta_of(functools.partial(_unwrapped, build), field.path[1:], field.growing)


class _OutputTextEvents(_OutputEvents):
    """The same for a source that also takes texts in place of chunks."""

    def feed_texts(self, texts: Sequence[str]) -> Sequence[Event]:
        return self._with_values(self._events.feed_texts(texts))


def _output_events(events: Callable[[], EventSource], *, question: Question) -> EventSource:
    source = events()
    kind = _OutputTextEvents if hasattr(source, "feed_texts") else _OutputEvents
    return kind(source, question.output_type)


def _unwrapped(build: Callable[[], Any]) -> Any:
    return build()[WRAPPED]


# --- asking again ---------------------------------------------------------------------------------


def asked(call: Call[Reply]) -> Flow[Reply]:
    """Ask until a reply fits, as often as its question allows, as a flow.

    An error of a later call has the `OutputError` before it as its cause.
    """
    misfit: OutputError | None = None
    while True:
        try:
            reply = yield call
        except OutputError as error:
            call, misfit = again(call, error), error
        except WireError as error:
            if misfit is not None:
                raise error from misfit
            raise
        else:
            return answered(call, reply)


def again(call: AnyCall, error: OutputError) -> AnyCall:
    """Build the call that asks once more.

    Raises the error if another call is not allowed, or hopeless. The error then has the usage and
    the notes of all replies in its `partial`.
    """
    question = _question_of(call)
    reply = error.partial
    count = len(question.earlier) + 1
    added = corrections(error) if count <= question.retries else ()
    if not (added and isinstance(reply, Reply)):
        if isinstance(reply, Reply) and not reply.reasks:
            error.partial = answered(call, reply)
        raise error
    note = Note("output", f"asked again ({count} of {question.retries}): {error.message}")
    changed = msgspec.structs.replace(
        question,
        request=msgspec.structs.replace(
            question.request, messages=(*question.request.messages, *added)
        ),
        earlier=(*question.earlier, reply),
        notes=(*question.notes, *reply.notes, note),
    )
    return cast(AnyCall, call_of(changed))


def corrections(error: OutputError) -> tuple[Message, ...]:
    """Return the messages that ask for another reply: the one that does not fit, and the problem.

    There are none if the model would answer in the same way again.
    """
    reply = error.partial
    if not isinstance(reply, Reply) or error.code == "refusal" or reply.stop.reason in _HOPELESS:
        return ()
    told = Message.user(f"{error.message}. Answer again, with JSON that matches the schema.")
    # An empty message cannot be sent, and only some hosts take back thoughts alone.
    return (told,) if reply.empty else (reply.message, told)


def answered(call: Call[Reply] | StreamCall[Event, Reply], reply: Reply) -> Reply:
    """Add `reasks`, and the notes and the usage of all replies to a question, to its last reply."""
    question = _question_of(call)
    if not question.earlier:
        return reply
    usage = reply.usage
    for each in question.earlier:
        usage = usage + each.usage if usage is not None else each.usage
    notes = tuple(dict.fromkeys((*question.notes, *reply.notes)))
    return with_reasks(reply, question.earlier, usage, notes)
