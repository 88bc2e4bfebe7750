"""An agent with hundreds of tools, which a search finds: `python deferred.py MODEL QUESTION`."""

import sys

from wire import Agent, tool


def tide(port: str) -> str:
    """When the tide is high in a port."""
    return f"05:12 in {port}"


def crane(metres: int) -> str:
    """Moves a crane by some metres."""
    return f"moved by {metres} m"


cranes = [tool(crane, name=f"crane_{number}", deferred=True) for number in range(300)]
with Agent(sys.argv[1], tools=[*cranes, tool(tide, deferred=True)]) as agent:
    print(agent.run(sys.argv[2]))
