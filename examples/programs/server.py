"""An MCP server on stdio with two tools."""

from mcp.server.mcpserver import MCPServer

server = MCPServer("files")


@server.tool()
def list_files(folder: str) -> list[str]:
    """Names of the files in a folder."""
    return ["notes.txt", "old.log"]


@server.tool()
def read_file(path: str) -> str:
    """The text of a file."""
    return "Buy milk."


if __name__ == "__main__":
    server.run()
