"""Deferred tools: found by the vendor's search, or by `find_tools` in agents."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.joined import joined
from wire.agent import Agent, LLMAgent, RunResult, read_run, save_run
from wire.chat.chat import AsyncChat, Chat
from wire.errors import RuleError
from wire.neutral.messages import Message, ToolCall, ToolResult
from wire.neutral.request import Tool
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport
from wire.testing.emulator.received import Received
from wire.tools import Toolbox, deferred, tool
from wire.tools.finding import ranked

GEMINI, COMPLETIONS = "gemini:gemini-3.8-flash", "openai@chat:gpt-4.1"
RESPONSES, CLAUDE = "openai@responses:gpt-5.4", "anthropic:claude-sonnet-5"
FALLBACK, NATIVE = (GEMINI, COMPLETIONS), (RESPONSES, CLAUDE)
FOUND = ["tide_high", "tide_low", "tide_now"]


def port_tool(name: str, description: str) -> Tool:
    def run(port: str) -> str:
        return f"{name} of {port}: 05:12"

    return tool(run, name=name, description=description, deferred=True)


def tools() -> list[Tool]:
    """300 tools, of which 3 are about tides."""
    tides = [port_tool(name, "About the tides of a port.") for name in FOUND]
    rest = [port_tool(f"crane_{at}", f"Moves crane {at} of a port.") for at in range(297)]
    return [*rest[:150], *tides, *rest[150:]]


def declared(body: Mapping[str, Any]) -> list[str]:
    """The names of the tools in a request of any wire."""
    names = []
    for each in body.get("tools") or ():
        functions = each.get("functionDeclarations") or [each.get("function") or each]
        names += [one.get("name") or one["type"] for one in functions]
    return names


def script(bodies: list[dict[str, Any]]) -> Callable[[Received], dict[str, Any]]:
    """A model that searches, if it has `find_tools`, calls what was found, and answers."""

    def step(request: Received) -> dict[str, Any]:
        body = json.loads(request.body)
        bodies.append(body)
        searches = "find_tools" in declared(body)
        turn = len(bodies) - searches
        if turn == 0:
            return {"say": {"calls": [{"name": "find_tools", "args": {"query": "tide"}}]}}
        if turn == 1:
            return {"say": {"calls": [{"name": each, "args": {"port": "Brest"}} for each in FOUND]}}
        return {"say": "At 05:12."}

    return step


def run(style: str, model: str, bodies: list[dict[str, Any]], stream: bool) -> RunResult:
    """A run of an agent with 300 deferred tools, in threads, asyncio or trio."""
    emulator = Emulator(script(bodies))
    options: dict[str, Any] = {"api_key": "fake-key", "max_tokens": 500}
    if style == "threads":
        with Chat(model, http=EmulatorTransport(emulator), **options) as chat:
            agent = Agent(chat, tools=tools())
            if stream:
                with agent.stream("Tides?") as events:
                    list(events)
                    return events.result
            return agent.run("Tides?")

    async def main() -> RunResult:
        async with AsyncChat(model, http=AsyncEmulatorTransport(emulator), **options) as chat:
            agent = LLMAgent(chat, tools=tools())
            if stream:
                async with agent.stream("Tides?") as events:
                    _ = [each async for each in events]
                    return events.result
            return await agent.run("Tides?")

    return anyio.run(main, backend=style)


RESULTS = [(name, f"{name} of Brest: 05:12") for name in FOUND]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("style", ["threads", "asyncio", "trio"])
@pytest.mark.parametrize("model", FALLBACK)
def test_an_agent_finds_tools_where_the_host_has_no_search(
    model: str, style: str, stream: bool
) -> None:
    bodies: list[dict[str, Any]] = []
    result = run(style, model, bodies, stream)
    assert (result.reason, result.text) == ("end", "At 05:12.")
    search, *calls = result.runs
    named = [{"name": each, "description": "About the tides of a port."} for each in FOUND]
    assert search.result.content == {"tools": named}
    assert [(each.call.name, each.result.content) for each in calls] == RESULTS
    assert [declared(each) for each in bodies] == [["find_tools"], *[["find_tools", *FOUND]] * 2]
    notes = [step.reply.notes[0] for step in result.steps]
    assert [(each.path, each.message) for each in notes] == [
        ("tools", f"not sent: {count} of 301, until find_tools finds them")
        for count in (300, 297, 297)
    ]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("style", ["threads", "asyncio", "trio"])
@pytest.mark.parametrize("model", NATIVE)
def test_the_search_of_the_vendor_finds_tools(model: str, style: str, stream: bool) -> None:
    bodies: list[dict[str, Any]] = []
    result = run(style, model, bodies, stream)
    assert (result.reason, result.text) == ("end", "At 05:12.")
    assert [(each.call.name, each.result.content) for each in result.runs] == RESULTS
    first, second = bodies
    search = first["tools"][-1]
    assert search == (
        {"type": "tool_search"}
        if model == RESPONSES
        else {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
    )
    assert len(first["tools"]) == 301
    assert all(each["defer_loading"] is True for each in first["tools"][:-1])
    assert second["tools"] == first["tools"]
    notes = [
        str(note) for step in result.steps for note in step.reply.notes if note.path == "tools"
    ]
    name = search.get("name", "tool_search")
    assert notes == [f"tools: 300 of 300 deferred: the host's {name} finds them"] * 2


def test_the_search_of_claude_goes_back_as_it_came() -> None:
    bodies: list[dict[str, Any]] = []
    run("threads", CLAUDE, bodies, stream=True)
    call, found, *calls = bodies[1]["messages"][1]["content"]
    assert (call["type"], call["name"]) == ("server_tool_use", "tool_search_tool_bm25")
    assert [(each["type"], each["name"]) for each in calls] == [("tool_use", n) for n in FOUND]
    assert found == {
        "type": "tool_search_tool_result",
        "tool_use_id": call["id"],
        "content": {
            "type": "tool_search_tool_search_result",
            "tool_references": [{"type": "tool_reference", "tool_name": each} for each in FOUND],
        },
    }


def test_the_search_of_responses_goes_back_with_its_namespaces() -> None:
    bodies: list[dict[str, Any]] = []
    run("threads", RESPONSES, bodies, stream=True)
    items = {each["type"]: each for each in bodies[1]["input"]}
    assert items["tool_search_call"]["arguments"] == {"paths": FOUND}
    assert items["tool_search_call"]["execution"] == "server"
    output = items["tool_search_output"]
    assert [each["name"] for each in output["tools"]] == FOUND
    assert output["tools"] == [each for each in bodies[0]["tools"] if each.get("name") in FOUND]
    calls = [each for each in bodies[1]["input"] if each["type"] == "function_call"]
    assert [(each["name"], each["namespace"]) for each in calls] == [(n, n) for n in FOUND]


# --- what is sent ---------------------------------------------------------------------------------

FEW = [
    Tool("now", "The time."),
    Tool("tide", "The tide.", deferred=True),
    Tool("wind", deferred=True),
]


def sent(model: str, tools: list[Tool], **settings: Any) -> tuple[dict[str, Any], list[str]]:
    """The body of a request with these tools, and its notes on tools."""
    with Chat(model, api_key="fake-key", tools=tools, max_tokens=50) as chat:
        call = chat.call(settings.pop("prompt", "Hi"), **settings)
    notes = [each.message for each in call.notes if each.path == "tools"]
    return json.loads(call.body), notes


@joined(
    "model",
    [
        *FALLBACK,
        "openai@responses:gpt-5.4-nano",  # refuses tool_search
        "openai@responses:gpt-4.1",
        "anthropic:claude-opus-4-1",
    ],
)
def test_a_chat_sends_deferred_tools_at_once_where_nothing_finds_them(model: str) -> None:
    body, notes = sent(model, FEW)
    assert declared(body) == ["now", "tide", "wind"]
    assert "defer_loading" not in json.dumps(body)
    assert notes == [
        "2 deferred ones sent in full: the host has no tool search, and the request no find_tools"
    ]


@joined("model", NATIVE)
def test_a_chat_marks_deferred_tools_for_the_search_of_the_vendor(model: str) -> None:
    body, _ = sent(model, FEW)
    marks = [each.get("defer_loading") for each in body["tools"]]
    assert marks == [None, True, True, None]


@joined("model", (*NATIVE, *FALLBACK))
def test_a_tool_that_is_demanded_is_sent(model: str) -> None:
    find = Tool("find_tools")
    body, _ = sent(model, [*FEW, find], tool_choice=("tide",))
    if model in FALLBACK:
        assert declared(body) == ["now", "find_tools", "tide"]
    else:
        marks = {each.get("name"): each.get("defer_loading") for each in body["tools"]}
        assert (marks["tide"], marks["wind"]) == (None, True)


def test_a_breakpoint_is_set_on_the_search_and_on_no_deferred_tool() -> None:
    body, _ = sent(CLAUDE, FEW, caching="auto")
    marked = [each.get("name") for each in body["tools"] if "cache_control" in each]
    assert marked == ["tool_search_tool_bm25"]


# --- conversations that go on ---------------------------------------------------------------------


def conversation() -> list[Message]:
    """A conversation in which `find_tools` found a tool, at a host without a search."""
    search = ToolCall(id="1", name="find_tools", arguments={"query": "tide"})
    found = {"tools": [{"name": "tide", "description": "The tide."}]}
    return [
        Message.user("Tide?"),
        Message("assistant", (search,)),
        Message("tool", (ToolResult("1", "find_tools", found),)),
    ]


@joined("model", NATIVE)
def test_what_find_tools_found_is_not_deferred_for_another_vendor(model: str) -> None:
    find = Tool("find_tools")
    body, _ = sent(model, [*FEW, find], prompt=None, messages=conversation())
    marks = {each.get("name") or each["type"]: each.get("defer_loading") for each in body["tools"]}
    marks.pop("tool_search", None), marks.pop("tool_search_tool_bm25", None)
    assert marks == {"now": None, "tide": None, "wind": True}


def test_what_claude_found_and_called_is_sent_to_gemini() -> None:
    result = run("threads", CLAUDE, [], stream=False)
    bodies: list[dict[str, Any]] = []

    def answer(request: Received) -> dict[str, Any]:
        bodies.append(json.loads(request.body))
        return {"say": "At 05:12."}

    http = EmulatorTransport(Emulator(answer))
    with Chat(GEMINI, api_key="fake-key", http=http) as chat:
        agent = Agent(chat, tools=tools())
        for message in result.state.messages:
            agent.history.add_message(message)
        agent.run("And now?")
    assert declared(bodies[0]) == ["find_tools", *FOUND]
    assert "tool_reference" not in json.dumps(bodies[0])


@joined("model", FALLBACK)
def test_a_saved_run_has_the_tools_that_were_found(model: str, tmp_path: Path) -> None:
    bodies: list[dict[str, Any]] = []
    step = script(bodies)
    with Chat(model, api_key="fake-key", http=EmulatorTransport(Emulator(step))) as chat:
        stopped = Agent(chat, tools=tools()).run("Tides?", max_steps=1)
        assert stopped.reason == "max_steps"
        save_run(tmp_path / "run.json", stopped.state)
        agent = Agent(chat, tools=tools())
        result = agent.resume(read_run(tmp_path / "run.json"))
    assert (result.reason, result.text) == ("end", "At 05:12.")
    assert [declared(each) for each in bodies[1:]] == [["find_tools", *FOUND]] * 2


def test_tools_found_later_follow_those_found_before() -> None:
    bodies: list[dict[str, Any]] = []
    queries = ["crane 7", "tide low", None]

    def step(request: Received) -> dict[str, Any]:
        bodies.append(json.loads(request.body))
        query = queries[len(bodies) - 1]
        call = {"name": "find_tools", "args": {"query": query}}
        return {"say": {"calls": [call]} if query else "Done."}

    with Chat(GEMINI, api_key="fake-key", http=EmulatorTransport(Emulator(step))) as chat:
        Agent(chat, tools=[Tool("now"), *tools()]).run("Hi")
    names = [declared(each) for each in bodies]
    assert names[0] == ["now", "find_tools"]
    assert names[1][:3] == ["now", "find_tools", "crane_7"]
    assert names[2][: len(names[1])] == names[1]
    assert "tide_low" in names[2][len(names[1]) :]


@joined("model", FALLBACK)
def test_a_called_tool_keeps_its_place_before_those_found_later(model: str) -> None:
    called = ToolCall(id="0", name="wind")  # at a host whose own search had found it
    before = [Message("assistant", (called,)), Message.tool_result(called, "calm")]
    hi, *search = conversation()
    tools = [*FEW, Tool("find_tools")]
    body, _ = sent(model, tools, prompt=None, messages=[hi, *before])
    assert declared(body) == ["now", "find_tools", "wind"]
    body, _ = sent(model, tools, prompt=None, messages=[hi, *before, *search])
    assert declared(body) == ["now", "find_tools", "wind", "tide"]


# --- the search -----------------------------------------------------------------------------------


def test_the_search_joins_with_the_first_deferred_tool() -> None:
    assert [each.name for each in Toolbox([Tool("now")], finds=True)] == ["now"]
    toolbox = Toolbox([Tool("now")], finds=True)
    toolbox.replace([], deferred([Tool("tide"), Tool("wind")]))
    assert [each.name for each in toolbox] == ["now", "find_tools", "tide", "wind"]
    assert [each.name for each in Toolbox(deferred([Tool("tide")]))] == ["tide"]
    toolbox.replace([toolbox.get("tide")], [Tool("ebb", deferred=True)])  # type: ignore[list-item]
    assert [each.name for each in toolbox] == ["now", "find_tools", "wind", "ebb"]


def test_another_tool_with_the_name_of_the_search_is_refused() -> None:
    with pytest.raises(RuleError, match="two tools are called find_tools"):
        Toolbox([Tool("find_tools"), Tool("tide", deferred=True)], finds=True)


def test_the_search_says_that_nothing_fits() -> None:
    toolbox = Toolbox([Tool("tide", deferred=True), Tool("now", "The weather.")], finds=True)
    ready = toolbox.prepare(ToolCall(name="find_tools", arguments={"query": "weather"}))
    assert not isinstance(ready, ToolResult)
    assert ready.run() == {"tools": [], "hint": "Try other words."}


PARAMETERS = {"type": "object", "properties": {"iban": {"type": "string", "description": "Konto"}}}
CATALOGUE = [
    Tool("listOpenOrders", "Orders of a customer."),
    Tool("send_mail", "Sends a message to a customer."),
    Tool("transfer", "Moves money.", PARAMETERS),
]


@joined(
    "query, names",
    [
        ("open order", ["listOpenOrders"]),
        ("OPEN ORDERS!", ["listOpenOrders"]),
        ("send_mail", ["send_mail"]),
        ("konto", ["transfer"]),
        ("iban", ["transfer"]),
        ("customers", ["listOpenOrders", "send_mail"]),
        ("", []),
        ("weather", []),
    ],
)
def test_tools_are_found_by_words(query: str, names: list[str]) -> None:
    assert [each.name for each in ranked(query, CATALOGUE)] == names


def test_a_search_returns_the_best_five() -> None:
    tools = [Tool(f"t{at}", "A tide.") for at in range(9)]
    assert [each.name for each in ranked("tide", tools)] == ["t0", "t1", "t2", "t3", "t4"]


def test_deferred_is_a_bool() -> None:
    with pytest.raises(RuleError, match="tool tide: deferred"):
        Tool("tide", deferred=1)  # type: ignore[arg-type]
