"""The values of a neutral request, checked in one pass and one by one."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.joined import joined
from wire.errors import RuleError
from wire.neutral import request as module
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
from wire.neutral.request import Output, Request, Tool, checked_request

SOUND: list[Any] = [None, "a", "\u00e4", 1, 2.5, True, [1, {"a": None}], {"a": ["b"]}, (1, 2)]
BAD = [math.nan, math.inf, b"a", {1}, "\ud83d", {1: 2}, {"\ude00": 1}, [[math.nan]], object]
VALUES = st.sampled_from(SOUND * 20 + BAD)  # one bad value in most requests that have any


def texts(value: Any) -> Any:
    """A value where a text is wanted; most are refused before anything is checked."""
    return value if isinstance(value, str) else "a"


@st.composite
def parts(draw: st.DrawFn) -> Any:
    value = draw(VALUES)
    image = Media(data=b"a", media_type="image/png", name=value)
    return draw(
        st.sampled_from(
            [
                Text(value),
                Thought("a", details=(value,)),
                ToolCall(id="c", name="f", arguments=value),
                ToolResult("c", "f", value),
                ToolResult("c", "f", "a", media=(image,)),
                image,
                Other("a", value),
            ]
        )
    )


@st.composite
def requests(draw: st.DrawFn) -> Request:
    origin = Origin("gemini", "m", "gemini", b"{}")
    messages = []
    for role in draw(st.lists(st.sampled_from(["system", "user", "assistant", "tool"]))):
        message = Message(role, tuple(draw(st.lists(parts(), max_size=2))))
        messages.append(with_origin(message, draw(st.sampled_from([None, origin]))))
    one, other, third = draw(VALUES), draw(VALUES), draw(VALUES)
    tool = Tool(
        "f", one, {"properties": {"a": other}}, {"a": third} if draw(st.booleans()) else None
    )
    return Request(
        messages=tuple(messages),
        tools=(tool,) if draw(st.booleans()) else (),
        system=texts(draw(VALUES)),
        temperature=draw(VALUES),
        stop=(draw(VALUES),),
        output=Output({"a": draw(VALUES)}, draw(VALUES)) if draw(st.booleans()) else None,
        options={"gemini": {"a": draw(VALUES)}, "openai": draw(VALUES)},
    )


def outcome(request: Request) -> str:
    try:
        assert checked_request(request) is request
    except RuleError as error:
        return str(error)
    return ""


@given(requests())
def test_one_pass_finds_what_each_check_finds(request: Request) -> None:
    found = outcome(request)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "are_sound", lambda _: False)
        assert outcome(request) == found


def test_results_are_checked_whoever_made_their_message() -> None:
    result = Message.tool_response(ToolResult("c", "f", {"temp": math.nan}))
    result = with_origin(result, Origin("gemini", "m", "gemini", b"{}"))
    with pytest.raises(RuleError, match=r"^messages\[0\]\.parts\[0\]\.content\.temp: nan"):
        checked_request(Request(messages=(result,)))


PNG = Media(data=b"a", media_type="image/png", name="\ud83d")


@joined(
    ("path", "part"),
    [
        ("text", Text("\ud83d")),
        ("details", Thought("a", details=({"a": math.nan},))),
        ("arguments", ToolCall(id="c", name="f", arguments={"a": math.nan})),
        ("content", ToolResult("c", "f", math.nan)),
        ("media[1].name", ToolResult("c", "f", "a", media=(Media(url="a"), PNG))),
        ("name", PNG),
        ("data", Other("a", {"b": {1}})),
    ],
)
def test_each_value_of_a_part_is_checked(path: str, part: Any) -> None:
    with pytest.raises(RuleError) as caught:
        checked_request(Request(messages=(Message.user("Hi"), Message.user("a", part))))
    [violation] = caught.value.violations
    assert violation.path.startswith(f"messages[1].parts[1].{path}")


@joined(
    ("path", "settings"),
    [
        ("system", {"system": "\ud83d"}),
        ("tools[0].description", {"tools": (Tool("f", "\ud83d"),)}),
        ("tools[0].parameters.title", {"tools": (Tool("f", "a", {"title": math.nan}),)}),
        ("tools[0].response.title", {"tools": (Tool("f", "a", {}, {"title": math.nan}),)}),
        ("max_tokens", {"max_tokens": math.inf}),
        ("top_p", {"top_p": math.nan}),
        ("stop[1]", {"stop": ("a", "\ud83d")}),
        ("effort", {"effort": "\ud83d"}),
        ("output.schema.title", {"output": Output({"title": b"a"})}),
        ("output.name", {"output": Output({}, "\ud83d")}),
        ("options.any.a", {"options": {"any": {"a": {1: 2}}}}),
    ],
)
def test_each_setting_is_checked(path: str, settings: Any) -> None:
    with pytest.raises(RuleError) as caught:
        checked_request(Request(messages=(Message.user("Hi"),), **settings))
    assert [each.path for each in caught.value.violations] == [path]
