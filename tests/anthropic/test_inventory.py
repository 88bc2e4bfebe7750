"""Structs against the inventory of Anthropic's SDK, in both directions.

The inventory has a schema for each type of block, tool, delta and event, the structs are one for
each concept. So both are walked side by side from the roots, and a struct is held against all
schemas that it is met with.
"""

from __future__ import annotations

import json
import re
import types as builtin
import typing
from pathlib import Path
from typing import Any

import pytest

from wire.anthropic import types
from wire.anthropic.types.base import AnthropicStruct

INVENTORY = Path(__file__).parents[3] / "shared" / "contracts" / "anthropic-messages.fields.json"
ROOTS: dict[str, type[AnthropicStruct]] = {
    "message_create": types.MessageRequest,
    "message_create_streaming": types.MessageRequest,
    "message": types.MessageResponse,
    "stream_event": types.MessageStreamEvent,
    "count_tokens_request": types.CountTokensRequest,
    "count_tokens_response": types.TokenCount,
    "model_info": types.ModelInfo,
    "error_response": types.ErrorBody,
    "batch": types.MessageBatch,
    "batch_create": types.BatchCreateRequest,
    "batch_individual": types.MessageBatchResult,
    "usage": types.Usage,
}

pytestmark = pytest.mark.skipif(
    not INVENTORY.exists(), reason="the inventory of Anthropic's SDK is not beside this checkout"
)

OTHER_TYPES = {
    "ContentBlock.input": "text where a streamed answer ended in the middle of its JSON",
    "ErrorBody.error": "text at hosts that only look like this wire",
    "MessageRequest.container": "an object in beta, with skills",
}
"""Fields whose type is another one than the inventory's, and why."""


def each(structs: str, keys: str, why: str) -> dict[str, str]:
    return {f"{struct}.{key}": why for struct in structs.split() for key in keys.split()}


PROMPTS = "MessageRequest CountTokensRequest"
BEYOND = {
    # requests
    **each(PROMPTS, "output_format context_management mcp_servers", "beta, in accepted requests"),
    **each("MessageRequest", "anthropic_version", "Vertex, in accepted requests"),
    **each("MessageRequest", "speed", "beta; answers have it"),
    **each("OutputConfig", "task_budget", "beta, in accepted requests"),
    **each(
        "Tool", "display_width_px display_height_px", "beta (computer use), in accepted requests"
    ),
    **each("Tool", "display_number enable_zoom", "beta (computer use), said by its pages"),
    **each("Tool", "model max_tokens", "beta (advisor), in accepted requests"),
    **each("Tool", "mcp_server_name default_config configs", "beta (MCP), said by its pages"),
    # blocks
    **each("ContentBlock", "server_name", "beta (MCP), seen in both directions"),
    **each("ContentBlock", "from to", "beta (fallback), seen in answers"),
    **each("ContentBlock", "tool", "tool_addition, in accepted requests"),
    **each("Source", "file_id", "beta (files), in accepted requests"),
    **each("ToolOutput", "abort_reason", "seen in answers"),
    **each("ToolOutput", "text encrypted_content stop_reason", "beta (advisor), seen in answers"),
    **each("Container", "skills", "beta, seen in answers"),
    # answers
    **each(
        "MessageResponse MessageStreamEvent TokenCount",
        "context_management",
        "beta, seen in answers",
    ),
    **each("MessageResponse", "provider", "seen in answers (OpenRouter)"),
    **each("MessageResponse ErrorBody", "base_resp", "MiniMax, told in public threads"),
    **each("MessageStreamEvent", "error request_id", "the event that errors come in"),
    **each("Delta", "content", "beta (compaction), seen in answers"),
    **each("Delta", "estimated_tokens", "beta, seen in answers"),
    **each("StopDetails", "recommended_model", "beta (fallback), seen in answers"),
    **each("Usage", "iterations", "beta, seen in answers"),
    **each("Usage", "speed cost cost_details is_byok", "seen in answers (OpenRouter)"),
    # errors
    **each("ErrorObject", "details", "told in public threads"),
    **each("ErrorObject", "code http_code", "other hosts"),
}
"""Fields that the inventory has not, and why the structs have them."""

OF_OTHERS = {
    "BaseResp": "MiniMax's status inside an answer",
    "ContextManagement": "beta",
    "DeletedBatch": "answer of DELETE /messages/batches/{id}; the inventory "
    "has no lists and no deletions",
    "FallbackModel": "beta",
    "Iteration": "beta",
    "McpServer": "beta",
    "MessageBatchList": "answer of GET /messages/batches",
    "ModelList": "answer of GET /models",
    "Skill": "beta",
    "TaskBudget": "beta",
    "ToolReference": "tool_addition, a block of 2026",
}
"""Structs that nothing in the inventory is met with, and why they are there."""

# --- the inventory's types ------------------------------------------------------------------------

SCALARS: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "false": bool,
    "true": bool,
    "any": Any,
}
SCALARS |= {"datetime": str, "Base64FileInput": str}
UNNAMED = {"ContentBlock": "raw_content_block_start_event.ContentBlock"}
"""Names that the inventory uses and does not have, and the same under another name."""

TOKEN = re.compile(r'enum\([^)]*\)|array\[|map\[string, |\]|\||"[^"]*"|[\w.]+')

Kind = tuple[str, Any]
"""`("scalar", type)`, `("array", kinds)`, `("map", kinds)`, `("object", {key: type})`."""


def kinds_of(text: str, schemas: dict[str, Any]) -> list[Kind]:
    """A type of the inventory, its names opened as far as unions and aliases go."""
    tokens = TOKEN.findall(text)[::-1]
    return _union(tokens, schemas)


def _union(tokens: list[str], schemas: dict[str, Any]) -> list[Kind]:
    found = _one(tokens, schemas)
    while tokens and tokens[-1] == "|":
        tokens.pop()
        found += _one(tokens, schemas)
    return found


def _one(tokens: list[str], schemas: dict[str, Any]) -> list[Kind]:
    token = tokens.pop()
    if token in ("array[", "map[string, "):
        inside = _union(tokens, schemas)
        assert tokens.pop() == "]"
        return [("array" if token == "array[" else "map", inside)]
    if token == "null":
        return []
    if token in SCALARS or token[0] == '"' or token.startswith("enum("):
        return [("scalar", SCALARS.get(token, str))]
    schema = schemas[UNNAMED.get(token, token)]
    if schema["kind"] == "object":
        return [("object", {key: field["type"] for key, field in schema["fields"].items()})]
    return kinds_of(
        schema["type"] if schema["kind"] == "alias" else " | ".join(schema["members"]), schemas
    )


# --- side by side ---------------------------------------------------------------------------------


def alternatives(hint: Any) -> list[Any]:
    members = typing.get_args(hint) if isinstance(hint, builtin.UnionType) else (hint,)
    return [each for each in members if each is not type(None)]


def fields_of(struct: type[AnthropicStruct]) -> dict[str, Any]:
    hints = typing.get_type_hints(struct)
    return {
        key: hints[name]
        for name, key in zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True)
    }


class Walk:
    """What the two say of each other: keys met per struct, and what of the types has no
    counterpart.
    """

    def __init__(self, inventory: dict[str, Any]) -> None:
        self.schemas = inventory["schemas"]
        self.met: dict[type[AnthropicStruct], set[str]] = {}
        self.used: dict[tuple[str, str], set[str]] = {}
        self.lacking: set[str] = set()
        self._done: set[tuple[str, str]] = set()
        for root, struct in ROOTS.items():
            for _, fields in kinds_of(inventory["roots"][root], self.schemas):
                self.object(fields, struct)

    def object(self, fields: dict[str, str], struct: type[AnthropicStruct]) -> None:
        self.met.setdefault(struct, set()).update(fields)
        if (mark := (repr(fields), struct.__name__)) in self._done:
            return
        self._done.add(mark)
        ours = fields_of(struct)
        for key, kind in fields.items():
            if key in ours:
                self.compare(kinds_of(kind, self.schemas), ours[key], (struct.__name__, key), "")

    def compare(self, kinds: list[Kind], hint: Any, field: tuple[str, str], depth: str) -> None:
        for form, inside in kinds:
            for each in alternatives(hint):
                if form == "scalar" and each is inside:
                    break
                if form == "array" and typing.get_origin(each) is list:
                    self.compare(inside, typing.get_args(each)[0], field, depth + "[]")
                    break
                if form == "map" and typing.get_origin(each) is dict:
                    self.compare(inside, typing.get_args(each)[1], field, depth + "{}")
                    break
                if (
                    form == "object"
                    and isinstance(each, type)
                    and issubclass(each, AnthropicStruct)
                ):
                    self.object(inside, each)
                    break
                if (
                    form == "object" and typing.get_origin(each) is dict
                ):  # a schema that is kept as it is
                    self.used.setdefault(field, set()).add(f"{depth}{{}}{Any}")
                    break
            else:
                self.lacking.add(".".join(field))
                continue
            self.used.setdefault(field, set()).add(f"{depth}{each}")


def said(hint: Any, depth: str = "") -> set[str]:
    """Every alternative of a hint, at every depth, as `Walk.used` writes them."""
    found = set()
    for each in alternatives(hint):
        found.add(f"{depth}{each}")
        if typing.get_origin(each) in (list, dict):
            found |= said(
                typing.get_args(each)[-1],
                depth + ("[]" if typing.get_origin(each) is list else "{}"),
            )
    return found


@pytest.fixture(scope="module")
def walk() -> Walk:
    return Walk(json.loads(INVENTORY.read_text("utf-8")))


STRUCTS = {
    value
    for value in vars(types).values()
    if isinstance(value, type) and issubclass(value, AnthropicStruct)
} - {AnthropicStruct}


def test_every_field_of_the_inventory_has_its_place(walk: Walk) -> None:
    assert [
        f"{struct.__name__}.{key}"
        for struct, keys in walk.met.items()
        for key in keys - set(fields_of(struct))
    ] == []


def test_every_field_of_the_structs_is_in_the_inventory_or_has_a_reason(walk: Walk) -> None:
    beyond = [
        f"{struct.__name__}.{key}"
        for struct, keys in walk.met.items()
        for key in set(fields_of(struct)) - keys
    ]
    assert sorted(set(beyond) - set(BEYOND)) == []
    assert sorted(set(BEYOND) - set(beyond)) == [], "no longer beyond"


def test_every_struct_is_in_the_inventory_or_has_a_reason(walk: Walk) -> None:
    assert sorted(struct.__name__ for struct in STRUCTS - set(walk.met)) == sorted(OF_OTHERS)


def test_types_are_those_of_the_inventory(walk: Walk) -> None:
    other = set(walk.lacking)
    for struct, keys in walk.met.items():
        for key, hint in fields_of(struct).items():
            if key in keys and walk.used.get((struct.__name__, key), set()) != said(hint):
                other.add(f"{struct.__name__}.{key}")
    assert sorted(other) == sorted(OTHER_TYPES)
