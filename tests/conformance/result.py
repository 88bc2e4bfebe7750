"""What a run of the conformance runner ends with."""

from __future__ import annotations

import collections
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

APART: collections.Counter[str] = collections.Counter()
"""What this run met and could judge only in part: kind -> how many."""


class Mismatch(Exception):
    """A case does not hold, and why."""


@dataclass
class Result:
    """The tally of a run."""

    records: int = 0
    passed: int = 0
    out_of_scope: int = 0
    failed: list[str] = field(default_factory=list)

    def hold(
        self, case: dict[str, Any], checks: Iterable[Callable[[dict[str, Any]], None]], *about: str
    ) -> None:
        """Hold a case to its checks; one that does not hold is told, with what its line has under
        the names in `about`.
        """
        try:
            for check in checks:
                check(case)
        except (
            Exception
        ) as problem:  # a foreign exception is a failure like any other, and has to be named as one
            kind = "" if isinstance(problem, Mismatch) else f"{type(problem).__name__}: "
            told = " ".join(str(case.get(name, "")) for name in ("id", *about))
            print(f"{told}: {kind}{problem}"[:500])
            self.failed.append(case["id"])
        else:
            self.passed += 1

    def line(self) -> str:
        return json.dumps(vars(self))
