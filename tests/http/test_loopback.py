"""The server of these tests itself: it ends every connection that its client has left."""

import socket

import pytest

from tests.http.loopback import GOOD_STREAM, loopback


@pytest.mark.parametrize(
    "sent", [b"", b"POST / HT", b"POST / HTTP/1.1\r\ncontent-length: 9\r\n\r\n{"]
)
def test_a_client_that_hangs_up_ends_its_connection(sent: bytes):
    with loopback(GOOD_STREAM) as server:
        host, port = server.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as client:
            client.sendall(sent)
        assert server.closed.acquire(timeout=5)
        assert server.requests == []
