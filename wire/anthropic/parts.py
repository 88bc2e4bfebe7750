"""Writes neutral messages as messages of this wire.

Messages that this model sent are sent back block by block, with the bytes in which they came. Tool
results and the user text after them become one message: the results first, in the order of their
calls, because the server accepts them nowhere else (A8). Adjacent messages of one role are merged,
as the server does. Parts that the wire cannot express are left out with a note, or refused.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import msgspec

from wire.anthropic.fold import keep_bytes
from wire.anthropic.parse import WIRE, parse_reply
from wire.anthropic.rules import CALL_ID, TOOL_NAME
from wire.anthropic.types import CacheControl, ContentBlock, MessageResponse, Source
from wire.anthropic.types import Message as WireMessage
from wire.core.arguments import checked_arguments
from wire.core.errors import HistoryError, LimitError, RuleError, Violation
from wire.core.lenient import Unreadable, decoded
from wire.core.memory import Note, WireStruct, freeze, raw_of, remember
from wire.core.provider import Provider
from wire.neutral.ids import CallIds, LegalIds, ToolNames, safe_names
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
    ToolCall,
    ToolResult,
    own_text,
    source_of,
)
from wire.neutral.pairing import Answers
from wire.neutral.rendering import transcript_note

W = TypeVar("W", bound=WireStruct)

SentMessage: TypeAlias = tuple[str, Message]
"""Path of a message in the neutral request, and the message."""

IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
PDF = "application/pdf"


def system_of(
    system: str,
    conversation: Sequence[SentMessage],
    notes: list[Note],
    breakpoints: Mapping[str, CacheControl],
) -> list[ContentBlock]:
    """Return the system texts: `system`, then the texts of all system messages.

    The wire has one place for them, before the conversation; each moved message gets a note.
    `breakpoints` are those of messages, by path.
    """
    blocks = [ContentBlock(type="text", text=system)] if system.strip() else []
    has_begun = False
    for path, message in conversation:
        is_turn = not message.instructs
        has_begun = has_begun or is_turn
        if not is_turn:
            own_texts = [
                part.text for part in message.parts if isinstance(part, Text) and part.text.strip()
            ]
            blocks += [ContentBlock(type="text", text=text) for text in own_texts]
            if own_texts and path in breakpoints:
                blocks[-1] = msgspec.structs.replace(blocks[-1], cache_control=breakpoints[path])
            if not own_texts:
                notes.append(Note(path, "left out: an empty system message"))
            elif has_begun:
                notes.append(
                    Note(
                        path,
                        "moved to the top: the wire has one system text, before the conversation",
                    )
                )
    return blocks


def wire_messages(
    conversation: Sequence[SentMessage],
    answers: Mapping[str, Answers],
    tools: Iterable[str],
    notes: list[Note],
    breakpoints: Mapping[str, CacheControl],
) -> list[WireMessage]:
    """Render the user and assistant messages of a conversation that `wire.history.check` accepts.

    `answers` are the results of the calls, by the path of the message with the calls. `tools` are
    the tool names in use, which a renamed call must not get. `breakpoints` are those of messages,
    by path. Raises `HistoryError` or `RuleError` that names the part which the wire cannot express.
    """
    calls = (
        (path, part.name)
        for path, message in conversation
        for part in message.parts
        if isinstance(part, ToolCall)
    )
    writer = _Writer(safe_names(calls, tools, _TOOL_NAMES, notes), notes, breakpoints)
    turns: list[tuple[str, list[ContentBlock]]] = []
    for role, blocks in writer.turns(conversation, answers):
        if not blocks:
            continue
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(blocks)
        else:
            turns.append((role, blocks))
    sent = [each for each in conversation if not each[1].instructs]
    path, last = (sent[-1][0], sent[-1][1].role) if sent else ("messages", "")
    if not turns or (turns[-1][0] == "assistant" and last != "assistant"):
        remedy = "remove it, or write it as text"
        raise _refused(path, "no part of it can be sent to this model", "A5", remedy)
    return [_message(role, blocks) for role, blocks in turns]


def _message(role: str, blocks: list[ContentBlock]) -> WireMessage:
    """Render a message; one text block becomes a plain text, unless it remembers received bytes."""
    only = blocks[0]
    if (
        len(blocks) == 1
        and only == ContentBlock(type="text", text=only.text)
        and raw_of(only) is None
    ):
        return WireMessage(role=role, content=only.text)
    return WireMessage(role=role, content=blocks)


_TOOL_NAMES = ToolNames(
    legal=TOOL_NAME,
    most=128,
    kept=120,
    note="calls of {name} are sent as {safe}: the wire refuses the original name",
)


def _refused(path: str, problem: str, rule: str = "", remedy: str = "") -> HistoryError:
    return HistoryError(violations=[Violation(path, problem, rule, remedy=remedy)])


class _Writer:
    """Writes the messages of one conversation as blocks, and notes what it changes."""

    def __init__(
        self, names: Mapping[str, str], notes: list[Note], breakpoints: Mapping[str, CacheControl]
    ) -> None:
        self._names, self._notes, self._breakpoints = names, notes, breakpoints
        self._ids = LegalIds(CallIds(letters="[a-zA-Z0-9_-]"))
        self._used_ids: set[str] = set()
        self._sent_ids: dict[str, str] = {}  # of the current turn: id of a call -> id as sent

    def turns(
        self, conversation: Sequence[SentMessage], answers: Mapping[str, Answers]
    ) -> Iterator[tuple[str, list[ContentBlock]]]:
        """Yield the role and the blocks of each message.

        The results of a turn come directly after its calls.
        """
        for path, message in conversation:
            text = own_text(message)
            role = message.role
            if text and not text.isspace() and (role == "user" or role == "assistant"):
                yield role, [ContentBlock(type="text", text=text)]
            elif role == "user" or role == "assistant":
                blocks = (
                    self._user(message, path) if role == "user" else self._assistant(message, path)
                )
                yield role, self._marked(blocks, path) if path in self._breakpoints else blocks
                if path in answers:
                    yield "user", self._result_blocks(answers[path])

    def _marked(self, blocks: list[ContentBlock], path: str) -> list[ContentBlock]:
        """Return the blocks of a message with its breakpoint."""
        from wire.anthropic.caching import marked  # few requests have breakpoints

        with_mark = marked(blocks, self._breakpoints[path])
        if with_mark is None:
            self._notes.append(Note(f"{path}.cache", "left out: no part of it can be marked"))
        return blocks if with_mark is None else with_mark

    # --- user

    def _user(self, message: Message, path: str) -> list[ContentBlock]:
        blocks: list[ContentBlock] = []
        for index, part in enumerate(message.parts):
            part_path = f"{path}.parts[{index}]"
            if isinstance(part, Text):
                blocks += self._text(part, part_path)
            elif isinstance(part, Media):
                blocks.append(self._media(part, part_path))
            elif isinstance(part, Other) and (
                own := self._source(part.origin, _read_block, part_path)
            ):
                blocks.append(own)
            else:
                self._withhold(part, part_path)
        return blocks

    def _text(self, part: Text, path: str) -> list[ContentBlock]:
        if part.signature:
            self._notes.append(
                Note(path, "withheld: the signature, which the wire has no field for")
            )
        if not part.text.strip():
            self._notes.append(Note(path, "left out: a blank text, which the server refuses (A6)"))
            return []
        return [ContentBlock(type="text", text=part.text)]

    def _media(self, media: Media, path: str) -> ContentBlock:
        for name in ("detail", "start", "end", "fps"):
            if getattr(media, name) not in ("", "auto", None):
                self._notes.append(Note(f"{path}.{name}", "left out: the wire has no field for it"))
        block = media_block(media, path)
        if media.name and block.type == "image":
            self._notes.append(Note(f"{path}.name", "left out: images have no name on this wire"))
        return block

    # --- assistant

    def _assistant(self, message: Message, path: str) -> list[ContentBlock]:
        self._sent_ids = {}
        source = self._source(message.origin, _read_message, path)
        blocks = source.content if source is not None and isinstance(source.content, list) else []
        received = source is not None and _matches(blocks, message.parts)
        if source is not None and not received:
            self._notes.append(
                Note(path, "rebuilt: it differs from the bytes that it was received with")
            )
        result: list[ContentBlock] = []
        for index, part in enumerate(message.parts):
            part_path = f"{path}.parts[{index}]"
            block = blocks[index] if received else self._source(part.origin, _read_block, part_path)
            result += (
                self._part(part, part_path)
                if block is None
                else self._received_part(part, block, part_path)
            )
        return result

    def _source(self, origin: Origin | None, read: Callable[[bytes], W], path: str) -> W | None:
        """Return the struct that a part or message was received as; `None` if there is none."""
        if origin is None or origin.wire != WIRE:
            return None
        try:
            return source_of(origin, read)
        except (Unreadable, LimitError):
            if origin.raw:
                self._notes.append(
                    Note(
                        path,
                        "rebuilt: the bytes that it was received with are not valid",
                    )
                )
            return None

    def _received_part(self, part: Part, block: ContentBlock, path: str) -> list[ContentBlock]:
        """Return a received block with its own bytes, unless the server would refuse it.

        Changing a field drops the bytes of the block. So only fields whose value differs are
        replaced, and a legal block is sent back byte for byte.
        """
        if block.type == "text" and not block.text:
            self._notes.append(Note(path, "left out: a blank text, which the server refuses (A6)"))
            return []
        if not isinstance(part, ToolCall):
            return [block]
        arguments = self._arguments(part, path)
        changed: dict[str, Any] = {
            "id": self._call_id(part, path),
            "name": self._names.get(part.name, part.name),
        }
        if part.arguments is None:
            changed["input"] = arguments
        changed = {key: value for key, value in changed.items() if getattr(block, key) != value}
        return [msgspec.structs.replace(block, **changed) if changed else block]

    def _part(self, part: Part, path: str) -> list[ContentBlock]:
        """Render a part that was not received on this wire."""
        if isinstance(part, Text):
            return self._text(part, path)
        if isinstance(part, ToolCall):
            return [self._call(part, path)]
        if isinstance(part, Thought) and part.signature:
            return [ContentBlock(type="thinking", thinking=part.text, signature=part.signature)]
        if (
            isinstance(part, Thought)
            and part.slot == "redacted_thinking"
            and part.details
            and isinstance(part.details[0].get("data"), str)
        ):
            return [ContentBlock(type="redacted_thinking", data=part.details[0]["data"])]
        if isinstance(part, Media) and part.transcript.strip():
            self._notes.append(transcript_note(path))
            return [ContentBlock(type="text", text=part.transcript)]
        self._withhold(part, path)
        return []

    def _call(self, call: ToolCall, path: str) -> ContentBlock:
        if call.extra or call.signature:
            self._notes.append(
                Note(
                    path,
                    f"withheld: data of the call of {call.name} that the wire has no field for",
                )
            )
        arguments = self._arguments(call, path)
        return ContentBlock(
            type="tool_use",
            id=self._call_id(call, path),
            name=self._names.get(call.name, call.name),
            input=arguments,
        )

    def _arguments(self, call: ToolCall, path: str) -> dict[str, Any]:
        if call.arguments is None and call.origin is not None:
            # A received call that was cut off. Refusing it would end the conversation, so the text
            # is sent in an object, and the model sees from the result what went wrong.
            self._notes.append(
                Note(
                    path, f"wrapped: the arguments of the call of {call.name} are not a JSON object"
                )
            )
            return {"invalid_json": call.text}
        if not isinstance(call.arguments, Mapping):
            remedy = "wire.history.repair(messages), or remove the call and its result"
            raise _refused(
                path,
                f"the arguments of the call of {call.name} are not a JSON object",
                "A14",
                remedy,
            )
        return dict(call.arguments)

    def _call_id(self, call: ToolCall, path: str) -> str:
        """Return the id of a call as sent: legal, and unique in the conversation (A12, A13)."""
        # Other vendors repeat ids in later turns. A repeated id gets a key of its own, so that
        # `LegalIds` makes a new id; `_sent_ids` gives the results of this turn the same one.
        key, occurrence = call.id, 1
        while key in self._used_ids:
            occurrence += 1
            key = f"{call.id} {occurrence}"
        self._used_ids.add(key)
        sent = self._ids.legal(key)
        if sent != call.id:
            why = "an earlier call has it" if CALL_ID.fullmatch(call.id) else "the wire refuses it"
            self._notes.append(
                Note(
                    path,
                    f"the id {call.id!r} of the call and its result was changed to {sent}: {why}",
                )
            )
        self._sent_ids[call.id] = sent
        return sent

    # --- results

    def _result_blocks(self, answers: Answers) -> list[ContentBlock]:
        """Render the results of a turn, then the media that a result must not contain."""
        if answers.moved:
            self._notes.append(
                Note(answers.moved, "the results were sorted into the order of their calls")
            )
        after_results: list[ContentBlock] = []
        blocks = [self._result(each.result, each.path, after_results) for each in answers.results]
        if self._breakpoints:
            # The results of one message may stand between those of others: its last one counts.
            last = {each.path.partition(".")[0]: at for at, each in enumerate(answers.results)}
            for path, at in last.items():
                if path in self._breakpoints:
                    [blocks[at]] = self._marked([blocks[at]], path)
        return [*blocks, *after_results]

    def _result(
        self, result: ToolResult, path: str, after_results: list[ContentBlock]
    ) -> ContentBlock:
        text = (
            result.content  # checked with its request
            if isinstance(result.content, str)
            else msgspec.json.encode(result.content).decode()
        )
        media = [
            self._media(each, f"{path}.media[{index}]") for index, each in enumerate(result.media)
        ]
        if media and result.error:
            self._notes.append(
                Note(f"{path}.media", "sent after the results: an error result has text only (A15)")
            )
            after_results += media
            media = []
        content: str | list[ContentBlock] = text
        if media:
            content = [*([ContentBlock(type="text", text=text)] if text.strip() else []), *media]
        return ContentBlock(
            type="tool_result",
            tool_use_id=self._sent_ids[result.id],
            content=content,
            is_error=result.error or None,
        )

    def _withhold(self, part: Part, path: str) -> None:
        """Note a part that the wire cannot express."""
        if isinstance(part, Other):
            self._notes.append(Note(path, f"withheld: only its own vendor accepts {part.kind}"))
        elif isinstance(part, ServerToolCall | ServerToolResult):
            self._notes.append(Note(path, f"withheld: the server of a vendor ran {part.name}"))
        elif isinstance(part, Media):
            self._notes.append(
                Note(
                    path,
                    f"withheld: the wire has no field for {part.media_type or 'media'} of the "
                    "assistant",
                )
            )
        else:
            self._notes.append(Note(path, "withheld: a thought without a signature"))


def _matches(blocks: Sequence[ContentBlock], parts: Sequence[Part]) -> bool:
    """Return whether the blocks correspond to these parts.

    They may not: a saved conversation can have been edited by hand.
    """
    return len(blocks) == len(parts) and all(
        isinstance(part, ToolCall) == (block.type == "tool_use")
        for part, block in zip(parts, blocks, strict=True)
    )


def _read_message(raw: bytes) -> WireMessage:
    """Read the received message of a saved conversation, with blocks that remember their bytes."""
    return WireMessage(
        role="assistant", content=keep_bytes(decoded(raw, MessageResponse), raw).content or []
    )


def _read_block(raw: bytes) -> ContentBlock:
    return remember(freeze(decoded(raw, ContentBlock)), raw)


@checked_arguments()
def parse_message(
    raw: bytes, provider: Provider | str = "anthropic", *, part: bool = False
) -> tuple[Message, ...]:
    """Parse the bytes of a message that `parse_reply` made and that was saved; return each message
    that they can mean.

    With `part`, they are the bytes of one part. There is more than one reading if it depends on
    settings of the client that are not saved. Raises `Unreadable` for bytes that no host sent, and
    `LimitError`.
    """
    content = [_read_block(raw)] if part else _read_message(raw).content
    blocks = content if isinstance(content, list) else None
    return (parse_reply(MessageResponse(content=blocks)).message,)


# --- media ----------------------------------------------------------------------------------------

_FILE_ID = re.compile(r"file_[A-Za-z0-9_-]+")
_WEB = re.compile(r"https?://[^\s]+", re.IGNORECASE)
_PDF_NAME = re.compile(r"[^?#]*\.pdf([?#]|$)", re.IGNORECASE)
_NO_IMAGE = re.compile(
    r"[^?#]*\.(docx?|txt|html?|json|csv|wav|mp3|ogg|flac|m4a|mp4|mov|webm|mpe?g|avi)([?#]|$)",
    re.IGNORECASE,
)


def media_block(media: Media, path: str) -> ContentBlock:
    """Render media as a block: an image, or a document as PDF or text.

    >>> media_block(Media(data=b"Ebb at five.", media_type="text/plain", name="Tides"), "").source
    Source(type='text', media_type='text/plain', data='Ebb at five.')

    A URL without a media type is taken for an image, unless its path ends in `.pdf`. Raises
    `RuleError` for other media.
    """
    kind = media.media_type.lower().partition(";")[0].strip()
    kind = "image/jpeg" if kind == "image/jpg" else kind
    if media.data is None:
        return _by_url(media, kind, path)
    if kind in IMAGE_TYPES:
        return ContentBlock(
            type="image", source=Source(type="base64", media_type=kind, data=_base64(media.data))
        )
    if kind == PDF:
        return _document(Source(type="base64", media_type=PDF, data=_base64(media.data)), media)
    if is_text(kind):
        try:
            text = media.data.decode()
        except UnicodeDecodeError as cause:
            raise _unsupported_media(path, f"a text document must be UTF-8: {cause}") from None
        if not text.strip():
            raise _unsupported_media(path, "the text document is blank")
        return _document(Source(type="text", media_type="text/plain", data=text), media)
    raise _unsupported_media(
        path, f"expected an image (jpeg, png, gif, webp), PDF or text, not {kind}"
    )


def _by_url(media: Media, kind: str, path: str) -> ContentBlock:
    url = media.url or ""
    if _FILE_ID.fullmatch(url):
        source = Source(type="file", file_id=url)
        return (
            ContentBlock(type="image", source=source)
            if kind.startswith("image/")
            else _document(source, media)
        )
    if not _WEB.fullmatch(url):
        raise _unsupported_media(
            path,
            f"expected an http(s) URL or the id of a file, not {url[:80]!r}",
            "send the bytes",
        )
    if kind == PDF or (not kind and _PDF_NAME.match(url)):
        return _document(Source(type="url", url=url), media)
    if kind in IMAGE_TYPES or (not kind and not _NO_IMAGE.match(url)):
        return ContentBlock(type="image", source=Source(type="url", url=url))
    raise _unsupported_media(
        path,
        f"expected the URL of an image or a PDF, not of {kind or 'a file of this name'}",
        "send the bytes",
    )


def _document(source: Source, media: Media) -> ContentBlock:
    return ContentBlock(type="document", source=source, title=media.name or None)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _unsupported_media(path: str, problem: str, remedy: str = "") -> RuleError:
    return RuleError(violations=[Violation(path, problem, remedy=remedy)])
