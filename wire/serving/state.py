"""Opaque parts of a conversation that only the backend's model reads; a client holds them.

Signatures and encrypted thoughts must go back to the model that wrote them. A client has opaque
fields of its own vendor: one of them carries the whole message of the model as base64. Calls are
remembered here as well, by their ids, for clients that have no such field or do not return it.

These ids are the gateway's own, unique to one reply. A backend may give equal ids to calls of
different conversations, and a lookup by them would send the thoughts of one in the other.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from wire.core.errors import WireError
from wire.core.memory import Note
from wire.neutral.messages import (
    Event,
    Message,
    Other,
    Part,
    Reply,
    ServerToolCall,
    ServerToolResult,
    Text,
    Thought,
    ToolCall,
    ToolCallEnd,
    ToolCallStart,
    ToolResult,
    with_origin,
)
from wire.neutral.pairing import CallsOfTurn
from wire.neutral.serving import NO_STATE
from wire.sessions import deserialize_message, serialize_message

V = TypeVar("V")

_MAGIC = base64.b64decode(NO_STATE)
_MAX_BYTES = 16 << 20
"""Of one message that a state is unpacked to."""


def state_of(message: Message) -> str:
    """Encode the message as opaque base64; return "" if it has nothing that only its model reads.

    >>> state_of(Message.assistant("Hello."))
    ''
    """
    if not any(map(_is_opaque, message.parts)):
        return ""
    return packed(message)


def packed(message: Message) -> str:
    """Encode a message of a model, with its received bytes, as base64."""
    written = zlib.compress(msgspec.json.encode(serialize_message(message)))
    return base64.b64encode(_MAGIC + written).decode()


def unpacked(state: str) -> Message | None:
    """Decode the message of a state; return `None` for any other text.

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
        """Return the value of an id; `None` if it is forgotten."""
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


_NO_NAMES: Mapping[str, str] = {}


class ClientIds:
    """The ids of the calls of one reply as its client gets them.

    >>> from wire.neutral.messages import ToolCallStart
    >>> ClientIds("call_5e1f").event(ToolCallStart(0, "tide", "functions.tide:0")).id
    'call_5e1f_0'

    Args:
        start: What the ids begin with, unique to the reply.
        names: The client's names of tools by the backend's, where they differ.
    """

    def __init__(self, start: str, names: Mapping[str, str] | None = None) -> None:
        self._start, self._names = start, names or {}
        self._message = Message("assistant")

    def event(self, event: Event) -> Event:
        """Return the event for the client."""
        match event:
            case ToolCallStart(id=id) if id:
                name = self._names.get(event.name, event.name)
                return msgspec.structs.replace(event, id=self._id(event.position), name=name)
            case ToolCallEnd(position, call):
                name = self._names.get(call.name, call.name)
                call = msgspec.structs.replace(call, id=self._id(position), name=name)
                return ToolCallEnd(position, call)
        return event

    def reply(self, reply: Reply) -> Reply:
        """Return the whole reply for the client."""
        self._message = reply.message
        given = {original: id for id, original in self.originals.items()}
        return msgspec.structs.replace(reply, message=_with_ids(reply.message, given, self._names))

    @property
    def originals(self) -> dict[str, str]:
        """The backend's id of each call by the client's, after `reply`."""
        calls = self._message.tool_calls
        return {self._id(position): call.id for position, call in enumerate(calls)}

    def state(self, _: Message) -> str:
        """Return the state of the backend's own message, which the writer of the reply lacks."""
        return state_of(self._message)

    def _id(self, position: int) -> str:
        return f"{self._start}_{position}"


def restored(
    messages: Iterable[Message], calls: Remembered[str], ids: dict[str, str], notes: list[Note]
) -> tuple[Message, ...]:
    """Return the messages of a client, with those of the model as it sent them.

    Calls of one reply that the client sends one by one, each with its result, are one message
    again, and so are their results. A message whose texts or calls were changed stays as the client
    sent it. What a state held is then lost, and a note says so. `ids` has the backend's ids of
    calls by the client's; those of these messages are added.
    """
    found: list[Message] = []
    for index, message in _regrouped(messages, calls):
        if message.role == "assistant":
            sent = message
            message = _restored(sent, f"messages[{index}]", calls, notes)
            pairs = zip(sent.tool_calls, message.tool_calls, strict=True)
            ids.update((call.id, original.id) for call, original in pairs)
        found.append(_with_ids(message, ids) if message.role == "tool" else message)
    return tuple(found)


def _regrouped(
    messages: Iterable[Message], calls: Remembered[str]
) -> Iterable[tuple[int, Message]]:
    """Join messages with calls of one reply, and those with their results.

    Returns the messages, each with the position that it, or the first of those joined, had.
    """
    found: list[tuple[int, Message]] = []
    turn, of_turn, is_joined = 0, CallsOfTurn(), False
    for index, message in enumerate(messages):
        here = [_of_its_reply(call) for call in message.tool_calls if calls.get(call.id)]
        if message.role == "assistant" and of_turn.continue_in(here):
            is_joined = True
            of_turn.add(here)
            found[turn] = _joined(found[turn], message)
        elif is_joined and message.role == "tool" == found[-1][1].role:
            found[-1] = _joined(found[-1], message)
        else:
            if message.role in ("user", "assistant"):
                turn, of_turn, is_joined = len(found), CallsOfTurn(here), False
            found.append((index, message))
    return found


def _joined(first: tuple[int, Message], message: Message) -> tuple[int, Message]:
    index, begun = first
    parts = (*begun.parts, *message.parts)
    return index, msgspec.structs.replace(begun, parts=parts, cache=begun.cache or message.cache)


def _of_its_reply(call: ToolCall) -> ToolCall:
    """Return a call of this gateway, whose id begins with what is unique to its reply."""
    return msgspec.structs.replace(call, response=call.id.rpartition("_")[0])


def _restored(message: Message, path: str, calls: Remembered[str], notes: list[Note]) -> Message:
    states = [state for part in message.parts for state in _states(part)]
    remembered = [calls.get(call.id) or "" for call in message.tool_calls]
    messages = [kept for kept in map(unpacked, (*states, *remembered)) if kept is not None]
    for kept in messages:
        if _says_same(kept, message):
            if message.cache:
                kept = with_origin(msgspec.structs.replace(kept, cache=True), kept.origin)
            return kept
    if any(map(state_of, messages)) or any(len(state) > len(NO_STATE) for state in states):
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
    """Return the states of this gateway in the opaque fields of a part."""
    fields: list[Any] = []
    if isinstance(part, Text | Thought | ToolCall):
        fields.append(part.signature)
    if isinstance(part, Thought):
        fields += [each.get("data") for each in part.details]
    return [each for each in fields if isinstance(each, str) and each.startswith(NO_STATE)]


def _plain(part: Part) -> Sequence[Part]:
    """Remove a state from a part, and bytes that contain it."""
    if not _states(part):
        return (part,)
    if isinstance(part, Text | ToolCall):
        bare = with_origin(msgspec.structs.replace(part, signature=""), None)
        return () if isinstance(bare, Text) and not bare.text else (bare,)
    return ()


def _says_same(kept: Message, sent: Message) -> bool:
    """Return whether a client's message has the texts and the calls of a kept one."""

    def calls(message: Message) -> list[Any]:
        return [(call.name, call.arguments) for call in message.tool_calls]

    return calls(kept) == calls(sent) and kept.text.strip() == sent.text.strip()


def _with_ids(
    message: Message, ids: Mapping[str, str], names: Mapping[str, str] = _NO_NAMES
) -> Message:
    """Replace the ids, and the names, of calls and results in a message."""
    parts = tuple(
        msgspec.structs.replace(
            part, id=ids.get(part.id, part.id), name=names.get(part.name, part.name)
        )
        if isinstance(part, ToolCall | ToolResult)
        else part
        for part in message.parts
    )
    return msgspec.structs.replace(message, parts=parts)
