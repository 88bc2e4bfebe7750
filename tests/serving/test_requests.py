"""Requests of each API as neutral requests."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tests.joined import joined
from tests.serving.running import MODELS
from wire import (
    Media,
    Message,
    Reply,
    Tool,
    ToolCall,
    ToolResult,
    anthropic,
    converse,
    gemini,
    ollama,
    openai,
)
from wire.catalogue.stops import ROWS, known, stopped, words_of
from wire.core.memory import encode
from wire.errors import RuleError
from wire.gemini import interactions
from wire.gemini.received import json_schema
from wire.gemini.types import Schema
from wire.neutral.events import events_of
from wire.neutral.messages import Done, Stop, ToolCallEnd, ToolCallStart
from wire.neutral.request import Output, Request
from wire.neutral.serving import ReceivedRequest, ResponseHead, accepted, passed_on
from wire.openai import responses
from wire.openai.chat.replies import ReplyWriter
from wire.serving.state import ClientIds
from wire.wires.contract import WIRES
from wire.wires.providers import PROVIDERS

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


def read_by(parse: Callable[..., ReceivedRequest]) -> Callable[..., ReceivedRequest]:
    """A reader whose request is for another model."""
    return lambda body, **options: accepted(parse(body, **options))


PARSERS: dict[str, Callable[..., ReceivedRequest]] = {
    "gemini": read_by(gemini.parse_request),
    "chat": read_by(openai.parse_request),
    "responses": read_by(openai.responses.parse_request),
    "anthropic": read_by(anthropic.parse_request),
    "converse": read_by(converse.parse_request),
    "interactions": read_by(interactions.parse_request),
    "ollama": read_by(ollama.parse_request),
}
RENDERERS: dict[str, Callable[..., Any]] = {
    "gemini": gemini.render_request,
    "chat": openai.render_request,
    "responses": responses.render_request,
    "anthropic": anthropic.render_request,
    "converse": converse.render_request,
    "interactions": interactions.render_request,
    "ollama": ollama.render_request,
}
CLIENTS = pytest.mark.parametrize("client", MODELS)
TIDE = Tool(
    "tide",
    "When the tide is high.",
    {"type": "object", "properties": {"port": {"type": "string"}}, "required": ["port"]},
)
FACT = {"type": "object", "properties": {"fact": {"type": "string"}}, "required": ["fact"]}
FACT["additionalProperties"] = False
CALLS = [
    ToolCall(id="call_000000001", name="tide", arguments={"port": "Brest"}),
    ToolCall(id="call_000000002", name="tide", arguments={"port": "Oslo"}),
]
CONVERSATION = (
    Message.user("What is it?", Media(data=PNG, media_type="image/png")),
    Message.assistant("A pier. I look.", *CALLS),
    Message.tool_response(
        ToolResult(CALLS[0].id, "tide", "at five"), ToolResult(CALLS[1].id, "tide", "at six")
    ),
    Message.user("Thanks.", "Bye."),
)


def rendered(client: str, request: Request) -> bytes:
    """The body of the request as the API's own client sends it."""
    provider, model = BACKENDS[client]
    return encode(RENDERERS[client](request, model, provider))


def plain(messages: tuple[Message, ...], *, ids: bool) -> list[Any]:
    """Role and parts of messages, without what the wires write differently."""

    def part_of(part: Any) -> Any:
        if isinstance(part, ToolCall):
            return (part.id if ids else "", part.name, part.arguments)
        if isinstance(part, ToolResult):
            return (part.id if ids else "", part.name, part.content, part.error, part.media)
        return part

    return [
        (message.role, [part_of(part) for part in message.parts if part != ""])
        for message in messages
    ]


@CLIENTS
def test_a_conversation_comes_through(client: str) -> None:
    request = Request(messages=CONVERSATION, system="Be brief.", tools=(TIDE,), max_tokens=300)
    parsed = PARSERS[client](rendered(client, request))
    found = parsed.request
    messages = tuple(each for each in found.messages if not each.instructs)
    # Google's API gives ids to its own calls only.
    ids = client != "gemini"
    expected = CONVERSATION
    if client == "ollama":  # whose messages have one text
        expected = (*CONVERSATION[:-1], Message.user("Thanks.\n\nBye."))
    assert plain(messages, ids=ids) == plain(expected, ids=ids)
    [first, second] = messages[2].tool_results
    assert [first.id, second.id] == [call.id for call in messages[1].tool_calls]
    instructions = [each.text for each in found.messages if each.instructs]
    assert "".join([found.system, *instructions]) == "Be brief."
    assert (found.tools, found.max_tokens) == ((TIDE,), 300)
    assert parsed.notes == ()


@CLIENTS
def test_settings_come_through(client: str) -> None:
    stop = () if client == "responses" else ("END",)
    warm = {} if client == "anthropic" else {"temperature": 0.5, "top_p": 0.25}
    request = Request(
        messages=(Message.user("Hi"),),
        tools=(TIDE,),
        tool_choice=("tide",),
        stop=stop,
        **warm,  # type: ignore[arg-type]
    )
    body = msgspec.json.decode(rendered(client, request))
    parsed = PARSERS[client](msgspec.json.encode(body))
    found = parsed.request
    assert found.stop == stop
    assert (found.temperature, found.top_p) == (warm.get("temperature"), warm.get("top_p"))
    # Ollama has no choice of tools.
    assert (found.tool_choice, found.tools) == (None if client == "ollama" else ("tide",), (TIDE,))
    # Converse has no word for no calls at all: its client declares no tools then.
    without = {"converse": ("auto", "required"), "ollama": ()}
    for choice in without.get(client, ("auto", "required", "none")):
        chosen = msgspec.structs.replace(request, tool_choice=choice)
        assert PARSERS[client](rendered(client, chosen)).request.tool_choice == choice


@CLIENTS
def test_schemas_of_answers_come_through(client: str) -> None:
    request = Request(messages=(Message.user("Hi"),), output=Output(FACT, "fact", strict=True))
    found = PARSERS[client](rendered(client, request)).request.output
    assert found is not None
    # Google's dialect has no `additionalProperties`.
    expected = {**FACT} if client != "gemini" else {**FACT, "additionalProperties": None}
    assert {"additionalProperties": None, **found.schema} == expected


@joined(
    ("client", "body", "effort", "thoughts"),
    [
        ("anthropic", {"thinking": {"type": "enabled", "budget_tokens": 2048}}, "low", True),
        ("anthropic", {"thinking": {"type": "enabled", "budget_tokens": 9000}}, "medium", True),
        ("anthropic", {"thinking": {"type": "adaptive"}}, "high", True),
        (
            "anthropic",
            {"thinking": {"type": "adaptive"}, "output_config": {"effort": "low"}},
            "low",
            True,
        ),
        (
            "anthropic",
            {"thinking": {"type": "adaptive", "display": "omitted"}},
            "high",
            False,
        ),
        ("anthropic", {"thinking": {"type": "disabled"}}, "none", False),
        ("anthropic", {}, None, False),
        ("gemini", {"thinkingConfig": {"thinkingLevel": "LOW"}}, "low", False),
        ("gemini", {"thinkingConfig": {"includeThoughts": True}}, None, True),
        ("gemini", {"thinkingConfig": {"thinkingBudget": 0}}, "none", False),
        ("gemini", {"thinkingConfig": {"thinkingBudget": -1}}, None, False),
        ("gemini", {"thinking_config": {"thinking_budget": 9000}}, "medium", False),
        ("chat", {"reasoning_effort": "low"}, "low", True),
        ("chat", {}, None, True),
        ("responses", {"reasoning": {"effort": "high", "summary": "auto"}}, "high", True),
        ("responses", {"reasoning": {"effort": "high"}}, "high", False),
    ],
)
def test_thinking(client: str, body: dict[str, Any], effort: str | None, thoughts: bool) -> None:
    parsed = PARSERS[client](full(client, body, config=True))
    assert (parsed.request.effort, parsed.thoughts) == (effort, thoughts)


BACKENDS = {
    **{client: name.split(":", 1) for client, name in MODELS.items()},
    "gemini-2.5": ("gemini", "gemini-2.5-flash"),
    "claude-4.5": ("anthropic", "claude-sonnet-4-5"),
    "qwen": ("qwen", "qwen3-max"),
    "openrouter": ("openrouter", "anthropic/claude-sonnet-4.5"),
    "vllm": ("vllm", "m"),
    "kimi": ("kimi@anthropic", "kimi-k2.6"),
}


def sent(client: str, body: dict[str, Any], backend: str) -> tuple[dict[str, Any], list[str]]:
    """The body for a backend, and the paths of the notes."""
    provider, model = BACKENDS[backend]
    row = PROVIDERS[provider]
    found = PARSERS[client](full(client, body))
    call = WIRES[row.wire].call(found.request, model, row)
    notes = [note.path for note in (*found.notes, *call.notes)]
    return json.loads(call.body), [path for path in notes if path != "max_tokens"]


TOOLS = {
    "chat": [{"type": "function", "function": {"name": "tide"}}],
    "responses": [{"type": "function", "name": "tide"}],
    "anthropic": [{"name": "tide", "input_schema": {"type": "object"}}],
}
BUDGET = {"thinking": {"type": "enabled", "budget_tokens": 5000}, "max_tokens": 9000}
GEMINI_BUDGET = {"generationConfig": {"thinkingConfig": {"thinkingBudget": 5000}}}


@joined(
    ("client", "changes", "backend", "path", "value"),
    [
        ("anthropic", {"top_k": 5}, "gemini-2.5", "generationConfig.topK", 5),
        ("anthropic", {"top_k": 5}, "vllm", "top_k", 5),
        ("anthropic", {"top_k": 5}, "responses", "", "top_k"),
        ("anthropic", {"top_k": 5}, "chat", "", "top_k"),
        ("gemini", {"generationConfig": {"topK": 5}}, "kimi", "top_k", 5),
        ("gemini", {"generationConfig": {"topK": 5}}, "anthropic", "", "top_k"),
        ("gemini", {"generationConfig": {"presencePenalty": 1}}, "chat", "presence_penalty", 1),
        ("gemini", {"generationConfig": {"presencePenalty": 0}}, "anthropic", "", ""),
        ("chat", {"frequency_penalty": 0.5}, "gemini", "", "frequency_penalty"),
        ("chat", {"logprobs": True, "top_logprobs": 2}, "anthropic", "", "logprobs"),
        ("chat", {"safety_identifier": "a"}, "responses", "safety_identifier", "a"),
        ("chat", {"user": "a"}, "anthropic", "metadata.user_id", "a"),
        ("chat", {"user": "a"}, "gemini", "", "user"),
        (
            "chat",
            {"parallel_tool_calls": False, "tools": TOOLS["chat"]},
            "anthropic",
            "tool_choice",
            {"type": "auto", "disable_parallel_tool_use": True},
        ),
        (
            "anthropic",
            {
                "tool_choice": {"type": "any", "disable_parallel_tool_use": True},
                "tools": TOOLS["anthropic"],
            },
            "responses",
            "parallel_tool_calls",
            False,
        ),
        (
            "responses",
            {"parallel_tool_calls": False, "tools": TOOLS["responses"]},
            "gemini",
            "",
            "parallel_tool_calls",
        ),
        ("responses", {"parallel_tool_calls": True}, "anthropic", "", ""),
        ("anthropic", BUDGET, "gemini-2.5", "generationConfig.thinkingConfig.thinkingBudget", 5000),
        ("anthropic", BUDGET, "gemini", "generationConfig.thinkingConfig.thinkingBudget", 5000),
        ("anthropic", BUDGET, "claude-4.5", "thinking.budget_tokens", 5000),
        ("anthropic", BUDGET, "qwen", "thinking_budget", 5000),
        ("anthropic", BUDGET, "openrouter", "reasoning.max_tokens", 5000),
        ("anthropic", BUDGET, "anthropic", "output_config.effort", "medium"),
        ("anthropic", BUDGET, "responses", "reasoning.effort", "medium"),
        ("gemini", GEMINI_BUDGET, "claude-4.5", "thinking.budget_tokens", 5000),
        ("gemini", GEMINI_BUDGET, "responses", "", "thinking_budget"),
        (
            "chat",
            {"thinking_budget": 5000},
            "gemini-2.5",
            "generationConfig.thinkingConfig.thinkingBudget",
            5000,
        ),
        (
            "chat",
            {"reasoning": {"max_tokens": 5000}, "max_tokens": 9000},
            "claude-4.5",
            "thinking.budget_tokens",
            5000,
        ),
        (
            "responses",
            {"reasoning": {"summary": "concise"}},
            "anthropic",
            "thinking.display",
            "summarized",
        ),
        (
            "gemini",
            {"generationConfig": {"thinkingConfig": {"includeThoughts": True}}},
            "responses",
            "reasoning.summary",
            "auto",
        ),
        (
            "anthropic",
            {"thinking": {"type": "adaptive", "display": "summarized"}},
            "gemini",
            "generationConfig.thinkingConfig.includeThoughts",
            True,
        ),
        ("chat", {"reasoning": {"effort": "low"}}, "responses", "reasoning.effort", "low"),
    ],
)
def test_settings_that_two_apis_have_reach_the_other(
    client: str, changes: dict[str, Any], backend: str, path: str, value: Any
) -> None:
    """Without a path, `value` is the note."""
    body, notes = sent(client, changes, backend)
    if not path:
        assert value in [*notes, *([] if notes else [""])]
        return
    found: Any = body
    for key in path.split("."):
        found = found[key]
    assert found == value
    assert path.endswith("effort") or notes == []


TIDE_FUNCTION = {"name": "tide", "description": "a"}
RESULT = {"type": "object", "properties": {"at": {"type": "string"}}}
WITH_RESULT = {
    "tools": [{"functionDeclarations": [{**TIDE_FUNCTION, "responseJsonSchema": RESULT}]}]
}
DESCRIBED = {"name": "fact", "description": "A fact.", "schema": FACT}
MARKED = {"type": "text", "text": "Hi", "prompt_cache_breakpoint": {"mode": "explicit"}}
VALIDATED = {
    "tools": [{"functionDeclarations": [TIDE_FUNCTION]}],
    "toolConfig": {"functionCallingConfig": {"mode": "VALIDATED"}},
}
TWO = [{"type": "function", "function": {"name": name}} for name in ("tide", "wind")]
AMONG = {"mode": "auto", "tools": [{"type": "function", "function": {"name": "wind"}}]}
EPHEMERAL = {"type": "ephemeral", "ttl": "1h"}


@joined(
    ("client", "changes", "backend", "path", "value"),
    [
        (
            "anthropic",
            {"system": [{"type": "text", "text": "a", "cache_control": EPHEMERAL}]},
            "responses",
            "prompt_cache_retention",
            "24h",
        ),
        ("chat", {"prompt_cache_retention": "24h"}, "responses", "prompt_cache_retention", "24h"),
        (
            "chat",
            {"prompt_cache_retention": "24h"},
            "anthropic",
            "messages.0.content.0.cache_control",
            EPHEMERAL,
        ),
        (
            "chat",
            {"messages": [{"role": "user", "content": [MARKED]}]},
            "anthropic",
            "messages.0.content.0.cache_control",
            {"type": "ephemeral"},
        ),
        (
            "gemini",
            WITH_RESULT,
            "responses",
            "tools.0.output_schema",
            RESULT,
        ),
        (
            "responses",
            {"tools": [{"type": "function", "name": "tide", "output_schema": RESULT}]},
            "gemini",
            "tools.0.functionDeclarations.0.response.properties.at.type",
            "STRING",
        ),
        ("gemini", VALIDATED, "chat", "tools.0.function.strict", True),
        ("gemini", VALIDATED, "anthropic", "tools.0.strict", True),
        (
            "chat",
            {
                "tools": [{"type": "function", "function": {**TIDE_FUNCTION, "strict": True}}],
                "tool_choice": "auto",
            },
            "gemini",
            "toolConfig.functionCallingConfig.mode",
            "VALIDATED",
        ),
        (
            "chat",
            {"tools": TWO, "tool_choice": {"type": "allowed_tools", "allowed_tools": AMONG}},
            "anthropic",
            "tools",
            [{"name": "wind", "input_schema": {"type": "object", "properties": {}}}],
        ),
        (
            "chat",
            {"response_format": {"type": "json_schema", "json_schema": DESCRIBED}},
            "responses",
            "text.format.description",
            "A fact.",
        ),
        (
            "responses",
            {"text": {"format": {"type": "json_schema", **DESCRIBED}}},
            "gemini",
            "generationConfig.responseSchema.description",
            "A fact.",
        ),
        (
            "chat",
            {
                "messages": [
                    {"role": "user", "content": "Hi"},
                    {"role": "assistant", "content": "Hello.", "name": "Ada"},
                    {"role": "user", "content": "Bye"},
                ]
            },
            "vllm",
            "messages.1.name",
            "Ada",
        ),
    ],
)
def test_what_two_apis_have_has_a_neutral_form(
    client: str, changes: dict[str, Any], backend: str, path: str, value: Any
) -> None:
    found: Any = sent(client, changes, backend)[0]
    for key in path.split("."):
        found = found[int(key) if isinstance(found, list) else key]
    assert found == value


def test_a_schema_of_results_is_told_where_a_host_has_none() -> None:
    for backend in ("chat", "anthropic"):
        assert sent("gemini", WITH_RESULT, backend)[1] == ["tools[0].response"]


def full(client: str, changes: dict[str, Any], *, config: bool = False) -> bytes:
    """A body with changes; with `config`, those of Gemini's generationConfig."""
    if client == "gemini":
        changes = {"generationConfig": changes} if config else changes
        return msgspec.json.encode({"contents": [{"parts": [{"text": "Hi"}]}], **changes})
    if client == "responses":
        return msgspec.json.encode({"model": "any", "input": "Hi", **changes})
    if client == "converse":
        messages: list[Any] = [{"role": "user", "content": [{"text": "Hi"}]}]
        return msgspec.json.encode({"messages": messages, **changes})
    if client == "interactions":
        return msgspec.json.encode({"model": "any", "input": "Hi", **changes})
    messages = [{"role": "user", "content": "Hi"}]
    return msgspec.json.encode({"model": "any", "max_tokens": 9, "messages": messages, **changes})


def user(*content: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": list(content)}]}


REFUSED = [
    ("anthropic", {"model": 5}, "model: expected `str`, got `int`"),
    ("anthropic", {"thread": {"type": "create"}}, "thread: threads are not supported here"),
    ("anthropic", {"messages": [{"role": "robot", "content": "Hi"}]}, "messages[0].role: expected"),
    ("anthropic", user({"title": "Tides"}), "messages[0].content[0].type: expected a text"),
    (
        "anthropic",
        user({"type": "image", "source": {"type": "file", "file_id": "file_1"}}),
        "messages[0].content[0].source.type: 'file' has no neutral form",
    ),
    (
        "anthropic",
        user({"type": "image", "source": {"type": "base64", "data": "*"}}),
        "messages[0].content[0].source.data: expected base64",
    ),
    ("chat", {"messages": "Hi"}, "messages: expected `array`, got `str`"),
    ("chat", {"messages": [{"role": "robot"}]}, "messages[0].role: expected system"),
    ("chat", user({"text": "Hi"}), "messages[0].content[0].type: expected a text"),
    ("chat", {"response_format": {"type": "json_schema"}}, "response_format: expected text"),
    (
        "chat",
        {"tools": [{"type": "function", "function": {"name": "a b"}}]},
        "tool.name: 'a b' is not a tool name",
    ),
    ("responses", {"conversation": "conv_1"}, "conversation: the gateway stores nothing"),
    (
        "responses",
        {"input": [{"type": "item_reference", "id": "msg_1"}]},
        "input[0]: the gateway stores no items",
    ),
    (
        "responses",
        {"input": [{"role": "user", "content": [{"text": "Hi"}]}]},
        "input[0].content[0].type: expected a text",
    ),
    ("gemini", {"cachedContent": "cachedContents/a"}, "cachedContent: the backend has no such"),
    ("gemini", {"contents": [{"role": "robot", "parts": []}]}, "contents[0].role: expected user"),
    (
        "gemini",
        {"contents": [{"parts": [{"a": 1}]}]},
        "contents[0].parts[0]: expected a text",
    ),
    (
        "gemini",
        {"generationConfig": {"responseMimeType": "text/x.enum"}},
        "generationConfig.responseMimeType: 'text/x.enum' has no neutral form",
    ),
]


@joined(("client", "changes", "message"), REFUSED)
def test_what_has_no_neutral_form_is_refused(
    client: str, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(RuleError) as caught:
        PARSERS[client](full(client, changes))
    assert caught.value.message.startswith(message)


@joined(
    ("client", "changes", "path"),
    [
        ("anthropic", {"inference_geo": "eu"}, "inference_geo"),
        ("anthropic", {"an_unknown_key": 1}, "an_unknown_key"),
        ("anthropic", {"tools": [{"type": "bash_20250124", "name": "bash"}]}, "tools[0]"),
        ("chat", {"n": 2}, "n"),
        ("chat", {"modalities": ["text", "audio"]}, "modalities"),
        ("chat", {"logit_bias": {"1": 2}}, "logit_bias"),
        ("chat", {"tools": [{"type": "mcp"}]}, "tools[0]"),
        ("responses", {"truncation": "auto"}, "truncation"),
        ("responses", {"tools": [{"type": "image_generation"}]}, "tools[0]"),
        ("responses", {"background": True}, "background"),
        ("gemini", {"generationConfig": {"candidateCount": 2}}, "generationConfig.candidateCount"),
        (
            "gemini",
            {"generationConfig": {"responseModalities": ["IMAGE"]}},
            "generationConfig.responseModalities",
        ),
        ("gemini", {"safetySettings": [{"category": "X"}]}, "safetySettings"),
        (
            "gemini",
            {"generationConfig": {"audio_timestamp": True}},
            "generationConfig.audio_timestamp",
        ),
        ("gemini", {"tools": [{"googleMaps": {}}]}, "tools[0].googleMaps"),
    ],
)
def test_what_is_left_out_is_noted(client: str, changes: dict[str, Any], path: str) -> None:
    parsed = PARSERS[client](full(client, changes))
    assert [note.path for note in parsed.notes] == [path]
    assert parsed.notes[0].message.startswith("left out: ")
    assert parsed.request.tools == ()


@joined(
    ("client", "changes"),
    [
        ("chat", {"response_format": {"type": "json_object"}}),
        ("responses", {"text": {"format": {"type": "json_object"}}}),
        ("gemini", {"generationConfig": {"responseMimeType": "application/json"}}),
    ],
)
def test_json_without_a_schema_stays_the_mode_of_the_host(
    client: str, changes: dict[str, Any]
) -> None:
    found = PARSERS[client](full(client, changes)).request
    assert (found.system, found.output) == ("", Output({}))


DECLARED: dict[str, Callable[[str], dict[str, Any]]] = {
    "gemini": lambda name: {
        "tools": [{"functionDeclarations": [{"name": name, "description": "a"}]}],
        "contents": [
            {"parts": [{"text": "Hi"}]},
            {"role": "model", "parts": [{"functionCall": {"name": name, "args": {}}}]},
            {"parts": [{"functionResponse": {"name": name, "response": {"output": "a"}}}]},
        ],
        "toolConfig": {
            "functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": [name]},
        },
    },
    "chat": lambda name: {
        "functions": [{"name": name}],
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "function_call": {"name": name, "arguments": "{}"}},
            {"role": "function", "name": name, "content": "a"},
        ],
        "function_call": {"name": name},
    },
    "responses": lambda name: {
        "tools": [{"type": "function", "name": name}],
        "input": [
            {"role": "user", "content": "Hi"},
            {"type": "function_call", "call_id": "c", "name": name, "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "a"},
        ],
        "tool_choice": {"type": "function", "name": name},
    },
    "anthropic": lambda name: {
        "tools": [{"name": name, "input_schema": {"type": "object"}}],
        "messages": [
            {"role": "user", "content": "Hi"},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "c", "name": name, "input": {}}],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c"}]},
        ],
        "tool_choice": {"type": "tool", "name": name},
    },
    "converse": lambda name: {
        "toolConfig": {
            "tools": [{"toolSpec": {"name": name, "inputSchema": {"json": {"type": "object"}}}}],
            "toolChoice": {"tool": {"name": name}},
        },
        "messages": [
            {"role": "user", "content": [{"text": "Hi"}]},
            {
                "role": "assistant",
                "content": [{"toolUse": {"toolUseId": "c", "name": name, "input": {}}}],
            },
            {
                "role": "user",
                "content": [{"toolResult": {"toolUseId": "c", "content": [{"text": "a"}]}}],
            },
        ],
    },
    "interactions": lambda name: {
        "tools": [{"type": "function", "name": name}],
        "input": [
            {"type": "user_input", "content": [{"type": "text", "text": "Hi"}]},
            {"type": "function_call", "id": "c", "name": name, "arguments": {}},
            {"type": "function_result", "call_id": "c", "name": name, "result": "a"},
        ],
        "generation_config": {
            "tool_choice": {"allowed_tools": {"mode": "any", "tools": [name]}},
        },
    },
    "ollama": lambda name: {
        "tools": [{"type": "function", "function": {"name": name}}],
        "messages": [
            {"role": "user", "content": "Hi"},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [{"function": {"name": name, "arguments": {}}}],
            },
            {"role": "tool", "content": "a", "tool_name": name},
        ],
    },
}


@CLIENTS
def test_a_tool_has_the_clients_name_on_the_clients_side_alone(client: str) -> None:
    parsed = PARSERS[client](full(client, DECLARED[client]("3d.render")))
    request, safe = parsed.request, "_3d_render"
    calls = [call.name for message in request.messages for call in message.tool_calls]
    results = [each.name for message in request.messages for each in message.tool_results]
    names = [tool.name for tool in request.tools if isinstance(tool, Tool)]
    chosen = None if client == "ollama" else (safe,)
    assert (names, request.tool_choice, calls, results) == ([safe], chosen, [safe], [safe])
    assert f"'3d.render' is called {safe} for this model" in [each.message for each in parsed.notes]
    ids = ClientIds("a", parsed.names)
    start = ids.event(ToolCallStart(0, safe, "b"))
    call = ToolCall(id="b", name=safe, arguments={})
    end = ids.event(ToolCallEnd(0, call))
    assert [getattr(start, "name", ""), getattr(end, "call", call).name] == ["3d.render"] * 2


@joined("client", [client for client in MODELS if client != "chat"])
def test_a_model_of_the_clients_own_api_gets_the_clients_names(client: str) -> None:
    provider, model = BACKENDS[client]
    body = full(client, DECLARED[client]("3d-render"))
    parsed = PARSERS[client](body, provider=provider, model=model)
    call = WIRES[PROVIDERS[provider].wire].call(parsed.request, model, PROVIDERS[provider])
    notes: list[Any] = []
    sent = passed_on(call, parsed, notes).body.decode()
    assert (sent.count('"3d-render"') >= 3, "_3d" in sent, notes) == (True, False, [])


def test_a_client_of_functions_gets_the_call_as_it_knows_it() -> None:
    parsed = PARSERS["chat"](full("chat", DECLARED["chat"]("tide")))
    head = ResponseHead(id="1", model="m", created=0)
    calls = [ToolCall(id=each, name="tide", arguments={"a": 1}) for each in "ab"]
    writer = ReplyWriter(parsed, head)
    reply = Reply(Message.assistant(*calls), Stop("tool_calls"))
    events = b"".join(map(writer.feed, events_of(reply)))
    [choice] = json.loads(openai.render_reply(reply, parsed, head))["choices"]
    called = {"name": "tide", "arguments": '{"a":1}'}
    assert (choice["message"]["function_call"], choice["finish_reason"]) == (
        called,
        "function_call",
    )
    assert "tool_calls" not in choice["message"]
    assert (events.count(b'"function_call":{"name":"tide"'), b"tool_calls" in events) == (1, False)


@joined(
    ("part", "media"),
    [
        (
            {"type": "document_url", "document_url": "https://example.com/a", "document_name": "b"},
            Media(url="https://example.com/a", media_type="application/pdf", name="b"),
        ),
        (
            {"type": "video_url", "video_url": {"url": "https://example.com/a"}},
            Media(url="https://example.com/a", media_type="video/mp4"),
        ),
        (
            {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "flac"}},
            Media(data=b"ABC", media_type="audio/flac"),
        ),
    ],
)
def test_media_of_hosts_of_chat_completions_reach_other_apis(
    part: dict[str, Any], media: Media
) -> None:
    [message] = PARSERS["chat"](full("chat", user(part))).request.messages
    assert message.parts == (media,)


def test_contents_of_one_turn_are_one_message() -> None:
    """Google's SDKs keep a Content for each chunk of a stream."""
    call = {"functionCall": {"name": "tide", "args": {}, "id": "c1"}}
    contents = [
        {"role": "user", "parts": [{"text": "When?"}]},
        {"role": "model", "parts": [{"text": "I "}]},
        {"role": "model", "parts": [{"text": "look."}, call]},
        {"role": "model", "parts": [{"text": ""}]},
        {
            "role": "user",
            "parts": [{"functionResponse": {"name": "tide", "response": {"output": "five"}}}],
        },
    ]
    _, own, results = gemini.parse_request(
        msgspec.json.encode({"contents": contents})
    ).request.messages
    assert (own.role, own.text) == ("assistant", "I look.")
    assert results == Message.tool_response(ToolResult("c1", "tide", "five"))


def test_items_of_one_turn_are_one_message() -> None:
    items = [
        {"role": "user", "content": "When?"},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "abc"},
        {"role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
        {"type": "function_call", "call_id": "c1", "name": "tide", "arguments": "{}"},
        {"type": "custom_tool_call", "call_id": "c2", "name": "sql", "input": "SELECT 1"},
        {"type": "function_call_output", "call_id": "c1", "output": "five"},
        {
            "type": "custom_tool_call_output",
            "call_id": "c2",
            "output": [{"type": "input_text", "text": "1"}],
        },
        {"role": "user", "content": "And then?"},
    ]
    body = msgspec.json.encode({"model": "any", "input": items, "store": False})
    parsed = responses.parse_request(body)
    assert [message.role for message in parsed.request.messages] == [
        "user",
        "assistant",
        "tool",
        "user",
    ]
    own, results = parsed.request.messages[1:3]
    assert [type(part).__name__ for part in own.parts] == [
        "Thought",
        "Text",
        "ToolCall",
        "ToolCall",
    ]
    assert own.tool_calls[1].kind == "custom"
    assert results.tool_results == (
        ToolResult("c1", "tide", "five"),
        ToolResult("c2", "sql", "1"),
    )
    assert not parsed.stores


def test_blocks_of_results_and_documents() -> None:
    call = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
    image = {"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}
    result = {"type": "tool_result", "tool_use_id": "c1", "is_error": True}
    text = {"type": "text", "source": {"type": "text", "data": "Ebb."}}
    messages = [
        {"role": "assistant", "content": [call]},
        {
            "role": "user",
            "content": [
                {**result, "content": [{"type": "text", "text": "no"}, image]},
                {**text, "type": "document", "title": "Tides"},
                {"type": "text", "text": "Why?", "cache_control": {"type": "ephemeral"}},
            ],
        },
    ]
    _, results, asked = anthropic.parse_request(
        full("anthropic", {"messages": messages})
    ).request.messages
    picture = Media(url="https://example.com/a.png")
    assert results.tool_results == (ToolResult("c1", "look", "no", True, (picture,)),)
    document = Media(data=b"Ebb.", media_type="text/plain", name="Tides")
    assert (asked.parts[0], asked.text, asked.cache) == (document, "Why?", True)


@joined(
    ("schema", "expected"),
    [
        ({"type": "STRING", "nullable": True}, {"type": ["string", "null"]}),
        (
            {"type": "ARRAY", "items": {"type": "INTEGER"}, "minItems": "2"},
            {"type": "array", "items": {"type": "integer"}, "minItems": 2},
        ),
        (
            {
                "type": "OBJECT",
                "properties": {"type": {"type": "STRING", "enum": ["a"]}},
                "propertyOrdering": ["type"],
            },
            {"type": "object", "properties": {"type": {"type": "string", "enum": ["a"]}}},
        ),
        (
            {"anyOf": [{"type": "NUMBER"}, {"type": "BOOLEAN"}], "nullable": True},
            {"anyOf": [{"type": "number"}, {"type": "boolean"}, {"type": "null"}]},
        ),
    ],
)
def test_schemas_of_google_become_json_schema(
    schema: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert json_schema(msgspec.convert(schema, Schema)) == expected


STOPS_OF = ("bedrock", "chat", "gemini", "interactions", "messages", "responses")
WIRES_OF: dict[str, Any] = {
    "chat": openai,
    "gemini": gemini,
    "responses": responses,
    "anthropic": anthropic,
    "converse": converse,
    "interactions": interactions,
}
WORDS: dict[str, tuple[str, set[str] | frozenset[str]]] = {
    "chat": ("finish_reason", {"stop", "length", "tool_calls", "content_filter"}),
    "responses": ("reason|status", words_of("responses")),
    "anthropic": ("stop_reason", words_of("messages")),
    "gemini": ("finishReason", words_of("gemini")),
    "converse": ("stopReason", words_of("bedrock")),
    "interactions": ("status", words_of("interactions")),
}
"""The key of a stop word, and those that a client of each vendor knows."""


@joined("word", [(each.wire, each.word) for each in ROWS if each.wire in STOPS_OF])
def test_a_client_gets_a_stop_word_of_its_own_vendor(word: tuple[str, str]) -> None:
    row = known(*word)
    reply = Reply(Message.assistant("Hi"), stopped(row, row.word)[0])
    received = ReceivedRequest(request=Request(messages=(Message.user("Hi"),)))
    head = ResponseHead(id="1", model="m", created=0)
    for client, (key, words) in WORDS.items():
        writer = WIRES_OF[client].ReplyWriter(received, head)
        whole = WIRES_OF[client].render_reply(reply, received, head)
        for written in (whole, writer.feed(Done(reply))):
            found = re.findall(rf'"(?:{key})":"(\w+)"', written.decode(errors="replace"))
            assert set(found) <= words, (client, word)
            assert found
