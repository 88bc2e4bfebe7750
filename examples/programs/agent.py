"""An agent with the tools of an MCP server, and one that asks first: `python agent.py TASK`."""

import asyncio
import sys
from pathlib import Path

from mcp import ClientSession, StdioServerParameters, stdio_client

from wire import LLMAgent, ToolCall
from wire.agent import RunResult
from wire.tools import ToolRun, format_call, mcp


def delete_file(path: str) -> str:
    """Delete a file."""
    Path(path).unlink()
    return f"{path} is deleted"


def approve(call: ToolCall) -> bool:
    return call.name != "delete_file" or input(f"{format_call(call)}? [y/N] ") == "y"


async def main(task: str) -> RunResult:
    server = StdioServerParameters(command=sys.executable, args=["server.py"])
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        tools = [*await mcp.tools(session), delete_file]
        async with LLMAgent("gemini:gemini-3.8-flash", tools=tools, approve=approve) as agent:
            async with agent.stream(task, max_steps=10) as events:
                async for event in events:
                    if isinstance(event, ToolRun):
                        print(format_call(event.call), event.result.answer)
            return events.result


result = asyncio.run(main(sys.argv[1]))
print(result.text, result.cost, result.reason)
