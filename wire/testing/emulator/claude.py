"""Anthropic's side of it: which models there are, how errors are told, how bodies and events are
written.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from wire.anthropic.families import (
    EFFORTS,
    efforts,
    family,
    takes_adaptive,
    takes_budget,
    takes_schema,
)
from wire.core.memory import sayable
from wire.testing.emulator.answer import Answer
from wire.testing.emulator.refusals import Refusal

VERSION = re.compile(r"20\d\d-\d\d-\d\d")
"""Values of the header `anthropic-version`: any day, since nobody tells which versions
there are.
"""
MOST_BYTES = 32 << 20

_KIND = ("content-type", "application/json")
_MODEL = re.compile(
    r"claude-(?:(?:opus|sonnet|haiku|fable|mythos)-[45](?:-\d)?|3(?:-[57])?-(?:opus|sonnet|haiku))(?:-\d{8}|-latest)?"
)
_LISTED = (
    "claude-opus-5",
    "claude-sonnet-5",
    "claude-fable-5",
    "claude-opus-4-8",
    "claude-opus-4-7",
    "claude-sonnet-4-6",
    "claude-opus-4-6",
    "claude-opus-4-5",
    "claude-haiku-4-5",
    "claude-sonnet-4-5",
)
_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    405: "invalid_request_error",
    409: "conflict",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
}
_MESSAGES = {
    429: "This request would exceed the rate limit for your organization. For details, refer "
    "to: https://docs.claude.com/en/api/rate-limits.",
    500: "Internal server error",
    503: "Overloaded",
    504: "Request timed out",
    529: "Overloaded",
}


# --- models ---------------------------------------------------------------------------------------


def is_known(model: str) -> bool:
    """Whether a model of this name is served, as `claude-sonnet-4-5`, `claude-sonnet-4-5-20250929`,
    `claude-3-5-haiku-latest`.

    >>> is_known("claude-opus-5"), is_known("claude-sonet-4-5"), is_known("gpt-5.4")
    (True, False, False)
    """
    return _MODEL.fullmatch(model) is not None


def context(model: str) -> int:
    """The most tokens of a prompt."""
    return 1_000_000 if family(model).since(4, 6) else 200_000


def described(model: str) -> dict[str, Any]:
    """One model as the models endpoint has it."""
    of = family(model)
    words = re.sub(r"-\d{8}$", "", model).split("-")
    title = re.sub(r"(?<=\d) (?=\d)", ".", " ".join(word.capitalize() for word in words))
    most = (
        128_000
        if of.since(4, 6)
        else 32_000
        if of.is_of("opus", 4) or of.is_of("opus", 4, 1)
        else 64_000
        if of.since(4)
        else 8192
    )
    levels = efforts(of)
    types = {"enabled": takes_budget(of), "adaptive": takes_adaptive(of)}
    return {
        "type": "model",
        "id": model,
        "display_name": title,
        "created_at": "2026-01-01T00:00:00Z",
        "max_input_tokens": context(model),
        "max_tokens": most,
        "capabilities": {
            "batch": _can(True),
            "citations": _can(True),
            "effort": _can(bool(levels)) | {level: _can(level in levels) for level in EFFORTS},
            "image_input": _can(True),
            "pdf_input": _can(True),
            "structured_outputs": _can(takes_schema(of)),
            "thinking": _can(any(types.values()))
            | {"types": {name: _can(takes) for name, takes in types.items()}},
        },
    }


def _can(supported: bool) -> dict[str, Any]:
    return {"supported": supported}


def listed(query: Mapping[str, str]) -> dict[str, Any]:
    """A page of models: `limit`, and `after_id` or `before_id`, of a request's query."""
    limit, after, before = query.get("limit") or "20", query.get("after_id"), query.get("before_id")
    if not limit.isdecimal() or not 1 <= int(limit) <= 1000:
        raise refusal(400, "limit: Input should be between 1 and 1000")
    names: Sequence[str] = _LISTED
    for name, cursor in (("after_id", after), ("before_id", before)):
        if cursor and cursor not in _LISTED:
            raise refusal(400, f"{name}: Invalid cursor")
    if before:
        names = names[: names.index(before)]
        shown = names[-int(limit) :]
    else:
        names = names[names.index(after) + 1 :] if after else names
        shown = names[: int(limit)]
    ends = {"first_id": shown[0] if shown else None, "last_id": shown[-1] if shown else None}
    return {
        "data": [described(each) for each in shown],
        "has_more": len(shown) < len(names),
        **ends,
    }


# --- errors ---------------------------------------------------------------------------------------


def envelope(status: int, message: str = "") -> dict[str, Any]:
    """An error as Anthropic writes it."""
    kind = _TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
    return {
        "type": "error",
        "error": {"type": kind, "message": message or _MESSAGES.get(status, f"scripted {status}")},
    }


def refusal(status: int, message: str, rule: str = "") -> Refusal:
    """A refusal in the words of the server."""
    return Refusal(replace(whole(envelope(status, message), status), rule=rule))


def no_key() -> Refusal:
    """Nobody said who is asking."""
    return refusal(401, "x-api-key header is required")


def bad_key(bearer: bool) -> Refusal:
    """A key or a token that is none."""
    return refusal(401, "Invalid bearer token" if bearer else "invalid x-api-key")


def bad_version(version: str) -> Refusal:
    """The header `anthropic-version` is absent, or names no version."""
    if not version:
        return refusal(400, "anthropic-version: header is required")
    return refusal(400, f'anthropic-version: "{version}" is not a valid version')


def unknown_model(model: str) -> Refusal:
    """No model of this name."""
    return refusal(404, f"model: {model}")


# --- bodies ---------------------------------------------------------------------------------------


def whole(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """A whole body, on one line."""
    return Answer(status, (_KIND, *(headers or {}).items()), (_json(value),))


def events(told: Iterable[Mapping[str, Any]]) -> Answer:
    """Server-sent events with their names."""
    return Answer(
        200,
        (("content-type", "text/event-stream; charset=utf-8"), ("cache-control", "no-cache")),
        tuple(map(event, told)),
    )


def event(told: Mapping[str, Any]) -> bytes:
    """One event: its type is its name."""
    return b"event: " + str(told.get("type", "")).encode() + b"\ndata: " + _json(told) + b"\n\n"


def finished(answer: Answer, number: int, body: bytes) -> Answer:
    """The answer with the request's id; what was refused elsewhere in words of another wire comes
    into this one's envelope.
    """
    id = f"req_01{hashlib.sha256(f'{number} '.encode() + body).hexdigest()[:22]}"
    answer = replace(answer, headers=(*answer.headers, ("request-id", id)))
    if answer.status < 400 or not answer.whole:
        return answer
    try:
        told = json.loads(answer.body)
    except ValueError:  # a page
        told = {"error": {"message": "Method Not Allowed" if answer.status == 405 else "Not found"}}
    if not isinstance(told, dict) or not isinstance(told.get("error"), dict):
        return answer  # a script's own
    if told.get("type") != "error":
        told = envelope(answer.status, str(told["error"].get("message", "")))
    kept = tuple((name, value) for name, value in answer.headers if name != "content-type")
    return replace(answer, headers=(_KIND, *kept), pieces=(_json({"request_id": id, **told}),))


def _json(value: Any) -> bytes:
    return sayable(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
