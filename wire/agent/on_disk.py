"""Puts what was written to files on the disk: at once, or when a lock was released."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from wire.core.errors import ConfigurationError

_LATER: ContextVar[list[str] | None] = ContextVar("later", default=None)
"""Files that the block `saved_later` puts on the disk at its end."""


@contextmanager
def saved_later() -> Iterator[Callable[[], None]]:
    """Give a function that puts on the disk what is written to journals inside the block."""
    names: list[str] = []

    def save() -> None:
        for name in names:
            _sync(name)

    token = _LATER.set(names)
    try:
        yield save
    finally:
        _LATER.reset(token)


def put_on_disk(name: str) -> None:
    """Put what was written to a file on the disk; in a block `saved_later`, its function does it.

    Raises `ConfigurationError` if that fails.
    """
    later = _LATER.get()
    if later is None:
        _sync(name)
    else:
        later.append(name)


def _sync(name: str) -> None:
    try:
        descriptor = os.open(name, os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except FileNotFoundError:
        pass  # the run was saved whole meanwhile
    except OSError as cause:
        from wire.core.files import reason_of  # many agents write no files

        raise ConfigurationError(f"{name}: cannot be written: {reason_of(cause)}") from cause
