"""Google's server of Interactions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec

from wire.core.decoders import decoder
from wire.core.errors import RuleError
from wire.gemini.interactions.parse import WIRE
from wire.gemini.interactions.received import parse_request
from wire.gemini.interactions.rules import SKIP, check
from wire.gemini.interactions.types import InteractionRequest
from wire.testing.emulator.answer import Answer, json_answer, json_bytes
from wire.testing.emulator.model import Prompt, thinking_of
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route, match, paths, served
from wire.testing.emulator.storage import Remembered
from wire.testing.emulator.tables import table
from wire.testing.emulator.vendor import Failure, Settings
from wire.testing.emulator.vendors.gemini import refusals
from wire.testing.emulator.vendors.gemini.catalog import traits
from wire.testing.emulator.vendors.gemini.vendor import PARENT, VERSION, Gemini
from wire.testing.emulator.vendors.interactions import errors
from wire.testing.emulator.vendors.interactions.answers import (
    Generation,
    Thoughts,
    event_stream,
    numbered_events,
)
from wire.testing.emulator.vendors.interactions.continuation import Continuations
from wire.testing.emulator.vendors.interactions.resources import (
    AGENTS,
    ENVIRONMENTS,
    TRIGGERS,
    WEBHOOKS,
    Resources,
)
from wire.testing.emulator.vendors.interactions.stored import Stored, StoredInteractions

_GROUPS = {"name": "(?P<name>[^/:]+)", "parent": f"(?P<parent>{PARENT})"}
_PATHS = paths(*table(__file__, "routes"), version=VERSION, **_GROUPS)
_GENERATING = frozenset({"interactions"})
_AGENTS = ("deep-research", "antigravity", "code-mender")


class Interactions:
    """The server of Interactions."""

    wires = (WIRE,)
    error = staticmethod(errors.error)
    no_endpoint = staticmethod(refusals.no_endpoint)
    error_answer = staticmethod(errors.error_answer)
    error_event = staticmethod(errors.error_event)

    def __init__(self, settings: Settings) -> None:
        self._settings, self._gemini = settings, Gemini(settings)
        self._stored = StoredInteractions(settings.storage)
        self._thoughts = Thoughts(settings.seed, Remembered())
        self._continuations = Continuations()
        kinds = (AGENTS, ENVIRONMENTS, TRIGGERS, WEBHOOKS)
        self._shelves = {kind.key: Resources(settings, kind) for kind in kinds}
        self._resources: dict[str, Any] = {"interactions": self, **self._shelves}

    # --- routes and keys --------------------------------------------------------------------------

    def route(self, request: Received) -> Route | None:
        """Return the endpoint of a request, if it is one of Interactions."""
        return match(_PATHS, request, _GENERATING)

    def recognises(self, request: Received) -> bool:
        """Return whether a request has the path of an interaction."""
        return self.route(request) is not None

    def authorise(self, request: Received, route: Route) -> None:
        """Raise `Refusal` for a missing or wrong key, in the form of generateContent."""
        self._gemini.authorise(request, route)

    # --- endpoints --------------------------------------------------------------------------------

    def read(self, request: Received, route: Route) -> Generation:
        """Read a request for an interaction. Raises `Refusal`."""
        plain = _plain(request.body)
        self._check(plain)
        input, before = _steps_of(plain.get("input")), list[Any]()
        if previous := plain.get("previous_interaction_id"):
            before = self._lookup(str(previous)).timeline
        steps = [*before, *input]
        if not self._settings.lenient:
            for index, step in enumerate(input):
                self._check_thought(step, index)

        def keep(body: dict[str, Any]) -> None:
            if plain.get("store") is not False:
                timeline = [*steps, *(body.get("steps") or ())]
                waits = bool(plain.get("background")) and not plain.get("stream")
                self._stored.keep(body, timeline, background=waits)

        continues = self._continuations.rest(plain) is not None
        prompt = _prompt_of({**plain, "input": steps}, continues=continues)
        return Generation(prompt, plain, steps, self._thoughts, keep, self._continuations)

    def _check(self, plain: Mapping[str, Any]) -> None:
        """Raise `Refusal` for what a rule forbids, and for an unknown model or agent."""
        if self._settings.lenient:
            return
        for each in check(plain):
            if self._settings.warnings_too or each.severity == "error":
                raise errors.refusal(400, each.words or each.message, each.rule)
        model, agent = plain.get("model"), plain.get("agent")
        own = str(agent) in self._shelves[AGENTS.key]
        if agent and not own and not str(agent).startswith(_AGENTS):
            raise errors.refusal(404, f"Agent '{agent}' not found.")
        name = str(model or "").removeprefix("models/")
        if model and traits(name, host="gemini", date=self._settings.date) is None:
            raise errors.refusal(404, f"Model '{model}' not found.", code="model_not_found")

    def _check_thought(self, step: Any, index: int) -> None:
        """Raise `Refusal` for a thought that does not come back as it was sent."""
        if not isinstance(step, Mapping) or step.get("type") != "thought":
            return
        if step.get("signature") != SKIP and not self._thoughts.is_valid(step):
            message = f"Invalid thought signature at 'input[{index}]'."
            raise errors.refusal(400, message, "I10")

    def serve(self, request: Received, route: Route) -> Answer:
        """Answer for stored interactions."""
        return served(self._resources, request, route)

    def get(self, request: Received, route: Route) -> Answer:
        """Return a stored interaction with its input, or the stream of its events."""
        stored = self._lookup(route.name)
        if request.query.get("stream") == "true":
            stored.left = 0
            after = request.query.get("last_event_id") or ""
            return event_stream(numbered_events(stored.body, after))
        if stored.left:
            stored.left -= 1
            kept = ("id", "object", "model", "agent", "created", "updated", "service_tier")
            body = {key: each for key, each in stored.body.items() if key in kept}
            return self.body_answer({**body, "status": "in_progress"}, 200)
        return self.body_answer({**stored.body, "steps": stored.timeline}, 200)

    def cancel(self, request: Received, route: Route) -> Answer:
        """Cancel an interaction that runs in the background."""
        stored = self._lookup(route.name)
        stored.cancel()
        return self.body_answer(stored.body, 200)

    def delete(self, request: Received, route: Route) -> Answer:
        """Forget an interaction."""
        self._lookup(route.name)
        self._stored.remove(route.name)
        return self.body_answer({}, 200)

    def _lookup(self, name: str) -> Stored:
        stored = self._stored.get(name)
        if stored is None:
            raise errors.not_found(name)
        return stored

    # --- responses --------------------------------------------------------------------------------

    def body_answer(self, value: Any, status: int) -> Answer:
        """Return a response with a script's JSON value."""
        return json_answer(json_bytes(value), status)

    def storage_full(self) -> Answer:
        """Return the error of a project whose storage is used up."""
        return errors.error_answer(Failure(429, "Quota exceeded.", "quota_exceeded"))

    def used_up(self, failure: Failure) -> Answer:
        """Return the error of a project whose credits are used up."""
        message = "The credits of this project are used up."
        failed = replace(failure, status=402, message=message, code="payment_required")
        return errors.error_answer(failed)

    def frame(self, data: bytes) -> bytes:
        """Encode one event with these data."""
        return b"event: step.delta\ndata: " + data + b"\n\n"

    def finish(self, answer: Answer, request: Received, route: Route | None) -> Answer:
        """Return the answer as it is."""
        return answer


def _plain(body: bytes) -> dict[str, Any]:
    """Decode a body. Raises `Refusal` for one that is no request."""
    try:
        decoder(InteractionRequest).decode(body)
        plain = json.loads(body)
    except msgspec.ValidationError as cause:
        problem, _, path = str(cause).partition(" - at `$")
        where = path.strip("`.") or "request"
        raise errors.refusal(400, f"Invalid value at '{where}': {problem}.", "I4") from None
    except (ValueError, RecursionError) as cause:
        raise errors.refusal(400, f"Invalid JSON payload received. {cause}") from None
    if not isinstance(plain, dict):
        raise errors.refusal(400, "Invalid JSON payload received.")
    return plain


def _steps_of(given: Any) -> list[Any]:
    """Return the input as steps: a text or contents are one turn of the user."""
    if isinstance(given, str):
        return [{"type": "user_input", "content": [{"type": "text", "text": given}]}]
    if isinstance(given, Mapping):
        return [{"type": "user_input", "content": [given]}]
    steps = list(given or ())
    kinds = ("text", "image", "audio", "document", "video")
    if steps and all(isinstance(each, Mapping) and each.get("type") in kinds for each in steps):
        return [{"type": "user_input", "content": steps}]
    return steps


_NOT_READ = ("agent", "agent_config", "continuation_token")


def _prompt_of(plain: Mapping[str, Any], *, continues: bool) -> Prompt:
    """Return a request as the small model reads it."""
    given = {key: value for key, value in plain.items() if key not in _NOT_READ}
    try:
        received = parse_request(json_bytes(given))
    except RuleError as error:
        raise errors.refusal(400, error.message) from None
    config = plain.get("generation_config") or {}
    spent = thinking_of(config.get("thinking_level"), None)
    return Prompt(received.request, spent, beside=True, continues=continues)
