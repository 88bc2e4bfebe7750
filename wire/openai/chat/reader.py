"""What one value of a body means in chat completions, and when a response is whole (Q1 to Q4, Q15).

- A piece that is no JSON is dropped and reported; it never ends the reading. An `error` does,
  wherever it stands.
- A response is whole when a finish or `[DONE]` was read. A finish that names a failure of the
  server is none.
"""

from __future__ import annotations

from wire.core.lenient import decoded
from wire.core.reading import FramedReader, parse_whole
from wire.core.sse import EVENT_LIMIT
from wire.errors import StreamError, StreamIncomplete
from wire.openai.chat.finish import finish_of, reason_of
from wire.openai.chat.fold import fold, whole
from wire.openai.chat.types import ChatCompletion, ChatCompletionChunk, Choice
from wire.openai.common.error_body import ERRORS


def parse_completion(body: bytes) -> ChatCompletion:
    """A whole response. A body that came as events is read all the same.

    Raises the provider's error if the body is one, `StreamIncomplete` if the server says that it
    failed on the way, `StreamInvalid` if it is nothing of the wire.
    """
    return parse_whole(
        body, lambda data: decoded(data, ChatCompletion), _is_response, whole, ChunkReader(), fold
    )


def _is_response(response: ChatCompletion, data: bytes) -> bool:
    return (
        response.choices is not None
        and all(map(_is_sound, response.choices))
        and ERRORS.in_success(data) is None
    )


def _is_sound(choice: Choice) -> bool:
    """A choice of a whole response, not of a chunk, nor one that says the server failed."""
    return _in_one_piece(choice) and reason_of(finish_of(choice)) != "error"


def _in_one_piece(choice: Choice) -> bool:
    return choice.message is not None or choice.delta is None


class ChunkReader(FramedReader[ChatCompletionChunk]):
    """Bytes of one streamed body in, chunks out."""

    errors = ERRORS
    value_name = "an answer of chat completions"
    ending = "a finish reason and without [DONE]"
    drops_unreadable = True

    def __init__(self, limit: int = EVENT_LIMIT) -> None:
        super().__init__(limit)
        self._finishes: dict[int, str | None] = {}  # index of a choice -> its finish
        self._whole = False  # a document came that has all of the response

    def read(self, data: bytes, name: str) -> None:
        """Emit a chunk, and raise the error in it or beside it."""
        chunk = decoded(data, ChatCompletionChunk)
        # A document without choices is an error (Q1), but not the usage at the end of a list of
        # chunks.
        certain = name == "error" or (
            chunk.choices is None and self.as_json and not (self.count and chunk.usage is not None)
        )
        error = ERRORS.in_success(data, certain=certain)
        if error is None and certain:
            error = ERRORS.without_words(data)
        if error is None or chunk.choices or chunk.usage is not None:
            self.emit(chunk)
        if error is not None:
            raise error

    def follow(self, chunk: ChatCompletionChunk) -> None:
        """The finish of each choice; an empty one takes none away."""
        for choice in chunk.choices or ():
            index = choice.index or 0
            self._finishes[index] = finish_of(choice) or self._finishes.get(index)
        if self.as_json and chunk.choices is not None:
            self._whole = self._whole or all(map(_in_one_piece, chunk.choices))
        self.finished = bool(self._finishes) and all(self._finishes.values())

    def is_whole(self) -> bool:
        """A finish of each choice, `[DONE]`, or one document."""
        return self._failure() is None and (self.done or self._whole or self.finished)

    def incomplete(self) -> StreamError:
        """The failure that the server named, if it named one."""
        failure = self._failure()
        if failure is None:
            return super().incomplete()
        return StreamIncomplete(f"the server ended the answer with {failure!r}", code=failure)

    def _failure(self) -> str | None:
        finishes = self._finishes.values()
        return next((finish for finish in finishes if reason_of(finish) == "error"), None)
