"""Runs with each feature of agents, killed at any moment: nothing runs twice, nothing is lost.

The slow ones kill a run of each feature 52 times, 13 on each wire.
"""

from __future__ import annotations

import importlib.util
import json
import time
from pathlib import Path
from random import Random

import pytest

from tests.agent import killed_feature
from tests.agent.test_killed_runs import IN_FLIGHT, MANY, Killed
from wire.agent import RunState, read_run
from wire.agent.steps import INTERRUPTED
from wire.history import check
from wire.neutral.deferred import FIND_TOOLS
from wire.neutral.messages import Message, Other, ToolResult

MODELS = [
    "gemini:gemini-3.8-flash",
    "openai@chat:gpt-4.1",
    "openai@responses:gpt-5.6",
    "anthropic:claude-opus-5",
]
SEARCHES = SUMMARISES = MODELS[:2]
"""Models whose host has no search for tools, and no compaction: the agent does both."""
STYLES = ["threads", "asyncio", "trio"]
FEATURES = ["typed", "steering", "early", "compaction", "deferred", "mcp"]
WAIT = 20
"""Seconds; a test that waits so long fails."""

pytestmark = pytest.mark.processes


class Judge:
    """What is known of a run after each kill, and what must then hold."""

    def __init__(self, folder: Path, feature: str, model: str) -> None:
        self.path, self.feature, self.model = folder / "run.json", feature, model
        self.run = Killed(folder, program=killed_feature.__file__)
        self.folder = killed_feature.Folder(folder, feature, model)
        self.before: RunState | None = None
        self.moments: list[float] = []
        self.in_flight: set[str] = set()
        self.open_calls = self.found = 0

    def kill(self, dice: Random) -> None:
        self.run.arguments = (self.feature, self.model, dice.choice(STYLES))
        requests, searches = len(self.run.log("requests")), len(self.run.log("searches"))
        self.moments.append(self.run.kill("ended", dice.randrange(6), dice.uniform(0.0, 0.1)))
        self.judge(requests, searches)

    def end(self) -> None:
        (self.path.parent / "stop").touch()
        requests, searches = len(self.run.log("requests")), len(self.run.log("searches"))
        self.run.end(b"Sum(total=7)\n" if self.feature == "typed" else b"Done.\n")
        self.judge(requests, searches)
        assert self.before is not None
        assert (self.before.reason, self.before.open_calls) == ("end", ())

    def judge(self, requests: int, searches: int) -> None:
        if not self.path.exists():  # killed before the run was saved, before anything was done
            assert self.before is None
            assert self.run.log("asked") == self.run.log("began") == self.run.log("sent") == []
            return
        state = read_run(self.path)
        began = self.run.log("began")
        assert len(began) == len(set(began))  # no tool ran twice
        results = self.results(state)
        self.judge_results(results)
        if self.before is not None:
            # The last message may grow: a reply that is streamed, or the results of a turn.
            kept = len(self.before.messages) - 1
            assert state.messages[:kept] == self.before.messages[:kept]
            before = {id for id, each in self.results(self.before).items() if not each.error}
            assert before <= results.keys()
            if self.feature != "compaction":
                for line in self.run.log("requests")[requests:]:
                    assert before <= set(json.loads(line))
        getattr(self, f"judge_{self.feature}", lambda *_: None)(state, searches)
        sent = state.messages
        if state.compacted is not None:
            sent = state.compacted.applied(sent)
        errors = [each.rule for each in check(sent) if each.severity == "error"]
        assert errors == ["H3"] * len(state.open_calls)  # a call that was killed has no result yet
        self.open_calls += len(state.open_calls)
        self.before = state

    @staticmethod
    def results(state: RunState) -> dict[str, ToolResult]:
        """The results of the tool `work`, by the numbers of its calls."""
        calls = {call.id: call for message in state.messages for call in message.tool_calls}
        found = [each for message in state.messages for each in message.tool_results]
        assert len(found) == len({each.id for each in found})
        return {calls[each.id].arguments["id"]: each for each in found if each.name == "work"}

    def judge_results(self, results: dict[str, ToolResult]) -> None:
        for id, ended in (line.split() for line in self.run.log("ended")):
            result = results.get(id)
            if result is not None and not result.error:
                assert result.content == self.folder.answer(id)
                continue
            assert result is None or result.content == INTERRUPTED
            since = [moment - float(ended) for moment in self.moments]
            # The server of `mcp` ends calls of a client that was killed, too.
            if not (self.feature == "mcp" and any(-IN_FLIGHT < each < 0 for each in since)):
                assert any(0 < each < IN_FLIGHT for each in since), id
                self.in_flight.add(id)

    def judge_typed(self, state: RunState, _: int) -> None:
        messages = [each for each in state.messages if each.role != "tool"]
        misfits = [each.text.startswith("No JSON") for each in messages]
        for index, misfit in enumerate(misfits):
            assert not misfit or "Answer again" in messages[index + 1].text
        last = 0
        while last < len(misfits) // 2 and misfits[-2 * last - 2]:
            last += 1
        assert state.misfits == last
        self.found = sum(misfits)

    def judge_steering(self, state: RunState, _: int) -> None:
        """What `send` has returned from is in the run, once and in order."""
        both = [each for each in (*state.messages, *state.inbox) if each.role == "user"]
        joined = [int(each.text.removeprefix("Message ").rstrip(".")) for each in both[1:]]
        assert joined == sorted(set(joined))
        assert {int(each) for each in self.run.log("sent")} <= set(joined)
        assert set(joined) <= {int(each) for each in self.run.log("sending")}
        self.found = len(joined)

    def judge_compaction(self, state: RunState, _: int) -> None:
        if self.model in SUMMARISES:
            old = self.before and self.before.compacted
            self.found = state.compacted.count if state.compacted else 0
            assert (old.count if old else 0) <= self.found <= len(state.messages)
        else:
            parts = [part for message in state.messages for part in message.parts]
            others = [each for each in parts if isinstance(each, Other)]
            self.found = [each.kind for each in others].count("compaction")

    def judge_deferred(self, state: RunState, searches: int) -> None:
        """A search whose result was saved is never made again."""
        if self.before is not None and _has_found(self.before.messages):
            assert len(self.run.log("searches")) == searches
        self.found = len(self.run.log("searches"))
        assert self.found == 0 or self.model in SEARCHES

    def servers(self) -> list[int]:
        """Processes of MCP servers that are still there."""
        return [int(pid) for pid in self.run.log("servers") if Path(f"/proc/{pid}").exists()]


def _has_found(messages: tuple[Message, ...]) -> bool:
    return any(each.name == FIND_TOOLS for message in messages for each in message.tool_results)


@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize(
    ("model", "kills"),
    [
        (MODELS[0], 3),
        *(pytest.param(model, 13, marks=pytest.mark.slow) for model in MODELS),
    ],
)
def test_no_result_and_no_message_is_lost_by_a_kill(
    tmp_path: Path, feature: str, model: str, kills: int
) -> None:
    if feature == "mcp" and importlib.util.find_spec("mcp_types") is None:
        pytest.skip("the official SDK 2 is not installed")
    dice, judge = Random(f"{feature} {model} {kills}"), Judge(tmp_path, feature, model)
    for _ in range(kills):
        judge.kill(dice)
    judge.end()
    state = judge.before
    assert state is not None
    figures = {
        "kills": kills,
        "replies": len(judge.run.log("asked")),
        "messages": len(state.messages),
        "ended": len(judge.run.log("ended")),
        "in flight at a kill": len(judge.in_flight),
        "open after kills": judge.open_calls,
        "found": judge.found,
    }
    print(feature, model, figures)
    assert len(judge.run.log("ended")) >= kills
    # A result of an MCP server passes through two processes before the agent can save it.
    assert kills < MANY or feature == "mcp" or len(judge.in_flight) <= kills // 4
    assert judge.found > 0 or feature in ("early", "mcp") or model not in SEARCHES
    deadline = time.monotonic() + WAIT
    while judge.servers():
        assert time.monotonic() < deadline
        time.sleep(0.01)
