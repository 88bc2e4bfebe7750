"""Files that the server stores, for blocks with a source of the type `file`."""

from __future__ import annotations

from typing import Annotated

from wire.anthropic.types.base import AnthropicStruct
from wire.core.facts import SDK, TRAFFIC, Facts


class FileMetadata(AnthropicStruct, frozen=True, kw_only=True):
    """Metadata of a file. Times are RFC 3339. Source: Anthropic's SDK 2.12.0, recorded traffic."""

    id: Annotated[str | None, Facts(source=TRAFFIC)] = None
    type: Annotated[str | None, Facts(source=TRAFFIC)] = None
    """`file`."""
    filename: Annotated[str | None, Facts(source=TRAFFIC)] = None
    mime_type: Annotated[str | None, Facts(source=TRAFFIC)] = None
    """As the upload named it."""
    size_bytes: Annotated[int | None, Facts(source=TRAFFIC)] = None
    created_at: Annotated[str | None, Facts(source=TRAFFIC)] = None
    downloadable: Annotated[bool | None, Facts(source=TRAFFIC)] = None
    """True for files that tools of the server made; uploaded files cannot be downloaded."""
    expires_at: Annotated[str | None, Facts(source=SDK)] = None
    """Absent for a file that does not expire."""


class FileList(AnthropicStruct, frozen=True, kw_only=True):
    """A page of files."""

    data: Annotated[list[FileMetadata] | None, Facts(source=TRAFFIC)] = None
    next_page: Annotated[str | None, Facts(source=SDK)] = None
    """Start of the next page in version 2026-10-21 of the API: `list_files(page=...)`."""
    has_more: Annotated[bool | None, Facts(source=TRAFFIC)] = None
    first_id: Annotated[str | None, Facts(source=TRAFFIC)] = None
    last_id: Annotated[str | None, Facts(source=TRAFFIC)] = None
    """Start of the next page in version 2023-06-01 of the API: `list_files(after_id=...)`."""


class DeletedFile(AnthropicStruct, frozen=True, kw_only=True):
    """Response of deleting a file."""

    id: Annotated[str | None, Facts(source=TRAFFIC)] = None
    type: Annotated[str | None, Facts(source=TRAFFIC)] = None
    """`file_deleted`."""
