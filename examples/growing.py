"""Prints each city of a streamed answer as soon as it is whole, and the text of the one that grows.

The first answer does not fit the type, so the model is asked again. With an emulator on this
machine:

    python examples/growing.py

With a real vendor:

    LIVE=1 python examples/growing.py anthropic:claude-sonnet-5
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass

from wire import Chat, ObjectDelta, Restart, printable
from wire.testing.emulator import Emulator, EmulatorTransport


@dataclass
class City:
    name: str
    people: int
    known_for: str


@dataclass
class Cities:
    cities: list[City]


OSLO = {"name": "Oslo", "people": 720000, "known_for": "a fjord, and forests around it"}
BERGEN = {"name": "Bergen", "people": 290000, "known_for": "rain on seven hills"}
WRONG = {"cities": [{**OSLO, "people": "720 thousand"}]}


def show(chat: Chat) -> None:
    with chat.stream("Name two cities of Norway.", output=Cities) as events:
        for event in events:
            match event:
                case ObjectDelta(value, ("cities", int(index)), growing=False):
                    city = value["cities"][index]
                    print(f"whole: {printable(city['name'])}, {printable(str(city['people']))}")
                case ObjectDelta(value, ("cities", int(index), "known_for"), growing=True):
                    print(f"grows: {printable(value['cities'][index]['known_for'])}")
                case Restart(error):
                    print(f"again: {printable(error)}")
    reply = events.reply()
    people = sum(city.people for city in reply.output.cities)
    print(f"reply: {people} people, asked again {len(reply.reasks)} times, {reply.cost}")


if __name__ == "__main__":
    live = bool(os.environ.get("LIVE"))
    model = sys.argv[1] if live and len(sys.argv) > 1 else "anthropic:claude-sonnet-5"
    script = [{"say": json.dumps(each)} for each in (WRONG, {"cities": [OSLO, BERGEN]})]
    options = {} if live else {"api_key": "fake-key", "http": EmulatorTransport(Emulator(script))}
    with Chat(model, **options) as chat:
        show(chat)
