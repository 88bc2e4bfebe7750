"""Images, speech and transcripts of six clients for Python, case by case, against the emulator: run
in `.venv-sdks/media` with the name of a client and the URL of an emulator that plays its host; a
line of JSON a case. Each request names its case in the header `x-case`.
"""

from __future__ import annotations

import base64
import json
import struct
import sys
from collections.abc import Callable
from typing import Any

CLIENT, URL = sys.argv[1:3]
PNG = b"\x89PNG\r\n\x1a\n"
WAV = b"RIFF" + struct.pack(
    "<I4s4sIHHIIHH4sI", 276, b"WAVE", b"fmt ", 16, 1, 1, 8000, 8000, 1, 8, b"data", 240
) + bytes([128]) * 240  # fmt: skip
"""Three hundredths of a second of silence."""
PROMPT, TEXT = "A cat on a pier", "The tide is high."
CASES: dict[str, Callable[[], Any]] = {}
HEADERS = {"x-case": ""}


def case(client: str) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    def kept(function: Callable[[], Any]) -> Callable[[], Any]:
        if client == CLIENT:
            CASES[function.__name__.removeprefix(f"{client}_")] = function
        return function

    return kept


def size(text: str | None) -> int | None:
    """The bytes of base64."""
    return None if text is None else len(base64.b64decode(text, validate=True))


def names(events: list[Any]) -> list[str]:
    """The classes of events, each once: an event that no class fits is of a base class."""
    return list(dict.fromkeys(type(event).__name__ for event in events))


def refused(ask: Callable[[], Any]) -> Any:
    try:
        return "ok", ask()
    except Exception as error:
        body = getattr(error, "body", None)
        told = body.get("error", body) if isinstance(body, dict) else {}
        code = told.get("code") if isinstance(told, dict) else None
        return type(error).__name__, getattr(error, "status_code", None), code


def wav() -> tuple[str, bytes]:
    return "talk.wav", WAV


# --- OpenAI ---------------------------------------------------------------------------------------


def openai() -> Any:
    from openai import OpenAI

    return OpenAI(
        api_key="fake-key", base_url=f"{URL}/v1", default_headers={**HEADERS}, max_retries=0
    )


def drawn(answer: Any) -> Any:
    return (
        [size(image.b64_json) for image in answer.data],
        [answer.output_format, answer.quality, answer.size, answer.background],
        [answer.usage.input_tokens, answer.usage.output_tokens, answer.usage.total_tokens],
    )


@case("openai")
def images() -> Any:
    return drawn(openai().images.generate(model="gpt-image-2", prompt=PROMPT))


@case("openai")
def images_with_settings() -> Any:
    answer = openai().images.generate(
        model="gpt-image-2", prompt=PROMPT, n=2, size="1536x1024", quality="high",
        background="opaque", output_format="webp", output_compression=50, moderation="low",
        user="someone",
    )  # fmt: skip
    return drawn(answer)


@case("openai")
def images_as_vectors() -> Any:
    answer = openai().images.generate(
        model="gpt-image-2.5-flare", prompt=PROMPT, output_format="svg", complexity="low",
        svg={"model": "gpt-6-luna", "reasoning": {"effort": "low"}},
    )  # fmt: skip
    return answer.output_format, answer.svg_usage.model, answer.svg_usage.total_tokens


@case("openai")
def edit_as_vectors() -> Any:
    answer = openai().images.edit(
        model="gpt-image-2.5-flare", prompt="Blue", image=("a.png", PNG), output_format="svg",
        svg={"model": "gpt-6-luna", "reasoning": {"effort": "low"}},
    )  # fmt: skip
    return answer.output_format, answer.svg_usage.model


@case("openai")
def images_refused() -> Any:
    model, prompt = "gpt-image-1", PROMPT
    return refused(lambda: openai().images.generate(model=model, prompt=prompt, size="3x3"))


def partial(events: Any) -> Any:
    found = list(events)
    indexes = [event.partial_image_index for event in found[:-1]]
    return names(found), indexes, size(found[-1].b64_json), found[-1].usage.output_tokens


@case("openai")
def images_streamed() -> Any:
    return partial(
        openai().images.generate(
            model="gpt-image-2", prompt=PROMPT, stream=True, partial_images=2
        )
    )  # fmt: skip


@case("openai")
def edit() -> Any:
    return drawn(openai().images.edit(model="gpt-image-2", prompt="Blue", image=("a.png", PNG)))


@case("openai")
def edit_several_with_a_mask() -> Any:
    answer = openai().images.edit(
        model="gpt-image-2", prompt="Blue", image=[("a.png", PNG), ("b.png", PNG)],
        mask=("mask.png", PNG), n=2, quality="low",
    )  # fmt: skip
    return drawn(answer)


@case("openai")
def edit_streamed() -> Any:
    return partial(
        openai().images.edit(
            model="gpt-image-2", prompt="Blue", image=("a.png", PNG), stream=True,
            partial_images=1,
        )
    )  # fmt: skip


@case("openai")
def edit_refused() -> Any:
    def ask() -> Any:
        return openai().images.edit(
            model="gpt-image-2", prompt="Blue", image=("a.png", PNG), quality="ultra"
        )

    return refused(ask)


SAID = {"model": "gpt-4o-mini-tts", "input": TEXT, "voice": "alloy"}


@case("openai")
def speech() -> Any:
    answer = openai().audio.speech.create(**SAID)
    data = answer.read()
    return answer.response.headers["content-type"], len(data), data[:2].hex()


@case("openai")
def speech_with_settings() -> Any:
    answer = openai().audio.speech.create(
        **SAID, instructions="Calm.", response_format="wav", speed=1.5
    )
    return answer.response.headers["content-type"], answer.read()[:4].decode()


@case("openai")
def speech_streamed() -> Any:
    with openai().audio.speech.with_streaming_response.create(**SAID) as answer:
        return len(b"".join(answer.iter_bytes()))


@case("openai")
def speech_as_events() -> Any:
    with openai().audio.speech.with_streaming_response.create(
        **SAID, stream_format="sse"
    ) as answer:
        lines = [line for line in answer.iter_lines() if line.startswith("data: ")]
        kind = answer.headers["content-type"]
    events = [json.loads(line[6:]) for line in lines]
    sizes = [size(event.get("audio")) for event in events]
    return kind, sizes, [event["type"] for event in events[-2:]], events[-1]["usage"]


@case("openai")
def speech_refused() -> Any:
    return refused(lambda: openai().audio.speech.create(**{**SAID, "voice": "nobody"}))


def transcribed(model: str, **more: Any) -> Any:
    return openai().audio.transcriptions.create(model=model, file=wav(), **more)


@case("openai")
def transcript() -> Any:
    answer = transcribed("gpt-4o-transcribe")
    return answer.text, answer.usage.type, answer.usage.total_tokens


@case("openai")
def transcript_with_settings() -> Any:
    answer = transcribed(
        "gpt-4o-transcribe", language="en", prompt="Tides.", temperature=0.5,
        response_format="json", include=["logprobs"], chunking_strategy="auto",
    )  # fmt: skip
    return answer.text, [[each.token, each.logprob] for each in answer.logprobs or ()]


@case("openai")
def transcript_with_chunks() -> Any:
    cut = {"type": "server_vad", "silence_duration_ms": 500}
    return transcribed("gpt-4o-transcribe", chunking_strategy=cut).text


@case("openai")
def transcript_verbose() -> Any:
    answer = transcribed("whisper-1", response_format="verbose_json")
    [segment] = answer.segments
    return (
        type(answer).__name__, answer.text, answer.language, answer.duration, answer.words,
        [segment.id, segment.start, segment.end, segment.text, segment.seek, segment.tokens],
        [segment.temperature, segment.avg_logprob, segment.compression_ratio],
        segment.no_speech_prob, answer.usage.seconds,
    )  # fmt: skip


@case("openai")
def transcript_words() -> Any:
    answer = transcribed(
        "whisper-1", response_format="verbose_json", timestamp_granularities=["word", "segment"]
    )
    return len(answer.segments), [[each.word, each.start, each.end] for each in answer.words]


@case("openai")
def transcript_subtitles() -> Any:
    return transcribed("whisper-1", response_format="srt")


@case("openai")
def transcript_diarized() -> Any:
    answer = transcribed(
        "gpt-4o-transcribe-diarize", response_format="diarized_json", chunking_strategy="auto"
    )
    [one] = answer.segments
    return (
        type(answer).__name__, answer.task, answer.duration, answer.text, answer.usage.type,
        [one.id, one.type, one.speaker, one.start, one.end, one.text],
    )  # fmt: skip


@case("openai")
def transcript_known_speakers() -> Any:
    sample = "data:audio/wav;base64," + base64.b64encode(WAV).decode()
    answer = transcribed(
        "gpt-4o-transcribe-diarize", response_format="diarized_json",
        known_speaker_names=["Bo", "Al"], known_speaker_references=[sample, sample],
    )  # fmt: skip
    return [each.speaker for each in answer.segments]


@case("openai")
def transcript_streamed() -> Any:
    events = list(transcribed("gpt-4o-transcribe", stream=True))
    text = "".join(event.delta for event in events[:-1])
    return names(events), text, events[-1].text == text, events[-1].usage.total_tokens


@case("openai")
def transcript_diarized_streamed() -> Any:
    model = "gpt-4o-transcribe-diarize"
    events = list(transcribed(model, response_format="diarized_json", stream=True))
    segments = [event for event in events if event.type == "transcript.text.segment"]
    return names(events), [[each.id, each.speaker, each.text] for each in segments]


@case("openai")
def transcript_refused() -> Any:
    return refused(lambda: transcribed("gpt-4o-transcribe", response_format="srt"))


@case("openai")
def translation() -> Any:
    return openai().audio.translations.create(model="whisper-1", file=wav()).text


@case("openai")
def translation_verbose() -> Any:
    answer = openai().audio.translations.create(
        model="whisper-1", file=wav(), prompt="Tides.", temperature=0,
        response_format="verbose_json",
    )  # fmt: skip
    return type(answer).__name__, answer.language, answer.duration, len(answer.segments)


@case("openai")
def translation_refused() -> Any:
    return refused(lambda: openai().audio.translations.create(model="whisper-1", file=b""))


# --- Mistral --------------------------------------------------------------------------------------


def mistral(key: str = "fake-key") -> Any:
    import httpx
    from mistralai.client import Mistral

    return Mistral(api_key=key, server_url=URL, client=httpx.Client(headers=HEADERS))


SPOKEN = {"model": "voxtral-mini-tts-2603", "input": TEXT, "voice_id": "en_calm"}
HEARD = "voxtral-mini-latest"


def uploaded() -> dict[str, Any]:
    return {"file_name": "talk.wav", "content": WAV}


@case("mistral")
def mistral_speech() -> Any:
    answer = mistral().audio.speech.complete(**SPOKEN, response_format="wav")
    return base64.b64decode(answer.audio_data)[:4].decode()


@case("mistral")
def mistral_speech_streamed() -> Any:
    with mistral().audio.speech.complete(**SPOKEN, stream=True) as stream:
        events = list(stream)
    sizes = [size(event.data.audio_data) for event in events[:-1]]
    data = [event.data for event in events]
    return names(data), events[0].event, sizes, data[-1].usage.total_tokens


@case("mistral")
def mistral_speech_with_a_wrong_key() -> Any:
    ask = mistral("bad-key").audio.speech.complete
    return refused(lambda: ask(**SPOKEN))


@case("mistral")
def mistral_transcript() -> Any:
    answer = mistral().audio.transcriptions.complete(model=HEARD, file=uploaded())
    return answer.model, answer.text, answer.language, answer.segments, answer.usage.total_tokens


@case("mistral")
def mistral_transcript_with_settings() -> Any:
    answer = mistral().audio.transcriptions.complete(
        model=HEARD, file=uploaded(), language="en", temperature=0.5, diarize=True,
        context_bias=["tide", "pier"], timestamp_granularities=["segment"],
        speaker_references={"Bo": "file-1"},
    )  # fmt: skip
    [one] = answer.segments
    return answer.language, [one.type, one.text, one.start, one.end, one.speaker_id or None]


@case("mistral")
def mistral_transcript_of_an_address() -> Any:
    url = "https://example.com/talk.mp3"
    return mistral().audio.transcriptions.complete(model=HEARD, file_url=url).text


@case("mistral")
def mistral_transcript_streamed() -> Any:
    with mistral().audio.transcriptions.stream(model=HEARD, file=uploaded()) as stream:
        events = [(event.event, event.data) for event in stream]
    text = "".join(data.text for name, data in events if name.endswith("delta"))
    last = events[-1][1]
    return names([data for _, data in events]), text, last.text == text, last.usage.total_tokens


@case("mistral")
def mistral_transcript_streamed_by_speaker() -> Any:
    with mistral().audio.transcriptions.stream(
        model=HEARD, file=uploaded(), diarize=True, timestamp_granularities=["segment"]
    ) as stream:
        data = [event.data for event in stream]
    segments = [each for each in data if each.type == "transcription.segment"]
    return names(data), [[each.text, each.speaker_id or None] for each in segments]


@case("mistral")
def mistral_transcript_refused() -> Any:
    return refused(lambda: mistral().audio.transcriptions.complete(model=HEARD))


# --- Groq -----------------------------------------------------------------------------------------


def groq() -> Any:
    from groq import Groq

    return Groq(api_key="fake-key", base_url=URL, default_headers={**HEADERS}, max_retries=0)


@case("groq")
def groq_speech() -> Any:
    answer = groq().audio.speech.create(
        model="playai-tts", input=TEXT, voice="Fritz-PlayAI", response_format="wav", speed=1.5
    )
    return answer.read()[:4].decode()


@case("groq")
def groq_speech_streamed() -> Any:
    with groq().audio.speech.with_streaming_response.create(
        model="playai-tts", input=TEXT, voice="Fritz-PlayAI", response_format="mp3"
    ) as answer:
        return answer.headers["content-type"], len(b"".join(answer.iter_bytes()))


@case("groq")
def groq_speech_refused() -> Any:
    ask = groq().audio.speech.create
    model, voice = "playai-tts", "Fritz-PlayAI"
    return refused(lambda: ask(model=model, input=TEXT, voice=voice, response_format="aac"))


@case("groq")
def groq_transcript() -> Any:
    ask = groq().audio.transcriptions.create
    return ask(model="whisper-large-v3", file=wav()).text


@case("groq")
def groq_transcript_with_settings() -> Any:
    answer = groq().audio.transcriptions.create(
        model="whisper-large-v3", file=wav(), language="en", prompt="Tides.", temperature=0.5,
        response_format="verbose_json", timestamp_granularities=["word", "segment"],
    )  # fmt: skip
    return answer.duration, len(answer.words), len(answer.segments)


@case("groq")
def groq_transcript_of_an_address() -> Any:
    url = "https://example.com/talk.mp3"
    return groq().audio.transcriptions.create(model="whisper-large-v3", url=url).text


@case("groq")
def groq_transcript_refused() -> Any:
    return refused(lambda: groq().audio.transcriptions.create(model="whisper-large-v3"))


@case("groq")
def groq_translation() -> Any:
    return groq().audio.translations.create(model="whisper-large-v3", file=wav()).text


# --- Together -------------------------------------------------------------------------------------


def together() -> Any:
    from together import Together

    return Together(
        api_key="fake-key", base_url=URL, default_headers={**HEADERS}, max_retries=0
    )  # fmt: skip


FLUX = "black-forest-labs/FLUX.1-schnell"
SONIC = {"model": "cartesia/sonic", "input": TEXT, "voice": "friendly sidekick"}
WHISPER = "openai/whisper-large-v3"


@case("together")
def together_images() -> Any:
    answer = together().images.generate(model=FLUX, prompt=PROMPT, n=2)
    kinds = [[each.type, each.index, each.url[:8]] for each in answer.data]
    return answer.object, answer.model, bool(answer.id), names(answer.data), kinds


@case("together")
def together_images_with_settings() -> Any:
    answer = together().images.generate(
        model=FLUX, prompt=PROMPT, response_format="base64", output_format="png", width=512,
        height=512, steps=4, seed=7, guidance_scale=3.5, negative_prompt="dogs",
        image_url="https://example.com/a.png", reference_images=["https://example.com/b.png"],
        image_loras=[{"path": "a/b", "scale": 1.0}], disable_safety_checker=True,
    )  # fmt: skip
    return names(answer.data), [size(each.b64_json) for each in answer.data]


@case("together")
def together_images_refused() -> Any:
    ask = together().images.generate
    return refused(lambda: ask(model=FLUX, prompt=PROMPT, response_format="bytes"))


@case("together")
def together_speech() -> Any:
    answer = together().audio.speech.create(**SONIC)
    return answer.read()[:4].decode()


@case("together")
def together_speech_with_settings() -> Any:
    answer = together().audio.speech.create(
        **SONIC, response_format="raw", response_encoding="pcm_s16le", sample_rate=24000,
        language="en", extra_params={"pronunciation_dict": ["a/b"]},
    )  # fmt: skip
    return len(answer.read())


@case("together")
def together_speech_streamed() -> Any:
    events = list(together().audio.speech.create(**SONIC, stream=True, response_format="raw"))
    first = events[0]
    return names(events), first.object, first.model, [size(each.b64) for each in events]


@case("together")
def together_transcript() -> Any:
    answer = together().audio.transcriptions.create(model=WHISPER, file=wav())
    return type(answer).__name__, answer.text


@case("together")
def together_transcript_with_settings() -> Any:
    answer = together().audio.transcriptions.create(
        model=WHISPER, file=wav(), language="en", prompt="Tides.", temperature=0.5,
        response_format="verbose_json", timestamp_granularities=["word", "segment"],
        diarize=True, min_speakers=1, max_speakers=2,
    )  # fmt: skip
    [one] = answer.speaker_segments
    return (
        type(answer).__name__, answer.language, answer.duration, answer.segments[0].id,
        [answer.words[0].word, answer.words[0].speaker_id, len(answer.words)],
        [one.id, one.speaker_id, one.text, one.start, one.end, len(one.words)],
    )  # fmt: skip


@case("together")
def together_translation() -> Any:
    answer = together().audio.translations.create(model=WHISPER, file=wav())
    return type(answer).__name__, answer.text


# --- OpenRouter -----------------------------------------------------------------------------------


def openrouter() -> Any:
    import httpx
    from openrouter import OpenRouter

    return OpenRouter(
        api_key="fake-key", server_url=f"{URL}/api/v1", client=httpx.Client(headers=HEADERS)
    )


DRAWS = "google/gemini-3.1-flash-image"


@case("openrouter")
def openrouter_images() -> Any:
    answer = openrouter().images.generate(model=DRAWS, prompt=PROMPT)
    usage = answer.usage
    counts = [usage.prompt_tokens, usage.completion_tokens, usage.total_tokens, usage.cost or None]
    return [size(each.b64_json) for each in answer.data], answer.data[0].media_type, counts


@case("openrouter")
def openrouter_images_with_settings() -> Any:
    picture = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    answer = openrouter().images.generate(
        model=DRAWS, prompt=PROMPT, n=2, aspect_ratio="16:9", resolution="2K", quality="high",
        background="opaque", output_format="webp", output_compression=50, seed=7,
        input_references=[picture], session_id="s", user="u",
    )  # fmt: skip
    return [size(each.b64_json) for each in answer.data], answer.data[0].media_type


@case("openrouter")
def openrouter_images_streamed() -> Any:
    with openrouter().images.generate(model=DRAWS, prompt=PROMPT, stream=True) as stream:
        data = list(stream)
    return names(data), data[-1].media_type, size(data[-1].b64_json), data[-1].usage.total_tokens


@case("openrouter")
def openrouter_images_refused() -> Any:
    ask = openrouter().images.generate
    return refused(lambda: ask(model=DRAWS, prompt=PROMPT, n=99))


@case("openrouter")
def openrouter_speech() -> Any:
    answer = openrouter().tts.create_speech(model="openai/gpt-4o-mini-tts", input=TEXT)
    return answer.headers["content-type"], len(answer.read())


@case("openrouter")
def openrouter_speech_with_settings() -> Any:
    answer = openrouter().tts.create_speech(
        model="openai/gpt-4o-mini-tts", input=TEXT, voice="alloy", instructions="Calm.",
        response_format="mp3", speed=1.5, session_id="s", user="u",
    )  # fmt: skip
    return answer.headers["content-type"]


@case("openrouter")
def openrouter_transcript() -> Any:
    sound = {"data": base64.b64encode(WAV).decode(), "format": "wav"}
    answer = openrouter().stt.create_transcription(model="openai/whisper-1", input_audio=sound)
    return answer.text, type(answer.usage).__name__, answer.usage.seconds


@case("openrouter")
def openrouter_transcript_with_settings() -> Any:
    sound = {"data": base64.b64encode(WAV).decode(), "format": "wav"}
    answer = openrouter().stt.create_transcription(
        model="openai/whisper-1", input_audio=sound, language="en", temperature=0.5,
        diarize=True, keyterms=["tide"], response_format="verbose_json",
        timestamp_granularities=["word", "segment"], session_id="s", user="u",
    )  # fmt: skip
    [one], first = answer.segments, answer.words[0]
    return (
        [answer.language, answer.duration, answer.task],
        [one.id, one.start, one.end, one.text, one.speaker, one.speaker_label],
        [first.word, first.speaker, first.type],
    )


@case("openrouter")
def openrouter_transcript_of_an_address() -> Any:
    sound = {"type": "input_audio", "url": "https://example.com/talk.mp3", "format": "mp3"}
    ask = openrouter().stt.create_transcription
    return ask(model="openai/whisper-1", input_audio=sound).text


@case("openrouter")
def openrouter_transcript_refused() -> Any:
    sound = {"data": "", "format": "wav"}
    ask = openrouter().stt.create_transcription
    return refused(lambda: ask(model="openai/whisper-1", input_audio=sound))


# --- Google ---------------------------------------------------------------------------------------

KEPT: list[Any] = []  # a client that nobody holds closes itself


def google(**more: Any) -> Any:
    from google import genai
    from google.genai import types

    options = types.HttpOptions(base_url=URL, headers={**HEADERS})
    made = genai.Client(**(more or {"api_key": "fake-key"}), http_options=options)
    KEPT.append(made)
    return made.models


def vertex() -> Any:
    """The client of Imagen, which has no other since version 3 of the SDK."""
    from google.oauth2.credentials import Credentials

    place = {"project": "my-project", "location": "us-central1"}
    return google(enterprise=True, credentials=Credentials("fake-key"), **place)


@case("google")
def google_imagen() -> Any:
    answer = vertex().generate_images(model="imagen-4.0-generate-001", prompt=PROMPT)
    return [[len(each.image.image_bytes), each.image.mime_type] for each in answer.generated_images]


@case("google")
def google_imagen_with_settings() -> Any:
    from google.genai import types

    config = types.GenerateImagesConfig(
        number_of_images=2, aspect_ratio="16:9", image_size="2K", output_mime_type="image/jpeg",
        output_compression_quality=50, person_generation="ALLOW_ADULT",
        include_rai_reason=True, include_safety_attributes=True,
    )  # fmt: skip
    answer = vertex().generate_images(model="imagen-4.0-generate-001", prompt=PROMPT, config=config)
    return [[len(each.image.image_bytes), each.image.mime_type] for each in answer.generated_images]


@case("google")
def google_imagen_refused() -> Any:
    def ask() -> Any:
        return vertex().generate_images(
            model="imagen-4.0-generate-001", prompt=PROMPT, config={"number_of_images": 9}
        )

    try:
        return "ok", ask()
    except Exception as error:
        return type(error).__name__, error.code, error.status


@case("google")
def google_image() -> Any:
    config = {
        "response_modalities": ["TEXT", "IMAGE"], "seed": 7,
        "image_config": {"aspect_ratio": "16:9", "image_size": "2K"},
    }  # fmt: skip
    answer = google().generate_content(
        model="gemini-3.1-flash-image", contents=PROMPT, config=config
    )
    images = [part.inline_data for part in answer.parts if part.inline_data]
    return [[len(each.data), each.mime_type] for each in images], answer.text


@case("google")
def google_image_of_a_picture() -> Any:
    from google.genai import types

    picture = types.Part.from_bytes(data=PNG, mime_type="image/png")
    answer = google().generate_content(
        model="gemini-3.1-flash-image", contents=[picture, "Blue"],
        config={"response_modalities": ["TEXT", "IMAGE"]},
    )  # fmt: skip
    return [len(part.inline_data.data) for part in answer.parts if part.inline_data]


VOICE = {
    "response_modalities": ["AUDIO"],
    "speech_config": {
        "voice_config": {"prebuilt_voice_config": {"voice_name": "Kore"}},
        "language_code": "en-US",
    },
}


@case("google")
def google_speech() -> Any:
    answer = google().generate_content(model="gemini-3.8-flash-tts", contents=TEXT, config=VOICE)
    sounds = [part.inline_data for part in answer.parts]
    return sounds[0].mime_type, sum(len(each.data) for each in sounds)


@case("google")
def google_speech_streamed() -> Any:
    chunks = google().generate_content_stream(
        model="gemini-3.8-flash-tts", contents=TEXT, config=VOICE
    )
    return [len(part.inline_data.data) for chunk in chunks for part in chunk.parts or ()]


@case("google")
def google_transcript() -> Any:
    from google.genai import types

    sound = types.Part.from_bytes(data=WAV, mime_type="audio/wav")
    config = {
        "audio_transcription_config": {
            "language_codes": ["en"], "word_timestamp": True, "diarization": True,
        }
    }  # fmt: skip
    answer = google().generate_content(model="gemini-3.8-flash", contents=[sound], config=config)
    [found] = [part.audio_transcription for part in answer.parts if part.audio_transcription]
    words = [[each.word, each.start_offset, each.end_offset] for each in found.words[:1]]
    return found.text, found.speaker_label, found.start_offset, found.end_offset, words


if __name__ == "__main__":
    for name in sys.argv[3:] or CASES:
        HEADERS["x-case"] = name
        print(json.dumps([name, *refused(CASES[name])], default=str), flush=True)
