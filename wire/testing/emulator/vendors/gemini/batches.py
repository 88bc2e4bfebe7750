"""Batches of generateContent and of embeddings.

There is no clock: a batch is PENDING when it is made, runs at its first get, and has ended at its
second. Each of its requests is answered as if it had been sent alone, scripts included.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from wire.gemini.types import AsyncBatchEmbedContentRequest, BatchGenerateContentRequest
from wire.testing.emulator.answer import Answer
from wire.testing.emulator.jobs import MAX_LINES, alone, line_of, lines
from wire.testing.emulator.moments import timestamp
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route
from wire.testing.emulator.vendor import Settings
from wire.testing.emulator.vendors.gemini.bodies import whole
from wire.testing.emulator.vendors.gemini.files import Files
from wire.testing.emulator.vendors.gemini.refusals import decoded, model_of, refusal
from wire.testing.emulator.vendors.gemini.state import GeminiShelf
from wire.testing.emulator.vendors.gemini.uploads import made_id

_TYPE = "type.googleapis.com/google.ai.generativelanguage.v1main."
# google.rpc codes of the statuses that a request of a batch may fail with.
_CODES = {400: 3, 401: 16, 403: 7, 404: 5, 429: 8, 500: 13, 503: 14, 504: 4}

_ENDED = frozenset({f"BATCH_STATE_{end}" for end in ("SUCCEEDED", "CANCELLED", "EXPIRED")})


@dataclass(slots=True)
class _Batch:
    """One batch; `item` is the endpoint that each of its requests is for."""

    metadata: dict[str, Any]
    item: str
    request: Received
    requests: list[dict[str, Any]]
    in_file: bool
    gets: int = 0

    @property
    def name(self) -> str:
        return str(self.metadata["name"])

    @property
    def kind(self) -> str:
        return "EmbedContentBatch" if self.item == "embedContent" else "GenerateContentBatch"

    @property
    def ended(self) -> bool:
        return str(self.metadata["state"]) in _ENDED

    @property
    def operation(self) -> dict[str, Any]:
        """The batch as the server describes it: a long-running operation."""
        metadata = {"@type": _TYPE + self.kind, **self.metadata}
        value: dict[str, Any] = {"name": self.name, "metadata": metadata}
        if not self.ended:
            return value
        value["done"] = True
        if "output" in self.metadata:
            kind = f"{_TYPE}{self.kind}Output"
            value["response"] = {"@type": kind, **self.metadata["output"]}
        else:
            cancelled = self.metadata["state"] == "BATCH_STATE_CANCELLED"
            end, code = ("was cancelled", 1) if cancelled else ("has expired", 4)
            value["error"] = {"code": code, "message": f"The batch {self.name} {end}."}
        return value


class Batches(GeminiShelf[_Batch]):
    """The batches of one emulator."""

    key = "operations"

    def __init__(self, settings: Settings, files: Files) -> None:
        super().__init__(settings)
        self.files = files

    def describe(self, thing: _Batch, request: Received) -> Any:
        """Return a batch as an operation."""
        return thing.operation

    def create(self, request: Received, route: Route) -> Answer:
        """Make a batch. Raises `Refusal` for one without requests."""
        model_of(route, self.settings)
        embeds = route.endpoint == "asyncBatchEmbedContent"
        batch = (
            decoded(request.body, AsyncBatchEmbedContentRequest).batch
            if embeds
            else decoded(request.body, BatchGenerateContentRequest).batch
        )
        config = batch.input_config if batch is not None else None
        if batch is None or config is None or not (config.requests or config.file_name):
            raise refusal(400, "* batch.input_config: input_config is not specified\n")
        requests = (
            self._lines(config.file_name)
            if config.file_name
            else msgspec.to_builtins((config.requests and config.requests.requests) or [])
        )
        if not requests:
            raise refusal(400, "* batch.input_config.requests: requests is not specified\n")
        number, total = self.take(len(request.body)), str(len(requests))
        id = made_id(f"batch {number}")
        metadata: dict[str, Any] = {
            "model": f"models/{route.name}",
            **({"displayName": batch.display_name} if batch.display_name else {}),
            **({"priority": str(batch.priority)} if batch.priority is not None else {}),
            "createTime": timestamp(number),
            "updateTime": timestamp(number),
            "batchStats": {"requestCount": total, "pendingRequestCount": total},
            "state": "BATCH_STATE_PENDING",
            "name": f"batches/{id}",
        }
        item = "embedContent" if embeds else "generateContent"
        made = _Batch(metadata, item, request, requests, in_file=bool(config.file_name))
        return whole(self.put(id, made, len(request.body)).operation)

    def get(self, request: Received, route: Route) -> Answer:
        """Return a batch; its second get has the results."""
        batch = self[route.name]
        batch.gets += 1
        if not batch.ended:
            batch.metadata["state"] = "BATCH_STATE_RUNNING"
            if batch.gets > 1:
                self._end(batch)
        return whole(batch.operation)

    def cancel(self, request: Received, route: Route) -> Answer:
        """Stop a batch, unless it has ended."""
        batch = self[route.name]
        if not batch.ended:
            batch.metadata["state"] = "BATCH_STATE_CANCELLED"
        return whole({})

    def before_delete(self, thing: _Batch, request: Received) -> None:
        """Raise `Refusal` for a batch that has not ended."""
        if not thing.ended:
            message = "Only batches that have ended can be deleted."
            raise refusal(400, message, code="FAILED_PRECONDITION")

    def update(self, request: Received, route: Route) -> Answer:
        """Change the fields that the mask names: the name that is shown, and the priority."""
        batch = self[route.name]
        try:
            sent: Any = json.loads(request.body)
        except ValueError:
            sent = None
        if not isinstance(sent, dict):
            raise refusal(400, "Request contains an invalid argument.")
        for each in request.query.get("updateMask", "").split(","):
            key = {"display_name": "displayName"}.get(each.strip(), each.strip())
            if key not in ("displayName", "priority"):
                raise refusal(400, f"Invalid value at 'update_mask': {each!r} cannot be updated.")
            batch.metadata[key] = sent.get(key)
        return whole(batch.metadata)

    def _lines(self, name: str) -> list[dict[str, Any]]:
        data = self.files.named(name).data
        if data.count(b"\n") > MAX_LINES:
            raise refusal(400, f"The file {name} has more than {MAX_LINES} lines.")
        try:
            found = [line_of(line) for line in data.splitlines() if line]
        except ValueError:
            raise refusal(400, f"The file {name} has a line that is no JSON.") from None
        return [line for line in found if isinstance(line, dict)]

    def _end(self, batch: _Batch) -> None:
        results = []
        for each in batch.requests:
            result = self._result(batch, each)
            if result is None:
                batch.metadata["state"] = "BATCH_STATE_EXPIRED"
                return
            results.append(result)
        failed = sum("error" in each for each in results)
        if batch.in_file:
            name = self.files.generate(lines(results), "application/json")
            output: dict[str, Any] = {"responsesFile": name}
        else:
            output = {"inlinedResponses": {"inlinedResponses": results}}
        done, total = len(results) - failed, len(results)
        batch.metadata |= {
            "output": output,
            "endTime": batch.metadata["updateTime"],
            "batchStats": {
                "requestCount": str(total),
                **({"successfulRequestCount": str(done)} if done else {}),
                **({"failedRequestCount": str(failed)} if failed else {}),
            },
            "state": "BATCH_STATE_SUCCEEDED",
        }

    def _result(self, batch: _Batch, item: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the result of one request; `None` if the batch expires before it."""
        requested = item.get("request")
        request = {
            key: value
            for key, value in (requested if isinstance(requested, dict) else {}).items()
            if key != "model" or batch.item == "embedContent"
        }
        path = f"{batch.request.path.rpartition(':')[0]}:{batch.item}"
        answer = self.settings.respond(alone(batch.request, path, request, query={}))
        if answer.expires:
            return None
        kept = {key: item[key] for key in ("key", "metadata") if key in item}
        if answer.status == 200:
            return {**kept, "response": json.loads(answer.body)}
        error = json.loads(answer.body)["error"]
        code = _CODES.get(answer.status, 2)
        return {**kept, "error": {"code": code, "message": error["message"]}}
