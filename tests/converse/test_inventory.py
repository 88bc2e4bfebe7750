"""Compares the structs with the inventory of Bedrock's service model, in both directions."""

from __future__ import annotations

import pytest

from tests.inventories import Walk, inventory
from wire.converse import types
from wire.converse.types import ConverseStruct
from wire.core.facts import facts_of
from wire.core.memory import WireStruct

ROOTS: dict[str, type[WireStruct]] = {
    "ConverseRequest": types.ConverseRequest,
    "ConverseStreamRequest": types.ConverseRequest,
    "ConverseResponse": types.ConverseResponse,
    "ConverseStreamEvents": types.ConverseStreamEvent,
    "CountTokensRequest": types.CountTokensRequest,
    "CountTokensResponse": types.CountTokensResponse,
    "ValidationException": types.ErrorObject,
    "ModelErrorException": types.ErrorObject,
    "ModelStreamErrorException": types.ErrorObject,
}

OTHER_TYPES: dict[str, str] = {}
"""Fields whose type is another one than the inventory's, and why."""

_CONTROL = "of the control plane, which the inventory has not"
OF_OTHERS = {
    "FoundationModelSummary": _CONTROL,
    "FoundationModels": _CONTROL,
    "InferenceProfileSummary": _CONTROL,
    "InferenceProfiles": _CONTROL,
    "ModelLifecycle": _CONTROL,
    "ProfileModel": _CONTROL,
    "CohereEmbedRequest": "the body of a vendor's model, which the inventory has not",
    "NovaEmbedParams": "the body of a vendor's model",
    "NovaEmbedRequest": "the body of a vendor's model",
    "NovaEmbedResponse": "the body of a vendor's model",
    "NovaEmbedText": "the body of a vendor's model",
    "NovaEmbedding": "the body of a vendor's model",
    "TitanEmbedRequest": "the body of a vendor's model",
    "TitanEmbedResponse": "the body of a vendor's model",
}
"""Structs that nothing in the inventory is met with, and why they are there."""


@pytest.fixture(scope="module")
def walk() -> Walk:
    return Walk(inventory("converse"), ROOTS)


STRUCTS = {
    value
    for name in types.__all__
    if isinstance(value := getattr(types, name), type) and issubclass(value, ConverseStruct)
} - {ConverseStruct}


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
    assert sorted(struct.__name__ for struct in STRUCTS - set(walk.met)) == sorted(OF_OTHERS)


def test_types_are_those_of_the_inventory(walk: Walk) -> None:
    assert walk.other_types() == sorted(OTHER_TYPES)
