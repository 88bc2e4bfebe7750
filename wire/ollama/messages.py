"""Writes neutral messages as messages of this wire.

A message that this model sent is sent back with the bytes in which it came. Each result of a tool
is a message of its own, in the order of the calls. Parts that the wire cannot express are left out
with a note, or refused.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import msgspec

from wire.core.arguments import checked_arguments
from wire.core.errors import HistoryError, LimitError, RuleError, Violation
from wire.core.lenient import Unreadable, decoded
from wire.core.memory import Note
from wire.core.provider import Provider
from wire.neutral.ids import ReplyIds
from wire.neutral.media_types import is_text
from wire.neutral.messages import (
    Media,
    Message,
    Origin,
    Other,
    Part,
    ServerToolCall,
    ServerToolResult,
    Text,
    Thought,
    ToolResult,
    own_text,
    source_of,
)
from wire.neutral.messages import ToolCall as NeutralCall
from wire.neutral.pairing import Answers
from wire.neutral.rendering import transcript_note
from wire.ollama.fold import keep_bytes
from wire.ollama.parse import WIRE, parse_reply, parts_of
from wire.ollama.types import ChatResponse, ToolCall, ToolCallFunction
from wire.ollama.types import Message as WireMessage

SentMessage: TypeAlias = tuple[str, Message]
"""Path of a message in the neutral request, and the message."""


def wire_messages(
    system: str,
    conversation: Sequence[SentMessage],
    answers: Mapping[str, Answers],
    notes: list[Note],
) -> list[WireMessage]:
    """Render the messages of a conversation that `wire.history.check` accepts.

    `answers` are the results of the calls, by the path of the message with the calls. Raises
    `HistoryError` or `RuleError` that names the part which the wire cannot express.
    """
    written = [WireMessage(role="system", content=system)] if system.strip() else []
    for path, message in conversation:
        text = own_text(message)
        if message.role == "tool":
            continue
        if text and not text.isspace():
            written.append(WireMessage(role=_role(message), content=text))
        elif message.role == "assistant":
            written += _assistant(message, path, notes)
            written += _results(answers[path], notes) if path in answers else ()
        else:
            written += _given(message, path, notes)
    return written


def _role(message: Message) -> str:
    return "system" if message.instructs else message.role


# --- user and system ------------------------------------------------------------------------------


def _given(message: Message, path: str, notes: list[Note]) -> Iterator[WireMessage]:
    """Yield a message of the user or the system; nothing for an empty one."""
    texts: list[str] = []
    images: list[str] = []
    for index, part in enumerate(message.parts):
        at = f"{path}.parts[{index}]"
        if isinstance(part, Text):
            if part.signature:
                words = "withheld: the signature, which the wire has no field for"
                notes.append(Note(at, words))
            if images and part.text.strip():
                words = "moved before the images: this wire has the text first"
                notes.append(Note(at, words))
            texts.append(part.text)
        elif isinstance(part, Media) and (text := _document(part, at, notes)):
            texts.append(text)
        elif isinstance(part, Media):
            images.append(_image(part, at, notes))
        else:
            _withhold(part, at, notes)
    content = "\n\n".join(text for text in texts if text.strip())
    if content or images:
        yield WireMessage(role=_role(message), content=content, images=images or None)
    else:
        kind = "system message" if message.instructs else "message"
        notes.append(Note(path, f"left out: an empty {kind}"))


def _document(media: Media, path: str, notes: list[Note]) -> str:
    """Return a document of text; empty for other media."""
    kind = media.media_type.lower().partition(";")[0].strip()
    if media.data is None or not is_text(kind):
        return ""
    notes.append(Note(path, "sent as a text: the wire has no documents"))
    return media.data.decode("utf-8", "replace")


def _image(media: Media, path: str, notes: list[Note]) -> str:
    """Return an image as base64. Raises `RuleError` for other media, and for a URL."""
    kind = media.media_type.lower()
    if kind and not kind.startswith("image/"):
        raise _unsupported(path, f"expected an image or a text, not {kind}", "describe it in words")
    if media.data is None:
        problem = f"expected bytes, not the URL {(media.url or '')[:80]!r}"
        raise _unsupported(path, problem, "send the bytes")
    for name in ("detail", "name"):
        if getattr(media, name) not in ("", "auto"):
            notes.append(Note(f"{path}.{name}", "left out: the wire has no field for it"))
    return base64.b64encode(media.data).decode()


def _unsupported(path: str, problem: str, remedy: str = "") -> RuleError:
    return RuleError(violations=[Violation(path, problem, remedy=remedy)])


# --- assistant ------------------------------------------------------------------------------------


def _assistant(message: Message, path: str, notes: list[Note]) -> Iterator[WireMessage]:
    """Yield a message of the assistant, with its received bytes if it is unchanged."""
    source = _source(message.origin, path, notes)
    if any(call.arguments is None for call in message.tool_calls):
        source = None  # its bytes have a text where the server demands an object (L11)
    if source is not None and _matches(source, message.parts):
        yield source if source.role == "assistant" else _with_role(source)
        return
    if source is not None:
        words = "rebuilt: it differs from the bytes that it was received with"
        notes.append(Note(path, words))
    texts: list[str] = []
    thoughts: list[str] = []
    images: list[str] = []
    calls: list[ToolCall] = []
    for index, part in enumerate(message.parts):
        at = f"{path}.parts[{index}]"
        if isinstance(part, Text):
            texts.append(part.text)
        elif isinstance(part, Thought) and part.text and _is_own(part):
            thoughts.append(part.text)
        elif isinstance(part, NeutralCall):
            calls.append(_call(part, at, len(calls), notes))
        elif isinstance(part, Media) and part.transcript.strip():
            notes.append(transcript_note(at))
            texts.append(part.transcript)
        elif isinstance(part, Media) and _is_own(part) and part.data is not None:
            images.append(_image(part, at, notes))
        else:
            _withhold(part, at, notes)
    content = "".join(texts)
    if not (content.strip() or thoughts or images or calls):
        notes.append(Note(path, "left out: a message without content"))
        return
    yield WireMessage(
        role="assistant",
        content=content,
        thinking="".join(thoughts) or None,
        images=images or None,
        tool_calls=calls or None,
    )


def _is_own(part: Part) -> bool:
    """Return whether a model of this wire sent a part; `sendable` has withheld those of others."""
    return part.origin is not None and part.origin.wire == WIRE


def _with_role(message: WireMessage) -> WireMessage:
    return msgspec.structs.replace(message, role="assistant")


def _source(origin: Origin | None, path: str, notes: list[Note]) -> WireMessage | None:
    """Return the message as it was received; `None` if it was not on this wire."""
    if origin is None or origin.wire != WIRE:
        return None
    try:
        return source_of(origin, _read_message)
    except (Unreadable, LimitError):
        if origin.raw:
            words = "rebuilt: the bytes that it was received with are not valid"
            notes.append(Note(path, words))
        return None


def _matches(source: WireMessage, parts: Sequence[Part]) -> bool:
    """Return whether a received message consists of these parts, whatever the ids of its calls.

    It may not: a saved conversation can have been edited by hand.
    """
    own = parts_of(source, ReplyIds(b""), Origin("", "", WIRE))
    return len(own) == len(parts) and all(map(_alike, own, parts))


def _alike(own: Part, part: Part) -> bool:
    if isinstance(own, NeutralCall) and isinstance(part, NeutralCall):
        return own.name == part.name and own.arguments == part.arguments and own.text == part.text
    if isinstance(own, Thought) and isinstance(part, Thought):
        return own.text == part.text
    return own == part


def _call(call: NeutralCall, path: str, index: int, notes: list[Note]) -> ToolCall:
    if call.extra or call.signature:
        words = f"withheld: data of the call of {call.name} that the wire has no field for"
        notes.append(Note(path, words))
    arguments: Any = call.arguments
    if arguments is None and call.origin is not None:
        # A received call that was cut off. Refusing it would end the conversation, so the text is
        # sent in an object, and the model sees from the result what went wrong.
        words = f"wrapped: the arguments of the call of {call.name} are not a JSON object"
        notes.append(Note(path, words))
        arguments = {"invalid_json": call.text}
    if not isinstance(arguments, Mapping):
        remedy = "wire.history.repair(messages), or remove the call and its result"
        problem = f"the arguments of the call of {call.name} are not a JSON object"
        raise HistoryError(violations=[Violation(path, problem, "L11", remedy=remedy)])
    function = ToolCallFunction(index=index, name=call.name, arguments=dict(arguments))
    return ToolCall(id=call.id or None, function=function)


# --- results --------------------------------------------------------------------------------------


def _results(answers: Answers, notes: list[Note]) -> Iterator[WireMessage]:
    """Yield a message for each result of a turn, in the order of the calls."""
    if answers.moved:
        words = "the results were sorted into the order of their calls"
        notes.append(Note(answers.moved, words))
    for each in answers.results:
        yield _result(each.result, each.path, notes)


def _result(result: ToolResult, path: str, notes: list[Note]) -> WireMessage:
    content = result.answer if result.error else result.content
    text = content if isinstance(content, str) else msgspec.json.encode(content).decode()
    images = []
    for index, media in enumerate(result.media):
        at = f"{path}.media[{index}]"
        if document := _document(media, at, notes):
            text = f"{text}\n\n{document}" if text else document
        else:
            images.append(_image(media, at, notes))
    return WireMessage(
        role="tool",
        content=text,
        images=images or None,
        tool_name=result.name or None,
        tool_call_id=result.id or None,
    )


def _withhold(part: Part, path: str, notes: list[Note]) -> None:
    """Note a part that the wire cannot express."""
    if isinstance(part, Other):
        notes.append(Note(path, f"withheld: only its own vendor accepts {part.kind}"))
    elif isinstance(part, ServerToolCall | ServerToolResult):
        notes.append(Note(path, f"withheld: the server of a vendor ran {part.name}"))
    elif isinstance(part, Media):
        kind = part.media_type or "media"
        words = f"withheld: the wire has no field for {kind} of the assistant"
        notes.append(Note(path, words))
    else:
        notes.append(Note(path, "withheld: a thought of another model, or without a text"))


# --- saved messages -------------------------------------------------------------------------------


def _read_message(raw: bytes) -> WireMessage:
    """Read the received message of a saved conversation, with calls that remember their bytes."""
    decoded(raw, WireMessage)
    answer = b'{"message":%s}' % raw
    return keep_bytes(decoded(answer, ChatResponse), answer).message or WireMessage()


@checked_arguments()
def parse_message(
    raw: bytes, provider: Provider | str = "ollama", *, part: bool = False
) -> tuple[Message, ...]:
    """Parse the bytes of a message that `parse_reply` made and that was saved; return each message
    that they can mean.

    With `part`, they are the bytes of one part. There is more than one reading if it depends on
    settings of the client that are not saved. Raises `Unreadable` for bytes that no host sent, and
    `LimitError`.
    """
    if part:
        source = WireMessage(role="assistant", tool_calls=[decoded(raw, ToolCall)])
    else:
        source = _read_message(raw)
    return (parse_reply(ChatResponse(message=source)).message,)
