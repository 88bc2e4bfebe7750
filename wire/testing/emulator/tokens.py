"""Tokens counted the same way every time: about four letters make one, a word or a mark begins a
new one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from wire.gemini.types import Content, GenerateContentRequest

_TOKEN = re.compile(r"\s*\w{1,4}|\s*[^\w\s]|\s+")
# What one piece of media costs, by the beginning of its type.
_MEDIA = (
    ("image/", "IMAGE", 258),
    ("audio/", "AUDIO", 320),
    ("video/", "VIDEO", 2630),
    ("application/pdf", "DOCUMENT", 258),
)


def tokens(text: str) -> list[str]:
    """The text in tokens.

    >>> tokens("Hello, world!")
    ['Hell', 'o', ',', ' worl', 'd', '!']
    """
    return _TOKEN.findall(text)


def count(text: str) -> int:
    """How many tokens a text has."""
    return len(tokens(text))


def counted(
    contents: Sequence[Content], request: GenerateContentRequest | None = None
) -> dict[str, int]:
    """Tokens of an input by modality; with a request, those of its system instruction and tools as
    well.
    """
    found: dict[str, int] = {}
    for modality, number in _parts(contents):
        found[modality] = found.get(modality, 0) + number
    if request is not None:
        if request.system_instruction is not None:
            found["TEXT"] = found.get("TEXT", 0) + sum(
                number for _, number in _parts([request.system_instruction])
            )
        if request.tools:
            found["TEXT"] = found.get("TEXT", 0) + count(
                msgspec.json.encode(request.tools).decode()
            )
    return found


def cost(mime_type: str) -> int:
    """Tokens of one piece of media."""
    return _media(mime_type)[1]


def details(found: dict[str, int]) -> list[dict[str, Any]]:
    """The same as `promptTokensDetails`."""
    return [
        {"modality": modality, "tokenCount": number} for modality, number in found.items() if number
    ]


def _parts(contents: Sequence[Content]) -> Iterator[tuple[str, int]]:
    for content in contents:
        for part in content.parts or ():
            blob = part.inline_data or part.file_data
            if blob is not None:
                yield _media(blob.mime_type or "")
            elif part.text is not None:
                yield "TEXT", count(part.text)
            else:
                yield (
                    "TEXT",
                    count(
                        msgspec.json.encode(
                            part.function_call or part.function_response or part
                        ).decode()
                    ),
                )


def _media(mime_type: str) -> tuple[str, int]:
    return next(
        ((kind, number) for begin, kind, number in _MEDIA if mime_type.startswith(begin)),
        ("TEXT", 100),
    )
