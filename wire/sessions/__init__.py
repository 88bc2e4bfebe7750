"""Session files, and the export of conversations as text.

Names are imported on first use.
"""

from __future__ import annotations

from wire.core.lazy import lazy_names

_NAMES = {
    "wire.sessions.saved_reply": "dump_reply load_reply",
    "wire.sessions.transcript": "export save_export",
    "wire.sessions.session_file": """
        deserialize_message dump_session load_session read_session save_session
        serialize_message Session
    """,
}

__getattr__, __dir__ = lazy_names("wire.sessions", _NAMES)
