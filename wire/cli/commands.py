"""The table of subcommands, and the parser of the command line."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NoReturn

from wire.cli import (
    asking,
    bodies,
    bulk,
    cassette,
    catalogue,
    chatting,
    completion,
    conformance,
    hosts,
    media,
    probing,
    serving,
)
from wire.cli.options import Command, spelling
from wire.cli.statuses import MISUSED
from wire.cli.terminal import report

COMMANDS: tuple[Command, ...] = (
    *asking.COMMANDS,
    *chatting.COMMANDS,
    *media.COMMANDS,
    *bulk.COMMANDS,
    *bodies.COMMANDS,
    *hosts.COMMANDS,
    *catalogue.COMMANDS,
    *probing.COMMANDS,
    *serving.COMMANDS,
    *conformance.COMMANDS,
    *cassette.COMMANDS,
    completion.COMPLETION,
)

_STATUSES = """exit status:
  0    done
  1    the call failed, or the check found an error
  2    bad input: nothing was sent
  130  interrupted by Ctrl-C
  141  the reader of the output has closed it

Keys of providers are taken from the environment only; `wire providers` lists their variables.
"""


def parser(commands: Sequence[Command]) -> argparse.ArgumentParser:
    """Build the parser of the command line."""
    top = Parser(
        prog="wire",
        description="Ask LLM providers over raw HTTP, check requests, emulate servers.",
        epilog=_STATUSES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    top.add_argument("--version", action="store_true", help="print the version")
    rows = top.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    for row in commands:
        command = rows.add_parser(
            row.name, help=row.help, description=row.help, allow_abbrev=False, epilog=row.more
        )
        row.options(command)
        command.set_defaults(run=row.run, spelling=spelling(command), top=top)
    return top


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Exit with status 2. argparse repeats arguments, which may be keys (R-28)."""
        from wire.core.credentials import hidden_in_arguments

        report(f"{self.prog}: {hidden_in_arguments(message.removeprefix('argument '))}")
        self.exit(MISUSED)
