"""Reads the bodies of Ollama, and decides when an answer is complete.

- A stream is one JSON object a line. The last one has `done: true`, with the reason and the counts;
  a download ends with the status `success`.
- A runner that was stopped ends its answer with `done: true` and no reason: it is not complete.
- A line with `error` ends the reading at any position.
"""

from __future__ import annotations

import functools
from typing import Any, ClassVar, TypeVar

from wire.core import reading
from wire.core.error_words import ErrorReader
from wire.core.errors import StreamInvalid
from wire.core.lenient import decoded
from wire.core.limits import Limits
from wire.core.memory import WireStruct
from wire.core.reading import FramedReader, has_fields, parse_whole, shown
from wire.ollama.error_body import ERRORS
from wire.ollama.fold import fold, fold_generated, fold_progress, keep_bytes
from wire.ollama.types import ChatResponse, GenerateResponse, Progress

W = TypeVar("W", bound=WireStruct)
C = TypeVar("C", bound=WireStruct)
Answer = TypeVar("Answer", ChatResponse, GenerateResponse)

# --- complete bodies ------------------------------------------------------------------------------


def parse_answer(body: bytes) -> ChatResponse:
    """Decode a complete answer, also one that was sent as lines.

    Raises the provider's error if the body contains one, `StreamIncomplete` if the answer is
    truncated, `StreamInvalid` if the body is not an answer of this wire.
    """
    return parse_whole(
        body,
        functools.partial(decoded, kind=ChatResponse),
        lambda answer, _: answer.message is not None and _has_ended(answer),
        keep_bytes,
        ChunkReader,
        fold,
    )


def parse_generated(body: bytes) -> GenerateResponse:
    """Decode a complete continuation, also one that was sent as lines. Raises as `parse_answer`."""
    return parse_whole(
        body,
        functools.partial(decoded, kind=GenerateResponse),
        lambda answer, _: _has_ended(answer),
        lambda answer, _: answer,
        GeneratedReader,
        fold_generated,
    )


def parse_progress(body: bytes) -> Progress:
    """Decode the end of a download, also one that was sent as lines. Raises as `parse_answer`."""
    return parse_whole(
        body,
        functools.partial(decoded, kind=Progress),
        lambda line, _: line.status == "success",
        lambda line, _: line,
        ProgressReader,
        fold_progress,
    )


def parse_plain(kind: type[W], body: bytes, *, may_be_empty: bool = False) -> W:
    """Decode a complete body that is one struct, such as a list of models.

    Raises the provider's error if the body contains one, `StreamInvalid` if the body is not a
    struct of that kind.
    """
    if may_be_empty and not body.strip():
        body = b"{}"
    return reading.parse_plain(kind, body, ERRORS, has_fields, may_be_empty=may_be_empty)


def _has_ended(answer: ChatResponse | GenerateResponse) -> bool:
    return answer.done is True and bool(answer.done_reason)


# --- streams --------------------------------------------------------------------------------------


class _LineReader(FramedReader[C]):
    """Decodes the lines of one stream."""

    done: bool
    finished: bool
    __slots__ = ()

    errors: ClassVar[ErrorReader[Any]] = ERRORS
    ending = "done: true and its reason"

    def __init__(self, limits: Limits = Limits()) -> None:  # noqa: B008  it is immutable
        super().__init__(limits)

    def read(self, data: bytes, name: str) -> None:
        """Emit a line; raise the error that it contains."""
        line = decoded(data, self.chunk_type)
        error = ERRORS.in_success(data, certain=name == "error")
        if error is not None or name == "error":
            raise error or ERRORS.without_words(data)
        if not has_fields(line) and not self.count:
            raise StreamInvalid(f"not {self.value_name}: {shown(data)}", raw=data)
        self.emit(line)

    def is_whole(self) -> bool:
        """Return whether the last line was read."""
        return self.finished


class ChunkReader(_LineReader[ChatResponse]):
    """Decodes the lines of an answer."""

    __slots__ = ()

    value_name = "a line of /api/chat"
    answer_name = "message"
    chunk_type = ChatResponse

    def follow(self, chunk: ChatResponse) -> None:
        """Record what has arrived; `done` ends the reading."""
        self.answers = self.answers or chunk.message is not None
        self.done, self.finished = chunk.done is True, _has_ended(chunk)


class GeneratedReader(_LineReader[GenerateResponse]):
    """Decodes the lines of a continuation."""

    __slots__ = ()

    value_name = "a line of /api/generate"
    answer_name = "response"
    chunk_type = GenerateResponse

    def follow(self, chunk: GenerateResponse) -> None:
        """Record what has arrived; `done` ends the reading."""
        self.answers = True
        self.done, self.finished = chunk.done is True, _has_ended(chunk)


class ProgressReader(_LineReader[Progress]):
    """Decodes the lines of a download."""

    __slots__ = ()

    value_name = "a line of /api/pull"
    answer_name = "status"
    ending = "the status success"
    chunk_type = Progress

    def follow(self, chunk: Progress) -> None:
        """Record what has arrived; the status `success` ends the reading."""
        self.answers = True
        self.done = self.finished = chunk.status == "success"
