"""Neutral messages as messages of chat completions; what there are no words for is left out and
told, or refused.

What a model said goes back in the bytes it came in, if it is as it was; what of it this host takes
is for `turns.py` to say.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias, TypeVar

import msgspec

from wire.core.decoders import convert
from wire.core.json_values import json_text
from wire.core.lenient import Unreadable, decoded
from wire.core.memory import Note, WireStruct, encode, freeze
from wire.errors import RuleError, Violation
from wire.neutral.messages import (
    Media,
    Message,
    Origin,
    Other,
    Part,
    Text,
    Thought,
    ToolCall,
)
from wire.neutral.pairing import NO_ANSWERS, Answers
from wire.openai.chat.fold import whole
from wire.openai.chat.parse import SLOTS, WIRE, says_its_calls
from wire.openai.chat.thinking import CLOSE, OPEN
from wire.openai.chat.tool_calls import arguments_of
from wire.openai.chat.types import (
    ChatCompletion,
    ContentPart,
    CustomCall,
    FileInput,
    FunctionCall,
    ImageUrl,
    InputAudio,
    ReasoningDetail,
)
from wire.openai.chat.types import Message as WireMessage
from wire.openai.chat.types import ToolCall as WireToolCall
from wire.openai.common.dialect import Dialect

W = TypeVar("W", bound=WireStruct)

Said: TypeAlias = tuple[str, Message]
"""A message, and its path in the request."""


def wire_messages(
    said: Sequence[Said], answers: Mapping[str, Answers], dialect: Dialect, found: list[Note]
) -> list[WireMessage]:
    """The messages in their order, with the results of a turn directly behind its calls (O2).

    `answers` are the results of the calls, by the path of the message with the calls. Raises
    `RuleError` for media that chat completions do not take, and for what JSON cannot say.
    """
    turns: list[WireMessage] = []
    place = 0
    while place < len(said):
        path, message = said[place]
        place += 1
        if message.role != "assistant":
            turns += _plain(message, path, found)
            continue
        turns.append(_assistant(message, path, dialect, found))
        behind = place
        while (
            message.tool_calls and place < len(said) and said[place][1].role in ("tool", "system")
        ):
            place += 1
        turns += _results(answers.get(path, NO_ANSWERS), said[behind:place], found)
    return turns


def one_system(
    turns: Sequence[WireMessage], dialect: Dialect, found: list[Note]
) -> list[WireMessage]:
    """The turns with as many system messages as the host takes (O9)."""
    systems = [turn for turn in turns if turn.role == "system"]
    if not dialect.most_system_messages or len(systems) <= dialect.most_system_messages:
        return list(turns)
    found.append(
        Note("messages", f"{len(systems)} system messages became one: this host takes no more")
    )
    texts = [
        text
        for turn in systems
        for text in (
            [turn.content] if isinstance(turn.content, str) else _texts(turn.content or ())
        )
    ]
    joined = msgspec.structs.replace(systems[0], content="\n\n".join(texts))
    return [
        joined if turn is systems[0] else turn
        for turn in turns
        if turn.role != "system" or turn is systems[0]
    ]


def _refused(path: str, problem: str, remedy: str = "") -> RuleError:
    return RuleError(violations=[Violation(path, problem, remedy=remedy)])


def _texts(content: Sequence[ContentPart]) -> list[str]:
    return [part.text or "" for part in content]


# --- system, user, tool ---------------------------------------------------------------------------


def _plain(message: Message, path: str, found: list[Note]) -> Iterator[WireMessage]:
    """A message of the system or of the user, unless nothing of it can be said."""
    content: list[ContentPart] = []
    for place, part in enumerate(message.parts):
        here = f"{path}.parts[{place}]"
        if isinstance(part, Text):
            _unsigned(part, here, found)
            content.append(ContentPart(type="text", text=part.text))
        elif isinstance(part, Media):
            content.append(media_part(part, here))
        else:
            _withheld(part, here, found)
    if message.role == "system" and not "".join(_texts(content)).strip():
        found.append(Note(path, "left out: a system message that says nothing"))
    elif len(content) == 1 and content[0].type == "text":
        yield WireMessage(role=message.role, content=content[0].text)
    elif content:
        yield WireMessage(role=message.role, content=content)


def _results(answers: Answers, behind: Sequence[Said], found: list[Note]) -> Iterator[WireMessage]:
    """What stands behind the calls of a message: their results in the order of the calls, and the
    system messages among them.
    """
    media: list[ContentPart] = []
    for answer in answers.results:
        path, result = answer.path, answer.result
        content = result.answer if result.error else result.content
        # Its values were checked with the request.
        text = content if isinstance(content, str) else msgspec.json.encode(content).decode()
        yield WireMessage(role="tool", content=text, tool_call_id=result.id)
        media += [media_part(each, f"{path}.media[{at}]") for at, each in enumerate(result.media)]
        if result.media:
            found.append(
                Note(
                    f"{path}.media",
                    "sent as a message of the user behind the results, which are text here",
                )
            )
    if media:
        yield WireMessage(role="user", content=media)
    last = max((at for at, (_, message) in enumerate(behind) if message.role == "tool"), default=0)
    for at, (path, message) in enumerate(behind):
        if message.role == "system":
            if at < last:
                found.append(
                    Note(path, "moved behind the results, which stand directly behind their calls")
                )
            yield from _plain(message, path, found)


# --- assistant ------------------------------------------------------------------------------------


def _assistant(message: Message, path: str, dialect: Dialect, found: list[Note]) -> WireMessage:
    """What a model said: in its own bytes if it is as it came, else written anew."""
    own = _source(message.origin, _read_message, path, found)
    if own is not None and says_its_calls(own, message):
        return own if own.role == "assistant" else msgspec.structs.replace(own, role="assistant")
    content: list[ContentPart] = []
    reasoning: dict[str, str] = {}
    details: list[ReasoningDetail] = []
    calls: list[WireToolCall] = []
    for place, part in enumerate(message.parts):
        here = f"{path}.parts[{place}]"
        if isinstance(part, Text):
            if calls and part.text:
                found.append(
                    Note(here, "moved before the calls: a message has its text before them here")
                )
            _unsigned(part, here, found)
            content.append(ContentPart(type="text", text=part.text))
        elif isinstance(part, ToolCall):
            calls.append(_call(part, here, found))
        elif isinstance(part, Thought) and part.slot in (*SLOTS, "reasoning_details", "content"):
            _unsigned(part, here, found)
            details += _details(part, here)
            if part.slot == "content":
                content.append(_thinking(part, dialect))
            elif part.text and part.slot in SLOTS:
                reasoning[part.slot] = reasoning.get(part.slot, "") + part.text
        else:
            _withheld(part, here, found)
    return WireMessage(
        role="assistant",
        content=content
        if any(part.type != "text" for part in content)
        else "".join(_texts(content))
        if content
        else None,
        tool_calls=calls or None,
        reasoning_content=reasoning.get("reasoning_content"),
        reasoning=reasoning.get("reasoning"),
        reasoning_text=reasoning.get("reasoning_text"),
        reasoning_details=details or None,
    )


def _source(
    origin: Origin | None, read: Callable[[bytes], W], path: str, found: list[Note]
) -> W | None:
    """What a message or a call was on this wire, `None` if it has no bytes of its own."""
    if origin is None or origin.wire != WIRE:
        return None
    try:
        return origin.source(read)
    except Unreadable:
        if origin.raw:
            found.append(
                Note(path, "written anew: the bytes that it remembers are no JSON of this wire")
            )
        return None


def _read_message(raw: bytes) -> WireMessage:
    """A message that was loaded from a file, as it was when it came: it and its calls remember
    their bytes.
    """
    data = b'{"choices":[{"message":' + raw + b"}]}"
    answer = whole(decoded(data, ChatCompletion), data)
    message = answer.choices[0].message if answer.choices else None
    if message is None:
        raise Unreadable("no message")
    return message


def _read_call(raw: bytes) -> WireToolCall:
    return freeze(decoded(raw, WireToolCall))


def _call(call: ToolCall, path: str, found: list[Note]) -> WireToolCall:
    own = _source(call.origin, _read_call, path, found)
    if own is not None:
        return own
    _unsigned(call, path, found)
    if call.kind == "custom":
        written = WireToolCall(
            id=call.id,
            type="custom",
            custom=CustomCall(name=call.name, input=_input(call)),
            extra_content=call.extra,
        )
    else:
        function = FunctionCall(name=call.name, arguments=_arguments(call, path))
        written = WireToolCall(
            id=call.id, type="function", function=function, extra_content=call.extra
        )
    # What came from a host is for the dialect to judge, as if it had its bytes.
    return written if call.origin is None else _read_call(encode(written))


def _arguments(call: ToolCall, path: str) -> str:
    """The text that came, unless the arguments were changed since."""
    if call.arguments is None or (call.text and arguments_of(call.text) == call.arguments):
        return call.text
    return json_text(call.arguments, f"{path}.arguments")


def _input(call: ToolCall) -> str:
    said = (call.arguments or {}).get("input", call.text)
    return said if isinstance(said, str) else call.text


def _thinking(thought: Thought, dialect: Dialect) -> ContentPart:
    """A thought that came inside the content."""
    if dialect.think_tags:
        return ContentPart(type="text", text=f"{OPEN}{thought.text}{CLOSE}")
    return ContentPart(type="thinking", thinking=[ContentPart(type="text", text=thought.text)])


def _details(thought: Thought, path: str) -> list[ReasoningDetail]:
    try:
        details: list[ReasoningDetail] = convert(list(thought.details), list[ReasoningDetail])
    except msgspec.ValidationError as cause:
        raise _refused(f"{path}.details", str(cause)) from None
    if not details and thought.slot == "reasoning_details" and thought.text:
        details = [ReasoningDetail(type="reasoning.text", index=0, text=thought.text)]
    return details


def _unsigned(part: Text | Thought | ToolCall, path: str, found: list[Note]) -> None:
    if part.signature:
        found.append(Note(path, "withheld: its signature, which has no place here"))


def _withheld(part: Part, path: str, found: list[Note]) -> None:
    """Tell of a part that chat completions have no words for."""
    if isinstance(part, Other):
        found.append(Note(path, f"withheld: {part.kind} is understood by its own vendor only"))
    elif isinstance(part, Media):
        found.append(
            Note(
                path,
                f"withheld: {part.media_type or 'media'} of the assistant does not go back here",
            )
        )
    else:
        found.append(Note(path, "withheld: a thought without a slot of this wire"))


# --- media ----------------------------------------------------------------------------------------

_SOUNDS = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
    "audio/vnd.wave": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
}
_PDF = "application/pdf"
_FILE_ID = re.compile(r"file-[A-Za-z0-9_-]+")
_WEB = re.compile(r"https?://[^\s]+", re.IGNORECASE)
_NO_IMAGE = re.compile(
    r"[^?#]*\.(pdf|docx?|txt|html?|json|csv|wav|mp3|ogg|flac|m4a|mp4|mov|webm|mpe?g|avi)([?#]|$)",
    re.IGNORECASE,
)


def media_part(media: Media, path: str) -> ContentPart:
    """Media as a part of a user's message: an image, a wav or mp3, a PDF.

    >>> media_part(Media(data=b"abc", media_type="audio/mpeg"), "").input_audio
    InputAudio(data='YWJj', format='mp3')

    A URL without a media type is one of an image. Raises `RuleError` for what else there is.
    """
    kind = media.media_type.lower().partition(";")[0].strip()
    detail = media.detail or None
    if media.data is None:
        url = media.url or ""
        if _FILE_ID.fullmatch(url):
            return ContentPart(type="file", file=FileInput(file_id=url))
        if not _WEB.fullmatch(url):
            raise _refused(
                path,
                f"chat completions read http(s) URLs only, not {url[:80]!r}",
                "the bytes: Media(data=..., media_type=...)",
            )
        if not kind.startswith("image/") and (kind or _NO_IMAGE.match(url)):
            raise _refused(
                path,
                "chat completions take URLs of images only, not of "
                f"{kind or 'a file of this name'}",
                "the bytes",
            )
        return ContentPart(type="image_url", image_url=ImageUrl(url=url, detail=detail))
    data = base64.b64encode(media.data).decode()
    if kind.startswith("image/"):
        return ContentPart(
            type="image_url", image_url=ImageUrl(url=f"data:{kind};base64,{data}", detail=detail)
        )
    if kind in _SOUNDS:
        return ContentPart(
            type="input_audio", input_audio=InputAudio(data=data, format=_SOUNDS[kind])
        )
    if kind == _PDF:
        return ContentPart(
            type="file",
            file=FileInput(
                filename=media.name or "document.pdf", file_data=f"data:{_PDF};base64,{data}"
            ),
        )
    raise _refused(path, f"chat completions take images, wav, mp3 and PDF, not {kind}")
