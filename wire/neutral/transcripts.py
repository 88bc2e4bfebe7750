"""Transcripts for all vendors: a sound in, what is said in it out.

Each wire with such an endpoint converts a `TranscriptRequest` to a call, and its response to a
`Transcript`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias, TypedDict

import msgspec

from wire.catalogue.usage import Usage
from wire.core.arguments import items_of
from wire.core.bodies import wrong_type
from wire.core.errors import RuleError, Violation
from wire.core.fields import Fields
from wire.core.memory import MetadataStruct, Note
from wire.core.secret import quoted
from wire.neutral.data_source import Readable
from wire.neutral.media_values import Priced, check_kind, checked_text
from wire.neutral.messages import Media

Sound: TypeAlias = Media | str | os.PathLike[str] | Readable
"""A `Media`, a path, or a binary file that the caller opens and closes."""
Timestamps: TypeAlias = Literal["segment", "word"]

_TIMES = ("segment", "word")


class TranscriptSettings(TypedDict, total=False):
    """The settings of a `TranscriptRequest`, as keyword arguments."""

    language: str | None
    prompt: str | None
    temperature: float | None
    timestamps: Timestamps | Sequence[Timestamps]
    speakers: bool
    translate: bool
    filename: str


class TranscriptRequest(MetadataStruct, frozen=True, metaclass=Fields):
    """A sound to write down, and how.

    >>> sound = Media(data=b"RIFF", media_type="audio/wav")
    >>> TranscriptRequest(sound, timestamps="word").timestamps
    ('word',)

    Raises `RuleError` for what is no sound, for an unknown kind of timestamps, and for texts that
    cannot be sent. What a host does not take is refused by its wire.
    """

    sound: Any
    """A `Media`, a path, or an open binary file; the last two are read while they are sent."""
    language: str | None = None
    """ISO 639-1, such as `en`; by default the model finds out."""
    prompt: str | None = None
    """A text in the style of the transcript, or what was said before."""
    temperature: float | None = None
    """0 to 1."""
    timestamps: tuple[Timestamps, ...] = ()
    """What gets times: `segment`, `word`, or both. Stored as a tuple."""
    speakers: bool = False
    """Tell who speaks."""
    translate: bool = False
    """Write it down in English."""
    filename: str = ""
    """Name of an open file without one: its ending tells the server what it is."""

    def __post_init__(self) -> None:
        if isinstance(self.sound, Media):
            check_kind("sound", self.sound, ("audio", "video"), "a sound or a video")
        elif not (
            isinstance(self.sound, str | os.PathLike) or callable(getattr(self.sound, "read", None))
        ):
            raise wrong_type("sound", self.sound, "Media, a path or a file opened in binary mode")
        for name in ("language", "prompt"):
            if (value := getattr(self, name)) is not None:
                checked_text(name, value)
        if not isinstance(self.filename, str):
            raise wrong_type("filename", self.filename, "text")
        given: Any = self.timestamps
        times = (given,) if isinstance(given, str) else items_of("timestamps", given)
        for each in times:
            if not isinstance(each, str) or each not in _TIMES:
                told = f"expected {' or '.join(_TIMES)}, not {quoted(each)}"
                raise _refused("timestamps", told)
        temperature: object = self.temperature
        if temperature is not None and (
            not isinstance(temperature, int | float) or isinstance(temperature, bool)
        ):
            raise wrong_type("temperature", temperature, "number")
        msgspec.structs.force_setattr(self, "timestamps", times)


def _refused(path: str, problem: str) -> RuleError:
    return RuleError(violations=[Violation(path, problem)])


class TranscriptSegment(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a transcript. Times are in seconds; `None` if the host sends none.

    >>> TranscriptSegment(text="Hello.", start=0.0, end=1.5).speaker
    ''
    """

    text: str
    """What is said in it."""
    start: float | None = None
    """Where it begins."""
    end: float | None = None
    """Where it ends."""
    speaker: str = ""
    """Who speaks, if that was asked for."""


class TranscriptWord(msgspec.Struct, frozen=True, kw_only=True):
    """A word of a transcript. Times are in seconds.

    >>> TranscriptWord(text="Hello", start=0.0, end=0.4).end
    0.4
    """

    text: str
    """The word."""
    start: float | None = None
    """Where it begins."""
    end: float | None = None
    """Where it ends."""


class Transcript(MetadataStruct, Priced, frozen=True):
    """What is said in a sound.

    >>> Transcript("Hello.").segments
    ()
    """

    text: str
    """All of it."""
    segments: tuple[TranscriptSegment, ...] = ()
    """Its parts with their times or speakers, if these were asked for."""
    words: tuple[TranscriptWord, ...] = ()
    """Its words with their times, if these were asked for."""
    language: str = ""
    """As the host calls it: a word or a code."""
    seconds: float | None = None
    """Length of the sound, if the host tells it."""
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
