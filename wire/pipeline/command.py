"""Shell commands of agents: no process of a command outlives it, and none gets a key."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from anyio import from_thread

from wire.core.errors import ToolError
from wire.core.forks import at_fork, fork_waits_for
from wire.pipeline.environment import blank_start_block, without_secrets

OUTPUT_HALF_BYTES = 15_000
"""Bytes that are returned from the beginning of the output, and as many from its end."""

_POLL_SECONDS = 0.05  # between two checks whether the run was cancelled
_READ_BYTES = 1 << 16
_PIPE_BYTES = 1 << 20  # the most that a pipe holds


def run_shell(command: str, folder: Path, timeout: float) -> str:
    """Run a command and return its output, with its exit status in brackets on the last line.

    stdout and stderr are read in the order of their bytes. `/bin/sh` runs the command in the
    folder, without input, in its own process group. The group is killed when the command ends, when
    `timeout` seconds have passed, when the task that waits for this thread (`anyio.to_thread`) is
    cancelled, and when this process ends, however it ends (R-43). A command that has not ended by
    itself first gets SIGTERM and half a second. A process that leaves the group (`setsid`)
    survives. The command gets no variable that holds a credential (`wire.pipeline.environment`).
    This is not a sandbox: the command has the permissions of its user.

    Raises `ToolError` for a command that cannot be started.
    """
    stop = time.monotonic() + timeout
    blank_start_block()
    try:
        guard = _Guard()
    except OSError as cause:
        raise ToolError(f"the command cannot be started: {cause}") from cause
    with guard:
        return _run(command, folder, timeout, stop, guard)


def _run(command: str, folder: Path, timeout: float, stop: float, guard: _Guard) -> str:
    try:
        with _NO_FORK:
            process = subprocess.Popen(
                ["/bin/sh", "-c", _WHEN_WATCHED, command],
                cwd=folder,
                env={**without_secrets(os.environ), "PWD": str(folder)},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
    except (OSError, ValueError) as cause:  # a NUL, a lone surrogate, or too long
        raise ToolError(f"the command cannot be started: {cause}") from cause
    guard.watch(process.pid)
    assert process.stdin is not None
    with suppress(BrokenPipeError), process.stdin as begin:
        begin.write(b"\n")
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
                    pause = min(2 * pause, _POLL_SECONDS)
                elif selector.select(min(_POLL_SECONDS, left)):
                    output.read(pipe.fileno(), _READ_BYTES)
            output.read(pipe.fileno(), _PIPE_BYTES)
    finally:
        if not ended:
            _ask_to_end(process)
        # Killed before `wait`, because the system may reuse its process id afterwards.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if not ended:
        return output.text(f"[killed after {timeout:g} s]")
    # The shell has ended, so an open pipe belongs to a process that it started.
    background = "" if output.closed else "[background processes were killed]\n"
    return output.text(f"{background}[{_ending(process.returncode)}]")


_WHEN_WATCHED = 'read -r _ && exec /bin/sh -c "$0" </dev/null'
"""Starts the command in `$0` when a line arrives, which means that its guard knows its group.

If this process ends before that, the command does not start.
"""


class _Guard:
    """A process that kills the group of a command when this process has ended.

    A signal may end this process before it can kill the command, and SIGKILL always does. The guard
    reads from a pipe whose other end only this process holds, so the pipe ends with it.
    """

    def __init__(self) -> None:
        with _NO_FORK:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", 'read -r group && { read -r _; kill -s KILL -- "-$group"; }'],
                env={},
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                # A Ctrl-C goes to all processes of the terminal's foreground group.
                start_new_session=True,
            )
            assert self._process.stdin is not None
            self._pipe = self._process.stdin
            _PIPES.add(self._pipe.fileno())

    def watch(self, group: int) -> None:
        """Kill this process group when the pipe ends."""
        with suppress(BrokenPipeError):  # something has killed the guard
            self._pipe.write(b"%d\n" % group)
            self._pipe.flush()

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        # Killed before the pipe is closed: the id of the group may belong to others by now.
        self._process.kill()
        _PIPES.discard(self._pipe.fileno())
        with suppress(BrokenPipeError):
            self._pipe.close()
        self._process.wait()


_PIPES: set[int] = set()
"""Descriptors of the pipes to the guards."""

_NO_FORK = threading.RLock()
"""Held by `os.fork`, and while a process is started.

A child that was forked in between would keep pipes open: that of a guard, and with it the command
alive, or the one that `Popen` reads until the new program runs, and this process would wait for it.
"""


def _close_pipes(_: object) -> None:
    """Close the pipes in a forked child, which would keep them open after its parent's end."""
    for descriptor in _PIPES:
        with suppress(OSError):
            os.close(descriptor)
    _PIPES.clear()


fork_waits_for(_NO_FORK)
at_fork(sys.modules[__name__], _close_pipes)


def _ask_to_end(process: subprocess.Popen[bytes]) -> None:
    """Send SIGTERM to the group, and wait for the shell until it ends, at most half a second."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGTERM)
        for _ in range(50):
            if _has_ended(process):
                return
            time.sleep(0.01)


def raise_if_cancelled() -> None:
    """Raise the cancellation of the task that waits for this thread, if it was cancelled."""
    with suppress(RuntimeError):  # not a thread of anyio
        from_thread.check_cancelled()


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Return whether the shell has ended. `WNOWAIT` keeps its process id reserved."""
    if hasattr(os, "waitid"):
        return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    return process.poll() is not None


def _ending(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"killed by signal {-status}"


class _Output:
    """The beginning and the end of an output, and the number of bytes between them."""

    def __init__(self) -> None:
        self.closed = False
        self._head = bytearray()
        self._tail = bytearray()
        self._dropped = 0

    def read(self, descriptor: int, limit: int) -> None:
        """Read what is available, at most `limit` bytes, since a command may write without end."""
        while limit > 0 and not self.closed:
            try:
                data = os.read(descriptor, min(_READ_BYTES, limit))
            except BlockingIOError:
                return
            self.closed = not data
            limit -= len(data)
            room = OUTPUT_HALF_BYTES - len(self._head)
            self._head += data[:room]
            self._tail += data[room:]
            over = max(0, len(self._tail) - OUTPUT_HALF_BYTES)
            del self._tail[:over]
            self._dropped += over

    def text(self, ending: str) -> str:
        head, tail = bytes(self._head), bytes(self._tail)
        text = _decoded(head + tail)
        if self._dropped:
            text = f"{_decoded(head)}\n[{self._dropped:,} bytes are omitted]\n{_decoded(tail)}"
        return f"{text}{'' if not text or text.endswith(chr(10)) else chr(10)}{ending}"


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")
