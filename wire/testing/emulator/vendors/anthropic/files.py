"""Files of Anthropic's server, in beta: upload, get, list, download, delete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from wire.testing.emulator.answer import Answer
from wire.testing.emulator.moments import DAY, timestamp
from wire.testing.emulator.multipart import parts
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route
from wire.testing.emulator.signing import digest
from wire.testing.emulator.vendors.anthropic.errors import refusal
from wire.testing.emulator.vendors.anthropic.lists import AnthropicShelf, page

_NINETY_DAYS = 90 * DAY


class Files(AnthropicShelf[dict[str, Any]]):
    """The files of one emulator."""

    unknown = "File not found: {}"
    kind = "file_deleted"

    def upload(self, request: Received, route: Route) -> Answer:
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
        size = len(sent.filename)  # its bytes are not kept
        number = self.take(size)
        id = f"file_01{digest(f'file {number}')[:22]}"
        file = {
            "type": "file",
            "id": id,
            "size_bytes": len(sent.data),
            "created_at": timestamp(number),
            "filename": sent.filename,
            "mime_type": sent.kind,
            "downloadable": False,
            **({"expires_at": timestamp(number + int(seconds))} if seconds else {}),
        }
        return self.answer(self.put(id, file, size))

    def page(self, items: Sequence[Mapping[str, Any]], request: Received) -> Any:
        """Return the page that a request asks for; version 2026-10-21 has a cursor of its own."""
        if request.headers.get("anthropic-version", "") < "2026-10-21":
            return page(items, request.query)
        query = dict(request.query)
        if cursor := query.pop("page", ""):
            query["after_id"] = cursor.removeprefix("page_")
        shown = page(items, query)
        after = f"page_{shown['last_id']}" if shown["has_more"] else None
        return {"data": shown["data"], "next_page": after}

    def content(self, request: Received, route: Route) -> Answer:
        """Refuse a download: only files that tools of the server made can be had back."""
        raise refusal(400, f"File {self[route.name]['id']} is not downloadable.")
