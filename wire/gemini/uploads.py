"""Uploads a file or bytes in chunks with Google's resumable protocol, as calls and as flows.

The response to the start of an upload has a URL (`x-goog-upload-url`) that authorizes the rest of
the upload: the chunks are sent to it without the API key. If the response to a chunk is lost, the
flow queries how many bytes the server has before it continues. Sending the chunk again at once
could store its bytes twice.

The caller passes a path, an open binary file, or bytes. A file is read chunk by chunk. With an
`AsyncClient` each read blocks the event loop until the disk has delivered the chunk.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, TypeVar

import msgspec

from wire.core.arguments import checked_arguments
from wire.core.call import Call
from wire.core.errors import ConfigurationError, RuleError, StreamInvalid, Violation, WireError
from wire.core.exchange import Pause
from wire.core.flow import Flow, ask
from wire.core.memory import WireStruct
from wire.core.retry import DEFAULT, Retry
from wire.core.secret import quoted
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
from wire.neutral.data_source import DataSource, OpenData, Readable

S = TypeVar("S", bound=WireStruct)

CHUNK_BYTES = 8 * 1024 * 1024
"""Default size of a chunk, in bytes; Google's own clients send chunks of this size."""

CHUNK_MULTIPLE_BYTES = 256 * 1024
"""The size of each chunk but the last is a multiple of this number of bytes, unless the server
requires another multiple (`x-goog-upload-chunk-granularity`: 8 MiB, recorded 2026).
"""

Progress = Callable[[int, int], object]
"""Callback with two numbers of bytes: received by the server, and in total."""


class Upload(WireStruct, frozen=True, kw_only=True):
    """A response of the upload protocol: its headers, and the body of the last one."""

    status: str = ""
    """`active`, `final` or `cancelled`."""
    url: str = ""
    """URL for the chunks; in the response to the start."""
    received: int | None = None
    """Number of bytes that the server has; in the response to a query."""
    granularity: int | None = None
    """The size of each chunk but the last must be a multiple of this number of bytes."""
    answer: Any = None
    """The body of the last response: a `CreateFileResponse` or an `Operation`."""


# --- calls ----------------------------------------------------------------------------------------


def start_upload(file: File, *, size: int, mime_type: str) -> Call[Upload]:
    """Start an upload of `size` bytes. The server uses the name and the display name of `file`.

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
    """Send one chunk.

    `upload` is the call that started the upload, `offset` the position of the chunk in bytes.

    Not idempotent, so never retried automatically: send `query_upload` first to learn how much of
    the chunk the server has.
    """
    command = (
        "upload, finalize" if last and (data or not offset) else "finalize" if last else "upload"
    )
    return _to(upload, url, command, data, {"x-goog-upload-offset": str(offset)}, idempotent=False)


def query_upload(upload: Call[Upload], url: str) -> Call[Upload]:
    """Query how many bytes the server has received."""
    return _to(upload, url, "query")


def _start(
    path: str, body: bytes, size: int, mime_type: str, kind: type[WireStruct]
) -> Call[Upload]:
    if not isinstance(mime_type, str) or not mime_type.strip():
        problem = "expected a type such as application/pdf"
        raise RuleError(violations=[Violation("mimeType", problem, "G64", remedy="give mime_type")])
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
    parse, timeouts, retry = upload.parse, upload.timeouts, upload.retry
    return Call(
        "gemini",
        "POST",
        "",
        data,
        url=url,
        headers=headers,
        parse=parse,
        timeouts=timeouts,
        retry=retry,
        read_error=parse_error,
        read_headers=_with_headers,
        **more,
    )


def _parse(kind: type[WireStruct], body: bytes) -> Upload:
    """Parse the body of the last response; all others have none."""
    return Upload(answer=parse_plain(kind, body)) if body.lstrip()[:1] == b"{" else Upload()


def _with_headers(upload: Upload, headers: Mapping[str, str]) -> Upload:
    """Add the state of the upload from the response headers."""
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


@checked_arguments()
def upload_file(
    data: str | os.PathLike[str] | bytes | Readable,
    *,
    mime_type: str = "",
    display_name: str | None = None,
    name: str | None = None,
    size: int | None = None,
    chunk: int = CHUNK_BYTES,
    progress: Progress | None = None,
    retry: Retry = DEFAULT,
) -> Flow[File]:
    """Return a flow that uploads a file and returns its metadata, whose state may still be
    PROCESSING (`wait_for_file`).

    Run it with `client.run(upload_file("talk.mp3"))`.

    `data` is a path, bytes, or a binary file that the caller opens and closes. A path gives the
    display name, the size, and the media type by its extension, else by its first bytes. An open
    file needs `mime_type`, as do bytes that do not begin like a known type. A file that cannot seek
    needs `size`, in bytes. `chunk` is the size of a chunk in bytes. `progress(received, total)` is
    called after each chunk. `retry` limits how often in a row a chunk may fail, and sets the waits.

    >>> flow = upload_file(b"hello", mime_type="text/plain", display_name="h")
    >>> next(flow).preview().url
    '/upload/files'

    Raises `RuleError` for a file that cannot be read, a missing `mime_type` or a wrong `size`,
    `ConfigurationError` if the file ends early, `StreamInvalid` for a malformed response, and the
    last error of a chunk that failed too often.
    """
    source = DataSource(data, size)
    shown = source.name if display_name is None else display_name
    file = File(name=None if name is None else named(name, "files"), display_name=shown)
    kind = mime_type or source.media_type
    start = start_upload(file, size=source.size, mime_type=kind)
    return _uploaded_file(_uploading(start, source, _checked_chunk(chunk), progress, retry))


@checked_arguments()
def upload_to_file_search_store(
    store: str,
    data: str | os.PathLike[str] | bytes | Readable,
    request: UploadToFileSearchStoreRequest | None = None,
    *,
    size: int | None = None,
    chunk: int = CHUNK_BYTES,
    progress: Progress | None = None,
    retry: Retry = DEFAULT,
) -> Flow[Operation]:
    """Return a flow that uploads a file as a document of a store, and returns the operation that
    indexes it.

    Poll the operation with `get_operation`.

    A path gives `mime_type` and `display_name` of the request unless it has them; bytes and an open
    file need `request.mime_type`. The other arguments and the errors are those of `upload_file`.

    >>> request = UploadToFileSearchStoreRequest(mime_type="text/plain")
    >>> next(upload_to_file_search_store("manuals", b"hello", request)).preview().url
    '/upload/fileSearchStores/manuals:uploadToFileSearchStore'
    """
    source = DataSource(data, size)
    request = UploadToFileSearchStoreRequest() if request is None else request
    if source.name is not None and isinstance(request, UploadToFileSearchStoreRequest):
        request = msgspec.structs.replace(
            request,
            mime_type=request.mime_type or source.media_type or None,
            display_name=source.name if request.display_name is None else request.display_name,
        )
    body = checked(request, UploadToFileSearchStoreRequest)
    path = f"/{named(store, 'fileSearchStores')}:uploadToFileSearchStore"
    start = _start(path, body, source.size, request.mime_type or "", Operation)
    return _uploading(start, source, _checked_chunk(chunk), progress, retry)


def _uploaded_file(flow: Flow[CreateFileResponse]) -> Flow[File]:
    response = yield from flow
    if response.file is None:
        raise StreamInvalid("the last response of the upload has no file", raw=response.raw or b"")
    return response.file


def _uploading(
    start: Call[Upload], source: DataSource, chunk: int, progress: Progress | None, retry: Retry
) -> Flow[Any]:
    """Return the flow of an upload.

    A file that was given by its path is open while the flow runs.
    """
    with source.opened() as data:
        return (yield from _sending(start, data, chunk, progress, retry))


def _sending(
    start: Call[Upload], source: OpenData, chunk: int, progress: Progress | None, retry: Retry
) -> Flow[Any]:
    """Send the chunks of an upload that `start` begins, and return the body of the last response.

    After a failure the state of the upload is queried, and only the bytes that the server lacks are
    sent again. Its count may end within a chunk. The current chunk is therefore kept until the
    server has all of it: a file that cannot seek could not be read again.
    """
    started = yield from ask(start)
    if not started.url:
        raise StreamInvalid("the response to the start of an upload has no URL (x-goog-upload-url)")
    try:
        query = query_upload(start, started.url)
    except ConfigurationError as error:
        raise StreamInvalid(
            f"the URL in the response to the start of an upload is refused: {error.message}"
        ) from None
    multiple = started.granularity or CHUNK_MULTIPLE_BYTES
    chunk = max(multiple, chunk - chunk % multiple)
    random, failures = Random(), 0
    state = started
    block, base = b"", 0  # the current chunk, and its position in the upload
    received = 0  # bytes that the server has
    while state.status == "active":
        if received == base + len(block):
            block, base = source.read(chunk), received
        piece = block[received - base :]
        before = received
        try:
            last = received + len(piece) == source.size
            state = yield from ask(
                send_piece(start, started.url, piece, offset=received, last=last)
            )
            if last and state.status == "active":
                raise StreamInvalid("all bytes were sent, but the upload is still active")
            received, failures = received + len(piece), 0
        except WireError as error:
            failures += 1
            wait = retry.wait(error, failures, random)
            if wait is None:
                raise
            yield Pause(wait)
            state = yield from ask(query)
            received = (
                source.size
                if state.status == "final"
                else _received(state, base, base + len(block))
            )
            # Progress resets the count: a long upload over a bad connection may fail often.
            failures = failures if received == before else 0
        if progress is not None and received != before:
            progress(received, source.size)
    if state.status != "final" or state.answer is None:
        lost = (
            "; its last response was lost, look for the file in a list"
            if state.status == "final"
            else ""
        )
        raise StreamInvalid(f"the upload is {state.status[:40]}{lost}")
    return state.answer


def _received(state: Upload, confirmed: int, sent: int) -> int:
    """Return the number of bytes that the server has.

    Raises `StreamInvalid` for an impossible number: less than it has confirmed before, or more than
    was sent.
    """
    if state.status == "active" and (
        state.received is None or not confirmed <= state.received <= sent
    ):
        raise StreamInvalid(
            f"the server reports {state.received} received bytes; it confirmed {confirmed} before, "
            f"and {sent} were sent"
        )
    return state.received or 0


def _checked_chunk(chunk: int) -> int:
    if type(chunk) is not int or chunk < 1:
        raise ConfigurationError(f"chunk: expected a number of bytes from 1, not {quoted(chunk)}")
    return chunk
