"""Realtime: sessions of texts, calls of functions, and silence in place of speech.

The replies are those of Responses, so scripts apply. Turns are the client's: speech is not found
in audio. A response that a pause of the script holds up can be cancelled.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from wire.core.decoders import decoder
from wire.openai.realtime.types import ClientEvent
from wire.testing.cassette.faults import Fault
from wire.testing.emulator.answer import Answer
from wire.testing.emulator.broken_sessions import broken
from wire.testing.emulator.sessions import (
    Ask,
    Close,
    SessionPiece,
    Speech,
    broken_off,
    message,
    object_of,
)

_PCM = {"type": "audio/pcm", "rate": 24000}
_BYTES_A_WORD = 9600
"""Silence of 200 ms."""
_DEFAULTS: dict[str, Any] = {
    "type": "realtime",
    "object": "realtime.session",
    "output_modalities": ["audio"],
    "instructions": "",
    "tools": [],
    "tool_choice": "auto",
    "max_output_tokens": "inf",
    "tracing": None,
    "truncation": "auto",
    "prompt": None,
    "include": None,
    "audio": {
        "input": {
            "format": _PCM,
            "transcription": None,
            "noise_reduction": None,
            "turn_detection": {"type": "server_vad", "create_response": True},
        },
        "output": {"format": _PCM, "voice": "marin", "speed": 1.0},
    },
}


@dataclass(frozen=True, slots=True)
class Manner:
    """How the events of a host differ from OpenAI's, as recorded."""

    answers_as: str = "gpt-5.4"
    """The model of Responses that answers for each model of Realtime."""
    opening: tuple[str, ...] = ()
    """Events behind that of a session that has begun."""
    items_are_done: bool = True
    """Whether it tells that an item of the conversation is done."""
    renames: Mapping[str, str] = field(default_factory=dict)
    """Beginnings of types of events, and what it has in their place."""

    def name(self, kind: str) -> str:
        """Return what the host calls an event.

        >>> MANNERS["voice-live"].name("response.output_text.delta")
        'response.text.delta'
        """
        for begin, own in self.renames.items():
            if kind.startswith(begin):
                return own + kind.removeprefix(begin)
        return kind


MANNERS = {
    "": Manner(),
    "xai": Manner("grok-4.3", opening=("conversation.created", "ping"), items_are_done=False),
    "voice-live": Manner(
        items_are_done=False,
        renames={
            "response.output_audio": "response.audio",
            "response.output_text": "response.text",
            "conversation.item.added": "conversation.item.created",
        },
    ),
}
"""By family of the provider, and by the last part of the prefix of the path."""


class RealtimeSession:
    """One session of a client; satisfies `wire.testing.emulator.sessions.Session`."""

    endpoint = "realtime"
    binary = False
    listens = True

    def __init__(self, model: str, path: str, ask: Ask, seed: int, manner: Manner) -> None:
        self._path, self._ask, self._seed, self._manner = path, ask, seed, manner
        self._count = 0
        self._session: dict[str, Any] = {**_DEFAULTS, "id": self._id("sess"), "model": model}
        self._items: list[dict[str, Any]] = []
        self._audio = 0
        self._active: tuple[dict[str, Any], Speech] | None = None
        """The response that is being sent."""
        self._endpoints: dict[str, Callable[[dict[str, Any]], Iterator[SessionPiece]]] = {
            "session.update": self._update,
            "conversation.item.create": self._create_item,
            "conversation.item.retrieve": self._retrieve,
            "conversation.item.delete": self._delete,
            "conversation.item.truncate": self._truncate,
            "input_audio_buffer.append": self._append,
            "input_audio_buffer.commit": self._commit,
            "input_audio_buffer.clear": self._clear,
            "response.create": self._respond,
            "response.cancel": self._cancel,
        }

    def begin(self) -> Sequence[SessionPiece]:
        """Return the event of a session that has begun."""
        opening = (self._event(kind) for kind in self._manner.opening)
        return [self._event("session.created", session=self._session), *opening]

    def receive(self, data: bytes) -> Iterable[SessionPiece]:
        """Answer an event of the client."""
        event = object_of(data)
        if event is None:
            return [self._error({}, "The message is not a JSON object.", "invalid_json")]
        try:
            decoder(ClientEvent).decode(data)
        except msgspec.ValidationError as cause:
            words, _, path = str(cause).partition(" - at `$.")
            return [self._error(event, words, "invalid_type", path.strip("`"))]
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return [self._error({}, "The message is not JSON.", "invalid_json")]
        endpoint = self._endpoints.get(str(event.get("type")))
        if endpoint is None:
            words = f"Invalid value: '{event.get('type')}'."
            return [self._error(event, words, "invalid_value", "type")]
        return endpoint(event)

    def error(self, fault: Fault) -> Sequence[SessionPiece]:
        """Return the error event of a fault."""
        words = fault.message or "The server had an error while processing your request."
        error = {"type": "server_error", "code": None, "message": words, "param": None}
        return [self._event("error", error={**error, "event_id": None})]

    def farewell(self, seconds: float) -> Sequence[SessionPiece]:
        """Return the error of a session that is too old; it tells nothing before."""
        words = "Your session hit the maximum duration of 60 minutes."
        return [self._error({}, words, "session_expired"), Close(1001)]

    # --- events -----------------------------------------------------------------------------------

    def _id(self, kind: str) -> str:
        self._count += 1
        return f"{kind}_{self._seed}{self._count:06d}"

    def _event(self, kind: str, **fields: Any) -> bytes:
        return message({"type": self._manner.name(kind), "event_id": self._id("event"), **fields})

    def _error(
        self, event: dict[str, Any], words: str, code: str, param: str | None = None
    ) -> bytes:
        error = {"type": "invalid_request_error", "code": code, "message": words, "param": param}
        return self._event("error", error={**error, "event_id": event.get("event_id")})

    # --- the session, its items and its audio -----------------------------------------------------

    def _update(self, event: dict[str, Any]) -> Iterator[SessionPiece]:
        given = event.get("session")
        if not isinstance(given, dict) or "type" not in given:
            words = "Missing required parameter: 'session.type'."
            yield self._error(event, words, "missing_required_parameter", "session.type")
            return
        self._session = _merged(self._session, given)
        yield self._event("session.updated", session=self._session)

    def _added(self, item: dict[str, Any]) -> Iterator[SessionPiece]:
        before = self._items[-1]["id"] if self._items else None
        self._items.append(item)
        yield self._event("conversation.item.added", previous_item_id=before, item=item)
        if self._manner.items_are_done:
            yield self._event("conversation.item.done", previous_item_id=before, item=item)

    def _create_item(self, event: dict[str, Any]) -> Iterator[SessionPiece]:
        item = event.get("item")
        if not isinstance(item, dict):
            yield self._error(event, "Missing 'item'.", "missing_required_parameter", "item")
            return
        yield from self._added({"id": self._id("item"), "status": "completed", **item})

    def _found(self, event: dict[str, Any]) -> dict[str, Any] | None:
        return next((each for each in self._items if each["id"] == event.get("item_id")), None)

    def _begun(self, event: dict[str, Any]) -> dict[str, Any] | None:
        """Return an item, also one of the response that is being sent."""
        sent = [] if self._active is None else self._active[1].sent
        begun = (item for item, _ in _items_of(sent) if item["id"] == event.get("item_id"))
        return self._found(event) or next(begun, None)

    def _missing(self, event: dict[str, Any]) -> bytes:
        words = f"Item with id '{event.get('item_id')}' not found."
        return self._error(event, words, "item_not_found", "item_id")

    def _retrieve(self, event: dict[str, Any]) -> Iterator[SessionPiece]:
        item = self._begun(event)
        if item is None:
            yield self._missing(event)
            return
        yield self._event("conversation.item.retrieved", item=item)

    def _delete(self, event: dict[str, Any]) -> Iterator[SessionPiece]:
        item = self._found(event)
        if item is None:
            yield self._missing(event)
            return
        self._items.remove(item)
        yield self._event("conversation.item.deleted", item_id=item["id"])

    def _truncate(self, event: dict[str, Any]) -> Iterator[SessionPiece]:
        if self._begun(event) is None:
            yield self._missing(event)
            return
        fields = {key: event.get(key) for key in ("item_id", "content_index", "audio_end_ms")}
        yield self._event("conversation.item.truncated", **fields)

    def _append(self, event: dict[str, Any]) -> Iterator[SessionPiece]:
        try:
            self._audio += len(base64.b64decode(str(event.get("audio")), validate=True))
        except ValueError:
            words = "Invalid 'audio'. Expected base64-encoded audio bytes."
            yield self._error(event, words, "invalid_value", "audio")

    def _commit(self, event: dict[str, Any]) -> Iterator[SessionPiece]:
        if not self._audio:
            words = "Error committing input audio buffer: buffer too small."
            yield self._error(event, words, "input_audio_buffer_commit_empty")
            return
        self._audio = 0
        part = {"type": "input_audio", "transcript": None}
        item = {"id": self._id("item"), "type": "message", "status": "completed"}
        before = self._items[-1]["id"] if self._items else None
        committed = {"previous_item_id": before, "item_id": item["id"]}
        yield self._event("input_audio_buffer.committed", **committed)
        yield from self._added({**item, "role": "user", "content": [part]})

    def _clear(self, event: dict[str, Any]) -> Iterator[SessionPiece]:
        self._audio = 0
        yield self._event("input_audio_buffer.cleared")

    def _cancel(self, event: dict[str, Any]) -> Iterator[SessionPiece]:
        response, speech = self._active or ({}, None)
        if speech is None or event.get("response_id") not in (None, response["id"]):
            words = "Cancellation failed: no active response found"
            yield self._error(event, words, "response_cancel_not_active")
            return
        self._active = None
        speech.stop()
        made: list[dict[str, Any]] = []
        for item, done in _items_of(speech.sent):
            if not done:
                place = {"response_id": response["id"], "output_index": len(made)}
                yield self._event("response.output_item.done", **place, item=item)
            made.append(item)
        self._items += made
        details = {"type": "cancelled", "reason": "client_cancelled"}
        ended = {"status": "cancelled", "status_details": details, "output": made}
        yield self._event("response.done", response={**response, **ended, "usage": _usage({})})

    # --- responses --------------------------------------------------------------------------------

    def _respond(self, event: dict[str, Any]) -> Iterator[SessionPiece]:
        if self._active is not None:
            words = (
                "Conversation already has an active response in progress: "
                f"{self._active[0]['id']}. Wait until the response is finished before creating a "
                "new one."
            )
            yield self._error(event, words, "conversation_already_has_active_response")
            return
        options = event.get("response") or {}
        settings = _merged(self._session, options)
        response: dict[str, Any] = {
            "object": "realtime.response",
            "id": self._id("resp"),
            "status": "in_progress",
            "status_details": None,
            "output": [],
            "conversation_id": f"conv_{self._seed}",
            "output_modalities": settings["output_modalities"] or ["audio"],
            "max_output_tokens": settings["max_output_tokens"],
            "usage": None,
            "metadata": options.get("metadata"),
        }
        answer = self._ask(self._path, json.dumps(self._request(settings, options)).encode())
        made: list[dict[str, Any]] = []
        pieces = list(self._response(response, answer, made))
        speech = Speech(broken(self, answer, pieces))
        self._active = response, speech
        yield from speech
        if not speech.interrupted:
            self._active = None
            self._items += made

    def _response(
        self, response: dict[str, Any], answer: Answer, made: list[dict[str, Any]]
    ) -> Iterator[SessionPiece]:
        """Yield the events of a response; `made` gets its items."""
        yield self._event("response.created", response=response)
        if (end := broken_off(answer)) is not None:
            yield end
            return
        said = object_of(answer.body) or {}
        if answer.status != 200:
            error = said.get("error")
            # xAI has the text there, and the code beside it.
            error = error if isinstance(error, dict) else {**said, "message": error}
            kept = {key: error.get(key) for key in ("type", "code", "message")}
            details = {"type": "failed", "error": kept}
            failed = {**response, "status": "failed", "status_details": details}
            yield self._event("response.done", response=failed)
            return
        speaks = "audio" in response["output_modalities"]
        for item in said.get("output") or ():
            if item.get("type") in ("message", "function_call"):
                place = {"response_id": response["id"], "output_index": len(made)}
                yield from self._item(item, place, speaks, made)
        done = {"status": "completed", "output": made, "usage": _usage(said.get("usage") or {})}
        yield self._event("response.done", response={**response, **done})

    def _request(self, settings: dict[str, Any], options: dict[str, Any]) -> dict[str, Any]:
        """Return the request for the same response from Responses."""
        items = options.get("input")
        tools = [each for each in settings["tools"] or () if each.get("type") == "function"]
        choice = settings["tool_choice"] if tools else None
        asked = {
            "model": self._manner.answers_as,
            "store": False,
            "input": [_as_input(each) for each in (self._items if items is None else items)],
            "instructions": settings["instructions"] or None,
            "tools": [{**each, "strict": False} for each in tools] or None,
            "tool_choice": choice,
        }
        return {key: each for key, each in asked.items() if each is not None}

    def _item(
        self, said: dict[str, Any], place: dict[str, Any], speaks: bool, made: list[dict[str, Any]]
    ) -> Iterator[SessionPiece]:
        """Yield the events of one item of an answer."""
        before_it = [*self._items, *made]
        id, before = self._id("item"), next((each["id"] for each in reversed(before_it)), None)
        if said["type"] == "message":
            base: dict[str, Any] = {"type": "message", "role": "assistant", "content": []}
        else:
            base = {each: said[each] for each in ("type", "name", "call_id")} | {"arguments": ""}
        item = {"id": id, "status": "in_progress", **base}
        yield self._event("response.output_item.added", **place, item=item)
        yield self._event("conversation.item.added", previous_item_id=before, item=item)
        at = {**place, "item_id": id}
        whole = {**item, "status": "completed"}
        if said["type"] == "message":
            text = "".join(part.get("text", "") for part in said["content"])
            kind, key = ("output_audio", "transcript") if speaks else ("output_text", "text")
            yield from self._spoken(text, {**at, "content_index": 0}, speaks)
            whole["content"] = [{"type": kind, key: text}]
        else:
            arguments, call_id = said["arguments"], said["call_id"]
            kind = "response.function_call_arguments"
            yield self._event(f"{kind}.delta", **at, call_id=call_id, delta=arguments)
            named = {"call_id": call_id, "name": said["name"], "arguments": arguments}
            yield self._event(f"{kind}.done", **at, **named)
            whole["arguments"] = arguments
        if self._manner.items_are_done:
            yield self._event("conversation.item.done", previous_item_id=before, item=whole)
        yield self._event("response.output_item.done", **place, item=whole)
        made.append(whole)

    def _spoken(self, text: str, at: dict[str, Any], speaks: bool) -> Iterator[SessionPiece]:
        """Yield a text as deltas; if the model speaks, with silence beside each of them."""
        part, key = ("audio", "transcript") if speaks else ("text", "text")
        kind = f"response.output_{'audio_transcript' if speaks else 'text'}"
        yield self._event("response.content_part.added", **at, part={"type": part, key: ""})
        for word in text.replace(" ", "\0 ").split("\0"):
            yield self._event(f"{kind}.delta", **at, delta=word)
            if speaks:
                silence = base64.b64encode(bytes(_BYTES_A_WORD)).decode()
                yield self._event("response.output_audio.delta", **at, delta=silence)
        if speaks:
            yield self._event("response.output_audio.done", **at)
        yield self._event(f"{kind}.done", **at, **{key: text})
        yield self._event("response.content_part.done", **at, part={"type": part, key: text})


def _merged(before: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Replace values of an object by given ones; objects in it are merged."""
    merged = dict(before)
    for key, value in given.items():
        old = merged.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            value = _merged(old, value)
        merged[key] = value
    return merged


def _as_input(item: dict[str, Any]) -> dict[str, Any]:
    """Return an item as one of the input of Responses."""
    if item.get("type") != "message":
        kept = ("type", "call_id", "name", "arguments", "output")
        return {key: item[key] for key in kept if key in item}
    kind = "output_text" if item.get("role") == "assistant" else "input_text"
    content = item.get("content") or ()
    words = (part.get("text") or part.get("transcript") or "" for part in content)
    parts = [{"type": kind, "text": each or "(speech)"} for each in words]
    return {"type": "message", "role": item.get("role") or "user", "content": parts}


def _items_of(sent: Sequence[bytes]) -> list[tuple[dict[str, Any], bool]]:
    """Return the items of the events of a response that was cancelled, and whether each is done.

    An item that is not done has what was said of it so far.
    """
    found: dict[str, tuple[dict[str, Any], bool]] = {}
    for event in map(object_of, sent):
        kind = "" if event is None else event.get("type")
        if event is None or kind not in _TELLING:
            continue  # such as garbage of the script
        if kind.startswith("response.output_item"):
            found[event["item"]["id"]] = event["item"], kind.endswith("done")
            continue
        item, _ = found.get(event["item_id"], ({}, False))
        if not item:
            continue
        if (key := _TELLING[kind]) == "arguments":
            item["arguments"] += event["delta"]
        else:
            type = "output_audio" if key == "transcript" else "output_text"
            (part,) = item["content"] = item["content"] or [{"type": type, key: ""}]
            part[key] += event["delta"]
    return [
        (item if done else {**item, "status": "incomplete"}, done) for item, done in found.values()
    ]


_DELTAS = {
    "response.output_audio_transcript.delta": "transcript",
    "response.output_text.delta": "text",
    "response.function_call_arguments.delta": "arguments",
}
_TELLING = {
    "response.output_item.added": "",
    "response.output_item.done": "",
    **{manner.name(kind): key for kind, key in _DELTAS.items() for manner in MANNERS.values()},
}
"""Events that say what an item is, and the key that a delta continues."""


def _usage(usage: dict[str, Any]) -> dict[str, Any]:
    cached = (usage.get("input_tokens_details") or {}).get("cached_tokens", 0)
    asked, made = usage.get("input_tokens", 0), usage.get("output_tokens", 0)
    return {
        "total_tokens": asked + made,
        "input_tokens": asked,
        "output_tokens": made,
        "input_token_details": {
            "text_tokens": asked,
            "audio_tokens": 0,
            "image_tokens": 0,
            "cached_tokens": cached,
        },
        "output_token_details": {"text_tokens": made, "audio_tokens": 0},
    }
