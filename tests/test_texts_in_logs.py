"""R-33: what models, servers, tools and users write stands in no log record above DEBUG.

Each case puts its mark into one place of text that is not ours, and the log is searched for it:
message, arguments, traceback and all attributes of each record, of every logger.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.pipeline.pipelines import run as run_pipeline
from tests.serving.running import gateway, posted
from wire import Agent, Chat, bulk
from wire.errors import WireError
from wire.neutral.messages import ToolResult
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport
from wire.tools import Toolbox, mcp, tool

MARK = "Quillwort-7319"
MODEL = "gemini:gemini-3.8-flash"
CALL = {"say": {"calls": [{"name": "look", "args": {"place": MARK}}]}}
REFUSAL = {"answer": {"error": {"code": 400, "message": MARK, "status": MARK}}, "status": 400}
BUSY = {**REFUSAL, "status": 503}


def chat(*script: Any, **options: Any) -> Chat:
    http = EmulatorTransport(Emulator(list(script), lenient=True))
    return Chat(MODEL, api_key="fake-key", http=http, **{"retry": None, **options})


def ask(*script: Any, prompt: str = "Hi", **options: Any) -> None:
    with chat(*script, **options) as asker:
        asker.ask(prompt)


def stream(*script: Any, prompt: str = "Hi") -> None:
    with chat(*script) as asker, asker.stream(prompt) as events:
        list(events)


def raw(handler: Callable[[httpx.Request], httpx.Response]) -> None:
    http = httpx.MockTransport(handler)
    with Chat(MODEL, api_key="fake-key", http=http, retry=None) as asker:
        asker.ask("Hi")


def agent(function: Any, *script: Any, **options: Any) -> None:
    with chat(*(script or (CALL, {"say": "Done."}))) as asker:
        Agent(asker, tools=[function], **options).run("Look.")


@tool
def look(place: str) -> str:
    """Look at a place."""
    return place


@tool(name="look")
def fails(place: str) -> str:
    """Look at a place."""
    raise ValueError(f"no such place: {place}")


@tool(name="look")
def chained(place: str) -> str:
    """Look at a place."""
    try:
        raise KeyError(place)
    except KeyError as error:
        raise RuntimeError(place) from error


class Session:
    """A session of MCP whose server says the mark everywhere."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def list_tools(self, cursor: str | None = None) -> Any:
        if self.answer is None:
            raise RuntimeError(MARK)
        schema = {"type": "object", "properties": {"place": {"type": "string"}}}
        return {"tools": [{"name": "look", "description": MARK, "inputSchema": schema}]}

    def call_tool(self, name: str, arguments: dict[str, Any]) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def mcp_agent(answer: Any) -> None:
    tools = mcp.tools_in_threads(Session(answer))
    with chat(CALL, {"say": "Done."}) as asker:
        Agent(asker, tools=tools).run("Look.")


def piped(attributes: str, *script: Any) -> None:
    text = (
        "digraph x { start [type=start]; n [type=codergen, "
        f'{attributes}, model="{MODEL}"]; done [type=exit]; start -> n -> done }}'
    )
    run_pipeline("asyncio", text, script=list(script))


def bulked(*script: Any) -> None:
    rows = [{"id": MARK, "prompt": MARK}, {"id": "b", "prompt": "Hi", "odd": MARK}]

    async def main() -> None:
        http = AsyncEmulatorTransport(Emulator(list(script)))
        await bulk.run(rows, MODEL, api_key="fake-key", http=http, retry=None).finish()

    asyncio.run(main())


def through_gateway(changes: dict[str, Any], *script: Any, content: bytes | None = None) -> None:
    with gateway("gemini", Emulator(list(script))) as server:
        posted(server, "chat", changes, content=content)
        posted(server, "chat", {"stream": True, **changes}, content=content)


def of_final() -> None:
    def raises(content: Any) -> bool:
        raise ValueError(str(content))

    box = Toolbox([tool(lambda: MARK, name="look", final=raises)])
    box.is_final(ToolResult("1", "look", MARK))


CASES: dict[str, Callable[[], object]] = {
    "prompt": lambda: ask({"say": "Hi"}, prompt=MARK),
    "system": lambda: ask({"say": "Hi"}, system=MARK),
    "answer": lambda: ask({"say": MARK}),
    "stream": lambda: stream({"say": MARK}, prompt=MARK),
    "error of a server": lambda: ask(REFUSAL),
    "errors of a server, with retries": lambda: ask(BUSY, BUSY, BUSY),
    "error inside a stream": lambda: stream({"say": MARK, "fault": "error; after=1"}),
    "a body that is no JSON": lambda: raw(lambda _: httpx.Response(200, text=f"<p>{MARK}</p>")),
    "an error page": lambda: raw(lambda _: httpx.Response(502, text=f"<p>{MARK}</p>")),
    "a header of a server": lambda: raw(
        lambda _: httpx.Response(503, headers={"x-note": MARK, "location": MARK})
    ),
    "a redirect": lambda: raw(
        lambda _: httpx.Response(302, headers={"location": f"https://a.example/{MARK}"})
    ),
    "the reason of a status": lambda: raw(
        lambda _: httpx.Response(500, extensions={"reason_phrase": MARK.encode()})
    ),
    "an exception of a transport": lambda: raw(lambda _: (_ for _ in ()).throw(OSError(MARK))),
    "arguments of a tool": lambda: agent(look),
    "a tool that raises": lambda: agent(fails),
    "a tool that raises from another": lambda: agent(chained),
    "a name of a tool": lambda: agent(
        look, {"say": {"calls": [{"name": MARK, "args": {}}]}}, {"say": "Done."}
    ),
    "bad arguments of a tool": lambda: agent(
        look, {"say": {"calls": [{"name": "look", "args": {MARK: 1}}]}}, {"say": "Done."}
    ),
    "a refusal of approve": lambda: agent(look, approve=lambda call: MARK),
    "an approve that raises": lambda: agent(look, approve=lambda call: {}[MARK]),
    "final that raises": of_final,
    "result of MCP": lambda: mcp_agent({"content": [{"type": "text", "text": MARK}]}),
    "error of MCP": lambda: mcp_agent(
        {"content": [{"type": "text", "text": MARK}], "isError": True}
    ),
    "exception of MCP": lambda: mcp_agent(RuntimeError(MARK)),
    "listing of MCP": lambda: mcp_agent(None),
    "prompt of a node": lambda: piped(f'prompt="{MARK}"', {"say": MARK}),
    "a node whose answer is cut": lambda: piped(
        "prompt=p", {"say": {"text": MARK, "finish": "MAX_TOKENS"}}
    ),
    "a node whose answer stops oddly": lambda: piped(
        "prompt=p", {"say": {"text": "Hi", "finish": MARK}}
    ),
    "a node whose call fails": lambda: piped("prompt=p", REFUSAL),
    "a node whose tool fails": lambda: piped(
        "prompt=p",
        {"say": {"calls": [{"name": "read_file", "args": {"path": f"../{MARK}"}}]}},
        {"say": "Done."},
    ),
    "rows of a bulk run": lambda: bulked({"say": MARK}, {"say": MARK}),
    "errors of a bulk run": lambda: bulked(REFUSAL, REFUSAL),
    "a prompt at the gateway": lambda: through_gateway(
        {"messages": [{"role": "user", "content": MARK}], "user": MARK, MARK: 1}, {"say": MARK}
    ),
    "an error at the gateway": lambda: through_gateway({}, REFUSAL, REFUSAL),
    "a body at the gateway": lambda: through_gateway({}, content=f"{{{MARK}".encode()),
}


@pytest.fixture
def records() -> Any:
    """All records of a test, with the level DEBUG for the loggers of this library."""
    found: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = found.append  # type: ignore[method-assign]
    root, ours = logging.getLogger(), logging.getLogger("wire")
    before = root.level, ours.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    ours.setLevel(logging.DEBUG)
    yield found
    root.removeHandler(handler)
    root.setLevel(before[0])
    ours.setLevel(before[1])


def written(record: logging.LogRecord) -> str:
    """Everything of a record that a handler may write."""
    return f"{logging.Formatter().format(record)} {vars(record)}"


@pytest.mark.parametrize("name", CASES)
def test_a_text_of_others_is_in_no_record_above_debug(
    name: str, records: list[logging.LogRecord], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R-33: what is told there is the class of an error, and where it was raised."""
    monkeypatch.chdir(tmp_path)
    with contextlib.suppress(WireError, RuntimeError):
        CASES[name]()
    assert records or name == "listing of MCP", "the case logs nothing at all"
    above = [each for each in records if each.levelno > logging.DEBUG]
    assert [written(each) for each in above if MARK in written(each)] == []


def test_texts_are_at_debug(records: list[logging.LogRecord]) -> None:
    """The cases do log: at DEBUG the marks are there."""
    for name in ("prompt", "answer", "error of a server", "a tool that raises", "exception of MCP"):
        records.clear()
        with contextlib.suppress(WireError):
            CASES[name]()
        assert any(MARK in written(each) for each in records), name


def test_a_tool_that_raises_is_told_with_its_place(records: list[logging.LogRecord]) -> None:
    CASES["a tool that raises"]()
    (told,) = [each.getMessage() for each in records if each.levelno == logging.WARNING]
    assert told.startswith("the call of look failed: ValueError at test_texts_in_logs.py:")
