"""A program that tests kill: an agent that is compacted all the time, and saves its run.

`python killed_session.py FOLDER STYLE` resumes the run of the folder if there is one, and ends it
once the folder has a file `stop`. It says `ready` when it begins.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio

from wire import Compaction, Message, Reply, Stop, ToolCall, Usage
from wire.agent import Agent, LLMAgent, RunState, read_run, save_run


class Model:
    """Counts its calls: those in the summary, and those after it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def ask(self, *, messages: Sequence[Message], **_: Any) -> Reply:
        summary = re.search(r"calls so far: (\d+)", messages[0].text)
        done = int(summary[1]) if summary else 0
        done += sum(len(message.tool_results) for message in messages)
        if messages[-1].text.startswith("Summarise"):
            said, stop = Message.assistant(f"calls so far: {done}"), Stop("end")
        elif (self._folder / "stop").exists():
            said, stop = Message.assistant(f"{done} calls."), Stop("end")
        else:
            said = Message.assistant(ToolCall(id=str(done), name="work", arguments={"at": done}))
            stop = Stop("tool_calls")
        tokens = 10 * len(messages)
        return Reply(said, stop, Usage(input=tokens, output=1, total=tokens + 1))

    stream = ask


class AsyncModel:
    def __init__(self, model: Model) -> None:
        self._model = model

    async def ask(self, **settings: Any) -> Reply:
        return self._model.ask(**settings)

    stream = ask


def work(at: int) -> str:
    """Work."""
    return f"the answer of {at}"


def main(folder: Path, style: str) -> str:
    path = folder / "run.json"

    def save(state: RunState) -> None:
        save_run(path, state)

    compaction = Compaction(trigger=100, keep=1)
    options: dict[str, Any] = {"tools": [work], "on_change": save, "compaction": compaction}
    if style == "threads":
        agent = Agent(Model(folder), **options)
        print("ready", flush=True)
        if path.exists():
            return agent.resume(read_run(path), max_steps=None).text
        return agent.run("Go.", max_steps=None).text

    async def run() -> str:
        agent = LLMAgent(AsyncModel(Model(folder)), **options)
        print("ready", flush=True)
        if path.exists():
            return (await agent.resume(read_run(path), max_steps=None)).text
        return (await agent.run("Go.", max_steps=None)).text

    return anyio.run(run, backend=style)


if __name__ == "__main__":
    print(main(Path(sys.argv[1]), sys.argv[2]))
