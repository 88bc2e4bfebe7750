"""Reasoning: its slots (Q6), tags in the text (Q7), details with signatures."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.joined import joined
from wire.neutral.messages import Text, TextDelta, Thought, ThoughtDelta
from wire.openai import Dialect, EventReader, parse_reply
from wire.openai.chat.fold import joined_details
from wire.openai.chat.reader import parse_completion
from wire.openai.chat.thinking import Tags

from .bodies import chunk, streamed

TAGS, IMPLIED = Dialect(think_tags="tags"), Dialect(think_tags="open_implied")


# --- Q7: tags -------------------------------------------------------------------------------------

TAGGED = [
    ("tags", "<think>Hm</think>Yes", [("thought", "Hm"), ("text", "Yes")]),
    ("tags", "A<think>Hm", [("text", "A"), ("thought", "Hm")]),  # never closed
    ("tags", "<think></think>Yes", [("text", "Yes")]),
    ("tags", "a<b</think>c<thin", [("text", "a<b</think>c<thin")]),
    (
        "tags",
        "<think>a</thin</think><<think>b</think>",
        [("thought", "a</thin"), ("text", "<"), ("thought", "b")],
    ),
    ("tags", "<THINK>no</THINK>", [("text", "<THINK>no</THINK>")]),
    ("tags", "", []),
    ("open_implied", "Hm</think>Yes", [("thought", "Hm"), ("text", "Yes")]),
    ("open_implied", "Hm", [("thought", "Hm")]),
    (
        "open_implied",
        "<think>Hm</think>Yes",
        [("thought", "Hm"), ("text", "Yes")],
    ),  # it is there all the same
    ("open_implied", "\n <think>Hm</think>Yes", [("thought", "Hm"), ("text", "Yes")]),
    ("open_implied", " Hm<think>m</think>Yes", [("thought", " Hm<think>m"), ("text", "Yes")]),
    ("open_implied", "</think><think>a", [("thought", "a")]),
    ("open_implied", "<thi", [("thought", "<thi")]),
    ("open_implied", "\n", [("thought", "\n")]),
]


def split(mode, pieces):
    """The parsed pieces, with adjacent pieces of one kind joined."""
    tags, joined = Tags(mode), []
    for kind, text in [*(each for piece in pieces for each in tags.feed(piece)), *tags.close()]:
        assert text
        if joined and joined[-1][0] == kind:
            joined[-1] = (kind, joined[-1][1] + text)
        else:
            joined.append((kind, text))
    assert tags.close() == []
    return joined


@pytest.mark.row("Q7")
@joined(("mode", "text", "expected"), TAGGED)
def test_tags_cut_at_every_position(mode, text, expected):
    assert split(mode, [text]) == expected
    assert split(mode, list(text)) == expected
    for first in range(len(text) + 1):
        for second in range(first, len(text) + 1):
            assert split(mode, [text[:first], text[first:second], text[second:]]) == expected


@pytest.mark.row("Q7")
@given(
    st.sampled_from(["tags", "open_implied"]),
    st.lists(st.sampled_from(["<think>", "</think>", "<", "th", "ink>", "/", "a", " "])),
)
def test_tags_do_not_depend_on_cuts(mode, pieces):
    assert split(mode, pieces) == split(mode, ["".join(pieces)])


@pytest.mark.row("Q7")
def test_nothing_is_held_back_that_is_no_tag():
    tags = Tags("tags")
    assert tags.feed("a < b <") == [("text", "a < b ")]
    assert tags.feed("c") == [("text", "<c")]
    assert tags.feed("<think>x</thin") == [("thought", "x")]
    assert tags.close() == [("thought", "</thin")]


@pytest.mark.row("Q7")
def test_tags_stay_in_the_text_without_the_dialect():
    assert (
        streamed(chunk({"content": "<think>Hm</think>Yes"}, "stop")).reply.text
        == "<think>Hm</think>Yes"
    )


@pytest.mark.row("Q7")
@pytest.mark.parametrize(
    ("dialect", "texts"),
    [(TAGS, ["<th", "ink>Hm</", "think>Yes<"]), (IMPLIED, ["Hm</th", "ink>Yes<"])],
)
def test_tags_in_a_reply(dialect, texts):
    seen = streamed(
        *(chunk({"content": text}) for text in texts), chunk({}, "stop"), dialect=dialect
    )
    assert seen.reply.message.parts == (Thought(text="Hm", slot="content"), Text(text="Yes<"))
    assert seen.events[:-1] == [ThoughtDelta("Hm"), TextDelta("Yes"), TextDelta("<")]
    assert seen.answer.text == "".join(texts)


# --- Q6: slots ------------------------------------------------------------------------------------


@pytest.mark.row("Q6")
@joined(
    ("delta", "slot"),
    [
        ({"reasoning_content": "A"}, "reasoning_content"),
        ({"reasoning": "A"}, "reasoning"),
        ({"reasoning_text": "A"}, "reasoning_text"),
        ({"reasoning_content": "A", "reasoning": "B", "reasoning_text": "C"}, "reasoning_content"),
        ({"reasoning_content": "", "reasoning": "A"}, "reasoning"),
        ({"reasoning_content": None, "reasoning": None, "reasoning_text": "A"}, "reasoning_text"),
        ({"reasoning_content": {"no": "text"}, "reasoning": "A"}, "reasoning"),
    ],
)
def test_slot(delta, slot):
    assert streamed(chunk(delta), chunk({}, "stop")).reply.message.parts == (
        Thought(text="A", slot=slot),
    )


@pytest.mark.row("Q6")
def test_the_slot_is_looked_for_in_each_delta():
    seen = streamed(
        chunk({"reasoning": "A"}),
        chunk({"reasoning_content": "", "reasoning": "B"}),
        chunk({"content": "C"}, "stop"),
    )
    assert seen.reply.message.parts == (Thought(text="AB", slot="reasoning"), Text(text="C"))
    assert (seen.answer.message.reasoning, seen.answer.message.reasoning_content) == ("AB", "")


@pytest.mark.row("Q6")
def test_never_two_sources_of_one_delta():
    detail = {"type": "reasoning.text", "index": 0, "text": "A"}
    seen = streamed(
        chunk({"reasoning": "A", "reasoning_details": [detail]}), chunk({"content": "B"}, "stop")
    )
    assert seen.reply.message.parts == (
        Thought(text="A", slot="reasoning", details=(detail,)),
        Text(text="B"),
    )


def test_thoughts_and_texts_by_turns():
    seen = streamed(
        chunk({"reasoning": "A"}),
        chunk({"content": "B"}),
        chunk({"reasoning": "C"}),
        chunk({"content": "D"}, "stop"),
    )
    assert [(type(part), part.text) for part in seen.reply.message.parts] == [
        (Thought, "A"),
        (Text, "B"),
        (Thought, "C"),
        (Text, "D"),
    ]
    assert (seen.answer.message.reasoning, seen.answer.text) == ("AC", "BD")


# --- Q6, Q7: details ------------------------------------------------------------------------------


@pytest.mark.row("Q6")
def test_details_are_joined_by_type_and_index():
    seen = streamed(
        chunk(
            {
                "reasoning_details": [
                    {"type": "reasoning.text", "index": 0, "text": "H", "format": "x"}
                ]
            }
        ),
        chunk(
            {"reasoning_details": [{"type": "reasoning.encrypted", "index": 0, "data": "ZW4="}]}
        ),  # shares its index with a text
        chunk(
            {
                "reasoning_details": [
                    {
                        "type": "reasoning.text",
                        "index": 0,
                        "text": "m",
                        "signature": "c2ln",
                        "format": None,
                    }
                ]
            }
        ),
        chunk({"reasoning_details": [{"type": "reasoning.summary", "index": 1, "summary": "S"}]}),
        chunk(
            {"reasoning_details": [{"type": "reasoning.summary", "index": 1, "summary": "um"}]},
            "stop",
        ),
    )
    expected = (
        {"type": "reasoning.text", "index": 0, "text": "Hm", "format": "x", "signature": "c2ln"},
        {"type": "reasoning.encrypted", "index": 0, "data": "ZW4="},
        {"type": "reasoning.summary", "index": 1, "summary": "Sum"},
    )
    [thought] = seen.reply.message.parts
    assert (thought.text, thought.slot, thought.details) == ("HmSum", "reasoning_details", expected)
    assert json.loads(seen.answer.raw)["choices"][0]["message"]["reasoning_details"] == list(
        expected
    )


@pytest.mark.row("Q6")
def test_details_without_an_index():
    details = [{"type": "reasoning.text", "text": "A"}, {"type": "reasoning.text", "text": "B"}]
    assert joined_details(details, Dialect()) == [{"type": "reasoning.text", "text": "AB"}]
    assert details[0]["text"] == "A"  # what came is left as it was


@pytest.mark.row("Q6")
def test_encrypted_reasoning_without_a_text_comes_first():
    detail = {"type": "reasoning.encrypted", "index": 0, "data": "ZW4="}
    seen = streamed(chunk({"content": "Hi"}), chunk({"reasoning_details": [detail]}, "stop")).reply
    assert seen.message.parts == (
        Thought(slot="reasoning_details", details=(detail,)),
        Text(text="Hi"),
    )


@pytest.mark.row("Q7")
def test_cumulative_details():
    texts = ["H", "Hm", "Hmm."]
    deltas = [
        chunk({"reasoning_details": [{"type": "reasoning.text", "index": 0, "text": text}]})
        for text in texts
    ]
    seen = streamed(
        *deltas, chunk({"content": "Yes"}, "stop"), dialect=Dialect(cumulative_details=True)
    )
    assert seen.events[:4] == [
        ThoughtDelta("H"),
        ThoughtDelta("m"),
        ThoughtDelta("m."),
        TextDelta("Yes"),
    ]
    assert seen.reply.message.parts[0].details == (
        {"type": "reasoning.text", "index": 0, "text": "Hmm."},
    )
    assert streamed(*deltas, chunk({}, "stop")).reply.message.thought == "HHmHmm."


@pytest.mark.row("Q7")
def test_cumulative_details_that_begin_anew():
    reading = EventReader(Dialect(cumulative_details=True))
    for data in (
        [{"text": "A"}],
        [{"text": "AB"}],
        [{"text": "C"}],
        [{"text": "CD"}],
        [{"text": "X", "index": 1}],
    ):
        reading.feed(streamed(chunk({"reasoning_details": data})).chunks[0])
    assert reading.reply().message.thought == "ABCDX"


def test_halves_of_a_pair_in_details():
    """Half a surrogate pair in a field that is not buffered until the other half arrives."""
    seen = streamed(
        b'{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.encrypted",'
        b'"data":"\\ud83c"}]},"finish_reason":"stop"}]}'
    )
    assert seen.reply.message.parts[0].details == (
        {"type": "reasoning.encrypted", "data": "\ufffd"},
    )


# --- lists of parts -------------------------------------------------------------------------------

THINKING = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm"}]}


@pytest.mark.row("Q5")
def test_thinking_in_a_list_of_parts():
    seen = streamed(
        chunk({"content": [THINKING]}),
        chunk(
            {
                "content": [
                    {
                        "type": "thinking",
                        "thinking": [{"type": "text", "text": "m"}, {"type": "text", "text": "."}],
                    }
                ]
            }
        ),
        chunk(
            {
                "content": [
                    {"type": "text", "text": "Yes"},
                    {"type": "reference", "reference_ids": [1]},
                ]
            }
        ),
        chunk({"content": ""}),
        chunk({"content": ", so"}, "stop"),
    )
    assert seen.reply.message.parts == (Thought(text="Hmm.", slot="content"), Text(text="Yes, so"))
    assert [part.type for part in seen.answer.message.content] == [
        "thinking",
        "text",
        "reference",
        "text",
    ]
    assert seen.answer.message.content[2].reference_ids == [1]
    assert [each.text for each in seen.answer.message.content[0].thinking] == ["Hmm."]


@pytest.mark.row("Q5")
def test_thinking_as_a_text():
    seen = streamed(
        chunk({"content": [{"type": "thinking", "thinking": "H"}]}),
        chunk({"content": [{"type": "thinking", "thinking": "m"}]}),
    )
    assert seen.reply.message.thought == "Hm"
    assert [part.thinking for part in seen.answer.message.content] == ["Hm"]


def test_a_whole_answer_thinks_in_every_slot():
    body = (
        b'{"choices":[{"message":{"reasoning":"Hm","content":"<think>m</think>Yes"},'
        b'"finish_reason":"stop"}]}'
    )
    reply = parse_reply(parse_completion(body), TAGS)
    assert reply.message.parts == (
        Thought(text="Hm", slot="reasoning"),
        Thought(text="m", slot="content"),
        Text(text="Yes"),
    )
