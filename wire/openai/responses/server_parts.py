"""Items of tools that the server runs, as neutral parts; and the citations of texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from wire.core.lenient import plain, portable, portable_fields, well_formed
from wire.neutral.messages import Citation, ServerToolCall, ServerToolResult
from wire.openai.common.citations import annotation_of
from wire.openai.responses.types import Item

_CALL = "_call"
_KINDS = {
    "web_search": "web_search",
    "x_search": "",
    "file_search": "file_search",
    "code_interpreter": "code",
    "mcp": "mcp",
}
"""Type of an item without `_call` -> the neutral kind."""


def server_parts(item: Item) -> list[ServerToolCall | ServerToolResult]:
    """Return the call of a server's tool and, if the item has one, its result; empty for other
    items.

    >>> item = Item(type="file_search_call", id="fs_1", queries=["tides"])
    >>> server_parts(item)[0].arguments
    {'queries': ['tides']}
    """
    tool = (item.type or "").removesuffix(_CALL)
    if not (item.type or "").endswith(_CALL) or tool not in _KINDS:
        return []
    fields = portable_fields(item)
    fields = fields if isinstance(fields, dict) else {}
    name, id = well_formed(item.name or tool), well_formed(item.call_id or item.id or "")
    kind = _KINDS[tool]
    arguments, results = _arguments(fields), _results(fields)
    call = ServerToolCall(id=id, name=name, kind=kind, arguments=arguments)
    failed = item.status == "failed" or bool(fields.get("error"))
    if results is None and not failed:
        return [call]
    content = fields.get("error") if results is None else results
    return [call, ServerToolResult(id=id, name=name, kind=kind, content=content, error=failed)]


def _arguments(fields: Mapping[str, Any]) -> dict[str, Any] | None:
    action = fields.get("action")
    if isinstance(action, dict):
        return {key: value for key, value in action.items() if key != "sources"}
    if "queries" in fields:
        return {"queries": fields["queries"]}
    if "code" in fields:
        return {key: fields[key] for key in ("code", "container_id") if key in fields}
    text = fields.get("arguments")
    if not isinstance(text, str) or not text:
        return {}
    given = portable(plain(text.encode()))
    return given if isinstance(given, dict) else None


def _results(fields: Mapping[str, Any]) -> Any:
    """Return the output of the tool; `None` if the item does not have it."""
    action = fields.get("action")
    if isinstance(action, dict) and action.get("sources") is not None:
        return action["sources"]
    names = ("results", "outputs", "output")
    return next((fields[name] for name in names if fields.get(name) is not None), None)


def citations_of(items: Iterable[Item]) -> tuple[Citation, ...]:
    """Return the citations of all texts of a response, in their order."""
    return tuple(_citations(items))


def _citations(items: Iterable[Item]) -> Iterator[Citation]:
    begin = 0
    for item in items:
        if item.type not in ("message", None) or item.role != "assistant":
            continue
        if isinstance(item.content, str):
            begin += len(well_formed(item.content))
        parts = item.content if isinstance(item.content, list) else []
        if any(part.type not in ("output_text", "refusal") for part in parts):
            continue  # no text of the reply
        for part in parts:
            text = part.refusal if part.type == "refusal" else part.text
            length = len(well_formed(text or ""))
            for each in part.annotations or ():
                yield annotation_of(portable_fields(each), begin, length)
            begin += length
