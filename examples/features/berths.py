"""An MCP server of 2026-07-28 on stdio, whose tool asks for input before it answers."""

import mcp_types as types
from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("harbour", log_level="CRITICAL")
BERTH = {"type": "object", "properties": {"berth": {"type": "string"}}}


@server.tool()
async def moor(ship: str, context: Context) -> str | types.InputRequiredResult:
    """Moor a ship."""
    if context.input_responses:
        return f"{ship} is moored at {context.input_responses['berth'].content['berth']}"
    asked = types.ElicitRequestFormParams(
        message=f"Which berth for {ship}?", requested_schema=BERTH
    )
    return types.InputRequiredResult(input_requests={"berth": types.ElicitRequest(params=asked)})


if __name__ == "__main__":
    server.run("stdio")
