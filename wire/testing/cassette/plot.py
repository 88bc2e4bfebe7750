"""One recorded session while it is played: what comes next, and what the client has to send first.

A message of the client matches a recorded one by the rules of requests: equal ones in recorded
order, others in any order, since programs send from several threads or tasks. A message of the
server comes after all messages of the client that were recorded before it. No clock, no lock and no
I/O: the caller has them.
"""

from __future__ import annotations

import math
from collections import defaultdict, deque
from collections.abc import Mapping
from typing import NamedTuple

from msgspec import UNSET

from wire.core.errors import CassetteError
from wire.testing.cassette.format.bodies import body_bytes
from wire.testing.cassette.format.sent import Sent
from wire.testing.cassette.format.structs import Close, End, Interaction
from wire.testing.cassette.matching import (
    ComparedRequest,
    Difference,
    Match,
    closest,
    listed,
    message_text,
)
from wire.testing.cassette.player import mismatch

_LEFT: End = "closed by the caller"


class Said(NamedTuple):
    """A message of the server."""

    data: bytes
    is_text: bool


class Ended(NamedTuple):
    """The end of the session."""

    end: End
    close: Close | None


class _Recorded(NamedTuple):
    """A recorded message of the server."""

    place: int
    """Its index among all messages."""
    said: Said
    after: int
    """Milliseconds since the message before; 0 if that is not recorded."""


class Plot:
    """Plays the session of an interaction.

    `opening` is the request that opened it, `label` its place in the cassette and `again` how to
    record it again, for errors.
    """

    def __init__(
        self, interaction: Interaction, match: Match, opening: Sent, label: str, again: str
    ) -> None:
        messages = interaction.messages
        assert messages is not UNSET
        response = interaction.response
        self.status: int = response.status
        self.headers: Mapping[str, str] = response.headers
        self._match, self._opening = match, opening
        self._label, self._again = label, again
        data = [body_bytes(each.body) for each in messages]
        self._compared: dict[int, ComparedRequest] = {
            place: self._seen(data[place])
            for place, each in enumerate(messages)
            if each.direction == "sent"
        }
        self._unsent: defaultdict[str, deque[int]] = defaultdict(deque)
        for place, compared in self._compared.items():
            self._unsent[compared.key].append(place)
        self._missing = set(self._compared)
        self._coming = deque(
            _Recorded(place, Said(data[place], not each.binary), each.after or 0)
            for place, each in enumerate(messages)
            if each.direction == "received"
        )
        self._last = len(messages)
        self._end = Ended(response.end, response.close or None)
        self._since: float | None = None

    def cut(self, after: int, end: End) -> None:
        """End the session after so many messages of the server, whatever follows."""
        self._coming = deque(list(self._coming)[:after])
        self._last = self._coming[-1].place + 1 if self._coming else 0
        self._end = Ended(end, None)

    def send(self, data: bytes, now: float) -> None:
        """Take a message of the client.

        Raises `CassetteError` for one that is not recorded, or was sent already.
        """
        was_open = self._is_open
        compared = self._seen(data)
        if not (places := self._unsent[compared.key]):
            raise self._unmatched(compared)
        self._missing.discard(places.popleft())
        if self._is_open and not was_open:
            self._since = now

    def wait(self, now: float, *, timed: bool) -> float:
        """Return the seconds until the next message, or the end, comes.

        Infinite: not before the client sends a message, or leaves. `timed` keeps the recorded
        times.
        """
        if not self._is_open:
            return math.inf
        if self._since is None:
            self._since = now
        after = self._coming[0].after if self._coming and timed else 0
        return max(0.0, self._since + after / 1000 - now)

    def take(self, now: float) -> Said | Ended:
        """Take the next message, or the end; the caller has waited for it."""
        assert self._is_open
        self._since = now
        return self._coming.popleft().said if self._coming else self._end

    @property
    def _is_open(self) -> bool:
        """Whether the client has sent all that was recorded before what comes next."""
        if not self._coming and self._end.end == _LEFT:
            return False
        at = self._coming[0].place if self._coming else self._last
        return all(place >= at for place in self._missing)

    @property
    def unsent(self) -> list[int]:
        """The recorded messages of the client that were not sent, by their index."""
        return sorted(self._missing)

    def stuck(self) -> CassetteError:
        """Return the error for a program that waits for a message, and sends nothing."""
        at = self._coming[0].place if self._coming else self._last
        earlier = [place for place in self.unsent if place < at]
        if not earlier:
            reason = "the program waits for a further message; in the recording it left here"
            return mismatch(self._opening, f"{self._label}: {reason}", self._again)
        shown = message_text(self._compared[earlier[0]].body)
        waits = f"messages[{at}]" if self._coming else "the end"
        reason = (
            f"the program waits for {waits}, which was recorded after messages[{earlier[0]}]; the "
            f"program has not sent that: {shown}"
        )
        return mismatch(self._opening, f"{self._label}: {reason}", self._again)

    def _seen(self, data: bytes) -> ComparedRequest:
        return self._match.compared(self._opening.method, self._opening.url, data)

    def _unmatched(self, compared: ComparedRequest) -> CassetteError:
        places = list(self._compared)
        recorded = [*self._compared.values()]
        used = {number for number, place in enumerate(places) if place not in self._missing}
        times = sum(each.key == compared.key for each in recorded)
        differences: list[Difference] = []
        if times:
            each_time = f"{times} time{'s' if times > 1 else ''}"
            reason = f"it is recorded {each_time}, and was sent {each_time} before"
        elif (near := closest(compared, recorded, used)) is None:
            reason = "the client sent none"
        else:
            number, differences = near
            state = " (already sent)" if number in used else ""
            reason = (
                f"the closest is messages[{places[number]}]{state}, different in "
                f"{listed(differences)}"
            )
        what = f"{self._label}: no recorded message of the client is the one that was sent"
        return mismatch(self._opening, f"{what}: {reason}", self._again, differences)
