"""The command `attractor`."""

from __future__ import annotations

import importlib.metadata
import io
import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
import xml.etree.ElementTree
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from wire.pipeline import cli
from wire.pipeline.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from wire.pipeline.dot import parse
from wire.testing.emulator import Emulator, serve

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = ROOT / "examples"
HEAD = "start [type=start]; done [type=exit];"


class Said:
    def __init__(self, status: int, out: str, err: str) -> None:
        self.status, self.out, self.err = status, out, err

    @property
    def errors(self) -> list[str]:
        return [line for line in self.err.splitlines() if line.startswith(("error: ", "warning: "))]


@pytest.fixture
def attractor(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., Said]:
    for name in ("GEMINI_BASE_URL", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)

    def command(*arguments: object) -> Said:
        try:
            status = cli.main([str(each) for each in arguments])
        except SystemExit as end:
            status = int(end.code or 0)
        return Said(status, *capsys.readouterr())

    return command


@contextmanager
def gemini(script: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Emulator]:
    emulator = Emulator(script, lenient=True)
    with serve(emulator) as server:
        monkeypatch.setenv("GEMINI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("GEMINI_API_KEY", "fake-key-of-gemini")
        monkeypatch.setenv("OPENAI_API_KEY", "fake-key-of-openai")
        yield emulator


def file(tmp_path: Path, text: str, name: str = "x.dot") -> Path:
    path = tmp_path / name
    path.write_text(text, "utf-8")
    return path


# --- run ------------------------------------------------------------------------------------------


@pytest.mark.row("P-131")
def test_the_examples_without_a_model_run_without_a_key(attractor: Any) -> None:
    said = attractor("run", EXAMPLES / "hello_world.dot")
    assert (said.status, said.out) == (
        0,
        "Hello, world!\nThis was said by a pipeline of four nodes.\n",
    )
    assert said.err.splitlines()[-1] == "completed done (exit) in 0.0 s"
    assert attractor("run", EXAMPLES / "hello_world.dot", "--seed", "Ada").out.startswith(
        "Hello, Ada!\n"
    )
    assert attractor("run", EXAMPLES / "parallel.dot").out.splitlines() == [
        "By day, a lighthouse is a white tower.",
        "At dusk, a lighthouse is a shape against the sky.",
        "At night, a lighthouse is a light.",
    ]


@pytest.mark.row("S4-19", "S4-20")
def test_the_example_of_gemini_runs(
    attractor: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with gemini([{"say": "Points and arrows."}], monkeypatch) as emulator:
        said = attractor(
            "run",
            EXAMPLES / "gemini.dot",
            "--seed",
            "What is a graph?",
            "--checkpoint",
            "run.json",
            "--output-context",
            "all.json",
        )
    assert (said.status, said.out) == (0, "Points and arrows.\n")
    assert [each["body"]["contents"][0]["parts"][0]["text"] for each in emulator.requests] == [
        "What is a graph?"
    ]
    found = json.loads(Path("all.json").read_text())
    assert (found["ask_output"], found["last_output"], found["seed"]) == (
        "Points and arrows.",
        "Points and arrows.",
        "What is a graph?",
    )
    assert read_checkpoint("run.json").last_node_id == "done"
    assert stat.S_IMODE(os.stat("run.json").st_mode) == 0o600
    assert "fake-key" not in Path("run.json").read_text()


@pytest.mark.row("S4-03", "S4-20")
def test_a_missing_key_is_told_before_any_request(
    attractor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with gemini([], monkeypatch) as emulator:
        monkeypatch.delenv("GEMINI_API_KEY")
        said = attractor("run", EXAMPLES / "gemini.dot", "--checkpoint", "run.json")
    assert (said.status, said.out, emulator.requests) == (2, "", [])
    assert said.err == "error: node 'ask': gemini: GEMINI_API_KEY environment variable not set\n"
    assert not Path("run.json").exists()


@pytest.mark.row("S4-20")
def test_an_error_of_the_provider_is_one_line(
    attractor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    refusal = {
        "answer": {
            "error": {"code": 400, "message": "no such thing", "status": "INVALID_ARGUMENT"}
        },
        "status": 400,
    }
    with gemini([refusal], monkeypatch):
        said = attractor("run", EXAMPLES / "gemini.dot")
    assert (said.status, said.out) == (1, "")
    assert said.errors == ["error: node 'ask': gemini: 400 INVALID_ARGUMENT: no such thing"]
    assert "Traceback" not in said.err


@pytest.mark.row("P-45", "S4-23")
def test_a_call_that_fails_is_one_line(
    attractor: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = file(
        tmp_path, f'digraph x {{ {HEAD} n [model="gemini:g", prompt=p]; start -> n -> done }}'
    )
    script = [
        {"say": {"calls": [{"name": "read_file", "args": {"path": "../x"}}]}},
        {"say": "Grüße ✓"},
    ]
    with gemini(script, monkeypatch):
        said = attractor("run", path)
    assert (said.status, said.out, len(said.errors)) == (0, "Grüße ✓\n", 1)
    assert said.errors[0].startswith("warning: the call of read_file failed: ")
    assert "Traceback" not in said.err


def test_what_a_terminal_cannot_say_is_no_error(
    attractor: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = file(tmp_path, f"digraph x {{ {HEAD} start -> done }}")
    out = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    monkeypatch.setattr(sys, "stdout", out)
    assert attractor("run", path, "--var", "last_output=Grüße ✓").status == 0
    out.flush()
    assert out.buffer.getvalue() == b"Gr\xfc\xdfe \\u2713\n"  # type: ignore[attr-defined]


@pytest.mark.row("P-29")
def test_the_model_of_the_command_line_is_for_nodes_without_one(
    attractor: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = file(tmp_path, f"digraph x {{ {HEAD} n [type=codergen, prompt=p]; start -> n -> done }}")
    assert attractor("run", path).errors == [
        "error: node 'n': no model: give the node the attribute model, or give the engine a model"
    ]
    assert attractor("run", path, "--model", "gpt").status == 2
    with gemini([{"say": "Ok."}], monkeypatch) as emulator:
        assert attractor("run", path, "--model", "openai:gpt-4o").out == "Ok.\n"
    assert emulator.requests[0]["body"]["model"] == "gpt-4o"


@pytest.mark.row("P-55", "P-56")
def test_variables_of_the_command_line(attractor: Any, tmp_path: Path) -> None:
    path = file(
        tmp_path,
        f'digraph x {{ {HEAD} n [type=set, key=k, value="{{{{.a}}}} {{{{.b}}}} '
        f'{{{{.seed}}}}"]; start -> n -> done }}',
    )
    values = file(tmp_path, '{"a": "file", "b": "file", "seed": "file"}', "v.json")
    said = attractor(
        "run", path, "--seed", "s", "--var", "a=x=y", "--var-file", values, "--output-context", "-"
    )
    assert (said.status, json.loads(said.out)["k"]) == (0, "x=y file file")
    for wrong in (
        ["--var", "=x"],
        ["--var", "x"],
        ["--var-file", file(tmp_path, "[1]", "l.json")],
        ["--var-file", tmp_path / "gone.json"],
        ["--seed", "half of a pair: \udcff"],
        ["--output-context", ""],
        ["--workdir", tmp_path / "gone"],
    ):
        said = attractor("run", path, *wrong)
        assert (said.status, said.out, len(said.errors), said.err.count("\n")) == (2, "", 1, 1)
    assert attractor("run", path).errors[0].startswith("error: node 'n': ")


def _wait_for_the_end_of(process: int) -> None:
    """Its killer is a thread that hears of the cancellation a moment later; a test that waits too
    long is ended by pytest.
    """
    with suppress(ProcessLookupError):
        while True:
            os.kill(process, 0)
            time.sleep(0.01)


@pytest.mark.row("P-75")
@pytest.mark.timeout(20)
def test_timeout_of_the_command_line(
    attractor: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = file(
        tmp_path,
        f'digraph x {{ {HEAD} n [type=codergen, model="gemini:g", prompt=p]; start -> n -> done }}',
    )
    with gemini(
        [
            {
                "say": {
                    "calls": [
                        {"name": "run_command", "args": {"command": "echo $$ > began; sleep 60"}}
                    ]
                }
            }
        ],
        monkeypatch,
    ):
        said = attractor("run", path, "--timeout", "1500ms", "--checkpoint", "run.json")
    assert (said.status, said.errors) == (
        1,
        ["error: timeout: the pipeline took longer than 1.5 s and was cancelled"],
    )
    _wait_for_the_end_of(int(Path("began").read_text()))
    assert read_checkpoint("run.json").last_node_id == "start"
    said = attractor("run", path, "--timeout", "soon")
    assert (said.status, said.errors[0][:17]) == (2, "error: --timeout:")


@pytest.mark.processes
@pytest.mark.row("P-30", "P-32")
def test_the_user_is_asked_by_stdin(
    attractor: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    nodes = """a [type=wait.human, prompt="Name?", key=name];
        b [type=wait.human, options="tea,milk"];
        n [type=set, key=last_output, value="{{.name}} {{.b_response}}"];"""
    path = file(tmp_path, f"digraph x {{ {HEAD} {nodes} start -> a -> b -> n -> done }}")
    monkeypatch.setattr(sys, "stdin", io.StringIO("Ada\nwine\n2\n"))
    said = attractor("run", path)
    assert (said.status, said.out) == (0, "Ada milk\n")
    assert "Name?\n> " in said.err
    monkeypatch.setattr(sys, "stdin", io.StringIO("Ada\n"))
    assert attractor("run", path).errors == ["error: node 'b': the input ended before an answer"]
    clean = {**os.environ, "PYTHONWARNINGS": "error"}
    command = [sys.executable, "-m", "wire.pipeline.cli", "run", str(path)]
    for given in ("Ada\nmilk", "Ada\n1\nmilk\n"):
        found = subprocess.run(
            command, input=given, capture_output=True, text=True, env=clean, cwd=ROOT
        )
        assert (found.returncode, found.stdout) == (
            0,
            f"Ada {'milk' if 'k' in given.split()[1] else 'tea'}\n",
        )
    with file(tmp_path, "Ada\nmilk\n", "answers").open() as answers:  # a file cannot be waited for
        assert (
            subprocess.run(command, stdin=answers, capture_output=True, text=True, cwd=ROOT).stdout
            == "Ada milk\n"
        )
    assert (
        subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=ROOT
        ).returncode
        == 1
    )


HOSTILE = "a\x1b]0;t\x07\rb\x9b2J\u202ec\u2028"
SHOWN = r"a\x1b]0;t\x07\rb\x9b2J\u202ec\u2028"


@pytest.mark.row("R-34")
def test_no_control_character_of_a_model_reaches_the_terminal(
    attractor: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    nodes = """work [model="gemini:gemini-3.5-flash", prompt=x];
        sure [type=wait.human, prompt="Run {{.last_output}}?", key=sure];"""
    path = file(tmp_path, f"digraph x {{ {HEAD} {nodes} start -> work -> sure -> done }}")
    say = {"calls": [{"name": "read_file", "args": {"path": HOSTILE}}]}
    answer = f"{HOSTILE}\n\t👩\u200d💻\r\nend"
    for options in ([], ["--log-format", "json", "--log-level", "debug"]):
        monkeypatch.setattr(sys, "stdin", io.StringIO("yes\n"))
        with gemini([{"say": say}, {"say": answer}], monkeypatch):
            said = attractor("run", path, "--output-context", "context.json", *options)
        assert (said.status, said.out) == (0, f"{SHOWN}\n\t👩\u200d💻\nend\n")
        assert f"Run {SHOWN}\n\t👩\u200d💻\nend?\n> " in said.err
        assert re.findall("(?![\n\t\u200d])[\x00-\x1f\x7f-\x9f\u2028-\u202e]", said.err) == []
        assert json.loads(Path("context.json").read_text("utf-8"))["last_output"] == answer
    with gemini([{"say": say}, {"say": answer}], monkeypatch):
        monkeypatch.setattr(sys, "stdin", io.StringIO("yes\n"))
        said = attractor("run", path, "--output-context", "/dev/stdout")
    assert json.loads(said.out)["last_output"] == answer
    assert re.findall("(?!\n)[\x00-\x1f\x7f-\x9f\u2028-\u202e]", said.out) == []


@pytest.mark.row("R-34")
def test_nor_one_of_a_file_or_of_the_command_line(attractor: Any, tmp_path: Path) -> None:
    text = f'digraph "g{HOSTILE}" {{ {HEAD} "n\x1b[2J" [type="t\x9b"]; }}'
    odd = file(tmp_path, text, "y\x1b.dot")
    for arguments in (
        ["lint", odd],
        ["show", "--text", odd],
        ["run", odd],
        ["run", tmp_path / "gone\x1b[2J\r"],
        ["lint", f"--{HOSTILE}"],
        [HOSTILE],
        ["run", odd, "--var", HOSTILE],
    ):
        said = attractor(*arguments)
        assert said.out + said.err != ""
        assert re.findall("(?!\n)[\x00-\x1f\x7f-\x9f\u2028-\u202e]", said.out + said.err) == []


def test_only_regular_files_are_replaced(attractor: Any, tmp_path: Path) -> None:
    path = file(tmp_path, f"digraph x {{ {HEAD} start -> done }}")
    os.mkfifo("pipe")
    Path("link").symlink_to("gone")
    for name, reason in (
        ("/dev/null", "not a regular file"),
        ("pipe", "not a regular file"),
        ("link", "a symlink that leads to no file"),
        (".", "Is a directory"),
    ):
        said = attractor("run", path, "--checkpoint", name)
        assert (said.status, said.errors) == (
            1,
            [f"error: {name}: cannot be written: {reason}"],
        )
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert stat.S_ISFIFO(os.stat("pipe").st_mode)
    assert attractor("run", path, "--output-context", "/dev/null").status == 0


@pytest.mark.processes
def test_the_context_goes_to_an_open_file_by_its_path(tmp_path: Path) -> None:
    path = file(
        tmp_path,
        f"digraph x {{ {HEAD} n [type=set, key=last_output, value=Hi]; start -> n -> done }}",
    )
    command = [sys.executable, "-m", "wire.pipeline.cli", "run", str(path), "--output-context"]
    with (tmp_path / "out").open("wb") as out, (tmp_path / "err").open("wb") as err:
        subprocess.run([*command, "/dev/stderr"], stdout=out, stderr=err, cwd=ROOT, check=True)
        subprocess.run([*command, "/dev/stdout"], stdout=out, stderr=err, cwd=ROOT, check=True)
    told = (tmp_path / "err").read_text("utf-8")
    assert json.loads(told[told.index("{") : told.rindex("}") + 1])["last_output"] == "Hi"
    written = (tmp_path / "out").read_text("utf-8")
    assert written.startswith("Hi\n{")
    assert json.loads(written[3:])["last_output"] == "Hi"


@pytest.mark.processes
@pytest.mark.row("P-76")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_cancels_the_run_and_leaves_its_checkpoint(
    tmp_path: Path, number: signal.Signals
) -> None:
    path = file(
        tmp_path, f"digraph x {{ {HEAD} n [type=wait.human, prompt=Well]; start -> n -> done }}"
    )
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "wire.pipeline.cli",
            "run",
            path,
            "--checkpoint",
            tmp_path / "run.json",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert process.stderr is not None
    seen = ""
    while not seen.endswith("Well\n> "):
        seen += process.stderr.read(1)
    process.send_signal(number)
    assert process.wait() == 128 + number
    assert process.stderr.read() == f"error: cancelled by {number.name}\n"
    assert read_checkpoint(tmp_path / "run.json").last_node_id == "start"
    process.communicate()


# --- resume ---------------------------------------------------------------------------------------


@pytest.mark.row("P-86", "P-87")
def test_resume_goes_on_after_the_last_completed_node(
    attractor: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    nodes = 'a [model="gemini:g", prompt=first]; b [model="gemini:g", prompt="{{.a_output}}!"];'
    path = file(tmp_path, f"digraph x {{ {HEAD} {nodes} start -> a -> b -> done }}")
    broken = {
        "match": {"text": "One"},
        "answer": {"error": {"code": 400, "message": "no", "status": "INVALID_ARGUMENT"}},
        "status": 400,
    }
    with gemini(
        [{"match": {"text": "first"}, "say": "One"}, broken, {"say": "Two"}], monkeypatch
    ) as emulator:
        assert attractor("run", path, "--checkpoint", "run.json").status == 1
        assert read_checkpoint("run.json").last_node_id == "a"
        said = attractor("resume", path, "run.json", "--output-context", "all.json")
        assert (said.status, said.out, len(emulator.requests)) == (0, "Two\n", 3)
        assert "(start)" not in said.err
        assert read_checkpoint("run.json").last_node_id == "done"  # written on where it was read
        assert attractor("resume", path, "run.json").status == 0
        assert len(emulator.requests) == 3
    write_checkpoint("other.json", Checkpoint(last_node_id="gone", data={}))
    assert attractor("resume", path, "other.json", "--model", "gemini:g").errors == [
        "error: checkpoint: its last node 'gone' is not in pipeline 'x'"
    ]
    assert attractor("resume", path, "gone.json").errors == [
        "error: gone.json: cannot be read: No such file or directory"
    ]


# --- lint and show --------------------------------------------------------------------------------


@pytest.mark.row("S4-21", "P-113", "P-130")
def test_the_examples_lint_clean_without_a_key(attractor: Any) -> None:
    names = ["gemini", "hello_world", "parallel", "coding_loop", "multi_provider", "tools"]
    said = attractor("lint", *(EXAMPLES / f"{name}.dot" for name in names))
    assert (said.status, said.err) == (0, "")
    lines = said.out.splitlines()
    assert lines[0] == 'OK: pipeline "gemini" is valid (3 nodes, 2 edges)'
    assert lines[4] == 'OK: pipeline "multi_provider" is valid (5 nodes, 4 edges)'
    assert [line.split('"')[1] for line in lines] == names


@pytest.mark.row("S4-21", "P-112")
def test_all_errors_are_told_at_once(attractor: Any, tmp_path: Path) -> None:
    bad = file(
        tmp_path,
        "digraph bad {\n start [type=start];\n n [type=set];\n start -> n -> nowhere }",
        "bad.dot",
    )
    worse = file(tmp_path, "digraph worse {\n a -- b }", "worse.dot")
    good = file(tmp_path, f"digraph good {{ {HEAD} start -> done }}", "good.dot")
    said = attractor("lint", bad, worse, good, tmp_path / "gone.dot")
    assert (said.status, said.out) == (2, 'OK: pipeline "good" is valid (2 nodes, 1 edges)\n')
    assert all(line.startswith("error: ") for line in said.errors)
    assert attractor("lint", worse, good).status == 1
    assert attractor("lint", bad, good).status == 1
    told = "\n".join(said.errors)
    assert "pipeline must have exactly one exit node" in told
    assert f"error: {bad}: line 3, column 2: node 'n': missing required attribute 'key'" in told
    assert "unknown target node 'nowhere'" in told
    assert f"error: {worse}: line 2, column 4: unexpected '--'" in told
    assert f"error: {tmp_path / 'gone.dot'}: cannot be read: No such file or directory" in told


@pytest.mark.row("P-18", "S4-20")
def test_nothing_runs_of_a_pipeline_with_errors(attractor: Any, tmp_path: Path) -> None:
    for text in (
        "digraph bad { start [type=start]; n [type=set]; start -> n }",
        "digraph worse { a -- b }",
        "",
    ):
        said = attractor("run", file(tmp_path, text), "--checkpoint", "run.json")
        assert (said.status, said.out, said.err.splitlines()) == (2, "", said.errors)
        assert not Path("run.json").exists()


@pytest.mark.row("S4-21", "P-114")
def test_lint_loads_no_http_stack() -> None:
    unwanted = "{'httpx', 'anyio', 'asyncio'} & set(sys.modules)"
    program = (
        "import sys; from wire.pipeline.cli import main; main(['lint', "
        f"{str(EXAMPLES / 'gemini.dot')!r}]); print(*({unwanted}))"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT
    )
    assert found.stdout == 'OK: pipeline "gemini" is valid (3 nodes, 2 edges)\n\n'


def test_show_is_text_or_what_graphviz_draws(
    attractor: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = file(
        tmp_path,
        'digraph x { start [type=start]; n [type=conditional, label="a \\"b\\\\ c"]; '
        'done [type=exit]; start -> n -> done [label="!x"] }',
    )
    text = (
        "x: 3 nodes, 2 edges\nstart (start)\n  -> n  if !x\nn (conditional)\n  -> done  if "
        "!x\ndone (exit)\n"
    )
    assert attractor("show", path, "--text").out == text
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    if not Path("/usr/bin/dot").exists():
        assert attractor("show", path).out == text
    fake = folder / "dot"
    fake.write_text('#!/bin/sh\n[ "$1" = -Tsvg ] && echo "<svg>" && cat && echo "</svg>"\n')
    fake.chmod(0o755)
    said = attractor("show", path)
    drawn = xml.etree.ElementTree.fromstring(said.out.replace("->", "to"))
    assert (said.status, drawn.tag) == (0, "svg")
    fake.write_text("#!/bin/sh\necho 'syntax error in line 1' >&2; exit 1\n")
    assert attractor("show", path).errors == [f"error: {fake}: syntax error in line 1"]


def test_show_quotes_what_graphviz_would_read_otherwise() -> None:
    graph = parse(
        'digraph x { a [label="one \\"two\\" \\\\N"]; b [label="é\\nü"]; a -> b '
        '[label="k == \\"v\\""] }'
    )
    assert r'"one \"two\" \\N\ncodergen"' in cli.as_plain_dot(graph)
    again = parse(cli.as_plain_dot(graph))
    assert [node.text("label") for node in again.nodes.values()] == [
        'one "two" \\N\ncodergen',
        "é\nü\ncodergen",
    ]
    assert again.edges[0].condition == 'k == "v"'


# --- the command line -----------------------------------------------------------------------------


@pytest.mark.row("S4-20")
@pytest.mark.parametrize(
    "arguments", [[], ["run"], ["fly"], ["lint"], ["run", "x.dot", "--speed"], ["resume", "x.dot"]]
)
def test_a_wrong_command_line_is_told_in_one_line(attractor: Any, arguments: list[str]) -> None:
    said = attractor(*arguments)
    assert (said.status, said.out, len(said.errors)) == (2, "", 1)


@pytest.mark.row("S4-20")
def test_a_file_that_is_not_there(attractor: Any, tmp_path: Path) -> None:
    for command in ("run", "show"):
        said = attractor(command, "gone.dot")
        assert (said.status, said.err) == (
            2,
            "error: gone.dot: cannot be read: No such file or directory\n",
        )
    path = file(tmp_path, f"digraph x {{ {HEAD} start -> done }}")
    assert attractor("run", path, "--workdir", "gone").errors == [
        "error: --workdir: gone: not a folder"
    ]
    (tmp_path / "y.dot").write_bytes(b"digraph \xff")
    assert attractor("run", "y.dot").errors == ["error: y.dot: byte 8 is not UTF-8"]


# --- the log --------------------------------------------------------------------------------------

TOOLS_RUN = [
    {
        "say": {
            "text": "I look around.",
            "calls": [{"name": "list_dir", "args": {"path": "."}}],
        }
    },
    {"say": "One file:\nx.dot"},
]


def one_agent(tmp_path: Path) -> Path:
    return file(
        tmp_path, f'digraph x {{ {HEAD} n [model="gemini:g", prompt=p]; start -> n -> done }}'
    )


def test_the_answer_and_the_tool_calls_of_an_agent_are_shown_as_they_come(
    attractor: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with gemini(TOOLS_RUN, monkeypatch) as emulator:
        said = attractor("run", one_agent(tmp_path))
    assert (said.status, said.out) == (0, "One file:\nx.dot\n")
    lines = [re.sub(r"in [0-9.]+ s", "in 0 s", line) for line in said.err.splitlines()]
    assert lines[2:9] == [
        "started   n (codergen)",
        "answer    n: I look around.",
        'call      n: list_dir {"path": "."}',
        "result    n: list_dir: x.dot",
        "answer    n: One file:",
        "answer    n: x.dot",
        "completed n (codergen) in 0 s",
    ]
    assert all("streamGenerateContent" in each["target"] for each in emulator.requests)


@pytest.mark.row("P-128")
def test_the_log_as_json_lines(
    attractor: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with gemini(TOOLS_RUN, monkeypatch):
        said = attractor("run", one_agent(tmp_path), "--log-format", "json")
    entries = [json.loads(line) for line in said.err.splitlines()]
    assert [(each["level"], each["event"], each["node"]) for each in entries[2:5]] == [
        ("info", "started", "n"),
        ("info", "answer", "n"),
        ("info", "call", "n"),
    ]
    assert entries[4]["message"] == 'list_dir {"path": "."}'
    assert all(each["time"].endswith("+00:00") for each in entries)
    said = attractor("--log-format", "json", "run", "missing.dot")
    (entry,) = [json.loads(line) for line in said.err.splitlines()]
    assert (said.status, entry["level"]) == (2, "error")
    assert "missing.dot" in entry["message"]


@pytest.mark.row("P-128")
def test_the_level_of_the_log(
    attractor: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fails = [{"say": {"calls": [{"name": "read_file", "args": {"path": "../x"}}]}}, {"say": "Ok."}]
    seen = {}
    for level in ("debug", "info", "warn", "error"):
        with gemini(fails, monkeypatch):
            said = attractor("run", one_agent(tmp_path), "--log-level", level)
        assert (said.status, said.out) == (0, "Ok.\n")
        seen[level] = [line.partition(" ")[0] for line in said.err.splitlines()]
    assert {"warning:", "call", "started"} <= set(seen["info"]) <= set(seen["debug"])
    assert (seen["warn"], seen["error"]) == (["warning:"], [])
    said = attractor("--log-level", "error", "run", "missing.dot")
    assert (said.status, len(said.errors)) == (2, 1)
    for option, value in (("--log-level", "loud"), ("--log-format", "xml")):
        said = attractor("run", "x.dot", option, value)
        assert said.status == 2
        assert f"argument {option}: invalid choice: '{value}'" in said.errors[0]


@pytest.mark.row("P-129")
def test_version(attractor: Any) -> None:
    said = attractor("version")
    assert (said.status, said.err) == (0, "")
    assert said.out == f"attractor {importlib.metadata.version('wire-llm')}\n"


@pytest.mark.row("P-110")
def test_lint_is_told_what_a_run_is_given(attractor: Any, tmp_path: Path) -> None:
    nodes = f'{HEAD} n [prompt="{{{{.tone}}}}"]; start -> n -> done'
    path = file(tmp_path, f"digraph x {{ {nodes} }}")
    assert [line.rpartition("[")[2].split("]")[0] for line in attractor("lint", path).errors] == [
        "model_missing",
        "template_key",
    ]
    said = attractor("lint", path, "--model", "gemini:g", "--var", "tone=glad")
    assert (said.status, said.errors) == (0, [])


STORY = ["A night train.", "Shorten it.", "A short night train."]
CODERS = ("write", "test", "repair", "test", "report")
CODING = ["I wrote it.", "failed", "A typo.", "passed", "A module and its tests."]


@pytest.mark.row("S4-20", "S4-22")
@pytest.mark.parametrize(
    ("name", "answers", "shown", "out"),
    [
        ("hello_world", [], [], "Hello, world!"),
        ("parallel", [], [], "By day, a lighthouse is a white tower."),
        ("gemini", ["Points and arrows."], ["ask: Points and arrows."], "Points and arrows."),
        (
            "multi_provider",
            STORY,
            [
                f"{node}: {text}"
                for node, text in zip(("draft", "review", "revise"), STORY, strict=True)
            ],
            STORY[-1],
        ),
        (
            "coding_loop",
            CODING,
            [
                f"{node}: {text}"
                for node, text in zip(
                    ("write", "test", "repair", "test", "report"), CODING, strict=True
                )
            ],
            CODING[-1],
        ),
    ],
)
def test_the_five_pipelines_show_their_answers_on_the_console(
    attractor: Any,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    answers: list[str],
    shown: list[str],
    out: str,
) -> None:
    with gemini([{"say": each} for each in answers], monkeypatch) as emulator:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", os.environ["GEMINI_BASE_URL"])
        monkeypatch.setenv("ANTHROPIC_API_KEY", "fake-key-of-anthropic")
        said = attractor("run", EXAMPLES / f"{name}.dot")
    assert (said.status, said.out.splitlines()[0]) == (0, out)
    lines = [line for line in said.err.splitlines() if line.startswith("answer ")]
    assert lines == [f"answer    {each}" for each in shown]
    assert len(emulator.requests) == len(answers)
    assert attractor("lint", EXAMPLES / f"{name}.dot").errors == []
