"""Tools of sessions that are dicts and plain objects: no package of MCP is needed."""

from __future__ import annotations

import base64
import threading
import types
from typing import Any

import anyio
import anyio.from_thread
import anyio.lowlevel
import pytest

from tests.joined import joined
from wire.agent.tool_calls import run_calls, run_calls_in_threads
from wire.errors import RuleError, ToolError
from wire.neutral.messages import Media, ToolCall, ToolResult
from wire.tools import Toolbox, ToolRun, mcp

SCHEMA = {
    "type": "object",
    "properties": {"self": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["self"],
}
PNG = base64.b64encode(b"\x89PNG\r\n").decode()


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


class Session:
    """A session with plain methods that answers `call_tool` with `answer`."""

    def __init__(self, answer: Any = None, *pages: Any) -> None:
        self.answer = {"content": [text("05:12")]} if answer is None else answer
        self.pages = pages or ({"tools": [{"name": "tide", "inputSchema": SCHEMA}]},)
        self.called: list[tuple[str, Any]] = []
        self.cursors: list[str | None] = []

    def list_tools(self, cursor: str | None = None) -> Any:
        self.cursors.append(cursor)
        page = self.pages[0 if cursor is None else int(cursor)]
        if isinstance(page, Exception):
            raise page
        return page

    def call_tool(self, name: str, arguments: dict[str, Any]) -> Any:
        self.called.append((name, arguments))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class AsyncSession(Session):
    """The same with async methods. It refuses to run in another thread than its own."""

    def __init__(self, answer: Any = None, *pages: Any) -> None:
        super().__init__(answer, *pages)
        self.thread = threading.get_ident()

    async def list_tools(self, cursor: str | None = None) -> Any:  # type: ignore[override]
        assert threading.get_ident() == self.thread
        await anyio.lowlevel.checkpoint()
        return super().list_tools(cursor)

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> Any:  # type: ignore[override]
        assert threading.get_ident() == self.thread
        await anyio.lowlevel.checkpoint()
        return super().call_tool(name, arguments)


def listed(style: str, session_of: Any = Session, **options: Any) -> tuple[Any, Any]:
    """The session, and its tools or the error."""
    if style == "threads":
        session = session_of()
        return session, mcp.tools_in_threads(session, **options)

    async def main() -> tuple[Any, Any]:
        session = session_of()
        return session, await mcp.tools(session, **options)

    return anyio.run(main, backend=style)  # type: ignore[no-any-return]


def ran(style: str, answer: Any, arguments: dict[str, Any] | None = None) -> ToolRun:
    """The run of one call in that style."""
    call = ToolCall(id="c", name="tide", arguments={"self": "Brest"} | (arguments or {}))
    if style == "threads":
        box = Toolbox(mcp.tools_in_threads(Session(answer)))
        return run_calls_in_threads(box, [call])[0]
    if style == "portal":
        with anyio.from_thread.start_blocking_portal() as portal:
            session = portal.call(AsyncSession, answer)
            box = Toolbox(mcp.tools_in_threads(session, portal=portal))
            return run_calls_in_threads(box, [call])[0]

    async def main() -> ToolRun:
        box = Toolbox(await mcp.tools(AsyncSession(answer)))
        return (await run_calls(box, [call]))[0]

    return anyio.run(main, backend=style)


STYLES = ("asyncio", "trio", "threads", "portal")


# --- the list -------------------------------------------------------------------------------------


@joined("style", ["asyncio", "trio", "threads"])
def test_tools_of_all_pages_in_order(style: str) -> None:
    pages = (
        {"tools": [{"name": "a"}, {"name": "b", "title": "B."}], "nextCursor": "1"},
        types.SimpleNamespace(tools=[types.SimpleNamespace(name="c")], next_cursor="2"),
        {"tools": [{"name": "d", "description": "D.", "inputSchema": SCHEMA}], "nextCursor": None},
    )
    session, tools = listed(style, lambda: Session(None, *pages))
    assert [(each.name, each.description) for each in tools] == [
        ("a", ""),
        ("b", "B."),
        ("c", ""),
        ("d", "D."),
    ]
    assert session.cursors == [None, "1", "2"]
    assert tools[0].parameters == {"type": "object", "properties": {}}
    assert tools[3].parameters == SCHEMA
    assert tools[3].function.definition is pages[2]["tools"][0]  # type: ignore[index]


class Params:
    """As `PaginatedRequestParams` of the SDK."""

    def __init__(self, cursor: str) -> None:
        self.cursor = cursor


def test_a_session_may_list_without_pages_and_take_params() -> None:
    class WithParams(Session):
        def list_tools(self, *, params: Params | None = None) -> Any:  # type: ignore[override]
            return super().list_tools(None if params is None else params.cursor)

    session = WithParams(None, {"tools": [{"name": "a"}], "nextCursor": "1"}, [{"name": "b"}])
    assert [each.name for each in mcp.tools_in_threads(session)] == ["a", "b"]
    assert session.cursors == [None, "1"]


def test_names_that_vendors_refuse_and_names_of_two_servers() -> None:
    names = ["fs.read", "fs/read", "fs_read", "9", "a" * 70, "読む"]
    session = Session(None, {"tools": [{"name": name} for name in names]})
    tools = mcp.tools_in_threads(session)
    assert [each.name for each in tools] == [
        "fs_read_2",
        "fs_read_3",
        "fs_read",
        "_9",
        "a" * 64,
        "__",
    ]
    assert [each.function.name for each in tools] == names  # type: ignore[attr-defined]
    tools[0].function()
    assert session.called == [("fs.read", {})]
    with pytest.raises(RuleError, match="two tools are called fs_read") as caught:
        Toolbox([*tools, *mcp.tools_in_threads(session, only=["fs_read"])])
    assert caught.value.violations[0].rule == "G29"
    assert len(Toolbox([*tools, *mcp.tools_in_threads(session, prefix="b_")])) == 12


def test_options_for_some_tools() -> None:
    session = Session(None, {"tools": [{"name": name} for name in "abc"]})
    tools = mcp.tools_in_threads(
        session, prefix="x_", only=["c", "a"], needs_approval=["a"], read_only=True, timeout=2.5
    )
    assert [(each.name, each.needs_approval, each.read_only, each.timeout) for each in tools] == [
        ("x_a", True, True, 2.5),
        ("x_c", False, True, 2.5),
    ]
    assert not any(each.read_only for each in mcp.tools_in_threads(session))


NAMED = {"tools": [{"name": "a"}]}


@joined(
    ("options", "pages", "message"),
    [
        ({"only": ["b"]}, [NAMED], "only: the server lists no tool 'b'; it has a"),
        ({"needs_approval": ["b"]}, [NAMED], "needs_approval: the server lists no tool 'b'"),
        ({"read_only": ["b"]}, [NAMED], "read_only: the server lists no tool 'b'"),
        ({"only": "a"}, [NAMED], "only: expected a list"),
        ({"prefix": 5}, [NAMED], "prefix: expected a str, not int"),
        ({"timeout": 0}, [NAMED], "tool a: timeout: expected more than 0 seconds"),
        ({"portal": 5}, [NAMED], "portal: expected an object with call, not int"),
        ({}, [5], "list_tools: expected a list of tools, not int"),
        ({}, [{"tools": {}}], "list_tools: expected a list of tools, not dict"),
        ({}, [{"tools": [{}]}], "list_tools: tools[0].name: expected a name"),
        ({}, [[{"name": "a"}, {"name": "a"}]], "tools[1].name: two tools are called a"),
        ({}, [{"tools": [], "nextCursor": "0"}], "the server gave the cursor '0' twice"),
        ({}, [{"tools": [], "nextCursor": 7}], "list_tools: nextCursor: expected a str, not int"),
        ({}, [[{"name": "a", "inputSchema": 5}]], "tool a: inputSchema: expected a JSON Schema"),
        ({}, [[{"name": "a", "inputSchema": {"type": 5}}]], "tool a: invalid parameters schema"),
        ({}, [ValueError("no")], "list_tools: no"),
        ({}, [ConnectionResetError("gone")], "list_tools: the MCP session is lost: gone"),
    ],
)
def test_what_cannot_be_listed(options: dict[str, Any], pages: list[Any], message: str) -> None:
    with pytest.raises(ToolError) as caught:
        mcp.tools_in_threads(Session(None, *pages), **options)
    assert message in str(caught.value)
    if "portal" not in options:
        with pytest.raises(ToolError) as caught:
            listed("asyncio", lambda: AsyncSession(None, *pages), **options)
        assert message in str(caught.value)


def test_a_list_without_an_end() -> None:
    class Endless(Session):
        def list_tools(self, cursor: str | None = None) -> Any:
            self.cursors.append(cursor)
            return {"tools": [{"name": f"t{len(self.cursors)}"}], "nextCursor": f"{cursor}1"}

    session = Endless()
    with pytest.raises(ToolError, match="the server has more than 1,000 pages of tools"):
        mcp.tools_in_threads(session)
    assert len(session.cursors) == 1000


def test_what_is_no_session() -> None:
    with pytest.raises(ToolError, match="session: expected an object with list_tools"):
        mcp.tools_in_threads([])
    with pytest.raises(ToolError, match="the session is async; pass the portal"):
        mcp.tools_in_threads(AsyncSession())

    class OnePage(Session):
        def list_tools(self) -> Any:  # type: ignore[override]
            return {"tools": [], "nextCursor": "1"}

    with pytest.raises(ToolError, match="it has further pages, but takes no cursor"):
        mcp.tools_in_threads(OnePage())


# --- calls ----------------------------------------------------------------------------------------


@joined("style", STYLES)
def test_a_call(style: str) -> None:
    run = ran(style, None)
    assert (run.result, run.error) == (ToolResult("c", "tide", "05:12"), None)


@joined("style", STYLES)
def test_arguments_are_validated_before_the_call(style: str) -> None:
    run = ran(style, AssertionError("called"), {"days": "two"})
    assert run.result.error
    assert run.result.content == 'invalid parameters: $.days: "two" is not of type "integer"'


class ClosedResourceError(Exception):
    """As that of anyio."""


class ProtocolError(Exception):
    """As `McpError` of the SDK."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.error = types.SimpleNamespace(code=code, message=message)


@joined("style", STYLES)
def test_a_session_that_is_lost_and_other_exceptions(style: str) -> None:
    for cause, code in (
        (ProtocolError(-32000, "Connection closed"), "session_lost"),
        (ClosedResourceError(), "session_lost"),
        (BrokenPipeError("pipe"), "session_lost"),
        (ProtocolError(-32000, "out of tides"), "-32000"),
        (ProtocolError(-32602, "Unknown tool: tide"), "-32602"),
        (KeyError("x"), None),
    ):
        run = ran(style, cause)
        assert isinstance(run.error, ToolError)
        assert (run.result.error, run.error.code, run.error.__cause__) == (True, code, cause)
        assert (str(cause) or "ClosedResourceError") in run.result.content


def test_an_async_tool_in_another_thread_is_an_error() -> None:
    _, tools = listed("asyncio", AsyncSession)
    outcome: list[Any] = []

    def work() -> None:
        call = ToolCall(id="c", name="tide", arguments={"self": "Brest"})
        outcome.extend(run_calls_in_threads(Toolbox(tools), [call]))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert outcome[0].result.content.startswith(
        "tool tide: its session belongs to the event loop of another thread"
    )


# --- results --------------------------------------------------------------------------------------

NOTES = {"uri": "tide://notes", "mimeType": "text/plain", "text": "High."}
LINK = {"type": "resource_link", "uri": "tide://log", "name": "log", "annotations": {"priority": 1}}


@joined(
    ("answer", "content", "media"),
    [
        ({"content": []}, "", ()),
        ({"content": [text("a"), text("b")]}, ["a", "b"], ()),
        ({"content": [], "structuredContent": {"at": 5}}, {"at": 5}, ()),
        ({"content": [text('{"at": 5.0}')], "structuredContent": {"at": 5}}, {"at": 5}, ()),
        ({"content": [text("a")], "structuredContent": {"result": "a"}}, "a", ()),
        ({"content": [text("5")], "structuredContent": {"result": "5"}}, "5", ()),
        ({"content": [text("5")], "structuredContent": {"result": 5}}, 5, ()),
        ({"content": [text("1"), text("2")], "structuredContent": {"result": [1, 2]}}, [1, 2], ()),
        ({"content": [text("1")], "structuredContent": {"result": [1]}}, [1], ()),
        # A text whose values all stand in the structured content is not sent again.
        ({"content": [text("5")], "structuredContent": {"at": 5, "m": 1}}, {"at": 5, "m": 1}, ()),
        (
            {"content": [text("Ebb."), text('{"at": 5}')], "structuredContent": {"at": 5, "m": 1}},
            {"content": "Ebb.", "structuredContent": {"at": 5, "m": 1}},
            (),
        ),
        (
            {"content": [text("true")], "structuredContent": {"at": 1}},
            {"content": "true", "structuredContent": {"at": 1}},
            (),
        ),
        # A picture that the structured content repeats as text is sent once.
        (
            {
                "content": [{"type": "image", "data": "iVBORw==", "mimeType": "image/png"}],
                "structuredContent": {
                    "page": {"shot": "data:image/png;base64,iVBORw==", "title": "Tides"},
                    "all": ["iVBORw=="],
                },
            },
            {"page": {"shot": "[image/png]", "title": "Tides"}, "all": ["[image/png]"]},
            (Media(data=b"\x89PNG", media_type="image/png"),),
        ),
        (
            {"content": [text("At five.")], "structuredContent": {"at": 5}},
            {"content": "At five.", "structuredContent": {"at": 5}},
            (),
        ),
        (
            {"content": [text("Look:"), {"type": "image", "data": PNG, "mimeType": "image/png"}]},
            "Look:",
            (Media(data=b"\x89PNG\r\n", media_type="image/png"),),
        ),
        (
            {"content": [{"type": "audio", "data": PNG, "mimeType": "audio/wav"}]},
            "",
            (Media(data=b"\x89PNG\r\n", media_type="audio/wav"),),
        ),
        ({"content": [{"type": "resource", "resource": NOTES}]}, NOTES, ()),
        (
            {"content": [{"type": "resource", "resource": {"uri": "tide://a/b.pdf", "blob": PNG}}]},
            "",
            (Media(data=b"\x89PNG\r\n", media_type="application/pdf", name="b.pdf"),),
        ),
        (
            {"content": [{"type": "resource", "resource": {"uri": "tide://", "blob": "AAAA"}}]},
            "",
            (Media(data=b"\0\0\0", media_type="application/octet-stream"),),
        ),
        ({"content": [LINK]}, {"uri": "tide://log", "name": "log"}, ()),
        ({"content": [{"type": "new", "data": 5}]}, {"type": "new", "data": 5}, ()),
        (
            types.SimpleNamespace(
                content=[types.SimpleNamespace(type="image", data=PNG, mime_type="image/png")],
                structured_content={"a": 1},
                is_error=False,
            ),
            {"a": 1},
            (Media(data=b"\x89PNG\r\n", media_type="image/png"),),
        ),
    ],
)
def test_results(answer: Any, content: Any, media: tuple[Media, ...]) -> None:
    run = ran("threads", answer)
    assert (run.result.content, run.result.media) == (content, media)
    assert (run.result.error, run.error) == (False, None)


@joined("name", ["isError", "is_error"])
def test_an_error_result_keeps_its_pictures(name: str) -> None:
    picture = {"type": "image", "data": PNG, "mimeType": "image/png"}
    answer = types.SimpleNamespace(content=[text("no berth"), picture], **{name: True})
    run = ran("asyncio", answer)
    media = (Media(data=b"\x89PNG\r\n", media_type="image/png"),)
    assert (run.result, run.error) == (ToolResult("c", "tide", "no berth", True, media), None)
    assert run.result.answer == {"error": "no berth"}


@joined(
    ("answer", "message"),
    [
        (5, "call_tool: expected a result with content, not int"),
        ({"content": 5}, "call_tool: content: expected a list, not int"),
        ({"content": [{"type": "image", "data": "!"}]}, "content[0].data: expected base64"),
        ({"content": [{"type": "image"}]}, "content[0].data: expected base64"),
        (
            {"content": [{"type": "resource", "resource": {"blob": 5}}]},
            "content[0].resource.blob: expected base64",
        ),
    ],
)
def test_results_that_cannot_be_read(answer: Any, message: str) -> None:
    run = ran("threads", answer)
    assert run.result.error
    assert message in run.result.content


# --- tools that change ----------------------------------------------------------------------------


def test_the_tools_of_a_server_after_they_changed() -> None:
    def now() -> str:
        return "noon"

    before, after = Session(None, [{"name": "a"}, {"name": "b"}]), Session(None, [{"name": "c"}])
    old, new = mcp.tools_in_threads(before), mcp.tools_in_threads(after)
    box = Toolbox([*old, now])
    box.replace(old, new)
    assert [each.name for each in box] == ["now", "c"]
    box.replace([], mcp.tools_in_threads(before, only=["a"]))
    assert [each.name for each in box] == ["now", "c", "a"]
    with pytest.raises(RuleError, match="two tools are called now"):
        box.replace(new, mcp.tools_in_threads(Session(None, [{"name": "now"}])))
    assert [each.name for each in box] == ["now", "c", "a"], "nothing is changed"
