"""A cassette in use: the player, the recorder, and the mode that decides between them."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from msgspec import UNSET

from wire.core.errors import CassetteError
from wire.core.files import read_whole
from wire.core.secret import Secret
from wire.testing.cassette.faults import Fault
from wire.testing.cassette.format.file import load
from wire.testing.cassette.format.kept_headers import Headers
from wire.testing.cassette.format.redaction import Redaction
from wire.testing.cassette.format.sent import Sent
from wire.testing.cassette.format.structs import End, Interaction
from wire.testing.cassette.heard import Heard
from wire.testing.cassette.instrument import Instrument, with_cut
from wire.testing.cassette.matching import Match, redacting
from wire.testing.cassette.modes import Mode, needs_file, way_of
from wire.testing.cassette.player import Played, Player
from wire.testing.cassette.plot import Plot
from wire.testing.cassette.recorder import Recorder, Timing, response_of, with_session

if TYPE_CHECKING:
    from wire.testing.cassette.checks.drift import Change

Keep = Callable[[int, Headers, bytes, End, Timing | None, Heard | None], CassetteError | None]
"""Takes status, headers and body of a live response, how the body ended, when its chunks came, if
that is recorded, and the messages of a session. It returns its error, so that the caller can close
the connection first."""


_LISTED = 5
"""Messages of one session that are named."""


class Drifted(NamedTuple):
    """One way in which a live response differs from the recorded one."""

    interaction: int
    """Its index in the cassette, from 0."""
    change: Change
    """The differences: values that were added, removed or have another type."""

    def __str__(self) -> str:
        return f"interactions[{self.interaction}]: {self.change}"


class Deck:
    """Decides for each request whether it is replayed or sent, and what is done with its response.

    `again` is the sentence that errors end with: how to record again.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        mode: Mode,
        match: Match,
        again: str,
        secrets: Iterable[str | Secret] = (),
        redact: Iterable[str] = (),
        instrument: Instrument | None = None,
    ) -> None:
        self.mode: Mode = mode
        self._name, self._again = os.fspath(path), again
        self._has_file = needs_file(mode) or (mode != "rewrite" and Path(path).exists())
        self._kept = self._read() if self._has_file else []
        self._redaction = Redaction(redact)
        self._match = redacting(match, self._kept, self._redaction)
        self._player = Player(self._kept, self._match, self._name, again)
        self._plots: dict[int, Plot] = {}
        self._instrument = instrument or Instrument()
        self._instrument.check(len(self._kept), self._name)
        self._recorder = Recorder(path, secrets, self._kept, self._redaction)
        self.drift: list[Drifted] = []

    def _read(self) -> list[Interaction]:
        try:
            data = read_whole(self._name, CassetteError)
        except CassetteError as error:
            raise CassetteError(f"{error.message}; {self._again}") from None
        return load(data, self._name).interactions

    def take(self, sent: Sent) -> Played | Plot | Keep:
        """Return the recorded response or session, or the function that keeps the live one.

        Raises `CassetteError` for a request that is not recorded and may not be sent.
        """
        index = self._player.take(sent)
        way = way_of(self.mode, has_file=self._has_file, is_recorded=index is not None)
        if way == "record":
            instead = index if self.mode == "all" else None
            return functools.partial(self._recorder.keep, self._recorder.send(sent, instead), sent)
        if index is None:
            raise self._player.unmatched(sent)
        if way == "verify":
            return functools.partial(self._compare, index)
        fault = self._instrument.fault(index)
        if fault is not None:
            self._player.give_back(index)
        if self._kept[index].messages is not UNSET and (fault is None or fault.kind != "status"):
            return self._plot(index, sent, fault)
        return self._instrument.changed(self._player.played(index), fault)

    def _plot(self, index: int, sent: Sent, fault: Fault | None) -> Plot:
        """Return the session of an interaction, to be played."""
        label = f"{self._name}: interactions[{index}]"
        plot = Plot(self._kept[index], self._match, sent, label, self._again)
        if fault is not None:
            with_cut(plot, fault)
        self._plots[index] = plot
        return plot

    def _compare(
        self,
        index: int,
        status: int,
        headers: Headers,
        body: bytes,
        end: End,
        timing: Timing | None,
        heard: Heard | None,
    ) -> CassetteError | None:
        """Compare a live response, or session, with the recorded one."""
        from wire.testing.cassette.checks.drift import changes  # it loads the structs of all wires

        try:
            response, _ = response_of(status, list(headers), body, end, self._redaction)
            live = Interaction(request=self._kept[index].request, response=response)
            if heard is not None:
                live = with_session(live, heard, self._redaction)
        except CassetteError as error:
            return error
        found = changes(
            self._kept[index].response,
            live.response,
            self._kept[index].messages or (),
            live.messages or (),
        )
        self.drift += [Drifted(index, each) for each in found]
        return None

    @property
    def plays_only(self) -> bool:
        """Whether no request is sent, be it recorded or not."""
        ways = (
            way_of(self.mode, has_file=self._has_file, is_recorded=is_) for is_ in (True, False)
        )
        return {"record", "verify"}.isdisjoint(ways)

    @property
    def is_emulated(self) -> bool:
        """Whether the emulator sent one of the recorded responses."""
        return any(each.response.emulated for each in self._kept)

    @property
    def unplayed(self) -> list[str]:
        """The recorded requests that were not sent, such as `interactions[1]: POST https://...`,
        and sessions of which messages were not sent: `interactions[2] messages[4]: GET wss://...`.

        Empty in the mode `all`, which keeps them, and in `rewrite`, which drops them.
        """
        if self.mode in ("all", "rewrite"):
            return []
        unplayed = dict.fromkeys(self._player.unplayed, "")
        for index, plot in self._plots.items():
            if unsent := plot.unsent:
                unplayed[index] = " ".join(f"messages[{place}]" for place in unsent[:_LISTED])
        return [
            f"interactions[{index}]{each and ' '}{each}: {request.method} {request.url}"
            for index, each in sorted(unplayed.items())
            for request in [self._kept[index].request]
        ]

    def check_all_played(self) -> None:
        """Raise `CassetteError` if a recorded request was not sent."""
        if unplayed := self.unplayed:
            raise CassetteError(
                f"{self._name}: {len(unplayed)} recorded request"
                f"{'s were' if len(unplayed) > 1 else ' was'} not sent: "
                f"{'; '.join(unplayed[:5])}; {self._again}"
            )
