"""Files: upload in one request or in pieces, get, list, delete.

A video is PROCESSING until its second get; every other file is ACTIVE at once. There is no clock:
each file is created a second after the one before, and none expires.
"""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass, field
from email.parser import BytesParser
from typing import Any

from wire.gemini.types import Content, CreateFileRequest, File
from wire.testing.emulator.answer import Answer
from wire.testing.emulator.received import Received
from wire.testing.emulator.vendor import Refusal
from wire.testing.emulator.vendors.gemini.bodies import whole
from wire.testing.emulator.vendors.gemini.refusals import decoded, refusal, rule_refusal
from wire.testing.emulator.vendors.gemini.state import page, timestamp

GRANULARITY_BYTES = 8 << 20
"""The size of every piece of an upload except the last is a multiple of this."""
_URI = re.compile(r"(?:^|/v1(?:beta|alpha)?/)files/([a-z0-9-]+)(?:$|[:?])")


@dataclass(slots=True)
class _Upload:
    """An upload that is not finished."""

    metadata: File
    kind: str
    size: int | None
    version: str
    data: bytearray = field(default_factory=bytearray)
    state: str = "active"


@dataclass(slots=True)
class Files:
    """The files of one emulator, shared by all keys."""

    _files: dict[str, dict[str, Any]] = field(default_factory=dict)
    _uploads: dict[str, _Upload] = field(default_factory=dict)
    _gets: dict[str, int] = field(default_factory=dict)
    _stored: int = 0

    def upload(self, request: Received, version: str) -> Answer:
        """Any request of an upload."""
        session = request.query.get("upload_id", "")
        protocol = request.headers.get("x-goog-upload-protocol", "")
        if session:
            return self._continued(request, session)
        if protocol == "multipart":
            metadata, kind, data = _multipart(request)
            return whole(
                {"file": self._store(metadata, kind, data)},
                headers={"x-goog-upload-status": "final"},
            )
        if protocol == "raw" or (
            not protocol and request.body and "x-goog-upload-command" not in request.headers
        ):
            return whole(
                {"file": self._store(File(), request.headers.get("content-type", ""), request.body)}
            )
        if "start" not in request.headers.get("x-goog-upload-command", ""):
            raise refusal(400, "Missing header: X-Goog-Upload-Command")
        metadata = _metadata(request.body)
        size = request.headers.get("x-goog-upload-header-content-length") or metadata.size_bytes
        kind = (
            request.headers.get("x-goog-upload-header-content-type")
            or metadata.mime_type
            or "application/octet-stream"
        )
        self._stored += 1
        session = _id(f"upload {self._stored}")
        self._uploads[session] = _Upload(
            metadata,
            kind,
            int(size) if size is not None and str(size).isdecimal() else None,
            version,
        )
        query = f"upload_id={session}&upload_protocol=resumable"
        url = f"{request.base}/upload/{version}/files?{query}"
        headers = {
            "x-goog-upload-url": url,
            "x-goog-upload-chunk-granularity": str(GRANULARITY_BYTES),
            "x-goog-upload-status": "active",
        }
        return Answer(
            200, (("content-type", "text/plain; charset=utf-8"), *headers.items()), (b"",)
        )

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
            return Answer(
                200,
                (
                    ("content-type", "text/plain; charset=utf-8"),
                    ("x-goog-upload-status", "cancelled"),
                ),
                (b"",),
            )
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
        return whole(
            {"file": self._store(upload.metadata, upload.kind, bytes(upload.data))},
            headers={"x-goog-upload-status": "final"},
        )

    def create(self, request: Received) -> Answer:
        """Store a file of which only the metadata is sent."""
        metadata = _metadata(request.body)
        return whole(
            {"file": self._store(metadata, metadata.mime_type or "application/octet-stream", b"")}
        )

    def get(self, name: str) -> Answer:
        """One file; the second get of a video makes it ACTIVE."""
        file = self._files.get(name)
        if file is None:
            raise missing(name)
        self._gets[name] = self._gets.get(name, 0) + 1
        if file["state"] == "PROCESSING" and self._gets[name] > 1:
            file["state"] = "ACTIVE"
        return whole(file)

    def delete(self, name: str) -> Answer:
        """Delete a file."""
        if self._files.pop(name, None) is None:
            raise missing(name)
        return whole({})

    def listed(self, request: Received) -> Answer:
        """One page of the files, the newest first."""
        return whole(page("files", list(self._files.values())[::-1], request, 10, 100))

    def check(self, contents: list[Content]) -> None:
        """Raise `Refusal` for a file that does not exist (G68) or is not ACTIVE (G67)."""
        for content in contents:
            for part in content.parts or ():
                uri = _URI.search((part.file_data and part.file_data.file_uri) or "")
                if uri is not None:
                    file = self._files.get(uri[1])
                    if file is None:
                        raise missing(uri[1])
                    if file["state"] != "ACTIVE":
                        raise rule_refusal("G67", name=uri[1])

    def _store(self, metadata: File, kind: str, data: bytes) -> dict[str, Any]:
        self._stored += 1
        wanted = (metadata.name or "").removeprefix("files/")
        if wanted in self._files:
            raise refusal(
                409, f"Requested entity already exists: files/{wanted}", code="ALREADY_EXISTS"
            )
        name = wanted or _id(f"file {self._stored}")
        kind = metadata.mime_type or kind.partition(";")[0].strip() or "application/octet-stream"
        digest = hashlib.sha256(data).hexdigest()
        file = {
            "name": f"files/{name}",
            **({"displayName": metadata.display_name} if metadata.display_name else {}),
            "mimeType": kind,
            "sizeBytes": str(len(data)),
            "createTime": timestamp(self._stored),
            "updateTime": timestamp(self._stored),
            "expirationTime": timestamp(self._stored, days=2),
            "sha256Hash": base64.b64encode(
                digest.encode()
            ).decode(),  # of the hexadecimal digits, as recorded
            "uri": f"https://generativelanguage.googleapis.com/v1beta/files/{name}",
            "state": "PROCESSING" if kind.startswith("video/") else "ACTIVE",
            "source": "UPLOADED",
        }
        self._files[name] = file
        return file


def missing(name: str) -> Refusal:
    """G68: the file does not exist or belongs to another key; the server does not say which."""
    return rule_refusal("G68", name=name)


def _progress(upload: _Upload) -> Answer:
    headers = {
        "x-goog-upload-status": upload.state,
        "x-goog-upload-size-received": str(len(upload.data)),
    }
    return Answer(200, (("content-type", "text/plain; charset=utf-8"), *headers.items()), (b"",))


def _metadata(body: bytes) -> File:
    """The metadata of a file, with or without the `file` key around them."""
    return decoded(body, CreateFileRequest).file or decoded(body, File)


def _multipart(request: Received) -> tuple[File, str, bytes]:
    """Metadata and data of a multipart/related body."""
    head = f"content-type: {request.headers.get('content-type', '')}\r\n\r\n".encode()
    message = BytesParser().parsebytes(head + request.body)
    parts = [each for each in message.walk() if not each.is_multipart()]
    if len(parts) < 2:
        raise refusal(400, "Multipart body has no metadata, or no data.")
    metadata, data = (each.get_payload(decode=True) for each in parts[:2])
    assert isinstance(metadata, bytes)
    assert isinstance(data, bytes)
    return _metadata(metadata), parts[1].get_content_type(), data


def _id(words: str) -> str:
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    number, made = int.from_bytes(hashlib.sha256(words.encode()).digest()[:9], "big"), ""
    for _ in range(12):
        number, digit = divmod(number, 36)
        made += digits[digit]
    return made
