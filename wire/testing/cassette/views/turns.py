"""The turns that a request contains, by wire: the JSON of its body as turns and parts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from wire import anthropic, converse, gemini, ollama, openai
from wire.anthropic import reader as anthropic_reader
from wire.converse import reader as converse_reader
from wire.core.errors import WireError
from wire.core.memory import encode
from wire.gemini import interactions
from wire.gemini import reader as gemini_reader
from wire.gemini.interactions import reader as interactions_reader
from wire.ollama import reader as ollama_reader
from wire.openai import responses
from wire.openai.chat import reader as chat_reader
from wire.openai.responses import reader as responses_reader
from wire.testing.cassette.views.parts import (
    Turn,
    first_of,
    items_of,
    other_part,
    part_of,
    text_part,
)


class Wire(NamedTuple):
    """Which requests of a wire are those for a reply, and how they are read."""

    path: re.Pattern[str]
    methods: tuple[str, ...]
    read: Callable[[bytes], Any]
    contract: Any
    conversation: tuple[str, ...]
    """Fields of the request that hold the conversation and the tools."""


def turns_of(wire: Wire, fields: Mapping[str, Any]) -> Iterator[Turn]:
    """Yield the turns of a request; those of a body that the wire's types do not fit, as JSON."""
    try:
        request = wire.contract.parse_request(encode(fields)).request
    except WireError:
        for name in wire.conversation:
            for each in items_of(fields.get(name)) if name not in ("tools", "toolConfig") else ():
                yield Turn(role=str(first_of(each, "role") or ""), parts=[other_part(each)])
        return
    if request.system:
        yield Turn(role="system", parts=[text_part(request.system)])
    for message in request.messages:
        parts = [part_of(part) for part in message.parts]
        yield Turn(role=message.role, name=message.name, parts=parts)


WIRES: dict[str, Wire] = {
    "gemini": Wire(
        re.compile(r":(?:generateContent|streamGenerateContent)$"),
        ("POST",),
        gemini_reader.parse_response,
        gemini,
        ("contents", "systemInstruction", "system_instruction", "tools"),
    ),
    "openai": Wire(
        re.compile(r"/chat/completions$"),
        ("POST",),
        chat_reader.parse_completion,
        openai,
        ("messages", "tools"),
    ),
    "openai.responses": Wire(
        re.compile(r"/responses(?:/resp_[^/]+)?$"),
        ("POST", "GET"),
        responses_reader.parse_response,
        responses,
        ("input", "instructions", "tools"),
    ),
    "anthropic": Wire(
        re.compile(r"/v1/messages$|/messages$|:(?:rawPredict|streamRawPredict)$"),
        ("POST",),
        anthropic_reader.parse_message,
        anthropic,
        ("messages", "system", "tools"),
    ),
    "converse": Wire(
        re.compile(r"/model/[^/]+/converse(?:-stream)?$"),
        ("POST",),
        converse_reader.parse_answer,
        converse,
        ("messages", "system", "toolConfig"),
    ),
    "ollama": Wire(
        re.compile(r"/api/chat$"),
        ("POST",),
        ollama_reader.parse_answer,
        ollama,
        ("messages", "tools"),
    ),
    "gemini.interactions": Wire(
        re.compile(r"/interactions(?:/[^/]+)?$"),
        ("POST", "GET"),
        interactions_reader.parse_interaction,
        interactions,
        ("input", "system_instruction", "tools"),
    ),
}
"""By the name of the wire."""
