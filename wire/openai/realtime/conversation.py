"""A session of Realtime as the neutral one: what is sent, and what the server's events mean.

Three rules of the protocol shape it. One response is made at a time, so one that is asked for
meanwhile waits for `response.done`. A call gets its results as items, and a response has to be
asked for after them. The server believes that the user heard all that it has made, until a
`conversation.item.truncate` says how much it was.
"""

from __future__ import annotations

import base64
from collections import deque
from collections.abc import Iterator
from typing import Any

import msgspec

from wire.catalogue.stops import stop_word, stopped
from wire.catalogue.usage import Usage
from wire.core.decoders import from_base64
from wire.core.errors import APIError, ConfigurationError
from wire.core.lenient import plain_fields
from wire.core.memory import Note
from wire.core.provider import Provider
from wire.neutral.live import (
    Interrupted,
    LiveEvent,
    LiveRequest,
    Refused,
    SpeechEnd,
    SpeechStart,
    TranscriptDelta,
    refuse_settings,
)
from wire.neutral.live_turns import BYTES_A_SAMPLE, LiveRecord, LiveTurn
from wire.neutral.messages import (
    Done,
    MediaDelta,
    Message,
    Origin,
    ProviderEvent,
    Reply,
    Stop,
    TextDelta,
    ToolCall,
    ToolCallEnd,
    ToolResult,
    with_answer,
    with_origin,
)
from wire.neutral.messages import (
    Part as NeutralPart,
)
from wire.openai.common.arguments import arguments_of
from wire.openai.common.rows import provider_row
from wire.openai.realtime.endpoints import WIRE, socket
from wire.openai.realtime.events import event_name
from wire.openai.realtime.hosts import realtime_host
from wire.openai.realtime.rendering import (
    RATE,
    items_of,
    message_item,
    result_item,
    session_of,
)
from wire.openai.realtime.types import (
    ClientEvent,
    Item,
    Response,
    ServerEvent,
    StatusDetails,
)
from wire.openai.realtime.types import Usage as WireUsage

_SETTINGS = ("system", "tools", "tool_choice", "max_tokens", "effort", "options")
_ALREADY = "conversation_already_has_active_response"
"""The code of a response that was asked for while the server began one by itself."""
_SILENT = frozenset(
    {
        "conversation.created",
        "conversation.item.added",
        "conversation.item.deleted",
        "conversation.item.done",
        "conversation.item.retrieved",
        "conversation.item.truncated",
        "input_audio_buffer.cleared",
        "ping",
        "rate_limits.updated",
        "response.content_part.added",
        "response.content_part.done",
        "response.function_call_arguments.delta",
        "response.output_audio.done",
        "response.output_audio_transcript.done",
        "response.output_item.added",
        "response.output_text.done",
        "session.created",
        "session.updated",
    }
)
"""Events that say nothing that is not in others, or only confirm what was sent."""


class RealtimeConversation(LiveRecord):
    """One session; satisfies `wire.neutral.live.LiveConversation`."""

    input_rate = output_rate = RATE
    handle = ""
    kept = 0

    def __init__(self, request: LiveRequest, model: str, provider: Provider | str = "") -> None:
        self._row = provider if isinstance(provider, Provider) else provider_row(provider)
        host = realtime_host(self._row)
        if host is None:
            raise ConfigurationError(
                f"{self._row.name} has no live sessions", provider=self._row.name
            )
        refuse_settings(request.request, _SETTINGS)
        super().__init__(request.before)
        self._model = model
        self.call = socket(model)
        self.outbox: deque[ClientEvent] = deque()
        self._settings = session_of(request, host, self._row, self.notes)
        self._items: list[tuple[str, LiveTurn, float]] = []
        """Items with sound: id, turn, and the second of the turn's sound at which each begins."""
        self._active = ""
        self._asked = self._wants = self._is_cut = False

    # --- to the server

    def begin(self) -> None:
        """Send the settings and the conversation before."""
        self.outbox.append(ClientEvent(type="session.update", session=self._settings))
        for index, message in enumerate(self._turns.messages):
            for item in items_of(message, f"messages[{index}]", self.notes):
                self.outbox.append(ClientEvent(type="conversation.item.create", item=item))

    def send(self, parts: tuple[NeutralPart, ...]) -> None:
        """Send texts, pictures and results, and ask for an answer."""
        results = [part for part in parts if isinstance(part, ToolResult)]
        others = tuple(part for part in parts if not isinstance(part, ToolResult))
        item = message_item(Message("user", others), "parts", self.notes) if others else None
        self._turns.answer(results)
        if item is not None:
            self._turns.add(LiveTurn("user")).parts = others
            self.outbox.append(ClientEvent(type="conversation.item.create", item=item))
        self._wants = True
        self._ask()

    def send_sound(self, data: bytes) -> None:
        """Send a piece of sound."""
        audio = base64.b64encode(data).decode()
        self.outbox.append(ClientEvent(type="input_audio_buffer.append", audio=audio))

    def end_sound(self) -> None:
        """Commit the sound, and ask for an answer."""
        self.outbox.append(ClientEvent(type="input_audio_buffer.commit"))
        self._wants = True
        self._ask()

    def interrupt(self, heard: float | None) -> None:
        """Cancel the response, and tell how much of its sound was heard."""
        if self._active:
            self._is_cut = True
            self.outbox.append(ClientEvent(type="response.cancel"))
        turn = self._turns.last_answer
        if heard is None or turn is None:
            return
        turn.heard = min(heard, turn.seconds)
        items = [(id, begin) for id, each, begin in self._items if each is turn]
        ends = (*(begin for _, begin in items[1:]), turn.seconds)
        for (id, begin), end in zip(items, ends, strict=True):
            if turn.heard < end:
                at = max(0, round((turn.heard - begin) * 1000))
                event = ClientEvent(type="conversation.item.truncate", item_id=id, content_index=0)
                self.outbox.append(msgspec.structs.replace(event, audio_end_ms=at))

    def _ask(self) -> None:
        """Send the results that are complete, and ask for a response if nothing forbids it."""
        if self._active or self._asked:
            return
        for result in self._turns.take_results():
            item = result_item(result)
            self.outbox.append(ClientEvent(type="conversation.item.create", item=item))
        if self._wants and not self._turns.open_calls:
            self._wants, self._asked = False, True
            self.outbox.append(ClientEvent(type="response.create"))

    # --- from the server

    def receive(self, message: ServerEvent) -> list[LiveEvent]:
        """Take an event of the server."""
        events = list(self._read(event_name(message), message))
        self._ask()
        return events

    def _read(self, name: str, event: ServerEvent) -> Iterator[LiveEvent]:
        if name == "response.output_audio.delta":
            yield from self._sound(event)
        elif name == "response.output_audio_transcript.delta":
            turn = self._answer(event.response_id)
            turn.pieces.append((turn.seconds if event.start_time is None else event.start_time,
                event.delta or ""))  # fmt: skip
            yield TranscriptDelta("assistant", event.delta or "")
        elif name == "response.output_text.delta":
            self._answer(event.response_id).add(event.delta or "")
            yield TextDelta(event.delta or "")
        elif name == "response.created":
            self._active, self._asked, self._is_cut = _id_of(event.response), False, False
        elif name == "response.function_call_arguments.done":
            call = Item(call_id=event.call_id, name=event.name, arguments=event.arguments)
            yield from self._called(call, event.response_id)
        elif name == "response.output_item.done" and event.item is not None:
            if event.item.type == "function_call":
                yield from self._called(event.item, event.response_id)
        elif name == "response.done":
            yield from self._done(event)
        elif name == "input_audio_buffer.speech_started":
            yield SpeechStart()
        elif name == "input_audio_buffer.speech_stopped":
            yield SpeechEnd()
        elif name == "input_audio_buffer.committed" and event.item_id:
            self._turns.of("user", event.item_id)
        elif name.startswith("conversation.item.input_audio_transcription."):
            yield from self._transcript(name.rpartition(".")[2], event)
        elif name == "error":
            yield self._refused(event)
        if name not in _SILENT and name not in _READ:
            yield ProviderEvent(event.type or "", _object(event))

    def _answer(self, response_id: str | None) -> LiveTurn:
        return self._turns.of("assistant", response_id or self._active)

    def _sound(self, event: ServerEvent) -> Iterator[LiveEvent]:
        try:
            data = from_base64(event.delta or "")
        except ValueError:
            self.notes.append(Note("sound", "a piece of sound is not base64; it is left out"))
            return
        turn = self._answer(event.response_id)
        item_id = event.item_id or ""
        if not any(id == item_id for id, _, _ in reversed(self._items)):
            self._items.append((item_id, turn, turn.seconds))
        turn.seconds += len(data) / (BYTES_A_SAMPLE * RATE)
        if not self._is_cut:
            yield MediaDelta(position=0, data=data, media_type=f"audio/pcm;rate={RATE}")

    def _called(self, item: Item, response_id: str | None) -> Iterator[LiveEvent]:
        """Take a call: whichever of its two events names it comes first."""
        calls, text = self._answer(response_id).calls, item.arguments or ""
        if item.call_id and item.name and item.call_id not in (call.id for call in calls):
            arguments = arguments_of(text)
            calls.append(ToolCall(id=item.call_id, name=item.name, arguments=arguments, text=text))
            yield ToolCallEnd(len(calls) - 1, calls[-1])

    def _transcript(self, kind: str, event: ServerEvent) -> Iterator[LiveEvent]:
        turn = self._turns.of("user", event.item_id or "")
        if kind == "delta":
            turn.add(event.delta or "")
            yield TranscriptDelta("user", event.delta or "")
        elif kind in ("updated", "completed"):
            text = event.transcript or ""
            said, turn.whole = turn.said, text
            if said != text:
                yield TranscriptDelta("user", text, replaces=True)
        elif kind == "failed":
            why = event.error.message if event.error is not None else ""
            self.notes.append(Note("transcript", f"the host could not write it down: {why}"))

    def _refused(self, event: ServerEvent) -> LiveEvent:
        details = event.error
        code = (details.code or details.type or "") if details is not None else ""
        if code == _ALREADY:  # the server was quicker: it asks again after that response
            self._asked, self._wants = False, True
            self._active = self._active or "?"
        elif self._asked and not self._active:
            self._asked = False
        words = (details.message if details is not None else "") or "the server refuses a message"
        return Refused(APIError(words, code=code, provider=self._row.name))

    def _done(self, event: ServerEvent) -> Iterator[LiveEvent]:
        response = event.response or Response()
        turn = self._answer(response.id)
        for item in response.output or ():
            if item.type == "function_call":
                yield from self._called(item, response.id)
        if response.status == "completed" and (words := _words(response)):
            turn.whole = words
        reply = self._reply(turn, response, event.usage)
        if not self._active:  # a host that tells the end of a response alone
            self._asked = False
        self._active, self._answered = "", turn
        if response.status == "cancelled":
            yield Interrupted()
        yield Done(reply)

    def _reply(self, turn: LiveTurn, response: Response, usage: WireUsage | None) -> Reply:
        given = response.usage
        if given is None or given.total_tokens is None:
            given = usage
        details = response.status_details
        word = response.status or ""
        why = ""
        if isinstance(details, StatusDetails):
            word = details.reason or word
            why = (details.error.message if details.error is not None else "") or ""
        row = stop_word("realtime", word, calls=bool(turn.calls))
        stop, notes = stopped(row, word or None, why)
        message = turn.message(turn.said) or Message("assistant")
        origin = Origin(self._row.name, self._model, WIRE, response)
        reply = Reply(
            with_origin(message, origin),
            stop,
            usage=None if given is None else usage_of(given),
            notes=notes,
            id=response.id or "",
            model=self._model,
        )
        return with_answer(reply, response)

    def partial(self) -> Done | None:
        """Return the answer that has begun and not ended."""
        if not self._active:
            return None
        turn = self._answer(self._active)
        message = turn.message(turn.said) or Message("assistant")
        return Done(Reply(message, Stop("other"), model=self._model))


_READ = frozenset(
    {
        "error",
        "input_audio_buffer.committed",
        "input_audio_buffer.speech_started",
        "input_audio_buffer.speech_stopped",
        "response.created",
        "response.done",
        "response.function_call_arguments.done",
        "response.output_audio.delta",
        "response.output_audio_transcript.delta",
        "response.output_item.done",
        "response.output_text.delta",
        *(
            f"conversation.item.input_audio_transcription.{kind}"
            for kind in ("delta", "updated", "completed", "failed")
        ),
    }
)


def _words(response: Response) -> str:
    """Return all that a response says."""
    parts = (part for item in response.output or () for part in item.content or ())
    return "".join(part.transcript or part.text or "" for part in parts)


def _id_of(response: Response | None) -> str:
    return (response.id if response is not None else None) or "?"


def _object(event: ServerEvent) -> dict[str, Any]:
    fields = plain_fields(event)
    return fields if isinstance(fields, dict) else {}


def usage_of(usage: WireUsage) -> Usage:
    """Convert token counts to the neutral ones.

    >>> usage_of(WireUsage(input_tokens=30, output_tokens=5)).total
    35
    """
    inside, outside = usage.input_token_details, usage.output_token_details
    given, output = usage.input_tokens or 0, usage.output_tokens or 0
    counts = {
        f"{side}_{kind}": getattr(details, f"{kind}_tokens") or 0
        for side, details in (("input", inside), ("output", outside))
        if details is not None
        for kind in ("text", "audio", "image")
    }
    return Usage(
        input=given,
        output=output,
        cached=(inside.cached_tokens or 0) if inside is not None else 0,
        reasoning=(outside.reasoning_tokens or 0) if outside is not None else 0,
        total=usage.total_tokens or given + output,
        by_modality={key: count for key, count in counts.items() if count},
    )


def live_conversation(
    request: LiveRequest, model: str, provider: Provider | str = ""
) -> RealtimeConversation:
    """Build one session. Raises `ConfigurationError` for a host without Realtime, `RuleError` for
    settings that it lacks.
    """
    return RealtimeConversation(request, model, provider)
