"""Message batches: create, get, list, cancel, delete, results.

There is no clock: a batch is in progress until its second get, which ends it. Each of its requests
is answered as if it had been sent alone, scripts included.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wire.testing.emulator.answer import Answer, json_answer
from wire.testing.emulator.jobs import alone, lines
from wire.testing.emulator.moments import DAY, timestamp
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route
from wire.testing.emulator.signing import digest
from wire.testing.emulator.vendor import Refusal
from wire.testing.emulator.vendors.anthropic.errors import refusal
from wire.testing.emulator.vendors.anthropic.lists import AnthropicShelf

_RESULTS = ("succeeded", "errored", "canceled", "expired")
_CUSTOM_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")


@dataclass(slots=True)
class _Batch:
    """One batch; `results` are there once it has ended."""

    number: int
    id: str
    requests: list[tuple[str, Received]]
    """Custom id, and the request as if it had been sent alone."""
    status: str = "in_progress"
    gets: int = 0
    results: list[dict[str, Any]] = field(default_factory=list)


class Batches(AnthropicShelf[_Batch]):
    """The batches of one emulator."""

    unknown = "Message Batch {} not found."
    kind = "message_batch_deleted"

    def describe(self, thing: _Batch, request: Received) -> dict[str, Any]:
        """Describe a batch as the server does."""
        kinds = [each["result"]["type"] for each in thing.results]
        ended, created = thing.status == "ended", _time(thing.number)
        stopped = thing.status == "canceling" or "canceled" in kinds
        results = f"{request.base}/v1/messages/batches/{thing.id}/results"
        return {
            "id": thing.id,
            "type": "message_batch",
            "processing_status": thing.status,
            "request_counts": {
                "processing": 0 if ended else len(thing.requests),
                **{kind: kinds.count(kind) for kind in _RESULTS},
            },
            "ended_at": created if ended else None,
            "created_at": created,
            "expires_at": _time(thing.number + DAY),
            "archived_at": None,
            "cancel_initiated_at": created if stopped else None,
            "results_url": results if ended else None,
        }

    def create(self, request: Received, route: Route) -> Answer:
        """Make a batch. Raises `Refusal` for one without requests, or with a wrong custom id."""
        requests = [
            (custom_id, _alone(request, params)) for custom_id, params in _items(request.body)
        ]
        size = sum(len(each.body) for _, each in requests)
        number = self.take(size)
        id = f"msgbatch_01{digest(f'batch {number}')[:22]}"
        batch = self.put(id, _Batch(number, id, requests), size)
        return self.answer(self.describe(batch, request))

    def get(self, request: Received, route: Route) -> Answer:
        """Return a batch; its second get ends it."""
        batch = self[route.name]
        batch.gets += 1
        if batch.status == "canceling" or (batch.status == "in_progress" and batch.gets > 1):
            self._end(batch)
        return super().get(request, route)

    def cancel(self, request: Received, route: Route) -> Answer:
        """Stop a batch, unless it has ended; its next get ends it."""
        batch = self[route.name]
        if batch.status == "in_progress":
            batch.status = "canceling"
        return super().get(request, route)

    def before_delete(self, thing: _Batch, request: Received) -> None:
        """Raise `Refusal` for a batch that has not ended."""
        if thing.status != "ended":
            message = f"Message Batch {thing.id} cannot be deleted while it is in progress."
            raise refusal(400, message)

    def results(self, request: Received, route: Route) -> Answer:
        """Return the result of each request, one a line."""
        batch = self[route.name]
        if batch.status != "ended":
            raise refusal(404, f"Message Batch {batch.id} has no available results.")
        return json_answer(lines(batch.results), content_type="application/x-jsonl")

    def _end(self, batch: _Batch) -> None:
        canceled, respond = batch.status == "canceling", self.settings.respond
        batch.status = "ended"
        for custom_id, request in batch.requests:
            result = {"type": "canceled"} if canceled else _result(respond(request))
            batch.results.append({"custom_id": custom_id, "result": result})


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
    body = {key: value for key, value in params.items() if key != "stream"}
    return alone(request, request.path.removesuffix("/batches"), body)


def _time(seconds: int) -> str:
    return timestamp(seconds).replace("Z", "+00:00")
