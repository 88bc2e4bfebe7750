"""A conversation that grows: what is added is mended, and the oldest turns go when there is too
much of it.
"""

from __future__ import annotations

from typing import get_args

from wire.core.memory import Note, Noted
from wire.errors import ConfigurationError, RuleError, Violation
from wire.history.order import unanswered
from wire.history.prune import MAX_MESSAGES, MAX_TOKENS, checked_limits, prune
from wire.history.repair import OpenCalls, repair
from wire.history.tokens import Estimate, estimate_tokens
from wire.neutral.messages import Message, ToolCall


class HistoryManager:
    """The messages of one conversation, in order and within limits; see `repair` and `prune` for
    what happens to them.

    >>> history = HistoryManager(max_messages=4)
    >>> call = ToolCall(id="call_1", name="now")
    >>> for message in (
    ...     Message.user("What time is it?"),
    ...     Message.assistant(call),
    ...     Message.user("Never mind."),
    ... ):
    ...     history.add_message(message)
    >>> [message.role for message in history.messages]
    ['user', 'assistant', 'tool', 'user']
    >>> history.messages[2].parts[0].answer
    {'error': 'cancelled'}

    `on_open_calls="drop"` drops a turn whose calls are not answered in place of answering them.
    Raises `ConfigurationError` for a limit below 1, and for another way to treat open calls.
    """

    def __init__(
        self,
        max_messages: int | None = MAX_MESSAGES,
        max_tokens: int | None = MAX_TOKENS,
        *,
        estimate: Estimate = estimate_tokens,
        on_open_calls: OpenCalls = "answer",
    ) -> None:
        checked_limits(max_messages, max_tokens, estimate)
        if on_open_calls not in get_args(OpenCalls):
            raise ConfigurationError(f"on_open_calls: answer or drop, not {on_open_calls!r}")
        self.max_messages, self.max_tokens, self.estimate = max_messages, max_tokens, estimate
        self.on_open_calls: OpenCalls = on_open_calls
        self._stored: list[Message] = []
        self._notes: list[Note] = []

    def add_message(self, message: Message | None, allow_incomplete: bool = False) -> None:
        """Add what was said; `None` is nothing.

        While calls of the last turn are open, nothing is mended or pruned; their results may come
        in several messages, and become one. What the user says in place of results closes the
        calls. `allow_incomplete` leaves mending and pruning to a later message.

        Raises `RuleError` for what is no message.
        """
        if message is None:
            return
        self._stored.append(_message(message))
        if allow_incomplete or unanswered(self._stored):
            return
        ordered = repair(self._stored, open_calls=self.on_open_calls)
        pruned = self._pruned(ordered)
        self._stored = list(pruned)
        self._notes += (*ordered.notes, *pruned.notes)

    def replace(self, old: Message, new: Message) -> None:
        """Put `new` where the message `old` stands: a tool message to which a result was added.

        If `old` is gone, `new` is added at the end. Nothing is mended or pruned. Raises
        `RuleError` for what is no message.
        """
        checked = _message(new)
        for index in reversed(range(len(self._stored))):
            if self._stored[index] is old:
                self._stored[index] = checked
                return
        self._stored.append(checked)

    @property
    def messages(self) -> Noted[Message]:
        """What is sent: `check` finds nothing in it but that the assistant has the last word, or
        that the user has said nothing yet.

        Calls that are open are answered or dropped in it, as if the conversation went on without
        their results, and `wire.notes` of it says so; the history itself goes on waiting for these.
        """
        ordered = repair(self._stored, open_calls=self.on_open_calls)
        if unanswered(self._stored):
            return ordered
        pruned = self._pruned(ordered)
        return Noted(pruned, (*ordered.notes, *pruned.notes))

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """The calls of the last turn that wait for their results."""
        return unanswered(self._stored)

    @property
    def notes(self) -> tuple[Note, ...]:
        """What was changed or dropped so far; each path counts in the messages as they were
        then.
        """
        return tuple(self._notes)

    def clear(self) -> None:
        """Forget all messages and notes."""
        self._stored.clear()
        self._notes.clear()

    def __len__(self) -> int:
        """How many messages it keeps; an answer that only stands in for an open call is none of
        them.
        """
        return len(self._stored)

    def _pruned(self, messages: list[Message]) -> Noted[Message]:
        return prune(messages, self.max_messages, self.max_tokens, estimate=self.estimate)


def _message(message: Message) -> Message:
    if not isinstance(message, Message):
        problem = f"a Message is wanted, not {type(message).__name__}"
        raise RuleError(violations=[Violation("message", problem)])
    return message
