"""Who asks Messages, what is refused and in which words, and what other hosts of this wire take."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.joined import joined
from tests.testing.emulator.claude_asks import (
    KEY,
    MODEL,
    TEXT,
    THINKING,
    TOOL,
    assistant,
    blocks,
    conversation,
    events,
    post,
    refused,
    said,
    user,
)
from wire.testing.emulator import Emulator

LONG = "word " * 1500

# --- who asks, and what is refused ----------------------------------------------------------------


@joined(
    ("headers", "wanted"),
    [
        ({}, (401, "authentication_error", "x-api-key header is required")),
        ({**KEY, "x-api-key": "bad-key"}, (401, "authentication_error", "invalid x-api-key")),
        (
            {"authorization": "Bearer expired", **{"anthropic-version": "2023-06-01"}},
            (401, "authentication_error", "Invalid bearer token"),
        ),
        (
            {"x-api-key": "k"},
            (400, "invalid_request_error", "anthropic-version: header is required"),
        ),
        (
            {**KEY, "anthropic-version": "2020"},
            (400, "invalid_request_error", 'anthropic-version: "2020" is not a valid version'),
        ),
    ],
)
def test_who_asks(headers: dict[str, str], wanted: Any) -> None:
    body = json.dumps({"model": MODEL, "max_tokens": 10, "messages": [user("hi")]}).encode()
    assert refused(Emulator().answer("POST", "/v1/messages", headers, body)) == wanted


def test_a_later_version_is_taken() -> None:
    body = json.dumps({"model": MODEL, "max_tokens": 10, "messages": [user("hi")]}).encode()
    assert (
        Emulator()
        .answer("POST", "/v1/messages", {**KEY, "anthropic-version": "2026-10-21"}, body)
        .status
        == 200
    )


@pytest.mark.parametrize("version", ["2023-06-01", "2026-10-21"])
def test_sampling_parameters_are_of_the_older_version(version: str) -> None:
    request = {"model": MODEL, "max_tokens": 10, "messages": [user("hi")], "temperature": 1.0}
    headers = {**KEY, "anthropic-version": version}
    answer = Emulator().answer("POST", "/v1/messages", headers, json.dumps(request).encode())
    if version == "2023-06-01":
        assert answer.status == 200
    else:
        wanted = (400, "invalid_request_error", "temperature: Extra inputs are not permitted")
        assert refused(answer) == wanted


def test_a_bearer_is_as_good_as_a_key() -> None:
    body = json.dumps({"model": MODEL, "max_tokens": 10, "messages": [user("hi")]}).encode()
    headers = {"authorization": "Bearer token", "anthropic-version": "2023-06-01"}
    emulator = Emulator()
    assert emulator.answer("POST", "/v1/messages", headers, body).status == 200
    assert emulator.requests[0]["headers"]["authorization"] == "***"


CALL = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {}}


@joined(
    ("more", "message"),
    [
        ({"max_tokens": None}, "max_tokens: Field required"),
        ({"max_tokens": "5"}, "max_tokens: Input should be a valid integer"),
        ({"messages": [{"role": "user", "content": 5}]}, None),
        ({"messages": []}, "messages: at least one message is required"),
        ({"messages": [user("hi"), assistant([CALL])], "tools": [TOOL]}, None),
        (
            {"messages": [user("hi"), assistant([CALL]), user("and?")], "tools": [TOOL]},
            "messages.1: `tool_use` ids were found without `tool_result` blocks "
            "immediately after: toolu_1. Each `tool_use` block must "
            "have a corresponding `tool_result` block in the next message.",
        ),
        (
            {
                "messages": [
                    user([{"type": "tool_result", "tool_use_id": "toolu_1", "content": "x"}])
                ]
            },
            "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` "
            "blocks: toolu_1. Each `tool_result` block must have a "
            "corresponding `tool_use` block in the previous message.",
        ),
        ({"temperature": 1.5}, "temperature: range: 0..1"),
        (
            {"tools": [{**TOOL, "name": "a b"}]},
            "tools.0.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'",
        ),
        (
            {"tools": [{**TOOL, "input_schema": {"properties": {}}}]},
            "tools.0.custom.input_schema.type: Field required",
        ),
        (
            {"tools": [{**TOOL, "input_schema": "x"}]},
            "tools.0.custom.input_schema: Input does not match the expected shape.",
        ),
        ({"messages": [user(LONG * 150)]}, "prompt is too long: 225001 tokens > 200000 maximum"),
    ],
)
def test_refusals(more: dict[str, Any], message: str | None) -> None:
    status, kind, told = refused(post(Emulator(), **more))
    assert (status, kind) == (400, "invalid_request_error")
    assert message is None or told == message


def test_refusals_name_their_rule() -> None:
    emulator = Emulator()
    assert post(emulator, "").rule == "A5"
    assert emulator.requests[0]["rule"] == "A5"
    assert (
        Emulator(lenient=True)
        .answer(
            "POST",
            "/v1/messages",
            KEY,
            json.dumps({"model": "m", "max_tokens": 5, "messages": [user("")]}).encode(),
        )
        .status
        == 200
    )


def test_what_only_other_hosts_refuse() -> None:
    turns = [user("a"), user("b")]
    assert post(Emulator(), messages=turns).status == 200
    assert refused(post(Emulator(warnings_too=True), messages=turns))[2].startswith(
        "messages: roles must alternate"
    )


@joined("body", [b"", b"{", b"[]", b"\xff", b'{"model": 5, "max_tokens": 1, "messages": []}'])
def test_bodies_that_are_none(body: bytes) -> None:
    assert refused(Emulator().answer("POST", "/v1/messages", KEY, body))[:2] == (
        400,
        "invalid_request_error",
    )


def test_a_body_that_is_too_long() -> None:
    assert refused(post(Emulator(), "x" * (32 << 20)))[:2] == (413, "request_too_large")


@joined(
    "model",
    [
        "claude-sonet-4-5",
        "gpt-5.4",
        "claude-2.1",
        "gemini-3.1-pro-preview",
        "claude-sonnet-4-5-latest-x",
    ],
)
def test_models_that_there_are_not(model: str) -> None:
    assert refused(post(Emulator(), model=model)) == (404, "not_found_error", f"model: {model}")
    assert post(Emulator(lenient=True), model=model).status == 200


@joined(
    "model",
    [
        "claude-opus-5-5",
        "claude-opus-5",
        "claude-sonnet-4-0",
        "claude-sonnet-4-20250514",
        "claude-3-5-haiku-latest",
        "claude-3-opus-20240229",
        "claude-opus-4-1-20250805",
    ],
)
def test_models_that_there_are(model: str) -> None:
    assert said(post(Emulator(), model=model))["model"] == model


def test_models_are_those_of_whoever_asks() -> None:
    emulator = Emulator()

    def ask(target: str, headers: dict[str, str]) -> Any:
        return said(emulator.answer("GET", target, headers, b""))

    page = ask("/v1/models?limit=2", KEY)
    assert (len(page["data"]), page["has_more"], page["last_id"]) == (
        2,
        True,
        page["data"][1]["id"],
    )
    rest = ask(f"/v1/models?limit=1000&after_id={page['last_id']}", KEY)
    assert (rest["has_more"], len(rest["data"])) == (False, len(ask("/v1/models", KEY)["data"]) - 2)
    back = ask(f"/v1/models?before_id={rest['first_id']}", KEY)
    assert [each["id"] for each in back["data"]] == [each["id"] for each in page["data"]]
    names = [each["id"] for each in (page["data"] + rest["data"])]
    assert {"claude-opus-5-5", "claude-haiku-5-5", "claude-sonnet-4-5"} <= set(names)
    one = ask("/v1/models/claude-sonnet-4-5-20250929", KEY)
    assert (one["type"], one["display_name"], one["max_input_tokens"]) == (
        "model",
        "Claude Sonnet 4.5",
        200_000,
    )
    assert one["capabilities"]["thinking"]["types"] == {
        "enabled": {"supported": True},
        "adaptive": {"supported": False},
    }
    assert refused(emulator.answer("GET", "/v1/models/gpt-5.4", KEY, b"")) == (
        404,
        "not_found_error",
        "model: gpt-5.4",
    )
    assert refused(emulator.answer("GET", "/v1/models?limit=0", KEY, b""))[0] == 400
    assert ask("/v1/models", {"authorization": "Bearer k"})["object"] == "list"
    assert "models" in ask("/v1/models", {"x-goog-api-key": "k"})
    assert "models" in ask("/v1/models", {"authorization": "Bearer k", "x-goog-api-client": "x"})
    assert "models" in ask("/v1/models?key=k", {"x-api-key": "k"})


def test_paths_and_methods_that_are_none() -> None:
    assert refused(Emulator().answer("POST", "/v1/nothing", KEY, b"{}")) == (
        404,
        "not_found_error",
        "Not found",
    )
    assert refused(Emulator().answer("GET", "/v1/messages", KEY, b"")) == (
        405,
        "invalid_request_error",
        "Method Not Allowed",
    )


# --- other hosts ----------------------------------------------------------------------------------


@joined("prefix", ["/anthropic", "/api/anthropic", "/apps/anthropic", "/coding", "/api"])
def test_other_hosts_of_this_wire(prefix: str) -> None:
    path = f"{prefix}/v1/messages"
    body = json.dumps(
        {"model": "deepseek-chat", "max_tokens": 50, "messages": [user("hi")]}
    ).encode()
    answer = Emulator().answer("POST", path, {"authorization": "Bearer k"}, body)
    assert said(answer)["content"] == [{"type": "text", "text": TEXT}]
    count = Emulator().answer("POST", f"{path}/count_tokens", KEY, body)
    assert said(count) == {"input_tokens": 1}
    assert refused(Emulator().answer("POST", path, {}, body))[0] == 401


def test_thoughts_of_other_hosts_have_no_signature() -> None:
    answer = said(
        post(Emulator(), path="/anthropic/v1/messages", model="kimi-k2-thinking", thinking=THINKING)
    )
    assert [list(block) for block in answer["content"]] == [["type", "thinking"], ["type", "text"]]
    told = events(
        post(
            Emulator(),
            path="/anthropic/v1/messages",
            model="kimi-k2-thinking",
            thinking=THINKING,
            stream=True,
        )
    )
    assert blocks(told) == answer["content"]
    again = conversation(
        lambda content: content[0].pop("signature", None),
        model="MiniMax-M3",
        path="/anthropic/v1/messages",
    )
    assert said(again)["content"][-1]["text"].startswith("Your tool get_weather says")
