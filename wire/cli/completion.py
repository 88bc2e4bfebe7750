"""`wire completion`: scripts that let a shell complete subcommands, options and files.

They are made of the parser itself, so that they know what `--help` knows.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from wire.cli.options import Command
from wire.cli.terminal import write


class _Words(NamedTuple):
    """The options and arguments that may follow a subcommand."""

    name: str
    help: str
    options: tuple[tuple[str, str], ...]
    """Each spelling of an option, and its help."""


def _options(command: argparse.ArgumentParser) -> None:
    command.add_argument("shell", choices=tuple(_SCRIPTS), help="the shell to write it for")


def words(commands: Sequence[Command]) -> Iterator[_Words]:
    """Yield names and options of subcommands."""
    for row in commands:
        parser = argparse.ArgumentParser(row.name)
        row.options(parser)
        options = [
            (option, (action.help or "").partition(" (")[0])
            for action in parser._actions
            for option in action.option_strings
            if option.startswith("--")
        ]
        choices = [
            (choice, "")
            for action in parser._actions
            if not action.option_strings
            for choice in action.choices or ()
        ]
        yield _Words(row.name, row.help, (*options, *choices))


def _bash(commands: Sequence[_Words]) -> str:
    names = " ".join(each.name for each in commands)
    cases = "\n".join(
        f"    {each.name}) words='{' '.join(option for option, _ in each.options)}' ;;"
        for each in commands
    )
    return f"""\
# bash completion of wire: eval "$(wire completion bash)"
_wire() {{
  local words='{names} --version --help'
  local current="${{COMP_WORDS[COMP_CWORD]}}"
  if (( COMP_CWORD > 1 )); then
    case "${{COMP_WORDS[1]}}" in
{cases}
    *) words='' ;;
    esac
    [[ $current != -* && -n $words && ${{COMP_WORDS[1]}} != completion ]] && words=''
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o bashdefault -o default -F _wire wire
"""


def _zsh(commands: Sequence[_Words]) -> str:
    names = "\n".join(f"    {_quoted(each.name, each.help)}" for each in commands)
    cases = "\n".join(
        f"  {each.name}) found=({' '.join(_quoted(*option) for option in each.options)}) ;;"
        for each in commands
    )
    return f"""\
#compdef wire
# zsh completion of wire: a file _wire in a folder of $fpath, or eval "$(wire completion zsh)"
_wire() {{
  local -a found
  if (( CURRENT == 2 )); then
    found=(
{names}
    )
    _describe command found
    return
  fi
  case "${{words[2]}}" in
{cases}
  esac
  if [[ $PREFIX == -* || ${{words[2]}} == completion ]]; then
    _describe -o option found
  else
    _files
  fi
}}
compdef _wire wire
"""


def _quoted(word: str, help: str) -> str:
    """Write a word with its description, as `_describe` of zsh reads it, in single quotes."""
    text = f"{word}:{help}".replace("'", "'\\''") if help else word
    return f"'{text}'"


def _fish(commands: Sequence[_Words]) -> str:
    lines = ["# fish completion of wire: wire completion fish | source"]
    for each in commands:
        help = each.help.replace("\\", "\\\\").replace("'", "\\'")
        lines.append(f"complete -c wire -n __fish_use_subcommand -f -a {each.name} -d '{help}'")
        condition = f"-n '__fish_seen_subcommand_from {each.name}'"
        for option, text in each.options:
            text = text.replace("\\", "\\\\").replace("'", "\\'")
            word = f"-l {option[2:]}" if option.startswith("--") else f"-f -a {option}"
            lines.append(f"complete -c wire {condition} {word} -d '{text}'")
    return "\n".join([*lines, ""])


_SCRIPTS: dict[str, Callable[[Sequence[_Words]], str]] = {
    "bash": _bash,
    "zsh": _zsh,
    "fish": _fish,
}


def completion_of(commands: Sequence[Command]) -> Command:
    """Build the subcommand that completes `commands`, and itself."""

    def run(chosen: argparse.Namespace) -> int:
        write(_SCRIPTS[chosen.shell](list(words((*commands, completion)))), end="")
        return 0

    help = "print a script that completes the command in a shell"
    completion = Command("completion", help, _options, run)
    return completion
