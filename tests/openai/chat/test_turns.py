"""Turns rendered as messages: order, refusals, and the fields of a received message that a dialect
accepts back.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.joined import joined
from wire.core.memory import notes
from wire.errors import HistoryError, RuleError
from wire.neutral import messages as chat
from wire.neutral.ids import CallIds, LegalIds
from wire.openai import (
    ChatCompletion,
    Choice,
    Dialect,
    FunctionCall,
    Message,
    ToolCall,
    messages,
    tool_message,
)
from wire.openai.chat.reader import parse_completion
from wire.openai.chat.rules import check
from wire.openai.chat.types import ChatCompletionRequest

from .neutral import row_of

NINE = CallIds(least=9, most=9, letters="[a-zA-Z0-9]")


def call(id: str | None, arguments: Any = "{}") -> ToolCall:
    return ToolCall(id=id, type="function", function=FunctionCall(name="f", arguments=arguments))


def calls(*ids: str | None, **fields: Any) -> Message:
    return Message(role="assistant", tool_calls=[call(id) for id in ids], **fields)


def result(id: str | None, content: str = "1") -> Message:
    return Message(role="tool", tool_call_id=id, content=content)


def received(body: dict[str, Any]) -> ChatCompletion:
    return parse_completion(
        json.dumps({"choices": [{"index": 0, "message": body, "finish_reason": "stop"}]}).encode()
    )


def plain(made: Any) -> Any:
    """The messages as JSON, as they are sent."""
    from wire.core.memory import encode

    return json.loads(encode(list(made)))


# --- turns ----------------------------------------------------------------------------------------


def test_kinds_of_turns():
    answer = received({"role": "assistant", "content": "b"})
    choice = Choice(message=Message(content="c"))
    made = messages("a", answer, [choice, ["d", Message(role="user", content="e")]], system="s")
    assert [(each.role, each.content) for each in made] == [
        ("system", "s"),
        ("user", "a"),
        ("assistant", "b"),
        ("assistant", "c"),
        ("user", "d"),
        ("user", "e"),
    ]
    assert notes(made) == ()


@joined(
    ("turn", "problem"),
    [
        (5, "turns[1]: expected a text, a Message or a response, not int"),
        ({"role": "user"}, "turns[1]: expected a text, a Message or a response, not dict"),
        ([None], "turns[1][0]: expected a text, a Message or a response, not NoneType"),
        (Message(content="x"), "turns[1].role: a message needs a role"),
        (ChatCompletion(), "turns[1]: this response has no choices"),
        (Choice(), "turns[1]: this choice has no message"),
    ],
)
def test_what_is_no_turn(turn: Any, problem: str):
    with pytest.raises(RuleError) as caught:
        messages("Hi", turn)
    assert str(caught.value) == problem


def test_a_conversation_needs_a_turn():
    with pytest.raises(HistoryError, match=r"needs at least one turn \[O1\]"):
        messages()


def test_calls_at_the_end_wait_for_their_results():
    with pytest.raises(HistoryError) as caught:
        messages("Hi", calls("a", "b"), result("a"))
    assert str(caught.value) == "messages[1]: its call of f has no result [O2]"


def test_answers_come_in_the_order_of_the_calls():
    made = messages("Hi", calls("a", "b", "c"), result("c"), result("a"), result("b"))
    assert [each.tool_call_id for each in made] == [None, None, "a", "b", "c"]


def test_a_call_without_an_id_takes_the_answer_that_no_other_claims():
    made = messages("Hi", calls(None, "b"), result("b", "second"), result("x", "first"))
    assert [(each["tool_call_id"], each["content"]) for each in plain(made)[2:]] == [
        ("x", "first"),
        ("b", "second"),
    ]
    assert [each["id"] for each in plain(made)[1]["tool_calls"]] == ["x", "b"]


def test_ids_that_are_made_are_the_same_each_time_and_differ_by_place():
    first, again = (messages("Hi", calls(None, None), result(None), result(None)) for _ in range(2))
    ids = [each["id"] for each in plain(first)[1]["tool_calls"]]
    assert (
        ids
        == [each.tool_call_id for each in first[2:]]
        == [each.tool_call_id for each in again[2:]]
    )
    assert [id.rpartition("_")[2] for id in ids] == ["0", "1"]


def test_two_calls_of_one_id_are_answered_twice():
    made = messages("Hi", calls("a", "a"), result("a", "1"), "next")
    assert [(each.role, each.tool_call_id) for each in made[2:]] == [
        ("tool", "a"),
        ("tool", "a"),
        ("user", None),
    ]


# --- results --------------------------------------------------------------------------------------


@joined(
    ("value", "content"),
    [
        ("2 m", "2 m"),
        ("", ""),
        ({"ä": [1]}, '{"ä":[1]}'),
        ([1, None], "[1,null]"),
        (2.5, "2.5"),
        (None, "null"),
        (True, "true"),
    ],
)
def test_results_are_texts(value: Any, content: str):
    assert tool_message(call("a"), value) == result("a", content)


def test_a_result_of_the_neutral_call():
    assert tool_message(chat.ToolCall(id="a", name="f", arguments={}), "x") == result("a", "x")


@pytest.mark.parametrize(
    ("made", "problem"),
    [
        (lambda: tool_message("a", 1), "expected a ToolCall"),
        (lambda: tool_message(call("a"), {1j}), "JSON"),
    ],
)
def test_what_is_no_result(made: Any, problem: str):
    with pytest.raises(RuleError, match=problem):
        made()


# --- ids ------------------------------------------------------------------------------------------


def test_the_same_id_becomes_the_same_in_call_and_result():
    made = messages(
        "Hi",
        calls("call_1"),
        result("call_1"),
        calls("call_2"),
        result("call_2"),
        dialect=Dialect(call_ids=NINE),
    )
    sent = [each["tool_calls"][0]["id"] for each in plain(made) if "tool_calls" in each]
    assert sent == [each.tool_call_id for each in made if each.role == "tool"]
    assert [LegalIds(NINE).legal(id) for id in ("call_1", "call_2")] == sent


@given(st.lists(st.text(max_size=50), unique=True, max_size=40))
def test_ids_map_both_ways(ids: list[str]):
    for rule in (
        NINE,
        CallIds(most=40),
        CallIds(),
        CallIds(least=3, most=3, letters="[0-9a-zA-Z]"),
    ):
        there = LegalIds(rule)
        legal = [there.legal(id) for id in ids]
        assert [there.original(each) for each in legal] == ids
        assert len(set(legal)) == len(ids)
        assert all(
            rule.least <= len(each) and (not rule.most or len(each) <= rule.most) for each in legal
        )
        assert [there.legal(id) for id in ids] == legal


def test_a_legal_id_that_another_became_is_not_given_twice():
    there = LegalIds(NINE)
    made = there.legal("call_1")
    assert there.legal(made) != made
    assert there.original(there.legal(made)) == made


def test_what_was_not_made_here_is_its_own_original():
    assert LegalIds(NINE).original("abc") == "abc"


# --- what goes back of a message ------------------------------------------------------------------


@joined(
    ("dialect", "slots", "kept"),
    [
        (Dialect(), ["reasoning_content", "reasoning"], {}),
        (
            Dialect(reasoning_slots=("reasoning_content",)),
            ["reasoning_content", "reasoning"],
            {"reasoning_content": "Hm."},
        ),
        (
            Dialect(reasoning_slots=("reasoning", "reasoning_content")),
            ["reasoning_content"],
            {"reasoning_content": "Hm."},
        ),
        (
            Dialect(reasoning_slots=("reasoning", "reasoning_content")),
            ["reasoning_content", "reasoning"],
            {"reasoning": "Hm."},
        ),
        (
            Dialect(reasoning_slots=("reasoning",), verbatim=True),
            ["reasoning_text", "reasoning"],
            {"reasoning": "Hm."},
        ),
        (Dialect(reasoning_slots=("reasoning_content",)), ["reasoning"], {}),
    ],
)
def test_which_slot_goes_back(dialect: Dialect, slots: list[str], kept: dict[str, str]):
    made = messages(
        "Hi",
        received({"role": "assistant", "content": "a", **dict.fromkeys(slots, "Hm.")}),
        "b",
        dialect=dialect,
    )
    assert plain(made)[1] == {"role": "assistant", "content": "a", **kept}
    assert bool(notes(made)) == (not kept)  # a twin of what goes back is nothing lost


def test_another_text_in_another_slot_is_told():
    made = messages(
        "Hi",
        received({"role": "assistant", "content": "a", "reasoning": "x", "reasoning_content": "y"}),
        "b",
        dialect=Dialect(reasoning_slots=("reasoning_content",)),
    )
    assert [str(note) for note in notes(made)] == [
        "messages[1].reasoning: withheld: this host is not known to accept it"
    ]


@joined(
    ("message", "sent"),
    [
        ({"reasoning_content": "Hm."}, "Hm."),
        ({"reasoning": "Hm."}, "Hm."),
        ({"reasoning_content": "", "reasoning_text": "Hm."}, "Hm."),
        ({}, ""),
    ],
)
def test_reasoning_that_is_required_goes_back_from_whichever_slot(
    message: dict[str, str], sent: str
):
    dialect = Dialect(reasoning_slots=("reasoning_content",), reasoning_required=True)
    answer = received(
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}],
            **message,
        }
    )
    made = messages("Hi", answer, result("a"), dialect=dialect)
    assert plain(made)[1]["reasoning_content"] == sent
    assert set(plain(made)[1]) == {"role", "tool_calls", "reasoning_content"}


def test_hand_made_messages_keep_what_is_no_reasoning():
    own = Message(role="assistant", content="a", name="Ann", reasoning="Hm.")
    made = messages("Hi", own, "b")
    assert plain(made)[1] == {"role": "assistant", "content": "a", "name": "Ann"}


def test_a_message_of_which_nothing_changes_is_the_same_object():
    answer = received({"role": "assistant", "content": "a"})
    assert messages("Hi", answer, "b")[1] is answer.choices[0].message


@joined(
    ("no_text", "sent"), [("omit", {}), ("null", {"content": None}), ("empty", {"content": ""})]
)
@joined("content", [None, ""])
def test_what_stands_for_no_text(no_text: Any, sent: dict[str, Any], content: str | None):
    answer = received(
        {
            "role": "assistant",
            "content": content,
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
            ],
        }
    )
    (_, message, _) = plain(messages("Hi", answer, result("a"), dialect=Dialect(no_text=no_text)))
    assert {key: value for key, value in message.items() if key == "content"} == sent


@joined(
    ("arguments", "as_they_came", "wrapped"),
    [
        ('{"a": 1}', '{"a": 1}', '{"a": 1}'),
        ('{"a":', '{"a":', '{"invalid_json":"{\\"a\\":"}'),
        ("[1]", "[1]", '{"invalid_json":"[1]"}'),
        ("", "{}", "{}"),
        ("null", "{}", "{}"),
        (None, "{}", "{}"),
        ({"a": 1}, '{"a":1}', '{"a":1}'),
        ([1], "[1]", '{"invalid_json":"[1]"}'),
    ],
)
def test_arguments_go_back_as_text(arguments: Any, as_they_came: str, wrapped: str):
    answer = received(
        {
            "role": "assistant",
            "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "f", "arguments": arguments}}
            ],
        }
    )
    for dialect, sent in (
        (Dialect(), as_they_came),
        (Dialect(invalid_arguments="wrapped"), wrapped),
    ):
        made = messages("Hi", answer, result("a"), dialect=dialect)
        assert plain(made)[1]["tool_calls"][0]["function"]["arguments"] == sent
        told = [str(note) for note in notes(made)]
        assert told == (
            [
                "messages[1].tool_calls[0].function.arguments: wrapped: this host "
                "refuses arguments that are not a JSON object"
            ]
            if "invalid" in sent
            else []
        )


def test_keys_of_calls_that_the_dialect_takes():
    body = {
        "id": "a",
        "index": 0,
        "type": "function",
        "function": {"name": "f", "arguments": "{}"},
        "extra_content": {"g": 1},
        "x": 2,
    }
    answer = received({"role": "assistant", "tool_calls": [body]})
    made = messages("Hi", answer, result("a"), dialect=Dialect(takes=("extra_content",)))
    assert plain(made)[1]["tool_calls"] == [
        {key: value for key, value in body.items() if key not in ("index", "x")}
    ]
    assert [str(note) for note in notes(made)] == [
        "messages[1].tool_calls[0].x: withheld: this host is not known to accept it"
    ]
    verbatim = Dialect(verbatim=True, takes=("extra_content",))
    assert messages("Hi", answer, result("a"), dialect=verbatim)[1] is answer.choices[0].message


def test_keys_that_are_known_to_be_another_hosts_go_to_nobody_else():
    body = {
        "id": "a",
        "index": 0,
        "type": "function",
        "function": {"name": "f", "arguments": "{}"},
        "extra_content": {"g": 1},
        "x": 2,
    }
    answer = received({"role": "assistant", "channel": "analysis", "mood": 1, "tool_calls": [body]})
    made = messages("Hi", answer, result("a"), dialect=Dialect(verbatim=True))
    assert plain(made)[1] == {
        "role": "assistant",
        "mood": 1,
        "tool_calls": [{key: value for key, value in body.items() if key != "extra_content"}],
    }
    assert [note.path for note in notes(made)] == [
        "messages[1].channel",
        "messages[1].tool_calls[0].extra_content",
    ]


# --- all of it ------------------------------------------------------------------------------------

_TURNS = st.lists(
    st.one_of(
        st.text(max_size=5),
        st.builds(
            lambda ids, text: calls(*ids, content=text),
            st.lists(st.sampled_from([None, "a", "b", "x" * 50]), max_size=3),
            st.sampled_from([None, "", "t"]),
        ),
        st.builds(result, st.sampled_from([None, "a", "b", "c", "x" * 50])),
    ),
    min_size=1,
    max_size=12,
)


@given(
    _TURNS,
    st.sampled_from(
        [
            Dialect(),
            Dialect(call_ids=NINE),
            Dialect(verbatim=True, no_text="empty", call_ids=CallIds(most=40)),
        ]
    ),
)
def test_whatever_the_turns_what_goes_out_breaks_no_rule(turns: list[Any], dialect: Dialect):
    try:
        made = messages(*turns, "end", dialect=dialect)
    except RuleError:
        pytest.fail("nothing has to be invented here")
    request = ChatCompletionRequest(
        model="m", messages=msgspec.json.decode(json.dumps(plain(made)), type=list[Message])
    )
    assert [
        each
        for each in check(request, "", row_of(dialect))
        if each.rule in ("O1", "O2", "O3", "O4")
    ] == []
    again = messages(*made, dialect=dialect)
    assert plain(again) == plain(made)
