"""The input of OpenAI's decisions: parts of one message, or the messages of a conversation."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator

import msgspec

from wire.core.errors import RuleError, Violation
from wire.core.memory import Note
from wire.neutral.decisions import Content, DecideRequest
from wire.neutral.messages import Media, Message, Text, ToolCall, ToolResult
from wire.openai.common.types.decisions import DecisionItem, DecisionPart


def input_of(request: DecideRequest) -> tuple[list[DecisionItem], list[Note]]:
    """Return the items of a request, and notes on what of its messages has no form.

    Raises `RuleError` for media that are no image.
    """
    if not isinstance(request.input[0], Message):
        parts = list(_parts(request.contents(), "input"))
        return [DecisionItem(type="message", role="user", content=parts)], []
    reader = _Conversation()
    for index, message in enumerate(request.input):
        if isinstance(message, Message):
            reader.add(message, f"input[{index}]")
    return reader.items, reader.notes


def _parts(contents: Iterable[Content], path: str) -> Iterator[DecisionPart]:
    for index, part in enumerate(contents):
        if isinstance(part, str):
            yield DecisionPart(type="input_text", text=part)
        elif isinstance(part, Media):
            yield _image(part, f"{path}[{index}]")
        else:
            yield DecisionPart(type="input_json", data=dict(part))


def _image(media: Media, path: str) -> DecisionPart:
    url = image_url(media, path)
    return DecisionPart(type="input_image", image_url=url, detail=media.detail or None)


def image_url(media: Media, path: str) -> str | None:
    """Return the URL of an image. Raises `RuleError` for other media."""
    if media.media_type.partition("/")[0] not in ("image", ""):
        told = f"decisions of this host read images, and no {media.media_type}"
        raise RuleError(violations=[Violation(path, told)])
    if media.data is None:
        return media.url
    return f"data:{media.media_type};base64,{base64.b64encode(media.data).decode()}"


class _Conversation:
    """The items of messages."""

    def __init__(self) -> None:
        self.items: list[DecisionItem] = []
        self.notes: list[Note] = []
        self._custom: set[str] = set()
        """Ids of the calls of custom tools."""

    def add(self, message: Message, path: str) -> None:
        """Add the items of a message: its text, then its calls, or its results."""
        said: list[DecisionPart] = []
        after: list[DecisionItem] = []
        for index, part in enumerate(message.parts):
            at = f"{path}.parts[{index}]"
            if isinstance(part, Text):
                said += [_said(part, message.role)] if part.text else []
            elif isinstance(part, ToolCall):
                after.append(self._call(part))
            elif isinstance(part, ToolResult):
                after.append(self._result(part, at))
            elif isinstance(part, Media) and message.role == "user":
                said.append(_image(part, at))
            else:
                told = f"not sent: decisions read no part of this kind from the {message.role}"
                self.notes.append(Note(at, told))
        if said:
            role = message.role
            self.items.append(DecisionItem(type="message", role=role, content=said))
        self.items += after

    def _call(self, call: ToolCall) -> DecisionItem:
        if call.kind == "custom":
            self._custom.add(call.id)
            text = str((call.arguments or {}).get("input", call.text))
            return DecisionItem(
                type="custom_tool_call", call_id=call.id, name=call.name, input=text
            )
        text = call.text if call.arguments is None else _json(call.arguments)
        return DecisionItem(type="function_call", call_id=call.id, name=call.name, arguments=text)

    def _result(self, result: ToolResult, path: str) -> DecisionItem:
        content = result.answer if result.error else result.content
        text = content if isinstance(content, str) else _json(content)
        media = [_image(each, f"{path}.media[{at}]") for at, each in enumerate(result.media)]
        beside = [DecisionPart(type="input_text", text=text)] if text.strip() else []
        kind = "custom_tool_call_output" if result.id in self._custom else "function_call_output"
        return DecisionItem(
            type=kind, call_id=result.id, output=[*beside, *media] if media else text
        )


def _said(text: Text, role: str) -> DecisionPart:
    if text.refusal:
        return DecisionPart(type="refusal", refusal=text.text)
    kind = "output_text" if role == "assistant" else "input_text"
    return DecisionPart(type=kind, text=text.text)


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
