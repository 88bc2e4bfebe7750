"""Turns that cannot be sent, mended: what `check` finds is taken away or answered, and each change
is told.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias, get_args

import msgspec

from wire.core.memory import Note, Noted
from wire.errors import ConfigurationError
from wire.history.order import ALLOWED, NAMES, listed
from wire.neutral.messages import Media, Message, Other, Part, Text, ToolCall, ToolResult
from wire.neutral.pairing import pair, same_id

OpenCalls: TypeAlias = Literal["answer", "drop"]


def repair(
    messages: Iterable[Message], *, open_calls: OpenCalls = "answer", reason: str = "cancelled"
) -> Noted[Message]:
    """The messages as they can be sent; the same objects where there is nothing to mend, and
    `wire.notes(result)` tells the rest.

    >>> call = ToolCall(id="call_1", name="now")
    >>> mended = repair(
    ...     [Message.user("What time is it?"), Message.assistant(call), Message.user("Never mind.")]
    ... )
    >>> mended[2].parts[0].answer, [str(note) for note in mended.notes]
    ({'error': 'cancelled'}, ['messages[1].parts[0]: the call of now (call_1) had no result: answered with an error, cancelled'])

    A call without a result is answered with the error `reason`; `open_calls="drop"` drops all calls
    of that turn in place of it, with what results there are, and keeps what was said beside them.
    Results without a call are dropped, and so are second results, parts that cannot stand in their
    message, messages without parts, and what comes before the user's first message. Calls of one
    turn get ids of their own. Neighbouring messages of the assistant become one, and so do those
    that answer one turn.

    A history may rest after a message of the assistant, so that one stays last (H2), and without a
    word of the user nothing but the system's is left (H1); `check` finds nothing else in what is
    mended. Raises `RuleError` for what is no message, `ConfigurationError` for another way to treat
    open calls.
    """  # noqa: E501
    if open_calls not in get_args(OpenCalls):
        raise ConfigurationError(f"open_calls: answer or drop, not {open_calls!r}")
    mending = _Mending(reason if open_calls == "answer" else None)
    for index, message in enumerate(listed(messages)):
        mending.take(index, message)
    mending.settle()
    return Noted([said.message for said in mending.said if said.parts], mending.notes)


class _Said:
    """A message, and where the parts that are left of it, or were joined to it, stood."""

    def __init__(self, path: str, source: Message, parts: list[tuple[str, Part]]) -> None:
        self.path, self.source, self.parts = path, source, parts

    @property
    def message(self) -> Message:
        """The message as it was, if nothing of it has changed."""
        parts = tuple(part for _, part in self.parts)
        same = len(parts) == len(self.source.parts) and all(map(_is, parts, self.source.parts))
        return self.source if same else Message(self.source.role, parts)

    @property
    def calls(self) -> list[tuple[str, ToolCall]]:
        return [(path, part) for path, part in self.parts if isinstance(part, ToolCall)]

    @property
    def results(self) -> list[tuple[str, ToolResult]]:
        return [(path, part) for path, part in self.parts if isinstance(part, ToolResult)]


def _is(one: object, other: object) -> bool:
    return one is other


class _Mending:
    """Messages one by one; a turn of the assistant is mended when something comes that does not
    belong to it.
    """

    def __init__(self, reason: str | None) -> None:
        self.reason = reason
        """What open calls are answered with; `None`: they are dropped."""
        self.said: list[_Said] = []
        self.notes: list[Note] = []
        self._begun = False
        self._turn: _Said | None = None  # the assistant's, if it or its results came last
        self._answers: _Said | None = None

    def take(self, index: int, message: Message) -> None:
        path = f"messages[{index}]"
        said = _Said(path, message, self._fitting(path, message))
        if not said.parts:
            self._note(path, "dropped: there is nothing in it")
        elif message.role == "system":
            self.said.append(said)
        elif message.role == "user":
            self.settle()
            self._begun, self._turn = True, None
            self.said.append(said)
        elif not self._begun:
            self._note(path, f"dropped: the {message.role} spoke before the user")
        elif message.role == "assistant":
            self._take_turn(said)
        else:
            self._take_answers(said)

    def _fitting(self, path: str, message: Message) -> list[tuple[str, Part]]:
        parts: list[tuple[str, Part]] = []
        for place, part in enumerate(message.parts):
            here = f"{path}.parts[{place}]"
            if isinstance(part, ALLOWED[message.role]):
                parts.append((here, part))
            else:
                self._note(
                    here,
                    f"dropped: {NAMES[type(part)]} cannot stand in a message of role "
                    f"{message.role}",
                )
        return parts

    def _take_turn(self, said: _Said) -> None:
        if self._answers is not None:
            self.settle()
        if self._turn is None:
            self._turn = said
            self.said.append(said)
        else:
            self._turn.parts += said.parts
            self._note(said.path, f"joined to {self._turn.path}: one turn of the assistant")

    def _take_answers(self, said: _Said) -> None:
        if self._turn is None or not self._turn.calls:
            for path, result in said.results:
                self._drop_orphan(path, result)
        elif self._answers is None:
            self._answers = said
            self.said.append(said)
        else:
            self._answers.parts += said.parts
            self._note(said.path, f"joined to {self._answers.path}: results of one turn")

    def settle(self) -> None:
        """The turn is over: each of its calls gets its one result, or none is left."""
        turn, answers = self._turn, self._answers
        self._answers = None
        if turn is None or not turn.calls:
            return
        if answers is None:
            answers = _Said(turn.path, Message("tool"), [])
            self.said.insert(self.said.index(turn) + 1, answers)
        calls = turn.calls
        pairs = self._paired(calls, answers)
        left_open = [call for place, call in enumerate(calls) if place not in pairs]
        if left_open and self.reason is None:
            self._drop_turn(turn, answers, left_open)
            return
        self._name_apart(turn, calls, answers, pairs)
        for place, (path, call) in enumerate(turn.calls):
            if place not in pairs:
                answers.parts.append(
                    (path, ToolResult(call.id, call.name, self.reason, error=True))
                )
                self._note(
                    path,
                    f"the call of {call.name} ({call.id}) had no result: answered with an "
                    f"error, {self.reason}",
                )
        self._turn = None

    def _paired(self, calls: list[tuple[str, ToolCall]], answers: _Said) -> dict[int, str]:
        """Place of a call -> path of its result; results that are nobody's are dropped.

        Of calls with one id that one is meant whose name the result has, else the first that has
        none yet.
        """
        results = answers.results
        found = pair(
            [call for _, call in calls],
            [result for _, result in results],
            lambda call, result: call.id == result.id and call.name == result.name,
            same_id,
        )
        pairs = {place: results[at][0] for place, at in enumerate(found) if at is not None}
        ids = {call.id for _, call in calls}
        for path, result in results:
            if path in pairs.values():
                continue
            if result.id in ids:
                self._note(
                    path, f"dropped: a second result of the call of {result.name} ({result.id})"
                )
            else:
                self._drop_orphan(path, result)
        answers.parts = [(path, part) for path, part in answers.parts if path in pairs.values()]
        return pairs

    def _name_apart(
        self, turn: _Said, calls: list[tuple[str, ToolCall]], answers: _Said, pairs: dict[int, str]
    ) -> None:
        """An id of its own for every call of the turn, and for its result."""
        taken = {call.id for _, call in calls}
        renamed: dict[str, Part] = {}
        results = dict(answers.results)
        met: set[str] = set()
        for place, (path, call) in enumerate(calls):
            if call.id in met:
                count = 2
                while (id := f"{call.id or 'call'}_{count}") in taken:
                    count += 1
                taken.add(id)
                renamed[path] = msgspec.structs.replace(call, id=id)
                self._note(path, f"another call of this turn has the id {call.id}: it is {id} now")
                if place in pairs:
                    renamed[pairs[place]] = msgspec.structs.replace(results[pairs[place]], id=id)
                    self._note(pairs[place], f"the result follows its call to the id {id}")
            met.add(call.id)
        for said in (turn, answers):
            said.parts = [(path, renamed.get(path, part)) for path, part in said.parts]

    def _drop_turn(
        self, turn: _Said, answers: _Said, left_open: list[tuple[str, ToolCall]]
    ) -> None:
        """All calls of the turn with all results: half of a turn is no turn."""
        for path, call in turn.calls:
            why = (
                "it had no result"
                if (path, call) in left_open
                else "another call of its turn had no result"
            )
            self._note(path, f"the call of {call.name} ({call.id}) was dropped: {why}")
        for path, result in answers.results:
            self._note(path, f"the result of {result.name} ({result.id}) was dropped with its turn")
        answers.parts = []
        beside = [each for each in turn.parts if not isinstance(each[1], ToolCall)]
        turn.parts = beside
        if not any(_says(part) for _, part in beside):
            for path, part in beside:
                self._note(path, f"{NAMES[type(part)]} was dropped with its turn")
            turn.parts = []
            # What comes next is not joined to a message that is gone.
            self._turn = None

    def _drop_orphan(self, path: str, result: ToolResult) -> None:
        self._note(
            path,
            f"dropped: the result of {result.name} ({result.id}) answers no call of the "
            "turn before it",
        )

    def _note(self, path: str, message: str) -> None:
        self.notes.append(Note(path, message))


def _says(part: Part) -> bool:
    """Something that can stand without calls; thoughts alone are nothing said."""
    return isinstance(part, (Media, Other)) or (isinstance(part, Text) and bool(part.text))
