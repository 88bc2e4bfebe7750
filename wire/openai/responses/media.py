"""Writes images and files as parts of items."""

from __future__ import annotations

import base64

from wire.core.errors import RuleError, Violation
from wire.neutral.messages import Media
from wire.openai.common.media import FILE_ID, NO_IMAGE_NAME, WEB_URL
from wire.openai.responses.types import ContentPart

_FILE_TYPES = {
    "application/pdf": "document.pdf",
    "application/json": "document.json",
    "text/plain": "document.txt",
    "text/markdown": "document.md",
    "text/csv": "document.csv",
    "text/html": "document.html",
}
"""Media type of a file -> its name, if the caller gives none. The server goes by the extension."""


def media_part(media: Media, path: str) -> ContentPart:
    """Render media as a part: an image, or a file.

    >>> media_part(Media(data=b"abc", media_type="image/png"), "").image_url
    'data:image/png;base64,YWJj'

    A URL without a media type is taken for an image, unless its path ends otherwise. Raises
    `RuleError` for sound and video, which the wire does not have.
    """
    kind = media.media_type.lower().partition(";")[0].strip()
    if kind.startswith(("audio/", "video/")):
        raise _refused(path, f"expected an image or a document, not {kind}", "send a transcript")
    is_image = kind.startswith("image/")
    detail = media.detail or None
    if media.data is None:
        url = media.url or ""
        if FILE_ID.fullmatch(url):
            if is_image:
                return ContentPart(type="input_image", file_id=url, detail=detail)
            return ContentPart(type="input_file", file_id=url)
        if not WEB_URL.fullmatch(url):
            raise _refused(
                path,
                f"expected an http(s) URL or the id of a file, not {url[:80]!r}",
                "send the bytes: Media(data=..., media_type=...)",
            )
        if is_image or (not kind and not NO_IMAGE_NAME.match(url)):
            return ContentPart(type="input_image", image_url=url, detail=detail)
        return ContentPart(type="input_file", file_url=url)
    data = f"data:{kind};base64,{base64.b64encode(media.data).decode()}"
    if is_image:
        return ContentPart(type="input_image", image_url=data, detail=detail)
    name = media.name or _FILE_TYPES.get(kind, "")
    if not name:
        raise _refused(path, f"a file of the type {kind} needs a name", "Media(..., name='a.xlsx')")
    return ContentPart(type="input_file", filename=name, file_data=data)


def _refused(path: str, problem: str, remedy: str = "") -> RuleError:
    return RuleError(violations=[Violation(path, problem, remedy=remedy)])
