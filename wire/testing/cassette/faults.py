"""Faults of a response: what a network or a server breaks (C-33).

A fault is a word and its settings, `429; retry-after=2` or `cut; after=1`, or a JSON object for
settings that are no text, `{"fault": "429; retry-after=2", "body": {"error": {}}}`. The words:

- a status: an error response in place of the response; `retry-after` (seconds), `message`, `body`
  (JSON or text) and `headers` set its parts
- `cut`: the connection is closed before the body is complete
- `end`: the body ends without an error and without a finish
- `reset`: the connection is reset
- `stall`: nothing is sent for `seconds`
- `slow`: nothing is sent for `seconds` before the status line
- `garbage`: an event that is not JSON
- `repeat`: the last event is sent a second time
- `drop`: the next event is left out
- `drop-finish`: the events that finish the response are left out

The place of a fault is after `after` events (1), and `bytes` further bytes (0). With `bytes` alone,
it counts from the beginning of the body. The first half of a body without a stream counts as its
first event.

`times` limits a fault to the first so many attempts of a request, `attempt` to one of them: the
others succeed. `code`, `reason` and `size` are for words of the emulator
(`wire.testing.emulator.faults`).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from wire.core.errors import ConfigurationError
from wire.core.secret import quoted
from wire.testing.cassette.pieces import Cut, Pause, Piece, Reset

KINDS = ("cut", "end", "reset", "stall", "slow", "garbage", "repeat", "drop", "drop-finish")

ENDING = ("cut", "end", "reset")
"""Those after which nothing more comes."""

_GARBAGE = b"{not json"
_DATA = re.compile(rb"^(data: ?)[^\r\n]*", re.MULTILINE)
_FINISHES = ("finishReason", "finish_reason", "stop_reason")
_LAST_EVENTS = (
    "message_stop", "response.completed", "response.done", "response.failed", "response.incomplete",
)  # fmt: skip
_CLOSES_OF_A_SERVER = frozenset({*range(1000, 1004), *range(1007, 1015), *range(3000, 5000)})
"""The codes of RFC 6455 and its registry that may stand in a message."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault and its settings."""

    kind: str
    status: int = 503
    after: int = 1
    bytes: int = 0
    seconds: float | None = None
    """`None`: the default of whoever plays it."""
    retry_after: float | None = None
    message: str = ""
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    times: int = 0
    attempt: int = 0
    interaction: int | None = None
    """Position of the recorded interaction that has the fault; `None`: each one."""
    code: int = 1011
    """Why a session over WebSocket is closed."""
    reason: str = ""
    """The same in words."""
    size: int = 32 * 1024 * 1024
    """Bytes of a huge message: twice what clients take unless told."""

    def applies(self, attempt: int) -> bool:
        """Return whether this attempt of a request, counted from 1, has the fault."""
        return (not self.times or attempt <= self.times) and self.attempt in (0, attempt)


_SETTINGS = [each.name for each in fields(Fault) if each.name != "kind"]
_LEAST = {"after": 0, "bytes": 0, "times": 0, "attempt": 1, "interaction": 0, "size": 1}
_MOST = {"size": 256 * 1024 * 1024}


def fault_of(spec: str | Mapping[str, Any], kinds: Sequence[str] = KINDS) -> Fault:
    """Parse a fault.

    Raises `ConfigurationError` for an unknown word or setting.

    >>> fault = fault_of("429; retry-after=2")
    >>> fault.status, fault.retry_after
    (429, 2.0)
    """
    if not isinstance(spec, (str, Mapping)):
        raise ConfigurationError(f"fault: expected a text or an object, not {type(spec).__name__}")
    given: dict[str, Any] = {"fault": spec} if isinstance(spec, str) else dict(spec)
    text = str(given.pop("fault", given.pop("status", "")))
    word, *rest = (each.strip() for each in text.split(";"))
    given |= {name.strip(): value.strip() for name, _, value in (r.partition("=") for r in rest)}
    settings = {str(name).replace("-", "_"): value for name, value in given.items()}
    if word.isdecimal():
        settings |= {"status": word}
        word = "status"
    elif word not in kinds:
        raise ConfigurationError(
            f"fault: {quoted(word)} is unknown; there are a status, {', '.join(kinds)}"
        )
    if "bytes" in settings:
        settings.setdefault("after", 0)
    return Fault(word, **{name: _setting(name, value) for name, value in settings.items()})


def _setting(name: str, value: Any) -> Any:
    if name not in _SETTINGS:
        raise ConfigurationError(
            f"fault: {name.replace('_', '-')!r} is not a setting; there are "
            + ", ".join(each.replace("_", "-") for each in _SETTINGS)
        )
    if name in ("message", "reason"):
        return str(value)
    if name == "body":
        return _encoded(value)
    if name == "headers":
        return _checked_headers(value)
    try:
        number = float(value) if name in ("seconds", "retry_after") else int(value)
    except (TypeError, ValueError, OverflowError):
        raise ConfigurationError(f"fault: {name}: expected a number, not {quoted(value)}") from None
    if name == "status" and not 200 <= number <= 599:
        raise ConfigurationError(f"fault: status: expected 200 to 599, not {quoted(value)}")
    if name == "seconds" and not (math.isfinite(number) and number >= 0):
        raise ConfigurationError(f"fault: seconds: expected a time to wait, not {quoted(value)}")
    if number < _LEAST.get(name, -math.inf):
        raise ConfigurationError(
            f"fault: {name}: expected {_LEAST[name]} or more, not {quoted(value)}"
        )
    if number > _MOST.get(name, math.inf):
        raise ConfigurationError(
            f"fault: {name}: expected {_MOST[name]:,} at most, not {quoted(value)}"
        )
    if name == "code" and number not in _CLOSES_OF_A_SERVER:
        raise ConfigurationError(f"fault: code: no server may close with {quoted(value)}")
    return number


def _encoded(value: Any) -> bytes:
    if isinstance(value, (str, bytes)):
        return value.encode("utf-8", "replace") if isinstance(value, str) else value
    try:
        return json.dumps(value).encode()
    except (TypeError, ValueError, RecursionError):
        raise ConfigurationError(
            f"fault: body: expected JSON or a text, not {type(value).__name__}"
        ) from None


def _checked_headers(value: Any) -> dict[str, str]:
    if not isinstance(value, Mapping) or not all(
        isinstance(each, str) for pair in value.items() for each in pair
    ):
        raise ConfigurationError("fault: headers: expected an object of texts")
    return {name.lower(): text for name, text in value.items()}


def events_of(pieces: Sequence[bytes], *, is_stream: bool) -> list[bytes]:
    """Return the events by which faults count: those of a stream, else the halves of a body."""
    if is_stream or len(pieces) != 1:
        return list(pieces)
    whole = pieces[0]
    return [whole[: len(whole) // 2], whole[len(whole) // 2 :]]


def broken(
    events: Sequence[bytes],
    fault: Fault,
    *,
    garbage: bytes = b"",
    stall: float = math.inf,
) -> list[Piece]:
    """Apply a fault other than a status to the events of a body.

    `garbage` is the event that is not JSON; by default it is like the last event before it.
    `stall` is the length of a pause without `seconds`. Raises `ConfigurationError` for a fault
    whose place is behind the end, or that would change nothing.
    """
    pause = Pause(stall if fault.seconds is None else fault.seconds)
    if fault.kind == "slow":
        return [pause, *(events or [b""])]
    if fault.kind == "drop-finish":
        kept = [each for each in events if not finishes(each)]
        if len(kept) == len(events):
            raise ConfigurationError("fault: drop-finish: no event finishes the response")
        return [*(kept or [b""])]
    before, after = _split(events, fault)
    changed = {"repeat": before, "drop": after}.get(fault.kind, [b""])
    if _is_beyond(fault, events) or not changed:
        size = f"; bytes={fault.bytes}" if fault.bytes else ""
        raise ConfigurationError(
            f"fault: {fault.kind}; after={fault.after}{size}: the response has {len(events)} "
            f"events, {sum(map(len, events)):,} bytes"
        )
    # Without a first piece, the status line would not be sent either.
    begun: list[Piece] = [*(before or [b""])]
    match fault.kind:
        case "stall":
            return [*begun, pause, *after]
        case "garbage":
            return [*begun, garbage or _like([*reversed(before), *after]), *after]
        case "repeat":
            return [*begun, before[-1], *after]
        case "drop":
            return [*begun, *after[1:]]
        case "cut":
            return [*begun, Cut()]
        case "reset":
            return [*begun, Reset()]
        case _:  # end; of the emulator, what an error follows
            return begun


def _is_beyond(fault: Fault, events: Sequence[bytes]) -> bool:
    """Return whether the place of a fault is behind the end of the response."""
    rest = events[fault.after :]
    return fault.after > max(1, len(events)) or fault.bytes > sum(map(len, rest))


def _split(events: Sequence[bytes], fault: Fault) -> tuple[list[bytes], list[bytes]]:
    """Return the events before the place of a fault, and those after it."""
    before, after = list(events[: fault.after]), list(events[fault.after :])
    left = 0 if fault.kind in ("repeat", "drop") else fault.bytes  # which are about whole events
    while left and after:
        first = after.pop(0)
        before.append(first[:left])
        if left < len(first):
            after.insert(0, first[left:])
        left -= min(left, len(first))
    return before, after


def _like(events: Iterable[bytes]) -> bytes:
    """Return an event with invalid JSON; name and line ends are those of the first with data."""
    found = next((each for each in events if _DATA.search(each)), None)
    return _GARBAGE if found is None else _DATA.sub(rb"\g<1>" + _GARBAGE, found, count=1)


def finishes(event: bytes) -> bool:
    """Return whether an event of any wire says that the response is complete."""
    data = (
        b"".join(
            line.removeprefix(b"data:") for line in event.splitlines() if line.startswith(b"data:")
        ).strip()
        or event.strip()
    )  # a line of NDJSON has no field
    if data == b"[DONE]":
        return True
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and (
        value.get("type") in _LAST_EVENTS
        or value.get("done") is True
        or _ends_a_turn(value.get("serverContent"))
        or any(each is not None for each in _finishes_in(value))
    )


def _ends_a_turn(content: Any) -> bool:
    return isinstance(content, dict) and content.get("turnComplete") is True


def _finishes_in(value: dict[str, Any]) -> Iterator[Any]:
    """Yield the finish reasons of an event, at the places where the wires have them."""
    choices = value.get("candidates") or value.get("choices") or [value.get("delta")]
    for each in choices if isinstance(choices, list) else ():
        if isinstance(each, dict):
            yield from map(each.get, _FINISHES)


def error_response(fault: Fault) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and body of the error of a fault with a status."""
    message = fault.message or f"a fault answers {fault.status}"
    body = fault.body
    if body is None:
        body = json.dumps({"error": {"code": fault.status, "message": message}}).encode()
    headers = {"content-type": "application/json"}
    if fault.retry_after is not None:
        headers["retry-after"] = f"{fault.retry_after:g}"
    return fault.status, headers | fault.headers, body
