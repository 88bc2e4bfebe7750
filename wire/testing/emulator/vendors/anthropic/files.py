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

_NINETY_DAYS = 90 * 86_400
_FIRST = datetime(2026, 11, 21, 12, tzinfo=UTC)


@dataclass(slots=True)
class Files:
    """The files of one emulator, shared by all keys."""

    storage: Storage
    _files: dict[str, dict[str, Any]] = field(default_factory=dict)
    _stored: int = 0

    def upload(self, request: Received) -> Answer:
        """Store the file of a form. Raises `Refusal` for a form without one."""
        form = {part.name: part for part in parts(request)}
        sent = form.get("file")
        if sent is None:
            raise refusal(400, "file: Field required")
        expiry = form.get("expires_in_seconds")
        seconds = "" if expiry is None else expiry.data.decode("utf-8", "replace")
        if seconds and not (seconds.isdecimal() and 3600 <= int(seconds) <= _NINETY_DAYS):
            problem = f"Input should be between 3600 and {_NINETY_DAYS}"
            raise refusal(400, f"expires_in_seconds: {problem}")
        self.storage.add(len(sent.filename))  # its bytes are not kept
        self._stored += 1
        digest = hashlib.sha256(f"file {self._stored}".encode()).hexdigest()[:22]
        created = _FIRST + timedelta(seconds=self._stored)
        expires = created + timedelta(seconds=int(seconds)) if seconds else None
        id = f"file_01{digest}"
        self._files[id] = {
            "type": "file",
            "id": id,
            "size_bytes": len(sent.data),
            "created_at": _time(created),
            "filename": sent.filename,
            "mime_type": sent.kind,
            "downloadable": False,
            **({} if expires is None else {"expires_at": _time(expires)}),
        }
        return _answer(self._files[id])

    def get(self, name: str) -> Answer:
        """Return the metadata of one file."""
        return _answer(self._lookup(name))

    def listed(self, request: Received) -> Answer:
        """Return a page of the files, the newest first; version 2026-10-21 adds a cursor."""
        newest = list(self._files.values())[::-1]
        if request.headers.get("anthropic-version", "") < "2026-10-21":
            return _answer(page(newest, request.query))
        query = dict(request.query)
        if cursor := query.pop("page", ""):
            query["after_id"] = cursor.removeprefix("page_")
        shown = page(newest, query)
        after = f"page_{shown['last_id']}" if shown["has_more"] else None
        return _answer({"data": shown["data"], "next_page": after})

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


def _time(when: datetime) -> str:
    return when.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _answer(value: Any) -> Answer:
    return json_answer(json_bytes(value))
