"""Converts responses and chunks of Gemini to neutral replies and events.

- Each part of the wire becomes one neutral part, in the same order, with the wire part as its
  origin. A part without a neutral equivalent becomes an `Other`.
- Gemini sends a call in one piece, so its three events are emitted together.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from wire.catalogue.stops import partial_stop
from wire.catalogue.usage import Usage
from wire.core.arguments import check_inside, checked_arguments
from wire.core.decoders import from_base64
from wire.core.errors import RuleError, WireError
from wire.core.lenient import (
    NOT_STRICT,
    Halves,
    decoded,
    odd_text,
    plain_fields,
    portable,
    strict_json,
    well_formed,
)
from wire.core.memory import PARTIAL, Note, encode, notes, with_notes
from wire.gemini.finish import stop_of
from wire.gemini.fold import fold
from wire.gemini.pairing import keys_of_call, keys_of_response
from wire.gemini.types import (
    Candidate,
    GenerateContentResponse,
    ModalityTokenCount,
    Part,
    UsageMetadata,
)
from wire.neutral.events import provider_events
from wire.neutral.ids import ReplyIds
from wire.neutral.messages import (
    Citation,
    Done,
    Event,
    Media,
    Message,
    Origin,
    Other,
    Reply,
    Text,
    TextDelta,
    Thought,
    ThoughtDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    checked,
    with_answer,
    with_origin,
)
from wire.neutral.messages import Part as NeutralPart
from wire.neutral.pairing import Waiting

WIRE = "gemini"


@checked_arguments()
def parse_reply(
    response: GenerateContentResponse,
    *,
    body: bytes = b"",
    provider: str = "gemini",
    model: str = "",
    error: WireError | None = None,
    ids: ReplyIds | None = None,
) -> Reply:
    """Convert the first candidate of a response to a reply.

    `body` is the body of the request. Gemini may omit the id of a call; the id is then derived from
    `body`, so that it is the same each time.

    >>> from wire.gemini.reader import parse_response
    >>> reply = parse_reply(
    ...     parse_response(
    ...         b'{"candidates":[{"content":{"parts":[{"text":"Hi"}]},"finishReason":"STOP"}]}'
    ...     )
    ... )
    >>> reply.text, reply.stop
    ('Hi', Stop(reason='end', raw='STOP'))

    `provider` and `model` received the request. The received parts are sent back unchanged to them
    only. `ids` makes the ids of calls, if the responses to several requests are one reply. The
    reply of a response with `wire.core.memory.PARTIAL` in its notes has no regular stop reason;
    `error` is the error that ended its stream, if any.
    """
    if NOT_STRICT in vars(response):  # a chunk whose bytes cannot be sent back as they are
        response = with_notes(fold([response]), notes(response))
    candidate = _first(response)
    content = candidate.content if candidate is not None else None
    wire_parts = (content.parts or ()) if content is not None else ()
    served = _server_calls(wire_parts) if _has_servers(body) else frozenset()
    model = model.removeprefix("models/")
    added: list[Note] = []
    parts: list[NeutralPart] = []
    ids = ReplyIds(body) if ids is None else ids
    for index, wire in enumerate(wire_parts):
        call = wire.function_call
        if _is_call(wire) and index not in served:
            part: NeutralPart = _tool_call(wire, ids)
        else:
            part = _part(wire, served=index in served)
            if call is not None and call.name and index not in served:
                added.append(
                    Note(
                        f"message.parts[{index}]",
                        f"the call of {call.name} was sent in fragments, which are not assembled",
                    )
                )
        parts.append(with_origin(part, Origin(provider, model, WIRE, wire)))
    if not any(isinstance(part, Text) and part.text for part in parts):
        # A text of a wrong type counts if it is the only one.
        for index, part in enumerate(parts):
            if isinstance(part, Other) and part.kind == "text":
                text = odd_text(encode(wire_parts[index]), "text")
                parts[index] = with_origin(Text(text), part.origin)
        if not parts and candidate is not None and (text := _odd_text(response, candidate)):
            parts.append(with_origin(Text(text), Origin(provider, model, WIRE)))
    citations: tuple[Citation, ...] = ()
    if candidate is not None and _SOURCES_OF(candidate) != _NO_SOURCES:
        from wire.gemini.server_parts import citations_of  # few replies have sources

        citations = citations_of(candidate, parts)
    message = Message("assistant", tuple(parts), citations=citations)
    if content is not None:
        message = with_origin(message, Origin(provider, model, WIRE, content))
    calls = any(isinstance(part, ToolCall) for part in parts)
    stop, of_stop = stop_of(response, candidate, calls=calls, fragments=bool(added))
    reply = Reply(
        message=message,
        stop=partial_stop(stop, error) if PARTIAL in notes(response) else stop,
        usage=usage_of(response.usage_metadata) if response.usage_metadata is not None else None,
        notes=(*notes(response), *added, *of_stop),
        id=response.response_id or "",
        model=response.model_version or "",
    )
    return with_answer(reply, response)


_SOURCES_OF = operator.attrgetter("grounding_metadata", "citation_metadata", "url_context_metadata")
_NO_SOURCES = (None, None, None)


def _first(response: GenerateContentResponse) -> Candidate | None:
    """Return the candidate with index 0.

    A chunk of a stream with several candidates may lack it.
    """
    return next((candidate for candidate in response.candidates or () if not candidate.index), None)


# --- parts ----------------------------------------------------------------------------------------

_METADATA_KEYS = frozenset(
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
"""Keys of a part that describe its payload. The payload is under another key."""


def _is_call(wire: Part) -> bool:
    """Return whether a part is a complete call.

    Vertex can stream the arguments of a call in fragments.
    """
    call = wire.function_call
    return (
        call is not None
        and bool(call.name)
        and call.partial_args is None
        and not call.will_continue
    )


def _has_servers(body: bytes) -> bool:
    """Return whether the request names MCP servers.

    Gemini then makes calls itself, and reports them in the same form as calls for the client.
    """
    return b'"mcpServers"' in body or b'"mcp_servers"' in body


def _server_calls(wire_parts: Iterable[Part]) -> frozenset[int]:
    """Return the indexes of the calls that a server made.

    The client must not make them again (G11).

    Such a call is followed by its result, with only other calls and results between the two. After
    any other part, a call without a result is one for the client.
    """
    served: set[int] = set()
    waiting = Waiting()
    for index, wire in enumerate(wire_parts):
        call, response = wire.function_call, wire.function_response
        if call is not None:
            waiting.add(index, keys_of_call(call))
        elif response is not None:
            at = waiting.take(keys_of_response(response))
            if at is not None:
                served.add(at)
        else:
            waiting = Waiting()
    return frozenset(served)


def _tool_call(wire: Part, ids: ReplyIds) -> ToolCall:
    call = wire.function_call
    assert call is not None
    assert call.name is not None
    arguments: Any = {} if call.args is None else portable(call.args)
    is_object = isinstance(arguments, dict)  # a text if it is nested too deeply
    return ToolCall(
        id=ids.own(call.id),
        name=call.name,
        arguments=arguments if is_object else None,
        text="" if is_object else arguments,
        signature=wire.thought_signature or "",
        response=ids.response,
    )


def _part(wire: Part, *, served: bool) -> NeutralPart:
    """Convert a part that is not a call for the client; `served` if a server made its call."""
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
    from wire.gemini.server_parts import served_part, server_part  # few replies have other parts

    ran = server_part(wire)
    if ran is None and (served or wire.function_response is not None):
        ran = served_part(wire)
    if ran is not None:
        return ran
    kind, data = _payload(wire)
    return Other(kind, data) if kind else Text("", signature)


def _odd_text(response: GenerateContentResponse, candidate: Candidate) -> str:
    """Return the content or the parts of a candidate as text, if their type is not the wire's."""
    if candidate.content is not None:
        return odd_text(candidate.content.raw, "parts")
    index = (response.candidates or []).index(candidate)
    return odd_text(response.raw, "candidates", index, "content")


def _details(wire: Part) -> tuple[dict[str, object], ...]:
    kind, data = _payload(wire)
    return ({kind: data},) if kind else ()


def _payload(wire: Part) -> tuple[str, object]:
    """Return the key and the value of the payload of a part; an empty key if it has no payload."""
    fields = plain_fields(wire)
    return next(
        (
            (well_formed(key), portable(value))
            for key, value in (fields if isinstance(fields, dict) else {}).items()
            if key not in _METADATA_KEYS and value is not None
        ),
        ("", None),
    )


def _media(wire: Part) -> Media | None:
    """Return the media of a part; `None` if it has none, or if they are malformed."""
    blob, file, video = wire.inline_data, wire.file_data, wire.video_metadata
    clip: dict[str, Any] = {}
    if video is not None:
        clip = {"start": video.start_offset or "", "end": video.end_offset or "", "fps": video.fps}
    try:
        if blob is not None:
            kind = blob.mime_type or "application/octet-stream"
            return Media(
                data=_decode_base64(blob.data or ""),
                media_type=kind,
                name=blob.display_name or "",
                **clip,
            )
        if file is not None:
            url = file.file_uri or ""
            return Media(
                url=url, media_type=file.mime_type or "", name=file.display_name or "", **clip
            )
    except (RuleError, ValueError):
        pass  # malformed base64, or values that `Media` rejects: the part is kept as an `Other`
    return None


def _decode_base64(text: str) -> bytes:
    """Decode base64 of either alphabet, with or without padding."""
    try:
        return from_base64(text)  # the form that hosts send, with no copy of the text
    except ValueError:
        bare = text.rstrip("=").replace("-", "+").replace("_", "/")
        return from_base64(bare + "=" * (-len(bare) % 4))


# --- usage ----------------------------------------------------------------------------------------


def usage_of(usage: UsageMetadata) -> Usage:
    """Convert token counts to the neutral ones.

    Input includes cached tokens and the results of built-in tools. Output includes thoughts.

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
    visible = (
        usage.candidates_token_count
        if usage.candidates_token_count is not None
        else usage.response_token_count
    )
    output = (visible or 0) + reasoning
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


_MODALITIES = ("unknown", "text", "image", "video", "audio", "document")
"""Names of modalities by enum number. The API sends numbers if the query asks for them."""


def _modality(count: ModalityTokenCount) -> str:
    kind = count.modality
    if isinstance(kind, int):
        return _MODALITIES[kind] if 0 <= kind < len(_MODALITIES) else str(kind)
    return (kind or "unknown").lower()


# --- events ---------------------------------------------------------------------------------------


_KNOWN_KEYS = frozenset({"candidates", "createTime", "modelVersion", "responseId"})
"""Keys of a chunk that are in the reply, or only identify the response."""


class EventReader:
    """Converts the chunks of one response to events. Only the first candidate is read.

    >>> from wire.gemini.reader import read_chunk
    >>> EventReader().feed(read_chunk(b'{"candidates":[{"content":{"parts":[{"text":"Hi"}]}}]}'))
    [TextDelta(text='Hi')]
    """

    @checked_arguments()
    def __init__(self, *, body: bytes = b"", provider: str = "gemini", model: str = "") -> None:
        self._provider, self._model = provider, model.removeprefix("models/")
        self._ids = ReplyIds(body)
        self._calls = self._media = 0
        self._has_text = False
        self._is_own = False  # the last chunk had the candidate that is read
        self._holds_calls = _has_servers(body)
        # Calls whose results a server may still send, with their results. Without MCP servers, the
        # calls in it are emitted at once.
        self._waiting: list[Part] = []
        self._halves = Halves()  # the other half of a pair may be in the next chunk
        # `thought` of the text that ended in a first half.
        self._half_is_thought: bool | None = None

    def feed(self, chunk: GenerateContentResponse) -> list[Event]:
        """Return the events of one chunk."""
        try:
            if (
                not chunk.candidates
                and chunk.usage_metadata is None
                and chunk.prompt_feedback is None
            ):
                return list(provider_events(chunk, "", _KNOWN_KEYS))
            candidate = _first(chunk)
            self._is_own = candidate is not None
            parts = (
                (candidate.content.parts or ())
                if candidate is not None and candidate.content is not None
                else ()
            )
            is_strict = NOT_STRICT not in vars(chunk)
            events: list[Event] = []
            for part in parts:
                self._read_part(part, is_strict, events)
            return events
        except WireError:
            raise
        except Exception:
            check_inside("chunk", chunk, GenerateContentResponse)
            raise

    @checked_arguments()
    def feed_texts(self, texts: Sequence[str]) -> list[Event]:
        """Return the events of chunks that repeat the last one, a text, with other texts."""
        if not self._is_own:
            return []
        if self._half_is_thought:
            return [ThoughtDelta(text) for text in texts if text]
        events: list[Event] = [TextDelta(text) for text in texts if text]
        self._has_text = self._has_text or bool(events)
        return events

    @checked_arguments()
    def close(self, reply: Reply) -> list[Event]:
        """Return the last events: text and calls that were held back, and `Done` with the reply.

        Raises `BlockedError` if the vendor's filters removed the complete reply.
        """
        events: list[Event] = []
        self._flush_half(events)
        self._add_calls(events)
        if reply.text and not self._has_text:  # folded from content of a wrong type
            events.append(TextDelta(reply.text))
        return [*events, Done(checked(reply))]

    # Events are collected in a list: most chunks are one text, and each value of a generator would
    # cost a call.

    def _read_part(self, part: Part, is_strict: bool, events: list[Event]) -> None:
        if (part.function_call is not None or part.function_response is not None) and (
            self._holds_calls or _is_call(part)
        ):
            self._flush_half(events)
            self._waiting.append(part if is_strict else _as_strict(part))
            if not self._holds_calls:
                self._add_calls(events)
            return
        if self._waiting:
            self._add_calls(events)
        if part.text is None:
            self._flush_half(events)
            media = None if part.thought else _media(part)
            if media is not None:
                from wire.neutral.events import media_event  # few models speak or draw

                events.append(media_event(media, self._media))
                self._media += 1
        else:
            self._add_text(part, events)

    def _add_calls(self, events: list[Event]) -> None:
        """Add the calls that were held back, without the calls that a server made."""
        waiting, self._waiting = self._waiting, []
        served = _server_calls(waiting) if self._holds_calls else frozenset()
        for index, part in enumerate(waiting):
            if index not in served and _is_call(part):
                position, self._calls = self._calls, self._calls + 1
                call = with_origin(
                    _tool_call(part, self._ids),
                    Origin(self._provider, self._model, WIRE, part),
                )
                arguments = call.text or msgspec.json.encode(call.arguments).decode()
                events += [
                    ToolCallStart(position, call.name, call.id),
                    ToolCallDelta(position, arguments),
                    ToolCallEnd(position, call),
                ]

    def _add_text(self, part: Part, events: list[Event]) -> None:
        # `wire.gemini.fold` joins adjacent plain texts of one kind, and no others. A half waits for
        # the next text only if folding joins the two: otherwise the events would contain a
        # character that the reply does not.
        if self._halves.rest and not (
            _is_plain_text(part) and part.thought == self._half_is_thought
        ):
            self._flush_half(events)
        text, self._half_is_thought = self._halves.feed(part.text or ""), part.thought
        if self._halves.rest and not _is_plain_text(part):
            text += self._halves.rest
            self._halves = Halves()
        if text:
            self._emit(text, events)

    def _flush_half(self, events: list[Event]) -> None:
        """Add the replacement character for a first half without a second."""
        if self._halves.rest:
            rest, self._halves = self._halves.rest, Halves()
            self._emit(rest, events)

    def _emit(self, text: str, events: list[Event]) -> None:
        if self._half_is_thought:
            events.append(ThoughtDelta(text))
        else:
            self._has_text = True
            events.append(TextDelta(text))


def _is_plain_text(part: Part) -> bool:
    """Return whether folding may join the part to another: it has only `text` and `thought`."""
    return part == Part(text=part.text, thought=part.thought)


def _as_strict(part: Part) -> Part:
    """Convert a part to strict JSON, as folding does, so that event and reply hold equal calls."""
    return decoded(strict_json(json.dumps(msgspec.to_builtins(part)).encode()), Part)
