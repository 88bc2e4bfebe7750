"""Faults, requested by a script or by the header `x-wire-fault` of a request.

A fault is a word and its settings, `429; retry-after=2` or `cut; after=1`, or the same as a JSON
object, `{"fault": "429", "retry_after": 2}`. The words:

- a status: an error response in the vendor's envelope; `retry-after` adds the header, and Google's
  RetryInfo
- `error`: an error object as an event, after `after` events; `status` is its code, 503 unless given
- `error-bare`: the same outside the framing, on several lines, after which the body ends
- `cut`: the connection is closed after `after` events, before the body is complete
- `end`: the body ends without an error after `after` events, without a finish
- `reset`: the connection is reset after `after` events
- `stall`: nothing is sent for `seconds` after `after` events
- `slow`: nothing is sent for `seconds` before the status line
- `garbage`: an event that is not JSON, after `after` events

`times` limits a fault of a header to so many requests with the same body: the retries after these
succeed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from wire.core.secret import quoted
from wire.errors import ConfigurationError
from wire.testing.emulator.answer import Answer, Cut, Pause, Piece, Reset
from wire.testing.emulator.vendor import Failure, Vendor

KINDS = ("error", "error-bare", "cut", "end", "reset", "stall", "slow", "garbage")


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


def fault_of(spec: str | Mapping[str, Any]) -> Fault:
    """Parse a fault as a header or a script writes it.

    Raises `ConfigurationError` for an unknown word or setting.

    >>> fault_of("429; retry-after=2")
    Fault(kind='status', status=429, after=1, seconds=1.0, retry_after=2.0, message='', times=0)
    """
    if isinstance(spec, str):
        word, *rest = (each.strip() for each in spec.split(";"))
        settings: dict[str, Any] = {
            name.strip().replace("-", "_"): value.strip()
            for name, _, value in (each.partition("=") for each in rest)
        }
    elif not isinstance(spec, Mapping):
        raise ConfigurationError(f"fault: expected a text or an object, not {type(spec).__name__}")
    else:
        settings = {str(name).replace("-", "_"): value for name, value in spec.items()}
        word = str(settings.pop("fault", settings.pop("status", "")))
    if word.isdecimal():
        settings |= {"status": word}
        word = "status"
    elif word not in KINDS:
        raise ConfigurationError(
            f"fault: {quoted(word)} is unknown; there are a status, {', '.join(KINDS)}"
        )
    return Fault(word, **{name: _setting(name, value) for name, value in settings.items()})


def _setting(name: str, value: Any) -> Any:
    if name not in _SETTINGS:
        raise ConfigurationError(f"fault: {name!r} is no setting; there are {', '.join(_SETTINGS)}")
    if name == "message":
        return str(value)
    try:
        number = int(value) if name in ("status", "after", "times") else float(value)
    except (TypeError, ValueError, OverflowError):
        raise ConfigurationError(f"fault: {name}: expected a number, not {quoted(value)}") from None
    if name == "status" and not 200 <= number <= 599:
        raise ConfigurationError(f"fault: status: expected 200 to 599, not {quoted(value)}")
    if name == "seconds" and not (math.isfinite(number) and number >= 0):
        raise ConfigurationError(f"fault: seconds: expected a time to wait, not {quoted(value)}")
    return number


def with_fault(
    fault: Fault | None, vendor: Vendor, failing: Failure, respond: Callable[[], Answer]
) -> Answer:
    """The response of `respond` with a fault; a status fault answers in its place.

    `failing` has the model, the request and the route of the failure.
    """
    if fault is None:
        return respond()
    failure = replace(
        failing,
        status=fault.status,
        message=fault.message,
        retry_after=fault.retry_after,
        position=fault.after,
    )
    if fault.kind == "status":
        return vendor.error_answer(failure)
    return malformed(respond(), fault, vendor, failure)


def malformed(answer: Answer, fault: Fault, vendor: Vendor, failure: Failure) -> Answer:
    """A response that breaks off, stalls or contains an error."""
    if fault.kind == "slow":
        return _with_pieces(answer, [Pause(fault.seconds), *answer.pieces])
    pieces = list(answer.pieces)
    if answer.whole:  # the first half of a whole body counts as its first event
        body = answer.body
        pieces = [body[: len(body) // 2], body[len(body) // 2 :]]
    # Without a first piece, the status line would not be sent either.
    before, after = pieces[: fault.after] or [b""], pieces[fault.after :]
    is_stream = dict(answer.headers).get("content-type", "").startswith("text/event-stream")
    inserted: list[Piece]
    match fault.kind:
        case "stall":
            inserted = [Pause(fault.seconds), *after]
        case "garbage":
            inserted = [vendor.frame(b"{not json") if is_stream else b"{not json", *after]
        case "error" if is_stream:
            inserted = [vendor.error_event(failure)]
        case "error" | "error-bare":
            inserted = [json.dumps(vendor.error(failure), indent=2).encode() + b"\n"]
        case "cut":
            inserted = [Cut()]
        case "reset":
            inserted = [Reset()]
        case _:  # end
            inserted = []
    return _with_pieces(answer, [*before, *inserted])


def _with_pieces(answer: Answer, pieces: list[Piece]) -> Answer:
    # Never in one piece: that would be sent with its length, and would look complete.
    return replace(answer, pieces=tuple(pieces) if len(pieces) > 1 else (*pieces, b""))
