"""Bytes to chunks and whole answers: how Gemini frames them, and when they are whole.

What this file holds on to (facts of recorded traffic, docs/rules.md):

- A stream is events of CRLF-framed JSON, or one JSON array, or a bare error object after good
  events; a relay may wrap a chunk in `result` or end with `[DONE]`. An `error` object is an error
  wherever it stands (R-03, S2-24, S2-25).
- It is whole when a chunk carried a finish or block reason and the body ended; otherwise it is
  `StreamIncomplete` (R-01).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import TypeVar

import msgspec

from wire.core.decoders import convert, decoder
from wire.core.jsonstream import Cutter
from wire.core.memory import Note, WireStruct, remember
from wire.core.sse import EVENT_LIMIT, Decoder
from wire.errors import (
    LimitError,
    StreamError,
    StreamIncomplete,
    StreamInvalid,
    WireError,
    one_line,
)
from wire.gemini.error_body import error_in, status_of, typed
from wire.gemini.fold import HALVES, fold, whole
from wire.gemini.types import GenerateContentResponse

S = TypeVar("S", bound=WireStruct)

# --- decoding -------------------------------------------------------------------------------------


class _Wrapped(msgspec.Struct):
    """What a relay may put around a chunk."""

    result: msgspec.Raw = msgspec.Raw()


def _is_empty(answer: GenerateContentResponse) -> bool:
    return (
        answer.candidates is None
        and answer.prompt_feedback is None
        and answer.usage_metadata is None
    )


def read_chunk(data: bytes) -> GenerateContentResponse:
    """One JSON object as a chunk.

    Raises the typed error that it is, or `StreamInvalid` if it is nothing of the wire.
    """
    answer = _read(data)
    if answer.error is not None:
        raise typed(answer.error, 200, data)
    if _is_empty(answer):
        wrapped: _Wrapped = decoder(_Wrapped).decode(data)
        if bytes(wrapped.result)[:1] == b"{":
            return read_chunk(bytes(wrapped.result))
    return remember(answer, data)


def _read(data: bytes) -> GenerateContentResponse:
    try:
        answer: GenerateContentResponse = decoder(GenerateContentResponse).decode(data)
    except msgspec.ValidationError as cause:
        error = error_in(data)  # one that is not as it should be, such as a mere text
        raise (
            _undecodable(data, cause) if error is None else typed(status_of(error), 200, data)
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as cause:
        problem = cause
    except RecursionError:
        raise LimitError("JSON is nested too deeply", raw=data) from None
    else:
        return answer
    if not _SURROGATE.search(data):
        raise _undecodable(data, problem)
    try:
        answer = convert(json.loads(data), GenerateContentResponse)
    except (ValueError, RecursionError) as cause:
        raise _undecodable(data, cause) from None
    vars(answer)[HALVES] = True
    return answer


_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def _undecodable(data: bytes, cause: Exception, what: str = "an answer") -> StreamError:
    shown = one_line(data[:200].decode("utf-8", "replace"))
    return StreamInvalid(f"not {what} of Gemini ({cause}): {shown}", raw=data)


def parse_answer(body: bytes) -> GenerateContentResponse:
    """A whole answer. A body that came as events, as an array of chunks or wrapped is read all the
    same.

    Raises the provider's error if the body is one, `StreamInvalid` if it is nothing of the wire.
    """
    problem: StreamError | None = None
    if body.lstrip()[:1] == b"{":
        try:
            answer = read_chunk(body)
        except StreamError as error:
            problem = error  # unless it is several objects, one after another
        else:
            if not _is_empty(answer):
                return whole(answer, body)
            raise _undecodable(body, ValueError("no candidates, no prompt feedback, no usage"))
    reader = ChunkReader()
    chunks = [*reader.feed(body), *reader.close()]
    if (
        not chunks
        and isinstance(reader.error, StreamError)
        and not body.lstrip().startswith((b":", b"data:"))
        and body.strip()
    ):
        raise problem or _undecodable(
            body, ValueError("no candidates, no prompt feedback, no usage")
        )
    if reader.error is not None:
        raise reader.error
    return fold(chunks)


def parse_plain(kind: type[S], body: bytes) -> S:
    """A whole answer that is one struct.

    Raises the provider's error if the body is one, `StreamInvalid` if it is nothing of the wire.
    """
    error = error_in(body)
    if error is not None and not _is_own(kind, body):
        raise typed(status_of(error), 200, body)
    try:
        read: S = decoder(kind).decode(body)
        return remember(read, body)
    except (msgspec.DecodeError, UnicodeDecodeError) as cause:
        raise _undecodable(body, cause, f"a {kind.__name__}") from None
    except RecursionError:
        raise LimitError("JSON is nested too deeply", raw=body) from None


def _is_own(kind: type[WireStruct], body: bytes) -> bool:
    """A file or a job that failed has an error of its own, and a name beside it; the answer is no
    error.
    """
    return (
        "error" in kind.__struct_fields__
        and body.lstrip()[:1] == b"{"
        and len(decoder(dict[str, msgspec.Raw]).decode(body)) > 1
    )


# --- streams --------------------------------------------------------------------------------------


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
        self._begun = False  # it is clear how the body is framed
        self._as_json = False
        self._seen = 0
        self._open: dict[int, bool] = {}  # candidate index -> it has not finished
        self._blocked = False

    def feed(self, data: bytes) -> list[GenerateContentResponse]:
        """Chunks that `data` completes."""
        chunks: list[GenerateContentResponse] = []
        if self.error is not None or self.done:
            return chunks
        if not self._begun:
            # Blanks before the first letter mean nothing to JSON, and the event reader knows what
            # to do with them.
            bare = data.removeprefix(b"\xef\xbb\xbf")
            first = bare.lstrip()[:1]
            self._begun, self._as_json = bool(first), bool(first) and first in b"[{"
            data = bare if self._as_json else data
        try:
            for value in self._values(data):
                chunk = read_chunk(value)
                self._note(chunk)
                chunks.append(chunk)
        except WireError as error:
            self.error = error
        return chunks

    def close(self) -> list[GenerateContentResponse]:
        """The chunk that the end of the body completes, if one; `error` says if the answer is not
        whole.
        """
        chunks: list[GenerateContentResponse] = []
        if self.error is None and not self.done:
            try:
                for value in self._last_values():
                    chunk = read_chunk(value)
                    self._note(chunk)
                    chunks.append(chunk)
            except WireError as error:
                self.error = error
        if self.error is None and not self._whole():
            self.error = self._incomplete()
        return chunks

    def _values(self, data: bytes) -> Iterator[bytes]:
        if self._as_json:
            yield from self._cutter.feed(data)
            return
        for event in self._events.feed(data):
            if event.outside:
                yield from self._cutter.feed(event.data + b"\n")
            elif not event.blank:
                if event.data.strip() == b"[DONE]":
                    self.done = True
                    return
                yield from _unlisted(event.data)

    def _last_values(self) -> Iterator[bytes]:
        if self._as_json:
            self._cutter.check()
            return
        for event in self._events.close():
            if event.outside:
                yield from self._cutter.feed(event.data + b"\n")
            elif not event.blank and event.data.strip() != b"[DONE]":
                # An event that was cut in the middle of its JSON says nothing wrong, it says too
                # little.
                try:
                    decoder(msgspec.Raw).decode(event.data)
                except (msgspec.DecodeError, UnicodeDecodeError):
                    self._cutter.rest += event.data
                    return
                yield from _unlisted(event.data)

    def _note(self, chunk: GenerateContentResponse) -> None:
        self._seen += 1
        finished = False
        for candidate in chunk.candidates or ():
            ends = candidate.finish_reason is not None
            finished = finished or ends
            self._open[candidate.index or 0] = not ends and self._open.get(
                candidate.index or 0, True
            )
        if chunk.prompt_feedback is not None and chunk.prompt_feedback.block_reason is not None:
            finished = self._blocked = True
        self.finished = finished

    def _whole(self) -> bool:
        # What began after the finish and was cut says that more was to come.
        return not self._cutter.rest and (
            self._blocked or (bool(self._open) and not any(self._open.values()))
        )

    def _incomplete(self) -> StreamError:
        stray, rest = bytes(self._cutter.stray), bytes(self._cutter.rest)
        if stray:
            return _undecodable(stray, ValueError("bytes outside the framing"))
        where = (
            f", in the middle of {one_line(rest[:200].decode('utf-8', 'replace'))}" if rest else ""
        )
        if not self._seen:
            return StreamIncomplete(
                f"the answer ended before its first event{where}", retryable=True, raw=rest
            )
        return StreamIncomplete(
            f"the stream ended without a finish reason after {self._seen} events{where}", raw=rest
        )


def _unlisted(data: bytes) -> list[bytes]:
    """An event that holds a list (of one error, mostly) as its items."""
    if data.lstrip()[:1] != b"[":
        return [data]
    try:
        return [bytes(item) for item in decoder(list[msgspec.Raw]).decode(data)]
    except msgspec.DecodeError as cause:
        raise _undecodable(data, cause) from None
