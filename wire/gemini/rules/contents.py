"""What the server refuses in the conversation: its shape, the order of its turns, results and
signatures (G4 to G27, G78).
"""

from __future__ import annotations

import base64
import binascii
import functools
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from wire.core.memory import RAW
from wire.errors import Violation
from wire.gemini.families import ends_with_user, is_of, signs_calls
from wire.gemini.rules.fields import fields, one_of_groups, snake
from wire.gemini.rules.rule_input import Plain, RuleInput
from wire.gemini.rules.turns import Exchange, Turn, pairs
from wire.gemini.types import Part

Found = Iterator[Violation]

_ROLES_OF_OLD = frozenset({"function"})
_ROLES_OF_36 = frozenset(
    {"system", "system_1", "assistant", "developer", "context", "user_context"}
)

# --- the shape (G4 to G9, G78) --------------------------------------------------------------------


def contents_are_there(asked: RuleInput) -> Found:
    """G4, G5: a conversation, and something in each of its turns."""
    if not asked.contents:
        yield asked.refused("G4", "contents")
    for index in asked.talk.empty:
        yield asked.refused("G5", f"contents[{index}].parts", "contents.parts must not be empty.")


def parts_say_something(asked: RuleInput) -> Found:
    """G6: a data member in each part. What came from the wire may hold one that no struct has."""
    for index in asked.talk.odd:
        content = asked.contents[index]
        if RAW in content.__dict__:
            continue
        for place, part in enumerate(content.parts or ()):
            if part.text is None and RAW not in part.__dict__ and is_empty(part):
                yield asked.refused("G6", f"contents[{index}].parts[{place}].data")


def is_empty(part: Part) -> bool:
    """No data member; a part with nothing but a signature counts as full, since the model sends
    such parts.
    """
    return all(getattr(part, name) is None for name in _content_fields())


@functools.cache
def _content_fields() -> frozenset[str]:
    """The fields that fill a part: its data, and the signature, which models send alone."""
    known = fields(Part)
    return frozenset(known[name].snake for name in one_of_groups(Part)["data"]) | {
        "thought_signature"
    }


def system_says_something(asked: RuleInput) -> Found:
    """G7: as G6 in the system instruction."""
    parts: list[Plain] = (asked.plain.get("systemInstruction") or {}).get("parts") or []
    for place, part in enumerate(parts):
        if not any(snake(name) in _content_fields() for name in part):
            yield asked.refused("G7", f"systemInstruction.parts[{place}].data")


def roles_are_known(asked: RuleInput) -> Found:
    """G8, G9: user and model; before 3.6 `function` as well, from 3.6 on a list of others and not
    `function`.
    """
    for index in asked.talk.roles:
        role = str(asked.contents[index].role)
        known = role.lower()
        path = f"contents[{index}].role"
        if asked.family.since(3, 6):
            if known not in _ROLES_OF_36 | {"user", "model"}:
                yield asked.refused("G9", path, role=role)
        elif known not in _ROLES_OF_OLD | {"user", "model"} and (
            asked.family.version or known not in _ROLES_OF_36
        ):
            yield asked.refused("G8", path, f"{role!r} is no role: user or model")


def vertex_wants_words(asked: RuleInput) -> Found:
    """G78: on Vertex, a user turn that is nothing but an empty text."""
    if not asked.vertex or not asked.family.since(3):
        return
    for index, content in enumerate(asked.contents):
        if (
            content.role != "model"
            and content.parts
            and all(part.text == "" for part in content.parts)
        ):
            yield asked.refused("G78", f"contents[{index}]")


# --- the order of turns (G10 to G15) --------------------------------------------------------------


def calls_follow_the_user(asked: RuleInput) -> Found:
    """G10: a call is no beginning.

    Any other call follows a user turn, since neighbouring model Contents are one turn.
    """
    turns = asked.talk.turns
    if (
        turns
        and turns[0].calls
        and all(content.role == "model" for content in asked.contents[: turns[0].index])
    ):
        yield asked.refused(
            "G10", f"contents[{turns[0].calls[0].content}]", "the conversation begins with a call"
        )


def calls_are_answered(asked: RuleInput) -> Found:
    """G11, G12: all results of a turn's calls in the one Content after it.

    One fault, one rule: what comes later than directly after its call is G11; a number that differs
    is G12.
    """
    for exchange in asked.talk.exchanges:
        answers = [turn for turn in exchange.after if turn.results]
        if exchange.asked is None:
            for turn in answers:
                yield asked.refused("G11", f"contents[{turn.index}]", "results that follow no call")
        elif not answers:
            yield from _unanswered(asked, exchange)
        elif answers[0] is not exchange.after[0]:
            yield asked.refused(
                "G11",
                f"contents[{answers[0].index}]",
                "the results do not follow their calls directly",
            )
        else:
            yield from _counted(asked, exchange.asked, answers)


def _unanswered(asked: RuleInput, exchange: Exchange) -> Found:
    assert exchange.asked is not None
    if not exchange.after and asked.contents[-1].role == "model" and ends_with_user(asked.family):
        last = exchange.asked is asked.talk.turns[-1]
        if last and all(
            content.role == "model" for content in asked.contents[exchange.asked.index :]
        ):
            return  # that is G15
    if not asked.family.version:
        return
    call = exchange.asked.calls[0]
    # Recorded as accepted: 2.0-flash, on both hosts.
    severity = "warning" if asked.family.within((2, 0), (2, 5)) else "error"
    yield asked.refused(
        "G12", f"contents[{call.content}]", f"the call of {call.call.name} has no result", severity
    )


def _counted(asked: RuleInput, turn: Turn, answers: list[Turn]) -> Found:
    wanted, given = len(turn.calls), len(answers[0].results)
    path = f"contents[{answers[0].index}]"
    if given == wanted:
        for late in answers[1:]:
            yield asked.refused("G11", f"contents[{late.index}]", "results that follow no call")
    elif given < wanted and sum(len(each.results) for each in answers) == wanted:
        # Recorded as accepted: 2.5-flash on the Gemini API, three results in three Contents.
        taken = is_of(asked.family, (2, 5), "flash") and not asked.vertex
        if asked.family.version:
            told = f"the results of {wanted} calls stand in {len(answers)} Contents"
            yield asked.refused("G12", path, told, "warning" if taken else "error")
    else:
        yield asked.refused(
            "G12",
            path,
            f"{wanted} {'call' if wanted == 1 else 'calls'}, and {given} "
            f"{'result' if given == 1 else 'results'}",
        )


def results_stand_alone(asked: RuleInput) -> Found:
    """G13, G14: nothing after results in their Content."""
    vertex = asked.vertex and asked.family.since(3)
    parallel = asked.family.before(3)
    if not (vertex or parallel):
        return
    for turn in asked.talk.turns:
        if not turn.results or not turn.says:
            continue
        first = turn.results[0].place
        late = [
            (place, part)
            for _, place, part in turn.parts
            if place > first and part.function_response is None
        ]
        if vertex and late:
            # One thread tells it of 3-flash; of 3.6 and later there are many.
            severity = "error" if asked.family.since(3, 6) else "warning"
            yield asked.refused(
                "G13",
                f"contents[{turn.index}].parts[{late[0][0]}]",
                "something follows the results in their Content",
                severity,
            )
        media = [place for _, place, part in turn.parts if part.inline_data is not None]
        if parallel and media and len(turn.results) > 1:
            told = "media beside the results of parallel calls"
            yield asked.refused("G14", f"contents[{turn.index}].parts[{media[0]}]", told, "warning")


def user_has_the_last_word(asked: RuleInput) -> Found:
    """G15: from 3.6 on, 3.5-flash-lite, and 1.x as long as there was one."""
    last = asked.contents[-1] if asked.contents else None
    if (
        last is None
        or last.role != "model"
        or not last.parts
        or last.parts[-1].function_response is not None
    ):
        return
    path = f"contents[{len(asked.contents) - 1}]"
    if ends_with_user(asked.family):
        yield asked.refused("G15", path)
    elif asked.family.before(2):
        yield asked.refused("G15 old", path, severity="warning")


# --- results (G16 to G22) -------------------------------------------------------------------------


def results_are_named(asked: RuleInput) -> Found:
    """G16."""
    for turn in asked.talk.turns:
        for result in turn.results:
            if not result.response.name and RAW not in result.part.__dict__:
                yield asked.refused("G16", f"{result.path}.functionResponse.name")


def results_match_their_calls(asked: RuleInput) -> Found:
    """G17, G18, G18b: name and id of the call, in the order of the calls."""
    if not asked.family.version:
        return
    for exchange in asked.talk.exchanges:
        turn = exchange.asked
        if turn is None or not exchange.after or len(exchange.after[0].results) != len(turn.calls):
            continue
        results = exchange.after[0].results
        names = [result.response.name for result in results]
        called = [call.call.name for call in turn.calls]
        no_ids = not any(call.call.id for call in turn.calls)
        if no_ids and names != called and Counter(names) == Counter(called):
            # Nobody has reported the server's words for it.
            yield asked.refused(
                "G18b",
                f"contents[{results[0].content}]",
                "the results are in another order than their calls",
                "warning",
            )
            continue
        if not asked.family.since(3, 5):
            continue
        for call, result in pairs(turn.calls, results):
            name = result.response.name
            if name and name != call.call.name:
                told = f"the result is named {name!r}, its call {call.call.name!r}"
                yield asked.refused("G17", f"{result.path}.functionResponse.name", told)
            if call.call.id and result.response.id != call.call.id:
                yield asked.refused(
                    "G18",
                    f"{result.path}.functionResponse.id",
                    f"the id of the call, {call.call.id!r}, is not repeated",
                )


def ids_of_old(asked: RuleInput) -> Found:
    """G19: backends of 2024 and 2025, and proxies, do not know ids of results; the models before
    3.5 mostly gave none.
    """
    if not asked.family.before(3, 5):
        return
    for turn in asked.talk.turns:
        for result in turn.results:
            if result.response.id:
                at = snake(f"{result.path}.functionResponse")
                yield asked.refused(
                    "G19",
                    f"{result.path}.functionResponse.id",
                    severity="warning",
                    field=at,
                    at=f" at '{at}'",
                    name="id",
                )


def results_hold_no_pointer(asked: RuleInput) -> Found:
    """G21: from 3 on, a key `$ref` in a result points to a media part of the same result by its
    displayName.
    """
    if not asked.family.since(3):
        return
    for turn in asked.talk.turns:
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
                    yield asked.refused("G21", path, name=name)


def _refs(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    todo = [(path, value)]
    while todo:
        here, each = todo.pop()
        if isinstance(each, Mapping):
            if "$ref" in each:
                yield f"{here}.$ref", each["$ref"]
            todo += [
                (f"{here}.{key}", item)
                for key, item in each.items()
                if isinstance(item, (Mapping, list, tuple))
            ]
        elif isinstance(each, (list, tuple)):
            todo += [
                (f"{here}[{index}]", item)
                for index, item in enumerate(each)
                if isinstance(item, (Mapping, list, tuple))
            ]


def media_in_results(asked: RuleInput) -> Found:
    """G22: 2.5 and older take no media inside a result."""
    if not asked.family.before(3):
        return
    for turn in asked.talk.turns:
        for result in turn.results:
            if result.response.parts:
                yield asked.refused("G22", f"{result.path}.functionResponse.parts")


# --- signatures (G24 to G27) ----------------------------------------------------------------------


def calls_are_signed(asked: RuleInput) -> Found:
    """G24: the first call of each step of the current turn, and all parts of server-run tools."""
    if not signs_calls(asked.family):
        return
    for turn in asked.talk.turns:
        if (
            turn.index > asked.talk.begin
            and turn.calls
            and turn.calls[0].part.thought_signature is None
        ):
            call = turn.calls[0]
            told = f"the call of {call.call.name} has no thought signature"
            yield asked.refused(
                "G24", call.path, told, name=call.call.name, position=call.content + 1
            )
    yield from _tool_parts_are_signed(asked)


def _tool_parts_are_signed(asked: RuleInput) -> Found:
    bare = [
        (index, place)
        for index in asked.talk.odd
        for place, part in enumerate(asked.contents[index].parts or ())
        if part.thought_signature is None
        and (part.tool_call is not None or part.tool_response is not None)
    ]
    if not bare or asked.vertex:
        return
    last = max(
        (
            index
            for index, content in enumerate(asked.contents)
            if content.role != "model" and _speaks(content.parts or ())
        ),
        default=-1,
    )
    for index, place in bare:
        severity = "error" if index > last else "warning"  # of earlier turns there is no report
        yield asked.refused(
            "G24 tool",
            f"contents[{index}].parts[{place}]",
            "Tool call part is missing thought_signature",
            severity,
        )


def _speaks(parts: Any) -> bool:
    return any(part.function_response is None for part in parts)


_DUMMIES = (b"skip_thought_signature_validator", b"context_engineering_is_the_way_to_go")
_TEXT = re.compile(rb"[\x20-\x7e\t\r\n]{8,}")
_HEAD = 96  # letters of a signature that are looked at: a whole number of base64 groups


def signatures_are_geminis(asked: RuleInput) -> Found:
    """G25: a signature that is no Gemini's by its first bytes.

    What came from the wire is not judged.
    """
    if not asked.family.since(3):
        return
    for turn in asked.talk.turns:
        for index, place, part in turn.parts if turn.model else ():
            signed = (
                part.function_call is not None
                or part.tool_call is not None
                or part.tool_response is not None
            )
            if (
                signed
                and part.thought_signature
                and RAW not in part.__dict__
                and is_foreign(part.thought_signature)
            ):
                yield asked.refused(
                    "G25",
                    f"contents[{index}].parts[{place}].thoughtSignature",
                    "this signature is of no Gemini",
                )


def is_foreign(signature: str) -> bool:
    """Whether a signature shows that no Gemini made it: those are bytes that no text can be.

    A text inside the base64 is a signature encoded twice, or somebody's own word; the documented
    dummies are texts too. Fernet tokens are of OpenAI, a message that begins with numbers is of
    Anthropic.

    >>> is_foreign("RXJRQ0NrZ0lCeEFCR0FJaVFBPT0="), is_foreign("c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I=")
    (True, False)
    """
    if signature.encode("utf-8", "replace") in _DUMMIES:
        return False
    head = re.sub(r"\s", "", signature[:_HEAD]).translate(_STANDARD).rstrip("=")
    try:
        data = base64.b64decode(head + "=" * (-len(head) % 4))
    except (ValueError, binascii.Error):
        return False  # the parser has said so
    if data in _DUMMIES:
        return False
    return (
        _TEXT.fullmatch(data) is not None
        or data.startswith(b"\x80\x00\x00\x00")
        or _is_anthropics(data)
    )


_STANDARD = str.maketrans("-_", "+/")


def _is_anthropics(data: bytes) -> bool:
    """A message in field 2, in it one in field 1 that begins with two numbers; Gemini's has sealed
    bytes there, or one number and those.
    """
    begin = _after_length(data, 1) if data[:1] == b"\x12" else 0
    inner = _after_length(data, begin + 1) if begin and data[begin : begin + 1] == b"\x0a" else 0
    return (
        bool(inner)
        and data[inner : inner + 1] == b"\x08"
        and data[inner + 2 : inner + 3] != b"\x12"
    )


def _after_length(data: bytes, at: int) -> int:
    while at < len(data) and data[at] & 0x80:
        at += 1
    return at + 1


def signatures_are_all_there(asked: RuleInput) -> Found:
    """G27: from 3.5 on, the signatures of all earlier turns or of none.

    How it is refused is not recorded.
    """
    if not asked.family.since(3, 5):
        return
    earlier = [
        turn.calls[0] for turn in asked.talk.turns if turn.index < asked.talk.begin and turn.calls
    ]
    bare = [call for call in earlier if call.part.thought_signature is None]
    if bare and len(bare) < len(earlier):
        told = f"the call of {bare[0].call.name} has lost its signature, others have theirs"
        yield asked.refused("G27", bare[0].path, told, "warning")
