"""Errors of Anthropic's server: its envelope and its messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from wire.anthropic.error_body import render_error
from wire.testing.emulator.answer import Answer, json_answer, json_bytes
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route
from wire.testing.emulator.vendor import Failure, Refusal, retry_after_header

_MESSAGES = {
    429: "This request would exceed the rate limit for your organization. For details, refer "
    "to: https://docs.claude.com/en/api/rate-limits.",
    500: "Internal server error",
    503: "Overloaded",
    504: "Request timed out",
    529: "Overloaded",
}


def error(failure: Failure) -> dict[str, Any]:
    """Build the error object of a failure."""
    status = failure.status
    message = failure.message or _MESSAGES.get(status, f"scripted {status}")
    if (limit := failure.limit) is not None:
        message = (
            f"This request would exceed your organization's rate limit of {limit.limit:,} "
            f"{limit.unit.replace('_', ' ')} per minute. For details, refer to: "
            "https://docs.claude.com/en/api/rate-limits."
        )
    return render_error(status, message, failure.code)


def error_answer(failure: Failure) -> Answer:
    """Build the error response of a failure."""
    return json_answer(json_bytes(error(failure)), failure.status, retry_after_header(failure))


def refusal(
    status: int, message: str, rule: str = "", details: Mapping[str, Any] | None = None
) -> Refusal:
    """Build a refusal with the server's message, and with the details of a typed error."""
    body = error(Failure(status, message))
    if details:
        body["error"]["details"] = dict(details)
    return Refusal(replace(json_answer(json_bytes(body), status), rule=rule))


def bad_key(key: str, bearer: str) -> Refusal:
    """Build the refusal of a request without a key, or with a wrong key or token."""
    if not (key or bearer):
        return refusal(401, "x-api-key header is required")
    return refusal(401, "invalid x-api-key" if key else "Invalid bearer token")


def no_threads() -> Refusal:
    """Build the refusal of a request with `thread`: this server keeps no conversations.

    Anthropic's tool runners go on without a thread after this error code (SDK 2.12.0).
    """
    code = "thread_unsupported_request"
    message = "thread: Threads are not supported here. Send the full conversation without `thread`."
    return refusal(400, message, details={"error_code": code})


def no_endpoint(request: Received, route: Route | None) -> Answer:
    """Return 404 for an unknown path, and 405 for one without this method."""
    if route is None:
        return error_answer(Failure(404, "Not found"))
    return error_answer(Failure(405, "Method Not Allowed"))
