"""Spans of runs, tools, pipelines and nodes: the interface of `tracing=`, and the current span.

`wire.otel.tracing()` returns an object with this interface. This module loads nothing of
OpenTelemetry.

The span of a run is the current one while the run works. It is not while the caller handles an
event: spans of the caller would become its children, and could end after it.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterator
from contextlib import AbstractContextManager, aclosing, closing, contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from wire.agent.model import MessageJoined, model_name
from wire.agent.steps import Steps
from wire.catalogue.usage import Usage
from wire.core.errors import ConfigurationError
from wire.core.secret import type_name
from wire.neutral.messages import ToolCall, ToolResult

if TYPE_CHECKING:
    from wire.around.seam import Around, Outgoing

T = TypeVar("T")


class Span(Protocol):
    """A span that was started."""

    def current(self) -> AbstractContextManager[object]:
        """Return a context in which spans of this thread or task have this one as their parent."""
        ...

    def event(self, name: str) -> None:
        """Note a moment of the work."""
        ...

    def end(
        self,
        error: BaseException | None = None,
        *,
        result: ToolResult | None = None,
        usage: Usage | None = None,
        reason: str = "",
    ) -> None:
        """End the span. `error` is the exception that ended the work, if any; the others become
        attributes."""
        ...


class Spans(Protocol):
    """Makes spans below the current one. It is a function for `around=` too."""

    def __call__(self, outgoing: Outgoing, /) -> Around:
        """Return the middleware that makes the span of a call."""
        ...

    def _run_span(self, name: str, model: str, provider: str) -> Span: ...
    def _tool_span(self, call: ToolCall, description: str) -> Span: ...
    def _pipeline_span(self, name: str) -> Span: ...
    def _node_span(self, id: str, type: str) -> Span: ...


def checked_spans(given: Any, error: type[Exception] = ConfigurationError) -> Spans | None:
    """Return the value of `tracing=`. Raises `error` for anything that makes no spans."""
    if given is not None and not hasattr(given, "_run_span"):
        expected = "expected what wire.otel.tracing() returns"
        raise error(f"tracing: {expected}, not {type_name(given)}")
    spans: Spans | None = given
    return spans


class TracedRun:
    """A run of an agent whose events are made inside a span."""

    def __init__(self, spans: Spans, name: str, model: Any, steps: Steps) -> None:
        self._spans, self._name, self._model, self._steps = spans, name, model, steps

    def events(self, events: Generator[T, None, None]) -> Generator[T, None, None]:
        """Yield the events of the run; the span begins with the first one."""
        span = self._start()
        error: BaseException | None = None
        try:
            with closing(events):
                while True:
                    with span.current():
                        try:
                            event = next(events)
                        except StopIteration:
                            break
                    _note(span, event)
                    yield event
        except BaseException as raised:
            error = raised
            raise
        finally:
            self._end(span, error)

    async def async_events(self, events: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
        """Yield the events of the run, as `events`."""
        span = self._start()
        error: BaseException | None = None
        try:
            async with aclosing(events):
                while True:
                    with span.current():
                        try:
                            event = await anext(events)
                        except StopAsyncIteration:
                            break
                    _note(span, event)
                    yield event
        except BaseException as raised:
            error = raised
            raise
        finally:
            self._end(span, error)

    def _start(self) -> Span:
        provider = getattr(self._model, "provider", "")
        provider = provider if isinstance(provider, str) else ""
        return self._spans._run_span(self._name, model_name(self._model), provider)

    def _end(self, span: Span, error: BaseException | None) -> None:
        usage = Usage()
        for step in self._steps.result.steps:  # those of this run, not of the one that it resumes
            usage += step.reply.usage
        span.end(error, usage=usage, reason=self._steps.state.reason or "")


def _note(span: Span, event: object) -> None:
    if type(event) is MessageJoined:
        span.event("wire.message_joined")


def run_inside(span: Span, function: Callable[[], Any]) -> Any:
    """Call a function of a tool, and await what it returned, inside a span."""
    with span.current():
        value = function()
    return _awaited_inside(span, value) if inspect.isawaitable(value) else value


async def _awaited_inside(span: Span, awaitable: Awaitable[Any]) -> Any:
    with span.current():
        return await awaitable


@contextmanager
def inside(span: Span) -> Iterator[None]:
    """Run the block as the whole work of a span."""
    try:
        with span.current():
            yield
    except BaseException as error:
        span.end(error)
        raise
    span.end()
