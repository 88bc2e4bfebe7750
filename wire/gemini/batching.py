"""Batches and uploaded files of the neutral door."""

from __future__ import annotations

from collections.abc import Mapping

from wire.core.call import Call
from wire.core.errors import StreamInvalid, retryable_status
from wire.core.flow import Flow, ask
from wire.core.json_lines import join_lines
from wire.core.memory import encode
from wire.core.provider import Provider
from wire.gemini import batches, files, uploads
from wire.gemini.failures import failed
from wire.gemini.paths import not_on_vertex, resource
from wire.gemini.rendering import reply_call as reply_call
from wire.gemini.types import BatchOperation, BatchState, InlinedResponse
from wire.neutral.batches import (
    CANCELLED,
    EXPIRED,
    MOST_PAGES,
    Batch,
    BatchCounts,
    BatchStatus,
    ResultLine,
    Upload,
    unix_time,
    without_answer,
)
from wire.neutral.messages import Media, Reply

MAX_REQUESTS = 50_000
"""Requests of one batch."""
MAX_BYTES = 2_000_000_000
"""Bytes of the file of requests. Source: Gemini API, guides of batches and files."""
_PAGE = 100
MAX_INLINE_BYTES = 16 * 1024 * 1024
"""A larger batch is uploaded as a file: the server takes bodies of up to 20 MB."""
INPUT_NAME = "wire-batch.jsonl"
"""Name of the file of requests at the vendor."""

_STATUSES: dict[str, BatchStatus] = {
    BatchState.SUCCEEDED: "completed",
    BatchState.FAILED: "failed",
    BatchState.CANCELLED: "cancelled",
    BatchState.EXPIRED: "expired",
}


def create_batch(
    calls: Mapping[str, Call[Reply]], model: str, row: Provider, name: str = ""
) -> Flow[Batch]:
    """Return a flow that submits the bodies of calls by the ids of their requests.

    Raises `ConfigurationError` on Vertex, which has another batch API.
    """
    path = f"/{resource(model)}:batchGenerateContent"
    shown = name or INPUT_NAME
    size = sum(len(call.body) + len(id) + 40 for id, call in calls.items())
    if size <= MAX_INLINE_BYTES:
        items = b",".join(
            b'{"request":%b,"metadata":{"key":%b}}' % (call.body, encode(id))
            for id, call in calls.items()
        )
        body = b'{"batch":{"displayName":%b,"inputConfig":{"requests":{"requests":[%b]}}}}'
        call = batches.batch_call("POST", path, body % (encode(shown), items))
    else:
        not_on_vertex(batches.batch_call("POST", path), row)
        lines = (b'{"key":%b,"request":%b}' % (encode(id), call.body) for id, call in calls.items())
        data = join_lines(lines)
        file = yield from uploads.upload_file(
            data, mime_type="application/jsonl", display_name=INPUT_NAME
        )
        call = batches.create_batch(model, file.name or "", display_name=shown)
    return _batch((yield from ask(call)), row)


def newest_batch(row: Provider) -> Flow[str]:
    """Return a flow that makes no call and returns an empty id, since batches have names."""
    yield from ()
    return ""


def find_batch(name: str, total: int, after: str, row: Provider) -> Flow[Batch | None]:
    """Return a flow that searches for the batch with the given name."""
    token: str | None = None
    for _ in range(MOST_PAGES):
        page = yield from ask(batches.list_batches(_PAGE, token))
        for each in page.operations or ():
            if each.metadata is not None and each.metadata.display_name == name:
                return _batch(each, row)
        token = page.next_page_token
        if not token:
            break
    return None


def get_batch(id: str, row: Provider) -> Flow[Batch]:
    """Return a flow that reads the state of a batch."""
    return _batch((yield from ask(batches.get_batch(id))), row)


def cancel_batch(id: str, row: Provider) -> Flow[Batch]:
    """Return a flow that stops a batch and reads its state."""
    yield from ask(batches.cancel_batch(id))
    return (yield from get_batch(id, row))


def batch_results(batch: Batch, row: Provider) -> Flow[list[ResultLine]]:
    """Return a flow that reads the results of a batch that has ended.

    Raises the batch's own error if it has no results.
    """
    answer: BatchOperation = batch.answer
    output = answer.response
    if output is None and answer.metadata is not None:
        output = answer.metadata.output
    results = answer.results
    if output is not None and output.responses_file:
        data = yield from ask(files.download_file(output.responses_file))
        results = batches.batch_results(data)
    if output is None and batch.status in ("expired", "cancelled"):
        raise without_answer(EXPIRED if batch.status == "expired" else CANCELLED, batch.id)
    if output is None:
        raise failed(answer.error, f"{batch.id} is {batch.vendor_status}", answer.raw or b"")
    return [_line(each, number, batch.id) for number, each in enumerate(results)]


def _line(result: InlinedResponse, number: int, batch: str) -> ResultLine:
    """Convert one result to a line.

    A result without a key is named by its number, since results are in the order of the requests.
    """
    key = result.key or (result.metadata or {}).get("key")
    id = key if isinstance(key, str) else str(number)
    if result.response is not None:
        return ResultLine(id, result.response.raw or encode(result.response))
    if result.error is not None:
        error = failed(result.error, f"the request {id!r} of {batch} failed")
        error.retryable = retryable_status(error.status or 500)
        return ResultLine(id, b"", error)
    problem = f"the result {id!r} of {batch} has neither a response nor an error"
    return ResultLine(id, b"", StreamInvalid(problem, raw=result.raw or b""))


def _batch(operation: BatchOperation, row: Provider) -> Batch:
    metadata = operation.metadata
    state = str((metadata and metadata.state) or "")
    status = _STATUSES.get(state, "running")
    if status == "running" and operation.done:
        status = "failed" if operation.error is not None else "completed"
    stats = metadata.batch_stats if metadata is not None else None
    return Batch(
        id=operation.name or "",
        provider=row.name,
        status=status,
        vendor_status=state,
        counts=BatchCounts()
        if stats is None
        else BatchCounts(
            total=_count(stats.request_count),
            running=_count(stats.pending_request_count),
            succeeded=_count(stats.successful_request_count),
            failed=_count(stats.failed_request_count),
        ),
        created_at=unix_time(metadata.create_time if metadata is not None else None),
        answer=operation,
    )


def _count(number: int | str | None) -> int | None:
    return None if number is None or not str(number).isdecimal() else int(number)


# --- files ----------------------------------------------------------------------------------------


def upload(upload: Upload, model: str, row: Provider) -> Flow[Media]:
    """Return a flow that uploads a file, waits until the server has processed it, and returns media
    that refer to it.
    """
    not_on_vertex(files.get_file("x"), row)
    file = yield from uploads.upload_file(
        upload.data, mime_type=upload.media_type, display_name=upload.name, size=upload.size
    )
    ready = yield from files.wait_for_file(file)
    return Media(url=ready.uri or "", media_type=ready.mime_type or upload.media_type)


def delete_file(reference: str, row: Provider) -> Flow[object]:
    """Return a flow that deletes the file of `Media.url`."""
    return (yield from ask(files.delete_file(f"files/{reference.rpartition('/')[2]}")))


def file_reference() -> str:
    """Return a placeholder for `Media.url`, for a request that is checked before the upload."""
    return "https://generativelanguage.googleapis.com/v1beta/files/x"
