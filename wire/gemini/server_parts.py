"""Parts of tools that Gemini's server runs, as neutral parts; and the sources of a candidate.

Gemini names sources beside the content, and counts positions in bytes of UTF-8 over all texts of
the reply.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from wire.core.lenient import portable, portable_fields, well_formed
from wire.gemini.types import (
    Candidate,
    FunctionCall,
    FunctionResponse,
    GroundingMetadata,
    Part,
    Segment,
)
from wire.neutral.messages import Citation, ServerToolCall, ServerToolResult, Text
from wire.neutral.messages import Part as NeutralPart

_CODE = "codeExecution"
_KINDS = {
    "GOOGLE_SEARCH_WEB": "web_search",
    "GOOGLE_SEARCH_IMAGE": "web_search",
    "URL_CONTEXT": "url_context",
    "FILE_SEARCH": "file_search",
}
"""`toolType` -> the neutral kind."""


def server_part(wire: Part) -> ServerToolCall | ServerToolResult | None:
    """Return the part of a tool that the server ran; `None` if the wire's part is not of such a
    tool.

    >>> from wire.gemini.types import ExecutableCode
    >>> server_part(Part(executable_code=ExecutableCode(code="print(1)"))).arguments
    {'code': 'print(1)'}
    """
    given = _fields(wire)
    if (code := _object(given, "executableCode")) is not None:
        id, arguments = _id(code), {key: code[key] for key in code if key != "id"}
        return ServerToolCall(id=id, name=_CODE, kind="code", arguments=arguments)
    if (ran := _object(given, "codeExecutionResult")) is not None:
        failed = ran.get("outcome", "OUTCOME_OK") not in ("OUTCOME_OK", 1)
        content = {key: ran[key] for key in ran if key != "id"}
        return ServerToolResult(id=_id(ran), name=_CODE, kind="code", content=content, error=failed)
    for key in ("toolCall", "toolResponse"):
        if (tool := _object(given, key)) is not None:
            name = str(tool.get("toolType") or "")
            id, kind = _id(tool), _KINDS.get(name, "")
            if key == "toolCall":
                arguments = tool.get("args", {})
                is_object = isinstance(arguments, dict)
                return ServerToolCall(
                    id=id, name=name, kind=kind, arguments=arguments if is_object else None
                )
            return ServerToolResult(id=id, name=name, kind=kind, content=tool.get("response"))
    return None


def served_part(wire: Part) -> ServerToolCall | ServerToolResult | None:
    """Return the part of a call that the server made to an MCP server, or of its result."""
    call, response = wire.function_call, wire.function_response
    found: FunctionCall | FunctionResponse | None = call if call is not None else response
    if found is None or not found.name:
        return None
    name, id = well_formed(found.name), well_formed(found.id or "")
    if call is not None:
        arguments = {} if call.args is None else portable(call.args)
        is_object = isinstance(arguments, dict)
        return ServerToolCall(
            id=id, name=name, kind="mcp", arguments=arguments if is_object else None
        )
    content = portable((_object(_fields(wire), "functionResponse") or {}).get("response"))
    return ServerToolResult(id=id, name=name, kind="mcp", content=content)


def _fields(wire: Part) -> Mapping[str, Any]:
    fields = portable_fields(wire)
    return fields if isinstance(fields, dict) else {}


def _object(fields: Mapping[str, Any], key: str) -> dict[str, Any] | None:
    value = fields.get(key)
    return value if isinstance(value, dict) else None


def _id(fields: Mapping[str, Any]) -> str:
    return str(fields.get("id") or "")


# --- citations ------------------------------------------------------------------------------------


def citations_of(candidate: Candidate, parts: Sequence[NeutralPart]) -> tuple[Citation, ...]:
    """Return the sources of a candidate: those of searches, URLs that were read, texts that it
    quotes.

    A source that supports several segments is one citation for each of them; one that supports none
    has no span.
    """
    text = _Bytes(parts)
    found: list[Citation] = []
    grounding, quoted = candidate.grounding_metadata, candidate.citation_metadata
    if grounding is not None:
        found += _grounded(grounding, text)
    if quoted is not None:
        for each in (*(quoted.citation_sources or ()), *(quoted.citations or ())):
            fields = portable_fields(each)
            if not fields:
                continue  # recorded, and says nothing
            start, end = text.span(each.start_index or 0, each.end_index or 0)
            indices = () if start is None else ("startIndex", "endIndex")
            found.append(_citation(fields, start, end, *indices))
    read = candidate.url_context_metadata
    known = {each.url for each in found}
    for page in (read.url_metadata or ()) if read is not None else ():
        url = page.retrieved_url or ""
        # Grounding names the pages that support the text; a page that failed is not a source.
        if str(page.url_retrieval_status) in _READ and url and url not in known:
            found.append(Citation(url=well_formed(url)))
    return tuple(found)


_READ = ("URL_RETRIEVAL_STATUS_SUCCESS", "1")


def _grounded(grounding: GroundingMetadata, text: _Bytes) -> Iterator[Citation]:
    chunks = grounding.grounding_chunks or ()
    sources = [portable_fields(each) for each in chunks]
    # A chunk is an object with one key, which names the kind of source.
    sources = [
        next((value for value in each.values() if isinstance(value, dict)), {}) for each in sources
    ]
    cited: set[int] = set()
    for support in grounding.grounding_supports or ():
        segment = support.segment or Segment()
        start, end = text.segment(segment)
        more: dict[str, Any] = {}
        if start is None and segment != Segment():
            more["segment"] = portable_fields(segment)
        scores = support.confidence_scores or ()
        for at, index in enumerate(support.grounding_chunk_indices or ()):
            if 0 <= index < len(sources):
                cited.add(index)
                if at < len(scores):
                    more["confidenceScore"] = portable(scores[at])
                yield _citation({**sources[index], **more}, start, end)
    for index, source in enumerate(sources):
        if index not in cited:
            yield _citation(source, None, None)


_URLS, _SOURCES = ("uri", "sourceUri"), ("placeId", "mediaId", "fileSearchStore")


def _citation(
    fields: Mapping[str, Any], start: int | None, end: int | None, *left_out: str
) -> Citation:
    """Build the citation of a source from the keys of its JSON; keys without a neutral field are in
    `extra`.
    """
    url = next((key for key in _URLS if fields.get(key)), "")
    source = next((key for key in _SOURCES if fields.get(key)), "")
    extra = {
        key: value
        for key, value in fields.items()
        if key not in (url, source, "title", "text", *left_out) and value is not None
    }
    return Citation(
        url=str(fields.get(url) or ""),
        title=str(fields.get("title") or ""),
        text=str(fields.get("text") or ""),
        source=str(fields.get(source) or ""),
        start=start,
        end=end,
        extra=extra or None,
    )


_NEAR = 64
"""Bytes around a segment in which its text is searched. Gemini 3 counts some characters that it
does not send (recorded: 2 bytes after a few lines)."""


class _Bytes:
    """The text of a reply, with positions in bytes of UTF-8 converted to code points."""

    def __init__(self, parts: Sequence[NeutralPart]) -> None:
        texts = [part.text if isinstance(part, Text) else "" for part in parts]
        text = "".join(texts)
        self._data = text.encode("utf-8", "surrogatepass")
        sizes = (len(each.encode("utf-8", "surrogatepass")) for each in texts)
        self._parts = list(itertools.accumulate(sizes, initial=0))  # where each part begins
        # Where each character begins; not needed if each has one byte.
        self._begins: list[int] | None = None
        if len(self._data) != len(text):
            self._begins = list(itertools.accumulate(map(_size, text), initial=0))

    def segment(self, segment: Segment) -> tuple[int | None, int | None]:
        """Return the span of a segment; search near its indices if its text is not there."""
        start, end = segment.start_index or 0, segment.end_index or 0
        wanted = (segment.text or "").encode("utf-8", "surrogatepass")
        part = segment.part_index or 0
        base = self._parts[part] if 0 <= part < len(self._parts) else 0
        for begin in dict.fromkeys((base, 0)):
            at = begin + start
            if not wanted:
                return self.span(at, begin + end)
            if self._data[at : at + len(wanted)] == wanted:
                return self.span(at, at + len(wanted))
            found = self._data.find(wanted, max(0, at - _NEAR), at + len(wanted) + _NEAR)
            if found >= 0:
                return self.span(found, found + len(wanted))
        return None, None

    def span(self, start: int, end: int) -> tuple[int | None, int | None]:
        """Return the span in code points; `None` if the text has no such span."""
        if not 0 <= start < end <= len(self._data):
            return None, None
        if self._begins is None:
            return start, end
        return bisect.bisect_left(self._begins, start), bisect.bisect_left(self._begins, end)


def _size(character: str) -> int:
    """Return the size of a character in bytes of UTF-8."""
    point = ord(character)
    return 1 if point < 0x80 else 2 if point < 0x800 else 3 if point < 0x10000 else 4
