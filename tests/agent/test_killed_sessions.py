"""Agents that are compacted all the time and killed at any moment: no message is lost."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

from tests.agent import killed_session
from wire.agent import RunState, read_run
from wire.history import check

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.processes


def started(folder: Path, style: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, killed_session.__file__, str(folder), style]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


def results_of(state: RunState) -> list[str]:
    """The ids of the calls with results, checked to be those of all messages of the model."""
    called = [call.id for message in state.messages for call in message.tool_calls]
    answered = [each.id for message in state.messages for each in message.tool_results]
    open_calls = [call.id for call in state.open_calls]
    assert called == [*answered, *open_calls] == [str(number) for number in range(len(called))]
    assert state.messages[0].text == "Go."
    return answered


@pytest.mark.parametrize(
    ("style", "kills"),
    [
        ("threads", 3),
        *(
            pytest.param(style, kills, marks=pytest.mark.slow)
            for style, kills in (("threads", 17), ("asyncio", 17), ("trio", 16))
        ),
    ],
)
def test_no_message_of_a_compacted_run_is_lost_by_a_kill(
    tmp_path: Path, style: str, kills: int
) -> None:
    dice, path = Random(kills), tmp_path / "run.json"
    answered: list[str] = []
    compacted = 0
    for _ in range(kills):
        with started(tmp_path, style) as process:
            begun = time.monotonic()
            while not path.exists() or len(results_of(read_run(path))) < len(answered) + 8:
                assert process.poll() is None
                assert time.monotonic() - begun < 60
                time.sleep(0.01)
            time.sleep(dice.uniform(0.0, 0.1))  # killed at any moment after that
            process.kill()
        state = read_run(path)
        now = results_of(state)
        assert now[: len(answered)] == answered
        assert state.compacted is not None
        assert compacted <= state.compacted.count <= len(state.messages)
        sent = state.compacted.applied(state.messages)
        assert len(sent) < 20  # messages
        errors = [each.rule for each in check(sent) if each.severity == "error"]
        assert errors == ["H3"] * len(state.open_calls)  # a call that was killed has no result yet
        answered, compacted = now, state.compacted.count
    assert len(answered) >= 8 * kills
    (tmp_path / "stop").touch()
    with started(tmp_path, style) as process:
        assert process.stdout is not None
        said = process.stdout.read().decode()
        assert process.wait(60) == 0
    state = read_run(path)
    assert said == f"{len(results_of(state))} calls.\n"
    assert compacted > 2 * 8
