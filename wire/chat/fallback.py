"""Several models that stand in for each other: if one fails, the next one is called.

A model fails if its own retries do not overcome an error. After the first event of a stream, no
other model is called, since the caller has seen a part of the answer.
"""

from __future__ import annotations

import contextlib
import typing
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, Generic, Self, TypeVar, Unpack, cast

import msgspec

from wire.around.seam import stands_in
from wire.chat.chat import AsyncChat, AsyncChatStream, Chat, ChatStream
from wire.chat.state import (
    OptionsBesideTools,
    RequestOptions,
    request_of,
    seal_settings,
    settings_of,
)
from wire.core.arguments import checked_names, items_of
from wire.core.call import (
    USE_CLIENT_DEFAULT,
    Call,
    ClientDefault,
    StreamCall,
    Timeouts,
)
from wire.core.circuits import Circuit, Circuits
from wire.core.errors import (
    AuthError,
    ClockError,
    ConfigurationError,
    ConnectionLost,
    ContextLengthError,
    FallbackError,
    NotFoundError,
    RateLimitError,
    RequestTimeoutError,
    RuleError,
    ServerError,
    StreamError,
    WireError,
)
from wire.core.limits import Limits
from wire.core.memory import Note, with_notes
from wire.core.retry import Retry
from wire.core.secret import Headers, quoted, sealed, type_name
from wire.core.stream_block import async_stream_block, stream_block
from wire.http.target import Options
from wire.neutral.compaction import Compaction
from wire.neutral.messages import Event, Message, Parts, Reply, with_failures
from wire.neutral.request import ServerTool, Tool

if typing.TYPE_CHECKING:
    from wire.around.seam import AroundFunction

T = TypeVar("T")
AnyChat = TypeVar("AnyChat", bound="Chat | AsyncChat")

FAILURES: tuple[type[WireError], ...] = (
    AuthError,
    ClockError,
    ConnectionLost,
    ContextLengthError,
    NotFoundError,
    RateLimitError,
    RequestTimeoutError,
    ServerError,
    StreamError,
)
"""The errors after which the next model is called, unless `on` names others. Errors of a malformed
request are not among them: every model would refuse it."""

_OF_THE_REQUEST = (ContextLengthError, RuleError)
"""Errors that say nothing about the health of a model."""

_OWN = (type, tuple, list, Circuit)
"""Types of `models`, `on` and `circuit`, which show no key."""

_UNSEALED = ("models", "on", "circuit")

_OF_CLIENTS: dict[str, Any] = {
    "http": "auto",
    "timeouts": Timeouts(),
    "retry": Retry(),
    "headers": None,
    "limits": None,
    "plain_http": False,
    "trust_env": True,
    "around": None,
}
"""The options of clients that suit any provider, and their defaults."""


def _seal(options: Any) -> None:
    own = {name: options.pop(name) for name in _UNSEALED if name in options}
    seal_settings(options)
    for name, value in own.items():
        options[name] = value if isinstance(value, _OWN) else sealed(value)
    of_one = options.keys() & (Options.__annotations__.keys() - _OF_CLIENTS.keys())
    if of_one:
        name = min(of_one)
        raise ConfigurationError(
            f"{name}: it belongs to one provider; give that model as a Chat with {name}="
        )


class FallbackState(Generic[AnyChat]):
    """The part that `FallbackChat` and `AsyncFallbackChat` share."""

    def __init__(self, kind: type[AnyChat], parameters: Mapping[str, Any]) -> None:
        models, circuit = parameters["models"], parameters["circuit"]
        if isinstance(models, (str, kind)) or not isinstance(models, Iterable):
            raise ConfigurationError(
                f"models: expected a list of names or chats, not {type_name(models)}"
            )
        if not isinstance(circuit, Circuit):
            raise ConfigurationError(f"circuit: expected a Circuit, not {type_name(circuit)}")
        self._on = _checked_errors(parameters["on"])
        settings = cast(dict[str, Any], settings_of(parameters))
        self._settings = {name: each for name, each in settings.items() if each is not None}
        defaults = _OF_CLIENTS.items()
        given = {name: parameters[name] for name, each in defaults if parameters[name] != each}
        self._own: list[AnyChat] = []
        models = tuple(models)
        self.chats: tuple[AnyChat, ...] = tuple(
            self._chat(each, position, kind, given) for position, each in enumerate(models)
        )
        if not self.chats:
            raise ConfigurationError("models: expected at least one")
        self._names = _names(models)
        self._circuits = Circuits(len(self.chats), circuit)
        for position, chat in enumerate(self.chats):
            self._check(chat, position)

    def _chat(
        self, given: Any, position: int, kind: type[AnyChat], of_clients: Mapping[str, Any]
    ) -> AnyChat:
        if isinstance(given, kind):
            for name in of_clients:
                raise ConfigurationError(
                    f"{name}: models[{position}] is a {kind.__name__} with a client of its own; "
                    f"give {name}= to that {kind.__name__}, or give its name in place of it"
                )
            return given
        if not isinstance(given, str):
            raise ConfigurationError(
                f"models[{position}]: expected a name or a {kind.__name__}, not {type_name(given)}"
            )
        made = kind(given, **of_clients)
        self._own.append(made)
        return made

    def _check(self, chat: AnyChat, position: int) -> None:
        """Raise `ConfigurationError` unless this model can hold the settings and has a key."""
        try:
            call = chat.call("Hi", **self._settings)
            chat.client._target.accept(call, Call)
            for note in call.notes:
                if note.path in self._settings:
                    raise ConfigurationError(str(note))
        except (ConfigurationError, RuleError) as error:
            problem = f"models[{position}] {self._names[position]}: {error.message}"
            raise ConfigurationError(problem, provider=chat.provider) from error

    @property
    def model(self) -> str:
        """The names of the models, in order, separated by commas."""
        return ",".join(self._names)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model})"

    def sits_out(self) -> dict[str, float]:
        """Return the seconds for which models still sit out, without the models that do not."""
        left = ((name, self._circuits.left(n)) for n, name in enumerate(self._names))
        return {name: seconds for name, seconds in left if seconds}

    def _asking(self, options: Mapping[str, Any]) -> Asking[AnyChat]:
        settings = {**self._settings, **options}
        return Asking(self.chats, self._names, self._circuits, self._on, settings)


class Asking(Generic[AnyChat]):
    """One request to several models: iterate over the chats until one has answered.

    Leaving the block releases the called model, also when the task is cancelled.
    """

    def __init__(
        self,
        chats: Sequence[AnyChat],
        names: Sequence[str],
        circuits: Circuits,
        on: tuple[type[WireError], ...],
        options: Mapping[str, Any],
    ) -> None:
        self._chats, self._names, self._circuits, self._on = chats, names, circuits, on
        # Each model gets all of them, so what can be iterated over once is read here.
        self.options: dict[str, Any] = {
            name: value if isinstance(value, (str, Message, Mapping)) else _read(name, value)
            for name, value in options.items()
        }
        self._failures: dict[int, WireError] = {}
        self._asked: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._asked is not None:
            self._circuits.released(self._asked)
        stands_in.set(False)

    def __iter__(self) -> Iterator[AnyChat]:
        while (position := self._circuits.take(self._failures)) is not None:
            self._asked = position
            stands_in.set(self._circuits.has_other((*self._failures, position)))
            yield self._chats[position]
        raise self._error()

    def failed(self, error: WireError) -> None:
        """Record that the called model has failed.

        Raises the error if no other model is left to call.
        """
        assert self._asked is not None
        # A `RuleError` of the first model is the caller's mistake; a later model has other limits.
        if not (isinstance(error, self._on) or (isinstance(error, RuleError) and self._failures)):
            raise error
        position, self._asked = self._asked, None
        if isinstance(error, _OF_THE_REQUEST):
            self._circuits.released(position)
        else:
            self._circuits.failed(position, error)
        self._failures[position] = error

    def answered(self) -> None:
        """Record that the called model has answered."""
        assert self._asked is not None
        position, self._asked = self._asked, None
        self._circuits.succeeded(position)

    def failures(self) -> dict[str, WireError]:
        """Return the error of each model that has failed, by the name of the model."""
        return {self._names[position]: error for position, error in self._failures.items()}

    def told(self) -> Callable[[Reply], Reply]:
        """Return a function that tells in a reply of the called model why it was called."""
        position = self._asked
        assert position is not None
        skipped = (n for n in range(position) if n not in self._failures)
        because = [*self._failed(), *map(self._sits_out, skipped)]
        if not because:
            return lambda reply: reply
        failures = self.failures()
        note = Note("model", f"{self._names[position]} answered, because {'; '.join(because)}")
        return lambda reply: with_notes(with_failures(reply, failures), (note,))

    def _failed(self) -> list[str]:
        return [f"{name} failed: {error}" for name, error in self.failures().items()]

    def _sits_out(self, position: int) -> str:
        return f"{self._names[position]} sits out for another {self._circuits.left(position):.3g} s"

    def _error(self) -> FallbackError:
        resting = [n for n in range(len(self._chats)) if n not in self._failures]
        problem = "; ".join([*self._failed(), *map(self._sits_out, resting)])
        waits = [self._circuits.left(n) for n in range(len(self._chats))]
        failures = self.failures()
        error = FallbackError(
            f"no model answered: {problem}",
            retryable=bool(resting) or any(each.retryable for each in failures.values()),
            retry_after=min(waits) if all(waits) else None,
        )
        error.failures = failures
        error.attempts = sum(each.attempts for each in failures.values())
        return error


def _names(models: Iterable[str | Chat | AsyncChat]) -> tuple[str, ...]:
    """Return the name of each model: as given, or that of its chat.

    A name that an earlier model has is followed by its position, so that no two are the same.
    """
    names: list[str] = []
    for position, each in enumerate(models):
        name = each if isinstance(each, str) else f"{each.provider}:{each.model}"
        names.append(f"{name} (models[{position}])" if name in names else name)
    return tuple(names)


def _read(name: str, value: Any) -> Any:
    return items_of(name, value) if isinstance(value, Iterator) else value


def _checked_errors(given: Any) -> tuple[type[WireError], ...]:
    kinds = given if isinstance(given, (tuple, list)) else (given,)
    for kind in kinds:
        if not (isinstance(kind, type) and issubclass(kind, WireError)):
            raise ConfigurationError(f"on: expected classes of wire.errors, not {quoted(kind)}")
    return tuple(kinds)


def _noting(call: StreamCall[Event, Reply], asking: Asking[Any]) -> StreamCall[Event, Reply]:
    """Return the call, whose reply tells why its model was called."""
    told, convert = asking.told(), call.convert

    def converted(result: Any, error: WireError | None) -> Reply:
        return told(result if convert is None else convert(result, error))

    return msgspec.structs.replace(call, convert=converted)


def _given(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a request among the parameters of a function, as its `locals()` has
    them. Those that are not given leave the settings of the fallback as they are.
    """
    request = request_of(parameters)
    kept = {"messages": request.pop("messages"), "output": request.pop("output")}
    del request["prompt"]
    for name, value in request.items():
        own = USE_CLIENT_DEFAULT if name in ("timeouts", "retry") else None
        if value is not own:
            kept[name] = value
    return kept


class FallbackChat(FallbackState[Chat]):
    """Calls the first of several models, and the next one if it fails, for threads.

    >>> from wire.testing.emulator import Emulator, EmulatorTransport
    >>> down, up = Emulator([{"fault": "500", "times": 0}]), Emulator([{"say": "Hello."}])
    >>> first = Chat(
    ...     "gemini:gemini-3.8-flash", api_key="fake-key", http=EmulatorTransport(down), retry=None
    ... )
    >>> second = Chat(
    ...     "anthropic:claude-sonnet-5", api_key="fake-key", http=EmulatorTransport(up)
    ... )
    >>> with FallbackChat([first, second]) as chat:
    ...     reply = chat.ask("Hi")
    >>> reply.text, reply.model
    ('Hello.', 'claude-sonnet-5')

    Each model has its own retries. After an error in `on` the next model is called, with the same
    messages: each wire leaves out the parts that only another model can read, and notes it. No
    model is called after the first event of a stream. A model sits out for as long as its server
    requests, and after failures as `circuit` sets. `reply.failures` has the errors of the models
    that failed before; a note also names the models that sat out.

    `http` and the options after it are those of the clients that are made for models given by name;
    a `Chat` has a client of its own, and beside it they are refused. Timeouts, the total one too,
    count for each model anew.

    It has the methods `ask` and `stream` of a `Chat`, so an `Agent` takes it as its model. Raises
    `ConfigurationError` for a model that cannot hold the settings, or that has no key.

    Args:
        models: Names such as `gemini:gemini-3.8-flash`, or a `Chat` each, which may have options of
            its own. Chats that were given are not closed.
        on: Classes of errors after which the next model is called.
        circuit: When a model that fails sits out.
        system: The system prompt. It comes before the system messages among `messages`.
        tools: Functions, structs or tools that the model may call, see `wire.tools.tool`; and tools
            that the vendor's server runs, such as `wire.web_search()`.
        tool_choice: `auto`, `none`, `required`, or a list of tool names of which one must be
            called. By default, the model chooses.
        max_tokens: Tokens. The longest reply, with its thoughts on most models. By default, that of
            the model.
        continue_long: False returns the first part of a long answer of Gemini 4, with the token
            that continues it. By default, the answer is followed to its end over several requests,
            up to `max_tokens`.
        temperature: Randomness, from 0 up. By default, that of the model.
        top_p: Share of the likeliest tokens to choose from, from 0 to 1. By default, that of the
            model.
        stop: A text, or several, before which the reply ends.
        effort: Reasoning effort: `none`, `minimal`, `low`, `medium`, `high`, or another word of the
            vendor. By default, that of the model.
        thoughts: Whether the reply has the model's thoughts, or a summary of them, whatever the
            effort: True, False, or a word of the vendor. By default, as the model and the effort
            have it.
        verbosity: Length of the text: `low`, `medium` or `high`. By default, that of the model.
        seed: A number for which the reply is the same again, as far as the host can.
        tier: Tier of the service, which has a price: `flex`, `priority`, or another word of the
            vendor.
        store: Whether the vendor keeps the request and the reply. False by default, wherever a host
            has the choice.
        metadata: Texts that the vendor shows with the request in its lists.
        search_grounding: True adds Google Search to the tools. Only Gemini has it;
            `wire.web_search()` among the tools is for all vendors. False by default.
        raw_schemas: True sends JSON Schema to Gemini unchanged, without the conversion to Gemini's
            dialect. False by default.
        caching: How the vendor caches the beginning of the request: `auto`, `long` (kept for
            longer) or `off` (also ignores `Message.cache`). By default, only messages with
            `cache=True` request it.
        compaction: From how many tokens on the server replaces the beginning of the conversation by
            a summary: True for its default, a number, or a `Compaction`. Anthropic and OpenAI's
            Responses do.
        options: Name of a provider, or of a wire (`gemini`, `openai@chat`, `openai@responses`,
            `anthropic@messages`), to further keys of the body. The provider's own take precedence;
            a key that the host does not take is refused.
        http: A transport or a client of httpx or httpx2 for all models given by name, or `"auto"`
            for connections of their own.
        timeouts: Seconds. A number limits each single wait: for a connection, for the response
            headers, and between two events or reads; the whole call with its retries still ends
            after 900 s. `None`: no limit at all. `Timeouts(...)` sets each limit; its defaults are
            `connect` 10 s, `first_byte` 300 s, `idle` 120 s, `total` 900 s.
        retry: When to send a failed request again. By default 3 attempts, with waits of up to 1 s,
            then 2 s, or as long as the server asks for, up to 60 s. `None`: one attempt only.
        headers: Further headers of each request. Values that look like keys are shown nowhere.
        limits: Largest sizes of what is received. `None`: the defaults, such as 256 MiB for a body.
        plain_http: True permits a key over unencrypted http to a host that is not loopback, such as
            one in your own network. Everyone on the way can read the key and the conversation.
        trust_env: False ignores the proxies of the environment, `SSL_CERT_FILE`, `SSL_CERT_DIR` and
            `SSLKEYLOGFILE`. A transport given as `http=` has a setting of its own.
        around: A function, or several, that see each call and may change, answer, delay or refuse
            it; see `wire.around`.
    """

    @checked_names("setting", seal=_seal)
    def __init__(
        self,
        models: Iterable[str | Chat],
        *,
        on: type[WireError] | Sequence[type[WireError]] = FAILURES,
        circuit: Circuit = Circuit(),
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
        http: Any = "auto",
        timeouts: Timeouts | float | None = Timeouts(),
        retry: Retry | None = Retry(),
        headers: Headers | None = None,
        limits: Limits | None = None,
        plain_http: bool = False,
        trust_env: bool = True,
        around: AroundFunction | Sequence[AroundFunction] | None = None,
    ) -> None:
        super().__init__(Chat, locals())

    @typing.overload
    def ask(
        self,
        prompt: Parts | None = None,
        *,
        messages: Iterable[Message] | Message | None = None,
        output: type[T],
        **options: Unpack[OptionsBesideTools],
    ) -> Reply[T]: ...
    @typing.overload
    def ask(
        self,
        prompt: Parts | None = None,
        *,
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
        messages: Iterable[Message] | Message | None = None,
        output: Any = None,
        **options: Unpack[RequestOptions],
    ) -> Reply: ...
    @checked_names("setting")
    def ask(
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
    ) -> Reply:
        """Return the reply of the first model that answers.

        Further keywords are those of `Chat.ask`. Raises `FallbackError`, which names all attempts,
        if no model answers.

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
        asking = self._asking(_given(locals()))
        with asking:
            for chat in asking:
                try:
                    reply = chat.ask(prompt, **asking.options)
                except WireError as error:
                    asking.failed(error)
                else:
                    reply = asking.told()(reply)
                    asking.answered()
                    return reply
        raise AssertionError  # `asking` raises in the end

    @typing.overload
    def stream(
        self,
        prompt: Parts | None = None,
        *,
        messages: Iterable[Message] | Message | None = None,
        output: type[T],
        **options: Unpack[OptionsBesideTools],
    ) -> AbstractContextManager[ChatStream[T]]: ...
    @typing.overload
    def stream(
        self,
        prompt: Parts | None = None,
        *,
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
        messages: Iterable[Message] | Message | None = None,
        output: Any = None,
        **options: Unpack[RequestOptions],
    ) -> AbstractContextManager[ChatStream]: ...
    @checked_names("setting")
    def stream(
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
    ) -> AbstractContextManager[ChatStream]:
        """Stream the reply of the first model that begins to answer. Further keywords are those of
        `Chat.stream`.

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
        return self._streamed(self._asking(_given(locals())), prompt)

    @stream_block("with chat.stream(...) as events:")
    def _streamed(self, asking: Asking[Chat], prompt: Parts | None) -> Iterator[ChatStream]:
        with contextlib.ExitStack() as stack:
            yield self._begun(stack, asking, prompt)

    def _begun(
        self, stack: contextlib.ExitStack, asking: Asking[Chat], prompt: Parts | None
    ) -> ChatStream:
        """Return the stream of the first model that begins to answer; `stack` closes it."""
        with asking:
            for chat in asking:
                try:
                    call = _noting(chat.stream_call(prompt, **asking.options), asking)
                    block = chat._streamed(call, asking.options["output"])
                    events = stack.enter_context(block)
                except WireError as error:
                    asking.failed(error)
                else:
                    asking.answered()
                    return events
        raise AssertionError  # `asking` raises in the end

    def close(self) -> None:
        """Close the chats that were made of names. Closing twice has no effect."""
        for chat in self._own:
            chat.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncFallbackChat(FallbackState[AsyncChat]):
    """`FallbackChat` for asyncio and trio: calls the next of several models if one fails.

    Args:
        models: Names such as `gemini:gemini-3.8-flash`, or a `Chat` each, which may have options of
            its own. Chats that were given are not closed.
        on: Classes of errors after which the next model is called.
        circuit: When a model that fails sits out.
        system: The system prompt. It comes before the system messages among `messages`.
        tools: Functions, structs or tools that the model may call, see `wire.tools.tool`; and tools
            that the vendor's server runs, such as `wire.web_search()`.
        tool_choice: `auto`, `none`, `required`, or a list of tool names of which one must be
            called. By default, the model chooses.
        max_tokens: Tokens. The longest reply, with its thoughts on most models. By default, that of
            the model.
        continue_long: False returns the first part of a long answer of Gemini 4, with the token
            that continues it. By default, the answer is followed to its end over several requests,
            up to `max_tokens`.
        temperature: Randomness, from 0 up. By default, that of the model.
        top_p: Share of the likeliest tokens to choose from, from 0 to 1. By default, that of the
            model.
        stop: A text, or several, before which the reply ends.
        effort: Reasoning effort: `none`, `minimal`, `low`, `medium`, `high`, or another word of the
            vendor. By default, that of the model.
        thoughts: Whether the reply has the model's thoughts, or a summary of them, whatever the
            effort: True, False, or a word of the vendor. By default, as the model and the effort
            have it.
        verbosity: Length of the text: `low`, `medium` or `high`. By default, that of the model.
        seed: A number for which the reply is the same again, as far as the host can.
        tier: Tier of the service, which has a price: `flex`, `priority`, or another word of the
            vendor.
        store: Whether the vendor keeps the request and the reply. False by default, wherever a host
            has the choice.
        metadata: Texts that the vendor shows with the request in its lists.
        search_grounding: True adds Google Search to the tools. Only Gemini has it;
            `wire.web_search()` among the tools is for all vendors. False by default.
        raw_schemas: True sends JSON Schema to Gemini unchanged, without the conversion to Gemini's
            dialect. False by default.
        caching: How the vendor caches the beginning of the request: `auto`, `long` (kept for
            longer) or `off` (also ignores `Message.cache`). By default, only messages with
            `cache=True` request it.
        compaction: From how many tokens on the server replaces the beginning of the conversation by
            a summary: True for its default, a number, or a `Compaction`. Anthropic and OpenAI's
            Responses do.
        options: Name of a provider, or of a wire (`gemini`, `openai@chat`, `openai@responses`,
            `anthropic@messages`), to further keys of the body. The provider's own take precedence;
            a key that the host does not take is refused.
        http: A transport or a client of httpx or httpx2 for all models given by name, or `"auto"`
            for connections of their own.
        timeouts: Seconds. A number limits each single wait: for a connection, for the response
            headers, and between two events or reads; the whole call with its retries still ends
            after 900 s. `None`: no limit at all. `Timeouts(...)` sets each limit; its defaults are
            `connect` 10 s, `first_byte` 300 s, `idle` 120 s, `total` 900 s.
        retry: When to send a failed request again. By default 3 attempts, with waits of up to 1 s,
            then 2 s, or as long as the server asks for, up to 60 s. `None`: one attempt only.
        headers: Further headers of each request. Values that look like keys are shown nowhere.
        limits: Largest sizes of what is received. `None`: the defaults, such as 256 MiB for a body.
        plain_http: True permits a key over unencrypted http to a host that is not loopback, such as
            one in your own network. Everyone on the way can read the key and the conversation.
        trust_env: False ignores the proxies of the environment, `SSL_CERT_FILE`, `SSL_CERT_DIR` and
            `SSLKEYLOGFILE`. A transport given as `http=` has a setting of its own.
        around: A function, or several, that see each call and may change, answer, delay or refuse
            it; see `wire.around`.
    """

    @checked_names("setting", seal=_seal)
    def __init__(
        self,
        models: Iterable[str | AsyncChat],
        *,
        on: type[WireError] | Sequence[type[WireError]] = FAILURES,
        circuit: Circuit = Circuit(),
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
        http: Any = "auto",
        timeouts: Timeouts | float | None = Timeouts(),
        retry: Retry | None = Retry(),
        headers: Headers | None = None,
        limits: Limits | None = None,
        plain_http: bool = False,
        trust_env: bool = True,
        around: AroundFunction | Sequence[AroundFunction] | None = None,
    ) -> None:
        super().__init__(AsyncChat, locals())

    @typing.overload
    async def ask(
        self,
        prompt: Parts | None = None,
        *,
        messages: Iterable[Message] | Message | None = None,
        output: type[T],
        **options: Unpack[OptionsBesideTools],
    ) -> Reply[T]: ...
    @typing.overload
    async def ask(
        self,
        prompt: Parts | None = None,
        *,
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
        messages: Iterable[Message] | Message | None = None,
        output: Any = None,
        **options: Unpack[RequestOptions],
    ) -> Reply: ...
    @checked_names("setting")
    async def ask(
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
    ) -> Reply:
        """Return the reply of the first model that answers. As `FallbackChat.ask`.

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
        asking = self._asking(_given(locals()))
        with asking:
            for chat in asking:
                try:
                    reply: Reply = await chat.ask(prompt, **asking.options)
                except WireError as error:
                    asking.failed(error)
                else:
                    reply = asking.told()(reply)
                    asking.answered()
                    return reply
        raise AssertionError  # `asking` raises in the end

    @typing.overload
    def stream(
        self,
        prompt: Parts | None = None,
        *,
        messages: Iterable[Message] | Message | None = None,
        output: type[T],
        **options: Unpack[OptionsBesideTools],
    ) -> AbstractAsyncContextManager[AsyncChatStream[T]]: ...
    @typing.overload
    def stream(
        self,
        prompt: Parts | None = None,
        *,
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
        messages: Iterable[Message] | Message | None = None,
        output: Any = None,
        **options: Unpack[RequestOptions],
    ) -> AbstractAsyncContextManager[AsyncChatStream]: ...
    @checked_names("setting")
    def stream(
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
    ) -> AbstractAsyncContextManager[AsyncChatStream]:
        """Stream the reply of the first model that begins to answer. As `FallbackChat.stream`.

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
        return self._streamed(self._asking(_given(locals())), prompt)

    @async_stream_block("async with chat.stream(...) as events:")
    async def _streamed(
        self, asking: Asking[AsyncChat], prompt: Parts | None
    ) -> AsyncIterator[AsyncChatStream]:
        async with contextlib.AsyncExitStack() as stack:
            yield await self._begun(stack, asking, prompt)

    async def _begun(
        self, stack: contextlib.AsyncExitStack, asking: Asking[AsyncChat], prompt: Parts | None
    ) -> AsyncChatStream:
        """Return the stream of the first model that begins to answer; `stack` closes it."""
        with asking:
            for chat in asking:
                try:
                    call = _noting(chat.stream_call(prompt, **asking.options), asking)
                    events = await stack.enter_async_context(
                        chat._streamed(call, asking.options["output"])
                    )
                except WireError as error:
                    asking.failed(error)
                else:
                    asking.answered()
                    return events
        raise AssertionError  # `asking` raises in the end

    async def aclose(self) -> None:
        """Close the chats that were made of names. Closing twice has no effect."""
        for chat in self._own:
            await chat.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for chat in self._own:
            await chat.__aexit__()


@typing.overload
def fallback(*chats: str | Chat) -> FallbackChat: ...
@typing.overload
def fallback(*chats: AsyncChat) -> AsyncFallbackChat: ...
def fallback(*chats: str | Chat | AsyncChat) -> FallbackChat | AsyncFallbackChat:
    """Build `FallbackChat(chats)`, or `AsyncFallbackChat(chats)` if each chat is an `AsyncChat`.

    >>> from wire.testing.emulator import EmulatorTransport
    >>> names = "gemini:gemini-3.8-flash", "anthropic:claude-sonnet-5"
    >>> chats = [Chat(name, api_key="fake-key", http=EmulatorTransport()) for name in names]
    >>> fallback(*chats)
    FallbackChat(gemini:gemini-3.8-flash,anthropic:claude-sonnet-5)
    """
    if any(isinstance(each, AsyncChat) for each in chats):
        return AsyncFallbackChat(chats)  # type: ignore[arg-type]
    return FallbackChat(chats)  # type: ignore[arg-type]
