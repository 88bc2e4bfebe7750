"""A cluster of Dask on loopback: a scheduler and workers, each a process that a test may kill."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Self

_STARTED = 60.0
"""Seconds. A process of Dask needs one or two on a machine with nothing else to do."""
_LOCAL = ("--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0")


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


class Cluster:
    """`with Cluster(folder) as cluster:` starts a scheduler and two workers, and ends them.

    Each writes its log to `folder`. A scheduler that is started again has the same address.
    """

    def __init__(
        self,
        folder: Path,
        workers: int = 2,
        environment: Mapping[str, str] | None = None,
        *,
        protocol: str = "tcp",
    ) -> None:
        self._folder, self._count = folder, workers
        self._port, self._protocol = _free_port(), protocol
        self.address = f"{protocol}://127.0.0.1:{self._port}"
        self._environment = {**os.environ, **(environment or {})}
        self.scheduler: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []
        self._logs = 0

    def __enter__(self) -> Self:
        try:
            self.start_scheduler()
            for _ in range(self._count):
                self.start_worker()
            for worker in self.workers:
                self._wait_for(worker, b"Registered to")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in (*self.workers, self.scheduler):
            if process is not None:
                process.kill()
                process.wait()

    def start_scheduler(self) -> None:
        """Start the scheduler and wait for it."""
        options = ("--port", str(self._port), "--protocol", self._protocol, *_LOCAL)
        self.scheduler = self._start("scheduler", *options)
        self._wait_for(self.scheduler, b"Scheduler at:")

    def start_worker(self) -> None:
        """Start a worker with one thread; do not wait for it."""
        options = ("--nthreads", "1", "--no-nanny", "--protocol", self._protocol, *_LOCAL)
        self.workers.append(self._start("worker", self.address, *options))

    def kill_scheduler(self) -> None:
        """Kill the scheduler; its workers end by themselves."""
        assert self.scheduler is not None
        self.scheduler.send_signal(signal.SIGKILL)
        self.scheduler.wait()

    def kill_worker(self) -> None:
        """Kill the worker that was started first."""
        worker = self.workers.pop(0)
        worker.send_signal(signal.SIGKILL)
        worker.wait()

    def logs(self) -> str:
        """What all processes have logged."""
        return "".join(path.read_text("utf-8") for path in sorted(self._folder.glob("dask-*.log")))

    def _start(self, *command: str) -> subprocess.Popen[bytes]:
        self._logs += 1
        path = self._folder / f"dask-{self._logs:02}-{command[0]}.log"
        with path.open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-W", "ignore", "-m", "dask", *command],
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._environment,
            )
        process.log = path  # type: ignore[attr-defined]
        return process

    def _wait_for(self, process: subprocess.Popen[bytes], words: bytes) -> None:
        path: Path = process.log  # type: ignore[attr-defined]
        deadline = time.monotonic() + _STARTED
        while words not in path.read_bytes():
            if process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(path.read_text("utf-8"))
            time.sleep(0.05)
