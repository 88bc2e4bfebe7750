"""Puts the turns of a conversation into the order that the server requires of `contents`.

`contents(...)` establishes the invariants of a request that docs/rules.md lists (G10 to G13,
S2-02):

- The first and the last turn are the user's.
- The user Content directly after a model turn with calls has one result for each call, in the order
  of the calls, with their names and ids, and no other parts.
- User text after results is in a Content of its own.

`wire.notes(result)` lists what was changed, added or dropped. A conversation whose order cannot be
repaired without inventing a turn is a `HistoryError`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec

from wire.core import json_values
from wire.core.arguments import checked_arguments
from wire.core.decoders import convert, decoder
from wire.core.errors import HistoryError, RuleError, Violation
from wire.core.memory import Note, Noted, raw_of, unknown, with_notes
from wire.core.secret import quoted
from wire.gemini.families import family, signs_calls
from wire.gemini.pairing import keys_of_call, keys_of_response, unanswered
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
from wire.neutral.pairing import Keys, pair

PLACEHOLDER = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="
"""The documented signature for a call that no Gemini model made: base64 of
`skip_thought_signature_validator`.

Recorded requests with the base64 form were accepted; the literal text was never recorded.
"""

Turn = str | Part | Content | Candidate | GenerateContentResponse | Sequence["Turn"]
"""An argument of `contents`. A text, or a Part without a call, is a user turn; a Candidate or a
response is a model turn.
"""


@checked_arguments()
def contents(*turns: Turn, model: str | None = None) -> Noted[Content]:
    """Build the `contents` of a request from turns: texts, parts, Contents, responses, and lists of
    these.

    >>> [
    ...     content.role
    ...     for content in contents(
    ...         "Hi", Content(role="model", parts=[Part(text="Hello.")]), "And now?"
    ...     )
    ... ]
    ['user', 'model', 'user']

    A response is passed as received, before the results of its calls:

    >>> call = Part(function_call=FunctionCall(name="now"))
    >>> result = function_response(call.function_call, "12:00")
    >>> [content.role for content in contents("Time?", call, result, model="gemini-3.8-flash")]
    ['user', 'model', 'user']

    Received parts are sent back in their original bytes. An unsigned call at the begin of a step
    gets `PLACEHOLDER` as its signature, unless `model` is a model that needs no signatures (G24).
    Calls of earlier turns get it too, since newer models refuse a history of which only some calls
    are signed (G27).

    Raises `HistoryError` for a conversation that begins or ends with the model, and for an unknown
    role.
    """
    report: list[Note] = []
    flat: list[Content] = []
    _flat(turns, "turns", report, flat)
    return _ordered(flat, model, report)


def paired_contents(
    turns: Sequence[Content], model: str, paths: Mapping[int, str] = MappingProxyType({})
) -> Noted[Content]:
    """Build the `contents` for the turns of a neutral conversation, as `contents`.

    Its results have the names and ids of their calls, and are in the order of the calls.

    `paths` maps the `id` of a part with a call to the path of its message, for notes.
    """
    report: list[Note] = []
    flat: list[Content] = []
    for index, turn in enumerate(turns):
        if turn.role in ("user", "model"):
            flat.append(turn)
        else:
            _flat(turn, f"turns[{index}]", report, flat)
    return _ordered(flat, model, report, paths, paired=True)


def _ordered(
    turns: list[Content],
    model: str | None,
    report: list[Note],
    paths: Mapping[int, str] = MappingProxyType({}),
    *,
    paired: bool = False,
) -> Noted[Content]:
    """Put the Contents in the order that the server requires.

    With `paired`, results that already match their calls are not paired again.
    """
    groups = _grouped(turns, report)
    if not groups:
        raise _refused("contents", "a conversation must have at least one turn", "G4")
    # At the neutral door the model may begin and end: the rules of the host judge its request.
    if groups[0].role == "model" and not paired:
        raise _refused("contents[0]", "a conversation must begin with a user turn", "G10")
    result: list[Content] = []
    calling: list[int] = []  # indices of model turns that may have calls
    for index, group in enumerate(groups):
        is_models = group.role == "model"
        if is_models or (group.is_text and (not index or groups[index - 1].is_text)):
            if is_models and not group.is_text:
                calling.append(len(result))
            result.append(group.only or Content(role=group.role, parts=group.parts))
            continue
        path = f"contents[{len(result)}]"
        calls = _open_calls(groups[index - 1].parts) if index else []
        results = [part for part in group.parts if part.function_response is not None]
        others = [part for part in group.parts if part.function_response is None]
        if paired and _match(calls, results):
            matched, orphans = results, list[Part]()
        else:
            # Also for a neutral conversation: the remembered bytes of a message may have other
            # calls than its parts, if the file of the conversation was edited.
            matched, orphans = _paired(calls, results, path, report)
        if matched:
            result.append(group.content(matched))
        for orphan in orphans:
            report.append(
                Note(
                    path, f"the result of {_name(orphan)} answers no call and was turned into text"
                )
            )
        # A second user Content: other parts beside results are refused (G13, G14).
        texts = [part for orphan in orphans for part in _as_text(orphan, path)]
        rest = [_unsigned(part, path, report) for part in [*texts, *others]]
        if rest:
            result.append(group.content(rest))
    if result[-1].role == "model" and not paired:
        calls = _open_calls(result[-1].parts or ())
        missing = f", and its call of {calls[0].name} has no result" if calls else ""
        raise _refused(
            f"contents[{len(result) - 1}]", f"the last turn is the model's{missing}", "G15"
        )
    if model is None or asks_for_signatures(model):
        _sign(result, calling, report, paths, received=model is not None)
    return Noted(result, report)


@checked_arguments()
def function_response(
    call: FunctionCall,
    result: Any = None,
    *,
    error: str | None = None,
    parts: Sequence[Any] | None = None,
) -> Part:
    """Build the result of one call, with the name of the call and, if the call has one, its id.

    >>> function_response(
    ...     FunctionCall(name="get_weather", id="a1"), {"temp_c": 15}
    ... ).function_response
    FunctionResponse(name='get_weather', response={'temp_c': 15}, id='a1')

    A result that is not a JSON object is sent as `{"result": ...}`, an error as `{"error": text}`.
    A result with a key `$ref` is sent as text, since the server reads that key as a reference
    (G21); `wire.notes(part)` reports it. `parts` are `FunctionResponsePart`s with media.

    Raises `RuleError` if `call` is not a `FunctionCall`, and for a result that JSON cannot express.
    """
    if not isinstance(call, FunctionCall):
        raise RuleError(
            violations=[
                Violation(
                    "function_response",
                    f"expected a FunctionCall, not {type(call).__name__}",
                    "G16",
                )
            ]
        )
    response = {"error": error} if error is not None else result
    return checked_response(
        call, json_values.checked(response, "function_response.response"), parts
    )


def checked_response(call: FunctionCall, result: Any, parts: Sequence[Any] | None) -> Part:
    """Build the part of `function_response` for a result that JSON is known to represent."""
    return with_notes(*response_part(call, result, parts))


def response_part(
    call: FunctionCall, result: Any, parts: Sequence[Any] | None
) -> tuple[Part, list[Note]]:
    """Return the part of `checked_response`, and its notes."""
    try:
        response: Any = msgspec.to_builtins(result)
    except TypeError:  # a `msgspec.Raw`, which only the encoder knows
        try:
            response = decoder(Any).decode(msgspec.json.encode(result))
        except msgspec.DecodeError:
            raise RuleError(
                violations=[Violation("function_response.response", "a Raw in it is not JSON")]
            ) from None
    report = []
    if _has_ref(response):
        response = {"result": msgspec.json.encode(response).decode()}
        report.append(
            Note("response", "sent as text, since the server reads its key $ref as a reference")
        )
    elif not isinstance(response, dict):
        response = {"result": response}
    message = FunctionResponse(
        name=call.name, id=call.id, response=response, parts=list(parts) if parts else None
    )
    return Part(function_response=message), report


def asks_for_signatures(model: str) -> bool:
    """Return whether the model may refuse a call of the current turn without its signature.

    True for Gemini 3 and later, and for names without a version.
    """
    of = family(model)
    return signs_calls(of) if of.version else True


# --- turns to groups ------------------------------------------------------------------------------


def _refused(path: str, message: str, rule: str) -> HistoryError:
    return HistoryError(violations=[Violation(path, message, rule)])


def _flat(turn: Any, path: str, report: list[Note], flat: list[Content]) -> None:
    """Append the Contents of one argument to `flat`."""
    if isinstance(turn, str):
        flat.append(Content(role="user", parts=[Part(text=turn)]))
    elif isinstance(turn, Part):
        role = "user" if turn.function_call is None else "model"
        flat.append(Content(role=role, parts=[turn]))
    elif isinstance(turn, Content):
        if turn.role not in (None, "user", "model"):
            hint = "; system text belongs in system_instruction" if turn.role == "system" else ""
            raise _refused(
                f"{path}.role", f"expected 'user' or 'model', not {quoted(turn.role)}{hint}", "G8"
            )
        content = _typed(turn, path)
        # Responses may lack the role. Without it the server would read the Content as a user turn,
        # so that a received Content, and one with calls, gets the role of the model.
        is_models = turn.role is None and (
            raw_of(turn) is not None
            or any(raw_of(part) is not None or part.function_call for part in content.parts or ())
        )
        flat.append(msgspec.structs.replace(content, role="model") if is_models else content)
    elif isinstance(turn, GenerateContentResponse):
        if turn.candidates:
            _flat(turn.candidates[0], f"{path}.candidates[0]", report, flat)
        else:
            report.append(Note(path, "a response without candidates was left out"))
    elif isinstance(turn, Candidate):
        if turn.content is not None and turn.content.parts:
            flat.append(
                turn.content
                if turn.content.role == "model"
                else msgspec.structs.replace(turn.content, role="model")
            )
        else:
            report.append(Note(path, "a response without parts was left out"))
    elif isinstance(turn, (list, tuple)):
        for index, item in enumerate(turn):
            _flat(item, f"{path}[{index}]", report, flat)
    else:
        raise _refused(
            path,
            "expected a text, a Part, a Content, a response or a list of these, not "
            f"{type(turn).__name__}",
            "G4",
        )


def _typed(content: Content, path: str) -> Content:
    """Convert the dicts among the parts of the Content to Parts."""
    parts: Any = content.parts or ()
    if all(isinstance(part, Part) for part in parts):
        return content
    try:
        typed = [part if isinstance(part, Part) else convert(part, Part) for part in parts]
        return msgspec.structs.replace(content, parts=typed)
    except (msgspec.ValidationError, TypeError) as cause:
        raise _refused(f"{path}.parts", str(cause), "G1") from None


class _Group(msgspec.Struct, gc=False):
    """Adjacent Contents of one role."""

    role: str
    parts: list[Part]
    """The parts that are not empty."""
    is_text: bool
    """Whether all parts are texts without signatures."""
    only: Content | None
    """The original, if it has this role and exactly these parts. No other Content has the
    remembered bytes, with their white space and unknown keys.
    """

    def content(self, parts: Sequence[Part]) -> Content:
        """Return the Content with the given parts; the original Content if they are unchanged."""
        same = len(parts) == len(self.parts) and all(map(operator.is_, parts, self.parts))
        if same and self.only is not None:
            return self.only
        return Content(role=self.role, parts=list(parts))


def _grouped(turns: list[Content], report: list[Note]) -> list[_Group]:
    """Group adjacent Contents of one role, without empty parts and empty Contents."""
    groups: list[_Group] = []
    last: _Group | None = None
    for index, content in enumerate(turns):
        own = content.parts or ()
        if len(own) == 1 and own[0].text and _is_text(own[0]):  # as in most of a long history
            parts, whole, is_text = [*own], True, True
        else:
            # Unknown keys alone are a part too: one of a kind that this version does not know.
            parts = [part for part in own if part != _EMPTY or unknown(part)]
            whole, is_text = len(parts) == len(own), all(map(_is_text, parts))
            if not whole or not parts:
                left_out = "an empty part" if parts else "a turn without parts"
                report.append(Note(f"turns[{index}]", f"{left_out} was left out"))
            if not parts:
                continue
        role = str(content.role or "user")
        if last is None or last.role != role:
            same = whole and content.role == role
            last = _Group(role, parts, is_text, content if same else None)
            groups.append(last)
        else:
            last.parts += parts
            last.is_text = last.is_text and is_text
            last.only = None
    return groups


_EMPTY = Part()


def _is_text(part: Part) -> bool:
    return (
        part.text is not None
        and part.thought_signature is None
        and part.function_call is None
        and part.function_response is None
    )


# --- calls and their results ----------------------------------------------------------------------


def _open_calls(parts: Sequence[Part]) -> list[FunctionCall]:
    """Return the calls that need a result.

    Left out are calls whose result is in the same Content, since the server ran them (MCP, G11),
    and parts without a name, which are pieces of a call that Vertex streamed.
    """
    calls = [
        part.function_call
        for part in parts
        if part.function_call is not None and part.function_call.name
    ]
    results = [part.function_response for part in parts if part.function_response is not None]
    return unanswered(calls, results, lambda call: call) if results else calls


def _match(calls: Sequence[FunctionCall], results: Sequence[Part]) -> bool:
    """Return whether there is one result for each call, in the order of the calls, with their names
    and ids.
    """
    responses = [part.function_response for part in results]
    return [(call.name, call.id) for call in calls] == [
        (each and each.name, each and each.id) for each in responses
    ]


# In this order: by id; by name if one of the two lacks an id, since models before 3.5 give none
# (G18); by position if the result has neither.
_PAIRINGS: tuple[tuple[Callable[[FunctionCall], Keys], Callable[[FunctionResponse], Keys]], ...] = (
    (
        lambda call: (call.id,) if call.id else (),
        lambda response: (response.id,) if response.id else (),
    ),
    (keys_of_call, keys_of_response),
    (lambda call: ("",), lambda response: () if response.name or response.id else ("",)),
)


def _paired(
    calls: Sequence[FunctionCall], results: Sequence[Part], path: str, report: list[Note]
) -> tuple[list[Part], list[Part]]:
    """Return one result for each call, in the order of the calls, and the results without a call.

    `results` are the parts with a function response. A call without a result gets an error as its
    result, since the server refuses a turn in which one is missing (G12).
    """
    responses = [part.function_response for part in results if part.function_response is not None]
    positions: list[int | None] = (
        list(range(len(calls))) if _match(calls, results) else pair(calls, responses, *_PAIRINGS)
    )
    used = [position for position in positions if position is not None]
    if used != sorted(used):
        report.append(Note(path, "results were put into the order of their calls"))
    paired = []
    for index, (call, position) in enumerate(zip(calls, positions, strict=True)):
        part_path = f"{path}.parts[{index}]"
        if position is None:
            report.append(
                Note(
                    part_path,
                    f"the call of {call.name} has no result; an error was sent as its result",
                )
            )
            paired.append(function_response(call, error="no result"))
        else:
            paired.append(_fitted(results[position], call, part_path, report))
    matched = set(used)
    orphans = [part for position, part in enumerate(results) if position not in matched]
    return paired, orphans


def _fitted(part: Part, call: FunctionCall, path: str, report: list[Note]) -> Part:
    """Return the result with the name and id of its call, as an object, and without a signature
    (G16 to G20, S2-11).
    """
    response = part.function_response
    assert response is not None
    fitted = response
    if response.name != call.name or response.id != call.id:
        fitted = msgspec.structs.replace(fitted, name=call.name, id=call.id)
        report.append(
            Note(path, f"the result was given the name and id of its call of {call.name}")
        )
    body: Any = json_values.checked(response.response, f"{path}.functionResponse.response")
    if body is not None and (not isinstance(body, Mapping) or _has_ref(body)):
        wrapped = function_response(call, body).function_response
        assert wrapped is not None
        fitted = msgspec.structs.replace(fitted, response=wrapped.response)
        change = (
            "sent as text, since the server reads its key $ref as a reference"
            if _has_ref(body)
            else "wrapped into an object"
        )
        report.append(Note(path, f"the result was {change}"))
    result = part if fitted is response else msgspec.structs.replace(part, function_response=fitted)
    return _unsigned(result, path, report)


def _unsigned(part: Part, path: str, report: list[Note]) -> Part:
    """Return the user's part without a signature, which only the model's parts may have."""
    if part.thought_signature is None:
        return part
    report.append(Note(path, "a signature was dropped: only parts of the model have one"))
    return msgspec.structs.replace(part, thought_signature=None)


def _name(part: Part) -> str:
    return (part.function_response and part.function_response.name) or "a nameless call"


def _as_text(part: Part, path: str) -> list[Part]:
    """Convert a result without a call to user parts: a text, and the media of the result."""
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
    """Return whether a key `$ref` is in the value, at any depth."""
    # A work list and no recursion: a deeply nested result must not end in RecursionError.
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


def _sign(
    turns: list[Content],
    indexes: Iterable[int],
    report: list[Note],
    paths: Mapping[int, str],
    *,
    received: bool,
) -> None:
    """Sign the first call of each step with the placeholder, if it has no signature (G24).

    `indexes` are the model turns that may have calls. Steps of all turns, not of the current one
    alone: from 3.5 on, a model refuses a history of which some calls are signed and others are not
    (G27).

    A received call without a signature comes from a model that does not sign. It is signed only if
    `received` is set, which the caller does for a model that requires signatures. Otherwise it
    stays unchanged, with its remembered bytes.
    """
    for index in indexes:
        parts = turns[index].parts or []
        # A call that the server ran has its result in the same Content, and goes back unchanged.
        calls = _open_calls(parts)
        if not calls:
            continue
        first = next(
            position for position, part in enumerate(parts) if part.function_call is calls[0]
        )
        part = parts[first]
        if part.thought_signature is None and (received or raw_of(part) is None):
            signed = msgspec.structs.replace(part, thought_signature=PLACEHOLDER)
            own = [*parts[:first], signed, *parts[first + 1 :]]
            turns[index] = Content(role="model", parts=own)
            report.append(
                Note(
                    paths.get(id(part), f"contents[{index}].parts[{first}]"),
                    "an unsigned call was given the documented placeholder",
                )
            )
