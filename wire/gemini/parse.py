"""Answers and chunks as neutral replies and events.

Every part of the wire becomes one neutral part, in its order, and remembers what it was; what only
Gemini understands is an `Other`. A call is told when it comes, since it comes whole.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from wire.core.lenient import NOT_STRICT, Halves, decoded, strict_json
from wire.core.memory import PARTIAL, Note, encode, notes
from wire.errors import RuleError, WireError
from wire.gemini.finish import reason_of
from wire.gemini.pairing import is_answer
from wire.gemini.types import (
    Candidate,
    FunctionCall,
    GenerateContentResponse,
    Modality,
    ModalityTokenCount,
    Part,
    UsageMetadata,
)
from wire.neutral.ids import made_id
from wire.neutral.messages import (
    Done,
    Event,
    Media,
    Message,
    Origin,
    Other,
    Reply,
    Stop,
    Text,
    TextDelta,
    Thought,
    ThoughtDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    Usage,
    checked,
    partial_stop,
    with_answer,
    with_origin,
)
from wire.neutral.messages import Part as Said

WIRE = "gemini"


def parse_reply(
    answer: GenerateContentResponse,
    *,
    body: bytes = b"",
    provider: str = "gemini",
    model: str = "",
    error: WireError | None = None,
) -> Reply:
    """An answer as a reply: its first candidate. `body` is that of the request: ids that Gemini did
    not give are made of it.

    >>> from wire.gemini.reader import parse_answer
    >>> reply = parse_reply(
    ...     parse_answer(
    ...         b'{"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"STOP"}]}'
    ...     )
    ... )
    >>> reply.text, reply.stop
    ('Hi', Stop(reason='end', raw='STOP'))

    `provider` and `model` are who was asked: only they get back what they said as it came. An
    answer with `wire.core.memory.PARTIAL` in its notes becomes a reply that claims no end; `error`
    is what its stream broke with, if it did.
    """
    candidate = _first(answer)
    content = candidate.content if candidate is not None else None
    wires = (content.parts or ()) if content is not None else ()
    served = _served(wires) if _has_servers(body) else frozenset()
    model = model.removeprefix("models/")
    found: list[Note] = []
    parts: list[Said] = []
    calls = 0
    for place, wire in enumerate(wires):
        call = wire.function_call
        if _is_call(wire) and place not in served:
            part: Said = _tool_call(wire, body, calls)
            calls += 1
        else:
            part = _part(wire)
            if call is not None and call.name and place not in served:
                found.append(
                    Note(
                        f"message.parts[{place}]",
                        f"the call of {call.name} came in pieces, which are not put together",
                    )
                )
        parts.append(with_origin(part, Origin(provider, model, WIRE, wire)))
    message = Message("assistant", tuple(parts))
    if content is not None:
        message = with_origin(message, Origin(provider, model, WIRE, content))
    stop = _stop(answer, candidate, calls=bool(calls), pieces=bool(found))
    reply = Reply(
        message=message,
        stop=partial_stop(stop, error) if PARTIAL in notes(answer) else stop,
        usage=usage_of(answer.usage_metadata) if answer.usage_metadata is not None else None,
        notes=(*notes(answer), *found),
        id=answer.response_id or "",
        model=answer.model_version or "",
    )
    return with_answer(reply, answer)


def _first(answer: GenerateContentResponse) -> Candidate | None:
    """In a stream of several candidates a chunk may hold any of them."""
    return next((candidate for candidate in answer.candidates or () if not candidate.index), None)


# --- parts ----------------------------------------------------------------------------------------

_BESIDE = frozenset(
    {
        "thought",
        "thoughtSignature",
        "partMetadata",
        "videoMetadata",
        "mediaResolution",
        "mediaProcessing",
        "speechMetadata",
    }
)
"""Keys that say something of what a part holds, and are not what it holds."""


def _is_call(wire: Part) -> bool:
    """A call as a whole, and not one of the pieces in which Vertex streams arguments."""
    call = wire.function_call
    return (
        call is not None
        and bool(call.name)
        and call.partial_args is None
        and not call.will_continue
    )


def _has_servers(body: bytes) -> bool:
    """Whether the request names MCP servers: then Gemini's side makes calls of its own, and tells
    them like those that it wants made.
    """
    return b'"mcpServers"' in body or b'"mcp_servers"' in body


def _served(wires: Iterable[Part]) -> frozenset[int]:
    """Places of the calls that a server made: its results stand behind them, before anything else
    is said (G11).
    """
    found: set[int] = set()
    waiting: dict[int, FunctionCall] = {}
    for place, wire in enumerate(wires):
        call, response = wire.function_call, wire.function_response
        if call is not None:
            waiting[place] = call
        elif response is not None:
            at = next((at for at, call in waiting.items() if is_answer(call, response)), None)
            if at is not None:
                found.add(at)
                del waiting[at]
        else:
            waiting = {}
    return frozenset(found)


def _tool_call(wire: Part, body: bytes, position: int) -> ToolCall:
    call = wire.function_call
    assert call is not None
    assert call.name is not None
    return ToolCall(
        id=call.id or made_id(body, position),
        name=call.name,
        arguments={} if call.args is None else call.args,
        signature=wire.thought_signature or "",
    )


def _part(wire: Part) -> Said:
    """What is no call that somebody is to make."""
    signature = wire.thought_signature or ""
    if wire.thought:
        return Thought(
            wire.text or "",
            slot="thought",
            signature=signature,
            details=() if wire.text is not None else _details(wire),
        )
    if wire.text is not None:
        return Text(wire.text, signature)
    media = _media(wire)
    if media is not None:
        return media
    kind, data = _held(wire)
    return Other(kind, data) if kind else Text("", signature)


def _details(wire: Part) -> tuple[dict[str, object], ...]:
    kind, data = _held(wire)
    return ({kind: data},) if kind else ()


def _held(wire: Part) -> tuple[str, object]:
    """What a part holds that is no text, under its key; an empty key if it holds nothing."""
    plain = json.loads(encode(wire))
    return next(
        ((key, value) for key, value in plain.items() if key not in _BESIDE and value is not None),
        ("", None),
    )


def _media(wire: Part) -> Media | None:
    """Media, unless what came is none."""
    blob, file, film = wire.inline_data, wire.file_data, wire.video_metadata
    beside: dict[str, Any] = {}
    if film is not None:
        beside = {"start": film.start_offset or "", "end": film.end_offset or "", "fps": film.fps}
    try:
        if blob is not None:
            kind = blob.mime_type or "application/octet-stream"
            return Media(
                data=_decoded(blob.data or ""),
                media_type=kind,
                name=blob.display_name or "",
                **beside,
            )
        if file is not None:
            url = file.file_uri or ""
            return Media(
                url=url, media_type=file.mime_type or "", name=file.display_name or "", **beside
            )
    except (RuleError, ValueError):
        pass  # base64 that is none
    return None


def _decoded(text: str) -> bytes:
    """Bytes of base64 in either alphabet, padded or not."""
    bare = text.rstrip("=").replace("-", "+").replace("_", "/")
    return base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True)


# --- why, and how much ----------------------------------------------------------------------------


def _stop(
    answer: GenerateContentResponse, candidate: Candidate | None, *, calls: bool, pieces: bool
) -> Stop:
    feedback = answer.prompt_feedback
    finish = candidate.finish_reason if candidate is not None else None
    if finish is None and feedback is not None and feedback.block_reason is not None:
        return Stop("filter", str(feedback.block_reason), feedback.block_reason_message or "")
    message = (candidate.finish_message or "") if candidate is not None else ""
    reason = reason_of(finish, calls=calls)
    # A call that was not put together is still to be made: that is no end.
    return Stop(
        "other" if reason == "end" and pieces else reason,
        None if finish is None else str(finish),
        message,
    )


def usage_of(usage: UsageMetadata) -> Usage:
    """Tokens as all vendors' are counted here: input includes what is cached and what built-in
    tools brought in, output includes thoughts.

    >>> usage_of(
    ...     UsageMetadata(
    ...         prompt_token_count=30,
    ...         tool_use_prompt_token_count=5,
    ...         candidates_token_count=2,
    ...         thoughts_token_count=9,
    ...     )
    ... )
    Usage(input=35, output=11, reasoning=9, total=46)
    """
    reasoning = usage.thoughts_token_count or 0
    given = (usage.prompt_token_count or 0) + (usage.tool_use_prompt_token_count or 0)
    said = (
        usage.candidates_token_count
        if usage.candidates_token_count is not None
        else usage.response_token_count
    )
    output = (said or 0) + reasoning
    by_modality: dict[str, int] = {}
    for side, details in (
        ("input", usage.prompt_tokens_details),
        ("input", usage.tool_use_prompt_tokens_details),
        ("output", usage.candidates_tokens_details or usage.response_tokens_details),
    ):
        for each in details or ():
            key = f"{side}_{_modality(each)}"
            by_modality[key] = by_modality.get(key, 0) + (each.token_count or 0)
    return Usage(
        input=given,
        output=output,
        cached=usage.cached_content_token_count or 0,
        reasoning=reasoning,
        total=usage.total_token_count or given + output,
        by_modality={key: count for key, count in by_modality.items() if count},
    )


_MODALITIES = ("unknown", *(each.lower() for each in Modality))
"""By their numbers, which come in place of names if the caller asks for numbers."""


def _modality(count: ModalityTokenCount) -> str:
    kind = count.modality
    if isinstance(kind, int):
        return _MODALITIES[kind] if 0 <= kind < len(_MODALITIES) else str(kind)
    return (kind or "unknown").lower()


# --- events ---------------------------------------------------------------------------------------


class EventReader:
    """Chunks of one answer in, events out: the first candidate.

    >>> from wire.gemini.reader import read_chunk
    >>> EventReader().feed(read_chunk(b'{"candidates":[{"content":{"parts":[{"text":"Hi"}]}}]}'))
    [TextDelta(text='Hi')]
    """

    def __init__(self, *, body: bytes = b"", provider: str = "gemini", model: str = "") -> None:
        self._body = body
        self._provider, self._model = provider, model.removeprefix("models/")
        self._calls = 0
        self._waits = _has_servers(body)
        self._waiting: list[Part] = []  # calls that a server may answer yet, and its results
        self._halves = Halves()  # the other half may stand in the next chunk
        self._half_of: bool | None = None  # `thought` of the text that ended in a half

    def feed(self, chunk: GenerateContentResponse) -> list[Event]:
        """What the chunk says."""
        candidate = _first(chunk)
        parts = (
            (candidate.content.parts or ())
            if candidate is not None and candidate.content is not None
            else ()
        )
        is_strict = NOT_STRICT not in vars(chunk)
        return [event for part in parts for event in self._told(part, is_strict)]

    def close(self, reply: Reply) -> list[Event]:
        """What is left to say: `Done` with the reply.

        Raises `BlockedError` if the vendor's filters left nothing of it.
        """
        return [*self._rest(), *self._made(), Done(checked(reply))]

    def _told(self, part: Part, is_strict: bool) -> Iterator[Event]:
        if _is_call(part) or (self._waits and (part.function_call or part.function_response)):
            yield from self._rest()
            self._waiting.append(part if is_strict else _mended(part))
            if not self._waits:
                yield from self._made()
            return
        yield from self._made()
        if part.text is None:
            yield from self._rest()
        else:
            yield from self._said(part)

    def _made(self) -> Iterator[Event]:
        """The calls that wait, without those that a server has answered."""
        waiting, self._waiting = self._waiting, []
        served = _served(waiting) if self._waits else frozenset()
        for place, part in enumerate(waiting):
            if place not in served and _is_call(part):
                position, self._calls = self._calls, self._calls + 1
                call = with_origin(
                    _tool_call(part, self._body, position),
                    Origin(self._provider, self._model, WIRE, part),
                )
                yield ToolCallStart(position, call.name, call.id)
                yield ToolCallDelta(position, msgspec.json.encode(call.arguments).decode())
                yield ToolCallEnd(position, call)

    def _said(self, part: Part) -> Iterator[Event]:
        # Folding joins texts of one kind that have nothing beside them, and no others: half a pair
        # waits for the next text only where folding joins the two.
        if self._halves.rest and not (_joins(part) and part.thought == self._half_of):
            yield from self._rest()
        text, self._half_of = self._halves.feed(part.text or ""), part.thought
        if self._halves.rest and not _joins(part):
            text += self._halves.rest
            self._halves = Halves()
        if text:
            yield ThoughtDelta(text) if part.thought else TextDelta(text)

    def _rest(self) -> Iterator[Event]:
        """What stands for a half whose other half did not come."""
        if self._halves.rest:
            rest, self._halves = self._halves.rest, Halves()
            yield ThoughtDelta(rest) if self._half_of else TextDelta(rest)


def _joins(part: Part) -> bool:
    return part == Part(text=part.text, thought=part.thought)


def _mended(part: Part) -> Part:
    """A call whose arguments strict JSON can write, as folding mends it."""
    return decoded(strict_json(json.dumps(msgspec.to_builtins(part)).encode()), Part)
