"""OpenAI's server: chat completions, Responses, embeddings, files, batches, models.

It plays every host of these.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from wire.core.provider import Provider
from wire.testing.emulator.answer import Answer
from wire.testing.emulator.hosts import prefix_pattern, row_of
from wire.testing.emulator.keys import is_wrong
from wire.testing.emulator.prefixes import Prefixes
from wire.testing.emulator.quota import limit_states
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route, match, paths
from wire.testing.emulator.vendor import Failure, Generation, Settings
from wire.testing.emulator.vendors.openai import catalog, errors
from wire.testing.emulator.vendors.openai.batches import Batches
from wire.testing.emulator.vendors.openai.chat import (
    CREATED,
    body_answer,
    decoded,
    frame,
    generation_of,
)
from wire.testing.emulator.vendors.openai.embeddings import embed
from wire.testing.emulator.vendors.openai.files import Files
from wire.testing.emulator.vendors.openai.prompt_cache import PromptCache
from wire.testing.emulator.vendors.openai.responses.endpoints import ENDPOINTS, Responses
from wire.testing.emulator.vendors.openai.responses.errors import (
    error_event,
    refusals_of,
    reshaped,
)
from wire.testing.emulator.vendors.openai.responses.hosts import Host, host_of

_PREFIX = prefix_pattern("openai")
_RESPONSES_PREFIX = prefix_pattern("openai.responses")
_RESPONSES = rf"{_RESPONSES_PREFIX}/responses"
_STORED = rf"{_RESPONSES}/(?P<name>[^/]+)"
_CONVERSATIONS = rf"{_RESPONSES_PREFIX}/conversations"
_ITEMS = rf"{_CONVERSATIONS}/(?P<parent>[^/]+)/items"
_PATHS = paths(
    ("openai", rf"{_PREFIX}/chat/completions", {"POST": "chat.completions"}),
    ("openai", rf"{_PREFIX}/embeddings", {"POST": "chat.embeddings"}),
    ("openai", rf"{_PREFIX}/files", {"GET": "files.list", "POST": "files.upload"}),
    (
        "openai",
        rf"{_PREFIX}/files/(?P<name>[^/]+)",
        {"GET": "files.get", "DELETE": "files.delete"},
    ),
    ("openai", rf"{_PREFIX}/files/(?P<name>[^/]+)/content", {"GET": "files.content"}),
    ("openai", rf"{_PREFIX}/batches", {"GET": "batches.list", "POST": "batches.create"}),
    ("openai", rf"{_PREFIX}/batches/(?P<name>[^/]+)", {"GET": "batches.get"}),
    ("openai", rf"{_PREFIX}/batches/(?P<name>[^/]+)/cancel", {"POST": "batches.cancel"}),
    ("openai", rf"{_PREFIX}/models(?:/(?P<name>.+))?", {"GET": "chat.models"}),
    ("openai", _RESPONSES, {"POST": "responses"}),
    ("openai", rf"{_RESPONSES}/input_tokens", {"POST": "responses.input_tokens"}),
    ("openai", rf"{_RESPONSES}/compact", {"POST": "responses.compact"}),
    ("openai", _STORED, {"GET": "responses.get", "DELETE": "responses.delete"}),
    ("openai", rf"{_STORED}/cancel", {"POST": "responses.cancel"}),
    ("openai", rf"{_STORED}/input_items", {"GET": "responses.input_items"}),
    ("openai", _CONVERSATIONS, {"POST": "conversations.create"}),
    (
        "openai",
        rf"{_CONVERSATIONS}/(?P<name>[^/]+)",
        {
            "GET": "conversations.get",
            "POST": "conversations.update",
            "DELETE": "conversations.delete",
        },
    ),
    ("openai", _ITEMS, {"GET": "conversations.items.list", "POST": "conversations.items.create"}),
    (
        "openai",
        rf"{_ITEMS}/(?P<name>[^/]+)",
        {"GET": "conversations.items.get", "DELETE": "conversations.items.delete"},
    ),
)
_LIMITS = (("requests", 10_000), ("tokens", 200_000))
GENERATING = frozenset({"chat.completions", "responses"})


class OpenAI:
    """The server of chat completions and of Responses."""

    wires = ("openai", "openai.responses")

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._files = Files(settings.storage)
        self._batches = Batches(self._files, settings.respond, settings.storage)
        self._cache = PromptCache(Prefixes(settings.clock))
        self._responses = Responses(settings, self._cache)

    # --- routes and keys --------------------------------------------------------------------------

    def route(self, request: Received) -> Route | None:
        """Return the endpoint of a request, if it is one of OpenAI's."""
        return match(_PATHS, request, GENERATING)

    def recognises(self, request: Received) -> bool:
        """Return whether a request has the header `Authorization`, or Azure's `api-key`."""
        return not request.headers.keys().isdisjoint(("authorization", "api-key"))

    def no_endpoint(self, request: Received, route: Route | None) -> Answer:
        """Return 404 or 405 in the usual envelope."""
        if route is None:
            return errors.unknown_path(request.method, request.path)
        return errors.unknown_method(request.method, request.path)

    def authorise(self, request: Received, route: Route) -> None:
        """Raise `Refusal` for a missing or wrong key."""
        host = self._host(request, route)
        key = request.bearer or request.headers.get("api-key", "")
        with refusals_of(self._responses_host(request, route)):
            if not key and (host is None or host.key_required):
                raise errors.no_key()
            if is_wrong(key):
                raise errors.bad_key()

    def _host(self, request: Received, route: Route) -> Provider | None:
        wire = "openai.responses" if route.endpoint in ENDPOINTS else "openai"
        return row_of(request, route, wire, self._settings.provider)

    def _responses_host(self, request: Received | None, route: Route | None) -> Host:
        """Return the host of a request for Responses; OpenAI's own for any other."""
        if request is None or route is None or route.endpoint not in ENDPOINTS:
            return Host()
        return host_of(request, self._host(request, route))

    # --- endpoints --------------------------------------------------------------------------------

    def read(self, request: Received, route: Route) -> Generation:
        """Read a request for a chat completion or a response. Raises `Refusal`."""
        host = self._host(request, route)
        if route.endpoint == "responses":
            responses_host = self._responses_host(request, route)
            with refusals_of(responses_host):
                return self._responses.read(request, responses_host, host)
        body = decoded(request.body, host, self._settings)
        return generation_of(request, body, host, self._cache)

    def serve(self, request: Received, route: Route) -> Answer:
        """Answer for embeddings, files, batches, models and what Responses store."""
        if route.endpoint in ENDPOINTS:
            host = self._responses_host(request, route)
            with refusals_of(host):
                return self._responses.serve(request, route, host)
        match route.endpoint:
            case "chat.embeddings":
                return embed(request)
            case "files.upload":
                return self._files.upload(request)
            case "files.list":
                return self._files.listed(request)
            case "files.get":
                return self._files.get(route.name)
            case "files.content":
                return self._files.content(route.name)
            case "files.delete":
                return self._files.delete(route.name)
            case "batches.create":
                return self._batches.create(request)
            case "batches.list":
                return self._batches.listed(request)
            case "batches.get":
                return self._batches.get(route.name)
            case "batches.cancel":
                return self._batches.cancel(route.name)
        return models_answer(route.name, catalog.listed(self._settings.date), "wire")

    # --- responses --------------------------------------------------------------------------------

    def body_answer(self, value: Any, status: int) -> Answer:
        """Return a response with a script's JSON value."""
        return body_answer(value, status)

    def error(self, failure: Failure) -> dict[str, Any]:
        """Return the error object, in a stream as elsewhere."""
        return errors.error(failure)

    def error_answer(self, failure: Failure) -> Answer:
        """Return the error response."""
        host = self._responses_host(failure.request, failure.route)
        return reshaped(errors.error_answer(failure), host)

    def storage_full(self) -> Answer:
        """Return the quota error, which clients do not retry."""
        return errors.storage_full()

    def error_event(self, failure: Failure) -> bytes:
        """Encode the error as an event."""
        if failure.route is not None and failure.route.endpoint in ENDPOINTS:
            return error_event(failure, self._responses_host(failure.request, failure.route))
        return frame(json.dumps(errors.error(failure)).encode())

    def frame(self, data: bytes) -> bytes:
        """Encode one event."""
        return frame(data)

    def finish(self, answer: Answer, request: Received, route: Route | None) -> Answer:
        """Add the id of the request, and what is left of the rate limits."""
        digest = hashlib.sha256(f"{request.number} ".encode() + request.body).hexdigest()
        headers = [("x-request-id", f"req_{digest[:32]}"), ("openai-processing-ms", "1")]
        if route is not None and route.generates:
            for each in limit_states(self._settings.meter, _LIMITS, answer.status, CREATED):
                headers += [
                    (f"x-ratelimit-limit-{each.unit}", str(each.limit)),
                    (f"x-ratelimit-remaining-{each.unit}", str(each.remaining)),
                    (f"x-ratelimit-reset-{each.unit}", errors.duration(each.seconds)),
                ]
        return replace(answer, headers=(*answer.headers, *headers))


def models_answer(name: str, names: Sequence[str], owner: str) -> Answer:
    """Return one model, or the list of all."""
    if name:
        return body_answer(_description(name, owner), 200)
    return body_answer(
        {"object": "list", "data": [_description(each, owner) for each in names]}, 200
    )


def _description(name: str, owner: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": CREATED, "owned_by": owner}
