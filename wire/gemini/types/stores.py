"""File search stores: documents that the tool `fileSearch` searches."""

from __future__ import annotations

import enum
from typing import Annotated

from wire.core.facts import Facts
from wire.gemini.types.base import GeminiStruct, OpenEnum


class FileSearchStore(GeminiStruct, frozen=True, kw_only=True):
    """A store. It exists until it is deleted."""

    name: str | None = None
    """Output only. `fileSearchStores/ID`."""
    display_name: str | None = None
    embedding_model: Annotated[str | None, Facts(since="2026-05-05")] = None
    """`models/X`."""
    create_time: str | None = None
    """Output only. Timestamp."""
    update_time: str | None = None
    """Output only. Timestamp."""
    active_documents_count: int | str | None = None
    """Output only. int64."""
    pending_documents_count: int | str | None = None
    """Output only. int64."""
    failed_documents_count: int | str | None = None
    """Output only. int64."""
    size_bytes: int | str | None = None
    """Output only. int64."""


class ListFileSearchStoresResponse(GeminiStruct, frozen=True, kw_only=True):
    """A page of stores."""

    file_search_stores: list[FileSearchStore] | None = None
    next_page_token: str | None = None
    """Absent on the last page."""


class UploadToFileSearchStoreRequest(GeminiStruct, frozen=True, kw_only=True):
    """Metadata of a document, sent before its bytes."""

    display_name: str | None = None
    mime_type: str | None = None
    custom_metadata: list[CustomMetadata] | None = None
    chunking_config: ChunkingConfig | None = None


class ImportFileRequest(GeminiStruct, frozen=True, kw_only=True):
    """A file of the files API to import as a document."""

    file_name: str | None = None
    """`files/ID`."""
    custom_metadata: list[CustomMetadata] | None = None
    chunking_config: ChunkingConfig | None = None


class CustomMetadata(GeminiStruct, frozen=True, kw_only=True):
    """A key and one value, for filters."""

    key: str | None = None
    string_value: Annotated[str | None, Facts(one_of="value")] = None
    string_list_value: Annotated[StringList | None, Facts(one_of="value")] = None
    numeric_value: Annotated[float | None, Facts(one_of="value")] = None


class StringList(GeminiStruct, frozen=True, kw_only=True):
    """A list of texts."""

    values: list[str] | None = None


class ChunkingConfig(GeminiStruct, frozen=True, kw_only=True):
    """How a document is split into chunks."""

    white_space_config: WhiteSpaceConfig | None = None


class WhiteSpaceConfig(GeminiStruct, frozen=True, kw_only=True):
    """Splitting at white space."""

    max_tokens_per_chunk: int | None = None
    max_overlap_tokens: int | None = None


class Document(GeminiStruct, frozen=True, kw_only=True):
    """A document in a store."""

    name: str | None = None
    """`fileSearchStores/ID/documents/ID`."""
    display_name: str | None = None
    mime_type: str | None = None
    """Output only."""
    size_bytes: int | str | None = None
    """Output only. int64."""
    state: OpenEnum | None = None
    """`DocumentState`, output only."""
    custom_metadata: list[CustomMetadata] | None = None
    create_time: str | None = None
    """Output only. Timestamp."""
    update_time: str | None = None
    """Output only. Timestamp."""


class ListDocumentsResponse(GeminiStruct, frozen=True, kw_only=True):
    """A page of documents."""

    documents: list[Document] | None = None
    next_page_token: str | None = None
    """Absent on the last page."""


class DocumentState(enum.StrEnum):
    """Whether a search can find a document."""

    PENDING = "STATE_PENDING"
    ACTIVE = "STATE_ACTIVE"
    FAILED = "STATE_FAILED"
