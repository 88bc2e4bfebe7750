"""Exceptions that are not errors of this library, and the error that replaces them.

A body is untrusted, and the code that decodes it is large. The code raises `WireError`s for what it
expects. `invalid` is the net below it, used where bytes enter: a value that nobody expected becomes
`StreamInvalid` there, instead of a `KeyError` or `RecursionError` in the caller's program (R-08,
R-36, R-44). The same holds for a `parse`, `fold` or `reader` of the caller's own call. One that
raises a `WireError` decides for itself.
"""

from __future__ import annotations

import os

from wire.core.errors import StreamInvalid


def invalid(cause: Exception, raw: bytes = b"") -> StreamInvalid:
    """The error of a response whose decoding raised `cause`, which becomes its `__cause__`.

    >>> try:
    ...     {}["id"]
    ... except KeyError as cause:
    ...     error = invalid(cause)
    >>> error.message.partition(" in ")[0], error.__cause__
    ("the response cannot be decoded: KeyError('id')", KeyError('id'))

    The message names the function and the line, because the cause has no frames left.
    """
    import traceback  # for errors only

    frames = traceback.extract_tb(cause.__traceback__)
    where = (
        f" in {frames[-1].name}, {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}"
        if frames
        else ""
    )
    error = StreamInvalid(f"the response cannot be decoded: {_shown(cause)}{where}", raw=raw)
    error.__cause__ = frameless(cause)
    return error


def _shown(cause: Exception) -> str:
    try:
        return repr(cause)
    except Exception:  # of an exception class of the caller's
        return type(cause).__name__


_SENT = frozenset({"_request", "request", "response"})
"""Attributes of exceptions of httpx and httpx2."""


def frameless(cause: BaseException) -> BaseException:
    """The exception and those it came from, without what may hold a key (R-28).

    That is their frames, and the request of an exception of httpx, whose headers hold the key.
    """
    todo: list[BaseException | None] = [cause]
    seen: set[int] = set()
    while todo:
        each = todo.pop()
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            each.__traceback__ = None
            for name in _SENT.intersection(vars(each)):
                setattr(each, name, None)
            todo += [each.__cause__, each.__context__]
    return cause
