"""OpenAI's server: chat completions, Responses, embeddings, decisions, media, files and batches.

It plays every host of these.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from wire.core.provider import Provider
from wire.openai.common.decisions import shape_of
from wire.openai.common.media_hosts import media_of
from wire.testing.cassette.faults import Fault
from wire.testing.emulator.answer import Answer
from wire.testing.emulator.hosts import prefix_pattern, row_of
from wire.testing.emulator.keys import is_wrong
from wire.testing.emulator.moments import CREATED
from wire.testing.emulator.prefixes import Prefixes
from wire.testing.emulator.quota import limit_states
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route, match, paths, served
from wire.testing.emulator.sessions import Ask, Session
from wire.testing.emulator.tables import table
from wire.testing.emulator.vendor import Failure, Generation, Settings
from wire.testing.emulator.vendors.openai import catalog, errors
from wire.testing.emulator.vendors.openai.batches import Batches
from wire.testing.emulator.vendors.openai.chat import body_answer, decoded, frame, generation_of
from wire.testing.emulator.vendors.openai.decisions import decide, system_one
from wire.testing.emulator.vendors.openai.embeddings import embed
from wire.testing.emulator.vendors.openai.files import Files
from wire.testing.emulator.vendors.openai.media import family_of, images, speech, transcribe
from wire.testing.emulator.vendors.openai.prompt_cache import PromptCache
from wire.testing.emulator.vendors.openai.realtime import MANNERS, RealtimeSession
from wire.testing.emulator.vendors.openai.responses.endpoints import Responses
from wire.testing.emulator.vendors.openai.responses.errors import error_event, refusals_of, reshaped
from wire.testing.emulator.vendors.openai.responses.hosts import Host, is_responses
from wire.testing.emulator.vendors.openai.responses.session import ResponsesSession

_PATHS = paths(
    *table(__file__, "routes"),
    prefix=prefix_pattern("openai"),
    responses=prefix_pattern("openai.responses"),
    name="(?P<name>[^/]+)",
    parent="(?P<parent>[^/]+)",
)
_LIMITS = (("requests", 10_000), ("tokens", 200_000))
GENERATING = frozenset({"chat.completions", "responses"})


class OpenAI:
    """The server of chat completions and of Responses."""

    wires = ("openai", "openai.responses")
    body_answer = staticmethod(body_answer)
    error = staticmethod(errors.error)
    no_endpoint = staticmethod(errors.no_endpoint)
    storage_full = staticmethod(errors.storage_full)
    frame = staticmethod(frame)
    embeddings = staticmethod(embed)

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._cache = PromptCache(Prefixes(settings.clock))
        self._responses = Responses(settings, self._cache)
        files = Files(settings)
        self._resources: dict[str, object] = {
            "": self,
            "chat": self,
            "files": files,
            "batches": Batches(settings, files),
            **self._responses.resources,
        }

    # --- routes and keys --------------------------------------------------------------------------

    def route(self, request: Received) -> Route | None:
        """Return the endpoint of a request, if it is one of OpenAI's."""
        return match(_PATHS, request, GENERATING)

    def recognises(self, request: Received) -> bool:
        """Return whether a request has the header `Authorization`, or Azure's `api-key`."""
        return not request.headers.keys().isdisjoint(("authorization", "api-key"))

    def authorise(self, request: Received, route: Route) -> None:
        """Raise `Refusal` for a missing or wrong key."""
        host = self._host(request, route)
        key = request.bearer or request.headers.get("api-key", "")
        with refusals_of(self._responses_host(request, route)):
            if is_wrong(key) or (not key and (host is None or host.key_required)):
                raise errors.bad_key(key)

    def _host(self, request: Received, route: Route) -> Provider | None:
        if is_responses(route):
            return self._responses.row(request, route)
        # A script answers for a model that OpenAI does not have: that of an unlisted host.
        has = catalog.may_be if self._settings.scripted() else bool
        return row_of(request, route, "openai", self._settings.provider, has)

    def _responses_host(self, request: Received | None, route: Route | None) -> Host:
        """Return the host of a request for Responses; OpenAI's own for any other."""
        if request is None or route is None or not is_responses(route):
            return Host()
        return self._responses.host(request, route)

    # --- endpoints --------------------------------------------------------------------------------

    def read(self, request: Received, route: Route) -> Generation:
        """Read a request for a chat completion or a response. Raises `Refusal`."""
        if is_responses(route):
            with refusals_of(self._responses.host(request, route)):
                return self._responses.read(request, route)
        host = self._host(request, route)
        body = decoded(request.body, host, self._settings)
        return generation_of(request, body, host, self._cache)

    def serve(self, request: Received, route: Route) -> Answer:
        """Answer for embeddings, decisions, files, batches, models and what Responses store."""
        with refusals_of(self._responses_host(request, route)):
            return served(self._resources, request, route)

    def decisions(self, request: Received, route: Route) -> Answer:
        """Answer closed questions, in the shape of the host."""
        host = self._host(request, route)
        shape = "list" if host is None else shape_of(host)
        if not shape:
            return errors.no_endpoint(request, None)
        answer = decide if shape == "list" else system_one
        return answer(request, lenient=self._settings.lenient)

    def systemone(self, request: Received, route: Route) -> Answer:
        """Answer closed questions in the shape of System One.

        OpenAI has no such endpoint: without an address or a name, another host is meant.
        """
        host = row_of(request, route, "openai", self._settings.provider, lambda model: False)
        if host is not None and shape_of(host) != "map":
            return errors.no_endpoint(request, None)
        return system_one(request, lenient=self._settings.lenient)

    def images(self, request: Received, route: Route) -> Answer:
        """Draw images."""
        return self._media("images", images, request, route)

    def edits(self, request: Received, route: Route) -> Answer:
        """Change pictures."""
        return self._media("edits", images, request, route)

    def speech(self, request: Received, route: Route) -> Answer:
        """Speak a text."""
        return self._media("speech", speech, request, route)

    def transcriptions(self, request: Received, route: Route) -> Answer:
        """Write down a sound."""
        return self._media("transcriptions", transcribe, request, route, translates=False)

    def translations(self, request: Received, route: Route) -> Answer:
        """Write down a sound in English."""
        return self._media("translations", transcribe, request, route, translates=True)

    def _media(
        self,
        kind: str,
        make: Callable[..., Answer],
        request: Received,
        route: Route,
        **more: bool,
    ) -> Answer:
        host = self._host(request, route)
        endpoints = media_of("openai" if host is None else host)
        if not request.path.endswith(getattr(endpoints, kind) or "-"):
            return errors.no_endpoint(request, None)
        lenient = self._settings.lenient
        made: Answer = make(request, endpoints, family_of(host), lenient=lenient, **more)
        return made

    def models(self, request: Received, route: Route) -> Answer:
        """Return one model, or the list of all."""
        return models_answer(route.name, catalog.listed(self._settings.date), "wire")

    def session(self, request: Received, route: Route, ask: Ask) -> Session | None:
        """Open a session of Responses or of Realtime. Raises `Refusal`."""
        base, _, last = request.path.rpartition("/")
        if last not in ("responses", "realtime"):
            return None
        self.authorise(request, route)
        if last == "responses":
            return ResponsesSession(request.path, ask, partial(self._event_of, request))
        model = request.query.get("model", "")
        if not model:
            raise errors.refusal(400, "You must provide a model parameter.", param="model")
        host = self._host(request, route)
        last = base.rpartition("/")[2]
        manner = MANNERS.get(last) or MANNERS.get("" if host is None else host.family)
        path = f"{base if last != 'voice-live' else '/openai/v1'}/responses"
        seed = self._settings.seed
        return RealtimeSession(model, path, ask, seed, manner or MANNERS[""])

    def _event_of(self, request: Received, fault: Fault) -> bytes:
        """Return the error of a fault as an event of Responses."""
        asked = replace(request, method="POST")
        route = self.route(asked)
        return self.error_event(
            Failure(fault.status, fault.message, request=asked, route=route, position=fault.after)
        )

    # --- responses --------------------------------------------------------------------------------

    def error_answer(self, failure: Failure) -> Answer:
        """Return the error response."""
        host = self._responses_host(failure.request, failure.route)
        return reshaped(errors.error_answer(failure), host)

    def used_up(self, failure: Failure) -> Answer:
        """Return the error of an account without credit."""
        return reshaped(errors.storage_full(), self._responses_host(failure.request, failure.route))

    def error_event(self, failure: Failure) -> bytes:
        """Encode the error as an event."""
        if failure.route is not None and is_responses(failure.route):
            return error_event(failure, self._responses_host(failure.request, failure.route))
        return frame(json.dumps(errors.error(failure)).encode())

    def finish(self, answer: Answer, request: Received, route: Route | None) -> Answer:
        """Add the id of the request, and what is left of the rate limits."""
        if route is not None and answer.status >= 400 and not is_responses(route):
            answer = errors.shaped(answer, family_of(self._host(request, route)))
        headers = [("x-request-id", f"req_{request.digest[:32]}"), ("openai-processing-ms", "1")]
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
