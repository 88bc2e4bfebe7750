"""A program that tests kill: an agent with three tools at once, which saves its run.

`python killed_agent.py FOLDER STYLE TURNS` resumes the run of the folder if there is one. It says
`ready`, and logs in the folder: `began` and `ended` have the calls whose tools began, and came to
their last act, with the time of the machine in seconds; `requests` has, for each process, the
results in its first request.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

import anyio
import msgspec

from wire.agent import Agent, LLMAgent, RunState, read_run, save_run
from wire.neutral.messages import Message, Reply, Stop, ToolCall

TURN = 3
"""Calls of a turn."""


class Log:
    """A file to which threads append lines."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def write(self, line: str) -> None:
        os.write(self._descriptor, f"{line}\n".encode())


class Model:
    """Asks for three calls in each turn, and for nothing after the last one."""

    def __init__(self, folder: Path, turns: int) -> None:
        self._requests, self._turns = Log(folder / "requests"), turns
        self._first = True

    def ask(self, *, messages: Any, **settings: Any) -> Reply:
        results = [result for message in messages for result in message.tool_results]
        if self._first:
            self._first = False
            self._requests.write(
                msgspec.json.encode({each.id: each.answer for each in results}).decode()
            )
        turn = len(results) // TURN
        if turn >= self._turns:
            return Reply(Message.assistant("Done."), Stop("end"))
        calls = [
            ToolCall(id=f"{turn}-{each}", name="work", arguments={"id": f"{turn}-{each}"})
            for each in range(TURN)
        ]
        return Reply(Message.assistant(*calls), Stop("tool_calls"))

    stream = ask


class AsyncModel:
    def __init__(self, model: Model) -> None:
        self._model = model

    async def ask(self, **settings: Any) -> Reply:
        return self._model.ask(**settings)

    stream = ask


def main(folder: Path, style: str, turns: int) -> str:
    began, ended = Log(folder / "began"), Log(folder / "ended")
    path = folder / "run.json"

    def work(id: str) -> str:
        """Work for a while."""
        began.write(id)
        if style == "one by one" and id == "0-1":
            assert {each.id for each in read_run(path).open_calls} == {"0-1", "0-2"}
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(Random(id).choice([0.0, 0.01, 0.3]))
        answer = f"the answer of {id}"
        ended.write(f"{id} {time.monotonic()}")
        return answer

    def save(state: RunState) -> None:
        save_run(path, state)

    question = "Go. " * 1_000_000  # so that a whole run takes time to save
    model = Model(folder, turns)
    options: dict[str, Any] = {"tools": [work], "on_change": save}
    if style == "one by one":
        options["max_parallel_tools"] = 1
    if style in ("threads", "one by one"):
        agent = Agent(model, **options)
        print("ready", flush=True)
        if path.exists():
            return agent.resume(read_run(path), max_steps=None).text
        return agent.run(question, max_steps=None).text

    async def run() -> str:
        agent = LLMAgent(AsyncModel(model), **options)
        print("ready", flush=True)
        if path.exists():
            return (await agent.resume(read_run(path), max_steps=None)).text
        return (await agent.run(question, max_steps=None)).text

    return anyio.run(run, backend=style)


if __name__ == "__main__":
    print(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])))
