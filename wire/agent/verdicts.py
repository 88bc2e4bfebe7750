"""Verdicts on calls: whether the tool of a call may run."""

from __future__ import annotations

from typing import TypeAlias

from wire.core.errors import ConfigurationError
from wire.neutral.messages import ToolCall, ToolResult

Verdict: TypeAlias = bool | str
"""Decision on one call: `True` lets it run, `False` or a text, the reason, refuses it."""


def check_verdict(verdict: object, name: str) -> None:
    """Raise `ConfigurationError` for a verdict that is neither a bool nor a text.

    A hook that returns nothing has not said yes, and neither has one that returns 1 or "yes".
    """
    if not isinstance(verdict, bool | str):
        raise ConfigurationError(
            f"{name}: expected True, False or the reason of a refusal as text, not "
            f"{type(verdict).__name__}"
        )


def refused(call: ToolCall, verdict: Verdict) -> ToolResult | None:
    """Return the result of a call that is refused; `None` if it may run.

    Only `True` lets it run.
    """
    if verdict is True:
        return None
    return ToolResult(
        call.id,
        call.name,
        verdict if isinstance(verdict, str) and verdict else "refused by the user",
        error=True,
    )
