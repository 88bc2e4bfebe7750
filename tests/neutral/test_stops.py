"""Replies that are cut at stop sequences, whole and as events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.joined import joined
from wire.core.memory import PARTIAL
from wire.neutral.events import events_of
from wire.neutral.messages import (
    Citation,
    Done,
    Event,
    Media,
    Message,
    Part,
    ProviderEvent,
    Reply,
    Restart,
    Stop,
    Text,
    TextDelta,
    Thought,
    ThoughtDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    Usage,
)
from wire.neutral.stops import StopEvents, cut, first_match

CALL = ToolCall(id="call_1", name="tide", arguments={"port": "Brest"})
PICTURE = Media(data=b"\x89PNG", media_type="image/png")


class Source:
    """Events as they are given, in place of a wire's reader."""

    def feed(self, events: Sequence[Event]) -> Sequence[Event]:
        return events

    def feed_texts(self, texts: Sequence[str]) -> Sequence[Event]:
        return list(map(TextDelta, texts))

    def close(self, reply: Reply) -> Sequence[Event]:
        return [Done(reply)]


def said(*parts: Part, raw: str = "completed") -> Reply:
    return Reply(Message("assistant", parts), Stop("end", raw), Usage(input=3, output=5, total=8))


def passed(stops: Sequence[str], *events: Event) -> list[Event]:
    source = StopEvents(Source, stops)
    return [each for event in events for each in source.feed([event])]


def texts(events: Sequence[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, TextDelta)]


# --- the match ------------------------------------------------------------------------------------


@joined(
    ("text", "stops", "at", "sequence"),
    [
        ("one, two; three", [";", ","], 3, ","),
        ("one, two; three", [",", ";"], 3, ","),
        ("abcd", ["bcd", "ab", "abc"], 0, "ab"),
        ("abc", ["c", "abc"], 0, "abc"),
        ("END", ["END"], 0, "END"),
        ("aaab", ["ab"], 2, "ab"),
        ("café\n\nx", ["\n\n"], 4, "\n\n"),
    ],
)
def test_the_match_that_begins_first_counts(
    text: str, stops: list[str], at: int, sequence: str
) -> None:
    assert first_match(text, stops) == (at, sequence)


def test_a_text_without_a_sequence_has_no_match() -> None:
    assert first_match("END", ["END.", "end"]) is None


# --- whole replies --------------------------------------------------------------------------------


def test_a_reply_without_a_match_stays_the_same_object() -> None:
    reply = said(Text("One, two."))
    assert cut(reply, ["END"]) is reply


def test_the_sequence_and_what_follows_are_left_out_with_a_note() -> None:
    reply = said(Thought("hm"), Text("One END two"), CALL, CALL, Thought("so"), Text("three"))
    made = cut(reply, ["three", "END"])
    assert made.message.parts == (Thought("hm"), Text("One "))
    assert made.stop == Stop("end", "completed", sequence="END")
    assert made.usage == reply.usage
    assert [str(note) for note in made.notes] == [
        "stop: cut before 'END': 7 characters, 1 Text, 1 Thought, 2 ToolCall left out"
    ]


def test_a_sequence_may_stand_in_two_texts() -> None:
    made = cut(said(Text("One"), Text("E"), Thought(signature="x"), Text("ND"), CALL), ["END"])
    assert made.message.parts == (Text("One"),)
    assert made.stop.sequence == "END"


@joined("between", [CALL, Thought("hm"), PICTURE], ids=["call", "thought", "picture"])
def test_what_a_stream_shows_between_texts_separates_them(between: Part) -> None:
    reply = said(Text("One E"), between, Text("ND"))
    assert cut(reply, ["END"]) is reply


def test_a_call_before_the_match_still_wants_its_result() -> None:
    made = cut(said(CALL, Text("One END"), CALL), ["END"])
    assert made.tool_calls == (CALL,)
    assert made.stop == Stop("tool_calls", "completed", sequence="END")


def test_what_ends_a_reply_after_the_match_has_not_ended_it() -> None:
    reply = Reply(Message.assistant("One END two"), Stop("length", "max_output_tokens"))
    assert cut(reply, ["END"]).stop == Stop("end", "max_output_tokens", sequence="END")


def test_a_refusal_is_cut_and_stays_one() -> None:
    text = Text("I cannot. END Why", refusal=True)
    made = cut(Reply(Message("assistant", (text,)), Stop("end", "completed", text.text)), ["END"])
    assert made.message.refusal == made.stop.message == "I cannot. "


def test_a_partial_reply_does_not_look_complete() -> None:
    reply = Reply(Message.assistant("One END tw"), Stop("other"), notes=(PARTIAL,))
    made = cut(reply, ["END"])
    assert (made.text, made.stop) == ("One ", Stop("other", sequence="END"))
    assert made.notes[0] == PARTIAL


def test_citations_end_with_the_text() -> None:
    spans = [(0, 3), (2, 7), (4, 6), (8, 9), (None, None)]
    cited = [Citation(url="https://a.example", start=start, end=end) for start, end in spans]
    made = cut(Reply(Message("assistant", "One END two", citations=cited), Stop("end")), ["END"])
    assert [(each.start, each.end) for each in made.citations] == [(0, 3), (2, 4), (None, None)]


# --- streams --------------------------------------------------------------------------------------


def test_only_the_end_that_may_begin_a_sequence_is_held_back() -> None:
    source = StopEvents(Source, ["</end>", "\n\n"])
    fed = ["One <", "b> two </", "en", "d", "x> \n", "three</end", "> four"]
    handed = [texts(source.feed([TextDelta(text)])) for text in fed]
    assert handed == [["One "], ["<b> two "], [], [], ["</endx> "], ["\nthree"], []]


def test_an_earlier_beginning_waits_for_its_end() -> None:
    assert texts(passed(["abcd", "c"], TextDelta("xabc"), TextDelta("d"))) == ["x"]
    assert texts(passed(["abcd", "c"], TextDelta("xabc"), TextDelta("e"))) == ["x", "ab"]


def test_what_is_held_back_is_handed_out_before_another_event_and_at_the_end() -> None:
    source = StopEvents(Source, ["END"])
    thought = ThoughtDelta("hm")
    assert source.feed([TextDelta("One E"), thought]) == [
        TextDelta("One "),
        TextDelta("E"),
        thought,
    ]
    assert source.feed_texts(["ND", "EN"]) == [TextDelta("ND")]
    done = Done(said(Text("One E"), Thought("hm"), Text("NDEN")))
    assert source.close(done.reply) == [TextDelta("EN"), done]


def test_after_the_match_only_the_vendors_events_and_the_end_are_handed_out() -> None:
    news = ProviderEvent("news", {"a": 1})
    done = Done(said(Text("One ")))
    later: list[Event] = [
        TextDelta("two"),
        ThoughtDelta("hm"),
        ToolCallStart(0, "tide"),
        ToolCallDelta(0, "{}"),
        ToolCallEnd(0, CALL),
        news,
        TextDelta("END"),
        done,
    ]
    assert passed(["END"], TextDelta("One END"), *later) == [TextDelta("One "), news, done]


def test_a_call_that_began_before_the_match_ends() -> None:
    call: list[Event] = [ToolCallDelta(0, "{}"), ToolCallEnd(0, CALL)]
    events = passed(["END"], ToolCallStart(0, "tide"), TextDelta("END"), *call)
    assert events == [ToolCallStart(0, "tide"), *call]


def test_a_response_that_starts_anew_is_cut_anew() -> None:
    events = [TextDelta("One END"), TextDelta("two E"), Restart(), TextDelta("ND, three")]
    assert passed(["END"], *events) == [TextDelta("One "), Restart(), TextDelta("ND, three")]


LETTERS = st.text("ab<", max_size=8)
PARTS = st.lists(
    st.builds(Text, LETTERS) | st.builds(Thought, LETTERS) | st.sampled_from([CALL, PICTURE]),
    max_size=5,
)


@given(PARTS, st.lists(st.text("ab<", min_size=1, max_size=4), min_size=1, max_size=3), st.data())
def test_a_stream_hands_out_what_the_whole_reply_has(
    parts: list[Any], stops: list[str], data: st.DataObject
) -> None:
    reply = said(*parts)
    made = cut(reply, stops)
    source = StopEvents(Source, stops)
    handed: list[Event] = []
    for event in events_of(reply)[:-1]:
        if not isinstance(event, TextDelta):
            handed += source.feed([event])
            continue
        text = event.text
        while text:
            length = data.draw(st.integers(1, len(text)))
            handed += source.feed([TextDelta(text[:length])])
            text = text[length:]
    handed += source.close(made)
    assert "".join(texts(handed)) == made.text
    thoughts = [event.text for event in handed if isinstance(event, ThoughtDelta)]
    assert "".join(thoughts) == made.thought
    ends = [event.call for event in handed if isinstance(event, ToolCallEnd)]
    assert tuple(ends) == made.tool_calls
    assert handed[-1] == Done(made)
    # Neighboring texts are one: a sequence that is left is in none of them.
    if len(made.message.parts) == 1:
        assert all(stop not in made.text for stop in stops)
