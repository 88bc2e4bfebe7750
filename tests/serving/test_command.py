"""The command `wire serve`."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx

from tests.serving.running import BODIES, ECHO
from wire.testing.emulator import Emulator, serve

ROOT = Path(__file__).parents[2]


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
