"""Headless Chromium over its debugging pipe, with the standard library alone."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import itertools
import json
import os
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
_SECONDS = 30


class Browser:
    """One page in a browser. `requests` are the addresses that it asked for."""

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read = write, read
        self._numbers = itertools.count(1)
        self._received = b""
        self._session = ""
        self.requests: list[str] = []
        self.violations: list[str] = []
        self._loaded = False
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Network", "Log"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **params: Any) -> Any:
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while (received := self._next()).get("id") != number:
            self._notice(received)
        assert "error" not in received, received["error"]
        return received["result"]

    def open(
        self,
        path: Path,
        *,
        width: int = 1400,
        height: int = 900,
        scheme: str = "light",
        scripts: bool = True,
        query: str = "",
    ) -> None:
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 500,
        )
        self.send(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )
        self.send("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.requests.clear()
        self.violations.clear()
        self._loaded = False
        self.send("Page.navigate", url=f"{path.as_uri()}?{query}" if query else path.as_uri())
        while not self._loaded:
            self._notice(self._next())

    def value(self, script: str) -> Any:
        """The value of an expression. It runs beside the policy of the page."""
        result = self.send("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def screenshot(self, path: Path) -> None:
        shot = self.send("Page.captureScreenshot")
        path.write_bytes(base64.b64decode(shot["data"]))

    def _notice(self, message: Any) -> None:
        method, params = message.get("method"), message.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Log.entryAdded":
            self.violations.append(params["entry"]["text"])

    def _next(self) -> Any:
        until = time.monotonic() + _SECONDS
        while b"\0" not in self._received:
            ready, _, _ = select.select([self._read], [], [], max(0, until - time.monotonic()))
            data = os.read(self._read, 1 << 20) if ready else b""
            if not data:
                raise TimeoutError(f"no message of the browser in {_SECONDS} s")
            self._received += data
        message, _, self._received = self._received.partition(b"\0")
        return json.loads(message)


@contextlib.contextmanager
def browser() -> Iterator[Browser]:
    """A browser with a profile of its own, which ends with the block."""
    assert CHROMIUM is not None
    ends = [fd for pipe in (os.pipe(), os.pipe()) for fd in pipe]
    # The browser reads from 3 and writes to 4, which must not overwrite one of the ends.
    to_browser, from_test, to_test, from_browser = (
        fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 100) for fd in ends
    )
    for fd in ends:
        os.close(fd)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [
            *(CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
            *("--no-first-run", "--disable-extensions", "--disable-background-networking"),
            *("--disable-dev-shm-usage", "--remote-debugging-pipe", f"--user-data-dir={profile}"),
        ]
        actions = [
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_DUP2, to_browser, 3),
            (os.POSIX_SPAWN_DUP2, from_browser, 4),
        ]
        process = os.posix_spawn(CHROMIUM, command, os.environ, file_actions=actions, setpgroup=0)
        os.close(to_browser)
        os.close(from_browser)
        try:
            yield Browser(from_test, to_test)
        finally:
            os.close(from_test)
            os.close(to_test)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process, signal.SIGKILL)
            os.waitpid(process, 0)
