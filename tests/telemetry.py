"""An SDK of OpenTelemetry that exports to memory, and its spans as a tree."""

from __future__ import annotations

from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from wire.otel import Tracing, tracing


class Telemetry:
    """What a program sets up: one tracer provider and one meter provider."""

    def __init__(self) -> None:
        self.exporter, self.reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.meters = MeterProvider(metric_readers=[self.reader])

    def tracing(self, **options: Any) -> Tracing:
        return tracing(tracer_provider=self.tracers, meter_provider=self.meters, **options)

    @property
    def spans(self) -> list[Any]:
        return list(self.exporter.get_finished_spans())

    def points(self, name: str) -> list[Any]:
        data = self.reader.get_metrics_data()
        if data is None:
            return []
        found = [
            metric.data.data_points
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == name
        ]
        return [point for points in found for point in points]

    @property
    def text(self) -> str:
        """All that the spans hold."""
        return "".join(span.to_json() for span in self.spans)

    @property
    def tree(self) -> list[str]:
        """The names of the spans, each below the names of its parents; sorted."""
        spans = {span.context.span_id: span for span in self.spans}

        def path(span: Any) -> str:
            above = "" if span.parent is None else path(spans[span.parent.span_id]) + " / "
            return above + span.name

        return sorted(map(path, spans.values()))

    def named(self, name: str) -> Any:
        """The only span of that name."""
        (span,) = (each for each in self.spans if each.name == name)
        return span
