"""What an MCP server offers beside its tools: resources, prompts, and news of changes."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from wire.core.arguments import checked_arguments
from wire.core.bounds import BOUNDS
from wire.core.errors import ToolError
from wire.core.secret import quoted
from wire.neutral.messages import Media, Message, Text
from wire.neutral.request import Tool
from wire.tools.definition import FunctionTool
from wire.tools.mcp_content import field_of, media_of, part_of
from wire.tools.mcp_session import OnInput, failure, listing, method_of, rounds
from wire.tools.mcp_steps import run
from wire.tools.toolbox import Toolbox


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    """A resource that a server lists: a file, a page or a record."""

    uri: str
    """Its address, for `read_resource`."""
    name: str
    """The server's name of it."""
    title: str = ""
    """Its name for people; empty without one."""
    description: str = ""
    """What it holds."""
    media_type: str = ""
    """Such as `text/plain`; empty if the server does not tell it."""
    size: int | None = None
    """Bytes of its content; `None` if the server does not tell them."""


class PromptArgument(msgspec.Struct, frozen=True, kw_only=True):
    """An argument of a prompt. Its value is a text."""

    name: str
    """The name under which it is given."""
    description: str = ""
    """What it means."""
    required: bool = False
    """Whether the server refuses the prompt without it."""


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt that a server lists: messages with places for arguments."""

    name: str
    """Its name, for `get_prompt`."""
    title: str = ""
    """Its name for people; empty without one."""
    description: str = ""
    """What it is for."""
    arguments: tuple[PromptArgument, ...] = ()
    """What may be filled in."""


@checked_arguments(ToolError, before=True)
async def resources(session: Any) -> list[Resource]:
    """Return the resources that a server lists, from all pages.

    Raises `ToolError` for an object without `list_resources`, and for a list that cannot be read.
    """
    listed = await run(listing(session, "list_resources", "resources"))
    return [
        Resource(
            uri=_text(each, f"list_resources: resources[{position}]", "uri"),
            name=_text(each, f"list_resources: resources[{position}]", "name"),
            title=str(field_of(each, "title") or ""),
            description=str(field_of(each, "description") or ""),
            media_type=str(field_of(each, "mimeType", "mime_type") or ""),
            size=size if isinstance(size := field_of(each, "size"), int) else None,
        )
        for position, each in enumerate(listed)
    ]


@checked_arguments(ToolError, before=True)
async def read_resource(
    session: Any, uri: str, *, on_input: OnInput | None = None
) -> tuple[Text | Media, ...]:
    """Read a resource: its texts, and its bytes as media, for a message.

    >>> import asyncio
    >>> class Session:
    ...     async def read_resource(self, uri):
    ...         return {"contents": [{"uri": uri, "text": "High at 05:12."}]}
    >>> asyncio.run(read_resource(Session(), "tide://brest"))
    (Text(text='High at 05:12.'),)

    Raises `ToolError` for what the server refuses and for what cannot be read.

    Args:
        session: An object with `read_resource`.
        uri: The address, from `resources` or of another resource that the server has.
        on_input: Answers what the server asks for, as for `tools`.
    """
    what = f"resource {uri}"
    result = await _asked(session, "read_resource", what, on_input, uri)
    contents = _bounded(what, result, "contents")
    return tuple(_content(each, f"{what}: contents[{i}]") for i, each in enumerate(contents))


@checked_arguments(ToolError, before=True)
async def prompts(session: Any) -> list[Prompt]:
    """Return the prompts that a server lists, from all pages.

    Raises `ToolError` for an object without `list_prompts`, and for a list that cannot be read.
    """
    listed = await run(listing(session, "list_prompts", "prompts"))
    return [
        Prompt(
            name=_text(each, f"list_prompts: prompts[{position}]", "name"),
            title=str(field_of(each, "title") or ""),
            description=str(field_of(each, "description") or ""),
            arguments=tuple(
                PromptArgument(
                    name=_text(argument, f"list_prompts: prompts[{position}].arguments", "name"),
                    description=str(field_of(argument, "description") or ""),
                    required=field_of(argument, "required") is True,
                )
                for argument in field_of(each, "arguments") or ()
            ),
        )
        for position, each in enumerate(listed)
    ]


@checked_arguments(ToolError, before=True)
async def get_prompt(
    session: Any,
    name: str,
    arguments: Mapping[str, str] | None = None,
    *,
    on_input: OnInput | None = None,
) -> list[Message]:
    """Return the messages of a prompt, with its arguments filled in.

    >>> import asyncio
    >>> class Session:
    ...     async def get_prompt(self, name, arguments):
    ...         content = {"type": "text", "text": f"Is {arguments['port']} safe today?"}
    ...         return {"messages": [{"role": "user", "content": content}]}
    >>> asyncio.run(get_prompt(Session(), "safety", {"port": "Brest"}))
    [Message('user', 'Is Brest safe today?')]

    Messages of one role in a row stay apart. Raises `ToolError` for what the server refuses and for
    what cannot be read.

    Args:
        session: An object with `get_prompt`.
        name: The server's name of the prompt.
        arguments: Its arguments, each a text.
        on_input: Answers what the server asks for, as for `tools`.
    """
    what = f"prompt {name}"
    result = await _asked(session, "get_prompt", what, on_input, name, dict(arguments or {}))
    messages = []
    for position, each in enumerate(_bounded(what, result, "messages")):
        at = f"{what}: messages[{position}]"
        role = field_of(each, "role")
        if role not in ("user", "assistant"):
            raise ToolError(f"{at}.role: expected user or assistant, not {quoted(role)}")
        messages.append(Message(role, (_block(field_of(each, "content"), f"{at}.content"),)))
    return messages


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
    if not callable(field_of(session, "listen")):
        raise ToolError(f"session: expected an object with listen, not {type(session).__name__}")
    known = tuple(old)
    async with contextlib.AsyncExitStack() as stack:
        try:
            events = await stack.enter_async_context(session.listen(tools_list_changed=True))
        except Exception as cause:
            raise failure("listen", cause) from cause
        honored = field_of(events, "honored")
        if field_of(honored, "toolsListChanged", "tools_list_changed") is not True:
            raise ToolError("listen: the server does not report changes of its tools")
        known = await _replaced(toolbox, known, list_tools, on_change)
        while await _changed(events):
            known = await _replaced(toolbox, known, list_tools, on_change)


async def _changed(events: Any) -> bool:
    """Wait for the next change. False if the server has ended the subscription."""
    try:
        return await anext(events, None) is not None
    except Exception as cause:
        raise failure("listen", cause) from cause


async def _replaced(
    toolbox: Toolbox,
    known: tuple[Tool, ...],
    list_tools: Callable[[], Awaitable[list[FunctionTool]]],
    on_change: Callable[[ToolChange], object] | None,
) -> tuple[Tool, ...]:
    tools = tuple(await list_tools())
    before, now = ({each.name: each for each in some} for some in (known, tools))
    change = ToolChange(
        tools=tools,
        added=tuple(name for name in now if name not in before),
        removed=tuple(name for name in before if name not in now),
        changed=tuple(
            name for name in now if name in before and _told(now[name]) != _told(before[name])
        ),
    )
    toolbox.replace(known, tools)
    if on_change is not None and (change.added or change.removed or change.changed):
        on_change(change)
    return tools


def _told(tool: Tool) -> tuple[Any, ...]:
    return tool.description, tool.parameters


async def _asked(session: Any, method: str, what: str, on_input: OnInput | None, *args: Any) -> Any:
    if not callable(field_of(session, method)):
        raise ToolError(f"session: expected an object with {method}, not {type(session).__name__}")
    call, _ = method_of(session, method, on_input)
    try:
        return await run(rounds(what, functools.partial(call, *args), on_input))
    except ToolError:  # it keeps its own cause
        raise
    except Exception as cause:
        raise failure(what, cause) from cause


def _text(value: Any, path: str, field: str) -> str:
    found = field_of(value, field)
    text = "" if found is None else str(found)  # a URL of pydantic
    if not text or len(text) > BOUNDS.input_bytes:
        raise ToolError(f"{path}.{field}: expected a text")
    return text


def _bounded(what: str, result: Any, field: str) -> Sequence[Any]:
    """Return the list in that field of a result. Raises `ToolError` for what is over a bound."""
    items = field_of(result, field)
    if not isinstance(items, (list, tuple)):
        raise ToolError(f"{what}: {field}: expected a list, not {type(items).__name__}")
    if len(items) > BOUNDS.content_parts:
        raise ToolError(f"{what}: {field}: more than {BOUNDS.content_parts:,}")
    size = sum(map(_size, items))
    if size > BOUNDS.content_bytes:
        raise ToolError(f"{what}: {size:,} bytes, more than {BOUNDS.content_bytes:,}")
    return items


def _size(item: Any) -> int:
    content = field_of(item, "content")
    places = (item, content, field_of(content, "resource"))
    found = (field_of(place, name) for place in places for name in ("text", "blob", "data"))
    return sum(len(each) for each in found if isinstance(each, str))


def _content(item: Any, path: str) -> Text | Media:
    text = field_of(item, "text")
    if isinstance(text, str):
        return Text(text)
    return media_of(item, "blob", path)


def _block(block: Any, path: str) -> Text | Media:
    """Convert a block of a prompt. A link to a resource is told as JSON."""
    part = part_of(block, path)
    if isinstance(part, Media):
        return part
    if isinstance(part, str):
        return Text(part)
    if isinstance(part, dict) and isinstance(part.get("text"), str):
        return Text(part["text"])
    return Text(msgspec.json.encode(part, enc_hook=str).decode())
