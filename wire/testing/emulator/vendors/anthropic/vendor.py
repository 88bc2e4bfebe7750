"""Anthropic's server, and the Messages endpoints of other hosts."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from typing import Any

from wire.anthropic.types import CountTokensRequest, MessageRequest
from wire.testing.emulator.answer import Answer, json_answer, json_bytes
from wire.testing.emulator.keys import is_wrong
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route, match, paths
from wire.testing.emulator.vendor import Failure, Settings
from wire.testing.emulator.vendors.anthropic import catalog, errors
from wire.testing.emulator.vendors.anthropic.messages import (
    Generation,
    check_thoughts,
    decoded,
    family_name,
    thinks,
    wish_of,
)
from wire.testing.emulator.vendors.anthropic.prompts import PromptCache, prompt_tokens
from wire.testing.emulator.vendors.anthropic.responses import MessageWriter, frame
from wire.testing.emulator.vendors.anthropic.thoughts import ThoughtSignatures

# Hosts that serve Messages beside their own API put them under one of these.
_PREFIX = r"/(?:anthropic|api/anthropic|apps/anthropic|coding|api)"
_PATHS = paths(
    ("anthropic", r"/v1/messages", {"POST": "messages"}),
    ("anthropic", r"/v1/messages/count_tokens", {"POST": "messages.count_tokens"}),
    ("other", rf"{_PREFIX}/v1/messages", {"POST": "messages"}),
    ("other", rf"{_PREFIX}/v1/messages/count_tokens", {"POST": "messages.count_tokens"}),
    ("anthropic", r"/v1/models(?:/(?P<name>[^/:]+))?", {"GET": "messages.models"}),
)
# Any day is accepted as a version, since Anthropic lists none.
_VERSION = re.compile(r"20\d\d-\d\d-\d\d")


class Anthropic:
    """The server of Messages."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._cache, self._signatures = PromptCache(), ThoughtSignatures(settings.seed)

    # --- routes and keys --------------------------------------------------------------------------

    def route(self, request: Received) -> Route | None:
        """The endpoint of a request, if it is one of Messages."""
        return match(_PATHS, request, frozenset({"messages"}))

    def recognises(self, request: Received) -> bool:
        """Anthropic's clients send `anthropic-version` and `x-api-key`."""
        return "anthropic-version" in request.headers or "x-api-key" in request.headers

    def no_endpoint(self, request: Received, route: Route | None) -> Answer:
        """404 or 405 in the usual envelope."""
        failure = Failure(404, "Not found") if route is None else Failure(405, "Method Not Allowed")
        return errors.error_answer(failure)

    def authorise(self, request: Received, route: Route) -> None:
        """Raise `Refusal` for a missing or wrong key or version."""
        key = request.headers.get("x-api-key") or ""
        if not (key or request.bearer):
            raise errors.no_key()
        if is_wrong(key or request.bearer):
            raise errors.bad_key(bearer=not key)
        version = request.headers.get("anthropic-version") or ""
        # Other hosts do not require the header.
        if route.host == "anthropic" and not _VERSION.fullmatch(version):
            raise errors.bad_version(version)

    # --- endpoints --------------------------------------------------------------------------------

    def read(self, request: Received, route: Route) -> Generation:
        """Read a request for a message. Raises `Refusal`."""
        body = decoded(request.body, MessageRequest, route.host, self._settings)
        # Other hosts do not sign thoughts.
        signatures = self._signatures if route.host == "anthropic" else None
        if signatures is not None and not self._settings.lenient:
            check_thoughts(body, signatures)
        writer = MessageWriter(
            body,
            thinks(body),
            family_name(body.model),
            json.loads(request.body),
            self._cache,
            signatures,
        )
        return Generation(wish_of(body), writer)

    def serve(self, request: Received, route: Route) -> Answer:
        """Answer for token counts and models."""
        if route.endpoint == "messages.count_tokens":
            decoded(request.body, CountTokensRequest, route.host, self._settings)
            value = {"input_tokens": prompt_tokens(json.loads(request.body))}
        elif not route.name:
            value = catalog.listed(request.query)
        elif self._settings.lenient or catalog.is_known(route.name):
            value = catalog.description(route.name)
        else:
            raise errors.unknown_model(route.name)
        return json_answer(json_bytes(value))

    # --- responses --------------------------------------------------------------------------------

    def body_answer(self, value: Any, status: int) -> Answer:
        """A response with a script's JSON value."""
        return json_answer(json_bytes(value), status)

    def error(self, failure: Failure) -> dict[str, Any]:
        """The error object, in a stream as elsewhere."""
        return errors.error(failure)

    def error_answer(self, failure: Failure) -> Answer:
        """The error response."""
        return errors.error_answer(failure)

    def error_event(self, failure: Failure) -> bytes:
        """The error as an event."""
        return frame(json.dumps(errors.error(failure)).encode(), "error")

    def frame(self, data: bytes) -> bytes:
        """One event with the name of a delta."""
        return frame(data, "content_block_delta")

    def finish(self, answer: Answer, request: Received, route: Route | None) -> Answer:
        """Add the id of the request, to the headers and to the body of an error."""
        digest = hashlib.sha256(f"{request.number} ".encode() + request.body).hexdigest()
        id = f"req_01{digest[:22]}"
        answer = replace(answer, headers=(*answer.headers, ("request-id", id)))
        if answer.status < 400 or not answer.whole:
            return answer
        body = json.loads(answer.body)
        if not isinstance(body, dict) or body.get("type") != "error":
            return answer  # of a script
        return replace(answer, pieces=(json_bytes({"request_id": id, **body}),))
