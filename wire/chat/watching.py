"""Looks at each reply of a chat before the caller gets it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from wire.core.call import Call
from wire.core.flow import Flow
from wire.core.lenient import fields_of, plain
from wire.core.memory import Note, with_notes
from wire.neutral.messages import Reply

Seen = Callable[[Reply], None]


def watched(call: Any, seen: Seen) -> Any:
    """Return a call, or a stream, whose reply `seen` gets first. One that broke off it does not."""
    if isinstance(call, Call):
        follow = functools.partial(_followed, seen, call.follow)
        return msgspec.structs.replace(call, follow=follow)
    convert = functools.partial(_converted, seen, call.convert)
    return msgspec.structs.replace(call, convert=convert)


def _followed(seen: Seen, inner: Any, call: Any, reply: Reply) -> Flow[Reply] | None:
    """Show the whole answer of a call: its `follow`. `inner` continues the answer, or is `None`."""
    flow = None if inner is None else inner(call, reply)
    if flow is not None:
        return _after(seen, flow)
    seen(reply)
    return None


def _after(seen: Seen, flow: Flow[Reply]) -> Flow[Reply]:
    reply = yield from flow
    seen(reply)
    return reply


def _converted(seen: Seen, inner: Any, answer: Any, error: Any) -> Reply:
    """Show the reply of a stream: its `convert`."""
    reply: Reply = inner(answer, error)
    if error is None:
        seen(reply)
    return reply


class LoadWatch:
    """Compares the options with which each request of a chat loads the model with those of the one
    before: a server that gets other ones loads the model anew.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = names
        self._before: dict[str, Any] | None = None

    def watched(self, call: Any) -> Any:
        """Return a call whose reply has a note if the model was loaded anew for it."""
        options = fields_of(fields_of(msgspec.Raw(call.body)).get("options"))
        now = {key: plain(bytes(options.get(key, b"null"))) for key in self._names}
        return watched(call, functools.partial(self._seen, now))

    def _seen(self, now: dict[str, Any], reply: Reply) -> None:
        before, self._before = self._before, now
        if before is not None:
            changed = (key for key in self._names if before[key] != now[key])
            with_notes(reply, [_note(key, before[key], now[key]) for key in changed])


def _note(key: str, before: Any, now: Any) -> Note:
    old, new = ("the default" if each is None else f"{each}" for each in (before, now))
    words = f"changed from {old} to {new} since the last request: the server loads the model anew"
    return Note(f"options.{key}", f"{words}, which takes seconds to minutes")
