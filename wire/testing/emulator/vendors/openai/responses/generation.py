"""A request for a response that was not refused, and the answers to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wire.neutral.messages import Reply
from wire.testing.emulator.answer import Answer
from wire.testing.emulator.model import Prompt
from wire.testing.emulator.vendors.openai.chat import body_answer
from wire.testing.emulator.vendors.openai.responses.encrypted import EncryptedContents
from wire.testing.emulator.vendors.openai.responses.events import (
    Events,
    event_stream,
    events_of,
    folded,
)
from wire.testing.emulator.vendors.openai.responses.hosts import Host
from wire.testing.emulator.vendors.openai.responses.writer import ResponseWriter

NOT_COMPLETE: Mapping[str, Any] = {
    "status": "queued",
    "output": [],
    "usage": None,
    "completed_at": None,
}
"""The fields of a background response until it is complete."""


@dataclass(frozen=True, slots=True)
class Generation:
    """A request for a response that was not refused."""

    prompt: Prompt
    writer: ResponseWriter
    keep: Callable[[Mapping[str, Any]], None]
    """Stores a response."""

    @property
    def model(self) -> str:
        """The name of the requested model."""
        return str(self.writer.request["model"])

    def render(self, reply: Reply, id: str, hops: int) -> Answer:
        """Render the reply of the small model as a response."""
        response = self.writer.response(reply, id)
        return self._answer(response, error_only=reply.stop.raw == "error")

    def render_body(self, body: dict[str, Any], id: str) -> Answer:
        """Render a script's response; a stream sends it as events.

        Its encrypted content is accepted later on.
        """
        self.writer.contents.remember(body.get("output") or ())
        return self._answer(self.writer.with_echo(body, id))

    def render_events(self, events: Sequence[Any], id: str) -> Answer:
        """Render a script's events; without a stream, the response that they make."""
        response = self.writer.with_echo(folded(events), id)
        # Each event may have a content of its own.
        items = [each.get("item") for each in events if isinstance(each, Mapping)]
        self.writer.contents.remember([*items, *response["output"]])
        if not self.writer.request.get("stream"):
            return self._answer(response)
        self.keep(response)
        return event_stream(events, self.writer.host)

    def _answer(self, response: dict[str, Any], *, error_only: bool = False) -> Answer:
        self.keep(response)
        if self.writer.request.get("stream"):
            own = self.writer
            events = stream_of(response, own.host, own.owner, own.contents, error_only=error_only)
            return event_stream(events, own.host)
        if response.get("background"):
            return body_answer({**response, **NOT_COMPLETE}, 200)
        return body_answer(response, 200)


def stream_of(
    response: Mapping[str, Any],
    host: Host,
    owner: str,
    contents: EncryptedContents,
    *,
    error_only: bool = False,
) -> Events:
    """Return the events of a response."""

    def staged(item: Mapping[str, Any], stage: str) -> Mapping[str, Any]:
        content, id = item.get("encrypted_content"), str(item.get("id"))
        # Of a script's item all events have the content that the script says.
        if content is None or content != contents.of(owner, id):
            return item
        if host.seals_each_event:
            return {**item, "encrypted_content": contents.of(owner, id, stage)}
        if stage == "added":
            return {key: value for key, value in item.items() if key != "encrypted_content"}
        return item

    return events_of(response, host, staged, error_only=error_only)
