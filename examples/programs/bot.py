"""A bot for the terminal: `python bot.py MODEL`. /save keeps the conversation, /cost adds it up."""

import sys
from pathlib import Path

from wire import Agent, HistoryManager, WireError
from wire.sessions import read_session, save_session

FILE = Path("bot.json")


def weather(city: str) -> str:
    """The weather in a city now."""
    return f"18 degrees and light rain in {city}"


history = HistoryManager(read_session(FILE).messages if FILE.exists() else ())
with Agent(sys.argv[1], "Be brief.", tools=[weather], history=history) as agent:
    for line in map(str.strip, sys.stdin):
        if line == "/save":
            save_session(FILE, history.messages)
        elif line == "/cost":
            print(f"{agent.usage.input} tokens in, {agent.usage.output} out, {agent.cost}")
        else:
            try:
                with agent.stream(line) as events:
                    for text in events.texts():
                        print(text, end="", flush=True)
                print()
            except WireError as error:
                print(f"\n{error}")
