"""What can go wrong, asked for by a script or by the header `x-wire-fault` of a request.

A fault is a word and its settings, `429; retry-after=2` or `cut; after=1`, or the same as a JSON
object, `{"fault": "429", "retry_after": 2}`:

| word | what happens | |---|---| | a status | an error answer in the provider's envelope;
`retry-after` gives the header and the RetryInfo | | `error` | an error object as an event, after
`after` events; `status` is its code, 503 unless given: overloaded | | `error-bare` | the same
outside the framing, over several lines, after which the body ends | | `cut` | the connection is
closed after `after` events, before the body's announced end | | `end` | the body ends well after
`after` events, without a finish | | `reset` | the connection is reset after `after` events | |
`stall` | nothing comes for `seconds` after `after` events | | `slow` | nothing comes for `seconds`
before the head | | `garbage` | an event that is no JSON, after `after` events |

`times` limits a header to so many requests of the same body: the retries after these find nothing
wrong.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from wire.errors import ConfigurationError
from wire.gemini.rules import WORDS
from wire.testing.emulator import claude
from wire.testing.emulator.answer import Answer, Cut, Pause, Piece, Reset, event, whole
from wire.testing.emulator.refusals import envelope, quota, retry_info

KINDS = ("error", "error-bare", "cut", "end", "reset", "stall", "slow", "garbage")

_MESSAGES = {
    500: "An internal error has occurred. Please retry or report in "
    "https://developers.generativeai.google/guide/troubleshooting",
    503: WORDS["G75"].text,
    504: "Deadline expired before operation could complete.",
}
_OPENAI_TYPES = {
    400: "invalid_request_error",
    401: "invalid_request_error",
    404: "invalid_request_error",
    429: "requests",
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault and its settings."""

    kind: str
    status: int = 503
    after: int = 1
    seconds: float = 1.0
    retry_after: float | None = None
    message: str = ""
    times: int = 0


_SETTINGS = {each.name: each.type for each in fields(Fault) if each.name != "kind"}


def fault_of(named: str | Mapping[str, Any]) -> Fault:
    """A fault as a header or a script names it. Raises `ConfigurationError` for a word or a setting
    that does not exist.

    >>> fault_of("429; retry-after=2")
    Fault(kind='status', status=429, after=1, seconds=1.0, retry_after=2.0, message='', times=0)
    """
    if isinstance(named, str):
        word, *rest = (each.strip() for each in named.split(";"))
        settings: dict[str, Any] = {
            name.strip().replace("-", "_"): value.strip()
            for name, _, value in (each.partition("=") for each in rest)
        }
    else:
        settings = {str(name).replace("-", "_"): value for name, value in named.items()}
        word = str(settings.pop("fault", settings.pop("status", "")))
    if word.isdecimal():
        settings |= {"status": word}
        word = "status"
    elif word not in KINDS:
        raise ConfigurationError(f"fault: {word!r} is none; there are a status, {', '.join(KINDS)}")
    found: dict[str, Any] = {}
    for name, value in settings.items():
        if name not in _SETTINGS:
            raise ConfigurationError(
                f"fault: {name!r} is no setting; there are {', '.join(_SETTINGS)}"
            )
        try:
            found[name] = (
                str(value)
                if name == "message"
                else int(value)
                if name in ("status", "after", "times")
                else float(value)
            )
        except (TypeError, ValueError):
            raise ConfigurationError(f"fault: {name}: a number is wanted, not {value!r}") from None
    return Fault(word, **found)


def error_of(fault: Fault, model: str, wire: str) -> dict[str, Any]:
    """The error object of a fault in the envelope of its wire."""
    if wire == "anthropic":
        return claude.envelope(fault.status, fault.message)
    message = fault.message or _MESSAGES.get(fault.status, f"scripted {fault.status}")
    if wire == "openai":
        kind = _OPENAI_TYPES.get(fault.status, "server_error")
        message = fault.message or (
            "Rate limit reached for requests" if fault.status == 429 else message
        )
        return {
            "error": {
                "message": message,
                "type": kind,
                "param": None,
                "code": "rate_limit_exceeded" if fault.status == 429 else None,
            }
        }
    if fault.status == 429 and not fault.message:
        return quota(model, fault.retry_after)
    return envelope(fault.status, message, details=retry_info(fault.retry_after))


def status_answer(fault: Fault, model: str, wire: str) -> Answer:
    """The answer in place of a good one; the wire is `gemini`, `openai` or `anthropic`."""
    headers = {} if fault.retry_after is None else {"retry-after": f"{fault.retry_after:g}"}
    said = error_of(fault, model, wire)
    if wire == "anthropic":
        return claude.whole(said, fault.status, headers)
    if wire == "openai":
        return Answer(
            fault.status,
            (("content-type", "application/json"), *headers.items()),
            (json.dumps(said, indent=2).encode(),),
        )
    return whole(said, fault.status, headers)


def spoiled(answer: Answer, fault: Fault, model: str = "", wire: str = "gemini") -> Answer:
    """An answer with a fault in it."""
    pieces = list(answer.pieces)
    if fault.kind == "slow":
        return _with(answer, [Pause(fault.seconds), *pieces])
    if answer.whole:  # the first half of a whole body counts as its first event
        body = answer.body
        pieces = [body[: len(body) // 2], body[len(body) // 2 :]]
    before, after = pieces[: fault.after], pieces[fault.after :]
    before = before or [b""]  # the head is sent all the same
    framed = any(
        value.startswith("text/event-stream")
        for name, value in answer.headers
        if name == "content-type"
    )
    if fault.kind == "stall":
        return _with(answer, [*before, Pause(fault.seconds), *after])
    if fault.kind == "garbage":
        return _with(
            answer, [*before, _framed(b"{not json", wire) if framed else b"{not json", *after]
        )
    if fault.kind in ("error", "error-bare"):
        said = error_of(fault, model, wire)
        bare = b"\n".join((json.dumps(said, indent=2).encode(), b""))
        if fault.kind == "error-bare" or not framed:
            return _with(answer, [*before, bare])
        return _with(
            answer,
            [
                *before,
                event(said)
                if wire == "gemini"
                else _framed(json.dumps(said).encode(), wire, "error"),
            ],
        )
    end: list[Piece] = (
        [Cut()] if fault.kind == "cut" else [Reset()] if fault.kind == "reset" else []
    )
    return _with(answer, [*before, *end])


def _framed(data: bytes, wire: str, name: str = "content_block_delta") -> bytes:
    end = b"\r\n\r\n" if wire == "gemini" else b"\n\n"
    return (f"event: {name}\n".encode() if wire == "anthropic" else b"") + b"data: " + data + end


def _with(answer: Answer, pieces: list[Piece]) -> Answer:
    # Never in one piece: a body that ends too early has no length that says so.
    return Answer(
        answer.status,
        answer.headers,
        tuple(pieces) if len(pieces) > 1 else (*pieces, b""),
        answer.rule,
    )
