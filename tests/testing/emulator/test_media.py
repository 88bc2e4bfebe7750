"""Images, speech and transcripts: what the emulated servers send and refuse, in which words."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.joined import joined
from wire.core.multipart import FormFile, Multipart
from wire.neutral.data_source import DataSource
from wire.testing.emulator import Emulator

BEARER = {"authorization": "Bearer fake-key", "content-type": "application/json"}
OPENAI = "https://api.openai.com/v1"
HOSTS = {
    "openai": OPENAI,
    "xai": "https://api.x.ai/v1",
    "together": "https://api.together.ai/v1",
    "openrouter": "https://openrouter.ai/api/v1",
    "mistral": "https://api.mistral.ai/v1",
    "groq": "https://api.groq.com/openai/v1",
}
WAV = FormFile(DataSource(b"RIFF\x04\0\0\0WAVE"), "talk.wav", "audio/wav")
PNG = FormFile(DataSource(b"\x89PNG"), "a.png", "image/png")


def asked(host: str, path: str, body: Any, emulator: Emulator | None = None) -> Any:
    """Status, content type and body of an answer to JSON, or to a form."""
    if isinstance(body, dict) and any(isinstance(each, FormFile) for each in body.values()):
        form = Multipart(body)
        headers, data = {**BEARER, "content-type": form.content_type}, b"".join(form)
    else:
        headers, data = BEARER, json.dumps(body).encode()
    answer = (emulator or Emulator()).answer("POST", HOSTS[host] + path, headers, data)
    return answer.status, dict(answer.headers)["content-type"], answer.body


def refused(host: str, path: str, body: Any) -> tuple[int, Any]:
    status, _, data = asked(host, path, body)
    return status, json.loads(data)["error"]


def events(data: bytes) -> list[Any]:
    lines = [line[6:] for line in data.split(b"\n") if line.startswith(b"data: ")]
    return [json.loads(line) for line in lines if line != b"[DONE]"]


def test_images_have_the_fields_of_each_host() -> None:
    body = {"model": "m", "prompt": "A cat"}
    keys = {
        "openai": {
            *("created", "data", "usage", "background", "output_format", "quality", "size"),
        },
        "xai": {"data", "usage"},
        "together": {"id", "model", "object", "data"},
    }
    for host, expected in keys.items():
        status, _, data = asked(host, "/images/generations", body)
        assert (status, set(json.loads(data))) == (200, expected), host
    status, _, data = asked("openrouter", "/images", body)
    found = json.loads(data)
    assert (status, set(found)) == (200, {"created", "data", "usage"})
    assert found["data"][0]["media_type"] == "image/png"
    assert found["usage"]["completion_tokens"] == 272
    streamed = {**body, "stream": True, "partial_images": 1}
    partial, last = events(asked("openrouter", "/images", streamed)[2])
    assert set(partial) == {"type", "b64_json", "partial_image_index"}
    assert set(last) == {"type", "b64_json", "created", "media_type", "usage"}


def test_urls_are_sent_where_the_host_sends_them_unasked() -> None:
    for host, asks in (("xai", "b64_json"), ("together", "base64")):
        body = {"model": "m", "prompt": "A cat"}
        [image] = json.loads(asked(host, "/images/generations", body)[2])["data"]
        assert image["url"].startswith("https://")
        body = {**body, "response_format": asks}
        [image] = json.loads(asked(host, "/images/generations", body)[2])["data"]
        assert base64.b64decode(image["b64_json"]).startswith(b"\x89PNG")


def test_a_stream_of_images_ends_with_the_image_and_its_usage() -> None:
    body = {"model": "gpt-image-2", "prompt": "A cat", "stream": True, "partial_images": 2}
    _, kind, data = asked("openai", "/images/generations", body)
    assert kind.startswith("text/event-stream")
    found = events(data)
    assert [each["type"] for each in found] == [
        "image_generation.partial_image",
        "image_generation.partial_image",
        "image_generation.completed",
    ]
    assert found[-1]["usage"]["total_tokens"] == 274
    edit = {"model": "gpt-image-2", "prompt": "Blue", "stream": "true", "image": PNG}
    assert events(asked("openai", "/images/edits", edit)[2])[-1]["type"] == "image_edit.completed"


def test_speech_has_the_form_of_each_host() -> None:
    body: dict[str, Any] = {"model": "gpt-4o-mini-tts", "input": "Hi", "voice": "alloy"}
    status, kind, data = asked("openai", "/audio/speech", body)
    assert (status, kind, data[:2]) == (200, "audio/mpeg", b"\xff\xf3")
    _, kind, data = asked("openai", "/audio/speech", {**body, "stream_format": "sse"})
    found = events(data)
    assert {each["type"] for each in found[:-1]} == {"speech.audio.delta"}
    assert found[-1]["type"] == "speech.audio.done"
    _, kind, data = asked("mistral", "/audio/speech", {"input": "Hi", "voice": "en_calm"})
    assert (kind, list(json.loads(data))) == ("application/json", ["audio_data"])
    said = {"text": "Hi", "voice_id": "eve", "language": "en", "output_format": {"codec": "wav"}}
    assert asked("xai", "/tts", said)[1:] == ("audio/wav", asked("xai", "/tts", said)[2])
    assert asked("openrouter", "/audio/speech", {**body, "model": "m"})[1] == "audio/pcm"


def test_transcripts_have_the_form_that_was_asked_for() -> None:
    form: dict[str, Any] = {"model": "whisper-1", "file": WAV}
    path, text = "/audio/transcriptions", "This is talk.wav of 12 bytes."
    assert json.loads(asked("openai", path, form)[2]) == {
        "text": text,
        "usage": {"type": "duration", "seconds": 1},
    }
    assert asked("openai", path, {**form, "response_format": "text"})[1:] == (
        "text/plain; charset=utf-8",
        f"{text}\n".encode(),
    )
    srt = asked("openai", path, {**form, "response_format": "srt"})[2]
    assert srt == f"1\n00:00:00,000 --> 00:00:00,000\n{text}\n\n".encode()
    vtt = asked("openai", path, {**form, "response_format": "vtt"})[2]
    assert vtt.startswith(b"WEBVTT\n\n00:00:00.000 --> 00:00:00.000\n")
    verbose = {**form, "response_format": "verbose_json", "timestamp_granularities[]": "word"}
    found = json.loads(asked("openai", path, verbose)[2])
    assert (found["task"], len(found["words"]), "segments" in found) == ("transcribe", 6, False)
    assert json.loads(asked("openai", "/audio/translations", form)[2])["text"] == text
    router = {"model": "m", "input_audio": {"data": "UklGRg==", "format": "wav"}}
    assert "4 bytes" in json.loads(asked("openrouter", path, router)[2])["text"]
    found = json.loads(asked("xai", "/stt", {"file": WAV, "model": "m"})[2])
    assert set(found) == {"text", "language", "duration", "words"}


def test_who_speaks_stands_where_each_host_has_it() -> None:
    path, form = "/audio/transcriptions", {"model": "m", "file": WAV, "diarize": "true"}
    verbose = {**form, "response_format": "verbose_json"}
    [segment] = json.loads(asked("together", path, verbose)[2])["speaker_segments"]
    assert (segment["speaker_id"], segment["words"][0]["speaker_id"]) == ("SPEAKER_00",) * 2
    [segment] = json.loads(asked("mistral", path, form)[2])["segments"]
    assert (segment["type"], segment["speaker_id"]) == ("transcription_segment", "speaker_1")
    router = {"model": "m", "input_audio": {"data": "UklGRg=="}, "diarize": True}
    router["response_format"] = "verbose_json"
    found = json.loads(asked("openrouter", path, router)[2])
    assert (found["segments"][0]["id"], found["words"][0]["speaker"]) == (0, 0)
    data = asked("mistral", path, {**form, "stream": "true"})[2]
    kinds = [line[7:] for line in data.decode().split("\n") if line.startswith("event: ")]
    assert kinds == [each["type"] for each in events(data)]
    assert kinds[-2:] == ["transcription.segment", "transcription.done"]


def test_objects_of_a_form_stand_in_brackets() -> None:
    form = {"model": "gpt-image-2.5-flare", "prompt": "Blue", "image": PNG, "output_format": "svg"}
    svg = {"svg[model]": "gpt-6-luna", "svg[reasoning][effort]": "low"}
    found = json.loads(asked("openai", "/images/edits", {**form, **svg})[2])
    assert found["svg_usage"]["model"] == "gpt-6-luna"
    deep = "svg" + "[a]" * 5000
    assert asked("openai", "/images/edits", {**form, deep: "low"})[0] == 200
    assert asked("openai", "/images/edits", {**form, "svg": '{"a":' * 99_999})[0] == 400
    both = {**form, "svg[reasoning]": "low", "svg[reasoning][effort]": "low"}
    assert refused("openai", "/images/edits", both)[1]["param"] == "svg"


def test_likelihoods_of_a_transcript_are_sent_if_they_are_asked_for() -> None:
    form = {"model": "gpt-4o-transcribe", "file": WAV, "include[]": "logprobs"}
    path = "/audio/transcriptions"
    found = json.loads(asked("openai", path, form)[2])["logprobs"]
    assert "".join(each["token"] for each in found) == "This is talk.wav of 12 bytes."
    streamed = events(asked("openai", path, {**form, "stream": "true"})[2])
    assert all(each["logprobs"] for each in streamed)


def test_a_form_without_a_file_may_be_url_encoded() -> None:
    headers = {**BEARER, "content-type": "application/x-www-form-urlencoded"}
    body = b"model=m&file_url=https%3A%2F%2Fexample.com%2Fa.mp3&diarize=false"
    url = "https://api.mistral.ai/v1/audio/transcriptions"
    answer = Emulator().answer("POST", url, headers, body)
    assert "https://example.com/a.mp3" in json.loads(answer.body)["text"]


REFUSED: dict[str, tuple[str, str, Any, str, str | int | None]] = {
    "an empty prompt": (
        "openai",
        "/images/generations",
        {"model": "gpt-image-1-mini", "prompt": ""},
        "Invalid 'prompt': empty string. Expected a string with minimum length 1, but got an "
        "empty string instead.",
        "empty_string",
    ),
    "an unknown key": (
        "openai",
        "/images/generations",
        {"model": "gpt-image-2", "prompt": "A", "sise": "1x1"},
        "Unknown parameter: 'sise'.",
        "unknown_parameter",
    ),
    "an edit of nothing": (
        "openai",
        "/images/edits",
        {"model": "gpt-image-2", "prompt": "A"},
        "Missing required parameter: 'image'.",
        None,
    ),
    "no picture": (
        "openai",
        "/images/edits",
        {"model": "gpt-image-2", "prompt": "A", "image": WAV},
        "Invalid image file or mode for image 0, please check the your image file.",
        "invalid_image_file",
    ),
    "no text": (
        "openai",
        "/audio/speech",
        {"model": "gpt-4o-mini-tts", "voice": "alloy"},
        "Missing required parameter: 'input'.",
        None,
    ),
    "no sound": (
        "openai",
        "/audio/transcriptions",
        {"model": "whisper-1", "other": PNG},
        "'file' is a required property",
        None,
    ),
    "no model": (
        "groq",
        "/audio/transcriptions",
        {"file": WAV},
        "you must provide a model parameter",
        None,
    ),
    "a sound that is not base64": (
        "openrouter",
        "/audio/transcriptions",
        {"model": "m", "input_audio": {"data": "#"}},
        "'data' is not base64",
        400,
    ),
    "a sound of no bytes": (
        "openrouter",
        "/audio/transcriptions",
        {"model": "m", "input_audio": {"data": ""}},
        "'data' or 'url' is required",
        400,
    ),
    "a form where JSON is asked for": (
        "openrouter",
        "/audio/transcriptions",
        {"model": "m"},
        "'input_audio' is a required property",
        400,  # OpenRouter's codes are statuses
    ),
}


@joined("case", REFUSED)
def test_what_is_refused(case: str) -> None:
    host, path, body, message, code = REFUSED[case]
    status, error = refused(host, path, body)
    assert (status, error["message"], error.get("code")) == (400, message, code)


def test_a_lenient_emulator_takes_what_the_rows_refuse() -> None:
    body = {"model": "gpt-image-1-mini", "prompt": "A cat", "size": "3x3"}
    assert asked("openai", "/images/generations", body)[0] == 400
    assert asked("openai", "/images/generations", body, Emulator(lenient=True))[0] == 200


@pytest.mark.parametrize(
    ("host", "path"), [("groq", "/images/generations"), ("xai", "/audio/speech"), ("xai", "/tts/x")]
)
def test_a_host_has_its_own_endpoints_only(host: str, path: str) -> None:
    assert asked(host, path, {"model": "m", "prompt": "A"})[0] == 404


def test_scripts_answer_in_place_of_the_emulator() -> None:
    script = [{"match": {"endpoint": "images"}, "answer": {"created": 1, "data": []}}]
    body = {"model": "gpt-image-2", "prompt": "A cat"}
    found = asked("openai", "/images/generations", body, Emulator(script))
    assert json.loads(found[2]) == {"created": 1, "data": []}
