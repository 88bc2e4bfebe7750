"""`wire emulate` and `wire serve`, and what commands share that serve until they are stopped."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import threading
from typing import TYPE_CHECKING, Any

from wire.cli.options import Command, client_options, host_options, json_option, whole
from wire.cli.terminal import report, write_json

if TYPE_CHECKING:
    from wire.testing.emulator import Emulator, Outage, Quota
    from wire.testing.emulator.server import HttpServer


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
    """Serve the emulator until Ctrl-C or SIGTERM."""
    from wire.testing.emulator import serve

    log = report if chosen.verbose else None
    return _until_stopped(serve(emulator, chosen.port, host=chosen.host, log=log), chosen)


def _until_stopped(
    servers: contextlib.AbstractContextManager[HttpServer], chosen: argparse.Namespace
) -> int:
    over = threading.Event()
    signal.signal(signal.SIGTERM, lambda number, frame: over.set())
    with servers as server:
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
        help="seed of generated ids and signatures, and of --outage (default: %(default)s)",
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
    command.add_argument(
        "--quota",
        metavar="LIMITS",
        help="rate limits, as requests=60,tokens=100000; also input_tokens, output_tokens, and "
        "window, their seconds (default: 60)",
    )
    command.add_argument(
        "--outage",
        metavar="SHARE",
        help="share of the requests that fail, from 0 to 1: all (default: 1 with --fault, else 0)",
    )
    command.add_argument(
        "--fault",
        action="append",
        metavar="FAULT",
        help="what happens to those that fail, such as 529, refuse or 'cut; after=2'; of several "
        "one at random (default: 503)",
    )


def _quota(text: str | None) -> Quota | None:
    """Parse the rate limits of `--quota`."""
    from wire.core.errors import ConfigurationError
    from wire.core.secret import quoted
    from wire.testing.emulator import Quota

    if text is None:
        return None
    limits: dict[str, Any] = {}
    for each in text.split(","):
        name, _, number = (part.strip() for part in each.partition("="))
        if name not in Quota.__struct_fields__ or name in limits:
            names = ", ".join(Quota.__struct_fields__)
            raise ConfigurationError(
                f"quota: expected NAME=NUMBER, each of {names} once, not {quoted(each)}"
            )
        limits[name] = _number(number)
    return Quota(**limits)


def _number(text: str) -> Any:
    """Parse the number in a text; return any other text unchanged, for the check of its value."""
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text


def _outage(chosen: argparse.Namespace) -> Outage | None:
    """Build the outage of `--outage` and `--fault`."""
    from wire.testing.emulator import Outage

    given: dict[str, Any] = {}
    if chosen.outage is not None:
        given["share"] = _number(chosen.outage)
    if chosen.fault is not None:
        given["faults"] = chosen.fault
    return Outage(seed=chosen.seed, **given) if given else None


def _emulate(chosen: argparse.Namespace) -> int:
    from wire.testing.emulator import Emulator

    emulator = Emulator(
        chosen.script,
        warnings_too=chosen.warnings_too,
        lenient=chosen.lenient,
        seed=chosen.seed,
        provider=chosen.provider,
        quota=_quota(chosen.quota),
        outage=_outage(chosen),
        **({"date": chosen.date} if chosen.date else {}),
    )
    return serve_until_stopped(emulator, chosen)


def _serve_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--backend",
        required=True,
        action="append",
        metavar="[NAME=]PROVIDER:MODEL",
        help="the model that answers, such as anthropic:claude-sonnet-5; with NAME, the one for "
        "clients that ask for it, such as 'gpt-*=openai:gpt-5.4', and the option may be repeated",
    )
    command.add_argument(
        "--key",
        metavar="KEY",
        help="the key that clients must send; WIRE_GATEWAY_KEY in the environment is not shown in "
        "the list of processes",
    )
    host_options(command)
    address_options(command)


def _serve(chosen: argparse.Namespace) -> int:
    from wire.chat.chat import AsyncChat
    from wire.core.errors import ConfigurationError
    from wire.serving import Gateway, serve

    key = chosen.key or os.environ.get("WIRE_GATEWAY_KEY") or None
    backends: dict[str, AsyncChat] = {}
    for given in chosen.backend:
        name, equals, model = given.partition("=")
        name = name if equals else "*"
        if name in backends:
            raise ConfigurationError(f"--backend: {name!r} is given twice; name each one")
        backends[name] = AsyncChat(model or given, retry=None, **client_options(chosen))
    gateway = Gateway(backends, key=key)
    if chosen.cassette is None:  # a cassette that is played needs none
        gateway.require_keys()
    log = report if chosen.verbose else None
    return _until_stopped(serve(gateway, chosen.port, host=chosen.host, log=log), chosen)


COMMANDS = (
    Command(
        "serve",
        "serve models to clients of Gemini, OpenAI and Anthropic",
        _serve_options,
        _serve,
    ),
    Command(
        "emulate",
        "emulate the vendors' servers on this machine, strictly",
        _emulate_options,
        _emulate,
    ),
)
