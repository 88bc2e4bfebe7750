"""Joined cases: all of them run, and each that fails is named."""

from __future__ import annotations

from typing import Any

import pytest

from tests.joined import joined


def notes(group: BaseExceptionGroup[Any]) -> list[tuple[str, list[str]]]:
    return [(str(error), error.__notes__) for error in group.exceptions]


def test_all_cases_run_and_those_that_fail_are_named() -> None:
    seen = []

    @joined(("number", "word"), [(1, "a"), pytest.param(2, "b", id="two"), (3, "c")])
    def run(number: int, word: str, beside: str) -> None:
        seen.append((number, word, beside))
        if number == 2:
            pytest.fail("no two")
        if number == 3:
            raise ValueError("no three")

    with pytest.raises(BaseExceptionGroup, match="2 of 3 cases") as caught:
        run(beside="fixture")
    assert seen == [(1, "a", "fixture"), (2, "b", "fixture"), (3, "c", "fixture")]
    assert notes(caught.value) == [
        ("no two", ["case 1: two"]),
        ("no three", ["case 2: 3, 'c'"]),
    ]


def test_names_of_cases_are_given_or_made() -> None:
    def refuse(size: int) -> None:
        raise ValueError(size)

    for ids, shown in ((["small"], "small"), (lambda size: f"{size} B", "9 B"), (None, "9")):
        with pytest.raises(BaseExceptionGroup) as caught:
            joined("size", [9], ids=ids)(refuse)()
        assert notes(caught.value) == [("9", [f"case 0: {shown}"])]


def test_a_case_with_a_mark_and_no_cases_are_refused() -> None:
    with pytest.raises(AssertionError, match="a case with a mark"):
        joined("size", [pytest.param(9, marks=pytest.mark.slow)])
    with pytest.raises(AssertionError, match="no cases"):
        joined("size", [])
    with pytest.raises(AssertionError, match="size"):
        joined(("size", "word"), [(1,)])


def test_apart_they_are_tests_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APART", "1")
    mark = joined("size", [8, 9], ids=["small", "large"])
    assert mark.name == "parametrize"
    assert mark.args == ("size", [8, 9])
    assert mark.kwargs == {"ids": ["small", "large"]}
