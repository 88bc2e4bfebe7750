"""Streams a response to the terminal with dimmed thoughts; Ctrl-C closes the connection.

With an emulator on this machine:

    python examples/streaming.py

With a real vendor:

    LIVE=1 python examples/streaming.py kimi:kimi-k2.6 "Why is it dark at night?"
"""

from __future__ import annotations

import os
import sys

from wire import Chat, Done, TextDelta, ThoughtDelta, ToolCallStart, printable
from wire.testing.emulator import Emulator, EmulatorTransport

THOUGHT = "A clear sky, a low sun: short words will do."
ANSWER = (
    "Because the air scatters blue light more than red, the sky is blue by day, and red "
    "where the sun's light has come a long way."
)


def say(chat: Chat, question: str) -> None:
    dim, plain = ("\x1b[2m", "\x1b[0m") if sys.stdout.isatty() else ("", "")
    with chat.stream(question, effort="low") as events:
        for event in events:
            match event:
                case TextDelta(text):
                    print(printable(text), end="", flush=True)
                case ThoughtDelta(text):
                    print(f"{dim}{printable(text)}{plain}", end="", flush=True)
                case ToolCallStart():
                    print(f"[calls {printable(event.name)}]", end="", flush=True)
                case Done(reply):
                    print(f"\n--- {reply.stop.reason}, {reply.usage}")


if __name__ == "__main__":
    live = bool(os.environ.get("LIVE"))
    model, question = (
        ([*sys.argv[1:3], "", ""])[:2]
        if live
        else ("gemini:gemini-3.8-flash", "Why is the sky blue?")
    )
    script = [{"say": {"text": ANSWER, "thoughts": THOUGHT}}]
    options = {} if live else {"api_key": "fake-key", "http": EmulatorTransport(Emulator(script))}
    with Chat(model, **options) as chat:
        say(chat, question)
