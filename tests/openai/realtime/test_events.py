"""The events of Realtime: decoded, written, and named alike at all hosts."""

from __future__ import annotations

import pytest

import wire
from wire.core.memory import encode
from wire.errors import LimitError, StreamInvalid
from wire.openai import realtime


def test_an_event_is_decoded_with_its_bytes_and_unknown_keys() -> None:
    message = b'{"type":"response.created","response":{"id":"r1","mood":"calm"},"event_id":7}'
    event = realtime.parse_event(message)
    assert event.response is not None
    assert (event.type, event.response.id, event.raw) == ("response.created", "r1", message)
    assert wire.unknown(event) == [("response.mood", "calm"), ("event_id", 7)]
    assert [str(each) for each in wire.notes(event)] == [
        "event_id: not read: expected `str | null`, got `int`"
    ]
    assert encode(event) == message


@pytest.mark.parametrize("message", [b"", b"ping", b"[1]", b"null", b'{"type": "error"'])
def test_a_message_that_is_no_object_is_refused(message: bytes) -> None:
    with pytest.raises(StreamInvalid, match="not an event of Realtime"):
        realtime.parse_event(message)


def test_a_message_that_is_nested_too_deeply_is_refused() -> None:
    with pytest.raises(LimitError):
        realtime.parse_event(b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}")


@pytest.mark.parametrize(
    ("sent", "today"),
    [
        ("response.audio.delta", "response.output_audio.delta"),
        ("response.audio_transcript.done", "response.output_audio_transcript.done"),
        ("response.text.delta", "response.output_text.delta"),
        ("conversation.item.created", "conversation.item.added"),
        ("response.output_text.delta", "response.output_text.delta"),
        ("conversation.created", "conversation.created"),
        ("response.textual", "response.textual"),
        (None, ""),
    ],
)
def test_names_of_the_beta_are_those_of_today(sent: str | None, today: str) -> None:
    assert realtime.event_name(realtime.ServerEvent(type=sent)) == today


def test_an_event_of_the_client_has_what_was_set_and_nothing_else() -> None:
    session = realtime.Session(
        type="realtime",
        tools=[],
        audio=realtime.Audio(input=realtime.AudioInput(turn_detection=None)),
    )
    event = realtime.ClientEvent(type="session.update", session=session)
    assert encode(event) == (
        b'{"type":"session.update","session":{"type":"realtime",'
        b'"audio":{"input":{"turn_detection":null}},"tools":[]}}'
    )


def test_a_wrong_field_of_the_session_names_the_right_one() -> None:
    with pytest.raises(wire.errors.FieldError, match="instructions"):
        realtime.Session(instruction="Be brief.")  # type: ignore[call-arg]
