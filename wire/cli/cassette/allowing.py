"""The option `--allow` and the list in pyproject.toml: values that are not secrets."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wire.testing.cassette.checks.scan import Allowed

_PROJECT = Path("pyproject.toml")
_KEY = "tool.wire.cassette.allow"


def allow_option(command: argparse.ArgumentParser) -> None:
    """Add `--allow`."""
    command.add_argument(
        "--allow",
        metavar="KIND:DIGITS",
        action="append",
        default=[],
        help="a false alarm: its kind and the first digits of its SHA-256, as `scan --json` shows "
        f"them; may be repeated, and {_KEY} of {_PROJECT} is a list of these",
    )


def allowed(chosen: argparse.Namespace) -> list[Allowed]:
    """List the values that the command line and the pyproject.toml of the current folder allow.

    Raises `ConfigurationError` for a malformed value, and for a file that is not TOML.
    """
    from wire.core.errors import ConfigurationError
    from wire.testing.cassette.checks.scan import allowed_of

    listed = _listed()
    if not (isinstance(listed, list) and all(isinstance(each, str) for each in listed)):
        raise ConfigurationError(f"{_PROJECT}: {_KEY}: expected a list of texts")
    return [allowed_of(each) for each in (*chosen.allow, *listed)]


def _listed() -> Any:
    """Read the list of the project; return an empty list without the file or the key."""
    from wire.core.configuration import Unreadable, read_configuration
    from wire.core.errors import ConfigurationError
    from wire.core.files import read_whole

    if not _PROJECT.is_file():
        return []
    try:
        value: Any = read_configuration(".toml", read_whole(_PROJECT, ConfigurationError))
    except (Unreadable, UnicodeDecodeError) as cause:
        raise ConfigurationError(f"{_PROJECT}: {cause}") from None
    *tables, last = _KEY.split(".")
    for each in tables:
        value = value.get(each, {}) if isinstance(value, dict) else {}
    return value.get(last, []) if isinstance(value, dict) else []
