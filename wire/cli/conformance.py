"""`wire conformance`: any client through scripted conversations, faults and refusals."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from wire.cli.options import Command, json_option, seconds
from wire.cli.statuses import FAILED
from wire.cli.terminal import report, write, write_json, write_table

if TYPE_CHECKING:
    from wire.testing.conformance.loading import Case, Wire
    from wire.testing.conformance.running import Verdict


def _options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "client",
        nargs="?",
        metavar="CLIENT",
        help="the command of a client, such as 'python adapter.py'; it reads a task from stdin and "
        "writes a report to stdout",
    )
    command.add_argument(
        "--case",
        action="append",
        default=[],
        metavar="ID",
        help="run this case alone, or those of a pattern such as 'gemini/*'; may be repeated",
    )
    command.add_argument(
        "--cases",
        action="append",
        default=[],
        metavar="PATH",
        help="run the cases of this file, or of the files *.json of this folder, in the place of "
        "those of this library; may be repeated",
    )
    command.add_argument("--list", action="store_true", help="print the cases, and run nothing")
    command.add_argument(
        "--timeout",
        type=seconds,
        default=60.0,
        metavar="SECONDS",
        help="longest time of one case (default: 60)",
    )
    json_option(command, "the cases, or what came of them,")


def _conformance(chosen: argparse.Namespace) -> int:
    from wire.core.errors import ConfigurationError
    from wire.testing.conformance.loading import chosen as chosen_cases
    from wire.testing.conformance.running import words_of

    rows = chosen_cases(chosen.case, chosen.cases)
    if chosen.list:
        _list(rows, chosen.json)
        return 0
    if chosen.client is None:
        raise ConfigurationError("client: missing; such as 'python adapter.py'")
    words_of(chosen.client)
    verdicts: list[Verdict] = []
    for each in _verdicts(chosen, rows):
        verdicts.append(each)
        if not chosen.json:
            write(f"{each.case:<36} {each.aspect:<24} {each.result}")
            for detail in each.details:
                write(f"    {detail}")
            if each.command:
                write(f"    {each.command}")
    counts = {result: sum(each.result == result for each in verdicts) for result in _RESULTS}
    if chosen.json:
        write_json({"client": _client(verdicts), "counts": counts, "cases": verdicts})
    else:
        told = ", ".join(f"{count} {result}" for result, count in counts.items())
        write(f"\n{_client(verdicts) or chosen.client}: {told}")
    if not counts["kept"] and not counts["failed"]:
        report("wire conformance: the client took part in no case")
        return FAILED
    return FAILED if counts["failed"] else 0


_RESULTS = ("kept", "failed", "skipped")


def _verdicts(chosen: argparse.Namespace, rows: Sequence[tuple[Wire, Case]]) -> Iterator[Verdict]:
    from wire.testing.conformance.running import run

    for wire, case in rows:
        yield run(chosen.client, wire, case, chosen.timeout, chosen.cases)


def _client(verdicts: Sequence[Verdict]) -> str:
    """Return the name and version that the client gave first."""
    return next((each.client for each in verdicts if each.client), "")


def _list(rows: Sequence[tuple[Wire, Case]], is_json: bool) -> None:
    if is_json:
        cases: list[dict[str, Any]] = [
            {"id": case.id, "wire": wire.wire, "aspect": case.aspect, "about": case.about}
            for wire, case in rows
        ]
        write_json(cases)
    else:
        write_table([(case.id, case.aspect, case.about) for _, case in rows])


COMMANDS = (
    Command(
        "conformance",
        "run any client through scripted conversations, faults and refusals",
        _options,
        _conformance,
    ),
)
