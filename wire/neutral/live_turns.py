"""The turns of a live session: what was said, and what of it the user has heard.

A model makes its sound faster than it is played. So a turn knows at which second of its sound each
piece of its words begins; of a turn that was interrupted, the words up to that second were heard.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from wire.core.errors import RuleError, Violation
from wire.core.memory import Note
from wire.core.printable import short
from wire.neutral.messages import Message, Part, Text, Thought, ToolCall, ToolResult

Speaker: TypeAlias = Literal["user", "assistant"]

SPEECH = "(speech)"
"""Stands for what the user said where the host has written nothing down."""
CANCELLED = "the call was cancelled"
BYTES_A_SAMPLE = 2


class LiveTurn:
    """One turn of the user, or one answer of the model."""

    __slots__ = (
        "calls",
        "heard",
        "key",
        "parts",
        "pieces",
        "results",
        "role",
        "seconds",
        "thoughts",
        "whole",
    )

    def __init__(self, role: Speaker, key: str = "") -> None:
        self.role: Speaker = role
        self.key = key
        self.parts: tuple[Part, ...] = ()
        """What the program gave."""
        self.pieces: list[tuple[float, str]] = []
        """Words, and the second of the sound at which they begin."""
        self.whole: str | None = None
        """All words, once the server has sent them so."""
        self.seconds = 0.0
        """Length of the sound."""
        self.heard: float | None = None
        """How much of it the user heard; `None` for all."""
        self.thoughts: list[str] = []
        self.calls: list[ToolCall] = []
        self.results: dict[str, ToolResult] = {}

    def add(self, text: str) -> None:
        """Add words, which begin where the sound is now."""
        self.pieces.append((self.seconds, text))

    @property
    def said(self) -> str:
        """All words of the turn."""
        return "".join(text for _, text in self.pieces) if self.whole is None else self.whole

    @property
    def heard_text(self) -> str:
        """The words that the user heard, to the piece."""
        if self.heard is None or self.heard >= self.seconds:
            return self.said
        return "".join(text for begin, text in self.pieces if begin < self.heard)

    def message(self, text: str) -> Message | None:
        """Return the turn as a message with these words; `None` if it has nothing."""
        parts: list[Part] = [*self.parts]
        if self.thoughts:
            parts.append(Thought("".join(self.thoughts)))
        if text:
            parts.append(Text(text))
        parts += self.calls
        return Message(self.role, tuple(parts)) if parts else None


class LiveTurns:
    """The turns of a session, in order, behind the messages before it."""

    def __init__(self, before: Iterable[Message] = ()) -> None:
        self._before = tuple(before)
        self._turns: list[LiveTurn] = []
        self._earlier = {call.id: call for each in self._before for call in each.tool_calls}
        for message in self._before:
            for result in message.tool_results:
                self._earlier.pop(result.id, None)
        self._answers: list[ToolResult] = []
        self._sent: set[str] = set()

    def add(self, turn: LiveTurn) -> LiveTurn:
        """Add the last turn."""
        self._turns.append(turn)
        return turn

    def of(self, role: Speaker, key: str) -> LiveTurn:
        """Return the turn of that key, which is added if there is none."""
        for turn in reversed(self._turns):
            if turn.key == key and turn.role == role:
                return turn
        return self.add(LiveTurn(role, key))

    @property
    def last_answer(self) -> LiveTurn | None:
        """The last answer of the model that has sound."""
        answers = (turn for turn in reversed(self._turns) if turn.role == "assistant")
        return next((turn for turn in answers if turn.seconds), None)

    # --- calls

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """The calls without a result, in order."""
        calls = (call for turn in self._turns for call in turn.calls if call.id not in turn.results)
        return (*self._earlier.values(), *calls)

    def answer(self, results: Sequence[ToolResult]) -> None:
        """Take results. Raises `RuleError` for one whose call is not open."""
        open_calls = {call.id for call in self.open_calls}
        strange = [each.id for each in results if each.id not in open_calls]
        if strange:
            problem = f"no call {short(strange[0])} is open"
            raise RuleError(violations=[Violation("tool_result.id", problem)])
        for result in results:
            if self._earlier.pop(result.id, None) is not None:
                self._answers.append(result)
            for turn in self._turns:
                if any(call.id == result.id for call in turn.calls):
                    turn.results[result.id] = result

    def cancel(self, ids: Iterable[str]) -> tuple[str, ...]:
        """Close calls whose results the server does not want; return those that were open."""
        found = [call for call in self.open_calls if call.id in set(ids)]
        self.answer([ToolResult(call.id, call.name, CANCELLED, error=True) for call in found])
        self._sent.update(call.id for call in found)
        return tuple(call.id for call in found)

    def take_results(self) -> list[ToolResult]:
        """Return the results that are to be sent, in the order of their calls.

        There are none while one is missing, and none that were returned before.
        """
        if self.open_calls:
            return []
        made = (turn.results[call.id] for turn in self._turns for call in turn.calls)
        found = [each for each in (*self._answers, *made) if each.id not in self._sent]
        self._sent.update(each.id for each in found)
        return found

    # --- messages

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation, with what the user heard. Results follow their calls."""
        answers = (Message.tool_response(*self._answers),) if self._answers else ()
        return (*self._before, *answers, *self._messages(self._turns))

    def _messages(self, turns: Iterable[LiveTurn]) -> Iterable[Message]:
        for turn in turns:
            text = turn.heard_text
            if turn.role == "user" and not (text or turn.parts):
                text = SPEECH
            if (message := turn.message(text)) is not None:
                yield message
            results = [turn.results[each.id] for each in turn.calls if each.id in turn.results]
            if results:
                yield Message.tool_response(*results)

    def after(self, turn: LiveTurn | None) -> tuple[Message, ...]:
        """Return the messages of the turns behind one of them."""
        begin = 0 if turn is None else self._turns.index(turn) + 1
        return tuple(self._messages(self._turns[begin:]))


class LiveRecord:
    """What the conversations of all wires keep: their turns, and what has been answered."""

    def __init__(self, before: Iterable[Message]) -> None:
        self._turns = LiveTurns(before)
        self._answered: LiveTurn | None = None
        """The last answer that has ended."""
        self.notes: list[Note] = []

    @property
    def messages(self) -> tuple[Message, ...]:
        """The conversation so far."""
        return self._turns.messages

    @property
    def unanswered(self) -> tuple[Message, ...]:
        """The messages of the user to which no answer has ended."""
        return tuple(each for each in self._turns.after(self._answered) if each.role == "user")

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """The calls without a result."""
        return self._turns.open_calls
