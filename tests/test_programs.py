"""The programs of `examples/programs` and `examples/features`, each as its user runs it, against
the emulator.
"""

from __future__ import annotations

import ast
import io
import json
import os
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from wire import bulk
from wire.testing.emulator import Emulator, serve

ROOT = Path(__file__).parent.parent
PROGRAMS, FEATURES = ROOT / "examples" / "programs", ROOT / "examples" / "features"
TIDE = {"say": "At 05:12."}
PDF, PNG = b"%PDF-1.4\n%%EOF\n", b"\x89PNG\r\n\x1a\n"


class Bench:
    """A folder with the programs, and a server that plays the vendors."""

    def __init__(self, folder: Path, *script: Any, lenient: bool = False) -> None:
        self.folder, self.emulator = folder, Emulator(list(script), lenient=lenient)

    def run(self, name: str, *arguments: str, stdin: str = "", **variables: str) -> str:
        """Run a program; its output."""
        done = self.command([str(PROGRAMS / name), *arguments], stdin, variables)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def command(
        self, arguments: list[str], stdin: str, variables: dict[str, str]
    ) -> subprocess.CompletedProcess[str]:
        with self.started(*arguments, **variables) as process:
            out, err = process.communicate(stdin, timeout=60)
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    @contextmanager
    def started(self, *arguments: str, **variables: str) -> Iterator[subprocess.Popen[str]]:
        with serve(self.emulator) as server:
            environment = {
                **os.environ,
                "PYTHONPATH": str(ROOT),
                **{f"{each}_API_KEY": "fake-key" for each in ("GEMINI", "OPENAI", "ANTHROPIC")},
                **{f"{each}_BASE_URL": server.url for each in ("GEMINI", "ANTHROPIC")},
                "OPENAI_BASE_URL": f"{server.url}/v1",
                "HOUSE_URL": f"{server.url}/v1",
                "HOUSE_KEY": "fake-key",
                **variables,
            }
            with subprocess.Popen(
                [sys.executable, *arguments],
                cwd=self.folder,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            ) as process:
                try:
                    yield process
                finally:
                    process.kill()

    @property
    def bodies(self) -> list[str]:
        """The requests that were received."""
        return [str(each["body"]) for each in self.emulator.requests]


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"say": {"calls": [{"name": name, "args": arguments}]}}


@pytest.mark.processes
def test_bot(tmp_path: Path) -> None:
    script = [call("weather", city="Oslo"), {"say": "Light rain."}, {"fault": "401"}, TIDE]
    lines = "Weather in Oslo?\nfail\n/cost\n/save\n"
    said = Bench(tmp_path, *script).run("bot.py", "openai:gpt-5.4", stdin=lines).splitlines()
    assert said[0] == "Light rain."
    assert "401" in said[2]
    assert re.fullmatch(r"\d+ tokens in, \d+ out, 0\.\d+ USD", said[3])
    again = Bench(tmp_path, TIDE)
    assert again.run("bot.py", "anthropic:claude-sonnet-5", stdin="High tide?\n") == "At 05:12.\n"
    assert "Weather in Oslo?" in str(again.emulator.requests[0]["body"])


@pytest.mark.processes
def test_labels(tmp_path: Path) -> None:
    """Recorded, then replayed without a server and without a key."""
    (tmp_path / "test_labels.py").write_text((PROGRAMS / "test_labels.py").read_text())
    labels = [{"say": json.dumps({"value": each})} for each in ("bug", "question", "praise")]
    pytest_of = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "test_labels.py"]
    recorded = Bench(tmp_path, *labels).command([*pytest_of, "--wire-record-mode=once"], "", {})
    assert "6 passed" in recorded.stdout, recorded.stdout
    gone = {"OPENAI_BASE_URL": "", "OPENAI_API_KEY": ""}
    replayed = Bench(tmp_path).command(pytest_of, "", gone)
    assert "6 passed" in replayed.stdout, replayed.stdout


@pytest.mark.processes
def test_reviews(tmp_path: Path) -> None:
    rows = ["Splendid.", "Awful.", "So so."]
    (tmp_path / "in.csv").write_text(
        "id,review\n" + "".join(f"{n},{r}\n" for n, r in enumerate(rows))
    )
    good = {"say": '{"sentiment":"mixed","stars":3}', "times": 0}
    bad = {"match": {"text": "Awful"}, "fault": "400", "times": 0}
    said = Bench(tmp_path, bad, good).run("reviews.py", "in.csv", "out.jsonl")
    assert re.search(r"row 3 failed: ", said), said
    judged = [row["output"] for row in bulk.read(tmp_path / "out.jsonl")]
    assert judged == [{"sentiment": "mixed", "stars": 3}] * 2


@pytest.mark.processes
def test_fallback(tmp_path: Path) -> None:
    down = {"match": {"model": "gemini*"}, "fault": "503; retry-after=0", "times": 0}
    quota = {"match": {"model": "gpt*"}, "fault": "quota", "times": 0}
    said = Bench(tmp_path, down, quota, TIDE).run("fallback.py", "High tide?").splitlines()
    assert said[0].startswith("gemini:gemini-3.8-flash: ")
    assert said[1].startswith("openai:gpt-5.4: ")
    assert said[2] == "claude-sonnet-5: At 05:12."
    assert said[3].endswith(" USD")
    everyone = {"fault": "401", "times": 0}
    done = Bench(tmp_path, everyone).command([str(PROGRAMS / "fallback.py"), "Hi"], "", {})
    assert done.returncode == 1
    assert [line.partition(" ")[0] for line in done.stderr.splitlines()] == [
        "gemini:gemini-3.8-flash:", "openai:gpt-5.4:", "anthropic:claude-sonnet-5:",
    ]  # fmt: skip


@pytest.mark.processes
def test_invoice(tmp_path: Path) -> None:
    (tmp_path / "invoice.pdf").write_bytes(PDF)
    (tmp_path / "photo.png").write_bytes(PNG)
    items = [{"name": "Rope", "price": "9.90"}]
    invoice = {"vendor": "Ships", "total": "9.90", "currency": "EUR", "items": items}
    bench = Bench(tmp_path, {"say": json.dumps(invoice), "times": 0})
    said = bench.run("invoice.py", "invoice.pdf", "photo.png")
    assert said.count("total=Decimal('9.90')") == 3


@pytest.mark.processes
def test_moved(tmp_path: Path) -> None:
    script = [call("stock", article="rope"), {"say": "42 ropes."}, {"say": "42 cordes."}]
    said = Bench(tmp_path, *script).run("moved_openai.py", "How many ropes?").splitlines()
    assert (said[0], said[2]) == ("42 ropes.", "42 cordes.")
    recipe = '{"name":"Soup","minutes":20,"ingredients":["leeks"]}'
    script = [{"say": "Soup."}, {"say": {"text": "Soup.", "thoughts": "Hm."}}, {"say": recipe}]
    said = Bench(tmp_path, *script).run("moved_gemini.py", "What with leeks?").splitlines()
    assert said[:2] == ["Soup.", "thought: Hm."]
    assert (said[3], said[4].isdigit()) == ("Soup 20 ['leeks']", True)


@pytest.mark.processes
def test_house(tmp_path: Path) -> None:
    script = [call("weather", city="Oslo"), {"say": "Sunny."}]
    said = Bench(tmp_path, *script).run("house.py", "Weather in Oslo?")
    assert "Sunny." in said
    names = re.findall(r'"name": "([^"]+)"', said)
    assert {"execute_tool weather", "invoke_agent"} <= {each.strip() for each in names}


@pytest.mark.processes
def test_agent(tmp_path: Path) -> None:
    pytest.importorskip("mcp", reason="the program takes the tools of an MCP server")
    (tmp_path / "server.py").write_text((PROGRAMS / "server.py").read_text())
    (tmp_path / "old.log").write_text("old")
    script = [call("list_files", folder="."), call("delete_file", path="old.log"), {"say": "Done."}]
    for answer, is_there in (("n", True), ("y", False)):
        said = Bench(tmp_path, *script).run("agent.py", "Tidy up.", stdin=f"{answer}\n")
        assert "list_files" in said
        assert said.splitlines()[-1].startswith("Done. 0.00")
        assert (tmp_path / "old.log").exists() == is_there


def emulated(monkeypatch: pytest.MonkeyPatch, emulator: Emulator) -> None:
    """Let chats of this process go to an emulator."""
    import wire.http.aio
    from wire.testing.emulator import AsyncEmulatorTransport

    opened = wire.http.aio.opened
    monkeypatch.setattr(
        wire.http.aio, "opened", lambda http, *rest: opened(AsyncEmulatorTransport(emulator), *rest)
    )
    for each in ("GEMINI", "OPENAI", "ANTHROPIC"):
        monkeypatch.setenv(f"{each}_API_KEY", "fake-key")


def test_notes(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    import asyncio

    emulator = Emulator([{"say": "Scattering.", "times": 0}])
    emulated(monkeypatch, emulator)
    code = compile(
        (PROGRAMS / "notes.py").read_text(), "notes.py", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    )

    async def cells() -> None:
        await eval(code, {})

    asyncio.run(cells())
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "Scattering.gpt-5.4: Scattering."
    assert [line.split()[0] for line in said[2:]] == [
        "gemini-3.8-flash", "gemini-3.8-flash", "gemini-3.8-flash", "gpt-5.4", "claude-sonnet-5",
    ]  # fmt: skip


@pytest.mark.anyio
async def test_web(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sse_starlette", reason="the program sends events with it")
    emulated(monkeypatch, Emulator([TIDE, {"fault": "401"}]))
    names: dict[str, Any] = {}
    exec(compile((PROGRAMS / "web.py").read_text(), "web.py", "exec"), names)
    transport = httpx.ASGITransport(names["app"])
    turns = {"messages": [{"role": "user", "content": "High tide?"}]}
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as browser:
        said = (await browser.post("/chat", json=turns)).text
        failed = (await browser.post("/chat", json=turns)).text
    assert 'data: "At 05:12."' in said
    assert 'event: usage\r\ndata: {"tokens":' in said
    assert "event: error" in failed


# --- features of agents ---------------------------------------------------------------------------


@pytest.mark.processes
def test_typed(tmp_path: Path) -> None:
    script = [call("people", city="Brest"), {"say": "Brest."}]
    bench = Bench(tmp_path, *script, {"say": '{"name":"Brest","people":139926}'})
    said = bench.run(f"{FEATURES}/typed.py", "Which city?")
    assert said == "City(name='Brest', people=139926)\n"


@pytest.mark.processes
def test_steering(tmp_path: Path) -> None:
    """The first reply would take a minute."""
    slow = {"say": "It is high at 05:12 in Brest.", "fault": "stall; after=1; seconds=60"}
    bench = Bench(tmp_path, slow, TIDE)
    with bench.started(str(FEATURES / "steering.py"), "High tide?") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "It is high \n"
        process.stdin.write("!And in Oslo?\n")
        process.stdin.flush()
        assert process.stdout.readline() == "At 05:12.\n"
        assert process.wait(60) == 0
    assert "And in Oslo?" in bench.bodies[1]


@pytest.mark.processes
def test_early(tmp_path: Path) -> None:
    """The tool begins though the reply would take another minute."""
    reply = {"calls": [{"name": "tide", "args": {"port": each}} for each in ("Brest", "Oslo")]}
    bench = Bench(tmp_path, {"say": reply, "fault": "stall; after=1; seconds=60"})
    with bench.started(str(FEATURES / "early.py"), "High tide?") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "looking up Brest\n"
    said = Bench(tmp_path, {"say": reply}, TIDE).run(f"{FEATURES}/early.py", "High tide?")
    # The calls run in parallel: which of them prints first is chance.
    assert sorted(said.splitlines()) == ["At 05:12.", "looking up Brest", "looking up Oslo"]
    assert said.endswith("At 05:12.\n")


@pytest.mark.processes
def test_session(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("wave " * 40_000)
    summary = {"match": {"text": "Summarise"}, "times": 0, "say": "All seas were blue."}
    bench = Bench(tmp_path, summary, *[call("read", path="log"), {"say": "Blue."}] * 4)
    said = bench.run(f"{FEATURES}/session.py", "openai@chat:gpt-4.1", stdin="Look.\n" * 4)
    assert said.splitlines() == ["Blue."] * 4
    assert "All seas were blue." in bench.bodies[-1]
    assert len(bench.bodies[-1]) < 100_000 * len("wave ")


@pytest.mark.processes
def test_deferred(tmp_path: Path) -> None:
    script = [call("find_tools", query="high tide"), call("tide", port="Brest"), TIDE]
    bench = Bench(tmp_path, *script)
    said = bench.run(f"{FEATURES}/deferred.py", "gemini:gemini-3.8-flash", "High tide?")
    assert said == "At 05:12.\n"
    assert ["crane_299" in each for each in bench.bodies] == [False] * 3
    assert "05:12 in Brest" in bench.bodies[-1]


@pytest.mark.processes
def test_server_input(tmp_path: Path) -> None:
    pytest.importorskip("mcp_types", reason="the server is one of the official SDK 2")
    (tmp_path / "berths.py").write_text((FEATURES / "berths.py").read_text())
    bench = Bench(tmp_path, call("moor", ship="Ada"), {"say": "Moored."})
    said = bench.run(f"{FEATURES}/server_input.py", "Moor Ada.", stdin="7\n")
    assert said == "Which berth for Ada? berth: Moored.\n"
    assert "Ada is moored at 7" in bench.bodies[-1]


# --- how long they are ----------------------------------------------------------------------------


def lines_of_code(source: str) -> int:
    """Lines without blank ones, comments and docstrings."""
    prose: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                prose |= set(range(first.lineno, (first.end_lineno or 0) + 1))
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type in (tokenize.NAME, tokenize.NUMBER, tokenize.OP, tokenize.STRING):
            found |= set(range(token.start[0], token.end[0] + 1))
    return len(found - prose)


def rows() -> Iterator[tuple[str, int, int]]:
    """The table of docs/project/compared.md: program, our lines, those of the shortest other."""
    text = (ROOT / "docs/project/compared.md").read_text("utf-8")
    for row in re.findall(r"^\| \[[^]]*\]\(.*/([\w.]+)\) \| (\d+) \| (\d+) ", text, re.MULTILINE):
        yield row[0], int(row[1]), int(row[2])


def test_the_table_has_the_lines_of_the_programs() -> None:
    table = list(rows())
    names = {each.name for each in PROGRAMS.glob("*.py")} - {"server.py"}
    assert {name for name, _, _ in table} == names
    for name, ours, others in table:
        assert ours == lines_of_code((PROGRAMS / name).read_text("utf-8")), name
        assert ours <= others, name


def test_the_table_has_the_lines_of_the_features() -> None:
    """Of both sides, in files of the same name."""
    text = (ROOT / "docs/project/compared.md").read_text("utf-8")
    row = (
        r"^\| \[[^]]*\]\(.*/(\w+\.py)\) \| (\d+) \| \[(\d+)\]\(.*/with_pydantic_ai/(\w+\.py)\) \|$"
    )
    table = re.findall(row, text, re.MULTILINE)
    names = {each.name for each in FEATURES.glob("*.py")} - {"berths.py"}
    assert sorted(name for name, *_ in table) == sorted(names)
    for name, ours, theirs, same in table:
        assert name == same
        assert int(ours) == lines_of_code((FEATURES / name).read_text("utf-8")), name
        other = (FEATURES / "with_pydantic_ai" / name).read_text("utf-8")
        assert int(theirs) == lines_of_code(other), name
        assert int(ours) <= int(theirs), name
