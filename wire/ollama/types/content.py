"""Messages, calls and tools."""

from __future__ import annotations

from typing import Annotated, Any

from wire.core.facts import TRAFFIC, Facts
from wire.ollama.types.base import OllamaStruct


class Message(OllamaStruct, frozen=True, kw_only=True):
    """A message of a conversation, or the message of an answer; in a stream, a piece of it."""

    remembers = True

    role: str | None = None
    """`system`, `user`, `assistant`, `tool`. The server lowers capital letters."""
    content: str | None = None
    """A text, never a list of parts."""
    thinking: str | None = None
    """What the model thought. It goes back to the model that wrote it."""
    images: list[str] | None = None
    """Base64, without `data:`. There are no URLs."""
    tool_calls: list[ToolCall] | None = None
    tool_name: str | None = None
    """Of a result: the name of the tool, which most templates write."""
    tool_call_id: str | None = None
    """Of a result: the id of the call."""


class ToolCall(OllamaStruct, frozen=True, kw_only=True):
    """A call of a tool, which arrives whole in one line."""

    remembers = True

    id: str | None = None
    """Absent from servers before 2025."""
    type: Annotated[str | None, Facts(source=TRAFFIC)] = None
    """`function`. Clients send it; answers have none."""
    function: ToolCallFunction | None = None


class ToolCallFunction(OllamaStruct, frozen=True, kw_only=True):
    """Which function is called."""

    index: int | None = None
    """The position of the call in its message."""
    name: str | None = None
    arguments: Any = None
    """An object, not a text."""


class Tool(OllamaStruct, frozen=True, kw_only=True):
    """A function that the caller runs."""

    type: str | None = None
    """`function`."""
    function: ToolFunction | None = None
    items: Any = None


class ToolFunction(OllamaStruct, frozen=True, kw_only=True):
    """Name and arguments of a function."""

    name: str | None = None
    description: str | None = None
    parameters: Any = None
    """JSON Schema of an object. Of a property the server keeps `anyOf`, `type`, `items`,
    `description`, `enum`, `properties` and `required` alone."""


def text_of(message: Message | None) -> str:
    """Return the text of a message; `""` if it has none."""
    return (message.content if message is not None else None) or ""
