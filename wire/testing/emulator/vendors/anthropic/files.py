"""Files of Anthropic's server, in beta: upload, get, list, download, delete."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from wire.testing.emulator.answer import Answer, json_answer, json_bytes
from wire.testing.emulator.multipart import parts
from wire.testing.emulator.received import Received
from wire.testing.emulator.storage import Storage
from wire.testing.emulator.vendors.anthropic.errors import refusal
from wire.testing.emulator.vendors.anthropic.lists import page

_FIRST = datetime(2026, 11, 21, 12, tzinfo=UTC)


@dataclass(slots=True)
class Files:
    """The files of one emulator, shared by all keys."""

    storage: Storage
    _files: dict[str, dict[str, Any]] = field(default_factory=dict)
    _stored: int = 0

    def upload(self, request: Received) -> Answer:
        """Store the file of a form. Raises `Refusal` for a form without one."""
        sent = next((part for part in parts(request) if part.name == "file"), None)
        if sent is None:
            raise refusal(400, "file: Field required")
        self.storage.add(len(sent.filename))  # its bytes are not kept
        self._stored += 1
        digest = hashlib.sha256(f"file {self._stored}".encode()).hexdigest()[:22]
        created = (_FIRST + timedelta(seconds=self._stored)).isoformat(timespec="microseconds")
        id = f"file_01{digest}"
        self._files[id] = {
            "type": "file",
            "id": id,
            "size_bytes": len(sent.data),
            "created_at": created.replace("+00:00", "Z"),
            "filename": sent.filename,
            "mime_type": sent.kind,
            "downloadable": False,
        }
        return _answer(self._files[id])

    def get(self, name: str) -> Answer:
        """The metadata of one file."""
        return _answer(self._lookup(name))

    def listed(self, request: Received) -> Answer:
        """A page of the files, the newest first."""
        return _answer(page(list(self._files.values())[::-1], request.query))

    def content(self, name: str) -> Answer:
        """Refuse a download: only files that tools of the server made can be had back."""
        self._lookup(name)
        raise refusal(400, f"File {name} is not downloadable.")

    def delete(self, name: str) -> Answer:
        """Delete a file."""
        self.storage.remove(len(self._lookup(name)["filename"]))
        del self._files[name]
        return _answer({"id": name, "type": "file_deleted"})

    def _lookup(self, name: str) -> dict[str, Any]:
        file = self._files.get(name)
        if file is None:
            raise refusal(404, f"File not found: {name}")
        return file


def _answer(value: Any) -> Answer:
    return json_answer(json_bytes(value))
