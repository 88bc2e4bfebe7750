"""Images, speech and transcripts as neutral calls, at OpenAI and the hosts that have its endpoints.

Which settings a host has, and how it takes pictures, are facts of its dialect.
"""

from __future__ import annotations

from wire.core.provider import Provider
from wire.neutral.media import Kind
from wire.openai.common.image_calls import image_call as image_call
from wire.openai.common.image_calls import stream_image_call as stream_image_call
from wire.openai.common.media_hosts import media_of
from wire.openai.common.sound_calls import speech_call as speech_call
from wire.openai.common.sound_calls import stream_speech_call as stream_speech_call
from wire.openai.common.sound_calls import stream_transcript_call as stream_transcript_call
from wire.openai.common.sound_calls import transcript_call as transcript_call


def kinds_of(provider: Provider | str) -> frozenset[Kind]:
    """Return what a host makes and reads."""
    host = media_of(provider)
    found: dict[Kind, object] = {
        "image": host.images,
        "stream_image": host.streams_images,
        "speech": host.speech,
        "stream_speech": host.streams_speech,
        "transcript": host.transcriptions,
        "stream_transcript": host.streams_transcriptions,
        "translation": host.translations,
    }
    return frozenset(kind for kind, has in found.items() if has)
