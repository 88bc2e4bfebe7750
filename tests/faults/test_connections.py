"""Connections that fail before any HTTP: TCP, TLS and the tunnel of a proxy (R-13, R-32)."""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import threading
from pathlib import Path
from typing import Any

import anyio
import pytest
import trustme

from tests.faults.clients import STYLES
from tests.http.loopback import Serve, serving
from wire import AsyncChat, Chat, Retry, Timeouts, WireError


def asked(style: str, url: str, **clocks: float) -> WireError:
    """The error of one question; three attempts are allowed."""
    options: dict[str, Any] = {"api_key": "fake-key", "base_url": url, "retry": Retry(base=0)}
    options["timeouts"] = Timeouts(**clocks)

    async def main() -> None:
        async with AsyncChat("gemini:m", **options) as chat:
            await chat.ask("Hi")

    with pytest.raises(WireError) as caught:
        if style == "threads":
            with Chat("gemini:m", **options) as chat:
                chat.ask("Hi")
        else:
            anyio.run(main, backend=style)
    return caught.value


def hold(peer: socket.socket) -> None:
    """Read and say nothing."""
    while peer.recv(65536):
        pass


def drip(data: bytes) -> Serve:
    """Send the same bytes again and again, with a pause."""

    def serve(peer: socket.socket) -> None:
        stop = threading.Event()
        while not stop.wait(0.05):
            peer.sendall(data)

    return serve


def say(data: bytes) -> Serve:
    """Read a request, then send `data` and close."""

    def serve(peer: socket.socket) -> None:
        peer.recv(65536)
        peer.sendall(data)
        peer.close()

    return serve


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("serve", [hold, drip(b"\x16")], ids=["silent", "drips"])
def test_a_handshake_that_does_not_end(style: str, serve: Serve) -> None:
    """R-13: the connect clock runs in the handshake of TLS."""
    with serving(serve) as (port, connections):
        error = asked(style, f"https://127.0.0.1:{port}", connect=0.4, first_byte=5)
    assert (type(error).__name__, error.attempts, len(connections)) in (
        ("ConnectClock", 3, 3),
        ("ConnectionLost", 3, 3),  # OpenSSL refuses bytes that are no handshake
    )
    assert serve is not hold or type(error).__name__ == "ConnectClock"


@pytest.mark.parametrize("style", STYLES)
def test_plain_http_on_a_port_of_tls(style: str) -> None:
    with serving(say(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")) as (port, connections):
        error = asked(style, f"https://127.0.0.1:{port}")
    assert (type(error).__name__, error.attempts, len(connections)) == ("ConnectionLost", 3, 3)


@pytest.mark.parametrize("style", STYLES)
def test_a_certificate_that_nobody_signed(style: str, tmp_path: Path) -> None:
    """R-32: it is refused at the first attempt, because no later one gets another."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)

    def serve(peer: socket.socket) -> None:
        with contextlib.suppress(ssl.SSLError), context.wrap_socket(peer, server_side=True) as talk:
            talk.recv(100)

    with serving(serve) as (port, connections):
        error = asked(style, f"https://127.0.0.1:{port}")
    assert (type(error).__name__, error.attempts, len(connections)) == ("ConnectionLost", 1, 1)
    assert "certificate is not trusted" in error.message


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    ("serve", "kinds"),
    [
        (hold, ("ConnectClock", "FirstByteClock")),
        (drip(b"H"), ("ConnectClock", "FirstByteClock")),
        (drip(b"HTTP/1.1 100 Continue\r\n\r\n"), ("ConnectClock", "FirstByteClock")),
        (say(b""), ("ConnectionLost",)),
        (say(b"nonsense\r\n\r\n"), ("ConnectionLost",)),
        (say(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"), ("ConnectionLost",)),
        (say(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n"), ("ConnectionLost",)),
    ],
    ids=["silent", "drips", "drips responses", "closes", "nonsense", "refuses", "fails"],
)
def test_a_proxy_that_opens_no_tunnel(
    style: str, serve: Serve, kinds: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """R-13, R-32: a typed error, and the key never leaves."""
    with serving(serve) as (port, _):
        for name in ("HTTPS_PROXY", "https_proxy"):
            monkeypatch.setenv(name, f"http://user:fake-password@127.0.0.1:{port}")
        error = asked(style, "https://hostile.test", connect=0.4, first_byte=1.0, total=5.0)
    assert type(error).__name__ in kinds
    assert "fake-password" not in f"{error!r}{error.__cause__!r}"


def test_the_environment_of_this_process_has_no_proxy() -> None:
    """Else the other tests would go to it."""
    assert not {"HTTPS_PROXY", "https_proxy"} & os.environ.keys()
