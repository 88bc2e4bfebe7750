"""The setting `compaction`: requests, the emulator's compactions, and what is sent after them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from wire import Agent, Chat, Compaction, HistoryManager, Message, Request, Tool
from wire.core.memory import notes
from wire.errors import BadRequestError, RuleError
from wire.history import check
from wire.neutral.messages import Other, ToolCall, ToolResult
from wire.testing.emulator import Emulator, EmulatorTransport

CLAUDE, GPT = "anthropic:claude-opus-5", "openai@responses:gpt-5.6"
OTHERS = ["gemini:gemini-3.8-flash", "openai@chat:gpt-4.1", "anthropic:claude-haiku-4-5"]
LEAST = {CLAUDE: 50_000, GPT: 1_000}
TALK = [Message.user("Hi"), Message.assistant("Yes?")]


def body_of(model: str, **settings: Any) -> dict[str, Any]:
    with Chat(model, api_key="fake-key", max_tokens=99) as chat:
        return json.loads(chat.call("Hi", **settings).body)


def noted(model: str, **settings: Any) -> list[str]:
    with Chat(model, api_key="fake-key", max_tokens=99) as chat:
        return [str(note) for note in notes(chat.call("Hi", **settings))]


# --- requests: the keys and values of the vendors' guides -----------------------------------------


@pytest.mark.parametrize(
    ("model", "compaction", "sent"),
    [
        (CLAUDE, True, {"edits": [{"type": "compact_20260112"}]}),
        (
            CLAUDE,
            60_000,
            {
                "edits": [
                    {
                        "type": "compact_20260112",
                        "trigger": {"type": "input_tokens", "value": 60_000},
                    }
                ]
            },
        ),
        (
            CLAUDE,
            Compaction(instructions="Keep the names."),
            {"edits": [{"type": "compact_20260112", "instructions": "Keep the names."}]},
        ),
        (GPT, True, [{"type": "compaction"}]),
        (GPT, 9_000, [{"type": "compaction", "compact_threshold": 9_000}]),
    ],
)
def test_the_setting_is_sent_as_the_vendor_spells_it(model: str, compaction: Any, sent: Any):
    assert body_of(model, compaction=compaction)["context_management"] == sent
    assert "context_management" not in body_of(model, compaction=False)


def test_only_a_request_that_compacts_names_the_beta():
    with Chat(CLAUDE, api_key="fake-key", max_tokens=99) as chat:
        call = chat.call("Hi", compaction=True)
        assert call.headers["anthropic-beta"] == "compact-2026-01-12"
        assert "anthropic-beta" not in chat.call("Hi").headers


@pytest.mark.parametrize("model", [CLAUDE, GPT])
def test_a_trigger_below_the_least_of_the_host_is_raised_with_a_note(model: str):
    least = f"{LEAST[model]:,}"
    assert noted(model, compaction=LEAST[model] - 1) == [
        f"compaction.trigger: changed to {least}: the host takes no less than that"
    ]
    assert noted(model, compaction=LEAST[model]) == []


@pytest.mark.parametrize("model", OTHERS)
def test_a_host_that_does_not_compact_gets_nothing_and_a_note(model: str):
    [note] = noted(model, compaction=60_000)
    assert note.startswith("compaction: not sent: ")
    assert "context_management" not in body_of(model, compaction=60_000)


def test_instructions_for_responses_are_noted():
    [note] = noted(GPT, compaction=Compaction(instructions="Keep the names."))
    assert (
        note == "compaction.instructions: not sent: the server of Responses takes no instructions"
    )


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("soon", "compaction: expected a number of tokens, True or a Compaction, not str"),
        (0, "compaction.trigger: expected a whole number from 1 up"),
        (-5, "compaction.trigger: expected a whole number from 1 up"),
    ],
)
def test_another_value_is_refused(value: Any, message: str):
    with pytest.raises(RuleError) as caught:
        Request(messages=(Message.user("Hi"),), compaction=value)
    assert message in str(caught.value)


def test_a_model_for_summaries_is_for_agents():
    with pytest.raises(RuleError, match="only an agent asks another model"):
        body_of(CLAUDE, compaction=Compaction(model="gemini:gemini-3.8-flash"))


# --- the emulator, and what comes back ------------------------------------------------------------


def long_text(model: str) -> str:
    return "word " * (LEAST[model] + 100)


def compacted(model: str, emulator: Emulator, *, stream: bool) -> tuple[list[Message], Any]:
    """A conversation that was compacted in its last reply, and the reply."""
    messages = [*TALK, Message.user(long_text(model))]
    with Chat(model, api_key="fake-key", http=EmulatorTransport(emulator), max_tokens=99) as chat:
        if stream:
            with chat.stream(messages=messages, compaction=LEAST[model]) as events:
                reply = events.reply()
        else:
            reply = chat.ask(messages=messages, compaction=LEAST[model])
    return [*messages, reply.message], reply


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", [CLAUDE, GPT])
def test_a_compaction_goes_back_as_it_came_in_place_of_what_it_stands_for(model: str, stream: bool):
    emulator = Emulator([{"say": "Fine."}] * 2)
    messages, reply = compacted(model, emulator, stream=stream)
    first = reply.message.parts[0]
    assert isinstance(first, Other)
    assert (first.kind, reply.text, reply.stop.reason) == ("compaction", "Fine.", "end")
    messages.append(Message.user("And now?"))
    assert check(messages) == []
    with Chat(model, api_key="fake-key", http=EmulatorTransport(emulator), max_tokens=99) as chat:
        after = chat.ask(messages=messages, compaction=LEAST[model])
    assert after.usage is not None
    assert after.usage.input < 500  # tokens
    sent = emulator.requests[-1]["body"]
    block = sent["messages"][0]["content"][0] if model == CLAUDE else sent["input"][0]
    came = json.loads(reply.message.origin.raw)
    own = came["content"][0] if model == CLAUDE else came["output"][0]
    assert block == {key: value for key, value in own.items() if key in block}
    assert block["type"] == "compaction"
    assert block.get("content") or block.get("encrypted_content")
    assert [str(note) for note in after.notes] == [
        "messages[0]: not sent: 3 messages before the compaction, which stands for them"
    ]


def test_a_compaction_goes_to_no_other_vendor_which_gets_all_messages():
    emulator = Emulator([{"say": "Fine."}] * 3)
    messages, _ = compacted(CLAUDE, emulator, stream=False)
    with Chat("gemini:gemini-3.8-flash", api_key="fake-key") as chat:
        call = chat.call(messages=[*messages, Message.user("And now?")])
    assert len(json.loads(call.body)["contents"]) == 5
    assert b"Summary of" not in call.body
    assert [str(note) for note in notes(call)] == [
        "messages[3].parts[0]: withheld: compaction is understood by its own vendor only"
    ]


def test_a_request_that_sends_a_compaction_back_has_the_edit():
    emulator = Emulator([{"say": "Fine."}] * 2)
    messages, _ = compacted(CLAUDE, emulator, stream=False)
    with Chat(CLAUDE, api_key="fake-key", max_tokens=99) as chat:
        call = chat.call(messages=[*messages, Message.user("And now?")])
    assert json.loads(call.body)["context_management"] == {"edits": [{"type": "compact_20260112"}]}
    assert call.headers["anthropic-beta"] == "compact-2026-01-12"


def test_system_messages_before_a_compaction_are_sent():
    emulator = Emulator([{"say": "Fine."}] * 2)
    messages, _ = compacted(CLAUDE, emulator, stream=False)
    with Chat(CLAUDE, api_key="fake-key", max_tokens=99) as chat:
        call = chat.call(messages=[Message.system("Be brief."), *messages, Message.user("Now?")])
    assert json.loads(call.body)["system"] == "Be brief."


def test_calls_made_after_a_compaction_are_answered():
    emulator = Emulator(
        [{"say": {"calls": [{"name": "look", "args": {"at": "sea"}}]}}, {"say": "Blue."}]
    )
    tool = {"type": "object", "properties": {"at": {"type": "string"}}}
    settings: dict[str, Any] = {"tools": [Tool("look", "Look.", tool)], "max_tokens": 99}
    messages = [*TALK, Message.user(long_text(CLAUDE))]
    with Chat(CLAUDE, api_key="fake-key", http=EmulatorTransport(emulator), **settings) as chat:
        reply = chat.ask(messages=messages, compaction=LEAST[CLAUDE])
        [call] = reply.tool_calls
        messages += [reply.message, Message("tool", (ToolResult(call.id, call.name, "blue"),))]
        after = chat.ask(messages=messages, compaction=LEAST[CLAUDE])
    assert isinstance(reply.message.parts[0], Other)
    assert isinstance(reply.message.parts[-1], ToolCall)
    assert after.text == "Blue."


def test_the_emulator_refuses_what_the_server_refuses():
    with Chat(
        CLAUDE, api_key="fake-key", http=EmulatorTransport(Emulator()), max_tokens=99, retry=None
    ) as chat:
        edit = {"type": "compact_20260112", "trigger": {"type": "input_tokens", "value": 49_999}}
        options = {"anthropic": {"context_management": {"edits": [edit]}}}
        with pytest.raises(RuleError, match="A49"):
            chat.ask("Hi", options=options)
        edit["trigger"]["value"] = 50_000  # type: ignore[index]
        with pytest.raises(BadRequestError, match="Extra inputs are not permitted"):
            chat.ask("Hi", options=options)  # without the beta


def test_a_threshold_that_openai_refuses_is_refused_before_it_is_sent():
    options = {"openai": {"context_management": [{"type": "compaction", "compact_threshold": 999}]}}
    with (
        Chat(GPT, api_key="fake-key") as chat,
        pytest.raises(RuleError, match=r"context_management\[0\].*Expected a value >= 1000"),
    ):
        chat.call("Hi", options=options)


def test_the_tokens_of_a_request_that_compacts_are_counted():
    with Chat(CLAUDE, api_key="fake-key", http=EmulatorTransport(Emulator())) as chat:
        assert chat.count("Hi", compaction=60_000).total == 1


@pytest.mark.parametrize("stream", [False, True])
def test_an_agent_goes_on_after_a_server_that_paused_at_its_compaction(stream: bool):
    edit = {
        "type": "compact_20260112",
        "trigger": {"type": "input_tokens", "value": 50_000},
        "pause_after_compaction": True,
    }
    options = {"anthropic": {"context_management": {"edits": [edit]}}}
    emulator = Emulator([{"say": "Fine."}] * 3)
    with Chat(
        CLAUDE,
        api_key="fake-key",
        http=EmulatorTransport(emulator),
        max_tokens=99,
        options=options,
        headers={"anthropic-beta": "compact-2026-01-12"},
    ) as chat:
        result = Agent(chat, history=HistoryManager(max_tokens=None)).run(
            long_text(CLAUDE), stream=stream
        )
    first, second = (step.reply for step in result.steps)
    assert (first.stop.reason, first.stop.raw, first.text) == ("pause", "compaction", "")
    assert (second.stop.reason, second.text, result.reason) == ("end", "Fine.", "end")
    [message] = result.messages  # both replies are one message
    assert [type(part).__name__ for part in message.parts] == ["Other", "Text"]
    sent = emulator.requests[-1]["body"]["messages"]
    assert [block["type"] for block in sent[0]["content"]] == ["compaction"]
