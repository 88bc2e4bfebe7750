"""A server of the Model Context Protocol over stdio, made with the official SDK, for tests."""

from __future__ import annotations

import base64
import os

from mcp import types

try:
    from mcp.server.mcpserver import Context, Image, MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
except ImportError:  # version 1 of the SDK
    from mcp.server.fastmcp import Context, Image
    from mcp.server.fastmcp import FastMCP as MCPServer
    from mcp.server.fastmcp.exceptions import ToolError

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
)
server = MCPServer("harbour", log_level="CRITICAL")


@server.tool(name="tide.high", annotations=types.ToolAnnotations(readOnlyHint=True))
def high_tide(port: str, days: int = 1) -> list[str]:
    """When the tide is high in a port."""
    return [f"{port}: 05:{12 + day}" for day in range(days)]


@server.tool()
def chart(port: str) -> list[str | Image]:
    """A chart of a port."""
    return [f"The chart of {port}:", Image(data=PNG)]


@server.tool()
def moor(berth: int) -> str:
    """Moor at a berth."""
    if berth > 9:
        raise ToolError(f"there is no berth {berth}")
    return f"moored at {berth}"


@server.tool()
async def close_gate(context: Context) -> str:
    """Close the gate: from now on there is no tool `moor`."""
    server._tool_manager._tools.pop("moor", None)
    await context.session.send_tool_list_changed()
    return "closed"


@server.tool()
def sink() -> str:
    """End the process."""
    os._exit(3)


if __name__ == "__main__":
    server.run("stdio")
