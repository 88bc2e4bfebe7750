"""`tools`: the tools of an MCP server as tools of this library.

A session is any object with `list_tools` and `call_tool`, such as `ClientSession` and `Client` of
the official SDK. The package `mcp` is not imported: results may be its objects of version 1 or 2,
dicts, or other objects with the same fields. Source of the fields: the specification of the Model
Context Protocol, 2025-06-18, 2025-11-25 and 2026-07-28.
"""

from __future__ import annotations

import base64
import functools
import inspect
import threading
import typing
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from wire.core.arguments import checked_arguments
from wire.core.bounds import BOUNDS
from wire.core.decoders import from_base64
from wire.core.errors import RuleError, ToolError
from wire.core.memory import Note
from wire.core.schema_plan import check_schema
from wire.core.secret import quoted
from wire.neutral.ids import ToolNames, safe_names
from wire.neutral.media_types import HEAD_BYTES, media_type_of
from wire.neutral.messages import Media, ToolResult
from wire.neutral.request import TOOL_NAME
from wire.tools.definition import FunctionTool, tool

__all__ = ["SESSION_LOST", "Portal", "ServerFunction", "tools", "tools_in_threads"]

SESSION_LOST = "session_lost"
"""The `code` of a `ToolError` that reports a lost session."""

_CONNECTION_CLOSED = -32000
"""The code of the SDK's error for a closed connection. Servers use it for other errors too."""
_CLOSED = frozenset({"BrokenResourceError", "ClosedResourceError", "EndOfStream"})
"""Names of the exceptions of anyio for a closed stream; anyio is not imported here."""
_NAMES = ToolNames(TOOL_NAME, most=64, kept=64, note="{name} is called {safe}")
_ABSENT: Any = object()


class Portal(Protocol):
    """Runs functions in the event loop of another thread, such as `BlockingPortal` of anyio."""

    def call(self, function: Callable[..., Any], /, *args: Any) -> Any:
        """Call the function in the loop, await what it returns, and return the result."""
        ...


class ServerFunction:
    """The function of a tool of an MCP server: `tool.function` of each tool that `tools` returns.

    Calling it calls the tool on the server, with keyword arguments, and returns a `ToolResult`.
    """

    name: str
    """The server's name of the tool. `tool.name` may be another: see `tools`."""
    definition: Any
    """The tool as the server listed it, with its title, annotations and output schema."""

    def __init__(self, session: Any, definition: Any) -> None:
        self._session, self.definition = session, definition
        self.name = _field(definition, "name")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def __call__(self, /, **arguments: Any) -> Any:
        """Call the tool on the server. Async if the session is, unless a portal runs it."""
        raise NotImplementedError

    def _error(self, cause: Exception) -> ToolError:
        return _failure(f"tool {self.name}", cause)


class _AsyncFunction(ServerFunction):
    """A function of a session whose methods are async, for the event loop of that session."""

    def __init__(self, session: Any, definition: Any) -> None:
        super().__init__(session, definition)
        self._thread = threading.get_ident()

    async def __call__(self, /, **arguments: Any) -> ToolResult:
        # In another loop, the session would wait for events that never come.
        if threading.get_ident() != self._thread:
            raise ToolError(
                f"tool {self.name}: its session belongs to the event loop of another thread; "
                "tools_in_threads(session, portal=...) makes tools for threads"
            )
        try:
            result = self._session.call_tool(self.name, arguments)
            return _result(await result if inspect.isawaitable(result) else result)
        except Exception as cause:
            raise self._error(cause) from cause


class _ThreadFunction(ServerFunction):
    """A function for threads."""

    def __init__(self, session: Any, definition: Any, portal: Portal | None) -> None:
        super().__init__(session, definition)
        self._portal = portal

    def __call__(self, /, **arguments: Any) -> ToolResult:
        call = functools.partial(self._session.call_tool, self.name, arguments)
        try:
            return _result(_called(call, self._portal))
        except Exception as cause:
            raise self._error(cause) from cause


@checked_arguments(ToolError, before=True)
async def tools(
    session: Any,
    *,
    prefix: str = "",
    only: Sequence[str] | None = None,
    needs_approval: bool | Sequence[str] = False,
    read_only: bool | Sequence[str] = False,
    timeout: float | None = None,  # noqa: ASYNC109  # of each tool, not of this function
) -> list[FunctionTool]:
    """Return the tools of an MCP server, from all pages of its list.

    >>> import asyncio
    >>> class Session:
    ...     async def list_tools(self, cursor=None):
    ...         schema = {"type": "object", "properties": {"port": {"type": "string"}}}
    ...         return {"tools": [{"name": "tide.high", "inputSchema": schema}]}
    ...     async def call_tool(self, name, arguments):
    ...         return {"content": [{"type": "text", "text": f"{arguments['port']}: 05:12"}]}
    >>> async def main():
    ...     (high,) = await tools(Session())
    ...     return high.name, (await high(port="Brest")).content
    >>> asyncio.run(main())
    ('tide_high', 'Brest: 05:12')

    Arguments are validated by the schema before the server is called. Texts and structured content
    become the content of the result, images, audio and binary resources its media. A result with
    `isError` and an exception of the session become an error result, which the model sees. A lost
    session is a `ToolError` with the code `session_lost`.

    Characters of a name that some vendor refuses become underscores. Call it again when the server
    reports that its tools changed, and give both lists to `Toolbox.replace`. The tools run in the
    event loop of the session: `tools_in_threads` makes tools for threads.

    Raises `ToolError` for an object that is not a session, for a list that cannot be read, for a
    tool that cannot be defined, and for a name that the server does not list; `ConfigurationError`
    without the extra `wire-llm[tools]`, which validates arguments.

    Args:
        session: An object with `list_tools` and `call_tool`, plain or async.
        prefix: Precedes all names, so that tools of two servers have different ones.
        only: The server's names of the tools to return. By default, all.
        needs_approval: Whether calls wait until they are approved: a bool for all tools, or the
            server's names of those that do.
        read_only: Whether tools change nothing, so that an interrupted run may run them again: a
            bool for all tools, or the server's names of those. The server may send a wrong hint,
            so its own is not used.
        timeout: Seconds after which the model gets an error as the result. No limit by default.
    """
    listing = _listing(session)
    step = next(listing)
    while True:
        try:
            page = step()
            page = await page if inspect.isawaitable(page) else page
        except Exception as cause:
            raise _failure("list_tools", cause) from cause
        try:
            step = listing.send(page)
        except StopIteration as end:
            made = functools.partial(_AsyncFunction, session)
            return _tools(end.value, made, prefix, only, needs_approval, read_only, timeout)


@checked_arguments(ToolError, before=True)
def tools_in_threads(
    session: Any,
    *,
    portal: Portal | None = None,
    prefix: str = "",
    only: Sequence[str] | None = None,
    needs_approval: bool | Sequence[str] = False,
    read_only: bool | Sequence[str] = False,
    timeout: float | None = None,
) -> list[FunctionTool]:
    """Return the tools as `tools`, for threads.

    The session has plain methods, or a portal runs its async ones.

    >>> class Session:
    ...     def list_tools(self):
    ...         return [{"name": "now"}]
    ...     def call_tool(self, name, arguments):
    ...         return {"content": [{"type": "text", "text": "noon"}]}
    >>> (now,) = tools_in_threads(Session())
    >>> now().content
    'noon'

    Raises as `tools`, and `ToolError` for a session with async methods without a portal.

    Args:
        session: An object with `list_tools` and `call_tool`, plain or async.
        portal: Runs the methods of an async session in its event loop, such as the portal of
            `anyio.from_thread.start_blocking_portal()`, in which the session was opened.
        prefix: Precedes all names, so that tools of two servers have different ones.
        only: The server's names of the tools to return. By default, all.
        needs_approval: Whether calls wait until they are approved: a bool for all tools, or the
            server's names of those that do.
        read_only: Whether tools change nothing, so that an interrupted run may run them again: a
            bool for all tools, or the server's names of those. The server may send a wrong hint,
            so its own is not used.
        timeout: Seconds after which the model gets an error as the result. No limit by default.
    """
    if portal is not None and not callable(_field(portal, "call")):
        raise ToolError(f"portal: expected an object with call, not {type(portal).__name__}")
    listing = _listing(session)
    step = next(listing)
    while True:
        try:
            page = _called(step, portal)
        except Exception as cause:
            raise _failure("list_tools", cause) from cause
        try:
            step = listing.send(page)
        except StopIteration as end:
            made = functools.partial(_ThreadFunction, session, portal=portal)
            return _tools(end.value, made, prefix, only, needs_approval, read_only, timeout)


def _called(call: Callable[[], Any], portal: Portal | None) -> Any:
    if portal is not None:
        return portal.call(call)
    value = call()
    if inspect.isawaitable(value):
        if inspect.iscoroutine(value):
            value.close()  # otherwise Python warns that it was never awaited
        raise ToolError("the session is async; pass the portal of its event loop as portal=")
    return value


def _failure(what: str, cause: Exception) -> ToolError:
    """Build the `ToolError` for an exception of a session."""
    if isinstance(cause, ToolError):
        return cause
    code = getattr(getattr(cause, "error", None), "code", None)
    words = str(cause) or type(cause).__name__
    lost = (
        isinstance(cause, (ConnectionError, EOFError))
        or not _CLOSED.isdisjoint(each.__name__ for each in type(cause).__mro__)
        or (code == _CONNECTION_CLOSED and "closed" in words.lower())
    )
    if lost:
        return ToolError(f"{what}: the MCP session is lost: {words}", code=SESSION_LOST)
    return ToolError(f"{what}: {words}", code=None if code is None else str(code))


# --- the list of tools ----------------------------------------------------------------------------


def _listing(session: Any) -> Generator[Callable[[], Any], Any, list[Any]]:
    """Yield the calls that read one page each, receive the pages, and return all tools."""
    for name in ("list_tools", "call_tool"):
        if not callable(_field(session, name)):
            raise ToolError(
                "session: expected an object with list_tools and call_tool, not "
                f"{type(session).__name__}"
            )
    listed: list[Any] = []
    size = 0
    read: set[str] = set()
    cursor: Any = None
    while True:
        further = {} if cursor is None else _page_argument(session.list_tools, cursor)
        page = yield functools.partial(session.list_tools, **further)
        items = page if isinstance(page, (list, tuple)) else _field(page, "tools")
        if not isinstance(items, (list, tuple)):
            raise ToolError(f"list_tools: expected a list of tools, not {type(page).__name__}")
        listed.extend(items)
        size += _check_listed(items, len(listed), size)
        cursor = None if items is page else _field(page, "nextCursor", "next_cursor")
        if not cursor:
            return listed
        if not isinstance(cursor, str):
            raise ToolError(f"list_tools: nextCursor: expected a str, not {type(cursor).__name__}")
        if cursor in read:
            raise ToolError(f"list_tools: the server gave the cursor {quoted(cursor)} twice")
        read.add(cursor)
        if len(read) == BOUNDS.pages:
            raise ToolError(f"list_tools: the server has more than {BOUNDS.pages:,} pages of tools")


def _check_listed(items: Sequence[Any], count: int, size: int) -> int:
    """Return the bytes of the tools of one page. Raises `ToolError` for what is over a bound."""
    if count > BOUNDS.tools:
        raise ToolError(
            f"list_tools: tools: the server lists more than {BOUNDS.tools:,}: have it list fewer"
        )
    page = 0
    for position, each in enumerate(items, count - len(items)):
        at = f"list_tools: tools[{position}]"
        name, schema = _field(each, "name"), _field(each, "inputSchema", "input_schema")
        if isinstance(name, str) and len(name) > BOUNDS.name:
            raise ToolError(
                f"{at}.name: {len(name):,} characters, more than {BOUNDS.name:,}: have the server "
                "shorten it"
            )
        page += sum(len(text) for text in map(str, (name, *_texts(each))))
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
                f"{at}: the tools have more than {BOUNDS.listing_bytes:,} bytes: have the server "
                "list fewer"
            )
    return page


def _texts(definition: Any) -> tuple[Any, Any]:
    return _field(definition, "description"), _field(definition, "title")


def _page_argument(list_tools: Callable[..., Any], cursor: str) -> dict[str, Any]:
    """Return the keyword argument of `list_tools` that requests the next page.

    Sessions of the SDK take `cursor`, or `params` with an object of a class of the SDK, which the
    annotation names.
    """
    known = inspect.signature(list_tools).parameters
    if "cursor" in known:
        return {"cursor": cursor}
    if "params" not in known:
        raise ToolError("list_tools: it has further pages, but takes no cursor")
    try:
        hint = typing.get_type_hints(list_tools).get("params")
    except Exception:  # an annotation that exists only for type checkers
        hint = None
    kinds = (each for each in (hint, *typing.get_args(hint)) if isinstance(each, type))
    kind = next((each for each in kinds if each is not type(None)), dict)
    return {"params": kind(cursor=cursor)}


def _tools(
    listed: Iterable[Any],
    made: Callable[[Any], ServerFunction],
    prefix: str,
    only: Sequence[str] | None,
    needs_approval: bool | Sequence[str],
    read_only: bool | Sequence[str],
    timeout: float | None,
) -> list[FunctionTool]:
    functions: dict[str, ServerFunction] = {}
    for position, each in enumerate(listed):
        name = _field(each, "name")
        if not isinstance(name, str) or not name:
            raise ToolError(f"list_tools: tools[{position}].name: expected a name")
        if name in functions:
            raise ToolError(f"list_tools: tools[{position}].name: two tools are called {name}")
        functions[name] = made(each)
    for option, names in (
        ("only", only),
        ("needs_approval", needs_approval),
        ("read_only", read_only),
    ):
        unknown = next((each for each in _names(names) if each not in functions), None)
        if unknown is not None:
            known = ", ".join(functions) or "none"
            raise ToolError(f"{option}: the server lists no tool {quoted(unknown)}; it has {known}")
    wanted = [name for name in functions if only is None or name in only]
    notes: list[Note] = []
    safe = safe_names([("", prefix + name) for name in wanted], (), _NAMES, notes)
    return [
        _tool(
            functions[name],
            safe.get(prefix + name, prefix + name),
            timeout=timeout,
            needs_approval=_holds(needs_approval, name),
            read_only=_holds(read_only, name),
        )
        for name in wanted
    ]


def _names(option: bool | Sequence[str] | None) -> Sequence[str]:
    return () if option is None or isinstance(option, bool) else option


def _holds(option: bool | Sequence[str], name: str) -> bool:
    return option if isinstance(option, bool) else name in option


def _tool(function: ServerFunction, name: str, **options: Any) -> FunctionTool:
    definition = function.definition
    schema = _field(definition, "inputSchema", "input_schema")
    if schema is not None and not isinstance(schema, Mapping):
        raise ToolError(f"tool {name}: inputSchema: expected a JSON Schema as an object")
    description, title = _texts(definition)
    return tool(
        function,
        name=name,
        description=str(description or title or ""),
        parameters={"type": "object", "properties": {}, **(schema or {})},
        **options,
    )


# --- results --------------------------------------------------------------------------------------


def _field(value: Any, *names: str) -> Any:
    """Return the first of these keys or attributes of a value; `None` without any."""
    for name in names:
        found = (
            value.get(name, _ABSENT)
            if isinstance(value, Mapping)
            else getattr(value, name, _ABSENT)
        )
        if found is not _ABSENT:
            return found
    return None


def _result(result: Any) -> ToolResult:
    """Convert the result of a call to the result for the model."""
    blocks = _field(result, "content")
    structured = _field(result, "structuredContent", "structured_content")
    if blocks is None and structured is None:
        raise ToolError(f"call_tool: expected a result with content, not {type(result).__name__}")
    if not isinstance(blocks, (list, tuple, type(None))):
        raise ToolError(f"call_tool: content: expected a list, not {type(blocks).__name__}")
    parts = [_part(block, f"content[{position}]") for position, block in enumerate(blocks or ())]
    media = tuple(each for each in parts if isinstance(each, Media))
    texts = [each for each in parts if not isinstance(each, Media)]
    content: Any = texts if len(texts) > 1 else texts[0] if texts else ""
    if structured is not None:
        content = _merged(content, texts, _without_media(structured, media))
    return ToolResult("", "", content, bool(_field(result, "isError", "is_error")), media)


def _merged(content: Any, texts: Sequence[Any], structured: Any) -> Any:
    """Merge the structured content with the texts, which repeat it as JSON by the specification.

    Servers wrap a value that is not an object as `{"result": value}`, and write a list as one text
    for each of its items. Otherwise both are kept, without the texts whose values all stand in the
    structured content.
    """
    if not texts:
        return structured
    read = [_read(each) for each in texts]
    meanings: list[Any] = [list(texts), read]
    if len(texts) == 1:
        meanings += texts[0], read[0]
    wrapped = isinstance(structured, Mapping) and structured.keys() == {"result"}
    if wrapped and structured["result"] in meanings:
        return structured["result"]
    if structured in meanings:
        return structured
    told = _leaves(structured)
    rest = [text for text, value in zip(texts, read, strict=True) if not _leaves(value) <= told]
    if not rest:
        return structured
    content = content if len(rest) == len(texts) else rest if len(rest) > 1 else rest[0]
    return {"content": content, "structuredContent": structured}


def _leaves(value: Any) -> set[tuple[str, Any]]:
    """Return the values in JSON that have none inside, each with its kind; 5 and 5.0 are one."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        return set().union(*map(_leaves, value))
    kind = "number" if type(value) in (int, float) else type(value).__name__
    return {(kind, value)}


def _without_media(value: Any, media: Sequence[Media]) -> Any:
    """Return structured content with a word in the place of each of the media that stand in it.

    Servers repeat a picture as base64, which the model would have to read as text.
    """
    words = {base64.b64encode(each.data or b"").decode(): f"[{each.media_type}]" for each in media}

    def replaced(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: replaced(each) for key, each in value.items()}
        if isinstance(value, list):
            return [replaced(each) for each in value]
        if isinstance(value, str):
            return words.get(value.rpartition("base64,")[2], value)
        return value

    return replaced(value) if words else value


def _read(text: Any) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, TypeError, UnicodeError):
        return text


def _part(block: Any, path: str) -> Any:
    """Convert a block to a text, to media, or to JSON for the model."""
    kind = _field(block, "type")
    if kind == "text":
        return _field(block, "text")
    if kind in ("image", "audio"):
        return _media(block, "data", path)
    if kind == "resource":
        resource = _field(block, "resource")
        if _field(resource, "blob") is not None:
            return _media(resource, "blob", f"{path}.resource")
        return _told(resource, "uri", "mimeType", "text")
    if kind == "resource_link":
        return _told(block, "uri", "name", "title", "description", "mimeType", "size")
    return block


def _told(value: Any, *names: str) -> dict[str, Any]:
    """Return the fields of a resource that the model gets."""
    fields = {name: _field(value, name, _snake(name)) for name in names}
    return {
        name: each if isinstance(each, (str, int)) else str(each)  # a URL of pydantic
        for name, each in fields.items()
        if each is not None
    }


def _snake(name: str) -> str:
    return "mime_type" if name == "mimeType" else name


def _media(block: Any, field: str, path: str) -> Media:
    name = str(_field(block, "uri") or "").rpartition("/")[2]
    try:
        data = from_base64(_field(block, field))
    except (ValueError, TypeError):
        raise ToolError(f"call_tool: {path}.{field}: expected base64") from None
    kind = _field(block, "mimeType", "mime_type") or media_type_of(name, data[:HEAD_BYTES])
    return Media(data=data, media_type=str(kind or "application/octet-stream"), name=name)
