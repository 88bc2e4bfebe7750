"""A program that tests kill: an agent with one feature, which saves its run.

`python killed_feature.py FOLDER FEATURE MODEL STYLE` resumes the run of the folder if there is one,
and ends it once the folder has a file `stop`. The model is emulated, and refuses what its vendor
does. The program says `ready`, and logs in the folder:

    asked      a line for each request, with the numbers of the calls in its reply
    began      the calls whose tools began
    ended      those that came to their last act, with the time of the machine in seconds
    requests   for each process, the numbers of the results in its first request
    searches   a line for each call of `find_tools` that the model asked for
    sending    messages that are about to be sent to the run
    sent       those that were sent
    servers    the processes of MCP servers
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread
import msgspec

from tests.agent.killed_agent import Log
from wire import AsyncChat, Chat, Compaction
from wire.agent import Agent, LLMAgent, RunState, read_run, save_run
from wire.errors import HistoryError, WireError
from wire.history import HistoryManager
from wire.neutral.request import Tool
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport
from wire.testing.emulator.received import Received
from wire.tools import mcp, tool

TRIGGERS = {"anthropic": 50_000}
"""Tokens from which on a conversation is compacted; 2,000 where it is not named."""
OTHERS = 200
"""Deferred tools beside the one that is wanted."""
MISFITS = 2
"""Answers in a row that do not fit the type of the run."""


class Sum(msgspec.Struct):
    """The type of a typed run."""

    total: int


class Folder:
    """The logs of a run."""

    def __init__(self, path: Path, feature: str, model: str) -> None:
        self.path, self.feature = path, feature
        self.trigger = TRIGGERS.get(model.partition(":")[0], 2_000)
        self._logs: dict[str, Log] = {}

    def lines(self, name: str) -> list[str]:
        file = self.path / name
        return file.read_text("utf-8").splitlines() if file.exists() else []

    def write(self, name: str, line: object) -> None:
        if name not in self._logs:
            self._logs[name] = Log(self.path / name)
        self._logs[name].write(str(line))

    def answer(self, id: str) -> str:
        """What the tool returns; long enough to be compacted after a few calls."""
        padding = " wave" * (self.trigger // 4) if self.feature == "compaction" else ""
        return f"the answer of {id}.{padding}"

    def work(self, id: str) -> str:
        """Work for a while."""
        self.write("began", id)
        time.sleep(Random(id).choice([0.0, 0.01, 0.1]))
        self.write("ended", f"{id} {time.monotonic()}")
        return self.answer(id)


# --- the model ------------------------------------------------------------------------------------


class Model:
    """The script of the emulator: calls of `work`, each with a number of its own."""

    def __init__(self, folder: Folder) -> None:
        self._folder, self._feature = folder, folder.feature
        self._turn = len(folder.lines("asked"))
        self._is_first = True

    def __call__(self, request: Received) -> dict[str, Any]:
        body = json.loads(request.body)
        text = request.body.decode()
        if "Summarise this conversation" in text[-2_000:]:
            return {"say": "All was well."}
        if self._is_first:
            self._is_first = False
            self._folder.write("requests", json.dumps(answers_of(text)))
        if (self._folder.path / "stop").exists():
            self._folder.write("requests", json.dumps(answers_of(text)))
            return {"say": '{"total": 7}' if self._feature == "typed" else "Done."}
        turn, self._turn = self._turn, self._turn + 1
        is_misfit = self._feature == "typed" and turn % 4 < MISFITS and _misfits(text) < MISFITS
        ids = [] if is_misfit else _ids(self._feature, turn)
        self._folder.write("asked", " ".join(ids))
        if not ids:
            return {"say": f"No JSON, {turn}."}
        if _must_search(body):
            self._folder.write("searches", turn)
            return {"say": {"calls": [{"name": "find_tools", "args": {"query": "work"}}]}}
        calls = [{"name": "work", "args": {"id": id}} for id in ids]
        said = f"The words before the calls of turn {turn}."
        return {"say": {"text": said, "calls": calls}, **_fault(self._feature, turn)}


def answers_of(text: str) -> list[str]:
    return re.findall(r"the answer of ([\d-]+)", text)


def _misfits(text: str) -> int:
    """Count the answers that did not fit since the last result.

    The number of the turn alone does not tell: a reply that a kill took away has one, too.
    """
    return len(set(re.findall(r"No JSON, (\d+)", text.rpartition("the answer of")[2])))


def _ids(feature: str, turn: int) -> list[str]:
    return [f"{turn}-{each}" for each in range(1 if feature == "compaction" else 3)]


def _must_search(body: dict[str, Any]) -> bool:
    """Whether the request has `find_tools`, and not yet the tool that it finds."""
    declared = json.dumps(body.get("tools"))
    return '"find_tools"' in declared and '"work"' not in declared


def _fault(feature: str, turn: int) -> dict[str, Any]:
    """Replies that pause on the way, so that calls run, and messages come, before their end."""
    dice = Random(turn)
    if feature == "early" and turn % 5 == 4:
        return {"fault": f"cut; after={dice.randrange(1, 12)}"}
    if feature in ("early", "steering"):
        return {"fault": f"stall; after={dice.randrange(1, 4)}; seconds=0.05"}
    return {}


# --- the agent ------------------------------------------------------------------------------------


def options_of(folder: Folder) -> dict[str, Any]:
    """What the feature gives to the agent."""
    work = tool(folder.work)
    if folder.feature == "deferred":
        rest = [Tool(f"crane_{at}", "Moves a crane.", deferred=True) for at in range(OTHERS)]
        return {"tools": [tool(folder.work, deferred=True), *rest]}
    return {
        "tools": [] if folder.feature == "mcp" else [work],
        **{
            "typed": {"output": Sum, "output_retries": MISFITS},
            "early": {"early_tools": True},
            "compaction": {"compaction": Compaction(trigger=folder.trigger, keep=1)},
        }.get(folder.feature, {}),
    }


class Sender(threading.Thread):
    """Sends messages with numbers to a run; some end the reply that is streamed.

    These are each third one, if a call has ended since the last of them: on a busy machine they
    would else come faster than whole replies, and no call would ever begin.
    """

    def __init__(self, folder: Folder, agent: Any) -> None:
        super().__init__(daemon=True)
        self._folder, self._agent = folder, agent

    def run(self) -> None:
        number = len(self._folder.lines("sending"))
        dice, ended = Random(number), -1
        while True:
            time.sleep(dice.uniform(0.0, 0.06))
            # None is sent to a run that is to end, or that has not begun.
            if self._agent.last_run is None or (self._folder.path / "stop").exists():
                continue
            count = len(self._folder.lines("ended"))
            at_once = number % 3 == 2 and count > ended
            ended = count if at_once else ended
            self._folder.write("sending", number)
            with suppress(HistoryError):
                self._agent.send(f"Message {number}.", at_once=at_once)
                self._folder.write("sent", number)
            number += 1


@asynccontextmanager
async def session(folder: Folder) -> AsyncIterator[Any]:
    """A session with an MCP server in a process of its own; `None` without the feature."""
    if folder.feature != "mcp":
        yield None
        return
    from mcp import Client, StdioServerParameters

    async def declined(context: Any, params: Any) -> Any:
        """The client declares that it answers; `on_input` answers in its place."""
        raise AssertionError

    program = str(Path(__file__).with_name("killed_server.py"))
    environment = {"PYTHONPATH": os.environ["PYTHONPATH"]}
    server = StdioServerParameters(
        command=sys.executable, args=[program, str(folder.path)], env=environment
    )
    async with Client(server, elicitation_callback=declined) as client:
        yield client


def consent(request: mcp.InputRequest) -> Any:
    """Answer the server's question."""
    return True


async def main(folder: Folder, model: str, style: str) -> str:
    path = folder.path / "run.json"

    def save(state: RunState) -> None:
        save_run(path, state)

    options: dict[str, Any] = {"on_change": save, **options_of(folder)}
    if folder.feature != "compaction":
        options["history"] = HistoryManager(max_messages=None, max_tokens=None)
    emulator, chat = Emulator(Model(folder)), {"api_key": "fake-key"}
    is_threads = style == "threads"
    async with session(folder) as client, anyio.from_thread.BlockingPortal() as portal:
        http: Any = (EmulatorTransport if is_threads else AsyncEmulatorTransport)(
            emulator, sleep=True
        )
        if client is not None and is_threads:
            listed = partial(mcp.tools_in_threads, client, portal=portal, on_input=consent)
            options["tools"] = await anyio.to_thread.run_sync(listed)
        elif client is not None:
            options["tools"] = await mcp.tools(client, on_input=consent)
        agent: Any = (
            Agent(Chat(model, http=http, **chat), **options)
            if is_threads
            else LLMAgent(AsyncChat(model, http=http, **chat), **options)
        )
        if folder.feature == "steering":
            Sender(folder, agent).start()
        print("ready", flush=True)
        state = read_run(path) if path.exists() else None
        while True:
            begin = partial(agent.run, "Go.") if state is None else partial(agent.resume, state)
            run = partial(begin, max_steps=None, stream=True)
            try:
                result = await (anyio.to_thread.run_sync(run) if is_threads else run())
                return str(result.output if folder.feature == "typed" else result.text)
            except WireError:
                if folder.feature != "early":
                    raise
                state = agent.last_run.state  # a reply broke off before any of its calls was whole


if __name__ == "__main__":
    where, feature, model, style = sys.argv[1:]
    run = partial(main, Folder(Path(where), feature, model), model, style)
    print(anyio.run(run, backend="asyncio" if style == "threads" else style))
