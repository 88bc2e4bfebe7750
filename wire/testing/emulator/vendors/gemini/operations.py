"""Long-running operations: jobs that are asked for by name until they are done.

There is no clock: a job runs at its first get, and is done at its second.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from wire.testing.emulator.answer import Answer
from wire.testing.emulator.vendors.gemini.bodies import whole
from wire.testing.emulator.vendors.gemini.refusals import refusal


@dataclass(slots=True)
class Operations:
    """The jobs of one emulator, without its batches."""

    _results: dict[str, dict[str, Any]] = field(default_factory=dict)
    _gets: dict[str, int] = field(default_factory=dict)

    def add(self, name: str, response: dict[str, Any]) -> dict[str, Any]:
        """A job with its result, as it is once it is done."""
        self._results[name] = {"name": name, "done": True, "response": response}
        return self._results[name]

    def get(self, name: str) -> Answer:
        """A job; its second get has the result."""
        if name not in self._results:
            raise refusal(404, "Requested entity was not found.")
        self._gets[name] = self._gets.get(name, 0) + 1
        return whole(self._results[name] if self._gets[name] > 1 else {"name": name})
