"""Annotations of texts as neutral citations, for chat completions and Responses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from wire.neutral.messages import Citation

_TEXTS = ("content", "summary", "snippet", "quote")
_TITLES = ("title", "filename")


def annotation_of(fields: Mapping[str, Any], begin: int, length: int) -> Citation:
    """Build the citation of an annotation of a text from the keys of its JSON.

    >>> annotation_of({"url": "https://example.com/", "start_index": 0, "end_index": 4}, 10, 9).end
    14

    The text has `length` code points and begins at `begin` in the text of the message. Positions
    count code points. `index` of a cited file is one position. OpenRouter sends 0 and 0 if it knows
    no span (recorded).
    """
    start, end = fields.get("start_index"), fields.get("end_index")
    known = type(start) is int and type(end) is int and 0 <= start < end <= length
    used = {"start_index", "end_index"} if known or (start, end) == (0, 0) else set()
    if start is None and type(fields.get("index")) is int and 0 <= fields["index"] <= length:
        start = end = fields["index"]
        known, used = True, {"index"}
    url, source = fields.get("url"), fields.get("file_id")
    title = next((key for key in _TITLES if isinstance(fields.get(key), str)), "")
    text = next((key for key in _TEXTS if isinstance(fields.get(key), str)), "")
    used |= {"url", "file_id", title, text}
    extra = {key: value for key, value in fields.items() if key not in used and value is not None}
    return Citation(
        url=url if isinstance(url, str) else "",
        title=fields.get(title, ""),
        text=fields.get(text, ""),
        source=source if isinstance(source, str) else "",
        start=begin + start if known and start is not None else None,
        end=begin + end if known and end is not None else None,
        extra=extra or None,
    )
