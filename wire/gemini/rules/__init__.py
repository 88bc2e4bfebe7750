"""Checks a request against the rules of Gemini's servers before it is sent. docs/rules.md lists the
rules by their ids.

`check(request, model, provider)` returns all violations at once. Each has its JSON path, the id of
the rule, a remedy, and the error text of the server. The table `RULES` has the rules; `STATE` has
those that depend on the server's state, which `check` cannot know.

Rules of this folder:

- A rule that is limited to some models or to one host reports nothing for others, and nothing if
  the model or the host is unknown.
- An `error` is refused today. A `warning` was refused in the past, or is reported in public but not
  recorded.
- Contents are read once, as structs. The bytes of received Contents are neither parsed nor checked:
  the server sent them, and may accept parts that this library does not know.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from wire.catalogue.facts import ending
from wire.core.arguments import checked_arguments
from wire.core.bounds import BOUNDS
from wire.core.decoders import convert
from wire.core.errors import Violation
from wire.core.json_values import expands, too_large
from wire.core.memory import RAW, WireStruct, kept_bytes, raw_of
from wire.core.provider import Provider
from wire.gemini.families import UNKNOWN, family
from wire.gemini.rows import provider_row
from wire.gemini.rules import contents, generation, known, schemas, tools
from wire.gemini.rules.parser import is_plain
from wire.gemini.rules.parser import parsed as parsed
from wire.gemini.rules.refusals import error_response as error_response
from wire.gemini.rules.rule_input import Plain, RuleInput
from wire.gemini.rules.turns import Conversation as Conversation
from wire.gemini.rules.turns import Kinds as Kinds
from wire.gemini.rules.turns import kinds_of as kinds_of
from wire.gemini.rules.turns import read as read
from wire.gemini.rules.words import STATE as STATE
from wire.gemini.rules.words import WORDS as WORDS
from wire.gemini.rules.words import server_text as server_text
from wire.gemini.types import Content, CountTokensRequest, GenerateContentRequest, Part

Rule = Callable[[RuleInput], Iterator[Violation]]

RULES: tuple[tuple[str, Rule], ...] = (
    ("G81", generation.model_is_a_name),
    ("G4 G5", contents.contents_are_not_empty),
    ("G6", contents.parts_have_data),
    ("G7", contents.system_parts_have_data),
    ("G8 G9", contents.roles_are_known),
    ("G19", contents.old_backends_know_no_ids),
    ("G78", contents.vertex_user_turns_have_text),
    ("G16", contents.results_are_named),
    ("G10", contents.calls_follow_the_user),
    ("G11 G12", contents.calls_are_answered),
    ("G13 G14", contents.results_stand_alone),
    ("G15", contents.user_has_the_last_turn),
    ("G17 G18 G18b", contents.results_match_their_calls),
    ("G21", contents.results_have_no_unknown_ref),
    ("G22", contents.media_in_results),
    ("G25", contents.signatures_are_from_gemini),
    ("G24", contents.calls_are_signed),
    ("G27", contents.signatures_are_all_there),
    ("G64", generation.media_are_of_a_type),
    ("G66", generation.images_are_images),
    ("G90", generation.media_are_read),
    ("G36", tools.model_has_the_feature),
    ("G58", generation.one_thinking_control),
    ("G59", generation.level_is_known),
    ("G57", generation.thinking_is_in_range),
    ("G87", generation.sampling_is_read),
    ("G89", generation.output_is_not_too_long),
    ("G60", generation.one_candidate),
    ("G61", generation.no_penalties),
    ("G79 G80", generation.log_probabilities),
    ("G82", generation.temperature_is_in_range),
    ("G56", generation.json_beside_tools),
    ("G62 G88", generation.cached_content_stands_alone),
    ("G37", tools.one_dialect),
    ("G28", tools.functions_have_names),
    ("G29", tools.functions_are_unique),
    ("G30", tools.functions_are_few),
    ("G31", tools.config_has_functions),
    ("G32 G33", tools.built_in_beside_functions),
    ("G34", tools.flag_is_known),
    ("G35", tools.allowed_names_have_a_mode),
    ("G41 G42 G43 G44 G45 G46 G47 G48 G49 G50 G51 G52 G53 G54", schemas.schemas_are_sound),
    ("G86", generation.model_is_served),
)
"""Ids of rules -> the function that yields their violations.

The order is the order of the violations in a result of `check`. The server's validator reports only
its first violation, and the emulator sends the first one of this list.

The parser's rules (G1 to G3, G20, G38 to G41, G65) are in `parser`; G71 is below.
"""

_CONFIG_RULES = frozenset(
    {
        generation.one_thinking_control,
        generation.level_is_known,
        generation.thinking_is_in_range,
        generation.sampling_is_read,
        generation.output_is_not_too_long,
        generation.one_candidate,
        generation.no_penalties,
        generation.log_probabilities,
        generation.temperature_is_in_range,
        generation.json_beside_tools,
    }
)
"""Rules that find nothing without a generation config."""

_TOOL_RULES = frozenset(
    {
        tools.functions_have_names,
        tools.functions_are_unique,
        tools.functions_are_few,
        tools.config_has_functions,
        tools.built_in_beside_functions,
        tools.flag_is_known,
        tools.allowed_names_have_a_mode,
        tools.one_dialect,
    }
)
"""Rules that find nothing without tools and a tool config."""

_SCHEMA_RULES = frozenset({schemas.schemas_are_sound})
"""Rules that find nothing without a generation config and tools, which have the schemas."""

_PART_RULES = frozenset(
    {
        contents.parts_have_data,
        contents.old_backends_know_no_ids,
        contents.results_are_named,
        contents.calls_follow_the_user,
        contents.calls_are_answered,
        contents.results_stand_alone,
        contents.results_match_their_calls,
        contents.results_have_no_unknown_ref,
        contents.media_in_results,
        contents.signatures_are_from_gemini,
        contents.calls_are_signed,
        contents.signatures_are_all_there,
        generation.media_are_of_a_type,
        generation.media_are_read,
        generation.images_are_images,
    }
)
"""Rules that find nothing in contents of texts only."""


_HOST_RULES = frozenset(
    {
        generation.model_is_a_name,
        contents.vertex_user_turns_have_text,
        contents.calls_are_answered,
        contents.results_stand_alone,
        contents.calls_are_signed,
        tools.model_has_the_feature,
        generation.thinking_is_in_range,
        generation.no_penalties,
        generation.log_probabilities,
        generation.temperature_is_in_range,
        tools.functions_are_few,
        tools.built_in_beside_functions,
        tools.flag_is_known,
        schemas.schemas_are_sound,
        generation.model_is_served,
    }
)
"""Rules whose violations depend on the host. What the others find, they find for any host."""


@functools.cache
def _host_rules_for(config: bool, tools: bool, parts: bool) -> tuple[tuple[str, Rule], ...]:
    """Return those of `_rules_for` whose violations depend on the host."""
    return tuple(each for each in _rules_for(config, tools, parts) if each[1] in _HOST_RULES)


@functools.cache
def _rules_for(config: bool, tools: bool, parts: bool) -> tuple[tuple[str, Rule], ...]:
    """Return the rules that can find a violation in a request with these features.

    Most requests are texts.
    """
    skipped = (
        (frozenset() if config else _CONFIG_RULES)
        | (frozenset() if tools else _TOOL_RULES)
        | (frozenset() if parts else _PART_RULES)
        | (frozenset() if config or tools else _SCHEMA_RULES)
    )
    return tuple(each for each in RULES if each[1] not in skipped)


CHECKED = frozenset(name for names, _ in RULES for name in names.split()) | {
    "G1",
    "G2",
    "G3",
    "G20",
    "G38",
    "G39",
    "G40",
    "G65",
    "G71",
}
"""Ids of all rules that `check` can report."""

_RULES_OF_ALL_ENDPOINTS = ("G81", "G4 G5", "G6")
_GENERATE_ENDPOINTS = ("generateContent", "streamGenerateContent")
_MAX_BATCH_REQUESTS = 100


@checked_arguments()
def check(
    request: GenerateContentRequest | bytes | Mapping[str, Any],
    model: str = "",
    provider: Provider | str = "gemini",
    *,
    endpoint: str = "generateContent",
    date: str = "",
) -> list[Violation]:
    """Return all violations of a request: a struct, or a body as bytes or as decoded JSON.

    >>> [violation.rule for violation in check(GenerateContentRequest(contents=[]))]
    ['G4']
    >>> body = b'{"contents": {"parts": {"text": "Hi", "mood": 1}}}'
    >>> [violation] = check(body, "gemini-3.8-flash")
    >>> violation.path, violation.rule, violation.severity, violation.remedy
    ('contents.parts.mood', 'G1', 'error', 'remove the key')
    >>> print(violation.message)
    Invalid JSON payload received. Unknown name "mood" at 'contents.parts': Cannot find field.

    `provider` is a row or its name: `gemini`, `gemini@vertex`, or `""` for an unknown host. Without
    a model, only rules of all models apply; for an unknown host, only rules of both hosts. A body
    that the parser refuses is not checked further, as on the server. `endpoint` is the name of the
    REST method; countTokens and the methods of embeddings and caches have only a few rules.

    `date` is the day on which it is sent, as `2026-11-28`: then a model that ends within 60 days is
    a warning too.
    """
    if isinstance(request, GenerateContentRequest) and raw_of(request) is not None:
        # Encoding a received request sends its remembered bytes, not its fields.
        request = bytes(kept_bytes(request))
    if isinstance(request, GenerateContentRequest):
        turns: Sequence[Content] = request.contents or ()
        if expands([each for each in turns if RAW not in getattr(each, "__dict__", ())]):
            return [too_large(request, "", BOUNDS.schema_values)]
    found = check_encoded(request, model, provider, endpoint)
    return found + ending(model, provider_row(provider).name, date) if date else found


def check_encoded(
    request: GenerateContentRequest | bytes | Mapping[str, Any],
    model: str,
    provider: Provider | str,
    endpoint: str,
    conversation: Conversation | None = None,
    *,
    again: bool = False,
) -> list[Violation]:
    """Return the violations, as `check`, of a request that was encoded before.

    `conversation` is its conversation, if the caller has read it. `again`: the host was unknown at
    the first check, whose violations are not searched again.
    """
    row = provider_row(provider)
    host, version = row.dialect.api, row.version or "v1beta"
    struct = request if isinstance(request, GenerateContentRequest) else None
    key = None if struct is None else known.key_of(struct, model, host, version)
    violations, rule_input = (
        _check_struct(request, key, model, host, version, endpoint, conversation)
        if isinstance(request, GenerateContentRequest)
        else _check_body(request, model, host, version, endpoint)
    )
    if rule_input is not None and not any(each.severity == "error" for each in violations):
        all_rules = endpoint in _GENERATE_ENDPOINTS
        plain = rule_input.plain
        # Declarations that have no violations are remembered for each host, by all rules.
        only_host_rules = again and struct is not None and not struct.tools
        rules = (_host_rules_for if only_host_rules else _rules_for)(
            bool(rule_input.config),
            bool(plain.get("tools") or plain.get("toolConfig")),
            bool(rule_input.conversation.beyond_text),
        )
        for names, rule in rules:
            if all_rules or names in _RULES_OF_ALL_ENDPOINTS:
                violations += rule(rule_input)
        if struct is not None and key is not None and not rule_input.known and all_rules:
            known.remember(struct.tools or (), key, rule_input.plain, violations)
    return violations if model else [each for each in violations if each.severity == "error"]


def _check_struct(
    request: GenerateContentRequest,
    key: known.Key | None,
    model: str,
    host: str,
    version: str,
    endpoint: str,
    conversation: Conversation | None,
) -> tuple[list[Violation], RuleInput]:
    """Return the parser's violations of a struct, and the input for the other rules.

    The parser checks the fields beside `contents` at once, except declarations that were checked
    before under this key (`known`). Of the contents it checks only the parts that could have
    violations. Most parts of a long history are texts or received parts, and are not converted to
    plain JSON.
    """
    turns: Sequence[Content] = request.contents or ()
    plain: Plain = {}
    violations: list[Violation] = []
    rows: list[list[Plain]] = []
    try:
        rest = msgspec.structs.replace(request, contents=None)
        if rest not in _SOUND.get(host, (_EMPTY,)):  # most small requests have nothing further
            if expands((rest,), BOUNDS.schema_values):
                found = too_large(request, "", BOUNDS.schema_values)
                return [found], _rule_input((), plain, model, host, version, endpoint)
            rows = known.known(request.tools or (), key) if key is not None else []
            if rows:
                rest = msgspec.structs.replace(rest, tools=known.others(request.tools or ()))
            plain, violations = parsed(
                msgspec.to_builtins(rest), GenerateContentRequest, host, version
            )
            if rows:
                known.put(plain, rows)
            else:
                plain = _with_set_nulls(plain, request)
        rule_input = _rule_input(
            turns, plain, model, host, version, endpoint, bool(rows), conversation
        )
        for index in rule_input.conversation.unsure:
            content = turns[index]
            for position, part in enumerate(
                () if raw_of(content) is not None else content.parts or ()
            ):
                if raw_of(part) is None and not is_plain(part):
                    at = f"contents[{index}].parts[{position}]"
                    violations += parsed(msgspec.to_builtins(part), Part, host, version, at, at)[1]
    except (TypeError, ValueError, RecursionError) as cause:
        return [Violation("", f"JSON cannot say this: {cause}")], _rule_input(
            (), plain, model, host, version, endpoint
        )
    return violations + _version(plain, turns, model, host, version), rule_input


_EMPTY = GenerateContentRequest()
_SOUND = {"gemini": (_EMPTY, GenerateContentRequest(store=False))}
"""Host -> the requests, without their contents, in which the parser finds nothing."""


def _with_set_nulls(plain: Plain, request: GenerateContentRequest) -> Plain:
    """Restore JSON Schema fields that are set to null: `to_builtins` omits them, although null is a
    value there (only UNSET is absent).
    """
    for index, tool in enumerate(request.tools or ()):
        for position, declaration in enumerate(tool.function_declarations or ()):
            for name, value in (
                ("parametersJsonSchema", declaration.parameters_json_schema),
                ("responseJsonSchema", declaration.response_json_schema),
            ):
                if value is None:
                    plain["tools"][index]["functionDeclarations"][position][name] = None
    return plain


def _check_body(
    body: bytes | Mapping[str, Any], model: str, host: str, version: str, endpoint: str
) -> tuple[list[Violation], RuleInput | None]:
    """Return the parser's violations of a body, and the input for the other rules; `None` if no
    other rule applies.
    """
    try:
        value = json.loads(body if isinstance(body, bytes) else json.dumps(body))
        if endpoint == "batchEmbedContents":
            return _batch(value), None
        if endpoint not in (*_GENERATE_ENDPOINTS, "countTokens"):
            return [], None
        kind: type[WireStruct] = (
            CountTokensRequest if endpoint == "countTokens" else GenerateContentRequest
        )
        plain, violations = parsed(value, kind, host, version)
        if endpoint == "countTokens":
            plain = plain.get("generateContentRequest") or plain
        turns = convert(plain.pop("contents", []), list[Content], strict=False)
    except (TypeError, ValueError, RecursionError, msgspec.ValidationError) as cause:
        words = "Invalid JSON payload received. Unable to parse the body."
        problem = f"the body is not JSON: {cause}"
        return [Violation("", problem, words=words, layer="parser")], None
    return violations + _version(value, turns, model, host, version), _rule_input(
        turns, plain, model, host, version, endpoint
    )


def _rule_input(
    turns: Sequence[Content],
    plain: Plain,
    model: str,
    host: str,
    version: str,
    endpoint: str,
    known: bool = False,
    conversation: Conversation | None = None,
) -> RuleInput:
    of = family(model) if model else UNKNOWN
    return RuleInput(turns, plain, model, of, host, version, endpoint, known, conversation)


def _batch(value: Any) -> list[Violation]:
    """G71: at most 100 requests in one call of batchEmbedContents."""
    requests = value.get("requests") if isinstance(value, dict) else None
    if not isinstance(requests, list) or len(requests) <= _MAX_BATCH_REQUESTS:
        return []
    row = WORDS["G71"]
    message = "at most 100 requests can be in one batch"
    return [
        Violation(
            "requests",
            message,
            "G71",
            "error",
            row.remedy,
            words=row.text,
            field="requests",
            layer="validator",
        )
    ]


_FIELDS_MISSING_IN_V1 = {
    "systemInstruction": "system_instruction",
    "tools": "tools",
    "toolConfig": "tool_config",
}


def _version(
    plain: Plain, turns: Sequence[Content], model: str, host: str, version: str
) -> list[Violation]:
    """G2: keys that `/v1` of the Gemini API did not have until 2025."""
    if version != "v1" or host != "gemini" or not model:
        return []
    positions = [
        ("", key)
        for name, other in _FIELDS_MISSING_IN_V1.items()
        for key in (name, other)
        if plain.get(key) is not None
    ]
    for index, content in enumerate(turns):
        positions += [
            (f"contents[{index}].parts[{position}]", "thought")
            for position, part in enumerate(content.parts or ())
            if part.thought is not None
        ]
    row = WORDS["G2"]
    return [
        Violation(
            f"{at}.{key}" if at else key,
            server_text("G2", name=key, at=f" at '{at}'" if at else ""),
            "G2",
            "warning",
            row.remedy,
            field=at,
            layer="parser",
        )
        for at, key in dict.fromkeys(positions)
    ]
