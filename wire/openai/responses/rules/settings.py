"""Rules of the fields beside the input: stored responses, numbers, reasoning, formats, tools.

Each function checks the rules whose ids its docstring begins with, and yields one violation for
each breach. Message texts are the server's own and stay as they are; only remedies are ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wire.catalogue.abilities import longest_output
from wire.catalogue.facts import EFFORTS
from wire.core.errors import Violation
from wire.openai.common.bounds import metadata_problems, numbers_out_of_range
from wire.openai.common.refusals import refused_fields, supported
from wire.openai.common.schemas import open_object
from wire.openai.responses.rules.rule_input import (
    RuleInput,
    as_list,
    as_object,
    invalid_value,
    missing,
    violation,
)

INCLUDES = (
    "file_search_call.results",
    "web_search_call.results",
    "web_search_call.action.sources",
    "message.input_image.image_url",
    "computer_call_output.output.image_url",
    "code_interpreter_call.outputs",
    "reasoning.encrypted_content",
    "message.output_text.logprobs",
)
"""The values of `include`, in the order in which the server lists them."""
_FORMATS = ("json_object", "text", "json_schema")
_VALUES = {
    "tool_choice": ("none", "auto", "required"),
    "text.verbosity": ("low", "medium", "high"),
    "reasoning.summary": ("concise", "detailed", "auto"),
    "truncation": ("auto", "disabled"),
    "prompt_cache_retention": ("in_memory", "24h"),
}
"""Fields and their values, in the order in which the server lists them."""
_MIN_THRESHOLD = 1000
_DECIMALS = ("temperature", "top_p")

Violations = Iterator[Violation]


# --- what the server holds, and what the host takes -----------------------------------------------


def state_valid(request: RuleInput) -> Violations:
    """P15: a request continues a response or a conversation, not both; and the host can do so."""
    previous = request.plain.get("previous_response_id")
    conversation = request.plain.get("conversation")
    if request.dialect.chains != "yes":
        generic = {
            "refused": "this host does not continue stored responses",
            "ignored": "this host ignores it, and answers without the earlier turns",
        }[request.dialect.chains]
        remedy = "send the earlier turns as items of the input"
        if previous:
            words = request.dialect.chain_words or generic
            yield violation("previous_response_id", words, "P15", remedy)
        if conversation:
            yield violation("conversation", generic, "P15", remedy)
    elif previous and conversation:
        message = (
            "Mutually exclusive parameters: ''. Ensure you are only providing one of: "
            "'pre..._id' or 'conversation'."
        )
        yield violation(
            "conversation",
            message,
            "P15",
            "send one of the two",
            request.severity,
            code="mutually_exclusive_parameters",
            field="",
        )
    if request.at_openai and not request.model and not request.plain.get("prompt"):
        yield missing("model", "P15")


def fields_taken(request: RuleInput) -> Violations:
    """P16: the request has no field or value that the host refuses, and all that it requires."""
    yield from refused_fields(request.dialect.refuses, request.plain, request.model, "P16")
    for field, value, words in request.dialect.requires:
        given = request.plain.get(field)
        if given != value if value is not None else not given:
            remedy = "set it" if value is None else f"set it to {str(value).lower()}"
            yield violation(field, words, "P16", remedy, field="")
    for path, values in _VALUES.items() if request.at_openai else ():
        parent, _, key = path.rpartition(".")
        holder = as_object(request.plain.get(parent)) if parent else request.plain
        given = holder.get(key)
        if isinstance(given, str) and given not in values:
            yield invalid_value(path, given, values, "P16")


# --- numbers --------------------------------------------------------------------------------------


def values_in_range(request: RuleInput) -> Violations:
    """P17: numbers are within the limits of the host, and metadata within those of OpenAI."""
    for field, minimum, maximum in request.dialect.ranges:
        number = request.plain.get(field)
        if isinstance(number, (int, float)) and not minimum <= number <= maximum:
            message = f"Invalid '{field}': expected {minimum:g} to {maximum:g}, but got {number}."
            yield violation(field, message, "P17")
    if request.at_openai:
        metadata = as_object(request.plain.get("metadata"))
        for path, message, code in (
            *numbers_out_of_range("openai.responses", request.plain.get),
            *metadata_problems(metadata),
        ):
            remedy = "write it as text" if code == "invalid_type" else ""
            yield violation(path, message, "P17", remedy, code=code)
        for index, entry in enumerate(as_list(request.plain.get("context_management"))):
            threshold = as_object(entry).get("compact_threshold")
            if isinstance(threshold, int) and threshold < _MIN_THRESHOLD:
                path = f"context_management[{index}].compact_threshold"
                message = (
                    f"Invalid '{path}': integer below minimum value. Expected a value >= "
                    f"{_MIN_THRESHOLD}, but got {threshold} instead."
                )
                yield violation(path, message, "P17", code="integer_below_min_value")
    tokens = request.plain.get("max_output_tokens")
    if request.enforces_facts and isinstance(tokens, int):
        most = longest_output(request.dialect.models_of, request.model, tokens)
        if most and tokens > most:
            message = (
                "Invalid 'max_output_tokens': integer above maximum value. Expected a value <= "
                f"{most}, but got {tokens} instead."
            )
            code = "integer_above_max_value"
            yield violation("max_output_tokens", message, "P17", code=code)


# --- reasoning ------------------------------------------------------------------------------------


def sampling_supported(request: RuleInput) -> Violations:
    """P18: the model supports the effort; a model that reasons has no sampling parameters."""
    yield from _effort(request)
    if not request.enforces_facts or not request.is_reasoning:
        return
    severity = request.facts.severity("sampling")
    for field in _DECIMALS:
        value = request.plain.get(field)
        # A temperature of 1 is answered, a top_p of 1 is not.
        if value is not None and (field, value) != ("temperature", 1):
            yield _unsupported(field, "remove it", severity)
    if request.plain.get("top_logprobs") is not None:
        yield _no_logprobs("top_logprobs", "P18", severity)


def _effort(request: RuleInput) -> Violations:
    reasoning, path = as_object(request.plain.get("reasoning")), "reasoning.effort"
    effort, accepted = request.effort, request.facts.efforts
    if request.at_openai and effort is not None and effort not in EFFORTS:
        yield invalid_value(path, effort, EFFORTS, "P18")
    elif not request.enforces_facts:
        return
    elif accepted == ():
        severity = request.facts.severity("efforts")
        for key in ("effort", "summary"):
            if reasoning.get(key) is not None:
                field = f"reasoning.{key}"
                yield _unsupported(field, "remove it", severity, "unsupported_parameter")
    elif accepted and effort is not None and effort not in accepted:
        message = (
            f"Unsupported value: '{effort}' is not supported with the '{request.model}' "
            f"model. {supported(accepted)}"
        )
        severity = request.facts.severity("efforts")
        yield violation(path, message, "P18", "", severity, code="unsupported_value")


def _unsupported(field: str, remedy: str, severity: str, code: str = "") -> Violation:
    message = f"Unsupported parameter: '{field}' is not supported with this model."
    return violation(field, message, "P18", remedy, severity, code=code)


def _no_logprobs(field: str, rule: str, severity: str) -> Violation:
    message = "logprobs are not supported with reasoning models."
    return violation(field, message, rule, "remove it", severity, code="unsupported_parameter")


def include_supported(request: RuleInput) -> Violations:
    """P19: `include` has values of the API, which fit the model."""
    if not request.at_openai:
        return
    can_reason = not request.enforces_facts or request.facts.efforts != ()
    is_reasoning = request.enforces_facts and request.is_reasoning
    for index, value in enumerate(as_list(request.plain.get("include"))):
        path = f"include[{index}]"
        if value not in INCLUDES:
            yield invalid_value(path, str(value), INCLUDES, "P19")
        elif value == "reasoning.encrypted_content" and not can_reason:
            message = "Encrypted content is not supported with this model."
            severity = request.facts.severity("efforts")
            yield violation(path, message, "P19", "remove it", severity, field="include")
        elif value == "message.output_text.logprobs" and is_reasoning:
            yield _no_logprobs("include", "P19", request.facts.severity("sampling"))


# --- output format and tools ----------------------------------------------------------------------


def format_valid(request: RuleInput) -> Violations:
    """P20, P21: an output of JSON is asked for in the input; a schema has a name, and is closed if
    it is strict.
    """
    form = as_object(as_object(request.plain.get("text")).get("format"))
    kind = form.get("type")
    if not request.at_openai or not form:
        return
    if kind not in _FORMATS:
        yield invalid_value("text.format.type", str(kind or ""), _FORMATS, "P21")
    elif kind == "json_object":
        held = request.continues or request.body.has_references or request.plain.get("prompt")
        if not held and not _says_json(request):
            message = (
                "Response input messages must contain the word 'json' in some form to use "
                "'text.format' of type 'json_object'."
            )
            remedy = "write the word json into a message; `instructions` do not count"
            yield violation("text.format.type", message, "P20", remedy, field="input")
    elif kind == "json_schema":
        for key in ("name", "schema"):
            if form.get(key) in (None, ""):
                yield missing(f"text.format.{key}", "P21", "set it")
        if form.get("strict"):
            words = f"Invalid schema for response_format '{form.get('name')}'"
            yield from _closed(
                form.get("schema"), "text.format.schema", words, "P21", "invalid_json_schema"
            )


def _says_json(request: RuleInput) -> bool:
    texts = [request.plain.get("input")]
    for item in request.items:
        content = item.plain.get("content")
        texts.append(content)
        texts += [as_object(part).get("text") for part in as_list(content)]
    return any(isinstance(text, str) and "json" in text.lower() for text in texts)


def _closed(schema: Any, path: str, words: str, rule: str, code: str) -> Violations:
    found = open_object(as_object(schema)) if schema else None
    if found is not None:
        at, problem, remedy = found
        yield violation(path + at, f"{words}: {problem}", rule, remedy, code=code, field=path)


def tools_valid(request: RuleInput) -> Violations:
    """P22: tools have a type and a name, strict parameters are closed, and deferred tools come with
    a tool search.
    """
    if not request.at_openai:
        return
    for tool in request.body.tools:
        if not tool.type:
            yield missing(f"{tool.path}.type", "P22", 'set it, to "function" for a function')
        elif tool.type in ("function", "custom", "namespace") and not tool.plain.get("name"):
            remedy = "write its fields beside `type`, not into `function`"
            remedy = remedy if "function" in tool.plain else "set it"
            yield missing(f"{tool.path}.name", "P22", remedy)
        elif tool.type == "function" and tool.plain.get("strict"):
            words = f"Invalid schema for function '{tool.plain['name']}'"
            yield from _closed(
                tool.plain.get("parameters"),
                f"{tool.path}.parameters",
                words,
                "P22",
                "invalid_function_parameters",
            )
    deferred = [tool for tool in request.body.tools if tool.plain.get("defer_loading")]
    searches = [tool for tool in request.body.tools if tool.type == "tool_search"]
    if deferred and not searches:
        message = "Invalid Value: 'tools.defer_loading'. Deferred tools require tools.tool_search."
        remedy = 'add a tool of type "tool_search", or remove defer_loading'
        yield violation(f"{deferred[0].path}.defer_loading", message, "P22", remedy, field="tools")
    searchable = deferred or any(tool.type in ("namespace", "mcp") for tool in request.body.tools)
    if searches and not searchable and not request.continues:
        message = (
            "Invalid Value: 'tools.tool_search'. tools.tool_search requires at least one deferred "
            "tool."
        )
        remedy = "set defer_loading on a tool, or remove the search"
        yield violation(searches[0].path, message, "P22", remedy, field="tools")
