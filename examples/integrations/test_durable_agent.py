"""Runs in DBOS with SQLite, whose processes are killed with SIGKILL. `make test-integrations`."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("dbos", reason="dbos is not installed: make test-integrations")
if sys.platform == "win32":
    pytest.skip("there is no SIGKILL", allow_module_level=True)

import durable_agent
from dbos import DBOS, DBOSClient, SetWorkflowID

from wire import AsyncChat, Message, Reply, history
from wire.agent import load_run
from wire.sessions import dump_session
from wire.testing.emulator import Emulator, serve
from wire.tools import ToolContext

MODELS = ("gemini:gemini-3.8-flash", "anthropic:claude-sonnet-5")
RUN = "run-1"
POINTS = (
    "received 0",  # a reply has arrived
    "replied 0",  # it is saved
    "begins 0",
    "ends 0",  # the tool has done its work, and has not returned
    "begins 1",  # in the same turn; the result of the first is saved
    "ends 1",
    "answered 0",  # the results of the turn are saved
    "received 1",
    "replied 1",
    "begins 2",
    "ends 2",
    "answered 1",
    "received 2",
    "replied 2",
)
"""Where a process is killed, in the order of the run."""


# --- the processes that are killed ----------------------------------------------------------------


def work(
    model: str,
    url: str,
    folder: Path,
    ports: tuple[str, ...],
    limits: dict[str, Any],
    point: str,
) -> None:
    """Begin the run, or go on with it, to the point or to its end.

    The work of the tools is done in the order of the ports.
    """

    def reach(name: str) -> None:
        if name == point:
            os.kill(os.getpid(), signal.SIGKILL)

    def book(port: str, context: ToolContext) -> str:
        """Book a berth."""
        number = ports.index(port)
        while number == 1 and len(DBOS.list_workflow_steps(RUN)) < 2:
            time.sleep(0.002)  # both calls have begun: the other one ends first
        reach(f"begins {number}")
        with (folder / "booked").open("a") as file:
            file.write(f"{port} {context.call.id}\n")
        reach(f"ends {number}")
        return f"berth 7 in {port}"

    class Chat(AsyncChat):
        async def ask(self, *, messages: Any, **settings: Any) -> Reply:
            reply = await super().ask(messages=messages, **settings)
            (folder / f"received {turns(messages)}").write_bytes(reply.message.origin.raw)
            reach(f"received {turns(messages)}")
            return reply

    class Steps(durable_agent.Steps):
        def replied(self, reply: Reply) -> bool:
            reach(f"replied {turns(self.state.messages)}")
            return super().replied(reply)

        def answered(self, runs: Any) -> None:
            reach(f"answered {turns(self.state.messages) - 1}")
            super().answered(runs)

    durable_agent.Steps = Steps
    DBOS(config={"name": "berths", "system_database_url": database(folder), "log_level": "ERROR"})
    chat = Chat(model, api_key="fake-key", base_url=url)
    berths = durable_agent.durable_agent("berths", chat, [book], "Be brief.", **limits)
    DBOS.launch()
    with SetWorkflowID(RUN):
        handle = DBOS.start_workflow(berths, dump_session([Message.user("Book three berths.")]))
    (folder / "run").write_bytes(handle.get_result(polling_interval_sec=0.01))
    os._exit(0)  # DBOS.destroy would wait for its threads


def turns(messages: Any) -> int:
    return sum(message.role == "assistant" for message in messages)


def database(folder: Path) -> str:
    return f"sqlite:///{folder}/dbos.sqlite"


# --- the tests ------------------------------------------------------------------------------------

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload([__name__])
"""Processes that find everything imported, which takes longer than a run."""


@pytest.fixture(autouse=True)
def path(monkeypatch: pytest.MonkeyPatch) -> None:
    """The path of this module, for the process that the others are forks of."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))


def answer(request: Any) -> dict[str, Any]:
    """What the model says to the results in the request: two calls, one call, a text."""
    body = request.body.decode()
    if "berth 7 in Camaret" in body:
        return {"say": {"text": "All is booked.", "thoughts": "Three berths."}}
    ports = ("Camaret",) if "berth 7" in body else ("Brest", "Roscoff")
    calls = [{"name": "book", "args": {"port": port}} for port in ports]
    return {"say": {"calls": calls, "thoughts": "Which ports?"}}


class Run:
    """One run, in one process after the other."""

    def __init__(self, folder: Path, model: str, **limits: Any) -> None:
        folder.mkdir(exist_ok=True)
        self.folder, self.model, self.limits = folder, model, limits
        # The second of two calls that run at once ends last with one model, first with the other.
        first = ("Brest", "Roscoff") if "gemini" in model else ("Roscoff", "Brest")
        self.ports = (*first, "Camaret")

    def __enter__(self) -> Run:
        self.stack = ExitStack()
        self.server = self.stack.enter_context(serve(Emulator(answer)))
        return self

    def __exit__(self, *raised: Any) -> None:
        self.stack.__exit__(*raised)

    def work(self, point: str = "") -> None:
        self.start(point)
        self.end()

    def start(self, point: str = "") -> None:
        given = (self.model, self.server.url, self.folder, self.ports, self.limits, point)
        self.code = -signal.SIGKILL if point else 0
        self.process = FORKS.Process(target=work, args=given)
        self.process.start()

    def end(self) -> None:
        self.process.join(60)
        code = self.process.exitcode
        self.process.kill()  # one that waits for what does not come
        assert code == self.code

    @property
    def asked(self) -> int:
        return len(self.server.requests)

    def booked(self) -> list[str]:
        path = self.folder / "booked"
        return path.read_text().splitlines() if path.exists() else []

    def saved(self) -> list[tuple[str, Any]]:
        """The steps that DBOS has kept, as name and output."""
        client = DBOSClient(system_database_url=database(self.folder))
        try:
            steps = client.list_workflow_steps(RUN)
        finally:
            client.destroy()
        return [(step["function_name"], step["output"]) for step in steps]

    def check(self, twice: Sequence[str] = ()) -> None:
        """Compare the run with one that nobody killed; the calls for `twice` were done twice."""
        state = load_run((self.folder / "run").read_bytes())
        assert history.check([*state.messages, Message.user("Thank you.")]) == []
        assert (state.reason, state.asked) == ("end", 3)
        _, first, results, second, result, last = state.messages
        assert [each.answer for message in (results, result) for each in message.tool_results] == [
            {"result": f"berth 7 in {port}"} for port in ("Brest", "Roscoff", "Camaret")
        ]
        assert last.text == "All is booked."
        # Each call was done with the arguments and the id of the reply that was kept.
        calls = [(call.arguments["port"], call.id) for call in first.tool_calls + second.tool_calls]
        assert Counter(self.booked()) == {f"{port} {id}": 1 + (port in twice) for port, id in calls}
        # What was received is kept byte by byte, and was sent back to the model.
        received = [(self.folder / f"received {turn}").read_bytes() for turn in range(3)]
        assert [message.origin.raw for message in (first, second, last)] == received
        body = self.server.requests[-1]["body"]
        sent = body.get("contents") or body.get("messages")
        assert [each for each in sent if each["role"] in ("model", "assistant")] == [
            json.loads(raw) for raw in received[:2]
        ]


@pytest.mark.parametrize("model", MODELS)
def test_a_run(model: str, tmp_path: Path) -> None:
    with Run(tmp_path, model) as run:
        run.work()
        run.check()
        names = [name.split()[0] for name, _ in run.saved()]
        assert names == ["ask", "book", "book", "ask", "book", "ask"]
        # A run with the same id has the result that was saved.
        run.work()
        run.check()
        assert run.asked == 3


# The order in which two calls end, which is another with each model, matters in the first turn.
@pytest.mark.parametrize(("model", "points"), [(MODELS[0], POINTS), (MODELS[1], POINTS[:7])])
def test_a_kill_at_each_point(model: str, points: Sequence[str], tmp_path: Path) -> None:
    with ExitStack() as stack:
        runs = {point: stack.enter_context(Run(tmp_path / point, model)) for point in points}
        # At the same time: DBOS takes up a run after a second, in which there is nothing to do.
        for point, run in runs.items():
            run.start(point)
        for run in runs.values():
            run.end()
        before = {point: (run.booked(), run.saved(), run.asked) for point, run in runs.items()}
        for run in runs.values():
            run.start()
        for run in runs.values():
            run.end()
        for point, run in runs.items():
            check_resumed(run, point, *before[point])


def check_resumed(run: Run, point: str, booked: list[str], saved: list[Any], asked: int) -> None:
    """Compare a run with what it was when it was killed at the point."""
    kind, number = point.split()
    # Only what was under way is done twice.
    run.check(twice=[run.ports[int(number)]] if kind == "ends" else ())
    assert run.asked == 3 + (kind == "received"), point
    # What had ended is as it was, and is not done again.
    assert all(step in run.saved() for step in saved), point
    names = [name for name, _ in saved]
    assert run.asked - asked == 3 - names.count("ask"), point
    again = {f"book {line.split()[1]}" for line in run.booked()[len(booked) :]}
    assert again.isdisjoint(names), point


def test_a_run_that_is_killed_again_and_again(tmp_path: Path) -> None:
    with Run(tmp_path, MODELS[0]) as run:
        for point in ("ends 0", "received 1", "answered 1"):
            run.work(point)
        run.work()
        run.check(twice=run.ports[:1])
        assert run.asked == 4


@pytest.mark.parametrize("model", MODELS)
def test_the_cost_of_replies_that_were_kept_counts(model: str, tmp_path: Path) -> None:
    with Run(tmp_path, model, max_cost=1e-6) as run:
        run.work("answered 0")
        run.work()
        state = load_run((tmp_path / "run").read_bytes())
        assert (state.reason, state.asked, run.asked) == ("max_cost", 1, 1)
