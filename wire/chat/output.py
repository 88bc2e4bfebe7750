"""Streams of replies with `output=`, which ask again after a reply that does not fit.

Each reply is a stream of its own. The events of one that did not fit were handed out when its error
is known, so a `Restart` comes before those of the next one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack
from typing import TYPE_CHECKING, Any, Self

from wire.chat.stream import AsyncChatStream, ChatStream
from wire.core.call import StreamCall
from wire.core.errors import OutputError, WireError
from wire.core.stream_block import async_stream_block, stream_block
from wire.neutral.messages import Done, Event, Reply, Restart
from wire.neutral.output_calls import again, answered

if TYPE_CHECKING:
    from wire.http.aio import AsyncClient
    from wire.http.client import Client


class _Asking:
    """The call that is sent, and its outcome."""

    def __init__(self, call: StreamCall[Event, Reply]) -> None:
        self.call = call
        self.error: WireError | None = None
        """The error of a call that could not be sent: nothing follows it."""
        self.left: bool = False
        """Whether the block was left: nothing would close another stream."""
        self._restarts: list[Restart] = []
        self._received: Reply | None = None
        self._reply: Reply | None = None

    def again(self, error: OutputError) -> None:
        """Take the next call. Raises the error if there is none."""
        if self.left:
            raise error
        self.call = again(self.call, error)
        self._restarts.append(Restart(error.message, error.partial))

    def restart(self) -> Restart | None:
        """Return the next `Restart`. Raises the error after which nothing follows."""
        if self.error is not None:
            raise self.error
        return self._restarts.pop(0) if self._restarts else None

    def reply(self, received: Reply) -> Reply:
        """Return the reply that the caller gets, the same object each time."""
        if self._received is not received or self._reply is None:
            self._received, self._reply = received, answered(self.call, received)
        return self._reply

    def event(self, event: Event) -> Event:
        """Return the event that the caller gets."""
        return Done(self.reply(event.reply)) if type(event) is Done else event


class OutputStream(ChatStream[Any]):
    """A `ChatStream` that asks again."""

    def __init__(self, client: Client, call: StreamCall[Event, Reply], block: ExitStack) -> None:
        self._client, self._block = client, block
        self._asking = _Asking(call)
        self._open()

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Event:
        if (restart := self._asking.restart()) is not None:
            return restart
        try:
            return self._asking.event(next(self._stream))
        except OutputError as error:
            self._ask_again(error)
        return next(self)  # its `Restart`

    def reply(self) -> Reply:
        """Read to the end of a reply that fits and return it, the same object each time."""
        while True:
            while self._asking.restart() is not None:
                pass  # its events are skipped, too
            try:
                reply = self._stream.result()
            except OutputError as error:
                self._ask_again(error)
            else:
                return self._asking.reply(reply)

    def partial(self) -> Reply:
        """Return the reply so far, with those before it in `reasks`."""
        return answered(self._asking.call, self._stream.partial())

    def close(self) -> None:
        """End this stream alone, at any moment and from any thread. As `Stream.close`."""
        self._asking.left = True
        self._stream.close()

    def _ask_again(self, error: OutputError) -> None:
        self._asking.again(error)
        self._block.close()
        try:
            self._open()
        except WireError as failed:
            self._asking.error = failed
            raise failed from error

    def _open(self) -> None:
        while True:
            try:
                self._stream = self._block.enter_context(self._client.stream(self._asking.call))
            except OutputError as error:  # it has no events, such as an empty reply
                self._asking.again(error)
            else:
                if self._asking.left:  # closed by another thread meanwhile
                    self._stream.close()
                return


class AsyncOutputStream(AsyncChatStream[Any]):
    """`OutputStream` for asyncio and trio."""

    def __init__(
        self, client: AsyncClient, call: StreamCall[Event, Reply], block: AsyncExitStack
    ) -> None:
        self._client, self._block = client, block
        self._asking = _Asking(call)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        if (restart := self._asking.restart()) is not None:
            return restart
        try:
            return self._asking.event(await anext(self._stream))
        except OutputError as error:
            await self._ask_again(error)
        return await anext(self)  # its `Restart`

    async def reply(self) -> Reply:
        """Read to the end of a reply that fits and return it, the same object each time."""
        while True:
            while self._asking.restart() is not None:
                pass  # its events are skipped, too
            try:
                reply = await self._stream.result()
            except OutputError as error:
                await self._ask_again(error)
            else:
                return self._asking.reply(reply)

    def partial(self) -> Reply:
        """Return the reply so far, with those before it in `reasks`."""
        return answered(self._asking.call, self._stream.partial())

    async def aclose(self) -> None:
        """End this stream alone, at any moment and from any task. As `AsyncStream.aclose`."""
        self._asking.left = True
        await self._stream.aclose()

    def stop(self) -> bool:
        """Wake the task that reads this stream; return whether one reads. As `AsyncStream.stop`."""
        self._asking.left = True
        return self._stream.stop()

    async def _ask_again(self, error: OutputError) -> None:
        self._asking.again(error)
        await self._block.aclose()
        try:
            await self._open()
        except WireError as failed:
            self._asking.error = failed
            raise failed from error

    async def _open(self) -> Self:
        while True:
            try:
                self._stream = await self._block.enter_async_context(
                    self._client.stream(self._asking.call)
                )
            except OutputError as error:  # it has no events, such as an empty reply
                self._asking.again(error)
            else:
                if self._asking.left:  # closed by another task meanwhile
                    await self._stream.aclose()
                return self


@stream_block("with chat.stream(...) as events:")
def output_events(client: Client, call: StreamCall[Event, Reply]) -> Iterator[OutputStream]:
    """Open the stream of a call with an output type."""
    with ExitStack() as block:
        stream = OutputStream(client, call, block)
        try:
            yield stream
        finally:
            stream._asking.left = True


@async_stream_block("async with chat.stream(...) as events:")
async def async_output_events(
    client: AsyncClient, call: StreamCall[Event, Reply]
) -> AsyncIterator[AsyncOutputStream]:
    """Open the stream of a call with an output type."""
    async with AsyncExitStack() as block:
        stream = await AsyncOutputStream(client, call, block)._open()
        try:
            yield stream
        finally:
            stream._asking.left = True
