"""`prune` by example, and over 500 random conversations at every limit, rendered for Gemini."""

from __future__ import annotations

import random

import pytest

from tests.joined import joined
from tests.property import sample
from wire import gemini
from wire.core.memory import Noted, notes
from wire.errors import ConfigurationError, RuleError
from wire.history import check, estimate_tokens, prune
from wire.neutral.messages import Message, Origin, Text, Thought, ToolCall, with_origin
from wire.neutral.request import Request

from .histories import conversation


def call_and_answer(name: str) -> list[Message]:
    call = ToolCall(id=name, name="search")
    return [Message.assistant(call), Message.tool_result(call, "found")]


SYSTEM, LATER = Message.system("Be brief."), Message.system("Be briefer.")
ONE = [Message.user("one"), *call_and_answer("a"), Message.assistant("Done.")]
TWO = [Message.user("two"), Message.assistant("Done.")]
THREE = [Message.user("three"), *call_and_answer("b")]


def told(messages: list[Message]) -> list[str]:
    return [str(note) for note in notes(messages)]


def same(messages: list[Message], others: list[Message]) -> bool:
    return len(messages) == len(others) and all(
        one is other for one, other in zip(messages, others, strict=True)
    )


# --- messages -------------------------------------------------------------------------------------


@pytest.mark.row("S1-42", "S0-07")
@joined(
    ("limit", "kept"),
    [
        (9, ONE + TWO + THREE),
        (8, TWO + THREE),
        (5, TWO + THREE),
        (4, THREE),
        (3, THREE),
        (None, ONE + TWO + THREE),
    ],
)
def test_whole_oldest_turns_are_dropped(limit, kept):
    pruned = prune(ONE + TWO + THREE, limit)
    assert same(pruned, kept)
    assert bool(pruned.notes) == (len(kept) < 9)


@pytest.mark.row("S1-40")
def test_the_limits_are_50_messages_and_100_000_tokens():
    assert len(prune([Message.user("Hi")] * 60)) == 50
    assert len(prune([Message.user("a" * 40_000)] * 20, None)) == 10
    assert len(prune([Message.user("a" * 40_000)] * 20)) == 10
    assert len(prune([Message.user("a" * 40_000)] * 60, max_tokens=None)) == 50


def test_what_was_dropped_is_told():
    assert told(prune([SYSTEM, *ONE, *TWO, *THREE], 5)) == [
        "messages[1]: dropped: 2 turns, 6 messages, for the limit of 5 messages"
    ]
    assert told(prune([*ONE, LATER, *TWO, *THREE], 6)) == [
        "messages[0]: dropped: 1 turn, 4 messages, for the limit of 6 messages"
    ]
    assert (
        told(prune(ONE + TWO + THREE, 5, 1))[0]
        == "messages[0]: dropped: 2 turns, 6 messages, for the limit of 5 messages and 1 token"
    )


def test_messages_of_the_system_stay_where_they_are_and_count():
    assert same(prune([SYSTEM, *ONE, LATER, *TWO, *THREE], 7), [SYSTEM, LATER, *TWO, *THREE])
    assert same(prune([SYSTEM, *ONE, LATER, *TWO, *THREE], 6), [SYSTEM, LATER, *THREE])


@pytest.mark.row("S1-43")
@pytest.mark.parametrize("limit", [1, 2])
def test_the_current_turn_stays_whole(limit):
    pruned = prune([SYSTEM, *ONE, *TWO, *THREE], limit)
    assert same(pruned, [SYSTEM, *THREE])
    assert told(pruned)[1:] == [
        f"messages[7]: still over the limit of {limit} message{'s'[: limit - 1]}: "
        "the current turn is never cut"
    ]
    assert told(prune(THREE, 2)) == [
        "messages[0]: still over the limit of 2 messages: the current turn is never cut"
    ]


def test_neighbouring_words_of_the_user_are_turns():
    users = [Message.user(str(number)) for number in range(5)]
    assert same(prune(users, 2), users[3:])


def test_only_the_system_has_spoken():
    assert same(prune([SYSTEM, LATER], 1), [SYSTEM, LATER])
    assert prune([]) == []


def test_nobody_knows_a_turn_where_the_user_said_nothing():
    assert same(prune(call_and_answer("a"), 1), prune(call_and_answer("a"), None)) is False
    said = call_and_answer("a")
    assert same(prune(said, 1), said)
    assert same(prune([*said, *TWO], 3), TWO)


# --- tokens ---------------------------------------------------------------------------------------


@pytest.mark.row("S1-43")
def test_turns_are_dropped_until_the_tokens_fit():
    said = ONE + TWO + THREE
    whole, later, last = (sum(map(estimate_tokens, turns)) for turns in (said, TWO + THREE, THREE))
    assert same(prune(said, None, whole), said)
    assert same(prune(said, None, whole - 1), TWO + THREE)
    assert same(prune(said, None, later), TWO + THREE)
    assert same(prune(said, None, later - 1), THREE)
    assert same(prune(said, None, last - 1), THREE)
    assert told(prune(said, None, last - 1))[1] == (
        f"messages[6]: still over the limit of {last - 1} tokens: the current turn is never cut"
    )


@pytest.mark.row("S1-44")
def test_the_estimator_is_the_callers():
    asked = []

    def ten(message: Message) -> int:
        asked.append(message)
        return 10

    assert same(prune(ONE + TWO + THREE, None, 50, estimate=ten), TWO + THREE)
    assert same(asked, ONE + TWO + THREE)


def test_the_system_counts_in_tokens():
    long = Message.system("a" * 400)
    assert same(
        prune([long, *TWO, *THREE], None, 100 + sum(map(estimate_tokens, THREE))), [long, *THREE]
    )


# --- the first instruction ------------------------------------------------------------------------


@pytest.mark.row("S4-26")
def test_the_first_instruction_is_kept():
    pruned = prune([SYSTEM, *ONE, *TWO, *THREE], 7, keep_first=True)
    assert same(pruned, [SYSTEM, ONE[0], *TWO, *THREE])
    assert told(pruned) == [
        "messages[2]: dropped: 1 turn, 3 messages, for the limit of 7 messages; the "
        "user's first message stays"
    ]
    assert same(prune([SYSTEM, *ONE, *TWO, *THREE], 6, keep_first=True), [SYSTEM, ONE[0], *THREE])
    assert check(pruned) == []
    alone = prune([ONE[0], *TWO, *THREE], 4, keep_first=True)
    assert same(alone, [ONE[0], *THREE])
    assert told(alone) == [
        "messages[1]: dropped: 1 turn, 2 messages, for the limit of 4 messages; the "
        "user's first message stays"
    ]


@pytest.mark.row("S4-26")
def test_the_first_instruction_goes_if_there_is_no_room_for_it():
    assert same(prune(ONE + TWO + THREE, 3, keep_first=True), THREE)
    assert same(
        prune(
            ONE + THREE,
            100,
            8,
            keep_first=True,
            estimate=lambda message: 9 if message is ONE[0] else 1,
        ),
        THREE,
    )
    assert same(prune(ONE, 3, keep_first=True), ONE)


# --- bad input ------------------------------------------------------------------------------------


@joined("name", ["max_messages", "max_tokens"])
@joined("limit", [0, -1, 1.5, "9", True])
def test_a_limit_that_is_none_is_named(name, limit):
    with pytest.raises(
        ConfigurationError,
        match=f"{name}: expected a whole number from 1 up or None, not {limit!r}",
    ):
        prune(ONE, **{name: limit})


def test_other_bad_input_is_named():
    with pytest.raises(
        ConfigurationError,
        match="estimate: expected a function from a message to its tokens, not int",
    ):
        prune(ONE, estimate=4)
    with pytest.raises(RuleError, match=r"messages\[0\]: expected a Message, not str"):
        prune(["Hi"])


# --- random conversations -------------------------------------------------------------------------

MODELS = ("gemini-2.5-pro", "gemini-3.5-flash")
SEEDS, PART = 500, 50
in_parts = pytest.mark.parametrize(
    "begin",
    [
        pytest.param(at, marks=[pytest.mark.slow] if at // PART % 2 else [])
        for at in range(0, SEEDS, PART)
    ],
)


class Case:
    """A conversation, weighed once; `limits` are all numbers of messages, and all numbers of tokens
    at which something changes.
    """

    def __init__(self, seed: int) -> None:
        # Each limit prunes all messages again, so the cost is quadratic in the turns.
        self.said = conversation(random.Random(seed), most_turns=12 if seed % 5 == 0 else 6)
        self.weights = {id(message): estimate_tokens(message) for message in self.said}
        begins = [index for index, message in enumerate(self.said) if message.role == "user"]
        self.first, self.current = self.said[begins[0]], spoken(self.said[begins[-1] :])
        total, found = 0, [(limit, None) for limit in range(1, len(self.said) + 2)]
        for message in reversed(self.said):
            total += self.estimate(message)
            found += [(None, max(total - 1, 1)), (None, max(total, 1))]
        self.limits: list[tuple[int | None, int | None]] = [
            *found,
            (None, 1),
            (len(self.said) // 2 + 1, total // 2 + 1),
        ]

    def estimate(self, message: Message) -> int:
        return self.weights[id(message)]

    def prune(
        self, messages: list[Message], limit: tuple[int | None, int | None], **options: bool
    ) -> Noted[Message]:
        return prune(messages, *limit, estimate=self.estimate, **options)

    def is_within(self, messages: list[Message], limit: tuple[int | None, int | None]) -> bool:
        most, tokens = limit
        return (most is None or len(messages) <= most) and (
            tokens is None or sum(map(self.estimate, messages)) <= tokens
        )


def spoken(messages: list[Message]) -> list[Message]:
    return [message for message in messages if message.role != "system"]


def without_its_oldest_turn(said: list[Message]) -> list[Message]:
    begins = [index for index, message in enumerate(said) if message.role == "user"]
    return (
        [message for message in said[: begins[1]] if message.role == "system"] + said[begins[1] :]
        if len(begins) > 1
        else said
    )


@pytest.mark.row("S0-06", "S0-07", "S1-42", "S1-43")
@pytest.mark.sampled
@in_parts
@pytest.mark.parametrize("keep_first", [False, True])
def test_random_conversations_at_every_limit(keep_first, begin):
    for seed in sample(range(begin, begin + PART, 4 if keep_first else 1), 6):
        case = Case(seed)
        sent = set()
        for limit in case.limits:
            at = (seed, limit)
            pruned = case.prune(case.said, limit, keep_first=keep_first)
            kept = set(map(id, pruned))
            assert same(case.prune(pruned, limit, keep_first=keep_first), pruned), at
            assert same(
                pruned,
                [
                    message
                    for message in case.said
                    if message.role == "system" or id(message) in kept
                ],
            ), at
            assert same(spoken(pruned)[-len(case.current) :], case.current), at
            assert bool(pruned.notes) is not case.is_within(case.said, limit), at
            if not case.is_within(pruned, limit):
                assert same(spoken(pruned), case.current), at
                assert ": the current turn is never cut" in pruned.notes[-1].message, at
            if kept not in sent:
                sent.add(frozenset(kept))
                assert check(pruned) == [], at
                model = MODELS[len(sent) % 2]  # in turns: rendering is most of the time here
                request = gemini.render_request(Request(messages=tuple(pruned)), model)
                assert gemini.check(request, model) == [], (*at, model)


@pytest.mark.row("S1-43")
@in_parts
def test_no_turn_is_dropped_that_fits(begin):
    for seed in range(begin, begin + PART):
        case = Case(seed)
        for limit in case.limits:
            left = case.said
            while not case.is_within(left, limit) and len(
                shorter := without_its_oldest_turn(left)
            ) < len(left):
                left = shorter
            assert same(case.prune(case.said, limit), left), (seed, limit)


@pytest.mark.row("S4-26")
@in_parts
def test_the_first_instruction_is_there_wherever_it_fits(begin):
    for seed in range(begin, begin + PART):
        case = Case(seed)
        wanted = set(map(id, (case.first, *case.current)))
        least = [
            message for message in case.said if message.role == "system" or id(message) in wanted
        ]
        for limit in case.limits:
            there = any(
                message is case.first for message in case.prune(case.said, limit, keep_first=True)
            )
            assert there is (case.is_within(least, limit) or case.first is case.current[0]), (
                seed,
                limit,
            )


# --- thoughts that a model reads only behind what they were made after ----------------------------


def thoughtful(model: str, signature: str = "s") -> list[Message]:
    thought = Message("assistant", (Thought("Hm.", signature=signature), Text("Fine.")))
    return [Message.user("And now?"), with_origin(thought, Origin("", model, "", None))]


OPUS, FABLE = thoughtful("claude-opus-5-5"), thoughtful("anthropic/claude-fable-5.1")


@joined(
    ("messages", "told"),
    [
        ([*ONE, *OPUS, *OPUS, *THREE], ("claude-opus-5-5", "2 messages")),
        ([*OPUS, *OPUS, *THREE], ("claude-opus-5-5", "1 message")),  # the other one is dropped
        ([*ONE, *OPUS, *FABLE], ("claude-opus-5-5 and anthropic/claude-fable-5.1", "2 messages")),
        ([*ONE, *thoughtful("claude-opus-5"), *THREE], None),
        ([*ONE, *thoughtful("claude-opus-5-5", ""), *THREE], None),
        ([*OPUS, *ONE, *THREE], None),  # before the change
    ],
)
def test_thoughts_that_dropped_messages_may_cost_are_told(
    messages: list[Message], told: tuple[str, str] | None
) -> None:
    pruned = prune(messages, max_messages=len(messages) - 1)
    first, *further = [str(note) for note in pruned.notes]
    assert first.startswith("messages[0]: dropped: 1 turn")
    assert further == (
        [
            f"messages[0]: {told[0]} reads a thought only behind the messages that it was made "
            f"after, so the thoughts of {told[1]} may be lost"
        ]
        if told
        else []
    )


def test_a_conversation_that_is_not_pruned_loses_no_thoughts() -> None:
    assert prune([*ONE, *OPUS], max_messages=99).notes == ()
    assert prune(ONE * 2, max_messages=7).notes != ()
