"""A request as a transport sends it."""

from __future__ import annotations

from typing import NamedTuple

from wire.testing.cassette.format.kept_headers import kept_url


class Sent(NamedTuple):
    """A request as the transport sends it, secrets included."""

    method: str
    url: str
    headers: list[tuple[str, str]]
    body: bytes

    @property
    def shown(self) -> str:
        """The method, and the URL without secrets."""
        return f"{self.method.upper()} {kept_url(self.url)}"

    def __repr__(self) -> str:
        # Tracebacks show the variables of frames, and the headers have the key.
        return f"Sent({self.shown}, {len(self.body)} bytes)"


def session_url(url: str) -> str:
    """Return the URL of a session for the one of its handshake.

    >>> session_url("https://api.openai.com/v1/realtime?model=m")
    'wss://api.openai.com/v1/realtime?model=m'
    """
    return f"ws{url.removeprefix('http')}" if url.startswith("http") else url


def is_session(url: str) -> bool:
    """Return whether a request with this URL opens a session."""
    return url.startswith(("ws:", "wss:"))
