"""The command in this process, and an emulator on loopback for it."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from wire.cli import main
from wire.testing.emulator import Emulator, Server, serve

MODELS = {
    "gemini": "gemini:gemini-3.8-flash",
    "openai": "openai:gpt-5.4",
    "anthropic": "anthropic:claude-sonnet-5",
}


class Said(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Command = Callable[..., Said]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serve(Emulator()) as running:
        yield running


@pytest.fixture
def wire(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Command:
    """Runs the command with fake keys in an empty folder; `stdin` is its input."""
    monkeypatch.chdir(tmp_path)
    for name in ("WIRE_MODEL", "GEMINI_BASE_URL", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for name in ("GEMINI", "OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{name}_API_KEY", "fake-key")

    def run(*arguments: object, stdin: str | bytes = "") -> Said:
        data = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), "utf-8"))
        try:
            status = main([str(each) for each in arguments])
        except SystemExit as end:
            status = int(end.code or 0)
        return Said(status, *capsys.readouterr())

    return run


def at(server: Server, wire: str) -> list[str]:
    """The options for a model of a wire on the emulator."""
    path = "/v1" if wire == "openai" else ""
    return ["--model", MODELS[wire], "--base-url", server.url + path]
