"""Messages of a client of Live: read, and refused in the server's words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from wire.catalogue.facts import is_in
from wire.core.errors import RuleError, Violation
from wire.gemini.lifetimes import is_shut_down
from wire.gemini.live.types import ClientMessage
from wire.gemini.rules import error_response, parsed
from wire.testing.emulator.routes import Route
from wire.testing.emulator.sessions import Close
from wire.testing.emulator.vendor import Settings
from wire.testing.emulator.vendors.gemini.refusals import refusal, refused, rule_refusal

INVALID = "Request contains an invalid argument."
"""The words for what Google's servers say nothing else about."""
_CODES = {400: 1007, 401: 1008, 403: 1008, 404: 1008}
"""Status of an error -> code of the close that tells it in a session."""
_INTERNAL = 1011
_METHOD = "bidiGenerateContent"
_MODEL = re.compile(r"models/(?P<name>[^/]+)")
_VERTEX_MODEL = re.compile(
    r"(?P<parent>(?:projects/[^/]+/locations/[^/]+/)?)publishers/google/models/(?P<name>[^/]+)"
)
_OF_SESSIONS = ("responseModalities", "speechConfig", "enableAffectiveDialog")
"""Settings of a generation that a request for a text does not have."""


def closed(status: int, error: Mapping[str, Any]) -> Close:
    """Return the close that tells an error of a status."""
    return Close(_CODES.get(status, _INTERNAL), str(error.get("message") or "").strip())


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads the messages of one session."""

    settings: Settings
    route: Route
    check: Callable[[bytes, str, Route], None]
    """Raises `Refusal` for a generateContent request that a rule refuses."""

    def message(self, data: bytes) -> dict[str, Any]:
        """Return a message in one spelling. Raises `Refusal`."""
        try:
            value = json.loads(data)
            if not isinstance(value, dict):
                raise TypeError("not an object")
            plain, found = parsed(value, ClientMessage, self.route.host, self.route.version)
        except (TypeError, ValueError, RecursionError, RuleError):
            words = "Invalid JSON payload received. Unable to parse the body."
            found, plain = [Violation("", words, words=words, layer="parser")], {}
        answer = None if self.settings.lenient and plain else error_response(found)
        if answer is not None:
            raise refused(answer[1], found[0].rule)
        if len(plain) != 1:
            raise refusal(400, INVALID)
        return plain

    def setup(self, setup: dict[str, Any]) -> Route:
        """Return the route of requests for the model of a session. Raises `Refusal`."""
        host, name = self.route.host, str(setup.get("model") or "")
        if not name:
            raise refusal(400, INVALID)
        found = (_VERTEX_MODEL if host == "vertex" else _MODEL).fullmatch(name)
        model = name.rpartition("/")[2] if found is None else found["name"]
        lives = is_in("gemini.talks", model) and not is_shut_down(model, self.settings.date)
        if found is None or not (lives or self.settings.lenient):
            shown = name if host == "vertex" else model
            version = self.route.version
            raise rule_refusal("G72", host, model=shown, version=version, method=_METHOD)
        parent = found.groupdict().get("parent", "")
        route = Route("generateContent", host, self.route.version, model, parent)
        if not self.settings.lenient:
            _check_modality(setup)
            question = {"role": "user", "parts": [{"text": "."}]}
            asked = {"contents": [question], **as_request(setup)}
            self.check(json.dumps(asked).encode(), model, route)
        return route


def as_request(setup: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a setup says in the fields of generateContent."""
    config = {
        key: value
        for key, value in (setup.get("generationConfig") or {}).items()
        if key not in _OF_SESSIONS
    }
    kept = ("systemInstruction", "tools", "safetySettings")
    request: dict[str, Any] = {key: setup[key] for key in kept if setup.get(key)}
    return request | ({"generationConfig": config} if config else {})


def with_thoughts(request: dict[str, Any]) -> dict[str, Any]:
    """Return a request that gets thoughts unless it says otherwise: models of Live send them."""
    config = request.get("generationConfig") or {}
    thinking = {"includeThoughts": True, **(config.get("thinkingConfig") or {})}
    return {**request, "generationConfig": {**config, "thinkingConfig": thinking}}


def modality(setup: Mapping[str, Any]) -> str:
    """Return what a session answers with: `AUDIO`, the default, or `TEXT`."""
    config = setup.get("generationConfig") or {}
    return str((config.get("responseModalities") or ["AUDIO"])[0])


def _check_modality(setup: Mapping[str, Any]) -> None:
    config = setup.get("generationConfig") or {}
    asked = config.get("responseModalities") or []
    if len(asked) > 1 or any(each not in ("AUDIO", "TEXT") for each in asked):
        raise refusal(400, INVALID)
    if config.get("speechConfig") and modality(setup) == "TEXT":
        raise refusal(400, "Cannot extract voices from a non-audio request.")
