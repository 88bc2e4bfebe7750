"""The modes of a cassette, under the names that users of VCR and pytest-recording know (C-21)."""

from __future__ import annotations

from typing import Literal, get_args

from wire.core.errors import ConfigurationError
from wire.core.secret import quoted

Mode = Literal["none", "once", "new_episodes", "all", "rewrite", "verify"]
"""The modes of a cassette, which decide about each request:

- `none`: replay it; nothing is sent.
- `once`: replay it if the file was there at the start, else send and record it.
- `new_episodes`: replay it if it is recorded, else send and record it.
- `all`: send and record it, in place of the recorded interaction with an equal request.
- `rewrite`: send and record it; the file holds what was recorded this time.
- `verify`: send it and compare the response with the recorded one; nothing is written.
"""

MODES: tuple[Mode, ...] = get_args(Mode)
_ALIASES: dict[str, Mode] = {"new": "new_episodes"}

Way = Literal["replay", "record", "verify", "refuse"]

_WAYS: dict[Mode, tuple[Way, Way, Way]] = {
    # no file at the start, a recorded match, no match
    "none": ("refuse", "replay", "refuse"),
    "once": ("record", "replay", "refuse"),
    "new_episodes": ("record", "replay", "record"),
    "all": ("record", "record", "record"),
    "rewrite": ("record", "record", "record"),
    "verify": ("refuse", "verify", "refuse"),
}


def mode_of(text: str) -> Mode:
    """Return the mode of a name.

    >>> mode_of("new")
    'new_episodes'

    Raises `ConfigurationError` for another name.
    """
    mode = _ALIASES.get(text, text)
    for each in MODES:
        if each == mode:
            return each
    raise ConfigurationError(f"mode: expected one of {', '.join(MODES)}, not {quoted(text)}")


def way_of(mode: Mode, *, has_file: bool, is_recorded: bool) -> Way:
    """Return the action for a request.

    >>> way_of("once", has_file=True, is_recorded=False)
    'refuse'
    """
    no_file, recorded, unknown = _WAYS[mode]
    return no_file if not has_file else recorded if is_recorded else unknown


def needs_file(mode: Mode) -> bool:
    """Return whether the file must be there at the start."""
    return _WAYS[mode][0] == "refuse"
