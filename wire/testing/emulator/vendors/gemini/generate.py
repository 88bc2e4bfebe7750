"""generateContent and streamGenerateContent: from a request to its wish, and to a response."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import UNSET

from wire.gemini.types import (
    Content,
    FunctionDeclaration,
    GenerateContentRequest,
    GenerationConfig,
    Part,
    ThinkingConfig,
)
from wire.testing.emulator.answer import Answer
from wire.testing.emulator.model import Declared, Output, Wish, thinking_of
from wire.testing.emulator.vendors.gemini.bodies import array, events, whole
from wire.testing.emulator.vendors.gemini.catalog import Traits
from wire.testing.emulator.vendors.gemini.continuation import Continuations
from wire.testing.emulator.vendors.gemini.responses import ResponseWriter, combined
from wire.testing.emulator.vendors.gemini.signatures import merged

_TIER_HEADERS = {"x-gemini-service-tier": "standard"}


def wish_of(request: GenerateContentRequest, model: Traits) -> Wish:
    """Convert a request to the input of the small model."""
    config = request.generation_config or GenerationConfig()
    turns = merged(request.contents or ())
    results = [
        part.function_response
        for content in _last_of_user(turns)
        for part in content.parts or ()
        if part.function_response is not None
    ]
    question = next(
        (
            text
            for content in reversed(turns)
            if content.role != "model" and (text := _text(content.parts or ()))
        ),
        "",
    )
    called = any(
        part.function_call is not None for content in turns for part in content.parts or ()
    )
    functions, mode = _functions(request)
    format, schema = _format(config)
    thinking = config.thinking_config or ThinkingConfig()
    thinks = model.thinks or (thinking.thinking_budget or 0) > 0
    level = None if thinking.thinking_level is None else str(thinking.thinking_level)
    return Wish(
        question=question,
        system=_text((request.system_instruction or Content()).parts or ()),
        results=[(each.name or "", each.response) for each in results],
        called=called,
        functions=functions,
        mode=mode,
        schema=schema,
        format=format,
        max_tokens=config.max_output_tokens,
        stop_sequences=config.stop_sequences or (),
        thinking=thinking_of(level, thinking.thinking_budget) if thinks else 0,
        prefill=_text(turns[-1].parts or ()) if turns and turns[-1].role == "model" else "",
    )


def _last_of_user(turns: Sequence[Content]) -> list[Content]:
    """Return the Contents after the last one of the model: results may be spread over several."""
    last: list[Content] = []
    for content in reversed(turns):
        if content.role == "model":
            break
        last.insert(0, content)
    return last


def _text(parts: Sequence[Part]) -> str:
    return " ".join(part.text for part in parts if part.text)


def _functions(request: GenerateContentRequest) -> tuple[list[Declared], str]:
    config = (
        request.tool_config.function_calling_config if request.tool_config is not None else None
    )
    mode = str(config.mode or "AUTO").upper() if config else "AUTO"
    allowed = (config.allowed_function_names or ()) if config else ()
    declared = [each for tool in request.tools or () for each in tool.function_declarations or ()]
    functions = [
        Declared(each.name or "", each.description or "", _schema(each)) for each in declared
    ]
    mode = {"1": "AUTO", "2": "ANY", "3": "NONE"}.get(mode, mode)
    return [each for each in functions if not allowed or each.name in allowed], mode


def _schema(declaration: FunctionDeclaration) -> Any:
    if declaration.parameters_json_schema is not UNSET:
        return declaration.parameters_json_schema
    return None if declaration.parameters is None else msgspec.to_builtins(declaration.parameters)


def _format(config: GenerationConfig) -> tuple[str, Any]:
    schema: Any = config.response_json_schema
    mime = config.response_mime_type or ""
    if schema is UNSET or schema is None:
        schema = (
            None if config.response_schema is None else msgspec.to_builtins(config.response_schema)
        )
    text = config.response_format.text if config.response_format is not None else None
    if text is not None:
        schema = schema if text.schema is UNSET else text.schema
        mime = mime or (
            "application/json" if str(text.mime_type or "") == "APPLICATION_JSON" else ""
        )
    return (
        "enum" if mime == "text/x.enum" else "json" if mime == "application/json" else "text"
    ), schema


@dataclass(frozen=True, slots=True)
class Generation:
    """A request for model output that was not refused."""

    wish: Wish
    writer: ResponseWriter
    streams: bool
    sse: bool
    """Whether the stream is server-sent events and not an array."""
    continuations: Continuations

    @property
    def model(self) -> str:
        """The name of the requested model."""
        return self.writer.model.name

    def render(self, output: Output, id: str) -> Answer:
        """Render output of the small model as a response."""
        bodies = self.continuations.bodies(output, self.writer, id, streams=self.streams)
        return self._answer(list(bodies))

    def render_body(self, body: dict[str, Any], id: str) -> Answer:
        """Render one body of a script; an error object is sent unchanged."""
        return self._answer([body if "error" in body else self.writer.with_ids(body, id)])

    def render_events(self, events: Sequence[Any], id: str) -> Answer:
        """Render the chunks of a script as a response."""
        chunks = [self.writer.with_ids(each, id) for each in events]
        return self._answer(chunks if self.streams else [combined(chunks)])

    def _answer(self, chunks: list[dict[str, Any]]) -> Answer:
        for chunk in chunks:
            self.writer.remember(chunk)
        if self.streams:
            return events(chunks) if self.sse else array(chunks)
        return whole(chunks[0], headers=_TIER_HEADERS if self.writer.host == "gemini" else {})
