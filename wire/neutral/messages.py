"""What is said in a conversation, whoever says it: parts, messages, replies, and the events of a
reply that is on its way.

These values hold no wire's names and no wire's order of things; each wire's `parse.py` makes them,
its `rendering.py` writes them. They compare by what they say. Where a message and its parts came
from a model, they remember it beside their fields (`origin`); what `msgspec.structs.replace` makes
of them does not, so that the memory cannot lie.
"""

from __future__ import annotations

import base64
import binascii
import secrets
import urllib.parse
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, Self, TypeAlias, TypeVar, cast

import msgspec

from wire.core import json_values
from wire.core.memory import Beside, Note, WireStruct, encode
from wire.errors import APIError, BlockedError, RuleError, Violation, WireError

W = TypeVar("W", bound=WireStruct)
V = TypeVar("V", bound="Value")

_ORIGIN, _ANSWER = "_origin", "_answer"


class Origin:
    """Where a message or a part came from: provider and model as they were asked, the wire, and the
    JSON that it was there.

    `raw` is empty for a part that has no JSON of its own on its wire, such as the text of a chat
    completion.
    """

    __slots__ = ("_raw", "_source", "model", "provider", "wire")

    def __init__(
        self, provider: str, model: str, wire: str, source: WireStruct | bytes = b""
    ) -> None:
        self.provider, self.model, self.wire = provider, model, wire
        self._source = source if isinstance(source, WireStruct) else None
        self._raw = source if isinstance(source, bytes) else None

    @property
    def raw(self) -> bytes:
        """The JSON that it was on its wire."""
        if self._raw is None:
            self._raw = encode(self._source)
        return self._raw

    def is_of(self, provider: str, model: str) -> bool:
        """Whether it came from this model of this provider, which alone takes it back as it
        came.
        """
        return (self.provider, self.model) == (provider, model)

    def source(self, read: Callable[[bytes], W]) -> W:
        """The wire's own struct, which `read` makes of the bytes if they were loaded from a
        file.
        """
        if self._source is None:
            self._source = read(self.raw)
        return cast(W, self._source)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Origin) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[str, str, str, bytes]:
        return self.provider, self.model, self.wire, self.raw

    def __repr__(self) -> str:
        return f"Origin({self.provider}:{self.model}, {len(self.raw)} bytes)"

    def __reduce__(self) -> tuple[Any, ...]:
        return Origin, (self.provider, self.model, self.wire, self.raw)


class Value(Beside, frozen=True):
    """Base of what may have come from a model."""

    @property
    def origin(self) -> Origin | None:
        """Where it came from, `None` if it was made here."""
        return self.__dict__.get(_ORIGIN)


def with_origin(value: V, origin: Origin | None) -> V:
    """`value` as one that came from there; a copy without an origin for `None`."""
    if origin is None:
        return msgspec.structs.replace(value) if value.origin is not None else value
    vars(value)[_ORIGIN] = origin
    return value


# --- parts ----------------------------------------------------------------------------------------


class Text(Value, frozen=True, tag="text"):
    """Something said to be read."""

    text: str
    signature: str = ""
    """Base64, of a vendor that signs texts; an empty text is there for its sake."""


class Thought(Value, frozen=True, tag="thought"):
    """Something the model thought; it goes back to that model as it came, or not at all."""

    text: str = ""
    slot: str = ""
    """The field of the wire that it came in."""
    details: tuple[dict[str, Any], ...] = ()
    """What the wire says of it beside the text, encrypted parts included."""
    signature: str = ""


def _new_id() -> str:
    return f"call_{secrets.token_hex(12)}"


class ToolCall(Value, frozen=True, kw_only=True, tag="tool_call"):
    """A call that the model wants made."""

    id: str = msgspec.field(default_factory=_new_id)
    """The vendor's own; where it gave none, one that is the same on replay and unique in a
    conversation.
    """
    name: str
    arguments: dict[str, Any] | None = msgspec.field(default_factory=dict)
    """`None`: what came is no JSON object, or was cut off; it stands in `text`."""
    text: str = ""
    """The arguments as they came, where they came as text."""
    kind: Literal["function", "custom"] = "function"
    """Of a custom tool the arguments are `{"input": text}`."""
    extra: dict[str, Any] | None = None
    """What the wire sent beside the call and wants back with it."""
    signature: str = ""


class Media(Value, frozen=True, kw_only=True, tag="media"):
    """An image, a sound, a film, a document: its bytes, or where it lies. A `data:` URL becomes
    bytes.

    >>> Media(url="data:image/png;base64,iVBORw==").data
    b'\\x89PNG'

    Raises `RuleError` unless one of `data` and `url` is given, or if bytes have no `media_type`.
    """

    data: bytes | None = None
    url: str | None = None
    """http(s), `gs:`, or what a vendor's file service calls a file."""
    media_type: str = ""
    name: str = ""
    """What to call it, where the vendor shows one."""
    detail: Literal["", "low", "high", "auto"] = ""
    """How closely to look, where the vendor offers that."""
    start: str = ""
    """Of a film: from where, such as `1.5s`."""
    end: str = ""
    fps: float | None = None

    def __post_init__(self) -> None:
        if (self.data is None) == (self.url is None):
            raise RuleError(violations=[Violation("media", "either data or url is wanted")])
        if self.url is not None and self.url[:5].lower() == "data:":
            media_type, data = _inline(self.url)
            msgspec.structs.force_setattr(self, "url", None)
            msgspec.structs.force_setattr(self, "data", data)
            msgspec.structs.force_setattr(self, "media_type", self.media_type or media_type)
        if self.data is not None and not self.media_type:
            raise RuleError(
                violations=[Violation("media.media_type", "data needs one, such as image/png")]
            )


def _inline(url: str) -> tuple[str, bytes]:
    head, comma, body = url[5:].partition(",")
    media_type, _, rest = head.partition(";")
    data: bytes | None = None
    if comma:
        try:
            data = (
                base64.b64decode(body, validate=True)
                if rest.endswith("base64")
                else urllib.parse.unquote_to_bytes(body)
            )
        except (binascii.Error, ValueError):
            pass
    if data is None:
        raise RuleError(
            violations=[Violation("media.url", "this is no data URL: data:TYPE;base64,BYTES")]
        )
    return media_type or "text/plain", data


class ToolResult(Value, frozen=True, tag="tool_result"):
    """The answer to one call.

    >>> ToolResult("call_1", "get_weather", "no such city", error=True).answer
    {'error': 'no such city'}
    """

    id: str
    """Of the call."""
    name: str
    content: Any = ""
    """A text, or any JSON value."""
    error: bool = False
    media: tuple[Media, ...] = ()
    """Images and the like that belong to it."""

    @property
    def answer(self) -> dict[str, Any]:
        """The object that the model is told: a text or list under `result`, an error under
        `error`.
        """
        if self.error and not (isinstance(self.content, Mapping) and "error" in self.content):
            return {"error": self.content}
        return dict(self.content) if isinstance(self.content, Mapping) else {"result": self.content}


class Other(Value, frozen=True, tag="other"):
    """Something that only its vendor understands, such as code that it ran: it goes back there as
    it came, and nowhere else.
    """

    kind: str
    """The vendor's name for it."""
    data: Any = None


Part: TypeAlias = Text | Thought | ToolCall | ToolResult | Media | Other
Parts: TypeAlias = str | Part | Iterable[str | Part]
Role: TypeAlias = Literal["system", "user", "assistant", "tool"]
ROLES = ("system", "user", "assistant", "tool")

_PARTS = (Text, Thought, ToolCall, ToolResult, Media, Other)


class Message(Value, frozen=True):
    """One turn: who, and what.

    >>> Message.user("What is this?", Media(url="https://example.com/a.png")).text
    'What is this?'

    Raises `RuleError` for a role or a part that does not exist.
    """

    role: Role
    parts: tuple[Part, ...] = ()

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise RuleError(
                violations=[
                    Violation(
                        "message.role", f"one of {', '.join(ROLES)} is wanted, not {self.role!r}"
                    )
                ]
            )
        if type(self.parts) is not tuple:
            msgspec.structs.force_setattr(self, "parts", tuple(_flat((self.parts,))))
        elif not all(map(_is_part, self.parts)):
            raise _no_part(next(part for part in self.parts if not _is_part(part)))

    @classmethod
    def system(cls, *parts: Parts) -> Self:
        """What holds for all that follows."""
        return cls("system", tuple(_flat(parts)))

    @classmethod
    def user(cls, *parts: Parts) -> Self:
        """What the user says: texts, media."""
        return cls("user", tuple(_flat(parts)))

    @classmethod
    def assistant(cls, *parts: Parts) -> Self:
        """What the model said."""
        return cls("assistant", tuple(_flat(parts)))

    @classmethod
    def assistant_tool_calls(cls, calls: Iterable[ToolCall], text: str = "") -> Self:
        """A turn of the model that wants calls made, with what it said before them."""
        return cls("assistant", (*((Text(text),) if text else ()), *_flat((calls,))))

    @classmethod
    def tool_response(cls, *results: ToolResult | Iterable[ToolResult]) -> Self:
        """The answers to the calls of one turn."""
        return cls("tool", tuple(_flat(results)))

    @classmethod
    def tool_result(cls, call: ToolCall, content: Any = "", *, is_error: bool = False) -> Self:
        """The answer to one call."""
        return cls("tool", (ToolResult(call.id, call.name, content, is_error),))

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

    @property
    def tool_results(self) -> tuple[ToolResult, ...]:
        """The answers to calls, in their order."""
        return tuple(part for part in self.parts if isinstance(part, ToolResult))


def _is_part(part: object) -> bool:
    return isinstance(part, _PARTS)


def _no_part(part: object) -> RuleError:
    return RuleError(
        violations=[
            Violation("message.parts", f"a text or a part is wanted, not {type(part).__name__}")
        ]
    )


def _flat(parts: Any) -> Iterator[Part]:
    for part in parts:
        if isinstance(part, str):
            yield Text(part)
        elif _is_part(part):
            yield part
        elif isinstance(part, Iterable) and not isinstance(part, (bytes, Mapping)):
            yield from _flat(part)
        else:
            raise _no_part(part)


StopReason: TypeAlias = Literal["end", "tool_calls", "length", "filter", "error", "other"]


class Stop(Beside, frozen=True):
    """Why the model stopped."""

    reason: StopReason
    raw: str | None = None
    """The vendor's word; `None` if there was none."""
    message: str = ""
    """What was said about it: a refusal, an error."""


def partial_stop(stop: Stop, error: WireError | None) -> Stop:
    """The `stop` of an answer that is not whole; `error` is what its stream broke with, if it did.

    `end` and `tool_calls` become `other`: with either of them the answer would look whole.
    """
    if isinstance(error, APIError):
        return Stop("error", stop.raw, error.message)
    if stop.reason in ("end", "tool_calls"):
        return Stop("other", stop.raw, stop.message)
    return stop


class Usage(Beside, frozen=True, kw_only=True):
    """Tokens, counted one way for all vendors: `input` includes `cached`, `output` includes
    `reasoning`.
    """

    input: int = 0
    output: int = 0
    cached: int = 0
    cache_written: int = 0
    reasoning: int = 0
    total: int = 0
    by_modality: dict[str, int] = msgspec.field(default_factory=dict)
    """Such as `input_audio`, where a vendor tells them apart."""

    def __add__(self, other: Usage) -> Usage:
        if not isinstance(other, Usage):
            return NotImplemented
        kinds = {*self.by_modality, *other.by_modality}
        return Usage(
            **{
                name: getattr(self, name) + getattr(other, name)
                for name in self.__struct_fields__
                if name != "by_modality"
            },
            by_modality={
                kind: self.by_modality.get(kind, 0) + other.by_modality.get(kind, 0)
                for kind in sorted(kinds)
            },
        )


class Reply(Beside, frozen=True):
    """One answer of a model."""

    message: Message
    stop: Stop
    usage: Usage | None = None
    """`None` if the vendor sent none."""
    notes: tuple[Note, ...] = ()
    """What was changed or dropped, in the request on its way there and in the answer on its way
    back.
    """
    id: str = ""
    """The vendor's name for this answer."""
    model: str = ""
    """The model that answered, as the vendor calls it."""
    output: Any = None
    """What the answer says as a value, if one was asked for with `output=`."""

    @property
    def answer(self) -> Any:
        """The wire's own struct: everything that the vendor said, as the raw door has it.

        `None` for a reply that was made here.
        """
        return self.__dict__.get(_ANSWER)

    @property
    def text(self) -> str:
        """All texts of the message, joined."""
        return self.message.text

    @property
    def thought(self) -> str:
        """All thoughts of the message, joined."""
        return self.message.thought

    @property
    def empty(self) -> bool:
        """Nothing was said: no text, no call, nothing else but thoughts."""
        return all(
            isinstance(part, Thought) or (isinstance(part, Text) and not part.text)
            for part in self.message.parts
        )

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls of the message."""
        return self.message.tool_calls


def with_answer(reply: Reply, answer: WireStruct) -> Reply:
    """`reply`, with the wire's struct that it was read from."""
    vars(reply)[_ANSWER] = answer
    return reply


def checked(reply: Reply) -> Reply:
    """The reply.

    Raises `BlockedError` if the vendor's filters left nothing of it; `partial` is the reply, `code`
    the vendor's word.
    """
    if reply.stop.reason == "filter" and reply.empty:
        said = f": {reply.stop.message}" if reply.stop.message else ""
        raise BlockedError(
            f"blocked by the provider ({reply.stop.raw}){said}", code=reply.stop.raw, partial=reply
        )
    return reply


def check_values(message: Message, path: str, *, plain: bool = False) -> None:
    """Raise `RuleError` with the JSON paths, below `path`, of what JSON cannot represent.

    `plain` as in `wire.core.json_values.checked`.
    """
    if json_values.are_sound(values_of((message,))):
        return
    for position, part in enumerate(message.parts):
        _check_part(part, f"{path}.parts[{position}]", plain)


def values_of(messages: Iterable[Message], *, received: bool = True) -> list[Any]:
    """The values that `check_values` checks in messages, for one pass over all of them.

    With `received=False`, messages of the assistant that came from a model are left out.
    """
    values: list[Any] = []
    parts: list[Any] = [
        part
        for message in messages
        if received or message.role != "assistant" or message.__dict__.get(_ORIGIN) is None
        for part in message.parts
    ]
    for part in parts:  # grows by the media of results
        fields = msgspec.structs.asdict(part)
        if isinstance(part, ToolResult):
            parts += fields.pop("media") or ()
        elif isinstance(part, Media) and isinstance(fields.pop("data"), str):
            values.append(b"")  # not sound, as a text in place of the bytes is not
        values += fields.values()
    return values


def _check_part(part: Part, path: str, plain: bool) -> None:
    for name in part.__struct_fields__:
        value = getattr(part, name)
        if value is None or (name != "data" and type(value) is str and not value):
            continue  # as most fields of most parts: the check would find nothing
        if isinstance(part, ToolResult) and name == "media":
            for position, each in enumerate(part.media):
                _check_part(each, f"{path}.media[{position}]", plain)
        elif name != "data" or not isinstance(part, Media):
            json_values.checked(value, f"{path}.{name}", plain=plain)
        elif isinstance(value, str):  # it would be read back as the bytes that it is base64 of
            raise RuleError(violations=[Violation(f"{path}.data", "bytes are wanted, not str")])


# --- a reply on its way ---------------------------------------------------------------------------


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
    id: str = ""
    """That of the call that it becomes; empty where the vendor tells it later."""


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
