"""What one value of a body means in Gemini's API, and when a response is whole.

- A relay may wrap a chunk in `result` or end with `[DONE]`. An `error` object is an error wherever
  it stands (R-03, S2-24, S2-25).
- A response is whole when a chunk carried a finish or block reason and the body ended; otherwise it
  is `StreamIncomplete` (R-01). What began after the finish and was cut says that more was to come.
"""

from __future__ import annotations

from typing import TypeVar

from wire.core import reading
from wire.core.lenient import decoded, fields_of
from wire.core.memory import WireStruct
from wire.core.reading import FramedReader, has_fields, parse_whole, shown
from wire.core.sse import EVENT_LIMIT
from wire.errors import StreamError, StreamInvalid
from wire.gemini.error_body import ERRORS
from wire.gemini.fold import fold, whole
from wire.gemini.types import GenerateContentResponse

S = TypeVar("S", bound=WireStruct)

_VALUE = "an answer of Gemini"

# --- whole bodies ---------------------------------------------------------------------------------


def _is_empty(response: GenerateContentResponse) -> bool:
    return (
        response.candidates is None
        and response.prompt_feedback is None
        and response.usage_metadata is None
    )


def _unwrapped(data: bytes) -> GenerateContentResponse:
    """One JSON object as a response, taken out of the `result` of a relay."""
    response = decoded(data, GenerateContentResponse)
    if _is_empty(response):
        result = bytes(fields_of(data).get("result", b""))
        if result[:1] == b"{":
            return decoded(result, GenerateContentResponse)
    return response


def read_chunk(data: bytes) -> GenerateContentResponse:
    """One JSON object as a chunk.

    Raises the typed error that it is, or `StreamInvalid` if it is no object.
    """
    reader = ChunkReader()
    chunks = reader.feed(data)
    if reader.error is not None:
        raise reader.error
    if len(chunks) != 1:
        raise StreamInvalid(f"not {_VALUE}: {shown(data)}", raw=data)
    return chunks[0]


def parse_answer(body: bytes) -> GenerateContentResponse:
    """A whole response. A body that came as events, as an array of chunks or wrapped is read all
    the same.

    Raises the provider's error if the body is one, `StreamInvalid` if it is nothing of the wire.
    """
    return parse_whole(body, _unwrapped, _is_response, whole, ChunkReader(), fold)


def _is_response(response: GenerateContentResponse, data: bytes) -> bool:
    return not _is_empty(response) and ERRORS.in_success(data) is None


def parse_plain(kind: type[S], body: bytes) -> S:
    """A whole body that is one struct.

    Raises the provider's error if the body is one, `StreamInvalid` if it is nothing of the wire.
    """
    # A file or a job that failed has a field `error`, and others beside it: a good response.
    if "error" not in kind.__struct_fields__ and (error := ERRORS.in_success(body)) is not None:
        raise error
    return reading.parse_plain(
        kind,
        body,
        ERRORS,
        lambda response: has_fields(response, besides="error"),
        may_be_empty=True,
    )


# --- streams --------------------------------------------------------------------------------------


class ChunkReader(FramedReader[GenerateContentResponse]):
    """Bytes of one streamed body in, chunks out."""

    errors = ERRORS
    value_name = _VALUE
    ending = "a finish reason"
    own_keys = frozenset({"candidates", "promptFeedback", "usageMetadata"})

    def __init__(self, limit: int = EVENT_LIMIT) -> None:
        super().__init__(limit)
        self._open: dict[int, bool] = {}  # index of a candidate -> it has not finished
        self._blocked = False
        self._empty = b""  # the first chunk, as long as none has anything of the wire

    def read(self, data: bytes, name: str) -> None:
        """Emit a chunk."""
        chunk = _unwrapped(data)
        certain = name == "error"
        error = ERRORS.in_success(data, certain=certain)
        if error is not None or certain:
            raise error or ERRORS.without_words(data)
        self.emit(chunk)

    def follow(self, chunk: GenerateContentResponse) -> None:
        """The finish of each candidate, and a block of the prompt."""
        if not _is_empty(chunk):
            self._empty = b""
        elif self.count == 1:
            self._empty = chunk.raw or b""
        finished = False
        for candidate in chunk.candidates or ():
            index, ends = candidate.index or 0, candidate.finish_reason is not None
            finished = finished or ends
            self._open[index] = not ends and self._open.get(index, True)
        if chunk.prompt_feedback is not None and chunk.prompt_feedback.block_reason is not None:
            finished = self._blocked = True
        self.finished = finished

    def is_whole(self) -> bool:
        """A finish of each candidate, or a block of the prompt, and nothing that was cut."""
        return not self.rest and (
            self._blocked or (bool(self._open) and not any(self._open.values()))
        )

    def incomplete(self) -> StreamError:
        """`StreamInvalid` where the first chunk has nothing of the wire and no other has."""
        if not self._empty:
            return super().incomplete()
        return StreamInvalid(
            f"not {_VALUE} (no candidates, no prompt feedback, no usage): {shown(self._empty)}",
            raw=self._empty,
        )
