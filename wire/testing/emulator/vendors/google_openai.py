"""Google's endpoints of chat completions: OpenAI's format with Gemini's models.

Calls carry Gemini's signatures in `extra_content`, errors are Google's, in a list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from wire.openai.chat.types import ChatCompletionRequest, Message, ToolCall
from wire.testing.emulator.answer import Answer
from wire.testing.emulator.keys import is_wrong
from wire.testing.emulator.model import thinking_of
from wire.testing.emulator.received import Received
from wire.testing.emulator.routes import Route, match, paths
from wire.testing.emulator.vendor import Settings
from wire.testing.emulator.vendors.gemini import refusals
from wire.testing.emulator.vendors.gemini.catalog import listed
from wire.testing.emulator.vendors.gemini.signatures import Signatures, Step
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
    error_answer = staticmethod(refusals.error_answer)

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
        turn = _steps(body)
        if not self._settings.lenient:
            refusals.check_signatures(turn, model, "gemini", self._signatures)

        def signature(name: str, position: int) -> dict[str, Any]:
            if position or model.signs != "last":
                return {}
            signed = self._signatures.of_call(model, name, len(turn))
            return {"extra_content": {"google": {"thought_signature": signed}}}

        thinking = thinking_of(None, None) if model.thinks else 0
        host = PROVIDERS["gemini@openai"]
        more = {"model": model.name, "call_extra": signature}
        return generation_of(request, body, host, self._cache, thinking, **more)

    def models(self, request: Received, route: Route) -> Answer:
        """Return one model, or the list of all."""
        names = [each.name for each in listed(self._settings.date)]
        return models_answer(route.name, names, "google")

    def finish(self, answer: Answer, request: Received, route: Route | None) -> Answer:
        """Wrap an error object in a list."""
        body = answer.body.strip()
        if answer.status == 200 or not body.startswith(b"{"):
            return answer
        return replace(answer, pieces=(b"[" + body + b"]\n",))


def _steps(request: ChatCompletionRequest) -> list[Step]:
    """List the steps of the current turn with the signatures of their calls.

    The turn begins after the last message of the user. As in Gemini's Contents, adjacent messages
    of the assistant count as one, and so do adjacent results.
    """
    groups: list[list[Message]] = []
    for message in request.messages:
        if message.role in ("system", "developer"):
            continue
        if groups and message.role == groups[-1][0].role and message.role in ("assistant", "tool"):
            groups[-1].append(message)
        else:
            groups.append([message])
    begin = max(
        (i for i, group in enumerate(groups) if group[0].role not in ("assistant", "tool")),
        default=-1,
    )
    turn: list[Step] = []
    for index in range(begin + 1, len(groups)):
        calls = tuple(_signed_call(each) for message in groups[index] for each in _calls(message))
        if calls:
            turn.append(Step(index, len(turn), calls))
    return turn


def _calls(message: Message) -> Sequence[ToolCall]:
    calls = message.tool_calls or () if message.role == "assistant" else ()
    return [call for call in calls if call.function is not None and call.function.name]


def _signed_call(call: ToolCall) -> tuple[str, str | None]:
    google = (call.extra_content or {}).get("google") or {}
    name = (call.function and call.function.name) or ""
    return name, google.get("thought_signature")
