"""`wire cassette diff`: two recordings apart by meaning."""

from __future__ import annotations

import argparse

from wire.cli.options import Command, json_option
from wire.cli.terminal import write_json


def _options(command: argparse.ArgumentParser) -> None:
    command.add_argument("first", metavar="A", help="a cassette")
    command.add_argument("second", metavar="B", help="the cassette to compare with it")
    command.add_argument(
        "--ignore",
        metavar="PATH",
        action="append",
        default=[],
        help="JSON path of values that are not compared, such as $.metadata; may be repeated",
    )
    command.add_argument(
        "--exact", action="store_true", help="compare ids, times and signatures too"
    )
    command.add_argument(
        "--folded",
        action="store_true",
        help="compare a streamed reply as a whole, not the events that it was cut into",
    )
    json_option(command, "the differences")


def _run(chosen: argparse.Namespace) -> int:
    from wire.cli.statuses import FAILED
    from wire.core.errors import CassetteError
    from wire.core.files import read_whole
    from wire.testing.cassette.format.file import load
    from wire.testing.cassette.views.comparison import compare
    from wire.testing.cassette.views.text import comparison_text

    left, right = (
        load(read_whole(path, CassetteError), path).interactions
        for path in (chosen.first, chosen.second)
    )
    compared = compare(left, right, ignore=chosen.ignore, exact=chosen.exact, folded=chosen.folded)
    if chosen.json:
        write_json(compared)
    else:
        print(comparison_text(compared))
    return 0 if compared.equal else FAILED


COMMANDS = (
    Command(
        "diff",
        "compare two recordings by meaning",
        _options,
        _run,
        "exit status: 0 no differences, 1 differences, 2 a file cannot be read",
    ),
)
