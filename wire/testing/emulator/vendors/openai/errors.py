"""Errors of OpenAI's server: its envelope and its messages."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import msgspec

from wire.openai.common.error_body import render_error
from wire.testing.emulator.answer import Answer, json_answer, json_bytes
from wire.testing.emulator.quota import LimitState
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route
from wire.testing.emulator.vendor import Failure, Refusal, retry_after_header

_MESSAGES = {
    429: "Rate limit reached for requests",
    500: "The server had an error while processing your request. Sorry about that!",
    503: "The engine is currently overloaded, please try again later",
}


def over_limit(limit: LimitState, seconds: float) -> dict[str, Any]:
    """Build the error object of a request that exceeds a limit."""
    name = {"requests": "requests per min (RPM)", "tokens": "tokens per min (TPM)"}.get(
        limit.unit, f"{limit.unit.replace('_', ' ')} per min"
    )
    message = (
        f"Rate limit reached in organization org-emulator on {name}: Limit {limit.limit}, "
        f"Used {limit.limit - limit.remaining}. Please try again in {duration(seconds)}. Visit "
        "https://platform.openai.com/account/rate-limits to learn more."
    )
    return render_error(429, message, kind=limit.unit)


def duration(seconds: float) -> str:
    """Format a time as in the rate-limit headers, rounded up: `20ms`, `1.5s`, `6m0s`.

    >>> duration(0.0199), duration(1.5), duration(360)
    ('20ms', '1.5s', '6m0s')
    """
    milliseconds = math.ceil(round(seconds * 1000, 3))
    if milliseconds < 1000:
        return f"{milliseconds}ms"
    minutes, rest = divmod(milliseconds, 60_000)
    return f"{minutes}m{rest / 1000:g}s" if minutes else f"{rest / 1000:g}s"


def error(failure: Failure) -> dict[str, Any]:
    """Build the error object of a failure."""
    if failure.limit is not None:
        return over_limit(failure.limit, failure.retry_after or 0.0)
    status = failure.status
    message = failure.message or _MESSAGES.get(status, f"scripted {status}")
    return render_error(status, message, failure.code)


def error_answer(failure: Failure) -> Answer:
    """Build the error response of a failure."""
    body = json_bytes(error(failure), indent=2)
    return json_answer(body, failure.status, retry_after_header(failure))


def shaped(answer: Answer, family: str) -> Answer:
    """Return an error in the form of a family of providers: OpenRouter's codes are statuses."""
    if family != "openrouter":
        return answer
    told = json.loads(answer.body)["error"]["message"]
    body = json_bytes({"error": {"code": answer.status, "message": told}}, indent=2)
    return replace(answer, pieces=(body,))


def refusal(
    status: int, message: str, *, param: str | None = None, code: str | None = None
) -> Refusal:
    """Build a refusal with the server's message."""
    body = json_bytes(render_error(status, message, code or "", param=param), indent=2)
    return Refusal(json_answer(body, status))


def storage_full() -> Answer:
    """Return the quota error, which clients do not retry."""
    message = "You exceeded your current quota, please check your plan and billing details."
    value = render_error(429, message, "insufficient_quota", kind="insufficient_quota")
    return json_answer(json_bytes(value, indent=2), 429)


def bad_key(key: str) -> Refusal:
    """Build the refusal of a request without a key, or with a wrong one."""
    if key:
        return refusal(401, "Incorrect API key provided: ***.", code="invalid_api_key")
    message = "You didn't provide an API key. You need to provide your API key in an Authorization "
    message += "header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY)."
    return refusal(401, message)


def no_endpoint(request: Received, route: Route | None) -> Answer:
    """Return 404 for an unknown path, and 405 for one without this method."""
    if route is None:
        return refusal(404, f"Invalid URL ({request.method} {request.path})").answer
    message = f"Not allowed to {request.method} on {request.path}."
    return refusal(405, message, code="method_not_supported").answer


def too_many(name: str, most: int, number: int) -> Refusal:
    """Build the refusal of a list that is too long."""
    message = (
        f"Invalid '{name}': array too long. Expected an array with maximum length {most}, but got "
        f"an array with length {number} instead."
    )
    return refusal(400, message, param=name, code="array_above_max_length")


def undecodable(cause: Exception, code: str | None = None) -> Refusal:
    """Build the refusal of a body that is not JSON, or has a value of a wrong type."""
    if not isinstance(cause, msgspec.ValidationError):
        return refusal(400, f"We could not parse the JSON body of your request: {cause}")
    problem, _, path = str(cause).partition(" - at `$")
    param = path.strip("`.") or None
    named = f" for '{param}'" if param and code else ""
    return refusal(400, f"Invalid type{named}: {problem}", param=param, code=code)
