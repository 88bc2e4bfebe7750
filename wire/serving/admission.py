"""Who may use a gateway: clients with its key, or those of this machine."""

from __future__ import annotations

import hmac
from urllib.parse import urlsplit

from wire.core.secret import Secret
from wire.testing.emulator.received import Received

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def refusal_of(request: Received, key: Secret | None) -> tuple[int, str] | None:
    """Return status and message for a client that may not use the gateway with this key."""
    if key is not None:
        headers = request.headers
        keys = (
            request.bearer,
            headers.get("x-api-key", ""),
            headers.get("x-goog-api-key", ""),
            headers.get("api-key", ""),
            request.query.get("key", ""),
        )
        expected = key.reveal().encode()
        if not any(hmac.compare_digest(each.encode(), expected) for each in keys):
            return 401, "The key of the gateway is missing or wrong."
        return None
    # Any web page can send requests to this machine, and would use the key of the backend.
    for name in ("origin", "host"):
        address = request.headers.get(name, "")
        if address and _host_of(address) not in LOOPBACK:
            return 403, f"The gateway has no key, and the header {name} names another machine."
    return None


def _host_of(address: str) -> str | None:
    """Return the host of an origin, or of a `Host` header."""
    try:
        return urlsplit(address if "//" in address else f"//{address}").hostname
    except ValueError:  # such as http://[::1
        return None
