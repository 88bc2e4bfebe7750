"""Files: upload in one request or in pieces, get, list, download, delete.

A video is PROCESSING until its second get; every other file is ACTIVE at once. There is no clock:
each file is created a second after the one before, and none expires.
"""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass, field, replace
from typing import Any

from wire.gemini.error_body import render_error
from wire.gemini.types import Content, File, RegisterFilesRequest
from wire.testing.emulator.answer import Answer
from wire.testing.emulator.received import Received
from wire.testing.emulator.storage import Storage
from wire.testing.emulator.vendor import Refusal
from wire.testing.emulator.vendors.gemini.bodies import whole
from wire.testing.emulator.vendors.gemini.refusals import decoded, refusal, rule_refusal
from wire.testing.emulator.vendors.gemini.state import page, timestamp
from wire.testing.emulator.vendors.gemini.uploads import Uploaded, file_metadata, made_id

_URI = re.compile(r"(?:^|/v1(?:beta|alpha)?/)files/([a-z0-9-]+)(?:$|[:?])")


@dataclass(slots=True)
class Files:
    """The files of one emulator, shared by all keys."""

    storage: Storage
    _files: dict[str, dict[str, Any]] = field(default_factory=dict)
    _data: dict[str, bytes] = field(default_factory=dict)
    _gets: dict[str, int] = field(default_factory=dict)
    _stored: int = 0

    def store(self, uploaded: Uploaded) -> dict[str, Any]:
        """Store an uploaded file."""
        return {"file": self._store(uploaded.metadata, uploaded.kind, uploaded.data)}

    def create(self, request: Received) -> Answer:
        """Store a file of which only the metadata is sent."""
        metadata = file_metadata(request.body)
        return whole(
            {"file": self._store(metadata, metadata.mime_type or "application/octet-stream", b"")}
        )

    def register(self, request: Received) -> Answer:
        """Make files of objects of Google Cloud Storage, which stay where they are."""
        uris = decoded(request.body, RegisterFilesRequest).uris or []
        if not uris or not all(uri.startswith("gs://") for uri in uris):
            raise refusal(400, "* RegisterFilesRequest.uris: expected gs:// URIs\n")
        files = [self._store(File(), "", b"", "REGISTERED") for _ in uris]
        for file, uri in zip(files, uris, strict=True):
            file["uri"] = uri
        return whole({"files": files})

    def generate(self, data: bytes, kind: str) -> str:
        """Store a file that the server made; the value is its name, `files/ID`."""
        name: str = self._store(File(), kind, data, "GENERATED")["name"]
        return name

    def get(self, name: str) -> Answer:
        """Return one file; the second get of a video makes it ACTIVE."""
        file = self.lookup(name)
        self._gets[name] = self._gets.get(name, 0) + 1
        if file["state"] == "PROCESSING" and self._gets[name] > 1:
            file["state"] = "ACTIVE"
        return whole(file)

    def download(self, name: str) -> Answer:
        """Return the bytes of a generated file. Uploaded files cannot be downloaded."""
        if self.lookup(name)["source"] != "GENERATED":
            raise refusal(400, "Only generated files can be downloaded.")
        content_type = ("content-type", "application/octet-stream")
        return Answer(200, (content_type,), (self._data[name],))

    def redirect(self, request: Received, name: str) -> Answer:
        """Return the address of the bytes, as recorded: an error of status 302."""
        self.lookup(name)
        location = ("location", f"{request.base}/download{request.target}")
        found = whole(render_error(302, "Unknown Error."), 302)
        return replace(found, headers=(*found.headers, location))

    def delete(self, name: str) -> Answer:
        """Delete a file."""
        self.lookup(name)
        del self._files[name]
        self._gets.pop(name, None)
        self.storage.remove(len(self._data.pop(name)))
        return whole({})

    def listed(self, request: Received) -> Answer:
        """Return one page of the files, the newest first."""
        return whole(page("files", list(self._files.values())[::-1], request, 10, 100))

    def lookup(self, name: str) -> dict[str, Any]:
        """Return the metadata of a file. Raises `Refusal` if there is none (G68)."""
        file = self._files.get(name.removeprefix("files/"))
        if file is None:
            raise missing(name.removeprefix("files/"))
        return file

    def data(self, name: str) -> bytes:
        """Return the bytes of a file. Raises `Refusal` if there is none (G68)."""
        self.lookup(name)
        return self._data[name.removeprefix("files/")]

    def check(self, contents: list[Content]) -> None:
        """Raise `Refusal` for a file that does not exist (G68) or is not ACTIVE (G67)."""
        for content in contents:
            for part in content.parts or ():
                uri = _URI.search((part.file_data and part.file_data.file_uri) or "")
                if uri is not None and self.lookup(uri[1])["state"] != "ACTIVE":
                    raise rule_refusal("G67", name=uri[1])

    def _store(
        self, metadata: File, kind: str, data: bytes, source: str = "UPLOADED"
    ) -> dict[str, Any]:
        requested = (metadata.name or "").removeprefix("files/")
        if requested in self._files:
            raise refusal(
                409, f"Requested entity already exists: files/{requested}", code="ALREADY_EXISTS"
            )
        self.storage.add(len(data))
        self._stored += 1
        name = requested or made_id(f"file {self._stored}")
        kind = metadata.mime_type or kind.partition(";")[0].strip() or "application/octet-stream"
        digest = hashlib.sha256(data).hexdigest()
        waits = kind.startswith("video/") and source == "UPLOADED"
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
            "state": "PROCESSING" if waits else "ACTIVE",
            "source": source,
        }
        self._files[name], self._data[name] = file, data
        return file


def missing(name: str) -> Refusal:
    """Refuse a file that does not exist or belongs to another key (G68).

    The server does not say which.
    """
    return rule_refusal("G68", name=name)
