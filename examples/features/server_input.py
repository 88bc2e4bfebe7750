"""An agent with an MCP server whose tools ask for input: `python server_input.py TASK`."""

import asyncio
import sys

from mcp import Client, StdioServerParameters

from wire import LLMAgent
from wire.tools import mcp


def answer(request: mcp.InputRequest) -> dict[str, str]:
    return {name: input(f"{request.message} {name}: ") for name in request.schema["properties"]}


async def main(task: str) -> None:
    server = StdioServerParameters(command=sys.executable, args=["berths.py"])
    # The callback tells the server that it may ask; `on_input` answers.
    async with Client(server, elicitation_callback=answer) as client:
        tools = await mcp.tools(client, on_input=answer)
        async with LLMAgent("gemini:gemini-3.8-flash", tools=tools) as agent:
            print(await agent.run(task))


asyncio.run(main(sys.argv[1]))
