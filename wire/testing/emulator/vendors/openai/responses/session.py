"""Responses over WebSocket: each `response.create` is a request for a stream.

The last response of a session can be continued although it is not stored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from wire.testing.cassette.faults import Fault
from wire.testing.emulator.answer import Answer
from wire.testing.emulator.broken_sessions import broken
from wire.testing.emulator.sessions import (
    Ask,
    Close,
    SessionPiece,
    broken_off,
    message,
    messages_of,
    object_of,
)

_IGNORED = ("type", "stream", "background")


class ResponsesSession:
    """One session of a client; satisfies `wire.testing.emulator.sessions.Session`.

    It has one response at a time: a message waits until the response before it is sent.
    """

    endpoint = "responses.socket"
    binary = listens = False

    def __init__(self, path: str, ask: Ask, error: Callable[[Fault], bytes]) -> None:
        self._path, self._ask, self._error_event = path, ask, error
        self._id = ""
        self._items: list[Any] = []
        """The conversation up to the end of the last response."""

    def begin(self) -> Sequence[SessionPiece]:
        """Return nothing: the client begins."""
        return []

    def receive(self, data: bytes) -> Iterable[SessionPiece]:
        """Answer a request for a response."""
        event = object_of(data)
        if event is None or event.get("type") != "response.create":
            what = "JSON" if event is None else f"type {event.get('type')!r}"
            return [_error(400, {"error": _invalid(f"Invalid event: {what}.", "type")})]
        body = {key: each for key, each in event.items() if key not in _IGNORED}
        previous = body.get("previous_response_id")
        known = bool(previous) and previous == self._id
        if known:
            del body["previous_response_id"]
            body["input"] = [*self._items, *_items(body.get("input"))]
        answer = self._ask(self._path, json.dumps({**body, "stream": True}).encode())
        self._id = ""
        if answer.status != 200 and broken_off(answer) is None:
            return [_error(answer.status, object_of(answer.body) or {})]
        return broken(self, answer, self._messages(messages_of(answer), body, previous, known))

    def _messages(
        self,
        pieces: Iterable[SessionPiece],
        body: dict[str, Any],
        previous: Any,
        known: bool,
    ) -> Iterator[SessionPiece]:
        for piece in pieces:
            if isinstance(piece, bytes) and (said := object_of(piece)) is not None:
                self._remember(said, body)
                if known and isinstance(response := said.get("response"), dict):
                    response["previous_response_id"] = previous
                    piece = message(said)
            yield piece

    def error(self, fault: Fault) -> Sequence[SessionPiece]:
        """Return the error event of a stream."""
        return list(messages_of(Answer(200, (), (self._error_event(fault),))))

    def farewell(self, seconds: float) -> Sequence[SessionPiece]:
        """Return the error of a connection that is too old; it tells nothing before."""
        code = "websocket_connection_limit_reached"
        words = "Responses websocket connection limit reached (60 minutes)."
        error = {**_invalid(words, ""), "code": code, "param": None}
        return [_error(400, {"error": error}), Close(1000)]

    def _remember(self, event: dict[str, Any], body: dict[str, Any]) -> None:
        response = event.get("response")
        if event.get("type") == "response.completed" and isinstance(response, dict):
            made = [_unstored(each) for each in response.get("output") or ()]
            kept = [each for each in made if each is not None]
            self._id, self._items = str(response.get("id")), [*_items(body.get("input")), *kept]


def _items(value: Any) -> list[Any]:
    if isinstance(value, str):
        return [{"type": "message", "role": "user", "content": value}]
    return value if isinstance(value, list) else []


def _unstored(item: dict[str, Any]) -> dict[str, Any] | None:
    """Return an item as a client sends it that stores nothing; `None` for one that it cannot."""
    if item.get("encrypted_content"):
        return item
    kept = {key: each for key, each in item.items() if key != "id"}
    return None if item.get("type") == "reasoning" else kept


def _invalid(words: str, param: str) -> dict[str, Any]:
    return {"type": "invalid_request_error", "code": None, "message": words, "param": param}


def _error(status: int, body: dict[str, Any]) -> bytes:
    return message({"type": "error", "status": status, **body})
