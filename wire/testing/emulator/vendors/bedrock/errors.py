"""Errors of Bedrock's server: a message in the body, the type in a header."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from wire.converse.error_body import TYPE_HEADER, render_error, type_of
from wire.core.event_stream import frame_bytes
from wire.testing.emulator.answer import Answer, json_answer, json_bytes
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route
from wire.testing.emulator.vendor import Failure, Refusal, retry_after_header

_MESSAGES = {
    408: "Model has timed out in processing the request. Try your request again.",
    424: "The model returned an error. Try your request again.",
    429: "Too many requests, please wait before trying again.",
    500: "The system encountered an unexpected error during processing. Try your request again.",
    503: "Model is getting throttled. Try your request again.",
}
_ORIGIN = "http://internal.amazon.com/coral/com.amazon.bedrock/"
_STATUSES = {401: 403, 529: 503}
"""Statuses that the server does not have, to those that it has."""


def _status(status: int) -> int:
    return _STATUSES.get(status, status)


def error(failure: Failure) -> dict[str, Any]:
    """Build the error object of a failure."""
    status = _status(failure.status)
    message = failure.message or _MESSAGES.get(status, f"scripted {status}")
    if failure.limit is not None:
        unit = failure.limit.unit.replace("_", " ")
        message = f"Too many {unit}, please wait before trying again."
    return render_error(status, message)


def error_answer(failure: Failure, kind: str = "") -> Answer:
    """Build the error response of a failure; `kind` is its type, if it is not the usual one."""
    kind = kind or failure.code or type_of(failure.status)
    headers = {TYPE_HEADER: f"{kind}:{_ORIGIN}", **retry_after_header(failure)}
    return json_answer(json_bytes(error(failure)), _status(failure.status), headers)


def exception(failure: Failure) -> bytes:
    """Encode the error as the exception of a stream."""
    kind = failure.code or type_of(failure.status)
    headers = {
        ":exception-type": kind[:1].lower() + kind[1:],
        ":content-type": "application/json",
        ":message-type": "exception",
    }
    return frame_bytes(headers, json_bytes(error(failure)))


def refusal(status: int, message: str, rule: str = "", kind: str = "") -> Refusal:
    """Build a refusal with the server's message."""
    return Refusal(replace(error_answer(Failure(status, message), kind), rule=rule))


def bad_key(token: str) -> Refusal:
    """Build the refusal of a request without a key, or with a wrong or expired one."""
    if not token:
        return refusal(
            403, "Missing Authentication Token", kind="MissingAuthenticationTokenException"
        )
    if token.lower().startswith("expired"):
        message = "The security token included in the request is expired"
        return refusal(403, message, kind="ExpiredTokenException")
    message = "The security token included in the request is invalid."
    return refusal(403, message, kind="UnrecognizedClientException")


def no_endpoint(request: Received, route: Route | None) -> Answer:
    """Return 404 for an unknown path, and 405 for one without this method."""
    status = 404 if route is None else 405
    failure = Failure(status, "Unable to determine service/operation name to be authorized")
    return error_answer(failure, "UnknownOperationException")
