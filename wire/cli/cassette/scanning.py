"""`wire cassette scan`: secrets in files, by their form."""

from __future__ import annotations

import argparse

from wire.cli.cassette.allowing import allow_option, allowed
from wire.cli.options import Command, json_option
from wire.cli.terminal import write, write_json

_SHOWN = 12
"""Digits of a digest that are shown: enough to tell values apart, too few to be one."""


def _options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "paths", metavar="PATH", nargs="+", help="a file, or a folder with all its files"
    )
    allow_option(command)
    json_option(command, "what was found")


def _scan(chosen: argparse.Namespace) -> int:
    from wire.cli.cassette.paths import files_in
    from wire.core.errors import ConfigurationError
    from wire.core.files import read_whole
    from wire.testing.cassette.checks.scan import scan, text_of

    found, count, known = [], 0, allowed(chosen)
    for path, _ in files_in(chosen.paths):
        count += 1
        data = read_whole(path, ConfigurationError)
        found += [(str(path), hit) for hit in scan(text_of(data), known)]
    if chosen.json:
        hits = [
            {
                "file": file,
                "line": hit.line,
                "kind": hit.kind,
                "path": hit.path,
                "allow": [f"{hit.kind}:{digest[:_SHOWN]}" for digest in hit.digests],
            }
            for file, hit in found
        ]
        write_json({"files": count, "secrets": hits})
    else:
        for file, hit in found:
            write(f"{file}:{hit}")
        if not found:
            write(f"no secret in {count} file{'' if count == 1 else 's'}")
    return int(bool(found))


COMMANDS = (
    Command(
        "scan",
        "search files for secrets: cassettes, VCR YAML, HAR, any text",
        _options,
        _scan,
        "Exits with 1 if it finds one. Prints the line and the kind, never the value.",
    ),
)
