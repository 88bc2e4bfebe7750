"""Files that requests refer to by their `uri`.

A file lives 48 hours and belongs to the project of the key (G68).
"""

from __future__ import annotations

import enum
from typing import Annotated

from wire.core.facts import Facts
from wire.gemini.types.base import GeminiStruct, OpenEnum
from wire.gemini.types.status import Status


class File(GeminiStruct, frozen=True, kw_only=True):
    """One file."""

    name: str | None = None
    """`files/ID`; the server chooses one if it is absent."""
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
    sha256_hash: Annotated[str | None, Facts(base64=True)] = None
    """Base64 of the hash in hexadecimal. Output only."""
    uri: str | None = None
    """The value for `FileData.file_uri`. Output only."""
    download_uri: str | None = None
    """For generated files. Output only."""
    state: OpenEnum | None = None
    """`FileState`, output only. Requests can use a file only if it is ACTIVE (G67)."""
    source: OpenEnum | None = None
    """`FileSource`."""
    error: Status | None = None
    """Why the state is FAILED; `code` is a google.rpc code. Output only."""
    video_metadata: VideoFileMetadata | None = None
    """Output only."""


class VideoFileMetadata(GeminiStruct, frozen=True, kw_only=True):
    """Metadata of a video."""

    video_duration: str | None = None
    """Duration, `"12.5s"`."""


class CreateFileRequest(GeminiStruct, frozen=True, kw_only=True):
    """Metadata of a file, sent before its bytes."""

    file: File | None = None


class CreateFileResponse(GeminiStruct, frozen=True, kw_only=True):
    """The created file."""

    file: File | None = None


class ListFilesResponse(GeminiStruct, frozen=True, kw_only=True):
    """A page of files."""

    files: list[File] | None = None
    next_page_token: str | None = None
    """Absent on the last page."""


class RegisterFilesRequest(GeminiStruct, frozen=True, kw_only=True):
    """Files of Google Cloud Storage to register, so that requests can refer to them."""

    uris: list[str] | None = None
    """`gs://BUCKET/OBJECT`."""


class RegisterFilesResponse(GeminiStruct, frozen=True, kw_only=True):
    """The registered files, in the order of the request."""

    files: list[File] | None = None


class FileState(enum.StrEnum):
    """Whether a file can be used."""

    PROCESSING = "PROCESSING"
    ACTIVE = "ACTIVE"
    FAILED = "FAILED"


class FileSource(enum.StrEnum):
    """Origin of a file."""

    UPLOADED = "UPLOADED"
    GENERATED = "GENERATED"
    REGISTERED = "REGISTERED"
