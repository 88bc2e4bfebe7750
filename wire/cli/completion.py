"""`wire completion`: scripts that let a shell complete subcommands, options and files.

shtab makes them of the parser itself, so that they know what `--help` knows.
"""

from __future__ import annotations

import argparse

from wire.cli.options import Command
from wire.cli.terminal import write

_FILES = {"FILE", "PATH", "SCHEMA.json", "IN", "OUT", "SOURCE", "TARGET", "OTHER", "A", "B"}
"""Words for the value of an argument that is a path."""


def _options(command: argparse.ArgumentParser) -> None:
    # Those of shtab, which is imported where it is needed.
    shells = ("bash", "zsh", "fish", "tcsh", "powershell")
    command.add_argument("shell", choices=shells, help="the shell to write it for")


def _run(chosen: argparse.Namespace) -> int:
    try:
        import shtab
    except ImportError:
        from wire.core.errors import ConfigurationError

        raise ConfigurationError("it needs shtab: pip install 'wire-llm[completion]'") from None
    _complete_paths(chosen.top, {"FOLDER": shtab.DIRECTORY, **dict.fromkeys(_FILES, shtab.FILE)})
    write(shtab.complete(chosen.top, chosen.shell), end="")
    return 0


def _complete_paths(command: argparse.ArgumentParser, paths: dict[str, object]) -> None:
    for action in command._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                _complete_paths(each, paths)
        elif action.metavar in paths:
            action.complete = paths[action.metavar]  # type: ignore[attr-defined]


COMPLETION = Command(
    "completion", "print a script that completes the command in a shell", _options, _run
)
