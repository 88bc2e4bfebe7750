"""The reader of a body: bytes in, chunks out, and whole bodies. A wire says what one value means.

The machine has four stages. Each takes bytes as they come and gives the same output wherever they
are cut:

1. `Framing` holds the first bytes back until one that is not blank shows whether the body is events
   or JSON. The content type is not asked, since hosts send the wrong one.
2. `Decoder` cuts events, `Cutter` cuts JSON objects: one object, objects one after another, or the
   items of one array.
3. `FramedReader` passes each value to `read` of the wire. What is no value it reports as a note, or
   as an error, as the wire wants it.
4. The wire's `read` emits chunks, or raises the error that the value is.

Any bytes end in chunks and, if the response is not whole, in one error of `wire.errors`: a body is
input that nobody vouches for, and another exception would leave a stream half read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar, Generic, TypeVar

import msgspec

from wire.core.decoders import decoder
from wire.core.error_words import ErrorReader
from wire.core.framing import BOM, Framing
from wire.core.jsonstream import Cutter
from wire.core.lenient import Unreadable, decoded, fields_of
from wire.core.memory import PARTIAL, Note, WireStruct, with_notes
from wire.core.sse import EVENT_LIMIT, Decoder, Event
from wire.errors import StreamError, StreamIncomplete, StreamInvalid, WireError, one_line

C = TypeVar("C", bound=WireStruct)
W = TypeVar("W", bound=WireStruct)

_MAX_NOTES = 100
_MAX_DROPPED_BYTES = 1000


def shown(data: bytes) -> str:
    """The beginning of bytes that could not be read, for the message of an error."""
    return one_line(data[:200].decode("utf-8", "replace"))


class FramedReader(Generic[C]):
    """The frame of a body reader. `wire.core.call.Reader` documents its public fields."""

    errors: ClassVar[ErrorReader[Any]]
    value_name: ClassVar[str]
    """What one value is called in errors, such as `an event of Messages`."""
    ending: ClassVar[str]
    """What a whole stream has to have, such as `message_stop`."""
    drops_unreadable: ClassVar[bool] = False
    """An event that is no JSON is dropped and reported; otherwise it is an error."""
    own_keys: ClassVar[frozenset[str]] = frozenset()
    """Keys by which an object outside of events is read as if it were in one."""

    def __init__(self, limit: int = EVENT_LIMIT) -> None:
        self.error: WireError | None = None
        self.done = False
        self.finished = False
        self.notes: list[Note] = []
        self.count = 0  # chunks emitted
        self.cut = b""  # an event that the end of the body cut in two
        self.dropped = bytearray()  # the first bytes that were dropped
        self._framing = Framing()
        self._events = Decoder(limit)
        self._cutter = Cutter(limit)
        self._seen = 0  # events, those that held no chunk included
        self._out: list[C] = []

    # --- for a wire to define ---------------------------------------------------------------------

    def read(self, data: bytes, name: str) -> None:
        """Emit the chunks that one JSON object is. `name` is that of its event, `""` for none.

        Raises `Unreadable` for what is no object, or the typed error that it is.
        """
        raise NotImplementedError

    def follow(self, chunk: C) -> None:
        """Keep track of how far the response has come."""
        raise NotImplementedError

    def is_whole(self) -> bool:
        """Whether the response is complete, now that its body has ended."""
        raise NotImplementedError

    def end(self) -> None:
        """`[DONE]` was read."""
        self.done = True

    @property
    def begun(self) -> bool:
        """Whether anything of a response came: if not, the call may be tried again."""
        return self.count > 0

    @property
    def as_json(self) -> bool:
        """The body is JSON, not events."""
        return self._framing.as_json

    @property
    def rest(self) -> bytes:
        """A JSON object, or an event, that the end of the body cut in two."""
        return bytes(self._cutter.rest) or self.cut

    def emit(self, chunk: C) -> None:
        """Hand a chunk out."""
        self.count += 1
        self._out.append(chunk)
        self.follow(chunk)

    # --- the public side --------------------------------------------------------------------------

    def feed(self, data: bytes) -> list[C]:
        """Chunks that `data` completes."""
        out = self._out = []
        if self.error is None and not self.done:
            try:
                data = self._framing.feed(data)
                if self._framing.as_json:
                    for value in self._cutter.feed(data):
                        self._read(value, "")
                elif data:
                    self._take(self._events.feed(data))
            except WireError as error:
                self.error = error
        return out

    def close(self) -> list[C]:
        """Chunks that the end of the body completes; `error` is set if the response is not
        whole.
        """
        out = self._out = []
        if self.error is None:
            try:
                if not self.done:
                    self._last()
                if not self.is_whole() or (self.as_json and self._cutter.rest and not self.done):
                    self.error = self.incomplete()
            except WireError as error:
                self.error = error
        return out

    def incomplete(self) -> StreamError:
        """The error of a response that is not whole."""
        rest = self.rest
        if self.as_json and rest:
            return StreamIncomplete(
                f"the answer ended in the middle of its JSON: {shown(rest)}",
                retryable=not self.begun,
                raw=rest,
            )
        where = f", in the middle of {shown(rest)}" if rest else ""
        where += f"; dropped: {self.notes[0]}" if self.notes else ""
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
            self._cutter.check()
        else:
            self._take(self._events.close())
        if self._cutter.stray and not self.done:
            self._drop("outside", bytes(self._cutter.stray))

    def _take(self, events: Iterable[Event]) -> None:
        for event in events:
            # What came in one piece with the end is as little of the response as what comes later.
            if self.done:
                return
            if event.outside:
                self._outside(event.data)
            elif not event.blank:
                self._seen += 1
                self._read(event.data, event.event, cut=event.cut)

    def _read(self, data: bytes, name: str, *, cut: bool = False, opened: bool = False) -> None:
        """Read one value. `opened`: it stood in a list; a list inside a list is not opened."""
        data = data.strip()
        # Blank, or a comment that a host wrapped in `data:`.
        if self.done or not data or data[:1] == b":":
            return
        if data == b"[DONE]":
            self.end()
            return
        try:
            self.read(data, name)
        except Unreadable as cause:
            problem = str(cause)
        else:
            return
        items = None if opened or data[:1] != b"[" else _items(data)
        if items:
            for item in items:
                self._read(item, name, opened=True)
        elif self.drops_unreadable and b"\n" in data and name != "error" and not self.as_json:
            # The blank line between events was lost, so that they came glued together (Q3).
            for line in data.split(b"\n"):
                self._read(line, name, opened=opened)
        else:
            self._unreadable(data, name, problem, cut=cut, empty=items is not None)

    def _unreadable(self, data: bytes, name: str, problem: str, *, cut: bool, empty: bool) -> None:
        if name == "error":
            raise self.errors.parse(500, data)
        if error := self.errors.in_success(data):
            raise error
        if not self.as_json and (self.drops_unreadable or empty):
            self._drop("bad_chunk", data)
        elif cut:
            self.cut = data  # it says nothing wrong, it says too little
        else:
            raise StreamInvalid(f"not {self.value_name} ({problem}): {shown(data)}", raw=data)

    def _outside(self, line: bytes) -> None:
        """A line that belongs to no event.

        An error in bare JSON is one (R-03), and it may go over several lines.
        """
        if not (self._cutter.rest or line.lstrip()[:1] in (b"{", b"[")):
            self._drop("outside", line)
            return
        for data in self._cutter.feed(line + b"\n"):
            if self.errors.in_success(data) is not None:
                self._read(data, "error")
            elif not self.own_keys.isdisjoint(fields_of(data)):
                self._read(data, "")
            else:
                self._drop("outside", data)

    def _drop(self, code: str, data: bytes) -> None:
        """Report what was not read; of many pieces the first ones are enough."""
        if len(self.dropped) < _MAX_DROPPED_BYTES:
            self.dropped += data + b"\n"
        if len(self.notes) < _MAX_NOTES:
            self.notes.append(
                Note(
                    f"event {self._seen}",
                    f"{code}: dropped, it is nothing of the wire: {shown(data)}",
                )
            )


def _items(data: bytes) -> list[bytes] | None:
    """The items of a list, mostly of one error; `None` for what is no list."""
    try:
        return [bytes(item) for item in decoder(list[msgspec.Raw]).decode(data)]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


# --- whole bodies ---------------------------------------------------------------------------------


def parse_whole(
    body: bytes,
    read: Callable[[bytes], W],
    is_whole: Callable[[W, bytes], bool],
    keep_bytes: Callable[[W, bytes], W],
    reader: FramedReader[C],
    fold: Callable[[Sequence[C]], W],
) -> W:
    """A whole body as one struct. A body that came as events, or as an array, is folded (R-05).

    `read` and `is_whole` are tried first, for a body that is one object; `keep_bytes` then gives
    its parts the bytes they came in. Raises the provider's error if the body is one,
    `StreamIncomplete` if it ends too early, `StreamInvalid` if it is nothing of the wire. An error
    has the chunks before it as `partial`.
    """
    bare = body.removeprefix(BOM)
    if bare.lstrip()[:1] == b"{":
        try:
            response = read(bare)
        except Unreadable:
            pass  # it may be several objects, one after another
        else:
            if is_whole(response, bare):
                return keep_bytes(response, bare)
    elif _is_scalar(bare):
        # `null` would be the name of a field to a reader of events, and pass without a word.
        raise StreamInvalid(f"not {reader.value_name}: {shown(bare)}", raw=body)
    chunks = [*reader.feed(body), *reader.close()]
    if reader.error is not None:
        if chunks:
            reader.error.partial = with_notes(fold(chunks), [*reader.notes, PARTIAL])
        raise reader.error
    return with_notes(fold(chunks), reader.notes)


def _is_scalar(data: bytes) -> bool:
    """Whether a body is one JSON value, neither object nor array."""
    if data.lstrip()[:1] in (b"", b"["):
        return False
    try:
        decoder(msgspec.Raw).decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def parse_plain(
    kind: type[W],
    body: bytes,
    errors: ErrorReader[Any],
    is_response: Callable[[W], bool],
    *,
    may_be_empty: bool,
) -> W:
    """A whole body that is one struct, such as a list of models.

    What is no response by `is_response` is searched for an error. Raises the provider's error, or
    `StreamInvalid` for what is no JSON object, for one whose known fields are all of other types,
    and for an empty one unless it `may_be_empty`.
    """
    try:
        response = decoded(body.removeprefix(BOM), kind)
    except Unreadable as cause:
        response, problem = None, str(cause)
    else:
        problem = "nothing of it is there"
    if response is None or not is_response(response):
        error = errors.in_success(body, certain=response is not None)
        if error is not None:
            raise error
        if response is None or not may_be_empty or _all_odd(response):
            raise StreamInvalid(f"not a {kind.__name__} ({problem}): {shown(body)}", raw=body)
    return response


def has_fields(response: WireStruct, *, besides: str = "") -> bool:
    """Whether a field of the struct came with a value that it can have, `besides` one of them."""
    return any(
        getattr(response, name) not in (None, msgspec.UNSET)
        for name in response.__struct_fields__
        if name != besides
    )


def _all_odd(response: WireStruct) -> bool:
    """Whether fields came, and none of them has the type that it should have."""
    if has_fields(response):
        return False
    came = fields_of(response.raw)
    return any(
        bytes(came.get(key, b"null")) != b"null" for key in response.__struct_encode_fields__
    )
