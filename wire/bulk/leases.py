"""Rate limits that hold for the calls of several processes together.

One process has the `Leases` of a run. The others, its holders, tell it about each attempt: `Asked`
before it is sent, `Heard` of its response, `Ended` after it. It answers with the attempts that may
be sent now, some at a time. No clock and no I/O, as in `wire.core.pacing`, which decides.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import msgspec

from wire.core.decoders import decoder
from wire.core.pacing import Pacing, Place
from wire.core.rate_limits import RateLimit


class Asked(msgspec.Struct, frozen=True, array_like=True, tag="asked"):
    """An attempt waits."""

    number: int
    """Of the attempt; its holder counts them."""
    key: str
    """The server and the model."""
    amounts: dict[str, float]
    """The most that it may use of each unit."""
    before: int | None = None
    """The number of attempts that go before it; `None`: all that wait."""


class Heard(msgspec.Struct, frozen=True, array_like=True, tag="heard"):
    """The server has responded to an attempt."""

    number: int
    limits: tuple[RateLimit, ...]
    """The rate limits in the response."""
    received_at: float
    """When the response came, in seconds since 1970."""
    refused: int | None
    """The status, if it refused the attempt because of its load."""
    retry_after: float | None
    """Seconds that it wants all to wait."""


class Ended(msgspec.Struct, frozen=True, array_like=True, tag="ended"):
    """An attempt has ended, or waits no more."""

    number: int
    used: dict[str, float]
    """The amounts that it used, for the units where they are known."""
    is_answered: bool
    """Whether the call has its result."""


Said: TypeAlias = Asked | Heard | Ended


def encode(said: Iterable[Said]) -> bytes:
    """Encode the messages of a holder."""
    return msgspec.json.encode(list(said))


def decode(data: bytes) -> list[Said]:
    """Decode the messages that `encode` wrote."""
    read: list[Said] = decoder(list[Said]).decode(data)
    return read


class Terms(msgspec.Struct, frozen=True):
    """The limits of a run."""

    limits: dict[str, int]
    """The most that the run may use of each unit in a window."""
    window: float
    """Seconds."""
    concurrent: int = 32
    """The most attempts at the same time."""
    idle: float | None = None
    """Seconds since an earlier process has used the limits; `None`: there was none."""


class Leases:
    """Which of the attempts that wait may be sent, and when; first come first served.

    >>> leases = Leases(Terms({"requests": 60}, window=60))
    >>> leases.hear("a", [Asked(1, "model", {"requests": 1.0})], now=0)
    >>> leases.hear("b", [Asked(1, "model", {"requests": 1.0})], now=0)
    >>> leases.grant(now=0)
    ({'a': [1]}, 1.0...)
    >>> leases.grant(now=2)
    ({'b': [1]}, None)
    """

    def __init__(self, terms: Terms) -> None:
        self._pacing = Pacing(terms.limits, terms.window, terms.concurrent)
        if terms.idle is not None:
            self._pacing.resume(terms.idle)
        self._places: dict[str, dict[int, Place]] = {}
        self._owners: dict[Place, tuple[str, int]] = {}  # of the places that wait

    def hear(self, holder: str, said: Iterable[Said], now: float) -> None:
        """Take over what a holder says. What it says of an unknown attempt has no effect."""
        places = self._places.setdefault(holder, {})
        for each in said:
            if isinstance(each, Asked):
                is_open = each.amounts.get("output_tokens") == 0
                place = self._pacing.enter(
                    each.key, each.amounts, is_open=is_open, before=each.before
                )
                places[each.number] = place
                self._owners[place] = holder, each.number
            elif (known := places.get(each.number)) is None:
                continue
            elif isinstance(each, Heard):
                self._pacing.learn(known, each.limits, each.received_at, now)
                if each.refused is None:
                    self._pacing.taken(known, now)
                else:
                    wish = each.retry_after
                    self._pacing.refused(known, now, wish=wish, status=each.refused)
            else:
                if each.is_answered:
                    self._pacing.answered(known)
                del places[each.number]
                self._owners.pop(known, None)
                self._pacing.leave(known, now, each.used)

    def grant(self, now: float) -> tuple[dict[str, list[int]], float | None]:
        """Return the attempts that may be sent now, by their holders.

        The number is the seconds until the next one may be sent; `None`: not before a holder sends
        a message.
        """
        granted: dict[str, list[int]] = {}
        while True:
            waits: list[float] = []
            for place in list(self._pacing.firsts()):
                seconds = self._pacing.wait(place, now)
                if seconds == 0:
                    holder, number = self._owners.pop(place)
                    granted.setdefault(holder, []).append(number)
                    break
                if seconds is not None:
                    waits.append(seconds)
            else:
                return granted, min(waits, default=None)

    def forget(self, holder: str, now: float) -> None:
        """Remove a holder. Its attempts may have been sent: their estimates count as used."""
        for place in self._places.pop(holder, {}).values():
            self._owners.pop(place, None)
            self._pacing.leave(place, now, {})
