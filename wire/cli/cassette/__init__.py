"""`wire cassette`: subcommands for recordings."""

from __future__ import annotations

import argparse

from wire.cli.cassette import checking, comparing, converting, scanning, serving, showing
from wire.cli.options import Command, spelling

_ROWS: tuple[Command, ...] = (
    *showing.COMMANDS,
    *comparing.COMMANDS,
    *checking.COMMANDS,
    *scanning.COMMANDS,
    *serving.COMMANDS,
    *converting.COMMANDS,
)


def _options(command: argparse.ArgumentParser) -> None:
    rows = command.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for row in _ROWS:
        each = rows.add_parser(
            row.name, help=row.help, description=row.help, allow_abbrev=False, epilog=row.more
        )
        row.options(each)
        each.set_defaults(run_cassette=row.run, spelling=spelling(each))


def _run(chosen: argparse.Namespace) -> int:
    status: int = chosen.run_cassette(chosen)
    return status


COMMANDS = (Command("cassette", "work with recordings of calls", _options, _run),)
