"""Media types by the name of a file, and by its first bytes; `data:` URLs.

`mimetypes` is not used: its table depends on the machine, so that the same request would have
different bytes on another one.
"""

from __future__ import annotations

import os.path
import urllib.parse

from wire.core.decoders import from_base64
from wire.core.errors import RuleError, Violation

MEDIA_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".webp": "image/webp",
    ".gif": "image/gif",
    ".heic": "image/heic",
    ".heif": "image/heif",
    ".avif": "image/avif",
    ".bmp": "image/bmp",
    ".tif": "image/tiff",
    ".tiff": "image/tiff",
    ".svg": "image/svg+xml",
    ".mp4": "video/mp4",
    ".m4v": "video/mp4",
    ".mpeg": "video/mpeg",
    ".mpg": "video/mpeg",
    ".mov": "video/quicktime",
    ".webm": "video/webm",
    ".mkv": "video/x-matroska",
    ".avi": "video/x-msvideo",
    ".3gp": "video/3gpp",
    ".mp3": "audio/mpeg",
    ".wav": "audio/wav",
    ".aac": "audio/aac",
    ".m4a": "audio/mp4",
    ".aiff": "audio/aiff",
    ".ogg": "audio/ogg",
    ".opus": "audio/ogg",
    ".flac": "audio/flac",
    ".pdf": "application/pdf",
    ".rtf": "application/rtf",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ".txt": "text/plain",
    ".log": "text/plain",
    ".md": "text/markdown",
    ".html": "text/html",
    ".htm": "text/html",
    ".css": "text/css",
    ".csv": "text/csv",
    ".xml": "text/xml",
    ".py": "text/x-python",
    ".js": "text/javascript",
    ".json": "application/json",
    ".jsonl": "application/jsonl",
}
"""File extension in lower case -> media type."""

_PREFIXES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
    (b"%PDF-", "application/pdf"),
    (b"ID3", "audio/mpeg"),
    (b"\xff\xfb", "audio/mpeg"),
    (b"\xff\xf3", "audio/mpeg"),
    (b"\xff\xf2", "audio/mpeg"),
    (b"\xff\xf1", "audio/aac"),
    (b"\xff\xf9", "audio/aac"),
    (b"fLaC", "audio/flac"),
    (b"OggS", "audio/ogg"),
    (b"\x00\x00\x01\xba", "video/mpeg"),
    (b"\x00\x00\x01\xb3", "video/mpeg"),
)
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}
_BRANDS = {
    b"heic": "image/heic",
    b"heix": "image/heic",
    b"mif1": "image/heif",
    b"avif": "image/avif",
    b"qt  ": "video/quicktime",
    b"M4A ": "audio/mp4",
    b"3gp4": "video/3gpp",
    b"3gp5": "video/3gpp",
}
"""Major brand of an ISO base media file -> media type; any other brand is a video."""

_TEXTS = (
    "application/javascript",
    "application/json",
    "application/x-yaml",
    "application/xml",
    "application/yaml",
)
"""Media types of text that are not called so."""


def is_text(media_type: str) -> bool:
    """Return whether a media type is one of text.

    >>> is_text("text/csv; charset=utf-8"), is_text("application/json"), is_text("image/png")
    (True, True, False)
    """
    kind = media_type.lower().partition(";")[0].strip()
    return kind.startswith("text/") or kind in _TEXTS


HEAD_BYTES = 64
"""Bytes at the beginning of a file that `media_type_of` reads."""


def media_type_of(name: str, head: bytes = b"") -> str:
    """Return the media type of a file by its extension or first bytes; empty if unknown.

    >>> media_type_of("a.PNG"), media_type_of("scan", b"%PDF-1.7"), media_type_of("notes", b"Hi")
    ('image/png', 'application/pdf', '')
    """
    return MEDIA_TYPES.get(os.path.splitext(name)[1].lower(), "") or _type_of_bytes(head)


def _type_of_bytes(head: bytes) -> str:
    if head[:4] == b"RIFF":
        return _RIFF.get(head[8:12], "")
    if head[4:8] == b"ftyp":
        return _BRANDS.get(head[8:12], "video/mp4")
    if head[:4] == b"\x1a\x45\xdf\xa3":  # EBML, whose header names the kind
        return "video/webm" if b"webm" in head[:HEAD_BYTES] else "video/x-matroska"
    return next((kind for prefix, kind in _PREFIXES if head.startswith(prefix)), "")


def inline_data(url: str) -> tuple[str, bytes]:
    """Return the media type and the bytes of a `data:` URL. Raises `RuleError` for another one."""
    head, comma, body = url[5:].partition(",")
    media_type, _, rest = head.partition(";")
    data: bytes | None = None
    if comma:
        try:
            data = (
                from_base64(body)
                if rest.endswith("base64")
                else urllib.parse.unquote_to_bytes(body)
            )
        except ValueError:
            pass
    if data is None:
        raise RuleError(
            violations=[Violation("media.url", "not a data URL: expected data:TYPE;base64,BYTES")]
        )
    return media_type or "text/plain", data
