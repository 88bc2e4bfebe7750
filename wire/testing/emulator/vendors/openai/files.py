"""Files of OpenAI's server: upload, get, list, download, delete."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from wire.testing.emulator.answer import Answer
from wire.testing.emulator.multipart import parts
from wire.testing.emulator.received import Received
from wire.testing.emulator.storage import Storage
from wire.testing.emulator.vendors.openai.chat import CREATED, body_answer
from wire.testing.emulator.vendors.openai.errors import refusal

_THIRTY_DAYS = 30 * 86_400
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
        expires_after = sent.get("expires_after[seconds]")
        seconds = expires_after.data.decode("utf-8", "replace") if expires_after else ""
        if seconds and not (seconds.isdecimal() and 3600 <= int(seconds) <= _THIRTY_DAYS):
            message = f"'expires_after.seconds' must be between 3600 and {_THIRTY_DAYS}."
            raise refusal(400, message, param="expires_after")
        kept = int(seconds) if seconds else _THIRTY_DAYS if purpose == "batch" else None
        file = self._store(sent["file"].data, sent["file"].filename, purpose, kept)
        return body_answer(file, 200)

    def _store(
        self, data: bytes, filename: str, purpose: str, seconds: int | None = _THIRTY_DAYS
    ) -> dict[str, Any]:
        self.storage.add(len(data))
        self._stored += 1
        id = f"file-{hashlib.sha256(f'file {self._stored}'.encode()).hexdigest()[:22]}"
        created = CREATED + self._stored
        self._data[id] = data
        self._files[id] = {
            "object": "file",
            "id": id,
            "purpose": purpose,
            "filename": filename,
            "bytes": len(data),
            "created_at": created,
            "expires_at": None if seconds is None else created + seconds,
            "status": "processed",
            "status_details": None,
        }
        return self._files[id]

    def get(self, name: str) -> Answer:
        """Return the metadata of one file."""
        return body_answer(self._lookup(name), 200)

    def listed(self, request: Received) -> Answer:
        """Return a page of the files, the newest first.

        The query may have `limit`, `after`, `purpose`.
        """
        purpose = request.query.get("purpose")
        found = [file for file in self._files.values() if purpose in (None, file["purpose"])]
        newest = found if request.query.get("order") == "asc" else found[::-1]
        return body_answer(listed(newest, request.query, "10000"), 200)

    def data(self, name: str) -> bytes:
        """Return the bytes of a file. Raises `Refusal` for an unknown one."""
        self._lookup(name)
        return self._data[name]

    def generate(self, data: bytes, filename: str) -> str:
        """Store the results of a batch; return the id of the file."""
        return str(self._store(data, filename, "batch_output")["id"])

    def content(self, name: str) -> Answer:
        """Return the bytes of a file; OpenAI returns none for some purposes."""
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


def listed(
    items: Sequence[Mapping[str, Any]], query: Mapping[str, str], most: str
) -> dict[str, Any]:
    """Return a page of items that have an `id`; the query may have `limit` and `after`.

    Raises `Refusal` for a wrong one.
    """
    limit, after = query.get("limit") or most, query.get("after")
    ids = [each["id"] for each in items]
    if not limit.isdecimal() or (after is not None and after not in ids):
        raise refusal(400, "Invalid value of 'limit' or 'after'.")
    begin = ids.index(after) + 1 if after else 0
    shown = items[begin : begin + int(limit)]
    return {
        "object": "list",
        "data": list(shown),
        "first_id": shown[0]["id"] if shown else None,
        "last_id": shown[-1]["id"] if shown else None,
        "has_more": begin + len(shown) < len(items),
    }
