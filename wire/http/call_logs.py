"""What the log has of a call, and the handler that `WIRE_LOG` switches on.

Lines at INFO have no text of a prompt or an answer. Lines at DEBUG have headers, and bodies if the
logger `wire` was set to DEBUG itself: a program that sets the root logger to DEBUG did not ask for
prompts (R-33). Keys are in neither (R-28).
"""

from __future__ import annotations

import itertools
import logging
import os
import sys
from typing import Any

from wire.core.account import Account
from wire.core.call import Preview
from wire.core.credentials import without_known
from wire.core.logs import logger
from wire.core.masking import Mask
from wire.core.secret import quoted
from wire.errors import ConfigurationError, WireError

_logger = logger("wire")
_numbers = itertools.count(1)

VARIABLE = "WIRE_LOG"
LEVELS = {"info": logging.INFO, "debug": logging.DEBUG}
BODY_CHARACTERS = 4000
"""Characters of a body in the log. A longer body is cut, and its size is logged."""
_FORMAT = "%(asctime)s %(levelname)s %(name)s, call %(call)s: %(message)s"


class StderrHandler(logging.Handler):
    """Writes records to what `sys.stderr` is at that moment: tests and notebooks replace it."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line."""
        try:
            print(self.format(record), file=sys.stderr, flush=True)
        except Exception:
            self.handleError(record)


def follow_variable() -> None:
    """Log to stderr if the environment variable `WIRE_LOG` asks for it.

    Raises `ConfigurationError` for a value that is no level.
    """
    value = os.environ.get(VARIABLE, "").strip().lower()
    if not value or any(isinstance(each, StderrHandler) for each in _logger.handlers):
        return
    if value not in LEVELS:
        raise ConfigurationError(f"{VARIABLE}: expected debug or info, not {quoted(value)}")
    handler = StderrHandler()
    handler.setFormatter(logging.Formatter(_FORMAT, defaults={"call": "-"}))
    _logger.addHandler(handler)
    _logger.setLevel(LEVELS[value])


class CallLog:
    """The lines of one call. Each record has the number of the call as its attribute `call`, since
    calls may run at the same time.
    """

    __slots__ = ("_number",)

    def __init__(self) -> None:
        self._number = next(_numbers)

    @property
    def _log(self) -> logging.LoggerAdapter[logging.Logger]:
        return logging.LoggerAdapter(_logger, {"call": self._number})

    @property
    def has_bodies(self) -> bool:
        """Whether headers and bodies, or the sizes of bodies, are logged."""
        return _logger.isEnabledFor(logging.DEBUG)

    @property
    def has_calls(self) -> bool:
        """Whether calls that succeed are logged."""
        return _logger.isEnabledFor(logging.INFO)

    def request(self, attempt: int, preview: Preview, mask: Mask) -> None:
        """A request, before it is sent."""
        where, body = f"{preview.method} {preview.url}", shown_body(preview.body, mask)
        self._log.debug("attempt %d: %s %s %s", attempt, where, preview.headers, body)

    def head(self, account: Account, headers: dict[str, str]) -> None:
        """Status and headers of a response."""
        facts = account.attempts, account.status, account.first_byte, headers
        self._log.debug("attempt %d: status %s after %.2f s %s", *facts)

    def body(self, attempt: int, body: bytes, mask: Mask) -> None:
        """The body of a response."""
        self._log.debug("attempt %d: received %s", attempt, shown_body(body, mask))

    def failure(self, attempt: int, error: WireError) -> None:
        """An attempt that failed."""
        status = error.status or "no status"
        self._log.info("attempt %d failed: %s, %s", attempt, type(error).__name__, status)
        # A message may quote the prompt or the answer: at DEBUG only.
        self._log.debug("attempt %d failed: %s", attempt, error)

    def pause(self, seconds: float) -> None:
        """The pause before the next attempt."""
        self._log.info("the next attempt in %.2f s", seconds)

    def left(self, attempt: int, events: int) -> None:
        """A stream that its caller left before its end."""
        self._log.info("attempt %d: the stream was left after %d events", attempt, events)

    def success(self, preview: Preview, account: Account, answer: Any) -> None:
        """A call that succeeded."""
        facts = [
            f"model {model}" if (model := preview.model) else "",
            f"status {account.status}",
            f"{account.seconds:.2f} s",
            f"{account.attempts} attempt{'' if account.attempts == 1 else 's'}",
            f"{account.events} events" if account.events else "",
        ]
        from wire.neutral.messages import Reply  # few programs log their calls

        if isinstance(answer, Reply) and answer.usage is not None:
            facts.append(f"{answer.usage.input} tokens in, {answer.usage.output} out")
        where = f"{preview.method} {preview.url.partition('?')[0]}"
        self._log.info("%s: %s", where, ", ".join(filter(None, facts)))


def shown_body(body: bytes, mask: Mask) -> str:
    """The beginning of a body, without keys; its size if it is no text or nobody asked for it."""
    if _logger.level == logging.NOTSET or b"\0" in body[:BODY_CHARACTERS]:
        return f"<{len(body)} bytes>"
    # Keys are hidden before the text is cut, since the cut could split one.
    text = body[: 2 * BODY_CHARACTERS].decode("utf-8", "replace")
    text = without_known(mask.text(text))[:BODY_CHARACTERS]
    return text if len(body) <= BODY_CHARACTERS else f"{text} ... ({len(body)} bytes)"
