"""Session files, and the export of conversations as text.

Names are imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wire.core.lazy import lazy_names

if TYPE_CHECKING:
    from wire.sessions.session_file import Session as Session
    from wire.sessions.session_file import deserialize_message as deserialize_message
    from wire.sessions.session_file import dump_session as dump_session
    from wire.sessions.session_file import load_session as load_session
    from wire.sessions.session_file import read_session as read_session
    from wire.sessions.session_file import save_session as save_session
    from wire.sessions.session_file import serialize_message as serialize_message
    from wire.sessions.transcript import export as export
    from wire.sessions.transcript import save_export as save_export

_NAMES = {
    "wire.sessions.transcript": ("export", "save_export"),
    "wire.sessions.session_file": (
        "Session",
        "deserialize_message",
        "dump_session",
        "load_session",
        "read_session",
        "save_session",
        "serialize_message",
    ),
}

if not TYPE_CHECKING:  # a type checker would take each misspelt name for one of these
    __getattr__, __dir__ = lazy_names("wire.sessions", _NAMES)
