"""Settings over all wires: the rows of `wire/catalogue/settings.json`, and options by wire."""

from __future__ import annotations

import contextlib
import copy
import json
import pickle
import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from tests import options, pages
from tests.joined import joined
from wire import Agent, AsyncChat, Chat, Client, Message, Reply, anthropic, gemini, notes, openai
from wire.catalogue import settings
from wire.catalogue.settings import COLUMNS, own_keys, setting, table
from wire.catalogue.usage import Usage
from wire.core.lazy import foreign_words, here_it_is
from wire.errors import ConfigurationError, RuleError, WireError
from wire.neutral.messages import Stop
from wire.neutral.request import Request
from wire.openai import responses
from wire.openai.common import bounds
from wire.testing.emulator import Emulator, EmulatorTransport
from wire.wires.contract import WIRES
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
        families = {each.family for each in PROVIDERS.values()}
        assert {*row.bounds, *row.hosts} <= columns, row
        assert {*row.values} <= columns | families, row
        assert {*row.names} <= families, row
        assert re.fullmatch("[OAGDBL]( [OAGDBL])*", row.source), row
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
            "ollama@openai:llama",
            {"ollama@openai": {"prediction": {"content": "a"}, "num_ctx": 9}},
            "options.ollama@openai.num_ctx: ollama@openai takes no such key; Ollama's own API "
            "takes it, which 'ollama:' chooses",
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
    own = {"client_metadata": {"a": "b"}}
    assert own.items() <= body("openai:gpt-5.6", options={"openai": own}).items()
    assert "openai@chat takes no such key" in refused("openai@chat:gpt-4.1", {"openai": own})


# --- settings that few hosts share ----------------------------------------------------------------

GIVEN: dict[str, Any] = {
    "seed": 7,
    "verbosity": "low",
    "metadata": {"user_id": "u", "team": "a"},
    "tier": "flex",
    "store": True,
    "thoughts": True,
}
BRIEF = "Answer briefly."
OUTCOMES: dict[str, dict[str, Any]] = {
    "gemini:gemini-3.8-flash": {
        "generationConfig": {"seed": 7, "thinkingConfig": {"includeThoughts": True}},
        "serviceTier": "flex",
        "store": True,
        "systemInstruction": {"parts": [{"text": BRIEF}]},
    },
    "openai@chat:gpt-5.1": {
        **{"seed": 7, "verbosity": "low", "service_tier": "flex", "store": True},
        "metadata": GIVEN["metadata"],
    },
    "openai@chat:gpt-4.1": {
        **{"seed": 7, "service_tier": "flex", "store": True},
        "metadata": GIVEN["metadata"],
    },
    "openai:gpt-5.6": {
        "text": {"verbosity": "low"},
        "reasoning": {"summary": "auto"},
        "service_tier": "flex",
        "store": True,
        "metadata": GIVEN["metadata"],
    },
    "openai@responses:gpt-4.1": {
        "instructions": BRIEF,
        "service_tier": "flex",
        "store": True,
        "metadata": GIVEN["metadata"],
    },
    "anthropic:claude-opus-4-8": {
        "thinking": {"type": "adaptive", "display": "summarized"},
        "metadata": {"user_id": "u"},
        "system": BRIEF,
    },
    "anthropic:claude-haiku-4-5": {"metadata": {"user_id": "u"}, "system": BRIEF},
    "mistral:m": {"random_seed": 7},
    "groq:m": {"seed": 7, "service_tier": "flex"},
    "xai@chat:grok-4.5": {"seed": 7},
    "kimi:kimi-k2.6": {"seed": 7},
    "vllm:m": {"seed": 7},
    "ollama@responses:m": {"reasoning": {"summary": "auto"}, "text": {"verbosity": "low"}},
}
"""Model -> what the body has of all settings in `GIVEN`; each other one has a note."""
SENT_AS = {
    "seed": r"seed",
    "verbosity": r"verbosity",
    "metadata": r"metadata|labels",
    "tier": r"service_?[tT]ier",
    "store": r"\bstore\b",
    "thoughts": r"includeThoughts|summary|display",
}
"""Setting -> what shows in the body that it was sent."""


@joined("model", OUTCOMES)
def test_a_setting_is_sent_or_noted(model: str):
    call = called(model, max_tokens=16, **GIVEN)
    sent = msgspec.json.decode(call.body)
    for key, value in OUTCOMES[model].items():
        found = sent[key]
        if isinstance(value, dict) and key not in ("metadata",):
            found = {name: each for name, each in found.items() if name in value}
        assert found == value, key
    noted = {note.path for note in notes(call)}
    without = re.sub(r'"stream_options"|Hi', "", call.body.decode())
    for name, shown in SENT_AS.items():
        assert bool(re.search(shown, without)) != (name in noted) or name == "metadata", name
    if "anthropic" in model:
        assert "metadata: not sent: team; only user_id is taken" in map(str, notes(call))


def test_nothing_is_stored_unless_it_is_asked_for():
    stores = {name for name, row in PROVIDERS.items() if b'"store":false' in plain(name, row.wire)}
    regions = {f"openai@{region}" for region in PROVIDERS["openai"].regions}
    wanted = {"gemini", "gemini@interactions", "gemini@vertex-interactions"}
    wanted |= {"openai", "openai@chat", "azure", *regions}
    assert {name for name in stores if PROVIDERS[name].wire != "openai.responses"} == wanted
    assert len(regions) == 6
    row = setting("store")
    for name, each in PROVIDERS.items():
        if each.wire != "openai.responses":
            assert row.is_taken(each.wire, name) == (name in stores), name
    assert body("openai:gpt-5.6")["store"] is False
    assert body("openai:gpt-5.6", store=True)["store"] is True
    assert body("gemini:gemini-3.8-flash", options={"gemini": {"store": True}})["store"] is True


def plain(name: str, wire: str) -> bytes:
    """The body of a request without settings."""
    request = Request(messages=(Message.user("Hi"),), system="Be brief.")
    return WIRES[wire].stream_call(request, "m", PROVIDERS[name]).body


def test_a_call_for_one_host_is_sent_to_another_without_its_default():
    request = Request(messages=(Message.user("Hi"),), system='{"store":false}')
    for wire, other in (("gemini", "gemini@vertex"), ("openai", "mistral"), ("openai", "azure")):
        call = WIRES[wire].call(request, "m", PROVIDERS[wire])
        assert msgspec.json.decode(call.body)["store"] is False
        sent = msgspec.json.decode(call.judge(PROVIDERS[other]).body)
        assert sent.pop("store", None) == (False if other == "azure" else None)
        assert {**sent, "store": False} == msgspec.json.decode(call.body)
    asked = msgspec.structs.replace(request, store=True)
    call = gemini.call(asked, "gemini-3.8-flash")
    with pytest.raises(RuleError, match="store"):
        call.judge(PROVIDERS["gemini@vertex"])


@joined(
    ("model", "settings", "path", "value", "noted"),
    [
        (MODELS["gemini"], {"tier": "default"}, "serviceTier", "standard", ["tier"]),
        (MODELS["gemini"], {"tier": "fast"}, "serviceTier", "priority", ["tier"]),
        (MODELS["gemini"], {"tier": "scale"}, "serviceTier", None, ["tier"]),
        (MODELS["openai"], {"tier": "standard"}, "service_tier", "default", ["tier"]),
        (MODELS["openai"], {"tier": "fast"}, "service_tier", "fast", []),
        (MODELS["anthropic"], {"tier": "default"}, "service_tier", "standard_only", ["tier"]),
        (MODELS["anthropic"], {"tier": "priority"}, "service_tier", None, ["tier"]),
        ("groq:m", {"tier": "performance"}, "service_tier", "performance", []),
        (
            "gemini:gemini-2.0-flash",
            {"thoughts": True},
            "generationConfig",
            {"maxOutputTokens": 99},
            ["thoughts"],
        ),
        (MODELS["openai"], {"thoughts": False}, "reasoning", None, ["thoughts"]),
        (MODELS["openai.responses"], {"thoughts": False}, "reasoning", None, []),
        (
            MODELS["openai.responses"],
            {"thoughts": "detailed", "effort": "low"},
            "reasoning",
            {"effort": "low", "summary": "detailed"},
            [],
        ),
        (
            "anthropic:claude-opus-4-8",
            {"thoughts": False, "effort": "low"},
            "thinking",
            {"type": "adaptive", "display": "omitted"},
            [],
        ),
        ("anthropic:claude-opus-4-8", {"thoughts": False}, "thinking", None, []),
        (
            MODELS["gemini"],
            {"thoughts": False, "effort": "low"},
            "generationConfig",
            {
                "maxOutputTokens": 99,
                "thinkingConfig": {"includeThoughts": False, "thinkingLevel": "LOW"},
            },
            [],
        ),
        (
            "anthropic:claude-opus-4-8",
            {"thoughts": True, "effort": "none"},
            "thinking",
            {"type": "disabled"},
            ["thoughts"],
        ),
        ("openai:gpt-4.1", {"verbosity": "medium"}, "verbosity", None, ["verbosity"]),
        ("openai:gpt-4.1", {"metadata": {}}, "metadata", {}, []),
        ("mistral:m", {"metadata": {"a": "b"}}, "metadata", None, ["metadata"]),
    ],
)
def test_a_value_is_spelled_as_the_host_does(
    model: str, settings: dict[str, Any], path: str, value: Any, noted: list[str]
):
    call = called(model, max_tokens=99, **settings)
    assert msgspec.json.decode(call.body).get(path) == value
    assert [note.path for note in notes(call) if note.path != "model"] == noted


@joined(
    ("settings", "message"),
    [
        ({"seed": 1.5}, "seed: expected a whole number, not 1.5"),
        ({"seed": 2**31}, "seed: expected a whole number from -2147483648 to 2147483647"),
        ({"verbosity": "loud"}, "verbosity: expected low, medium or high, not 'loud'"),
        ({"verbosity": 3}, "verbosity: expected a str, not int"),
        ({"store": "no"}, "store: expected a bool, not str"),
        ({"thoughts": 1}, "thoughts: expected a bool or str, not int"),
        ({"tier": "turbo"}, "tier: expected flex, standard, priority, auto, default, scale, fast"),
        ({"metadata": {"a": 1}}, "metadata.a: expected a text, not int"),
        ({"metadata": ["a"]}, "metadata: expected a Mapping, not list"),
        ({"metadata": {"a": "\ud800"}}, "metadata"),
    ],
)
def test_a_value_that_no_host_takes_is_refused(settings: dict[str, Any], message: str):
    with pytest.raises(RuleError) as caught:
        called("gemini:gemini-3.8-flash", **settings)
    assert str(caught.value).startswith(message)


# --- foreign words --------------------------------------------------------------------------------

# Without types, or type checkers would refuse the words.
CLIENT: Any = Client
AGENT: Any = Agent


@joined(
    ("function", "message"),
    [
        (
            lambda: CLIENT("gemini", max_retries=2),
            "max_retries: no such option; here it is 'retry': Retry(attempts=3), or None for one "
            "attempt",
        ),
        (
            lambda: called(MODELS["openai"], reasoning_effort="low"),
            "reasoning_effort: no such setting; here it is 'effort': 'none', 'low', 'medium' or "
            "'high'",
        ),
        (
            lambda: called(MODELS["openai"], max_completion_tokens=9),
            "max_completion_tokens: no such setting; here it is 'max_tokens'",
        ),
        (
            lambda: called(MODELS["gemini"], instructions="Be brief."),
            "instructions: no such setting; here it is 'system'",
        ),
        (
            lambda: AGENT(Chat("gemini:m", api_key="fake-key"), instructions="Be brief."),
            "instructions: no such option; here it is 'system_prompt'",
        ),
        (
            lambda: called(MODELS["openai"], response_format={"type": "json_object"}),
            "response_format: no such setting; here it is 'output': a type, a JSON Schema or "
            "'json'",
        ),
        (
            lambda: called(MODELS["anthropic"], top_k=3),
            "top_k: no such setting; here it is 'options': {PROVIDER: {KEY: VALUE}}",
        ),
    ],
)
def test_a_keyword_of_another_library_is_told_ours(function: Callable[[], Any], message: str):
    with pytest.raises(ConfigurationError) as caught:
        function()
    assert caught.value.message == message


REPLY = Reply(Message.assistant("Hi."), Stop("end"), usage=Usage(input=1, output=2))


@joined(
    ("value", "name", "hint"),
    [
        (REPLY, "content", "'text'"),
        (REPLY, "choices", "'text'"),
        (REPLY, "finish_reason", "'stop.reason'"),
        (REPLY.usage, "prompt_tokens", "'input'"),
        (REPLY.message, "content", "'text'"),
        (WireError("no"), "status_code", "'status'"),
        (Chat("gemini:m", api_key="fake-key"), "completions", "'ask'"),
        (AsyncChat("gemini:m", api_key="fake-key"), "create", "'ask'"),
        (Client("gemini", api_key="fake-key"), "responses", "'send'"),
        (Agent(Chat("gemini:m", api_key="fake-key")), "run_sync", "'run'"),
    ],
)
def test_an_attribute_of_another_library_is_told_ours(value: Any, name: str, hint: str):
    with pytest.raises(AttributeError) as caught:
        getattr(value, name)
    assert str(caught.value).endswith(f"has no attribute {name!r}; here it is {hint}")
    own = value
    for step in hint.strip("'").split("."):
        own = getattr(own, step)
    with pytest.raises(AttributeError, match=r"has no attribute 'nothing'$"):
        value.nothing  # noqa: B018


def test_a_value_with_such_attributes_is_copied_and_pickled():
    assert copy.deepcopy(REPLY) == pickle.loads(pickle.dumps(REPLY)) == REPLY
    assert not hasattr(REPLY, "__nothing__")


def test_the_words_lead_to_names_of_ours():
    names = {name for _, has, _ in options.GROUPS["chat"] for name in has.split()}
    for members in options.GROUPS.values():
        for file, name, _ in members:
            names |= options.documented(file, name).parameters.keys()
    assert set(foreign_words()["keywords"]) <= names
    assert set(foreign_words()["values"]) <= set(foreign_words()["keywords"])
    for row in table().settings:
        for key in filter(None, (row.chat, row.responses, row.messages)):
            if row.name and "." not in key and key not in names:
                assert here_it_is(key).startswith(f"here it is {row.name!r}"), key


# --- JSON without a schema ------------------------------------------------------------------------

JSON_WORDS = "Answer with one JSON object, and nothing else."
JSON_MODES: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    "gemini": (
        "gemini:gemini-3.8-flash",
        {"generationConfig": {"responseMimeType": "application/json"}},
        [],
    ),
    "chat": (
        "openai@chat:gpt-4.1",
        {
            "response_format": {"type": "json_object"},
            "messages": [
                {"role": "system", "content": JSON_WORDS},
                {"role": "user", "content": "Hi"},
            ],
        },
        ["output: the system text says JSON, without which the mode is refused"],
    ),
    "chat without the mode": (
        "openai@chat:gpt-audio",
        {
            "messages": [
                {"role": "system", "content": JSON_WORDS},
                {"role": "user", "content": "Hi"},
            ],
        },
        ["output: sent as words in the system text: there is no JSON mode here"],
    ),
    "Responses": (
        "openai:gpt-5.6",
        {
            "text": {"format": {"type": "json_object"}},
            "input": [
                {"type": "message", "role": "developer", "content": JSON_WORDS},
                {"type": "message", "role": "user", "content": "Hi"},
            ],
        },
        ["output: a message says JSON, without which the mode is refused"],
    ),
    "Responses without the mode": (
        "ollama@responses:m",
        {"instructions": JSON_WORDS},
        ["output: sent as words in the instructions: there is no JSON mode here"],
    ),
    "Messages": (
        "anthropic:claude-opus-4-8",
        {"system": JSON_WORDS},
        [
            "output: not sent as a schema, but as an instruction in the system text: the wire has "
            "no JSON without a schema"
        ],
    ),
}


@joined("case", JSON_MODES)
def test_json_without_a_schema(case: str):
    model, wanted, said = JSON_MODES[case]
    call = called(model, max_tokens=99, output="json")
    sent = msgspec.json.decode(call.body)
    config = sent.get("generationConfig", {})
    config.pop("maxOutputTokens", None)
    assert {key: sent[key] for key in wanted} == wanted
    assert ("response_format" in sent, "text" in sent) == (
        "response_format" in wanted,
        "text" in wanted,
    )
    assert list(map(str, notes(call))) == said


@joined("model", ["openai@chat:gpt-4.1", "openai:gpt-5.6", "gemini:gemini-3.8-flash"])
def test_a_mode_needs_no_words_if_the_user_has_said_json(model: str):
    with Chat(model, api_key="fake-key") as chat:
        call = chat.call("Say hi as JSON.", output="json", verbosity="medium")
    assert b"Answer with one" not in call.body
    assert [note.path for note in notes(call)] in ([], ["verbosity"])


def test_the_value_of_json_is_any_json():
    emulator = Emulator([{"say": '{"tide": [1, 2]}'}, {"say": "Hello."}, {"say": "[3]"}])
    http = EmulatorTransport(emulator)
    with Chat("openai:gpt-4.1", api_key="fake-key", http=http) as chat:
        assert chat.ask("Hi", output="json").output == {"tide": [1, 2]}
        assert chat.ask("Hi", output="json").output == [3]  # asked again


# --- none in silence ------------------------------------------------------------------------------

NAMES = {
    "gemini": "gemini",
    "openai": "openai@chat",
    "openai.responses": "openai@responses",
    "anthropic": "anthropic",
}
KEYS = sorted(
    {
        (column, path)
        for row in table().settings
        for column in COLUMNS.values()
        if (path := getattr(row, column))
    }
)
"""Each key of each wire: its column, and its path."""


@joined("wire", MODELS)
def test_each_key_on_each_wire_is_sent_or_refused_with_the_remedy(wire: str):
    own = {key for at, struct in STRUCTS[wire] if not at for key in struct.__struct_encode_fields__}
    for column, path in KEYS:
        top, *rest = path.split(".")
        value: Any = None
        for step in reversed(rest):
            value = {step: value}
        options = {NAMES[wire]: {top: value}}
        if top in ("messages", "contents", "input", "model", "max_tokens"):
            continue  # what the request is made of
        message = outcome(MODELS[wire], options)
        if top in own and (not rest or column == COLUMNS[wire] or not message):
            assert message == "", path
            continue
        assert f"options.{NAMES[wire]}.{top}" in message, path
        remedy = message.partition("; ")[2]
        is_here = not rest and top not in own and setting_of(column, path).path(wire) is not None
        wanted = r"here it is '[\w.]+'$" if is_here else r"which '[a-z@]+:\S*' chooses$|here it is"
        assert re.search(wanted, remedy), (path, remedy)


def outcome(model: str, options: Any) -> str:
    """The words of the refusal; empty if all options are in the body."""
    try:
        with Chat(model, api_key="fake-key", max_tokens=99) as chat:
            sent = msgspec.json.decode(chat.call("Hi", options=options).body)
    except ConfigurationError as error:
        return error.message
    except RuleError:  # a key of this wire, for another of its hosts
        return ""
    [keys] = options.values()
    return "" if keys.keys() <= sent.keys() else f"not in the body: {keys}"


def setting_of(column: str, path: str) -> Any:
    return next(row for row in table().settings if getattr(row, column) == path)


NEUTRAL: dict[str, Any] = {
    **GIVEN,
    "max_tokens": 99,
    "temperature": 0.5,
    "top_p": 0.5,
    "stop": ["END"],
    "effort": "low",
    "caching": "long",
    "output": "json",
    "system": "Be brief.",
    "search_grounding": True,
}


@joined(
    ("model", "name"), [(model, name) for model in [*MODELS.values(), "groq:m"] for name in NEUTRAL]
)
def test_each_neutral_setting_changes_the_body_or_leaves_a_note(model: str, name: str):
    least = {"max_tokens": 50} if name != "max_tokens" else {}
    without = called(model, **least)
    with contextlib.suppress(RuleError):  # sampling of a model that has none
        call = called(model, **least, **{name: NEUTRAL[name]})
        assert call.body != without.body or len(notes(call)) > len(notes(without))
        return
    with pytest.raises(RuleError, match=name):
        called(model, **least, **{name: NEUTRAL[name]})


# --- one fact, one place --------------------------------------------------------------------------


@pytest.fixture
def lower_bound_of_temperature(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Temperatures up to 1.5 only, as if one row of the file said so."""
    rows = [
        msgspec.structs.replace(row, bounds={**row.bounds, "chat": (0, 1.5), "responses": (0, 1.5)})
        if row.name == "temperature"
        else row
        for row in settings.table().settings
    ]
    changed = msgspec.structs.replace(settings.table(), settings=tuple(rows))
    for module in (settings, bounds, pages):
        name = "settings_table" if module is pages else "table"
        monkeypatch.setattr(module, name, lambda: changed)
    bounds._bounds.cache_clear()
    yield
    bounds._bounds.cache_clear()


@pytest.mark.usefixtures("lower_bound_of_temperature")
def test_a_bound_that_changes_in_one_row_changes_everywhere() -> None:
    """The rules, the emulator and the page read the same row."""
    words = "decimal above maximum value. Expected a value <= 1.5, but got 1.7 instead."
    for model in ("openai@chat:gpt-4.1", "openai@responses:gpt-4.1"):
        with pytest.raises(RuleError, match=re.escape(words)):
            Chat(model, api_key="fake-key").call("Hi", temperature=1.7)
    body = {"model": "gpt-4.1", "messages": [{"role": "user", "content": "Hi"}], "temperature": 1.7}
    headers = {"authorization": "Bearer fake-key", "content-type": "application/json"}
    answer = Emulator().answer("POST", "/v1/chat/completions", headers, json.dumps(body).encode())
    assert (answer.status, words in json.loads(answer.body)["error"]["message"]) == (400, True)
    assert "chat 0 to 1.5" in pages.settings()
