"""Sounds and images of the assistant: as neutral media, and as a host takes them back.

- Speech comes in `audio`: base64, a transcript, and an id. In a stream, the base64 comes in pieces,
  each of which may end with padding. A request has the id alone.
- Images come in `images`, or as parts of the content. They are `data:` or http(s) URLs.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable

from wire.core.decoders import from_base64
from wire.core.errors import RuleError
from wire.core.lenient import Halves, portable_fields, well_formed
from wire.neutral.media_types import HEAD_BYTES, media_type_of
from wire.neutral.messages import Media, Other, Part, Text
from wire.openai.chat.types import Audio, ContentPart, ImageUrl

PCM = "audio/pcm;rate=24000"
"""OpenAI's `pcm16`: 16 bits, little-endian, one channel. It is the only format of sounds that has
no header, and the only one that OpenAI streams."""

SOUND = "audio/*"
"""The media type of a sound without bytes: no field tells its format."""


class Base64Pieces:
    r"""Decodes base64 that arrives in pieces, cut anywhere; a piece may end with padding.

    >>> pieces = Base64Pieces()
    >>> [pieces.feed(text) for text in ("UklG", "Rg==", "Vw", "A=")]
    [b'RIF', b'F', b'', b'W\x00']
    """

    def __init__(self) -> None:
        self._rest = ""

    def feed(self, text: str) -> bytes:
        """Return the bytes that are complete. Raises `ValueError` for text that is not base64."""
        text = self._rest + text
        end = len(text) - len(text) % 4
        self._rest = text[end:]
        # Padding ends an encoded unit, and the next one begins behind it.
        return b"".join(map(from_base64, _UNITS.findall(text[:end])))

    def close(self) -> bytes:
        """Return the bytes of a last piece without padding."""
        rest, self._rest = self._rest, ""
        return from_base64(rest + "=" * (-len(rest) % 4))


_UNITS = re.compile(r"[^=]+={0,2}|=+")


def joined_base64(pieces: Iterable[str]) -> str:
    """Join the base64 of all pieces. Malformed pieces are concatenated as they are.

    >>> joined_base64(["UklGRg==", "Vw=="])
    'UklGRlc='
    """
    pieces = list(pieces)
    if not any(piece.endswith("=") for piece in pieces[:-1]):
        return "".join(pieces)
    decoder = Base64Pieces()
    try:
        data = b"".join(map(decoder.feed, pieces)) + decoder.close()
    except ValueError:
        return "".join(pieces)
    return base64.b64encode(data).decode()


class Speech:
    """Speech while its pieces arrive."""

    def __init__(self) -> None:
        self._id = ""
        self._expires_at: int | None = None
        self._halves = Halves()
        self._transcript: list[str] = []
        self._base64: list[str] = []
        self._data: list[bytes] = []
        self._head = b""  # first bytes, which tell the format
        self._decoder = Base64Pieces()
        self._is_malformed = False

    def feed(self, audio: Audio) -> tuple[bytes, str]:
        """Add a piece; return what it adds to the bytes and to the transcript."""
        self._id = audio.id or self._id
        self._expires_at = audio.expires_at or self._expires_at
        text = self._halves.feed(audio.transcript or "")
        self._transcript.append(text)
        if not audio.data:
            return b"", text
        self._base64.append(audio.data)
        return self._decoded(audio.data), text

    def close(self) -> tuple[bytes, str]:
        """Return the bytes and the part of the transcript that were held back."""
        self._transcript.append(self._halves.rest)
        return self._decoded(None), self._halves.rest

    def _decoded(self, text: str | None) -> bytes:
        if self._is_malformed:
            return b""
        try:
            data = self._decoder.close() if text is None else self._decoder.feed(text)
        except ValueError:
            self._is_malformed = True
            return b""
        self._data.append(data)
        self._head += data[: HEAD_BYTES - len(self._head)]
        return data

    @property
    def media_type(self) -> str:
        """The media type by the first bytes; empty without bytes."""
        return (media_type_of("", self._head) or PCM) if self._head else ""

    def part(self) -> Part | None:
        """Return the neutral part; `None` if no piece had an id, bytes or a transcript.

        Speech without bytes has its id as URL. Bytes that are not base64 become an `Other`.
        """
        id, transcript = well_formed(self._id), "".join(self._transcript)
        given = {"id": id, "expires_at": self._expires_at}
        extra = {key: value for key, value in given.items() if value} or None
        data = b"".join(self._data)
        if self._is_malformed:
            text = well_formed("".join(self._base64))
            return Other("audio", {**(extra or {}), "data": text, "transcript": transcript})
        if data:
            return Media(data=data, media_type=self.media_type, transcript=transcript, extra=extra)
        if id:
            return Media(url=id, media_type=SOUND, transcript=transcript, extra=extra)
        return Text(transcript) if transcript else None


def image_of(part: ContentPart) -> Part:
    """Convert an image to a neutral part; to an `Other` if its URL is malformed.

    >>> image_of(ContentPart(type="image_url", image_url=ImageUrl(url="https://a.example/b.png")))
    Media(url='https://a.example/b.png', media_type='image/png')
    """
    url = part.image_url.url if isinstance(part.image_url, ImageUrl) else part.image_url
    try:
        if url:
            kind = "" if url[:5].lower() == "data:" else media_type_of(url.partition("?")[0])
            return Media(url=well_formed(url), media_type=kind)
    except RuleError:
        pass
    return Other(well_formed(part.type or "image_url"), portable_fields(part))


def sent_speech(media: Media) -> Audio | None:
    """Return speech in the form of a request; `None` if the media have no id."""
    id = (media.extra or {}).get("id")
    return Audio(id=id) if isinstance(id, str) and id else None


def is_image(media: Media) -> bool:
    """Return whether media are an image; a URL without a type is taken for one."""
    return media.media_type.startswith("image/") or not media.media_type


def sent_image(media: Media) -> ContentPart:
    """Convert an image to a part of `images`."""
    url = media.url
    if media.data is not None:
        data = base64.b64encode(media.data).decode()
        url = f"data:{media.media_type};base64,{data}"
    return ContentPart(type="image_url", image_url=ImageUrl(url=url))


def has_speech(audio: Audio) -> bool:
    """Return whether a field `audio` holds anything. Snowflake sends one with empty values.

    >>> has_speech(Audio(id="", data="", transcript="", expires_at=0)), has_speech(Audio(id="a"))
    (False, True)
    """
    return bool(audio.id or audio.data or audio.transcript)
