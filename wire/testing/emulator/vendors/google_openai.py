"""Google's endpoints of chat completions: OpenAI's format with Gemini's models.

Calls carry Gemini's signatures in `extra_content`, errors are Google's, in a list.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from wire.gemini.types import Content, FunctionCall, FunctionResponse, Part
from wire.openai.chat.types import ChatCompletionRequest, Message
from wire.testing.emulator.answer import Answer
from wire.testing.emulator.keys import is_wrong
from wire.testing.emulator.model import thinking_of
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route, match, paths
from wire.testing.emulator.vendor import Failure, Settings
from wire.testing.emulator.vendors.gemini import refusals
from wire.testing.emulator.vendors.gemini.catalog import listed
from wire.testing.emulator.vendors.gemini.signatures import Signatures, steps
from wire.testing.emulator.vendors.gemini.vendor import VERSION
from wire.testing.emulator.vendors.openai.chat import Generation, decoded, generation_of
from wire.testing.emulator.vendors.openai.vendor import GENERATING, OpenAI, models_answer
from wire.wires.providers import PROVIDERS

_PATHS = paths(
    ("google", rf"/{VERSION}/openai/chat/completions", {"POST": "chat.completions"}),
    ("google", rf"/{VERSION}/openai/embeddings", {"POST": "chat.embeddings"}),
    ("google", rf"/{VERSION}/openai/models(?:/(?P<name>.+))?", {"GET": "chat.models"}),
)


class GoogleOpenAI(OpenAI):
    """Google's server of chat completions."""

    no_endpoint = staticmethod(refusals.no_endpoint)

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._signatures = Signatures(settings.seed)

    def route(self, request: Received) -> Route | None:
        """Return the endpoint of a request, if its path is below `/openai/`."""
        return match(_PATHS, request, GENERATING)

    def authorise(self, request: Received, route: Route) -> None:
        """Raise `Refusal` for a missing or wrong key (G73)."""
        key = request.headers.get("x-goog-api-key") or request.query.get("key") or ""
        if not (request.bearer or key):
            raise refusals.stated("no_key gemini")
        if is_wrong(request.bearer or key):
            raise refusals.stated("bad_key")

    def read(self, request: Received, route: Route) -> Generation:
        """Read a request for a chat completion; the turn's calls must be signed (G24, G25)."""
        body = decoded(request.body, PROVIDERS["gemini@openai"], self._settings)
        name = (body.model or "").removeprefix("models/")
        of = replace(route, endpoint="generateContent", host="gemini", name=name)
        model = refusals.model_of(of, self._settings)
        turn = steps([*_contents(body)])
        if not self._settings.lenient:
            refusals.check_signatures(turn, model, "gemini", self._signatures)

        def signature(name: str, position: int) -> dict[str, Any]:
            if position or model.signs != "last":
                return {}
            signed = self._signatures.of_call(model, name, len(turn))
            return {"extra_content": {"google": {"thought_signature": signed}}}

        def remember(bodies: Sequence[Any]) -> None:
            for call, position in _scripted_calls(bodies):
                signed = ((call.get("extra_content") or {}).get("google") or {}).get(
                    "thought_signature"
                )
                if isinstance(signed, str):
                    made = (call.get("function") or {}).get("name", "")
                    self._signatures.remember(signed, made, len(turn), position)

        thinking = thinking_of(None, None) if model.thinks else 0
        host = PROVIDERS["gemini@openai"]
        more = {"model": model.name, "call_extra": signature, "scripted": remember}
        return generation_of(request, body, host, self._cache, thinking, **more)

    def models(self, request: Received, route: Route) -> Answer:
        """Return one model, or the list of all."""
        names = [each.name for each in listed(self._settings.date)]
        return models_answer(route.name, names, "google")

    def error_answer(self, failure: Failure) -> Answer:
        """Return the error response in Google's form; an error within a stream is OpenAI's."""
        return refusals.error_answer(failure)

    def used_up(self, failure: Failure) -> Answer:
        """Return the error of a quota of a day."""
        return refusals.used_up(failure)

    def finish(self, answer: Answer, request: Received, route: Route | None) -> Answer:
        """Wrap an error object in a list."""
        body = answer.body.strip()
        if answer.status == 200 or not body.startswith(b"{"):
            return answer
        return replace(answer, pieces=(b"[" + body + b"]\n",))


def _contents(request: ChatCompletionRequest) -> Iterator[Content]:
    """Yield the messages as Gemini's Contents, as far as they say where a turn begins.

    Adjacent results are one Content.
    """
    last: str | None = ""
    for message in request.messages:
        if message.role in ("system", "developer") or message.role == last == "tool":
            continue
        last = message.role
        if last == "assistant":
            yield Content(role="model", parts=[*_calls(message)])
        else:
            result = FunctionResponse() if last == "tool" else None
            yield Content(role="user", parts=[Part(function_response=result)])


def _calls(message: Message) -> Iterator[Part]:
    for call in message.tool_calls or ():
        if call.function is not None and call.function.name:
            signature = ((call.extra_content or {}).get("google") or {}).get("thought_signature")
            yield Part(
                function_call=FunctionCall(name=call.function.name), thought_signature=signature
            )


def _scripted_calls(bodies: Sequence[Any]) -> Iterator[tuple[dict[str, Any], int]]:
    """Yield the calls of a script's body or chunks, each with its position in the answer."""
    for body in bodies:
        for choice in body.get("choices") or ():
            message = choice.get("message") or choice.get("delta") or {}
            for position, call in enumerate(message.get("tool_calls") or ()):
                yield call, call.get("index", position)
