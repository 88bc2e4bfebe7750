"""`wire cassette check`: whether cassettes are sound, and what vendors have changed."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from wire.cli.cassette.allowing import allow_option, allowed
from wire.cli.options import Command, json_option
from wire.cli.terminal import write, write_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from wire.testing.cassette.checks.checking import Finding

_SIDE_FILES = ".files"
"""End of the name of the folder with the side files of a cassette."""


def _options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "paths", metavar="PATH", nargs="+", help="a cassette, or a folder with cassettes"
    )
    command.add_argument(
        "--drift",
        action="store_true",
        help="also list keys, types and enum values that this release does not know",
    )
    allow_option(command)
    json_option(command, "the findings")


def _check(chosen: argparse.Namespace) -> int:
    from wire.cli.cassette.paths import files_in
    from wire.core.errors import ConfigurationError
    from wire.core.files import read_whole
    from wire.testing.cassette.checks.checking import check, is_cassette

    found: list[Finding] = []
    count, known = 0, allowed(chosen)
    for path, is_named in files_in(chosen.paths):
        if _is_side_file(path):
            found += _orphan(path)
            continue
        if not is_named and path.suffix != ".json":
            continue
        data = read_whole(path, ConfigurationError)
        if is_named or is_cassette(data):
            count += 1
            side = [each.name for each in _side_files(path)]
            found += check(data, str(path), with_drift=chosen.drift, side_files=side, allowed=known)
    faults = sum(each.is_fault for each in found)
    if chosen.json:
        findings = [{**each._asdict(), "fault": each.is_fault} for each in found]
        write_json({"cassettes": count, "faults": faults, "findings": findings})
    else:
        for each in found:
            write(str(each))
        cassettes = f"{count} cassette{'' if count == 1 else 's'}"
        write(f"{cassettes}, {faults or 'no'} fault{'' if faults == 1 else 's'}")
    return int(faults > 0)


def _is_side_file(path: Path) -> bool:
    return path.parent.name.endswith(".json" + _SIDE_FILES)


def _side_files(cassette: Path) -> Iterator[Path]:
    """Yield the files beside a cassette."""
    folder = Path(f"{cassette}{_SIDE_FILES}")
    if folder.is_dir():
        yield from sorted(folder.iterdir())


def _orphan(path: Path) -> Iterator[Finding]:
    """Yield a finding for a side file without a cassette.

    Others are checked with their cassette.
    """
    from wire.testing.cassette.checks.checking import Finding

    cassette = Path(str(path.parent).removesuffix(_SIDE_FILES))
    if not cassette.exists():
        yield Finding(str(path), 0, "orphan", "", f"there is no cassette {cassette}")


COMMANDS = (
    Command(
        "check",
        "check cassettes: format, secrets, side files, drift",
        _options,
        _check,
        "Exits with 1 for a fault. Notes are not faults.",
    ),
)
