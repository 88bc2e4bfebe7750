"""Starts tools while the reply still streams: `python early.py QUESTION`."""

import asyncio
import sys
from collections.abc import AsyncIterable

from pydantic_ai import Agent, RunContext
from pydantic_ai.messages import AgentStreamEvent, PartEndEvent, ToolCallPart

started: dict[str, asyncio.Task[str]] = {}


async def look_up(port: str) -> str:
    print(f"looking up {port}", flush=True)
    await asyncio.sleep(0.5)
    return f"05:12 in {port}"


async def tide(ctx: RunContext[None], port: str) -> str:
    """When the tide is high in a port."""
    return await started.pop(ctx.tool_call_id)


async def start(ctx: RunContext[None], events: AsyncIterable[AgentStreamEvent]) -> None:
    async for event in events:
        if isinstance(event, PartEndEvent) and isinstance(event.part, ToolCallPart):
            call = look_up(**event.part.args_as_dict())
            started[event.part.tool_call_id] = asyncio.create_task(call)


agent = Agent("google:gemini-3.8-flash", tools=[tide])
print(agent.run_sync(sys.argv[1], event_stream_handler=start).output)
