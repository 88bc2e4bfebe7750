"""The server's side of a wire: the request of a client, and the reply that the client gets.

`parse_request` of a wire converts the body of a client's request to a `ReceivedRequest`. Its
`ReplyWriter` writes a neutral reply as that vendor's server does, as one body or as events.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Protocol, TypeAlias, TypeVar, cast

import msgspec

from wire.catalogue.stops import is_word, known
from wire.core import json_values
from wire.core.arguments import check_inside, checked_arguments
from wire.core.call import Call, StreamCall
from wire.core.decoders import decoder
from wire.core.errors import RuleError, Violation, WireError
from wire.core.lenient import plain
from wire.core.memory import MetadataStruct, Note, WireStruct
from wire.neutral.ids import ToolNames, safe_names
from wire.neutral.messages import (
    Citation,
    Event,
    Media,
    Message,
    Origin,
    Other,
    Part,
    Reply,
    Text,
    ToolCall,
    ToolResult,
    with_origin,
)
from wire.neutral.request import TOOL_NAME, Request, ServerTool, Tool
from wire.neutral.unread import Steps, Unread, path_of

W = TypeVar("W", bound=WireStruct)
AnyCall = TypeVar("AnyCall", bound=Call[Any] | StreamCall[Any, Any])


_NONE: Mapping[str, str] = {}

NO_STATE = "d2lyZS1nYXRld2F5"
"""The opaque state of a thought without further state. All states begin with it."""


class ReceivedRequest(MetadataStruct, frozen=True, kw_only=True):
    """The request of a client, and the parts of the reply that the client wants."""

    request: Request
    """The request for the model."""
    model: str = ""
    """The name of the model in the body; empty if the body has none."""
    stream: bool = False
    """Whether the client wants events."""
    parallel: bool = True
    """Whether several tools may be called at once."""
    thoughts: bool = False
    """Whether the client wants the text of thoughts."""
    legacy_calls: bool = False
    """Whether the client wants the first call alone, as `function_call` of chat completions."""
    returns_state: bool = False
    """Whether the client sends opaque data of a reply back with the conversation."""
    previous: str = ""
    """Id of the response that the conversation continues."""
    stores: bool = False
    """Whether a later request may continue this conversation by the id of the response."""
    sends_usage: bool = True
    """Whether the client wants token counts at the end of a stream."""
    echo: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """Fields of the body that the response repeats."""
    notes: tuple[Note, ...] = ()
    """Notes on parts of the body that the model does not get."""
    unread: Unread | None = None
    """What has no neutral form."""

    @property
    def refused(self) -> Sequence[Violation]:
        """What no other model can be asked for, and cannot be left out."""
        return () if self.unread is None else self.unread.refused

    @property
    def names(self) -> dict[str, str]:
        """The client's names of tools by those in the request, where they differ."""
        changed = self.unread.names if self.unread is not None else {}
        return {safe: name for name, safe in changed.items()}

    @property
    def custom_tools(self) -> frozenset[str]:
        """The names of the tools whose calls have a text in place of JSON."""
        custom = (tool.name for tool in self.request.tools if tool.kind == "custom")
        names = self.names
        return frozenset(names.get(name, name) for name in custom)


def passed_on(
    call: AnyCall, parsed: ReceivedRequest, notes: list[Note], features: Mapping[str, str] = _NONE
) -> AnyCall:
    """Return the call of a model of the client's own API with what has no neutral form; note what
    has no place in it.

    The rules do not look at it: the server judges it. `features` are headers of the client with
    the names of features that its server switches on; those of the call stay.
    """
    if parsed.unread is None or not parsed.unread.own:
        return call
    body, left = parsed.unread.passed(call.body)
    notes += left
    headers = {
        name: ",".join(dict.fromkeys([*filter(None, [str(call.headers.get(name, ""))]), value]))
        for name, value in features.items()
    }
    made: Any = call.replace(headers=headers)
    return cast(AnyCall, msgspec.structs.replace(made, body=body))


class ResponseHead(msgspec.Struct, frozen=True, kw_only=True):
    """Fields of a response besides the reply."""

    id: str
    """The id of the response, which ids inside it are made of."""
    model: str
    """The name of the model that replies."""
    created: int
    """Seconds since 1970."""

    state: Callable[[Message], str] = lambda message: ""
    """Returns opaque base64 of the state of a message that only its model can read; empty if there
    is none."""

    @property
    def moment(self) -> datetime:
        """`created` in UTC. Raises `RuleError` for a moment after the year 9999."""
        try:
            return datetime.fromtimestamp(self.created, UTC)
        except (OverflowError, ValueError, OSError):
            raise RuleError("head.created: is no moment of the years 1 to 9999") from None


def head_of(reply: Reply) -> ResponseHead:
    """Return the head of a response that is nothing but the reply."""
    return ResponseHead(id=reply.id, model=reply.model, created=0)


Split: TypeAlias = Callable[[str], Sequence[str]]
"""Returns the pieces in which a stream sends a text."""


def in_one_piece(text: str) -> Sequence[str]:
    """Return a text as its only piece; an empty one has none."""
    return (text,) if text else ()


class ReplyWriter(Protocol):
    """Writes the events of one reply while it arrives, as the server of a vendor does."""

    def begin(self) -> bytes:
        """Return the bytes of a stream before the first event."""
        ...

    def feed(self, event: Event) -> bytes:
        """Return the bytes of a stream for one event; `Done` ends the stream."""
        ...


class Render(Protocol):
    """Writes a reply as the server of a vendor does."""

    def __call__(
        self,
        reply: Reply,
        received: ReceivedRequest | None = None,
        head: ResponseHead | None = None,
        *,
        stream: bool = False,
    ) -> bytes:
        """Return a whole response, or a stream of its events."""
        ...


def rendering(
    body_of: Callable[[Reply, ReceivedRequest | None, ResponseHead | None], dict[str, Any]],
    events_of: Callable[[dict[str, Any]], Iterable[dict[str, Any]]],
    framed: Callable[[Iterable[dict[str, Any]]], bytes],
) -> Render:
    """Build `render_reply` of a wire of the functions that write its parts."""

    @checked_arguments()
    def render_reply(
        reply: Reply,
        received: ReceivedRequest | None = None,
        head: ResponseHead | None = None,
        *,
        stream: bool = False,
    ) -> bytes:
        """Write a reply as a whole response or, with `stream`, as the stream of its events.

        `received` is the request of a client of another server, which gets the parts that it can
        use; without it, the response has all parts that a host of the wire can send. `head`
        replaces id and model of the reply. Raises `RuleError` for values that JSON cannot have.
        """
        body = body_of(reply, received, head)
        return framed(events_of(body)) if stream else encoded(body)

    return render_reply


Feed = TypeVar("Feed", bound=Callable[..., bytes])


def checked_feed(feed: Feed) -> Feed:
    """Make `feed` of a writer raise `RuleError` for an event with a value of a wrong type."""

    @functools.wraps(feed)
    def checked(writer: Any, event: Event) -> bytes:
        try:
            return feed(writer, event)
        except WireError:
            raise
        except Exception:
            check_inside("event", event, Event)
            raise

    return cast("Feed", checked)


def decoded_request(body: bytes, kind: type[W]) -> W:
    """Decode the body of a request. Raises `RuleError` with the JSON path of a wrong type.

    >>> from wire.anthropic.types import CountTokensRequest
    >>> decoded_request(b'{"model": 5}', CountTokensRequest)
    Traceback (most recent call last):
        ...
    wire.errors.RuleError: model: expected `str`, got `int`
    """
    try:
        request: W = decoder(kind).decode(body)
    except msgspec.ValidationError as cause:
        problem, _, path = str(cause).partition(" - at `$")
        violation = Violation(path.strip("`.") or "body", problem[:1].lower() + problem[1:])
        raise RuleError(violations=[violation]) from None
    except (ValueError, RecursionError) as cause:
        raise RuleError(violations=[Violation("body", f"expected JSON: {cause}")]) from None
    return request


def function_of(given: Unread, make: Callable[[], Tool]) -> Iterator[Tool]:
    """Yield the tool that `make` builds, unless its fields are those of none."""
    try:
        yield make()
    except RuleError as error:
        given.refused += error.violations


def accepted(received: ReceivedRequest) -> ReceivedRequest:
    """Return a request for another model. Raises `RuleError` for what is refused."""
    if received.refused:
        raise RuleError(violations=list(received.refused))
    return received


def own_part(part: WireStruct, kind: str | None, origin: Origin, given: Unread, path: str) -> Other:
    """Convert a part of a client's message that has no neutral form; refuse one of no kind.

    Only a model of the client's own API gets it, if `origin` names one.
    """
    if not kind:
        given.refuse(path, "expected a text, media, or another kind of part")
    other = Other(kind or "", msgspec.to_builtins(part))
    return with_origin(other, origin) if origin.provider else other


def result_of(
    id: str, name: str, parts: Sequence[Part], given: Unread, *steps: str | int
) -> ToolResult:
    """Return the result of a tool with its texts and media; `steps` lead to its content.

    Other parts are unread: a model of the client's own API gets the content as it came, and also if
    there are several texts, which are one here.
    """
    others = [at for at, part in enumerate(parts) if isinstance(part, Other)]
    texts = [part for part in parts if isinstance(part, Text)]
    whole = given.own and (others or len(texts) > 1)
    for path in [steps] if whole else [(*steps, at) for at in others]:
        given.add(*path)
    text = "\n".join(part.text for part in texts)
    media = tuple(part for part in parts if isinstance(part, Media))
    return ToolResult(id, name, text, media=media)


_NAMES = ToolNames(TOOL_NAME, most=64, kept=64, note="{name} is called {safe} for this model")
_ANY_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,128}")
"""Tool names that some vendor accepts. `Tool` refuses all others."""


def tool_names(found: Iterable[tuple[Steps, str | None]], given: Unread) -> None:
    """Find names for the tools of a client whose own names only its vendor accepts.

    `found` are the places of the names in the body. A model of the client's own API gets them as
    they are.
    """
    names = [(steps, name) for steps, name in found if name and _ANY_NAME.fullmatch(name)]
    notes: list[Note] = []
    given.names = safe_names(((path_of(steps), name) for steps, name in names), (), _NAMES, notes)
    if not given.own:
        given.told += notes
    for steps, name in names if given.own else ():
        if name in given.names:
            given.add(*steps)


def renamed(messages: Iterable[Message], given: Unread) -> tuple[Message, ...]:
    """Return the messages of a client with the names of tools that `tool_names` has found."""
    if not given.names or given.own:
        return tuple(messages)
    return tuple(
        msgspec.structs.replace(
            message,
            parts=tuple(
                msgspec.structs.replace(part, name=given.name_of(part.name))
                if isinstance(part, ToolCall | ToolResult)
                else part
                for part in message.parts
            ),
        )
        for message in messages
    )


Choice: TypeAlias = str | tuple[str, ...] | None


def chosen(
    tools: tuple[Tool | ServerTool, ...], choice: Choice, given: Unread, *steps: str
) -> tuple[tuple[Tool | ServerTool, ...], Choice]:
    """Return the tools of a client's request, and a choice that names functions only.

    The choice at `steps` is unread if it is left out.

    >>> from wire.neutral.unread import find_unread
    >>> chosen((ServerTool(kind="web_search"),), "none", find_unread(b"{}", {}), "tool_choice")
    ((), None)
    """
    if isinstance(choice, tuple) and not given.names.keys().isdisjoint(choice):
        choice = tuple(map(given.name_of, choice))
        if given.own:
            given.add(*steps)
    if not tools and (given.own or given.body.get("tools")):
        given.add(*steps)
    functions = tuple(tool for tool in tools if isinstance(tool, Tool))
    if len(functions) == len(tools) or choice is None:
        return tools, choice
    if choice == "none":
        return functions, choice if functions else None
    if isinstance(choice, tuple):
        kept: Choice = tuple(each for each in choice if each in {tool.name for tool in functions})
    else:
        kept = choice if functions else None
    if not kept and (given.own or choice != "auto"):  # its keys may be settings, which need it
        given.add(*steps, why="left out: the model decides on server tools")
    return tools, kept or None


def allowed(
    tools: tuple[Tool | ServerTool, ...], names: Sequence[str], given: Unread, path: str
) -> tuple[Tool | ServerTool, ...]:
    """Return the tools without the functions that the model may not call; note the others.

    A model of the client's own API gets all, and the list of those that it may call.
    """
    if given.own or not names:
        return tools
    kept = {given.name_of(name) for name in names}
    given.tell(path, f"only {', '.join(sorted(kept))} of the tools are sent")
    return tuple(tool for tool in tools if not isinstance(tool, Tool) or tool.name in kept)


def argument_object(call: ToolCall) -> dict[str, Any]:
    """Return the arguments of a call as an object, for wires that send one.

    >>> argument_object(ToolCall(name="add", arguments=None, text="{"))
    {'invalid_json': '{'}
    """
    return {"invalid_json": call.text} if call.arguments is None else dict(call.arguments)


def argument_text(call: ToolCall) -> str:
    """Return the arguments of a call as JSON text, for wires that send text."""
    if call.kind != "custom" and (call.text or call.arguments is None):
        return call.text
    return msgspec.json.encode(call.arguments or {}).decode()


def custom_text(call: ToolCall) -> str:
    """Return the text of a custom tool's call, which other hosts have as the argument `input`.

    >>> custom_text(ToolCall(name="run", arguments={"input": "SELECT 1"}))
    'SELECT 1'
    """
    text = (call.arguments or {}).get("input")
    return text if isinstance(text, str) else argument_text(call)


def encoded(value: Any) -> bytes:
    """Encode a value as JSON on one line; half a surrogate pair becomes U+FFFD.

    Raises `RuleError` for what JSON cannot represent.
    """
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        from wire.core.lenient import portable

        return msgspec.json.encode(portable(value))
    except (RecursionError, TypeError):
        json_values.checked(value, "reply")
        raise


def own_json(part: Part | Message, wire: str) -> dict[str, Any] | None:
    """Return the JSON that a part or message was received as on this wire; `None` for any other."""
    origin = part.origin
    if origin is None or origin.wire != wire or not origin.raw:
        return None
    found: dict[str, Any] = plain(origin.raw)
    return found


def stop_word_of(
    reply: Reply, wire: str, words: str, by_reason: Mapping[str, str], *, shown: bool = True
) -> str | None:
    """Return the word of a wire for the stop of a reply.

    It is the word that was received, if the table of stop words has it for the wire as `words`, or
    if the vendor of this wire sent it. Else it is the word for the reason. `shown` is whether the
    reply is written for a client of another server.
    """
    stop, origin = reply.stop, reply.message.origin
    if shown or origin is None:
        own = not shown and stop.reason not in by_reason and not is_word(stop.raw or "")
    else:
        own = origin.wire == wire
    if own or known(words, stop.raw or "") is not None:
        return stop.raw
    return by_reason.get(stop.reason, by_reason["end"])


def web_pages(reply: Reply) -> list[Citation]:
    """Return the citations that every client API has a form for: those with a URL."""
    return [each for each in reply.citations if each.url]


def left_out(
    reply: Reply, kinds: tuple[type[Part], ...], takes: Callable[[Media], bool]
) -> list[Note]:
    """Return a note for each part and citation of a reply that the client's wire cannot express.

    `kinds` are the types of parts that it lacks. Media that it `takes` get no note.
    """
    parts = [
        Note(f"message.parts[{index}]", f"left out: the client's API has no {type(part).__name__}")
        for index, part in enumerate(reply.message.parts)
        if isinstance(part, kinds) and not (isinstance(part, Media) and takes(part))
    ]
    citations = [
        Note(f"message.citations[{index}]", "left out: its source has no URL")
        for index, each in enumerate(reply.citations)
        if not each.url
    ]
    return [*parts, *citations]
