"""Live sessions of chats and agents in plain steps, on threads, asyncio and trio."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import anyio
import anyio.to_thread
import pytest
from anyio.from_thread import BlockingPortal

from wire import AsyncChat, Chat
from wire.agent import Agent, LLMAgent
from wire.core.errors import ungrouped


@dataclass
class Talk:
    """One way of using the library."""

    name: str

    def chat(self, work: Callable[[Any], Any], model: str, **options: Any) -> Any:
        """`work(door)` with a door whose `connect` opens sessions of a chat."""
        kind: Any = Chat if self.name == "sync" else AsyncChat
        return self._run(work, lambda: kind(model, api_key="fake-key", **options))

    def agent(
        self, work: Callable[[Any], Any], model: str, agent: dict[str, Any], **options: Any
    ) -> Any:
        """The same with those of an agent with such options."""
        chat: Any = Chat if self.name == "sync" else AsyncChat
        kind: Any = Agent if self.name == "sync" else LLMAgent
        return self._run(work, lambda: kind(chat(model, api_key="fake-key", **options), **agent))

    def _run(self, work: Callable[[Any], Any], make: Callable[[], Any]) -> Any:
        if self.name == "sync":
            with make() as owner:
                return work(SimpleNamespace(connect=lambda **given: _sync(owner, given)))

        async def main() -> Any:
            async with make() as owner, BlockingPortal() as portal:
                door = SimpleNamespace(connect=lambda **given: _async(portal, owner, given))
                return await anyio.to_thread.run_sync(work, door)

        try:
            return anyio.run(main, backend=self.name)
        except BaseExceptionGroup as group:  # the portal's own
            raise ungrouped(group) from None


@contextlib.contextmanager
def _sync(owner: Any, given: Any) -> Iterator[Any]:
    with owner.connect(**given) as session:
        session.next = lambda: next(session.events(), None)
        yield session


class _Door:
    """A session of tasks, called from a thread."""

    def __init__(self, portal: BlockingPortal, session: Any) -> None:
        self._portal, self._session = portal, session

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._session, name)
        if name in ("send", "send_sound", "end_sound", "interrupt"):
            return functools.partial(self._portal.call, found)
        return found

    def close(self) -> None:
        self._portal.call(self._session.aclose)

    def next(self) -> Any:
        async def next_one() -> Any:
            return await anext(self._session.events(), None)

        return self._portal.call(next_one)


@contextlib.contextmanager
def _async(portal: BlockingPortal, owner: Any, given: Any) -> Iterator[Any]:
    # Its beginning and its end are in one task, as those of a block of a program.
    with portal.wrap_async_context_manager(owner.connect(**given)) as session:
        yield _Door(portal, session)


EVERY = [pytest.param(Talk(name), id=name) for name in ("sync", "asyncio", "trio")]
