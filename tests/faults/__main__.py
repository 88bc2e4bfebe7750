"""`python -m tests.faults`: run the faults, print the table and write `docs/reliability.md`.

`--only`, `--cell` and `--wire` choose faults, clients and a wire, `--one-in` takes a sample; they
write nothing. `--page` runs nothing, and writes the page with the table of the last run.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from tests.faults.clients import HAS_HTTPX2
from tests.faults.page import PAGE, last_measured, measured, written
from tests.faults.pieces import WIRES
from tests.faults.verdicts import axes, judged, matrix, served, table
from tests.property import sample


def main() -> int:
    """Return 1 if anything is not as it should be."""
    options = argparse.ArgumentParser(prog="python -m tests.faults")
    options.add_argument("--only", default="", help="faults whose name contains this text")
    options.add_argument("--cell", default="", help="clients whose name contains this text")
    options.add_argument("--wire", default="", choices=["", *WIRES], help="one wire")
    options.add_argument("--one-in", type=int, default=1, help="one in so many runs")
    options.add_argument("--page", action="store_true", help="only write the page anew")
    given = options.parse_args()
    if given.page:
        PAGE.write_text(written(last_measured()), encoding="utf-8")
        return 0
    runs = [
        (fault, pieces, cell)
        for fault, pieces, cell in sample(matrix(), given.one_in)
        if given.cell in str(cell) and given.only in fault.name and given.wire in ("", pieces.wire)
    ]
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as ports:
        # As on machines of users; the lanes read it before their first connection.
        os.environ["SSL_CERT_FILE"] = ports.authority
        os.environ["HTTPS_PROXY"] = f"http://127.0.0.1:{ports.proxy}"
        verdicts = judged(ports, runs)
    if not HAS_HTTPX2:
        print("httpx2 is not installed: its runs are left out")
    print(f"{table(verdicts)}\n\n{axes(verdicts)}")
    if len(runs) == len(matrix()):
        PAGE.write_text(written(measured(verdicts)), encoding="utf-8")
    for each in verdicts:
        if each.kind:
            print(
                f"\n{each.kind}: {each.fault} ({each.wire}; {each.cell})\n  {each.detail[-1500:]}"
            )
    return any(each.kind for each in verdicts)


if __name__ == "__main__":
    sys.exit(main())
