"""A client behind plain functions, whatever runs below: a test is written once, and runs on
threads, asyncio and trio.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import anyio
from anyio.from_thread import BlockingPortal, start_blocking_portal

from wire import Account, AsyncClient, Client, openai
from wire.neutral import messages as chat


@dataclass
class Heard:
    """A stream that was read: its chunks, the neutral events made of them, and what they
    came to.
    """

    chunks: list[openai.ChatCompletionChunk] = field(default_factory=list)
    events: list[chat.Event] = field(default_factory=list)
    answer: Any = None
    """What had come when its block was left: all of it, unless it was left early."""
    account: Account | None = None


class Door(Protocol):
    @property
    def client(self) -> Client | AsyncClient: ...

    def send(self, call: Any) -> Any: ...

    def read(self, call: Any, most: int | None = None) -> Heard:
        """Read a stream; leave its block after `most` chunks."""
        ...

    def cancel(self, call: Any, after: int) -> Heard:
        """Read so many chunks, then give up as one does in this style."""
        ...


@contextmanager
def opened(style: str, url: str, name: str = "llama.cpp") -> Iterator[Door]:
    if style == "sync":
        with Client(name, base_url=url) as client:
            yield _SyncDoor(client)
    else:
        with (
            start_blocking_portal(style) as portal,
            portal.wrap_async_context_manager(AsyncClient(name, base_url=url)) as client,
        ):
            yield _AsyncDoor(client, portal)


@dataclass
class _SyncDoor:
    client: Client

    def send(self, call: Any) -> Any:
        return self.client.send(call)

    def read(self, call: Any, most: int | None = None) -> Heard:
        heard, reading = (
            Heard(),
            openai.EventReader(self.client.dialect or openai.PLAIN, body=call.body),
        )
        with self.client.stream(call) as chunks:
            for chunk in chunks:
                heard.chunks.append(chunk)
                heard.events += reading.feed(chunk)
                if len(heard.chunks) == most:
                    break
        heard.events += reading.close()
        heard.answer, heard.account = chunks.partial(), chunks.account
        return heard

    def cancel(self, call: Any, after: int) -> Heard:
        """An exception is what ends a thread's work from inside."""
        heard = Heard()
        try:
            with self.client.stream(call) as chunks:
                for chunk in chunks:
                    heard.chunks.append(chunk)
                    if len(heard.chunks) == after:
                        raise KeyboardInterrupt
        except KeyboardInterrupt:
            heard.answer = chunks.partial()
        return heard


@dataclass
class _AsyncDoor:
    client: AsyncClient
    portal: BlockingPortal

    def send(self, call: Any) -> Any:
        return self.portal.call(self.client.send, call)

    def read(self, call: Any, most: int | None = None) -> Heard:
        heard: Heard = self.portal.call(self._read, call, most)
        return heard

    def cancel(self, call: Any, after: int) -> Heard:
        heard: Heard = self.portal.call(self._cancel, call, after)
        return heard

    async def _read(self, call: Any, most: int | None) -> Heard:
        heard, reading = (
            Heard(),
            openai.EventReader(self.client.dialect or openai.PLAIN, body=call.body),
        )
        async with self.client.stream(call) as chunks:
            async for chunk in chunks:
                heard.chunks.append(chunk)
                heard.events += reading.feed(chunk)
                if len(heard.chunks) == most:
                    break
        heard.events += reading.close()
        heard.answer, heard.account = chunks.partial(), chunks.account
        return heard

    async def _cancel(self, call: Any, after: int) -> Heard:
        heard = Heard()
        with anyio.CancelScope() as scope:
            async with self.client.stream(call) as chunks:
                async for chunk in chunks:
                    heard.chunks.append(chunk)
                    if len(heard.chunks) == after:
                        scope.cancel()
        assert scope.cancelled_caught
        heard.answer = chunks.partial()
        return heard
