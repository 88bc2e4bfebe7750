"""Optional fields of a candidate beside its content: log probabilities, and the sources of a
grounded text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wire.gemini.types import GenerateContentRequest, GenerationConfig
from wire.neutral.messages import Reply
from wire.testing.emulator.logprobs import TokenLogprob, logprobs


def metadata(
    request: GenerateContentRequest, reply: Reply, candidate: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the further fields of the candidate that ends an answer."""
    found: dict[str, Any] = {}
    config = request.generation_config or GenerationConfig()
    if config.response_logprobs and reply.text:
        found |= _logprobs(reply.text, config.logprobs or 0)
    grounding = candidate.get("groundingMetadata")
    if grounding is not None:
        titles = [each["web"].get("title", "") for each in grounding["groundingChunks"]]
        entry = {"renderedContent": "".join(f"<div>{title}</div>" for title in titles)}
        queries = [" ".join(reply.text.split()[-6:])]
        more = {"searchEntryPoint": entry, "webSearchQueries": queries}
        found["groundingMetadata"] = {**grounding, **more}
    return found


def searches(request: GenerateContentRequest) -> bool:
    """Return whether the model may search the web."""
    return any(
        tool.google_search is not None or tool.google_search_retrieval is not None
        for tool in request.tools or ()
    )


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
