"""Calls of files, and a flow that waits for one. `wire.gemini.uploads` uploads their bytes."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from wire.core.arguments import checked_arguments
from wire.core.bodies import wrong_type
from wire.core.call import Call
from wire.core.errors import StreamInvalid
from wire.core.flow import Flow, ask
from wire.core.polling import PollPolicy, polled
from wire.gemini.error_body import parse_error
from wire.gemini.failures import failed
from wire.gemini.paths import checked, named, not_on_vertex, page, plain
from wire.gemini.types import (
    CreateFileRequest,
    CreateFileResponse,
    Empty,
    File,
    FileState,
    ListFilesResponse,
    RegisterFilesRequest,
    RegisterFilesResponse,
)


@checked_arguments()
def get_file(name: str) -> Call[File]:
    """Read the metadata of a file by its id or full name.

    >>> get_file("abc-1").target
    '/files/abc-1'
    """
    return plain(File, "GET", f"/{named(name, 'files')}", host_rules=not_on_vertex)


@checked_arguments()
def list_files(
    page_size: int | None = None, page_token: str | None = None
) -> Call[ListFilesResponse]:
    """List one page of the files. Pass the response's `next_page_token` for the next page."""
    return plain(
        ListFilesResponse,
        "GET",
        "/files",
        query=page(page_size, page_token),
        host_rules=not_on_vertex,
    )


@checked_arguments()
def delete_file(name: str) -> Call[Empty]:
    """Delete a file. The server deletes it by itself after 48 hours."""
    return plain(Empty, "DELETE", f"/{named(name, 'files')}", host_rules=not_on_vertex)


@checked_arguments()
def create_file(file: File) -> Call[CreateFileResponse]:
    """Create a file from its metadata, without bytes. `upload_file` creates one with bytes."""
    body = checked(CreateFileRequest(file=file), CreateFileRequest)
    return plain(CreateFileResponse, "POST", "/files", body, host_rules=not_on_vertex)


@checked_arguments()
def register_files(uris: Sequence[str]) -> Call[RegisterFilesResponse]:
    """Register objects of Google Cloud Storage as files, so that requests can refer to them.

    The objects are not copied.

    >>> register_files(["gs://bucket/a.pdf"]).body
    b'{"uris":["gs://bucket/a.pdf"]}'
    """
    if not isinstance(uris, (list, tuple)):
        raise wrong_type("uris", uris, "list of gs:// URIs")
    body = checked(RegisterFilesRequest(uris=list(uris)), RegisterFilesRequest)
    return plain(RegisterFilesResponse, "POST", "/files:register", body, host_rules=not_on_vertex)


@checked_arguments()
def download_file(name: str) -> Call[bytes]:
    """Download the bytes of a generated file or of a batch's results.

    The server does not return the bytes of uploaded files.

    >>> download_file("files/abc").preview().url
    '/download/files/abc:download?alt=media'

    `/files/ID:download` itself redirects to this path (recorded 2026-08), and this library follows
    no redirects.
    """
    return Call(
        "gemini",
        "GET",
        f"/{named(name, 'files')}:download",
        query={"alt": "media"},
        parse=bytes,
        read_error=parse_error,
        path_prefix="/download",
        host_rules=not_on_vertex,
    )


@checked_arguments()
def wait_for_file(file: str | File, *, every: float = 2.0, most: float = 600.0) -> Flow[File]:
    """Return a flow that polls a file until it is ACTIVE, and then returns the file.

    Run it with `client.run(flow)`.

    `every` is the pause between two polls, `most` the sum of the pauses, both in seconds.

    >>> next(wait_for_file("files/abc")).target
    '/files/abc'

    Raises the server's error if the file is FAILED, `TotalClock` after `most` seconds of pauses,
    and `StreamInvalid` for an unknown state.
    """
    name = named((file.name if isinstance(file, File) else file) or "", "files")
    pending = functools.partial(_pending, name)
    return polled(name, functools.partial(ask, get_file(name)), pending, PollPolicy(every, most))


def _pending(name: str, file: File) -> str | None:
    if file.state == FileState.ACTIVE:
        return None
    if file.state == FileState.FAILED:
        raise failed(file.error, f"{name} is FAILED", file.raw or b"")
    if file.state not in (FileState.PROCESSING, None, "STATE_UNSPECIFIED"):
        raise StreamInvalid(f"{name} has the unknown state {file.state}", raw=file.raw or b"")
    return str(file.state or "")
