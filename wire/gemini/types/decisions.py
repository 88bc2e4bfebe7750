"""Decisions: closed questions about one input, each answered with probabilities.

The only messages here whose keys are snake_case on the wire: the endpoint is of the family of
Interactions. Source: google-genai 3.6.1, _gaos/types/decisions, read on 2026-11-29.
"""

from __future__ import annotations

from typing import Annotated, Any

from wire.core.facts import Facts
from wire.gemini.types.base import GeminiStruct


class _DecisionStruct(GeminiStruct, frozen=True, kw_only=True, rename=str):
    """Base of the messages of decisions."""


class CreateDecisionRequest(_DecisionStruct, frozen=True, kw_only=True):
    """Body of decisions."""

    model: str | None = None
    """`models/X`, or `X`."""
    input: str | list[DecisionContent] | DecisionContent | None = None
    """What all questions are about."""
    questions: dict[str, DecisionQuestion] | None = None
    """1 to 1,000, by a name that the answer has too."""


class DecisionContent(_DecisionStruct, frozen=True, kw_only=True):
    """A text, an image, a document, a sound or a video."""

    type: str | None = None
    """`text`, `image`, `document`, `audio`, `video`."""
    text: str | None = None
    annotations: list[dict[str, Any]] | None = None
    """Of a text that a model wrote: its sources."""
    data: Annotated[str | None, Facts(base64=True)] = None
    """The bytes of the media, or `uri`."""
    uri: str | None = None
    mime_type: str | None = None
    resolution: str | None = None
    """Of an image, a document and a video: `low`, `medium`, `high`, `ultra_high`."""
    processing: str | dict[str, Any] | None = None
    """Of a document, a sound and a video: how the model reads it, `static` or `agentic`, or an
    object with further options."""
    channels: int | None = None
    """Of a sound."""
    sample_rate: int | None = None
    """Of a sound."""
    name: str | None = None
    """Of a video."""


class DecisionQuestion(_DecisionStruct, frozen=True, kw_only=True):
    """One question."""

    type: str | None = None
    """`noul` (is it true), `choice` (which of these), `score` (how much)."""
    instructions: str | list[DecisionContent] | DecisionContent | None = None
    """The statement, or what is to be chosen or rated: texts alone."""
    criteria: dict[str, str | None] | list[str] | None = None
    """Of a noul: what is true and what is not, `true_description` and `false_description`. Of a
    choice: 2 to 255 options, each with what it means; an empty text says nothing. Of a score: what
    each of 2 to 255 levels means, from 0 on."""


class CreateDecisionResponse(_DecisionStruct, frozen=True, kw_only=True):
    """Response of decisions."""

    answers: dict[str, DecisionAnswer] | None = None
    """By the names of the questions."""
    prompt_feedback: DecisionFeedback | None = None
    usage: DecisionUsage | None = None


class DecisionAnswer(_DecisionStruct, frozen=True, kw_only=True):
    """The answer to one question."""

    type: str | None = None
    """That of the question."""
    noul: float | None = None
    """Of a noul: the probability that it is true, from 0.01 to 0.99."""
    choice: str | None = None
    """Of a choice: the most probable option."""
    score: float | None = None
    """Of a score: the mean of the levels' numbers, weighted by their probabilities."""
    confidence: float | None = None
    """The probability of the most probable outcome."""
    probabilities: dict[str, float] | None = None
    """By option, or by the number of a level."""
    legend: dict[str, str] | None = None
    """Of a score: what each level means, by its number."""


class DecisionFeedback(_DecisionStruct, frozen=True, kw_only=True):
    """Why there are no answers."""

    block_reason: str | None = None
    """`safety`, `other`, `blocklist`, `prohibited_content`, `image_safety`."""
    block_reason_message: str | None = None


class DecisionUsage(_DecisionStruct, frozen=True, kw_only=True):
    """Token counts."""

    total_input_tokens: int | None = None
    total_output_tokens: int | None = None
    total_cached_tokens: int | None = None
    total_thought_tokens: int | None = None
    total_tool_use_tokens: int | None = None
    total_tokens: int | None = None
    initial_input_tokens: int | None = None
    input_tokens_by_modality: list[DecisionModalityTokens] | None = None
    output_tokens_by_modality: list[DecisionModalityTokens] | None = None
    cached_tokens_by_modality: list[DecisionModalityTokens] | None = None
    tool_use_tokens_by_modality: list[DecisionModalityTokens] | None = None
    grounding_tool_count: list[DecisionToolCount] | None = None


class DecisionModalityTokens(_DecisionStruct, frozen=True, kw_only=True):
    """Tokens of one kind of content."""

    modality: str | None = None
    """`text`, `image`, `audio`, `video`, `document`."""
    tokens: int | None = None


class DecisionToolCount(_DecisionStruct, frozen=True, kw_only=True):
    """How often a tool was used."""

    type: str | None = None
    count: int | None = None
