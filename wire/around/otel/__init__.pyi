# Written by `python -m tests.faces`.
from wire.around.otel.names import CONVENTIONS as CONVENTIONS
from wire.around.otel.tracer import Tracing as Tracing
from wire.around.otel.tracer import tracing as tracing
