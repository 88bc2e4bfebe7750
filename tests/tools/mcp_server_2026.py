"""A server of the protocol of 2026-07-28, made with the official SDK, for tests.

Its tools ask for input, answer with tasks, and change; it has resources and prompts.
"""

from __future__ import annotations

import base64
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import anyio.lowlevel
import mcp_types as types
from mcp.server.extension import Extension, MethodBinding
from mcp.server.mcpserver import Context, Elicit, MCPServer, Resolve
from mcp.server.mcpserver.resources import FunctionResource
from pydantic import BaseModel

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
)
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}
IDENTIFIER = "io.modelcontextprotocol/tasks"


class Berth(BaseModel):
    """What a person is asked for."""

    number: int


class TaskParams(types.RequestParams):
    """The parameters of all methods of tasks."""

    task_id: str
    input_responses: dict[str, Any] | None = None


class Tasks(Extension):
    """The server's side of tasks. A task of `dredge` ends at its second poll.

    The arguments of the tool say how: `depth` 1 is done, 2 asks, 3 fails, 4 is cancelled by the
    server, 5 never ends, 6 has a status of no task.
    """

    identifier = IDENTIFIER

    def __init__(self) -> None:
        self.depths: dict[str, int] = {}
        self.polls: dict[str, int] = {}
        self.answers: dict[str, Any] = {}
        self.cancelled: list[str] = []
        self.is_cancelled = threading.Event()

    async def intercept_tool_call(self, params: Any, ctx: Any, call_next: Any) -> Any:
        if params.name != "dredge":
            return await call_next(ctx)
        task = f"task-{len(self.depths)}"
        self.depths[task] = params.arguments["depth"]
        self.polls[task] = 0
        return {"resultType": "task", **self.state(task, "working")}

    def state(self, task: str, status: str, **further: Any) -> dict[str, Any]:
        moment = "2026-11-25T10:30:00Z"
        return {
            "taskId": task,
            "status": status,
            "createdAt": moment,
            "lastUpdatedAt": moment,
            "ttlMs": 60000,
            "pollIntervalMs": 1,
            **further,
        }

    def methods(self) -> list[MethodBinding]:
        return [
            MethodBinding("tasks/get", TaskParams, self.get),
            MethodBinding("tasks/update", TaskParams, self.update),
            MethodBinding("tasks/cancel", TaskParams, self.cancel),
        ]

    async def get(self, ctx: Any, params: TaskParams) -> dict[str, Any]:
        task = params.task_id
        self.polls[task] += 1
        depth, polls = self.depths[task], self.polls[task]
        if polls == 1 or depth == 5:
            return self.state(task, "working")
        if depth == 2 and (task not in self.answers or polls == 3):
            # After the answer it is listed once more: answers arrive with a delay.
            ask = {"message": "How wide?", "requestedSchema": NOTHING}
            asked = {"wide": {"method": "elicitation/create", "params": {"mode": "form", **ask}}}
            return self.state(task, "input_required", inputRequests=asked)
        if depth == 3:
            failed = {"code": -32603, "message": "the dredger sank"}
            return self.state(task, "failed", error=failed)
        if depth == 4:
            return self.state(task, "cancelled", statusMessage="storm")
        if depth == 6:
            return self.state(task, "paused")
        said = f"dredged {depth} m, {self.answers.get(task)}"
        done = {"content": [{"type": "text", "text": said}], "isError": False}
        return self.state(task, "completed", result=done)

    async def update(self, ctx: Any, params: TaskParams) -> dict[str, Any]:
        assert params.task_id not in self.answers, "asked twice"
        self.answers[params.task_id] = params.input_responses
        return {}

    async def cancel(self, ctx: Any, params: TaskParams) -> dict[str, Any]:
        await anyio.lowlevel.checkpoint()  # a client that does not wait for it ends it here
        self.cancelled.append(params.task_id)
        self.is_cancelled.set()
        return {}


async def which(ship: str) -> Elicit[Berth]:
    """Ask for the berth of a ship."""
    return Elicit(f"Which berth for {ship}?", Berth)


def made() -> tuple[MCPServer, Tasks]:
    """A server of its own for each test, and its tasks."""
    tasks = Tasks()
    server = MCPServer("harbour", log_level="CRITICAL", extensions=[tasks])

    @server.tool()
    async def moor(ship: str, berth: Annotated[Berth, Resolve(which)]) -> str:
        """Moor a ship at a berth that a person chooses."""
        return f"{ship} is moored at {berth.number}"

    @server.tool()
    async def haggle(context: Context) -> str | types.InputRequiredResult:
        """Asks without an end."""
        ask = types.ElicitRequestFormParams(message="More?", requested_schema=NOTHING)
        return types.InputRequiredResult(input_requests={"q": types.ElicitRequest(params=ask)})

    @server.tool()
    async def queue(context: Context) -> str | types.InputRequiredResult:
        """Is put off once, without a question."""
        if context.request_state == "later":
            return "your turn"
        return types.InputRequiredResult(request_state="later")

    @server.tool()
    async def folders(context: Context) -> str | types.InputRequiredResult:
        """Asks for the folders of the client."""
        if context.input_responses:
            return str(context.input_responses["r"].roots[0].uri)  # type: ignore[union-attr]
        return types.InputRequiredResult(input_requests={"r": types.ListRootsRequest()})

    @server.tool(structured_output=False)
    async def dredge(depth: int) -> str:
        """Dredge the harbour."""
        raise AssertionError("it answers with a task")

    @server.tool()
    async def close_gate(context: Context) -> str:
        """Close the gate: from now on there is no tool `haggle`, and one `open_gate`."""
        server.remove_tool("haggle")
        server.add_tool(lambda: "open", name="open_gate", description="Open the gate.")
        await context.notify_tools_changed()
        return "closed"

    @server.resource("tide://brest", name="brest", title="Brest", mime_type="text/plain")
    def tide() -> str:
        """The tide."""
        return "High at 05:12."

    @server.resource("tide://chart", name="chart", mime_type="image/png")
    def chart() -> bytes:
        return PNG

    @server.resource("tide://{port}/{day}", name="tides", description="Of a port, on a day.")
    def tides(port: str, day: str) -> str:
        return f"{port}, {day}: 05:12."

    @server.tool()
    async def raise_tide(context: Context) -> str:
        """Raise the tide: the resource and both lists change."""
        server.add_resource(FunctionResource(uri="tide://oslo", name="oslo", fn=lambda: "Low."))
        await context.notify_resource_updated("tide://brest")
        await context.notify_resources_changed()
        await context.notify_prompts_changed()
        return "raised"

    @server.prompt(title="Safety")
    def safety(port: str, ship: str = "any ship") -> list[Any]:
        """Ask whether a port is safe."""
        from mcp.server.mcpserver import AssistantMessage, UserMessage

        picture = types.ImageContent(
            type="image", data=base64.b64encode(PNG).decode(), mime_type="image/png"
        )
        return [
            UserMessage(f"Is {port} safe for {ship}?"),
            UserMessage(picture),
            AssistantMessage("I look at the chart."),
        ]

    return server, tasks


@contextmanager
def over_http(server: MCPServer) -> Iterator[str]:
    """Serve it over streamable HTTP in a thread, and yield its URL."""
    import uvicorn  # the SDK's own server for HTTP

    listener = socket.create_server(("127.0.0.1", 0))
    quiet = {"log_config": None, "ws": "none", "timeout_graceful_shutdown": 1}
    app = server.streamable_http_app()
    running = uvicorn.Server(uvicorn.Config(app, **quiet))  # type: ignore[arg-type]
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        # A request waits in the queue of the socket until the server takes it.
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    finally:
        running.should_exit = True
        thread.join()
        listener.close()


if __name__ == "__main__":
    made()[0].run("stdio")
