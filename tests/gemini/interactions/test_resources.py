"""Agents, environments, triggers and webhooks: paths, bodies, and what the emulator stores."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.gemini.interactions.samples import Player, client
from tests.joined import joined
from wire.errors import BadRequestError, ConfigurationError, NotFoundError
from wire.gemini import interactions
from wire.gemini.interactions import types
from wire.testing.emulator import Emulator, EmulatorTransport


def test_an_agent_is_made_run_and_deleted() -> None:
    http = EmulatorTransport(Emulator())
    with client(http) as there:
        made = there.send(
            interactions.create_agent(
                types.Agent(id="tides", base_agent="antigravity-preview-09-2026", description="a")
            )
        )
        assert (made.id, made.description) == ("tides", "a")
        asked = interactions.InteractionRequest(agent="tides", input="Hi", environment="env_1")
        assert there.send(interactions.create_interaction(asked)).status == "completed"
        assert there.send(interactions.get_agent("tides")) == made
        assert there.send(interactions.list_agents()).agents == [made]
        there.send(interactions.delete_agent("tides"))
        assert there.send(interactions.list_agents()).agents == []
        for call in (interactions.get_agent("tides"), interactions.create_interaction(asked)):
            with pytest.raises(NotFoundError, match="tides"):
                there.send(call)


def test_an_environment_has_the_files_of_its_sources() -> None:
    with client(EmulatorTransport(Emulator())) as there:
        source = types.Source(type="inline", content="05:12", target="tides.txt")
        asked = types.CreateEnvironmentRequest(sources=[source], network="disabled")
        made = there.send(interactions.create_environment(asked))
        assert (made.status, made.network, made.sources) == ("active", "disabled", [source])
        assert made.id is not None
        listed = there.send(interactions.list_environment_files(made.id, "data", recursive=True))
        assert [(each.path, each.type) for each in listed.files or ()] == [("tides.txt", "file")]
        assert there.send(interactions.get_environment(made.id)).id == made.id
        there.send(interactions.delete_environment(made.id))
        with pytest.raises(NotFoundError):
            there.send(interactions.get_environment(made.id))


def test_a_trigger_is_paused_and_run() -> None:
    with client(EmulatorTransport(Emulator())) as there:
        start = interactions.InteractionRequest(agent="antigravity-preview-09-2026", input="Hi")
        asked = types.CreateTriggerRequest(
            interaction=start, schedule="0 9 * * 1", time_zone="Europe/Paris"
        )
        made = there.send(interactions.create_trigger(asked))
        assert made.interaction is not None
        assert (made.status, made.interaction.input) == ("active", "Hi")
        id = made.id or ""
        runs = [there.send(interactions.run_trigger(id)) for _ in range(2)]
        assert {each.trigger_id for each in runs} == {id}
        listed = there.send(interactions.list_trigger_executions(id)).trigger_executions
        assert listed == runs[::-1]
        paused = there.send(interactions.update_trigger(id, types.TriggerUpdate(status="paused")))
        assert (paused.status, paused.schedule) == ("paused", "0 9 * * 1")
        assert there.send(interactions.list_triggers()).triggers == [paused]
        there.send(interactions.delete_trigger(id))
        with pytest.raises(BadRequestError, match="schedule"):
            there.send(interactions.create_trigger(types.CreateTriggerRequest(interaction=start)))


def test_the_keys_of_a_webhook_are_told_once_and_not_shown() -> None:
    emulator = Emulator()
    with client(EmulatorTransport(emulator)) as there:
        asked = types.CreateWebhookRequest(
            uri="https://a.example/", subscribed_events=["interaction.completed"]
        )
        made = there.send(interactions.create_webhook(asked))
        assert (made.new_signing_secret or "").startswith("whsec_fake_")
        assert (made.new_signing_secret or "") not in repr(made)
        id = made.id or ""
        assert there.send(interactions.get_webhook(id)).new_signing_secret is None
        other = there.send(interactions.rotate_signing_secret(id))
        assert other.secret not in (None, made.new_signing_secret)
        assert str(other.secret) not in repr(other)
        update = types.WebhookUpdate(state="disabled")
        changed = there.send(interactions.update_webhook(id, update, update_mask="state"))
        assert (changed.state, changed.uri) == ("disabled", "https://a.example/")
        assert emulator.requests[-1]["target"].endswith(f"/webhooks/{id}?update_mask=state")
        assert there.send(interactions.ping_webhook(id)) == types.Empty()
        assert there.send(interactions.list_webhooks(page_size=1)).webhooks == [changed]
        there.send(interactions.delete_webhook(id))
        with pytest.raises(NotFoundError):
            there.send(interactions.ping_webhook(id))


def test_pages_and_filters_are_queries() -> None:
    http = Player({"agents": [], "next_page_token": "b"}, {"triggers": []})
    with client(http) as there:
        page = there.send(interactions.list_agents(page_size=2, page_token="a", parent="p"))
        there.send(interactions.list_triggers(filter="x"))
    assert page.next_page_token == "b"
    assert [str(each.url.query, "ascii") for each in http.requests] == [
        "page_size=2&page_token=a&parent=p",
        "filter=x",
    ]


def test_a_page_ends_with_the_token_of_the_next() -> None:
    with client(EmulatorTransport(Emulator())) as there:
        for number in range(3):
            there.send(interactions.create_agent(types.Agent(id=f"a{number}", base_agent="b")))
        names: list[Any] = []
        token = ""
        while True:
            page = there.send(interactions.list_agents(page_size=2, page_token=token))
            names += [each.id for each in page.agents or ()]
            token = page.next_page_token or ""
            if not token:
                break
    assert names == ["a2", "a1", "a0"]


@joined(
    "make",
    [
        lambda: interactions.get_agent("a/b"),
        lambda: interactions.delete_trigger(""),
        lambda: interactions.list_environment_files("env_1", "../b"),
        lambda: interactions.list_environment_files("env_1", "/b"),
        lambda: interactions.list_agents(page_size=0),
    ],
)
def test_names_and_sizes_that_cannot_be_sent(make: Any) -> None:
    with pytest.raises(ConfigurationError):
        make()


def test_what_is_unknown_is_kept() -> None:
    http = Player({"id": "w", "state": "asleep", "mood": 1})
    with client(http) as there:
        found = there.send(interactions.get_webhook("w"))
    assert (found.state, json.loads(found.raw or b"")["mood"]) == ("asleep", 1)
