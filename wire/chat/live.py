"""Live sessions of a chat: texts and sound in both directions at the same time.

A session joins a WebSocket of the client and the conversation of a wire, which knows what is to be
sent and what the messages of the server mean.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from wire.catalogue.cost import Cost, total_of
from wire.catalogue.usage import Usage
from wire.core.account import Account
from wire.core.errors import (
    ClockError,
    ConnectionLost,
    RuleError,
    StreamError,
    StreamIncomplete,
    Violation,
    WireError,
)
from wire.core.forks import new_in_child
from wire.core.memory import Note
from wire.core.secret import type_name
from wire.core.stream_block import ForTasks, ForThreads, async_stream_block, stream_block
from wire.http.async_links import AsyncSocket
from wire.http.links import Socket
from wire.neutral.live import (
    LiveConversation,
    LiveEvent,
    LiveOptions,
    LiveRequest,
    LiveState,
)
from wire.neutral.live_turns import BYTES_A_SAMPLE
from wire.neutral.messages import Done, Message, Part, Parts, Reply, ToolCall, check_values
from wire.neutral.request import Request
from wire.wires.asking import live_conversation as make

if TYPE_CHECKING:
    from wire.http.aio import AsyncClient
    from wire.http.client import Client

_END: Any = object()


class _Session:
    """What both kinds of sessions share."""

    def __init__(self, conversation: LiveConversation, account: Account) -> None:
        self._conversation = conversation
        self._account = account
        self._pending: deque[LiveEvent] = deque()
        self._replies: list[Reply] = []
        self.received: Any = None
        """The message of the server that the last event was made of, as a struct of its wire."""

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation so far, for a chat with any model.

        What was said is there as text: of an answer that was interrupted, what the user heard of
        it. `(speech)` stands for what the host has not written down.
        """
        return self._conversation.messages

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """The calls without a result. The model goes on when the last result is sent."""
        return self._conversation.open_calls

    @property
    def replies(self) -> tuple[Reply, ...]:
        """All answers that have ended, whole, with their tokens, costs and stop reasons."""
        return tuple(self._replies)

    @property
    def usage(self) -> Usage:
        """The tokens of all answers. Most hosts count the whole conversation for each of them."""
        return sum((reply.usage or Usage() for reply in self._replies), Usage())

    @property
    def cost(self) -> Cost:
        """The cost of all answers in USD."""
        return total_of(reply.cost for reply in self._replies)

    @property
    def notes(self) -> tuple[Note, ...]:
        """Reports of what was changed or dropped."""
        return tuple(self._conversation.notes)

    @property
    def account(self) -> Account:
        """Attempts, bytes, messages received and times of the connection."""
        return self._account

    @property
    def input_rate(self) -> int:
        """Samples in a second of the sound that `send_sound` takes."""
        return self._conversation.input_rate

    @property
    def output_rate(self) -> int:
        """Samples in a second of the model's sound."""
        return self._conversation.output_rate

    @property
    def state(self) -> LiveState:
        """Where the session stands, for `connect(state=...)` of a chat with the same model."""
        conversation = self._conversation
        return LiveState(
            messages=conversation.messages,
            handle=conversation.handle,
            kept=conversation.kept,
            unanswered=conversation.unanswered,
        )

    def _taken(self, message: Any) -> None:
        self.received = message
        for event in self._conversation.receive(message):
            if type(event) is Done:
                self._replies.append(event.reply)
            self._pending.append(event)

    def _failed(self, error: WireError) -> WireError:
        """Add the answer that broke off to an error."""
        if error.partial is None and (partial := self._conversation.partial()) is not None:
            error.partial = partial.reply
        return error

    def _is_left(self, error: BaseException) -> bool:
        """Return whether a message could not be sent because the session has ended.

        Whoever takes the events gets the end, or its error.
        """
        return isinstance(error, StreamError | ConnectionLost | ClockError)

    def _check_end(self) -> None:
        """Raise `StreamIncomplete` if the server has ended the session during an answer."""
        if (partial := self._conversation.partial()) is not None:
            words = "the server ended the session before the end of an answer"
            raise StreamIncomplete(words, partial=partial.reply)


def _parts(given: tuple[Parts, ...]) -> tuple[Part, ...]:
    message = Message.user(*given)
    check_values(message, "parts")
    return message.parts


def _sound(data: bytes) -> bytes:
    if not isinstance(data, bytes | bytearray | memoryview):
        problem = f"expected bytes, not {type_name(data)}"
        raise RuleError(violations=[Violation("data", problem)])
    if not data or len(data) % BYTES_A_SAMPLE:
        problem = f"expected samples of {BYTES_A_SAMPLE} bytes, not {len(data)} bytes"
        raise RuleError(violations=[Violation("data", problem)])
    return bytes(data)


def _seconds(heard: float | None) -> float | None:
    if heard is None:
        return None
    if not isinstance(heard, int | float) or isinstance(heard, bool) or not 0 <= heard < 1e6:
        problem = f"expected seconds, 0 or more, not {heard!r:.40}"
        raise RuleError(violations=[Violation("heard", problem)])
    return float(heard)


class LiveSession(ForThreads, _Session):
    """A live session, for threads. One thread takes the events, and others may send meanwhile."""

    def __init__(self, socket: Socket[Any, Any], conversation: LiveConversation) -> None:
        super().__init__(conversation, socket.account)
        self._socket = socket
        self._lock = threading.Lock()
        new_in_child(self, _lock=threading.Lock)
        conversation.begin()
        self._flush()

    def send(self, *parts: Parts) -> None:
        """Send texts, media and results of tool calls as one message, and ask for an answer.

        Without parts, the model answers what it has. The results of one answer are sent in the
        order of their calls, once the last of them is there.

        Raises `RuleError` for a part that the host does not take, and for the result of a call that
        is not open; and the error of a session that has ended.
        """
        made = _parts(parts)
        with self._lock:
            self._conversation.send(made)
        self._flush()

    def send_sound(self, data: bytes) -> None:
        """Send a piece of the user's sound: samples of 16 bits, mono, little-endian, of which
        `input_rate` are a second. Raises as `send`.
        """
        sound = _sound(data)
        with self._lock:
            self._conversation.send_sound(sound)
        self._flush()

    def end_sound(self) -> None:
        """End the user's speech, and ask for an answer.

        With `turns="server"` it is only needed when no more sound comes, since the server finds the
        end of the speech in the silence behind it.
        """
        with self._lock:
            self._conversation.end_sound()
        self._flush()

    def interrupt(self, heard: float | None = None) -> None:
        """End the answer.

        `heard` tells how many seconds of its sound the user heard: `messages` has it up to there,
        and so does the server, where it can be told. After a `SpeechStart` or `Interrupted` call it
        with what was played. Raises `RuleError` for a time that is none.
        """
        seconds = _seconds(heard)
        with self._lock:
            self._conversation.interrupt(seconds)
        self._flush()

    def events(self) -> Iterator[LiveEvent]:
        """Iterate over the events until the server ends the session.

        It may be left and called again: it goes on with the next event. A connection that breaks
        raises its `WireError`; one that ends during an answer too, with the answer so far as
        `partial`.
        """
        messages = self._socket.events()
        while True:
            while self._pending:
                yield self._pending.popleft()
            try:
                message = next(messages, _END)
            except WireError as error:
                raise self._failed(error) from error.__cause__
            if message is _END:
                self._check_end()
                return
            with self._lock:
                self._taken(message)
            self._flush()

    def close(self) -> None:
        """End the session, from any thread. A thread that takes events gets the end."""
        self._socket.close()

    def _flush(self) -> None:
        with self._lock:
            outbox = self._conversation.outbox
            while outbox:
                self._socket.send(outbox.popleft())


class AsyncLiveSession(ForTasks, _Session):
    """A live session, for asyncio and trio. As `LiveSession`."""

    def __init__(self, socket: AsyncSocket[Any, Any], conversation: LiveConversation) -> None:
        super().__init__(conversation, socket.account)
        self._socket = socket

    async def begin(self) -> None:
        """Send the settings and the conversation before."""
        self._conversation.begin()
        await self._flush()

    async def send(self, *parts: Parts) -> None:
        """Send texts, media and results of tool calls, and ask for an answer. As `LiveSession`."""
        self._conversation.send(_parts(parts))
        await self._flush()

    async def send_sound(self, data: bytes) -> None:
        """Send a piece of the user's sound. As `LiveSession`."""
        self._conversation.send_sound(_sound(data))
        await self._flush()

    async def end_sound(self) -> None:
        """End the user's speech, and ask for an answer. As `LiveSession`."""
        self._conversation.end_sound()
        await self._flush()

    async def interrupt(self, heard: float | None = None) -> None:
        """End the answer, of which the user heard so many seconds. As `LiveSession`."""
        self._conversation.interrupt(_seconds(heard))
        await self._flush()

    def events(self) -> AsyncIterator[LiveEvent]:
        """Iterate over the events until the server ends the session. As `LiveSession`."""
        return _AsyncEvents(self)

    async def aclose(self) -> None:
        """End the session, from any task. A task that takes events gets the end."""
        await self._socket.aclose()

    async def _flush(self) -> None:
        outbox = self._conversation.outbox
        while outbox:
            await self._socket.send(outbox.popleft())


class _AsyncEvents(ForTasks):
    """Not a generator: trio warns about one that is left before its end."""

    __slots__ = ("_messages", "_session")

    def __init__(self, session: AsyncLiveSession) -> None:
        self._session, self._messages = session, session._socket.events()

    def __aiter__(self) -> AsyncIterator[LiveEvent]:
        return self

    async def __anext__(self) -> LiveEvent:
        session = self._session
        while not session._pending:
            try:
                message = await anext(self._messages, _END)
            except WireError as error:
                raise session._failed(error) from error.__cause__
            if message is _END:
                session._check_end()
                raise StopAsyncIteration
            session._taken(message)
            await session._flush()
        return session._pending.popleft()


# --- blocks ---------------------------------------------------------------------------------------


def live_conversation(
    chat: Any, options: LiveOptions, settings: Mapping[str, Any] | None = None
) -> LiveConversation:
    """Build the conversation of a session of a chat.

    `options` are those of `connect`; `settings` those of an agent, which replace the chat's.
    """
    messages, state = options.get("messages"), options.get("state")
    if messages is not None and state is not None:
        raise RuleError(violations=[Violation("state", "it has the messages: give one of both")])
    before: Any = () if messages is None else messages
    request = Request(messages=before, **{**chat.settings, **(settings or {})})
    given: Any = {name: value for name, value in options.items() if name != "messages"}
    return make(LiveRequest(request=request, **given), chat.model, chat.row)


@stream_block("with chat.connect(...) as session:")
def live_block(client: Client, conversation: LiveConversation) -> Iterator[LiveSession]:
    """Open the session, and end it with the block."""
    with client.connect(conversation.call) as socket:
        yield LiveSession(socket, conversation)


@async_stream_block("async with chat.connect(...) as session:")
async def async_live_block(
    client: AsyncClient, conversation: LiveConversation
) -> AsyncIterator[AsyncLiveSession]:
    """Open the session, and end it with the block."""
    async with client.connect(conversation.call) as socket:
        session = AsyncLiveSession(socket, conversation)
        await session.begin()
        yield session
