"""The rules that the server enforces, checked before a request is sent; ids as in docs/rules.md.

`check(request, model, provider)` applies the rules of all hosts of chat completions and those of
the provider. It returns all violations at once, each with its JSON path, the server's words, the
rule's id and a remedy. A "warning" does not prevent an answer; for example, the server ignores the
field. Message texts are the server's own and stay as they are; only remedies are ours.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from wire.catalogue.abilities import longest_output
from wire.catalogue.facts import ModelFacts, ending, facts, nearest
from wire.core.arguments import checked_arguments
from wire.core.bodies import decoded_body
from wire.core.bounds import BOUNDS
from wire.core.errors import Violation
from wire.core.json_values import expands, too_large
from wire.core.provider import Provider
from wire.openai.chat import content_rules
from wire.openai.chat.types import ChatCompletionRequest, Message, ToolChoice
from wire.openai.common.bounds import metadata_problems, numbers_out_of_range
from wire.openai.common.dialect import Dialect, matches_model
from wire.openai.common.refusals import refused_fields, supported
from wire.openai.common.rows import RESPONSES_ONLY, provider_row

Rule = Callable[[ChatCompletionRequest, Dialect], Iterator[Violation]]


@checked_arguments()
def check(
    request: ChatCompletionRequest | bytes | Mapping[str, Any],
    model: str = "",
    provider: Provider | str = "openai",
    *,
    date: str = "",
) -> list[Violation]:
    """Return the violations of a request: a struct, or a body as bytes or as decoded JSON.

    >>> check(ChatCompletionRequest(model="m", messages=[]))[0].rule
    'O1'
    >>> body = b'{"model": "gpt-5.4", "messages": [{"role": "user", "content": 5}]}'
    >>> print(check(body)[0])
    messages[0].content: Expected `str | array | null`, got `int`

    `model` defaults to the request's own. `provider` is a row or its name; `""` is an unknown host,
    for which only the rules of all hosts are applied. A body of another kind is a violation too,
    not an exception; a key that the reference lacks is a warning, since hosts differ.

    `date` is the day on which it is sent, as `2026-11-28`: then a model that ends within 60 days is
    a warning too.
    """
    if not isinstance(request, ChatCompletionRequest):
        decoded, violations = decoded_body(request, ChatCompletionRequest)
        if decoded is None:
            return violations
        return check(decoded, model, provider, date=date) + violations
    if model and model != request.model:
        request = msgspec.structs.replace(request, model=model)
    found = check_struct(request, provider)
    return found + ending(request.model or "", provider_row(provider).name, date) if date else found


def check_struct(request: ChatCompletionRequest, provider: Provider | str) -> list[Violation]:
    """Return the violations, as `check`, of a struct and its own model."""
    dialect = provider_row(provider).dialect
    schemas = (request.tools, request.response_format)
    if schemas != (None, None) and expands(schemas, BOUNDS.schema_values):
        return [too_large(request, "", BOUNDS.schema_values)]
    return [violation for rule in _RULES for violation in rule(request, dialect)]


# --- every host -----------------------------------------------------------------------------------


def _messages_present(request: ChatCompletionRequest, dialect: Dialect) -> Iterator[Violation]:
    """O1: a request has at least one message."""
    if not request.messages:
        message = (
            "Invalid 'messages': empty array. Expected an array with minimum length 1, but "
            "got an empty array instead."
        )
        yield Violation("messages", message, "O1")


def _calls_have_results(request: ChatCompletionRequest, dialect: Dialect) -> Iterator[Violation]:
    """O2, O3: calls without results, and results without calls, in one pass.

    A warning at hosts that were not seen to refuse them, and for calls at the end of the request: a
    local Ollama was recorded to continue there.
    """
    severity = "error" if dialect.pairs_calls else "warning"
    calls: list[tuple[str, str]] = []  # ids and paths of the calls of the latest message
    result_ids: set[str] = set()
    for index, message in enumerate(request.messages):
        if message.role == "tool":
            id = message.tool_call_id or ""
            result_ids.add(id)
            if id not in (call for call, _ in calls):
                words = (
                    "messages with role 'tool' must be a response to a preceeding message "
                    "with 'tool_calls'."
                )
                yield Violation(
                    f"messages[{index}].tool_call_id",
                    words,
                    "O3",
                    severity,
                    remedy="use the id of a call of the previous message",
                )
            continue
        if not (message.tool_calls or calls or result_ids):
            continue  # as most messages
        yield from _calls_without_results(calls, result_ids, severity)
        calls = [
            (call.id or "", f"messages[{index}].tool_calls[{position}]")
            for position, call in enumerate(message.tool_calls or ())
        ]
        result_ids = set()
    yield from _calls_without_results(calls, result_ids, "warning")


def _calls_without_results(
    calls: list[tuple[str, str]], result_ids: set[str], severity: str
) -> Iterator[Violation]:
    for id, path in calls:
        if id not in result_ids:
            words = (
                "An assistant message with 'tool_calls' must be followed by tool "
                "messages responding to each 'tool_call_id'. "
                f"The following tool_call_ids did not have response messages: {id}"
            )
            yield Violation(
                path,
                words,
                "O2",
                severity,
                remedy="answer it with a message of role tool, or remove the call",
            )


def _assistant_messages_not_empty(
    request: ChatCompletionRequest, dialect: Dialect
) -> Iterator[Violation]:
    """O4: an assistant message has content or calls."""
    for index, message in enumerate(request.messages):
        if message.role == "assistant" and message.content is None and _is_empty(message):
            words = "Invalid assistant message: content or tool_calls must be set"
            yield Violation(
                f"messages[{index}].content",
                words,
                "O4",
                remedy='set content: "", or remove the message',
            )


def _is_empty(message: Message) -> bool:
    """Return whether the message has neither calls nor an answer; reasoning is not an answer."""
    return not message.tool_calls and all(
        each is None
        for each in (message.function_call, message.refusal, message.audio, message.images)
    )


def _options_consistent(request: ChatCompletionRequest, dialect: Dialect) -> Iterator[Violation]:
    """O5, O6: options of streams and of tools come with a stream and with tools.

    O6 is a warning beside OpenAI's own server: xAI was recorded to answer.
    """
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
        severity = "error" if dialect.vendor_bounds else "warning"
        yield Violation("parallel_tool_calls", message, "O6", severity)


# --- one provider ---------------------------------------------------------------------------------


def _refused_fields(request: ChatCompletionRequest, dialect: Dialect) -> Iterator[Violation]:
    """O7: the request has no field or value that the provider refuses."""
    return refused_fields(dialect.refuses, request, request.model or "", "O7")


def _model_answers(request: ChatCompletionRequest, dialect: Dialect) -> Iterator[Violation]:
    """O15: the model answers chat completions, and has not been shut down."""
    model = request.model or ""
    for refusal in dialect.refuses_models:
        if matches_model(refusal.models, model):
            remedy = refusal.remedy
            if refusal.since:
                remedy = f"use a model of today: this one was shut down on {refusal.since}"
            yield Violation(
                "model",
                refusal.words.replace("{model}", model),
                "O15",
                "warning" if refusal.since else "error",
                remedy,
                refusal.status,
                refusal.code,
            )
            return
    known = facts(model)
    if known.vendor != dialect.models_of:
        return
    if known.is_sure("wires") and "chat" not in known.wires:
        remedy = "use openai@responses"
        yield Violation("model", RESPONSES_ONLY, "O15", remedy=remedy, status=404)
    elif known.gone and dialect.ended_words:
        words = dialect.ended_words.replace("{model}", model)
        remedy = f"use a model of today: this one was shut down on {known.end()}"
        yield Violation("model", words, "O15", "warning", remedy, 404, "model_not_found")


def _values_in_range(request: ChatCompletionRequest, dialect: Dialect) -> Iterator[Violation]:
    """O8: numbers, lists and metadata are within the limits of the provider."""
    if dialect.vendor_bounds:
        value_of = functools.partial(getattr, request)
        for path, message, code in numbers_out_of_range("openai", value_of):
            yield Violation(path, message, "O8", code=code)
        for path, message, code in metadata_problems(request.metadata) if request.metadata else ():
            yield Violation(path, message, "O8", code=code)
    for field, minimum, maximum in dialect.ranges:
        number = getattr(request, field)
        if isinstance(number, (int, float)) and not minimum <= number <= maximum:
            problem = (
                f"above maximum value. Expected a value <= {maximum:g}"
                if number > maximum
                else f"below minimum value. Expected a value >= {minimum:g}"
            )
            yield Violation(field, f"Invalid '{field}': {problem}, but got {number} instead.", "O8")
    for field in ("max_tokens", "max_completion_tokens") if dialect.models_of else ():
        tokens = getattr(request, field)
        if isinstance(tokens, int) and tokens > (
            longest := longest_output(dialect.models_of, request.model or "", tokens) or tokens
        ):
            words = (
                f"{field} is too large: {tokens}. This model supports at most {longest} completion "
                f"tokens, whereas you provided {tokens}."
            )
            severity = "error" if dialect.vendor_bounds else "warning"
            remedy = f"ask for {longest} or less"
            yield Violation(field, words, "O8", severity, remedy, field=field)
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


def _roles_valid(request: ChatCompletionRequest, dialect: Dialect) -> Iterator[Violation]:
    """O9, O10: the number of system messages, and the role of the last message."""
    if dialect.most_system_messages:
        systems = [
            index for index, message in enumerate(request.messages) if message.role == "system"
        ]
        for index in systems[dialect.most_system_messages :]:
            words = "invalid params, chat content has invalid message role: system (2013)"
            yield Violation(
                f"messages[{index}].role",
                words,
                "O9",
                remedy="merge all system texts into one message",
            )
    last = request.messages[-1] if request.messages else None
    if (
        dialect.last_assistant_needs_prefix
        and last is not None
        and last.role == "assistant"
        and not last.prefix
    ):
        words = (
            "Expected last role User or Tool (or Assistant with prefix True) for serving but "
            "got assistant"
        )
        yield Violation(
            f"messages[{len(request.messages) - 1}].role",
            words,
            "O10",
            remedy="set prefix: true, or add a user message after it",
        )


def _tools_have_parameters(request: ChatCompletionRequest, dialect: Dialect) -> Iterator[Violation]:
    """O11: a function has `parameters`."""
    for index, tool in enumerate((request.tools or ()) if dialect.tool_parameters else ()):
        if tool.function is not None and tool.function.parameters is None:
            path = f"tools[{index}].function.parameters"
            remedy = 'set it to {"type": "object", "properties": {}}'
            yield Violation(path, "function parameters is empty (2013)", "O11", remedy=remedy)


def _no_forced_call_while_thinking(
    request: ChatCompletionRequest, dialect: Dialect
) -> Iterator[Violation]:
    """O12: a thinking model is not forced to call a tool."""
    if (
        dialect.no_forced_call_while_thinking
        and _is_forced(request.tool_choice)
        and _is_thinking(request, dialect)
    ):
        remedy = 'set tool_choice: "auto", or disable thinking'
        yield Violation(
            "tool_choice", "Thinking mode does not support this tool_choice", "O12", remedy=remedy
        )


def _is_forced(choice: str | ToolChoice | None) -> bool:
    """Return whether the model must call a tool."""
    if isinstance(choice, ToolChoice):
        return choice.allowed_tools is None or choice.allowed_tools.mode == "required"
    return choice in ("required", "any")


def _is_thinking(request: ChatCompletionRequest, dialect: Dialect) -> bool:
    """Return whether the model thinks, according to the request, or else to the dialect."""
    if request.thinking is not None and request.thinking.type is not None:
        return request.thinking.type != "disabled"
    if request.enable_thinking is not None:
        return request.enable_thinking
    if request.reasoning_effort == "none" or not dialect.thinks:
        return False
    return matches_model(dialect.thinks, request.model or "")


def _fits_the_model(request: ChatCompletionRequest, dialect: Dialect) -> Iterator[Violation]:
    """O13, O21, O22: what is known of the model, at a host that has the rules of its vendor."""
    known = facts(request.model or "")
    if not known.vendor or known.vendor != dialect.models_of:
        return
    if request.reasoning_effort is not None or request.thinking is not None:
        yield from _effort_supported(request, known, dialect)
    if request.tools:
        yield from _no_tools_while_reasoning(request, known)
    if known.stop_on_chat or known.sampling in ("refused", "off"):
        yield from _sampling_supported(request, known)
    elif known.sampling in ("fixed", "ignored while thinking") and (
        known.off == "refused" or _is_thinking(request, dialect)
    ):
        yield from _sampling_read(request, known)


def _breach(
    known: ModelFacts, figure: str, field: str, words: str, rule: str, remedy: str
) -> Violation:
    """Build the violation of a fact, which refuses only if its evidence is a reason to."""
    return Violation(field, words, rule, known.severity(figure), remedy, field=field)


def _effort_supported(
    request: ChatCompletionRequest, known: ModelFacts, dialect: Dialect
) -> Iterator[Violation]:
    """O21: the effort is one of the model's, and thinking is not off where it cannot be."""
    if known.off == "refused" and request.thinking and request.thinking.type == "disabled":
        words = f"thinking.type 'disabled' is not supported by {request.model}."
        yield _breach(known, "off", "thinking.type", words, "O21", "remove it")
    effort, efforts = request.reasoning_effort, known.chat_efforts()
    if effort is None or efforts is None or effort in efforts:
        return
    figure = "off" if effort == "none" and known.off == "refused" else "efforts"
    if figure == "efforts" and not dialect.refuses_efforts:
        if effort == "none" and known.off == "accepted":
            return
        words = f"{request.model} has no effort {effort}"
        remedy = f"use {nearest(effort, efforts)}" if efforts else "remove it"
        yield Violation("reasoning_effort", words, "O21", "warning", remedy)
        return
    if not efforts:
        words, remedy = "Unrecognized request argument supplied: reasoning_effort", "remove it"
    else:
        words = dialect.effort_words or "reasoning_effort '{value}' is not supported by {model}."
        if "{values}" not in words:
            words = f"{words} {supported(efforts)}"
        words = words.replace("{value}", effort).replace("{model}", request.model or "")
        words = words.replace("{values}", ", ".join(sorted(efforts)))
        remedy = f"use {nearest(effort, efforts)}"
    yield _breach(known, figure, "reasoning_effort", words, "O21", remedy)


def _no_tools_while_reasoning(
    request: ChatCompletionRequest, known: ModelFacts
) -> Iterator[Violation]:
    """O13: a reasoning model gets no function tools."""
    takes = known.tools_on_chat
    is_refused = takes == "refused" or (takes == "off" and known.thinks(request.reasoning_effort))
    if is_refused and any(tool.function is not None for tool in request.tools or ()):
        words = (
            f"Function tools with reasoning_effort are not supported for {request.model} "
            "in /v1/chat/completions. "
            "To use function tools, use /v1/responses or set reasoning_effort to 'none'."
        )
        remedy = "use openai@responses"
        if takes == "off":
            remedy += ', or set reasoning_effort: "none"'
        yield _breach(known, "tools_on_chat", "reasoning_effort", words, "O13", remedy)


def _sampling_supported(request: ChatCompletionRequest, known: ModelFacts) -> Iterator[Violation]:
    """O22: a reasoning model gets no field that decides how its tokens are drawn."""
    if known.stop_on_chat == "refused" and request.stop is not None:
        words = "Unsupported parameter: 'stop' is not supported with this model."
        yield _breach(known, "stop_on_chat", "stop", words, "O22", "remove it")
    if known.sampling not in ("refused", "off"):
        return
    if known.sampling == "off" and not known.thinks(request.reasoning_effort):
        return
    for field, default in _SAMPLING.items():
        value = getattr(request, field)
        if value is None or value == default:
            continue
        words = f"Unsupported parameter: '{field}' is not supported with this model."
        if known.sampling == "off" and field in ("temperature", "top_p"):
            words = (
                f"Unsupported value: '{field}' does not support {value:g} with this model. "
                f"Only the default ({default}) value is supported."
            )
        yield _breach(known, "sampling", field, words, "O22", "remove it")


def _sampling_read(request: ChatCompletionRequest, known: ModelFacts) -> Iterator[Violation]:
    """O22: a model that draws its tokens in one way only gets no other one."""
    for field in ("temperature", "top_p", "presence_penalty", "frequency_penalty"):
        value = getattr(request, field)
        if value is None or value == _SAMPLING[field]:
            continue
        if (known.sampling, field) == ("fixed", "temperature"):
            words = "invalid temperature: only 1 is allowed for this model"
            yield _breach(known, "sampling", field, words, "O22", "remove it")
        else:
            words = f"ignored while {request.model} thinks"
            if known.sampling == "fixed":
                words = f"{request.model} has one {field} only"
            yield Violation(field, words, "O22", "warning", "remove it")


_SAMPLING: Mapping[str, Any] = {
    "temperature": 1,
    "top_p": 1,
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "logprobs": False,
    "top_logprobs": None,
}
"""Fields that a reasoning model does not have, and the value with which each is answered."""


def required_reasoning(request: ChatCompletionRequest, dialect: Dialect) -> str:
    """Return the key that assistant messages with tool calls must have (O14), or `""` for none."""
    if not dialect.reasoning_required or not _is_thinking(request, dialect):
        return ""
    return dialect.reasoning_slots[0]


def _reasoning_present(request: ChatCompletionRequest, dialect: Dialect) -> Iterator[Violation]:
    """O14: a thinking model gets its reasoning back with its calls."""
    if not dialect.reasoning_required:
        return
    slot = required_reasoning(request, dialect)
    if not slot:
        return
    for index, message in enumerate(request.messages):
        if message.role == "assistant" and message.tool_calls and getattr(message, slot) is None:
            words = (
                f"thinking is enabled but {slot} is missing in assistant tool call message at "
                f"index {index}"
            )
            yield Violation(
                f"messages[{index}].{slot}",
                words,
                "O14",
                remedy="build the messages with messages(..., dialect=client.dialect)",
            )


_RULES: tuple[Rule, ...] = (
    _messages_present,
    _calls_have_results,
    _assistant_messages_not_empty,
    _options_consistent,
    _refused_fields,
    _values_in_range,
    _roles_valid,
    _tools_have_parameters,
    _no_forced_call_while_thinking,
    _fits_the_model,
    _reasoning_present,
    _model_answers,
    content_rules.media_from_users_only,
    content_rules.media_are_readable,
    content_rules.output_has_a_schema,
    content_rules.schemas_are_valid,
)
