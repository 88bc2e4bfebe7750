"""Calls of the batch API: many requests at half the price, answered within 24 hours."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence

import msgspec

from wire.anthropic.endpoints import HEADER_FIELDS, page, plain, with_headers
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
from wire.core.arguments import checked_arguments
from wire.core.bodies import checked_body, wrong_type
from wire.core.call import Call
from wire.core.errors import Violation, refuse
from wire.core.path_segment import path_segment
from wire.core.provider import Provider

CUSTOM_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""Matches the ids of requests that the server accepts."""


@checked_arguments()
def create_batch(
    requests: Sequence[BatchRequest] | BatchCreateRequest,
    *,
    betas: Sequence[str] = (),
) -> Call[MessageBatch]:
    """Build a call that creates a batch of requests.

    `custom_id` identifies each request in the batch.

    >>> from wire.anthropic.types import Message, MessageRequest
    >>> params = MessageRequest(
    ...     model="claude-opus-4-8", max_tokens=9, messages=[Message(role="user", content="Hi")]
    ... )
    >>> import json
    >>> call = create_batch([BatchRequest(custom_id="a", params=params)])
    >>> json.loads(call.body)["requests"][0]["params"]["messages"]
    [{'role': 'user', 'content': 'Hi'}]

    Raises `RuleError` with the JSON paths in requests that the server would refuse.
    """
    batch = requests if isinstance(requests, BatchCreateRequest) else None
    items = requests if batch is None else batch.requests
    if not isinstance(items, (list, tuple)) or not items:
        raise wrong_type("requests", items, "non-empty list of BatchRequests")
    for index, item in enumerate(items):
        if not isinstance(item, BatchRequest):
            raise wrong_type(f"requests[{index}]", item, "BatchRequest")
    given = BatchCreateRequest(requests=list(items)) if batch is None else batch
    given, sent = with_headers(given, betas)
    body, checked = checked_body(given)
    refuse([*_form(checked.requests), *_refused(checked.requests, "anthropic", "")])
    return plain(
        MessageBatch,
        "POST",
        "/messages/batches",
        body,
        sent=sent,
        host_rules=functools.partial(_judged, checked.requests),
    )


@checked_arguments()
def get_batch(batch_id: str) -> Call[MessageBatch]:
    """Build a call that returns the state of a batch.

    >>> get_batch("msgbatch_01").path
    '/messages/batches/msgbatch_01'

    Raises `ConfigurationError` for an empty id.
    """
    return plain(MessageBatch, "GET", _path(batch_id))


@checked_arguments()
def list_batches(
    *, limit: int | None = None, after_id: str | None = None, before_id: str | None = None
) -> Call[MessageBatchList]:
    """Build a call that returns one page of the batches, the newest first.

    >>> list_batches(limit=2).query
    {'limit': '2'}

    `limit` is the number of batches; `after_id` and `before_id` are the ids around the page.
    """
    return plain(
        MessageBatchList, "GET", "/messages/batches", query=page(limit, after_id, before_id)
    )


@checked_arguments()
def cancel_batch(batch_id: str) -> Call[MessageBatch]:
    """Build a call that stops a batch. The results that it has so far are kept.

    >>> cancel_batch("msgbatch_01").path
    '/messages/batches/msgbatch_01/cancel'
    """
    return plain(MessageBatch, "POST", f"{_path(batch_id)}/cancel")


@checked_arguments()
def delete_batch(batch_id: str) -> Call[DeletedBatch]:
    """Build a call that deletes a batch that has ended. Cancel a running batch first.

    >>> delete_batch("msgbatch_01").method
    'DELETE'
    """
    return plain(DeletedBatch, "DELETE", _path(batch_id))


@checked_arguments()
def batch_results(batch_id: str) -> Call[list[MessageBatchResult]]:
    """Build a call that returns the results of a batch that has ended.

    >>> batch_results("msgbatch_01").path
    '/messages/batches/msgbatch_01/results'

    The results come in any order; `custom_id` identifies the request of each.
    """
    path = f"{_path(batch_id)}/results"
    return Call("anthropic", "GET", path, parse=parse_results, read_error=parse_error)


def _path(batch_id: str) -> str:
    return f"/messages/batches/{path_segment('batch_id', batch_id, 'msgbatch_01')}"


def _judged(
    requests: Sequence[BatchRequest], call: Call[MessageBatch], provider: Provider
) -> Call[MessageBatch]:
    refuse(_refused(requests, provider, provider.version))
    return call


def _refused(
    requests: Sequence[BatchRequest], provider: Provider | str, version: str
) -> list[Violation]:
    """Return the violations for which this version of the provider's API refuses the requests."""
    return [
        msgspec.structs.replace(
            violation, path=f"requests[{index}].params.{violation.path}".rstrip(".")
        )
        for index, item in enumerate(requests)
        for violation in check(item.params, "", provider, version=version)
        if violation.severity == "error"
    ]


def _form(requests: Sequence[BatchRequest]) -> Iterator[Violation]:
    """Yield the violations that a batch adds to those of its requests."""
    seen: set[str] = set()
    for index, item in enumerate(requests):
        path = f"requests[{index}]"
        if not CUSTOM_ID.fullmatch(item.custom_id):
            yield Violation(f"{path}.custom_id", "expected 1 to 64 letters, digits, _ and -")
        elif item.custom_id in seen:
            yield Violation(f"{path}.custom_id", f"{item.custom_id!r} is the id of another request")
        seen.add(item.custom_id)
        if item.params.stream:
            yield Violation(f"{path}.params.stream", "a batch does not stream", remedy="remove it")
        for name in HEADER_FIELDS:
            if getattr(item.params, name) is not None:
                yield Violation(
                    f"{path}.params.{name}",
                    "a header, which all requests of a batch share",
                    remedy=f"set BatchCreateRequest.{name}",
                )
