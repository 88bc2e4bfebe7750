"""`ChatStream` and `AsyncChatStream`: the events of one reply as they arrive."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import TYPE_CHECKING, Generic, Self, TypeVar

from wire.core.account import Account
from wire.core.lazy import Foreign
from wire.core.stream_block import ForTasks, ForThreads, async_stream_block, stream_block
from wire.neutral.messages import Event, Reply, TextDelta, Value_co

if TYPE_CHECKING:
    from wire.http.aio import AsyncStream
    from wire.http.client import Stream

AnyStream = TypeVar("AnyStream", bound="Stream[Event, Reply] | AsyncStream[Event, Reply]")


class ChatStreamState(Foreign, Generic[AnyStream, Value_co]):
    """The part of a stream of a reply that the sync and the async one share."""

    def __init__(self, stream: AnyStream) -> None:
        self._stream = stream

    def partial(self) -> Reply[Value_co | None]:
        """Return the reply so far, built anew each time.

        It reads nothing and may be called at any time. The notes of an incomplete reply contain
        `wire.core.memory.PARTIAL`. Its `stop.reason` is never `end` or `tool_calls`. A tool call
        without complete arguments has `arguments=None`, and `output` is `None`.
        """
        return self._stream.partial()

    @property
    def account(self) -> Account:
        """The account of the call so far: attempts, waits, bytes, times."""
        return self._stream.account


class ChatStream(ForThreads, ChatStreamState["Stream[Event, Reply]", Value_co]):
    """Iterates over the events of one reply, once.

    `reply()` reads to the end and returns what `Chat.ask` would return. `partial()` returns the
    reply so far.
    """

    def __iter__(self) -> Iterator[Event]:
        return self._stream  # itself an iterator: an event costs no call of this class

    def __next__(self) -> Event:
        return next(self._stream)

    def texts(self) -> Iterator[str]:
        """Yield the pieces of the reply's text as they arrive.

        The other events are read and left out. After a `Restart` the text begins anew; only the
        events tell where.
        """
        return (event.text for event in self if type(event) is TextDelta)

    def reply(self) -> Reply[Value_co]:
        """Read to the end and return the complete reply, the same object each time.

        Raises as `Stream.result` and `Chat.ask`.

        >>> from wire import Chat
        >>> from wire.testing.emulator import Emulator, EmulatorTransport
        >>> http = EmulatorTransport(Emulator([{"say": "Hello."}]))
        >>> with Chat("gemini:gemini-3.8-flash", api_key="fake-key", http=http) as chat:
        ...     with chat.stream("Hi") as events:
        ...         events.reply().text
        'Hello.'
        """
        return self._stream.result()

    def close(self) -> None:
        """End this stream alone, at any moment and from any thread. As `Stream.close`."""
        self._stream.close()


class AsyncTexts:
    """Iterates over the texts of events.

    It is no generator, which has to be closed if it is not read to its end: trio warns then.
    """

    def __init__(self, events: AsyncIterator[object]) -> None:
        self._events = events

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        while True:
            event = await anext(self._events)
            if type(event) is TextDelta:
                return event.text


class AsyncChatStream(ForTasks, ChatStreamState["AsyncStream[Event, Reply]", Value_co]):
    """Iterates over the events of one reply, once: `ChatStream` for asyncio and trio."""

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._stream

    async def __anext__(self) -> Event:
        return await anext(self._stream)

    def texts(self) -> AsyncIterator[str]:
        """Iterate over the pieces of the reply's text as they arrive. As `ChatStream.texts`."""
        return AsyncTexts(self)

    async def reply(self) -> Reply[Value_co]:
        """Read to the end and return the complete reply. As `ChatStream.reply`."""
        return await self._stream.result()

    async def aclose(self) -> None:
        """End this stream alone, at any moment and from any task. As `AsyncStream.aclose`."""
        await self._stream.aclose()

    def stop(self) -> bool:
        """Wake the task that reads this stream; return whether one reads. As `AsyncStream.stop`."""
        return self._stream.stop()


@stream_block("with chat.stream(...) as events:")
def stream_events(streams: AbstractContextManager[Stream[Event, Reply]]) -> Iterator[ChatStream]:
    """Yield the stream of a reply, and close it at the end of the block."""
    with streams as stream:
        yield ChatStream(stream)


@async_stream_block("async with chat.stream(...) as events:")
async def async_stream_events(
    streams: AbstractAsyncContextManager[AsyncStream[Event, Reply]],
) -> AsyncIterator[AsyncChatStream]:
    """Yield the stream of a reply, and close it at the end of the block."""
    async with streams as stream:
        yield AsyncChatStream(stream)
