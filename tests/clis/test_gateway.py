"""Command-line agents of each vendor on models of the other vendors, through the gateway."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.clis.agents import (
    CLAUDE,
    CODEX,
    GEMINI,
    INSTALL_SECONDS,
    REPLY,
    RUN_SECONDS,
    WEATHER,
    Cli,
    calls,
    missing,
    reply_at,
)
from wire import AsyncChat
from wire.gateway import Gateway, serve
from wire.testing.emulator import AsyncEmulatorTransport, Emulator

MODELS = ("gemini:gemini-3.8-flash", "openai@responses:gpt-5.4", "anthropic:claude-opus-5-5")

pytestmark = [pytest.mark.clis, pytest.mark.timeout(INSTALL_SECONDS + 2 * RUN_SECONDS)]


def gateway(emulator: Emulator, model: str) -> Gateway:
    http = AsyncEmulatorTransport(emulator)
    return Gateway(AsyncChat(model, http=http, api_key="fake-key", retry=None))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("cli", "arguments"),
    [
        (GEMINI, ("--model", "gemini-3.1-pro-preview")),
        (CLAUDE, ()),
        (CODEX, ("--model", "gpt-5.4")),
    ],
    ids=["gemini", "claude", "codex"],
)
def test_two_parallel_calls(
    cli: Cli, arguments: tuple[str, ...], model: str, tmp_path: Path
) -> None:
    if reason := missing(cli.package, cli.version):
        pytest.skip(reason)
    say = {"text": "I read.", "thoughts": "Two files.", "calls": calls(cli, tmp_path)}
    emulator = Emulator([{"say": say}, {"say": REPLY}])
    with serve(gateway(emulator, model)) as server:
        assert reply_at(server.url, cli, tmp_path, *arguments) == REPLY
    # The strict backend accepted both requests; the second one has the first answer's text and
    # both results.
    assert [each["status"] for each in emulator.requests] == [200, 200]
    second = json.dumps(emulator.requests[1]["body"])
    assert all(text in second for text in ("I read.", *WEATHER.values()))
