"""Requests of a batch: read from a file, sent alone, and their results written as lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from wire.testing.emulator.answer import json_bytes
from wire.testing.emulator.json_sizes import json_excess
from wire.testing.emulator.limits import EmulatorLimits
from wire.testing.emulator.received import Received

MAX_LINES = 50_000
_LINE_LIMITS = EmulatorLimits(max_json_values=10_000)


def alone(request: Received, path: str, body: Any, **more: Any) -> Received:
    """Convert a request of the batch that `request` made to one that is sent alone."""
    # A fault of the header was for the batch, not for each of its requests.
    headers = {key: value for key, value in request.headers.items() if key != "x-wire-fault"}
    return replace(request, path=path, headers=headers, body=json_bytes(body), **more)


def line_of(data: bytes) -> Any:
    """Parse one line of a file. Raises `ValueError`."""
    excess = json_excess(data, _LINE_LIMITS)
    if excess:
        raise ValueError(excess)
    return json.loads(data)


def lines(results: Iterable[Mapping[str, Any]]) -> bytes:
    """Return the results of a batch, one a line."""
    return b"".join(json_bytes(each) + b"\n" for each in results)
