"""Which turns can be sent: `check` finds what is out of order; ids as in docs/rules.md.

A group is one message of the assistant with calls and the tool messages that follow it: every call
has exactly one result there, in whatever order. System messages stand where they like and part
nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from wire.errors import RuleError, Violation
from wire.neutral.messages import Media, Message, Other, Part, Text, Thought, ToolCall, ToolResult
from wire.neutral.pairing import Turn, pair, same_id, turns

ALLOWED: dict[str, tuple[type[Part], ...]] = {
    "system": (Text,),
    "user": (Text, Media, Other),
    "assistant": (Text, Thought, ToolCall, Media, Other),
    "tool": (ToolResult,),
}
"""Role -> the parts that it can hold (H7)."""

NAMES: dict[type[Part], str] = {
    Text: "a text",
    Thought: "a thought",
    ToolCall: "a call",
    ToolResult: "a tool's result",
    Media: "media",
    Other: "a part of one vendor's own",
}


def check(messages: Iterable[Message]) -> list[Violation]:
    """Every rule that the turns break, in their order; what is found nowhere here can be rendered
    for every vendor.

    >>> from wire.neutral.messages import ToolCall
    >>> call = ToolCall(id="call_1", name="now")
    >>> for violation in check(
    ...     [Message.user("What time is it?"), Message.assistant(call), Message.user("Well?")]
    ... ):
    ...     print(violation)
    messages[1].parts[0]: the call of now (call_1) has no result in the messages after it [H3] (add one, or repair the messages)

    Raises `RuleError` for what is no message.
    """  # noqa: E501
    said = listed(messages)
    return violations(said, turns(said))


def violations(said: list[Message], turns: Iterable[Turn]) -> list[Violation]:
    """As `check`, for messages whose turns are known."""
    found = [*_whole(said), *_each(said), *_groups(turns)]
    return [violation for _, violation in sorted(found, key=lambda each: each[0])]


def listed(messages: Iterable[Message]) -> list[Message]:
    """The messages as a list. Raises `RuleError` for what is none."""
    if not isinstance(messages, Iterable) or isinstance(messages, (str, bytes)):
        raise RuleError(
            violations=[
                Violation(
                    "messages", f"a list of messages is wanted, not {type(messages).__name__}"
                )
            ]
        )
    said = list(messages)
    for index, message in enumerate(said):
        if not isinstance(message, Message):
            raise RuleError(
                violations=[
                    Violation(
                        f"messages[{index}]", f"a Message is wanted, not {type(message).__name__}"
                    )
                ]
            )
    return said


# Where it is, for the order of the list, and what: a message comes before its parts.
_Found = tuple[tuple[int, int], Violation]


def _whole(said: list[Message]) -> Iterator[_Found]:
    spoken = [
        (index, message.role) for index, message in enumerate(said) if message.role != "system"
    ]
    if not spoken:
        yield (-1, -1), Violation("messages", "there is no message of the user", "H1")
        return
    index, role = spoken[0]
    if role != "user":
        remedy = "begin with a message of the user"
        yield (
            (index, -1),
            Violation(f"messages[{index}]", f"the {role} has the first word", "H1", remedy=remedy),
        )
    index, role = spoken[-1]
    if role == "assistant":
        remedy = "end with a message of the user, or with the results of calls"
        yield (
            (index, -1),
            Violation(f"messages[{index}]", "the assistant has the last word", "H2", remedy=remedy),
        )


def _each(said: list[Message]) -> Iterator[_Found]:
    for index, message in enumerate(said):
        if not message.parts:
            yield (
                (index, -1),
                Violation(f"messages[{index}]", "it has no parts", "H8", remedy="leave it out"),
            )
        for place, part in enumerate(message.parts):
            if not isinstance(part, ALLOWED[message.role]):
                problem = f"{NAMES[type(part)]} cannot stand in a message of role {message.role}"
                yield (index, place), Violation(f"messages[{index}].parts[{place}]", problem, "H7")


def _groups(turns: Iterable[Turn]) -> Iterator[_Found]:
    """Calls without a result, and results without a call."""
    for turn in turns:
        known: set[str] = set()
        for (position, call), found in zip(turn.calls, turn.pairs, strict=True):
            where, path = (turn.index, position), f"messages[{turn.index}].parts[{position}]"
            named = f"{call.name} ({call.id})"
            if call.id in known:
                problem = f"two calls of one message have the id {call.id}"
                yield where, Violation(path, problem, "H6", remedy="one id for each")
            known.add(call.id)
            if found is None:
                problem = f"the call of {named} has no result in the messages after it"
                remedy = "add one, or repair the messages"
                yield where, Violation(path, problem, "H3", remedy=remedy)
        if len(turn.results) == len(turn.calls) and None not in turn.pairs:
            continue
        for at, each in enumerate(turn.results):
            if at in turn.pairs:
                continue
            named = f"{each.result.name} ({each.result.id})"
            if each.result.id in known:
                problem, rule = f"the call of {named} is answered twice", "H5"
                remedy = "leave one out"
            else:
                problem = f"the result of {named} answers no call of the turn before it"
                rule, remedy = "H4", "put it directly after its call, or leave it out"
            yield (each.message, each.position), Violation(each.path, problem, rule, remedy=remedy)


def unanswered(messages: Sequence[Message]) -> tuple[ToolCall, ...]:
    """The calls of the last turn that have no result yet."""
    calls, results = _last_turn(messages)
    pairs = pair(calls, results, same_id)
    return tuple(call for call, found in zip(calls, pairs, strict=True) if found is None)


def with_results(messages: Sequence[Message], results: Iterable[ToolResult]) -> tuple[Message, ...]:
    """The messages with more results of the last turn, in one tool message, in call order.

    >>> calls = [ToolCall(id=id, name="now") for id in ("a", "b")]
    >>> said = (Message.user("Hi"), Message.assistant(*calls))
    >>> for result in (ToolResult("b", "now", "noon"), ToolResult("a", "now", "one")):
    ...     said = with_results(said, [result])
    >>> len(said), [result.content for result in said[-1].tool_results]
    (3, ['one', 'noon'])
    """
    added = tuple(results)
    if not added:
        return tuple(messages)
    place = {call.id: index for index, call in enumerate(_last_turn(messages)[0])}
    begun = bool(messages) and messages[-1].role == "tool"
    parts: list[Part] = [*(messages[-1].parts if begun else ()), *added]
    parts.sort(key=lambda part: place.get(getattr(part, "id", ""), len(place)))
    return (*(messages[:-1] if begun else messages), Message("tool", tuple(parts)))


def _last_turn(messages: Sequence[Message]) -> tuple[list[ToolCall], list[ToolResult]]:
    """The calls at the end of the conversation, and the results that follow them.

    Neighbouring messages of the assistant are one turn.
    """
    results: list[ToolResult] = []
    calls: list[ToolCall] = []
    answering = True
    for message in reversed(messages):
        if message.role == "tool" and answering:
            results += message.tool_results
        elif message.role == "assistant":
            answering = False
            calls[:0] = message.tool_calls
        elif message.role != "system":
            break
    return calls, results
