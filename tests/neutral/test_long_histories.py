"""Messages that are one text are rendered at once, as message by message."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire import Message, Text, ToolCall, ToolResult, gemini, notes
from wire.anthropic import parts as anthropic_parts
from wire.core.call import Call
from wire.errors import WireError
from wire.gemini import parts as gemini_parts
from wire.gemini import turns as gemini_turns
from wire.neutral.messages import Origin, with_origin
from wire.neutral.request import Request
from wire.openai.chat import parts as chat_parts
from wire.openai.chat import turns as chat_turns
from wire.openai.responses import parts as responses_parts
from wire.providers import PROVIDERS
from wire.wires import WIRES

ROWS = ("gemini", "gemini@vertex", "openai@chat", "deepseek", "openai@responses", "anthropic")
SHORT_WAYS = (
    (gemini_parts, "own_text", None),
    (gemini_turns, "_is_text", False),
    (chat_parts, "own_text", None),
    (chat_turns, "_is_own_text", False),
    (responses_parts, "own_text", None),
    (anthropic_parts, "own_text", None),
)

TEXT_PARTS = st.builds(
    Text,
    st.sampled_from(["Hi", "", " ", "\u00e9"]),
    signature=st.sampled_from(["", "", "", "RXJR"]),
    refusal=st.sampled_from([False, False, False, True]),
)
OWN = st.builds(
    Message,
    st.sampled_from(["user", "assistant", "system"]),
    st.lists(TEXT_PARTS, min_size=1, max_size=2).map(tuple),
    st.sampled_from(["", "", "Ann"]),
)
RECEIVED = st.sampled_from(["gemini", "openai"]).map(
    lambda wire: with_origin(Message.assistant("Hello."), Origin(wire, "m", wire, b"{}"))
)
CALLED = st.just(
    (
        Message.assistant("Let me see.", ToolCall(id="call_1", name="now")),
        Message.tool_response(ToolResult("call_1", "now", "noon")),
    )
)
MESSAGES = st.lists(
    OWN.map(lambda each: (each,)) | RECEIVED.map(lambda each: (each,)) | CALLED, max_size=5
).map(lambda turns: (Message.user("Hi"), *(each for turn in turns for each in turn)))


@contextlib.contextmanager
def one_by_one() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        for module, name, answer in SHORT_WAYS:
            patched.setattr(module, name, lambda _, answer=answer: answer)
        yield


def rendered(row: str, messages: tuple[Message, ...]) -> Any:
    provider = PROVIDERS[row]
    request = Request(messages=(*messages, Message.user("Well?")))
    try:
        call: Call[Any] = WIRES[provider.wire].call(request, "m", provider)
    except WireError as error:
        return str(error)
    return call.body, notes(call)


@pytest.mark.parametrize("row", ROWS)
@given(MESSAGES)
def test_texts_are_rendered_as_message_by_message(row: str, messages: tuple[Message, ...]) -> None:
    at_once = rendered(row, messages)
    with one_by_one():
        assert rendered(row, messages) == at_once


@given(st.lists(st.sampled_from(["Hi", "", " "]), max_size=4))
def test_contents_of_texts_are_ordered_as_turn_by_turn(texts: list[str]) -> None:
    turns = [
        gemini.Content(role=role, parts=[gemini.Part(text=text)])
        for text in texts
        for role in ("user", "model")
    ]
    at_once = gemini.contents(*turns, "Well?")
    with one_by_one():
        by_turn = gemini.contents(*turns, "Well?")
    assert (by_turn, by_turn.notes) == (at_once, at_once.notes)
