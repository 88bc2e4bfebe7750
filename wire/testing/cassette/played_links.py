"""The links of sessions that a cassette plays, in place of `Link` and `AsyncLink` of a client.

What the recorded server sent goes through the same reader of WebSocket as live bytes do, so limits,
closes and errors are those of a live session. A program that waits for what comes after a message
of its own, and sends nothing for half of its idle clock, gets an error that names that message.
"""

from __future__ import annotations

import math
import threading
import time
from typing import Any

import anyio
import httpx

from wire.core.forks import new_in_child
from wire.core.limits import Limits
from wire.http.duplex import LINK
from wire.http.watchdog import UPGRADE
from wire.http.websocket import WebSocket, accept_of, close_frame, message_frame
from wire.testing.cassette.plot import Ended, Plot, Said

_LONGEST = 60.0
"""Seconds for which a program without an idle clock may wait for a message, and send nothing."""


def opened_response(
    plot: Plot, request: httpx.Request, link: Any, *, timed: bool
) -> httpx.Response:
    """Build the response that opens a session, which `link` plays then."""

    def made(extensions: dict[str, Any], response: httpx.Response, limits: Limits) -> Any:
        return link(plot, response, limits, timed=timed)

    headers = {
        **plot.headers,
        "connection": "Upgrade",
        "upgrade": "websocket",
        "sec-websocket-accept": accept_of(request.extensions[UPGRADE]),
    }
    return httpx.Response(plot.status, headers=headers, content=b"", extensions={LINK: made})


class _Playing:
    """What both links have: the plot, and the reader that gets what the server sends."""

    def __init__(
        self, plot: Plot, response: httpx.Response, limits: Limits, *, timed: bool
    ) -> None:
        self.websocket: WebSocket = WebSocket(limits)
        self._plot, self._response, self._timed = plot, response, timed
        self._is_asked = False
        self._wait()  # the times of the recording begin now

    def _wait(self) -> float:
        return self._plot.wait(time.monotonic(), timed=self._timed)

    def _take(self) -> None:
        """Read what comes next. Raises the error of a connection that broke."""
        step = self._plot.take(time.monotonic())
        if isinstance(step, Said):
            self.websocket.feed(message_frame(step.data, is_text=step.is_text))
        else:
            self._finish(step)
        self.websocket.output()

    def _finish(self, ended: Ended) -> None:
        if ended.close is not None:
            self.websocket.feed(close_frame(ended.close.code, ended.close.reason))
        elif ended.end == "cut":
            self.websocket.feed(b"")
        elif ended.end == "timeout":
            raise TimeoutError
        else:
            raise httpx.ReadError(f"the recording ends here: {ended.end}")

    def _send(self, message: bytes) -> None:
        self.websocket.send(message)
        self._plot.send(message, time.monotonic())

    def _asked(self) -> bool:
        """Return whether the server was asked for a sign of life, which it gives."""
        asked, self._is_asked = self._is_asked, False
        return asked

    def _ask(self) -> None:
        if self._wait() == math.inf:
            raise self._plot.stuck()
        self._is_asked = True


class PlayedLink(_Playing):
    """Plays a session for threads."""

    def __init__(
        self, plot: Plot, response: httpx.Response, limits: Limits, *, timed: bool
    ) -> None:
        self._changed = threading.Condition()
        new_in_child(self, _changed=threading.Condition)
        super().__init__(plot, response, limits, timed=timed)

    def read(self, seconds: float) -> bool:
        """Read once; return whether anything, or the end, came within so many seconds."""
        ends = time.monotonic() + min(seconds, _LONGEST)
        with self._changed:
            while not (self.websocket.over or self._asked()):
                if (wait := self._wait()) <= 0:
                    self._take()
                    return True
                left = ends - time.monotonic()
                if left <= 0:
                    if seconds > _LONGEST and wait == math.inf:
                        raise self._plot.stuck()
                    return False
                self._changed.wait(min(wait, left))
        return True

    def send(self, message: bytes, seconds: float) -> None:
        """Take a message of the client; raises `CassetteError` for one that is not recorded."""
        with self._changed:
            self._send(message)
            self._changed.notify_all()

    def ping(self) -> None:
        """Ask whether the server is there."""
        with self._changed:
            self._ask()

    def stop(self) -> None:
        """End the session: whoever waits wakes up."""
        with self._changed:
            self.websocket.close()
            self._changed.notify_all()

    def end(self) -> None:
        """Close the response."""
        self._response.close()


class AsyncPlayedLink(_Playing):
    """Plays a session for asyncio and trio."""

    def __init__(
        self, plot: Plot, response: httpx.Response, limits: Limits, *, timed: bool
    ) -> None:
        super().__init__(plot, response, limits, timed=timed)
        self._changed = anyio.Event()

    async def read(self, seconds: float) -> bool:
        """Read once; return whether anything, or the end, came within so many seconds."""
        ends = time.monotonic() + min(seconds, _LONGEST)
        await anyio.lowlevel.checkpoint()  # as on a connection, other tasks get their turn
        while not (self.websocket.over or self._asked()):
            if (wait := self._wait()) <= 0:
                self._take()
                return True
            left = ends - time.monotonic()
            if left <= 0:
                if seconds > _LONGEST and wait == math.inf:
                    raise self._plot.stuck()
                return False
            with anyio.move_on_after(min(wait, left)):
                await self._changed.wait()
        return True

    async def send(self, message: bytes, seconds: float) -> None:
        """Take a message of the client; raises `CassetteError` for one that is not recorded."""
        await anyio.lowlevel.checkpoint()
        self._send(message)
        self._wake()

    async def ping(self, seconds: float) -> None:
        """Ask whether the server is there."""
        self._ask()

    async def close(self) -> None:
        """End the session: a task that waits wakes up."""
        self.websocket.close()
        self._wake()
        await self._response.aclose()

    def _wake(self) -> None:
        changed, self._changed = self._changed, anyio.Event()
        changed.set()
