"""Encrypted reasoning: made for each item, and checked when it comes back."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from wire.testing.emulator.moments import CREATED
from wire.testing.emulator.signing import decoded, mac
from wire.testing.emulator.storage import Remembered

# A version byte and a time of eight bytes: all of OpenAI's contents begin with gAAAAA.
_HEAD = b"\x80" + CREATED.to_bytes(8, "big")
_NONCE_BYTES = 16
_MAC_BYTES = 32
_BLOCKS = {"added": 2, "done": 6, "final": 6}
"""Lengths of the contents of one item: short in the event that adds it, longer in the event that
closes it and in the terminal event."""


@dataclass(slots=True)
class EncryptedContents:
    """The encrypted contents of one emulator."""

    seed: int = 0
    _scripted: Remembered = field(default_factory=Remembered)

    def of(self, owner: str, item_id: str, stage: str = "final") -> str:
        """Return the encrypted content of an item in one of its events: `added`, `done`, `final`.

        It is valid for this owner, and differs between items and events.

        >>> contents = EncryptedContents()
        >>> first, last = contents.of("openai", "rs_1", "done"), contents.of("openai", "rs_1")
        >>> first == last, len(first) == len(last)
        (False, True)
        >>> contents.valid(first, "openai"), contents.valid(last, "openai")
        (True, True)
        >>> contents.valid(first, "xai"), EncryptedContents(seed=1).valid(first, "openai")
        (False, False)
        """
        nonce = hashlib.sha256(f"{item_id} {stage}".encode()).digest()[:_NONCE_BYTES]
        blocks = (mac(self.seed, nonce + bytes([number])) for number in range(_BLOCKS[stage]))
        sealed = _HEAD + nonce + b"".join(blocks)
        return base64.urlsafe_b64encode(sealed + self._mac(owner, sealed)).decode()

    def valid(self, content: str, owner: str) -> bool:
        """Return whether a content was made for this owner, or was sent by a script."""
        if content in self._scripted:
            return True
        raw = decoded(content) or b""
        sealed, end = raw[:-_MAC_BYTES], raw[-_MAC_BYTES:]
        return sealed.startswith(_HEAD) and end == self._mac(owner, sealed)

    def remember(self, items: Iterable[Any]) -> None:
        """Accept the contents of items that a script sends."""
        for item in items:
            content = item.get("encrypted_content") if isinstance(item, Mapping) else None
            if isinstance(content, str):
                self._scripted[content] = True

    def _mac(self, owner: str, sealed: bytes) -> bytes:
        return mac(self.seed, f"reasoning {owner} ".encode("utf-8", "surrogatepass") + sealed)


def shown(content: str) -> str:
    """Shorten a content to its ends, as OpenAI's messages show it.

    >>> shown("gAAAAABqPBJRAhmec86FyzQ==")
    'gAAA...zQ=='
    """
    return f"{content[:4]}...{content[-4:]}"
