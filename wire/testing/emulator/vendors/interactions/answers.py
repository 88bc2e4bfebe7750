"""Answers of Interactions as the server makes them, whole and as events."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from wire.gemini.interactions.fold import fold
from wire.gemini.interactions.replies import DONE, body_of
from wire.gemini.interactions.step_events import events_of
from wire.neutral.messages import Message, Part, Reply, Text, Thought
from wire.testing.emulator.answer import Answer, json_answer, json_bytes
from wire.testing.emulator.model import Prompt, numbered, pieces, thinking, written
from wire.testing.emulator.moments import timestamp
from wire.testing.emulator.signing import digest, mac
from wire.testing.emulator.sources import sources_of
from wire.testing.emulator.storage import Remembered
from wire.testing.emulator.tokens import count
from wire.testing.emulator.vendors.interactions.continuation import Continuations
from wire.testing.emulator.vendors.interactions.errors import frame

EVENTS = "text/event-stream"


@dataclass(frozen=True, slots=True)
class Thoughts:
    """The signatures of thoughts of one emulator. One is valid for the summary of its thought."""

    seed: int
    scripted: Remembered

    def signature(self, summary: Any) -> str:
        """Return the signature of a thought."""
        text = json.dumps(summary or [], sort_keys=True)
        return base64.b64encode(mac(self.seed, b"thought " + text.encode())).decode()

    def is_valid(self, step: Mapping[str, Any]) -> bool:
        """Return whether a thought comes back as it was sent, or as a script sent it."""
        signature = str(step.get("signature"))
        return signature in self.scripted or signature == self.signature(step.get("summary"))

    def remember(self, steps: Iterable[Any]) -> None:
        """Accept the signatures of steps that a script sends."""
        for step in steps:
            signature = step.get("signature") if isinstance(step, Mapping) else None
            if isinstance(signature, str):
                self.scripted[signature] = True


@dataclass(frozen=True, slots=True)
class Generation:
    """A request for an interaction that was not refused."""

    prompt: Prompt
    plain: Mapping[str, Any]
    """The JSON of the request."""
    steps: Sequence[Any]
    """The steps of the whole conversation so far."""
    thoughts: Thoughts
    keep: Callable[[dict[str, Any]], None]
    """Stores an interaction."""
    continuations: Continuations

    @property
    def model(self) -> str:
        """The name of the requested model, or agent."""
        return str(self.plain.get("model") or self.plain.get("agent") or "")

    def render(self, reply: Reply, id: str, hops: int) -> Answer:
        """Render the reply of the small model as an interaction."""
        head = self._head(id)
        part, goes_on = self.continuations.part(reply, hops, self.plain, head["id"])
        return self._answer({**head, **self._body(part, id), **goes_on})

    def render_body(self, body: dict[str, Any], id: str) -> Answer:
        """Render a script's interaction; a stream sends it as events."""
        self.thoughts.remember(body.get("steps") or ())
        self.continuations.remember(body)
        return self._answer({**self._head(id), "status": "completed", "steps": [], **body})

    def render_events(self, events: Sequence[Any], id: str) -> Answer:
        """Render a script's events; without a stream, the interaction that they make."""
        whole = fold([msgspec.Raw(msgspec.json.encode(each)) for each in events])
        made = {**self._head(id), **msgspec.to_builtins(whole)}
        self.thoughts.remember(made.get("steps") or ())
        self.continuations.remember(made)
        if self.plain.get("stream"):
            self.keep(made)
            return event_stream(events)
        return self._answer(made)

    def _answer(self, body: dict[str, Any]) -> Answer:
        self.keep(body)
        background = bool(self.plain.get("background"))
        if self.plain.get("store") is False:
            body = {**body, "id": ""} if self.plain.get("stream") else _without(body, "id")
        if self.plain.get("stream"):
            return event_stream(numbered_events(body) if background else events_of(body, pieces))
        if background:
            body = {**_without(body, "steps", "usage"), "status": "in_progress"}
        return json_answer(json_bytes(body))

    def _head(self, id: str) -> dict[str, Any]:
        kind = "model" if self.plain.get("model") else "agent"
        previous = self.plain.get("previous_interaction_id")
        return {
            "id": f"v1_{digest(id)[:44]}",
            "object": "interaction",
            kind: self.model,
            "created": timestamp(0),
            "updated": timestamp(1),
            "service_tier": "standard",
            **({"previous_interaction_id": previous} if previous else {}),
        }

    def _body(self, reply: Reply, id: str) -> dict[str, Any]:
        parts: list[Part] = []
        searches = any(
            isinstance(tool, Mapping) and tool.get("type") == "google_search"
            for tool in self.plain.get("tools") or ()
        )
        citations = sources_of(reply, searches=searches)
        if reply.text:
            parts.append(Text(reply.text))
        parts += numbered(reply, lambda at, name: digest(f"{id} {at} {name}")[:8])
        thought = self._thought(reply)
        message = Message("assistant", (thought, *parts), citations=tuple(citations))
        body = body_of(Reply(message, reply.stop))
        kept = ("status", "steps", "errors")
        return {**{key: body[key] for key in kept if key in body}, "usage": self._usage(reply)}

    def _thought(self, reply: Reply) -> Thought:
        """Return a thought, whose text only a request for summaries gets."""
        config = self.plain.get("generation_config") or {}
        text = reply.thought if config.get("thinking_summaries") == "auto" else ""
        summary = [{"type": "text", "text": text}] if text else []
        return Thought(text, signature=self.thoughts.signature(summary))

    def _usage(self, reply: Reply) -> dict[str, Any]:
        system = self.plain.get("system_instruction") or ""
        given = sum(map(_tokens, (*self.steps, system, self.plain.get("tools") or "")))
        output, thought = written(reply), thinking(reply)
        return {
            "total_tokens": given + output + thought,
            "total_input_tokens": given,
            "input_tokens_by_modality": [{"modality": "text", "tokens": given}],
            "total_cached_tokens": 0,
            "total_output_tokens": output,
            "total_tool_use_tokens": 0,
            "total_thought_tokens": thought,
        }


def _without(body: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in body.items() if key not in keys}


def _tokens(value: Any) -> int:
    if isinstance(value, str):
        return count(value)
    if isinstance(value, Mapping):
        return sum(
            _tokens(each) for key, each in value.items() if key not in ("data", "signature", "type")
        )
    return sum(map(_tokens, value)) if isinstance(value, list) else 0


def numbered_events(body: Mapping[str, Any], after: str = "") -> list[dict[str, Any]]:
    """Return the events of an interaction with ids; those after an id."""
    events = list(events_of(body, pieces))
    numbered = [{**each, "event_id": f"e{number}"} for number, each in enumerate(events)]
    ids = [each["event_id"] for each in numbered]
    return numbered[ids.index(after) + 1 :] if after in ids else numbered


def event_stream(events: Iterable[Any]) -> Answer:
    """Build a response of server-sent events, with the frame that ends it."""
    answer = Answer(200, (("content-type", EVENTS),), tuple(map(frame, events)))
    return replace(answer, pieces=(*answer.pieces, DONE))
