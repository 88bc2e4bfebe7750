"""The interface of a model: it answers a conversation with a reply, or with the reply's events.

`wire.Chat` is a `Model` and `wire.AsyncChat` is an `AsyncModel`. Classes of your own need the same
two methods and no base class.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from typing import Any, Protocol, TypeAlias, TypeGuard, TypeVar

import anyio
import msgspec

from wire.neutral.messages import (
    Event,
    Message,
    Reply,
)
from wire.neutral.request import Tool
from wire.tools import ToolRun

AnyModel = TypeVar("AnyModel")


class MessageJoined(msgspec.Struct, frozen=True):
    """A message that was sent to the run is part of its next request."""

    message: Message
    """As it is in the conversation."""


AgentEvent: TypeAlias = Event | ToolRun | MessageJoined
"""An event of a run: those of the model's replies, each reply ended by `Done`; a `ToolRun` for each
call that got its result; and a `MessageJoined` for each message that was sent to it.
"""


class Model(Protocol):
    """A model for threads, such as `wire.Chat`. An agent uses it for one request at a time."""

    def ask(
        self,
        *,
        messages: Sequence[Message],
        system: str = "",
        tools: Sequence[Tool] = (),
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> Reply:
        """Return the complete reply to a conversation.

        Agents pass each setting only if it was given. `wire.chat.Settings` documents them.
        """
        ...

    def stream(
        self,
        *,
        messages: Sequence[Message],
        system: str = "",
        tools: Sequence[Tool] = (),
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> AbstractContextManager[Iterable[Event]]:
        """Return the events of the same reply. The last one is `Done`, which holds the reply."""
        ...


class AsyncModel(Protocol):
    """A model for asyncio and trio, such as `wire.AsyncChat`."""

    async def ask(
        self,
        *,
        messages: Sequence[Message],
        system: str = "",
        tools: Sequence[Tool] = (),
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> Reply:
        """Return the complete reply to a conversation. As `Model.ask`."""
        ...

    def stream(
        self,
        *,
        messages: Sequence[Message],
        system: str = "",
        tools: Sequence[Tool] = (),
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> AbstractAsyncContextManager[AsyncIterable[Event]]:
        """Return the events of the same reply. As `Model.stream`."""
        ...


def is_model(value: Any) -> TypeGuard[Model]:
    """Return whether `value` has the methods of a `Model`, and its `ask` is a plain function."""
    return _has_methods(value) and not inspect.iscoroutinefunction(value.ask)


def is_async_model(value: Any) -> TypeGuard[AsyncModel]:
    """Return whether `value` has the methods of an `AsyncModel`, and its `ask` is an async
    function.
    """
    return _has_methods(value) and inspect.iscoroutinefunction(value.ask)


def _has_methods(value: Any) -> bool:
    # A class in place of its instance has the methods too, but they need an instance.
    return (
        not isinstance(value, type)
        and callable(getattr(value, "ask", None))
        and callable(getattr(value, "stream", None))
    )


def model_name(model: Model | AsyncModel) -> str:
    """Return the model's own name, as tools get it in their context; empty if it has none."""
    return str(getattr(model, "model", ""))


async def close_model(model: Any) -> None:
    """Close a model or provider that has an `aclose`."""
    close = getattr(model, "aclose", None)
    if close is not None:
        await close()


@asynccontextmanager
async def closing_model(model: AnyModel) -> AsyncIterator[AnyModel]:
    """Close the model at the end of the block, even if the block is cancelled."""
    try:
        yield model
    finally:
        with anyio.CancelScope(shield=True):
            await close_model(model)
