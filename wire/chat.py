"""`Chat` for threads, and `AsyncChat` for asyncio and trio: a client and a model of any provider.

A chat builds a neutral request, lets the provider's wire render it as a call, and sends the call
with a client. A chat keeps no conversation: pass the list of messages to each request.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, Generic, Self, TypedDict, TypeVar, Unpack, cast

import msgspec

from wire.core.account import Account
from wire.core.arguments import items_of, suggestion
from wire.core.bodies import wrong_type
from wire.core.call import Call, EventSource, StreamCall, Timeouts
from wire.core.credentials import hidden, known_credential
from wire.core.retry import Retry
from wire.core.secret import quoted, sealed, sealed_object, type_name, unsealed
from wire.core.stream_block import async_stream_block, stream_block
from wire.errors import ConfigurationError, OutputError, RuleError, Violation
from wire.http.aio import AsyncClient, AsyncStream
from wire.http.client import Client, Stream
from wire.http.target import TRANSPORT_METHODS, Options, seal
from wire.neutral.messages import Done, Event, Message, Parts, Reply
from wire.neutral.output import OutputType
from wire.neutral.request import Request, Tool
from wire.providers import PROVIDERS, family_of, model_of
from wire.tools import Toolbox
from wire.wires import WIRES

AnyCall = TypeVar("AnyCall", bound=Call[Reply] | StreamCall[Event, Reply])
AnyClient = TypeVar("AnyClient", bound=Client | AsyncClient)
AnyStream = TypeVar("AnyStream", bound=Stream[Event, Reply] | AsyncStream[Event, Reply])


class Settings(TypedDict, total=False):
    """Settings of a request. `wire.neutral.request.Request` documents each of them.

    Settings of a chat apply to all its requests. Settings of one request take precedence.
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


class RequestOptions(Settings, total=False):
    """Settings of one request, and how to send it."""

    timeouts: Timeouts | None
    """`None`: those of the client."""
    retry: Retry | None
    """`None`: the policy of the client. `wire.retry.NONE` switches retries off for this request."""


class ChatOptions(Settings, Options, total=False):
    """Settings, and the options of the client that a chat creates if it gets no `client`."""


class ChatState(Generic[AnyClient]):
    """The part of a chat that `Chat` and `AsyncChat` share: client, model and settings."""

    def __init__(
        self,
        name: str,
        client: AnyClient | None,
        kind: type[AnyClient],
        http: Any,
        options: ChatOptions,
    ) -> None:
        seal_settings(options)
        self._name = name = model_name(name, client is not None)
        if client is not None and not isinstance(client, kind):
            raise ConfigurationError(f"client: expected a {kind.__name__}, not {type_name(client)}")
        provider, self.model = model_of(name, client.provider if client is not None else "")
        unknown = sorted(set(options) - set(ChatOptions.__annotations__))
        if unknown:
            raise ConfigurationError(
                f"{hidden(unknown[0])}: no such option; there are client, http, "
                f"{', '.join(ChatOptions.__annotations__)}"
            )
        of_client = {name: options[name] for name in Options.__annotations__ if name in options}  # type: ignore[literal-required]
        self.client: AnyClient
        if client is None:
            self.client = kind(provider, http=http, **of_client)
        elif of_client or http != "auto":
            raise ConfigurationError(
                f"{next(iter(of_client), 'http')}: an option of the client; give it to the client "
                "that you pass"
            )
        elif client.provider != provider.lower():
            raise ConfigurationError(
                f"client: it sends to {client.provider!r}, but the model {quoted(name)} is one of "
                f"{quoted(provider)}"
            )
        else:
            self.client = client
        self._name = f"{self.provider}:{self.model}"
        self._own = client is None
        given: dict[str, Any] = dict(options)
        self._settings = {name: given[name] for name in Settings.__annotations__ if name in given}
        self._settings = _checked(self._settings)

    @property
    def provider(self) -> str:
        """Name of the provider, with its region: `kimi@cn`."""
        return self.client.provider

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name})"

    def request(
        self,
        prompt: Parts | None = None,
        *,
        messages: Iterable[Message] | Message | None = None,
        **settings: Unpack[Settings],
    ) -> Request:
        """Build the neutral request without sending it.

        Raises `RuleError` unless exactly one of `prompt` and `messages` is given.
        """
        if not settings.keys() <= SETTINGS:
            seal_settings(settings)
        if (prompt is None) == (messages is None):
            raise RuleError(
                violations=[Violation("messages", "expected either a prompt or messages")]
            )
        sent: Iterable[Message]
        if prompt is not None:
            sent = (Message.user(prompt),)
        else:
            # A list is what almost all callers give, and needs no call of a function.
            sent = messages if isinstance(messages, (list, tuple)) else _listed(messages)
        request = Request(messages=tuple(sent), **{**self._settings, **_checked(settings)})
        if request.options:
            self._check_options(request.options)
        return request

    def _check_options(self, options: Mapping[str, Mapping[str, Any]]) -> None:
        """Raise `RuleError` for options of a provider that does not exist: none would get them."""
        own = self.client.provider
        known = {*PROVIDERS, *map(family_of, PROVIDERS), own, family_of(own)}
        for name, keys in options.items():
            if name in known and not isinstance(keys, Mapping):
                raise wrong_type(f"options.{name}", keys, "mapping")
            if name not in known:
                near = suggestion(name, known) if isinstance(name, str) else ""
                remedy = near or f"known are {', '.join(sorted({*map(family_of, known)}))}"
                problem = f"no provider is called {quoted(name, 40)}"
                raise RuleError(violations=[Violation("options", problem, remedy=remedy)])

    def call(self, *args: Any, output: Any = None, **settings: Any) -> Call[Reply]:
        """The call that `ask` sends with the same arguments."""
        if not settings.keys() <= SETTINGS:
            seal_settings(settings)
        call: Call[Reply] = self._rendered("call", args, output, settings)
        return call

    def stream_call(
        self, *args: Any, output: Any = None, **settings: Any
    ) -> StreamCall[Event, Reply]:
        """The call that `stream` sends with the same arguments."""
        if not settings.keys() <= SETTINGS:
            seal_settings(settings)
        call: StreamCall[Event, Reply] = self._rendered("stream_call", args, output, settings)
        return call

    whole, streamed = call, stream_call
    """Other names of the two."""

    def _rendered(
        self, how: str, args: tuple[Any, ...], output: Any, settings: dict[str, Any]
    ) -> Any:
        """Render a request; `how` names the function of the wire: `call` or `stream_call`."""
        sending = {name: settings.pop(name, None) for name in ("timeouts", "retry")}
        request = self.request(*args, **settings)
        output_type = OutputType(output) if output is not None else None
        if output_type is not None:
            request = msgspec.structs.replace(request, output=output_type.output)
        make = getattr(WIRES[self.client.wire], how)
        call = make(request, self.model, self.client.row)
        if any(value is not None for value in sending.values()):
            call = call.replace(**sending)
        return call if output_type is None else with_output(call, output_type)


def _listed(messages: Any) -> tuple[Message, ...]:
    """The messages; one message alone is a list of one, as a prompt alone is."""
    return (messages,) if isinstance(messages, Message) else items_of("messages", messages)


SETTINGS = Settings.__annotations__.keys() | {"messages", "prompt"}
_NO_TEXTS = ("max_tokens", "temperature", "top_p", "search_grounding", "raw_schemas")


def seal_settings(settings: Any) -> None:
    """Replace what may be a key in settings by a `Secret`, in place, as `seal` does."""
    seal(settings, SETTINGS)
    for name in _NO_TEXTS:
        if name in settings:
            settings[name] = sealed(settings[name])


def model_name(name: Any, bare: bool) -> Any:
    """The name of a model as text, unless it may be a key: then the `Secret` of it.

    A name that looks random is a model's where it names its provider, or is expected to be `bare`.
    """
    text = unsealed(name)
    if not isinstance(text, str) or known_credential(text) or not (bare or ":" in text):
        return name
    return text


def _checked(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Check the names of settings and convert their values to those of `Request`."""
    # `None` means "not given".
    given = {name: value for name, value in settings.items() if value is not None}
    unknown = sorted(set(given) - set(Settings.__annotations__))
    if unknown:
        raise ConfigurationError(
            f"{hidden(unknown[0])}: no such setting; there are messages, output, "
            f"{', '.join(Settings.__annotations__)}"
        )
    if "tools" in given:
        given["tools"] = Toolbox(given["tools"]).definitions
    if isinstance(given.get("stop"), str):
        given["stop"] = (given["stop"],)
    for name in ("stop", "tool_choice"):
        if isinstance(given.get(name), Sequence) and not isinstance(given[name], str):
            given[name] = tuple(given[name])
    return given


# --- streams of replies ---------------------------------------------------------------------------


class ChatStreamState(Generic[AnyStream]):
    """The part of a stream of a reply that the sync and the async one share."""

    def __init__(self, stream: AnyStream) -> None:
        self._stream = stream

    def partial(self) -> Reply:
        """Return the reply so far, built anew each time.

        It reads nothing and may be called at any time. The notes of an incomplete reply contain
        `wire.core.memory.PARTIAL`. Its `stop.reason` is never `end` or `tool_calls`. A tool call
        without complete arguments has `arguments=None`.
        """
        return self._stream.partial()

    @property
    def account(self) -> Account:
        """The account of the call so far: attempts, waits, bytes, times."""
        return self._stream.account


class ChatStream(ChatStreamState[Stream[Event, Reply]]):
    """Iterates over the events of one reply, once.

    `reply()` reads to the end and returns what `Chat.ask` would return. `partial()` returns the
    reply so far.
    """

    def __iter__(self) -> Iterator[Event]:
        return self._stream  # itself an iterator: an event costs no call of this class

    def __next__(self) -> Event:
        return next(self._stream)

    def reply(self) -> Reply:
        """Read to the end and return the complete reply, the same object each time.

        Raises as `Stream.result` and `Chat.ask`.

        >>> from wire.testing.emulator import Emulator, EmulatorTransport
        >>> http = EmulatorTransport(Emulator([{"say": "Hello."}]))
        >>> with Chat("gemini:gemini-3.8-flash", api_key="fake-key", http=http) as chat:
        ...     with chat.stream("Hi") as events:
        ...         events.reply().text
        'Hello.'
        """
        return self._stream.result()


class AsyncChatStream(ChatStreamState[AsyncStream[Event, Reply]]):
    """Iterates over the events of one reply, once: `ChatStream` for asyncio and trio."""

    def __aiter__(self) -> AsyncIterator[Event]:
        return self._stream

    async def __anext__(self) -> Event:
        return await anext(self._stream)

    async def reply(self) -> Reply:
        """Read to the end and return the complete reply. As `ChatStream.reply`."""
        return await self._stream.result()


@stream_block("with chat.stream(...) as events:")
def _events(streams: AbstractContextManager[Stream[Event, Reply]]) -> Iterator[ChatStream]:
    with streams as stream:
        yield ChatStream(stream)


@async_stream_block("async with chat.stream(...) as events:")
async def _async_events(
    streams: AbstractAsyncContextManager[AsyncStream[Event, Reply]],
) -> AsyncIterator[AsyncChatStream]:
    async with streams as stream:
        yield AsyncChatStream(stream)


# --- chats ----------------------------------------------------------------------------------------


class Chat(ChatState[Client]):
    """Sends requests to one model, for threads.

    >>> chat = Chat("gemini:gemini-3.8-flash", api_key="fake-key", system="Be brief.")
    >>> print(chat.client.preview(chat.call("Hi")).body.decode())
    {"contents":[{"parts":[{"text":"Hi"}],"role":"user"}],"systemInstruction":{"parts":[{"text":"Be brief."}]}}
    >>> chat.close()

    `model` is `provider[@region]:model`. Without `client`, the chat creates a client from the
    options of `wire.http.target.Options` and closes it at the end. Other options are settings of
    all requests. Raises `ConfigurationError` that names the option.
    """  # noqa: E501

    def __init__(
        self,
        model: str,
        *,
        client: Client | None = None,
        http: Any = "auto",
        **options: Unpack[ChatOptions],
    ) -> None:
        # Before anything can raise: tracebacks show the arguments of this frame.
        model, http = sealed(model), sealed_object(http, *TRANSPORT_METHODS)
        seal_settings(options)
        super().__init__(model, client, Client, http, options)

    def ask(
        self,
        prompt: Parts | None = None,
        *,
        messages: Iterable[Message] | Message | None = None,
        output: Any = None,
        **settings: Unpack[RequestOptions],
    ) -> Reply:
        """Send a prompt, or the conversation in `messages`, and return the complete reply.

        With `output`, the model replies in JSON, and `reply.output` is its value. `output` is a
        type that msgspec or pydantic knows, or a JSON Schema. `timeouts` and `retry` replace those
        of the client for this request.

        Raises `RuleError` or `HistoryError` for a request that cannot be sent, `BlockedError` if
        the provider's filters removed the answer, `OutputError` if the answer does not match
        `output`, and what the client raises.
        """
        if not settings.keys() <= SETTINGS:
            seal_settings(settings)
        return self.client.send(self.call(prompt, messages=messages, output=output, **settings))

    def stream(
        self,
        prompt: Parts | None = None,
        *,
        messages: Iterable[Message] | Message | None = None,
        output: Any = None,
        **settings: Unpack[RequestOptions],
    ) -> AbstractContextManager[ChatStream]:
        """Stream the events of the reply as they arrive: `with chat.stream("Hi") as events:`.

        The last event is `Done`, which holds the complete reply. Raises as `ask`.
        """
        if not settings.keys() <= SETTINGS:
            seal_settings(settings)
        call = self.stream_call(prompt, messages=messages, output=output, **settings)
        return _events(self.client.stream(call))

    def close(self) -> None:
        """Close the client if the chat created it. Closing twice has no effect."""
        if self._own:
            self.client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncChat(ChatState[AsyncClient]):
    """`Chat` for asyncio and trio: sends requests to one model.

    >>> import anyio
    >>> from wire.testing.emulator import AsyncEmulatorTransport, Emulator
    >>> http = AsyncEmulatorTransport(Emulator([{"say": "Hello."}]))
    >>> async def main() -> str:
    ...     async with AsyncChat(
    ...         "gemini:gemini-3.8-flash", api_key="fake-key", http=http
    ...     ) as chat:
    ...         return (await chat.ask("Hi")).text
    >>> anyio.run(main)
    'Hello.'
    """

    def __init__(
        self,
        model: str,
        *,
        client: AsyncClient | None = None,
        http: Any = "auto",
        **options: Unpack[ChatOptions],
    ) -> None:
        # Before anything can raise: tracebacks show the arguments of this frame.
        model, http = sealed(model), sealed_object(http, *TRANSPORT_METHODS)
        seal_settings(options)
        super().__init__(model, client, AsyncClient, http, options)

    async def ask(
        self,
        prompt: Parts | None = None,
        *,
        messages: Iterable[Message] | Message | None = None,
        output: Any = None,
        **settings: Unpack[RequestOptions],
    ) -> Reply:
        """Send a prompt, or the conversation in `messages`, and return the complete reply.

        As `Chat.ask`.
        """
        if not settings.keys() <= SETTINGS:
            seal_settings(settings)
        return await self.client.send(
            self.call(prompt, messages=messages, output=output, **settings)
        )

    def stream(
        self,
        prompt: Parts | None = None,
        *,
        messages: Iterable[Message] | Message | None = None,
        output: Any = None,
        **settings: Unpack[RequestOptions],
    ) -> AbstractAsyncContextManager[AsyncChatStream]:
        """Stream the events of the reply as they arrive. As `Chat.stream`."""
        if not settings.keys() <= SETTINGS:
            seal_settings(settings)
        call = self.stream_call(prompt, messages=messages, output=output, **settings)
        return _async_events(self.client.stream(call))

    async def aclose(self) -> None:
        """Close the client if the chat created it. Closing twice has no effect."""
        if self._own:
            await self.client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._own:
            await self.client.__aexit__()


# --- output ---------------------------------------------------------------------------------------


def with_output(call: AnyCall, output_type: OutputType) -> AnyCall:
    """Make a call set `reply.output`. It then raises `OutputError` for a reply of another type.

    A partial reply gets no output, because truncated JSON may still match a type.
    """
    if isinstance(call, Call):
        parse = functools.partial(_parsed, call.parse, output_type)
        return cast(AnyCall, dataclasses.replace(call, parse=parse))
    assert call.events is not None
    events = functools.partial(_OutputEvents, call.events, output_type)
    return cast(AnyCall, dataclasses.replace(call, events=events))


def _parsed(parse: Callable[[bytes], Reply], output_type: OutputType, body: bytes) -> Reply:
    return _read(parse(body), output_type)


def _read(reply: Reply, output_type: OutputType) -> Reply:
    if reply.tool_calls:
        return reply  # the model answers only after it got the results
    try:
        msgspec.structs.force_setattr(reply, "output", output_type.read(reply.text))
    except OutputError as error:
        cut = (
            ""
            if reply.stop.reason == "end"
            else f" (it stopped with {reply.stop.raw or reply.stop.reason!r})"
        )
        raise OutputError(f"{error.message}{cut}", partial=reply) from error
    return reply


class _OutputEvents:
    """Sets `output` of the reply in the last event."""

    def __init__(self, events: Callable[[], EventSource], output_type: OutputType) -> None:
        self._events, self._output_type = events(), output_type

    def feed(self, chunk: Any) -> Sequence[Event]:
        return self._events.feed(chunk)

    def close(self, answer: Reply) -> Sequence[Event]:
        events = self._events.close(answer)
        return [
            Done(_read(each.reply, self._output_type)) if isinstance(each, Done) else each
            for each in events
        ]
