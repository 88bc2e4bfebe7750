"""What an MCP server offers beside its tools: resources, templates of their addresses, prompts."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from wire.core.arguments import checked_arguments
from wire.core.bounds import BOUNDS
from wire.core.errors import ToolError
from wire.core.secret import quoted
from wire.neutral.messages import Media, Message, Text
from wire.tools.mcp_content import field_of, media_of, part_of
from wire.tools.mcp_session import OnInput, failure, listing, method_of, rounds
from wire.tools.mcp_steps import run
from wire.tools.uri_template import expanded


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


class ResourceTemplate(msgspec.Struct, frozen=True, kw_only=True):
    """The address of many resources, with places for values."""

    uri_template: str
    """Such as `tide://{port}/{day}`, as in RFC 6570."""
    name: str
    """The server's name of it."""
    title: str = ""
    """Its name for people; empty without one."""
    description: str = ""
    """What such a resource holds."""
    media_type: str = ""
    """That of all its resources; empty if the server does not tell it."""

    def uri(self, **values: str) -> str:
        """Return the address for these values, for `read_resource`.

        >>> tides = ResourceTemplate(uri_template="tide://{port}{?day}", name="tides")
        >>> tides.uri(port="Le Conquet", day="2026-11-29")
        'tide://Le%20Conquet?day=2026-11-29'

        Places after `?`, `&`, `;` and `#` may stay empty. Raises `ToolError` for another value that
        is missing, for one that the template has no place for, and for a template that cannot be
        read.
        """
        return expanded(self.uri_template, values)


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
async def resource_templates(session: Any) -> list[ResourceTemplate]:
    """Return the templates of addresses that a server lists, from all pages.

    >>> import asyncio
    >>> class Session:
    ...     async def list_resource_templates(self):
    ...         return {"resourceTemplates": [{"uriTemplate": "tide://{port}", "name": "tide"}]}
    >>> (tide,) = asyncio.run(resource_templates(Session()))
    >>> tide.uri(port="brest")
    'tide://brest'

    Raises `ToolError` for an object without `list_resource_templates`, and for a list that cannot
    be read.
    """
    method, field = "list_resource_templates", "resourceTemplates"
    listed = await run(listing(session, method, field))
    return [
        ResourceTemplate(
            uri_template=_text(each, f"{method}: {field}[{at}]", "uriTemplate", "uri_template"),
            name=_text(each, f"{method}: {field}[{at}]", "name"),
            title=str(field_of(each, "title") or ""),
            description=str(field_of(each, "description") or ""),
            media_type=str(field_of(each, "mimeType", "mime_type") or ""),
        )
        for at, each in enumerate(listed)
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
        uri: The address: from `resources`, of a template, or of another resource of the server.
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


def _text(value: Any, path: str, field: str, *others: str) -> str:
    found = field_of(value, field, *others)
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
