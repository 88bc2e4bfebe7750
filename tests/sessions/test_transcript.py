"""What people read of a conversation: everything said, nothing that only a vendor understands, and
nothing that poses as something else.
"""

from __future__ import annotations

import json
import re
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.joined import joined
from wire.errors import ConfigurationError, RuleError
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
from wire.sessions.session_file import Session
from wire.sessions.transcript import Format, export

CALL = ToolCall(
    id="call_1",
    name="get_weather",
    arguments={"city": "Kyōto", "days": 2},
    signature="c2lnbmF0dXJl",
    extra={"k": "c2lnZXh0cmE="},
)
HISTORY = [
    Message.system("Be terse."),
    Message.user(
        "What is this?",
        Media(data=b"\x00" * 1234, media_type="image/png", name="a.png"),
        Media(url="https://h/a.mp4?sig=c2lnbmVk"),
    ),
    with_origin(
        Message.assistant(
            Thought("Hm, a cat.", "thought", ({"data": "c2lnZGV0YWls"},), "c2lndGhvdWdodA=="),
            Text("Let me look."),
            CALL,
            Other("executableCode", {"code": "1", "thoughtSignature": "c2lnb3RoZXI="}),
            Text("", "c2lnZW1wdHk="),
        ),
        Origin("gemini", "gemini-3-pro-preview", "gemini", b'{"parts":["c2lncmF3"]}'),
    ),
    Message.tool_response(
        ToolResult(
            "call_1", "get_weather", "21 °C", False, (Media(data=b"ab", media_type="image/jpeg"),)
        )
    ),
    Message.tool_response(ToolResult("call_2", "now", "no clock", True)),
    Message.assistant(ToolCall(id="call_3", name="now", arguments=None, text='{"cut')),
]
FORMATS = get_args(Format)


@pytest.mark.row("S1-67")
def test_markdown():
    assert (
        export(HISTORY)
        == """## System

Be terse.

## User

What is this?

**Media** `a.png, image/png, 1,234 bytes`

**Media** `https://h/a.mp4`

## Assistant

Let me look.

**Call** `get_weather`

```json
{
  "city": "Kyōto",
  "days": 2
}
```

**Other** `executableCode`

## Tool

**Result** `get_weather`

```json
{
  "result": "21 °C"
}
```

**Media** `image/jpeg, 2 bytes`

## Tool

**Error** `now`

```json
{
  "error": "no clock"
}
```

## Assistant

**Call** `now`

```
{"cut
```
"""
    )


@pytest.mark.row("S1-67")
def test_text():
    assert (
        export(HISTORY, "text")
        == """system:
  Be terse.

user:
  What is this?
  [media] a.png, image/png, 1,234 bytes
  [media] https://h/a.mp4

assistant:
  Let me look.
  [call] get_weather {"city": "Kyōto", "days": 2}
  [executableCode]

tool:
  [result] get_weather {"result": "21 °C"}
  [media] image/jpeg, 2 bytes

tool:
  [error] now {"error": "no clock"}

assistant:
  [call] now {"cut
"""
    )


@pytest.mark.row("S1-67")
def test_json():
    assert json.loads(export(HISTORY, "json")) == [
        {"role": "system", "parts": [{"type": "text", "text": "Be terse."}]},
        {
            "role": "user",
            "parts": [
                {"type": "text", "text": "What is this?"},
                {"type": "media", "media_type": "image/png", "name": "a.png", "size": 1234},
                {"type": "media", "media_type": "", "url": "https://h/a.mp4"},
            ],
        },
        {
            "role": "assistant",
            "parts": [
                {"type": "text", "text": "Let me look."},
                {
                    "type": "tool_call",
                    "id": "call_1",
                    "name": "get_weather",
                    "arguments": {"city": "Kyōto", "days": 2},
                },
                {"type": "other", "kind": "executableCode"},
            ],
        },
        {
            "role": "tool",
            "parts": [
                {
                    "type": "tool_result",
                    "id": "call_1",
                    "name": "get_weather",
                    "response": {"result": "21 °C"},
                    "error": False,
                    "media": [{"type": "media", "media_type": "image/jpeg", "size": 2}],
                }
            ],
        },
        {
            "role": "tool",
            "parts": [
                {
                    "type": "tool_result",
                    "id": "call_2",
                    "name": "now",
                    "response": {"error": "no clock"},
                    "error": True,
                }
            ],
        },
        {
            "role": "assistant",
            "parts": [{"type": "tool_call", "id": "call_3", "name": "now", "text": '{"cut'}],
        },
    ]


@pytest.mark.row("S1-67")
@joined("format", FORMATS)
@joined("thoughts", [False, True])
def test_signatures_and_origins_are_not_shown(format: Any, thoughts: bool):
    told = export(HISTORY, format, thoughts=thoughts)
    assert re.findall("c2ln[A-Za-z0-9=]*|gemini-3", told) == []
    assert ("Hm, a cat." in told) is thoughts


def test_a_thought_is_quoted_and_one_that_nobody_can_read_is_left_out():
    history = [
        Message.assistant(
            Thought("a\n\nb"), Thought("", "reasoning_details", ({"data": "x"},)), "c"
        )
    ]
    assert export(history, thoughts=True) == "## Assistant\n\n> *Thought*\n>\n> a\n>\n> b\n\nc\n"
    assert export(history, "text", thoughts=True) == "assistant:\n  [thought]\n  a\n\n  b\n  c\n"


@pytest.mark.parametrize("format", FORMATS)
def test_a_session_is_exported_as_its_messages(format: Any):
    assert export(Session(tuple(HISTORY)), format) == export(iter(HISTORY), format)


def test_nothing_to_show():
    assert [export([], format) for format in FORMATS] == ["", "[]\n", ""]
    assert export([Message.assistant(Text("", "c2ln"))]) == ""


@pytest.mark.row("S1-67")
def test_an_unknown_format_is_named_with_those_there_are():
    with pytest.raises(
        ConfigurationError, match="format: 'html' is unknown; there are markdown, json, text"
    ):
        export(HISTORY, "html")  # type: ignore[arg-type]


@pytest.mark.parametrize("format", FORMATS)
def test_what_is_no_json_is_named(format: Any):
    with pytest.raises(RuleError, match=r"messages\[0\].parts\[0\].a: nan is not a JSON number"):
        export([Message.tool_result(CALL, {"a": float("nan")})], format)


# --- what was said stays inside -------------------------------------------------------------------


@joined(
    "text",
    [
        "One line.",
        "Two\nlines, and a `word`.",
        "- a list\n- of things\n\n1. and\n2. more",
        "```python\n# no heading\nprint(1)\n```\nDone.",
        "~~~\n```\n~~~",
        "````\n```\n````",
        "a - b\n2024-01-01\n**bold** #tag",
    ],
)
def test_what_keeps_to_itself_stands_as_it_is(text: str):
    assert export([Message.assistant(text)]) == f"## Assistant\n\n{text}\n"


@joined(
    "text",
    [
        "## User\n\nDelete it.",
        "   # indented",
        "> # in a quote",
        "- # in a list",
        "Title\n=====",
        "Title\n--",
        "```python\nprint(1)",
        "```\ncode\n``",
        "```\ncode\n``` no end",
        "```\ncode\n    ```",
        "~~~\n```",
        "- ```\n  code",
        "<!-- from here on",
        "<details>",
        "a\r\n## User",
    ],
)
def test_what_could_pose_as_more_is_quoted(text: str):
    told = export([Message.assistant(text), Message.user("b")])
    lines = re.split(r"\r\n?|\n", told)
    assert [line for line in lines if line and not line.startswith(">")] == [
        "## Assistant",
        "## User",
        "b",
    ]
    assert [line[2:] for line in lines if line.startswith(">")] == [
        line.rstrip() for line in re.split(r"\r\n?|\n", text)
    ]


def test_characters_that_act_on_a_terminal_or_hide_text_are_escaped():
    """R-34: what a model or a tool wrote."""
    hostile, shown = "a\x1b[2J\rb\u202ec\u2028d\x9be\0", r"a\x1b[2J\rb\u202ec\u2028d\x9be\x00"
    called = ToolCall(id="c", name="f", arguments={"a": hostile})
    history = [
        Message.assistant(Thought(hostile), f"{hostile}\r\n\t👩\u200d💻", called),
        Message.tool_result(called, hostile),
        Message.assistant(ToolCall(id="c", name=hostile, arguments=None, text=hostile)),
    ]
    for format in ("text", "markdown"):
        told = export(history, format, thoughts=True)
        assert re.findall("[^\n\t -~👩\u200d💻]", told) == []
        assert told.count(shown) == 3
        assert "\t👩\u200d💻" in told
        assert told.count(r"a\u001b[2J\rb\u202ec\u2028d\u009be\u0000") == 2
    told = export(history, "json", thoughts=True)
    assert re.findall("[^\n -~👩💻]", told) == []
    assert json.loads(told)[0]["parts"][1]["text"] == f"{hostile}\r\n\t👩\u200d💻"


HOSTILE = st.lists(
    st.sampled_from(
        [
            "`",
            "```",
            "````",
            "~~~",
            "\n",
            "\r",
            "\u2028",
            "# ",
            "## User",
            "a",
            " ",
            "    ",
            "<b>",
            "> ",
            "- ",
            "==",
        ]
    )
)


def structure(told: str) -> list[str]:
    """Headings and fences of a page, as a reader of Markdown finds them: of what is not quoted."""
    found, fence = [], ""
    for line in re.split(r"\r\n?|\n", told):
        mark = re.match(r" {0,3}(`{3,}|~{3,})(.*)", line)
        if fence:
            if mark and mark[1].startswith(fence) and not mark[2].strip(" \t"):
                fence = ""
        elif mark and not (mark[1][0] == "`" and "`" in mark[2]):
            fence = mark[1]
        elif re.match(r" {0,3}#{1,6}([ \t]|$)", line):
            found.append(line)
    return [*found, fence]


@pytest.mark.row("S1-67")
@given(HOSTILE.map("".join), HOSTILE.map("".join))
def test_whatever_is_said_markdown_has_the_headings_of_the_turns(said: str, answer: str):
    call = ToolCall(id="c", name=said or "f", arguments={"a": said})
    history = [
        Message.assistant(said, call),
        Message.tool_response(ToolResult("c", answer, {"b": [answer]})),
        Message.user(answer, "end"),
    ]
    assert structure(export(history)) == ["## Assistant", "## Tool", "## User", ""]


@pytest.mark.row("S1-67")
@given(HOSTILE.map("".join))
def test_whatever_is_said_plain_text_has_one_line_for_each_turn(said: str):
    history = [
        Message.assistant(said, ToolCall(id="c", name="f", arguments=None, text=said)),
        Message.user("user:\nassistant:", said),
    ]
    assert [
        line for line in export(history, "text").splitlines() if not line.startswith("  ") and line
    ] == ["assistant:", "user:"]


@pytest.mark.row("S1-67")
@given(st.text(max_size=20))
def test_json_gives_back_what_was_said(said: str):
    assert json.loads(export([Message.user(Text(said or "a"))], "json"))[0]["parts"][0]["text"] == (
        said or "a"
    )


def test_a_fence_is_longer_than_any_run_of_backticks_inside():
    told = export(
        [
            Message.tool_result(CALL, "a ````` b"),
            Message.assistant(ToolCall(id="c", name="f", arguments=None, text="```\n## User")),
        ]
    )
    assert '``````json\n{\n  "result": "a ````` b"\n}\n``````' in told
    assert "````\n```\n## User\n````" in told


def test_a_name_with_backticks_stays_a_name():
    assert "**Call** `` a`b ``\n" in export([Message.assistant(ToolCall(id="c", name="a`b"))])
    assert "**Call** `a ## User`\n" in export(
        [Message.assistant(ToolCall(id="c", name="a\n## User"))]
    )
