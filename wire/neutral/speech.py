"""Speech for all vendors: a text in, sound out.

Each wire with such an endpoint converts a `SpeechRequest` to a call, and its response to `Speech`.
"""

from __future__ import annotations

import struct
from typing import Any, TypedDict

from wire.catalogue.usage import Usage
from wire.core.errors import RuleError, Violation
from wire.core.fields import Fields
from wire.core.memory import MetadataStruct, Note
from wire.core.secret import quoted
from wire.neutral.media_values import Priced, checked_text
from wire.neutral.messages import Media

SOUND_TYPES = {
    "mp3": "audio/mpeg",
    "opus": "audio/ogg",
    "ogg": "audio/ogg",
    "aac": "audio/aac",
    "flac": "audio/flac",
    "wav": "audio/wav",
    "pcm": "audio/pcm",
    "raw": "audio/pcm",
    "mulaw": "audio/basic",
}
"""Format of speech -> its media type. `pcm` has samples alone: 16 bits, little-endian, mono."""


class SpeechSettings(TypedDict, total=False):
    """The settings of a `SpeechRequest`, as keyword arguments."""

    voice: str | None
    format: str | None
    speed: float | None
    instructions: str | None
    language: str | None


class SpeechRequest(MetadataStruct, frozen=True, metaclass=Fields):
    """A text to speak, and how.

    >>> SpeechRequest("Hello", voice="alloy").format is None
    True

    Raises `RuleError` for a text that is empty or cannot be sent, and for a speed that is no
    positive number. What a host does not take is refused by its wire.
    """

    text: str
    """What is spoken."""
    voice: str | None = None
    """Name of a voice of the host, or the id of one of your own."""
    format: str | None = None
    """`mp3`, `wav`, `pcm`, ...; by default that of the host."""
    speed: float | None = None
    """1 is usual."""
    instructions: str | None = None
    """How to speak."""
    language: str | None = None
    """BCP 47, such as `en`; by default that of the text."""

    def __post_init__(self) -> None:
        checked_text("text", self.text)
        for name in ("voice", "format", "instructions", "language"):
            if (value := getattr(self, name)) is not None:
                checked_text(name, value)
        speed: object = self.speed
        if speed is not None and (
            not isinstance(speed, int | float) or isinstance(speed, bool) or not 0 < speed < 100
        ):
            told = f"expected a positive number, not {quoted(speed)}"
            raise RuleError(violations=[Violation("speed", told)])


class Speech(MetadataStruct, Priced, frozen=True):
    """The sound of a response, which goes into messages.

    >>> Speech(Media(data=b"ID3", media_type="audio/mpeg")).data
    b'ID3'
    """

    media: Media
    """The sound."""
    model: str = ""
    """The model that was asked, or that the host names."""
    provider: str = ""
    """Name of the row of the host."""
    usage: Usage | None = None
    """Tokens; `None` if the host counts none."""
    notes: tuple[Note, ...] = ()
    """Notes on what was changed or not sent."""
    source: Any = None
    """The wire's own struct, with all fields that the host sent."""

    @property
    def data(self) -> bytes:
        """The bytes of the sound."""
        return self.media.data or b""


def as_wav(samples: bytes, rate: int) -> bytes:
    """Write samples of 16 bits, mono, as a WAV file.

    >>> as_wav(b"", 24_000)[:4], len(as_wav(bytes(10), 24_000))
    (b'RIFF', 54)
    """
    size, width = len(samples), 2
    head = struct.pack("<4sI4s", b"RIFF", 36 + size, b"WAVE")
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, rate, rate * width, width, 8 * width)
    return head + form + struct.pack("<4sI", b"data", size) + samples
