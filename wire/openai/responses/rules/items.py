"""Rules of single items: types, roles, required keys, ids.

Each function checks the rule whose id its docstring begins with, and yields one violation for each
breach. Message texts are the server's own and stay as they are; only remedies are ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from wire.core.errors import Violation
from wire.openai.common.bounds import json_type
from wire.openai.responses.rules.rule_input import (
    CALL_NAMES,
    OUTPUT_OF,
    Entry,
    RuleInput,
    as_list,
    invalid_value,
    missing,
    violation,
)

ITEM_TYPES = (
    "additional_tools",
    "agent_message",
    "apply_patch_call",
    "apply_patch_call_output",
    "code_interpreter_call",
    "compaction",
    "compaction_trigger",
    "computer_call",
    "computer_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "file_search_call",
    "function_call",
    "function_call_output",
    "image_generation_call",
    "item_reference",
    "local_shell_call",
    "local_shell_call_output",
    "mcp_approval_request",
    "mcp_approval_response",
    "mcp_call",
    "mcp_list_tools",
    "message",
    "multi_agent_call",
    "multi_agent_call_output",
    "program",
    "program_output",
    "reasoning",
    "shell_call",
    "shell_call_output",
    "tool_search_call",
    "tool_search_output",
    "web_search_call",
)
"""Types that OpenAI's refusal of an unknown one lists, as of August 2026."""
_ALL_TYPES = frozenset({*ITEM_TYPES, "configuration_update"})
ROLES = ("assistant", "system", "developer", "user")
_REQUIRED = {
    "function_call": ("call_id", "name", "arguments"),
    "function_call_output": ("call_id", "output"),
    "custom_tool_call": ("call_id", "name", "input"),
    "custom_tool_call_output": ("call_id", "output"),
    "computer_call_output": ("call_id", "output"),
    "shell_call_output": ("call_id", "output"),
    "reasoning": ("summary",),
    "compaction": ("encrypted_content",),
    "item_reference": ("id",),
}
_ID_PREFIXES = {"message": "msg", "reasoning": "rs", "function_call": "fc"}
"""Prefixes in recorded and reported refusals. Those of other types are known, and not whether they
are enforced."""
_ID = re.compile(r"[A-Za-z0-9_-]+")
_MAX_ID_CHARACTERS = 64

Violations = Iterator[Violation]


def input_present(request: RuleInput) -> Violations:
    """P1: a request has an input of items, or a text; or names what the server holds."""
    value = request.plain.get("input")
    if value is None or value in ("", []):
        others = ("previous_response_id", "conversation", "prompt")
        if not any(request.plain.get(name) for name in others):
            if value is None:
                yield missing("input", "P1")
            else:
                message = (
                    "One of \"input\" or \"previous_response_id\" or 'prompt' or 'conversation' "
                    "must be provided."
                )
                code = "missing_required_parameter"
                yield violation("input", message, "P1", code=code, field="")
    elif not isinstance(value, (str, list, tuple)):
        message = (
            "Invalid type for 'input': expected one of a string or array of input items, but got "
            f"{json_type(value)} instead."
        )
        yield violation("input", message, "P1", code="invalid_type")


def types_known(request: RuleInput) -> Violations:
    """P2: an item has a type, or a role; the host knows the type.

    A type that is not known here is a warning at OpenAI: it may be newer than this list.
    """
    known, at_openai = request.dialect.item_types, request.at_openai
    for item, value in zip(request.items, as_list(request.plain.get("input")), strict=True):
        if not item.plain and value != {}:
            message = (
                f"Invalid type for '{item.path}': expected an input item, but got "
                f"{json_type(value)} instead."
            )
            yield violation(item.path, message, "P2", code="invalid_type")
        elif not item.type:
            yield invalid_value(item.path, "", ROLES, "P2", "set `type`")
        elif known and not _is_known(item, request):
            words = request.dialect.unknown_item_words
            words = words.replace("{path}", item.path).replace("{type}", item.type)
            yield violation(item.path, words, "P2", _remedy(item))
        elif at_openai and item.type not in _ALL_TYPES:
            found = invalid_value(item.path, item.type, ITEM_TYPES, "P2")
            yield Violation(
                found.path, found.message, "P2", "warning", code=found.code, field=found.field
            )


def _is_known(item: Entry, request: RuleInput) -> bool:
    if item.type not in request.dialect.item_types:
        return False
    needs_type = request.dialect.typed_messages and item.role == "assistant"
    return not needs_type or "type" in item.plain


def _remedy(item: Entry) -> str:
    return 'set type: "message"' if "type" not in item.plain else "leave the item out"


def roles_valid(request: RuleInput) -> Violations:
    """P3: a message has one of the roles of the API, which the host has too."""
    for item in request.items:
        if item.type != "message":
            continue
        if item.role not in ROLES:
            if request.at_openai:
                remedy = (
                    "send the result as an item of type function_call_output"
                    if item.role in ("tool", "function")
                    else "use one of these roles"
                )
                yield invalid_value(item.path, item.role, ROLES, "P3", remedy)
        elif item.role == "developer" and not request.dialect.developer_role:
            message = "this host may not know the role developer"
            yield violation(f"{item.path}.role", message, "P3", "use role system", "warning")


def required_keys_present(request: RuleInput) -> Violations:
    """P5: an item has the keys that its type requires, the output of a call even if it is empty."""
    at_openai = request.at_openai
    for item in request.items:
        if item.type == "message" and at_openai:
            if "content" not in item.plain:
                yield missing(f"{item.path}.content", "P5", 'set it, if only to ""')
            elif item.plain["content"] is None:
                path = f"{item.path}.content"
                message = (
                    f"Invalid type for '{path}': expected one of an array of objects or string, "
                    "but got null instead."
                )
                yield violation(path, message, "P5", 'set it to ""', code="invalid_type")
            if item.role != "assistant" and "phase" in item.plain:
                path = f"{item.path}.phase"
                message = f"Unknown parameter: '{path}'."
                yield violation(path, message, "P5", "remove it", code="unknown_parameter")
        for key in _REQUIRED.get(item.type, ()):
            if item.plain.get(key) is None:
                remedy = {
                    "output": 'set it, if only to ""',
                    "summary": "set it, if only to []",
                    "arguments": 'set it, if only to "{}"',
                }.get(key, "")
                yield missing(f"{item.path}.{key}", "P5", remedy, request.severity)


# --- ids ------------------------------------------------------------------------------------------


def ids_valid(request: RuleInput) -> Violations:
    """P6: ids have legal characters, a legal length, and the prefix of their type."""
    at_openai = request.at_openai
    for item in request.items:
        if item.type in CALL_NAMES or item.type in OUTPUT_OF:
            yield from _call_id(item, request)
        if item.id is not None and at_openai:
            yield from _id(item, item.id)


def _call_id(item: Entry, request: RuleInput) -> Violations:
    path, id = f"{item.path}.call_id", item.plain.get("call_id")
    if id == "":
        message = (
            f"Invalid '{path}': empty string. Expected a string with minimum length 1, but got an "
            "empty string instead."
        )
        code = "empty_string"
        yield violation(
            path, message, "P6", "name the call and its output", request.severity, code=code
        )
    elif isinstance(id, str) and len(id) > _MAX_ID_CHARACTERS:
        remedy = "shorten it in the call and in its output alike"
        yield _too_long(path, id, remedy, request.severity)


def _id(item: Entry, id: str) -> Violations:
    path = f"{item.path}.id"
    prefix = _ID_PREFIXES.get(item.type, "")
    if not _ID.fullmatch(id):
        message = (
            f"Invalid '{path}': '{id}'. Expected an ID that contains letters, numbers, "
            "underscores, or dashes, but this value contained additional characters."
        )
        yield violation(path, message, "P6", "leave it out", code="invalid_value")
    elif len(id) > _MAX_ID_CHARACTERS:
        yield _too_long(path, id, "leave it out", "error")
    elif not id.startswith(prefix):
        message = f"Invalid '{path}': '{id}'. Expected an ID that begins with '{prefix}'."
        yield violation(path, message, "P6", "leave it out", code="invalid_value")


def _too_long(path: str, id: str, remedy: str, severity: str) -> Violation:
    message = (
        f"Invalid '{path}': string too long. Expected a string with maximum length "
        f"{_MAX_ID_CHARACTERS}, but got a string with length {len(id)} instead."
    )
    return violation(path, message, "P6", remedy, severity, code="string_above_max_length")


def ids_unique(request: RuleInput) -> Violations:
    """P7: no two items have one id."""
    seen: set[str] = set()
    for item in request.items if request.at_openai else ():
        if item.id in seen:
            message = (
                f"Duplicate item found with id {item.id}. Remove duplicate items from your input "
                "and try again."
            )
            yield violation(f"{item.path}.id", message, "P7", field="input")
        if item.id:
            seen.add(item.id)


def ids_are_stored(request: RuleInput) -> Violations:
    """P13: with `store: false`, no item is one that only the server holds.

    That is an `item_reference`, and reasoning with an id and without its encrypted content. Other
    items have their content beside the id, and are accepted. It is a warning where an earlier
    request may have stored the item.
    """
    if not request.at_openai or request.plain.get("store") is not False:
        return
    for item in request.body.items_beyond_messages:
        is_lookup = item.type == "item_reference" or (
            item.type == "reasoning"
            and not item.plain.get("encrypted_content")
            and not item.plain.get("content")
        )
        if item.id and is_lookup:
            message = (
                f"Item with id '{item.id}' not found. Items are not persisted when `store` is set "
                "to false. Try again with `store` set to true, or remove this item from your input."
            )
            is_lost = item.type == "reasoning" and not request.continues
            remedy = (
                'ask for its secret with include=["reasoning.encrypted_content"], and send that'
                if item.type == "reasoning"
                else "send the item itself"
            )
            yield Violation(
                f"{item.path}.id",
                message,
                "P13",
                "error" if is_lost else "warning",
                remedy,
                status=404,
                code="",
                field="input",
            )


def no_null_keys(request: RuleInput) -> Violations:
    """P14: reasoning has no keys that are null. SDKs write them when they dump an item."""
    for item in request.body.items_beyond_messages if request.at_openai else ():
        for key in ("status", "encrypted_content") if item.type == "reasoning" else ():
            if key in item.plain and item.plain[key] is None:
                path = f"{item.path}.{key}"
                message = f"Unknown parameter: '{path}'."
                yield violation(path, message, "P14", "remove the key", code="unknown_parameter")


def reasoning_readable(request: RuleInput) -> Violations:
    """P24: reasoning has the text that llama.cpp reads."""
    words = request.dialect.reasoning_content_words
    for item in request.body.items_beyond_messages if words else ():
        if item.type == "reasoning" and not as_list(item.plain.get("content")):
            yield violation(f"{item.path}.content", words, "P24", "leave the item out")
