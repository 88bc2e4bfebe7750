"""Images, speech and transcripts through clients of each style: what is sent, what comes back."""

from __future__ import annotations

import base64
import io
import json
import re
from operator import methodcaller
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

import wire
from tests.http.test_neutral_calls import sends, style_of
from tests.joined import joined
from wire import AsyncClient, Client, Media, TextDelta, TranscriptSegment
from wire.errors import (
    APIError,
    ConfigurationError,
    RuleError,
    StreamIncomplete,
    StreamInvalid,
    WireError,
)
from wire.neutral.media import Kind
from wire.providers import PROVIDERS
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport
from wire.wires.contract import WIRES

PNG = Media(data=b"\x89PNG\r\n\x1a\npixels", media_type="image/png")
SOUND = Media(data=b"RIFF\x04\0\0\0WAVE", media_type="audio/wav")
IMAGES = {
    "openai": "gpt-image-2",
    "azure": "gpt-image-2",
    "gemini": "gemini-3.1-flash-image",
    "xai": "grok-imagine-image",
    "openrouter": "openai/gpt-image-2",
    "together": "black-forest-labs/FLUX.2-dev",
}
VOICES = {
    "openai": ("gpt-4o-mini-tts", "alloy"),
    "gemini": ("gemini-3.8-flash-tts", "Kore"),
    "xai": ("grok-tts", "eve"),
    "openrouter": ("openai/gpt-4o-mini-tts", "alloy"),
    "together": ("hexgrad/Kokoro-82M", "af_sky"),
    "groq": ("playai-tts", "Fritz"),
    "mistral": ("voxtral-mini-tts-latest", "en_calm"),
}
TRANSCRIPTS = {
    "openai": "whisper-1",
    "gemini": "gemini-3.5-transcribe",
    "xai": "grok-voice-transcribe-2.0",
    "openrouter": "openai/whisper-1",
    "together": "openai/whisper-large-v3",
    "groq": "whisper-large-v3",
    "mistral": "voxtral-mini-latest",
}


def client(provider: str, answer: Any = None, **options: Any) -> Client:
    """A client of the emulator, or of a server that answers with one response."""
    http: Any = EmulatorTransport(Emulator())
    if answer is not None:
        http = httpx.MockTransport(lambda _: answer)
    if provider == "azure":
        options["resource"] = "harbour"
    return Client(provider, api_key="fake-key", http=http, **options)


def sent(provider: str, build: Any, **options: Any) -> Any:
    """The body that a call sends, as JSON or as the fields of a form."""
    bodies: list[httpx.Request] = []

    def keep(request: httpx.Request) -> httpx.Response:
        request.read()
        bodies.append(request)
        return httpx.Response(500, json={"error": {"message": "kept"}})

    http = httpx.MockTransport(keep)
    with Client(provider, api_key="fake-key", http=http, retry=None, **options) as it:
        with pytest.raises(APIError):
            build(it)
    [request] = bodies
    if request.headers["content-type"].startswith("multipart/"):
        return request
    return json.loads(request.content)


# --- each host ------------------------------------------------------------------------------------


@style_of
def test_images_of_each_host(style: str) -> None:
    for provider, model in IMAGES.items():
        if provider == "azure":
            continue
        images = sends(style, provider, methodcaller("image", "A cat", model), Emulator())
        assert (len(images), images.provider, images[0].media_type) == (1, provider, "image/png")
        assert images[0].data is not None
        assert images[0].data.startswith(b"\x89PNG")


@style_of
def test_speech_of_each_host(style: str) -> None:
    for provider, (model, voice) in VOICES.items():
        work = methodcaller("speak", "Hello", model, voice=voice)
        speech = sends(style, provider, work, Emulator())
        assert (speech.provider, speech.model) == (provider, model)
        assert speech.media.media_type.startswith("audio/")
        assert len(speech.data) > 100


@style_of
def test_transcripts_of_each_host(style: str) -> None:
    for provider, model in TRANSCRIPTS.items():
        found = sends(style, provider, methodcaller("transcribe", SOUND, model), Emulator())
        assert (found.provider, found.model) == (provider, model)
        assert "12 bytes" in found.text


def test_who_speaks_at_each_host() -> None:
    models = {"openai": "gpt-4o-transcribe-diarize"}
    told = {"openai": "A", "mistral": "speaker_1", "openrouter": "speaker_0"}
    for provider, speaker in {**told, "together": "SPEAKER_00"}.items():
        with client(provider) as it:
            found = it.transcribe(SOUND, models.get(provider, "m"), speakers=True)
        assert [each.speaker for each in found.segments] == [speaker], provider
        assert found.segments[0].text.strip(" .") == found.text.strip("."), provider


def test_which_hosts_have_what_is_the_table_of_the_guide() -> None:
    page = (Path(__file__).parents[2] / "docs" / "guide" / "images-and-sound.md").read_text("utf-8")
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in page.partition("## Hosts")[2].splitlines()
        if line.startswith("| `")
    ]
    for names, *cells in rows:
        for name in names.replace("`", "").split(", "):
            media = WIRES[PROVIDERS[name].wire].media_calls
            assert media is not None
            kinds = media.kinds_of(PROVIDERS[name])
            images, speech, transcripts, translation = cells
            told: set[Kind] = set()
            told |= {"image"} if "make" in images else set()
            told |= {"stream_image"} if "stream" in images else set()
            told |= {"speech"} if "whole" in speech else set()
            told |= {"stream_speech"} if "streamed" in speech else set()
            told |= {"transcript"} if "whole" in transcripts else set()
            told |= {"stream_transcript"} if "streamed" in transcripts else set()
            told |= {"translation"} if translation else set()
            assert kinds == told, name
    shown = {name for row in rows for name in row[0].replace("`", "").split(", ")}
    having = {
        name
        for name, row in PROVIDERS.items()
        if (media := WIRES[row.wire].media_calls) is not None and media.kinds_of(row)
    }
    assert {name for name in having if "@" not in name} <= shown


@pytest.mark.parametrize("provider", ["anthropic", "ollama", "deepseek", "bedrock"])
def test_a_host_without_media_is_refused_before_anything_is_sent(provider: str) -> None:
    options = {"region": "us-east-1"} if provider == "bedrock" else {}
    with client(provider, **options) as it:
        with pytest.raises(ConfigurationError, match=r"has no images; azure, gemini, openai"):
            it.image("A cat", "m")
        with pytest.raises(ConfigurationError, match=r"has no speech; azure, gemini, groq"):
            it.speak("Hi", "m")
        with pytest.raises(ConfigurationError, match=r"has no streamed transcripts; azure, gemini"):
            it.stream_transcript(SOUND, "m")
    with client("mistral") as it:
        with pytest.raises(ConfigurationError, match=r"mistral has no translated transcripts"):
            it.transcribe(SOUND, "m", translate=True)


# --- what is sent ---------------------------------------------------------------------------------


def test_settings_of_images_are_the_fields_of_each_host() -> None:
    settings = {"count": 2, "size": "64x32", "format": "png"}
    assert sent("openai", lambda it: it.image("A cat", "m", **settings, quality="low")) == {
        "prompt": "A cat",
        "model": "m",
        "n": 2,
        "size": "64x32",
        "quality": "low",
        "output_format": "png",
    }
    assert sent("together", lambda it: it.image("A cat", "m", **settings, seed=7)) == {
        "prompt": "A cat",
        "model": "m",
        "n": 2,
        "output_format": "png",
        "response_format": "base64",
        "seed": 7,
        "width": 64,
        "height": 32,
    }
    shaped = {"aspect_ratio": "16:9", "resolution": "2K"}
    assert sent("gemini", lambda it: it.image("A cat", "gemini-3.1-flash-image", **shaped)) == {
        "contents": [{"parts": [{"text": "A cat"}], "role": "user"}],
        "generationConfig": {
            "responseModalities": ["TEXT", "IMAGE"],
            "imageConfig": {"aspectRatio": "16:9", "imageSize": "2K"},
        },
    }
    drawn = sent("gemini", lambda it: it.image("A cat", "imagen-4.0-generate-001", count=2))
    assert drawn == {"instances": [{"prompt": "A cat"}], "parameters": {"sampleCount": 2}}


def test_pictures_go_as_each_host_takes_them() -> None:
    url = Media(url="https://example.com/a.png")
    packed = f"data:image/png;base64,{base64.b64encode(PNG.data or b'').decode()}"
    form = sent("openai", lambda it: it.image("Blue", "m", pictures=[PNG, PNG], mask=PNG))
    assert form.url.path == "/v1/images/edits"
    assert form.content.count(b'name="image[]"; filename="image.png"') == 2
    assert form.content.count(b'name="mask"') == 1
    mixed = sent("openai", lambda it: it.image("Blue", "m", pictures=[PNG, url]))
    assert mixed["images"] == [{"image_url": packed}, {"image_url": url.url}]
    assert sent("xai", lambda it: it.image("Blue", "m", pictures=PNG))["images"] == [
        {"type": "image_url", "url": packed}
    ]
    there = sent("openrouter", lambda it: it.image("Blue", "m", pictures=PNG))
    assert there["input_references"] == [{"type": "image_url", "image_url": {"url": packed}}]
    assert sent("together", lambda it: it.image("Blue", "m", pictures=url))["reference_images"] == [
        url.url
    ]
    body = sent("gemini", lambda it: it.image("Blue", "gemini-3.1-flash-image", pictures=[PNG]))
    assert [list(part) for part in body["contents"][0]["parts"]] == [["inlineData"], ["text"]]


def test_settings_of_speech_are_the_fields_of_each_host() -> None:
    assert sent("openai", lambda it: it.speak("Hi", "m", voice="voice_1", speed=2.0)) == {
        "model": "m",
        "input": "Hi",
        "voice": {"id": "voice_1"},
        "speed": 2.0,
    }
    assert sent("xai", lambda it: it.speak("Hi", "grok-tts", voice="eve", format="wav")) == {
        "text": "Hi",
        "voice_id": "eve",
        "language": "auto",
        "output_format": {"codec": "wav"},
    }
    spoken = {"voice": "Kore", "language": "en-US", "instructions": "Softly."}
    body = sent("gemini", lambda it: it.speak("Hi", "gemini-3.8-flash-tts", **spoken))
    assert body["contents"][0]["parts"] == [{"text": "Softly.\nHi"}]
    assert body["generationConfig"] == {
        "responseModalities": ["AUDIO"],
        "speechConfig": {
            "languageCode": "en-US",
            "voiceConfig": {"prebuiltVoiceConfig": {"voiceName": "Kore"}},
        },
    }


def fields_of(request: httpx.Request) -> list[bytes]:
    return [
        line.partition(b'name="')[2].partition(b'"')[0]
        for line in request.content.split(b"\r\n")
        if line.startswith(b"Content-Disposition")
    ]


def test_settings_of_transcripts_are_the_fields_of_each_host(tmp_path: Path) -> None:
    timed = {"timestamps": ("word", "segment"), "language": "en"}
    form = sent("groq", lambda it: it.transcribe(SOUND, "m", **timed))
    assert fields_of(form) == [
        b"model",
        b"language",
        b"response_format",
        b"timestamp_granularities[]",
        b"timestamp_granularities[]",
        b"file",
    ]
    form = sent("mistral", lambda it: it.transcribe(SOUND, "m", timestamps="word", speakers=True))
    assert fields_of(form) == [b"model", b"timestamp_granularities", b"diarize", b"file"]
    form = sent("openai", lambda it: it.transcribe(SOUND, "m", speakers=True))
    assert fields_of(form) == [b"model", b"response_format", b"chunking_strategy", b"file"]
    assert sent("openai", lambda it: it.transcribe(SOUND, "m", translate=True)).url.path == (
        "/v1/audio/translations"
    )
    url = Media(url="https://example.com/a.mp3", media_type="audio/mpeg")
    assert fields_of(sent("mistral", lambda it: it.transcribe(url, "m"))) == [b"model", b"file_url"]
    path = tmp_path / "talk.mp3"
    path.write_bytes(b"ID3sound")
    for sound in (path, str(path), path.open("rb")):
        form = sent("openai", lambda it, s=sound: it.transcribe(s, "m"))
        assert b'filename="talk.mp3"\r\nContent-Type: audio/mpeg\r\n\r\nID3sound' in form.content
        if isinstance(sound, io.IOBase):
            sound.close()


# --- what is refused ------------------------------------------------------------------------------

REFUSED: dict[str, tuple[Any, str]] = {
    "an empty prompt": (lambda it: it.image(" ", "m"), "prompt: expected a text that is not empty"),
    "no text": (lambda it: it.speak(7, "m"), "text: expected a text, not int"),
    "half of a pair": (lambda it: it.image("\ud800", "m"), "prompt"),
    "a size": (lambda it: it.image("A", "m", size="big"), "size: expected WIDTHxHEIGHT or auto"),
    "no images": (lambda it: it.image("A", "m", count=0), "count"),
    "a sound as picture": (
        lambda it: it.image("A", "m", pictures=[SOUND]),
        r"pictures\[0\]: expected an image, not 'audio/wav'",
    ),
    "a path as picture": (
        lambda it: it.image("A", "m", pictures=["cat.png"]),
        r"pictures\[0\]: expected a Media",
    ),
    "a mask alone": (lambda it: it.image("A", "m", mask=PNG), "mask: expected a picture"),
    "a speed": (lambda it: it.speak("A", "m", speed=-1), "speed: expected a positive number"),
    "a picture as sound": (
        lambda it: it.transcribe(PNG, "m"),
        "sound: expected a sound or a video, not 'image/png'",
    ),
    "bytes as sound": (lambda it: it.transcribe(b"RIFF", "m"), "sound: expected a Media, a path"),
    "times of lines": (
        lambda it: it.transcribe(SOUND, "m", timestamps="line"),
        "timestamps: expected segment or word, not 'line'",
    ),
    "a file that is not there": (
        lambda it: it.transcribe("nowhere.mp3", "m"),
        "nowhere.mp3: cannot be read: No such file",
    ),
    "a setting of another host": (
        lambda it: it.image("A", "m", aspect_ratio="1:1"),
        r"aspect_ratio: this host has no such setting \(it has size\)",
    ),
    "a URL at a host that fetches none": (
        lambda it: it.transcribe(Media(url="https://example.com/a.mp3"), "m"),
        "sound: this host takes no URL of a sound",
    ),
    "a format of another model": (
        lambda it: it.transcribe(SOUND, "gpt-4o-transcribe", timestamps="word"),
        "timestamps: response_format 'verbose_json' is not compatible with model 'gpt-4o-tr",
    ),
    "no voice": (lambda it: it.speak("A", "tts-1"), "voice: Missing required parameter: 'voice'"),
}


@joined("case", REFUSED)
def test_bad_input_is_one_error_that_names_the_setting(case: str) -> None:
    build, words = REFUSED[case]
    with client("openai", httpx.Response(500)) as it, pytest.raises(RuleError, match=words):
        build(it)


def test_an_unknown_setting_is_told_the_right_one() -> None:
    with client("openai") as it:
        with pytest.raises(WireError, match="did you mean 'aspect_ratio'"):
            it.image("A", "m", aspect_ration="1:1")  # type: ignore[call-arg]
    with pytest.raises(WireError, match="voise"):
        wire.speak("A", "openai:m", voise="alloy", api_key="fake-key")  # type: ignore[call-arg]


# --- streams --------------------------------------------------------------------------------------


def test_streams_of_each_host() -> None:
    for provider, (model, voice) in VOICES.items():
        with client(provider) as it, it.stream_speech("Hello", model, voice=voice) as stream:
            pieces = list(stream)
            speech = stream.result()
        assert len(pieces) > 1, provider
        assert b"".join([piece.data for piece in pieces]) == speech.data
        assert {piece.media_type for piece in pieces} == {speech.media.media_type}
    for provider in ("openai", "openrouter"):
        with (
            client(provider) as it,
            it.stream_image("A cat", IMAGES[provider], partials=2) as stream,
        ):
            assert [each.index for each in stream] == [0, 1]
            assert len(stream.result()) == 1
    models = {"openai": "gpt-4o-transcribe", "mistral": "voxtral-mini-latest"}
    for provider, model in models.items():
        with client(provider) as it, it.stream_transcript(SOUND, model) as stream:
            texts = [piece for piece in stream if isinstance(piece, TextDelta)]
            assert "".join([piece.text for piece in texts]) == stream.result().text


def test_speakers_are_streamed_as_segments() -> None:
    model = "gpt-4o-transcribe-diarize"
    with client("openai") as it, it.stream_transcript(SOUND, model, speakers=True) as stream:
        [segment] = stream
        assert isinstance(segment, TranscriptSegment)
        assert (segment.speaker, segment.text.strip()) == ("A", stream.result().text)


def test_a_model_that_ignores_stream_gives_its_text_once() -> None:
    with client("openai") as it, it.stream_transcript(SOUND, "whisper-1") as stream:
        assert [piece.text for piece in stream] == [stream.result().text]


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_async_streams(backend: str) -> None:
    async def main() -> None:
        http = AsyncEmulatorTransport()
        async with AsyncClient("openai", api_key="fake-key", http=http) as it:
            async with it.stream_image("A cat", "gpt-image-2", partials=1) as images:
                assert [each.index async for each in images] == [0]
                assert len(await images.result()) == 1
            async with it.stream_speech("Hi", "gpt-4o-mini-tts", voice="alloy") as speech:
                sound = b"".join([each.data async for each in speech])
                assert (await speech.result()).data == sound
            async with it.stream_transcript(SOUND, "gpt-4o-transcribe") as texts:
                said = "".join([each.text async for each in texts])
                assert (await texts.result()).text == said

    anyio.run(main, backend=backend)


def test_sound_that_ends_early_is_an_error_with_what_came() -> None:
    class Cut(httpx.SyncByteStream):
        def __iter__(self) -> Any:
            yield b"\xff\xf3" + bytes(100)
            raise httpx.ReadError("reset")

    response = httpx.Response(200, headers={"content-type": "audio/mpeg"}, stream=Cut())
    with (
        client("openai", response, retry=None) as it,
        pytest.raises(WireError) as caught,
        it.stream_speech("Hi", "m", voice="alloy") as stream,
    ):
        for piece in stream:
            assert piece.data[:2] == b"\xff\xf3"
    assert len(caught.value.partial.data) == 102


def test_an_image_that_never_comes_is_an_error() -> None:
    events = b'data: {"type": "image_generation.partial_image", "b64_json": "aGk="}\n\n'
    response = httpx.Response(200, headers={"content-type": "text/event-stream"}, content=events)
    with (
        client("openai", response) as it,
        pytest.raises(StreamIncomplete, match="without a completed image after 1 events"),
        it.stream_image("A cat", "m", partials=1) as stream,
    ):
        list(stream)


# --- responses ------------------------------------------------------------------------------------

BROKEN: dict[str, tuple[str, Any, dict[str, Any], str]] = {
    "no images": ("image", ("A", "m"), {"data": []}, "the response has no images"),
    "neither bytes nor a URL": (
        "image",
        ("A", "m"),
        {"data": [{"index": 0}]},
        "an image has neither bytes nor a URL",
    ),
    "no base64": (
        "image",
        ("A", "m"),
        {"data": [{"b64_json": "no base64!"}]},
        "an image is not base64",
    ),
    "no text": ("transcribe", (SOUND, "m"), {"task": "transcribe"}, "the response has no text"),
}


@joined("case", BROKEN)
def test_a_response_without_its_content_is_no_result(case: str) -> None:
    method, arguments, body, words = BROKEN[case]
    response = httpx.Response(200, json=body)
    with client("openai", response) as it, pytest.raises(StreamInvalid, match=words) as caught:
        getattr(it, method)(*arguments)
    assert json.loads(caught.value.raw) == body


def test_gemini_says_why_there_is_no_image() -> None:
    said = {"parts": [{"text": "I draw no people."}], "role": "model"}
    body = {"candidates": [{"content": said, "finishReason": "STOP"}]}
    with client("gemini", httpx.Response(200, json=body)) as it:
        with pytest.raises(StreamInvalid, match="no images; the model says: I draw no people"):
            it.image("A king", "gemini-3.1-flash-image")
    body = {"predictions": [{"raiFilteredReason": "All images were filtered out."}]}
    with client("gemini", httpx.Response(200, json=body)) as it:
        with pytest.raises(StreamInvalid, match="no images: All images were filtered out"):
            it.image("A king", "imagen-4.0-generate-001")


def test_usage_and_cost() -> None:
    with client("openai") as it:
        images = it.image("A cat", "gpt-image-2", pictures=PNG)
        assert images.usage is not None
        assert images.usage.by_modality == {
            "input_image": 272,
            "input_text": 2,
            "output_image": 272,
        }
        assert images.cost.total is None
    with client("xai") as it:
        assert str(it.image("A cat", "grok-imagine-image", count=2).cost) == "0.04 USD"
    body = {"text": "High", "usage": {"input_tokens": 1, "output_tokens": 1, "cost": 0.0005}}
    with client("openrouter", httpx.Response(200, json=body)) as it:
        assert str(it.transcribe(SOUND, "openai/whisper-1").cost) == "0.0005 USD"


def test_media_go_into_messages() -> None:
    with client("openai") as it:
        [image] = it.image("A cat", "gpt-image-2")
    chat = wire.Chat("openai:gpt-5.4", api_key="fake-key", http=EmulatorTransport())
    with chat:
        assert "What is this?" in chat.ask(["What is this?", image]).text


def test_wav_of_samples_has_their_rate() -> None:
    with client("gemini") as it:
        speech = it.speak("Hello", "gemini-3.8-flash-tts", voice="Kore", format="wav")
    rate = int.from_bytes(speech.data[24:28], "little")
    size = int.from_bytes(speech.data[40:44], "little")
    assert (speech.media.media_type, rate, size) == ("audio/wav", 24_000, len(speech.data) - 44)


def test_a_dialect_gives_a_server_of_ones_own_its_endpoints() -> None:
    from wire.openai import Dialect, MediaEndpoints

    media = MediaEndpoints(transcriptions="/audio/transcriptions", streams_transcriptions=True)
    options: Any = {"base_url": "http://localhost:8080/v1", "dialect": Dialect(media=media)}
    with client("my-host", httpx.Response(200, json={"text": "High"}), **options) as it:
        assert it.transcribe(SOUND, "whisper").text == "High"
        with pytest.raises(ConfigurationError, match="my-host has no speech"):
            it.speak("Hi", "kokoro")


def test_the_page_of_providers_has_the_paths_of_the_rows() -> None:
    page = (Path(__file__).parents[2] / "docs" / "providers.md").read_text("utf-8")
    section = page.partition("## Images, speech and transcripts")[2].partition("\n## ")[0]
    rows = [line.split("|")[1:3] for line in section.splitlines() if line.startswith("| ")][1:]
    for names, paths in rows:
        told = re.findall(r"`(/[\w/]+)`", paths)
        for name in names.strip().split(", "):
            media = getattr(PROVIDERS[name].dialect, "media", None)
            if media is None:
                media = getattr(PROVIDERS.get(f"{name}@chat"), "dialect", None)
                media = getattr(media, "media", None)
            if media is None:  # of another wire
                continue
            kinds = ("images", "edits", "speech", "transcriptions", "translations")
            assert told == [path for kind in kinds if (path := getattr(media, kind))], name
