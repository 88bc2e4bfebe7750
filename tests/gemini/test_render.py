"""Rendering of neutral requests for Gemini: the bodies, the notes, and the errors."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest

from tests.joined import joined
from wire import gemini, notes
from wire.core.memory import Note
from wire.errors import ConfigurationError, HistoryError, RuleError, SchemaError
from wire.gemini.rendering import call
from wire.neutral.messages import Media, Message, Other, Thought, ToolCall, ToolResult
from wire.neutral.request import Output, Request, Tool
from wire.tools import tool

from .neutral import HI, MODEL, PNG, TIDE, A, B, asked, config, contents, refused, sent, told, user

# --- turns ----------------------------------------------------------------------------------------


@pytest.mark.row("S4-07", "S4-08")
def test_texts():
    """Several texts stay several parts."""
    assert contents(Message.user("a", "b"), Message.assistant("c"), Message.user("d")) == [
        user("a", "b"),
        {"parts": [{"text": "c"}], "role": "model"},
        user("d"),
    ]


@pytest.mark.row("S1-15", "S2-10")
def test_turns_of_one_role_are_one_turn():
    assert contents(
        HI, Message.user("there"), Message.assistant("a"), Message.assistant("b"), HI
    ) == [
        user("Hi", "there"),
        {"parts": [{"text": "a"}, {"text": "b"}], "role": "model"},
        user("Hi"),
    ]


PLAIN = {"contents": [user("Hi")], "store": False}


@pytest.mark.row("S2-20", "S2-30", "S4-06", "S4-12")
def test_what_the_system_says():
    messages = (
        Message.system("b", "c"),
        HI,
        Message.system(" "),
        Message.assistant("x"),
        Message.system("d"),
        Message.user("y"),
    )
    made = sent(*messages, system="a")
    assert made == {
        "contents": [user("Hi"), {"parts": [{"text": "x"}], "role": "model"}, user("y")],
        "systemInstruction": {"parts": [{"text": text} for text in "abcd"]},
        "store": False,
    }
    assert told(*messages) == ["messages[2]: left out: a system message without text"]
    assert "systemInstruction" not in sent(system=" \n")


@pytest.mark.row("S0-04", "S1-02", "S2-02", "S4-09", "S4-10")
def test_calls_and_results():
    """Only ids that Gemini gave are sent, so results must be in the order of their calls."""
    messages = (
        HI,
        Message.assistant("Let me see.", A, ToolCall(id="call_N", name="now"), B),
        Message.tool_response(
            ToolResult("call_B", "tide", ["ebb"]),
            ToolResult("call_N", "now", "no clock", error=True),
        ),
        Message.system("Be brief."),
        Message.tool_response(ToolResult("call_A", "tide", {"metres": 2})),
        Message.user("Well?", PNG),
    )
    assert contents(*messages, model="gemini-2.5-flash")[1:] == [
        {
            "parts": [
                {"text": "Let me see."},
                {"functionCall": {"name": "tide", "args": {"port": "Brest"}}},
                {"functionCall": {"name": "now", "args": {}}},
                {"functionCall": {"name": "tide", "args": {"port": "Łódź"}}},
            ],
            "role": "model",
        },
        {
            "parts": [
                {"functionResponse": {"name": "tide", "response": {"metres": 2}}},
                {"functionResponse": {"name": "now", "response": {"error": "no clock"}}},
                {"functionResponse": {"name": "tide", "response": {"result": ["ebb"]}}},
            ],
            "role": "user",
        },
        {
            "parts": [
                {"text": "Well?"},
                {"inlineData": {"data": "iVBORw0KGgo=", "mimeType": "image/png"}},
            ],
            "role": "user",
        },
    ]
    assert told(*messages, model="gemini-2.5-flash") == [
        "messages[2]: results were put into the order of their calls"
    ]


@pytest.mark.row("S4-11")
def test_a_result_answers_the_nearest_call_of_its_id():
    first, second = ToolCall(id="1", name="tide"), ToolCall(id="1", name="moon")
    turns = (
        HI,
        Message.assistant(first),
        Message.tool_result(first, "a"),
        Message.assistant(second),
        Message.tool_result(second, "b"),
    )
    names = [
        part["functionResponse"]["name"]
        for content in contents(*turns)
        for part in content["parts"]
        if "functionResponse" in part
    ]
    assert names == ["tide", "moon"]


@pytest.mark.row("S2-09")
def test_the_name_of_a_result_is_that_of_its_call():
    assert contents(
        HI, Message.assistant(A), Message.tool_response(ToolResult("call_A", "another", "x"))
    )[-1]["parts"] == [{"functionResponse": {"name": "tide", "response": {"result": "x"}}}]


def test_results_with_a_pointer_in_them_go_as_text():
    """G21: a result with a key `$ref` is sent as text."""
    messages = (HI, Message.assistant(A), Message.tool_result(A, {"schema": {"$ref": "#/a"}}))
    assert contents(*messages)[-1]["parts"][0]["functionResponse"]["response"] == {
        "result": '{"schema":{"$ref":"#/a"}}'
    }
    assert (
        "messages[2].parts[0].content: sent as text, since the server reads its key $ref "
        "as a reference" in told(*messages)
    )


@pytest.mark.row("S2-29")
def test_media_of_a_result_stand_inside_it():
    result = ToolResult("call_A", "tide", {"seen": 1}, media=(PNG, Media(url="gs://a/b.jpg")))
    messages = (HI, Message.assistant(A), Message.tool_response(result))
    assert contents(*messages)[-1]["parts"] == [
        {
            "functionResponse": {
                "name": "tide",
                "response": {"seen": 1},
                "parts": [
                    {"inlineData": {"data": "iVBORw0KGgo=", "mimeType": "image/png"}},
                    {"fileData": {"fileUri": "gs://a/b.jpg", "mimeType": "image/jpeg"}},
                ],
            }
        }
    ]
    # 2.x takes none inside (G22): they follow, in a turn of their own (D-14)
    older = contents(*messages, model="gemini-2.5-flash")
    assert older[-2:] == [
        {
            "parts": [{"functionResponse": {"name": "tide", "response": {"seen": 1}}}],
            "role": "user",
        },
        {
            "parts": [
                {"inlineData": {"data": "iVBORw0KGgo=", "mimeType": "image/png"}},
                {"fileData": {"fileUri": "gs://a/b.jpg", "mimeType": "image/jpeg"}},
            ],
            "role": "user",
        },
    ]
    assert told(*messages, model="gemini-2.5-flash") == [
        "messages[2].parts[0].media: sent after the results: this model refuses media "
        "inside them (G22)"
    ]


# --- media ----------------------------------------------------------------------------------------


@pytest.mark.row("S2-28", "S3-31", "U-42")
@joined(
    ("media", "part"),
    [
        (
            Media(url="data:image/png;base64,iVBORw0KGgo="),
            {"inlineData": {"data": "iVBORw0KGgo=", "mimeType": "image/png"}},
        ),
        (
            Media(url="https://example.com/a/tide.PDF?page=2"),
            {
                "fileData": {
                    "fileUri": "https://example.com/a/tide.PDF?page=2",
                    "mimeType": "application/pdf",
                }
            },
        ),
        (
            Media(
                url="https://youtu.be/x", media_type="video/mp4", start="1.5s", end="9s", fps=0.5
            ),
            {
                "fileData": {"fileUri": "https://youtu.be/x", "mimeType": "video/mp4"},
                "videoMetadata": {"startOffset": "1.5s", "endOffset": "9s", "fps": 0.5},
            },
        ),
        (
            Media(url="gs://bucket/film.mp4", fps=2),
            {
                "fileData": {"fileUri": "gs://bucket/film.mp4", "mimeType": "video/mp4"},
                "videoMetadata": {"fps": 2.0},
            },
        ),
    ],
)
def test_media(media, part):
    assert contents(Message.user("What is it?", media))[0]["parts"][1] == part


def test_names_of_media_are_of_vertex():
    media = Media(data=b"abc", media_type="text/plain", name="a.txt", detail="high")
    vertex = contents(Message.user(media), provider="gemini@vertex")[0]["parts"]
    assert vertex == [
        {"inlineData": {"data": "YWJj", "mimeType": "text/plain", "displayName": "a.txt"}}
    ]
    assert contents(Message.user(media))[0]["parts"] == [
        {"inlineData": {"data": "YWJj", "mimeType": "text/plain"}}
    ]
    assert told(Message.user(media)) == [
        "messages[0].parts[0].detail: left out: Gemini has no such field",
        "messages[0].parts[0].name: left out: only Vertex accepts names of media",
    ]


@pytest.mark.row("S2-28")
@joined(
    "url",
    [
        "https://example.com/tide",
        "https://example.com/tide.xyz",
        "files/abc",
        "https://[",
        "https://pdf",
    ],
)
def test_a_type_that_nobody_knows_is_asked_for(url):
    assert refused(HI, Message.user("See:", Media(url=url))) == [("messages[1].parts[1]", "G64")]
    result = ToolResult("call_A", "tide", "", media=(PNG, Media(url=url)))
    lowered = told(HI, Message.assistant(A), Message.tool_response(result))
    [note] = [each for each in lowered if each.startswith("messages[2].parts[0].media[1]: ")]
    assert "left out, with a line in words: the URL" in note


# --- tools ----------------------------------------------------------------------------------------


@pytest.mark.row("S0-01", "S2-03", "S2-15", "S4-14")
def test_tools():
    tools = (
        Tool("now"),
        Tool(
            "tide", "The tide.", TIDE, {"type": "object", "properties": {"m": {"type": "number"}}}
        ),
    )
    before = copy.deepcopy([msgspec.to_builtins(tool) for tool in tools])
    assert sent(tools=tools)["tools"] == [
        {
            "functionDeclarations": [
                {"name": "now"},
                {
                    "name": "tide",
                    "description": "The tide.",
                    "parameters": {
                        "type": "OBJECT",
                        "properties": {"port": {"type": "STRING"}},
                        "required": ["port"],
                    },
                    "response": {"type": "OBJECT", "properties": {"m": {"type": "NUMBER"}}},
                },
            ]
        }
    ]
    assert told(tools=tools) == [
        "tools[1].parameters.additionalProperties: dropped, the Schema proto has no such keyword"
    ]
    assert [msgspec.to_builtins(tool) for tool in tools] == before


def test_what_the_library_added_to_a_tool_is_dropped_without_a_note():
    def tide(port: str) -> str:
        return port

    tools = (tool(tide), tool(tide, name="tide_2", parameters=TIDE))
    [declared] = sent(tools=tools)["tools"]
    assert ["additionalProperties" in str(each) for each in declared["functionDeclarations"]] == [
        False,
        False,
    ]
    assert tool(tide).parameters["additionalProperties"] is False
    assert told(tools=tools) == [
        "tools[1].parameters.additionalProperties: dropped, the Schema proto has no such keyword"
    ]


def test_the_remedy_for_a_recursive_schema_is_a_setting_of_the_request():
    tree = {"type": "object", "properties": {"tree": {"$ref": "#/$defs/Tree"}}}
    schema = {**tree, "$defs": {"Tree": tree}}
    for settings in ({"tools": (Tool("f", "", schema),)}, {"output": Output(schema)}):
        with pytest.raises(SchemaError, match=r"\(use the setting raw_schemas=True\)$") as caught:
            sent(**settings)
        [violation] = caught.value.violations
        assert (violation.rule, violation.remedy) == ("G55", "use the setting raw_schemas=True")
        assert sent(**settings, raw_schemas=True)


@pytest.mark.row("S0-01")
def test_raw_schemas_go_as_they_are():
    tools = (Tool("now"), Tool("tide", "", TIDE, {"type": "object", "$id": "x"}))
    assert sent(tools=tools, raw_schemas=True)["tools"] == [
        {
            "functionDeclarations": [
                {"name": "now"},
                {
                    "name": "tide",
                    "parametersJsonSchema": TIDE,
                    "responseJsonSchema": {"type": "object", "$id": "x"},
                },
            ]
        }
    ]
    assert told(tools=tools, raw_schemas=True) == []


@pytest.mark.row("S0-01")
@joined("raw", [False, True])
@joined(
    "parameters",
    [
        {},
        {"type": "object"},
        {"type": "object", "properties": {}, "required": [], "additionalProperties": False},
        {"$schema": "x", "title": "Now", "description": "None.", "properties": {}},
    ],
)
def test_no_parameters_no_key(parameters, raw):
    assert sent(tools=(Tool("now", "", parameters),), raw_schemas=raw)["tools"] == [
        {"functionDeclarations": [{"name": "now"}]}
    ]


@pytest.mark.row("S0-02")
def test_parameters_without_a_type_are_an_object():
    tool = Tool("tide", "", {"properties": {"port": {"type": "string"}}})
    [converted], [raw] = (sent(tools=(tool,), raw_schemas=raw)["tools"] for raw in (False, True))
    assert converted["functionDeclarations"][0]["parameters"] == {
        "type": "OBJECT",
        "properties": {"port": {"type": "STRING"}},
    }
    assert raw["functionDeclarations"][0]["parametersJsonSchema"] == {
        "type": "object",
        "properties": {"port": {"type": "string"}},
    }
    assert told(tools=(tool,), raw_schemas=True) == [
        "tools[0].parameters: the missing type was set to object"
    ]
    assert "type" not in tool.parameters


@pytest.mark.row("S2-16", "S3-23", "U-107")
@joined(
    ("choice", "calling"),
    [
        ("auto", {"mode": "AUTO"}),
        ("none", {"mode": "NONE"}),
        ("required", {"mode": "ANY"}),
        (("tide",), {"mode": "ANY", "allowedFunctionNames": ["tide"]}),
        (("tide", "now"), {"mode": "ANY", "allowedFunctionNames": ["tide", "now"]}),
    ],
)
def test_tool_choice(choice, calling):
    assert sent(tools=(Tool("tide", "", TIDE), Tool("now")), tool_choice=choice)["toolConfig"] == {
        "functionCallingConfig": calling
    }


@pytest.mark.row("S2-16")
def test_no_choice_is_not_sent():
    for choice in (None, ()):
        assert "toolConfig" not in sent(tools=(Tool("now"),), tool_choice=choice)
    assert refused(tool_choice="auto") == [("toolConfig.functionCallingConfig", "G31")]


@pytest.mark.row("S1-17")
def test_search():
    search = {"googleSearch": {}}
    assert sent(search_grounding=True) == {**PLAIN, "tools": [search]}
    both = {"tools": (Tool("now"),), "search_grounding": True}
    declared = {"functionDeclarations": [{"name": "now"}]}
    assert sent(**both) == {
        **PLAIN,
        "tools": [declared, search],
        "toolConfig": {"includeServerSideToolInvocations": True},
    }
    assert sent(**both, tool_choice="auto")["toolConfig"] == {
        "functionCallingConfig": {"mode": "AUTO"},
        "includeServerSideToolInvocations": True,
    }
    # Vertex does not know the flag, and takes the mix without it
    assert sent(**both, provider="gemini@vertex") == {
        "contents": [user("Hi")],
        "tools": [declared, search],
    }
    assert refused(**both, model="gemini-2.5-flash") == [("tools[1].googleSearch", "G33")]


def test_a_schema_that_gemini_cannot_say():
    tree = {"type": "object", "properties": {"next": {"$ref": "#"}}}
    [(path, _)] = refused(tools=(Tool("now"), Tool("tree", "", tree)), kind=SchemaError)
    assert path.startswith("tools[1].parameters")
    [(path, _)] = refused(output=Output(tree), kind=SchemaError)
    assert path.startswith("output.schema")
    assert (
        sent(output=Output(tree), raw_schemas=True)["generationConfig"]["responseJsonSchema"]
        == tree
    )


# --- generation config ----------------------------------------------------------------------------


def test_the_table_of_settings():
    settings = {"max_tokens": 100, "temperature": 0.0, "top_p": 0.5, "stop": ("a", "b")}
    assert config(**settings) == {
        "maxOutputTokens": 100,
        "temperature": 0.0,
        "topP": 0.5,
        "stopSequences": ["a", "b"],
    }
    assert sent() == PLAIN


LEVELS = {
    "gemini-3-flash-preview": ("MINIMAL", "MINIMAL", "LOW", "MEDIUM", "HIGH"),
    "gemini-3.1-pro-preview": ("LOW", "LOW", "LOW", "MEDIUM", "HIGH"),
    "gemini-3.1-flash-lite": ("MINIMAL", "MINIMAL", "LOW", "MEDIUM", "HIGH"),
    "gemini-3.5-flash": ("MINIMAL", "MINIMAL", "LOW", "MEDIUM", "HIGH"),
    "gemini-3.7-flash": ("LOW", "LOW", "LOW", "MEDIUM", "HIGH"),
    "models/gemini-3.8-flash": ("LOW", "LOW", "LOW", "MEDIUM", "HIGH"),
    "gemini-flash-latest": ("MINIMAL", "MINIMAL", "LOW", "MEDIUM", "HIGH"),
    "tunedModels/mine": ("MINIMAL", "MINIMAL", "LOW", "MEDIUM", "HIGH"),
}
BUDGETS = {
    "gemini-2.5-pro": (128, 1024, 1024, 8192, 24576),
    "gemini-2.5-flash": (0, 1024, 1024, 8192, 24576),
    "gemini-2.5-flash-lite": (0, 1024, 1024, 8192, 24576),
    "gemini-2.5-flash-image": (0, 1024, 1024, 8192, 24576),
}
EFFORTS = ("none", "minimal", "low", "medium", "high")


@pytest.mark.row("S2-04", "S2-23", "S3-22", "U-149")
@joined(
    ("model", "effort", "value"),
    [
        (m, e, v)
        for m, row in {**LEVELS, **BUDGETS}.items()
        for e, v in zip(EFFORTS, row, strict=True)
    ],
)
def test_effort(model, effort, value):
    key = "thinkingBudget" if isinstance(value, int) else "thinkingLevel"
    shown = {} if effort == "none" else {"includeThoughts": True}
    assert config(effort=effort, model=model) == {"thinkingConfig": {**shown, key: value}}
    mapped = value in (0, 1024, 8192, 24576) or value == effort.upper()
    assert [note.partition(":")[0] for note in told(effort=effort, model=model)] == (
        [] if mapped else ["effort"]
    )


@pytest.mark.row("S2-23")
def test_other_efforts():
    for effort in ("xhigh", "max"):  # no Gemini takes max
        assert config(effort=effort) == {
            "thinkingConfig": {"includeThoughts": True, "thinkingLevel": "HIGH"}
        }
    hydrogen = config(effort="max", model="gemini-4-hydrogen")
    assert hydrogen["thinkingConfig"]["thinkingLevel"] == "XHIGH"
    assert config(effort="HIGH")["thinkingConfig"]["thinkingLevel"] == "HIGH"
    assert refused(effort="xhigh", model="gemini-2.5-pro") == [
        ("generationConfig.thinkingConfig.thinkingLevel", "G59")
    ]
    assert config(effort="high", model="gemini-2.0-flash") is None
    gone = (
        "model: warning: models/gemini-2.0-flash was shut down on 2026-06-01; Google recommends "
        "gemini-2.5-flash"
    )
    assert told(effort="high", model="gemini-2.0-flash") == [
        "effort: not sent: models before 2.5 do not think",
        gone,
    ]
    assert told(effort="none", model="gemini-2.0-flash") == [gone]


@pytest.mark.row("S2-22", "U-55")
def test_output():
    schema = {
        "type": "object",
        "properties": {"m": {"type": ["number", "null"]}},
        "additionalProperties": False,
    }
    before = copy.deepcopy(schema)
    assert config(output=Output(schema)) == {
        "responseMimeType": "application/json",
        "responseSchema": {
            "type": "OBJECT",
            "properties": {"m": {"type": "NUMBER", "nullable": True}},
        },
    }
    assert told(output=Output(schema)) == [
        "output.schema.additionalProperties: dropped, the Schema proto has no such keyword"
    ]
    assert config(output=Output(schema), raw_schemas=True) == {
        "responseMimeType": "application/json",
        "responseJsonSchema": schema,
    }
    assert schema == before


def test_an_output_beside_tools_is_sent_as_words_where_the_model_takes_no_json_then():
    """G56: models before 3 refuse `application/json` together with tools."""
    schema = {"type": "object", "properties": {"m": {"type": "number"}}}
    given = {"output": Output(schema), "tools": (Tool("now"),), "system": "Be brief."}
    old, new = (sent(model=model, **given) for model in ("gemini-2.5-flash", "gemini-3.8-flash"))
    assert "generationConfig" not in old
    assert old["systemInstruction"]["parts"] == [
        {
            "text": "Be brief.\n\nAnswer with JSON that fits this schema: "
            '{"type":"object","properties":{"m":{"type":"number"}}}'
        }
    ]
    assert new["generationConfig"]["responseMimeType"] == "application/json"
    assert told(model="gemini-2.5-flash", **given) == [
        "output: sent as words in the system prompt: beside tools (G56)"
    ]


def test_options_of_the_provider():
    options = {
        "gemini": {
            "generationConfig": {"seed": 7, "temperature": 1},
            "safetySettings": [],
            "store": True,
        },
        "gemini@vertex": {"labels": {"team": "a"}, "generationConfig": {"seed": 8}},
        "openai": {"user": "x"},
    }
    made = sent(options=options, temperature=0.5, max_tokens=9)
    assert made == {
        "contents": [user("Hi")],
        "generationConfig": {"maxOutputTokens": 9, "temperature": 1, "seed": 7},
        "safetySettings": [],
        "store": True,
    }
    made = sent(
        options={**options, "gemini": {"generationConfig": {"seed": 7, "topK": 3}}},
        provider="gemini@vertex",
    )
    assert (made["labels"], made["generationConfig"]) == ({"team": "a"}, {"seed": 8, "topK": 3})
    with pytest.raises(RuleError, match=r"options\.gemini"):
        sent(options={"gemini": [1]})


def test_options_are_held_to_the_rules():
    beside = {"cachedContent": "cachedContents/1", "systemInstruction": {"parts": [{"text": "Hi"}]}}
    assert refused(options={"gemini": beside}) == [("systemInstruction", "G62")]
    assert (
        sent(options={"gemini": {"generationConfig": "odd"}})["generationConfig"] == "odd"
    )  # the server's to judge


def test_a_request_that_names_a_cached_content_leaves_out_what_the_cache_has():
    """G62: system, tools and tool config are in the cache, and refused beside it."""
    settings: dict[str, Any] = {
        "system": "Be brief.",
        "tools": (Tool("now"),),
        "tool_choice": "required",
        "options": {"gemini": {"cachedContent": "cachedContents/1"}},
    }
    assert sent(**settings) == {
        **PLAIN,
        "cachedContent": "cachedContents/1",
    }
    words = "not sent: the request names a cached content, which has it (G62)"
    request = Request(messages=(HI,), **settings)
    assert call(request, MODEL).notes == tuple(
        Note(path, words) for path in ("system", "tools", "tool_choice")
    )
    other = call(request, MODEL, "gemini@vertex")  # options of a family are those of its regions
    assert b"systemInstruction" not in other.body
    settings["options"] = {"openai": {"cachedContent": "x"}}
    assert {"systemInstruction", "tools", "toolConfig"} <= set(sent(**settings))


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.row("S4-13", "S4-09", "S4-11")
@joined(
    ("messages", "found"),
    [
        ((), [("messages", "H1")]),
        ((HI, Message.assistant(A), HI), [("messages[1].parts[0]", "H3")]),
        ((HI, Message.tool_result(A, "x")), [("messages[1].parts[0]", "H4")]),
        ((Message.system(PNG), HI), [("messages[0].parts[0]", "H7")]),
        ((Message.user(Other("song", 1)),), [("messages[0]", "")]),
        (
            (
                HI,
                Message.assistant(ToolCall(id="1", name="tide", arguments=None, text="{")),
                Message.tool_response(ToolResult("1", "tide")),
            ),
            [("messages[1].parts[0]", "G1")],
        ),
        (
            (
                HI,
                Message.assistant(ToolCall(id="1", name="tide", arguments=[1])),
                Message.tool_response(ToolResult("1", "tide")),
            ),
            [("messages[1].parts[0]", "G1")],
        ),
    ],
)
def test_u_refused_histories(messages, found):
    with pytest.raises(HistoryError) as error:
        gemini.stream_call(Request(messages=messages), MODEL)
    assert [(each.path, each.rule) for each in error.value.violations] == found


def test_the_name_of_the_tool_stands_in_the_error():
    messages = (
        HI,
        Message.assistant(ToolCall(id="1", name="tide", arguments=None)),
        Message.tool_response(ToolResult("1", "tide")),
    )
    with pytest.raises(HistoryError, match="the call of tide"):
        gemini.stream_call(Request(messages=messages), MODEL)


@pytest.mark.row("S0-04")
def test_a_result_that_json_cannot_say():
    assert refused(HI, Message.assistant(A), Message.tool_result(A, {"x": object()})) == [
        ("messages[2].parts[0].content.x", "")
    ]


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"max_tokens": "many"}, [("max_tokens", "")]),
        ({"options": {"gemini": {"labels": {"a": "b"}}}}, [("labels", "G1")]),
    ],
)
def test_rules_of_the_wire_name_its_paths(fields, found):
    assert refused(**fields) == found


def test_rules_of_a_host_are_asked_where_the_host_is_known():
    labels = {"gemini": {"labels": {"a": "b"}}, "relay": {"labels": {"a": "b"}}}
    assert sent(options=labels, provider="gemini@vertex")["labels"] == {"a": "b"}
    assert sent(options=labels, provider="relay")["labels"] == {"a": "b"}
    assert refused(Message.user(""), provider="gemini@vertex") == [("contents[0]", "G78")]
    assert contents(Message.user("")) == [user("")]


@pytest.mark.row("S2-19")
@joined("model", ["", "  ", "a b", "../x", None])
def test_names_of_models(model):
    with pytest.raises(ConfigurationError, match="model"):
        gemini.stream_call(asked(), model)


def test_what_is_no_request():
    with pytest.raises(RuleError, match="request: expected a Request, not str"):
        gemini.stream_call("Hi", MODEL)


# --- snapshots ------------------------------------------------------------------------------------

ASKED = {
    "everything": asked(
        Message.system("Speak plainly."),
        Message.user("What is this?", PNG, Media(url="https://example.com/tide.pdf")),
        Message.assistant(Thought("Hm."), "Let me see.", A, B),
        Message.tool_response(ToolResult("call_B", "tide", "17:42 – ebb")),
        Message.tool_response(ToolResult("call_A", "tide", {"metres": 2.5})),
        Message.user("And now?"),
        system="Be brief.",
        tools=(Tool("tide", "The tide.", TIDE), Tool("now")),
        tool_choice=("tide",),
        max_tokens=100,
        temperature=0.5,
        top_p=0.9,
        stop=("END",),
        effort="medium",
        options={
            "gemini": {
                "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "OFF"}]
            }
        },
    ),
    "output": asked(
        output=Output(
            {"type": "object", "properties": {"m": {"type": "number", "exclusiveMinimum": 0}}}
        ),
        effort="none",
    ),
    "search": asked(search_grounding=True, tools=(Tool("now"),), raw_schemas=True),
    "current turn of another model": asked(HI, Message.assistant(A), Message.tool_result(A, "ebb")),
}


@pytest.mark.parametrize("name", ASKED)
def test_snapshot(name, snapshot):
    call = gemini.stream_call(ASKED[name], MODEL)
    assert {
        "to": f"{call.method} {call.target}",
        "body": call.body.decode(),
        "notes": [str(note) for note in notes(call)],
    } == snapshot


@pytest.mark.row("S2-03")
def test_strict_of_a_tool_is_reported():
    for raw in (False, True):
        request = Request(
            messages=(HI,), tools=(Tool("f", strict=True), Tool("g")), raw_schemas=raw
        )
        rendered = gemini.render_request(request, MODEL)
        assert [str(each) for each in notes(rendered)] == [
            "tools[0].strict: not sent: Gemini has no strict functions"
        ]
        assert b"strict" not in gemini.call(request, MODEL).body
