"""What is read of a run and its journal, whatever became of the two files."""

from __future__ import annotations

import os
import pickle
import re
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import anyio
import pytest

from tests.agent.killed_agent import AsyncModel, Model
from wire import notes
from wire.agent import Agent, LLMAgent, RunState, load_run, read_run, save_run
from wire.agent.run_state import begin_run
from wire.agent.steps import Steps
from wire.errors import ConfigurationError, RuleError
from wire.neutral.messages import Media, Message, Reply, Stop, ToolCall, ToolResult
from wire.tools import Toolbox, ToolRun, tool


@tool(read_only=True)
def look(place: str) -> str:
    """Look at a place."""
    return place


def result(call: ToolCall, content: Any = None) -> ToolRun:
    return ToolRun(call, ToolResult(call.id, call.name, content or f"answer of {call.id} é"))


def reply(turn: int, calls: int) -> Reply:
    made = [ToolCall(id=f"{turn}-{each}", name="look") for each in range(calls)]
    return Reply(Message.assistant(*made), Stop("tool_calls"))


def drive(save: Callable[[RunState], None], *, end: bool = True) -> Steps:
    """Take a run of two turns with three calls each through all that a turn can have.

    Two messages are sent to the run in the second one.
    """
    picture = Media(media_type="image/png", data=b"\x89PNG")
    steps = Steps(begin_run([Message.user("Hi")]), Toolbox([look]), on_change=save, max_calls=9)
    save(steps.state)
    for turn in range(2):
        steps.next()
        answer = reply(turn, 3)
        steps.replied(answer)
        first, second, third = answer.tool_calls
        for call in (second, first):
            steps.started(call)
        if turn:
            steps.send(Message.user("Look é.", picture))
        steps.answered([result(first)])
        if turn:
            steps.send(Message.user("And there."))
        steps.started(third)
        if turn and not end:
            return steps
        media = ToolRun(third, ToolResult(third.id, "look", {"a": [1, None]}, media=(picture,)))
        steps.answered([media, ToolRun(second, ToolResult(second.id, "look", "no", error=True))])
    steps.next()
    steps.replied(Reply(Message.assistant("Done."), Stop("end")))
    return steps


class Disk:
    """A folder, and copies of it before and after each call of the system that changes it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder, self.copies = folder, list[tuple[str, dict[str, bytes]]]()
        for name in ("open", "write", "ftruncate", "replace", "unlink"):
            monkeypatch.setattr(os, name, self._watched(name, getattr(os, name)))

    def _watched(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any, **options: Any) -> Any:
            made = call(*arguments, **options)
            self.copies.append((name, self.copy()))
            return made

        return watched

    def copy(self) -> dict[str, bytes]:
        return {each.name: each.read_bytes() for each in self._folder.iterdir()}


def test_a_process_that_is_killed_after_any_call_of_the_system_leaves_a_state_that_was_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "saved").mkdir()
    path = tmp_path / "saved/run.json"
    states: list[RunState] = []
    with monkeypatch.context() as patched:
        disk = Disk(tmp_path / "saved", patched)
        places: list[int] = []

        def save(state: RunState) -> None:
            states.append(state)
            save_run(path, state)
            places.append(len(disk.copies))
            assert read_run(path) == state

        drive(save)
        copies = list(disk.copies)
    assert len(states) == 1 + 2 * (1 + 3 + 2) + 2 + 1 + 1
    assert {name for name, _ in copies} == {"open", "write", "ftruncate", "replace", "unlink"}
    left_out = 0
    for number, (_, files) in enumerate(copies):
        if "run.json" not in files:
            continue
        folder = tmp_path / str(number)
        folder.mkdir()
        for name, data in files.items():
            (folder / name).write_bytes(data)
        during = sum(place <= number for place in places)
        read = read_run(folder / "run.json")
        assert read in states[max(0, during - 1) : during + 1], number
        left_out += bool(notes(read))
    assert left_out  # killed before the journal was emptied
    assert os.listdir(tmp_path / "saved") == ["run.json"]


def test_a_journal_that_is_cut_at_any_byte_has_the_lines_before(tmp_path: Path) -> None:
    path, states = tmp_path / "run.json", list[RunState]()

    def save(state: RunState) -> None:
        states.append(state)
        save_run(path, state)

    drive(save, end=False)
    journal = tmp_path / "run.json.journal"
    data = journal.read_bytes()
    assert data.count(b"\n") == 6
    for size in range(len(data) + 1):
        journal.write_bytes(data[:size])
        assert read_run(path) == states[-7 + data[:size].count(b"\n")]


def under_way(path: Path) -> RunState:
    return drive(lambda state: save_run(path, state), end=False).state


def test_a_turn_writes_the_run_once_and_short_lines_after_that(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    wrote: list[bytes] = []

    def save(state: RunState) -> None:
        save_run(path, state)
        wrote.append(path.read_bytes())

    drive(save)
    assert len(set(wrote)) == 1 + 2 + 1 + 1  # the second turn ends with messages that join


def test_the_journal_is_private_and_beside_the_file_that_a_symlink_leads_to(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link.json").symlink_to("real/run.json")
    (tmp_path / "real/run.json").write_bytes(b"")
    state = under_way(tmp_path / "link.json")
    assert sorted(os.listdir(tmp_path / "real")) == ["run.json", "run.json.journal"]
    assert read_run(tmp_path / "link.json") == read_run(tmp_path / "real/run.json") == state
    assert stat.S_IMODE((tmp_path / "real/run.json.journal").stat().st_mode) == 0o600


DAMAGES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "no JSON": (lambda line: b"{" + line[5:], "line 2: damaged: "),
    "NULs": (lambda line: b"\0" * (len(line) - 1) + b"\n", "line 2: damaged: "),
    "another type": (
        lambda line: line.replace(b'["0-0"]', b"[1]"),
        r"line 2: line\.started\[0\]: expected `str`, got `int`",
    ),
    "an unknown key": (lambda line: line.replace(b'"started"', b'"begun"'), "line 2: line: "),
    "another call": (
        lambda line: line.replace(b"0-0", b"0-7"),
        "line 2: no call '0-7' is open in the run",
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_line_is_told_with_its_number(tmp_path: Path, damage: str) -> None:
    path, journal = tmp_path / "run.json", tmp_path / "run.json.journal"
    steps = Steps(begin_run([Message.user("Hi")]), Toolbox(), on_change=lambda s: save_run(path, s))
    answer = reply(0, 3)
    steps.next()
    steps.replied(answer)
    for call in reversed(answer.tool_calls):
        steps.started(call)
    lines = journal.read_bytes().splitlines(keepends=True)
    assert b'"0-0"' in lines[2]
    change, message = DAMAGES[damage]
    journal.write_bytes(lines[0] + change(lines[2]) + lines[1])
    with pytest.raises(ConfigurationError, match=re.escape(f"{journal}: ") + message):
        read_run(path)


def test_a_result_that_is_no_message_is_told_with_its_line(tmp_path: Path) -> None:
    under_way(tmp_path / "run.json")
    journal = tmp_path / "run.json.journal"
    data = journal.read_bytes()
    journal.write_bytes(data.replace(b'"role":"tool"', b'"role":"fool"'))
    with pytest.raises(ConfigurationError, match=r"run\.json\.journal: line 4: message"):
        read_run(tmp_path / "run.json")


def test_a_run_without_its_journal_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    under_way(path)
    with pytest.raises(ConfigurationError, match=r"^run: metadata\.run\.journal: calls were under"):
        load_run(path.read_bytes())
    (tmp_path / "run.json.journal").unlink()
    with pytest.raises(ConfigurationError, match=r"run\.json\.journal: missing: it has the calls"):
        read_run(path)


def test_lines_of_another_run_are_left_out_with_a_note(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    under_way(path)
    lines = (tmp_path / "run.json.journal").read_bytes()
    state = under_way(path)
    own = (tmp_path / "run.json.journal").read_bytes()
    (tmp_path / "run.json.journal").write_bytes(lines + own)
    read = read_run(path)
    assert read == state
    assert [each.message for each in notes(read)] == [
        f"left out: 6 lines of an earlier turn in {path}.journal"
    ]


def _other_program(path: Path) -> None:
    (path.parent / "new").write_bytes(b"{}")
    os.replace(path.parent / "new", path)


def _other_line(path: Path) -> None:
    with open(f"{path}.journal", "ab") as file:
        file.write(b"{}\n")


CHANGES: dict[str, Callable[[Path], object]] = {
    "the run is replaced": _other_program,
    "the run is removed": Path.unlink,
    "the journal is cut": lambda path: os.truncate(f"{path}.journal", 5),
    "the journal is removed": lambda path: os.unlink(f"{path}.journal"),
    "the journal is written": _other_line,
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_another_program_changed_is_written_whole(tmp_path: Path, change: str) -> None:
    path = tmp_path / "run.json"
    steps = drive(lambda state: save_run(path, state), end=False)
    CHANGES[change](path)
    steps.answered([result(steps.state.open_calls[0])])
    assert read_run(path) == steps.state


@pytest.mark.parametrize("other", ["folder", "file", "link"])
def test_a_journal_that_cannot_be_written_is_left_and_the_run_is_written_whole(
    tmp_path: Path, other: str
) -> None:
    path, journal = tmp_path / "run.json", tmp_path / "run.json.journal"
    if other == "folder":
        journal.mkdir()
    elif other == "file":
        journal.write_bytes(b"Dear diary\n")
    else:
        journal.symlink_to("nowhere")
    before = journal.lstat()
    state = under_way(path)
    assert read_run(path) == load_run(path.read_bytes()) == state
    drive(lambda state: save_run(path, state))
    assert (journal.lstat().st_ino, journal.lstat().st_size) == (before.st_ino, before.st_size)


def test_any_order_of_saves_is_read_as_the_last_one(tmp_path: Path) -> None:
    """Also of earlier states, with other metadata, to other files, and of copies."""
    states: list[RunState] = []
    drive(states.append)
    dice = Random(5)
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    for _ in range(300):
        state, path = dice.choice(states), dice.choice(paths)
        if dice.random() < 0.2:
            state = pickle.loads(pickle.dumps(state))
        metadata = dice.choice([None, {"title": "A run"}])
        save_run(path, state, metadata)
        assert read_run(path) == state


def test_metadata_that_has_no_json_form_is_refused_in_the_middle_of_a_turn(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    state = under_way(path)
    with pytest.raises(RuleError, match=r"^metadata\.title: expected a JSON value, not object$"):
        save_run(path, state, {"title": object()})
    assert read_run(path) == state


# --- results do not wait --------------------------------------------------------------------------


def seen_on_disk(path: Path, id: str) -> str:
    """Wait until a result is in the saved run."""
    for _ in range(1000):
        if id not in {each.id for each in read_run(path).open_calls}:
            return "seen"
        threading.Event().wait(0.01)
    return "not seen"


def test_a_result_does_not_wait_until_the_start_of_another_call_is_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, fsync, seen = tmp_path / "run.json", os.fsync, list[str]()
    ended, lock = list[str](), threading.Lock()
    syncs = iter(range(100))
    is_syncing, has_ended = threading.Event(), threading.Event()

    def slow(descriptor: int) -> None:
        fsync(descriptor)
        if threading.current_thread() is threading.main_thread():
            return
        with lock:
            number = next(syncs)
        if number == 1:  # the start of the second call
            is_syncing.set()
            assert has_ended.wait(10)
            seen.append(seen_on_disk(path, ended[0]))

    def work(id: str) -> str:
        """Work."""
        assert is_syncing.wait(10)
        ended.append(id)
        has_ended.set()
        return id

    monkeypatch.setattr(os, "fsync", slow)
    options: dict[str, Any] = {"tools": [work], "on_change": lambda state: save_run(path, state)}
    assert Agent(Model(tmp_path, 1), **options).run("Go").text == "Done."
    assert seen == ["seen"]


def test_a_result_does_not_wait_until_a_message_is_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = drive(lambda state: save_run(tmp_path / "run.json", state), end=False)
    fsync, seen = os.fsync, list[bool]()
    is_syncing, has_ended = threading.Event(), threading.Event()

    def slow(descriptor: int) -> None:
        if threading.current_thread() is sender:
            is_syncing.set()
            seen.append(has_ended.wait(10))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", slow)
    sender = threading.Thread(target=steps.send, args=(Message.user("Look."),))
    sender.start()
    assert is_syncing.wait(10)
    steps.answered([result(steps.state.open_calls[0])])
    has_ended.set()
    sender.join()
    assert seen == [True]
    assert read_run(tmp_path / "run.json") == steps.state


@pytest.mark.parametrize("style", ["asyncio", "trio"])
def test_a_result_does_not_wait_for_the_event_loop(tmp_path: Path, style: str) -> None:
    path = tmp_path / "run.json"
    seen: list[str] = []

    is_blocked, began = threading.Event(), list[anyio.Event]()

    async def blocks() -> str:
        """Keep the event loop from running."""
        await began[0].wait()
        is_blocked.set()
        seen.append(seen_on_disk(path, "plain"))
        return ""

    def plain() -> str:
        """End while the loop is blocked."""
        anyio.from_thread.run_sync(began[0].set)
        assert is_blocked.wait(10)
        return ""

    class Two:
        async def ask(self, *, messages: Any, **settings: Any) -> Reply:
            if messages[-1].role == "tool":
                return Reply(Message.assistant("Done."), Stop("end"))
            calls = [ToolCall(id=name, name=name) for name in ("plain", "blocks")]
            return Reply(Message.assistant(*calls), Stop("tool_calls"))

        stream = ask

    async def main() -> None:
        began.append(anyio.Event())
        options: dict[str, Any] = {"on_change": lambda state: save_run(path, state)}
        await LLMAgent(Two(), tools=[plain, blocks], **options).run("Go")

    anyio.run(main, backend=style)
    assert seen == ["seen"]


def test_async_tools_are_saved_too(tmp_path: Path) -> None:
    path = tmp_path / "run.json"

    async def work(id: str) -> str:
        """Work."""
        return id

    async def main() -> RunState:
        model: Any = AsyncModel(Model(tmp_path, 2))
        save = {"on_change": lambda state: save_run(path, state)}
        return (await LLMAgent(model, tools=[work], **save).run("Go")).state  # type: ignore[arg-type]

    state = anyio.run(main)
    assert read_run(path) == state
    assert not (tmp_path / "run.json.journal").exists()
