"""Messages: what a request asks for, and an answer of Claude's, whole or in events."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import msgspec

from wire.anthropic.families import family, thinks_unasked
from wire.anthropic.fold import fold
from wire.anthropic.rules import check
from wire.anthropic.types import ContentBlock, CountTokensRequest, MessageRequest, Thinking
from wire.core.decoders import decoder
from wire.testing.emulator import claude, prompts
from wire.testing.emulator.model import Declared, Said, Wish, thinking_of
from wire.testing.emulator.signatures import Signatures

R = TypeVar("R", MessageRequest, CountTokensRequest)

_STOPS = {"STOP": "end_turn", "MAX_TOKENS": "max_tokens", "SAFETY": "refusal"}
_OWN_STOPS = (
    "pause_turn",
    "refusal",
    "stop_sequence",
    "model_context_window_exceeded",
    "max_tokens",
    "tool_use",
)
_MODES = {"any": "ANY", "tool": "ANY", "none": "NONE"}
_LEVELS = {"xhigh": "HIGH", "max": "HIGH"}
_WANTED = {
    "str": "a valid string",
    "int": "a valid integer",
    "float": "a valid number",
    "bool": "a valid boolean",
    "array": "a valid list",
    "object": "a valid dictionary",
}


# --- requests -------------------------------------------------------------------------------------


def asked(body: bytes, kind: type[R], host: str, *, era: bool, lenient: bool) -> R:
    """The request that a body is. Raises `Refusal` in Anthropic's words."""
    if len(body) > claude.MOST_BYTES:
        raise claude.refusal(413, "Request exceeds the maximum allowed number of bytes.")
    try:
        request: R = decoder(kind).decode(body)
    except msgspec.ValidationError as cause:
        raise claude.refusal(400, _said_of(str(cause))) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as cause:
        raise claude.refusal(400, f"The request body is not valid JSON: {cause}") from None
    if lenient:
        return request
    if host == "anthropic" and not claude.is_known(request.model):
        raise claude.unknown_model(request.model)
    counting = kind is CountTokensRequest
    found = check(
        body,
        provider=host if host == "anthropic" else "",
        endpoint="count_tokens" if counting else "messages",
    )
    broken = [each for each in found if era or each.severity == "error"]
    if broken:
        raise claude.refusal(broken[0].status, broken[0].words or broken[0].message, broken[0].rule)
    most = claude.context(request.model)
    if host == "anthropic" and not counting and (tokens := prompts.length(json.loads(body))) > most:
        raise claude.refusal(400, f"prompt is too long: {tokens} tokens > {most} maximum")
    return request


def _said_of(problem: str) -> str:
    """What is wrong with a type, as the server says it."""
    problem, _, path = problem.partition(" - at `$")
    place = path.strip("`.").replace("[...]", "").replace("[", ".").replace("]", "")
    name = problem.partition("required field `")[2].rstrip("`")
    if name:
        return f"{place}.{name}: Field required" if place else f"{name}: Field required"
    if place.endswith(".input_schema"):
        return (
            f"{place.removesuffix('input_schema')}custom.input_schema: Input does not match "
            "the expected shape."
        )
    kind = problem.removeprefix("Expected `").partition("`")[0].partition(" | ")[0]
    told = f"Input should be {_WANTED[kind]}" if kind in _WANTED else problem
    return f"{place}: {told}" if place else told


def check_thoughts(request: MessageRequest, signatures: Signatures) -> None:
    """Raise `Refusal` for a thought that is not as it was given out: every signature is the one of
    its text, and of its family.
    """
    for index, message in enumerate(request.messages):
        for place, block in enumerate(_blocks(message.content)):
            if block.type == "thinking" and not signatures.knows_thought(
                block.signature or "", _kin(request.model), block.thinking or ""
            ):
                raise claude.refusal(
                    400,
                    f"messages.{index}.content.{place}: Invalid `signature` in `thinking` block",
                )


def thinks(request: MessageRequest) -> bool:
    """Whether thinking is on."""
    kind = (request.thinking or Thinking()).type
    return thinks_unasked(family(request.model)) if kind is None else kind != "disabled"


def wish_of(request: MessageRequest) -> Wish:
    """What a request asks for."""
    config, thinking = request.output_config, request.thinking or Thinking()
    names = {
        block.id: block.name
        for message in request.messages
        for block in _blocks(message.content)
        if block.type == "tool_use"
    }
    spoken = [message for message in request.messages if message.role == "user"]
    asks = (text for message in reversed(spoken) if (text := _text(_blocks(message.content))))
    choice = request.tool_choice
    form = (config and config.format) or request.output_format
    effort = config and config.effort
    return Wish(
        question=next(asks, ""),
        results=[
            (names.get(block.tool_use_id) or "", _result(block)) for block in _answers(request)
        ],
        called=bool(names),
        functions=[
            Declared(tool.name or "", tool.description or "", tool.input_schema)
            for tool in request.tools or ()
            if tool.type in (None, "custom")
            and (choice is None or choice.type != "tool" or choice.name == tool.name)
        ],
        mode=_MODES.get((choice and choice.type) or "", "AUTO"),
        schema=form and form.schema,
        form="json" if form is not None and form.schema is not None else "text",
        most=request.max_tokens,
        thinking=thinking_of(
            _LEVELS.get(effort, effort) if effort else None, thinking.budget_tokens
        )
        if thinks(request)
        else 0,
    )


def _answers(request: MessageRequest) -> Iterator[ContentBlock]:
    """The results that the last turn of the user brings."""
    last: list[ContentBlock] = []
    for message in reversed(request.messages):
        if message.role == "assistant":
            break
        last[:0] = [block for block in _blocks(message.content) if block.type == "tool_result"]
    yield from last


def _blocks(content: Any) -> Sequence[ContentBlock]:
    if isinstance(content, str):
        return (ContentBlock(type="text", text=content),)
    return content or ()


def _text(blocks: Iterable[ContentBlock]) -> str:
    return " ".join(block.text for block in blocks if block.type == "text" and block.text)


def _result(block: ContentBlock) -> dict[str, Any]:
    text = _text(_blocks(block.content))
    try:
        found = json.loads(text)
    except ValueError:
        found = text
    return (
        found
        if isinstance(found, dict) and not block.is_error
        else {"error" if block.is_error else "result": found}
    )


def _kin(model: str) -> str:
    of = family(model)
    return f"{of.name} {of.version}"


# --- answers --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Teller:
    """Who answers which request."""

    request: MessageRequest
    id: str
    usage: Mapping[str, Any]
    """Of the prompt."""
    signatures: Signatures
    signs: bool
    """As Anthropic does; other hosts of this wire sign no thoughts."""

    def message(self, said: Said) -> dict[str, Any]:
        """One whole answer."""
        said, sequence = _stopped(said, self.request.stop_sequences or ())
        choice = self.request.tool_choice
        if choice is not None and choice.disable_parallel_tool_use:
            said = replace(said, calls=said.calls[:1])
        content: list[dict[str, Any]] = []
        on = thinks(self.request)
        if on and said.thoughts:
            content.append(self._thought(said.thoughts))
        if said.text:
            content.append({"type": "text", "text": said.text})
        for place, (name, args) in enumerate(said.calls):
            made = hashlib.sha256(f"{self.id} {place} {name}".encode()).hexdigest()[:22]
            content.append(
                {"type": "tool_use", "id": f"toolu_01{made}", "name": name, "input": args}
            )
        reason = said.finish if said.finish in _OWN_STOPS else _STOPS.get(said.finish, "end_turn")
        if sequence is not None:
            reason = "stop_sequence"
        thought = said.thinking if on else 0
        usage = {**self.usage, "output_tokens": said.tokens + thought, "service_tier": "standard"}
        return self._headed(
            {
                "content": content,
                "stop_reason": "tool_use" if said.calls and reason == "end_turn" else reason,
                "stop_sequence": sequence,
                "stop_details": {"type": "refusal", "category": None, "explanation": None}
                if reason == "refusal"
                else None,
                "usage": usage
                | ({"output_tokens_details": {"thinking_tokens": thought}} if on else {}),
            }
        )

    def named(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """What a script says, with the fields that every answer has; what it signed is known when
        it comes back.
        """
        for block in message.get("content") or ():
            if block.get("type") == "thinking" and block.get("signature"):
                self.signatures.remember_thought(block["signature"], block.get("thinking") or "")
        return self._headed(message)

    def _headed(self, message: Mapping[str, Any]) -> dict[str, Any]:
        usage = {**self.usage, "output_tokens": 1}
        told: dict[str, Any] = {
            "model": self.request.model,
            "id": f"msg_01{self.id}",
            "type": "message",
            "role": "assistant",
            "content": [],
        }
        return told | {"stop_reason": "end_turn", "stop_sequence": None, "usage": usage, **message}

    def folded(self, told: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """A script's events as a whole answer."""
        whole = fold([msgspec.Raw(msgspec.json.encode(each)) for each in told])
        found: dict[str, Any] = json.loads(whole.raw or msgspec.json.encode(whole))
        return self.named(found)

    def _thought(self, thoughts: str) -> dict[str, Any]:
        display = (self.request.thinking or Thinking()).display
        if display == "omitted" or (display is None and family(self.request.model).since(4, 7)):
            thoughts = ""
        block = {"type": "thinking", "thinking": thoughts}
        return block | (
            {"signature": self.signatures.of_thought(_kin(self.request.model), thoughts, self.id)}
            if self.signs
            else {}
        )


def _stopped(said: Said, stops: Iterable[str]) -> tuple[Said, str | None]:
    """The answer up to the first stop sequence, and which one that is."""
    found = min(
        ((at, stop) for stop in stops if stop and (at := said.text.find(stop)) >= 0), default=None
    )
    return (
        (said, None)
        if found is None
        else (replace(said, text=said.text[: found[0]], calls=()), found[1])
    )


def events_of(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """A whole answer as the events of a stream."""
    ends = ("stop_reason", "stop_sequence", "stop_details", "container")
    usage = message["usage"]
    first = {key: value for key, value in usage.items() if key != "output_tokens_details"} | {
        "output_tokens": 1
    }
    yield {
        "type": "message_start",
        "message": {**message, "content": [], **dict.fromkeys(ends[:3]), "usage": first},
    }
    for index, block in enumerate(message["content"]):
        began, deltas = _in_pieces(block)
        yield {"type": "content_block_start", "index": index, "content_block": began}
        if index == 0:
            yield {"type": "ping"}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    told = {key: message[key] for key in ends if key in message}
    counts = {
        key: value for key, value in usage.items() if key not in ("cache_creation", "service_tier")
    }
    yield {"type": "message_delta", "delta": told, "usage": counts}
    yield {"type": "message_stop"}


def _in_pieces(block: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The block as it begins, and what is added to it; blocks that no delta can bring are whole at
    once.
    """
    kind = block.get("type")
    if kind == "text":
        cited = [
            {"type": "citations_delta", "citation": each} for each in block.get("citations") or ()
        ]
        pieces = [
            {"type": "text_delta", "text": piece}
            for piece in Said(text=block.get("text") or "").pieces
        ]
        return {**block, "text": "", **({"citations": []} if cited else {})}, cited + pieces
    if kind == "thinking":
        pieces = [
            {"type": "thinking_delta", "thinking": piece}
            for piece in Said(text=block.get("thinking") or "").pieces
        ]
        signed = (
            [{"type": "signature_delta", "signature": block["signature"]}]
            if "signature" in block
            else []
        )
        return {**block, "thinking": "", **({"signature": ""} if signed else {})}, pieces + signed
    if kind == "tool_use":
        written = json.dumps(block["input"], ensure_ascii=False) if block.get("input") else ""
        halves = [written[: len(written) // 2], written[len(written) // 2 :]] if written else []
        return {**block, "input": {}}, [
            {"type": "input_json_delta", "partial_json": each} for each in ("", *halves)
        ]
    return dict(block), []
