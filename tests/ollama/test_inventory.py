"""Compares the structs with the inventory of Ollama's `api/types.go`, in both directions."""

from __future__ import annotations

import pytest

from tests.inventories import Walk, inventory
from wire.core.facts import facts_of
from wire.core.memory import WireStruct
from wire.ollama import types
from wire.ollama.types import OllamaStruct

ROOTS: dict[str, type[WireStruct]] = {
    "ChatRequest": types.ChatRequest,
    "ChatResponse": types.ChatResponse,
    "GenerateRequest": types.GenerateRequest,
    "GenerateResponse": types.GenerateResponse,
    "EmbedRequest": types.EmbedRequest,
    "EmbedResponse": types.EmbedResponse,
    "ListResponse": types.TagsResponse,
    "ProcessResponse": types.PsResponse,
    "ShowRequest": types.ShowRequest,
    "ShowResponse": types.ShowResponse,
    "PullRequest": types.PullRequest,
    "ProgressResponse": types.Progress,
    "DeleteRequest": types.DeleteRequest,
    "VersionResponse": types.VersionResponse,
    "StatusError": types.ErrorBody,
}

LEFT_OUT = {
    "DeleteRequest.name": "deprecated: `model` is its name today",
    "PullRequest.name": "deprecated: `model` is its name today",
    "PullRequest.password": "deprecated: the server ignores it",
    "PullRequest.username": "deprecated: the server ignores it",
    "ShowRequest.name": "deprecated: `model` is its name today",
    "ShowRequest.options": "changes the `parameters` that are shown, and nothing else",
    "ShowRequest.system": "repeated in the answer in place of the model's own",
    "ShowRequest.template": "deprecated",
}
"""Fields of the inventory that the structs lack, and why."""

OTHER_TYPES: dict[str, str] = {}
"""Fields whose type is another one than the inventory's, and why."""

OF_OTHERS = {
    "DeleteResponse": "the empty answer of DELETE, of which the inventory has no schema",
    "ErrorObject": "what `ErrorBody` says, with the key of errors of this library",
}
"""Structs that nothing in the inventory is met with, and why they are there."""


@pytest.fixture(scope="module")
def walk() -> Walk:
    return Walk(inventory("ollama"), ROOTS)


STRUCTS = {
    value
    for name in types.__all__
    if isinstance(value := getattr(types, name), type) and issubclass(value, OllamaStruct)
} - {OllamaStruct}


def test_every_field_of_the_inventory_has_its_place_or_a_reason(walk: Walk) -> None:
    assert walk.missing() == sorted(LEFT_OUT)


def test_a_field_has_a_source_if_and_only_if_the_inventory_lacks_it(walk: Walk) -> None:
    sourced = {
        f"{struct.__name__}.{key}"
        for struct in walk.met
        for key, facts in facts_of(struct).items()
        if facts.source
    }
    assert walk.beyond() == sorted(sourced)


def test_every_struct_is_in_the_inventory_or_has_a_reason(walk: Walk) -> None:
    assert sorted(struct.__name__ for struct in STRUCTS - set(walk.met)) == sorted(OF_OTHERS)


def test_types_are_those_of_the_inventory(walk: Walk) -> None:
    assert walk.other_types() == sorted(OTHER_TYPES)
