"""Settings of `Chat` and `AsyncChat`, and their conversion to a request and a call."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypedDict, TypeVar, Unpack, cast

import msgspec

from wire.core.arguments import checked_names, items_of, suggestion
from wire.core.bodies import wrong_type
from wire.core.call import (
    USE_CLIENT_DEFAULT,
    Call,
    ClientDefault,
    StreamCall,
    Timeouts,
    timeouts_of,
)
from wire.core.credentials import known_credential
from wire.core.errors import ConfigurationError, RuleError, Violation
from wire.core.lazy import Foreign
from wire.core.provider import wire_option
from wire.core.retry import NONE as NO_RETRY
from wire.core.retry import Retry
from wire.core.secret import Headers, quoted, sealed, type_name, unsealed
from wire.core.stream_block import ForTasks, ForThreads
from wire.http.target import Options, options_of, seal
from wire.neutral.compaction import Compaction
from wire.neutral.messages import Event, Message, Parts, Reply
from wire.neutral.request import Request, ServerTool, TokenCount, Tool, check_caching
from wire.wires.contract import WIRES
from wire.wires.providers import PROVIDERS, Provider, family_of, model_of, row_of_model

if TYPE_CHECKING:
    from contextlib import AbstractAsyncContextManager, AbstractContextManager

    from wire.chat.cache_health import CacheWatch
    from wire.chat.live import AsyncLiveSession, LiveSession
    from wire.chat.watching import LoadWatch
    from wire.core.flow import Flow
    from wire.http.aio import AsyncClient
    from wire.http.client import Client
    from wire.neutral.live import LiveOptions


AnyCall = TypeVar("AnyCall", bound=Call[Any] | StreamCall[Event, Reply])


AnyClient = TypeVar("AnyClient", bound="Client | AsyncClient")


class SettingsBesideTools(TypedDict, total=False):
    """All `Settings` but the tools, so that type checkers tell a request with tools from others."""

    system: str | None
    """The system prompt. It comes before the system messages among `messages`."""
    tool_choice: str | Sequence[str] | None
    """`auto`, `none`, `required`, or a list of tool names of which one must be called. By default,
    the model chooses."""
    max_tokens: int | None
    """Tokens. The longest reply, with its thoughts on most models. By default, that of the
    model."""
    continue_long: bool | None
    """False returns the first part of a long answer of Gemini 4, with the token that continues it.
    By default, the answer is followed to its end over several requests, up to `max_tokens`."""
    temperature: float | None
    """Randomness, from 0 up. By default, that of the model."""
    top_p: float | None
    """Share of the likeliest tokens to choose from, from 0 to 1. By default, that of the model."""
    stop: str | Sequence[str] | None
    """A text, or several, before which the reply ends."""
    effort: str | None
    """Reasoning effort: `none`, `minimal`, `low`, `medium`, `high`, or another word of the vendor.
    By default, that of the model."""
    thoughts: bool | str | None
    """Whether the reply has the model's thoughts, or a summary of them, whatever the effort: True,
    False, or a word of the vendor. By default, as the model and the effort have it."""
    verbosity: str | None
    """Length of the text: `low`, `medium` or `high`. By default, that of the model."""
    seed: int | None
    """A number for which the reply is the same again, as far as the host can."""
    tier: str | None
    """Tier of the service, which has a price: `flex`, `priority`, or another word of the vendor."""
    store: bool | None
    """Whether the vendor keeps the request and the reply. False by default, wherever a host has the
    choice."""
    metadata: Mapping[str, str] | None
    """Texts that the vendor shows with the request in its lists."""
    search_grounding: bool | None
    """True adds Google Search to the tools. Only Gemini has it; `wire.web_search()` among the tools
    is for all vendors. False by default."""
    raw_schemas: bool | None
    """True sends JSON Schema to Gemini unchanged, without the conversion to Gemini's dialect. False
    by default."""
    caching: str | None
    """How the vendor caches the beginning of the request: `auto`, `long` (kept for longer) or `off`
    (also ignores `Message.cache`). By default, only messages with `cache=True` request it."""
    compaction: Compaction | int | bool | None
    """From how many tokens on the server replaces the beginning of the conversation by a summary:
    True for its default, a number, or a `Compaction`. Anthropic and OpenAI's Responses do."""
    options: Mapping[str, Mapping[str, Any]] | None
    """Name of a provider, or of a wire (`gemini`, `openai@chat`, `openai@responses`,
    `anthropic@messages`), to further keys of the body. The provider's own take precedence; a key
    that the host does not take is refused."""


class Settings(SettingsBesideTools, total=False):
    """Settings of a request. `wire.neutral.request.Request` documents each of them.

    Settings of a chat apply to all its requests. Settings of one request take precedence; `None`
    means "not given".
    """

    tools: Iterable[Tool | ServerTool | Callable[..., Any]] | None
    """Functions, structs or tools that the model may call, see `wire.tools.tool`; and tools that
    the vendor's server runs, such as `wire.web_search()`."""


class OptionsBesideTools(SettingsBesideTools, total=False):
    """All `RequestOptions` but the tools. A reply to a request with tools may call one of them, and
    has no `output` then."""

    timeouts: Timeouts | float | ClientDefault | None
    """Seconds; as for a client: a number limits each single wait, `None` means no limit at all.
    By default, those of the client."""
    retry: Retry | ClientDefault | None
    """As for a client: `None` means one attempt only. By default, the policy of the client."""
    headers: Headers | None
    """Further headers of this request; they replace those of the client. Values that look like keys
    are shown nowhere."""
    output_retries: int
    """How often `ask` and `stream` repeat a request whose reply does not fit `output`; the
    repetition tells the model the problem. 0 for never, 1 by default. A `Call` that you send with a
    client is sent once."""


class RequestOptions(OptionsBesideTools, Settings, total=False):
    """Settings of one request, and how to send it."""


class ChatState(Foreign, Generic[AnyClient]):
    """The part of a chat that `Chat` and `AsyncChat` share: client, model and settings."""

    model: str

    def __init__(self, parameters: Mapping[str, Any], kind: type[AnyClient]) -> None:
        """Read `parameters`, those of the constructor of `Chat` as its `locals()` has them."""
        name, client = parameters["model"], parameters["client"]
        self._name = name = model_name(name, client is not None)
        if client is not None and not isinstance(client, kind):
            raise ConfigurationError(f"client: expected a {kind.__name__}, not {type_name(client)}")
        provider, self.model = model_of(name, client.provider if client is not None else "")
        self.client: AnyClient
        if client is None:
            self.client = kind(provider, http=parameters["http"], **options_of(parameters))
        elif not _sends_to(client.row, provider.lower()):
            raise ConfigurationError(
                f"client: it sends to {client.provider!r}, but the model {quoted(name)} is one of "
                f"{quoted(provider)}"
            )
        else:
            self.client = client
        row = self.client.row
        own = row if provider.lower() == row.name else row.with_wire(PROVIDERS[provider.lower()])
        self.row: Provider = row_of_model(own, self.model)
        self._name = f"{self.provider}:{self.model}"
        self._own = client is None
        self._settings = _settings_of(parameters)
        self._cache_watch: CacheWatch | None = None
        self._load_watch: LoadWatch | None = None
        if self.row.load_options:
            from wire.chat.watching import LoadWatch  # most servers load nothing

            self._load_watch = LoadWatch(self.row.load_options)

    @property
    def provider(self) -> str:
        """Name of the row that is used: a provider, with its region or wire, as in `kimi@cn` and
        `openai@responses`."""
        return self.row.name

    @property
    def settings(self) -> Mapping[str, Any]:
        """The settings of all its requests that were given, as fields of `Request`."""
        return dict(self._settings)

    @property
    def caching(self) -> str | None:
        """The setting `caching` of all its requests; `None` if it was not given."""
        value: str | None = self._settings.get("caching")
        return value

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name})"

    @checked_names("setting")
    def request(
        self,
        prompt: Parts | None = None,
        *,
        messages: Iterable[Message] | Message | None = None,
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
    ) -> Request:
        """Build the neutral request without sending it.

        Raises `RuleError` unless exactly one of `prompt` and `messages` is given.

        Args:
            prompt: A text or other parts of one message of the user. Give it or `messages`.
            messages: The conversation, oldest message first.
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
        return self._request(prompt, messages, locals())

    def _request(self, prompt: Any, messages: Any, parameters: Mapping[str, Any]) -> Request:
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
        request = Request(messages=tuple(sent), **{**self._settings, **_settings_of(parameters)})
        if request.options:
            self._check_options(request.options)
        return request

    def _check_options(self, options: Mapping[str, Mapping[str, Any]]) -> None:
        """Raise `RuleError` for options of a provider that does not exist, `ConfigurationError` for
        those of another wire of the chat's own: none would get them.
        """
        own = self.row.option_names
        known = {*PROVIDERS, *map(family_of, PROVIDERS), *map(wire_option, WIRES), *own}
        for name, keys in options.items():
            if name in known and not isinstance(keys, Mapping):
                raise wrong_type(f"options.{name}", keys, "mapping")
            if name not in known:
                near = suggestion(name, known) if isinstance(name, str) else ""
                remedy = near or "`wire providers` lists all"
                problem = f"no provider is called {quoted(name, 40)}"
                raise RuleError(violations=[Violation("options", problem, remedy=remedy)])
            other = PROVIDERS.get(name) if keys and options.keys().isdisjoint(own) else None
            if other and other.family == self.row.family and other.wire != self.row.wire:
                raise ConfigurationError(
                    f"options.{name}: {self.model} goes to {own[-1]}; '{name}:{self.model}' "
                    f"chooses the other endpoint, and options.{own[-1]} beside it means both",
                    provider=self.provider,
                )

    @checked_names("setting")
    def call(
        self,
        prompt: Parts | None = None,
        *,
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
    ) -> Call[Reply]:
        """Build the call that `ask` sends with the same arguments.

        Args:
            prompt: A text or other parts of one message of the user. Give it or `messages`.
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
        call: Call[Reply] = self._rendered("call", locals())
        return call

    @checked_names("setting")
    def stream_call(
        self,
        prompt: Parts | None = None,
        *,
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
    ) -> StreamCall[Event, Reply]:
        """Build the call that `stream` sends with the same arguments.

        Args:
            prompt: A text or other parts of one message of the user. Give it or `messages`.
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
        call: StreamCall[Event, Reply] = self._rendered("stream_call", locals())
        return call

    whole = call
    """Another name of `call`."""
    streamed = stream_call
    """Another name of `stream_call`."""

    def _rendered(self, how: str, parameters: Mapping[str, Any]) -> Any:
        """Render a request; `how` names the function of the wire: `call` or `stream_call`.

        `parameters` are those of `ask`, as its `locals()` has them.
        """
        request = self._request(parameters["prompt"], parameters["messages"], parameters)
        output, retries = parameters["output"], parameters["output_retries"]
        if type(retries) is not int or retries < 0:
            expected = "a whole number from 0 up"
            raise ConfigurationError(f"output_retries: expected {expected}, not {quoted(retries)}")
        if output is None:
            return self._rendered_request(how, parameters, request)
        from wire.neutral.output import OutputType  # many chats ask for no output
        from wire.neutral.output_calls import Question, call_of

        output_type = OutputType(output)
        request = msgspec.structs.replace(request, output=output_type.output)
        render = functools.partial(self._rendered_request, how, parameters)
        return call_of(Question(request, output_type, retries, render))

    def _rendered_request(self, how: str, parameters: Mapping[str, Any], request: Request) -> Any:
        try:
            call = getattr(WIRES[self.row.wire], how)(request, self.model, self.row)
        except RuleError as error:
            if error.preview is not None:
                error.preview = self.client._target.addressed(error.preview)
            raise
        if (  # most requests have none, and each call of a function costs time
            parameters["timeouts"] is not USE_CLIENT_DEFAULT
            or parameters["retry"] is not USE_CLIENT_DEFAULT
            or parameters["headers"] is not None
        ):
            call = _with_options(call, parameters)
        if call.turns is None and self.client._target.connection == "socket":
            raise ConfigurationError(f"connection: {self._name} has no WebSocket")
        if request.caching is not None and request.caching != "off":
            call = self._watched(call, request)
        return self._load_watch.watched(call) if self._load_watch is not None else call

    def _watched(self, call: Any, request: Request) -> Any:
        """Return a call whose reply tells if its request began otherwise than the one before."""
        from wire.chat.cache_health import CacheWatch  # most chats ask for no cache
        from wire.chat.watching import watched
        from wire.history import Beginning

        if self._cache_watch is None:
            self._cache_watch = CacheWatch()
        now = Beginning(request.tools, request.system or "", request.messages)
        return watched(call, functools.partial(self._cache_watch.replied, now=now))

    def _counting(self, parameters: Mapping[str, Any]) -> Flow[TokenCount]:
        """Count the tokens of a request; `parameters` are those of `ask`."""
        request = self._request(parameters["prompt"], parameters["messages"], parameters)
        request = _with_output(request, parameters["output"])
        call = WIRES[self.row.wire].count_call(request, self.model, self.row)
        if call is None:
            from wire.history import estimate_request

            WIRES[self.row.wire].call(request, self.model, self.row)  # raises as for `ask`
            return TokenCount(estimate_request(request), exact=False, source="estimate")
        count: TokenCount = yield _with_options(call, parameters)
        return count

    def _batch_call(self, request: Request, output: Any) -> Call[Reply]:
        """Build the call that would send one request of a batch alone."""
        from wire.neutral.stops import refuse_without_request  # most chats send no batch

        call = WIRES[self.row.wire].call(_with_output(request, output), self.model, self.row)
        refuse_without_request(call.notes)
        return call


def _with_output(request: Request, output: Any) -> Request:
    """Return the request with the type `output` for its reply, if one is given."""
    if output is None:
        return request
    from wire.neutral.output import OutputType  # many chats ask for no output

    return msgspec.structs.replace(request, output=OutputType(output).output)


def _with_options(call: AnyCall, parameters: Mapping[str, Any]) -> AnyCall:
    """Return the call with the timeouts, the retry policy and the headers of `parameters`."""
    timeouts, retry = parameters["timeouts"], parameters["retry"]
    changed: Any = call
    if timeouts is not USE_CLIENT_DEFAULT:
        changed = changed.replace(timeouts=timeouts_of(timeouts))
    if retry is not USE_CLIENT_DEFAULT:
        changed = changed.replace(retry=NO_RETRY if retry is None else retry)
    if parameters["headers"] is not None:
        changed = changed.replace(headers=parameters["headers"])
    return cast(AnyCall, changed)


def _sends_to(row: Provider, name: str) -> bool:
    """Return whether a client of `row` sends the calls of the provider `name`: the same URL and
    API.
    """
    if name == row.name:
        return True
    own, other = PROVIDERS.get(row.name), PROVIDERS.get(name)
    if own is None or other is None:
        return False
    return (own.family, own.api, own.base_url) == (other.family, other.api, other.base_url)


def _listed(messages: Any) -> tuple[Message, ...]:
    """Return the messages as a list; one message alone becomes a list of one, as does a prompt."""
    if isinstance(messages, str):
        problem, remedy = "expected a list, not str", "a text alone is the prompt: ask('...')"
        raise RuleError(violations=[Violation("messages", problem, remedy=remedy)])
    return (messages,) if isinstance(messages, Message) else items_of("messages", messages)


SETTINGS = Settings.__annotations__.keys() | {"messages", "prompt"}


_BOOLS = ("continue_long", "search_grounding", "raw_schemas")
_NO_TEXTS = ("max_tokens", "temperature", "top_p", "seed", "store", *_BOOLS)


def seal_settings(settings: Any) -> None:
    """Replace what may be a key in settings by a `Secret`, in place, as `seal` does."""
    seal(settings, SETTINGS)
    for name in _NO_TEXTS:
        if name in settings:
            settings[name] = sealed(settings[name])


def seal_chat_options(options: Any) -> None:
    """Seal the options of a chat; refuse those of a client if the caller passes a client."""
    seal_settings(options)
    if options.get("client") is not None:
        of_client = (name for name in options if name in Options.__annotations__)
        http = None if options.get("http", "auto") == "auto" else "http"
        option = next(of_client, http)
        if option is not None:
            raise ConfigurationError(
                f"{option}: an option of the client; give it to the client that you pass"
            )


def settings_of(parameters: Mapping[str, Any]) -> Settings:
    """Return the settings among the parameters of a function, as its `locals()` has them."""
    return cast(Settings, {name: parameters[name] for name in Settings.__annotations__})


def request_of(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of `Chat.ask` among those of a function, as its `locals()` has them."""
    return {name: parameters[name] for name in _OF_REQUEST}


_OF_REQUEST = ("prompt", "messages", "output", *RequestOptions.__annotations__)


def model_name(name: Any, bare: bool) -> Any:
    """Return the name of a model as text; as a `Secret` if it may be a key.

    A name that looks random is a model's where it names its provider, or is expected to be `bare`.
    """
    text = unsealed(name)
    if not isinstance(text, str) or known_credential(text) or not (bare or ":" in text):
        return name
    return text


def _settings_of(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that were given, with their values converted to those of `Request`."""
    given: dict[str, Any] = {}
    for name in Settings.__annotations__:
        if parameters[name] is not None:
            given[name] = parameters[name]
    if "tools" in given:
        from wire.tools import Toolbox  # many chats have none

        given["tools"] = Toolbox(given["tools"]).definitions
    if "caching" in given:
        check_caching(given["caching"])
    if isinstance(given.get("stop"), str):
        given["stop"] = (given["stop"],)
    for name in ("stop", "tool_choice"):
        if isinstance(given.get(name), Sequence) and not isinstance(given[name], str):
            given[name] = tuple(given[name])
    return given


# --- live sessions --------------------------------------------------------------------------------


class Talks(ForThreads, ChatState["Client"]):
    """A chat for threads that has live sessions."""

    client: Client

    @checked_names("setting")
    def connect(self, **settings: Unpack[LiveOptions]) -> AbstractContextManager[LiveSession]:
        """Open a live session with the model: texts and sound in both directions at once.

        OpenAI's Realtime, also at Azure and xAI, and Gemini Live; it needs the extra `[live]`. The
        settings of the chat that such sessions have apply: `system`, `tools`, `tool_choice`,
        `max_tokens`, `effort`, `options`, and on Gemini `temperature` and `top_p`.

        >>> from wire import Chat, Done
        >>> from wire.testing.emulator import Emulator, serve
        >>> with (
        ...     serve(Emulator([{"say": "At noon."}])) as server,
        ...     Chat("openai:gpt-realtime", api_key="k", base_url=f"{server.url}/v1") as chat,
        ...     chat.connect(sound=False) as session,
        ... ):
        ...     session.send("When is the tide high?")
        ...     next(event.reply.text for event in session.events() if isinstance(event, Done))
        'At noon.'

        Raises `RuleError` for what the host does not take, before anything is sent.

        Args:
            messages: The conversation before, oldest message first.
            state: Where an earlier session stopped: its `state`. In place of `messages`.
            voice: Name of a voice of the host; by default that of the host.
            language: Language of what is said, such as `en`; by default, the model finds out.
            sound: False if the model writes in place of speaking.
            turns: Who finds the end of the user's speech: the `server`, or the `client` by
                `end_sound`.
            transcripts: Whether the host writes down what the user says. At OpenAI a name chooses
                the model that does.
        """
        from wire.chat.live import live_block, live_conversation  # few chats have one

        return live_block(self.client, live_conversation(self, settings))


class AsyncTalks(ForTasks, ChatState["AsyncClient"]):
    """A chat for asyncio and trio that has live sessions."""

    client: AsyncClient

    @checked_names("setting")
    def connect(
        self, **settings: Unpack[LiveOptions]
    ) -> AbstractAsyncContextManager[AsyncLiveSession]:
        """Open a live session with the model. As `Chat.connect`."""
        from wire.chat.live import async_live_block, live_conversation

        return async_live_block(self.client, live_conversation(self, settings))
