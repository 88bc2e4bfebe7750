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
from wire.testing.emulator.json_sizes import json_excess
from wire.testing.emulator.limits import EmulatorLimits
from wire.testing.emulator.multipart import parts
from wire.testing.emulator.received import Received
from wire.testing.emulator.storage import Remembered
from wire.testing.emulator.vendor import Settings
from wire.testing.emulator.vendors.gemini.bodies import whole
from wire.testing.emulator.vendors.gemini.refusals import decoded, refusal
from wire.testing.emulator.vendors.gemini.state import GeminiShelf

GRANULARITY_BYTES = 8 << 20
"""The size of every piece of an upload except the last is a multiple of this."""
_MAX_METADATA_BYTES = 1 << 20
_METADATA_LIMITS = EmulatorLimits(max_json_values=1_000)


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


class Uploads(GeminiShelf[_Upload]):
    """The uploads of one emulator that are not finished."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._finished = Remembered(10_000)
        """Id of a finished upload -> its size in bytes."""

    def missing(self, name: str) -> Exception:
        """Build the refusal of an unknown upload."""
        return refusal(404, "Upload session not found.")

    def receive(self, request: Received, store: Store) -> Answer:
        """Answer any request of an upload; call `store` once the bytes are complete."""
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
        named = request.headers.get("x-goog-upload-header-content-type") or metadata.mime_type
        kind = named or "application/octet-stream"
        session = made_id(f"upload {self.take(len(request.body))}")
        announced = int(size) if size is not None and str(size).isdecimal() else None
        upload = _Upload(request.body, kind, announced, store)
        self.put(session, upload, len(request.body))
        query = f"upload_id={session}&upload_protocol=resumable"
        headers = {
            "x-goog-upload-url": f"{request.base}{request.path}?{query}",
            "x-goog-upload-chunk-granularity": str(GRANULARITY_BYTES),
            "x-goog-upload-status": "active",
        }
        return _empty(headers)

    def _continued(self, request: Received, session: str) -> Answer:
        finished = self._finished.get(session)
        if finished is not None:
            return _progress("final", finished)
        upload, sent = self[session], request.headers.get("x-goog-upload-command", "")
        commands = {each.strip().lower() for each in sent.split(",")}
        if "query" in commands:
            return _progress("active", len(upload.data))
        if "cancel" in commands:
            self._end(session)
            return _empty({"x-goog-upload-status": "cancelled"})
        if not commands & {"upload", "finalize"}:
            raise refusal(400, "Missing header: X-Goog-Upload-Command")
        if "upload" in commands:
            self._add(request, upload.data, last="finalize" in commands)
        received = len(upload.data)
        if "finalize" not in commands:
            return _progress("active", received)
        if upload.size not in (None, received):
            raise refusal(400, f"Upload has {received} bytes, {upload.size} were announced.")
        # The bytes now belong to what is stored, and no longer count for the upload.
        self._end(session)
        self._finished[session] = received
        metadata = file_metadata(upload.body)
        uploaded = Uploaded(metadata, upload.body, upload.kind, bytes(upload.data))
        return _final(uploaded, upload.store)

    def _add(self, request: Received, data: bytearray, *, last: bool) -> None:
        """Add a piece to the data."""
        offset = request.headers.get("x-goog-upload-offset", "")
        if not offset.isdecimal() or int(offset) != len(data):
            message = f"Invalid upload offset: {offset or 'none'}, received so far: {len(data)}"
            raise refusal(400, message)
        if not last and len(request.body) % GRANULARITY_BYTES:
            size = f"a multiple of {GRANULARITY_BYTES} bytes"
            raise refusal(400, f"The size of a piece is {size}, except the last.")
        self.storage.add(len(request.body), items=0)
        data += request.body

    def _end(self, session: str) -> None:
        self.storage.remove(len(self[session].data), items=0)
        self.remove(session)


def file_metadata(body: bytes) -> File:
    """Parse the metadata of a file, with or without the `file` key around them.

    Raises `Refusal` for metadata that are too large to be decoded.
    """
    excess = json_excess(body, _METADATA_LIMITS)
    if excess or len(body) > _MAX_METADATA_BYTES:
        raise refusal(400, excess or "The metadata are too large.")
    return decoded(body, CreateFileRequest).file or decoded(body, File)


def made_id(words: str) -> str:
    """Build an id of twelve letters and digits, always the same for the same words."""
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    number, made = int.from_bytes(hashlib.sha256(words.encode()).digest()[:9], "big"), ""
    for _ in range(12):
        number, digit = divmod(number, 36)
        made += digits[digit]
    return made


def _final(uploaded: Uploaded, store: Store) -> Answer:
    return whole(store(uploaded), headers={"x-goog-upload-status": "final"})


def _progress(state: str, size: int) -> Answer:
    return _empty({"x-goog-upload-status": state, "x-goog-upload-size-received": str(size)})


def _empty(headers: dict[str, str]) -> Answer:
    return Answer(200, (("content-type", "text/plain; charset=utf-8"), *headers.items()), (b"",))


def _multipart(request: Received) -> Uploaded:
    """Return metadata and data of a multipart/related body."""
    found = parts(request)
    if len(found) < 2:
        raise refusal(400, "Multipart body has no metadata, or no data.")
    metadata, data = found[:2]
    return Uploaded(file_metadata(metadata.data), metadata.data, data.kind, data.data)
