"""Reads the bodies of chat completions, and decides when a response is complete (Q1 to Q4, Q15).

- An `error` ends the reading wherever it is. Damaged JSON does too, except from a host that is
  known to send it; a call is never made from what is left (Q3).
- A response is complete when a finish reason or `[DONE]` was read. A finish reason that names a
  failure of the server does not count.
"""

from __future__ import annotations

from typing import Any, ClassVar

from wire.core.arguments import checked_arguments
from wire.core.error_words import ErrorReader
from wire.core.errors import StreamError, StreamIncomplete, StreamInvalid
from wire.core.lenient import decoded
from wire.core.limits import Limits
from wire.core.memory import WHOLE
from wire.core.reading import FramedReader, parse_whole, shown
from wire.openai.chat.finish import finish_of, meaning_of
from wire.openai.chat.fold import fold, keep_bytes
from wire.openai.chat.types import ChatCompletion, ChatCompletionChunk, Choice
from wire.openai.common.dialect import PLAIN, Dialect
from wire.openai.common.error_body import ERRORS

_CALL_KEYS = (b"tool_calls", b"function_call")


@checked_arguments()
def parse_completion(body: bytes) -> ChatCompletion:
    """Decode a complete response, also one that was sent as events.

    Raises the provider's error if the body contains one, `StreamIncomplete` if the server reports
    that it failed midway, `StreamInvalid` if the body is not a response of this wire.
    """
    return parse_whole(
        body,
        lambda data: decoded(data, ChatCompletion),
        _is_response,
        keep_bytes,
        ChunkReader,
        fold,
    )


def _is_response(response: ChatCompletion, data: bytes) -> bool:
    return (
        response.choices is not None
        and all(map(_is_sound, response.choices))
        and ERRORS.in_success(data) is None
    )


def _is_sound(choice: Choice) -> bool:
    """Return whether a choice is complete, not of a chunk, and reports no failed server."""
    return _in_one_piece(choice) and meaning_of(finish_of(choice)).reason != "error"


def _in_one_piece(choice: Choice) -> bool:
    return choice.message is not None or choice.delta is None


class ChunkReader(FramedReader[ChatCompletionChunk]):
    """Decodes the body of one stream into chunks."""

    __slots__ = ("_calls", "_dialect", "_finishes", "_unfinished", "_whole")

    finished: bool

    errors: ClassVar[ErrorReader[Any]] = ERRORS
    value_name = "a response of chat completions"
    ending = "a finish reason and without [DONE]"
    answer_name = "choices"
    chunk_type = ChatCompletionChunk

    def __init__(
        self,
        limits: Limits = Limits(),  # noqa: B008  it is immutable
        *,
        dialect: Dialect = PLAIN,
    ) -> None:
        super().__init__(limits)
        self._dialect = dialect
        self._finishes: dict[int, str | None] = {}  # index of a choice -> its finish reason
        self._unfinished = 0  # choices without one
        self._whole = False  # a document with the complete response was read
        self._calls = False  # a tool call has begun

    def may_drop(self, data: bytes) -> bool:
        """Return whether the host sends damaged chunks, unless a call would lose its name or
        arguments.
        """
        return (
            self._dialect.sends_damaged_chunks
            and not self._calls
            and not any(key in data for key in _CALL_KEYS)
        )

    def read(self, data: bytes, name: str) -> None:
        """Emit a chunk, and raise the error that it contains."""
        chunk = decoded(data, ChatCompletionChunk)
        # A document without choices is an error (Q1), but not the usage at the end of a list of
        # chunks.
        certain = name == "error" or (
            chunk.choices is None and self.as_json and not (self.count and chunk.usage is not None)
        )
        error = ERRORS.in_success(data, certain=certain)
        if error is None and certain:
            if name != "error":
                raise StreamInvalid(f"not {self.value_name} (no choices): {shown(data)}", raw=data)
            error = ERRORS.without_words(data)
        if error is None or chunk.choices or chunk.usage is not None:
            if self.as_json and not self.count:
                vars(chunk)[WHOLE] = True
            self.emit(chunk)
        if error is not None:
            raise error

    def follow(self, chunk: ChatCompletionChunk) -> None:
        """Record the finish reason of each choice; an empty one does not replace another."""
        for choice in chunk.choices or ():
            index, delta = choice.index or 0, choice.delta
            finish = finish_of(choice)
            if index not in self._finishes:
                self.answers = True
                self._unfinished += not finish
                self._finishes[index] = finish
            elif finish:
                self._unfinished -= not self._finishes[index]
                self._finishes[index] = finish
            if delta is not None and (delta.tool_calls or delta.function_call is not None):
                self._calls = True
        if self.as_json and chunk.choices is not None:
            self._whole = self._whole or all(map(_in_one_piece, chunk.choices))
        self.finished = bool(self._finishes) and not self._unfinished

    def is_whole(self) -> bool:
        """Return whether each choice has a finish reason, or `[DONE]` or one complete document was
        read.
        """
        return self._failure() is None and (self.done or self._whole or self.finished)

    def incomplete(self) -> StreamError:
        """Return the failure that a finish reason names, if there is one."""
        failure = self._failure()
        if failure is None:
            return super().incomplete()
        return StreamIncomplete(f"the server ended the response with {failure!r}", code=failure)

    def _failure(self) -> str | None:
        finishes = self._finishes.values()
        return next((finish for finish in finishes if meaning_of(finish).reason == "error"), None)
