"""A context cache kept alive beside the work that uses it: made at the start, refreshed in time,
deleted at the end (S3-28).

What is due, and when, the cache itself says (`wire.gemini.ContextCache`); here is only the task
that waits for it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio

from wire.gemini.context_cache import ContextCache
from wire.gemini.types import GenerateContentRequest, GenerateContentResponse
from wire.http.aio import AsyncClient


class CacheKeeper:
    """A cache and its client while a task looks after it; made by `keep`."""

    def __init__(self, client: AsyncClient, cache: ContextCache) -> None:
        self.cache = cache
        self._client = client
        self._lost = anyio.Event()

    async def generate(self, request: GenerateContentRequest) -> GenerateContentResponse:
        """Send a request without what the cache holds; one that the server has lost is made anew,
        and the request goes whole.
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
            # A cache that was lost is due at once, and the wait for the next refresh is over.
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
    """Make the cache, keep it while the block runs, delete it at the end. It raises nothing of its
    own: `cache.notes` tells.

    async with keep(client, ContextCache(model, shared)) as kept:
        answer = await kept.generate(request)
    """
    await client.run(cache.tick(clock()))
    keeper = CacheKeeper(client, cache)
    own: Exception | None = None
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(keeper._look_after, clock, sleep)
            try:
                yield keeper
            except Exception as error:  # out of the task group it would come wrapped in a group
                own = error
            tasks.cancel_scope.cancel()
        if own is not None:
            raise own
    finally:
        with anyio.CancelScope(shield=True):
            await client.run(cache.close())
