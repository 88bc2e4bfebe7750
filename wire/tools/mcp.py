"""`tools`: the tools of an MCP server as tools of this library.

A session is any object with `list_tools` and `call_tool`, such as `ClientSession` and `Client` of
the official SDK. The package `mcp` is imported for tasks only: results may be its objects of
version 1 or 2, dicts, or other objects with the same fields. Source of the fields: the
specification of the Model Context Protocol, 2025-06-18, 2025-11-25 and 2026-07-28.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from wire.core.arguments import checked_arguments
from wire.core.errors import ToolError
from wire.core.memory import Note
from wire.core.secret import quoted
from wire.neutral.ids import ToolNames, safe_names
from wire.neutral.messages import ToolResult
from wire.neutral.request import TOOL_NAME
from wire.tools.definition import FunctionTool, tool
from wire.tools.mcp_changes import Change, ToolChange, follow, watch
from wire.tools.mcp_content import field_of, result_of
from wire.tools.mcp_offers import (
    Prompt,
    PromptArgument,
    Resource,
    ResourceTemplate,
    get_prompt,
    prompts,
    read_resource,
    resource_templates,
    resources,
)
from wire.tools.mcp_session import (
    INPUT_REQUIRED,
    SESSION_LOST,
    InputRequest,
    OnInput,
    failure,
    kind_of,
    listing,
    method_of,
    rounds,
)
from wire.tools.mcp_steps import Late, Portal, Steps, run, run_in_threads
from wire.tools.mcp_tasks import polled, tasks_extension

__all__ = [
    "INPUT_REQUIRED",
    "SESSION_LOST",
    "Change",
    "InputRequest",
    "Portal",
    "Prompt",
    "PromptArgument",
    "Resource",
    "ResourceTemplate",
    "ServerFunction",
    "ToolChange",
    "follow",
    "get_prompt",
    "prompts",
    "read_resource",
    "resource_templates",
    "resources",
    "tasks_extension",
    "tools",
    "tools_in_threads",
    "watch",
]

_NAMES = ToolNames(TOOL_NAME, most=64, kept=64, note="{name} is called {safe}")


class ServerFunction:
    """The function of a tool of an MCP server: `tool.function` of each tool that `tools` returns.

    Calling it calls the tool on the server, with keyword arguments, and returns a `ToolResult`.
    """

    name: str
    """The server's name of the tool. `tool.name` may be another: see `tools`."""
    definition: Any
    """The tool as the server listed it, with its title, annotations and output schema."""

    def __init__(self, session: Any, definition: Any, on_input: OnInput | None = None) -> None:
        self._session, self.definition, self._on_input = session, definition, on_input
        self.name = field_of(definition, "name")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def __call__(self, /, **arguments: Any) -> Any:
        """Call the tool on the server. Async if the session is, unless a portal runs it."""
        raise NotImplementedError

    def _steps(self, arguments: dict[str, Any]) -> Steps:
        what = f"tool {self.name}"
        try:
            method, session = method_of(self._session, "call_tool", self._on_input)
            call = functools.partial(method, self.name, arguments)
            result = yield from rounds(what, call, self._on_input)
            if kind_of(result) == "task":
                result = yield from polled(what, session, result, self._on_input)
            return result_of(result)
        except ToolError:  # it keeps its own cause
            raise
        except Exception as cause:
            raise failure(what, cause) from cause


class _AsyncFunction(ServerFunction):
    """A function of a session whose methods are async, for the event loop of that session."""

    def __init__(self, session: Any, definition: Any, on_input: OnInput | None) -> None:
        super().__init__(session, definition, on_input)
        self._thread = threading.get_ident()

    async def __call__(self, /, **arguments: Any) -> ToolResult:
        # In another loop, the session would wait for events that never come.
        if threading.get_ident() != self._thread:
            raise ToolError(
                f"tool {self.name}: its session belongs to the event loop of another thread; "
                "tools_in_threads(session, portal=...) makes tools for threads"
            )
        result: ToolResult = await run(self._steps(arguments))
        return result


class _ThreadFunction(ServerFunction):
    """A function for threads."""

    def __init__(
        self,
        session: Any,
        definition: Any,
        on_input: OnInput | None,
        portal: Portal | None,
        timeout: float | None,
    ) -> None:
        super().__init__(session, definition, on_input)
        self._portal, self._timeout = portal, timeout

    def __call__(self, /, **arguments: Any) -> ToolResult:
        try:
            result: ToolResult = run_in_threads(self._steps(arguments), self._portal, self._timeout)
        except Late:
            raise ToolError(f"tool {self.name} timeout after {self._timeout:g} s") from None
        return result


@checked_arguments(ToolError, before=True)
async def tools(
    session: Any,
    *,
    prefix: str = "",
    only: Sequence[str] | None = None,
    needs_approval: bool | Sequence[str] = False,
    read_only: bool | Sequence[str] = False,
    timeout: float | None = None,  # noqa: ASYNC109  # of each tool, not of this function
    on_input: OnInput | None = None,
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

    Characters of a name that some vendor refuses become underscores. When the server reports that
    its tools changed, `follow` lists them again. A tool that answers with a task is polled until it
    ends: see `tasks_extension`. The tools run in the event loop of the session: `tools_in_threads`
    makes tools for threads.

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
        on_input: Answers what the server asks for during a call: a function of an `InputRequest`,
            plain or async. It returns a dict of the values that are asked for, `True` if there are
            none, or `None` to decline; for methods other than `elicitation/create`, the result of
            the method as a dict. Without it, such a call is an error with the code
            `input_required`.
    """
    listed = await run(listing(session, "list_tools", "tools", "call_tool"))
    made = functools.partial(_AsyncFunction, session, on_input=on_input)
    return _tools(listed, made, prefix, only, needs_approval, read_only, timeout)


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
    on_input: OnInput | None = None,
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
        on_input: Answers what the server asks for during a call: a function of an `InputRequest`,
            plain or async. It returns a dict of the values that are asked for, `True` if there are
            none, or `None` to decline; for methods other than `elicitation/create`, the result of
            the method as a dict. Without it, such a call is an error with the code
            `input_required`.
    """
    if portal is not None and not callable(field_of(portal, "call")):
        raise ToolError(f"portal: expected an object with call, not {type(portal).__name__}")
    listed = run_in_threads(listing(session, "list_tools", "tools", "call_tool"), portal)
    made = functools.partial(
        _ThreadFunction, session, on_input=on_input, portal=portal, timeout=timeout
    )
    return _tools(listed, made, prefix, only, needs_approval, read_only, timeout)


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
        name = field_of(each, "name")
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
    schema = field_of(definition, "inputSchema", "input_schema")
    if schema is not None and not isinstance(schema, Mapping):
        raise ToolError(f"tool {name}: inputSchema: expected a JSON Schema as an object")
    description, title = field_of(definition, "description"), field_of(definition, "title")
    return tool(
        function,
        name=name,
        description=str(description or title or ""),
        parameters={"type": "object", "properties": {}, **(schema or {})},
        **options,
    )
