"""Rules of messages and their blocks: roles, texts, tool calls and results, thinking, cache
breakpoints.

Each function checks the rules whose ids its docstring begins with, and yields one violation for
each breach. Message texts are the server's own and stay as they are; only remedies are ours.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping

from wire.anthropic.dialect import is_since_2026
from wire.anthropic.families import pairs_calls, takes_prefill
from wire.anthropic.rules.rule_input import (
    TEXT_ONLY,
    Block,
    RuleInput,
    Turn,
    as_objects,
    server_path,
    violation,
)
from wire.core.errors import Violation

CALL_ID = re.compile(r"[a-zA-Z0-9_-]+")
"""Matches an id of a tool call that the server accepts (A12)."""
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
"""Matches a tool name that the server accepts (A24)."""
_MAX_CACHE_BREAKPOINTS = 4
"""Of a request (A21)."""

Violations = Iterator[Violation]


def messages_present(request: RuleInput) -> Violations:
    """A1: a request has at least one message."""
    if not request.plain.get("messages"):
        yield violation("messages", "messages: at least one message is required", "A1")


def roles_valid(request: RuleInput) -> Violations:
    """A2: the role is `user` or `assistant`; newer models also accept `system`."""
    usual = {"user", "assistant"}
    for turn in request.turns if request.body.roles - usual else ():
        if turn.role in usual:
            continue
        path = f"{turn.path}.role"
        if turn.role != "system":
            message = (
                f'messages: Unexpected role "{turn.role}". Allowed roles are "user" or "assistant"'
            )
            yield violation(path, message, "A2", "send tool results as blocks of a user message")
        elif request.family.before(4, 8):
            message = (
                'messages: Unexpected role "system". The Messages API accepts a '
                "top-level `system` parameter, "
                'not "system" as an input message role.'
            )
            yield violation(path, message, "A2", "move the text to `system`")


def user_first(request: RuleInput) -> Violations:
    """A3: the conversation begins with the user. Anthropic no longer enforces it: a warning."""
    first = next((turn for turn in request.turns if turn.role != "system"), None)
    if first is not None and first.role == "assistant" and not first.of("compaction"):
        yield violation(
            first.path,
            'messages: first message must use the "user" role',
            "A3",
            "begin with a user message",
            "warning",
        )


def roles_alternate(request: RuleInput) -> Violations:
    """A4: user and assistant take turns.

    A warning: Anthropic merges adjacent messages of one role, other hosts may refuse them.
    """
    conversation = [turn for turn in request.turns if turn.role != "system"]
    for before, turn in itertools.pairwise(conversation):
        if before.role == turn.role:
            message = (
                'messages: roles must alternate between "user" and "assistant", but found '
                f'multiple "{turn.role}" roles in a row'
            )
            yield violation(turn.path, message, "A4", "merge the two messages", "warning")


def contents_not_empty(request: RuleInput) -> Violations:
    """A5: only the last message may be empty, and only if it is the assistant's."""
    last = len(request.turns) - 1
    for turn in request.body.turns_beyond_text:
        if turn.is_empty and not (turn.role == "assistant" and turn.index == last):
            message = (
                f"{server_path(turn.path)}: all messages must have non-empty content except for "
                "the optional final assistant message"
            )
            yield violation(f"{turn.path}.content", message, "A5", "remove the message")


def texts_not_blank(request: RuleInput) -> Violations:
    """A6, A7: texts are neither empty nor blank.

    A blank text of the assistant is only a warning: models generate such texts at times, so a
    received history may contain them.
    """
    for turn in request.turns:
        text = turn.text
        if text and not text.isspace():
            continue
        for block in turn.of("text"):
            yield from _text(block, "messages", from_model=turn.role == "assistant")
        for result in turn.of("tool_result"):
            for index, inner in enumerate(as_objects(result.plain.get("content"))):
                if inner.get("type") == "text":
                    yield from _text(Block(f"{result.path}.content[{index}]", inner), "messages")
    for block in request.body.system:
        if block.path != "system":
            yield from _text(block, "system")


def _text(block: Block, field: str, from_model: bool = False) -> Violations:
    text = block.plain.get("text")
    if text == "":
        if block.plain.get("cache_control"):
            message = (
                f"{server_path(block.path)}.text: cache_control cannot be set for empty text blocks"
            )
            yield violation(block.path, message, "A7", "set it on another block")
        else:
            yield violation(
                block.path,
                f"{field}: text content blocks must be non-empty",
                "A6",
                "remove the block",
            )
    elif isinstance(text, str) and text.isspace():
        severity = "warning" if from_model else "error"
        yield violation(
            block.path,
            f"{field}: text content blocks must contain non-whitespace text",
            "A6",
            "remove the block",
            severity,
        )


# --- calls and results ----------------------------------------------------------------------------


def calls_have_results(request: RuleInput) -> Violations:
    """A8: the next user message begins with the results of all calls of an assistant message.

    Results behind a text do not count, hence `_leading_results`.
    """
    severity = "error" if pairs_calls(request.family) else "warning"
    for turn in request.turns_with("tool_use"):
        calls = turn.of("tool_use") if turn.role == "assistant" else []
        following = _user_blocks_after(request.turns, turn.index) if calls else []
        result_ids = {
            str(block.plain.get("tool_use_id") or "") for block in _leading_results(following)
        }
        for call in calls:
            id = str(call.plain.get("id") or "")
            if id not in result_ids:
                message = (
                    f"{server_path(turn.path)}: `tool_use` ids were found without "
                    f"`tool_result` blocks immediately after: {id}. "
                    "Each `tool_use` block must have a corresponding `tool_result` block "
                    "in the next message."
                )
                yield violation(
                    call.path,
                    message,
                    "A8",
                    "begin the next message with its result, before any text",
                    severity,
                )


def _user_blocks_after(turns: list[Turn], index: int) -> list[Block]:
    """Return the blocks of the user messages between this assistant turn and the next one.

    Several messages count as one, because the server merges adjacent messages of one role (A4).
    """
    joined: list[Block] = []
    for at in range(index + 1, len(turns)):
        turn = turns[at]
        if turn.role == "user":
            joined += turn.blocks
        elif turn.role == "assistant" and joined:
            break
    return joined


def _leading_results(blocks: list[Block]) -> list[Block]:
    """Return the tool results before the first block of another type."""
    return list(itertools.takewhile(lambda block: block.type == "tool_result", blocks))


def results_have_calls(request: RuleInput) -> Violations:
    """A9, A10: each result answers a call of the previous assistant turn, at most once.

    Adjacent assistant messages are one turn, as on the server: `calls` is reset only where the role
    changes. A system message between a call and its result does not end the turn.
    """
    if not request.turns_with("tool_result"):
        return
    severity = "error" if pairs_calls(request.family) else "warning"
    calls: set[str] = set()
    answered: set[str] = set()
    before = ""
    in_thread = request.continues_thread  # its first results are of calls that the server holds
    for turn in request.turns:
        if turn.role == "assistant":
            in_thread = False
            if before != "assistant":
                calls, answered = set(), set()
        before = before if turn.role == "system" else turn.role
        if turn.types == TEXT_ONLY:
            continue
        if turn.role == "assistant":
            calls |= {str(block.plain.get("id") or "") for block in turn.of("tool_use")}
        for block in turn.of("tool_result"):
            id = str(block.plain.get("tool_use_id") or "")
            if id in answered:
                message = (
                    f"{server_path(block.path)}: each tool_use must have a single result. Found "
                    f"multiple `tool_result` blocks with id: {id}"
                )
                yield violation(block.path, message, "A10", "remove one of them")
            elif id not in calls and not in_thread:
                message = (
                    f"{server_path(block.path)}: unexpected `tool_use_id` found in "
                    f"`tool_result` blocks: {id}. "
                    "Each `tool_result` block must have a corresponding `tool_use` block "
                    "in the previous message."
                )
                yield violation(
                    block.path,
                    message,
                    "A9",
                    "move it directly after its call, or remove it",
                    severity,
                )
            answered.add(id)


def server_results_have_calls(request: RuleInput) -> Violations:
    """A11: the result of a server tool comes after its call."""
    seen: set[str] = set()
    for turn in request.body.turns_beyond_text:
        for block in turn.blocks:
            if block.type in ("server_tool_use", "mcp_tool_use"):
                seen.add(str(block.plain.get("id") or ""))
            elif block.type.endswith("_tool_result") and block.type != "tool_result":
                id = str(block.plain.get("tool_use_id") or "")
                use = "mcp_tool_use" if block.type == "mcp_tool_result" else "server_tool_use"
                if id not in seen:
                    message = (
                        f"{server_path(block.path)}: unexpected `tool_use_id` found in "
                        f"`{block.type}` blocks: {id}. "
                        f"Each `{block.type}` block must have a corresponding `{use}` "
                        "block before it."
                    )
                    yield violation(
                        block.path, message, "A11", "send the assistant's blocks back unchanged"
                    )


def call_ids_valid(request: RuleInput) -> Violations:
    """A12, A13: ids in calls and results have legal characters, and ids of calls are unique.

    An id that returns in a later message is a warning: such requests were answered in recorded
    traffic. Within one message the results could not be told apart.
    """
    earlier: set[str] = set()
    for turn in request.turns_with("tool_use", "tool_result"):
        here: set[str] = set()
        for block in turn.of("tool_use", "tool_result"):
            key = "id" if block.type == "tool_use" else "tool_use_id"
            id = block.plain.get(key)
            path = f"{block.path}.{key}"
            if not isinstance(id, str) or not CALL_ID.fullmatch(id):
                message = (
                    f"{server_path(block.path)}.{block.type}.{key}: String should match pattern "
                    "'^[a-zA-Z0-9_-]+$'"
                )
                yield violation(
                    path,
                    message,
                    "A12",
                    "use letters, digits, _ and - only, in the call and in its result",
                )
            elif key == "id":
                if id in here or id in earlier:
                    yield violation(
                        path,
                        f"{server_path(block.path)}: `tool_use` ids must be unique",
                        "A13",
                        "give each call its own id",
                        "error" if id in here else "warning",
                    )
                here.add(id)
        earlier |= here


def arguments_are_objects(request: RuleInput) -> Violations:
    """A14, A24: the input of a call is an object, and its name is a legal tool name."""
    for turn in request.turns_with("tool_use"):
        for block in turn.of("tool_use"):
            name = block.plain.get("name")
            if not isinstance(block.plain.get("input"), Mapping):
                message = (
                    f"{server_path(block.path)}.tool_use.input: Input should be a valid dictionary"
                )
                yield violation(
                    f"{block.path}.input",
                    message,
                    "A14",
                    f"send the arguments of {name} as an object",
                )
            if not isinstance(name, str) or not TOOL_NAME.fullmatch(name):
                yield violation(
                    f"{block.path}.name",
                    f"{server_path(block.path)}.tool_use.name: {tool_name_problem(name)}",
                    "A24",
                )


def tool_name_problem(name: object) -> str:
    """Return the server's words for an illegal tool name."""
    if isinstance(name, str) and len(name) > 128:
        return "String should have at most 128 characters"
    return "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"


def error_results_are_text(request: RuleInput) -> Violations:
    """A15: the result of a failed call has text blocks only."""
    for turn in request.turns_with("tool_result"):
        for block in turn.of("tool_result"):
            if block.plain.get("is_error") and any(
                each.get("type") != "text" for each in as_objects(block.plain.get("content"))
            ):
                message = (
                    f'{server_path(block.path)}.tool_result: all content must be type "text" if '
                    '"is_error" is true'
                )
                yield violation(
                    f"{block.path}.content",
                    message,
                    "A15",
                    "move the other blocks behind the results",
                )


# --- thinking -------------------------------------------------------------------------------------


def thinking_is_signed(request: RuleInput) -> Violations:
    """A16: a thinking block has a signature. Other hosts send none, so none is required there."""
    for turn in request.turns_with("thinking") if request.at_anthropic else ():
        for block in turn.of("thinking"):
            if not block.plain.get("signature"):
                message = f"{server_path(block.path)}.thinking.signature: Field required"
                yield violation(
                    block.path, message, "A16", "remove thinking blocks of other models"
                )


def assistant_turns_since_user(turns: list[Turn]) -> list[Turn]:
    """Return the assistant turns after the last user turn that has no tool results."""
    turns_since: list[Turn] = []
    for turn in reversed(turns):
        if turn.role == "assistant":
            turns_since.insert(0, turn)
        elif turn.role == "user" and not turn.of("tool_result"):
            break
    return turns_since


def final_turn_starts_with_thinking(request: RuleInput) -> Violations:
    """A17: with `thinking.type: enabled`, an unfinished turn begins with thinking: one with calls,
    and one whose last message the model continues.

    One thinking block at the start of any message of the turn is enough.
    """
    if request.thinking.get("type") != "enabled" or not request.turns:
        return
    last_turn = request.turns[-1]
    if last_turn.role != "assistant" and not last_turn.of("tool_result"):
        return
    turns = assistant_turns_since_user(request.turns)
    if turns and not any(turn.blocks and turn.blocks[0].is_thinking for turn in turns):
        last = turns[-1]
        kind = last.blocks[0].type if last.blocks else "nothing"
        message = (
            f"{server_path(last.path)}.content.0.type: Expected `thinking` or "
            f"`redacted_thinking`, but found `{kind}`. When `thinking` is "
            "enabled, a final `assistant` message must start with a thinking block "
            "(preceeding the lastmost set of `tool_use` and "
            "`tool_result` blocks). We recommend you include thinking blocks from "
            "previous turns. To avoid this requirement, disable "
            "`thinking`."
        )
        yield violation(
            f"{last.path}.content[0]",
            message,
            "A17",
            "send its thinking blocks back unchanged, or disable thinking",
        )


def no_thinking_while_disabled(request: RuleInput) -> Violations:
    """A18: without thinking, a final assistant message has no thinking blocks."""
    kind = request.thinking.get("type")
    off = kind == "disabled" or (kind is None and request.family.before(4, 7))
    last = request.turns[-1] if request.turns else None
    if (
        off
        and last is not None
        and last.role == "assistant"
        and any(block.is_thinking for block in last.blocks)
    ):
        message = (
            "When thinking is disabled, an 'assistant' message in the final position "
            "cannot contain 'thinking'. "
            "To use thinking blocks, enable 'thinking' in your request."
        )
        yield violation(last.path, message, "A18", "enable thinking, or remove the thinking blocks")


# --- where blocks and roles may be ----------------------------------------------------------------


def blocks_are_of_their_role(request: RuleInput) -> Violations:
    """A43, A44: since version 2026-10-21 an assistant message has no document blocks, and the texts
    of a user message have no citations.
    """
    if not request.dialect.vendor_rules or not is_since_2026(request.version):
        return
    for turn in request.body.turns_with_blocks:
        if turn.role == "assistant":
            for block in turn.of("document"):
                yield violation(
                    block.path,
                    f"{server_path(block.path)}: an assistant message may not have document blocks",
                    "A43",
                    "send the document in a user message",
                )
        elif turn.role == "user":
            for block in turn.of("text", "search_result"):
                for path in _cited(block):
                    yield violation(
                        path,
                        f"{server_path(path)}: a user message may not have citations",
                        "A44",
                        "remove them",
                    )


def _cited(block: Block) -> Iterator[str]:
    """Yield the paths of the citations of a text, or of the texts of a search result."""
    if block.type == "text":
        if block.plain.get("citations"):
            yield f"{block.path}.citations"
        return
    for index, inner in enumerate(as_objects(block.plain.get("content"))):
        if inner.get("type") == "text" and inner.get("citations"):
            yield f"{block.path}.content[{index}].citations"


def system_messages_placed(request: RuleInput) -> Violations:
    """A45: a system message is not the first one.

    A warning elsewhere than after a user message and before an assistant message or the end: the
    documentation allows it only there, or after a call of a server tool.
    """
    if "system" not in request.body.roles:
        return
    if not request.at_anthropic or request.family.before(4, 8):
        return
    for index, turn in enumerate(request.turns):
        if turn.role != "system":
            continue
        if index == 0 and not request.continues_thread:
            message = (
                "messages.0: use the top-level 'system' parameter for the initial system prompt"
            )
            yield violation(turn.path, message, "A45", "move the text to `system`")
            continue
        before = request.turns[index - 1] if index else None
        after = request.turns[index + 1] if index + 1 < len(request.turns) else None
        follows = (
            before is None
            or before.role in ("user", "system")
            or bool(before.of("server_tool_use", "mcp_tool_use"))
        )
        if not follows or (after is not None and after.role == "user"):
            yield violation(
                turn.path,
                f"{server_path(turn.path)}: a system message follows a user message, and precedes "
                "an assistant message or is the last one",
                "A45",
                "move it",
                "warning",
            )


# --- last message, cache --------------------------------------------------------------------------


def prefill_supported(request: RuleInput) -> Violations:
    """A19, A20: only older models continue an assistant message, which has no blanks at its end."""
    last = request.turns[-1] if request.turns else None
    if last is None or last.role != "assistant" or last.of("server_tool_use", "mcp_tool_use"):
        # The server paused within its own tool call. This message goes back unchanged, and the
        # server continues it, so it is not a prefill.
        return
    if request.plain.get("compaction") or (last.blocks and last.blocks[-1].type == "compaction"):
        return  # nothing is generated after the last message, or the server paused there
    # The token of a refused request allows the prefill with which it is repeated.
    if not takes_prefill(request.family) and not request.plain.get("fallback_credit_token"):
        message = (
            "This model does not support assistant message prefill. The conversation must "
            "end with a user message."
        )
        yield request.breach("prefill", last.path, message, "A19", "end with a user message")
    text = (
        last.blocks[-1].plain.get("text")
        if last.blocks and last.blocks[-1].type == "text"
        else None
    )
    if isinstance(text, str) and text and text != text.rstrip():
        message = "messages: final assistant content cannot end with trailing whitespace"
        yield violation(last.blocks[-1].path, message, "A20", "strip the trailing whitespace")


def cache_breakpoints_valid(request: RuleInput) -> Violations:
    """A21, A22, A23: at most 4 cache breakpoints, none on thinking, long lifetimes first."""
    breakpoints: list[tuple[str, str]] = []
    for block in _cacheable_blocks(request):
        cache_control = block.plain.get("cache_control")
        if cache_control and isinstance(cache_control, Mapping):
            breakpoints.append((block.path, str(cache_control.get("ttl") or "5m")))
            if block.is_thinking:
                message = (
                    f"{server_path(block.path)}.{block.type}.cache_control: Extra inputs are not "
                    "permitted"
                )
                yield violation(
                    f"{block.path}.cache_control", message, "A22", "set it on another block"
                )
    if len(breakpoints) > _MAX_CACHE_BREAKPOINTS:
        message = (
            f"A maximum of {_MAX_CACHE_BREAKPOINTS} blocks with cache_control may be provided. "
            f"Found {len(breakpoints)}."
        )
        yield violation(
            f"{breakpoints[_MAX_CACHE_BREAKPOINTS][0]}.cache_control",
            message,
            "A21",
            "remove all but the last ones",
        )
    has_short_lifetime = False
    for path, ttl in breakpoints:
        if ttl == "1h" and has_short_lifetime:
            message = (
                f"{server_path(path)}.cache_control.ttl: a ttl='1h' cache_control block must "
                "not come after a ttl='5m' cache_control block. "
                "Note that blocks are processed in the following order: `tools`, "
                "`system`, `messages`."
            )
            yield violation(
                f"{path}.cache_control", message, "A23", "set 1h breakpoints before 5m breakpoints"
            )
        has_short_lifetime = has_short_lifetime or ttl == "5m"


def _cacheable_blocks(request: RuleInput) -> Iterator[Block]:
    """Yield everything that can have a cache breakpoint, in the order of the server's reading."""
    yield from request.body.tools
    yield from request.body.system
    for turn in request.body.turns_with_blocks:
        for block in turn.blocks:
            if block.type == "tool_result":
                for index, inner in enumerate(as_objects(block.plain.get("content"))):
                    yield Block(f"{block.path}.content[{index}]", inner)
            yield block
