"""Batches of OpenAI's server: create, get, list, cancel; their files of results and errors.

There is no clock: a batch is validated at its first get and has ended at its second. Each of its
requests is answered as if it had been sent alone, scripts included; one that gets the fault
`expire` makes the batch expire.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from wire.testing.emulator.answer import Answer
from wire.testing.emulator.jobs import MAX_LINES, alone, line_of, lines
from wire.testing.emulator.moments import CREATED, DAY
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route
from wire.testing.emulator.signing import digest
from wire.testing.emulator.tables import table
from wire.testing.emulator.vendor import Settings
from wire.testing.emulator.vendors.openai.errors import refusal
from wire.testing.emulator.vendors.openai.files import Files
from wire.testing.emulator.vendors.openai.lists import OpenAIShelf

_ENDPOINTS = ("/v1/chat/completions", "/v1/responses", "/v1/embeddings")
_FIELDS: Mapping[str, Any] = table(__file__, "batch")
"""The fields of a new batch."""
_EXPIRED = {
    "code": "batch_expired",
    "message": "This request could not be executed before the completion window expired.",
}


@dataclass(slots=True)
class _Batch:
    """One batch, as the server describes it, and its requests by custom id."""

    fields: dict[str, Any]
    request: Received
    lines: list[dict[str, Any]] = field(default_factory=list)


class Batches(OpenAIShelf[_Batch]):
    """The batches of one emulator."""

    unknown = "No batch found with id '{}'."

    def __init__(self, settings: Settings, files: Files) -> None:
        super().__init__(settings)
        self.files = files

    def describe(self, thing: _Batch, request: Received) -> Any:
        """Describe a batch as the server does."""
        return thing.fields

    def create(self, request: Received, route: Route) -> Answer:
        """Make a batch of a file, which is read later. Raises `Refusal` for a wrong parameter."""
        try:
            body = json.loads(request.body)
        except ValueError:
            body = None
        sent = body if isinstance(body, dict) else {}
        for name in ("input_file_id", "endpoint", "completion_window"):
            if not isinstance(sent.get(name), str):
                raise refusal(400, f"Missing required parameter: '{name}'.", param=name)
        if sent["endpoint"] not in _ENDPOINTS:
            message = f"Invalid value: '{sent['endpoint']}'. Supported values are: {_ENDPOINTS}."
            raise refusal(400, message, param="endpoint")
        if sent["completion_window"] != "24h":
            message = "Invalid value. Supported values are: '24h'."
            raise refusal(400, message, param="completion_window")
        file = self.files[sent["input_file_id"]]
        number = self.take(len(request.body))
        fields = {
            **_FIELDS,
            "id": f"batch_{digest(f'batch {number}')[:32]}",
            "endpoint": sent["endpoint"],
            "input_file_id": file.fields["id"],
            "created_at": CREATED + number,
            "expires_at": CREATED + number + DAY,
            "request_counts": {**_FIELDS["request_counts"]},
            "metadata": sent.get("metadata"),
        }
        self.put(fields["id"], _Batch(fields, request), len(request.body))
        return self.answer(fields)

    def get(self, request: Received, route: Route) -> Answer:
        """Return a batch: validated at its first get, ended at its second."""
        batch = self[route.name]
        match batch.fields["status"]:
            case "validating":
                self._validate(batch)
            case "in_progress":
                self._end(batch)
            case "cancelling":
                _reach(batch, "cancelled")
        return super().get(request, route)

    def cancel(self, request: Received, route: Route) -> Answer:
        """Stop a batch, unless it has ended; its next get ends it."""
        batch = self[route.name]
        if batch.fields["status"] not in ("validating", "in_progress"):
            message = f"Cannot cancel a batch with status '{batch.fields['status']}'."
            raise refusal(409, message)
        _reach(batch, "cancelling")
        return super().get(request, route)

    def _validate(self, batch: _Batch) -> None:
        data = self.files[batch.fields["input_file_id"]].data
        batch.lines, errors = _read(data, batch.fields["endpoint"])
        if errors:
            batch.fields["errors"] = {"object": "list", "data": errors}
            _reach(batch, "failed")
            return
        batch.fields["model"] = batch.lines[0]["body"].get("model")
        batch.fields["request_counts"]["total"] = len(batch.lines)
        _reach(batch, "in_progress")

    def _end(self, batch: _Batch) -> None:
        results = [self._result(batch, number, line) for number, line in enumerate(batch.lines)]
        good = [each for each in results if (each["response"] or {}).get("status_code") == 200]
        bad = [each for each in results if each not in good]
        fields = batch.fields
        fields["request_counts"] |= {"completed": len(good), "failed": len(bad)}
        for key, kept in (("output", good), ("error", bad)):
            if kept:
                name = f"{fields['id']}_{key}.jsonl"
                file = self.files.store(lines(kept), name, "batch_output")
                fields[f"{key}_file_id"] = file["id"]
        _reach(batch, "finalizing")
        _reach(batch, "expired" if any(each["error"] for each in bad) else "completed")

    def _result(self, batch: _Batch, number: int, line: Mapping[str, Any]) -> dict[str, Any]:
        digits = digest(f"{batch.fields['id']} {number}")
        path = batch.request.path.removesuffix("/batches")
        path += str(batch.fields["endpoint"]).removeprefix("/v1")
        answer = self.settings.respond(alone(batch.request, path, line["body"]))
        result = {"id": f"batch_req_{digits[:32]}", "custom_id": line["custom_id"]}
        if answer.expires:
            return {**result, "response": None, "error": _EXPIRED}
        response = {
            "status_code": answer.status,
            "request_id": digits[32:],
            "body": json.loads(answer.body),
        }
        return {**result, "response": response, "error": None}


def _reach(batch: _Batch, status: str) -> None:
    batch.fields["status"] = status
    batch.fields[f"{status}_at"] = batch.fields["created_at"] + 60


def _read(data: bytes, endpoint: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Read the lines of an input file; return them, and the errors of invalid lines."""
    found: list[dict[str, Any]] = []
    errors: list[dict[str, Any]] = []
    seen: set[str] = set()

    def add(code: str, message: str, param: str | None, number: int | None = None) -> None:
        errors.append({"code": code, "message": message, "param": param, "line": number})

    for number, raw in enumerate(data.splitlines()[: MAX_LINES + 1], 1):
        problem = _problem(raw, endpoint, seen)
        if isinstance(problem, dict):
            found.append(problem)
        else:
            add(*problem, number)
    if len({line["body"].get("model") for line in found}) > 1:
        message = "The input file has requests for several models."
        add("mismatched_model", message, "body.model")
    if not found and not errors:
        add("empty_file", "The input file is empty.", None)
    return found, errors


def _problem(raw: bytes, endpoint: str, seen: set[str]) -> dict[str, Any] | tuple[str, str, str]:
    """Return a valid line; else code and message of its error, and the name of its field."""
    try:
        line = line_of(raw)
    except ValueError:
        line = None
    if not isinstance(line, dict):
        return "invalid_json_line", "This line is not parseable as valid JSON.", ""
    id = line.get("custom_id")
    if not isinstance(id, str) or not id:
        return "missing_required_parameter", "Missing required parameter.", "custom_id"
    if id in seen:
        message = f"The custom_id '{id}' is used by another request of the file."
        return "duplicate_custom_id", message, "custom_id"
    seen.add(id)
    if line.get("method") != "POST":
        return "invalid_method", "The method must be POST.", "method"
    if line.get("url") != endpoint:
        message = f"The URL must be that of the batch, '{endpoint}'."
        return "mismatched_url", message, "url"
    if not isinstance(line.get("body"), dict):
        return "missing_required_parameter", "Missing required parameter.", "body"
    return line
