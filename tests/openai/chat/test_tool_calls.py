"""Tool calls assembled from fragments: the call of each fragment, names, arguments (Q8 to Q12)."""

from __future__ import annotations

import pytest

from tests.joined import joined
from wire.neutral.messages import ToolCall, ToolCallDelta, ToolCallEnd, ToolCallStart
from wire.openai import EventReader, parse_reply
from wire.openai.chat.reader import parse_completion
from wire.openai.chat.tool_calls import present
from wire.openai.common.arguments import arguments_of

from .bodies import chunk, piece, sse, streamed, told


def calls(*deltas, finish="tool_calls"):
    """Id, name and text of each call."""
    seen = streamed(*map(chunk, deltas), chunk({}, finish)).reply.message.tool_calls
    return [(call.id, call.name, call.text) for call in seen]


def last(*deltas, finish="tool_calls") -> ToolCall:
    return streamed(*map(chunk, deltas), chunk({}, finish)).reply.message.tool_calls[-1]


# --- Q8: what means absent ------------------------------------------------------------------------


@pytest.mark.row("Q8")
@joined(
    ("text", "means"),
    [("", None), ("null", None), (None, None), ("nul", "nul"), ("0", "0"), (" ", " ")],
)
def test_absent(text, means):
    assert present(text) == means


@pytest.mark.row("Q8")
@pytest.mark.parametrize("empty", ["", "null"])
def test_what_means_absent_overwrites_nothing(empty):
    assert calls(piece('{"a"', id="c1", name="f"), piece(":1}", id=empty, name=empty)) == [
        ("c1", "f", '{"a":1}')
    ]


def test_a_type_of_its_host_is_kept():
    [call] = streamed(
        chunk(piece("{}", id="c1", name="f", type="builtin_function")), chunk({}, "stop")
    ).answer.tool_calls
    assert (call.type, call.function.name) == ("builtin_function", "f")


@pytest.mark.row("Q8")
def test_type_that_says_nothing():
    [call] = streamed(
        chunk(piece("{}", id="c1", name="f", type="")), chunk({}, "stop")
    ).answer.tool_calls
    assert call.type == "function"


# --- Q9: which call a delta belongs to ------------------------------------------------------------

FULL, MORE = '{"a":1}', '{"b":2}'


@pytest.mark.row("Q9")
@joined(
    ("deltas", "expected"),
    [
        # (a) with an index
        ([piece('{"a"', id="c1", name="f"), piece(":1}")], [("c1", "f", FULL)]),
        (
            [piece(FULL, id="c1", name="f"), piece(MORE, id="c2", name="f")],
            [("c1", "f", FULL), ("c2", "f", MORE)],
        ),
        (
            [piece('{"a"', id="c1", name="f"), piece(MORE, id="c2", name="g")],
            [("c1", "f", '{"a"'), ("c2", "g", MORE)],
        ),
        ([piece('{"a"', id="c1", name="f"), piece(":1}", id="c1", name="f")], [("c1", "f", FULL)]),
        (
            [piece("", id="c1", name="f"), piece(FULL, name="g")],
            [("c1", "fg", FULL)],
        ),  # nothing was complete
        ([piece("{}", id="c1", name="f"), piece(FULL, name="f")], [("c1", "f", "{}" + FULL)]),
        ([piece(FULL, id="c1", name="f"), piece("", name="f")], [("c1", "f", FULL)]),
        # an index is a key, not a place
        (
            [piece(FULL, id="c1", name="f", index=-1), piece(MORE, id="c2", name="g", index=7)],
            [("c1", "f", FULL), ("c2", "g", MORE)],
        ),
        (
            [
                piece('{"a"', id="c1", name="f", index=4),
                piece('{"b"', id="c2", name="g", index=2),
                piece(":1}", index=4),
                piece(":2}", index=2),
            ],
            [("c1", "f", FULL), ("c2", "g", MORE)],
        ),
        # the call that was opened last under an index
        (
            [piece(FULL, id="c1", name="f"), piece('{"b"', id="c2", name="g"), piece(":2}")],
            [("c1", "f", FULL), ("c2", "g", MORE)],
        ),
        # (b) without an index
        (
            [piece('{"a"', id="c1", name="f", index=None), piece(":1}", index=None)],
            [("c1", "f", FULL)],
        ),
        (
            [
                piece('{"a"', id="c1", name="f", index=None),
                piece(MORE, id="c2", name="g", index=None),
                piece(":1}", id="c1", index=None),
            ],
            [("c1", "f", FULL), ("c2", "g", MORE)],
        ),
        (
            [piece(FULL, id="c1", name="f", index=None), piece(MORE, id="c2", index=None)],
            [("c1", "f", FULL), ("c2", "", MORE)],
        ),
        (
            [piece('{"a"', id="c1", name="f", index=0), piece(":1}", index=None)],
            [("c1", "f", FULL)],
        ),
        # the call that was touched last
        (
            [
                piece("{", id="c1", name="f", index=None),
                piece("{", id="c2", name="g", index=None),
                piece('"b"', index=None),
                piece('"a"', id="c1", index=None),
                piece(":1}", index=None),
            ],
            [("c1", "f", FULL), ("c2", "g", '{"b"')],
        ),
    ],
)
def test_belongs(deltas, expected):
    assert calls(*deltas) == expected


@pytest.mark.row("Q9")
@pytest.mark.parametrize("index", [0, None])
def test_a_name_after_complete_arguments_begins_a_call(index):
    made = last(piece(FULL, name="f", index=index), piece(MORE, name="g", index=index))
    assert (made.name, made.arguments) == ("g", {"b": 2})


@pytest.mark.row("Q9")
def test_another_name_after_complete_arguments_begins_a_call_though_there_is_an_id():
    made = calls(piece(FULL, id="c1", name="f"), piece(MORE, name="g"))
    assert [(name, text) for _, name, text in made] == [("f", FULL), ("g", MORE)]


@pytest.mark.row("Q9")
def test_the_same_name_after_complete_arguments_begins_a_call_where_there_is_no_id():
    made = calls(piece(FULL, name="f"), piece(MORE, name="f"))
    assert [text for _, _, text in made] == [FULL, MORE]
    assert calls(piece(FULL, id="c1", name="f"), piece(MORE, name="f")) == [
        ("c1", "f", FULL + MORE)
    ]
    [(_, name, text)] = calls(
        piece("{}", name="f"), piece("{}", name="f")
    )  # {} is not complete yet
    assert (name, text) == ("f", "{}{}")


@pytest.mark.row("Q9")
def test_two_in_one_delta():
    both = {
        "tool_calls": [
            *piece(FULL, id="c1", name="f", index=0)["tool_calls"],
            *piece(MORE, id="c2", name="g", index=0)["tool_calls"],
        ]
    }
    assert calls(both) == [("c1", "f", FULL), ("c2", "g", MORE)]


@pytest.mark.row("Q9")
def test_a_piece_without_anything_before_it():
    [(id, name, text)] = calls(piece(FULL, index=None))
    assert (id[:5], name, text) == ("call_", "", FULL)


# --- Q10: ids and names ---------------------------------------------------------------------------


@pytest.mark.row("Q10")
def test_the_first_id_stays_and_a_late_one_is_taken():
    assert calls(piece('{"a"', name="f"), piece(":", id="c1"), piece("1}", id="c1")) == [
        ("c1", "f", FULL)
    ]


@pytest.mark.row("Q10")
def test_an_id_after_complete_arguments_is_theirs():
    assert calls(piece(FULL, name="f"), piece("", id="c1", name="f")) == [("c1", "f", FULL)]


@pytest.mark.row("Q10")
def test_names():
    assert calls(
        piece("", id="c", name="get_"), piece("", name="tide"), piece("{}", name="get_tide")
    ) == [("c", "get_tide", "{}")]


@pytest.mark.row("Q10")
def test_order_is_that_of_opening():
    assert [
        name
        for _, name, _ in calls(
            piece(FULL, id="c2", name="g", index=1), piece(MORE, id="c1", name="f", index=0)
        )
    ] == ["g", "f"]


# --- Q11: arguments -------------------------------------------------------------------------------


@pytest.mark.row("Q11")
@joined(
    ("text", "whole", "cut"),
    [
        ("", {}, None),
        ("null", {}, None),
        (" null\n", {}, None),
        ("{}", {}, {}),
        (' {"a": 1} ', {"a": 1}, {"a": 1}),
        ('{"a":1', None, None),
        ('{"a":1}{', None, None),
        ("[1]", None, None),
        ("5", None, None),
        ('"a"', None, None),
        ('{"a":NaN}', None, None),
        ('{"a":"\\ud83d"}', {"a": "\ufffd"}, {"a": "\ufffd"}),  # R-08: half a pair, escaped twice
        ('{"a":' * 5000 + "1" + "}" * 5000, None, None),
        ('{"a":1' + "0" * 30 + "}", {"a": 10**30}, {"a": 10**30}),
        ('{"a":' * 201 + "1" + "}" * 201, None, None),  # it could not be pickled
    ],
)
def test_arguments_of(text, whole, cut):
    assert (arguments_of(text), arguments_of(text, cut=True)) == (whole, cut)


@pytest.mark.row("Q11")
@joined(
    ("pieces", "text", "arguments"),
    [
        (['{"a"', ":1}"], FULL, {"a": 1}),
        ([FULL, FULL], FULL, {"a": 1}),  # a repetition of the whole
        (["{}", "{}"], "{}{}", None),
        (["1", "1"], "11", None),
        (['{"a":', "1}", FULL], FULL, {"a": 1}),
        ([None, None], "", {}),
        (["", "null"], "null", {}),
        (["port=1"], "port=1", None),
        # values that are no text
        ([{"a": 1}], FULL, {"a": 1}),
        ([{"a": 1}, {"a": 1}], FULL, {"a": 1}),
        ([{"a": 1}, {"a": 1, "b": 2}], '{"a":1,"b":2}', {"a": 1, "b": 2}),
        ([{"a": 1}, FULL], FULL, {"a": 1}),
        ([{}, '{"a"', ":1}"], FULL, {"a": 1}),  # some begin with {}
        ([FULL, {}], FULL, {"a": 1}),
        ([{}], "{}", {}),
        ([[1]], "[1]", None),
        ([5], "5", None),
        ([0], "0", None),
        ([False], "false", None),
    ],
)
def test_pieces(pieces, text, arguments):
    made = last(*(piece(each, id="c1", name="f") for each in pieces))
    assert (made.text, made.arguments) == (text, arguments)


@pytest.mark.row("Q11")
def test_a_value_replaces_pieces_that_came_before_it():
    reading = EventReader()
    reader = parse_completion(
        sse(chunk(piece('{"a"', id="c", name="f")), chunk(piece({"b": 2})), b"[DONE]")
    )
    reading.feed(reader)
    assert reading.reply().message.tool_calls == (
        ToolCall(id="c", name="f", arguments={"b": 2}, text=MORE, response="c"),
    )


@pytest.mark.row("Q11")
@joined(
    ("finish", "arguments"),
    [("length", None), ("model_length", None), ("tool_calls", {}), ("stop", {})],
)
def test_nothing_is_a_cut_off_call_where_the_answer_was_cut_off(finish, arguments):
    made = last(piece("", id="c1", name="f"), finish=finish)
    assert (made.arguments, made.text) == (arguments, "")


@pytest.mark.row("Q11")
def test_native_reason_says_that_the_call_was_cut_off():
    seen = streamed(
        chunk(piece("", id="c1", name="f")),
        chunk({}, "tool_calls", choice={"native_finish_reason": "MAX_TOKENS"}),
    ).reply
    assert (seen.stop.reason, seen.stop.raw, seen.message.tool_calls[0].arguments) == (
        "length",
        "tool_calls",
        None,
    )


@joined(
    ("first", "second", "text"),
    [
        (b'{\\"a\\":\\"\\ud83c', b'\\udf0a\\"}', '{"a":"🌊"}'),  # R-08: a pair cut in two
        (b'{\\"a\\":\\"\\\\ud83c', b'\\\\udf0a\\"}', '{"a":"\\ud83c\\udf0a"}'),
        (b'{\\"a\\":\\"\\ud83c', b'\\"}', '{"a":"\ufffd"}'),
        (b'{\\"a\\":\\"', b"\\ud83c", '{"a":"\ufffd'),
    ],
)
def test_halves_of_a_pair_in_arguments(first, second, text):
    body = (
        '{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"f",'
        '"arguments":"%s"}}]}}]}'
    )
    seen = streamed(
        *(body.encode().replace(b"%s", each) for each in (first, second)), chunk({}, "tool_calls")
    )
    [made] = seen.reply.message.tool_calls
    assert (made.text, made.arguments) == (
        text,
        {"a": "🌊"} if "\ufffd" not in text else arguments_of(text),
    )
    assert seen.answer.tool_calls[0].function.arguments == text


def test_halves_of_a_pair_in_names_and_ids():
    body = (
        b'{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c\\ud83c",'
        b'"function":{"name":"f\\ud83c","arguments":{"a":"\\ud83c"}}}]}}]}'
    )
    assert calls_of(body) == [("c\ufffd", "f\ufffd", '{"a":"\ufffd"}')]


def calls_of(*datas):
    return [(call.id, call.name, call.text) for call in streamed(*datas).reply.message.tool_calls]


# --- Q12: what has no id, and what stands beside --------------------------------------------------


@pytest.mark.row("Q12")
def test_legacy_function_call():
    seen = streamed(
        chunk({"function_call": {"name": "", "arguments": ""}}),
        chunk({"function_call": {"name": "f", "arguments": ""}}),
        chunk({"function_call": {"name": "f", "arguments": '{"a"'}}),
        chunk({"function_call": {"arguments": ":1}"}}),
        chunk({}, "function_call"),
    )
    [made] = seen.reply.message.tool_calls
    assert (made.name, made.arguments, seen.reply.stop.reason, seen.reply.stop.raw) == (
        "f",
        {"a": 1},
        "tool_calls",
        "function_call",
    )
    message = seen.answer.message
    assert (message.function_call.name, message.function_call.arguments, message.tool_calls) == (
        "f",
        FULL,
        None,
    )


@pytest.mark.row("Q12")
def test_legacy_call_without_a_name():
    seen = streamed(chunk({"function_call": {"arguments": FULL}}), chunk({}, "function_call")).reply
    assert [(call.name, call.text) for call in seen.message.tool_calls] == [("", FULL)]


@pytest.mark.row("Q12")
def test_legacy_call_that_says_nothing_is_none():
    seen = streamed(
        chunk({"content": "Hi", "function_call": {"name": "", "arguments": None}}),
        chunk({}, "stop"),
    ).reply
    assert (seen.message.tool_calls, seen.text, seen.stop.reason) == ((), "Hi", "end")


@pytest.mark.row("Q12")
def test_ids_that_are_made():
    """A made-up id is the same on replay, and differs between calls and between requests."""
    body = sse(
        chunk(piece(FULL, name="f", index=0)),
        chunk(piece(MORE, name="g", index=1)),
        chunk({}, "tool_calls"),
        b"[DONE]",
    )
    first, again = told(body), told(body)
    ids = [call.id for call in first.reply.message.tool_calls]
    assert ids == [call.id for call in again.reply.message.tool_calls]
    assert len(set(ids)) == 2
    other = parse_reply(first.answer, body=b"another request")
    assert not {call.id for call in other.message.tool_calls} & set(ids)
    assert all(id.startswith("call_") and len(id) <= 40 for id in ids)  # OpenAI takes 40 characters


@pytest.mark.row("Q12")
def test_extra_content_is_kept_with_its_call():
    made = last(
        piece("{", id="c1", name="f", extra_content={"google": {"thought_signature": "c2ln"}}),
        piece("}", extra_content={"later": 1}),
    )
    assert made.extra == {"google": {"thought_signature": "c2ln"}, "later": 1}
    assert last(piece("{}", id="c1", name="f")).extra is None


def test_custom_tools():
    seen = streamed(
        chunk(
            {
                "tool_calls": [
                    {
                        "index": 0,
                        "id": "c1",
                        "type": "custom",
                        "custom": {"name": "shell", "input": "ls "},
                    }
                ]
            }
        ),
        chunk({"tool_calls": [{"index": 0, "custom": {"input": "-l"}}]}),
        chunk({}, "tool_calls"),
    )
    expected = ToolCall(
        id="c1",
        name="shell",
        arguments={"input": "ls -l"},
        text="ls -l",
        kind="custom",
        response="c1",
    )
    assert seen.reply.message.tool_calls == (expected,)
    [call] = seen.answer.tool_calls
    assert (call.type, call.custom.name, call.custom.input, call.function) == (
        "custom",
        "shell",
        "ls -l",
        None,
    )


def test_fields_of_both_kinds():
    """Some servers send all fields, most of them empty."""
    both = {"function": {"name": "f", "arguments": "{}"}, "custom": {"name": "", "input": ""}}
    other = {"function": {"name": "", "arguments": ""}, "custom": {"name": "shell", "input": "ls"}}
    made = streamed(
        chunk({"tool_calls": [{"index": 0, "id": "c1", **both}, {"index": 1, "id": "c2", **other}]})
    ).reply.message.tool_calls
    assert [(call.kind, call.name, call.text) for call in made] == [
        ("function", "f", "{}"),
        ("custom", "shell", "ls"),
    ]


# --- events ---------------------------------------------------------------------------------------


def test_events_of_calls():
    """A call starts with its first arguments, when its name is complete; all calls end together."""
    seen = streamed(
        chunk(piece("", id="c1", name="f")),
        chunk(piece('{"a"')),
        chunk(piece("", id="c2", name="g", index=1)),
        chunk(piece(":1}")),
        chunk(piece({"b": 2}, index=1)),
        chunk({}, "tool_calls"),
    )
    first = ToolCall(id="c1", name="f", arguments={"a": 1}, text=FULL, response="c1")
    second = ToolCall(id="c2", name="g", arguments={"b": 2}, text=MORE, response="c1")
    assert seen.events[:-1] == [
        ToolCallStart(0, "f", "c1"),
        ToolCallDelta(0, '{"a"'),
        ToolCallDelta(0, ":1}"),
        ToolCallStart(1, "g", "c2"),
        ToolCallEnd(0, first),
        ToolCallDelta(1, MORE),
        ToolCallEnd(1, second),
    ]


def test_a_call_without_arguments_is_begun_when_the_next_one_is():
    seen = streamed(
        chunk(piece("", id="c1", name="f")), chunk(piece("{}", id="c2", name="g", index=1))
    )
    assert seen.events[:3] == [
        ToolCallStart(0, "f", "c1"),
        ToolCallStart(1, "g", "c2"),
        ToolCallDelta(1, "{}"),
    ]
