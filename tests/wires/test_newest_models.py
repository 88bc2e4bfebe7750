"""What the newest models refuse is told before a request is sent, and refused by the emulator.

Words and sources: docs/rules.md, and the sources of the facts in `wire/catalogue/facts.json`.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from wire import anthropic, gemini, openai
from wire.openai import responses
from wire.testing.emulator import Emulator

HI = [{"role": "user", "content": "Hi"}]
TOOL = {"name": "get_tide", "description": "Tides.", "input_schema": {"type": "object"}}
FUNCTION = {"type": "function", "function": {"name": "get_tide", "parameters": {"type": "object"}}}
UNSUPPORTED = "Unsupported parameter: '{}' is not supported with this model."


def chat(model: str, **fields: Any) -> tuple[str, str, dict[str, Any]]:
    return "chat", model, {"model": model, "messages": HI, **fields}


def response(model: str, **fields: Any) -> tuple[str, str, dict[str, Any]]:
    return "responses", model, {"model": model, "input": "Hi", **fields}


def message(model: str, **fields: Any) -> tuple[str, str, dict[str, Any]]:
    body = {"model": model, "messages": HI, "max_tokens": 20_000, "tools": [TOOL], **fields}
    return "messages", model, body


def generated(model: str, **fields: Any) -> tuple[str, str, dict[str, Any]]:
    contents = [{"role": "user", "parts": [{"text": "Hi"}]}]
    config = {"generationConfig": fields} if "cachedContent" not in fields else fields
    return "gemini", model, {"contents": contents, **config}


def thinking(**fields: Any) -> dict[str, Any]:
    return {"thinkingConfig": fields}


REFUSED: list[tuple[tuple[str, str, dict[str, Any]], str, str]] = [
    (chat("gpt-6-astra", reasoning_effort="none"), "reasoning_effort", "'low', 'medium', 'high', "),
    (chat("gpt-6.1-sol", reasoning_effort="max"), "reasoning_effort", "does not support 'max'"),
    (chat("gpt-6-luna", reasoning_effort="minimal"), "reasoning_effort", "'minimal'"),
    (chat("gpt-6-astra", tools=[FUNCTION]), "reasoning_effort", "use /v1/responses"),
    (chat("gpt-6.1-sol", tools=[FUNCTION], reasoning_effort="low"), "reasoning_effort", "Function"),
    (chat("gpt-6-sol", tools=[FUNCTION]), "reasoning_effort", "not supported for gpt-6-sol"),
    (chat("gpt-6.1-sol", temperature=0), "temperature", UNSUPPORTED.format("temperature")),
    (chat("gpt-6-astra", top_p=0.5), "top_p", UNSUPPORTED.format("top_p")),
    (chat("gpt-6.1-sol", stop=["x"]), "stop", UNSUPPORTED.format("stop")),
    (chat("gpt-6-cyber"), "model", "only supported in v1/responses"),
    (
        response("gpt-6.1-sol", reasoning={"effort": "none"}),
        "reasoning.effort",
        "'xhigh', and 'max'",
    ),
    (response("gpt-6-sol", reasoning={"effort": "minimal"}), "reasoning.effort", "'none', 'low'"),
    (response("gpt-6-astra", temperature=0.5), "temperature", UNSUPPORTED.format("temperature")),
    (response("gpt-6-sol", max_output_tokens=10**7), "max_output_tokens", "<= 128000"),
    (
        message("claude-opus-5-5", tool_choice={"type": "any"}),
        "tool_choice",
        'type "tool" and "any"',
    ),
    (
        message("claude-fable-5-1", tool_choice={"type": "tool", "name": "get_tide"}),
        "tool_choice",
        "are not supported for this model.",
    ),
    (message("claude-fable-5-1", thinking={"type": "disabled"}), "thinking.type", "disabled"),
    (message("claude-sonnet-5-5", thinking={"type": "disabled"}), "thinking.type", "between_tools"),
    (
        message("claude-opus-5-5", thinking={"type": "enabled", "budget_tokens": 2000}),
        "thinking.type",
        '"thinking.type.enabled" is not supported for this model.',
    ),
    (message("claude-haiku-5-5", temperature=0.5), "temperature", "temperature"),
    (
        message("claude-haiku-5-5", thinking={"type": "disabled"}, output_config={"effort": "max"}),
        "thinking.type",
        "effort level 'max'",
    ),
    (
        message("claude-fable-5", messages=[*HI, {"role": "assistant", "content": "So"}]),
        "messages[1]",
        "prefill",
    ),
    (message("claude-opus-5-5", max_tokens=10**7), "max_tokens", "10000000 > 128000"),
    (
        generated("gemini-4-argon", **thinking(thinkingLevel="MINIMAL")),
        "generationConfig.thinkingConfig.thinkingLevel",
        "MINIMAL",
    ),
    (
        generated("gemini-4-carbon", **thinking(thinkingLevel="XHIGH")),
        "generationConfig.thinkingConfig.thinkingLevel",
        "XHIGH",
    ),
    (
        generated("gemini-4-hydrogen", **thinking(thinkingBudget=1024)),
        "generationConfig.thinkingConfig.thinkingBudget",
        "thinking_budget",
    ),
    (
        generated("gemini-4-argon", cachedContent="cachedContents/a"),
        "cachedContent",
        "gemini-4-argon",
    ),
    (
        generated("gemini-4-argon", maxOutputTokens=10**7),
        "generationConfig.maxOutputTokens",
        "1048577",
    ),
]

CHECKS: dict[str, Any] = {
    "chat": lambda model, body: openai.check(body, model, "openai"),
    "responses": lambda model, body: responses.check(body, model, "openai@responses"),
    "messages": lambda model, body: anthropic.check(body, model, "anthropic"),
    "gemini": lambda model, body: gemini.check(body, model, "gemini"),
}
TARGETS = {
    "chat": "/v1/chat/completions",
    "responses": "/v1/responses",
    "messages": "/v1/messages",
    "gemini": "/v1beta/models/{}:generateContent",
}
HEADERS = {
    "authorization": "Bearer fake-key",
    "x-api-key": "fake-key",
    "x-goog-api-key": "fake-key",
}


@pytest.mark.parametrize(("request_", "path", "words"), REFUSED)
def test_what_the_newest_models_refuse_is_foretold_and_refused_by_the_emulator(
    request_: tuple[str, str, dict[str, Any]], path: str, words: str
) -> None:
    wire, model, body = request_
    [found] = [each for each in CHECKS[wire](model, body) if each.severity == "error"]
    assert found.path == path
    assert words in found.message
    target = TARGETS[wire].format(model)
    version = {"anthropic-version": "2023-06-01"} if wire == "messages" else {}
    answer = Emulator().answer("POST", target, {**HEADERS, **version}, json.dumps(body).encode())
    assert answer.status in (400, 404)
    assert words.split(":")[0][:20] in answer.body.decode().replace('\\"', '"')
