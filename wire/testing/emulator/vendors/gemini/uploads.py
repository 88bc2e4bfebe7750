"""The upload protocol of Google's servers: in one request, or in pieces to a URL of its own.

What becomes of the bytes is the caller's business: a file, or a document of a store.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from wire.gemini.types import CreateFileRequest, File
from wire.testing.emulator.answer import Answer
from wire.testing.emulator.multipart import parts
from wire.testing.emulator.received import Received
from wire.testing.emulator.vendors.gemini.bodies import whole
from wire.testing.emulator.vendors.gemini.refusals import decoded, refusal

GRANULARITY_BYTES = 8 << 20
"""The size of every piece of an upload except the last is a multiple of this."""


@dataclass(frozen=True, slots=True)
class Uploaded:
    """A complete upload."""

    metadata: File
    body: bytes
    """The JSON that the metadata is part of; empty if there was none."""
    kind: str
    """The media type."""
    data: bytes


Store = Callable[[Uploaded], dict[str, Any]]
"""Stores what was uploaded; the value is the body of the response."""


@dataclass(slots=True)
class _Upload:
    """An upload that is not finished."""

    body: bytes
    kind: str
    size: int | None
    store: Store
    data: bytearray = field(default_factory=bytearray)
    state: str = "active"


@dataclass(slots=True)
class Uploads:
    """The uploads of one emulator."""

    _uploads: dict[str, _Upload] = field(default_factory=dict)
    _started: int = 0

    def receive(self, request: Received, store: Store) -> Answer:
        """Any request of an upload; `store` is called once the bytes are complete."""
        session = request.query.get("upload_id", "")
        protocol = request.headers.get("x-goog-upload-protocol", "")
        if session:
            return self._continued(request, session)
        if protocol == "multipart":
            return _final(_multipart(request), store)
        if protocol == "raw" or (
            not protocol and request.body and "x-goog-upload-command" not in request.headers
        ):
            kind = request.headers.get("content-type", "")
            return whole(store(Uploaded(File(), b"", kind, request.body)))
        if "start" not in request.headers.get("x-goog-upload-command", ""):
            raise refusal(400, "Missing header: X-Goog-Upload-Command")
        metadata = file_metadata(request.body)
        size = request.headers.get("x-goog-upload-header-content-length") or metadata.size_bytes
        kind = (
            request.headers.get("x-goog-upload-header-content-type")
            or metadata.mime_type
            or "application/octet-stream"
        )
        self._started += 1
        session = made_id(f"upload {self._started}")
        self._uploads[session] = _Upload(
            request.body,
            kind,
            int(size) if size is not None and str(size).isdecimal() else None,
            store,
        )
        query = f"upload_id={session}&upload_protocol=resumable"
        headers = {
            "x-goog-upload-url": f"{request.base}{request.path}?{query}",
            "x-goog-upload-chunk-granularity": str(GRANULARITY_BYTES),
            "x-goog-upload-status": "active",
        }
        return _empty(headers)

    def _continued(self, request: Received, session: str) -> Answer:
        upload = self._uploads.get(session)
        if upload is None:
            raise refusal(404, "Upload session not found.")
        commands = {
            each.strip().lower()
            for each in request.headers.get("x-goog-upload-command", "").split(",")
        }
        if "query" in commands or upload.state == "final":
            return _progress(upload)
        if "cancel" in commands:
            del self._uploads[session]
            return _empty({"x-goog-upload-status": "cancelled"})
        if not commands & {"upload", "finalize"}:
            raise refusal(400, "Missing header: X-Goog-Upload-Command")
        offset = request.headers.get("x-goog-upload-offset", "")
        if "upload" in commands:
            if not offset.isdecimal() or int(offset) != len(upload.data):
                raise refusal(
                    400,
                    f"Invalid upload offset: {offset or 'none'}, received so far: "
                    f"{len(upload.data)}",
                )
            if "finalize" not in commands and len(request.body) % GRANULARITY_BYTES:
                raise refusal(
                    400,
                    f"The size of a piece is a multiple of {GRANULARITY_BYTES} bytes, "
                    "except the last.",
                )
            upload.data += request.body
        if "finalize" not in commands:
            return _progress(upload)
        if upload.size is not None and upload.size != len(upload.data):
            raise refusal(
                400, f"Upload has {len(upload.data)} bytes, {upload.size} were announced."
            )
        upload.state = "final"
        metadata = file_metadata(upload.body)
        uploaded = Uploaded(metadata, upload.body, upload.kind, bytes(upload.data))
        return _final(uploaded, upload.store)


def file_metadata(body: bytes) -> File:
    """The metadata of a file, with or without the `file` key around them."""
    return decoded(body, CreateFileRequest).file or decoded(body, File)


def made_id(words: str) -> str:
    """An id of twelve letters and digits, always the same for the same words."""
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    number, made = int.from_bytes(hashlib.sha256(words.encode()).digest()[:9], "big"), ""
    for _ in range(12):
        number, digit = divmod(number, 36)
        made += digits[digit]
    return made


def _final(uploaded: Uploaded, store: Store) -> Answer:
    return whole(store(uploaded), headers={"x-goog-upload-status": "final"})


def _progress(upload: _Upload) -> Answer:
    return _empty(
        {
            "x-goog-upload-status": upload.state,
            "x-goog-upload-size-received": str(len(upload.data)),
        }
    )


def _empty(headers: dict[str, str]) -> Answer:
    return Answer(200, (("content-type", "text/plain; charset=utf-8"), *headers.items()), (b"",))


def _multipart(request: Received) -> Uploaded:
    """Metadata and data of a multipart/related body."""
    found = parts(request)
    if len(found) < 2:
        raise refusal(400, "Multipart body has no metadata, or no data.")
    metadata, data = found[:2]
    return Uploaded(file_metadata(metadata.data), metadata.data, data.kind, data.data)
