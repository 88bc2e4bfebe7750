"""Answers out of a cassette: each interaction once, in the order in which it was recorded among
equal ones, whatever the host.
"""

from __future__ import annotations

from collections import defaultdict, deque
from pathlib import Path
from urllib.parse import urlsplit

from wire.errors import CassetteError
from wire.testing.bodies import body_bytes, body_chunks
from wire.testing.cassette import load
from wire.testing.emulator.answer import Answer, Cut, Pause, Piece, Reset
from wire.testing.emulator.received import Received
from wire.testing.emulator.refusals import refusal
from wire.testing.matching import Asked, asked, closest, listed

_NEVER = 86400.0
_ENDS: dict[str, tuple[Piece, ...]] = {
    "eof": (),
    "cut": (Cut(),),
    "reset": (Reset(),),
    "timeout": (Pause(_NEVER), Cut()),
    "closed by the caller": (Cut(),),
}
_SHELLS_OWN = frozenset({"content-length", "transfer-encoding", "connection"})


class Recorded:
    """A cassette that answers whoever calls, at whatever address."""

    def __init__(self, path: str | Path) -> None:
        self._name = str(path)
        try:
            data = Path(path).read_bytes()
        except OSError as cause:
            raise CassetteError(
                f"{path}: cannot be read: {cause.strerror or type(cause).__name__}"
            ) from None
        self._interactions = load(data, self._name).interactions
        self._asked = [
            _anywhere(each.request.method, each.request.url, body_bytes(each.request.body))
            for each in self._interactions
        ]
        self._left: defaultdict[str, deque[int]] = defaultdict(deque)
        self.rewind()

    def rewind(self) -> None:
        """All interactions can be played again."""
        self._left.clear()
        for index, each in enumerate(self._asked):
            self._left[each.key].append(index)

    def play(self, request: Received) -> Answer:
        """The recorded answer.

        Raises `Refusal` that says what is different from the closest recorded request.
        """
        wanted = _anywhere(request.method, request.target, request.body)
        left = self._left.get(wanted.key)
        if not left:
            near = closest(wanted, self._asked)
            what = (
                f"the closest is interactions[{near[0]}], different in "
                f"{listed(near[1]) or 'nothing: it was played'}"
                if near
                else "it is empty"
            )
            raise refusal(
                400,
                f"{self._name}: no recorded answer to {wanted.method} {wanted.path}: {what}",
                code="FAILED_PRECONDITION",
            )
        response = self._interactions[left.popleft()].response
        headers = tuple(
            (name, value) for name, value in response.headers.items() if name not in _SHELLS_OWN
        )
        return Answer(
            response.status, headers, (*body_chunks(response.body), *_ENDS[response.end]) or (b"",)
        )


def _anywhere(method: str, url: str, body: bytes) -> Asked:
    parts = urlsplit(url)
    return asked(method, parts._replace(scheme="http", netloc="host").geturl(), body)
