"""The endpoints of the vendors that the gateway serves, one row each."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from wire.catalogue.catalogue import Model
from wire.core.lenient import plain
from wire.neutral.messages import Media, Other, Part, ServerToolCall, ServerToolResult
from wire.neutral.serving import encoded
from wire.testing.emulator.answer import Answer, json_answer
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route
from wire.wires.contract import WIRES, Wire
from wire.wires.served import EMBEDDING


class Api(msgspec.Struct, frozen=True):
    """One API that clients speak."""

    wire: str
    """Its name in `wire.wires.WIRES`."""
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
    events: str = "text/event-stream; charset=utf-8"
    """The content type of its streams."""

    side: Any = None
    """What reads the requests of clients and writes the replies, if it is not the wire itself."""
    loaded: Callable[[bytes], dict[str, Any] | None] = lambda body: None
    """Returns the answer to a request that asks for no output; `None` for others."""

    @property
    def of(self) -> Wire:
        """What reads the requests of clients, and writes the replies to them."""
        return self.side or WIRES[self.wire]


def _gemini() -> Api:
    return Api("gemini", misses=(ServerToolCall, ServerToolResult, Other))


def _chat() -> Api:
    from wire.openai.chat.replies import takes

    return Api("openai", "chatcmpl-", takes=takes, request_id="x-request-id")


def _responses() -> Api:
    from wire.openai.responses.replies import takes

    return Api("openai.responses", "resp_", takes=takes, request_id="x-request-id")


def _anthropic() -> Api:
    features = "anthropic-beta"
    return Api("anthropic", "msg_", "toolu_", features=features, request_id="request-id")


def _converse() -> Api:
    from wire.converse.replies import takes
    from wire.core.event_stream import CONTENT_TYPE

    id, prefix = "x-amzn-requestid", "tooluse_"
    return Api("converse", "", prefix, takes=takes, request_id=id, events=CONTENT_TYPE)


def _ollama() -> Api:
    from wire.ollama.replies import NDJSON, takes

    loaded = functools.partial(_ollama_loaded, "messages")
    return Api("ollama", takes=takes, events=NDJSON, loaded=loaded)


def _ollama_generate() -> Api:
    from wire.ollama import generated
    from wire.ollama.replies import NDJSON

    loaded = functools.partial(_ollama_loaded, "prompt")
    return Api("ollama", events=NDJSON, side=generated, loaded=loaded)


def _ollama_loaded(key: str, body: bytes) -> dict[str, Any] | None:
    from wire.ollama.loading import loaded

    given = plain(body)
    return loaded(given, key) if isinstance(given, dict) else None


def _interactions() -> Api:
    misses = (ServerToolCall, ServerToolResult, Other)
    return Api("gemini.interactions", "v1_", misses=misses, events="text/event-stream")


GENERATING: Mapping[str, Callable[[], Api]] = {
    "generateContent": _gemini,
    "streamGenerateContent": _gemini,
    "chat.completions": _chat,
    "responses": _responses,
    "messages": _anthropic,
    "converse": _converse,
    "converseStream": _converse,
    "ollama.chat": _ollama,
    "ollama.generate": _ollama_generate,
    "interactions": _interactions,
}
"""Endpoints of vendors that ask for output of a model."""
STREAMING = frozenset({"streamGenerateContent", "converseStream"})
"""Those whose output is always a stream, whatever the body says."""


class Counting(msgspec.Struct, frozen=True):
    """An endpoint that counts the tokens of a prompt."""

    api: Callable[[], Api]
    body: Callable[[int], dict[str, Any]]


COUNTING: Mapping[str, Counting] = {
    "countTokens": Counting(_gemini, lambda tokens: {"totalTokens": tokens}),
    "converse.countTokens": Counting(_converse, lambda tokens: {"inputTokens": tokens}),
    "messages.count_tokens": Counting(_anthropic, lambda tokens: {"input_tokens": tokens}),
    "responses.input_tokens": Counting(
        _responses, lambda tokens: {"object": "response.input_tokens", "input_tokens": tokens}
    ),
}


# --- models ---------------------------------------------------------------------------------------

_CREATED = 1_767_225_600
"""2026-01-01; clients expect a date, and the backend's is not known."""


def _gemini_model(id: str, facts: Model) -> dict[str, Any]:
    described = {
        "name": f"models/{id}",
        "displayName": id,
        "version": "1",
        "inputTokenLimit": facts.context_window,
        "outputTokenLimit": facts.longest_output,
        "supportedGenerationMethods": ["generateContent", "countTokens"],
    }
    return {key: value for key, value in described.items() if value is not None}


def _openai_model(id: str, facts: Model) -> dict[str, Any]:
    return {"id": id, "object": "model", "created": _CREATED, "owned_by": facts.provider}


def _anthropic_model(id: str, facts: Model) -> dict[str, Any]:
    return {
        "type": "model",
        "id": id,
        "display_name": id,
        "created_at": "2026-01-01T00:00:00Z",
        "max_input_tokens": facts.context_window,
        "max_tokens": facts.longest_output,
    }


def _ollama_details(facts: Model) -> dict[str, Any]:
    kind = {"format": "", "family": facts.provider, "families": [facts.provider]}
    return {"parent_model": "", **kind, "parameter_size": "", "quantization_level": ""}


def _ollama_named(id: str, facts: Model) -> dict[str, Any]:
    digest = hashlib.sha256(id.encode()).hexdigest()  # Ollama's command shows the beginning of it
    details = _ollama_details(facts)
    return {"name": id, "model": id, "size": 0, "digest": digest, "details": details}


def _ollama_model(id: str, facts: Model) -> dict[str, Any]:
    return {**_ollama_named(id, facts), "modified_at": "2026-01-01T00:00:00Z"}


def _ollama_running(id: str, facts: Model) -> dict[str, Any]:
    """Describe a model as one that stays loaded."""
    window = facts.context_window or 0
    loaded = {"expires_at": "2100-01-01T00:00:00Z", "size_vram": 0, "context_length": window}
    return {**_ollama_named(id, facts), **loaded}


def _ollama_shown(id: str, facts: Model) -> dict[str, Any]:
    info: dict[str, Any] = {"general.architecture": facts.provider}
    if facts.context_window is not None:
        info[f"{facts.provider}.context_length"] = facts.context_window
    can = {
        "completion": True,
        "tools": facts.tools is not False,
        "vision": "image" in (facts.inputs or ("image",)),
        "thinking": facts.thinks is not False,
    }
    return {
        "license": "",
        "modelfile": "",
        "template": "",
        "details": _ollama_details(facts),
        "model_info": info,
        "capabilities": [name for name, able in can.items() if able],
        "modified_at": "2026-01-01T00:00:00Z",
    }


Listed = list[dict[str, Any]]


def _anthropic_list(models: Listed) -> dict[str, Any]:
    ends = {"first_id": models[0]["id"], "last_id": models[-1]["id"]}
    return {"data": models, "has_more": False, **ends}


class Models(msgspec.Struct, frozen=True):
    """How a vendor describes models."""

    one: Callable[[str, Model], dict[str, Any]]
    """Describes a model, by its name for clients."""
    all: Callable[[Listed], dict[str, Any]]
    """Lists models that are described."""


_GEMINI = Models(_gemini_model, lambda models: {"models": models})
MODELS: Mapping[str, Models] = {
    "list": _GEMINI,
    "get": _GEMINI,
    "chat.models": Models(_openai_model, lambda models: {"object": "list", "data": models}),
    "messages.models": Models(_anthropic_model, _anthropic_list),
    "ollama.tags": Models(_ollama_model, lambda models: {"models": models}),
    "ollama.ps": Models(_ollama_running, lambda models: {"models": models}),
    "ollama.show": Models(_ollama_shown, lambda models: {"models": models}),
}


# --- the rest -------------------------------------------------------------------------------------


def _ollama_version() -> Answer:
    from wire.ollama.replies import VERSION

    return json_answer(encoded({"version": VERSION}))


def _ollama_is_running() -> Answer:
    from wire.ollama.replies import RUNNING

    return Answer(200, (("content-type", "text/plain; charset=utf-8"),), (RUNNING,))


FIXED: Mapping[str, Callable[[], Answer]] = {
    "ollama.version": _ollama_version,
    "ollama.running": _ollama_is_running,
}
"""Endpoints whose answer is always the same."""
SERVED = frozenset({*GENERATING, *COUNTING, *MODELS, *EMBEDDING, *FIXED})
"""The endpoints that the gateway has."""
_NO_DISK = "The gateway has no models on a disk: it serves those that it was started with."
REFUSED: Mapping[str, str] = {"ollama.pull": _NO_DISK, "ollama.remove": _NO_DISK}
"""Endpoints that it does not have for a reason of its own, and the reason."""


def wants_array(request: Received, route: Route) -> bool:
    """Return whether the client wants a stream of Gemini as one JSON array."""
    return route.endpoint == "streamGenerateContent" and request.query.get("alt") != "sse"
