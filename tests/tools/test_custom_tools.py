"""Custom tools: a tool of one text, with its grammar, on all wires and in agents."""

from __future__ import annotations

import json
import pickle
from typing import Annotated, Any

import httpx
import msgspec
import pytest

from tests.joined import joined
from wire import Agent, Chat, Message, Tool, ToolCall, tool
from wire.errors import RuleError, ToolError
from wire.neutral.request import Request
from wire.tools import Toolbox, ToolContext
from wire.wires.contract import WIRES

GRAMMAR = "SELECT .+"
SQL = Tool("run_sql", "Runs a query.", kind="custom", grammar=GRAMMAR, syntax="regex")
NOTE = Tool("note", "Keeps a note.", kind="custom")
NOW = Tool("now", "The time.")
HI = Message.user("Hi")
CALL = ToolCall(
    id="call_1", name="run_sql", kind="custom", arguments={"input": "SELECT 1"}, text="SELECT 1"
)
AS_FUNCTION = "tools[0].kind: sent as a function with one text as input"
NOT_ENFORCED = "; its grammar is in the description of the parameter, and not enforced"
PARAMETERS = {
    "type": "object",
    "properties": {
        "input": {"type": "string", "description": f"A text of this grammar (regex):\n{GRAMMAR}"}
    },
    "required": ["input"],
}


def sent(provider: str, *messages: Message, **settings: Any) -> tuple[dict[str, Any], list[str]]:
    wire = {"gemini": "gemini", "anthropic": "anthropic"}.get(
        provider, "openai.responses" if "@" in provider else "openai"
    )
    request = Request(messages=messages or (HI,), max_tokens=99, **settings)
    call = WIRES[wire].call(request, "gpt-4.1", provider)
    return json.loads(call.body), [str(note) for note in call.notes]


# --- the declaration ------------------------------------------------------------------------------


def test_a_custom_tool_takes_one_text() -> None:
    assert SQL.parameters == PARAMETERS
    assert NOTE.parameters["properties"] == {"input": {"type": "string"}}
    assert pickle.loads(pickle.dumps(SQL)) == SQL
    assert msgspec.structs.replace(SQL, description="Other.").parameters == PARAMETERS


@joined(
    ("options", "problem"),
    [
        ({"grammar": "a"}, 'tool t: grammar: only a custom tool has a grammar (kind="custom")'),
        ({"kind": "text"}, "tool t: kind: expected function or custom, not 'text'"),
        ({"kind": None}, "tool t: kind: expected function or custom, not None"),
        ({"kind": []}, "tool t: kind: expected function or custom, not []"),
        (
            {"kind": "custom", "grammar": "a", "syntax": "ebnf"},
            "tool t: syntax: expected lark or regex, not 'ebnf'",
        ),
        ({"kind": "custom", "grammar": b"a"}, "tool t: grammar: expected a str, not bytes"),
        (
            {"kind": "custom", "strict": True},
            "tool t: strict: a custom tool has no schema; it may have a grammar (leave it out)",
        ),
        (
            {"kind": "custom", "parameters": {"type": "object", "properties": {"a": {}}}},
            "tool t: parameters: a custom tool takes one text and has no parameters (leave it out)",
        ),
    ],
)
def test_bad_declarations(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(RuleError) as caught:
        Tool("t", **options)
    assert str(caught.value) == problem


def test_a_grammar_that_json_cannot_represent() -> None:
    with pytest.raises(RuleError, match=r"tools\[0\]\.grammar"):
        sent("openai", tools=(Tool("t", kind="custom", grammar="\ud800"),))


# --- rendered -------------------------------------------------------------------------------------


def test_responses_have_custom_tools() -> None:
    body, notes = sent(
        "openai@responses",
        HI,
        Message.assistant(CALL),
        Message.tool_result(CALL, ""),
        tools=(SQL, NOTE, NOW),
        tool_choice=("run_sql",),
    )
    assert body["tools"][:2] == [
        {
            "type": "custom",
            "name": "run_sql",
            "description": "Runs a query.",
            "format": {"type": "grammar", "syntax": "regex", "definition": GRAMMAR},
        },
        {"type": "custom", "name": "note", "description": "Keeps a note."},
    ]
    assert body["tools"][2]["type"] == "function"
    assert body["tool_choice"] == {"type": "custom", "name": "run_sql"}
    assert body["input"][1:] == [
        {
            "type": "custom_tool_call",
            "call_id": "call_1",
            "name": "run_sql",
            "input": "SELECT 1",
        },
        {"type": "custom_tool_call_output", "call_id": "call_1", "output": ""},
    ]
    assert notes == []


def test_chat_completions_of_openai_have_custom_tools() -> None:
    body, notes = sent(
        "openai",
        HI,
        Message.assistant(CALL),
        Message.tool_result(CALL, "1"),
        tools=(SQL, NOTE, NOW),
        tool_choice=("run_sql",),
    )
    grammar = {"definition": GRAMMAR, "syntax": "regex"}
    assert body["tools"][:2] == [
        {
            "type": "custom",
            "custom": {
                "name": "run_sql",
                "description": "Runs a query.",
                "format": {"type": "grammar", "grammar": grammar},
            },
        },
        {"type": "custom", "custom": {"name": "note", "description": "Keeps a note."}},
    ]
    assert body["tool_choice"] == {"type": "custom", "custom": {"name": "run_sql"}}
    assert body["messages"][1]["tool_calls"] == [
        {"id": "call_1", "type": "custom", "custom": {"name": "run_sql", "input": "SELECT 1"}}
    ]
    assert notes == []


@pytest.mark.parametrize(
    ("provider", "allowed"),
    [
        (
            "openai@responses",
            {
                "type": "allowed_tools",
                "mode": "required",
                "tools": [
                    {"type": "custom", "name": "run_sql"},
                    {"type": "function", "name": "now"},
                ],
            },
        ),
        (
            "openai",
            {
                "type": "allowed_tools",
                "allowed_tools": {
                    "mode": "required",
                    "tools": [
                        {"type": "custom", "custom": {"name": "run_sql"}},
                        {"type": "function", "function": {"name": "now"}},
                    ],
                },
            },
        ),
    ],
)
def test_a_choice_of_both_kinds(provider: str, allowed: dict[str, Any]) -> None:
    body, _ = sent(provider, tools=(SQL, NOW), tool_choice=("run_sql", "now"))
    assert body["tool_choice"] == allowed


@joined(
    ("provider", "declared"),
    [
        ("gemini", lambda body: body["tools"][0]["functionDeclarations"][0]["parameters"]),
        ("anthropic", lambda body: body["tools"][0]["input_schema"]),
        ("mistral", lambda body: body["tools"][0]["function"]["parameters"]),
        ("vllm@responses", lambda body: body["tools"][0]["parameters"]),
        ("llama.cpp@responses", lambda body: body["tools"][0]["parameters"]),
        ("ollama@responses", lambda body: body["tools"][0]["parameters"]),
    ],
)
def test_other_hosts_get_a_function(provider: str, declared: Any) -> None:
    body, notes = sent(
        provider, HI, Message.assistant(CALL), Message.tool_result(CALL, "1"), tools=(SQL,)
    )
    parameters = declared(body)
    assert {name.lower(): each for name, each in parameters["properties"].items()}.keys() == {
        "input"
    }
    assert GRAMMAR in parameters["properties"]["input"]["description"]
    assert AS_FUNCTION + NOT_ENFORCED in notes
    assert "custom" not in json.dumps(body)
    assert json.dumps(json.dumps({"input": "SELECT 1"}, separators=(",", ":"))) in json.dumps(
        body
    ) or '{"input": "SELECT 1"}' in json.dumps(body)
    assert AS_FUNCTION in sent(provider, tools=(NOTE,))[1]


@pytest.mark.parametrize("provider", ["openai", "openai@responses"])
def test_a_call_that_another_vendor_made_of_the_function_is_one_of_the_custom_tool(
    provider: str,
) -> None:
    call = ToolCall(id="call_1", name="run_sql", arguments={"input": "SELECT 1"})
    history = (HI, Message.assistant(call), Message.tool_result(call, "1"))
    own = (HI, Message.assistant(CALL), Message.tool_result(CALL, "1"))
    assert sent(provider, *history, tools=(SQL,)) == sent(provider, *own, tools=(SQL,))
    for arguments in ({"query": "SELECT 1"}, {"input": "SELECT 1", "times": 2}, {"input": 1}):
        other = ToolCall(id="call_1", name="run_sql", arguments=arguments)
        history = (HI, Message.assistant(other), Message.tool_result(other, "1"))
        body = json.dumps(sent(provider, *history, tools=(SQL,))[0])
        assert json.dumps(json.dumps(arguments, separators=(",", ":"))) in body


@pytest.mark.parametrize("provider", ["mistral", "vllm@responses"])
def test_a_custom_call_that_was_cut_off(provider: str) -> None:
    cut = msgspec.structs.replace(CALL, arguments=None, text="SELE")
    body, _ = sent(provider, HI, Message.assistant(cut), Message.tool_result(cut, "1"))
    assert json.dumps('{"input":"SELE"}') in json.dumps(body)


# --- functions ------------------------------------------------------------------------------------


@tool(kind="custom", grammar=GRAMMAR, syntax="regex")
def run_sql(query: str) -> str:
    """Runs a query."""
    return query.lower()


def answer(function: Any, call: ToolCall = CALL) -> Any:
    toolbox = Toolbox([function])
    ready = toolbox.prepare(call)
    return (
        ready.answer
        if not hasattr(ready, "run")
        else toolbox.finish(ready, ready.run()).result.answer
    )


def test_the_function_of_a_custom_tool_gets_the_text() -> None:
    assert (run_sql.name, run_sql.description, run_sql.parameters) == (
        "run_sql",
        "Runs a query.",
        PARAMETERS,
    )
    as_function = ToolCall(id="c", name="run_sql", arguments={"input": "SELECT 1"})
    assert answer(run_sql) == answer(run_sql, as_function) == {"result": "select 1"}
    assert run_sql("A") == "a"


def test_functions_of_custom_tools() -> None:
    def positional(text: str, /, times: int = 2) -> str:
        return text * times

    def with_context(context: ToolContext, text: Annotated[str, "the text"]) -> str:
        return f"{context.call.name} {text}"

    call = msgspec.structs.replace(CALL, name="f")
    assert answer(tool(positional, name="f", kind="custom"), call) == {"result": "SELECT 1SELECT 1"}
    assert answer(tool(with_context, name="f", kind="custom"), call) == {"result": "f SELECT 1"}
    assert answer(tool(lambda text: text, name="f", kind="custom"), call) == {"result": "SELECT 1"}


def test_a_call_with_other_arguments_is_an_error_for_the_model() -> None:
    wrong = ToolCall(id="c", name="run_sql", arguments={"query": "SELECT 1"})
    assert answer(run_sql, wrong) == {
        "error": "invalid parameters: $: Object contains unknown field `query`"
    }
    cut = ToolCall(id="c", name="run_sql", kind="custom", arguments=None, text="SEL")
    assert answer(run_sql, cut) == {
        "error": "invalid parameters: $: expected a complete text, not 'SEL'"
    }


def two(a: str, b: str) -> str:
    return a + b


def number(a: int) -> int:
    return a


@pytest.mark.parametrize("function", [two, number, lambda: ""])
def test_functions_that_take_no_text(function: Any) -> None:
    with pytest.raises(ToolError) as caught:
        tool(function, name="t", kind="custom")
    problem = "tool t: the function of a custom tool must take a text as its only argument"
    assert caught.value.message == problem


def test_options_that_do_not_fit() -> None:
    with pytest.raises(ToolError, match="parameters: a custom tool takes one text"):
        tool(run_sql.function, kind="custom", parameters={"type": "object"})
    with pytest.raises(ToolError, match="kind: only a tool with a function has this option"):
        tool(msgspec.defstruct("T", [("a", str)]), kind="custom")  # type: ignore[call-overload]
    with pytest.raises(RuleError, match="grammar: only a custom tool has a grammar"):
        tool(number, grammar="a")


# --- called ---------------------------------------------------------------------------------------

ITEM = {
    "type": "custom_tool_call",
    "id": "ctc_1",
    "status": "completed",
    "call_id": "call_1",
    "name": "run_sql",
    "input": "SELECT 1",
}


def response(*output: dict[str, Any]) -> dict[str, Any]:
    return {"id": "r", "object": "response", "status": "completed", "output": list(output)}


def text(words: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": words}]
    return {"type": "message", "id": "msg_1", "role": "assistant", "content": content}


def completion(**message: Any) -> dict[str, Any]:
    finish = "tool_calls" if "tool_calls" in message else "stop"
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish}
    return {"id": "c", "choices": [choice]}


CUSTOM_CALL = {
    "id": "call_1",
    "type": "custom",
    "custom": {"name": "run_sql", "input": "SELECT 1"},
}


@pytest.mark.parametrize(
    ("model", "answers", "result"),
    [
        (
            "openai@responses:gpt-4.1",
            [response(ITEM), response(text("One."))],
            {"type": "custom_tool_call_output", "call_id": "call_1", "output": "select 1"},
        ),
        (
            "openai@chat:gpt-4.1",
            [completion(content=None, tool_calls=[CUSTOM_CALL]), completion(content="One.")],
            {"role": "tool", "content": "select 1", "tool_call_id": "call_1"},
        ),
    ],
)
def test_an_agent_runs_a_custom_tool(
    model: str, answers: list[dict[str, Any]], result: dict[str, Any]
) -> None:
    bodies: list[Any] = []
    queue = iter(answers)

    def respond(request: httpx.Request) -> httpx.Response:
        bodies.append(json.loads(request.content))
        return httpx.Response(200, json=next(queue))

    chat = Chat(model, api_key="fake-key", http=httpx.MockTransport(respond))
    run = Agent(chat, tools=[run_sql]).run("How many?")
    assert run.text == "One."
    assert bodies[0]["tools"][0]["type"] == "custom"
    assert (bodies[1].get("input") or bodies[1]["messages"])[-1] == result
