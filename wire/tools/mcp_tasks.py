"""Tasks of an MCP server: a tool answers with a task, which is polled until it ends.

Source: the extension `io.modelcontextprotocol/tasks` of the protocol of 2026-07-28.
"""

from __future__ import annotations

import contextlib
import functools
import math
from typing import Any, Literal, NamedTuple

from wire.core.bounds import BOUNDS
from wire.core.errors import ToolError
from wire.tools.mcp_content import field_of
from wire.tools.mcp_session import OnInput, answered, too_many_rounds
from wire.tools.mcp_steps import Call, Steps, Wait, run

_EXTENSION = "io.modelcontextprotocol/tasks"
_SECONDS = 1.0
"""Seconds between two polls, if the server names none."""
_LEAST, _MOST = 0.05, 60.0
"""Seconds between two polls at the least, so that a server is not flooded, and at the most."""


def tasks_extension() -> Any:
    """Return the extension with which a `Client` of the SDK takes tasks.

    A server answers with tasks only if the client declares them:
    `Client(server, extensions=[tasks_extension()])`. Raises `ImportError` without the package `mcp`
    of version 2.
    """
    from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim

    sdk = _sdk()

    class Tasks(ClientExtension):
        identifier = _EXTENSION

        def claims(self) -> list[Any]:
            return [ResultClaim(result_type="task", model=sdk.task, resolve=resolved)]

    async def resolved(task: Any, context: ClaimContext) -> Any:
        steps = polled(f"tool {context.tool_name}", context.session, task, None)
        return sdk.result.model_validate(await run(steps), by_name=False)

    return Tasks()


class _Sdk(NamedTuple):
    """What the SDK needs to send and to read what is not of its own protocol."""

    task: Any
    request: Any
    result: Any
    json: Any


@functools.cache
def _sdk() -> _Sdk:
    import mcp_types as types
    from pydantic import TypeAdapter

    class Task(types.Result):
        result_type: Literal["task"] = "task"
        task_id: str
        status: str
        poll_interval_ms: float | None = None

    class Request(types.Request[dict[str, Any], str]):
        name_param = "taskId"

    return _Sdk(Task, Request, types.CallToolResult, TypeAdapter(dict[str, Any]))


def polled(what: str, session: Any, task: Any, on_input: OnInput | None) -> Steps:
    """Poll a task until it ends, and return the result of its tool.

    A call that ends before its task cancels the task.
    """
    task_id = field_of(task, "taskId", "task_id")
    if not isinstance(task_id, str) or not 0 < len(task_id) <= BOUNDS.name:
        raise ToolError(f"{what}: taskId: expected a text of {BOUNDS.name:,} characters at most")
    send = functools.partial(_call, session, task_id)
    known: set[str] = set()
    asked = 0
    ended = False
    try:
        while True:
            if field_of(task, "status") in ("working", "input_required"):
                yield Wait(_seconds(task))
            task = yield send("tasks/get")
            status = field_of(task, "status")
            ended = status in ("completed", "failed", "cancelled")
            if ended:
                return _ended(what, task, status)
            if status not in ("working", "input_required"):
                raise ToolError(f"{what}: status: expected that of a task, not {status!r:.100}")
            requests = field_of(task, "inputRequests") if status == "input_required" else None
            if isinstance(requests, dict):
                # The server may list a request again until it has taken the answer.
                requests = {key: each for key, each in requests.items() if key not in known}
            if requests:
                asked += 1
                if asked > BOUNDS.input_rounds:
                    raise too_many_rounds(what)
                answers = yield from answered(what, requests, on_input)
                known |= answers.keys()
                yield send("tasks/update", inputResponses=answers)
    except GeneratorExit:
        raise
    except BaseException:
        if not ended:
            with contextlib.suppress(Exception):  # the first error counts
                yield send("tasks/cancel")._replace(is_last=True)
        raise


def _call(session: Any, task_id: str, method: str, **params: Any) -> Call:
    sdk = _sdk()
    request = sdk.request(method=method, params={"taskId": task_id, **params})
    return Call(functools.partial(session.send_request, request, sdk.json))


def _seconds(task: Any) -> float:
    interval = field_of(task, "pollIntervalMs", "poll_interval_ms")
    if isinstance(interval, bool) or not isinstance(interval, (int, float)):
        return _SECONDS
    if not math.isfinite(interval):
        return _SECONDS
    return min(max(interval / 1000, _LEAST), _MOST)


def _ended(what: str, task: Any, status: str) -> Any:
    if status == "completed":
        return field_of(task, "result")
    words = field_of(task, "statusMessage")
    if status == "cancelled":
        told = f": {words}" if words else ""
        raise ToolError(f"{what}: the server cancelled the task{told}", code="task_cancelled")
    error = field_of(task, "error")
    code = field_of(error, "code")
    told = str(field_of(error, "message") or words or "the task failed")
    raise ToolError(f"{what}: {told}", code=None if code is None else str(code))
