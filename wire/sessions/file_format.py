"""The structs of a session file; `schemas/session.schema.json` is their JSON Schema.

Their fields are those of the values in `wire.neutral.messages`, so that a new field there is a new
key here and a diff in the schema. Received bytes are JSON in UTF-8 and are stored as text. If the
bytes of a part are contained in those of its message, the part stores only their range.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from wire.core.decoders import json_schema

FORMAT = "wire-session"
VERSION = 1


class _Strict(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Base of all structs here. An unknown key is an error, because its value would be lost when
    the file is written again.
    """


class Origin(_Strict, frozen=True):
    """The source of a message or part: provider, model, wire, and its received JSON.

    JSON that decodes to another message or part than the one beside it is dropped with a note.
    """

    provider: str
    model: str
    wire: str
    raw: str = ""
    base64: bytes = b""
    """Replaces `raw` for bytes that are not UTF-8."""

    def __post_init__(self) -> None:
        if self.raw and self.base64:
            raise ValueError("raw and base64: expected one of them, not both")

    @property
    def source(self) -> bytes:
        """The received bytes, from `raw` or from `base64`."""
        return self.base64 or self.raw.encode()


class _Part(_Strict, frozen=True, kw_only=True, tag_field="type"):
    origin: Origin | UnsetType = UNSET
    at: (
        Annotated[list[Annotated[int, Meta(ge=0)]], Meta(min_length=2, max_length=2)] | UnsetType
    ) = UNSET
    """Replaces `origin` for a part that came with its message: start and end of the part's bytes in
    those of the message.
    """

    def __post_init__(self) -> None:
        if self.origin is not UNSET and self.at is not UNSET:
            raise ValueError("origin and at: expected one of them, not both")


class Text(_Part, frozen=True, tag="text"):
    """Text of a message."""

    text: str
    signature: str = ""
    refusal: bool = False
    extra: dict[str, Any] | None = None


class Thought(_Part, frozen=True, tag="thought"):
    """A thought of the model (reasoning)."""

    text: str = ""
    slot: str = ""
    details: list[dict[str, Any]] = []
    signature: str = ""


class ToolCall(_Part, frozen=True, tag="tool_call"):
    """A tool call that the model requests."""

    id: str
    name: str
    arguments: dict[str, Any] | None
    text: str = ""
    kind: Literal["function", "custom"] = "function"
    extra: dict[str, Any] | None = None
    signature: str = ""
    response: str = ""


class Media(_Part, frozen=True, tag="media"):
    """An image, sound, video or document; bytes are base64."""

    data: bytes | None = None
    url: str | None = None
    media_type: str = ""
    name: str = ""
    detail: Literal["", "low", "high", "auto"] = ""
    start: str = ""
    end: str = ""
    fps: float | None = None
    transcript: str = ""
    extra: dict[str, Any] | None = None


class ToolResult(_Part, frozen=True, tag="tool_result"):
    """The result of one tool call."""

    id: str
    name: str
    content: Any = ""
    error: bool = False
    media: list[Media] = []


class ServerToolCall(_Part, frozen=True, kw_only=True, tag="server_tool_call"):
    """A call of a tool that the vendor's server ran."""

    id: str = ""
    name: str
    kind: str = ""
    arguments: dict[str, Any] | None
    """`null` if they were received in another form than a JSON object."""


class ServerToolResult(_Part, frozen=True, kw_only=True, tag="server_tool_result"):
    """The result of such a tool."""

    id: str = ""
    name: str
    kind: str = ""
    content: Any = None
    error: bool = False


class Other(_Part, frozen=True, tag="other"):
    """A part without a neutral form, which only its vendor understands."""

    kind: str
    data: Any = None


Part = Text | Thought | ToolCall | Media | ToolResult | ServerToolCall | ServerToolResult | Other
KINDS: dict[str, type[Part]] = {
    kind.__name__: kind
    for kind in (
        Text,
        Thought,
        ToolCall,
        Media,
        ToolResult,
        ServerToolCall,
        ServerToolResult,
        Other,
    )
}
"""Name of a class here and in `wire.neutral.messages` -> the class here."""


class Citation(_Strict, frozen=True):
    """A source of a message's text; the span counts code points of all its texts, joined."""

    url: str = ""
    title: str = ""
    text: str = ""
    source: str = ""
    start: Annotated[int, Meta(ge=0)] | None = None
    end: Annotated[int, Meta(ge=0)] | None = None
    extra: dict[str, Any] | None = None


class Message(_Strict, frozen=True):
    """One message of a conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    parts: list[Part]
    origin: Origin | UnsetType = UNSET
    name: str = ""
    cache: bool = False
    citations: list[Citation] = []


class Note(_Strict, frozen=True):
    """Reports what was dropped from the messages or changed in them: its path, and a message."""

    path: str
    message: str


class Session(_Strict, frozen=True, kw_only=True):
    """A conversation, with metadata of the application."""

    format: Literal["wire-session"]
    version: Literal[1]
    metadata: dict[str, Any] = {}
    notes: list[Note] = []
    messages: list[Message]


def schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a session file, which `session.schema.json` contains."""
    made = json_schema(Session)
    for name in KINDS:
        made["$defs"][name]["not"] = {"required": ["origin", "at"]}
    made["$defs"]["Origin"]["not"] = {"required": ["raw", "base64"]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"wire session, version {VERSION}",
        **made,
    }
