"""The parts of a WebSocket session that the one for threads and the one for tasks share. No I/O."""

from __future__ import annotations

import time
from typing import Any, Generic

import httpx

from wire.core.account import Account
from wire.core.call import Received, Sent, SocketCall
from wire.core.errors import (
    ConfigurationError,
    IdleClock,
    LimitError,
    StreamInvalid,
    WireError,
    invalid,
)
from wire.http.sending import Attempt, over_clock
from wire.http.watchdog import UPGRADE
from wire.http.websocket import Silence, WebSocket, handshake_problem

LINK = "wire.link"
"""In the extensions of a response: what makes the link of its session, in place of `Link` or
`AsyncLink`. A cassette has it, to record or to play the messages."""

MAX_QUEUED = 1000
"""Messages that may wait to be taken. While there are more, no further ones are read."""


def upgraded(request: dict[str, Any], response: httpx.Response) -> Any:
    """Return the connection of a response, which is a WebSocket now.

    Raises `StreamInvalid` for a response that opens none, `ConfigurationError` if the transport
    does not hand the connection out.
    """
    if problem := handshake_problem(request[UPGRADE], response.status_code, response.headers):
        raise StreamInvalid(f"no WebSocket: {problem}")
    network = response.extensions.get("network_stream")
    if network is None:
        raise ConfigurationError("http: this transport cannot open a WebSocket")
    return network


class SocketState(Generic[Sent, Received]):
    """What both sessions know: the call, its account, and how it ended."""

    def __init__(self, attempt: Attempt, websocket: WebSocket) -> None:
        call = attempt.call
        assert isinstance(call, SocketCall)
        self._attempt, self._call = attempt, call
        self._websocket = websocket
        self._silence = Silence(attempt.clocks.idle, time.monotonic())
        self._error: WireError | None = None
        self._closed = False
        attempt.watch.end()  # from here on, each wait has its own time
        attempt.account.sent = attempt.account.received = 0

    @property
    def account(self) -> Account:
        """The account so far: attempts, waits, bytes, messages received, times."""
        return self._attempt.account

    def _encoded(self, event: Sent) -> bytes:
        message = self._call.encode(event)
        self._attempt.account.sent += len(message)
        self._attempt.account.sent_events += 1
        return message

    def _decoded(self, message: bytes) -> Received:
        attempt, account = self._attempt, self._attempt.account
        account.received += len(message)
        account.events += 1
        try:
            if account.first_event is None:
                account.first_event = attempt.elapsed
                if attempt.around is not None:
                    attempt.around.first_event(attempt)
            received: Received = self._call.parse(message)
        except WireError as error:
            raise self._failed(error) from error.__cause__
        except Exception as cause:
            raise self._failed(invalid(cause, message)) from cause
        return received

    def _next(self) -> bytes | None:
        """Take a message that has arrived; `None` if there is none."""
        messages = self._websocket.messages
        return messages.popleft() if messages and not self._closed else None

    @property
    def _has_ended(self) -> bool:
        """Whether no further message comes. Raises the error with which it ended."""
        if not self._websocket.over and self._error is None:
            return False
        if self._error is None and (error := self._websocket.error) is not None:
            self._failed(error)
        if self._error is not None:
            raise self._error
        return True

    def _broken(self, cause: BaseException) -> WireError:
        """Keep the error of a connection that failed."""
        is_late = isinstance(cause, TimeoutError)
        if (tape := self._websocket.tape) is not None and not self._closed:
            tape.broke("timeout" if is_late else "reset")
        if is_late:
            idle = over_clock("idle", self._attempt.clocks.idle)
            host = self._attempt._host()
            error: WireError = IdleClock(f"{idle}: nothing came from {host}", retryable=True)
            error.__cause__ = cause
        else:
            error = self._attempt.lost(cause)
        return self._failed(error)

    def _failed(self, error: WireError) -> WireError:
        """Keep the first error, with what is known of the call and without its keys."""
        first = self._error
        if first is None:
            first = self._error = self._attempt.masked(error)
            error.request_id = error.request_id or self.account.request_id
            error.attempts = error.attempts or self.account.attempts
        return first

    def _left(self) -> bool:
        """Mark the session as closed by its program; return whether it was not before."""
        if self._closed:
            return False
        self._closed = True
        self.account.seconds = self._attempt.elapsed
        return True

    def _tell_end(self) -> None:
        """Report the end to the log and to the functions of `around=`, whose errors it raises."""
        attempt, error = self._attempt, self._error or self._websocket.error
        if attempt.around is not None:
            attempt.around.session_ended(attempt, error)
        else:
            attempt._log_end("failed" if error else "answered", error=error)


def second_listener() -> ConfigurationError:
    """Build the error of a second thread or task that waits for messages."""
    return ConfigurationError("socket: another thread or task waits for its messages already")


def no_room(size: int) -> LimitError:
    """Build the error of a message that the server does not read."""
    return LimitError(f"the server has not read {size} bytes that were sent before")
