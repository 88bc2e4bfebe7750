"""Endpoints of stored responses, of input tokens and of compaction, as calls.

Paths are relative to a base URL that ends in the version. Source of paths and bodies: OpenAI's API
reference 2.3.0, 2026-08-21. Lists in a query are sent as OpenAI's SDK sends them: `include[]`, once
for each value.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from wire.core import reading
from wire.core.arguments import checked_arguments
from wire.core.bodies import checked_body, wrong_type
from wire.core.call import Call
from wire.core.errors import RuleError, StreamInvalid, Violation
from wire.core.extra_keys import narrowed
from wire.core.lenient import NOT_STRICT, decoded, strict_json
from wire.core.memory import WireStruct, notes
from wire.openai.common.endpoints import JSON, page
from wire.openai.common.error_body import ERRORS, parse_error
from wire.openai.responses.endpoints import (
    included,
    needs_no_check,
    only_where_stored,
    response_path,
)
from wire.openai.responses.fold import with_bytes
from wire.openai.responses.parse import WIRE
from wire.openai.responses.types import (
    Compaction,
    CompactRequest,
    DeletedResponse,
    InputTokenCount,
    InputTokensRequest,
    Item,
    ItemList,
    Response,
    ResponseRequest,
)

W = TypeVar("W", bound=WireStruct)


@checked_arguments()
def get_response(response_id: str, *, include: Sequence[str] = ()) -> Call[Response]:
    """Build a call that returns a stored response, complete or not: `status` tells which.

    >>> get_response("resp_1", include=["file_search_call.results"]).target
    '/responses/resp_1?include%5B%5D=file_search_call.results'

    `include` has the values of `ResponseRequest.include`; OpenAI refuses
    `reasoning.encrypted_content` here. A failed response is returned, with its `error`.

    Raises `ConfigurationError` for a malformed id.
    """
    return _stored(Response, "GET", response_id, query=included(include))


@checked_arguments()
def cancel_response(response_id: str) -> Call[Response]:
    """Build a call that cancels a response with `background`.

    >>> cancel_response("resp_1").path
    '/responses/resp_1/cancel'

    Raises `ConfigurationError` for a malformed id.
    """
    return _stored(Response, "POST", response_id, "/cancel")


@checked_arguments()
def delete_response(response_id: str) -> Call[DeletedResponse]:
    """Build a call that deletes a stored response.

    >>> delete_response("resp_1").method
    'DELETE'

    The result has no field if the server sends no JSON object. Raises `ConfigurationError` for a
    malformed id.
    """
    return _stored(DeletedResponse, "DELETE", response_id, parse=_parse_deleted)


@checked_arguments()
def list_input_items(
    response_id: str,
    *,
    limit: int | None = None,
    order: str | None = None,
    after: str | None = None,
    include: Sequence[str] = (),
) -> Call[ItemList]:
    """Build a call that returns one page of the input of a stored response.

    >>> list_input_items("resp_1", limit=2, order="asc", after="msg_1").query
    {'limit': '2', 'order': 'asc', 'after': 'msg_1'}

    `limit` is the number of items, 20 if absent; `order` is `asc`, or `desc` for the newest first;
    `after` is the `last_id` of the page before. OpenAI does not list reasoning.

    Raises `ConfigurationError` for a malformed id or parameter.
    """
    query = page(limit, order, after) | included(include)
    return _stored(ItemList, "GET", response_id, "/input_items", query=query)


@checked_arguments()
def count_input_tokens(request: InputTokensRequest | ResponseRequest) -> Call[InputTokenCount]:
    """Build a call that returns the number of input tokens of a request.

    Of a `ResponseRequest` only the fields are sent that `InputTokensRequest` has too.

    >>> request = ResponseRequest(model="gpt-5.6", input="Hi", max_output_tokens=16)
    >>> count_input_tokens(request).body
    b'{"model":"gpt-5.6","input":"Hi"}'

    Raises `RuleError` with JSON paths for a value of a wrong type, for one that JSON cannot encode,
    and for a request with `prompt`, whose tokens the endpoint cannot count.
    """
    if isinstance(request, ResponseRequest):
        if request.prompt is not None:
            raise RuleError(
                violations=[Violation("prompt", "the endpoint cannot count the tokens of a prompt")]
            )
        request = narrowed(request, InputTokensRequest)
    if not isinstance(request, InputTokensRequest):
        raise wrong_type("request", request, "InputTokensRequest or ResponseRequest")
    body, _ = checked_body(request, "input", needs_no_check)
    return plain(InputTokenCount, "POST", "/responses/input_tokens", body, notes=notes(request))


@checked_arguments()
def compact(request: CompactRequest) -> Call[Compaction]:
    """Build a call that returns a shorter input, `output`, which replaces the input of the request.

    >>> compact(CompactRequest(model="gpt-5.6", previous_response_id="resp_1")).body
    b'{"model":"gpt-5.6","previous_response_id":"resp_1"}'

    Send the items of `output` unchanged as the first items of the next input. Raises `RuleError`
    with JSON paths for a request without a model, for a value of a wrong type, and for one that
    JSON cannot encode.
    """
    if not isinstance(request, CompactRequest):
        raise wrong_type("request", request, "CompactRequest")
    if not request.model:
        raise RuleError(violations=[Violation("model", "expected the name of a model")])
    body, _ = checked_body(request, "input", needs_no_check)
    return plain(Compaction, "POST", "/responses/compact", body, notes=notes(request))


# --- parts of a call ------------------------------------------------------------------------------


def plain(
    kind: type[W],
    method: str,
    path: str,
    body: bytes = b"",
    *,
    query: Mapping[str, str | Sequence[str]] | None = None,
    parse: Callable[[bytes], W] | None = None,
    **more: Any,
) -> Call[W]:
    """Build a call whose response is one struct."""
    return Call(
        WIRE,
        method,
        path,
        body,
        query=query or {},
        headers=JSON if body else {},
        parse=parse or functools.partial(_parse, kind),
        read_error=parse_error,
        **more,
    )


def _stored(kind: type[W], method: str, response_id: str, below: str = "", **more: Any) -> Call[W]:
    path = response_path(response_id) + below
    return plain(kind, method, path, host_rules=only_where_stored, **more)


_CERTAIN_FIELD: dict[type[WireStruct], str] = {
    ItemList: "data",
    Compaction: "output",
    InputTokenCount: "input_tokens",
}
"""Struct -> the field that each body has; `id` for all others."""
_ITEMS_KEY: dict[type[WireStruct], str] = {
    Response: "output",
    Compaction: "output",
    ItemList: "data",
}
"""Struct -> its list of items, which can be sent back in their own bytes."""


def _parse(kind: type[W], body: bytes) -> W:
    field = _CERTAIN_FIELD.get(kind, "id")
    answer = reading.parse_plain(
        kind, body, ERRORS, lambda answer: getattr(answer, field) is not None, may_be_empty=False
    )
    if kind is Item and NOT_STRICT in vars(answer):  # a request that contains it must be JSON
        answer = decoded(strict_json(answer.raw or b""), kind)
    key = _ITEMS_KEY.get(kind, "")
    if key and (items := getattr(answer, key)):
        msgspec.structs.force_setattr(answer, key, with_bytes(items, answer.raw or b"", key))
    return answer


def _parse_deleted(body: bytes) -> DeletedResponse:
    """Parse the response, or return an empty one: the reference does not specify the body."""
    try:
        return _parse(DeletedResponse, body)
    except StreamInvalid:
        return DeletedResponse()
