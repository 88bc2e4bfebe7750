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

import msgspec
from dbos import DBOS

from wire import AsyncChat, Message, Reply, Stop, Tool, ToolCall, Usage
from wire.agent import RunState, Steps, dump_run, run_calls
from wire.agent.steps import Ask, Finished, RunCalls
from wire.sessions import Session, dump_session, load_session
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
    `limits` are those of `Steps`, such as `max_steps` and `max_tokens_total`; not `max_cost`, since
    a reply is kept without the response that tells its cost.
    """
    toolbox = Toolbox(tools)

    async def ask(messages: tuple[Message, ...]) -> bytes:
        reply = await chat.ask(messages=messages, system=system, tools=toolbox.definitions)
        kept = msgspec.to_builtins({"stop": reply.stop, "usage": reply.usage})
        return dump_session(Session((reply.message,), kept, reply.notes))

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
        messages = load_session(conversation).messages
        steps = Steps(RunState(messages=messages, begun=len(messages)), toolbox, **limits)
        while not isinstance(step := steps.next(), Finished):
            if isinstance(step, Ask):
                kept = load_session(await DBOS.run_step_async({"name": "ask"}, ask, step.messages))
                stop = msgspec.convert(kept.metadata["stop"], Stop)
                usage = msgspec.convert(kept.metadata["usage"], Usage | None)
                steps.replied(Reply(kept.messages[0], stop, usage, kept.notes))
            elif isinstance(step, RunCalls):
                # At the same time. DBOS numbers steps as they begin: in the order of the calls.
                runs = await asyncio.gather(*(kept_run(steps, call) for call in step.calls))
                steps.answered(runs)
            else:  # a pause after an empty reply
                await DBOS.sleep_async(step.seconds)
        return dump_run(steps.state)

    return workflow
