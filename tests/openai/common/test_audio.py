"""Speech, transcriptions and translations as calls: bodies and forms, refusals, streams."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wire.core.facts import facts_of
from wire.core.limits import Limits
from wire.core.memory import encode
from wire.errors import APIError, ConfigurationError, RuleError, StreamIncomplete, StreamInvalid
from wire.openai import (
    SpeechRequest,
    SpokenAudio,
    TranscriptionRequest,
    speech,
    stream_speech,
    stream_transcriptions,
    transcriptions,
    translations,
)
from wire.openai.common.media_streams import (
    SpeechReader,
    TranscriptionReader,
    fold_speech,
    fold_transcription,
)
from wire.providers import PROVIDERS

WAV = b"RIFF\x04\0\0\0WAVE"
SAID = SpeechRequest(model="gpt-4o-mini-tts", input="Hi", voice="alloy")
WHISPER = TranscriptionRequest(model="whisper-1")


def frames(*events: Any) -> bytes:
    return b"".join(b"data: " + msgspec.json.encode(each) + b"\n\n" for each in events)


def raws(chunks: list[Any]) -> list[msgspec.Raw]:
    return [msgspec.Raw(encode(each)) for each in chunks]


# --- speech ---------------------------------------------------------------------------------------


def test_the_body_of_speech_is_sound() -> None:
    call = speech(SAID)
    audio = call.parse(b"ID3\x04\x00")
    assert (audio, call.any_content) == (SpokenAudio(b"ID3\x04\x00", "audio/mpeg"), True)


def test_the_media_type_is_that_of_the_header_if_the_bytes_do_not_tell() -> None:
    call = speech(SAID)
    assert call.read_headers is not None
    samples = call.parse(b"\0\1\0\1")
    assert samples.media_type == ""
    told = call.read_headers(samples, {"content-type": "audio/pcm"})
    assert (told.data, told.media_type) == (b"\0\1\0\1", "audio/pcm")
    assert call.read_headers(samples, {"content-type": "application/octet-stream"}) is samples


def test_mistral_sends_json() -> None:
    body = json.dumps({"audio_data": base64.b64encode(WAV).decode()}).encode()
    audio = speech(SAID).parse(body)
    assert (audio.data, audio.media_type) == (WAV, "audio/wav")


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (b"", StreamInvalid, "the response has no audio"),
        (b'{"error": {"message": "No such voice"}}', APIError, "No such voice"),
        (b'{"audio_data": "no base64!"}', StreamInvalid, "the sound is not base64"),
        (b"{}", StreamInvalid, "the response has no audio"),
        (b'{\n  "audio_data": "SUQz', StreamInvalid, "not JSON|malformed|truncated"),
        (b'{"err', StreamInvalid, "not JSON|malformed|truncated"),
    ],
)
def test_what_is_no_sound(body: bytes, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        speech(SAID).parse(body)


def test_samples_may_begin_as_json_does() -> None:
    assert speech(SAID).parse(b"{\x00\x01").data == b"{\x00\x01"


@given(st.binary(min_size=9, max_size=400), st.integers(min_value=1, max_value=90))
def test_streamed_sound_is_the_bytes_that_came(data: bytes, size: int) -> None:
    data = b"\xff\xf3" + data
    for events in (True, False):
        reader = SpeechReader(Limits(), events=events)
        chunks = [
            chunk
            for start in range(0, len(data), size)
            for chunk in reader.feed(data[start : start + size])
        ]
        assert not reader.finished  # the end of the body is the only sign
        chunks += reader.close()
        assert (reader.error, reader.finished) == (None, True)
        assert fold_speech(raws(chunks)).data == data


def test_streamed_events_of_three_hosts() -> None:
    first, second = base64.b64encode(b"ID3").decode(), base64.b64encode(b"\x01\x02").decode()
    usage = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    for body in (
        frames(
            {"type": "speech.audio.delta", "audio": first},
            {"type": "speech.audio.delta", "audio": second},
            {"type": "speech.audio.done", "usage": usage},
        ),
        frames(
            {"type": "speech.audio.delta", "audio_data": first},
            {"type": "speech.audio.delta", "audio_data": second},
            {"type": "speech.audio.done", "usage": usage},
        ),
        frames({"object": "audio.tts.chunk", "b64": first}, {"b64": second}) + b"data: [DONE]\n\n",
    ):
        reader = SpeechReader(Limits(), events=True)
        chunks = [*reader.feed(body), *reader.close()]
        assert reader.error is None
        audio = fold_speech(raws(chunks))
        assert (audio.data, audio.media_type) == (b"ID3\x01\x02", "audio/mpeg")
        assert audio.usage is None or audio.usage.total_tokens == 3
        for cut in range(body.rindex(b"data:")):
            broken = SpeechReader(Limits(), events=True)
            broken.feed(body[:cut])
            broken.close()
            assert broken.error is not None, cut


def test_a_stream_without_a_byte_may_be_tried_again() -> None:
    reader = SpeechReader(Limits())
    assert list(reader.close()) == []
    assert isinstance(reader.error, StreamIncomplete)
    assert reader.error.retryable


def test_an_error_in_place_of_streamed_sound() -> None:
    reader = SpeechReader(Limits())
    reader.feed(b'{"error": {"message": "No such voice"}}')
    reader.close()
    assert isinstance(reader.error, APIError)


@pytest.mark.parametrize(
    "body",
    [
        b'event: speech.audio.delta\ndata: {"type":"speech.audio.delta","audio":"SUQz"}\n\n'
        b'data: {"type":"speech.audio.done"}\n\n',
        b'data: {"type":"speech.audio.delta","audio":"SUQz"}\n\ndata: [DONE]\n\n',
        b'{\n  "audio_data": "SUQz"\n}',
    ],
)
def test_events_and_json_that_nobody_asked_for_are_no_sound(body: bytes) -> None:
    """A gateway may send them in place of the bytes."""
    reader = SpeechReader(Limits())
    chunks = [*reader.feed(body), *reader.close()]
    assert (reader.error, fold_speech(raws(chunks)).data) == (None, b"ID3")


@pytest.mark.parametrize(
    ("fields", "refused"),
    [
        ({"voice": None}, "voice: Missing required parameter: 'voice'."),
        (
            {"speed": 5.0},
            "speed: Invalid 'speed': decimal above maximum value. Expected a value <= 4, but "
            "got 5.0 instead.",
        ),
        (
            {"model": "tts-1", "instructions": "Whisper."},
            "instructions: Unknown parameter: 'instructions'.",
        ),
        (
            {"response_format": "ogg"},
            "response_format: Invalid value: 'ogg'. Supported values are: 'mp3', 'opus', 'aac', "
            "'flac', 'wav', and 'pcm'.",
        ),
        ({"sample_rate": 8000}, "sample_rate: Unknown parameter: 'sample_rate'."),
    ],
)
def test_what_openai_refuses_of_speech(fields: dict[str, Any], refused: str) -> None:
    call = speech(msgspec.structs.replace(SAID, **fields))
    with pytest.raises(RuleError) as caught:
        call.judge(PROVIDERS["openai"])
    assert [str(each) for each in caught.value.violations] == [refused]


def test_speech_that_streams_has_a_call_of_its_own() -> None:
    with pytest.raises(RuleError, match="stream_speech"):
        speech(msgspec.structs.replace(SAID, stream_format="sse"))
    with pytest.raises(ConfigurationError, match="this host makes no speech; these do: openai"):
        speech(SAID).judge(PROVIDERS["deepseek"])
    assert stream_speech(SAID).judge(PROVIDERS["xai@chat"]).path == "/tts"


# --- transcriptions -------------------------------------------------------------------------------


def names(call: Any) -> list[str]:
    return list(call.form.fields)


def test_lists_are_written_as_the_host_reads_them() -> None:
    request = TranscriptionRequest(
        model="m", timestamp_granularities=["word", "segment"], response_format="verbose_json"
    )
    call = transcriptions(request, WAV, boundary="b")
    assert names(call)[-2:] == ["timestamp_granularities[]", "file"]
    body = b"".join(call.form or ())
    assert body.count(b'name="timestamp_granularities[]"') == 2
    assert names(call.judge(PROVIDERS["openai"])) == names(call)
    plain = TranscriptionRequest(model="m", timestamp_granularities=["word", "segment"])
    there = transcriptions(plain, WAV, boundary="b").judge(PROVIDERS["mistral"])
    assert names(there) == ["model", "timestamp_granularities", "file"]
    assert b"".join(there.form or ()).count(b'name="timestamp_granularities"') == 2
    assert there.headers == {"content-type": "multipart/form-data; boundary=b"}


def test_objects_are_in_brackets_or_json_as_the_host_has_them_and_numbers_are_short() -> None:
    vad = {"type": "server_vad", "threshold": 0.5, "tags": ["a", "b"]}
    request = TranscriptionRequest(model="m", chunking_strategy=vad, temperature=0.5)
    call = transcriptions(request, WAV, boundary="b")
    fields = dict(call.form.fields)  # type: ignore[union-attr]
    assert fields["chunking_strategy[type]"] == "server_vad"
    assert fields["chunking_strategy[threshold]"] == "0.5"
    assert fields["chunking_strategy[tags][]"] == ["a", "b"]
    assert fields["temperature"] == "0.5"
    there = dict(call.judge(PROVIDERS["mistral"]).form.fields)  # type: ignore[union-attr]
    assert there["chunking_strategy"] == ('{"type":"server_vad","threshold":0.5,"tags":["a","b"]}')


def test_the_file_has_a_name_that_tells_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "talk.m4a"
    path.write_bytes(b"sound")
    form: Any = transcriptions(WHISPER, path).form
    assert (form.fields["file"].name, form.fields["file"].media_type) == ("talk.m4a", "audio/mp4")
    form = transcriptions(WHISPER, WAV).form
    assert (form.fields["file"].name, form.fields["file"].media_type) == ("audio.wav", "audio/wav")
    with path.open("rb") as file:
        form = transcriptions(WHISPER, file).form
        assert form.fields["file"].name == "talk.m4a"
        assert b"sound" in b"".join(form)
    with pytest.raises(RuleError, match="filename: required"):
        transcriptions(WHISPER, io.BytesIO(b"sound"))
    form = transcriptions(WHISPER, io.BytesIO(b"sound"), filename="a.ogg").form
    assert form.fields["file"].media_type == "audio/ogg"


def test_a_sound_is_a_file_or_named_in_the_request() -> None:
    with pytest.raises(RuleError, match="data: expected a sound to write down"):
        transcriptions(WHISPER)
    named = TranscriptionRequest(model="m", file_url="https://example.com/a.mp3")
    assert names(transcriptions(named)) == ["model", "file_url"]
    inline = TranscriptionRequest(model="m", input_audio={"data": "aGk=", "format": "wav"})
    call = transcriptions(inline)
    assert (call.form, json.loads(call.body)["input_audio"]["format"]) == (None, "wav")


@pytest.mark.parametrize("form", ["text", "srt", "vtt"])
def test_texts_are_texts(form: str) -> None:
    request = TranscriptionRequest(model="whisper-1", response_format=form)
    call = transcriptions(request, WAV)
    assert call.any_content
    assert call.parse(b"{} of the tide\n").text == "{} of the tide\n"


@pytest.mark.parametrize(
    ("fields", "refused"),
    [
        (
            {"model": "gpt-4o-transcribe", "response_format": "verbose_json"},
            "response_format: response_format 'verbose_json' is not compatible with model "
            "'gpt-4o-transcribe'. Use 'json' or 'text' instead.",
        ),
        (
            {"timestamp_granularities": ["word"]},
            "timestamp_granularities: 'timestamp_granularities' needs the response_format "
            "'verbose_json'.",
        ),
        (
            {"temperature": 1.5},
            "temperature: Invalid 'temperature': decimal above maximum value. Expected a value "
            "<= 1, but got 1.5 instead.",
        ),
        ({"diarize": True}, "diarize: Unknown parameter: 'diarize'."),
        (
            {"model": "gpt-4o-transcribe-diarize", "prompt": "Tide"},
            "prompt: Unknown parameter: 'prompt'.",
        ),
        (
            {"model": "m", "known_speaker_names": ["a"]},
            "known_speaker_references: expected a reference for each of 1 names, not 0",
        ),
    ],
)
def test_what_openai_refuses_of_transcripts(fields: dict[str, Any], refused: str) -> None:
    call = transcriptions(msgspec.structs.replace(WHISPER, **fields), WAV)
    with pytest.raises(RuleError) as caught:
        call.judge(PROVIDERS["openai"])
    assert [str(each) for each in caught.value.violations] == [refused]


def test_openrouter_tells_who_speaks_in_the_verbose_format_only() -> None:
    asked = TranscriptionRequest(model="m", input_audio={"data": ""}, diarize=True)
    with pytest.raises(RuleError, match="'diarize' needs the response_format 'verbose_json'"):
        transcriptions(asked).judge(PROVIDERS["openrouter"])
    verbose = msgspec.structs.replace(asked, response_format="verbose_json")
    assert transcriptions(verbose).judge(PROVIDERS["openrouter"]).path == "/audio/transcriptions"


def test_translations_do_not_stream() -> None:
    with pytest.raises(RuleError, match="stream: no host streams translations"):
        translations(TranscriptionRequest(model="whisper-1", stream=True), WAV)
    with pytest.raises(ConfigurationError, match="this host translates no sound"):
        translations(WHISPER, WAV).judge(PROVIDERS["mistral"])


@pytest.mark.parametrize(
    ("events", "text", "segments"),
    [
        (
            [
                {"type": "transcript.text.delta", "delta": "High"},
                {"type": "transcript.text.delta", "delta": " tide."},
                {"type": "transcript.text.done", "text": "High tide.", "mood": "calm"},
            ],
            "High tide.",
            0,
        ),
        (
            [
                {"type": "transcript.text.segment", "text": " High", "speaker": "A", "id": "s"},
                {"type": "transcript.text.done", "text": "High"},
            ],
            "High",
            1,
        ),
        (
            [
                {"type": "transcription.language", "audio_language": "en"},
                {"type": "transcription.text.delta", "text": "High"},
                {"type": "transcription.segment", "text": "High", "start": 0, "end": 1},
                {"type": "transcription.done", "text": "High", "segments": [], "model": "v"},
            ],
            "High",
            1,
        ),
    ],
)
def test_streamed_transcripts(events: list[Any], text: str, segments: int) -> None:
    body = frames(*events)
    reader = TranscriptionReader(Limits())
    chunks = [*reader.feed(body), *reader.close()]
    assert reader.error is None
    found = fold_transcription(raws(chunks))
    assert (found.text, len(found.segments or ())) == (text, segments)
    assert json.loads(found.raw or b"").get("mood") == events[-1].get("mood")
    for cut in range(body.rindex(b"data:")):
        broken = TranscriptionReader(Limits())
        chunks = [*broken.feed(body[:cut]), *broken.close()]
        assert isinstance(broken.error, StreamIncomplete), cut
        assert text.startswith(fold_transcription(raws(chunks)).text or "")


def test_a_model_that_ignores_stream_answers_whole() -> None:
    reader = TranscriptionReader(Limits())
    chunks = [*reader.feed(b'{"text": "High", "usage": {"seconds": 2}}'), *reader.close()]
    assert reader.error is None
    found = fold_transcription(raws(chunks))
    assert (found.text, found.usage and found.usage.seconds) == ("High", 2.0)


def test_a_stream_asks_for_one() -> None:
    call = stream_transcriptions(TranscriptionRequest(model="gpt-4o-transcribe"), WAV)
    assert dict(call.form.fields)["stream"] == "true"  # type: ignore[union-attr]


# --- fields ---------------------------------------------------------------------------------------

# openai 3.57.0, types/audio/speech_create_params.py, transcription_create_params.py.
SPEECH = {"model", "input", "voice", "instructions", "response_format", "speed", "stream_format"}
TRANSCRIPTION = {
    "chunking_strategy",
    "include",
    "keywords",
    "known_speaker_names",
    "known_speaker_references",
    "language",
    "languages",
    "model",
    "prompt",
    "response_format",
    "stream",
    "temperature",
    "timestamp_granularities",
}
# mistralai 3.7.0, models/speechrequest.py and audiotranscriptionrequest.py.
MISTRAL_SPEECH = {
    "stream",
    "voice_id",
    "ref_audio",
    "expressiveness",
    "phoneme_hints",
    "conversation_history",
    "metadata",
    "prompt_cache_key",
}
MISTRAL_TRANSCRIPTION = {"diarize", "context_bias", "speaker_references", "file_url", "file_id"}


def test_the_fields_are_those_of_the_sdks() -> None:
    for kind, usual, mistral in (
        (SpeechRequest, SPEECH, MISTRAL_SPEECH),
        (TranscriptionRequest, TRANSCRIPTION, MISTRAL_TRANSCRIPTION),
    ):
        hosts = {name: set(facts.hosts) for name, facts in facts_of(kind).items()}
        assert {name for name, found in hosts.items() if not found} == usual
        assert {name for name, found in hosts.items() if "mistral" in found} == mistral


def test_texts_and_likelihoods_that_are_odd_do_not_end_a_transcript() -> None:
    halves = [
        b'{"type":"transcript.text.delta","delta":"a\\ud83d","logprobs":0.5}',
        b'{"type":"transcript.text.delta","delta":"\\ude00","logprobs":[{"token":"\\ude00"}]}',
    ]
    found = fold_transcription([msgspec.Raw(each) for each in halves])
    assert found.text == "a\U0001f600"
    assert found.logprobs is not None
    assert found.logprobs[0].token == "\ufffd"
    whole = fold_transcription([msgspec.Raw(b'{"text":"a\\ud83d"}')])
    assert whole.text == "a\ufffd"
