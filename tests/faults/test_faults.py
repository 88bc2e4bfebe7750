"""Every client against the hostile server.

`make test` runs each fault whose clocks are far away once on each style, on a wire in turn. `make
faults` runs all of them on all wires, transports and ways (`python -m tests.faults`).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.clients import PROGRAMS, STYLES, TRANSPORTS, Cell, Seen
from tests.faults.families import FAMILIES, FAULTS, canary
from tests.faults.page import PAGE, last_measured, written
from tests.faults.pieces import WIRES
from tests.faults.promises import NO_TEST, PROMISES, files
from tests.faults.received import MODELS, seeds
from tests.faults.verdicts import applies, judged, key_in, matrix, served
from tests.property import sample
from wire.errors import StreamIncomplete
from wire.providers import PROVIDERS

SLOW = ("giant_line", "header_bomb", "gzip_bomb", "endless_error_body", "byte_by_byte")
"""Faults that cost a second each, for `make faults` alone."""


def test_each_fault_once(tmp_path: Path) -> None:
    """R-01 to R-36: whole or a typed error, and the next call of the same client works.

    Each style and wire meets a third of the faults, `make faults` all.
    """
    wires = list(WIRES.values())
    runs = []
    for at, style in enumerate(STYLES):
        direct = Cell(style, "direct", "plain")
        cell = direct if direct.exists else Cell(style, "lanes", "plain")
        for number, fault in list(enumerate(FAULTS.values()))[at :: len(STYLES)]:
            pieces = WIRES.get(fault.only, wires[number // len(STYLES) % len(wires)])
            if (
                not fault.clocks
                and not fault.name.startswith(SLOW)
                and applies(fault, pieces, cell)
            ):
                runs.append((fault, pieces, cell))
    with served(tmp_path) as ports:
        verdicts = judged(ports, runs)
    assert len(verdicts) == len(runs) > 100
    assert [str(each) for each in verdicts if each.kind] == []


def test_each_program_meets_a_fault_of_each_family(tmp_path: Path) -> None:
    """A client of the gateway, and `wire bulk`; `make faults` runs all faults on all wires."""
    wires, met, runs = list(WIRES.values()), set(), []
    for style in PROGRAMS:
        cell = Cell(style, "direct", "plain")
        cell = cell if cell.exists else Cell(style, "lanes", "plain")
        for fault in FAULTS.values():
            pieces = WIRES.get(fault.only, wires[len(runs) % len(wires)])
            quick = not fault.clocks and not fault.name.startswith(SLOW)
            if quick and (style, fault.family) not in met and applies(fault, pieces, cell):
                met.add((style, fault.family))
                runs.append((fault, pieces, cell))
    with served(tmp_path) as ports:
        verdicts = judged(ports, runs)
    assert len(verdicts) > 15
    assert [str(each) for each in verdicts if each.kind] == []


def test_the_matrix_has_every_client_and_every_fault_on_each() -> None:
    runs = matrix()
    assert {cell.style for _, _, cell in runs} == {*STYLES, *PROGRAMS}
    installed = {kind for kind in TRANSPORTS if Cell("threads", kind, "plain").exists}
    assert {cell.transport for _, _, cell in runs} == installed
    assert {pieces.wire for _, pieces, _ in runs} == set(WIRES)
    left = {fault.name for fault in FAULTS.values() if fault.family not in ("none", "caller")}
    for part in (*PROGRAMS, *installed):
        met = {fault.name for fault, _, cell in runs if part in (cell.style, cell.transport)}
        missing = {name for name in left - met if not FAULTS[name].own_pool}
        assert missing <= {"closed_after_the_response"}, part


def test_the_faults_go_to_every_wire() -> None:
    assert set(WIRES) == {row.wire for row in PROVIDERS.values()}
    assert {PROVIDERS[name].wire for name in MODELS} == set(WIRES)
    assert {each.wire for each in seeds()} >= set(MODELS)
    assert {PROVIDERS[each.wire].wire for each in seeds()} == set(WIRES)


def test_a_sample_has_every_wire_family_and_client() -> None:
    """`make faults-sample` takes it."""
    runs = matrix()
    for part in (runs, sample(runs, 16)):
        assert {pieces.wire for _, pieces, _ in part} == set(WIRES)
        assert {fault.family for fault, _, _ in part} == set(FAMILIES)
        assert {str(cell) for _, _, cell in part} == {str(cell) for _, _, cell in runs}


def test_every_fault_is_of_a_known_family() -> None:
    assert {each.family for each in FAULTS.values()} == {*FAMILIES, "none"}


def test_the_page_is_true() -> None:
    """`python -m tests.faults --page` writes it, with the table of the last run."""
    assert PAGE.read_text(encoding="utf-8") == written(last_measured())


def test_every_promise_has_a_test_that_names_it() -> None:
    named = files()
    assert {row for row in PROMISES if not named[row]} == set(NO_TEST)


def test_no_test_names_a_promise_that_the_page_does_not_have() -> None:
    assert set(files()) == set(PROMISES)


@pytest.mark.parametrize("kind", [str, bytes, bytearray])
def test_a_key_in_a_local_of_a_traceback_is_found(kind: type) -> None:
    def fail(text: str) -> None:
        held = text if kind is str else kind(text.encode())
        raise ValueError(len(held))

    found = []
    for key in (canary("r1"), "masked"):
        try:
            try:
                fail(key)
            except ValueError as cause:
                raise StreamIncomplete("cut") from cause
        except StreamIncomplete as error:
            found.append(key_in("r1", Seen(error=error)))
    assert found == [("key", "the key is in locals of a traceback"), None]
