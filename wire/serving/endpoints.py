"""The endpoints of the vendors that the gateway serves, one row each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec

from wire.catalogue.catalogue import Model
from wire.neutral.messages import Media, Other, Part, ServerToolCall, ServerToolResult
from wire.neutral.serving import ReceivedRequest, ReplyWriter, ResponseHead
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route


class Parse(Protocol):
    """Converts the body of a client's request to a neutral request."""

    def __call__(
        self, body: bytes, *, provider: str = "", model: str = "", counts: bool = False
    ) -> ReceivedRequest:
        """Parse a body; with `counts`, it asks for a number of tokens."""
        ...


class Api(msgspec.Struct, frozen=True):
    """One API that clients speak."""

    wire: str
    """Its name in `wire.wires.WIRES`."""
    parse: Parse
    writer: Callable[[ReceivedRequest, ResponseHead], ReplyWriter]
    id_prefix: str = ""
    """The prefix of the ids of responses."""
    call_prefix: str = "call_"
    """The prefix of the ids of tool calls."""
    misses: tuple[type[Part], ...] = (Media, ServerToolCall, ServerToolResult, Other)
    """Parts that its responses do not have."""
    takes: Callable[[Media], bool] = lambda media: False
    """Media that they have all the same."""
    features: str = ""
    """The header that switches features of its server on."""
    request_id: str = ""
    """The header with the id of the request."""


def _gemini() -> Api:
    from wire.gemini.parse_request import parse_request
    from wire.gemini.render_reply import ReplyWriter as Writer

    return Api("gemini", parse_request, Writer, misses=(ServerToolCall, ServerToolResult, Other))


def _chat() -> Api:
    from wire.openai.chat.parse_request import parse_request
    from wire.openai.chat.render_reply import ReplyWriter as Writer
    from wire.openai.chat.render_reply import takes

    id = "x-request-id"
    return Api("openai", parse_request, Writer, "chatcmpl-", takes=takes, request_id=id)


def _responses() -> Api:
    from wire.openai.responses.parse_request import parse_request
    from wire.openai.responses.render_reply import ReplyWriter as Writer
    from wire.openai.responses.render_reply import takes

    id = "x-request-id"
    return Api("openai.responses", parse_request, Writer, "resp_", takes=takes, request_id=id)


def _anthropic() -> Api:
    from wire.anthropic.parse_request import parse_request
    from wire.anthropic.render_reply import ReplyWriter as Writer

    id, features = "request-id", "anthropic-beta"
    return Api(
        "anthropic", parse_request, Writer, "msg_", "toolu_", features=features, request_id=id
    )


GENERATING: Mapping[str, Callable[[], Api]] = {
    "generateContent": _gemini,
    "streamGenerateContent": _gemini,
    "chat.completions": _chat,
    "responses": _responses,
    "messages": _anthropic,
}
"""Endpoints of vendors that ask for output of a model."""


class Counting(msgspec.Struct, frozen=True):
    """An endpoint that counts the tokens of a prompt."""

    api: Callable[[], Api]
    body: Callable[[int], dict[str, Any]]


COUNTING: Mapping[str, Counting] = {
    "countTokens": Counting(_gemini, lambda tokens: {"totalTokens": tokens}),
    "messages.count_tokens": Counting(_anthropic, lambda tokens: {"input_tokens": tokens}),
    "responses.input_tokens": Counting(
        _responses, lambda tokens: {"object": "response.input_tokens", "input_tokens": tokens}
    ),
}


# --- models ---------------------------------------------------------------------------------------

_CREATED = 1_767_225_600
"""2026-01-01; clients expect a date, and the backend's is not known."""


Described = tuple[dict[str, Any], dict[str, Any]]
"""The description of the model, and the list of it."""


def gemini_models(id: str, facts: Model) -> Described:
    """Describe the model as `GET /v1beta/models/NAME` and `GET /v1beta/models`."""
    described = {
        "name": f"models/{id}",
        "displayName": id,
        "version": "1",
        "inputTokenLimit": facts.context_window,
        "outputTokenLimit": facts.longest_output,
        "supportedGenerationMethods": ["generateContent", "countTokens"],
    }
    described = {key: value for key, value in described.items() if value is not None}
    return described, {"models": [described]}


def openai_models(id: str, facts: Model) -> Described:
    """Describe the model as `GET /v1/models/NAME` and `GET /v1/models`."""
    described = {"id": id, "object": "model", "created": _CREATED, "owned_by": facts.provider}
    return described, {"object": "list", "data": [described]}


def anthropic_models(id: str, facts: Model) -> Described:
    """Describe the model as `GET /v1/models/NAME` and `GET /v1/models` with Anthropic's headers."""
    described = {
        "type": "model",
        "id": id,
        "display_name": id,
        "created_at": "2026-01-01T00:00:00Z",
        "max_input_tokens": facts.context_window,
        "max_tokens": facts.longest_output,
    }
    return described, {"data": [described], "has_more": False, "first_id": id, "last_id": id}


MODELS: Mapping[str, Callable[[str, Model], Described]] = {
    "list": gemini_models,
    "get": gemini_models,
    "chat.models": openai_models,
    "messages.models": anthropic_models,
}
SERVED = frozenset({*GENERATING, *COUNTING, *MODELS})
"""The endpoints that the gateway has."""


def wants_array(request: Received, route: Route) -> bool:
    """Return whether the client wants a stream of Gemini as one JSON array."""
    return route.endpoint == "streamGenerateContent" and request.query.get("alt") != "sse"
