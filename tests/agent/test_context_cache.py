"""A cache kept by a task, against the emulator: made, refreshed, lost and made again, deleted; on a
clock of the test's.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from wire import AsyncClient, gemini
from wire.agent import CacheKeeper, keep
from wire.testing.emulator import AsyncEmulatorTransport, Emulator

SHARED = gemini.GenerateContentRequest(
    system_instruction=gemini.contents("All about tides. " * 2000)[0]
)
REQUEST = gemini.GenerateContentRequest(contents=gemini.contents("Hi"))


class Clock:
    """A time that only the test moves on."""

    def __init__(self) -> None:
        self.now = 0.0
        self.sleeps: list[float] = []
        self._moved = anyio.Event()

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        until = self.now + seconds
        while self.now < until:
            await self._moved.wait()

    def move(self, seconds: float) -> None:
        self.now += seconds
        self._moved.set()
        self._moved = anyio.Event()


async def until(holds: Callable[[], bool]) -> None:
    with anyio.fail_after(10):
        while not holds():
            await anyio.lowlevel.checkpoint()


@pytest.fixture(params=["asyncio", "trio"])
def kept(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Run `work(keeper, clock, emulator)` inside the block of `keep`."""

    def run(
        work: Callable[[CacheKeeper, Clock, Emulator], Awaitable[None]],
        after: Callable[[Emulator], None],
        **options: Any,
    ) -> None:
        async def main() -> None:
            emulator, clock = Emulator(), Clock()
            async with AsyncClient(
                "gemini", api_key="fake-key", http=AsyncEmulatorTransport(emulator)
            ) as client:
                cache = gemini.ContextCache("gemini-2.5-flash", SHARED, ttl=600, **options)
                async with keep(client, cache, clock=clock, sleep=clock.sleep) as keeper:
                    await work(keeper, clock, emulator)
            after(emulator)

        anyio.run(main, backend=request.param)

    return run


def asked(emulator: Emulator) -> list[str]:
    return [
        f"{each['method']} {each['target'].rpartition('/')[2].partition('?')[0]}"
        for each in emulator.requests
    ]


def test_s3_28_a_cache_is_made_used_refreshed_and_deleted(kept: Any) -> None:
    names: list[str] = []

    async def work(keeper: CacheKeeper, clock: Clock, emulator: Emulator) -> None:
        names.append((keeper.cache.name or "").rpartition("/")[2])
        await keeper.generate(REQUEST)
        assert "systemInstruction" not in emulator.requests[-1]["body"]
        assert emulator.requests[-1]["body"]["cachedContent"] == keeper.cache.name
        await until(lambda: clock.sleeps == [300.0])
        clock.move(299)
        await anyio.lowlevel.checkpoint()
        assert clock.sleeps == [300.0]
        clock.move(1)
        await until(lambda: clock.sleeps == [300.0, 300.0])

    def after(emulator: Emulator) -> None:
        made = [
            "POST gemini-2.5-flash:countTokens",
            "POST cachedContents",
            "POST gemini-2.5-flash:generateContent",
        ]
        assert asked(emulator) == [*made, f"PATCH {names[0]}", f"DELETE {names[0]}"]

    kept(work, after)


def test_a_cache_that_is_lost_is_made_again_at_once(kept: Any) -> None:
    async def work(keeper: CacheKeeper, clock: Clock, emulator: Emulator) -> None:
        first = keeper.cache.name
        await until(lambda: clock.sleeps == [300.0])
        emulator.answer("DELETE", f"/v1beta/{first}", {"x-goog-api-key": "fake-key"}, b"")
        answer = await keeper.generate(REQUEST)
        assert answer.text
        assert (
            "systemInstruction" in emulator.requests[-1]["body"]
        )  # whole, since no answer may depend on the cache
        await until(lambda: keeper.cache.name not in (None, first))
        assert clock.now == 0.0
        assert [note.path for note in keeper.cache.notes] == ["contextCache.use"]

    kept(work, lambda emulator: None)


def test_too_few_tokens_are_not_kept_and_nothing_waits(kept: Any) -> None:
    async def work(keeper: CacheKeeper, clock: Clock, emulator: Emulator) -> None:
        await keeper.generate(REQUEST)
        assert (keeper.cache.name, keeper.cache.due, clock.sleeps) == (None, None, [])

    kept(work, lambda emulator: None, least=10**6)


def test_an_error_of_the_block_deletes_the_cache_and_is_the_callers(kept: Any) -> None:
    seen: list[Emulator] = []

    async def work(keeper: CacheKeeper, clock: Clock, emulator: Emulator) -> None:
        seen.append(emulator)
        raise LookupError("the caller's own")

    with pytest.raises(LookupError, match="the caller's own"):
        kept(work, lambda emulator: None)
    assert asked(seen[0])[-1].startswith("DELETE ")
