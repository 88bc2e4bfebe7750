"""What most messages of a long history have is rendered and checked at once, as one by one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.property import examples
from wire import Message, Text, ToolCall, ToolResult, anthropic, gemini, notes
from wire.anthropic import parts as anthropic_parts
from wire.core.call import Call
from wire.errors import RuleError, WireError
from wire.gemini import endpoints as gemini_endpoints
from wire.gemini import turns as gemini_turns
from wire.gemini.fold import part_in
from wire.gemini.rules import turns as gemini_rules_turns
from wire.gemini.rules.turns import Kinds, kinds_of
from wire.neutral import request as neutral_request
from wire.neutral.messages import Origin, OwnTexts, with_origin
from wire.neutral.request import Request
from wire.openai.chat import parts as chat_parts
from wire.openai.chat import turns as chat_turns
from wire.openai.responses import parts as responses_parts
from wire.providers import PROVIDERS
from wire.wires.contract import WIRES

ROWS = ("gemini", "gemini@vertex", "openai@chat", "deepseek", "openai@responses", "anthropic")
SHORT_WAYS = (
    (neutral_request, "own_texts", lambda messages: OwnTexts({}, list(range(len(messages))))),
    (gemini_turns, "_is_text", lambda _: False),
    (chat_parts, "own_text", lambda _: None),
    (chat_turns, "_is_own_text", lambda _: False),
    (responses_parts, "own_text", lambda _: None),
    (anthropic_parts, "own_text", lambda _: None),
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
        for module, name, long_way in SHORT_WAYS:
            patched.setattr(module, name, long_way)
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


VALUES = [1, 2**70, 1.5, True, None, "Hi", "\ud800", float("nan"), b"x", [1], {"b": None}, {1, 2}]
OBJECTS = st.dictionaries(st.sampled_from(["a", "\u00e9"]), st.sampled_from(VALUES), max_size=2) | (
    st.sampled_from([None, {}, [1], "x", {1: "a"}, {b"a": "b"}, {"\ud800": 1}])
)
NAMES = st.sampled_from(["now"] * 9 + ["\ud800", "", 3, None])
IDS = st.sampled_from([None] * 5 + ["a1", 7])
SIGNATURES = st.sampled_from([None] * 9 + ["c2ln", "?", "\ud800", 7])
RECEIVED_PART = part_in(b'{"text": "Hello.", "mood": 1}')
ANY_PART = st.one_of(
    st.sampled_from(["Hi", "", "\ud800", "\u00e9", 5, b"x"]).map(
        lambda text: gemini.Part(text=text)
    ),
    st.sampled_from([gemini.Part(), gemini.Part(text="Hi", thought=True), RECEIVED_PART]),
    st.sampled_from([{"text": "Hi"}, {"text": 5}, "Hi", None]),
    st.builds(
        lambda name, args, id, signature: gemini.Part(
            function_call=gemini.FunctionCall(name=name, args=args, id=id),
            thought_signature=signature,
        ),
        NAMES,
        OBJECTS,
        IDS,
        SIGNATURES,
    ),
    st.builds(
        lambda name, response, id: gemini.Part(
            function_response=gemini.FunctionResponse(name=name, response=response, id=id)
        ),
        NAMES,
        OBJECTS,
        IDS,
    ),
)
ANY_CONTENT = st.builds(
    lambda role, parts: gemini.Content(role=role, parts=parts),
    st.sampled_from(["user", "model", "user", "model", "system", None, 7]),
    st.lists(ANY_PART, min_size=1, max_size=2) | st.sampled_from([None, [], (), 5]),
) | st.sampled_from([{"role": "user", "parts": [{"text": "Hi"}]}, {"role": 7}, 5])


def requested(contents: list[Any], host: str) -> Any:
    request = gemini.GenerateContentRequest(contents=contents)
    try:
        call = gemini.generate_content("gemini-3.8-flash", request)
        call.judge(PROVIDERS[host])
        return call.body, gemini.check(request, "gemini-3.8-flash", host)
    except RuleError as error:
        return error.violations


@pytest.mark.parametrize("host", ["gemini", "gemini@vertex"])
@given(st.lists(ANY_CONTENT, max_size=4))
@settings(max_examples=examples(400))
def test_contents_are_checked_as_one_by_one(host: str, contents: list[Any]) -> None:
    at_once = requested(contents, host)
    with pytest.MonkeyPatch.context() as patched:
        for module in (gemini_endpoints, gemini_rules_turns):
            patched.setattr(module, "kinds_of", lambda items: Kinds(*[list(range(len(items)))] * 2))
        assert requested(contents, host) == at_once


def test_what_many_contents_share_is_counted_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    call = gemini.Part(function_call=gemini.FunctionCall(name="now", args={"a": 1, "b": 2}))
    calls = [gemini.Content(role="model", parts=[call])] * 3
    texts = [gemini.Content(role="user", parts=[gemini.Part(text="Hi")] * 2)] * 3
    assert kinds_of(calls) == kinds_of(texts) == Kinds([0, 1, 2], [])
    monkeypatch.setattr(gemini_rules_turns, "MAX_VALUES", 5)
    assert kinds_of(calls) == kinds_of(texts) == Kinds([0, 1, 2], [0, 1, 2])


BLOCKS = st.builds(
    anthropic.ContentBlock,
    type=st.sampled_from(["text", "text", "tool_use", "thinking"]),
    text=st.sampled_from(["Hi", " ", "", None]),
    cache_control=st.sampled_from([None, None, anthropic.CacheControl(type="ephemeral")]),
)
ANTHROPIC_MESSAGES = st.builds(
    anthropic.Message,
    role=st.sampled_from(["user", "assistant", "system", None]),
    content=st.sampled_from(["Hi", " ", "", None]) | st.lists(BLOCKS, max_size=2),
) | st.sampled_from([{"role": "user", "content": "Hi"}, {"content": [{"type": "text"}]}, 5])


@given(st.lists(ANTHROPIC_MESSAGES, max_size=4))
@settings(max_examples=examples(400))
def test_messages_are_checked_as_structs_and_as_json(messages: list[Any]) -> None:
    request = anthropic.MessageRequest(model="claude-opus-4-8", max_tokens=9, messages=messages)
    as_json = msgspec.to_builtins(request)
    assert anthropic.check(request) == anthropic.check(as_json)
