"""Agents, environments, triggers and webhooks that clients store."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from wire.core.decoders import decoder
from wire.core.memory import WireStruct
from wire.gemini.interactions.types import (
    Agent,
    CreateEnvironmentRequest,
    CreateTriggerRequest,
    CreateWebhookRequest,
)
from wire.testing.emulator.answer import Answer, json_answer, json_bytes
from wire.testing.emulator.moments import timestamp
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route
from wire.testing.emulator.shelves import Shelf
from wire.testing.emulator.signing import digest
from wire.testing.emulator.vendor import Settings
from wire.testing.emulator.vendors.interactions import errors


class Kind(NamedTuple):
    """What clients store."""

    key: str
    """The key of a list."""
    request: type[WireStruct]
    needed: tuple[str, ...]
    made: Mapping[str, Any]
    """What the server adds."""
    changes: tuple[str, ...] = ()
    """What clients may change."""


AGENTS = Kind("agents", Agent, ("base_agent",), {})
ENVIRONMENTS = Kind(
    "environments",
    CreateEnvironmentRequest,
    (),
    {"status": "active", "file_count": 0, "size_bytes": 0, "created": timestamp(0)},
)
TRIGGERS = Kind(
    "triggers",
    CreateTriggerRequest,
    ("interaction", "schedule", "time_zone"),
    {"status": "active", "consecutive_failure_count": 0, "create_time": timestamp(0)},
    ("display_name", "status"),
)
WEBHOOKS = Kind(
    "webhooks",
    CreateWebhookRequest,
    ("uri", "subscribed_events"),
    {"state": "enabled", "create_time": timestamp(0)},
    ("name", "uri", "subscribed_events", "state"),
)
_RUNS = "_runs"
_MOST_RUNS = 100
"""Starts of a trigger that are kept."""


class Resources(Shelf[dict[str, Any]]):
    """The things of one kind."""

    def __init__(self, settings: Settings, kind: Kind) -> None:
        super().__init__(settings)
        self._kind = kind

    def missing(self, name: str) -> Exception:
        """Build the refusal of an id that no thing has."""
        return errors.refusal(404, f"'{self._kind.key}/{name}' not found.")

    def answer(self, value: Any) -> Answer:
        """Return a response."""
        return json_answer(json_bytes(value))

    def page(self, items: Sequence[Mapping[str, Any]], request: Received) -> Any:
        """Return the page of a list that a request asks for: the token is where it begins."""
        given = [request.query.get(name) or "0" for name in ("page_token", "page_size")]
        if not all(each.isdecimal() and len(each) < 20 for each in given):
            raise errors.refusal(400, "Request contains an invalid argument.")
        begin, size = int(given[0]), int(given[1]) or 50
        more = {"next_page_token": str(begin + size)} if begin + size < len(items) else {}
        return {self._kind.key: items[begin : begin + size], **more}

    def create(self, request: Received, route: Route) -> Answer:
        """Store a thing."""
        given = self._read(request.body, self._kind.request)
        for name in self._kind.needed:
            if not given.get(name):
                raise errors.refusal(400, f"Missing required field '{name}'.")
        number = self.take(len(request.body))
        id = str(given.get("id") or digest(f"{self._kind.key} {number}")[:16])
        made = {"id": id, **given, **self._kind.made}
        self.put(id, made, len(request.body))
        return self.answer({**made, **self._secret("new_signing_secret", id)})

    def update(self, request: Received, route: Route) -> Answer:
        """Change a thing."""
        thing = self[route.name]
        given = self._read(request.body, WireStruct)
        thing |= {key: given[key] for key in self._kind.changes if key in given}
        return self.answer(self.describe(thing, request))

    def files(self, request: Received, route: Route) -> Answer:
        """List the files of an environment: it has those of its inline sources."""
        sources = self[route.name].get("sources") or ()
        paths = [str(each.get("target")) for each in sources if isinstance(each, Mapping)]
        files = [{"name": each, "path": each, "type": "file"} for each in paths]
        return self.answer({"files": files})

    def run(self, request: Received, route: Route) -> Answer:
        """Start a trigger, which completes at once."""
        trigger = self[route.name]
        runs = trigger.setdefault(_RUNS, [])
        execution = {
            "id": digest(f"{route.name} {request.number}")[:16],
            "trigger_id": route.name,
            "status": "completed",
            "start_time": timestamp(0),
            "end_time": timestamp(1),
        }
        runs[:] = [*runs, execution][-_MOST_RUNS:]
        return self.answer(execution)

    def executions(self, request: Received, route: Route) -> Answer:
        """List the starts of a trigger, the newest first."""
        runs = self[route.name].get(_RUNS, ())
        return self.answer({"trigger_executions": [*reversed(runs)]})

    def ping(self, request: Received, route: Route) -> Answer:
        """Send nothing anywhere."""
        self[route.name]
        return self.answer({})

    def rotate(self, request: Received, route: Route) -> Answer:
        """Return another key of signatures."""
        self[route.name]
        return self.answer(self._secret("secret", f"{route.name} {self.number}"))

    def describe(self, thing: dict[str, Any], request: Received) -> Any:
        """Describe a thing as the server does."""
        return {key: value for key, value in thing.items() if key != _RUNS}

    def _secret(self, key: str, of: str) -> dict[str, str]:
        return {key: f"whsec_fake_{digest(of)[:16]}"} if self._kind is WEBHOOKS else {}

    def _read(self, body: bytes, kind: type[WireStruct]) -> dict[str, Any]:
        """Decode a body. Raises `Refusal` for one of a wrong type."""
        try:
            decoder(kind).decode(body)
            given: dict[str, Any] = json.loads(body)
        except (msgspec.DecodeError, ValueError, RecursionError) as cause:
            raise errors.refusal(400, f"Invalid JSON payload received. {cause}") from None
        return given
