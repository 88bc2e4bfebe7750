"""Responses from cassettes, whatever the host.

Each interaction is played once; those with equal requests in the order of their recording.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from msgspec import UNSET

from wire.core.errors import CassetteError
from wire.core.files import read_whole
from wire.testing.cassette.faults import Fault
from wire.testing.cassette.format.file import load
from wire.testing.cassette.format.sent import Sent
from wire.testing.cassette.format.structs import Interaction
from wire.testing.cassette.instrument import Instrument
from wire.testing.cassette.matching import ComparedRequest, Match, redacting
from wire.testing.cassette.pieces import Cut, Pause, Piece, Reset
from wire.testing.cassette.player import Player
from wire.testing.emulator.answer import Answer
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
_BEGINNING = 200
"""Bytes in which a cassette names itself."""


class Recorded:
    """Cassettes that answer requests to any address: a file, or all files of a folder.

    With `repeats`, the last of equal requests is answered again and again. Raises `CassetteError`
    for a file that is missing, malformed or has a session, and for a folder without a cassette.
    """

    def __init__(
        self, path: str | Path, instrument: Instrument | None = None, *, repeats: bool = False
    ) -> None:
        interactions: list[Interaction] = []
        labels: list[str] = []
        for file in _files(Path(path)):
            found = load(read_whole(file, CassetteError), str(file)).interactions
            name = "" if file == Path(path) else f"{file.relative_to(path).as_posix()} "
            labels += [f"{name}interactions[{index}]" for index in range(len(found))]
            for index, each in enumerate(found):
                if each.messages is not UNSET:
                    problem = "a session over WebSocket, which the emulator does not play"
                    raise CassetteError(f"{file}: interactions[{index}] is {problem}")
            interactions += found
        self._instrument = instrument or Instrument()
        self._instrument.check(len(interactions), str(path))
        match = redacting(Match(normalize=_without_host, repeats=repeats), interactions)
        self._player = Player(interactions, match, str(path), "", labels)

    def rewind(self) -> None:
        """Play every interaction again."""
        self._player.rewind()
        self._instrument.rewind()

    def take(self, request: Received) -> tuple[int, Fault | None]:
        """Return the recorded interaction of a request, and the fault of this attempt.

        Raises `Failed` that names the difference from the closest recorded request.
        """
        sent = Sent(request.method, request.target, [*request.headers.items()], request.body)
        index = self._player.take(sent)
        if index is None:
            message = self._player.unmatched(sent).message
            raise Failed(Failure(400, message, code="FAILED_PRECONDITION"))
        fault = self._instrument.fault(index)
        if fault is not None:
            self._player.give_back(index)
        return index, fault

    def answer(self, index: int) -> Answer:
        """Return the recorded response of an interaction."""
        played = self._player.played(index)
        headers = tuple(
            (name, value)
            for name, value in played.headers.items()
            if name not in _TRANSPORT_HEADERS
        )
        pieces = (*(played.chunks or [b""]), *_ENDS[played.end])
        return Answer(played.status, headers, pieces)

    def in_chunks(self, answer: Answer) -> Answer:
        """Cut the response into the chunks of the setting `chunks`."""
        return replace(answer, pieces=tuple(self._instrument.chunking.cut(answer.pieces)))


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = [
        each
        for each in sorted(path.rglob("*.json"))
        if b'"wire_cassette"' in read_whole(each, CassetteError)[:_BEGINNING]
    ]
    if not files:
        raise CassetteError(f"{path}: the folder has no cassette (*.json)")
    return files


def _without_host(request: ComparedRequest) -> ComparedRequest:
    return request._replace(host="")
