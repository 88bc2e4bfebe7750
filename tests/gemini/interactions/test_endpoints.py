"""Paths, headers and answers of the calls; what the emulator stores."""

from __future__ import annotations

import pytest

from tests.gemini.interactions.samples import MODEL, Player, client
from tests.joined import joined
from wire import Chat, Client, file_search, web_search
from wire.errors import (
    APIError,
    AuthError,
    BadRequestError,
    ConfigurationError,
    NotFoundError,
    QuotaError,
    RateLimitError,
    RuleError,
)
from wire.gemini import interactions
from wire.gemini.interactions import InteractionRequest
from wire.testing.emulator import Emulator, EmulatorTransport

HI = InteractionRequest(model=MODEL, input="Hi")
VERTEX = {"project": "my-project", "location": "europe-west4"}


@pytest.mark.parametrize(
    ("location", "host"),
    [
        ("europe-west4", "europe-west4-aiplatform.googleapis.com"),
        ("global", "aiplatform.googleapis.com"),
        ("us", "aiplatform.us.rep.googleapis.com"),
    ],
)
def test_the_host_on_vertex(location: str, host: str) -> None:
    http = EmulatorTransport(Emulator())
    place = {**VERTEX, "location": location}
    with Client("gemini@vertex-interactions", token=lambda: "fake-token", http=http, **place) as it:
        call = interactions.create_interaction(HI)
        path = f"/v1beta1/projects/my-project/locations/{location}/interactions"
        assert f"https://{host}{path}" in str(it.preview(call))
        answer = it.send(call)
        assert answer.id is not None
        assert it.send(interactions.get_interaction(answer.id)).status == "completed"
        with it.stream(interactions.stream_interaction(HI)) as events:
            assert events.result().text == answer.text
        it.send(interactions.delete_interaction(answer.id))
        with pytest.raises(NotFoundError):
            it.send(interactions.get_interaction(answer.id))


def test_a_chat_on_vertex_has_the_tools_of_vertex() -> None:
    emulator = Emulator([{"say": "At 05:12."}] * 2)
    options = {"token": lambda: "fake-token", "http": EmulatorTransport(emulator), **VERTEX}
    with Chat("gemini@vertex-interactions:gemini-3.8-flash", **options) as chat:
        assert chat.ask("When?", tools=[web_search()]).text == "At 05:12."
        with pytest.raises(RuleError, match="file_search"):
            chat.ask("When?", tools=[file_search("fileSearchStores/a")])
    [sent] = emulator.requests
    assert sent["body"]["tools"] == [{"type": "google_search"}]
    assert sent["target"].endswith("/locations/europe-west4/interactions")
    assert "x-goog-api-key" not in sent["headers"]
    options = {"api_key": "fake-key", "http": EmulatorTransport(Emulator()), **VERTEX}
    with Client("gemini@vertex-interactions", **options) as client_:
        with pytest.raises(AuthError):  # a path with a project takes tokens alone
            client_.send(interactions.create_interaction(HI))


def test_the_targets_of_the_calls() -> None:
    assert [
        (call.method, call.target)
        for call in (
            interactions.create_interaction(HI),
            interactions.stream_interaction(HI),
            interactions.get_interaction("v1_a", include_input=True),
            interactions.stream_again("v1_a", last_event_id="e1"),
            interactions.cancel_interaction("v1_a"),
            interactions.delete_interaction("v1_a"),
        )
    ] == [
        ("POST", "/interactions"),
        ("POST", "/interactions"),
        ("GET", "/interactions/v1_a?include_input=true"),
        ("GET", "/interactions/v1_a?stream=true&last_event_id=e1"),
        ("POST", "/interactions/v1_a/cancel"),
        ("DELETE", "/interactions/v1_a"),
    ]


@joined("id", ["", "..", "a/b?c#", "\ud800"])
def test_an_id_that_is_no_segment_is_refused(id: str) -> None:
    for make in (
        interactions.get_interaction,
        interactions.stream_again,
        interactions.cancel_interaction,
        interactions.delete_interaction,
    ):
        with pytest.raises(ConfigurationError):
            make(id)


def test_the_key_goes_where_geminis_goes() -> None:
    http = Player({"id": "v1_1", "status": "completed", "steps": []})
    client(http).send(interactions.create_interaction(HI))
    [request] = http.requests
    assert str(request.url) == "https://generativelanguage.googleapis.com/v1beta/interactions"
    assert request.headers["x-goog-api-key"] == "fake-key"


def test_what_is_stored_goes_on() -> None:
    emulator = Emulator([{"say": "High."}, {"say": "At five."}])
    sender = client(EmulatorTransport(emulator))
    first = sender.send(interactions.create_interaction(HI))
    more = InteractionRequest(model=MODEL, input="When?", previous_interaction_id=first.id)
    with sender.stream(interactions.stream_interaction(more)) as stream:
        texts = "".join(each.text for each in stream)
        second = stream.result()
    assert (texts, second.text, second.previous_interaction_id) == (
        "At five.",
        "At five.",
        first.id,
    )
    stored = sender.send(interactions.get_interaction(second.id))
    kinds = ["user_input", "thought", "model_output"]
    assert [step.type for step in stored.steps or ()] == kinds * 2
    sender.send(interactions.delete_interaction(second.id))
    for make in (interactions.get_interaction, interactions.delete_interaction):
        with pytest.raises(NotFoundError) as caught:
            sender.send(make(second.id))
        assert caught.value.code == "not_found"
    with pytest.raises(NotFoundError):
        sender.send(
            interactions.create_interaction(
                InteractionRequest(model=MODEL, input="Hi", previous_interaction_id="v1_none")
            )
        )


def test_what_is_not_stored_has_no_id() -> None:
    sender = client(EmulatorTransport(Emulator()))
    unstored = InteractionRequest(model=MODEL, input="Hi", store=False)
    assert sender.send(interactions.create_interaction(unstored)).id is None
    with sender.stream(interactions.stream_interaction(unstored)) as stream:
        assert stream.result().id == ""


def test_runs_in_the_background() -> None:
    sender = client(EmulatorTransport(Emulator()))
    asked = InteractionRequest(
        agent="deep-research-preview-04-2026", input="Tides", background=True
    )
    run = sender.send(interactions.create_interaction(asked))
    assert (run.status, run.steps, run.usage) == ("in_progress", None, None)
    assert sender.send(interactions.get_interaction(run.id)).status == "in_progress"
    assert sender.send(interactions.get_interaction(run.id)).status == "completed"
    with sender.stream(interactions.stream_again(run.id)) as stream:
        listed = list(stream)
    with sender.stream(interactions.stream_again(run.id, last_event_id=listed[3].event_id)) as rest:
        assert [each.event_id for each in rest] == [each.event_id for each in listed[4:]]
    other = sender.send(interactions.create_interaction(asked))
    assert sender.send(interactions.cancel_interaction(other.id)).status == "cancelled"
    assert sender.send(interactions.get_interaction(other.id)).status == "cancelled"


@joined(
    ("status", "body", "kind", "code"),
    [
        (400, {"error": {"code": "invalid_request", "message": "No."}}, BadRequestError,
         "invalid_request"),
        (404, {"error": {"code": "model_not_found", "message": "No."}}, NotFoundError,
         "model_not_found"),
        (429, {"error": {"code": "rate_limit_exceeded", "message": "No."}}, RateLimitError,
         "rate_limit_exceeded"),
        (402, {"error": {"code": "payment_required", "message": "No."}}, QuotaError,
         "payment_required"),
        (404, [{"error": {"code": 404, "message": "Method not found.", "status": "NOT_FOUND"}}],
         NotFoundError, "NOT_FOUND"),
    ],
)  # fmt: skip
def test_errors(status: int, body: object, kind: type[APIError], code: str) -> None:
    sender = client(Player(body, status=status))
    with pytest.raises(kind) as caught:
        sender.send(interactions.create_interaction(HI))
    assert (caught.value.code, caught.value.status) == (code, status)


def test_a_stream_flag_needs_the_call_that_streams() -> None:
    with pytest.raises(RuleError, match="stream_interaction"):
        interactions.create_interaction(InteractionRequest(model=MODEL, input="Hi", stream=True))
