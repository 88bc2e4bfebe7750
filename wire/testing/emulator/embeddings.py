"""Embedding vectors made of the words of a text: texts that share words lie near each other."""

from __future__ import annotations

import hashlib
import math
import re

_MAX_CHARACTERS = 100_000
"""Of a text that count; a server refuses longer ones, or cuts them."""


def vector(text: str, size: int) -> list[float]:
    """Return the vector of a text, of length 1; the same text always has the same vector.

    >>> vector("a", 4) == vector("a", 4) != vector("b", 4)
    True
    """
    values = [0.0] * size
    for word in re.findall(r"\w+|[^\w\s]", text[:_MAX_CHARACTERS].lower()) or [""]:
        digest = hashlib.sha256(word.encode()).digest()
        for at in range(0, 32, 4):
            number = int.from_bytes(digest[at : at + 4], "big")
            values[number % size] += 1.0 if number & 1 << 31 else -1.0
    length = math.sqrt(sum(each * each for each in values)) or 1.0
    return [round(each / length, 8) for each in values]
