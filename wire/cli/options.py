"""The row of a subcommand, options that several subcommands have, and the values of options."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from wire.cli.statuses import FAILED

if TYPE_CHECKING:
    from wire.chat.chat import Chat
    from wire.http.client import Client


class Command(NamedTuple):
    """One subcommand."""

    name: str
    help: str
    options: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]
    more: str = ""
    """Shown at the end of its help."""


_PARAMETERS = {
    "provider": "model",
    "timeouts": "timeout",
    "output.schema": "output",
    "mode": "record_mode",
}
"""Parameters of the library whose option has another name."""


def spelling(command: argparse.ArgumentParser) -> dict[str, str]:
    """Map each parameter to the option of the command that sets it, for the text of errors.

    >>> command = argparse.ArgumentParser()
    >>> _ = command.add_argument("--base-url")
    >>> spelling(command)["base_url"]
    '--base-url'
    """
    options = {
        action.dest: action.option_strings[0]
        for action in command._actions
        if action.option_strings and action.dest != "help"
    }
    options |= {name: options[dest] for name, dest in _PARAMETERS.items() if dest in options}
    return options


def command_group(name: str, help: str, rows: Sequence[Command]) -> Command:
    """Build a subcommand that has subcommands of its own."""

    def options(command: argparse.ArgumentParser) -> None:
        members = command.add_subparsers(title="commands", metavar="COMMAND", required=True)
        for row in rows:
            each = members.add_parser(
                row.name, help=row.help, description=row.help, allow_abbrev=False, epilog=row.more
            )
            row.options(each)
            each.set_defaults(run_member=row.run, spelling=spelling(each))

    def run(chosen: argparse.Namespace) -> int:
        status: int = chosen.run_member(chosen)
        return status

    return Command(name, help, options, run)


# --- options --------------------------------------------------------------------------------------


def model_options(command: argparse.ArgumentParser) -> None:
    """Add the options for the model and its host."""
    command.add_argument(
        "--model",
        metavar="PROVIDER:MODEL",
        help="such as gemini:gemini-3.8-flash (default: the environment variable WIRE_MODEL)",
    )
    host_options(command)


def address_and_timeout(command: argparse.ArgumentParser) -> None:
    """Add the options for the address of a provider and the time to wait for it."""
    command.add_argument(
        "--base-url", metavar="URL", help="another address of the provider, such as a gateway"
    )
    command.add_argument(
        "--timeout",
        type=seconds,
        metavar="SECONDS",
        help="longest wait for the response, and between two pieces of it (default: 300 and 120)",
    )


def host_options(command: argparse.ArgumentParser) -> None:
    """Add the options that reach a provider, or a recording of it."""
    address_and_timeout(command)
    command.add_argument(
        "--cassette", metavar="FILE", help="replay the calls from a file, or record them to it"
    )
    command.add_argument(
        "--record-mode",
        metavar="MODE",
        default="once",
        help="none, once, new_episodes, all, rewrite or verify (default: %(default)s: record if "
        "there is no file)",
    )


def json_option(command: argparse.ArgumentParser, what: str) -> None:
    """Add the option `--json`; `what` is printed."""
    command.add_argument("--json", action="store_true", help=f"print {what} as JSON")


# --- values ---------------------------------------------------------------------------------------


def seconds(text: str) -> float:
    """Parse a time in seconds above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"expected seconds above 0, not {text!r}")
    return value


def decimal(text: str) -> float:
    """Parse a number."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a number, not {text!r}") from None


def whole(least: int, most: int | None = None) -> Callable[[str], int]:
    """Return a parser of whole numbers in a range."""
    expected = f"a whole number from {least} {'up' if most is None else f'to {most}'}"

    def number(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least or (most is not None and value > most):
            raise argparse.ArgumentTypeError(f"expected {expected}, not {text!r}")
        return value

    return number


def model_of(chosen: argparse.Namespace) -> tuple[str, str]:
    """Return the provider and the model of `--model` or of `WIRE_MODEL`.

    Raises `ConfigurationError` that names the one that is wrong.
    """
    from wire.core.errors import ConfigurationError
    from wire.wires import providers

    given = chosen.model or os.environ.get("WIRE_MODEL", "")
    if not given:
        raise ConfigurationError("model: missing; give PROVIDER:MODEL, or set WIRE_MODEL")
    if not chosen.model:
        chosen.spelling["model"] = chosen.spelling["provider"] = "WIRE_MODEL"
    provider, model = providers.model_of(given)
    return provider, model


def client_options(chosen: argparse.Namespace) -> dict[str, Any]:
    """Return the options of a client that `host_options` set."""
    return {"base_url": chosen.base_url, "timeouts": chosen.timeout}


def with_cassette(chosen: argparse.Namespace) -> int:
    """Run a subcommand; with `--cassette`, its calls are replayed or recorded."""
    if getattr(chosen, "cassette", None) is None:
        return int(chosen.run(chosen))
    from wire.cli.terminal import report
    from wire.testing.cassette.transports import record

    with record(chosen.cassette, chosen.record_mode) as cassette:
        status = int(chosen.run(chosen))
    for each in cassette.drift:
        report(f"{chosen.cassette}: {each}")
    return FAILED if cassette.drift else status


def chat_of(chosen: argparse.Namespace, settings: Mapping[str, Any]) -> Chat:
    """Build a chat with the model of the options, and with settings of all its requests."""
    model = ":".join(model_of(chosen))  # first: loading what a chat needs takes most of a second
    from wire.chat.chat import Chat

    options: dict[str, Any] = {**client_options(chosen), **settings}
    return Chat(model, **options)


def client_of(chosen: argparse.Namespace, provider: str) -> Client:
    """Build a client for a provider, at the address of the options."""
    from wire.http.client import Client

    return Client(provider, **client_options(chosen))
