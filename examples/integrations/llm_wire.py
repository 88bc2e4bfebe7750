"""Any provider of `wire` as a plugin of the command `llm`.

    export LLM_WIRE_MODELS="gemini:gemini-3.8-flash anthropic:claude-sonnet-5"
    llm -m wire/gemini:gemini-3.8-flash "Why is the sky blue?"

A package makes it a plugin with an entry point, `[project.entry-points.llm] wire = "llm_wire"`.
`llm keys set gemini` stores a key; without one, `wire` reads the variable of the provider.

The metadata of the last part holds the message as it was received, so a conversation in one process
goes back with its thoughts and signatures. `llm` does not store them in its database.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import llm
from llm.parts import AttachmentPart, StreamEvent, TextPart, ToolCallPart, ToolResultPart
from pydantic import Field

from wire import (
    Chat,
    Client,
    Done,
    Media,
    Message,
    Text,
    TextDelta,
    ThoughtDelta,
    Tool,
    ToolCall,
    ToolCallEnd,
    ToolResult,
    WireError,
)
from wire.sessions import deserialize_message, serialize_message

MODELS_VARIABLE = "LLM_WIRE_MODELS"
RECEIVED = "wire_message"
"""Key of `provider_metadata` with the message as it was received."""


@llm.hookimpl
def register_models(register: Any) -> None:
    """Register the models of the variable, which are separated by spaces."""
    for name in os.environ.get(MODELS_VARIABLE, "").split():
        register(WireModel(name))


class WireModel(llm.KeyModel):
    """A model of any provider: `WireModel("openai:gpt-5.4")`."""

    can_stream = True
    supports_tools = True
    supports_schema = True
    attachment_types = frozenset(
        {"application/pdf", "image/gif", "image/jpeg", "image/png", "image/webp"}
    )
    http: Any = "auto"

    class Options(llm.Options):
        """Settings of a request."""

        max_tokens: int | None = Field(default=None, description="Most tokens to generate")
        temperature: float | None = Field(default=None, description="0 is the least random")
        effort: str | None = Field(default=None, description="Reasoning: none, low, medium, high")

    def __init__(self, name: str) -> None:
        self.name = name
        self.model_id = f"wire/{name}"
        with Client(name.partition(":")[0]) as client:
            if client.row.key_required:
                self.needs_key = client.provider.partition("@")[0]
                self.key_env_var = client.key_variable

    def execute(
        self,
        prompt: llm.Prompt,
        stream: bool,
        response: llm.Response,
        conversation: llm.Conversation | None,
        key: str | None,
    ) -> Iterator[StreamEvent]:
        """Send the prompt. With `--no-stream` it is streamed too, and shown at the end."""
        options = {name: value for name, value in prompt.options if value is not None}
        request: dict[str, Any] = {
            "messages": [message for each in prompt.messages for message in _messages(each)],
            "tools": [_tool(each) for each in prompt.tools],
            "output": prompt.schema,
            **options,
        }
        try:
            with (
                Chat(self.name, api_key=key, http=self.http) as chat,
                chat.stream(**request) as events,
            ):
                for event in events:
                    yield from _events(event, response)
        except WireError as error:
            raise llm.ModelError(str(error)) from error


def _events(event: object, response: llm.Response) -> Iterator[StreamEvent]:
    match event:
        case TextDelta(text):
            yield StreamEvent("text", text)
        case ThoughtDelta(text):
            yield StreamEvent("reasoning", text)
        case ToolCallEnd(call=call):
            if call.arguments is None:
                raise llm.ModelError(f"the arguments of {call.name} are malformed: {call.text}")
            response.add_tool_call(llm.ToolCall(call.name, call.arguments, call.id))
            yield StreamEvent("tool_call_name", call.name, tool_call_id=call.id)
            arguments = json.dumps(call.arguments)
            yield StreamEvent("tool_call_args", arguments, tool_call_id=call.id)
        case Done(reply):
            metadata = {RECEIVED: serialize_message(reply.message)}
            calls = reply.tool_calls
            if calls:
                id = calls[-1].id
                yield StreamEvent("tool_call_args", "", tool_call_id=id, provider_metadata=metadata)
            elif reply.text:
                yield StreamEvent("text", "", provider_metadata=metadata)
            response.set_resolved_model(reply.model)
            if usage := reply.usage:
                details = {"cached": usage.cached, "reasoning": usage.reasoning}
                response.set_usage(input=usage.input, output=usage.output, details=details)


def _tool(tool: Any) -> Tool:
    return Tool(tool.name, tool.description or "", tool.input_schema)


def _messages(message: Any) -> Iterator[Message]:
    """Convert a message. One of the model goes back as received, unless it was edited."""
    received = None
    parts: list[Any] = []
    for part in message.parts:
        received = (part.provider_metadata or {}).get(RECEIVED, received)
        match part:
            case TextPart(text):
                parts.append(Text(text))
            case AttachmentPart(attachment):
                parts.append(_media(attachment))
            case ToolCallPart(name, arguments, id):
                parts.append(ToolCall(id=id, name=name, arguments=arguments))
            case ToolResultPart(name, output, id):
                media = tuple(_media(each) for each in part.attachments)
                failed = part.exception is not None
                parts.append(ToolResult(id, name, output, failed, media))
    built = Message(message.role, tuple(parts))
    if received is not None and _content(original := deserialize_message(received)) == _content(
        built
    ):
        built = original
    if built.parts:
        yield built


def _content(message: Message) -> Any:
    return message.text, [(call.id, call.name, call.arguments) for call in message.tool_calls]


def _media(attachment: llm.Attachment) -> Media:
    kind = attachment.resolve_type()
    if attachment.url:
        return Media(url=attachment.url, media_type=kind)
    return Media(data=attachment.content_bytes(), media_type=kind)
