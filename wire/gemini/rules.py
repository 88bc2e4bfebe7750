"""What the server refuses on every model and host, found before anything is sent; ids as in docs/rules.md.

`check(request)` gives all violations at once, each with its JSON path, the rule's id and what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from msgspec import UNSET

from wire.errors import Violation
from wire.gemini.types import GenerateContentRequest, Part
from wire.memory import RAW

Rule = Callable[[GenerateContentRequest], Iterator[Violation]]

_SIDECARS = frozenset({"thought", "part_metadata", "video_metadata", "media_resolution", "media_processing"})


def check(request: GenerateContentRequest) -> list[Violation]:
    """Every rule that the request breaks, whatever the model.

    >>> check(GenerateContentRequest(contents=[]))
    [Violation(path='contents', message='contents is not specified', rule='G4', severity='error', remedy='')]
    """
    return [violation for rule in _RULES for violation in rule(request)]


def _contents_are_there(request: GenerateContentRequest) -> Iterator[Violation]:
    if not request.contents:
        yield Violation("contents", "contents is not specified", "G4")
    for index, content in enumerate(request.contents or ()):
        if RAW not in content.__dict__ and not content.parts:
            yield Violation(f"contents[{index}].parts", "contents.parts must not be empty.", "G5")


def _parts_say_something(request: GenerateContentRequest) -> Iterator[Violation]:
    for index, content in enumerate(request.contents or ()):
        if RAW in content.__dict__:
            continue
        for place, part in enumerate(content.parts or ()):
            if part.text is None and RAW not in part.__dict__ and _is_empty(part):
                message = "required oneof field 'data' must have one initialized field"
                yield Violation(f"contents[{index}].parts[{place}].data", message, "G6")


def _is_empty(part: Part) -> bool:
    """No data member; a part with nothing but a signature counts as full, since the model sends such parts."""
    return all(getattr(part, name) is None for name in part.__struct_fields__ if name not in _SIDECARS)


def _one_thinking_control(request: GenerateContentRequest) -> Iterator[Violation]:
    thinking = request.generation_config and request.generation_config.thinking_config
    if thinking and thinking.thinking_budget is not None and thinking.thinking_level is not None:
        message = "You can only set only one of thinking budget and thinking level."
        remedy = "thinking_level for Gemini 3, thinking_budget for 2.5"
        yield Violation("generationConfig.thinkingConfig", message, "G58", remedy=remedy)


def _cache_holds_the_rest(request: GenerateContentRequest) -> Iterator[Violation]:
    if request.cached_content is None:
        return
    for name, value in (
        ("systemInstruction", request.system_instruction),
        ("tools", request.tools),
        ("toolConfig", request.tool_config),
    ):
        if value is not None:
            message = "CachedContent can not be used with GenerateContent request setting system_instruction, tools or tool_config."
            yield Violation(name, message, "G62", remedy="move it into the cached content")


def _one_schema_dialect(request: GenerateContentRequest) -> Iterator[Violation]:
    for index, tool in enumerate(request.tools or ()):
        for place, declaration in enumerate(tool.function_declarations or ()):
            path = f"tools[{index}].functionDeclarations[{place}]"
            if declaration.parameters is not None and declaration.parameters_json_schema is not UNSET:
                yield Violation(path, "parameters and parametersJsonSchema exclude each other", "G37")
            if declaration.response is not None and declaration.response_json_schema is not UNSET:
                yield Violation(path, "response and responseJsonSchema exclude each other", "G37")


_RULES: tuple[Rule, ...] = (
    _contents_are_there,
    _parts_say_something,
    _one_thinking_control,
    _cache_holds_the_rest,
    _one_schema_dialect,
)
