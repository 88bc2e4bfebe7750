"""What answers have beside their text: request ids, rate limits, logprobs, grounding, citations."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.testing.emulator import claude_asks
from tests.testing.emulator.asks import ask, said, stream
from wire.testing.emulator import Answer, Emulator

TEXT = "This is an emulator, and no model. You said: hi"


def chat(fault: str = "", **fields: Any) -> Answer:
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "hi"}], **fields}
    headers = {"authorization": "Bearer k"} | ({"x-wire-fault": fault} if fault else {})
    return Emulator().answer("POST", "/v1/chat/completions", headers, json.dumps(body).encode())


def test_chat_completions_have_an_id_and_rate_limits() -> None:
    headers = dict(chat().headers)
    assert headers["x-request-id"].startswith("req_")
    assert headers["x-ratelimit-limit-requests"] == "10000"
    assert headers["x-ratelimit-remaining-requests"] == "9999"
    assert headers["x-ratelimit-reset-tokens"] == "6ms"
    limited = dict(chat("429; retry-after=2").headers)
    assert (limited["x-ratelimit-remaining-requests"], limited["retry-after"]) == ("0", "2")


def test_messages_have_rate_limits() -> None:
    headers = dict(claude_asks.post(Emulator()).headers)
    assert headers["anthropic-ratelimit-requests-limit"] == "4000"
    assert headers["anthropic-ratelimit-input-tokens-remaining"] == "1999999"
    assert headers["anthropic-ratelimit-tokens-reset"] == "2026-11-21T12:01:00Z"
    limited = dict(claude_asks.post(Emulator(), fault="429").headers)
    assert limited["anthropic-ratelimit-requests-remaining"] == "0"


def test_logprobs_of_chat_completions() -> None:
    content = said(chat(logprobs=True, top_logprobs=2))["choices"][0]["logprobs"]["content"]
    assert "".join(each["token"] for each in content) == TEXT
    first = content[0]
    assert first["bytes"] == list(first["token"].encode())
    assert [each["token"] for each in first["top_logprobs"]] == ["This", "This1"]
    assert first["top_logprobs"][0]["logprob"] == first["logprob"] <= 0
    lines = chat(logprobs=True, stream=True).body.decode().split("\n\n")[:-2]
    told = [json.loads(line.removeprefix("data: "))["choices"][0] for line in lines]
    tokens = [
        each["token"] for one in told if one["logprobs"] for each in one["logprobs"]["content"]
    ]
    assert "".join(tokens) == TEXT
    assert said(chat())["choices"][0]["logprobs"] is None


TARGET = "/v1beta/models/gemini-2.5-flash"


def test_logprobs_of_gemini() -> None:
    config = {"responseLogprobs": True, "logprobs": 2}
    candidate = ask(Emulator(), target=TARGET, generationConfig=config)["candidates"][0]
    chosen = candidate["logprobsResult"]["chosenCandidates"]
    assert "".join(each["token"] for each in chosen) == TEXT
    top = candidate["logprobsResult"]["topCandidates"][0]["candidates"]
    assert (top[0], len(top)) == (chosen[0], 2)
    assert candidate["avgLogprobs"] == pytest.approx(
        sum(each["logProbability"] for each in chosen) / len(chosen)
    )
    assert "logprobsResult" not in ask(Emulator(), target=TARGET)["candidates"][0]


@pytest.mark.parametrize("streams", [False, True])
def test_grounding_of_gemini(streams: bool) -> None:
    search: Any = {"target": TARGET, "tools": [{"googleSearch": {}}]}
    answer = stream(Emulator(), **search)[-1] if streams else ask(Emulator(), **search)
    grounding = answer["candidates"][0]["groundingMetadata"]
    assert grounding["groundingSupports"][0]["segment"] == {"endIndex": len(TEXT), "text": TEXT}
    assert grounding["groundingChunks"][0]["web"]["uri"] == "https://example.com/"
    assert "groundingMetadata" not in ask(Emulator(), target=TARGET)["candidates"][0]


def test_a_search_of_chat_completions_is_cited() -> None:
    message = said(chat(model="gpt-4o-search-preview", web_search_options={}))["choices"][0]
    (annotation,) = message["message"]["annotations"]
    assert annotation["url_citation"]["end_index"] == len(TEXT)


def test_documents_of_anthropic_are_cited() -> None:
    document = {
        "type": "document",
        "title": "Tides",
        "source": {"type": "text", "media_type": "text/plain", "data": "High tide is at noon."},
        "citations": {"enabled": True},
    }
    content = [document, {"type": "text", "text": "When?"}]
    (block,) = said(claude_asks.post(Emulator(), content))["content"]
    (citation,) = block["citations"]
    assert (citation["type"], citation["cited_text"], citation["document_title"]) == (
        "char_location",
        "High tide is at noon.",
        "Tides",
    )
    streamed = claude_asks.events(claude_asks.post(Emulator(), content, stream=True))
    deltas = [each["delta"] for each in streamed if each["type"] == "content_block_delta"]
    assert deltas[0] == {"type": "citations_delta", "citation": citation}
    plain = said(claude_asks.post(Emulator(), [{**document, "citations": {}}, content[1]]))
    assert "citations" not in plain["content"][0]
