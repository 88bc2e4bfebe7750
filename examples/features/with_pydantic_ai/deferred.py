"""An agent with hundreds of tools, which a search finds: `python deferred.py MODEL QUESTION`."""

import sys

from pydantic_ai import Agent, Tool


def tide(port: str) -> str:
    """When the tide is high in a port."""
    return f"05:12 in {port}"


def crane(metres: int) -> str:
    """Moves a crane by some metres."""
    return f"moved by {metres} m"


cranes = [Tool(crane, name=f"crane_{number}", defer_loading=True) for number in range(300)]
agent = Agent(sys.argv[1], tools=[*cranes, Tool(tide, defer_loading=True)])
print(agent.run_sync(sys.argv[2]).output)
