"""Ollama's server: chats, continuations, embeddings and the models on its disk."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, TypeVar

import msgspec

from wire.core.decoders import decoder
from wire.core.errors import RuleError
from wire.core.memory import WireStruct
from wire.core.provider import Provider
from wire.neutral.messages import Message
from wire.neutral.request import Request
from wire.ollama.loading import loaded
from wire.ollama.parse import WIRE
from wire.ollama.received import parse_request
from wire.ollama.replies import RUNNING, VERSION
from wire.ollama.rules import check
from wire.ollama.types import ChatRequest, EmbedRequest, GenerateRequest
from wire.testing.emulator.answer import Answer, json_answer, json_bytes
from wire.testing.emulator.embeddings import vector
from wire.testing.emulator.hosts import prefix_pattern, row_of
from wire.testing.emulator.keys import is_wrong
from wire.testing.emulator.model import Prompt, thinking_of
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route, match, paths, served
from wire.testing.emulator.tables import table
from wire.testing.emulator.tokens import count
from wire.testing.emulator.vendor import Failure, Settings
from wire.testing.emulator.vendors.ollama import errors
from wire.testing.emulator.vendors.ollama.answers import Generation, lines
from wire.testing.emulator.vendors.ollama.models import (
    PULLED,
    SHIPPED,
    LocalModel,
    digest_of,
    full_name,
    listed,
    shown,
)

R = TypeVar("R", bound=WireStruct)

_PATHS = paths(*table(__file__, "routes"), prefix=prefix_pattern(WIRE))
_GENERATING = frozenset({"ollama.chat", "ollama.generate"})
_WINDOW = 4096
"""Tokens of the window of a model that is loaded without `num_ctx`."""
_LONG = "the input length exceeds the context length"
_DROPPED_IN_SILENCE = "L2"
"""The rule of options that the server does not refuse."""
_DIMENSIONS = 768
_PULLED_BYTES = 5_000_000_000


class Ollama:
    """The server of Ollama."""

    wires = (WIRE,)
    error = staticmethod(errors.error)
    no_endpoint = staticmethod(errors.no_endpoint)
    error_answer = staticmethod(errors.error_answer)
    error_event = staticmethod(errors.error_line)

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._resources = {"ollama": self}
        self._models = dict(SHIPPED)
        self._loaded: dict[str, int] = {}  # name -> window

    # --- routes and keys --------------------------------------------------------------------------

    def route(self, request: Received) -> Route | None:
        """Return the endpoint of a request, if it is one of Ollama.

        The root of a host belongs to all vendors: only Ollama's clients ask for it.
        """
        if request.path == "/" and not self.recognises(request):
            return None
        return match(_PATHS, request, _GENERATING)

    def recognises(self, request: Received) -> bool:
        """Return whether one of Ollama's own clients sent a request."""
        return request.headers.get("user-agent", "").startswith("ollama")

    def authorise(self, request: Received, route: Route) -> None:
        """Raise `Refusal` for a wrong key. A local server needs none."""
        if is_wrong(request.bearer):
            raise errors.refusal(401, "unauthorized")

    def _host(self, request: Received, route: Route) -> Provider | None:
        return row_of(request, route, WIRE, self._settings.provider)

    # --- answers ----------------------------------------------------------------------------------

    def read(self, request: Received, route: Route) -> Generation:
        """Read a request for an answer. Raises `Refusal`."""
        generates = route.endpoint == "ollama.generate"
        plain = _plain(request.body)
        model = self._model(plain)
        sent: Any = _decoded(request.body, GenerateRequest if generates else ChatRequest)
        self._check(plain, self._host(request, route), model)
        unasked = loaded(plain, "prompt" if generates else "messages")
        asked = _generated(sent) if generates else _received(request.body)
        asked, tokens = self._fitted(asked, sent, model)
        thinks = "thinking" in model.capabilities and sent.think is not False
        spent = thinking_of(sent.think if isinstance(sent.think, str) else None, None)
        prompt = Prompt(asked, spent if thinks else 0)
        if unasked is not None and unasked["done_reason"] == "unload":
            self._loaded.pop(full_name(sent.model), None)
        else:
            self._loaded[full_name(sent.model)] = _window(sent, model)
        streams = sent.stream is not False
        return Generation(sent.model, prompt, tokens, streams, generates, unasked)

    def _fitted(self, asked: Request, sent: Any, model: LocalModel) -> tuple[Request, int]:
        """Return the request with the messages that fit the window, and their tokens.

        Messages at the front are dropped in silence, unless the request forbids it.
        """
        window = _window(sent, model)
        messages = list(asked.messages)
        while (tokens := sum(map(_tokens, messages))) > window and not self._settings.lenient:
            if sent.truncate is False:
                raise errors.refusal(400, _LONG)
            first = next((at for at, each in enumerate(messages[:-1]) if not each.instructs), None)
            if first is None:
                break
            del messages[first]
            while len(messages) > 1 and messages[first].role == "tool":
                del messages[first]
        if len(messages) == len(asked.messages):
            return asked, tokens
        return msgspec.structs.replace(asked, messages=tuple(messages)), tokens

    def _model(self, plain: dict[str, Any]) -> LocalModel:
        name = plain.get("model")
        if not isinstance(name, str) or not name:
            raise errors.refusal(400, "model is required", "L1")
        found = self._models.get(full_name(name))
        if found is None and not self._settings.lenient:
            raise errors.refusal(404, f"model '{name}' not found")
        return found or PULLED

    def _check(self, plain: dict[str, Any], host: Provider | None, model: LocalModel) -> None:
        if self._settings.lenient:
            return
        for each in check(plain, "", host or "", known=model.facts):
            if each.rule == _DROPPED_IN_SILENCE:
                continue
            if self._settings.warnings_too or each.severity == "error":
                raise errors.refusal(each.status, each.words or each.message, each.rule)

    # --- other endpoints --------------------------------------------------------------------------

    def serve(self, request: Received, route: Route) -> Answer:
        """Answer for embeddings and models."""
        return served(self._resources, request, route)

    def embed(self, request: Received, route: Route) -> Answer:
        """Return the vectors of texts."""
        plain = _plain(request.body)
        model = self._model(plain)
        self._check(plain, self._host(request, route), model)
        sent = _decoded(request.body, EmbedRequest)
        if "embedding" not in model.capabilities and not self._settings.lenient:
            raise errors.refusal(400, f'"{sent.model}" does not support embeddings')
        texts = [sent.input] if isinstance(sent.input, str) else sent.input or []
        sizes = list(map(count, texts))
        if sent.truncate is False and any(each > model.window for each in sizes):
            raise errors.refusal(400, _LONG)
        size = sent.dimensions or _DIMENSIONS
        if not 0 < size < _DIMENSIONS:  # the server cuts vectors and never makes longer ones
            size = _DIMENSIONS
        body = {
            "model": sent.model,
            "embeddings": [vector(text, size) for text in texts],
            "total_duration": 1,
            "load_duration": 1,
            "prompt_eval_count": sum(sizes),
        }
        return self.body_answer(body, 200)

    def tags(self, request: Received, route: Route) -> Answer:
        """List the models on the disk."""
        models = [listed(name, each) for name, each in self._models.items()]
        return self.body_answer({"models": models}, 200)

    def ps(self, request: Received, route: Route) -> Answer:
        """List the models that are loaded."""
        models = [
            {
                **listed(name, self._models.get(name, PULLED)),
                "expires_at": "2026-01-01T00:05:00Z",
                "size_vram": 5_000_000_000,
                "context_length": window,
            }
            for name, window in self._loaded.items()
        ]
        return self.body_answer({"models": models}, 200)

    def show(self, request: Received, route: Route) -> Answer:
        """Describe a model."""
        return self.body_answer(shown(self._model(_named(request.body))), 200)

    def pull(self, request: Received, route: Route) -> Answer:
        """Download a model, which is there at once."""
        plain = _named(request.body)
        name = plain.get("model")
        if not isinstance(name, str) or not name:
            raise errors.refusal(400, "model is required")
        self._models.setdefault(full_name(name), PULLED)
        digest = f"sha256:{digest_of(name)}"
        part = {"status": f"pulling {digest[7:19]}", "digest": digest, "total": _PULLED_BYTES}
        progress = [
            {"status": "pulling manifest"},
            {**part, "completed": _PULLED_BYTES // 2},
            {**part, "completed": _PULLED_BYTES},
            {"status": "writing manifest"},
            {"status": "success"},
        ]
        if plain.get("stream") is False:
            return self.body_answer(progress[-1], 200)
        return lines(progress)

    def remove(self, request: Received, route: Route) -> Answer:
        """Delete a model."""
        plain = _named(request.body)
        self._model(plain)
        self._models.pop(full_name(plain["model"]), None)
        return Answer(200, (), (b"",))

    def version(self, request: Received, route: Route) -> Answer:
        """Return the version of the server."""
        return self.body_answer({"version": VERSION}, 200)

    def running(self, request: Received, route: Route) -> Answer:
        """Say that the server is there, as its clients ask before anything else."""
        return Answer(200, (("content-type", "text/plain; charset=utf-8"),), (RUNNING,))

    # --- responses --------------------------------------------------------------------------------

    def body_answer(self, value: Any, status: int) -> Answer:
        """Return a response with a script's JSON value."""
        return json_answer(json_bytes(value), status, content_type=errors.JSON)

    def storage_full(self) -> Answer:
        """Return the error of a server without room on its disk."""
        return errors.error_answer(Failure(500, "no space left on device"))

    def used_up(self, failure: Failure) -> Answer:
        """Return the error of an account whose quota is used up."""
        message = "you've reached your usage limit, upgrade for more"
        return errors.error_answer(replace(failure, status=429, message=message))

    def frame(self, data: bytes) -> bytes:
        """Encode one line."""
        return data + b"\n"

    def finish(self, answer: Answer, request: Received, route: Route | None) -> Answer:
        """Return the response: the server adds nothing."""
        return answer


def _plain(body: bytes) -> dict[str, Any]:
    if not body.strip():
        raise errors.refusal(400, "missing request body")
    try:
        plain = json.loads(body)
    except (ValueError, RecursionError) as cause:
        raise errors.refusal(400, f"invalid JSON: {cause}") from None
    if not isinstance(plain, dict):
        raise errors.refusal(400, "json: cannot unmarshal the body into Go value of type object")
    return plain


def _named(body: bytes) -> dict[str, Any]:
    """Return a body about a model on the disk: older clients, and the one for JavaScript, send the
    model as `name`.
    """
    plain = _plain(body)
    return {**plain, "model": plain.get("model") or plain.get("name")}


def _decoded(body: bytes, kind: type[R]) -> R:
    """Decode a body. Raises `Refusal` with the server's words for a value of a wrong type."""
    try:
        request: R = decoder(kind).decode(body)
    except msgspec.ValidationError as cause:
        problem, _, path = str(cause).partition(" - at `$.")
        found = problem.partition("got `")[2].partition("`")[0] or "value"
        words = f"json: cannot unmarshal {found} into Go struct field {path.strip('`') or 'body'}"
        raise errors.refusal(400, words) from None
    except (msgspec.DecodeError, ValueError, RecursionError) as cause:
        raise errors.refusal(400, str(cause)) from None
    return request


def _received(body: bytes) -> Request:
    """Return a request of /api/chat as the small model reads it."""
    try:
        return parse_request(body).request
    except RuleError as error:
        raise errors.refusal(400, error.message) from None


def _generated(sent: GenerateRequest) -> Request:
    """Return a request of /api/generate as the small model reads it."""
    messages = [Message.system(sent.system)] if sent.system else []
    most = sent.options.num_predict if sent.options is not None else None
    return Request(
        messages=(*messages, Message.user(sent.prompt or " ")),
        max_tokens=most if most is not None and most > 0 else None,
    )


def _window(sent: Any, model: LocalModel) -> int:
    given = sent.options.num_ctx if sent.options is not None else None
    return min(given or _WINDOW, model.window)


def _tokens(message: Message) -> int:
    texts = [message.text, *(str(each.content) for each in message.tool_results)]
    return sum(map(count, texts)) + 258 * len(message.media)
