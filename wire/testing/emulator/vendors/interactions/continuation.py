"""Interactions that take several requests: long decode of Gemini 4.

A request gets the text up to the next border, with the status `requires_continuation` and a token.
The next one has the token, and the same input or the stored interaction in its place.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from wire.neutral.messages import Reply
from wire.testing.emulator.answer import json_bytes
from wire.testing.emulator.storage import Remembered
from wire.testing.emulator.vendors.gemini.continuation import Rest
from wire.testing.emulator.vendors.interactions import errors

_KEY = "continuation_token"


@dataclass(slots=True)
class Continuations:
    """The rests of interactions, by the tokens that were given for them."""

    _rests: Remembered = field(default_factory=Remembered)
    _scripted: Remembered = field(default_factory=Remembered)

    def remember(self, body: Mapping[str, Any]) -> None:
        """Accept the token of an interaction that a script sends."""
        if isinstance(token := body.get(_KEY), str):
            self._scripted[token] = True

    def rest(self, plain: Mapping[str, Any]) -> Rest | None:
        """Return the rest that a request asks for; `None` without a token, or with a scripted one.

        Raises `Refusal` for a token that was not given, or was given for another request.
        """
        if plain.get(_KEY) is None or plain[_KEY] in self._scripted:
            return None
        rest, of, id = self._rests.get(plain[_KEY], (None, b"", ""))
        if rest is None:
            raise errors.refusal(400, "Invalid continuation token.")
        goes_on = plain.get("previous_interaction_id") == id and not plain.get("input")
        if not goes_on and of != _same(plain):
            words = "The request does not match the one that the continuation token is for."
            raise errors.refusal(400, words)
        found: Rest = rest
        return found

    def part(
        self, reply: Reply, hops: int, plain: Mapping[str, Any], id: str
    ) -> tuple[Reply, dict[str, Any]]:
        """Return the reply to one request, and what its interaction has if it goes on.

        `reply` answers a request without a token.
        """
        rest = self.rest(plain) or Rest(reply, hops)
        part, end = rest.part(), rest.end
        if end >= len(rest.reply.text):
            return part, {}
        token = base64.b64encode(f"{id} {end}".encode()).decode()
        self._rests[token] = replace(rest, at=end), _same(plain), id
        return part, {"status": "requires_continuation", _KEY: token}


def _same(plain: Mapping[str, Any]) -> bytes:
    """Return what a request that goes on has in common with the one before it."""
    return json_bytes({key: plain[key] for key in sorted(plain) if key not in (_KEY, "stream")})
