"""Commands of a shell: run to their end or killed, with all that they started; without the keys of
the program that runs them.
"""

from __future__ import annotations

import os
import re
import selectors
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from anyio import from_thread

from wire.errors import ToolError

HALF = 15_000
"""Bytes of the output that are kept from its beginning, and as many from its end."""

_TICK = 0.05  # seconds between two looks at whether the run was cancelled
_PIECE = 1 << 16
_PIPE = 1 << 20  # bytes that a pipe can hold
_KEY = re.compile(
    r"API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|(?:^|_)KEY$|TOKENS?(?![A-Z])|SECRET|PASSWORD|"
    r"PASSWD|PASSPHRASE|CREDENTIAL",
    re.IGNORECASE,
)


def without_keys(variables: Mapping[str, str]) -> dict[str, str]:
    """An environment without the variables whose names say that they are keys.

    >>> without_keys({"PATH": "/bin", "GEMINI_API_KEY": "...", "HF_TOKEN": "...", "TOKENIZERS_PARALLELISM": "false"})
    {'PATH': '/bin', 'TOKENIZERS_PARALLELISM': 'false'}
    """
    return {name: value for name, value in variables.items() if not _KEY.search(name)}


def run_shell(command: str, folder: Path, timeout: float) -> str:
    """What a command wrote on stdout and stderr, in the order it came, and how it ended, in
    brackets on the last line.

    It runs by `/bin/sh` in the folder, with nothing to read, in a process group of its own. The
    whole group is killed when the command ends, when `timeout` seconds have passed, and when the
    task is cancelled that waits for this thread (`anyio.to_thread`): nothing that it started goes
    on, but for what has left the group (`setsid`). This is no sandbox: the shell may do what its
    user may.

    Raises `ToolError` for a command that cannot be started.
    """
    stop = time.monotonic() + timeout
    try:
        process = subprocess.Popen(
            ["/bin/sh", "-c", command],
            cwd=folder,
            env={**without_keys(os.environ), "PWD": str(folder)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except (
        OSError,
        ValueError,
    ) as cause:  # a NUL, half of a surrogate pair, more than a command line holds
        raise ToolError(f"the command cannot be started: {cause}") from cause
    output = _Output()
    ended, pause = False, 0.001
    assert process.stdout is not None
    try:
        with process.stdout as pipe, selectors.DefaultSelector() as selector:
            os.set_blocking(pipe.fileno(), False)
            selector.register(pipe, selectors.EVENT_READ)
            while not (ended := _has_ended(process)) and (left := stop - time.monotonic()) > 0:
                raise_if_cancelled()
                if output.closed:
                    time.sleep(min(pause, left))
                    pause = min(2 * pause, _TICK)
                elif selector.select(min(_TICK, left)):
                    output.read(pipe.fileno(), _PIECE)
            output.read(pipe.fileno(), _PIPE)
    finally:
        # Before it is waited for: until then nobody else can get its number.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if not ended:
        return output.text(f"[killed after {timeout:g} s]")
    # The shell is gone, so that whoever holds the pipe open is one that it left.
    left_over = "" if output.closed else "[what still ran in the background was ended]\n"
    return output.text(f"{left_over}[{_how(process.returncode)}]")


def raise_if_cancelled() -> None:
    """Ask whether the task that waits for this thread is cancelled, and raise its cancellation: a
    thread is not told of it.
    """
    with suppress(RuntimeError):  # a thread of somebody else's
        from_thread.check_cancelled()


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether the shell has ended; where the system can say so without giving its number free."""
    if hasattr(os, "waitid"):
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    return process.poll() is not None


def _how(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"killed by signal {-status}"


class _Output:
    """The beginning and the end of what was written, and how much was between."""

    def __init__(self) -> None:
        self.closed = False
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def read(self, descriptor: int, limit: int) -> None:
        """What is there, up to `limit` bytes: one that writes without end is not waited for."""
        while limit > 0 and not self.closed:
            try:
                data = os.read(descriptor, min(_PIECE, limit))
            except BlockingIOError:
                return
            self.closed = not data
            limit -= len(data)
            room = HALF - len(self._head)
            self._head += data[:room]
            self._tail += data[room:]
            over = max(0, len(self._tail) - HALF)
            del self._tail[:over]
            self._dropped += over

    def text(self, ending: str) -> str:
        head, tail = bytes(self._head), bytes(self._tail)
        if self._dropped:
            said = (
                f"{_decoded(head)}\n[{self._dropped:,} bytes are left out here]\n{_decoded(tail)}"
            )
        else:
            said = _decoded(head + tail)
        return f"{said}{'' if not said or said.endswith(chr(10)) else chr(10)}{ending}"


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")
