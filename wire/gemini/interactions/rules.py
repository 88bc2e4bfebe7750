"""The rules that the server enforces, checked before a request is sent; ids as in docs/rules.md.

`check(request, model, provider)` returns all violations at once, each with its JSON path, the
server's words where they are known, the rule's id and a remedy. Rules of Google's service are left
out for other hosts. With `previous_interaction_id`, results may answer calls that the request does
not contain.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

import msgspec

from wire.catalogue.facts import ending
from wire.core.arguments import checked_arguments
from wire.core.errors import Violation
from wire.core.json_values import expands, too_large
from wire.core.memory import built
from wire.core.provider import Provider
from wire.gemini.families import family
from wire.gemini.interactions.rows import provider_row
from wire.gemini.interactions.types import (
    GenerationConfig,
    InteractionRequest,
    Tool,
)

Plain = Mapping[str, Any]

STEP_TYPES = frozenset(
    {
        "user_input",
        "model_output",
        "thought",
        "function_call",
        "function_result",
        *(
            f"{tool}_{word}"
            for tool in (
                "google_search",
                "code_execution",
                "url_context",
                "google_maps",
                "file_search",
                "retrieval",
                "mcp_server_tool",
                "tool_search",
                "processing",
            )
            for word in ("call", "result")
        ),
    }
)
CONTENT_TYPES = frozenset({"text", "image", "audio", "document", "video"})
TOOL_TYPES = frozenset(
    {
        "function",
        "google_search",
        "code_execution",
        "url_context",
        "google_maps",
        "file_search",
        "computer_use",
        "mcp_server",
        "retrieval",
        "tool_search",
    }
)
_WORDS = {
    "service_tier": ("flex", "standard", "priority", "deferred"),
    "generation_config.thinking_summaries": ("auto", "none"),
    "generation_config.tool_choice": ("auto", "any", "none", "validated"),
}
SKIP = "skip_thought_signature_validator"
"""The signature of a thought that stands for one that the client does not have."""
_LABEL = re.compile(r"[a-z0-9_\-]{0,63}")


class Body(msgspec.Struct, frozen=True, dict=True):
    """The body of a request. It is read once, and may be checked for one host after another."""

    request: InteractionRequest | bytes | Plain

    @functools.cached_property
    def plain(self) -> Plain:
        """The body as plain JSON; of another type if the request is not an object."""
        request: Any = self.request
        if isinstance(request, InteractionRequest):
            request = built(request, lambda raw: json.loads(bytes(raw)))
        return cast(Plain, json.loads(request) if isinstance(request, bytes) else request)


class RuleInput:
    """A request, with the model that it is for."""

    def __init__(self, body: Body, model: str) -> None:
        self.plain = body.plain
        self.model = model
        self.config = _object(self.plain.get("generation_config"))
        given = self.plain.get("input")
        self.steps = [_object(each) for each in given] if isinstance(given, list | tuple) else []
        tools = self.plain.get("tools")
        self.tools = [_object(each) for each in tools] if isinstance(tools, list | tuple) else []

    @property
    def continues(self) -> bool:
        """Whether the server has the history."""
        return bool(self.plain.get("previous_interaction_id"))


def _object(value: Any) -> Plain:
    return value if isinstance(value, Mapping) else {}


def _violation(
    path: str, message: str, rule: str, remedy: str = "", severity: str = "error"
) -> Violation:
    return Violation(path, message, rule, severity, remedy, code="invalid_request")


def _unsupported(value: Any, field: str, path: str, rule: str) -> Violation:
    at = f"{path}.{field}" if path else field
    where = f" at '{path}'" if path else ""
    return _violation(at, f"The value '{value}' is not supported for '{field}'{where}.", rule)


# --- the request ----------------------------------------------------------------------------------


def who_is_asked(request: RuleInput) -> Iterator[Violation]:
    """I1: exactly one of model and agent."""
    named = [key for key in ("model", "agent") if request.plain.get(key)]
    if len(named) == 2:
        yield _violation("agent", "only one of model and agent can be set", "I1", "remove one")
    elif not named and not request.model:
        yield _violation("model", "expected a model or an agent", "I1")


def input_present(request: RuleInput) -> Iterator[Violation]:
    """I2: there is an input, unless a token continues a stored interaction."""
    given = request.plain.get("input")
    if request.plain.get("continuation_token") and request.continues:
        return
    if given is None or given == "" or given == []:
        yield _violation("input", "expected a text, a content or steps", "I2")


def state_valid(request: RuleInput) -> Iterator[Violation]:
    """I3: what needs a stored interaction is not asked for without one."""
    if request.plain.get("store") is not False:
        return
    for key in ("previous_interaction_id", "background"):
        if request.plain.get(key):
            yield _violation(key, f"{key} and store: false exclude each other", "I3", "store=True")


def keys_known(request: RuleInput) -> Iterator[Violation]:
    """I4: the keys of the request are those of the reference."""
    places: list[tuple[str, Plain, type[msgspec.Struct]]] = [
        ("", request.plain, InteractionRequest),
        ("generation_config", request.config, GenerationConfig),
        *((f"tools[{at}]", tool, Tool) for at, tool in enumerate(request.tools)),
    ]
    for path, value, kind in places:
        for key in value:
            if key not in kind.__struct_encode_fields__:
                at = f"{path}.{key}" if path else key
                where = f" at '{path}'" if path else ""
                yield _violation(at, f"Unknown parameter '{key}'{where}.", "I4", "remove it")


def words_known(request: RuleInput) -> Iterator[Violation]:
    """I5: words of settings are those that the server knows."""
    for path, words in _WORDS.items():
        parent, _, field = path.rpartition(".")
        value = (request.config if parent else request.plain).get(field)
        if isinstance(value, str) and value not in words:
            yield _unsupported(value, field, parent, "I5")


def types_known(request: RuleInput) -> Iterator[Violation]:
    """I6: steps, contents and tools have a type that the server knows."""
    for index, step in enumerate(request.steps):
        path, kind = f"input[{index}]", step.get("type")
        if kind not in STEP_TYPES and kind not in CONTENT_TYPES:
            yield _unsupported(kind, "type", path, "I6")
        contents = step.get("content")
        for at, content in enumerate(contents if isinstance(contents, list | tuple) else ()):
            of = _object(content).get("type")
            if of not in CONTENT_TYPES and of != "function_result":
                yield _unsupported(of, "type", f"{path}.content[{at}]", "I6")
    for index, tool in enumerate(request.tools):
        if tool.get("type") not in TOOL_TYPES:
            yield _unsupported(tool.get("type"), "type", f"tools[{index}]", "I6")


# --- steps ----------------------------------------------------------------------------------------


def results_named(request: RuleInput) -> Iterator[Violation]:
    """I7: a result has the id of its call, and the name of its function."""
    for index, step in enumerate(request.steps):
        if step.get("type") != "function_result":
            continue
        path = f"input[{index}]"
        if not step.get("call_id"):
            words = "Missing call_id in content of type function_result"
            yield _violation(f"{path}.call_id", words, "I7", "the id of the function_call")
        if not step.get("name"):
            words = "a function_result needs the name of its function"
            yield _violation(f"{path}.name", words, "I7", severity="warning")


def results_have_calls(request: RuleInput) -> Iterator[Violation]:
    """I8: a result has its call before it, unless the server has the history."""
    if request.continues:
        return
    called: set[Any] = set()
    for index, step in enumerate(request.steps):
        if step.get("type") == "function_call":
            called.add(step.get("id"))
        elif step.get("type") == "function_result" and step.get("call_id") not in called:
            words = f"no function_call with the id {step.get('call_id')!r} precedes it"
            remedy = "send the call, or previous_interaction_id"
            yield _violation(f"input[{index}].call_id", words, "I8", remedy)


def calls_have_thoughts(request: RuleInput) -> Iterator[Violation]:
    """I9: since Gemini 3, a thought of its turn precedes a call."""
    if not family(request.model).since(3):
        return
    has_thought = False
    for index, step in enumerate(request.steps):
        kind = step.get("type")
        if kind == "user_input":
            has_thought = False
        elif kind == "thought":
            has_thought = True
        elif kind == "function_call" and not has_thought:
            words = "no thought of its turn precedes the function_call"
            remedy = f"a step of the type thought with the signature {SKIP}"
            yield _violation(f"input[{index}]", words, "I9", remedy)
            has_thought = True  # one violation a turn


def thoughts_signed(request: RuleInput) -> Iterator[Violation]:
    """I10: a thought that is sent back has its signature."""
    for index, step in enumerate(request.steps):
        if step.get("type") == "thought" and not step.get("signature"):
            words = "Request contains an invalid argument."
            remedy = "send the thought as it came, or leave it out"
            yield _violation(f"input[{index}].signature", words, "I10", remedy, "warning")


# --- settings -------------------------------------------------------------------------------------


def choice_has_functions(request: RuleInput) -> Iterator[Violation]:
    """I11: a tool choice needs a function."""
    choice = request.config.get("tool_choice")
    functions = {tool.get("name") for tool in request.tools if tool.get("type") == "function"}
    if choice is None:
        return
    path = "generation_config.tool_choice"
    if not functions and not any(tool.get("type") == "mcp_server" for tool in request.tools):
        words = "Function calling config is set without function_declarations."
        yield _violation(path, words, "I11", "remove it")
        return
    allowed = _object(_object(choice).get("allowed_tools")).get("tools")
    for name in allowed if isinstance(allowed, list | tuple) else ():
        if functions and name not in functions:
            yield _violation(f"{path}.allowed_tools.tools", f"no function {name!r}", "I11")


def functions_valid(request: RuleInput) -> Iterator[Violation]:
    """I12: a function has a name; a schema requires at least one key, if any."""
    for index, tool in enumerate(request.tools):
        if tool.get("type") != "function":
            continue
        if not tool.get("name"):
            yield _violation(f"tools[{index}].name", "a function needs a name", "I12")
        if _object(tool.get("parameters")).get("required") == []:
            words = "an empty list was refused in March 2026"
            path = f"tools[{index}].parameters.required"
            yield _violation(path, words, "I12", "remove it", "warning")


def level_supported(request: RuleInput) -> Iterator[Violation]:
    """I13: the model has the thinking level."""
    level, efforts = request.config.get("thinking_level"), family(request.model).known.efforts
    if isinstance(level, str) and efforts and level not in efforts:
        words = f"{request.model} has no thinking level {level}; it has {', '.join(efforts)}"
        yield _violation("generation_config.thinking_level", words, "I13")


def of_agents(request: RuleInput) -> Iterator[Violation]:
    """I14: settings of models are not for agents, nor those of agents for models."""
    agent = request.plain.get("agent")
    refused = ("generation_config", "response_format", "cached_content")
    for key in refused if agent else ("agent_config",):
        if request.plain.get(key) is not None:
            whom = "an agent" if agent else "a model"
            yield _violation(key, f"{key} is not for {whom}", "I14", "remove it")
    if not isinstance(agent, str):
        return
    if agent.startswith("deep-research") and not request.plain.get("background"):
        words = "deep research runs in the background only"
        yield _violation("background", words, "I14", "background=True")
    if agent.startswith("antigravity") and not request.plain.get("environment"):
        words = "antigravity needs an environment"
        yield _violation("environment", words, "I14", "environment='remote'", "warning")


def tier_valid(request: RuleInput) -> Iterator[Violation]:
    """I15: a deferred interaction is stored, and runs in the background without a stream."""
    plain = request.plain
    if plain.get("service_tier") != "deferred":
        return
    if not plain.get("background"):
        words = "the tier deferred needs background: true"
        yield _violation("service_tier", words, "I15", "background=True")
    for key, value in (("stream", True), ("store", False)):
        if plain.get(key) is value:
            words = f"the tier deferred refuses {key}: {str(value).lower()}"
            yield _violation(key, words, "I15", "remove it")


def labels_valid(request: RuleInput) -> Iterator[Violation]:
    """I16: labels are short and in lower case."""
    for key, value in _object(request.plain.get("labels")).items():
        for each in (key, value):
            if not isinstance(each, str) or not _LABEL.fullmatch(each):
                words = f"expected up to 63 lower-case letters, digits, - and _, not {each!r}"
                yield _violation(f"labels.{key}", words, "I16", severity="warning")
                break


Rule = Callable[[RuleInput], Iterator[Violation]]

RULES: tuple[tuple[str, Rule], ...] = (
    ("I1", who_is_asked),
    ("I2", input_present),
    ("I3", state_valid),
    ("I4", keys_known),
    ("I5", words_known),
    ("I6", types_known),
    ("I7", results_named),
    ("I8", results_have_calls),
    ("I9", calls_have_thoughts),
    ("I10", thoughts_signed),
    ("I11", choice_has_functions),
    ("I12", functions_valid),
    ("I13", level_supported),
    ("I14", of_agents),
    ("I15", tier_valid),
    ("I16", labels_valid),
)
"""Ids of rules, and the function that checks them."""

CHECKED = frozenset(name for name, _ in RULES)
"""Ids of all rules that `check` applies."""
_OF_ALL = frozenset({"I1", "I2"})
"""Rules of all hosts; the others are those of Google's service."""


@checked_arguments()
def check(
    request: InteractionRequest | bytes | Mapping[str, Any],
    model: str = "",
    provider: Provider | str = "gemini@interactions",
    *,
    date: str = "",
) -> list[Violation]:
    """Return the violations of a request: a struct, or a body as bytes or as decoded JSON.

    >>> request = InteractionRequest(model="gemini-3.8-flash", input="Hi", labels={"team": "Tides"})
    >>> check(request)[0].path, check(request)[0].rule
    ('labels.team', 'I16')

    `model` defaults to the request's own. `provider` is a row or its name; `""` is an unknown host,
    for which only the rules of all hosts are applied. `date` is the day on which it is sent, as
    `2026-11-28`: then a model that ends within 60 days is a warning too.

    A body that is not a JSON object is a violation too, not an exception.
    """
    if expands((request,)):
        return [too_large(request, "")]
    return check_body(Body(request), model, provider, date)


def check_body(body: Body, model: str, provider: Provider | str, date: str = "") -> list[Violation]:
    """Return the violations, as `check`, of a request that was encoded before.

    A body that is checked for several hosts is read once.
    """
    try:
        if not isinstance(body.plain, Mapping):
            return [_violation("", "expected a JSON object", "I1")]
        model = model or str(body.plain.get("model") or "")
        row = provider_row(provider)
        rules: Sequence[tuple[str, Rule]] = RULES
        if not row.dialect.api:
            rules = [each for each in RULES if each[0] in _OF_ALL]
        request = RuleInput(body, model)
        found = [each for _, rule in rules for each in rule(request)]
        return found + ending(model, row.name, date) if date else found
    except (TypeError, ValueError, RecursionError) as cause:
        return [_violation("", f"the body is not valid JSON: {cause}", "I1")]
