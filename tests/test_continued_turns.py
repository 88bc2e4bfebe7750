"""Conversations that end or begin with the assistant: each host judges them by its own rules."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.chat.test_chat import Door
from tests.joined import joined
from wire import Chat, notes
from wire.errors import HistoryError, RuleError
from wire.history import check
from wire.neutral.messages import Message
from wire.openai.chat.parse import parse_reply
from wire.openai.chat.reader import parse_completion
from wire.testing.emulator import Emulator

ASK = Message.user("Name a port.")
BEGUN = Message.assistant("The port is")
TURNS = [ASK, BEGUN]


def last(model: str, messages: list[Message], **settings: Any) -> tuple[Any, list[str]]:
    """The last message of the body, and the notes without those about `max_tokens`."""
    with Chat(model, api_key="fake-key", max_tokens=4000, **settings) as chat:
        call = chat.call(messages=messages)
    body = json.loads(call.body)
    turns = body.get("messages") or body.get("contents") or body.get("input")
    return turns[-1], [str(note) for note in notes(call)]


PLAIN = {"role": "assistant", "content": "The port is"}
ANEW = "messages[1]: not continued: this host answers with a message of its own"


@joined(
    "model, sent, said",
    [
        ("anthropic:claude-haiku-4-5", PLAIN, []),
        ("gemini:gemini-3.5-flash", {"parts": [{"text": "The port is"}], "role": "model"}, []),
        ("mistral:mistral-large-latest", {**PLAIN, "prefix": True}, []),
        ("deepseek@beta:deepseek-v4-pro", {**PLAIN, "prefix": True}, []),
        ("kimi:kimi-k2.6", {**PLAIN, "partial": True}, []),
        ("qwen@cn:qwen-max", {**PLAIN, "partial": True}, []),
        (
            "deepseek:deepseek-v4-pro",
            PLAIN,
            ["messages[1]: not continued: only deepseek@beta continues a message"],
        ),
        ("openai@chat:gpt-4.1", PLAIN, [ANEW]),
        (
            "openai@responses:gpt-5.4",
            {
                "type": "message",
                "role": "assistant",
                "content": [{"type": "output_text", "text": "The port is"}],
            },
            [ANEW],
        ),
        ("groq:llama-3.3-70b-versatile", PLAIN, []),
    ],
)
def test_a_last_message_of_the_assistant(model: str, sent: Any, said: list[str]) -> None:
    assert last(model, TURNS) == (sent, said)


@joined(
    "model, messages, path, words",
    [
        (
            "anthropic:claude-sonnet-5",
            TURNS,
            "messages[1]",
            "This model does not support assistant message prefill. The conversation must end with "
            "a user message.",
        ),
        (
            "anthropic:claude-haiku-4-5",
            [ASK, Message.assistant("The port is ")],
            "messages[1].content",
            "messages: final assistant content cannot end with trailing whitespace",
        ),
        (
            "gemini:gemini-3.8-flash",
            TURNS,
            "contents[1]",
            "Requests ending with a model turn are not supported.",
        ),
    ],
)
def test_a_last_message_is_refused_in_the_words_of_its_host(
    model: str, messages: list[Message], path: str, words: str
) -> None:
    with pytest.raises(RuleError) as caught:
        last(model, messages)
    [violation] = caught.value.violations
    assert (violation.path, violation.message) == (path, words)


def test_thinking_is_not_turned_on_within_a_message() -> None:
    said = last("anthropic:claude-haiku-4-5", TURNS, effort="low")[1]
    assert said == ["effort: not sent: the message that this request continues has no thoughts"]


HOSTS = [
    "anthropic:claude-sonnet-5",
    "gemini:gemini-3.8-flash",
    "mistral:mistral-large-latest",
    "openai@chat:gpt-4.1",
    "openai@responses:gpt-5.4",
]


@joined("model", HOSTS)
def test_the_assistant_may_begin(model: str) -> None:
    door = Door("threads")
    emulator = Emulator([{"say": "Brest."}])
    reply = door.ask(emulator, messages=[Message.assistant("Hello."), ASK], model=model)
    assert reply.text == "Brest."
    body = emulator.requests[-1]["body"]
    turns = body.get("messages") or body.get("contents") or body.get("input")
    assert [turn["role"] for turn in turns] == [
        "model" if "contents" in body else "assistant",
        "user",
    ]


@joined("style", ["threads", "asyncio", "trio"])
@joined(
    "model",
    ["anthropic:claude-haiku-4-5", "gemini:gemini-2.5-flash", "mistral:mistral-large-latest"],
)
def test_the_emulator_continues_the_message(model: str, style: str) -> None:
    ask = Message.user("Say six.")
    begun = Message.assistant("This is an emulator, and")
    reply = Door(style).ask(Emulator(), messages=[ask, begun], model=model)
    assert reply.text == " no model. You said: Say six."


def test_a_reply_that_was_cut_is_continued() -> None:
    cut = {"message": {**PLAIN, "content": "The port", "x": 1}, "finish_reason": "length"}
    body = json.dumps({"choices": [cut]}).encode()
    reply = parse_reply(parse_completion(body), provider="mistral", model="mistral-large-latest")
    assert last("mistral:mistral-large-latest", [ASK, reply.message])[0] == {
        "role": "assistant",
        "content": "The port",
        "prefix": True,
    }


def test_a_conversation_needs_a_message_and_no_result_may_begin_it() -> None:
    with pytest.raises(HistoryError, match="there is no user message"):
        last(HOSTS[0], [Message.system("Be brief.")])
    found = check([Message.assistant("Hello.")])
    assert [(each.rule, each.severity) for each in found] == [("H1", "warning"), ("H2", "warning")]
