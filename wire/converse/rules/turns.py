"""Rules of messages and their blocks: order, pairs of calls and results, ids, cache points."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping

from wire.converse.rules.rule_input import (
    Block,
    RuleInput,
    Turn,
    as_object,
    as_objects,
    constraint,
    server_path,
    violation,
)
from wire.core.errors import Violation

Violations = Iterator[Violation]

CALL_ID = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ROLES = ("user", "assistant", "system")
_MAX_CACHE_POINTS = 4
_UNION = frozenset(
    (
        *("text", "image", "document", "video", "audio", "toolUse", "toolResult", "guardContent"),
        *("cachePoint", "reasoningContent", "citationsContent", "searchResult", "toolAddition"),
        "toolRemoval",
    )
)
"""The known kinds of a block. The service judges others, which may be newer than this list."""
_OF_USER = frozenset({"toolResult"})
_OF_ASSISTANT = frozenset({"toolUse", "reasoningContent"})


def messages_present(request: RuleInput) -> Violations:
    """B1: there is a message, unless the model is a stored prompt."""
    if not request.turns and not request.plain.get("promptVariables"):
        if ":prompt/" in request.model:
            return
        problem = "A conversation must start with a user message. Try again with a conversation "
        problem += "that starts with a user message."
        yield violation("messages", problem, "B1", "add a message")


def roles_valid(request: RuleInput) -> Violations:
    """B2: each message has a role that the service knows."""
    for turn in request.turns:
        if turn.role not in _ROLES:
            problem = f"Member must satisfy enum value set: [{', '.join(_ROLES)}]"
            yield constraint(f"{turn.path}.role", problem, "B2")


def user_first(request: RuleInput) -> Violations:
    """B3: the first message is one of the user; Claude and Qwen take one of the assistant, too."""
    first = next((turn for turn in request.turns if turn.role != "system"), None)
    if first is None or first.role == "user" or request.family.begins_anywhere:
        return
    if not request.at_bedrock or not request.model:
        return
    problem = "A conversation must start with a user message. Try again with a conversation that "
    problem += "starts with a user message."
    yield violation(first.path, problem, "B3", "begin with a message of the user")


def roles_alternate(request: RuleInput) -> Violations:
    """B4: (dated, 2024) neighbours have different roles; today the service merges equal ones."""
    for before, turn in itertools.pairwise(request.turns):
        if before.role == turn.role and turn.role in ("user", "assistant"):
            problem = "A conversation must alternate between user and assistant roles. Make sure "
            problem += "the conversation alternates between user and assistant roles and try again."
            yield violation(turn.path, problem, "B4", "merge them", "warning")
            return


def contents_not_empty(request: RuleInput) -> Violations:
    """B5: a message has a block, and a block has one key."""
    for turn in request.turns:
        if not turn.blocks:
            problem = f"The content field in the Message object at {server_path(turn.path)} is "
            problem += "empty. Add a ContentBlock object to the content field and try again."
            yield violation(f"{turn.path}.content", problem, "B5", "remove it, or add a text")
    for turn in request.body.beyond_text:
        for block in turn.blocks:
            known = [kind for kind in block.kinds if kind in _UNION]
            if not block.kinds or len(known) > 1:
                found = ", ".join(known) or "none"
                problem = f"expected one key, the kind of the block; found {found}"
                yield violation(block.path, problem, "B5", "make a block of each")


def texts_not_blank(request: RuleInput) -> Violations:
    """B6: no text is empty. One of nothing but blanks is a warning: recorded requests that divide a
    document and a cache point by a line end were answered.
    """
    for turn in request.turns:
        for block in turn.of("text"):
            text = block.plain.get("text")
            if not isinstance(text, str) or text.strip():
                continue
            severity = "warning" if text else "error"
            problem = f"The text field in the ContentBlock object at {server_path(block.path)} is "
            problem += "blank. Add text to the text field, and try again."
            yield violation(f"{block.path}.text", problem, "B6", "remove the block", severity)
    for block in request.body.system:
        if block.plain.get("text") == "":
            problem = "Member must have length greater than or equal to 1"
            yield constraint(f"{block.path}.text", problem, "B6", "remove the block")


def blocks_are_of_their_role(request: RuleInput) -> Violations:
    """B7: calls and reasoning stand in messages of the assistant, results in those of the user.

    Results of tools that the server ran have a `type`, and stand beside their calls.
    """
    for turn, block in request.with_kinds("toolUse", "reasoningContent", "toolResult"):
        kind, role = block.kind, turn.role
        misplaced = (role == "user" and kind in _OF_ASSISTANT) or (
            role == "assistant" and kind in _OF_USER and not block.fields(kind).get("type")
        )
        if misplaced:
            other = "assistant" if role == "user" else "user"
            problem = f"{kind} belongs in a message of the {other}, not of the {role}"
            yield violation(block.path, problem, "B7", f"move it to a message of the {other}")


# --- calls and results ----------------------------------------------------------------------------


def _called(turn: Turn) -> list[str]:
    """Return the ids of the calls in a turn that the caller has to answer."""
    calls = [block.fields("toolUse") for block in turn.of("toolUse")]
    done = {block.fields("toolResult").get("toolUseId") for block in turn.of("toolResult")}
    return [
        str(call.get("toolUseId") or "")
        for call in calls
        if call.get("type") != "server_tool_use" and call.get("toolUseId") not in done
    ]


def _answered(turn: Turn | None) -> list[str]:
    if turn is None or turn.role != "user":
        return []
    blocks = turn.of("toolResult")
    return [str(block.fields("toolResult").get("toolUseId") or "") for block in blocks]


def calls_have_results(request: RuleInput) -> Violations:
    """B8: the message after calls has their results."""
    turns = [turn for turn in request.turns if turn.role != "system"]
    for at, turn in enumerate(turns):
        if turn.role != "assistant" or "toolUse" not in turn.kinds:
            continue
        following = [each for each in turns[at + 1 :] if each.role == "user"][:1]
        answered = {id for each in following for id in _answered(each)}
        missing = [id for id in _called(turn) if id not in answered]
        if missing:
            place = server_path(turns[at + 1].path if at + 1 < len(turns) else turn.path)
            problem = f"Expected toolResult blocks at {place}.content for the following Ids: "
            problem += ", ".join(missing)
            yield violation(turn.path, problem, "B8", "add the results, or remove the calls")


def results_have_calls(request: RuleInput) -> Violations:
    """B9: each result answers a call of the message before it."""
    before: Turn | None = None
    for turn in request.turns:
        if turn.role == "system":
            continue
        if turn.role == "user" and "toolResult" in turn.kinds:
            calls = _called(before) if before is not None and before.role == "assistant" else []
            if before is not None and before.role == "user":
                calls = _answered(turn)  # the service merges them: B8 tells what is missing
            results = _answered(turn)
            if len(results) > len(calls) or not set(results) <= set(calls):
                problem = f"The number of toolResult blocks at {server_path(turn.path)}.content "
                problem += "exceeds the number of toolUse blocks of previous turn."
                remedy = "send results directly behind their calls, with their ids"
                yield violation(turn.path, problem, "B9", remedy)
        before = turn


def call_ids_valid(request: RuleInput) -> Violations:
    """B10: ids have legal characters, and ids of the calls of one message are different."""
    for turn in request.body.beyond_text:
        seen: set[str] = set()
        for block in turn.of("toolUse", "toolResult"):
            id, path = block.fields(block.kind).get("toolUseId"), f"{block.path}.{block.kind}"
            if not isinstance(id, str) or not CALL_ID.fullmatch(id):
                long = isinstance(id, str) and len(id) > 64
                problem = "Member must have length less than or equal to 64" if long else ""
                pattern = "Member must satisfy regular expression pattern: [a-zA-Z0-9_.:-]+"
                yield constraint(f"{path}.toolUseId", problem or pattern, "B10")
            elif block.kind == "toolUse":
                if id in seen:
                    problem = f"The toolUse blocks at {server_path(turn.path)}.content contain "
                    problem += "duplicate Ids"
                    remedy = "give each call its own id"
                    yield violation(f"{path}.toolUseId", problem, "B10", remedy)
                seen.add(id)


def calls_well_formed(request: RuleInput) -> Violations:
    """B11, B12: the name of a call is legal, its input is an object."""
    for _, block in request.with_kinds("toolUse"):
        call = block.fields("toolUse")
        yield from tool_name(call.get("name"), f"{block.path}.toolUse.name", "B11")
        if not isinstance(call.get("input"), Mapping):
            path = f"{block.path}.toolUse.input"
            problem = f"The format of the value at {server_path(path)} is invalid. Provide a json "
            problem += "object for the field and try again."
            yield violation(path, problem, "B12", "send the arguments as an object")


def tool_name(name: object, path: str, rule: str) -> Violations:
    """Yield the violation of an illegal name of a tool."""
    if isinstance(name, str) and TOOL_NAME.fullmatch(name):
        return
    if isinstance(name, str) and len(name) > 64:
        yield constraint(path, "Member must have length less than or equal to 64", rule)
        return
    pattern = "Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+"
    yield constraint(path, pattern, rule, "use letters, digits, _ and -")


def results_say_something(request: RuleInput) -> Violations:
    """B13: the result of a failed call is not empty; some models refuse `status`."""
    for _, block in request.with_kinds("toolResult"):
        result, path = block.fields("toolResult"), f"{block.path}.toolResult"
        if result.get("status") == "error" and not result.get("content"):
            problem = f"The content field at {server_path(path)} cannot be empty when status value "
            problem += "is error."
            yield violation(f"{path}.content", problem, "B13", "say what went wrong")
        if result.get("status") not in (None, "success", "error"):
            problem = "Member must satisfy enum value set: [success, error]"
            yield constraint(f"{path}.status", problem, "B13")
        elif result.get("status") and request.family.no_status:
            problem = f"This model doesn't support the {server_path(path)}.status field. Remove "
            problem += "it and try again."
            yield violation(f"{path}.status", problem, "B13", "remove it")


def turns_of_tools_alone(request: RuleInput) -> Violations:
    """B14: for some models, results stand in their turn alone, and so do calls.

    A warning: it is known of families, not of each of their models.
    """
    if not request.family.results_alone:
        return
    for turn in request.body.beyond_text:
        for kind, name in (("toolResult", "tool result"), ("toolUse", "tool use")):
            others = turn.kinds - {kind, "cachePoint", "reasoningContent"}
            if kind in turn.kinds and others:
                problem = f"{server_path(turn.path)}.content: Conversation blocks and {name} blocks"
                problem += " cannot be provided in the same turn."
                yield violation(turn.path, problem, "B14", "send them in turns", "warning")


def tools_given_with_calls(request: RuleInput) -> Violations:
    """B15: a conversation with calls or results comes with the tools."""
    if request.plain.get("toolConfig"):
        return
    if any(True for _ in request.with_kinds("toolUse", "toolResult")):
        problem = "The toolConfig field must be defined when using toolUse and toolResult content "
        problem += "blocks."
        yield violation("toolConfig", problem, "B15", "send the tools of the conversation")


# --- reasoning, cache -----------------------------------------------------------------------------


def reasoning_is_signed(request: RuleInput) -> Violations:
    """B16: reasoning that is sent back to Claude has a signature."""
    for _, block in request.with_kinds("reasoningContent") if request.family.is_claude else ():
        text = as_object(block.fields("reasoningContent").get("reasoningText"))
        if text and not text.get("signature"):
            place = server_path(block.path)
            problem = f"The model returned the following errors: {place}.thinking.signature: "
            problem += "Field required"
            yield violation(block.path, problem, "B16", "remove reasoning of other models")


def cache_points_valid(request: RuleInput) -> Violations:
    """B17, B18: at most 4 cache points, long lifetimes first; none behind reasoning, nor behind a
    document that is no PDF.
    """
    points = list(_cache_points(request))
    short = False
    for block in points:
        point = block.fields("cachePoint")
        if point.get("type") != "default":
            problem = "Member must satisfy enum value set: [default]"
            yield constraint(f"{block.path}.cachePoint.type", problem, "B17")
        ttl = point.get("ttl") or "5m"
        if ttl not in ("5m", "1h"):
            problem = "Member must satisfy enum value set: [5m, 1h]"
            yield constraint(f"{block.path}.cachePoint.ttl", problem, "B17")
        if ttl == "1h" and short:
            problem = "a cache point of 1h comes before those of 5m, in the order tools, system, "
            yield violation(block.path, problem + "messages", "B17", "set those of 1h first")
        short = short or ttl == "5m"
    if len(points) > _MAX_CACHE_POINTS:
        problem = f"at most {_MAX_CACHE_POINTS} cache points; found {len(points)}"
        path = points[_MAX_CACHE_POINTS].path
        yield violation(path, problem, "B17", "remove all but the last ones")
    for turn in request.body.beyond_text if points else ():
        for before, block in itertools.pairwise(turn.blocks):
            if block.kind == "cachePoint":
                yield from _placed(before, block, request)


def _placed(before: Block, block: Block, request: RuleInput) -> Violations:
    if before.kind == "reasoningContent":
        problem = "Cache point cannot be inserted after reasoning block. Please remove the invalid "
        yield violation(block.path, problem + "cache point and try again.", "B18", "move it")
    text_format = before.fields("document").get("format")
    if text_format not in (None, "pdf") and request.family.is_claude:
        problem = "The model returned the following errors: "
        problem += f"{server_path(block.path)}.type: Field required"
        yield violation(block.path, problem, "B18", "set it before the document")


def _cache_points(request: RuleInput) -> Iterator[Block]:
    """Yield the cache points in the order of the server's reading."""
    of_messages = (block for _, block in request.with_kinds("cachePoint"))
    for block in (*request.body.tools, *request.body.system, *of_messages):
        if block.kind == "cachePoint":
            yield block


def last_message_is_continued(request: RuleInput) -> Violations:
    """B19: only older models of Claude continue a last message of the assistant."""
    last = request.turns[-1] if request.turns else None
    if last is None or last.role != "assistant" or not request.family.is_claude:
        return
    if request.family.known.prefill is False:
        problem = "The model returned the following errors: This model does not support assistant "
        problem += "message prefill. The conversation must end with a user message."
        yield request.breach("prefill", last.path, problem, "B19", "end with a user message")


def results_of(block: Block) -> Iterator[Block]:
    """Yield the parts of the result in a block, with their paths."""
    content = block.fields("toolResult").get("content")
    for index, inner in enumerate(as_objects(content)):
        yield Block(f"{block.path}.toolResult.content[{index}]", inner)
