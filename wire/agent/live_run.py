"""The state of a run that is under way, which its loop, its tools and its senders change.

They are in several threads: each change is made under a lock, and reported before the next one.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Any

from wire.agent.on_disk import saved_later
from wire.agent.run_state import RunResult, RunState, StepRecord
from wire.core.arguments import checked_arguments
from wire.core.errors import ConfigurationError, HistoryError, Violation
from wire.neutral.messages import Message, Reply
from wire.tools import ToolRun


class LiveRun:
    """A run that takes messages, and that may be stopped, from any thread."""

    def __init__(self, state: RunState, on_change: Callable[[RunState], None] | None) -> None:
        self.state: RunState = state
        self._on_change = on_change
        self._records: list[StepRecord] = []
        self._compactions: list[Reply] = []
        self._resumed: tuple[ToolRun, ...] = ()
        self._lock = RLock()
        """Held while the state changes."""
        self._is_stopping = self._is_over = False
        self._joined: list[Message] = []
        """Messages that have joined the run, and that `take_joined` has not given yet."""
        self._is_asking = False
        self.is_cut: bool = False
        """Whether a message that was sent at once is to end the reply that is streamed."""
        self._wake: Callable[[], object] | None = None
        """Ends the stream that the driver reads."""

    @property
    def result(self) -> RunResult:
        """The run so far."""
        return RunResult(
            state=self.state,
            steps=tuple(self._records),
            compactions=tuple(self._compactions),
            resumed=self._resumed,
        )

    def _change(self, **fields: Any) -> None:
        with self._lock:
            self.state = self.state._changed(**fields)
            if self._on_change is not None:
                self._on_change(self.state)

    @checked_arguments(ConfigurationError)
    def send(self, message: Message, *, at_once: bool = False) -> None:
        """Let a message join the next request; `at_once` ends the reply that is streamed.

        Raises `HistoryError` if the run has ended.
        """
        if message.role not in ("user", "system", "developer"):
            problem = f"expected a message of the user, not of {message.role}"
            raise HistoryError(violations=[Violation("message.role", problem)])
        with saved_later() as save, self._lock:
            if self._is_over or self.state.reason is not None:
                problem = f"the run has ended ({self.state.reason or 'stopped'})"
                remedy = "begin another one with run(), or continue it with resume()"
                raise HistoryError(violations=[Violation("message", problem, remedy=remedy)])
            self._change(same_turn=True, inbox=(*self.state.inbox, message))
            self.is_cut = self.is_cut or (at_once and self._is_asking)
            wake = self._wake if self.is_cut else None
        if wake is not None:
            wake()
        save()  # without the lock: results of calls must not wait for a disk

    def stop(self) -> None:
        """End the run before its next request, with the reason `stopped`."""
        self._is_stopping = True

    def reading(self, wake: Callable[[], object] | None) -> None:
        """Report that a reply is streamed; `wake` ends its stream, from any thread."""
        with self._lock:
            self._wake = wake
            is_cut = self.is_cut
        if is_cut and wake is not None:
            wake()

    def take_joined(self) -> list[Message]:
        """Return the messages that have joined the run since the last time, in order."""
        joined, self._joined = self._joined, []
        return joined

    def _ended_asking(self) -> bool:
        """Note that no request is under way; return whether a message was to end its reply."""
        with self._lock:
            is_cut = self.is_cut
            self._wake, self._is_asking, self.is_cut = None, False, False
        return is_cut
