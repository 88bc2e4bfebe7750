"""The command `wire`: runs a subcommand, reports its error in one line, returns the exit status.

Modules of this package import the library inside their functions, and this one imports the others
there, so that `wire --version`, `--help` and completions start at once.
"""

from __future__ import annotations

import io
import os
import sys
from typing import TYPE_CHECKING

from wire.cli.statuses import FAILED, INTERRUPTED, MISUSED, NO_READER

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand and return its exit status, as `wire --help` lists them."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given == ["--version"]:
        from wire.core.version import VERSION

        print(f"wire {VERSION}")
        return 0
    from wire.cli.commands import COMMANDS, parser
    from wire.cli.options import with_cassette

    _show_every_character()
    chosen = parser(COMMANDS).parse_args(given)
    try:
        status = with_cassette(chosen)
        sys.stdout.flush()
    except KeyboardInterrupt:
        if sys.stderr.isatty():
            print(file=sys.stderr)  # the prompt of the shell begins in a line of its own
        return INTERRUPTED
    except BrokenPipeError:
        _discard_output()
        return NO_READER
    except Exception as error:
        return _status_of(error, chosen)
    return status


def _status_of(error: Exception, chosen: argparse.Namespace) -> int:
    """Report the error of a subcommand in one line, and return the exit status."""
    from wire.cli.terminal import report
    from wire.core.errors import CassetteError, ConfigurationError, RuleError, ToolError, WireError

    if isinstance(error, ConfigurationError | RuleError | ToolError | CassetteError):
        report(f"wire {chosen.command}: {_as_options(error.message, chosen)}")
        return MISUSED
    if isinstance(error, WireError):
        report(f"wire {chosen.command}: {type(error).__name__}: {error}")
        return FAILED
    if isinstance(error, OSError):
        report(f"wire {chosen.command}: {error}")
        return FAILED
    raise error


def _as_options(message: str, chosen: argparse.Namespace) -> str:
    """Replace a parameter's name in a message of the library by the command's option."""
    for parameter, option in chosen.spelling.items():
        message = message.replace(f"give {parameter}=True", f"give {option}")
        message = message.replace(f"give {parameter}=", f"give {option} ")
    name, colon, rest = message.partition(": ")
    if name in chosen.spelling:
        return f"{chosen.spelling[name]}{colon}{rest}"
    return message.replace("give api_key= or set", "set the environment variable")


def _show_every_character() -> None:
    """Write characters that the encoding of the output lacks as escapes, rather than fail."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _discard_output() -> None:
    """Let the interpreter flush stdout at its end without an error."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):
        pass  # stdout was replaced by an object without a descriptor
