"""The emulator's own endpoints, which steer it from any language, and CORS for browsers.

- `GET /_wire/health`
- `GET /_wire/requests`: the requests received; `DELETE` forgets them
- `PUT /_wire/script`: a script in place of the present one, `POST` adds its steps before the
  others, `DELETE` removes all
- `POST /_wire/faults`: a fault for the next request: `{"fault": "429", "retry_after": 2}` or
  `"cut; after=1"`; a `match` and `times` beside it as in a step
- `POST /_wire/reset`: forgets everything and starts the script again

An invalid body gets 400 and `{"error": "..."}`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from wire.errors import ConfigurationError
from wire.testing.emulator.answer import Answer, json_answer, json_bytes
from wire.testing.emulator.received import Received
from wire.testing.emulator.script import Step, steps_of

_PATH = re.compile(r"/_wire/(requests|health|script|faults|reset)")
_METHODS = {
    "requests": ("GET", "DELETE"),
    "health": ("GET",),
    "script": ("PUT", "POST", "DELETE"),
    "faults": ("POST",),
    "reset": ("POST",),
}


def control_of(request: Received) -> str:
    """What a request steers, such as `script`; empty if it is for a vendor."""
    path = _PATH.fullmatch(request.path)
    return path[1] if path is not None and request.method in _METHODS[path[1]] else ""


def sent_steps(request: Received, name: str) -> list[Step]:
    """The steps of a request for `script` or `faults`. Raises `ConfigurationError`."""
    try:
        body = json.loads(request.body)
    except ValueError as cause:
        raise ConfigurationError(f"{name}: invalid JSON: {cause}") from None
    if isinstance(body, (str, type(None))) and name == "script":
        raise ConfigurationError('script: expected {"steps": [...]} or a list of steps')
    return steps_of([_step(body)] if name == "faults" else body)


def _step(body: Any) -> Mapping[str, Any]:
    """A fault as the step of a script; `times` is that of the step."""
    if not isinstance(body, Mapping):
        return {"fault": body}
    beside = {key: body[key] for key in ("match", "times") if key in body}
    fault = {key: value for key, value in body.items() if key not in beside}
    return {"fault": fault, **beside}


def control_answer(value: Any, status: int = 200) -> Answer:
    """A response of the emulator's own."""
    return json_answer(json_bytes(value, indent=2) + b"\n", status)


# --- CORS -----------------------------------------------------------------------------------------


def is_preflight(request: Received) -> bool:
    """Whether a browser asks what it may send."""
    return request.method == "OPTIONS" and "access-control-request-method" in request.headers


def preflight(request: Received) -> Answer:
    """Everything is allowed: keys of an emulator are worth nothing."""
    allowed = request.headers.get("access-control-request-headers") or "*"
    headers = (
        ("access-control-allow-methods", "GET, POST, PUT, PATCH, DELETE, OPTIONS"),
        ("access-control-allow-headers", allowed),
        ("access-control-max-age", "600"),
    )
    return with_cors(Answer(204, headers, (b"",)), request)


def with_cors(answer: Answer, request: Received) -> Answer:
    """The response, which a page of any origin may read."""
    origin = request.headers.get("origin")
    if not origin:
        return answer
    headers = (
        ("access-control-allow-origin", origin),
        ("access-control-expose-headers", "*"),
        ("vary", "origin"),
    )
    return replace(answer, headers=(*answer.headers, *headers))
