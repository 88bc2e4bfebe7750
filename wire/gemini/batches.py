"""Batches as calls, waiting for one, and the lines of their files."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from wire.core import json_values
from wire.core.bodies import wrong_type
from wire.core.call import Call
from wire.core.flow import Flow, ask
from wire.core.lenient import Fields, Unreadable, decoded, fields_of, items_of
from wire.core.memory import WireStruct, encode
from wire.core.reading import shown
from wire.errors import LimitError, RuleError, StreamInvalid, Violation
from wire.gemini.endpoints import generate_body
from wire.gemini.fold import whole
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
from wire.gemini.waiting import PollPolicy, failed

T = TypeVar("T", bound=WireStruct)
Job = TypeVar("Job", BatchOperation, EmbedBatchOperation)

# --- calls ----------------------------------------------------------------------------------------


def create_batch(
    model: str,
    requests: str | Sequence[InlinedRequest | GenerateContentRequest] | GenerateContentBatch,
    *,
    display_name: str | None = None,
) -> Call[BatchOperation]:
    """Many requests at once: in the body, in a file (`files/ID`, see `batch_lines`), or as a batch
    of the caller's own.

    >>> print(create_batch("gemini-2.5-flash", "files/abc", display_name="b").preview())
    POST /models/gemini-2.5-flash:batchGenerateContent
    content-type: application/json
    <BLANKLINE>
    {"batch":{"displayName":"b","inputConfig":{"fileName":"files/abc"}}}
    """
    body = checked(
        BatchGenerateContentRequest(batch=_batch(requests, display_name)),
        BatchGenerateContentRequest,
    )
    return _batch_call("POST", f"/{resource(model)}:batchGenerateContent", body)


def create_embed_batch(model: str, batch: EmbedContentBatch) -> Call[EmbedBatchOperation]:
    """Many embeddings at once."""
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


def get_batch(name: str) -> Call[BatchOperation]:
    """How far a batch is; once it is done, with its answers or the name of their file."""
    return _batch_call("GET", f"/{named(name, 'batches')}")


def get_embed_batch(name: str) -> Call[EmbedBatchOperation]:
    """As `get_batch`, for a batch of embeddings."""
    return plain(EmbedBatchOperation, "GET", f"/{named(name, 'batches')}", host_rules=not_on_vertex)


def list_batches(
    page_size: int | None = None, page_token: str | None = None
) -> Call[ListBatchesResponse]:
    """One page of the batches; `next_page_token` of the answer asks for the next one."""
    return plain(
        ListBatchesResponse,
        "GET",
        "/batches",
        query=page(page_size, page_token),
        host_rules=not_on_vertex,
    )


def update_batch(
    name: str, batch: GenerateContentBatch, *, update_mask: str
) -> Call[GenerateContentBatch]:
    """Change the fields of a batch that the mask names, such as `priority`."""
    path, body = (
        f"/{named(name, 'batches')}:updateGenerateContentBatch",
        checked(batch, GenerateContentBatch, "batch"),
    )
    return plain(
        GenerateContentBatch, "PATCH", path, body, _mask(update_mask), host_rules=not_on_vertex
    )


def update_embed_batch(
    name: str, batch: EmbedContentBatch, *, update_mask: str
) -> Call[EmbedContentBatch]:
    """As `update_batch`, for a batch of embeddings."""
    path, body = (
        f"/{named(name, 'batches')}:updateEmbedContentBatch",
        checked(batch, EmbedContentBatch, "batch"),
    )
    return plain(
        EmbedContentBatch, "PATCH", path, body, _mask(update_mask), host_rules=not_on_vertex
    )


def cancel_batch(name: str) -> Call[Empty]:
    """Stop a batch; what is answered stays."""
    return plain(Empty, "POST", f"/{named(name, 'batches')}:cancel", host_rules=not_on_vertex)


def delete_batch(name: str) -> Call[Empty]:
    """Forget a batch; one that runs is to be cancelled first."""
    return plain(Empty, "DELETE", f"/{named(name, 'batches')}", host_rules=not_on_vertex)


def _batch(requests: Any, display_name: str | None) -> GenerateContentBatch:
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
        _sound(
            item.request if isinstance(item, InlinedRequest) else item,
            f"batch.inputConfig.requests.requests[{index}].request",
        )
    return GenerateContentBatch(
        display_name=display_name,
        input_config=InputConfig(requests=InlinedRequests(requests=items)),
    )


def _batch_call(method: str, path: str, body: bytes = b"") -> Call[BatchOperation]:
    return dataclasses.replace(
        plain(BatchOperation, method, path, body, host_rules=not_on_vertex), parse=parse_batch
    )


def _sound(request: Any, path: str) -> bytes:
    """One request of a batch as JSON.

    Raises `RuleError` as `generate_content` does, with the request's place before the paths.
    """
    try:
        return generate_body(request)
    except RuleError as error:
        raise RuleError(
            violations=[
                msgspec.structs.replace(each, path=f"{path}.{each.path}" if each.path else path)
                for each in error.violations
            ]
        ) from None


def _mask(update_mask: str) -> dict[str, str]:
    if not isinstance(update_mask, str) or not update_mask:
        raise RuleError(
            violations=[
                Violation("updateMask", "names of fields, with commas between them, are wanted")
            ]
        )
    return {"updateMask": update_mask}


# --- answers --------------------------------------------------------------------------------------


def parse_batch(body: bytes) -> BatchOperation:
    """A batch whose responses remember their bytes, so that they go back to the model as they came.

    Raises the provider's error if the body is one, `StreamInvalid` if it is nothing of the wire.
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
        raw = msgspec.Raw(body)
        for key in (*path, "inlinedResponses", "inlinedResponses"):
            raw = fields_of(raw)[key]
        for item, one in zip(items, items_of(raw), strict=True):
            _remember_response(item, fields_of(one))


def _remember_response(item: InlinedResponse, fields: Fields) -> None:
    if item.response is not None:
        # Decoded alone, since bytes that are not strict JSON are mended response by response.
        raw = bytes(fields["response"])
        response = whole(decoded(raw, GenerateContentResponse), raw)
        msgspec.structs.force_setattr(item, "response", response)


def wait_for_batch(
    batch: str | BatchOperation, *, every: float = 30.0, most: float = 86400.0
) -> Flow[BatchOperation]:
    """A flow: the batch, as soon as it is done; asked for every so many seconds, for `most` seconds
    of waiting.

    Raises the error that stands in it if it failed, was cancelled or expired; `TotalClock` if it
    took longer.
    """
    name = named((batch.name if isinstance(batch, BatchOperation) else batch) or "", "batches")
    return _waiting(get_batch(name), name, PollPolicy(every, most))


def wait_for_embed_batch(
    batch: str | EmbedBatchOperation, *, every: float = 30.0, most: float = 86400.0
) -> Flow[EmbedBatchOperation]:
    """As `wait_for_batch`, for a batch of embeddings."""
    name = named((batch.name if isinstance(batch, EmbedBatchOperation) else batch) or "", "batches")
    return _waiting(get_embed_batch(name), name, PollPolicy(every, most))


_ENDS = (BatchState.FAILED, BatchState.CANCELLED, BatchState.EXPIRED)


def _waiting(call: Call[Job], name: str, patience: PollPolicy) -> Flow[Job]:
    while True:
        operation = yield from ask(call)
        state = operation.metadata.state if operation.metadata else None
        if operation.error is not None or state in _ENDS:
            raise failed(
                operation.error, f"{name} is {state or 'at its end'}", operation.raw or b""
            )
        if operation.done:
            return operation
        yield patience.pause(f"{name} is still {state or 'without a state'}")


# --- files ----------------------------------------------------------------------------------------


def batch_lines(requests: Mapping[str, GenerateContentRequest]) -> bytes:
    """A file of requests, one a line, under keys that come back with the answers; to be uploaded
    for `create_batch`.

    >>> from wire.gemini import contents
    >>> batch_lines({"a": GenerateContentRequest(contents=contents("Hi"))})
    b'{"key":"a","request":{"contents":[{"parts":[{"text":"Hi"}],"role":"user"}]}}\\n'
    """
    if (
        not isinstance(requests, Mapping)
        or not requests
        or not all(isinstance(key, str) for key in requests)
    ):
        raise wrong_type("requests", requests, "mapping of keys to GenerateContentRequests")
    lines = [
        b'{"key":%s,"request":%s}'
        % (encode(json_values.checked(key, "requests")), _sound(request, f"requests[{key!r}]"))
        for key, request in requests.items()
    ]
    # What came from the wire may stand on several lines; in JSON a line end is never more than a
    # blank.
    return b"".join(line.replace(b"\r", b" ").replace(b"\n", b" ") + b"\n" for line in lines)


def batch_results(data: bytes) -> list[InlinedResponse]:
    """A file of results, as `download_file` gives it: a line for each request, in their order, with
    its key.

    A line may be an answer or an error alone. Raises `StreamInvalid` that names the line that is
    nothing of the kind.
    """
    return [
        _result(line, number) for number, line in enumerate(data.split(b"\n"), 1) if line.strip()
    ]


def embed_batch_results(data: bytes) -> list[InlinedEmbedContentResponse]:
    """As `batch_results`, for a batch of embeddings."""
    lines = enumerate(data.split(b"\n"), 1)
    return [
        _line(line, InlinedEmbedContentResponse, number) for number, line in lines if line.strip()
    ]


def _result(line: bytes, number: int) -> InlinedResponse:
    fields = fields_of(line)
    if {"candidates", "promptFeedback", "usageMetadata"} & set(fields):
        response = _line(line, GenerateContentResponse, number)
        return InlinedResponse(response=whole(response, line))
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
            f"line {number} of the results is none ({cause}): {shown(line)}", raw=line
        ) from None
