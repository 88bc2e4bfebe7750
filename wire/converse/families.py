"""Model families: what Bedrock takes for a model, by its name.

The patterns are groups of `wire/catalogue/facts.json`, with their sources. The name of an inference
profile has a region before it, an ARN ends with the name. What only an account knows, such as the
model behind an application's profile, is in no group.
"""

from __future__ import annotations

import functools

import msgspec

from wire.catalogue.facts import UNKNOWN, ModelFacts, facts, is_in


class Family(msgspec.Struct, frozen=True):
    """What is known of a model at Bedrock."""

    begins_anywhere: bool = False
    """The first message may be one of the assistant."""
    results_alone: bool = False
    """A tool result stands alone in its turn, and a tool call too."""
    free_choice: bool = False
    """`toolChoice` is `auto` or absent."""
    no_status: bool = False
    """`toolResult.status` is refused."""
    schemas: bool = False
    """`outputConfig.textFormat` is known to be enforced."""
    caches: bool = False
    """The model keeps beginnings of prompts at cache points."""
    effort: str = ""
    """The key of the effort in `additionalModelRequestFields`; empty if none is known."""
    known: ModelFacts = UNKNOWN
    """What the catalogue knows of the model."""

    @property
    def is_claude(self) -> bool:
        """Whether the model is one of Claude's, whose own rules hold here, too."""
        return self.effort == "thinking"


_EFFORTS = ("thinking", "reasoningConfig", "reasoning_effort", "reasoning_config")
"""Keys of the effort. Each is a group of models, too."""


@functools.lru_cache(maxsize=256)
def family(model: str) -> Family:
    """Return what is known of a model, by its name or ARN.

    >>> family("us.anthropic.claude-sonnet-4-6").is_claude, family("meta.llama3-1-8b").results_alone
    (True, True)
    """
    name = model.rpartition("/")[2] if model.startswith("arn:") else model
    return Family(
        begins_anywhere=is_in("bedrock.begins-anywhere", name),
        results_alone=is_in("bedrock.results-alone", name),
        free_choice=is_in("bedrock.free-choice", name),
        no_status=is_in("bedrock.no-status", name),
        schemas=is_in("bedrock.schemas", name),
        caches=is_in("bedrock.caches", name),
        effort=next((each for each in _EFFORTS if is_in(f"bedrock.{each}", name)), ""),
        known=facts(name),
    )
