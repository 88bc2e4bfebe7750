"""Command-line agents of each vendor on models of the other vendors, through the gateway."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.clis.test_clis import (
    CLAUDE,
    FOLDER,
    GEMINI,
    INSTALL_SECONDS,
    QUESTION,
    REPLY,
    RUN_SECONDS,
    WEATHER,
    Cli,
    missing,
    reply_at,
    run,
)
from wire import AsyncChat
from wire.gateway import Gateway, serve
from wire.testing.emulator import AsyncEmulatorTransport, Emulator

CODEX, CODEX_VERSION = "@openai/codex", "0.169.0"
MODELS = ("gemini:gemini-3.8-flash", "openai@responses:gpt-5.4", "anthropic:claude-opus-5-5")

pytestmark = [pytest.mark.clis, pytest.mark.timeout(INSTALL_SECONDS + 2 * RUN_SECONDS)]


def gateway(emulator: Emulator, model: str) -> Gateway:
    http = AsyncEmulatorTransport(emulator)
    return Gateway(AsyncChat(model, http=http, api_key="fake-key", retry=None))


def script(calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Two calls in one answer, then the reply."""
    return [{"say": {"text": "I read.", "thoughts": "Two files.", "calls": calls}}, {"say": REPLY}]


def check(emulator: Emulator) -> None:
    """The strict backend accepted both requests, and the second one had both results."""
    assert [each["status"] for each in emulator.requests] == [200, 200]
    for weather in WEATHER.values():
        assert weather in json.dumps(emulator.requests[1]["body"])


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("cli", "arguments"),
    [(GEMINI, ("--model", "gemini-3.1-pro-preview")), (CLAUDE, ())],
    ids=["gemini", "claude"],
)
def test_two_parallel_calls(
    cli: Cli, arguments: tuple[str, ...], model: str, tmp_path: Path
) -> None:
    if reason := missing(cli.package, cli.version):
        pytest.skip(reason)
    files = [str(tmp_path / "cities" / name) for name in WEATHER]
    calls = [{"name": cli.tool, "args": {"file_path": each}} for each in files]
    emulator = Emulator(script(calls))
    with serve(gateway(emulator, model)) as server:
        assert reply_at(server.url, cli, tmp_path, *arguments) == REPLY
    check(emulator)


@pytest.mark.parametrize("model", MODELS)
def test_codex(model: str, tmp_path: Path) -> None:
    if reason := missing(CODEX, CODEX_VERSION):
        pytest.skip(reason)
    folder = tmp_path / "cities"
    folder.mkdir()
    (tmp_path / ".codex").mkdir()
    for name, weather in WEATHER.items():
        (folder / name).write_text(f"{weather}\n", "utf-8")
    calls = [{"name": "exec_command", "args": {"cmd": f"cat {name}"}} for name in WEATHER]
    emulator = Emulator(script(calls))
    program = FOLDER / "codex" / "node_modules" / CODEX / "bin" / "codex.js"
    options = ("--skip-git-repo-check", "--json", "--dangerously-bypass-approvals-and-sandbox")
    with serve(gateway(emulator, model)) as server:
        host = f'{{name="wire",base_url="{server.url}/v1",env_key="KEY",wire_api="responses"}}'
        settings = ('model_provider="wire"', f"model_providers.wire={host}")
        code, output, log = run(
            ["node", str(program), "exec", *options, "-m", "gpt-5.4"]
            + [word for each in settings for word in ("-c", each)]
            + [QUESTION],
            seconds=RUN_SECONDS,
            folder=folder,
            environment={
                "PATH": os.environ["PATH"],
                "HOME": str(tmp_path),
                "CODEX_HOME": str(tmp_path / ".codex"),
                "KEY": "fake-key",
            },
        )
    assert code == 0, f"{output}\n{log}"
    items = [json.loads(line).get("item", {}) for line in output.splitlines()]
    said = [item["text"] for item in items if item.get("type") == "agent_message"]
    assert said == ["I read.", REPLY]
    check(emulator)
