"""Images, speech and transcripts: what the vendors' own clients send, and what this library sends.

`media_requests.json` has the requests of the clients, with their versions and the date.
`python -m tests.sdks.record_media` writes it anew.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest

from tests.sdks.record_media import body_of
from wire import gemini, openai
from wire.core.call import Call, StreamCall
from wire.errors import RuleError
from wire.http.target import Target, target

TABLE = json.loads((Path(__file__).parent / "media_requests.json").read_text("utf-8"))
ROWS: list[dict[str, Any]] = TABLE["requests"]
WAV = b"RIFF\x04\0\0\0WAVE"
SAMPLE = "data:audio/wav;base64,"
PINNED = Path(__file__).parents[1] / "sdks" / "media.txt"
AnyCall = Call[Any] | StreamCall[Any, Any]


def name_of(row: dict[str, Any]) -> str:
    return f"{row['client']} {row['case']}"


# --- the same request of this library -------------------------------------------------------------


class Named(io.BytesIO):
    """A file that is open, with a name."""

    def __init__(self, name: str) -> None:
        super().__init__(b"\x89PNG\r\n\x1a\n")
        self.name = name


Media = openai.TranscriptionRequest
A, B, MASK = "a.png", "b.png", "mask.png"


def edit(**more: Any) -> openai.ImageRequest:
    return openai.ImageRequest(**{"model": "gpt-image-2", "prompt": "Blue", **more})


def heard(model: str, **more: Any) -> AnyCall:
    request = Media(model=model, **more)
    return openai.transcriptions(request, WAV, filename="talk.wav")


def heard_as_events(model: str, **more: Any) -> AnyCall:
    return openai.stream_transcriptions(Media(model=model, **more), WAV, filename="talk.wav")


def translated(model: str, **more: Any) -> AnyCall:
    return openai.translations(Media(model=model, **more), WAV, filename="talk.wav")


GPT, DIARIZE, VOXTRAL = "gpt-4o-transcribe", "gpt-4o-transcribe-diarize", "voxtral-mini-latest"
GROQ, TOGETHER = "whisper-large-v3", "openai/whisper-large-v3"
SVG: dict[str, Any] = {"model": "gpt-6-luna", "reasoning": {"effort": "low"}}
UNASKED: dict[str, Any] = {"diarize": False, "stream": False}
"""What Mistral's client sends unasked."""
SET: dict[str, Any] = {
    "language": "en",
    "prompt": "Tides.",
    "temperature": 0.5,
    "response_format": "verbose_json",
    "timestamp_granularities": ["word", "segment"],
}

FORMS: dict[str, Callable[[], AnyCall]] = {
    "openai edit": lambda: openai.edit_images(edit(), Named(A)),
    "openai edit_as_vectors": lambda: openai.edit_images(
        edit(model="gpt-image-2.5-flare", output_format="svg", svg=SVG), Named(A)
    ),
    "openai edit_several_with_a_mask": lambda: openai.edit_images(
        edit(n=2, quality="low"), [Named(A), Named(B)], mask=Named(MASK)
    ),
    "openai edit_streamed": lambda: openai.stream_image_edits(edit(partial_images=1), Named(A)),
    "openai edit_refused": lambda: openai.edit_images(edit(quality="ultra"), Named(A)),
    "openai transcript": lambda: heard(GPT),
    "openai transcript_with_settings": lambda: heard(
        GPT,
        language="en",
        prompt="Tides.",
        temperature=0.5,
        response_format="json",
        include=["logprobs"],
        chunking_strategy="auto",
    ),
    "openai transcript_with_chunks": lambda: heard(
        GPT, chunking_strategy={"type": "server_vad", "silence_duration_ms": 500}
    ),
    "openai transcript_verbose": lambda: heard("whisper-1", response_format="verbose_json"),
    "openai transcript_words": lambda: heard(
        "whisper-1",
        response_format="verbose_json",
        timestamp_granularities=["word", "segment"],
    ),
    "openai transcript_subtitles": lambda: heard("whisper-1", response_format="srt"),
    "openai transcript_diarized": lambda: heard(
        DIARIZE, response_format="diarized_json", chunking_strategy="auto"
    ),
    "openai transcript_known_speakers": lambda: heard(
        DIARIZE,
        response_format="diarized_json",
        known_speaker_names=["Bo", "Al"],
        known_speaker_references=[SAMPLE, SAMPLE],
    ),
    "openai transcript_streamed": lambda: heard_as_events(GPT),
    "openai transcript_diarized_streamed": lambda: heard_as_events(
        DIARIZE, response_format="diarized_json"
    ),
    "openai transcript_refused": lambda: heard(GPT, response_format="srt"),
    "openai translation": lambda: translated("whisper-1"),
    "openai translation_verbose": lambda: translated(
        "whisper-1", prompt="Tides.", temperature=0, response_format="verbose_json"
    ),
    "openai translation_refused": lambda: openai.translations(Media(model="whisper-1"), b""),
    "mistral transcript": lambda: heard(VOXTRAL, **UNASKED),
    "mistral transcript_with_settings": lambda: heard(
        VOXTRAL,
        language="en",
        temperature=0.5,
        diarize=True,
        stream=False,
        context_bias=["tide", "pier"],
        speaker_references={"Bo": "file-1"},
        timestamp_granularities=["segment"],
    ),
    "mistral transcript_of_an_address": lambda: openai.transcriptions(
        Media(model=VOXTRAL, file_url="https://example.com/talk.mp3", **UNASKED)
    ),
    "mistral transcript_streamed": lambda: heard_as_events(VOXTRAL, diarize=False),
    "mistral transcript_streamed_by_speaker": lambda: heard_as_events(
        VOXTRAL, diarize=True, timestamp_granularities=["segment"]
    ),
    "mistral transcript_refused": lambda: openai.transcriptions(Media(model=VOXTRAL)),
    "groq transcript": lambda: heard(GROQ),
    "groq transcript_with_settings": lambda: heard(GROQ, **SET),
    "groq transcript_of_an_address": lambda: openai.transcriptions(
        Media(model=GROQ, url="https://example.com/talk.mp3")
    ),
    "groq translation": lambda: translated(GROQ),
    "groq transcript_refused": lambda: openai.transcriptions(Media(model=GROQ)),
    "together transcript": lambda: heard(TOGETHER),
    "together transcript_with_settings": lambda: heard(
        TOGETHER, diarize=True, min_speakers=1, max_speakers=2, **SET
    ),
    "together translation": lambda: translated(TOGETHER),
}
"""Client and case -> the call with the same form."""
ONLY_THE_SERVER = {"openrouter transcript_refused", "google imagen_refused"}
"""What is sent, and refused by the emulator."""


def of_json(path: str, body: dict[str, Any]) -> AnyCall:
    """Return the call of a JSON body. A key or a type that the struct lacks is a difference."""
    streamed = body.get("stream") is True
    if path.endswith(("/images", "/images/generations")):
        drawn = msgspec.convert(body, openai.ImageRequest)
        return openai.stream_images(drawn) if streamed else openai.generate_images(drawn)
    if path.endswith("/audio/speech"):
        spoken = msgspec.convert(body, openai.SpeechRequest)
        streamed = streamed or body.get("stream_format") == "sse"
        return openai.stream_speech(spoken) if streamed else openai.speech(spoken)
    if path.endswith("/audio/transcriptions"):
        return openai.transcriptions(msgspec.convert(body, Media))
    model, method = path.rpartition("/")[2].split(":")
    if method == "predict":
        return gemini.predict(model, msgspec.convert(body, gemini.PredictRequest))
    request = msgspec.convert(body, gemini.GenerateContentRequest)
    if method == "generateContent":
        return gemini.generate_content(model, request)
    return gemini.stream_generate_content(model, request)


def camel(value: Any) -> Any:
    """Google's client writes parts of its configuration in snake case, which its servers take."""
    if isinstance(value, dict):
        return {
            re.sub("_(.)", lambda found: found[1].upper(), key): camel(each)
            for key, each in value.items()
        }
    return [camel(each) for each in value] if isinstance(value, list) else value


def made(row: dict[str, Any]) -> AnyCall:
    if row["kind"] == "json":
        return of_json(row["path"], camel(row["body"]) if is_google(row) else row["body"])
    return FORMS[name_of(row)]()


def is_google(row: dict[str, Any]) -> bool:
    return bool(row["client"] == "google")


def host(row: dict[str, Any]) -> Target:
    if not is_google(row):
        return target(row["client"], {"api_key": "fake-key"})
    if "/projects/" not in row["path"]:
        return target("gemini", {"api_key": "fake-key"})
    place: Any = {"project": "my-project", "location": "us-central1", "token": lambda: "fake-key"}
    return target("gemini@vertex", place)


def sent(row: dict[str, Any]) -> tuple[str, Any]:
    """The path and the body that this library sends, after the rules of the host."""
    there = host(row)
    call = there.shaped(made(row).judge(there.provider))
    if call.form is None:
        body: Any = json.loads(call.body)
    else:
        _, body = body_of(b"".join(call.form).decode("latin-1"))
    return urlsplit(there.url(call)).path, body


# --- comparisons ----------------------------------------------------------------------------------


def without_version(path: str) -> str:
    """Google's client of today asks for v1 and v1beta1; ours for v1beta and v1."""
    return re.sub("^/v1(beta1?)?/", "/", path)


def without_samples(body: Any) -> Any:
    """The name of a field says what it is; the samples of speakers are long."""
    if not isinstance(body, list):
        return body
    return sorted([name, text.split(",")[0] if SAMPLE in text else text] for name, text in body)


@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_the_request_is_that_of_the_vendors_client(row: dict[str, Any]) -> None:
    if row["case"].endswith("_refused") and name_of(row) not in ONLY_THE_SERVER:
        with pytest.raises(RuleError):  # before anything is sent
            sent(row)
        return
    path, body = sent(row)
    if is_google(row):
        assert without_version(path) == without_version(row["path"])
        assert body == camel(row["body"])
    else:
        assert path == row["path"]
        assert without_samples(body) == without_samples(row["body"])


def test_the_table_is_that_of_the_clients_that_run() -> None:
    assert TABLE["clients"] == PINNED.read_text("utf-8").split()
    assert {name_of(row) for row in ROWS if row["kind"] != "json"} == set(FORMS)
