"""The rules of turns: `check` reports each violation. docs/rules.md lists the rule ids.

A group is one assistant message with calls plus the tool messages that follow it. Every call has
exactly one result in its group; the order of the results does not matter. System messages are
allowed at any position and do not end a group.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from wire.core.arguments import checked_arguments
from wire.core.errors import RuleError, Violation
from wire.neutral.messages import (
    Media,
    Message,
    Other,
    Part,
    ServerToolCall,
    ServerToolResult,
    Text,
    Thought,
    ToolCall,
    ToolResult,
)
from wire.neutral.pairing import Turn, by_id, pair_by_key, turns

ALLOWED: dict[str, tuple[type[Part], ...]] = {
    "system": (Text,),
    "developer": (Text,),
    "user": (Text, Media, Other),
    "assistant": (Text, Thought, ToolCall, Media, ServerToolCall, ServerToolResult, Other),
    "tool": (ToolResult,),
}
"""Role -> the types of parts that its messages may hold (H7)."""

NAMES: dict[type[Part], str] = {
    Text: "a text",
    Thought: "a thought",
    ToolCall: "a call",
    ToolResult: "a tool's result",
    Media: "media",
    ServerToolCall: "a call of a server's tool",
    ServerToolResult: "a result of a server's tool",
    Other: "a vendor-specific part",
}


@checked_arguments()
def check(messages: Iterable[Message]) -> list[Violation]:
    """Return every violation of the turn rules, in the order of the messages.

    >>> from wire.neutral.messages import ToolCall
    >>> call = ToolCall(id="call_1", name="now")
    >>> turns = [Message.user("What time is it?"), Message.assistant(call), Message.user("Well?")]
    >>> [violation] = check(turns)
    >>> violation.path, violation.rule
    ('messages[1].parts[0]', 'H3')
    >>> violation.message
    'the call of now (call_1) has no result in the messages after it'

    Messages without a violation can be rendered for every vendor; with a warning (H1, H2, H9), for
    some. Raises `RuleError` for an item that is not a `Message`.
    """
    history = listed(messages)
    return violations(history, turns(history))


def violations(
    history: Sequence[Message], turns: Iterable[Turn], others: Iterable[int] | None = None
) -> list[Violation]:
    """Check messages as `check`, if their turns are known.

    `others` is the list `others` of their `own_texts`, if the caller has it.
    """
    looked_at = range(len(history)) if others is None else others
    located = [*_ends(history), *_each(history, looked_at), *_groups(turns)]
    return [violation for _, violation in sorted(located, key=lambda each: each[0])]


def listed(messages: Iterable[Message]) -> list[Message]:
    """Return the messages as a list. Raises `RuleError` for an item that is not a `Message`."""
    if not isinstance(messages, Iterable) or isinstance(messages, (str, bytes)):
        raise RuleError(
            violations=[
                Violation("messages", f"expected a list of messages, not {type(messages).__name__}")
            ]
        )
    history = list(messages)
    for index, message in enumerate(history):
        if not isinstance(message, Message):
            raise RuleError(
                violations=[
                    Violation(
                        f"messages[{index}]", f"expected a Message, not {type(message).__name__}"
                    )
                ]
            )
    return history


# A violation with its sort key (message index, part index). The part index -1 means the message
# itself, so that a message sorts before its parts.
_Located = tuple[tuple[int, int], Violation]


def _ends(history: Sequence[Message]) -> Iterator[_Located]:
    last = len(history) - 1
    first = next((at for at, message in enumerate(history) if not message.instructs), None)
    if first is None:
        yield (-1, -1), Violation("messages", "there is no user message", "H1")
        return
    index, role = first, history[first].role
    if role != "user":
        problem, remedy = f"the first message has the role {role}", "begin with a user message"
        # A warning for an assistant message: most hosts take such a conversation, and each wire has
        # the rules of those that refuse it.
        severity = "warning" if role == "assistant" else "error"
        yield (index, -1), Violation(f"messages[{index}]", problem, "H1", severity, remedy)
    index = next(last - at for at, each in enumerate(reversed(history)) if not each.instructs)
    role = history[index].role
    if role == "assistant":
        # A warning: some hosts continue this message, and each wire has the rules of the others.
        problem = "the last message has the role assistant"
        remedy = "end with a user message, or with the results of calls"
        yield (index, -1), Violation(f"messages[{index}]", problem, "H2", "warning", remedy)


def _each(history: Sequence[Message], indexes: Iterable[int]) -> Iterator[_Located]:
    for index in indexes:
        message = history[index]
        parts = message.parts
        if len(parts) == 1 and type(parts[0]) is Text and message.role != "tool":
            continue  # true for most messages
        if not parts:
            yield (
                (index, -1),
                Violation(
                    f"messages[{index}]", "the message has no parts", "H8", remedy="leave it out"
                ),
            )
        for position, part in enumerate(parts):
            if not isinstance(part, ALLOWED[message.role]):
                path = f"messages[{index}].parts[{position}]"
                problem = f"a message of role {message.role} cannot contain {NAMES[type(part)]}"
                yield (index, position), Violation(path, problem, "H7")
            elif isinstance(part, ToolCall) and part.arguments is None:
                # A warning, because some wires send the text of the arguments unchanged.
                path = f"messages[{index}].parts[{position}]"
                problem = (
                    f"the arguments of the call of {part.name} ({part.id}) are not a JSON object"
                )
                remedy = "repair the messages: the response was cut off, or the model wrote no JSON"
                yield (
                    (index, position),
                    Violation(path, problem, "H9", severity="warning", remedy=remedy),
                )


def _groups(turns: Iterable[Turn]) -> Iterator[_Located]:
    """Yield the calls without a result, and the results without a call."""
    for turn in turns:
        known: set[str] = set()
        for located, result in zip(turn.calls, turn.pairs, strict=True):
            call, path = located.call, located.path
            where = located.message, located.position
            named = f"{call.name} ({call.id})"
            if call.id in known:
                problem = f"two calls of one message have the id {call.id}"
                yield where, Violation(path, problem, "H6", remedy="one id for each")
            known.add(call.id)
            if result is None:
                problem = f"the call of {named} has no result in the messages after it"
                remedy = "add one, or repair the messages"
                yield where, Violation(path, problem, "H3", remedy=remedy)
        if len(turn.results) == len(turn.calls) and None not in turn.pairs:
            continue
        paired = set(turn.pairs)
        for at, each in enumerate(turn.results):
            if at in paired:
                continue
            named = f"{each.result.name} ({each.result.id})"
            if each.result.id in known:
                problem, rule = f"the call of {named} has two results", "H5"
                remedy = "leave one out"
            else:
                problem = f"the result of {named} answers no call of the turn before it"
                rule, remedy = "H4", "put it directly after its call, or leave it out"
            yield (each.message, each.position), Violation(each.path, problem, rule, remedy=remedy)


def last_calls(messages: Sequence[Message]) -> list[ToolCall]:
    """Return the calls of the last turn, those with a result too."""
    return _last_turn(messages)[0]


def unanswered(messages: Sequence[Message]) -> tuple[ToolCall, ...]:
    """Return the calls of the last turn that have no result yet."""
    calls, results = _last_turn(messages)
    pairs = pair_by_key(calls, results, by_id)
    return tuple(call for call, result in zip(calls, pairs, strict=True) if result is None)


def with_results(messages: Sequence[Message], results: Iterable[ToolResult]) -> tuple[Message, ...]:
    """Add results of the last turn; one tool message holds all of them, in call order.

    >>> calls = [ToolCall(id=id, name="now") for id in ("a", "b")]
    >>> messages = (Message.user("Hi"), Message.assistant(*calls))
    >>> for result in (ToolResult("b", "now", "noon"), ToolResult("a", "now", "one")):
    ...     messages = with_results(messages, [result])
    >>> len(messages), [result.content for result in messages[-1].tool_results]
    (3, ['one', 'noon'])
    """
    added = tuple(results)
    if not added:
        return tuple(messages)
    positions = {call.id: index for index, call in enumerate(_last_turn(messages)[0])}
    extends = bool(messages) and messages[-1].role == "tool"
    parts: list[Part] = [*(messages[-1].parts if extends else ()), *added]
    parts.sort(key=lambda part: positions.get(getattr(part, "id", ""), len(positions)))
    made = (
        msgspec.structs.replace(messages[-1], parts=tuple(parts))
        if extends
        else Message("tool", tuple(parts))
    )
    return (*(messages[:-1] if extends else messages), made)


def _last_turn(messages: Sequence[Message]) -> tuple[list[ToolCall], list[ToolResult]]:
    """Return the calls at the end of the conversation, and the results that follow them.

    Neighbouring messages of the assistant are one turn.
    """
    results: list[ToolResult] = []
    of_messages: list[tuple[ToolCall, ...]] = []
    for message in reversed(messages):
        if message.role == "tool" and not of_messages:
            results += message.tool_results
        elif message.role == "assistant":
            of_messages.append(message.tool_calls)
        elif not message.instructs:
            break
    return [call for calls in reversed(of_messages) for call in calls], results
