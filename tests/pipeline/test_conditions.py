"""Conditions of edges: which hold, which do not, and which are none."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.joined import joined
from wire.errors import PipelineError
from wire.pipeline.conditions import parse_condition

CONTEXT = {
    "verdict": "ok",
    "empty": "",
    "tries": 3,
    "done": True,
    "off": False,
    "a.b": "dotted",
    "none": None,
    "list": [],
    "x": "y",
}


def holds(text: str, context: dict[str, Any] | None = None) -> bool:
    return parse_condition(text).holds(CONTEXT if context is None else context)


def refusal(text: str) -> str:
    with pytest.raises(PipelineError) as caught:
        parse_condition(text)
    return caught.value.message


@pytest.mark.row("P-60")
@joined("text", ["", "   ", "_", " _\n"])
def test_no_condition_always_holds(text: str):
    assert parse_condition(text).holds({}) is True


@pytest.mark.row("P-62", "S4-41")
@joined(
    ("text", "expected"),
    [
        ("verdict == ok", True),
        ("verdict == 'ok'", True),
        ('verdict == "ok"', True),
        ("verdict=='ok'", True),
        ("verdict == 'OK'", False),
        ("verdict == ' ok'", False),
        ("verdict != ok", False),
        ("verdict != 'no'", True),
        ("verdict", True),
        ("empty", False),
        ("!empty", True),
        ("!!verdict", True),
        ("! ! empty", False),
        ("tries == 3", True),
        ("tries == '3'", True),
        ("tries == 3.0", False),
        ("done == true", True),
        ("done == True", False),
        ("off == false", True),
        ("a.b == dotted", True),
        ("list", False),
        ("none", False),
        ("off", True),  # not empty, as the text it is compared as
        ("verdict == 'it''s'", None),
        ("verdict == ok && empty", False),
        ("verdict == ok && !empty", True),
        ("empty || verdict", True),
        ("empty || list || x == y", True),
        # && binds closer than ||, ! closer than both
        ("verdict || empty && empty", True),
        ("(verdict || empty) && empty", False),
        ("empty && empty || verdict", True),
        ("!verdict || verdict", True),
        ("!(verdict || empty)", False),
        ("!(empty && verdict) && ((x == y))", True),
        ("verdict == gemini:gemini-2.0-flash", False),
        (" \n verdict\t==\nok ", True),
        ("verdict == ''", False),
        ("empty == ''", True),
        ('empty == ""', True),
        ("x == '&& || ( ) !'", False),
    ],
)
def test_grammar(text: str, expected: bool | None):
    if expected is None:
        assert "unexpected" in refusal(text)
    else:
        assert holds(text) is expected


@pytest.mark.row("P-63")
@joined(
    ("text", "expected"),
    [
        ("missing", False),
        ("!missing", True),
        ("missing == ''", True),
        ("missing != ''", False),
        ("missing == x", False),
        ("missing != x", True),
        ("missing == '<nil>'", False),
        ("none == ''", True),
        ("none != ''", False),
    ],
)
def test_a_missing_key_is_the_empty_text(text: str, expected: bool):
    assert holds(text) is expected


@pytest.mark.row("P-64")
@joined(
    ("text", "told"),
    [
        ("a == b c", "column 8: unexpected 'c': the condition is complete before it"),
        ("a b", "column 3: unexpected 'b'"),
        ("a == 'b' 'c'", "column 10: unexpected \"'c'\""),
        ("a)", "column 2: unexpected ')'"),
        ("(a) b", "column 5: unexpected 'b'"),
        ("a == b == c", "column 8: unexpected '=='"),
        ("_ a", "column 3: unexpected 'a'"),
    ],
)
def test_text_after_a_whole_condition_is_an_error(text: str, told: str):
    assert refusal(text).startswith(f"condition {text!r}: {told}")


@pytest.mark.row("P-62", "P-106")
@joined(
    ("text", "told"),
    [
        ("a ==", "column 5: unexpected end: expected a value"),
        ("a == &&", "column 6: unexpected '&&'"),
        ("a &&", "column 5: unexpected end: expected a key"),
        ("&& a", "column 1: unexpected '&&'"),
        ("a || || b", "column 6: unexpected '||'"),
        ("(a", "column 3: unexpected end: expected ')'"),
        ("()", "column 2: unexpected ')'"),
        ("!", "column 2: unexpected end"),
        ("'x' == a", "column 1: unexpected \"'x'\": expected a key"),
        ("a-b == c", "column 1: unexpected 'a-b': expected a key"),
        ("a === b", "column 5: unexpected '='"),
        ("a & b", "column 3: unexpected '&'"),
        ("a | b", "column 3: unexpected '|'"),
        ("a > 3", "column 3: unexpected '>'"),
        ("a == 'b", 'column 6: unexpected "\'": the text is not closed'),
        ("a == \"b'", "column 6: unexpected '\"': the text is not closed"),
        ("[Y] Yes", "column 1: unexpected '['"),
        ("é", "column 1: unexpected 'é'"),
        ("(" * 5000 + "a" + ")" * 5000, "column 102: unexpected '(': nested deeper than 100"),
        ("!" * 5000 + "a", "column 102: unexpected '!': nested deeper than 100"),
    ],
)
def test_errors_name_the_column(text: str, told: str):
    assert (
        told in refusal(text)
        if len(text) > 1000
        else refusal(text).startswith(f"condition {text!r}: {told}")
    )


@pytest.mark.row("P-65")
@joined(
    ("text", "context", "expected"),
    [
        ("outcome=success", {"outcome": "success"}, True),
        ("outcome = success", {"outcome": "fail"}, False),
        ("outcome=Success", {"outcome": "success"}, False),
        ("outcome!=success", {"outcome": "fail"}, True),
        ("preferred_label=Fix", {"preferred_label": "Fix"}, True),
        (
            "outcome=success && context.tests_passed=true",
            {"outcome": "success", "tests_passed": "true"},
            True,
        ),
        (
            "outcome=success && context.tests_passed=true",
            {"outcome": "success", "tests_passed": True},
            True,
        ),
        ("outcome=success && context.tests_passed=true", {"outcome": "success"}, False),
        ("context.loop_state!=exhausted", {"loop_state": "exhausted"}, False),
        ("context.loop_state!=exhausted", {}, True),
        ("context.x=1", {"context.x": 1, "x": 2}, True),
        ("context.a.b=1", {"a.b": 1}, True),
        ("context.x", {"x": "y"}, True),
        ("context.x=''", {}, True),
        ("x=1", {"context.x": 1}, False),
    ],
)
def test_clauses_of_the_other_dialect(text: str, context: dict[str, Any], expected: bool):
    assert parse_condition(text).holds(context) is expected


def test_conditions_are_values():
    assert parse_condition("a == b") == parse_condition("a == b")
    assert parse_condition("a == b") != parse_condition("a == c")
    assert repr(parse_condition("a == b")) == "Condition(text='a == b')"


KEYS = ["a", "b", "c.d", "e_1"]
leaves = st.one_of(
    st.sampled_from(KEYS).map(lambda key: (key, lambda context: context.get(key, "") != "")),
    st.tuples(
        st.sampled_from(KEYS),
        st.sampled_from(["==", "!=", "="]),
        st.sampled_from(["", "x", "1", "two words", "&&", ")"]),
    ).map(
        lambda it: (
            f"{it[0]}{it[1]}'{it[2]}'",
            lambda context: (context.get(it[0], "") == it[2]) == (it[1] != "!="),
        )
    ),
)
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        inner.map(lambda it: (f"!({it[0]})", lambda context: not it[1](context))),
        st.lists(inner, min_size=2, max_size=3).map(
            lambda all_: (
                " && ".join(f"({text})" for text, _ in all_),
                lambda context: all(test(context) for _, test in all_),
            )
        ),
        st.lists(inner, min_size=2, max_size=3).map(
            lambda any_: (
                "||".join(f"( {text} )" for text, _ in any_),
                lambda context: any(test(context) for _, test in any_),
            )
        ),
    ),
    max_leaves=12,
)


@pytest.mark.row("P-62", "P-63")
@given(
    trees,
    st.dictionaries(st.sampled_from(KEYS), st.sampled_from(["", "x", "1", "two words", "&&", ")"])),
)
def test_random_conditions_mean_what_they_say(tree, context: dict[str, str]):
    text, expected = tree
    assert parse_condition(text).holds(context) is expected(context)


@pytest.mark.row("P-62")
def test_without_parentheses_the_order_is_not_and_or():
    for seed in range(300):
        choice = random.Random(seed)
        terms = [
            [(choice.random() < 0.3, choice.choice("abc")) for _ in range(choice.randint(1, 3))]
            for _ in range(choice.randint(1, 3))
        ]
        text = " || ".join(
            " && ".join(("!" if negated else "") + key for negated, key in group) for group in terms
        )
        context = {key: "1" for key in "abc" if choice.random() < 0.5}
        assert holds(text, context) is any(
            all((key in context) != negated for negated, key in group) for group in terms
        ), text


@pytest.mark.row("P-62")
@given(
    st.one_of(
        st.text(),
        st.lists(
            st.sampled_from(
                ["a", "'", '"', "(", ")", "!", "=", "==", "!=", "&&", "||", "&", " ", "_", "é"]
            )
        ).map("".join),
    )
)
def test_garbage_gives_errors_of_ours_and_nothing_else(text: str):
    told = ""
    try:
        assert parse_condition(text).holds({"a": "1"}) in (True, False)
    except PipelineError as problem:
        told = problem.message
    assert told == "" or ": unexpected " in told
