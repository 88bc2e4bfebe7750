"""The table of threats in `docs/guide/security.md`."""

from __future__ import annotations

import pytest

from tests.faults import threats
from tests.faults.threats import THREATS, Threat


def test_each_test_and_promise_of_the_table_exists() -> None:
    assert threats.missing() == []
    assert all(each.tests for each in THREATS)


def test_a_test_that_is_gone_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = ("test_sbom.py::test_nothing", "no_file.py::test_x")
    monkeypatch.setattr(threats, "THREATS", (Threat("a", "b", "R-no", gone),))
    assert threats.missing() == ["R-no", *gone]
