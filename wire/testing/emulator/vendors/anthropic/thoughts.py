"""Signatures of Claude's thoughts: made for each thought, and checked when they come back."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field

from wire.testing.emulator.signing import decoded, mac
from wire.testing.emulator.storage import Remembered

# All of Anthropic's signatures begin so; a client may tell providers apart by it.
_HEAD = b"\x12\xb6\x02\x0a\x23"
_NONCE_BYTES = 8


@dataclass(slots=True)
class ThoughtSignatures:
    """The signatures of one emulator's thoughts."""

    seed: int = 0
    _scripted: Remembered = field(default_factory=Remembered)

    def of(self, family: str, shown: str, id: str) -> str:
        """Return the signature of a thought whose text in the response is `shown`.

        It is valid with this text, on models of this family, and differs between responses.

        >>> signatures = ThoughtSignatures()
        >>> signature = signatures.of("sonnet 4.5", "Hm.", "msg_1")
        >>> signatures.valid(signature, "sonnet 4.5", "Hm.")
        True
        >>> signatures.valid(signature, "sonnet 4.5", "Oh.")
        False
        >>> signatures.valid(signature, "opus 5", "Hm.")
        False
        """
        nonce = hashlib.sha256(id.encode()).digest()[:_NONCE_BYTES]
        return base64.b64encode(self._signature(family, shown, nonce)).decode()

    def valid(self, signature: str, family: str, shown: str) -> bool:
        """Return whether a signature fits this thought of this family, or a script sent it."""
        if (signature, shown) in self._scripted:
            return True
        raw = decoded(signature)
        if raw is None:
            return False
        nonce = raw[len(_HEAD) :][:_NONCE_BYTES]
        return raw == self._signature(family, shown, nonce)

    def remember(self, signature: str, shown: str) -> None:
        """Accept a signature that a script sends with a thought."""
        self._scripted[signature, shown] = True

    def _signature(self, family: str, shown: str, nonce: bytes) -> bytes:
        message = f"thought {family} {nonce.hex()} {shown}".encode("utf-8", "surrogatepass")
        return _HEAD + nonce + mac(self.seed, message)
