"""The interface that agents ask models through, and every provider here behind it.

`ChatProvider` is structural: a class of your own with these two methods works wherever one is
wanted. The names are those of multi-provider agents in the field (`ToolSchema`, `FunctionCall`,
...); the things are those of `wire.neutral.messages` and `wire.neutral.request`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, Protocol, Self, cast, get_args, runtime_checkable

import msgspec

from wire.chat import AsyncChat, Settings
from wire.core import retry
from wire.core.decoders import decoder
from wire.core.memory import Beside
from wire.core.secret import Secret
from wire.errors import ConfigurationError, StreamIncomplete
from wire.neutral.messages import (
    Done,
    Event,
    Message,
    Reply,
    Stop,
    StopReason,
    Text,
    TextDelta,
    ThoughtDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    Usage,
)
from wire.neutral.request import Tool

ToolSchema = Tool
FunctionCall = ToolCall

_REPLY = "_reply"


class GenerationConfig(Beside, frozen=True):
    """How to answer, in one object in place of keywords."""

    system_prompt: str = ""
    max_tokens: int | None = None
    temperature: float | None = None


class LLMResponse(Beside, frozen=True, kw_only=True):
    """One answer of a model."""

    text: str = ""
    """What is to be read, pieces joined with nothing between them; thoughts are not in it."""
    function_calls: tuple[ToolCall, ...] = ()
    usage: Usage | None = None
    raw: Any = None
    """The body of the answer, as bytes."""
    finish_reason: str = ""
    """As `wire.neutral.messages.Stop` has it; empty where only text and calls are known."""

    @classmethod
    def of(cls, reply: Reply) -> Self:
        """The response that a reply is; it remembers the reply."""
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
        """The reply that this is: the one it was made of, else one of text and calls."""
        known: Reply | None = self.__dict__.get(_REPLY)
        if known is not None:
            return known
        calls = tuple(self.function_calls)
        reason = self.finish_reason or ("tool_calls" if calls else "end")
        stop = Stop(
            cast(StopReason, reason) if reason in get_args(StopReason) else "other",
            raw=self.finish_reason or None,
        )
        return Reply(
            Message("assistant", (*((Text(self.text),) if self.text else ()), *calls)),
            stop,
            self.usage,
        )

    def deltas(self) -> list[StreamDelta]:
        """The pieces that a stream of this answer could have come in."""
        deltas = [StreamDelta(text=self.text)] if self.text else []
        for index, call in enumerate(self.function_calls):
            text = call.text or msgspec.json.encode(call.arguments).decode()
            deltas += [
                StreamDelta(function_call_start=call.name, index=index, call_id=call.id),
                StreamDelta(function_call_delta=text, index=index, call_id=call.id),
                StreamDelta(function_call_end=call, index=index, call_id=call.id),
            ]
        return [
            *deltas,
            StreamDelta(finish_reason=self.finish_reason, usage=self.usage, response=self),
        ]


class StreamDelta(Beside, frozen=True, kw_only=True):
    """One piece of an answer on its way. What belongs to a call names it, by `call_id` and by
    `index`, its place among the calls.

    The last one has `finish_reason`, `usage` and the whole `response`.
    """

    text: str = ""
    thought: str = ""
    function_call_start: str = ""
    """The name of the function."""
    function_call_delta: str = ""
    """A piece of the arguments' JSON."""
    function_call_end: ToolCall | None = None
    index: int | None = None
    call_id: str = ""
    finish_reason: str = ""
    usage: Usage | None = None
    response: LLMResponse | None = None


@runtime_checkable
class ChatProvider(Protocol):
    """A model that can be asked, whole or in pieces; two methods, and no flag that turns one into
    the other.
    """

    async def generate(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool] | None = None,
        system_prompt: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> LLMResponse:
        """The whole answer."""
        ...

    def generate_stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool] | None = None,
        system_prompt: str | None = None,
        max_tokens: int | None = None,
        temperature: float | None = None,
    ) -> AsyncIterator[StreamDelta]:
        """The answer in pieces, as they come."""
        ...


class ChatModel:
    """An `AsyncChat` as a `ChatProvider`."""

    def __init__(self, chat: AsyncChat) -> None:
        self.chat = chat

    @property
    def provider(self) -> str:
        """The name of who is asked."""
        return self.chat.provider

    @property
    def model(self) -> str:
        """The model that is asked."""
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
        """The whole answer.

        Raises as `AsyncChat.ask`, and `ConfigurationError` if a config and keywords are given.
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
        """The answer in pieces, as they come; raises as `generate`.

        Closing the iterator closes the connection.
        """
        settings = _settings(tools, system_prompt, max_tokens, temperature, config)
        async with self.chat.stream(messages=messages, **settings) as events:
            deltas = Deltas()
            async for event in events:
                yield deltas.of(event)

    async def aclose(self) -> None:
        """Close the connections. Closing twice is fine."""
        await self.chat.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.chat.__aexit__()

    def __repr__(self) -> str:
        return f"ChatModel({self.provider}:{self.model})"


def _settings(
    tools: Sequence[Tool] | None,
    system_prompt: str | None,
    max_tokens: int | None,
    temperature: float | None,
    config: GenerationConfig | None,
) -> Settings:
    """The two styles as one; what is `None` is left to the chat."""
    keywords = {
        "system_prompt": system_prompt,
        "max_tokens": max_tokens,
        "temperature": temperature,
    }
    if config is not None:
        twice = next((name for name, value in keywords.items() if value is not None), None)
        if twice is not None:
            raise ConfigurationError(
                f"{twice}: give it in config or as a keyword, not both styles at once"
            )
        keywords = {
            name: getattr(config, name) or None
            if name == "system_prompt"
            else getattr(config, name)
            for name in keywords
        }
    given = {"tools": tools, **keywords}
    found = {
        name.removesuffix("_prompt"): value for name, value in given.items() if value is not None
    }
    return cast(Settings, found)


def create_provider(
    provider: str, api_key: str | Secret | None, model: str, api_base: str = "", **kwargs: Any
) -> ChatModel:
    """A model of any provider by its name, behind the one interface.

    >>> create_provider("DeepSeek", "fake-key", "deepseek-chat")
    ChatModel(deepseek:deepseek-chat)

    An explicit key comes before the environment's; an empty one means the environment's. `kwargs`
    are what `AsyncChat` takes, such as `search_grounding=True` or `http=`. Raises
    `ConfigurationError` for an unknown name without `api_base` (it lists the known ones), for an
    unknown option, and for a missing key, naming its variable.
    """
    if not isinstance(
        api_key, Secret | None
    ):  # hidden before anything can go wrong in a frame that has it
        api_key = Secret.unchecked(api_key) if api_key != "" else None
    if not isinstance(provider, str) or not provider.strip() or ":" in provider:
        raise ConfigurationError(f"provider: {provider!r} is no name")
    options = {
        "retry": retry.RESUME_AGENT,
        **({"base_url": api_base} if api_base else {}),
        **kwargs,
    }
    chat = AsyncChat(f"{provider.strip().lower()}:{model}", api_key=api_key, **options)
    chat.client.require_key()
    return ChatModel(chat)


# --- events and deltas ----------------------------------------------------------------------------


class Deltas:
    """Events of one reply as deltas."""

    def __init__(self) -> None:
        self._ids: dict[int, str] = {}

    def of(self, event: Event) -> StreamDelta:
        """The delta that says the same."""
        match event:
            case TextDelta(text):
                return StreamDelta(text=text)
            case ThoughtDelta(text):
                return StreamDelta(thought=text)
            case ToolCallStart(position, name, id):
                self._ids[position] = id
                return StreamDelta(function_call_start=name, index=position, call_id=id)
            case ToolCallDelta(position, text):
                return StreamDelta(
                    function_call_delta=text, index=position, call_id=self._ids.get(position, "")
                )
            case ToolCallEnd(position, call):
                return StreamDelta(function_call_end=call, index=position, call_id=call.id)
            case Done(reply=reply):
                return StreamDelta(
                    finish_reason=reply.stop.reason,
                    usage=reply.usage,
                    response=LLMResponse.of(reply),
                )


class Collected:
    """Deltas of one answer, whoever sent them; `response` is what they come to."""

    def __init__(self) -> None:
        self.begun = False
        """There was one."""
        self._texts: list[str] = []
        self._calls: dict[int, ToolCall] = {}
        self._fragments: dict[int, tuple[str, str, list[str]]] = {}
        self._finish = ""
        self._usage: Usage | None = None
        self._response: LLMResponse | None = None

    def add(self, delta: StreamDelta) -> None:
        """Take the next one."""
        self.begun = True
        self._texts.append(delta.text)
        index = len(self._calls) if delta.index is None else delta.index
        if delta.function_call_start:
            self._fragments[index] = (delta.function_call_start, delta.call_id, [])
        if delta.function_call_delta:
            self._fragments.setdefault(index, ("", delta.call_id, []))[2].append(
                delta.function_call_delta
            )
        if delta.function_call_end is not None:
            self._calls[index] = delta.function_call_end
        self._finish = delta.finish_reason or self._finish
        self._usage = delta.usage or self._usage
        self._response = delta.response or self._response

    @property
    def response(self) -> LLMResponse:
        """The answer: as its sender has put it together, else put together of the pieces.

        Raises `StreamIncomplete` for a call that began and did not end.
        """
        if self._response is not None:
            return self._response
        for index, (name, id, pieces) in self._fragments.items():
            if index not in self._calls:
                self._calls[index] = _ended(name, id, "".join(pieces))
        calls = tuple(call for _, call in sorted(self._calls.items()))
        return LLMResponse(
            text="".join(self._texts),
            function_calls=calls,
            usage=self._usage,
            finish_reason=self._finish,
        )


def _ended(name: str, id: str, text: str) -> ToolCall:
    """A call whose sender never said that it is whole."""
    try:
        arguments = decoder(dict[str, Any]).decode(text or "{}")
    except msgspec.DecodeError:
        raise StreamIncomplete(
            f"the stream ended in the middle of the call of {name}: {text[:200]}", retryable=False
        ) from None
    call = ToolCall(name=name, arguments=arguments, text=text)
    return msgspec.structs.replace(call, id=id) if id else call


async def collect(deltas: AsyncIterator[StreamDelta]) -> LLMResponse:
    """The answer that a stream of deltas comes to: equal to what `generate` gives for the same
    content. Raises as `Collected.response`.
    """
    collected = Collected()
    async for delta in deltas:
        collected.add(delta)
    return collected.response
