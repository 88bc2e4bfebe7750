"""`tracing()`, and the object that it returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wire.around.otel.calls import TracedCall
from wire.around.otel.names import CONVENTIONS, Names
from wire.around.otel.spans import WorkSpan
from wire.around.seam import Around, CallEnded, CallFailed, Outgoing, StreamLeft
from wire.core.arguments import checked_arguments
from wire.core.credentials import without_known
from wire.core.errors import ConfigurationError
from wire.core.secret import quoted, type_name
from wire.core.version import VERSION
from wire.neutral.messages import ToolCall

if TYPE_CHECKING:
    from opentelemetry.metrics import Histogram
    from opentelemetry.trace import Tracer

_SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_TOKENS = tuple(4**power for power in range(14))
"""Bounds of the histogram buckets that the conventions require."""

_ENDS = (CallEnded, CallFailed, StreamLeft)


class Tracing:
    """The result of `tracing()`: makes the spans of calls, runs, tools, pipelines and nodes."""

    def __init__(
        self, tracer: Tracer, names: Names, content: bool, seconds: Histogram, tokens: Histogram
    ) -> None:
        self._tracer, self._names, self._content = tracer, names, content
        self._seconds, self._tokens = seconds, tokens

    def __call__(self, outgoing: Outgoing) -> Around:
        """Return the generator that `around=` runs for a call."""
        call = TracedCall(outgoing, self._names, self._content, self._tracer)
        moment: Any = None
        try:
            while not isinstance(moment, _ENDS):
                moment = yield None
                call.event(moment)
        finally:
            end = moment if isinstance(moment, _ENDS) else None
            call.end(end, self._seconds, self._tokens)

    def _run_span(self, name: str, model: str, provider: str) -> WorkSpan:
        """Start the span of an agent's run; each of the three arguments may be empty."""
        facts = {"gen_ai.agent.name": name, "gen_ai.request.model": model}
        if provider:
            facts[self._names.provider] = self._names.provider_of(provider)
        return self._started("invoke_agent", name, facts)

    def _tool_span(self, call: ToolCall, description: str) -> WorkSpan:
        """Start the span of a tool call."""
        facts = {
            "gen_ai.tool.name": call.name,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.id": without_known(call.id),
            "gen_ai.tool.description": description,
        }
        span = self._started("execute_tool", call.name, facts)
        span.arguments(call)
        return span

    def _pipeline_span(self, name: str) -> WorkSpan:
        """Start the span of a pipeline run."""
        if not self._names.workflow:
            return self._started("", f"pipeline {name}", {"wire.pipeline": name})
        return self._started("invoke_workflow", name, {self._names.workflow: name})

    def _node_span(self, id: str, type: str) -> WorkSpan:
        """Start the span of a pipeline node, for which the conventions have no name."""
        return self._started("", f"node {id}", {"wire.node.id": id, "wire.node.type": type})

    def _started(self, operation: str, name: str, facts: dict[str, str]) -> WorkSpan:
        """Start a span of this process, whose parent is the current one."""
        facts = {"gen_ai.operation.name": operation, **facts}
        given = {attribute: value for attribute, value in facts.items() if value}
        span = self._tracer.start_span(f"{operation} {name}".strip(), attributes=given)
        return WorkSpan(span, self._names, self._content)


@checked_arguments(ConfigurationError)
def tracing(
    *,
    content: bool = False,
    conventions: str = "1.41",
    tracer_provider: Any = None,
    meter_provider: Any = None,
) -> Tracing:
    """Return an object for `around=`, which makes spans and metrics of calls, and for `tracing=`.

    >>> from wire import Chat
    >>> from wire.testing.emulator import Emulator, EmulatorTransport
    >>> http = EmulatorTransport(Emulator([{"say": "Hello."}]))
    >>> with Chat("gemini:gemini-3.8-flash", api_key="fake", http=http, around=tracing()) as chat:
    ...     chat.ask("Hi").text
    'Hello.'

    Given to an agent or an engine of pipelines as `tracing=`, it makes spans of their runs, tools
    and nodes, below which those of their calls stand. The parent of a span is the current span of
    the caller. Without an SDK of OpenTelemetry that the program has set up, nothing is recorded.

    Raises `ConfigurationError` that names the argument, and if `opentelemetry-api` is missing.

    Args:
        content: Whether attributes may have prompts, answers, arguments and results of tools, and
            messages of errors.
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
    return Tracing(tracer, names, content, seconds, tokens)
