"""Keeps the bytes of a stream's chunks until they are folded to one response.

A stream has about one chunk for each token: 300 bytes around four letters. Consecutive chunks that
differ in nothing but their text are kept as one chunk with the joined text. Folding it gives the
same response, so neither the memory of a long stream nor the time of its fold grows with each
token. A chunk with anything else in it, such as a key that no struct knows, keeps its own bytes.

Most chunks of a run are recognised without decoding them: see `_Pattern`.
"""

from __future__ import annotations

import functools
import itertools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar

import msgspec

from wire.core.decoders import decoder
from wire.core.limits import Limits, unchecked_json

A = TypeVar("A")
RawValue: TypeAlias = msgspec.Raw | msgspec.UnsetType
"""The bytes of a value, which may be absent."""

DATA = b"data: "
"""The bytes before a chunk in its line."""
BORDER = b'{"border":{}}'
"""Stands between the chunks of two requests for one answer. No server sends it."""
EARLIER = "_earlier"
"""Metadata key of a folded response: those to the requests before the last one."""
_MAX_PATTERNS = 8
"""Patterns that are made for one run. A host whose chunks fit none would cost one for each."""


class TextChunk(Protocol):
    """A chunk of a wire that holds text and nothing that folding would have to collect.

    It is a struct that forbids unknown fields, so that no other chunk can be decoded to it.
    """

    changing: ClassVar[Mapping[str, Any]]
    """Keys of values, other than texts, that may differ between the chunks of a run -> `str`, `int`
    or `msgspec.Raw` for any other type."""
    latest_key: ClassVar[str]
    """The key among them of the value that `split` returns, if any."""

    def split(self) -> tuple[tuple[str, ...], RawValue]:
        """Take out the texts, and a value whose last occurrence counts, such as usage.

        Chunks that are equal after `split` may be joined.
        """
        ...

    def joined(self, columns: Sequence[list[str]], latest: RawValue, /) -> bytes:
        """Encode this chunk, after `split`, with the texts of a run and its last value.

        `columns` has, for each text that `split` returns, those of all chunks of the run.
        """
        ...

    def text_key(self, position: int, /) -> str:
        """Return the key of a text; `position` is its position in the result of `split`."""
        ...


class ChunkBytes:
    """The bytes of all chunks so far."""

    __slots__ = (
        "_columns",
        "_decoder",
        "_is_single",
        "_kept",
        "_kind",
        "_largest",
        "_pattern",
        "_patterns_left",
        "_run",
        "_unchecked",
        "count",
        "latest",
        "repeating",
    )

    def __init__(
        self,
        text_chunk: type[TextChunk] | None,
        limits: Limits = Limits(),  # noqa: B008  it is immutable
    ) -> None:
        self.count: int = 0
        """The number of chunks that were added."""
        self.repeating: bool = False
        """Whether `repeats` may be called. Any event that did not pass through `repeats` makes it
        false, because that event may have changed the meaning of the next chunk."""
        self.latest: RawValue = msgspec.UNSET
        """The last value, other than texts, in the chunks of the run."""
        self._kind = text_chunk
        self._decoder = None if text_chunk is None else decoder(text_chunk)
        self._kept: list[msgspec.Raw] = []
        self._run: TextChunk | None = None  # the last item of `_kept`, if text may be joined to it
        self._is_single = True  # nothing was joined to it
        self._columns: list[list[str]] = []  # the texts of the run, a list for each key
        self._pattern: _Pattern | None = None  # of the run
        self._patterns_left = _MAX_PATTERNS
        self._largest = min(limits.event, limits.line)
        self._unchecked = 2 * unchecked_json(limits)  # well-formed: each bracket has another

    def add(self, data: msgspec.Raw) -> None:
        """Keep the bytes of one chunk."""
        self.count += 1
        self.repeating = False
        run: TextChunk | None = None
        texts: tuple[str, ...] = ()
        latest: RawValue = msgspec.UNSET
        if self._decoder is not None:
            try:
                chunk: TextChunk = self._decoder.decode(data)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                pass  # it holds more than text
            else:
                texts, latest = chunk.split()
                if chunk == self._run:
                    self._is_single = False
                    for column, text in zip(self._columns, texts, strict=True):
                        column.append(text)
                    if latest is not msgspec.UNSET:
                        self.latest = latest
                    self.repeating = self._has_pattern(bytes(data), texts)
                    return
                run = chunk
        self._kept[-1:] = self._last()
        self._kept.append(data)
        self._run, self._columns, self.latest = run, [[text] for text in texts], latest
        self._is_single = True
        self._pattern, self._patterns_left = None, _MAX_PATTERNS

    def divide(self) -> None:
        """Keep a border between the chunks of two requests; it is no chunk."""
        self.add(msgspec.Raw(BORDER))
        self.count -= 1

    def repeats(self, lines: Sequence[bytes], line_end: bytes, most: int) -> Repeats:
        """Add the first chunks that repeat the last one with another text, but no more than `most`.

        A line begins with `data: `, and ends with `line_end`.
        """
        assert self._pattern is not None
        lines = lines[:most] if len(lines) > most else lines
        found = self._pattern.read(lines, line_end, self._largest, self._unchecked)
        _, texts, latest = found
        if texts:
            self.count += len(texts)
            self._is_single = False
            self._columns[self._pattern.column] += texts
            if latest:
                self.latest = msgspec.Raw(latest)
        return found

    def all(self) -> list[msgspec.Raw]:
        """Return the bytes to fold."""
        return [*self._kept[:-1], *self._last()]

    def _last(self) -> list[msgspec.Raw]:
        """Return the last item, with the texts that were joined to it."""
        if self._run is None or self._is_single:
            return self._kept[-1:]  # a single chunk keeps its bytes
        return [msgspec.Raw(self._run.joined(self._columns, self.latest))]

    def _has_pattern(self, data: bytes, texts: Sequence[str]) -> bool:
        """Return whether the last chunk fits a pattern; a missing pattern is made."""
        # An empty text leaves open which key the next text has, and what events it makes.
        if len([text for text in texts if text]) != 1:
            return False
        pattern = self._pattern
        if pattern is not None and self._fits(pattern, data):
            return True
        if not self._patterns_left:
            return False
        self._patterns_left -= 1
        assert self._kind is not None
        assert self._run is not None
        pattern = self._pattern = _pattern_of(data, self._kind, self._run, texts)
        if pattern is None or pattern.fixed > self._unchecked:
            self._pattern = None
            return False
        return self._fits(pattern, data)

    def _fits(self, pattern: _Pattern, data: bytes) -> bool:
        return bool(pattern.read([DATA + data], b"", self._largest, self._unchecked)[0])


class _Hole(msgspec.Struct, frozen=True):
    """A place in a chunk where the next chunk of the run may have another value."""

    type: Any
    """`str`, `int` or `msgspec.Raw`. The quotes of a text belong to the bytes around it."""
    is_text: bool
    is_latest: bool
    after: bytes
    """The bytes behind the value, up to the next hole or the end of the chunk."""


Repeats: TypeAlias = tuple[Sequence[bytes], list[str], bytes]
"""Chunks that repeat the one before them with another text: their lines, their texts, and the value
of `TextChunk.latest_key` in the last chunk that has one; empty if none has."""
_NO_REPEATS: Repeats = ((), [], b"")


class _Pattern:
    """The bytes of a text chunk, with holes in place of its text and of the values that change.

    A chunk with the same bytes around one valid value in each hole decodes to an equal struct with
    these values, so nothing of it but the values is decoded. That takes a tenth of the time. The
    values of many chunks are decoded at once: what is between two holes is replaced by a comma,
    which leaves a JSON list.

    >>> pattern = _Pattern(b'data: {"t":"', (_Hole(str, True, False, b'"}'),))
    >>> lines = [b'data: {"t":"a"}', b'data: {"t":"b"}', b'data: {"new":1}']
    >>> pattern.read(lines, b"", 99, 99)[1]
    ['a', 'b']
    """

    __slots__ = (
        "_begin",
        "_commas",
        "_decoder",
        "_end",
        "_head",
        "_latest",
        "_next",
        "_raw",
        "_tail",
        "_text",
        "column",
        "fixed",
    )

    def __init__(self, head: bytes, holes: tuple[_Hole, ...], column: int = 0) -> None:
        self.column = column
        """The position of the text in the result of `TextChunk.split`."""
        self._head, self._tail = head, holes[-1].after
        self.fixed = len(head) + sum(len(hole.after) for hole in holes)
        """The number of bytes around the holes."""
        types = tuple([hole.type for hole in holes])
        self._begin, self._next, self._end, self._decoder = _list_of(types)
        # A line end cannot be in a text. So a text that lacks its end does not decode.
        self._commas = [
            (hole.after, _quote(hole.type) + b",\n" + _quote(behind.type))
            for hole, behind in itertools.pairwise(holes)
        ]
        self._text = 0
        self._latest: int | None = None
        for index, hole in enumerate(holes):
            if hole.is_text:
                self._text = index
            elif hole.is_latest:
                self._latest = index
        self._raw = types.index(msgspec.Raw) if msgspec.Raw in types else None

    def read(
        self, lines: Sequence[bytes], line_end: bytes, largest: int, unchecked: int
    ) -> Repeats:
        """Read the first lines, up to one that has another chunk. Each ends with `line_end`.

        No line is larger than `largest`, and its bytes without the text are at most `unchecked`.
        """
        head, tail = self._head, self._tail + line_end
        begin, end = len(head), -len(tail)
        if len(lines) == 1:  # as most networks deliver them
            values = lines[0]
            shortest = longest = len(values)
            if not (values.startswith(head) and values.endswith(tail)):
                return _NO_REPEATS
            values = values[begin:end]
        else:
            for fits, literal in ((bytes.startswith, head), (bytes.endswith, tail)):
                if not all(map(fits, lines, itertools.repeat(literal))):
                    lines = lines[: list(map(fits, lines, itertools.repeat(literal))).index(False)]
            if not lines:
                return _NO_REPEATS
            sizes = sorted(map(len, lines))
            shortest, longest = sizes[0], sizes[-1]
            values = self._next.join([line[begin:end] for line in lines])
        if shortest < begin - end or longest > largest:
            return _NO_REPEATS
        for literal, comma in self._commas:
            values = values.replace(literal, comma)
        if b"\r" in values:  # it ends a line
            return _NO_REPEATS
        try:
            rows = self._decoder.decode(self._begin + values + self._end)
        except (ValueError, RecursionError):
            return _NO_REPEATS
        if len(rows) != len(lines):
            return _NO_REPEATS
        if not self._commas:
            return lines, rows, b""
        columns = tuple(zip(*rows, strict=True))
        latest = b""
        if self._raw is not None:
            raw = columns[self._raw]
            # With brackets of its own, a value could reach into the next chunk.
            if b"\n" in b"".join(raw):
                return _NO_REPEATS
            if longest > unchecked and self.fixed + max(map(_size, raw)) > unchecked:
                return _NO_REPEATS
        if self._latest is not None:
            for value in reversed(columns[self._latest]):
                latest = b"%d" % value if type(value) is int else bytes(value)
                if latest not in _EMPTY:
                    break
            else:
                latest = b""
        return lines, list(columns[self._text]), latest


_EMPTY = (b"{}", b"null")
"""Values that do not replace an earlier one."""


@functools.cache  # of the few types that wires have
def _list_of(types: tuple[Any, ...]) -> tuple[bytes, bytes, bytes, Any]:
    """Return the bytes before, between and behind the values of a list of chunks, and its decoder.

    The list is JSON. A chunk with several values is a list in that list.
    """
    begin, end = _quote(types[0]), _quote(types[-1])
    row: Any = str
    if len(types) > 1:
        begin, end, row = b"[" + begin, end + b"]", tuple[types]  # type: ignore[valid-type]
    return b"[" + begin, end + b",\n" + begin, end + b"]", decoder(list[row])


def _quote(kind: Any) -> bytes:
    return b'"' if kind is str else b""


def _size(value: msgspec.Raw) -> int:
    return memoryview(value).nbytes


_MARKS: dict[Any, bytes] = {str: b"?", int: b"7", msgspec.Raw: b'{"?":7}'}
"""A value of each type that may stand in a hole, to try a pattern out."""


def _pattern_of(
    data: bytes, kind: type[TextChunk], run: TextChunk, texts: Sequence[str]
) -> _Pattern | None:
    """Build the pattern of a chunk of `run`; `None` if it cannot be determined.

    The holes are searched by their keys, which may occur more than once. So the pattern is tried
    out: other values in the holes must decode to the same struct with these values.
    """
    column = next(index for index, text in enumerate(texts) if text)
    text_key = run.text_key(column)
    types = {text_key: str, **kind.changing}
    # In Latin-1 each byte is one character, so that the positions are those of the bytes.
    characters = data.decode("latin-1")
    spans: list[tuple[int, int, str]] = []
    for key in types:
        found = _key(key).search(characters)
        if found is not None:
            quote = types[key] is str
            end = _end_of_value(characters, found.end())
            spans.append((found.end() + quote, end - quote, key))
    spans.sort()
    ends, begins = [0, *(end for _, end, _ in spans)], [*(begin for begin, _, _ in spans)]
    literals = [data[end:begin] for end, begin in zip(ends, [*begins, len(data)], strict=True)]
    trial, latest, holes = literals[0], b"", []
    for (_, _, key), after in zip(spans, literals[1:], strict=True):
        mark, is_latest = _MARKS[types[key]], key == kind.latest_key
        trial += mark + after
        latest = mark if is_latest else latest
        holes.append(_Hole(types[key], key == text_key, is_latest, after))
    try:
        chunk: TextChunk = decoder(kind).decode(trial)
    except (ValueError, RecursionError):
        return None
    found_texts, found_latest = chunk.split()
    expected = tuple("?" if index == column else "" for index in range(len(texts)))
    is_right = (
        chunk == run
        and found_texts == expected
        and (b"" if found_latest is msgspec.UNSET else bytes(found_latest)) == latest
        and ends == sorted(ends)
    )
    return _Pattern(DATA + literals[0], tuple(holes), column) if is_right else None


@functools.cache  # of the few keys that wires have
def _key(name: str) -> re.Pattern[str]:
    return re.compile(rf'"{re.escape(name)}"\s*:\s*')


_VALUES = json.JSONDecoder()


def _end_of_value(text: str, start: int) -> int:
    """Return the end of the JSON value that begins at `start`; `start` if it is malformed."""
    try:
        end: int = _VALUES.raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return start
    return end


def folded_hops(sources: Sequence[bytes], fold: Callable[[list[msgspec.Raw]], A]) -> A:
    """Fold the chunks of each request between borders.

    The last response gets those before it as metadata, under `EARLIER`.
    """
    hops: list[list[msgspec.Raw]] = [[]]
    for source in sources:
        if source == BORDER:
            hops.append([])
        else:
            hops[-1].append(msgspec.Raw(source))
    # A request whose call failed has no chunks; one that has just begun has none yet.
    *earlier, last = [fold(chunks) for chunks in hops if chunks]
    vars(last)[EARLIER] = earlier
    return last
