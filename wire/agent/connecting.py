"""`connect` of agents, beside their runs."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import TYPE_CHECKING, Any, Unpack

from wire.agent.context_cache import AsyncCachedChat, CachedChat
from wire.agent.model import model_name
from wire.agent.state import AgentState
from wire.agent.steps import Ask
from wire.core.arguments import checked_names

if TYPE_CHECKING:
    from wire.agent.live_session import AgentLiveSession, AsyncAgentLiveSession
    from wire.neutral.live import LiveOptions


class _Connects(AgentState):
    model: Any

    def _connected(self, block: Any, settings: Any) -> Any:
        """Open the block of a session with the instructions, tools and approval of the agent."""
        model = self.model
        chat = model.chat if isinstance(model, CachedChat | AsyncCachedChat) else model
        tools = (self.tools, self._approve, model_name(model), self._max_parallel)
        return block(chat, settings, self._settings(model, Ask(())), tools)


class Connects(_Connects):
    """An agent for threads that has live sessions."""

    @checked_names()
    def connect(self, **settings: Unpack[LiveOptions]) -> AbstractContextManager[AgentLiveSession]:
        """Open a live session with the model, whose calls the tools of the agent answer.

        As `Chat.connect`, with the instructions, tools and `approve` of the agent. The runs of the
        tools are among the events. Limits of a run, such as `max_steps` and budgets, do not apply:
        a session lasts until one side ends it.

        Raises `ConfigurationError` for a model that is no `Chat`, or an `AsyncChat` for `LLMAgent`.
        """
        from wire.agent.live_session import agent_block  # few agents talk

        opened: AbstractContextManager[AgentLiveSession] = self._connected(agent_block, settings)
        return opened


class AsyncConnects(_Connects):
    """An agent for asyncio and trio that has live sessions."""

    @checked_names()
    def connect(
        self, **settings: Unpack[LiveOptions]
    ) -> AbstractAsyncContextManager[AsyncAgentLiveSession]:
        """Open a live session, whose calls the tools of the agent answer. As `Agent.connect`."""
        from wire.agent.live_session import async_agent_block

        opened: AbstractAsyncContextManager[AsyncAgentLiveSession] = self._connected(
            async_agent_block, settings
        )
        return opened
