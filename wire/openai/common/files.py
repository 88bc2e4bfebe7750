"""Calls of files: upload, list, get, download, delete. Other hosts of OpenAI's API have them too.

Paths are relative to a base URL that ends in the version. Source of paths and bodies: OpenAI's API
reference 2.3.0, 2026-08-21; form fields as OpenAI's SDK for Python, 3.54.0, sends them.
"""

from __future__ import annotations

import os

from wire.core.arguments import checked_arguments, whole_number
from wire.core.call import Call
from wire.core.errors import RuleError, Violation
from wire.core.multipart import FormFile, Multipart, form_parts
from wire.core.path_segment import path_segment
from wire.neutral.data_source import Readable, form_file
from wire.openai.common.endpoints import page, plain
from wire.openai.common.error_body import parse_error
from wire.openai.common.types.files import DeletedFile, File, FileList

LEAST_EXPIRY_SECONDS = 3600
MOST_EXPIRY_SECONDS = 30 * 86400


@checked_arguments()
def upload_file(
    data: str | os.PathLike[str] | bytes | Readable,
    *,
    purpose: str,
    filename: str = "",
    media_type: str = "",
    expires_after: int | None = None,
    size: int | None = None,
    boundary: str = "",
) -> Call[File]:
    r"""Build a call that uploads a file, which is read in pieces while it is sent.

    >>> call = upload_file(b'{"custom_id":"a"}\n', purpose="batch", filename="in.jsonl")
    >>> call.path, len(call.form)
    ('/files', 288)

    `data` is a path, bytes, or a binary file that the caller opens and closes. A path gives
    `filename` and `media_type`. `purpose` is `batch`, `user_data`, `vision`, `assistants`,
    `fine-tune` or `evals`. `expires_after` is the number of seconds after which the server deletes
    the file, an hour to 30 days. A file that cannot seek needs `size`, in bytes, and its upload is
    never retried. `boundary` separates the fields of the form; by default it is random.

    Raises `RuleError` for a file that cannot be read, for bytes or an open file without `filename`,
    and for an argument out of range. The client raises `ConfigurationError` if the file ends early.
    """
    if not purpose.strip():
        raise RuleError(violations=[Violation("purpose", "expected a purpose such as batch")])
    fields: dict[str, str | FormFile] = {"purpose": purpose}
    if expires_after is not None:
        whole_number("expires_after", expires_after, LEAST_EXPIRY_SECONDS, MOST_EXPIRY_SECONDS)
        fields["expires_after[anchor]"] = "created_at"
        fields["expires_after[seconds]"] = str(expires_after)
    fields["file"] = form_file(data, filename, media_type, size)
    return plain(File, "POST", "/files", **form_parts(Multipart(fields, boundary=boundary)))


@checked_arguments()
def get_file(file_id: str) -> Call[File]:
    """Build a call that returns the metadata of a file.

    >>> get_file("file-1").path
    '/files/file-1'

    Raises `ConfigurationError` for a malformed id.
    """
    return plain(File, "GET", _path(file_id))


@checked_arguments()
def list_files(
    *,
    purpose: str | None = None,
    limit: int | None = None,
    order: str | None = None,
    after: str | None = None,
) -> Call[FileList]:
    """Build a call that returns one page of the files.

    >>> list_files(purpose="batch", limit=2).query
    {'limit': '2', 'purpose': 'batch'}

    `limit` is the number of files, 10,000 if absent; `order` is `asc`, or `desc` for the newest
    first; `after` is the `last_id` of the page before.

    Raises `ConfigurationError` for a malformed parameter.
    """
    return plain(FileList, "GET", "/files", query=page(limit, order, after, purpose=purpose))


@checked_arguments()
def download_file(file_id: str) -> Call[bytes]:
    """Build a call that returns the bytes of a file.

    OpenAI has none for the purposes `user_data`, `assistants` and `vision`.

    >>> download_file("file-1").path
    '/files/file-1/content'

    Raises `ConfigurationError` for a malformed id.
    """
    path = f"{_path(file_id)}/content"
    return Call("openai", "GET", path, parse=bytes, read_error=parse_error)


@checked_arguments()
def delete_file(file_id: str) -> Call[DeletedFile]:
    """Build a call that deletes a file.

    >>> delete_file("file-1").method
    'DELETE'

    Raises `ConfigurationError` for a malformed id.
    """
    return plain(DeletedFile, "DELETE", _path(file_id))


def _path(file_id: str) -> str:
    return f"/files/{path_segment('file_id', file_id, 'file-1')}"
