"""Batches: many requests at once, answered within a day.

A batch comes as an operation; what there is open to any message is typed here (`BatchOperation`,
`EmbedBatchOperation`).
"""

from __future__ import annotations

import enum
from typing import Any

import msgspec

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
    """A batch: what is asked for, and how far it has come."""

    type: str | None = msgspec.field(name="@type", default=None)
    """Output only, inside an operation."""
    name: str | None = None
    """Output only. `batches/ID`."""
    model: str | None = None
    """`models/X`."""
    display_name: str | None = None
    input_config: InputConfig | None = None
    output: GenerateContentBatchOutput | None = None
    """Output only. The same as the operation's `response`."""
    state: OpenEnum | None = None
    """`BatchState`, output only."""
    batch_stats: BatchStats | None = None
    """Output only."""
    priority: int | str | None = None
    """int64. Higher ones are done first."""
    create_time: str | None = None
    """Output only. Timestamp."""
    update_time: str | None = None
    """Output only. Timestamp."""
    end_time: str | None = None
    """Output only. Timestamp."""


class InputConfig(GeminiStruct, frozen=True, kw_only=True):
    """Where the requests are: one of the two."""

    requests: InlinedRequests | None = None
    file_name: str | None = None
    """`files/ID` of a file with a line of JSON for each request; `gemini.batch_lines`
    writes one.
    """


class InlinedRequests(GeminiStruct, frozen=True, kw_only=True):
    """Requests in the body itself, at most 20 MB of them."""

    requests: list[InlinedRequest] | None = None


class InlinedRequest(GeminiStruct, frozen=True, kw_only=True):
    """One request of a batch."""

    request: GenerateContentRequest | None = None
    metadata: dict[str, Any] | None = None
    """Comes back with the answer."""


class GenerateContentBatchOutput(GeminiStruct, frozen=True, kw_only=True):
    """Where the answers are: one of the two, as the requests were."""

    type: str | None = msgspec.field(name="@type", default=None)
    """Output only, inside an operation."""
    inlined_responses: InlinedResponses | None = None
    """Output only."""
    responses_file: str | None = None
    """Output only.

    `files/ID`; `gemini.download_file` fetches it, `gemini.batch_results` reads it.
    """


class InlinedResponses(GeminiStruct, frozen=True, kw_only=True):
    """Answers in the order of the requests."""

    inlined_responses: list[InlinedResponse] | None = None
    """Output only."""


class InlinedResponse(GeminiStruct, frozen=True, kw_only=True):
    """What became of one request: `response` or `error`."""

    response: GenerateContentResponse | None = None
    """Output only."""
    error: Status | None = None
    """Output only. `code` is one of google.rpc."""
    metadata: dict[str, Any] | None = None
    """Output only. As it came with the request."""
    key: str | None = None
    """In a file of results: as it stood in the file of requests."""


class BatchStats(GeminiStruct, frozen=True, kw_only=True):
    """How many requests there are; int64."""

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

    A batch of embeddings in a list is read as one, too: its state and counts are the same.
    """

    name: str | None = None
    """`batches/ID`."""
    metadata: GenerateContentBatch | None = None
    done: bool | None = None
    """Absent means no."""
    error: Status | None = None
    response: GenerateContentBatchOutput | None = None

    @property
    def results(self) -> list[InlinedResponse]:
        """What became of the requests, in their order; empty before the end, and if the answers are
        in a file.
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
    """How far a batch has come."""

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
    """A batch of embeddings; as `GenerateContentBatch`."""

    type: str | None = msgspec.field(name="@type", default=None)
    """Output only, inside an operation."""
    name: str | None = None
    """Output only. `batches/ID`."""
    model: str | None = None
    """`models/X`."""
    display_name: str | None = None
    input_config: InputEmbedContentConfig | None = None
    output: EmbedContentBatchOutput | None = None
    """Output only. The same as the operation's `response`."""
    state: OpenEnum | None = None
    """`BatchState`, output only."""
    batch_stats: EmbedContentBatchStats | None = None
    """Output only."""
    priority: int | str | None = None
    """int64. Higher ones are done first."""
    create_time: str | None = None
    """Output only. Timestamp."""
    update_time: str | None = None
    """Output only. Timestamp."""
    end_time: str | None = None
    """Output only. Timestamp."""


class InputEmbedContentConfig(GeminiStruct, frozen=True, kw_only=True):
    """Where the requests are: one of the two."""

    requests: InlinedEmbedContentRequests | None = None
    file_name: str | None = None


class InlinedEmbedContentRequests(GeminiStruct, frozen=True, kw_only=True):
    """Requests in the body itself."""

    requests: list[InlinedEmbedContentRequest] | None = None


class InlinedEmbedContentRequest(GeminiStruct, frozen=True, kw_only=True):
    """One request of a batch."""

    request: EmbedContentRequest | None = None
    metadata: dict[str, Any] | None = None
    """Comes back with the answer."""


class EmbedContentBatchOutput(GeminiStruct, frozen=True, kw_only=True):
    """Where the vectors are: one of the two, as the requests were."""

    type: str | None = msgspec.field(name="@type", default=None)
    """Output only, inside an operation."""
    inlined_responses: InlinedEmbedContentResponses | None = None
    """Output only."""
    responses_file: str | None = None
    """Output only."""


class InlinedEmbedContentResponses(GeminiStruct, frozen=True, kw_only=True):
    """Answers in the order of the requests."""

    inlined_responses: list[InlinedEmbedContentResponse] | None = None
    """Output only."""


class InlinedEmbedContentResponse(GeminiStruct, frozen=True, kw_only=True):
    """What became of one request: `response` or `error`."""

    response: EmbedContentResponse | None = None
    """Output only."""
    error: Status | None = None
    """Output only. `code` is one of google.rpc."""
    metadata: dict[str, Any] | None = None
    """Output only. As it came with the request."""
    key: str | None = None
    """In a file of results: as it stood in the file of requests."""


class EmbedContentBatchStats(GeminiStruct, frozen=True, kw_only=True):
    """How many requests there are; int64."""

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
    """Absent means no."""
    error: Status | None = None
    response: EmbedContentBatchOutput | None = None
