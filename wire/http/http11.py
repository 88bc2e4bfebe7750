"""HTTP/1.1 without a socket: parses a response from its bytes. `prepared.py` encodes requests.

`ResponseReader` wraps the parser of httptools (llhttp, which Node and uvicorn use), or that of
`h11_parser.py` where httptools is not installed, and adds what the parser leaves open:

- The end of a body that has neither a length nor chunks: the end of the connection.
- Whether the connection can be used again (R-25). Bytes after the end of a response are never part
  of the next one, so a connection that sent some is closed.
- A limit for a head, a trailer or a line of the chunked encoding that does not end. The parser has
  none.
"""

from __future__ import annotations

from typing import Any

import httpx

from wire.core.limits import MAX_FRAMING_BYTES

try:
    from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser
except ImportError:  # the extra `[fast]`
    from wire.http.h11_parser import HttpParserError, HttpParserUpgrade  # type: ignore[assignment]
    from wire.http.h11_parser import HttpResponseParser as parser_of
else:

    def parser_of(reader: ResponseReader, method: str) -> Any:  # type: ignore[no-redef]
        """Return a parser that is as lenient as h11."""
        parser = HttpResponseParser(reader)
        # With both a length and chunks the chunks count, as with h11. The connection is not reused.
        # h11 also takes a bare LF as the end of a line, and blanks after the size of a chunk.
        parser.set_dangerous_leniencies(
            lenient_chunked_length=True,
            lenient_optional_cr_before_lf=True,
            lenient_spaces_after_chunk_size=True,
        )
        return parser


class TooLong(httpx.RemoteProtocolError):
    """A head, or a line of the chunked encoding, has no end within `MAX_FRAMING_BYTES`."""

    error_status_hint = 431  # the words of h11's error


class ResponseReader:
    r"""Reads one response. Informational responses (1xx) before it are skipped.

    >>> reader = ResponseReader("POST")
    >>> reader.feed(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nHi")
    >>> reader.status, reader.take(), reader.is_complete, reader.is_reusable
    (200, b'Hi', True, True)

    `problem` is set for bytes that are no HTTP/1.1, and `check` raises it. The body before them can
    still be taken.
    """

    __slots__ = (
        "_body",
        "_framing",
        "_has_progress",
        "_interim",
        "_is_chunked",
        "_is_head",
        "_length",
        "_parser",
        "_received",
        "_until_end",
        "begun",
        "can_continue",
        "has_head",
        "headers",
        "is_complete",
        "is_reusable",
        "problem",
        "reason",
        "size",
        "status",
        "version",
    )

    def __init__(self, method: str) -> None:
        self._parser: Any = parser_of(self, method)
        self._is_head = method == "HEAD"
        self._body: list[bytes] = []
        self._framing = 0  # bytes since the last byte of the body, or since the head began
        self._has_progress = False  # the last data had bytes of the body, or ended a 1xx
        self._received = 0  # bytes of the body
        self._length: int | None = None
        self._is_chunked = self._until_end = False
        self._interim = False
        self.size: int = 0
        """Bytes of the body that `take` has not returned."""
        self.begun: bool = False
        """Whether a byte arrived."""
        self.can_continue: bool = False
        """Whether the server answered `Expect: 100-continue` by 100."""
        self.status: int = 0
        self.reason: bytes = b""
        self.version: bytes = b""
        self.headers: list[tuple[bytes, bytes]] = []
        self.has_head: bool = False
        """Whether `status` and `headers` are those of the final response."""
        self.is_complete: bool = False
        self.is_reusable: bool = False
        """Whether the next request can use the connection."""
        self.problem: tuple[type[httpx.TransportError], str] | None = None
        """Why the rest of the response cannot be read: an exception and its message. Each reader
        gets an exception of its own: one that is raised twice can be its own context."""

    def feed(self, data: bytes | memoryview) -> None:
        """Read the bytes that arrived."""
        self.begun = True
        if self.is_complete:
            self.is_reusable = False
            return
        self._has_progress = False
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade:
            self.fail(httpx.RemoteProtocolError, "the server changed the protocol")
        except HttpParserError as cause:
            # An exception of a callback, such as KeyboardInterrupt, is the context of the error.
            if cause.__context__ is not None and not isinstance(cause.__context__, Exception):
                raise cause.__context__ from None
            self.fail(httpx.RemoteProtocolError, str(cause))
        if self.is_complete:
            # It refers to this reader. Without the cycle, neither waits for the garbage collector.
            self._parser = None
            if self.is_reusable and self._ends_in_blank_lines(data):
                self.is_reusable = False
        elif self._has_progress:
            self._framing = 0
        else:
            self._framing += len(data)
            if self._framing > MAX_FRAMING_BYTES:
                self.fail(TooLong, "a head or a line of the chunked encoding does not end")

    def _ends_in_blank_lines(self, data: bytes | memoryview) -> bool:
        """Return whether line breaks may follow the complete response, which the parser skips.

        Returns True where it is not certain: then the connection is not reused.
        """
        whole = bytes(data)
        breaks = whole[len(whole.rstrip(b"\r\n")) :]
        if self._received and not self._is_chunked:
            piece = self._body[-1]
            return len(breaks) != len(piece) - len(piece.rstrip(b"\r\n"))
        if len(breaks) == len(whole):  # some of the line breaks at the end came earlier
            return whole not in (b"\n", b"\r\n")
        return breaks != b"\r\n\r\n"

    def end(self) -> None:
        """Read the end of the connection."""
        self.is_reusable, self._parser = False, None
        if self.has_head and self._until_end:
            self.is_complete = True
        elif not self.has_head:
            self.fail(httpx.RemoteProtocolError, "the server closed the connection")
        else:
            expected = "" if self._length is None else f", expected {self._length}"
            self.fail(
                httpx.RemoteProtocolError,
                "the server closed the connection before the end of the body "
                f"(received {self._received} bytes{expected})",
            )

    def take(self) -> bytes:
        """Return the bytes of the body that have arrived since the last call."""
        body = self._body
        data = body[0] if len(body) == 1 else b"".join(body)
        body.clear()
        self.size = 0
        return data

    def fail(self, kind: type[httpx.TransportError], message: str) -> None:
        """Give the response up, unless it is complete."""
        self.is_reusable = False
        if not self.is_complete:  # otherwise these are bytes after the end
            self.problem = self.problem or (kind, message)

    def check(self) -> None:
        """Raise the error that ended the response, if any."""
        if self.problem is not None:
            kind, message = self.problem
            raise kind(message)

    # --- called by the parser ---------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """Begin a response; after a complete one, these are bytes after its end."""
        self.is_reusable = False

    def on_status(self, reason: bytes) -> None:
        """Add a piece of the reason phrase."""
        if not self.has_head:
            self.reason += reason

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header; ignore a trailer, which nobody reads."""
        if not self.has_head:
            self.headers.append((name, value.rstrip()))

    def on_headers_complete(self) -> None:
        """End the head of a response."""
        if self.has_head:  # bytes after the end
            return
        parser = self._parser
        status = parser.get_status_code()
        if status < 200:
            if status == 101:
                return  # `HttpParserUpgrade` follows
            self.can_continue = self.can_continue or status == 100
            self.headers, self.reason, self._interim, self._has_progress = [], b"", True, True
            return
        self._read_framing()
        if self.problem is not None:
            return
        self.status, self.has_head = status, True
        self.version = b"HTTP/" + parser.get_http_version().encode()
        if self._is_head:
            self.is_complete = True  # whatever its headers say about a body

    def _read_framing(self) -> None:
        coding: bytes | None = None
        for name, value in self.headers:
            name = name.lower()
            if name == b"content-length":
                self._length = int(value)
            elif name == b"transfer-encoding":
                coding = value.strip().lower() if coding is None else b"several"
        if coding not in (None, b"chunked"):
            self.fail(httpx.RemoteProtocolError, "the response has an unknown transfer encoding")
        self._is_chunked = coding is not None
        self._until_end = not self._is_chunked and self._length is None

    def on_body(self, data: bytes) -> None:
        """Add a piece of the body."""
        if self.has_head and not self.is_complete:
            self._body.append(data)
            self._received += len(data)
            self.size += len(data)
            self._has_progress = True

    def on_message_complete(self) -> None:
        """End a response."""
        if self._interim:
            self._interim = False
        elif self.has_head and not self.is_complete:
            self.is_complete = True
            keeps = self._parser.should_keep_alive()
            self.is_reusable = keeps and not (self._is_chunked and self._length is not None)
