"""Signatures and ids computed from what they are for, so that none has to be stored."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac


def mac(seed: int, message: bytes) -> bytes:
    """Return 32 bytes that depend on the message and the seed alone."""
    return hmac.new(f"wire emulator {seed}".encode(), message, hashlib.sha256).digest()


def decoded(signature: str) -> bytes | None:
    """Decode a signature in either base64 alphabet, padded or not; return `None` if it is invalid.

    Google's clients send signatures back in the URL-safe alphabet.
    """
    text = signature.replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


def digest(words: str) -> str:
    """Return 64 hexadecimal digits that depend on the words alone, for ids.

    >>> digest("file 1")[:8]
    '83bf7fcd'
    """
    return hashlib.sha256(words.encode()).hexdigest()
