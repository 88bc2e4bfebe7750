"""Compares the structs with the inventory of Anthropic's SDK, in both directions."""

from __future__ import annotations

import pytest

from tests.inventories import Walk, inventory
from wire.anthropic import types
from wire.anthropic.types.base import AnthropicStruct
from wire.core.facts import facts_of

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

OTHER_TYPES = {
    "ContentBlock.input": "text where a streamed answer ended in the middle of its JSON",
    "ErrorBody.error": "text at hosts that only look like this wire",
}
"""Fields whose type is another one than the inventory's, and why."""


OF_OTHERS = {
    "BaseResp": "MiniMax's status inside an answer",
    "BillingPolicy": "beta",
    "Compaction": "beta",
    "CompactionCapability": "beta",
    "ContextManagement": "beta",
    "DeletedBatch": "answer of DELETE /messages/batches/{id}; the inventory "
    "has no lists and no deletions",
    "DeletedFile": "answer of DELETE /files/{id}",
    "Fallback": "beta",
    "FallbackCredit": "beta",
    "FallbackModel": "beta",
    "FileList": "answer of GET /files; the inventory has no files",
    "FileMetadata": "answer of POST /files",
    "Iteration": "beta",
    "McpServer": "beta",
    "MessageOutputConfig": "beta",
    "Thread": "beta",
    "MessageBatchList": "answer of GET /messages/batches",
    "ModelList": "answer of GET /models",
    "TaskBudget": "beta",
}
"""Structs that nothing in the inventory is met with, and why they are there."""

OF_ONE_STRUCT: dict[str, str] = {}
"""Fields that the inventory has in one of the schemas that share a struct, and not in the other."""


@pytest.fixture(scope="module")
def walk() -> Walk:
    return Walk(inventory("anthropic"), ROOTS)


STRUCTS = {
    value
    for name in types.__all__
    if isinstance(value := getattr(types, name), type) and issubclass(value, AnthropicStruct)
} - {AnthropicStruct}


def test_every_field_of_the_inventory_has_its_place(walk: Walk) -> None:
    assert walk.missing() == []


def test_a_field_has_a_source_if_and_only_if_the_inventory_lacks_it(walk: Walk) -> None:
    sourced = {
        f"{struct.__name__}.{key}"
        for struct in walk.met
        for key, facts in facts_of(struct).items()
        if facts.source
    }
    assert sourced == set(walk.beyond()) - set(OF_ONE_STRUCT)


def test_every_struct_is_in_the_inventory_or_has_a_reason(walk: Walk) -> None:
    assert sorted(struct.__name__ for struct in STRUCTS - set(walk.met)) == sorted(OF_OTHERS)


def test_types_are_those_of_the_inventory(walk: Walk) -> None:
    assert walk.other_types() == sorted(OTHER_TYPES)
