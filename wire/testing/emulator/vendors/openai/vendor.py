"""OpenAI's server: chat completions, embeddings, models. It plays every host of these."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from wire.testing.emulator.answer import Answer
from wire.testing.emulator.keys import is_wrong
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route, match, paths
from wire.testing.emulator.vendor import Failure, Settings
from wire.testing.emulator.vendors.openai import errors
from wire.testing.emulator.vendors.openai.chat import (
    CREATED,
    Generation,
    body_answer,
    decoded,
    frame,
    wish_of,
)
from wire.testing.emulator.vendors.openai.embeddings import embed

_PATHS = paths(
    ("openai", r"/(?:(?P<version>v1)/)?chat/completions", {"POST": "chat.completions"}),
    ("openai", r"/(?P<version>v1)/embeddings", {"POST": "chat.embeddings"}),
    ("openai", r"/(?P<version>v1)/models(?:/(?P<name>[^/:]+))?", {"GET": "chat.models"}),
)
GENERATING = frozenset({"chat.completions"})
_MODELS = ("gpt-5.4", "gpt-5.4-mini")


class OpenAI:
    """The server of chat completions."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    # --- routes and keys --------------------------------------------------------------------------

    def route(self, request: Received) -> Route | None:
        """The endpoint of a request, if it is one of OpenAI's."""
        return match(_PATHS, request, GENERATING)

    def recognises(self, request: Received) -> bool:
        """OpenAI's clients send `Authorization`."""
        return "authorization" in request.headers

    def no_endpoint(self, request: Received, route: Route | None) -> Answer:
        """404 or 405 in the usual envelope."""
        if route is None:
            return errors.unknown_path(request.method, request.path)
        return errors.unknown_method(request.method, request.path)

    def authorise(self, request: Received, route: Route) -> None:
        """Raise `Refusal` for a missing or wrong key."""
        if not request.bearer:
            raise errors.no_key()
        if is_wrong(request.bearer):
            raise errors.bad_key()

    # --- endpoints --------------------------------------------------------------------------------

    def read(self, request: Received, route: Route) -> Generation:
        """Read a request for a chat completion. Raises `Refusal`."""
        body = decoded(request.body, "", self._settings)
        return Generation(body, wish_of(body), body.model or "")

    def serve(self, request: Received, route: Route) -> Answer:
        """Answer for embeddings and models."""
        if route.endpoint == "chat.embeddings":
            return embed(request)
        return models_answer(route.name, _MODELS, "wire")

    # --- responses --------------------------------------------------------------------------------

    def body_answer(self, value: Any, status: int) -> Answer:
        """A response with a script's JSON value."""
        return body_answer(value, status)

    def error(self, failure: Failure) -> dict[str, Any]:
        """The error object, in a stream as elsewhere."""
        return errors.error(failure)

    def error_answer(self, failure: Failure) -> Answer:
        """The error response."""
        return errors.error_answer(failure)

    def error_event(self, failure: Failure) -> bytes:
        """The error as an event."""
        return frame(json.dumps(errors.error(failure)).encode())

    def frame(self, data: bytes) -> bytes:
        """One event."""
        return frame(data)

    def finish(self, answer: Answer, request: Received, route: Route | None) -> Answer:
        """OpenAI adds nothing."""
        return answer


def models_answer(name: str, names: Sequence[str], owner: str) -> Answer:
    """One model, or the list of all."""
    if name:
        return body_answer(_description(name, owner), 200)
    return body_answer(
        {"object": "list", "data": [_description(each, owner) for each in names]}, 200
    )


def _description(name: str, owner: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": CREATED, "owned_by": owner}
