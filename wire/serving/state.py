"""What only the backend's model understands of a conversation, kept while a client holds it.

Signatures and encrypted thoughts must go back to the model that wrote them. A client has opaque
fields of its own vendor: one of them carries the whole message of the model as base64. Calls are
remembered here as well, by their ids, for clients that have no such field or do not return it.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from wire.core.errors import WireError
from wire.core.memory import Note
from wire.neutral.messages import (
    Message,
    Other,
    Part,
    ServerToolCall,
    ServerToolResult,
    Text,
    Thought,
    ToolCall,
    with_origin,
)
from wire.neutral.serving import NO_STATE
from wire.sessions import deserialize_message, serialize_message

V = TypeVar("V")

_MAGIC = base64.b64decode(NO_STATE)
_MAX_BYTES = 16 << 20
"""Of one message that a state is unpacked to."""


def state_of(message: Message) -> str:
    """A message of a model as opaque base64; empty if it has nothing that only the model reads.

    >>> state_of(Message.assistant("Hello."))
    ''
    """
    if not any(map(_is_opaque, message.parts)):
        return ""
    return packed(message)


def packed(message: Message) -> str:
    """A message of a model, with its received bytes, as base64."""
    written = zlib.compress(msgspec.json.encode(serialize_message(message)))
    return base64.b64encode(_MAGIC + written).decode()


def unpacked(state: str) -> Message | None:
    """The message of a state; `None` for any other text.

    >>> unpacked("EvYBCkYIBxgC") is None
    True
    """
    if not state.startswith(NO_STATE):
        return None
    # Google's SDKs write base64 anew, in the URL-safe alphabet.
    bare = state.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        data = base64.b64decode(bare + "=" * (-len(bare) % 4))[len(_MAGIC) :]
        reader = zlib.decompressobj()
        plain = reader.decompress(data, _MAX_BYTES)
        if reader.unconsumed_tail or not reader.eof:
            return None
        return deserialize_message(msgspec.json.decode(plain))
    except (binascii.Error, ValueError, zlib.error, WireError):
        return None


def _is_opaque(part: Part) -> bool:
    if isinstance(part, Text | ToolCall):
        return bool(part.signature or part.extra)
    return isinstance(part, Thought | ServerToolCall | ServerToolResult | Other)


class Remembered(Generic[V]):
    """Values by their ids, the latest ones, up to a number and a size."""

    def __init__(self, most: int, most_bytes: int) -> None:
        self._most, self._most_bytes = most, most_bytes
        self._values: OrderedDict[str, tuple[V, int]] = OrderedDict()
        self._bytes = 0

    def get(self, id: str) -> V | None:
        """The value of an id, if it is not forgotten."""
        entry = self._values.get(id)
        return None if entry is None else entry[0]

    def add(self, id: str, value: V, size: int) -> None:
        """Remember a value of so many bytes; forget the oldest ones beyond the limits."""
        if id in self._values:
            self._bytes -= self._values.pop(id)[1]
        self._values[id] = value, size
        self._bytes += size
        while len(self._values) > self._most or self._bytes > self._most_bytes:
            self._bytes -= self._values.popitem(last=False)[1][1]


def restored(
    messages: Iterable[Message], calls: Remembered[str], notes: list[Note]
) -> tuple[Message, ...]:
    """The messages of a client, with those of the model as it sent them.

    A message whose texts or calls were changed stays as the client sent it. What a state held is
    then lost, and a note says so.
    """
    return tuple(
        _restored(message, f"messages[{index}]", calls, notes)
        if message.role == "assistant"
        else message
        for index, message in enumerate(messages)
    )


def _restored(message: Message, path: str, calls: Remembered[str], notes: list[Note]) -> Message:
    states = [state for part in message.parts for state in _states(part)]
    remembered = [calls.get(call.id) or "" for call in message.tool_calls]
    for state in (*states, *remembered):
        kept = unpacked(state)
        if kept is not None and _says_same(kept, message):
            kept = _with_ids(kept, message)
            if message.cache:
                kept = with_origin(msgspec.structs.replace(kept, cache=True), kept.origin)
            return kept
    if any(len(state) > len(NO_STATE) for state in states):
        words = "what the model needs back of it is lost: the client changed the message"
        notes.append(Note(path, words))
    elif message.tool_calls and not any(remembered):
        words = "the calls are not of this gateway, or forgotten: they are sent without signatures"
        notes.append(Note(path, words))
    if not states:
        return message
    parts = tuple(
        plain
        for part in message.parts
        for plain in ((part,) if not _states(part) else _plain(part))
    )
    return Message("assistant", parts, message.name, message.cache)


def _states(part: Part) -> Sequence[str]:
    """The states of this gateway in the opaque fields of a part."""
    fields: list[Any] = []
    if isinstance(part, Text | Thought | ToolCall):
        fields.append(part.signature)
    if isinstance(part, Thought):
        fields += [each.get("data") for each in part.details]
    return [each for each in fields if isinstance(each, str) and each.startswith(NO_STATE)]


def _plain(part: Part) -> Sequence[Part]:
    """The part without a state, and without bytes that contain it."""
    if not _states(part):
        return (part,)
    if isinstance(part, Text | ToolCall):
        bare = with_origin(msgspec.structs.replace(part, signature=""), None)
        return () if isinstance(bare, Text) and not bare.text else (bare,)
    return ()


def _says_same(kept: Message, sent: Message) -> bool:
    """Whether a client's message has the texts and the calls of a kept one."""

    def calls(message: Message) -> list[Any]:
        return [(call.name, call.arguments) for call in message.tool_calls]

    return calls(kept) == calls(sent) and kept.text.strip() == sent.text.strip()


def _with_ids(kept: Message, sent: Message) -> Message:
    """The kept message with the ids of calls that the client's results name."""
    if [call.id for call in kept.tool_calls] == [call.id for call in sent.tool_calls]:
        return kept
    ids = iter(call.id for call in sent.tool_calls)
    parts = tuple(
        with_origin(msgspec.structs.replace(part, id=next(ids)), part.origin)
        if isinstance(part, ToolCall)
        else part
        for part in kept.parts
    )
    return with_origin(Message("assistant", parts), kept.origin)
