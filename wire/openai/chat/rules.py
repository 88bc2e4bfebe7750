"""What the server refuses, found before anything is sent; ids as in docs/rules.md.

`check(request, model, provider)` gives what every host of chat completions refuses and what that
provider refuses as well: all violations at once, each with its JSON path, the server's words,
the rule's id and what to do. Of severity "warning" is what is answered all the same, and not as
asked.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from wire.core.memory import WireStruct
from wire.core.provider import Provider
from wire.errors import Violation
from wire.openai.chat.types import ChatCompletionRequest, Message, ToolChoice
from wire.openai.common.dialect import Dialect, Refusal
from wire.openai.common.rows import provider_row

Rule = Callable[[ChatCompletionRequest, Dialect], Iterator[Violation]]


def check(
    request: ChatCompletionRequest, model: str = "", provider: Provider | str = "openai"
) -> list[Violation]:
    """Every rule that the request breaks.

    >>> check(ChatCompletionRequest(model="m", messages=[]))[0].rule
    'O1'

    The model is that of the request unless another one is named. `provider` is a row or its name;
    `""` stands for an unknown host, where only what every host refuses is found.
    """
    dialect = provider_row(provider).dialect
    if model and model != request.model:
        request = msgspec.structs.replace(request, model=model)
    return [violation for rule in _RULES for violation in rule(request, dialect)]


# --- every host -----------------------------------------------------------------------------------


def _messages_are_there(request: ChatCompletionRequest, dialect: Dialect) -> Iterator[Violation]:
    if not request.messages:
        message = (
            "Invalid 'messages': empty array. Expected an array with minimum length 1, but "
            "got an empty array instead."
        )
        yield Violation("messages", message, "O1")


def _calls_are_answered(request: ChatCompletionRequest, dialect: Dialect) -> Iterator[Violation]:
    """Both directions in one pass: calls without results, and results without calls."""
    asked: list[tuple[str, str]] = []  # id and path of the calls of the last message that had any
    answered: set[str] = set()
    for index, message in enumerate(request.messages):
        if message.role == "tool":
            id = message.tool_call_id or ""
            answered.add(id)
            if id not in (call for call, _ in asked):
                said = (
                    "messages with role 'tool' must be a response to a preceeding message "
                    "with 'tool_calls'."
                )
                yield Violation(
                    f"messages[{index}].tool_call_id",
                    said,
                    "O3",
                    remedy="the id of a call of the message before",
                )
            continue
        yield from _unanswered(asked, answered, "error")
        asked = [
            (call.id or "", f"messages[{index}].tool_calls[{place}]")
            for place, call in enumerate(message.tool_calls or ())
        ]
        answered = set()
    # A server of one's own goes on from here all the same: recorded at Ollama.
    yield from _unanswered(asked, answered, "warning")


def _unanswered(
    asked: list[tuple[str, str]], answered: set[str], severity: str
) -> Iterator[Violation]:
    for id, path in asked:
        if id not in answered:
            said = (
                "An assistant message with 'tool_calls' must be followed by tool "
                "messages responding to each 'tool_call_id'. "
                f"The following tool_call_ids did not have response messages: {id}"
            )
            yield Violation(
                path,
                said,
                "O2",
                severity,
                remedy="answer it with a message of role tool, or leave the call out",
            )


def _assistants_say_something(
    request: ChatCompletionRequest, dialect: Dialect
) -> Iterator[Violation]:
    for index, message in enumerate(request.messages):
        if message.role == "assistant" and message.content is None and _is_empty(message):
            said = "Invalid assistant message: content or tool_calls must be set"
            yield Violation(
                f"messages[{index}].content",
                said,
                "O4",
                remedy='content: "", or leave the message out',
            )


def _is_empty(message: Message) -> bool:
    """Nothing said and nothing called; reasoning alone is nothing said."""
    return not message.tool_calls and all(
        each is None for each in (message.function_call, message.refusal, message.audio)
    )


def _options_have_what_they_need(
    request: ChatCompletionRequest, dialect: Dialect
) -> Iterator[Violation]:
    if request.stream_options is not None and not request.stream:
        yield Violation(
            "stream_options",
            "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
            "O5",
        )
    if request.parallel_tool_calls is not None and not request.tools:
        message = (
            "Invalid value for 'parallel_tool_calls': 'parallel_tool_calls' is only allowed "
            "when 'tools' are specified."
        )
        yield Violation("parallel_tool_calls", message, "O6")


# --- one provider ---------------------------------------------------------------------------------


def _nothing_refused(request: ChatCompletionRequest, dialect: Dialect) -> Iterator[Violation]:
    for refusal in dialect.refuses:
        if _is_model(refusal.models, request.model or ""):
            severity = "warning" if refusal.ignored else "error"
            words = refusal.words.replace("{model}", request.model or "")
            for path in _found(refusal, request):
                yield Violation(path, words, "O7", severity, refusal.remedy)


@functools.lru_cache(512)  # each rule of a dialect asks this of each request
def _is_model(pattern: str, model: str) -> bool:
    return re.match(pattern, model, re.IGNORECASE) is not None


def _found(refusal: Refusal, request: ChatCompletionRequest) -> Iterator[str]:
    """Paths in the request at which the refused field or value stands."""
    keys, values = _steps(refusal.path)
    return _walk(request, keys, values, "")


@functools.cache
def _steps(path: str) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """Keys of a pattern, and the values it is about, `None` for any."""
    keys, has_value, value = path.partition("=")
    return tuple(keys.split(".")), tuple(value.split("|")) if has_value else None


def _walk(
    node: Any, keys: tuple[str, ...], values: tuple[str, ...] | None, path: str
) -> Iterator[str]:
    if not keys:
        if values is None or any(_is(node, value) for value in values):
            yield path
        return
    key = keys[0].removesuffix("[]")
    # By the kind of the node: a text has attributes of its own, such as `index`.
    found = (
        getattr(node, key, None)
        if isinstance(node, WireStruct)
        else node.get(key)
        if isinstance(node, dict)
        else None
    )
    if found is None:
        return
    below = f"{path}.{key}" if path else key
    if key == keys[0]:
        yield from _walk(found, keys[1:], values, below)
    elif isinstance(found, list):
        for index, item in enumerate(found):
            yield from _walk(item, keys[1:], values, f"{below}[{index}]")


def _is(found: Any, value: str) -> bool:
    """Whether a value of the request is the one that a pattern names."""
    if isinstance(found, list):
        return not found and value == "[]"
    if isinstance(found, (int, float)):
        return f"{found:g}" == value
    return bool(found == value)


def _within_ranges(request: ChatCompletionRequest, dialect: Dialect) -> Iterator[Violation]:
    for field, least, most in dialect.ranges:
        number = getattr(request, field)
        if isinstance(number, (int, float)) and not least <= number <= most:
            side = (
                f"above maximum value. Expected a value <= {most:g}"
                if number > most
                else f"below minimum value. Expected a value >= {least:g}"
            )
            yield Violation(field, f"Invalid '{field}': {side}, but got {number} instead.", "O8")
    if (
        dialect.most_stops
        and isinstance(request.stop, list)
        and len(request.stop) > dialect.most_stops
    ):
        lengths = (
            f"maximum length {dialect.most_stops}, but got an array with length "
            f"{len(request.stop)} instead."
        )
        yield Violation(
            "stop", f"Invalid 'stop': array too long. Expected an array with {lengths}", "O8"
        )


def _roles_fit(request: ChatCompletionRequest, dialect: Dialect) -> Iterator[Violation]:
    if dialect.most_system_messages:
        systems = [
            index for index, message in enumerate(request.messages) if message.role == "system"
        ]
        for index in systems[dialect.most_system_messages :]:
            said = "invalid params, chat content has invalid message role: system (2013)"
            yield Violation(
                f"messages[{index}].role",
                said,
                "O9",
                remedy="one system message with all the texts",
            )
    last = request.messages[-1] if request.messages else None
    if (
        dialect.last_assistant_needs_prefix
        and last is not None
        and last.role == "assistant"
        and not last.prefix
    ):
        said = (
            "Expected last role User or Tool (or Assistant with prefix True) for serving but "
            "got assistant"
        )
        yield Violation(
            f"messages[{len(request.messages) - 1}].role",
            said,
            "O10",
            remedy="prefix: true, or a user message after it",
        )


def _tools_have_parameters(request: ChatCompletionRequest, dialect: Dialect) -> Iterator[Violation]:
    for index, tool in enumerate((request.tools or ()) if dialect.tool_parameters else ()):
        if tool.function is not None and tool.function.parameters is None:
            path, remedy = (
                f"tools[{index}].function.parameters",
                '{"type": "object", "properties": {}}',
            )
            yield Violation(path, "function parameters is empty (2013)", "O11", remedy=remedy)


def _nothing_forced_while_thinking(
    request: ChatCompletionRequest, dialect: Dialect
) -> Iterator[Violation]:
    if (
        dialect.no_forced_call_while_thinking
        and _is_forced(request.tool_choice)
        and _is_thinking(request, dialect)
    ):
        remedy = 'tool_choice: "auto", or switch thinking off'
        yield Violation(
            "tool_choice", "Thinking mode does not support this tool_choice", "O12", remedy=remedy
        )


def _is_forced(choice: str | ToolChoice | None) -> bool:
    """The model has to call something."""
    if isinstance(choice, ToolChoice):
        return choice.allowed_tools is None or choice.allowed_tools.mode == "required"
    return choice in ("required", "any")


def _is_thinking(request: ChatCompletionRequest, dialect: Dialect) -> bool:
    """Whether the model thinks, as far as the request and the dialect tell."""
    if request.thinking is not None and request.thinking.type is not None:
        return request.thinking.type != "disabled"
    if request.enable_thinking is not None:
        return request.enable_thinking
    if request.reasoning_effort == "none" or not dialect.thinks:
        return False
    return _is_model(dialect.thinks, request.model or "")


def _no_tools_while_reasoning(
    request: ChatCompletionRequest, dialect: Dialect
) -> Iterator[Violation]:
    if not dialect.no_tools_while_reasoning or not _is_model(
        dialect.no_tools_while_reasoning, request.model or ""
    ):
        return
    reasons = (
        request.reasoning_effort != "none"
        if request.reasoning_effort is not None
        else _is_thinking(request, dialect)
    )
    if reasons and any(tool.function is not None for tool in request.tools or ()):
        message = (
            f"Function tools with reasoning_effort are not supported for {request.model} "
            "in /v1/chat/completions. "
            "To use function tools, use /v1/responses or set reasoning_effort to 'none'."
        )
        yield Violation("reasoning_effort", message, "O13", remedy='reasoning_effort: "none"')


def _reasoning_goes_back(request: ChatCompletionRequest, dialect: Dialect) -> Iterator[Violation]:
    if not dialect.reasoning_required or not _is_thinking(request, dialect):
        return
    slot = dialect.reasoning_slots[0]
    for index, message in enumerate(request.messages):
        if message.role == "assistant" and message.tool_calls and getattr(message, slot) is None:
            said = (
                f"thinking is enabled but {slot} is missing in assistant tool call message at "
                f"index {index}"
            )
            yield Violation(
                f"messages[{index}].{slot}",
                said,
                "O14",
                remedy="messages(..., dialect=client.dialect) sends it back",
            )


_RULES: tuple[Rule, ...] = (
    _messages_are_there,
    _calls_are_answered,
    _assistants_say_something,
    _options_have_what_they_need,
    _nothing_refused,
    _within_ranges,
    _roles_fit,
    _tools_have_parameters,
    _nothing_forced_while_thinking,
    _no_tools_while_reasoning,
    _reasoning_goes_back,
)
