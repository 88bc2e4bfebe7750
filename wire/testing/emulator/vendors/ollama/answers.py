"""Answers of Ollama as the server makes them, whole and as lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from wire.catalogue.usage import Usage
from wire.neutral.messages import Message, Part, Reply, Text, Thought
from wire.ollama import generated, replies
from wire.ollama.fold import fold, fold_generated
from wire.testing.emulator.answer import Answer, json_answer, json_bytes
from wire.testing.emulator.model import Prompt, answer, numbered, pieces, thinking, written
from wire.testing.emulator.signing import digest
from wire.testing.emulator.vendors.ollama.errors import JSON


@dataclass(frozen=True, slots=True)
class Generation:
    """A request for an answer that was not refused."""

    model: str
    prompt: Prompt
    tokens: int
    """Tokens of the prompt."""
    streams: bool
    generates: bool = False
    """Whether it is one of /api/generate."""
    loaded: dict[str, Any] | None = None
    """The answer to a request that only loads or unloads a model."""

    @property
    def _side(self) -> Any:
        return generated if self.generates else replies

    def render(self, reply: Reply, id: str, hops: int) -> Answer:
        """Render the reply of the small model as a response."""
        return self._answer(self._body(reply, id))

    def render_body(self, body: dict[str, Any], id: str) -> Answer:
        """Render a script's answer; a stream sends it as lines."""
        return self._answer({**self._body(answer(), id), **body})

    def render_events(self, events: Sequence[Any], id: str) -> Answer:
        """Render a script's lines; without a stream, the answer that they make."""
        if self.streams:
            return lines(events)
        raws = [msgspec.Raw(msgspec.json.encode(each)) for each in events]
        whole: Any = fold_generated(raws) if self.generates else fold(raws)
        return self._answer(json.loads(whole.raw or msgspec.json.encode(whole)))

    def _answer(self, body: Mapping[str, Any]) -> Answer:
        if self.loaded is not None or not self.streams:
            return json_answer(json_bytes(self.loaded or body), content_type=JSON)
        return lines(self._side.events_of(body, pieces))

    def _body(self, reply: Reply, id: str) -> dict[str, Any]:
        parts: list[Part] = [Thought(reply.thought)] if reply.thought else []
        parts += [Text(reply.text)] if reply.text else []
        parts += numbered(reply, lambda at, name: f"call_{digest(f'{id} {at} {name}')[:8]}")
        made = replies.body_of(Reply(Message("assistant", tuple(parts)), reply.stop))
        body = {**made, "model": self.model, "created_at": "2026-01-01T00:00:00Z"}
        output = written(reply) + thinking(reply)
        counts = replies.counts_of(Usage(input=self.tokens, output=output))
        body |= counts
        return generated.generated(body) if self.generates else body


def lines(values: Iterable[Any]) -> Answer:
    """Build a response of lines, a line in each piece."""
    encoded = (json_bytes(each) + b"\n" for each in values)
    return Answer(200, (("content-type", replies.NDJSON),), tuple(encoded))
