# Written by `python -m tests.faces`.
from wire.around.otel import CONVENTIONS as CONVENTIONS
from wire.around.otel import Tracing as Tracing
from wire.around.otel import tracing as tracing
