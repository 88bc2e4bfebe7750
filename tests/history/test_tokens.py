"""The estimate of `estimate_tokens`, with numbers."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.joined import joined
from wire.history import estimate_request, estimate_tokens
from wire.history.tokens import MEDIA_TOKENS
from wire.neutral.deferred import FIND_TOOLS
from wire.neutral.messages import Media, Message, Other, Text, Thought, ToolCall, ToolResult
from wire.neutral.request import Request, Tool


@pytest.mark.row("S1-44")
@joined(
    ("message", "tokens"),
    [
        (Message.user(), 0),
        (Message.user("abc"), 0),
        (Message.user("abcd"), 1),
        (Message.user("a" * 4003), 1000),
        (Message.user("abc", "abc"), 1),  # rounded down once, not for each part
        (Message.assistant(Thought("abcd"), "abcd"), 2),
        (
            Message.assistant(
                Text("abcd", signature="s" * 400),
                Thought("", signature="s" * 400, details=({"data": "x" * 400},)),
            ),
            1,
        ),
        # twice "search" and {'query': 'tide'}
        (
            Message.assistant(ToolCall(id="x" * 400, name="search", arguments={"query": "tide"})),
            (2 * 6 + 17) // 4,
        ),
        (
            Message.assistant(ToolCall(name="search", arguments=None, text='{"query": "ti')),
            (2 * 6 + 13) // 4,
        ),
        # {'result': 'found'}, {'error': 'none'}, {'found': 3}
        (Message.tool_response(ToolResult("x" * 400, "search", "found")), (2 * 6 + 19) // 4),
        (Message.tool_response(ToolResult("a", "search", "none", error=True)), (2 * 6 + 17) // 4),
        (Message.tool_response(ToolResult("a", "search", {"found": 3})), (2 * 6 + 12) // 4),
        (Message.user(Media(url="gs://a/b")), MEDIA_TOKENS),
        (Message.user("abcd", Media(data=b"x" * 4000, media_type="image/png")), 1 + MEDIA_TOKENS),
        (
            Message.tool_response(
                ToolResult("a", "shot", "ok", media=(Media(url="gs://a/b"),) * 2)
            ),
            (2 * 4 + 16) // 4 + 2 * MEDIA_TOKENS,
        ),
        (Message.assistant(Other("code", {"code": "1 + 1"})), 17 // 4),
        (Message.assistant(Other("code")), 0),
    ],
)
def test_every_part_counts(message, tokens):
    assert estimate_tokens(message) == tokens


@pytest.mark.row("S1-44")
@joined(
    ("text", "tokens"),
    [
        ("東京の天気を教えてください。", 10),
        ("東", 1),
        ("東京", 2),
        ("東京の", 2),
        ("tide 潮", 1 + 1),
        ("서울", 2),
        ("прилив", 4),
    ],
)
def test_other_scripts_are_not_undercounted(text, tokens):
    assert estimate_tokens(Message.user(text)) == tokens


@pytest.mark.row("S1-44")
def test_other_scripts_in_arguments_and_results_count_as_they_read():
    text = "東京" * 300
    assert (
        estimate_tokens(Message.assistant(ToolCall(name="search", arguments={"of": text})))
        == (12 + 10) // 4 + 400
    )
    assert (
        estimate_tokens(Message.tool_response(ToolResult("a", "search", text)))
        == (12 + 14) // 4 + 400
    )


@pytest.mark.row("S1-44")
@given(st.text(), st.text())
def test_never_less_than_the_share_of_each_character(one, other):
    tokens = estimate_tokens(Message.user(one, other))
    beyond = sum(not letter.isascii() for letter in one + other)
    assert tokens >= beyond / 1.5
    assert tokens == (len(one + other) - beyond) // 4 + math.ceil(beyond / 1.5)


def test_deferred_tools_count_when_they_are_sent():
    now = Tool("now", "Tells the time.")
    cranes = [Tool(f"crane_{at}", "Moves a crane.", deferred=True) for at in range(300)]
    find = Tool(FIND_TOOLS, "Finds tools.")
    found = [
        Message.assistant(ToolCall(id="1", name=FIND_TOOLS, arguments={"query": "crane"})),
        Message.tool_response(ToolResult("1", FIND_TOOLS, {"tools": [{"name": "crane_7"}]})),
    ]

    def tokens(tools, messages=()):
        said = (Message.user("Hi."), *messages)
        return estimate_request(Request(messages=said, tools=tools))

    assert tokens((now, find, *cranes)) == tokens((now, find))
    assert tokens((now, find, *cranes), found) == tokens((now, find, cranes[7]), found)
    in_full = [msgspec.structs.replace(each, deferred=False) for each in cranes]
    assert tokens((now, *cranes)) == tokens((now, *in_full)) > tokens((now, find)) + 1_000
