"""Decisions: closed questions about one input, each answered with probabilities.

OpenAI's shape is that of `DecisionRequest`: a list of questions, answers in their order. OpenRouter
and Ollama have that of System One, `SystemOneRequest`: questions and answers by name.

Sources: openai 3.57.0, types/decision*.py; openrouter 1.3.84, components/decisions*.py; ollama
0.6.3 of PyPI, _types.py; all read on 2026-11-29.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wire.openai.common.types.base import OpenAIRequestStruct, OpenAIStruct

if TYPE_CHECKING:
    from wire.catalogue.cost import Charges

# --- OpenAI's shape -------------------------------------------------------------------------------


class DecisionRequest(OpenAIRequestStruct, frozen=True, kw_only=True):
    """Body of decisions."""

    model: str
    """`gpt-6-luna`."""
    input: str | list[DecisionItem]
    """What all questions are about: a text, or messages and calls of tools with their outputs, in
    order."""
    questions: list[DecisionQuestion]
    """1 to 400. Answers have the same order."""
    prompt_cache_key: str | None = None
    """Requests with the same key are likely to share a cache."""
    prompt_cache_options: DecisionCacheOptions | None = None
    safety_identifier: str | None = None
    """A stable id of the user, without personal data."""


class DecisionCacheOptions(OpenAIRequestStruct, frozen=True, kw_only=True):
    """How the input is cached."""

    mode: str | None = None
    """`implicit`, or `explicit`, which caches up to `DecisionPart.prompt_cache_breakpoint`."""
    ttl: str | None = None
    """`30m`."""


class DecisionItem(OpenAIStruct, frozen=True, kw_only=True):
    """A message, a call of a tool, or the output of one."""

    type: str | None = None
    """`message`, `function_call`, `function_call_output`, `custom_tool_call`,
    `custom_tool_call_output`. A message may do without."""
    role: str | None = None
    """Of a message: `user`, `developer`, `system`, `assistant`."""
    content: str | list[DecisionPart] | None = None
    """Of a message."""
    phase: str | None = None
    """Of a message of the assistant: `commentary`, `final_answer`."""
    call_id: str | None = None
    """Of a call and of its output, which comes later."""
    name: str | None = None
    """Of a call: the tool."""
    namespace: str | None = None
    """Of a call: the namespace of the tool."""
    arguments: str | None = None
    """Of a function call: JSON."""
    input: str | None = None
    """Of a call of a custom tool: its text."""
    output: str | list[DecisionPart] | None = None
    """Of an output: a text, or texts and images."""
    id: str | None = None
    status: str | None = None
    """Of a call and of an output: `in_progress`, `completed`, `incomplete`."""


class DecisionPart(OpenAIStruct, frozen=True, kw_only=True):
    """A part of a message, of an output, or of the instructions of a question."""

    type: str | None = None
    """`input_text`, `input_image`, `input_json`; of the assistant `output_text`, `refusal`."""
    text: str | None = None
    image_url: str | None = None
    """A `data:` URL, or an http(s) URL. The endpoint reads no uploaded files."""
    detail: str | None = None
    """Of an image: `low`, `high`, `auto`, `original`."""
    data: dict[str, Any] | list[dict[str, Any]] | None = None
    """Of `input_json`: an object, or a list of objects. At most 32 levels, 10,000 values and
    256 KiB."""
    refusal: str | None = None
    prompt_cache_breakpoint: DecisionCacheBreakpoint | None = None
    """Ends a part of the input that is cached. Instructions have none."""


class DecisionCacheBreakpoint(OpenAIStruct, frozen=True, kw_only=True):
    """The end of a part of the input that is cached. At most 4 in a request."""

    mode: str | None = None
    """`explicit`."""


class DecisionQuestion(OpenAIStruct, frozen=True, kw_only=True):
    """One question."""

    type: str | None = None
    """`predicate` (is it true), `choice` (which of these), `score` (how much)."""
    name: str | None = None
    """The answer repeats it."""
    instructions: str | list[DecisionPart] | None = None
    """The statement, or what is to be chosen or rated."""
    choices: list[DecisionChoice] | None = None
    """Of a choice: 2 to 255, each once."""
    levels: list[DecisionLevel] | None = None
    """Of a score, from the lowest to the highest."""


class DecisionChoice(OpenAIStruct, frozen=True, kw_only=True):
    """One of the values to choose from."""

    value: str | bool | None = None
    """`true` and `"true"` are two values."""
    description: str | None = None


class DecisionLevel(OpenAIStruct, frozen=True, kw_only=True):
    """One level of a scale."""

    label: str | None = None
    description: str | None = None


class Decision(OpenAIStruct, frozen=True, kw_only=True):
    """Response of decisions."""

    answers: list[DecisionAnswer] | None = None
    """One for each question, in their order."""
    model: str | None = None
    usage: DecisionUsage | None = None


class DecisionAnswer(OpenAIStruct, frozen=True, kw_only=True):
    """The answer to one question."""

    type: str | None = None
    """That of the question, or `refusal`: the model declines this question, others stand."""
    name: str | None = None
    """That of the question."""
    probability: float | None = None
    """Of a predicate: that it is true."""
    choice: str | bool | None = None
    """Of a choice: the most probable value."""
    score: float | None = None
    """Of a score: the mean of the levels' values, weighted by their probabilities."""
    confidence: float | None = None
    """Of a choice and of a score."""
    probabilities: list[DecisionProbability] | None = None
    """Of a choice and of a score: one for each value or level."""


class DecisionProbability(OpenAIStruct, frozen=True, kw_only=True):
    """How probable one value, or one level, is."""

    value: str | bool | int | None = None
    """Of a choice its value, of a level its number."""
    label: str | None = None
    """Of a level."""
    probability: float | None = None


class DecisionUsage(OpenAIStruct, frozen=True, kw_only=True):
    """Token counts."""

    input_tokens: int | None = None
    input_tokens_details: DecisionInputTokensDetails | None = None
    output_tokens: int | None = None
    output_tokens_details: DecisionOutputTokensDetails | None = None
    total_tokens: int | None = None


class DecisionInputTokensDetails(OpenAIStruct, frozen=True, kw_only=True):
    """Parts of `DecisionUsage.input_tokens`."""

    cached_tokens: int | None = None
    cache_write_tokens: int | None = None


class DecisionOutputTokensDetails(OpenAIStruct, frozen=True, kw_only=True):
    """Parts of `DecisionUsage.output_tokens`."""

    reasoning_tokens: int | None = None


# --- System One, at OpenRouter and Ollama ---------------------------------------------------------


class SystemOneRequest(OpenAIRequestStruct, frozen=True, kw_only=True):
    """Body of systemone."""

    model: str
    """Such as `typesafe/jev-1`."""
    state: str | dict[str, Any] | list[Any]
    """What all questions are about: a text, or any JSON object or array."""
    questions: dict[str, SystemOneQuestion]
    """At most 200, by a name that the answer has too."""
    provider: dict[str, Any] | None = None
    """As `ChatCompletionRequest.provider`."""
    session_id: str | None = None
    """Groups requests in OpenRouter's logs. At most 256 characters."""
    trace: dict[str, Any] | None = None
    """Ids and names for what OpenRouter sends to observability tools."""
    user: str | None = None
    keep_alive: int | float | str | None = None
    """Of Ollama: how long the model stays loaded, as `wire.ollama.ChatRequest.keep_alive`."""


class SystemOneQuestion(OpenAIStruct, frozen=True, kw_only=True):
    """One question."""

    type: str | None = None
    """`noul` (is it true), `choice` (which of these), `score` (how much), `box` (where in the
    image)."""
    instructions: str | dict[str, Any] | list[Any] | None = None
    """The statement, or what is to be chosen or rated: a text, or JSON."""
    criteria: dict[str, Any] | list[Any] | None = None
    """Of a noul: what `true` and `false` mean, both or neither. Of a choice: each option, and what
    it means or null. Of a score: what each level means, from 0 on. A meaning is a text, or JSON."""


class SystemOneResponse(OpenAIStruct, frozen=True, kw_only=True):
    """Response of systemone."""

    answers: dict[str, SystemOneAnswer] | None = None
    """By the names of the questions."""
    model: str | None = None
    usage: SystemOneUsage | None = None
    id: str | None = None
    provider: str | None = None
    """Who served the model."""

    def charges(self) -> Charges:
        """Return the facts of the response, besides its token counts, that decide its price."""
        from wire.catalogue.cost import Charges, vendor_figure

        return Charges(vendor=vendor_figure(self.usage.cost if self.usage else None))


class SystemOneAnswer(OpenAIStruct, frozen=True, kw_only=True):
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
    probabilities: dict[str, float] | None = None
    """By option, or by the number of a level."""
    legend: dict[str, Any] | None = None
    """Of a score: what each level means, by its number."""
    box: SystemOneBox | None = None


class SystemOneBox(OpenAIStruct, frozen=True, kw_only=True):
    """A part of an image."""

    left: float | None = None
    top: float | None = None
    right: float | None = None
    bottom: float | None = None


class SystemOneUsage(OpenAIStruct, frozen=True, kw_only=True):
    """Token counts."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    """In USD."""
