"""The MCP server of `killed_feature.py`, for its feature `mcp`: `python killed_server.py FOLDER`.

Its tool `work` asks for input before it begins, as servers of the protocol of 2026-07-28 may.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import anyio.to_thread
import mcp_types as types
from mcp.server.mcpserver import Context, MCPServer

from tests.agent.killed_feature import Folder

folder = Folder(Path(sys.argv[1]), "mcp", "")
server = MCPServer("work", log_level="CRITICAL")


@server.tool(structured_output=False)
async def work(id: str, context: Context) -> str | types.InputRequiredResult:
    """Work for a while."""
    if context.input_responses:
        return await anyio.to_thread.run_sync(folder.work, id)
    schema = {"type": "object", "properties": {}}
    asked = types.ElicitRequestFormParams(message="Now?", requested_schema=schema)
    return types.InputRequiredResult(input_requests={"now": types.ElicitRequest(params=asked)})


if __name__ == "__main__":
    folder.write("servers", os.getpid())
    server.run("stdio")
