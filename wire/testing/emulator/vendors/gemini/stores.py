"""File search stores and their documents: create, get, list, upload, import, delete.

A document is ACTIVE at once; the job that reads it is done when somebody asks for it.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from wire.gemini.types import FileSearchStore, ImportFileRequest, UploadToFileSearchStoreRequest
from wire.testing.emulator.answer import Answer
from wire.testing.emulator.moments import timestamp
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route
from wire.testing.emulator.vendor import Settings
from wire.testing.emulator.vendors.gemini.bodies import whole
from wire.testing.emulator.vendors.gemini.files import Files
from wire.testing.emulator.vendors.gemini.operations import Operations
from wire.testing.emulator.vendors.gemini.refusals import decoded
from wire.testing.emulator.vendors.gemini.state import GeminiShelf
from wire.testing.emulator.vendors.gemini.uploads import Uploaded, made_id

_STORES = "fileSearchStores"
_TYPE = "type.googleapis.com/google.ai.generativelanguage.v1main."


class Documents(GeminiShelf[dict[str, Any]]):
    """The documents of all stores, by their full names."""

    key = "documents"
    sizes = (10, 20)

    def __init__(self, settings: Settings, stores: Stores) -> None:
        super().__init__(settings)
        self.stores = stores

    def of(self, store: str) -> list[dict[str, Any]]:
        """Return the documents of a store, the newest first."""
        begin = f"{_STORES}/{store}/documents/"
        return [each for each in self.newest() if each["name"].startswith(begin)]

    def listed(self, request: Received, route: Route) -> Answer:
        """Return one page of the documents of a store, the newest first."""
        self.stores[route.name]  # raises for an unknown one
        return whole(self.page(self.of(route.name), request))

    def before_delete(self, thing: dict[str, Any], request: Received) -> None:
        """Raise `Refusal` without force: a document has chunks."""
        self.force(request, "Document")

    def store(
        self,
        store: str,
        requested: UploadToFileSearchStoreRequest | ImportFileRequest,
        kind: str,
        size: int,
    ) -> dict[str, Any]:
        """Make a document."""
        number = self.stores.take(0)  # a document has no bytes here
        title, metadata = getattr(requested, "display_name", None), requested.custom_metadata
        document = {
            "name": f"{_STORES}/{store}/documents/{made_id(f'document {number}')}",
            **({"displayName": title} if title else {}),
            **({"customMetadata": msgspec.to_builtins(metadata)} if metadata else {}),
            "createTime": timestamp(number),
            "updateTime": timestamp(number),
            "state": "STATE_ACTIVE",
            "sizeBytes": str(size),
            "mimeType": kind,
        }
        return self.put(document["name"], document, 0)


class Stores(GeminiShelf[dict[str, Any]]):
    """The stores of one emulator."""

    key = _STORES
    sizes = (10, 20)

    def __init__(self, settings: Settings, files: Files, operations: Operations) -> None:
        super().__init__(settings)
        self.files, self.operations = files, operations
        self.documents = Documents(settings, self)

    def create(self, request: Received, route: Route) -> Answer:
        """Make a store; its id begins with its display name."""
        requested = decoded(request.body, FileSearchStore)
        number = self.take(0)
        begin = re.sub(r"[^a-z0-9]", "", (requested.display_name or "").lower())[:40]
        id = "-".join(filter(None, (begin, made_id(f"store {number}"))))
        store = {
            "name": f"{_STORES}/{id}",
            **({"displayName": requested.display_name} if requested.display_name else {}),
            "embeddingModel": requested.embedding_model or "models/gemini-embedding-001",
            "createTime": timestamp(number),
            "updateTime": timestamp(number),
        }
        return whole(self.put(id, store, 0))

    def get(self, request: Received, route: Route) -> Answer:
        """Return one store, with the number and the size of its documents."""
        store, documents = self[route.name], self.documents.of(route.name)
        size = sum(int(each["sizeBytes"]) for each in documents)
        counts = {"activeDocumentsCount": str(len(documents)), "sizeBytes": str(size)}
        return whole({**store, **(counts if documents else {})})

    def before_delete(self, thing: dict[str, Any], request: Received) -> None:
        """Delete the documents; raise `Refusal` if there are some, without force."""
        documents = self.documents.of(thing["name"].rpartition("/")[2])
        if documents:
            self.force(request, "FileSearchStore")
        for each in documents:
            self.documents.remove(each["name"])

    def upload(self, request: Received, route: Route) -> Answer:
        """Answer any request of an upload, whose end makes a document."""
        return self.files.uploads.receive(request, lambda each: self._uploaded(route.name, each))

    def _uploaded(self, name: str, uploaded: Uploaded) -> dict[str, Any]:
        """Make a document of uploaded bytes; the response is the job, with its result."""
        self[name]  # raises for an unknown one
        requested = decoded(uploaded.body, UploadToFileSearchStoreRequest)
        kind = requested.mime_type or uploaded.kind
        document = self.documents.store(name, requested, kind, len(uploaded.data))
        more = {"mimeType": document["mimeType"], "sizeBytes": document["sizeBytes"]}
        operation = self._operation(name, "upload/", "UploadToFileSearchStore", document, **more)
        # Recorded: the result is there at once, and `done` is not.
        return {key: value for key, value in operation.items() if key != "done"}

    def import_file(self, request: Received, route: Route) -> Answer:
        """Make a document of a file; the response is the job."""
        self[route.name]  # raises for an unknown one
        requested = decoded(request.body, ImportFileRequest)
        file = self.files.named(requested.file_name or "").metadata
        size = int(file["sizeBytes"])
        document = self.documents.store(route.name, requested, file["mimeType"], size)
        operation = self._operation(route.name, "", "ImportFile", document)
        return whole({"name": operation["name"]})

    def _operation(
        self, store: str, path: str, kind: str, document: dict[str, Any], **more: Any
    ) -> dict[str, Any]:
        """Add the job that made a document."""
        result = {
            "@type": f"{_TYPE}{kind}Response",
            "documentName": document["name"],
            "parent": f"{_STORES}/{store}",
            **more,
        }
        id = document["name"].rpartition("/")[2]
        return self.operations.add(
            f"{_STORES}/{store}/{path}operations/{id}", dict(sorted(result.items()))
        )
