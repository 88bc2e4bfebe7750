"""News of an MCP server: its tools, its resources and its prompts change.

Source: `subscriptions/listen` of the protocol of 2026-07-28.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from typing import Any, Literal

import msgspec

from wire.core.arguments import checked_arguments
from wire.core.errors import ToolError
from wire.core.secret import quoted
from wire.neutral.request import Tool
from wire.tools.definition import FunctionTool
from wire.tools.mcp_content import field_of
from wire.tools.mcp_session import failure
from wire.tools.mcp_steps import awaited
from wire.tools.toolbox import Toolbox

_LISTS: dict[str, Literal["resources", "prompts"]] = {
    "ResourcesListChanged": "resources",
    "PromptsListChanged": "prompts",
}
"""The events of the SDK that tell of a list, by the names of their classes."""


class ToolChange(msgspec.Struct, frozen=True, kw_only=True):
    """The tools of a server after they changed. `added` and the others hold names of the model."""

    tools: tuple[FunctionTool, ...]
    """All tools now, in the order of the server."""
    added: tuple[str, ...] = ()
    """Tools that are new."""
    removed: tuple[str, ...] = ()
    """Tools that are gone."""
    changed: tuple[str, ...] = ()
    """Tools with another description or schema."""


@checked_arguments(ToolError, before=True)
async def follow(
    session: Any,
    toolbox: Toolbox,
    list_tools: Callable[[], Awaitable[list[FunctionTool]]],
    *,
    old: Iterable[Tool] = (),
    on_change: Callable[[ToolChange], object] | None = None,
) -> None:
    """Keep a toolbox as the server lists its tools, until the server ends the subscription.

    It runs beside the agent, in the event loop of the session; cancel it to stop. The next step of
    a run has the tools of the last change. It also lists once at the start, since the tools may
    have changed before the server listens.

    Raises `ToolError` for a session without `listen`, for a server that does not report changes of
    its tools, for a subscription that is lost, and for a list that cannot be read; the toolbox has
    the tools of the last good list then. Raises `RuleError` for a name that another tool has (G29).

    Args:
        session: A `Client` of the official SDK of version 2, or another object with its `listen`.
        toolbox: Such as `agent.tools`.
        list_tools: Lists the tools again, such as `lambda: mcp.tools(client, prefix="h_")`.
        old: The tools of the server that the toolbox has already.
        on_change: Is called with each change, after the toolbox has it.
    """
    known = tuple(old)
    async with _listening(session, ("tools",)) as events:
        known = await _replaced(toolbox, known, list_tools, on_change)
        while await _next(events) is not None:
            known = await _replaced(toolbox, known, list_tools, on_change)


async def _replaced(
    toolbox: Toolbox,
    known: tuple[Tool, ...],
    list_tools: Callable[[], Awaitable[list[FunctionTool]]],
    on_change: Callable[[ToolChange], object] | None,
) -> tuple[Tool, ...]:
    listed = await awaited(list_tools)
    if not isinstance(listed, list) or not all(isinstance(each, FunctionTool) for each in listed):
        raise ToolError(f"list_tools: expected a list of tools, not {quoted(listed, 40)}")
    tools = tuple(listed)
    before, now = ({each.name: each for each in some} for some in (known, tools))
    change = ToolChange(
        tools=tools,
        added=tuple(name for name in now if name not in before),
        removed=tuple(name for name in before if name not in now),
        changed=tuple(
            name for name in now if name in before and _shown(now[name]) != _shown(before[name])
        ),
    )
    toolbox.replace(known, tools)
    if on_change is not None and (change.added or change.removed or change.changed):
        on_change(change)
    return tools


def _shown(tool: Tool) -> tuple[Any, ...]:
    return tool.description, tool.parameters


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be read or listed again."""

    kind: Literal["resource", "resources", "prompts"]
    """A resource, the list of resources, or that of prompts."""
    uri: str = ""
    """The address of the resource; empty for a list."""


@checked_arguments(ToolError, before=True)
async def watch(
    session: Any,
    on_change: Callable[[Change], object],
    *,
    uris: Sequence[str] = (),
    lists: Sequence[Literal["resources", "prompts"]] = (),
) -> None:
    """Call `on_change` when resources or lists of a server change, until it ends the subscription.

    >>> import asyncio, contextlib
    >>> class Events:
    ...     honored = {"resourceSubscriptions": ["tide://brest"]}
    ...     async def __anext__(self):
    ...         raise StopAsyncIteration
    >>> class Session:
    ...     @contextlib.asynccontextmanager
    ...     async def listen(self, **wanted):
    ...         yield Events()
    >>> asyncio.run(watch(Session(), print, uris=["tide://brest"]))
    Change(kind='resource', uri='tide://brest')

    It runs in the event loop of the session; cancel it to stop. `on_change` is called once for each
    address and list when the server listens, since they may have changed before: what it reads then
    is never older than the last change.

    Raises `ToolError` for a session without `listen`, for a server that does not report all that is
    asked for, and for a subscription that is lost; and what `on_change` raises.

    Args:
        session: A `Client` of the official SDK of version 2, or another object with its `listen`.
        on_change: A function of a `Change`, plain or async. It may read the resource again.
        uris: The addresses of resources. A server may report a part of one by its own address.
        lists: `"resources"`, `"prompts"` or both.
    """
    if not uris and not lists:
        raise ToolError("uris, lists: expected something to watch")
    async with _listening(session, lists, uris) as events:
        for uri in uris:
            await awaited(functools.partial(on_change, Change(kind="resource", uri=uri)))
        for kind in lists:
            await awaited(functools.partial(on_change, Change(kind=kind)))
        while (event := await _next(events)) is not None:
            await awaited(functools.partial(on_change, _change(event)))


def _change(event: Any) -> Change:
    uri = field_of(event, "uri")
    if uri is not None:
        return Change(kind="resource", uri=str(uri))
    name = type(event).__name__
    if name not in _LISTS:
        raise ToolError(f"listen: expected an event of what is watched, not {name}")
    return Change(kind=_LISTS[name])


@contextlib.asynccontextmanager
async def _listening(
    session: Any, lists: Sequence[str], uris: Sequence[str] = ()
) -> AsyncIterator[Any]:
    """Subscribe to changes of lists and of resources. Raises `ToolError` without all of them."""
    if not callable(field_of(session, "listen")):
        raise ToolError(f"session: expected an object with listen, not {type(session).__name__}")
    wanted: dict[str, Any] = {f"{each}_list_changed": True for each in lists}
    if uris:
        wanted["resource_subscriptions"] = list(uris)
    async with contextlib.AsyncExitStack() as stack:
        try:
            events = await stack.enter_async_context(session.listen(**wanted))
        except Exception as cause:
            raise failure("listen", cause) from cause
        honored = field_of(events, "honored")
        for each in lists:
            if field_of(honored, f"{each}ListChanged", f"{each}_list_changed") is not True:
                raise ToolError(f"listen: the server does not report changes of its {each}")
        reported = field_of(honored, "resourceSubscriptions", "resource_subscriptions") or ()
        for uri in uris:
            if uri not in reported:
                raise ToolError(f"listen: the server does not report changes of {uri}")
        yield events


async def _next(events: Any) -> Any:
    """Wait for the next event. `None` if the server has ended the subscription."""
    try:
        return await anext(events, None)
    except Exception as cause:
        raise failure("listen", cause) from cause
