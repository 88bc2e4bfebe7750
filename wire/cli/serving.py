"""`wire emulate`, and what commands share that serve the emulator."""

from __future__ import annotations

import argparse
import signal
import threading
from typing import TYPE_CHECKING

from wire.cli.options import Command, json_option, whole
from wire.cli.terminal import report, write_json

if TYPE_CHECKING:
    from wire.testing.emulator import Emulator


def address_options(command: argparse.ArgumentParser) -> None:
    """Add the options of a server: where it listens, and what it writes."""
    command.add_argument(
        "--port",
        type=whole(0, 65535),
        default=8910,
        help="port, 0 for a free one (default: %(default)s)",
    )
    command.add_argument(
        "--host",
        metavar="ADDRESS",
        default="127.0.0.1",
        help="address to listen on; 0.0.0.0 lets other machines connect (default: %(default)s)",
    )
    command.add_argument(
        "--verbose", action="store_true", help="log a line for each request to stderr"
    )
    json_option(command, "the address")


def serve_until_stopped(emulator: Emulator, chosen: argparse.Namespace) -> int:
    """Serve until Ctrl-C or SIGTERM."""
    from wire.testing.emulator import serve

    over = threading.Event()
    signal.signal(signal.SIGTERM, lambda number, frame: over.set())
    log = report if chosen.verbose else None
    with serve(emulator, chosen.port, host=chosen.host, log=log) as server:
        if chosen.json:
            write_json({"url": server.url})
        else:
            print(f"READY {server.url}", flush=True)
        try:
            over.wait()
        except KeyboardInterrupt:
            pass  # the normal way to stop it
    return 0


def _emulate_options(command: argparse.ArgumentParser) -> None:
    address_options(command)
    command.add_argument("--script", metavar="FILE", help="script or cassette with the responses")
    command.add_argument(
        "--warnings-too",
        action="store_true",
        help="also refuse requests that only older servers refused",
    )
    command.add_argument("--lenient", action="store_true", help="accept requests that break rules")
    command.add_argument(
        "--seed",
        type=whole(0),
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
        "--date",
        metavar="DAY",
        help="the day to play, as 2026-03-09; models shut down by then are refused (default: "
        "the day of the list of models)",
    )


def _emulate(chosen: argparse.Namespace) -> int:
    from wire.testing.emulator import Emulator

    emulator = Emulator(
        chosen.script,
        warnings_too=chosen.warnings_too,
        lenient=chosen.lenient,
        seed=chosen.seed,
        provider=chosen.provider,
        **({"date": chosen.date} if chosen.date else {}),
    )
    return serve_until_stopped(emulator, chosen)


COMMANDS = (
    Command(
        "emulate",
        "emulate the vendors' servers on this machine, strictly",
        _emulate_options,
        _emulate,
    ),
)
