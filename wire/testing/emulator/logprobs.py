"""Log probabilities of the tokens of a text: invented, but always the same for the same token."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

from wire.testing.emulator.tokens import tokens


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """A token, its log probability, and its id."""

    token: str
    logprob: float

    @property
    def id(self) -> int:
        """A number of the token."""
        return zlib.crc32(self.token.encode()) % 256000


def logprobs(text: str, top: int = 0) -> list[tuple[TokenLogprob, list[TokenLogprob]]]:
    """List each token of a text, with the `top` likeliest tokens at its place, itself the first.

    >>> [(chosen.token, len(others)) for chosen, others in logprobs("Hello!", 2)]
    [('Hell', 2), ('o', 2), ('!', 2)]
    """
    return [(_chosen(each), _likeliest(each, top)) for each in tokens(text)]


def _chosen(token: str) -> TokenLogprob:
    return TokenLogprob(token, -(zlib.crc32(token.encode()) % 500) / 1000)


def _likeliest(token: str, top: int) -> list[TokenLogprob]:
    chosen = _chosen(token)
    others = [TokenLogprob(f"{token}{n}", chosen.logprob - 2 * n) for n in range(1, top)]
    return [chosen, *others] if top else []
