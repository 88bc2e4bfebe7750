"""Blocks of tools that the server ran, images and citations, as neutral parts."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from wire.converse.types import Citation as WireCitation
from wire.converse.types import ContentBlock
from wire.core.decoders import from_base64
from wire.core.lenient import plain_fields, portable, portable_fields, well_formed
from wire.neutral.messages import (
    Citation,
    Media,
    Part,
    ServerToolCall,
    ServerToolResult,
    Text,
)

_KINDS = {"nova_grounding": "web_search", "nova_code_interpreter": "code"}
"""Name of a tool -> the neutral kind. The type of a result is the name with `_result`."""
RESULT = "_result"


def server_part(block: ContentBlock) -> Part | None:
    """Return the part of a block; `None` if the block is neither a call nor a result of a server's
    tool, nor an image.

    >>> from wire.converse.types import ToolUseBlock
    >>> call = ToolUseBlock(tool_use_id="t_1", name="nova_grounding", type="server_tool_use")
    >>> server_part(ContentBlock(tool_use=call)).kind
    'web_search'
    """
    call, result = block.tool_use, block.tool_result
    if call is not None:
        name, given = well_formed(call.name or ""), call.input
        return ServerToolCall(
            id=well_formed(call.tool_use_id or ""),
            name=name,
            kind=_KINDS.get(name, ""),
            arguments=portable(given) if isinstance(given, dict) else None,
        )
    if result is not None:
        name = well_formed((result.type or "").removesuffix(RESULT))
        fields = plain_fields(block)
        content = fields["toolResult"].get("content") if isinstance(fields, dict) else None
        return ServerToolResult(
            id=well_formed(result.tool_use_id or ""),
            name=name,
            kind=_KINDS.get(name, ""),
            content=portable(content),
            error=result.status == "error",
        )
    return _image(block)


def _image(block: ContentBlock) -> Media | None:
    source = block.image.source if block.image is not None else None
    if source is None or not source.bytes or block.image is None:
        return None
    try:
        data = from_base64(source.bytes)
    except ValueError:
        return None
    kind = well_formed(block.image.format or "png")
    return Media(data=data, media_type=f"image/{kind}") if data else None


def citations_of(blocks: Iterable[ContentBlock], parts: Iterable[Part]) -> tuple[Citation, ...]:
    """Return the citations of all blocks. The span of each is the whole text of its block; a block
    of citations without a text cites the text before it.
    """
    return tuple(_citations(blocks, parts))


def _citations(blocks: Iterable[ContentBlock], parts: Iterable[Part]) -> Iterator[Citation]:
    begin = start = end = 0
    for block, part in zip(blocks, parts, strict=True):
        if not isinstance(part, Text):
            continue
        if part.text:
            start, end = begin, begin + len(part.text)
            begin = end
        cited = block.citations_content.citations if block.citations_content is not None else None
        make = functools.partial(citation_of, start=start, end=end)
        yield from map(make, cited or ())


def citation_of(each: WireCitation, *, start: int, end: int) -> Citation:
    """Convert a citation of a span of the text."""
    web = each.location.web if each.location is not None else None
    quoted = "".join(part.text or "" for part in each.source_content or ())
    fields: Any = portable_fields(msgspec.structs.replace(each, title=None, source_content=None))
    fields.pop("source", None)
    url = well_formed((web.url if web is not None else None) or "")
    source = well_formed(each.source or "")
    return Citation(
        url=url,
        title=well_formed(each.title or ""),
        text=well_formed(quoted),
        source=source,
        start=start,
        end=end,
        extra=fields or None,
    )
