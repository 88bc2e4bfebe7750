"""Chunks and answers as neutral events and replies (Q5 to Q7, Q11, Q13, Q16).

A whole answer is read as a stream of one chunk, so that both give the same reply. What a chunk
cannot say for sure is told when it is: a call begins with its first argument, when its name is
complete. A message and its calls remember the bytes that they came in, texts and thoughts only whom
they came from: here they have no JSON of their own.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from wire.core.lenient import Halves, said
from wire.core.memory import PARTIAL, RAW, notes, sayable
from wire.errors import StreamIncomplete, WireError
from wire.neutral.ids import made_id
from wire.neutral.messages import (
    Done,
    Event,
    Message,
    Origin,
    Part,
    Reply,
    Stop,
    Text,
    TextDelta,
    Thought,
    ThoughtDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    Usage,
    checked,
    partial_stop,
    with_answer,
    with_origin,
)
from wire.openai.chat.finish import finish_of, reason_of
from wire.openai.chat.fold import ANSWERS, joined_details
from wire.openai.chat.thinking import Tags
from wire.openai.chat.tool_calls import Calls, OpenCall, arguments_of
from wire.openai.chat.types import (
    Audio,
    ChatCompletion,
    ChatCompletionChunk,
    Choice,
    CompletionUsage,
    ContentPart,
    Delta,
    FunctionCall,
)
from wire.openai.chat.types import Message as WireMessage
from wire.openai.common.dialect import PLAIN, Dialect

WIRE = "openai"

SLOTS = ("reasoning_content", "reasoning", "reasoning_text")
"""Fields that hold reasoning as text, in the order in which they are looked at: some hosts send one
text under two names (Q6).
"""


_REASONING = operator.attrgetter(*SLOTS, "reasoning_details")
_NO_REASONING = (None,) * (len(SLOTS) + 1)


def parse_reply(
    answer: ChatCompletion,
    dialect: Dialect = PLAIN,
    *,
    body: bytes = b"",
    choice: int = 0,
    provider: str = "openai",
    model: str = "",
    error: WireError | None = None,
) -> Reply:
    """A whole answer as a reply. `body` is that of the request: ids that the vendor did not give
    are made of it.

    >>> from wire.openai.chat.reader import parse_completion
    >>> reply = parse_reply(
    ...     parse_completion(b'{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}')
    ... )
    >>> reply.text, reply.stop.reason
    ('Hi', 'end')

    `provider` and `model` say who was asked: to them alone the message goes back as it came. An
    answer with `wire.core.memory.PARTIAL` in its notes becomes a reply that claims no end; `error`
    is what its stream broke with, if it did.
    """
    reading = EventReader(dialect, body=body, choice=choice, provider=provider, model=model)
    reading.feed(answer)
    partial = PARTIAL in notes(answer)
    reading.close(error=error or StreamIncomplete() if partial else None)
    reply = msgspec.structs.replace(reading.reply(), notes=notes(answer))
    said = [each.message for each in answer.choices or () if (each.index or 0) == choice]
    if len(said) == 1 and said[0] is not None and RAW in vars(said[0]):
        _remember(reply.message, said[0], provider, model)
    return with_answer(reply, answer)


def _remember(message: Message, source: WireMessage, provider: str, model: str) -> None:
    """Put what a message and its calls were on the wire beside them."""
    with_origin(message, Origin(provider, model, WIRE, source))
    if says_its_calls(source, message):
        for call, each in zip(message.tool_calls, source.tool_calls or (), strict=True):
            with_origin(call, Origin(provider, model, WIRE, each))


def says_its_calls(source: WireMessage, message: Message) -> bool:
    """Whether each call of a message is one of `tool_calls`: none is the old call without an id,
    and none came twice.
    """
    return len(source.tool_calls or ()) == len(message.tool_calls)


class EventReader:
    """Chunks of one answer in, events out; `reply()` is what they come to.

    >>> from wire.openai.chat.reader import ChunkReader
    >>> reading = EventReader()
    >>> for chunk in ChunkReader().feed(
    ...     b'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\\n\\n'
    ... ):
    ...     print(reading.feed(chunk))
    [TextDelta(text='Hi')]
    >>> reading.close()[-1].reply.stop
    Stop(reason='end', raw='stop')
    """

    def __init__(
        self,
        dialect: Dialect = PLAIN,
        *,
        body: bytes = b"",
        choice: int = 0,
        provider: str = "openai",
        model: str = "",
    ) -> None:
        self._dialect = dialect
        self._origin = Origin(provider, model, WIRE)
        self._id = self._model = ""
        self._body = body
        self._choice = choice
        self._tags = Tags(dialect.think_tags) if dialect.think_tags else None
        self._parts: list[_Said] = []  # texts and thoughts in the order in which they began
        self._halves: dict[tuple[Literal["text", "thought"], str], Halves] = {}
        self._collected = False
        self._cumulative: dict[
            tuple[Any, Any], str
        ] = {}  # what a host that sends all of it again has sent so far
        self._details: list[dict[str, Any]] = []
        self._calls = Calls()
        self._started: list[OpenCall] = []
        self._ended = 0
        self._refusal: list[str] = []
        self._finish: str | None = None
        self._native: str | None = None
        self._usage: CompletionUsage | None = None
        self._failure: WireError | None = None
        self._closed = False

    def feed(self, chunk: ChatCompletionChunk | ChatCompletion) -> list[Event]:
        """Events of one chunk, or of a whole answer."""
        events: list[Event] = []
        self._id, self._model = chunk.id or self._id, chunk.model or self._model
        beside = chunk.x_groq.usage if chunk.x_groq is not None else None
        for usage in (beside, *(choice.usage for choice in chunk.choices or ()), chunk.usage):
            if usage is not None and usage != CompletionUsage():
                self._usage = usage
        for choice in chunk.choices or ():
            if (choice.index or 0) == self._choice:
                self._in_choice(choice, events)
        return events

    def close(self, answer: Reply | None = None, *, error: WireError | None = None) -> list[Event]:
        """The last events: the ends of the calls, and `Done`.

        `answer` is what the stream folds to, if somebody has folded it; raises `BlockedError` if
        filters left nothing of it. `error` is what the stream ended with, if not as it should.
        """
        if self._closed:
            return []
        self._closed, self._failure = True, error
        events: list[Event] = []
        if self._tags is not None:
            self._pieces(self._tags.close(), events)
        self._rest(events)
        reply = self.reply() if answer is None else checked(answer)
        events += self._ends(reply.tool_calls)
        return [*events, Done(reply)]

    def reply(self) -> Reply:
        """The reply; before `close`, or after an error, its notes say that it is partial."""
        return Reply(
            message=Message(role="assistant", parts=self._all_parts()),
            stop=self._stop(),
            usage=usage_of(self._usage, self._dialect),
            notes=() if self._complete else (PARTIAL,),
            id=said(self._id),
            model=said(self._model),
        )

    # --- what one choice says

    # Most events are one piece of text, and an answer has thousands of them: what follows collects
    # events in a list, since each value of a generator costs a call.

    def _in_choice(self, choice: Choice, events: list[Event]) -> None:
        said: Delta | WireMessage | None = choice.delta
        if not self._collected:
            if not _collects(said):
                said = choice.message or said
            self._collected = _collects(said)
        if said is not None:
            if _REASONING(said) != _NO_REASONING:
                self._reasoning(said, events)
            if isinstance(said.content, str):
                self._text(said.content, events)
            elif said.content:
                self._content(said.content, events)
            if said.refusal:
                self._refusal.append(said.refusal)
            if said.tool_calls or said.function_call is not None:
                self._in_calls(said, events)
        self._finish = finish_of(choice) or self._finish
        self._native = choice.native_finish_reason or self._native

    def _reasoning(self, said: Delta | WireMessage, events: list[Event]) -> None:
        details = said.reasoning_details or ()
        self._details += [msgspec.to_builtins(detail) for detail in details]
        slot = next((name for name in SLOTS if getattr(said, name)), None)
        if slot is not None:
            self._say("thought", getattr(said, slot), slot, events)
            return
        for detail in details:
            text = detail.text or detail.summary or ""
            if self._dialect.cumulative_details:
                key = (detail.type, detail.index)
                before, self._cumulative[key] = self._cumulative.get(key, ""), text
                text = text[len(before) :] if text.startswith(before) else text
            self._say("thought", text, "reasoning_details", events)

    def _content(self, content: Sequence[ContentPart], events: list[Event]) -> None:
        for part in content:
            if part.type == "thinking" or part.thinking is not None:
                inside = (
                    part.thinking
                    if isinstance(part.thinking, str)
                    else "".join(each.text or "" for each in part.thinking or ())
                )
                self._say("thought", inside, "content", events)
            elif part.text:
                self._text(part.text, events)

    def _text(self, text: str, events: list[Event]) -> None:
        if self._tags is None:
            self._say("text", text, "", events)
        else:
            self._pieces(self._tags.feed(text), events)

    def _pieces(
        self, pieces: Sequence[tuple[Literal["text", "thought"], str]], events: list[Event]
    ) -> None:
        for kind, text in pieces:
            self._say(kind, text, "content" if kind == "thought" else "", events)

    def _say(
        self, kind: Literal["text", "thought"], text: str, slot: str, events: list[Event]
    ) -> None:
        if not text:
            return
        halves = self._halves.get((kind, slot))
        if halves is None:
            halves = self._halves[kind, slot] = Halves()
        self._append(kind, halves.feed(text), slot, events)

    def _append(
        self, kind: Literal["text", "thought"], text: str, slot: str, events: list[Event]
    ) -> None:
        if not text:
            return
        if not self._parts or (self._parts[-1].kind, self._parts[-1].slot) != (kind, slot):
            self._parts.append(_Said(kind, slot))
        self._parts[-1].texts.append(text)
        events.append(TextDelta(text) if kind == "text" else ThoughtDelta(text))

    def _rest(self, events: list[Event]) -> None:
        """Halves of pairs whose other halves did not come."""
        for (kind, slot), halves in self._halves.items():
            self._append(kind, halves.rest, slot, events)

    def _in_calls(self, said: Delta | WireMessage, events: list[Event]) -> None:
        for delta in said.tool_calls or ():
            events += self._in_call(*self._calls.add(delta))
        legacy = (
            self._calls.add_legacy(said.function_call) if said.function_call is not None else None
        )
        if legacy is not None:
            events += self._in_call(*legacy)

    def _in_call(self, call: OpenCall, added: str) -> Iterator[Event]:
        position = self._calls.all.index(call)
        yield from self._starts(self._calls.all[: position if not added else position + 1])
        if added:
            yield ToolCallDelta(position, added)

    def _starts(self, calls: Sequence[OpenCall]) -> Iterator[Event]:
        for call in calls[len(self._started) :]:
            yield ToolCallStart(len(self._started), call.name, call.id or "")
            self._started.append(call)

    def _ends(self, whole: Sequence[ToolCall]) -> Iterator[Event]:
        yield from self._starts(self._calls.all)
        for position, call in enumerate(self._calls.all):
            if call.rest:
                yield ToolCallDelta(position, call.rest)
            yield ToolCallEnd(
                position, whole[position] if position < len(whole) else self._call(position, call)
            )

    # --- what it comes to

    @property
    def _complete(self) -> bool:
        return self._closed and self._failure is None

    def _all_parts(self) -> tuple[Part, ...]:
        details = (
            tuple(_sayable(joined_details(self._details, self._dialect))) if self._details else ()
        )
        parts: list[Part] = []
        for part in self._parts:
            text = "".join(part.texts)
            if part.kind == "text":
                parts.append(Text(text=text))
            else:
                parts.append(Thought(text=text, slot=part.slot, details=details))
                details = ()
        if details:  # encrypted, without a text
            parts.insert(0, Thought(slot="reasoning_details", details=details))
        parts += [self._call(position, call) for position, call in enumerate(self._calls.all)]
        return tuple(with_origin(part, self._origin) for part in parts)

    def _call(self, position: int, call: OpenCall) -> ToolCall:
        id = call.id or made_id(self._body, position)
        cut = not self._complete or self._reason(calls=True) == "length"
        if call.kind == "custom":
            return ToolCall(
                id=id,
                name=call.name,
                arguments=None if cut else {"input": call.text},
                text=call.text,
                kind="custom",
                extra=call.extra,
            )
        arguments = arguments_of(call.text, cut=cut)
        return ToolCall(
            id=id, name=call.name, arguments=arguments, text=call.text, extra=call.extra
        )

    def _reason(self, *, calls: bool) -> Any:
        return reason_of(self._finish, self._native, calls=calls)

    def _stop(self) -> Stop:
        words = said("".join(self._refusal))
        reason = self._reason(calls=bool(self._calls.all))
        stop = Stop(reason=reason, raw=self._finish, message=words)
        if not self._complete:
            return partial_stop(stop, self._failure)
        if self._finish is None and self._calls.all:
            return Stop(reason="tool_calls", message=words)
        return stop


_NOTHING: tuple[Any, ...] = (None, "", [], FunctionCall(), Audio())


def _collects(said: Delta | WireMessage | None) -> bool:
    """It says something; beside deltas that do not, a message is the answer (Q5)."""
    return said is not None and any(getattr(said, name) not in _NOTHING for name in ANSWERS)


def _sayable(details: list[dict[str, Any]]) -> list[dict[str, Any]]:
    try:
        msgspec.json.encode(details)
    except UnicodeEncodeError:
        details = json.loads(sayable(json.dumps(details, ensure_ascii=False)))
    return details


class _Said:
    """A text or a thought while it is being sent."""

    def __init__(self, kind: Literal["text", "thought"], slot: str) -> None:
        self.kind, self.slot = kind, slot
        self.texts: list[str] = []


# --- usage ----------------------------------------------------------------------------------------


def usage_of(usage: CompletionUsage | None, dialect: Dialect = PLAIN) -> Usage | None:
    """Tokens as all vendors' are counted here: input includes cached ones, output includes
    reasoning (Q16).

    >>> usage_of(
    ...     CompletionUsage(prompt_tokens=30, completion_tokens=10, reasoning_tokens=100),
    ...     Dialect(reasoning_outside_output=True),
    ... )
    Usage(input=30, output=110, reasoning=100, total=140)
    """
    if usage is None:
        return None
    inside, outside = usage.prompt_tokens_details, usage.completion_tokens_details
    reasoning = (outside and outside.reasoning_tokens) or usage.reasoning_tokens or 0
    output = (usage.completion_tokens or 0) + (reasoning if dialect.reasoning_outside_output else 0)
    sides = (("input", inside), ("output", outside))
    by_modality = {
        f"{side}_{kind}": count
        for side, details in sides
        for kind in ("text", "image", "audio", "video")
        if (count := getattr(details, f"{kind}_tokens", None))
    }
    return Usage(
        input=usage.prompt_tokens or 0,
        output=output,
        cached=(inside and inside.cached_tokens)
        or usage.prompt_cache_hit_tokens
        or usage.cached_tokens
        or usage.num_cached_tokens
        or usage.cache_read_input_tokens
        or 0,
        cache_written=(inside and (inside.cache_write_tokens or inside.cache_creation_input_tokens))
        or usage.cache_creation_input_tokens
        or 0,
        reasoning=reasoning,
        total=usage.total_tokens or (usage.prompt_tokens or 0) + output,
        by_modality=by_modality,
    )
