"""An agent with the tools of an MCP server, which this file is too: it starts itself as the server.

The model is emulated on this machine. Needs the official SDK, `pip install mcp`:

    python examples/mcp_tools.py

With a real model; needs the key of its provider, such as GEMINI_API_KEY:

    MODEL=gemini:gemini-3.8-flash python examples/mcp_tools.py "When is high tide in Brest?"
"""

from __future__ import annotations

import os
import sys

import anyio
from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp.server.mcpserver import MCPServer

from wire import AsyncChat, LLMAgent, printable
from wire.testing.emulator import AsyncEmulatorTransport, Emulator
from wire.tools import format_call, mcp

SCRIPT = [
    {"say": {"calls": [{"name": "tide_high", "args": {"port": "Brest"}}]}},
    {"say": "In Brest the tide is high at 05:12."},
]
server = MCPServer("tides", log_level="ERROR")


@server.tool(name="tide.high")
def high_tide(port: str) -> str:
    """When the tide is high in a port."""
    return {"Brest": "05:12", "Calais": "11:40"}.get(port, "unknown")


async def main() -> None:
    model = os.environ.get("MODEL", "")
    http = AsyncEmulatorTransport(Emulator(SCRIPT))
    emulated = {} if model else {"api_key": "fake-key", "http": http}
    chat = AsyncChat(model or "gemini:gemini-3.8-flash", **emulated)
    this = StdioServerParameters(command=sys.executable, args=[__file__, "serve"])
    async with stdio_client(this) as (reads, writes), ClientSession(reads, writes) as session:
        await session.initialize()
        async with LLMAgent(chat, tools=await mcp.tools(session)) as agent:
            result = await agent.run(" ".join(sys.argv[1:]) or "When is high tide in Brest?")
    for run in result.runs:
        print(f"{format_call(run.call)} -> {run.result.content}")
    print(printable(result.text))


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        server.run("stdio")
    else:
        anyio.run(main)
