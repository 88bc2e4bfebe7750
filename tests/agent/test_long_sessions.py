"""Agents with `compaction=`: sessions of many turns with tools, on the four wires."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import anyio
import pytest

import wire
from wire import Agent, AsyncChat, Chat, Compaction, LLMAgent, Message, ToolCall
from wire.agent import RunResult, dump_run, load_run
from wire.errors import ConfigurationError, StreamIncomplete
from wire.history import Compacted, check, cut_for_summary, summary_request
from wire.neutral.messages import Other, Reply, Stop, ToolResult
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport

GEMINI, CHAT = "gemini:gemini-3.8-flash", "openai@chat:gpt-4.1"
CLAUDE, GPT = "anthropic:claude-opus-5", "openai@responses:gpt-5.6"
HAIKU, GROK = "anthropic:claude-haiku-4-5", "xai@responses:grok-4.5"
"""On the wires of the two before, without a compaction by the server."""
STYLES = ["threads", "asyncio", "trio"]
SUMMARY = {"match": {"text": "Summarise this"}, "times": 10**6, "say": "All seas were blue."}


WAVES = {"sea": 300, "ocean": 3_000, "deep": 30_000}
"""Place to the words of what is seen there, a token each."""


def look(at: str) -> str:
    """Look at a place."""
    return f"{at}: {'wave ' * WAVES[at]}"


def emulated(turns: int, place: str = "sea") -> Emulator:
    """Each turn has a call and an answer; a summary whenever one is asked for."""
    call = {"say": {"calls": [{"name": "look", "args": {"at": place}}]}}
    return Emulator([SUMMARY, *[call, {"say": "Blue."}] * turns])


def session(
    style: str, model: str, emulator: Emulator, turns: int, **options: Any
) -> tuple[list[RunResult], list[Message]]:
    """Run an agent some turns; return the results, and the messages of its history."""
    results = []
    if style == "threads":
        with Chat(model, api_key="fake-key", http=EmulatorTransport(emulator)) as chat:
            agent = Agent(chat, "Be brief.", tools=[look], **options)
            for turn in range(turns):
                results.append(agent.run(f"Look, {turn}."))
        return results, list(agent.history.messages)

    async def main() -> list[Message]:
        transport = AsyncEmulatorTransport(emulator)
        async with AsyncChat(model, api_key="fake-key", http=transport) as chat:
            agent = LLMAgent(chat, "Be brief.", tools=[look], **options)
            for turn in range(turns):
                results.append(await agent.run(f"Look, {turn}.", stream=bool(turn % 2)))
        return list(agent.history.messages)

    return results, anyio.run(main, backend=style)


def prompt_of(body: Any) -> list[Any]:
    return next(body[key] for key in ("messages", "contents", "input") if key in body)


# --- sessions -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "place", "trigger", "turns"),
    [
        (GEMINI, "sea", 8_000, 60),
        (CHAT, "sea", 8_000, 60),
        (CLAUDE, "ocean", 50_000, 60),
        (GPT, "sea", 8_000, 60),
        *(
            pytest.param(
                model, place, trigger, 400, marks=[pytest.mark.slow, pytest.mark.timeout(600)]
            )
            for model, place, trigger in [
                (GEMINI, "sea", 8_000),
                (CHAT, "sea", 8_000),
                (CLAUDE, "sea", 50_000),
                (HAIKU, "sea", 8_000),
                (GPT, "sea", 8_000),
                (GROK, "sea", 8_000),
            ]
        ),
    ],
)
def test_a_long_session_stays_below_the_trigger(
    model: str, place: str, trigger: int, turns: int
) -> None:
    """The server compacts, or the agent does; the emulator refuses what the vendor does."""
    emulator = emulated(turns, place)
    wrong: list[Any] = []

    def checked(messages: Sequence[Message]) -> Sequence[Message]:
        wrong.extend(check(messages))
        return messages

    results, history = session("threads", model, emulator, turns, compaction=trigger, view=checked)
    assert wrong == []
    assert {result.reason for result in results} == {"end"}
    assert {result.text for result in results} == {"Blue."}
    assert check([*history, Message.user("And now?")]) == []
    assert len(history) == 4 * turns  # no message is lost
    assert turns * WAVES[place] > 2 * trigger
    used = [
        step.reply.usage.input for result in results for step in result.steps if step.reply.usage
    ]
    assert len(used) == 2 * turns
    assert max(used) < trigger * 1.2
    window = wire.model(model.replace("@chat", "").replace("@responses", "")).context_window
    assert window is None or max(used) < window
    print(model, {"turns": turns, "largest request": max(used), "window": window})
    by_server = [
        part
        for message in history
        for part in message.parts
        if isinstance(part, Other) and part.kind == "compaction"
    ]
    by_agent = [reply for result in results for reply in result.compactions]
    assert (len(by_server) > 1, len(by_agent) > 1) == (
        (True, False) if model in (CLAUDE, GPT) else (False, True)
    )


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize(
    ("model", "place", "trigger"), [(CLAUDE, "deep", 50_000), (GPT, "sea", 1_000)]
)
def test_the_compaction_of_the_server_stands_for_the_messages_before_it(
    style: str, model: str, place: str, trigger: int
) -> None:
    emulator = emulated(5, place)
    results, history = session(style, model, emulator, 5, compaction=trigger)
    assert {result.text for result in results} == {"Blue."}
    assert [result.compactions for result in results] == [()] * 5  # none by the agent
    assert [each.text for each in history if each.role == "user"] == [
        f"Look, {turn}." for turn in range(5)
    ]
    sent = json.dumps(prompt_of(emulator.requests[-1]["body"]))
    assert '"compaction' in sent
    assert "Look, 0." not in sent
    assert "Look, 4." in sent


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("model", [GEMINI, CHAT])
def test_a_summary_stands_for_the_first_messages(style: str, model: str) -> None:
    emulator = emulated(12)
    results, history = session(style, model, emulator, 12, compaction=2_000)
    compacted = results[-1].state.compacted
    assert compacted is not None
    assert compacted.summary == "All seas were blue."
    assert [each.text for each in history if each.role == "user"] == [
        f"Look, {turn}." for turn in range(12)
    ]
    sent = prompt_of(emulator.requests[-1]["body"])
    begin = json.dumps(sent[:2] if model == CHAT else sent[:1])
    assert "All seas were blue." in begin
    assert "Look, 0." not in json.dumps(sent)
    assert "Look, 11." in json.dumps(sent)


def test_one_long_run_is_compacted_between_its_replies() -> None:
    call = {"say": {"calls": [{"name": "look", "args": {"at": "sea"}}]}}
    emulator = Emulator([SUMMARY, *[call] * 30, {"say": "Blue."}])
    with Chat(GEMINI, api_key="fake-key", http=EmulatorTransport(emulator)) as chat:
        agent = Agent(chat, tools=[look], compaction=Compaction(trigger=3_000, keep=1))
        result = agent.run("Look often.", max_steps=40)
    assert (result.text, len(result.steps)) == ("Blue.", 31)
    assert len(result.compactions) > 3
    assert max(step.reply.usage.input for step in result.steps if step.reply.usage) < 3_600
    assert len(result.messages) == 61
    assert result.usage.input > sum(
        step.reply.usage.input for step in result.steps if step.reply.usage
    )
    assert result.cost.known > sum(step.reply.cost.known for step in result.steps)


def test_a_run_is_saved_with_its_summary_and_resumed_with_it() -> None:
    emulator = emulated(12)
    results, _ = session("threads", CHAT, emulator, 9, compaction=2_000)
    state = results[-1].state
    assert state.compacted is not None
    loaded = load_run(dump_run(state))
    assert loaded == state
    follow_up = Emulator([{"say": "Green."}])
    with Chat(CHAT, api_key="fake-key", http=EmulatorTransport(follow_up)) as chat:
        # The agent that goes on needs no compaction of its own.
        goes_on = RunResult(state=loaded).state
        agent = Agent(chat)
        open_state = type(goes_on)(
            messages=(*goes_on.messages, Message.user("And now?")),
            begun=goes_on.begun,
            compacted=goes_on.compacted,
        )
        assert agent.resume(open_state).text == "Green."
    sent = json.dumps(follow_up.requests[-1]["body"])
    assert "All seas were blue." in sent
    assert "Look, 0." not in sent


@pytest.mark.parametrize("style", ["threads", "trio"])
def test_another_model_writes_the_summaries(style: str) -> None:
    other = Emulator([{"match": {"text": "Keep the colours"}, "times": 10**6, "say": "Blue seas."}])
    model: Any
    if style == "threads":
        model = Chat(CLAUDE, api_key="fake-key", http=EmulatorTransport(other))
    else:
        model = AsyncChat(CLAUDE, api_key="fake-key", http=AsyncEmulatorTransport(other))
    compaction = Compaction(trigger=2_000, instructions="Keep the colours.", model=model)
    results, _ = session(style, CHAT, emulated(8), 8, compaction=compaction)
    assert results[-1].state.compacted is not None
    assert results[-1].state.compacted.summary == "Blue seas."
    assert len(other.requests) == sum(len(each.compactions) for each in results) > 0


@pytest.mark.parametrize(
    "step",
    [
        {"say": {"text": "All seas", "finish": "length"}},
        {"say": ""},
    ],
)
def test_a_summary_that_is_cut_or_empty_is_an_error_and_nothing_is_lost(step: Any) -> None:
    failing = {"match": {"text": "Summarise this"}, "times": 10**6, **step}
    call = {"say": {"calls": [{"name": "look", "args": {"at": "sea"}}]}}
    emulator = Emulator([failing, *[call] * 20])
    with Chat(CHAT, api_key="fake-key", http=EmulatorTransport(emulator), retry=None) as chat:
        from wire.retry import NONE

        agent = Agent(chat, tools=[look], compaction=2_000, retry=NONE)
        with pytest.raises(StreamIncomplete):
            agent.run("Look often.")
        state = agent.last_run.state if agent.last_run else None
    assert state is not None
    assert state.compacted is None
    assert check(state.messages) == []
    assert len(state.messages) > 6


# --- the functions --------------------------------------------------------------------------------


def talk(turns: int) -> list[Message]:
    messages = []
    for turn in range(turns):
        call = ToolCall(id=f"call_{turn}", name="look", arguments={})
        messages += [
            Message.user(f"Look, {turn}."),
            Message.assistant(call),
            Message("tool", (ToolResult(call.id, "look", "blue"),)),
            Message.assistant("Blue."),
        ]
    return messages


@pytest.mark.parametrize("keep", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("length", range(1, 17))
def test_a_cut_never_parts_a_call_from_its_result(keep: int, length: int) -> None:
    messages = talk(4)[:length]
    cut = cut_for_summary(messages, keep)
    kept = messages[cut:]
    if cut:
        assert sum(each.role == "assistant" for each in kept) == keep
    sent = Compacted(cut, "They met.").applied(messages) if cut else messages
    assert [each.rule for each in check(sent)] == [each.rule for each in check(messages)]
    if cut and messages[cut - 1].role != "tool":
        assert kept[0].role == "user"


def test_a_second_summary_stands_for_the_first_one_too() -> None:
    asked = summary_request(talk(3), 8, Compacted(4, "They met."), "In one line.")
    assert "They met." in asked[0].text
    assert [each.text for each in asked[1:]] == ["Look, 1.", "", "", "Blue.", "In one line."]


def test_system_messages_stay_before_the_summary() -> None:
    messages = [Message.system("Be brief."), *talk(1)]
    roles = [each.role for each in Compacted(5, "They met.").applied(messages)]
    assert roles == ["system", "user"]


def test_values_of_the_option_are_checked() -> None:
    class Model:
        def ask(self, **_: Any) -> Reply:
            return Reply(Message.assistant("Hi."), Stop("end"))

        stream: Callable[..., Any] = ask

    with pytest.raises(ConfigurationError, match="compaction: expected a number of tokens"):
        Agent(Model(), compaction="soon")  # type: ignore[arg-type]
    assert Agent(Model(), compaction=False).run("Hi").text == "Hi."
    assert Agent(Model(), compaction=True).run("Hi").text == "Hi."
