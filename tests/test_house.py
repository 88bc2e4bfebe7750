"""The walls of the house stand: `wire/` keeps `house.toml`, and each kind of erosion is seen.

An erosion is tried on the source in memory, so that no file is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house import (
    File,
    House,
    Walls,
    circles,
    equal_runs,
    main,
    plan,
    read,
    strangers,
    tracked,
)


def broken() -> str:
    """The broken walls of the library with all erosions at once: reading it takes seconds."""
    files = {each.path: each for each in read()}
    for added, _ in EROSIONS.values():
        for path, text in added.items():
            before = files[path].text if path in files else '"""New."""\n'
            files[path] = File(path, f"{before}\n{text}\n")
    return "\n".join(Walls(House(list(files.values())), plan()).broken())


LATE = "def late():\n    from wire.testing import Cassette\n    return Cassette"
TYPE_ONLY = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from wire.http import client"
LONG_FILE = "\n".join(f"x{at} = {at}" for at in range(500))
LONG_BODY = "def f():\n" + "\n".join(f"    x{at} = {at}" for at in range(50))
TWIN = "\n".join(f"value_{at} = 'a line of code {at}'" for at in range(12))
TWICE = "@functools.lru_cache(8)\n@functools.lru_cache(maxsize=8)\ndef f(): ..."

EROSIONS = {
    "an arrow back": (
        {"wire/neutral/messages.py": "from wire.http.client import Client"},
        "names wire.http.client, which stands above it",
    ),
    "an arrow back for types only": (
        {"wire/core/limits.py": TYPE_ONLY},
        "(type-only) names wire.http.client, which stands above it",
    ),
    "an arrow back inside a function": (
        {"wire/chat/chat.py": LATE},
        "(late) names wire.testing.cassette.transports, which stands above it",
    ),
    "an arrow back by a name in a text": (
        {"wire/core/facts.py": '_NAMES = {"wire.pipeline.engine": "Engine"}'},
        "(string) names wire.pipeline.engine, which stands above it",
    ),
    "an arrow back by the entry of a script": (
        {"wire/agent/guard.py": 'ENTRY = "wire.cli:main"'},
        "(string) names wire.cli, which stands above it",
    ),
    "a client that needs an outer room": (
        {"wire/agent/guard.py": "from wire.bulk.plan import Plan"},
        "names wire.bulk.plan: a client does without wire.bulk",
    ),
    "an arrow to the face of the library": (
        {"wire/history/prune.py": "import wire"},
        "names wire, which stands above it",
    ),
    "a relative import": (
        {"wire/tools/results.py": "from ..chat.chat import Chat"},
        "names wire.chat.chat, which stands above it",
    ),
    "a vendor beside another": (
        {"wire/gemini/fold.py": "from wire.openai.chat import fold"},
        "names wire.openai.chat.fold, which stands beside it in wire: move what both need",
    ),
    "a layer of OpenAI that looks up": (
        {"wire/openai/responses/parts.py": "from wire.openai.chat.parts import parse_message"},
        "names wire.openai.chat.parts, which stands above it in wire.openai",
    ),
    "a file that looks up inside its room": (
        {"wire/http/sockets.py": "from wire.http.lanes import Lanes"},
        "names wire.http.lanes, which stands above it in wire.http",
    ),
    "a vendor that is named": (
        {"wire/chat/fallback.py": "from wire.anthropic import families"},
        "names wire.anthropic.families: only wire.wires and the rooms of a vendor know it",
    ),
    "a new file at the top": (
        {"wire/caching.py": "KEPT = 1"},
        "wire.caching: it stands on no floor; put it into a room that exists",
    ),
    "a new room": (
        {"wire/batching/__init__.py": "", "wire/batching/jobs.py": "JOBS = 1"},
        "wire.batching: a folder without floors",
    ),
    "a new file in a room": (
        {"wire/history/merging.py": "MERGED = 1"},
        "wire.history.merging: it stands on no floor",
    ),
    "httpx in a room": (
        {"wire/agent/hooks.py": "import httpx"},
        "imports httpx: only wire.http and the transports of wire.testing speak HTTP",
    ),
    "httpx in a new room, inside a function": (
        {"wire/extra/__init__.py": "def f():\n    import httpx"},
        "wire.extra:4 imports httpx",
    ),
    "httpx by name": (
        {"wire/tools/mcp.py": 'import importlib\nimportlib.import_module("httpx")'},
        "imports httpx: only wire.http",
    ),
    "another library for HTTP": (
        {"wire/sessions/transcript.py": "from urllib.request import urlopen"},
        "imports urllib.request.urlopen: only wire.http",
    ),
    "a vendor's SDK": (
        {"wire/gemini/files.py": "def f():\n    from google import genai"},
        "imports google.genai: the library speaks to vendors over HTTP itself",
    ),
    "the name of a vendor in a condition": (
        {"wire/chat/single_calls.py": 'def f(name):\n    return name == "anthropic"'},
        "compares with the name 'anthropic': make what differs a field of the provider's row",
    ),
    "an import under another name": (
        {"wire/core/flow.py": "from importlib import import_module as load"},
        " imports a module whose name is computed: write the name as a text",
    ),
    "a socket in a rule": (
        {"wire/gemini/rules/tools.py": "import socket"},
        "imports socket: only wire.http opens sockets",
    ),
    "a rule that waits": (
        {"wire/core/retry.py": "import anyio"},
        "imports anyio: rules do not wait",
    ),
    "an import whose name is computed": (
        {"wire/core/hosts.py": 'import importlib\nimportlib.import_module("wire." + name)'},
        "imports a module whose name is computed",
    ),
    "a file over its budget": (
        {"wire/history/tokens.py": LONG_FILE},
        "code lines, the budget is 400: split it by job",
    ),
    "a listed file that grows": (
        {"wire/gemini/schemas.py": "MORE = 1"},
        "wire/gemini/schemas.py: 652 code lines, the budget is 400",
    ),
    "a long function": (
        {"wire/history/tokens.py": LONG_BODY},
        "wire/history/tokens.py:f: 50 code lines, the budget is 40",
    ),
    "a room over its budget": (
        {"wire/history/tokens.py": LONG_FILE},
        " code lines, its budget is 1200: write less",
    ),
    "the same lines twice": (
        {"wire/history/tokens.py": TWIN, "wire/tools/results.py": TWIN},
        "wire/history/tokens.py ~ wire/tools/results.py: both have the same 12 lines of code",
    ),
    "a decorator twice": (
        {"wire/core/hosts.py": TWICE},
        "has the decorator functools.lru_cache twice",
    ),
}


@pytest.fixture
def read_once() -> Iterator[None]:
    """Forget the syntax trees, which each later collection of garbage would walk."""
    yield
    read.cache_clear()


@pytest.mark.usefixtures("read_once")
@pytest.mark.slow  # `make check` says the same
def test_the_walls_stand(capsys: pytest.CaptureFixture[str]):
    """All in one test: reading the library takes seconds, and each worker would do it."""
    status = main()
    figures = capsys.readouterr().out
    assert status == 0, figures
    assert figures.startswith("house: ")
    assert "0 back, 0 circles" in figures

    walls = Walls(House(read()), plan())
    walls.plan.table["standing"]["file"]["wire/core/lazy.py"] = 500
    better, longer = walls.broken()  # the list of today only gets shorter
    assert better.startswith("house.toml, standing.file: wire/core/lazy.py breaks nothing any more")
    most = walls.plan.table["budgets"]["standing"]
    assert longer.startswith(f"standing: {most + 1}, the budget is {most}")

    told = broken()
    assert [name for name, (_, sentence) in EROSIONS.items() if sentence not in told] == []


def test_a_circle_is_seen():
    one = File("wire/history/order.py", "from wire.history.repair import repair")
    other = File("wire/history/repair.py", "from wire.history.order import turns")
    told = Walls(House([one, other]), plan()).broken()
    assert any(each.startswith("circle: wire.history.order, wire.history.repair") for each in told)


def test_names_of_loggers_and_docstrings_are_no_arrows():
    text = '"""wire.http.client"""\nimport logging\nlogging.getLogger("wire.http.client")'
    house = House([File("wire/a.py", text), File("wire/http/client.py", "")])
    assert [arrow for arrow in house.arrows if arrow.source == "wire.a"] == [
        ("wire.a", "logging", 2, "outside")
    ]


def test_lines_of_code_are_counted_without_docstrings_comments_and_blanks():
    text = '"""Doc."""\n\n# why\nx = """a\n\nb"""  # the text has three lines\n\n"""About x."""\n'
    assert File("wire/a.py", text).code_lines == {4, 5, 6}


def test_circles_are_groups_that_reach_each_other():
    edges = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": set()}
    assert circles(edges) == [["a", "b", "c"]]


def test_twins_are_runs_of_equal_lines_of_code():
    files = [File(f"wire/{name}.py", f"{name} = 1\n{TWIN}\n") for name in "abc"]
    assert equal_runs(files) == {
        "wire/a.py ~ wire/b.py": 1,
        "wire/a.py ~ wire/c.py": 1,
        "wire/b.py ~ wire/c.py": 1,
    }


def test_the_walls_are_part_of_make_check():
    makefile = (Path(__file__).parents[1] / "Makefile").read_text("utf-8")
    check = makefile.partition("\ncheck:")[2].partition("\n\n")[0]
    assert "-m tests.house" in check


def test_a_file_left_at_the_top_is_seen() -> None:
    [sentence] = strangers([*tracked(), "wire", "recorded.json"], plan())
    assert sentence.startswith("'recorded.json': no entry of the top level")
