"""`hand_over`: what another model may be told of what the first one said."""

from __future__ import annotations

import pytest

from wire.core.memory import notes
from wire.errors import ConfigurationError, RuleError
from wire.history import check, hand_over
from wire.neutral.messages import (
    Media,
    Message,
    Origin,
    Other,
    Part,
    Text,
    Thought,
    ToolCall,
    ToolResult,
    with_origin,
)

GEMINI = Origin("gemini", "gemini-3-pro-preview", "gemini", b"{}")
HERE, THERE = ("gemini", "gemini-3-pro-preview"), ("deepseek", "deepseek-chat")
HI = Message.user("Hi")


def of_gemini(*parts: Part) -> Message:
    return with_origin(Message.assistant(*(with_origin(part, GEMINI) for part in parts)), GEMINI)


def told(messages: list[Message]) -> list[str]:
    return [str(note) for note in notes(messages)]


SAID = of_gemini(
    Thought("hm", signature="s1"),
    Text("I look.", signature="s2"),
    ToolCall(id="a", name="search", arguments={"of": "tide"}, signature="s3"),
    ToolCall(id="b", name="search", arguments={"of": "ebb"}),
    Other("executableCode", {"code": "1 + 1"}),
    Media(data=b"x", media_type="image/png"),
)


def test_its_own_model_gets_everything_back():
    handed = hand_over([HI, SAID], *HERE)
    assert handed[1] is SAID
    assert handed.notes == ()


@pytest.mark.parametrize(
    "to", [THERE, ("gemini", "gemini-2.5-pro"), ("gemini@vertex", "gemini-3-pro-preview")]
)
def test_another_model_gets_what_was_said(to):
    handed = hand_over([HI, SAID], *to)
    assert handed[1].parts == (
        Text("I look."),
        ToolCall(id="a", name="search", arguments={"of": "tide"}),
        ToolCall(id="b", name="search", arguments={"of": "ebb"}),
        Media(data=b"x", media_type="image/png"),
    )
    assert [handed[1].origin, *(part.origin for part in handed[1].parts)] == [None] * 5
    assert told(handed) == [
        "messages[1].parts[0]: withheld: a thought of another model",
        "messages[1].parts[1]: withheld: the signature of another model",
        "messages[1].parts[2]: withheld: metadata of gemini in the call of search",
        "messages[1].parts[4]: withheld: executableCode is understood by its own vendor only",
    ]
    assert SAID.parts[2].signature == "s3"
    assert SAID.parts[5].origin is GEMINI


def test_thoughts_may_stand_as_text():
    handed = hand_over(
        [HI, of_gemini(Thought("hm"), Thought("", signature="s"), Text("Hello."))],
        *THERE,
        thoughts="as_text",
    )
    assert handed[1] == Message.assistant("<thinking>\nhm\n</thinking>\n", "Hello.")
    assert told(handed) == [
        "messages[1].parts[0]: converted to text: a thought of another model",
        "messages[1].parts[1]: withheld: a thought of another model",
    ]


def test_what_was_made_here_stays_as_it_is():
    said = [
        Message.system("Be brief."),
        HI,
        Message.assistant(
            Thought("hm", signature="s"),
            ToolCall(id="a", name="search", signature="s", extra={"x": 1}),
            Other("x"),
        ),
        Message.tool_response(ToolResult("a", "search", "found")),
    ]
    handed = hand_over(said, *THERE)
    assert all(one is other for one, other in zip(handed, said, strict=True))
    assert handed.notes == ()


def test_a_joined_turn_is_handed_over_part_by_part():
    own, others = (
        with_origin(Thought("own", signature="s"), Origin(*THERE, "openai")),
        SAID.parts[0],
    )
    handed = hand_over([HI, Message.assistant(own, others, "Hello.")], *THERE)
    assert handed[1].parts == (own, Text("Hello."))
    assert handed[1].parts[0] is own
    assert told(handed) == ["messages[1].parts[1]: withheld: a thought of another model"]


def test_a_message_of_which_nothing_is_left_goes():
    handed = hand_over(
        [HI, of_gemini(Thought("hm")), of_gemini(Text("", signature="s")), Message.user("Well?")],
        *THERE,
    )
    assert handed == [HI, Message.user("Well?")]
    assert check(handed) == []
    assert told(handed) == [
        "messages[1].parts[0]: withheld: a thought of another model",
        "messages[1]: dropped: no part of the message remains",
        "messages[2].parts[0]: withheld: the signature of another model",
        "messages[2]: dropped: no part of the message remains",
    ]


def test_there_and_back_again():
    handed = hand_over(hand_over([HI, SAID], *THERE), *HERE)
    assert handed == hand_over([HI, SAID], *THERE)
    assert handed.notes == ()


def test_bad_input_is_named():
    with pytest.raises(
        ConfigurationError, match="thoughts: expected withhold or as_text, not 'drop'"
    ):
        hand_over([HI], *THERE, thoughts="drop")
    with pytest.raises(RuleError, match=r"messages\[0\]: expected a Message, not str"):
        hand_over(["Hi"], *THERE)
