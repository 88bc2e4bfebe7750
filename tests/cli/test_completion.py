"""Completions: each shell that is installed reads its script and completes with it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from wire.cli.commands import COMMANDS

NAMES = [each.name for each in COMMANDS]

BASH = """
source {script}
function=$(complete -p wire | sed 's/.*-F //; s/ .*//')
complete_line() {{
  COMP_WORDS=("$@"); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
  COMPREPLY=(); $function wire "${{COMP_WORDS[COMP_CWORD]}}" "${{COMP_WORDS[COMP_CWORD-1]}}"
  echo "${{COMPREPLY[@]}}"
}}
cd {folder}
complete_line wire ''
complete_line wire ch
complete_line wire emulate --p
complete_line wire cassette s
complete_line wire completion ''
complete_line wire check rep
"""


def script(wire: Command, shell: str, folder: Path) -> Path:
    said = wire("completion", shell)
    assert (said.status, said.err) == (0, "")
    path = folder / f"wire.{shell}"
    path.write_text(said.out)
    return path


def run(*command: str) -> list[str]:
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash(wire: Command, tmp_path: Path) -> None:
    (tmp_path / "report.json").touch()
    program = BASH.format(script=script(wire, "bash", tmp_path), folder=tmp_path)
    commands, some, options, nested, shells, file = run("bash", "--norc", "-c", program)
    assert commands.split() == NAMES
    assert some.split() == ["chat", "check"]
    assert options.split() == ["--port", "--provider"]
    assert nested.split() == ["show", "scan", "serve"]
    assert shells.split() == ["bash", "zsh", "fish", "tcsh", "powershell"]
    assert file == "report.json"


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish(wire: Command, tmp_path: Path) -> None:
    path = script(wire, "fish", tmp_path)

    def completed(line: str) -> list[str]:
        lines = run("fish", "--no-config", "-c", f"source {path}; complete -C '{line}'")
        return [each.partition("\t")[0] for each in lines]

    assert set(NAMES) <= set(completed("wire "))
    assert completed("wire emulate --p") == ["--port", "--provider"]
    assert {"bash", "zsh", "fish"} <= set(completed("wire completion "))


@pytest.mark.parametrize("shell", ["zsh", "tcsh", "powershell"])
def test_the_scripts_of_other_shells_name_all_commands(
    wire: Command, shell: str, tmp_path: Path
) -> None:
    text = script(wire, shell, tmp_path).read_text()
    assert set(NAMES) <= set(re.findall(r"[a-z]+", text))


def test_without_the_extra_it_is_named(wire: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    said = wire("completion", "bash")
    assert (said.status, said.out) == (2, "")
    assert said.err == "wire completion: it needs shtab: pip install 'wire-llm[completion]'\n"
