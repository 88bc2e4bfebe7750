"""Spans and metrics of calls for OpenTelemetry, with the names of its GenAI conventions.

`around=tracing()` on a client or a chat makes one span for each call. It needs the package
`opentelemetry-api`, which `pip install wire-llm[otel]` installs, and loads it in `tracing()`.

Texts of a prompt or an answer are in no attribute unless `content=True`, and neither are messages
of errors, which may quote them (R-33). The key of a call is not in the `Outgoing` that this module
reads. A key with the prefix of a vendor that a prompt or a server quotes becomes `***` (R-28).
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from wire.around import (
    Around,
    AroundFunction,
    AttemptFailed,
    AttemptStarted,
    CallEnded,
    CallFailed,
    FirstEvent,
    HeadReceived,
    Moment,
    Outgoing,
    StreamLeft,
)
from wire.core.arguments import checked_arguments
from wire.core.credentials import without_known
from wire.core.secret import quoted, type_name
from wire.core.version import VERSION
from wire.errors import ConfigurationError, WireError
from wire.neutral.messages import Media, Part, Reply, Text, Thought, ToolCall, ToolResult, Usage

if TYPE_CHECKING:
    from opentelemetry.metrics import Histogram
    from opentelemetry.trace import Span, Tracer

__all__ = ["CONVENTIONS", "tracing"]


class Names(msgspec.Struct, frozen=True, kw_only=True):
    """Attribute names that differ between versions of the conventions."""

    provider: str
    prompt: str
    answer: str
    cached: str = ""
    """Empty here and below: the version has no such attribute."""
    cache_written: str = ""
    reasoning: str = ""
    stream: str = ""
    first_chunk: str = ""
    providers: Mapping[str, str]
    """Name of a provider here, without its region, to the name in the conventions."""


_PROVIDERS = {
    "azure": "azure.ai.openai",
    "chatgpt": "openai",
    "gemini": "gcp.gemini",
    "gemini@vertex": "gcp.vertex_ai",
    "mistral": "mistral_ai",
    "xai": "x_ai",
}

CONVENTIONS: Mapping[str, Names] = {
    "1.41": Names(
        provider="gen_ai.provider.name",
        prompt="wire.request.body",
        answer="gen_ai.output.messages",
        cached="gen_ai.usage.cache_read.input_tokens",
        cache_written="gen_ai.usage.cache_creation.input_tokens",
        reasoning="gen_ai.usage.reasoning.output_tokens",
        stream="gen_ai.request.stream",
        first_chunk="gen_ai.response.time_to_first_chunk",
        providers=_PROVIDERS,
    ),
    "1.36": Names(
        provider="gen_ai.system",
        prompt="gen_ai.prompt",
        answer="gen_ai.completion",
        providers={**_PROVIDERS, "xai": "xai"},
    ),
}
"""Version of the semantic conventions to its names: the last one that was published before they
moved to a repository of their own, and the last one with `gen_ai.system`.

Source: open-telemetry/semantic-conventions, docs/gen-ai, v1.41.0 and v1.36.0; read 2026-11-23.
"""

_OPERATIONS = {
    "batchEmbedContents": "embeddings",
    "completions": "chat",
    "embedContent": "embeddings",
    "embeddings": "embeddings",
    "generateContent": "generate_content",
    "messages": "chat",
    "rawPredict": "chat",
    "responses": "chat",
    "streamGenerateContent": "generate_content",
    "streamRawPredict": "chat",
}
"""Last word of the path of a POST to the name of the operation in the conventions."""

_SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_TOKENS = tuple(4**power for power in range(14))
"""Bounds of the buckets that the conventions ask for."""

_ENDS = (CallEnded, CallFailed, StreamLeft)
_UNKNOWN_ERROR = "_OTHER"
"""The value that OpenTelemetry reserves for an error that is not known."""


@checked_arguments(ConfigurationError)
def tracing(
    *,
    content: bool = False,
    conventions: str = "1.41",
    tracer_provider: Any = None,
    meter_provider: Any = None,
) -> AroundFunction:
    """A function for `around=` that makes a span and metrics of each call.

    >>> from wire import Chat
    >>> from wire.testing.emulator import Emulator, EmulatorTransport
    >>> http = EmulatorTransport(Emulator([{"say": "Hello."}]))
    >>> with Chat("gemini:gemini-3.8-flash", api_key="fake", http=http, around=tracing()) as chat:
    ...     chat.ask("Hi").text
    'Hello.'

    The parent of the span is the current span of the caller. Without an SDK of OpenTelemetry that
    the program has set up, nothing is recorded.

    Raises `ConfigurationError` that names the argument, and if `opentelemetry-api` is missing.

    Args:
        content: Whether attributes may have the prompt, the answer and the messages of errors.
        conventions: Version of the semantic conventions: `1.41`, or `1.36` for backends that read
            `gen_ai.system`.
        tracer_provider: Makes the spans. By default, the one of the program.
        meter_provider: Makes the metrics. By default, the one of the program.
    """
    names = CONVENTIONS.get(conventions)
    if names is None:
        known = " or ".join(CONVENTIONS)
        raise ConfigurationError(f"conventions: expected {known}, not {quoted(conventions)}")
    for argument, provider, method in (
        ("tracer_provider", tracer_provider, "get_tracer"),
        ("meter_provider", meter_provider, "get_meter"),
    ):
        if provider is not None and not callable(getattr(provider, method, None)):
            raise ConfigurationError(
                f"{argument}: expected an object with {method}, not {type_name(provider)}"
            )
    try:
        from opentelemetry import metrics, trace
    except ImportError:
        raise ConfigurationError(
            "tracing needs opentelemetry-api: pip install 'wire-llm[otel]'"
        ) from None
    schema = f"https://opentelemetry.io/schemas/{conventions}.0"
    tracer = trace.get_tracer("wire", VERSION, tracer_provider, schema)
    meter = metrics.get_meter("wire", VERSION, meter_provider, schema)
    seconds = meter.create_histogram(
        "gen_ai.client.operation.duration",
        unit="s",
        description="Duration of a call with all its attempts.",
        explicit_bucket_boundaries_advisory=_SECONDS,
    )
    tokens = meter.create_histogram(
        "gen_ai.client.token.usage",
        unit="{token}",
        description="Tokens of the request and of the reply.",
        explicit_bucket_boundaries_advisory=_TOKENS,
    )

    def traced(outgoing: Outgoing) -> Around:
        call = TracedCall(outgoing, names, content, tracer)
        moment: Any = None
        try:
            while not isinstance(moment, _ENDS):
                moment = yield None
                call.event(moment)
        finally:
            call.end(moment if isinstance(moment, _ENDS) else None, seconds, tokens)

    return traced


class TracedCall:
    """The span of one call. Reads the clock."""

    def __init__(self, outgoing: Outgoing, names: Names, content: bool, tracer: Tracer) -> None:
        from opentelemetry.trace import SpanKind

        self._outgoing, self._names, self._content = outgoing, names, content
        self._operation = operation_of(outgoing)
        self._began = time.perf_counter()
        call, model = outgoing.call, outgoing.model
        provider = outgoing.provider
        family = provider.partition("@")[0]
        address = urlsplit(call.url or outgoing.base_url)
        self._common: dict[str, Any] = {
            names.provider: names.providers.get(provider, names.providers.get(family, family)),
            "server.address": address.hostname or "",
            "server.port": address.port or (80 if address.scheme == "http" else 443),
        }
        if self._operation:
            self._common["gen_ai.operation.name"] = self._operation
        if model:
            self._common["gen_ai.request.model"] = model
        name = f"{self._operation} {model}".strip() or call.method
        self._span: Span = tracer.start_span(
            name, kind=SpanKind.CLIENT, attributes={**self._common, "wire.provider": provider}
        )
        if names.stream and outgoing.is_stream:
            self._span.set_attribute(names.stream, True)
        if content and call.body and b"\0" not in call.body:
            self._span.set_attribute(
                names.prompt, without_known(call.body.decode("utf-8", "replace"))
            )

    def event(self, moment: Moment) -> None:
        """Add what happened to the span."""
        span = self._span
        match moment:
            case AttemptStarted(attempt=attempt):
                span.add_event("wire.attempt", {"wire.attempt": attempt})
            case HeadReceived(status=status):
                span.add_event("wire.head", {"http.response.status_code": status})
            case FirstEvent():
                span.add_event("wire.first_chunk")
            case AttemptFailed(attempt=attempt, error=error, wait=wait):
                facts = {"wire.attempt": attempt, **self._facts_of(error)}
                if wait is not None:
                    facts["wire.wait"] = wait
                span.add_event("wire.attempt.failed", facts)
            case _:
                pass  # `end` has the rest

    def end(
        self,
        moment: CallEnded | CallFailed | StreamLeft | None,
        seconds: Histogram,
        tokens: Histogram,
    ) -> None:
        """End the span and record the metrics.

        `None`: the call was cancelled, or an exception that is no `WireError` ended it.
        """
        from opentelemetry.trace import Status, StatusCode

        span, common = self._span, self._common
        if moment is None:
            common["error.type"] = _UNKNOWN_ERROR
            span.set_attribute("error.type", _UNKNOWN_ERROR)
            span.set_status(Status(StatusCode.ERROR, "cancelled, or ended by another exception"))
        elif isinstance(moment, CallFailed):
            facts = self._facts_of(moment.error)
            common["error.type"] = facts["error.type"]
            span.set_attributes(facts)
            text = facts.get("exception.message", facts["error.type"])
            span.set_status(Status(StatusCode.ERROR, text))
        elif isinstance(moment, StreamLeft):
            span.set_attribute("wire.stream.left", True)
        account = None if moment is None else moment.account
        if account is not None:
            span.set_attribute("wire.attempts", account.attempts)
            if account.request_id:
                span.set_attribute("wire.request_id", account.request_id)
            if self._names.first_chunk and account.first_event is not None:
                span.set_attribute(self._names.first_chunk, account.first_event)
        if isinstance(moment, CallEnded) and isinstance(moment.result, Reply):
            reply = moment.result
            if reply.model:
                common["gen_ai.response.model"] = without_known(reply.model)
            if span.is_recording():
                # An inner function of `around=` gave a result that no server was asked for: the
                # tokens and the price are those of an earlier call.
                self._reply(reply, is_charged=moment.account.attempts > 0)
            if reply.usage is not None and moment.account.attempts and self._operation:
                for kind, count in (("input", reply.usage.input), ("output", reply.usage.output)):
                    tokens.record(count, {**common, "gen_ai.token.type": kind})
        if self._operation:
            seconds.record(time.perf_counter() - self._began, common)
        span.end()

    def _facts_of(self, error: WireError) -> dict[str, Any]:
        facts: dict[str, Any] = {"error.type": type(error).__name__}
        if error.status is not None:
            facts["http.response.status_code"] = error.status
        if self._content:
            facts["exception.message"] = str(error)
        return facts

    def _reply(self, reply: Reply, *, is_charged: bool) -> None:
        span, names = self._span, self._names
        # A server may write into each of these what it was sent, a key too.
        span.set_attribute("gen_ai.response.finish_reasons", [without_known(_reason(reply))])
        if reply.id:
            span.set_attribute("gen_ai.response.id", without_known(reply.id))
        if reply.model:
            span.set_attribute("gen_ai.response.model", without_known(reply.model))
        if is_charged:
            if reply.usage is not None:
                span.set_attributes(self._counts(reply.usage))
            self._cost(reply)
        if self._content:
            message = {
                "role": "assistant",
                "parts": [_part(each) for each in reply.message.parts],
                "finish_reason": _reason(reply),
            }
            text = msgspec.json.encode([message]).decode()
            span.set_attribute(names.answer, without_known(text))

    def _counts(self, usage: Usage) -> dict[str, int]:
        names = self._names
        counts = {
            "gen_ai.usage.input_tokens": usage.input,
            "gen_ai.usage.output_tokens": usage.output,
        }
        for name, count in (
            (names.cached, usage.cached),
            (names.cache_written, usage.cache_written),
            (names.reasoning, usage.reasoning),
        ):
            if name and count:
                counts[name] = count
        return counts

    def _cost(self, reply: Reply) -> None:
        try:
            cost = reply.cost
        except WireError:  # a catalogue of the user that cannot be read must not end the call
            self._span.set_attribute("wire.cost.unknown", "the catalogue cannot be read")
            return
        if cost.total is not None:
            # The conventions have no attribute of costs; this name follows those of usage.
            self._span.set_attribute("gen_ai.usage.cost", float(cost.total))
        else:
            self._span.set_attribute("wire.cost.unknown", cost.reason)


def operation_of(outgoing: Outgoing) -> str:
    """The conventions' name of what a call does; empty for one that asks no model.

    >>> from wire import gemini
    >>> operation_of(Outgoing(gemini.get_model("m"), "gemini", ""))
    ''
    """
    call = outgoing.call
    if call.method != "POST":
        return ""
    last = call.path.rpartition("/")[2]
    return _OPERATIONS.get(last.rpartition(":")[2], "")


def _reason(reply: Reply) -> str:
    return reply.stop.raw or reply.stop.reason


def _part(part: Part) -> dict[str, Any]:
    """A part of a message as the conventions write it; media without their bytes."""
    match part:
        case Text():
            return {"type": "text", "content": part.text}
        case Thought():
            return {"type": "reasoning", "content": part.text}
        case ToolCall():
            arguments = part.text if part.arguments is None else part.arguments
            return {"type": "tool_call", "id": part.id, "name": part.name, "arguments": arguments}
        case ToolResult():
            return {"type": "tool_call_response", "id": part.id, "response": part.answer}
        case Media():
            return {"type": "media", "mime_type": part.media_type}
        case _:
            return {"type": part.kind}
