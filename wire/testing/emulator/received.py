"""A request as the emulator received it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from wire.core.errors import ConfigurationError
from wire.core.provider import Provider
from wire.core.secret import sealed_headers, shown_headers
from wire.core.secret_fields import masked_body
from wire.testing.cassette.format.kept_headers import kept_url
from wire.testing.emulator.json_sizes import json_excess
from wire.testing.emulator.limits import DEFAULT_LIMITS, EmulatorLimits

_MAX_SHOWN_BYTES = 1 << 20
"""Of a body that is not JSON, in the list of requests."""


@dataclass(frozen=True, slots=True)
class Received:
    """One request; `number` counts from 1 since the list of requests was last cleared."""

    number: int
    method: str
    target: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes
    base: str
    """Scheme and host of the emulator, as the client addressed it."""
    origin: str = ""
    """Host and port of the server that the client meant, if the emulator runs inside the client's
    transport; empty if it runs as a server itself."""
    host: Provider | None = None
    """The provider, if the form of the request says which (`wire.testing.emulator.forms`)."""
    excess: str = ""
    """Why the body is too deep, or has too many values, to be decoded; empty if it is not."""
    in_session: bool = False
    """Whether a session over WebSocket asks for the response, to make messages of it."""

    def __repr__(self) -> str:
        # Tracebacks show the variables of frames, and headers and body have keys.
        size = f"{len(self.body)} bytes"
        return f"Received({self.number}, {self.method} {kept_url(self.target)}, {size})"

    @property
    def model(self) -> str:
        """The `model` of a JSON body; empty if there is none."""
        try:
            body = None if self.excess else json.loads(self.body)
        except ValueError:
            return ""
        model = body.get("model") if isinstance(body, dict) else None
        return model if isinstance(model, str) else ""

    @property
    def bearer(self) -> str:
        """The token of `Authorization: Bearer`, or an empty string."""
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        return token.strip() if scheme.lower() == "bearer" else ""

    @property
    def digest(self) -> str:
        """Sixty-four hexadecimal digits, for the ids of the response."""
        return hashlib.sha256(f"{self.number} ".encode() + self.body).hexdigest()

    def report(self) -> dict[str, Any]:
        """Return the request for `GET /_wire/requests`, without keys.

        A body that is not JSON, or is over a limit, is cut to its first 1 MiB, as text.
        """
        shown = masked_body(self.body)
        try:
            if self.excess:
                raise ValueError(self.excess)
            body: Any = json.loads(shown) if shown else None
        except ValueError:
            body = shown[:_MAX_SHOWN_BYTES].decode("utf-8", "replace")
        return {
            "number": self.number,
            "method": self.method,
            "target": kept_url(self.target),
            # By name and by form: a client may send its key under another name.
            "headers": shown_headers(sealed_headers(self.headers)),
            "body": body,
        }


def received(
    number: int,
    method: str,
    target: str,
    headers: Mapping[str, str] | Iterable[tuple[str, str]],
    body: bytes,
    limits: EmulatorLimits = DEFAULT_LIMITS,
) -> Received:
    """Split the target, which is a path with its query or a complete URL.

    Raises `ValueError` for a target that is neither.
    """
    named: dict[str, str] = {}
    try:
        pairs: Any = headers.items() if isinstance(headers, Mapping) else headers
        for name, value in pairs:
            name = name.lower()
            # Repeated fields are one list (RFC 9110, 5.2): none of two origins is dropped.
            named[name] = f"{named[name]}, {value}" if name in named else value
    except (AttributeError, TypeError, ValueError):
        problem = "headers: expected a mapping of names to values, or pairs of them"
        raise ConfigurationError(problem) from None
    parts = urlsplit(target)
    base = f"{parts.scheme or 'http'}://{parts.netloc or named.get('host', 'localhost')}"
    path = unquote(parts.path) or "/"
    shown = f"{parts.path}?{parts.query}" if parts.query else parts.path
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    return Received(
        number,
        method.upper(),
        shown,
        path,
        query,
        named,
        body,
        base,
        origin=parts.netloc,
        excess=json_excess(body, limits),
    )
