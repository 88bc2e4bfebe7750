"""Each rule with requests that break it, and with similar requests that keep it."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.joined import joined
from wire import openai
from wire.core.memory import RAW, remember
from wire.core.provider import Provider
from wire.errors import Violation
from wire.openai.chat.types import (
    Audio,
    ChatCompletionRequest,
    ContentPart,
    CustomTool,
    FileInput,
    FunctionCall,
    FunctionDefinition,
    ImageUrl,
    InputAudio,
    JsonSchema,
    Message,
    NamedFunction,
    ReasoningOptions,
    ResponseFormat,
    StreamOptions,
    Thinking,
    Tool,
    ToolCall,
    ToolChoice,
    WebSearchOptions,
)
from wire.openai.chat.types.tools import AllowedTools
from wire.openai.common.dialect import PLAIN, Dialect, Refusal
from wire.providers import PROVIDERS

from .neutral import row_of

USER = Message(role="user", content="Hi")
SYSTEM = Message(role="system", content="Be kind.")
TOOL = Tool(type="function", function=FunctionDefinition(name="f", parameters={"type": "object"}))


def asked(*messages: Message, model: str | None = "m", **fields: Any) -> ChatCompletionRequest:
    return ChatCompletionRequest(model=model, messages=list(messages) or [USER], **fields)


def calls(*ids: str | None, **fields: Any) -> Message:
    made = [
        ToolCall(id=id, type="function", function=FunctionCall(name="f", arguments="{}"))
        for id in ids
    ]
    return Message(role="assistant", tool_calls=made, **fields)


def result(id: str | None) -> Message:
    return Message(role="tool", tool_call_id=id, content="1")


def said(content: str | None = "Hello", **fields: Any) -> Message:
    return Message(role="assistant", content=content, **fields)


def parts(*content: ContentPart) -> Message:
    return Message(role="user", content=[ContentPart(type="text", text="See:"), *content])


def check(request: ChatCompletionRequest, provider: Provider | str = "") -> list[Violation]:
    """The violations of the rules of all hosts and of this host."""
    return openai.check(request, "", provider)


def told(found: list[Violation]) -> list[tuple[str, str, str]]:
    return [(each.path, each.rule, each.severity) for each in found]


# --- every host -----------------------------------------------------------------------------------

UNANSWERED = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding "
    "to each 'tool_call_id'. "
    "The following tool_call_ids did not have response messages: {}"
)
ORPHAN = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
EMPTY = (
    "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an "
    "empty array instead."
)
SILENT = "Invalid assistant message: content or tool_calls must be set"
OPTIONS = "The 'stream_options' parameter is only allowed when 'stream' is enabled."
PARALLEL = (
    "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed when "
    "'tools' are specified."
)

BROKEN: dict[str, tuple[ChatCompletionRequest, list[tuple[str, str, str]]]] = {
    "no-messages": (ChatCompletionRequest(model="m", messages=[]), [("messages", EMPTY, "O1")]),
    "call-and-user": (
        asked(USER, calls("a"), USER),
        [("messages[1].tool_calls[0]", UNANSWERED.format("a"), "O2")],
    ),
    "call-and-system": (
        asked(USER, calls("a"), SYSTEM),
        [("messages[1].tool_calls[0]", UNANSWERED.format("a"), "O2")],
    ),
    "second-of-two": (
        asked(USER, calls("a", "b"), result("a"), USER),
        [("messages[1].tool_calls[1]", UNANSWERED.format("b"), "O2")],
    ),
    "first-of-two": (
        asked(USER, calls("a", "b"), result("b"), said()),
        [("messages[1].tool_calls[0]", UNANSWERED.format("a"), "O2")],
    ),
    "call-and-call": (
        asked(USER, calls("a"), calls("b"), result("b")),
        [("messages[1].tool_calls[0]", UNANSWERED.format("a"), "O2")],
    ),
    "answered-the-first-time": (
        asked(USER, calls("a"), result("a"), calls("a"), USER),
        [("messages[3].tool_calls[0]", UNANSWERED.format("a"), "O2")],
    ),
    "too-late": (
        asked(USER, calls("a"), USER, result("a")),
        [
            ("messages[1].tool_calls[0]", UNANSWERED.format("a"), "O2"),
            ("messages[3].tool_call_id", ORPHAN, "O3"),
        ],
    ),
    "result-first": (asked(result("a")), [("messages[0].tool_call_id", ORPHAN, "O3")]),
    "result-after-text": (
        asked(USER, said(), result("a")),
        [("messages[2].tool_call_id", ORPHAN, "O3")],
    ),
    "another-id": (
        asked(USER, calls("a"), result("b"), USER),
        [
            ("messages[2].tool_call_id", ORPHAN, "O3"),
            ("messages[1].tool_calls[0]", UNANSWERED.format("a"), "O2"),
        ],
    ),
    "no-id": (
        asked(USER, calls("a"), result("a"), result(None)),
        [("messages[3].tool_call_id", ORPHAN, "O3")],
    ),
    "silent": (
        asked(USER, Message(role="assistant"), USER),
        [("messages[1].content", SILENT, "O4")],
    ),
    "silent-with-no-calls": (asked(USER, calls(), USER), [("messages[1].content", SILENT, "O4")]),
    "nothing-but-reasoning": (
        asked(USER, Message(role="assistant", reasoning_content="Hm"), USER),
        [("messages[1].content", SILENT, "O4")],
    ),
    "options": (
        asked(stream_options=StreamOptions(include_usage=True)),
        [("stream_options", OPTIONS, "O5")],
    ),
    "options-and-false": (
        asked(stream_options=StreamOptions(), stream=False),
        [("stream_options", OPTIONS, "O5")],
    ),
    "parallel": (asked(parallel_tool_calls=True), [("parallel_tool_calls", PARALLEL, "O6")]),
    "parallel-false": (
        asked(parallel_tool_calls=False, tools=[]),
        [("parallel_tool_calls", PARALLEL, "O6")],
    ),
    "all-at-once": (
        asked(
            calls("a"),
            Message(role="assistant"),
            parallel_tool_calls=True,
            stream_options=StreamOptions(),
        ),
        [
            ("messages[0].tool_calls[0]", UNANSWERED.format("a"), "O2"),
            ("messages[1].content", SILENT, "O4"),
            ("stream_options", OPTIONS, "O5"),
            ("parallel_tool_calls", PARALLEL, "O6"),
        ],
    ),
}

FINE: dict[str, ChatCompletionRequest] = {
    "one-message": asked(),
    "answered": asked(USER, calls("a", "b"), result("b"), result("a"), USER),
    "answered-at-the-end": asked(USER, calls("a"), result("a")),
    "answered-twice-over": asked(USER, calls("a"), result("a"), calls("a"), result("a"), said()),
    "one-id-for-two": asked(USER, calls("a", "a"), result("a"), result("a"), USER),
    "empty-ids": asked(USER, calls(""), result(""), USER),
    "calls-with-text": asked(USER, calls("a", content="Let me see."), result("a")),
    "empty-text": asked(USER, said(""), USER),  # recorded as accepted
    "empty-list": asked(USER, Message(role="assistant", content=[]), USER),
    "refusal": asked(USER, Message(role="assistant", refusal="No."), USER),
    "audio": asked(USER, Message(role="assistant", audio=Audio(id="audio_1")), USER),
    "function-call": asked(
        USER, Message(role="assistant", function_call=FunctionCall(name="f", arguments="{}")), USER
    ),
    "no-content-of-others": asked(Message(role="user"), Message(role="system")),
    "no-calls-and-text": asked(USER, calls(content="Hello"), USER),
    "options-of-a-stream": asked(stream=True, stream_options=StreamOptions(include_usage=True)),
    "parallel-with-tools": asked(tools=[TOOL], parallel_tool_calls=False),
    "choice-without-tools": asked(tool_choice="auto"),  # recorded as accepted at Mistral
    "assistant-last": asked(USER, said()),  # recorded as accepted at OpenAI
    "five-stops": asked(stop=["a", "b", "c", "d", "e"]),
    "no-model": asked(model=None),
}


@joined("name", BROKEN)
def test_broken(name: str):
    request, expected = BROKEN[name]
    found = check(request, "openai@chat")
    assert [(each.path, each.message, each.rule) for each in found] == expected
    assert {each.severity for each in found} == {"error"}
    # Other hosts were seen to answer some of these requests.
    elsewhere = [(each.rule, each.severity) for each in check(request)]
    answered = {"O2": "warning", "O3": "warning", "O6": "warning"}
    assert elsewhere == [(rule, answered.get(rule, "error")) for _, _, rule in expected]


@joined("name", FINE)
def test_fine(name: str):
    assert check(FINE[name]) == []
    assert check(FINE[name], row_of(PLAIN)) == []


@pytest.mark.parametrize(
    "last",
    [calls("a", "b"), calls("a", "b", content="Let me see.")],
    ids=["calls", "text-and-calls"],
)
def test_calls_at_the_end_are_a_warning(last: Message):
    """Recorded: a local server continues such a conversation."""
    found = check(asked(USER, last, result("a")))
    assert told(found) == [("messages[1].tool_calls[1]", "O2", "warning")]
    assert found[0].message == UNANSWERED.format("b")
    assert told(check(asked(USER, last))) == [
        (f"messages[1].tool_calls[{place}]", "O2", "warning") for place in (0, 1)
    ]


@joined("name", [*BROKEN, *FINE])
def test_checking_changes_nothing(name: str):
    request = BROKEN[name][0] if name in BROKEN else FINE[name]
    before = msgspec.json.encode(request)
    assert check(request) == check(request)
    assert msgspec.json.encode(request) == before


def received(text: str) -> Message:
    message = remember(msgspec.json.decode(text, type=Message), text.encode())
    assert RAW in vars(message)
    return message


def test_what_came_from_the_wire_is_looked_at_too():
    answer = received(
        '{"role":"assistant","content":null,"reasoning_content":"Hm",'
        '"tool_calls":[{"id":"a","function":{"name":"f"}}]}'
    )
    assert told(check(asked(USER, answer, USER), "mistral")) == [
        ("messages[1].tool_calls[0]", "O2", "error")
    ]
    assert check(asked(USER, answer, result("a"))) == []
    assert told(check(asked(USER, answer, result("a")), "groq")) == [
        ("messages[1].reasoning_content", "O7", "error")
    ]
    assert told(check(asked(USER, received('{"role":"assistant","content":null}'), USER))) == [
        ("messages[1].content", "O4", "error")
    ]
    assert (
        check(asked(USER, received('{"role":"assistant","content":"Hello","odd":1}'), USER)) == []
    )


# --- refused fields -------------------------------------------------------------------------------

IMAGE = ContentPart(type="image_url", image_url=ImageUrl(url="data:image/png;base64,AAAA"))
SOUND = ContentPart(type="input_audio", input_audio=InputAudio(data="AAAA", format="wav"))
PAPER = ContentPart(type="file", file=FileInput(file_data="data:application/pdf;base64,AAAA"))
JSON_OBJECT = ResponseFormat(type="json_object")
JSON_SCHEMA = ResponseFormat(
    type="json_schema", json_schema=JsonSchema(name="a", schema={"type": "object"})
)
NAMED = ToolChoice(type="function", function=NamedFunction(name="f"))
THOUGHT = asked(USER, said(reasoning_content="Hm"), USER)

REFUSED: dict[str, tuple[str, ChatCompletionRequest, str, str]] = {
    "openai-max-tokens": (
        "openai",
        asked(model="gpt-5.4", max_tokens=1),
        "max_tokens",
        "Use 'max_completion_tokens' instead.",
    ),
    "openai-verbosity": (
        "openai",
        asked(model="gpt-4.1", verbosity="low"),
        "verbosity",
        "Unrecognized request argument supplied: verbosity",
    ),
    "openai-max-tokens-o": (
        "openai",
        asked(model="o4-mini", max_tokens=1),
        "max_tokens",
        "Unsupported parameter: 'max_tokens'",
    ),
    "openai-system-o1-mini": (
        "openai",
        asked(SYSTEM, USER, model="o1-mini"),
        "messages[0].role",
        "Unsupported value: 'messages[0].role' does not support 'system' with this model.",
    ),
    "openai-developer-o1-preview": (
        "openai",
        asked(USER, Message(role="developer", content="Be kind."), USER, model="o1-preview"),
        "messages[1].role",
        "Unsupported value: 'messages[1].role' does not support 'developer' with this model.",
    ),
    "openai-tools-o1-mini": (
        "openai",
        asked(model="o1-mini", tools=[TOOL]),
        "tools[0].function",
        "tools is not supported in this model.",
    ),
    "openai-search": (
        "openai",
        asked(model="gpt-4o", web_search_options=WebSearchOptions()),
        "web_search_options",
        "Web search options not supported with this model.",
    ),
    "openai-audio-logprobs": (
        "openai",
        asked(model="gpt-audio", logprobs=True),
        "logprobs",
        "does not support the 'logprobs' parameter.",
    ),
    "openai-audio-json": (
        "openai",
        asked(model="gpt-audio", response_format=JSON_OBJECT),
        "response_format.type",
        "Invalid parameter: 'response_format' of this type is not supported with this model.",
    ),
    "deepseek-developer": (
        "deepseek",
        asked(Message(role="developer", content="Be kind."), USER),
        "messages[0].role",
        "unknown variant `developer`, expected one of `system`, `user`, `assistant`, `tool`",
    ),
    "deepseek-json": (
        "deepseek",
        asked(response_format=JSON_SCHEMA),
        "response_format.type",
        "This response_format type is unavailable now",
    ),
    "kimi-named": (
        "kimi",
        asked(model="kimi-k3", tools=[TOOL], tool_choice=NAMED),
        "tool_choice.function",
        "tool_choice 'specified' is incompatible with thinking enabled",
    ),
    "kimi-empty-text": (
        "kimi@cn",
        asked(parts(ContentPart(type="text", text=""))),
        "messages[0].content[1].text",
        "text content is empty",
    ),
    "kimi-effort": (
        "kimi",
        asked(model="kimi-k2.6", reasoning_effort="none"),
        "reasoning_effort",
        "reasoning_effort none is refused",
    ),
    "kimi-strict": (
        "kimi",
        asked(
            tools=[
                Tool(
                    type="function",
                    function=FunctionDefinition(name="f", parameters={}, strict=True),
                )
            ]
        ),
        "tools[0].function.strict",
        "strict is refused",
    ),
    "kimi-keep": (
        "kimi",
        asked(model="kimi-k2.5", thinking=Thinking(keep="all")),
        "thinking.keep",
        "thinking.keep is refused",
    ),
    "minimax-thinking": (
        "minimax",
        asked(model="MiniMax-M3", thinking=Thinking(type="enabled")),
        "thinking.type",
        'invalid thinking.type: "enabled" (allowed: adaptive, disabled) (2013)',
    ),
    "minimax-cold": (
        "minimax",
        asked(temperature=0.0),
        "temperature",
        "temperature must be in (0,1]",
    ),
    "mistral-mode": (
        "mistral",
        asked(prompt_mode="reasoning"),
        "prompt_mode",
        "Reasoning prompt mode is not enabled for this model",
    ),
    "mistral-search": (
        "mistral",
        asked(tools=[TOOL, Tool(type="web_search")]),
        "tools[1].type",
        "Input should be 'function'",
    ),
    "groq-reasoning": (
        "groq",
        THOUGHT,
        "messages[1].reasoning_content",
        "property 'reasoning_content' is unsupported",
    ),
    "groq-tools": (
        "groq",
        asked(model="groq/compound-mini", tools=[TOOL]),
        "tools[0].function",
        "`tool calling` is not supported with this model",
    ),
    "groq-browser-search": (
        "groq",
        asked(model="groq/compound", tools=[Tool(type="browser_search")]),
        "tools[0].type",
        "code=400, message=tools[0].type must be one of [function, mcp], "
        "type=invalid_request_error",
    ),
    "groq-json": (
        "groq",
        asked(model="groq/compound", response_format=JSON_SCHEMA),
        "response_format.type",
        "This model does not support response format `json_schema`.",
    ),
    "groq-logprobs": (
        "groq",
        asked(logprobs=True),
        "logprobs",
        "`logprobs` is not supported with this model",
    ),
    "groq-top-logprobs": (
        "groq",
        asked(top_logprobs=1),
        "top_logprobs",
        "`top_logprobs` is not supported with this model",
    ),
    "groq-bias": (
        "groq",
        asked(logit_bias={"1": 1}),
        "logit_bias",
        "`logit_bias` is not supported with this model",
    ),
    "xai-presence": (
        "xai",
        asked(model="grok-4.6", presence_penalty=0.0),
        "presence_penalty",
        "Model grok-4.6 does not support parameter presencePenalty.",
    ),
    "xai-frequency": (
        "xai",
        asked(model="grok-3-mini", frequency_penalty=1.0),
        "frequency_penalty",
        "parameter frequencyPenalty.",
    ),
    "xai-stop": (
        "xai",
        asked(model="grok-build-0.1", stop="a"),
        "stop",
        "Model grok-build-0.1 does not support parameter stop.",
    ),
    "cerebras-reasoning": (
        "cerebras",
        THOUGHT,
        "messages[1].reasoning_content",
        "property 'reasoning_content' is unsupported",
    ),
    "together-no-calls": (
        "together@old",
        asked(USER, calls(content="Hello"), USER),
        "messages[1].tool_calls",
        "an empty list of tool_calls is refused",
    ),
    "gemini-store": (
        "gemini@openai",
        asked(store=False),
        "store",
        'Invalid JSON payload received. Unknown name "store": Cannot find field.',
    ),
    "gemini-metadata": (
        "gemini@openai",
        asked(metadata={}),
        "metadata",
        'Unknown name "metadata": Cannot find field.',
    ),
    "gemini-reasoning": (
        "gemini@openai",
        asked(reasoning=ReasoningOptions(effort="low")),
        "reasoning",
        'Unknown name "reasoning"',
    ),
    "gemini-top-k": ("gemini@openai", asked(top_k=1), "top_k", 'Unknown name "top_k"'),
    "gemini-cache-key": (
        "gemini@openai",
        asked(prompt_cache_key="a"),
        "prompt_cache_key",
        'Unknown name "prompt_cache_key"',
    ),
    "groq-cache-key": (
        "groq",
        asked(prompt_cache_key="a"),
        "prompt_cache_key",
        "property 'prompt_cache_key' is unsupported",
    ),
}

TAKEN: dict[str, tuple[str, ChatCompletionRequest]] = {
    "openai-max-completion-tokens": ("openai", asked(model="gpt-5.4", max_completion_tokens=1)),
    "openai-max-tokens": ("openai", asked(model="gpt-4o-mini", max_tokens=1)),
    "openai-max-tokens-chat": ("openai", asked(model="gpt-5.4-chat-latest", max_tokens=1)),
    "openai-stop": ("openai", asked(model="gpt-4o", stop="a")),
    "openai-stop-between": ("openai", asked(model="gpt-5.4", stop="a")),
    "openai-stop-o3-mini": ("openai", asked(model="o3-mini", stop="a")),  # recorded
    "openai-stop-o3-mini-dated": ("openai", asked(model="o3-mini-2025-01-31", stop="a")),
    "openai-stop-o1": ("openai", asked(SYSTEM, USER, model="o1", stop="a", tools=[TOOL])),
    "openai-logprobs": (
        "openai",
        asked(model="gpt-5.4", logprobs=True, top_logprobs=2),
    ),  # recorded
    "openai-minimal": ("openai", asked(model="gpt-5-mini", reasoning_effort="minimal")),
    "openai-low": ("openai", asked(model="gpt-5.6", reasoning_effort="low")),
    "openai-search": (
        "openai",
        asked(model="gpt-5-search-api", web_search_options=WebSearchOptions()),
    ),
    "openai-image": ("openai", asked(parts(IMAGE, PAPER), model="gpt-4o")),
    "openai-audio": (
        "openai",
        asked(parts(SOUND), model="gpt-audio", response_format=ResponseFormat(type="text")),
    ),
    "deepseek-image": ("deepseek", asked(parts(IMAGE), model="deepseek-v4-vision-exp")),
    "deepseek-text": (
        "deepseek",
        asked(SYSTEM, parts(ContentPart(type="text", text="Hi")), response_format=JSON_OBJECT),
    ),
    "kimi-required": ("kimi", asked(model="kimi-k3", tools=[TOOL], tool_choice="required")),
    "kimi-text": ("kimi", asked(parts(ContentPart(type="text", text=" ")), USER)),
    "kimi-keep": ("kimi", asked(model="kimi-k2.6", thinking=Thinking(keep="all"))),
    "minimax-thinking": ("minimax", asked(model="MiniMax-M3", thinking=Thinking(type="adaptive"))),
    "minimax-other-model": (
        "minimax",
        asked(model="MiniMax-M2.7", thinking=Thinking(type="enabled")),
    ),
    "minimax-warm": ("minimax", asked(temperature=0.01)),
    "mistral-effort": ("mistral", asked(reasoning_effort="high")),
    "mistral-function": (
        "mistral",
        asked(tools=[TOOL, Tool(function=FunctionDefinition(name="g"))]),
    ),
    "groq-reasoning": ("groq", asked(USER, said(reasoning="Hm"), USER)),
    "groq-image": ("groq", asked(parts(IMAGE), model="meta-llama/llama-4-scout-17b-16e-instruct")),
    "groq-tools": (
        "groq",
        asked(model="openai/gpt-oss-120b", tools=[TOOL], response_format=JSON_SCHEMA),
    ),
    "groq-search": (
        "groq",
        asked(model="openai/gpt-oss-120b", tools=[Tool(type="browser_search")]),
    ),  # recorded
    "xai": (
        "xai",
        asked(
            model="grok-4.20-non-reasoning", presence_penalty=1.0, frequency_penalty=1.0, stop="a"
        ),
    ),
    "xai-reasoning": ("xai", asked(USER, said(reasoning_content="Hm"), USER, model="grok-4.6")),
    "cerebras": (
        "cerebras",
        asked(USER, said(reasoning="Hm"), USER, frequency_penalty=1.0, service_tier="auto"),
    ),
    "together": ("together", asked(USER, calls("a"), result("a"))),
    "gemini": ("gemini@openai", asked(reasoning_effort="low", top_p=1.0, user="u")),
    "ollama-auto": ("ollama@openai", asked(tools=[TOOL], tool_choice="auto")),
    "llama.cpp": ("llama.cpp", asked(tools=[TOOL], tool_choice="required")),
}

IGNORED: dict[str, tuple[str, ChatCompletionRequest, str]] = {
    "deepseek": ("deepseek", asked(max_completion_tokens=1), "max_completion_tokens"),
    "mistral": ("mistral", asked(seed=1), "seed"),
    "cerebras": ("cerebras", asked(logit_bias={"1": 1}), "logit_bias"),
    "ollama-choice": ("ollama@openai", asked(tools=[TOOL], tool_choice="required"), "tool_choice"),
    "ollama-named": (
        "ollama@openai",
        asked(tools=[TOOL], tool_choice=NAMED),
        "tool_choice.function",
    ),
    "ollama-n": ("ollama@openai", asked(n=2), "n"),
    "ollama-bias": ("ollama@openai", asked(logit_bias={"1": 1}), "logit_bias"),
    "ollama-user": ("ollama@openai", asked(user="u"), "user"),
    "llama.cpp": ("llama.cpp", asked(tools=[TOOL], tool_choice=NAMED), "tool_choice.function"),
}


STOPPED: dict[str, tuple[str, ChatCompletionRequest, str, str]] = {
    "openai-stop": (
        "openai",
        asked(model="gpt-5-mini", stop="a"),
        "stop",
        "Unsupported parameter: 'stop' is not supported with this model.",
    ),
    "openai-stop-dated": (
        "openai",
        asked(model="gpt-5-2025-08-07", stop=["a"]),
        "stop",
        "Unsupported parameter: 'stop'",
    ),
    "openai-stop-new": (
        "openai",
        asked(model="gpt-5.6-luna", stop=["a"]),
        "stop",
        "Unsupported parameter: 'stop'",
    ),
    "openai-stop-o3": (
        "openai",
        asked(model="o3-2025-04-16", stop="a"),
        "stop",
        "Unsupported parameter: 'stop'",
    ),
    "openai-stop-o1-mini": (
        "openai",
        asked(model="o1-mini-2024-09-12", stop="a"),
        "stop",
        "Unsupported parameter: 'stop'",
    ),
}
"""`stop` for models that do not take it, as recorded or reported."""


@joined("name", STOPPED)
def test_stop_is_a_fact_of_the_model(name: str):
    provider, request, path, words = STOPPED[name]
    found = [each for each in check(request, provider) if each.rule != "O15"]
    assert told(found) == [(path, "O22", "error")]
    assert words in found[0].message
    assert check(request) == []


UNREAD: dict[str, tuple[str, ChatCompletionRequest, str, str]] = {
    "openai-sound": (
        "openai",
        asked(parts(SOUND), model="gpt-5-mini"),
        "messages[0].content[1].input_audio",
        "Content blocks are expected to be either text or image_url type.",
    ),
    "openai-audio-image": (
        "openai",
        asked(USER, parts(IMAGE), model="gpt-audio"),
        "messages[1].content[1].image_url",
        "This model does not support image_url content.",
    ),
    "deepseek-image": (
        "deepseek",
        asked(parts(IMAGE), model="deepseek-v4-flash"),
        "messages[0].content[1].image_url",
        "unknown variant `image_url`, expected `text`",
    ),
    "deepseek-audio": (
        "deepseek",
        asked(parts(SOUND), model="deepseek-v4-pro"),
        "messages[0].content[1].input_audio",
        "unknown variant `input_audio`, expected `text`",
    ),
    "deepseek-file": (
        "deepseek",
        asked(parts(PAPER), model="deepseek-v4-pro"),
        "messages[0].content[1].file",
        "unknown variant `file`, expected `text`",
    ),
    "groq-image": (
        "groq",
        asked(parts(IMAGE), model="openai/gpt-oss-120b"),
        "messages[0].content[1].image_url",
        "content must be a string",
    ),
    "mistral-image": (
        "mistral",
        asked(parts(IMAGE), model="voxtral-small-latest"),
        "messages[0].content[1].image_url",
        "Image input is not enabled for this model",
    ),
    "mistral-audio": (
        "mistral",
        asked(parts(SOUND), model="ministral-3b-2512"),
        "messages[0].content[1].input_audio",
        "Audio input is not enabled for this model",
    ),
    "baseten-image": (
        "baseten",
        asked(parts(IMAGE), model="zai-org/GLM-5.2"),
        "messages[0].content[1].image_url",
        "This model does not support multimodal (image/video/audio) inputs.",
    ),
    "huggingface-image": (
        "huggingface",
        asked(parts(IMAGE), model="meta-llama/Llama-3.3-70B-Instruct"),
        "messages[0].content[1].image_url",
        "model features vision not support",
    ),
    "mimo-audio": (
        "mimo",
        asked(parts(SOUND), model="mimo-v2.5-pro"),
        "messages[0].content[1].input_audio",
        "No endpoints found that support image input",
    ),
}
"""Media that a model does not read, as recorded at hosts that refuse them."""


@joined("name", UNREAD)
def test_media_that_a_model_does_not_read(name: str):
    """An error in the words of a host that was seen to refuse them, elsewhere a warning."""
    provider, request, path, words = UNREAD[name]
    (found,) = [each for each in check(request, provider) if each.rule != "O15"]
    assert (found.path, found.rule, found.severity) == (path, "O23", "error")
    assert words in found.message
    # Together was recorded to answer without having looked.
    for host in ("together", ""):
        elsewhere = check(request, host)
        wanted = [] if path.endswith("file") else [(path, "O23", "warning")]
        assert told(elsewhere) == wanted
    unknown = msgspec.structs.replace(request, model="my-model")
    assert check(unknown, provider) == []


@joined("name", REFUSED)
def test_refused(name: str):
    provider, request, path, words = REFUSED[name]
    found = [each for each in check(request, provider) if each.rule != "O15"]
    assert told(found) == [(path, "O7", "error")]
    assert words in found[0].message
    assert check(request) == []


@joined("name", TAKEN)
def test_taken(name: str):
    provider, request = TAKEN[name]
    assert [each for each in check(request, provider) if each.rule != "O15"] == []


@joined("name", IGNORED)
def test_ignored(name: str):
    provider, request, path = IGNORED[name]
    assert told(check(request, provider)) == [(path, "O7", "warning")]


def test_every_refusal_has_a_request():
    """The paths in the rows equal those of the requests above that break them."""
    from_rows, from_tests = set(), set()
    by_name = ("gemini@openai", "ollama@openai")
    for name, row in PROVIDERS.items():
        for refusal in row.dialect.refuses if row.wire == "openai" else ():
            if "@" not in name or name in by_name:
                from_rows.add((name, refusal.path.partition("=")[0].replace("[]", "")))
    for provider, _, path, *_ in [*REFUSED.values(), *IGNORED.values()]:
        bare = "".join(letter for letter in path if letter not in "[]0123456789")
        from_tests.add((provider if provider in by_name else provider.partition("@")[0], bare))
    assert from_tests == from_rows


def test_a_remedy_is_told():
    found = check(asked(model="gpt-5.4", max_tokens=1), "openai")
    assert str(found[0]) == (
        "max_tokens: Unsupported parameter: 'max_tokens' is not supported with this "
        "model. Use 'max_completion_tokens' instead. "
        "[O7] (use max_completion_tokens)"
    )


@joined(
    ("path", "found"),
    [
        ("user", ["user"]),
        ("user=u", ["user"]),
        ("user=v", []),
        ("user=v|u", ["user"]),
        ("user=", []),
        ("seed", ["seed"]),
        ("seed=0", ["seed"]),
        ("seed=1", []),
        ("seed=", []),
        ("temperature=0", ["temperature"]),
        ("temperature=0.5", []),
        ("store=True", []),
        ("stop=[]", ["stop"]),
        ("stop[]", []),
        ("metadata.a", ["metadata.a"]),
        ("metadata.a=b", ["metadata.a"]),
        ("metadata.b", []),
        ("metadata.items", []),  # a name of dict's own
        ("tool_choice.title", []),  # and of str's
        ("tools.count", []),
        ("messages[]", ["messages[0]", "messages[1]", "messages[2]"]),
        ("messages[].role", ["messages[0].role", "messages[1].role", "messages[2].role"]),
        ("messages[].role=assistant", ["messages[1].role"]),
        ("messages[].content[]", ["messages[0].content[0]", "messages[0].content[1]"]),
        (
            "messages[].content[].text",
            ["messages[0].content[0].text", "messages[0].content[1].text"],
        ),
        ("messages[].content[].text=", ["messages[0].content[1].text"]),
        ("messages[].content[].image_url", []),
        (
            "messages[].tool_calls[].function.name",
            ["messages[1].tool_calls[0].function.name", "messages[1].tool_calls[1].function.name"],
        ),
        ("messages[].tool_calls[].id=b", ["messages[1].tool_calls[1].id"]),
        ("messages[].nothing", []),
        ("nothing", []),
        ("n", []),
    ],
)
def test_paths(path: str, found: list[str]):
    request = asked(
        parts(ContentPart(type="text", text="")),
        calls("a", "b"),
        Message(role="tool", tool_call_id="a", content="1"),
        user="u",
        seed=0,
        temperature=0.0,
        stop=[],
        metadata={"a": "b"},
        tool_choice="auto",
        tools=[TOOL],
    )
    refusing = check(request, row_of(Dialect(refuses=(Refusal(path, "no"),))))
    assert [each.path for each in refusing if each.rule == "O7"] == found


@joined(
    ("models", "model", "hit"),
    [
        ("", "anything", True),
        ("", None, True),
        ("gpt-5", "gpt-5", True),
        ("gpt-5", "GPT-5", True),
        ("gpt-5", "gpt-5-2025-08-07", True),
        ("gpt-4", "gpt-4-0613", True),
        ("large", "large-latest", True),
        ("gpt-5", "gpt-5-mini", False),
        ("gpt-5", "gpt-5.4", False),
        ("gpt-5", "my-gpt-5", False),
        ("gpt-5", "gpt-5-2025", True),  # four digits are a snapshot, as in gpt-4-0613
        ("gpt-5", "gpt-5-20", False),
        ("gpt-5(-.*)?", "gpt-5-mini", True),
        ("a|b", "a-mini", False),
        ("gpt-5", None, False),
    ],
)
def test_models_of_a_refusal(models: str, model: str | None, hit: bool):
    found = check(
        asked(model=model, n=1),
        row_of(Dialect(refuses=(Refusal("n", "not with {model}", models=models),))),
    )
    assert [each.message for each in found] == ([f"not with {model or ''}"] if hit else [])


@joined(
    ("provider", "model", "severity", "status", "words"),
    [
        ("openai", "gpt-3.5-turbo-instruct", "error", 404, "This is not a chat model"),  # recorded
        (
            "openai",
            "gpt-3.5-turbo-instruct-0914",
            "error",
            404,
            "Did you mean to use v1/completions?",
        ),
        ("openai", "text-embedding-3-small", "error", 404, "This is not a chat model"),
        ("openai", "whisper-1", "error", 404, "This is not a chat model"),
        ("openai", "gpt-4o-transcribe", "error", 404, "This is not a chat model"),
        ("openai", "gpt-5-codex", "error", 404, "only supported in v1/responses"),
        ("openai", "gpt-5.1-codex-max", "error", 404, "only supported in v1/responses"),
        ("openai", "o1-pro-2025-03-19", "error", 404, "only supported in v1/responses"),
        ("openai", "gpt-3.5-turbo-0613", "error", 404, "The model `gpt-3.5-turbo-0613` has been"),
        ("openai", "text-davinci-003", "error", 404, "has been deprecated"),
        ("openai", "gpt-4-vision-preview", "warning", 404, "has been deprecated"),
        ("openai", "o1-mini", "warning", 404, "has been deprecated"),
        ("openai", "gpt-5-chat-latest", "warning", 404, "has been deprecated"),
        ("deepseek", "deepseek-chat", "warning", 400, "but you passed deepseek-chat."),
        ("openai", "gpt-5.4", "", 0, ""),
        ("openai", "gpt-4o-mini-2024-07-18", "", 0, ""),
        ("openai", "gpt-5-mini", "", 0, ""),
        ("openai", "gpt-audio-mini", "", 0, ""),
        ("deepseek", "deepseek-v4-flash", "", 0, ""),
        ("openrouter", "gpt-3.5-turbo-instruct", "", 0, ""),
        ("azure", "gpt-3.5-turbo-0613", "", 0, ""),
    ],
)
def test_o15_models_that_do_not_answer(
    provider: str, model: str, severity: str, status: int, words: str
):
    found = check(asked(model=model), provider)
    assert told(found) == ([("model", "O15", severity)] if severity else [])
    assert [each.status for each in found] == ([status] if severity else [])
    assert all(words in each.message and each.remedy for each in found)


ROLES = [
    (role, content, model, severity)
    for role in ("tool", "system", "developer", "assistant")
    for content in (IMAGE, SOUND, PAPER)
    for model, severity in (
        ("gpt-4o", "error"),
        (
            "gpt-5.4",
            "warning" if (role, content) == ("tool", IMAGE) else "error",
        ),
    )
]


@joined(("role", "content", "model", "severity"), ROLES)
def test_o16_media_of_other_roles(role: str, content: ContentPart, model: str, severity: str):
    last = Message(role=role, content=[content], tool_call_id="a" if role == "tool" else None)
    before = [USER, calls("a")] if role == "tool" else [USER]
    found = [
        each for each in check(asked(*before, last, model=model), "openai") if each.rule == "O16"
    ]
    path = f"messages[{len(before)}].content[0].{content.type}"
    assert told(found) == [(path, "O16", severity)]
    assert found[0].message.startswith(f"Invalid 'messages[{len(before)}]'. ")
    assert ("contains an image URL" in found[0].message) == (content is IMAGE)
    for host in ("", "llama.cpp", "openrouter"):
        elsewhere = check(asked(*before, last, model=model), host)
        assert {(each.rule, each.severity) for each in elsewhere} <= {("O23", "warning")}


def test_o16_texts_and_media_of_users():
    text = ContentPart(type="text", text="See:")
    request = asked(
        parts(IMAGE, PAPER),
        calls("a"),
        Message(role="tool", tool_call_id="a", content=[text]),
        Message(role="system", content=[text]),
        model="gpt-4o",
    )
    assert check(request, "openai") == []


@joined(
    ("part", "path", "severity", "words"),
    [
        (
            {"file": {"file_data": "https://example.com/a.pdf"}},
            "file.file_data",
            "error",
            "but got an invalid base64-encoded value.",
        ),
        ({"file": {"file_data": "JVBERi0="}}, "file.file_data", "error", "invalid base64-encoded"),
        ({"file": {"file_data": ""}}, "file.file_data", "error", "invalid base64-encoded"),
        (
            {"file": {"file_data": "data:application/pdf,%25PDF"}},
            "file.file_data",
            "error",
            "invalid base64-encoded",
        ),
        (
            {"file": {"file_data": "data:video/mp4;base64,AAAA"}},
            "file.file_data",
            "error",
            "but got unsupported MIME type 'video/mp4'.",
        ),
        (
            {"file": {"file_data": "data:text/plain;base64,AAAA"}},
            "file.file_data",
            "warning",
            "unsupported MIME type 'text/plain'",
        ),
        ({"file": {"file_data": "data:application/pdf;base64,AAAA"}}, "", "", ""),
        ({"file": {"file_data": "DATA:application/PDF;base64,AAAA"}}, "", "", ""),
        ({"file": {"file_id": "file-1"}}, "", "", ""),
        (
            {"image_url": {"url": "iVBORw0KGgo="}},
            "image_url.url",
            "error",
            "but got a value without the 'data:' prefix.",
        ),
        ({"image_url": {"url": "file:///a.png"}}, "image_url.url", "error", "Invalid image URL"),
        ({"image_url": "iVBORw0KGgo="}, "image_url", "error", "Invalid image URL"),
        ({"image_url": {"url": "HTTPS://example.com/a.png"}}, "", "", ""),
        ({"image_url": {"url": "data:image/png;base64,AAAA"}}, "", "", ""),
    ],
)
def test_o17_media_are_data_urls(part: dict[str, Any], path: str, severity: str, words: str):
    request = asked(parts(msgspec.convert(part, ContentPart)), model="gpt-4o")
    found = check(request, "openai")
    at = f"messages[0].content[1].{path}"
    assert told(found) == ([(at, "O17", severity)] if severity else [])
    assert all(words in each.message and f"'{at}'" in each.message for each in found)
    assert check(request, "openrouter") == check(request) == []


@joined(
    ("provider", "form", "paths"),
    [
        ("openai", None, ["json_schema"]),
        ("openai", {}, ["json_schema.name", "json_schema.schema"]),
        ("openai", {"name": "", "schema": {}}, ["json_schema.name"]),
        ("openai", {"name": "a"}, ["json_schema.schema"]),
        ("openai", {"name": "a", "schema": {}}, []),
        ("groq", {"name": "a"}, ["json_schema.schema"]),  # recorded
        ("groq", {"schema": {}}, []),
        ("together", None, []),  # recorded
        ("cerebras", {"schema": {}}, []),  # recorded
        ("", None, []),
    ],
)
def test_o18_a_format_has_its_schema(provider: str, form: Any, paths: list[str]):
    response_format = msgspec.convert({"type": "json_schema", "json_schema": form}, ResponseFormat)
    found = check(asked(model="gpt-4o", response_format=response_format), provider)
    assert told(found) == [(f"response_format.{path}", "O18", "error") for path in paths]
    for kind in ("text", "json_object"):
        other = msgspec.structs.replace(response_format, type=kind)
        assert check(asked(model="gpt-4o", response_format=other), provider) == []


CLOSED = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}


@joined(
    ("schema", "path", "words"),
    [
        (CLOSED, "", ""),
        ({**CLOSED, "properties": {"a": {"type": ["string", "null"]}}}, "", ""),
        (
            {**CLOSED, "additionalProperties": True},
            "",
            "In context=(), 'additionalProperties' is required to be supplied and to be false.",
        ),
        ({"type": "object"}, "", "In context=(), 'additionalProperties'"),
        ({**CLOSED, "required": []}, "", "including every key in properties. Missing 'a'."),
        (
            {**CLOSED, "properties": {"a": {"type": "array", "items": {"type": "object"}}}},
            ".properties.a.items",
            "In context=('properties', 'a', 'items'), 'additionalProperties'",
        ),
        (
            {**CLOSED, "$defs": {"B": {**CLOSED, "required": ["b"]}}},
            ".$defs.B",
            "In context=('$defs', 'B'), 'required' is required",
        ),
        (
            {**CLOSED, "properties": {"a": {"anyOf": [CLOSED, {"type": "object"}]}}},
            ".properties.a.anyOf[1]",
            "In context=('properties', 'a', 'anyOf', 1), 'additionalProperties'",
        ),
    ],
)
def test_o19_strict_schemas_are_closed(schema: dict[str, Any], path: str, words: str):
    def of(strict: bool) -> ChatCompletionRequest:
        function = FunctionDefinition(name="f", parameters=schema, strict=strict)
        form = JsonSchema(name="g", schema=schema, strict=strict)
        return asked(
            model="gpt-4o",
            tools=[Tool(type="function", function=function)],
            response_format=ResponseFormat(type="json_schema", json_schema=form),
        )

    found = check(of(True), "openai")
    assert told(found) == (
        [
            (f"tools[0].function.parameters{path}", "O19", "error"),
            (f"response_format.json_schema.schema{path}", "O19", "error"),
        ]
        if words
        else []
    )
    beginnings = ("Invalid schema for function 'f': ", "Invalid schema for response_format 'g': ")
    for each, beginning in zip(found, beginnings, strict=False):
        assert each.message.startswith(beginning)
        assert words in each.message
    assert check(of(False), "openai") == check(of(True), "mistral") == []


@joined(
    ("schema", "path", "remedy"),
    [
        ({"type": "list"}, ".type", 'use "array"'),
        ({"type": ["str", "null"]}, ".type", 'use "string"'),
        ({"type": "OBJECT"}, ".type", 'use "object"'),
        (
            {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "file"}]}},
            ".items.anyOf[1].type",
            "use one of array, boolean, integer, null, number, object, string",
        ),
        ({"type": ["string", "null"], "enum": ["a", None]}, "", ""),
        ({"properties": {"type": {"type": "string", "default": {"type": "list"}}}}, "", ""),
        ({"enum": [{"type": "list"}]}, "", ""),
    ],
)
def test_o20_types_of_schemas_are_those_of_json_schema(
    schema: dict[str, Any], path: str, remedy: str
):
    request = asked(
        model="gpt-4o",
        tools=[Tool(type="function", function=FunctionDefinition(name="f", parameters=schema))],
        response_format=ResponseFormat(
            type="json_schema", json_schema=JsonSchema(name="g", schema=schema)
        ),
    )
    for provider, severity in (("openai", "error"), ("vllm", "warning"), ("", "warning")):
        found = check(request, provider)
        assert [(each.path, each.rule, each.severity, each.remedy) for each in found] == [
            (f"{where}{path}", "O20", severity, remedy)
            for where in (
                "tools[0].function.parameters",
                "response_format.json_schema.schema",
            )
            if path
        ]


# --- ranges, roles, tools -------------------------------------------------------------------------


@joined(
    ("provider", "fields", "message"),
    [
        (
            "openai",
            {"temperature": 99.0},
            "Invalid 'temperature': decimal above maximum value. Expected a value <= 2, but got "
            "99.0 instead.",
        ),
        (
            "openai",
            {"temperature": -0.1},
            "Invalid 'temperature': decimal below minimum value. Expected a value >= 0, but got "
            "-0.1 instead.",
        ),
        (
            "openai",
            {"top_logprobs": 21},
            "Invalid 'top_logprobs': integer above maximum value. Expected a value <= 20, but "
            "got 21 instead.",
        ),
        (
            "openai",
            {"top_p": 1.5},
            "Invalid 'top_p': decimal above maximum value. Expected a value <= 1, but got 1.5 "
            "instead.",
        ),
        (
            "openai",
            {"presence_penalty": -3},
            "Invalid 'presence_penalty': decimal below minimum value. Expected a value >= -2, but "
            "got -3 instead.",
        ),
        (
            "minimax",
            {"temperature": 1.1},
            "Invalid 'temperature': above maximum value. Expected a value <= 1, but got "
            "1.1 instead.",
        ),
        (
            "minimax",
            {"n": 2},
            "Invalid 'n': above maximum value. Expected a value <= 1, but got 2 instead.",
        ),
        (
            "groq",
            {"n": 2},
            "Invalid 'n': above maximum value. Expected a value <= 1, but got 2 instead.",
        ),
        (
            "openai",
            {"stop": ["a"] * 5},
            "Invalid 'stop': array too long. Expected an array with maximum length 4, "
            "but got an array with length 5 instead.",
        ),
        (
            "kimi",
            {"stop": ["a"] * 6},
            "Invalid 'stop': array too long. Expected an array with maximum length 5, "
            "but got an array with length 6 instead.",
        ),
    ],
)
def test_out_of_range(provider: str, fields: dict[str, Any], message: str):
    found = check(asked(**fields), provider)
    assert [(each.path, each.message, each.rule) for each in found] == [
        (next(iter(fields)), message, "O8")
    ]
    assert check(asked(**fields)) == []


@joined(
    ("provider", "fields"),
    [
        ("openai", {"temperature": 2.0, "top_logprobs": 20, "stop": ["a"] * 4}),
        ("openai", {"temperature": 0.0, "top_logprobs": 0, "stop": "a long text"}),
        ("openai", {"temperature": "hot"}),  # told where the body is made
        ("minimax", {"temperature": 1.0, "n": 1, "stop": ["a"] * 9}),
        ("groq", {"n": 1, "temperature": 9.0}),
        ("kimi", {"stop": ["a"] * 5}),
    ],
    ids=repr,
)
def test_in_range(provider: str, fields: dict[str, Any]):
    assert check(asked(**fields), provider) == []


def test_one_system_message():
    host = "minimax"
    found = check(asked(SYSTEM, USER, SYSTEM, SYSTEM), host)
    assert told(found) == [("messages[2].role", "O9", "error"), ("messages[3].role", "O9", "error")]
    assert (
        found[0].message == "invalid params, chat content has invalid message role: system (2013)"
    )
    assert check(asked(USER, SYSTEM, USER), host) == []
    assert check(asked(SYSTEM, USER, SYSTEM, SYSTEM)) == []


def test_the_last_word():
    host = "mistral"
    found = check(asked(USER, said()), host)
    assert told(found) == [("messages[1].role", "O10", "error")]
    assert (
        found[0].message
        == "Expected last role User or Tool (or Assistant with prefix True) for serving but "
        "got assistant"
    )
    assert check(asked(USER, said(prefix=True)), host) == []
    assert check(asked(USER, said(), USER), host) == []
    assert check(asked(USER, calls("a"), result("a")), host) == []
    assert told(check(ChatCompletionRequest(model="m", messages=[]), host)) == [
        ("messages", "O1", "error")
    ]


def test_functions_have_parameters():
    host = "minimax"
    bare = Tool(type="function", function=FunctionDefinition(name="f"))
    found = check(asked(tools=[TOOL, bare]), host)
    assert told(found) == [("tools[1].function.parameters", "O11", "error")]
    assert (found[0].message, found[0].remedy) == (
        "function parameters is empty (2013)",
        'set it to {"type": "object", "properties": {}}',
    )
    assert check(asked(tools=[TOOL, Tool(type="custom", custom=CustomTool(name="c"))]), host) == []
    assert check(asked(tools=[bare])) == []


ALLOWED = {
    mode: ToolChoice(type="allowed_tools", allowed_tools=AllowedTools(mode=mode))
    for mode in ("auto", "required")
}
CUSTOM = ToolChoice(type="custom", custom=NamedFunction(name="c"))


@joined(
    ("provider", "model", "choice", "fields", "hit"),
    [
        ("deepseek", "deepseek-v4-pro", "required", {}, True),  # recorded, as the next two
        ("deepseek", "deepseek-v4-flash", NAMED, {"thinking": Thinking(type="enabled")}, True),
        ("deepseek", "deepseek-v4-pro", "required", {"thinking": Thinking(type="disabled")}, False),
        ("deepseek", "deepseek-v4-pro", "required", {"thinking": Thinking(type="adaptive")}, True),
        (
            "deepseek",
            "deepseek-v4-pro",
            "required",
            {"thinking": Thinking(clear_thinking=True)},
            True,
        ),
        ("deepseek", "deepseek-v4-pro", "required", {"reasoning_effort": "none"}, False),
        ("deepseek", "deepseek-v4-pro", "any", {}, True),
        ("deepseek", "deepseek-v4-pro", CUSTOM, {}, True),
        ("deepseek", "deepseek-v4-pro", ALLOWED["required"], {}, True),
        ("deepseek", "deepseek-v4-pro", ALLOWED["auto"], {}, False),
        ("deepseek", "deepseek-v4-pro", "auto", {}, False),
        ("deepseek", "deepseek-v4-pro", "none", {}, False),
        ("deepseek", "deepseek-v4-pro", None, {}, False),
        ("deepseek", "deepseek-chat", "required", {}, False),  # recorded
        (
            "deepseek",
            "deepseek-chat",
            "required",
            {"thinking": Thinking(clear_thinking=True)},
            False,
        ),
        ("kimi", "kimi-k2.6", "required", {}, True),
        ("kimi", "kimi-k2.7-code", NAMED, {}, True),
        ("kimi", "kimi-k2-0905-preview", "required", {}, False),
        ("kimi", "kimi-k3", "required", {}, False),
        ("qwen", "qwen3.8-max", "required", {"enable_thinking": True}, True),  # recorded
        ("qwen", "qwen3.8-max", "required", {}, False),
        ("qwen", "qwen3-vl-flash", "required", {"enable_thinking": False}, False),  # recorded
        ("qwen", "qwen3.8-27b", "required", {}, True),
        ("qwen", "qwen3.8-27b", "required", {"enable_thinking": False}, False),
        ("qwen", "qwen3-235b-a22b-instruct-2507", NAMED, {}, False),
        ("glm", "glm-4.7-flash", NAMED, {}, False),  # recorded
        ("mistral", "mistral-small-latest", "any", {"reasoning_effort": "high"}, False),
    ],
)
def test_a_forced_call_while_thinking(
    provider: str, model: str, choice: Any, fields: dict[str, Any], hit: bool
):
    found = check(asked(model=model, tools=[TOOL], tool_choice=choice, **fields), provider)
    found = [each for each in found if each.severity == "error"]
    assert told(found) == ([("tool_choice", "O12", "error")] if hit else [])
    if hit:
        expected = (
            "Thinking mode does not support this tool_choice",
            'set tool_choice: "auto", or disable thinking',
        )
        assert (found[0].message, found[0].remedy) == expected


@joined(
    ("model", "fields", "hit"),
    [
        ("gpt-5.6-terra", {}, True),
        ("gpt-5.6", {"reasoning_effort": "low"}, True),
        ("gpt-5.6", {"reasoning_effort": "none"}, False),  # recorded
        ("gpt-5.5", {"reasoning_effort": "high"}, True),
        ("gpt-5.4", {"reasoning_effort": "low"}, True),
        ("gpt-5.4", {}, False),  # recorded
        ("gpt-5.4-mini", {"reasoning_effort": "none"}, False),
        ("gpt-5.3", {"reasoning_effort": "low"}, False),
        ("gpt-5", {"reasoning_effort": "low"}, False),
    ],
)
def test_tools_while_reasoning(model: str, fields: dict[str, Any], hit: bool):
    found = check(asked(model=model, tools=[TOOL], **fields), "openai")
    assert told(found) == ([("reasoning_effort", "O13", "error")] if hit else [])
    if hit:
        assert found[0].message == (
            f"Function tools with reasoning_effort are not supported for {model} in "
            "/v1/chat/completions. "
            "To use function tools, use /v1/responses or set reasoning_effort to 'none'."
        )
        assert found[0].remedy == 'use openai@responses, or set reasoning_effort: "none"'
    for tools in (None, [], [Tool(type="custom", custom=CustomTool(name="c"))]):
        assert check(asked(model=model, tools=tools, **fields), "openai") == []
    assert check(asked(model=model, tools=[TOOL], **fields), "azure") == []


# --- recorded traffic -----------------------------------------------------------------------------

CORPUS = [
    Path(__file__).parents[4] / "shared" / "corpus" / f"{name}.jsonl.gz"
    for name in ("openai-chat", "openai-chat-compatible")
]
NAMES = {"alibaba": "qwen", "llamacpp": "llama.cpp", "zai": "glm", "moonshot": "kimi"}
recorded = pytest.mark.skipif(
    not all(path.exists() for path in CORPUS),
    reason="the recorded traffic is not beside this checkout",
)


def lines() -> Iterator[dict[str, Any]]:
    for path in CORPUS:
        with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
            yield from map(json.loads, file)


@cache
def requests() -> list[tuple[str, str, int, ChatCompletionRequest]]:
    """Id, provider, status and request of every record that the structs can decode. One record has
    a text in place of a number and is left out.
    """
    found = []
    for record in lines():
        body = record["request_body"]
        if isinstance(body, dict):
            try:
                request = msgspec.convert(body, ChatCompletionRequest)
            except msgspec.ValidationError:
                assert record["status"] == 400
                continue
            found.append((record["id"], record["provider"], record["status"], request))
    return found


@recorded
def test_what_was_answered_breaks_no_rule():
    answered = [each for each in requests() if each[2] == 200]
    broken = [
        (id, provider, str(error))
        for id, provider, _, request in answered
        for error in check(request)
        if error.severity == "error"
    ]
    assert broken == []
    assert len(answered) >= 3100


@recorded
def test_what_a_provider_answered_breaks_none_of_its_rules():
    checked: Counter[str] = Counter()
    broken = []
    for id, provider, status, request in requests():
        name = NAMES.get(provider, provider)
        if status == 200 and name in PROVIDERS:
            checked[name] += 1
            broken += [
                (id, name, str(error))
                for error in check(request, name)
                if error.severity == "error"
            ]
    assert broken == []
    assert checked.keys() >= {"openai", "deepseek", "glm", "qwen", "mistral", "groq", "openrouter"}


@recorded
def test_what_was_refused_is_foreseen():
    """Not every refusal is foreseen: some depend on the model, or on the content behind a link."""
    foreseen: Counter[str] = Counter()
    for _, provider, status, request in requests():
        name = NAMES.get(provider, provider)
        if status in (400, 404, 422) and name in PROVIDERS:
            foreseen[name] += any(error.severity == "error" for error in check(request, name))
    floor = Counter({"openai": 31, "deepseek": 8, "groq": 33, "mistral": 12, "qwen": 1})
    assert foreseen >= floor, foreseen


@joined(
    ("provider", "model", "fields", "message", "hit"),
    [
        ("deepseek", "deepseek-v4-pro", {}, {}, True),
        ("deepseek", "deepseek-v4-pro", {}, {"reasoning_content": ""}, False),
        ("deepseek", "deepseek-v4-pro", {}, {"reasoning": "under another name"}, True),
        ("deepseek", "deepseek-v4-pro", {"thinking": Thinking(type="disabled")}, {}, False),
        ("deepseek", "deepseek-chat", {}, {}, False),
        ("kimi", "kimi-k2.6", {}, {}, True),
        ("glm", "glm-5.2", {"thinking": Thinking(type="enabled")}, {}, False),
    ],
)
def test_o14_reasoning_goes_back_with_its_calls(
    provider: str, model: str, fields: Any, message: Any, hit: bool
):
    found = check(asked(USER, calls("a", **message), result("a"), model=model, **fields), provider)
    found = [each for each in found if each.severity == "error"]
    assert [(each.path, each.rule) for each in found] == (
        [("messages[1].reasoning_content", "O14")] if hit else []
    )
    assert all("index 1" in each.message for each in found)


def test_o14_text_alone_needs_none():
    said = Message(role="assistant", content="Hello.")
    assert check(asked(USER, said, USER, model="deepseek-v4-pro"), "deepseek") == []


# --- bodies ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("as_bytes", [True, False])
def test_a_body_is_checked_as_its_struct_is(as_bytes: bool):
    def found(body: dict[str, Any], model: str = "") -> list[tuple[str, str, str]]:
        return told(openai.check(json.dumps(body).encode() if as_bytes else body, model))

    hi = {"role": "user", "content": "Hi"}
    assert found({"model": "gpt-5.4", "messages": [hi]}) == []
    assert found({"messages": [], "model": "gpt-5.4"}) == [("messages", "O1", "error")]
    limited = {"messages": [hi], "max_tokens": 5}
    assert (found(limited, "gpt-4o"), found(limited, "o3")) == ([], [("max_tokens", "O7", "error")])
    assert found({"messages": [{**hi, "mood": 1}], "mood": 1}, "gpt-5.4") == [
        ("messages[0].mood", "", "warning"),
        ("mood", "", "warning"),
    ]
    assert found({"messages": [hi, 5]}) == [("messages[1]", "", "error")]


def test_a_body_that_is_no_json_is_a_violation():
    for body in (b"", b"{", b"\xff", {"messages": {1}}):
        [violation] = openai.check(body)
        assert (violation.path, violation.severity) == ("", "error")
        assert violation.message.startswith("the body is not JSON: ")


# --- facts about models ---------------------------------------------------------------------------


@joined(
    ("model", "fields", "refused"),
    [
        ("gpt-6-astra", {"reasoning_effort": "none"}, {"reasoning_effort": "O21"}),
        ("gpt-6-sol", {"reasoning_effort": "none", "temperature": 0.5}, {}),
        ("gpt-6.1-sol", {"reasoning_effort": "max"}, {"reasoning_effort": "O21"}),
        ("gpt-6.1-sol", {"temperature": 0.2}, {"temperature": "O22"}),
        ("gpt-6.1-sol", {"temperature": 1, "top_p": 1}, {}),
        ("gpt-6.1-sol", {"stop": "x"}, {"stop": "O22"}),
        ("gpt-6.1-sol", {"tools": [TOOL]}, {"reasoning_effort": "O13"}),
        ("gpt-6-luna", {"tools": [TOOL], "reasoning_effort": "none"}, {}),
        ("gpt-6-luna", {"tools": [TOOL]}, {"reasoning_effort": "O13"}),
        ("gpt-5.6", {"reasoning_effort": "minimal"}, {"reasoning_effort": "O21"}),
        ("gpt-5.6-sol", {"logprobs": True, "top_logprobs": 2}, dict.fromkeys(
            ("logprobs", "top_logprobs"), "O22"
        )),
        ("gpt-5.5", {"temperature": 0}, {"temperature": "O22"}),
        ("gpt-5.4", {"temperature": 0}, {}),
        ("gpt-4.1", {"reasoning_effort": "low"}, {"reasoning_effort": "O21"}),
        ("llama-5", {"reasoning_effort": "max", "temperature": 0.2, "tools": [TOOL]}, {}),
    ],
)  # fmt: skip
def test_what_is_known_of_a_model_is_enforced_at_openai(
    model: str, fields: dict[str, Any], refused: dict[str, str]
):
    request = asked(model=model, **fields)
    assert {each.path: each.rule for each in check(request, "openai")} == refused
    assert {each.severity for each in check(request, "openai")} <= {"error"}
    assert check(request, "azure") == check(request) == []


_FIXED = "invalid temperature: only 1 is allowed for this model"
_OFF = {"thinking": Thinking(type="disabled")}


@joined(
    ("provider", "model", "fields", "found"),
    [
        ("kimi", "kimi-k3", {"temperature": 0.3}, "temperature O22 error"),
        ("kimi", "kimi-k3", {"top_p": 0.3}, "top_p O22 warning"),
        ("kimi", "kimi-k3", {"temperature": 1}, ""),
        ("kimi", "kimi-k3", {"reasoning_effort": "none"}, "reasoning_effort O21 error"),
        ("kimi", "kimi-k3", {"reasoning_effort": "medium"}, "reasoning_effort O21 warning"),
        ("kimi", "kimi-k3", _OFF, "thinking.type O21 error"),
        ("kimi", "kimi-k2.6", {**_OFF, "temperature": 0.6}, ""),
        ("kimi", "kimi-k2.6", {"reasoning_effort": "low"}, "reasoning_effort O21 warning"),
        ("glm", "glm-5.3", _OFF, "thinking.type O21 error"),
        ("glm", "glm-5.2", _OFF, ""),
        ("glm", "glm-5.2", {"temperature": 1.5}, "temperature O8 error"),
        ("glm", "glm-9", _OFF, "thinking.type O21 warning"),
        ("deepseek", "deepseek-flash", {"reasoning_effort": "high"}, ""),
        ("deepseek", "deepseek-flash", {"reasoning_effort": "max"}, ""),
        ("deepseek", "deepseek-flash", {"temperature": 0.1}, "temperature O22 warning"),
        ("deepseek", "deepseek-flash", {**_OFF, "temperature": 0.1}, ""),
        ("deepseek", "deepseek-flash", {"max_tokens": 393217}, "max_tokens O8 warning"),
        ("qwen", "qwen3.8-max", {"reasoning_effort": "low"}, "reasoning_effort O21 warning"),
        ("together", "moonshotai/Kimi-K3", {"temperature": 0.3}, ""),
    ],
)  # fmt: skip
def test_what_is_known_of_other_vendors_models(
    provider: str, model: str, fields: dict[str, Any], found: str
):
    violations = check(asked(model=model, **fields), provider)
    assert [" ".join(each) for each in told(violations)] == ([found] if found else [])
    if found == "temperature O22 error":
        assert violations[0].message == _FIXED


def test_what_a_name_inherits_refuses_nothing():
    request = asked(model="gpt-7-sol", reasoning_effort="none", temperature=0.2, tools=[TOOL])
    assert told(check(request, "openai")) == [
        ("reasoning_effort", "O21", "warning"),
        ("reasoning_effort", "O13", "warning"),
        ("temperature", "O22", "warning"),
    ]


def test_the_words_are_those_of_the_server():
    [effort] = check(asked(model="gpt-6-astra", reasoning_effort="none"), "openai")
    assert effort.message.endswith("Supported values are: 'low', 'medium', 'high', and 'xhigh'.")
    assert effort.remedy == "use low"
    [drawn] = check(asked(model="gpt-6.1-sol", temperature=0), "openai")
    assert drawn.message == (
        "Unsupported parameter: 'temperature' is not supported with this model."
    )
    [zero] = check(asked(model="gpt-5.5", temperature=0), "openai")
    assert zero.message == (
        "Unsupported value: 'temperature' does not support 0 with this model. "
        "Only the default (1) value is supported."
    )
    [old] = check(asked(model="gpt-4o", reasoning_effort="low"), "openai")
    assert old.message == "Unrecognized request argument supplied: reasoning_effort"


def test_mistral_has_efforts_and_words_of_its_own():
    [found] = check(asked(model="mistral-medium-3-5", reasoning_effort="low"), "mistral")
    assert (found.path, found.rule, found.severity) == ("reasoning_effort", "O21", "error")
    assert found.message == (
        "this reasoning_effort is not supported for mistral-medium-3-5, "
        "supported values: [high, none]"
    )
    assert check(asked(model="mistral-large-4", reasoning_effort="low"), "mistral") == []


def test_a_model_of_responses_alone_is_refused():
    [found] = check(asked(model="gpt-6-cyber"), "openai")
    assert (found.path, found.rule, found.remedy) == ("model", "O15", "use openai@responses")
