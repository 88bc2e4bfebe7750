"""The spans of work in this process: runs of agents, tools, pipelines and their nodes."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import msgspec

from wire.around.otel.names import UNKNOWN_ERROR, Names
from wire.catalogue.usage import Usage
from wire.core.credentials import without_known
from wire.neutral.messages import ToolCall, ToolResult

if TYPE_CHECKING:
    from opentelemetry.trace import Span


class WorkSpan:
    """A span that was started. Any thread may make it the current one, and one thread ends it."""

    def __init__(self, span: Span, names: Names, content: bool) -> None:
        self._span, self._names, self._content = span, names, content

    def current(self) -> AbstractContextManager[object]:
        """Open a block in which spans of this thread or task have this one as their parent.

        A generator must leave it before it yields: otherwise its caller would be inside it too.
        """
        from opentelemetry.trace import use_span

        return use_span(self._span, record_exception=False, set_status_on_exception=False)

    def arguments(self, call: ToolCall) -> None:
        """Add the arguments of a call, with `content` only."""
        if self._content and self._names.arguments:
            arguments = call.text if call.arguments is None else call.arguments
            self._span.set_attribute(self._names.arguments, _shown(arguments))

    def event(self, name: str) -> None:
        """Add an event."""
        self._span.add_event(name)

    def end(
        self,
        error: BaseException | None = None,
        *,
        result: ToolResult | None = None,
        usage: Usage | None = None,
        reason: str = "",
    ) -> None:
        """End the span.

        Args:
            error: The exception that ended the work. `GeneratorExit` (a stream that was left) is
                not a failure.
            result: The result of a tool.
            usage: The tokens of a run.
            reason: Why a run stopped; empty if it did not stop by itself.
        """
        span, names = self._span, self._names
        if usage is not None:
            span.set_attributes(names.counts(usage))
        if reason:
            span.set_attribute("wire.run.reason", reason)
        if result is not None and self._content and names.result:
            span.set_attribute(names.result, _shown(result.answer))
        if isinstance(error, GeneratorExit):
            if not reason:
                span.set_attribute("wire.run.left", True)
        elif error is not None or (result is not None and result.error):
            self._failed(error)
        span.end()

    def _failed(self, error: BaseException | None) -> None:
        from opentelemetry.trace import Status, StatusCode

        is_known = isinstance(error, Exception)
        kind = type(error).__name__ if is_known else UNKNOWN_ERROR
        text = kind if is_known or error is None else "cancelled"
        self._span.set_attribute("error.type", kind)
        if is_known and self._content:
            text = without_known(str(error))
            self._span.set_attribute("exception.message", text)
        self._span.set_status(Status(StatusCode.ERROR, text))


def _shown(value: Any) -> str:
    """Encode a value as JSON."""
    try:
        return without_known(msgspec.json.encode(value).decode())
    except ValueError:  # half of a surrogate pair, which UTF-8 cannot encode
        return without_known(ascii(value))
