"""What is kept of a run after each node, and going on after it, wherever the run was ended."""

from __future__ import annotations

import json
import os
import random
import signal
import stat
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import anyio
import pytest

from tests.joined import joined
from tests.pipeline.pipelines import BACKENDS, Seen, connecting, run
from wire.errors import PipelineError
from wire.pipeline.checkpoint import (
    Checkpoint,
    dump_checkpoint,
    load_checkpoint,
    read_checkpoint,
    write_checkpoint,
)
from wire.pipeline.engine import NodeError
from wire.pipeline.handlers import Visit
from wire.pipeline.progress import Event
from wire.testing.emulator import Emulator


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


# A way with a fork, a circle of three rounds, and branches in branches.
TEXT = """digraph long {
    start [type=start, seed=tea]; done [type=exit];
    a [type=seen]; turn [type=turn]; again [type=seen]; b [type=seen]; never [type=seen];
    fan [type=fan_out]; fan2 [type=fan_out]; join [type=fan_in]; join2 [type=fan_in];
    x [type=seen]; y [type=seen]; z [type=seen];
    start -> a -> turn;
    turn -> again [label="turns != 3"]; turn -> b [label="turns == 3"]; again -> turn;
    b -> never [label="turns == 4"]; b -> fan;
    fan -> fan2; fan2 -> x -> join2; fan2 -> y -> join2 -> join;
    fan -> z -> join -> done; never -> done;
}"""
ONCE = {"start": 1, "a": 1, "turn": 3, "again": 2, "b": 1, "fan": 1, "join": 1, "done": 1}


def turn(visit: Visit) -> dict[str, Any]:
    return {"turns": visit.context.get("turns", 0) + 1}


class Killed(BaseException):
    """The end of the process, as far as a test can play it: no handler and no `except Exception`
    sees it.
    """


class Killer:
    """Is told of nodes, counts those that were completed, and ends the process after `left` events
    of a kind.
    """

    def __init__(self, when: str, left: int) -> None:
        self.completed: Counter[str] = Counter()
        self.left = left
        self._when = when

    def __call__(self, event: Event) -> None:
        self.completed[event.node.id] += event.kind == "completed"
        if event.kind == self._when:
            if self.left == 0:
                raise Killed
            self.left -= 1


@pytest.mark.row("P-85", "P-88")
def test_after_each_node_the_file_tells_where_the_run_stands(backend: str, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "run.json"
    kept: list[Any] = []

    def told(event: Event) -> None:
        kept.append(
            (
                event.kind,
                event.node.id,
                json.loads(path.read_text())["last_node_id"] if path.exists() else None,
            )
        )

    run(backend, TEXT, types={"seen": Seen(), "turn": turn}, checkpoint=path, report=told)
    before = [
        (id, last)
        for kind, id, last in kept
        if kind == "started" and id not in ("x", "y", "z", "fan2", "join2")
    ]
    assert before == [
        ("start", None),
        ("a", "start"),
        ("turn", "a"),
        ("again", "turn"),
        ("turn", "again"),
        ("again", "turn"),
        ("turn", "again"),
        ("b", "turn"),
        ("fan", "b"),
        ("join", "fan"),
        ("done", "join"),
    ]
    found = json.loads(path.read_text())
    assert (
        found["last_node_id"],
        found["pipeline"],
        found["data"]["seed"],
        found["data"]["turns"],
    ) == ("done", "long", "tea", 3)
    assert set(found) == {"last_node_id", "data", "pipeline", "visits"}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(path.parent) == ["run.json"]


@pytest.mark.row("P-88")
def test_no_key_and_no_header_is_in_the_file(backend: str, tmp_path: Path) -> None:
    """Whatever nodes and their models know: not after an answer, and not after an error."""
    key, header, path = "fake-key-of-gemini", "fake-secret-of-a-header", tmp_path / "run.json"
    text = """digraph long {
        start [type=start]; done [type=exit];
        ask [type=codergen, model="gemini:gemini-3.5-flash", prompt="Hi"];
        start -> ask -> again -> done;
        again [type=codergen, model="gemini:gemini-3.5-flash", prompt="Again"];
    }"""
    script = [
        {"match": {"number": 1}, "say": "Hello."},
        {
            "match": {"number": 2},
            "status": 400,
            "answer": {"error": {"code": 400, "message": f"{key} and {header}"}},
        },
    ]
    emulator = Emulator(script)
    connect = connecting(emulator, api_key=key, headers={"x-team": header})
    with pytest.raises(NodeError):
        run(backend, text, emulator=emulator, connect=connect, checkpoint=path)
    assert [each["headers"]["x-goog-api-key"] for each in emulator.requests] == ["***"] * 2
    kept = path.read_text("utf-8")
    assert (json.loads(kept)["last_node_id"], "Hello." in kept) == ("ask", True)
    for secret in (key, header, "x-goog-api-key", "x-team", "authorization"):
        assert secret not in kept


def test_a_checkpoint_cut_at_any_byte_is_one_typed_error_with_its_position() -> None:
    data = dump_checkpoint(Checkpoint(last_node_id="a", data={"k": ["é", {"n": 10**30}]}))
    end = len(data.rstrip())
    for position in range(end):
        with pytest.raises(PipelineError) as caught:
            load_checkpoint(data[:position], "run.json")
        problem = caught.value.message.removeprefix("run.json: ")
        assert problem in (
            f"byte {position - 1} is not UTF-8",
            f"not JSON: it ends after {position} bytes, inside a value",
        )
    assert load_checkpoint(data[:end]).data == {"k": ["é", {"n": 10**30}]}


@joined(
    ("text", "problem"),
    [
        ('{"last_node_id": "a", "data": {"k": NaN}}', r"not JSON: .*\(byte 36\)$"),
        ('{"last_node_id": "a", "data": {"k": 1e999}}', "Number out of range"),
        ('{"last_node_id": "a", "data": {"k": "\0"}}', r"not JSON: .*\(byte 37\)$"),
        ('{"last_node_id": "a", "data": {"k": ' + "[" * 900 + "]" * 900 + "}}", "nested more than"),
        ("[" * 100_000, "nested too deeply"),
        ('{"last_node_id": 1, "data": {}}', r"Expected `str`, got `int` - at `\$.last_node_id`"),
        ('{"last_node_id": "a", "data": []}', r"Expected `object`, got `array` - at `\$.data`"),
        ('{"last_node_id": "a\ud800", "data": {}}', "character 19 is half of a surrogate pair"),
    ],
)
def test_what_is_no_checkpoint_is_one_typed_error(text: str, problem: str) -> None:
    with pytest.raises(PipelineError, match=rf"^run\.json: .*{problem}"):
        load_checkpoint(text, "run.json")


@pytest.mark.row("P-86", "P-89")
@pytest.mark.parametrize("when", ["started", "completed"])
def test_a_run_killed_between_any_two_steps_goes_on_and_repeats_no_completed_node(
    backend: str, tmp_path: Path, when: str
) -> None:
    whole = run(backend, TEXT, types={"seen": Seen(), "turn": turn}).context
    steps = 16  # of nodes, those of branches too
    for step in range(steps + 1):
        path = tmp_path / f"{step}.json"
        told = Killer(when, step)
        types = {"seen": Seen(), "turn": turn}
        try:
            ended = run(backend, TEXT, types=types, checkpoint=path, report=told)
            assert step == steps
        except (Killed, BaseExceptionGroup):  # the groups of the branches wrap it
            told.left = -1
            begin = read_checkpoint(path) if path.exists() else None
            ended = run(backend, TEXT, types=types, checkpoint=path, report=told, begin=begin)
        assert ended.context == whole
        assert {id: told.completed[id] for id in ONCE} == ONCE
        # Of a fan_out that was broken off, all branches begin again.
        assert all(1 <= told.completed[id] <= 2 for id in ("x", "y", "z", "fan2", "join2"))


@pytest.mark.row("P-86")
def test_a_run_that_has_ended_has_nothing_left_to_do(backend: str, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    seen = Seen()
    whole = run(backend, TEXT, types={"seen": seen, "turn": turn}, checkpoint=path)
    count = len(seen.nodes)
    assert (
        run(backend, TEXT, types={"seen": seen, "turn": turn}, begin=read_checkpoint(path)) == whole
    )
    assert len(seen.nodes) == count


@pytest.mark.row("P-86")
def test_a_node_that_failed_is_run_again_and_variables_come_on_top(
    backend: str, tmp_path: Path
) -> None:
    path = tmp_path / "run.json"
    nodes = (
        "start [type=start]; a [type=seen]; b [type=seen]; c [type=set, key=k, "
        'value="{{.v}}"]; done [type=exit];'
    )
    text = f"digraph x {{ {nodes} start -> a -> b -> c -> done }}"
    with pytest.raises(NodeError, match=r"^node 'b': no$"):
        run(
            backend,
            text,
            {"v": "old"},
            types={"seen": Seen({"b": PipelineError("no")})},
            checkpoint=path,
        )
    seen = Seen()
    ended = run(backend, text, {"v": "new"}, types={"seen": seen}, begin=read_checkpoint(path))
    assert (seen.nodes, ended.context["k"]) == (["b"], "new")


@pytest.mark.row("P-72")
def test_circles_are_counted_across_a_resumption(backend: str, tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    text = (
        "digraph x { start [type=start]; n [type=seen]; done [type=exit]; start -> n; n -> "
        "done [label=stop]; n -> n }"
    )
    begin = Checkpoint(last_node_id="n", data={}, visits={"n": 48})
    seen = Seen()
    with pytest.raises(NodeError, match=r"visited more than 50 times"):
        run(backend, text, types={"seen": seen}, begin=begin, checkpoint=path)
    assert (len(seen.nodes), read_checkpoint(path).visits["n"]) == (2, 50)


@pytest.mark.row("P-76")
def test_a_cancelled_run_leaves_the_checkpoint_of_what_was_completed(
    backend: str, tmp_path: Path
) -> None:
    path = tmp_path / "run.json"

    async def forever(visit: Visit) -> None:
        await anyio.sleep_forever()

    with pytest.raises(PipelineError, match=r"timeout"):
        text = (
            "digraph x { start [type=start]; a [type=seen]; b [type=forever]; done "
            "[type=exit]; start -> a -> b -> done }"
        )
        run(backend, text, types={"seen": Seen(), "forever": forever}, checkpoint=path, timeout=0.1)
    assert read_checkpoint(path).last_node_id == "a"


@pytest.mark.row("P-87")
@joined(
    ("source", "said"),
    [
        ("", "run.json: not JSON"),
        ("{", "run.json: not JSON"),
        (b"\xff{}", "run.json: byte 0 is not UTF-8"),
        ("[]", "run.json: not a checkpoint"),
        ("{}", "run.json: not a checkpoint: .*last_node_id"),
        ('{"last_node_id": "a"}', "run.json: not a checkpoint: .*data"),
        ('{"last_node_id": 1, "data": {}}', "run.json: not a checkpoint"),
        ('{"last_node_id": "a", "data": []}', "run.json: not a checkpoint"),
        ("[" * 100_000, "run.json: "),
    ],
)
def test_what_is_no_checkpoint_is_refused_by_name(source: str | bytes, said: str) -> None:
    with pytest.raises(PipelineError, match=f"^{said}"):
        load_checkpoint(source, "run.json")


@pytest.mark.row("P-85")
def test_a_checkpoint_is_read_as_it_was_written() -> None:
    data = {
        "seed": "é\u2028\n",
        "big": 2**80,
        "small": 1.5e-9,
        "list": [None, True, {"x": []}],
        "": "",
        "float": 2.0,
    }
    checkpoint = Checkpoint(last_node_id="n", data=data, pipeline="p", visits={"n": 2})
    again = load_checkpoint(dump_checkpoint(checkpoint))
    assert again == checkpoint
    assert type(again.data["float"]) is float


@pytest.mark.row("P-94")
@joined(
    ("value", "problem"),
    [
        (object(), "expected a JSON value, not object"),
        ({1, 2}, "expected a JSON value, not set"),
        (float("inf"), "inf is not a JSON number"),
        (b"x", "expected a JSON value, not bytes"),
        ("\ud800", "this text contains half of a surrogate pair"),
    ],
)
def test_a_value_that_json_cannot_say_is_named(value: Any, problem: str) -> None:
    with pytest.raises(PipelineError, match=rf"^context: bad: {problem}"):
        dump_checkpoint(Checkpoint(last_node_id="n", data={"good": 1, "bad": value}))


@pytest.mark.row("P-85")
def test_a_checkpoint_that_cannot_be_written_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.json"
    write_checkpoint(path, Checkpoint(last_node_id="old", data={}))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(
        PipelineError, match=r"run\.json: cannot be written: No space left on device"
    ):
        write_checkpoint(path, Checkpoint(last_node_id="new", data={}))
    assert read_checkpoint(path).last_node_id == "old"
    assert os.listdir(tmp_path) == ["run.json"]


# --- kill -9 --------------------------------------------------------------------------------------

PROGRAM = """
import os, sys
import anyio
from pathlib import Path
from wire.pipeline.checkpoint import read_checkpoint
from wire.pipeline.dot import parse
from wire.pipeline.engine import Engine
from wire.pipeline.node_types import NodeTypes

log = os.open(sys.argv[1] + "/log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
path = Path(sys.argv[1]) / "run.json"

async def count(visit):
    os.write(log, f"{visit.node.id}\\n".encode())
    await anyio.sleep(0.001)
    return {"sum": visit.context.get("sum", 0) + int(visit.node.id[1:]), visit.node.id: "x" * 5000}

types = NodeTypes()
types.register("count", count)
nodes = [f"n{number}" for number in range(60)]
text = "digraph x { start [type=start]; done [type=exit]; "
text += "".join(f"{id} [type=count];" for id in nodes)
text += "start -> " + " -> ".join(nodes) + " -> done }"
engine = Engine(parse(text), types=types, checkpoint=path)
os.write(1, b"READY\\n")
ended = anyio.run(engine.resume, read_checkpoint(path)) if path.exists() else anyio.run(engine.run)
print(ended.context["sum"])
"""


@pytest.mark.row("P-85", "P-86")
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_kill_9_at_fifty_random_points_loses_nothing_and_repeats_no_completed_node(
    tmp_path: Path,
) -> None:
    dice = random.Random(0)
    killed = 0
    round_, folder = 0, tmp_path
    while killed < 50:
        round_ += 1
        folder = tmp_path / str(round_)
        folder.mkdir()
        kills = 0
        ran: list[str] = []
        while True:
            last = (
                read_checkpoint(folder / "run.json").last_node_id
                if (folder / "run.json").exists()
                else "start"
            )
            process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, str(folder)], stdout=subprocess.PIPE, text=True
            )
            assert process.stdout is not None
            assert process.stdout.readline() == "READY\n"
            time.sleep(dice.uniform(0, 0.15))
            process.send_signal(signal.SIGKILL)
            said, _ = process.communicate()
            now = (folder / "log").read_text().split()
            if now[len(ran) :]:
                # A node that a kill broke off begins again; one that the checkpoint has does not.
                assert now[len(ran)] == ("n0" if last == "start" else f"n{int(last[1:]) + 1}")
            ran = now
            if said:
                break
            kills += 1
        killed += kills
        assert int(said) == sum(range(60))
        assert set(ran) == {f"n{number}" for number in range(60)}
        assert len(ran) - 60 <= kills
