"""`wire cassette convert`: recordings of other programs to cassettes, and back."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from wire.cli.options import Command, json_option
from wire.cli.terminal import write, write_json

if TYPE_CHECKING:
    from wire.testing.cassette.convert.conversion import Converted

_SUFFIXES = (".yaml", ".yml", ".json", ".har", ".yaml.gz", ".yml.gz", ".json.gz", ".har.gz")
_WRITTEN = {"wire": ".cassette.json", "vcr": ".yaml", "har": ".har"}


def _convert_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "source",
        metavar="SOURCE",
        help="a file, or a folder whose .yaml, .yml, .json and .har files are converted",
    )
    command.add_argument(
        "target", metavar="TARGET", help="the file to write, or the folder for the files of SOURCE"
    )
    command.add_argument(
        "--to",
        choices=tuple(_WRITTEN),
        default="wire",
        help="format to write: a cassette, VCR's YAML as vcrpy replays it, or HAR 1.2 "
        "(default: %(default)s)",
    )
    command.add_argument(
        "--for-pytest",
        action="store_true",
        help="name the cassettes as the pytest plugin looks for them: test_it.json for "
        "pytest-recording's test_it.yaml",
    )
    command.add_argument(
        "--overwrite", action="store_true", help="replace files that exist in TARGET"
    )
    json_option(command, "what was converted and what was refused")


class _Row(NamedTuple):
    """The outcome for one file: what was converted, or why it was refused or left out."""

    source: str
    target: str = ""
    converted: Converted | None = None
    refused: str = ""


def _convert(chosen: argparse.Namespace) -> int:
    from wire.core.errors import CassetteError, ConfigurationError

    if chosen.for_pytest and chosen.to != "wire":
        raise ConfigurationError(f"--for-pytest names cassettes, and --to {chosen.to} writes none")
    source, target = Path(chosen.source), Path(chosen.target)
    if not source.is_dir():
        if target.is_dir():
            target = target / _renamed(source.name, chosen)
        # An error of the only file is the error of the command.
        rows = [_Row(chosen.source, str(target), _one(source, source.name, target, chosen))]
    else:
        if target.exists() and not target.is_dir():
            raise CassetteError(f"{target}: expected a folder, as {source} is one")
        rows = list(_folder(source, target, chosen))
        if not rows:
            raise CassetteError(f"{source}: no file ends with {', '.join(_SUFFIXES[:4])}")
    _report(rows, as_json=chosen.json)
    return 1 if any(row.refused for row in rows) else 0


def _folder(source: Path, target: Path, chosen: argparse.Namespace) -> Iterator[_Row]:
    from wire.core.errors import CassetteError
    from wire.testing.cassette.convert.conversion import NothingToConvert

    taken: dict[Path, str] = {}
    root = source.resolve()
    # Listed first: TARGET may be inside SOURCE, and what is written is not converted again.
    files = sorted(path for path in source.rglob("*") if path.name.endswith(_SUFFIXES))
    for path in files:
        name = path.relative_to(source).as_posix()
        written = target / Path(name).with_name(_renamed(path.name, chosen))
        try:
            # A symlink may lead out of the folder that the user named.
            if not path.resolve().is_relative_to(root):
                raise CassetteError(f"{name}: a symlink that leads out of {source}")
            if written in taken:
                raise CassetteError(f"{name}: {taken[written]} is converted to the same file")
            converted = _one(path, name, written, chosen)
        except NothingToConvert:
            yield _Row(name)  # a folder often has other files of these suffixes
        except CassetteError as error:
            yield _Row(name, refused=error.message)
        else:
            taken[written] = name
            yield _Row(name, str(written), converted)


def _one(path: Path, name: str, target: Path, chosen: argparse.Namespace) -> Converted:
    from wire.core.errors import CassetteError
    from wire.core.files import read_whole, write_whole
    from wire.testing.cassette.convert.conversion import convert
    from wire.testing.cassette.format.file import block, save

    converted = convert(read_whole(path, CassetteError), name, chosen.to)
    if target.exists() and not chosen.overwrite:
        raise CassetteError(f"{name}: {target} exists; --overwrite replaces it")
    if chosen.to == "wire":
        save(target, map(block, converted.recorded))
    else:
        write_whole(target, converted.text.encode(), CassetteError)
    return converted


def _renamed(name: str, chosen: argparse.Namespace) -> str:
    """Name a converted file: the suffix of its format replaces its own."""
    from wire.testing.fixtures.file_names import safe_name

    name = name.removesuffix(".gz")
    known = (_WRITTEN["wire"], ".yaml", ".yml", ".json", ".har")
    stem = next((name.removesuffix(each) for each in known if name.endswith(each)), name)
    return f"{safe_name(stem)}.json" if chosen.for_pytest else stem + _WRITTEN[chosen.to]


def _report(rows: list[_Row], *, as_json: bool) -> None:
    if as_json:
        write_json({"files": [_plain(row) for row in rows]})
        return
    for row in rows:
        if row.converted is not None:
            number = row.converted.interactions
            write(f"{row.source}: {number} interaction{'' if number == 1 else 's'}")
            for note in row.converted.notes:
                write(f"  {note}")
    others = [row.source for row in rows if row.converted is None and not row.refused]
    if others:
        write(f"nothing to convert: {', '.join(others)}")
    done = sum(row.converted is not None for row in rows)
    refused = [row.refused for row in rows if row.refused]
    ending = f": {refused[0]}" if len(refused) == 1 else ":" if refused else ""
    write(f"{done} file{'' if done == 1 else 's'} converted, {len(refused)} refused{ending}")
    for each in refused if len(refused) > 1 else ():
        write(f"  {each}")


def _plain(row: _Row) -> dict[str, Any]:
    if row.converted is None:
        return {"source": row.source, "refused": row.refused or "nothing to convert"}
    return {
        "source": row.source,
        "format": row.converted.source,
        "target": row.target,
        "interactions": row.converted.interactions,
        "notes": row.converted.notes,
    }


COMMANDS = (
    Command(
        "convert",
        "convert recordings: cassettes, VCR's YAML and JSON, HAR",
        _convert_options,
        _convert,
        more="Headers that a cassette does not keep, and other losses, are listed for each file. "
        "A file that would hold a known secret is not written.",
    ),
)
