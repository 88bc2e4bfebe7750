"""Message batches: create, get, list, cancel, delete, results.

There is no clock: a batch is in progress until its second get, which ends it. Each of its requests
is answered as if it had been sent alone, scripts included.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from wire.testing.emulator.answer import Answer, json_answer, json_bytes
from wire.testing.emulator.received import Received
from wire.testing.emulator.storage import Storage
from wire.testing.emulator.vendor import Refusal
from wire.testing.emulator.vendors.anthropic.errors import refusal
from wire.testing.emulator.vendors.anthropic.lists import page

_FIRST = datetime(2026, 11, 21, 12, tzinfo=UTC)
_RESULTS = ("succeeded", "errored", "canceled", "expired")
_CUSTOM_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@dataclass(slots=True)
class _Batch:
    """One batch; `results` are there once it has ended."""

    created: datetime
    id: str
    requests: list[tuple[str, Received]]
    """Custom id, and the request as if it had been sent alone."""
    status: str = "in_progress"
    size: int = 0
    """Bytes of its requests."""
    gets: int = 0
    results: list[dict[str, Any]] = field(default_factory=list)

    def describe(self, base: str) -> dict[str, Any]:
        """Describe the batch as the server does."""
        kinds = [each["result"]["type"] for each in self.results]
        ended = self.status == "ended"
        counts = {kind: kinds.count(kind) for kind in _RESULTS}
        results = f"{base}/v1/messages/batches/{self.id}/results"
        return {
            "id": self.id,
            "type": "message_batch",
            "processing_status": self.status,
            "request_counts": {
                "processing": 0 if ended else len(self.requests),
                **counts,
            },
            "ended_at": _time(self.created) if ended else None,
            "created_at": _time(self.created),
            "expires_at": _time(self.created + timedelta(days=1)),
            "archived_at": None,
            "cancel_initiated_at": None if self.status == "in_progress" else _canceled(self),
            "results_url": results if ended else None,
        }


@dataclass(slots=True)
class Batches:
    """The batches of one emulator; `respond` answers one request as the emulator would."""

    respond: Callable[[Received], Answer]
    storage: Storage
    _batches: dict[str, _Batch] = field(default_factory=dict)
    _stored: int = 0

    def create(self, request: Received) -> Answer:
        """Make a batch. Raises `Refusal` for one without requests, or with a wrong custom id."""
        requests = [
            (custom_id, _alone(request, params)) for custom_id, params in _items(request.body)
        ]
        size = sum(len(each.body) for _, each in requests)
        self.storage.add(size)
        self._stored += 1
        digest = hashlib.sha256(f"batch {self._stored}".encode()).hexdigest()[:22]
        created = _FIRST + timedelta(seconds=self._stored)
        batch = _Batch(created, f"msgbatch_01{digest}", requests, size=size)
        self._batches[batch.id] = batch
        return _answer(batch.describe(request.base))

    def get(self, request: Received, name: str) -> Answer:
        """Return a batch; its second get ends it."""
        batch = self._lookup(name)
        batch.gets += 1
        if batch.status == "canceling" or (batch.status == "in_progress" and batch.gets > 1):
            self._end(batch)
        return _answer(batch.describe(request.base))

    def listed(self, request: Received) -> Answer:
        """Return a page of the batches, the newest first."""
        newest = [batch.describe(request.base) for batch in self._batches.values()][::-1]
        return _answer(page(newest, request.query))

    def cancel(self, request: Received, name: str) -> Answer:
        """Stop a batch, unless it has ended; its next get ends it."""
        batch = self._lookup(name)
        if batch.status == "in_progress":
            batch.status = "canceling"
        return _answer(batch.describe(request.base))

    def delete(self, name: str) -> Answer:
        """Forget a batch that has ended."""
        batch = self._lookup(name)
        if batch.status != "ended":
            message = f"Message Batch {name} cannot be deleted while it is in progress."
            raise refusal(400, message)
        self.storage.remove(batch.size)
        del self._batches[name]
        return _answer({"id": name, "type": "message_batch_deleted"})

    def results(self, name: str) -> Answer:
        """Return the result of each request, one a line."""
        batch = self._lookup(name)
        if batch.status != "ended":
            raise refusal(404, f"Message Batch {name} has no available results.")
        body = b"".join(json_bytes(each) + b"\n" for each in batch.results)
        return json_answer(body, content_type="application/x-jsonl")

    def _lookup(self, name: str) -> _Batch:
        batch = self._batches.get(name)
        if batch is None:
            raise refusal(404, f"Message Batch {name} not found.")
        return batch

    def _end(self, batch: _Batch) -> None:
        canceled = batch.status == "canceling"
        batch.status = "ended"
        batch.results = [
            {
                "custom_id": custom_id,
                "result": {"type": "canceled"} if canceled else _result(self.respond(request)),
            }
            for custom_id, request in batch.requests
        ]


def _result(answer: Answer) -> dict[str, Any]:
    if answer.expires:
        return {"type": "expired"}
    body = json.loads(answer.body)
    if answer.status == 200:
        return {"type": "succeeded", "message": body}
    return {"type": "errored", "error": body}


def _items(body: bytes) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the custom id and the body of each request."""
    try:
        plain = json.loads(body)
    except ValueError as cause:
        raise refusal(400, f"The request body is not valid JSON: {cause}") from None
    listed = plain.get("requests") if isinstance(plain, dict) else None
    if not isinstance(listed, list):
        raise refusal(400, "requests: Field required")
    if not listed:
        raise refusal(400, "requests: List should have at least 1 item after validation, not 0")
    items: dict[str, Mapping[str, Any]] = {}
    for index, each in enumerate(listed):
        item = each if isinstance(each, dict) else {}
        custom_id, params = item.get("custom_id"), item.get("params")
        if not isinstance(custom_id, str) or not _CUSTOM_ID.fullmatch(custom_id):
            raise _wrong(index, "custom_id", "String should match pattern '^[a-zA-Z0-9_-]{1,64}$'")
        if not isinstance(params, dict):
            raise _wrong(index, "params", "Field required")
        if custom_id in items:
            raise _wrong(index, "custom_id", f"Duplicate custom_id: {custom_id}")
        items[custom_id] = params
    return list(items.items())


def _wrong(index: int, key: str, message: str) -> Refusal:
    return refusal(400, f"requests.{index}.{key}: {message}")


def _alone(request: Received, params: Mapping[str, Any]) -> Received:
    """Convert a request of a batch to one that is sent alone, and not as a stream."""
    body = json_bytes({key: value for key, value in params.items() if key != "stream"})
    # A fault of the header was for the batch, not for each of its requests.
    headers = {key: value for key, value in request.headers.items() if key != "x-wire-fault"}
    path = request.path.removesuffix("/batches")
    return replace(request, path=path, headers=headers, body=body)


def _canceled(batch: _Batch) -> str | None:
    stopped = batch.status == "canceling" or any(
        each["result"]["type"] == "canceled" for each in batch.results
    )
    return _time(batch.created) if stopped else None


def _time(when: datetime) -> str:
    return when.isoformat(timespec="microseconds")


def _answer(value: Any) -> Answer:
    return json_answer(json_bytes(value))
