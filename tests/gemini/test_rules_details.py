"""Cases beyond the tables of bodies: received parts, unusual structs, details of single rules."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.joined import joined
from wire.errors import SchemaError
from wire.gemini import (
    Content,
    FunctionCall,
    FunctionResponse,
    GenerateContentRequest,
    Part,
    Schema,
    check,
    function_declaration,
)
from wire.gemini.families import Budget
from wire.gemini.reader import parse_response
from wire.gemini.rules.contents import is_foreign
from wire.gemini.rules.parser import is_base64
from wire.gemini.types import Blob, FunctionDeclaration, FunctionResponsePart, Tool

from .bodies import (
    DUMMY,
    FLASH3,
    FLASH25,
    FLASH36,
    GO,
    SIGNED,
    call,
    config,
    function,
    host_row,
    model,
    result,
    said,
    talk,
    tools,
    user,
)

USER = Content(role="user", parts=[Part(text="Hi")])


def rules(body: Any, model: str = FLASH3, host: str = "gemini") -> list[tuple[str, str]]:
    return [
        (found.rule, found.path)
        for found in check(json.dumps(body).encode(), model, host_row(host) if model else "")
        if found.severity == "error"
    ]


def of(*parts: Part, model: str = "", role: str = "model") -> list[tuple[str, str]]:
    request = GenerateContentRequest(contents=[USER, Content(role=role, parts=list(parts)), USER])
    return [(found.rule, found.path) for found in check(request, model)]


# --- structs --------------------------------------------------------------------------------------


@joined(
    ("part", "rule", "path"),
    [
        (Part(text="a", thought_signature="%"), "G25", "contents[1].parts[0].thoughtSignature"),
        (
            Part(text="a", function_call=FunctionCall(name="f")),
            "G3",
            "contents[1].parts[0].functionCall",
        ),
        (
            Part(text="a", function_response=FunctionResponse(name="f")),
            "G3",
            "contents[1].parts[0].functionResponse",
        ),
        (Part(text="a", inline_data=Blob(data="AAAA")), "G3", "contents[1].parts[0].inlineData"),
        (
            Part(function_response=FunctionResponse(name="f", response="a")),  # type: ignore[arg-type]
            "G20",
            "contents[1].parts[0].functionResponse.response",
        ),
        (
            Part(function_response=FunctionResponse(name=1, response={})),  # type: ignore[arg-type]
            "G1",
            "contents[1].parts[0].functionResponse.name",
        ),
        (Part(inline_data=Blob(data="data:,")), "G65", "contents[1].parts[0].inlineData.data"),
        (Part(text="a", speech_metadata=1), "G1", "contents[1].parts[0].speechMetadata"),  # type: ignore[arg-type]
    ],
)
def test_what_no_type_checker_let_pass(part: Part, rule: str, path: str) -> None:
    """Structs do not check their values, so that the parser's rules apply to them too."""
    assert (rule, path) in of(part)


def test_media_of_a_result_in_structs() -> None:
    pieces = [FunctionResponsePart(inline_data=Blob(data="AAAA", mime_type="png"))]  # type: ignore[arg-type]
    part = Part(function_response=FunctionResponse(name="f", response={}, parts=pieces))
    found = check(
        GenerateContentRequest(
            contents=[
                USER,
                Content(role="model", parts=[Part(function_call=FunctionCall(name="f"))]),
                _user(part),
            ]
        )
    )
    assert [(each.rule, each.path) for each in found] == [
        ("G64", "contents[2].parts[0].functionResponse.parts[0].inlineData.mimeType")
    ]


def _user(*parts: Part) -> Content:
    return Content(role="user", parts=list(parts))


def test_schemas_in_structs() -> None:
    declared = FunctionDeclaration(name="f", parameters=Schema(type=["OBJECT"], enum=[1]))  # type: ignore[arg-type, list-item]
    found = check(
        GenerateContentRequest(contents=[USER], tools=[Tool(function_declarations=[declared])])
    )
    path = "tools[0].functionDeclarations[0].parameters"
    assert [(each.rule, each.path) for each in found] == [
        ("G39", f"{path}.type"),
        ("G41", f"{path}.enum[0]"),
    ]


RECEIVED = json.dumps(
    {
        "candidates": [
            {
                "content": {
                    "role": "model",
                    "parts": [
                        {
                            "functionCall": {"name": "f", "args": {}},
                            "thoughtSignature": "RXJRQ0NrZ0lCeEFCR0FJaVFBPT0=",
                        },
                        {"inlineData": {"mimeType": "image/jpg", "data": "AAAA"}},
                        {
                            "toolCall": {"toolType": "URL_CONTEXT", "mood": 1},
                            "thoughtSignature": "%",
                        },
                    ],
                }
            }
        ]
    }
).encode()


def test_parts_from_the_wire_go_back_unjudged() -> None:
    """A received Content is not checked, nor are received parts of another Content. A call among
    them still needs its result.
    """
    content = parse_response(RECEIVED).candidates[0].content  # type: ignore[index]
    answer = _user(Part(function_response=FunctionResponse(name="f", response={})))
    assert content is not None
    for turn in (content, Content(role="model", parts=list(content.parts or ()))):
        assert check(GenerateContentRequest(contents=[USER, turn, answer]), FLASH3) == []
        assert [
            found.rule
            for found in check(GenerateContentRequest(contents=[USER, turn, USER]), FLASH3)
        ] == ["G12"]


# --- turns ----------------------------------------------------------------------------------------


def test_calls_that_the_server_answered_by_id() -> None:
    """Of two calls with one name, the one whose id is repeated is answered; the other one needs a
    result.
    """
    turn = model(call(id="1"), call(id="2"), result(id="2"))
    assert rules(said(GO, turn, user(result(id="1"))), "gemini-3.5-flash") == []
    assert rules(said(GO, turn, user(result(id="2"))), "gemini-3.5-flash") == [
        ("G18", "contents[2].parts[0].functionResponse.id")
    ]


def test_turns_of_the_model_in_a_row_are_one() -> None:
    rest = [user(result(), result("g"))]
    assert (
        rules(said(GO, model(call()), model({"text": "and"}), model(call("g", None)), *rest)) == []
    )
    assert rules(
        said(GO, model({"text": "so"}), model(call(signature=None)), model(call("g")), *rest)
    ) == [("G24", "contents[2].parts[0]")]
    assert rules(said(model({"text": "so"}), model(call()), user(result()))) == [
        ("G10", "contents[1]")
    ]


def test_a_call_without_a_role_is_the_models() -> None:
    assert rules(said(GO, {"parts": [call()]}, {"parts": [result()]})) == []
    assert rules(said(GO, {"parts": [call(signature=None)]}, user(result()))) == [
        ("G24", "contents[1].parts[0]")
    ]


def test_an_orphan_after_a_turn_of_the_model() -> None:
    history = talk([call()], user(result()), model({"text": "so"}), user(result()))
    assert rules(history) == [("G11", "contents[4]")]
    assert rules(said(GO, GO, user(result()), GO, user(result()))) == [
        ("G11", "contents[2]"),
        ("G11", "contents[4]"),
    ]


def test_one_fault_one_rule() -> None:
    """Late results are not reported as missing too, and missing results are reported once."""
    assert rules(talk([call(), call("g")], GO, user(result()), user(result("g")))) == [
        ("G11", "contents[3]")
    ]
    assert rules(talk([call(), call("g"), call("h")], user(result()), user(result("g")))) == [
        ("G12", "contents[2]")
    ]
    assert rules(talk([call()]), FLASH36) == [("G15", "contents[1]")]


def test_the_current_turn_begins_after_the_last_words() -> None:
    earlier = [GO, model(call(signature=None)), user(result())]
    assert rules(said(*earlier, user({"text": "and?"}), model(call()), user(result()))) == []
    assert rules(said(*earlier, model(call()), user(result()))) == [("G24", "contents[1].parts[0]")]
    # Words beside results are words.
    assert (
        rules(
            said(
                GO,
                model(call(signature=None)),
                user(result(), {"text": "and?"}),
                model(call()),
                user(result()),
            )
        )
        == []
    )


def test_the_words_count_calls() -> None:
    found = check(json.dumps(talk([call()], user(result(), result()))).encode())
    assert found[0].message == "1 call, but 2 results"
    found = check(json.dumps(talk([call(), call("g")], user(result()))).encode())
    assert found[0].message == "2 calls, but 1 result"


# --- signatures, media ----------------------------------------------------------------------------


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


@joined(
    ("signature", "foreign"),
    [
        (SIGNED, False),
        (DUMMY, False),
        (DUMMY.rstrip("="), False),
        (b64(b"context_engineering_is_the_way_to_go"), False),
        ("context_engineering_is_the_way_to_go", False),
        (b64(b"a text that is a signature of no one"), True),
        (b64(b"short"), False),
        (b64(b"\x80\x00\x00\x00\x00gAAA"), True),
        (b64(b"\x12\xb4\x02\x0a\x48\x08\x07\x10\x01\x18\x02\x22\x40"), True),
        (b64(b"\x12\x75\x0a\x73\x08\x01\x12\x6f\x01\x0c"), False),
        (b64(b"\x12\x75\x0a\x73\x01\x8f\x10\x6f\x01\x0c"), False),
        (b64(b"\x12\x75\x12\x73\x08\x07\x10\x6f\x01\x0c"), False),
        (b64(b"\x0a\x75\x0a\x73\x08\x07\x10\x6f\x01\x0c"), False),
        (b64(b"\x12"), False),
        (b64(bytes(range(256)) * 400), False),
    ],
)
def test_signatures_of_others(signature: str, foreign: bool) -> None:
    assert is_foreign(signature) is foreign


@joined("text", ["", "AAAA", "AAA", "AA==", "-_+/", "AA\nAA", "AAA=\n"])
def test_base64(text: str) -> None:
    assert is_base64(text)


@joined(
    "text", ["A", "AAAAA", "%%%%", "data:image/png;base64,AAAA", "AA=A", "äAAA", "AAAA===", "{}"]
)
def test_not_base64(text: str) -> None:
    assert not is_base64(text)


@joined(
    "data",
    [
        b"\x89PNG\r\n\x1a\n",
        b"\xff\xd8\xff\xe0",
        b"GIF89a",
        b"RIFF\0\0\0\0WEBP",
        b"\0\0\0\x18ftypheic",
    ],
    ids=["png", "jpeg", "gif", "webp", "heic"],
)
def test_images(data: bytes) -> None:
    assert (
        rules(said(user({"inlineData": {"mimeType": "image/webp", "data": b64(data + bytes(9))}})))
        == []
    )


def test_results_with_and_without_a_pointer() -> None:
    """Every `$ref` is reported, except one to a media part of the same result."""
    body = talk(
        [call()], user(result(response={"$ref": "#/a", "b": {"c": [[{"$ref": 1}]]}, "d": "$ref"}))
    )
    path = "contents[2].parts[0].functionResponse.response"
    assert sorted(rules(body)) == [("G21", f"{path}.$ref"), ("G21", f"{path}.b.c[0][0].$ref")]


# --- the rest -------------------------------------------------------------------------------------


def test_a_reference_of_vertex_needs_no_type() -> None:
    node = {
        "type": "OBJECT",
        "properties": {"p": {"ref": "#/defs/P"}},
        "defs": {"P": {"type": "STRING"}},
    }
    assert rules(said(tools=tools(function(node))), FLASH25, "vertex") == []


@pytest.mark.parametrize(
    "parameters",
    [{"type": "array", "items": {"type": "string"}}, Schema(type="string"), Schema(type=1)],
)
def test_a_function_takes_an_object(parameters: Any) -> None:
    """G50: parameters that are not an object are refused with their path. A response may have any
    type.
    """
    with pytest.raises(SchemaError) as caught:
        function_declaration("f", "d", parameters)
    assert [(each.rule, each.path) for each in caught.value.violations] == [("G50", "parameters")]
    assert function_declaration("f", "d", Schema(type=6), response=parameters).response is not None


def test_rules_of_schemas_hold_at_every_place() -> None:
    array = {"type": "ARRAY"}
    node = {
        "type": "OBJECT",
        "properties": {
            "items": {"type": "ARRAY", "items": array},
            "anyOf": {"anyOf": [{"type": "STRING"}, array]},
        },
    }
    body = said(
        tools=tools(function(node, response={"type": "OBJECT", "properties": {"a": array}})),
        generationConfig={"responseSchema": array},
    )
    at = "tools[0].functionDeclarations[0]"
    assert rules(body, FLASH25) == [
        ("G45", f"{at}.parameters.properties.items.items.items"),
        ("G45", f"{at}.parameters.properties.anyOf.anyOf[1].items"),
        ("G45", f"{at}.response.properties.a.items"),
        ("G45", "generationConfig.responseSchema.items"),
    ]


def test_max_items_count_at_every_place() -> None:
    def of(**where: Any) -> list[tuple[str, str]]:
        return rules(config(responseJsonSchema={"type": "object", **where}), FLASH25)

    bounded = {"type": "array", "items": {"type": "string"}, "maxItems": 481}
    assert [rule for rule, _ in of(properties={"a": bounded, "b": bounded})] == ["G54"]
    assert [rule for rule, _ in of(properties={"a": {"anyOf": [bounded, bounded]}})] == ["G54"]
    assert [rule for rule, _ in of(properties={"a": {"prefixItems": [bounded, bounded]}})] == [
        "G54"
    ]
    assert [rule for rule, _ in of(**{"$defs": {"a": bounded, "b": bounded}})] == ["G54"]
    assert of(properties={"a": bounded}, enum=[bounded], default=bounded) == []
    assert (
        of(properties={"a": {"type": "array", "maxItems": True}, "b": {"maxItems": "many"}}) == []
    )


def test_functions_bind_in_the_modes_that_enforce_them() -> None:
    parameters = {
        "type": "OBJECT",
        "properties": {"a": {"type": "ARRAY", "items": {"type": "STRING"}, "maxItems": 961}},
    }
    for mode, severity in (("ANY", "error"), ("VALIDATED", "error"), ("AUTO", "warning")):
        body = said(
            tools=tools(function(parameters)), toolConfig={"functionCallingConfig": {"mode": mode}}
        )
        assert [
            (each.rule, each.severity) for each in check(json.dumps(body).encode(), FLASH25)
        ] == [("G54", severity)]


def test_signatures_of_earlier_turns() -> None:
    """G27: from 3.5 on, all turns before the current one are signed, or none."""
    lost = said(
        GO, model(call()), user(result()), GO, model(call(signature=None)), user(result()), GO
    )
    found = {
        name: [each.rule for each in check(json.dumps(lost).encode(), name)]
        for name in (FLASH3, "gemini-3.5-flash", FLASH36)
    }
    assert found == {FLASH3: [], "gemini-3.5-flash": ["G27"], FLASH36: ["G27"]}


def test_states_of_a_grammar() -> None:
    """The count of states: characters of an enum, times the bounds of the arrays around it."""
    enum = {"type": "STRING", "enum": ["abc"] * 100}

    def of(node: dict[str, Any]) -> list[str]:
        return [rule for rule, _ in rules(config(responseSchema=node), FLASH25)]

    assert of({"type": "ARRAY", "items": enum, "maxItems": 99}) == []
    assert of({"type": "ARRAY", "items": enum, "maxItems": 101}) == ["G53"]
    assert of({"type": "ARRAY", "items": enum}) == []
    assert of({"type": "OBJECT", "properties": {str(i): enum for i in range(101)}}) == ["G53"]


def test_budgets() -> None:
    budget = Budget(128, 32768, off=False)
    assert [budget.accepts(tokens) for tokens in (-2, -1, 0, 127, 128, 32768, 32769)] == [
        False,
        True,
        False,
        False,
        True,
        True,
        False,
    ]


def test_a_long_history_is_read_in_linear_time() -> None:
    """Calls in many adjacent Contents are one turn, which is built once."""
    many = 20_000
    contents = [
        USER,
        *(
            Content(role="model", parts=[Part(function_call=FunctionCall(name="f"))])
            for _ in range(many)
        ),
    ]
    found = check(GenerateContentRequest(contents=contents), FLASH25)
    assert [(each.rule, each.path) for each in found] == [("G12", "contents[1]")]
