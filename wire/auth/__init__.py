"""Credentials: values that head or sign the attempts of a client.

`credentials=` of a client takes one of them, or the name of a chain: `aws`, `google`, `entra`.
Names are imported on first use.
"""

from __future__ import annotations

from wire.core.lazy import lazy_names

_NAMES = {
    "wire.auth.credential": "Bearer Credential HeaderKey SigV4",
    "wire.auth.callback": "Callback",
}

__getattr__, __dir__ = lazy_names("wire.auth", _NAMES)
