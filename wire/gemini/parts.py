"""Neutral messages as turns of Gemini; what it has no place for is left out and told, or refused.

What this model said goes back in the bytes it came in, message by message, and part by part where a
message was changed. `turns.py` then brings the turns into the order that the server takes.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar
from urllib.parse import urlsplit

from wire.core.lenient import Unreadable
from wire.core.memory import Note, WireStruct, notes
from wire.errors import HistoryError, LimitError, RuleError, Violation
from wire.gemini.families import Family
from wire.gemini.fold import content_in, part_in
from wire.gemini.parse import WIRE
from wire.gemini.turns import checked_response
from wire.gemini.types import (
    Blob,
    Content,
    FileData,
    FunctionCall,
    FunctionResponseBlob,
    FunctionResponseFileData,
    FunctionResponsePart,
    Part,
    VideoMetadata,
)
from wire.neutral.messages import Media, Message, Origin, Other, Text, Thought, ToolCall, ToolResult
from wire.neutral.messages import Part as Said
from wire.neutral.pairing import Answers
from wire.neutral.rendering import ToolNames, safe_names
from wire.neutral.request import TOOL_NAME

W = TypeVar("W", bound=WireStruct)

TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
    ".gif": "image/gif",
    ".heic": "image/heic",
    ".heif": "image/heif",
    ".mp4": "video/mp4",
    ".mpeg": "video/mpeg",
    ".mpg": "video/mpeg",
    ".mov": "video/quicktime",
    ".webm": "video/webm",
    ".avi": "video/x-msvideo",
    ".mp3": "audio/mpeg",
    ".wav": "audio/wav",
    ".aac": "audio/aac",
    ".ogg": "audio/ogg",
    ".flac": "audio/flac",
    ".pdf": "application/pdf",
    ".txt": "text/plain",
    ".md": "text/markdown",
    ".html": "text/html",
    ".csv": "text/csv",
    ".json": "application/json",
}
"""Endings of names -> media types.

Of this file, since what the machine knows differs from machine to machine.
"""


def system_instruction(system: str, said: Sequence[Message], found: list[Note]) -> Content | None:
    """What the system says, in a part for each text; `None` if that is nothing (S2-20, S2-30,
    S4-06).
    """
    parts = [Part(text=system)] if system.strip() else []
    for index, message in enumerate(said):
        if message.role == "system":
            texts = [
                part.text for part in message.parts if isinstance(part, Text) and part.text.strip()
            ]
            parts += [Part(text=text) for text in texts]
            if not texts:
                found.append(
                    Note(f"messages[{index}]", "left out: a system message that says nothing")
                )
    return Content(parts=parts) if parts else None


def wire_turns(
    said: Sequence[Message],
    answers: Mapping[str, Answers],
    tools: Iterable[str],
    of: Family,
    found: list[Note],
    *,
    vertex: bool = False,
) -> list[Content]:
    """The turns of a conversation that `wire.history.check` has nothing against, without what the
    system says.

    `answers` are the results of the calls, by the path of the message with the calls. `tools` are
    the names that are taken. Raises `HistoryError` or `RuleError` that names the part
    which cannot be said.
    """
    return _Turns(_safe_names(said, tools, found), of, found, vertex).of(said, answers)


_NAMES = ToolNames(
    legal=TOOL_NAME,
    most=64,
    kept=64,
    note="calls of {name} and their results are sent under the name {safe}, which Gemini takes",
)


def _safe_names(said: Sequence[Message], tools: Iterable[str], found: list[Note]) -> dict[str, str]:
    """Names of calls that other vendors took -> names that Gemini takes (G28)."""
    calls: list[tuple[str, str]] = []
    taken = list(tools)
    for index, message in enumerate(said):
        for place, part in enumerate(message.parts):
            if isinstance(part, ToolCall):
                if _is_own(message.origin) or _is_own(part.origin):
                    taken.append(part.name)
                else:
                    calls.append((f"messages[{index}].parts[{place}]", part.name))
    return safe_names(calls, taken, _NAMES, found)


def _is_own(origin: Origin | None) -> bool:
    """Of this wire; what another model said has lost its origin by now."""
    return origin is not None and origin.wire == WIRE


def _refused(path: str, problem: str, rule: str = "", remedy: str = "") -> HistoryError:
    return HistoryError(violations=[Violation(path, problem, rule, remedy=remedy)])


class _Turns:
    """Messages on their way to Contents."""

    def __init__(
        self, names: Mapping[str, str], of: Family, found: list[Note], vertex: bool
    ) -> None:
        self._names, self._of, self._found, self._vertex = names, of, found, vertex
        self._calls: dict[str, FunctionCall] = {}  # id -> the call as Gemini knows it

    def of(self, said: Sequence[Message], answers: Mapping[str, Answers]) -> list[Content]:
        """The Contents, with the results of a turn in the order of its calls: without ids Gemini
        pairs by position (G18b).
        """
        contents: list[Content] = []
        for index, message in enumerate(said):
            path = f"messages[{index}]"
            if message.role == "user":
                contents.append(Content(role="user", parts=self._user(message, path)))
            elif message.role == "assistant":
                content = self._assistant(message, path)
                if content is not None:
                    contents.append(content)
                if path in answers:
                    contents += self._results(answers[path])
        return contents

    # --- what was said

    def _user(self, message: Message, path: str) -> list[Part]:
        written = (
            self._written(part, f"{path}.parts[{place}]")
            for place, part in enumerate(message.parts)
        )
        parts = [part for part in written if part is not None]
        if not parts:
            raise _refused(
                path,
                "nothing of it can be sent to this model",
                remedy="leave it out, or say it in words",
            )
        return parts

    def _assistant(self, message: Message, path: str) -> Content | None:
        """What the model said: in its own bytes if it is as it came, else part by part."""
        own = self._source(message.origin, content_in, path)
        if own is not None:
            if _says(own, message.parts):
                for part, wire in zip(message.parts, own.parts or (), strict=True):
                    self._called(part, wire)
                return own
            self._found.append(
                Note(path, "written anew: it is not what the bytes say that it remembers")
            )
        parts: list[Part] = []
        for place, part in enumerate(message.parts):
            here = f"{path}.parts[{place}]"
            written = self._source(part.origin, part_in, here) or self._written(part, here)
            if written is not None:
                self._called(part, written)
                parts.append(written)
        return Content(role="model", parts=parts) if parts else None

    def _source(self, origin: Origin | None, read: Callable[[bytes], W], path: str) -> W | None:
        """What it was on this wire, `None` if it was made elsewhere."""
        if origin is None or not _is_own(origin):
            return None
        try:
            return origin.source(read)
        except (Unreadable, LimitError):
            self._found.append(
                Note(path, "written anew: the bytes that it remembers are no JSON of this wire")
            )
            return None

    def _called(self, part: Said, wire: Part) -> None:
        if isinstance(part, ToolCall) and wire.function_call is not None:
            self._calls[part.id] = wire.function_call

    def _written(self, part: Said, path: str) -> Part | None:
        """A part that did not come from this model, `None` if Gemini has no place for it."""
        if isinstance(part, Text):
            return Part(text=part.text, thought_signature=part.signature or None)
        if isinstance(part, Thought):
            if part.details:
                self._found.append(
                    Note(path, "withheld: what came beside a thought, which has no place here")
                )
            if not part.text and not part.signature:
                return None
            return Part(
                thought=True, text=part.text or None, thought_signature=part.signature or None
            )
        if isinstance(part, ToolCall):
            return self._call(part, path)
        if isinstance(part, Media):
            return self._media(part, path)
        if isinstance(part, Other):
            self._found.append(
                Note(path, f"withheld: {part.kind} is understood by its own vendor only")
            )
        return None

    def _call(self, call: ToolCall, path: str) -> Part:
        """The call without its id: only ids that Gemini gave go to Gemini (S1-02)."""
        if not isinstance(call.arguments, Mapping):
            remedy = "repair them, or leave the call and its result out"
            raise _refused(
                path, f"the arguments of the call of {call.name} are no JSON object", "G1", remedy
            )
        if call.extra:
            self._found.append(
                Note(
                    path,
                    f"withheld: what came beside the call of {call.name}, which has no place here",
                )
            )
        function = FunctionCall(
            name=self._names.get(call.name, call.name), args=dict(call.arguments)
        )
        return Part(function_call=function, thought_signature=call.signature or None)

    # --- results

    def _results(self, answers: Answers) -> list[Content]:
        """The results of one turn, and behind them the media that this model takes in no result."""
        if answers.moved:
            self._found.append(
                Note(answers.moved, "results were put into the order of their calls")
            )
        parts: list[Part] = []
        behind: list[Part] = []
        for each in answers.results:
            path, result = each.path, each.result
            inside: list[FunctionResponsePart] = []
            if result.media and self._of.before(3):
                self._found.append(
                    Note(
                        f"{path}.media",
                        "sent behind the results: this model takes no media inside them (G22)",
                    )
                )
                behind += [
                    self._media(each, f"{path}.media[{place}]")
                    for place, each in enumerate(result.media)
                ]
            else:
                inside = [
                    self._media_inside(each, f"{path}.media[{place}]")
                    for place, each in enumerate(result.media)
                ]
            parts.append(self._answered(result, inside, path))
        return [Content(role="user", parts=each) for each in (parts, behind) if each]

    def _answered(self, result: ToolResult, inside: list[FunctionResponsePart], path: str) -> Part:
        part = checked_response(self._calls[result.id], result.answer, inside)
        self._found += [Note(f"{path}.content", note.message) for note in notes(part)]
        return part

    # --- media

    def _media(self, media: Media, path: str) -> Part:
        film = None
        if media.start or media.end or media.fps is not None:
            film = VideoMetadata(
                start_offset=media.start or None, end_offset=media.end or None, fps=media.fps
            )
        kind, name = _type_of(media, path), self._name(media, path)
        if media.data is not None:
            blob = Blob(data=_encoded(media.data), mime_type=kind, display_name=name)
            return Part(inline_data=blob, video_metadata=film)
        return Part(
            file_data=FileData(file_uri=media.url, mime_type=kind, display_name=name),
            video_metadata=film,
        )

    def _media_inside(self, media: Media, path: str) -> FunctionResponsePart:
        if media.start or media.end or media.fps is not None:
            self._found.append(
                Note(path, "start, end and fps are left out: they have no place inside a result")
            )
        kind, name = _type_of(media, path), self._name(media, path)
        if media.data is not None:
            return FunctionResponsePart(
                inline_data=FunctionResponseBlob(
                    data=_encoded(media.data), mime_type=kind, display_name=name
                )
            )
        return FunctionResponsePart(
            file_data=FunctionResponseFileData(
                file_uri=media.url, mime_type=kind, display_name=name
            )
        )

    def _name(self, media: Media, path: str) -> str | None:
        if media.detail not in ("", "auto"):
            self._found.append(
                Note(f"{path}.detail", "left out: Gemini is not told how closely to look")
            )
        if media.name and not self._vertex:
            self._found.append(Note(f"{path}.name", "left out: only Vertex takes names of media"))
            return None
        return media.name or None


def _says(content: Content, parts: Sequence[Said]) -> bool:
    """Whether the Content has these parts; its file may have been edited by hand."""
    wires = content.parts or ()
    return len(wires) == len(parts) and all(
        not isinstance(part, ToolCall) or wire.function_call is not None
        for part, wire in zip(parts, wires, strict=True)
    )


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _type_of(media: Media, path: str) -> str:
    """The media type as given, else as the URL's ending says (S2-28)."""
    if media.media_type:
        return media.media_type
    try:
        name = urlsplit(media.url or "").path.lower()
    except ValueError:
        name = ""
    ending = re.search(r"\.[a-z0-9]+$", name)
    kind = TYPES.get(ending[0]) if ending else None
    if kind is None:
        remedy = "give media_type=, such as image/png"
        raise RuleError(
            violations=[
                Violation(
                    path,
                    f"the type of {media.url!r} is not known from its name",
                    "G64",
                    remedy=remedy,
                )
            ]
        )
    return kind
