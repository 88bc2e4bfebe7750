"""Random conversations, the same for the same seed, and what is done to them."""

from __future__ import annotations

import random

from wire.neutral.messages import Media, Message, Text, Thought, ToolCall, ToolResult

NAMES = ("search", "read_file", "run")
WORDS = ("tide", "ebb", "harbour", "潮", "мель", "lighthouse at night", "été")


def text(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randint(1, 12)))


def conversation(rng: random.Random, most_turns: int = 12) -> list[Message]:
    """1 to 12 turns; the last one ends with the user's word or with results."""
    messages = [Message.system("Be brief.")] if rng.random() < 0.3 else []
    turns = rng.randint(1, most_turns)
    for number in range(turns):
        last = number == turns - 1
        messages.append(
            Message.user(
                text(rng),
                *([Media(url="https://example.com/a.png")] if rng.random() < 0.05 else []),
            )
        )
        steps = rng.choice((0, 0, 1, 1, 2, 3))
        for step in range(steps):
            messages += group(rng, f"{number}_{step}")
        if not last and (not steps or rng.random() < 0.8):
            messages.append(
                Message.assistant(*([Thought("hm")] if rng.random() < 0.2 else []), text(rng))
            )
        if rng.random() < 0.05:
            messages.append(Message.system("Still be brief."))
    return messages


def group(rng: random.Random, name: str) -> list[Message]:
    """A turn of the assistant with calls, and its results in one or several messages, in
    any order.
    """
    calls = [
        ToolCall(id=f"c{name}_{place}", name=rng.choice(NAMES), arguments={"of": text(rng)})
        for place in range(rng.randint(1, 4))
    ]
    parts = [
        *([Text(text(rng))] if rng.random() < 0.5 else []),
        *calls,
        *([Text(text(rng))] if rng.random() < 0.3 else []),
    ]
    results = [
        ToolResult(
            call.id,
            call.name,
            text(rng) if rng.random() < 0.5 else {"found": 3},
            rng.random() < 0.1,
        )
        for call in calls
    ]
    rng.shuffle(results)
    messages = [Message.assistant(*parts)]
    while results:
        size = len(results) if rng.random() < 0.6 else rng.randint(1, len(results))
        messages.append(Message.tool_response(results[:size]))
        del results[:size]
        if results and rng.random() < 0.1:
            messages.append(Message.system("And hurry."))
    return messages


def damaged(rng: random.Random, messages: list[Message]) -> list[Message]:
    """Some of the messages dropped, repeated, moved, emptied, or with a part of another one in
    them.
    """
    broken = list(messages)
    for _ in range(rng.randint(1, 6)):
        if not broken:
            break
        place, other = rng.randrange(len(broken)), rng.randrange(len(broken))
        match rng.randrange(6):
            case 0:
                del broken[place]
            case 1:
                broken.insert(other, broken[place])
            case 2:
                broken[place], broken[other] = broken[other], broken[place]
            case 3:
                broken[place] = Message(broken[place].role)
            case 4:
                broken[place] = Message(
                    broken[place].role, (*broken[place].parts, *broken[other].parts)
                )
            case _:
                broken[place] = Message(broken[place].role, broken[place].parts[:-1])
    if rng.random() < 0.1:
        rng.shuffle(broken)
    return broken
