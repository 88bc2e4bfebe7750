"""Batches of OpenAI's server: create, get, list, cancel; their files of results and errors.

There is no clock: a batch is validated at its first get and has ended at its second. Each of its
requests is answered as if it had been sent alone, scripts included; one that gets the fault
`expire` makes the batch expire.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from wire.testing.emulator.answer import Answer, json_bytes
from wire.testing.emulator.json_sizes import json_excess
from wire.testing.emulator.limits import EmulatorLimits
from wire.testing.emulator.received import Received
from wire.testing.emulator.storage import Storage
from wire.testing.emulator.vendors.openai.chat import CREATED, body_answer
from wire.testing.emulator.vendors.openai.errors import refusal
from wire.testing.emulator.vendors.openai.files import Files, listed

_DAY = 86_400
_ENDPOINTS = ("/v1/chat/completions", "/v1/responses", "/v1/embeddings")
_MAX_LINES = 50_000
_LINE_LIMITS = EmulatorLimits(max_json_values=10_000)
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


@dataclass(slots=True)
class Batches:
    """The batches of one emulator; `respond` answers one request as the emulator would."""

    files: Files
    respond: Callable[[Received], Answer]
    storage: Storage
    _batches: dict[str, _Batch] = field(default_factory=dict)
    _stored: int = 0

    def create(self, request: Received) -> Answer:
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
            raise refusal(
                400, "Invalid value. Supported values are: '24h'.", param="completion_window"
            )
        self.files.data(sent["input_file_id"])
        self.storage.add(len(request.body))
        self._stored += 1
        id = f"batch_{hashlib.sha256(f'batch {self._stored}'.encode()).hexdigest()[:32]}"
        created = CREATED + self._stored
        self._batches[id] = _Batch(
            {
                "id": id,
                "object": "batch",
                "endpoint": sent["endpoint"],
                "model": None,
                "errors": None,
                "input_file_id": sent["input_file_id"],
                "completion_window": "24h",
                "status": "validating",
                "output_file_id": None,
                "error_file_id": None,
                "created_at": created,
                "in_progress_at": None,
                "expires_at": created + _DAY,
                "finalizing_at": None,
                "completed_at": None,
                "failed_at": None,
                "expired_at": None,
                "cancelling_at": None,
                "cancelled_at": None,
                "request_counts": {"total": 0, "completed": 0, "failed": 0},
                "metadata": sent.get("metadata"),
            },
            request,
        )
        return body_answer(self._batches[id].fields, 200)

    def get(self, name: str) -> Answer:
        """Return a batch: validated at its first get, ended at its second."""
        batch = self._lookup(name)
        match batch.fields["status"]:
            case "validating":
                self._validate(batch)
            case "in_progress":
                self._end(batch)
            case "cancelling":
                _reach(batch, "cancelled")
        return body_answer(batch.fields, 200)

    def listed(self, request: Received) -> Answer:
        """Return a page of the batches, newest first; the query may have `limit` and `after`."""
        batches = [batch.fields for batch in self._batches.values()][::-1]
        return body_answer(listed(batches, request.query, "20"), 200)

    def cancel(self, name: str) -> Answer:
        """Stop a batch, unless it has ended; its next get ends it."""
        batch = self._lookup(name)
        if batch.fields["status"] not in ("validating", "in_progress"):
            message = f"Cannot cancel a batch with status '{batch.fields['status']}'."
            raise refusal(409, message)
        _reach(batch, "cancelling")
        return body_answer(batch.fields, 200)

    def _lookup(self, name: str) -> _Batch:
        batch = self._batches.get(name)
        if batch is None:
            raise refusal(404, f"No batch found with id '{name}'.", param="id")
        return batch

    def _validate(self, batch: _Batch) -> None:
        lines, errors = _read(self.files.data(batch.fields["input_file_id"]), batch.fields)
        if errors:
            batch.fields["errors"] = {"object": "list", "data": errors}
            _reach(batch, "failed")
            return
        batch.lines = lines
        batch.fields["model"] = lines[0]["body"].get("model")
        batch.fields["request_counts"]["total"] = len(lines)
        _reach(batch, "in_progress")

    def _end(self, batch: _Batch) -> None:
        results = [self._result(batch, number, line) for number, line in enumerate(batch.lines)]
        good = [each for each in results if (each["response"] or {}).get("status_code") == 200]
        bad = [each for each in results if each not in good]
        fields = batch.fields
        fields["request_counts"] |= {"completed": len(good), "failed": len(bad)}
        for key, kept in (("output", good), ("error", bad)):
            if kept:
                data = b"".join(json_bytes(each) + b"\n" for each in kept)
                name = f"{fields['id']}_{key}.jsonl"
                fields[f"{key}_file_id"] = self.files.generate(data, name)
        _reach(batch, "finalizing")
        _reach(batch, "expired" if any(each["error"] for each in bad) else "completed")

    def _result(self, batch: _Batch, number: int, line: Mapping[str, Any]) -> dict[str, Any]:
        digest = hashlib.sha256(f"{batch.fields['id']} {number}".encode()).hexdigest()
        path = batch.request.path.removesuffix("/batches")
        path += str(batch.fields["endpoint"]).removeprefix("/v1")
        # A fault of the header was for the batch, not for each of its requests.
        headers = {key: val for key, val in batch.request.headers.items() if key != "x-wire-fault"}
        body = json_bytes(line["body"])
        answer = self.respond(replace(batch.request, path=path, headers=headers, body=body))
        result = {"id": f"batch_req_{digest[:32]}", "custom_id": line["custom_id"]}
        if answer.expires:
            return {**result, "response": None, "error": _EXPIRED}
        response = {
            "status_code": answer.status,
            "request_id": digest[32:],
            "body": json.loads(answer.body),
        }
        return {**result, "response": response, "error": None}


def _reach(batch: _Batch, status: str) -> None:
    batch.fields["status"] = status
    batch.fields[f"{status}_at"] = batch.fields["created_at"] + 60


def _read(
    data: bytes, fields: Mapping[str, Any]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Read the lines of an input file; return them, and the errors of invalid lines."""
    lines: list[dict[str, Any]] = []
    errors: list[dict[str, Any]] = []
    seen: set[str] = set()
    for number, raw in enumerate(data.splitlines()[: _MAX_LINES + 1], 1):
        problem = _problem(raw, fields["endpoint"], seen)
        if isinstance(problem, dict):
            lines.append(problem)
        else:
            code, message, param = problem
            errors.append({"code": code, "message": message, "param": param, "line": number})
    models = {line["body"].get("model") for line in lines}
    if len(models) > 1:
        message = "The input file has requests for several models."
        errors.append({"code": "mismatched_model", "message": message, "param": "body.model",
                       "line": None})  # fmt: skip
    if not lines and not errors:
        message = "The input file is empty."
        errors.append({"code": "empty_file", "message": message, "param": None, "line": None})
    return lines, errors


def _problem(raw: bytes, endpoint: str, seen: set[str]) -> dict[str, Any] | tuple[str, str, str]:
    """Return a valid line; else code and message of its error, and the name of its field."""
    line: Any = None
    try:
        line = None if json_excess(raw, _LINE_LIMITS) else json.loads(raw)
    except ValueError:
        pass
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
