"""How much of a space a test tries: a part in `make test`, all of it in `make test-slow`."""

import os
import random
from collections.abc import Sequence
from typing import TypeVar

_Item = TypeVar("_Item")

ALL = os.environ.get("EXAMPLES") == "all"
"""`make test-slow` says so."""


def examples(number: int) -> int:
    """An eighth of `number`, and ten at least, for a property test; all in `make test-slow`."""
    return number if ALL else min(number, max(number // 8, 10))


def sample(items: Sequence[_Item], one_in: int = 10) -> Sequence[_Item]:
    """One in `one_in` items in their order, the first and the last among them, the same in each
    run; all of them in `make test-slow`.

    A test that uses it has the marker `sampled`, by which `make test-slow` finds it.
    """
    if ALL or len(items) < one_in:
        return items
    # Every tenth of the pairs of ten things would be pairs with the same second thing.
    drawn = random.Random(len(items)).sample(range(len(items)), len(items) // one_in)
    return [items[at] for at in sorted({0, *drawn, len(items) - 1})]
