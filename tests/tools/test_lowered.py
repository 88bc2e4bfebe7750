"""A tool is lowered once for each wire, and anew when its schemas have changed."""

from __future__ import annotations

from typing import Any

import pytest

from wire import gemini, notes
from wire.errors import SchemaError
from wire.gemini.rendering import render_request
from wire.neutral.messages import Message
from wire.neutral.request import Request, Tool

MODEL = "gemini-3-pro-preview"


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


@pytest.mark.parametrize(("before", "after"), [("a", "b"), (1, True), (None, 0), (1, 1.0)])
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
