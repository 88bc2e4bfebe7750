"""What a wire with images, speech or transcripts has: the calls of each, and their settings."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, Protocol, TypeAlias

from wire.core.call import Call, StreamCall
from wire.core.errors import RuleError, Violation
from wire.core.provider import Provider
from wire.neutral.images import ImageRequest, Images, PartialImage
from wire.neutral.messages import MediaDelta, TextDelta
from wire.neutral.speech import Speech, SpeechRequest
from wire.neutral.transcripts import Transcript, TranscriptRequest, TranscriptSegment

TranscriptEvent: TypeAlias = TextDelta | TranscriptSegment


Kind: TypeAlias = Literal[
    "image",
    "stream_image",
    "speech",
    "stream_speech",
    "transcript",
    "stream_transcript",
    "translation",
]
"""What a provider may make and read, whole and as a stream."""


_SHAPES = ("size", "aspect_ratio", "resolution")
_NOTHING = (None, (), False)
_SETTINGS: dict[type, tuple[str, ...]] = {
    ImageRequest: (*_SHAPES, "quality", "background", "format", "seed", "count", "mask"),
    SpeechRequest: ("voice", "format", "speed", "instructions", "language"),
    TranscriptRequest: ("language", "prompt", "temperature", "timestamps", "speakers"),
}
"""Requests -> their settings that not every host has."""


def refuse_others(
    request: ImageRequest | SpeechRequest | TranscriptRequest, known: Collection[str]
) -> None:
    """Raise `RuleError` with each setting of a request that is given and that the host lacks.

    `known` are the settings that it has; `pictures` is one, too.
    """
    shapes = [name for name in _SHAPES if name in known]
    others = [
        Violation(
            name,
            "this host has no such setting",
            remedy=f"it has {' and '.join(shapes)}" if name in _SHAPES and shapes else "",
        )
        for name in _SETTINGS[type(request)]
        if getattr(request, name) not in _NOTHING and name not in known
    ]
    if isinstance(request, ImageRequest) and request.pictures and "pictures" not in known:
        others.append(Violation("pictures", "this model changes no pictures"))
    if others:
        raise RuleError(violations=others)


class WireMedia(Protocol):
    """The calls of a wire for media. Each raises `RuleError` for what the provider refuses."""

    def kinds_of(self, provider: Provider | str) -> frozenset[Kind]:
        """Return what the provider makes and reads; only these calls are asked for."""
        ...

    def image_call(
        self, request: ImageRequest, model: str, provider: Provider | str = ""
    ) -> Call[Images]:
        """Build the call that makes images, or changes pictures."""
        ...

    def stream_image_call(
        self, request: ImageRequest, model: str, provider: Provider | str = ""
    ) -> StreamCall[PartialImage, Images]:
        """Build the same as a stream of partial images."""
        ...

    def speech_call(
        self, request: SpeechRequest, model: str, provider: Provider | str = ""
    ) -> Call[Speech]:
        """Build the call that speaks a text."""
        ...

    def stream_speech_call(
        self, request: SpeechRequest, model: str, provider: Provider | str = ""
    ) -> StreamCall[MediaDelta, Speech]:
        """Build the same as a stream of pieces of the sound."""
        ...

    def transcript_call(
        self, request: TranscriptRequest, model: str, provider: Provider | str = ""
    ) -> Call[Transcript]:
        """Build the call that writes down what is said."""
        ...

    def stream_transcript_call(
        self, request: TranscriptRequest, model: str, provider: Provider | str = ""
    ) -> StreamCall[TranscriptEvent, Transcript]:
        """Build the same as a stream of pieces of the text."""
        ...
