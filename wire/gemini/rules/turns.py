"""Reads the turns of a conversation once for all rules: roles, calls, and results of the calls.

Adjacent model Contents are one turn, as on the server; user Contents are not merged. Contents with
plain texts only are skipped after one look at each part, since no rule about turns concerns them.
Received Contents are read by their fields; their bytes are not parsed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from wire.core.json_values import MAX_VALUES, is_flat
from wire.core.memory import raw_of
from wire.gemini.pairing import unanswered
from wire.gemini.rules.parser import is_plain, is_text
from wire.gemini.types import Content, FunctionCall, FunctionResponse, Part


class Kinds(NamedTuple):
    """Which Contents of a request need a second look. In a long history few of them do."""

    beyond_text: list[int]
    """Indices of all that are not one plain text of the user or of the model."""
    unsure: list[int]
    """Indices of those among them with values that may have a wrong type or no form in JSON."""


def kinds_of(contents: Sequence[Any]) -> Kinds:
    """Find the kinds of parts in `contents`, whose items may have any type, in one pass.

    >>> call = Part(function_call=FunctionCall(name="now", args={}))
    >>> kinds_of([Content(role="user", parts=[Part(text="Time?")]), Content(parts=[call])])
    Kinds(beyond_text=[1], unsure=[1])

    Not unsure are received Contents, texts, and calls and results of the usual form: encoding
    refuses what is left, such as half of a surrogate pair.
    """
    beyond: list[int] = []
    built: list[int] = []  # those of them that were not received
    lists: list[Any] = []  # the parts of Contents, and the objects in them
    for index, content in enumerate(contents):
        if type(content) is not Content:
            built.append(index)
        elif raw_of(content) is None:
            parts, role = content.parts, content.role
            if (
                type(parts) is list
                and len(parts) == 1
                and is_text(parts[0])
                and type(role) is str
                and (role == "user" or role == "model")
            ):
                continue
            built.append(index)
            lists.append(parts)
        beyond.append(index)
    if _size(lists) > MAX_VALUES:
        return Kinds(beyond, beyond)
    unsure = [index for index in built if not _is_sound(contents[index], lists)]
    # One object may be the arguments of a thousand calls, and is written for each of them.
    return Kinds(beyond, unsure if _size(lists) <= MAX_VALUES else beyond)


def _size(containers: Iterable[object]) -> int:
    return sum([len(each) for each in containers if isinstance(each, _CONTAINERS)])


_CONTAINERS = (list, tuple, dict)


def _is_sound(content: object, sized: list[Any]) -> bool:
    """Return whether encoding a built Content finds all that is wrong with it.

    Objects in it, whose sizes are yet to be added up, are appended to `sized`.
    """
    if type(content) is not Content:
        return False
    if type(content.role) is not str or not isinstance(content.parts, (list, tuple)):
        return False
    for part in content.parts:
        if type(part) is not Part:
            return False
        if raw_of(part) is not None:
            continue
        if not is_plain(part):
            return False
        call, response = part.function_call, part.function_response
        value = response.response if response is not None else call.args if call else None
        if value is not None:
            if not is_flat(value):
                return False
            sized.append(value)
    return True


class Call(msgspec.Struct, gc=False):
    """A function call, its part, and the indices of its Content and part."""

    content: int
    position: int
    part: Part
    call: FunctionCall

    @property
    def path(self) -> str:
        """Path of the part."""
        return f"contents[{self.content}].parts[{self.position}]"


class Result(msgspec.Struct, gc=False):
    """A function response, its part, and the indices of its Content and part."""

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
        self.model: bool = model
        self.index: int = index
        """Index of the (first) Content."""
        self.parts: list[tuple[int, int, Part]] = []
        """Parts of Contents that have more than texts: index of the Content, position, part."""
        self.calls: Sequence[Call] = ()
        """Calls of a model turn that need a result: they have a name, and no result within the
        turn. Results within the turn are of tools that the server ran (G11).
        """
        self.results: Sequence[Result] = ()
        """Results of a user turn."""
        self.has_other_parts: bool = True
        """Whether the turn has more than results."""


class Exchange(msgspec.Struct, gc=False):
    """A model turn with calls, and the user turns before the next model turn.

    `calling` is `None` for turns that follow no call.
    """

    calling: Turn | None
    after: list[Turn]


class Conversation(msgspec.Struct):
    """The properties of a conversation that the rules need."""

    empty: list[int] = msgspec.field(default_factory=list)
    """Indices of Contents without parts."""
    roles: list[int] = msgspec.field(default_factory=list)
    """Indices of Contents of another role than user and model."""
    beyond_text: list[int] = msgspec.field(default_factory=list)
    """Indices of Contents that have more than plain texts."""
    unsure: list[int] = msgspec.field(default_factory=list)
    """Indices of Contents in which the parser may find violations."""
    turns: list[Turn] = msgspec.field(default_factory=list)
    """The turns of these Contents; empty if no part is a call or a result."""
    begin: int = -1
    """Index of the last user Content that has more than results. The current turn follows it (G24).
    """
    exchanges: list[Exchange] = msgspec.field(default_factory=list)
    """Calls and the turns that follow them. The first entry has the turns that follow no call."""


_TEXT_TURN = Turn(False, -1)
"""Stands for every user Content with texts only: rules need to know that it is there, and not what
it has.
"""


def read(contents: Sequence[Content], kinds: Kinds | None = None) -> Conversation:
    """Read the conversation. `kinds` are those of the contents, if the caller knows them.

    >>> call = Part(function_call=FunctionCall(name="now"))
    >>> conversation = read(
    ...     [Content(role="user", parts=[Part(text="Time?")]), Content(role="model", parts=[call])]
    ... )
    >>> [turn.calls[0].path for turn in conversation.turns], conversation.begin
    (['contents[1].parts[0]'], 0)
    """
    kinds = kinds or kinds_of(contents)
    conversation = Conversation(unsure=kinds.unsure)
    has_calls = False
    for index in kinds.beyond_text:
        content = contents[index]
        role = content.role
        if role != "user" and role != "model" and role is not None:
            conversation.roles.append(index)
        parts = content.parts
        if not parts:
            if raw_of(content) is None:
                conversation.empty.append(index)
            continue
        for part in parts:
            if part.text is None or (
                part.thought_signature is not None
                or part.speech_metadata is not None
                or part.function_call is not None
                or part.function_response is not None
                or part.inline_data is not None
                or part.file_data is not None
            ):
                break
        else:
            continue
        if raw_of(content) is not None and all(part.text is not None for part in parts):
            continue  # the parser checks the other fields of a text, but not in received bytes
        conversation.beyond_text.append(index)
        has_calls = has_calls or any(part.function_call or part.function_response for part in parts)
    if has_calls:
        _read_turns(conversation, contents)
    return conversation


def _read_turns(conversation: Conversation, contents: Sequence[Content]) -> None:
    """Group Contents into turns, and turns into exchanges.

    A model turn ends only at the next user Content, since adjacent model Contents continue it.
    Until then its calls are unknown: a result in a later Content of the turn answers a call of an
    earlier one.
    """
    beyond_text = frozenset(conversation.beyond_text)
    without_call = Exchange(None, [])  # turns with results that follow no call
    conversation.exchanges.append(without_call)
    exchange = without_call
    model_turn: Turn | None = None  # a turn that the next Content may continue
    for index, content in enumerate(contents):
        if index not in beyond_text:
            if content.role == "model":
                exchange = without_call if model_turn is None else exchange
                continue
            if model_turn is not None:
                exchange = _end_turn(conversation, model_turn) or without_call
                model_turn = None
            conversation.begin = index
            if exchange is not without_call:
                exchange.after.append(_TEXT_TURN)
            continue
        parts = content.parts or ()
        # A Content without a role that has a call is the model's.
        model = content.role == "model" or (
            content.role is None and any(part.function_call is not None for part in parts)
        )
        if model:
            if model_turn is None:
                exchange = without_call
                model_turn = Turn(True, index)
                conversation.turns.append(model_turn)
            model_turn.parts += [(index, position, part) for position, part in enumerate(parts)]
            continue
        if model_turn is not None:
            exchange = _end_turn(conversation, model_turn) or without_call
            model_turn = None
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
        if exchange is not without_call or turn.results:
            exchange.after.append(turn)
    if model_turn is not None:
        _end_turn(conversation, model_turn)


def _end_turn(conversation: Conversation, turn: Turn) -> Exchange | None:
    """End a model turn: set its calls that need a result, and begin their exchange if there are
    any.
    """
    # On Vertex a streamed call continues in parts without a name. They are not calls of their own.
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
    """Pair each result with its call: the call at the same position, unless another call has the id
    of the result.
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
