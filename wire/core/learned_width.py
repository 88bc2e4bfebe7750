"""The number of calls that a server takes at the same time, learned from its refusals.

No clock, no I/O. `learned_rate` learns how many it takes in a time.
"""

from __future__ import annotations

_ROUNDS_BELOW = 32
_ANSWERS_BELOW = 250
"""The rounds of answers, and the least number of answers, before as many calls run again as the
server has refused: so a server that takes no more refuses few calls."""
_NEARLY, _FULL = 0.8, 0.85
"""A refusal while such a share of the allowed calls runs is one of too many calls at the same time;
a larger one, if the call has waited for the learned rate."""


class LearnedWidth:
    """The number of concurrent calls to one key, learned from a server that is busy.

    >>> width = LearnedWidth(None)
    >>> width.guess(7, 8)
    >>> width.is_full(6), width.is_full(7)
    (False, True)

    A refusal shows that the server takes no more than those that run beside it. This is a guess at
    first, which each answer raises by one, since the cause may be another one. If a server refuses
    a call again just when so many run, it is believed: then few calls test whether it takes more.
    """

    __slots__ = ("answers", "before", "has_taken", "is_guess", "latest", "limit", "most")

    def __init__(self, most: int | None) -> None:
        self.most = most
        self.limit: int | None = None  # none before the first refusal
        self.before: int | None = None  # before the server was busy
        self.is_guess = True
        self.has_taken = False  # whether the server has taken a call since the last change
        self.answers = 0  # since the last change
        self.latest = 0  # number of the last call that was let through before the last change

    def is_full(self, running: int) -> bool:
        """Return whether no further call may run."""
        return self.limit is not None and running >= self.limit

    def is_met(self, running: int, *, waited: bool) -> bool:
        """Return whether a refusal of a call beside so many is one of too many.

        `waited`: the call went at the learned rate, which may be the cause as well.
        """
        if self.limit is None or not self.has_taken:
            return False
        return running + 1 >= self.limit * (_FULL if waited else _NEARLY)

    def guess(self, running: int, count: int) -> None:
        """Record a refusal that may have any cause; `count` calls were ever let through."""
        self.limit, self.latest = max(1, running), count
        self.answers, self.has_taken = 0, False

    def lower(self, running: int, count: int) -> None:
        """Record a refusal of a call because too many ran."""
        assert self.limit is not None
        self.limit = max(1, min(running, self.limit - 1))
        self.latest, self.is_guess = count, False
        self.answers, self.has_taken = 0, False

    def restore(self) -> None:
        """Allow as many as before an outage, which says nothing about the number."""
        self.limit = self.before or self.limit

    def taken(self, number: int) -> None:
        """Record that the server has taken the call `number`."""
        self.has_taken = self.has_taken or number > self.latest

    def answered(self, number: int, running: int) -> None:
        """Record the answer to the call `number` while so many run, this one included.

        Answers raise the number only while it keeps calls waiting.
        """
        if self.limit is None or number <= self.latest or running < self.limit:
            return
        self.answers += 1
        needed = 1 if self.is_guess else max(self.limit * _ROUNDS_BELOW, _ANSWERS_BELOW)
        if self.answers < needed:
            return
        self.limit, self.answers = self.limit + 1, 0
        if self.most is not None and self.limit >= self.most:
            self.limit, self.is_guess = None, True
