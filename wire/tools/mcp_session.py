"""Calls a session of an MCP server: its lists, what it asks for, and what it raises."""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from wire.core.bounds import BOUNDS
from wire.core.errors import RuleError, ToolError
from wire.core.schema_plan import check_schema
from wire.core.secret import quoted
from wire.tools.mcp_content import field_of
from wire.tools.mcp_steps import Ask, Call, Steps, Wait, awaited
from wire.tools.signature import is_async

SESSION_LOST = "session_lost"
"""The `code` of a `ToolError` that reports a lost session."""
INPUT_REQUIRED = "input_required"
"""The `code` of a `ToolError` for a call that needs input, and got none."""

_CONNECTION_CLOSED = -32000
"""The code of the SDK's error for a closed connection. Servers use it for other errors too."""
_CLOSED = frozenset({"BrokenResourceError", "ClosedResourceError", "EndOfStream"})
"""Names of the exceptions of anyio for a closed stream."""
_UNANSWERED = (
    "InputRequiredRoundsExceededError",
    "Elicitation not supported",
    "Sampling not supported",
    "List roots not supported",
)
"""The SDK's error, and its words, for a call that needs input that no callback of its own gives."""
_FIRST_WAIT, _LONGEST_WAIT = 0.05, 0.25
"""Seconds before a call is repeated that the server puts off without a question, as in the SDK."""


class InputRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What a server asks for before it goes on with a call."""

    what: str
    """The call, such as `tool book`."""
    key: str
    """The server's name of the request."""
    method: str
    """`elicitation/create` for values of a person, `sampling/createMessage` for a reply of a model,
    `roots/list` for folders."""
    params: dict[str, Any]
    """The parameters of the request, as the protocol names them."""

    @property
    def message(self) -> str:
        """The server's words for the person; empty without any."""
        return str(self.params.get("message") or "")

    @property
    def schema(self) -> dict[str, Any] | None:
        """The JSON Schema of the values that are asked for; `None` without one."""
        schema = self.params.get("requestedSchema")
        return schema if isinstance(schema, dict) else None

    @property
    def url(self) -> str:
        """The page on which the person answers; empty for values."""
        return str(self.params.get("url") or "")


OnInput = Callable[[InputRequest], Any]


def failure(what: str, cause: Exception) -> ToolError:
    """Build the `ToolError` for an exception of a session."""
    code = getattr(getattr(cause, "error", None), "code", None)
    words = str(cause) or type(cause).__name__
    lost = (
        isinstance(cause, (ConnectionError, EOFError))
        or not _CLOSED.isdisjoint(each.__name__ for each in type(cause).__mro__)
        or (code == _CONNECTION_CLOSED and "closed" in words.lower())
    )
    if lost:
        return ToolError(f"{what}: the MCP session is lost: {words}", code=SESSION_LOST)
    if type(cause).__name__ in _UNANSWERED or words in _UNANSWERED:
        return ToolError(f"{what}: the server asks for input: {words}", code=INPUT_REQUIRED)
    return ToolError(f"{what}: {words}", code=None if code is None else str(code))


# --- calls that need input ------------------------------------------------------------------------


def method_of(session: Any, name: str, on_input: OnInput | None) -> tuple[Callable[..., Any], Any]:
    """Return a method that also returns what the server asks for, and the session that has it.

    `Client` of the SDK answers with callbacks of its own, and returns the end only. So `on_input`
    needs the session inside of it.
    """
    inner = None if on_input is None else field_of(session, "session")
    for each in (session, inner):
        method: Any = getattr(each, name, None)
        known = _parameters(method) if callable(method) else {}
        if "allow_input_required" in known:
            allowed = {"allow_input_required", "allow_claimed"} & known.keys()
            return functools.partial(method, **dict.fromkeys(allowed, True)), each
    return getattr(session, name), session


def _parameters(method: Any) -> Mapping[str, Any]:
    try:
        return inspect.signature(method).parameters
    except (TypeError, ValueError):  # a function in C
        return {}


def kind_of(result: Any) -> Any:
    """Return the `resultType` of a result."""
    return field_of(result, "resultType", "result_type")


def rounds(what: str, call: Callable[..., Any], on_input: OnInput | None) -> Steps:
    """Call, and call again with the answers as long as the server asks for input."""
    further: dict[str, Any] = {}
    pause = _FIRST_WAIT
    for _ in range(BOUNDS.input_rounds):
        result = yield Call(functools.partial(call, **further))
        if kind_of(result) != "input_required":
            return result
        asked = field_of(result, "inputRequests", "input_requests")
        answers = (yield from answered(what, asked, on_input)) if asked else None
        if answers is None:
            yield Wait(pause)
            pause = min(pause * 2, _LONGEST_WAIT)
        state = field_of(result, "requestState", "request_state")
        further = {"input_responses": answers, "request_state": state}
    result = yield Call(functools.partial(call, **further))
    if kind_of(result) == "input_required":
        raise too_many_rounds(what)
    return result


def too_many_rounds(what: str) -> ToolError:
    """Build the error for a server that does not stop asking."""
    problem = f"the server asked for input more than {BOUNDS.input_rounds} times"
    return ToolError(f"{what}: {problem}", code=INPUT_REQUIRED)


def answered(what: str, asked: Any, on_input: OnInput | None) -> Steps:
    """Ask `on_input` for each of the requests, and return its answers as the protocol has them."""
    requests = _requests(what, asked)
    if on_input is None:
        words = "; ".join(each.message or each.method for each in requests)
        raise ToolError(
            f"{what}: the server asks for input, and no on_input answers: {words}",
            code=INPUT_REQUIRED,
        )
    answers: dict[str, Any] = {}
    for request in requests:
        try:
            answer = yield Ask(_asking(on_input, request))
        except Exception as cause:
            words = str(cause) or type(cause).__name__
            raise ToolError(f"{what}: on_input failed: {words}", code=INPUT_REQUIRED) from cause
        answers[request.key] = _response(request, answer)
    return answers


def _asking(on_input: OnInput, request: InputRequest) -> Callable[[], Any]:
    asking = functools.partial(on_input, request)
    return functools.partial(awaited, asking) if is_async(on_input) else asking


def _requests(what: str, asked: Any) -> list[InputRequest]:
    if not isinstance(asked, Mapping):
        problem = f"expected an object, not {type(asked).__name__}"
        raise ToolError(f"{what}: inputRequests: {problem}")
    if len(asked) > BOUNDS.inputs:
        raise ToolError(f"{what}: inputRequests: the server asks for more than {BOUNDS.inputs}")
    return [_request(what, key, each) for key, each in asked.items()]


def _request(what: str, key: Any, asked: Any) -> InputRequest:
    at = f"{what}: inputRequests[{quoted(key)}]"
    if not isinstance(key, str) or len(key) > BOUNDS.name:
        raise ToolError(f"{what}: inputRequests: expected keys of {BOUNDS.name:,} characters")
    dump = getattr(asked, "model_dump", None)
    plain = dump(by_alias=True, mode="json", exclude_none=True) if callable(dump) else asked
    method, params = field_of(plain, "method"), field_of(plain, "params")
    if not isinstance(method, str) or not isinstance(params, (Mapping, type(None))):
        raise ToolError(f"{at}: expected a request with method and params")
    params = dict(params or {})
    try:
        size = len(msgspec.json.encode(params))
        check_schema(params.get("requestedSchema") or {}, f"{at}.requestedSchema")
    except RuleError as error:
        raise ToolError(error.message) from None
    except (TypeError, ValueError, RecursionError):
        raise ToolError(f"{at}: params: expected JSON") from None
    if size > BOUNDS.input_bytes:
        raise ToolError(f"{at}: {size:,} bytes, more than {BOUNDS.input_bytes:,}")
    return InputRequest(what=what, key=key, method=method, params=params)


def _response(request: InputRequest, answer: Any) -> Any:
    if callable(getattr(answer, "model_dump", None)):
        return answer  # a result of the SDK, such as its `ElicitResult`
    if request.method == "elicitation/create":
        if answer is None or answer is False:
            return {"action": "decline"}
        if answer is True:
            return {"action": "accept"}
        if isinstance(answer, Mapping):
            return {"action": "accept", "content": dict(answer)}
        expected = "a dict of the values, True, or None"
    elif isinstance(answer, Mapping):
        return dict(answer)
    elif answer is None:
        problem = f"on_input has no answer for {request.method}"
        raise ToolError(f"{request.what}: {problem}", code=INPUT_REQUIRED)
    else:
        expected = f"the result of {request.method} as a dict"
    problem = f"on_input: expected {expected}, not {type(answer).__name__}"
    raise ToolError(f"{request.what}: {problem}", code=INPUT_REQUIRED)


# --- lists ----------------------------------------------------------------------------------------


def listing(session: Any, method: str, field: str, *needed: str) -> Steps:
    """Read all pages of a list."""
    for name in (method, *needed):
        if not callable(field_of(session, name)):
            expected = " and ".join((method, *needed))
            raise ToolError(
                f"session: expected an object with {expected}, not {type(session).__name__}"
            )
    call = getattr(session, method)
    in_python = "".join(f"_{each.lower()}" if each.isupper() else each for each in field)
    listed: list[Any] = []
    size = 0
    read: set[str] = set()
    cursor: Any = None
    while True:
        further = {} if cursor is None else _page_argument(method, call, cursor)
        try:
            page = yield Call(functools.partial(call, **further))
        except ToolError:  # it keeps its own cause
            raise
        except Exception as cause:
            raise failure(method, cause) from cause
        items = page if isinstance(page, (list, tuple)) else field_of(page, field, in_python)
        if not isinstance(items, (list, tuple)):
            raise ToolError(f"{method}: expected a list of {field}, not {type(page).__name__}")
        listed.extend(items)
        size += _check_listed(f"{method}: {field}", field, items, len(listed), size)
        cursor = None if items is page else field_of(page, "nextCursor", "next_cursor")
        if not cursor:
            return listed
        if not isinstance(cursor, str):
            raise ToolError(f"{method}: nextCursor: expected a str, not {type(cursor).__name__}")
        if cursor in read:
            raise ToolError(f"{method}: the server gave the cursor {quoted(cursor)} twice")
        read.add(cursor)
        if len(read) == BOUNDS.pages:
            raise ToolError(f"{method}: the server has more than {BOUNDS.pages:,} pages of {field}")


_TOLD = (
    *(("name",), ("description",), ("title",), ("uri",), ("arguments",)),
    ("uriTemplate", "uri_template"),
)
"""The fields of an item whose length counts."""


def _check_listed(path: str, field: str, items: Sequence[Any], count: int, size: int) -> int:
    """Return the bytes of the items of one page. Raises `ToolError` for what is over a bound."""
    if count > BOUNDS.tools:
        raise ToolError(f"{path}: the server lists more than {BOUNDS.tools:,}: have it list fewer")
    page = 0
    for position, each in enumerate(items, count - len(items)):
        at = f"{path}[{position}]"
        name, schema = field_of(each, "name"), field_of(each, "inputSchema", "input_schema")
        if isinstance(name, str) and len(name) > BOUNDS.name:
            raise ToolError(
                f"{at}.name: {len(name):,} characters, more than {BOUNDS.name:,}: have the server "
                "shorten it"
            )
        page += sum(len(str(field_of(each, *names))) for names in _TOLD)
        if isinstance(schema, Mapping):
            try:
                check_schema(schema, f"{at}.inputSchema")
                page += len(msgspec.json.encode(schema))
            except RuleError as error:
                raise ToolError(error.message) from None
            except (TypeError, ValueError, RecursionError):
                pass  # the definition of the tool says why
        if size + page > BOUNDS.listing_bytes:
            raise ToolError(
                f"{at}: the {field} have more than {BOUNDS.listing_bytes:,} bytes: have the server "
                "list fewer"
            )
    return page


def _page_argument(method: str, call: Callable[..., Any], cursor: str) -> dict[str, Any]:
    """Return the keyword argument that requests the next page of a list.

    Sessions of the SDK take `cursor`, or `params` with an object of a class of the SDK, which the
    annotation names.
    """
    known = inspect.signature(call).parameters
    if "cursor" in known:
        return {"cursor": cursor}
    if "params" not in known:
        raise ToolError(f"{method}: it has further pages, but takes no cursor")
    try:
        hint = typing.get_type_hints(call).get("params")
    except Exception:  # an annotation that exists only for type checkers
        hint = None
    kinds = (each for each in (hint, *typing.get_args(hint)) if isinstance(each, type))
    kind = next((each for each in kinds if each is not type(None)), dict)
    return {"params": kind(cursor=cursor)}
