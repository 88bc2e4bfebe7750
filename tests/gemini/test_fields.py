"""Facts of fields as the rules enforce them: hosts, sources, one-of groups."""

from __future__ import annotations

from typing import Any

import pytest

from tests.joined import joined
from wire.core.facts import NO_FACTS, SDK, facts_of
from wire.core.memory import WireStruct
from wire.gemini import types
from wire.gemini.rules.fields import fields, known_to, one_of_groups
from wire.gemini.rules.parser import parsed

OTHER = {"gemini": "vertex", "vertex": "gemini"}


def _reached(root: type[WireStruct]) -> set[type[WireStruct]]:
    seen: set[type[WireStruct]] = set()
    todo = [root]
    while todo:
        struct = todo.pop()
        if struct not in seen:
            seen.add(struct)
            todo += [field.struct for field in fields(struct).values() if field.struct is not None]
    return seen


REQUEST = sorted(_reached(types.CountTokensRequest), key=lambda struct: struct.__name__)
HOST_ONLY = [
    pytest.param(struct, key, facts.hosts[0], id=f"{struct.__name__}.{key}")
    for struct in REQUEST
    for key, facts in facts_of(struct).items()
    if facts.hosts
]


def _unknown(struct: type[WireStruct], key: str, host: str) -> list[tuple[str, str]]:
    """Severity and text of the parser's violation for a key, whatever its value."""
    return [
        (violation.severity, violation.message)
        for violation in parsed({key: {}}, struct, host)[1]
        if "Unknown name" in violation.message
    ]


@joined(("struct", "key", "host"), HOST_ONLY)
def test_a_field_of_one_host_is_refused_by_the_other(
    struct: type[WireStruct], key: str, host: str
) -> None:
    refused = f'Invalid JSON payload received. Unknown name "{key}": Cannot find field.'
    assert _unknown(struct, key, OTHER[host]) == [("error", refused)]
    assert [severity for severity, _ in _unknown(struct, key, host)] in ([], ["warning"])
    assert _unknown(struct, key, "") == []


def test_the_fields_of_one_host_are_many() -> None:
    """The test above has enough cases."""
    assert len(HOST_ONLY) > 40


@joined(
    ("struct", "key"),
    [
        pytest.param(struct, key, id=f"{struct.__name__}.{key}")
        for struct in REQUEST
        for key, facts in facts_of(struct).items()
        if facts.source == SDK and "gemini" in (facts.hosts or ("gemini",))
    ],
)
def test_a_field_that_only_the_sdk_names_is_a_warning_on_the_gemini_api(
    struct: type[WireStruct], key: str
) -> None:
    assert [severity for severity, _ in _unknown(struct, key, "gemini")] == ["warning"]


def test_both_spellings_are_known_to_the_same_hosts() -> None:
    assert known_to("vertex", types.Part).keys() == {
        spelling
        for field in known_to("vertex", types.Part).values()
        for spelling in (field.name, field.snake)
    }
    assert "part_metadata" not in known_to("vertex", types.Part)
    assert "part_metadata" in known_to("gemini", types.Part)


def test_what_fills_a_part() -> None:
    assert one_of_groups(types.Part)["data"] == {
        "text",
        "inlineData",
        "fileData",
        "functionCall",
        "functionResponse",
        "executableCode",
        "codeExecutionResult",
        "toolCall",
        "toolResponse",
        "audioTranscription",
    }


@joined(
    ("struct", "value", "group", "second"),
    [
        (types.Part, {"text": "a", "inlineData": {}}, "data", "inlineData"),
        (types.FunctionResponsePart, {"inlineData": {}, "fileData": {}}, "data", "fileData"),
        (types.RoutingConfig, {"autoMode": {}, "manual_mode": {}}, "routing_config", "manual_mode"),
        (types.PartialArg, {"stringValue": "a", "boolValue": True}, "delta", "boolValue"),
    ],
)
def test_two_fields_of_one_group(
    struct: type[WireStruct], value: dict[str, Any], group: str, second: str
) -> None:
    violations = parsed(value, struct)[1]
    assert [(each.rule, each.path) for each in violations] == [("G3", second)]
    assert f"oneof field '{group}' is already set. Cannot set '{second}'" in violations[0].message


def test_a_fact_is_part_of_the_annotation_and_changes_nothing_else() -> None:
    call = types.FunctionCall(name="f", will_continue=True)
    assert (call.will_continue, call.name) == (True, "f")
    assert facts_of(types.FunctionCall)["willContinue"].hosts == ("vertex",)
    assert facts_of(types.FunctionCall)["name"] == NO_FACTS
