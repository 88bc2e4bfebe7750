"""An agent with an MCP server whose tools ask for input: `python server_input.py TASK`."""

import asyncio
import sys
from typing import Any

from fastmcp.client.transports import StdioTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset


async def answer(message: str, response_type: Any, params: Any, context: Any) -> dict[str, str]:
    wanted = params.requested_schema["properties"]
    return {name: await asyncio.to_thread(input, f"{message} {name}: ") for name in wanted}


async def main(task: str) -> None:
    server = StdioTransport(command=sys.executable, args=["berths.py"])
    toolset = MCPToolset(server, elicitation_handler=answer)
    async with Agent("google:gemini-3.8-flash", toolsets=[toolset]) as agent:
        print((await agent.run(task)).output)


asyncio.run(main(sys.argv[1]))
