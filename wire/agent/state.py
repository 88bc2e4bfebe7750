"""What an agent is in every style: tools, a history, and how a run begins, goes on and is remembered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from wire import retry as presets
from wire.agent.calls import Approve
from wire.agent.guard import Guard
from wire.agent.steps import RunState, Steps, Verdict, begun, resumed
from wire.chat import Message, Parts, ToolCall, ToolResult
from wire.errors import ConfigurationError
from wire.history import HistoryManager, prune
from wire.request import Tool
from wire.retry import Retry
from wire.tools import Toolbox

MAX_STEPS = 20


class AgentState:
    """Tools, history and rules of an agent; `LLMAgent` and `Agent` ask the model and run the calls.

    `tools` are functions, structs, or what `wire.tools.tool` made. `history` keeps the conversation from run to run, and limits what is
    sent of it. `approve(call)` is asked before each call. `guard` stops or steers a model that repeats itself. `stop_when(state)` is
    asked between steps. `on_error(error, call)` makes the words that the model gets of an exception. `retry` is for answers that say
    nothing, and for providers that do not try again themselves. `view(messages)` decides what is sent of them in place of the history's
    limits.
    """

    def __init__(
        self,
        *,
        system_prompt: str = "",
        tools: Iterable[Tool | Callable[..., Any]] = (),
        max_tokens: int | None = None,
        temperature: float | None = None,
        history: HistoryManager | None = None,
        approve: Approve | None = None,
        guard: Guard | None = None,
        stop_when: Callable[[RunState], bool] | None = None,
        on_error: Callable[[Exception, ToolCall], str] | None = None,
        retry: Retry = presets.RESUME_AGENT,
        view: Callable[[Sequence[Message]], Iterable[Message]] | None = None,
    ) -> None:
        if history is not None and not isinstance(history, HistoryManager):
            raise ConfigurationError(f"history: a HistoryManager is wanted, not {type(history).__name__}")
        self.system_prompt = system_prompt
        self.max_tokens, self.temperature = max_tokens, temperature
        self.history = HistoryManager() if history is None else history
        self.tools = Toolbox(tools, on_error=on_error)
        self._approve, self._guard, self._stop_when, self._retry, self._view = approve, guard, stop_when, retry, view
        self._remembered = 0
        self.last_run: Steps | None = None
        """The run that was begun last; after an error its `result` has what was done before it."""

    def register_tool(self, tool: Tool | Callable[..., Any], *, replace: bool = False) -> None:
        """Add a tool. Raises `RuleError` for a name that is taken, unless it is to be replaced."""
        self.tools.register(tool, replace=replace)

    def _begin(self, user_input: Parts | Message | None, max_steps: int | None) -> Steps:
        if user_input is not None:
            self.history.add_message(user_input if isinstance(user_input, Message) else Message.user(user_input))
        return self._steps(begun(self.history.messages), max_steps)

    def _resume(
        self, state: RunState, results: Iterable[ToolResult], verdicts: Mapping[str, Verdict] | None, max_steps: int | None
    ) -> Steps:
        """A run goes on; its messages are then the history."""
        state = resumed(state, results)
        self.history.clear()
        for message in state.messages:
            self.history.add_message(message, allow_incomplete=True)
        return self._steps(state, max_steps, verdicts)

    def _steps(self, state: RunState, max_steps: int | None, verdicts: Mapping[str, Verdict] | None = None) -> Steps:
        self._remembered = len(state.messages)
        self.last_run = Steps(
            state,
            self.tools,
            max_steps=max_steps,
            view=self._view or self._pruned,
            guard=self._guard,
            stop_when=self._stop_when,
            asks_approval=self._approve is not None,
            verdicts=verdicts,
            retry=self._retry,
        )
        return self.last_run

    def _pruned(self, messages: Sequence[Message]) -> Iterable[Message]:
        return prune(messages, self.history.max_messages, self.history.max_tokens, estimate=self.history.estimate)

    def _remember(self, steps: Steps) -> None:
        """Messages that a step has added, into the history."""
        for message in steps.state.messages[self._remembered :]:
            self.history.add_message(message, allow_incomplete=True)
        self._remembered = len(steps.state.messages)

    def _settings(self, system: str) -> dict[str, Any]:
        """What is said with each question; `system` is what the asker calls the system prompt."""
        given = {
            "tools": self.tools.definitions or None,
            system: self.system_prompt or None,
            "max_tokens": self.max_tokens,
            "temperature": self.temperature,
        }
        return {name: value for name, value in given.items() if value is not None}
