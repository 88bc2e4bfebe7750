"""`wire cassette serve`: cassettes as an HTTP server."""

from __future__ import annotations

import argparse

from wire.cli.options import Command
from wire.cli.serving import address_options, serve_until_stopped


def _serve_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("path", metavar="PATH", help="a cassette, or a folder of cassettes")
    address_options(command)
    command.add_argument(
        "--chunks",
        metavar="HOW",
        default="recorded",
        help="how bytes are cut: recorded (a chunk for each event), one, bytes:N, split:K or "
        "seed:N (default: %(default)s)",
    )
    command.add_argument(
        "--fault",
        metavar="FAULT",
        action="append",
        default=[],
        help="a fault of the responses, such as 'cut; after=2' or '429; retry-after=1; attempt=1'; "
        "of several, the first that applies to an attempt counts",
    )
    command.add_argument(
        "--repeats",
        action="store_true",
        help="play the last of equal requests again when all were played",
    )
    command.add_argument(
        "--provider",
        default="",
        metavar="NAME",
        help="the provider whose format errors have, where several share a path (default: by path "
        "and model)",
    )


def _serve(chosen: argparse.Namespace) -> int:
    from wire.testing.cassette.instrument import Instrument
    from wire.testing.emulator import Emulator
    from wire.testing.emulator.recorded import Recorded

    instrument = Instrument(chosen.chunks, chosen.fault)
    recorded = Recorded(chosen.path, instrument, repeats=chosen.repeats)
    return serve_until_stopped(Emulator(recorded, provider=chosen.provider), chosen)


COMMANDS = (
    Command(
        "serve",
        "play recorded responses over HTTP on this machine",
        _serve_options,
        _serve,
    ),
)
