"""A session of Realtime as a neutral one: rules of the protocol, and what was heard."""

from __future__ import annotations

import base64
import json
from decimal import Decimal
from typing import Any

import pytest

from wire import Media, Message
from wire.catalogue.usage import Usage
from wire.core.memory import encode
from wire.errors import ConfigurationError, RuleError
from wire.neutral.live import (
    Interrupted,
    LiveConversation,
    LiveEvent,
    LiveRequest,
    LiveState,
    Refused,
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
    ToolCallEnd,
    ToolResult,
)
from wire.neutral.request import Request, Tool
from wire.openai import realtime
from wire.wires.asking import live_conversation
from wire.wires.providers import PROVIDERS


def made(
    provider: str = "openai", model: str = "gpt-realtime", before: Any = (), **options: Any
) -> LiveConversation:
    settings = {name: options.pop(name) for name in list(options) if name in SETTINGS}
    request = Request(messages=before, **options)
    return live_conversation(LiveRequest(request=request, **settings), model, PROVIDERS[provider])


SETTINGS = ("voice", "language", "sound", "turns", "transcripts", "state")


def begun(**options: Any) -> LiveConversation:
    """A session whose settings were sent."""
    session = made(**options)
    session.begin()
    session.outbox.clear()
    return session


def sent(session: LiveConversation) -> list[Any]:
    """Take what is to be sent."""
    taken = [json.loads(encode(each)) for each in session.outbox]
    session.outbox.clear()
    return taken


def got(session: LiveConversation, *events: dict[str, Any]) -> list[LiveEvent]:
    return [
        each
        for event in events
        for each in session.receive(realtime.parse_event(json.dumps(event).encode()))
    ]


def created(id: str = "r1") -> dict[str, Any]:
    return {"type": "response.created", "response": {"id": id, "status": "in_progress"}}


def done(id: str = "r1", status: str = "completed", **more: Any) -> dict[str, Any]:
    return {"type": "response.done", "response": {"id": id, "status": status, **more}}


def called(id: str, name: str = "tide", response: str = "r1") -> dict[str, Any]:
    return {
        "type": "response.function_call_arguments.done",
        "response_id": response,
        "call_id": id,
        "name": name,
        "arguments": "{}",
    }


def spoken(
    words: str, seconds: float, item: str = "i1", response: str = "r1"
) -> list[dict[str, Any]]:
    """Words, and then their sound, as servers send them."""
    sound = base64.b64encode(bytes(round(seconds * 24_000) * 2)).decode()
    place = {"response_id": response, "item_id": item}
    return [
        {"type": "response.output_audio_transcript.delta", "delta": words, **place},
        {"type": "response.output_audio.delta", "delta": sound, **place},
    ]


# --- responses ------------------------------------------------------------------------------------


def test_a_text_waits_for_the_response_that_is_being_made() -> None:
    session = begun()
    session.send((Text("Hi"),))
    assert [each["type"] for each in sent(session)] == [
        "conversation.item.create",
        "response.create",
    ]
    session.send((Text("and"),))  # before the server has begun
    got(session, created())
    session.send((Text("more"),))
    assert [each["type"] for each in sent(session)] == ["conversation.item.create"] * 2
    got(session, done())
    assert [each["type"] for each in sent(session)] == ["response.create"]


def test_results_go_out_together_in_the_order_of_their_calls_after_the_response() -> None:
    session = begun(tools=(Tool("tide"),))
    session.send((Text("Hi"),))
    events = got(session, created(), called("c1"), called("c2"))
    assert [each.position for each in events if isinstance(each, ToolCallEnd)] == [0, 1]
    sent(session)
    session.send((ToolResult("c2", "tide", "two"),))
    got(session, done())
    assert sent(session) == []
    assert [call.id for call in session.open_calls] == ["c1"]
    session.send((ToolResult("c1", "tide", {"one": 1}),))
    assert sent(session) == [
        {
            "type": "conversation.item.create",
            "item": {"type": "function_call_output", "call_id": "c1", "output": '{"one":1}'},
        },
        {
            "type": "conversation.item.create",
            "item": {"type": "function_call_output", "call_id": "c2", "output": "two"},
        },
        {"type": "response.create"},
    ]
    assert [message.role for message in session.messages] == ["user", "assistant", "tool"]


def test_a_result_that_comes_before_the_end_of_the_response_waits() -> None:
    session = begun(tools=(Tool("tide"),))
    got(session, created(), called("c1"))
    session.send((ToolResult("c1", "tide", "noon"),))
    assert sent(session) == []
    got(session, done())
    assert [each["type"] for each in sent(session)] == [
        "conversation.item.create",
        "response.create",
    ]


def test_a_result_without_an_open_call_is_refused() -> None:
    session = begun()
    with pytest.raises(RuleError, match=r"tool_result\.id: no call 'c9' is open"):
        session.send((ToolResult("c9", "tide", "noon"),))
    assert sent(session) == []


def test_a_call_is_taken_from_whichever_event_names_it_first() -> None:
    item = {"type": "function_call", "call_id": "c1", "name": "tide", "arguments": "{}"}
    session = begun()
    at_item = {"type": "response.output_item.done", "response_id": "r1", "item": item}
    events = got(session, created(), at_item, called("c1"), done(output=[item]))
    assert [type(each) for each in events] == [ToolCallEnd, Done]
    session = begun()
    events = got(session, created(), done(output=[item]))
    assert [type(each) for each in events] == [ToolCallEnd, Done]


def test_the_server_may_begin_a_response_just_before_it_is_asked_to() -> None:
    session = begun()
    session.send((Text("Hi"),))
    sent(session)
    code = "conversation_already_has_active_response"
    error = {"type": "error", "error": {"code": code, "message": "one is active"}}
    (refused,) = got(session, error)
    assert isinstance(refused, Refused)
    assert (refused.error.code, refused.error.message) == (code, "one is active")
    assert sent(session) == []
    got(session, created("r0"), done("r0"))
    assert [each["type"] for each in sent(session)] == ["response.create"]


def test_after_a_refusal_a_response_can_be_asked_for() -> None:
    session = begun()
    session.send((Text("Hi"),))
    sent(session)
    got(session, {"type": "error", "error": {"type": "invalid_request_error", "message": "no"}})
    session.send(())
    assert [each["type"] for each in sent(session)] == ["response.create"]


def test_how_responses_end() -> None:
    session = begun()
    cancelled = {"status_details": {"type": "cancelled", "reason": "turn_detected"}}
    events = got(session, created(), *spoken("Hi", 1), done(status="cancelled", **cancelled))
    assert [type(each) for each in events[-2:]] == [Interrupted, Done]
    assert events[-1].reply.stop.raw == "turn_detected"
    assert events[-1].reply.stop.reason == "other"
    error = {"error": {"message": "overloaded"}}
    (failed,) = got(session, created("r2"), done("r2", "failed", status_details=error))
    assert isinstance(failed, Done)
    stop = failed.reply.stop
    assert (stop.reason, stop.message, stop.next) == ("error", "overloaded", "retry")
    cut = {"status_details": {"reason": "max_output_tokens"}}
    (short,) = got(session, created("r3"), done("r3", "incomplete", **cut))
    assert isinstance(short, Done)
    assert (short.reply.stop.reason, short.reply.notes) == ("length", ())


def test_the_words_of_the_whole_response_count() -> None:
    session = begun()
    part = {"type": "output_text", "text": "Hello."}
    item = {"type": "message", "role": "assistant", "content": [part]}
    (end,) = got(session, created(), done(output=[item]))
    assert isinstance(end, Done)
    assert (end.reply.text, session.messages) == ("Hello.", (Message.assistant("Hello."),))


def test_tokens_and_cost() -> None:
    details = {
        "text_tokens": 10,
        "audio_tokens": 90,
        "image_tokens": 0,
        "cached_tokens": 50,
        "cached_tokens_details": {"text_tokens": 0, "audio_tokens": 50},
    }
    usage = {
        "input_tokens": 100,
        "output_tokens": 40,
        "total_tokens": 140,
        "input_token_details": details,
        "output_token_details": {"text_tokens": 10, "audio_tokens": 30},
    }
    session = begun()
    (end,) = got(session, created(), done(usage=usage))
    assert isinstance(end, Done)
    modalities = {"input_text": 10, "input_audio": 90, "output_text": 10, "output_audio": 30}
    assert end.reply.usage == Usage(
        input=100, output=40, cached=50, total=140, by_modality=modalities
    )
    # 10 texts at 4 USD a million, 40 sounds at 32 and 50 from the cache at 0.4; 10 texts at 16 and
    # 30 sounds at 64.
    millionths = 10 * 4 + 40 * 32 + Decimal(50) * Decimal("0.4") + 10 * 16 + 30 * 64
    assert end.reply.cost.total == millionths / 1_000_000


# --- sound ----------------------------------------------------------------------------------------


def test_sound_is_sent_in_pieces_and_committed() -> None:
    session = begun(turns="client")
    session.send_sound(b"\0\1")
    session.end_sound()
    assert sent(session) == [
        {"type": "input_audio_buffer.append", "audio": "AAE="},
        {"type": "input_audio_buffer.commit"},
        {"type": "response.create"},
    ]


def test_a_spoken_turn_is_written_down_later() -> None:
    session = begun()
    kind = "conversation.item.input_audio_transcription"
    events = got(
        session,
        {"type": "input_audio_buffer.speech_started", "item_id": "u1"},
        {"type": "input_audio_buffer.speech_stopped", "item_id": "u1"},
        {"type": "input_audio_buffer.committed", "item_id": "u1"},
        created(),
        *spoken("Hello.", 1),
        {"type": f"{kind}.delta", "item_id": "u1", "delta": "Good morn"},
        {"type": f"{kind}.updated", "item_id": "u1", "transcript": "Good morning"},
        {"type": f"{kind}.completed", "item_id": "u1", "transcript": "Good morning"},
        done(),
    )
    assert [each for each in events if not isinstance(each, MediaDelta | Done)] == [
        SpeechStart(),
        SpeechEnd(),
        TranscriptDelta("assistant", "Hello."),
        TranscriptDelta("user", "Good morn"),
        TranscriptDelta("user", "Good morning", replaces=True),
    ]
    assert session.messages == (Message.user("Good morning"), Message.assistant("Hello."))


def test_what_nobody_wrote_down_is_told() -> None:
    session = begun(transcripts=False)
    failed = "conversation.item.input_audio_transcription.failed"
    got(
        session,
        {"type": "input_audio_buffer.committed", "item_id": "u1"},
        {"type": failed, "item_id": "u1", "error": {"message": "no deployment"}},
    )
    assert session.messages == (Message.user("(speech)"),)
    assert [str(each) for each in session.notes] == [
        "transcript: the host could not write it down: no deployment"
    ]


@pytest.mark.parametrize(
    ("heard", "text", "ends"),
    [
        (0.0, "", [("i1", 0), ("i2", 0)]),
        (0.5, "One. ", [("i1", 500), ("i2", 0)]),
        (1.0, "One. ", [("i1", 1000), ("i2", 0)]),
        (1.25, "One. Two. ", [("i1", 1250), ("i2", 0)]),
        (2.5, "One. Two. Three.", [("i2", 500)]),
        (3.0, "One. Two. Three.", []),
        (99.0, "One. Two. Three.", []),
        (None, "One. Two. Three.", []),
    ],
)
def test_what_was_heard_is_kept_apart_from_what_was_said(
    heard: float | None, text: str, ends: list[tuple[str, int]]
) -> None:
    session = begun()
    spoke = [*spoken("One. ", 1), *spoken("Two. ", 1), *spoken("Three.", 1, "i2")]
    (end,) = got(session, created(), *spoke, done())[-1:]
    session.interrupt(heard)
    assert [(each["item_id"], each["audio_end_ms"]) for each in sent(session)] == ends
    assert session.messages == ((Message.assistant(text),) if text else ())
    assert isinstance(end, Done)
    assert end.reply.text == "One. Two. Three."


def test_an_answer_that_is_interrupted_is_cancelled_and_its_rest_left_out() -> None:
    session = begun()
    got(session, created(), *spoken("One. ", 1))
    session.interrupt(0.5)
    assert [each["type"] for each in sent(session)] == [
        "response.cancel",
        "conversation.item.truncate",
    ]
    events = got(session, *spoken("Two. ", 1))
    assert [type(each) for each in events] == [TranscriptDelta]
    assert [type(each) for each in got(session, done(status="cancelled"))] == [Interrupted, Done]
    assert session.messages == (Message.assistant("One. "),)


def test_sound_that_is_no_base64_is_left_out_and_told() -> None:
    session = begun()
    assert got(session, created(), {"type": "response.output_audio.delta", "delta": "!"}) == []
    assert [each.path for each in session.notes] == ["sound"]


def test_other_events_are_handed_out_as_they_are() -> None:
    session = begun()
    strange = {"type": "mood.changed", "mood": "calm"}
    assert got(session, strange, {"type": "ping"}) == [ProviderEvent("mood.changed", strange)]
    text = {"type": "response.output_text.delta", "delta": "Hi", "response_id": "r1"}
    assert got(session, text) == [TextDelta("Hi")]


# --- settings -------------------------------------------------------------------------------------


def test_the_settings_of_openai() -> None:
    session = made(
        system="Be brief.",
        tools=(Tool("tide", "The tide."),),
        tool_choice=("tide",),
        max_tokens=100,
        effort="low",
        options={"openai": {"truncation": "disabled"}},
        voice="marin",
        language="en",
    )
    session.begin()
    form = {"type": "audio/pcm", "rate": 24_000}
    assert sent(session) == [
        {
            "type": "session.update",
            "session": {
                "type": "realtime",
                "output_modalities": ["audio"],
                "instructions": "Be brief.",
                "audio": {
                    "input": {
                        "format": form,
                        "transcription": {"model": "gpt-realtime-whisper", "language": "en"},
                        "turn_detection": {
                            "type": "server_vad",
                            "create_response": True,
                            "interrupt_response": True,
                        },
                    },
                    "output": {"format": form, "voice": "marin"},
                },
                "tools": [
                    {
                        "type": "function",
                        "name": "tide",
                        "description": "The tide.",
                        "parameters": {"type": "object", "properties": {}},
                    }
                ],
                "tool_choice": {"type": "function", "name": "tide"},
                "max_output_tokens": 100,
                "reasoning": {"effort": "low"},
                "truncation": "disabled",
            },
        }
    ]


def test_the_settings_of_xai_stand_at_the_top() -> None:
    session = made("xai", "grok-voice-latest", voice="ara", turns="client")
    session.begin()
    (update,) = sent(session)
    assert update["session"] == {
        "audio": {
            "input": {
                "format": {"type": "audio/pcm", "rate": 24_000},
                "transcription": {"model": "grok-transcribe"},
            },
            "output": {"format": {"type": "audio/pcm", "rate": 24_000}},
        },
        "voice": "ara",
        "turn_detection": None,
    }
    with pytest.raises(RuleError, match="sound: this host always speaks"):
        made("xai", "grok-voice-latest", sound=False)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"temperature": 0.5}, "temperature: live sessions have no such setting here"),
        ({"stop": ("x",)}, "stop: live sessions have no such setting here"),
        ({"caching": "auto"}, "caching: live sessions have no such setting here"),
        ({"tools": (Tool("sql", kind="custom"),)}, "tools: live sessions have functions alone"),
        (
            {"tools": (Tool("a"), Tool("b")), "tool_choice": ("a", "b")},
            "tool_choice: live sessions take the name of one tool",
        ),
        ({"options": {"openai": {"truncation": 7}}}, r"options\.openai\S*\.truncation: Expected"),
        ({"turns": "nobody"}, "turns: expected server or client, not 'nobody'"),
        ({"voice": 7}, "voice: expected a text, not int"),
        ({"sound": 1}, "sound: expected a bool, not int"),
        ({"transcripts": None}, "transcripts: expected a bool or a text, not NoneType"),
    ],
)
def test_what_a_session_does_not_take_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(RuleError, match=words):
        made(**options)


def test_a_host_without_sessions_is_named() -> None:
    with pytest.raises(ConfigurationError, match="groq has no live sessions"):
        made("groq", "m")
    with pytest.raises(ConfigurationError, match="anthropic has no live sessions"):
        made("anthropic", "m")


def test_pictures_and_samples_are_sent_and_other_media_refused() -> None:
    session = begun()
    picture = Media(data=b"PNG", media_type="image/png", detail="low")
    session.send((Text("Look"), picture, Media(data=b"\0\0", media_type="audio/pcm;rate=24000")))
    item = sent(session)[0]["item"]
    assert item["content"] == [
        {"type": "input_text", "text": "Look"},
        {"type": "input_image", "image_url": "data:image/png;base64,UE5H", "detail": "low"},
        {"type": "input_audio", "audio": "AAA="},
    ]
    with pytest.raises(RuleError, match=r"parts\[0\]: Realtime takes images and audio/pcm"):
        session.send((Media(data=b"RIFF", media_type="audio/wav"),))
    assert sent(session) == []
    assert len(session.messages) == 1


# --- the conversation -----------------------------------------------------------------------------


def test_another_session_goes_on_with_the_state_of_one_that_broke() -> None:
    session = begun(tools=(Tool("tide"),))
    session.send((Text("When?"),))
    got(session, created(), called("c1"), done())
    session.send((ToolResult("c1", "tide", "noon"),))
    got(session, created("r2"), *spoken("At ", 1, response="r2"))
    partial = session.partial()
    assert partial is not None
    assert partial.reply.text == "At "
    state = LiveState(messages=session.messages[:3], unanswered=session.unanswered)
    assert state.unanswered == ()
    second = made(state=state, tools=(Tool("tide"),))
    second.begin()
    assert [each["item"]["type"] for each in sent(second)[1:]] == [
        "message",
        "function_call",
        "function_call_output",
    ]
    second.send(())
    assert [each["type"] for each in sent(second)] == ["response.create"]
    assert second.messages == state.messages


def test_a_call_that_was_open_is_answered_in_the_next_session() -> None:
    first = begun(tools=(Tool("tide"),))
    first.send((Text("When?"),))
    got(first, created(), called("c1"), done())
    second = made(state=LiveState(messages=first.messages), tools=(Tool("tide"),))
    second.begin()
    sent(second)
    second.send((ToolResult("c1", "tide", "noon"),))
    assert [each["type"] for each in sent(second)] == [
        "conversation.item.create",
        "response.create",
    ]
    assert [message.role for message in second.messages] == ["user", "assistant", "tool"]


def test_what_has_no_answer_yet_is_told() -> None:
    session = begun()
    session.send((Text("One"),))
    got(session, created(), *spoken("Yes.", 1), done())
    session.send((Text("Two"),))
    assert session.unanswered == (Message.user("Two"),)
    got(session, created("r2"), done("r2"))
    assert session.unanswered == ()
