"""`match.text` of a script: found where Python's `re` finds it, in bounded time."""

from __future__ import annotations

import json
import random
import re
import sys

import pytest

from tests.joined import joined
from tests.testing.emulator.asks import GEMINI_3, KEY, parts, user
from wire.testing.emulator import Emulator
from wire.testing.emulator.patterns import Search, Unsearchable

ATOMS = (
    "a", "b", ".", "A", "1", " ", r"\d", r"\w", r"\s", r"\b", r"\B", r"\n", "^", "$", r"\A", r"\Z",
    "[ab]", "[^a]", "[A-C]", "(?:a|b|)", "(b|ab)", "(?i:aB)", "(?s:.)", "(?m:^a$)",
)  # fmt: skip
QUANTIFIERS = ("", "", "", "*", "+", "?", "{2}", "{1,3}", "*?", "{0,2}", "{2,}")


def pattern(dice: random.Random, depth: int) -> str:
    made = ""
    for _ in range(dice.randrange(1, 5)):
        atom = dice.choice(ATOMS)
        if depth and dice.random() < 0.3:
            other = dice.choice(("", "|" + pattern(dice, depth - 1)))
            atom = f"({pattern(dice, depth - 1)}{other})"
        made += atom + dice.choice(QUANTIFIERS)
    return made


def test_it_finds_what_re_finds() -> None:
    """Random patterns and texts, both small: `re` is fast on them."""
    dice, compared = random.Random(5), 0
    while compared < 3000:
        one = dice.choice(("", "", "(?i)", "(?m)", "(?s)")) + pattern(dice, 2)
        try:
            compiled = re.compile(one)
        except re.error:
            continue
        for _ in range(4):
            text = "".join(dice.choice("abAB1 \n_") for _ in range(dice.randrange(9)))
            if not text and "\\B" in one and sys.version_info < (3, 14):
                continue  # `re` then found \B in no empty text, unlike JavaScript and JSON Schema
            assert Search(one).found(text) == bool(compiled.search(text)), (one, text)
            compared += 1


@pytest.mark.timeout(30)
@joined(
    ("one", "text"),
    [
        ("(a+)+$", "a" * 30_000 + "b"),
        ("(a|a)*b", "a" * 30_000),
        (".*.*.*.*.*x", "a" * 30_000),
        ("(a?){40}a{40}", "a" * 39 + "b"),
        ("((a{1,10}){1,10}){1,10}b", "a" * 10_000),
        (r"\b(a+)+\b$", "a b" * 10_000),
    ],
)
def test_a_pattern_on_which_re_does_not_end(one: str, text: str) -> None:
    """Years of `re`; the time limit of the test is the proof."""
    assert not Search(one).found(text)


@joined(
    ("one", "why"),
    [
        (r"(a)\1", "groupref: not supported"),
        ("(?=a)", "assert: not supported"),
        ("(?>a+)a", "atomic group: not supported"),
        ("((a{999}){999}){999}", "too many repetitions"),
        ("(", "invalid: missing )"),
        ("[[a]", "escape ["),
        ("a" * 3000, "longer than 2000 characters"),
        ("(?a)x", "only the flags"),
    ],
)
def test_a_pattern_that_is_refused(one: str, why: str) -> None:
    with pytest.raises(Unsearchable, match=re.escape(why)):
        Search(one)
    step = {"match": {"text": one}, "say": "x"}
    answer = Emulator().answer("PUT", "/_wire/script", {}, json.dumps([step]).encode())
    assert answer.status == 400
    assert why in json.loads(answer.body)["error"]


def test_a_literal_is_found_anywhere_in_a_long_question() -> None:
    emulator = Emulator([{"match": {"text": "needle"}, "say": "found"}])
    body = json.dumps({"contents": [user("x" * 500_000 + "needle")]}).encode()
    answer = emulator.answer("POST", f"{GEMINI_3}:generateContent", KEY, body)
    assert parts(json.loads(answer.body))[0]["text"] == "found"
