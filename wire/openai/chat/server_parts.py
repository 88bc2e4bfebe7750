"""Calls of tools that a host of chat completions ran, as neutral parts; and its sources."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from wire.core.lenient import plain, portable, portable_fields
from wire.neutral.messages import Citation, Part, ServerToolCall, ServerToolResult, Text
from wire.openai.chat.types import Annotation, ChatCompletion, ChatCompletionChunk
from wire.openai.common.citations import annotation_of

_KINDS = {
    "search": "web_search",
    "web_search": "web_search",
    "browser_search": "web_search",
    "browser.search": "web_search",
    "browser.open": "url_context",
    "browser.find": "url_context",
    "visit": "url_context",
    "visit_website": "url_context",
    "python": "code",
    "code_interpreter": "code",
}
"""Name of a tool -> the neutral kind. Groq sends the name in `name`, or in `type` alone."""


def server_parts(executed: Iterable[Mapping[str, Any]]) -> list[Part]:
    """Return the calls that the host made, each followed by its result, if it has one.

    >>> ran = {"index": 0, "type": "python", "arguments": '{"code": "1+1"}', "output": "2"}
    >>> [call, result] = server_parts([{"index": 0, "type": "function"}, ran])
    >>> call.arguments, result.content
    ({'code': '1+1'}, '2')
    """
    calls: dict[Any, dict[str, Any]] = {}
    for position, each in enumerate(executed):
        index = each.get("index")
        known = calls.setdefault(index if type(index) is int else f"at {position}", {})
        known |= {key: value for key, value in portable(dict(each)).items() if value is not None}
    return list(itertools.chain.from_iterable(map(_parts, calls.values())))


def _parts(call: Mapping[str, Any]) -> Iterator[Part]:
    name = str(call.get("name") or call.get("type") or "")
    kind, text = _KINDS.get(name, ""), call.get("arguments")
    given = portable(plain(text.encode())) if isinstance(text, str) and text else {}
    arguments = given if isinstance(given, dict) else None
    yield ServerToolCall(name=name, kind=kind, arguments=arguments)
    found = call.get("search_results")
    results = found.get("results") if isinstance(found, dict) else None
    output = call.get("output")
    if results:
        content: Any = {"output": output, "results": results}
        yield ServerToolResult(name=name, kind=kind, content=content)
    elif output is not None:
        yield ServerToolResult(name=name, kind=kind, content=output)


def citations_of(
    annotations: Iterable[Annotation],
    searched: ChatCompletion | ChatCompletionChunk | None,
    parts: Sequence[Part],
) -> tuple[Citation, ...]:
    """Return the sources that a message, and the response around it, name for the text.

    A URL that the response lists and no annotation cites is a source without a span. A title and a
    quotation come from the list of results, if the host sends one.
    """
    length = sum(len(part.text) for part in parts if isinstance(part, Text))
    found: dict[bytes, Citation] = {}  # a stream may repeat an annotation
    for each in annotations:
        fields = portable_fields(each)
        inside = fields.get(str(each.type))
        if each.type == "file":
            continue  # the text of a file of the request, for the next request
        cited = annotation_of(inside if isinstance(inside, dict) else fields, 0, length)
        found.setdefault(msgspec.json.encode(fields), cited)
    citations = [*found.values()]
    if searched is not None:
        known = {each.url for each in citations}
        citations += [each for each in _listed(searched) if each.url not in known]
    return tuple(citations)


def _listed(searched: ChatCompletion | ChatCompletionChunk) -> Iterator[Citation]:
    found = searched.search_results or ()
    results = {each.url: portable_fields(each) for each in found if each.url}
    for url in dict.fromkeys([*(searched.citations or ()), *results]):
        yield annotation_of(results.get(url, {"url": url}), 0, 0)
    for each in found:
        if not each.url:  # recorded
            yield annotation_of(portable_fields(each), 0, 0)
