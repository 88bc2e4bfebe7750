"""Steps of tools that the server runs, as neutral parts; and the sources of texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from wire.core.lenient import portable_fields, well_formed
from wire.gemini.interactions.types import Content, Step
from wire.neutral.messages import Citation, ServerToolCall, ServerToolResult

KINDS = {
    "google_search": "web_search",
    "code_execution": "code",
    "url_context": "url_context",
    "google_maps": "",
    "file_search": "file_search",
    "retrieval": "file_search",
    "mcp_server_tool": "mcp",
    "tool_search": "",
    "processing": "",
}
"""Type of a step without `_call` or `_result` -> the neutral kind."""


def server_part(step: Step) -> ServerToolCall | ServerToolResult | None:
    """Return the part of a tool that the server ran; `None` for another step.

    >>> server_part(Step(type="google_search_call", id="1", arguments={"queries": ["tides"]})).kind
    'web_search'
    """
    tool, _, word = (step.type or "").rpartition("_")
    if tool not in KINDS or word not in ("call", "result"):
        return None
    fields = portable_fields(step)
    fields = fields if isinstance(fields, dict) else {}
    name, kind = well_formed(step.name or tool), KINDS[tool]
    if word == "call":
        arguments = fields.get("arguments")
        arguments = {} if arguments is None else arguments
        arguments = arguments if isinstance(arguments, dict) else None
        return ServerToolCall(
            id=well_formed(step.id or ""), name=name, kind=kind, arguments=arguments
        )
    id, failed = well_formed(step.call_id or ""), bool(step.is_error)
    content = fields.get("result")
    return ServerToolResult(id=id, name=name, kind=kind, content=content, error=failed)


# --- citations ------------------------------------------------------------------------------------


def citations_of(contents: Iterable[Content]) -> tuple[Citation, ...]:
    """Return the sources of all texts of an interaction, in their order."""
    return tuple(_citations(contents))


def _citations(contents: Iterable[Content]) -> Iterator[Citation]:
    begin = 0
    for content in contents:
        if content.type != "text":
            continue
        text = well_formed(content.text or "")
        for each in content.annotations or ():
            fields = portable_fields(each)
            if isinstance(fields, dict) and fields.get("type") not in _NO_SOURCES:
                yield _citation(fields, begin, text)
        begin += len(text)


_NO_SOURCES = ("word_info", "speech_metadata")
_SOURCES = ("document_uri", "place_id", "media_id", "source")
_TITLES = ("title", "file_name", "name")


def _citation(fields: Mapping[str, Any], begin: int, text: str) -> Citation:
    """Build the citation of an annotation of a text that begins at this position of the reply's."""
    start, end = span(text, fields.get("start_index"), fields.get("end_index"))
    url = fields.get("url")
    source = next((key for key in _SOURCES if isinstance(fields.get(key), str)), "")
    title = next((key for key in _TITLES if isinstance(fields.get(key), str)), "")
    used = {"url", source, title} | ({"start_index", "end_index"} if end is not None else set())
    extra = {key: value for key, value in fields.items() if key not in used and value is not None}
    return Citation(
        url=url if isinstance(url, str) else "",
        title=fields.get(title, ""),
        source=fields.get(source, ""),
        start=None if start is None else begin + start,
        end=None if end is None else begin + end,
        extra=extra or None,
    )


def span(text: str, start: Any, end: Any) -> tuple[int | None, int | None]:
    """Convert positions in bytes of UTF-8 to code points; `None` for a span that is not in the
    text. An absent start is 0.

    >>> span("– tide", 4, 8)
    (2, 6)
    """
    start = 0 if start is None else start
    data = text.encode()
    if type(start) is not int or type(end) is not int or not 0 <= start < end <= len(data):
        return None, None
    if len(data) == len(text):
        return start, end
    first, last = (len(data[:at].decode("utf-8", "ignore")) for at in (start, end))
    return first, last
