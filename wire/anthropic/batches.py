"""Batches as calls: many requests at half the price, answered within a day."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec

from wire.anthropic.endpoints import headers, page, plain, segment
from wire.anthropic.error_body import parse_error
from wire.anthropic.reader import parse_results
from wire.anthropic.rules import check
from wire.anthropic.types import (
    BatchCreateRequest,
    BatchRequest,
    DeletedBatch,
    MessageBatch,
    MessageBatchList,
    MessageBatchResult,
)
from wire.core.bodies import checked_body, wrong_type
from wire.core.call import Call
from wire.errors import RuleError, Violation

_CUSTOM_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def create_batch(
    requests: Sequence[BatchRequest] | BatchCreateRequest,
    *,
    betas: Sequence[str] = (),
) -> Call[MessageBatch]:
    """Many requests at once, each under a name of its own.

    >>> from wire.anthropic.types import Message, MessageRequest
    >>> asked = MessageRequest(
    ...     model="claude-opus-4-8", max_tokens=9, messages=[Message(role="user", content="Hi")]
    ... )
    >>> create_batch([BatchRequest(custom_id="a", params=asked)]).body
    b'{"requests":[{"custom_id":"a","params":{"model":"claude-opus-4-8","messages":[{"role":"user","content":"Hi"}],"max_tokens":9}}]}'

    Raises `RuleError` for requests that the server refuses; it names the JSON path.
    """
    batch = requests if isinstance(requests, BatchCreateRequest) else None
    items = requests if batch is None else batch.requests
    if not isinstance(items, (list, tuple)) or not items:
        raise wrong_type("requests", items, "list of BatchRequests that is not empty")
    for index, item in enumerate(items):
        if not isinstance(item, BatchRequest):
            raise wrong_type(f"requests[{index}]", item, "BatchRequest")
    body, checked = checked_body(
        BatchCreateRequest(requests=list(items)) if batch is None else batch
    )
    violations = list(_violations(checked.requests))
    if violations:
        raise RuleError(violations=violations)
    return plain(MessageBatch, "POST", "/messages/batches", body, betas=betas)


def get_batch(batch_id: str) -> Call[MessageBatch]:
    """How far a batch is."""
    return plain(MessageBatch, "GET", _path(batch_id))


def list_batches(
    *, limit: int | None = None, after_id: str | None = None, before_id: str | None = None
) -> Call[MessageBatchList]:
    """A page of the batches, the newest first."""
    return plain(
        MessageBatchList, "GET", "/messages/batches", query=page(limit, after_id, before_id)
    )


def cancel_batch(batch_id: str) -> Call[MessageBatch]:
    """Stop a batch; what is answered stays."""
    return plain(MessageBatch, "POST", f"{_path(batch_id)}/cancel")


def delete_batch(batch_id: str) -> Call[DeletedBatch]:
    """Forget a batch that has ended; one that runs is to be cancelled first."""
    return plain(DeletedBatch, "DELETE", _path(batch_id))


def batch_results(batch_id: str) -> Call[list[MessageBatchResult]]:
    """What became of each request of a batch that has ended, in any order: `custom_id` says which
    is which.
    """
    path = f"{_path(batch_id)}/results"
    return Call(
        "anthropic", "GET", path, headers=headers(), parse=parse_results, read_error=parse_error
    )


def _path(batch_id: str) -> str:
    return f"/messages/batches/{segment('batch_id', batch_id, 'msgbatch_01')}"


def _violations(requests: Sequence[BatchRequest]) -> Iterator[Violation]:
    known: set[str] = set()
    for index, item in enumerate(requests):
        path = f"requests[{index}]"
        if not _CUSTOM_ID.fullmatch(item.custom_id):
            yield Violation(f"{path}.custom_id", "1 to 64 letters, digits, _ and - are wanted")
        elif item.custom_id in known:
            yield Violation(f"{path}.custom_id", f"{item.custom_id!r} names another request too")
        known.add(item.custom_id)
        if item.params.stream:
            yield Violation(
                f"{path}.params.stream", "a batch does not stream", remedy="leave it out"
            )
        for found in check(item.params):
            if found.severity != "error":
                continue
            yield msgspec.structs.replace(found, path=f"{path}.params.{found.path}".rstrip("."))
