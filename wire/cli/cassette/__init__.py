"""`wire cassette`: subcommands for recordings."""

from __future__ import annotations

from wire.cli.cassette import checking, comparing, converting, scanning, serving, showing
from wire.cli.options import command_group

COMMANDS = (
    command_group(
        "cassette",
        "work with recordings of calls",
        (
            *showing.COMMANDS,
            *comparing.COMMANDS,
            *checking.COMMANDS,
            *scanning.COMMANDS,
            *serving.COMMANDS,
            *converting.COMMANDS,
        ),
    ),
)
