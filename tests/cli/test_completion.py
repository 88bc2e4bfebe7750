"""Completions: each shell that is installed reads its script and completes with it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Command
from wire.cli.commands import COMMANDS

NAMES = [each.name for each in COMMANDS]

BASH = """
source {script}
complete_line() {{
  COMP_WORDS=($1 "$2"); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
  COMPREPLY=(); _wire; echo "${{COMPREPLY[@]}}"
}}
complete_line wire ''
complete_line wire ch
complete_line 'wire emulate' --p
complete_line 'wire completion' ''
complete_line 'wire check' ''
complete_line 'wire nonsense' --
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
    lines = run("bash", "--norc", "-c", BASH.format(script=script(wire, "bash", tmp_path)))
    assert lines[0].split() == [*NAMES, "--version", "--help"]
    assert lines[1].split() == ["chat", "check"]
    assert lines[2].split() == ["--port", "--provider"]
    assert lines[3].split()[-3:] == ["bash", "zsh", "fish"]
    assert lines[4:] == ["", ""]


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish(wire: Command, tmp_path: Path) -> None:
    path = script(wire, "fish", tmp_path)

    def completed(line: str) -> list[str]:
        lines = run("fish", "--no-config", "-c", f"source {path}; complete -C '{line}'")
        return [each.partition("\t")[0] for each in lines]

    assert completed("wire ") == sorted(NAMES)
    assert completed("wire emulate --p") == ["--port", "--provider"]
    assert {"bash", "zsh", "fish"} <= set(completed("wire completion "))


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh(wire: Command, tmp_path: Path) -> None:
    """The functions that show choices print them here, since zsh completes on a terminal only."""
    path = script(wire, "zsh", tmp_path)
    body = f"""
compdef() {{ }}
_describe() {{ [[ $1 == -o ]] && shift; print -l -- ${{(P)2}} }}
_files() {{ print files }}
source {path}
complete_line() {{ words=("$@"); CURRENT=$#words; PREFIX=$words[-1]; _wire; print @@@@ }}
complete_line wire ''
complete_line wire emulate --p
complete_line wire check ''
"""
    commands, options, files, rest = "\n".join(run("zsh", "-f", "-c", body)).split("@@@@")
    assert [each.partition(":")[0] for each in commands.split("\n") if each] == NAMES
    assert "--port:port, 0 for a free one" in options.strip().split("\n")
    assert (files.strip(), rest.strip()) == ("files", "")
