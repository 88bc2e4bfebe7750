"""Optional fields of a candidate beside its content: log probabilities, and the sources of a
grounded text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from wire.gemini.types import GenerateContentRequest, GenerationConfig
from wire.testing.emulator.logprobs import TokenLogprob, logprobs
from wire.testing.emulator.model import Output
from wire.testing.emulator.sources import Source
from wire.testing.emulator.sources import found as found_sources


def metadata(request: GenerateContentRequest, output: Output) -> dict[str, Any]:
    """Return the fields of the candidate that ends an answer."""
    found: dict[str, Any] = {}
    config = request.generation_config or GenerationConfig()
    if config.response_logprobs and output.text:
        found |= _logprobs(output.text, config.logprobs or 0)
    searches = any(
        tool.google_search is not None or tool.google_search_retrieval is not None
        for tool in request.tools or ()
    )
    sources = found_sources(output.sources, output.text, searches=searches)
    if sources:
        found["groundingMetadata"] = _grounding(output.text, sources)
    return found


def _logprobs(text: str, top: int) -> dict[str, Any]:
    listed = logprobs(text, top)
    average = sum(chosen.logprob for chosen, _ in listed) / len(listed)
    result: dict[str, Any] = {"chosenCandidates": [_token(chosen) for chosen, _ in listed]}
    if top:
        result["topCandidates"] = [
            {"candidates": [_token(each) for each in likeliest]} for _, likeliest in listed
        ]
    return {"avgLogprobs": average, "logprobsResult": result}


def _token(each: TokenLogprob) -> dict[str, Any]:
    return {"token": each.token, "tokenId": each.id, "logProbability": each.logprob}


def _grounding(text: str, sources: Sequence[Source]) -> dict[str, Any]:
    """Return the pages, and the segment of the text that each supports; positions count bytes."""
    titles = "".join(f"<div>{source.title}</div>" for source in sources)
    return {
        "searchEntryPoint": {"renderedContent": titles},
        "groundingChunks": [
            {"web": {"uri": source.url, "title": source.title}} for source in sources
        ],
        "groundingSupports": [
            {"segment": _segment(text, source), "groundingChunkIndices": [index]}
            for index, source in enumerate(sources)
        ],
        "webSearchQueries": [" ".join(text.split()[-6:])],
    }


def _segment(text: str, source: Source) -> dict[str, Any]:
    start, end = source.span(text)
    before = len(text[:start].encode("utf-8", "replace"))
    size = len(text[start:end].encode("utf-8", "replace"))
    # An index of 0 is absent.
    first = {"startIndex": before} if before else {}
    return {**first, "endIndex": before + size, "text": text[start:end]}
