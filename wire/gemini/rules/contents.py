"""Rules about the conversation: its shape, the order of its turns, results and signatures (G4 to
G27, G78).
"""

from __future__ import annotations

import base64
import binascii
import functools
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from wire.core.errors import Violation
from wire.core.lazy import lazy_pattern
from wire.core.memory import raw_of
from wire.gemini.families import ends_with_user, is_of, signs_calls
from wire.gemini.rules.fields import fields, one_of_groups, snake
from wire.gemini.rules.rule_input import Plain, RuleInput
from wire.gemini.rules.turns import Exchange, Turn, pairs
from wire.gemini.types import Part

Violations = Iterator[Violation]

# Roles beside user and model, in lower case.
_OTHER_ROLES_BEFORE_36 = frozenset({"function"})
_OTHER_ROLES_FROM_36 = frozenset(
    {"system", "system_1", "assistant", "developer", "context", "user_context"}
)

# --- the shape (G4 to G9, G78) --------------------------------------------------------------------


def contents_are_not_empty(request: RuleInput) -> Violations:
    """G4, G5: there are Contents, and each has parts."""
    if not request.contents:
        yield request.violation("G4", "contents")
    for index in request.conversation.empty:
        yield request.violation(
            "G5", f"contents[{index}].parts", "contents.parts must not be empty."
        )


def parts_have_data(request: RuleInput) -> Violations:
    """G6: each part has a data field. Received parts are skipped: they may have one that no struct
    has.
    """
    for index in request.conversation.beyond_text:
        content = request.contents[index]
        if raw_of(content) is not None:
            continue
        for position, part in enumerate(content.parts or ()):
            if part.text is None and raw_of(part) is None and is_empty(part):
                yield request.violation("G6", f"contents[{index}].parts[{position}].data")


def is_empty(part: Part) -> bool:
    """Return whether a part has no data field.

    A signature alone counts as data, since models send such parts.
    """
    if part.function_call is not None or part.function_response is not None:
        return False  # as most parts other than texts
    return all(getattr(part, name) is None for name in _content_fields())


@functools.cache
def _content_fields() -> frozenset[str]:
    """Return the data fields of a part, and the signature."""
    known = fields(Part)
    return frozenset(known[name].snake for name in one_of_groups(Part)["data"]) | {
        "thought_signature"
    }


def system_parts_have_data(request: RuleInput) -> Violations:
    """G7: as G6, in the system instruction."""
    parts: list[Plain] = (request.plain.get("systemInstruction") or {}).get("parts") or []
    for position, part in enumerate(parts):
        if not any(snake(name) in _content_fields() for name in part):
            yield request.violation("G7", f"systemInstruction.parts[{position}].data")


def roles_are_known(request: RuleInput) -> Violations:
    """G8, G9: before 3.6 the roles are user, model and `function`; from 3.6 on user, model and a
    list without `function`.
    """
    for index in request.conversation.roles:
        role = str(request.contents[index].role)
        name = role.lower()
        path = f"contents[{index}].role"
        if request.family.since(3, 6):
            if name not in _OTHER_ROLES_FROM_36 | {"user", "model"}:
                yield request.violation("G9", path, role=role)
        # A role that only 3.6 accepts is allowed for a model without a version, which may be a
        # later one.
        elif name not in _OTHER_ROLES_BEFORE_36 | {"user", "model"} and (
            request.family.version or name not in _OTHER_ROLES_FROM_36
        ):
            yield request.violation("G8", path, f"{role!r} is not a role: use user or model")


def vertex_user_turns_have_text(request: RuleInput) -> Violations:
    """G78: Vertex refuses a user turn that has only an empty text."""
    if not request.vertex or not request.family.since(3):
        return
    for index, content in enumerate(request.contents):
        if (
            content.role != "model"
            and content.parts
            and all(part.text == "" for part in content.parts)
        ):
            yield request.violation("G78", f"contents[{index}]")


# --- the order of turns (G10 to G15) --------------------------------------------------------------


def calls_follow_the_user(request: RuleInput) -> Violations:
    """G10: a conversation must not begin with a call.

    Any other call follows a user turn, because adjacent model Contents are one turn.
    """
    turns = request.conversation.turns
    if (
        turns
        and turns[0].calls
        and all(content.role == "model" for content in request.contents[: turns[0].index])
    ):
        yield request.violation(
            "G10", f"contents[{turns[0].calls[0].content}]", "the conversation begins with a call"
        )


def calls_are_answered(request: RuleInput) -> Violations:
    """G11, G12: the one Content after a turn with calls has all their results.

    Each mistake is reported once: results that come later are G11, a wrong number of results is
    G12.
    """
    for exchange in request.conversation.exchanges:
        turns = [turn for turn in exchange.after if turn.results]
        if exchange.calling is None:
            for turn in turns:
                yield request.violation(
                    "G11", f"contents[{turn.index}]", "results that follow no call"
                )
        elif not turns:
            yield from _unanswered(request, exchange)
        elif turns[0] is not exchange.after[0]:
            yield request.violation(
                "G11",
                f"contents[{turns[0].index}]",
                "the results do not follow their calls directly",
            )
        else:
            yield from _wrong_number(request, exchange.calling, turns)


def _unanswered(request: RuleInput, exchange: Exchange) -> Violations:
    """G12 for calls without any result, unless the missing user turn is reported as G15."""
    assert exchange.calling is not None
    if (
        not exchange.after
        and request.contents[-1].role == "model"
        and ends_with_user(request.family)
    ):
        last = exchange.calling is request.conversation.turns[-1]
        if last and all(
            content.role == "model" for content in request.contents[exchange.calling.index :]
        ):
            return  # G15 reports it
    if not request.family.version:
        return
    call = exchange.calling.calls[0]
    # 2.0-flash accepted such a request on both hosts (recorded), so 2.0 gets a warning.
    severity = "warning" if request.family.within((2, 0), (2, 5)) else "error"
    yield request.violation(
        "G12", f"contents[{call.content}]", f"the call of {call.call.name} has no result", severity
    )


def _wrong_number(request: RuleInput, calling: Turn, turns: list[Turn]) -> Violations:
    """G12 for fewer or more results than calls.

    `turns` are the turns with results after the calls, the first of them directly after.
    """
    calls, results = len(calling.calls), len(turns[0].results)
    path = f"contents[{turns[0].index}]"
    if results == calls:
        for late in turns[1:]:
            yield request.violation("G11", f"contents[{late.index}]", "results that follow no call")
    elif results < calls and sum(len(each.results) for each in turns) == calls:
        # 2.5-flash on the Gemini API accepted three results in three Contents (recorded).
        accepted = is_of(request.family, (2, 5), "flash") and not request.vertex
        if request.family.version:
            message = f"the results of {calls} calls are split over {len(turns)} Contents"
            yield request.violation("G12", path, message, "warning" if accepted else "error")
    else:
        yield request.violation(
            "G12",
            path,
            f"{calls} {'call' if calls == 1 else 'calls'}, but {results} "
            f"{'result' if results == 1 else 'results'}",
        )


def results_stand_alone(request: RuleInput) -> Violations:
    """G13, G14: no other parts after results in one Content."""
    vertex = request.vertex and request.family.since(3)  # G13
    parallel = request.family.before(3)  # G14
    if not (vertex or parallel):
        return
    for turn in request.conversation.turns:
        if not turn.results or not turn.has_other_parts:
            continue
        first = turn.results[0].position
        late = [
            (position, part)
            for _, position, part in turn.parts
            if position > first and part.function_response is None
        ]
        if vertex and late:
            # One public thread reports it for 3-flash, many for 3.6 and later.
            severity = "error" if request.family.since(3, 6) else "warning"
            yield request.violation(
                "G13",
                f"contents[{turn.index}].parts[{late[0][0]}]",
                "other parts follow the results in one Content",
                severity,
            )
        media = [position for _, position, part in turn.parts if part.inline_data is not None]
        if parallel and media and len(turn.results) > 1:
            message = "media beside the results of parallel calls"
            yield request.violation(
                "G14", f"contents[{turn.index}].parts[{media[0]}]", message, "warning"
            )


def user_has_the_last_turn(request: RuleInput) -> Violations:
    """G15: required from 3.6 on, by 3.5-flash-lite, and by all 1.x models."""
    last = request.contents[-1] if request.contents else None
    if (
        last is None
        or last.role != "model"
        or not last.parts
        or last.parts[-1].function_response is not None
    ):
        return
    path = f"contents[{len(request.contents) - 1}]"
    if ends_with_user(request.family):
        yield request.violation("G15", path)
    elif request.family.before(2):
        yield request.violation("G15 old", path, severity="warning")


# --- results (G16 to G22) -------------------------------------------------------------------------


def results_are_named(request: RuleInput) -> Violations:
    """G16: each result has the name of its call."""
    for turn in request.conversation.turns:
        for result in turn.results:
            if not result.response.name and raw_of(result.part) is None:
                yield request.violation("G16", f"{result.path}.functionResponse.name")


def results_match_their_calls(request: RuleInput) -> Violations:
    """G17, G18, G18b: results have the names and ids of their calls, in the order of the calls."""
    if not request.family.version:
        return
    for exchange in request.conversation.exchanges:
        turn = exchange.calling
        if turn is None or not exchange.after or len(exchange.after[0].results) != len(turn.calls):
            continue
        results = exchange.after[0].results
        names = [result.response.name for result in results]
        called = [call.call.name for call in turn.calls]
        no_ids = not any(call.call.id for call in turn.calls)
        # The same names in another order, and no ids to pair them by: the server pairs the results
        # by position, so that each call gets the result of another one.
        if no_ids and names != called and Counter(names) == Counter(called):
            # The server's words are not recorded.
            yield request.violation(
                "G18b",
                f"contents[{results[0].content}]",
                "the results are in another order than their calls",
                "warning",
            )
            continue
        if not request.family.since(3, 5):
            continue
        for call, result in pairs(turn.calls, results):
            name = result.response.name
            if name and name != call.call.name:
                message = f"the result is named {name!r}, its call {call.call.name!r}"
                yield request.violation("G17", f"{result.path}.functionResponse.name", message)
            if call.call.id and result.response.id != call.call.id:
                yield request.violation(
                    "G18",
                    f"{result.path}.functionResponse.id",
                    f"the id of the call, {call.call.id!r}, is not repeated",
                )


def old_backends_know_no_ids(request: RuleInput) -> Violations:
    """G19: backends of 2024 and 2025, and proxies, refuse ids of results. Models before 3.5 mostly
    sent none.
    """
    if not request.family.before(3, 5):
        return
    for turn in request.conversation.turns:
        for result in turn.results:
            if result.response.id:
                at = snake(f"{result.path}.functionResponse")
                yield request.violation(
                    "G19",
                    f"{result.path}.functionResponse.id",
                    severity="warning",
                    field=at,
                    at=f" at '{at}'",
                    name="id",
                )


def results_have_no_unknown_ref(request: RuleInput) -> Violations:
    """G21: from 3 on, the server reads a key `$ref` in a result as the displayName of a media part
    of the result, and refuses an unknown name.
    """
    if not request.family.since(3):
        return
    for turn in request.conversation.turns:
        for result in turn.results:
            known = {
                piece.inline_data.display_name
                for piece in result.response.parts or ()
                if piece.inline_data is not None
            }
            for path, name in _refs(
                result.response.response, f"{result.path}.functionResponse.response"
            ):
                if name not in known:
                    yield request.violation("G21", path, name=name)


def _refs(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the paths and values of the keys `$ref` in a value, at any depth."""
    # A work list and no recursion: a deeply nested result must not end in RecursionError.
    todo = [(path, value)]
    while todo:
        at, each = todo.pop()
        if isinstance(each, Mapping):
            if "$ref" in each:
                yield f"{at}.$ref", each["$ref"]
            todo += [
                (f"{at}.{key}", item)
                for key, item in each.items()
                if isinstance(item, (Mapping, list, tuple))
            ]
        elif isinstance(each, (list, tuple)):
            todo += [
                (f"{at}[{index}]", item)
                for index, item in enumerate(each)
                if isinstance(item, (Mapping, list, tuple))
            ]


def media_in_results(request: RuleInput) -> Violations:
    """G22: 2.5 and older refuse media inside a result."""
    if not request.family.before(3):
        return
    for turn in request.conversation.turns:
        for result in turn.results:
            if result.response.parts:
                yield request.violation("G22", f"{result.path}.functionResponse.parts")


# --- signatures (G24 to G27) ----------------------------------------------------------------------


def calls_are_signed(request: RuleInput) -> Violations:
    """G24: the first call of each step of the current turn has its signature, and so has each part
    of a tool that the server ran.

    The model signs only the first of several parallel calls, so that the others need none.
    """
    if not signs_calls(request.family):
        return
    for turn in request.conversation.turns:
        if (
            turn.index > request.conversation.begin
            and turn.calls
            and turn.calls[0].part.thought_signature is None
        ):
            call = turn.calls[0]
            message = f"the call of {call.call.name} has no thought signature"
            yield request.violation(
                "G24", call.path, message, name=call.call.name, position=call.content + 1
            )
    yield from _tool_parts_are_signed(request)


def _tool_parts_are_signed(request: RuleInput) -> Violations:
    """G24 for parts of tools that the server ran: an error in the current turn, else a warning."""
    unsigned = [
        (index, position)
        for index in request.conversation.beyond_text
        for position, part in enumerate(request.contents[index].parts or ())
        if part.thought_signature is None
        and (part.tool_call is not None or part.tool_response is not None)
    ]
    if not unsigned or request.vertex:
        return
    last = max(
        (
            index
            for index, content in enumerate(request.contents)
            if content.role != "model" and _has_other_parts(content.parts or ())
        ),
        default=-1,
    )
    for index, position in unsigned:
        severity = "error" if index > last else "warning"  # no report is about earlier turns
        yield request.violation(
            "G24 tool",
            f"contents[{index}].parts[{position}]",
            "Tool call part is missing thought_signature",
            severity,
        )


def _has_other_parts(parts: Any) -> bool:
    return any(part.function_response is None for part in parts)


_PLACEHOLDERS = (b"skip_thought_signature_validator", b"context_engineering_is_the_way_to_go")
"""The documented placeholders, which Gemini accepts in place of a signature."""
_TEXT = lazy_pattern(rb"[\x20-\x7e\t\r\n]{8,}")
_HEAD = 96
"""Number of characters of a signature that are decoded: the beginning shows its origin, and a
signature may have 100,000 characters. A multiple of 4, since base64 encodes in groups of 4.
"""


def signatures_are_from_gemini(request: RuleInput) -> Violations:
    """G25: no signature was made by another vendor's model, as far as its first bytes show.

    Received parts are not checked.
    """
    if not request.family.since(3):
        return
    for turn in request.conversation.turns:
        for index, position, part in turn.parts if turn.model else ():
            signed = (
                part.function_call is not None
                or part.tool_call is not None
                or part.tool_response is not None
            )
            if (
                signed
                and part.thought_signature
                and raw_of(part) is None
                and is_foreign(part.thought_signature)
            ):
                yield request.violation(
                    "G25",
                    f"contents[{index}].parts[{position}].thoughtSignature",
                    "no Gemini model made this signature",
                )


def is_foreign(signature: str) -> bool:
    """Return whether the first bytes of a signature show that it is not from a Gemini model.

    A text inside the base64 is a signature that was encoded twice, or a placeholder; the documented
    placeholders are texts too. Fernet tokens come from OpenAI. A protobuf message that begins with
    numbers comes from Anthropic.

    >>> is_foreign("RXJRQ0NrZ0lCeEFCR0FJaVFBPT0=")
    True
    >>> is_foreign("c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=")
    False
    """
    if signature.encode("utf-8", "replace") in _PLACEHOLDERS:
        return False
    head = re.sub(r"\s", "", signature[:_HEAD]).translate(_STANDARD).rstrip("=")
    try:
        data = base64.b64decode(head + "=" * (-len(head) % 4))
    except (ValueError, binascii.Error):
        return False  # the parser reports it
    if data in _PLACEHOLDERS:
        return False
    return (
        _TEXT().fullmatch(data) is not None
        or data.startswith(b"\x80\x00\x00\x00")
        or _is_anthropics(data)
    )


_STANDARD = str.maketrans("-_", "+/")  # the URL-safe alphabet of base64 -> the standard one


def _is_anthropics(data: bytes) -> bool:
    """Return whether the bytes are a signature of Anthropic: a protobuf message whose field 2 is a
    message whose field 1 is a message that begins with two numbers.

    Signatures of Gemini can begin with field 2 as well. They have opaque bytes in place of the two
    numbers, or one number and opaque bytes.
    """
    # Tags of protobuf: 0x12 is field 2 with a length, 0x0a field 1 with a length, 0x08 field 1 with
    # a number. A second tag 0x12 after the first number is the opaque bytes of Gemini.
    begin = _after_length(data, 1) if data[:1] == b"\x12" else 0
    inner = _after_length(data, begin + 1) if begin and data[begin : begin + 1] == b"\x0a" else 0
    return (
        bool(inner)
        and data[inner : inner + 1] == b"\x08"
        and data[inner + 2 : inner + 3] != b"\x12"
    )


def _after_length(data: bytes, at: int) -> int:
    """Return the position after the protobuf length at `at`, whose last byte is below 0x80."""
    while at < len(data) and data[at] & 0x80:
        at += 1
    return at + 1


def signatures_are_all_there(request: RuleInput) -> Violations:
    """G27: from 3.5 on, earlier turns have all of their signatures or none.

    The server's words are not recorded.
    """
    if not request.family.since(3, 5):
        return
    earlier = [
        turn.calls[0]
        for turn in request.conversation.turns
        if turn.index < request.conversation.begin and turn.calls
    ]
    unsigned = [call for call in earlier if call.part.thought_signature is None]
    if unsigned and len(unsigned) < len(earlier):
        message = f"the call of {unsigned[0].call.name} has no signature, other calls have one"
        yield request.violation("G27", unsigned[0].path, message, "warning")
