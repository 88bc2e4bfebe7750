"""The log records of a call, and the handler that `WIRE_LOG` switches on.

The logger `wire` has one line for each call, at its end. `wire.http` has the steps of the call:
failed attempts and pauses at INFO, headers and bodies at DEBUG. Each record has its facts as
attributes too, for logs as JSON.

Lines at INFO have no text of a prompt or an answer. Bodies are logged if one of the two loggers was
set to DEBUG itself: a program that sets the root logger to DEBUG did not ask for prompts (R-33).
Keys are in no line (R-28).
"""

from __future__ import annotations

import itertools
import logging
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from wire.core.account import Account, Preview
from wire.core.call import Call, SocketCall, StreamCall
from wire.core.credentials import without_known
from wire.core.errors import ConfigurationError, WireError
from wire.core.logs import logger
from wire.core.masking import Mask
from wire.core.printable import printable_line
from wire.core.secret import living_secrets, quoted

if TYPE_CHECKING:
    from decimal import Decimal

    from wire.http.target import Target
    from wire.neutral.messages import Reply

_calls, _http = logger("wire"), logger("wire.http")
_numbers = itertools.count(1)

VARIABLE = "WIRE_LOG"
LEVELS = {"info": logging.INFO, "debug": logging.DEBUG}
BODY_CHARACTERS = 4000
"""Characters of a body in the log. A longer body is cut, and its size is logged."""
_OUTCOMES = {"left": "left before its end", "given": "the result given by around="}
"""Outcomes that are named in the line."""
_FORMAT = "%(asctime)s %(levelname)s %(name)s, call %(call)s: %(message)s"


class StderrHandler(logging.Handler):
    """Writes records to the current `sys.stderr`, which tests and notebooks replace."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        try:
            print(self.format(record), file=sys.stderr, flush=True)
        except Exception:
            self.handleError(record)


def follow_variable() -> None:
    """Log to stderr if the environment variable `WIRE_LOG` asks for it.

    Raises `ConfigurationError` for a value that is not a level.
    """
    value = os.environ.get(VARIABLE, "").strip().lower()
    if not value or any(isinstance(each, StderrHandler) for each in _calls.handlers):
        return
    if value not in LEVELS:
        raise ConfigurationError(f"{VARIABLE}: expected debug or info, not {quoted(value)}")
    handler = StderrHandler()
    handler.setFormatter(logging.Formatter(_FORMAT, defaults={"call": "-"}))
    _calls.addHandler(handler)
    _calls.setLevel(LEVELS[value])


class CallLog:
    """The lines of one call. Each record has the number of the call as its attribute `call`, since
    calls may run at the same time.
    """

    __slots__ = ("_number",)

    def __init__(self) -> None:
        self._number = next(_numbers)

    @property
    def has_bodies(self) -> bool:
        """Whether headers and bodies, or the sizes of bodies, are logged."""
        return _http.isEnabledFor(logging.DEBUG)

    @property
    def has_calls(self) -> bool:
        """Whether calls are logged."""
        return _calls.isEnabledFor(logging.INFO)

    def request(self, attempt: int, preview: Preview, mask: Mask) -> None:
        """Log a request before it is sent."""
        where, body = f"{preview.method} {preview.url}", shown_body(preview.body, mask)
        self._step(logging.DEBUG, attempt, "attempt %d: %s %s %s", where, preview.headers, body)

    def head(self, account: Account, headers: Mapping[str, str]) -> None:
        """Log the status and headers of a response."""
        text = "attempt %d: status %s after %.2f s %s"
        facts = account.status, account.first_byte, headers
        self._step(logging.DEBUG, account.attempts, text, *facts, status=account.status)

    def body(self, attempt: int, body: bytes, mask: Mask) -> None:
        """Log the body of a response."""
        self._step(logging.DEBUG, attempt, "attempt %d: received %s", shown_body(body, mask))

    def failure(self, attempt: int, error: WireError) -> None:
        """Log a failed attempt."""
        name, status = type(error).__name__, error.status
        facts = {"error": name, "status": status, "retry_after": error.retry_after}
        text = "attempt %d failed: %s, %s"
        self._step(logging.INFO, attempt, text, name, status or "no status", **facts)
        # A message may quote the prompt or the answer: at DEBUG only.
        self._step(logging.DEBUG, attempt, "attempt %d failed: %s", error, **facts)

    def pause(self, attempt: int, seconds: float) -> None:
        """Log the pause before the next attempt."""
        text = "attempt %d: the next one in %.2f s"
        self._step(logging.INFO, attempt, text, seconds, pause=seconds)

    def _step(self, level: int, attempt: int, text: str, *facts: Any, **fields: Any) -> None:
        if _http.isEnabledFor(level):
            extra = {"call": self._number, "attempt": attempt, **fields}
            _http.log(level, text, attempt, *facts, extra=extra)

    def refused(self, target: Target, call: object, error: WireError) -> None:
        """Log a call that was refused before its first attempt.

        A value that is not a call gets no record.
        """
        if self.has_calls and isinstance(call, Call | StreamCall | SocketCall):
            preview, provider = target.preview(call), target.provider.name
            self.ended(provider, preview, Account(), "failed", None, error)

    def ended(
        self,
        provider: str,
        preview: Preview,
        account: Account,
        outcome: str,
        answer: Any,
        error: WireError | None,
    ) -> None:
        """Log the end of a call, its only record on the logger `wire`.

        `answer` is the result that the server sent; a function of `around=` may have replaced it.
        """
        from wire.neutral.messages import Reply  # only few programs log their calls

        kind = None if error is None else type(error).__name__
        usage = answer.usage if isinstance(answer, Reply) else None
        cost = _cost(answer) if isinstance(answer, Reply) else None
        place = preview.url.partition("?")[0]
        texts = [
            f"model {preview.model}" if preview.model else "",
            f"failed: {kind}" if kind else "",
            f"status {account.status}" if account.status else "no status",
            f"{account.seconds or 0.0:.2f} s",
            _counts(account),
            _OUTCOMES.get(outcome, ""),
            f"{usage.input} tokens in, {usage.output} out" if usage else "",
            f"{cost:f} USD" if cost is not None else "",
        ]
        fields = {
            "call": self._number,
            "outcome": outcome,
            "provider": provider,
            "model": printable_line(preview.model) if preview.model else None,
            "method": preview.method,
            "url": place,
            "status": account.status,
            "error": kind,
            "attempts": account.attempts,
            "waited": sum(account.waits),
            "seconds": account.seconds,
            "first_byte": account.first_byte,
            "first_event": account.first_event,
            "events": account.events,
            "sent_events": account.sent_events,
            "sent": account.sent,
            "received": account.received,
            "request_id": account.request_id,
            "input_tokens": usage.input if usage else None,
            "output_tokens": usage.output if usage else None,
            "cost": None if cost is None else float(cost),
        }
        summary = ", ".join(filter(None, texts))
        _calls.info("%s %s: %s", preview.method, place, summary, extra=fields)


def _cost(reply: Reply) -> Decimal | None:
    """Return the cost of the reply in USD, if it is known."""
    try:
        return reply.cost.total
    except WireError:  # an unreadable catalogue of the user must not end the call
        return None


def _counts(account: Account) -> str:
    sent = f"{_counted(account.sent_events, 'message')} sent" if account.sent_events else ""
    events = _counted(account.events, "event") if account.events else ""
    return ", ".join(filter(None, [_counted(account.attempts, "attempt"), events, sent]))


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def shown_body(body: bytes, mask: Mask) -> str:
    """Return the beginning of a body, without keys.

    Returns its size if it is not text, or if bodies are not logged.
    """
    if not (_calls.level or _http.level) or b"\0" in body[:BODY_CHARACTERS]:
        return f"<{len(body)} bytes>"
    from wire.core.secret_fields import masked_body

    # Keys are hidden before the text is cut, since the cut could split one.
    text = masked_body(body[: 2 * BODY_CHARACTERS]).decode("utf-8", "replace")
    text = without_known(mask.text(text))[:BODY_CHARACTERS]
    return text if len(body) <= BODY_CHARACTERS else f"{text} ... ({len(body)} bytes)"


_PARTS = ("connection", "http11", "http2", "proxy", "socks")


_LOGGERS = (
    *("httpx", "httpx2", "hpack.hpack", "hpack.table"),
    *(f"{package}.{part}" for package in ("httpcore", "httpcore2") for part in _PARTS),
)
"""All loggers of these packages: a filter of a logger does not apply to those below it."""


class _Masked(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        """Mask the text of a record. Called for records of an enabled level only."""
        text = record.getMessage()
        masked = Mask(living_secrets()).text(text)
        if masked != text:
            record.msg, record.args = masked, ()
        return True


_MASKED = _Masked()


def mask_transport_logs() -> None:
    """Mask the logs of the transports from now on. Calling it again has no effect."""
    for name in _LOGGERS:
        logging.getLogger(name).addFilter(_MASKED)
