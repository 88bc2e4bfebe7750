"""The same calls through the client for threads, for asyncio and for trio: every test of a shell
runs on all three.
"""

from __future__ import annotations

import contextlib
import functools
import os
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from wire import Account, AsyncClient, Client, WireError, gemini, retry
from wire.http.async_lanes import AsyncLanes

CALL = gemini.generate_content("m", gemini.GenerateContentRequest(contents=gemini.contents("Hi")))
STREAM_CALL = gemini.stream_generate_content(
    "m", gemini.GenerateContentRequest(contents=gemini.contents("Hi"))
)


def of_one_loop(lanes: AsyncLanes) -> Any:
    """Lanes, limiter and all, of the one event loop that has used them."""
    (only,) = lanes._loops.values()
    return only


def not_on_httpx2(reason: str) -> pytest.MarkDecorator:
    """Skips a test where `TRANSPORT=httpx2` puts the pool of httpx2 under the clients."""
    return pytest.mark.skipif(os.environ.get("TRANSPORT") == "httpx2", reason=reason)


def not_on_pools(reason: str) -> pytest.MarkDecorator:
    """Skips a test where `TRANSPORT` puts connections of httpx or httpx2 under the clients."""
    is_pool = os.environ.get("TRANSPORT", "").startswith("httpx")
    return pytest.mark.skipif(is_pool, reason=reason)


def httpx2_transport(name: str) -> Any:
    """A transport of httpx2, which `TRANSPORT=httpx2` puts under the clients of the tests."""
    import httpx2

    kind = httpx2.HTTPTransport if name == "sync" else httpx2.AsyncHTTPTransport
    return kind(verify=_checked(os.environ.get("SSL_CERT_FILE")), trust_env=False)


@functools.cache
def _checked(authority: str | None) -> ssl.SSLContext:
    """Read once, since each read of the system's certificates takes milliseconds."""
    return ssl.create_default_context(cafile=authority)


QUICK = retry.Retry(base=0)
"""Three attempts without waits."""


@dataclass
class Streamed:
    """What came of a stream."""

    texts: list[str] = field(default_factory=list)
    error: WireError | None = None
    reply: Any = None
    """The answer so far: the whole one, if there was no error."""
    account: Account | None = None


@dataclass
class Drive:
    """One way of using the library."""

    name: str

    def session(self, work: Callable[[Any], Any], provider: str = "gemini", **options: Any) -> Any:
        """`work(door)` with a door that has plain `send(call)` and `read(call)`, whatever runs
        below.
        """
        options = {"api_key": "fake-key", "retry": QUICK, **options}
        transport = os.environ.get("TRANSPORT")
        if transport == "httpx2":
            options.setdefault("http", httpx2_transport(self.name))
        elif transport == "httpx":
            options.setdefault("http", "httpx")
        if self.name == "sync":
            with Client(provider, **options) as client:
                return work(_SyncDoor(client))

        async def main() -> Any:
            async with AsyncClient(provider, **options) as client:
                return await anyio.to_thread.run_sync(work, _AsyncDoor(client))

        return anyio.run(main, backend=self.name)

    def send(self, call: Any = CALL, **options: Any) -> Any:
        return self.session(lambda door: door.send(call), **options)

    def run(self, flow: Any, **options: Any) -> Any:
        return self.session(lambda door: door.run(flow), **options)

    def read(self, call: Any = STREAM_CALL, **options: Any) -> Streamed:
        return self.session(lambda door: door.read(call), **options)


@dataclass
class _SyncDoor:
    client: Client

    def send(self, call: Any = CALL) -> Any:
        return self.client.send(call)

    def run(self, flow: Any) -> Any:
        return self.client.run(flow)

    def result(self, call: Any) -> Any:
        with self.client.stream(call) as chunks:
            return chunks.result()

    def read(self, call: Any = STREAM_CALL, most: int = 1000) -> Streamed:
        result = Streamed()
        with self.client.stream(call) as chunks:
            try:
                for chunk in chunks:
                    result.texts.append(chunk.text)
                    if len(result.texts) == most:
                        break
            except WireError as error:
                result.error = error
            result.reply, result.account = chunks.partial(), chunks.account
        return result

    def read_events(self, call: Any, most: int = 1000) -> Streamed:
        """As `read`, of a stream whose chunks have no text."""
        result = Streamed()
        with self.client.stream(call) as chunks:
            try:
                for _ in zip(range(most), chunks, strict=False):
                    pass
            except WireError as error:
                result.error = error
        return result

    @contextlib.contextmanager
    def connect(self, call: Any) -> Iterator[Any]:
        """A session with plain `send(event)` and `next()`, which is `None` at the end."""
        with self.client.connect(call) as socket:
            yield SimpleNamespace(
                send=socket.send,
                next=lambda: next(socket.events(), None),
                close=socket.close,
                account=socket.account,
            )


@dataclass
class _AsyncDoor:
    """Called from a worker thread, runs in the event loop."""

    client: AsyncClient

    def send(self, call: Any = CALL) -> Any:
        return anyio.from_thread.run(self.client.send, call)

    def run(self, flow: Any) -> Any:
        return anyio.from_thread.run(self.client.run, flow)

    def result(self, call: Any) -> Any:
        return anyio.from_thread.run(self._result, call)

    async def _result(self, call: Any) -> Any:
        async with self.client.stream(call) as chunks:
            return await chunks.result()

    def read(self, call: Any = STREAM_CALL, most: int = 1000) -> Streamed:
        return anyio.from_thread.run(self._read, call, most)

    async def _read(self, call: Any, most: int) -> Streamed:
        result = Streamed()
        async with self.client.stream(call) as chunks:
            try:
                async for chunk in chunks:
                    result.texts.append(chunk.text)
                    if len(result.texts) == most:
                        break
            except WireError as error:
                result.error = error
            result.reply, result.account = chunks.partial(), chunks.account
        return result

    def read_events(self, call: Any, most: int = 1000) -> Streamed:
        return anyio.from_thread.run(self._read_events, call, most)

    async def _read_events(self, call: Any, most: int) -> Streamed:
        result = Streamed()
        async with self.client.stream(call) as chunks:
            try:
                for _ in range(most):
                    if await anext(chunks, None) is None:
                        break
            except WireError as error:
                result.error = error
        return result

    @contextlib.contextmanager
    def connect(self, call: Any) -> Iterator[Any]:
        run = anyio.from_thread.run
        block = self.client.connect(call)
        socket = run(block.__aenter__)

        async def next_one() -> Any:
            return await anext(socket.events(), None)

        try:
            yield SimpleNamespace(
                send=lambda event: run(socket.send, event),
                next=lambda: run(next_one),
                close=lambda: run(socket.aclose),
                account=socket.account,
            )
        finally:
            run(block.__aexit__, None, None, None)


EVERY = [pytest.param(Drive(name), id=name) for name in ("sync", "asyncio", "trio")]
