"""The turns that a request contains, by wire: the JSON of its body as turns and parts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from wire import anthropic, gemini, openai
from wire.anthropic import reader as anthropic_reader
from wire.gemini import reader as gemini_reader
from wire.openai import responses
from wire.openai.chat import reader as chat_reader
from wire.openai.responses import reader as responses_reader
from wire.testing.cassette.views.parts import (
    Part,
    Turn,
    file_part,
    first_of,
    items_of,
    joined_result,
    other_part,
    parts_of_model,
    result_part,
    text_part,
)


class Wire(NamedTuple):
    """Which requests of a wire are those for a reply, and how they are read."""

    path: re.Pattern[str]
    methods: tuple[str, ...]
    read: Callable[[bytes], Any]
    contract: Any
    turns: Callable[[Mapping[str, Any]], Iterator[Turn]]
    conversation: tuple[str, ...]
    """Fields of the request that hold the conversation and the tools."""


# --- Gemini ---------------------------------------------------------------------------------------


def _gemini_turns(fields: Mapping[str, Any]) -> Iterator[Turn]:
    system = first_of(fields, "systemInstruction", "system_instruction")
    if system is not None:
        yield Turn(role="system", parts=_gemini_parts(system))
    for content in items_of(fields.get("contents")):
        if first_of(content, "role") == "model":
            parts = [_in_camel_case(part) for part in items_of(first_of(content, "parts"))]
            yield Turn(role="assistant", parts=parts_of_model(gemini, {**content, "parts": parts}))
        else:
            parts = _gemini_parts(content)
            results = parts and all(part.kind == "result" for part in parts)
            yield Turn(role="tool" if results else "user", parts=parts)


def _in_camel_case(part: Any) -> Any:
    """Rename the keys of a part to those of responses.

    Requests may have keys such as `function_call`.
    """

    def renamed(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {re.sub("_([a-z])", lambda m: m[1].upper(), key): value[key] for key in value}

    # The keys inside `args` are those of the tool.
    part = renamed(part)
    if not isinstance(part, dict):
        return part
    return {key: renamed(inner) for key, inner in part.items()}


def _gemini_parts(content: Any) -> list[Part]:
    if isinstance(content, str):
        return [text_part(content)]
    parts = first_of(content, "parts")
    return [_gemini_part(part) for part in items_of(parts)] or [other_part(content)]


def _gemini_part(part: Any) -> Part:
    if isinstance(part, str):
        return text_part(part)
    result = first_of(part, "functionResponse", "function_response")
    if isinstance(result, dict):
        files = [_gemini_part(each) for each in items_of(result.get("parts"))]
        response = result.get("response")
        error = isinstance(response, dict) and "error" in response
        return result_part(result.get("id"), str(result.get("name", "")), response, error, files)
    inline = first_of(part, "inlineData", "inline_data")
    if isinstance(inline, dict):
        name = first_of(inline, "displayName", "display_name")
        return file_part(first_of(inline, "mimeType", "mime_type"), inline.get("data"), name=name)
    linked = first_of(part, "fileData", "file_data")
    if isinstance(linked, dict):
        url = first_of(linked, "fileUri", "file_uri")
        return file_part(first_of(linked, "mimeType", "mime_type"), url=url)
    if isinstance(part, dict) and "text" in part:
        return text_part(part["text"])
    return other_part(part)


# --- chat completions -----------------------------------------------------------------------------


def _chat_turns(fields: Mapping[str, Any]) -> Iterator[Turn]:
    for message in items_of(fields.get("messages")):
        role, content = first_of(message, "role"), first_of(message, "content")
        name = first_of(message, "name")
        name = name if isinstance(name, str) else ""
        if role == "assistant":
            yield Turn(role="assistant", name=name, parts=parts_of_model(openai, message))
        elif role in ("tool", "function"):
            parts = [_chat_part(each) for each in items_of(content)]
            yield Turn(role="tool", parts=[joined_result(message.get("tool_call_id"), name, parts)])
        else:
            parts = [_chat_part(each) for each in items_of(content)] or [other_part(message)]
            yield Turn(role=role if isinstance(role, str) else "", name=name, parts=parts)


def _chat_part(part: Any) -> Part:
    if isinstance(part, str):
        return text_part(part)
    kind = first_of(part, "type")
    inner = first_of(part, str(kind))
    if kind in ("text", "refusal") and isinstance(inner, str):
        return Part(kind="text", text=inner, refusal=kind == "refusal")
    if kind in ("image_url", "video_url", "audio_url"):
        return file_part(
            None, url=first_of(inner, "url") or inner, kind=str(kind).partition("_")[0]
        )
    if kind == "input_audio":
        return file_part(f"audio/{first_of(inner, 'format') or '*'}", first_of(inner, "data"))
    if kind == "file":
        data, name = first_of(inner, "file_data"), first_of(inner, "filename")
        return file_part(None, data, first_of(inner, "file_id"), name, kind="file")
    return other_part(part)


# --- Messages -------------------------------------------------------------------------------------


def _messages_turns(fields: Mapping[str, Any]) -> Iterator[Turn]:
    if fields.get("system"):
        yield Turn(role="system", parts=[_block(each) for each in items_of(fields["system"])])
    for message in items_of(fields.get("messages")):
        role, content = first_of(message, "role"), first_of(message, "content")
        if role == "assistant" and isinstance(content, list):
            parts = parts_of_model(anthropic, {"type": "message", "content": content})
        else:
            parts = [_block(each) for each in items_of(content)] or [other_part(message)]
        if parts and all(part.kind == "result" for part in parts):
            role = "tool"
        yield Turn(role=role if isinstance(role, str) else "", parts=parts)


def _block(block: Any) -> Part:
    if isinstance(block, str):
        return text_part(block)
    kind = first_of(block, "type")
    if kind == "text":
        return text_part(block.get("text"))
    if kind == "tool_result":
        parts = [_block(each) for each in items_of(block.get("content"))]
        return joined_result(block.get("tool_use_id"), "", parts, block.get("is_error") is True)
    source = first_of(block, "source")
    if kind in ("image", "document", "file") and isinstance(source, dict):
        url, name = first_of(source, "url", "file_id"), block.get("title")
        if source.get("type") == "text":
            text = str(source.get("data", ""))
            part = file_part(source.get("media_type"), name=name)
            return msgspec.structs.replace(part, size=len(text.encode()))
        return file_part(source.get("media_type"), source.get("data"), url, name, kind=str(kind))
    return other_part(block)


# --- Responses ------------------------------------------------------------------------------------


def _responses_turns(fields: Mapping[str, Any]) -> Iterator[Turn]:
    if isinstance(fields.get("instructions"), str):
        yield Turn(role="system", parts=[text_part(fields["instructions"])])
    for item in items_of(fields.get("input")):
        yield _item(item)


def _item(item: Any) -> Turn:
    if isinstance(item, str):
        return Turn(role="user", parts=[text_part(item)])
    kind, role = first_of(item, "type") or "message", first_of(item, "role")
    if kind == "message" and role != "assistant":
        parts = [_input_part(each) for each in items_of(first_of(item, "content"))] or [
            other_part(item)
        ]
        return Turn(role=role if isinstance(role, str) else "", parts=parts)
    if kind == "message" and isinstance(first_of(item, "content"), str):
        return Turn(role="assistant", parts=[text_part(item["content"])])
    if kind in ("function_call_output", "custom_tool_call_output"):
        parts = [_input_part(each) for each in items_of(item.get("output"))]
        return Turn(role="tool", parts=[joined_result(item.get("call_id"), "", parts)])
    return Turn(role="assistant", parts=parts_of_model(responses, item, part=True))


def _input_part(part: Any) -> Part:
    if isinstance(part, str):
        return text_part(part)
    kind = first_of(part, "type")
    if kind in ("input_text", "output_text", "text"):
        return text_part(part.get("text"))
    if kind in ("input_image", "input_file"):
        url = first_of(part, "image_url", "file_url", "file_id")
        return file_part(
            None, part.get("file_data"), url, part.get("filename"), kind=kind.removeprefix("input_")
        )
    return other_part(part)


# --- all wires -----------------------------------------------------------------------------------

WIRES: dict[str, Wire] = {
    "gemini": Wire(
        re.compile(r":(?:generateContent|streamGenerateContent)$"),
        ("POST",),
        gemini_reader.parse_response,
        gemini,
        _gemini_turns,
        ("contents", "systemInstruction", "system_instruction", "tools"),
    ),
    "openai": Wire(
        re.compile(r"/chat/completions$"),
        ("POST",),
        chat_reader.parse_completion,
        openai,
        _chat_turns,
        ("messages", "tools"),
    ),
    "openai.responses": Wire(
        re.compile(r"/responses(?:/resp_[^/]+)?$"),
        ("POST", "GET"),
        responses_reader.parse_response,
        responses,
        _responses_turns,
        ("input", "instructions", "tools"),
    ),
    "anthropic": Wire(
        re.compile(r"/v1/messages$|/messages$|:(?:rawPredict|streamRawPredict)$"),
        ("POST",),
        anthropic_reader.parse_message,
        anthropic,
        _messages_turns,
        ("messages", "system", "tools"),
    ),
}
"""By the name of the wire."""
