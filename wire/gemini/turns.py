"""Turns of a conversation as the `contents` that the server takes.

`contents(...)` establishes what docs/rules.md calls the invariants of a request: user turns first
and last; the calls of one model turn answered at once, by one user Content with one result for each
call, in their order, under their name and id, and with nothing beside them; user text after results
in a Content of its own (G10 to G13, S2-02). What it had to change, add or drop stands in
`wire.notes(result)`; what it will not guess is a `HistoryError`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from wire.core import json_values
from wire.core.decoders import convert
from wire.core.memory import RAW, Note, Noted, unknown, with_notes
from wire.errors import HistoryError, RuleError, Violation
from wire.gemini.families import family, signs_calls
from wire.gemini.pairing import unanswered
from wire.gemini.types import (
    Blob,
    Candidate,
    Content,
    FileData,
    FunctionCall,
    FunctionResponse,
    GenerateContentResponse,
    Part,
)
from wire.neutral.pairing import pair

PLACEHOLDER = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="
"""The documented stand-in for the signature of a call that no Gemini made, base64 of
`skip_thought_signature_validator`.

The base64 form is the one that recordings show accepted; the literal text was never recorded.
"""

Turn = str | Part | Content | Candidate | GenerateContentResponse | Sequence["Turn"]


def contents(*turns: Turn, model: str | None = None) -> Noted[Content]:
    """Contents of a request out of turns: text or parts of the user, Contents, answers as received,
    lists of these.

    >>> [
    ...     content.role
    ...     for content in contents(
    ...         "Hi", Content(role="model", parts=[Part(text="Hello.")]), "And now?"
    ...     )
    ... ]
    ['user', 'model', 'user']

    Parts that came from the wire go back in the bytes they came in. Calls of the current turn that
    no Gemini signed get the documented placeholder, unless `model` is one that does not ask for
    signatures (G24).

    Raises `HistoryError` where the order cannot be mended without inventing a turn: a conversation
    that begins with the model or ends with it, a role that does not exist.
    """
    found: list[Note] = []
    flat: list[Content] = []
    _flat(turns, "turns", found, flat)
    return _arranged(flat, model, found)


def paired_contents(turns: Sequence[Content], model: str) -> Noted[Content]:
    """As `contents`, for turns in which each result has the name and id of its call and stands in
    the order of the calls: those of a neutral conversation, which pairs them.
    """
    found: list[Note] = []
    flat: list[Content] = []
    for index, turn in enumerate(turns):
        if turn.role in ("user", "model"):
            flat.append(turn)
        else:
            _flat(turn, f"turns[{index}]", found, flat)
    return _arranged(flat, model, found, paired=True)


def _arranged(
    turns: list[Content], model: str | None, found: list[Note], *, paired: bool = False
) -> Noted[Content]:
    """Contents in the order that the server takes; with `paired`, results that have the name and id
    of their call are taken as they are.
    """
    groups = _grouped(turns, found)
    if not groups:
        raise _refused("contents", "a conversation needs at least one turn", "G4")
    if groups[0].role == "model":
        raise _refused("contents[0]", "a conversation begins with a user turn", "G10")
    result: list[Content] = []
    for index, group in enumerate(groups):
        path = f"contents[{len(result)}]"
        if group.role == "model":
            result.append(group.content(group.parts))
            continue
        calls = _open_calls(groups[index - 1].parts) if index else []
        results = [part for part in group.parts if part.function_response is not None]
        others = [part for part in group.parts if part.function_response is None]
        if paired and _are_answers(calls, results):
            answered, orphans = results, list[Part]()
        else:  # the bytes of a message may hold other calls than its parts, if a file was edited
            answered, orphans = _answers(calls, results, path, found)
        if answered:
            result.append(group.content(answered))
        for orphan in orphans:
            found.append(
                Note(
                    path, f"the result of {_name(orphan)} answers no call and was turned into text"
                )
            )
        texts = [
            _unsigned(part, path, found)
            for part in [*(said for orphan in orphans for said in _as_text(orphan, path)), *others]
        ]
        if texts:
            result.append(group.content(texts))
    if result[-1].role == "model":
        calls = _open_calls(result[-1].parts or ())
        missing = f", and its call of {calls[0].name} has no result" if calls else ""
        raise _refused(
            f"contents[{len(result) - 1}]", f"the last turn is the model's{missing}", "G15"
        )
    if model is None or asks_for_signatures(model):
        result = _signed(result, found, received=model is not None)
    return Noted(result, found)


def function_response(
    call: FunctionCall,
    result: Any = None,
    *,
    error: str | None = None,
    parts: Sequence[Any] | None = None,
) -> Part:
    """The answer to one call, under its name and, if the server gave it one, its id.

    >>> function_response(
    ...     FunctionCall(name="get_weather", id="a1"), {"temp_c": 15}
    ... ).function_response
    FunctionResponse(name='get_weather', response={'temp_c': 15}, id='a1')

    A result that is not a JSON object goes out as `{"result": ...}`, an error as `{"error": text}`.
    A result in which a key `$ref` stands goes out as text, since the server takes it for a pointer
    (G21); `wire.notes(part)` says so.

    Raises `RuleError` for what is no call, and for a result that JSON cannot say.
    """
    if not isinstance(call, FunctionCall):
        raise RuleError(
            violations=[
                Violation(
                    "function_response",
                    f"a FunctionCall is wanted, not {type(call).__name__}",
                    "G16",
                )
            ]
        )
    response = {"error": error} if error is not None else result
    return checked_response(
        call, json_values.checked(response, "function_response.response"), parts
    )


def checked_response(call: FunctionCall, result: Any, parts: Sequence[Any] | None) -> Part:
    """As `function_response`, for a result that JSON is known to represent."""
    response: Any = msgspec.to_builtins(result)
    changed = []
    if _has_ref(response):
        response = {"result": msgspec.json.encode(response).decode()}
        changed.append(
            Note("response", "sent as text, since the server takes a $ref in it for a pointer")
        )
    elif not isinstance(response, dict):
        response = {"result": response}
    answer = FunctionResponse(
        name=call.name, id=call.id, response=response, parts=list(parts) if parts else None
    )
    return with_notes(Part(function_response=answer), changed)


def asks_for_signatures(model: str) -> bool:
    """Whether the model may refuse a call of the current turn without its signature: Gemini 3 and
    later, unknown names too.
    """
    of = family(model)
    return signs_calls(of) if of.version else True


# --- turns to groups ------------------------------------------------------------------------------


def _refused(path: str, message: str, rule: str) -> HistoryError:
    return HistoryError(violations=[Violation(path, message, rule)])


def _flat(turn: Any, path: str, found: list[Note], flat: list[Content]) -> None:
    """Append the Contents that a turn is to `flat`."""
    if isinstance(turn, str):
        flat.append(Content(role="user", parts=[Part(text=turn)]))
    elif isinstance(turn, Part):
        role = "user" if turn.function_call is None else "model"
        flat.append(Content(role=role, parts=[turn]))
    elif isinstance(turn, Content):
        if turn.role not in (None, "user", "model"):
            hint = (
                "; what the system says belongs in system_instruction"
                if turn.role == "system"
                else ""
            )
            raise _refused(f"{path}.role", f"'user' or 'model', not {turn.role!r}{hint}", "G8")
        content = _typed(turn, path)
        # A received Content may lack its role, and is the model's; so is one with calls.
        ours = turn.role is None and (
            RAW in turn.__dict__
            or any(RAW in part.__dict__ or part.function_call for part in content.parts or ())
        )
        flat.append(msgspec.structs.replace(content, role="model") if ours else content)
    elif isinstance(turn, GenerateContentResponse):
        if turn.candidates:
            _flat(turn.candidates[0], f"{path}.candidates[0]", found, flat)
        else:
            found.append(Note(path, "an answer without a candidate was left out"))
    elif isinstance(turn, Candidate):
        if turn.content is not None and turn.content.parts:
            flat.append(
                turn.content
                if turn.content.role == "model"
                else msgspec.structs.replace(turn.content, role="model")
            )
        else:
            found.append(Note(path, "an answer without parts was left out"))
    elif isinstance(turn, (list, tuple)):
        for index, item in enumerate(turn):
            _flat(item, f"{path}[{index}]", found, flat)
    else:
        raise _refused(
            path,
            f"text, a Part, a Content, an answer or a list of these, not {type(turn).__name__}",
            "G4",
        )


def _typed(content: Content, path: str) -> Content:
    """The Content with its parts as Parts: plain dicts are taken where they say the same."""
    parts: Any = content.parts or ()
    if all(isinstance(part, Part) for part in parts):
        return content
    try:
        typed = [part if isinstance(part, Part) else convert(part, Part) for part in parts]
        return msgspec.structs.replace(content, parts=typed)
    except (msgspec.ValidationError, TypeError) as cause:
        raise _refused(f"{path}.parts", str(cause), "G1") from None


class _Group:
    """Neighbouring Contents of one role."""

    def __init__(self, role: str) -> None:
        self.role = role
        self.parts: list[Part] = []
        self.sources: list[Content] = []

    def content(self, parts: Sequence[Part]) -> Content:
        """The one Content it came from if that already says the same, bytes and all, else a new
        one.
        """
        source = self.sources[0]
        same = len(self.sources) == 1 and source.role == self.role and source.parts is not None
        if (
            same
            and len(source.parts or ()) == len(parts)
            and all(map(operator.is_, source.parts or (), parts))
        ):
            return source
        return Content(role=self.role, parts=list(parts))


def _grouped(turns: list[Content], found: list[Note]) -> list[_Group]:
    groups: list[_Group] = []
    for index, content in enumerate(turns):
        parts = [part for part in content.parts or () if part != Part() or unknown(part)]
        dropped = len(content.parts or ()) - len(parts)
        if dropped or not parts:
            found.append(
                Note(
                    f"turns[{index}]",
                    "an empty part was left out" if parts else "a turn without parts was left out",
                )
            )
        if not parts:
            continue
        role = str(content.role or "user")
        if not groups or groups[-1].role != role:
            groups.append(_Group(role))
        groups[-1].parts += parts
        groups[-1].sources.append(content)
    return groups


# --- calls and their results ----------------------------------------------------------------------


def _open_calls(parts: Sequence[Part]) -> list[FunctionCall]:
    """Calls that wait for a result: not those that a server ran and answered in the same Content
    (MCP, G11), and not the nameless pieces in which Vertex streams arguments."""
    calls = [
        part.function_call
        for part in parts
        if part.function_call is not None and part.function_call.name
    ]
    results = [part.function_response for part in parts if part.function_response is not None]
    return unanswered(calls, results, lambda call: call) if results else calls


def _are_answers(calls: Sequence[FunctionCall], results: Sequence[Part]) -> bool:
    """Whether there is one result for each call, in their order and under their names and ids."""
    responses = [part.function_response for part in results]
    return [(call.name, call.id) for call in calls] == [
        (each and each.name, each and each.id) for each in responses
    ]


# A result is paired by its id; without one by name, and without a name by its place: ids are not
# always given (G18).
_PAIRINGS: tuple[Callable[[FunctionCall, FunctionResponse], bool], ...] = (
    lambda call, response: bool(call.id) and call.id == response.id,
    lambda call, response: not (call.id and response.id) and call.name == response.name,
    lambda call, response: not response.name and not response.id,
)


def _answers(
    calls: Sequence[FunctionCall], results: Sequence[Part], path: str, found: list[Note]
) -> tuple[list[Part], list[Part]]:
    """One result for each call in their order, and the results that are left over."""
    left = {
        place: part.function_response
        for place, part in enumerate(results)
        if part.function_response is not None
    }
    order = list(left)
    pairs = pair(calls, list(left.values()), *_PAIRINGS)
    places = [None if found is None else order[found] for found in pairs]
    given = [place for place in places if place is not None]
    if given != sorted(given):
        found.append(Note(path, "results were put into the order of their calls"))
    answered = []
    for index, (call, place) in enumerate(zip(calls, places, strict=True)):
        here = f"{path}.parts[{index}]"
        if place is None:
            found.append(
                Note(here, f"the call of {call.name} has no result, an error was put in its place")
            )
            answered.append(function_response(call, error="no result"))
        else:
            answered.append(_fitted(results[place], call, here, found))
    return answered, [results[place] for place in order if place not in given]


def _fitted(part: Part, call: FunctionCall, path: str, found: list[Note]) -> Part:
    """The result under its call's name and id, as an object, and without a signature (G16 to G20,
    S2-11).
    """
    response = part.function_response
    assert response is not None
    fitted = response
    if response.name != call.name or response.id != call.id:
        fitted = msgspec.structs.replace(fitted, name=call.name, id=call.id)
        found.append(Note(path, f"the result was given the name and id of its call of {call.name}"))
    body: Any = json_values.checked(response.response, f"{path}.functionResponse.response")
    if body is not None and (not isinstance(body, Mapping) or _has_ref(body)):
        wrapped = function_response(call, body).function_response
        assert wrapped is not None
        fitted = msgspec.structs.replace(fitted, response=wrapped.response)
        what = (
            "sent as text, since the server takes a $ref in it for a pointer"
            if _has_ref(body)
            else "wrapped into an object"
        )
        found.append(Note(path, f"the result was {what}"))
    changed = (
        part if fitted is response else msgspec.structs.replace(part, function_response=fitted)
    )
    return _unsigned(changed, path, found)


def _unsigned(part: Part, path: str, found: list[Note]) -> Part:
    if part.thought_signature is None:
        return part
    found.append(Note(path, "a signature was dropped: only parts of the model carry one"))
    return msgspec.structs.replace(part, thought_signature=None)


def _name(part: Part) -> str:
    return (part.function_response and part.function_response.name) or "a nameless call"


def _as_text(part: Part, path: str) -> list[Part]:
    """A result in the user's words, and the media that it brought."""
    response = part.function_response
    assert response is not None
    media = [piece.inline_data for piece in response.parts or () if piece.inline_data is not None]
    files = [piece.file_data for piece in response.parts or () if piece.file_data is not None]
    result = json_values.json_text(response.response, f"{path}.functionResponse.response")
    return [
        Part(text=f"Result of {_name(part)}: {result}"),
        *(Part(inline_data=Blob(data=blob.data, mime_type=blob.mime_type)) for blob in media),
        *(
            Part(file_data=FileData(file_uri=file.file_uri, mime_type=file.mime_type))
            for file in files
        ),
    ]


def _has_ref(value: Any) -> bool:
    todo = [value]
    while todo:
        each = todo.pop()
        if isinstance(each, Mapping):
            if "$ref" in each:
                return True
            todo += each.values()
        elif isinstance(each, (list, tuple)):
            todo += each
    return False


# --- signatures -----------------------------------------------------------------------------------


def _signed(turns: list[Content], found: list[Note], *, received: bool) -> list[Content]:
    """The first call of each step of the current turn with the placeholder, if it was made
    elsewhere and has none (G24).

    The current turn begins after the last user Content that holds more than results. A call that
    came from the wire unsigned is one of a model that does not sign; it stays as it is unless
    (`received`) it is known to go to one that asks.
    """
    begin = max(
        (
            index
            for index, content in enumerate(turns)
            if content.role == "user" and _speaks(content)
        ),
        default=-1,
    )
    result = list(turns)
    for index in range(begin + 1, len(turns)):
        content = turns[index]
        parts = list(content.parts or ())
        first = next(
            (place for place, part in enumerate(parts) if part.function_call is not None), None
        )
        if content.role != "model" or first is None:
            continue
        part = parts[first]
        if part.thought_signature is None and (received or RAW not in part.__dict__):
            parts[first] = msgspec.structs.replace(part, thought_signature=PLACEHOLDER)
            result[index] = Content(role="model", parts=parts)
            found.append(
                Note(
                    f"contents[{index}].parts[{first}]",
                    "an unsigned call was given the documented placeholder",
                )
            )
    return result


def _speaks(content: Content) -> bool:
    return any(part.function_response is None for part in content.parts or ())
