"""Parts and turns of a conversation: made of what the library parsed, and of JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from wire.core.memory import encode
from wire.neutral import messages as neutral

PartKind = Literal["text", "thought", "call", "result", "file", "other"]


class Part(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One part of a turn."""

    kind: PartKind
    text: str = ""
    """The text; of a call, arguments that are not a JSON object."""
    name: str = ""
    """Name of the tool or of the file; of another part, the vendor's name of its kind."""
    id: str = ""
    """Id of the call."""
    value: Any = UNSET
    """Arguments of a call, result of a tool, data of another part: JSON."""
    media_type: str = ""
    size: int | UnsetType = UNSET
    """Bytes of a file."""
    url: str = ""
    """Where a file is that is not in the request."""
    signature: str = ""
    """The vendor's signature of a thought, a call or a text; or its encrypted content."""
    error: bool = False
    """The result reports an error."""
    refusal: bool = False
    """With this text the model refuses the request."""
    files: list[Part] = []


class Turn(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One message of a conversation."""

    role: str
    """As on the wire; the role of a model is `assistant`."""
    name: str = ""
    parts: list[Part]


def part_of(part: neutral.Part) -> Part:
    """Convert a part that the library parsed."""
    match part:
        case neutral.Text():
            return Part(kind="text", text=part.text, signature=part.signature, refusal=part.refusal)
        case neutral.Thought():
            sealed = next((str(each["data"]) for each in part.details if each.get("data")), "")
            return Part(kind="thought", text=part.text, signature=part.signature or sealed)
        case neutral.ToolCall():
            return Part(
                kind="call",
                name=part.name,
                id=part.id,
                value=part.arguments if part.arguments is not None else UNSET,
                text=part.text if part.arguments is None else "",
                signature=part.signature,
            )
        case neutral.Media():
            size = UNSET if part.data is None else len(part.data)
            return Part(
                kind="file",
                media_type=part.media_type,
                name=part.name,
                url=part.url or "",
                size=size,
            )
        case neutral.ToolResult():
            files = [part_of(each) for each in part.media]
            return result_part(part.id, part.name, part.content, part.error, files)
        case neutral.ServerToolCall():
            return Part(kind="other", name=part.name, id=part.id, value=part.arguments)
        case neutral.ServerToolResult():
            value = msgspec.json.decode(encode(part.content))
            return Part(kind="other", name=part.name, id=part.id, value=value, error=part.error)
        case neutral.Other():
            return Part(kind="other", name=part.kind, value=msgspec.json.decode(encode(part.data)))


def other_part(value: Any, kind: str = "") -> Part:
    """Build a part that is shown as JSON.

    Its kind is the key `type` or the first key of an object.
    """
    if not kind and isinstance(value, dict):
        kind = str(value.get("type") or next(iter(value), ""))
    return Part(kind="other", name=kind, value=value)


def text_part(value: Any) -> Part:
    """Build a part from a text; any other value is shown as JSON."""
    return Part(kind="text", text=value) if isinstance(value, str) else other_part(value, "text")


def result_part(id: Any, name: str, content: Any, error: bool, files: Sequence[Part] = ()) -> Part:
    """Build the result of a tool: a text or JSON."""
    id = id if isinstance(id, str) else ""
    if isinstance(content, str):
        return Part(kind="result", id=id, name=name, text=content, error=error, files=list(files))
    return Part(kind="result", id=id, name=name, value=content, error=error, files=list(files))


def items_of(value: Any) -> list[Any]:
    """Return the items of a list; another value is the only item, `null` has no items."""
    return value if isinstance(value, list) else [] if value is None else [value]


def first_of(value: Any, *names: str) -> Any:
    """Return the first of these keys that an object has; Gemini accepts two spellings of each."""
    if isinstance(value, dict):
        return next((value[name] for name in names if name in value), None)
    return None


def tool_names(tools: Any) -> list[str]:
    """List the names of the tools that a request declares, on any wire."""
    names: list[str] = []
    for tool in items_of(tools):
        declared = first_of(tool, "functionDeclarations", "function_declarations")
        for each in items_of(declared) or [
            first_of(tool, "function", "custom", "toolSpec", "systemTool") or tool
        ]:
            name = first_of(each, "name", "type")
            if isinstance(name, str):
                names.append(name)
            elif isinstance(each, dict):
                names += [str(key) for key in each]
    return names
