"""Answers with a value of a type, after calls of tools: `python typed.py QUESTION`."""

import sys

from msgspec import Struct

from wire import Agent


class City(Struct):
    name: str
    people: int


def people(city: str) -> int:
    """How many people live in a city."""
    return {"Brest": 139_926}.get(city, 0)


with Agent("gemini:gemini-3.8-flash", tools=[people], output=City, output_retries=2) as agent:
    print(agent.run(sys.argv[1]).output)
