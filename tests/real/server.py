"""Starts the real server, and ends it.

`python -m tests.real.server SCRIPT` runs a script beside it, with the URL as its argument.
"""

from __future__ import annotations

import http.client
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).parent.parent.parent
PYTHON = ROOT / ".venv-real" / "bin" / "python"
START = 120.0
"""Seconds that it may take to start; 2 are common."""


@contextmanager
def serve() -> Iterator[str]:
    """URL of a server that runs as long as the block.

    Should this process be killed, the server's input ends, and so does the server.
    """
    if not (PYTHON.parent.parent / ".ready").exists():
        raise FileNotFoundError(
            "the real server is not set up; make test-real and make demo-local do that"
        )
    with tempfile.TemporaryFile() as said:
        command = [PYTHON, Path(__file__).with_name("llama.py")]
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said, text=True
        )
        late = threading.Timer(START, process.kill)
        late.start()
        with process:
            try:
                assert process.stdout is not None
                url = process.stdout.readline().strip()
                if not (url and _healthy(url, process)):
                    said.seek(0)
                    raise RuntimeError(
                        "the server did not start: "
                        f"{said.read()[-2000:].decode('utf-8', 'replace')}"
                    )
                late.cancel()
                yield url
            finally:
                late.cancel()
                _end(process)


def _healthy(url: str, process: subprocess.Popen[str]) -> bool:
    """Wait until it says that it is; False if it ended first."""
    host = urlsplit(url).netloc
    while process.poll() is None:
        connection = http.client.HTTPConnection(host, timeout=START)  # it knows of no proxies
        try:
            connection.request("GET", "/health")
            if connection.getresponse().status == 200:
                return True
        except OSError:
            pass
        finally:
            connection.close()
        time.sleep(0.05)
    return False


def _end(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()


if __name__ == "__main__":
    with serve() as url:
        sys.exit(subprocess.run([sys.executable, *sys.argv[1:], f"{url}/v1"]).returncode)
