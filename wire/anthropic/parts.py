"""Neutral messages as messages of this wire; what it has no place for is left out and told, or
refused.

What this model said goes back block by block in the bytes it came in. What the user says and the
results of tools become one message, the results first, in the order of their calls; neighbours of
one role are put together, as the vendor does it itself.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import msgspec

from wire.anthropic.fold import whole
from wire.anthropic.parse import WIRE
from wire.anthropic.rules.turns import ID, TOOL_NAME
from wire.anthropic.types import ContentBlock, MessageResponse, Source
from wire.anthropic.types import Message as WireMessage
from wire.core.lenient import Unreadable, decoded
from wire.core.memory import Note, WireStruct, freeze, remember
from wire.errors import HistoryError, LimitError, RuleError, Violation
from wire.neutral.ids import CallIds, LegalIds
from wire.neutral.messages import (
    Media,
    Message,
    Origin,
    Other,
    Part,
    Text,
    Thought,
    ToolCall,
    ToolResult,
)
from wire.neutral.pairing import Answers
from wire.neutral.rendering import ToolNames, safe_names

W = TypeVar("W", bound=WireStruct)

Said: TypeAlias = tuple[str, Message]
"""A message, and its path in the request."""

IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
PDF = "application/pdf"


def system_of(system: str, said: Sequence[Said], found: list[Note]) -> list[str]:
    """What the system says, a text for each: what stands in the middle of the conversation is moved
    to its top.
    """
    texts = [system] if system.strip() else []
    begun = False
    for path, message in said:
        begun = begun or message.role != "system"
        if message.role == "system":
            kept = [
                part.text for part in message.parts if isinstance(part, Text) and part.text.strip()
            ]
            texts += kept
            if not kept:
                found.append(Note(path, "left out: a system message that says nothing"))
            elif begun:
                found.append(Note(path, "moved to the top: the system has one place here"))
    return texts


def wire_messages(
    said: Sequence[Said],
    answers: Mapping[str, Answers],
    tools: Iterable[str],
    found: list[Note],
) -> list[WireMessage]:
    """The turns of a conversation that `wire.history.check` has nothing against, without what the
    system says.

    `answers` are the results of the calls, by the path of the message with the calls. `tools` are
    the names that are taken. Raises `HistoryError` or `RuleError` that names the part
    which cannot be said.
    """
    calls = ((path, call.name) for path, message in said for call in message.tool_calls)
    writing = _Writing(safe_names(calls, tools, _NAMES, found), found)
    turns: list[tuple[str, list[ContentBlock]]] = []
    for role, blocks in writing.turns(said, answers):
        if not blocks:
            continue
        if turns and turns[-1][0] == role:
            turns[-1][1].extend(blocks)
        else:
            turns.append((role, blocks))
    spoken = [path for path, message in said if message.role != "system"]
    if not turns or turns[-1][0] == "assistant":
        remedy = "leave it out, or say it in words"
        raise _refused(
            spoken[-1] if spoken else "messages",
            "nothing of it can be sent to this model",
            "A5",
            remedy,
        )
    return [_message(role, blocks) for role, blocks in turns]


def _message(role: str, blocks: list[ContentBlock]) -> WireMessage:
    """One text that was written here stands alone, everything else in blocks."""
    only = blocks[0]
    if len(blocks) == 1 and only == ContentBlock(type="text", text=only.text) and only.raw is None:
        return WireMessage(role=role, content=only.text)
    return WireMessage(role=role, content=blocks)


_NAMES = ToolNames(
    legal=TOOL_NAME,
    most=128,
    kept=120,
    note="calls of {name} are sent under the name {safe}, which this wire takes",
)


def _refused(path: str, problem: str, rule: str = "", remedy: str = "") -> HistoryError:
    return HistoryError(violations=[Violation(path, problem, rule, remedy=remedy)])


class _Writing:
    """Messages on their way to blocks."""

    def __init__(self, names: Mapping[str, str], found: list[Note]) -> None:
        self._names, self._found = names, found
        self._ids = LegalIds(CallIds(letters="[a-zA-Z0-9_-]"))
        self._known: set[str] = set()
        self._sent: dict[str, str] = {}  # ids of the calls of this turn, and as they are sent

    def turns(
        self, said: Sequence[Said], answers: Mapping[str, Answers]
    ) -> Iterator[tuple[str, list[ContentBlock]]]:
        """Roles and blocks, with the results of a turn ahead of what the user says."""
        for path, message in said:
            if message.role == "user":
                yield "user", self._user(message, path)
            elif message.role == "assistant":
                yield "assistant", self._assistant(message, path)
                if path in answers:
                    yield "user", self._answers(answers[path])

    # --- what the user says

    def _user(self, message: Message, path: str) -> list[ContentBlock]:
        blocks: list[ContentBlock] = []
        for place, part in enumerate(message.parts):
            here = f"{path}.parts[{place}]"
            if isinstance(part, Text):
                blocks += self._text(part, here)
            elif isinstance(part, Media):
                blocks.append(self._media(part, here))
            else:
                self._withheld(part, here)
        return blocks

    def _text(self, part: Text, path: str) -> list[ContentBlock]:
        if part.signature:
            self._found.append(Note(path, "withheld: its signature, which has no place here"))
        if not part.text.strip():
            self._found.append(
                Note(path, "left out: a text that says nothing, which is refused here (A6)")
            )
            return []
        return [ContentBlock(type="text", text=part.text)]

    def _media(self, media: Media, path: str) -> ContentBlock:
        for name in ("detail", "start", "end", "fps"):
            if getattr(media, name) not in ("", "auto", None):
                self._found.append(Note(f"{path}.{name}", "left out: it has no place here"))
        block = media_block(media, path)
        if media.name and block.type == "image":
            self._found.append(Note(f"{path}.name", "left out: images have no names here"))
        return block

    # --- what the model said

    def _assistant(self, message: Message, path: str) -> list[ContentBlock]:
        self._sent = {}
        own = self._source(message.origin, _read_message, path)
        blocks = own.content if own is not None and isinstance(own.content, list) else []
        received = own is not None and _says(blocks, message.parts)
        if own is not None and not received:
            self._found.append(
                Note(path, "written anew: it is not what the bytes say that it remembers")
            )
        result: list[ContentBlock] = []
        for place, part in enumerate(message.parts):
            here = f"{path}.parts[{place}]"
            block = blocks[place] if received else self._source(part.origin, _read_block, here)
            result += self._part(part, here) if block is None else self._received(part, block, here)
        return result

    def _source(self, origin: Origin | None, read: Callable[[bytes], W], path: str) -> W | None:
        """What it was on this wire, `None` if it has no bytes of its own."""
        if origin is None or origin.wire != WIRE:
            return None
        try:
            return origin.source(read)
        except (Unreadable, LimitError):
            if origin.raw:
                self._found.append(
                    Note(path, "written anew: the bytes that it remembers are no JSON of this wire")
                )
            return None

    def _received(self, part: Part, block: ContentBlock, path: str) -> list[ContentBlock]:
        """A block that came from this model: in its bytes, unless it would be refused so."""
        if block.type == "text" and not block.text:
            self._found.append(
                Note(path, "left out: a text that says nothing, which is refused here (A6)")
            )
            return []
        if not isinstance(part, ToolCall):
            return [block]
        arguments = self._arguments(part, path)
        changed: dict[str, Any] = {
            "id": self._called(part, path),
            "name": self._names.get(part.name, part.name),
        }
        if part.arguments is None:
            changed["input"] = arguments
        changed = {key: value for key, value in changed.items() if getattr(block, key) != value}
        return [msgspec.structs.replace(block, **changed) if changed else block]

    def _part(self, part: Part, path: str) -> list[ContentBlock]:
        """A part that has no block of its own."""
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
        self._withheld(part, path)
        return []

    def _call(self, call: ToolCall, path: str) -> ContentBlock:
        if call.extra or call.signature:
            self._found.append(
                Note(
                    path,
                    f"withheld: what came beside the call of {call.name}, which has no place here",
                )
            )
        arguments = self._arguments(call, path)
        return ContentBlock(
            type="tool_use",
            id=self._called(call, path),
            name=self._names.get(call.name, call.name),
            input=arguments,
        )

    def _arguments(self, call: ToolCall, path: str) -> dict[str, Any]:
        if call.arguments is None and call.origin is not None:
            # Its own, and cut off: the conversation goes on with what the model is told of it.
            self._found.append(
                Note(path, f"wrapped: the arguments of the call of {call.name} are no JSON object")
            )
            return {"invalid_json": call.text}
        if not isinstance(call.arguments, Mapping):
            remedy = "repair them, or leave the call and its result out"
            raise _refused(
                path, f"the arguments of the call of {call.name} are no JSON object", "A14", remedy
            )
        return dict(call.arguments)

    def _called(self, call: ToolCall, path: str) -> str:
        """The id under which a call is sent: legal, and met once in a conversation (A12, A13)."""
        key, turn = call.id, 1
        while key in self._known:
            turn += 1
            key = f"{call.id} {turn}"
        self._known.add(key)
        sent = self._ids.legal(key)
        if sent != call.id:
            why = "which is met before" if ID.fullmatch(call.id) else "as this wire takes it"
            self._found.append(
                Note(path, f"the id {call.id!r} of the call and its result became {sent}, {why}")
            )
        self._sent[call.id] = sent
        return sent

    # --- results

    def _answers(self, answers: Answers) -> list[ContentBlock]:
        """The results of a turn, and behind them what cannot stand in one."""
        if answers.moved:
            self._found.append(
                Note(answers.moved, "results were put into the order of their calls")
            )
        behind: list[ContentBlock] = []
        blocks = [self._answer(each.result, each.path, behind) for each in answers.results]
        return [*blocks, *behind]

    def _answer(self, result: ToolResult, path: str, behind: list[ContentBlock]) -> ContentBlock:
        text = (
            result.content  # checked with its request
            if isinstance(result.content, str)
            else msgspec.json.encode(result.content).decode()
        )
        media = [self._media(each, f"{path}.media[{at}]") for at, each in enumerate(result.media)]
        if media and result.error:
            self._found.append(
                Note(f"{path}.media", "sent behind the results: an error is text here (A15)")
            )
            behind += media
            media = []
        content: str | list[ContentBlock] = text
        if media:
            content = [*([ContentBlock(type="text", text=text)] if text.strip() else []), *media]
        return ContentBlock(
            type="tool_result",
            tool_use_id=self._sent[result.id],
            content=content,
            is_error=result.error or None,
        )

    def _withheld(self, part: Part, path: str) -> None:
        """Tell of a part that this wire has no place for."""
        if isinstance(part, Other):
            self._found.append(
                Note(path, f"withheld: {part.kind} is understood by its own vendor only")
            )
        elif isinstance(part, Media):
            self._found.append(
                Note(
                    path,
                    f"withheld: {part.media_type or 'media'} of the assistant does not go "
                    "back here",
                )
            )
        else:
            self._found.append(Note(path, "withheld: a thought that is not signed"))


def _says(blocks: Sequence[ContentBlock], parts: Sequence[Part]) -> bool:
    """Whether the blocks have these parts; their file may have been edited by hand."""
    return len(blocks) == len(parts) and all(
        isinstance(part, ToolCall) == (block.type == "tool_use")
        for part, block in zip(parts, blocks, strict=True)
    )


def _read_message(raw: bytes) -> WireMessage:
    """A message that was loaded from a file, as it was when it came: its blocks remember their
    bytes.
    """
    return WireMessage(
        role="assistant", content=whole(decoded(raw, MessageResponse), raw).content or []
    )


def _read_block(raw: bytes) -> ContentBlock:
    return remember(freeze(decoded(raw, ContentBlock)), raw)


# --- media ----------------------------------------------------------------------------------------

_FILE_ID = re.compile(r"file_[A-Za-z0-9_-]+")
_WEB = re.compile(r"https?://[^\s]+", re.IGNORECASE)
_PDF_NAME = re.compile(r"[^?#]*\.pdf([?#]|$)", re.IGNORECASE)
_NO_IMAGE = re.compile(
    r"[^?#]*\.(docx?|txt|html?|json|csv|wav|mp3|ogg|flac|m4a|mp4|mov|webm|mpe?g|avi)([?#]|$)",
    re.IGNORECASE,
)
_TEXTS = (
    "application/json",
    "application/xml",
    "application/yaml",
    "application/x-yaml",
    "application/javascript",
)


def media_block(media: Media, path: str) -> ContentBlock:
    """Media as a block: an image, or a document as PDF or text.

    >>> media_block(Media(data=b"Ebb at five.", media_type="text/plain", name="Tides"), "").source
    Source(type='text', media_type='text/plain', data='Ebb at five.')

    A URL without a media type is one of an image, unless its name ends in `.pdf`. Raises
    `RuleError` for what else there is.
    """
    kind = media.media_type.lower().partition(";")[0].strip()
    kind = "image/jpeg" if kind == "image/jpg" else kind
    if media.data is None:
        return _by_url(media, kind, path)
    if not media.data:
        raise _no_media(path, "there are no bytes in it")
    if kind in IMAGES:
        return ContentBlock(
            type="image", source=Source(type="base64", media_type=kind, data=_encoded(media.data))
        )
    if kind == PDF:
        return _document(Source(type="base64", media_type=PDF, data=_encoded(media.data)), media)
    if kind.startswith("text/") or kind in _TEXTS:
        try:
            text = media.data.decode()
        except UnicodeDecodeError as cause:
            raise _no_media(path, f"documents of text are UTF-8 here: {cause}") from None
        if not text.strip():
            raise _no_media(path, "a document of text that says nothing")
        return _document(Source(type="text", media_type="text/plain", data=text), media)
    raise _no_media(
        path, f"this wire takes images (jpeg, png, gif, webp), PDF and text, not {kind}"
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
        raise _no_media(
            path,
            f"this wire reads http(s) URLs and ids of files only, not {url[:80]!r}",
            "the bytes",
        )
    if kind == PDF or (not kind and _PDF_NAME.match(url)):
        return _document(Source(type="url", url=url), media)
    if kind in IMAGES or (not kind and not _NO_IMAGE.match(url)):
        return ContentBlock(type="image", source=Source(type="url", url=url))
    raise _no_media(
        path,
        f"this wire takes URLs of images and PDF only, not of {kind or 'a file of this name'}",
        "the bytes",
    )


def _document(source: Source, media: Media) -> ContentBlock:
    return ContentBlock(type="document", source=source, title=media.name or None)


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _no_media(path: str, problem: str, remedy: str = "") -> RuleError:
    return RuleError(violations=[Violation(path, problem, remedy=remedy)])
