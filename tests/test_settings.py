"""Settings over all wires: the rows of `wire/catalogue/settings.json`, and options by wire."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from tests.joined import joined
from wire import Chat, anthropic, gemini, notes, openai
from wire.catalogue.settings import COLUMNS, own_keys, setting, table
from wire.errors import ConfigurationError, RuleError
from wire.openai import responses
from wire.wires.providers import PROVIDERS

STRUCTS: dict[str, tuple[tuple[str, type[msgspec.Struct]], ...]] = {
    "gemini": (
        ("", gemini.GenerateContentRequest),
        ("generationConfig.", gemini.GenerationConfig),
        ("generationConfig.thinkingConfig.", gemini.ThinkingConfig),
    ),
    "openai": (("", openai.ChatCompletionRequest),),
    "openai.responses": (
        ("", responses.ResponseRequest),
        ("reasoning.", responses.Reasoning),
        ("text.", responses.TextOptions),
    ),
    "anthropic": (
        ("", anthropic.MessageRequest),
        ("thinking.", anthropic.Thinking),
        ("output_config.", anthropic.OutputConfig),
    ),
}
MODELS = {
    "gemini": "gemini:gemini-3.8-flash",
    "openai": "openai@chat:gpt-4.1",
    "openai.responses": "openai:gpt-5.6",
    "anthropic": "anthropic:claude-opus-4-8",
}


def called(model: str, **settings: Any) -> Any:
    with Chat(model, api_key="fake-key") as chat:
        return chat.call("Hi", **settings)


def body(model: str, **settings: Any) -> Any:
    return msgspec.json.decode(called(model, **settings).body)


def refused(model: str, options: Any) -> str:
    with pytest.raises(ConfigurationError) as caught:
        called(model, options=options)
    return caught.value.message


# --- the rows -------------------------------------------------------------------------------------


@joined("wire", STRUCTS)
def test_each_key_of_a_request_has_a_row(wire: str):
    paths = [each.path(wire) or "" for each in table().settings]
    keys = [at + key for at, struct in STRUCTS[wire] for key in struct.__struct_encode_fields__]
    assert [
        key for key in keys if not any(path == key or path.startswith(key + ".") for path in paths)
    ] == []


@joined("wire", STRUCTS)
def test_each_row_names_keys_of_the_request(wire: str):
    keys = {at + key for at, struct in STRUCTS[wire] for key in struct.__struct_encode_fields__}
    inner = ("tool_choice.disable_parallel_tool_use", "metadata.user_id")
    paths = [path for each in table().settings if (path := each.path(wire))]
    assert sorted(set(paths) - keys - set(inner)) == []


def test_a_row_is_complete():
    columns = set(COLUMNS.values())
    for row in table().settings:
        assert any(getattr(row, column) for column in columns), row
        assert {*row.bounds, *row.values, *row.hosts} <= columns, row
        assert re.fullmatch("[OAGD]( [OAGD])*", row.source), row
        assert re.fullmatch(r"2026-\d\d-\d\d", row.date), row
        assert row.name or row.why or row.policy != "same", row
        for column, hosts in row.hosts.items():
            assert {COLUMNS[PROVIDERS[host].wire] for host in hosts} == {column}, row


def test_hosts_of_the_table_are_providers():
    for column, hosts in table().hosts.items():
        for family in hosts:
            rows = [each for each in PROVIDERS.values() if each.family == family]
            assert column in {COLUMNS[each.wire] for each in rows}, family
    assert own_keys("nobody's", "m") is None


# --- options by wire ------------------------------------------------------------------------------


def test_options_of_a_wire_are_for_each_of_its_providers():
    options = {"openai@chat": {"seed": 7, "top_k": 3}, "groq": {"seed": 8}}
    assert body("mistral:m", options=options)["seed"] == 7
    groq = body("groq:m", options=options)
    assert (groq["seed"], groq["top_k"]) == (8, 3)
    options = {"openai@responses": {"truncation": "auto"}, "openai@chat": {"seed": 7}}
    assert body("xai@responses:grok-4.5", options=options)["truncation"] == "auto"
    own = {"openai": {"seed": 1, "user": "a"}, "openai@chat": {"seed": 2, "n": 1}}
    chat = body("openai@chat:gpt-4.1", options=own)
    assert (chat["seed"], chat["user"]) == (2, "a")
    chat = body("openai:gpt-4.1", options=own)
    assert (chat["seed"], chat["n"]) == (1, 1)
    claude = {"anthropic@messages": {"top_k": 1}, "anthropic": {"top_k": 2}}
    assert body("kimi@anthropic:kimi-k2.6", options=claude)["top_k"] == 1
    with Chat("anthropic:claude-haiku-4-5", api_key="fake-key", version="2023-06-01") as chat:
        assert b'"top_k":2' in chat.call("Hi", options=claude).body


@joined(
    ("model", "options", "message"),
    [
        (
            "openai:gpt-5.6",
            {"openai@chat": {"seed": 7}},
            "options.openai@chat: gpt-5.6 goes to openai@responses; 'openai@chat:gpt-5.6' chooses "
            "the other endpoint, and options.openai@responses beside it means both",
        ),
        (
            "openai:gpt-4.1",
            {"openai@responses": {"truncation": "auto"}},
            "options.openai@responses: gpt-4.1 goes to openai; 'openai@responses:gpt-4.1' chooses "
            "the other endpoint, and options.openai beside it means both",
        ),
        (
            "openai:gpt-5.6",
            {"openai": {"seed": 7}},
            "options.openai.seed: openai@responses takes no such key; chat completions take it, "
            "which 'openai@chat:gpt-5.6' chooses",
        ),
        (
            "openai@chat:gpt-4.1",
            {"openai": {"truncation": "auto"}},
            "options.openai.truncation: openai@chat takes no such key; Responses takes it, which "
            "'openai@responses:gpt-4.1' chooses",
        ),
        (
            "openai:gpt-5.6",
            {"openai": {"max_tokens": 20}},
            "options.openai.max_tokens: openai@responses takes no such key; here it is "
            "'max_output_tokens'",
        ),
        (
            "openai:gpt-5.6",
            {"openai@responses": {"text": {"verbostiy": "low"}}},
            "options.openai@responses.text.verbostiy: openai@responses takes no such key; did you "
            "mean 'verbosity'?",
        ),
        (
            "gemini:gemini-3.8-flash",
            {"gemini": {"seed": 7}},
            "options.gemini.seed: gemini takes no such key; here it is 'generationConfig.seed'",
        ),
        (
            "gemini:gemini-3.8-flash",
            {"gemini": {"generationConfig": {"topPs": 1}}},
            "options.gemini.generationConfig.topPs: gemini takes no such key; did you mean 'topP'?",
        ),
        (
            "anthropic:claude-opus-4-8",
            {"anthropic": {"stop": ["a"]}},
            "options.anthropic.stop: anthropic takes no such key; here it is 'stop_sequences'",
        ),
        (
            "anthropic:claude-opus-4-8",
            {"anthropic": {"safetySettings": []}},
            "options.anthropic.safetySettings: anthropic takes no such key; generateContent takes "
            "it, which 'gemini:' chooses",
        ),
        (
            "ollama:llama",
            {"ollama": {"prediction": {"content": "a"}, "num_ctx": 9}},
            "options.ollama.num_ctx: ollama takes no such key; there are model, messages, stream",
        ),
    ],
)
def test_a_key_that_nobody_takes_is_refused(model: str, options: Any, message: str):
    assert refused(model, options).removeprefix(f"{model.partition(':')[0]}: ").startswith(message)


def test_options_of_other_hosts_are_noted_unless_one_fits():
    [note] = notes(called("anthropic:claude-opus-4-8", max_tokens=9, options={"groq": {"seed": 1}}))
    assert str(note) == "options: not sent: they are for groq, not for anthropic"
    both = {"groq": {"seed": 1}, "anthropic": {"top_k": None}}
    assert notes(called("anthropic:claude-opus-4-8", max_tokens=9, options=both)) == ()
    two = {"openai@chat": {"seed": 7}, "openai@responses": {}}
    assert notes(called("openai:gpt-5.6", options=two)) == ()
    with pytest.raises(RuleError, match="no provider is called 'messages'"):
        called("anthropic:claude-opus-4-8", options={"messages": {}})


def test_a_host_whose_keys_are_not_known_gets_any_with_a_note():
    with Chat("relay:m", base_url="https://relay.example/v1", api_key="fake-key") as chat:
        call = chat.call("Hi", options={"relay": {"mood": 1}})
    assert msgspec.json.decode(call.body)["mood"] == 1
    [note] = notes(call)
    assert str(note) == "options.relay.mood: sent, and not a key of the reference"
    assert body("openrouter:m", options={"openrouter": {"models": ["a"]}})["models"] == ["a"]


def test_a_setting_has_its_policy():
    assert (setting("seed").policy, setting("stop").policy) == ("drop", "cut")
