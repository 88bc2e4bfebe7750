"""Calls of file search stores and their documents.

`upload_to_file_search_store` makes a document of bytes, `import_file` makes one of a file.
"""

from __future__ import annotations

from wire.core.arguments import checked_arguments
from wire.core.call import Call
from wire.core.errors import ConfigurationError
from wire.core.secret import quoted
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
"""Name of the collection in paths."""


@checked_arguments()
def create_file_search_store(store: FileSearchStore) -> Call[FileSearchStore]:
    """Create a store.

    >>> print(create_file_search_store(FileSearchStore(display_name="manuals")).preview())
    POST /fileSearchStores
    content-type: application/json
    <BLANKLINE>
    {"displayName":"manuals"}
    """
    return plain(
        FileSearchStore,
        "POST",
        f"/{STORES}",
        checked(store, FileSearchStore, "store"),
        host_rules=not_on_vertex,
    )


@checked_arguments()
def get_file_search_store(name: str) -> Call[FileSearchStore]:
    """Read the metadata of a store."""
    return plain(FileSearchStore, "GET", f"/{named(name, STORES)}", host_rules=not_on_vertex)


@checked_arguments()
def list_file_search_stores(
    page_size: int | None = None, page_token: str | None = None
) -> Call[ListFileSearchStoresResponse]:
    """List one page of the stores. Pass the response's `next_page_token` for the next page."""
    return plain(
        ListFileSearchStoresResponse,
        "GET",
        f"/{STORES}",
        query=page(page_size, page_token),
        host_rules=not_on_vertex,
    )


@checked_arguments()
def delete_file_search_store(name: str, *, force: bool = False) -> Call[Empty]:
    """Delete a store. The server refuses to delete one with documents unless `force` is set."""
    return plain(
        Empty,
        "DELETE",
        f"/{named(name, STORES)}",
        query={"force": "true"} if force else {},
        host_rules=not_on_vertex,
    )


@checked_arguments()
def import_file(store: str, request: ImportFileRequest) -> Call[Operation]:
    """Make a document of an uploaded file. Poll the returned operation with `get_operation`.

    >>> import_file("manuals", ImportFileRequest(file_name="files/abc")).target
    '/fileSearchStores/manuals:importFile'
    """
    return plain(
        Operation,
        "POST",
        f"/{named(store, STORES)}:importFile",
        checked(request, ImportFileRequest),
        host_rules=not_on_vertex,
    )


@checked_arguments()
def get_document(name: str) -> Call[Document]:
    """Read the metadata of a document by its full name, `fileSearchStores/S/documents/D`."""
    return plain(Document, "GET", f"/{_document(name)}", host_rules=not_on_vertex)


@checked_arguments()
def list_documents(
    store: str, page_size: int | None = None, page_token: str | None = None
) -> Call[ListDocumentsResponse]:
    """List one page of the documents of a store.

    Pass the response's `next_page_token` for the next page.
    """
    query = page(page_size, page_token)
    return plain(
        ListDocumentsResponse,
        "GET",
        f"/{named(store, STORES)}/documents",
        query=query,
        host_rules=not_on_vertex,
    )


@checked_arguments()
def delete_document(name: str, *, force: bool = False) -> Call[Empty]:
    """Delete a document.

    The server refuses to delete a document with chunks unless `force` is set.
    """
    return plain(
        Empty,
        "DELETE",
        f"/{_document(name)}",
        query={"force": "true"} if force else {},
        host_rules=not_on_vertex,
    )


def _document(name: str) -> str:
    """Return the path of a document, after a check of the names of its store and itself."""
    if not isinstance(name, str) or name.count("/") != 3:
        raise ConfigurationError(
            f"name: expected fileSearchStores/S/documents/D, not {quoted(name)}"
        )
    store, document = name.rsplit("/", 2)[0], named(name, "documents")
    named(store, STORES)
    return document
