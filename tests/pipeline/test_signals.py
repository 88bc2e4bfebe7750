"""R-43: SIGINT, SIGTERM and SIGHUP at any moment leave no command running and a run resumable."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from wire.pipeline.checkpoint import read_checkpoint
from wire.pipeline.command import run_shell

ROOT = Path(__file__).parent.parent.parent
HEAD = "start [type=start]; done [type=exit];"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no POSIX signals")
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
some = pytest.mark.parametrize(
    "number",
    [*SIGNALS[:2], pytest.param(signal.SIGHUP, marks=pytest.mark.slow)],
    ids=lambda number: number.name,
)


# --- runs of the command --------------------------------------------------------------------------


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "wire.pipeline.cli", *map(str, arguments)]


def chain(folder: Path, nodes: int) -> Path:
    """A pipeline that stores one value in each of its nodes."""
    names = [f"n{number}" for number in range(nodes)]
    rows = "".join(f'{name} [type=set, key="{name}", value="v"];' for name in names)
    path = folder / "chain.dot"
    path.write_text(f"digraph x {{ {HEAD} {rows} start -> {' -> '.join(names)} -> done }}")
    return path


def interrupted_and_resumed(folder: Path, number: signal.Signals, dice: random.Random) -> bool:
    """Whether the signal came before the end of the run."""
    folder.mkdir()
    nodes = 60
    path, checkpoint, context = chain(folder, nodes), folder / "run.json", folder / "context.json"
    options: dict[str, Any] = {"stderr": subprocess.PIPE, "text": True, "cwd": ROOT}
    process = subprocess.Popen(command("run", path, "--checkpoint", checkpoint), **options)
    assert process.stderr is not None
    for _ in range(dice.randrange(1, nodes)):
        process.stderr.readline()
    process.send_signal(number)
    _, told = process.communicate(timeout=60)
    hit = process.returncode != 0
    if hit:
        # 128 + n if the command has ended itself; -n outside of its own code.
        assert process.returncode in (128 + number, -number), told
        if process.returncode > 0:
            assert told.splitlines()[-1] == f"error: cancelled by {number.name}"
        assert "Traceback" not in told
    assert [name for name in os.listdir(folder) if name.endswith(".tmp")] == []
    last = read_checkpoint(checkpoint)  # whole, or it cannot be read
    done = command("resume", path, checkpoint, "--output-context", context)
    resumed = subprocess.run(done, timeout=60, **options)
    assert resumed.returncode == 0, resumed.stderr
    values = json.loads(context.read_bytes())
    assert {name for name in values if name.startswith("n")} == {f"n{n}" for n in range(nodes)}
    repeated = {line.split()[1] for line in resumed.stderr.splitlines() if line.startswith("comp")}
    assert not repeated & {name for name in last.data if name.startswith("n")}
    return hit


@pytest.mark.processes
@pytest.mark.row("R-43")
@some
def test_a_run_that_a_signal_ended_is_resumed(tmp_path: Path, number: signal.Signals) -> None:
    assert interrupted_and_resumed(tmp_path / "run", number, random.Random(int(number)))


@pytest.mark.row("R-43")
@pytest.mark.faults
@pytest.mark.timeout(900)
@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_runs_that_signals_ended_at_many_moments_are_resumed(
    tmp_path: Path, number: signal.Signals
) -> None:
    def one(round_: int) -> bool:
        dice = random.Random(1000 * int(number) + round_)
        return interrupted_and_resumed(tmp_path / str(round_), number, dice)

    with ThreadPoolExecutor(2) as pool:  # each waits for two processes
        hits = list(pool.map(one, range(40)))
    assert sum(hits) > 20


def asking(tmp_path: Path, *before: str) -> subprocess.Popen[str]:
    """A run that waits for its user."""
    path = tmp_path / "x.dot"
    text = f"digraph x {{ {HEAD} n [type=wait.human, prompt=Well]; start -> n -> done }}"
    path.write_text(text)
    pipes: Any = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    process = subprocess.Popen([*before, *command("run", path)], text=True, cwd=ROOT, **pipes)
    assert process.stderr is not None
    seen = ""
    while not seen.endswith("Well\n> "):
        seen += process.stderr.read(1)
    return process


@pytest.mark.processes
@pytest.mark.row("R-43")
@some
def test_the_exit_status_names_the_signal(tmp_path: Path, number: signal.Signals) -> None:
    process = asking(tmp_path)
    process.send_signal(number)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert told.endswith(f"error: cancelled by {number.name}\n")


@pytest.mark.processes
@pytest.mark.row("R-43")
def test_a_signal_that_was_ignored_stays_ignored(tmp_path: Path) -> None:
    """`nohup attractor run` outlives its terminal."""
    process = asking(tmp_path, "/bin/sh", "-c", 'trap "" HUP; exec "$@"', "sh")
    process.send_signal(signal.SIGHUP)
    _, told = process.communicate("fine\n", timeout=60)
    assert (process.returncode, "cancelled" in told) == (0, False)


STUCK = """
import sys, time
from wire.pipeline import cli

class Blocking:
    def fileno(self):
        raise ValueError
    def readline(self):
        print("stuck", flush=True)
        time.sleep(600)

sys.stdin = Blocking()
sys.exit(cli.main(sys.argv[1:]))
"""


@pytest.mark.processes
@pytest.mark.row("R-43")
def test_a_second_ctrl_c_ends_a_run_that_does_not_stop(tmp_path: Path) -> None:
    """A read blocks the event loop, so the first one waits for it."""
    path = tmp_path / "x.dot"
    text = f"digraph x {{ {HEAD} n [type=wait.human, prompt=Well]; start -> n -> done }}"
    path.write_text(text)
    checkpoint = tmp_path / "run.json"
    arguments = [sys.executable, "-c", STUCK, "run", str(path), "--checkpoint", str(checkpoint)]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    assert process.stdout.readline() == "stuck\n"
    process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.3)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == -signal.SIGINT
    process.communicate()
    assert read_checkpoint(checkpoint).last_node_id == "start"


# --- commands of agents ---------------------------------------------------------------------------


HOLD = "exec 3>alive; sleep 100 & (sleep 100 &) & echo go >&3; trap : TERM; wait; wait; sleep 100"
"""Processes that hold the pipe `alive` open: a child, a daemon of the same group, and the shell,
which does not end by SIGTERM.
"""

PROGRAM = """
import os, subprocess, sys, threading, time
from pathlib import Path
from wire.pipeline.command import run_shell

how, folder, text = sys.argv[1:]
started = threading.Event()

class Slow(subprocess.Popen):
    # Time for a fork between the start of a process and what its starter does next.
    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        started.set()
        time.sleep(0.2)

if how == "fork at once":
    subprocess.Popen = Slow
threading.Thread(target=run_shell, args=(text, Path(folder), 1000), daemon=True).start()
if how.startswith("fork"):
    if how == "fork at once":
        started.wait()
    if not os.fork():
        os.close(1)
        threading.Event().wait(200)  # longer than a test may last
        os._exit(0)
print("READY", flush=True)
sys.stdin.read(1)
"""


@pytest.fixture
def alive(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "alive")
    return tmp_path / "alive"


def begun(alive: Path) -> BinaryIO:
    pipe = open(alive, "rb")  # noqa: SIM115  # closed by `gone`
    assert pipe.readline() == b"go\n"
    return pipe


def gone(pipe: BinaryIO) -> None:
    """The pipe ends with the last process that holds it; the test's time limit is the proof."""
    with pipe:
        assert pipe.read() == b""


ENDS = [*SIGNALS, signal.SIGKILL, "exit"]


@pytest.mark.processes
@pytest.mark.row("R-43")
@pytest.mark.parametrize("end", ENDS, ids=lambda end: getattr(end, "name", end))
def test_a_command_ends_with_the_process_that_runs_it(
    tmp_path: Path, alive: Path, end: Any
) -> None:
    """No handler of a signal is installed here: the guard of the command sees the end."""
    arguments = [sys.executable, "-c", PROGRAM, "plain", str(tmp_path), HOLD]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(arguments, cwd=ROOT, **pipes) as process:
        pipe = begun(alive)
        if end == "exit":
            process.communicate(b"x")
        else:
            process.send_signal(end)
            assert process.wait(60) in (-end, 1)
        gone(pipe)


@pytest.mark.processes
@pytest.mark.row("R-43")
@pytest.mark.parametrize("how", ["fork", "fork at once"])
def test_a_forked_child_does_not_keep_the_command_of_its_parent_alive(
    tmp_path: Path, alive: Path, how: str
) -> None:
    arguments = [sys.executable, "-c", PROGRAM, how, str(tmp_path), HOLD]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(arguments, cwd=ROOT, start_new_session=True, **pipes) as process:
        pipe = begun(alive)
        assert process.stdout is not None
        assert process.stdout.readline() == b"READY\n"
        process.kill()
        process.wait(60)
        gone(pipe)
        os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.row("R-43")
def test_a_command_over_its_time_may_clean_up(tmp_path: Path) -> None:
    """SIGTERM comes first; what does not end by it is killed half a second later."""
    text = "trap 'echo cleaned > done; exit' TERM; echo begun; sleep 100 & wait"
    assert run_shell(text, tmp_path, 0.2) == "begun\n[killed after 0.2 s]"
    assert (tmp_path / "done").read_text() == "cleaned\n"
    assert run_shell("trap '' TERM; echo begun; sleep 100", tmp_path, 0.2) == (
        "begun\n[killed after 0.2 s]"
    )


@pytest.mark.row("R-43")
def test_commands_leave_no_zombie(tmp_path: Path) -> None:
    for text in ("exit 3", "sleep 100 &", "kill -9 $$", "(sleep 100 &) & exit"):
        run_shell(text, tmp_path, 10)
    run_shell("sleep 100", tmp_path, 0.05)
    with pytest.raises(ChildProcessError):  # there is no child, dead or alive
        os.waitpid(-1, os.WNOHANG)
