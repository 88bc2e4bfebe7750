"""Rules about tools and their configuration (G28 to G37)."""

from __future__ import annotations

from collections.abc import Iterator

from wire.core.errors import Violation
from wire.core.lazy import lazy_pattern
from wire.gemini.rules.rule_input import RuleInput

Violations = Iterator[Violation]

MAX_FUNCTIONS = 512
"""Maximum number of functions over all tools (G30)."""
_MAX_FUNCTIONS_REPORTED_FOR_VERTEX = 128

_NAME = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
# The reference of August 2026 allows these names; the recorded refusals are older.
_NEWER_NAME = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")


def functions_have_names(request: RuleInput) -> Violations:
    """G28: each function has a name of the allowed characters."""
    for each in request.unchecked_functions:
        if _NAME().fullmatch(each.name):
            continue
        severity = "warning" if _NEWER_NAME().fullmatch(each.name) else "error"
        yield request.violation(
            "G28", f"{each.path}.name", f"{each.name!r} is not a function name", severity
        )


def functions_are_unique(request: RuleInput) -> Violations:
    """G29: no two functions have the same name."""
    seen: set[str] = set()
    for each in request.functions:
        if each.name in seen:
            yield request.violation("G29", f"{each.path}.name", name=each.name)
        seen.add(each.name)


def functions_are_few(request: RuleInput) -> Violations:
    """G30: the limit is 512. One report claims 128 for Vertex."""
    many = len(request.functions)
    if many > MAX_FUNCTIONS:
        yield request.violation(
            "G30", "tools[0].functionDeclarations", f"{many} functions; the limit is 512"
        )
    elif request.vertex and many > _MAX_FUNCTIONS_REPORTED_FOR_VERTEX:
        yield request.violation(
            "G30",
            "tools[0].functionDeclarations",
            f"{many} functions; one report claims a limit of 128 for Vertex",
            "warning",
        )


def config_has_functions(request: RuleInput) -> Violations:
    """G31: a function calling config requires functions, unless built-in tools are returned as
    parts.
    """
    if request.calling is not None and not request.functions and not request.returns_built_in:
        yield request.violation("G31", "toolConfig.functionCallingConfig")


def built_in_beside_functions(request: RuleInput) -> Violations:
    """G32, G33: 3.x on the Gemini API requires a flag for both together. 2.x refuses both together,
    even if only the history has calls.
    """
    if not request.built_in:
        return
    if (
        request.gemini
        and request.family.since(3)
        and request.functions
        and not request.returns_built_in
    ):
        yield request.violation("G32", request.built_in[0])
    history = any(turn.calls or turn.results for turn in request.conversation.turns)
    if request.family.within((2, 0), (3, 0)) and (request.functions or history):
        yield request.violation("G33", request.built_in[0])


def flag_is_known(request: RuleInput) -> Violations:
    """G34: 2.5 and older refuse the flag of G32."""
    if request.returns_built_in and request.gemini and request.family.before(3):
        yield request.violation(
            "G34", "toolConfig.includeServerSideToolInvocations", model=request.model_name
        )


def allowed_names_have_a_mode(request: RuleInput) -> Violations:
    """G35: `allowedFunctionNames` requires mode ANY or VALIDATED."""
    if (request.calling or {}).get("allowedFunctionNames") and request.mode not in (
        "ANY",
        "VALIDATED",
    ):
        yield request.violation(
            "G35",
            "toolConfig.functionCallingConfig.allowedFunctionNames",
            f"mode {request.mode} excludes allowedFunctionNames",
        )


def model_has_the_feature(request: RuleInput) -> Violations:
    """G36: Gemma before 4 has no system instruction, no functions and no code execution."""
    family = request.family
    if (
        not request.gemini
        or family.name != "gemma"
        or not family.version
        or family.version >= (4, 0)
    ):
        return
    missing = (
        [("Developer instruction", "systemInstruction")]
        if request.plain.get("systemInstruction")
        else []
    )
    missing += [("Function calling", "tools")] if request.functions else []
    missing += [
        ("Code execution", path) for path in request.built_in if path.endswith(".codeExecution")
    ]
    for feature, path in missing:
        yield request.violation("G36", path, feature=feature, model=request.model_name)


def one_dialect(request: RuleInput) -> Violations:
    """G37: a declaration has its parameters, and its response, in one dialect only."""
    for each in request.unchecked_functions:
        for one, other in (
            ("parameters", "parametersJsonSchema"),
            ("response", "responseJsonSchema"),
        ):
            if one in each.plain and other in each.plain:
                yield request.violation("G37", each.path, f"{one} and {other} exclude each other")
