"""Rules of what stands beside the messages: tools and their schemas, thinking, sampling, the form
of the answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from wire.anthropic.families import (
    always_thinks,
    efforts,
    takes_adaptive,
    takes_budget,
    takes_forced_calls,
    takes_sampling,
    thinks_unasked,
)
from wire.anthropic.rules.rule_input import RuleInput, an_object, refused
from wire.anthropic.rules.turns import TOOL_NAME, name_problem
from wire.errors import Violation

LEAST_BUDGET = 1024
_MOST_STRICT, _MOST_OPTIONAL, _MOST_UNIONS = 20, 24, 16

Found = Iterator[Violation]


# --- tools ----------------------------------------------------------------------------------------


def tools_are_sound(asked: RuleInput) -> Found:
    """A24, A25, A26."""
    known: set[str] = set()
    for index, tool in enumerate(asked.tools):
        at = f"tools.{index}.custom"
        name = tool.plain.get("name")
        if isinstance(name, str):
            if name in known:
                yield refused(
                    f"{tool.path}.name", "tools: Tool names must be unique.", "A25", "another name"
                )
            known.add(name)
        if tool.type not in ("", "custom"):
            continue
        if not isinstance(name, str):
            yield refused(f"{tool.path}.name", f"{at}.name: Field required", "A24")
        elif not TOOL_NAME.fullmatch(name):
            remedy = "letters, digits, underscores and dashes, 128 in all"
            yield refused(f"{tool.path}.name", f"{at}.name: {name_problem(name)}", "A24", remedy)
        schema, path = tool.plain.get("input_schema"), f"{tool.path}.input_schema"
        if schema is None:
            yield refused(
                path,
                f"{at}.input_schema: Field required",
                "A26",
                '{"type": "object", "properties": {}}',
            )
        elif not isinstance(schema, Mapping):
            yield refused(
                path, f"{at}.input_schema: Input does not match the expected shape.", "A26"
            )
        elif schema.get("type") is None:
            yield refused(
                f"{path}.type", f"{at}.input_schema.type: Field required", "A26", "object"
            )
        elif schema["type"] != "object":
            yield refused(
                f"{path}.type",
                f"{at}.input_schema.type: Input should be 'object'",
                "A26",
                "an object with one property",
            )


def choice_fits(asked: RuleInput) -> Found:
    """A27, A28."""
    choice = an_object(asked.plain.get("tool_choice"))
    kind = choice.get("type")
    if not choice:
        return
    if kind not in ("auto", "any", "tool", "none"):
        said = (
            f"tool_choice: Input tag '{kind}' found using 'type' does not match any of the "
            "expected tags: 'any', 'auto', 'none', 'tool'"
        )
        yield refused(
            "tool_choice.type", said, "A27", "any calls some tool, tool the one of this name"
        )
    elif (
        kind == "tool"
        and asked.tools
        and choice.get("name") not in [tool.plain.get("name") for tool in asked.tools]
    ):
        yield refused(
            "tool_choice.name", f"Tool '{choice.get('name')}' not found in provided tools", "A27"
        )
    elif kind != "none" and not asked.tools and not asked.plain.get("mcp_servers"):
        yield refused(
            "tool_choice",
            "tool_choice may only be specified while providing tools.",
            "A27",
            "give tools, or leave it out",
        )
    if kind in ("any", "tool"):
        if asked.thinking.get("type") == "enabled":
            said = "Thinking may not be enabled when tool_choice forces tool use."
            yield refused("tool_choice", said, "A28", "auto, or thinking switched off")
        elif not takes_forced_calls(asked.family):
            yield refused(
                "tool_choice",
                "tool_choice forces tool use, which this model does not support.",
                "A28",
                "auto",
                "warning",
            )


def strict_schemas_are_small(asked: RuleInput) -> Found:
    """A29, A30: limits of the compiler of schemas."""
    strict = [
        tool for tool in asked.tools if tool.plain.get("strict") and tool.type in ("", "custom")
    ]
    if len(strict) > _MOST_STRICT:
        said = (
            f"Too many strict tools ({len(strict)}). The maximum number of strict tools "
            f"supported is {_MOST_STRICT}. "
            "Try reducing the number of tools marked as strict."
        )
        yield refused(f"{strict[_MOST_STRICT].path}.strict", said, "A29")
    schemas = [
        (f"{tool.path}.input_schema", an_object(tool.plain.get("input_schema"))) for tool in strict
    ]
    optional = unions = 0
    for path, schema in schemas:
        for inner in nodes(schema):
            properties = an_object(inner.get("properties"))
            required = inner.get("required")
            optional += len(
                set(properties) - set(required if isinstance(required, (list, tuple)) else ())
            )
            unions += sum(_is_union(each) for each in properties.values())
        circle = circular(schema)
        if circle:
            said = f"Invalid schema: Circular reference detected in schema definitions: {circle}."
            yield refused(path, said, "A30")
    if optional > _MOST_OPTIONAL:
        said = (
            f"Schemas contains too many optional parameters ({optional}) (limit: {_MOST_OPTIONAL})."
        )
        yield refused("tools", said, "A29")
    if unions > _MOST_UNIONS:
        said = (
            f"Schemas contains too many parameters with union types ({unions} parameters "
            "with type arrays or anyOf). This causes "
            "exponential compilation cost. Reduce the number of nullable or union-typed "
            f"parameters (limit: {_MOST_UNIONS} parameters "
            "with unions)."
        )
        yield refused("tools", said, "A29")


def _is_union(schema: Any) -> bool:
    plain = an_object(schema)
    return isinstance(plain.get("type"), (list, tuple)) or bool(plain.get("anyOf"))


def nodes(schema: Any) -> Iterator[Mapping[str, Any]]:
    """A schema and all that stand in it, each once."""
    if not isinstance(schema, Mapping):
        return
    yield schema
    for key in ("properties", "$defs", "definitions", "patternProperties"):
        for inner in an_object(schema.get(key)).values():
            yield from nodes(inner)
    for key in ("items", "additionalProperties", "not"):
        yield from nodes(schema.get(key))
    for key in ("anyOf", "allOf", "oneOf", "prefixItems"):
        several = schema.get(key)
        for inner in several if isinstance(several, (list, tuple)) else ():
            yield from nodes(inner)


def circular(schema: Mapping[str, Any]) -> str:
    """Definitions that refer to themselves, such as `Node -> Node`; empty if there are none."""
    defined = {
        f"#/{key}/{name}": inner
        for key in ("$defs", "definitions")
        for name, inner in an_object(schema.get(key)).items()
    }
    leads = {
        name: [str(node["$ref"]) for node in nodes(inner) if node.get("$ref") in defined]
        for name, inner in defined.items()
    }
    leads["#"] = [str(node["$ref"]) for node in nodes(schema) if node.get("$ref") == "#"]
    finished: set[str] = set()

    def walk(name: str, way: tuple[str, ...]) -> str:
        if name in way:
            return " -> ".join(each.rpartition("/")[2] for each in (*way[way.index(name) :], name))
        if name in finished:
            return ""
        for each in leads[name]:
            found = walk(each, (*way, name))
            if found:
                return found
        finished.add(name)
        return ""

    return next((found for name in leads if (found := walk(name, ()))), "")


def answer_is_closed(asked: RuleInput) -> Found:
    """A31, and A30 for the schema of the answer."""
    for path, form in (
        ("output_config.format", asked.config.get("format")),
        ("output_format", asked.plain.get("output_format")),
    ):
        schema = an_object(form).get("schema")
        if not isinstance(schema, Mapping):
            continue
        if any(
            node.get("type") == "object" and node.get("additionalProperties") is not False
            for node in nodes(schema)
        ):
            said = (
                f"{path}.schema: For 'object' type, 'additionalProperties' must be explicitly "
                "set to false"
            )
            yield refused(
                f"{path}.schema", said, "A31", '"additionalProperties": false in every object'
            )
        circle = circular(schema)
        if circle:
            said = f"Invalid schema: Circular reference detected in schema definitions: {circle}."
            yield refused(f"{path}.schema", said, "A30")


# --- thinking -------------------------------------------------------------------------------------


def budget_fits(asked: RuleInput) -> Found:
    """A32."""
    budget, most = asked.thinking.get("budget_tokens"), asked.plain.get("max_tokens")
    if asked.thinking.get("type") != "enabled":
        return
    path = "thinking.budget_tokens"
    # Other hosts of this wire take no notice of it.
    severity = "error" if asked.at_anthropic or asked.family.version else "warning"
    if not isinstance(budget, (int, float)):
        yield refused(
            path, "thinking.enabled.budget_tokens: Field required", "A32", "1024 or more", severity
        )
    elif budget < LEAST_BUDGET:
        said = (
            "thinking.enabled.budget_tokens: Input should be greater than or equal to "
            f"{LEAST_BUDGET}"
        )
        yield refused(path, said, "A32", "", severity)
    elif isinstance(most, (int, float)) and budget >= most:
        said = "`max_tokens` must be greater than `thinking.budget_tokens`."
        yield refused(path, said, "A32", "the answer needs tokens too", severity)


def thinking_is_known(asked: RuleInput) -> Found:
    """A33: which types of thinking there are differs by model."""
    kind, of = asked.thinking.get("type"), asked.family
    path = "thinking.type"
    if kind == "enabled" and not takes_budget(of):
        if of.since(4, 7):
            said = (
                '"thinking.type.enabled" is not supported for this model. Use '
                '"thinking.type.adaptive" and "output_config.effort" '
                "to control thinking behavior."
            )
            yield refused(path, said, "A33", '{"type": "adaptive"}')
        else:
            yield refused(
                path, "thinking: this model does not support thinking", "A33", "leave it out"
            )
    elif kind == "adaptive" and not takes_adaptive(of):
        said = '"thinking.type.adaptive" is not supported for this model.'
        yield refused(
            path,
            said,
            "A33",
            '{"type": "enabled", "budget_tokens": ...}' if takes_budget(of) else "leave it out",
        )
    elif kind == "disabled":
        if always_thinks(of):
            said = '"thinking.type.disabled" is not supported for this model.'
            yield refused(path, said, "A33", "a low effort", "warning")
        elif of.is_of("opus", 5) and asked.config.get("effort") in ("xhigh", "max"):
            said = (
                '"thinking.type.disabled" is not supported with effort level '
                f"'{asked.config['effort']}' for this model."
            )
            yield refused(path, said, "A33", "an effort up to high")


def effort_is_known(asked: RuleInput) -> Found:
    """A34."""
    effort, taken = asked.config.get("effort"), efforts(asked.family)
    if effort is None or effort in taken:
        return
    if not taken:
        yield refused(
            "output_config.effort",
            "This model does not support the effort parameter.",
            "A34",
            "leave it out",
        )
    elif asked.at_anthropic or asked.family.version:
        said = (
            f"This model does not support effort level '{effort}'. Supported levels: "
            f"{', '.join(sorted(taken))}."
        )
        yield refused("output_config.effort", said, "A34")


def edits_fit(asked: RuleInput) -> Found:
    """A35."""
    edits = an_object(asked.plain.get("context_management")).get("edits")
    thinks = asked.thinking.get("type") in ("enabled", "adaptive") or (
        not asked.thinking and thinks_unasked(asked.family)
    )
    for index, edit in enumerate(edits if isinstance(edits, (list, tuple)) else ()):
        if an_object(edit).get("type") == "clear_thinking_20251015" and not thinks:
            said = (
                "`clear_thinking_20251015` strategy requires `thinking` to be enabled or adaptive"
            )
            yield refused(f"context_management.edits[{index}]", said, "A35")


# --- numbers --------------------------------------------------------------------------------------


def tokens_are_named(asked: RuleInput) -> Found:
    """A36."""
    most = asked.plain.get("max_tokens")
    if asked.endpoint == "count_tokens":
        return
    if most is None:
        yield refused(
            "max_tokens",
            "max_tokens: Field required",
            "A36",
            "the most tokens of the answer; there is no default",
        )
    elif not isinstance(most, int) or most < 1:
        yield refused("max_tokens", "max_tokens: Input should be greater than or equal to 1", "A36")


def sampling_is_known(asked: RuleInput) -> Found:
    """A37, A38, A39."""
    temperature = asked.plain.get("temperature")
    given = [
        name for name in ("temperature", "top_p", "top_k") if asked.plain.get(name) is not None
    ]
    if not takes_sampling(asked.family):
        for name in given:
            yield refused(name, f"`{name}` is not supported for this model.", "A37", "leave it out")
        return
    if isinstance(temperature, (int, float)):
        if not 0 <= temperature <= 1:
            severity = "error" if asked.at_anthropic or asked.family.version else "warning"
            yield refused("temperature", "temperature: range: 0..1", "A38", "", severity)
        elif (
            asked.thinking.get("type") == "enabled"
            and temperature != 1
            and (asked.at_anthropic or asked.family.version)
        ):
            said = "`temperature` may only be set to 1 when thinking is enabled."
            yield refused("temperature", said, "A39", "leave it out")


def tools_are_told(asked: RuleInput) -> Found:
    """A40: not a rule of the vendor."""
    if not asked.plain.get("tools"):
        call = next(
            (block for turn in asked.turns for block in turn.of("tool_use", "tool_result")), None
        )
        if call is not None:
            said = "tools: a conversation with calls needs the tools, at some hosts of this wire"
            yield refused("tools", said, "A40", "give the tools that were called", "warning")
