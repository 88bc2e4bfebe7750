"""The provider interface of multi-provider agents, and its adapters to and from neutral models.

Agents ask an `AsyncModel` (`wire.agent.model`). `ChatProvider` is another interface, with the names
that such agents use: `ToolSchema`, `FunctionCall`, `FunctionResponse`, `MessagePart`,
`LLMResponse`, `StreamDelta`. It is structural: any object with its two methods is one.
`ProviderModel` turns a `ChatProvider` into an `AsyncModel`,
`AsyncChatProvider` turns an `AsyncChat` into a `ChatProvider`.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any, Protocol, Self, TypeVar, Unpack, cast, get_args, runtime_checkable

import anyio
import msgspec

from wire.agent.model import AsyncModel, close_model, is_async_model
from wire.catalogue.stops import reason_of
from wire.catalogue.usage import Usage
from wire.chat.chat import AsyncChat
from wire.chat.state import RequestOptions, Settings, seal_settings
from wire.core import retry
from wire.core.arguments import checked_arguments
from wire.core.decoders import decoder
from wire.core.errors import ConfigurationError, RuleError, StreamIncomplete, Violation
from wire.core.memory import MetadataStruct
from wire.core.provider import base_url_variable_of, key_variable_of
from wire.core.secret import Secret, quoted, sealed, type_name, unsealed
from wire.neutral.events import events_of
from wire.neutral.messages import (
    Done,
    Event,
    MediaDelta,
    Message,
    ObjectDelta,
    Part,
    ProviderEvent,
    Reply,
    Restart,
    Stop,
    Text,
    TextDelta,
    ThoughtDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    ToolResult,
)
from wire.neutral.request import ServerTool, Tool
from wire.wires.providers import FACTORIES, PROVIDERS, family_of, unknown_provider

AnyValue = TypeVar("AnyValue")

ToolSchema = Tool
FunctionCall = ToolCall


class _Builder(type):
    """The class of a name that builds neutral parts: `isinstance` is true for what it builds."""

    kinds: tuple[type, ...]

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, cls.kinds)


class FunctionResponse(metaclass=_Builder):
    """Builds the `ToolResult` of a call, under the names of multi-provider agents.

    >>> call = FunctionCall(id="call_1", name="get_weather")
    >>> FunctionResponse("get_weather", {"result": "rain"}, call.id)
    ToolResult(id='call_1', name='get_weather', content={'result': 'rain'})

    `call_id` is the id of the call. Every `FunctionCall` has one. An object with the key `error`
    alone is an error. Raises `RuleError` that names the argument.
    """

    kinds: tuple[type[Any], ...] = (ToolResult,)
    """The types of parts that it makes."""

    def __new__(  # type: ignore[misc]
        cls, name: str, response: Mapping[str, Any], call_id: str
    ) -> ToolResult:
        """Return the `ToolResult`."""
        for argument, value in (("name", name), ("call_id", call_id)):
            if not isinstance(value, str) or not value:
                raise _wrong(argument, "expected a text that is not empty", value)
        if not isinstance(response, Mapping):
            raise _wrong("response", "expected an object, such as {'result': ...}", response)
        return ToolResult(call_id, name, dict(response), error=set(response) == {"error"})


class MessagePart(metaclass=_Builder):
    """Builds a part of a message from one of a text, a call and a result (S1-04).

    >>> MessagePart.from_text("Hi"), MessagePart(function_call=FunctionCall(id="1", name="now"))
    (Text(text='Hi'), ToolCall(id='1', name='now'))
    >>> isinstance(MessagePart.from_text("Hi"), MessagePart)
    True

    Raises `RuleError` unless exactly one is given, and for a value of another type.
    """

    kinds: tuple[type[Any], ...] = get_args(Part)
    """The types of parts that it makes."""

    def __new__(  # type: ignore[misc]
        cls,
        text: str | None = None,
        function_call: ToolCall | None = None,
        function_response: ToolResult | None = None,
    ) -> Text | ToolCall | ToolResult:
        """Return the part."""
        arguments = {
            "text": (text, str),
            "function_call": (function_call, ToolCall),
            "function_response": (function_response, ToolResult),
        }
        given = [name for name, (value, _) in arguments.items() if value is not None]
        if len(given) != 1:
            problem = f"expected exactly one of {', '.join(arguments)}, not {len(given)}"
            raise RuleError(violations=[Violation("part", problem)])
        value, kind = arguments[given[0]]
        if not isinstance(value, kind):
            raise _wrong(given[0], f"expected a {kind.__name__}", value)
        return Text(value) if isinstance(value, str) else cast(ToolCall | ToolResult, value)

    @staticmethod
    @checked_arguments(ConfigurationError)
    def from_text(text: str) -> Text:
        """Build a text."""
        return cast(Text, MessagePart(text=text))

    @staticmethod
    @checked_arguments(ConfigurationError)
    def from_function_call(function_call: ToolCall) -> ToolCall:
        """Build a call of the model."""
        return cast(ToolCall, MessagePart(function_call=function_call))

    @staticmethod
    @checked_arguments(ConfigurationError)
    def from_function_response(function_response: ToolResult) -> ToolResult:
        """Build the result of a call."""
        return cast(ToolResult, MessagePart(function_response=function_response))


def _wrong(path: str, expected: str, value: object) -> RuleError:
    return RuleError(violations=[Violation(path, f"{expected}, not {quoted(value)}")])


_REPLY = "_reply"


class GenerationConfig(MetadataStruct, frozen=True):
    """The settings of `generate` and `generate_stream` as one object instead of keywords.

    >>> GenerationConfig(system_prompt="Be brief.", max_tokens=100).max_tokens
    100
    """

    system_prompt: str = ""
    """The system prompt; empty: none."""
    max_tokens: int | None = None
    """Tokens of the longest reply; `None`: the model's own limit."""
    temperature: float | None = None
    """Randomness, from 0 up; `None`: that of the model."""


class LLMResponse(MetadataStruct, frozen=True, kw_only=True):
    """A complete reply, as a `ChatProvider` returns it.

    >>> LLMResponse(text="Hello.").reply.stop.reason
    'end'
    """

    text: str = ""
    """The visible text, joined without a separator. Thoughts are not part of it."""
    function_calls: tuple[ToolCall, ...] = ()
    """The calls that the model requests, in order."""
    usage: Usage | None = None
    """Token counts; `None` if the provider sent none."""
    raw: Any = None
    """The body of the HTTP response in bytes; `None` if there was no HTTP response."""
    finish_reason: str = ""
    """A reason of `wire.neutral.messages.Stop`; empty if only text and calls are known."""

    @classmethod
    @checked_arguments(ConfigurationError)
    def of(cls, reply: Reply) -> Self:
        """Build the response for a reply. Its property `reply` returns that same reply."""
        raw = None if reply.answer is None else reply.answer.raw
        made = cls(
            text=reply.text,
            function_calls=reply.tool_calls,
            usage=reply.usage,
            raw=raw,
            finish_reason=reply.stop.reason,
        )
        vars(made)[_REPLY] = reply
        return made

    @property
    def reply(self) -> Reply:
        """The neutral reply: the one this was made from, else one built from text and calls."""
        known: Reply | None = self.__dict__.get(_REPLY)
        if known is not None:
            return known
        calls = tuple(self.function_calls)
        reason = self.finish_reason or ("tool_calls" if calls else "end")
        stop = Stop(reason_of(reason), raw=self.finish_reason or None)
        return Reply(
            Message("assistant", (*((Text(self.text),) if self.text else ()), *calls)),
            stop,
            self.usage,
        )

    def deltas(self) -> list[StreamDelta]:
        """Return the deltas that a stream of this response could have had.

        A provider that cannot stream may yield them from `generate_stream`.
        """
        converter = EventsToDeltas()
        last = StreamDelta(finish_reason=self.finish_reason, usage=self.usage, response=self)
        return [*map(converter.delta, events_of(self.reply)[:-1]), last]


class StreamDelta(MetadataStruct, frozen=True, kw_only=True):
    """One piece of a streamed reply.

    >>> StreamDelta(text="Hel").text + StreamDelta(text="lo.", finish_reason="end").text
    'Hello.'

    A piece of a call names its call by `call_id` and by `index`, which counts the calls of a reply
    from 0. The last delta has `finish_reason`, `usage` and the complete `response`.
    """

    text: str = ""
    """A piece of the visible text."""
    thought: str = ""
    """A piece of a thought."""
    media: MediaDelta | None = None
    """A piece of a sound or an image."""
    function_call_start: str = ""
    """The name of the function."""
    function_call_delta: str = ""
    """A fragment of the arguments' JSON text."""
    function_call_end: ToolCall | None = None
    """The complete call, in the delta that ends it."""
    index: int | None = None
    """Position of the call among those of the reply, from 0."""
    call_id: str = ""
    """Id of the call that the delta belongs to."""
    restart: bool = False
    """The reply starts anew: the deltas before this one are not part of it."""
    provider_event: ProviderEvent | None = None
    """An event of the vendor that has no other form."""
    finish_reason: str = ""
    """Why the model stopped; set in the last delta only."""
    usage: Usage | None = None
    """Token counts; set in the last delta only."""
    response: LLMResponse | None = None
    """The complete reply; set in the last delta only."""


@runtime_checkable
class ChatProvider(Protocol):
    """A model that answers with `LLMResponse` or with a stream of `StreamDelta`.

    A class needs these two methods and no base class. Agents and pipelines take its instances
    wherever they take an `AsyncChat`:

    >>> class Parrot:
    ...     async def generate(self, messages, tools=None, system_prompt=None, max_tokens=None,
    ...                        temperature=None):
    ...         return LLMResponse(text=messages[-1].text)
    ...     async def generate_stream(self, messages, tools=None, system_prompt=None,
    ...                               max_tokens=None, temperature=None):
    ...         yield StreamDelta(text=messages[-1].text)
    >>> isinstance(Parrot(), ChatProvider)
    True

    All five arguments are passed, `None` for what was not given. An `aclose()` method, if there is
    one, is called when the agent or the pipeline is done.
    """

    async def generate(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool] | None = None,
        system_prompt: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> LLMResponse:
        """Return the complete reply."""
        ...

    def generate_stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool] | None = None,
        system_prompt: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> AsyncIterator[StreamDelta]:
        """Return the reply as a stream of deltas."""
        ...


class AsyncChatProvider:
    """An `AsyncChat` as a `ChatProvider`."""

    def __init__(self, chat: AsyncChat) -> None:
        self.chat = chat

    @property
    def provider(self) -> str:
        """Name of the provider."""
        return self.chat.provider

    @property
    def model(self) -> str:
        """Name of the model."""
        return self.chat.model

    async def generate(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool] | None = None,
        system_prompt: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        *,
        config: GenerationConfig | None = None,
    ) -> LLMResponse:
        """Return the complete reply.

        Raises what `AsyncChat.ask` raises, and `ConfigurationError` for a setting that is given
        twice, in `config` and as a keyword.
        """
        settings = _settings(tools, system_prompt, max_tokens, temperature, config)
        return LLMResponse.of(await self.chat.ask(messages=messages, **settings))

    async def generate_stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool] | None = None,
        system_prompt: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
        *,
        config: GenerationConfig | None = None,
    ) -> AsyncIterator[StreamDelta]:
        """Yield the deltas of the reply as they arrive. Raises as `generate`.

        Closing the iterator closes the connection.
        """
        settings = _settings(tools, system_prompt, max_tokens, temperature, config)
        async with self.chat.stream(messages=messages, **settings) as events:
            converter = EventsToDeltas()
            async for event in events:
                yield converter.delta(event)

    async def aclose(self) -> None:
        """Close the connections. Closing twice is fine."""
        await self.chat.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.chat.__aexit__()

    def __repr__(self) -> str:
        return f"AsyncChatProvider({self.provider}:{self.model})"


def _settings(
    tools: Sequence[Tool] | None,
    system_prompt: str | None,
    max_tokens: int | None,
    temperature: float | None,
    config: GenerationConfig | None,
) -> Settings:
    """Convert keywords or `config` to settings of a chat.

    A setting that is `None` is left out, so the chat's own value applies.
    """
    keywords = {
        "system_prompt": system_prompt,
        "max_tokens": max_tokens,
        "temperature": temperature,
    }
    if config is not None:
        twice = next((name for name, value in keywords.items() if value is not None), None)
        if twice is not None:
            raise ConfigurationError(f"{twice}: given in config and as a keyword; give it once")
        keywords = {
            name: getattr(config, name) or None
            if name == "system_prompt"
            else getattr(config, name)
            for name in keywords
        }
    given = {"tools": tools, **keywords}
    settings = {
        name.removesuffix("_prompt"): value for name, value in given.items() if value is not None
    }
    return cast(Settings, settings)


class ProviderModel:
    """A `ChatProvider` as an `AsyncModel`: agents and pipelines ask it like an `AsyncChat`.

    It translates both ways and decides nothing: settings become arguments, a response becomes a
    `Reply`, deltas become events.

    Raises `ConfigurationError` for a provider whose methods do not take the five arguments.
    """

    def __init__(self, provider: ChatProvider) -> None:
        self.wrapped = provider
        for name in ("generate", "generate_stream"):
            try:
                inspect.signature(getattr(provider, name)).bind((), **self._arguments({}))
            except ValueError:
                pass  # a method without a signature, such as one of an extension module
            except TypeError as problem:
                wanted = f"it must take messages, {', '.join(_ARGUMENTS.values())}"
                raise ConfigurationError(
                    f"provider {self.provider}: {name}: {problem}; {wanted}"
                ) from None

    @property
    def provider(self) -> str:
        """The provider's own `provider` name, else the name of its class."""
        return str(getattr(self.wrapped, "provider", "") or type(self.wrapped).__name__)

    @property
    def model(self) -> str:
        """The provider's own `model` name; empty if it has none."""
        return str(getattr(self.wrapped, "model", ""))

    async def ask(
        self, *, messages: Sequence[Message], **settings: Unpack[RequestOptions]
    ) -> Reply:
        """Return the complete reply of `generate`.

        Raises `ConfigurationError` for a setting that a `ChatProvider` does not take and for a
        result that is not an `LLMResponse`, and what the provider raises.
        """
        response = await self.wrapped.generate(messages, **self._arguments(settings))
        return self._checked(response, LLMResponse, "generate").reply

    @asynccontextmanager
    async def stream(
        self, *, messages: Sequence[Message], **settings: Unpack[RequestOptions]
    ) -> AsyncIterator[AsyncIterator[Event]]:
        """Return the events of `generate_stream`. Raises as `ask`.

        Leaving the block closes the provider's iterator.
        """
        deltas: Any = self.wrapped.generate_stream(messages, **self._arguments(settings))
        if inspect.isawaitable(deltas):  # some providers return the iterator from an async def
            deltas = await deltas
        try:
            async with aclosing(self._events(deltas)) as events:
                yield events
        finally:
            await close_model(deltas)

    async def _events(self, deltas: AsyncIterator[StreamDelta]) -> AsyncGenerator[Event, None]:
        builder = ResponseBuilder()
        async for delta in deltas:
            for event in builder.add(self._checked(delta, StreamDelta, "generate_stream")):
                yield event
        for event in builder.end():
            yield event

    def _arguments(self, settings: RequestOptions) -> dict[str, Any]:
        """Return the settings under the names that `ChatProvider` has for them."""
        unknown = sorted(set(settings) - set(_ARGUMENTS))
        if unknown:
            raise ConfigurationError(
                f"{unknown[0]}: {self.provider} does not take this setting; a ChatProvider takes "
                f"{', '.join(_ARGUMENTS)}"
            )
        for index, tool in enumerate(settings.get("tools") or ()):
            if isinstance(tool, ServerTool):
                problem = f"{self.provider} takes functions only, and no {tool.kind} of a server"
                raise RuleError(violations=[Violation(f"tools[{index}]", problem)])
        # All of them: the parameters of a provider need no defaults.
        return {argument: settings.get(name) for name, argument in _ARGUMENTS.items()}

    def _checked(self, value: Any, kind: type[AnyValue], method: str) -> AnyValue:
        if not isinstance(value, kind):
            raise ConfigurationError(
                f"provider {self.provider}: {method} must give {kind.__name__}, "
                f"not {type(value).__name__}"
            )
        return value

    async def aclose(self) -> None:
        """Close the provider, if it has an `aclose`."""
        await close_model(self.wrapped)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        with anyio.CancelScope(shield=True):
            await self.aclose()

    def __repr__(self) -> str:
        return f"ProviderModel({self.wrapped!r})"


_ARGUMENTS = {
    "system": "system_prompt",
    "tools": "tools",
    "max_tokens": "max_tokens",
    "temperature": "temperature",
}
"""Setting of a model -> argument of a `ChatProvider`."""


def as_model(value: AsyncModel | ChatProvider) -> AsyncModel:
    """Return `value` if it is an `AsyncModel`, else the adapter that makes one of a `ChatProvider`.

    Raises `ConfigurationError` for anything else, such as a `Chat` for threads or a class in place
    of its instance.
    """
    if type(value) is AsyncChatProvider:  # a subclass may have a `generate` of its own
        return value.chat
    if is_async_model(value):
        return value
    if isinstance(value, ChatProvider) and not isinstance(value, type):
        return ProviderModel(value)
    kind = f"the class {value.__name__}" if isinstance(value, type) else type_name(value)
    raise ConfigurationError(
        "provider: expected an object with generate and generate_stream, or an AsyncChat, "
        f"not {kind}"
    )


# --- providers by name ----------------------------------------------------------------------------


@checked_arguments(ConfigurationError)
def create_provider(
    provider: str, api_key: str | Secret | None, model: str, api_base: str = "", **kwargs: Any
) -> ChatProvider:
    """Create a `ChatProvider` for a model of any provider, by the provider's name.

    >>> create_provider("DeepSeek", "fake-key", "deepseek-chat")
    AsyncChatProvider(deepseek:deepseek-chat)

    An explicit key takes precedence over the environment variable; an empty key means the variable.
    `kwargs` are options of `AsyncChat`, such as `search_grounding=True` or `http=`. For a name of
    `register_provider` they go to its factory.

    Raises `ConfigurationError` for an unknown name without `api_base` (it lists the known ones),
    for an unknown option, and for a missing key, naming its variable.
    """
    # Hidden before anything can raise in a frame that holds it.
    if not isinstance(api_key, Secret | None):
        api_key = Secret.unchecked(api_key) if api_key != "" else None
    provider, model, api_base = sealed(provider), sealed(model), sealed(api_base)
    seal_settings(kwargs)
    if not isinstance(provider, str) or not provider.strip() or ":" in provider:
        raise ConfigurationError(f"provider: {quoted(provider)} is not a name")
    name = provider.strip().lower()
    if name in FACTORIES:
        return _from_factory(name, api_key, model, api_base, kwargs)
    options = {
        "retry": retry.RESUME_AGENT,
        **({"base_url": api_base} if api_base else {}),
        **kwargs,
    }
    if (
        family_of(name) not in map(family_of, PROVIDERS)
        and "base_url" not in options
        and not os.environ.get(base_url_variable_of(name), "").strip()
    ):
        # All names, as the users of this function expect (S1-36).
        known = ", ".join(sorted({*map(family_of, PROVIDERS), *FACTORIES}))
        raise ConfigurationError(
            f"provider: {unknown_provider(name, FACTORIES)}; known are {known}; any other host of "
            "chat completions needs api_base"
        )
    chat = AsyncChat(_joined(name, model), api_key=api_key, **options)
    chat.client.require_key()
    return AsyncChatProvider(chat)


def _joined(provider: str, model: Any) -> Any:
    """Join provider and model to the name for a chat, which is a `Secret` if it may be a key."""
    text = unsealed(model)
    if isinstance(model, Secret) and isinstance(text, str):
        return Secret.unchecked(f"{provider}:{text}")
    return f"{provider}:{text}" if isinstance(text, str) else model


@checked_arguments(ConfigurationError)
def register_provider(
    name: str, factory: Callable[..., ChatProvider], *, replace: bool = False
) -> None:
    """Give a `ChatProvider` of your own a name.

    The name then works in `create_provider`, in configuration files, in `LLMAgent.from_config` and
    as `name:model` in pipelines.

    >>> class Parrot:
    ...     def __init__(self, api_key, model):
    ...         self.model = model
    ...     async def generate(self, messages, **settings):
    ...         return LLMResponse(text=f"{self.model}: {messages[-1].text}")
    ...     async def generate_stream(self, messages, **settings):
    ...         yield StreamDelta(text=f"{self.model}: {messages[-1].text}")
    >>> register_provider("parrot", Parrot, replace=True)
    >>> create_provider("parrot", "fake-key", "grey").model
    'grey'

    `factory` is called with the keywords `api_key` and `model`, with `api_base` if one is given or
    `<NAME>_BASE_URL` is set, and with the further options of `create_provider`. `api_key` is plain
    text: the key that was given, else the value of `<NAME>_API_KEY`, else "".

    Names are case-insensitive. Raises `ConfigurationError` for a name with other characters than
    letters, digits, `.`, `_` and `-`, for a name that this library has a provider for, for a name
    that is registered already (unless `replace`), and for a factory that cannot be called.
    """
    if not isinstance(name, str) or not _PROVIDER_NAME.fullmatch(name):
        raise ConfigurationError(
            f"name: expected letters, digits, '.', '_' and '-', not {quoted(name)}"
        )
    name = name.lower()
    if name in PROVIDERS:
        raise ConfigurationError(f"name: {quoted(name)} is a provider of this library")
    if name in FACTORIES and not replace:
        raise ConfigurationError(
            f"name: {name!r} is registered already; replace=True registers it anew"
        )
    if not callable(factory):
        raise ConfigurationError(
            f"factory: expected a function or class that makes a provider, "
            f"not {type(factory).__name__}"
        )
    FACTORIES[name] = factory


_PROVIDER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def _from_factory(
    name: str, api_key: Secret | None, model: str, api_base: str, options: dict[str, Any]
) -> ChatProvider:
    factory = FACTORIES[name]
    api_base = api_base or os.environ.get(base_url_variable_of(name), "").strip()
    given = {"model": model, **({"api_base": api_base} if api_base else {}), **options}
    try:
        inspect.signature(factory).bind(api_key="", **given)
    except ValueError:
        pass  # a factory without a signature, such as a built-in type
    except TypeError as problem:
        raise ConfigurationError(f"provider {name!r}: its factory: {problem}") from None
    key = api_key or Secret.unchecked(os.environ.get(key_variable_of(name), ""))
    made = factory(api_key=key.reveal(), **{name: unsealed(value) for name, value in given.items()})
    if not isinstance(made, ChatProvider):
        raise ConfigurationError(
            f"provider {name!r}: its factory must make an object with generate and "
            f"generate_stream, not {type(made).__name__}"
        )
    return made


# --- events and deltas ----------------------------------------------------------------------------


class EventsToDeltas:
    """Converts the events of replies, one reply after the other, to deltas."""

    def __init__(self) -> None:
        self._ids: dict[int, str] = {}
        """Position of a call in the reply -> its id."""

    def delta(self, event: Event) -> StreamDelta:
        """Return the delta for the next event."""
        match event:
            case TextDelta(text):
                return StreamDelta(text=text)
            case ThoughtDelta(text):
                return StreamDelta(thought=text)
            case MediaDelta():
                return StreamDelta(media=event)
            case ToolCallStart(position, name, id):
                self._ids[position] = id
                return StreamDelta(function_call_start=name, index=position, call_id=id)
            case ToolCallDelta(position, text):
                return StreamDelta(
                    function_call_delta=text, index=position, call_id=self._ids.get(position, "")
                )
            case ToolCallEnd(position, call):
                return StreamDelta(function_call_end=call, index=position, call_id=call.id)
            case Restart():
                self._ids.clear()
                return StreamDelta(restart=True)
            case ProviderEvent():
                return StreamDelta(provider_event=event)
            case ObjectDelta():
                return StreamDelta()  # its text was the delta before
            case Done(reply=reply):
                return StreamDelta(
                    finish_reason=reply.stop.reason,
                    usage=reply.usage,
                    response=LLMResponse.of(reply),
                )


class ResponseBuilder:
    """Builds the response of a stream from its deltas, and converts them to events.

    A provider may leave out the end of a call, and the complete response in the last delta.
    """

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._calls: dict[int, ToolCall] = {}
        self._fragments: dict[int, tuple[str, str, list[str]]] = {}
        """Index of a call -> its name, its id, fragments of its arguments."""
        self._finish_reason = ""
        self._usage: Usage | None = None
        self._response: LLMResponse | None = None

    def add(self, delta: StreamDelta) -> list[Event]:
        """Add the next delta and return its events."""
        events: list[Event] = []
        if delta.restart:
            self._texts.clear()
            self._calls.clear()
            self._fragments.clear()
            events.append(Restart())
        if delta.provider_event is not None:
            events.append(delta.provider_event)
        if delta.thought:
            events.append(ThoughtDelta(delta.thought))
        if delta.text:
            self._texts.append(delta.text)
            events.append(TextDelta(delta.text))
        if delta.media is not None:
            events.append(delta.media)
        index = len(self._calls) if delta.index is None else delta.index
        if delta.function_call_start:
            self._fragments[index] = (delta.function_call_start, delta.call_id, [])
            events.append(ToolCallStart(index, delta.function_call_start, delta.call_id))
        if delta.function_call_delta:
            fragments = self._fragments.setdefault(index, ("", delta.call_id, []))[2]
            fragments.append(delta.function_call_delta)
            events.append(ToolCallDelta(index, delta.function_call_delta))
        if delta.function_call_end is not None:
            self._calls[index] = delta.function_call_end
            events.append(ToolCallEnd(index, delta.function_call_end))
        self._finish_reason = delta.finish_reason or self._finish_reason
        self._usage = delta.usage or self._usage
        self._response = delta.response or self._response
        return events

    def end(self) -> list[Event]:
        """Return the events that the deltas did not contain: `ToolCallEnd` of open calls, and
        `Done`.

        Raises as `response`.
        """
        ended = set(self._calls)
        reply = self.response.reply
        ends = [
            ToolCallEnd(index, call)
            for index, call in sorted(self._calls.items())
            if index not in ended
        ]
        return [*ends, Done(reply)]

    @property
    def response(self) -> LLMResponse:
        """The response that the provider sent in a delta, else one built from the deltas.

        Raises `StreamIncomplete` for a call whose arguments were cut off.
        """
        if self._response is not None:
            return self._response
        for index, (name, id, fragments) in self._fragments.items():
            if index not in self._calls:
                self._calls[index] = _call_of(name, id, "".join(fragments))
        calls = tuple(call for _, call in sorted(self._calls.items()))
        return LLMResponse(
            text="".join(self._texts),
            function_calls=calls,
            usage=self._usage,
            finish_reason=self._finish_reason,
        )


def _call_of(name: str, id: str, text: str) -> ToolCall:
    """Build a call from its fragments, for a provider that never sent its end."""
    try:
        arguments = decoder(dict[str, Any]).decode(text or "{}")
    except msgspec.DecodeError:
        raise StreamIncomplete(
            f"the stream ended in the middle of the call of {name}: {text[:200]}", retryable=False
        ) from None
    call = ToolCall(name=name, arguments=arguments, text=text)
    return msgspec.structs.replace(call, id=id) if id else call


async def collect(deltas: AsyncIterator[StreamDelta]) -> LLMResponse:
    """Build the response from a stream of deltas, equal to the result of `generate` for it.

    Raises as `ResponseBuilder.response`.
    """
    builder = ResponseBuilder()
    async for delta in deltas:
        builder.add(delta)
    return builder.response
