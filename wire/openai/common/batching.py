"""Batches and uploaded files of the neutral door, for all families of endpoints."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from wire.core.call import Call
from wire.core.errors import BadRequestError, ConfigurationError, RuleError, Violation, WireError
from wire.core.flow import Flow, ask
from wire.core.json_lines import join_lines
from wire.core.lenient import fields_of
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
    without_answer,
)
from wire.neutral.messages import Media, Reply
from wire.openai.common import batches, files
from wire.openai.common.error_body import ERRORS, parse_error
from wire.openai.common.types import batches as types

MAX_REQUESTS = 50_000
"""Requests of one batch."""
MAX_BYTES = 200_000_000
"""Bytes of the file of requests. Source: OpenAI's API reference, create batch."""
INPUT_NAME = "wire-batch.jsonl"
"""Name of the file of requests at the vendor."""

_NAME = "name"
"""Key of the name of a batch in its metadata."""
_PAGE = 100
_OTHER_APIS = frozenset({"mistral", "xai"})
"""Providers with a batch API of their own (recorded 2026-08: `/batches/ID/requests` of xAI)."""


def create_batch(
    calls: Mapping[str, Call[Reply]], model: str, row: Provider, name: str = ""
) -> Flow[Batch]:
    """Return a flow that uploads the bodies of calls and creates a batch of them.

    Raises `ConfigurationError` for a host with another batch API.
    """
    _check_host(row)
    (path,) = {call.path for call in calls.values()}
    url = f"/v1{path}"
    data = join_lines(batches.input_line(id, url, call.body) for id, call in calls.items())
    file = yield from ask(files.upload_file(data, purpose="batch", filename=INPUT_NAME))
    metadata = {_NAME: name} if name else None
    made = yield from ask(batches.create_batch(file.id or "", url, metadata=metadata))
    return _batch(made, row)


def newest_batch(row: Provider) -> Flow[str]:
    """Return a flow that makes no call and returns an empty id, since batches have names."""
    _check_host(row)
    yield from ()
    return ""


def find_batch(name: str, total: int, after: str, row: Provider) -> Flow[Batch | None]:
    """Return a flow that searches for the batch with the given name."""
    _check_host(row)
    last: str | None = None
    for _ in range(MOST_PAGES):
        page = yield from ask(batches.list_batches(limit=_PAGE, after=last))
        for each in page.data or ():
            if (each.metadata or {}).get(_NAME) == name:
                return _batch(each, row)
        last = page.last_id
        if not page.has_more or not last:
            break
    return None


def get_batch(id: str, row: Provider) -> Flow[Batch]:
    """Return a flow that reads the state of a batch."""
    _check_host(row)
    return _batch((yield from ask(batches.get_batch(id))), row)


def cancel_batch(id: str, row: Provider) -> Flow[Batch]:
    """Return a flow that stops a batch."""
    _check_host(row)
    return _batch((yield from ask(batches.cancel_batch(id))), row)


def _check_host(row: Provider) -> None:
    if row.family in _OTHER_APIS:
        raise ConfigurationError(
            f"batches: {row.family} has a batch API of its own, which this library does not speak",
            provider=row.name,
        )


def batch_results(batch: Batch, row: Provider) -> Flow[list[ResultLine]]:
    """Return a flow that reads the files of results and errors of a batch that has ended.

    Raises `BadRequestError` with the errors of the input file for a batch that failed.
    """
    answer: types.Batch = batch.answer
    names = [name for name in (answer.output_file_id, answer.error_file_id) if name]
    if not names and batch.status == "failed":
        raise _failed(answer, batch.id)
    lines: list[ResultLine] = []
    for name in names:
        data = yield from ask(files.download_file(name))
        lines += [_line(each, batch.id) for each in batches.batch_results(data)]
    return lines


def _failed(batch: types.Batch, id: str) -> BadRequestError:
    errors = (batch.errors and batch.errors.data) or []
    words = [
        f"{each.message}{'' if each.line is None else f' (line {each.line})'}" for each in errors
    ]
    return BadRequestError(
        f"{id} failed: {'; '.join(words) or 'no message'}",
        code=errors[0].code if errors else None,
        details=errors,
        raw=batch.raw or b"",
    )


def _line(result: types.BatchResult, batch: str) -> ResultLine:
    id, response = result.custom_id or "", result.response
    if response is not None and response.body is not None:
        line = fields_of(msgspec.Raw(result.raw or encode(result)))
        body = bytes(fields_of(line["response"])["body"])
        status = response.status_code or 200
        if 200 <= status < 300:
            return ResultLine(id, body)
        error: WireError = parse_error(status, {}, body)
        error.request_id = error.request_id or response.request_id
        return ResultLine(id, b"", error)
    code = result.error.code if result.error is not None else None
    if code in (EXPIRED, CANCELLED):
        return ResultLine(id, b"", without_answer(code, batch))
    return ResultLine(id, b"", ERRORS.without_words(result.raw or b""))


def _batch(batch: types.Batch, row: Provider) -> Batch:
    counts, status = batch.request_counts, _status(batch.status)
    return Batch(
        id=batch.id or "",
        provider=row.name,
        status=status,
        vendor_status=batch.status or "",
        # All are 0 until the server has read the file.
        counts=BatchCounts()
        if counts is None or not counts.total
        else BatchCounts(total=counts.total, succeeded=counts.completed, failed=counts.failed),
        created_at=batch.created_at,
        expires_at=batch.expires_at,
        answer=batch,
    )


def _status(word: str | None) -> BatchStatus:
    match word:
        case "completed" | "failed" | "expired" | "cancelled" | "cancelling":
            return word
    return "running"


# --- files ----------------------------------------------------------------------------------------


def uploaded(upload: Upload, purpose: str) -> Flow[Media]:
    """Return a flow that uploads a file and returns media that refer to it."""
    call = files.upload_file(
        upload.data,
        purpose=purpose,
        filename=upload.name,
        media_type=upload.media_type,
        size=upload.size,
    )
    file = yield from ask(call)
    return Media(url=file.id or "", media_type=upload.media_type, name=upload.name)


def delete_file(reference: str, row: Provider) -> Flow[object]:
    """Return a flow that deletes the file of `Media.url`."""
    return (yield from ask(files.delete_file(reference)))


def file_reference() -> str:
    """Return a placeholder for `Media.url`, for a request that is checked before the upload."""
    return "file-x"


def refused_type(problem: str) -> RuleError:
    """Build the error for a file of a type that a family of endpoints does not refer to."""
    return RuleError(violations=[Violation("media_type", problem)])
