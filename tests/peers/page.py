"""The page docs/project/conformance.md, of what came of the cases."""

from __future__ import annotations

import html
import typing
from collections.abc import Sequence
from dataclasses import dataclass

from wire.testing.conformance.loading import Aspect
from wire.testing.conformance.running import Verdict

ASPECTS: tuple[str, ...] = typing.get_args(Aspect)


@dataclass(frozen=True)
class Client:
    """One client; `wires` are those of its cases."""

    package: str
    language: str
    wires: Sequence[str]
    command: str
    driven: str
    """What of the client its adapter calls."""


@dataclass(frozen=True)
class Result:
    client: Client
    verdicts: Sequence[Verdict]
    missing: str = ""
    """Why it was not run."""

    @property
    def name(self) -> str:
        version = next((each.client for each in self.verdicts if each.client), "")
        words = version.split()
        return f"{self.client.package} {words[1]}" if len(words) > 1 else self.client.package

    def kept(self, aspect: str = "") -> tuple[int, int]:
        """Cases that were kept and that were tried."""
        tried = [
            each
            for each in self.verdicts
            if each.result != "skipped" and aspect in ("", each.aspect)
        ]
        return sum(each.result == "kept" for each in tried), len(tried)


_ABOUT = """\
# Conformance of today's clients

`make conformance` runs each client below through the cases of
[`wire conformance`](../guide/conformance.md#what-is-tried) and writes this page: how many cases of
an aspect were kept, of those that were tried. Run on {date}. All cases are played by the
emulator of this project, on loopback and without the vendors.

{table}

Versions are those of tests/sdks/today.txt and today.npm, and of tests/peers. Each client runs as
its documentation begins, with two settings: retries are switched on where they are off by default,
and what a vendor demands for thoughts is asked for. A case is judged by what reaches the server and
what the client reports, with the same expectation for each.

{clients}
"""


def page(results: Sequence[Result], date: str) -> str:
    """The whole page."""
    head = ["client", "language", "wires", *ASPECTS, "all"]
    rows = [
        [
            each.name,
            each.client.language,
            ", ".join(each.client.wires),
            *(_share(*each.kept(aspect)) for aspect in ASPECTS),
            _share(*each.kept()),
        ]
        for each in results
    ]
    lines = [_line(head), "|---" * len(head) + "|", *map(_line, rows)]
    clients = "\n\n".join(_section(each) for each in results)
    return _ABOUT.format(date=date, table="\n".join(lines), clients=clients)


def _share(kept: int, tried: int) -> str:
    return f"{kept} of {tried}" if tried else ""


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(each.replace("|", "\\|") for each in cells) + " |"


def _section(result: Result) -> str:
    client = result.client
    title = f"## {result.name} ({client.language})"
    if result.missing:
        return f"{title}\n\nNot run: {result.missing}."
    text = f"{title}\n\n{client.driven}"
    failed = [each for each in result.verdicts if each.result == "failed"]
    if not failed:
        return f"{text} All {result.kept()[1]} cases were kept."
    rows = [_line((f"`{each.case}`", _shown(each.details[0]))) for each in failed]
    again = failed[0].command.removesuffix(failed[0].case)
    return "\n".join([text, "", "| failed | |", "|---|---|", *rows, "", f"Again: `{again}ID`"])


def _shown(detail: str) -> str:
    """A detail as a cell: texts of servers and clients are no markup."""
    short = " ".join(detail.split())
    short = short if len(short) <= 240 else f"{short[:240]}..."
    return "".join(f"\\{each}" if each in "*_[]`\\" else each for each in html.escape(short, False))
