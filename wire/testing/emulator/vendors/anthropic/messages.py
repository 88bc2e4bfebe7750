"""Messages: from a request to a prompt, and to a response."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from wire.anthropic.families import family, thinks_unasked
from wire.anthropic.fold import fold
from wire.anthropic.received import parse_request
from wire.anthropic.replies import events_of
from wire.anthropic.rules import check
from wire.anthropic.types import ContentBlock, CountTokensRequest, MessageRequest, Thinking
from wire.core.decoders import decoder
from wire.core.provider import Provider
from wire.neutral.messages import Reply
from wire.testing.emulator.answer import Answer, json_answer, json_bytes
from wire.testing.emulator.model import Prompt, pieces, thinking_of
from wire.testing.emulator.vendor import Settings
from wire.testing.emulator.vendors.anthropic import catalog, errors
from wire.testing.emulator.vendors.anthropic.keys import unknown_keys
from wire.testing.emulator.vendors.anthropic.prompts import prompt_tokens
from wire.testing.emulator.vendors.anthropic.responses import MessageWriter, event_stream
from wire.testing.emulator.vendors.anthropic.thoughts import ThoughtSignatures

R = TypeVar("R", MessageRequest, CountTokensRequest)

MAX_BODY_BYTES = 32 << 20
_LEVELS = {"xhigh": "HIGH", "max": "HIGH"}
# The server's words for the types of msgspec's messages.
_TYPE_WORDS = {
    "str": "a valid string",
    "int": "a valid integer",
    "float": "a valid number",
    "bool": "a valid boolean",
    "array": "a valid list",
    "object": "a valid dictionary",
}


@dataclass(frozen=True, slots=True)
class Generation:
    """A request for a message that was not refused."""

    prompt: Prompt
    writer: MessageWriter

    @property
    def model(self) -> str:
        """The name of the requested model."""
        return self.writer.request.model

    def render(self, reply: Reply, id: str, hops: int) -> Answer:
        """Render the reply of the small model as a response."""
        return self._answer(self.writer.message(reply, id))

    def render_body(self, body: dict[str, Any], id: str) -> Answer:
        """Render a script's message; a stream sends it as events."""
        return self._answer(self.writer.with_ids(body, id))

    def render_events(self, events: Sequence[Any], id: str) -> Answer:
        """Render a script's events; without a stream, the message that they make."""
        message = fold([msgspec.Raw(msgspec.json.encode(each)) for each in events])
        combined = json.loads(message.raw or msgspec.json.encode(message))
        # Signatures of the script are accepted later on whether the response streams or not.
        with_ids = self.writer.with_ids(combined, id)
        return event_stream(events) if self.writer.request.stream else self._answer(with_ids)

    def _answer(self, message: Mapping[str, Any]) -> Answer:
        if self.writer.request.stream:
            return event_stream(events_of(message, pieces))
        return json_answer(json_bytes(message))


# --- requests -------------------------------------------------------------------------------------


def decoded(
    body: bytes, kind: type[R], host: Provider | None, settings: Settings, version: str | None = ""
) -> R:
    """Decode a body, and check it by the rules of a host; `None` stands for an unknown one.

    `version` is the version of the API that the request asks for.

    Raises `Refusal`.
    """
    if len(body) > MAX_BODY_BYTES:
        raise errors.refusal(413, "Request exceeds the maximum allowed number of bytes.")
    try:
        request: R = decoder(kind).decode(body)
        json.loads(body)  # the rules read the plain body: Python refuses numbers of 4,300 digits
    except msgspec.ValidationError as cause:
        raise errors.refusal(400, _type_message(str(cause))) from None
    except (msgspec.DecodeError, ValueError, RecursionError) as cause:
        raise errors.refusal(400, f"The request body is not valid JSON: {cause}") from None
    if not settings.lenient:
        _check(request, body, host, version or "", warnings_too=settings.warnings_too)
    return request


def _check(
    request: MessageRequest | CountTokensRequest,
    body: bytes,
    host: Provider | None,
    version: str,
    *,
    warnings_too: bool,
) -> None:
    official, plain = is_official(host), json.loads(body)
    counts = isinstance(request, CountTokensRequest)
    endpoint = "count_tokens" if counts else "messages"
    if plain.get("thread") is not None:
        raise errors.no_threads()
    if official and not catalog.is_known(request.model):
        raise errors.refusal(404, f"model: {request.model}")
    for path in unknown_keys(plain, endpoint) if official else ():
        raise errors.refusal(400, f"{path}: Extra inputs are not permitted")
    for each in check(body, provider=host or "", endpoint=endpoint, version=version):
        # The catalog has judged the model itself (A41).
        if each.rule != "A41" and (warnings_too or each.severity == "error"):
            raise errors.refusal(each.status, each.words or each.message, each.rule)
    maximum = catalog.max_prompt_tokens(request.model)
    if official and not counts and (tokens := prompt_tokens(plain)) > maximum:
        raise errors.refusal(400, f"prompt is too long: {tokens} tokens > {maximum} maximum")


def is_official(host: Provider | None) -> bool:
    """Return whether a host is Anthropic's own.

    It knows no other models and keys, and signs thoughts.
    """
    return host is not None and host.name == "anthropic"


def _type_message(problem: str) -> str:
    """Return the server's message for a value of a wrong type, from msgspec's message."""
    problem, _, path = problem.partition(" - at `$")
    path = path.strip("`.").replace("[...]", "").replace("[", ".").replace("]", "")
    name = problem.partition("required field `")[2].rstrip("`")
    if name:
        return f"{path}.{name}: Field required" if path else f"{name}: Field required"
    if path.endswith(".input_schema"):
        return (
            f"{path.removesuffix('input_schema')}custom.input_schema: Input does not match "
            "the expected shape."
        )
    kind = problem.removeprefix("Expected `").partition("`")[0].partition(" | ")[0]
    message = f"Input should be {_TYPE_WORDS[kind]}" if kind in _TYPE_WORDS else problem
    return f"{path}: {message}" if path else message


def check_thoughts(request: MessageRequest, signatures: ThoughtSignatures) -> None:
    """Raise `Refusal` for a thought whose signature belongs to another text or family."""
    for index, message in enumerate(request.messages):
        for position, block in enumerate(_blocks(message.content)):
            if block.type == "thinking" and not signatures.valid(
                block.signature or "", family_name(request.model), block.thinking or ""
            ):
                path = f"messages.{index}.content.{position}"
                raise errors.refusal(400, f"{path}: Invalid `signature` in `thinking` block")


def thinks(request: MessageRequest) -> bool:
    """Return whether thinking is on."""
    kind = (request.thinking or Thinking()).type
    return thinks_unasked(family(request.model)) if kind is None else kind != "disabled"


def family_name(model: str) -> str:
    """Return the family of a model with its version."""
    of = family(model)
    return f"{of.name} {of.version}"


def prompt_of(request: MessageRequest, body: bytes) -> Prompt:
    """Return a request as the small model reads it."""
    received = parse_request(body)
    effort = request.output_config and request.output_config.effort
    budget = request.thinking and request.thinking.budget_tokens
    spent = thinking_of(_LEVELS.get(effort, effort) if effort else None, budget or None)
    spent = spent if thinks(request) else 0
    return Prompt(received.request, spent, received.parallel, beside=True)


def _blocks(content: Any) -> Sequence[ContentBlock]:
    return () if isinstance(content, str) else content or ()
