"""`wire chat`: lines on a pipe, and key presses on a terminal."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.conftest import MODELS, Command, at
from wire.sessions import read_session
from wire.testing.emulator import Emulator, serve

TOOL = '''
def high_tide(port: str) -> str:
    """When the tide is high in a port."""
    return "05:12"
'''
CALL = {"say": {"calls": [{"name": "high_tide", "args": {"port": "Brest\x1b[2J"}}]}}


@pytest.fixture(autouse=True)
def _tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> Iterator[None]:
    # A name of its own for each test: a module is imported once in a process.
    (tmp_path / "tide_of_test.py").write_text(TOOL)
    path = list(sys.path)
    yield
    sys.path[:] = path
    sys.modules.pop("tide_of_test", None)


# --- on a pipe ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_each_line_is_a_prompt_and_the_conversation_is_kept(wire: Command, name: str) -> None:
    with serve(Emulator([{"say": "Hello."}, {"say": "At 05:12."}])) as server:
        options = (*at(server, name), "--max-tokens", 99)
        said = wire("chat", *options, stdin="Hi\n\nWhen \\\nis high tide?\n")
        last = server.requests[-1]["body"]
    assert said == (0, "Hello.\nAt 05:12.\n", "")
    messages = last.get("messages") or last.get("contents") or last["input"]
    assert len(messages) == 3
    assert "When \\nis high tide?" in json.dumps(messages[2])


def test_tools_run_only_with_approval(wire: Command) -> None:
    options = ("--tool", "tide_of_test:high_tide")
    with serve(Emulator([CALL, {"say": "No."}, CALL, {"say": "Yes."}])) as server:
        said = wire("chat", *options, *at(server, "openai"), stdin="Tide?")
        assert "failed: not approved: there is no terminal to ask on" in said.out
        said = wire("chat", *options, *at(server, "openai"), "--yes", "--json", stdin="Tide?")
    lines = [json.loads(line) for line in said.out.splitlines()]
    assert [line["event"] for line in lines] == ["Done", "ToolRun", "Done"]
    assert (lines[1]["result"], lines[1]["error"]) == ("05:12", False)
    assert lines[2]["text"] == "Yes."


def test_a_conversation_is_saved_and_continued(wire: Command) -> None:
    with serve(Emulator([{"say": "Hello."}, {"say": "Still here."}])) as server:
        said = wire("chat", *at(server, "gemini"), stdin="Hi\n/save a.json\n/quit\nnever\n")
        assert (said.status, said.out, said.err) == (
            0,
            "Hello.\n",
            "saved 2 messages in a.json\n",
        )
        wire("chat", *at(server, "gemini"), "--session", "a.json", stdin="Are you?\n/save\n")
        assert len(server.requests[-1]["body"]["contents"]) == 3
        wire("chat", *at(server, "gemini"), "--session", "a.json", stdin="/clear\nHi\n")
        assert len(server.requests[-1]["body"]["contents"]) == 1
    assert [each.text for each in read_session("a.json").messages] == [
        "Hi",
        "Hello.",
        "Are you?",
        "Still here.",
    ]


def test_on_a_pipe_the_first_error_ends_it(wire: Command) -> None:
    with serve(Emulator([{"fault": "400"}])) as server:
        said = wire("chat", *at(server, "gemini"), stdin="Hi\nHi\n")
        assert said.status == 1
        assert said.err.startswith("wire chat: BadRequestError: gemini: 400 ")
        said = wire("chat", *at(server, "gemini"), stdin="/dance\n")
        assert (said.status, said.err.partition(";")[0]) == (
            2,
            "wire chat: /dance: no such command",
        )


# --- on a terminal --------------------------------------------------------------------------------


# A shell ignores SIGINT for commands in the background, and their children inherit that.
COMMAND = """
import fcntl, signal, sys, termios
signal.signal(signal.SIGINT, signal.default_int_handler)
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
from wire.cli import main
sys.exit(main())
"""


class Screen:
    """A process on a terminal of its own."""

    def __init__(self, arguments: list[str], folder: Path, variables: dict[str, str]) -> None:
        import pty

        self.terminal, inner = pty.openpty()
        root = str(Path(__file__).parents[2])
        self.process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, *arguments],
            stdin=inner,
            stdout=inner,
            stderr=inner,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": root, "TERM": "xterm", **variables},
            start_new_session=True,
        )
        os.close(inner)
        self.text = ""

    def type(self, keys: str) -> None:
        os.write(self.terminal, keys.encode())

    def interrupt(self, text: str) -> None:
        """Press Ctrl-C until a text comes.

        A signal that arrives just before the process waits for input wakes Python at the next key.
        """
        for _ in range(30):
            self.type("\x03")
            if self._arrives(text, 1):
                break
        self.expect(text)

    def expect(self, text: str) -> str:
        """Read until a text; return what came before it, and forget both."""
        assert self._arrives(text, 30), self.text
        before, _, self.text = self.text.partition(text)
        return before

    def _arrives(self, text: str, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while text not in self.text:
            if time.monotonic() > deadline:
                return False
            ready, _, _ = select.select([self.terminal], [], [], 0.1)
            try:
                data = os.read(self.terminal, 1 << 16) if ready else b""
            except OSError:  # the process has ended
                raise AssertionError(self.text) from None
            self.text += data.decode("utf-8", "replace")
        return True


@contextmanager
def on_terminal(arguments: list[str], folder: Path, **variables: str) -> Iterator[Screen]:
    screen = Screen(arguments, folder, variables)
    try:
        yield screen
    finally:
        screen.process.kill()
        screen.process.wait(30)
        os.close(screen.terminal)


@pytest.mark.processes
@pytest.mark.skipif(sys.platform == "win32", reason="pseudo terminals of Unix")
def test_a_conversation_by_key_presses(tmp_path: Path) -> None:
    stalls = {"say": "One, two, three, four, five.", "fault": "stall; seconds=3600; after=6"}
    script = [CALL, {"say": "At 05:12.\x1b[2J"}, stalls, {"say": "Again."}, {"fault": "400"}]
    with serve(Emulator(script)) as server:
        arguments = ["chat", *at(server, "openai"), "--tool", "tide_of_test:high_tide"]
        with on_terminal(arguments, tmp_path, OPENAI_API_KEY="fake-key") as screen:
            screen.expect("> ")
            screen.type("When is high tide?\r")
            question = screen.expect("[y]es, [N]o, [a]lways: ")
            # The terminal shows the whole call, and does not obey what is in it.
            assert 'run high_tide {"port": "Brest\\u001b[2J"} ?' in question
            screen.type("y\r")
            answer = screen.expect("> ")
            answer += screen.expect("> ")  # the first one was the arrow of the tool's result
            assert "05:12]" in answer
            assert "At 05:12.\\x1b[2J" in answer
            assert "\x1b[2J" not in answer

            screen.type("Count\r")
            screen.expect("One, two")
            screen.interrupt("[interrupted]")
            screen.expect("> ")
            screen.type("Go on\r")
            screen.expect("Again.")
            screen.expect("> ")
            screen.type("Fail\r")
            assert "BadRequestError: openai: 400" in screen.expect("> ")
            screen.type("thrown away")
            screen.expect("thrown away")
            screen.interrupt("\r\n")
            screen.expect("> ")
            screen.type("/dance\r")
            assert "/dance: no such command" in screen.expect("> ")
            screen.type("\x04")
            assert screen.process.wait(60) == 0
    asked = [each["body"]["input"][-1] for each in server.requests]
    assert "thrown away" not in str(asked)
    assert len(asked) == 5


@pytest.mark.processes
@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
def test_ctrl_c_ends_ask_with_130(tmp_path: Path) -> None:
    stalls = {"say": "One, two, three, four, five.", "fault": "stall; seconds=3600; after=6"}
    with serve(Emulator([stalls])) as server:
        arguments = ["ask", "Count", *at(server, "openai")]
        with on_terminal(arguments, tmp_path, OPENAI_API_KEY="fake-key") as screen:
            screen.expect("One, two")
            screen.process.send_signal(signal.SIGINT)
            assert screen.process.wait(60) == 130
