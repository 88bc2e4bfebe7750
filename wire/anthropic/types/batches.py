"""Batches: many requests, answered within a day."""

from __future__ import annotations

from wire.anthropic.types.answer import MessageResponse
from wire.anthropic.types.base import AnthropicStruct
from wire.anthropic.types.errors import ErrorBody
from wire.anthropic.types.request import MessageRequest


class BatchCreateRequest(AnthropicStruct, frozen=True, kw_only=True):
    """A batch to be made."""

    requests: list[BatchRequest]
    user_profile_id: str | None = None


class BatchRequest(AnthropicStruct, frozen=True, kw_only=True):
    """One request of a batch."""

    custom_id: str
    """Under which its result is found; results come in any order."""
    params: MessageRequest
    """Without `stream`."""


class MessageBatch(AnthropicStruct, frozen=True, kw_only=True):
    """How far a batch is. Times are RFC 3339."""

    id: str | None = None
    type: str | None = None
    """`message_batch`."""
    processing_status: str | None = None
    """`in_progress`, `canceling`, `ended`."""
    request_counts: BatchRequestCounts | None = None
    created_at: str | None = None
    expires_at: str | None = None
    """What is not answered by then never is."""
    ended_at: str | None = None
    cancel_initiated_at: str | None = None
    archived_at: str | None = None
    """The results are gone since then."""
    results_url: str | None = None
    """There are results."""


class BatchRequestCounts(AnthropicStruct, frozen=True, kw_only=True):
    """Requests by what became of them; all but `processing` are 0 until the batch has ended."""

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
    """Where the next page begins: `list_batches(after_id=...)`."""


class DeletedBatch(AnthropicStruct, frozen=True, kw_only=True):
    """Answer of deleting a batch."""

    id: str | None = None
    type: str | None = None
    """`message_batch_deleted`."""


class MessageBatchResult(AnthropicStruct, frozen=True, kw_only=True):
    """What became of one request of a batch."""

    custom_id: str | None = None
    result: BatchOutcome | None = None


class BatchOutcome(AnthropicStruct, frozen=True, kw_only=True):
    """An answer, an error, or neither."""

    type: str | None = None
    """`succeeded`, `errored`, `canceled`, `expired`."""
    message: MessageResponse | None = None
    error: ErrorBody | None = None
