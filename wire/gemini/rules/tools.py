"""What the server refuses in tools and their configuration (G28 to G37)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from wire.errors import Violation
from wire.gemini.rules.rule_input import RuleInput

Found = Iterator[Violation]

MOST_FUNCTIONS = 512
_CLAIMED_FOR_VERTEX = 128

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
# The reference of August 2026 allows these; the words of the refusals are older.
_NEWER_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,127}")


def functions_have_names(asked: RuleInput) -> Found:
    """G28."""
    for each in asked.declared:
        if _NAME.fullmatch(each.name):
            continue
        severity = "warning" if _NEWER_NAME.fullmatch(each.name) else "error"
        yield asked.refused(
            "G28", f"{each.path}.name", f"{each.name!r} is no function name", severity
        )


def functions_are_unique(asked: RuleInput) -> Found:
    """G29."""
    seen: set[str] = set()
    for each in asked.declared:
        if each.name in seen:
            yield asked.refused("G29", f"{each.path}.name", name=each.name)
        seen.add(each.name)


def functions_are_few(asked: RuleInput) -> Found:
    """G30: 512; of Vertex one report claims 128."""
    many = len(asked.declared)
    if many > MOST_FUNCTIONS:
        yield asked.refused(
            "G30", "tools[0].functionDeclarations", f"{many} functions, and 512 at most"
        )
    elif asked.vertex and many > _CLAIMED_FOR_VERTEX:
        yield asked.refused(
            "G30",
            "tools[0].functionDeclarations",
            f"{many} functions, and 128 at most as reported of Vertex",
            "warning",
        )


def config_has_functions(asked: RuleInput) -> Found:
    """G31: accepted without functions where built-in tools are asked for as parts."""
    if asked.calling is not None and not asked.declared and not asked.circulates:
        yield asked.refused("G31", "toolConfig.functionCallingConfig")


def built_in_beside_functions(asked: RuleInput) -> Found:
    """G32, G33: 3.x of the Gemini API wants a flag for it; 2.x refuses it, also where only the
    history has calls.
    """
    if not asked.built_in:
        return
    if asked.gemini and asked.family.since(3) and asked.declared and not asked.circulates:
        yield asked.refused("G32", asked.built_in[0])
    history = any(turn.calls or turn.results for turn in asked.talk.turns)
    if asked.family.within((2, 0), (3, 0)) and (asked.declared or history):
        yield asked.refused("G33", asked.built_in[0])


def flag_is_known(asked: RuleInput) -> Found:
    """G34: the flag of G32 on 2.5 and older."""
    if asked.circulates and asked.gemini and asked.family.before(3):
        yield asked.refused(
            "G34", "toolConfig.includeServerSideToolInvocations", model=asked.model_name
        )


def allowed_names_have_a_mode(asked: RuleInput) -> Found:
    """G35."""
    if (asked.calling or {}).get("allowedFunctionNames") and asked.mode not in ("ANY", "VALIDATED"):
        yield asked.refused(
            "G35",
            "toolConfig.functionCallingConfig.allowedFunctionNames",
            f"mode {asked.mode} takes no allowedFunctionNames",
        )


def model_has_the_feature(asked: RuleInput) -> Found:
    """G36: what Gemma 3 has not."""
    family = asked.family
    if not asked.gemini or family.name != "gemma" or not family.version or family.version >= (4, 0):
        return
    lacks = (
        [("Developer instruction", "systemInstruction")]
        if asked.plain.get("systemInstruction")
        else []
    )
    lacks += [("Function calling", "tools")] if asked.declared else []
    lacks += [
        ("Code execution", path) for path in asked.built_in if path.endswith(".codeExecution")
    ]
    for feature, path in lacks:
        yield asked.refused("G36", path, feature=feature, model=asked.model_name)


def one_dialect(asked: RuleInput) -> Found:
    """G37."""
    for each in asked.declared:
        for one, other in (
            ("parameters", "parametersJsonSchema"),
            ("response", "responseJsonSchema"),
        ):
            if one in each.plain and other in each.plain:
                yield asked.refused("G37", each.path, f"{one} and {other} exclude each other")
