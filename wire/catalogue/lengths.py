"""How much a model can write. The catalogue is read only for a number that not every model can."""

from __future__ import annotations

import functools

_SHORTEST = 4096
"""Output tokens that each chat model can write."""


def longest_output(provider: str, model: str, wanted: int) -> int | None:
    """Return the output tokens that a model can write, if `wanted` may be more.

    `None` if they are unknown, or if each model can write so many.

    >>> longest_output("anthropic", "claude-opus-5-5", 10**7)
    128000
    """
    return _longest(provider, model) if wanted > _SHORTEST else None


@functools.lru_cache(maxsize=256)
def _longest(provider: str, model: str) -> int | None:
    from wire.catalogue.catalogue import shipped

    row = shipped()._find(provider, model)
    return None if row is None else row.longest_output
