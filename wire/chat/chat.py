"""`Chat` for threads, and `AsyncChat` for asyncio and trio: a client and a model of any provider.

A chat builds a neutral request, lets the provider's wire render it as a call, and sends the call
with a client. A chat keeps no conversation: pass the list of messages to each request.
"""

from __future__ import annotations

import os
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack

from wire.chat.state import AsyncTalks, OptionsBesideTools, RequestOptions, Talks, seal_chat_options
from wire.chat.stream import AsyncChatStream as AsyncChatStream
from wire.chat.stream import ChatStream as ChatStream
from wire.chat.stream import async_stream_events, stream_events
from wire.core.arguments import checked_arguments, checked_names
from wire.core.call import (
    USE_CLIENT_DEFAULT,
    ClientDefault,
    StreamCall,
    Timeouts,
)
from wire.core.limits import Limits
from wire.core.retry import Retry
from wire.core.secret import Headers, Secret, sealed
from wire.http.target import Token
from wire.neutral.compaction import Compaction
from wire.neutral.messages import Event, Media, Message, Parts, Reply
from wire.neutral.request import ServerTool, TokenCount, Tool

if TYPE_CHECKING:
    from wire.around.seam import AroundFunction
    from wire.auth.credential import Credential
    from wire.chat.batches import AsyncBatches, Batches
    from wire.http.aio import AsyncClient
    from wire.http.client import Client
    from wire.neutral.data_source import Readable

T = TypeVar("T")


# --- chats ----------------------------------------------------------------------------------------


class Chat(Talks):
    """Sends requests to one model, for threads.

    >>> chat = Chat("gemini:gemini-3.8-flash", api_key="fake-key", system="Be brief.")
    >>> import json
    >>> json.loads(chat.client.preview(chat.call("Hi")).body)["systemInstruction"]
    {'parts': [{'text': 'Be brief.'}]}
    >>> chat.close()

    Without `client`, the chat creates a client from the options of a client and closes it at the
    end. The settings apply to all requests. Raises `ConfigurationError` that names the option.

    Args:
        model: `provider[@region]:model`, such as `gemini:gemini-3.8-flash`. With `client`, the
            model alone is enough.
        client: The client that sends the requests. It is not closed with the chat. By default, a
            new one.
        http: A transport or a client of httpx or httpx2, or `"auto"` for connections of its own. It
            is closed with this chat.
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
        api_key: Replaces the provider's environment variable, such as `OPENAI_API_KEY`.
        base_url: Replaces the provider's environment variable (`OPENAI_BASE_URL`), which replaces
            the vendor's host. Scheme, host and the path before the endpoint's
            (`/chat/completions`). The endpoint's path is removed from its end, and so is the
            version for Gemini and Anthropic; `describe()` tells the result.
        timeouts: Seconds. A number limits each single wait: for a connection, for the response
            headers, and between two events or reads; the whole call with its retries still ends
            after 900 s. `None`: no limit at all. `Timeouts(...)` sets each limit; its defaults are
            `connect` 10 s, `first_byte` 300 s, `idle` 120 s, `total` 900 s.
        retry: When to send a failed request again. By default 3 attempts, with waits of up to 1 s,
            then 2 s, or as long as the server asks for, up to 60 s. `None`: one attempt only.
        headers: Further headers of each request. Values that look like keys are shown nowhere.
        limits: Largest sizes of what is received. `None`: the defaults, such as 256 MiB for a body.
        version: Version of the API, if the path or a header contains one. By default, that of the
            provider.
        project: Project of Google Cloud, such as for `gemini@vertex`; replaces
            `GOOGLE_CLOUD_PROJECT`.
        location: Region of Google Cloud, such as for `gemini@vertex`: `europe-west4`, `us`, `eu` or
            `global`; replaces `GOOGLE_CLOUD_LOCATION`.
        region: Region of AWS, such as for `bedrock@invoke`: `us-east-1`; replaces `AWS_REGION`.
        resource: Name of a resource of Azure, such as for `azure`: the first label of its host.
        workspace: Id of a workspace at Anthropic, for `anthropic@aws` and `anthropic@google`.
        account: Id of an account, such as for `cloudflare`.
        token: Function that returns a bearer token, in place of `api_key`. Called before each
            attempt. An `AsyncClient` also accepts an async function.
        credentials: What heads or signs each attempt in place of a key: a value of `wire.auth`,
            such as `SigV4`, or the name of a source, such as `aws` or `aws:profile`. By default,
            the hosts of clouds look where the clients of their vendors do, if there is no key.
        dialect: The `Dialect` of the host; replaces that of its row.
        plain_http: True permits a key over unencrypted http to a host that is not loopback, such as
            one in your own network. Everyone on the way can read the key and the conversation.
        trust_env: False ignores the proxies of the environment, `SSL_CERT_FILE`, `SSL_CERT_DIR` and
            `SSLKEYLOGFILE`. A transport given as `http=` has a setting of its own.
        idempotency_header: Name of a header that carries an id: a new one for each call, the same
            on all its attempts. A gateway that knows the header, such as `Idempotency-Key`, does
            not run a repeated request twice.
        connection: `http`, or `socket`: requests of OpenAI's Responses follow each other on a
            WebSocket, each with only what is new in it; all others go over HTTP. It needs the extra
            `[live]`.
        around: A function, or several, that see each call and may change, answer, delay or refuse
            it; see `wire.around`.
    """

    @checked_names(seal=seal_chat_options)
    def __init__(
        self,
        model: str,
        *,
        client: Client | None = None,
        http: Any = "auto",
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
        api_key: str | Secret | None = None,
        base_url: str | None = None,
        timeouts: Timeouts | float | None = Timeouts(),
        retry: Retry | None = Retry(),
        headers: Headers | None = None,
        limits: Limits | None = None,
        version: str | None = None,
        project: str | None = None,
        location: str | None = None,
        region: str | None = None,
        resource: str | None = None,
        workspace: str | None = None,
        account: str | None = None,
        token: Token | None = None,
        credentials: Credential | str | None = None,
        dialect: Any = None,
        plain_http: bool = False,
        trust_env: bool = True,
        idempotency_header: str | None = None,
        connection: str = "http",
        around: AroundFunction | Sequence[AroundFunction] | None = None,
    ) -> None:
        model = sealed(model)  # before anything can raise
        from wire.http.client import Client  # `AsyncChat` needs no client for threads

        super().__init__(locals(), Client)

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
        """Send a prompt, or the conversation in `messages`, and return the complete reply.

        With `output`, the model replies in JSON, and `reply.output` is its value. `output` is a
        type that msgspec or pydantic knows, or a JSON Schema. `timeouts` and `retry` replace those
        of the client for this request.

        Raises `RuleError` or `HistoryError` for a request that cannot be sent, `BlockedError` if
        the provider's filters removed the answer, `OutputError` if the answer does not match
        `output` or is a refusal, and what the client raises.

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
        call = self._rendered("call", locals())
        if output is None:
            reply: Reply[Any] = self.client.send(call)
        else:
            from wire.neutral.output_calls import asked

            reply = self.client.run(asked(call))
        return reply

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
        """Stream the events of the reply as they arrive: `with chat.stream("Hi") as events:`.

        The last event is `Done`, which holds the complete reply. Raises as `ask`.

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
        return self._streamed(self._rendered("stream_call", locals()), output)

    def _streamed(
        self, call: StreamCall[Event, Reply], output: Any
    ) -> AbstractContextManager[ChatStream]:
        """Return the stream of a call that `stream_call` made with `output`."""
        if output is None:
            return stream_events(self.client.stream(call))
        from wire.chat.output import output_events

        return output_events(self.client, call)

    @checked_names("setting")
    def count(
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
    ) -> TokenCount:
        """Count the tokens of the request that `ask` sends with the same arguments.

        >>> from wire.testing.emulator import Emulator, EmulatorTransport
        >>> http = EmulatorTransport(Emulator())
        >>> with Chat("gemini:gemini-3.8-flash", api_key="fake-key", http=http) as chat:
        ...     chat.count("How high is the tide?")
        TokenCount(total=6, exact=True, source='countTokens')

        The vendor counts, where it has an endpoint for that: Gemini, Messages, Responses. Other
        hosts get no request, and the count is an estimate.

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
        return self.client.run(self._counting(locals()))

    @property
    def batches(self) -> Batches:
        """Batches of this model: many requests in one job, at a lower price.

        >>> chat = Chat("openai:gpt-5.4", api_key="fake-key")
        >>> chat.batches
        Batches(openai@responses:gpt-5.4)
        >>> chat.close()
        """
        from wire.chat.batches import Batches  # few chats have one

        return Batches(self)

    @checked_arguments()
    @checked_names()
    def upload(
        self,
        data: str | os.PathLike[str] | bytes | Readable,
        *,
        media_type: str = "",
        name: str = "",
        size: int | None = None,
    ) -> Media:
        """Upload a file, and return media that refer to it, for messages to models of this vendor.

        `data` is a path, bytes, or a binary file that the caller opens and closes; it is read in
        pieces. A path gives the name and the media type. A file that cannot seek needs `size`, in
        bytes. Gemini's files are ready when this returns.

        Raises `RuleError` for a file that cannot be read, of an unknown type, or of a type that the
        model does not take, before anything is sent.

        >>> from wire.testing.emulator import EmulatorTransport
        >>> with Chat("anthropic:claude-sonnet-5", api_key="k", http=EmulatorTransport()) as chat:
        ...     report = chat.upload(b"%PDF-1.7", name="tides.pdf")
        ...     reply = chat.ask(["What does it say?", report])
        >>> report.media_type
        'application/pdf'
        """
        from wire.chat.batches import upload_flow

        flow = upload_flow(self, data, media_type=media_type, name=name, size=size)
        return self.client.run(flow)

    def delete_file(self, file: str | Media) -> None:
        """Delete a file that `upload` returned, by its media or its `url`."""
        from wire.chat.batches import delete_flow

        self.client.run(delete_flow(self, file))

    def close(self) -> None:
        """Close the client if the chat created it. Closing twice has no effect."""
        if self._own:
            self.client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncChat(AsyncTalks):
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

    Args:
        model: `provider[@region]:model`, such as `gemini:gemini-3.8-flash`. With `client`, the
            model alone is enough.
        client: The client that sends the requests. It is not closed with the chat. By default, a
            new one.
        http: A transport or a client of httpx or httpx2, or `"auto"` for connections of its own. It
            is closed with this chat.
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
        api_key: Replaces the provider's environment variable, such as `OPENAI_API_KEY`.
        base_url: Replaces the provider's environment variable (`OPENAI_BASE_URL`), which replaces
            the vendor's host. Scheme, host and the path before the endpoint's
            (`/chat/completions`). The endpoint's path is removed from its end, and so is the
            version for Gemini and Anthropic; `describe()` tells the result.
        timeouts: Seconds. A number limits each single wait: for a connection, for the response
            headers, and between two events or reads; the whole call with its retries still ends
            after 900 s. `None`: no limit at all. `Timeouts(...)` sets each limit; its defaults are
            `connect` 10 s, `first_byte` 300 s, `idle` 120 s, `total` 900 s.
        retry: When to send a failed request again. By default 3 attempts, with waits of up to 1 s,
            then 2 s, or as long as the server asks for, up to 60 s. `None`: one attempt only.
        headers: Further headers of each request. Values that look like keys are shown nowhere.
        limits: Largest sizes of what is received. `None`: the defaults, such as 256 MiB for a body.
        version: Version of the API, if the path or a header contains one. By default, that of the
            provider.
        project: Project of Google Cloud, such as for `gemini@vertex`; replaces
            `GOOGLE_CLOUD_PROJECT`.
        location: Region of Google Cloud, such as for `gemini@vertex`: `europe-west4`, `us`, `eu` or
            `global`; replaces `GOOGLE_CLOUD_LOCATION`.
        region: Region of AWS, such as for `bedrock@invoke`: `us-east-1`; replaces `AWS_REGION`.
        resource: Name of a resource of Azure, such as for `azure`: the first label of its host.
        workspace: Id of a workspace at Anthropic, for `anthropic@aws` and `anthropic@google`.
        account: Id of an account, such as for `cloudflare`.
        token: Function that returns a bearer token, in place of `api_key`. Called before each
            attempt. An `AsyncClient` also accepts an async function.
        credentials: What heads or signs each attempt in place of a key: a value of `wire.auth`,
            such as `SigV4`, or the name of a source, such as `aws` or `aws:profile`. By default,
            the hosts of clouds look where the clients of their vendors do, if there is no key.
        dialect: The `Dialect` of the host; replaces that of its row.
        plain_http: True permits a key over unencrypted http to a host that is not loopback, such as
            one in your own network. Everyone on the way can read the key and the conversation.
        trust_env: False ignores the proxies of the environment, `SSL_CERT_FILE`, `SSL_CERT_DIR` and
            `SSLKEYLOGFILE`. A transport given as `http=` has a setting of its own.
        idempotency_header: Name of a header that carries an id: a new one for each call, the same
            on all its attempts. A gateway that knows the header, such as `Idempotency-Key`, does
            not run a repeated request twice.
        connection: `http`, or `socket`: requests of OpenAI's Responses follow each other on a
            WebSocket, each with only what is new in it; all others go over HTTP. It needs the extra
            `[live]`.
        around: A function, or several, that see each call and may change, answer, delay or refuse
            it; see `wire.around`.
    """

    @checked_names(seal=seal_chat_options)
    def __init__(
        self,
        model: str,
        *,
        client: AsyncClient | None = None,
        http: Any = "auto",
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
        api_key: str | Secret | None = None,
        base_url: str | None = None,
        timeouts: Timeouts | float | None = Timeouts(),
        retry: Retry | None = Retry(),
        headers: Headers | None = None,
        limits: Limits | None = None,
        version: str | None = None,
        project: str | None = None,
        location: str | None = None,
        region: str | None = None,
        resource: str | None = None,
        workspace: str | None = None,
        account: str | None = None,
        token: Token | None = None,
        credentials: Credential | str | None = None,
        dialect: Any = None,
        plain_http: bool = False,
        trust_env: bool = True,
        idempotency_header: str | None = None,
        connection: str = "http",
        around: AroundFunction | Sequence[AroundFunction] | None = None,
    ) -> None:
        model = sealed(model)  # before anything can raise
        from wire.http.aio import AsyncClient  # `Chat` needs neither asyncio nor anyio

        super().__init__(locals(), AsyncClient)

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
        """Send a prompt, or the conversation in `messages`, and return the complete reply.

        As `Chat.ask`.

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
        call = self._rendered("call", locals())
        if output is None:
            reply: Reply[Any] = await self.client.send(call)
        else:
            from wire.neutral.output_calls import asked

            reply = await self.client.run(asked(call))
        return reply

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
        """Stream the events of the reply as they arrive. As `Chat.stream`.

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
        return self._streamed(self._rendered("stream_call", locals()), output)

    def _streamed(
        self, call: StreamCall[Event, Reply], output: Any
    ) -> AbstractAsyncContextManager[AsyncChatStream]:
        """Return the stream of a call that `stream_call` made with `output`."""
        if output is None:
            return async_stream_events(self.client.stream(call))
        from wire.chat.output import async_output_events

        return async_output_events(self.client, call)

    @checked_names("setting")
    async def count(
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
    ) -> TokenCount:
        """Count the tokens of the request that `ask` sends. As `Chat.count`.

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
        return await self.client.run(self._counting(locals()))

    @property
    def batches(self) -> AsyncBatches:
        """Batches of this model. As `Chat.batches`."""
        from wire.chat.batches import AsyncBatches

        return AsyncBatches(self)

    @checked_arguments()
    @checked_names()
    async def upload(
        self,
        data: str | os.PathLike[str] | bytes | Readable,
        *,
        media_type: str = "",
        name: str = "",
        size: int | None = None,
    ) -> Media:
        """Upload a file, and return media that refer to it. As `Chat.upload`."""
        from wire.chat.batches import upload_flow

        flow = upload_flow(self, data, media_type=media_type, name=name, size=size)
        return await self.client.run(flow)

    async def delete_file(self, file: str | Media) -> None:
        """Delete a file that `upload` returned. As `Chat.delete_file`."""
        from wire.chat.batches import delete_flow

        await self.client.run(delete_flow(self, file))

    async def aclose(self) -> None:
        """Close the client if the chat created it. Closing twice has no effect."""
        if self._own:
            await self.client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._own:
            await self.client.__aexit__()
