"""Requests and responses of httpx whose headers are made when they are read.

Transports and clients of the caller's read them. Direct lanes, and the client itself, need bytes
and a plain dict only.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx

if TYPE_CHECKING:
    from wire.core.account import Form

Origin = tuple[str, str, int | None]
"""Scheme, host and port that a request is sent to."""


class Head(NamedTuple):
    """The head of a request."""

    data: bytes
    """The request line and the headers."""
    is_chunked: bool
    """Whether the body is sent in chunks, as its length is not known."""
    expects_continue: bool
    """Whether the server is asked if it takes the body (`Expect: 100-continue`)."""


def head_of(method: str, target: str, headers: Iterable[tuple[str, str]]) -> Head:
    r"""Encode the head of a request. The texts are those of bytes in ISO-8859-1.

    >>> head_of("GET", "/models", [("Host", "localhost")]).data
    b'GET /models HTTP/1.1\r\nHost: localhost\r\n\r\n'

    Raises `httpx.LocalProtocolError` for a line break in it: what follows would be a header, or a
    request, of its own.
    """
    lines = [f"{name}: {value}\r\n" for name, value in headers]
    text = f"{method} {target} HTTP/1.1\r\n{''.join(lines)}\r\n"
    breaks = len(lines) + 2
    if text.count("\n") != breaks or text.count("\r") != breaks or "\0" in text:
        raise httpx.LocalProtocolError("a header has a line break or a NUL byte")
    data = text.encode("latin-1")
    lower = data.lower()
    return Head(
        data,
        b"\r\ntransfer-encoding: chunked\r\n" in lower,
        b"\r\nexpect: 100-continue\r\n" in lower,
    )


def chunk_of(data: bytes) -> bytes:
    r"""Encode one chunk of a body that is sent in chunks; the last one is empty.

    >>> chunk_of(b"Hi"), chunk_of(b"")
    (b'2\r\nHi\r\n', b'0\r\n\r\n')
    """
    return b"%x\r\n%b\r\n" % (len(data), data)


class PreparedURL(NamedTuple):
    """A URL and the parts of it that a request has."""

    parsed: httpx.URL
    origin: Origin
    target: str
    """Path and query."""
    netloc: str
    """Host and port, for the header `host`."""


def url_of(text: str) -> PreparedURL:
    """Parse a URL.

    Raises `httpx.InvalidURL`.
    """
    url = httpx.URL(text)
    return PreparedURL(
        url, _origin(url), url.raw_path.decode("latin-1"), url.netloc.decode("ascii")
    )


kept_url = functools.lru_cache(maxsize=256)(url_of)
"""`url_of` for URLs without a key: not for one that a server returned, which may grant access by
itself."""


def _origin(url: httpx.URL) -> Origin:
    # `raw_host` is the host that is connected to. `host` decodes punycode, and may fail.
    return url.scheme, url.raw_host.decode("ascii"), url.port


class PreparedRequest(httpx.Request):
    """A request of httpx whose `headers` are made when they are read.

    Direct lanes send the head as it was made at first and do not read them, which saves a tenth of
    a small call. A transport of the caller's may read and change headers, URL and method. The head
    is made again if it may have done so.
    """

    def __init__(
        self,
        method: str,
        url: PreparedURL,
        headers: list[tuple[str, str]],
        body: bytes,
        extensions: dict[str, Any],
        form: Form | None = None,
    ) -> None:
        # Not that of httpx, which would parse the URL and wrap the body for each request.
        self.method = self._method = method.upper()
        self.extensions = extensions
        self.stream = _Body(body) if form is None else _FormBody(form)
        self._data, self._form, self._prepared, self._pairs = body, form, url, headers
        self._head = head_of(self.method, url.target, headers)
        self._url: httpx.URL | None = None
        self._headers: httpx.Headers | None = None

    @property
    def url(self) -> httpx.URL:
        """The URL as httpx has it."""
        return self._url or self._prepared.parsed

    @url.setter
    def url(self, url: httpx.URL) -> None:
        self._url = url

    @property
    def headers(self) -> httpx.Headers:
        """The headers as httpx has them."""
        if self._headers is None:
            self._headers = httpx.Headers(self._pairs)
        return self._headers

    @headers.setter
    def headers(self, headers: httpx.Headers) -> None:
        self._headers = headers

    @property
    def content(self) -> bytes:
        """The body; a form is read into memory."""
        return self._data if self._form is None else b"".join(self._form)

    def read(self) -> bytes:
        """Return the body."""
        return self.content

    async def aread(self) -> bytes:
        """Return the body."""
        return self.content

    @property
    def is_unchanged(self) -> bool:
        """Whether its URL, headers and method are certainly unchanged."""
        return self._url is None and self._headers is None and self.method is self._method


def request_origin(request: httpx.Request) -> Origin:
    """Return the origin that a request is sent to."""
    if isinstance(request, PreparedRequest) and request.is_unchanged:
        return request._prepared.origin
    return _origin(request.url)


def request_body(request: httpx.Request) -> bytes | None:
    """Return the body of a request of `wire`; `None` for a body that is read in pieces."""
    return request.stream.data if isinstance(request.stream, _Body) else None


def request_head(request: httpx.Request) -> Head:
    """Return the head of a request of `wire` or of httpx.

    Raises `httpx.LocalProtocolError` for a line break in it.
    """
    if isinstance(request, PreparedRequest) and request.is_unchanged:
        return request._head
    return head_of(
        request.method,
        request.url.raw_path.decode("latin-1"),
        ((name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers.raw),
    )


class PreparedResponse(httpx.Response):
    """A response of httpx whose `headers` are made when they are read."""

    # The other attributes that `httpx.Response.__init__` sets.
    _request = next_request = None
    is_closed = is_stream_consumed = False
    default_encoding = "utf-8"
    _num_bytes_downloaded = 0

    def __init__(
        self,
        status: int,
        raw_headers: list[tuple[bytes, bytes]],
        stream: httpx.SyncByteStream | httpx.AsyncByteStream,
        extensions: dict[str, Any],
    ) -> None:
        # Not that of httpx, which would make headers and copy the extensions for each response.
        self.status_code, self.stream, self.extensions = status, stream, extensions
        self.history = []
        self._raw_headers = raw_headers
        self._headers: httpx.Headers | None = None

    @property
    def headers(self) -> httpx.Headers:
        """The headers as httpx has them."""
        if self._headers is None:
            self._headers = httpx.Headers(self._raw_headers)
        return self._headers

    @headers.setter
    def headers(self, headers: httpx.Headers) -> None:
        self._headers = headers


def raw_headers(response: httpx.Response) -> list[tuple[bytes, bytes]]:
    """Return the headers of a response as bytes."""
    if isinstance(response, PreparedResponse) and response._headers is None:
        return response._raw_headers
    return response.headers.raw


def header_texts(response: httpx.Response) -> dict[str, str]:
    """Return the headers of a response by their names in lower case.

    A header that came several times has the values with commas between them. A lookup in the
    headers of httpx walks all of them.
    """
    texts: dict[str, str] = {}
    for name, value in raw_headers(response):
        if not (name.isascii() and value.isascii()):
            return dict(response.headers.items())  # httpx would try several encodings
        key, text = name.decode().lower(), value.decode()
        texts[key] = f"{texts[key]}, {text}" if key in texts else text
    return texts


class _Body(httpx.ByteStream):
    """A request body.

    httpx's own is an async generator; trio warns about one that a cancelled send leaves behind.
    """

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.data = data

    def __iter__(self) -> Iterator[bytes]:
        return iter((self.data,))

    def __aiter__(self) -> AsyncIterator[bytes]:
        return _Once(self.data)


class _Once:
    def __init__(self, data: bytes) -> None:
        self._left = [data]

    def __aiter__(self) -> _Once:
        return self

    async def __anext__(self) -> bytes:
        if not self._left:
            raise StopAsyncIteration
        return self._left.pop()


class _FormBody(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A request body that is read in pieces, anew for each time that it is sent."""

    def __init__(self, form: Form) -> None:
        self._form = form

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._form)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return _Pieces(iter(self._form))


class _Pieces:
    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces

    def __aiter__(self) -> _Pieces:
        return self

    async def __anext__(self) -> bytes:
        piece = next(self._pieces, None)
        if piece is None:
            raise StopAsyncIteration
        return piece
