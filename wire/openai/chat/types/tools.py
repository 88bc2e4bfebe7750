"""Tools of a request, and whether the model must call one."""

from __future__ import annotations

from typing import Annotated, Any

from wire.core.facts import TRAFFIC, Facts
from wire.openai.chat.types.message import CacheControl
from wire.openai.common.types.base import OpenAIStruct


class Tool(OpenAIStruct, frozen=True, kw_only=True):
    """A tool: a function, a custom tool that takes text, or a tool that the host runs."""

    type: str | None = None
    """`function`, `custom`, or a type of the host."""
    function: FunctionDefinition | None = None
    custom: CustomTool | None = None
    parameters: Annotated[dict[str, Any] | None, Facts(hosts=("openrouter",), source=TRAFFIC)] = (
        None
    )
    """Options of a tool that the host runs."""
    force_search: Annotated[bool | None, Facts(hosts=("xiaomi",), source=TRAFFIC)] = None
    """Option of a tool of type `web_search`."""
    cache_control: Annotated[
        CacheControl | None, Facts(hosts=("openrouter", "vercel"), source=TRAFFIC)
    ] = None


class FunctionDefinition(OpenAIStruct, frozen=True, kw_only=True):
    """A function that the model may call."""

    name: str | None = None
    description: str | None = None
    parameters: dict[str, Any] | None = None
    """JSON Schema of an object. Absent means no parameters; MiniMax requires it."""
    strict: bool | None = None
    """Arguments then fit the schema exactly. The schema may use only what strict mode supports."""


class CustomTool(OpenAIStruct, frozen=True, kw_only=True):
    """A tool whose input is text instead of JSON."""

    name: str | None = None
    description: str | None = None
    format: CustomFormat | None = None


class CustomFormat(OpenAIStruct, frozen=True, kw_only=True):
    """Form of the input of a custom tool."""

    type: str | None = None
    """`text` or `grammar`."""
    grammar: Grammar | None = None


class Grammar(OpenAIStruct, frozen=True, kw_only=True):
    """A grammar for the input."""

    definition: str | None = None
    syntax: str | None = None
    """`lark`, `regex`."""


class ToolChoice(OpenAIStruct, frozen=True, kw_only=True):
    """The tool to call: `type`, and the field of that name."""

    type: str | None = None
    """`function`, `custom`, `allowed_tools`."""
    function: NamedFunction | None = None
    custom: NamedFunction | None = None
    allowed_tools: AllowedTools | None = None


class NamedFunction(OpenAIStruct, frozen=True, kw_only=True):
    """A function or a custom tool by its name."""

    name: str | None = None


class AllowedTools(OpenAIStruct, frozen=True, kw_only=True):
    """The tools that the model may call."""

    mode: str | None = None
    """`auto`, `required`."""
    tools: list[dict[str, Any]] | None = None
    """Each in the form of a `ToolChoice`."""
