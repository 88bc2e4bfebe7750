"""Batches: many requests in one job, answered within 24 hours."""

from __future__ import annotations

from typing import Annotated

from wire.anthropic.types.answer import MessageResponse
from wire.anthropic.types.base import AnthropicStruct
from wire.anthropic.types.errors import ErrorBody
from wire.anthropic.types.request import MessageRequest
from wire.core.facts import SDK, Facts


class BatchCreateRequest(AnthropicStruct, frozen=True, kw_only=True):
    """A batch to create."""

    requests: list[BatchRequest]
    user_profile_id: str | None = None
    """Sent as the header `anthropic-user-profile-id`."""
    workspace_id: Annotated[str | None, Facts(source=SDK)] = None
    """Sent as the header `anthropic-workspace-id`."""


class BatchRequest(AnthropicStruct, frozen=True, kw_only=True):
    """One request of a batch."""

    custom_id: str
    """Identifies the result; results come in any order."""
    params: MessageRequest
    """Must not have `stream`."""


class MessageBatch(AnthropicStruct, frozen=True, kw_only=True):
    """State of a batch. Times are RFC 3339."""

    id: str | None = None
    type: str | None = None
    """`message_batch`."""
    processing_status: str | None = None
    """`in_progress`, `canceling`, `ended`."""
    request_counts: BatchRequestCounts | None = None
    created_at: str | None = None
    expires_at: str | None = None
    """Requests that are not processed by then expire."""
    ended_at: str | None = None
    cancel_initiated_at: str | None = None
    archived_at: str | None = None
    """When the results were deleted."""
    results_url: str | None = None
    """Present once there are results."""


class BatchRequestCounts(AnthropicStruct, frozen=True, kw_only=True):
    """Requests by result. All but `processing` are 0 until the batch has ended."""

    processing: int | None = None
    succeeded: int | None = None
    errored: int | None = None
    canceled: int | None = None
    expired: int | None = None


class MessageBatchList(AnthropicStruct, frozen=True, kw_only=True):
    """A page of batches, the newest first."""

    data: list[MessageBatch] | None = None
    has_more: bool | None = None
    first_id: str | None = None
    last_id: str | None = None
    """Start of the next page: `list_batches(after_id=...)`."""


class DeletedBatch(AnthropicStruct, frozen=True, kw_only=True):
    """Response of deleting a batch."""

    id: str | None = None
    type: str | None = None
    """`message_batch_deleted`."""


class MessageBatchResult(AnthropicStruct, frozen=True, kw_only=True):
    """Result of one request of a batch."""

    custom_id: str | None = None
    result: BatchOutcome | None = None


class BatchOutcome(AnthropicStruct, frozen=True, kw_only=True):
    """A response, an error, or neither."""

    type: str | None = None
    """`succeeded`, `errored`, `canceled`, `expired`."""
    message: MessageResponse | None = None
    error: ErrorBody | None = None
