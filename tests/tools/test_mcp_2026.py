"""MCP of 2026-07-28: calls that need input, tasks, tools that change, resources and prompts.

The server is one of the official SDK, the models are emulated.
"""

from __future__ import annotations

import functools
import importlib.util
import re
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import pytest

from tests.joined import joined
from wire import Agent, AsyncChat, Chat, LLMAgent
from wire.agent.tool_calls import run_calls, run_calls_in_threads
from wire.errors import RuleError, ToolError
from wire.neutral.messages import Media, Message, Text, ToolCall
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport
from wire.tools import Toolbox, ToolRun, mcp

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("mcp_types") is None, reason="the official SDK 2 is not installed"
)

SERVER = Path(__file__).with_name("mcp_server_2026.py")
MODELS = [
    "gemini:gemini-3.8-flash",
    "openai:gpt-5.4",
    "openai@chat:gpt-4.1",
    "anthropic:claude-sonnet-5",
]
WAIT = 60
"""Seconds; a test that waits so long fails."""


async def declined(context: Any, params: Any) -> Any:
    """The client declares that it answers; `on_input` answers in its place."""
    import mcp_types

    return mcp_types.ElicitResult(action="decline")


@contextmanager
def serving(over: str) -> Iterator[tuple[Any, Any]]:
    """A server in memory or over streamable HTTP, and its tasks."""
    from tests.tools.mcp_server_2026 import made, over_http

    server, tasks = made()
    with over_http(server) if over == "http" else nullcontext(server) as place:
        yield place, tasks


@asynccontextmanager
async def opened(
    server: Any = None, tasks: Any = None, *, declares: bool = True
) -> AsyncIterator[Any]:
    """A client of a server, and the server's tasks."""
    from mcp import Client  # it takes a second, which each process of pytest-xdist would wait for

    from tests.tools.mcp_server_2026 import made

    if server is None:
        server, tasks = made()
    client = Client(
        server,
        elicitation_callback=declined if declares else None,
        extensions=[mcp.tasks_extension()],
    )
    async with client:
        yield client, tasks


class Answers:
    """An `on_input` that notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, str]] = []

    def __call__(self, request: mcp.InputRequest) -> Any:
        self.asked.append((request.what, request.method, request.message))
        if request.method == "roots/list":
            return {"roots": [{"uri": "file:///harbour"}]}
        number = (request.schema or {})["properties"].get("number", {})
        return {"number": 7} if number else True


# --- agents on four wires -------------------------------------------------------------------------


def calls(*wanted: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return {"say": {"calls": [{"name": name, "args": arguments} for name, arguments in wanted]}}


SCRIPT = [
    calls(
        ("h_moor", {"ship": "Ada"}),
        ("h_dredge", {"depth": 2}),
        ("h_queue", {}),
        ("h_haggle", {}),
    ),
    calls(("h_close_gate", {})),
    {"say": "Moored."},
    calls(("h_open_gate", {})),
    {"say": "Open."},
]
WIDE = "{'wide': {'action': 'accept'}}"


def check(answers: Answers, first: Any, second: Any, changes: list[mcp.ToolChange]) -> None:
    told = [(run.result.content, run.result.error) for run in first.runs]
    asked_too_often = "the server asked for input more than 10 times"
    assert told == [
        ("Ada is moored at 7", False),
        (f"dredged 2 m, {WIDE}", False),
        ("your turn", False),
        (f"input_required: tool haggle: {asked_too_often}", True),
        ("closed", False),
    ]
    assert isinstance(first.runs[3].error, ToolError)
    assert first.runs[3].error.code == mcp.INPUT_REQUIRED
    asked = sorted(answers.asked)
    assert asked[0] == ("tool dredge", "elicitation/create", "How wide?")
    assert asked[1:-1] == [("tool haggle", "elicitation/create", "More?")] * 10
    assert asked[-1] == ("tool moor", "elicitation/create", "Which berth for Ada?")
    (change,) = changes
    assert (change.added, change.removed) == (("h_open_gate",), ("h_haggle",))
    assert [run.result.content for run in second.runs] == ["open"]
    assert (first.text, second.text) == ("Moored.", "Open.")


OVER = ["memory", "http"]


@pytest.mark.parametrize("over", OVER)
@pytest.mark.parametrize("style", ["asyncio", "trio"])
@joined("model", MODELS)
def test_an_agent(style: str, model: str, over: str) -> None:
    async def main(*place: Any) -> None:
        answers, changes, changed = Answers(), list[mcp.ToolChange](), anyio.Event()

        def note(change: mcp.ToolChange) -> None:
            changes.append(change)
            changed.set()

        async def listed() -> Any:
            return await mcp.tools(client, prefix="h_", on_input=answers)

        http = AsyncEmulatorTransport(Emulator(SCRIPT))  # type: ignore[arg-type]
        chat = AsyncChat(model, api_key="fake-key", http=http)
        async with opened(*place) as (client, _), LLMAgent(chat, tools=await listed()) as agent:
            async with anyio.create_task_group() as beside:
                old = tuple(agent.tools)

                async def follow() -> None:
                    await mcp.follow(client, agent.tools, listed, old=old, on_change=note)

                beside.start_soon(follow)
                first = await agent.run("Moor the Ada.")
                with anyio.fail_after(WAIT):
                    await changed.wait()
                second = await agent.run("Open the gate.")
                beside.cancel_scope.cancel()
        check(answers, first, second, changes)

    with serving(over) as place:
        anyio.run(main, *place, backend=style)


@pytest.mark.parametrize("over", OVER)
@joined("model", MODELS)
def test_an_agent_in_threads(model: str, over: str) -> None:
    answers, changes, changed = Answers(), list[mcp.ToolChange](), threading.Event()

    def note(change: mcp.ToolChange) -> None:
        changes.append(change)
        changed.set()

    with serving(over) as place, anyio.from_thread.start_blocking_portal() as portal:
        with portal.wrap_async_context_manager(opened(*place)) as (client, _):

            async def listed() -> Any:
                return await anyio.to_thread.run_sync(in_thread)

            def in_thread() -> Any:
                return mcp.tools_in_threads(client, portal=portal, prefix="h_", on_input=answers)

            http = EmulatorTransport(Emulator(SCRIPT))  # type: ignore[arg-type]
            chat = Chat(model, api_key="fake-key", http=http)
            with Agent(chat, tools=in_thread()) as agent:
                old = tuple(agent.tools)

                async def follow() -> None:
                    await mcp.follow(client, agent.tools, listed, old=old, on_change=note)

                following = portal.start_task_soon(follow)
                first = agent.run("Moor the Ada.")
                assert changed.wait(WAIT)
                second = agent.run("Open the gate.")
                following.cancel()
    check(answers, first, second, changes)


# --- calls that need input, and tasks -------------------------------------------------------------


def ran(style: str, name: str, arguments: dict[str, Any], **options: Any) -> tuple[ToolRun, Any]:
    """The run of one call, and the server's tasks."""
    with serving(options.pop("over", "memory")) as place:
        return ran_at(place, style, ToolCall(id="c", name=name, arguments=arguments), **options)


def ran_at(place: Any, style: str, call: ToolCall, **options: Any) -> tuple[ToolRun, Any]:
    inner, declares = options.pop("inner", False), options.pop("declares", True)
    client_of = functools.partial(opened, *place, declares=declares)
    if style == "threads":
        with anyio.from_thread.start_blocking_portal() as portal:
            with portal.wrap_async_context_manager(client_of()) as (client, tasks):
                session = client.session if inner else client
                tools = mcp.tools_in_threads(session, portal=portal, **options)
                run = run_calls_in_threads(Toolbox(tools), [call])[0]
                assert (call.arguments or {}).get("depth") != 5 or tasks.is_cancelled.wait(WAIT)
                return run, tasks

    async def main() -> tuple[ToolRun, Any]:
        async with client_of() as (client, tasks):
            tools = await mcp.tools(client.session if inner else client, **options)
            return (await run_calls(Toolbox(tools), [call]))[0], tasks

    return anyio.run(main, backend=style)


STYLES = ["asyncio", "trio", "threads"]
TASKS: list[tuple[int, str, str | None]] = [
    (1, "dredged 1 m, None", None),
    (3, "-32603: tool dredge: the dredger sank", "-32603"),
    (4, "task_cancelled: tool dredge: the server cancelled the task: storm", "task_cancelled"),
]


@pytest.mark.parametrize("style", STYLES)
@joined("over", OVER)
@joined("answers", [None, Answers()])
@joined(("depth", "content", "code"), TASKS)
def test_a_task_is_polled_until_it_ends(
    style: str, over: str, answers: Any, depth: int, content: str, code: str | None
) -> None:
    run, tasks = ran(style, "dredge", {"depth": depth}, on_input=answers, over=over)
    assert (run.result.content, getattr(run.error, "code", None)) == (content, code)
    assert (tasks.polls, tasks.cancelled) == ({"task-0": 2}, [])


# Over HTTP the client of the SDK must not close before the answer to the cancellation is there. A
# run in threads does not wait for that answer, so the next test is the one over HTTP.
@joined(
    ("style", "over"),
    [*((style, "memory") for style in STYLES), ("asyncio", "http"), ("trio", "http")],
)
@joined("answers", [None, Answers()])
def test_a_task_is_cancelled_with_its_call(style: str, over: str, answers: Any) -> None:
    run, tasks = ran(style, "dredge", {"depth": 5}, on_input=answers, timeout=0.3, over=over)
    assert run.result.error
    assert run.result.content == "tool dredge timeout after 0.3 s"
    assert tasks.cancelled == ["task-0"]


@joined("over", OVER)
def test_a_thread_that_calls_a_tool_itself_gets_the_timeout_too(over: str) -> None:
    with serving(over) as place, anyio.from_thread.start_blocking_portal() as portal:
        with portal.wrap_async_context_manager(opened(*place)) as (client, tasks):
            for answers in (None, Answers()):
                tools = mcp.tools_in_threads(
                    client, portal=portal, only=["dredge"], timeout=0.3, on_input=answers
                )
                with pytest.raises(ToolError, match=r"^tool dredge timeout after 0\.3 s$"):
                    tools[0](depth=5)
            assert tasks.cancelled == ["task-0", "task-1"]


@joined("style", STYLES)
def test_a_task_that_nobody_answers_or_that_cannot_be_read_is_cancelled(style: str) -> None:
    run, tasks = ran(style, "dredge", {"depth": 2})
    assert run.result.content == (
        "input_required: tool dredge: the server asks for input, and no on_input answers: How wide?"
    )
    assert tasks.cancelled == ["task-0"]
    run, tasks = ran(style, "dredge", {"depth": 6})
    assert run.result.content == "tool dredge: status: expected that of a task, not 'paused'"
    assert tasks.cancelled == ["task-0"]


@joined("style", STYLES)
@joined(
    ("options", "content"),
    [
        # The client of the SDK answers with its own callbacks; its session has none.
        ({}, "input_required: tool folders: the server asks for input: List roots not supported"),
        (
            {"inner": True},
            "input_required: tool folders: the server asks for input, and no on_input answers: "
            "roots/list",
        ),
        ({"on_input": Answers()}, "file:///harbour"),
        (
            {"on_input": lambda request: None},
            "input_required: tool folders: on_input has no answer for roots/list",
        ),
        (
            {"on_input": lambda request: 5},
            "input_required: tool folders: on_input: expected the result of roots/list as a dict, "
            "not int",
        ),
        (
            {"on_input": lambda request: {}["berth"]},
            "input_required: tool folders: on_input failed: 'berth'",
        ),
    ],
)
def test_who_answers(style: str, options: dict[str, Any], content: str) -> None:
    run, _ = ran(style, "folders", {}, **options)
    assert run.result.content == content
    assert run.result.error == ("input_required" in content)
    assert getattr(run.error, "code", None) == ("input_required" if run.result.error else None)
    assert isinstance(run.error and run.error.__cause__, KeyError) == ("failed" in content)


@joined("style", STYLES)
def test_a_person_declines_cancels_or_is_asked_by_an_async_function(style: str) -> None:
    import mcp_types

    async def seven(request: mcp.InputRequest) -> Any:
        await anyio.lowlevel.checkpoint()
        return {"number": 7}

    resolver = "Error executing tool moor: Resolver for parameter 'berth' could not resolve: "
    for answer, content in (
        (seven, "Ada is moored at 7"),
        (lambda request: None, f"{resolver}elicitation was decline"),
        (
            lambda request: mcp_types.ElicitResult(action="cancel"),
            f"{resolver}elicitation was cancel",
        ),
    ):
        run, _ = ran(style, "moor", {"ship": "Ada"}, on_input=answer)
        assert run.result.content == content


def test_a_client_that_declares_no_answers() -> None:
    run, _ = ran("asyncio", "moor", {"ship": "Ada"}, on_input=Answers(), declares=False)
    assert isinstance(run.error, ToolError)
    assert run.error.code == "-32021"  # the protocol's code for a capability that is missing
    assert "did not declare the form elicitation capability" in str(run.error)


@pytest.mark.slow
def test_a_server_over_stdio() -> None:
    from mcp import StdioServerParameters

    async def main() -> Any:
        this = Path(__file__).parents[2]
        server = StdioServerParameters(command=sys.executable, args=[str(SERVER)], cwd=this)
        async with opened(server) as (client, _):
            tools = {each.name: each for each in await mcp.tools(client, on_input=Answers())}
            moored, dredged = (
                await tools["moor"](ship="Ada"),
                await tools["dredge"](depth=2),
            )
            return moored.content, dredged.content, await mcp.read_resource(client, "tide://brest")

    tide = (Text("High at 05:12."),)
    assert anyio.run(main) == ("Ada is moored at 7", f"dredged 2 m, {WIDE}", tide)


# --- sessions of one's own: bounds ----------------------------------------------------------------


class Plain:
    """A session with plain methods that answers with these results, one after the other."""

    def __init__(self, *results: Any) -> None:
        self.results = list(results)
        self.given: list[Any] = []

    def list_tools(self) -> Any:
        return [{"name": "moor"}]

    def call_tool(self, name: str, arguments: Any, **further: Any) -> Any:
        self.given.append(further)
        return self.results.pop(0)

    def read_resource(self, uri: str, **further: Any) -> Any:
        return self.call_tool(uri, None, **further)

    def get_prompt(self, name: str, arguments: Any, **further: Any) -> Any:
        return self.call_tool(name, arguments, **further)


def asks(requests: Any, **further: Any) -> dict[str, Any]:
    return {"resultType": "input_required", "inputRequests": requests, **further}


def asking(**params: Any) -> dict[str, Any]:
    return {"q": {"method": "elicitation/create", "params": params}}


DONE = {"content": [{"type": "text", "text": "done"}]}


def test_a_plain_session_gets_the_answers_and_its_state() -> None:
    session = Plain(asks(asking(message="Which?"), requestState="s1"), asks(None), DONE)
    (moor,) = mcp.tools_in_threads(session, on_input=lambda request: {"berth": 3})
    assert moor().content == "done"
    accepted = {"action": "accept", "content": {"berth": 3}}
    assert session.given == [
        {},
        {"input_responses": {"q": accepted}, "request_state": "s1"},
        {"input_responses": None, "request_state": None},
    ]


DEEP: Any = {"type": "string"}
for _ in range(600):
    DEEP = {"type": "array", "items": DEEP}


@joined(
    ("requests", "message"),
    [
        (5, "tool moor: inputRequests: expected an object, not int"),
        ({str(i): {} for i in range(101)}, "inputRequests: the server asks for more than 100"),
        ({"q": {}}, "tool moor: inputRequests['q']: expected a request with method and params"),
        ({"q" * 1001: {}}, "inputRequests: expected keys of 1,000 characters"),
        (asking(message="a" * 1024 * 1024), "bytes, more than 1,048,576"),
        (
            asking(message=b"\xff" + b"a", x={1, object()}),
            "inputRequests['q']: params: expected JSON",
        ),
        (asking(requestedSchema=DEEP), "more than 500 levels"),
    ],
)
def test_requests_over_the_bounds(requests: Any, message: str) -> None:
    (moor,) = mcp.tools_in_threads(Plain(asks(requests)), on_input=lambda request: True)
    with pytest.raises(ToolError) as caught:
        moor()
    assert message in str(caught.value)


# --- resources and prompts ------------------------------------------------------------------------


@joined("style", ["asyncio", "trio"])
@joined("over", OVER)
def test_resources_and_prompts(style: str, over: str) -> None:
    from tests.tools.mcp_server_2026 import PNG

    picture = Media(data=PNG, media_type="image/png")

    async def main(*place: Any) -> None:
        async with opened(*place) as (client, _):
            for session in (client, client.session):
                assert await mcp.resources(session) == [
                    mcp.Resource(
                        uri="tide://brest",
                        name="brest",
                        title="Brest",
                        description="The tide.",
                        media_type="text/plain",
                    ),
                    mcp.Resource(uri="tide://chart", name="chart", media_type="image/png"),
                ]
                (template,) = await mcp.resource_templates(session)
                assert template == mcp.ResourceTemplate(
                    uri_template="tide://{port}/{day}",
                    name="tides",
                    description="Of a port, on a day.",
                    media_type="text/plain",
                )
                tides = template.uri(port="Le Conquet", day="today")
                assert await mcp.read_resource(session, tides) == (
                    Text("Le Conquet, today: 05:12."),
                )
                (text,) = await mcp.read_resource(session, "tide://brest")
                (chart,) = await mcp.read_resource(session, "tide://chart")
                assert text == Text("High at 05:12.")
                assert isinstance(chart, Media)
                assert (chart.data, chart.media_type) == (PNG, "image/png")
                assert await mcp.prompts(session) == [
                    mcp.Prompt(
                        name="safety",
                        title="Safety",
                        description="Ask whether a port is safe.",
                        arguments=(
                            mcp.PromptArgument(name="port", required=True),
                            mcp.PromptArgument(name="ship"),
                        ),
                    )
                ]
                assert await mcp.get_prompt(session, "safety", {"port": "Brest"}) == [
                    Message.user("Is Brest safe for any ship?"),
                    Message.user(picture),
                    Message.assistant("I look at the chart."),
                ]
            with pytest.raises(ToolError) as caught:
                await mcp.read_resource(client, "tide://oslo")
            assert caught.value.code == "-32602"
            with pytest.raises(ToolError, match="prompt storm: "):
                await mcp.get_prompt(client, "storm")

    with serving(over) as place:
        anyio.run(main, *place, backend=style)


def said(*blocks: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": each} for each in blocks]}


def test_blocks_of_a_prompt() -> None:
    notes = {"uri": "tide://notes", "text": "High."}
    link = {"type": "resource_link", "uri": "tide://log", "name": "log"}
    session = Plain(asks(asking()), said({"type": "resource", "resource": notes}, link))
    messages = anyio.run(lambda: mcp.get_prompt(session, "p", on_input=lambda request: True))
    assert [each.text for each in messages] == ["High.", '{"uri":"tide://log","name":"log"}']
    assert session.given[1]["input_responses"] == {"q": {"action": "accept"}}


@joined(
    ("read", "result", "message"),
    [
        (mcp.read_resource, 5, "resource x: contents: expected a list, not NoneType"),
        (mcp.read_resource, {"contents": [{}] * 2001}, "resource x: contents: more than 2,000"),
        (mcp.read_resource, {"contents": [{}]}, "contents[0].blob: expected base64"),
        (
            mcp.read_resource,
            {"contents": [{"text": "a" * 1024 * 1024}] * 65},
            "resource x: 68,157,440 bytes, more than 67,108,864",
        ),
        (mcp.read_resource, asks(asking(message="Who?")), "no on_input answers: Who?"),
        (mcp.get_prompt, said(*[{}] * 2001), "prompt x: messages: more than 2,000"),
        (
            mcp.get_prompt,
            {"messages": [{"role": "system", "content": {}}]},
            "prompt x: messages[0].role: expected user or assistant, not 'system'",
        ),
        (
            mcp.get_prompt,
            said({"type": "image", "data": "!"}),
            "prompt x: messages[0].content.data: expected base64",
        ),
        (mcp.resources, None, "session: expected an object with list_resources, not Plain"),
        (mcp.prompts, None, "session: expected an object with list_prompts, not Plain"),
    ],
)
def test_what_cannot_be_read(read: Any, result: Any, message: str) -> None:
    given = () if result is None else ("x",)
    with pytest.raises(ToolError) as caught:
        anyio.run(lambda: read(Plain(result), *given))
    assert message in str(caught.value)


@joined(
    ("kind", "listed", "message"),
    [
        ("resources", [{"name": "a"}], "list_resources: resources[0].uri: expected a text"),
        ("resources", [{}] * 2001, "list_resources: resources: the server lists more than 2,000"),
        ("prompts", [{}], "list_prompts: prompts[0].name: expected a text"),
        ("prompts", [{"name": "a" * 1001}], "list_prompts: prompts[0].name: 1,001 characters"),
        ("prompts", 5, "list_prompts: expected a list of prompts, not dict"),
        (
            "resourceTemplates",
            [{"name": "a"}],
            "list_resource_templates: resourceTemplates[0].uriTemplate: expected a text",
        ),
        (
            "resourceTemplates",
            [{"name": "a", "uriTemplate": "a" * 4 * 1024 * 1024}],
            "resourceTemplates[0]: the resourceTemplates have more than 4,194,304 bytes",
        ),
        (
            "prompts",
            [{"name": "a", "arguments": [{"name": "b" * 4 * 1024 * 1024}]}],
            "list_prompts: prompts[0]: the prompts have more than 4,194,304 bytes",
        ),
    ],
)
def test_lists_over_the_bounds(kind: str, listed: Any, message: str) -> None:
    class Session:
        def list_resources(self) -> Any:
            return {kind: listed}

        list_prompts = list_resource_templates = list_resources

    with pytest.raises(ToolError) as caught:
        anyio.run(lambda: getattr(mcp, re.sub("T", "_t", kind))(Session()))
    assert message in str(caught.value)


# RFC 6570, section 3.2; the values are those of its examples.
VALUES = {
    "var": "value",
    "hello": "Hello World!",
    "half": "50%",
    "base": "http://example.com/home/",
    "path": "/foo/bar",
    "empty": "",
    "x": "1024",
    "y": "768",
}


@joined(
    ("template", "address"),
    [
        ("O{empty}X{x,empty}", "OX1024,"),
        ("{var}{hello}{half}", "valueHello%20World%2150%25"),
        ("{var:3}{var:30}", "valvalue"),
        ("{+hello,half}/{base}", "Hello%20World!,50%25/http%3A%2F%2Fexample.com%2Fhome%2F"),
        ("{+base}index{+path:6}", "http://example.com/home/index/foo/b"),
        ("{+x}{#path,x}here", "1024#/foo/bar,1024here"),
        ("X{.x,y}", "X.1024.768"),
        ("{/var,x,empty}/here", "/value/1024//here"),
        ("{;x,y,empty,other}", ";x=1024;y=768;empty"),
        ("{?x,y,empty,other}", "?x=1024&y=768&empty="),
        ("?fixed=yes{&x}{&other}{?other*}", "?fixed=yes&x=1024"),
        ("no place", "no place"),
    ],
)
def test_a_template_is_filled(template: str, address: str) -> None:
    given = {name: value for name, value in VALUES.items() if re.search(rf"\b{name}\b", template)}
    assert mcp.ResourceTemplate(uri_template=template, name="t").uri(**given) == address


def test_a_value_that_is_encoded_already_stays_so_where_the_template_says_it() -> None:
    path = mcp.ResourceTemplate(uri_template="tide://{+path}/{port}", name="t")
    assert path.uri(path="a%20b%", port="a%20b") == "tide://a%20b%25/a%2520b"


@joined(
    ("template", "values", "message"),
    [
        ("tide://{port}", {}, "tide://{port}: no value for port"),
        ("tide://{port}", {"port": 5}, "tide://{port}: port: expected a text, not int"),
        ("tide://{port}", {"port": "x", "day": "y"}, "tide://{port}: it has no place for day"),
        ("tide://{port", {"port": "x"}, "tide://{port: a brace without the other one"),
        ("tide://{|port}", {"port": "x"}, "tide://{|port}: {|port} is no place of RFC 6570"),
        ("tide://{}", {}, "tide://{}: {} is no place of RFC 6570"),
    ],
)
def test_a_template_that_cannot_be_filled(template: str, values: Any, message: str) -> None:
    with pytest.raises(ToolError) as caught:
        mcp.ResourceTemplate(uri_template=template, name="t").uri(**values)
    assert caught.value.message == message


# --- tools that change ----------------------------------------------------------------------------


@joined("style", ["asyncio", "trio"])
def test_what_changed_before_the_server_listens_is_told(style: str) -> None:
    async def main() -> None:
        async with opened() as (client, _):
            old = await mcp.tools(client)
            box = Toolbox(old)
            closing = next(each for each in old if each.name == "close_gate")
            await closing()
            changes: list[mcp.ToolChange] = []
            with anyio.fail_after(WAIT), anyio.CancelScope() as scope:

                def note(change: mcp.ToolChange) -> None:
                    changes.append(change)
                    scope.cancel()

                await mcp.follow(client, box, lambda: mcp.tools(client), old=old, on_change=note)
            (change,) = changes
            assert (change.added, change.removed) == (("open_gate",), ("haggle",))
            assert [each.name for each in box] == [each.name for each in change.tools]

    anyio.run(main, backend=style)


class Events:
    """As `Subscription` of the SDK, with as many events."""

    def __init__(self, count: int, honored: Any) -> None:
        self.count, self.honored = count, honored

    async def __aenter__(self) -> Events:
        return self

    async def __aexit__(self, *problem: object) -> None:
        pass

    async def __anext__(self) -> Any:
        self.count -= 1
        if self.count < 0:
            raise StopAsyncIteration
        return "changed"


class Listener:
    """A session whose lists of tools are these, one after the other."""

    def __init__(self, *lists: Any, honored: Any = True) -> None:
        self.lists, self.honored = list(lists), honored
        self.count = len(lists) - 1

    def listen(self, *, tools_list_changed: bool) -> Events:
        return Events(self.count, {"toolsListChanged": self.honored})

    async def list_tools(self) -> Any:
        return self.lists.pop(0)

    async def call_tool(self, name: str, arguments: Any) -> Any:
        raise AssertionError


def followed(session: Any, box: Toolbox, changes: list[mcp.ToolChange]) -> None:
    async def main() -> None:
        await mcp.follow(session, box, lambda: mcp.tools(session), on_change=changes.append)

    anyio.run(main)


def test_changes_until_the_server_ends_them() -> None:
    a, b, c = {"name": "a"}, {"name": "b"}, {"name": "b", "description": "B."}
    changes: list[mcp.ToolChange] = []
    box = Toolbox()
    followed(Listener([a], [a], [a, b], [c]), box, changes)
    assert [(each.added, each.removed, each.changed) for each in changes] == [
        (("a",), (), ()),
        (("b",), (), ()),
        ((), ("a",), ("b",)),
    ]
    assert [(each.name, each.description) for each in box] == [("b", "B.")]


def test_lists_that_cannot_be_taken_leave_the_toolbox() -> None:
    def now() -> str:
        return "noon"

    for session, error, message in (
        (Listener([{"name": "a"}], [{"name": "b" * 1001}]), ToolError, "1,001 characters"),
        (Listener([{"name": "a"}], [{"name": "now"}]), RuleError, "two tools are called now"),
    ):
        box = Toolbox([now])
        with pytest.raises(error, match=message):
            followed(session, box, [])
        assert [each.name for each in box] == ["now", "a"]
    for wrong in (lambda: None, lambda: [5]):
        with pytest.raises(ToolError, match="list_tools: expected a list of tools, not "):
            anyio.run(mcp.follow, Listener([]), Toolbox(), wrong)
    with pytest.raises(ToolError, match="the server does not report changes of its tools"):
        followed(Listener([], honored=None), Toolbox(), [])
    with pytest.raises(ToolError, match="expected an object with listen, not Plain"):
        followed(Plain(), Toolbox(), [])


def test_a_server_that_does_not_listen_is_told() -> None:
    from mcp.server.mcpserver import MCPServer

    async def main() -> None:
        async with opened(MCPServer("deaf", subscriptions=False)) as (client, _):
            with pytest.raises(ToolError) as caught:
                await mcp.follow(client, Toolbox(), lambda: mcp.tools(client))
            assert caught.value.code == "-32601"  # the protocol's code for an unknown method

    anyio.run(main)


# --- resources and lists that change --------------------------------------------------------------

RAISED = [
    mcp.Change(kind="resource", uri="tide://brest"),
    mcp.Change(kind="resources"),
    mcp.Change(kind="prompts"),
]


@joined("style", ["asyncio", "trio"])
@joined("over", OVER)
def test_changes_of_resources_and_lists(style: str, over: str) -> None:
    """All is told once when the server listens, and then as it changes."""

    async def main(*place: Any) -> None:
        told: list[mcp.Change] = []
        listens, changed = anyio.Event(), anyio.Event()

        async def note(change: mcp.Change) -> None:
            await anyio.lowlevel.checkpoint()
            told.append(change)
            if len(told) == 3:
                listens.set()
            if len(told) == 6:
                changed.set()

        async with opened(*place) as (client, _), anyio.create_task_group() as beside:
            (lift,) = await mcp.tools(client, only=["raise_tide"])
            watching = functools.partial(
                mcp.watch, client, note, uris=["tide://brest"], lists=["resources", "prompts"]
            )
            beside.start_soon(watching)
            with anyio.fail_after(WAIT):
                await listens.wait()
                assert told == RAISED
                assert (await lift()).content == "raised"
                await changed.wait()
            beside.cancel_scope.cancel()
        assert sorted(told[3:], key=str) == sorted(RAISED, key=str)

    with serving(over) as place:
        anyio.run(main, *place, backend=style)


def test_only_what_is_watched_is_told() -> None:
    async def main() -> None:
        told: list[mcp.Change] = []
        async with opened() as (client, _):
            (lift,) = await mcp.tools(client, only=["raise_tide"])
            with anyio.fail_after(WAIT), anyio.CancelScope() as scope:

                async def note(change: mcp.Change) -> None:
                    told.append(change)
                    if len(told) == 1:
                        await lift()
                    else:
                        scope.cancel()

                await mcp.watch(client, note, lists=["prompts"])
        assert told == [RAISED[2]] * 2

    anyio.run(main)


class Watched:
    """A session with these events, after what it promises to report."""

    def __init__(self, honored: Any, *events: Any) -> None:
        self.honored, self.events = honored, list(events)
        self.wanted: Any = None

    @asynccontextmanager
    async def listen(self, **wanted: Any) -> AsyncIterator[Watched]:
        self.wanted = wanted
        yield self

    async def __anext__(self) -> Any:
        if not self.events:
            raise StopAsyncIteration
        event = self.events.pop(0)
        if isinstance(event, Exception):
            raise event
        return event


BREST = {"resourceSubscriptions": ["tide://brest"]}


def test_a_part_of_a_resource_is_told_by_its_own_address() -> None:
    session, told = Watched(BREST, {"uri": "tide://brest/today"}), list[mcp.Change]()
    anyio.run(functools.partial(mcp.watch, session, told.append, uris=["tide://brest"]))
    assert [each.uri for each in told] == ["tide://brest", "tide://brest/today"]
    assert session.wanted == {"resource_subscriptions": ["tide://brest"]}


@joined(
    ("session", "options", "message"),
    [
        (Watched(BREST), {}, "uris, lists: expected something to watch"),
        (Watched(BREST), {"uris": "tide://brest"}, "uris: expected a"),
        (Watched(BREST), {"uris": [5]}, "uris[0]: expected a str, not int"),
        (Watched(BREST), {"lists": ["tools"]}, "lists[0]: expected 'resources' or 'prompts'"),
        (Plain(), {"uris": ["a"]}, "session: expected an object with listen, not Plain"),
        (
            Watched(BREST),
            {"uris": ["tide://brest", "tide://oslo"]},
            "listen: the server does not report changes of tide://oslo",
        ),
        (
            Watched({}),
            {"lists": ["prompts"]},
            "listen: the server does not report changes of its prompts",
        ),
        (
            Watched(BREST, "surprise"),
            {"uris": ["tide://brest"]},
            "listen: expected an event of what is watched, not str",
        ),
        (
            Watched(BREST, ConnectionError("gone")),
            {"uris": ["tide://brest"]},
            "listen: the MCP session is lost: gone",
        ),
    ],
)
def test_what_cannot_be_watched(session: Any, options: Any, message: str) -> None:
    with pytest.raises(ToolError) as caught:
        anyio.run(functools.partial(mcp.watch, session, lambda change: None, **options))
    assert message in caught.value.message
