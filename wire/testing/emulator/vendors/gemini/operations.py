"""Long-running operations: jobs that clients poll by name until they are done.

There is no clock: a job runs at its first get, and is done at its second.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from wire.testing.emulator.answer import Answer
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route
from wire.testing.emulator.storage import Remembered
from wire.testing.emulator.vendors.gemini.bodies import whole
from wire.testing.emulator.vendors.gemini.refusals import not_found

_MAX_JOBS = 10_000


@dataclass(slots=True)
class Operations:
    """The jobs of one emulator, without its batches."""

    _results: Remembered = field(default_factory=lambda: Remembered(_MAX_JOBS))
    _gets: Remembered = field(default_factory=lambda: Remembered(_MAX_JOBS))

    def add(self, name: str, response: dict[str, Any]) -> dict[str, Any]:
        """Add a job; return it with its result, as it is when it is done."""
        job = {"name": name, "done": True, "response": response}
        self._results[name] = job
        return job

    def get(self, request: Received, route: Route) -> Answer:
        """Return a job; its second get has the result."""
        name = request.path.partition(f"/{route.version}/")[2]
        job = self._results.get(name)
        if job is None:
            raise not_found()
        return whole(job if self._gets.counted(name) > 1 else {"name": name})
