"""A run that takes messages while it works: `python steering.py TASK`, then a message on each line.

A line that begins with `!` ends the reply that is streamed.
"""

import asyncio
import sys
from threading import Thread

from pydantic_ai import Agent
from pydantic_ai.result import AgentStream


def tide(port: str) -> str:
    """When the tide is high in a port."""
    return f"05:12 in {port}"


agent = Agent("google:gemini-3.8-flash", tools=[tide])


async def main(task: str) -> None:
    loop, streams = asyncio.get_running_loop(), list[AgentStream[None, str]]()
    async with agent.iter(task) as run:

        def steer() -> None:
            for line in sys.stdin:
                run.enqueue(line.strip("!\n"))
                if line.startswith("!") and streams:
                    asyncio.run_coroutine_threadsafe(streams[-1].cancel(), loop)

        Thread(target=steer, daemon=True).start()
        async for node in run:
            if Agent.is_model_request_node(node):
                async with node.stream(run.ctx) as stream:
                    streams.append(stream)
                    async for text in stream.stream_text(delta=True, debounce_by=None):
                        print(text, flush=True)


asyncio.run(main(sys.argv[1]))
