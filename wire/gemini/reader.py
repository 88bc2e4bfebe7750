"""Reads the bodies of Gemini's API, and decides when a response is complete.

- A relay may wrap each chunk in `result` and end the stream with `[DONE]`. An `error` object is an
  error at any position of the body (R-03, S2-24, S2-25).
- A response is complete when each of its candidates has a finish reason, or the prompt a block
  reason, and the body has ended. Otherwise it is `StreamIncomplete` (R-01).
- A truncated object after the finish reason makes the response incomplete too, because the server
  was still sending.
"""

from __future__ import annotations

from typing import Any, ClassVar, TypeVar

from wire.core import reading
from wire.core.error_words import ErrorReader
from wire.core.errors import StreamError, StreamInvalid
from wire.core.lenient import decoded, fields_of
from wire.core.limits import Limits
from wire.core.memory import WireStruct
from wire.core.reading import FramedReader, has_fields, parse_whole, shown
from wire.gemini.error_body import ERRORS
from wire.gemini.fold import fold, keep_bytes
from wire.gemini.types import GenerateContentResponse, Part

S = TypeVar("S", bound=WireStruct)

_VALUE = "a response of Gemini"

# --- complete bodies ------------------------------------------------------------------------------


def _is_empty(response: GenerateContentResponse) -> bool:
    return (
        response.candidates is None
        and response.prompt_feedback is None
        and response.usage_metadata is None
    )


def _unwrapped(data: bytes) -> GenerateContentResponse:
    """Decode one JSON object; a relay may have wrapped the response in `result`."""
    response = decoded(data, GenerateContentResponse)
    if _is_empty(response):
        result = bytes(fields_of(data).get("result", b""))
        if result[:1] == b"{":
            return decoded(result, GenerateContentResponse)
    return response


def read_chunk(data: bytes) -> GenerateContentResponse:
    """Decode one JSON object to a chunk.

    Raises the provider's error if the object contains one, `StreamInvalid` if `data` is not one
    JSON object.
    """
    reader = ChunkReader()
    chunks = reader.feed(data)
    if reader.error is not None:
        raise reader.error
    if len(chunks) != 1:
        raise StreamInvalid(f"not {_VALUE}: {shown(data)}", raw=data)
    return chunks[0]


def parse_response(body: bytes, *, for_reply: bool = False) -> GenerateContentResponse:
    """Decode a complete response, also one that was sent as events, as an array of chunks, or
    wrapped in `result`.

    Raises the provider's error if the body contains one, `StreamIncomplete` if the response is
    truncated, `StreamInvalid` if the body is not a response of this wire, or if nothing in it can
    be a reply, `for_reply`.
    """
    response = parse_whole(body, _unwrapped, _is_response, keep_bytes, ChunkReader, fold)
    why = response.prompt_feedback or response.usage_metadata
    if for_reply and not response.candidates and why is None:
        raise StreamInvalid("the response has no candidates", partial=response, raw=body)
    return response


def _is_response(response: GenerateContentResponse, data: bytes) -> bool:
    return not _is_empty(response) and ERRORS.in_success(data) is None


def parse_plain(kind: type[S], body: bytes) -> S:
    """Decode a complete body that is one struct, such as a file.

    Raises the provider's error if the body contains one, `StreamInvalid` if the body is not a
    `kind`.
    """
    # A file or a job has a field `error` that reports its own failure. The response to the request
    # for it is a success, so the field must not be raised as the request's error.
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


_NO_OUTPUT = [Part(text="")]


class ChunkReader(FramedReader[GenerateContentResponse]):
    """Decodes the body of one stream into chunks."""

    __slots__ = (
        "_begun",
        "_blocked",
        "_covered",
        "_empty",
        "_goes_on",
        "_open",
        "_produced",
        "_sent",
        "_several",
        "_token",
        "hops",
    )

    errors: ClassVar[ErrorReader[Any]] = ERRORS
    value_name = _VALUE
    ending = "a finish reason"
    answer_name = "candidates"
    chunk_type = GenerateContentResponse
    own_keys: ClassVar[frozenset[str]] = frozenset(
        {"candidates", "promptFeedback", "usageMetadata"}
    )

    def __init__(self, limits: Limits = Limits()) -> None:  # noqa: B008  it is immutable
        self.hops: int = 0
        """Requests whose bodies were read."""
        self._token = ""  # the last one: the answer can go on there
        self._several = False  # a token continues the first candidate alone
        super().__init__(limits)
        # The first chunk, while no chunk has a field of a response. A JSON body of another kind
        # decodes to an empty struct; it must not pass as a chunk of a truncated stream.
        self._empty = b""

    def reopen(self) -> None:
        """Begin the body of another request."""
        super().reopen()
        if self._kept is not None and self.count:
            self._kept.divide()
        self.hops += 1
        self._open: dict[int, bool] = {}  # index of a candidate -> it has no finish reason yet
        self._blocked = self._goes_on = False
        self._sent = self._token  # with this request
        # Of this request: a chunk was read, output was made, no output came after the token.
        self._begun, self._produced, self._covered = False, False, True

    def read(self, data: bytes, name: str) -> None:
        """Emit a chunk, or raise the error that it contains."""
        chunk = _unwrapped(data)
        certain = name == "error"
        error = ERRORS.in_success(data, certain=certain)
        if error is not None or certain:
            raise error or ERRORS.without_words(data)
        self.emit(chunk)

    def follow(self, chunk: GenerateContentResponse) -> None:
        """Record which candidates have a finish reason, and whether the prompt was blocked."""
        if not _is_empty(chunk):
            self._empty = b""
        elif self.count == 1:
            self._empty = chunk.raw or b""
        finished, self._begun = False, True
        if (usage := chunk.usage_metadata) is not None:
            self.answers = True
            made = usage.candidates_token_count or usage.thoughts_token_count
            self._produced = self._produced or bool(made)
        for candidate in chunk.candidates or ():
            self.answers = True
            index, ends = candidate.index or 0, candidate.finish_reason is not None
            finished = finished or ends
            self._open[index] = not ends and self._open.get(index, True)
            parts = candidate.content.parts if candidate.content is not None else None
            has_output = bool(parts) and parts != _NO_OUTPUT
            self._several = self._several or index > 0
            self._produced = self._produced or has_output
            self._goes_on = candidate.finish_reason == "CONTINUATION"
            if candidate.continuation_token:
                self._token, self._covered = candidate.continuation_token, True
            elif has_output:
                self._covered = False
        if chunk.prompt_feedback is not None and chunk.prompt_feedback.block_reason is not None:
            finished = self._blocked = self.answers = True
        self.finished = finished

    @property
    def resume_token(self) -> str:
        """The token with which the answer goes on after all that was read; empty if none does."""
        is_new = self._token != self._sent or not self._begun
        return self._token if self._covered and is_new and not self._several else ""

    @property
    def continues(self) -> bool:
        """Whether this request reached its own limit, and the next one goes on."""
        return self._goes_on and self._produced and bool(self.resume_token)

    def is_whole(self) -> bool:
        """Return whether each candidate has a finish reason, or the prompt was blocked; nothing is
        truncated then.
        """
        return not self.rest and (
            self._blocked or (bool(self._open) and not any(self._open.values()))
        )

    def incomplete(self) -> StreamError:
        """Return `StreamInvalid` if no chunk has a field of a response, or a document has no
        candidates, else the base's error.
        """
        if not self._empty:
            if self.as_json and self.count and not self.answers and not self.rest:
                return StreamInvalid(f"the response has no {self.answer_name}")
            return super().incomplete()
        return StreamInvalid(
            f"not {_VALUE} (no candidates, no prompt feedback, no usage): {shown(self._empty)}",
            raw=self._empty,
        )
