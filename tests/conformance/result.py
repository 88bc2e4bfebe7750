"""What a run of the conformance runner ends with."""

from __future__ import annotations

import json
from dataclasses import dataclass, field


class Mismatch(Exception):
    """A case does not hold, and why."""


@dataclass
class Result:
    """The tally of a run."""

    records: int = 0
    passed: int = 0
    out_of_scope: int = 0
    failed: list[str] = field(default_factory=list)

    def line(self) -> str:
        return json.dumps(vars(self))
