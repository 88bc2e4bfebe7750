"""Responses from a cassette, whatever the host.

Each interaction is played once; those with equal requests in the order of their recording.
"""

from __future__ import annotations

from collections import defaultdict, deque
from pathlib import Path

from wire.core.files import read_whole
from wire.errors import CassetteError
from wire.testing.cassette.bodies import body_bytes, body_chunks
from wire.testing.cassette.file import load
from wire.testing.cassette.matching import ComparedRequest, Match, closest, listed, redacting
from wire.testing.emulator.answer import Answer, Cut, Pause, Piece, Reset
from wire.testing.emulator.received import Received
from wire.testing.emulator.vendor import Failed, Failure

_ONE_DAY = 86400.0
_ENDS: dict[str, tuple[Piece, ...]] = {
    "eof": (),
    "cut": (Cut(),),
    "reset": (Reset(),),
    "timeout": (Pause(_ONE_DAY), Cut()),
    "closed by the caller": (Cut(),),
}
_TRANSPORT_HEADERS = frozenset({"content-length", "transfer-encoding", "connection"})


class Recorded:
    """A cassette that answers requests to any address."""

    def __init__(self, path: str | Path) -> None:
        self._name = str(path)
        self._interactions = load(read_whole(path, CassetteError), self._name).interactions
        self._match = redacting(Match(), self._interactions)
        self._keys = [
            self._without_host(
                each.request.method,
                each.request.url,
                body_bytes(each.request.body),
                each.request.headers.get("content-type", ""),
            )
            for each in self._interactions
        ]
        self._left: defaultdict[str, deque[int]] = defaultdict(deque)
        self.rewind()

    def rewind(self) -> None:
        """Play every interaction again."""
        self._left.clear()
        for index, each in enumerate(self._keys):
            self._left[each.key].append(index)

    def play(self, request: Received) -> Answer:
        """The recorded response.

        Raises `Failed` that names the difference from the closest recorded request.
        """
        requested = self._without_host(
            request.method,
            request.target,
            request.body,
            request.headers.get("content-type", ""),
        )
        left = self._left.get(requested.key)
        if not left:
            near = closest(requested, self._keys)
            difference = (
                f"the closest is interactions[{near[0]}], different in "
                f"{listed(near[1]) or 'nothing: it was played'}"
                if near
                else "it is empty"
            )
            missing = f"{requested.method} {requested.path}"
            message = f"{self._name}: no recorded answer to {missing}: {difference}"
            raise Failed(Failure(400, message, code="FAILED_PRECONDITION"))
        response = self._interactions[left.popleft()].response
        headers = tuple(
            (name, value)
            for name, value in response.headers.items()
            if name not in _TRANSPORT_HEADERS
        )
        return Answer(
            response.status, headers, (*body_chunks(response.body), *_ENDS[response.end]) or (b"",)
        )

    def _without_host(
        self, method: str, url: str, body: bytes, content_type: str
    ) -> ComparedRequest:
        return self._match.compared(method, url, body, content_type)._replace(host="")
