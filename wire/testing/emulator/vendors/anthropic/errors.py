"""Errors of Anthropic's server: its envelope and its messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from wire.anthropic.error_body import render_error
from wire.testing.emulator.answer import Answer, json_answer, json_bytes
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


def no_key() -> Refusal:
    """Build the refusal of a request without a key."""
    return refusal(401, "x-api-key header is required")


def bad_key(bearer: bool) -> Refusal:
    """Build the refusal of a wrong key or token."""
    return refusal(401, "Invalid bearer token" if bearer else "invalid x-api-key")


def bad_version(version: str) -> Refusal:
    """Build the refusal of a missing `anthropic-version`, or of one that is not a date."""
    if not version:
        return refusal(400, "anthropic-version: header is required")
    return refusal(400, f'anthropic-version: "{version}" is not a valid version')


def unknown_model(model: str) -> Refusal:
    """Build the refusal of an unknown model."""
    return refusal(404, f"model: {model}")


def no_threads() -> Refusal:
    """Build the refusal of a request with `thread`: this server keeps no conversations.

    Anthropic's tool runners go on without a thread after this error code (SDK 2.12.0).
    """
    code = "thread_unsupported_request"
    message = "thread: Threads are not supported here. Send the full conversation without `thread`."
    return refusal(400, message, details={"error_code": code})


def unknown_key(path: str) -> Refusal:
    """Build the refusal of a request with a key that the server does not know."""
    return refusal(400, f"{path}: Extra inputs are not permitted")
