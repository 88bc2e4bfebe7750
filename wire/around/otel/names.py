"""The names of attributes, by version of the GenAI conventions of OpenTelemetry."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from wire.catalogue.usage import Usage


class Names(msgspec.Struct, frozen=True, kw_only=True):
    """Attribute names that differ between versions of the conventions."""

    provider: str
    prompt: str
    """Of the body as it is sent."""
    answer: str
    messages: str = ""
    """Empty here and below: the version has no such attribute."""
    system: str = ""
    tools: str = ""
    cached: str = ""
    cache_written: str = ""
    reasoning: str = ""
    stream: str = ""
    first_chunk: str = ""
    arguments: str = ""
    result: str = ""
    workflow: str = ""
    providers: Mapping[str, str]
    """Name of a provider here, without its region, to the name in the conventions."""

    def provider_of(self, provider: str) -> str:
        """Return a provider's name in the conventions.

        >>> CONVENTIONS["1.36"].provider_of("kimi@cn")
        'kimi'
        """
        family = provider.partition("@")[0]
        return self.providers.get(provider, self.providers.get(family, family))

    def counts(self, usage: Usage) -> dict[str, int]:
        """Return the attributes of token counts."""
        counts = {
            "gen_ai.usage.input_tokens": usage.input,
            "gen_ai.usage.output_tokens": usage.output,
        }
        for name, count in (
            (self.cached, usage.cached),
            (self.cache_written, usage.cache_written),
            (self.reasoning, usage.reasoning),
        ):
            if name and count:
                counts[name] = count
        return counts


_PROVIDERS = {
    "azure": "azure.ai.openai",
    "chatgpt": "openai",
    "gemini": "gcp.gemini",
    "gemini@vertex": "gcp.vertex_ai",
    "gemini@vertex-interactions": "gcp.vertex_ai",
    "mistral": "mistral_ai",
    "xai": "x_ai",
}

CONVENTIONS: Mapping[str, Names] = {
    "1.41": Names(
        provider="gen_ai.provider.name",
        prompt="wire.request.body",
        answer="gen_ai.output.messages",
        messages="gen_ai.input.messages",
        system="gen_ai.system_instructions",
        tools="gen_ai.tool.definitions",
        cached="gen_ai.usage.cache_read.input_tokens",
        cache_written="gen_ai.usage.cache_creation.input_tokens",
        reasoning="gen_ai.usage.reasoning.output_tokens",
        stream="gen_ai.request.stream",
        first_chunk="gen_ai.response.time_to_first_chunk",
        arguments="gen_ai.tool.call.arguments",
        result="gen_ai.tool.call.result",
        workflow="gen_ai.workflow.name",
        providers=_PROVIDERS,
    ),
    "1.36": Names(
        provider="gen_ai.system",
        prompt="gen_ai.prompt",
        answer="gen_ai.completion",
        providers={**_PROVIDERS, "xai": "xai"},
    ),
}
"""Version of the semantic conventions to its names: the last one that was published before they
moved to a repository of their own, and the last one with `gen_ai.system`.

Source: open-telemetry/semantic-conventions, docs/gen-ai, v1.41.0 and v1.36.0; read 2026-11-23.
"""

UNKNOWN_ERROR = "_OTHER"
"""The value that OpenTelemetry reserves for an error that is not known."""
