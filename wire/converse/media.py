"""Neutral media as blocks: images, documents, videos and sounds."""

from __future__ import annotations

import base64
import re
from typing import Any

from wire.converse.rules import DOCUMENT_NAME, MAX_NAME
from wire.converse.types import (
    AudioBlock,
    AudioSource,
    ContentBlock,
    DocumentBlock,
    DocumentSource,
    ImageBlock,
    ImageSource,
    S3Location,
    ToolResultContentBlock,
    VideoBlock,
    VideoSource,
)
from wire.core.errors import RuleError, Violation
from wire.core.memory import Note
from wire.neutral.media_types import is_text
from wire.neutral.messages import Media

IMAGES = {
    "image/png": "png",
    "image/jpeg": "jpeg",
    "image/jpg": "jpeg",
    "image/gif": "gif",
    "image/webp": "webp",
}
DOCUMENTS = {
    "application/pdf": "pdf",
    "text/csv": "csv",
    "application/msword": "doc",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.ms-excel": "xls",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "text/html": "html",
    "text/plain": "txt",
    "text/markdown": "md",
}
VIDEOS = {
    "video/x-matroska": "mkv",
    "video/quicktime": "mov",
    "video/mp4": "mp4",
    "video/webm": "webm",
    "video/x-flv": "flv",
    "video/mpeg": "mpeg",
    "video/x-ms-wmv": "wmv",
    "video/3gpp": "three_gp",
}
SOUNDS = {
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
    "audio/opus": "opus",
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/aac": "aac",
    "audio/flac": "flac",
    "audio/mp4": "mp4",
    "audio/ogg": "ogg",
    "audio/m4a": "m4a",
    "audio/webm": "webm",
}
"""Media type to the format of this wire."""

_EXPECTED = "expected an image, a document, a video or a sound of a known type"


class Documents:
    """Names the documents of one request: legal names, each once (B22)."""

    def __init__(self, notes: list[Note]) -> None:
        self.notes = notes
        self._names: set[str] = set()

    def name(self, given: str, path: str) -> str:
        """Return the name of a document as sent."""
        stem = given.rpartition(".")[0] or given
        kept = re.sub(r"[^A-Za-z0-9_ \-()\[\]]+", " ", stem)
        name = re.sub(r" {2,}", " ", kept).strip()[: MAX_NAME - 5].strip()
        name = name if DOCUMENT_NAME.fullmatch(name) else "document"
        made, number = name, 1
        while made in self._names:
            number += 1
            made = f"{name}-{number}"
        self._names.add(made)
        if given and made not in (given, stem):
            self.notes.append(Note(f"{path}.name", f"changed to {made}: the wire takes no other"))
        return made


def media_block(media: Media, path: str, documents: Documents) -> ContentBlock:
    """Render media as a block.

    >>> media_block(Media(data=b"Ebb.", media_type="text/plain"), "", Documents([])).document.name
    'document'

    Raises `RuleError` for other media, and for a URL that does not lead to S3.
    """
    for name in ("detail", "start", "end", "fps"):
        if getattr(media, name) not in ("", "auto", None):
            documents.notes.append(Note(f"{path}.{name}", "left out: the wire has no field for it"))
    return ContentBlock(**_fields(media, path, documents))


def result_media(media: Media, path: str, documents: Documents) -> ToolResultContentBlock:
    """Render media of a tool's result. Raises as `media_block`, and for sounds."""
    fields = _fields(media, path, documents)
    if "audio" in fields:
        raise _unsupported(path, "a result has no sounds", "describe it in words")
    return ToolResultContentBlock(**fields)


def _fields(media: Media, path: str, documents: Documents) -> dict[str, Any]:
    kind = media.media_type.lower().partition(";")[0].strip()
    source = _source(media, path)
    if kind in DOCUMENTS or (is_text(kind) and kind not in IMAGES):
        form = DOCUMENTS.get(kind, "txt")
        if form == "txt" and kind != "text/plain":
            documents.notes.append(Note(path, f"sent as plain text: the wire has no {kind}"))
        name = documents.name(media.name, path)
        return {"document": DocumentBlock(format=form, name=name, source=DocumentSource(**source))}
    if media.name:
        documents.notes.append(Note(f"{path}.name", "left out: only documents have a name here"))
    if kind in IMAGES:
        return {"image": ImageBlock(format=IMAGES[kind], source=ImageSource(**source))}
    if kind in VIDEOS:
        return {"video": VideoBlock(format=VIDEOS[kind], source=VideoSource(**source))}
    if kind in SOUNDS:
        return {"audio": AudioBlock(format=SOUNDS[kind], source=AudioSource(**source))}
    raise _unsupported(path, f"{_EXPECTED}, not {kind or 'media without a type'}")


def _source(media: Media, path: str) -> dict[str, Any]:
    if media.data is not None:
        return {"bytes": base64.b64encode(media.data).decode()}
    url = media.url or ""
    if url.startswith("s3://"):
        return {"s3_location": S3Location(uri=url)}
    raise _unsupported(path, f"expected bytes or an s3:// URL, not {url[:80]!r}", "send the bytes")


def _unsupported(path: str, problem: str, remedy: str = "") -> RuleError:
    return RuleError(violations=[Violation(path, problem, remedy=remedy)])


AS_TYPES = {
    "image": {form: kind for kind, form in reversed(IMAGES.items())},
    "document": {form: kind for kind, form in reversed(DOCUMENTS.items())},
    "video": {form: kind for kind, form in reversed(VIDEOS.items())} | {"mpg": "video/mpeg"},
    "audio": {form: kind for kind, form in reversed(SOUNDS.items())},
}
"""Kind of a block to format to media type."""
