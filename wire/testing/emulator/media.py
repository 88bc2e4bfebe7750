"""The images and sounds of the emulator: the smallest that are valid, and alike for all vendors."""

from __future__ import annotations

import base64

from wire.neutral.speech import as_wav

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg=="
)
"""A PNG of one black pixel."""
RATE = 24_000
"""Samples a second of speech."""
_MP3_FRAME = b"\xff\xf3\x44\xc4" + bytes(92)
"""24 ms of silence: MPEG-2 layer III, 32 kbit/s, mono."""
_MP3_SECONDS = 0.024
_HEADS = {"opus": b"OggS", "ogg": b"OggS", "aac": b"\xff\xf1", "flac": b"fLaC"}
"""Formats of which only the first bytes are right: their sound cannot be played."""


def silence(text: str, form: str) -> bytes:
    """Return silence as long as it takes to say a text, in a format.

    >>> silence("Hello", "wav")[:4], len(silence("Hello", "pcm"))
    (b'RIFF', 12000)
    """
    seconds = max(len(text), 1) * 0.05
    samples = bytes(2 * round(RATE * seconds))
    if form == "wav":
        return as_wav(samples, RATE)
    if form == "mp3":
        return _MP3_FRAME * max(1, round(seconds / _MP3_SECONDS))
    if form in _HEADS:
        return _HEADS[form] + samples[: round(100 * seconds)]
    return samples


def seconds_of(sound: bytes) -> float:
    """Return how long a sound is: of a WAV file by its head, of any other by its size.

    >>> seconds_of(silence("Hello", "wav"))
    0.25
    """
    if sound[:4] == b"RIFF" and sound[8:12] == b"WAVE" and len(sound) >= 44:
        a_second = int.from_bytes(sound[28:32], "little")
        return round((len(sound) - 44) / a_second, 2) if a_second else 0.0
    return round(len(sound) / 16_000, 2)
