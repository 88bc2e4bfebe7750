"""`repair` by example, and over conversations that were damaged at random."""

from __future__ import annotations

import functools
import json
import random

import pytest

from tests.joined import joined
from tests.property import sample
from wire import Chat
from wire.core.memory import Note, notes
from wire.errors import ConfigurationError, HistoryError, RuleError
from wire.history import check, repair
from wire.neutral.messages import (
    Media,
    Message,
    Origin,
    Other,
    Text,
    Thought,
    ToolCall,
    ToolResult,
    with_origin,
)

from .histories import conversation, damaged

HI, WELL = Message.user("Hi"), Message.user("Well?")
A, B = ToolCall(id="a", name="search"), ToolCall(id="b", name="read_file")
A_DONE, B_DONE = ToolResult("a", "search", "found"), ToolResult("b", "read_file", "read")
A_CANCELLED = ToolResult("a", "search", "cancelled", error=True)


def told(messages: list[Message]) -> list[str]:
    return [str(note) for note in notes(messages)]


def test_what_can_be_sent_stays_as_it_is():
    said = [
        Message.system("x"),
        HI,
        Message.assistant("I look.", A, B),
        Message.tool_response(B_DONE, A_DONE),
        Message.assistant("Done."),
    ]
    mended = repair(said)
    assert all(one is other for one, other in zip(mended, said, strict=True))
    assert mended.notes == ()


def test_nothing_stays_nothing():
    assert repair([]) == []


@pytest.mark.row("S1-46", "S1-47")
def test_an_open_call_is_answered_with_an_error():
    mended = repair([HI, Message.assistant("I look.", A, B), Message.tool_response(B_DONE), WELL])
    assert mended == [
        HI,
        Message.assistant("I look.", A, B),
        Message.tool_response(B_DONE, A_CANCELLED),
        WELL,
    ]
    assert mended[2].tool_results[1].answer == {"error": "cancelled"}
    assert told(mended) == [
        "messages[1].parts[1]: the call of search (a) had no result: answered with an "
        "error, cancelled"
    ]


@pytest.mark.row("S1-46")
def test_an_open_call_at_the_end_is_answered():
    mended = repair([HI, Message.assistant(A)], reason="stopped")
    assert mended == [
        HI,
        Message.assistant(A),
        Message.tool_response(ToolResult("a", "search", "stopped", error=True)),
    ]
    assert check(mended) == []


@pytest.mark.row("S1-46")
def test_a_turn_with_an_open_call_is_dropped_whole_if_asked():
    mended = repair(
        [HI, Message.assistant("I look.", A, B), Message.tool_response(B_DONE), WELL],
        open_calls="drop",
    )
    assert mended == [HI, Message.assistant("I look."), WELL]
    assert told(mended) == [
        "messages[1].parts[1]: the call of search (a) was dropped: it had no result",
        "messages[1].parts[2]: the call of read_file (b) was dropped: another call of "
        "its turn had no result",
        "messages[2].parts[0]: the result of read_file (b) was dropped with its turn",
    ]


@pytest.mark.parametrize("beside", [(), (Text(""),), (Thought("hm", signature="s"),)])
def test_a_dropped_turn_that_said_nothing_is_gone(beside):
    mended = repair([HI, Message.assistant(*beside, A), WELL], open_calls="drop")
    assert mended == [HI, WELL]
    assert len(mended.notes) == 1 + len(beside)


def test_what_is_left_of_a_dropped_turn_joins_the_next():
    said = [
        HI,
        Message.assistant("I look.", A),
        Message.tool_response(B_DONE),
        Message.assistant("Done."),
        WELL,
    ]
    assert repair(said, open_calls="drop") == [HI, Message.assistant("I look.", "Done."), WELL]
    gone = [
        HI,
        Message.assistant(A),
        Message.tool_response(B_DONE),
        Message.assistant("Done."),
        WELL,
    ]
    mended = repair(gone, open_calls="drop")
    assert mended == [HI, Message.assistant("Done."), WELL]
    assert mended[1] is gone[3]
    assert not any("joined" in line for line in told(mended))


@pytest.mark.row("S1-47")
def test_a_result_without_a_call_is_dropped():
    mended = repair(
        [
            HI,
            Message.tool_response(A_DONE),
            Message.assistant(B),
            Message.tool_response(A_DONE, B_DONE),
            WELL,
        ]
    )
    assert mended == [HI, Message.assistant(B), Message.tool_response(B_DONE), WELL]
    assert told(mended) == [
        "messages[1].parts[0]: dropped: the result of search (a) answers no call of the "
        "turn before it",
        "messages[3].parts[0]: dropped: the result of search (a) answers no call of the "
        "turn before it",
    ]


@pytest.mark.row("S1-47")
def test_a_text_and_the_call_after_it_are_one_turn():
    mended = repair(
        [
            HI,
            Message.assistant("I look."),
            Message.assistant(A),
            Message.tool_response(A_DONE),
            Message.assistant("Done."),
        ]
    )
    assert mended == [
        HI,
        Message.assistant("I look.", A),
        Message.tool_response(A_DONE),
        Message.assistant("Done."),
    ]
    assert told(mended) == ["messages[2]: joined to messages[1]: one assistant turn"]


@pytest.mark.row("S1-47")
def test_a_joined_turn_has_no_origin_and_its_parts_have_theirs():
    origin = Origin("gemini", "gemini-3-pro-preview", "gemini", b"{}")
    text, call = (
        with_origin(Text("I look."), origin),
        with_origin(ToolCall(id="a", name="search", signature="s"), origin),
    )
    said = [
        HI,
        with_origin(Message.assistant(text), origin),
        with_origin(Message.assistant(call), origin),
        Message.tool_response(A_DONE),
    ]
    joined = repair(said)[1]
    assert joined.origin is None
    assert joined.parts[0] is text
    assert joined.parts[1] is call


@pytest.mark.row("S1-45", "S0-07")
def test_results_in_several_messages_are_one_group():
    mended = repair(
        [
            HI,
            Message.assistant(A, B),
            Message.tool_response(B_DONE),
            Message.system("x"),
            Message.tool_response(A_DONE),
            Message.assistant("Done."),
        ]
    )
    assert mended == [
        HI,
        Message.assistant(A, B),
        Message.tool_response(B_DONE, A_DONE),
        Message.system("x"),
        Message.assistant("Done."),
    ]
    assert told(mended) == ["messages[4]: joined to messages[2]: results of one turn"]


def test_a_second_result_is_dropped():
    again = ToolResult("a", "search", "found again")
    mended = repair(
        [HI, Message.assistant(A), Message.tool_response(A_DONE), Message.tool_response(again)]
    )
    assert mended == [HI, Message.assistant(A), Message.tool_response(A_DONE)]
    assert told(mended)[1:] == [
        "messages[3].parts[0]: dropped: a second result of the call of search (a)"
    ]


def test_calls_of_one_id_are_told_apart_with_their_results():
    other = ToolCall(id="a", name="read_file")
    found, read = ToolResult("a", "search", "found"), ToolResult("a", "read_file", "read")
    mended = repair([HI, Message.assistant(A, other, A), Message.tool_response(read, found), WELL])
    assert [call.id for call in mended[1].tool_calls] == ["a", "a_2", "a_3"]
    assert [(result.id, result.content) for result in mended[2].tool_results] == [
        ("a_2", "read"),
        ("a", "found"),
        ("a_3", "cancelled"),
    ]
    assert told(mended) == [
        "messages[1].parts[1]: its id is now a_2: another call of this turn has a",
        "messages[2].parts[0]: its id is now a_2, the new id of its call",
        "messages[1].parts[2]: its id is now a_3: another call of this turn has a",
        "messages[1].parts[2]: the call of search (a_3) had no result: answered with an "
        "error, cancelled",
    ]


def test_a_new_id_is_nobody_elses():
    taken = ToolCall(id="a_2", name="run")
    mended = repair(
        [
            HI,
            Message.assistant(A, A, taken),
            Message.tool_response(A_DONE, ToolResult("a_2", "run", "ran"), A_DONE),
        ]
    )
    assert [call.id for call in mended[1].tool_calls] == ["a", "a_3", "a_2"]
    assert [(result.id, result.content) for result in mended[2].tool_results] == [
        ("a", "found"),
        ("a_2", "ran"),
        ("a_3", "found"),
    ]


@pytest.mark.row("S1-42")
def test_what_comes_before_the_user_is_dropped():
    mended = repair(
        [
            Message.system("x"),
            Message.tool_response(A_DONE),
            Message.assistant(A),
            Message.tool_response(A_DONE),
            HI,
        ]
    )
    assert mended == [Message.system("x"), HI]
    assert told(mended) == [
        "messages[1]: dropped: the tool message precedes the first user message",
        "messages[2]: dropped: the assistant message precedes the first user message",
        "messages[3]: dropped: the tool message precedes the first user message",
    ]


def test_empty_messages_and_parts_in_the_wrong_place_are_dropped():
    said = [
        Message.user("Hi", A_DONE),
        Message.assistant(),
        Message.system(Media(url="gs://a/b")),
        Message("tool", (Other("x"),)),
        WELL,
    ]
    mended = repair(said)
    assert mended == [HI, WELL]
    assert mended[1] is WELL
    assert told(mended) == [
        "messages[0].parts[1]: dropped: a message of role user cannot contain a tool's result",
        "messages[1]: dropped: the message has no parts",
        "messages[2].parts[0]: dropped: a message of role system cannot contain media",
        "messages[2]: dropped: the message has no parts",
        "messages[3].parts[0]: dropped: a message of role tool cannot contain "
        "a vendor-specific part",
        "messages[3]: dropped: the message has no parts",
    ]


def test_a_dropped_message_parts_nobody():
    said = [
        HI,
        Message.assistant(A),
        Message.user(),
        Message.tool_response(A_DONE),
        Message.assistant("Do"),
        Message.tool_response(B_DONE),
    ]
    assert repair([*said, Message.assistant("ne.")]) == [
        HI,
        Message.assistant(A),
        Message.tool_response(A_DONE),
        Message.assistant("Do", "ne."),
    ]


def test_the_user_must_have_said_something():
    assert [violation.rule for violation in check(repair([Message.assistant("Hello.")]))] == ["H1"]


def test_bad_input_is_named():
    with pytest.raises(ConfigurationError, match="open_calls: expected answer or drop, not 'keep'"):
        repair([HI], open_calls="keep")
    with pytest.raises(RuleError, match=r"messages\[0\]: expected a Message, not str"):
        repair(["Hi"])


# --- conversations that were damaged at random ----------------------------------------------------


@functools.cache
def cases() -> list[tuple[int, list[Message]]]:
    """Seeds and their conversations. Made for the first test, since every process imports this."""
    dice = ((seed, random.Random(seed)) for seed in sample(range(1500), 6))
    return [(seed, damaged(rng, conversation(rng, 6))) for seed, rng in dice]


@pytest.mark.sampled
@pytest.mark.row("S0-06", "S1-47")
@pytest.mark.parametrize("open_calls", ["answer", "drop"])
def test_a_mended_conversation_can_be_sent(open_calls):
    for seed, said in cases():
        mended = repair(said, open_calls=open_calls)
        users = [
            message
            for message in said
            if message.role == "user"
            and any(isinstance(part, (Text, Media, Other)) for part in message.parts)
        ]
        allowed = {"H2"} if users else {"H1"}
        assert {violation.rule for violation in check(mended)} <= allowed, seed


@pytest.mark.sampled
@pytest.mark.parametrize("open_calls", ["answer", "drop"])
def test_mended_twice_is_mended_once(open_calls):
    for seed, said in cases():
        once = repair(said, open_calls=open_calls)
        twice = repair(once, open_calls=open_calls)
        assert all(one is other for one, other in zip(twice, once, strict=True)), seed
        assert twice.notes == (), seed


@pytest.mark.sampled
def test_every_change_is_told():
    for seed, said in cases():
        mended = repair(said)
        assert bool(mended.notes) == (mended != said), seed
        if not check(said) and len(mended) == len(said):
            assert mended.notes == (), seed


def by_part(said: list[Message], told: tuple[Note, ...], word: str) -> set[str]:
    """Paths of parts that the notes with this word are about, those of whole messages
    spelled out.
    """
    paths = {note.path for note in told if word in note.message}
    return {
        f"messages[{index}].parts[{place}]"
        for index, message in enumerate(said)
        for place in range(len(message.parts))
        if paths & {f"messages[{index}]", f"messages[{index}].parts[{place}]"}
    }


@pytest.mark.sampled
@pytest.mark.parametrize("open_calls", ["answer", "drop"])
def test_what_no_note_says_was_dropped_is_there(open_calls):
    for seed, said in cases():
        mended = repair(said, open_calls=open_calls)
        gone = by_part(said, mended.notes, "dropped")
        renamed = by_part(said, mended.notes, " id ")
        answered = len({note.path for note in mended.notes if "answered" in note.message})
        left = [
            part
            for index, message in enumerate(said)
            for place, part in enumerate(message.parts)
            if f"messages[{index}].parts[{place}]" not in gone | renamed
        ]
        there = [id(part) for message in mended for part in message.parts]
        for part in left:
            there.remove(id(part))  # raises if it is not there
        assert len(there) == len(renamed) + answered, seed


@pytest.mark.sampled
def test_nothing_that_the_user_said_is_lost():
    for seed, said in cases():
        for role, kinds in (("user", (Text, Media, Other)), ("system", (Text,))):
            words = [
                part
                for message in said
                if message.role == role
                for part in message.parts
                if isinstance(part, kinds)
            ]
            kept = [
                part for message in repair(said) if message.role == role for part in message.parts
            ]
            assert list(map(id, kept)) == list(map(id, words)), seed


CUT = ToolCall(id="a", name="search", arguments=None, text='{"query": "Br')


@joined(
    "model",
    ["gemini:gemini-3.5-flash", "openai:gpt-5.2", "anthropic:claude-sonnet-4-6", "minimax:M2"],
)
@joined(
    "messages",
    [
        [HI, Message.assistant("I look.", CUT), WELL],
        [HI, Message.assistant(CUT), WELL],
        [HI, Message.assistant("I look.", CUT), Message.tool_response(A_DONE)],
        [HI, Message.assistant(CUT, B), Message.tool_response(B_DONE, A_DONE)],
    ],
)
def test_a_call_that_was_cut_off_goes_to_every_wire(messages: list[Message], model: str):
    """`check` warns, `repair` mends and reports, and the request then has an object."""
    position = next(
        index for index, part in enumerate(messages[1].parts) if isinstance(part, ToolCall)
    )
    path = f"messages[1].parts[{position}]"
    warnings = [each for each in check(messages) if each.rule == "H9"]
    assert [(each.path, each.severity) for each in warnings] == [(path, "warning")]
    mended = repair(messages)
    assert mended[1].tool_calls[0].arguments == {"invalid_json": '{"query": "Br'}
    assert told(mended)[0] == (
        f"{path}: the arguments of the call of search (a) are not a JSON object: wrapped in one "
        "as invalid_json"
    )
    assert [each for each in check(mended) if each.rule == "H9"] == []
    with Chat(model, api_key="fake-key", max_tokens=9) as chat:
        body = json.loads(chat.call(messages=mended).body)
    sent = json.dumps(body).replace("\\", "")
    assert '"invalid_json": "{"query": "Br"' in sent or '"invalid_json":"{"query": "Br"' in sent


def test_the_error_of_a_wire_names_the_remedy_that_helps():
    messages = [HI, Message.assistant(CUT), Message.tool_response(A_DONE)]
    for model in ("gemini:gemini-3.5-flash", "anthropic:claude-sonnet-4-6"):
        with Chat(model, api_key="fake-key", max_tokens=9) as chat:
            with pytest.raises(HistoryError, match=r"wire\.history\.repair\(messages\)"):
                chat.call(messages=messages)
            chat.call(messages=repair(messages))
