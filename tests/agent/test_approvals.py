"""Approvals come first: with early calls, with deferred tools, and with those of an MCP server."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from tests.agent.agents import on
from tests.joined import joined
from wire.agent import Agent, LLMAgent, RunResult, dump_run, load_run
from wire.chat.chat import AsyncChat, Chat
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport
from wire.testing.emulator.received import Received
from wire.tools import deferred, mcp

MODELS = [
    "gemini:gemini-3.8-flash",
    "openai@chat:gpt-4.1",
    "openai@responses:gpt-5.4",
    "anthropic:claude-sonnet-5",
]
STYLES = ["threads", "asyncio", "trio"]
SCHEMA = {"type": "object", "properties": {"port": {"type": "string"}}, "required": ["port"]}
DUES, TIDE = (
    {"name": "pay_dues", "args": {"port": "Brest"}},
    {
        "name": "tide",
        "args": {"port": "Brest"},
    },
)


class Session:
    """A session of an MCP server, plain or async, whose calls are noted."""

    def __init__(self) -> None:
        self.called: list[str] = []

    def list_tools(self) -> Any:
        words = {"pay_dues": "Pay the dues of a port.", "tide": "When the tide is high in a port."}
        return [
            {"name": name, "description": each, "inputSchema": SCHEMA}
            for name, each in words.items()
        ]

    def call_tool(self, name: str, arguments: Any) -> Any:
        self.called.append(name)
        return {"content": [{"type": "text", "text": f"{name}: done"}]}


def script(request: Received) -> dict[str, Any]:
    """A model that searches, if it has `find_tools`, calls both tools, and answers."""
    body = request.body.decode()
    if "pay_dues: done" in body or "refused" in body or "too dear" in body:
        return {"say": "Done."}
    if '"find_tools"' in body and '"port"' not in body:
        return {
            "say": {"calls": [{"name": "find_tools", "args": {"query": "tide, dues of a port"}}]}
        }
    return {"say": {"calls": [TIDE, DUES]}}


class Run:
    """An agent with the tools of the server, which starts calls early."""

    def __init__(self, style: str, model: str, is_deferred: bool, **options: Any) -> None:
        self.style, self.session = style, Session()
        self.emulator = Emulator(script)
        approved = options.pop("needs_approval", False)
        tools: Any = mcp.tools_in_threads(self.session, needs_approval=approved)
        given: dict[str, Any] = {"tools": deferred(tools) if is_deferred else tools, **options}
        settings: dict[str, Any] = {"api_key": "fake-key", "max_tokens": 500}
        self.agent: Any
        if style == "threads":
            chat = Chat(model, http=EmulatorTransport(self.emulator), **settings)
            self.agent = Agent(chat, early_tools=True, **given)
        else:
            other = AsyncChat(model, http=AsyncEmulatorTransport(self.emulator), **settings)
            self.agent = LLMAgent(other, early_tools=True, **given)

    def __call__(self, method: str, *arguments: Any, **options: Any) -> RunResult:
        run = functools.partial(getattr(self.agent, method), *arguments, stream=True, **options)
        result: RunResult = run() if self.style == "threads" else on(self.style, run)
        return result


@pytest.mark.parametrize("style", STYLES)
@joined("model", MODELS)
@joined("is_deferred", [False, True])
def test_a_call_that_needs_approval_waits_and_the_others_run(
    style: str, model: str, is_deferred: bool
) -> None:
    run = Run(style, model, is_deferred, needs_approval=["pay_dues"])
    waiting = run("run", "Tide and dues?")
    assert (waiting.reason, [call.name for call in waiting.waiting]) == ("waiting", ["pay_dues"])
    assert run.session.called == ["tide"]
    state = load_run(dump_run(waiting.state))
    [call] = waiting.waiting
    again = Run(style, model, is_deferred, needs_approval=["pay_dues"])
    result = again("resume", state, verdicts={call.id: True})
    assert (result.reason, result.text) == ("end", "Done.")
    assert again.session.called == ["pay_dues"]
    refused = Run(style, model, is_deferred, needs_approval=["pay_dues"])
    result = refused("resume", state, verdicts={call.id: "too dear"})
    assert (result.reason, refused.session.called) == ("end", [])


@pytest.mark.parametrize("style", STYLES)
@joined("model", MODELS)
@joined("is_deferred", [False, True])
def test_each_call_is_approved_before_it_runs(style: str, model: str, is_deferred: bool) -> None:
    asked: list[tuple[str, int]] = []

    def approve(call: Any) -> bool:
        asked.append((call.name, run.session.called.count(call.name)))
        return bool(call.name != "pay_dues")

    run = Run(style, model, is_deferred, approve=approve, needs_approval=True)
    result = run("run", "Tide and dues?")
    searches = is_deferred and model in MODELS[:2]
    expected = [("find_tools", 0)] * searches + [("pay_dues", 0), ("tide", 0)]
    assert (result.reason, sorted(asked)) == ("end", expected)
    assert run.session.called == ["tide"]
