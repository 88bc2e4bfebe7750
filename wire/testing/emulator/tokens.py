"""A deterministic tokenizer: four letters are about one token; a word or mark begins a new one."""

from __future__ import annotations

import re

_MAX_COUNTED = 1_000_000
"""Characters; the tokens of a longer text are estimated from its beginning."""
_TOKEN = re.compile(r"\s*\w{1,4}|\s*[^\w\s]|\s+")
# Prefix of the media type, Gemini's name of the modality, tokens of one piece.
_MEDIA = (
    ("image/", "IMAGE", 258),
    ("audio/", "AUDIO", 320),
    ("video/", "VIDEO", 2630),
    ("application/pdf", "DOCUMENT", 258),
)


def tokens(text: str) -> list[str]:
    """Split a text into tokens.

    >>> tokens("Hello, world!")
    ['Hell', 'o', ',', ' worl', 'd', '!']
    """
    return _TOKEN.findall(text)


def count(text: str) -> int:
    """Count the tokens of a text; the number is estimated beyond a million characters."""
    if len(text) > _MAX_COUNTED:
        return count(text[:_MAX_COUNTED]) * len(text) // _MAX_COUNTED
    return len(tokens(text))


def media_cost(mime_type: str) -> tuple[str, int]:
    """Return modality and tokens of one piece of media.

    >>> media_cost("image/png"), media_cost("application/zip")
    (('IMAGE', 258), ('TEXT', 100))
    """
    costs = ((kind, number) for begin, kind, number in _MEDIA if mime_type.startswith(begin))
    return next(costs, ("TEXT", 100))
