"""Commands of agents get no credential: not in their environment, and not by `/proc` (R-28)."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path

import pytest

from wire.core.secret import Secret
from wire.pipeline import environment
from wire.pipeline.command import run_shell
from wire.pipeline.environment import blank_start_block, without_secrets

CANARY = "fake-canary-3f9c1e7b5a"
linux = pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")

SECRETS = {
    "GEMINI_API_KEY": CANARY,
    "MY_KEYS": f"{CANARY},{CANARY}",
    "AZURE_PAT": CANARY,
    "DB_PASS": CANARY,
    "MYSQL_PWD": CANARY,
    "NPM_AUTH": CANARY,
    "COPY_OF_IT": f"a {CANARY} inside",
    "DATABASE_URL": f"postgres://app:{CANARY}@db/app",
    "REMOTE": f"https://{CANARY}@github.com/a/b.git",
    "ENDPOINT": f"https://host/v1?key={CANARY}",
    "HIDDEN_BY_FORM": "sk-proj-fakefakefake",
}
ORDINARY = {"HARMLESS": "told", "LANG": "C", "EMPTY": ""}

PROGRAM = """
import os, subprocess, sys
from pathlib import Path
from wire.pipeline.command import run_shell
show = sys.argv[1]
os.environ["SET_LATER_TOKEN"] = "fake-canary-later"
os.environ["CHANGED_TOKEN"] = "fake-canary-new"
del os.environ["REMOVED_TOKEN"]
before = dict(os.environ)
for _ in range(2):
    print(run_shell(show, Path("."), 20))
print("--- the program")
assert dict(os.environ) == before
told = subprocess.run(["env"], capture_output=True, text=True, check=True).stdout
for name, value in before.items():
    assert f"{name}={value}\\n" in told, name
"""


TOKENS = {"CHANGED_TOKEN": "fake-canary-old", "REMOVED_TOKEN": "fake-canary-old"}


def ran(show: str) -> str:
    path = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM, show],
        env={**path, **SECRETS, **ORDINARY, **TOKENS},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    return result.stdout


@pytest.mark.processes
@pytest.mark.parametrize(
    "show",
    [
        "env",
        "export -p",
        "set",
        "cat /proc/self/environ | tr '\\0' '\\n'",
        pytest.param("cat /proc/$PPID/environ | tr '\\0' '\\n'", marks=linux),
    ],
)
def test_a_command_finds_no_credential_in_a_fresh_process(show: str):
    """The program itself, and its other children, keep all variables."""
    out = ran(show)
    assert "canary" not in out
    assert "sk-proj" not in out
    assert out.count("HARMLESS") == 2
    assert out.endswith("--- the program\n")


def test_which_variables_a_command_gets():
    assert without_secrets({**SECRETS, **ORDINARY}) == ORDINARY


def test_a_key_of_a_client_is_known_under_any_name():
    key = Secret("fake-ordinary-words-key")
    assert without_secrets({"NOTE": "it is fake-ordinary-words-key"}) == {}
    assert without_secrets({"NOTE": "fake%2Dordinary%2Dwords%2Dkey"}) == {}
    assert without_secrets({"NOTE": "begins with fake-ordinary-"}) == {}
    del key
    assert without_secrets({"NOTE": "it is fake-ordinary-words-key"}) != {}


def test_a_password_that_is_a_common_word_does_not_remove_the_path():
    variables = {"DB_PASS": "postgres", "PATH": "/usr/lib/postgresql/bin", "PGUSER": "postgres"}
    assert without_secrets(variables) == {"PATH": "/usr/lib/postgresql/bin"}


def test_without_proc_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(environment, "_STAT", str(tmp_path / "missing"))
    assert run_shell("echo x", tmp_path, 20) == "x\n[exit status 0]"


@linux
def test_a_failure_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    (tmp_path / "stat").write_bytes(b"1 (a) b) " + b"0 " * 60)
    monkeypatch.setattr(environment, "_STAT", str(tmp_path / "stat"))
    monkeypatch.setattr(environment, "_MEMORY", str(tmp_path))
    monkeypatch.setattr(environment, "_told", set())
    with caplog.at_level(logging.WARNING, "wire.pipeline"):
        blank_start_block()
        blank_start_block()
    (record,) = caplog.records
    assert record.getMessage().startswith("commands can read the keys in the environment of this")
