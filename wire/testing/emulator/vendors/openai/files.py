"""Files of OpenAI's server: upload, get, list, download, delete."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from wire.testing.emulator.answer import Answer
from wire.testing.emulator.moments import CREATED, DAY
from wire.testing.emulator.multipart import parts
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route
from wire.testing.emulator.signing import digest
from wire.testing.emulator.vendors.openai.errors import refusal
from wire.testing.emulator.vendors.openai.lists import OpenAIShelf

_THIRTY_DAYS = 30 * DAY
_PURPOSES = ("assistants", "batch", "evals", "fine-tune", "user_data", "vision")


@dataclass(frozen=True, slots=True)
class _File:
    fields: dict[str, Any]
    data: bytes


class Files(OpenAIShelf[_File]):
    """The files of one emulator."""

    unknown = "No such File object: {}"
    kind = "file"
    limit = "10000"

    def describe(self, thing: _File, request: Received) -> Any:
        """Describe a file as the server does."""
        return thing.fields

    def upload(self, request: Received, route: Route) -> Answer:
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
        return self.answer(self.store(sent["file"].data, sent["file"].filename, purpose, kept))

    def store(
        self, data: bytes, filename: str, purpose: str, seconds: int | None = _THIRTY_DAYS
    ) -> dict[str, Any]:
        """Store a file that expires after so many seconds; return its metadata."""
        number = self.take(len(data))
        fields = {
            "object": "file",
            "id": f"file-{digest(f'file {number}')[:22]}",
            "purpose": purpose,
            "filename": filename,
            "bytes": len(data),
            "created_at": CREATED + number,
            "expires_at": None if seconds is None else CREATED + number + seconds,
            "status": "processed",
            "status_details": None,
        }
        return self.put(str(fields["id"]), _File(fields, data), len(data)).fields

    def listed(self, request: Received, route: Route) -> Answer:
        """Return a page of the files, the newest first.

        The query may have `limit`, `after`, `purpose`, `order`.
        """
        purpose = request.query.get("purpose")
        files = [each.fields for each in self.newest()]
        found = [each for each in files if purpose in (None, each["purpose"])]
        ordered = found[::-1] if request.query.get("order") == "asc" else found
        return self.answer(self.page(ordered, request))

    def content(self, request: Received, route: Route) -> Answer:
        """Return the bytes of a file; OpenAI returns none for some purposes."""
        file = self[route.name]
        if file.fields["purpose"] in ("assistants", "user_data", "vision"):
            message = f"Not allowed to download files of purpose: {file.fields['purpose']}"
            raise refusal(400, message)
        return Answer(200, (("content-type", "application/octet-stream"),), (file.data,))
