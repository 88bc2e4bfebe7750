"""Batches: many requests in one job, which the server works off within 24 hours."""

from __future__ import annotations

from typing import Annotated, Any

from wire.core.facts import DOCS, SDK, Facts
from wire.openai.common.types.base import OpenAIStruct
from wire.openai.common.types.files import ExpiresAfter


class BatchCreateRequest(OpenAIStruct, frozen=True, kw_only=True):
    """A batch to create."""

    input_file_id: str
    """A file of purpose `batch` with one request a line, written with `batch_lines`."""
    endpoint: str
    """Path of all requests: `/v1/chat/completions`, `/v1/responses`, `/v1/embeddings`."""
    completion_window: str
    """`24h`."""
    metadata: dict[str, str] | None = None
    output_expires_after: Annotated[ExpiresAfter | None, Facts(source=SDK)] = None
    """When the server deletes the files of results and errors."""


class Batch(OpenAIStruct, frozen=True, kw_only=True):
    """State of a batch. Times are Unix times in seconds."""

    id: str | None = None
    object: str | None = None
    """`batch`."""
    endpoint: str | None = None
    model: str | None = None
    """Present once the batch was validated."""
    errors: BatchErrors | None = None
    """Why the batch `failed`."""
    input_file_id: str | None = None
    completion_window: str | None = None
    status: str | None = None
    """`validating`, `failed`, `in_progress`, `finalizing`, `completed`, `expired`, `cancelling`,
    `cancelled`."""
    output_file_id: str | None = None
    """File of the results of requests that succeeded; absent if there are none."""
    error_file_id: str | None = None
    """File of the results of requests that failed, expired or were cancelled; absent if there are
    none."""
    created_at: int | None = None
    in_progress_at: int | None = None
    expires_at: int | None = None
    """Requests that are not processed by then expire."""
    finalizing_at: int | None = None
    completed_at: int | None = None
    failed_at: int | None = None
    expired_at: int | None = None
    cancelling_at: int | None = None
    cancelled_at: int | None = None
    request_counts: BatchRequestCounts | None = None
    usage: BatchUsage | None = None
    metadata: dict[str, str] | None = None


class BatchErrors(OpenAIStruct, frozen=True, kw_only=True):
    """Errors of the input file."""

    object: str | None = None
    """`list`."""
    data: list[BatchError] | None = None


class BatchError(OpenAIStruct, frozen=True, kw_only=True):
    """One error of the input file."""

    code: str | None = None
    message: str | None = None
    param: str | None = None
    line: int | None = None
    """Line of the input file, counted from 1."""


class BatchRequestCounts(OpenAIStruct, frozen=True, kw_only=True):
    """Requests of a batch; all 0 until it was validated."""

    total: int | None = None
    completed: int | None = None
    failed: int | None = None


class BatchUsage(OpenAIStruct, frozen=True, kw_only=True):
    """Tokens of all requests of a batch."""

    input_tokens: int | None = None
    input_tokens_details: BatchInputTokens | None = None
    output_tokens: int | None = None
    output_tokens_details: BatchOutputTokens | None = None
    total_tokens: int | None = None


class BatchInputTokens(OpenAIStruct, frozen=True, kw_only=True):
    """Kinds of input tokens."""

    cached_tokens: int | None = None


class BatchOutputTokens(OpenAIStruct, frozen=True, kw_only=True):
    """Kinds of output tokens."""

    reasoning_tokens: int | None = None


class BatchList(OpenAIStruct, frozen=True, kw_only=True):
    """A page of batches, the newest first."""

    object: str | None = None
    """`list`."""
    data: list[Batch] | None = None
    first_id: str | None = None
    last_id: str | None = None
    """Start of the next page: `list_batches(after=...)`."""
    has_more: bool | None = None


class BatchResult(OpenAIStruct, frozen=True, kw_only=True):
    """One line of a file of results or errors. Source: recorded files, and the guide of batches."""

    id: Annotated[str | None, Facts(source=DOCS)] = None
    custom_id: Annotated[str | None, Facts(source=DOCS)] = None
    """Identifies the request; lines come in any order."""
    response: Annotated[BatchResponse | None, Facts(source=DOCS)] = None
    """Absent for a request that was not sent to the model."""
    error: Annotated[BatchResultError | None, Facts(source=DOCS)] = None
    """Present for a request that was not sent to the model."""


class BatchResponse(OpenAIStruct, frozen=True, kw_only=True):
    """The HTTP response to one request of a batch."""

    status_code: Annotated[int | None, Facts(source=DOCS)] = None
    request_id: Annotated[str | None, Facts(source=DOCS)] = None
    body: Annotated[Any, Facts(source=DOCS)] = None
    """The body that the endpoint returns for the request, or its error; `parse_completion` and
    `parse_response` decode it."""


class BatchResultError(OpenAIStruct, frozen=True, kw_only=True):
    """Why a request was not sent to the model."""

    code: Annotated[str | None, Facts(source=DOCS)] = None
    """`batch_expired`, `batch_cancelled`."""
    message: Annotated[str | None, Facts(source=DOCS)] = None
