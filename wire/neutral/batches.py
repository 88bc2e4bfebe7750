"""Batches: many requests in one job at a lower price, in the same form for all vendors."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

import msgspec

from wire.core.call import Call
from wire.core.errors import APIError, WireError
from wire.core.flow import Flow
from wire.core.memory import MetadataStruct, Note
from wire.core.provider import Provider
from wire.neutral.messages import Media, Reply

BatchStatus: TypeAlias = Literal[
    "running", "cancelling", "completed", "failed", "expired", "cancelled"
]

EXPIRED = "batch_expired"
"""`code` of the error of a request that was not answered before the batch expired."""
CANCELLED = "batch_cancelled"
"""`code` of the error of a request that was not answered before the batch was cancelled."""


class BatchCounts(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers of requests; `None` where the vendor does not count them, or not yet."""

    total: int | None = None
    running: int | None = None
    """Number of requests that are not answered yet."""
    succeeded: int | None = None
    failed: int | None = None
    expired: int | None = None
    cancelled: int | None = None


class Batch(MetadataStruct, frozen=True, kw_only=True):
    """State of a batch when it was last read. Times are Unix times in seconds.

    >>> Batch(id="batch_1", provider="openai", status="expired").ended
    True

    `id` and the model are all that another process needs to go on with a batch.
    """

    id: str
    """The vendor's name of the batch."""
    provider: str
    """Name of the provider, as `Chat.provider` has it."""
    status: BatchStatus
    """`completed` means that all requests were tried; some may have failed."""
    vendor_status: str = ""
    """The vendor's own word."""
    counts: BatchCounts = BatchCounts()
    """Number of its requests in each state."""
    created_at: float | None = None
    """When the batch was submitted."""
    expires_at: float | None = None
    """Requests that are not answered by then expire."""
    notes: tuple[Note, ...] = ()
    """Notes on what was changed in the requests, or left out, with the paths of `create`."""
    answer: Any = None
    """The batch as the wire's own struct, with all its fields."""

    @property
    def ended(self) -> bool:
        """Whether the batch is over, so that its results can be read."""
        return self.status not in ("running", "cancelling")

    def __repr__(self) -> str:
        return f"Batch({self.id!r}, provider={self.provider!r}, status={self.status!r})"


class ResultLine(NamedTuple):
    """The result of one request as a vendor sent it: the body of its response, or an error."""

    id: str
    body: bytes
    error: WireError | None = None


class Upload(NamedTuple):
    """A file to upload."""

    data: Any
    """A path, bytes, or an open binary file."""
    size: int | None
    """Number of bytes of a file that cannot seek."""
    name: str
    media_type: str


class WireBatches(Protocol):
    """Functions of a wire for batches and uploaded files: the module `batching` of its package."""

    @property
    def MAX_REQUESTS(self) -> int:
        """Requests of one batch."""
        ...

    @property
    def MAX_BYTES(self) -> int:
        """Bytes of the requests of one batch."""
        ...

    def create_batch(
        self, calls: Mapping[str, Call[Reply]], model: str, row: Provider, name: str = ""
    ) -> Flow[Batch]:
        """Submit the bodies of calls by the ids of their requests, as a flow.

        A vendor whose batches have names gets `name`, for `find_batch`.
        """
        ...

    def newest_batch(self, row: Provider) -> Flow[str]:
        """Read the `after` of `find_batch` as a flow, before the batch is created."""
        ...

    def find_batch(self, name: str, total: int, after: str, row: Provider) -> Flow[Batch | None]:
        """Search the vendor's list for a batch whose id was not received, as a flow.

        It returns the batch of that name. Where batches have no names, it returns the first one
        that was created after the batch `after` and has `total` requests; its results show whether
        it is the right one.
        """
        ...

    def get_batch(self, id: str, row: Provider) -> Flow[Batch]:
        """Read the state of a batch as a flow."""
        ...

    def cancel_batch(self, id: str, row: Provider) -> Flow[Batch]:
        """Cancel a batch as a flow."""
        ...

    def batch_results(self, batch: Batch, row: Provider) -> Flow[list[ResultLine]]:
        """Read the results of a batch that has ended, as a flow.

        Raises the typed error of a batch without results.
        """
        ...

    def reply_call(self, seed: bytes, model: str, row: Provider) -> Call[Reply]:
        """Build a call whose `parse` reads the body of a result; it is not sent.

        Ids of tool calls that have none from the vendor are generated from `seed`.
        """
        ...

    def upload(self, upload: Upload, model: str, row: Provider) -> Flow[Media]:
        """Upload a file as a flow, and return media that refer to it."""
        ...

    def delete_file(self, reference: str, row: Provider) -> Flow[object]:
        """Delete the file of `Media.url` as a flow."""
        ...

    def file_reference(self) -> str:
        """Return a `Media.url` of no real file, for a check of a request before the upload."""
        ...


MOST_PAGES = 100
"""Pages of the vendor's list in which a batch is searched for."""


def without_answer(code: str, batch: str) -> APIError:
    """Build the error of a request that was not answered: `EXPIRED` or `CANCELLED`.

    >>> without_answer(EXPIRED, "batch_1")
    APIError("batch_expired: batch_1 expired before the request was answered")
    """
    end = "expired" if code == EXPIRED else "was cancelled"
    return APIError(
        f"{batch} {end} before the request was answered", code=code, retryable=code == EXPIRED
    )


def unix_time(text: str | None) -> float | None:
    """Convert an RFC 3339 text to a Unix time; `None` for any other text.

    >>> unix_time("2026-08-19T14:44:51Z")
    1787150691.0
    """
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
