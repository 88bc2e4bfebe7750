"""Every code block of the docs and every example in a docstring runs."""

from __future__ import annotations

import ast
import asyncio
import doctest
import importlib
import io
import linecache
import os
import pkgutil
import re
import shlex
import sys
import types
from pathlib import Path

import pytest

import wire
import wire.http.aio
import wire.http.client
from tests.joined import joined
from wire.cli import main
from wire.testing.emulator import AsyncEmulatorTransport, EmulatorTransport

ROOT = Path(__file__).parent.parent
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(wire.__path__, "wire.")
    if module.name.split(".")[1] not in wire._PUBLIC_MODULES  # other names of modules
)
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "HOUSE.md",
    ROOT / "CHANGELOG.md",
    ROOT / "SECURITY.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
EXAMPLE = re.compile(r">>>(?!.*doctest: \+SKIP)")
BLOCK = re.compile(r"^```(python|py)\n(.*?)^```", re.DOTALL | re.MULTILINE)
"""Not those marked `py no-run`, and those of the vendors' SDKs, `py sdks`: tests/sdks runs them."""
MARKS = {"python", "py", "py no-run", "py sdks"}
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)
SERVING = re.compile(r"wire (emulate|serve|cassette serve)")
"""Commands that run until they are stopped."""
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
FENCE = re.compile(r"^(`{3,}).*?^\1$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```", re.DOTALL | re.MULTILINE)
ELSEWHERE = re.compile(r"\]\((https?://[^)\s]*)\)")


def has_examples(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    source = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    return bool(EXAMPLE.search(source.read_text("utf-8")))


@joined("name", [name for name in MODULES if has_examples(name)])
def test_docstrings(name: str) -> None:
    # For each example doctest looks whether any file has changed that a traceback has ever shown.
    linecache.clearcache()
    failed, tried = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert failed == 0
    assert tried > 0


def test_no_docstring_has_a_paragraph_twice() -> None:
    twice = []
    for path in sorted((ROOT / "wire").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                paragraphs = (ast.get_docstring(node) or "").split("\n\n")
                if len(paragraphs) > len(set(paragraphs)):
                    twice.append(f"{path.relative_to(ROOT)}: {paragraphs[0]}")
    assert twice == []


def answered_offline(patch: pytest.MonkeyPatch) -> None:
    """Put keys into the environment, and the emulator in the place of the network."""
    for name in ("GEMINI", "OPENAI", "ANTHROPIC", "LOCAL"):
        patch.setenv(f"{name}_API_KEY", "fake-key")
    patch.setenv("AWS_BEARER_TOKEN_BEDROCK", "fake-key")
    opened = wire.http.client.opened
    for module, emulated in (
        (wire.http.client, EmulatorTransport),
        (wire.http.aio, AsyncEmulatorTransport),
    ):
        patch.setattr(
            module, "opened", lambda http, *rest, emulated=emulated: opened(emulated(), *rest)
        )


def run_block(block: str, page: Path, names: dict[str, object]) -> None:
    """Run a block; one with `>>>` is compared with what it prints, and any may await, as a cell of
    a notebook may.
    """
    if ">>>" in block:
        test = doctest.DocTestParser().get_doctest(block, names, page.name, str(page), 0)
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        runner.run(test, clear_globs=False)
        names.update(test.globs)
        assert runner.failures == 0
        return
    source = "from __future__ import annotations\n" + block
    code = compile(source, str(page), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    if (awaited := eval(code, names)) is not None:
        asyncio.run(awaited)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages(page: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Blocks of a page run in order in one namespace and in an empty folder. A `python` block runs
    as it stands; a `py` block asks a vendor with the key of the environment, and the emulator
    answers it here.
    """
    module = types.ModuleType("__page__")
    monkeypatch.setitem(sys.modules, "__page__", module)  # where a dataclass finds its annotations
    monkeypatch.chdir(tmp_path)
    for kind, block in BLOCK.findall(page.read_text("utf-8")):
        with monkeypatch.context() as patch:
            if kind == "py":
                answered_offline(patch)
            run_block(block, page, vars(module))


def test_each_block_of_python_has_a_known_mark() -> None:
    """A mark that is mistyped would keep a block from being run."""
    marks = {
        mark
        for page in PAGES
        for mark in re.findall(r"^```(py.*)$", page.read_text("utf-8"), re.MULTILINE)
    }
    assert marks == MARKS


@pytest.mark.parametrize(
    "page",
    [
        page
        for page in PAGES
        if re.search(
            r"^```console\n(?:(?!```).*\n)*?\$ wire ", page.read_text("utf-8"), re.MULTILINE
        )
    ],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_commands(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The commands `wire` in the console blocks of a page print what the page shows.

    They run in this process and in an empty folder, and the emulator answers them. `cat FILE`
    writes the file that it shows, `export` sets a variable, `echo $?` is compared with the status;
    other commands, and those of `SERVING`, are not run.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    answered_offline(monkeypatch)
    status = 0
    for command, shown in COMMAND.findall("".join(CONSOLE.findall(page.read_text("utf-8")))):
        words = shlex.split(command)
        if words[0] == "cat":
            Path(words[1]).write_text(shown, "utf-8")
        elif words[0] == "export":
            monkeypatch.setenv(*words[1].split("=", 1))
        elif words == ["echo", "$?"]:
            assert (command, shown) == (command, f"{status}\n")
        elif words[0] == "wire" and not SERVING.match(command):
            data = b""
            if "<" in words:
                *words, _, path = words
                data = Path(path).read_bytes()
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), "utf-8"))
            capsys.readouterr()
            status = main([os.path.expandvars(word) for word in words[1:]])
            printed = "".join(capsys.readouterr())
            same = doctest.OutputChecker().check_output(shown, printed, doctest.ELLIPSIS)
            assert same, f"{command}\nshown:\n{shown}\nprinted:\n{printed}"


def anchors(page: Path) -> set[str]:
    """The anchors of headings, as GitHub and the site make them."""
    titles = HEADING.findall(FENCE.sub("", page.read_text("utf-8")))
    return {re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-") for title in titles}


@joined("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for path, anchor in LINK.findall(FENCE.sub("", page.read_text("utf-8"))):
        target = page.parent / path if path else page
        assert target.exists(), path
        assert not anchor or anchor in anchors(target), f"{path}#{anchor}"


# Hosts of the pages elsewhere that the docs link to; a new one is looked at before it stands here.
HOSTS = {"github.com"}


def test_links_to_pages_elsewhere() -> None:
    links = {
        link for page in PAGES for link in ELSEWHERE.findall(FENCE.sub("", page.read_text("utf-8")))
    }
    assert sorted(link for link in links if link.split("/")[2] not in HOSTS) == []


def test_each_page_of_the_site_is_in_its_contents() -> None:
    docs = ROOT / "docs"
    pages = {path.relative_to(docs).with_suffix("").as_posix() for path in docs.rglob("*.md")}
    listed = [
        (page.parent / line.rpartition("<")[2].rstrip(">")).relative_to(docs).as_posix()
        for page in docs.rglob("*.md")
        for block in TOCTREE.findall(page.read_text("utf-8"))
        for line in block.splitlines()
        if line and not line.startswith(":")
    ]
    assert pages - set(listed) == {"index"}, "add the page to docs/index.md"
    assert len(listed) == len(pages) - 1, "a page is listed twice, or does not exist"


def test_every_rule_id_in_the_code_is_in_the_docs() -> None:
    """A comment may name a rule; then a page of the docs says what the rule is."""
    ids = re.compile(r"\b(?:G\d+b?|[AOQ]\d{1,2}|H\d|P-\d{2,3}|R-\d\d|S\d-\d\d|C-\d\d)\b")
    known = {
        id
        for page in ("rules.md", "seeds.md", "reliability.md")
        for id in ids.findall((ROOT / "docs" / page).read_text("utf-8"))
    }
    used = {
        found
        for folder in ("wire", "tests", "examples")
        for path in (ROOT / folder).rglob("*.py")
        for found in ids.findall(path.read_text("utf-8"))
    }
    assert sorted(used - known) == []


@pytest.mark.row("S0-08")
def test_readme_names_the_two_formats_of_schemas_and_the_one_place() -> None:
    section = (
        (ROOT / "README.md")
        .read_text("utf-8")
        .split("### Two formats of schemas\n")[1]
        .split("\n#")[0]
    )
    assert "JSON Schema" in section
    assert "`wire/gemini/schemas.py` is the one place" in section
    outside = [
        path
        for path in (ROOT / "wire").rglob("*.py")
        if path.parent.name != "gemini" and "gemini" not in path.parts[-3:-1]
    ]
    told = [
        path.name
        for path in outside
        if "gemini.schemas" in path.read_text("utf-8") and "emulator" not in path.parts
    ]
    assert told == []


KEY_LIKE = re.compile(
    rb"sk-[A-Za-z0-9_-]{20,}|AIza[0-9A-Za-z_-]{30,}|ghp_[A-Za-z0-9]{30,}|xox[bp]-[0-9A-Za-z-]{20,}"
)


@pytest.mark.row("S4-29")
def test_no_file_holds_what_looks_like_a_key() -> None:
    folders = ("wire", "tests", "examples", "docs", "bench")
    files = [
        path
        for folder in folders
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and not {"__pycache__", "_build"} & set(path.parts)
    ]
    assert KEY_LIKE.search(b"sk-" + b"a" * 20)
    assert {
        str(path.relative_to(ROOT)): found[0]
        for path in files
        if (found := KEY_LIKE.search(path.read_bytes()))
    } == {}
