"""Any provider of `wire` as a chat model of LangChain 1.

    model = ChatWire(model="gemini:gemini-3.8-flash")
    model.bind_tools([get_weather]).invoke("What is the weather in Oslo?")

The message of each response is kept in `additional_kwargs`, so it goes back to the model with its
thoughts and signatures, also from a saved conversation. Errors are those of `wire.errors`.
"""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, TypeVar, cast

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LangSmithParams, LanguageModelInput
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import ToolCallChunk, invalid_tool_call, tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import ConfigDict, Field, SecretStr

from wire import (
    AsyncChat,
    Chat,
    Done,
    Media,
    Message,
    Reply,
    Restart,
    Retry,
    TextDelta,
    ThoughtDelta,
    Timeouts,
    Tool,
    ToolCall,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    ToolResult,
    WireError,
)
from wire.sessions import deserialize_message, serialize_message

AnyChat = TypeVar("AnyChat", Chat, AsyncChat)

RECEIVED = "wire_message"
"""Key of `additional_kwargs` with the message as it was received."""


class ChatWire(BaseChatModel):
    """A chat model of any provider: `ChatWire(model="anthropic:claude-sonnet-5")`."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    model: str
    """`provider[@region]:model`."""
    api_key: SecretStr | None = None
    """Replaces the provider's environment variable."""
    base_url: str | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    effort: str | None = None
    stop: list[str] | None = None
    timeout: float | None = None
    """Seconds for a call with all its attempts; `None`: 900."""
    max_retries: int = 2
    http: Any = Field(default="auto", exclude=True, repr=False)
    """For `Chat`: "auto", or a transport or client of httpx."""
    async_http: Any = Field(default="auto", exclude=True, repr=False)
    """The same for `AsyncChat`."""

    @cached_property
    def chat(self) -> Chat:
        """The chat of `invoke` and `stream`."""
        return Chat(self.model, http=self.http, **self._options)

    @cached_property
    def async_chat(self) -> AsyncChat:
        """The chat of `ainvoke` and `astream`."""
        return AsyncChat(self.model, http=self.async_http, **self._options)

    @property
    def _options(self) -> dict[str, Any]:
        return {
            "api_key": self.api_key and self.api_key.get_secret_value(),
            "base_url": self.base_url,
            "timeouts": Timeouts() if self.timeout is None else Timeouts(total=self.timeout),
            "retry": Retry(attempts=self.max_retries + 1),
        }

    @property
    def _llm_type(self) -> str:
        return "wire"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model": self.model, "temperature": self.temperature, "max_tokens": self.max_tokens}

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        provider, _, model = self.model.partition(":")
        params = super()._get_ls_params(stop=stop, **kwargs)
        params.update(ls_provider=provider, ls_model_name=kwargs.get("model", model))
        return params

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        *,
        tool_choice: str | dict[str, Any] | bool | None = None,
        **kwargs: Any,
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Let the model call tools.

        `tool_choice`: "auto", "none", "any", or the name of the tool that must be called.
        """
        definitions = [convert_to_openai_tool(each) for each in tools]
        return self.bind(tools=definitions, tool_choice=tool_choice, **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        chat = _of_model(self.chat, kwargs.pop("model", None))
        return _result(chat.ask(**self._request(messages, stop, **kwargs)))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        chat = _of_model(self.async_chat, kwargs.pop("model", None))
        return _result(await chat.ask(**self._request(messages, stop, **kwargs)))

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        chat = _of_model(self.chat, kwargs.pop("model", None))
        with chat.stream(**self._request(messages, stop, **kwargs)) as events:
            for event in events:
                if (chunk := _chunk(event)) is not None:
                    if run_manager:
                        run_manager.on_llm_new_token(chunk.text, chunk=chunk)
                    yield chunk

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        chat = _of_model(self.async_chat, kwargs.pop("model", None))
        async with chat.stream(**self._request(messages, stop, **kwargs)) as events:
            async for event in events:
                if (chunk := _chunk(event)) is not None:
                    if run_manager:
                        await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
                    yield chunk

    def _request(
        self,
        messages: Sequence[BaseMessage],
        stop: list[str] | None,
        *,
        tools: Sequence[dict[str, Any]] = (),
        tool_choice: str | dict[str, Any] | bool | None = None,
        **settings: Any,
    ) -> dict[str, Any]:
        """The arguments of `ask` and `stream`; `settings` are further ones of theirs."""
        return {
            "messages": [_message(each) for each in messages],
            "tools": [_tool(each["function"]) for each in tools],
            "tool_choice": _choice(tool_choice),
            "stop": (stop if stop is not None else self.stop) or None,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "effort": self.effort,
            **settings,
        }


# --- from LangChain to wire -----------------------------------------------------------------------


def _of_model(chat: AnyChat, model: str | None) -> AnyChat:
    """The chat of another model of the same provider, on the same connections."""
    return chat if model is None else cast(AnyChat, type(chat)(model, client=chat.client))


def _tool(function: dict[str, Any]) -> Tool:
    return Tool(
        function["name"],
        function.get("description", ""),
        function.get("parameters") or {"type": "object", "properties": {}},
        strict=function.get("strict") or False,
    )


def _choice(choice: str | dict[str, Any] | bool | None) -> str | tuple[str, ...] | None:
    if isinstance(choice, dict):
        return (choice["function"]["name"],)
    if choice in ("any", "required", True):
        return "required"
    if not choice or choice in ("auto", "none"):
        return choice or None
    return (choice,)


def _message(message: BaseMessage) -> Message:
    match message:
        case SystemMessage():
            return Message.system(*_parts(message))
        case HumanMessage():
            return Message.user(*_parts(message), name=message.name or "")
        case AIMessage():
            return _assistant(message)
        case ToolMessage():
            parts = _parts(message)
            media = tuple(part for part in parts if isinstance(part, Media))
            content = "".join(part for part in parts if isinstance(part, str))
            failed = message.status == "error"
            return Message.tool_response(
                ToolResult(message.tool_call_id, message.name or "", content, failed, media)
            )
    raise TypeError(f"{type(message).__name__} cannot be sent by ChatWire")


def _parts(message: BaseMessage) -> list[str | Media]:
    parts: list[str | Media] = []
    for block in message.content_blocks:
        if block["type"] == "text":
            parts.append(block["text"])
        elif block["type"] in ("image", "audio", "video", "file"):
            data, url = block.get("base64"), block.get("url") or block.get("file_id")
            data = base64.b64decode(data) if data else None
            kind = block.get("mime_type", "")
            parts.append(Media(data=data, url=None if data else url, media_type=kind))
        elif not isinstance(message, AIMessage):
            raise TypeError(f"a block of the type {block['type']} cannot be sent by ChatWire")
    return parts


def _assistant(message: AIMessage) -> Message:
    """The message as received, unless it was edited or is another model's."""
    calls = [
        ToolCall(id=call["id"] or "", name=call["name"], arguments=call["args"])
        for call in message.tool_calls
    ]
    built = Message.assistant(*filter(None, _parts(message)), calls)
    if received := message.additional_kwargs.get(RECEIVED):
        original = deserialize_message(received)
        if _content(original) == _content(built):
            return original
    return built


def _content(message: Message) -> Any:
    return message.text, [(call.id, call.name, call.arguments) for call in message.tool_calls]


# --- from wire to LangChain -----------------------------------------------------------------------


def _result(reply: Reply) -> ChatResult:
    calls = [call for call in reply.tool_calls if call.arguments is not None]
    message = AIMessage(
        content=reply.text,
        tool_calls=[{"name": call.name, "args": call.arguments, "id": call.id} for call in calls],
        invalid_tool_calls=[
            invalid_tool_call(name=call.name, args=call.text, id=call.id, error="no JSON object")
            for call in reply.tool_calls
            if call.arguments is None
        ],
        additional_kwargs=_kept(reply, thoughts=True),
        **_metadata(reply),
    )
    return ChatResult(generations=[ChatGeneration(message=message)])


def _chunk(event: object) -> ChatGenerationChunk | None:
    match event:
        case TextDelta(text):
            message = AIMessageChunk(content=text)
        case ThoughtDelta(text):
            message = AIMessageChunk(content="", additional_kwargs={"reasoning_content": text})
        case ToolCallStart(position, name, id):
            message = _call_chunk(
                tool_call_chunk(name=name, args="", id=id or None, index=position)
            )
        case ToolCallDelta(position, text):
            message = _call_chunk(tool_call_chunk(args=text, index=position))
        case ToolCallEnd(position, call):  # the vendor may have sent the id last, or none
            message = _call_chunk(tool_call_chunk(args="", id=call.id, index=position))
        case Restart():
            raise WireError("the host began its response anew")
        case Done(reply):
            message = AIMessageChunk(
                content="",
                additional_kwargs=_kept(reply),
                chunk_position="last",
                **_metadata(reply),
            )
        case _:
            return None
    return ChatGenerationChunk(message=message)


def _call_chunk(chunk: ToolCallChunk) -> AIMessageChunk:
    return AIMessageChunk(content="", tool_call_chunks=[chunk])


def _kept(reply: Reply, *, thoughts: bool = False) -> dict[str, Any]:
    kept: dict[str, Any] = {RECEIVED: serialize_message(reply.message)}
    if thoughts and reply.thought:
        kept["reasoning_content"] = reply.thought
    return kept


def _metadata(reply: Reply) -> dict[str, Any]:
    usage = reply.usage
    return {
        "response_metadata": {"model_name": reply.model, "finish_reason": reply.stop.reason},
        "usage_metadata": usage
        and UsageMetadata(
            input_tokens=usage.input,
            output_tokens=usage.output,
            total_tokens=usage.input + usage.output,
            input_token_details={"cache_read": usage.cached, "cache_creation": usage.cache_written},
            output_token_details={"reasoning": usage.reasoning},
        ),
    }
