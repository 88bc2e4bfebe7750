"""The parser of responses where httptools is not installed, with the interface of httptools.

h11, which httpx brings along, parses heads. Bodies are split here: h11 takes 9 microseconds for a
chunk, which would be most of what a streamed event costs, and this takes one. What is accepted is
what h11 accepts, so that a response is the same one with the transports of httpx.

A chunk is its size in hexadecimal digits, perhaps blanks and an extension, CRLF, the data, CRLF. A
chunk of size 0 ends the body; lines of a trailer may follow it, then a blank line.
"""

from __future__ import annotations

import re
from typing import Any

import h11

_REQUEST = [(b"host", b"-"), (b"content-length", b"0")]
_UNBOUNDED = 2**31
"""Bytes of an incomplete head for h11. The reader has a limit of its own (R-10)."""
_SIZE = re.compile(rb"([0-9A-Fa-f]{1,20})[ \t]*(?:;[^\x00-\x08\x0a-\x1f\x7f]*)?\r\n")
_TRAILER = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\x00\r\n]*\r?\n")
_NO_BODY = (204, 304)
_START = b"HTTP/"
_NO_HTTP = "the response is no HTTP/1.1"


class HttpParserError(Exception):
    """The bytes are no HTTP/1.1."""


class HttpParserUpgrade(Exception):
    """The server changed the protocol."""


class HttpResponseParser:
    """Parses one response, and calls the `on_...` methods of its reader as httptools does."""

    __slots__ = ("_connection", "_head", "_is_head", "_left", "_part", "_reader", "_rest")

    def __init__(self, reader: Any, method: str) -> None:
        self._reader, self._is_head = reader, method == "HEAD"
        self._head: h11.Response | h11.InformationalResponse | None = None
        self._part = HttpResponseParser._read_start
        self._left = 0  # bytes of the body, or of the chunk, that are to come
        self._rest = b""  # the beginning of a line
        # h11 reads a response to a request, of which only the method counts.
        self._connection = h11.Connection(h11.CLIENT, max_incomplete_event_size=_UNBOUNDED)
        self._connection.send(h11.Request(method=method, target="/", headers=_REQUEST))
        self._connection.send(h11.EndOfMessage())

    def feed_data(self, data: bytes | memoryview) -> None:
        """Parse bytes. Raises `HttpParserError` and `HttpParserUpgrade`."""
        rest = bytes(data)
        try:
            while rest:
                rest = self._part(self, rest)
        except HttpParserError:
            self._part = HttpResponseParser._skip
            raise

    def get_status_code(self) -> int:
        """Return the status of the last head."""
        return self._head.status_code if self._head is not None else 0

    def get_http_version(self) -> str:
        """Return the version of the last head, such as `1.1`."""
        return self._head.http_version.decode() if self._head is not None else "1.1"

    def should_keep_alive(self) -> bool:
        """Return whether the connection may be used again after this response."""
        if self._head is None or self._head.http_version < b"1.1":
            return False
        tokens = b",".join(value for name, value in self._head.headers if name == b"connection")
        return b"close" not in [each.strip().lower() for each in tokens.split(b",")]

    # --- parts: each takes bytes, and returns those that belong to the next part ------------------

    def _read_start(self, data: bytes) -> bytes:
        """Refuse another protocol at once. h11 would wait for the end of a line."""
        data = self._rest + data
        if not data.startswith(_START[: len(data)]):
            raise HttpParserError(_NO_HTTP)
        if len(data) < len(_START):
            self._rest = data
            return b""
        self._part, self._rest = HttpResponseParser._read_head, b""
        return data

    def _read_head(self, data: bytes) -> bytes:
        reader, connection = self._reader, self._connection
        try:
            connection.receive_data(data)
            while (event := connection.next_event()) is not h11.NEED_DATA:
                if not isinstance(event, h11.Response | h11.InformationalResponse):
                    raise HttpParserUpgrade
                self._head = event
                reader.on_message_begin()
                reader.on_status(event.reason)
                for name, value in event.headers.raw_items():
                    reader.on_header(name, value)
                reader.on_headers_complete()
                if isinstance(event, h11.Response):
                    self._choose_part(event)
                    return connection.trailing_data[0]
                if event.status_code == 101:
                    raise HttpParserUpgrade
                reader.on_message_complete()
        except h11.RemoteProtocolError as cause:
            raise HttpParserError(_error_text(str(cause))) from None
        return b""

    def _choose_part(self, head: h11.Response) -> None:
        """Decide how the body ends, by the order of RFC 9112, 6.3; h11 has checked the values."""
        headers = dict(head.headers)
        if self._is_head or head.status_code in _NO_BODY:
            self._complete()
        elif b"transfer-encoding" in headers:
            self._part = HttpResponseParser._read_size
        elif b"content-length" in headers:
            self._left, self._part = (
                int(headers[b"content-length"]),
                HttpResponseParser._read_length,
            )
            if not self._left:
                self._complete()
        else:
            self._part = HttpResponseParser._read_rest

    def _complete(self) -> None:
        self._part = HttpResponseParser._read_more
        self._reader.on_message_complete()

    def _read_more(self, data: bytes) -> bytes:
        self._reader.on_message_begin()  # bytes after the end
        return b""

    def _skip(self, data: bytes) -> bytes:
        return b""  # bytes after an error

    def _read_rest(self, data: bytes) -> bytes:
        self._reader.on_body(data)
        return b""

    def _read_length(self, data: bytes) -> bytes:
        piece = data[: self._left]
        self._left -= len(piece)
        self._reader.on_body(piece)
        if not self._left:
            self._complete()
        return data[len(piece) :]

    def _read_size(self, data: bytes) -> bytes:
        """Read chunks, from the line with the size of one."""
        data, at = self._rest + data if self._rest else data, 0
        self._rest = b""
        on_body, match, size = self._reader.on_body, _SIZE.match, len(data)
        while at < size:
            if data.find(b"\n", at) < 0:
                self._rest = data[at:]
                return b""
            found = match(data, at)
            if found is None:
                raise HttpParserError("a chunk size or chunk extension is malformed")
            begin, length = found.end(), int(found[1], 16)
            if not length:
                self._part = HttpResponseParser._read_trailer
                return data[begin:]
            at = begin + length + 2
            if at > size or data[at - 2 : at] != b"\r\n":  # the rest is to come, or it is malformed
                self._left, self._part = length, HttpResponseParser._read_chunk
                return data[begin:]
            on_body(data[begin : at - 2])
        return b""

    def _read_chunk(self, data: bytes) -> bytes:
        """Read the data of a chunk that did not come in one piece, and the line end after it."""
        if self._left:
            piece = data[: self._left]
            self._left -= len(piece)
            self._reader.on_body(piece)
            return data[len(piece) :]
        data = self._rest + data
        self._rest = b""
        if data[:2] == b"\r\n":
            self._part = HttpResponseParser._read_size
            return data[2:]
        if data != b"\r":
            raise HttpParserError("chunk data are longer than their size")
        self._rest = data
        return b""

    def _read_trailer(self, data: bytes) -> bytes:
        """Read the lines after the last chunk, which nobody needs."""
        data = self._rest + data
        self._rest = b""
        while data:
            if data.startswith((b"\r\n", b"\n")):
                self._complete()
                return data[1 + data.startswith(b"\r") :]
            if b"\n" not in data:
                self._rest = data
                return b""
            line = _TRAILER.match(data)
            if line is None:
                raise HttpParserError("a trailer is no header")
            data = data[line.end() :]
        return b""


_ERROR_TEXTS = {
    "request line": f"{_NO_HTTP}: illegal status line",
    "response line": f"{_NO_HTTP}: illegal status line",
    "Transfer-Encoding": "the response has an unknown transfer encoding",
    "continuation line": "a space stands before the first header",
    "_SWITCH_": "the server changed the protocol",
}
"""Parts of messages of h11, and what they mean."""


def _error_text(message: str) -> str:
    """Return the error text for a message of h11, which may quote a line of any length."""
    text = next((text for part, text in _ERROR_TEXTS.items() if part in message), "")
    return text or f"{_NO_HTTP}: {message.partition(':')[0]}"
