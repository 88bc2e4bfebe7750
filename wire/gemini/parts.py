"""Renders neutral messages as Contents of Gemini.

A message of the same model is sent back in its received bytes; if the message was edited, each of
its unedited parts is. Data without a field in Gemini's API is left out with a note, or refused
with an error. `turns.py` then puts the turns into the order that the server requires.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar
from urllib.parse import urlsplit

from wire.core.arguments import checked_arguments
from wire.core.errors import HistoryError, LimitError, RuleError, Violation
from wire.core.lenient import Unreadable
from wire.core.memory import Note, WireStruct
from wire.core.provider import Provider
from wire.gemini.families import Family
from wire.gemini.fold import content_in, part_in
from wire.gemini.parse import WIRE, parse_reply
from wire.gemini.turns import response_part
from wire.gemini.types import (
    Blob,
    Candidate,
    Content,
    FileData,
    FunctionCall,
    FunctionResponseBlob,
    FunctionResponseFileData,
    FunctionResponsePart,
    GenerateContentResponse,
    Part,
    VideoMetadata,
)
from wire.neutral.ids import ToolNames, safe_names
from wire.neutral.media_types import media_type_of
from wire.neutral.messages import (
    Media,
    Message,
    Origin,
    Other,
    ServerToolCall,
    ServerToolResult,
    Text,
    Thought,
    ToolCall,
    ToolResult,
    source_of,
)
from wire.neutral.messages import Part as NeutralPart
from wire.neutral.pairing import Answers
from wire.neutral.request import TOOL_NAME

W = TypeVar("W", bound=WireStruct)


def system_instruction(
    system: str, messages: Mapping[int, Message], report: list[Note]
) -> Content | None:
    """Return the system instruction, with one part for each text: `system`, then the texts of the
    system messages among `messages`, by index.

    `None` if all of them are blank (S2-20, S2-30, S4-06).
    """
    parts = [Part(text=system)] if system.strip() else []
    for index, message in messages.items():
        if message.instructs:
            texts = [
                part.text for part in message.parts if isinstance(part, Text) and part.text.strip()
            ]
            parts += [Part(text=text) for text in texts]
            if not texts:
                report.append(Note(f"messages[{index}]", "left out: a system message without text"))
    return Content(parts=parts) if parts else None


def wire_turns(
    messages: Sequence[Message],
    texts: Mapping[int, str],
    answers: Mapping[str, Answers],
    tools: Iterable[str],
    of: Family,
    report: list[Note],
    paths: dict[int, str],
    *,
    vertex: bool = False,
) -> list[Content]:
    """Return the Contents of a conversation without violations (`wire.history.check`).

    System messages are skipped; `system_instruction` renders them.

    `texts` are the `own_texts` of the messages, and `answers` the results of the calls, by the path
    of the message with the calls. `tools` are the names of the request's functions. Notes are added
    to `report`, and to `paths` the message of each call by the `id` of its part.

    Raises `HistoryError` or `RuleError` with the path of a part that cannot be sent.
    """
    others = [(index, each) for index, each in enumerate(messages) if index not in texts]
    renderer = _Renderer(_safe_names(others, tools, report), of, report, paths, vertex)
    return renderer.contents(messages, texts, answers)


_NAMES = ToolNames(
    legal=TOOL_NAME,
    most=64,
    kept=64,
    note="calls of {name} and their results are sent under the name {safe}, since Gemini refuses "
    "the original name",
)


def _safe_names(
    messages: Iterable[tuple[int, Message]], tools: Iterable[str], report: list[Note]
) -> dict[str, str]:
    """Map each function name that Gemini refuses, in calls of other vendors, to a name that it
    accepts (G28).

    A new name differs from all names in the conversation and in `tools`: the model would confuse
    two functions with one name.
    """
    calls: list[tuple[str, str]] = []
    taken = list(tools)
    for index, message in messages:
        for position, part in enumerate(message.parts):
            if isinstance(part, ToolCall):
                if _is_own(message.origin) or _is_own(part.origin):
                    taken.append(part.name)
                else:
                    calls.append((f"messages[{index}].parts[{position}]", part.name))
    return safe_names(calls, taken, _NAMES, report)


def _is_own(origin: Origin | None) -> bool:
    """Return whether a message or part was received from the model that the request is for.

    `history.sendable` has removed the origins of other models, so that the wire is enough.
    """
    return origin is not None and origin.wire == WIRE


def _refused(path: str, problem: str, rule: str = "", remedy: str = "") -> HistoryError:
    return HistoryError(violations=[Violation(path, problem, rule, remedy=remedy)])


_ROLES = {"user": "user", "assistant": "model"}
"""Roles of messages that become a Content of their own -> the role of that Content."""


class _Renderer:
    """Renders messages as Contents, and remembers the calls for their results."""

    def __init__(
        self,
        names: Mapping[str, str],
        of: Family,
        report: list[Note],
        paths: dict[int, str],
        vertex: bool,
    ) -> None:
        self._names, self._of, self._report, self._vertex = names, of, report, vertex
        self._paths = paths
        self._calls: dict[str, FunctionCall] = {}  # neutral id of a call -> the call as sent

    def contents(
        self, messages: Sequence[Message], texts: Mapping[int, str], answers: Mapping[str, Answers]
    ) -> list[Content]:
        """Build the Contents.

        The results of a turn are in the order of its calls, since Gemini pairs calls without ids by
        position (G18b).
        """
        contents: list[Content] = []
        for index, message in enumerate(messages):
            text = texts.get(index)
            if text is not None:
                contents.append(Content(role=_ROLES[message.role], parts=[Part(text=text)]))
                continue
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

    # --- user and assistant messages

    def _user(self, message: Message, path: str) -> list[Part]:
        parts: list[Part] = []
        for position, part in enumerate(message.parts):
            at = f"{path}.parts[{position}]"
            own = self._received(part.origin, part_in, at) if isinstance(part, Other) else None
            sent = own or self._part(part, at)
            parts += [sent] if sent is not None else []
        if not parts:
            raise _refused(
                path,
                "no part of this message can be sent to this model",
                remedy="remove the message, or replace its parts by text",
            )
        return parts

    def _assistant(self, message: Message, path: str) -> Content | None:
        """Render a message of the model: its received bytes if it is unedited, else its parts."""
        received = self._received(message.origin, content_in, path)
        if received is not None:
            if _matches(received, message.parts):
                for part, wire in zip(message.parts, received.parts or (), strict=True):
                    self._remember_call(part, wire, path)
                return received
            self._report.append(
                Note(path, "rebuilt: it differs from the bytes that it was received with")
            )
        parts: list[Part] = []
        for position, part in enumerate(message.parts):
            part_path = f"{path}.parts[{position}]"
            wire_part = self._received(part.origin, part_in, part_path) or self._part(
                part, part_path
            )
            if wire_part is not None:
                self._remember_call(part, wire_part, path)
                parts.append(wire_part)
        return Content(role="model", parts=parts) if parts else None

    def _received(self, origin: Origin | None, read: Callable[[bytes], W], path: str) -> W | None:
        """Return the struct in the remembered bytes; `None` if there are none, or if they are
        malformed.

        Bytes of a saved conversation may be malformed, since its file can be edited.
        """
        if origin is None or not _is_own(origin):
            return None
        try:
            return source_of(origin, read)
        except (Unreadable, LimitError):
            if origin.raw:
                self._report.append(
                    Note(path, "rebuilt: the bytes that it was received with are not valid")
                )
            return None

    def _remember_call(self, part: NeutralPart, wire: Part, path: str) -> None:
        """Keep a call as sent: its result needs the same name and, if Gemini gave one, its id."""
        if isinstance(part, ToolCall) and wire.function_call is not None:
            self._calls[part.id] = wire.function_call
            self._paths[id(wire)] = path

    def _part(self, part: NeutralPart, path: str) -> Part | None:
        """Render a part that this model did not send; `None` if Gemini has no field for it."""
        if isinstance(part, Text):
            return Part(text=part.text, thought_signature=part.signature or None)
        if isinstance(part, Thought):
            if part.details:
                self._report.append(
                    Note(path, "withheld: Gemini has no field for the details of a thought")
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
            self._report.append(
                Note(path, f"withheld: only its own vendor understands {part.kind}")
            )
        if isinstance(part, ServerToolCall | ServerToolResult):
            self._report.append(Note(path, f"withheld: the server of a vendor ran {part.name}"))
        return None

    def _call(self, call: ToolCall, path: str) -> Part:
        """Render a call without its id: Gemini gets only the ids that it gave (S1-02)."""
        if not isinstance(call.arguments, Mapping):
            remedy = "wire.history.repair(messages), or remove the call and its result"
            raise _refused(
                path,
                f"the arguments of the call of {call.name} are not a JSON object",
                "G1",
                remedy,
            )
        if call.extra:
            self._report.append(
                Note(
                    path,
                    f"withheld: Gemini has no field for the extra data of the call of {call.name}",
                )
            )
        function = FunctionCall(
            name=self._names.get(call.name, call.name), args=dict(call.arguments)
        )
        return Part(function_call=function, thought_signature=call.signature or None)

    # --- results

    def _results(self, answers: Answers) -> list[Content]:
        """Render the results of one turn, then the media of results if this model refuses them
        inside.
        """
        if answers.moved:
            self._report.append(
                Note(answers.moved, "results were put into the order of their calls")
            )
        parts: list[Part] = []
        media_after: list[Part] = []
        for each in answers.results:
            path, result = each.path, each.result
            media: list[FunctionResponsePart] = []
            if result.media and self._of.before(3):
                self._report.append(
                    Note(
                        f"{path}.media",
                        "sent after the results: this model refuses media inside them (G22)",
                    )
                )
                media_after += [
                    self._media(item, f"{path}.media[{position}]")
                    for position, item in enumerate(result.media)
                ]
            else:
                media = [
                    self._media_inside(item, f"{path}.media[{position}]")
                    for position, item in enumerate(result.media)
                ]
            parts.append(self._result(result, media, path))
        # A Content of their own for the media: other parts beside results are refused (G13, G14).
        return [Content(role="user", parts=each) for each in (parts, media_after) if each]

    def _result(self, result: ToolResult, media: list[FunctionResponsePart], path: str) -> Part:
        part, notes = response_part(self._calls[result.id], result.answer, media)
        self._report += [Note(f"{path}.content", note.message) for note in notes]
        return part

    # --- media

    def _media(self, media: Media, path: str) -> Part:
        video = None
        if media.start or media.end or media.fps is not None:
            video = VideoMetadata(
                start_offset=media.start or None, end_offset=media.end or None, fps=media.fps
            )
        kind, name = _type_of(media, path), self._name(media, path)
        if media.data is not None:
            blob = Blob(data=_encoded(media.data), mime_type=kind, display_name=name)
            return Part(inline_data=blob, video_metadata=video)
        return Part(
            file_data=FileData(file_uri=media.url, mime_type=kind, display_name=name),
            video_metadata=video,
        )

    def _media_inside(self, media: Media, path: str) -> FunctionResponsePart:
        if media.start or media.end or media.fps is not None:
            self._report.append(
                Note(path, "start, end and fps were left out: a result has no field for them")
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
        """Return the name of the media, on Vertex only. Notes a `detail`, which Gemini lacks."""
        if media.detail not in ("", "auto"):
            self._report.append(Note(f"{path}.detail", "left out: Gemini has no such field"))
        if media.name and not self._vertex:
            self._report.append(
                Note(f"{path}.name", "left out: only Vertex accepts names of media")
            )
            return None
        return media.name or None


@checked_arguments()
def parse_message(
    raw: bytes, provider: Provider | str = "gemini", *, part: bool = False
) -> tuple[Message, ...]:
    """Parse the bytes of a message that `parse_reply` made and that was saved; return each message
    that they can mean.

    With `part`, they are the bytes of one part. There is more than one reading if it depends on
    settings of the client that are not saved. Raises `Unreadable` for bytes that no host sent, and
    `LimitError`.
    """
    content = Content(role="model", parts=[part_in(raw)]) if part else content_in(raw)
    response = GenerateContentResponse(candidates=[Candidate(content=content)])
    # The request decides whether a server made its calls, and it is not saved.
    bodies = (b"", b'"mcpServers"') if b'"functionResponse"' in raw else (b"",)
    return tuple(parse_reply(response, body=each).message for each in bodies)


def _matches(content: Content, parts: Sequence[NeutralPart]) -> bool:
    """Return whether the Content in the remembered bytes has as many parts, and its calls where the
    neutral message has them.

    If the file of a conversation was edited by hand, it may not.
    """
    wires = content.parts or ()
    return len(wires) == len(parts) and all(
        not isinstance(part, ToolCall) or wire.function_call is not None
        for part, wire in zip(parts, wires, strict=True)
    )


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _type_of(media: Media, path: str) -> str:
    """Return the media type as given, else by the extension of the URL (S2-28)."""
    if media.media_type:
        return media.media_type
    try:
        name = urlsplit(media.url or "").path
    except ValueError:
        name = ""
    kind = media_type_of(name)
    if not kind:
        remedy = "pass media_type=, such as image/png"
        raise RuleError(
            violations=[
                Violation(
                    path,
                    f"the URL {media.url!r} has no known file extension",
                    "G64",
                    remedy=remedy,
                )
            ]
        )
    return kind
