"""`keep`: a task that creates a context cache, refreshes it in time and deletes it (S3-28).

`wire.gemini.ContextCache` decides when the cache is created, refreshed and deleted; this task only
waits.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio

from wire.gemini.context_cache import ContextCache
from wire.gemini.types import GenerateContentRequest, GenerateContentResponse
from wire.http.aio import AsyncClient


class CacheKeeper:
    """A cache that a task keeps alive, and its client; `keep` makes it."""

    def __init__(self, client: AsyncClient, cache: ContextCache) -> None:
        self.cache = cache
        self._client = client
        self._lost = anyio.Event()

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
