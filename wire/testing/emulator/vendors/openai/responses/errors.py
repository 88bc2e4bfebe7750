"""Errors of Responses: as events, and in the form of each host."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from wire.testing.emulator.answer import Answer, json_bytes
from wire.testing.emulator.vendor import Failure, Refusal
from wire.testing.emulator.vendors.openai import errors
from wire.testing.emulator.vendors.openai.responses.events import frame
from wire.testing.emulator.vendors.openai.responses.hosts import Host

_XAI_CODES = {429: "resource-exhausted", 500: "internal", 503: "unavailable"}


def error_event(failure: Failure, host: Host) -> bytes:
    """Encode the error as an event, nested as it was recorded."""
    error = errors.error(failure)["error"]
    event = {"type": "error", "sequence_number": failure.position, "error": error}
    return frame(event, host)


def reshaped(answer: Answer, host: Host) -> Answer:
    """Convert an error in OpenAI's form to the form of a host."""
    if host.error_form == "openai":
        return answer
    body = _form(json.loads(answer.body)["error"], answer.status, host)
    return replace(answer, pieces=(json_bytes(body),))


@contextmanager
def refusals_of(host: Host) -> Iterator[None]:
    """Convert refusals inside the block to the form of a host."""
    try:
        yield
    except Refusal as refusal:
        raise Refusal(reshaped(refusal.answer, host)) from None


def _form(error: dict[str, Any], status: int, host: Host) -> dict[str, Any]:
    match host.error_form:
        case "xai":
            return {"code": _XAI_CODES.get(status, "invalid-argument"), "error": error["message"]}
        case "detail":
            return {"detail": error["message"]}
    return {"error": {**error, "param": None, "code": error["type"]}}
