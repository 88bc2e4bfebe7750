"""One conversation that grows: repaired as messages are added, and pruned to its limits."""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

from wire.core.arguments import checked_arguments
from wire.core.errors import ConfigurationError, RuleError, Violation
from wire.core.memory import Note, Noted
from wire.core.secret import quoted
from wire.history.order import listed, unanswered
from wire.history.prune import (
    MAX_MESSAGES,
    MAX_TOKENS,
    checked_limits,
    exceeded_limits,
    prune,
    still_over,
    tokens_of,
)
from wire.history.repair import OpenCalls, begin_of_repair, repair, repair_from
from wire.history.tokens import Estimate, estimate_tokens
from wire.neutral.messages import Message, ToolCall


class HistoryManager:
    """Holds the messages of one conversation, applying `repair` and `prune` to them.

    >>> HistoryManager([Message.user("Hi"), Message.assistant("Hello.")]).messages[1].text
    'Hello.'
    >>> history = HistoryManager(max_messages=4)
    >>> history.add_message(Message.user("What time is it?"))
    >>> history.add_message(Message.assistant(ToolCall(id="call_1", name="now")))
    >>> history.add_message(Message.user("Never mind."))
    >>> [message.role for message in history.messages]
    ['user', 'assistant', 'tool', 'user']
    >>> history.messages[2].parts[0].answer
    {'error': 'cancelled'}

    `on_open_calls="answer"` answers a call without a result with an error, as above;
    `on_open_calls="drop"` drops the calls of its turn instead. `messages` are those of an earlier
    conversation, such as a session.

    Raises `ConfigurationError` for a limit below 1 or an unknown value of `on_open_calls`,
    `RuleError` for an item of `messages` that is not a `Message`.
    """

    estimate: Estimate
    """Counts the tokens of a message."""
    max_messages: int | None
    """The maximum number of messages to send; `None`: no limit."""
    max_tokens: int | None
    """The maximum number of tokens to send, as `estimate` counts them; `None`: no limit."""

    @checked_arguments()
    def __init__(
        self,
        messages: Iterable[Message] = (),
        *,
        max_messages: int | None = MAX_MESSAGES,
        max_tokens: int | None = MAX_TOKENS,
        estimate: Estimate = estimate_tokens,
        on_open_calls: OpenCalls = "answer",
    ) -> None:
        checked_limits(max_messages, max_tokens, estimate)
        if on_open_calls not in get_args(OpenCalls):
            raise ConfigurationError(
                f"on_open_calls: expected answer or drop, not {quoted(on_open_calls)}"
            )
        self.max_messages, self.max_tokens, self.estimate = max_messages, max_tokens, estimate
        self.on_open_calls: OpenCalls = on_open_calls
        if isinstance(messages, int) or messages is None:
            raise ConfigurationError(
                f"messages: expected messages, not {quoted(messages)}; a limit is given by "
                "its name, "
                "such as max_messages="
            )
        self._stored: list[Message] = listed(messages)
        self._notes: list[Note] = []
        self._tidied = 0  # repaired messages at the beginning of `_stored`
        self._tokens: list[int] = []  # tokens of the messages at the beginning of `_stored`
        self._total = 0  # their sum
        self._counted_by = estimate
        self._one_turn = 0  # messages at the beginning of `_stored` that are one turn
        self._turn_begin: int | None = None  # index of its first message, if any
        self._tidy()

    @checked_arguments()
    def add_message(self, message: Message | None, allow_incomplete: bool = False) -> None:
        """Add a message; `None` adds nothing.

        Nothing is repaired or pruned while calls of the last turn have no result. Their results may
        arrive in several messages, which are joined. A user message in place of results closes the
        calls. `allow_incomplete=True` leaves repairing and pruning to the next `add_message`.

        Raises `RuleError` for a value that is not a `Message`.
        """
        if message is None:
            return
        self._stored.append(_message(message))
        if not allow_incomplete:
            self._tidy()

    def _tidy(self) -> None:
        """Repair and prune the stored messages, unless calls of the last turn are open.

        Only the messages since the last complete turn are repaired, and all are pruned only over a
        limit: otherwise each message would cost as much as the conversation before it.
        """
        if unanswered(self._stored):
            return
        begin = begin_of_repair(self._stored, self._tidied)
        ordered = repair_from(begin, self._stored, self._reason)
        if ordered.notes:
            self._forget(begin)
            self._stored[begin:] = ordered
            self._notes += ordered.notes
        self._tidied = len(self._stored)
        exceeded = self._exceeded()
        if exceeded and self._is_one_turn():
            self._notes.append(still_over(exceeded, self._turn_begin))
        elif exceeded:
            pruned = self._pruned(self._stored)
            self._forget(0)
            self._stored = list(pruned)
            self._notes += pruned.notes
            self._tidied = len(self._stored)

    @property
    def _reason(self) -> str | None:
        return "cancelled" if self.on_open_calls == "answer" else None

    def _exceeded(self) -> str:
        """Name the limits that the stored messages exceed; empty if none."""
        checked_limits(self.max_messages, self.max_tokens, self.estimate)
        if self.max_tokens is not None:
            if self._counted_by is not self.estimate:
                self._forget(0)
                self._counted_by = self.estimate
            added = [
                tokens_of(message, self.estimate) for message in self._stored[len(self._tokens) :]
            ]
            self._tokens += added
            self._total += sum(added)
        return exceeded_limits(len(self._stored), self._total, self.max_messages, self.max_tokens)

    def _is_one_turn(self) -> bool:
        """Return whether nothing can be dropped, because all messages are of the current turn."""
        for index in range(self._one_turn, len(self._stored)):
            message = self._stored[index]
            if message.role == "user" and self._turn_begin is not None:
                return False
            if self._turn_begin is None and not message.instructs:
                self._turn_begin = index
            self._one_turn = index + 1
        return True

    def _forget(self, begin: int) -> None:
        """Drop what was computed from the messages from this index on, which have changed."""
        self._tidied = min(self._tidied, begin)
        self._total -= sum(self._tokens[begin:])
        del self._tokens[begin:]
        self._one_turn = min(self._one_turn, begin)
        if self._turn_begin is not None and self._turn_begin >= begin:
            self._turn_begin = None

    @checked_arguments()
    def replace(self, old: Message, new: Message) -> None:
        """Replace the message `old` by `new`, such as a tool message that gained a result.

        `old` is compared by identity. `new` is added at the end if `old` is no longer there.
        Nothing is repaired or pruned. Raises `RuleError` if `new` is not a `Message`.
        """
        checked = _message(new)
        for index in reversed(range(len(self._stored))):
            if self._stored[index] is old:
                # The message may have ended the turn before it.
                self._forget(begin_of_repair(self._stored, min(index, self._tidied)))
                self._stored[index] = checked
                return
        self._stored.append(checked)

    def drop_last_turn(self) -> tuple[Message, ...]:
        """Remove the last user message and all messages after it; return them.

        >>> history = HistoryManager([Message.user("Hi"), Message.assistant("Hello.")])
        >>> history.add_message(Message.user("A question that failed."))
        >>> [message.text for message in history.drop_last_turn()], len(history)
        (['A question that failed.'], 2)

        System messages stay. Without a user message, nothing is removed.
        """
        for begin in reversed(range(len(self._stored))):
            if self._stored[begin].role == "user":
                break
        else:
            return ()
        turn = self._stored[begin:]
        self._forget(begin)
        self._stored[begin:] = [message for message in turn if message.instructs]
        return tuple(message for message in turn if not message.instructs)

    @property
    def messages(self) -> Noted[Message]:
        """The messages to send, repaired and pruned.

        Only two violations of `check` can remain: the last message is the assistant's (H2), or
        there is no user message yet (H1). Open calls are answered or dropped in this list only; the
        history itself still waits for their results. `wire.notes` of the list reports that, and
        everything that the limits have dropped so far.
        """
        ordered = repair(self._stored, open_calls=self.on_open_calls)
        if unanswered(self._stored):
            return Noted(ordered, (*self._notes, *ordered.notes))
        pruned = self._pruned(ordered)
        return Noted(pruned, (*self._notes, *ordered.notes, *pruned.notes))

    def get_history(self) -> Noted[Message]:
        """Return the messages as `messages`."""
        return self.messages

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """The calls of the last turn that have no result yet."""
        return unanswered(self._stored)

    @property
    def notes(self) -> tuple[Note, ...]:
        """Every change so far. A note's path refers to the messages at the time of the change."""
        return tuple(self._notes)

    def clear(self) -> None:
        """Remove all messages and notes."""
        self._forget(0)
        self._stored.clear()
        self._notes.clear()

    def __len__(self) -> int:
        """Return the number of stored messages, without the answers that `messages` adds."""
        return len(self._stored)

    def _pruned(self, messages: list[Message]) -> Noted[Message]:
        return prune(messages, self.max_messages, self.max_tokens, estimate=self.estimate)


def _message(message: Message) -> Message:
    if not isinstance(message, Message):
        problem = f"expected a Message, not {type(message).__name__}"
        raise RuleError(violations=[Violation("message", problem)])
    return message
