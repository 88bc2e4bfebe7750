"""Converts a wire's call to one with a neutral result."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from wire.core.call import Call, Convert, EventSource, StreamCall
from wire.core.errors import StreamInvalid

A = TypeVar("A")
B = TypeVar("B")


def converted(call: Call[A], convert: Callable[[A], B]) -> Call[B]:
    """Return the call with another result: `convert` of the wire's own result.

    `convert` may raise `StreamInvalid`; the error gets the body of the response.
    """
    changed: Any = msgspec.structs.replace(
        call, parse=functools.partial(_parsed, call.parse, convert)
    )
    made: Call[B] = changed
    return made


def converted_stream(
    call: StreamCall[Any, A], events: Callable[[], EventSource], convert: Convert[B]
) -> StreamCall[Any, B]:
    """Return the call with other events, and with another result: `convert` of the wire's own."""
    changed: Any = msgspec.structs.replace(call, events=events, convert=convert)
    made: StreamCall[Any, B] = changed
    return made


def _parsed(parse: Callable[[bytes], A], convert: Callable[[A], B], body: bytes) -> B:
    response = parse(body)
    try:
        return convert(response)
    except StreamInvalid as error:
        raise StreamInvalid(error.message, raw=body) from None
