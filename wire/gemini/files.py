"""Files as calls, and waiting for one. How their bytes get there: `wire.gemini.uploads`."""

from __future__ import annotations

from collections.abc import Sequence

from wire.core.bodies import wrong_type
from wire.core.call import Call
from wire.core.flow import Flow, ask
from wire.errors import StreamInvalid
from wire.gemini.error_body import parse_error
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
from wire.gemini.waiting import PollPolicy, failed


def get_file(name: str) -> Call[File]:
    """What is said of a file."""
    return plain(File, "GET", f"/{named(name, 'files')}", host_rules=not_on_vertex)


def list_files(
    page_size: int | None = None, page_token: str | None = None
) -> Call[ListFilesResponse]:
    """One page of the files; `next_page_token` of the answer asks for the next one."""
    return plain(
        ListFilesResponse,
        "GET",
        "/files",
        query=page(page_size, page_token),
        host_rules=not_on_vertex,
    )


def delete_file(name: str) -> Call[Empty]:
    """Delete a file before its 48 hours are over."""
    return plain(Empty, "DELETE", f"/{named(name, 'files')}", host_rules=not_on_vertex)


def create_file(file: File) -> Call[CreateFileResponse]:
    """A file of which only what is said is known, such as its name; its bytes get there by
    `upload_file`.
    """
    body = checked(CreateFileRequest(file=file), CreateFileRequest)
    return plain(CreateFileResponse, "POST", "/files", body, host_rules=not_on_vertex)


def register_files(uris: Sequence[str]) -> Call[RegisterFilesResponse]:
    """Make objects of Google Cloud Storage files that requests can name; they stay where
    they are.
    """
    if not isinstance(uris, (list, tuple)):
        raise wrong_type("uris", uris, "list of gs:// URIs")
    body = checked(RegisterFilesRequest(uris=list(uris)), RegisterFilesRequest)
    return plain(RegisterFilesResponse, "POST", "/files:register", body, host_rules=not_on_vertex)


def download_file(name: str) -> Call[bytes]:
    """The bytes of a generated file or of a batch's results; an uploaded file cannot be had back.

    >>> download_file("files/abc").preview().url
    '/download/files/abc:download?alt=media'

    `/files/ID:download` itself answers with a redirect to this path (recorded 2026-08), and
    redirects are not followed.
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


def wait_for_file(file: str | File, *, every: float = 2.0, most: float = 600.0) -> Flow[File]:
    """A flow: the file, as soon as it is ACTIVE; asked for every so many seconds, for `most`
    seconds of waiting.

    Raises the error that the server found if it FAILED, `TotalClock` if it took longer.
    """
    name = file.name if isinstance(file, File) else file
    return _waiting(named(name or "", "files"), PollPolicy(every, most))


def _waiting(name: str, patience: PollPolicy) -> Flow[File]:
    while True:
        file = yield from ask(get_file(name))
        if file.state == FileState.ACTIVE:
            return file
        if file.state == FileState.FAILED:
            raise failed(file.error, f"{name} is FAILED", file.raw or b"")
        if file.state not in (FileState.PROCESSING, None, "STATE_UNSPECIFIED"):
            raise StreamInvalid(
                f"{name} is {file.state}, and nobody knows what that is", raw=file.raw or b""
            )
        yield patience.pause(f"{name} is still {file.state or 'without a state'}")
