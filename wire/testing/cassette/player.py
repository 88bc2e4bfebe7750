"""Answers requests from recorded interactions, each of which is played once (C-19)."""

from __future__ import annotations

import os
import threading
from collections import defaultdict, deque
from collections.abc import Sequence
from typing import NamedTuple

from wire.core.errors import CassetteError
from wire.core.forks import new_in_child
from wire.testing.cassette.format.bodies import body_bytes, body_chunks
from wire.testing.cassette.format.sent import Sent, is_session
from wire.testing.cassette.format.structs import End, Interaction
from wire.testing.cassette.leaks import Known
from wire.testing.cassette.matching import ComparedRequest, Difference, Match, closest, listed
from wire.testing.cassette.pieces import Pause


class Played(NamedTuple):
    """A response to play: as recorded, or with a fault."""

    status: int
    headers: dict[str, str]
    chunks: Sequence[bytes | Pause]
    end: End
    source: str = "recording"
    """The cause of the end of the response, for the message of its error."""
    lengths: Sequence[int] = ()
    """Bytes of the chunks that were received, if recorded and not those in `chunks`."""
    times: Sequence[int] = ()
    """Milliseconds before each chunk that was received, if recorded."""


class Player:
    """Finds the recorded interaction of each request.

    `name`, `again` and `labels` stand in error messages: the file, how to record it again, and a
    name for each interaction.
    """

    def __init__(
        self,
        interactions: Sequence[Interaction],
        match: Match,
        name: str,
        again: str,
        labels: Sequence[str] = (),
    ) -> None:
        self._interactions, self._match = interactions, match
        self._name, self._again = name, again
        self._labels = labels or [f"interactions[{index}]" for index in range(len(interactions))]
        self._recorded = [
            match.compared(
                each.request.method,
                each.request.url,
                body_bytes(each.request.body),
                each.request.headers.get("content-type", ""),
            )
            for each in interactions
        ]
        self._keys = [
            _key(each.request.url, compared)
            for each, compared in zip(interactions, self._recorded, strict=True)
        ]
        self._lock = threading.Lock()
        new_in_child(self, _lock=threading.Lock)
        self.rewind()

    def rewind(self) -> None:
        """Play every interaction again."""
        left: defaultdict[str, deque[int]] = defaultdict(deque)
        for index, key in enumerate(self._keys):
            left[key].append(index)
        with self._lock:
            self._left = left
            self._played: set[int] = set()

    def take(self, sent: Sent) -> int | None:
        """Return the index of the next unplayed interaction with a matching request, or `None`."""
        key = self._key(sent)
        with self._lock:
            left = self._left.get(key)
            if not left:
                return None
            # The last one of equal requests stays, if it may be played again.
            index = left[0] if self._match.repeats and len(left) == 1 else left.popleft()
            self._played.add(index)
            return index

    def give_back(self, index: int) -> None:
        """Keep an interaction that was taken for the next equal request, such as a retry."""
        with self._lock:
            left = self._left[self._keys[index]]
            if not left or left[0] != index:
                left.appendleft(index)

    def played(self, index: int) -> Played:
        """Return the recorded response of an interaction."""
        response = self._interactions[index].response
        chunks: list[bytes | Pause] = [*body_chunks(response.body)]
        return Played(
            response.status,
            response.headers,
            chunks,
            response.end,
            lengths=response.chunks or (),
            times=response.times or (),
        )

    @property
    def unplayed(self) -> list[int]:
        """The indexes of the interactions that no request has matched."""
        return [index for index in range(len(self._recorded)) if index not in self._played]

    def unmatched(self, sent: Sent) -> CassetteError:
        """Return the error for a request without a match, with its differences to the closest."""
        request = self._compared(sent)
        times = self._keys.count(self._key(sent))
        differences: list[Difference] = []
        if times:
            reason = (
                f"it is recorded {times} time{'s' if times > 1 else ''}, and each was played once"
            )
        elif places := self._of_kind(sent):
            used = self._used_up()
            played = {number for number, place in enumerate(places) if place in used}
            near = closest(request, [self._recorded[place] for place in places], played)
            assert near is not None
            number, differences = near
            state = " (already played)" if number in played else ""
            label = self._labels[places[number]]
            reason = f"the closest is {label}{state}, different in {listed(differences)}"
        elif self._recorded:
            what = "no session" if is_session(sent.url) else "sessions over WebSocket only"
            reason = f"the cassette has {what}"
        else:
            reason = "the cassette is empty"
        problem = f"{self._name}: no recorded response to {sent.shown}: {reason}"
        return mismatch(sent, problem, self._again, differences)

    def _of_kind(self, sent: Sent) -> list[int]:
        """Return the recorded sessions for a session, and the other interactions for a call."""
        return [
            index
            for index, each in enumerate(self._interactions)
            if is_session(each.request.url) == is_session(sent.url)
        ]

    def _used_up(self) -> set[int]:
        """Return the interactions that cannot be played again."""
        with self._lock:
            left = {index for indexes in self._left.values() for index in indexes}
        return set(range(len(self._recorded))) - left

    def _key(self, sent: Sent) -> str:
        return _key(sent.url, self._compared(sent))

    def _compared(self, sent: Sent) -> ComparedRequest:
        content_type = dict(sent.headers).get("content-type", "")
        return self._match.compared(sent.method, sent.url, sent.body, content_type)


def _key(url: str, compared: ComparedRequest) -> str:
    """Return a text that is equal for requests that match: none opens a session as others do."""
    return f"session {compared.key}" if is_session(url) else compared.key


def mismatch(
    sent: Sent, problem: str, again: str, differences: Sequence[Difference] = ()
) -> CassetteError:
    """Build the error of what a cassette has not, without the secrets of the request `sent`."""
    known = Known()
    known.learn_request(sent.url, sent.headers, sent.body)
    known.learn_environment(os.environ)
    error = CassetteError(known.masked(f"{problem}; {again}" if again else problem))
    error.differences = tuple(
        each._replace(recorded=known.masked(each.recorded), sent=known.masked(each.sent))
        for each in differences
    )
    return error
