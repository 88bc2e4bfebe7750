"""Answers that take several requests: they are one answer, and nothing of them is read twice."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.chat.test_chat import Door
from tests.chat.test_chat import door as door
from tests.gemini.interactions.samples import CALL, Player, chat, client, delta, event, framed
from wire import Chat, Message, Retry, TextDelta, tool
from wire.catalogue.stops import Stop
from wire.errors import BadRequestError, ServerError, StreamIncomplete
from wire.gemini import interactions
from wire.neutral.messages import Done, Reply, ToolCallStart
from wire.testing.emulator import Emulator, EmulatorTransport

WORDS = " ".join(f"word-{number}" for number in range(40))
THREE = {"say": {"text": WORDS, "hops": 3}}
MODEL = "gemini@interactions:gemini-4-argon"


def sent(emulator: Emulator) -> list[Any]:
    return [request["body"] for request in emulator.requests]


def both(door: Door, emulators: list[Emulator], *args: Any, **options: Any) -> list[Reply]:
    """The same answer whole and as a stream, each from an emulator of its own."""
    whole, streamed = emulators
    reply = door.ask(whole, *args, model=MODEL, **options)
    events, folded = door.stream(streamed, *args, model=MODEL, **options)
    assert [type(each) for each in events].count(Done) == 1
    assert "".join(each.text for each in events if isinstance(each, TextDelta)) == folded.text
    return [reply, folded]


@pytest.mark.parametrize("stores", [False, True])
def test_three_requests_are_one_answer(door: Door, stores: bool) -> None:
    emulators = [Emulator([THREE]), Emulator([THREE])]
    replies = both(door, emulators, "Count.", store=stores)
    for reply, emulator in zip(replies, emulators, strict=True):
        assert (reply.text, reply.stop) == (WORDS, Stop("end", "completed"))
        assert [hop.stop.reason for hop in reply.hops] == ["pause", "pause", "end"]
        assert [str(note) for note in reply.notes] == [
            "the answer took 3 requests; its parts are joined"
        ]
        assert reply.usage is not None
        assert reply.usage.output == sum(hop.usage.output for hop in reply.hops if hop.usage)
        first, second, third = sent(emulator)
        tokens = [each.get("continuation_token") for each in (first, second, third)]
        assert (tokens[0], len(set(tokens))) == (None, 3)
        if stores:
            assert "input" not in {**second, **third}
            ids = [hop.id for hop in reply.hops]
            assert [each["previous_interaction_id"] for each in (second, third)] == ids[:2]
            assert reply.id == ids[2]
        else:
            assert second["input"] == third["input"] == first["input"]
    assert replies[0].message == replies[1].message


def test_the_answer_goes_back_with_all_its_parts() -> None:
    emulator = Emulator([THREE, {"say": "Bye."}])
    http = EmulatorTransport(emulator)
    with Chat(MODEL, api_key="fake-key", http=http) as asking:
        with asking.stream("Count.") as events:
            reply = events.reply()
        asking.ask(messages=[Message.user("Count."), reply.message, Message.user("And?")])
    steps = sent(emulator)[-1]["input"]
    outputs = [each for each in steps if each["type"] == "model_output"]
    assert "".join(each["content"][0]["text"] for each in outputs) == WORDS
    assert len([each for each in steps if each["type"] == "thought"]) == 3


def test_a_part_is_what_was_asked_for(door: Door) -> None:
    emulators = [Emulator([THREE]), Emulator([THREE])]
    for reply in both(door, emulators, "Count.", continue_long=False):
        assert (reply.stop.reason, reply.stop.next) == ("pause", "continue_token")
        assert reply.stop.token
        assert WORDS.startswith(reply.text)
        assert reply.text != WORDS


def test_a_token_of_another_request_is_refused() -> None:
    emulator = Emulator([THREE])
    with client(EmulatorTransport(emulator)) as there:
        first = interactions.InteractionRequest(model="gemini-4-argon", input="Count.", store=False)
        token = there.send(interactions.create_interaction(first)).continuation_token
        for fields, words in (
            ({"input": "Count!", "continuation_token": token}, "does not match"),
            ({"input": "Count.", "continuation_token": "AAAA"}, "Invalid continuation token"),
        ):
            other = interactions.InteractionRequest(model="gemini-4-argon", store=False, **fields)
            with pytest.raises(BadRequestError, match=words):
                there.send(interactions.create_interaction(other))


# --- streams that break off -----------------------------------------------------------------------


def known(**fields: Any) -> dict[str, Any]:
    head = {"id": "", "status": "in_progress", "object": "interaction", "model": "gemini-4-argon"}
    return {**head, **fields}


def part(text: str, **end: Any) -> list[dict[str, Any]]:
    """The events of a request whose answer is a text."""
    return [
        event("interaction.created", interaction=known()),
        event("step.start", index=0, step={"type": "model_output"}),
        delta(0, "text", text=text),
        event("step.stop", index=0),
        event("interaction.completed", interaction=known(**{"status": "completed", **end})),
    ]


GOES_ON = {"status": "requires_continuation", "continuation_token": "t1"}


def test_the_token_of_a_script_gets_its_next_step(door: Door) -> None:
    def steps() -> Emulator:
        return Emulator([{"stream": part("Ebb ", **GOES_ON)}, {"stream": part("at noon.")}])

    emulators = [steps(), steps()]
    for reply, emulator in zip(both(door, emulators, "When?"), emulators, strict=True):
        assert reply.text == "Ebb at noon."
        assert [each.get("continuation_token") for each in sent(emulator)] == [None, "t1"]


def test_calls_of_all_requests_are_numbered_together() -> None:
    begun = [
        event("interaction.created", interaction=known()),
        event("step.start", index=0, step={**CALL, "arguments": {}}),
        delta(0, "arguments_delta", arguments=json.dumps(CALL["arguments"])),
        event("step.stop", index=0),
    ]
    first = [*begun, event("interaction.completed", interaction=known(**GOES_ON))]
    last = [*begun, event("interaction.completed", interaction=known(status="requires_action"))]
    http = Player(framed(first), framed(last))
    with chat(http, tools=[high_tide]) as asking:
        with asking.stream("When?") as events:
            starts = [each for each in events if isinstance(each, ToolCallStart)]
        reply = events.reply()
    assert [each.position for each in starts] == [0, 1]
    assert [each.id for each in reply.tool_calls] == [each.id for each in starts]
    assert len({each.id for each in starts}) == 2


@tool
def high_tide(port: str) -> str:
    """When the tide is high."""
    return port


def test_a_token_that_does_not_change_ends_the_answer() -> None:
    http = Player(framed(part("High ", **GOES_ON)), framed(part("tide", **GOES_ON)))
    with chat(http) as asking:
        with asking.stream("When?") as events:
            reply = events.reply()
    assert (reply.text, reply.stop.reason, len(http.requests)) == ("High tide", "pause", 2)


def test_a_checkpoint_is_of_use_until_output_came_after_it() -> None:
    state = {"interaction_id": "", "status": "in_progress", "continuation_token": "t1"}
    check = event("interaction.status_update", **state)
    created, *middle = part("High ")[:-1]
    for cut, requests in (([created, *middle, check], 2), ([created, check, *middle], 1)):
        http = Player(framed(cut), framed(part("tide.")))
        with chat(http, retry=Retry(base=0.0)) as asking:
            with asking.stream("When?") as events:
                if requests == 1:
                    with pytest.raises(StreamIncomplete) as caught:
                        list(events)
                    partial = caught.value.partial
                    assert isinstance(partial, Reply)
                    assert partial.text == "High "
                else:
                    assert events.reply().text == "High tide."
        assert len(http.requests) == requests


def test_a_further_request_is_repeated_and_its_error_keeps_what_came_before(door: Door) -> None:
    again = {"retry": Retry(base=0.0)}
    emulator = Emulator([THREE, {"fault": "503"}])
    _, reply = door.stream(emulator, "Count.", model=MODEL, chat=again)
    assert (reply.text, len(emulator.requests)) == (WORDS, 4)
    emulator = Emulator([THREE, {"fault": "503", "times": 0}])
    with pytest.raises(ServerError) as caught:
        door.stream(emulator, "Count.", model=MODEL)
    partial = caught.value.partial
    assert isinstance(partial, Reply)
    assert WORDS.startswith(partial.text)
    assert 0 < len(partial.text) < len(WORDS)
