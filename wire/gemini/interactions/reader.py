"""Reads the bodies of Interactions, and decides when an interaction is complete.

- A stream is complete when `interaction.completed` was read, whatever its status is. `[DONE]` ends
  the body and completes nothing: a stream that is cut has no other sign.
- The event `error` ends the reading, and so does an interaction that failed.
- Only the `event_type` in the JSON counts. An event of an unknown type is handed out and changes
  nothing. An event that is not JSON is an error, because the interaction would lack its content.
- A complete interaction in place of events is converted to the events of its stream.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, TypeVar

import msgspec

from wire.core import reading
from wire.core.arguments import checked_arguments
from wire.core.error_words import ErrorReader
from wire.core.errors import APIError, StreamInvalid
from wire.core.framing import BOM
from wire.core.lenient import decoded, fields_of, items_of
from wire.core.limits import Limits
from wire.core.memory import WireStruct
from wire.core.reading import FramedReader, has_fields, parse_whole, shown
from wire.gemini.interactions.error_body import ERRORS
from wire.gemini.interactions.fold import END, fold, keep_bytes
from wire.gemini.interactions.step_events import events_of
from wire.gemini.interactions.types import Interaction, InteractionEvent

W = TypeVar("W", bound=WireStruct)

# --- complete bodies ------------------------------------------------------------------------------


@checked_arguments()
def parse_interaction(body: bytes) -> Interaction:
    """Decode a complete interaction, also one that was sent as events.

    Raises the provider's error if the body contains one or the interaction failed,
    `StreamIncomplete` if it is truncated, `StreamInvalid` if the body is no interaction.
    """
    return parse_whole(
        body,
        lambda data: decoded(data, Interaction),
        lambda interaction, _: _is_interaction(interaction) and interaction.status != "failed",
        keep_bytes,
        ChunkReader,
        fold,
    )


@checked_arguments()
def parse_stored(body: bytes) -> Interaction:
    """Decode a stored interaction; one that failed is returned, with its `errors`."""
    interaction = reading.parse_plain(
        Interaction, body, ERRORS, _is_interaction, may_be_empty=False
    )
    return keep_bytes(interaction, body.removeprefix(BOM))


def _is_interaction(interaction: Interaction) -> bool:
    """Return whether it is an interaction. One in the background has no steps yet."""
    has_state = interaction.status is not None or interaction.steps is not None
    return has_state and bool(
        interaction.steps is not None
        or interaction.object == "interaction"
        or interaction.id
        or interaction.usage is not None
    )


def parse_plain(kind: type[W], body: bytes) -> W:
    """Decode a complete body that is one struct, or empty.

    Raises the provider's error if the body contains one.
    """
    return reading.parse_plain(kind, body or b"{}", ERRORS, has_fields, may_be_empty=True)


# --- streams --------------------------------------------------------------------------------------


class ChunkReader(FramedReader[InteractionEvent]):
    """Decodes the body of one stream into events."""

    done: bool
    finished: bool
    __slots__ = (
        "_covered",
        "_goes_on",
        "_sent",
        "_token",
        "_whole",
        "hops",
        "interaction_id",
        "last_event_id",
    )

    errors: ClassVar[ErrorReader[Any]] = ERRORS
    value_name = "an event of Interactions"
    ending = END
    answer_name = "steps"
    chunk_type = InteractionEvent

    def __init__(self, limits: Limits = Limits()) -> None:  # noqa: B008  it is immutable
        super().__init__(limits)
        self.hops: int = 1
        """Requests whose bodies were read."""
        self._token = ""  # the last one: the answer can go on there
        self._begin()

    def _begin(self) -> None:
        """Begin the interaction of a request."""
        self._sent = self._token  # with this request
        self._covered = True  # no output came after the token
        self._whole = self._goes_on = False
        self.interaction_id: str = ""
        self.last_event_id: str = ""
        """The `event_id` of the last event; empty if the events have none."""

    def next_hop(self) -> None:
        """Begin the body of another request, whose interaction goes on where this one ended."""
        self.reopen()
        if self._kept is not None and self.count:
            self._kept.divide()
        self.hops += 1
        self._begin()

    def read(self, data: bytes, name: str) -> None:
        """Emit an event, or the events of a complete interaction; raise the error in it."""
        event = decoded(data, InteractionEvent)
        if event.event_type == "error" or (event.event_type is None and name == "error"):
            raise ERRORS.in_success(data, certain=True) or ERRORS.without_words(data)
        if event.event_type is None:
            for each in _events_of(data):
                self.emit(each)
        else:
            self.emit(event)

    def follow(self, chunk: InteractionEvent) -> None:
        """Record the last event, which ends the reading; raise the error of a failed run."""
        if chunk.event_id:
            self.last_event_id = chunk.event_id
        if chunk.interaction is not None and chunk.interaction.id:
            self.interaction_id = chunk.interaction.id
        has_output = chunk.event_type in ("step.start", "step.delta")
        self.answers = self.answers or has_output or chunk.event_type == END
        state = chunk.interaction
        token = chunk.continuation_token or (state.continuation_token if state else None)
        if token:
            self._token, self._covered = token, True
        elif has_output:
            self._covered = False
        if chunk.event_type == END:
            if state is not None and state.status == "failed":
                raise _failure_in(fields_of(chunk.raw).get("interaction"))
            self._goes_on = state is not None and state.status == "requires_continuation"
            self._whole = self.done = self.finished = True

    def end(self) -> None:
        """Handle `[DONE]`, which ends the body and completes nothing."""
        self.done = self.finished = self._whole

    @property
    def is_resumable(self) -> bool:
        """Whether the server can stream the events behind the last one."""
        return bool(self.last_event_id and self.interaction_id) and not self._whole

    @property
    def resume_token(self) -> str:
        """The token with which the answer goes on after all that was read; empty if none does."""
        return self._token if self._covered and self._token != self._sent else ""

    @property
    def continues(self) -> bool:
        """Whether this request reached its own limit, and the next one goes on."""
        return self._goes_on and bool(self.resume_token)

    def is_whole(self) -> bool:
        """Return whether a last event was read."""
        return self._whole


def _failure_in(interaction: Any) -> APIError:
    """Return the error of a failed interaction: the first of its list."""
    raw = bytes(interaction) if interaction is not None else b""
    for error in items_of(fields_of(interaction).get("errors")):
        found = ERRORS.in_success(b'{"error":' + bytes(error) + b"}", certain=True, raw=raw)
        if found is not None:
            return found
    return ERRORS.without_words(raw)


def _events_of(data: bytes) -> Iterator[InteractionEvent]:
    """Yield the events of a stream of a complete interaction.

    Raises the provider's error, or `StreamInvalid` if `data` is no interaction.
    """
    if not _is_interaction(decoded(data, Interaction)):
        error = ERRORS.in_success(data, certain=True)
        raise error or StreamInvalid(f"not an interaction: {shown(data)}", raw=data)
    for event in events_of(fields_of(msgspec.Raw(data))):
        yield decoded(msgspec.json.encode(event), InteractionEvent)
