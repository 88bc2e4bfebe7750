"""Errors of Interactions: a word and a message, as a body and as an event."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from wire.gemini.interactions.error_body import render_error
from wire.testing.emulator.answer import Answer, json_answer, json_bytes
from wire.testing.emulator.vendor import Failure, Refusal, retry_after_header

_MESSAGES = {
    429: "Resource has been exhausted (e.g. check quota).",
    500: "An internal error has occurred.",
    503: "The model is overloaded. Please try again later.",
    504: "Deadline expired before operation could complete.",
}


def error(failure: Failure) -> dict[str, Any]:
    """Build the error object of a failure."""
    message = failure.message or _MESSAGES.get(failure.status, f"scripted {failure.status}")
    if failure.limit is not None:
        message = f"Quota exceeded: {failure.limit.unit.replace('_', ' ')} per minute."
    return render_error(failure.status, message, failure.code)


def error_answer(failure: Failure) -> Answer:
    """Build the error response of a failure."""
    return json_answer(json_bytes(error(failure)), failure.status, retry_after_header(failure))


def frame(event: Any) -> bytes:
    """Encode one event, with its name."""
    name = event.get("event_type") if isinstance(event, dict) else None
    line = b"event: " + str(name).encode("utf-8", "replace") + b"\n" if name else b""
    return line + b"data: " + json_bytes(event) + b"\n\n"


def error_event(failure: Failure) -> bytes:
    """Encode the error as the event that ends a stream."""
    return frame({"event_type": "error", **error(failure)})


def refusal(status: int, message: str, rule: str = "", code: str = "") -> Refusal:
    """Build a refusal with the server's message."""
    return Refusal(replace(error_answer(Failure(status, message, code)), rule=rule))


def not_found(name: str) -> Refusal:
    """Build the refusal of an id that no interaction has."""
    return refusal(404, f"Interaction '{name}' not found.")
