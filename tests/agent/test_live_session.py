"""Live sessions of agents: tools run while the session goes on."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.chat.talking import EVERY, Talk
from tests.http.frames import Peer, served, text
from tests.http.loopback import loopback
from wire import Message
from wire.agent import Agent
from wire.errors import ConfigurationError
from wire.neutral.live import CallsCancelled
from wire.neutral.messages import Done, MediaDelta, Reply, Stop, ToolResult
from wire.neutral.request import Tool
from wire.testing.emulator import Emulator, serve
from wire.tools import ToolRun

REALTIME = "openai:gpt-realtime"
CALLS = [{"name": "tide", "args": {"port": "Brest"}}, {"name": "tide", "args": {"port": "Ghent"}}]
SCRIPT: list[Any] = [{"say": {"text": "A moment.", "calls": CALLS}}, {"say": "At noon."}]


def tide(port: str) -> str:
    """When the tide is high."""
    return f"noon at {port}"


def whole(session: Any) -> list[Any]:
    """The events up to the end of an answer without calls."""
    events: list[Any] = []
    while (event := session.next()) is not None:
        events.append(event)
        if isinstance(event, Done) and not event.reply.tool_calls:
            break
    return events


def ran(talk: Talk, script: list[Any], **options: Any) -> tuple[list[Any], tuple[Message, ...]]:
    with serve(Emulator(script)) as server:

        def work(door: Any) -> Any:
            with door.connect() as session:
                session.send("When is the tide?")
                return whole(session), session.messages

        agent = {"tools": [tide], "system_prompt": "Be brief.", **options}
        found: tuple[list[Any], tuple[Message, ...]] = talk.agent(
            work, REALTIME, agent, base_url=f"{server.url}/v1"
        )
        return found


@pytest.mark.parametrize("talk", EVERY)
def test_the_tools_of_the_agent_answer(talk: Talk) -> None:
    asked: list[str] = []

    def approve(call: Any) -> bool:
        asked.append(call.arguments["port"])
        return bool(call.arguments["port"] == "Brest")

    events, messages = ran(talk, SCRIPT, approve=approve)
    runs = [each for each in events if isinstance(each, ToolRun)]
    assert sorted(asked) == ["Brest", "Ghent"]
    assert [run.result.error for run in runs] == [False, True]
    (results,) = [message.tool_results for message in messages if message.role == "tool"]
    assert results[0].content == "noon at Brest"
    assert "refused" in results[1].content
    assert messages[-1].text == "At noon."


@pytest.mark.parametrize("talk", EVERY)
def test_sound_is_taken_while_a_tool_runs(talk: Talk) -> None:
    heard = threading.Event()
    delta = {"type": "response.output_audio.delta", "response_id": "r2", "delta": "AAAA"}
    item = {"type": "function_call", "call_id": "c1", "name": "wait", "arguments": "{}"}

    def wait() -> str:
        """Wait until sound was taken."""
        assert heard.wait(20)
        return "heard"

    def script(peer: Peer) -> None:
        while peer.message()["type"] != "response.create":
            pass
        done = {"id": "r1", "status": "completed", "output": [item]}
        peer.send(text({"type": "response.done", "response": done}), text(delta))
        output = peer.message()["item"]["output"]
        said = {"type": "response.output_text.delta", "response_id": "r2", "delta": output}
        peer.send(text(said), text({"type": "response.done", "response": {"id": "r2"}}))

    with loopback(served(script)) as server:

        def work(door: Any) -> Any:
            with door.connect() as session:
                session.send("Hi")
                events: list[Any] = []
                while not isinstance(event := session.next(), Done) or event.reply.tool_calls:
                    events.append(event)
                    if isinstance(event, MediaDelta):
                        heard.set()
                return event.reply.text

        agent: dict[str, Any] = {"tools": [wait]}
        assert talk.agent(work, REALTIME, agent, base_url=f"{server.url}/v1") == "heard"


@pytest.mark.parametrize("talk", EVERY)
def test_the_program_answers_calls_of_tools_without_a_function(talk: Talk) -> None:
    with serve(Emulator(SCRIPT)) as server:

        def work(door: Any) -> Any:
            with door.connect() as session:
                session.send("When is the tide?")
                while not isinstance(session.next(), Done):
                    pass
                ids = [call.id for call in session.open_calls]
                session.send(*(ToolResult(id, "tide", "noon") for id in ids))
                whole(session)
                return session.messages

        agent: dict[str, Any] = {"tools": [Tool("tide")]}
        messages = talk.agent(work, REALTIME, agent, base_url=f"{server.url}/v1")
    assert [message.role for message in messages] == ["user", "assistant", "tool", "assistant"]


@pytest.mark.parametrize("talk", EVERY)
def test_an_exception_of_a_tool_is_its_result(talk: Talk) -> None:
    def broken(port: str) -> str:
        """Fail."""
        raise ValueError("no tide table")

    script = [
        {"say": {"calls": [{"name": "broken", "args": {"port": "Brest"}}]}},
        {"say": "Sorry."},
    ]
    _, messages = ran(talk, script, tools=[broken])
    (result,) = messages[2].tool_results
    assert (result.error, "no tide table" in result.content) == (True, True)


class Left(BaseException):
    """What is to end the program."""


@pytest.mark.parametrize("talk", EVERY)
def test_what_is_to_end_the_program_ends_the_session(talk: Talk) -> None:
    def leave(port: str) -> str:
        """End the program."""
        raise Left

    script = [{"say": {"calls": [{"name": "leave", "args": {"port": "Brest"}}]}}]
    with pytest.raises(Left):
        ran(talk, script, tools=[leave])


@pytest.mark.parametrize("talk", EVERY)
def test_a_session_may_be_left_while_a_tool_runs(talk: Talk) -> None:
    begun, go = threading.Event(), threading.Event()

    def slow(port: str) -> str:
        """Work until the session is left."""
        begun.set()
        go.wait(20)
        return port

    script = [{"say": {"calls": [{"name": "slow", "args": {"port": "Brest"}}]}}]
    with serve(Emulator(script)) as server:

        def work(door: Any) -> None:
            with door.connect() as session:
                session.send("Hi")
                while not isinstance(session.next(), Done):
                    pass
                assert begun.wait(20)
                if talk.name != "sync":
                    go.set()  # a task is awaited, and a plain function cannot be stopped
            go.set()

        talk.agent(work, REALTIME, {"tools": [slow]}, base_url=f"{server.url}/v1")


@pytest.mark.parametrize("talk", EVERY)
def test_the_result_of_a_call_that_the_server_cancelled_is_not_sent(talk: Talk) -> None:
    cancelled, got = threading.Event(), []

    def wait() -> str:
        """Return after the server has cancelled the call."""
        assert cancelled.wait(20)
        return "too late"

    def script(peer: Peer) -> None:
        peer.message()
        peer.send(text({"setupComplete": {}}))
        peer.message()
        call = {"id": "c1", "name": "wait", "args": {}}
        peer.send(text({"toolCall": {"functionCalls": [call]}}))
        peer.send(text({"toolCallCancellation": {"ids": ["c1"]}}))
        while (message := peer.message()) is not None:
            got.append(message)
            peer.send(text({"serverContent": {"turnComplete": True}}))

    with loopback(served(script)) as server:

        def work(door: Any) -> None:
            with door.connect() as session:
                session.send("Hi")
                while not isinstance(event := session.next(), CallsCancelled):
                    pass
                assert event.ids == ("c1",)
                cancelled.set()
                kinds = set()
                while ToolRun not in kinds:  # it is handed out with an event of the server
                    session.send("And now?")
                    kinds |= {type(each) for each in whole(session)}
                session.send("Still there?")
                assert isinstance(whole(session)[-1], Done)

        talk.agent(work, "gemini:gemini-3.8-live", {"tools": [wait]}, base_url=server.url)
    assert {key for each in got for key in each} == {"clientContent"}


def test_a_model_that_is_no_chat_is_refused() -> None:
    class Model:
        def ask(self, **_: Any) -> Reply:
            return Reply(Message.assistant("Hi"), Stop("end"))

        def stream(self, **_: Any) -> Any:
            raise AssertionError

    agent: Any = Agent(Model())  # type: ignore[arg-type]
    with (
        pytest.raises(ConfigurationError, match="a live session needs Chat, not Model"),
        agent.connect(),
    ):
        pass
