"""WebSocket without a socket: bytes to messages, and messages to bytes."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from tests.http.frames import SERVER, Protocol, close, frame, text
from wire import errors
from wire.core.close_codes import closed_error
from wire.core.limits import Limits
from wire.http.websocket import Silence, WebSocket, handshake_problem, upgrade_headers


def fed(*pieces: bytes, limits: Limits = Limits()) -> WebSocket:  # noqa: B008  it is immutable
    websocket = WebSocket(limits)
    for piece in pieces:
        websocket.feed(piece)
    return websocket


def sent(data: bytes) -> list[tuple[str, bytes]]:
    """The frames in bytes of a client."""
    server = Protocol(SERVER)
    server.receive_data(data)
    return [(each.opcode.name, bytes(each.data)) for each in server.events_received()]  # type: ignore[union-attr]


def test_messages_are_whole_whatever_their_frames_and_reads() -> None:
    stream = b"".join(
        [
            text({"type": "a"}),
            frame("ping", b"1"),
            frame("binary", b'{"b"', fin=False),
            frame("pong"),
            frame("cont", b": ", fin=False),
            frame("cont", b"2}"),
            frame("text", "\N{WATER WAVE}".encode()),
        ]
    )
    wanted = [b'{"type": "a"}', b'{"b": 2}', "\N{WATER WAVE}".encode()]
    for at in range(1, len(stream)):
        assert list(fed(stream[:at], stream[at:]).messages) == wanted, at
    one_by_one = fed(*(stream[at : at + 1] for at in range(len(stream))))
    assert (list(one_by_one.messages), one_by_one.over) == (wanted, False)
    assert sent(one_by_one.output()) == [("PONG", b"1")]


def test_what_is_sent_is_a_masked_text() -> None:
    websocket = fed()
    data = websocket.send(b'{"type":"x"}')
    assert b"type" not in data
    assert sent(data + websocket.ping() + websocket.close()) == [
        ("TEXT", b'{"type":"x"}'),
        ("PING", b""),
        ("CLOSE", b"\x03\xe8"),
    ]
    assert (websocket.over, websocket.error) == (True, None)
    with pytest.raises(errors.StreamIncomplete, match="closed by this program"):
        websocket.send(b"{}")


def test_messages_before_the_end_are_not_lost() -> None:
    websocket = fed(text(1) + text(2) + close(1011, "overworked") + text(3))
    assert (list(websocket.messages), websocket.over) == ([b"1", b"2"], True)
    assert isinstance(websocket.error, errors.ServerError)
    assert (websocket.error.message, websocket.error.code) == ("overworked", "1011")
    assert sent(websocket.output()) == [("CLOSE", b"\x03\xf3overworked")]


@pytest.mark.parametrize(
    ("code", "reason", "kind", "message", "retryable"),
    [
        (1001, "", "ConnectionLost", "the socket was closed: 1001, the server goes away", True),
        (1012, "x", "ConnectionLost", "the socket was closed: 1012, the server restarts; x", True),
        (1007, "Bad field x", "BadRequestError", "Bad field x", False),
        (1008, "A policy", "APIError", "A policy", False),
        (1009, "", "BadRequestError",
         "the socket was closed: a message is too large for the server", False),
        (1011, "", "ServerError", "the socket was closed: the server failed", True),
        (1013, "Later", "OverloadedError", "Later", True),
        (4008, "x", "APIError", "x", False),
        (3999, "", "APIError", "the socket was closed: an unknown code", False),
    ],
)  # fmt: skip
def test_codes_of_the_end_are_typed_errors(
    code: int, reason: str, kind: str, message: str, retryable: bool
) -> None:
    error = fed(close(code, reason)).error
    assert error is not None
    assert (type(error).__name__, error.message, error.retryable) == (kind, message, retryable)
    assert str(error) == str(closed_error(code, reason))


def test_a_regular_end_is_no_error() -> None:
    websocket = fed(close(1000, "bye"))
    assert (websocket.over, websocket.error) == (True, None)
    with pytest.raises(errors.ConnectionLost, match="1000, the server ended it"):
        websocket.check()


def test_the_end_of_the_connection_without_a_close_is_an_error() -> None:
    for pieces in ([b""], [text(1)[:2], b""], [text(1), frame("text", b"{", fin=False), b""]):
        error = fed(*pieces).error
        assert str(error) == "the socket was closed: 1006, the connection broke off"
    closed = fed(close(1001), b"")
    assert str(closed.error) == "the socket was closed: 1001, the server goes away"
    silent = fed(frame("close"), b"")
    assert "1005, the server ended it without a reason" in str(silent.error)


@pytest.mark.parametrize(
    "data",
    [
        frame("cont", b"x"),
        frame("text", b"x", fin=False) + text(1),
        b"\xc1\x00",
        b"\x81\x80\x00\x00\x00\x00",
        b"\x83\x00",
        frame("close", b"\x00"),
    ],
    ids=["continues nothing", "two begun", "compressed", "masked", "unknown opcode", "half a code"],
)
def test_what_is_no_websocket_is_refused(data: bytes) -> None:
    websocket = fed(data)
    assert isinstance(websocket.error, errors.StreamInvalid)
    assert (websocket.over, list(websocket.messages)) == (True, [])
    assert sent(websocket.output())[0][0] == "CLOSE"


def test_what_exceeds_the_limits_is_refused() -> None:
    limits = Limits(event=100, unused=1000, depth=10)
    too_large: list[Any] = [
        (frame("text", b"x" * 101), "event"),
        (frame("text", b"x" * 60, fin=False) + frame("cont", b"x" * 60), "event"),
        (frame("ping", b"x" * 100) * 12, "unused"),
        (frame("text", b"[" * 30 + b"]" * 30), "depth"),
    ]
    for data, field in too_large:
        error = fed(*(data[at : at + 50] for at in range(0, len(data), 50)), limits=limits).error
        assert isinstance(error, errors.LimitError), field
        assert f"limits.{field} sets the limit" in str(error)
    assert fed((frame("ping", b"x" * 100) * 5 + text(1)) * 9, limits=limits).error is None


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "websockets.protocol", None)
    with pytest.raises(errors.ConfigurationError, match=r"pip install 'wire-llm\[live\]'"):
        WebSocket(Limits())


def test_the_handshake_is_checked() -> None:
    key = "dGhlIHNhbXBsZSBub25jZQ=="  # of RFC 6455, with its answer
    good = {"upgrade": "websocket", "sec-websocket-accept": "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="}
    assert dict(upgrade_headers(key))["Sec-WebSocket-Key"] == key
    assert handshake_problem(key, 101, good) == ""
    assert "status 200" in handshake_problem(key, 200, good)
    assert "another protocol" in handshake_problem(key, 101, good | {"upgrade": "h2c"})
    assert "does not belong" in handshake_problem("a" + key[1:], 101, good)
    assert "not offered" in handshake_problem(key, 101, good | {"sec-websocket-protocol": "x"})


def test_a_silent_server_is_asked_once_and_then_given_up() -> None:
    silence = Silence(10, now=0.0)
    assert (silence.asks(4.9), silence.asks(5.0), silence.asks(6.0)) == (False, True, False)
    assert (silence.wait(6.0), silence.is_over(9.9), silence.is_over(10.0)) == (4.0, False, True)
    silence.heard(9.0)
    assert (silence.is_over(18.9), silence.wait(9.0), silence.asks(14.0)) == (False, 5.0, True)
    never = Silence(None, now=0.0)
    assert (never.wait(1e9), never.asks(1e9), never.is_over(1e9)) == (float("inf"), False, False)
