"""Writes neutral messages as messages of chat completions.

A message that the model sent is sent back with the bytes in which it came, if it is unchanged;
`turns.py` then removes what this host does not accept. Parts that chat completions cannot express
are left out with a note, or refused.
"""

from __future__ import annotations

import base64
import functools
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import msgspec

from wire.core.arguments import checked_arguments
from wire.core.decoders import convert
from wire.core.errors import RuleError, Violation
from wire.core.json_values import json_text
from wire.core.lenient import Unreadable, decoded, portable_fields
from wire.core.memory import Note, WireStruct, encode, freeze
from wire.core.provider import Provider
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
    ToolCall,
    own_text,
    source_of,
)
from wire.neutral.pairing import NO_ANSWERS, Answers
from wire.neutral.rendering import note_names, transcript_note
from wire.neutral.request import TEXT_PARAMETER
from wire.openai.chat.fold import keep_bytes
from wire.openai.chat.parse import SLOTS, WIRE, has_all_calls, parse_reply
from wire.openai.chat.thinking import CLOSE, OPEN
from wire.openai.chat.types import (
    Audio,
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
from wire.openai.common.arguments import arguments_of, custom_input
from wire.openai.common.dialect import PLAIN, Dialect
from wire.openai.common.media import FILE_ID, NO_IMAGE_NAME, WEB_URL
from wire.openai.common.rows import provider_row

if TYPE_CHECKING:  # few requests have breakpoints
    from wire.openai.common.caching import Breakpoints

W = TypeVar("W", bound=WireStruct)

SentMessage: TypeAlias = tuple[str, Message]
"""Path of a message in the neutral request, and the message."""


def wire_messages(
    conversation: Sequence[SentMessage],
    answers: Mapping[str, Answers],
    custom_tools: Container[str],
    dialect: Dialect,
    notes: list[Note],
    breakpoints: Breakpoints[WireMessage] | None = None,
) -> list[WireMessage]:
    """Render the messages in their order, with the results of a turn directly after its calls (O2).

    `answers` are the results of the calls, by the path of the message with the calls, and
    `custom_tools` the names of tools that the request declares as custom ones. `breakpoints` are
    `None` if no message gets one. Raises `RuleError` for media that chat completions do not accept,
    and values that JSON cannot encode.
    """
    turns: list[WireMessage] = []
    index = 0
    while index < len(conversation):
        path, message = conversation[index]
        index += 1
        text = own_text(message)
        if text is not None and (message.role == "user" or message.role == "assistant"):
            turns.append(WireMessage(role=message.role, content=text, name=message.name or None))
            continue
        if message.role != "assistant":
            own = _user_or_system(message, path, dialect, notes)
            turns += own if breakpoints is None else breakpoints.marked(path, own)
            continue
        sent = _assistant(message, path, custom_tools, dialect, notes)
        turns += [sent] if breakpoints is None else breakpoints.marked(path, [sent])
        following = index
        while (
            message.tool_calls
            and index < len(conversation)
            and (conversation[index][1].role == "tool" or conversation[index][1].instructs)
        ):
            index += 1
        ids = _sent_ids(message, sent)
        after = conversation[following:index]
        of_turn = answers.get(path, NO_ANSWERS)
        results = _results(of_turn, after, ids, dialect, notes, breakpoints)
        if breakpoints is None:
            turns += results
            continue
        made = list(results)
        # The results of one message may stand between those of others: its last one counts.
        last = {each.path.partition(".")[0]: at for at, each in enumerate(of_turn.results)}
        for each, at in last.items():
            made[at : at + 1] = breakpoints.marked(each, made[at : at + 1])
        turns += made
    return turns


def one_system(
    turns: Sequence[WireMessage], dialect: Dialect, notes: list[Note]
) -> list[WireMessage]:
    """Join system messages where the host accepts fewer: one message then has all texts (O9)."""
    systems = [turn for turn in turns if turn.role == "system"]
    if not dialect.most_system_messages or len(systems) <= dialect.most_system_messages:
        return list(turns)
    notes.append(
        Note(
            "messages",
            f"{len(systems)} system messages were merged: this host accepts at most "
            f"{dialect.most_system_messages}",
        )
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


def _user_or_system(
    message: Message, path: str, dialect: Dialect, notes: list[Note]
) -> Iterator[WireMessage]:
    """Yield a system or user message; yield nothing if no part of it can be expressed."""
    content: list[ContentPart] = []
    for index, part in enumerate(message.parts):
        part_path = f"{path}.parts[{index}]"
        if isinstance(part, Text):
            _note_signature(part, part_path, notes)
            content.append(ContentPart(type="text", text=part.text))
        elif isinstance(part, Media):
            content.append(media_part(part, part_path))
        elif isinstance(part, Other) and (own := _source(part.origin, _PART, part_path, notes)):
            content.append(own)
        else:
            _note_withheld(part, part_path, notes)
    role = "system" if message.instructs and not dialect.developer_role else message.role
    name = message.name or None
    if message.instructs and not "".join(_texts(content)).strip():
        notes.append(Note(path, "left out: an empty system message"))
    elif len(content) == 1 and content[0].type == "text":
        yield WireMessage(role=role, content=content[0].text, name=name)
    elif content:
        yield WireMessage(role=role, content=content, name=name)


def _sent_ids(message: Message, sent: WireMessage) -> dict[str, str]:
    """Map the id of each call to the id in the message as sent, which has the host's own ids.

    They differ where a host gave two calls the same id. Its results then come in the order of the
    calls.
    """
    calls = sent.tool_calls or ()
    if len(calls) != len(message.tool_calls):
        return {}
    return {
        call.id: wire.id for call, wire in zip(message.tool_calls, calls, strict=True) if wire.id
    }


def _results(
    answers: Answers,
    following: Sequence[SentMessage],
    ids: Mapping[str, str],
    dialect: Dialect,
    notes: list[Note],
    breakpoints: Breakpoints[WireMessage] | None,
) -> Iterator[WireMessage]:
    """Yield the messages after the calls of a message.

    These are the results, in the order of the calls, then their media, then the system messages
    that came between the results.
    """
    media: list[ContentPart] = []
    for answer in answers.results:
        path, result = answer.path, answer.result
        content = result.answer if result.error else result.content
        # Its values were checked with the request.
        text = content if isinstance(content, str) else msgspec.json.encode(content).decode()
        yield WireMessage(role="tool", content=text, tool_call_id=ids.get(result.id, result.id))
        media += [
            media_part(each, f"{path}.media[{index}]") for index, each in enumerate(result.media)
        ]
        if result.media:
            notes.append(
                Note(
                    f"{path}.media",
                    "sent as a user message after the results, which have text only",
                )
            )
    if media:
        yield WireMessage(role="user", content=media)
    last = max(
        (index for index, (_, message) in enumerate(following) if message.role == "tool"), default=0
    )
    for index, (path, message) in enumerate(following):
        if message.instructs:
            if index < last:
                notes.append(
                    Note(path, "moved after the results, which must directly follow their calls")
                )
            own = _user_or_system(message, path, dialect, notes)
            yield from own if breakpoints is None else breakpoints.marked(path, own)
        else:
            note_names([(path, message)], notes)


# --- assistant ------------------------------------------------------------------------------------


def _assistant(
    message: Message,
    path: str,
    custom_tools: Container[str],
    dialect: Dialect,
    notes: list[Note],
) -> WireMessage:
    """Render an assistant message: with its received bytes if it is unchanged, else rebuilt."""
    source = _source(message.origin, _read_message, path, notes)
    # The calls decide: a saved conversation can have been edited by hand, and calls that differ
    # from the bytes would no longer match their results.
    if source is not None and has_all_calls(source, message):
        if source.role == "assistant":
            return source
        return _read_message(encode({**portable_fields(source), "role": "assistant"}))
    content: list[ContentPart] = []
    reasoning: dict[str, str] = {}
    details: list[ReasoningDetail] = []
    calls: list[WireToolCall] = []
    audio: Audio | None = None
    images: list[ContentPart] = []
    for index, part in enumerate(message.parts):
        part_path = f"{path}.parts[{index}]"
        if isinstance(part, Text):
            if calls and part.text:
                notes.append(
                    Note(part_path, "moved before the calls: this wire has the text first")
                )
            _note_signature(part, part_path, notes)
            if part.refusal and dialect.refusals:
                # A refusal is content, which a message without calls must have.
                content.append(ContentPart(type="refusal", refusal=part.text))
                continue
            if part.refusal:
                notes.append(Note(part_path, "sent as a text: this host has no refusals"))
            content.append(ContentPart(type="text", text=part.text))
        elif isinstance(part, ToolCall):
            calls.append(_call(part, part_path, custom_tools, dialect, notes))
        elif isinstance(part, Thought) and part.slot in (*SLOTS, "reasoning_details", "content"):
            _note_signature(part, part_path, notes)
            details += _details(part, part_path)
            if part.slot == "content":
                content.append(_thinking(part, dialect))
            elif part.text and part.slot in SLOTS:
                reasoning[part.slot] = reasoning.get(part.slot, "") + part.text
        elif isinstance(part, Media):
            # Imported here, since few models speak or draw.
            from wire.openai.chat.media import is_image, sent_image, sent_speech

            speech = sent_speech(part) if audio is None and "audio" in dialect.takes else None
            if speech is not None:
                audio = speech
            elif is_image(part) and "images" in dialect.takes:
                images.append(sent_image(part))
            elif part.transcript:
                notes.append(transcript_note(part_path))
                content.append(ContentPart(type="text", text=part.transcript))
            else:
                _note_withheld(part, part_path, notes)
        else:
            _note_withheld(part, part_path, notes)
    return WireMessage(
        role="assistant",
        name=message.name or None,
        content=content
        if any(part.type != "text" for part in content)
        else "".join(_texts(content))
        if content
        else None,
        tool_calls=calls or None,
        audio=audio,
        images=images or None,
        reasoning_content=reasoning.get("reasoning_content"),
        reasoning=reasoning.get("reasoning"),
        reasoning_text=reasoning.get("reasoning_text"),
        reasoning_details=details or None,
    )


def _source(
    origin: Origin | None, read: Callable[[bytes], W], path: str, notes: list[Note]
) -> W | None:
    """Return the struct that a message or call was received as; `None` if it was not received."""
    if origin is None or origin.wire != WIRE:
        return None
    try:
        return source_of(origin, read)
    except Unreadable:
        if origin.raw:
            notes.append(Note(path, "rebuilt: the bytes that it was received with are not valid"))
        return None


def _read_message(raw: bytes) -> WireMessage:
    """Read the received message of a saved conversation; it and its calls remember their bytes."""
    completion = _read_completion(raw)
    message = completion.choices[0].message if completion.choices else None
    if message is None:
        raise Unreadable("the bytes have no message")
    return message


def _read_completion(message: bytes) -> ChatCompletion:
    """Read a completion of one message.

    `keep_bytes` gives each message and call in it its own bytes.
    """
    data = b'{"choices":[{"message":' + message + b"}]}"
    return keep_bytes(decoded(data, ChatCompletion), data)


def _read_call(raw: bytes) -> WireToolCall:
    return freeze(decoded(raw, WireToolCall))


@checked_arguments()
def parse_message(
    raw: bytes, provider: Provider | str = "openai", *, part: bool = False
) -> tuple[Message, ...]:
    """Parse the bytes of a message that `parse_reply` made and that was saved; return each message
    that they can mean.

    With `part`, they are the bytes of one part. There is more than one reading if it depends on
    settings of the client that are not saved. Raises `Unreadable` for bytes that no host sent, and
    `LimitError`.
    """
    if part:
        _read_call(raw)  # the only part with bytes of its own
        raw = b'{"tool_calls":[' + raw + b"]}"
    completion = _read_completion(raw)
    dialects = [provider_row(provider).dialect, PLAIN]
    if b"think>" in raw:
        dialects += [Dialect(think_tags="tags"), Dialect(think_tags="open_implied")]
    return tuple(parse_reply(completion, each).message for each in dialects)


def _call(
    call: ToolCall, path: str, custom_tools: Container[str], dialect: Dialect, notes: list[Note]
) -> WireToolCall:
    source = _source(call.origin, _read_call, path, notes)
    if source is not None:
        return source
    _note_signature(call, path, notes)
    custom = custom_input(call, custom_tools)
    if custom is not None and dialect.custom_tools:
        call_struct = WireToolCall(
            id=call.id,
            type="custom",
            custom=CustomCall(name=call.name, input=custom),
            extra_content=call.extra,
        )
    else:
        arguments = (
            _arguments(call, path)
            if custom is None
            else json_text({TEXT_PARAMETER: custom}, f"{path}.arguments")
        )
        function = FunctionCall(name=call.name, arguments=arguments)
        call_struct = WireToolCall(
            id=call.id, type="function", function=function, extra_content=call.extra
        )
    # A received call is encoded and decoded, so that it remembers bytes: `turns.py` removes keys
    # that the host does not accept only from received messages, not from those of the caller.
    return call_struct if call.origin is None else _read_call(encode(call_struct))


def _arguments(call: ToolCall, path: str) -> str:
    """Return the received text, unless the arguments have changed since it was received."""
    if call.arguments is None or (call.text and arguments_of(call.text) == call.arguments):
        return call.text
    return json_text(call.arguments, f"{path}.arguments")


def _thinking(thought: Thought, dialect: Dialect) -> ContentPart:
    """Return reasoning that was received inside the content, in the form that the host sends."""
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


def _note_signature(part: Text | Thought | ToolCall, path: str, notes: list[Note]) -> None:
    if part.signature:
        notes.append(Note(path, "withheld: the signature, which the wire has no field for"))


def _note_withheld(part: Part, path: str, notes: list[Note]) -> None:
    """Note a part that chat completions cannot express."""
    if isinstance(part, Other):
        notes.append(Note(path, f"withheld: only its own vendor accepts {part.kind}"))
    elif isinstance(part, ServerToolCall | ServerToolResult):
        notes.append(Note(path, f"withheld: the server of a vendor ran {part.name}"))
    elif isinstance(part, Media):
        notes.append(
            Note(
                path,
                f"withheld: the wire has no field for {part.media_type or 'media'} of the "
                "assistant",
            )
        )
    else:
        notes.append(Note(path, "withheld: the thought belongs to no reasoning field of this wire"))


# --- media ----------------------------------------------------------------------------------------

_AUDIO_FORMATS = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
    "audio/vnd.wave": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
}
_PART: Callable[[bytes], ContentPart] = functools.partial(decoded, kind=ContentPart)
_PDF = "application/pdf"


def media_part(media: Media, path: str) -> ContentPart:
    """Render media as a part of a user message: an image, wav or mp3 audio, or a PDF.

    >>> media_part(Media(data=b"abc", media_type="audio/mpeg"), "").input_audio
    InputAudio(data='YWJj', format='mp3')

    A URL without a media type is taken for an image. Raises `RuleError` for other media.
    """
    kind = media.media_type.lower().partition(";")[0].strip()
    detail = media.detail or None
    if media.data is None:
        url = media.url or ""
        if FILE_ID.fullmatch(url):
            return ContentPart(type="file", file=FileInput(file_id=url))
        if not WEB_URL.fullmatch(url):
            raise _refused(
                path,
                f"expected an http(s) URL, not {url[:80]!r}",
                "send the bytes: Media(data=..., media_type=...)",
            )
        if not kind.startswith("image/") and (kind or NO_IMAGE_NAME.match(url)):
            raise _refused(
                path,
                f"expected the URL of an image, not of {kind or 'a file of this name'}",
                "send the bytes",
            )
        return ContentPart(type="image_url", image_url=ImageUrl(url=url, detail=detail))
    data = base64.b64encode(media.data).decode()
    if kind.startswith("image/"):
        return ContentPart(
            type="image_url", image_url=ImageUrl(url=f"data:{kind};base64,{data}", detail=detail)
        )
    if kind in _AUDIO_FORMATS:
        return ContentPart(
            type="input_audio", input_audio=InputAudio(data=data, format=_AUDIO_FORMATS[kind])
        )
    if kind == _PDF:
        return ContentPart(
            type="file",
            file=FileInput(
                filename=media.name or "document.pdf", file_data=f"data:{_PDF};base64,{data}"
            ),
        )
    raise _refused(path, f"expected an image, wav, mp3 or PDF, not {kind}")
