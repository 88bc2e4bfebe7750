"""What OpenAI's decisions and System One refuse, by the request alone.

Sources: openai 3.57.0, types/decision_create_params.py; System One by OpenRouter's reference,
November 2026. No refusal is recorded: the words are those of OpenAI's other endpoints where these
refuse the same.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from wire.core.errors import Violation
from wire.core.json_values import expands
from wire.core.limits import depth_of
from wire.neutral.decisions import LEAST_OPTIONS, MOST_OPTIONS
from wire.openai.common.types.decisions import (
    DecisionItem,
    DecisionPart,
    DecisionQuestion,
    DecisionRequest,
    SystemOneQuestion,
    SystemOneRequest,
)

MOST_QUESTIONS = 400
MOST_QUESTIONS_OF_SYSTEM_ONE = 200
_JSON_LEVELS, _JSON_VALUES, _JSON_BYTES = 32, 10_000, 256 * 1024
_QUESTIONS = {"predicate": (), "choice": ("choices",), "score": ("levels",)}
"""Type of a question to the lists that it needs."""
_ROLES = {
    "user": ("input_text", "input_image", "input_json"),
    "developer": ("input_text",),
    "system": ("input_text",),
    "assistant": ("output_text", "refusal"),
}
"""Role of a message to the parts that it may have."""
_OUTPUTS = {"function_call_output": "function_call", "custom_tool_call_output": "custom_tool_call"}
_PARTS_OF_OUTPUTS = ("input_text", "input_image")
_PARTS_OF_QUESTIONS = ("input_text", "input_image", "input_json")
_CONTENT = {
    "input_text": "text", "input_image": "image_url", "input_json": "data",
    "output_text": "text", "refusal": "refusal",
}  # fmt: skip
"""Type of a part to the field that it needs."""


def decision_violations(request: DecisionRequest) -> Iterator[Violation]:
    """Yield what OpenAI refuses of a request for decisions."""
    yield from _input(request.input)
    yield from _count("questions", request.questions, 1, MOST_QUESTIONS)
    for index, question in enumerate(request.questions):
        yield from _question(question, f"questions[{index}]")
    names = [question.name for question in request.questions]
    yield from _twice(names, lambda index: f"questions[{index}].name")


def system_one_violations(request: SystemOneRequest) -> Iterator[Violation]:
    """Yield what System One refuses of a request."""
    yield from _count("questions", request.questions, 1, MOST_QUESTIONS_OF_SYSTEM_ONE)
    for name, question in request.questions.items():
        yield from _question_of_system_one(question, f"questions.{name}")


# --- the input ------------------------------------------------------------------------------------


def _input(given: str | list[DecisionItem]) -> Iterator[Violation]:
    if isinstance(given, str):
        return
    yield from _count("input", given, 1, None)
    calls: set[tuple[str, str]] = set()
    for index, item in enumerate(given):
        path, kind = f"input[{index}]", item.type or "message"
        if kind == "message":
            yield from _message(item, path)
        elif kind in _OUTPUTS:
            yield from _output(item, kind, path, calls)
        elif kind in _OUTPUTS.values():
            calls.add((kind, item.call_id or ""))
            fields = ("arguments",) if kind == "function_call" else ("input",)
            yield from _missing(item, path, "call_id", "name", *fields)
        else:
            kinds = "message", *_OUTPUTS.values(), *_OUTPUTS
            yield _invalid(f"{path}.type", kind, kinds)


def _message(item: DecisionItem, path: str) -> Iterator[Violation]:
    if item.role not in _ROLES:
        yield _invalid(f"{path}.role", item.role, _ROLES)
        return
    yield from _missing(item, path, "content")
    yield from _parts(item.content, f"{path}.content", _ROLES[item.role])


def _output(
    item: DecisionItem, kind: str, path: str, calls: set[tuple[str, str]]
) -> Iterator[Violation]:
    yield from _missing(item, path, "call_id", "output")
    yield from _parts(item.output, f"{path}.output", _PARTS_OF_OUTPUTS)
    if item.call_id and (_OUTPUTS[kind], item.call_id) not in calls:
        told = f"No tool call found for {kind.replace('_', ' ')} with call_id {item.call_id}."
        yield Violation(f"{path}.call_id", told, remedy="put the call before its output")


def _parts(
    parts: str | list[DecisionPart] | None, path: str, kinds: Sequence[str]
) -> Iterator[Violation]:
    if parts is None or isinstance(parts, str):
        return
    for index, part in enumerate(parts):
        at = f"{path}[{index}]"
        if part.type not in kinds:
            yield _invalid(f"{at}.type", part.type, kinds)
            continue
        yield from _missing(part, at, _CONTENT[str(part.type)])
        if part.type == "input_image" and part.image_url is not None:
            yield from _image(part.image_url, f"{at}.image_url")
        if part.type == "input_json" and part.data is not None:
            yield from _json(part.data, f"{at}.data")


def _image(url: str, path: str) -> Iterator[Violation]:
    if not url.lower().startswith(("data:", "http://", "https://")):
        told = f"Invalid '{path}': expected a data URL or an http(s) URL."
        yield Violation(path, told, remedy="send the bytes: files are not read here")


def _json(data: Any, path: str) -> Iterator[Violation]:
    if expands((data,), _JSON_VALUES):
        yield Violation(path, f"Invalid '{path}': more than {_JSON_VALUES:,} values.")
        return
    encoded = msgspec.json.encode(data)
    if depth_of(encoded) > _JSON_LEVELS:
        yield Violation(path, f"Invalid '{path}': more than {_JSON_LEVELS} levels.")
    if len(encoded) > _JSON_BYTES:
        yield Violation(path, f"Invalid '{path}': more than {_JSON_BYTES:,} bytes of JSON.")


# --- questions ------------------------------------------------------------------------------------


def _question(question: DecisionQuestion, path: str) -> Iterator[Violation]:
    if question.type not in _QUESTIONS:
        yield _invalid(f"{path}.type", question.type, _QUESTIONS)
        return
    yield from _missing(question, path, "instructions", *_QUESTIONS[question.type])
    yield from _parts(question.instructions, f"{path}.instructions", _PARTS_OF_QUESTIONS)
    for name in ("choices", "levels"):
        if name not in _QUESTIONS[question.type] and getattr(question, name) is not None:
            yield _unknown(f"{path}.{name}")
    if question.choices is not None:
        yield from _options(
            f"{path}.choices", [(type(each.value), each.value) for each in question.choices]
        )
        for index, choice in enumerate(question.choices):
            yield from _missing(choice, f"{path}.choices[{index}]", "value")
    if question.levels is not None:
        yield from _options(f"{path}.levels", [each.label for each in question.levels])
        for index, level in enumerate(question.levels):
            yield from _missing(level, f"{path}.levels[{index}]", "label")


def _options(path: str, options: Sequence[Hashable]) -> Iterator[Violation]:
    yield from _count(path, options, LEAST_OPTIONS, MOST_OPTIONS)
    yield from _twice(options, lambda index: f"{path}[{index}]")


def _question_of_system_one(question: SystemOneQuestion, path: str) -> Iterator[Violation]:
    kinds = ("noul", "choice", "score", "box")
    if question.type not in kinds:
        yield _invalid(f"{path}.type", question.type, kinds)
        return
    yield from _missing(question, path, "instructions")
    criteria, at = question.criteria, f"{path}.criteria"
    if question.type in ("choice", "score"):
        shape = dict if question.type == "choice" else list
        yield from _missing(question, path, "criteria")
        if criteria is not None and not isinstance(criteria, shape):
            expected = "an object" if shape is dict else "an array"
            yield Violation(at, f"Invalid type for '{at}': expected {expected}.")
        elif criteria is not None:
            yield from _count(at, criteria, LEAST_OPTIONS, MOST_OPTIONS)
    elif criteria is not None and (question.type == "box" or set(criteria) != {"true", "false"}):
        told = "expected both 'true' and 'false'" if question.type == "noul" else "a box has none"
        yield Violation(at, f"Invalid '{at}': {told}.")


# --- words ----------------------------------------------------------------------------------------


def _count(path: str, items: Any, least: int, most: int | None) -> Iterator[Violation]:
    number = len(items)
    if number < least:
        yield Violation(
            path,
            f"Invalid '{path}': array too short. Expected an array with minimum length {least}, "
            f"but got an array with length {number} instead.",
            code="array_below_min_length",
        )
    if most is not None and number > most:
        yield Violation(
            path,
            f"Invalid '{path}': array too long. Expected an array with maximum length {most}, "
            f"but got an array with length {number} instead.",
            code="array_above_max_length",
        )


def _twice(values: Iterable[Hashable], path: Callable[[int], str]) -> Iterator[Violation]:
    seen: set[Hashable] = set()
    for index, value in enumerate(values):
        if value is not None and value in seen:
            at = path(index)
            yield Violation(at, f"Invalid '{at}': it is given twice.")
        seen.add(value)


def _missing(struct: msgspec.Struct, path: str, *names: str) -> Iterator[Violation]:
    for name in names:
        if getattr(struct, name) is None:
            at = f"{path}.{name}"
            told = f"Missing required parameter: '{at}'."
            yield Violation(at, told, code="missing_required_parameter")


def _invalid(path: str, value: object, known: Iterable[str]) -> Violation:
    if value is None:
        told = f"Missing required parameter: '{path}'."
        return Violation(path, told, code="missing_required_parameter")
    listed = ", ".join(f"'{each}'" for each in known)
    told = f"Invalid value: '{value}'. Supported values are: {listed}."
    return Violation(path, told, code="invalid_value")


def _unknown(path: str) -> Violation:
    return Violation(path, f"Unknown parameter: '{path}'.", code="unknown_parameter")
