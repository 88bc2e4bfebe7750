"""What a run may cost: the limit that the user names, and whether it is reached. No I/O."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Context, Decimal
from typing import Any

from wire.bulk.progress import usd
from wire.catalogue.usage import Usage
from wire.chat.models import cost
from wire.core.arguments import number
from wire.core.errors import ConfigurationError, WireError

MAX_COST = "max_cost"
"""The `code` of the error of a run that has spent it."""
_DIGITS = Context(prec=12)
"""Those of a limit: a difference of floats has more, which nobody meant."""
_ONE = Usage(input=1, output=1, total=2)


def budget(max_cost: Any, models: Iterable[str], tier: str) -> Decimal | None:
    """Return the most USD of a run; `None` without a limit.

    Raises `ConfigurationError` for what is no amount, and for a model without a known price.

    >>> budget(0.5, ["gemini:gemini-3.8-flash"], "")
    Decimal('0.5')
    >>> budget(0.3 - 0.1, ["gemini:gemini-3.8-flash"], "")
    Decimal('0.2')
    """
    if max_cost is None:
        return None
    if not isinstance(max_cost, Decimal):
        number(MAX_COST, max_cost, above=0, error=ConfigurationError)
        most = _DIGITS.create_decimal(str(max_cost)).normalize()
    elif max_cost.is_finite() and max_cost > 0:
        most = max_cost
    else:
        raise ConfigurationError(f"{MAX_COST}: expected a number above 0, not {max_cost}")
    for model in models:
        price = cost(_ONE, model, tier=tier)
        if price.total is None:
            raise ConfigurationError(
                f"{MAX_COST}: the price of {model} is not known, so its replies cannot be counted: "
                f"{price.reason}"
            )
    return most


def has_room(most: Decimal, amount: Decimal, highest: Decimal, in_flight: int) -> bool:
    """Return whether a row may be sent while others are in flight, of which each counts `highest`.

    `amount` is spent, and `highest` is the cost of the most expensive row so far. Before one is
    known, and where little is left, a row is sent alone.

    >>> has_room(Decimal(2), Decimal("1.5"), Decimal("0.2"), in_flight=2)
    True
    >>> has_room(Decimal(2), Decimal("1.5"), Decimal("0.2"), in_flight=3)
    False
    """
    return not in_flight or 0 < highest < (most - amount) / in_flight


def spent(most: Decimal | None, amount: Decimal, unpriced: int) -> WireError | None:
    """Return the error of a run that may ask no further row; `None` if it may.

    `amount` is what the replies of all its starts cost, and `unpriced` are those whose cost is not
    known.

    >>> spent(Decimal(2), Decimal("2.25"), 0).message
    'stopped, because 2.2500 USD of 2.0000 USD are spent; a start with a higher max_cost goes on'
    """
    if most is None:
        return None
    if unpriced:
        problem = (
            f"the cost of {unpriced:,} replies is not known, and {MAX_COST} is to be kept; a start "
            f"without {MAX_COST} goes on"
        )
    elif amount >= most:
        problem = (
            f"{usd(amount)} of {usd(most)} are spent; a start with a higher {MAX_COST} goes on"
        )
    else:
        return None
    return WireError(f"stopped, because {problem}", code=MAX_COST)
