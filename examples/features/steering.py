"""A run that takes messages while it works: `python steering.py TASK`, then a message on each line.

A line that begins with `!` ends the reply that is streamed.
"""

import sys
from threading import Thread

from wire import Agent


def tide(port: str) -> str:
    """When the tide is high in a port."""
    return f"05:12 in {port}"


with Agent("gemini:gemini-3.8-flash", tools=[tide]) as agent, agent.stream(sys.argv[1]) as events:

    def steer() -> None:
        for line in sys.stdin:
            events.send(line.strip("!\n"), at_once=line.startswith("!"))

    Thread(target=steer, daemon=True).start()
    for text in events.texts():
        print(text, flush=True)
