"""Live sessions for all vendors: texts and sound in both directions at the same time.

A wire with such sessions has a `LiveConversation`: it turns what the program says into messages of
the wire, and messages of the server into events. It does no I/O; `wire.chat.live` sends and
receives for it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, Literal, Protocol, TypeAlias, TypedDict

import msgspec

from wire.core.bodies import merged_options
from wire.core.call import SocketCall
from wire.core.decoders import convert
from wire.core.errors import APIError, RuleError, Violation
from wire.core.extra_keys import with_extra
from wire.core.fields import Fields
from wire.core.memory import MetadataStruct, Note, S
from wire.core.provider import Provider
from wire.core.secret import quoted
from wire.neutral.messages import (
    Done,
    MediaDelta,
    Message,
    Part,
    ProviderEvent,
    TextDelta,
    ThoughtDelta,
    ToolCall,
    ToolCallEnd,
)
from wire.neutral.request import Request

Turns: TypeAlias = Literal["server", "client"]


# --- what is asked for ----------------------------------------------------------------------------


class LiveState(MetadataStruct, frozen=True, kw_only=True):
    """Where a session stopped, for another one that goes on with it.

    >>> LiveState(messages=(Message.user("Hi"),)).unanswered
    ()
    """

    messages: tuple[Message, ...] = ()
    """The conversation so far, with what the user has heard of the answers."""
    handle: str = ""
    """The server's own name of the session, if it keeps it; of Gemini, for two hours."""
    kept: int = 0
    """How many of the messages the server keeps under the handle."""
    unanswered: tuple[Message, ...] = ()
    """Messages of the user, the last of `messages`, to which no answer has ended."""


class LiveSettings(TypedDict, total=False):
    """The settings of a `LiveRequest`, as keyword arguments."""

    voice: str | None
    language: str | None
    sound: bool
    turns: Turns
    transcripts: bool | str
    state: LiveState | None


class LiveOptions(LiveSettings, total=False):
    """The keyword arguments of `connect`: the settings, and the conversation before."""

    messages: Iterable[Message] | Message | None


class LiveRequest(MetadataStruct, frozen=True, kw_only=True, metaclass=Fields):
    """The settings of a session, and the conversation before it.

    >>> LiveRequest(request=Request(messages=()), voice="marin").turns
    'server'

    Raises `RuleError` for a value of another type. What a host does not take is refused by its
    wire.
    """

    request: Request
    """The messages before, the instructions and the tools."""
    voice: str | None = None
    """Name of a voice of the host; by default that of the host."""
    language: str | None = None
    """Language of what is said, such as `en`; by default, the model finds out."""
    sound: bool = True
    """Whether the model speaks. False: it writes."""
    turns: Turns = "server"
    """Who finds the end of the user's speech."""
    transcripts: bool | str = True
    """Whether the host writes down what the user says; a name chooses its model."""
    state: LiveState | None = None
    """Where an earlier session stopped."""

    @property
    def before(self) -> tuple[Message, ...]:
        """The conversation before the session."""
        return self.request.messages if self.state is None else self.state.messages

    def __post_init__(self) -> None:
        for name, kinds in _KINDS.items():
            if not isinstance(value := getattr(self, name), kinds):
                problem = f"expected {_words(kinds)}, not {type(value).__name__}"
                raise RuleError(violations=[Violation(name, problem)])
        if self.turns not in ("server", "client"):
            problem = f"expected server or client, not {quoted(self.turns)}"
            raise RuleError(violations=[Violation("turns", problem)])


_KINDS: dict[str, tuple[type, ...]] = {
    "voice": (str, type(None)),
    "language": (str, type(None)),
    "sound": (bool,),
    "turns": (str,),
    "transcripts": (bool, str),
    "state": (LiveState, type(None)),
}


def _words(kinds: tuple[type, ...]) -> str:
    names = {str: "a text", bool: "a bool", LiveState: "a LiveState"}
    return " or ".join(names[kind] for kind in kinds if kind in names)


# --- events ---------------------------------------------------------------------------------------


class SpeechStart(msgspec.Struct, frozen=True):
    """The user begins to speak. What is not played yet of an answer is not to be played."""


class SpeechEnd(msgspec.Struct, frozen=True):
    """The user has stopped speaking."""


class TranscriptDelta(msgspec.Struct, frozen=True):
    """A piece of what somebody says, written down. It may come long after the sound.

    >>> TranscriptDelta("user", "Good morn").replaces
    False
    """

    role: Literal["user", "assistant"]
    """Who says it."""
    text: str
    """The piece, to be joined to those before it."""
    replaces: bool = False
    """Whether it stands in place of all pieces before it."""


class Interrupted(msgspec.Struct, frozen=True):
    """The answer ends early: the user spoke, or the program interrupted it."""


class CallsCancelled(msgspec.Struct, frozen=True):
    """The server does not want the results of these calls any more."""

    ids: tuple[str, ...]
    """Ids of the calls."""


class Refused(msgspec.Struct, frozen=True):
    """The server refuses a message of the program. The session goes on."""

    error: APIError
    """What it says."""


class Closing(msgspec.Struct, frozen=True):
    """The server is about to end the connection."""

    seconds: float | None = None
    """How soon; `None` if it does not say."""


LiveEvent: TypeAlias = (
    TextDelta
    | ThoughtDelta
    | MediaDelta
    | TranscriptDelta
    | SpeechStart
    | SpeechEnd
    | Interrupted
    | ToolCallEnd
    | CallsCancelled
    | Refused
    | Closing
    | ProviderEvent
    | Done
)


# --- a wire's side --------------------------------------------------------------------------------


class LiveConversation(Protocol):
    """One session of a wire. Each method adds what is to be sent to `outbox`."""

    call: SocketCall[Any, Any]
    """Opens the connection."""
    outbox: deque[Any]
    """Messages of the wire that are to be sent, oldest first."""
    notes: list[Note]
    """Reports of what was changed or dropped."""
    input_rate: int
    """Samples in a second of the user's sound: 16 bits, mono, little-endian."""
    output_rate: int
    """Samples in a second of the model's sound."""
    handle: str
    """The server's name of the session; empty if it cannot be resumed."""
    kept: int
    """How many messages the server keeps under the handle."""

    def begin(self) -> None:
        """Send the settings and the conversation before."""
        ...

    def send(self, parts: tuple[Part, ...]) -> None:
        """Send texts, media and results of calls, and ask for an answer.

        Without parts, only ask. Raises `RuleError` for a part that the wire cannot express, and
        for the result of a call that is not open.
        """
        ...

    def send_sound(self, data: bytes) -> None:
        """Send a piece of the user's sound."""
        ...

    def end_sound(self) -> None:
        """End the user's speech, and ask for an answer."""
        ...

    def interrupt(self, heard: float | None) -> None:
        """End the answer, of which the user heard so many seconds; `None` for all of it."""
        ...

    def receive(self, message: Any) -> list[LiveEvent]:
        """Take a message of the server."""
        ...

    def partial(self) -> Done | None:
        """Return the answer that has begun and not ended."""
        ...

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation so far."""
        ...

    @property
    def unanswered(self) -> tuple[Message, ...]:
        """The messages of the user to which no answer has ended."""
        ...

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """The calls without a result."""
        ...


class WireLive(Protocol):
    """A wire's live sessions."""

    def live_conversation(
        self, request: LiveRequest, model: str, provider: Provider | str = ""
    ) -> LiveConversation:
        """Build one session. Raises `RuleError` for what the provider refuses."""
        ...


def refuse_settings(request: Request, known: tuple[str, ...]) -> None:
    """Raise `RuleError` with each setting of a request that live sessions of a wire lack."""
    plain = Request(messages=())
    others = [
        Violation(name, "live sessions have no such setting here")
        for name in request.__struct_fields__
        if name not in ("messages", *known) and getattr(request, name) != getattr(plain, name)
    ]
    if others:
        raise RuleError(violations=others)


def with_live_options(
    settings: S, options: Mapping[str, Mapping[str, Any]], row: Provider, notes: list[Note]
) -> S:
    """Return the settings of a session with the options of its host, which are keys of their JSON.

    A key that the settings have no field for is sent, and noted. Raises `RuleError` for a value of
    another type than its field's.
    """
    keys = merged_options(options, row.option_names, settings)
    given: dict[str, Any] = {}
    for field in msgspec.structs.fields(settings) if keys else ():
        if field.encode_name in keys:
            try:
                given[field.name] = convert(keys.pop(field.encode_name), field.type)
            except msgspec.ValidationError as cause:
                path = f"options.{row.option_names[-1]}.{field.encode_name}"
                raise RuleError(violations=[Violation(path, str(cause))]) from None
    made = msgspec.structs.replace(settings, **given) if given else settings
    words = "sent, and not a key of the reference"
    notes += [Note(f"options.{row.option_names[-1]}.{key}", words) for key in keys]
    return with_extra(made, keys) if keys else made
