"""Which provider a request means, and what it refuses beyond the rules: unknown keys and models."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.joined import joined
from tests.testing.emulator import claude_asks
from tests.testing.emulator.claude_asks import TOOL, assistant, conversation, refused, said, user
from wire import Chat
from wire.errors import ConfigurationError, NotFoundError
from wire.testing.emulator import Answer, Emulator, serve

HI = [{"role": "user", "content": "hi"}]
KEY = {"authorization": "Bearer fake-key"}


def chat(emulator: Emulator, target: str = "/v1/chat/completions", **fields: Any) -> Answer:
    body = {"model": "gpt-5.4", "messages": HI, **fields}
    return emulator.answer("POST", target, KEY, json.dumps(body).encode())


def error(answer: Answer) -> Any:
    assert answer.status >= 400, answer.body
    return json.loads(answer.body)


# --- chat completions: keys -----------------------------------------------------------------------


@joined(
    ("model", "key", "wanted"),
    [
        (
            "gpt-4o-mini",
            "top_k",
            {"message": "Unrecognized request argument supplied: top_k", "param": None},
        ),
        (
            "gpt-4.1",
            "frobnicate",
            {"message": "Unrecognized request argument supplied: frobnicate", "code": None},
        ),
        (
            "gpt-5.4",
            "reasoning",
            {
                "message": "Unknown parameter: 'reasoning'.",
                "param": "reasoning",
                "code": "unknown_parameter",
            },
        ),
        ("o4-mini", "max_token", {"message": "Unknown parameter: 'max_token'."}),
    ],
)
def test_openai_refuses_a_key_that_it_does_not_know(model: str, key: str, wanted: Any) -> None:
    answer = chat(Emulator(), model=model, **{key: {} if key == "reasoning" else 3})
    assert answer.status == 400
    found = error(answer)["error"]
    assert found["type"] == "invalid_request_error"
    assert found | wanted == found
    assert chat(Emulator(lenient=True), model=model, **{key: None}).status == 200


def test_keys_of_messages_are_refused_by_old_models_of_openai_alone() -> None:
    messages = [*HI, {"role": "assistant", "content": "Yes?", "parsed": None}, *HI]
    assert chat(Emulator(), model="gpt-4o", messages=messages).status == 200
    assert error(chat(Emulator(), model="gpt-4", messages=messages))["error"]["message"] == (
        "Additional properties are not allowed ('parsed' was unexpected) - 'messages.1'"
    )


@pytest.mark.parametrize(
    ("provider", "status", "wanted"),
    [
        (
            "groq",
            400,
            {
                "error": {
                    "message": "property 'messages.1.odd' is unsupported",
                    "type": "invalid_request_error",
                }
            },
        ),
        (
            "cerebras",
            400,
            {
                "message": "messages.1.assistant.odd: property 'messages.1.assistant.odd' is "
                "unsupported",
                "type": "invalid_request_error",
                "param": "validation_error",
                "code": "wrong_api_format",
            },
        ),
        (
            "mistral",
            422,
            {
                "object": "error",
                "message": {
                    "detail": [
                        {
                            "type": "extra_forbidden",
                            "loc": ["body", "messages", 1, "assistant", "odd"],
                            "msg": "Extra inputs are not permitted",
                            "input": 1,
                        }
                    ]
                },
                "type": "invalid_request_error",
                "param": None,
                "code": None,
            },
        ),
    ],
)
def test_other_hosts_refuse_keys_in_their_own_words(
    provider: str, status: int, wanted: Any
) -> None:
    emulator = Emulator(provider=provider)
    model = "mistral-small-latest"
    messages = [*HI, {"role": "assistant", "content": "Yes?", "odd": 1}, *HI]
    answer = chat(emulator, model=model, messages=messages)
    assert (answer.status, error(answer)) == (status, wanted)
    assert chat(emulator, model=model).status == 200
    assert chat(emulator, model=model, odd=1).status == status


def test_google_refuses_keys_in_its_own_words() -> None:
    target, model = "/v1beta/openai/chat/completions", "gemini-3.8-flash"
    found = error(chat(Emulator(), target, model=model, thinking={"type": "enabled"}))
    message = 'Invalid JSON payload received. Unknown name "thinking": Cannot find field.'
    assert found[0]["error"]["message"] == message
    assert chat(Emulator(), target, model=model, extra_body={}).status == 200


def test_hosts_that_ignore_keys_ignore_them() -> None:
    for provider in ("deepseek", "openrouter", "ollama@openai", "llama.cpp", "vllm"):
        answer = chat(Emulator(provider=provider), model="deepseek-chat", odd=1)
        assert answer.status == 200, provider


@joined(
    ("provider", "path", "status", "shown"),
    [
        ("llama.cpp", "/v1/models", 200, b'"owned_by"'),
        ("vllm", "/v1/nothing", 404, b"invalid_request_error"),
        ("llama.cpp@responses", "/v1/models", 200, b'"owned_by"'),
        ("deepseek", "/v1/models", 401, b"provide an API key"),
        ("anthropic", "/v1/models", 401, b"x-api-key header is required"),
        ("gemini", "/v1/models", 403, b"PERMISSION_DENIED"),
        ("", "/v1/models", 403, b"PERMISSION_DENIED"),
    ],
)
def test_the_provider_answers_a_shared_path_without_a_key(
    provider: str, path: str, status: int, shown: bytes
) -> None:
    answer = Emulator(provider=provider).answer("GET", path, {}, b"")
    assert (answer.status, shown in answer.body) == (status, True), answer.body


# --- chat completions: models ---------------------------------------------------------------------


@joined(
    ("model", "status", "message", "code"),
    [
        (
            "gpt-99",
            404,
            "The model `gpt-99` does not exist or you do not have access to it.",
            "model_not_found",
        ),
        ("bad model", 400, "invalid model ID", None),
        (
            "gpt-3.5-turbo-0613",
            404,
            "The model `gpt-3.5-turbo-0613` has been deprecated, learn more here: "
            "https://platform.openai.com/docs/deprecations",
            "model_not_found",
        ),
        (
            "gpt-3.5-turbo-instruct",
            404,
            "This is not a chat model and thus not supported in the v1/chat/completions endpoint. "
            "Did you mean to use v1/completions?",
            None,
        ),
    ],
)
def test_openai_refuses_a_model_that_it_does_not_have(
    model: str, status: int, message: str, code: str | None
) -> None:
    answer = chat(Emulator(), model=model)
    found = error(answer)["error"]
    assert (answer.status, found["message"], found["code"]) == (status, message, code)
    assert chat(Emulator(lenient=True), model=model).status == 200


@pytest.mark.parametrize(
    ("provider", "status", "message"),
    [
        (
            "deepseek",
            400,
            "The supported API model names are deepseek-v4-pro or deepseek-v4-flash, but you "
            "passed m1.",
        ),
        ("mistral", 400, "Invalid model: m1"),
        ("qwen@us", 404, "The model `m1` does not exist or you do not have access to it."),
    ],
)
def test_other_hosts_refuse_a_model(provider: str, status: int, message: str) -> None:
    answer = chat(Emulator(provider=provider), model="m1")
    body = error(answer)
    assert (answer.status, body.get("error", body)["message"]) == (status, message)


@pytest.mark.parametrize("model", ["openai/gpt-oss-120b", "qwen3:0.6b", "ft:gpt-4o:org::id"])
def test_names_of_gateways_and_fine_tunes_are_taken(model: str) -> None:
    assert chat(Emulator(), model=model).status == 200


SCRIPT = [{"say": "Hi.", "times": 0}]


def test_a_script_answers_for_a_model_of_an_unlisted_host() -> None:
    with serve(Emulator(SCRIPT)) as server:
        for name in ("house:house-7b", "house:tide"):
            with Chat(name, base_url=f"{server.url}/v1", api_key="fake-key") as client:
                assert client.ask("Hi").text == "Hi."
        with Chat("house:gpt-5.44", base_url=f"{server.url}/v1", api_key="fake-key") as misspelt:
            with pytest.raises(NotFoundError):
                misspelt.ask("Hi")
    loopback = "http://127.0.0.1:9/v1/chat/completions"
    assert chat(Emulator(SCRIPT), loopback, model="house-7b").status == 200
    official = "https://api.openai.com/v1/chat/completions"
    assert chat(Emulator(SCRIPT), official, model="house-7b").status == 404
    assert chat(Emulator(SCRIPT, provider="openai"), model="house-7b").status == 404
    assert chat(Emulator(), model="house-7b").status == 404


def test_a_script_that_comes_over_http_answers_for_it_too() -> None:
    emulator = Emulator()
    script = json.dumps(SCRIPT).encode()
    emulator.answer("PUT", "/_wire/script", {"host": "localhost"}, script)
    assert chat(emulator, model="house-7b").status == 200


@joined(
    ("options", "target", "fields", "name"),
    [
        ({}, "/v1/chat/completions", {"model": "house-7b"}, "openai"),
        ({"provider": "qwen@us"}, "/v1/chat/completions", {"model": "m1"}, "qwen@us"),
        ({}, "/v1/nothing", {}, "openai"),
        ({}, "/v1beta/models/nothing:generateContent", {}, "gemini"),
    ],
)
def test_a_404_names_who_is_played(options: Any, target: str, fields: Any, name: str) -> None:
    answer = chat(Emulator(**options), target, **fields)
    assert answer.status == 404
    assert dict(answer.headers)["x-wire-emulator"] == (
        f"plays {name}; provider= or --provider plays another host"
    )
    assert "x-wire-emulator" not in dict(chat(Emulator(), odd=1).headers)


# --- which provider -------------------------------------------------------------------------------


def refuses_developer(answer: Answer) -> bool:
    """Of the providers, DeepSeek alone refuses the role `developer`."""
    return answer.status == 400 and b"unknown variant `developer`" in answer.body


@joined(
    ("target", "model", "deepseek"),
    [
        ("/v1/chat/completions", "deepseek-chat", True),
        ("/v1/chat/completions", "gpt-5.4", False),
        ("/beta/chat/completions", "deepseek-chat", True),
        ("https://api.deepseek.com/chat/completions", "deepseek-chat", True),
        ("https://openrouter.ai/api/v1/chat/completions", "deepseek-chat", False),
        ("https://llm.example/v1/chat/completions", "deepseek-chat", False),
        ("http://localhost:11434/v1/chat/completions", "deepseek-chat", False),
    ],
)
def test_the_address_the_path_or_the_model_says_which(
    target: str, model: str, deepseek: bool
) -> None:
    messages = [{"role": "developer", "content": "Be brief."}, *HI]
    answer = chat(Emulator(), target, model=model, messages=messages)
    assert refuses_developer(answer) == deepseek
    if not deepseek:
        assert answer.status == 200


def test_an_option_says_which() -> None:
    messages = [{"role": "developer", "content": "Be brief."}, *HI]
    target = "https://openrouter.ai/api/v1/chat/completions"
    emulator = Emulator(provider="deepseek")
    assert refuses_developer(chat(emulator, target, model="deepseek-chat", messages=messages))
    with pytest.raises(ConfigurationError, match="provider: 'deepsek' is unknown"):
        Emulator(provider="deepsek")


# --- Messages -------------------------------------------------------------------------------------


@joined(
    ("fields", "message"),
    [
        ({"response_format": {}}, "response_format: Extra inputs are not permitted"),
        (
            {"messages": [{**user("hi"), "name": "Ada"}]},
            "messages.0.name: Extra inputs are not permitted",
        ),
        (
            {"messages": [user([{"type": "text", "text": "hi", "id": "1"}])]},
            "messages.0.content.0.text.id: Extra inputs are not permitted",
        ),
        (
            {"system": [{"type": "text", "text": "x", "cache_control": {"type": "e", "scope": 1}}]},
            "system.0.cache_control.ephemeral.scope: Extra inputs are not permitted",
        ),
        (
            {"tools": [{**TOOL, "parameters": {}}]},
            "tools.0.custom.parameters: Extra inputs are not permitted",
        ),
    ],
)
def test_messages_refuses_a_key_that_it_does_not_know(fields: Any, message: str) -> None:
    answer = claude_asks.post(Emulator(), **fields)
    assert refused(answer) == (400, "invalid_request_error", message)
    assert claude_asks.post(Emulator(lenient=True), **fields).status == 200
    other = claude_asks.post(Emulator(), path="/anthropic/v1/messages", model="kimi-k2.6", **fields)
    assert other.status == 200


def test_messages_takes_the_keys_of_today() -> None:
    fields = {"diagnostics": {"previous_message_id": None}, "speed": "fast", "fallbacks": "default"}
    assert claude_asks.post(Emulator(), **fields).status == 200


@pytest.mark.parametrize("path", ["/v1/messages", "/anthropic/v1/messages"])
def test_threads_are_refused_so_that_a_tool_runner_goes_on_without(path: str) -> None:
    answer = claude_asks.post(Emulator(), path=path, thread={"type": "create"})
    assert refused(answer)[:2] == (400, "invalid_request_error")
    details = json.loads(answer.body)["error"]["details"]
    assert details == {"error_code": "thread_unsupported_request"}


CALL = {"name": "get_weather", "args": {"city": "Oslo"}}


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_has_a_thought_where_thinking_is_enabled(stream: bool) -> None:
    emulator = Emulator([{"say": {"calls": [CALL]}}])
    more = {"tools": [TOOL], "thinking": claude_asks.THINKING}
    answer = claude_asks.post(emulator, "Weather in Oslo?", stream=stream, **more)
    content = claude_asks.blocks(claude_asks.events(answer)) if stream else said(answer)["content"]
    assert [block["type"] for block in content] == ["thinking", "tool_use"]
    result = {"type": "tool_result", "tool_use_id": content[1]["id"], "content": "sunny"}
    back = [assistant(content), user([result])]
    assert claude_asks.post(emulator, "Weather in Oslo?", *back, **more).status == 200


def test_the_model_of_messages_says_which_host_it_is() -> None:
    """Hosts other than Anthropic sign no thoughts."""
    answer = said(claude_asks.post(Emulator(), model="kimi-k2.6", thinking=claude_asks.THINKING))
    assert list(answer["content"][0]) == ["type", "thinking"]
    assert said(conversation())["content"][0]["signature"]
