"""Rules of the fields beside `messages`: tools, thinking, sampling, output format.

Each function checks the rules whose ids its docstring begins with, and yields one violation for
each breach. Message texts are the server's own and stay as they are; only remedies are ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from wire.anthropic.dialect import is_since_2026
from wire.anthropic.families import (
    all_efforts,
    efforts,
    takes_adaptive,
    takes_budget,
    thinks_unasked,
)
from wire.anthropic.rules.rule_input import RuleInput, as_object, violation
from wire.anthropic.rules.turns import TOOL_NAME, tool_name_problem
from wire.catalogue.abilities import longest_output
from wire.catalogue.settings import setting
from wire.core.errors import Violation

MIN_THINKING_BUDGET_TOKENS = 1024
"""Of `thinking.budget_tokens` (A32)."""
_MIN_COMPACTED = 50_000
_SAMPLING = ("temperature", "top_p", "top_k")
_MAX_STRICT_TOOLS, _MAX_OPTIONAL_PARAMETERS, _MAX_UNION_PARAMETERS = 20, 24, 16

Violations = Iterator[Violation]


# --- tools ----------------------------------------------------------------------------------------


def tools_valid(request: RuleInput) -> Violations:
    """A24, A25, A26: tools have unique legal names, and an object as their input schema."""
    seen: set[str] = set()
    for index, tool in enumerate(request.body.tools):
        at = f"tools.{index}.custom"
        name = tool.plain.get("name")
        if isinstance(name, str):
            if name in seen:
                yield violation(
                    f"{tool.path}.name",
                    "tools: Tool names must be unique.",
                    "A25",
                    "rename one of them",
                )
            seen.add(name)
        if tool.type not in ("", "custom"):
            continue
        if not isinstance(name, str):
            yield violation(f"{tool.path}.name", f"{at}.name: Field required", "A24")
        elif not TOOL_NAME.fullmatch(name):
            remedy = "use letters, digits, _ and -, 128 at most"
            yield violation(
                f"{tool.path}.name", f"{at}.name: {tool_name_problem(name)}", "A24", remedy
            )
        schema, path = tool.plain.get("input_schema"), f"{tool.path}.input_schema"
        if schema is None:
            yield violation(
                path,
                f"{at}.input_schema: Field required",
                "A26",
                'set it to {"type": "object", "properties": {}}',
            )
        elif not isinstance(schema, Mapping):
            yield violation(
                path, f"{at}.input_schema: Input does not match the expected shape.", "A26"
            )
        elif schema.get("type") is None:
            yield violation(
                f"{path}.type",
                f"{at}.input_schema.type: Field required",
                "A26",
                'set it to "object"',
            )
        elif schema["type"] != "object":
            yield violation(
                f"{path}.type",
                f"{at}.input_schema.type: Input should be 'object'",
                "A26",
                "wrap the value in an object with one property",
            )


def tool_choice_valid(request: RuleInput) -> Violations:
    """A27, A28: the choice is of a known type, names a given tool, and fits the thinking mode."""
    choice = as_object(request.plain.get("tool_choice"))
    kind = choice.get("type")
    if not choice:
        return
    if kind not in ("auto", "any", "tool", "none"):
        message = (
            f"tool_choice: Input tag '{kind}' found using 'type' does not match any of the "
            "expected tags: 'any', 'auto', 'none', 'tool'"
        )
        yield violation(
            "tool_choice.type",
            message,
            "A27",
            "use any to force some call, tool to force the named tool",
        )
    elif (
        kind == "tool"
        and request.body.tools
        and choice.get("name") not in [tool.plain.get("name") for tool in request.body.tools]
    ):
        yield violation(
            "tool_choice.name", f"Tool '{choice.get('name')}' not found in provided tools", "A27"
        )
    elif (
        kind != "none"
        and not request.body.tools
        and not request.plain.get("mcp_servers")
        and not request.continues_thread
    ):
        yield violation(
            "tool_choice",
            "tool_choice may only be specified while providing tools.",
            "A27",
            "send tools, or remove tool_choice",
        )
    if kind in ("any", "tool"):
        if request.thinking.get("type") == "enabled":
            message = "Thinking may not be enabled when tool_choice forces tool use."
            yield violation("tool_choice", message, "A28", "use auto, or disable thinking")
        elif request.family.known.forced_calls == "refused":
            message = 'tool_choice: type "tool" and "any" are not supported for this model.'
            yield request.breach("forced_calls", "tool_choice", message, "A28", "use auto")


def strict_schemas_within_limits(request: RuleInput) -> Violations:
    """A29, A30: the schemas of strict tools are not recursive and within limits.

    The limits are those of the server's schema compiler, and hold for all strict tools together.
    """
    strict = [
        tool
        for tool in request.body.tools
        if tool.plain.get("strict") and tool.type in ("", "custom")
    ]
    if len(strict) > _MAX_STRICT_TOOLS:
        message = (
            f"Too many strict tools ({len(strict)}). The maximum number of strict tools "
            f"supported is {_MAX_STRICT_TOOLS}. "
            "Try reducing the number of tools marked as strict."
        )
        yield violation(f"{strict[_MAX_STRICT_TOOLS].path}.strict", message, "A29")
    schemas = [
        (f"{tool.path}.input_schema", as_object(tool.plain.get("input_schema"))) for tool in strict
    ]
    optional = unions = 0
    for path, schema in schemas:
        for inner in nodes(schema):
            properties = as_object(inner.get("properties"))
            required = inner.get("required")
            optional += len(
                set(properties) - set(required if isinstance(required, (list, tuple)) else ())
            )
            unions += sum(_is_union(each) for each in properties.values())
        cycle = reference_cycle(schema)
        if cycle:
            message = f"Invalid schema: Circular reference detected in schema definitions: {cycle}."
            yield violation(path, message, "A30")
    if optional > _MAX_OPTIONAL_PARAMETERS:
        message = (
            f"Schemas contains too many optional parameters ({optional}) "
            f"(limit: {_MAX_OPTIONAL_PARAMETERS})."
        )
        yield violation("tools", message, "A29")
    if unions > _MAX_UNION_PARAMETERS:
        message = (
            f"Schemas contains too many parameters with union types ({unions} parameters "
            "with type arrays or anyOf). This causes "
            "exponential compilation cost. Reduce the number of nullable or union-typed "
            f"parameters (limit: {_MAX_UNION_PARAMETERS} parameters "
            "with unions)."
        )
        yield violation("tools", message, "A29")


def _is_union(schema: Any) -> bool:
    plain = as_object(schema)
    return isinstance(plain.get("type"), (list, tuple)) or bool(plain.get("anyOf"))


def nodes(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the schema and all its subschemas, each once. `$ref` is not followed."""
    if not isinstance(schema, Mapping):
        return
    yield schema
    for key in ("properties", "$defs", "definitions", "patternProperties"):
        for inner in as_object(schema.get(key)).values():
            yield from nodes(inner)
    for key in ("items", "additionalProperties", "not"):
        yield from nodes(schema.get(key))
    for key in ("anyOf", "allOf", "oneOf", "prefixItems"):
        alternatives = schema.get(key)
        for inner in alternatives if isinstance(alternatives, (list, tuple)) else ():
            yield from nodes(inner)


def reference_cycle(schema: Mapping[str, Any]) -> str:
    """Return the first reference cycle of the definitions; `""` if there is none.

    >>> reference_cycle({"$defs": {"Node": {"items": {"$ref": "#/$defs/Node"}}}})
    'Node -> Node'
    """
    defined = {
        f"#/{key}/{name}": inner
        for key in ("$defs", "definitions")
        for name, inner in as_object(schema.get(key)).items()
    }
    references = {
        name: [
            ref
            for node in nodes(inner)
            if isinstance(ref := node.get("$ref"), str) and ref in defined
        ]
        for name, inner in defined.items()
    }
    references["#"] = [str(node["$ref"]) for node in nodes(schema) if node.get("$ref") == "#"]
    passed: set[str] = set()
    for start in references:
        # Without recursion: a chain of references may be longer than Python's stack.
        trail: dict[str, Iterator[str]] = {}
        name = start
        while name or trail:
            if name in trail:
                names = [*trail, name]
                cycle = names[names.index(name) :]
                return " -> ".join(each.rpartition("/")[2] for each in cycle)
            if name in references and name not in passed:
                passed.add(name)
                trail[name] = iter(references[name])
            last = next(reversed(trail), "")
            name = next(trail[last], "") if last else ""
            if last and not name:
                del trail[last]
    return ""


def output_schema_is_closed(request: RuleInput) -> Violations:
    """A30, A31: an output format has a schema, which is not recursive and has closed objects only.

    The refusal of a format without a schema is documented, and not recorded.
    """
    for path, form in (
        ("output_config.format", request.config.get("format")),
        ("output_format", request.plain.get("output_format")),
    ):
        if not isinstance(form, Mapping):
            continue
        schema = form.get("schema")
        if not isinstance(schema, Mapping):
            if form.get("type") in (None, "json_schema"):
                problem = (
                    "Field required" if schema is None else "Input should be a valid dictionary"
                )
                yield violation(
                    f"{path}.schema",
                    f"{path}.schema: {problem}",
                    "A31",
                    "set it to a JSON Schema, or remove the format",
                )
            continue
        if any(
            node.get("type") == "object" and node.get("additionalProperties") is not False
            for node in nodes(schema)
        ):
            message = (
                f"{path}.schema: For 'object' type, 'additionalProperties' must be explicitly "
                "set to false"
            )
            yield violation(
                f"{path}.schema",
                message,
                "A31",
                'set "additionalProperties": false in every object',
            )
        cycle = reference_cycle(schema)
        if cycle:
            message = f"Invalid schema: Circular reference detected in schema definitions: {cycle}."
            yield violation(f"{path}.schema", message, "A30")


# --- thinking -------------------------------------------------------------------------------------


def thinking_budget_valid(request: RuleInput) -> Violations:
    """A32: a thinking budget is at least 1,024 tokens and less than `max_tokens`."""
    budget, max_tokens = request.thinking.get("budget_tokens"), request.plain.get("max_tokens")
    if request.thinking.get("type") != "enabled":
        return
    path = "thinking.budget_tokens"
    # Hosts with models of their own ignore the budget.
    severity = "error" if request.at_anthropic or request.family.version else "warning"
    if not isinstance(budget, (int, float)):
        yield violation(
            path,
            "thinking.enabled.budget_tokens: Field required",
            "A32",
            "set it to 1024 or more",
            severity,
        )
    elif budget < MIN_THINKING_BUDGET_TOKENS:
        message = (
            "thinking.enabled.budget_tokens: Input should be greater than or equal to "
            f"{MIN_THINKING_BUDGET_TOKENS}"
        )
        yield violation(path, message, "A32", "", severity)
    elif isinstance(max_tokens, (int, float)) and budget >= max_tokens:
        message = "`max_tokens` must be greater than `thinking.budget_tokens`."
        yield violation(path, message, "A32", "leave tokens for the answer", severity)


def thinking_type_supported(request: RuleInput) -> Violations:
    """A33: the model supports this type of thinking."""
    kind, of = request.thinking.get("type"), request.family
    path = "thinking.type"
    if kind == "enabled" and not takes_budget(of):
        message, remedy = "thinking: this model does not support thinking", "remove it"
        if takes_adaptive(of):
            message = (
                '"thinking.type.enabled" is not supported for this model. Use '
                '"thinking.type.adaptive" and "output_config.effort" '
                "to control thinking behavior."
            )
            remedy = 'use {"type": "adaptive"}'
        yield request.breach("budget", path, message, "A33", remedy)
    elif kind == "adaptive" and not takes_adaptive(of):
        message = '"thinking.type.adaptive" is not supported for this model.'
        remedy = 'use {"type": "enabled", "budget_tokens": ...}'
        yield request.breach(
            "adaptive", path, message, "A33", remedy if takes_budget(of) else "remove it"
        )
    elif kind == "disabled" and of.known.off in ("refused", "between_tools"):
        message = '"thinking.type.disabled" is not supported for this model.'
        remedy = "use a low effort"
        if of.known.off == "between_tools":
            message += ' Use "thinking.type.between_tools".'
            remedy = 'use {"type": "between_tools"}'
        yield request.breach("off", path, message, "A33", remedy)
    elif (
        kind == "disabled"
        and (levels := of.known.efforts_when_off)
        and (effort := request.config.get("effort")) not in (None, *levels)
    ):
        message = f"\"thinking.type.disabled\" is not supported with effort level '{effort}'"
        message, remedy = f"{message} for this model.", "use high or a lower effort"
        yield request.breach("efforts_when_off", path, message, "A33", remedy)


def effort_supported(request: RuleInput) -> Violations:
    """A34: the model supports this effort level."""
    effort, supported = request.config.get("effort"), efforts(request.family)
    if effort is None or effort in supported:
        return
    if not supported:
        message, path = "This model does not support the effort parameter.", "output_config.effort"
        yield request.breach("efforts", path, message, "A34", "remove it")
    elif request.at_anthropic or request.family.version:
        message = (
            f"This model does not support effort level '{effort}'. Supported levels: "
            f"{', '.join(sorted(supported))}."
        )
        if effort not in all_efforts():
            yield violation("output_config.effort", message, "A34")
        else:
            yield request.breach("efforts", "output_config.effort", message, "A34", "")


def context_edits_valid(request: RuleInput) -> Violations:
    """A35, A49: clearing thinking from the context requires thinking; a compaction is valid."""
    edits = as_object(request.plain.get("context_management")).get("edits")
    is_thinking = request.thinking.get("type") in ("enabled", "adaptive", "between_tools") or (
        not request.thinking and thinks_unasked(request.family)
    )
    for index, edit in enumerate(edits if isinstance(edits, (list, tuple)) else ()):
        if as_object(edit).get("type") == "clear_thinking_20251015" and not is_thinking:
            message = (
                "`clear_thinking_20251015` strategy requires `thinking` to be enabled or adaptive"
            )
            yield violation(f"context_management.edits[{index}]", message, "A35")
        elif as_object(edit).get("type") == "compact_20260112":
            yield from _compaction_valid(as_object(edit), index)


def _compaction_valid(edit: Mapping[str, Any], index: int) -> Violations:
    """A49: a compaction begins at 50,000 tokens at the earliest."""
    path, trigger = f"context_management.edits[{index}].trigger", as_object(edit.get("trigger"))
    value = trigger.get("value")
    if trigger and trigger.get("type") != "input_tokens":
        message = f"{path}.type: expected input_tokens"
        yield violation(f"{path}.type", message, "A49", "the server counts input tokens only")
    elif isinstance(value, int) and value < _MIN_COMPACTED:
        message = f"{path}.value: Input should be greater than or equal to {_MIN_COMPACTED}"
        yield violation(f"{path}.value", message, "A49", "a larger trigger")


def model_is_served(request: RuleInput) -> Violations:
    """A41: Anthropic has not retired the model.

    A warning: some customers keep a retired model, and other hosts serve it for longer.
    """
    known = request.family.known
    if known.gone and request.at_anthropic:
        yield Violation(
            "model",
            f"model: {request.model}",
            "A41",
            "warning",
            f"use a model of today: this one was retired on {known.end()}",
            status=404,
            code="not_found_error",
        )


# --- numbers --------------------------------------------------------------------------------------


def max_tokens_given(request: RuleInput) -> Violations:
    """A36: a request has `max_tokens`, and the model can write as many; a count needs none."""
    max_tokens = request.plain.get("max_tokens")
    if request.endpoint == "count_tokens":
        return
    if max_tokens is None:
        yield violation(
            "max_tokens",
            "max_tokens: Field required",
            "A36",
            "set the maximum number of output tokens; there is no default",
        )
    elif not isinstance(max_tokens, int) or max_tokens < (0 if request.at_anthropic else 1):
        # Anthropic takes 0: the request then only fills the prompt cache.
        yield violation(
            "max_tokens", "max_tokens: Input should be greater than or equal to 1", "A36"
        )
    elif (most := longest_output("anthropic", request.model, max_tokens)) and request.at_anthropic:
        if max_tokens <= most:
            return
        message = f"max_tokens: {max_tokens} > {most}, which is the maximum allowed number of"
        message += f" output tokens for {request.model}"
        yield violation("max_tokens", message, "A36", f"ask for {most} or less")


def sampling_supported(request: RuleInput) -> Violations:
    """A37, A38, A39, A42: model and version have sampling parameters, and these are in range.

    Version 2026-10-21 has none, not even with their default values.
    """
    temperature = request.plain.get("temperature")
    given = [name for name in _SAMPLING if request.plain.get(name) is not None]
    if not given:
        return
    if request.family.known.sampling == "refused":
        for name in given:
            message = f"`{name}` is not supported for this model."
            yield request.breach("sampling", name, message, "A37", "remove it")
        return
    if request.at_anthropic and is_since_2026(request.version):
        older = f'version="{request.dialect.older_version}"'
        remedy = f"remove it, or ask for the older API with {older}"
        for name in given:
            yield violation(name, f"{name}: Extra inputs are not permitted", "A42", remedy)
        return
    if isinstance(temperature, (int, float)):  # not `top_p`: -1 was answered
        severity = "error" if request.at_anthropic or request.family.version else "warning"
        least, most = (each or 0 for each in setting("temperature").bounds["messages"])
        if not least <= temperature <= most:
            words = f"temperature: range: {least}..{most}"
            yield violation("temperature", words, "A38", "", severity)
        elif request.thinking.get("type") == "enabled" and temperature != 1 and severity == "error":
            message = "`temperature` may only be set to 1 when thinking is enabled."
            yield violation("temperature", message, "A39", "remove it")


def tools_given_with_calls(request: RuleInput) -> Violations:
    """A40: a request with calls in its history sends `tools`.

    A warning: Anthropic does not enforce it, some other hosts do.
    """
    if request.plain.get("tools") or request.continues_thread:
        return
    if request.turns_with("tool_use", "tool_result"):
        message = "tools: some hosts refuse tool calls in the history without tools"
        yield violation("tools", message, "A40", "send the tools that were called", "warning")


# --- what the server keeps ------------------------------------------------------------------------


def server_state_valid(request: RuleInput) -> Violations:
    """A46, A47: a thread is of a known type and names the response that it continues; a request is
    compacted by `compaction` or by `context_management`, not by both.
    """
    if request.plain.get("thread"):
        thread = as_object(request.plain["thread"])
        if thread.get("type") not in ("create", "continue"):
            yield violation("thread.type", "thread.type: expected create or continue", "A46")
        elif request.continues_thread and not thread.get("previous_message_id"):
            yield violation(
                "thread.previous_message_id",
                "thread.previous_message_id: Field required",
                "A46",
                "set it to the id of the latest response",
            )
    if request.plain.get("compaction") and request.plain.get("context_management"):
        yield violation(
            "compaction",
            "compaction: cannot be combined with context_management",
            "A47",
            "send one of the two",
        )
