"""Converts chunks and responses to neutral events and replies (Q5 to Q7, Q11, Q13, Q16).

- A complete response is read as a stream of one chunk, so that both give the same reply.
- `ToolCallStart` is emitted with the first arguments of a call, or when the next call begins. Hosts
  may send the name in several fragments, and before that it may be incomplete.
- A message and its calls have the received structs as their origins. A text and a thought have only
  the provider and the model: in this format they are strings, not JSON objects of their own.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from wire.catalogue.stops import Stop, StopWord, partial_stop, stopped
from wire.core.arguments import check_inside, checked_arguments
from wire.core.errors import StreamIncomplete, WireError
from wire.core.lenient import Halves, fields_of, odd_text, portable, well_formed
from wire.core.memory import PARTIAL, RAW, Note, notes
from wire.neutral.events import provider_events
from wire.neutral.ids import ReplyIds, made_id
from wire.neutral.messages import (
    Citation,
    Done,
    Event,
    Media,
    MediaDelta,
    Message,
    Origin,
    Part,
    Reply,
    Text,
    TextDelta,
    Thought,
    ThoughtDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    checked,
    with_answer,
    with_origin,
)
from wire.openai.chat.finish import finish_of, meaning_of
from wire.openai.chat.fold import CONTENT_FIELDS, joined_details
from wire.openai.chat.thinking import Tags
from wire.openai.chat.tool_calls import Calls, OpenCall
from wire.openai.chat.types import (
    Annotation,
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
from wire.openai.chat.usage import usage_of
from wire.openai.common.arguments import arguments_of
from wire.openai.common.dialect import PLAIN, Dialect

if TYPE_CHECKING:  # few models speak or draw
    from wire.openai.chat.media import Speech

WIRE = "openai"

SLOTS = ("reasoning_content", "reasoning", "reasoning_text")
"""Fields that hold reasoning as text. The first one with a text counts, because some hosts send the
same text in two fields (Q6).
"""


_Kind: TypeAlias = Literal["text", "refusal", "thought", "media"]

_REASONING = operator.attrgetter(*SLOTS, "reasoning_details")
_NO_REASONING = (None,) * (len(SLOTS) + 1)


@checked_arguments()
def parse_reply(
    response: ChatCompletion,
    dialect: Dialect = PLAIN,
    *,
    body: bytes = b"",
    choice: int = 0,
    provider: str = "openai",
    model: str = "",
    error: WireError | None = None,
) -> Reply:
    """Convert a complete response to a reply.

    `body` is the body of the request. A host may omit the id of a call; the id is then derived from
    `body`, so that it is the same each time.

    >>> from wire.openai.chat.reader import parse_completion
    >>> reply = parse_reply(
    ...     parse_completion(b'{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}')
    ... )
    >>> reply.text, reply.stop.reason
    ('Hi', 'end')

    `provider` and `model` received the request. The received message is sent back unchanged to them
    only. The reply of a response with `wire.core.memory.PARTIAL` in its notes has no regular stop
    reason; `error` is the error that ended its stream, if any.
    """
    event_reader = EventReader(dialect, body=body, choice=choice, provider=provider, model=model)
    event_reader.feed(response)
    # Not `close`, whose events and whose reply in `Done` nobody reads here.
    event_reader._end(error or StreamIncomplete() if PARTIAL in notes(response) else None)
    reply = event_reader.reply()
    all_notes = tuple(dict.fromkeys((*notes(response), *reply.notes)))
    reply = msgspec.structs.replace(reply, notes=all_notes)
    received = [each.message for each in response.choices or () if (each.index or 0) == choice]
    is_whole = len(received) == 1 and not event_reader.is_split
    if is_whole and received[0] is not None and RAW in vars(received[0]):
        _set_origins(reply.message, received[0], provider, model)
    return with_answer(reply, response)


def _set_origins(message: Message, source: WireMessage, provider: str, model: str) -> None:
    """Attach the received structs to a neutral message and its calls."""
    with_origin(message, Origin(provider, model, WIRE, source))
    if has_all_calls(source, message):
        for call, each in zip(message.tool_calls, source.tool_calls or (), strict=True):
            with_origin(call, Origin(provider, model, WIRE, each))


def has_all_calls(source: WireMessage, message: Message) -> bool:
    """Return whether each item of `tool_calls` is one call of the neutral message, in the same
    order.

    It is not if one call is a deprecated `function_call`, or if items were joined to one call.
    """
    return len(source.tool_calls or ()) == len(message.tool_calls)


_KNOWN_KEYS = frozenset(
    {
        "choices",
        "created",
        "id",
        "model",
        "object",
        "obfuscation",
        "service_tier",
        "system_fingerprint",
    }
)
"""Keys of a chunk that are in the reply, or only identify the response."""


class EventReader:
    """Converts the chunks of one response to events; `reply()` returns the reply.

    >>> from wire.openai.chat.reader import ChunkReader
    >>> reader = EventReader()
    >>> for chunk in ChunkReader().feed(
    ...     b'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\\n\\n'
    ... ):
    ...     print(reader.feed(chunk))
    [TextDelta(text='Hi')]
    >>> reader.close()[-1].reply.stop
    Stop(reason='end', raw='stop')
    """

    @checked_arguments()
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
        # Texts, refusals, thoughts and media, in the order of their first fragments.
        self._parts: list[_OpenPart] = []
        self._media = 0  # parts that are media
        self._speech: Speech | None = None
        self._speech_position = 0
        self._halves: dict[tuple[_Kind, str], Halves] = {}
        self._has_delta = False
        # The kind of text in the last chunk: a text, a thought, or the arguments of a call.
        self._latest: _Kind | OpenCall | None = None
        # Type and index of a detail -> its last text, from a host with `cumulative_details`.
        self._cumulative: dict[tuple[Any, Any], str] = {}
        self._details: list[dict[str, Any]] = []
        self._calls = Calls()
        self._others: dict[int, bool] = {}  # further choices: whether their calls were read
        self._started = 0  # calls whose start was emitted
        self._ids: set[str] = set()  # of those calls
        self._ended = 0
        self._odd_text = ""  # content of a wrong type, which counts if no other text arrives
        self._finish: str | None = None
        self._native: str | None = None
        self._sequence: str | None = None
        self._usage: CompletionUsage | None = None
        self._annotations: list[Annotation] = []
        self._searched: ChatCompletionChunk | ChatCompletion | None = None
        self._executed: list[dict[str, Any]] = []  # calls of tools that the host ran
        self._failure: WireError | None = None
        self._closed = False

    def feed(self, chunk: ChatCompletionChunk | ChatCompletion) -> list[Event]:
        """Return the events of one chunk, or of a complete response."""
        try:
            events: list[Event] = []
            self._latest = None
            self._id, self._model = chunk.id or self._id, chunk.model or self._model
            groq = chunk.x_groq.usage if chunk.x_groq is not None else None
            for usage in (groq, *(choice.usage for choice in chunk.choices or ()), chunk.usage):
                if usage is not None and usage != CompletionUsage():
                    self._usage = usage
            if chunk.citations or chunk.search_results:
                self._searched = chunk  # Perplexity repeats them in each chunk
            for index, choice in enumerate(chunk.choices or ()):
                if (choice.index or 0) == self._choice:
                    self._read_choice(chunk, index, choice, events)
                else:
                    self._read_other(choice, events)
            if not chunk.choices and chunk.usage is None:
                events += provider_events(chunk, "", _KNOWN_KEYS)
            return events
        except WireError:
            raise
        except Exception:
            check_inside("chunk", chunk, ChatCompletionChunk | ChatCompletion)
            raise

    @checked_arguments()
    def feed_texts(self, texts: Sequence[str]) -> list[Event]:
        """Return the events of chunks that repeat the last one, a text of one choice, with other
        texts.
        """
        events: list[Event] = []
        kind = self._latest
        if kind is None:  # of another choice
            return events
        if isinstance(kind, OpenCall):
            for text in texts:
                kind.add_arguments(text)
                events += self._call_events(kind)
            return events
        if kind == "text" and self._tags is not None:
            for text in texts:
                self._add_pieces(self._tags.feed(text), events)
            return events
        texts = [text for text in texts if text]
        self._parts[-1].texts += texts
        return list(map(ThoughtDelta if kind == "thought" else TextDelta, texts))

    @checked_arguments()
    def close(self, folded: Reply | None = None, *, error: WireError | None = None) -> list[Event]:
        """Return the last events: the ends of the calls, and `Done`.

        `folded` is the reply of the folded stream, if the caller has it. `error` is the error that
        ended the stream, if any. Raises `BlockedError` if filters removed all of `folded`.
        """
        if self._closed:
            return []
        events = self._end(error)
        reply = self.reply() if folded is None else checked(folded)
        events += self._end_events(reply.tool_calls)
        return [*events, Done(reply)]

    def _end(self, error: WireError | None) -> list[Event]:
        """Return the events of texts that were held back.

        Without an error, the reply is complete.
        """
        self._closed, self._failure = True, error
        events: list[Event] = []
        if self._tags is not None:
            self._add_pieces(self._tags.close(), events)
        self._flush_halves(events)
        if self._speech is not None:
            self._add_speech(*self._speech.close(), events)
        if self._odd_text and not any(part.kind == "text" for part in self._parts):
            self._add_text("text", self._odd_text, "", events)
        return events

    def reply(self) -> Reply:
        """Return the reply; before `close`, or after an error, its notes say that it is partial."""
        parts = self._all_parts()
        citations: tuple[Citation, ...] = ()
        if self._annotations or self._searched is not None:
            from wire.openai.chat.server_parts import citations_of  # few replies have sources

            citations = citations_of(self._annotations, self._searched, parts)
        stop, noted = self._stop()
        for number, is_split in self._others.items():
            words = "left out: the reply is another choice"
            words = "its calls are part of the reply" if is_split else words
            noted = (*noted, Note(f"choices[{number}]", words))
        return Reply(
            message=Message(role="assistant", parts=parts, citations=citations),
            stop=stop,
            usage=usage_of(self._usage, self._dialect),
            notes=noted,
            id=well_formed(self._id),
            model=well_formed(self._model),
        )

    # --- one choice

    # Most events are one piece of text, and a response has thousands of them. So these methods
    # append to a list: a generator costs one more call for each event.

    def _read_choice(
        self,
        chunk: ChatCompletionChunk | ChatCompletion,
        index: int,
        choice: Choice,
        events: list[Event],
    ) -> None:
        delta: Delta | WireMessage | None = choice.delta
        # A complete message counts only if no delta before it had content. Otherwise it repeats the
        # deltas, and the text would be doubled (Q5).
        if not self._has_delta:
            if not _has_content(delta):
                delta = choice.message or delta
            self._has_delta = _has_content(delta)
        if delta is not None:
            if _REASONING(delta) != _NO_REASONING:
                self._read_reasoning(delta, events)
            if isinstance(delta.content, str):
                self._read_text(delta.content, events)
            elif delta.content:
                self._read_content(delta.content, events)
            elif not _has_content(delta):
                field = "delta" if delta is choice.delta else "message"
                odd = odd_text(chunk.raw, "choices", index, field, "content")
                self._odd_text = odd or self._odd_text
            if delta.refusal:
                self._add_text("refusal", delta.refusal, "", events)
            if delta.audio is not None:
                self._read_audio(delta.audio, events)
            for image in delta.images or ():
                self._add_image(image, events)
            if delta.tool_calls or delta.function_call is not None:
                self._read_calls(delta, events)
            if delta.annotations:
                self._annotations += delta.annotations
            if delta.executed_tools:
                self._executed += delta.executed_tools
        self._finish = finish_of(choice) or self._finish
        self._native = choice.native_finish_reason or self._native
        if isinstance(choice.stop_reason, str):  # else the id of a token
            self._sequence = well_formed(choice.stop_reason)

    def _read_other(self, choice: Choice, events: list[Event]) -> None:
        """Read a further choice: its calls, if the host split one answer over two (Q22)."""
        number, delta = choice.index or 0, choice.delta or choice.message
        if number not in self._others and delta is not None and _has_content(delta):
            # One of several answers that were asked for is not the rest of another one.
            begun = self._choice == 0 and self._parts and not self._calls.all
            is_split = bool(begun and delta.tool_calls and not delta.content)
            asked_for = bytes(fields_of(msgspec.Raw(self._body)).get("n", b"1"))
            self._others[number] = is_split and asked_for in (b"1", b"null")
        if self._others.get(number) and delta is not None:
            self._read_calls(delta, events)
            self._finish = finish_of(choice) or self._finish

    @property
    def is_split(self) -> bool:
        """Whether the calls came in another choice than the text."""
        return any(self._others.values())

    def _read_reasoning(self, delta: Delta | WireMessage, events: list[Event]) -> None:
        details = delta.reasoning_details or ()
        self._details += [msgspec.to_builtins(detail) for detail in details]
        slot = next((name for name in SLOTS if getattr(delta, name)), None)
        if slot is not None:
            self._latest = "thought"
            self._add_text("thought", getattr(delta, slot), slot, events)
            return  # the details repeat the text: reading both would double it (Q6)
        for detail in details:
            text = detail.text or detail.summary or ""
            if self._dialect.cumulative_details:
                key = (detail.type, detail.index)
                before, self._cumulative[key] = self._cumulative.get(key, ""), text
                text = text[len(before) :] if text.startswith(before) else text
            self._add_text("thought", text, "reasoning_details", events)

    def _read_content(self, content: Sequence[ContentPart], events: list[Event]) -> None:
        for part in content:
            if part.type == "thinking" or part.thinking is not None:
                inside = (
                    part.thinking
                    if isinstance(part.thinking, str)
                    else "".join(each.text or "" for each in part.thinking or ())
                )
                self._add_text("thought", inside, "content", events)
            elif part.refusal:
                self._add_text("refusal", part.refusal, "", events)
            elif part.text:
                self._read_text(part.text, events)
            elif part.image_url is not None:
                self._add_image(part, events)

    def _read_text(self, text: str, events: list[Event]) -> None:
        if text:
            self._latest = "text"
        if self._tags is None:
            self._add_text("text", text, "", events)
        else:
            self._add_pieces(self._tags.feed(text), events)

    def _add_pieces(
        self, pieces: Sequence[tuple[Literal["text", "thought"], str]], events: list[Event]
    ) -> None:
        for kind, text in pieces:
            self._add_text(kind, text, "content" if kind == "thought" else "", events)

    def _add_text(self, kind: _Kind, text: str, slot: str, events: list[Event]) -> None:
        if not text:
            return
        halves = self._halves.get((kind, slot))
        # Separate for each field: the second half of a surrogate pair comes in the next text of the
        # same field, and a chunk may have other fields in between.
        if halves is None:
            halves = self._halves[kind, slot] = Halves()
        self._append(kind, halves.feed(text), slot, events)

    def _append(self, kind: _Kind, text: str, slot: str, events: list[Event]) -> None:
        if not text:
            return
        if not self._parts or (self._parts[-1].kind, self._parts[-1].slot) != (kind, slot):
            self._parts.append(_OpenPart(kind, slot))
        self._parts[-1].texts.append(text)
        events.append(ThoughtDelta(text) if kind == "thought" else TextDelta(text))

    def _flush_halves(self, events: list[Event]) -> None:
        """Emit a replacement character for each first half of a pair without a second."""
        for (kind, slot), halves in self._halves.items():
            self._append(kind, halves.rest, slot, events)

    def _read_audio(self, audio: Audio, events: list[Event]) -> None:
        from wire.openai.chat.media import Speech, has_speech

        if self._speech is None:
            if not has_speech(audio):
                return
            self._speech, self._speech_position = Speech(), self._media
            self._add_media(self._speech.part)
        self._add_speech(*self._speech.feed(audio), events)

    def _add_speech(self, data: bytes, transcript: str, events: list[Event]) -> None:
        if self._speech is not None and (data or transcript):
            kind = self._speech.media_type
            events.append(
                MediaDelta(
                    position=self._speech_position,
                    data=data,
                    media_type=kind,
                    transcript=transcript,
                )
            )

    def _add_image(self, image: ContentPart, events: list[Event]) -> None:
        from wire.neutral.events import media_event
        from wire.openai.chat.media import image_of

        part = image_of(image)
        if isinstance(part, Media):
            events.append(media_event(part, self._media))
        self._add_media(lambda: part)

    def _add_media(self, part: Callable[[], Part | None]) -> None:
        opened = _OpenPart("media", "")
        opened.media = part
        self._parts.append(opened)
        self._media += 1

    def _read_calls(self, delta: Delta | WireMessage, events: list[Event]) -> None:
        for index, call in enumerate(delta.tool_calls or ()):
            if isinstance(delta, WireMessage) and call.index is None:
                # Each item of a complete message is a call, also where two have the same id.
                call = msgspec.structs.replace(call, index=index)
            opened = self._calls.add(call)
            self._latest = opened if opened.kind == "function" else None
            events += self._call_events(opened)
        legacy = (
            self._calls.add_legacy(delta.function_call) if delta.function_call is not None else None
        )
        if legacy is not None:
            events += self._call_events(legacy)

    def _call_events(self, call: OpenCall) -> Iterator[Event]:
        # Without arguments, the name of this call may go on in the next delta: it starts later.
        yield from self._start_events(call.position + 1 if call.has_arguments else call.position)
        if call.position < self._started and (text := call.take()):
            yield ToolCallDelta(call.position, text)

    def _start_events(self, count: int, *, unnamed: bool = False) -> Iterator[Event]:
        """Yield the starts of the first `count` calls, with the arguments that they have by then.

        A call that has no name yet waits for it, and later calls wait for that call.
        """
        while self._started < count:
            call = self._calls.all[self._started]
            if not (call.name or unnamed):
                return
            id = call.id or ""
            if id and id in self._ids:  # an earlier call has it
                id = made_id(self._body, call.position)
            self._ids.add(id)
            yield ToolCallStart(call.position, call.name, id)
            self._started += 1
            if text := call.take():
                yield ToolCallDelta(call.position, text)

    def _end_events(self, complete: Sequence[ToolCall]) -> Iterator[Event]:
        yield from self._start_events(len(self._calls.all), unnamed=True)
        ends = complete if len(complete) == len(self._calls.all) else self._all_calls()
        for position, call in enumerate(self._calls.all):
            if call.rest:
                yield ToolCallDelta(position, call.rest)
            yield ToolCallEnd(position, ends[position])

    # --- the reply

    @property
    def _complete(self) -> bool:
        return self._closed and self._failure is None

    def _all_parts(self) -> tuple[Part, ...]:
        details = (
            tuple(map(portable, joined_details(self._details, self._dialect)))
            if self._details
            else ()
        )
        parts: list[Part] = []
        for part in self._parts:
            text = "".join(part.texts)
            if part.kind == "media":
                media = part.media()
                parts += () if media is None else (media,)
            elif part.kind != "thought":
                parts.append(Text(text=text, refusal=part.kind == "refusal"))
            else:
                parts.append(Thought(text=text, slot=part.slot, details=details))
                details = ()
        if details:  # encrypted reasoning, without a text
            parts.insert(0, Thought(slot="reasoning_details", details=details))
        if self._executed:
            from wire.openai.chat.server_parts import server_parts  # few replies have them

            texts = [at for at, part in enumerate(parts) if isinstance(part, Text)]
            before = texts[0] if texts else len(parts)
            parts[before:before] = server_parts(self._executed)
        if self._calls.all:
            parts += self._all_calls()
        return tuple(with_origin(part, self._origin) for part in parts)

    def _all_calls(self) -> list[ToolCall]:
        ids = ReplyIds(self._body)
        return [self._call(call, ids.own(call.id), ids.response) for call in self._calls.all]

    def _call(self, call: OpenCall, id: str, response: str) -> ToolCall:
        cut = not self._complete or self._meaning(calls=True).reason == "length"
        if call.kind == "custom":
            return ToolCall(
                id=id,
                name=call.name,
                arguments=None if cut else {"input": call.text},
                text=call.text,
                kind="custom",
                extra=portable(call.extra),
                response=response,
            )
        return ToolCall(
            id=id,
            name=call.name,
            arguments=arguments_of(call.text, cut=cut),
            text=call.text,
            extra=portable(call.extra),
            response=response,
        )

    def _meaning(self, *, calls: bool) -> StopWord:
        return meaning_of(self._finish, self._native, calls=calls)

    def _stop(self) -> tuple[Stop, tuple[Note, ...]]:
        refusals = (text for part in self._parts if part.kind == "refusal" for text in part.texts)
        message, row = "".join(refusals), self._meaning(calls=bool(self._calls.all))
        stop, noted = stopped(row, self._finish, message, self._sequence)
        if not self._complete:
            return partial_stop(stop, self._failure), (PARTIAL,)
        if self._finish is None and self._calls.all:
            return Stop(reason="tool_calls", message=message), ()
        return stop, noted


_EMPTY_VALUES: tuple[Any, ...] = (None, "", [], FunctionCall(), Audio())


def _has_content(delta: Delta | WireMessage | None) -> bool:
    """Return whether any field of a delta or a message has content."""
    return delta is not None and any(
        getattr(delta, name) not in _EMPTY_VALUES for name in CONTENT_FIELDS
    )


class _OpenPart:
    """A text, a refusal, a thought or media while its fragments arrive."""

    def __init__(self, kind: _Kind, slot: str) -> None:
        self.kind, self.slot = kind, slot
        self.texts: list[str] = []
        self.media: Callable[[], Part | None] = _no_media


def _no_media() -> None:
    return None
