"""`stop=` at hosts without stop sequences: the reply is cut here."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.chat.test_chat import Door
from tests.chat.test_chat import door as door
from tests.joined import joined
from tests.openai.responses.bodies import message, reasoning
from tests.serving.running import gateway, posted
from wire import Chat, FallbackChat, Message, TextDelta, ToolCallStart, anthropic, notes, openai
from wire.errors import BadRequestError, OutputError, RuleError
from wire.neutral.messages import Stop, Text, Thought
from wire.neutral.request import NO_STOPS, Request
from wire.openai import responses
from wire.sessions import deserialize_message, serialize_message
from wire.testing.emulator import Emulator, EmulatorTransport

RESPONSES = "openai:gpt-5.4"
REASONING_CHAT = "openai@chat:gpt-5-mini"
SAID = {
    "text": "One, two, END three.",
    "calls": [{"name": "tide", "args": {"port": "Brest"}}],
}
CUT = "stop: cut before 'END': 10 characters, 1 ToolCall left out"


def tide(port: str) -> str:
    """When the tide is high."""
    return "05:12"


def script(*says: Any) -> Emulator:
    return Emulator([{"say": say} for say in says])


@pytest.mark.parametrize("model", [RESPONSES, REASONING_CHAT])
def test_a_reply_is_cut_whole_and_streamed(door: Door, model: str) -> None:
    asked: dict[str, Any] = {"stop": ["three", "END"], "tools": [tide]}
    emulator = script(SAID, SAID)
    whole = door.ask(emulator, "Hi", model=model, **asked)
    events, reply = door.stream(emulator, "Hi", model=model, **asked)
    assert whole.text == reply.text == "One, two, "
    assert "".join(each.text for each in events if isinstance(each, TextDelta)) == "One, two, "
    assert not [each for each in events if isinstance(each, ToolCallStart)]
    for each in (whole, reply):
        assert each.tool_calls == ()
        assert (each.stop.reason, each.stop.sequence) == ("end", "END")
        assert each.usage is not None
        assert each.usage.output > 0
        assert each.notes[0] == NO_STOPS
        assert str(each.notes[-1]) == CUT
    assert all("stop" not in request["body"] for request in emulator.requests)


def test_a_reply_without_the_text_is_whole(door: Door) -> None:
    events, reply = door.stream(script("One, E"), "Hi", model=RESPONSES, stop="END")
    assert "".join(each.text for each in events if isinstance(each, TextDelta)) == "One, E"
    assert reply.stop == Stop("end", "completed")
    assert reply.notes == (NO_STOPS,)
    assert reply.message.origin is not None


def test_hosts_with_stop_sequences_get_them_and_nothing_is_cut_here(door: Door) -> None:
    emulator = script(*["One, END two."] * 3)
    for reply in (
        door.ask(emulator, "Hi", model="anthropic:claude-sonnet-5", stop="END"),
        door.stream(emulator, "Hi", model="anthropic:claude-sonnet-5", stop="END")[1],
    ):
        assert (reply.text, reply.stop) == ("One, ", Stop("end", "stop_sequence", sequence="END"))
        assert NO_STOPS not in reply.notes
    reply = door.ask(emulator, "Hi", model="openai@chat:gpt-4o", stop="END")
    assert reply.text == "One, "
    assert emulator.requests[-1]["body"]["stop"] == ["END"]


def test_the_partial_reply_is_cut() -> None:
    with Chat(
        RESPONSES, api_key="fake-key", http=EmulatorTransport(script("One END " * 9))
    ) as chat:
        with chat.stream("Hi", stop="END") as events:
            assert next(iter(events)) == TextDelta("One ")
            assert events.partial().text in ("One ", "One E", "One EN")


@pytest.mark.parametrize("model", [RESPONSES, REASONING_CHAT])
def test_the_cost_is_that_of_all_that_the_model_wrote(model: str) -> None:
    emulator = script("One END two", "One END two")
    with Chat(model, api_key="fake-key", http=EmulatorTransport(emulator)) as chat:
        whole, cut = chat.ask("Hi"), chat.ask("Hi", stop="END")
    assert (whole.text, cut.text) == ("One END two", "One ")
    assert cut.cost.total is not None
    assert cut.cost == whole.cost


# --- the next turn --------------------------------------------------------------------------------


def received(*items: Any) -> Any:
    body = {"id": "resp_1", "status": "completed", "output": list(items)}
    return json.dumps(body).encode()


def request(*messages: Message, **settings: Any) -> Request:
    return Request(messages=(Message.user("Hi"), *messages), **settings)


def test_what_was_cut_is_not_sent_back() -> None:
    call = responses.call(request(stop=("END",)), "gpt-5.4")
    thinking = reasoning("Hm.", id="rs_1")
    texts = message("One, ", "two, END three", phase="final_answer")
    reply = call.parse(received(thinking, texts, message("four", id="msg_2")))
    assert reply.message.parts == (
        Thought("Hm.", slot="summary", signature="Z2F0ZQ=="),
        Text("One, ", extra={"phase": "final_answer"}),
        Text("two, "),
    )
    body = responses.call(request(reply.message, Message.user("Go on.")), "gpt-5.4").body
    assert b"END" not in body
    assert b"three" not in body
    sent = json.loads(body)["input"][1:-1]
    assert sent[0]["encrypted_content"] == "Z2F0ZQ=="
    said = [part["text"] for item in sent[1:] for part in item["content"]]
    assert said == ["One, ", "two, "]
    loaded = deserialize_message(serialize_message(reply.message))
    again = responses.call(request(loaded, Message.user("Go on.")), "gpt-5.4").body
    assert again == body


def test_another_model_gets_the_text_without_the_thoughts() -> None:
    call = responses.call(request(stop=("END",)), "gpt-5.4")
    reply = call.parse(received(reasoning("Hm."), message("One, END")))
    other = anthropic.call(request(reply.message, Message.user("Go on.")), "claude-sonnet-5")
    assert json.loads(other.body)["messages"][1]["content"] == "One, "
    assert str(notes(other)[0]) == "messages[1].parts[0]: withheld: a thought of another model"


def test_a_reply_that_is_cut_at_its_beginning_can_be_sent_back() -> None:
    call = responses.call(request(stop=("END",)), "gpt-5.4")
    reply = call.parse(received(reasoning("Hm."), message("END One")))
    assert (reply.text, reply.stop.sequence) == ("", "END")
    body = responses.call(request(reply.message, Message.user("Go on.")), "gpt-5.4").body
    assert [each["type"] for each in json.loads(body)["input"]] == [
        "message",
        "reasoning",
        "message",
    ]


def test_a_request_that_is_sent_again_without_reasoning_is_cut_too() -> None:
    call = responses.call(request(stop=("END",)), "gpt-5.4")
    told = reasoning("Hm.", id="rs_1")
    earlier = call.parse(received(told, message("Yes."))).message
    call = responses.call(request(earlier, Message.user("So?"), stop=("END",)), "gpt-5.4")
    assert call.amend is not None
    again = call.amend(call, BadRequestError("no", code="invalid_encrypted_content"))
    assert again.parse(received(message("One END"))).text == "One "


# --- with other settings --------------------------------------------------------------------------


def test_a_fallback_cuts_at_the_models_that_need_it() -> None:
    busy = Emulator([{"fault": {"status": 529}}])
    chats = [
        Chat(model, api_key="fake-key", retry=None, http=EmulatorTransport(emulator))
        for model, emulator in (
            ("anthropic:claude-sonnet-5", busy),
            (RESPONSES, script("One END two")),
        )
    ]
    with FallbackChat(chats) as chat:
        reply = chat.ask("Hi", stop="END")
        assert (reply.text, reply.stop.sequence) == ("One ", "END")
        assert NO_STOPS in reply.notes


def test_json_that_is_cut_does_not_fit_its_type() -> None:
    emulator = script('{"port": "Brest END"}')
    with Chat(RESPONSES, api_key="fake-key", http=EmulatorTransport(emulator)) as chat:
        with pytest.raises(OutputError, match=r"\(it stopped with 'END'\)"):
            chat.ask("Hi", output=dict[str, str], stop="END", output_retries=0)


def test_json_that_is_whole_before_the_text_fits() -> None:
    emulator = script('{"port": "Brest"} END', '{"port": "Brest"} END')
    with Chat(RESPONSES, api_key="fake-key", http=EmulatorTransport(emulator)) as chat:
        assert chat.ask("Hi", output=dict[str, str], stop="END").output == {"port": "Brest"}
        with chat.stream("Hi", output=dict[str, str], stop="END") as events:
            assert events.reply().output == {"port": "Brest"}


@joined("model", [RESPONSES, REASONING_CHAT])
def test_a_batch_is_refused_since_its_results_are_read_without_their_requests(model: str) -> None:
    with Chat(model, api_key="fake-key", http=EmulatorTransport(Emulator())) as chat:
        line = chat.request("Hi", stop="END")
        with pytest.raises(RuleError) as caught:
            chat.batches.create({"a": line})
    (violation,) = caught.value.violations
    assert violation.path == "requests['a'].stop"
    assert "results of a batch are not cut" in violation.message


def test_a_stop_among_the_options_is_sent_as_it_is() -> None:
    chat = openai.call(request(options={"openai": {"stop": ["END"]}}), "gpt-4o")
    assert json.loads(chat.body)["stop"] == ["END"]


# --- the gateway ----------------------------------------------------------------------------------


STOPS = {
    "gemini": {"generationConfig": {"stopSequences": ["END"]}},
    "chat": {"stop": "END"},
    "anthropic": {"stop_sequences": ["END"]},
}


@pytest.mark.parametrize("client", STOPS)
def test_the_gateway_cuts_what_its_backend_does_not(client: str) -> None:
    with gateway("responses", script("One, END two.", "One, END two.")) as server:
        whole = posted(server, client, STOPS[client])
        path = "/v1beta/models/any:streamGenerateContent?alt=sse" if client == "gemini" else ""
        changes = STOPS[client] | ({} if client == "gemini" else {"stream": True})
        streamed = posted(server, client, changes, path=path)
    for response in (whole, streamed):
        assert response.status_code == 200
        assert "One, " in response.text
        assert "END" not in response.text.replace('"stop_sequence":"END"', "")
        assert "two" not in response.text
        assert str(NO_STOPS) in response.headers.get_list("x-wire-note")
    if client == "anthropic":
        body = whole.json()
        assert (body["stop_reason"], body["stop_sequence"]) == ("stop_sequence", "END")
        assert '"stop_reason":"stop_sequence","stop_sequence":"END"' in streamed.text


@joined(
    ("raw", "stop"),
    [
        ({"finish_reason": "stop", "stop_reason": "END"}, Stop("end", "stop", sequence="END")),
        ({"finish_reason": "stop", "stop_reason": 5}, Stop("end", "stop")),
        ({"finish_reason": "stop"}, Stop("end", "stop")),
    ],
    ids=["text", "token", "absent"],
)
def test_the_sequence_that_a_host_of_chat_completions_names(
    raw: dict[str, Any], stop: Stop
) -> None:
    body = {"choices": [{"message": {"role": "assistant", "content": "One "}, **raw}]}
    reply = openai.call(request(stop=("END",)), "m", "vllm").parse(json.dumps(body).encode())
    assert reply.stop == stop


@pytest.mark.parametrize(
    ("model", "most", "path"),
    [
        ("openai@chat:gpt-4.1", 4, ("stop",)),
        ("gemini:gemini-3.8-flash", 5, ("generationConfig", "stopSequences")),
    ],
)
def test_a_host_that_takes_some_gets_the_first_and_the_others_cut(
    door: Door, model: str, most: int, path: tuple[str, ...]
) -> None:
    stops = [*(f"no {number}" for number in range(most)), "END"]
    emulator = script(SAID, SAID)
    whole = door.ask(emulator, "Hi", model=model, stop=stops)
    _, streamed = door.stream(emulator, "Hi", model=model, stop=stops)
    note = f"stop: {most} of {most + 1} sent, as many as the host takes; the others cut the reply"
    for each in (whole, streamed):
        assert (each.text, each.stop.sequence) == ("One, two, ", "END")
        assert note in map(str, each.notes)
    for request in emulator.requests:
        sent = request["body"]
        for key in path:
            sent = sent[key]
        assert sent == stops[:most]
