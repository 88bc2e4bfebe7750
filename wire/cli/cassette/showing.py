"""`wire cassette show`: a recording as a person reads it, on a terminal or as a page."""

from __future__ import annotations

import argparse

from wire.cli.options import Command, json_option
from wire.cli.terminal import write_json


def _options(command: argparse.ArgumentParser) -> None:
    command.add_argument("file", metavar="FILE", help="the cassette")
    command.add_argument("--html", metavar="OUT", help="write one self-contained page to OUT")
    command.add_argument(
        "--against", metavar="OTHER", help="with --html: show the differences to this cassette too"
    )
    json_option(command, "the conversation")


def _run(chosen: argparse.Namespace) -> int:
    from wire.core.errors import CassetteError, ConfigurationError
    from wire.core.files import read_whole, write_whole
    from wire.testing.cassette.format.file import load
    from wire.testing.cassette.views.conversation import conversation
    from wire.testing.cassette.views.text import conversation_text

    if chosen.against is not None and chosen.html is None:
        raise ConfigurationError("--against: needs --html; `wire cassette diff` compares as text")
    if chosen.json and chosen.html is not None:
        raise ConfigurationError("--json: not allowed with --html")
    interactions = load(read_whole(chosen.file, CassetteError), chosen.file).interactions
    if chosen.html is not None:
        from wire.testing.cassette.views.comparison import compare
        from wire.testing.cassette.views.page import page

        compared = None
        if chosen.against is not None:
            other = load(read_whole(chosen.against, CassetteError), chosen.against).interactions
            compared = compare(other, interactions)
        html = page(interactions, chosen.file, compared, chosen.against or "")
        write_whole(chosen.html, html.encode(), ConfigurationError)
        return 0
    shown = conversation(interactions, chosen.file)
    if chosen.json:
        write_json(shown)
    else:
        print(conversation_text(shown))
    return 0


COMMANDS = (Command("show", "show a recording as a conversation", _options, _run),)
