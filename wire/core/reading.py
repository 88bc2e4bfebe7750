"""Decodes response bodies, streamed or not. A wire defines how one JSON value is read.

The machine has four stages. Each gives the same output wherever the network cut the bytes:

1. `Framing` buffers the body until its first non-blank byte shows whether it is events, JSON, or
   binary frames. The content type is ignored, because hosts send the wrong one.
2. `Decoder` splits events, `Cutter` splits JSON objects: one object, consecutive objects, or the
   items of one array. The decoder of `wire.core.event_stream` splits frames, which then are read
   as events.
3. `FramedReader` passes each value to the wire's `read`. A value that begins as JSON and is
   malformed is an error: its content would be missing in the response. Any other text, such as a
   lone word that keeps the connection alive, is dropped and reported as a note (Q3).
4. The wire's `read` emits chunks, or raises the error that the value contains.

Any bytes end in chunks and, if the response is incomplete, in one error of `wire.errors`. Bodies
are untrusted input, and an exception of another kind would leave the connection half read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NoReturn, TypeVar

import msgspec

from wire.core.chunk_bytes import DATA, ChunkBytes, RawValue
from wire.core.error_words import ErrorReader
from wire.core.errors import Deferred, StreamError, StreamIncomplete, StreamInvalid, WireError
from wire.core.framing import (
    BOM,
    MAX_SHOWN_BYTES,
    Framing,
    are_several,
    is_damaged,
    is_scalar,
    items,
    may_be_events,
)
from wire.core.framing import shown as shown
from wire.core.jsonstream import Cutter
from wire.core.lenient import Unreadable, decoded, fields_of
from wire.core.limits import Limits, check_json, over, unchecked_json
from wire.core.memory import NOTES, PARTIAL, Note, WireStruct, kept_bytes, notes, with_notes
from wire.core.sse import Decoder, Event, end_of_event, event_form

if TYPE_CHECKING:  # few hosts send frames
    from wire.core.event_stream import EventDecoder

C = TypeVar("C", bound=WireStruct)
W = TypeVar("W", bound=WireStruct)

_MAX_NOTES = 100
_MAX_DROPPED_BYTES = 1000
_BYTES_AT_ONCE = 1024 * 1024

_SLOW_BYTES = 4096
"""Bytes of events that are decoded one by one before it is tried again to decode many at once."""
_MAX_WINDOW = 256 * 1024
"""Bytes of events that are decoded at once. It is reached by doubling: an event that does not fit
costs no more than those before it."""


class FramedReader(Generic[C]):
    """The frame of a body reader. `wire.core.call.Reader` documents its public fields."""

    # Slots, here and in the other objects of a stream: of a thousand streams, one has left the
    # caches of the processor when its next chunk arrives. Without a dictionary for each object,
    # that chunk touches less memory and costs a fifth less.
    __slots__ = (
        "_cutter",
        "_events",
        "_form",
        "_frames",
        "_framing",
        "_gives_texts",
        "_head",
        "_is_usual",
        "_kept",
        "_limits",
        "_line_end",
        "_most_held",
        "_name",
        "_out",
        "_seen",
        "_strange",
        "_tail",
        "_unchecked",
        "_unused",
        "_window",
        "answers",
        "count",
        "cut",
        "done",
        "error",
        "finished",
        "notes",
    )

    errors: ClassVar[ErrorReader[Any]]
    value_name: ClassVar[str]
    """Name of one value in error messages, such as `an event of Messages`."""
    ending: ClassVar[str]
    """Name of the end of a complete stream, such as `message_stop`, for error messages."""
    answer_name: ClassVar[str]
    """Name of the key of what a reply is made of, such as `choices`, for error messages."""
    chunk_type: ClassVar[type[Any]]
    """The struct of a chunk, `C`."""
    own_keys: ClassVar[frozenset[str]] = frozenset()
    """Keys of an object outside of events that mark it as a chunk, not as noise."""

    def __init__(self, limits: Limits = Limits()) -> None:  # noqa: B008  it is immutable
        self.notes: list[Note] = []
        self.count: int = 0  # chunks emitted
        self._limits = limits
        self._unchecked = unchecked_json(limits)
        self._seen = 0  # events, those that held no chunk included
        self._out: list[Any] = []
        self._kept: ChunkBytes | None = None
        self._gives_texts = False
        self._name = "message"  # of the last event
        self._line_end = b""  # before the line feed that ends a line
        self._form = event_form("message", b"")
        self._most_held = min(_SLOW_BYTES, limits.event, limits.line)
        self._window = _SLOW_BYTES
        self.answers = False  # a chunk can be part of a reply; without one there is no response
        self.reopen()

    def reopen(self) -> None:
        """Begin another body, which continues the response of the one before."""
        self.error: WireError | None = None
        self.done: bool = False
        self.finished = False
        self.cut: bytes = b""  # an event that the end of the body truncated
        self._head = b""  # the first bytes of a body that may be events
        self._strange = bytearray()  # the first bytes outside of events and JSON
        self._framing = Framing()
        self._events = Decoder(self._limits.event, self._limits.line)
        self._tail = b""  # the first bytes of a usual event, which the next ones may complete
        self._is_usual = False  # the last data ended with a usual event
        self._cutter: Cutter | None = None  # a stream of events needs none
        self._frames: EventDecoder | None = None
        self._unused = 0  # bytes since the last chunk

    # --- for a wire to define ---------------------------------------------------------------------

    def read(self, data: bytes, name: str) -> None:
        """Emit the chunks of one JSON object. `name` is the name of its event, `""` for none.

        Raises `Unreadable` if `data` is not an object, and the typed error that it contains.
        """
        raise NotImplementedError

    def unframed(self, name: str, payload: bytes) -> tuple[bytes, str]:
        """Return the JSON object in a binary frame, and the name of its event.

        `name` is the type of the frame's event. Raises `StreamInvalid`.
        """
        from wire.core.event_stream import object_in

        return object_in(name, payload)

    def follow(self, chunk: C) -> None:
        """Update the state of the response after a chunk."""
        raise NotImplementedError

    def is_whole(self) -> bool:
        """Return whether the response is complete, now that its body has ended."""
        raise NotImplementedError

    def may_drop(self, data: bytes) -> bool:
        """Return whether damaged JSON may be dropped and reported, because the host sends it."""
        return False

    def follow_texts(self, latest: RawValue) -> None:
        """Update the state after chunks that repeat the previous chunk with another text.

        `latest` is the value of `TextChunk.latest_key` in the last of them.
        """

    def end(self) -> None:
        """End the body after `[DONE]` was read."""
        self.done = True

    @property
    def begun(self) -> bool:
        """Whether a chunk was emitted. If not, the call may be retried."""
        return self.count > 0

    @property
    def as_json(self) -> bool:
        """The body is JSON, not events."""
        return self._framing.as_json

    @property
    def rest(self) -> bytes:
        """A JSON object, or an event, that the end of the body truncated."""
        rest = bytes(self._uncut) or self.cut
        return rest if self._frames is None else rest or self._frames.rest

    def note(self, path: str, message: str) -> None:
        """Report something: the first times only, since a stream may repeat it without end."""
        if len(self.notes) < _MAX_NOTES:
            self.notes.append(Note(path, message))

    def emit(self, chunk: C) -> None:
        """Hand a chunk out; note once what does not fit in it, and in all others like it."""
        if NOTES in vars(chunk):
            self.notes += [each for each in notes(chunk) if each not in self.notes][:_MAX_NOTES]
        self.count += 1
        self._out.append(chunk)
        if self._kept is not None:
            self._kept.add(kept_bytes(chunk))
        self.follow(chunk)

    # --- the public side --------------------------------------------------------------------------

    def keep(self, kept: ChunkBytes, *, gives_texts: bool) -> None:
        """Add the bytes of each chunk to `kept`.

        From then on, chunks that repeat the chunk before them with another text are not decoded:
        `feed` returns the bytes of each, or with `gives_texts` a list of their texts.
        """
        self._kept, self._gives_texts = kept, gives_texts

    def feed(self, data: bytes) -> list[C]:
        """Return the chunks that `data` completes; after `keep`, some of them not decoded."""
        out: list[C] = []
        self._out = out
        if self._is_usual:  # as most networks deliver them, one for each read
            line = self._form.only_line(data)
            if line is not None and self._repeat(self._kept, (line,), b""):  # type: ignore[arg-type]
                return out
            self._is_usual = False
        if self.error is None and not self.done:
            size = len(data)
            try:
                data = self._framing.feed(data)
                if self._framing.as_json:
                    for value in self._cut(data):
                        self._count_event()
                        self._read(value, "")
                elif self._framing.as_frames:
                    self._take_frames(data)
                elif data:
                    if len(self._head) < MAX_SHOWN_BYTES:
                        self._head += data[:MAX_SHOWN_BYTES]
                    self._take_events(data)
                if out:
                    self._unused = 0
                else:
                    self._unused += size
                    if self._unused > self._limits.unused:
                        self._check_unused()
            except WireError as error:
                self.error = error
        return out

    def close(self) -> list[C]:
        """Return the last chunks at the end of the body; set `error` if it is incomplete."""
        out = self._out = []
        if self.error is None:
            try:
                if not self.done:
                    self._last()
                whole = self.is_whole() and not (self.as_json and self._uncut and not self.done)
                if self._frames is not None and self._frames.held and not self.done:
                    whole = False
                if not whole or not self.count:
                    self.error = self.incomplete()
                elif not self.answers:
                    self.error = StreamInvalid(f"the response has no {self.answer_name}")
            except WireError as error:
                self.error = error
        return out

    def incomplete(self) -> StreamError:
        """Build the error of an incomplete response, or of a body in a foreign format."""
        rest = self.rest
        if rest and (self.as_json or self._unframed_rest):
            what = "its JSON" if self.as_json else f"a frame, after {self.count} events"
            return StreamIncomplete(
                f"the answer ended in the middle of {what}"
                + (f": {shown(rest)}" if self.as_json else ""),
                retryable=not self.begun,
                raw=rest,
            )
        strange = self._strange or (b"" if may_be_events(self._head) else self._head)
        if not self.begun and strange:
            return StreamInvalid(
                f"not {self.value_name} (bytes outside the framing): {shown(bytes(strange))}",
                raw=bytes(strange),
            )
        where = f", in the middle of {shown(rest)}" if rest else ""
        dropped = (f"; dropped: {each}" for each in self.notes if each.path.startswith("event "))
        where += next(dropped, "")
        if not self.begun:
            return StreamIncomplete(
                f"the answer ended before its first event{where}", retryable=True, raw=rest
            )
        return StreamIncomplete(
            f"the stream ended without {self.ending} after {self.count} events{where}", raw=rest
        )

    # --- values -----------------------------------------------------------------------------------

    def _last(self) -> None:
        if self.as_json:
            self._cut(b"")
        else:
            self._decode_events(self._tail)
            self._take(self._events.close())
        if self._cutter is not None and self._cutter.stray and not self.done:
            self._drop_outside(bytes(self._cutter.stray))

    def _cut(self, data: bytes) -> list[bytes]:
        """Return the JSON objects that these bytes complete."""
        if self._cutter is None:
            self._cutter = Cutter(self._limits.event)
        return self._cutter.feed(data)

    @property
    def _uncut(self) -> bytes | bytearray:
        """The beginning of a JSON object that has not ended."""
        return b"" if self._cutter is None else self._cutter.rest

    def _take_events(self, data: bytes) -> None:
        """Read the bytes of events.

        Most events of a stream repeat the one before with another text, and arrive in one piece.
        They are recognised by their bytes, line ends included, and pass by the decoder of events.
        """
        kept, events = self._kept, self._events
        if kept is None:
            self._decode_events(data)
            return
        if self._tail:
            data, self._tail = self._tail + data, b""
        position, size = 0, len(data)
        while position < size and not self.done:
            end = position + _SLOW_BYTES
            if kept.repeating:
                if events.is_between:
                    taken = self._take_usual(kept, data[position : position + self._window])
                    position += taken
                    if position == size:
                        self._is_usual = True
                        return
                    if size - position < self._most_held and self._form.is_begun(data[position:]):
                        self._tail = data[position:]
                        return
                    if taken:
                        continue
                else:
                    end = end_of_event(data, position)
            elif b"\r\n" in data[position:end]:
                self._line_end = b"\r"
            self._decode_events(data[position:end])
            position = end

    @property
    def _unframed_rest(self) -> bytes:
        """The beginning of a frame that has not ended."""
        return b"" if self._frames is None else self._frames.rest

    def _take_frames(self, data: bytes) -> None:
        """Read the binary frames that these bytes complete, as events."""
        if self._frames is None:
            from wire.core.event_stream import EventDecoder  # few hosts send frames

            self._frames = EventDecoder(self._limits, self.unframed)
        self._take(self._frames.feed(data))
        if self._frames.error is not None and not self.done:
            raise self._frames.error

    def _decode_events(self, data: bytes) -> None:
        self._take(self._events.feed(data))
        if self._events.over:  # if no further data comes, it would never be raised
            self._events.refuse()

    def _take_usual(self, kept: ChunkBytes, data: bytes) -> int:
        """Read the events at the beginning that repeat the last one; return their size."""
        form = self._form
        if form.name != self._name or form.line_end != self._line_end:
            form = self._form = event_form(self._name, self._line_end)
        lines = form.data_lines(data)
        if not lines:
            return 0
        count = self._repeat(kept, lines, form.line_end)
        if count < len(lines):
            self._window, lines = _SLOW_BYTES, lines[:count]
        elif self._window < _MAX_WINDOW:
            self._window *= 2
        return sum(map(len, lines)) + count * form.others

    def _take(self, events: Iterable[Event]) -> None:
        kept = self._kept
        for event in events:
            # Events after the terminator are ignored, also those in the same network read.
            if self.done:
                return
            data, name = event.data, event.event
            if kept is not None:
                if (
                    kept.repeating
                    and name == self._name
                    and not event.outside
                    and self._repeat(kept, [DATA + data], b"")
                ):
                    continue
                kept.repeating, self._name = False, name
            if event.outside:
                self._outside(data)
            elif not event.blank:
                self._count_event()
                self._read(data, name, cut=event.cut)

    def _repeat(self, kept: ChunkBytes, lines: Sequence[bytes], line_end: bytes) -> int:
        """Emit the first chunks that repeat the last one with another text; return how many."""
        lines, texts, _ = kept.repeats(lines, line_end, self._limits.events - self._seen)
        count = len(texts)
        if not count:
            return 0
        self._seen += count
        self.count += count
        out = self._out
        if not self._gives_texts:
            if count == 1:
                out.append(lines[0][len(DATA) : len(lines[0]) - len(line_end)])
            else:
                inside = slice(len(DATA), -len(line_end) or None)
                out += [line[inside] for line in lines]
        elif out and type(out[-1]) is list:
            out[-1] += texts
        else:
            out.append(texts)
        self.follow_texts(kept.latest)
        return count

    def _count_event(self) -> None:
        self._seen += 1
        if self._seen > self._limits.events:
            self._refuse_events()

    def _refuse_events(self) -> NoReturn:
        raise over("events", f"the stream has more than {self._limits.events} events")

    def _check_unused(self) -> None:
        """Refuse a flood of comments, blank lines or keep-alives.

        An unfinished large event is not one.
        """
        held = len(self._uncut) if self.as_json else self._events.held + len(self._tail)
        held += 0 if self._frames is None else self._frames.held
        if self._unused - held > self._limits.unused:
            raise over("unused", f"more than {self._limits.unused} bytes complete no event")

    def _read(self, data: bytes, name: str, *, cut: bool = False, opened: bool = False) -> None:
        """Read one value. `opened`: it is an item of a list; a list in it is not opened."""
        data = data.strip()
        # Blank, or a comment that a host wrapped in `data:`.
        if self.done or not data or data[:1] == b":":
            return
        if data == b"[DONE]":
            self.end()
            return
        if len(data) > self._unchecked:
            check_json(data, self._limits)
        try:
            self.read(data, name)
        except Unreadable as cause:
            problem = str(cause)
        else:
            return
        several = None if opened or data[:1] != b"[" else items(data)
        if several:
            for item in several:
                self._read(item, name, opened=True)
        elif name != "error" and not self.as_json and are_several(data):
            # The host left out the blank lines between events, so `data` has several (Q3).
            *lines, last = data.split(b"\n")
            for line in lines:
                self._read(line, name, opened=opened)
            self._read(last, name, cut=cut, opened=opened)
        else:
            self._unreadable(data, name, problem, cut=cut)

    def _unreadable(self, data: bytes, name: str, problem: str, *, cut: bool) -> None:
        if name == "error":
            raise self.errors.in_success(data, certain=True) or self.errors.without_words(data)
        if error := self.errors.in_success(data):
            raise error
        if not self.as_json and not is_damaged(data):
            self._drop("bad_chunk", data)
        elif cut:
            self.cut = data  # truncated, not malformed: `close` reports it
        elif not self.as_json and self.may_drop(data):
            self._drop("bad_chunk", data)
        else:
            raise StreamInvalid(f"not {self.value_name} ({problem}): {shown(data)}", raw=data)

    def _outside(self, line: bytes) -> None:
        """Read a line that belongs to no event: a bare JSON error (R-03), perhaps on many lines."""
        if not (self._uncut or line.lstrip()[:1] in (b"{", b"[")):
            self._drop_outside(line)
            return
        for data in self._cut(line + b"\n"):
            if len(data) > self._unchecked:
                check_json(data, self._limits)
            if self.errors.in_success(data) is not None:
                self._read(data, "error")
            elif self._is_own(data):
                self._read(data, "")
            else:
                self._drop_outside(data)

    def _is_own(self, data: bytes) -> bool:
        try:
            return not self.own_keys.isdisjoint(fields_of(data))
        except RecursionError:  # which reading it as an event tells as the limit that it exceeds
            return True

    def _drop_outside(self, data: bytes) -> None:
        """Drop bytes that are neither events nor JSON, such as a page of HTML."""
        if len(self._strange) < _MAX_DROPPED_BYTES:
            self._strange += data + b"\n"
        self._drop("outside", data)

    def _drop(self, why: str, data: bytes) -> None:
        """Report dropped bytes."""
        self.note(f"event {self._seen}", f"{why}: dropped, not a value of the wire: {shown(data)}")


# --- bodies that are not streamed -----------------------------------------------------------------


def parse_whole(
    body: bytes,
    read: Callable[[bytes], W],
    is_whole: Callable[[W, bytes], bool],
    keep_bytes: Callable[[W, bytes], W],
    reader_type: Callable[[], FramedReader[C]],
    fold: Callable[[Sequence[C]], W],
) -> W:
    """Decode a complete body to one struct. Events, or an array of chunks, are folded (R-05).

    `read` and `is_whole` are tried first, for a body that is one object; `keep_bytes` then attaches
    the received bytes to its parts. Raises the provider's error if the body contains one,
    `StreamIncomplete` if it ends too early, `StreamInvalid` if it is not a body of the wire. The
    error has the chunks before it, folded, as `partial`.
    """
    bare = body.removeprefix(BOM)
    if bare.lstrip()[:1] == b"{":
        try:
            response = read(bare)
        except Unreadable:
            pass  # it may be several consecutive objects
        else:
            if is_whole(response, bare):
                return keep_bytes(response, bare)
    elif is_scalar(bare):
        # The SSE decoder would take `null` for a field name and ignore it.
        raise StreamInvalid(f"not {reader_type().value_name}: {shown(bare)}", raw=body)
    reader = reader_type()
    # In pieces, so that the limit of events holds before all of them are in memory.
    chunks = [
        chunk
        for start in range(0, len(body), _BYTES_AT_ONCE)
        for chunk in reader.feed(body[start : start + _BYTES_AT_ONCE])
    ]
    chunks += reader.close()
    if reader.error is not None:
        if chunks:
            reader.error.partial = Deferred(
                lambda _: with_notes(fold(chunks), [*reader.notes, PARTIAL])
            )
        raise reader.error
    return with_notes(fold(chunks), reader.notes)


def parse_plain(
    kind: type[W],
    body: bytes,
    errors: ErrorReader[Any],
    is_response: Callable[[W], bool],
    *,
    may_be_empty: bool,
) -> W:
    """Decode a complete body that is one struct, such as a list of models.

    If `is_response` is false, the body is searched for an error. Raises the provider's error, or
    `StreamInvalid` if the body is not a JSON object, if all its known fields have a wrong type, or
    if it is empty and not `may_be_empty`.
    """
    try:
        response = decoded(body.removeprefix(BOM), kind)
    except Unreadable as cause:
        response, problem = None, str(cause)
    else:
        problem = "it has none of the known fields"
    if response is None or not is_response(response):
        error = errors.in_success(body, certain=response is not None)
        if error is not None:
            raise error
        if response is None or not may_be_empty or _all_odd(response):
            raise StreamInvalid(f"not a {kind.__name__} ({problem}): {shown(body)}", raw=body)
    return response


def has_fields(response: WireStruct, *, besides: str = "") -> bool:
    """Return whether any field of the struct but `besides` was received with a valid value."""
    return any(
        getattr(response, name) not in (None, msgspec.UNSET)
        for name in response.__struct_fields__
        if name != besides
    )


def _all_odd(response: WireStruct) -> bool:
    """Return whether known fields were received, and all have a wrong type."""
    if has_fields(response):
        return False
    received = fields_of(response.raw)
    return any(
        bytes(received.get(key, b"null")) != b"null" for key in response.__struct_encode_fields__
    )
