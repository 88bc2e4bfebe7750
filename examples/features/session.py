"""A session that stays below 100,000 tokens: `python session.py MODEL`, a turn on each line."""

import sys
from pathlib import Path

from wire import Agent


def read(path: str) -> str:
    """The text of a file."""
    return Path(path).read_text()


with Agent(sys.argv[1], tools=[read], compaction=100_000) as agent:
    for line in sys.stdin:
        print(agent.run(line))
