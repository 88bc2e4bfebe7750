"""The command `wire serve`."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.serving.running import BODIES, ECHO
from wire.cli import main
from wire.testing.emulator import Emulator, serve

ROOT = Path(__file__).parents[2]


@pytest.mark.processes
def test_it_serves_until_it_is_stopped() -> None:
    with serve(Emulator()) as vendor:
        backend = ("--backend", "anthropic:claude-sonnet-5", "--base-url", vendor.url)
        running = subprocess.Popen(
            [sys.executable, "-m", "wire.cli", "serve", *backend, "--port", "0", "--verbose"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "ANTHROPIC_API_KEY": "fake-key", "WIRE_GATEWAY_KEY": "the-key"},
        )
        try:
            assert running.stdout is not None
            said = re.fullmatch(r"READY (http://127\.0\.0\.1:\d+)\n", running.stdout.readline())
            assert said is not None
            url = f"{said[1]}/v1/chat/completions"
            headers = {"authorization": "Bearer the-key"}
            answer = httpx.post(url, json=BODIES["chat"], headers=headers, timeout=30)
            assert answer.json()["choices"][0]["message"]["content"] == f"{ECHO}Hi"
            assert httpx.post(url, json=BODIES["chat"], timeout=30).status_code == 401
            running.send_signal(signal.SIGTERM)
            assert running.wait(30) == 0
        finally:
            running.kill()
            log = running.communicate()[1]
    assert log == "POST /v1/chat/completions 200\nPOST /v1/chat/completions 401\n"
    assert vendor.requests[0]["body"]["messages"][0]["content"] == "Hi"


def test_a_backend_without_a_key_is_told_before_it_serves(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    backends = ["--backend", "ollama:llama4", "--backend", "big=anthropic:claude-sonnet-5"]
    assert main(["serve", *backends, "--port", "0"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "ANTHROPIC_API_KEY" in said.err


def test_two_backends_for_all_names(capsys: pytest.CaptureFixture[str]) -> None:
    backends = ["--backend", "ollama:llama4", "--backend", "ollama:qwen3"]
    assert main(["serve", *backends, "--port", "0"]) == 2
    assert "--backend: '*' is given twice; name each one" in capsys.readouterr().err
