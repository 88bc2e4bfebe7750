"""`HistoryManager`: what is sent at every moment of a conversation."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest

from tests.joined import joined
from tests.property import sample
from wire import Request, gemini
from wire.core.memory import notes
from wire.errors import ConfigurationError, RuleError
from wire.history import HistoryManager, check, estimate_tokens, repair
from wire.neutral.messages import Media, Message, Part, Text, ToolCall, ToolResult

from .histories import conversation, damaged

HI, WELL = Message.user("Hi"), Message.user("Well?")
A, B = ToolCall(id="a", name="search"), ToolCall(id="b", name="read_file")
A_DONE, B_DONE = ToolResult("a", "search", "found"), ToolResult("b", "read_file", "read")
A_CANCELLED = ToolResult("a", "search", "cancelled", error=True)


def history(*messages: Message, **options) -> HistoryManager:
    made = HistoryManager(**options)
    for message in messages:
        made.add_message(message)
    return made


@pytest.mark.row("S1-40")
def test_limits_and_clear():
    made = history(HI, Message.assistant("Hello."))
    assert (made.max_messages, made.max_tokens, made.estimate) == (50, 100_000, estimate_tokens)
    assert (len(made), made.messages) == (2, [HI, Message.assistant("Hello.")])
    made.add_message(Message.tool_response(A_DONE))
    assert len(made.notes) == 1
    made.clear()
    assert (len(made), made.messages, made.notes, made.open_calls) == (0, [], (), ())


@pytest.mark.row("S1-40")
def test_the_limits_hold_for_what_is_sent():
    made = HistoryManager()
    for number in range(60):
        made.add_message(Message.user(str(number)))
        made.add_message(Message.assistant("yes"))
        assert len(made) <= 50
    assert [message.text for message in made.messages[::2]] == [
        str(number) for number in range(35, 60)
    ]
    wide = HistoryManager(max_messages=None, max_tokens=10, estimate=lambda message: 5)
    for number in range(4):
        wide.add_message(Message.user(str(number)))
    assert [message.text for message in wide.messages] == ["2", "3"]


@pytest.mark.row("S1-41")
def test_none_is_nothing():
    made = history(HI, None)
    assert made.messages == [HI]


@pytest.mark.row("S1-41")
def test_calls_never_prune_and_their_answers_do():
    first, calls = [HI, Message.assistant("Hello.")], Message.assistant(A, B)
    made = history(*first, WELL, max_messages=3)
    assert made.messages == [*first, WELL]
    made.add_message(calls)
    assert len(made) == 4
    assert made.messages[:4] == [*first, WELL, calls]
    assert made.open_calls == (A, B)
    made.add_message(Message.tool_response(A_DONE))
    assert len(made) == 5
    assert made.open_calls == (B,)
    made.add_message(Message.tool_response(B_DONE))
    assert made.open_calls == ()
    assert made.messages == [WELL, calls, Message.tool_response(A_DONE, B_DONE)]
    assert [note.message for note in made.notes] == [
        "joined to messages[4]: results of one turn",
        "dropped: 1 turn, 2 messages, for the limit of 3 messages",
    ]


@pytest.mark.row("S1-42")
def test_what_was_kept_begins_with_the_user():
    made = history(
        HI,
        Message.assistant(A),
        Message.tool_response(A_DONE),
        Message.assistant("Done."),
        WELL,
        max_messages=4,
    )
    assert made.messages == [WELL]


@pytest.mark.row("S1-46")
def test_a_word_of_the_user_closes_open_calls():
    made = history(HI, Message.assistant("I look.", A, B), Message.tool_response(B_DONE))
    made.add_message(WELL)
    assert made.messages == [
        HI,
        Message.assistant("I look.", A, B),
        Message.tool_response(B_DONE, A_CANCELLED),
        WELL,
    ]
    assert made.messages[2].tool_results[1].answer == {"error": "cancelled"}
    assert made.open_calls == ()
    assert [str(note) for note in made.notes] == [
        "messages[1].parts[1]: the call of search (a) had no result: answered with an "
        "error, cancelled"
    ]


@pytest.mark.row("S1-46")
def test_a_word_of_the_user_drops_the_turn_if_asked():
    made = history(
        HI,
        Message.assistant("I look.", A, B),
        Message.tool_response(B_DONE),
        WELL,
        on_open_calls="drop",
    )
    assert made.messages == [HI, Message.assistant("I look."), WELL]
    assert len(made.notes) == 3


def test_a_result_that_comes_too_late_is_dropped_and_told():
    made = history(HI, Message.assistant(A), WELL, Message.tool_response(A_DONE))
    assert made.messages == [HI, Message.assistant(A), Message.tool_response(A_CANCELLED), WELL]
    assert (
        made.notes[-1].message
        == "dropped: the result of search (a) answers no call of the turn before it"
    )


@pytest.mark.row("S0-06")
@pytest.mark.parametrize(
    ("option", "sent"),
    [("answer", [HI, Message.assistant(A), Message.tool_response(A_CANCELLED)]), ("drop", [HI])],
)
def test_open_calls_are_never_sent_open(option, sent):
    made = history(HI, Message.assistant(A), on_open_calls=option)
    assert made.messages == sent
    assert len(made.messages.notes) == 1
    assert made.notes == ()
    made.add_message(Message.tool_response(A_DONE))
    assert made.messages == [HI, Message.assistant(A), Message.tool_response(A_DONE)]


@pytest.mark.row("S1-45")
def test_two_messages_of_results_are_joined():
    made = history(
        HI, Message.assistant(A, B), Message.tool_response(B_DONE), Message.tool_response(A_DONE)
    )
    assert made.messages == [HI, Message.assistant(A, B), Message.tool_response(B_DONE, A_DONE)]


@pytest.mark.row("S1-47")
def test_a_text_and_the_call_after_it_are_one_turn():
    made = history(
        HI, Message.assistant("I look."), Message.assistant(A), Message.tool_response(A_DONE)
    )
    assert made.messages == [HI, Message.assistant("I look.", A), Message.tool_response(A_DONE)]


def test_the_system_may_speak_while_calls_are_open():
    made = history(HI, Message.assistant(A), Message.system("x"))
    assert made.open_calls == (A,)
    assert made.messages == [
        HI,
        Message.assistant(A),
        Message.tool_response(A_CANCELLED),
        Message.system("x"),
    ]
    made.add_message(Message.tool_response(A_DONE))
    assert made.messages == [
        HI,
        Message.assistant(A),
        Message.system("x"),
        Message.tool_response(A_DONE),
    ]
    assert made.notes == ()


def test_a_second_message_of_the_assistant_waits_with_the_first():
    made = history(HI, Message.assistant(A), Message.assistant(B))
    assert made.open_calls == (A, B)
    made.add_message(Message.tool_response(A_DONE, B_DONE))
    assert made.messages == [HI, Message.assistant(A, B), Message.tool_response(A_DONE, B_DONE)]


def test_the_assistant_goes_on_with_half_of_the_results():
    made = history(
        HI, Message.assistant(A, B), Message.tool_response(B_DONE), Message.assistant("Done.")
    )
    assert made.messages == [
        HI,
        Message.assistant(A, B),
        Message.tool_response(B_DONE, A_CANCELLED),
        Message.assistant("Done."),
    ]


@pytest.mark.row("S1-41")
def test_incomplete_is_mended_later():
    made = history(HI, Message.assistant("Hello."), max_messages=2)
    made.add_message(WELL, allow_incomplete=True)
    made.add_message(Message.assistant(), allow_incomplete=True)
    assert len(made) == 4
    assert made.messages == [WELL]
    assert made.notes == ()
    made.add_message(Message.assistant("Well."))
    assert (len(made), made.messages) == (2, [WELL, Message.assistant("Well.")])
    assert len(made.notes) == 2


def test_what_it_hands_out_is_not_what_it_holds():
    made = history(HI)
    made.messages.clear()
    assert made.messages == [HI]
    assert made.messages[0] is HI


@joined(
    ("options", "words"),
    [
        ({"max_messages": 0}, "max_messages: expected a whole number from 1 up or None, not 0"),
        ({"max_tokens": -5}, "max_tokens: expected a whole number from 1 up or None, not -5"),
        (
            {"estimate": None},
            "estimate: expected a function from a message to its tokens, not NoneType",
        ),
        ({"on_open_calls": "keep"}, "on_open_calls: expected answer or drop, not 'keep'"),
    ],
)
def test_bad_options_are_named(options, words):
    with pytest.raises(ConfigurationError, match=words):
        HistoryManager(**options)


def test_what_is_no_message_is_refused_and_changes_nothing():
    made = history(HI)
    with pytest.raises(RuleError, match="message: expected a Message, not str"):
        made.add_message("Well?")
    assert made.messages == [HI]


@pytest.mark.row("S0-06", "S1-40")
@pytest.mark.sampled
@pytest.mark.parametrize("on_open_calls", ["answer", "drop"])
def test_every_snapshot_can_be_sent(on_open_calls):
    """Whole and damaged conversations, message by message: what is sent breaks no rule, and the
    user's last word is in it.
    """
    for seed in sample(range(400), 6):
        rng = random.Random(seed)
        said = conversation(rng, 6)
        if seed % 2:
            said = damaged(rng, said)
        made = HistoryManager(
            max_messages=rng.choice((1, 2, 5, 50)),
            max_tokens=rng.choice((20, 200, 100_000)),
            on_open_calls=on_open_calls,
        )
        word: list[Part] = []
        for message in said:
            made.add_message(message, allow_incomplete=rng.random() < 0.2)
            if message.role == "user":
                word = [part for part in message.parts if isinstance(part, (Text, Media))] or word
            sent = made.messages
            assert {violation.rule for violation in check(sent)} <= ({"H2"} if word else {"H1"}), (
                seed
            )
            assert (
                not word or list([each for each in sent if each.role == "user"][-1].parts) == word
            ), seed


@pytest.mark.row("S1-40")
@pytest.mark.sampled
def test_whole_conversations_stay_within_the_limits():
    for seed in sample(range(200)):
        made = HistoryManager(max_messages=10, max_tokens=None)
        for message in conversation(random.Random(seed)):
            made.add_message(message)
            sent = made.messages
            if not made.open_calls:
                turns = [index for index, each in enumerate(sent) if each.role == "user"]
                assert len(sent) <= 10 or len(turns) == 1, seed
                assert len(made) == len(sent), seed


def test_a_message_takes_the_place_of_another():
    calls = Message.assistant(A, B)
    some, all_ = Message.tool_response(B_DONE), Message.tool_response(A_DONE, B_DONE)
    made = history(HI, calls, some)
    made.replace(some, all_)
    assert (made.messages, made.open_calls, made.notes) == ([HI, calls, all_], (), ())
    made.replace(Message.tool_response(B_DONE), Message.assistant("Done."))  # equal, but not it
    assert made.messages == [HI, calls, all_, Message.assistant("Done.")]
    with pytest.raises(RuleError, match="message: expected a Message, not str"):
        made.replace(all_, "Hi")  # type: ignore[arg-type]


# --- a conversation that exists already -----------------------------------------------------------


def test_a_history_begins_with_the_messages_of_an_earlier_one():
    talk = [Message.user("Hi"), Message.assistant("Hello."), Message.user("And now?")]
    made = HistoryManager(talk)
    assert list(made.messages) == list(made.get_history()) == talk
    made.add_message(Message.assistant("Rain."))
    assert (len(talk), len(made)) == (3, 4)
    pruned = HistoryManager(iter(talk), max_messages=2)
    assert [message.text for message in pruned.messages] == ["And now?"]


def test_the_messages_of_a_history_report_everything_that_its_limits_dropped():
    made = HistoryManager(max_messages=2)
    for number in range(3):
        made.add_message(Message.user(f"question {number}"))
        made.add_message(Message.assistant(f"answer {number}"))
    dropped = "dropped: 1 turn, 2 messages, for the limit of 2 messages"
    assert [note.message for note in notes(made.messages)] == [dropped, dropped]
    assert [message.text for message in made.messages] == ["question 2", "answer 2"]


@joined(
    ("messages", "error", "told"),
    [
        (20, ConfigurationError, "messages: expected messages, not 20; a limit is given by its"),
        (None, ConfigurationError, "messages: expected messages, not None"),
        ("Hi", RuleError, "messages: expected a list of messages, not str"),
        ([Message.user("Hi"), "Hi"], RuleError, "messages[1]: expected a Message, not str"),
    ],
)
def test_what_is_no_list_of_messages(messages: Any, error: type[Exception], told: str):
    with pytest.raises(error, match=re.escape(told)):
        HistoryManager(messages)


def test_a_linear_history_with_parallel_calls_of_one_response_is_sent_as_one_turn():
    """The calls of one response in one message, their results one by one, as they arrive."""
    history = HistoryManager([Message.user("Compare both files.")])
    history.add_message(Message.assistant_tool_calls([A, B], "I look."), allow_incomplete=True)
    history.add_message(Message.tool_response(B_DONE))
    assert history.open_calls == (A,)
    history.add_message(Message.tool_response(A_DONE))
    history.add_message(Message.assistant("They are equal."))
    history.add_message(Message.user("Thanks."))
    sent = history.get_history()
    assert [message.role for message in sent] == ["user", "assistant", "tool", "assistant", "user"]
    assert sent[2].parts == (B_DONE, A_DONE)  # the wire puts them in the order of the calls
    assert check(sent) == []
    request = Request(messages=tuple(sent))
    body = gemini.render_request(request, "gemini-2.5-flash")
    assert [content.role for content in body.contents or ()] == [
        "user",
        "model",
        "user",
        "model",
        "user",
    ]
    parts = (body.contents or [])[2].parts or []
    assert [part.function_response.name for part in parts if part.function_response] == [
        "search",
        "read_file",
    ]


@pytest.mark.sampled
def test_a_message_more_changes_the_same_as_repairing_everything():
    """Only the messages from the last complete turn on are repaired."""
    for seed in sample(range(300)):
        rng = random.Random(seed)
        messages = damaged(rng, damaged(rng, conversation(rng, 6)))
        made, whole = HistoryManager(max_messages=None, max_tokens=None), list[Message]()
        for message in messages:
            made.add_message(message)
            whole.append(message)
            if not made.open_calls:
                whole = list(repair(whole))
        assert made.messages == repair(whole), seed


def test_the_last_turn_can_be_dropped():
    rules = Message("system", (Text("Be brief."),))
    answer, found = Message.assistant(A), Message("tool", (A_DONE,))
    held = history(HI, Message.assistant("Hello."), WELL, answer, rules, found)
    assert held.drop_last_turn() == (WELL, answer, found)
    assert held.messages == [HI, Message.assistant("Hello."), rules]
    assert held.drop_last_turn() == (HI, Message.assistant("Hello."))
    assert (held.drop_last_turn(), held.messages) == ((), [rules])


def test_a_turn_that_was_dropped_counts_no_longer():
    held = history(HI, Message.assistant("Hello."), max_tokens=100, estimate=lambda message: 40)
    held.add_message(Message.user("A third of the tokens more."), allow_incomplete=True)
    held.drop_last_turn()
    held.add_message(WELL)
    assert held.messages == [WELL]  # three messages are over the limit
    held = history(HI, max_tokens=100, estimate=lambda message: 40)
    for _ in range(3):
        held.add_message(Message.assistant("Hello."))
        assert len(held.drop_last_turn()) == 2
        held.add_message(HI)
    assert (held.messages, held.notes) == ([HI], ())
