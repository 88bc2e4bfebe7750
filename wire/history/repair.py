"""Repairs turns that cannot be sent.

Each violation of `check` is removed or answered, and each change is reported as a note.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias, get_args

import msgspec

from wire.core.arguments import checked_arguments
from wire.core.errors import ConfigurationError
from wire.core.memory import Note, Noted
from wire.core.secret import quoted
from wire.history.order import ALLOWED, NAMES, listed
from wire.neutral.messages import (
    Media,
    Message,
    Other,
    Part,
    ServerToolCall,
    ServerToolResult,
    Text,
    ToolCall,
    ToolResult,
)
from wire.neutral.pairing import CallsOfTurn, by_id, pair_by_key

OpenCalls: TypeAlias = Literal["answer", "drop"]


@checked_arguments()
def repair(
    messages: Iterable[Message], *, open_calls: OpenCalls = "answer", reason: str = "cancelled"
) -> Noted[Message]:
    """Return the messages repaired so that they can be sent.

    >>> call = ToolCall(id="call_1", name="now")
    >>> turns = [Message.user("What time is it?"), Message.assistant(call), Message.user("Stop.")]
    >>> repaired = repair(turns)
    >>> repaired[2].parts[0].answer
    {'error': 'cancelled'}
    >>> [note.path for note in repaired.notes]
    ['messages[1].parts[0]']

    A call without a result gets the error result `reason`. `open_calls="drop"` drops all calls of
    its turn instead, with their results; the other parts of the message stay. These are dropped:
    results without a call, second results, parts that the role does not allow, messages without
    parts, and messages before the first user message. Calls of one turn with equal ids get
    different ids. Arguments that are not a JSON object, such as those of a call that was cut off,
    become `{"invalid_json": text}`. Adjacent assistant messages are joined, and so are the tool
    messages of one turn.

    Unchanged messages stay the same objects; `wire.notes(result)` lists every change. Two
    violations remain: a last message of the assistant (H2), since a stored history may end there,
    and a missing user message (H1). Without a user message only system messages remain.

    Raises `RuleError` for an item that is not a `Message`, `ConfigurationError` for an unknown
    value of `open_calls`.
    """
    if open_calls not in get_args(OpenCalls):
        raise ConfigurationError(f"open_calls: expected answer or drop, not {quoted(open_calls)}")
    return repair_from(0, listed(messages), reason if open_calls == "answer" else None)


def repair_from(begin: int, messages: Sequence[Message], reason: str | None) -> Noted[Message]:
    """Repair `messages[begin:]`.

    The messages before `begin` are repaired already, and `begin` is 0 or `begin_of_repair`.
    """
    state = _Repair(reason, begun=begin > 0)
    for index in range(begin, len(messages)):
        state.take(index, messages[index])
    state.settle()
    return Noted([draft.message for draft in state.drafts if draft.parts], state.notes)


def begin_of_repair(messages: Sequence[Message], repaired: int) -> int:
    """Return the index from which to repair messages whose first `repaired` are repaired.

    This is the beginning of the last turn among them: a user message, or a message of the assistant
    after results, unless a response of the turn before continues in it.
    """
    after: tuple[ToolCall, ...] = ()  # of the assistant message that may begin a turn
    begin = 0
    for index in range(repaired - 1, 0, -1):
        message = messages[index]
        if message.role == "assistant":
            here = message.tool_calls
            if begin and not CallsOfTurn(here).continue_in(after):
                return begin
            begin, after = 0, here
            if messages[index - 1].role == "tool":
                begin = index
        elif message.role == "user":
            return begin or index
    return begin if begin and messages[0].role == "user" else 0


class _Draft:
    """A repaired message: its remaining and joined parts, each with its path in the input."""

    def __init__(self, path: str, source: Message, parts: list[tuple[str, Part]]) -> None:
        self.path, self.source, self.parts = path, source, parts

    @property
    def message(self) -> Message:
        """The source object itself if no part changed, so that its received bytes are sent."""
        parts = tuple(part for _, part in self.parts)
        same = len(parts) == len(self.source.parts) and all(map(_is, parts, self.source.parts))
        return self.source if same else msgspec.structs.replace(self.source, parts=parts)

    def join(self, other: _Draft) -> None:
        """Add the parts of `other`; the joined message is cached if one of the two is."""
        self.parts += other.parts
        if other.source.cache:
            self.source = msgspec.structs.replace(self.source, cache=True)

    @property
    def calls(self) -> list[tuple[str, ToolCall]]:
        return [(path, part) for path, part in self.parts if isinstance(part, ToolCall)]

    @property
    def results(self) -> list[tuple[str, ToolResult]]:
        return [(path, part) for path, part in self.parts if isinstance(part, ToolResult)]


def _is(one: object, other: object) -> bool:
    return one is other


class _Repair:
    """State machine over the messages, in order.

    `_turn` is the open assistant turn, `_answers` its tool messages joined into one. `settle` pairs
    the two when a message arrives that does not belong to the turn.
    """

    def __init__(self, reason: str | None, *, begun: bool) -> None:
        self.reason = reason
        """Error result of an open call; `None` drops the calls of its turn."""
        self.drafts: list[_Draft] = []
        self.notes: list[Note] = []
        self._begun = begun  # whether there was a user message
        self._turn: _Draft | None = None  # `None` after a user message
        self._turn_index = 0  # of the turn in `drafts`
        self._calls = CallsOfTurn()  # of the turn
        self._answers: _Draft | None = None

    def take(self, index: int, message: Message) -> None:
        path = f"messages[{index}]"
        draft = _Draft(path, message, self._fitting(path, message))
        if not draft.parts:
            self._note(path, "dropped: the message has no parts")
        elif message.instructs:
            self.drafts.append(draft)
        elif message.role == "user":
            self.settle()
            self._begun, self._turn, self._calls = True, None, CallsOfTurn()
            self.drafts.append(draft)
        elif not self._begun:
            self._note(path, f"dropped: the {message.role} message precedes the first user message")
        elif message.role == "assistant":
            self._take_turn(draft)
        else:
            self._take_answers(draft)

    def _fitting(self, path: str, message: Message) -> list[tuple[str, Part]]:
        parts: list[tuple[str, Part]] = []
        for position, part in enumerate(message.parts):
            here = f"{path}.parts[{position}]"
            if isinstance(part, ToolCall) and part.arguments is None:
                # The result tells the model what went wrong; the text shows the position.
                arguments = {"invalid_json": part.text}
                part = msgspec.structs.replace(part, arguments=arguments, text="")
                self._note(
                    here,
                    f"the arguments of the call of {part.name} ({part.id}) are not a JSON object: "
                    "wrapped in one as invalid_json",
                )
            if isinstance(part, ALLOWED[message.role]):
                parts.append((here, part))
            else:
                self._note(
                    here,
                    f"dropped: a message of role {message.role} cannot contain {NAMES[type(part)]}",
                )
        return parts

    def _take_turn(self, draft: _Draft) -> None:
        calls = [call for _, call in draft.calls]
        if self._answers is not None and not self._calls.continue_in(calls):
            self.settle()
        if self._turn is None:
            self._turn, self._turn_index = draft, len(self.drafts)
            self._calls = CallsOfTurn()
            self.drafts.append(draft)
        else:
            self._turn.join(draft)
            self._note(draft.path, f"joined to {self._turn.path}: one assistant turn")
        self._calls.add(calls)

    def _take_answers(self, draft: _Draft) -> None:
        if self._turn is None or not self._calls:
            for path, result in draft.results:
                self._drop_orphan(path, result)
        elif self._answers is None:
            self._answers = draft
            self.drafts.append(draft)
        else:
            self._answers.join(draft)
            self._note(draft.path, f"joined to {self._answers.path}: results of one turn")

    def settle(self) -> None:
        """End the turn: every call gets exactly one result, or all calls are dropped."""
        turn, answers = self._turn, self._answers
        self._answers = None
        if turn is None or not turn.calls:
            return
        if answers is None:
            answers = _Draft(turn.path, Message("tool"), [])
            self.drafts.insert(self._turn_index + 1, answers)
        calls = turn.calls
        pairs = self._paired(calls, answers)
        left_open = [call for position, call in enumerate(calls) if position not in pairs]
        if left_open and self.reason is None:
            self._drop_turn(turn, answers, left_open)
            return
        self._name_apart(turn, calls, answers, pairs)
        for position, (path, call) in enumerate(turn.calls):
            if position not in pairs:
                answers.parts.append(
                    (path, ToolResult(call.id, call.name, self.reason, error=True))
                )
                self._note(
                    path,
                    f"the call of {call.name} ({call.id}) had no result: answered with an "
                    f"error, {self.reason}",
                )
        self._turn, self._calls = None, CallsOfTurn()

    def _paired(self, calls: list[tuple[str, ToolCall]], answers: _Draft) -> dict[int, str]:
        """Map the position of a call to the path of its result, and drop unmatched results.

        Of several calls with one id, a result answers the first open one with its name, or the
        first open one.
        """
        results = answers.results
        positions = pair_by_key(
            [call for _, call in calls],
            [result for _, result in results],
            lambda each: (each.id, each.name),
            by_id,
        )
        pairs = {
            position: results[at][0] for position, at in enumerate(positions) if at is not None
        }
        ids = {call.id for _, call in calls}
        paired = set(pairs.values())
        for path, result in results:
            if path in paired:
                continue
            if result.id in ids:
                self._note(
                    path, f"dropped: a second result of the call of {result.name} ({result.id})"
                )
            else:
                self._drop_orphan(path, result)
        answers.parts = [(path, part) for path, part in answers.parts if path in paired]
        return pairs

    def _name_apart(
        self,
        turn: _Draft,
        calls: list[tuple[str, ToolCall]],
        answers: _Draft,
        pairs: dict[int, str],
    ) -> None:
        """Give calls with equal ids different ids, and their results the same new ids."""
        taken = {call.id for _, call in calls}
        renamed: dict[str, Part] = {}
        results = dict(answers.results)
        seen: set[str] = set()
        counts: dict[str, int] = {}
        for position, (path, call) in enumerate(calls):
            if call.id in seen:
                count = counts.get(call.id, 2)
                while (id := f"{call.id or 'call'}_{count}") in taken:
                    count += 1
                counts[call.id] = count + 1
                taken.add(id)
                renamed[path] = msgspec.structs.replace(call, id=id)
                self._note(path, f"its id is now {id}: another call of this turn has {call.id}")
                if position in pairs:
                    renamed[pairs[position]] = msgspec.structs.replace(
                        results[pairs[position]], id=id
                    )
                    self._note(pairs[position], f"its id is now {id}, the new id of its call")
            seen.add(call.id)
        for draft in (turn, answers):
            draft.parts = [(path, renamed.get(path, part)) for path, part in draft.parts]

    def _drop_turn(
        self, turn: _Draft, answers: _Draft, left_open: list[tuple[str, ToolCall]]
    ) -> None:
        """Drop all calls of the turn with all results: a model rejects an incomplete turn."""
        open_paths = {path for path, _ in left_open}
        for path, call in turn.calls:
            why = (
                "it had no result"
                if path in open_paths
                else "another call of its turn had no result"
            )
            self._note(path, f"the call of {call.name} ({call.id}) was dropped: {why}")
        for path, result in answers.results:
            self._note(path, f"the result of {result.name} ({result.id}) was dropped with its turn")
        answers.parts = []
        self._calls = CallsOfTurn()
        others = [each for each in turn.parts if not isinstance(each[1], ToolCall)]
        turn.parts = others
        if not any(_stands_alone(part) for _, part in others):
            for path, part in others:
                self._note(path, f"{NAMES[type(part)]} was dropped with its turn")
            turn.parts = []
            # Otherwise the next assistant message would be joined to a dropped one.
            self._turn = None

    def _drop_orphan(self, path: str, result: ToolResult) -> None:
        self._note(
            path,
            f"dropped: the result of {result.name} ({result.id}) answers no call of the "
            "turn before it",
        )

    def _note(self, path: str, message: str) -> None:
        self.notes.append(Note(path, message))


def _stands_alone(part: Part) -> bool:
    """Return whether the part can stand without calls; a thought or an empty text cannot."""
    return isinstance(part, (Media, ServerToolCall, ServerToolResult, Other)) or (
        isinstance(part, Text) and bool(part.text)
    )
