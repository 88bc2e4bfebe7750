"""The official SDK of MCP and a server of its own over stdio, with agents on an emulator."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import pytest

from wire import Agent, AsyncChat, Chat, LLMAgent
from wire.agent import RunResult
from wire.errors import ToolError
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport
from wire.tools import FunctionTool, mcp

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("mcp") is None, reason="the official SDK is not installed"
)

SERVER = Path(__file__).with_name("mcp_server.py")
MODEL = "gemini:gemini-3.8-flash"


def calls(number: int, *wanted: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """A step of the script: the model calls these tools."""
    named = [{"name": name, "args": arguments} for name, arguments in wanted]
    return {"match": {"number": number}, "say": {"calls": named}}


SCRIPT = [
    calls(
        1,
        ("h_tide_high", {"port": "Brest", "days": 2}),
        ("h_tide_high", {"port": 5}),
        ("h_chart", {"port": "Brest"}),
        ("h_moor", {"berth": 30}),
        ("h_moor", {"berth": 3}),
        ("h_close_gate", {}),
    ),
    {"match": {"number": 2}, "say": "The gate is open."},
    calls(3, ("h_sink", {})),
    {"match": {"number": 4}, "say": "It is gone."},
]
"""One run that lists, calls, gets a picture and errors; one that ends the server."""


def approve(call: Any) -> bool | str:
    return call.name != "h_close_gate" or "not at low tide"


@asynccontextmanager
async def opened(changed: anyio.Event | None = None) -> AsyncIterator[Any]:
    """A session with a server process of its own; `changed` is set when its tools change."""
    import mcp as sdk  # it takes a second, which each process of pytest-xdist would wait for

    async def note(message: Any) -> None:
        notification = getattr(message, "root", message)
        if isinstance(notification, sdk.types.ToolListChangedNotification) and changed:
            changed.set()

    parameters = sdk.StdioServerParameters(
        command=sys.executable,
        args=[str(SERVER)],
    )
    async with sdk.stdio_client(parameters) as (reads, writes):
        async with sdk.ClientSession(reads, writes, message_handler=note) as session:
            await session.initialize()
            yield session


def check(tools: list[FunctionTool], results: list[RunResult]) -> None:
    assert [each.name for each in tools] == [
        "h_tide_high",
        "h_chart",
        "h_moor",
        "h_close_gate",
        "h_sink",
    ]
    assert tools[0].description == "When the tide is high in a port."
    assert tools[0].parameters["required"] == ["port"]
    first, last = results
    (turn, _), (sinking, _) = first.steps, last.steps
    told = [(run.result.content, run.result.error) for run in turn.runs]
    assert told == [
        (["Brest: 05:12", "Brest: 05:13"], False),
        ('invalid parameters: $.port: 5 is not of type "string"', True),
        ("The chart of Brest:", False),
        ("Error executing tool moor: there is no berth 30", True),
        ("moored at 3", False),
        ("not at low tide", True),
    ]
    (picture,) = turn.runs[2].result.media
    assert (picture.media_type, picture.data[:4]) == ("image/png", b"\x89PNG")  # type: ignore[index]
    assert (first.text, last.text) == ("The gate is open.", "It is gone.")
    assert isinstance(sinking.runs[0].error, ToolError)
    assert sinking.runs[0].error.code == "session_lost"


@pytest.mark.parametrize("style", ["asyncio", pytest.param("trio", marks=pytest.mark.slow)])
def test_an_agent_with_the_tools_of_a_server(style: str) -> None:
    async def main() -> None:
        changed = anyio.Event()
        async with opened(changed) as session:
            tools = await mcp.tools(session, prefix="h_")
            http = AsyncEmulatorTransport(Emulator(SCRIPT))  # type: ignore[arg-type]
            chat = AsyncChat(MODEL, api_key="fake-key", http=http)
            async with LLMAgent(chat, tools=tools, approve=approve) as agent:
                first = await agent.run("Is the gate open?")
                closing = next(each for each in tools if each.name == "h_close_gate")
                assert (await closing()).content == "closed"
                with anyio.fail_after(60):
                    await changed.wait()
                now = await mcp.tools(session, prefix="h_")
                agent.tools.replace(tools, now)
                assert [each.name for each in agent.tools] == [
                    each.name for each in tools if each.name != "h_moor"
                ]
                check(tools, [first, await agent.run("Sink it.")])
            with pytest.raises(ToolError) as caught:
                await mcp.tools(session)
            assert caught.value.code == "session_lost"

    anyio.run(main, backend=style)


def test_an_agent_for_threads_through_a_portal() -> None:
    with anyio.from_thread.start_blocking_portal() as portal:
        with portal.wrap_async_context_manager(opened()) as session:
            tools = mcp.tools_in_threads(session, portal=portal, prefix="h_")
            http = EmulatorTransport(Emulator(SCRIPT))  # type: ignore[arg-type]
            with Agent(
                Chat(MODEL, api_key="fake-key", http=http), tools=tools, approve=approve
            ) as agent:
                check(tools, [agent.run("Is the gate open?"), agent.run("Sink it.")])
