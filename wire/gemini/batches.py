"""Calls of batches, flows that wait for one, and the files of requests and results."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from wire.core import json_values
from wire.core.arguments import checked_arguments
from wire.core.bodies import wrong_type
from wire.core.call import Call
from wire.core.errors import LimitError, RuleError, StreamInvalid, Violation, violations_below
from wire.core.flow import Flow, ask
from wire.core.json_lines import join_lines, numbered_lines
from wire.core.lenient import Fields, Unreadable, decoded, fields_of, items_of
from wire.core.memory import WireStruct, encode
from wire.core.polling import PollPolicy, polled
from wire.core.reading import shown
from wire.gemini.endpoints import generate_body
from wire.gemini.failures import failed
from wire.gemini.fold import keep_bytes
from wire.gemini.paths import checked, named, not_on_vertex, page, plain, resource
from wire.gemini.reader import parse_plain
from wire.gemini.types import (
    AsyncBatchEmbedContentRequest,
    BatchGenerateContentRequest,
    BatchOperation,
    BatchState,
    EmbedBatchOperation,
    EmbedContentBatch,
    Empty,
    GenerateContentBatch,
    GenerateContentBatchOutput,
    GenerateContentRequest,
    GenerateContentResponse,
    InlinedEmbedContentResponse,
    InlinedRequest,
    InlinedRequests,
    InlinedResponse,
    InputConfig,
    ListBatchesResponse,
    Status,
)

T = TypeVar("T", bound=WireStruct)
Job = TypeVar("Job", BatchOperation, EmbedBatchOperation)

# --- calls ----------------------------------------------------------------------------------------


@checked_arguments()
def create_batch(
    model: str,
    requests: str | Sequence[InlinedRequest | GenerateContentRequest] | GenerateContentBatch,
    *,
    display_name: str | None = None,
) -> Call[BatchOperation]:
    """Start a batch of requests.

    `requests` is a list, the name of an uploaded file (`files/ID`, written with `batch_lines`), or
    a `GenerateContentBatch`.

    >>> print(create_batch("gemini-3.8-flash", "files/abc", display_name="b").preview())
    POST /models/gemini-3.8-flash:batchGenerateContent
    content-type: application/json
    <BLANKLINE>
    {"batch":{"displayName":"b","inputConfig":{"fileName":"files/abc"}}}

    Raises `RuleError` as `generate_content` does; its paths name the request in the body.
    """
    body = checked(
        BatchGenerateContentRequest(batch=_batch(requests, display_name)),
        BatchGenerateContentRequest,
    )
    return batch_call("POST", f"/{resource(model)}:batchGenerateContent", body)


@checked_arguments()
def create_embed_batch(model: str, batch: EmbedContentBatch) -> Call[EmbedBatchOperation]:
    """Start a batch of embeddings. Poll it with `wait_for_embed_batch`.

    >>> from wire.gemini.types import InputEmbedContentConfig
    >>> batch = EmbedContentBatch(input_config=InputEmbedContentConfig(file_name="files/abc"))
    >>> create_embed_batch("gemini-embedding-001", batch).target
    '/models/gemini-embedding-001:asyncBatchEmbedContent'
    """
    if not isinstance(batch, EmbedContentBatch):
        raise wrong_type("batch", batch, "EmbedContentBatch")
    body = checked(AsyncBatchEmbedContentRequest(batch=batch), AsyncBatchEmbedContentRequest)
    return plain(
        EmbedBatchOperation,
        "POST",
        f"/{resource(model)}:asyncBatchEmbedContent",
        body,
        host_rules=not_on_vertex,
    )


@checked_arguments()
def get_batch(name: str) -> Call[BatchOperation]:
    """Read a batch: its state, and, once it is done, its results or the name of their file.

    >>> get_batch("abc").target
    '/batches/abc'
    """
    return batch_call("GET", f"/{named(name, 'batches')}")


@checked_arguments()
def get_embed_batch(name: str) -> Call[EmbedBatchOperation]:
    """Read a batch of embeddings, as `get_batch`."""
    return plain(EmbedBatchOperation, "GET", f"/{named(name, 'batches')}", host_rules=not_on_vertex)


@checked_arguments()
def list_batches(
    page_size: int | None = None, page_token: str | None = None
) -> Call[ListBatchesResponse]:
    """List one page of the batches. Pass the response's `next_page_token` for the next page."""
    return plain(
        ListBatchesResponse,
        "GET",
        "/batches",
        query=page(page_size, page_token),
        host_rules=not_on_vertex,
    )


@checked_arguments()
def update_batch(
    name: str, batch: GenerateContentBatch, *, update_mask: str
) -> Call[GenerateContentBatch]:
    """Change the fields of a batch that `update_mask` names, such as `priority`.

    >>> call = update_batch("abc", GenerateContentBatch(priority=5), update_mask="priority")
    >>> print(call.method, call.target, call.body.decode())
    PATCH /batches/abc:updateGenerateContentBatch?updateMask=priority {"priority":5}

    Raises `RuleError` for an empty mask.
    """
    path, body = (
        f"/{named(name, 'batches')}:updateGenerateContentBatch",
        checked(batch, GenerateContentBatch, "batch"),
    )
    return plain(
        GenerateContentBatch, "PATCH", path, body, _mask(update_mask), host_rules=not_on_vertex
    )


@checked_arguments()
def update_embed_batch(
    name: str, batch: EmbedContentBatch, *, update_mask: str
) -> Call[EmbedContentBatch]:
    """Change the fields of a batch of embeddings, as `update_batch`."""
    path, body = (
        f"/{named(name, 'batches')}:updateEmbedContentBatch",
        checked(batch, EmbedContentBatch, "batch"),
    )
    return plain(
        EmbedContentBatch, "PATCH", path, body, _mask(update_mask), host_rules=not_on_vertex
    )


@checked_arguments()
def cancel_batch(name: str) -> Call[Empty]:
    """Stop a batch. The results of requests that have ended are kept."""
    return plain(Empty, "POST", f"/{named(name, 'batches')}:cancel", host_rules=not_on_vertex)


@checked_arguments()
def delete_batch(name: str) -> Call[Empty]:
    """Delete a batch. Cancel a running batch first."""
    return plain(Empty, "DELETE", f"/{named(name, 'batches')}", host_rules=not_on_vertex)


def _batch(requests: Any, display_name: str | None) -> GenerateContentBatch:
    """Build the batch message from any form of `requests`."""
    if isinstance(requests, GenerateContentBatch):
        return (
            requests
            if display_name is None
            else msgspec.structs.replace(requests, display_name=display_name)
        )
    if isinstance(requests, str):
        return GenerateContentBatch(
            display_name=display_name, input_config=InputConfig(file_name=named(requests, "files"))
        )
    if not isinstance(requests, (list, tuple)) or not requests:
        raise wrong_type(
            "requests",
            requests,
            "list of GenerateContentRequests, a file's name or a GenerateContentBatch",
        )
    items = [
        InlinedRequest(request=each) if isinstance(each, GenerateContentRequest) else each
        for each in requests
    ]
    for index, item in enumerate(items):
        _request_body(
            item.request if isinstance(item, InlinedRequest) else item,
            f"batch.inputConfig.requests.requests[{index}].request",
        )
    return GenerateContentBatch(
        display_name=display_name,
        input_config=InputConfig(requests=InlinedRequests(requests=items)),
    )


def batch_call(method: str, path: str, body: bytes = b"") -> Call[BatchOperation]:
    """Build a call whose response is a batch."""
    return msgspec.structs.replace(
        plain(BatchOperation, method, path, body, host_rules=not_on_vertex), parse=parse_batch
    )


def _request_body(request: Any, path: str) -> bytes:
    """Encode one request of a batch as JSON.

    Raises `RuleError` as `generate_content` does; `path` of the request begins its paths.
    """
    try:
        return generate_body(request)
    except RuleError as error:
        raise RuleError(violations=violations_below(path, error)) from None


def _mask(update_mask: str) -> dict[str, str]:
    if not isinstance(update_mask, str) or not update_mask:
        raise RuleError(
            violations=[Violation("updateMask", "expected names of fields, separated by commas")]
        )
    return {"updateMask": update_mask}


# --- responses ------------------------------------------------------------------------------------


def parse_batch(body: bytes) -> BatchOperation:
    """Parse a batch.

    Each response in it remembers its bytes, so that a later request can send its Content back
    unchanged.

    Raises the provider's error if the body is one, `StreamInvalid` if it is malformed.
    """
    operation = parse_plain(BatchOperation, body)
    _remember_responses(operation.response, body, "response")
    if operation.metadata is not None:
        _remember_responses(operation.metadata.output, body, "metadata", "output")
    return operation


def _remember_responses(output: GenerateContentBatchOutput | None, body: bytes, *path: str) -> None:
    inlined = output.inlined_responses if output is not None else None
    items = inlined.inlined_responses if inlined is not None else None
    if items:
        # Walks to the list in the undecoded body: the decoded structs no longer have their bytes.
        raw = msgspec.Raw(body)
        for key in (*path, "inlinedResponses", "inlinedResponses"):
            raw = fields_of(raw)[key]
        for item, item_bytes in zip(items, items_of(raw), strict=True):
            _remember_response(item, fields_of(item_bytes))


def _remember_response(item: InlinedResponse, fields: Fields) -> None:
    if item.response is not None:
        # Decodes the response a second time, on its own: bytes that are not strict JSON are
        # repaired per response, and the remembered bytes must be those that were decoded.
        raw = bytes(fields["response"])
        response = keep_bytes(decoded(raw, GenerateContentResponse), raw)
        msgspec.structs.force_setattr(item, "response", response)


@checked_arguments()
def wait_for_batch(
    batch: str | BatchOperation, *, every: float = 30.0, most: float = 86400.0
) -> Flow[BatchOperation]:
    """Return a flow that polls a batch until it is done, and then returns the batch.

    Run it with `client.run(flow)`.

    `every` is the pause between two polls, `most` the sum of the pauses, both in seconds.

    >>> next(wait_for_batch("batches/abc")).target
    '/batches/abc'

    Raises the batch's own error if it failed, was cancelled or expired; `TotalClock` after `most`
    seconds of pauses.
    """
    name = named((batch.name if isinstance(batch, BatchOperation) else batch) or "", "batches")
    return _polled(get_batch(name), name, PollPolicy(every, most))


@checked_arguments()
def wait_for_embed_batch(
    batch: str | EmbedBatchOperation, *, every: float = 30.0, most: float = 86400.0
) -> Flow[EmbedBatchOperation]:
    """Return a flow that polls a batch of embeddings, as `wait_for_batch`."""
    name = named((batch.name if isinstance(batch, EmbedBatchOperation) else batch) or "", "batches")
    return _polled(get_embed_batch(name), name, PollPolicy(every, most))


_UNSUCCESSFUL_STATES = (BatchState.FAILED, BatchState.CANCELLED, BatchState.EXPIRED)


def _polled(call: Call[Job], name: str, policy: PollPolicy) -> Flow[Job]:
    return polled(name, functools.partial(ask, call), functools.partial(_pending, name), policy)


def _pending(name: str, operation: BatchOperation | EmbedBatchOperation) -> str | None:
    state = operation.metadata.state if operation.metadata else None
    if operation.error is not None or state in _UNSUCCESSFUL_STATES:
        raise failed(operation.error, f"{name} is {state or 'at its end'}", operation.raw or b"")
    return None if operation.done else str(state or "")


# --- files ----------------------------------------------------------------------------------------


@checked_arguments()
def batch_lines(requests: Mapping[str, GenerateContentRequest]) -> bytes:
    """Build the file of requests for `create_batch`, with one JSON line for each request.

    Upload it with `upload_file`. The key of each request comes back with its result.

    >>> from wire.gemini import contents
    >>> batch_lines({"a": GenerateContentRequest(contents=contents("Hi"))})
    b'{"key":"a","request":{"contents":[{"parts":[{"text":"Hi"}],"role":"user"}]}}\\n'

    Raises `RuleError` as `generate_content` does; its paths begin with `requests[KEY]`.
    """
    if (
        not isinstance(requests, Mapping)
        or not requests
        or not all(isinstance(key, str) for key in requests)
    ):
        raise wrong_type("requests", requests, "mapping of keys to GenerateContentRequests")
    lines = [
        b'{"key":%s,"request":%s}'
        % (
            encode(json_values.checked(key, "requests")),
            _request_body(request, f"requests[{key!r}]"),
        )
        for key, request in requests.items()
    ]
    return join_lines(lines)


@checked_arguments()
def batch_results(data: bytes) -> list[InlinedResponse]:
    """Parse a file of results, as `download_file` returns it: one line for each request, in the
    order of the requests, with the key of each.

    A line may also be a bare response or a bare error.

    >>> [result] = batch_results(b'{"key":"a","response":{"candidates":[]}}\\n')
    >>> result.key, result.error
    ('a', None)

    Raises `StreamInvalid` with the number of a malformed line, counted from 1.
    """
    return [_result(line, number) for number, line in numbered_lines(data)]


@checked_arguments()
def embed_batch_results(data: bytes) -> list[InlinedEmbedContentResponse]:
    """Parse a file of results of a batch of embeddings, as `batch_results`."""
    return [
        _line(line, InlinedEmbedContentResponse, number) for number, line in numbered_lines(data)
    ]


def _result(line: bytes, number: int) -> InlinedResponse:
    """Parse one line of results: an `InlinedResponse`, or a response or an error alone."""
    fields = fields_of(line)
    if {"candidates", "promptFeedback", "usageMetadata"} & set(fields):
        response = _line(line, GenerateContentResponse, number)
        return InlinedResponse(response=keep_bytes(response, line))
    if not {"response", "error"} & set(fields) and {"code", "message"} & set(fields):
        return InlinedResponse(error=_line(line, Status, number))
    result = _line(line, InlinedResponse, number)
    if result.response is None and result.error is None:
        raise StreamInvalid(
            f"line {number} of the results has neither a response nor an error", raw=line
        )
    _remember_response(result, fields)
    return result


def _line(line: bytes, kind: type[T], number: int) -> T:
    try:
        return decoded(line, kind)
    except (Unreadable, LimitError) as cause:
        raise StreamInvalid(
            f"line {number} of the results is malformed ({cause}): {shown(line)}", raw=line
        ) from None
