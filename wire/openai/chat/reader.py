"""Bytes of a body in, chunks out: how chat completions are framed, and when they are whole (Q1 to
Q4, Q15).

- What the body is, its first letter says, not its content type: one JSON document, or events.
- What is no event and no JSON is dropped and told as a note; it never ends the reading. An `error`
  does, wherever it stands.
- It is whole when a finish or `[DONE]` was read. A finish that names a failure of the server is
  none.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from wire.core.decoders import decoder
from wire.core.framing import Framing
from wire.core.jsonstream import Cutter
from wire.core.lenient import Unreadable, decoded, plain
from wire.core.memory import PARTIAL, Note, WireStruct, with_notes
from wire.core.sse import EVENT_LIMIT, Decoder, Event
from wire.errors import StreamError, StreamIncomplete, StreamInvalid, WireError, one_line
from wire.openai.chat.finish import finish_of, reason_of
from wire.openai.chat.fold import fold, whole
from wire.openai.chat.types import ChatCompletion, ChatCompletionChunk, Choice, ErrorObject
from wire.openai.common.error_body import error_in, parse_error, typed

W = TypeVar("W", bound=WireStruct)


def error_of(
    chunk: ChatCompletionChunk | ChatCompletion, data: bytes, *, certain: bool
) -> WireError | None:
    """The error that a chunk or an answer is or holds (Q14).

    `certain`: it is one, whatever it says.
    """
    base = chunk.base_resp
    # An error may be of a type that the struct has no place for, or stand in a choice: the bytes
    # are asked.
    if not (certain or b'"error"' in data or (base is not None and base.status_code)):
        return None
    found = error_in(plain(data), certain=certain)
    if found is None and certain:
        found = ErrorObject(message=data.decode("utf-8", "replace"))
    return None if found is None else typed(found, 200, data)


def parse_completion(body: bytes) -> ChatCompletion:
    """A whole answer. A body that came as events is read all the same.

    Raises the provider's error if the body is one, `StreamIncomplete` if the server says that it
    failed on the way, `StreamInvalid` if it is nothing of the wire.
    """
    if body.lstrip()[:1] == b"{":
        try:
            answer = decoded(body, ChatCompletion)
        except Unreadable:
            pass  # unless it is several objects, one after another
        else:
            sound = answer.choices is not None and all(map(_is_sound, answer.choices))
            if sound and error_of(answer, body, certain=False) is None:
                return whole(answer, body)
    reader = ChunkReader()
    chunks = [*reader.feed(body), *reader.close()]
    if reader.error is not None:
        if chunks:
            reader.error.partial = with_notes(fold(chunks), [*reader.notes, PARTIAL])
        raise reader.error
    return with_notes(fold(chunks), reader.notes)


def _is_sound(choice: Choice) -> bool:
    """A choice of a whole answer, and not one of a chunk, nor one that says the server failed."""
    return _in_one_piece(choice) and reason_of(finish_of(choice)) != "error"


def _in_one_piece(choice: Choice) -> bool:
    return choice.message is not None or choice.delta is None


def parse_plain(kind: type[W], body: bytes) -> W:
    """A whole answer that is one struct.

    Raises the provider's error if the body is one, `StreamInvalid` if it is nothing of the wire.
    """
    bare = body.strip()
    try:
        # Together and others give a list of models without the object around it.
        answer = decoded(
            b'{"data":' + bare + b"}"
            if bare[:1] == b"[" and "data" in kind.__struct_fields__
            else body,
            kind,
        )
    except Unreadable as cause:
        found = error_in(plain(body), certain=False)
        if found is not None:
            raise typed(found, 200, body) from None
        raise StreamInvalid(f"not a {kind.__name__} ({cause}): {_shown(body)}", raw=body) from None
    found = error_in(plain(body), certain=True) if _looks_wrong(answer) else None
    if found is not None:
        raise typed(found, 200, body)
    return answer


def _looks_wrong(answer: WireStruct) -> bool:
    """Nothing of what it has to have is there."""
    return getattr(answer, "data", None) is None and getattr(answer, "id", None) is None


class ChunkReader:
    """Bytes of one streamed body in, chunks out; `wire.core.call.Reader` says what its
    fields mean.
    """

    def __init__(self, limit: int = EVENT_LIMIT) -> None:
        self.error: WireError | None = None
        self.done = False
        self.finished = False
        self.notes: list[Note] = []
        self._events = Decoder(limit)
        self._cutter = Cutter(limit)
        self._framing = Framing()
        self._seen = 0
        self._chunks = 0
        self._finishes: dict[int, str | None] = {}  # index of a choice -> its finish
        self._whole = False  # a document came that has all of the answer

    def feed(self, data: bytes) -> list[ChatCompletionChunk]:
        """Chunks that `data` completes."""
        chunks: list[ChatCompletionChunk] = []
        if self.error is not None or self.done:
            return chunks
        data = self._framing.feed(data)
        try:
            if self._framing.as_json:
                for value in self._cutter.feed(data):
                    self._read(value, False, chunks)
            elif data:
                for event in self._events.feed(data):
                    self._take(event, chunks)
        except WireError as error:
            self.error = error
        return chunks

    def close(self) -> list[ChatCompletionChunk]:
        """The chunk that the end of the body completes, if one; `error` says if the answer is not
        whole.
        """
        chunks: list[ChatCompletionChunk] = []
        try:
            if self.error is None and self._framing.as_json:
                self._cutter.check()
            elif self.error is None:
                for event in self._events.close():
                    self._take(event, chunks)
            self.error = self.error or self._incomplete()
        except WireError as error:
            self.error = error
        return chunks

    def _take(self, event: Event, chunks: list[ChatCompletionChunk]) -> None:
        if event.outside:
            self._outside(event.data, chunks)
        elif not event.blank:
            self._seen += 1
            self._read(event.data, event.event == "error", chunks)

    def _read(
        self, data: bytes, failed: bool, chunks: list[ChatCompletionChunk], listed: bool = False
    ) -> None:
        """Add the chunk that data is, or the chunks that are glued together in it (Q3). Raises the
        error that it is.

        `failed`: it is an error for sure. A list is opened, but no list inside a list; of an error
        that is mere words the lines belong together.
        """
        data = data.strip()
        if data == b"[DONE]":
            self.done = True
        if self.done or not data or data[:1] == b":":
            return
        try:
            chunk = decoded(data, ChatCompletionChunk)
        except Unreadable as cause:
            items = [] if listed else _listed(data)
            if items or (b"\n" in data and not failed and not self._framing.as_json):
                for piece in items or data.split(b"\n"):
                    self._read(piece, failed, chunks, listed or bool(items))
            elif failed:
                raise parse_error(500, {}, data) from None
            elif self._framing.as_json:
                raise StreamInvalid(
                    f"not an answer of chat completions ({cause}): {_shown(data)}", raw=data
                ) from None
            else:
                self._drop("bad_chunk", data)
            return
        # A document without choices is an error (Q1), but not the usage at the end of a list of
        # chunks.
        beside = (
            self._framing.as_json
            and chunk.choices is None
            and not (self._chunks and chunk.usage is not None)
        )
        error = error_of(chunk, data, certain=failed or beside)
        if error is None or chunk.choices or chunk.usage is not None:
            self._note(chunk)
            chunks.append(chunk)
        if error is not None:
            raise error

    def _outside(self, line: bytes, chunks: list[ChatCompletionChunk]) -> None:
        """A line that belongs to no event: an error in bare JSON is one (R-03), anything else is
        skipped (Q2).
        """
        if self._cutter.rest or line.lstrip()[:1] in (b"{", b"["):
            for value in self._cutter.feed(line + b"\n"):
                if error_in(plain(value), certain=False) is not None:
                    self._read(value, True, chunks)
                else:
                    self._drop("outside", value)
        else:
            self._drop("outside", line)

    def _drop(self, code: str, data: bytes) -> None:
        """Tell what was not read; of many pieces the first ones are enough."""
        if len(self.notes) < _MOST_NOTES:
            self.notes.append(
                Note(
                    f"event {self._seen}",
                    f"{code}: dropped, it is nothing of the wire: {_shown(data)}",
                )
            )

    def _note(self, chunk: ChatCompletionChunk) -> None:
        self._chunks += 1
        for choice in chunk.choices or ():
            index = choice.index or 0
            self._finishes[index] = finish_of(choice) or self._finishes.get(index)
        if self._framing.as_json and chunk.choices is not None:
            self._whole = self._whole or all(map(_in_one_piece, chunk.choices))
        self.finished = bool(self._finishes) and all(self._finishes.values())

    def _incomplete(self) -> StreamError | None:
        failure = next(
            (finish for finish in self._finishes.values() if reason_of(finish) == "error"), None
        )
        if failure is not None:
            return StreamIncomplete(f"the server ended the answer with {failure!r}", code=failure)
        if self._framing.as_json and self._cutter.rest:
            rest = bytes(self._cutter.rest)
            return StreamIncomplete(
                f"the answer ended in the middle of its JSON: {_shown(rest)}",
                retryable=not self._chunks,
                raw=rest,
            )
        if self.done or self._whole or self.finished:
            return None
        told = f"; dropped: {self.notes[0]}" if self.notes else ""
        if not self._chunks:
            return StreamIncomplete(
                f"the answer ended before its first event{told}", retryable=True
            )
        return StreamIncomplete(
            "the stream ended without a finish reason and without [DONE] after "
            f"{self._chunks} events{told}"
        )


_MOST_NOTES = 100


def _shown(data: bytes) -> str:
    return one_line(data[:200].decode("utf-8", "replace"))


def _listed(data: bytes) -> list[bytes]:
    """The items of an event that is a list, of one error mostly."""
    try:
        return [bytes(item) for item in decoder(list[msgspec.Raw]).decode(data)]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []
