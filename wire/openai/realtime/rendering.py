"""Neutral settings and messages as the session and the items of Realtime."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from wire.core.errors import RuleError, Violation
from wire.core.memory import Note
from wire.core.provider import Provider
from wire.neutral.live import LiveRequest, with_live_options
from wire.neutral.messages import Media, Message, Text, ToolCall, ToolResult
from wire.neutral.request import ServerTool
from wire.neutral.request import Tool as NeutralTool
from wire.openai.common.arguments import compact_json
from wire.openai.realtime.hosts import RealtimeHost
from wire.openai.realtime.types import (
    Audio,
    AudioFormat,
    AudioInput,
    AudioOutput,
    Item,
    Part,
    Reasoning,
    Session,
    Tool,
    Transcription,
    TurnDetection,
)
from wire.openai.responses.types import ToolChoice

RATE = 24_000
"""Samples in a second, in both directions."""


# --- settings -------------------------------------------------------------------------------------


def session_of(asked: LiveRequest, host: RealtimeHost, row: Provider, notes: list[Note]) -> Session:
    """Render the settings. Raises `RuleError` for what the host does not take."""
    request = asked.request
    form = AudioFormat(type="audio/pcm", rate=RATE)
    detection = TurnDetection(type="server_vad", create_response=True, interrupt_response=True)
    turns = detection if asked.turns == "server" else None
    settings: dict[str, Any] = {"instructions": request.system or None}
    hears = AudioInput(format=form, **_transcription(asked, host))
    if host.flat:
        if not asked.sound:
            raise refusal("sound", "this host always speaks")
        settings |= {"voice": asked.voice}
        speaks = AudioOutput(format=form)
    else:
        settings |= {"type": "realtime", "output_modalities": ["audio" if asked.sound else "text"]}
        hears = msgspec.structs.replace(hears, turn_detection=turns)
        speaks = AudioOutput(format=form, voice=asked.voice)
    settings["audio"] = Audio(input=hears, output=speaks)
    settings["tools"] = [_tool(tool) for tool in request.tools] or None
    settings["tool_choice"] = _choice(request.tool_choice)
    settings["max_output_tokens"] = request.max_tokens
    if request.effort is not None:
        settings["reasoning"] = Reasoning(effort=request.effort)
    if host.flat:
        settings["turn_detection"] = turns
    return with_live_options(Session(**settings), request.options, row, notes)


def _transcription(asked: LiveRequest, host: RealtimeHost) -> dict[str, Any]:
    if asked.transcripts is False:
        return {}
    model = host.transcripts if asked.transcripts is True else asked.transcripts
    if not model:
        raise refusal("transcripts", "name the model that writes down what the user says")
    return {"transcription": Transcription(model=model, language=asked.language)}


def refusal(path: str, problem: str) -> RuleError:
    """Build the error of a setting or a part."""
    return RuleError(violations=[Violation(path, problem)])


def _tool(tool: NeutralTool | ServerTool) -> Tool:
    if isinstance(tool, ServerTool) or tool.kind == "custom":
        raise refusal("tools", "live sessions have functions alone")
    return Tool(
        type="function",
        name=tool.name,
        description=tool.description or None,
        parameters=dict(tool.parameters) or {"type": "object", "properties": {}},
    )


def _choice(choice: str | Sequence[str] | None) -> str | ToolChoice | None:
    if choice is None or isinstance(choice, str):
        return choice
    if len(choice) > 1:
        raise refusal("tool_choice", "live sessions take the name of one tool")
    return ToolChoice(type="function", name=choice[0])


# --- items ----------------------------------------------------------------------------------------


def items_of(message: Message, path: str, notes: list[Note]) -> Iterator[Item]:
    """Yield the items of a message of the conversation before."""
    if message.role == "tool":
        yield from map(result_item, message.tool_results)
        return
    if any(not isinstance(part, ToolCall) for part in message.parts):
        item = message_item(message, f"{path}.parts", notes)
        if item.content:
            yield item
    for call in message.tool_calls:
        text = call.text or compact_json(call.arguments or {})
        yield Item(type="function_call", call_id=call.id, name=call.name, arguments=text)


def message_item(message: Message, path: str, notes: list[Note]) -> Item:
    """Return a message without calls as an item; what it cannot have is noted."""
    role = "system" if message.instructs else message.role
    kind = "output_text" if role == "assistant" else "input_text"
    content = []
    for index, part in enumerate(message.parts):
        if isinstance(part, Text):
            content.append(Part(type=kind, text=part.text))
        elif isinstance(part, Media) and role == "user":
            content.append(_media(part, f"{path}[{index}]"))
        elif not isinstance(part, ToolCall):
            word = type(part).__name__
            notes.append(Note(f"{path}[{index}]", f"withheld: Realtime has no {word} here"))
    return Item(type="message", role=role, content=content)


def _media(media: Media, path: str) -> Part:
    kind = media.media_type
    if media.url is not None and not kind.startswith("audio/"):
        return Part(type="input_image", image_url=media.url, detail=media.detail or None)
    if media.data is not None and kind.startswith("image/"):
        url = f"data:{kind};base64,{base64.b64encode(media.data).decode()}"
        return Part(type="input_image", image_url=url, detail=media.detail or None)
    if media.data is not None and kind.partition(";")[0] == "audio/pcm":
        return Part(type="input_audio", audio=base64.b64encode(media.data).decode())
    raise refusal(path, f"Realtime takes images and audio/pcm, not {kind or 'this'}")


def result_item(result: ToolResult) -> Item:
    """Return the result of a call as an item."""
    content = result.answer if result.error else result.content
    text = content if isinstance(content, str) else msgspec.json.encode(content).decode()
    return Item(type="function_call_output", call_id=result.id, output=text)
