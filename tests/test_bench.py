"""The goals, the page and the pictures of `make bench`, and that its clients do the same work."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import importlib
import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench import __main__ as runner
from bench import bodies, bulk, measuring, page
from bench.bars import Bar, svg
from bench.client import Run
from bench.figures import ratio
from bench.goals import GOALS, Goal, verdict
from bench.implementations import IMPLEMENTATIONS, LIMIT, NotInstalled, chosen
from bench.measuring import Report, Worker, other_work, rounds
from bench.parts import PARTS, client_of, timed
from bench.parts import Plan as Part
from bench.profiles import summed
from bench.reasons import REASONS
from bench.suites import SUITES
from tests.joined import joined

ROOT = Path(__file__).parent.parent


def measured(suite: str, **cases: dict[str, list[float | None]]) -> dict[str, Any]:
    """CPU of the clients in each case of one suite."""
    figures = {case: {"cpu": clients} for case, clients in cases.items()}
    return {
        "python": "3.11.7",
        "cores": 2,
        "versions": {"httpx": "0.28.1"},
        "refused": {"wire-fast": "httptools is not installed"},
        "suites": {suite: {"date": "2026-11-23", "figures": figures}},
    }


def test_a_ratio_is_taken_inside_each_round():
    # The second round was three times as slow for both.
    assert ratio([2.0, 6.0, 2.2], [1.0, 3.0, 1.0]) == 2.0
    assert ratio([2.0, None, 3.0], [1.0, 1.0, 1.0]) == 2.5
    assert ratio([2.0], []) is None


@joined(
    ("goal", "word", "text"),
    [
        (Goal("burst", "wire", 3.9), "met", "2.0 / 3.0"),
        (Goal("burst", "wire", 2.9), "missed", "2.0 / 3.0"),
        (Goal("burst", "wire", 2.9, cases=("gemini",)), "met", "2.0"),
        (Goal("burst", "wire", 0.1, "openai"), "met", "0.10"),
        (Goal("burst", "wire", 2e-6, ""), "missed", "2.0 µs / 3.0 µs"),
        (Goal("burst", "wire", 1.4, "wire", cases=("chat",), base_case="gemini"), "missed", "1.50"),
        (Goal("burst", "wire", 3.0, is_least=True), "missed", "2.0 / 3.0"),
        (Goal("burst", "wire", 2.0, is_least=True), "met", "2.0 / 3.0"),
        (Goal("burst", "wire-fast", 1.8), "not measured", "–"),
        (Goal("burst", "wire", 1.0, measure="memory"), "not measured", "–"),
    ],
)
def test_the_worst_case_decides_whether_a_goal_is_met(goal, word, text):
    found = measured(
        "burst",
        gemini={LIMIT: [1e-6], "wire": [2e-6]},
        chat={LIMIT: [1e-6], "wire": [3e-6], "openai": [30e-6]},
    )
    got = verdict(goal, found)
    assert (got.word, got.text) == (word, text)


def test_time_is_compared_with_that_of_the_server():
    found = measured("streams-200", gemini={})
    found["suites"]["streams-200"]["figures"]["gemini"]["wall"] = {"wire": [1.2, 1.3]}
    goal = Goal("streams-200", "wire", 1.35, "ideal", "wall")
    assert verdict(goal, found, ideal=1.0).found == {"gemini": 1.25}


def test_each_goal_is_of_a_suite_and_of_clients_that_exist():
    assert {goal.suite for goal in GOALS} <= SUITES.keys()
    whole = {(goal.suite, goal.client, goal.base, goal.measure, goal.cases) for goal in GOALS}
    assert len(whole) == len(GOALS)  # or two goals of the same figure would contradict each other
    assert {SUITES[goal.suite].ideal > 0 for goal in GOALS if goal.base == "ideal"} == {True}


def test_the_page_keeps_its_prose_and_makes_its_sections_anew():
    found = measured(
        "burst",
        gemini={LIMIT: [1e-6], "wire": [2e-6], "google-genai": [70e-6]},
        chat={LIMIT: [1e-6], "wire": [5e-6]},
    )
    before = "# Speed\n\n<!-- measured: run -->\nold\n<!-- end -->\n\nProse.\n"
    after = page.written(before + "<!-- measured: figures -->\n<!-- end -->\n", found)
    assert page.written(after, found) == after
    assert after.startswith(
        "# Speed\n\n<!-- measured: run -->\n\nMeasured on 2026-11-23 with Python"
    )
    assert "Without `wire-fast`: httptools is not installed." in after
    assert "<!-- end -->\n\nProse.\n" in after
    assert "old" not in after
    assert "| `wire` | 2.0 (2.0 µs) | 5.0 (5.0 µs) |" in after
    assert "| `google-genai` | 70 (70 µs) | – |" in after


def test_the_page_and_the_pictures_show_the_last_figures():
    last = page.last_measured()
    text = page.PAGE.read_text("utf-8")
    assert page.written(text, last) == text
    drawn = page.pictures(last)
    assert drawn
    assert drawn == {name: (page.PICTURES / name).read_text("utf-8") for name in drawn}
    assert set(page.missed_suites(last)) <= REASONS.keys() <= SUITES.keys()


def test_a_bar_is_as_long_as_its_logarithm_and_a_goal_is_marked():
    drawn = ElementTree.fromstring(
        svg("CPU & more", {"Gemini": [Bar("wire", 10.0, 5.0), Bar("litellm", 100.0)]})
    )
    name = "{http://www.w3.org/2000/svg}"
    short, long = (float(bar.get("width", "")) for bar in drawn.iter(f"{name}rect"))
    assert long == pytest.approx(2 * short, abs=0.2)
    assert drawn.findtext(f"{name}title") == "CPU & more"
    marks = [each for each in drawn.iter(f"{name}path") if each.get("stroke-width") == "3"]
    assert len(marks) == 1


def test_names_are_chosen_by_pattern():
    assert chosen(["raw", "wire", "wire-fast"], []) == ["raw", "wire", "wire-fast"]
    assert chosen(["raw", "wire", "wire-fast"], ["wire*"]) == ["wire", "wire-fast"]
    with pytest.raises(SystemExit, match="httpy: expected raw, wire"):
        chosen(["raw", "wire"], ["raw", "httpy"])


def test_a_client_with_other_characters_is_named():
    right: list[dict[str, Any] | None] = [{"chars": 7}, None]
    assert other_work({LIMIT: right, "wire": [{"chars": 7}]}) == {}
    told = other_work({LIMIT: right, "wire": [{"chars": 7}, {"chars": 6}], "httpx": []})
    assert told == {"wire": "expected [7] characters, got [6, 7]"}
    assert other_work({LIMIT: right, "wire": [{"errors": 2}]}) == {}


def test_a_function_in_c_counts_for_what_called_it():
    reader = (f"{ROOT}/wire/core/reading.py", 1, "feed")
    send = (f"{ROOT}/wire/http/aio.py", 1, "send")
    h11 = ("/lib/python3.11/site-packages/h11/_connection.py", 1, "next_event")
    length = ("~", 0, "<built-in method builtins.len>")
    decode = ("~", 0, "<method 'decode' of 'msgspec._core.JSONDecoder' objects>")
    found = summed(
        {
            reader: (1, 1, 3.0, 3.0, {}),
            send: (1, 1, 1.0, 1.0, {}),
            h11: (1, 1, 2.0, 2.0, {}),
            decode: (1, 1, 1.0, 1.0, {reader: (1, 1, 1.0, 1.0)}),
            length: (2, 2, 3.0, 3.0, {reader: (1, 1, 1.0, 1.0), h11: (1, 1, 2.0, 2.0)}),
        }
    )
    assert {group: share for group, share in found.items() if share} == {
        "wire": 0.4,
        "wire.http": 0.1,
        "msgspec": 0.1,
        "httpx": 0.4,
    }


class Recorded:
    """In place of the process of a client: records commands, and fails from one of them on."""

    def __init__(self, name: str, told: list[str], fails_at: int = 99) -> None:
        self.name, self.implementation, self._told = name, IMPLEMENTATIONS[name], told
        self._left = fails_at

    def told(self, command: dict[str, Any]) -> dict[str, Any]:
        self._told.append(f"{self.name} {command['do']}")
        self._left -= 1
        return {"error": "broken"} if self._left < 0 else {"chars": 7, "cpu": 0.5}


def test_a_round_goes_through_all_clients_and_other_libraries_have_fewer():
    told: list[str] = []
    report = Report()
    members: Any = [
        Recorded("raw", told),
        Recorded("wire", told, fails_at=2),
        Recorded("openai", told),
    ]
    answers = rounds(members, {"do": "ask"}, {"do": "warm"}, 3, 1, report)
    assert told == [
        *("raw warm", "wire warm", "openai warm"),
        *("raw ask", "wire ask", "openai ask"),
        *("raw ask", "wire ask"),
        "raw ask",
    ]
    good = {"chars": 7, "cpu": 0.5}
    assert answers["raw"] == [good, good, good]
    assert answers["wire"] == [good, None, None]
    assert answers["openai"] == [good, None, None]
    assert report.failed == ["wire, {'do': 'ask'}: broken"]


def test_streams_that_fail_are_counted_and_cost_nothing():
    class Failing(Recorded):
        def told(self, command: dict[str, Any]) -> dict[str, Any]:
            return {**super().told(command), "errors": 3, "first": "ReadError: cut"}

    told: list[str] = []
    report = Report()
    members: Any = [Recorded("raw", told), Failing("wire", told)]
    answers = rounds(members, {"do": "streams"}, {"do": "warm"}, 1, 1, report)
    assert answers["wire"] == [{"errors": 3}]
    assert report.failed == [
        "wire, {'do': 'warm'}: 3 failed, the first with ReadError: cut",
        "wire, {'do': 'streams'}: 3 failed, the first with ReadError: cut",
    ]


@pytest.fixture
def in_this_environment(monkeypatch):
    """Clients run with the Python of the tests, so that nothing is installed."""
    monkeypatch.setattr(measuring, "python_of", lambda _: sys.executable)


def test_a_client_that_has_ended_fails_and_the_others_go_on(base_url, in_this_environment):
    command = {"do": "ask", "model": "answer-1kb", "wire": "chat"}
    with contextlib.ExitStack() as stack:
        members = [Worker(IMPLEMENTATIONS[name], base_url) for name in ("wire", "raw")]
        for each in members:
            stack.callback(each.stop)
            assert "chat" in each.answer()["wires"]
        members[0].stop()
        report = Report()
        found = rounds(members, command, command, 1, 1, report)
    assert found["wire"] == [None]
    said = json.loads(bodies.answer_1kb("chat"))["choices"][0]["message"]["content"]
    assert found["raw"][0]["chars"] == len(said)
    assert report.failed == [f"wire, {command}: the process ended"]


def test_a_suite_that_fails_costs_no_other_one(monkeypatch, capsys):
    def broken(*_: object) -> Any:
        raise OSError("no server")

    def whole(clients: Any, most: Any, report: Report) -> Any:
        return {"chat": {"cpu": {client: [1e-6] for client in clients}}}

    def python_of(environment: str) -> str:
        if environment == "litellm":
            raise NotInstalled("pip cannot install litellm")
        return sys.executable

    written: list[Any] = []
    suites = {
        name: dataclasses.replace(SUITES[name], run=run)
        for name, run in (("burst", broken), ("paced", whole))
    }
    monkeypatch.setattr(runner, "SUITES", suites)
    monkeypatch.setattr(runner, "write", written.append)
    monkeypatch.setattr(runner, "versions", dict)
    monkeypatch.setattr(runner, "python_of", python_of)
    monkeypatch.setattr(runner, "last_measured", lambda: {"suites": {}, "refused": {}})
    monkeypatch.setattr(sys, "argv", ["bench"])
    assert runner.main() == 1
    assert [list(each["suites"]) for each in written] == [["paced"]]
    kept = written[0]["suites"]["paced"]
    assert kept["figures"]["chat"]["cpu"].keys() == IMPLEMENTATIONS.keys() - {"litellm"}
    assert kept["commit"] == runner.commit()
    assert written[0]["refused"] == {"litellm": "pip cannot install litellm"}
    assert "burst: OSError: no server" in capsys.readouterr().out


def test_the_rest_is_what_a_commit_has_no_figures_of():
    found = measured("burst", gemini={})
    found["suites"]["burst"]["commit"] = "1a2b3c4d"
    assert runner.rest(["burst", "paced"], found, "1a2b3c4d") == ["paced"]
    assert runner.rest(["burst", "paced"], found, "5e6f7a8b") == ["burst", "paced"]


def test_suites_of_two_runs_each_say_which():
    found = measured("burst", gemini={LIMIT: [1e-6]})
    found["suites"]["burst"]["commit"] = "1a2b3c4d"
    text = "<!-- measured: run -->\n<!-- end -->\n<!-- measured: figures -->\n<!-- end -->\n"
    one = page.written(text, found)
    assert "Measured on 2026-11-23 at 1a2b3c4d with Python" in one
    assert one.count("Measured on") == 1
    found["suites"]["paced"] = {**found["suites"]["burst"], "commit": "5e6f7a8b"}
    both = page.written(text, found)
    assert "in parts, on 2026-11-23 at 1a2b3c4d and 2026-11-23 at 5e6f7a8b, as each" in both
    assert "as fast as it is read. Measured on 2026-11-23 at 1a2b3c4d." in both


@pytest.mark.parametrize("wire", bodies.WIRES)
def test_packets_are_the_stream_cut_anywhere(wire):
    events = bodies.events(wire, 40)
    packets = bodies.packets(events)
    assert b"".join(packets) == b"".join(events)
    assert len(packets) < len(events)
    ends = {len(b"".join(events[: place + 1])) for place in range(len(events))}
    sent = [len(b"".join(packets[: place + 1])) for place in range(len(packets))]
    assert any(end not in ends for end in sent)


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    server = subprocess.Popen(
        [sys.executable, "-m", "bench.server"], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    with server:
        yield f"http://127.0.0.1:{int(server.stdout.readline())}"
        server.kill()


COMMANDS = {
    "burst": {"do": "stream", "model": "burst-20"},
    "paced": {"do": "stream", "model": "paced-8"},
    "1kb": {"do": "ask", "model": "answer-1kb", "times": 2},
    "5mb": {"do": "ask", "model": "answer-5mb"},
    "history": {"do": "converse", "turns": 30},
    "again": {"do": "again", "turns": 30, "times": 2},
    "timed": {"do": "streams", "model": "timed-3-1", "times": 2},
}


def counted(name: str, base_url: str) -> dict[tuple[str, str], tuple[int, int]]:
    """Chunks and characters of each command on each wire, by a client in this process."""
    client = IMPLEMENTATIONS[name]
    kind: Any = getattr(importlib.import_module(f"bench.adapters.{client.module}"), client.kind)
    found = {}

    async def in_loop() -> None:
        adapter = kind(base_url, client.http)
        for wire in bodies.WIRES:
            for command, given in COMMANDS.items():
                run = Run(adapter, {**given, "wire": wire})
                if given["do"] == "again":
                    await run.in_loop()
                await run.in_loop()
                found[wire, command] = run.chunks, run.chars
        await adapter.close()

    if not client.on_threads:
        asyncio.run(in_loop())
        return found
    adapter = kind(base_url, client.http)
    for wire in bodies.WIRES:
        for command, given in COMMANDS.items():
            if command != "timed":
                run = Run(adapter, {**given, "wire": wire})
                if given["do"] == "again":
                    run.in_thread()
                run.in_thread()
                found[wire, command] = run.chunks, run.chars
    adapter.close()
    return found


@pytest.fixture(scope="module")
def of_the_limit(base_url: str) -> dict[tuple[str, str], tuple[int, int]]:
    return counted(LIMIT, base_url)


def test_the_limit_reads_all_that_the_server_plays(of_the_limit):
    chars = {key: chars for key, (_, chars) in of_the_limit.items()}
    assert chars["messages", "5mb"] == chars["chat", "5mb"] == bodies.IMAGE_BYTES * 4 // 3
    assert {chars[wire, "history"] for wire in bodies.WIRES} == {31}
    assert {chars[wire, "again"] for wire in bodies.WIRES} == {33 + 35}
    text = [json.loads(each) for each in bodies.payloads("messages", 20)]
    said = [each["delta"]["text"] for each in text if each["type"] == "content_block_delta"]
    assert of_the_limit["messages", "burst"] == (20, len("".join(said)))


@pytest.mark.parametrize(
    "name",
    [
        # A quick run has the first one.
        pytest.param(name, marks=[pytest.mark.slow] * bool(number))
        for number, name in enumerate(
            [name for name, each in IMPLEMENTATIONS.items() if each.environment == "wire"][1:]
        )
    ],
)
def test_each_client_does_the_same_work(name, base_url, of_the_limit):
    found = counted(name, base_url)
    assert {key: chars for key, (_, chars) in found.items()} == {
        key: of_the_limit[key][1] for key in found
    }
    assert len(found) >= 15


@pytest.mark.parametrize(
    ("suite", "client"),
    [
        # A quick run has the first client, which is not the limit, of every second suite.
        pytest.param(suite, client, marks=pytest.mark.slow if number or place % 2 else ())
        for place, (suite, clients) in enumerate(PARTS.items())
        for number, client in enumerate(
            client
            for client in clients
            if IMPLEMENTATIONS[client_of(client)].environment == "wire" and client != LIMIT
        )
    ],
)
def test_each_part_does_the_same_work(suite, client):
    limit = {case: run() for case, (run, _) in PARTS[suite][LIMIT]().items()}
    found = {case: run() for case, (run, _) in PARTS[suite][client]().items()}
    assert found == limit
    assert all(amount > 0 for amount in found.values())


def test_a_part_that_did_other_work_has_no_figure(monkeypatch):
    amounts = {"raw": 7, "wire": 6, "wire-neutral": 7}
    monkeypatch.setattr(Part, "_run", lambda _, part, __: {"gemini": (1e-6, amounts[part])})
    report = Report()
    found = Part("echo").run(list(amounts), 1, report)
    assert found == {"gemini": {"cpu": {"raw": [1e-6], "wire-neutral": [1e-6]}}}
    assert report.failed == ["echo, wire, gemini: 6, not 7"]


def test_each_case_is_timed_after_one_run_that_is_not():
    runs = []

    def run():
        runs.append(len(runs))
        return 7

    assert {case: amount for case, (_, amount) in timed({"10": (run, 10)}, repeat=2).items()} == {
        "10": 7
    }
    assert runs == [0, 1, 2]


@pytest.mark.parametrize("program", [bulk.httpx_loop, bulk.wire_bulk])
def test_each_program_answers_all_rows(program, base_url, tmp_path):
    rows, to = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    bulk.write_rows(rows, 40)
    assert {len(line) for line in rows.read_bytes().splitlines(keepends=True)} == {1000}
    program(str(rows), str(to), f"{base_url}/v1")
    lines = [json.loads(line) for line in to.read_bytes().splitlines()]
    answers = [line for line in lines if "text" in line]
    assert sorted(line["row"] for line in answers) == list(range(1, 41))
    assert len({line["text"] for line in answers}) == 1
    assert bulk.answered(to) == 40


@pytest.mark.parametrize("name", ["wire-neutral", "wire-neutral-threads"])
def test_an_agent_makes_the_two_calls_that_it_is_compared_with(name, base_url, in_this_environment):
    worker = Worker(IMPLEMENTATIONS[name], base_url)
    try:
        worker.answer()
        found = {
            (wire, do): worker.told({"do": do, "wire": wire, "times": 2}).get("chars")
            for wire in bodies.WIRES
            for do in ("calls", "agent")
        }
    finally:
        worker.stop()
    said = json.loads(bodies.answer_1kb("chat"))["choices"][0]["message"]["content"]
    assert found == dict.fromkeys(found, 2 * len(said))
