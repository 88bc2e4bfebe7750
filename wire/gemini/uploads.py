"""Bytes to the server, in pieces, resumed where a connection was lost. Google's resumable protocol,
as calls and as a flow.

The start of an upload is answered with a URL (`x-goog-upload-url`) that is a permission of its own:
the pieces go there, without the key. A piece whose answer was lost is not sent again blindly:
`query` tells how much of it has arrived.

Files are not opened here: the caller hands over bytes, or a binary file object that was opened,
from which the flow reads a piece when it is that piece's turn. On an `AsyncClient` such a read
blocks the event loop for as long as the disk takes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Protocol, TypeVar

import msgspec

from wire.core.bodies import wrong_type
from wire.core.call import Call
from wire.core.exchange import Pause
from wire.core.flow import Flow, ask
from wire.core.memory import WireStruct
from wire.core.retry import DEFAULT, Retry
from wire.errors import ConfigurationError, RuleError, StreamInvalid, Violation, WireError
from wire.gemini.error_body import parse_error
from wire.gemini.paths import JSON, checked, named, not_on_vertex
from wire.gemini.reader import parse_plain
from wire.gemini.types import (
    CreateFileRequest,
    CreateFileResponse,
    File,
    Operation,
    UploadToFileSearchStoreRequest,
)

S = TypeVar("S", bound=WireStruct)

CHUNK_BYTES = 8 * 1024 * 1024
"""Bytes of one piece, as Google's own clients send them."""

CHUNK_MULTIPLE_BYTES = 256 * 1024
"""Of what a piece is a multiple, unless the server asks for more
(`x-goog-upload-chunk-granularity`: 8 MiB, recorded 2026).
"""

Progress = Callable[[int, int], object]
"""Called with the bytes that have arrived and those of the whole."""


class Readable(Protocol):
    """A binary file that is open."""

    def read(self, size: int, /) -> bytes:
        """The next bytes, at most so many; none at the end."""
        ...


class Upload(WireStruct, frozen=True, kw_only=True):
    """What the answers of an upload say: their headers, and in the last one the body."""

    status: str = ""
    """`active`, `final` or `cancelled`."""
    url: str = ""
    """Where the bytes go; in the answer to the start."""
    received: int | None = None
    """Bytes that have arrived; in the answer to a query."""
    granularity: int | None = None
    """Of what a piece has to be a multiple; the last one has not."""
    answer: Any = None
    """What became of the bytes; in the last answer."""


# --- calls ----------------------------------------------------------------------------------------


def start_upload(file: File, *, size: int, mime_type: str) -> Call[Upload]:
    """Begin an upload; of the file, its name and display name are taken.

    >>> call = start_upload(File(display_name="a.txt"), size=5, mime_type="text/plain")
    >>> call.preview().url, call.headers["x-goog-upload-command"], call.body
    ('/upload/files', 'start', b'{"file":{"displayName":"a.txt"}}')
    """
    return _start(
        "/files",
        checked(CreateFileRequest(file=file), CreateFileRequest),
        size,
        mime_type,
        CreateFileResponse,
    )


def send_piece(
    upload: Call[Upload], url: str, data: bytes, *, offset: int, last: bool
) -> Call[Upload]:
    """Send one piece; `upload` is the call that began it.

    Not repeated by itself: how much of it arrived is to be asked first.
    """
    command = (
        "upload, finalize" if last and (data or not offset) else "finalize" if last else "upload"
    )
    return _to(upload, url, command, data, {"x-goog-upload-offset": str(offset)}, idempotent=False)


def query_upload(upload: Call[Upload], url: str) -> Call[Upload]:
    """How much has arrived."""
    return _to(upload, url, "query")


def _start(
    path: str, body: bytes, size: int, mime_type: str, kind: type[WireStruct]
) -> Call[Upload]:
    if not isinstance(mime_type, str) or not mime_type.strip():
        raise RuleError(
            violations=[Violation("mimeType", "a type such as application/pdf is wanted", "G64")]
        )
    headers = {
        **JSON,
        "x-goog-upload-protocol": "resumable",
        "x-goog-upload-command": "start",
        "x-goog-upload-header-content-length": str(size),
        "x-goog-upload-header-content-type": mime_type,
    }
    parse = functools.partial(_parse, kind)
    more: Any = {
        "read_error": parse_error,
        "read_headers": _with_headers,
        "path_prefix": "/upload",
        "host_rules": not_on_vertex,
    }
    return Call("gemini", "POST", path, body, headers=headers, parse=parse, **more)


def _to(
    upload: Call[Upload],
    url: str,
    command: str,
    data: bytes = b"",
    headers: Mapping[str, str] | None = None,
    **more: Any,
) -> Call[Upload]:
    headers = {"x-goog-upload-command": command, **(headers or {})}
    parse, timeouts = upload.parse, upload.timeouts
    return Call(
        "gemini",
        "POST",
        "",
        data,
        url=url,
        headers=headers,
        parse=parse,
        timeouts=timeouts,
        read_error=parse_error,
        read_headers=_with_headers,
        **more,
    )


def _parse(kind: type[WireStruct], body: bytes) -> Upload:
    """Only the last answer has a body that says something."""
    return Upload(answer=parse_plain(kind, body)) if body.lstrip()[:1] == b"{" else Upload()


def _with_headers(upload: Upload, headers: Mapping[str, str]) -> Upload:
    return msgspec.structs.replace(
        upload,
        status=headers.get("x-goog-upload-status", "").strip().lower()
        or ("final" if upload.answer is not None else "active"),
        url=headers.get("x-goog-upload-url", "").strip(),
        received=_number(headers.get("x-goog-upload-size-received", "")),
        granularity=_number(headers.get("x-goog-upload-chunk-granularity", "")),
    )


def _number(text: str) -> int | None:
    return int(text) if text.strip().isdecimal() and len(text) < 20 else None


# --- the flow -------------------------------------------------------------------------------------


def upload_file(
    data: bytes | Readable,
    *,
    mime_type: str,
    display_name: str | None = None,
    name: str | None = None,
    size: int | None = None,
    chunk: int = CHUNK_BYTES,
    progress: Progress | None = None,
    retry: Retry = DEFAULT,
) -> Flow[File]:
    """A flow: the bytes as a file, which may still be PROCESSING (`wait_for_file`).

    `data` is bytes, or a binary file that the caller opened and will close; of one that cannot be
    sought in, `size` is wanted. `progress(arrived, whole)` is called when a piece has arrived.
    `retry` says how often in a row a piece may fail, and the waits.

    >>> flow = upload_file(b"hello", mime_type="text/plain", display_name="h")
    >>> next(flow).preview().url
    '/upload/files'
    """
    source = _Source(data, size)
    file = File(name=None if name is None else named(name, "files"), display_name=display_name)
    start = start_upload(file, size=source.size, mime_type=mime_type)
    return _uploaded_file(_uploading(start, source, _checked_chunk(chunk), progress, retry))


def upload_to_file_search_store(
    store: str,
    data: bytes | Readable,
    request: UploadToFileSearchStoreRequest,
    *,
    size: int | None = None,
    chunk: int = CHUNK_BYTES,
    progress: Progress | None = None,
    retry: Retry = DEFAULT,
) -> Flow[Operation]:
    """A flow: the bytes as a document of a store; the answer is the job that reads it. The rest is
    as in `upload_file`.

    The request's `mime_type` is wanted.
    """
    source = _Source(data, size)
    body = checked(request, UploadToFileSearchStoreRequest)
    path = f"/{named(store, 'fileSearchStores')}:uploadToFileSearchStore"
    start = _start(path, body, source.size, request.mime_type or "", Operation)
    return _uploading(start, source, _checked_chunk(chunk), progress, retry)


def _uploaded_file(flow: Flow[CreateFileResponse]) -> Flow[File]:
    answer = yield from flow
    if answer.file is None:
        raise StreamInvalid("the last answer of the upload has no file", raw=answer.raw or b"")
    return answer.file


def _uploading(
    start: Call[Upload], source: _Source, chunk: int, progress: Progress | None, retry: Retry
) -> Flow[Any]:
    begun = yield from ask(start)
    if not begun.url:
        raise StreamInvalid(
            "the answer to the start of an upload names no URL to send to (x-goog-upload-url)"
        )
    try:
        query = query_upload(start, begun.url)
    except ConfigurationError as error:
        raise StreamInvalid(
            f"the answer to the start of an upload names no URL to send to: {error.message}"
        ) from None
    grain = begun.granularity or CHUNK_MULTIPLE_BYTES
    chunk = max(grain, chunk - chunk % grain)
    dice, failures = Random(), 0
    state, block, base, arrived = begun, b"", 0, 0  # `block` is what stands from `base` on
    while state.status == "active":
        if arrived == base + len(block):
            block, base = source.read(chunk), arrived
        piece = block[arrived - base :]
        before = arrived
        try:
            last = arrived + len(piece) == source.size
            state = yield from ask(send_piece(start, begun.url, piece, offset=arrived, last=last))
            if last and state.status == "active":
                raise StreamInvalid(
                    "all bytes were sent, and the server says that the upload is not at its end"
                )
            arrived, failures = arrived + len(piece), 0
        except WireError as error:
            failures += 1
            wait = retry.wait(error, failures, dice)
            if wait is None:
                raise
            yield Pause(wait)
            state = yield from ask(query)
            arrived = (
                source.size if state.status == "final" else _arrived(state, base, base + len(block))
            )
            failures = failures if arrived == before else 0
        if progress is not None and arrived != before:
            progress(arrived, source.size)
    if state.status != "final" or state.answer is None:
        lost = (
            "; its last answer was lost, and a list may have it" if state.status == "final" else ""
        )
        raise StreamInvalid(f"the upload is {state.status[:40]}{lost}")
    return state.answer


def _arrived(state: Upload, least: int, most: int) -> int:
    """Bytes that the server has.

    What it has confirmed once it cannot have lost, and more than was sent it cannot have.
    """
    if state.status == "active" and (state.received is None or not least <= state.received <= most):
        raise StreamInvalid(
            f"the server says that {state.received} bytes have arrived; between {least} "
            f"and {most} were sent"
        )
    return state.received or 0


def _checked_chunk(chunk: int) -> int:
    if type(chunk) is not int or chunk < 1:
        raise ConfigurationError(f"chunk: a number of bytes from 1 up, not {chunk!r}")
    return chunk


class _Source:
    """Bytes that are taken piece by piece, and how many there are."""

    def __init__(self, data: bytes | Readable, size: int | None) -> None:
        self._data: Any = data
        self._at = 0
        if not (
            isinstance(data, (bytes, bytearray, memoryview))
            or callable(getattr(data, "read", None))
        ):
            raise wrong_type("data", data, "bytes or a file opened in binary mode")
        if size is not None and (type(size) is not int or size < 0):
            raise RuleError(
                violations=[Violation("size", f"a number of bytes is wanted, not {size!r}")]
            )
        self._file = None if isinstance(data, (bytes, bytearray, memoryview)) else data
        given = bytes(data) if isinstance(data, (bytearray, memoryview)) else data
        self._bytes = given if isinstance(given, bytes) else b""
        self.size = (
            len(self._bytes) if self._file is None else _size(self._file) if size is None else size
        )
        if size is not None and size != self.size:
            raise RuleError(
                violations=[Violation("size", f"there are {self.size} bytes, not {size}")]
            )

    def read(self, most: int) -> bytes:
        """The next bytes: `most`, or what is left."""
        wanted = min(most, self.size - self._at)
        piece = (
            self._bytes[self._at : self._at + wanted]
            if self._file is None
            else _read(self._file, wanted)
        )
        if len(piece) != wanted:
            raise ConfigurationError(
                f"data: it ends after {self._at + len(piece)} of {self.size} bytes"
            )
        self._at += wanted
        return piece


def _size(file: Any) -> int:
    try:
        here: int = file.tell()
        size: int = file.seek(0, 2) - here
        file.seek(here)
    except (AttributeError, OSError, ValueError):
        raise RuleError(
            violations=[Violation("size", "it is wanted for a file that cannot be sought in")]
        ) from None
    return size


def _read(file: Readable, wanted: int) -> bytes:
    """Exactly so many bytes, unless the file ends: a raw file may give fewer at a time."""
    pieces: list[bytes] = []
    while wanted > 0:
        piece = file.read(wanted)
        if not isinstance(piece, bytes):
            raise wrong_type("data", piece, "file opened in binary mode, which reads bytes")
        if not piece:
            break
        pieces.append(piece)
        wanted -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
