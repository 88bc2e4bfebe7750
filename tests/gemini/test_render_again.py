"""Messages of Gemini models in later requests: the same model gets the received bytes, another
model gets no signatures and no thoughts.
"""

from __future__ import annotations

import copy
import itertools
import json
import pickle
import random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.joined import joined
from tests.property import sample
from wire import gemini, notes, openai
from wire.core.limits import Limits
from wire.core.memory import PARTIAL, Note, kept_bytes, with_notes
from wire.errors import BlockedError, ConnectionLost, WireError
from wire.gemini import PLACEHOLDER, parse_reply, render_request, rendering, turns
from wire.gemini import pairing as wire_pairing
from wire.gemini.reader import parse_response, read_chunk
from wire.neutral import pairing
from wire.neutral.messages import (
    Done,
    Media,
    Message,
    Origin,
    Other,
    Stop,
    Text,
    TextDelta,
    Thought,
    ToolCall,
    ToolResult,
    with_origin,
)
from wire.neutral.request import Request, Tool
from wire.openai.chat.reader import parse_completion

from .conversations import RECEIVED_CONTENT, SIGNATURE
from .neutral import (
    HI,
    MODEL,
    PNG,
    TIDE,
    A,
    B,
    answer_with,
    asked,
    contents,
    received,
    refused,
    results,
    told,
    user,
)
from .test_streams import STREAMS

# --- received messages ----------------------------------------------------------------------------


def stored(message: Message) -> Message:
    return pickle.loads(pickle.dumps(message))


@pytest.mark.row("S2-01")
@joined(
    "through",
    [lambda message: message, stored, copy.deepcopy],
    ids=["as it is", "pickled", "copied"],
)
@joined("model", [MODEL, f"models/{MODEL}"])
def test_what_the_model_said_goes_back_byte_for_byte(through, model):
    said = through(received(model=model))
    body = gemini.stream_call(asked(HI, said, results(said)), model).body
    assert body.startswith(
        b'{"contents":[{"parts":[{"text":"Hi"}],"role":"user"},'
        + RECEIVED_CONTENT
        + b',{"parts":[{"functionResponse"'
    )
    # the same from the raw API
    assert render_request(asked(HI, said, results(said)), model).contents[1].raw == RECEIVED_CONTENT


WHOLE = {
    "call-empty-tail",
    "parallel-calls",
    "signatures-everywhere",
    "text-and-call",
    "text-signed-tail",
    "thought-then-text",
    "unknown-keys",
}


@pytest.mark.row("S2-01", "S2-17")
@joined("name", sorted(WHOLE))
@joined("through", [lambda message: message, stored], ids=["as it is", "pickled"])
def test_streams_go_back_byte_for_byte(name, through):
    said = through(received(STREAMS[name]))
    asks = results(said) if said.tool_calls else Message.user("And now?")
    # a model that asks for no signatures gets nothing added
    made = render_request(asked(HI, said, asks), "gemini-2.5-flash")
    own = received(STREAMS[name], "gemini-2.5-flash")
    assert made.contents[1].raw is None  # another model's
    again = render_request(asked(HI, through(own), asks), "gemini-2.5-flash")
    assert again.contents[1].raw == own.origin.raw


def test_ids_that_gemini_gave_go_back_with_their_results():
    said = received(
        answer_with(
            {"functionCall": {"name": "a", "id": "g1"}, "thoughtSignature": SIGNATURE},
            {"functionCall": {"name": "a"}},
        )
    )
    first, second = said.tool_calls
    made = contents(
        HI,
        said,
        Message.tool_response(ToolResult(second.id, "a", "two"), ToolResult(first.id, "a", "one")),
    )
    assert made[-1]["parts"] == [
        {"functionResponse": {"name": "a", "response": {"result": "one"}, "id": "g1"}},
        {"functionResponse": {"name": "a", "response": {"result": "two"}}},
    ]


def test_parts_of_a_changed_message_keep_their_bytes():
    raw = {
        "functionCall": {"name": "tide", "args": {"n": 1}, "why": "?"},
        "thoughtSignature": SIGNATURE,
    }
    said = received(
        answer_with(
            {"text": "Let me see.", "mood": 1},
            raw,
            {"executableCode": {"code": "1", "language": "PYTHON"}},
        )
    )
    for message in (said, stored(said)):
        changed = msgspec.structs.replace(message, parts=(Text("Well."), *message.parts[1:]))
        assert changed.origin is None
        made = contents(HI, changed, results(changed))
        assert made[1]["parts"] == [
            {"text": "Well."},
            raw,
            {"executableCode": {"code": "1", "language": "PYTHON"}},
        ]


def test_bytes_that_are_no_json_are_told_and_written_anew():
    broken = with_origin(Message.assistant("Hello."), Origin("gemini", MODEL, "gemini", b"{"))
    other = with_origin(
        Message.assistant("Hello.", Text("there")),
        Origin("gemini", MODEL, "gemini", b'{"parts":[{"text":"Bye."}]}'),
    )
    part = Message.assistant(with_origin(Text("Hello."), Origin("gemini", MODEL, "gemini", b"[")))
    for message, note in (
        (broken, "messages[1]: rebuilt: the bytes that it was received with are not valid"),
        (other, "messages[1]: rebuilt: it differs from the bytes that it was received with"),
        (
            part,
            "messages[1].parts[0]: rebuilt: the bytes that it was received with are not valid",
        ),
    ):
        assert contents(HI, message, HI)[1]["parts"] == [
            {"text": each.text} for each in message.parts
        ]
        assert told(HI, message, HI) == [note]


def test_an_own_call_that_the_bytes_do_not_have_is_written():
    said = with_origin(
        Message.assistant(A), Origin("gemini", MODEL, "gemini", b'{"parts":[{"text":"x"}]}')
    )
    made = contents(HI, said, Message.tool_result(A, "y"))
    assert made[1]["parts"] == [
        {
            "functionCall": {"name": "tide", "args": {"port": "Brest"}},
            "thoughtSignature": PLACEHOLDER,
        }
    ]


def test_a_call_that_only_the_bytes_have_is_answered():
    """A file may have been edited by hand: its bytes count, and their calls need results."""
    raw = answer_with({"functionCall": {"name": "a"}}, {"functionCall": {"name": "b"}})
    said = received(raw)
    assert said.origin is not None
    call = said.tool_calls[0]
    edited = with_origin(Message.assistant(call, Text("b")), said.origin)
    made = contents(HI, edited, Message.tool_result(call, "y"))
    assert made[2]["parts"] == [
        {"functionResponse": {"name": "a", "response": {"result": "y"}}},
        {"functionResponse": {"name": "b", "response": {"error": "no result"}}},
    ]


# --- paired once ----------------------------------------------------------------------------------

RESULTS = st.sampled_from(["text", {"a": 1}, [1], {"a": {"$ref": "#"}}, {}, None])
CALLS = st.lists(st.sampled_from(["a", "b", "fs.read"]), min_size=1, max_size=3)


@st.composite
def conversations(draw):
    """Neutral messages with calls made here, by Gemini with ids and without, and by others."""
    messages = [HI]
    for number, kind in enumerate(draw(st.lists(st.sampled_from("uugihs"), max_size=5))):
        if kind == "u":
            messages.append(Message.user("And?", *draw(st.lists(st.just(PNG), max_size=1))))
            continue
        if kind == "s":
            messages.append(Message.system("Be brief."))
            continue
        names = draw(CALLS)
        if kind == "h":
            calls = [ToolCall(id=f"{number}.{at}", name=name) for at, name in enumerate(names)]
            said = Message.assistant("Well.", calls)
        else:
            ids = [{"id": f"{number}.{at}"} if kind == "i" else {} for at in range(len(names))]
            made = [
                {"functionCall": {"name": name, **id}} for name, id in zip(names, ids, strict=True)
            ]
            server = [
                {"functionCall": {"name": "x", "id": "x"}},
                {"functionResponse": {"name": "x", "id": "x", "response": {}}},
            ]
            raw = answer_with({"text": "Hm."}, *draw(st.sampled_from([[], server])), *made)
            said = msgspec.structs.replace(received(raw))
            said = with_origin(said, received(raw).origin) if draw(st.booleans()) else said
        given_results = [
            ToolResult(
                call.id,
                call.name,
                draw(RESULTS),
                error=draw(st.booleans()),
                media=draw(st.sampled_from([(), (PNG,)])),
            )
            for call in said.tool_calls
        ]
        messages.append(said)
        messages += [Message.tool_response(each) for each in draw(st.permutations(given_results))]
    return (*messages, *([Message.user("Go on.")] if draw(st.booleans()) else []))


@given(conversations(), st.sampled_from([MODEL, "gemini-2.5-flash", "gemini-3.5-flash"]))
def test_results_are_not_paired_again(messages, model):
    """What `contents` would pair and fit is already so."""

    def outcome():
        try:
            call = gemini.call(Request(messages=messages), model)
        except WireError as error:
            return str(error)
        # `contents` does not know the paths of the messages.
        return call.body, [each.message for each in call.notes]

    once = outcome()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            rendering,
            "paired_contents",
            lambda turns, name, paths: gemini.contents(*turns, model=name),
        )
        assert outcome() == once


def test_a_neutral_request_pairs_its_results_once(monkeypatch):
    messages = (HI, Message.assistant(A, B), Message.tool_result(B, "b"), Message.tool_result(A, 1))
    paired = []
    pair, by_key = pairing.pair, pairing.pair_by_key
    for module in (pairing, wire_pairing, turns):
        monkeypatch.setattr(module, "pair", lambda *args: paired.append(args) or pair(*args))
    monkeypatch.setattr(pairing, "pair_by_key", lambda *args: paired.append(args) or by_key(*args))
    monkeypatch.setattr(pairing, "pair_by_key", lambda *args: paired.append(args) or by_key(*args))
    contents(*messages)
    assert len(paired) == 1


# --- other models ---------------------------------------------------------------------------------


def test_calls_of_another_model_get_the_placeholder_and_no_signature():
    said = received(
        answer_with(
            {"text": "Hm.", "thought": True},
            {"functionCall": {"name": "tide", "id": "g1"}, "thoughtSignature": SIGNATURE},
        )
    )
    messages = (HI, said, results(said))
    assert contents(*messages, model="gemini-3.5-flash") == [
        user("Hi"),
        {
            "parts": [
                {"functionCall": {"name": "tide", "args": {}}, "thoughtSignature": PLACEHOLDER}
            ],
            "role": "model",
        },
        {
            "parts": [{"functionResponse": {"name": "tide", "response": {"metres": 2}}}],
            "role": "user",
        },
    ]
    assert told(*messages, model="gemini-3.5-flash") == [
        "messages[1].parts[0]: withheld: a thought of another model",
        "messages[1].parts[1]: withheld: metadata of gemini in the call of tide",
        "messages[1]: an unsigned call was given the documented placeholder",
    ]
    # Turns that are over need it too (G27); models that do not sign get none.
    later = (*messages, Message.user("And?"))
    assert contents(*later, model="gemini-3.5-flash")[1]["parts"] == [
        {"functionCall": {"name": "tide", "args": {}}, "thoughtSignature": PLACEHOLDER}
    ]
    assert contents(*later, model="gemini-2.5-flash")[1]["parts"] == [
        {"functionCall": {"name": "tide", "args": {}}}
    ]


@given(
    st.lists(st.lists(st.booleans(), min_size=1, max_size=3), min_size=1, max_size=4),
    st.booleans(),
    st.sampled_from(["gemini-3.1-pro-preview", "gemini-3.5-flash", "gemini-3.8-flash"]),
)
def test_each_step_of_every_turn_is_signed(
    steps_of_turns: list[list[bool]], goes_on: bool, model: str
):
    """Steps of this model (True) and of another vendor, in several turns."""
    messages: list[Message] = []
    for number, steps in enumerate(steps_of_turns):
        messages.append(HI)
        for step, own in enumerate(steps):
            calls = [
                ToolCall(id=f"{number}_{step}_{name}", name=name, arguments={})
                for name in ("tide", "moon")
            ]
            said = Message.assistant(*calls)
            if own:
                said = Message.assistant(
                    msgspec.structs.replace(calls[0], signature=SIGNATURE), calls[1]
                )
            messages += [said, *(Message.tool_result(call, "1") for call in calls)]
    messages += [HI] if goes_on else []
    rendered = render_request(asked(*messages), model)
    signatures = [
        [part.thought_signature for part in content.parts or () if part.function_call]
        for content in rendered.contents or ()
        if content.role == "model"
    ]
    assert signatures == [
        [SIGNATURE if own else PLACEHOLDER, None] for steps in steps_of_turns for own in steps
    ]
    assert [each for each in gemini.check(rendered, model) if each.rule in ("G24", "G27")] == []


@pytest.mark.row("S0-03")
def test_one_history_goes_to_either_vendor_and_back():
    gemini_said = received(
        answer_with(
            {
                "functionCall": {"name": "tide", "args": {"port": "Brest"}},
                "thoughtSignature": SIGNATURE,
            }
        )
    )
    openai_said = openai.parse_reply(
        parse_completion(
            b'{"choices":[{"message":{"role":"assistant","content":"Low.",'
            b'"reasoning_content":"Hm.","tool_calls":[{"id":"c1","type":'
            b'"function","function":{"name":"moon","arguments":"{\\"day\\":1}"}}]},'
            b'"finish_reason":"tool_calls"}]}'
        )
    ).message
    moon = openai_said.tool_calls[0]
    history = [
        HI,
        gemini_said,
        results(gemini_said),
        openai_said,
        Message.tool_result(moon, "full"),
    ]
    there = json.loads(
        openai.stream_call(
            Request(messages=tuple(history)), "deepseek-chat", provider="deepseek"
        ).body
    )["messages"]
    assert [each["role"] for each in there] == ["user", "assistant", "tool", "assistant", "tool"]
    assert SIGNATURE not in json.dumps(there)
    back = contents(*history)
    assert [content["role"] for content in back] == ["user", "model", "user", "model", "user"]
    assert back[1]["parts"] == [
        {"functionCall": {"name": "tide", "args": {"port": "Brest"}}, "thoughtSignature": SIGNATURE}
    ]
    calls = [part for part in back[3]["parts"] if "functionCall" in part]
    assert calls == [
        {"functionCall": {"name": "moon", "args": {"day": 1}}, "thoughtSignature": PLACEHOLDER}
    ]
    assert not [part for part in back[3]["parts"] if part.get("thought")]


def test_notes_name_the_place_also_behind_a_message_that_was_left_out():
    origin = Origin("deepseek", "deepseek-chat", "openai")
    silent = with_origin(Message.assistant(with_origin(Thought("hm"), origin)), origin)
    found = told(HI, silent, HI, Message.assistant(Other("video", 1), "x"), HI)
    assert found[-1] == "messages[3].parts[0]: withheld: only its own vendor understands video"
    assert refused(HI, silent, HI, Message.user(Media(url="x"))) == [
        ("messages[3].parts[0]", "G64")
    ]


def test_what_was_made_here_keeps_what_it_says():
    thought = Thought("Hm.", signature="AAAA", details=({"type": "x"},))
    call = ToolCall(id="1", name="tide", arguments={}, signature=PLACEHOLDER, extra={"k": 1})
    messages = (
        HI,
        Message.assistant(thought, Thought(), Text("Hello.", "BBBB"), call),
        Message.tool_result(call, "x"),
    )
    assert contents(*messages)[1]["parts"] == [
        {"text": "Hm.", "thought": True, "thoughtSignature": "AAAA"},
        {"text": "Hello.", "thoughtSignature": "BBBB"},
        {"functionCall": {"name": "tide", "args": {}}, "thoughtSignature": PLACEHOLDER},
    ]
    assert told(*messages) == [
        "messages[1].parts[0]: withheld: Gemini has no field for the details of a thought",
        "messages[1].parts[3]: withheld: Gemini has no field for the extra data of the "
        "call of tide",
    ]


@pytest.mark.row("G28")
def test_names_of_other_vendors_are_mapped_with_their_results():
    calls = [
        ToolCall(id=str(number), name=name)
        for number, name in enumerate(
            ["fs.read", "fs_read", "fs:read", "9é", "fs.read", "x" * 70, ""]
        )
    ]
    messages = (
        HI,
        Message.assistant(calls),
        Message.tool_response(ToolResult(call.id, call.name, call.id) for call in calls),
    )
    made = contents(*messages, tools=(Tool("fs_read_2"),), model="gemini-2.5-flash")
    names = ["fs_read_3", "fs_read", "fs_read_4", "_9_", "fs_read_3", "x" * 64, "_"]
    assert [part["functionCall"]["name"] for part in made[1]["parts"]] == names
    assert [
        (part["functionResponse"]["name"], part["functionResponse"]["response"]["result"])
        for part in made[2]["parts"]
    ] == [(name, str(number)) for number, name in enumerate(names)]
    assert told(*messages, tools=(Tool("fs_read_2"),), model="gemini-2.5-flash")[:2] == [
        "messages[1].parts[0]: calls of 'fs.read' and their results are sent under the "
        "name fs_read_3, since Gemini refuses the original name",
        "messages[1].parts[2]: calls of 'fs:read' and their results are sent under the "
        "name fs_read_4, since Gemini refuses the original name",
    ]


def test_names_that_gemini_gave_stay():
    said = received(answer_with({"functionCall": {"name": "default_api.tide"}}), "gemini-2.5-flash")
    made = contents(HI, said, results(said), model="gemini-2.5-flash")
    assert made[1]["parts"] == [{"functionCall": {"name": "default_api.tide"}}]
    assert made[2]["parts"][0]["functionResponse"]["name"] == "default_api.tide"


# --- the calls ------------------------------------------------------------------------------------


@pytest.mark.row("S2-06", "S2-19")
def test_both_calls_send_one_body():
    request = asked(HI, system="Be brief.", effort="low", tools=(Tool("tide", "", TIDE),))
    streamed, plain = gemini.stream_call(request, f"models/{MODEL}"), gemini.call(request, MODEL)
    assert streamed.body == plain.body
    assert notes(streamed) == notes(plain) == notes(render_request(request, MODEL))
    assert (streamed.target, plain.target) == (
        f"/models/{MODEL}:streamGenerateContent?alt=sse",
        f"/models/{MODEL}:generateContent",
    )
    assert (streamed.wire, plain.wire, streamed.method) == ("gemini", "gemini", "POST")


def test_replies_remember_who_was_asked_and_what_was_told():
    request = asked(effort="none")
    note = Note("effort", "sent as the model's lowest level, LOW: it cannot turn thinking off")
    plain, streamed = (
        gemini.call(request, f"models/{MODEL}", provider="gemini@vertex"),
        gemini.stream_call(request, MODEL, provider="gemini@vertex"),
    )
    body = STREAMS["parallel-calls"]
    reading = streamed.events()
    reader = streamed.reader(Limits(event=1 << 20))
    chunks = [*reader.feed(body), *reader.close()]
    events = [event for chunk in chunks for event in reading.feed(chunk)]
    folded = streamed.convert(streamed.fold([kept_bytes(chunk) for chunk in chunks]), None)
    events += reading.close(folded)
    whole = plain.parse(body)
    assert (type(events[-1]), events[-1].reply, folded) == (Done, whole, whole)
    assert whole.notes == (note,)
    assert whole.answer == parse_response(body)
    assert (whole.message.origin.provider, whole.message.origin.model) == ("gemini@vertex", MODEL)
    assert whole.tool_calls[1].id.startswith("call_")
    said = (HI, whole.message, results(whole.message))
    assert (
        render_request(asked(*said), MODEL, provider="gemini@vertex").contents[1].raw
        == whole.message.origin.raw
    )
    # the answer of one host is no answer of the other
    assert render_request(asked(*said), MODEL).contents[1].raw is None


@pytest.mark.row("S1-14")
def test_a_blocked_answer_is_an_error_of_both_calls():
    body = b'{"promptFeedback":{"blockReason":"SAFETY"}}'
    with pytest.raises(BlockedError) as blocked:
        gemini.call(asked(), MODEL).parse(body)
    assert (blocked.value.code, blocked.value.partial.stop.raw) == ("SAFETY", "SAFETY")
    call = gemini.stream_call(asked(), MODEL)
    # Only the end of a stream is blocked: a reply so far is read like any other.
    reply = call.convert(call.fold([kept_bytes(read_chunk(body))]), None)
    with pytest.raises(BlockedError):
        call.events().close(reply)


def test_a_stream_that_broke_off_has_a_reply():
    call = gemini.stream_call(asked(), MODEL)
    reader = call.reader(Limits(event=1 << 20))
    chunks = reader.feed(STREAMS["no-finish"])
    assert call.events().feed(chunks[0]) == [TextDelta("The tide")]
    answer = with_notes(call.fold([kept_bytes(chunk) for chunk in chunks]), [PARTIAL])
    reply = call.convert(answer, ConnectionLost("gone"))
    assert (reply.text, reply.stop, reply.notes) == ("The tide is", Stop("other"), (PARTIAL,))


# --- laws -----------------------------------------------------------------------------------------


def conversation(dice: random.Random) -> tuple[Message, ...]:
    """A conversation without violations: parallel calls of several models, with their results in
    one message or in several.
    """
    messages: list[Message] = [Message.system("Be brief.")] if dice.random() < 0.3 else []
    for turn in range(dice.randint(1, 5)):
        messages.append(Message.user(f"question {turn}", *([PNG] if dice.random() < 0.2 else [])))
        for step in range(dice.randint(0, 3)):
            names = [dice.choice(["tide", "moon", "fs.read"]) for _ in range(dice.randint(1, 3))]
            raw = [{"functionCall": {"name": name, "args": {"n": step}}} for name in names]
            raw[0] |= {"thoughtSignature": SIGNATURE} if dice.random() < 0.7 else {}
            model = dice.choice([MODEL, "gemini-2.5-flash", "gemini-3.5-flash"])
            body = answer_with(*([{"text": "Let me see."}] if dice.random() < 0.5 else []), *raw)
            said = parse_reply(
                parse_response(body), body=str((turn, step)).encode(), model=model
            ).message
            if dice.random() < 0.3:
                said = Message.assistant(*said.parts)
            calls = list(said.tool_calls)
            dice.shuffle(calls)
            answers = [
                ToolResult(
                    call.id, call.name, dice.choice(["x", {"m": 1}, [1], None]), dice.random() < 0.2
                )
                for call in calls
            ]
            cut = dice.randint(0, len(answers))
            messages += [
                said,
                *(
                    Message.tool_response(group)
                    for group in (answers[:cut], answers[cut:])
                    if group
                ),
            ]
        messages.append(Message.assistant(f"answer {turn}"))
    return tuple(messages[:-1])


@pytest.mark.row("S0-04", "S2-02", "S2-11")
@pytest.mark.sampled
@joined("seed", sample(range(150), 6))
def test_any_history_is_sent_in_order_and_twice_the_same(seed):
    messages = conversation(random.Random(seed))
    before = pickle.dumps(messages)
    for model in (MODEL, "gemini-2.5-flash", "gemini-3.8-flash"):
        body = gemini.call(Request(messages=messages), model).body
        assert gemini.stream_call(Request(messages=messages), model).body == body
        assert gemini.stream_call(Request(messages=pickle.loads(before)), model).body == body
        made = render_request(Request(messages=messages), model)
        assert [each for each in gemini.check(made, model) if each.severity == "error"] == []
        turns = json.loads(body)["contents"]
        calls = [
            part["functionCall"]["args"]
            for turn in turns
            for part in turn["parts"]
            if "functionCall" in part
        ]
        assert len(calls) == sum(len(message.tool_calls) for message in messages)
        for one, other in itertools.pairwise(turns):
            assert one["role"] != other["role"] or "functionResponse" in one["parts"][0]
            names = [
                part["functionCall"]["name"] for part in one["parts"] if "functionCall" in part
            ]
            if names:
                assert [part["functionResponse"]["name"] for part in other["parts"]] == names
        assert not [
            part
            for turn in turns
            if turn["role"] == "user"
            for part in turn["parts"]
            if "thoughtSignature" in part
        ]
    assert pickle.dumps(messages) == before


@pytest.mark.row("S2-02")
def test_results_reach_their_calls_whatever_their_order():
    """Two calls with one name and no ids are paired by position."""
    for seed in range(20):
        dice = random.Random(seed)
        calls = [
            ToolCall(id=f"c{number}", name=dice.choice("ab"), arguments={"n": number})
            for number in range(6)
        ]
        answers = [ToolResult(call.id, call.name, {"n": call.arguments["n"]}) for call in calls]
        dice.shuffle(answers)
        made = contents(
            HI, Message.assistant(calls), Message.tool_response(answers), model="gemini-2.5-flash"
        )
        assert [part["functionResponse"]["response"]["n"] for part in made[2]["parts"]] == list(
            range(6)
        )
