"""Vendor-neutral values: messages and their parts, replies, and the events of a streamed reply.

Each wire's `parse.py` builds them from responses, and its `rendering.py` converts them to requests.
They compare by their fields. A message or part that came from a model has an `origin` as metadata.
A copy made by `msgspec.structs.replace` has no origin, so an origin always matches the fields.
"""

from __future__ import annotations

import functools
import itertools
import operator
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import (
    TYPE_CHECKING,
    Any,
    ClassVar,
    Generic,
    Literal,
    NamedTuple,
    Protocol,
    Self,
    TypeAlias,
    TypeVar,
    cast,
)

import msgspec

from wire.catalogue.stops import Stop as Stop
from wire.catalogue.usage import Usage
from wire.core import json_values
from wire.core.arguments import checked_arguments, items_of, refusal
from wire.core.errors import BlockedError, RuleError, Violation, WireError
from wire.core.fields import Fields
from wire.core.lazy import Foreign
from wire.core.memory import PARTIAL, TIER, MetadataStruct, Note, WireStruct
from wire.core.printable import short
from wire.core.secret import quoted

if TYPE_CHECKING:
    from wire.catalogue.cost import Cost

W = TypeVar("W", bound=WireStruct)
V = TypeVar("V", bound="Value")


class _Made(Protocol):
    def __call__(self, kind: type[V], /, *fields: Any) -> V: ...


_made: _Made = cast(Any, msgspec.StructMeta.__call__)
"""Builds a struct without the guard of `Fields`."""

_ORIGIN, _ANSWER, LAST, _FAILURES = "_origin", "_answer", "_last", "_failures"


class Origin:
    """Where a message or a part came from: provider, model, wire, and its JSON on that wire.

    >>> Origin("gemini", "gemini-3.8-flash", "gemini", b'{"text":"Hi"}')
    Origin(gemini:gemini-3.8-flash, 13 bytes)

    Provider and model are those that the request was sent to. `raw` is empty for a part without
    JSON of its own on the wire, such as the text of a chat completion.
    """

    model: str
    """Name of the model, such as `gemini-3.8-flash`."""
    provider: str
    """Name of the row, with its region or wire: `kimi@cn`, `openai@responses`."""
    wire: str
    """Name of the wire, such as `openai.responses`."""

    __slots__ = ("_raw", "_source", "model", "provider", "wire")

    def __init__(
        self, provider: str, model: str, wire: str, source: WireStruct | bytes = b""
    ) -> None:
        self.provider, self.model, self.wire = provider, model, wire
        self._source = source if isinstance(source, WireStruct) else None
        self._raw = source if isinstance(source, bytes) else None

    @property
    def raw(self) -> bytes:
        """The received JSON."""
        if self._raw is None:
            from wire.core.lenient import received_json  # few need the JSON of a part

            self._raw = received_json(self._source)
        return self._raw

    def is_of(self, provider: str, model: str) -> bool:
        """Return whether this model of this provider sent it, so that its JSON can be sent back."""
        if not (isinstance(provider, str) and isinstance(model, str)):
            return False
        return (self.provider, self.model) == (provider, model)

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


def source_of(origin: Origin, read: Callable[[bytes], W]) -> W:
    """Return the wire's own struct; `read` decodes it if the origin was loaded from a file."""
    origin._source = read(origin.raw) if origin._source is None else origin._source
    return cast(W, origin._source)


class Value(MetadataStruct, Foreign, frozen=True):
    """Base of messages and parts, which may have come from a model."""

    _origin: ClassVar[Origin | None] = None

    @property
    def origin(self) -> Origin | None:
        """Where it came from; `None` if it was not received."""
        return self._origin


origin_of: Callable[[Value], Origin | None] = operator.attrgetter(_ORIGIN)
"""`value.origin`, without a call."""


wants_cache: Callable[[Value], bool] = operator.attrgetter("cache")
"""`message.cache`, without a call."""


def with_origin(value: V, origin: Origin | None) -> V:
    """Set the origin of `value` in place; for `None`, return a copy without an origin."""
    if origin is None:
        return msgspec.structs.replace(value) if value.origin is not None else value
    vars(value)[_ORIGIN] = origin
    return value


# --- parts ----------------------------------------------------------------------------------------


class PartValue(Value, frozen=True):
    """Base of all parts: what one kind of part has is `None` in the others, as is `text`.

    >>> [part.text for part in Message.user("Hi", Media(url="https://example.com/a.png")).parts]
    ['Hi', None]
    """

    @property
    def tool_call(self) -> ToolCall | None:
        """The part itself if it is a `ToolCall`."""
        return self if isinstance(self, ToolCall) else None

    @property
    def tool_result(self) -> ToolResult | None:
        """The part itself if it is a `ToolResult`."""
        return self if isinstance(self, ToolResult) else None


class TextlessPart(PartValue, frozen=True):
    """Base of the parts that have no text."""

    @property
    def text(self) -> str | None:
        """`None`. In a `Text` and a `Thought` it is a text, as in a `ToolCall` whose arguments were
        received as text."""
        return None


class Text(PartValue, frozen=True, tag="text"):
    """Text of a message.

    >>> Message.user(Text("Hi")).text
    'Hi'
    """

    text: str
    """The text."""
    signature: str = ""
    """Base64, for vendors that sign texts. An empty text may carry a signature."""
    refusal: bool = False
    """The model refuses the request with this text. OpenAI's wires send it back as a refusal, all
    others as a text."""
    extra: dict[str, Any] | None = None
    """Further keys of the text on its wire, such as `phase` and `annotations` of Responses. They go
    back to the model that sent them."""


class Thought(PartValue, frozen=True, tag="thought"):
    """A thought of the model (reasoning). It is sent back unchanged, and to that model only.

    >>> Message.assistant(Thought("The user greets."), "Hello.").thought
    'The user greets.'
    """

    text: str = ""
    """The visible text; empty if the vendor sends none."""
    slot: str = ""
    """Name of the wire's field that contained it."""
    details: tuple[dict[str, Any], ...] = ()
    """Further objects of the wire about the thought, such as encrypted parts."""
    signature: str = ""
    """Base64, for vendors that sign thoughts."""


def _new_id() -> str:
    return f"call_{os.urandom(12).hex()}"


class ToolCall(PartValue, frozen=True, kw_only=True, tag="tool_call"):
    """A tool call that the model requests.

    >>> ToolCall(id="call_1", name="get_weather", arguments={"city": "Bergen"}).arguments
    {'city': 'Bergen'}
    """

    id: str = msgspec.field(default_factory=_new_id)
    """The vendor's id. If the vendor sent none, an id that is the same on replay and unique in the
    conversation.
    """
    name: str
    """Name of the function."""
    arguments: dict[str, Any] | None = msgspec.field(default_factory=dict)
    """`None`: the received arguments, in `text`, are not a JSON object or are truncated."""
    text: str = ""
    """The arguments as received, if the wire sends them as text."""
    kind: Literal["function", "custom"] = "function"
    """The arguments of a custom tool are `{"input": text}`."""
    extra: dict[str, Any] | None = None
    """Further keys of the call on its wire, which are sent back with it."""
    signature: str = ""
    """Base64, for vendors that sign calls."""
    response: str = ""
    """The same for all calls of one response: the id of its first call, set where a reply is
    received. So a conversation may have each call in a message of its own, followed by its result:
    the calls of one response are sent as one message.
    """


class Media(TextlessPart, frozen=True, kw_only=True, tag="media", metaclass=Fields):
    """An image, sound, video or document, as bytes or as a URL. A `data:` URL becomes bytes.

    >>> Media(url="data:image/png;base64,iVBORw==").data
    b'\\x89PNG'

    `Media.file(path)` reads a file. Raises `RuleError` unless one of `data` and `url` is given, for
    empty data, for a `file:` URL, which no vendor can read, and if bytes have no `media_type`.
    """

    data: bytes | None = None
    """The bytes; `None` if `url` is given."""
    url: str | None = None
    """An http(s) or `gs:` URL, or the id or URI of a file in the vendor's file service."""
    media_type: str = ""
    """Such as `image/png`; needed with `data`."""
    name: str = ""
    """File name, for vendors that take one."""
    detail: Literal["", "low", "high", "auto"] = ""
    """Resolution at which the model reads an image, for vendors that let you choose."""
    start: str = ""
    """Start of the part of a video to use, such as `1.5s`."""
    end: str = ""
    """End of that part."""
    fps: float | None = None
    """Frames per second that the model reads of a video."""
    transcript: str = ""
    """The words of a sound of the model. They replace the sound in requests to other models."""
    extra: dict[str, Any] | None = None
    """Further keys of the media on its wire, such as `id` and `expires_at` (Unix time) of speech.
    They go back to the model that sent them."""

    def __repr__(self) -> str:
        said = f", transcript={short(self.transcript)}" if self.transcript else ""
        if self.data is not None:
            return f"Media({len(self.data):,} bytes, media_type={self.media_type!r}{said})"
        return f"Media(url={short(str(self.url))}, media_type={self.media_type!r}{said})"

    def __post_init__(self) -> None:
        if (self.data is None) == (self.url is None):
            raise RuleError(violations=[Violation("media", "expected either data or url")])
        if self.url is not None and not isinstance(self.url, str):
            raise _no_media("url", f"expected a text, not {type(self.url).__name__}", _FROM_FILE)
        if self.url is not None and self.url[:5].lower() == "file:":
            raise _no_media("url", "no vendor can read a file: URL", _FROM_FILE)
        if self.url is not None and self.url[:5].lower() == "data:":
            from wire.neutral.media_types import inline_data  # most URLs are addresses

            media_type, data = inline_data(self.url)
            msgspec.structs.force_setattr(self, "url", None)
            msgspec.structs.force_setattr(self, "data", data)
            msgspec.structs.force_setattr(self, "media_type", self.media_type or media_type)
        if isinstance(self.data, bytearray | memoryview):
            msgspec.structs.force_setattr(self, "data", bytes(self.data))
        if self.data is not None and not isinstance(self.data, bytes):
            remedy = (
                f"{_FROM_FILE}; url='data:TYPE;base64,...' takes base64"
                if isinstance(self.data, str)
                else _FROM_FILE
            )
            raise _no_media("data", f"expected bytes, not {type(self.data).__name__}", remedy)
        if self.data == b"":
            raise _no_media("data", "expected bytes, not an empty value")
        if self.data is not None and not self.media_type:
            raise _no_media("media_type", "data needs a media type, such as image/png")

    @classmethod
    @checked_arguments()
    def file(
        cls,
        path: str | os.PathLike[str],
        *,
        media_type: str = "",
        name: str = "",
        detail: Literal["", "low", "high", "auto"] = "",
        start: str = "",
        end: str = "",
        fps: float | None = None,
    ) -> Self:
        """Read a file of up to 256 MiB; the other arguments are the fields.

        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "tide.png")
        ...     path.write_bytes(b"\\x89PNG") and Media.file(path).media_type
        'image/png'

        The media type is the one of the extension, else that of the first bytes. The file's name is
        sent only as `name=`. Raises `RuleError` for a file that cannot be read, is empty, or has an
        unknown type.
        """
        # Most media are in memory, or at a URL.
        from wire.core.files import read_whole
        from wire.neutral.media_types import HEAD_BYTES, media_type_of

        data = read_whole(path, RuleError)
        file_name = os.path.basename(os.fsdecode(path))
        if not data:
            raise _no_media("file", f"{file_name!r} is empty")
        kind = media_type or media_type_of(file_name, data[:HEAD_BYTES])
        if not kind:
            remedy = "name it, such as Media.file(path, media_type='text/plain')"
            raise _no_media("file", f"the media type of {file_name!r} is unknown", remedy)
        return cls(
            data=data, media_type=kind, name=name, detail=detail, start=start, end=end, fps=fps
        )


_FROM_FILE = "Media.file(path) reads a file"


def _no_media(field: str, problem: str, remedy: str = "") -> RuleError:
    return RuleError(violations=[Violation(f"media.{field}", problem, remedy=remedy)])


class ToolResult(TextlessPart, frozen=True, tag="tool_result", metaclass=Fields):
    """The result of one tool call.

    >>> ToolResult("call_1", "get_weather", "no such city", error=True).answer
    {'error': 'no such city'}
    """

    id: str
    """Id of the call."""
    name: str
    """Name of the tool."""
    content: Any = ""
    """A text, or any JSON value."""
    error: bool = False
    """Whether the content is an error message."""
    media: tuple[Media, ...] = ()
    """Media that the tool returned."""

    @property
    def answer(self) -> dict[str, Any]:
        """The object that is sent to the model.

        An object is sent as it is, any other value under the key `result`, an error under `error`.
        """
        content = self.content
        is_object = type(content) is dict or isinstance(content, Mapping)
        if self.error and not (is_object and "error" in content):
            return {"error": content}
        return dict(content) if is_object else {"result": content}


class ServerToolCall(TextlessPart, frozen=True, kw_only=True, tag="server_tool_call"):
    """A call of a tool that the vendor's server runs. It needs no result of the caller.

    >>> ServerToolCall(name="web_search", arguments={"query": "tide in Brest"}).arguments
    {'query': 'tide in Brest'}

    It is sent back unchanged to the model that it came from, and is left out elsewhere.
    """

    id: str = ""
    """The vendor's id; empty if it sent none."""
    name: str
    """The vendor's name of the tool, such as `code_execution`."""
    kind: str = ""
    """`web_search`, `code`, `url_context`, `file_search` or `mcp`; empty for another tool."""
    arguments: dict[str, Any] | None = msgspec.field(default_factory=dict)
    """`None` if the received arguments are not a JSON object, or are truncated."""


class ServerToolResult(TextlessPart, frozen=True, kw_only=True, tag="server_tool_result"):
    """The result of a tool that the vendor's server ran. It follows its `ServerToolCall`.

    It is sent back unchanged to the model that it came from, and is left out elsewhere.
    """

    id: str = ""
    """Id of the call; empty if the vendor sent none."""
    name: str
    """The vendor's name of the tool."""
    kind: str = ""
    """As `ServerToolCall.kind`."""
    content: Any = None
    """The JSON of the result, in the vendor's form."""
    error: bool = False
    """Whether the tool failed."""


class Other(TextlessPart, frozen=True, tag="other"):
    """A part without a neutral form, such as a type that is newer than this library.

    It is sent back unchanged to the model that it came from, and is left out elsewhere.
    """

    kind: str
    """The vendor's name of this kind of part."""
    data: Any = None


Part: TypeAlias = (
    Text | Thought | ToolCall | ToolResult | Media | ServerToolCall | ServerToolResult | Other
)
Parts: TypeAlias = str | Part | Iterable[str | Part]
Role: TypeAlias = Literal["system", "developer", "user", "assistant", "tool"]
ROLES = ("system", "developer", "user", "assistant", "tool")
_values = msgspec.structs.astuple

_MAX_NESTING = 20
"""Levels of lists around a part. `list[int]` iterates over itself without end."""

_PARTS = (Text, Thought, ToolCall, ToolResult, Media, ServerToolCall, ServerToolResult, Other)
_PART_TYPES = frozenset(_PARTS)


class Citation(MetadataStruct, frozen=True, kw_only=True):
    """A source of a message, and the span of the message's text that rests on it.

    >>> cited = Citation(title="Tides", start=13, end=21)
    >>> message = Message("assistant", "High tide is at 05:12.", citations=[cited])
    >>> message.text[cited.start : cited.end]
    'at 05:12'
    """

    url: str = ""
    """URL of the source; Gemini's are redirects. Empty for a source without a URL."""
    title: str = ""
    """Title of the page, or name of the file."""
    text: str = ""
    """The text of the source that the vendor quotes."""
    source: str = ""
    """The vendor's id of a source that is not a web page, such as the id of a file."""
    start: int | None = None
    """Where the span begins in `Message.text`, in Unicode code points; `None` if the vendor names
    no span, or one that the text does not have."""
    end: int | None = None
    """Where the span ends; not part of it. Equal to `start` for a mark at one position."""
    extra: dict[str, Any] | None = None
    """Further keys of the citation, in the vendor's form."""


class Message(Value, frozen=True, metaclass=Fields):
    """One message of a conversation: a role and parts.

    >>> Message.user("What is this?", Media(url="https://example.com/a.png")).text
    'What is this?'

    Raises `RuleError` for a role or a part that does not exist.
    """

    role: Role
    """`developer` is sent as `system`, except to hosts of chat completions that have the role."""
    parts: tuple[Part, ...] = ()
    """Texts, media, thoughts, tool calls and tool results, in order."""
    name: str = ""
    """Name of the speaker, to tell several users apart. Chat completions alone have it; other wires
    report it in the notes.
    """
    cache: bool = False
    """Ask the vendor to keep the request up to the end of this message, for later requests with the
    same beginning. Vendors that keep beginnings on their own need no mark and get none."""
    citations: tuple[Citation, ...] = ()
    """The sources that the vendor names for the text, in its order."""

    if TYPE_CHECKING:  # parts and citations are taken in more forms than they are kept in

        def __init__(
            self,
            role: Role,
            parts: Parts = (),
            name: str = "",
            cache: bool = False,
            citations: Iterable[Citation] = (),
        ) -> None: ...

    def __post_init__(self) -> None:
        # One call for all fields: a field of a class with hints takes twice as long to read.
        role, parts, name, cache, citations = _values(self)
        if (
            type(role) is not str
            or role not in ROLES
            or type(name) is not str
            or type(cache) is not bool
        ):
            self._check()
        if type(citations) is not tuple or citations:
            msgspec.structs.force_setattr(self, "citations", _citations(citations))
        if type(parts) is not tuple:
            msgspec.structs.force_setattr(self, "parts", tuple(_flat((parts,))))
        else:
            for part in parts:
                if type(part) not in _PART_TYPES and not _is_part(part):
                    raise _no_part(part)

    def _check(self) -> None:
        if not isinstance(self.role, str) or self.role not in ROLES:
            problem = f"expected one of {', '.join(ROLES)}, not {quoted(self.role)}"
            raise refusal(RuleError, "message.role", problem)
        for name, kind, words in (("name", str, "a text"), ("cache", bool, "a bool")):
            if not isinstance(given := getattr(self, name), kind):
                problem = f"expected {words}, not {type(given).__name__}"
                raise refusal(RuleError, f"message.{name}", problem)

    def __repr__(self) -> str:
        shown = [short(part.text) if type(part) is Text else repr(part) for part in self.parts]
        named = [f"name={self.name!r}"] if self.name else []
        cached = ["cache=True"] if self.cache else []
        cited = [f"citations={len(self.citations)}"] if self.citations else []
        return f"Message({', '.join([repr(self.role), *shown, *named, *cached, *cited])})"

    @classmethod
    def system(cls, *parts: Parts, name: str = "", cache: bool = False) -> Self:
        """Build a message with instructions to the model."""
        return _made(cls, "system", _listed(parts), name, cache)

    @classmethod
    def developer(cls, *parts: Parts, name: str = "", cache: bool = False) -> Self:
        """Build a message with instructions to the model, in OpenAI's role `developer`."""
        return _made(cls, "developer", _listed(parts), name, cache)

    @classmethod
    def user(cls, *parts: Parts, name: str = "", cache: bool = False) -> Self:
        """Build a message of the user: texts and media."""
        return _made(cls, "user", _listed(parts), name, cache)

    @classmethod
    def assistant(cls, *parts: Parts, name: str = "", cache: bool = False) -> Self:
        """Build a message of the model."""
        return _made(cls, "assistant", _listed(parts), name, cache)

    @classmethod
    @checked_arguments()
    def assistant_tool_calls(cls, calls: Iterable[ToolCall], text: str = "") -> Self:
        """Build a message of the model with tool calls, after `text` if it is given."""
        return cls("assistant", (*((Text(text),) if text else ()), *_flat((calls,))))

    @classmethod
    def tool_response(
        cls, *results: ToolResult | Iterable[ToolResult], cache: bool = False
    ) -> Self:
        """Build a message with the results of the tool calls of one turn."""
        return cls("tool", tuple(_flat(results)), cache=cache)

    @classmethod
    @checked_arguments()
    def tool_result(cls, call: ToolCall, content: Any = "", *, is_error: bool = False) -> Self:
        """Build a message with the result of one tool call."""
        return cls("tool", (ToolResult(call.id, call.name, content, is_error),))

    @property
    def instructs(self) -> bool:
        """Whether the message holds instructions, so that it is not a turn of the conversation."""
        return self.role == "system" or self.role == "developer"

    @property
    def text(self) -> str:
        """All texts, joined."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))

    @property
    def refusal(self) -> str:
        """All texts with which the model refuses the request, joined. They are in `text`, too."""
        return "".join(part.text for part in self.parts if isinstance(part, Text) and part.refusal)

    @property
    def thought(self) -> str:
        """All thoughts, joined."""
        return "".join(part.text for part in self.parts if isinstance(part, Thought))

    @property
    def media(self) -> tuple[Media, ...]:
        """The images, sounds, videos and documents, in order."""
        return tuple(part for part in self.parts if isinstance(part, Media))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))

    @property
    def tool_results(self) -> tuple[ToolResult, ...]:
        """The tool results, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolResult))


def own_text(message: Message) -> str | None:
    """Return the text of a message that is one text only, and that no model wrote; or `None`.

    A message with `cache` gives `None` too. Most messages of a long history are one such text.

    >>> own_text(Message.user("Hi")), own_text(Message.user("Hi", "there"))
    ('Hi', None)
    """
    parts = message.parts
    if len(parts) != 1 or type(part := parts[0]) is not Text:
        return None
    if message.cache or origin_of(message) is not None or origin_of(part) is not None:
        return None
    if part.signature or part.refusal or part.extra is not None:
        return None
    return part.text


class OwnTexts(NamedTuple):
    """The messages that are one text, and the others."""

    texts: dict[int, str]
    """Index of a message -> its text, which is not empty."""
    others: list[int]
    """Indexes of the other messages. Code that handles more than texts reads only these."""


def own_texts(messages: Sequence[Message]) -> OwnTexts:
    """Find the messages of user and assistant that `own_text` accepts and that have no name.

    >>> own_texts([Message.user("Hi"), Message.user("Hi", "there"), Message.assistant("Hello.")])
    OwnTexts(texts={0: 'Hi', 2: 'Hello.'}, others=[1])
    """
    texts: dict[int, str] = {}
    others: list[int] = []
    for index, message in enumerate(messages):
        role, text = message.role, own_text(message)
        if (
            text
            and (role == "user" or role == "assistant")
            and not message.name
            and not message.cache
        ):
            texts[index] = text
        else:
            others.append(index)
    return OwnTexts(texts, others)


def _is_part(part: object) -> bool:
    return isinstance(part, _PARTS)


def _no_part(part: object) -> RuleError:
    problem = f"expected a text or a part, not {type(part).__name__}"
    remedy = "give whole messages as messages=" if isinstance(part, Message) else ""
    if isinstance(part, Mapping):
        remedy = "write Text('...'), Media(url=...) or ToolResult(...)"
        if "role" in part:
            remedy = "write messages=[Message.user('...')]"
    return RuleError(violations=[Violation("message.parts", problem, remedy=remedy)])


def _listed(parts: tuple[Any, ...]) -> tuple[Part, ...]:
    # One text is what most messages have.
    if len(parts) == 1 and type(parts[0]) is str:
        return (Text(parts[0]),)
    return tuple(_flat(parts))


def _flat(parts: Iterable[Any], depth: int = 0) -> Iterator[Part]:
    for part in parts:
        if isinstance(part, str):
            yield Text(part)
        elif _is_part(part):
            yield part
        elif not isinstance(part, Iterable) or isinstance(part, (bytes, Mapping, type)):
            raise _no_part(part)
        elif depth >= _MAX_NESTING:
            problem = f"nested more than {_MAX_NESTING} levels deep"
            raise RuleError(violations=[Violation("message.parts", problem)])
        else:
            yield from _flat(items_of("message.parts", part), depth + 1)


def _citations(given: Any) -> tuple[Citation, ...]:
    citations = items_of("message.citations", given)
    for index, each in enumerate(citations):
        if not isinstance(each, Citation):
            problem = f"expected a Citation, not {type(each).__name__}"
            raise refusal(RuleError, f"message.citations[{index}]", problem)
    return citations


if TYPE_CHECKING:
    from typing_extensions import TypeVar as TypeVarWithDefault  # loaded for type checkers

    Value_co = TypeVarWithDefault("Value_co", covariant=True, default=Any)
else:
    Value_co = TypeVar("Value_co", covariant=True)


class Reply(MetadataStruct, Foreign, Generic[Value_co], frozen=True):
    """One reply of a model.

    >>> Reply(Message.assistant("Hello."), Stop("end")).text
    'Hello.'

    To type checkers, a reply to `output=City` is a `Reply[City]`. Other replies are `Reply[Any]`,
    for which `Reply` is enough.
    """

    message: Message
    """The message of the model, to be appended to the conversation."""
    stop: Stop
    """Why the model stopped."""
    usage: Usage | None = None
    """`None` if the vendor sent none."""
    notes: tuple[Note, ...] = ()
    """Reports of what was changed or dropped while the request was rendered and the response
    parsed.
    """
    id: str = ""
    """The vendor's id of the response."""
    model: str = ""
    """The vendor's name of the model that replied."""
    output: Value_co = cast(Any, None)
    """The reply's JSON as a value of the type `output=`, if the request had one. `None` in a reply
    that is partial or calls tools."""
    reasks: tuple[Reply, ...] = ()
    """The replies before this one that did not fit `output=`, oldest first. The model was asked
    again after each. `usage` is the sum of all of them and of this one."""
    hops: tuple[Reply, ...] = ()
    """The replies to the requests that one long answer took, in order, each with its own `usage`
    and `answer`; empty if it took one. `usage` is their sum, in which each request counts the
    prompt and all that was written before it."""

    @property
    def answer(self) -> Any:
        """The response as the wire's own struct, with all its fields.

        `None` for a reply that was not received.
        """
        return self.__dict__.get(_ANSWER)

    @property
    def failures(self) -> dict[str, WireError]:
        """Name of each model that a `FallbackChat` asked before this one, to the error with which
        it failed; models that sat out are not among them. Empty for other replies.

        Copies and pickles keep it, `msgspec.structs.replace` does not. What is saved as JSON, such
        as the run of an agent, has the note alone.
        """
        return dict(self.__dict__.get(_FAILURES, ()))

    @property
    def cost(self) -> Cost:
        """The cost of the reply in USD, as the vendor reports it or by the catalogue's prices.

        >>> from wire import Chat
        >>> from wire.testing.emulator import Emulator, EmulatorTransport
        >>> http = EmulatorTransport(Emulator([{"say": "Hello."}]))
        >>> with Chat("anthropic:claude-sonnet-5", api_key="fake-key", http=http) as chat:
        ...     print(chat.ask("Hi").cost)
        0.000032 USD

        Computed each time. `total` is `None`, and `reason` says why, if the model has no price in
        the catalogue, the vendor sent no counts, or the reply is incomplete. `reasks` are included.
        Attempts that failed are not; a note names those whose answer had begun.
        """
        from wire.catalogue.cost import total_of  # loads a file at its first use

        if self.reasks:
            return total_of(map(_cost, (*self.reasks, vars(self).get(LAST, self))))
        return _cost(self)

    @property
    def text(self) -> str:
        """All texts of the message, joined."""
        return self.message.text

    @property
    def thought(self) -> str:
        """All thoughts of the message, joined."""
        return self.message.thought

    @property
    def media(self) -> tuple[Media, ...]:
        """The images and sounds that the model made, in order."""
        return self.message.media

    @property
    def citations(self) -> tuple[Citation, ...]:
        """The sources that the vendor names for the text, in its order."""
        return self.message.citations

    @property
    def empty(self) -> bool:
        """Whether the reply has no text, no call and no other part except thoughts."""
        return all(
            isinstance(part, Thought) or (isinstance(part, Text) and not part.text)
            for part in self.message.parts
        )

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The tool calls of the message, in order."""
        return self.message.tool_calls

    def __repr__(self) -> str:
        return _reply_line(self)

    def _repr_html_(self) -> str:
        """Format the reply for a notebook; everything that the model wrote is escaped."""
        return _reply_html(self)


def with_reasks(
    reply: Reply, reasks: tuple[Reply, ...], usage: Usage | None, notes: tuple[Note, ...]
) -> Reply:
    """Return a copy of `reply` that keeps its metadata and includes the replies before it.

    It also keeps `reply`: the cost of each reply depends on its own counts. The model of a stream
    was chosen for the first reply.
    """
    copy = msgspec.structs.replace(reply, reasks=reasks, usage=usage, notes=notes)
    vars(copy).update({_FAILURES: reasks[0].failures, **vars(reply), LAST: reply})
    return copy


def _cost(reply: Reply) -> Cost:
    from wire.catalogue.cost import Cost, cost_of_answer, total_of

    if reply.hops:  # a price may depend on the length of one prompt
        return total_of(map(_cost, reply.hops))
    origin = reply.message.origin
    if origin is None:
        return Cost(reason="the message did not come from a model")
    # First the model that answered: a deployment of Azure has a name of its own, a router chooses.
    models = (reply.model, origin.model)
    tier = vars(reply).get(TIER, "")
    cost = cost_of_answer(reply.answer, reply.usage, origin.provider, models, tier)
    if PARTIAL in reply.notes:
        reason = "the reply is incomplete; the vendor may charge more than it has counted so far"
        return Cost(known=cost.known, reason=reason)
    return cost


def with_tier(reply: Reply, tier: str) -> Reply:
    """Set the tier of service by which the reply is priced, unless the response names one."""
    vars(reply)[TIER] = tier
    return reply


def with_failures(reply: Reply, failures: Mapping[str, WireError]) -> Reply:
    """Attach the errors of the models that were asked before the one that replied."""
    vars(reply)[_FAILURES] = failures
    return reply


def with_answer(reply: Reply, answer: WireStruct) -> Reply:
    """Attach the wire's struct that `reply` was parsed from."""
    vars(reply)[_ANSWER] = answer
    return reply


def checked(reply: Reply) -> Reply:
    """Return the reply unless the vendor's filters removed all of it.

    Raises `BlockedError`; its `partial` is the reply, its `code` the vendor's stop reason.
    """
    if reply.stop.reason == "filter" and (reply.empty or _is_refused(reply.message)):
        detail = f": {reply.stop.message}" if reply.stop.message else ""
        raise BlockedError(
            f"blocked by the provider ({reply.stop.raw}){detail}",
            code=reply.stop.raw,
            partial=reply,
        )
    return reply


def _is_refused(message: Message) -> bool:
    """Return whether everything that the model wrote is a refusal."""
    return all(
        isinstance(part, Thought) or (isinstance(part, Text) and part.refusal)
        for part in message.parts
    )


def check_values(message: Message, path: str, *, plain: bool = False) -> None:
    """Raise `RuleError` with the JSON paths, below `path`, of values that JSON cannot represent.

    `plain` as in `wire.core.json_values.checked`.
    """
    for position, citation in enumerate(message.citations):
        fields = msgspec.structs.asdict(citation)
        json_values.checked(fields, f"{path}.citations[{position}]", plain=plain)
    if json_values.are_sound(values_of((message,))):
        return
    json_values.checked(message.name, f"{path}.name", plain=plain)
    for position, part in enumerate(message.parts):
        _check_part(part, f"{path}.parts[{position}]", plain)


def values_of(messages: Iterable[Message], *, received: bool = True) -> list[Any]:
    """Return the values that `check_values` checks in messages, for one pass over all of them.

    With `received=False`, messages of the assistant that came from a model are left out.
    """
    messages = tuple(messages)
    values: list[Any] = [message.name for message in messages if message.name]
    parts: list[Any] = [
        part
        for message in messages
        if received or message.role != "assistant" or message.origin is None
        for part in message.parts
    ]
    parts += [each for part in parts if isinstance(part, ToolResult) for each in part.media or ()]
    # Field by field for all parts of a type: most parts have the default in most fields.
    for kind in set(map(type, parts)):
        own = [part for part in parts if type(part) is kind]
        for name, default in _fields_with_values(kind):
            column = list(map(operator.attrgetter(name), own))
            if any(map(operator.is_not, column, itertools.repeat(default))):
                values += column
    return values


@functools.cache
def _fields_with_values(kind: type[Part]) -> list[tuple[str, Any]]:
    """Return the fields of a part that hold JSON values, and their defaults."""
    names, defaults = kind.__struct_fields__, kind.__struct_defaults__
    required = len(names) - len(defaults)
    fields = zip(names, [msgspec.NODEFAULT] * required + list(defaults), strict=True)
    nested = "media" if issubclass(kind, ToolResult) else "data" if issubclass(kind, Media) else ""
    return [(name, default) for name, default in fields if name != nested]


def _check_part(part: Part, path: str, plain: bool) -> None:
    for name in part.__struct_fields__:
        value = getattr(part, name)
        if value is None or (name != "data" and type(value) is str and not value):
            continue  # most fields of most parts are empty, and an empty one needs no check
        if isinstance(part, ToolResult) and name == "media":
            for position, each in enumerate(part.media):
                _check_part(each, f"{path}.media[{position}]", plain)
        elif name != "data" or not isinstance(part, Media):
            json_values.checked(value, f"{path}.{name}", plain=plain)


# --- events of a streamed reply -------------------------------------------------------------------


class TextDelta(msgspec.Struct, Foreign, frozen=True):
    """A piece of the reply's text.

    >>> "".join(event.text for event in [TextDelta("Hel"), TextDelta("lo.")])
    'Hello.'
    """

    text: str
    """The piece, to be joined to those before it without a separator."""


class ThoughtDelta(msgspec.Struct, Foreign, frozen=True):
    """A piece of a thought's text."""

    text: str
    """The piece, to be joined to those before it without a separator."""


class MediaDelta(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a sound or an image, or all of it.

    >>> pieces = [MediaDelta(position=0, data=b"RI"), MediaDelta(position=0, data=b"FF")]
    >>> b"".join(piece.data for piece in pieces)
    b'RIFF'
    """

    position: int
    """Position among the media of the reply, from 0."""
    data: bytes = b""
    """The piece, to be joined to those before it with this position."""
    url: str = ""
    """URL of media that are not sent as bytes."""
    media_type: str = ""
    """Such as `image/png`; empty until the first bytes."""
    transcript: str = ""
    """A piece of the words of a sound, to be joined to those before it."""


class ToolCallStart(msgspec.Struct, frozen=True):
    """A tool call begins. `position` counts the calls of a reply from 0 and identifies the call."""

    position: int
    """Position of the call among those of the reply, from 0."""
    name: str
    """Name of the function."""
    id: str = ""
    """Id of the call; empty if the vendor sends it later."""


class ToolCallDelta(msgspec.Struct, Foreign, frozen=True):
    """A piece of the JSON text of a call's arguments."""

    position: int
    """Position of the call among those of the reply, from 0."""
    text: str
    """The piece of JSON, to be joined to those before it."""


class ToolCallEnd(msgspec.Struct, Foreign, frozen=True):
    """No more pieces of this call follow. `call.arguments` is `None` if its JSON is malformed."""

    position: int
    """Position of the call among those of the reply, from 0."""
    call: ToolCall
    """The complete call."""


class ObjectDelta:
    """The value of `output=` so far, sent each time that a field is complete or its text grows.

    >>> ObjectDelta({"port": "Bre"}, ("port",), growing=True).value
    {'port': 'Bre'}

    `value` holds the fields that are whole, as plain JSON data that is not validated yet, and at
    most one text that still grows. It is built when it is first read, and shares its parts with the
    values of other events, so do not change it.
    """

    path: tuple[str | int, ...]
    """Keys and indexes of the field or list item; empty for the value itself."""
    growing: bool
    """Whether the field is a text that has not ended. Otherwise the field is complete."""

    __slots__ = ("_grown", "_value", "growing", "path")
    __match_args__ = ("value", "path", "growing")

    def __init__(self, value: Any, path: tuple[str | int, ...] = (), growing: bool = False) -> None:
        self._grown: Callable[[], Any] | None = None
        self._value, self.path, self.growing = value, path, growing

    @property
    def value(self) -> Any:
        """The value so far."""
        if (build := self._grown) is not None:
            self._value, self._grown = build(), None
        return self._value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectDelta) and self._key() == other._key()

    __hash__ = None  # type: ignore[assignment]  # its value is a dict or a list

    def _key(self) -> tuple[Any, ...]:
        return self.path, self.growing, self.value

    def __repr__(self) -> str:
        growing = ", growing=True" if self.growing else ""
        return f"ObjectDelta({self.value!r}, {self.path!r}{growing})"

    def __reduce__(self) -> tuple[Any, ...]:
        return ObjectDelta, (self.value, self.path, self.growing)


def delta_of(build: Callable[[], Any], path: tuple[str | int, ...], growing: bool) -> ObjectDelta:
    """Return an event whose value is computed by `build` on first use."""
    event = ObjectDelta(None, path, growing)
    event._grown = build
    return event


class Restart(msgspec.Struct, frozen=True):
    """The response starts anew: the host or this library asked the model again, or the host ended
    the reply with another text than it had streamed.

    This library asks again if an answer does not fit `output=`. The events before it are not part
    of the reply. Calls are counted from 0 again, and calls that had begun do not end.
    """

    error: str = ""
    """The mismatch, as it was reported to the model; empty if the host began anew."""
    reply: Reply | None = None
    """The reply that does not fit."""


class ProviderEvent(msgspec.Struct, frozen=True):
    """An event of the vendor that no other event here stands for, such as one newer than this
    library.

    >>> ProviderEvent("thread_updated", {"type": "thread_updated", "thread": "t_1"}).data["thread"]
    't_1'
    """

    name: str
    """The vendor's type of the event; empty for a wire whose events have none."""
    data: dict[str, Any]
    """The JSON object of the event, as received; read-only."""


class Done(msgspec.Struct, Foreign, frozen=True):
    """The last event of a reply. It holds the complete reply.

    >>> Done(Reply(Message.assistant("Hello."), Stop("end"))).reply.text
    'Hello.'
    """

    reply: Reply
    """The complete reply."""


Event: TypeAlias = (
    TextDelta
    | ThoughtDelta
    | MediaDelta
    | ToolCallStart
    | ToolCallDelta
    | ToolCallEnd
    | ObjectDelta
    | Restart
    | ProviderEvent
    | Done
)


def _reply_line(reply: Reply) -> str:
    """Format the `repr` of a reply."""
    calls = ", ".join(short(call.name) for call in reply.tool_calls)
    words = [
        short(reply.text),
        f"tool_calls=[{calls}]" if calls else "",
        f"stop={reply.stop.reason!r}",
        f"tokens={reply.usage.total}" if reply.usage else "",
        f"citations={len(reply.citations)}" if reply.citations else "",
        f"notes={len(reply.notes)}" if reply.notes else "",
        f"model={short(reply.model)}" if reply.model else "",
    ]
    return f"Reply({', '.join(filter(None, words))})"


def _reply_html(reply: Reply) -> str:
    """Format a reply as HTML for a notebook: parts with folded thoughts, facts and notes."""
    from wire.neutral.display import html_block, html_text  # for notebooks only

    shown = []
    for part in reply.message.parts:
        text = html_text(_part_text(part))
        if isinstance(part, Thought):
            shown.append(
                f"<details><summary>Thoughts</summary>{html_block(text)}</details>" if text else ""
            )
        else:
            shown.append(html_block(text) if text else "")
    stop, usage, cost = reply.stop, reply.usage, reply.cost
    facts = [
        reply.model,
        f"stop: {stop.reason}" + (f" ({stop.raw})" if stop.raw else ""),
        "" if stop.message == reply.message.refusal else stop.message,
        f"{usage.input:,} tokens in ({usage.cached:,} cached)" if usage else "",
        f"{usage.output:,} tokens out ({usage.reasoning:,} reasoning)" if usage else "",
        str(cost) if cost.total is not None else "",
    ]
    line = " · ".join(f"<code>{html_text(fact)}</code>" for fact in facts if fact)
    titles = [html_text(each.title or each.url or each.source) for each in reply.citations]
    cited = "".join(f"<li><code>{title}</code></li>" for title in dict.fromkeys(titles))
    sources = f"<details><summary>Sources</summary><ul>{cited}</ul></details>" if cited else ""
    notes = "".join(f"<li><code>{html_text(str(note))}</code></li>" for note in reply.notes)
    listed = f"<details><summary>Notes: {len(reply.notes)}</summary><ul>{notes}</ul></details>"
    return f"<div>{''.join(shown)}<p>{line}</p>{sources}{listed if notes else ''}</div>"


def _part_text(part: Part) -> str:
    if isinstance(part, Text) and part.refusal:
        return f"Refusal: {part.text}"
    if isinstance(part, Text | Thought):
        return part.text
    if isinstance(part, ToolCall):
        return f"Tool call: {_call_line(part)}"
    if isinstance(part, ServerToolCall):
        from wire.neutral.display import arguments_line

        return f"Server tool call: {arguments_line(part.name, part.arguments)}"
    if isinstance(part, ServerToolResult):
        return f"Server tool result: {short(part.name)}"
    if isinstance(part, Media):
        return repr(part)
    return f"{type(part).__name__}: {short(str(getattr(part, 'kind', '')))}"


def _call_line(call: ToolCall) -> str:
    if call.arguments is None:
        return f"{call.name} {call.text}"
    from wire.neutral.display import arguments_line

    return arguments_line(call.name, call.arguments)
