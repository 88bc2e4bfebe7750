"""Files that the server stores: inputs and results of batches, documents, images."""

from __future__ import annotations

from typing import Annotated

from wire.core.facts import TRAFFIC, Facts
from wire.openai.common.types.base import OpenAIStruct


class File(OpenAIStruct, frozen=True, kw_only=True):
    """Metadata of a file. Times are Unix times in seconds."""

    id: str | None = None
    object: str | None = None
    """`file`."""
    bytes: int | None = None
    """Size in bytes."""
    created_at: int | None = None
    expires_at: int | None = None
    """When the server deletes it; absent for a file that is kept. Files of batches expire after 30
    days by default."""
    filename: str | None = None
    purpose: str | None = None
    """`assistants`, `assistants_output`, `batch`, `batch_output`, `evals`, `fine-tune`,
    `fine-tune-results`, `user_data`, `vision`."""
    status: str | None = None
    """`uploaded`, `processed`, `error`; deprecated."""
    status_details: str | None = None
    """Why a file for training was refused; deprecated."""
    mimetype: Annotated[str | None, Facts(hosts=("mistral",), source=TRAFFIC)] = None
    num_lines: Annotated[int | None, Facts(hosts=("mistral",), source=TRAFFIC)] = None
    """Number of requests in a file for batches."""


class FileList(OpenAIStruct, frozen=True, kw_only=True):
    """A page of files."""

    object: str | None = None
    """`list`."""
    data: list[File] | None = None
    first_id: str | None = None
    last_id: str | None = None
    """Start of the next page: `list_files(after=...)`."""
    has_more: bool | None = None


class DeletedFile(OpenAIStruct, frozen=True, kw_only=True):
    """Response of deleting a file."""

    id: str | None = None
    object: str | None = None
    """`file`."""
    deleted: bool | None = None


class ExpiresAfter(OpenAIStruct, frozen=True, kw_only=True):
    """When the server deletes a file."""

    anchor: str
    """`created_at`."""
    seconds: int
    """Seconds after `anchor`, 3,600 (an hour) to 2,592,000 (30 days)."""
