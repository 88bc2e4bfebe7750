"""File search stores and their documents: create, get, list, upload, import, delete.

A document is ACTIVE at once; the job that reads it is done when somebody asks for it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from wire.gemini.types import FileSearchStore, ImportFileRequest, UploadToFileSearchStoreRequest
from wire.testing.emulator.answer import Answer
from wire.testing.emulator.received import Received
from wire.testing.emulator.storage import Storage
from wire.testing.emulator.vendor import Refusal
from wire.testing.emulator.vendors.gemini.bodies import whole
from wire.testing.emulator.vendors.gemini.files import Files
from wire.testing.emulator.vendors.gemini.operations import Operations
from wire.testing.emulator.vendors.gemini.refusals import decoded, refusal
from wire.testing.emulator.vendors.gemini.state import page, timestamp
from wire.testing.emulator.vendors.gemini.uploads import Uploaded, made_id

_STORES = "fileSearchStores"
_TYPE = "type.googleapis.com/google.ai.generativelanguage.v1main."


@dataclass(slots=True)
class Stores:
    """The stores of one emulator."""

    files: Files
    operations: Operations
    storage: Storage
    _stores: dict[str, dict[str, Any]] = field(default_factory=dict)
    _documents: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Full name -> document."""
    _stored: int = 0

    def create(self, request: Received) -> Answer:
        """Make a store; its id begins with its display name."""
        requested = decoded(request.body, FileSearchStore)
        self.storage.add(0)
        self._stored += 1
        begin = re.sub(r"[^a-z0-9]", "", (requested.display_name or "").lower())[:40]
        id = "-".join(filter(None, (begin, made_id(f"store {self._stored}"))))
        store = {
            "name": f"{_STORES}/{id}",
            **({"displayName": requested.display_name} if requested.display_name else {}),
            "embeddingModel": requested.embedding_model or "models/gemini-embedding-001",
            "createTime": timestamp(self._stored),
            "updateTime": timestamp(self._stored),
        }
        self._stores[id] = store
        return whole(store)

    def get(self, name: str) -> Answer:
        """Return one store, with the number and the size of its documents."""
        store, documents = self._lookup(name), self._of(name)
        size = sum(int(each["sizeBytes"]) for each in documents)
        counts = {"activeDocumentsCount": str(len(documents)), "sizeBytes": str(size)}
        return whole({**store, **(counts if documents else {})})

    def listed(self, request: Received) -> Answer:
        """Return one page of the stores, the newest first."""
        return whole(page(_STORES, list(self._stores.values())[::-1], request, 10, 20))

    def delete(self, name: str, request: Received) -> Answer:
        """Delete a store; one with documents only by force."""
        self._lookup(name)
        documents = self._of(name)
        if documents and request.query.get("force", "").lower() != "true":
            raise refusal(
                400,
                "Cannot delete non-empty FileSearchStore.",
                code="FAILED_PRECONDITION",
            )
        for each in documents:
            self._forget(each["name"])
        self.storage.remove(0)
        del self._stores[name]
        return whole({})

    def uploaded(self, name: str, uploaded: Uploaded) -> dict[str, Any]:
        """Make a document of uploaded bytes; the response is the job, with its result."""
        self._lookup(name)
        requested = decoded(uploaded.body, UploadToFileSearchStoreRequest)
        document = self._store(
            name, requested, requested.mime_type or uploaded.kind, len(uploaded.data)
        )
        operation = self.operations.add(
            f"{_STORES}/{name}/upload/operations/{document['name'].rpartition('/')[2]}",
            {
                "@type": f"{_TYPE}UploadToFileSearchStoreResponse",
                "documentName": document["name"],
                "mimeType": document["mimeType"],
                "parent": f"{_STORES}/{name}",
                "sizeBytes": document["sizeBytes"],
            },
        )
        # Recorded: the result is there at once, and `done` is not.
        return {key: value for key, value in operation.items() if key != "done"}

    def import_file(self, name: str, request: Received) -> Answer:
        """Make a document of a file; the response is the job."""
        self._lookup(name)
        requested = decoded(request.body, ImportFileRequest)
        file = self.files.lookup(requested.file_name or "")
        document = self._store(name, requested, file["mimeType"], int(file["sizeBytes"]))
        operation = self.operations.add(
            f"{_STORES}/{name}/operations/{document['name'].rpartition('/')[2]}",
            {
                "@type": f"{_TYPE}ImportFileResponse",
                "documentName": document["name"],
                "parent": f"{_STORES}/{name}",
            },
        )
        return whole({"name": operation["name"]})

    def document(self, name: str) -> Answer:
        """Return one document, by its full name."""
        return whole(self._document(name))

    def documents(self, name: str, request: Received) -> Answer:
        """Return one page of the documents of a store, the newest first."""
        self._lookup(name)
        return whole(page("documents", self._of(name)[::-1], request, 10, 20))

    def delete_document(self, name: str, request: Received) -> Answer:
        """Delete a document, which has chunks: only by force."""
        self._document(name)
        if request.query.get("force", "").lower() != "true":
            raise refusal(400, "Cannot delete non-empty Document.", code="FAILED_PRECONDITION")
        self._forget(name)
        return whole({})

    def _store(
        self,
        name: str,
        requested: UploadToFileSearchStoreRequest | ImportFileRequest,
        kind: str,
        size: int,
    ) -> dict[str, Any]:
        self.storage.add(0)  # a document has no bytes here
        self._stored += 1
        title = getattr(requested, "display_name", None)
        metadata: Sequence[Any] = requested.custom_metadata or ()
        document = {
            "name": f"{_STORES}/{name}/documents/{made_id(f'document {self._stored}')}",
            **({"displayName": title} if title else {}),
            **({"customMetadata": msgspec.to_builtins(metadata)} if metadata else {}),
            "createTime": timestamp(self._stored),
            "updateTime": timestamp(self._stored),
            "state": "STATE_ACTIVE",
            "sizeBytes": str(size),
            "mimeType": kind,
        }
        self._documents[document["name"]] = document
        return document

    def _forget(self, name: str) -> None:
        del self._documents[name]
        self.storage.remove(0)

    def _of(self, name: str) -> list[dict[str, Any]]:
        begin = f"{_STORES}/{name}/documents/"
        return [each for key, each in self._documents.items() if key.startswith(begin)]

    def _lookup(self, name: str) -> dict[str, Any]:
        store = self._stores.get(name)
        if store is None:
            raise _missing()
        return store

    def _document(self, name: str) -> dict[str, Any]:
        document = self._documents.get(name)
        if document is None:
            raise _missing()
        return document


def _missing() -> Refusal:
    return refusal(404, "Requested entity was not found.")
