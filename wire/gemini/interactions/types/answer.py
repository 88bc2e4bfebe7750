"""Interactions, and the events of their streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from wire.core.facts import TRAFFIC, Facts
from wire.gemini.interactions.types.base import InteractionsStruct
from wire.gemini.interactions.types.request import (
    AgentConfig,
    Environment,
    GenerationConfig,
    ResponseFormat,
    SafetySetting,
    WebhookConfig,
)
from wire.gemini.interactions.types.steps import Delta, Step
from wire.gemini.interactions.types.tools import Tool

if TYPE_CHECKING:
    from wire.catalogue.cost import Charges


class Interaction(InteractionsStruct, frozen=True, kw_only=True):
    """An interaction. One that runs in the background has no steps until it has ended."""

    id: str | None = None
    """Absent, or empty, if the interaction is not stored."""
    object: str | None = None
    """`interaction`."""
    status: str | None = None
    """`in_progress`, `queued`, `requires_action`, `completed`, `failed`, `cancelled`, `incomplete`,
    `budget_exceeded`, `requires_continuation`. `completed` may have a call for the client, too.
    """
    model: str | None = None
    """The name that was asked for."""
    agent: str | None = None
    created: str | None = None
    updated: str | None = None
    steps: list[Step] | None = None
    """What the model did; of `get_interaction` also the input."""
    usage: Usage | None = None
    errors: list[InteractionError] | None = None
    """In `failed`."""
    previous_interaction_id: str | None = None
    continuation_token: str | None = None
    environment_id: str | None = None
    service_tier: str | None = None

    # --- repeated from the request
    input: Any = None
    system_instruction: str | None = None
    tools: list[Tool] | None = None
    generation_config: GenerationConfig | None = None
    agent_config: AgentConfig | None = None
    response_format: ResponseFormat | list[ResponseFormat] | None = None
    response_mime_type: str | None = None
    response_modalities: list[str] | None = None
    safety_settings: list[SafetySetting] | None = None
    environment: str | Environment | None = None
    webhook_config: WebhookConfig | None = None
    cached_content: str | None = None
    labels: dict[str, str] | None = None

    @property
    def text(self) -> str:
        """The text of the model, without thoughts."""
        steps = (step for step in self.steps or () if step.type == "model_output")
        contents = (each for step in steps for each in step.content or ())
        return "".join(each.text or "" for each in contents if each.type == "text")

    def charges(self) -> Charges:
        """Return the facts of the interaction, besides its token counts, that decide its price."""
        from wire.catalogue.cost import Charges

        counts = (self.usage.grounding_tool_count if self.usage is not None else None) or ()
        charged = sorted(each.type or "a tool" for each in counts if each.count)
        return Charges(
            tier=self.service_tier or "",
            unpriced=f"{charged[0]} is charged apart, by a price that the catalogue lacks"
            if charged
            else "",
        )


class DeletedInteraction(InteractionsStruct, frozen=True, kw_only=True):
    """The empty answer to a call that deleted an interaction."""


class InteractionError(InteractionsStruct, frozen=True, kw_only=True):
    """An error."""

    code: str | None = None
    """A word, such as `invalid_request`."""
    message: str | None = None


class ErrorBody(InteractionsStruct, frozen=True, kw_only=True):
    """Body of an error. The gateway before the API answers in the form of generateContent."""

    error: InteractionError | None = None


class Usage(InteractionsStruct, frozen=True, kw_only=True):
    """Token counts. Thoughts are outside of the output; cached tokens are inside of the input."""

    total_input_tokens: int | None = None
    total_output_tokens: int | None = None
    total_thought_tokens: int | None = None
    total_cached_tokens: int | None = None
    total_tool_use_tokens: int | None = None
    total_tokens: int | None = None
    initial_input_tokens: int | None = None
    input_tokens_by_modality: list[ModalityTokens] | None = None
    output_tokens_by_modality: list[ModalityTokens] | None = None
    cached_tokens_by_modality: list[ModalityTokens] | None = None
    tool_use_tokens_by_modality: list[ModalityTokens] | None = None
    grounding_tool_count: list[GroundingToolCount] | None = None
    raw_prompt_token: Annotated[int | None, Facts(source=TRAFFIC)] = None


class ModalityTokens(InteractionsStruct, frozen=True, kw_only=True):
    """The tokens of one kind of content."""

    modality: str | None = None
    """`text`, `image`, `audio`, `video`, `document`."""
    tokens: int | None = None


class GroundingToolCount(InteractionsStruct, frozen=True, kw_only=True):
    """How often a tool was used."""

    type: str | None = None
    """`google_search`, `google_maps`, `retrieval`."""
    count: int | None = None


class InteractionEvent(InteractionsStruct, frozen=True, kw_only=True):
    """An event of a stream. `event_type` names the kind, which has some of these fields."""

    event_type: str | None = None
    """`interaction.created`, `interaction.status_update`, `step.start`, `step.delta`, `step.stop`,
    `interaction.completed`, `error`.
    """
    event_id: str | None = None
    """Resumes a stream behind this event."""
    index: int | None = None
    """Of a step."""
    step: Step | None = None
    """Of `step.start`; the deltas fill it."""
    delta: Delta | None = None
    interaction: Interaction | None = None
    """Of `interaction.created` and `interaction.completed`, without its steps."""
    interaction_id: str | None = None
    status: str | None = None
    continuation_token: str | None = None
    usage: Usage | None = None
    step_usage: Usage | None = None
    error: InteractionError | None = None
    """The end of the stream."""
    metadata: EventMetadata | None = None

    @property
    def text(self) -> str:
        """The text that the event adds to the output of the model."""
        delta = self.delta
        return delta.text or "" if delta is not None and delta.type == "text" else ""


class EventMetadata(InteractionsStruct, frozen=True, kw_only=True):
    """Facts beside an event."""

    total_usage: Usage | None = None
    """Since July 2026."""
    usage: Annotated[Usage | None, Facts(source=TRAFFIC)] = None
    """The older name of `total_usage`."""
