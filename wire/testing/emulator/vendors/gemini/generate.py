"""generateContent and streamGenerateContent: from a request to a prompt, and to a response."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from wire.core.memory import encode
from wire.gemini.received import parse_request
from wire.gemini.types import GenerateContentRequest, GenerationConfig, ThinkingConfig
from wire.neutral.messages import Reply
from wire.testing.emulator.answer import Answer
from wire.testing.emulator.model import Prompt, thinking_of
from wire.testing.emulator.vendors.gemini.bodies import array, events, whole
from wire.testing.emulator.vendors.gemini.catalog import Traits
from wire.testing.emulator.vendors.gemini.continuation import Continuations
from wire.testing.emulator.vendors.gemini.responses import ResponseWriter, combined

_TIER_HEADERS = {"x-gemini-service-tier": "standard"}


def prompt_of(request: GenerateContentRequest, model: Traits, *, continues: bool) -> Prompt:
    """Return a request as the small model reads it."""
    config = request.generation_config or GenerationConfig()
    thinking = config.thinking_config or ThinkingConfig()
    thinks = model.thinks or (thinking.thinking_budget or 0) > 0
    level = None if thinking.thinking_level is None else str(thinking.thinking_level)
    return Prompt(
        parse_request(encode(request)).request,
        thinking_of(level, thinking.thinking_budget) if thinks else 0,
        beside=True,
        enum=config.response_mime_type == "text/x.enum",
        continues=continues,
    )


@dataclass(frozen=True, slots=True)
class Generation:
    """A request for model output that was not refused."""

    prompt: Prompt
    writer: ResponseWriter
    streams: bool
    sse: bool
    """Whether the stream is server-sent events and not an array."""
    continuations: Continuations

    @property
    def model(self) -> str:
        """The name of the requested model."""
        return self.writer.model.name

    def render(self, reply: Reply, id: str, hops: int) -> Answer:
        """Render the reply of the small model as a response."""
        bodies = self.continuations.bodies(reply, hops, self.writer, id, streams=self.streams)
        return self._answer(list(bodies))

    def render_body(self, body: dict[str, Any], id: str) -> Answer:
        """Render one body of a script; an error object is sent unchanged."""
        return self._answer([body if "error" in body else self.writer.with_ids(body, id)])

    def render_events(self, events: Sequence[Any], id: str) -> Answer:
        """Render the chunks of a script as a response."""
        chunks = [self.writer.with_ids(each, id) for each in events]
        return self._answer(chunks if self.streams else [combined(chunks)])

    def _answer(self, chunks: list[dict[str, Any]]) -> Answer:
        for chunk in chunks:
            self.writer.remember(chunk)
        if self.streams:
            return events(chunks) if self.sse else array(chunks)
        return whole(chunks[0], headers=_TIER_HEADERS if self.writer.host == "gemini" else {})
