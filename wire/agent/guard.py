"""Against models that make the same call again and again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import msgspec

from wire.errors import ConfigurationError
from wire.neutral.messages import ToolCall
from wire.tools import Toolbox


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """How much repetition is too much.

    >>> Guard().counted([ToolCall(name="now")], {"now{}": 0})
    {'now{}': 1}

    A call is a repetition if the turn before made it too, with the same arguments. `then` says what
    happens: "stop" answers the calls of that turn with an error and ends the run, "steer" answers
    the repeated call alone with `steering`, and goes on.
    """

    repeats: int = 1
    """The repetition of a call that is too much: 1 for the second call of the same."""
    read_only_repeats: int = 2
    """The same, of tools that change nothing."""
    tool_only: int | None = 8
    """Turns in a row that are nothing but calls; the run is then stopped."""
    then: Literal["stop", "steer"] = "stop"
    steering: str = (
        "You have made this call with these arguments before, and its result will not "
        "change. Try something else, or answer."
    )

    def __post_init__(self) -> None:
        for name in ("repeats", "read_only_repeats", "tool_only"):
            value = getattr(self, name)
            if not (type(value) is int and value >= 1) and not (
                name == "tool_only" and value is None
            ):
                raise ConfigurationError(f"guard.{name}: a number from 1 up, not {value!r}")
        if self.then not in ("stop", "steer"):
            raise ConfigurationError(f"guard.then: 'stop' or 'steer', not {self.then!r}")

    def counted(self, calls: Iterable[ToolCall], before: Mapping[str, int]) -> dict[str, int]:
        """Each call of a turn -> how many times in a row it had been made before; `before` is that
        of the turn before.
        """
        counts: dict[str, int] = {}
        for call in calls:
            key = _key(call)
            counts[key] = counts.get(key, before.get(key, -1)) + 1
        return counts

    def stops(
        self, calls: Iterable[ToolCall], counts: Mapping[str, int], tool_only: int, toolbox: Toolbox
    ) -> bool:
        """Whether the run ends here; `tool_only` turns in a row were nothing but calls."""
        if self.tool_only is not None and tool_only >= self.tool_only:
            return True
        return self.then == "stop" and any(self._too_often(call, counts, toolbox) for call in calls)

    def steers(self, call: ToolCall, counts: Mapping[str, int], toolbox: Toolbox) -> str:
        """What to tell the model in place of a result; empty if the call may be made."""
        return (
            self.steering if self.then == "steer" and self._too_often(call, counts, toolbox) else ""
        )

    def _too_often(self, call: ToolCall, counts: Mapping[str, int], toolbox: Toolbox) -> bool:
        tool = toolbox.get(call.name)
        most = self.read_only_repeats if getattr(tool, "read_only", False) else self.repeats
        return counts.get(_key(call), 0) >= most


ATTRACTOR = Guard(repeats=2, tool_only=None, then="steer")
"""The third call of the same is steered."""


def _key(call: ToolCall) -> str:
    """Name and arguments, whatever the order of the keys."""
    arguments = (
        call.text
        if call.arguments is None
        else msgspec.json.encode(call.arguments, order="sorted").decode()
    )
    return call.name + arguments
