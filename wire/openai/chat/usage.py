"""Token counts of chat completions, as neutral ones."""

from __future__ import annotations

from wire.catalogue.usage import Usage
from wire.openai.chat.types import CompletionUsage
from wire.openai.common.dialect import PLAIN, Dialect


def usage_of(usage: CompletionUsage | None, dialect: Dialect = PLAIN) -> Usage | None:
    """Convert token counts to the neutral ones (Q16).

    Input includes cached tokens, output includes reasoning.

    >>> usage_of(
    ...     CompletionUsage(prompt_tokens=30, completion_tokens=10, reasoning_tokens=100),
    ...     Dialect(reasoning_outside_output=True),
    ... )
    Usage(input=30, output=110, reasoning=100, total=140)
    """
    if usage is None:
        return None
    inside, outside = usage.prompt_tokens_details, usage.completion_tokens_details
    reasoning = (outside and outside.reasoning_tokens) or usage.reasoning_tokens or 0
    output = (usage.completion_tokens or 0) + (reasoning if dialect.reasoning_outside_output else 0)
    sides = (("input", inside), ("output", outside))
    by_modality = {
        f"{side}_{kind}": count
        for side, details in sides
        for kind in ("text", "image", "audio", "video")
        if (count := getattr(details, f"{kind}_tokens", None))
    }
    return Usage(
        input=usage.prompt_tokens or 0,
        output=output,
        cached=(inside and inside.cached_tokens)
        or usage.prompt_cache_hit_tokens
        or usage.cached_tokens
        or usage.num_cached_tokens
        or usage.cache_read_input_tokens
        or 0,
        cache_written=(inside and (inside.cache_write_tokens or inside.cache_creation_input_tokens))
        or usage.cache_creation_input_tokens
        or 0,
        reasoning=reasoning,
        total=usage.total_tokens or (usage.prompt_tokens or 0) + output,
        by_modality=by_modality,
    )
