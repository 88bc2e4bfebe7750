"""A tool is lowered and judged once for each wire, and anew when its schemas have changed."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import msgspec
import pytest

from tests.joined import joined
from wire import gemini, notes
from wire.core.memory import FINDINGS, shared
from wire.errors import RuleError, SchemaError, Violation
from wire.gemini.rendering import render_request
from wire.gemini.rules import schemas
from wire.neutral.messages import Message
from wire.neutral.request import Request, Tool

MODEL = "gemini-3.1-pro-preview"


def city_tool(**city: Any) -> Tool:
    return Tool(
        "f", parameters={"type": "object", "properties": {"city": {"type": "string"} | city}}
    )


def declared(tool: Tool) -> gemini.FunctionDeclaration:
    built = render_request(Request(messages=(Message.user("Hi"),), tools=(tool,)), MODEL)
    [made] = built.tools or ()
    [declaration] = made.function_declarations or ()
    return declaration


def test_two_requests_share_what_a_tool_was_lowered_to() -> None:
    tool = city_tool()
    assert declared(tool) is declared(tool)
    assert declared(tool) is not declared(city_tool())


@joined(("before", "after"), [("a", "b"), (1, True), (None, 0), (1, 1.0)])
def test_a_changed_schema_is_lowered_anew(before: Any, after: Any) -> None:
    tool = city_tool(default=before)
    assert declared(tool) == declared(city_tool(default=before))
    tool.parameters["properties"]["city"]["default"] = after
    assert repr(declared(tool)) == repr(declared(city_tool(default=after)))


def test_a_schema_that_became_wrong_is_refused() -> None:
    tool = city_tool()
    declared(tool)
    tool.parameters["properties"]["city"]["type"] = "nothing"
    for _ in range(2):
        with pytest.raises(SchemaError):
            declared(tool)


def test_nobody_can_change_what_is_shared() -> None:
    tool = city_tool()
    parameters = declared(tool).parameters
    assert parameters is not None
    assert parameters.properties is not None
    with pytest.raises(TypeError, match="read-only"):
        parameters.properties["country"] = gemini.Schema(type="STRING")


def test_notes_of_lowering_are_told_each_time() -> None:
    tool = city_tool()
    tool.parameters["additionalProperties"] = False
    request = Request(messages=(Message.user("Hi"),), tools=(tool,))
    first, second = (render_request(request, MODEL) for _ in range(2))
    told = "tools[0].parameters.additionalProperties"
    for built in (first, second):
        assert told in [note.path for note in notes(built)]


# --- judged once ----------------------------------------------------------------------------------

HI = (Message.user("Hi"),)


def judged(monkeypatch: pytest.MonkeyPatch, request: Request, provider: str = "gemini") -> int:
    """How many schemas the rules look at while the call is made."""
    looked: list[object] = []
    limits = schemas._limits

    def counted(*args: Any) -> Any:
        looked.append(args)
        return limits(*args)

    with monkeypatch.context() as patch:
        patch.setattr(schemas, "_limits", counted)
        gemini.call(request, MODEL, provider)
    return len(looked)


@pytest.mark.parametrize("raw", [False, True])
def test_a_declaration_is_judged_once_for_each_host_and_mode(
    monkeypatch: pytest.MonkeyPatch, raw: bool
) -> None:
    request = Request(messages=HI, tools=(city_tool(),), raw_schemas=raw)
    forced = msgspec.structs.replace(request, tool_choice="required")
    for each, provider in ((request, "gemini"), (request, "gemini@vertex"), (forced, "gemini")):
        assert [judged(monkeypatch, each, provider) for _ in range(3)] == [1, 0, 0]
    two = msgspec.structs.replace(request, tools=(*request.tools, Tool("g", "", TAKES_A)))
    assert [judged(monkeypatch, two) for _ in range(2)] == [2, 0]


TAKES_A = {"type": "object", "properties": {"a": {"type": "string"}}}


def test_the_body_is_the_same_each_time() -> None:
    tools = (city_tool(), Tool("now"), Tool("g", "G.", TAKES_A, {"type": "string"}))
    for settings in ({}, {"search_grounding": True}, {"raw_schemas": True}):
        request = Request(messages=HI, tools=tools, **settings)  # type: ignore[arg-type]
        first, second = gemini.call(request, MODEL), gemini.call(request, MODEL)
        new = tuple(msgspec.structs.replace(each) for each in tools)
        third = gemini.call(msgspec.structs.replace(request, tools=new), MODEL)
        assert first.body == second.body == third.body
        assert first.notes == second.notes == third.notes


def test_a_schema_that_the_rules_refuse_later_is_refused() -> None:
    tool = Tool("f", parameters=copy.deepcopy(TAKES_A))
    request = Request(messages=HI, tools=(tool,), raw_schemas=True)
    for _ in range(2):
        gemini.call(request, MODEL)
    tool.parameters["properties"]["a"]["$ref"] = "#/nowhere"
    for _ in range(2):
        with pytest.raises(RuleError) as caught:
            gemini.call(request, MODEL)
        assert [each.rule for each in caught.value.violations] == ["G51", "G51"]
    del tool.parameters["properties"]["a"]["$ref"]
    gemini.call(request, MODEL)


def test_what_is_found_is_found_each_time() -> None:
    """Too many items are a warning, and an error where a mode compiles the schema (G54)."""
    many = {"type": "array", "items": {"type": "string"}, "maxItems": 2000}
    tool = Tool("f", parameters={"type": "object", "properties": {"a": many}})
    request = Request(messages=HI, tools=(tool,))
    for _ in range(2):
        told = [note.path for note in gemini.call(request, MODEL).notes]
        assert told == ["tools[0].functionDeclarations[0].parameters"]
        with pytest.raises(RuleError):
            gemini.call(msgspec.structs.replace(request, tool_choice="required"), MODEL)


STRING = gemini.Schema(type="STRING")
SCHEMAS = {
    "sound": gemini.Schema(type="OBJECT", properties={"a": STRING}),
    "no type": gemini.Schema(type="OBJECT", properties={"a": gemini.Schema()}),
    "unknown type": gemini.Schema(type="OBJECT", properties={"a": gemini.Schema(type="x")}),
    "text": STRING,
    "one of": gemini.Schema(
        type="OBJECT", properties={"a": gemini.Schema(any_of=[STRING], description="x")}
    ),
    "empty member": gemini.Schema(
        type="OBJECT", properties={"a": gemini.Schema(type="STRING", enum=["", "b"])}
    ),
    "many items": gemini.Schema(
        type="OBJECT", properties={"a": gemini.Schema(type="ARRAY", items=STRING, max_items="2000")}
    ),
    "many states": gemini.Schema(
        type="OBJECT", properties={"a": gemini.Schema(type="STRING", enum=["b" * 31_000])}
    ),
    "required": gemini.Schema(type="OBJECT", properties={"a": STRING}, required=["b"]),
}
ASKED = [
    (host, model, mode)
    for host in ("gemini", "gemini@vertex", "")
    for model in ("", MODEL, "gemini-2.5-flash", "gemma-3-27b-it")
    for mode in (None, "AUTO", "ANY", "VALIDATED", 2)
]


def violations(
    declarations: list[gemini.FunctionDeclaration], host: str, model: str, mode: Any
) -> list[Violation]:
    calling = gemini.FunctionCallingConfig(mode=mode)
    request = gemini.GenerateContentRequest(
        contents=gemini.contents("Hi"),
        tools=[
            gemini.Tool(function_declarations=declarations[:2]),
            gemini.Tool(function_declarations=declarations[2:], code_execution={}),  # type: ignore[arg-type]
        ],
        tool_config=gemini.ToolConfig(function_calling_config=calling) if mode else None,
    )
    return gemini.check(request, model, host)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        # A quick run has each kind and each name once.
        pytest.param(kind, name, marks=[pytest.mark.slow] * ((at + place) % 3 > 0))
        for at, kind in enumerate(SCHEMAS)
        for place, name in enumerate(["f", "no name", "g"])
    ],
)
def test_remembering_changes_nothing_that_is_found(kind: str, name: str) -> None:
    new = [
        gemini.FunctionDeclaration(name="g", parameters=SCHEMAS["sound"]),
        gemini.FunctionDeclaration(name=name, parameters=SCHEMAS[kind]),
        gemini.FunctionDeclaration(name="h", parameters_json_schema=None),
    ]
    kept = [shared(msgspec.structs.replace(each)) for each in new]
    for host, model, mode in ASKED * 2:
        assert violations(kept, host, model, mode) == violations(new, host, model, mode)
    assert bool(vars(kept[0])[FINDINGS]) == (kind != "unknown type")  # which the parser refuses
    assert all(FINDINGS not in vars(each) for each in new)


def test_a_copy_of_a_tool_judges_for_itself() -> None:
    tool = city_tool()
    gemini.call(Request(messages=HI, tools=(tool,)), MODEL)
    other = pickle.loads(pickle.dumps(tool))
    other.parameters["properties"]["city"]["type"] = "nothing"
    with pytest.raises(SchemaError):
        gemini.call(Request(messages=HI, tools=(other,)), MODEL)
    gemini.call(Request(messages=HI, tools=(tool,)), MODEL)
