"""Tokens of a prompt by modality, as `promptTokensDetails` lists them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from wire.gemini.types import Content, GenerateContentRequest
from wire.testing.emulator.tokens import count, media_cost


def prompt_tokens(
    contents: Sequence[Content], request: GenerateContentRequest | None = None
) -> dict[str, int]:
    """Tokens of Contents, and of the system instruction and tools of a request."""
    sums: dict[str, int] = {}
    for modality, number in _parts(contents):
        sums[modality] = sums.get(modality, 0) + number
    if request is not None:
        text = sum(
            number
            for _, number in _parts(
                [request.system_instruction] if request.system_instruction else []
            )
        )
        if request.tools:
            text += count(msgspec.json.encode(request.tools).decode())
        if request.system_instruction or request.tools:
            sums["TEXT"] = sums.get("TEXT", 0) + text
    return sums


def details(sums: dict[str, int]) -> list[dict[str, Any]]:
    """The same as `promptTokensDetails`."""
    return [
        {"modality": modality, "tokenCount": number} for modality, number in sums.items() if number
    ]


def _parts(contents: Sequence[Content]) -> Iterator[tuple[str, int]]:
    for content in contents:
        for part in content.parts or ():
            blob = part.inline_data or part.file_data
            if blob is not None:
                yield media_cost(blob.mime_type or "")
            elif part.text is not None:
                yield "TEXT", count(part.text)
            else:
                value = part.function_call or part.function_response or part
                yield "TEXT", count(msgspec.json.encode(value).decode())
