"""A receiver of OTLP over HTTP on loopback, which decodes what it gets as a collector does."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Received:
    """Requests of an exporter, decoded by the schema of OTLP."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.traces: list[Any] = []
        self.metrics: list[Any] = []

    @property
    def spans(self) -> list[Any]:
        """All spans, in the order in which they arrived."""
        return [
            span
            for request in self.traces
            for resource in request.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]

    @property
    def tree(self) -> list[str]:
        """The names of the spans, each below the names of its parents; sorted."""
        spans = {span.span_id: span for span in self.spans}

        def path(span: Any) -> str:
            above = f"{path(spans[span.parent_span_id])} / " if span.parent_span_id else ""
            return above + str(span.name)

        return sorted(map(path, spans.values()))


@contextmanager
def receiver() -> Iterator[Received]:
    """A receiver on a free port."""
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
        ExportMetricsServiceRequest,
    )
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.headers.get("content-encoding") == "gzip":
                body = gzip.decompress(body)
            kind, kept = {
                "/v1/traces": (ExportTraceServiceRequest, received.traces),
                "/v1/metrics": (ExportMetricsServiceRequest, received.metrics),
            }[self.path]
            kept.append(kind.FromString(body))
            self.send_response(200)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    received = Received(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield received
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
