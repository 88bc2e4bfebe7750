"""The limits of a run, checked."""

from __future__ import annotations

from decimal import Decimal

from wire.core.errors import ConfigurationError


def checked_budget(
    max_cost: Decimal | float | None, max_tokens_total: int | None, max_calls: int | None
) -> Decimal | None:
    """Convert `max_cost` to a `Decimal`.

    Raises `ConfigurationError` for a value that is not a limit.
    """
    if max_tokens_total is not None:
        checked_count("max_tokens_total", max_tokens_total)
    if max_calls is not None:
        checked_count("max_calls", max_calls)
    if max_cost is None:
        return None
    is_number = isinstance(max_cost, int | float | Decimal) and not isinstance(max_cost, bool)
    limit = Decimal(repr(max_cost) if isinstance(max_cost, float) else max_cost) if is_number else 0
    if not (isinstance(limit, Decimal) and limit.is_finite() and limit > 0):
        raise ConfigurationError(f"max_cost: expected USD, a number above 0, not {max_cost!r}")
    return limit


def checked_count(name: str, value: object) -> None:
    """Raise `ConfigurationError` for a value that is not a whole number from 1 up."""
    if type(value) is not int or value < 1:
        raise ConfigurationError(f"{name}: expected a whole number from 1 up, not {value!r}")
