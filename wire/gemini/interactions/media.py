"""Writes media as contents of steps."""

from __future__ import annotations

import base64
import re

from wire.core.errors import RuleError, Violation
from wire.core.memory import Note
from wire.gemini.interactions.types import Content, MediaProcessing
from wire.neutral.media_types import media_type_of
from wire.neutral.messages import Media

_YOUTUBE = re.compile(r"https?://(www\.|m\.)?(youtube\.com|youtu\.be)/", re.IGNORECASE)


def media_content(media: Media, path: str, notes: list[Note]) -> Content:
    """Render media as a content: an image, a sound, a video, or a document for all other types.

    >>> media_content(Media(data=b"abc", media_type="image/png"), "", []).data
    'YWJj'

    Raises `RuleError` for a URL whose kind is not known.
    """
    url = media.url or ""
    kind = media.media_type.lower().partition(";")[0].strip()
    kind = kind or media_type_of(url.partition("?")[0], b"")
    word = "video" if _YOUTUBE.match(url) else kind.partition("/")[0]
    if not word:
        problem = "the kind of media at this URL is not known"
        remedy = "name it: Media(url=..., media_type='image/png')"
        raise RuleError(violations=[Violation(path, problem, remedy=remedy)])
    data = None if media.data is None else base64.b64encode(media.data).decode()
    if media.name:
        notes.append(Note(f"{path}.name", "left out: media have no name on this wire"))
    return Content(
        type=word if word in ("image", "audio", "video") else "document",
        data=data,
        uri=media.url,
        mime_type=kind or None,
        resolution=_resolution(media, word, path, notes),
        processing=_processing(media, word, path, notes),
    )


def _resolution(media: Media, word: str, path: str, notes: list[Note]) -> str | None:
    if media.detail in ("", "auto"):
        return None
    if word not in ("image", "video"):
        notes.append(Note(f"{path}.detail", "left out: only images and videos have a resolution"))
        return None
    return media.detail


def _processing(media: Media, word: str, path: str, notes: list[Note]) -> MediaProcessing | None:
    given = {name: getattr(media, name) for name in ("start", "end", "fps")}
    given = {name: value for name, value in given.items() if value not in ("", None)}
    if not given:
        return None
    if word not in ("audio", "video"):
        for name in given:
            notes.append(Note(f"{path}.{name}", "left out: only sounds and videos have it"))
        return None
    return MediaProcessing(
        type="static",
        start_offset=given.get("start"),
        end_offset=given.get("end"),
        fps=given.get("fps") if word == "video" else None,
    )
