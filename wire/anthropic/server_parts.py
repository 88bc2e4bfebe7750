"""Blocks of tools that the server runs, as neutral parts; and the citations of text blocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from wire.anthropic.types import ContentBlock
from wire.core.lenient import plain_fields, portable, portable_fields, well_formed
from wire.neutral.messages import Citation, Part, ServerToolCall, ServerToolResult, Text

CALLS = ("server_tool_use", "mcp_tool_use")

_RESULT = "_tool_result"
_KINDS = {
    "web_search": "web_search",
    "web_fetch": "url_context",
    "code_execution": "code",
    "bash_code_execution": "code",
    "text_editor_code_execution": "code",
}
"""Name of a tool -> the neutral kind. The type of a result begins with the name."""


def server_part(block: ContentBlock) -> ServerToolCall | ServerToolResult | None:
    """Return the part of a block; `None` if the block is neither a call nor a result of a server's
    tool.

    >>> server_part(ContentBlock(type="server_tool_use", id="s_1", name="web_search")).kind
    'web_search'
    """
    kind = block.type or ""
    if kind in CALLS:
        name, given = well_formed(block.name or ""), _fields(block).get("input", {})
        return ServerToolCall(
            id=well_formed(block.id or ""),
            name=name,
            kind="mcp" if kind == "mcp_tool_use" else _KINDS.get(name, ""),
            arguments=portable(given) if isinstance(given, dict) else None,
        )
    if not kind.endswith(_RESULT):
        return None
    name = kind.removesuffix(_RESULT)
    content = portable(_fields(block).get("content"))
    failed = isinstance(content, dict) and str(content.get("type")).endswith("_error")
    return ServerToolResult(
        id=well_formed(block.tool_use_id or ""),
        name=well_formed(name),
        kind="mcp" if name == "mcp" else _KINDS.get(name, ""),
        content=content,
        error=failed or bool(block.is_error),
    )


def _fields(block: ContentBlock) -> dict[str, Any]:
    fields = plain_fields(block)
    return fields if isinstance(fields, dict) else {}


_NEUTRAL = ("url", "title", "document_title", "cited_text", "source", "file_id")


def citations_of(blocks: Iterable[ContentBlock], parts: Iterable[Part]) -> tuple[Citation, ...]:
    """Return the citations of all text blocks. The span of each is the whole text of its block."""
    return tuple(_citations(blocks, parts))


def _citations(blocks: Iterable[ContentBlock], parts: Iterable[Part]) -> Iterator[Citation]:
    begin = 0
    for block, part in zip(blocks, parts, strict=True):
        if not isinstance(part, Text):
            continue
        end = begin + len(part.text)
        for each in block.citations if isinstance(block.citations, list) else ():
            fields = portable_fields(each)
            title = each.title or each.document_title
            yield Citation(
                url=well_formed(each.url or ""),
                title=well_formed(title or ""),
                text=well_formed(each.cited_text or ""),
                source=well_formed(each.source or each.file_id or ""),
                start=begin,
                end=end,
                extra={
                    key: value
                    for key, value in fields.items()
                    if key not in _NEUTRAL and value is not None
                }
                or None,
            )
        begin = end
