"""How much a call uses of each limited unit, as far as its request tells."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from wire.core.decoders import decoder

_BYTES_PER_TOKEN = 4

Amounts = Mapping[str, float]
"""The amount of each unit that a call uses."""


class _Generation(msgspec.Struct, rename="camel"):
    max_output_tokens: int | None = None


class _Body(msgspec.Struct):
    """The keys of the longest output in the bodies of the vendors."""

    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    max_output_tokens: int | None = None
    generation_config: _Generation | None = msgspec.field(default=None, name="generationConfig")


def estimated(body: bytes) -> dict[str, float]:
    """Estimate the use of a request with this body: a token per 4 bytes, and the longest output.

    >>> estimated(b'{"max_tokens": 100}')["tokens"]
    104
    """
    try:
        read = decoder(_Body).decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        read = _Body()  # a file, or a value that the server will refuse
    most = read.max_tokens or read.max_completion_tokens or read.max_output_tokens
    if most is None and read.generation_config is not None:
        most = read.generation_config.max_output_tokens
    return amounts(len(body) // _BYTES_PER_TOKEN, max(0, most or 0))


def amounts(input_tokens: int, output_tokens: int, *, cached: int = 0) -> dict[str, float]:
    """Return the amount of each unit that a call with this number of tokens uses."""
    return {
        "requests": 1,
        "tokens": input_tokens + output_tokens,
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "uncached_input_tokens": input_tokens - cached,
    }
