"""Live sessions of agents: their tools run while the session goes on.

The calls of an answer run in a thread or a task beside the one that takes events, so that sound is
taken while they do. Their results are sent together, in the order of the calls.
"""

from __future__ import annotations

import contextvars
import functools
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any, TypeAlias

import anyio
from anyio.abc import TaskGroup

from wire.agent.context_cache import AsyncCachedChat, CachedChat
from wire.agent.model import model_name
from wire.agent.state import without_groups
from wire.agent.tool_calls import Approve, run_calls, run_calls_in_threads
from wire.chat.chat import AsyncChat, Chat
from wire.chat.live import AsyncLiveSession, LiveSession, live_conversation
from wire.core.errors import ConfigurationError, WireError, ungrouped
from wire.core.secret import type_name
from wire.core.stream_block import ForTasks, async_stream_block, stream_block
from wire.neutral.live import LiveConversation, LiveEvent, LiveOptions
from wire.neutral.messages import Done, ToolCall, ToolResult
from wire.tools import Toolbox, ToolRun

AgentLiveEvent: TypeAlias = LiveEvent | ToolRun


def _to_run(event: LiveEvent, open_calls: Sequence[ToolCall], tools: Toolbox) -> Sequence[ToolCall]:
    """Return the calls of an answer that has ended, without those that the program answers."""
    if type(event) is not Done:
        return ()
    return [
        call
        for call in event.reply.tool_calls
        if call in open_calls and not tools.is_passive(call.name)
    ]


def _wanted(runs: Sequence[ToolRun], open_calls: Sequence[ToolCall]) -> list[ToolResult]:
    """Return the results of calls that the server has not cancelled meanwhile."""
    return [run.result for run in runs if run.call in open_calls]


class AgentLiveSession(LiveSession):
    """A live session of an `Agent`, for threads.

    Its tools run in a thread, also `approve`. Their runs are events, which are handed out with the
    next event of the server. The program answers the calls of tools without a function by `send`.
    """

    def __init__(
        self,
        socket: Any,
        conversation: LiveConversation,
        tools: Toolbox,
        approve: Approve | None,
        model: str,
        max_parallel: int,
    ) -> None:
        super().__init__(socket, conversation)
        self._tools = tools
        self._run: Callable[[Sequence[ToolCall]], list[ToolRun]] = lambda calls: (
            run_calls_in_threads(
                tools,
                calls,
                approve,
                model=model,
                messages=self.messages,
                max_parallel=max_parallel,
            )
        )
        self._exit: BaseException | None = None

    def events(self) -> Iterator[AgentLiveEvent]:  # type: ignore[override]
        """Iterate over the events, and run the calls of each answer. As `LiveSession.events`.

        Raises what is to end the program, such as the `SystemExit` of a tool.
        """
        try:
            for event in super().events():
                if calls := _to_run(event, self.open_calls, self._tools):
                    work = functools.partial(contextvars.copy_context().run, self._answer, calls)
                    threading.Thread(target=work, daemon=True).start()
                yield event
        except WireError:
            if self._exit is None:
                raise
        if self._exit is not None:
            raise self._exit

    def _answer(self, calls: Sequence[ToolCall]) -> None:
        try:
            runs = self._run(calls)
            self._pending.extend(runs)  # type: ignore[arg-type]
            if results := _wanted(runs, self.open_calls):
                self.send(*results)
        except BaseException as error:
            if not self._is_left(error):
                self._exit = error
                self.close()


class AsyncAgentLiveSession(AsyncLiveSession):
    """A live session of an `LLMAgent`, for asyncio and trio. As `AgentLiveSession`."""

    def __init__(
        self,
        socket: Any,
        conversation: LiveConversation,
        group: TaskGroup,
        tools: Toolbox,
        approve: Approve | None,
        model: str,
        max_parallel: int,
    ) -> None:
        super().__init__(socket, conversation)
        self._tools, self._group = tools, group
        self._options: dict[str, Any] = {
            "approve": approve,
            "model": model,
            "max_parallel": max_parallel,
        }

    def events(self) -> AsyncIterator[AgentLiveEvent]:  # type: ignore[override]
        """Iterate over the events, and run the calls of each answer."""
        return _AsyncEvents(self, super().events())

    async def _answer(self, calls: Sequence[ToolCall]) -> None:
        try:
            runs = await run_calls(self._tools, calls, messages=self.messages, **self._options)
            self._pending.extend(runs)  # type: ignore[arg-type]
            if results := _wanted(runs, self.open_calls):
                await self.send(*results)
        except anyio.get_cancelled_exc_class():
            raise
        except BaseException as error:
            if not self._is_left(error):
                # Whoever takes events, in whatever task, gets the end.
                with anyio.CancelScope(shield=True):
                    await self.aclose()
                raise ungrouped(error) from None


class _AsyncEvents(ForTasks):
    """Not a generator: trio warns about one that is left before its end."""

    __slots__ = ("_events", "_session")

    def __init__(self, session: AsyncAgentLiveSession, events: AsyncIterator[LiveEvent]) -> None:
        self._session, self._events = session, events

    def __aiter__(self) -> AsyncIterator[AgentLiveEvent]:
        return self

    async def __anext__(self) -> AgentLiveEvent:
        session, event = self._session, await anext(self._events)
        if calls := _to_run(event, session.open_calls, session._tools):
            session._group.start_soon(session._answer, calls)
        return event


# --- blocks ---------------------------------------------------------------------------------------


def _parts(agent: Any, kind: Any, options: LiveOptions, settings: Any) -> tuple[Any, Any, Any]:
    """Return the chat of an agent, the conversation, and what its tools need."""
    model = agent.model
    chat = model.chat if isinstance(model, CachedChat | AsyncCachedChat) else model
    if not isinstance(chat, kind):
        raise ConfigurationError(
            f"provider: a live session needs {kind.__name__}, not {type_name(chat)}"
        )
    tools = (agent.tools, agent._approve, model_name(model), agent._max_parallel)
    return chat, live_conversation(chat, options, settings), tools


@stream_block("with agent.connect(...) as session:")
def agent_block(agent: Any, options: LiveOptions, settings: Any) -> Iterator[AgentLiveSession]:
    """Open the session, and end it with the block."""
    chat, conversation, tools = _parts(agent, Chat, options, settings)
    with chat.client.connect(conversation.call) as socket:
        yield AgentLiveSession(socket, conversation, *tools)


@async_stream_block("async with agent.connect(...) as session:")
async def async_agent_block(
    agent: Any, options: LiveOptions, settings: Any
) -> AsyncIterator[AsyncAgentLiveSession]:
    """Open the session, and end it and its tools with the block."""
    chat, conversation, tools = _parts(agent, AsyncChat, options, settings)
    with without_groups():
        async with (
            chat.client.connect(conversation.call) as socket,
            anyio.create_task_group() as group,
        ):
            session = AsyncAgentLiveSession(socket, conversation, group, *tools)
            await session.begin()
            yield session
            group.cancel_scope.cancel()
