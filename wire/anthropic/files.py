"""Calls of files: upload, list, get, download, delete.

Version 2023-06-01 of the API has them in beta, with ids around a page; version 2026-10-21 without
the beta, with one cursor. The beta header is sent to both. Source of paths and fields: Anthropic's
SDK for Python, 0.121.0 of 2026-08-07 (beta) and 2.12.0 of November 2026; recorded traffic.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from wire.anthropic.endpoints import FILES_BETA, beta_headers, plain
from wire.anthropic.endpoints import page as ids_around
from wire.anthropic.error_body import parse_error
from wire.anthropic.types import DeletedFile, FileList, FileMetadata
from wire.core.arguments import checked_arguments, whole_number
from wire.core.call import Call
from wire.core.errors import ConfigurationError
from wire.core.multipart import FormFile, Multipart, form_parts
from wire.core.path_segment import path_segment
from wire.neutral.data_source import Readable, form_file

_BETAS = (FILES_BETA,)


@checked_arguments()
def upload_file(
    data: str | os.PathLike[str] | bytes | Readable,
    *,
    filename: str = "",
    media_type: str = "",
    expires_in_seconds: int | None = None,
    size: int | None = None,
    boundary: str = "",
    betas: Sequence[str] = _BETAS,
) -> Call[FileMetadata]:
    """Build a call that uploads a file, which is read in pieces while it is sent.

    >>> call = upload_file(b"%PDF-1.7", filename="a.pdf")
    >>> call.path, call.headers["anthropic-beta"]
    ('/files', 'files-api-2025-04-14')

    `data` is a path, bytes, or a binary file that the caller opens and closes. A path gives
    `filename` and `media_type`. `expires_in_seconds` is an hour to 90 days; without it the file
    does not expire. A file that cannot seek needs `size`, in bytes, and its upload is never
    retried. `boundary` separates the fields of the form; by default it is random.

    Raises `RuleError` for a file that cannot be read, for bytes or an open file without `filename`,
    and for an argument out of range. The client raises `ConfigurationError` if the file ends early.
    """
    fields: dict[str, str | FormFile] = {"file": form_file(data, filename, media_type, size)}
    if expires_in_seconds is not None:
        whole_number("expires_in_seconds", expires_in_seconds, 3600, 90 * 86400)
        fields["expires_in_seconds"] = str(expires_in_seconds)
    parts = form_parts(Multipart(fields, boundary=boundary))
    sent = {**beta_headers(betas), **parts.pop("headers")}
    return plain(FileMetadata, "POST", "/files", sent=sent, **parts)


@checked_arguments()
def get_file(file_id: str, *, betas: Sequence[str] = _BETAS) -> Call[FileMetadata]:
    """Build a call that returns the metadata of a file.

    >>> get_file("file_01").path
    '/files/file_01'

    Raises `ConfigurationError` for a malformed id.
    """
    return plain(FileMetadata, "GET", _path(file_id), sent=beta_headers(betas))


@checked_arguments()
def list_files(
    *,
    limit: int | None = None,
    page: str | None = None,
    after_id: str | None = None,
    before_id: str | None = None,
    betas: Sequence[str] = _BETAS,
) -> Call[FileList]:
    """Build a call that returns one page of the files, the newest first.

    >>> list_files(limit=2, page="page_x").query
    {'limit': '2', 'page': 'page_x'}

    `limit` is the number of files, 20 if absent. The next page begins at `page`, the `next_page` of
    the page before; in version 2023-06-01 of the API `after_id` and `before_id` are the ids around
    the page.

    Raises `ConfigurationError` for a malformed parameter, and for ids beside a cursor.
    """
    query = ids_around(limit, after_id, before_id)
    if page is not None:
        if after_id is not None or before_id is not None:
            raise ConfigurationError("page: expected either page, or after_id and before_id")
        query["page"] = page
    return plain(FileList, "GET", "/files", query=query, sent=beta_headers(betas))


@checked_arguments()
def download_file(file_id: str, *, betas: Sequence[str] = _BETAS) -> Call[bytes]:
    """Build a call that returns the bytes of a file that a tool of the server made.

    The server refuses it for uploaded files.

    >>> download_file("file_01").path
    '/files/file_01/content'

    Raises `ConfigurationError` for a malformed id.
    """
    path = f"{_path(file_id)}/content"
    sent = beta_headers(betas)
    return Call("anthropic", "GET", path, headers=sent, parse=bytes, read_error=parse_error)


@checked_arguments()
def delete_file(file_id: str, *, betas: Sequence[str] = _BETAS) -> Call[DeletedFile]:
    """Build a call that deletes a file.

    >>> delete_file("file_01").method
    'DELETE'

    Raises `ConfigurationError` for a malformed id.
    """
    return plain(DeletedFile, "DELETE", _path(file_id), sent=beta_headers(betas))


def _path(file_id: str) -> str:
    return f"/files/{path_segment('file_id', file_id, 'file_01')}"
