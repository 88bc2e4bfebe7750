"""Files of OpenAI's server: upload, get, list, download, delete."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from wire.testing.emulator.answer import Answer
from wire.testing.emulator.multipart import parts
from wire.testing.emulator.received import Received
from wire.testing.emulator.storage import Storage
from wire.testing.emulator.vendors.openai.chat import CREATED, body_answer
from wire.testing.emulator.vendors.openai.errors import refusal

_PURPOSES = ("assistants", "batch", "evals", "fine-tune", "user_data", "vision")


@dataclass(slots=True)
class Files:
    """The files of one emulator, shared by all keys."""

    storage: Storage
    _files: dict[str, dict[str, Any]] = field(default_factory=dict)
    _data: dict[str, bytes] = field(default_factory=dict)
    _stored: int = 0

    def upload(self, request: Received) -> Answer:
        """Store the file of a form. Raises `Refusal` for a form without a file or a purpose."""
        sent = {part.name: part for part in parts(request)}
        for name in ("file", "purpose"):
            if name not in sent:
                raise refusal(400, f"'{name}' is a required property")
        purpose = sent["purpose"].data.decode("utf-8", "replace").strip()
        if purpose not in _PURPOSES:
            raise refusal(400, f"'{purpose}' is not one of {list(_PURPOSES)} - 'purpose'")
        self.storage.add(len(sent["file"].data))
        self._stored += 1
        id = f"file-{hashlib.sha256(f'file {self._stored}'.encode()).hexdigest()[:22]}"
        self._data[id] = sent["file"].data
        self._files[id] = {
            "object": "file",
            "id": id,
            "purpose": purpose,
            "filename": sent["file"].filename,
            "bytes": len(sent["file"].data),
            "created_at": CREATED + self._stored,
            "expires_at": None,
            "status": "processed",
            "status_details": None,
        }
        return body_answer(self._files[id], 200)

    def get(self, name: str) -> Answer:
        """The metadata of one file."""
        return body_answer(self._lookup(name), 200)

    def listed(self, request: Received) -> Answer:
        """A page of the files, the newest first; the query may have `limit`, `after`, `purpose`."""
        purpose, limit = request.query.get("purpose"), request.query.get("limit") or "10000"
        found = [
            file
            for file in reversed(self._files.values())
            if purpose is None or file["purpose"] == purpose
        ]
        after = request.query.get("after")
        ids = [file["id"] for file in found]
        if not limit.isdecimal() or (after is not None and after not in ids):
            raise refusal(400, "Invalid value of 'limit' or 'after'.")
        begin = ids.index(after) + 1 if after else 0
        shown = found[begin : begin + int(limit)]
        ends = {
            "first_id": shown[0]["id"] if shown else None,
            "last_id": shown[-1]["id"] if shown else None,
            "has_more": begin + len(shown) < len(found),
        }
        return body_answer({"object": "list", "data": shown, **ends}, 200)

    def content(self, name: str) -> Answer:
        """The bytes of a file, but for the purposes that OpenAI hands out no bytes of."""
        purpose = self._lookup(name)["purpose"]
        if purpose in ("assistants", "user_data", "vision"):
            raise refusal(400, f"Not allowed to download files of purpose: {purpose}")
        content_type = ("content-type", "application/octet-stream")
        return Answer(200, (content_type,), (self._data[name],))

    def delete(self, name: str) -> Answer:
        """Delete a file."""
        self._lookup(name)
        del self._files[name]
        self.storage.remove(len(self._data.pop(name)))
        return body_answer({"object": "file", "deleted": True, "id": name}, 200)

    def _lookup(self, name: str) -> dict[str, Any]:
        file = self._files.get(name)
        if file is None:
            raise refusal(404, f"No such File object: {name}", param="id")
        return file
