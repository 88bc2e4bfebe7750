"""The messages of Gemini Live: decoded and written."""

from __future__ import annotations

import pytest

import wire
from wire import gemini
from wire.core.memory import encode
from wire.errors import RuleError, StreamInvalid
from wire.gemini import live


def test_a_message_is_decoded_with_all_its_keys_and_bytes() -> None:
    message = (
        b'{"serverContent":{"turnComplete":true,"mood":"calm"},'
        b'"usageMetadata":{"responseTokenCount":3}}'
    )
    read = live.parse_message(message)
    assert read.server_content is not None
    assert read.usage_metadata is not None
    assert (read.server_content.turn_complete, read.usage_metadata.response_token_count) == (
        True,
        3,
    )
    assert wire.unknown(read) == [("serverContent.mood", "calm")]
    assert (read.raw, encode(read)) == (message, message)


@pytest.mark.parametrize("message", [b"", b"\x00", b"[]", b"5", b'{"setupComplete":'])
def test_a_message_that_is_no_object_is_refused(message: bytes) -> None:
    with pytest.raises(StreamInvalid, match="not a message of Live"):
        live.parse_message(message)


def test_empty_messages_are_sent() -> None:
    setup = live.Setup(
        model="models/m",
        generation_config=gemini.GenerationConfig(response_modalities=["AUDIO"]),
        output_audio_transcription=gemini.AudioTranscriptionConfig(),
    )
    assert encode(live.ClientMessage(setup=setup)) == (
        b'{"setup":{"model":"models/m","generationConfig":{"responseModalities":["AUDIO"]},'
        b'"outputAudioTranscription":{}}}'
    )
    start = live.RealtimeInput(activity_start=live.ActivityStart())
    assert encode(live.ClientMessage(realtime_input=start)) == (
        b'{"realtimeInput":{"activityStart":{}}}'
    )


def test_a_message_has_one_field() -> None:
    encode_one = live.socket().encode
    assert encode_one(
        live.ClientMessage(client_content=live.ClientContent(turn_complete=True))
    ) == (b'{"clientContent":{"turnComplete":true}}')
    both = live.ClientMessage(setup=live.Setup(), realtime_input=live.RealtimeInput(text="Hi"))
    for wrong, words in (
        (live.ClientMessage(), "a message has one field, not none"),
        (both, "a message has one field, not setup, realtime_input"),
        (live.Setup(), "expected a ClientMessage, not Setup"),
        (live.ClientMessage(setup=live.Setup(model=5)), "setup.model"),  # type: ignore[arg-type]
    ):
        with pytest.raises(RuleError, match=words):
            encode_one(wrong)  # type: ignore[arg-type]
