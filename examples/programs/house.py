"""Asks a server that no list has, with a tool and traces: `python house.py QUESTION`."""

import os
import sys

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

from wire import Agent, Chat
from wire.otel import tracing


def weather(city: str) -> str:
    """The weather of a city."""
    return f"sunny in {city}"


provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter()))
spans = tracing(tracer_provider=provider)
base_url, key = os.environ["HOUSE_URL"], os.environ["HOUSE_KEY"]
with (
    Chat("house:tiny-7b", base_url=base_url, api_key=key, around=spans) as chat,
    Agent(chat, tools=[weather], tracing=spans).stream(sys.argv[1]) as events,
):
    for text in events.texts():
        print(text, end="", flush=True)
print()
