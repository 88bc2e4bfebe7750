"""Command-line agents of npm against the emulator: each runs its own tools for two parallel calls.
`make test-clis`.

One that cannot be installed is skipped.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.clis.agents import (
    CLAUDE,
    CODEX,
    GEMINI,
    INSTALL_SECONDS,
    OPENCODE,
    QWEN,
    REPLY,
    RUN_SECONDS,
    Cli,
    Kept,
    asked,
    calls,
    check_exchange,
    missing,
    reply,
    script,
)

pytestmark = [pytest.mark.clis, pytest.mark.timeout(INSTALL_SECONDS + 2 * RUN_SECONDS)]


def steps(cli: Cli, home: Path, model: str, *, together: bool = True) -> list[dict[str, Any]]:
    """Two calls, in one answer unless not `together`, then the reply."""
    # Requests of the agent's own, such as those that choose the model, get the small model.
    match, made = {"model": model}, calls(cli, home)
    say = [{"text": "I read.", "thoughts": "Two files.", "calls": made}]
    if not together:
        say = [{"text": "I read.", "thoughts": "A file.", "calls": [each]} for each in made]
    return [{"match": match, "say": each} for each in (*say, REPLY)]


@pytest.mark.parametrize(
    ("cli", "model", "arguments", "environment"),
    [
        # Its first request lets another model choose this one.
        (GEMINI, "gemini-3.8-flash", (), {}),
        (GEMINI, "gemini-3.1-pro-preview", ("--model", "gemini-3.1-pro-preview"), {}),
        (GEMINI, "gemini-4-argon", ("--model", "gemini-4-argon"), {}),
        (CLAUDE, "claude-opus-5-5", (), {}),
        (CLAUDE, "claude-fable-5-1", ("--model", "claude-fable-5-1"), {}),
        (
            CLAUDE,
            "claude-haiku-4-5",
            ("--model", "claude-haiku-4-5"),
            {"MAX_THINKING_TOKENS": "2000"},
        ),
        (CODEX, "gpt-5.6", ("--model", "gpt-5.6"), {}),
        (OPENCODE, "gpt-5.6", ("--model", "responses/gpt-5.6"), {}),
        (OPENCODE, "gpt-6.1-sol", ("--model", "responses/gpt-6.1-sol"), {}),
        # Both hosts refuse calls that come back without the reasoning before them.
        (OPENCODE, "deepseek-v4-pro", ("--model", "chat/deepseek-v4-pro"), {}),
        (OPENCODE, "kimi-k3", ("--model", "chat/kimi-k3"), {}),
        (QWEN, "qwen3.8-max", (), {"OPENAI_MODEL": "qwen3.8-max"}),
        (QWEN, "deepseek-v4-pro", (), {"OPENAI_MODEL": "deepseek-v4-pro"}),
    ],
    ids=[
        "gemini routed",
        "gemini",
        "gemini 4",
        "claude",
        "claude with bound thoughts",
        "claude with a thinking budget",
        "codex",
        "opencode at responses",
        "opencode at responses, gpt 6",
        "opencode at chat completions",
        "opencode at chat completions, kimi",
        "qwen",
        "qwen, deepseek",
    ],
)
def test_two_parallel_calls(
    cli: Cli,
    model: str,
    arguments: tuple[str, ...],
    environment: dict[str, str],
    tmp_path: Path,
) -> None:
    if reason := missing(cli.package, cli.version):
        pytest.skip(reason)
    emulator = Kept(steps(cli, tmp_path, model))
    assert reply(cli, emulator, tmp_path, *arguments, **environment) == REPLY
    assert {each["status"] for each in emulator.requests} == {200}
    [_, second] = asked(emulator, model)
    body = second["body"]
    signatures = 0 if second["target"].endswith("/chat/completions") else 1
    check_exchange(cli.exchange(body), "".join(emulator.sent), signatures=signatures)


def test_codex_on_a_model_of_scripts(tmp_path: Path) -> None:
    """For these models codex declares its tools in an item of the input, wants one call at a time,
    and only offers a tool without a schema, for scripts."""
    if reason := missing(CODEX.package, CODEX.version):
        pytest.skip(reason)
    model, cli = "gpt-6.1-sol", replace(CODEX, call=script)
    emulator = Kept(steps(cli, tmp_path, model, together=False))
    assert reply(cli, emulator, tmp_path, "--model", model) == REPLY
    assert [each["status"] for each in emulator.requests] == [200, 200, 200]
    first, _, third = [each["body"] for each in asked(emulator, model)]
    assert first["parallel_tool_calls"] is False
    assert first["input"][0]["type"] == "additional_tools"
    check_exchange(cli.exchange(third), "".join(emulator.sent), signatures=2)


@pytest.mark.parametrize(
    ("cli", "model", "fault"),
    [(GEMINI, "gemini-3.8-flash", "503"), (CLAUDE, "claude-opus-5-5", "529; retry-after=0")],
    ids=["gemini", "claude"],
)
def test_an_overloaded_server_is_asked_again(
    cli: Cli, model: str, fault: str, tmp_path: Path
) -> None:
    if reason := missing(cli.package, cli.version):
        pytest.skip(reason)
    first, last = steps(cli, tmp_path, model)
    emulator = Kept([first, {"match": first["match"], "fault": fault}, last])
    assert reply(cli, emulator, tmp_path, "--model", model) == REPLY
    requests = asked(emulator, model)
    assert [each["status"] for each in requests] == [200, int(fault[:3]), 200]
    assert requests[1]["body"] == requests[2]["body"]
    check_exchange(cli.exchange(requests[2]["body"]), "".join(emulator.sent))
