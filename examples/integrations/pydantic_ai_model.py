"""Any provider of `wire` as a `Model` of pydantic-ai 2.

    from pydantic_ai import Agent
    agent = Agent(WireModel("gemini:gemini-3.8-flash"), tools=[...])

The message of each response is kept in `provider_details`, so a conversation that was saved as
pydantic-ai's JSON still goes back to the model with its thoughts and signatures.

Not mapped: native tools, native structured output (pydantic-ai uses an output tool instead), and
the settings in `WireModel.unsupported_settings`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pydantic_ai import RunContext, exceptions, messages
from pydantic_ai.exceptions import ModelAPIError, ModelHTTPError, UserError
from pydantic_ai.messages import ModelMessage, ModelResponse, ModelResponseStreamEvent
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from wire import (
    AsyncChat,
    Done,
    Media,
    Message,
    Reply,
    Restart,
    Text,
    TextDelta,
    Thought,
    ThoughtDelta,
    Timeouts,
    Tool,
    ToolCall,
    ToolCallDelta,
    ToolCallEnd,
    ToolCallStart,
    ToolResult,
    WireError,
    errors,
)
from wire.chat.chat import AsyncChatStream
from wire.sessions import deserialize_message, serialize_message

RECEIVED = "wire_message"
"""Key of `provider_details` with the message as it was received."""

REASONS: dict[str, messages.FinishReason] = {
    "end": "stop",
    "tool_calls": "tool_call",
    "length": "length",
    "filter": "content_filter",
    "error": "error",
}
CATEGORIES: list[tuple[type[WireError], Any]] = [
    (errors.QuotaError, exceptions.ModelQuotaExceededError),
    (errors.RateLimitError, exceptions.ModelRateLimitError),
    (errors.OverloadedError, exceptions.ModelOverloadedError),
    (errors.ServerError, exceptions.ModelServerError),
    (errors.AuthError, exceptions.ModelAuthenticationError),
    (errors.NotFoundError, exceptions.ModelNotFoundError),
    (errors.ContextLengthError, exceptions.ModelContextWindowExceededError),
    (errors.BadRequestError, exceptions.ModelRequestRejectedError),
    (errors.ClockError, exceptions.ModelTimeoutError),
    (errors.ConnectionLost, exceptions.ModelConnectionError),
]
"""Subclasses stand before their bases."""


class WireModel(Model[AsyncChat]):
    """A model of any provider: `WireModel("anthropic:claude-sonnet-5")`.

    The options are those of `wire.AsyncChat`.
    """

    unsupported_settings = frozenset(
        {
            "extra_body",
            "extra_headers",
            "frequency_penalty",
            "logit_bias",
            "parallel_tool_calls",
            "presence_penalty",
            "seed",
            "service_tier",
            "top_k",
        }
    )

    def __init__(
        self,
        model: str,
        *,
        http: Any = "auto",
        settings: ModelSettings | None = None,
        **options: Any,
    ) -> None:
        super().__init__(settings=settings)
        self.chat = AsyncChat(model, http=http, **options)

    @property
    def provider(self) -> None:
        return None

    @property
    def model_name(self) -> str:
        return self.chat.model

    @property
    def system(self) -> str:
        return self.chat.provider

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        model_settings, parameters = self.prepare_request(model_settings, model_request_parameters)
        with self._errors():
            reply = await self.chat.ask(**_request(messages, model_settings, parameters))
        return ModelResponse(
            parts=list(_response_parts(reply)),
            usage=_usage(reply),
            model_name=reply.model or self.model_name,
            provider_name=self.system,
            provider_response_id=reply.id or None,
            provider_details={RECEIVED: serialize_message(reply.message)},
            finish_reason=REASONS.get(reply.stop.reason),
        )

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
        run_context: RunContext[Any] | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        model_settings, parameters = self.prepare_request(model_settings, model_request_parameters)
        with self._errors():
            request = _request(messages, model_settings, parameters)
            async with self.chat.stream(**request) as events:
                yield WireResponse(parameters, self, events)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Raise errors of `wire` as those that pydantic-ai falls back on."""
        try:
            yield
        except errors.ConfigurationError as error:
            raise UserError(str(error)) from error
        except WireError as error:
            kind = next((kind for cls, kind in CATEGORIES if isinstance(error, cls)), None)
            if isinstance(error, errors.APIError) and error.status is not None:
                raise ModelHTTPError.for_category(
                    kind,
                    status_code=error.status,
                    model_name=self.model_name,
                    body=error.message,
                    provider_error_code=error.code,
                    retry_after=error.retry_after,
                ) from error
            raise (kind or ModelAPIError)(self.model_name, str(error)) from error


@dataclass
class WireResponse(StreamedResponse):
    """The events of a stream as those of pydantic-ai."""

    model: WireModel
    events: AsyncChatStream
    started: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def model_name(self) -> str:
        return self.model.model_name

    @property
    def provider_name(self) -> str:
        return self.model.system

    @property
    def provider_url(self) -> None:
        return None

    @property
    def timestamp(self) -> datetime:
        return self.started

    async def close_stream(self) -> None:
        """Nothing to do: leaving the block of `request_stream` closes the connection."""

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        with self.model._errors():
            async for event in self.events:
                for each in self._converted(event):
                    yield each

    def _converted(self, event: object) -> Iterator[ModelResponseStreamEvent]:
        parts = self._parts_manager
        match event:
            case TextDelta(text):
                yield from parts.handle_text_delta(vendor_part_id=None, content=text)
            case ThoughtDelta(text):
                yield from parts.handle_thinking_delta(vendor_part_id=None, content=text)
            case ToolCallStart(position, name, id):
                yield from parts.handle_tool_call_delta_events(
                    vendor_part_id=position, tool_name=name, tool_call_id=id or None
                )
            case ToolCallDelta(position, text):
                yield from parts.handle_tool_call_delta_events(vendor_part_id=position, args=text)
            case ToolCallEnd(position, call):  # the vendor may have sent the id last, or none
                yield from parts.handle_tool_call_delta_events(
                    vendor_part_id=position, tool_call_id=call.id
                )
            case Restart():
                raise ModelAPIError(self.model_name, "the host began its response anew")
            case Done(reply):
                self._usage = _usage(reply)
                self.finish_reason = REASONS.get(reply.stop.reason)
                self.provider_response_id = reply.id or None
                self.provider_details = {RECEIVED: serialize_message(reply.message)}


# --- from pydantic-ai to wire ---------------------------------------------------------------------


def _request(
    history: Sequence[ModelMessage],
    settings: ModelSettings | None,
    parameters: ModelRequestParameters,
) -> dict[str, Any]:
    """The arguments of `ask` and `stream`."""
    settings = settings or {}
    definitions = [*parameters.declared_function_tools, *parameters.output_tools]
    request: dict[str, Any] = {
        "messages": [message for each in history for message in _messages(each)],
        "system": "\n\n".join(part.content for part in parameters.instruction_parts or ()),
        "tools": [_tool(each) for each in definitions],
        "tool_choice": "required" if definitions and not parameters.allow_text_output else None,
        "max_tokens": settings.get("max_tokens"),
        "temperature": settings.get("temperature"),
        "top_p": settings.get("top_p"),
        "stop": settings.get("stop_sequences"),
    }
    timeout = settings.get("timeout")
    if isinstance(timeout, (int, float)):
        request["timeouts"] = Timeouts(connect=timeout, first_byte=timeout, idle=timeout)
    return request


def _tool(definition: ToolDefinition) -> Tool:
    return Tool(
        definition.name,
        definition.description or "",
        definition.parameters_json_schema,
        strict=definition.strict or False,
    )


def _messages(message: ModelMessage) -> Iterator[Message]:
    if isinstance(message, ModelResponse):
        yield from _assistant(message)
        return
    for part in message.parts:
        match part:
            case messages.SystemPromptPart():
                yield Message.system(part.content)
            case messages.UserPromptPart():
                yield Message.user(*_user_parts(part.content))
            case messages.ToolReturnPart():
                failed = part.outcome not in ("success", "retried")
                content = part.model_response_object(wrap_if_error=False)
                media = tuple(_media(file) for file in part.files)
                yield Message.tool_response(
                    ToolResult(part.tool_call_id, part.tool_name, content, failed, media)
                )
            case messages.RetryPromptPart(tool_name=None):
                yield Message.user(part.model_response())
            case messages.RetryPromptPart(tool_name=str(name)):
                result = ToolResult(part.tool_call_id, name, part.model_response(), error=True)
                yield Message.tool_response(result)
            case _:
                raise UserError(f"{type(part).__name__} cannot be sent by WireModel")


def _user_parts(content: str | Sequence[messages.UserContent]) -> Iterator[str | Media]:
    for item in [content] if isinstance(content, str) else content:
        match item:
            case str():
                yield item
            case messages.TextContent():
                yield item.content
            case messages.CachePoint():
                pass
            case _:
                yield _media(item)


def _media(item: Any) -> Media:
    if isinstance(item, messages.BinaryContent):
        return Media(data=item.data, media_type=item.media_type)
    if isinstance(item, messages.FileUrl):
        return Media(url=item.url, media_type=item.media_type)
    raise UserError(f"{type(item).__name__} cannot be sent by WireModel")


def _assistant(response: ModelResponse) -> Iterator[Message]:
    """The message as received, unless the response was edited or is another model's."""
    parts: list[Any] = []
    for part in response.parts:
        if isinstance(part, messages.TextPart) and part.content:
            parts.append(Text(part.content))
        elif isinstance(part, messages.ToolCallPart):
            arguments = part.args_as_dict()
            parts.append(ToolCall(id=part.tool_call_id, name=part.tool_name, arguments=arguments))
    built = Message.assistant(*parts)
    if received := (response.provider_details or {}).get(RECEIVED):
        message = deserialize_message(received)
        if _content(message) == _content(built):
            built = message
    if built.parts:
        yield built


def _content(message: Message) -> Any:
    return message.text, [(call.id, call.name, call.arguments) for call in message.tool_calls]


# --- from wire to pydantic-ai ---------------------------------------------------------------------


def _response_parts(reply: Reply) -> Iterator[messages.ModelResponsePart]:
    for part in reply.message.parts:
        match part:
            case Text(text) if text:
                yield messages.TextPart(text)
            case Thought(text) if text:
                yield messages.ThinkingPart(text)
            case ToolCall():
                arguments = part.text if part.arguments is None else part.arguments
                yield messages.ToolCallPart(part.name, arguments, part.id)


def _usage(reply: Reply) -> RequestUsage:
    usage = reply.usage
    if usage is None:
        return RequestUsage()
    return RequestUsage(
        input_tokens=usage.input,
        output_tokens=usage.output,
        cache_read_tokens=usage.cached,
        cache_write_tokens=usage.cache_written,
        details={"reasoning_tokens": usage.reasoning} if usage.reasoning else {},
    )
