"""What is said in a conversation, whoever says it: parts, messages, replies, and the events of a reply that is on its way.

These values hold no wire's names and no wire's order of things; each wire's `parse.py` makes them, and they compare by
what they say.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from wire.memory import Note


class Text(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, repr_omit_defaults=True):
    """Something said to be read."""

    text: str


class Thought(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, repr_omit_defaults=True):
    """Something the model thought; it goes back to that model as it came, or not at all."""

    text: str = ""
    slot: str = ""
    """The field of the wire that it came in."""
    details: tuple[dict[str, Any], ...] = ()
    """What the wire says of it beside the text, signatures and encrypted parts included."""


class ToolCall(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, repr_omit_defaults=True):
    """A call that the model wants made."""

    id: str
    """The vendor's own; where it gave none, one that is the same on replay and unique in a conversation."""
    name: str
    arguments: dict[str, Any] | None
    """`None`: what came is no JSON object, or was cut off; it stands in `text`."""
    text: str = ""
    """The arguments as they came."""
    kind: Literal["function", "custom"] = "function"
    """Of a custom tool the arguments are `{"input": text}`."""
    extra: dict[str, Any] | None = None
    """What the wire sent beside the call and wants back with it, such as a signature."""


Part: TypeAlias = Text | Thought | ToolCall


class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, repr_omit_defaults=True):
    """One turn: who, and what."""

    role: Literal["system", "user", "assistant", "tool"]
    parts: tuple[Part, ...] = ()

    @property
    def text(self) -> str:
        """All texts, joined."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def thought(self) -> str:
        """All thoughts, joined."""
        return "".join(part.text for part in self.parts if isinstance(part, Thought))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls, in their order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))


StopReason: TypeAlias = Literal["end", "tool_calls", "length", "filter", "error", "other"]


class Stop(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, repr_omit_defaults=True):
    """Why the model stopped."""

    reason: StopReason
    raw: str | None = None
    """The vendor's word; `None` if there was none."""
    message: str = ""
    """What was said about it: a refusal, an error."""


class Usage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, repr_omit_defaults=True):
    """Tokens, counted one way for all vendors: `input` includes `cached`, `output` includes `reasoning`."""

    input: int = 0
    output: int = 0
    cached: int = 0
    cache_written: int = 0
    reasoning: int = 0
    total: int = 0
    by_modality: dict[str, int] = msgspec.field(default_factory=dict)
    """Such as `input_audio`, where a vendor tells them apart."""


class Reply(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, repr_omit_defaults=True):
    """One answer of a model."""

    message: Message
    stop: Stop
    usage: Usage | None = None
    """`None` if the vendor sent none."""
    notes: tuple[Note, ...] = ()
    """What was changed or dropped in reading."""

    @property
    def text(self) -> str:
        """All texts of the message, joined."""
        return self.message.text


# --- a reply on its way ---------------------------------------------------------------------------------------------


class TextDelta(msgspec.Struct, frozen=True):
    """More text."""

    text: str


class ThoughtDelta(msgspec.Struct, frozen=True):
    """More thought."""

    text: str


class ToolCallStart(msgspec.Struct, frozen=True):
    """A call begins; `position` counts the calls of a reply from 0 and tells them apart."""

    position: int
    name: str


class ToolCallDelta(msgspec.Struct, frozen=True):
    """More of a call's arguments, as text."""

    position: int
    text: str


class ToolCallEnd(msgspec.Struct, frozen=True):
    """A call is whole, or as whole as it will be."""

    position: int
    call: ToolCall


class Done(msgspec.Struct, frozen=True):
    """The last event."""

    reply: Reply


Event: TypeAlias = TextDelta | ThoughtDelta | ToolCallStart | ToolCallDelta | ToolCallEnd | Done
