"""Who gives way when a server has too many connections: a rule without sockets and clocks.

A request under way never gives way. What holds a place without one does, since a client that means
it sends its head at once, and a client that does not costs others theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from enum import IntEnum
from ipaddress import IPv6Address, ip_address
from typing import Generic, TypeVar

Member = TypeVar("Member", bound=Hashable)


class Phase(IntEnum):
    """What a connection waits for."""

    LEAVING = 0
    """It was refused; what the client still sends is discarded. It takes no place."""
    HEAD = 1
    """A complete head: it is idle, or its head is slow."""
    BODY = 2
    """The rest of a body."""
    READER = 3
    """A client that takes the next bytes of a response."""
    ANSWER = 4
    """The response: it does not give way."""


_GIVING_WAY = (Phase.HEAD, Phase.BODY, Phase.READER)


class Crowd(Generic[Member]):
    """The open connections of a server, by peer and by what they wait for.

    There are `most` places, of which one peer gets `share`, and `leaving` refused ones. The
    connection that gives way waits for what most wait for, is of the peer with the most of them,
    and has waited longest:

    >>> crowd = Crowd(most=3, share=lambda peer: 3, leaving=1)
    >>> [crowd.enter(each, each[0]) for each in ("a1", "a2", "b1", "a3", "c1")]
    [(0, []), (0, []), (0, []), (0, ['a1']), (0, ['a2'])]
    >>> for each in crowd:
    ...     gone = crowd.move(each, Phase.ANSWER)
    >>> crowd.enter("d1", "d")
    (503, [])
    """

    def __init__(self, most: int, share: Callable[[str], int], leaving: int) -> None:
        self.most = most
        self._share, self._leaving = share, leaving
        self._of: dict[Member, tuple[str, Phase]] = {}
        self._waiting: dict[Phase, dict[str, dict[Member, None]]] = {each: {} for each in Phase}

    def __iter__(self) -> Iterator[Member]:
        return iter(list(self._of))

    def __len__(self) -> int:
        return len(self._of)

    def count(self, phase: Phase) -> int:
        """How many connections are in a phase."""
        return sum(map(len, self._waiting[phase].values()))

    @property
    def giving_way(self) -> int:
        """How many connections may be closed for others."""
        return sum(map(self.count, _GIVING_WAY))

    def enter(self, member: Member, peer: str) -> tuple[int, list[Member]]:
        """Take a connection in; return the status that refuses it, or 0, and who has to go.

        Those that have to go are no longer in the crowd. A refused one is in the phase `LEAVING`.
        """
        places = len(self._of) - self.count(Phase.LEAVING)
        held = sum(self._held(each, peer) for each in Phase if each is not Phase.LEAVING)
        status, gone = 0, None
        if held >= self._share(peer):
            status, gone = 503 if places >= self.most else 429, self.longest(peer)
        elif places >= self.most:
            status, gone = 503, self.longest()
        refused = status if gone is None else 0
        going = [] if gone is None else [gone]
        for each in going:
            self.leave(each)
        self._of[member] = peer, Phase.HEAD
        self._waiting[Phase.HEAD].setdefault(peer, {})[member] = None
        if refused:
            going += self.move(member, Phase.LEAVING)
        return refused, going

    def move(self, member: Member, phase: Phase) -> list[Member]:
        """Put a connection into a phase, as the one that has waited shortest; return who must go.

        One that is no longer there stays away.
        """
        if member not in self._of:
            return []
        peer, _ = self._of[member]
        self.leave(member)
        self._of[member] = peer, phase
        self._waiting[phase].setdefault(peer, {})[member] = None
        over = phase is Phase.LEAVING and self.count(phase) > self._leaving
        gone = self.longest(phases=(phase,)) if over else None
        if gone is None:
            return []
        self.leave(gone)
        return [gone]

    def phase(self, member: Member) -> Phase:
        """Return the phase of a connection; `LEAVING` for one that has left."""
        return self._of.get(member, ("", Phase.LEAVING))[1]

    def leave(self, member: Member) -> None:
        """Remove a connection, if it is there."""
        peer, phase = self._of.pop(member, ("", None))
        if phase is not None:
            members = self._waiting[phase][peer]
            del members[member]
            if not members:
                del self._waiting[phase][peer]

    def longest(self, peer: str = "", phases: tuple[Phase, ...] = _GIVING_WAY) -> Member | None:
        """Return the connection that gives way, of a peer or of the one with the most."""
        # In a fixed order of phases, a flood of bodies would close the newcomers, whose heads are
        # not read yet.
        by_peer = self._waiting[max(phases, key=lambda each: self._held(each, peer))]
        members = by_peer.get(peer) if peer else max(by_peer.values(), key=len, default=None)
        return next(iter(members)) if members else None

    def _held(self, phase: Phase, peer: str = "") -> int:
        """How many connections of a peer, or of all, are in a phase."""
        return len(self._waiting[phase].get(peer, ())) if peer else self.count(phase)


class Repeated:
    """Lines of a log that many connections cause: each is written once in a while, with a count.

    >>> lines = Repeated(seconds=60.0)
    >>> [lines.line("408", "- - 408", now) for now in (0.0, 1.0, 2.0, 61.0)]
    ['- - 408', '', '', '- - 408 (2 more since the last line)']
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._last: dict[str, tuple[float, int]] = {}

    def line(self, kind: str, text: str, now: float) -> str:
        """Return the line to write now; empty if one of its kind was written a short time ago."""
        last, unwritten = self._last.get(kind, (-self._seconds, 0))
        if now - last < self._seconds:
            self._last[kind] = last, unwritten + 1
            return ""
        self._last[kind] = now, 0
        return f"{text} ({unwritten} more since the last line)" if unwritten else text


def peer_of(address: str) -> str:
    """Return the part of an address that one peer has.

    >>> peer_of("192.0.2.7"), peer_of("::ffff:192.0.2.7"), peer_of("2001:db8::5:1")
    ('192.0.2.7', '192.0.2.7', '2001:db8::/64')

    A host of IPv6 has the 64 bits of its network to itself, and 2**64 addresses in it.
    """
    try:
        parsed = ip_address(address)
    except ValueError:  # such as the path of another kind of socket
        return address
    if not isinstance(parsed, IPv6Address):
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return f"{IPv6Address(int(parsed) >> 64 << 64)}/64"
