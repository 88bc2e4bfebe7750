"""The vendors' own clients against the emulator: what they send is taken, what they read is what
was sent. `make test-sdks`.

Each client runs in two ages, whose versions stand in `summer.txt` and `today.txt`, those for
JavaScript in `summer.npm` and `today.npm`: of August 2026, and the newest of November.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from wire import gemini, openai
from wire.testing.emulator import Emulator, serve

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
VENVS = ROOT / ".venv-sdks"
AGES = ("summer", "today")

SAID = "This is an emulator, and no model. You said: hi"
TOOLS = (
    'Your tool get_weather says {"sky": "sunny in Paris"} and get_weather says {"sky": '
    '"sunny in Oslo"}.'
)
WRAPPED = (
    'Your tool get_weather says {"result": {"sky": "sunny in Paris"}} and get_weather says '
    '{"result": {"sky": "sunny in Oslo"}}.'
)
SUNNY = 'Your tool get_weather says {"result": "sunny"} and get_weather says {"result": "sunny"}.'
SKY = 'Your tool get_weather says {"sky": "sunny"} and get_weather says {"sky": "sunny"}.'
CITIES = ["Paris", "Oslo"]
UNSIGNED = (
    "Function call is missing a thought_signature in functionCall parts. This is "
    "required for tools to work correctly, and "
    "missing thought_signature may lead to degraded model performance. Additional data, "
    "function call `default_api:get_weather` , "
    "position 2. Please refer to "
    "https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
)
QUOTA = (
    "You exceeded your current quota, please check your plan and billing details. For "
    "more information on this error, head to: "
    "https://ai.google.dev/gemini-api/docs/rate-limits.\n* Quota exceeded for metric: "
    "generativelanguage.googleapis.com/"
    "generate_content_free_tier_requests, model: gemini-3.1-pro-preview\nPlease "
    "retry in 2s."
)
UNKNOWN = (
    "models/gemini-9-ultra is not found for API version v1, or is not supported for "
    "generateContent. Call ListModels to see the list of "
    "available models and their supported methods."
)

_GOOGLE_DECISION = gemini.create_decision(
    gemini.CreateDecisionRequest(
        model="gemini-decision-1",
        input=[gemini.DecisionContent(type="text", text="I am furious")],
        questions={
            "urgent": gemini.DecisionQuestion(
                type="noul", instructions="It is urgent.", criteria={"true_description": "now"}
            ),
            "which": gemini.DecisionQuestion(
                type="choice", instructions="Which?", criteria={"a": "", "b": "c"}
            ),
            "anger": gemini.DecisionQuestion(
                type="score", instructions="How angry?", criteria=["calm", "furious"]
            ),
        },
    )
)
_OPENAI_DECISION = openai.decisions(
    openai.DecisionRequest(
        model="gpt-6-luna",
        input=[openai.DecisionItem(type="message", role="user", content="I am furious")],
        questions=[
            openai.DecisionQuestion(type="predicate", name="urgent", instructions="It is urgent."),
            openai.DecisionQuestion(
                type="choice",
                name="which",
                instructions="Which?",
                choices=[
                    openai.DecisionChoice(value=True),
                    openai.DecisionChoice(value="true", description="a text"),
                ],
            ),
            openai.DecisionQuestion(
                type="score",
                name="anger",
                instructions="How angry?",
                levels=[openai.DecisionLevel(label="calm"), openai.DecisionLevel(label="furious")],
            ),
        ],
        prompt_cache_key="k",
    )
)
"""What the clients send is what we send, key by key."""

_TURN = ["user_input", "thought", "model_output"]
GOOGLE: dict[str, list[Any]] = {
    "decisions": [
        "ok",
        [
            json.loads(_GOOGLE_DECISION.body),
            ["noul", True],
            True,
            [{"0": "calm", "1": "furious"}, True],
            0,
        ],
    ],
    "decisions_refused": ["ok", ["BadRequestError", 400, "invalid_request"]],
    "interactions": [
        "ok",
        [
            "completed",
            _TURN * 2,
            "interaction.created",
            "interaction.completed",
        ],
    ],
    "interactions_tools": [
        "ok",
        [
            "requires_action",
            [{"city": "Paris"}, {"city": "Oslo"}],
            SUNNY,
        ],
    ],
    "interactions_unstored": ["ok", "This is an emulator, and no model. You said: And?"],
    "interactions_long": ["ok", ["completed", True, True]],
    "interactions_background": [
        "ok",
        [["in_progress", "in_progress", "completed", "cancelled"], "NotFoundError"],
    ],
    "interactions_refused": ["ok", ["BadRequestError", 400]],
    "resources": [
        "ok",
        ["in_progress", ["tides"], ["tides.txt"], ["completed", 1, "paused"], [True, "disabled"]],
    ],
    "plain": ["ok", [SAID, True, "STOP"]],
    "plain_v1beta": ["ok", SAID],
    "configured": [
        "ok",
        [
            [
                [True, "**Reading the question**\n\nThe user said: hi\n\n"],
                [None, SAID.partition("said")[0]],
            ],
            8,
        ],
    ],
    "stream": ["ok", [True, SAID]],
    "stream_async": ["ok", SAID],
    "json_schema": ["ok", {"city": "Oslo"}],
    "tools_by_hand": ["ok", [CITIES, [True, False], TOOLS]],
    "tools_streamed": ["ok", [CITIES, 3, TOOLS]],
    "tools_without_signature": ["ClientError", 400, UNSIGNED],
    "automatic_calling": ["ok", [WRAPPED, 3]],
    "automatic_calling_35": ["ok", WRAPPED],
    "automatic_calling_25": ["ok", WRAPPED],
    "chat": ["ok", [["one", "two", "three", "four"], 12]],
    "chat_tools_streamed": ["ok", [2, SUNNY]],
    "count_tokens": ["ok", 3],
    "embeddings": ["ok", [3072, [8, 8]]],
    "files": ["ok", [9 << 20, "ACTIVE", "h", True, "What is in it?", 403]],
    "files_video": ["ok", ["PROCESSING", "PROCESSING", "ACTIVE"]],
    "caches": ["ok", [[5001, 5001], True, True]],
    "models": ["ok", [True, 1048576]],
    "error_400": [
        "ok",
        ["ClientError", 400, "You can only set only one of thinking budget and thinking level."],
    ],
    "error_key": ["ok", ["ClientError", 400, "API key not valid. Please pass a valid API key."]],
    "error_404": ["ok", ["ClientError", 404, UNKNOWN]],
    "error_429": ["ok", ["ClientError", 429, QUOTA]],
    "error_503_stream": [
        "ok",
        ["ServerError", 503, "The model is overloaded. Please try again later."],
    ],
    "retried": ["ok", ["ok", SAID.removesuffix("hi") + "again and again"]],
    "stream_error": ["ok", [2, "ServerError", 503]],
    "stream_error_bare": ["ok", [2, "ServerError", 503]],
    "stream_cut": ["ok", [2, "RemoteProtocolError", None]],
    "stream_end": ["ok", [2, "ok", None]],  # that the answer is not whole is not told
    "stream_garbage": ["ok", [2, "UnknownApiResponseError", None]],
}
_ARGUMENTS = ['{"city":"Paris"}', '{"city":"Oslo"}']
_REASONED = ["reasoning", "function_call", "function_call"]
OPENAI: dict[str, list[Any]] = {
    "decisions": [
        "ok",
        [
            json.loads(_OPENAI_DECISION.body),
            ["urgent", True],
            [True, [True, "true"]],
            [True, ["calm", "furious"]],
            0,
        ],
    ],
    "decisions_refused": ["ok", ["BadRequestError", 400, "array_below_min_length"]],
    "plain": ["ok", [SAID, "stop", True]],
    "stream": ["ok", [SAID, [], True]],
    "stream_helper": ["ok", [_ARGUMENTS, SUNNY]],
    "tools": ["ok", [2, SKY]],
    "tools_at_google": ["ok", [2, SKY]],
    "json_schema": ["ok", {"city": "Oslo"}],
    "models": ["ok", [True, "gpt-5.4"]],
    "embeddings": ["ok", [8, 8]],
    "error_400": ["ok", ["BadRequestError", 400, None]],
    "error_key": ["ok", ["AuthenticationError", 401, "invalid_api_key"]],
    "error_429": ["ok", ["RateLimitError", 429, "rate_limit_exceeded"]],
    "retried": ["ok", ["ok", "stop"]],
    "stream_error": ["ok", ["APIError", None, None]],
    "stream_cut": ["ok", ["APIConnectionError", None, None]],
    "responses_plain": ["ok", [SAID, "completed", 16]],
    "responses_stream": [
        "ok",
        ["ResponseCreatedEvent", "ResponseCompletedEvent", False, ["reasoning", "message"], SAID],
    ],
    "responses_socket": ["ok", [SAID, SAID, True, "previous_response_not_found"]],
    "realtime_tools": ["ok", [_ARGUMENTS, SUNNY, "completed"]],
    "realtime_audio": [
        "ok",
        [True, f"{SAID.removesuffix('hi')}(speech)", "mine", "item_not_found"],
    ],
    "responses_tools": ["ok", [_ARGUMENTS, SUNNY]],
    "responses_reasoning": ["ok", [_REASONED, SUNNY]],
    "responses_foreign_reasoning": ["ok", ["BadRequestError", 400, "invalid_encrypted_content"]],
    "responses_chain": [
        "ok",
        [
            SUNNY,
            ["message", *["function_call"] * 2, *["function_call_output"] * 2],
            ["NotFoundError", 404, None],
        ],
    ],
    "responses_parsed": ["ok", "Oslo"],
    "responses_refusal": ["ok", ["refusal", *["I cannot help with that."] * 2]],
    "responses_background": ["ok", [5, SAID, "queued", "cancelled"]],
    "responses_conversation": ["ok", [["user", "user", "assistant"], True]],
    "responses_counts": ["ok", [3, ["message", "compaction"], SAID]],
    "responses_error_400": ["ok", ["BadRequestError", 400, "model_not_found"]],
    "responses_error_429": ["ok", ["RateLimitError", 429, "rate_limit_exceeded"]],
    "responses_failed": ["ok", ["failed", "server_error"]],
    "responses_stream_error": ["ok", ["APIError", None, None]],
    "responses_stream_cut": ["ok", ["APIConnectionError", None, None]],
}
_RAN = (
    'Your tool get_weather says {"result": "sunny in Paris"} and get_weather says '
    '{"result": "sunny in Oslo"}.'
)
_HALF_RAN = (
    'Your tool get_weather_of_paris says {"result": "sunny"} and get_weather_of_paris says '
    '{"error": "LookupError(\'Oslo\')"}.'
)
_BUSY = "server busy, please try again.  maximum pending requests exceeded"
_CALLS = [["tool_use", "tool_use"], ["text"]]


def runs(*statuses: int) -> dict[str, list[Any]]:
    """What tool runners give, with the status of each request."""
    thinking = [["thinking", *kinds] for kinds in _CALLS]
    return {
        "tool_runner": ["ok", [_CALLS, _RAN, [*statuses]]],
        "tool_runner_streamed": ["ok", [thinking, _RAN, [*statuses]]],
        "tool_runner_async": ["ok", [_CALLS, _HALF_RAN, [*statuses]]],
    }


ANTHROPIC: dict[str, list[Any]] = {
    "plain": ["ok", [SAID, "end_turn", 15, True]],
    "bearer": ["ok", "end_turn"],
    "stream": ["ok", ["message_start", ["message_delta", "message_stop"]]],
    "stream_helper": ["ok", [["thinking", "tool_use", "tool_use"], CITIES, SKY]],
    "tools": ["ok", ["tool_use", SUNNY]],
    **runs(200, 200),
    "cache": ["ok", [[True, False], [False, True]]],
    "count_tokens": ["ok", 3],
    "models": ["ok", [True, True, "Claude Sonnet 4.5"]],
    "other_host": ["ok", ["thinking", "text"]],
    "error_400": [
        "ok",
        ["BadRequestError", 400, "invalid_request_error", "temperature: range: 0..1"],
    ],
    "error_key": ["ok", ["AuthenticationError", 401, "authentication_error", "invalid x-api-key"]],
    "error_404": ["ok", ["NotFoundError", 404, "not_found_error", "model: claude-nothing"]],
    "error_429": ["ok", ["RateLimitError", 429, "rate_limit_error"]],
    "error_529": ["ok", ["OverloadedError", 529, "overloaded_error", "Overloaded"]],
    "retried": ["ok", ["ok", "end_turn"]],
    "stream_error": ["ok", ["APIStatusError", 200, "overloaded_error", "Overloaded"]],
    "stream_cut": ["ok", ["RemoteProtocolError", None, None, None]],
}
OLLAMA: dict[str, list[Any]] = {
    "plain": ["ok", [SAID, "stop", True]],
    "stream": ["ok", [SAID, True, [False, True], "stop"]],
    "tools": ["ok", [[{"city": "Paris"}, {"city": "Oslo"}], _RAN]],
    "tools_streamed": ["ok", [2, _RAN]],
    "json_schema": ["ok", {"city": "Oslo"}],
    "generate": ["ok", [SAID, SAID, "stop"]],
    "embeddings": ["ok", [8, 8]],
    "decisions": ["ok", [["noul", "choice", "score"], ["calm", "furious"], "kev"]],
    "models": ["ok", [True, ["completion", "tools", "thinking"], 8192]],
    "pulled": ["ok", ["pulling manifest", "success", "success"]],
    "too_long": ["ok", True],
    "error_404": ["ResponseError", 404, "model 'nobody' not found"],
    "error_think": ["ResponseError", 400, '"llama3.2:3b" does not support thinking'],
    "error_key": ["ResponseError", 401, "unauthorized"],
    "error_429": ["ResponseError", 429, "you've reached your usage limit"],
    "error_503": ["ResponseError", 503, _BUSY],
    "stream_error": ["ResponseError", -1, _BUSY],
    "stream_cut": ["RemoteProtocolError", None],
}
OLLAMA_JAVASCRIPT = OLLAMA | {"stream_error": ["Error", None], "stream_cut": ["TypeError", None]}
JAVASCRIPT: dict[str, list[Any]] = {
    "plain": ["ok", SAID],
    "stream": ["ok", SAID],
    "chat_tools_streamed": ["ok", [2, SUNNY]],
    "count_tokens": ["ok", 3],
    "embeddings": ["ok", 2],
    "files": ["ok", ["5", "ACTIVE"]],
    "interactions": ["ok", ["completed", SAID, _TURN * 2]],
    "interactions_stream": ["ok", ["interaction.created", "interaction.completed", SAID]],
    "interactions_tools": GOOGLE["interactions_tools"],
    "interactions_long": ["ok", ["completed", True, True]],
    "interactions_background": [
        "ok",
        [["in_progress", "in_progress", "completed", "cancelled"], ["NotFoundError", 404]],
    ],
    "interactions_refused": ["BadRequestError", 400],
    "interactions_error_429": ["RateLimitError", 429],
    "interactions_stream_error": ["ok", "unavailable"],  # an event as others are
    "interactions_stream_cut": ["APIConnectionError", None],
    "error_key": ["ApiError", 400],
    "error_429": ["ApiError", 429],
    "error_503": ["ApiError", 503],
    "stream_error": ["ApiError", 503],
    "stream_cut": ["TypeError", None],
}


ANTHROPIC_JAVASCRIPT: dict[str, list[Any]] = {
    "plain": ["ok", SAID],
    "stream": ["ok", SAID],
    "count_tokens": ["ok", 1],
    "error_key": ["AuthenticationError", 401],
    "error_529": ["OverloadedError", 529],
    "stream_error": ["APIError", None],
    **{name: run for name, run in runs(400, 200, 200).items() if name != "tool_runner_async"},
}

OPENAI_JAVASCRIPT: dict[str, list[Any]] = {
    "plain": ["ok", SAID],
    "stream": ["ok", [["reasoning", "message"], SAID]],
    "tools": ["ok", [_ARGUMENTS, SUNNY]],
    "reasoning": ["ok", [_REASONED, SUNNY]],
    "json_schema": ["ok", {"city": "Oslo"}],
    "decisions": OPENAI["decisions"],
    "decisions_refused": ["BadRequestError", 400],
    "refusal": ["ok", {"type": "refusal", "refusal": "I cannot help with that."}],
    "error_400": ["BadRequestError", 400],
    "error_key": ["AuthenticationError", 401],
    "error_429": ["RateLimitError", 429],
    "stream_error": ["APIError", None],
    "stream_cut": ["TypeError", None],
}

# What google-genai of summer answers for a function whose annotations are text.
_UNREAD = '{"error": "isinstance() arg 2 must be a type, a tuple of types, or a union"}'
_UNREAD_BOTH = f"Your tool get_weather says {_UNREAD} and get_weather says {_UNREAD}."
_NO_DECISIONS = ["AttributeError", None, "'Client' object has no attribute 'decisions'"]
OTHERWISE: dict[str, dict[str, list[Any]]] = {
    "summer google": {
        **dict.fromkeys(("decisions", "decisions_refused"), _NO_DECISIONS),
        "interactions_long": ["ok", ["requires_continuation", False, False]],
        "automatic_calling": ["ok", [_UNREAD_BOTH, 3]],
        "automatic_calling_25": ["ok", _UNREAD_BOTH],
        "automatic_calling_35": ["ok", _UNREAD_BOTH],
        "error_404": [
            "ok",
            ["ClientError", 404, UNKNOWN.replace("version v1,", "version v1beta,")],
        ],
    },
    "summer openai": {
        "responses_socket": ["AttributeError", None, None],  # it has none
        "decisions": ["AttributeError", None, None],
        "decisions_refused": ["ok", ["AttributeError", None, None]],
        "stream_cut": ["ok", ["RemoteProtocolError", None, None]],
        "responses_stream_cut": ["ok", ["RemoteProtocolError", None, None]],
    },
    "today anthropic": {
        # A thread is refused, and the runner goes on without one.
        **runs(400, 200, 200),
        "error_400": [
            "ok",
            [
                "BadRequestError",
                400,
                "invalid_request_error",
                "temperature: Extra inputs are not permitted",
            ],
        ],
        "error_key": [
            "ok",
            ["AuthenticationError", 401, "authentication_error", "Invalid bearer token"],
        ],
    },
}
"""What a client of one age gives otherwise."""


CLOUDS = ("mantle", "aws", "vertex", "google", "foundry")
BEDROCK = ("bedrock", "bedrock_arn", "bedrock_signed")
HOSTS: dict[str, list[Any]] = {
    **{
        f"{name} {case}": outcome
        for name in (*BEDROCK, *CLOUDS)
        for case, outcome in {
            "plain": ["ok", [SAID, "end_turn", 15]],
            "streamed": ["ok", [SAID, 15]],
            "beta": ["ok", "end_turn"],
            "429": ["RateLimitError", 429],
            "error": ["APIStatusError", 200],
            "cut": ["RemoteProtocolError", None],
        }.items()
    },
    **{f"{name} counted": ["ok", 1] for name in CLOUDS},
    **{f"{name} key": ["AuthenticationError", 401] for name in CLOUDS},
    **{f"{name} key": ["PermissionDeniedError", 403] for name in BEDROCK},
    "invoked": ["ok", [SAID, "15"]],
    "invoked_as_stream": ["ok", [["message_start", "content_block_start"], 15]],
    "tokens_counted": ["ok", 1],
    "without_version": ["ok", ["ValidationException", "anthropic_version: Field required"]],
    "azure_chat": ["ok", SAID],
    "azure_stream": ["ok", SAID],
    "azure_embeddings": ["ok", 2],
    "mantle_responses": ["ok", SAID],
}
"""The clients for hosts behind clouds, and botocore."""


@pytest.fixture
def url() -> Iterator[str]:
    with serve(Emulator()) as server:
        yield server.url


def cases(*command: str | Path, **environment: str) -> dict[str, list[Any]]:
    found = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env={"PATH": os.environ["PATH"], **environment},
        timeout=110,
    )
    assert found.returncode == 0, found.stderr
    lines = [json.loads(line) for line in found.stdout.splitlines()]
    return {name: outcome[: 2 if outcome[0] == "ok" else None] for name, *outcome in lines}


WANTED = {"google": GOOGLE, "openai": OPENAI, "anthropic": ANTHROPIC}


@pytest.mark.sdks
@pytest.mark.parametrize("vendor", WANTED)
@pytest.mark.parametrize("age", AGES)
def test_clients_for_python(url: str, age: str, vendor: str) -> None:
    found = cases(VENVS / age / "bin" / "python", HERE / f"drive_{vendor}.py", url)
    assert found == WANTED[vendor] | OTHERWISE.get(f"{age} {vendor}", {})


@pytest.mark.sdks
def test_client_of_ollama_for_python(url: str) -> None:
    assert cases(VENVS / "today" / "bin" / "python", HERE / "drive_ollama.py", url) == OLLAMA


@pytest.mark.sdks
def test_clients_for_hosts_behind_clouds(url: str) -> None:
    assert cases(VENVS / "today" / "bin" / "python", HERE / "drive_hosts.py", url) == HOSTS


@pytest.mark.sdks
@pytest.mark.parametrize(
    ("age", "vendor", "wanted"),
    [
        ("summer", "google", JAVASCRIPT),
        ("today", "google", JAVASCRIPT),
        ("today", "anthropic", ANTHROPIC_JAVASCRIPT),
        ("today", "openai", OPENAI_JAVASCRIPT),
        ("today", "ollama", OLLAMA_JAVASCRIPT),
    ],
)
def test_clients_for_javascript(url: str, age: str, vendor: str, wanted: Any) -> None:
    modules = VENVS / age / "node" / "node_modules"
    if shutil.which("node") is None or not modules.exists():
        pytest.skip("node is not there")
    assert cases("node", HERE / f"drive_{vendor}.cjs", url, NODE_PATH=str(modules)) == wanted


MIGRATED = ("google-genai", "openai", "anthropic")
"""Clients with a page of docs/migrate."""


@pytest.mark.sdks
@pytest.mark.parametrize("client", MIGRATED)
def test_pages_of_migration(url: str, client: str) -> None:
    """Each block of a client's code in its page runs, and prints what the page shows."""
    found = subprocess.run(
        [
            VENVS / "today" / "bin" / "python",
            HERE / "run_page.py",
            ROOT / "docs" / "migrate" / f"{client}.md",
        ],
        capture_output=True,
        text=True,
        env={
            "PATH": os.environ["PATH"],
            "GOOGLE_GEMINI_BASE_URL": url,
            "OPENAI_BASE_URL": f"{url}/v1",
            "ANTHROPIC_BASE_URL": url,
            **{f"{name}_API_KEY": "fake-key" for name in ("GEMINI", "OPENAI", "ANTHROPIC")},
        },
        timeout=110,
    )
    assert found.returncode == 0, found.stdout + found.stderr
    failures, examples = json.loads(found.stdout.splitlines()[-1])
    assert failures == 0, found.stdout
    assert examples > 20


@pytest.mark.parametrize("client", MIGRATED)
def test_pages_of_migration_name_the_version_that_runs(client: str) -> None:
    pinned = dict(line.split("==") for line in (HERE / "today.txt").read_text("utf-8").split())
    page = (ROOT / "docs" / "migrate" / f"{client}.md").read_text("utf-8")
    assert f"those of version {pinned[client]}," in page.replace("\n", " ")
    assert f"| {client} {pinned[client]} |" in page
