"""Anthropic's server, and the Messages endpoints of other hosts."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from wire.anthropic.types import CountTokensRequest, MessageRequest
from wire.core.provider import Provider
from wire.testing.emulator.answer import Answer, json_answer, json_bytes
from wire.testing.emulator.hosts import prefix_pattern, row_of
from wire.testing.emulator.keys import is_wrong
from wire.testing.emulator.moments import CREATED
from wire.testing.emulator.prefixes import Prefixes
from wire.testing.emulator.quota import limit_states
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route, match, paths, served
from wire.testing.emulator.tables import table
from wire.testing.emulator.vendor import Failure, Settings
from wire.testing.emulator.vendors.anthropic import catalog, errors, messages
from wire.testing.emulator.vendors.anthropic.batches import Batches
from wire.testing.emulator.vendors.anthropic.compaction import check_beta
from wire.testing.emulator.vendors.anthropic.files import Files
from wire.testing.emulator.vendors.anthropic.prompts import PromptCache, prompt_tokens
from wire.testing.emulator.vendors.anthropic.responses import MessageWriter, frame
from wire.testing.emulator.vendors.anthropic.thoughts import ThoughtSignatures

_PATHS = paths(
    *table(__file__, "routes"), prefix=prefix_pattern("anthropic"), name="(?P<name>[^/]+)"
)
_LIMITS = (
    ("requests", 4_000),
    ("tokens", 2_400_000),
    ("input_tokens", 2_000_000),
    ("output_tokens", 400_000),
)
# Any day is accepted as a version, since Anthropic lists none.
_VERSION = re.compile(r"20\d\d-\d\d-\d\d")


class Anthropic:
    """The server of Messages."""

    wires = ("anthropic",)
    error = staticmethod(errors.error)
    no_endpoint = staticmethod(errors.no_endpoint)
    error_answer = staticmethod(errors.error_answer)

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._cache = PromptCache(Prefixes(settings.clock))
        self._signatures = ThoughtSignatures(settings.seed)
        self._resources = {
            "messages": self,
            "messages.batches": Batches(settings),
            "files": Files(settings),
        }

    # --- routes and keys --------------------------------------------------------------------------

    def route(self, request: Received) -> Route | None:
        """Return the endpoint of a request, if it is one of Messages."""
        return match(_PATHS, request, frozenset({"messages"}))

    def recognises(self, request: Received) -> bool:
        """Return whether a request has the headers `anthropic-version` or `x-api-key`."""
        return "anthropic-version" in request.headers or "x-api-key" in request.headers

    def authorise(self, request: Received, route: Route) -> None:
        """Raise `Refusal` for a missing or wrong key or version."""
        host = self._host(request, route)
        key = request.headers.get("x-api-key") or ""
        given = key or request.bearer
        if is_wrong(given) or (not given and (host is None or host.key_required)):
            raise errors.bad_key(key, request.bearer)
        version = request.headers.get("anthropic-version") or ""
        # Other hosts do not require the header.
        if messages.is_official(host) and not _VERSION.fullmatch(version):
            problem = f'"{version}" is not a valid version' if version else "header is required"
            raise errors.refusal(400, f"anthropic-version: {problem}")

    def _host(self, request: Received, route: Route) -> Provider | None:
        return row_of(request, route, "anthropic", self._settings.provider)

    # --- endpoints --------------------------------------------------------------------------------

    def read(self, request: Received, route: Route) -> messages.Generation:
        """Read a request for a message. Raises `Refusal`."""
        host = self._host(request, route)
        version = request.headers.get("anthropic-version")
        body = messages.decoded(request.body, MessageRequest, host, self._settings, version)
        # Other hosts do not sign thoughts.
        signatures = self._signatures if messages.is_official(host) else None
        if signatures is not None and not self._settings.lenient:
            messages.check_thoughts(body, signatures)
        thinks, family = messages.thinks(body), messages.family_name(body.model)
        plain = json.loads(request.body)
        if signatures is not None:
            check_beta(plain, request.headers.get("anthropic-beta") or "")
        writer = MessageWriter(body, thinks, family, plain, self._cache, signatures)
        return messages.Generation(messages.prompt_of(body, request.body), writer)

    def serve(self, request: Received, route: Route) -> Answer:
        """Answer for token counts, models, batches and files."""
        return served(self._resources, request, route)

    def count_tokens(self, request: Received, route: Route) -> Answer:
        """Count the tokens of a prompt."""
        messages.decoded(
            request.body, CountTokensRequest, self._host(request, route), self._settings
        )
        return self.body_answer({"input_tokens": prompt_tokens(json.loads(request.body))}, 200)

    def models(self, request: Received, route: Route) -> Answer:
        """Return one model, or a page of all."""
        if not route.name:
            return self.body_answer(catalog.listed(request.query, self._settings.date), 200)
        if self._settings.lenient or catalog.is_known(route.name):
            return self.body_answer(catalog.description(route.name), 200)
        raise errors.refusal(404, f"model: {route.name}")

    # --- responses --------------------------------------------------------------------------------

    def body_answer(self, value: Any, status: int) -> Answer:
        """Return a response with a script's JSON value."""
        return json_answer(json_bytes(value), status)

    def storage_full(self) -> Answer:
        """Return the error of an organization whose storage is full."""
        return errors.error_answer(Failure(403, "Storage limit exceeded."))

    def used_up(self, failure: Failure) -> Answer:
        """Return the error of an account without credit."""
        message = "Your credit balance is too low to access the Anthropic API."
        return errors.error_answer(replace(failure, status=400, message=message))

    def error_event(self, failure: Failure) -> bytes:
        """Encode the error as an event."""
        return frame(json.dumps(errors.error(failure)).encode(), "error")

    def frame(self, data: bytes) -> bytes:
        """Encode one event with the name of a delta."""
        return frame(data, "content_block_delta")

    def finish(self, answer: Answer, request: Received, route: Route | None) -> Answer:
        """Add the id of the request, also to the body of an error, and the rate limits."""
        id = f"req_01{request.digest[:22]}"
        headers = [("request-id", id)]
        if route is not None and route.generates:
            for each in limit_states(self._settings.meter, _LIMITS, answer.status, CREATED):
                name = f"anthropic-ratelimit-{each.unit.replace('_', '-')}"
                headers += [
                    (f"{name}-limit", str(each.limit)),
                    (f"{name}-remaining", str(each.remaining)),
                    (f"{name}-reset", _rfc_3339(each.moment)),
                ]
        answer = replace(answer, headers=(*answer.headers, *headers))
        if answer.status < 400 or not answer.whole:
            return answer
        body = json.loads(answer.body)
        if not isinstance(body, dict) or body.get("type") != "error":
            return answer  # of a script
        return replace(answer, pieces=(json_bytes({"request_id": id, **body}),))


def _rfc_3339(moment: float) -> str:
    return datetime.fromtimestamp(math.ceil(moment), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
