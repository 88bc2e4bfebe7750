"""What the server of Responses stores: chains, items, background responses, conversations."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.testing.emulator.asks import said
from tests.testing.emulator.response_asks import (
    QUESTION,
    RESPONSES,
    TEXT,
    WEATHER,
    answered,
    ask,
    error,
    events,
    kinds,
    send,
)
from wire.testing.emulator import Emulator
from wire.testing.emulator.limits import EmulatorLimits

NOT_STORED = (
    "Items are not persisted when `store` is set to false. Try again with `store` set to true, or "
    "remove this item from your input."
)


def get(emulator: Emulator, path: str) -> Any:
    return said(send(emulator, "GET", path))


# --- responses ------------------------------------------------------------------------------------


def test_a_response_is_stored_unless_the_request_says_no() -> None:
    emulator = Emulator()
    made = said(ask(emulator, model="gpt-5.6"))
    stored = get(emulator, f"{RESPONSES}/{made['id']}")
    secret = made["output"][0].pop("encrypted_content")
    assert stored == made
    assert secret
    asked = send(emulator, "GET", f"{RESPONSES}/{made['id']}?include[]=reasoning.encrypted_content")
    words = "Encrypted content cannot be requested for persisted responses"
    assert error(asked)[:2] == (400, words)
    id = said(ask(emulator, store=False))["id"]
    missing = (404, f"Response with id '{id}' not found.", None, None)
    assert error(send(emulator, "GET", f"{RESPONSES}/{id}")) == missing
    gone = send(emulator, "DELETE", f"{RESPONSES}/{made['id']}")
    assert said(gone) == {"id": made["id"], "object": "response", "deleted": True}
    assert send(emulator, "GET", f"{RESPONSES}/{made['id']}").status == 404


def test_a_chain_of_responses() -> None:
    emulator = Emulator()
    first = said(ask(emulator, [QUESTION], tools=[WEATHER], reasoning={"effort": "low"}))
    assert first["output"][0]["type"] == "reasoning"  # which is not listed below
    results = answered(first["output"])[len(first["output"]) :]
    second = said(ask(emulator, results, previous_response_id=first["id"], tools=[WEATHER]))
    assert second["previous_response_id"] == first["id"]
    assert second["output"][0]["content"][0]["text"].startswith("Your tool get_weather says")
    third = said(ask(emulator, "Thanks", previous_response_id=second["id"], tools=[WEATHER]))
    assert third["usage"]["input_tokens"] > second["usage"]["input_tokens"]
    listed = get(emulator, f"{RESPONSES}/{third['id']}/input_items?order=asc")
    assert [item["type"] for item in listed["data"]] == [
        "message",
        "function_call",
        "function_call",
        "function_call_output",
        "function_call_output",
        "message",
        "message",
    ]
    assert all(item["id"] for item in listed["data"])
    assert (listed["object"], listed["has_more"]) == ("list", False)


def test_a_chain_needs_what_it_continues() -> None:
    emulator = Emulator()

    def chained(id: str, input: Any = "hi") -> tuple[Any, ...]:
        return error(ask(emulator, input, previous_response_id=id))

    id = "resp_nothing"
    missing = (
        400,
        f"Previous response with id '{id}' not found.",
        "previous_response_id",
        "previous_response_not_found",
    )
    assert chained(id) == missing
    for background in (False, True):
        made = said(ask(emulator, store=False, background=background))
        assert chained(made["id"])[3] == "previous_response_not_found"
    compacted = said(send(emulator, "POST", f"{RESPONSES}/compact", {"model": "gpt-5.4"}))["id"]
    assert chained(compacted)[3] == "previous_response_not_found"
    calls = said(ask(emulator, [QUESTION], tools=[WEATHER]))
    call = calls["output"][0]["call_id"]
    assert chained(calls["id"])[:2] == (400, f"No tool output found for function call {call}.")
    stray = {"type": "function_call_output", "call_id": "call_x", "output": ""}
    words = "No tool call found for function call output with call_id call_x."
    assert chained(calls["id"], [stray])[1] == words
    made = said(ask(emulator))
    words = f"Duplicate item found with id {made['output'][0]['id']}. Remove duplicate items from "
    assert chained(made["id"], made["output"])[1].startswith(words)


def test_ids_are_looked_up() -> None:
    emulator = Emulator()
    made = said(ask(emulator, model="gpt-5-mini"))["output"]
    question = {"role": "user", "content": "Why?"}
    reference = [{"type": "item_reference", "id": item["id"]} for item in made]
    assert said(ask(emulator, [*reference, question], model="gpt-5-mini"))["output"]
    for id in ("msg_none", "rs_none"):
        refused = error(ask(emulator, [{"type": "item_reference", "id": id}, question]))
        assert refused == (404, f"Item with id '{id}' not found. {NOT_STORED}", "input", None)
    unknown = [{"type": "reasoning", "id": "rs_none", "summary": []}, made[1], question]
    assert error(ask(emulator, unknown))[1].startswith("Item with id 'rs_none' not found.")
    kept = said(ask(emulator, model="gpt-5-mini", store=False))["output"]
    assert error(ask(emulator, [*kept, question]))[0] == 404  # without its encrypted content


def test_stored_reasoning_and_what_it_led_to_stay_together() -> None:
    emulator = Emulator()
    thought, message = said(ask(emulator, model="gpt-5-mini"))["output"]
    question = {"role": "user", "content": "Why?"}
    assert ask(emulator, [thought, message, question]).status == 200
    words = f"Item '{thought['id']}' of type 'reasoning' was provided without its required "
    other = {**message, "id": "msg_other"}
    assert error(ask(emulator, [thought, other, question]))[1] == words + "following item."
    alone = (
        f"Item '{message['id']}' of type 'message' was provided without its required "
        f"'reasoning' item: '{thought['id']}'."
    )
    assert error(ask(emulator, [message, question])) == (400, alone, "input", None)
    without_id = {k: v for k, v in message.items() if k != "id"}
    assert ask(emulator, [without_id, question]).status == 200


def test_pages_of_items() -> None:
    emulator = Emulator()
    items = [{"role": "user", "content": f"{n}"} for n in range(25)]
    path = f"{RESPONSES}/{said(ask(emulator, items))['id']}/input_items"
    texts = lambda page: [item["content"][0]["text"] for item in page["data"]]  # noqa: E731
    first = get(emulator, path)
    assert texts(first) == [f"{n}" for n in range(24, 4, -1)]
    assert first["has_more"] is True
    assert (first["first_id"], first["last_id"]) == (
        first["data"][0]["id"],
        first["data"][-1]["id"],
    )
    second = get(emulator, f"{path}?after={first['last_id']}")
    assert (texts(second), second["has_more"]) == (["4", "3", "2", "1", "0"], False)
    assert texts(get(emulator, f"{path}?order=asc&limit=2")) == ["0", "1"]
    for query, code in (
        ("limit=101", "integer_above_max_value"),
        ("limit=0", "integer_below_min_value"),
        ("limit=x", "invalid_type"),
        ("order=up", "invalid_value"),
        ("after=msg_none", None),
    ):
        refused = error(send(emulator, "GET", f"{path}?{query}"))
        assert (refused[0], refused[2], refused[3]) == (400, query.partition("=")[0], code)


def test_the_oldest_are_forgotten() -> None:
    emulator = Emulator(limits=EmulatorLimits(max_stored_items=8))
    ids = [said(ask(emulator, f"{n}"))["id"] for n in range(4)]
    found = [send(emulator, "GET", f"{RESPONSES}/{id}").status for id in ids]
    assert found == [404, 404, 200, 200]
    emulator.reset()
    assert send(emulator, "GET", f"{RESPONSES}/{ids[-1]}").status == 404


# --- background -----------------------------------------------------------------------------------


def test_a_background_response() -> None:
    emulator = Emulator()
    made = said(ask(emulator, background=True))
    assert (made["status"], made["output"], made["usage"]) == ("queued", [], None)
    path = f"{RESPONSES}/{made['id']}"
    assert [get(emulator, path)["status"] for _ in range(3)] == [
        "in_progress",
        "completed",
        "completed",
    ]
    assert get(emulator, path)["output"][0]["content"][0]["text"] == TEXT
    assert said(send(emulator, "POST", f"{path}/cancel"))["status"] == "completed"


def test_a_background_response_is_cancelled() -> None:
    emulator = Emulator()
    path = f"{RESPONSES}/{said(ask(emulator, background=True))['id']}"
    for _ in range(2):
        assert said(send(emulator, "POST", f"{path}/cancel"))["status"] == "cancelled"
    found = get(emulator, path)
    assert (found["status"], found["output"]) == ("cancelled", [])
    path = f"{RESPONSES}/{said(ask(emulator))['id']}"
    refused = error(send(emulator, "POST", f"{path}/cancel"))
    assert refused == (400, "Cannot cancel a synchronous response.", "response_id", None)


def test_a_background_stream_goes_on_after_an_event() -> None:
    emulator = Emulator([{"fault": "cut; after=5"}])
    broken = ask(emulator, background=True, stream=True)
    assert b"response.completed" not in broken.body
    id = json.loads(broken.body.split(b"data: ")[1].split(b"\n")[0])["response"]["id"]
    whole = events(send(emulator, "GET", f"{RESPONSES}/{id}?stream=true"))
    assert kinds(whole)[:3] == ["created", "queued", "in_progress"]
    assert broken.body.decode().count("event: ") == 5
    rest = events(send(emulator, "GET", f"{RESPONSES}/{id}?stream=true&starting_after=4"))
    assert rest == whole[5:]
    assert rest[0]["sequence_number"] == 5
    refused = send(emulator, "GET", f"{RESPONSES}/{id}?stream=true&starting_after=x")
    assert error(refused)[2:] == ("starting_after", "invalid_type")
    id = said(ask(emulator))["id"]
    assert error(send(emulator, "GET", f"{RESPONSES}/{id}?stream=true"))[0] == 400


# --- counts and compactions -----------------------------------------------------------------------


def test_input_tokens() -> None:
    emulator = Emulator()
    path, body = f"{RESPONSES}/input_tokens", {"model": "gpt-5.4", "input": "hi there"}
    assert said(send(emulator, "POST", path, body)) == {
        "object": "response.input_tokens",
        "input_tokens": 3,
    }
    id = said(ask(emulator))["id"]
    longer = said(send(emulator, "POST", path, {**body, "previous_response_id": id}))
    assert longer["input_tokens"] == 3 + 1 + 15


def test_a_compaction_is_the_next_input() -> None:
    emulator = Emulator()
    id = said(ask(emulator))["id"]
    body = {"model": "gpt-5.4", "previous_response_id": id, "input": []}
    found = said(send(emulator, "POST", f"{RESPONSES}/compact", body))
    assert found["object"] == "response.compaction"
    user, compaction = found["output"]
    assert user["content"] == [{"type": "input_text", "text": "hi"}]
    assert list(compaction) == ["id", "type", "encrypted_content"]
    assert compaction["id"].startswith("cmp_")
    following = [*found["output"], {"role": "user", "content": "hi"}]
    assert ask(emulator, following).status == 200
    assert error(ask(Emulator(seed=1), following))[3] == "invalid_encrypted_content"


# --- conversations --------------------------------------------------------------------------------

CONVERSATIONS = "/v1/conversations"


def test_a_conversation_grows_with_each_response() -> None:
    emulator = Emulator()
    first = {"metadata": {"a": "b"}, "items": [{"role": "user", "content": "I am Bo."}]}
    made = said(send(emulator, "POST", CONVERSATIONS, first))
    assert made == {
        "id": made["id"],
        "object": "conversation",
        "created_at": 1795262400,
        "metadata": {"a": "b"},
    }
    assert made["id"].startswith("conv_")
    path = f"{CONVERSATIONS}/{made['id']}"
    for conversation in (made["id"], {"id": made["id"]}):
        assert said(ask(emulator, conversation=conversation))["conversation"] == {"id": made["id"]}
    items = get(emulator, f"{path}/items?order=asc")["data"]
    assert [item["role"] for item in items] == ["user", "user", "assistant", "user", "assistant"]
    assert len({item["id"] for item in items}) == 5
    item = f"{path}/items/{items[0]['id']}"
    assert get(emulator, item) == items[0]
    assert said(send(emulator, "DELETE", item)) == made
    assert send(emulator, "GET", item).status == 404
    added = said(send(emulator, "POST", f"{path}/items", {"items": first["items"]}))
    assert (added["object"], len(added["data"])) == ("list", 1)
    changed = said(send(emulator, "POST", path, {"metadata": {"c": "d"}}))
    assert changed["metadata"] == get(emulator, path)["metadata"] == {"c": "d"}
    gone = said(send(emulator, "DELETE", path))
    assert gone == {"object": "conversation.deleted", "deleted": True, "id": made["id"]}
    assert send(emulator, "GET", path).status == 404


def test_what_conversations_refuse() -> None:
    emulator = Emulator()
    many = {"items": [{"role": "user", "content": "x"}] * 21}
    assert error(send(emulator, "POST", CONVERSATIONS, many))[3] == "array_above_max_length"
    words = "Conversation with id 'conv_none' not found."
    assert error(ask(emulator, conversation="conv_none")) == (404, words, None, None)
    assert (
        error(send(emulator, "POST", f"{CONVERSATIONS}/conv_none/items", {"items": []}))[0] == 404
    )
    assert error(send(emulator, "POST", f"{CONVERSATIONS}/conv_none/items", {}))[0] == 400


@pytest.mark.parametrize("most", [1, 2])
def test_conversations_count_as_stored(most: int) -> None:
    emulator = Emulator(limits=EmulatorLimits(max_stored_items=most))
    body = {"items": [{"role": "user", "content": "x"}]}
    answer = send(emulator, "POST", CONVERSATIONS, body)
    assert answer.status == (200 if most == 2 else 429)
    assert send(emulator, "POST", CONVERSATIONS, body).status == 429
