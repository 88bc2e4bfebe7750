"""The emulator's own endpoints, which steer it from any language, and CORS of the vendors'.

- `GET /_wire/health`
- `GET /_wire/requests`: the requests received; `DELETE` forgets them
- `PUT /_wire/script`: a script in place of the present one, `POST` adds its steps before the
  others, `DELETE` removes all
- `POST /_wire/faults`: a fault for the next request: `{"fault": "429; retry-after=2"}` or
  `"cut; after=1"`; a `match` and `times` beside it as in a step
- `POST /_wire/reset`: forgets everything and starts the script again

An invalid body gets 400 and `{"error": "..."}`.

They answer only requests to a loopback name: a page of another origin whose host name leads to this
machine (DNS rebinding) could otherwise read what was received. Such a page, and any page that is
not of this machine, gets 403. They have no CORS.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from wire.core.errors import ConfigurationError
from wire.testing.emulator.answer import Answer, json_answer, json_bytes
from wire.testing.emulator.received import Received
from wire.testing.emulator.script import Step, steps_of

_PREFIX = "/_wire/"
_METHODS = {
    "requests": ("GET", "DELETE"),
    "health": ("GET",),
    "script": ("PUT", "POST", "DELETE"),
    "faults": ("POST",),
    "reset": ("POST",),
}


def is_control(request: Received) -> bool:
    """Return whether a request is for the emulator itself, and for no vendor."""
    return request.path.startswith(_PREFIX)


def control_of(request: Received) -> str:
    """Return the name of the control endpoint of a request, such as `script`."""
    return request.path.removeprefix(_PREFIX)


def control_refusal(request: Received) -> Answer | None:
    """Refuse a request from another origin or for no endpoint; return `None` if it is allowed."""
    named = {
        f"//{request.headers['host']}" if "host" in request.headers else None,
        f"//{request.origin}" if request.origin else None,
        request.headers.get("origin"),
    }
    for url in sorted(filter(None, named)):
        if not _is_loopback(url):
            message = f"{_PREFIX}* answers only loopback names such as localhost, not {url!r}"
            return control_answer({"error": message}, 403)
    methods = _METHODS.get(control_of(request))
    if methods is None:
        return control_answer({"error": f"no endpoint; there are {', '.join(_METHODS)}"}, 404)
    if request.method not in methods:
        answer = control_answer({"error": f"expected {' or '.join(methods)}"}, 405)
        return replace(answer, headers=(*answer.headers, ("allow", ", ".join(methods))))
    return None


_ORIGIN = re.compile(r"(?:https?:)?//(?:\[([0-9a-fA-F:.]+)\]|([a-zA-Z0-9.-]+))(?::[0-9]{1,5})?")
"""Nothing but a host and a port: whatever else a URL may have, such as a user name or a path, makes
different parsers find different hosts in it.
"""


def _is_loopback(url: str) -> bool:
    """Return whether the host of an origin, or of `//` and a Host header, is this machine.

    >>> [_is_loopback(each) for each in ("//localhost:80", "http://[::1]", "//localhost#evil")]
    [True, True, False]
    """
    parts = _ORIGIN.fullmatch(url)
    if parts is None:
        return False
    name = (parts[1] or parts[2]).lower()
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def sent_steps(request: Received, name: str) -> list[Step]:
    """Parse the steps of a request for `script` or `faults`. Raises `ConfigurationError`."""
    if request.excess:
        raise ConfigurationError(f"{name}: {request.excess}")
    try:
        body = json.loads(request.body)
    except ValueError as cause:
        raise ConfigurationError(f"{name}: invalid JSON: {cause}") from None
    if isinstance(body, (str, type(None))) and name == "script":
        raise ConfigurationError('script: expected {"steps": [...]} or a list of steps')
    return steps_of([_step(body)] if name == "faults" else body)


def _step(body: Any) -> Mapping[str, Any]:
    """Convert a fault to the step of a script; `times` is that of the step."""
    if not isinstance(body, Mapping):
        return {"fault": body}
    beside = {key: body[key] for key in ("match", "times") if key in body}
    fault = {key: value for key, value in body.items() if key not in beside}
    return {"fault": fault, **beside}


def control_answer(value: Any, status: int = 200) -> Answer:
    """Build a response of a control endpoint."""
    return json_answer(json_bytes(value, indent=2) + b"\n", status)


# --- CORS -----------------------------------------------------------------------------------------


def is_preflight(request: Received) -> bool:
    """Return whether a browser asks what it may send."""
    return request.method == "OPTIONS" and "access-control-request-method" in request.headers


def preflight(request: Received) -> Answer:
    """Allow every request of a browser: keys of an emulator have no value."""
    allowed = request.headers.get("access-control-request-headers") or "*"
    headers = (
        ("access-control-allow-methods", "GET, POST, PUT, PATCH, DELETE, OPTIONS"),
        ("access-control-allow-headers", allowed),
        ("access-control-max-age", "600"),
    )
    return with_cors(Answer(204, headers, (b"",)), request)


def with_cors(answer: Answer, request: Received) -> Answer:
    """Return the response with headers that let a page of any origin read it."""
    origin = request.headers.get("origin")
    if not origin:
        return answer
    headers = (
        ("access-control-allow-origin", origin),
        ("access-control-expose-headers", "*"),
        ("vary", "origin"),
    )
    return replace(answer, headers=(*answer.headers, *headers))
