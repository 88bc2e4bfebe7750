"""What a candidate has beside its content if the request asks for it: log probabilities, and where
a grounded text comes from.
"""

from __future__ import annotations

from typing import Any

from wire.gemini.types import GenerateContentRequest, GenerationConfig
from wire.testing.emulator.logprobs import TokenLogprob, logprobs
from wire.testing.emulator.model import Output

_PAGE = {"uri": "https://example.com/", "title": "example.com"}


def metadata(request: GenerateContentRequest, output: Output) -> dict[str, Any]:
    """The fields of the candidate that ends an answer."""
    found: dict[str, Any] = {}
    config = request.generation_config or GenerationConfig()
    if config.response_logprobs and output.text:
        found |= _logprobs(output.text, config.logprobs or 0)
    searches = any(
        tool.google_search is not None or tool.google_search_retrieval is not None
        for tool in request.tools or ()
    )
    if searches and output.text:
        found["groundingMetadata"] = _grounding(output.text)
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


def _grounding(text: str) -> dict[str, Any]:
    """One page that supports the whole text; positions count bytes."""
    segment = {"endIndex": len(text.encode("utf-8", "replace")), "text": text}
    return {
        "searchEntryPoint": {"renderedContent": "<div>example.com</div>"},
        "groundingChunks": [{"web": _PAGE}],
        "groundingSupports": [{"segment": segment, "groundingChunkIndices": [0]}],
        "webSearchQueries": [" ".join(text.split()[-6:])],
    }
