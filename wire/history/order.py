"""Which turns can be sent: `check` finds what is out of order; ids as in docs/rules.md.

A group is one message of the assistant with calls and the tool messages that follow it: every call
has exactly one result there, in whatever order. System messages stand where they like and part
nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from wire.errors import RuleError, Violation
from wire.neutral.messages import Media, Message, Other, Part, Text, Thought, ToolCall, ToolResult

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
    found = [*_whole(said), *_each(said), *_groups(said)]
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


def _groups(said: list[Message]) -> Iterator[_Found]:
    """Calls and their results; the k-th result under an id answers the k-th call of that id."""
    waiting: dict[str, list[tuple[tuple[int, int], ToolCall]]] = {}
    known: set[str] = set()
    for index, message in enumerate(said):
        if message.role in ("user", "assistant"):
            yield from _left_open(waiting)
            waiting, known = {}, set()
        for place, part in enumerate(message.parts):
            where, path = (index, place), f"messages[{index}].parts[{place}]"
            if isinstance(part, ToolCall) and message.role == "assistant":
                if part.id in known:
                    yield (
                        where,
                        Violation(
                            path,
                            f"two calls of one message have the id {part.id}",
                            "H6",
                            remedy="one id for each",
                        ),
                    )
                known.add(part.id)
                waiting.setdefault(part.id, []).append((where, part))
            elif isinstance(part, ToolResult) and message.role == "tool":
                if part.id not in known:
                    problem = (
                        f"the result of {part.name} ({part.id}) answers no call of the turn "
                        "before it"
                    )
                    yield (
                        where,
                        Violation(
                            path,
                            problem,
                            "H4",
                            remedy="put it directly after its call, or leave it out",
                        ),
                    )
                elif not waiting[part.id]:
                    yield (
                        where,
                        Violation(
                            path,
                            f"the call of {part.name} ({part.id}) is answered twice",
                            "H5",
                            remedy="leave one out",
                        ),
                    )
                else:
                    waiting[part.id].pop(0)
    yield from _left_open(waiting)


def _left_open(waiting: dict[str, list[tuple[tuple[int, int], ToolCall]]]) -> Iterator[_Found]:
    for calls in waiting.values():
        for (index, place), call in calls:
            problem = f"the call of {call.name} ({call.id}) has no result in the messages after it"
            remedy = "add one, or repair the messages"
            yield (
                (index, place),
                Violation(f"messages[{index}].parts[{place}]", problem, "H3", remedy=remedy),
            )


def unanswered(messages: Sequence[Message]) -> tuple[ToolCall, ...]:
    """The calls of the last turn that have no result yet."""
    calls, results = _last_turn(messages)
    for id in results:
        answered = next((place for place, call in enumerate(calls) if call.id == id), None)
        if answered is not None:
            calls.pop(answered)
    return tuple(calls)


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


def _last_turn(messages: Sequence[Message]) -> tuple[list[ToolCall], list[str]]:
    """The calls at the end of the conversation, and the ids of the results that follow them.

    Neighbouring messages of the assistant are one turn.
    """
    results: list[str] = []
    calls: list[ToolCall] = []
    answering = True
    for message in reversed(messages):
        if message.role == "tool" and answering:
            results += [result.id for result in message.tool_results]
        elif message.role == "assistant":
            answering = False
            calls[:0] = message.tool_calls
        elif message.role != "system":
            break
    return calls, results
