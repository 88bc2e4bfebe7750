"""Many small cases as one test: pytest takes some milliseconds for each test, whatever it does."""

from __future__ import annotations

import functools
import inspect
import os
import reprlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest


def joined(
    names: str | Sequence[str],
    cases: Iterable[Any],
    ids: Iterable[str] | Callable[[Any], Any] | None = None,
) -> Callable[[Callable[..., None]], Any]:
    """As `pytest.mark.parametrize`, in one test. All cases run; each that fails is named.

    A fixture of the test is the same for all cases. With `APART=1` in the environment each case is
    a test of its own, so that `pytest -k` can select it.
    """
    cases = list(cases)
    known = ids if ids is None or callable(ids) else list(ids)
    assert cases, "no cases"
    if os.environ.get("APART"):
        return pytest.mark.parametrize(names, cases, ids=known)
    keys = [each.strip() for each in names.split(",")] if isinstance(names, str) else list(names)
    table = [_row(case, is_one=isinstance(names, str) and len(keys) == 1) for case in cases]
    assert all(len(row) == len(keys) for row, _ in table), names

    def decorated(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            failed: list[BaseException] = []
            for number, (row, id) in enumerate(table):
                try:
                    test(**fixtures, **dict(zip(keys, row, strict=True)))
                except (Exception, pytest.fail.Exception) as error:
                    error.add_note(f"case {number}: {id or _shown(row, number, known)}")
                    failed.append(error)
            if failed:
                raise BaseExceptionGroup(f"{len(failed)} of {len(table)} cases", failed)

        signature = inspect.signature(test)
        others = [each for name, each in signature.parameters.items() if name not in keys]
        vars(run)["__signature__"] = signature.replace(parameters=others)
        return run

    return decorated


def _row(case: Any, *, is_one: bool) -> tuple[tuple[Any, ...], str | None]:
    """The values of a case, and its id if `pytest.param` gives one."""
    if isinstance(case, type(pytest.param())):
        assert not case.marks, "a case with a mark is a test of its own"
        return tuple(case.values), case.id and str(case.id)
    return (case,) if is_one else tuple(case), None


def _shown(row: tuple[Any, ...], number: int, ids: Any) -> str:
    """The name of a case that failed."""
    if isinstance(ids, list):
        return str(ids[number])
    return ", ".join(str(ids(each)) if ids else reprlib.repr(each) for each in row)
