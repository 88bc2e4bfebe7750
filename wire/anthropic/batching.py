"""Batches and uploaded files of the neutral door."""

from __future__ import annotations

from collections.abc import Mapping

from wire.anthropic import batches, files
from wire.anthropic.endpoints import plain
from wire.anthropic.error_body import ERRORS
from wire.anthropic.parts import IMAGE_TYPES, PDF
from wire.anthropic.rendering import reply_call as reply_call
from wire.anthropic.types import MessageBatch, MessageBatchResult
from wire.core.call import Call
from wire.core.errors import RuleError, StreamInvalid, Violation
from wire.core.flow import Flow, ask
from wire.core.memory import encode
from wire.core.provider import Provider
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
from wire.neutral.media_types import is_text
from wire.neutral.messages import Media, Reply

MAX_REQUESTS = 100_000
"""Requests of one batch."""
MAX_BYTES = 256_000_000
"""Bytes of the body that creates a batch. Source: Anthropic's API reference of errors."""
_PAGE = 100
_JSON = {"content-type": "application/json"}


def create_batch(
    calls: Mapping[str, Call[Reply]], model: str, row: Provider, name: str = ""
) -> Flow[Batch]:
    """Return a flow that submits the bodies of calls by the ids of their requests.

    Batches have no names.

    The batch names the beta features of all its requests. Raises `RuleError` for an id that the
    server would refuse.
    """
    violations: list[Violation] = []
    betas: dict[str, None] = {}
    for id, call in calls.items():
        if not batches.CUSTOM_ID.fullmatch(id):
            problem = "expected an id of 1 to 64 letters, digits, _ and -"
            violations.append(Violation(f"requests[{id!r}]", problem))
        if named := str(call.headers.get("anthropic-beta", "")):
            betas |= dict.fromkeys(named.split(","))
    if violations:
        raise RuleError(violations=violations)
    items = (
        b'{"custom_id":%b,"params":%b}' % (encode(id), call.body) for id, call in calls.items()
    )
    sent = {**({"anthropic-beta": ",".join(betas)} if betas else {}), **_JSON}
    body = b'{"requests":[%b]}' % b",".join(items)
    made = yield from ask(plain(MessageBatch, "POST", "/messages/batches", body, sent=sent))
    return _batch(made, row)


def newest_batch(row: Provider) -> Flow[str]:
    """Return a flow that reads the id of the newest batch; empty if there is none."""
    page = yield from ask(batches.list_batches(limit=1))
    return (page.data[0].id or "") if page.data else ""


def find_batch(name: str, total: int, after: str, row: Provider) -> Flow[Batch | None]:
    """Return a flow that searches for the first batch after another one that has the given number
    of requests.
    """
    found: Batch | None = None
    last: str | None = None
    for _ in range(MOST_PAGES):
        page = yield from ask(batches.list_batches(limit=_PAGE, after_id=last))
        for each in page.data or ():  # the newest first
            if each.id == after:
                return found
            batch = _batch(each, row)
            found = batch if batch.counts.total == total else found
        last = page.last_id
        if not page.has_more or not last:
            break
    return found


def get_batch(id: str, row: Provider) -> Flow[Batch]:
    """Return a flow that reads the state of a batch."""
    return _batch((yield from ask(batches.get_batch(id))), row)


def cancel_batch(id: str, row: Provider) -> Flow[Batch]:
    """Return a flow that stops a batch."""
    return _batch((yield from ask(batches.cancel_batch(id))), row)


def batch_results(batch: Batch, row: Provider) -> Flow[list[ResultLine]]:
    """Return a flow that reads the results of a batch that has ended."""
    results = yield from ask(batches.batch_results(batch.id))
    return [_line(each, batch.id) for each in results]


def _line(result: MessageBatchResult, batch: str) -> ResultLine:
    id, outcome = result.custom_id or "", result.result
    match outcome and outcome.type:
        case "expired":
            return ResultLine(id, b"", without_answer(EXPIRED, batch))
        case "canceled":
            return ResultLine(id, b"", without_answer(CANCELLED, batch))
    if outcome is not None and outcome.message is not None:
        return ResultLine(id, outcome.message.raw or encode(outcome.message))
    data = encode(outcome.error) if outcome is not None and outcome.error is not None else b""
    error = ERRORS.in_success(data, certain=True) if data else None
    problem = f"the result {id!r} of {batch} has neither a message nor an error"
    return ResultLine(id, b"", error or StreamInvalid(problem, raw=result.raw or b""))


def _batch(batch: MessageBatch, row: Provider) -> Batch:
    counts = batch.request_counts
    return Batch(
        id=batch.id or "",
        provider=row.name,
        status=_status(batch),
        vendor_status=batch.processing_status or "",
        counts=BatchCounts()
        if counts is None
        else BatchCounts(
            total=sum(getattr(counts, name) or 0 for name in counts.__struct_fields__),
            running=counts.processing,
            succeeded=counts.succeeded,
            failed=counts.errored,
            expired=counts.expired,
            cancelled=counts.canceled,
        ),
        created_at=unix_time(batch.created_at),
        expires_at=unix_time(batch.expires_at),
        answer=batch,
    )


def _status(batch: MessageBatch) -> BatchStatus:
    if batch.processing_status == "canceling":
        return "cancelling"
    if batch.processing_status != "ended":
        return "running"
    counts = batch.request_counts
    if counts is not None and counts.canceled:
        return "cancelled"
    return "expired" if counts is not None and counts.expired else "completed"


# --- files ----------------------------------------------------------------------------------------


def upload(upload: Upload, model: str, row: Provider) -> Flow[Media]:
    """Return a flow that uploads a file and returns media that refer to it.

    A text is uploaded as `text/plain`, the only type of text that messages refer to. Raises
    `RuleError` for a type that messages do not have.
    """
    kind = upload.media_type
    if is_text(kind):
        kind = "text/plain"
    elif kind not in (*IMAGE_TYPES, PDF):
        problem = f"expected an image (jpeg, png, gif, webp), PDF or text, not {kind}"
        raise RuleError(violations=[Violation("media_type", problem)])
    file = yield from ask(
        files.upload_file(upload.data, filename=upload.name, media_type=kind, size=upload.size)
    )
    return Media(url=file.id or "", media_type=kind, name=upload.name)


def delete_file(reference: str, row: Provider) -> Flow[object]:
    """Return a flow that deletes the file of `Media.url`."""
    return (yield from ask(files.delete_file(reference)))


def file_reference() -> str:
    """Return a placeholder for `Media.url`, for a request that is checked before the upload."""
    return "file_x"
