"""Options of a request that its response repeats: reasoning, form of the text."""

from __future__ import annotations

from typing import Any

from wire.openai.common.types.base import OpenAIStruct


class Reasoning(OpenAIStruct, frozen=True, kw_only=True):
    """How much the model reasons, and what the answer shows of it."""

    effort: str | None = None
    """`none`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`; each model accepts its own
    subset.
    """
    summary: str | None = None
    """`auto`, `concise`, `detailed`. Absent means that the answer has no summary."""
    context: str | None = None
    """`auto`, `current_turn`, `all_turns`: the reasoning of earlier turns that the model sees."""
    mode: str | None = None
    """`standard`, `pro`."""
    generate_summary: str | None = None
    """Deprecated; use `summary`."""


class TextOptions(OpenAIStruct, frozen=True, kw_only=True):
    """Form and length of the text of the answer."""

    format: TextFormat | None = None
    verbosity: str | None = None
    """`low`, `medium`, `high`."""


class TextFormat(OpenAIStruct, frozen=True, kw_only=True):
    """Form of the text of the answer."""

    type: str | None = None
    """`text`, `json_object`, `json_schema`. For `json_object` a message of the input must contain
    the word "json".
    """
    name: str | None = None
    """Required for `json_schema`."""
    description: str | None = None
    schema: dict[str, Any] | None = None
    """JSON Schema."""
    strict: bool | None = None
