"""`Chats` for threads, and `AsyncChats` for asyncio and trio: clients of several providers.

Both hold one client for each provider, made from the environment or by the caller. Each request
names its model, and may name its provider; otherwise the default provider gets it.
"""

from __future__ import annotations

import contextlib
import os
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from types import MappingProxyType
from typing import Any, Generic, Self, TypedDict, TypeVar, Unpack, cast

from wire.chat.chat import AsyncChat, AsyncChatStream, Chat, ChatStream
from wire.chat.state import OptionsBesideTools, RequestOptions, model_name, request_of, settings_of
from wire.core.arguments import checked_arguments, checked_names
from wire.core.call import USE_CLIENT_DEFAULT, ClientDefault, Timeouts
from wire.core.errors import ConfigurationError
from wire.core.limits import Limits
from wire.core.retry import Retry
from wire.core.secret import Headers, quoted, sealed, sealed_object, unsealed
from wire.http.aio import AsyncClient
from wire.http.base_url import is_placed
from wire.http.client import Client
from wire.http.target import (
    Options,
    seal,
    set_key_variable,
)
from wire.neutral.compaction import Compaction
from wire.neutral.messages import Message, Parts, Reply
from wire.neutral.request import ServerTool, Tool
from wire.wires.providers import PROVIDERS, Provider, model_of, unknown_provider

T = TypeVar("T")
AnyClient = TypeVar("AnyClient", bound=Client | AsyncClient)


def _sealed_clients(clients: Any) -> Any:
    """Return the clients, with a `Secret` in place of each value that may be a key (R-28)."""
    if not isinstance(clients, Mapping):
        return sealed(clients)
    return {sealed(name): sealed_object(clients[name], "send") for name in clients}


def _sealed_names(settings: Any) -> None:
    for name in ("model", "provider"):
        if name in settings:
            settings[name] = sealed(settings[name])


class SharedOptions(TypedDict, total=False):
    """The options that `from_env` gives to every client. As those of `wire.http.target.Options`."""

    timeouts: Timeouts | float | None
    retry: Retry | None
    limits: Limits | None
    trust_env: bool


class ChatsState(Generic[AnyClient]):
    """The part of `Chats` and `AsyncChats` that the two share: clients and the default."""

    @checked_arguments(ConfigurationError)
    def __init__(
        self, clients: Mapping[str, AnyClient], default: str, kind: type[AnyClient]
    ) -> None:
        default = sealed(default)
        if not isinstance(clients, Mapping) or not clients:
            raise ConfigurationError("clients: expected a mapping of names to at least one client")
        for name, client in clients.items():
            if not isinstance(client, kind):
                raise ConfigurationError(
                    f"clients: {quoted(name)}: expected a {kind.__name__}, not "
                    f"{type(client).__name__}"
                )
        self.clients: Mapping[str, AnyClient] = MappingProxyType(
            {name.lower(): client for name, client in clients.items()}
        )
        """Name of a provider -> its client."""
        self.default: str = self._known(default) if default else next(iter(self.clients))
        """Name of the provider of requests that name none."""

    def __repr__(self) -> str:
        shown = ", ".join(getattr(self, "clients", ()))
        return f"{type(self).__name__}({shown}; default {getattr(self, 'default', None)})"

    def _known(self, name: str, remedy: str = "") -> str:
        if not isinstance(name, str) or name.lower() not in self.clients:
            raise ConfigurationError(
                f"provider: no client for {quoted(name)}; there are {', '.join(self.clients)}"
                f"{remedy}"
            )
        return name.lower()

    def _client_and_name(self, model: str, provider: str) -> tuple[AnyClient, str]:
        """Return the client for a model, and the name `provider:model` for a chat with it."""
        if provider:
            name = self._known(provider)
        else:
            remedy = (
                ""
                if ":" not in str(unsealed(model))
                else "; provider= if the colon is the model's own"
            )
            name, model = model_of(model_name(model, True), self.default)
            name = self._known(name, remedy)
        client = self.clients[name]
        return client, f"{client.provider}:{unsealed(model)}"


class Chats(ChatsState[Client]):
    """Sends requests to the models of several providers, for threads.

    >>> from wire import Client
    >>> from wire.testing.emulator import Emulator, EmulatorTransport
    >>> http = EmulatorTransport(Emulator([{"say": "Hello."}, {"say": "Hei."}]))
    >>> names = "gemini", "openai"
    >>> with Chats({name: Client(name, api_key="fake-key", http=http) for name in names}) as chats:
    ...     chats.ask("Hi", model="gemini-3.8-flash").text
    ...     chats.ask("Hi", model="openai:gpt-5.4").text
    'Hello.'
    'Hei.'

    `clients` maps names to clients; `default` names the one for requests that name no provider, the
    first one if it is empty. `Chats.from_env()` makes the clients. The provider is never guessed
    from a model's name. Closing it closes the clients. Raises `ConfigurationError` for a default
    without a client.

    Args:
        clients: Name of a provider to its client. They are closed with this object.
        default: The name for requests that name no provider. By default, the first one.
    """

    @checked_arguments(ConfigurationError)
    def __init__(self, clients: Mapping[str, Client], default: str = "") -> None:
        clients, default = _sealed_clients(clients), sealed(default)  # before anything can raise
        super().__init__(clients, default, Client)

    @classmethod
    @checked_arguments(ConfigurationError)
    @checked_names(seal=seal)
    def from_env(
        cls,
        *providers: str,
        default: str = "",
        http: Any = "auto",
        timeouts: Timeouts | float | None = Timeouts(),
        retry: Retry | None = Retry(),
        limits: Limits | None = None,
        trust_env: bool = True,
    ) -> Self:
        """Make a client for each provider whose key is in the environment.

        `providers` limits them and sets their order; otherwise it is that of
        `wire.providers.PROVIDERS`, without the rows of regions. The first provider is the default,
        unless `default` names another. One that needs no key is used only if `providers` names it.
        `OPENAI_ORG_ID` and `OPENAI_PROJECT_ID` become headers. Raises `ConfigurationError` without
        any key.

        Args:
            providers: Names of providers, in order. By default, all whose key is in the
                environment.
            default: Name of the default provider. By default, the first one.
            http: A transport or a client of httpx or httpx2 for all clients, or `"auto"` for
                connections of their own.
            timeouts: Seconds. A number limits each single wait: for a connection, for the response
                headers, and between two events or reads; the whole call with its retries still ends
                after 900 s. `None`: no limit at all. `Timeouts(...)` sets each limit; its defaults
                are `connect` 10 s, `first_byte` 300 s, `idle` 120 s, `total` 900 s.
            retry: When to send a failed request again. By default 3 attempts, with waits of up to 1
                s, then 2 s, or as long as the server asks for, up to 60 s. `None`: one attempt
                only.
            limits: Largest sizes of what is received. `None`: the defaults, such as 256 MiB for a
                body.
            trust_env: False ignores the proxies of the environment, `SSL_CERT_FILE`, `SSL_CERT_DIR`
                and `SSLKEYLOGFILE`. A transport given as `http=` has a setting of its own.
        """
        shared = SharedOptions(timeouts=timeouts, retry=retry, limits=limits, trust_env=trust_env)
        # Before anything can raise: tracebacks show the arguments of this frame.
        providers, default = tuple(map(sealed, providers)), sealed(default)
        by_name = options_from_env(providers, shared)
        return cls({name: Client(name, http=http, **own) for name, own in by_name.items()}, default)

    @checked_arguments(ConfigurationError)
    @checked_names("setting", seal=_sealed_names)
    def chat(
        self,
        model: str,
        provider: str = "",
        *,
        system: str | None = None,
        tools: Iterable[Tool | ServerTool | Callable[..., Any]] | None = None,
        tool_choice: str | Sequence[str] | None = None,
        max_tokens: int | None = None,
        continue_long: bool | None = None,
        temperature: float | None = None,
        top_p: float | None = None,
        stop: str | Sequence[str] | None = None,
        effort: str | None = None,
        thoughts: bool | str | None = None,
        verbosity: str | None = None,
        seed: int | None = None,
        tier: str | None = None,
        store: bool | None = None,
        metadata: Mapping[str, str] | None = None,
        search_grounding: bool | None = None,
        raw_schemas: bool | None = None,
        caching: str | None = None,
        compaction: Compaction | int | bool | None = None,
        options: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> Chat:
        """Create a chat with one model: `model`, or `provider:model`, of the default provider.

        With `provider`, all of `model` is the model's name, also what precedes a colon. Raises
        `ConfigurationError` for a provider without a client.

        Args:
            model: `model`, or `provider:model`.
            provider: Name of the provider. All of `model` is then the name of the model, also what
                precedes a colon. By default, the default provider, unless `model` names one.
            system: The system prompt. It comes before the system messages among `messages`.
            tools: Functions, structs or tools that the model may call, see `wire.tools.tool`; and
                tools that the vendor's server runs, such as `wire.web_search()`.
            tool_choice: `auto`, `none`, `required`, or a list of tool names of which one must be
                called. By default, the model chooses.
            max_tokens: Tokens. The longest reply, with its thoughts on most models. By default,
                that of the model.
            continue_long: False returns the first part of a long answer of Gemini 4, with the token
                that continues it. By default, the answer is followed to its end over several
                requests, up to `max_tokens`.
            temperature: Randomness, from 0 up. By default, that of the model.
            top_p: Share of the likeliest tokens to choose from, from 0 to 1. By default, that of
                the model.
            stop: A text, or several, before which the reply ends.
            effort: Reasoning effort: `none`, `minimal`, `low`, `medium`, `high`, or another word of
                the vendor. By default, that of the model.
            thoughts: Whether the reply has the model's thoughts, or a summary of them, whatever the
                effort: True, False, or a word of the vendor. By default, as the model and the
                effort have it.
            verbosity: Length of the text: `low`, `medium` or `high`. By default, that of the model.
            seed: A number for which the reply is the same again, as far as the host can.
            tier: Tier of the service, which has a price: `flex`, `priority`, or another word of the
                vendor.
            store: Whether the vendor keeps the request and the reply. False by default, wherever a
                host has the choice.
            metadata: Texts that the vendor shows with the request in its lists.
            search_grounding: True adds Google Search to the tools. Only Gemini has it;
                `wire.web_search()` among the tools is for all vendors. False by default.
            raw_schemas: True sends JSON Schema to Gemini unchanged, without the conversion to
                Gemini's dialect. False by default.
            caching: How the vendor caches the beginning of the request: `auto`, `long` (kept for
                longer) or `off` (also ignores `Message.cache`). By default, only messages with
                `cache=True` request it.
            compaction: From how many tokens on the server replaces the beginning of the
                conversation by a summary: True for its default, a number, or a `Compaction`.
                Anthropic and OpenAI's Responses do.
            options: Name of a provider, or of a wire (`gemini`, `openai@chat`, `openai@responses`,
                `anthropic@messages`), to further keys of the body. The provider's own take
                precedence; a key that the host does not take is refused.
        """
        settings = settings_of(locals())
        model, provider = sealed(model), sealed(provider)
        client, name = self._client_and_name(model, provider)
        return Chat(name, client=client, **settings)

    @typing.overload
    def ask(
        self,
        prompt: Parts | None = None,
        *,
        model: str,
        provider: str = "",
        messages: Iterable[Message] | Message | None = None,
        output: type[T],
        **options: Unpack[OptionsBesideTools],
    ) -> Reply[T]: ...
    @typing.overload
    def ask(
        self,
        prompt: Parts | None = None,
        *,
        model: str,
        provider: str = "",
        messages: Iterable[Message] | Message | None = None,
        output: type[T],
        tools: Iterable[Tool | ServerTool | Callable[..., Any]] | None,
        **options: Unpack[OptionsBesideTools],
    ) -> Reply[T | None]: ...
    @typing.overload
    def ask(
        self,
        prompt: Parts | None = None,
        *,
        model: str,
        provider: str = "",
        messages: Iterable[Message] | Message | None = None,
        output: Any = None,
        **options: Unpack[RequestOptions],
    ) -> Reply: ...
    @checked_arguments(ConfigurationError)
    @checked_names("setting", seal=_sealed_names)
    def ask(
        self,
        prompt: Parts | None = None,
        *,
        model: str,
        provider: str = "",
        messages: Iterable[Message] | Message | None = None,
        output: Any = None,
        output_retries: int = 1,
        system: str | None = None,
        tools: Iterable[Tool | ServerTool | Callable[..., Any]] | None = None,
        tool_choice: str | Sequence[str] | None = None,
        max_tokens: int | None = None,
        continue_long: bool | None = None,
        temperature: float | None = None,
        top_p: float | None = None,
        stop: str | Sequence[str] | None = None,
        effort: str | None = None,
        thoughts: bool | str | None = None,
        verbosity: str | None = None,
        seed: int | None = None,
        tier: str | None = None,
        store: bool | None = None,
        metadata: Mapping[str, str] | None = None,
        search_grounding: bool | None = None,
        raw_schemas: bool | None = None,
        caching: str | None = None,
        compaction: Compaction | int | bool | None = None,
        options: Mapping[str, Mapping[str, Any]] | None = None,
        timeouts: Timeouts | float | ClientDefault | None = USE_CLIENT_DEFAULT,
        retry: Retry | ClientDefault | None = USE_CLIENT_DEFAULT,
        headers: Headers | None = None,
    ) -> Reply:
        """Send a request to one model and return the complete reply. As `chat(...)`, `Chat.ask`.

        Args:
            prompt: A text or other parts of one message of the user. Give it or `messages`.
            model: `model`, or `provider:model`.
            provider: Name of the provider. All of `model` is then the name of the model, also what
                precedes a colon. By default, the default provider, unless `model` names one.
            messages: The conversation, oldest message first.
            output: A type that msgspec or pydantic knows, a JSON Schema, or "json" for any JSON.
                The model then replies in JSON, and `reply.output` is its value.
            output_retries: How often `ask` and `stream` repeat a request whose reply does not fit
                `output`; the repetition tells the model the problem. 0 for never, 1 by default. A
                `Call` that you send with a client is sent once.
            system: The system prompt. It comes before the system messages among `messages`.
            tools: Functions, structs or tools that the model may call, see `wire.tools.tool`; and
                tools that the vendor's server runs, such as `wire.web_search()`.
            tool_choice: `auto`, `none`, `required`, or a list of tool names of which one must be
                called. By default, the model chooses.
            max_tokens: Tokens. The longest reply, with its thoughts on most models. By default,
                that of the model.
            continue_long: False returns the first part of a long answer of Gemini 4, with the token
                that continues it. By default, the answer is followed to its end over several
                requests, up to `max_tokens`.
            temperature: Randomness, from 0 up. By default, that of the model.
            top_p: Share of the likeliest tokens to choose from, from 0 to 1. By default, that of
                the model.
            stop: A text, or several, before which the reply ends.
            effort: Reasoning effort: `none`, `minimal`, `low`, `medium`, `high`, or another word of
                the vendor. By default, that of the model.
            thoughts: Whether the reply has the model's thoughts, or a summary of them, whatever the
                effort: True, False, or a word of the vendor. By default, as the model and the
                effort have it.
            verbosity: Length of the text: `low`, `medium` or `high`. By default, that of the model.
            seed: A number for which the reply is the same again, as far as the host can.
            tier: Tier of the service, which has a price: `flex`, `priority`, or another word of the
                vendor.
            store: Whether the vendor keeps the request and the reply. False by default, wherever a
                host has the choice.
            metadata: Texts that the vendor shows with the request in its lists.
            search_grounding: True adds Google Search to the tools. Only Gemini has it;
                `wire.web_search()` among the tools is for all vendors. False by default.
            raw_schemas: True sends JSON Schema to Gemini unchanged, without the conversion to
                Gemini's dialect. False by default.
            caching: How the vendor caches the beginning of the request: `auto`, `long` (kept for
                longer) or `off` (also ignores `Message.cache`). By default, only messages with
                `cache=True` request it.
            compaction: From how many tokens on the server replaces the beginning of the
                conversation by a summary: True for its default, a number, or a `Compaction`.
                Anthropic and OpenAI's Responses do.
            options: Name of a provider, or of a wire (`gemini`, `openai@chat`, `openai@responses`,
                `anthropic@messages`), to further keys of the body. The provider's own take
                precedence; a key that the host does not take is refused.
            timeouts: Seconds; as for a client: a number limits each single wait, `None` means no
                limit at all. By default, those of the client.
            retry: As for a client: `None` means one attempt only. By default, the policy of the
                client.
            headers: Further headers of this request; they replace those of the client. Values that
                look like keys are shown nowhere.
        """
        request = request_of(locals())
        model, provider = sealed(model), sealed(provider)
        chat = self.chat(model, provider)
        return chat.ask(**request)

    @typing.overload
    def stream(
        self,
        prompt: Parts | None = None,
        *,
        model: str,
        provider: str = "",
        messages: Iterable[Message] | Message | None = None,
        output: type[T],
        **options: Unpack[OptionsBesideTools],
    ) -> AbstractContextManager[ChatStream[T]]: ...
    @typing.overload
    def stream(
        self,
        prompt: Parts | None = None,
        *,
        model: str,
        provider: str = "",
        messages: Iterable[Message] | Message | None = None,
        output: type[T],
        tools: Iterable[Tool | ServerTool | Callable[..., Any]] | None,
        **options: Unpack[OptionsBesideTools],
    ) -> AbstractContextManager[ChatStream[T | None]]: ...
    @typing.overload
    def stream(
        self,
        prompt: Parts | None = None,
        *,
        model: str,
        provider: str = "",
        messages: Iterable[Message] | Message | None = None,
        output: Any = None,
        **options: Unpack[RequestOptions],
    ) -> AbstractContextManager[ChatStream]: ...
    @checked_arguments(ConfigurationError)
    @checked_names("setting", seal=_sealed_names)
    def stream(
        self,
        prompt: Parts | None = None,
        *,
        model: str,
        provider: str = "",
        messages: Iterable[Message] | Message | None = None,
        output: Any = None,
        output_retries: int = 1,
        system: str | None = None,
        tools: Iterable[Tool | ServerTool | Callable[..., Any]] | None = None,
        tool_choice: str | Sequence[str] | None = None,
        max_tokens: int | None = None,
        continue_long: bool | None = None,
        temperature: float | None = None,
        top_p: float | None = None,
        stop: str | Sequence[str] | None = None,
        effort: str | None = None,
        thoughts: bool | str | None = None,
        verbosity: str | None = None,
        seed: int | None = None,
        tier: str | None = None,
        store: bool | None = None,
        metadata: Mapping[str, str] | None = None,
        search_grounding: bool | None = None,
        raw_schemas: bool | None = None,
        caching: str | None = None,
        compaction: Compaction | int | bool | None = None,
        options: Mapping[str, Mapping[str, Any]] | None = None,
        timeouts: Timeouts | float | ClientDefault | None = USE_CLIENT_DEFAULT,
        retry: Retry | ClientDefault | None = USE_CLIENT_DEFAULT,
        headers: Headers | None = None,
    ) -> AbstractContextManager[ChatStream]:
        """Stream the events of the reply of one model. As `chat(...)` and `Chat.stream`.

        Args:
            prompt: A text or other parts of one message of the user. Give it or `messages`.
            model: `model`, or `provider:model`.
            provider: Name of the provider. All of `model` is then the name of the model, also what
                precedes a colon. By default, the default provider, unless `model` names one.
            messages: The conversation, oldest message first.
            output: A type that msgspec or pydantic knows, a JSON Schema, or "json" for any JSON.
                The model then replies in JSON, and `reply.output` is its value.
            output_retries: How often `ask` and `stream` repeat a request whose reply does not fit
                `output`; the repetition tells the model the problem. 0 for never, 1 by default. A
                `Call` that you send with a client is sent once.
            system: The system prompt. It comes before the system messages among `messages`.
            tools: Functions, structs or tools that the model may call, see `wire.tools.tool`; and
                tools that the vendor's server runs, such as `wire.web_search()`.
            tool_choice: `auto`, `none`, `required`, or a list of tool names of which one must be
                called. By default, the model chooses.
            max_tokens: Tokens. The longest reply, with its thoughts on most models. By default,
                that of the model.
            continue_long: False returns the first part of a long answer of Gemini 4, with the token
                that continues it. By default, the answer is followed to its end over several
                requests, up to `max_tokens`.
            temperature: Randomness, from 0 up. By default, that of the model.
            top_p: Share of the likeliest tokens to choose from, from 0 to 1. By default, that of
                the model.
            stop: A text, or several, before which the reply ends.
            effort: Reasoning effort: `none`, `minimal`, `low`, `medium`, `high`, or another word of
                the vendor. By default, that of the model.
            thoughts: Whether the reply has the model's thoughts, or a summary of them, whatever the
                effort: True, False, or a word of the vendor. By default, as the model and the
                effort have it.
            verbosity: Length of the text: `low`, `medium` or `high`. By default, that of the model.
            seed: A number for which the reply is the same again, as far as the host can.
            tier: Tier of the service, which has a price: `flex`, `priority`, or another word of the
                vendor.
            store: Whether the vendor keeps the request and the reply. False by default, wherever a
                host has the choice.
            metadata: Texts that the vendor shows with the request in its lists.
            search_grounding: True adds Google Search to the tools. Only Gemini has it;
                `wire.web_search()` among the tools is for all vendors. False by default.
            raw_schemas: True sends JSON Schema to Gemini unchanged, without the conversion to
                Gemini's dialect. False by default.
            caching: How the vendor caches the beginning of the request: `auto`, `long` (kept for
                longer) or `off` (also ignores `Message.cache`). By default, only messages with
                `cache=True` request it.
            compaction: From how many tokens on the server replaces the beginning of the
                conversation by a summary: True for its default, a number, or a `Compaction`.
                Anthropic and OpenAI's Responses do.
            options: Name of a provider, or of a wire (`gemini`, `openai@chat`, `openai@responses`,
                `anthropic@messages`), to further keys of the body. The provider's own take
                precedence; a key that the host does not take is refused.
            timeouts: Seconds; as for a client: a number limits each single wait, `None` means no
                limit at all. By default, those of the client.
            retry: As for a client: `None` means one attempt only. By default, the policy of the
                client.
            headers: Further headers of this request; they replace those of the client. Values that
                look like keys are shown nowhere.
        """
        request = request_of(locals())
        model, provider = sealed(model), sealed(provider)
        chat = self.chat(model, provider)
        return chat.stream(**request)

    def close(self) -> None:
        """Close the clients. Closing twice has no effect."""
        with contextlib.ExitStack() as stack:
            for client in self.clients.values():
                stack.callback(client.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncChats(ChatsState[AsyncClient]):
    """`Chats` for asyncio and trio: sends requests to the models of several providers.

    Args:
        clients: Name of a provider to its client. They are closed with this object.
        default: The name for requests that name no provider. By default, the first one.
    """

    @checked_arguments(ConfigurationError)
    def __init__(self, clients: Mapping[str, AsyncClient], default: str = "") -> None:
        clients, default = _sealed_clients(clients), sealed(default)  # before anything can raise
        super().__init__(clients, default, AsyncClient)

    @classmethod
    @checked_arguments(ConfigurationError)
    @checked_names(seal=seal)
    def from_env(
        cls,
        *providers: str,
        default: str = "",
        http: Any = "auto",
        timeouts: Timeouts | float | None = Timeouts(),
        retry: Retry | None = Retry(),
        limits: Limits | None = None,
        trust_env: bool = True,
    ) -> Self:
        """Make a client for each provider whose key is in the environment. As `Chats.from_env`.

        Args:
            providers: Names of providers, in order. By default, all whose key is in the
                environment.
            default: Name of the default provider. By default, the first one.
            http: A transport or a client of httpx or httpx2 for all clients, or `"auto"` for
                connections of their own.
            timeouts: Seconds. A number limits each single wait: for a connection, for the response
                headers, and between two events or reads; the whole call with its retries still ends
                after 900 s. `None`: no limit at all. `Timeouts(...)` sets each limit; its defaults
                are `connect` 10 s, `first_byte` 300 s, `idle` 120 s, `total` 900 s.
            retry: When to send a failed request again. By default 3 attempts, with waits of up to 1
                s, then 2 s, or as long as the server asks for, up to 60 s. `None`: one attempt
                only.
            limits: Largest sizes of what is received. `None`: the defaults, such as 256 MiB for a
                body.
            trust_env: False ignores the proxies of the environment, `SSL_CERT_FILE`, `SSL_CERT_DIR`
                and `SSLKEYLOGFILE`. A transport given as `http=` has a setting of its own.
        """
        shared = SharedOptions(timeouts=timeouts, retry=retry, limits=limits, trust_env=trust_env)
        # Before anything can raise: tracebacks show the arguments of this frame.
        providers, default = tuple(map(sealed, providers)), sealed(default)
        by_name = options_from_env(providers, shared)
        return cls(
            {name: AsyncClient(name, http=http, **own) for name, own in by_name.items()}, default
        )

    @checked_arguments(ConfigurationError)
    @checked_names("setting", seal=_sealed_names)
    def chat(
        self,
        model: str,
        provider: str = "",
        *,
        system: str | None = None,
        tools: Iterable[Tool | ServerTool | Callable[..., Any]] | None = None,
        tool_choice: str | Sequence[str] | None = None,
        max_tokens: int | None = None,
        continue_long: bool | None = None,
        temperature: float | None = None,
        top_p: float | None = None,
        stop: str | Sequence[str] | None = None,
        effort: str | None = None,
        thoughts: bool | str | None = None,
        verbosity: str | None = None,
        seed: int | None = None,
        tier: str | None = None,
        store: bool | None = None,
        metadata: Mapping[str, str] | None = None,
        search_grounding: bool | None = None,
        raw_schemas: bool | None = None,
        caching: str | None = None,
        compaction: Compaction | int | bool | None = None,
        options: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> AsyncChat:
        """Create a chat with one model, as `Chats.chat`.

        Args:
            model: `model`, or `provider:model`.
            provider: Name of the provider. All of `model` is then the name of the model, also what
                precedes a colon. By default, the default provider, unless `model` names one.
            system: The system prompt. It comes before the system messages among `messages`.
            tools: Functions, structs or tools that the model may call, see `wire.tools.tool`; and
                tools that the vendor's server runs, such as `wire.web_search()`.
            tool_choice: `auto`, `none`, `required`, or a list of tool names of which one must be
                called. By default, the model chooses.
            max_tokens: Tokens. The longest reply, with its thoughts on most models. By default,
                that of the model.
            continue_long: False returns the first part of a long answer of Gemini 4, with the token
                that continues it. By default, the answer is followed to its end over several
                requests, up to `max_tokens`.
            temperature: Randomness, from 0 up. By default, that of the model.
            top_p: Share of the likeliest tokens to choose from, from 0 to 1. By default, that of
                the model.
            stop: A text, or several, before which the reply ends.
            effort: Reasoning effort: `none`, `minimal`, `low`, `medium`, `high`, or another word of
                the vendor. By default, that of the model.
            thoughts: Whether the reply has the model's thoughts, or a summary of them, whatever the
                effort: True, False, or a word of the vendor. By default, as the model and the
                effort have it.
            verbosity: Length of the text: `low`, `medium` or `high`. By default, that of the model.
            seed: A number for which the reply is the same again, as far as the host can.
            tier: Tier of the service, which has a price: `flex`, `priority`, or another word of the
                vendor.
            store: Whether the vendor keeps the request and the reply. False by default, wherever a
                host has the choice.
            metadata: Texts that the vendor shows with the request in its lists.
            search_grounding: True adds Google Search to the tools. Only Gemini has it;
                `wire.web_search()` among the tools is for all vendors. False by default.
            raw_schemas: True sends JSON Schema to Gemini unchanged, without the conversion to
                Gemini's dialect. False by default.
            caching: How the vendor caches the beginning of the request: `auto`, `long` (kept for
                longer) or `off` (also ignores `Message.cache`). By default, only messages with
                `cache=True` request it.
            compaction: From how many tokens on the server replaces the beginning of the
                conversation by a summary: True for its default, a number, or a `Compaction`.
                Anthropic and OpenAI's Responses do.
            options: Name of a provider, or of a wire (`gemini`, `openai@chat`, `openai@responses`,
                `anthropic@messages`), to further keys of the body. The provider's own take
                precedence; a key that the host does not take is refused.
        """
        settings = settings_of(locals())
        model, provider = sealed(model), sealed(provider)
        client, name = self._client_and_name(model, provider)
        return AsyncChat(name, client=client, **settings)

    @typing.overload
    async def ask(
        self,
        prompt: Parts | None = None,
        *,
        model: str,
        provider: str = "",
        messages: Iterable[Message] | Message | None = None,
        output: type[T],
        **options: Unpack[OptionsBesideTools],
    ) -> Reply[T]: ...
    @typing.overload
    async def ask(
        self,
        prompt: Parts | None = None,
        *,
        model: str,
        provider: str = "",
        messages: Iterable[Message] | Message | None = None,
        output: type[T],
        tools: Iterable[Tool | ServerTool | Callable[..., Any]] | None,
        **options: Unpack[OptionsBesideTools],
    ) -> Reply[T | None]: ...
    @typing.overload
    async def ask(
        self,
        prompt: Parts | None = None,
        *,
        model: str,
        provider: str = "",
        messages: Iterable[Message] | Message | None = None,
        output: Any = None,
        **options: Unpack[RequestOptions],
    ) -> Reply: ...
    @checked_arguments(ConfigurationError)
    @checked_names("setting", seal=_sealed_names)
    async def ask(
        self,
        prompt: Parts | None = None,
        *,
        model: str,
        provider: str = "",
        messages: Iterable[Message] | Message | None = None,
        output: Any = None,
        output_retries: int = 1,
        system: str | None = None,
        tools: Iterable[Tool | ServerTool | Callable[..., Any]] | None = None,
        tool_choice: str | Sequence[str] | None = None,
        max_tokens: int | None = None,
        continue_long: bool | None = None,
        temperature: float | None = None,
        top_p: float | None = None,
        stop: str | Sequence[str] | None = None,
        effort: str | None = None,
        thoughts: bool | str | None = None,
        verbosity: str | None = None,
        seed: int | None = None,
        tier: str | None = None,
        store: bool | None = None,
        metadata: Mapping[str, str] | None = None,
        search_grounding: bool | None = None,
        raw_schemas: bool | None = None,
        caching: str | None = None,
        compaction: Compaction | int | bool | None = None,
        options: Mapping[str, Mapping[str, Any]] | None = None,
        timeouts: Timeouts | float | ClientDefault | None = USE_CLIENT_DEFAULT,
        retry: Retry | ClientDefault | None = USE_CLIENT_DEFAULT,
        headers: Headers | None = None,
    ) -> Reply:
        """Send a request to one model and return the complete reply. As `Chats.ask`.

        Args:
            prompt: A text or other parts of one message of the user. Give it or `messages`.
            model: `model`, or `provider:model`.
            provider: Name of the provider. All of `model` is then the name of the model, also what
                precedes a colon. By default, the default provider, unless `model` names one.
            messages: The conversation, oldest message first.
            output: A type that msgspec or pydantic knows, a JSON Schema, or "json" for any JSON.
                The model then replies in JSON, and `reply.output` is its value.
            output_retries: How often `ask` and `stream` repeat a request whose reply does not fit
                `output`; the repetition tells the model the problem. 0 for never, 1 by default. A
                `Call` that you send with a client is sent once.
            system: The system prompt. It comes before the system messages among `messages`.
            tools: Functions, structs or tools that the model may call, see `wire.tools.tool`; and
                tools that the vendor's server runs, such as `wire.web_search()`.
            tool_choice: `auto`, `none`, `required`, or a list of tool names of which one must be
                called. By default, the model chooses.
            max_tokens: Tokens. The longest reply, with its thoughts on most models. By default,
                that of the model.
            continue_long: False returns the first part of a long answer of Gemini 4, with the token
                that continues it. By default, the answer is followed to its end over several
                requests, up to `max_tokens`.
            temperature: Randomness, from 0 up. By default, that of the model.
            top_p: Share of the likeliest tokens to choose from, from 0 to 1. By default, that of
                the model.
            stop: A text, or several, before which the reply ends.
            effort: Reasoning effort: `none`, `minimal`, `low`, `medium`, `high`, or another word of
                the vendor. By default, that of the model.
            thoughts: Whether the reply has the model's thoughts, or a summary of them, whatever the
                effort: True, False, or a word of the vendor. By default, as the model and the
                effort have it.
            verbosity: Length of the text: `low`, `medium` or `high`. By default, that of the model.
            seed: A number for which the reply is the same again, as far as the host can.
            tier: Tier of the service, which has a price: `flex`, `priority`, or another word of the
                vendor.
            store: Whether the vendor keeps the request and the reply. False by default, wherever a
                host has the choice.
            metadata: Texts that the vendor shows with the request in its lists.
            search_grounding: True adds Google Search to the tools. Only Gemini has it;
                `wire.web_search()` among the tools is for all vendors. False by default.
            raw_schemas: True sends JSON Schema to Gemini unchanged, without the conversion to
                Gemini's dialect. False by default.
            caching: How the vendor caches the beginning of the request: `auto`, `long` (kept for
                longer) or `off` (also ignores `Message.cache`). By default, only messages with
                `cache=True` request it.
            compaction: From how many tokens on the server replaces the beginning of the
                conversation by a summary: True for its default, a number, or a `Compaction`.
                Anthropic and OpenAI's Responses do.
            options: Name of a provider, or of a wire (`gemini`, `openai@chat`, `openai@responses`,
                `anthropic@messages`), to further keys of the body. The provider's own take
                precedence; a key that the host does not take is refused.
            timeouts: Seconds; as for a client: a number limits each single wait, `None` means no
                limit at all. By default, those of the client.
            retry: As for a client: `None` means one attempt only. By default, the policy of the
                client.
            headers: Further headers of this request; they replace those of the client. Values that
                look like keys are shown nowhere.
        """
        request = request_of(locals())
        model, provider = sealed(model), sealed(provider)
        chat = self.chat(model, provider)
        reply: Reply = await chat.ask(**request)
        return reply

    @typing.overload
    def stream(
        self,
        prompt: Parts | None = None,
        *,
        model: str,
        provider: str = "",
        messages: Iterable[Message] | Message | None = None,
        output: type[T],
        **options: Unpack[OptionsBesideTools],
    ) -> AbstractAsyncContextManager[AsyncChatStream[T]]: ...
    @typing.overload
    def stream(
        self,
        prompt: Parts | None = None,
        *,
        model: str,
        provider: str = "",
        messages: Iterable[Message] | Message | None = None,
        output: type[T],
        tools: Iterable[Tool | ServerTool | Callable[..., Any]] | None,
        **options: Unpack[OptionsBesideTools],
    ) -> AbstractAsyncContextManager[AsyncChatStream[T | None]]: ...
    @typing.overload
    def stream(
        self,
        prompt: Parts | None = None,
        *,
        model: str,
        provider: str = "",
        messages: Iterable[Message] | Message | None = None,
        output: Any = None,
        **options: Unpack[RequestOptions],
    ) -> AbstractAsyncContextManager[AsyncChatStream]: ...
    @checked_arguments(ConfigurationError)
    @checked_names("setting", seal=_sealed_names)
    def stream(
        self,
        prompt: Parts | None = None,
        *,
        model: str,
        provider: str = "",
        messages: Iterable[Message] | Message | None = None,
        output: Any = None,
        output_retries: int = 1,
        system: str | None = None,
        tools: Iterable[Tool | ServerTool | Callable[..., Any]] | None = None,
        tool_choice: str | Sequence[str] | None = None,
        max_tokens: int | None = None,
        continue_long: bool | None = None,
        temperature: float | None = None,
        top_p: float | None = None,
        stop: str | Sequence[str] | None = None,
        effort: str | None = None,
        thoughts: bool | str | None = None,
        verbosity: str | None = None,
        seed: int | None = None,
        tier: str | None = None,
        store: bool | None = None,
        metadata: Mapping[str, str] | None = None,
        search_grounding: bool | None = None,
        raw_schemas: bool | None = None,
        caching: str | None = None,
        compaction: Compaction | int | bool | None = None,
        options: Mapping[str, Mapping[str, Any]] | None = None,
        timeouts: Timeouts | float | ClientDefault | None = USE_CLIENT_DEFAULT,
        retry: Retry | ClientDefault | None = USE_CLIENT_DEFAULT,
        headers: Headers | None = None,
    ) -> AbstractAsyncContextManager[AsyncChatStream]:
        """Stream the events of the reply of one model. As `Chats.stream`.

        Args:
            prompt: A text or other parts of one message of the user. Give it or `messages`.
            model: `model`, or `provider:model`.
            provider: Name of the provider. All of `model` is then the name of the model, also what
                precedes a colon. By default, the default provider, unless `model` names one.
            messages: The conversation, oldest message first.
            output: A type that msgspec or pydantic knows, a JSON Schema, or "json" for any JSON.
                The model then replies in JSON, and `reply.output` is its value.
            output_retries: How often `ask` and `stream` repeat a request whose reply does not fit
                `output`; the repetition tells the model the problem. 0 for never, 1 by default. A
                `Call` that you send with a client is sent once.
            system: The system prompt. It comes before the system messages among `messages`.
            tools: Functions, structs or tools that the model may call, see `wire.tools.tool`; and
                tools that the vendor's server runs, such as `wire.web_search()`.
            tool_choice: `auto`, `none`, `required`, or a list of tool names of which one must be
                called. By default, the model chooses.
            max_tokens: Tokens. The longest reply, with its thoughts on most models. By default,
                that of the model.
            continue_long: False returns the first part of a long answer of Gemini 4, with the token
                that continues it. By default, the answer is followed to its end over several
                requests, up to `max_tokens`.
            temperature: Randomness, from 0 up. By default, that of the model.
            top_p: Share of the likeliest tokens to choose from, from 0 to 1. By default, that of
                the model.
            stop: A text, or several, before which the reply ends.
            effort: Reasoning effort: `none`, `minimal`, `low`, `medium`, `high`, or another word of
                the vendor. By default, that of the model.
            thoughts: Whether the reply has the model's thoughts, or a summary of them, whatever the
                effort: True, False, or a word of the vendor. By default, as the model and the
                effort have it.
            verbosity: Length of the text: `low`, `medium` or `high`. By default, that of the model.
            seed: A number for which the reply is the same again, as far as the host can.
            tier: Tier of the service, which has a price: `flex`, `priority`, or another word of the
                vendor.
            store: Whether the vendor keeps the request and the reply. False by default, wherever a
                host has the choice.
            metadata: Texts that the vendor shows with the request in its lists.
            search_grounding: True adds Google Search to the tools. Only Gemini has it;
                `wire.web_search()` among the tools is for all vendors. False by default.
            raw_schemas: True sends JSON Schema to Gemini unchanged, without the conversion to
                Gemini's dialect. False by default.
            caching: How the vendor caches the beginning of the request: `auto`, `long` (kept for
                longer) or `off` (also ignores `Message.cache`). By default, only messages with
                `cache=True` request it.
            compaction: From how many tokens on the server replaces the beginning of the
                conversation by a summary: True for its default, a number, or a `Compaction`.
                Anthropic and OpenAI's Responses do.
            options: Name of a provider, or of a wire (`gemini`, `openai@chat`, `openai@responses`,
                `anthropic@messages`), to further keys of the body. The provider's own take
                precedence; a key that the host does not take is refused.
            timeouts: Seconds; as for a client: a number limits each single wait, `None` means no
                limit at all. By default, those of the client.
            retry: As for a client: `None` means one attempt only. By default, the policy of the
                client.
            headers: Further headers of this request; they replace those of the client. Values that
                look like keys are shown nowhere.
        """
        request = request_of(locals())
        model, provider = sealed(model), sealed(provider)
        chat = self.chat(model, provider)
        return chat.stream(**request)

    async def aclose(self) -> None:
        """Close the clients. Closing twice has no effect."""
        async with contextlib.AsyncExitStack() as stack:
            for client in self.clients.values():
                stack.push_async_callback(client.aclose)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


# --- the environment ------------------------------------------------------------------------------


def options_from_env(names: Iterable[str], shared: SharedOptions) -> dict[str, Options]:
    """Map each provider that the environment has a key for to the options of its client.

    Only the providers in `names` are considered; without names, all that have no region. Raises
    `ConfigurationError` for an unknown name, and if no key is found.
    """
    requested = [_row(name) for name in names]
    rows = requested or [row for name, row in PROVIDERS.items() if "@" not in name]
    by_name: dict[str, Options] = {}
    for row in rows:
        if not (set_key_variable(row) or (requested and not row.key_required)):
            continue
        if not (requested or is_placed(row)):
            continue  # each customer has a URL, and this one's is not set
        own = cast(Options, {**shared})
        headers = {
            header: os.environ[variable].strip()
            for variable, header in row.header_variables.items()
            if os.environ.get(variable, "").strip()
        }
        if headers:
            own["headers"] = cast(Any, headers)
        by_name[row.name] = own
    if not by_name:
        variables = ", ".join(dict.fromkeys(row.key_variable for row in rows))
        raise ConfigurationError(f"no API key in the environment: set one of {variables}")
    return by_name


def _row(name: str) -> Provider:
    row = PROVIDERS.get(name.lower()) if isinstance(name, str) else None
    if row is None:
        raise ConfigurationError(f"provider: {unknown_provider(name)}")
    return row
