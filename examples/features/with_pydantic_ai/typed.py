"""Answers with a value of a type, after calls of tools: `python typed.py QUESTION`."""

import sys

from pydantic import BaseModel
from pydantic_ai import Agent


class City(BaseModel):
    name: str
    people: int


def people(city: str) -> int:
    """How many people live in a city."""
    return {"Brest": 139_926}.get(city, 0)


agent = Agent("google:gemini-3.8-flash", tools=[people], output_type=City, retries={"output": 2})
print(repr(agent.run_sync(sys.argv[1]).output))
