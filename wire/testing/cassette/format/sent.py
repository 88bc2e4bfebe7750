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
