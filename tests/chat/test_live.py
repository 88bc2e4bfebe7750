"""Live sessions of chats: on the emulator, over connections that break, and handed over."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.chat.talking import EVERY, Talk
from tests.http.frames import Peer, close, frame, served, text
from tests.http.loopback import loopback
from wire import Chat, Message, WireError, errors, record
from wire.neutral.live import TranscriptDelta
from wire.neutral.messages import (
    Done,
    MediaDelta,
    TextDelta,
    ToolCallEnd,
    ToolResult,
)
from wire.neutral.request import Tool
from wire.testing.emulator import Emulator, EmulatorTransport, serve

REALTIME, LIVE = "openai:gpt-realtime", "gemini:gemini-3.8-live"
SPOKEN: list[Any] = [
    {"say": {"calls": [{"name": "tide", "args": {"port": "Brest"}}]}},
    {"say": "High tide is at noon."},
]


def turn(session: Any) -> list[Any]:
    """The events up to the end of an answer."""
    events: list[Any] = []
    while not events or not isinstance(events[-1], Done):
        events.append(session.next())
    return events


def spoken_tool_loop(session: Any) -> list[Any]:
    session.send_sound(bytes(4800))
    session.end_sound()
    events = turn(session)
    (called,) = [each for each in events if isinstance(each, ToolCallEnd)]
    session.send(ToolResult(called.call.id, called.call.name, "noon"))
    return events + turn(session)


@pytest.mark.parametrize("model", [REALTIME, LIVE])
@pytest.mark.parametrize("talk", EVERY)
def test_a_spoken_tool_loop(talk: Talk, model: str) -> None:
    with serve(Emulator(SPOKEN)) as server:

        def work(door: Any) -> Any:
            with door.connect(turns="client") as session:
                return spoken_tool_loop(session), session

        base = f"{server.url}/v1" if model == REALTIME else server.url
        events, session = talk.chat(work, model, base_url=base, tools=[Tool("tide")])
    said = [each.text for each in events if isinstance(each, TranscriptDelta)]
    assert "".join(said).endswith("High tide is at noon.")
    assert sum(len(each.data) for each in events if isinstance(each, MediaDelta)) >= 5 * 9600
    roles = [message.role for message in session.messages]
    assert roles == ["user", "assistant", "tool", "assistant"]
    assert [reply.stop.reason for reply in session.replies] == ["tool_calls", "end"]
    counted = [reply.usage for reply in session.replies if reply.usage is not None]
    assert session.usage.total == sum(each.total for each in counted) > 0
    costs = [reply.cost.total for reply in session.replies]
    if None in costs:  # Live counts a whole turn, with its calls
        assert (costs[0], session.cost.total, session.cost.known) == (None, None, costs[1])
    else:
        assert session.cost.total == sum(costs) > 0
    assert session.account.events > 5 < session.account.sent
    assert session.open_calls == session.state.unanswered == ()
    assert session.output_rate == 24_000


@pytest.mark.parametrize(
    "model",
    [
        "gemini:gemini-3.8-flash",
        "openai@chat:gpt-4.1",
        "openai@responses:gpt-5.6",
        "anthropic:claude-opus-5",
    ],
)
def test_any_model_goes_on_with_the_messages(model: str) -> None:
    with serve(Emulator(SPOKEN)) as server:
        options: dict[str, Any] = {"base_url": f"{server.url}/v1", "tools": [Tool("tide")]}

        def work(door: Any) -> Any:
            with door.connect(turns="client") as session:
                spoken_tool_loop(session)
                return session.messages

        messages = Talk("sync").chat(work, REALTIME, **options)
    emulator = Emulator([{"say": "Tide pools."}])
    http = EmulatorTransport(emulator)
    with Chat(model, api_key="fake-key", http=http, tools=[Tool("tide")]) as chat:
        reply = chat.ask(messages=[*messages, Message.user("And then?")])
    assert reply.text == "Tide pools."
    (received,) = emulator.requests
    for words in ("(speech)", "noon", "High tide is at noon.", "And then?"):
        assert words in json.dumps(received)


# --- connections ----------------------------------------------------------------------------------


def said(text: str) -> dict[str, Any]:
    return {"serverContent": {"modelTurn": {"parts": [{"text": text}]}}}


MESSAGES: dict[str, list[Any]] = {
    REALTIME: [
        {"type": "session.created", "session": {"id": "s1"}},
        {"type": "response.created", "response": {"id": "r1"}},
        {"type": "response.output_text.delta", "response_id": "r1", "delta": "Hel"},
        {"type": "response.output_text.delta", "response_id": "r1", "delta": "lo."},
        {"type": "response.done", "response": {"id": "r1", "status": "completed"}},
    ],
    LIVE: [
        {"setupComplete": {}},
        {"sessionResumptionUpdate": {}},
        said("Hel"),
        said("lo."),
        {"serverContent": {"turnComplete": True}},
    ],
}
BEGUN = {REALTIME: 2, LIVE: 3}
"""How many of the messages have come when an answer has begun."""


def ends(kind: str) -> bytes:
    return {"normal": close(1000), "broken": close(1011, "overloaded"), "cut": b""}[kind]


@pytest.mark.parametrize("talk", EVERY)
@pytest.mark.parametrize("end", ["normal", "broken", "cut"])
@pytest.mark.parametrize("count", range(6))
@pytest.mark.parametrize("model", MESSAGES)
def test_each_cut_of_a_session_is_whole_or_an_error(
    talk: Talk, end: str, count: int, model: str
) -> None:
    messages = MESSAGES[model]

    def script(peer: Peer) -> None:
        peer.message()
        peer.send(*map(text, messages[:count]), ends(end))

    with loopback(served(script)) as server:

        def work(door: Any) -> Any:
            events: list[Any] = []
            with door.connect() as session:
                try:
                    while (event := session.next()) is not None:
                        events.append(event)
                except WireError as error:
                    with pytest.raises(type(error)):  # each time
                        session.next()
                    return events, error
            return events, None

        events, error = talk.chat(work, model, base_url=f"{server.url}/v1")
    texts = [each.text for each in events if isinstance(each, TextDelta)]
    assert texts == ["Hel", "lo."][: max(0, count - 2)]
    is_whole = sum(isinstance(each, Done) for each in events) == 1
    assert is_whole == (count == len(messages))
    is_open = BEGUN[model] <= count < len(messages)
    if end == "normal" and not is_open:
        assert error is None
        return
    kinds = {
        "normal": errors.StreamIncomplete,
        "broken": errors.APIError,
        "cut": errors.ConnectionLost,
    }
    assert isinstance(error, kinds[end])
    assert (error.partial.text if is_open else error.partial) == (
        "".join(texts) if is_open else None
    )


@pytest.mark.parametrize("talk", EVERY)
def test_events_that_came_in_one_message_are_all_handed_out(talk: Talk) -> None:
    """Each `next` here is an iteration of its own, which is left after one event."""

    def script(peer: Peer) -> None:
        peer.message()
        cancelled = {"id": "r1", "status": "cancelled"}
        peer.send(text({"type": "response.done", "response": cancelled}), close(1000))

    with loopback(served(script)) as server:

        def work(door: Any) -> list[Any]:
            with door.connect() as session:
                return [type(session.next()).__name__ for _ in range(3)]

        found = talk.chat(work, REALTIME, base_url=f"{server.url}/v1")
    assert found == ["Interrupted", "Done", "NoneType"]


@pytest.mark.parametrize("talk", EVERY)
def test_the_messages_of_the_server_are_there_as_they_came(talk: Talk) -> None:
    raw = b'{"type":"response.output_text.delta","delta":"Hi","response_id":"r1","mood":1}'

    def script(peer: Peer) -> None:
        peer.message()
        peer.send(frame("text", raw), close(1000))

    with loopback(served(script)) as server:

        def work(door: Any) -> Any:
            with door.connect() as session:
                session.next()
                return session.received.raw

        assert talk.chat(work, REALTIME, base_url=f"{server.url}/v1") == raw


@pytest.mark.parametrize("talk", EVERY)
def test_what_cannot_be_sent_is_refused_before_anything_is_sent(talk: Talk) -> None:
    got: list[Any] = []

    def script(peer: Peer) -> None:
        while (message := peer.message()) is not None:
            got.append(message["type"])

    with loopback(served(script)) as server:

        def work(door: Any) -> None:
            with door.connect() as session:
                for call, words in (
                    (lambda: session.send(7), "expected a text or a part"),
                    (lambda: session.send("\ud800"), "parts"),
                    (lambda: session.send(ToolResult("c1", "tide", {1})), "parts"),
                    (lambda: session.send_sound("sound"), "data: expected bytes, not str"),
                    (lambda: session.send_sound(b""), "data: expected samples of 2 bytes"),
                    (lambda: session.send_sound(b"123"), "not 3 bytes"),
                    (lambda: session.interrupt("all"), "heard: expected seconds"),
                    (lambda: session.interrupt(-1), "heard: expected seconds"),
                    (lambda: session.interrupt(float("nan")), "heard: expected seconds"),
                ):
                    with pytest.raises(errors.RuleError, match=words):
                        call()
                session.send_sound(memoryview(b"\0\0"))

        talk.chat(work, REALTIME, base_url=f"{server.url}/v1")
    assert got == ["session.update", "input_audio_buffer.append"]


def test_one_thread_takes_events_while_another_sends() -> None:
    def script(peer: Peer) -> None:
        peer.message()
        for _ in range(50):
            sent = peer.message()
            if sent["type"] == "input_audio_buffer.append":
                delta = {"delta": sent["audio"], "response_id": "r1"}
                peer.send(text({"type": "response.output_text.delta", **delta}))
        peer.send(close(1000))

    with loopback(served(script)) as server:
        options: dict[str, Any] = {"api_key": "fake-key", "base_url": f"{server.url}/v1"}
        with Chat(REALTIME, **options) as chat, chat.connect() as session:

            def send() -> None:
                for _ in range(50):
                    session.send_sound(b"\0\0")

            sender = threading.Thread(target=send)
            sender.start()
            found = [each.text for each in session.events() if isinstance(each, TextDelta)]
            sender.join()
    assert found == ["AAA="] * 50


@pytest.mark.parametrize("talk", EVERY)
def test_a_session_is_over_after_its_block(talk: Talk) -> None:
    def script(peer: Peer) -> None:
        while peer.message() is not None:
            pass

    with loopback(served(script)) as server:

        def work(door: Any) -> None:
            with door.connect() as session:
                session.close()
                assert session.next() is None
                with pytest.raises(errors.StreamIncomplete):
                    session.send("Hi")

        talk.chat(work, REALTIME, base_url=f"{server.url}/v1")


def test_mistakes_are_told_when_the_session_is_asked_for() -> None:
    with Chat("anthropic:claude-opus-5", api_key="fake-key") as chat:
        with pytest.raises(errors.ConfigurationError, match="anthropic has no live sessions"):
            chat.connect()
    with Chat(REALTIME, api_key="fake-key") as chat:
        with pytest.raises(errors.ConfigurationError, match="voices"):
            chat.connect(voices="marin")  # type: ignore[call-arg]
        with pytest.raises(errors.RuleError, match="messages"):
            chat.connect(messages=[7])  # type: ignore[list-item]
        with pytest.raises(errors.ConfigurationError, match=r"with chat\.connect"):
            next(chat.connect())  # type: ignore[call-overload]


def test_the_conversation_before_is_sent() -> None:
    got: list[Any] = []

    def script(peer: Peer) -> None:
        while (message := peer.message()) is not None:
            got.append(message)

    with loopback(served(script)) as server:
        options: dict[str, Any] = {"api_key": "fake-key", "base_url": f"{server.url}/v1"}
        with Chat(REALTIME, **options) as chat:
            with chat.connect(messages=Message.user("Hi")) as session:
                session.send()
                state = session.state
            with chat.connect(state=state):
                pass
    assert json.dumps(got[1]) == json.dumps(got[4])
    assert [each["type"] for each in got] == [
        "session.update",
        "conversation.item.create",
        "response.create",
        "session.update",
        "conversation.item.create",
    ]


def test_a_cassette_plays_a_session_without_its_server(tmp_path: Path) -> None:
    cassette = tmp_path / "tide.cassette.json"

    def talked(url: str) -> tuple[Message, ...]:
        options: dict[str, Any] = {"api_key": "fake-key", "base_url": f"{url}/v1"}
        with (
            Chat(REALTIME, tools=[Tool("tide")], **options) as chat,
            chat.connect(turns="client") as session,
        ):
            session.next = lambda: next(session.events())  # type: ignore[attr-defined]
            spoken_tool_loop(session)
            return session.messages

    with serve(Emulator(SPOKEN)) as server, record(cassette):
        recorded, url = talked(server.url), server.url
    with record(cassette, "none"):
        assert talked(url) == recorded
    assert b"fake-key" not in cassette.read_bytes()
