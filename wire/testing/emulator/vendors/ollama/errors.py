"""Errors of Ollama's server: a text under one key."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from wire.ollama.error_body import render_error
from wire.testing.emulator.answer import Answer, json_answer, json_bytes
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route
from wire.testing.emulator.vendor import Failure, Refusal, retry_after_header

JSON = "application/json; charset=utf-8"
_MESSAGES = {
    401: "unauthorized",
    429: "you've reached your usage limit",
    500: "an error was encountered while running the model",
    503: "server busy, please try again.  maximum pending requests exceeded",
}


def error(failure: Failure) -> dict[str, Any]:
    """Build the error object of a failure."""
    message = failure.message or _MESSAGES.get(failure.status, f"scripted {failure.status}")
    if failure.limit is not None:
        unit = failure.limit.unit.replace("_", " ")
        message = f"you've reached your usage limit: {unit}"
    return render_error(failure.status, message)


def error_answer(failure: Failure) -> Answer:
    """Build the error response of a failure."""
    body = json_bytes(error(failure))
    return json_answer(body, failure.status, retry_after_header(failure), JSON)


def error_line(failure: Failure) -> bytes:
    """Encode the error as a line of a stream."""
    return json_bytes(error(failure)) + b"\n"


def refusal(status: int, message: str, rule: str = "") -> Refusal:
    """Build a refusal with the server's message."""
    return Refusal(replace(error_answer(Failure(status, message)), rule=rule))


def no_endpoint(request: Received, route: Route | None) -> Answer:
    """Return 404 for an unknown path, and 405 for one without this method."""
    status, words = (404, b"404 page not found") if route is None else (405, b"405 not allowed")
    return Answer(status, (("content-type", "text/plain"),), (words,))
