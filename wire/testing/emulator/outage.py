"""A vendor that is down, always or at random, for tests of retries and fallbacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import msgspec

from wire.core.arguments import items_of, whole_number
from wire.core.errors import ConfigurationError
from wire.core.secret import quoted, sealed
from wire.testing.cassette.faults import Fault
from wire.testing.emulator.faults import fault_of


class Outage(msgspec.Struct, frozen=True, kw_only=True):
    """Fails a share of the requests to an emulator, the same ones for the same `seed`.

    >>> from wire.testing.emulator import Emulator
    >>> emulator = Emulator(outage=Outage(share=0.2, faults=["503", "529", "refuse"]))
    >>> emulator.outage = None  # the vendor is back

    Raises `ConfigurationError` for a bad share or an unknown fault.
    """

    share: float = 1.0
    """Share of the requests that fail, from 0 to 1; 1: all."""
    faults: Sequence[str | Mapping[str, Any]] = ("503",)
    """The faults of these requests, one at random, as in a script, such as `503`, `529`
    and `refuse`."""
    seed: int = 0
    """Of the choice: the same seed fails the same requests."""

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "share", sealed(self.share))
        msgspec.structs.force_setattr(self, "seed", sealed(self.seed))
        if (
            isinstance(self.share, bool)
            or not isinstance(self.share, (int, float))
            or not 0 <= self.share <= 1
        ):
            raise ConfigurationError(f"outage: share: expected 0 to 1, not {quoted(self.share)}")
        whole_number("outage.seed", self.seed, error=ConfigurationError)
        specs = items_of("outage.faults", self.faults, error=ConfigurationError)
        if not specs:
            raise ConfigurationError("outage: faults: expected at least one")
        for each in specs:
            fault_of(each)
        msgspec.structs.force_setattr(self, "faults", specs)


class Failing:
    """Chooses which requests fail during an outage, and how."""

    def __init__(self, outage: Outage) -> None:
        self._share, self._random = outage.share, Random(outage.seed)
        self._faults = [fault_of(each) for each in outage.faults]

    def fault(self) -> Fault | None:
        """Return the fault of the next request; `None` if it does not fail."""
        if self._random.random() >= self._share:
            return None
        return self._random.choice(self._faults)
