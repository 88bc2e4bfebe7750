"""WebSocket (RFC 6455) without a socket: bytes to messages, and messages to bytes.

`WebSocket` wraps the protocol of the package `websockets` and adds what it leaves open: it joins
the fragments of a message, limits what is received, and reports the end as an error of this
library. `Silence` decides when to ask a silent server whether it is there.
"""

from __future__ import annotations

import base64
import hashlib
import logging
import math
import os
import struct
from collections import deque
from collections.abc import Mapping
from typing import Any, Literal, Protocol

from wire.core.close_codes import NO_CLOSE, NO_CODE, NORMAL, closed_error
from wire.core.errors import ConfigurationError, StreamIncomplete, StreamInvalid, WireError
from wire.core.limits import Limits, check_json, over

READ_BYTES = WRITE_BYTES = 64 * 1024
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
SILENT = logging.Logger("websockets", logging.CRITICAL + 1)
"""For the package `websockets`, whose records hold the messages."""
_LEFT = "the socket was left, or closed by this program"


# --- the handshake --------------------------------------------------------------------------------


def new_key() -> str:
    """Return the key of one handshake. Raises as `protocol_of`, before anything is sent."""
    protocol_of(0)
    return base64.b64encode(os.urandom(16)).decode()


def upgrade_headers(key: str) -> list[tuple[str, str]]:
    """Return the headers that ask for a WebSocket."""
    return [
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", key),
    ]


def accept_of(key: str) -> str:
    """Return the answer of a server to the key of a handshake."""
    return base64.b64encode(hashlib.sha1(key.encode() + _GUID).digest()).decode()


def handshake_problem(key: str, status: int, headers: Mapping[str, str]) -> str:
    """Return why the response to a handshake opens no WebSocket; empty if it does."""
    if status != 101:
        return f"the server answered with status {status} in place of 101"
    if headers.get("upgrade", "").lower() != "websocket":
        return "the server changed to another protocol"
    if headers.get("sec-websocket-accept", "") != accept_of(key):
        return "the header sec-websocket-accept does not belong to the request"
    if "sec-websocket-extensions" in headers or "sec-websocket-protocol" in headers:
        return "the server chose an extension or a protocol that it was not offered"
    return ""


# --- messages -------------------------------------------------------------------------------------


class Tape(Protocol):
    """Hears the messages of a session and its end, for a recording."""

    def sent(self, message: bytes) -> None:
        """Hear a message of the client."""

    def received(self, message: bytes, *, is_text: bool) -> None:
        """Hear a message of the server, also one that is over a limit."""

    def closed(self, code: int, reason: str) -> None:
        """Hear that the server closed the session."""

    def broke(self, how: Literal["cut", "reset", "timeout"]) -> None:
        """Hear that the session ended without a close. `cut`: also by what no client can read."""


class WebSocket:
    """The client's side of one WebSocket, after the handshake.

    Raises `ConfigurationError` if the package `websockets` is not installed.
    """

    __slots__ = (
        "_error",
        "_is_closed",
        "_is_text",
        "_limits",
        "_parts",
        "_protocol",
        "_unused",
        "messages",
        "tape",
    )

    def __init__(self, limits: Limits, tape: Tape | None = None) -> None:
        self._protocol = protocol_of(limits.event)
        self._limits = limits
        self._is_text = True
        self.tape = tape
        """What hears the messages; `None`: nothing."""
        self._parts: list[bytes] = []
        self._unused = 0
        self._error: WireError | None = None
        self._is_closed = False
        self.messages: deque[bytes] = deque()
        """Whole messages that nobody has taken yet, text and binary ones alike."""

    def feed(self, data: bytes) -> None:
        """Read the bytes that arrived; no bytes are the end of the connection."""
        count = len(self.messages)
        if data:
            self._protocol.receive_data(data)
        else:
            self._protocol.receive_eof()
        for frame in self._protocol.events_received():
            self._take(frame)
        self._unused = 0 if len(self.messages) > count else self._unused + len(data)
        # A message that arrives in many reads is limited by itself.
        if self._unused > self._limits.event + self._limits.unused:
            self._fail(over("unused", f"more than {self._limits.unused} bytes hold no message"))
        # After `close`, the end of the connection is what was asked for.
        if (problem := self._protocol.parser_exc) is not None and not self._is_closed:
            self._fail(self._error_of(problem))
        if self.tape is not None and not self._is_closed:
            if (close := self._protocol.close_rcvd) is not None:
                self.tape.closed(close.code, close.reason)
            elif self._error is not None:
                self.tape.broke("cut")

    def _take(self, frame: Any) -> None:
        opcodes = type(frame.opcode)
        if frame.opcode not in (opcodes.TEXT, opcodes.BINARY, opcodes.CONT) or self._error:
            return
        if frame.opcode is not opcodes.CONT:
            self._is_text = frame.opcode is opcodes.TEXT
        self._parts.append(bytes(frame.data))
        if frame.fin:
            message = b"".join(self._parts)
            self._parts.clear()
            if self.tape is not None:
                self.tape.received(message, is_text=self._is_text)
            try:
                check_json(message, self._limits)
            except WireError as error:
                self._fail(error)
            else:
                self.messages.append(message)

    def _error_of(self, problem: Exception) -> WireError:
        if isinstance(problem, EOFError):
            return closed_error(NO_CLOSE, "")
        if type(problem).__name__ == "PayloadTooBig":
            return over("event", f"a message is larger than {self._limits.event} bytes")
        return StreamInvalid(f"not WebSocket: {problem}")

    def _fail(self, error: WireError) -> None:
        self._error = self._error or error

    def send(self, message: bytes) -> bytes:
        """Return the bytes that send a text. Raises the error of a connection that is over."""
        self.check()
        self._protocol.send_text(message)
        if self.tape is not None:
            self.tape.sent(message)
        return self.output()

    def ping(self) -> bytes:
        """Return the bytes that ask whether the server is there."""
        if not self.over:
            self._protocol.send_ping(b"")
        return self.output()

    def close(self) -> bytes:
        """End the connection; return the bytes that tell the server."""
        if not self.over:
            self._protocol.send_close(NORMAL)
        self._is_closed = True
        return self.output()

    def break_off(self) -> None:
        """End the connection, which broke."""
        self._fail(closed_error(NO_CLOSE, ""))

    def output(self) -> bytes:
        """Return the bytes that are to be sent now, such as the answers to pings."""
        return b"".join(self._protocol.data_to_send())

    @property
    def over(self) -> bool:
        """Whether no further message comes, and none can be sent."""
        ended = self._protocol.close_rcvd is not None or self._error is not None
        return ended or self._is_closed

    @property
    def error(self) -> WireError | None:
        """The error with which it ended; `None` after a regular end."""
        if self._error is None and not self._is_closed:
            close = self._protocol.close_rcvd
            if close is not None and close.code != NORMAL:
                self._error = closed_error(close.code, close.reason)
        return self._error

    def check(self) -> None:
        """Raise the error of a connection that is over; `StreamIncomplete` after a regular end."""
        if self.over:
            raise self.error or (
                StreamIncomplete(_LEFT) if self._is_closed else closed_error(NORMAL, "")
            )


def message_frame(message: bytes, *, is_text: bool) -> bytes:
    """Return the bytes with which a server sends a message."""
    size = len(message)
    head = bytes([0x81 if is_text else 0x82])
    if size < 126:
        return head + bytes([size]) + message
    if size < 1 << 16:
        return head + struct.pack("!BH", 126, size) + message
    return head + struct.pack("!BQ", 127, size) + message


def close_frame(code: int, reason: str) -> bytes:
    """Return the bytes with which a server closes a session; 1005 is one without a code."""
    data = b"" if code == NO_CODE else struct.pack("!H", code) + reason.encode()
    return bytes([0x88, len(data)]) + data


def protocol_of(max_size: int) -> Any:
    """Return a protocol of `websockets`; `ConfigurationError` if it is not installed."""
    try:
        from websockets.protocol import CLIENT, Protocol  # an extra
    except ImportError:
        raise ConfigurationError(
            "a socket needs websockets: pip install 'wire-llm[live]'"
        ) from None
    return Protocol(CLIENT, max_size=max_size, logger=SILENT)


class Silence:
    """The clock of a connection on which nothing may be said for long.

    It asks the server once after half of the time, by a ping; any bytes begin the time anew.

    >>> silence = Silence(10.0, now=100.0)
    >>> silence.wait(101.0), silence.asks(105.0), silence.wait(105.0), silence.is_over(110.0)
    (4.0, True, 5.0, True)
    """

    __slots__ = ("_asked", "_heard", "_seconds")

    def __init__(self, seconds: float | None, now: float) -> None:
        self._seconds = seconds or math.inf
        self._heard, self._asked = now, False

    def heard(self, now: float) -> None:
        """Bytes arrived, or the program did not listen until now."""
        self._heard, self._asked = now, False

    def wait(self, now: float) -> float:
        """Return the seconds until something is to be done."""
        seconds = self._seconds if self._asked else self._seconds / 2
        return max(0.0, self._heard + seconds - now)

    def asks(self, now: float) -> bool:
        """Return whether to send a ping now."""
        self._asked, asked = self._asked or now >= self._heard + self._seconds / 2, self._asked
        return self._asked and not asked

    def is_over(self, now: float) -> bool:
        """Return whether the server has been silent for too long."""
        return now >= self._heard + self._seconds
