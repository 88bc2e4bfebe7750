"""The command `wire`. Each subcommand is a row: name, help text, options, function."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple, NoReturn

from wire.core.credentials import hidden_in_arguments
from wire.core.printable import printable_line
from wire.errors import WireError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a subcommand and return its exit status: 0 for success, 1 for an error."""
    parser = _Parser(prog="wire", description="LLM providers over raw HTTP.")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for row in _COMMANDS:
        command = commands.add_parser(row.name, help=row.help, description=row.help)
        row.options(command)
        command.set_defaults(run=row.run)
    chosen = parser.parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = chosen.run
    try:
        return run(chosen)
    except WireError as error:
        _report(f"{type(error).__name__}: {error}")
        return 1
    except OSError as error:
        _report(f"wire: {error}")
        return 1


def _report(line: str) -> None:
    """Write a line to stderr. A path or a request in it may hold control characters."""
    print(printable_line(line), file=sys.stderr, flush=True)


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Exit with status 2. argparse repeats arguments, which may be keys (R-28)."""
        super().error(printable_line(hidden_in_arguments(message)))


class Command(NamedTuple):
    """One subcommand."""

    name: str
    help: str
    options: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def _emulate_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--port",
        type=int,
        default=8910,
        help="port on 127.0.0.1, 0 for a free one (default: %(default)s)",
    )
    command.add_argument("--script", metavar="FILE", help="script or cassette with the responses")
    command.add_argument(
        "--warnings-too",
        action="store_true",
        help="also refuse requests that only older servers refused",
    )
    command.add_argument("--lenient", action="store_true", help="accept requests that break rules")
    command.add_argument(
        "--seed",
        type=int,
        default=0,
        help="seed of generated ids and signatures (default: %(default)s)",
    )
    command.add_argument(
        "--provider",
        default="",
        metavar="NAME",
        help="the provider to emulate where several share a path (default: by path and model)",
    )
    command.add_argument(
        "--verbose", action="store_true", help="log a line for each request to stderr"
    )
    command.add_argument(
        "--date",
        metavar="DAY",
        help="the day to play, as 2026-03-09; models shut down by then are refused (default: "
        "the day of the list of models)",
    )


def _emulate(chosen: argparse.Namespace) -> int:
    from wire.testing.emulator import Emulator, serve

    over = threading.Event()
    signal.signal(signal.SIGTERM, lambda number, frame: over.set())
    emulator = Emulator(
        chosen.script,
        warnings_too=chosen.warnings_too,
        lenient=chosen.lenient,
        seed=chosen.seed,
        provider=chosen.provider,
        **({"date": chosen.date} if chosen.date else {}),
    )
    with serve(emulator, chosen.port, log=_report if chosen.verbose else None) as server:
        print(f"READY {server.url}", flush=True)
        try:
            over.wait()
        except KeyboardInterrupt:
            pass  # the normal way to stop it
    return 0


_COMMANDS = (
    Command(
        "emulate",
        "emulate the vendors' servers on this machine, strictly",
        _emulate_options,
        _emulate,
    ),
)


if __name__ == "__main__":
    sys.exit(main())
