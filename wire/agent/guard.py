"""`Guard`: stops or steers a model that makes the same call again and again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

import msgspec

from wire.core.arguments import check_fields, checked_arguments
from wire.core.errors import ConfigurationError
from wire.core.secret import quoted, seal_fields
from wire.neutral.messages import ToolCall
from wire.tools import Toolbox


class Guard(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of repeated calls, and the action if a limit is reached.

    >>> Guard().counted([ToolCall(name="now")], {"now{}": 0})
    {'now{}': 1}

    A call is a repetition if the turn before made the same call with the same arguments. With
    `then="stop"` the calls of the turn get an error as their result and the run ends. With
    `then="steer"` only the repeated call gets an error, the text `steering`, and the run continues.

    Raises `ConfigurationError` that names the field.
    """

    repeats: int = 1
    """Number of repetitions at which the guard acts: 1 is the second time of the same call."""
    read_only_repeats: int = 2
    """As `repeats`, for tools that are `read_only`."""
    tool_only: int | None = 8
    """The run ends at this many turns in a row with calls and no text; `None` for no limit."""
    then: Literal["stop", "steer"] = "stop"
    """The action at the limit of repetitions: `stop` the run, or `steer` the model."""
    steering: str = (
        "You have made this call with these arguments before, and its result will not "
        "change. Try something else, or answer."
    )
    """The result that the model gets for a repeated call with `then="steer"`."""

    def __post_init__(self) -> None:
        seal_fields(self)
        for name in ("repeats", "read_only_repeats", "tool_only"):
            value = getattr(self, name)
            if not (type(value) is int and value >= 1) and not (
                name == "tool_only" and value is None
            ):
                raise ConfigurationError(
                    f"guard.{name}: expected a whole number from 1 up, not {quoted(value)}"
                )
        if not isinstance(self.then, str) or self.then not in ("stop", "steer"):
            raise ConfigurationError(
                f"guard.then: expected 'stop' or 'steer', not {quoted(self.then)}"
            )
        check_fields(self, "guard", error=ConfigurationError)

    @checked_arguments(ConfigurationError)
    def counted(self, calls: Iterable[ToolCall], before: Mapping[str, int]) -> dict[str, int]:
        """Count, for each call of a turn, the turns in a row that made it before.

        `before` is the result of this method for the turn before. The keys are name and arguments.
        """
        counts: dict[str, int] = {}
        for call in calls:
            key = _key(call)
            counts[key] = counts.get(key, before.get(key, -1)) + 1
        return counts

    @checked_arguments(ConfigurationError)
    def stops(
        self, calls: Iterable[ToolCall], counts: Mapping[str, int], tool_only: int, toolbox: Toolbox
    ) -> bool:
        """Return whether the run ends here; `tool_only` is the number of turns in a row without
        text.
        """
        if self.tool_only is not None and tool_only >= self.tool_only:
            return True
        return self.then == "stop" and any(self._too_often(call, counts, toolbox) for call in calls)

    @checked_arguments(ConfigurationError)
    def steers(self, call: ToolCall, counts: Mapping[str, int], toolbox: Toolbox) -> str:
        """Return the error for the model in place of a result; empty if the call may run."""
        return (
            self.steering if self.then == "steer" and self._too_often(call, counts, toolbox) else ""
        )

    def _too_often(self, call: ToolCall, counts: Mapping[str, int], toolbox: Toolbox) -> bool:
        key = _key(call)
        tool = toolbox.get(call.name)
        most = self.read_only_repeats if getattr(tool, "read_only", False) else self.repeats
        return counts.get(key, 0) >= most


ATTRACTOR = Guard(repeats=2, tool_only=None, then="steer")
"""Steers at the third time of the same call."""


def _key(call: ToolCall) -> str:
    """Return the name and the arguments of a call; the order of keys makes no difference."""
    if not isinstance(call, ToolCall):
        raise ConfigurationError(f"calls: expected a ToolCall, not {type(call).__name__}")
    arguments = (
        call.text
        if call.arguments is None
        else msgspec.json.encode(call.arguments, order="sorted").decode()
    )
    return call.name + arguments
