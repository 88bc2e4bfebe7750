"""Converts what an MCP server returns: results of tools, blocks of content, resources."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from wire.core.decoders import from_base64
from wire.core.errors import ToolError
from wire.neutral.media_types import HEAD_BYTES, media_type_of
from wire.neutral.messages import Media, ToolResult

_ABSENT: Any = object()


def field_of(value: Any, *names: str) -> Any:
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


def result_of(result: Any) -> ToolResult:
    """Convert the result of a call to the result for the model."""
    blocks = field_of(result, "content")
    structured = field_of(result, "structuredContent", "structured_content")
    if blocks is None and structured is None:
        raise ToolError(f"call_tool: expected a result with content, not {type(result).__name__}")
    if not isinstance(blocks, (list, tuple, type(None))):
        raise ToolError(f"call_tool: content: expected a list, not {type(blocks).__name__}")
    parts = [
        part_of(block, f"call_tool: content[{position}]")
        for position, block in enumerate(blocks or ())
    ]
    media = tuple(each for each in parts if isinstance(each, Media))
    texts = [each for each in parts if not isinstance(each, Media)]
    content: Any = texts if len(texts) > 1 else texts[0] if texts else ""
    if structured is not None:
        content = _merged(content, texts, _without_media(structured, media))
    return ToolResult("", "", content, bool(field_of(result, "isError", "is_error")), media)


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


def part_of(block: Any, path: str) -> Any:
    """Convert a block to a text, to media, or to JSON for the model."""
    kind = field_of(block, "type")
    if kind == "text":
        return field_of(block, "text")
    if kind in ("image", "audio"):
        return media_of(block, "data", path)
    if kind == "resource":
        resource = field_of(block, "resource")
        if field_of(resource, "blob") is not None:
            return media_of(resource, "blob", f"{path}.resource")
        return _told(resource, "uri", "mimeType", "text")
    if kind == "resource_link":
        return _told(block, "uri", "name", "title", "description", "mimeType", "size")
    return block


def _told(value: Any, *names: str) -> dict[str, Any]:
    """Return the fields of a resource that the model gets."""
    fields = {name: field_of(value, name, _snake(name)) for name in names}
    return {
        name: each if isinstance(each, (str, int)) else str(each)  # a URL of pydantic
        for name, each in fields.items()
        if each is not None
    }


def _snake(name: str) -> str:
    return "mime_type" if name == "mimeType" else name


def media_of(block: Any, field: str, path: str) -> Media:
    """Decode the base64 in a field of a block. Raises `ToolError` for what is none."""
    name = str(field_of(block, "uri") or "").rpartition("/")[2]
    try:
        data = from_base64(field_of(block, field))
    except (ValueError, TypeError):
        raise ToolError(f"{path}.{field}: expected base64") from None
    kind = field_of(block, "mimeType", "mime_type") or media_type_of(name, data[:HEAD_BYTES])
    return Media(data=data, media_type=str(kind or "application/octet-stream"), name=name)
