"""Files that requests name by their `uri`.

They live 48 hours and belong to the project of the key (G68).
"""

from __future__ import annotations

import enum

from wire.gemini.types.base import GeminiStruct, OpenEnum
from wire.gemini.types.status import Status


class File(GeminiStruct, frozen=True, kw_only=True):
    """One file."""

    name: str | None = None
    """`files/ID`; the server finds one if none is given."""
    display_name: str | None = None
    mime_type: str | None = None
    """Output only."""
    size_bytes: int | str | None = None
    """Output only. int64."""
    create_time: str | None = None
    """Output only. Timestamp."""
    update_time: str | None = None
    """Output only. Timestamp."""
    expiration_time: str | None = None
    """Output only. Timestamp, 48 h after the creation."""
    sha256_hash: str | None = None
    """Output only. base64 of the hash in hex."""
    uri: str | None = None
    """Output only. What `FileData.file_uri` wants."""
    download_uri: str | None = None
    """Output only. Of generated files."""
    state: OpenEnum | None = None
    """`FileState`, output only. Only an ACTIVE one can be used (G67)."""
    source: OpenEnum | None = None
    """`FileSource`."""
    error: Status | None = None
    """Output only. Why it is FAILED; `code` is one of google.rpc."""
    video_metadata: VideoFileMetadata | None = None
    """Output only."""


class VideoFileMetadata(GeminiStruct, frozen=True, kw_only=True):
    """What is known of a video."""

    video_duration: str | None = None
    """Duration, `"12.5s"`."""


class CreateFileRequest(GeminiStruct, frozen=True, kw_only=True):
    """What is said of a file before its bytes are sent."""

    file: File | None = None


class CreateFileResponse(GeminiStruct, frozen=True, kw_only=True):
    """The file that was made."""

    file: File | None = None


class ListFilesResponse(GeminiStruct, frozen=True, kw_only=True):
    """A page of files."""

    files: list[File] | None = None
    next_page_token: str | None = None
    """Absent on the last page."""


class RegisterFilesRequest(GeminiStruct, frozen=True, kw_only=True):
    """Files of Google Cloud Storage that requests are to name."""

    uris: list[str] | None = None
    """`gs://BUCKET/OBJECT`."""


class RegisterFilesResponse(GeminiStruct, frozen=True, kw_only=True):
    """The files as they were registered, in the same order."""

    files: list[File] | None = None


class FileState(enum.StrEnum):
    """Whether a file can be used."""

    PROCESSING = "PROCESSING"
    ACTIVE = "ACTIVE"
    FAILED = "FAILED"


class FileSource(enum.StrEnum):
    """Where a file came from."""

    UPLOADED = "UPLOADED"
    GENERATED = "GENERATED"
    REGISTERED = "REGISTERED"
