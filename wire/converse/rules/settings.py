"""Rules of tools, of their choice, and of settings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from wire.converse.rules.rule_input import (
    RuleInput,
    as_object,
    as_objects,
    constraint,
    server_path,
    violation,
)
from wire.converse.rules.turns import tool_name
from wire.core.errors import Violation

Violations = Iterator[Violation]

_PAIR = re.compile(r"[a-zA-Z0-9\s:_@$#=/+,.-]*")
_MAX_PAIRS = 16
_MAX_PATHS = 10
_ENUMS = {
    "performanceConfig.latency": ("standard", "optimized"),
    "serviceTier.type": ("priority", "default", "flex", "reserved"),
    "guardrailConfig.trace": ("enabled", "disabled", "enabled_full"),
    "guardrailConfig.streamProcessingMode": ("sync", "async"),
    "outputConfig.textFormat.type": ("json_schema",),
}
"""Path of a setting to its values. Source: the service model of botocore 1.44.5."""
MAX_EFFORT = 16


# --- tools ----------------------------------------------------------------------------------------


def tools_valid(request: RuleInput) -> Violations:
    """B25, B26: at least one tool; each has one key, a legal name, and an object as schema."""
    config = request.plain.get("toolConfig")
    if config is None:
        return
    tools = request.body.tools
    if not tools:
        problem = "Member must have length greater than or equal to 1"
        yield constraint("toolConfig.tools", problem, "B25", "leave toolConfig out")
    names: set[str] = set()
    for tool in tools:
        if tool.kind not in ("toolSpec", "systemTool", "cachePoint") or len(tool.kinds) > 1:
            problem = "expected one of toolSpec, systemTool and cachePoint"
            yield violation(tool.path, problem, "B25")
            continue
        fields, path = tool.fields(tool.kind), f"{tool.path}.{tool.kind}"
        if tool.kind == "cachePoint":
            continue
        name = fields.get("name")
        yield from tool_name(name, f"{path}.name", "B25")
        if str(name) in names:
            problem = f"The tool name {name} is already defined at toolConfig.tools."
            yield violation(f"{path}.name", problem, "B25", "give each tool its own name")
        names.add(str(name))
        if tool.kind == "toolSpec":
            yield from _spec(fields, path)


def _spec(spec: Mapping[str, Any], path: str) -> Violations:
    if spec.get("description") == "":
        problem = "Member must have length greater than or equal to 1"
        yield constraint(f"{path}.description", problem, "B25", "leave it out")
    schema, at = as_object(spec.get("inputSchema")).get("json"), f"{path}.inputSchema.json"
    if not isinstance(schema, Mapping):
        problem = f"The format of the value at {server_path(at)} is invalid. Provide a json object "
        yield violation(at, problem + "for the field and try again.", "B26", "send a JSON Schema")
    elif schema.get("type") != "object":
        problem = f"The value at {server_path(at)}.type must be one of the following: object."
        yield violation(f"{at}.type", problem, "B26", 'add "type": "object"')


def tool_choice_valid(request: RuleInput) -> Violations:
    """B27, B28: one way to choose, of a tool that is there; Claude does not think when forced."""
    choice = as_object(as_object(request.plain.get("toolConfig")).get("toolChoice"))
    if not choice:
        return
    path = "toolConfig.toolChoice"
    kind = next(iter(choice))
    if len(choice) != 1 or kind not in ("auto", "any", "tool"):
        problem = f"expected one of auto, any and tool, found {', '.join(map(str, choice))}"
        yield violation(path, problem, "B27", "without tools there is no choice")
        return
    if kind == "tool":
        name = as_object(choice["tool"]).get("name")
        known = [tool.fields(tool.kind).get("name") for tool in request.body.tools]
        if name not in known:
            problem = f"{path}.tool.name: no tool is called {name!r}"
            yield violation(f"{path}.tool.name", problem, "B27", "name one of the tools")
    if kind != "auto" and request.family.free_choice:
        problem = f"This model doesn't support the {path}.{kind} field. Remove {path}.{kind} and "
        yield violation(f"{path}.{kind}", problem + "try again.", "B27", "use auto")
    thinks = as_object(request.further.get("thinking")).get("type") in ("enabled", "adaptive")
    if kind != "auto" and thinks and request.family.is_claude:
        problem = "The model returned the following errors: Thinking may not be enabled when "
        problem += "tool_choice forces tool use."
        yield violation(f"{path}.{kind}", problem, "B28", "use auto, or do not think")


# --- settings -------------------------------------------------------------------------------------


def inference_valid(request: RuleInput) -> Violations:
    """B29: numbers within the bounds of the service, stop sequences that are not empty."""
    config = as_object(request.plain.get("inferenceConfig"))
    tokens = config.get("maxTokens")
    if isinstance(tokens, int) and tokens < 1:
        problem = "Member must have value greater than or equal to 1"
        yield constraint("inferenceConfig.maxTokens", problem, "B29")
    for name in ("temperature", "topP"):
        value = config.get(name)
        if isinstance(value, (int, float)) and not 0 <= value <= 1:
            bound = "less than or equal to 1" if value > 1 else "greater than or equal to 0"
            problem = f"Member must have value {bound}"
            yield constraint(f"inferenceConfig.{name}", problem, "B29", "use 0 to 1")
    for index, each in enumerate(config.get("stopSequences") or ()):
        if each == "":
            problem = "Member must have length greater than or equal to 1"
            yield constraint(f"inferenceConfig.stopSequences[{index}]", problem, "B29")


def sampling_supported(request: RuleInput) -> Violations:
    """B30: newer models take no temperature and no topP."""
    known = request.family.known
    if known.sampling != "refused":
        return
    config = as_object(request.plain.get("inferenceConfig"))
    for name in ("temperature", "topP"):
        if config.get(name) is not None:
            problem = f"The model returned the following errors: `{name}` is not supported for "
            path = f"inferenceConfig.{name}"
            yield request.breach("sampling", path, problem + "this model.", "B30", "remove it")


def enums_valid(request: RuleInput) -> Violations:
    """B31: settings have one of their words."""
    for path, values in _ENUMS.items():
        value: Any = request.plain
        for key in path.split("."):
            value = as_object(value).get(key)
        if value is not None and value not in values:
            problem = f"Member must satisfy enum value set: [{', '.join(values)}]"
            yield constraint(path, problem, "B31")
    effort = as_object(request.plain.get("outputConfig")).get("effort")
    if isinstance(effort, str) and len(effort) > MAX_EFFORT:
        problem = f"Member must have length less than or equal to {MAX_EFFORT}"
        yield constraint("outputConfig.effort", problem, "B31")


def output_schema_valid(request: RuleInput) -> Violations:
    """B32: the schema of the answer is a text with a JSON object."""
    form = as_object(as_object(request.plain.get("outputConfig")).get("textFormat"))
    if not form:
        return
    path = "outputConfig.textFormat.structure.jsonSchema.schema"
    schema = as_object(as_object(form.get("structure")).get("jsonSchema")).get("schema")
    try:
        found = json.loads(schema) if isinstance(schema, str) else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, Mapping):
        yield violation(path, "expected a text with a JSON Schema", "B32", "encode the schema")


def metadata_valid(request: RuleInput) -> Violations:
    """B33: at most 16 pairs of short texts, and at most 10 pointers to fields."""
    pairs = as_object(request.plain.get("requestMetadata"))
    if len(pairs) > _MAX_PAIRS:
        problem = f"Map value must have at most {_MAX_PAIRS} entries"
        yield constraint("requestMetadata", problem, "B33")
    for key, value in pairs.items():
        for text, least in ((key, 1), (value, 0)):
            legal = isinstance(text, str) and least <= len(text) <= 256 and _PAIR.fullmatch(text)
            if not legal:
                problem = "Member must satisfy regular expression pattern: "
                problem += r"[a-zA-Z0-9\s:_@$#=/+,-.]{0,256}"
                yield constraint(f"requestMetadata.{key}", problem, "B33")
                break
    pointers = request.plain.get("additionalModelResponseFieldPaths")
    for index, each in enumerate(pointers if isinstance(pointers, (list, tuple)) else ()):
        path = f"additionalModelResponseFieldPaths[{index}]"
        if index == _MAX_PATHS:
            problem = f"Member must have length less than or equal to {_MAX_PATHS}"
            yield constraint("additionalModelResponseFieldPaths", problem, "B33")
        if not isinstance(each, str) or not each.startswith("/"):
            yield violation(path, "expected a JSON pointer, such as /stop_sequence", "B33")


def guard_content_valid(request: RuleInput) -> Violations:
    """B34: content for a guardrail needs the guardrail."""
    blocks = [block for _, block in request.with_kinds("guardContent")]
    config = as_object(request.plain.get("guardrailConfig"))
    if config and not (config.get("guardrailIdentifier") and config.get("guardrailVersion")):
        problem = "expected guardrailIdentifier and guardrailVersion"
        yield violation("guardrailConfig", problem, "B34", "give both", "warning")
    for block in blocks:
        for part in as_objects([block.fields("guardContent")]):
            if not part.get("text") and not part.get("image"):
                yield violation(block.path, "expected one of text and image", "B34")
