"""Batches: many requests in one job, answered within 24 hours.

A batch is an operation whose open messages are typed here (`BatchOperation`,
`EmbedBatchOperation`).
"""

from __future__ import annotations

import enum
from typing import Annotated, Any

import msgspec

from wire.core.facts import DOCS, TRAFFIC, Facts
from wire.gemini.types.answer import GenerateContentResponse
from wire.gemini.types.base import GeminiStruct, OpenEnum
from wire.gemini.types.embeddings import EmbedContentRequest, EmbedContentResponse
from wire.gemini.types.request import GenerateContentRequest
from wire.gemini.types.status import Status

# --- generateContent ------------------------------------------------------------------------------


class BatchGenerateContentRequest(GeminiStruct, frozen=True, kw_only=True):
    """Body of batchGenerateContent."""

    batch: GenerateContentBatch | None = None


class GenerateContentBatch(GeminiStruct, frozen=True, kw_only=True):
    """A batch: its requests and its progress."""

    type: Annotated[str | None, Facts(source=TRAFFIC)] = msgspec.field(name="@type", default=None)
    """Output only, inside an operation."""
    name: str | None = None
    """Output only. `batches/ID`."""
    model: str | None = None
    """`models/X`."""
    display_name: str | None = None
    input_config: InputConfig | None = None
    output: GenerateContentBatchOutput | None = None
    """Equals the operation's `response`. Output only."""
    state: OpenEnum | None = None
    """`BatchState`, output only."""
    batch_stats: BatchStats | None = None
    """Output only."""
    priority: int | str | None = None
    """int64. Batches of higher priority run first."""
    create_time: str | None = None
    """Output only. Timestamp."""
    update_time: str | None = None
    """Output only. Timestamp."""
    end_time: str | None = None
    """Output only. Timestamp."""


class InputConfig(GeminiStruct, frozen=True, kw_only=True):
    """Where the requests are."""

    requests: Annotated[InlinedRequests | None, Facts(one_of="source")] = None
    file_name: Annotated[str | None, Facts(one_of="source")] = None
    """`files/ID` of a file that has one request a line, as JSON; `gemini.batch_lines` writes such
    lines.
    """


class InlinedRequests(GeminiStruct, frozen=True, kw_only=True):
    """Requests inside the body, at most 20 MB."""

    requests: list[InlinedRequest] | None = None


class InlinedRequest(GeminiStruct, frozen=True, kw_only=True):
    """One request of a batch."""

    request: GenerateContentRequest | None = None
    metadata: dict[str, Any] | None = None
    """Comes back with the response."""


class GenerateContentBatchOutput(GeminiStruct, frozen=True, kw_only=True):
    """Where the responses are, in the same form as the requests."""

    type: Annotated[str | None, Facts(source=TRAFFIC)] = msgspec.field(name="@type", default=None)
    """Output only, inside an operation."""
    inlined_responses: Annotated[InlinedResponses | None, Facts(one_of="output")] = None
    """Output only."""
    responses_file: Annotated[str | None, Facts(one_of="output")] = None
    """Output only.

    `files/ID`; `gemini.download_file` downloads it, `gemini.batch_results` reads it.
    """


class InlinedResponses(GeminiStruct, frozen=True, kw_only=True):
    """Responses in the order of the requests."""

    inlined_responses: list[InlinedResponse] | None = None
    """Output only."""


class InlinedResponse(GeminiStruct, frozen=True, kw_only=True):
    """Result of one request."""

    response: Annotated[GenerateContentResponse | None, Facts(one_of="output")] = None
    """Output only."""
    error: Annotated[Status | None, Facts(one_of="output")] = None
    """`code` is a google.rpc code. Output only."""
    metadata: dict[str, Any] | None = None
    """The metadata of the request. Output only."""
    key: Annotated[str | None, Facts(source=DOCS)] = None
    """In a file of results: the key of the line in the file of requests."""


class BatchStats(GeminiStruct, frozen=True, kw_only=True):
    """Numbers of requests, as int64."""

    request_count: int | str | None = None
    """Output only."""
    pending_request_count: int | str | None = None
    """Output only."""
    successful_request_count: int | str | None = None
    """Output only."""
    failed_request_count: int | str | None = None
    """Output only."""


class BatchOperation(GeminiStruct, frozen=True, kw_only=True):
    """An `Operation` that is a batch.

    In a list, a batch of embeddings is read as this struct too: state and counts are the same.
    """

    name: str | None = None
    """`batches/ID`."""
    metadata: GenerateContentBatch | None = None
    done: bool | None = None
    """Absent while the batch runs."""
    error: Annotated[Status | None, Facts(one_of="result")] = None
    response: Annotated[GenerateContentBatchOutput | None, Facts(one_of="result")] = None

    @property
    def results(self) -> list[InlinedResponse]:
        """Results in the order of the requests. Empty before the batch has ended, and if the
        results are in a file.
        """
        output = self.response or (self.metadata and self.metadata.output)
        inlined = output.inlined_responses if output else None
        return (inlined.inlined_responses if inlined else None) or []


class ListBatchesResponse(GeminiStruct, frozen=True, kw_only=True):
    """A page of batches: a `ListOperationsResponse` whose operations are batches."""

    operations: list[BatchOperation] | None = None
    next_page_token: str | None = None
    """Absent on the last page."""
    unreachable: list[str] | None = None


class BatchState(enum.StrEnum):
    """Progress of a batch."""

    PENDING = "BATCH_STATE_PENDING"
    RUNNING = "BATCH_STATE_RUNNING"
    SUCCEEDED = "BATCH_STATE_SUCCEEDED"
    FAILED = "BATCH_STATE_FAILED"
    CANCELLED = "BATCH_STATE_CANCELLED"
    EXPIRED = "BATCH_STATE_EXPIRED"


# --- embeddings -----------------------------------------------------------------------------------


class AsyncBatchEmbedContentRequest(GeminiStruct, frozen=True, kw_only=True):
    """Body of asyncBatchEmbedContent."""

    batch: EmbedContentBatch | None = None


class EmbedContentBatch(GeminiStruct, frozen=True, kw_only=True):
    """A batch of embeddings; the fields are those of `GenerateContentBatch`."""

    type: Annotated[str | None, Facts(source=TRAFFIC)] = msgspec.field(name="@type", default=None)
    """Output only, inside an operation."""
    name: str | None = None
    """Output only. `batches/ID`."""
    model: str | None = None
    """`models/X`."""
    display_name: str | None = None
    input_config: InputEmbedContentConfig | None = None
    output: EmbedContentBatchOutput | None = None
    """Equals the operation's `response`. Output only."""
    state: OpenEnum | None = None
    """`BatchState`, output only."""
    batch_stats: EmbedContentBatchStats | None = None
    """Output only."""
    priority: int | str | None = None
    """int64. Batches of higher priority run first."""
    create_time: str | None = None
    """Output only. Timestamp."""
    update_time: str | None = None
    """Output only. Timestamp."""
    end_time: str | None = None
    """Output only. Timestamp."""


class InputEmbedContentConfig(GeminiStruct, frozen=True, kw_only=True):
    """Where the requests are."""

    requests: Annotated[InlinedEmbedContentRequests | None, Facts(one_of="source")] = None
    file_name: Annotated[str | None, Facts(one_of="source")] = None


class InlinedEmbedContentRequests(GeminiStruct, frozen=True, kw_only=True):
    """Requests in the body itself."""

    requests: list[InlinedEmbedContentRequest] | None = None


class InlinedEmbedContentRequest(GeminiStruct, frozen=True, kw_only=True):
    """One request of a batch."""

    request: EmbedContentRequest | None = None
    metadata: dict[str, Any] | None = None
    """Comes back with the response."""


class EmbedContentBatchOutput(GeminiStruct, frozen=True, kw_only=True):
    """Where the vectors are, in the same form as the requests."""

    type: Annotated[str | None, Facts(source=TRAFFIC)] = msgspec.field(name="@type", default=None)
    """Output only, inside an operation."""
    inlined_responses: Annotated[InlinedEmbedContentResponses | None, Facts(one_of="output")] = None
    """Output only."""
    responses_file: Annotated[str | None, Facts(one_of="output")] = None
    """Output only."""


class InlinedEmbedContentResponses(GeminiStruct, frozen=True, kw_only=True):
    """Responses in the order of the requests."""

    inlined_responses: list[InlinedEmbedContentResponse] | None = None
    """Output only."""


class InlinedEmbedContentResponse(GeminiStruct, frozen=True, kw_only=True):
    """Result of one request."""

    response: Annotated[EmbedContentResponse | None, Facts(one_of="output")] = None
    """Output only."""
    error: Annotated[Status | None, Facts(one_of="output")] = None
    """`code` is a google.rpc code. Output only."""
    metadata: dict[str, Any] | None = None
    """The metadata of the request. Output only."""
    key: Annotated[str | None, Facts(source=DOCS)] = None
    """In a file of results: the key of the line in the file of requests."""


class EmbedContentBatchStats(GeminiStruct, frozen=True, kw_only=True):
    """Numbers of requests, as int64."""

    request_count: int | str | None = None
    """Output only."""
    pending_request_count: int | str | None = None
    """Output only."""
    successful_request_count: int | str | None = None
    """Output only."""
    failed_request_count: int | str | None = None
    """Output only."""


class EmbedBatchOperation(GeminiStruct, frozen=True, kw_only=True):
    """An `Operation` that is a batch of embeddings."""

    name: str | None = None
    """`batches/ID`."""
    metadata: EmbedContentBatch | None = None
    done: bool | None = None
    """Absent while the batch runs."""
    error: Annotated[Status | None, Facts(one_of="result")] = None
    response: Annotated[EmbedContentBatchOutput | None, Facts(one_of="result")] = None
