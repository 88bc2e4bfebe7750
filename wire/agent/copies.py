"""Agents with the options of another one and a history of their own, such as those of many rows."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any

from wire.agent.llm_agent import LLMAgent
from wire.agent.model import AsyncModel
from wire.agent.run_state import RunState
from wire.agent.state import AgentState
from wire.history import HistoryManager
from wire.neutral.messages import Message


def copy_of(
    agent: AgentState,
    model: AsyncModel,
    messages: Iterable[Message] = (),
    on_change: Callable[[RunState], None] | None = None,
) -> LLMAgent[Any]:
    """Build an agent for tasks with the options and tools of another one, for threads or tasks.

    Its history has these messages alone, within the limits of that of the other one. It shares the
    chat that is asked for summaries, so that the other one closes it.

    >>> agent = LLMAgent("gemini:gemini-3.8-flash", "Be brief.")
    >>> copy_of(agent, agent.model, [Message.user("Hi")]).history.messages
    [Message('user', 'Hi')]
    """
    kind = type(agent) if isinstance(agent, LLMAgent) else LLMAgent
    made = kind.__new__(kind)
    vars(made).update(vars(agent))
    made.model, made._provider = model, model
    own = agent.history
    made.history = HistoryManager(
        messages,
        max_messages=own.max_messages,
        max_tokens=own.max_tokens,
        estimate=own.estimate,
        on_open_calls=own.on_open_calls,
    )
    made._in_history, made._earlier = (), []
    made.last_run = made._health = None
    made._on_change = on_change
    if agent._long is not None:
        made._long = copy.copy(agent._long)
        made._long.known = None
    return made
