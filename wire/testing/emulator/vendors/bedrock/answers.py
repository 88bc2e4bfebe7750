"""Answers of Converse as the server makes them, whole and as frames."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from wire.converse.families import family
from wire.converse.fold import fold
from wire.converse.replies import body_of, events_of, frame
from wire.core.event_stream import CONTENT_TYPE
from wire.neutral.messages import Citation, Message, Part, Reply, Text, Thought
from wire.testing.emulator.answer import Answer, json_answer, json_bytes
from wire.testing.emulator.model import Prompt, answer, numbered, pieces, thinking, written
from wire.testing.emulator.signing import digest
from wire.testing.emulator.sources import sources_of
from wire.testing.emulator.tokens import count


@dataclass(frozen=True, slots=True)
class Generation:
    """A request for an answer that was not refused."""

    model: str
    prompt: Prompt
    plain: Mapping[str, Any]
    """The JSON of the request."""
    streams: bool

    def render(self, reply: Reply, id: str, hops: int) -> Answer:
        """Render the reply of the small model as a response."""
        return self._answer(self._body(reply, id))

    def render_body(self, body: dict[str, Any], id: str) -> Answer:
        """Render a script's answer; a stream sends it as frames."""
        made = {**body_of(answer()), "usage": self._usage(answer())}
        return self._answer({**made, **body})

    def render_events(self, events: Sequence[Any], id: str) -> Answer:
        """Render a script's events; without a stream, the answer that they make."""
        if self.streams:
            return event_stream(events)
        whole = fold([msgspec.Raw(msgspec.json.encode(each)) for each in events])
        return self._answer(json.loads(whole.raw or b"{}"))

    def _answer(self, body: Mapping[str, Any]) -> Answer:
        if self.streams:
            return event_stream(events_of(body, pieces))
        return json_answer(json_bytes(dict(sorted(body.items()))))

    def _body(self, reply: Reply, id: str) -> dict[str, Any]:
        parts: list[Part] = []
        if reply.thought:
            parts.append(self._thought(reply.thought, id))
        searches = any(
            (tool.get("systemTool") or {}).get("name") == "nova_grounding"
            for tool in (self.plain.get("toolConfig") or {}).get("tools") or ()
        )
        citations: list[Citation] = list(sources_of(reply, searches=searches))
        if reply.text:
            parts.append(Text(reply.text))
        parts += numbered(reply, lambda at, name: f"tooluse_{digest(f'{id} {at} {name}')[:22]}")
        end = len(reply.text)
        cited = (msgspec.structs.replace(each, start=0, end=end) for each in citations)
        made = Reply(Message("assistant", tuple(parts), citations=tuple(cited)), reply.stop)
        return {**body_of(made), "usage": self._usage(reply)}

    def _thought(self, text: str, id: str) -> Thought:
        """Return a thought; those of Claude have a signature."""
        if not family(self.model).is_claude:
            return Thought(text)
        seed = f"{self.model} {id} {text}".encode()
        return Thought(text, signature=base64.b64encode(hashlib.sha256(seed).digest()).decode())

    def _usage(self, reply: Reply) -> dict[str, int]:
        given, output = prompt_tokens(self.plain), written(reply) + thinking(reply)
        return {"inputTokens": given, "outputTokens": output, "totalTokens": given + output}


def prompt_tokens(plain: Mapping[str, Any]) -> int:
    """Return the tokens of a prompt: of its texts, and of the JSON of everything else."""
    parts = (plain.get(name) for name in ("messages", "system", "toolConfig"))
    return sum(_tokens(part) for part in parts if part)


def _tokens(value: Any) -> int:
    if isinstance(value, str):
        return count(value)
    if isinstance(value, Mapping):
        if "bytes" in value:
            return 1 + len(str(value["bytes"])) // 1000
        return sum(map(_tokens, value.values()))
    return sum(map(_tokens, value)) if isinstance(value, list) else 1


def event_stream(events: Iterable[Mapping[str, Any]]) -> Answer:
    """Build a response of frames, a frame in each piece."""
    framed = (frame(name, fields) for event in events for name, fields in event.items())
    return Answer(200, (("content-type", CONTENT_TYPE),), tuple(framed))
