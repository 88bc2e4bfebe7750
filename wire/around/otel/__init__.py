"""Spans and metrics of calls, runs of agents, tools and pipelines for OpenTelemetry.

`around=tracing()` on a client or a chat makes one span for each call. `tracing=` of agents and of
the engine of pipelines takes the same object; their spans are the parents of those of their calls.
It needs the package `opentelemetry-api`, which `pip install wire-llm[otel]` installs, and loads it
in `tracing()`.

Texts of a prompt or an answer are in no attribute unless `content=True`, and neither are messages
of errors, which may quote them (R-33). The key of a call is not in the `Outgoing` that this package
reads. A key with the prefix of a vendor that a prompt or a server quotes becomes `***` (R-28).
"""

from __future__ import annotations

from wire.core.lazy import lazy_names

_NAMES = {
    "wire.around.otel.names": "CONVENTIONS",
    "wire.around.otel.tracer": "Tracing tracing",
}

__getattr__, __dir__ = lazy_names("wire.around.otel", _NAMES)
