"""The span of one call: its attempts as events, its usage, cost and error as attributes."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from wire.around.otel.contents import answer_of, content_of, settings_of
from wire.around.otel.names import UNKNOWN_ERROR, Names
from wire.around.seam import (
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
from wire.core.credentials import without_known
from wire.core.errors import WireError
from wire.core.secret_fields import masked_body
from wire.neutral.messages import Reply

if TYPE_CHECKING:
    from opentelemetry.metrics import Histogram
    from opentelemetry.trace import Span, Tracer

    from wire.core.account import Account

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


class TracedCall:
    """The span of one call. Reads the clock."""

    def __init__(self, outgoing: Outgoing, names: Names, content: bool, tracer: Tracer) -> None:
        from opentelemetry.trace import SpanKind

        self._outgoing, self._names, self._content = outgoing, names, content
        self._operation = operation_of(outgoing)
        self._began = time.perf_counter()
        call, model, provider = outgoing.call, outgoing.model, outgoing.provider
        address = urlsplit(call.url or outgoing.base_url)
        self._common: dict[str, Any] = {
            names.provider: names.provider_of(provider),
            "server.address": address.hostname or "",
            "server.port": address.port or (80 if address.scheme == "http" else 443),
        }
        if self._operation:
            self._common["gen_ai.operation.name"] = self._operation
        if model:
            self._common["gen_ai.request.model"] = model
        # The conventions have no name for a session.
        operation = "session" if outgoing.is_session else self._operation
        name = f"{operation} {model}".strip() or call.method
        self._span: Span = tracer.start_span(
            name, kind=SpanKind.CLIENT, attributes={**self._common, "wire.provider": provider}
        )
        if names.stream and outgoing.is_stream:
            self._span.set_attribute(names.stream, True)
        if self._span.is_recording():
            self._request()

    def _request(self) -> None:
        """Set the attributes of the request: settings, and its content if that is wanted."""
        span, names, body = self._span, self._names, self._outgoing.call.body
        asks = self._operation not in ("", "embeddings")
        request = self._outgoing.request if asks else None
        if request is not None:
            span.set_attributes(settings_of(request))
        if self._content and request is not None and names.messages:
            span.set_attributes(content_of(request, names))
        elif self._content and body and b"\0" not in body:
            text = masked_body(body).decode("utf-8", "replace")
            span.set_attribute(names.prompt, without_known(text))

    def event(self, moment: Moment) -> None:
        """Add an event for a moment of the call to the span."""
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
                pass  # `end` records all other moments

    def end(
        self,
        moment: CallEnded | CallFailed | StreamLeft | None,
        seconds: Histogram,
        tokens: Histogram,
    ) -> None:
        """End the span and record the metrics.

        `None`: the call was cancelled, or ended with an exception that is not a `WireError`.
        """
        from opentelemetry.trace import Status, StatusCode

        span, common = self._span, self._common
        if moment is None:
            common["error.type"] = UNKNOWN_ERROR
            span.set_attribute("error.type", UNKNOWN_ERROR)
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
            if self._outgoing.is_session:
                span.set_attributes(_of_session(account))
            if self._names.first_chunk and account.first_event is not None:
                span.set_attribute(self._names.first_chunk, account.first_event)
        if isinstance(moment, CallEnded) and isinstance(moment.result, Reply):
            reply = moment.result
            if reply.model:
                common["gen_ai.response.model"] = without_known(reply.model)
            if span.is_recording():
                # An inner function of `around=` gave a result without a request to a server: the
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
        # A server may repeat the request in each of these, and with it a key.
        span.set_attribute("gen_ai.response.finish_reasons", [without_known(_reason(reply))])
        if reply.id:
            span.set_attribute("gen_ai.response.id", without_known(reply.id))
        if reply.model:
            span.set_attribute("gen_ai.response.model", without_known(reply.model))
        if is_charged:
            if reply.usage is not None:
                span.set_attributes(names.counts(reply.usage))
            self._cost(reply)
        if self._content:
            span.set_attribute(names.answer, answer_of(reply, _reason(reply)))

    def _cost(self, reply: Reply) -> None:
        try:
            cost = reply.cost
        except WireError:  # an unreadable catalogue of the user must not end the call
            self._span.set_attribute("wire.cost.unknown", "the catalogue cannot be read")
            return
        if cost.total is not None:
            # The conventions have no attribute of costs; this name follows those of usage.
            self._span.set_attribute("gen_ai.usage.cost", float(cost.total))
        else:
            self._span.set_attribute("wire.cost.unknown", cost.reason)


def operation_of(outgoing: Outgoing) -> str:
    """Return the conventions' name of the operation of a call; empty if it calls no model.

    >>> from wire import gemini
    >>> operation_of(Outgoing(gemini.get_model("m"), "gemini", ""))
    ''
    """
    call = outgoing.call
    if call.method != "POST":
        return ""
    last = call.path.rpartition("/")[2]
    return _OPERATIONS.get(last.rpartition(":")[2], "")


def _of_session(account: Account) -> dict[str, int]:
    return {
        "wire.session.messages_sent": account.sent_events,
        "wire.session.messages_received": account.events,
        "wire.session.bytes_sent": account.sent,
        "wire.session.bytes_received": account.received,
    }


def _reason(reply: Reply) -> str:
    return reply.stop.raw or reply.stop.reason
