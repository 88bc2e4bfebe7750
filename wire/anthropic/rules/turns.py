"""Rules of messages and their blocks: calls and results, texts, thoughts, marks for the cache."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping

from wire.anthropic.families import pairs_calls, takes_prefill
from wire.anthropic.rules.rule_input import (
    Block,
    RuleInput,
    Turn,
    dotted,
    objects,
    refused,
)
from wire.errors import Violation

ID = re.compile(r"[a-zA-Z0-9_-]+")
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_MOST_MARKS = 4

Found = Iterator[Violation]


def messages_are_there(asked: RuleInput) -> Found:
    """A1."""
    if not asked.plain.get("messages"):
        yield refused("messages", "messages: at least one message is required", "A1")


def roles_are_known(asked: RuleInput) -> Found:
    """A2."""
    for turn in asked.turns:
        path = f"{turn.path}.role"
        if turn.role not in ("user", "assistant", "system"):
            said = (
                f'messages: Unexpected role "{turn.role}". Allowed roles are "user" or "assistant"'
            )
            yield refused(path, said, "A2", "results of tools are blocks of a message of the user")
        elif turn.role == "system" and asked.family.before(4, 8):
            said = (
                'messages: Unexpected role "system". The Messages API accepts a '
                "top-level `system` parameter, "
                'not "system" as an input message role.'
            )
            yield refused(path, said, "A2", "put it into system")


def user_comes_first(asked: RuleInput) -> Found:
    """A3: no longer a rule of the vendor."""
    first = next((turn for turn in asked.turns if turn.role != "system"), None)
    if first is not None and first.role == "assistant":
        yield refused(
            first.path,
            'messages: first message must use the "user" role',
            "A3",
            "begin with a user message",
            "warning",
        )


def roles_alternate(asked: RuleInput) -> Found:
    """A4: no longer a rule of the vendor, which puts neighbours together."""
    spoken = [turn for turn in asked.turns if turn.role != "system"]
    for before, turn in itertools.pairwise(spoken):
        if before.role == turn.role:
            said = (
                'messages: roles must alternate between "user" and "assistant", but found '
                f'multiple "{turn.role}" roles in a row'
            )
            yield refused(turn.path, said, "A4", "make one message of them", "warning")


def contents_are_there(asked: RuleInput) -> Found:
    """A5."""
    for index, turn in enumerate(asked.turns):
        if turn.says_nothing and not (turn.role == "assistant" and index == len(asked.turns) - 1):
            said = (
                f"{dotted(turn.path)}: all messages must have non-empty content except for "
                "the optional final assistant message"
            )
            yield refused(f"{turn.path}.content", said, "A5", "leave the message out")


def texts_say_something(asked: RuleInput) -> Found:
    """A6: what the model itself has said may be blank, as its own answers are at times."""
    for turn in asked.turns:
        for block in turn.of("text"):
            yield from _text(block, "messages", own=turn.role == "assistant")
        for result in turn.of("tool_result"):
            for place, inner in enumerate(objects(result.plain.get("content"))):
                if inner.get("type") == "text":
                    yield from _text(Block(f"{result.path}.content[{place}]", inner), "messages")
    for block in asked.system:
        if block.path != "system":
            yield from _text(block, "system")


def _text(block: Block, where: str, own: bool = False) -> Found:
    text = block.plain.get("text")
    if text == "":
        if block.plain.get("cache_control"):
            said = f"{dotted(block.path)}.text: cache_control cannot be set for empty text blocks"
            yield refused(block.path, said, "A7", "mark another block")
        else:
            yield refused(
                block.path,
                f"{where}: text content blocks must be non-empty",
                "A6",
                "leave the block out",
            )
    elif isinstance(text, str) and not text.strip():
        severity = "warning" if own else "error"
        yield refused(
            block.path,
            f"{where}: text content blocks must contain non-whitespace text",
            "A6",
            "leave it out",
            severity,
        )


# --- calls and results ----------------------------------------------------------------------------


def calls_are_answered(asked: RuleInput) -> Found:
    """A8: every call is answered in the message that follows, ahead of everything else there."""
    severity = "error" if pairs_calls(asked.family) else "warning"
    for index, turn in enumerate(asked.turns):
        calls = turn.of("tool_use") if turn.role == "assistant" else []
        following = _after(asked.turns, index) if calls else []
        answered = {str(block.plain.get("tool_use_id") or "") for block in _leading(following)}
        for call in calls:
            id = str(call.plain.get("id") or "")
            if id not in answered:
                said = (
                    f"{dotted(turn.path)}: `tool_use` ids were found without "
                    f"`tool_result` blocks immediately after: {id}. "
                    "Each `tool_use` block must have a corresponding `tool_result` block "
                    "in the next message."
                )
                yield refused(
                    call.path,
                    said,
                    "A8",
                    "answer it in the next message, ahead of any text",
                    severity,
                )


def _after(turns: list[Turn], index: int) -> list[Block]:
    """What the user says behind a message of the assistant; the vendor puts neighbours of one role
    together, and so do we here.
    """
    joined: list[Block] = []
    for turn in turns[index + 1 :]:
        if turn.role == "user":
            joined += turn.blocks
        elif turn.role == "assistant" and joined:
            break
    return joined


def _leading(blocks: list[Block]) -> list[Block]:
    """Results before anything else is said."""
    return list(itertools.takewhile(lambda block: block.type == "tool_result", blocks))


def results_have_calls(asked: RuleInput) -> Found:
    """A9, A10: each result answers a call of the message before it, and each call has one."""
    severity = "error" if pairs_calls(asked.family) else "warning"
    calls: set[str] = set()
    answered: set[str] = set()
    before = ""
    for turn in asked.turns:
        if turn.role == "assistant":
            if before != "assistant":
                calls, answered = set(), set()
            calls |= {str(block.plain.get("id") or "") for block in turn.of("tool_use")}
        before = before if turn.role == "system" else turn.role
        for block in turn.of("tool_result"):
            id = str(block.plain.get("tool_use_id") or "")
            if id in answered:
                said = (
                    f"{dotted(block.path)}: each tool_use must have a single result. Found "
                    f"multiple `tool_result` blocks with id: {id}"
                )
                yield refused(block.path, said, "A10", "leave one out")
            elif id not in calls:
                said = (
                    f"{dotted(block.path)}: unexpected `tool_use_id` found in "
                    f"`tool_result` blocks: {id}. "
                    "Each `tool_result` block must have a corresponding `tool_use` block "
                    "in the previous message."
                )
                yield refused(
                    block.path,
                    said,
                    "A9",
                    "put it directly after its call, or leave it out",
                    severity,
                )
            answered.add(id)


def server_results_have_calls(asked: RuleInput) -> Found:
    """A11."""
    known: set[str] = set()
    for turn in asked.turns:
        for block in turn.blocks:
            if block.type in ("server_tool_use", "mcp_tool_use"):
                known.add(str(block.plain.get("id") or ""))
            elif block.type.endswith("_tool_result") and block.type != "tool_result":
                id = str(block.plain.get("tool_use_id") or "")
                use = "mcp_tool_use" if block.type == "mcp_tool_result" else "server_tool_use"
                if id not in known:
                    said = (
                        f"{dotted(block.path)}: unexpected `tool_use_id` found in "
                        f"`{block.type}` blocks: {id}. "
                        f"Each `{block.type}` block must have a corresponding `{use}` "
                        "block before it."
                    )
                    yield refused(
                        block.path, said, "A11", "send the assistant's blocks back as they came"
                    )


def ids_are_sound(asked: RuleInput) -> Found:
    """A12, A13."""
    known: set[str] = set()
    for turn in asked.turns:
        for block in turn.of("tool_use", "tool_result"):
            key = "id" if block.type == "tool_use" else "tool_use_id"
            id = block.plain.get(key)
            path = f"{block.path}.{key}"
            if not isinstance(id, str) or not ID.fullmatch(id):
                said = (
                    f"{dotted(block.path)}.{block.type}.{key}: String should match pattern "
                    "'^[a-zA-Z0-9_-]+$'"
                )
                yield refused(
                    path,
                    said,
                    "A12",
                    "letters, digits, underscores and dashes, the same in call and result",
                )
            elif key == "id":
                if id in known:
                    yield refused(
                        path,
                        f"{dotted(block.path)}: `tool_use` ids must be unique",
                        "A13",
                        "one id for each call",
                    )
                known.add(id)


def calls_are_objects(asked: RuleInput) -> Found:
    """A14, and A24 for the names of calls that were made."""
    for turn in asked.turns:
        for block in turn.of("tool_use"):
            name = block.plain.get("name")
            if not isinstance(block.plain.get("input"), Mapping):
                said = f"{dotted(block.path)}.tool_use.input: Input should be a valid dictionary"
                yield refused(
                    f"{block.path}.input", said, "A14", f"an object of the arguments of {name}"
                )
            if not isinstance(name, str) or not TOOL_NAME.fullmatch(name):
                yield refused(
                    f"{block.path}.name",
                    f"{dotted(block.path)}.tool_use.name: {name_problem(name)}",
                    "A24",
                )


def name_problem(name: object) -> str:
    """What the server has against the name of a tool."""
    if isinstance(name, str) and len(name) > 128:
        return "String should have at most 128 characters"
    return "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"


def errors_are_text(asked: RuleInput) -> Found:
    """A15."""
    for turn in asked.turns:
        for block in turn.of("tool_result"):
            if block.plain.get("is_error") and any(
                each.get("type") != "text" for each in objects(block.plain.get("content"))
            ):
                said = (
                    f'{dotted(block.path)}.tool_result: all content must be type "text" if '
                    '"is_error" is true'
                )
                yield refused(
                    f"{block.path}.content", said, "A15", "send the rest behind the results"
                )


# --- thoughts -------------------------------------------------------------------------------------


def thoughts_are_signed(asked: RuleInput) -> Found:
    """A16: other hosts of this wire sign nothing."""
    for turn in asked.turns if asked.at_anthropic else ():
        for block in turn.of("thinking"):
            if not block.plain.get("signature"):
                said = f"{dotted(block.path)}.thinking.signature: Field required"
                yield refused(block.path, said, "A16", "leave out thoughts of other models")


def current(turns: list[Turn]) -> list[Turn]:
    """The assistant's messages since the user last said something that is no result."""
    found: list[Turn] = []
    for turn in reversed(turns):
        if turn.role == "assistant":
            found.insert(0, turn)
        elif turn.role == "user" and not turn.of("tool_result"):
            break
    return found


def thinks_first(asked: RuleInput) -> Found:
    """A17: holds for `thinking.type: enabled` only."""
    if (
        asked.thinking.get("type") != "enabled"
        or not asked.turns
        or not asked.turns[-1].of("tool_result")
    ):
        return
    turns = current(asked.turns)
    if turns and not any(turn.blocks and turn.blocks[0].thinks for turn in turns):
        last = turns[-1]
        kind = last.blocks[0].type if last.blocks else "nothing"
        said = (
            f"{dotted(last.path)}.content.0.type: Expected `thinking` or "
            f"`redacted_thinking`, but found `{kind}`. When `thinking` is "
            "enabled, a final `assistant` message must start with a thinking block "
            "(preceeding the lastmost set of `tool_use` and "
            "`tool_result` blocks). We recommend you include thinking blocks from "
            "previous turns. To avoid this requirement, disable "
            "`thinking`."
        )
        yield refused(
            f"{last.path}.content[0]",
            said,
            "A17",
            "send its thoughts back as they came, or switch thinking off",
        )


def no_thoughts_while_off(asked: RuleInput) -> Found:
    """A18."""
    kind = asked.thinking.get("type")
    off = kind == "disabled" or (kind is None and asked.family.before(4, 7))
    last = asked.turns[-1] if asked.turns else None
    if (
        off
        and last is not None
        and last.role == "assistant"
        and any(block.thinks for block in last.blocks)
    ):
        said = (
            "When thinking is disabled, an 'assistant' message in the final position "
            "cannot contain 'thinking'. "
            "To use thinking blocks, enable 'thinking' in your request."
        )
        yield refused(last.path, said, "A18", "switch thinking on, or leave its thoughts out")


# --- the end, the cache ---------------------------------------------------------------------------


def prefill_is_known(asked: RuleInput) -> Found:
    """A19, A20."""
    last = asked.turns[-1] if asked.turns else None
    if last is None or last.role != "assistant" or last.of("server_tool_use", "mcp_tool_use"):
        return  # the server is at work in it: it goes back as it is, to be continued
    if not takes_prefill(asked.family):
        said = (
            "This model does not support assistant message prefill. The conversation must "
            "end with a user message."
        )
        yield refused(last.path, said, "A19", "end with a user message")
    text = (
        last.blocks[-1].plain.get("text")
        if last.blocks and last.blocks[-1].type == "text"
        else None
    )
    if isinstance(text, str) and text and text != text.rstrip():
        said = "messages: final assistant content cannot end with trailing whitespace"
        yield refused(last.blocks[-1].path, said, "A20", "strip it")


def marks_are_few(asked: RuleInput) -> Found:
    """A21, A22, A23."""
    marks: list[tuple[str, str]] = []
    for block in _marked(asked):
        mark = block.plain.get("cache_control")
        if mark and isinstance(mark, Mapping):
            marks.append((block.path, str(mark.get("ttl") or "5m")))
            if block.thinks:
                said = (
                    f"{dotted(block.path)}.{block.type}.cache_control: Extra inputs are not "
                    "permitted"
                )
                yield refused(f"{block.path}.cache_control", said, "A22", "mark another block")
    if len(marks) > _MOST_MARKS:
        said = (
            f"A maximum of {_MOST_MARKS} blocks with cache_control may be provided. Found "
            f"{len(marks)}."
        )
        yield refused(f"{marks[_MOST_MARKS][0]}.cache_control", said, "A21", "keep the last ones")
    short = False
    for path, ttl in marks:
        if ttl == "1h" and short:
            said = (
                f"{dotted(path)}.cache_control.ttl: a ttl='1h' cache_control block must "
                "not come after a ttl='5m' cache_control block. "
                "Note that blocks are processed in the following order: `tools`, "
                "`system`, `messages`."
            )
            yield refused(f"{path}.cache_control", said, "A23", "long ones first")
        short = short or ttl == "5m"


def _marked(asked: RuleInput) -> Iterator[Block]:
    """All that can have a mark, in the order in which the server goes through it."""
    yield from asked.tools
    yield from asked.system
    for turn in asked.turns:
        for block in turn.blocks:
            if block.type == "tool_result":
                for place, inner in enumerate(objects(block.plain.get("content"))):
                    yield Block(f"{block.path}.content[{place}]", inner)
            yield block
