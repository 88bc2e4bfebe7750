"""Phoenix, a server of another project that takes OTLP, in a process of its own on loopback."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

COMMAND = Path(__file__).parents[2] / ".venv-phoenix" / "bin" / "phoenix"
START_SECONDS = 120
"""It imports for half a minute on a busy machine."""


@contextmanager
def phoenix(folder: Path) -> Iterator[str]:
    """Its URL. Its database is in `folder`; it reports nothing to its makers."""
    port, grpc_port = _free_port(), _free_port()
    settings = {
        "PHOENIX_WORKING_DIR": str(folder),
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(grpc_port),
        "PHOENIX_TELEMETRY_ENABLED": "false",
    }
    url = f"http://127.0.0.1:{port}"
    with (folder / "log.txt").open("wb") as log:
        process = subprocess.Popen(
            [COMMAND, "serve"], env={**os.environ, **settings}, stdout=log, stderr=log
        )
        try:
            until(lambda: _is_up(url, process), START_SECONDS)
            yield url
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def spans_at(url: str, count: int) -> list[dict[str, Any]]:
    """The spans that the server has kept, once it has so many: it writes them in batches."""

    def found() -> Any:
        spans = httpx.get(f"{url}/v1/projects/default/spans", params={"limit": 100})
        return spans.json()["data"] if spans.status_code == 200 else []

    until(lambda: len(found()) >= count, 30)
    spans: list[dict[str, Any]] = found()
    return spans


def until(holds: Callable[[], bool], seconds: float) -> None:
    """Ask until it holds; fail after so many seconds."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(f"it does not hold after {seconds:g} s")
        time.sleep(0.2)


def _is_up(url: str, process: subprocess.Popen[bytes]) -> bool:
    if process.poll() is not None:
        raise RuntimeError(f"phoenix ended with status {process.returncode}")
    try:
        return httpx.get(f"{url}/healthz").status_code == 200
    except httpx.TransportError:
        return False


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
