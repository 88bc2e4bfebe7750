"""An agent in workflows of DBOS, which keeps each reply of the model and each result of a tool.

After a kill, the next process that calls `DBOS.launch` goes on where the run was:

    DBOS(config={"name": "tides", "system_database_url": "sqlite:///tides.sqlite"})
    tides = durable_agent("tides", AsyncChat("gemini:gemini-3.8-flash"), [high_tide])
    DBOS.launch()  # after all agents are made; goes on with the runs that were killed
    with SetWorkflowID("question-1"):  # the same id: the same run, also in another process
        run = DBOS.start_workflow(tides, dump_session([Message.user("High tide in Brest?")]))
    print(load_run(run.get_result()).messages[-1].text)

A tool that was killed before its result was saved runs again, with the same `ToolContext.call.id`:
pass it to a service as the idempotency key.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from dbos import DBOS

from wire import AsyncChat, Message, Tool, ToolCall
from wire.agent import Ask, Finished, RunCalls, Steps, begin_run, dump_run, run_calls
from wire.sessions import dump_reply, dump_session, load_reply, load_session
from wire.tools import Toolbox, ToolRun


def durable_agent(
    name: str,
    chat: AsyncChat,
    tools: Iterable[Tool | Callable[..., Any]] = (),
    system: str = "",
    **limits: Any,
) -> Callable[[bytes], Coroutine[Any, Any, bytes]]:
    """Return a workflow from the bytes of a conversation to those of its run, for `load_run`.

    These are a conversation too, which `load_session` reads and a next run can go on with.
    `limits` are those of `Steps`, such as `max_steps` and `max_cost`.
    """
    toolbox = Toolbox(tools)

    async def ask(messages: tuple[Message, ...]) -> bytes:
        tools = toolbox.definitions
        return dump_reply(await chat.ask(messages=messages, system=system, tools=tools))

    async def run_tool(call: ToolCall, messages: tuple[Message, ...]) -> bytes:
        [run] = await run_calls(toolbox, [call], model=str(chat.model), messages=messages)
        return dump_session([Message("tool", (run.result,))])

    async def kept_run(steps: Steps, call: ToolCall) -> ToolRun:
        steps.started(call)
        # The name has the id, so that DBOS refuses a result that belongs to another call.
        step = {"name": f"{call.name} {call.id}"}
        kept = await DBOS.run_step_async(step, run_tool, call, steps.state.messages)
        return ToolRun(call, load_session(kept).messages[0].tool_results[0])

    @DBOS.workflow(name=name)
    async def workflow(conversation: bytes) -> bytes:
        steps = Steps(begin_run(load_session(conversation).messages), toolbox, **limits)
        while not isinstance(step := steps.next(), Finished):
            if isinstance(step, Ask):
                kept = await DBOS.run_step_async({"name": "ask"}, ask, step.messages)
                steps.replied(load_reply(kept))
            elif isinstance(step, RunCalls):
                # At the same time. DBOS numbers steps as they begin: in the order of the calls.
                runs = await asyncio.gather(*(kept_run(steps, call) for call in step.calls))
                steps.answered(runs)
            else:  # a pause after an empty reply
                await DBOS.sleep_async(step.seconds)
        return dump_run(steps.state)

    return workflow
