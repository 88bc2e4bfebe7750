"""Context managers of streams; any other use raises an error that shows the line to write."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    _AsyncGeneratorContextManager,
    _GeneratorContextManager,
)
from typing import TYPE_CHECKING, Any, NoReturn, ParamSpec, TypeVar

from wire.core.errors import ConfigurationError

P = ParamSpec("P")
T = TypeVar("T")


class Block:
    """Refuses uses that a context manager does not support.

    Python's own message, `'_GeneratorContextManager' object is not iterable`, names neither the
    call nor the remedy.
    """

    __slots__ = ()

    line = ""
    """The line that opens the stream."""

    def _refuse(self, *_: object) -> NoReturn:
        raise ConfigurationError(f"stream: open it as a block, `{self.line}`")

    __iter__ = __next__ = __aiter__ = __anext__ = __await__ = _refuse

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{name}: open the stream as a block, `{self.line}`", name=name)


class ForThreads:
    """Base of what `with` and `for` take: with `async` before them, the error says so."""

    __slots__ = ()
    if not TYPE_CHECKING:  # type checkers know that there are no such methods

        def _without_async(self, *_: object) -> NoReturn:
            name = type(self).__name__
            raise ConfigurationError(
                f"{name}: write `with` and `for` without async; for tasks there is Async{name}"
            )

        __aenter__ = __aexit__ = __aiter__ = _without_async


class ForTasks:
    """Base of what `async with` and `async for` take: without `async`, the error says so."""

    __slots__ = ()
    if not TYPE_CHECKING:

        def _with_async(self, *_: object) -> NoReturn:
            name = type(self).__name__
            raise ConfigurationError(
                f"{name}: write `async with` and `async for`; for threads "
                f"there is {name.removeprefix('Async')}"
            )

        __enter__ = __exit__ = __iter__ = _with_async


class _SyncBlock(Block, _GeneratorContextManager[Any]):
    __aenter__ = __aexit__ = Block._refuse


class _AsyncBlock(Block, _AsyncGeneratorContextManager[Any]):
    __enter__ = __exit__ = Block._refuse


def stream_block(
    line: str,
) -> Callable[[Callable[P, Iterator[T]]], Callable[P, AbstractContextManager[T]]]:
    """Make a context manager of a function that opens a stream, as `contextlib.contextmanager`.

    >>> @stream_block("with texts() as text:")
    ... def texts():
    ...     yield "Hello."
    >>> with texts() as text:
    ...     text
    'Hello.'
    >>> for text in texts():
    ...     text
    Traceback (most recent call last):
    wire.errors.ConfigurationError: stream: open it as a block, `with texts() as text:`
    """
    block = type("StreamBlock", (_SyncBlock,), {"line": line})
    return functools.partial(_decorated, block)


def async_stream_block(
    line: str,
) -> Callable[[Callable[P, AsyncIterator[T]]], Callable[P, AbstractAsyncContextManager[T]]]:
    """Make an async context manager of a function that opens a stream.

    It works as `contextlib.asynccontextmanager`.
    """
    block = type("AsyncStreamBlock", (_AsyncBlock,), {"line": line})
    return functools.partial(_decorated, block)


def _decorated(block: Any, function: Callable[..., Any]) -> Any:
    @functools.wraps(function)
    def opened(*args: Any, **kwargs: Any) -> Any:
        return block(function, args, kwargs)

    return opened
