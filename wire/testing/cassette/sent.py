"""A request as a transport sends it."""

from __future__ import annotations

from typing import NamedTuple

from wire.testing.cassette.kept_headers import kept_url


class Sent(NamedTuple):
    """A request as the transport sends it, secrets included."""

    method: str
    url: str
    headers: list[tuple[str, str]]
    body: bytes

    def __repr__(self) -> str:
        # Tracebacks show the variables of frames, and the headers have the key.
        return f"Sent({self.method} {kept_url(self.url)}, {len(self.body)} bytes)"
