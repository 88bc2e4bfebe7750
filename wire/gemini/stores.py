"""File search stores and their documents as calls.

Documents get there by `upload_to_file_search_store`, or out of files.
"""

from __future__ import annotations

from wire.core.call import Call
from wire.errors import ConfigurationError
from wire.gemini.paths import checked, named, not_on_vertex, page, plain
from wire.gemini.types import (
    Document,
    Empty,
    FileSearchStore,
    ImportFileRequest,
    ListDocumentsResponse,
    ListFileSearchStoresResponse,
    Operation,
)

STORES = "fileSearchStores"


def create_file_search_store(store: FileSearchStore) -> Call[FileSearchStore]:
    """Make a store."""
    return plain(
        FileSearchStore,
        "POST",
        f"/{STORES}",
        checked(store, FileSearchStore, "store"),
        host_rules=not_on_vertex,
    )


def get_file_search_store(name: str) -> Call[FileSearchStore]:
    """What is said of a store."""
    return plain(FileSearchStore, "GET", f"/{named(name, STORES)}", host_rules=not_on_vertex)


def list_file_search_stores(
    page_size: int | None = None, page_token: str | None = None
) -> Call[ListFileSearchStoresResponse]:
    """One page of the stores; `next_page_token` of the answer asks for the next one."""
    return plain(
        ListFileSearchStoresResponse,
        "GET",
        f"/{STORES}",
        query=page(page_size, page_token),
        host_rules=not_on_vertex,
    )


def delete_file_search_store(name: str, *, force: bool = False) -> Call[Empty]:
    """Delete a store; one with documents in it only by force."""
    return plain(
        Empty,
        "DELETE",
        f"/{named(name, STORES)}",
        query={"force": "true"} if force else {},
        host_rules=not_on_vertex,
    )


def import_file(store: str, request: ImportFileRequest) -> Call[Operation]:
    """Make a document of a file; the answer is the job that reads it."""
    return plain(
        Operation,
        "POST",
        f"/{named(store, STORES)}:importFile",
        checked(request, ImportFileRequest),
        host_rules=not_on_vertex,
    )


def get_document(name: str) -> Call[Document]:
    """What is said of a document, by its full name `fileSearchStores/S/documents/D`."""
    return plain(Document, "GET", f"/{_document(name)}", host_rules=not_on_vertex)


def list_documents(
    store: str, page_size: int | None = None, page_token: str | None = None
) -> Call[ListDocumentsResponse]:
    """One page of the documents of a store; `next_page_token` of the answer asks for the
    next one.
    """
    query = page(page_size, page_token)
    return plain(
        ListDocumentsResponse,
        "GET",
        f"/{named(store, STORES)}/documents",
        query=query,
        host_rules=not_on_vertex,
    )


def delete_document(name: str, *, force: bool = False) -> Call[Empty]:
    """Delete a document; one that was cut into chunks only by force."""
    return plain(
        Empty,
        "DELETE",
        f"/{_document(name)}",
        query={"force": "true"} if force else {},
        host_rules=not_on_vertex,
    )


def _document(name: str) -> str:
    if not isinstance(name, str) or name.count("/") != 3:
        raise ConfigurationError(f"name: fileSearchStores/S/documents/D is wanted, not {name!r}")
    store, document = name.rsplit("/", 2)[0], named(name, "documents")
    named(store, STORES)
    return document
