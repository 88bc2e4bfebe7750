"""Starts tools while the reply still streams: `python early.py QUESTION`."""

import sys
import time

from wire import Agent


def tide(port: str) -> str:
    """When the tide is high in a port."""
    print(f"looking up {port}\n", end="", flush=True)  # one write: tools run side by side
    time.sleep(0.5)
    return f"05:12 in {port}"


with Agent("gemini:gemini-3.8-flash", tools=[tide], early_tools=True) as agent:
    print(agent.run(sys.argv[1]))
