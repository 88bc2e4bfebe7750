"""Compares the structs with the inventory of OpenAI's reference, in both directions."""

from __future__ import annotations

import pytest

from tests.inventories import Walk, fields_of, inventory
from tests.joined import joined
from wire.core.facts import SDK, facts_of
from wire.openai.common.types.base import OpenAIStruct
from wire.openai.responses import types

ROOTS: dict[str, type[OpenAIStruct]] = {
    "CreateResponse": types.ResponseRequest,
    "Response": types.Response,
    "ResponseStreamEvent": types.StreamEvent,
    "TokenCountsBody": types.InputTokensRequest,
    "TokenCountsResource": types.InputTokenCount,
    "CompactResponseMethodPublicBody": types.CompactRequest,
    "CompactResource": types.Compaction,
    "ResponseItemList": types.ItemList,
    "CreateConversationBody": types.ConversationRequest,
    "UpdateConversationBody": types.ConversationRequest,
    "ConversationResource": types.Conversation,
    "DeletedConversationResource": types.DeletedConversation,
    "ConversationItemList": types.ItemList,
}

OTHER_TYPES = {
    "Conversation.metadata": "the inventory has no type; it is what the request had",
    "Filter.filters": "the inventory names one level of nested filters and calls the next `any`",
    "Item.arguments": "an object in tool_search_call, where the inventory has no type",
    "ItemError.code": "a text in image_generation_call",
    "Response.reasoning": "text at mistral.rs",
}
"""Fields whose type is another one than the inventory's, and why."""

OF_OTHERS = {
    "Billing": "recorded in responses",
    "ContentFilter": "Azure's filters",
    "DeletedResponse": "answer of DELETE /responses/{response_id}, of which the inventory has no "
    "schema; openai/openai-openapi#490 shows it",
    "ErrorObject": "of all families, in the inventory of chat completions",
    "ItemsRequest": "the inventory has no schema for this body, only its one field",
    "ResponseSteer": "a message of the WebSocket, of which the inventory has no schema",
}
"""Structs that nothing in the inventory is met with, and why they are there."""


@pytest.fixture(scope="module")
def walk() -> Walk:
    return Walk(inventory("openai.responses"), ROOTS)


STRUCTS = {
    value
    for value in (getattr(types, name) for name in types.__all__)
    if isinstance(value, type) and issubclass(value, OpenAIStruct)
} - {OpenAIStruct}
SDK_ONLY: dict[str, list[str]] = inventory("openai.responses")["sdk_only"]


def test_every_field_of_the_inventory_has_its_place(walk: Walk) -> None:
    assert walk.missing() == []


def test_a_field_has_a_source_if_and_only_if_the_inventory_lacks_it(walk: Walk) -> None:
    sourced = {
        f"{struct.__name__}.{key}"
        for struct in walk.met
        for key, facts in facts_of(struct).items()
        if facts.source
    }
    assert sourced == set(walk.beyond())


def test_every_struct_is_in_the_inventory_or_has_a_reason(walk: Walk) -> None:
    beyond = {struct.__name__ for struct in STRUCTS - set(walk.met)}
    assert sorted(beyond - set(SDK_ONLY)) == sorted(OF_OTHERS)


def test_types_are_those_of_the_inventory(walk: Walk) -> None:
    assert walk.other_types() == sorted(OTHER_TYPES)


@joined("name", SDK_ONLY)
def test_every_field_of_the_sdk_has_its_place(name: str) -> None:
    assert set(SDK_ONLY[name]) - set(fields_of(getattr(types, name))) == set()


def test_the_source_sdk_is_that_of_the_list() -> None:
    from_sdk = {
        f"{struct.__name__}.{key}"
        for struct in STRUCTS
        for key, facts in facts_of(struct).items()
        if facts.source == SDK
    }
    assert from_sdk <= {f"{name}.{key}" for name, keys in SDK_ONLY.items() for key in keys}
