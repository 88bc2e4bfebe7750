"""What the backend's model needs back, while a client holds the conversation."""

from __future__ import annotations

import base64
import random
import zlib

import msgspec
import pytest

from tests.joined import joined
from wire.core.memory import Note
from wire.gemini.parse import parse_reply
from wire.gemini.reader import parse_response
from wire.neutral.messages import (
    Message,
    Other,
    ServerToolCall,
    Text,
    Thought,
    ToolCall,
    ToolResult,
)
from wire.neutral.serving import NO_STATE
from wire.serving.state import ClientIds, Remembered, packed, restored, state_of, unpacked

CALL = {"functionCall": {"name": "tide", "args": {"port": "Brest"}}, "thoughtSignature": "c2ln"}
RECEIVED = {
    "candidates": [
        {
            "content": {"parts": [{"text": "Hm.", "thought": True}, {"text": "I look."}, CALL]},
            "finishReason": "STOP",
        }
    ]
}


@pytest.fixture
def message() -> Message:
    response = parse_response(msgspec.json.encode(RECEIVED))
    return parse_reply(response, model="gemini-3.8-flash").message


def sent_back(message: Message, state: str, text: str = "I look.") -> Message:
    """The message as a client of another vendor sends it back."""
    [call] = message.tool_calls
    plain = ToolCall(id=call.id, name=call.name, arguments=call.arguments, text="{ }")
    return Message.assistant(Thought("Hm.", signature=state), text, plain)


def none() -> Remembered[str]:
    return Remembered(10, 10_000)


def test_a_state_holds_the_message_with_its_bytes(message: Message) -> None:
    state = state_of(message)
    found = unpacked(state)
    assert found == message
    assert found is not None
    assert found.origin == message.origin
    assert [part.origin for part in found.parts] == [part.origin for part in message.parts]
    assert base64.b64decode(state).startswith(b"wire-gateway")


def test_a_state_in_the_url_safe_alphabet_without_padding_is_the_same(message: Message) -> None:
    state = packed(message).replace("+", "-").replace("/", "_").rstrip("=")
    assert unpacked(state) == message


@joined(
    ("parts", "has_state"),
    [
        ((Text("Hi"),), False),
        ((Text("Hi", "c2ln"),), True),
        ((Text("Hi", extra={"phase": "commentary"}),), True),
        ((ToolCall(name="f"),), False),
        ((ToolCall(name="f", signature="c2ln"),), True),
        ((Thought("Hm."),), True),
        ((ServerToolCall(name="web_search"),), True),
        ((Other("new"),), True),
    ],
)
def test_a_message_that_any_model_understands_needs_none(
    parts: tuple[Text | ToolCall | Thought | ServerToolCall | Other, ...], has_state: bool
) -> None:
    assert bool(state_of(Message("assistant", parts))) == has_state


def test_other_texts_are_no_states(message: Message) -> None:
    state = packed(message)
    bomb = zlib.compress(bytes(17 << 20))
    numbers = random.Random(8)
    cut = [state[: numbers.randrange(len(state))] for _ in range(50)]
    changed = []
    for _ in range(50):
        at = numbers.randrange(len(NO_STATE), len(state) - 2)
        changed.append(state[:at] + ("A" if state[at] != "A" else "B") + state[at + 1 :])
    malformed = [
        "",
        NO_STATE,
        "EvYBCkYIBxgC",
        f"{NO_STATE}*",
        base64.b64encode(b"wire-gateway" + bomb).decode(),
        base64.b64encode(b"wire-gateway" + zlib.compress(b"[]")).decode(),
        base64.b64encode(b"wire-gateway" + zlib.compress(b"{")).decode(),
    ]
    assert {unpacked(each) for each in (*malformed, *cut, *changed)} == {None}


def test_a_message_is_restored_by_its_state(message: Message) -> None:
    notes: list[Note] = []
    user = Message.user("When?")
    back = sent_back(message, state_of(message))
    assert restored([user, back], none(), {}, notes) == (user, message)
    assert notes == []


def test_a_message_is_restored_by_the_id_of_a_call(message: Message) -> None:
    calls = none()
    [call] = message.tool_calls
    kept = packed(message)
    calls.add(call.id, kept, len(kept))
    notes: list[Note] = []
    [found] = restored([sent_back(message, "")], calls, {}, notes)
    assert (found, found.origin, notes) == (message, message.origin, [])


def test_calls_that_a_client_sends_one_by_one_are_the_reply_again() -> None:
    content = {"parts": [CALL, {"functionCall": {"name": "moon", "args": {}}}]}
    body = msgspec.json.encode({"candidates": [{"content": content, "finishReason": "STOP"}]})
    reply = parse_reply(parse_response(body), model="gemini-3.8-flash")
    ids = ClientIds("call_5e1f")
    shown, calls, kept = ids.reply(reply).message, none(), packed(reply.message)
    for id in ids.originals:
        calls.add(id, kept, len(kept))

    def one_by_one(*shown: ToolCall) -> list[Message]:
        plain = [ToolCall(id=each.id, name=each.name, arguments=each.arguments) for each in shown]
        pairs = [
            (Message.assistant(each), Message.tool_response(ToolResult(each.id, each.name, "1")))
            for each in plain
        ]
        return [Message.user("Hi"), *(message for pair in pairs for message in pair)]

    notes: list[Note] = []
    found = restored(one_by_one(*shown.tool_calls), calls, {}, notes)
    own = [ToolResult(call.id, call.name, "1") for call in reply.tool_calls]
    assert found == (Message.user("Hi"), reply.message, Message.tool_response(own))
    assert (found[1].origin, notes) == (reply.message.origin, [])

    # The calls of two replies, or in another order, stay apart.
    first, second = shown.tool_calls
    for others in (
        [first, msgspec.structs.replace(second, id="call_77aa_1")],
        [first, first],
    ):
        kept_apart = restored(one_by_one(*others), calls, {}, [])
        assert [each.role[0] for each in kept_apart] == list("uatat")


def test_a_restored_message_has_the_ids_of_the_backend_and_so_have_its_results(
    message: Message,
) -> None:
    back = sent_back(message, state_of(message))
    parts = tuple(
        msgspec.structs.replace(part, id="other") if isinstance(part, ToolCall) else part
        for part in back.parts
    )
    results = Message.tool_response([ToolResult("other", "tide", "5"), ToolResult("x", "f", "6")])
    ids: dict[str, str] = {}
    sent = [Message("assistant", parts, cache=True), results]
    found, answered = restored(sent, none(), ids, [])
    [call] = message.tool_calls
    assert found.tool_calls == message.tool_calls
    assert found.origin == message.origin
    assert found.cache
    assert [part.id for part in answered.tool_results] == [call.id, "x"]
    assert ids == {"other": call.id}


@joined(
    ("text", "with_state", "note"),
    [
        ("I look twice.", True, "what the model needs back of it is lost: the client changed the"),
        ("I look.", False, "the calls are not of this gateway, or forgotten"),
    ],
)
def test_what_is_lost_is_noted(text: str, with_state: bool, note: str) -> None:
    response = parse_response(msgspec.json.encode(RECEIVED))
    message = parse_reply(response).message
    notes: list[Note] = []
    back = sent_back(message, state_of(message) if with_state else "", text)
    [found] = restored([back], none(), {}, notes)
    assert found.text == text
    [one] = notes
    assert one.path == "messages[0]"
    assert one.message.startswith(note)
    # No state of this gateway goes to a vendor.
    assert NO_STATE not in repr(found)


def test_a_changed_message_of_a_remembered_call_is_noted(message: Message) -> None:
    calls = none()
    plain = Message.assistant("I look.", ToolCall(id="plain", name="tide"))
    for kept in (message, plain):
        calls.add(kept.tool_calls[0].id, packed(kept), 1)
    notes: list[Note] = []
    changed = Message.assistant("I look twice.", ToolCall(id="plain", name="tide"))
    sent = [sent_back(message, "", "I look twice."), changed]
    assert [each.text for each in restored(sent, calls, {}, notes)] == ["I look twice."] * 2
    # Nothing of the second one is lost: any model understands it.
    assert [note.path for note in notes] == ["messages[0]"]


def test_a_signature_without_a_state_is_dropped_silently() -> None:
    notes: list[Note] = []
    thought = Thought("Hm.", signature=NO_STATE)
    call = ToolCall(id="c", name="f", signature=NO_STATE)
    text = Text("", signature=NO_STATE)
    calls = none()
    calls.add("c", "", 0)
    [found] = restored([Message.assistant(thought, "Hi", text)], calls, {}, notes)
    assert (found, notes) == (Message.assistant("Hi"), [])
    [found] = restored([Message.assistant(call)], calls, {}, [])
    assert found.tool_calls[0].signature == ""


def test_signatures_of_the_clients_vendor_stay() -> None:
    thought = Thought("Hm.", signature="EvYBCkYIBxgC")
    message = Message.assistant(thought, "Hi")
    assert restored([message], none(), {}, []) == (message,)


def test_the_oldest_values_are_forgotten() -> None:
    values: Remembered[str] = Remembered(3, 100)
    for name in "abcd":
        values.add(name, name, 10)
    assert [values.get(name) for name in "abcd"] == [None, "b", "c", "d"]
    values.add("b", "again", 90)
    assert [values.get(name) for name in "bcd"] == ["again", None, "d"]
    values.add("e", "too large", 101)
    assert [values.get(name) for name in "bde"] == [None, None, None]
