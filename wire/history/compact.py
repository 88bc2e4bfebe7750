"""A summary in place of the oldest messages of a conversation, written by a model of one's choice.

The functions say what to ask for and what to send afterwards; whoever calls them asks the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from wire.core.arguments import checked_arguments, whole_number
from wire.core.errors import RuleError, Violation
from wire.core.memory import MetadataStruct
from wire.history.order import listed
from wire.neutral.messages import Message

INSTRUCTIONS = (
    "Summarise this conversation. The summary will replace it, and you will go on with the task "
    "from the summary alone. Keep the task, what the user asked for, decisions and their reasons, "
    "facts, names, numbers and results of tools that are still needed, what is done and what is "
    "left to do. Answer with the summary only."
)
"""The question for a summary, unless the caller has another."""


class Compacted(MetadataStruct, frozen=True):
    """A summary, and how many messages at the beginning of the conversation it stands for.

    >>> talk = [Message.user("Hi"), Message.assistant("Hello."), Message.user("And now?")]
    >>> [message.role for message in Compacted(2, "They met.").applied(talk)]
    ['user', 'user']

    The conversation keeps these messages: only requests have the summary in their place.
    """

    count: int
    """The number of messages that the summary stands for."""
    summary: str
    """The text of the model."""

    @checked_arguments()
    def applied(self, messages: Iterable[Message]) -> tuple[Message, ...]:
        """Return the messages to send: the summary, and the messages after those it stands for.

        System messages stay. Raises `RuleError` for fewer messages than the summary stands for.
        """
        history = listed(messages)
        if len(history) < self.count:
            problem = f"the summary stands for {self.count} messages, and there are {len(history)}"
            raise RuleError(violations=[Violation("messages", problem)])
        text = (
            "This is a summary of the conversation before the next messages:\n\n"
            f"<summary>\n{self.summary}\n</summary>"
        )
        system = [message for message in history[: self.count] if message.instructs]
        return (*system, Message.user(text), *history[self.count :])


@checked_arguments()
def cut_for_summary(messages: Sequence[Message], keep: int = 2) -> int:
    """Return how many messages at the beginning a summary may stand for; 0 for none.

    >>> talk = [Message.user("Hi"), Message.assistant("Hello."), Message.user("And now?")]
    >>> cut_for_summary(talk, keep=1), cut_for_summary([*talk, Message.assistant("Fine.")], keep=1)
    (0, 2)

    The last `keep` replies of the model stay, each with the messages of the user before it and the
    results of its calls, so no call is cut from its result. What is after the last reply stays.
    Raises `ConfigurationError` for a `keep` below 1.
    """
    whole_number("keep", keep, least=1)
    replies = [index for index, each in enumerate(messages) if each.role == "assistant"]
    if len(replies) <= keep:
        return 0
    begin = replies[-keep]
    while begin and messages[begin - 1].role not in ("assistant", "tool"):
        begin -= 1
    # Messages of the model in a row, as one that paused leaves, are one turn.
    while begin and messages[begin].role == "assistant" and messages[begin - 1].role == "assistant":
        begin -= 1
    return begin


@checked_arguments()
def summary_request(
    messages: Sequence[Message],
    cut: int,
    before: Compacted | None = None,
    instructions: str = "",
) -> tuple[Message, ...]:
    """Return the messages of the request for a summary of the first `cut` messages.

    >>> talk = [Message.user("Hi"), Message.assistant("Hello."), Message.user("And now?")]
    >>> [message.text[:9] for message in summary_request(talk, 2)]
    ['Hi', 'Hello.', 'Summarise']

    `before` is the summary that some of them have already; the new one stands for it, too.
    """
    begin = list(messages[:cut])
    asked = begin if before is None else before.applied(begin)
    return (*asked, Message.user(instructions or INSTRUCTIONS))
