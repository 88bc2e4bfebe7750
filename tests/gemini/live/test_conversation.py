"""A session of Live as a neutral one: rules of the protocol, and what was heard."""

from __future__ import annotations

import base64
import json
from decimal import Decimal
from typing import Any

import pytest

from wire import AsyncChat, Chat, Message
from wire.chat.live import live_conversation as of_chat
from wire.core.memory import encode
from wire.errors import HistoryError, RuleError
from wire.gemini import live
from wire.neutral.live import (
    CallsCancelled,
    Closing,
    Interrupted,
    LiveConversation,
    LiveEvent,
    LiveRequest,
    LiveState,
    SpeechEnd,
    SpeechStart,
    TranscriptDelta,
)
from wire.neutral.messages import (
    Done,
    MediaDelta,
    ProviderEvent,
    Text,
    TextDelta,
    ThoughtDelta,
    ToolCallEnd,
    ToolResult,
)
from wire.neutral.request import Request, Tool
from wire.wires.asking import live_conversation
from wire.wires.providers import PROVIDERS

SETTINGS = ("voice", "language", "sound", "turns", "transcripts", "state")
TIDE = Tool("tide")


def made(before: Any = (), **options: Any) -> LiveConversation:
    settings = {name: options.pop(name) for name in list(options) if name in SETTINGS}
    request = LiveRequest(request=Request(messages=before, **options), **settings)
    return live_conversation(request, "gemini-3.8-live", PROVIDERS["gemini"])


def sent(session: LiveConversation) -> list[Any]:
    """Take what is to be sent."""
    taken = [json.loads(encode(each)) for each in session.outbox]
    session.outbox.clear()
    return taken


def got(session: LiveConversation, *messages: dict[str, Any]) -> list[LiveEvent]:
    return [
        each
        for message in messages
        for each in session.receive(live.parse_message(json.dumps(message).encode()))
    ]


def begun(**options: Any) -> LiveConversation:
    """A session whose settings the server has confirmed."""
    session = made(**options)
    session.begin()
    got(session, {"setupComplete": {}})
    session.outbox.clear()
    return session


def content(**fields: Any) -> dict[str, Any]:
    return {"serverContent": fields}


def spoken(words: str, seconds: float) -> list[dict[str, Any]]:
    """Words, and then their sound."""
    data = base64.b64encode(bytes(round(seconds * 24_000) * 2)).decode()
    blob = {"mimeType": "audio/pcm;rate=24000", "data": data}
    return [
        content(outputTranscription={"text": words}),
        content(modelTurn={"parts": [{"inlineData": blob}]}),
    ]


def calls(*ids: str) -> dict[str, Any]:
    made = [{"id": id, "name": "tide", "args": {"port": id}} for id in ids]
    return {"toolCall": {"functionCalls": made}}


def asked(*words: str) -> dict[str, Any]:
    turns = [{"parts": [{"text": each}], "role": "user"} for each in words]
    return {"clientContent": {"turns": turns, "turnComplete": True}}


END = content(turnComplete=True)


# --- what is sent ---------------------------------------------------------------------------------


def test_nothing_is_sent_before_the_server_has_confirmed_the_settings() -> None:
    session = made(
        system="Be brief.",
        tools=(TIDE,),
        max_tokens=100,
        temperature=0.5,
        voice="Kore",
        language="en-GB",
        options={"gemini": {"proactivity": {"proactiveAudio": True}}},
    )
    session.begin()
    session.send((Text("Hi"),))
    session.send_sound(b"\0\0")
    assert sent(session) == [
        {
            "setup": {
                "model": "models/gemini-3.8-live",
                "generationConfig": {
                    "maxOutputTokens": 100,
                    "temperature": 0.5,
                    "responseModalities": ["AUDIO"],
                    "speechConfig": {
                        "languageCode": "en-GB",
                        "voiceConfig": {"prebuiltVoiceConfig": {"voiceName": "Kore"}},
                    },
                },
                "systemInstruction": {"parts": [{"text": "Be brief."}]},
                "tools": [{"functionDeclarations": [{"name": "tide"}]}],
                "sessionResumption": {},
                "inputAudioTranscription": {},
                "outputAudioTranscription": {},
                "proactivity": {"proactiveAudio": True},
            }
        }
    ]
    assert got(session, {"setupComplete": {}}) == []
    blob = {"mimeType": "audio/pcm;rate=16000", "data": "AAA="}
    assert sent(session) == [asked("Hi"), {"realtimeInput": {"audio": blob}}]


def test_who_ends_the_speech() -> None:
    session = begun()
    session.end_sound()
    assert sent(session) == [{"realtimeInput": {"audioStreamEnd": True}}]
    session = made(turns="client", sound=False, transcripts=False)
    session.begin()
    (setup,) = sent(session)
    assert setup["setup"] == {
        "model": "models/gemini-3.8-live",
        "generationConfig": {"responseModalities": ["TEXT"]},
        "sessionResumption": {},
        "realtimeInputConfig": {"automaticActivityDetection": {"disabled": True}},
    }
    got(session, {"setupComplete": {}})
    for _ in range(2):
        session.send_sound(b"\0\0")
        session.send_sound(b"\0\0")
        session.end_sound()
        kinds = [[*each["realtimeInput"]] for each in sent(session)]
        assert kinds == [["activityStart"], ["audio"], ["audio"], ["activityEnd"]]


def test_results_go_out_together_in_the_order_of_their_calls() -> None:
    session = begun(tools=(TIDE,))
    events = got(session, calls("c1", "c2"))
    assert [each.position for each in events if isinstance(each, ToolCallEnd)] == [0, 1]
    assert isinstance(events[-1], Done)
    assert events[-1].reply.stop.reason == "tool_calls"
    session.send((ToolResult("c2", "tide", "two"),))
    assert sent(session) == []
    session.send((ToolResult("c1", "tide", "no port", error=True),))
    assert sent(session) == [
        {
            "toolResponse": {
                "functionResponses": [
                    {"id": "c1", "name": "tide", "response": {"error": "no port"}},
                    {"id": "c2", "name": "tide", "response": {"result": "two"}},
                ]
            }
        }
    ]
    with pytest.raises(RuleError, match=r"tool_result\.id: no call 'c1' is open"):
        session.send((ToolResult("c1", "tide", "again"),))


def test_results_of_cancelled_calls_are_not_sent() -> None:
    session = begun(tools=(TIDE,))
    got(session, calls("c1", "c2"))
    session.send((ToolResult("c2", "tide", "two"),))
    assert got(session, {"toolCallCancellation": {"ids": ["c1", "c9"]}}) == [
        CallsCancelled(("c1",))
    ]
    (answered,) = sent(session)
    assert [each["id"] for each in answered["toolResponse"]["functionResponses"]] == ["c2"]
    (results,) = [message for message in session.messages if message.role == "tool"]
    assert [(each.id, each.content) for each in results.tool_results] == [
        ("c1", "the call was cancelled"),
        ("c2", "two"),
    ]
    got(session, calls("c3"), {"toolCallCancellation": {"ids": ["c3"]}})
    assert sent(session) == []


# --- what comes -----------------------------------------------------------------------------------


def test_a_turn() -> None:
    session = begun()
    session.send((Text("Hi"),))
    usage = {"promptTokenCount": 10, "responseTokenCount": 5, "totalTokenCount": 15}
    events = got(
        session,
        {"voiceActivity": {"voiceActivityType": "ACTIVITY_START"}},
        {"voiceActivityDetectionSignal": {"vadSignalType": "VAD_SIGNAL_TYPE_EOS"}},
        content(interimInputTranscription={"text": "Good moaning"}),
        content(inputTranscription={"text": "Good "}),
        content(inputTranscription={"text": "morning"}),
        content(modelTurn={"parts": [{"text": "A greeting.", "thought": True}]}),
        *spoken("Hello.", 1),
        content(generationComplete=True),
        {**END, "usageMetadata": usage},
        {"mood": "calm"},
    )
    assert [each for each in events if not isinstance(each, MediaDelta | Done)] == [
        SpeechStart(),
        SpeechEnd(),
        TranscriptDelta("user", "Good moaning", replaces=True),
        TranscriptDelta("user", "Good "),
        TranscriptDelta("user", "morning"),
        ThoughtDelta("A greeting."),
        TranscriptDelta("assistant", "Hello."),
        ProviderEvent("", {"mood": "calm"}),
    ]
    (reply,) = [each.reply for each in events if isinstance(each, Done)]
    assert (reply.text, reply.thought, reply.stop.reason) == ("Hello.", "A greeting.", "end")
    assert reply.usage is not None
    assert (reply.usage.total, reply.cost.total) == (15, Decimal(3000) / 10**8)
    assert [message.text for message in session.messages] == ["Hi", "Good morning", "Hello."]
    assert session.unanswered == ()


@pytest.mark.parametrize(
    ("word", "reason"),
    [("RESPONSE_REJECTED", "filter"), ("MALFORMED_FUNCTION_CALL", "error"), ("NEW", "other")],
)
def test_why_a_turn_ended(word: str, reason: str) -> None:
    (end,) = got(begun(), content(turnComplete=True, turnCompleteReason=word))
    assert isinstance(end, Done)
    assert (end.reply.stop.reason, end.reply.stop.raw) == (reason, word)
    assert len(end.reply.notes) == (word == "NEW")


def test_an_interrupted_turn() -> None:
    session = begun()
    events = got(session, *spoken("One. ", 1), *spoken("Two.", 1), content(interrupted=True), END)
    assert isinstance(events[-2], Interrupted)
    assert isinstance(events[-1], Done)
    assert events[-1].reply.stop.raw == "interrupted"
    session.interrupt(0.5)
    assert session.messages == (Message.assistant("One. "),)
    assert events[-1].reply.text == "One. Two."
    assert [str(each) for each in session.notes] == [
        "interrupt: the server believes that the user heard the whole answer"
    ]


def test_the_rest_of_an_answer_that_the_program_interrupts_is_left_out() -> None:
    session = begun()
    got(session, *spoken("One. ", 1))
    session.interrupt(1)
    events = got(session, *spoken("Two.", 1), content(modelTurn={"parts": [{"text": "Three"}]}))
    assert events == []
    (end,) = got(session, END)
    assert isinstance(end, Done)
    assert end.reply.text == "One. Two.Three"
    assert session.messages == (Message.assistant("One. "),)
    assert got(session, content(modelTurn={"parts": [{"text": "Next"}]})) == [TextDelta("Next")]


# --- sessions that go on --------------------------------------------------------------------------


def test_a_handle_resumes_the_session_and_only_what_came_later_is_sent() -> None:
    session = begun()
    session.send((Text("One"),))
    update = {"sessionResumptionUpdate": {"newHandle": "h1", "resumable": True}}
    got(session, *spoken("Yes.", 1), END, update)
    session.send((Text("Two"),))
    assert got(session, {"goAway": {"timeLeft": "9.5s"}}) == [Closing(9.5)]
    assert got(session, {"goAway": {}}) == [Closing(None)]
    state = LiveState(
        messages=session.messages,
        handle=session.handle,
        kept=session.kept,
        unanswered=session.unanswered,
    )
    assert (state.handle, state.kept, state.unanswered) == ("h1", 2, (Message.user("Two"),))
    second = made(state=state)
    second.begin()
    assert sent(second)[0]["setup"]["sessionResumption"] == {"handle": "h1"}
    got(second, {"setupComplete": {}})
    (history,) = sent(second)
    assert history["clientContent"] == {
        "turns": [{"parts": [{"text": "Two"}], "role": "user"}],
        "turnComplete": False,
    }
    second.send(())
    assert sent(second) == [{"clientContent": {"turnComplete": True}}]


def test_without_a_handle_the_whole_conversation_is_sent() -> None:
    session = begun()
    session.send((Text("One"),))
    update = {"sessionResumptionUpdate": {"newHandle": "h1", "resumable": True}}
    lost = {"sessionResumptionUpdate": {"resumable": False}}
    got(session, *spoken("Yes.", 1), END, update, lost)
    assert session.handle == ""
    second = made(state=LiveState(messages=session.messages))
    second.begin()
    got(second, {"setupComplete": {}})
    assert len(sent(second)[1]["clientContent"]["turns"]) == 2


# --- settings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"seed": 7}, "seed: live sessions have no such setting here"),
        ({"tools": (TIDE,), "tool_choice": "auto"}, "tool_choice: live sessions have no such"),
        ({"transcripts": "whisper-1"}, "transcripts: Live chooses the model"),
        (
            {"options": {"gemini": {"contextWindowCompression": 7}}},
            r"options\.gemini\.contextWindowCompression: Expected `object",
        ),
    ],
)
def test_what_a_session_does_not_take_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(RuleError, match=words):
        made(**options)


def test_keys_of_the_server_that_have_no_field_are_sent_and_noted() -> None:
    session = made(options={"gemini": {"mood": 1, "historyConfig": {}}})
    session.begin()
    setup = sent(session)[0]["setup"]
    assert (setup["mood"], setup["historyConfig"]) == (1, {})
    assert [str(each) for each in session.notes] == [
        "options.gemini.mood: sent, and not a key of the reference"
    ]


def test_turns_out_of_order_are_refused() -> None:
    with pytest.raises(HistoryError):
        made((Message.tool_response(ToolResult("c1", "tide", "noon")),))


def test_vertex_has_the_full_name_of_the_model() -> None:
    with Chat(
        "gemini@vertex:gemini-live-2.5-flash",
        project="p",
        location="europe-west4",
        token=lambda: "fake-key",
    ) as chat:
        session = of_chat(chat, {})
    session.begin()
    assert sent(session)[0]["setup"]["model"] == (
        "projects/p/locations/europe-west4/publishers/google/models/gemini-live-2.5-flash"
    )


def test_a_chat_gives_its_settings() -> None:
    with Chat("gemini:gemini-3.8-live", api_key="fake-key", system="Be brief.") as chat:
        session = of_chat(chat, {"messages": [Message.user("Hi"), Message.assistant("Hello.")]})
    session.begin()
    assert sent(session)[0]["setup"]["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    chat = AsyncChat("gemini:gemini-3.8-live", api_key="fake-key")  # type: ignore[assignment]
    with pytest.raises(RuleError, match="state: it has the messages"):
        of_chat(chat, {"messages": [], "state": LiveState()})
