"""What a model can read, and how much it can write.

The catalogue is read only for a request that not every model can answer.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from wire.catalogue.facts import facts

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


def overflow(
    provider: str, model: str, size: int, count: Callable[[], int]
) -> tuple[int, int] | None:
    """Return the tokens of a prompt and the context window, if it is longer than that.

    `size` are the bytes of the request, of which no token has less than one: the tokens of most
    requests are not counted.
    """
    window = context_window(provider, model)
    if window is None or size <= window or (tokens := count()) <= window:
        return None
    return tokens, window


@functools.lru_cache(maxsize=256)
def context_window(provider: str, model: str) -> int | None:
    """Return the tokens that a request and its reply may have; `None` if they are unknown."""
    from wire.catalogue.catalogue import shipped

    row = shipped()._find(provider, model)
    return None if row is None else row.context_window


@functools.lru_cache(maxsize=256)
def inputs(provider: str, model: str) -> frozenset[str]:
    """Return the modalities that a model reads at a provider; empty if they are unknown.

    >>> sorted(inputs("mistral", "voxtral-small-latest"))
    ['audio', 'text']

    What is not known of the model at this provider is taken from the others that have it: each
    modality that it reads at one of them counts.
    """
    from wire.catalogue.catalogue import PROVIDERS, shipped

    if own := facts(model).inputs:
        return frozenset(own)
    row = shipped()._find(provider, model)
    if row is not None and row.inputs:
        return frozenset(row.inputs)
    bare = model.rpartition("/")[2]
    found = (shipped()._find(each, name) for each in PROVIDERS for name in {model, bare})
    return frozenset(kind for row in found if row is not None for kind in row.inputs)


@functools.lru_cache(maxsize=256)
def unread(model: str, kind: str, provider: str = "") -> str:
    """Return why a model does not read a modality; empty if it reads it, or if that is unknown.

    >>> unread("voxtral-small-latest", "image", "mistral")
    'voxtral-small-latest reads audio and text, no image'
    """
    read = inputs(provider, model)
    return (
        f"{model} reads {' and '.join(sorted(read))}, no {kind}"
        if read and kind not in read
        else ""
    )
