"""Calls of batches, a flow that waits for one, and the files of results.
`wire.openai.batch_file` writes the files of requests.

Paths are relative to a base URL that ends in the version. Source of paths and bodies: OpenAI's API
reference 2.3.0, 2026-08-21. Results as recorded, 2026-08.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from wire.core import json_values
from wire.core.arguments import checked_arguments, whole_number
from wire.core.bodies import checked_body
from wire.core.call import Call
from wire.core.errors import LimitError, RuleError, StreamInvalid, Violation
from wire.core.flow import Flow, ask
from wire.core.json_lines import numbered_lines
from wire.core.lenient import Unreadable, decoded
from wire.core.memory import encode
from wire.core.path_segment import path_segment
from wire.core.polling import PollPolicy, polled
from wire.core.reading import shown
from wire.openai.common.endpoints import JSON, page, plain
from wire.openai.common.files import LEAST_EXPIRY_SECONDS, MOST_EXPIRY_SECONDS
from wire.openai.common.types.batches import Batch, BatchCreateRequest, BatchList, BatchResult
from wire.openai.common.types.files import ExpiresAfter

ENDPOINTS = ("/v1/chat/completions", "/v1/responses", "/v1/embeddings")
"""Endpoints of batches that the library has requests for; OpenAI has more."""

# --- calls ----------------------------------------------------------------------------------------


@checked_arguments()
def create_batch(
    input_file_id: str,
    endpoint: str,
    *,
    completion_window: str = "24h",
    metadata: Mapping[str, str] | None = None,
    output_expires_after: int | None = None,
) -> Call[Batch]:
    """Build a call that creates a batch of the requests in an uploaded file, written with
    `batch_lines`.

    >>> create_batch("file-1", "/v1/responses").body
    b'{"input_file_id":"file-1","endpoint":"/v1/responses","completion_window":"24h"}'

    `endpoint` is the `url` of all lines. `output_expires_after` is the number of seconds after
    which the server deletes the files of results and errors, an hour to 30 days.

    Raises `RuleError` for an argument of a wrong type or out of range.
    """
    path_segment("input_file_id", input_file_id, "file-1")
    if not endpoint.startswith("/"):
        raise _refused("endpoint", f"expected a path such as {ENDPOINTS[0]}")
    expiry = None
    if output_expires_after is not None:
        whole_number(
            "output_expires_after",
            output_expires_after,
            LEAST_EXPIRY_SECONDS,
            MOST_EXPIRY_SECONDS,
        )
        expiry = ExpiresAfter(anchor="created_at", seconds=output_expires_after)
    request = BatchCreateRequest(
        input_file_id=input_file_id,
        endpoint=endpoint,
        completion_window=completion_window,
        metadata=None if metadata is None else dict(metadata),
        output_expires_after=expiry,
    )
    body, _ = checked_body(request)
    return plain(Batch, "POST", "/batches", body, headers=JSON)


@checked_arguments()
def get_batch(batch_id: str) -> Call[Batch]:
    """Build a call that returns the state of a batch.

    >>> get_batch("batch_1").path
    '/batches/batch_1'

    Raises `ConfigurationError` for a malformed id.
    """
    return plain(Batch, "GET", _path(batch_id))


@checked_arguments()
def list_batches(*, limit: int | None = None, after: str | None = None) -> Call[BatchList]:
    """Build a call that returns one page of the batches, the newest first.

    >>> list_batches(limit=2, after="batch_1").query
    {'limit': '2', 'after': 'batch_1'}

    `limit` is the number of batches, 20 if absent; `after` is the `last_id` of the page before.

    Raises `ConfigurationError` for a malformed parameter.
    """
    return plain(BatchList, "GET", "/batches", query=page(limit, None, after))


@checked_arguments()
def cancel_batch(batch_id: str) -> Call[Batch]:
    """Build a call that stops a batch.

    It is `cancelling` for up to ten minutes; then the results that it has so far are in its files.

    >>> cancel_batch("batch_1").path
    '/batches/batch_1/cancel'

    Raises `ConfigurationError` for a malformed id.
    """
    return plain(Batch, "POST", f"{_path(batch_id)}/cancel")


def _path(batch_id: str) -> str:
    return f"/batches/{path_segment('batch_id', batch_id, 'batch_1')}"


_RUNNING_STATES = frozenset({"validating", "in_progress", "finalizing", "cancelling"})


@checked_arguments()
def wait_for_batch(
    batch: str | Batch, *, every: float = 30.0, most: float = 86400.0
) -> Flow[Batch]:
    """Return a flow that polls a batch until it has ended, and then returns the batch.

    Run it with `client.run(flow)`.

    `every` is the pause between two polls, `most` the sum of the pauses, both in seconds. A batch
    that failed, expired or was cancelled is returned too: it may have results.

    >>> next(wait_for_batch("batch_1")).path
    '/batches/batch_1'

    Raises `TotalClock` after `most` seconds of pauses.
    """
    name = (batch.id if isinstance(batch, Batch) else batch) or ""
    read = functools.partial(ask, get_batch(name))
    return polled(name, read, _pending, PollPolicy(every, most))


def _pending(batch: Batch) -> str | None:
    running = batch.status is None or batch.status in _RUNNING_STATES
    return batch.status or "" if running else None


# --- files ----------------------------------------------------------------------------------------


def input_line(custom_id: str, url: str, body: bytes) -> bytes:
    """Encode one line of a file of requests."""
    id = encode(json_values.checked(custom_id, "custom_id"))
    return b'{"custom_id":%b,"method":"POST","url":"%b","body":%b}' % (id, url.encode(), body)


@checked_arguments()
def batch_results(data: bytes) -> list[BatchResult]:
    """Parse a file of results or of errors, as `download_file` returns it.

    >>> data = b'{"custom_id":"a","response":{"status_code":200,"body":{"id":"resp_1"}}}'
    >>> [result] = batch_results(data)
    >>> result.custom_id, result.response.status_code
    ('a', 200)

    Raises `StreamInvalid` with the number of a malformed line, counted from 1.
    """
    return [_result(line, number) for number, line in numbered_lines(data)]


def _result(line: bytes, number: int) -> BatchResult:
    try:
        result = decoded(line, BatchResult)
    except (Unreadable, LimitError) as cause:
        problem = str(cause)
    else:
        problem = "no custom_id"
        if result.custom_id is not None:
            return result
    raise StreamInvalid(
        f"line {number} is not a result of a batch ({problem}): {shown(line)}", raw=line
    )


def _refused(path: str, problem: str) -> RuleError:
    return RuleError(violations=[Violation(path, problem)])
