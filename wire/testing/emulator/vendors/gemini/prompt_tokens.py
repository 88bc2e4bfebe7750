"""Tokens of a prompt by modality, as `promptTokensDetails` lists them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from wire.catalogue.facts import is_in
from wire.core.memory import encode
from wire.gemini.types import Content, GenerateContentRequest
from wire.testing.emulator.prefixes import Piece, Prefixes, prefixes_of
from wire.testing.emulator.tokens import count, media_cost
from wire.testing.emulator.vendors.gemini.catalog import Traits


def prompt_tokens(
    contents: Sequence[Content], request: GenerateContentRequest | None = None
) -> dict[str, int]:
    """Count tokens of Contents, and of the system instruction and tools of a request."""
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


IMPLICIT_LIFETIME = 300.0
"""Seconds for which the beginning of a prompt is kept unasked."""


def implicitly_cached(request: GenerateContentRequest, model: Traits, prefixes: Prefixes) -> int:
    """Count the tokens of the longest beginning that an earlier request had; store this request's.

    Models from 2.5 on have it. A request with a cached content reads that instead.
    """
    if request.cached_content or is_in("gemini.no-implicit-cache", model.name):
        return 0
    head = msgspec.structs.replace(request, contents=None)
    beginning = encode([head.system_instruction, head.tools])
    pieces = [Piece(beginning, sum(prompt_tokens((), head).values()))]
    pieces += [
        Piece(encode(each), sum(prompt_tokens([each]).values())) for each in request.contents or ()
    ]
    least = model.min_cached_tokens
    long = [each for each in prefixes_of(model.name, pieces) if each.tokens >= least]
    cached = prefixes.longest(long)
    for each in long:
        prefixes.keep(each.name, IMPLICIT_LIFETIME)
    return cached


def details(sums: dict[str, int]) -> list[dict[str, Any]]:
    """Return the token counts as `promptTokensDetails`."""
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
