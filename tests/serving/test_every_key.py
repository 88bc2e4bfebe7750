"""Each key that a client's API has is in the body of the backend, or in a note: the table has the
keys of settings on all wires, with values that mean the same.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from tests.serving.running import BODIES
from tests.serving.test_requests import PARSERS
from wire.core.errors import RuleError
from wire.neutral.serving import passed_on
from wire.wires.contract import WIRES
from wire.wires.providers import PROVIDERS

BACKENDS = {
    "gemini": ("gemini", "gemini-2.5-flash"),
    "chat": ("openai@chat", "gpt-4.1"),
    "responses": ("openai@responses", "gpt-4.1"),
    "anthropic": ("anthropic", "claude-opus-4-6"),
    "converse": ("bedrock", "us.anthropic.claude-opus-4-6-v1"),
    "interactions": ("gemini@interactions", "gemini-2.5-flash"),
    "ollama": ("ollama", "qwen3:8b"),
}
REASONING = {
    "gemini": ("gemini", "gemini-3.8-flash"),
    "chat": ("openai@chat", "gpt-5.4"),
    "responses": ("openai@responses", "gpt-5.6"),
    "anthropic": ("anthropic", "claude-opus-4-8"),
    "converse": ("bedrock", "us.anthropic.claude-opus-4-8"),
    "interactions": ("gemini@interactions", "gemini-3.8-flash"),
    "ollama": ("ollama", "gpt-oss:20b"),
}
Cell = tuple[str, Any] | None

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}
FUNCTION = {"name": "tide", "description": "When the tide is high."}
TOOLS: dict[str, list[dict[str, Any]]] = {
    "gemini": [{"functionDeclarations": [FUNCTION]}],
    "chat": [{"type": "function", "function": {**FUNCTION, "parameters": SCHEMA}}],
    "responses": [{"type": "function", **FUNCTION, "parameters": SCHEMA}],
    "anthropic": [{**FUNCTION, "input_schema": SCHEMA}],
    "converse": [{"toolSpec": {**FUNCTION, "inputSchema": {"json": SCHEMA}}}],
    "interactions": [{"type": "function", **FUNCTION, "parameters": SCHEMA}],
    "ollama": [{"type": "function", "function": {**FUNCTION, "parameters": SCHEMA}}],
}
G = "generationConfig."
CALLING = "toolConfig.functionCallingConfig"
TIDE = {"type": "function", "function": {"name": "tide"}}
NAMED = {"name": "a", "schema": SCHEMA}
JSON = {"type": "json_schema", "name": "a", "schema": SCHEMA}

ROWS: dict[str, tuple[Cell, Cell, Cell, Cell]] = {
    "max_tokens": (
        (G + "maxOutputTokens", 2000),
        ("max_completion_tokens", 2000),
        ("max_output_tokens", 2000),
        ("max_tokens", 2000),
    ),
    "temperature": (
        (G + "temperature", 0.5), ("temperature", 0.5), ("temperature", 0.5), ("temperature", 0.5),
    ),
    "top_p": ((G + "topP", 0.5), ("top_p", 0.5), ("top_p", 0.5), ("top_p", 0.5)),
    "top_k": ((G + "topK", 5), ("top_k", 5), None, ("top_k", 5)),
    "stop": ((G + "stopSequences", ["x"]), ("stop", ["x"]), None, ("stop_sequences", ["x"])),
    "seed": ((G + "seed", 7), ("seed", 7), None, None),
    "n": ((G + "candidateCount", 2), ("n", 2), None, None),
    "presence_penalty": (
        (G + "presencePenalty", 0.5), ("presence_penalty", 0.5), None, None,
    ),
    "frequency_penalty": (
        (G + "frequencyPenalty", 0.5), ("frequency_penalty", 0.5), None, None,
    ),
    "logit_bias": (None, ("logit_bias", {"1": 2}), None, None),
    "logprobs": ((G + "responseLogprobs", True), ("logprobs", True), None, None),
    "top_logprobs": ((G + "logprobs", 2), ("top_logprobs", 2), ("top_logprobs", 2), None),
    "effort": (
        (G + "thinkingConfig.thinkingLevel", "LOW"),
        ("reasoning_effort", "low"),
        ("reasoning.effort", "low"),
        None,  # together with `thinking`
    ),
    "thinking_budget": (
        (G + "thinkingConfig.thinkingBudget", 5000),
        ("thinking_budget", 5000),
        None,
        ("thinking", {"type": "enabled", "budget_tokens": 5000}),
    ),
    "thoughts": (
        (G + "thinkingConfig.includeThoughts", True),
        None,
        ("reasoning.summary", "auto"),
        ("thinking", {"type": "adaptive", "display": "summarized"}),
    ),
    "reasoning.mode": (None, None, ("reasoning.mode", "pro"), None),
    "reasoning.context": (None, None, ("reasoning.context", "auto"), None),
    "task_budget": (
        None, None, None, ("output_config.task_budget", {"type": "tokens", "total": 50000}),
    ),
    "output": (
        (G + "responseMimeType", "application/json"),
        ("response_format", {"type": "json_object"}),
        ("text.format", {"type": "json_object"}),
        None,
    ),
    "schema": (
        (G + "responseJsonSchema", SCHEMA),
        ("response_format", {"type": "json_schema", "json_schema": NAMED}),
        ("text.format", JSON),
        ("output_config.format", {"type": "json_schema", "schema": SCHEMA}),
    ),
    "verbosity": (None, ("verbosity", "low"), ("text.verbosity", "low"), None),
    "modalities": (
        (G + "responseModalities", ["TEXT", "IMAGE"]),
        ("modalities", ["text", "audio"]),
        None,
        None,
    ),
    "voice": (
        (G + "speechConfig", {"languageCode": "en-GB"}),
        ("audio", {"voice": "ash", "format": "mp3"}),
        None,
        None,
    ),
    "media_resolution": ((G + "mediaResolution", "MEDIA_RESOLUTION_LOW"), None, None, None),
    "prediction": (None, ("prediction", {"type": "content", "content": "a"}), None, None),
    "tool_choice": (
        (CALLING, {"mode": "ANY"}),
        ("tool_choice", "required"),
        ("tool_choice", "required"),
        ("tool_choice", {"type": "any"}),
    ),
    "no tool": (
        (CALLING, {"mode": "NONE"}),
        ("tool_choice", "none"),
        ("tool_choice", "none"),
        ("tool_choice", {"type": "none"}),
    ),
    "one tool": (
        (CALLING, {"mode": "ANY", "allowedFunctionNames": ["tide"]}),
        ("tool_choice", TIDE),
        ("tool_choice", {"type": "function", "name": "tide"}),
        ("tool_choice", {"type": "tool", "name": "tide"}),
    ),
    "parallel_tool_calls": (
        None,
        ("parallel_tool_calls", False),
        ("parallel_tool_calls", False),
        ("tool_choice", {"type": "auto", "disable_parallel_tool_use": True}),
    ),
    "max_tool_calls": (None, None, ("max_tool_calls", 3), None),
    "metadata": (
        ("labels", {"user_id": "a"}),
        ("metadata", {"user_id": "a"}),
        ("metadata", {"user_id": "a"}),
        ("metadata", {"user_id": "a"}),
    ),
    "user": (None, ("user", "a"), ("user", "a"), None),
    "safety_identifier": (None, ("safety_identifier", "a"), ("safety_identifier", "a"), None),
    "tier": (
        ("serviceTier", "flex"), ("service_tier", "flex"), ("service_tier", "flex"), None,
    ),
    "store": (("store", True), ("store", True), None, None),
    "inference_geo": (None, None, None, ("inference_geo", "eu")),
    "speed": (None, None, None, ("speed", "fast")),
    "safety": (("safetySettings", [{"category": "HARM_CATEGORY_HARASSMENT"}]), None, None, None),
    "moderation": (None, ("moderation", {"model": "m"}), ("moderation", {"model": "m"}), None),
    "fallbacks": (None, None, None, ("fallbacks", [{"model": "m"}])),
    "caching": (None, None, None, ("cache_control", {"type": "ephemeral"})),
    "prompt_cache_key": (None, ("prompt_cache_key", "a"), ("prompt_cache_key", "a"), None),
    "prompt_cache_retention": (
        None, ("prompt_cache_retention", "24h"), ("prompt_cache_retention", "24h"), None,
    ),
    "background": (None, None, ("background", True), None),
    "truncation": (None, None, ("truncation", "auto"), None),
    "context_management": (
        None, None, None, ("context_management", {"edits": [{"type": "clear_thinking_20251015"}]}),
    ),
    "include": (None, None, ("include", ["message.output_text.logprobs"]), None),
    "stream_options": (
        None,
        ("stream_options.include_obfuscation", False),
        None,
        None,
    ),
    "mcp_servers": (None, None, None, ("mcp_servers", [{"type": "url", "url": "https://a.b"}])),
    "container": (None, None, None, ("container", "a")),
    "retrieval": (("toolConfig.retrievalConfig", {"languageCode": "en"}), None, None, None),
    "search": (None, ("web_search_options", {"search_context_size": "low"}), None, None),
    "min_p": (None, ("min_p", 0.1), None, None),
    "an unknown key": (
        ("anUnknownKey", 1), ("an_unknown_key", 1), ("an_unknown_key", 1), ("an_unknown_key", 1),
    ),
}  # fmt: skip
"""Name -> path and value on Gemini, chat completions, Responses, Messages; `None` without a key."""
INFER, CONFIG, OPTION = "inferenceConfig.", "generation_config.", "options."
TEXT_JSON = {"type": "text", "mime_type": "application/json"}
GUARDRAIL = {"guardrailIdentifier": "g", "guardrailVersion": "1"}
HARM = {"type": "harassment", "threshold": "off"}
NEWER: dict[str, tuple[Cell, Cell, Cell]] = {
    "max_tokens": (
        (INFER + "maxTokens", 2000),
        (CONFIG + "max_output_tokens", 2000),
        (OPTION + "num_predict", 2000),
    ),
    "temperature": (
        (INFER + "temperature", 0.5), (CONFIG + "temperature", 0.5), (OPTION + "temperature", 0.5),
    ),
    "top_p": ((INFER + "topP", 0.5), (CONFIG + "top_p", 0.5), (OPTION + "top_p", 0.5)),
    "top_k": (None, (CONFIG + "top_k", 5), (OPTION + "top_k", 5)),
    "stop": (
        (INFER + "stopSequences", ["x"]),
        (CONFIG + "stop_sequences", ["x"]),
        (OPTION + "stop", ["x"]),
    ),
    "seed": (None, (CONFIG + "seed", 7), (OPTION + "seed", 7)),
    "presence_penalty": (None, None, (OPTION + "presence_penalty", 0.5)),
    "frequency_penalty": (None, None, (OPTION + "frequency_penalty", 0.5)),
    "min_p": (None, None, (OPTION + "min_p", 0.1)),
    "logprobs": (None, None, ("logprobs", True)),
    "top_logprobs": (None, None, ("top_logprobs", 2)),
    "effort": (
        ("outputConfig.effort", "low"), (CONFIG + "thinking_level", "low"), ("think", "low"),
    ),
    "thoughts": (None, (CONFIG + "thinking_summaries", "auto"), None),
    "output": (None, ("response_format", TEXT_JSON), ("format", "json")),
    "schema": (None, ("response_format", {**TEXT_JSON, "schema": SCHEMA}), ("format", SCHEMA)),
    "modalities": (None, ("response_modalities", ["text", "image"]), None),
    "voice": (None, (CONFIG + "speech_config", {"language": "en-GB"}), None),
    "tool_choice": (
        ("toolConfig.toolChoice", {"any": {}}), (CONFIG + "tool_choice", "any"), None,
    ),
    "no tool": (None, (CONFIG + "tool_choice", "none"), None),
    "one tool": (
        ("toolConfig.toolChoice", {"tool": {"name": "tide"}}),
        (CONFIG + "tool_choice", {"allowed_tools": {"mode": "any", "tools": ["tide"]}}),
        None,
    ),
    "metadata": (("requestMetadata", {"user_id": "a"}), ("labels", {"user_id": "a"}), None),
    "tier": (("serviceTier", {"type": "flex"}), ("service_tier", "flex"), None),
    "speed": (("performanceConfig", {"latency": "optimized"}), None, None),
    "safety": (None, ("safety_settings", [HARM]), None),
    "guardrail": (("guardrailConfig", GUARDRAIL), None, None),
    "fields": (("additionalModelRequestFields", {"a": 1}), None, None),
    "prompt variables": (("promptVariables", {"a": {"text": "b"}}), None, None),
    "background": (None, ("background", True), None),
    "webhook": (None, ("webhook_config", {"uris": ["https://a.b"]}), None),
    "window": (None, None, (OPTION + "num_ctx", 8192)),
    "keep_alive": (None, None, ("keep_alive", "5m")),
    "truncate": (None, None, ("truncate", True)),
    "shift": (None, None, ("shift", True)),
    "render": (None, None, ("_debug_render_only", True)),
    "an unknown key": (("anUnknownKey", 1), ("an_unknown_key", 1), ("an_unknown_key", 1)),
}  # fmt: skip
"""The same on Converse, Interactions and Ollama; names that `ROWS` lacks have keys here alone."""
MORE = {"anthropic": {"max_tokens": 9000}}
MAY_BE_REFUSED = ("temperature", "top_p", "effort", "search")
"""The gateway leaves them out with a note, if a rule refuses them."""
NEED_TOOLS = ("tool_choice", "no tool", "one tool", "parallel_tool_calls")
REASONS = ("effort", "thoughts", "reasoning.mode", "reasoning.context", "task_budget", "verbosity")
SAYS_ELSEWHERE = {"one tool": "tool_choice", "no tool": "tool_choice", "schema": "output"}
OTHER_PLACES = {
    ("max_tokens", "chat"): "max_tokens",
    ("effort", "anthropic"): "output_config.effort",
    ("schema", "gemini"): "generationConfig.responseSchema",
    ("schema", "chat"): "response_format.json_schema",
    ("schema", "responses"): "text.format.schema",
    ("store", "responses"): "store",
    ("store", "interactions"): "store",
    ("user", "anthropic"): "metadata.user_id",
    ("caching", "chat"): "prompt_cache_key",
    ("caching", "responses"): "prompt_cache_key",
    # The last block has the mark; Gemini and Ollama cache unasked.
    ("caching", "anthropic"): "messages",
    ("caching", "gemini"): "contents",
    ("caching", "converse"): "messages",
    ("caching", "interactions"): "input",
    ("caching", "ollama"): "messages",
    ("effort", "converse"): "additionalModelRequestFields.output_config.effort",
    ("schema", "converse"): "outputConfig.textFormat",
}
"""Where a backend has it under a key of another form."""


def at(body: Any, path: str) -> Any:
    for key in path.split("."):
        body = body.get(key) if isinstance(body, dict) else None
    return body


def with_value(body: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """The body with a value at a path."""
    key, _, rest = path.partition(".")
    return {**body, key: with_value(body.get(key, {}), rest, value) if rest else value}


def says(found: Any, expected: Any) -> bool:
    """Whether a value of a body has all of another one; objects may have more."""
    if isinstance(expected, dict) and isinstance(found, dict):
        return all(says(found.get(key), each) for key, each in expected.items())
    if isinstance(expected, list) and isinstance(found, list):
        return all(each in found for each in expected)
    return bool(found == expected)


def sent_body(
    client: str, backend: str, name: str, path: str, value: Any
) -> tuple[Any, list[str]] | None:
    """The body of the backend and the paths of the notes; `None` if a rule refuses the request."""
    body = with_value({**BODIES[client], **MORE.get(client, {})}, path, value)
    if name in NEED_TOOLS:
        place = "toolConfig.tools" if client == "converse" else "tools"
        body = with_value(body, place, TOOLS[client])
    if name == "schema" and client == "gemini":
        body["generationConfig"]["responseMimeType"] = "application/json"
    provider, model = (REASONING if name in REASONS else BACKENDS)[backend]
    row = PROVIDERS[provider]
    own = {"provider": provider, "model": model} if client == backend else {}
    parsed = PARSERS[client](msgspec.json.encode(body), **own)
    notes = list(parsed.notes)
    try:
        call = WIRES[row.wire].call(parsed.request, model, row)
    except RuleError:
        return None
    call = passed_on(call, parsed, notes)
    return json.loads(call.body), [note.path for note in (*notes, *call.notes)]


def is_told(name: str, path: str, notes: list[str]) -> bool:
    names = (path, path.partition(".")[0], name, SAYS_ELSEWHERE.get(name, name))
    return any(
        each in names or path.startswith(f"{each}.") or each.startswith((f"{path}.", f"{path}["))
        for each in notes
    )


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("client", BACKENDS)
def test_each_key_reaches_the_backend_or_is_told(client: str, backend: str) -> None:
    lost, sent, told = [], [], []
    for name in {**ROWS, **NEWER}:
        cells = (*ROWS.get(name, (None,) * 4), *NEWER.get(name, (None,) * 3))
        by_wire = dict(zip(BACKENDS, cells, strict=True))
        cell, target = by_wire[client], by_wire[backend]
        made = None if cell is None else sent_body(client, backend, name, *cell)
        if cell is None or made is None:
            assert cell is None or name in MAY_BE_REFUSED, name
            continue
        body, notes = made
        place = OTHER_PLACES.get((name, backend), "")
        if target is not None and says(at(body, target[0]), target[1]):
            sent.append(name)
        elif is_told(name, cell[0], notes):
            told.append(name)
        elif not place or at(body, place) is None:
            lost.append((name, notes))
    assert lost == []
    assert len(sent) > (3 * len(told) if client == backend else 2), told
