"""One model to be asked, whoever offers it: `Chat` for threads, `AsyncChat` for asyncio and trio.

They build calls out of neutral values, by the `rendering.py` of the wire that the provider speaks,
and send them with a client; that is all they do. Nothing is remembered between two questions: a
conversation is the list of messages that you pass.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    asynccontextmanager,
    contextmanager,
)
from typing import Any, Generic, Self, TypedDict, TypeVar, Unpack, cast

import msgspec

from wire.core.account import Account
from wire.core.call import Call, EventSource, StreamCall
from wire.errors import ConfigurationError, OutputError, RuleError, Violation
from wire.http.aio import AsyncClient, AsyncStream
from wire.http.client import Client, Stream
from wire.http.target import Options, seal
from wire.neutral.messages import Done, Event, Message, Parts, Reply
from wire.neutral.output import OutputType
from wire.neutral.request import Request, Tool
from wire.providers import model_of
from wire.tools import Toolbox
from wire.wires import WIRES

AnyCall = TypeVar("AnyCall", bound=Call[Reply] | StreamCall[Event, Reply])
AnyClient = TypeVar("AnyClient", bound=Client | AsyncClient)
AnyStream = TypeVar("AnyStream", bound=Stream[Event, Reply] | AsyncStream[Event, Reply])


class Settings(TypedDict, total=False):
    """How to ask; `wire.neutral.request.Request` says what each means.

    Given to a chat they hold for all questions, given to a question for it.
    """

    system: str
    tools: Iterable[Tool | Callable[..., Any]]
    """Functions and structs are turned into tools by `wire.tools.tool`."""
    tool_choice: str | Sequence[str] | None
    max_tokens: int | None
    temperature: float | None
    top_p: float | None
    stop: str | Sequence[str]
    effort: str | None
    search_grounding: bool
    raw_schemas: bool
    options: Mapping[str, Mapping[str, Any]]


class ChatOptions(Settings, Options, total=False):
    """Settings, and the options of the client that a chat makes if it is given none."""


class ChatState(Generic[AnyClient]):
    """What a chat is in every style: a client, a model, and how to ask it."""

    def __init__(
        self,
        name: str,
        client: AnyClient | None,
        kind: type[AnyClient],
        http: Any,
        options: ChatOptions,
    ) -> None:
        seal(options)
        self._called = name
        provider, self.model = model_of(name, client.provider if client is not None else "")
        unknown = sorted(set(options) - set(ChatOptions.__annotations__))
        if unknown:
            raise ConfigurationError(
                f"{unknown[0]}: no such option; there are client, http, "
                f"{', '.join(ChatOptions.__annotations__)}"
            )
        of_client = {name: options[name] for name in Options.__annotations__ if name in options}  # type: ignore[literal-required]
        self.client: AnyClient
        if client is None:
            self.client = kind(provider, http=http, **of_client)
        elif of_client or http != "auto":
            raise ConfigurationError(
                f"{next(iter(of_client), 'http')}: it is an option of the client, and a "
                "client was given"
            )
        elif client.provider != provider.lower():
            raise ConfigurationError(
                f"client: it asks {client.provider!r}, and {name!r} wants {provider!r}"
            )
        else:
            self.client = client
        self._called = f"{self.provider}:{self.model}"
        self._own = client is None
        given: dict[str, Any] = dict(options)
        self._settings = {name: given[name] for name in Settings.__annotations__ if name in given}
        self._settings = _checked(self._settings)

    @property
    def provider(self) -> str:
        """The name of who is asked."""
        return self.client.provider

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._called})"

    def request(
        self,
        prompt: Parts | None = None,
        *,
        messages: Iterable[Message] | None = None,
        **settings: Unpack[Settings],
    ) -> Request:
        """What would be asked, as a value.

        Raises `RuleError` unless either a prompt or messages are given.
        """
        if (prompt is None) == (messages is None):
            raise RuleError(
                violations=[Violation("messages", "either a prompt or messages are wanted")]
            )
        asked = (Message.user(prompt),) if prompt is not None else tuple(messages or ())
        return Request(messages=asked, **{**self._settings, **_checked(settings)})

    def whole(self, *args: Any, output: Any = None, **settings: Any) -> Call[Reply]:
        """The call that `ask` sends."""
        call: Call[Reply] = self._rendered("call", args, output, settings)
        return call

    def streamed(self, *args: Any, output: Any = None, **settings: Any) -> StreamCall[Event, Reply]:
        """The call that `stream` sends."""
        call: StreamCall[Event, Reply] = self._rendered("stream_call", args, output, settings)
        return call

    def _rendered(
        self, how: str, args: tuple[Any, ...], output: Any, settings: dict[str, Any]
    ) -> Any:
        request = self.request(*args, **settings)
        wanted = OutputType(output) if output is not None else None
        if wanted is not None:
            request = msgspec.structs.replace(request, output=wanted.output)
        make = getattr(WIRES[self.client.wire], how)
        call = make(request, self.model, self.client.row)
        return call if wanted is None else expecting(call, wanted)


def _checked(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as `Request` has them."""
    # What is `None` is as if it was not said.
    found = {name: value for name, value in settings.items() if value is not None}
    unknown = sorted(set(found) - set(Settings.__annotations__))
    if unknown:
        raise ConfigurationError(
            f"{unknown[0]}: no such setting; there are messages, output, "
            f"{', '.join(Settings.__annotations__)}"
        )
    if "tools" in found:
        found["tools"] = Toolbox(found["tools"]).definitions
    if isinstance(found.get("stop"), str):
        found["stop"] = (found["stop"],)
    for name in ("stop", "tool_choice"):
        if isinstance(found.get(name), Sequence) and not isinstance(found[name], str):
            found[name] = tuple(found[name])
    return found


# --- a reply on its way ---------------------------------------------------------------------------


class ChatStreamState(Generic[AnyStream]):
    """What the stream of a reply is in every style."""

    def __init__(self, stream: AnyStream) -> None:
        self._stream = stream

    def partial(self) -> Reply:
        """The reply so far, read anew each time.

        Nothing is read, and being early is no error. A reply that is not whole has
        `wire.core.memory.PARTIAL` in its notes; its `stop` is never `end` or `tool_calls`, and of a
        call that had only begun `arguments` is `None`.
        """
        return self._stream.partial()

    @property
    def account(self) -> Account:
        """What the call has cost so far."""
        return self._stream.account


class ChatStream(ChatStreamState[Stream[Event, Reply]]):
    """The events of one reply, in order, once.

    `reply()` reads to the end and is what `Chat.ask` gives; `partial()` is the reply so far.
    """

    def __iter__(self) -> Iterator[Event]:
        return self._stream  # itself an iterator: an event costs no call of this class

    def __next__(self) -> Event:
        return next(self._stream)

    def reply(self) -> Reply:
        """Read to the end, and give the whole reply; the same again afterwards. Raises as
        `Stream.result`, and as `Chat.ask`.

        >>> from wire.testing.emulator import Emulator, EmulatorTransport
        >>> http = EmulatorTransport(Emulator([{"say": "Hello."}]))
        >>> with Chat("gemini:gemini-3-pro-preview", api_key="fake-key", http=http) as chat:
        ...     with chat.stream("Hi") as events:
        ...         events.reply().text
        'Hello.'
        """
        return self._stream.result()


class AsyncChatStream(ChatStreamState[AsyncStream[Event, Reply]]):
    """The events of one reply, in order, once; what `ChatStream` is for threads."""

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._stream

    async def __anext__(self) -> Event:
        return await anext(self._stream)

    async def reply(self) -> Reply:
        """Read to the end, and give the whole reply. As `ChatStream.reply`."""
        return await self._stream.result()


@contextmanager
def _events(streams: AbstractContextManager[Stream[Event, Reply]]) -> Iterator[ChatStream]:
    with streams as stream:
        yield ChatStream(stream)


@asynccontextmanager
async def _async_events(
    streams: AbstractAsyncContextManager[AsyncStream[Event, Reply]],
) -> AsyncIterator[AsyncChatStream]:
    async with streams as stream:
        yield AsyncChatStream(stream)


# --- chats ----------------------------------------------------------------------------------------


class Chat(ChatState[Client]):
    """A model to be asked by threads.

    >>> chat = Chat("gemini:gemini-3-pro-preview", api_key="fake-key", system="Be brief.")
    >>> print(chat.client.preview(chat.whole("Hi")).body.decode())
    {"contents":[{"parts":[{"text":"Hi"}],"role":"user"}],"systemInstruction":{"parts":[{"text":"Be brief."}]}}
    >>> chat.close()

    The name is `provider[@region]:model`. Without `client`, a client is made of the options that
    are its own, and closed with the chat. Raises `ConfigurationError` that names the option.
    """  # noqa: E501

    def __init__(
        self,
        model: str,
        *,
        client: Client | None = None,
        http: Any = "auto",
        **options: Unpack[ChatOptions],
    ) -> None:
        super().__init__(model, client, Client, http, options)

    def ask(
        self,
        prompt: Parts | None = None,
        *,
        messages: Iterable[Message] | None = None,
        output: Any = None,
        **settings: Unpack[Settings],
    ) -> Reply:
        """One question, or a conversation in `messages`; the whole reply.

        With `output`, a type that msgspec or pydantic knows or a JSON Schema, the model answers in
        JSON, and `reply.output` is the value.

        Raises `RuleError` or `HistoryError` for what cannot be sent, `BlockedError` if filters left
        nothing of the answer, `OutputError` if it does not fit `output`, and what the client
        raises.
        """
        return self.client.send(self.whole(prompt, messages=messages, output=output, **settings))

    def stream(
        self,
        prompt: Parts | None = None,
        *,
        messages: Iterable[Message] | None = None,
        output: Any = None,
        **settings: Unpack[Settings],
    ) -> AbstractContextManager[ChatStream]:
        """The events of the reply as they come, `Done` with the whole reply last: `with
        chat.stream("Hi") as events:`. Raises as `ask`.
        """
        call = self.streamed(prompt, messages=messages, output=output, **settings)
        return _events(self.client.stream(call))

    def close(self) -> None:
        """Close the client, if it was made here. Closing twice is fine."""
        if self._own:
            self.client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncChat(ChatState[AsyncClient]):
    """A model to be asked on asyncio and trio; what `Chat` is for threads."""

    def __init__(
        self,
        model: str,
        *,
        client: AsyncClient | None = None,
        http: Any = "auto",
        **options: Unpack[ChatOptions],
    ) -> None:
        super().__init__(model, client, AsyncClient, http, options)

    async def ask(
        self,
        prompt: Parts | None = None,
        *,
        messages: Iterable[Message] | None = None,
        output: Any = None,
        **settings: Unpack[Settings],
    ) -> Reply:
        """One question, or a conversation in `messages`; the whole reply. As `Chat.ask`."""
        return await self.client.send(
            self.whole(prompt, messages=messages, output=output, **settings)
        )

    def stream(
        self,
        prompt: Parts | None = None,
        *,
        messages: Iterable[Message] | None = None,
        output: Any = None,
        **settings: Unpack[Settings],
    ) -> AbstractAsyncContextManager[AsyncChatStream]:
        """The events of the reply as they come, `Done` with the whole reply last.

        As `Chat.stream`.
        """
        call = self.streamed(prompt, messages=messages, output=output, **settings)
        return _async_events(self.client.stream(call))

    async def aclose(self) -> None:
        """Close the client, if it was made here. Closing twice is fine."""
        if self._own:
            await self.client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._own:
            await self.client.__aexit__()


# --- output ---------------------------------------------------------------------------------------


def expecting(call: AnyCall, wanted: OutputType) -> AnyCall:
    """The call with `reply.output` read from its answer; `OutputError` if the answer does not fit.

    Of a stream only the whole reply gets its output: JSON that was cut off may still fit a type.
    """
    if isinstance(call, Call):
        return cast(
            AnyCall, dataclasses.replace(call, parse=functools.partial(_parsed, call.parse, wanted))
        )
    assert call.events is not None
    events = functools.partial(_Expecting, call.events, wanted)
    return cast(AnyCall, dataclasses.replace(call, events=events))


def _parsed(parse: Callable[[bytes], Reply], wanted: OutputType, body: bytes) -> Reply:
    return _read(parse(body), wanted)


def _read(reply: Reply, wanted: OutputType) -> Reply:
    if reply.tool_calls:
        return reply  # the answer comes after the results
    try:
        msgspec.structs.force_setattr(reply, "output", wanted.read(reply.text))
    except OutputError as error:
        cut = (
            ""
            if reply.stop.reason == "end"
            else f" (it stopped with {reply.stop.raw or reply.stop.reason!r})"
        )
        raise OutputError(f"{error.message}{cut}", partial=reply) from error
    return reply


class _Expecting:
    """Events of an answer whose output is wanted."""

    def __init__(self, events: Callable[[], EventSource], wanted: OutputType) -> None:
        self._events, self._wanted = events(), wanted

    def feed(self, chunk: Any) -> Sequence[Event]:
        return self._events.feed(chunk)

    def close(self, answer: Reply) -> Sequence[Event]:
        events = self._events.close(answer)
        return [
            Done(_read(each.reply, self._wanted)) if isinstance(each, Done) else each
            for each in events
        ]
