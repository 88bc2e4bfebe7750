"""Which result answers which call."""

from __future__ import annotations

from wire.neutral.messages import Message, ToolCall, ToolResult
from wire.neutral.pairing import answers, pair, turns


def calls(*ids: str) -> Message:
    return Message.assistant(*(ToolCall(id=id, name="f") for id in ids))


def results(*ids: str) -> Message:
    return Message.tool_response(ToolResult(id, "f", id) for id in ids)


def test_the_kth_result_of_an_id_answers_the_kth_call_of_it() -> None:
    assert pair("aba", "baa", (tuple, tuple)) == [1, 0, 2]


def test_each_test_is_tried_on_all_calls_before_the_next() -> None:
    def same(item: str) -> tuple[str, ...]:
        return ("any",)

    assert pair("xb", "ba", (tuple, tuple), (same, same)) == [1, 0]
    assert pair("xb", "ba", (same, same)) == [0, 1]


def test_a_call_takes_the_first_free_result_of_all_its_keys() -> None:
    assert pair(["ab", "b"], "ba", (tuple, tuple)) == [0, None]
    assert pair(["ab", "b"], "ab", (tuple, tuple)) == [0, 1]


def test_a_call_without_a_result_and_a_result_without_a_call() -> None:
    assert pair("abc", "cz", (tuple, tuple)) == [None, None, 0]


def test_a_turn_ends_where_somebody_speaks() -> None:
    said = [results("z"), calls("a"), Message.user("Hi"), results("a"), calls("b"), results("b")]
    assert [(turn.index, turn.pairs) for turn in turns(said)] == [
        (-1, []),
        (1, [None]),
        (2, []),
        (4, [0]),
    ]
    assert [[each.path for each in turn.results] for turn in turns(said)] == [
        ["messages[0].parts[0]"],
        [],
        ["messages[3].parts[0]"],
        ["messages[5].parts[0]"],
    ]


def test_answers_are_in_the_order_of_their_calls() -> None:
    said = [
        Message.user("Hi"),
        calls("a", "b"),
        Message.system("Be brief."),
        results("b"),
        results("a"),
        calls("a"),
        results("a"),
    ]
    found = answers(turns(said))
    assert {path: [each.path for each in given.results] for path, given in found.items()} == {
        "messages[1]": ["messages[4].parts[0]", "messages[3].parts[0]"],
        "messages[5]": ["messages[6].parts[0]"],
    }
    assert [given.moved for given in found.values()] == ["messages[3]", ""]
