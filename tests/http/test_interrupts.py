"""R-43: an interrupt at any moment costs no slot of the limiter and no descriptor.

The next call works. Each scene of `interrupting.py` runs in a fresh process.

On trio, interrupts are raised at checkpoints only. Anywhere else they break the cancel scopes of
anyio, which no client can repair.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.http.drive import CALL
from tests.http.loopback import ANSWER, GOOD_STREAM, Step, loopback, whole
from tests.property import ALL
from wire import Client
from wire.http.lanes import Lanes

ROOT = Path(__file__).parent.parent.parent
SCENES = ["threads", "threads, httpx", "asyncio", "asyncio, httpx", "trio", "trio, one loop"]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no setitimer")


def script(number: int, request: bytes) -> list[Step]:
    return list(GOOD_STREAM) if b"stream" in request.split(b"\r\n")[0] else [whole(ANSWER)]


def storm(scene: str, count: int) -> dict[str, Any]:
    with loopback(script) as server:
        command = [sys.executable, "-m", "tests.http.interrupting", scene, server.url, str(count)]
        options: Any = {"capture_output": True, "text": True, "timeout": 60 + count / 10}
        done = subprocess.run([*command, "7"], cwd=ROOT, **options)
    assert done.returncode == 0, done.stderr
    counted: dict[str, Any] = json.loads(done.stdout)
    return counted


def check(scene: str, count: int) -> None:
    counted = storm(scene, count)
    hit = counted.pop("interrupted")
    assert hit + counted.pop("finished") == count
    assert hit > count / 5, "the signals missed the calls"
    assert counted.pop("free", 2) == 2
    assert counted == {"works": count, "left open": 0}


@pytest.mark.processes
@pytest.mark.row("R-43")
@pytest.mark.parametrize(
    "scene",
    [pytest.param(each, marks=[pytest.mark.slow] if "," in each else []) for each in SCENES],
)
def test_interrupts(scene: str) -> None:
    check(scene, 15 if "httpx" in scene else 30)


@pytest.mark.row("R-43")
@pytest.mark.faults
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("scene", SCENES)
def test_ten_thousand_interrupts(scene: str) -> None:
    check(scene, 10_000)


@pytest.mark.processes
@pytest.mark.row("R-43")
@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["send", "stream", "leave"])
@pytest.mark.parametrize("connections", ["direct", pytest.param("httpx", marks=pytest.mark.slow)])
def test_an_interrupt_at_each_point(connections: str, kind: str) -> None:
    """The slot is free at once, and the caller gets KeyboardInterrupt and nothing else."""
    step = 1 if ALL else 10
    with loopback(script) as server:
        module = "tests.http.interrupting_each_point"
        command = [sys.executable, "-m", module, server.url, connections, kind, str(step)]
        options: Any = {"capture_output": True, "text": True, "timeout": 120}
        done = subprocess.run(command, cwd=ROOT, **options)
    assert done.returncode == 0, done.stderr
    counted = json.loads(done.stdout)
    assert counted.pop("points") > 250 // step
    # One in ten of the points meets a varying number of functions' beginnings.
    assert counted.pop("entries") > (50 if step == 1 else 0)
    assert counted == {"lost": [], "others": []}


@pytest.mark.row("R-43")
def test_an_interrupt_in_the_transport_gives_its_slot_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also while the exception, and with it the frames of the call, is still there."""

    def handler(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    lanes = Lanes(limit=1)
    with loopback(script) as server:
        with Client("gemini", api_key="fake-key", base_url=server.url, http=lanes) as client:
            client.send(CALL)
            (kept,) = next(iter(lanes._idle.values()))
            with monkeypatch.context() as patched:
                patched.setattr(type(kept), "send", handler)
                with pytest.raises(KeyboardInterrupt) as raised:
                    client.send(CALL)
            assert client.send(CALL).text == "Hello."
            assert raised.value is not None
        assert server.connections == 2
