"""Compares the structs with the inventory of google-genai's types, in both directions."""

from __future__ import annotations

import pytest

from tests.inventories import Walk, inventory
from wire.core.facts import facts_of
from wire.core.memory import WireStruct
from wire.gemini.interactions import types
from wire.gemini.interactions.types import InteractionsStruct

ROOTS: dict[str, type[WireStruct]] = {
    "CreateModelInteraction": types.InteractionRequest,
    "CreateAgentInteraction": types.InteractionRequest,
    "Interaction": types.Interaction,
    "InteractionSseEvent": types.InteractionEvent,
    "agents.Agent": types.Agent,
    "agents.AgentListResponse": types.AgentList,
    "environments.CreateEnvironmentRequest": types.CreateEnvironmentRequest,
    "environments.Environment": types.StoredEnvironment,
    "environments.GetEnvironmentFilesResponse": types.EnvironmentFileList,
    "environments.ListEnvironmentsResponse": types.EnvironmentList,
    "triggers.Trigger": types.Trigger,
    "triggers.TriggerCreateParams": types.CreateTriggerRequest,
    "triggers.TriggerUpdate": types.TriggerUpdate,
    "triggers.TriggerExecution": types.TriggerExecution,
    "triggers.ListTriggersResponse": types.TriggerList,
    "triggers.ListTriggerExecutionsResponse": types.TriggerExecutionList,
    "webhooks.Webhook": types.Webhook,
    "webhooks.WebhookInput": types.CreateWebhookRequest,
    "webhooks.WebhookUpdate": types.WebhookUpdate,
    "webhooks.WebhookListResponse": types.WebhookList,
    "webhooks.RotateSigningSecretRequest": types.RotateSecretRequest,
    "webhooks.WebhookRotateSigningSecretResponse": types.RotatedSecret,
}

OTHER_TYPES = {
    "Delta.arguments": "a piece of text, or an object; each tool has its own",
    "Delta.result": "a text, an object or a list; each tool has its own",
    "Interaction.input": "repeated as the client sent it",
    "Interaction.response_format": "the inventory allows any object beside the formats",
    "InteractionRequest.response_format": "the inventory allows any object beside the formats",
    "Step.arguments": "an object; each tool has its own",
    "Step.result": "a text, an object or a list; each tool has its own",
}
"""Fields whose type is another one than the inventory's, and why."""

OF_OTHERS = {
    "DeletedInteraction": "the empty answer of DELETE, of which the inventory has no schema",
    "Empty": "the empty answer of DELETE and of a ping, of which the inventory has no fields",
    "ErrorBody": "the envelope of an error, of which the inventory has the inside",
}
"""Structs that nothing in the inventory is met with, and why they are there."""


@pytest.fixture(scope="module")
def walk() -> Walk:
    return Walk(inventory("gemini.interactions"), ROOTS)


STRUCTS = {
    value
    for name in types.__all__
    if isinstance(value := getattr(types, name), type) and issubclass(value, InteractionsStruct)
} - {InteractionsStruct}


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
