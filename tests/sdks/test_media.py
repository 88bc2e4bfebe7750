"""The vendors' own clients for images, speech and transcripts against the emulator: what they send
is taken, what they read is what was sent. `make test-sdks`.

Their versions stand in `media.txt` and `media.npm`: the newest of November 2026.
"""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest

from tests.sdks.record_media import CLIENTS, PYTHON, TABLE, table
from tests.sdks.test_sdks import HERE, SAID, VENVS, cases
from wire.testing.emulator import Emulator, serve

HEARD = "This is talk.wav of 284 bytes."
UNNAMED = "This is a sound of 284 bytes."
FETCHED = "This is https://example.com/talk.mp3 of 0 bytes."
SUBTITLES = f"1\n00:00:00,000 --> 00:00:00,030\n{HEARD}\n\n"
DRAWN = SAID.removesuffix("hi") + "A cat on a pier"

PYTHON_CASES: dict[str, dict[str, list[Any]]] = {
    "openai": {
        "images": ["ok", [[67], ["png", "low", "1024x1024", "opaque"], [5, 272, 277]]],
        "images_with_settings": [
            "ok",
            [[67, 67], ["webp", "high", "1536x1024", "opaque"], [5, 544, 549]],
        ],
        "images_as_vectors": ["ok", ["svg", "gpt-6-luna", 25]],
        "edit_as_vectors": ["ok", ["svg", "gpt-6-luna"]],
        "images_refused": ["ok", ["BadRequestError", 400, "invalid_value"]],
        "images_streamed": [
            "ok",
            [["ImageGenPartialImageEvent", "ImageGenCompletedEvent"], [0, 1], 67, 272],
        ],
        "edit": ["ok", [[67], ["png", "low", "1024x1024", "opaque"], [273, 272, 545]]],
        "edit_several_with_a_mask": [
            "ok",
            [[67, 67], ["png", "low", "1024x1024", "opaque"], [545, 544, 1089]],
        ],
        "edit_streamed": [
            "ok",
            [["ImageEditPartialImageEvent", "ImageEditCompletedEvent"], [0], 67, 272],
        ],
        "edit_refused": ["ok", ["BadRequestError", 400, "invalid_value"]],
        "speech": ["ok", ["audio/mpeg", 3360, "fff3"]],
        "speech_with_settings": ["ok", ["audio/wav", "RIFF"]],
        "speech_streamed": ["ok", 3360],
        "speech_as_events": [
            "ok",
            [
                "text/event-stream; charset=utf-8",
                [840, 840, 840, 840, None],
                ["speech.audio.delta", "speech.audio.done"],
                {"input_tokens": 5, "output_tokens": 20, "total_tokens": 25},
            ],
        ],
        "speech_refused": ["ok", ["BadRequestError", 400, "invalid_value"]],
        "transcript": ["ok", [HEARD, "tokens", 13]],
        "transcript_with_settings": [
            "ok",
            [
                HEARD,
                [
                    ["This", -0.269],
                    [" is", -0.014],
                    [" talk", -0.126],
                    [".", -0.078],
                    ["wav", -0.22],
                    [" of", -0.499],
                    [" 284", -0.462],
                    [" byte", -0.399],
                    ["s", -0.339],
                    [".", -0.078],
                ],
            ],
        ],
        "transcript_with_chunks": ["ok", HEARD],
        "transcript_verbose": [
            "ok",
            [
                "TranscriptionVerbose",
                HEARD,
                "english",
                0.03,
                None,
                [0, 0.0, 0.03, f" {HEARD}", 0, [50364]],
                [0.0, -0.25, 1.0],
                0.01,
                1.0,
            ],
        ],
        "transcript_words": [
            "ok",
            [
                1,
                [
                    ["This", 0.0, 0.01],
                    ["is", 0.01, 0.01],
                    ["talk.wav", 0.01, 0.01],
                    ["of", 0.01, 0.02],
                    ["284", 0.02, 0.02],
                    ["bytes", 0.02, 0.03],
                ],
            ],
        ],
        "transcript_subtitles": ["ok", SUBTITLES],
        "transcript_diarized": [
            "ok",
            [
                "TranscriptionDiarized",
                "transcribe",
                0.03,
                HEARD,
                "tokens",
                ["seg_0", "transcript.text.segment", "A", 0.0, 0.03, f" {HEARD}"],
            ],
        ],
        "transcript_known_speakers": ["ok", ["A"]],
        "transcript_streamed": [
            "ok",
            [["TranscriptionTextDeltaEvent", "TranscriptionTextDoneEvent"], HEARD, True, 13],
        ],
        "transcript_diarized_streamed": [
            "ok",
            [
                ["TranscriptionTextSegmentEvent", "TranscriptionTextDoneEvent"],
                [["seg_0", "A", f" {HEARD}"]],
            ],
        ],
        "transcript_refused": ["ok", ["BadRequestError", 400, "unsupported_value"]],
        "translation": ["ok", HEARD],
        "translation_verbose": ["ok", ["TranslationVerbose", "english", 0.03, 1]],
        "translation_refused": ["ok", ["BadRequestError", 400, "invalid_value"]],
    },
    "mistral": {
        "speech": ["ok", "RIFF"],
        "speech_streamed": [
            "ok",
            [
                ["SpeechStreamAudioDelta", "SpeechStreamDone"],
                "speech.audio.delta",
                [840, 840, 840, 840],
                25,
            ],
        ],
        "speech_with_a_wrong_key": ["ok", ["SDKError", 401, None]],
        "transcript": ["ok", ["voxtral-mini-latest", HEARD, None, [], 16]],
        "transcript_with_settings": [
            "ok",
            ["en", ["transcription_segment", HEARD, 0.0, 0.03, "speaker_1"]],
        ],
        "transcript_of_an_address": ["ok", FETCHED],
        "transcript_streamed": [
            "ok",
            [
                [
                    "TranscriptionStreamLanguage",
                    "TranscriptionStreamTextDelta",
                    "TranscriptionStreamDone",
                ],
                HEARD,
                True,
                16,
            ],
        ],
        "transcript_streamed_by_speaker": [
            "ok",
            [
                [
                    "TranscriptionStreamLanguage",
                    "TranscriptionStreamTextDelta",
                    "TranscriptionStreamSegmentDelta",
                    "TranscriptionStreamDone",
                ],
                [[HEARD, "speaker_1"]],
            ],
        ],
        "transcript_refused": ["ok", ["SDKError", 400, None]],
    },
    "groq": {
        "speech": ["ok", "RIFF"],
        "speech_streamed": ["ok", ["audio/mpeg", 3360]],
        "speech_refused": ["ok", ["BadRequestError", 400, "invalid_value"]],
        "transcript": ["ok", HEARD],
        "transcript_with_settings": ["ok", [0.03, 6, 1]],
        "transcript_of_an_address": ["ok", FETCHED],
        "transcript_refused": ["ok", ["BadRequestError", 400, None]],
        "translation": ["ok", HEARD],
    },
    "together": {
        "images": [
            "ok",
            [
                "list",
                "black-forest-labs/FLUX.1-schnell",
                True,
                ["ImageDataURL"],
                [["url", 0, "https://"], ["url", 1, "https://"]],
            ],
        ],
        "images_with_settings": ["ok", [["ImageDataB64"], [67]]],
        "images_refused": ["ok", ["BadRequestError", 400, "invalid_value"]],
        "speech": ["ok", "RIFF"],
        "speech_with_settings": ["ok", 40800],
        "speech_streamed": [
            "ok",
            [
                ["AudioSpeechStreamChunk"],
                "audio.tts.chunk",
                "cartesia/sonic",
                [10200, 10200, 10200, 10200],
            ],
        ],
        "transcript": ["ok", ["AudioTranscriptionJsonResponse", HEARD]],
        "transcript_with_settings": [
            "ok",
            [
                "AudioTranscriptionVerboseJsonResponse",
                "english",
                0.03,
                0,
                ["This", "SPEAKER_00", 6],
                [0, "SPEAKER_00", HEARD, 0.0, 0.03, 6],
            ],
        ],
        "translation": ["ok", ["AudioTranslationJsonResponse", HEARD]],
    },
    "openrouter": {
        "images": ["ok", [[67], "image/png", [5, 272, 277, 0.0001]]],
        "images_with_settings": ["ok", [[67, 67], "image/png"]],
        "images_streamed": ["ok", [["ImageGenCompletedEvent"], "image/png", 67, 277]],
        "images_refused": ["ok", ["BadRequestResponseError", 400, None]],
        "speech": ["ok", ["audio/pcm", 40800]],
        "speech_with_settings": ["ok", "audio/mpeg"],
        "transcript": ["ok", [UNNAMED, "STTUsage", 0.03]],
        "transcript_with_settings": [
            "ok",
            [
                ["english", 0.03, "transcribe"],
                [0, 0.0, 0.03, f" {UNNAMED}", None, None],
                ["This", 0, None],
            ],
        ],
        "transcript_of_an_address": ["ok", FETCHED],
        "transcript_refused": ["ok", ["BadRequestResponseError", 400, None]],
    },
    "google": {
        "imagen": ["ok", [[67, "image/png"]]],
        "imagen_with_settings": ["ok", [[67, "image/png"], [67, "image/png"]]],
        "imagen_refused": ["ok", ["ClientError", 400, "INVALID_ARGUMENT"]],
        "image": ["ok", [[[67, "image/png"]], DRAWN]],
        "image_of_a_picture": ["ok", [67]],
        "speech": ["ok", ["audio/L16;codec=pcm;rate=24000", 148800]],
        "speech_streamed": ["ok", [74400, 74400]],
        "transcript": ["ok", [UNNAMED, "spk_1", "0s", "0.03s", [[UNNAMED, "0s", "0.03s"]]]],
    },
}

JAVASCRIPT_CASES: dict[str, dict[str, list[Any]]] = {
    "openai": {
        "images": ["ok", [[67, 67], "high", 549]],
        "images_streamed": [
            "ok",
            [
                [
                    "image_generation.partial_image",
                    "image_generation.partial_image",
                    "image_generation.completed",
                ],
                67,
            ],
        ],
        "images_refused": ["BadRequestError", 400, "invalid_value", None],
        "edit": ["ok", [[67], "low", 545]],
        "edit_several_with_a_mask": ["ok", [[67], "low", 817]],
        "edit_streamed": ["ok", [["image_edit.completed"], 67]],
        "speech": ["ok", ["audio/mpeg", 3360]],
        "speech_as_events": [
            "ok",
            [
                "speech.audio.delta",
                "speech.audio.delta",
                "speech.audio.delta",
                "speech.audio.delta",
                "speech.audio.done",
            ],
        ],
        "speech_refused": ["BadRequestError", 400, "invalid_value", None],
        "transcript": ["ok", [HEARD, "tokens"]],
        "transcript_words": ["ok", [6, 1, "english", 0.03]],
        "transcript_with_chunks": ["ok", HEARD],
        "transcript_subtitles": ["ok", SUBTITLES],
        "transcript_diarized": ["ok", [["seg_0", "A"]]],
        "transcript_streamed": ["ok", [HEARD, HEARD, "transcript.text.done"]],
        "transcript_refused": ["BadRequestError", 400, "unsupported_value", None],
        "translation": ["ok", HEARD],
    },
    "google": {
        "imagen": ["ok", [[67, "image/png"], [67, "image/png"]]],
        "imagen_refused": ["ApiError", 400, None, None],
        "image": ["ok", [[67, "image/png"]]],
        "speech": [
            "ok",
            [[74400, "audio/L16;codec=pcm;rate=24000"], [74400, "audio/L16;codec=pcm;rate=24000"]],
        ],
        "speech_streamed": ["ok", [74400, 74400]],
        "transcript": ["ok", [UNNAMED, "spk_1"]],
    },
}


@pytest.mark.sdks
@pytest.mark.parametrize("client", CLIENTS)
def test_clients_for_python(client: str) -> None:
    with serve(Emulator(provider=CLIENTS[client])) as server:
        found = cases(PYTHON, HERE / "drive_media.py", client, server.url)
    assert found == PYTHON_CASES[client]


@pytest.mark.sdks
@pytest.mark.parametrize("client", JAVASCRIPT_CASES)
def test_clients_for_javascript(client: str) -> None:
    modules = VENVS / "media" / "node" / "node_modules"
    if shutil.which("node") is None or not modules.exists():
        pytest.skip("node is not there")
    with serve(Emulator(provider=CLIENTS[client])) as server:
        script = HERE / "drive_media.cjs"
        found = cases("node", script, client, server.url, NODE_PATH=str(modules))
    assert found == JAVASCRIPT_CASES[client]


@pytest.mark.sdks
def test_the_recorded_requests_are_those_of_the_clients() -> None:
    kept = json.loads(TABLE.read_text("utf-8"))
    assert {**table(), "recorded": ""} == {**kept, "recorded": ""}
