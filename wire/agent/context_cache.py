"""Context caches of agents, and `keep`, a task that refreshes a cache in time (S3-28).

`wire.gemini.ContextCache` decides when a cache is created, refreshed and deleted. `CachedChat` and
`AsyncCachedChat` ask it before each request of an agent; the task of `keep` waits for the next time
between requests too.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterator,
    Sequence,
)
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from typing import Any, TypeVar, Unpack

import anyio

from wire.chat.chat import AsyncChat, Chat
from wire.chat.state import RequestOptions
from wire.core.arguments import checked_arguments
from wire.core.call import Call, StreamCall
from wire.core.errors import ConfigurationError, WireError
from wire.core.flow import Flow
from wire.core.memory import with_notes
from wire.gemini.context_cache import (
    MIN_CACHED_TOKENS,
    ContextCache,
    check_options,
    shared_beginning,
)
from wire.gemini.types import GenerateContentRequest, GenerateContentResponse
from wire.http.aio import AsyncClient
from wire.neutral.messages import Done, Event, Message, Reply

AnyCall = TypeVar("AnyCall", bound=Call[Any] | StreamCall[Any, Any])

# --- caches of agents -----------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CachePolicy:
    """How an agent keeps its system prompt and its tools in a context cache of Gemini.

        agent = LLMAgent(chat, system_prompt, tools=tools, cache=CachePolicy(ttl=600))

    The cache is created before the first request, refreshed at a request after half of `ttl`,
    created anew if the server has lost it, and deleted when the agent is closed. Requests are sent
    without it as long as it does not exist. What goes wrong is in the notes of the next reply. A
    cache costs money while it lives.

    Raises `ConfigurationError` that names the field, `RuleError` for a `ttl` out of range.
    """

    ttl: float = 3600.0
    """Lifetime in seconds from the last refresh."""
    least: int = MIN_CACHED_TOKENS
    """The minimum number of tokens to cache. Some models require 4,096."""
    display_name: str | None = None
    """Name of the cache on the server, for your own use."""

    def __post_init__(self) -> None:
        check_options(self.ttl, self.least, self.display_name)


_LIFETIMES = {"auto": 300.0, "long": 3600.0}
"""Value of the setting `caching` -> `ttl` of the cache that an agent keeps, in seconds. Short,
because a cache costs money until it expires if the agent is not closed."""


@checked_arguments(ConfigurationError)
def policy_of(model: object, cache: CachePolicy | None, caching: str | None) -> CachePolicy | None:
    """Return the policy of an agent with these options; `None` if it keeps no context cache.

    >>> with Chat("gemini:gemini-3.8-flash", api_key="fake-key", caching="auto") as chat:
    ...     policy_of(chat, None, None).ttl, policy_of(chat, None, "off")
    (300.0, None)
    """
    if cache is not None or not isinstance(model, Chat | AsyncChat):
        return cache
    ttl = _LIFETIMES.get(caching or model.caching or "")
    return CachePolicy(ttl=ttl) if ttl is not None and model.client.wire == "gemini" else None


class _CacheState:
    """The cache of one chat: the part that `CachedChat` and `AsyncCachedChat` share."""

    @checked_arguments(ConfigurationError)
    def __init__(
        self, chat: Chat | AsyncChat, policy: CachePolicy, clock: Callable[[], float]
    ) -> None:
        if not isinstance(policy, CachePolicy):
            raise ConfigurationError(f"cache: expected a CachePolicy, not {type(policy).__name__}")
        if not isinstance(chat, Chat | AsyncChat) or chat.client.wire != "gemini":
            name = getattr(chat, "provider", "") or type(chat).__name__
            raise ConfigurationError(
                f"cache: {name} has no context caches; the model must be a chat of gemini or "
                "gemini@vertex"
            )
        self.policy = policy
        self.cache: ContextCache | None = None
        """`None` before the first request."""
        self._model = chat.model
        self._clock = clock
        self._reported = 0

    @checked_arguments(ConfigurationError)
    def prepared(self, call: AnyCall) -> Flow[AnyCall]:
        """Return a flow that creates or refreshes the cache if that is due.

        It returns the call to send now.
        """
        shared = shared_beginning(call)
        if shared is None:
            return call
        if self.cache is None or self.cache.shared != shared:
            yield from self.closed()
            self._reported = 0
            self.cache = ContextCache(
                self._model,
                shared,
                ttl=self.policy.ttl,
                least=self.policy.least,
                display_name=self.policy.display_name,
            )
        now = self._clock()
        yield from self.cache.tick(now)
        yield from self.cache.tick(now)  # due again if the cache could not be refreshed
        return self.cache.shortened(call)

    def closed(self) -> Flow[None]:
        """Return a flow that deletes the cache."""
        if self.cache is not None:
            yield from self.cache.close()

    @checked_arguments(ConfigurationError)
    def lost(self, error: WireError, sent: Any, call: Any) -> bool:
        """Return whether the call that was `sent` failed because the server has lost the cache."""
        return sent is not call and self.cache is not None and self.cache.lost(error)

    @checked_arguments(ConfigurationError)
    def noted(self, reply: Reply) -> Reply:
        """Return the reply, with the notes on the cache since the last reply."""
        notes = self.cache.notes if self.cache is not None else []
        with_notes(reply, notes[self._reported :])
        self._reported = len(notes)
        return reply

    @checked_arguments(ConfigurationError)
    def noted_event(self, event: Event) -> Event:
        """Return the event that holds the reply, with the notes of `noted`."""
        if isinstance(event, Done):
            self.noted(event.reply)
        return event


class CachedChat(_CacheState):
    """A `Chat` of Gemini as a `Model` that keeps a context cache; an agent makes it of `cache=`."""

    @checked_arguments(ConfigurationError)
    def __init__(
        self, chat: Chat, policy: CachePolicy, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(chat, policy, clock)
        self.chat = chat
        self.model: str = chat.model

    @checked_arguments(ConfigurationError)
    def ask(self, *, messages: Sequence[Message], **settings: Unpack[RequestOptions]) -> Reply:
        """Return the complete reply to a conversation. As `Chat.ask`."""
        client = self.chat.client
        call = self.chat.call(messages=messages, **settings)
        sent = client.run(self.prepared(call))
        try:
            return self.noted(client.send(sent))
        except WireError as error:
            if not self.lost(error, sent, call):
                raise
        return self.noted(client.send(call))

    @checked_arguments(ConfigurationError)
    @contextmanager
    def stream(
        self, *, messages: Sequence[Message], **settings: Unpack[RequestOptions]
    ) -> Iterator[Iterator[Event]]:
        """Return the events of the same reply. As `Chat.stream`."""
        client = self.chat.client
        call = self.chat.stream_call(messages=messages, **settings)
        sent = client.run(self.prepared(call))
        with ExitStack() as stack:
            try:
                events = stack.enter_context(client.stream(sent))
            except WireError as error:
                if not self.lost(error, sent, call):
                    raise
                events = stack.enter_context(client.stream(call))
            yield map(self.noted_event, events)

    def close(self) -> None:
        """Delete the cache and close the chat."""
        try:
            self.chat.client.run(self.closed())
        finally:
            self.chat.close()


class AsyncCachedChat(_CacheState):
    """`CachedChat` for asyncio and trio: an `AsyncModel` made of an `AsyncChat`."""

    @checked_arguments(ConfigurationError)
    def __init__(
        self, chat: AsyncChat, policy: CachePolicy, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(chat, policy, clock)
        self.chat = chat
        self.model: str = chat.model

    @checked_arguments(ConfigurationError)
    async def ask(
        self, *, messages: Sequence[Message], **settings: Unpack[RequestOptions]
    ) -> Reply:
        """Return the complete reply to a conversation. As `AsyncChat.ask`."""
        client = self.chat.client
        call = self.chat.call(messages=messages, **settings)
        sent = await client.run(self.prepared(call))
        try:
            return self.noted(await client.send(sent))
        except WireError as error:
            if not self.lost(error, sent, call):
                raise
        return self.noted(await client.send(call))

    @checked_arguments(ConfigurationError)
    @asynccontextmanager
    async def stream(
        self, *, messages: Sequence[Message], **settings: Unpack[RequestOptions]
    ) -> AsyncIterator[AsyncIterator[Event]]:
        """Return the events of the same reply. As `AsyncChat.stream`."""
        client = self.chat.client
        call = self.chat.stream_call(messages=messages, **settings)
        sent = await client.run(self.prepared(call))
        async with AsyncExitStack() as stack:
            try:
                events = await stack.enter_async_context(client.stream(sent))
            except WireError as error:
                if not self.lost(error, sent, call):
                    raise
                events = await stack.enter_async_context(client.stream(call))
            yield self._noted_events(events)

    async def _noted_events(self, events: AsyncIterable[Event]) -> AsyncIterator[Event]:
        async for event in events:
            yield self.noted_event(event)

    async def aclose(self) -> None:
        """Delete the cache and close the chat."""
        try:
            await self.chat.client.run(self.closed())
        finally:
            await self.chat.aclose()


# --- a cache of your own, refreshed by a task -----------------------------------------------------


class CacheKeeper:
    """A cache that a task keeps alive, and its client; `keep` makes it."""

    @checked_arguments(ConfigurationError)
    def __init__(self, client: AsyncClient, cache: ContextCache) -> None:
        self.cache = cache
        self._client = client
        self._lost = anyio.Event()

    @checked_arguments(ConfigurationError)
    async def generate(self, request: GenerateContentRequest) -> GenerateContentResponse:
        """Send a request without the contents that are in the cache.

        If the server has lost the cache, the complete request is sent and the cache is created
        again.
        """
        had = self.cache.name
        answer = await self._client.run(self.cache.generate(request))
        if had is not None and self.cache.name is None:
            self._lost.set()
        return answer

    async def _look_after(
        self, clock: Callable[[], float], sleep: Callable[[float], Awaitable[object]]
    ) -> None:
        while self.cache.due is not None:
            # A lost cache is due at once, so losing it ends the wait for the next refresh.
            async with anyio.create_task_group() as either:

                async def wait(
                    over: Callable[[], Awaitable[object]],
                    scope: anyio.CancelScope = either.cancel_scope,
                ) -> None:
                    await over()
                    scope.cancel()

                due = max(0.0, self.cache.due - clock())
                either.start_soon(wait, lambda due=due: sleep(due))
                either.start_soon(wait, self._lost.wait)
            self._lost = anyio.Event()
            await self._client.run(self.cache.tick(clock()))


@checked_arguments(ConfigurationError)
@asynccontextmanager
async def keep(
    client: AsyncClient,
    cache: ContextCache,
    *,
    clock: Callable[[], float] = anyio.current_time,
    sleep: Callable[[float], Awaitable[object]] = anyio.sleep,
) -> AsyncIterator[CacheKeeper]:
    """Create the cache, keep it alive during the block, delete it at the end.

        async with keep(client, ContextCache(model, shared)) as keeper:
            response = await keeper.generate(request)

    Failures of the cache itself are not raised; they are in `cache.notes`.
    """
    await client.run(cache.tick(clock()))
    keeper = CacheKeeper(client, cache)
    own: Exception | None = None
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(keeper._look_after, clock, sleep)
            try:
                yield keeper
            except Exception as error:  # the task group would wrap it in an ExceptionGroup
                own = error
            tasks.cancel_scope.cancel()
        if own is not None:
            raise own
    finally:
        with anyio.CancelScope(shield=True):
            await client.run(cache.close())
