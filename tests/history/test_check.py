"""Each rule of `check` by example: what breaks it, and what does not."""

from __future__ import annotations

import random

import pytest

from tests.joined import joined
from tests.property import sample
from wire.errors import RuleError
from wire.history import check
from wire.history.order import unanswered, with_results
from wire.neutral.messages import Media, Message, Other, Text, Thought, ToolCall, ToolResult

from .histories import conversation

HI, WELL = Message.user("Hi"), Message.user("Well?")
A, B = ToolCall(id="a", name="search"), ToolCall(id="b", name="read_file")
A_DONE, B_DONE = ToolResult("a", "search", "found"), ToolResult("b", "read_file", "read")


def found(*messages: Message) -> list[tuple[str, str]]:
    return [(violation.rule, violation.path) for violation in check(messages)]


@pytest.mark.row("S0-06")
@joined(
    "messages",
    [
        [HI],
        [Message.system("Be brief."), HI],
        [HI, Message.assistant("Hello."), WELL],
        [HI, WELL],
        [HI, Message.assistant("Hel"), Message.assistant("lo."), WELL],
        [HI, Message.assistant(A), Message.tool_response(A_DONE)],
        [
            HI,
            Message.assistant("I look.", A, B, "So."),
            Message.tool_response(B_DONE, A_DONE),
            Message.assistant("Done."),
            WELL,
        ],
        [HI, Message.assistant(A, B), Message.tool_response(B_DONE), Message.tool_response(A_DONE)],
        [
            HI,
            Message.assistant(A, B),
            Message.system("x"),
            Message.tool_response(B_DONE),
            Message.system("x"),
            Message.tool_response(A_DONE),
        ],
        [
            HI,
            Message.assistant(A),
            Message.tool_response(A_DONE),
            Message.assistant(A),
            Message.tool_response(A_DONE),
        ],
        [HI, Message.user(Media(url="gs://a/b"), Other("input_audio")), Message.system("x")],
    ],
)
def test_what_can_be_sent_breaks_no_rule(messages):
    assert check(messages) == []


@pytest.mark.sampled
def test_500_random_conversations_break_no_rule():
    for seed in sample(range(500)):
        assert check(conversation(random.Random(seed))) == [], seed


@pytest.mark.row("H1")
def test_the_user_has_the_first_word():
    assert found() == [("H1", "messages")]
    assert found(Message.system("Be brief.")) == [("H1", "messages")]
    assert found(Message.system("Be brief."), Message.assistant("Hello."), HI) == [
        ("H1", "messages[1]")
    ]
    assert found(Message.tool_response(A_DONE), HI) == [
        ("H1", "messages[0]"),
        ("H4", "messages[0].parts[0]"),
    ]


@pytest.mark.row("S4-13", "H2")
def test_the_assistant_has_not_the_last_word():
    assert found(HI, Message.assistant("Hello.")) == [("H2", "messages[1]")]
    assert found(HI, Message.assistant("Hello."), Message.system("Be brief.")) == [
        ("H2", "messages[1]")
    ]
    assert found(HI, Message.assistant("Hello."), WELL) == []


@pytest.mark.row("S1-45", "H3")
def test_every_call_has_its_result():
    assert found(HI, Message.assistant(A), WELL) == [("H3", "messages[1].parts[0]")]
    assert found(HI, Message.assistant("I look.", A, B), Message.tool_response(A_DONE), WELL) == [
        ("H3", "messages[1].parts[2]")
    ]
    assert found(HI, Message.assistant(A, B)) == [
        ("H2", "messages[1]"),
        ("H3", "messages[1].parts[0]"),
        ("H3", "messages[1].parts[1]"),
    ]
    [violation] = check([HI, Message.assistant(A), WELL])
    assert violation.message == "the call of search (a) has no result in the messages after it"


@pytest.mark.row("H3")
def test_something_between_a_call_and_its_result():
    for between in (WELL, Message.assistant("Wait.")):
        assert found(HI, Message.assistant(A), between, Message.tool_response(A_DONE)) == [
            ("H3", "messages[1].parts[0]"),
            ("H4", "messages[3].parts[0]"),
        ]


@pytest.mark.row("H4")
def test_a_result_answers_a_call_of_the_turn_before():
    assert found(HI, Message.tool_response(A_DONE)) == [("H4", "messages[1].parts[0]")]
    assert found(HI, Message.assistant(A), Message.tool_response(A_DONE, B_DONE)) == [
        ("H4", "messages[2].parts[1]")
    ]
    late = [
        HI,
        Message.assistant(A),
        Message.tool_response(A_DONE),
        Message.assistant(B),
        Message.tool_response(B_DONE, A_DONE),
    ]
    assert found(*late) == [("H4", "messages[4].parts[1]")]


@pytest.mark.row("H5")
def test_a_call_is_answered_once():
    assert found(HI, Message.assistant(A), Message.tool_response(A_DONE, A_DONE)) == [
        ("H5", "messages[2].parts[1]")
    ]
    assert found(
        HI, Message.assistant(A), Message.tool_response(A_DONE), Message.tool_response(A_DONE)
    ) == [("H5", "messages[3].parts[0]")]


@pytest.mark.row("H6")
def test_two_calls_of_one_turn_have_two_ids():
    assert found(HI, Message.assistant(A, A), Message.tool_response(A_DONE, A_DONE)) == [
        ("H6", "messages[1].parts[1]")
    ]
    assert found(HI, Message.assistant(A, A), Message.tool_response(A_DONE)) == [
        ("H6", "messages[1].parts[1]"),
        ("H3", "messages[1].parts[1]"),
    ]


@pytest.mark.row("H7")
@joined(
    ("role", "part"),
    [
        *[
            ("system", part)
            for part in (Thought("hm"), A, A_DONE, Media(url="gs://a/b"), Other("x"))
        ],
        *[("user", part) for part in (Thought("hm"), A, A_DONE)],
        ("assistant", A_DONE),
        *[
            ("tool", part)
            for part in (Text("x"), Thought("hm"), A, Media(url="gs://a/b"), Other("x"))
        ],
    ],
)
def test_a_part_where_it_cannot_be(role, part):
    messages = {
        "system": [Message.system("x", part), HI],
        "user": [Message.user("x", part)],
        "assistant": [HI, Message.assistant("x", part), WELL],
        "tool": [HI, Message.assistant(A), Message("tool", (A_DONE, part))],
    }[role]
    place = next(index for index, message in enumerate(messages) if message.role == role)
    assert found(*messages) == [("H7", f"messages[{place}].parts[1]")]


@pytest.mark.row("H8")
def test_a_message_has_parts():
    assert found(HI, Message.assistant(), WELL) == [("H8", "messages[1]")]
    assert found(HI, Message.assistant(A), Message.user(), Message.tool_response(A_DONE)) == [
        ("H3", "messages[1].parts[0]"),
        ("H8", "messages[2]"),
        ("H4", "messages[3].parts[0]"),
    ]


def test_what_is_no_message_is_named():
    with pytest.raises(RuleError, match=r"messages\[1\]: expected a Message, not dict"):
        check([HI, {"role": "user"}])
    with pytest.raises(RuleError, match="messages: expected a list of messages, not Message"):
        check(HI)
    with pytest.raises(RuleError, match="messages: expected a list of messages, not str"):
        check("Hi")


def test_results_join_their_turn_one_by_one_in_call_order():
    calls = [ToolCall(id=id, name="f") for id in "abb"]
    said = (Message.user("Hi"), Message.assistant(*calls[:2]), Message.assistant(calls[2]))
    assert with_results(said, []) == said
    for id, left in (("b", "ab"), ("a", "b"), ("b", "")):
        said = with_results(said, [ToolResult(id, "f", left)])
        assert "".join(call.id for call in unanswered(said)) == left
    assert len(said) == 4
    assert [(result.id, result.content) for result in said[-1].tool_results] == [
        ("a", "b"),
        ("b", "ab"),
        ("b", ""),
    ]
    nobody = with_results(said, [ToolResult("z", "f", "?")])
    assert [result.id for result in nobody[-1].tool_results] == ["a", "b", "b", "z"]
