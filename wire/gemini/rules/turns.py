"""The turns of a conversation, read once: speakers, calls, and the results of the calls.

Adjacent model Contents are one turn, as on the server; user Contents are not merged. A conversation
of plain texts costs one look at each part. Received Contents are judged by their fields; their
bytes are not read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from wire.core.memory import RAW
from wire.gemini.pairing import unanswered
from wire.gemini.types import Content, FunctionCall, FunctionResponse, Part


@dataclass(slots=True)
class Call:
    """A call and its part."""

    content: int
    position: int
    part: Part
    call: FunctionCall

    @property
    def path(self) -> str:
        """Path of the part."""
        return f"contents[{self.content}].parts[{self.position}]"


@dataclass(slots=True)
class Result:
    """A result and its part."""

    content: int
    position: int
    part: Part
    response: FunctionResponse

    @property
    def path(self) -> str:
        """Path of the part."""
        return f"contents[{self.content}].parts[{self.position}]"


class Turn:
    """One user Content, or adjacent Contents of the model."""

    __slots__ = ("calls", "has_other_parts", "index", "model", "parts", "results")

    def __init__(self, model: bool, index: int) -> None:
        self.model = model
        self.index = index
        # Parts of Contents that have more than texts: index of the Content, position, part.
        self.parts: list[tuple[int, int, Part]] = []
        # Calls that wait for a result: they have a name, and no result within the turn. The server
        # answers its own calls there (G11).
        self.calls: Sequence[Call] = ()
        # Results of a user turn.
        self.results: Sequence[Result] = ()
        # Whether the turn has more than results.
        self.has_other_parts = True


@dataclass(slots=True)
class Exchange:
    """A model turn with calls, and the user turns before the next model turn.

    `calling` is `None` for turns that follow no call.
    """

    calling: Turn | None
    after: list[Turn]


@dataclass(slots=True)
class Conversation:
    """The properties of a conversation that the rules need."""

    empty: list[int] = field(default_factory=list)
    """Indices of Contents without parts."""
    roles: list[int] = field(default_factory=list)
    """Indices of Contents of another role than user and model."""
    beyond_text: list[int] = field(default_factory=list)
    """Indices of Contents that have more than plain texts."""
    turns: list[Turn] = field(default_factory=list)
    """The turns of these Contents; empty if no part is a call or a result."""
    begin: int = -1
    """Index of the last user Content that has more than results. The current turn follows it (G24).
    """
    exchanges: list[Exchange] = field(default_factory=list)
    """Calls and the turns that follow them. The first entry has the turns that follow no call."""


_TEXT = Turn(False, -1)


def read(contents: Sequence[Content]) -> Conversation:
    """Reads the conversation."""
    conversation = Conversation()
    speaks_of_calls = False
    for index, content in enumerate(contents):
        role = content.role
        if role != "user" and role != "model" and role is not None:
            conversation.roles.append(index)
        parts = content.parts
        if not parts:
            if RAW not in content.__dict__:
                conversation.empty.append(index)
            continue
        for part in parts:
            if part.text is None:
                break
        else:
            if RAW in content.__dict__ or not any(map(_is_more, parts)):
                continue
        conversation.beyond_text.append(index)
        speaks_of_calls = speaks_of_calls or any(
            part.function_call or part.function_response for part in parts
        )
    if speaks_of_calls:
        _turns(conversation, contents)
    return conversation


def _is_more(part: Part) -> bool:
    """Whether a text part has other fields that the parser checks."""
    return (
        part.thought_signature is not None
        or part.speech_metadata is not None
        or part.function_call is not None
        or part.function_response is not None
        or part.inline_data is not None
        or part.file_data is not None
    )


def _turns(conversation: Conversation, contents: Sequence[Content]) -> None:
    odd = frozenset(conversation.beyond_text)
    orphans = Exchange(None, [])  # turns with results that follow no call
    conversation.exchanges.append(orphans)
    exchange = orphans
    running: Turn | None = None  # the model's turn that an adjacent Content continues
    for index, content in enumerate(contents):
        parts = content.parts or () if index in odd else ()
        # A Content without a role that has a call is the model's.
        model = content.role == "model" or (
            content.role is None and any(part.function_call is not None for part in parts)
        )
        if model:
            if running is None:
                exchange = orphans
                if parts:
                    running = Turn(True, index)
                    conversation.turns.append(running)
            if running is not None:
                running.parts += [(index, position, part) for position, part in enumerate(parts)]
            continue
        if running is not None:
            exchange = _closed(conversation, running) or orphans
            running = None
        turn = _TEXT
        if parts:
            turn = Turn(False, index)
            turn.parts += [(index, position, part) for position, part in enumerate(parts)]
            turn.results = [
                Result(index, position, part, part.function_response)
                for _, position, part in turn.parts
                if part.function_response is not None
            ]
            turn.has_other_parts = len(turn.results) < len(parts)
            conversation.turns.append(turn)
        if turn.has_other_parts:
            conversation.begin = index
        if exchange is not orphans or turn.results:
            exchange.after.append(turn)
    if running is not None:
        _closed(conversation, running)


def _closed(conversation: Conversation, turn: Turn) -> Exchange | None:
    """Ends a turn of the model: keeps its calls that wait for a result."""
    # On Vertex a streamed call continues in parts without a name, which are no calls of their own.
    calls = [
        Call(index, position, part, part.function_call)
        for index, position, part in turn.parts
        if part.function_call is not None and part.function_call.name
    ]
    results = [each.function_response for _, _, each in turn.parts if each.function_response]
    calls = unanswered(calls, results, lambda call: call.call)
    turn.calls = calls
    if not calls:
        return None
    exchange = Exchange(turn, [])
    conversation.exchanges.append(exchange)
    return exchange


def pairs(calls: Sequence[Call], results: Sequence[Result]) -> list[tuple[Call, Result]]:
    """Each result with its call: the call of the same position, unless another call has the id of
    the result.
    """
    by_id = {call.call.id: call for call in calls if call.call.id}
    return [
        (
            call
            if call.call.id == result.response.id
            else by_id.get(result.response.id or "", call),
            result,
        )
        for call, result in zip(calls, results, strict=False)
    ]
