"""Files: upload in one request or in pieces, get, list, download, delete.

A video is PROCESSING until its second get; every other file is ACTIVE at once. There is no clock:
each file is created a second after the one before, and none expires.
"""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass, replace
from typing import Any

from wire.gemini.error_body import render_error
from wire.gemini.types import Content, File, RegisterFilesRequest
from wire.testing.emulator.answer import Answer
from wire.testing.emulator.moments import DAY, timestamp
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route
from wire.testing.emulator.vendor import Settings
from wire.testing.emulator.vendors.gemini.bodies import whole
from wire.testing.emulator.vendors.gemini.refusals import decoded, refusal, rule_refusal
from wire.testing.emulator.vendors.gemini.state import GeminiShelf
from wire.testing.emulator.vendors.gemini.uploads import Uploaded, Uploads, file_metadata, made_id

_URI = re.compile(r"(?:^|/v1(?:beta|alpha)?/)files/([a-z0-9-]+)(?:$|[:?])")


@dataclass(slots=True)
class _File:
    metadata: dict[str, Any]
    data: bytes
    gets: int = 0


class Files(GeminiShelf[_File]):
    """The files of one emulator."""

    key = "files"

    def __init__(self, settings: Settings, uploads: Uploads) -> None:
        super().__init__(settings)
        self.uploads = uploads

    def missing(self, name: str) -> Exception:
        """Refuse a file that does not exist or belongs to another key (G68).

        The server does not say which.
        """
        return rule_refusal("G68", name=name)

    def describe(self, thing: _File, request: Received) -> Any:
        """Return the metadata of a file."""
        return thing.metadata

    def upload(self, request: Received, route: Route) -> Answer:
        """Answer any request of an upload, whose end stores the file."""
        return self.uploads.receive(request, self._uploaded)

    def _uploaded(self, uploaded: Uploaded) -> dict[str, Any]:
        return {"file": self.store(uploaded.metadata, uploaded.kind, uploaded.data)}

    def create(self, request: Received, route: Route) -> Answer:
        """Store a file of which only the metadata is sent."""
        return whole({"file": self.store(file_metadata(request.body), "", b"")})

    def register(self, request: Received, route: Route) -> Answer:
        """Make files of objects of Google Cloud Storage, which stay where they are."""
        uris = decoded(request.body, RegisterFilesRequest).uris or []
        if not uris or not all(uri.startswith("gs://") for uri in uris):
            raise refusal(400, "* RegisterFilesRequest.uris: expected gs:// URIs\n")
        files = [self.store(File(), "", b"", "REGISTERED") for _ in uris]
        for file, uri in zip(files, uris, strict=True):
            file["uri"] = uri
        return whole({"files": files})

    def generate(self, data: bytes, kind: str) -> str:
        """Store a file that the server made; the value is its name, `files/ID`."""
        return str(self.store(File(), kind, data, "GENERATED")["name"])

    def get(self, request: Received, route: Route) -> Answer:
        """Return one file; the second get of a video makes it ACTIVE."""
        file = self[route.name]
        file.gets += 1
        if file.metadata["state"] == "PROCESSING" and file.gets > 1:
            file.metadata["state"] = "ACTIVE"
        return whole(file.metadata)

    def download(self, request: Received, route: Route) -> Answer:
        """Return the bytes of a generated file. Uploaded files cannot be downloaded."""
        file = self[route.name]
        if file.metadata["source"] != "GENERATED":
            raise refusal(400, "Only generated files can be downloaded.")
        return Answer(200, (("content-type", "application/octet-stream"),), (file.data,))

    def redirect(self, request: Received, route: Route) -> Answer:
        """Return the address of the bytes, as recorded: an error of status 302."""
        self[route.name]  # raises for an unknown one
        location = ("location", f"{request.base}/download{request.target}")
        found = whole(render_error(302, "Unknown Error."), 302)
        return replace(found, headers=(*found.headers, location))

    def named(self, name: str) -> _File:
        """Return the file of a name, `files/ID` or an id alone. Raises `Refusal` (G68)."""
        return self[name.removeprefix("files/")]

    def check(self, contents: list[Content]) -> None:
        """Raise `Refusal` for a file that does not exist (G68) or is not ACTIVE (G67)."""
        for content in contents:
            for part in content.parts or ():
                uri = _URI.search((part.file_data and part.file_data.file_uri) or "")
                if uri is not None and self[uri[1]].metadata["state"] != "ACTIVE":
                    raise rule_refusal("G67", name=uri[1])

    def store(
        self, metadata: File, kind: str, data: bytes, source: str = "UPLOADED"
    ) -> dict[str, Any]:
        """Store a file, and return its metadata."""
        requested = (metadata.name or "").removeprefix("files/")
        if requested in self:
            message = f"Requested entity already exists: files/{requested}"
            raise refusal(409, message, code="ALREADY_EXISTS")
        number = self.take(len(data))
        name = requested or made_id(f"file {number}")
        kind = metadata.mime_type or kind.partition(";")[0].strip() or "application/octet-stream"
        digest = hashlib.sha256(data).hexdigest()  # recorded: base64 of the digits
        waits = kind.startswith("video/") and source == "UPLOADED"
        file = {
            "name": f"files/{name}",
            **({"displayName": metadata.display_name} if metadata.display_name else {}),
            "mimeType": kind,
            "sizeBytes": str(len(data)),
            "createTime": timestamp(number),
            "updateTime": timestamp(number),
            "expirationTime": timestamp(number + 2 * DAY),
            "sha256Hash": base64.b64encode(digest.encode()).decode(),
            "uri": f"https://generativelanguage.googleapis.com/v1beta/files/{name}",
            "state": "PROCESSING" if waits else "ACTIVE",
            "source": source,
        }
        return self.put(name, _File(file, data), len(data)).metadata
