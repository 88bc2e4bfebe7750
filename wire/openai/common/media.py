"""Forms of the URLs of media that OpenAI's wires accept."""

from __future__ import annotations

import re

FILE_ID = re.compile(r"file-[A-Za-z0-9_-]+")
"""Matches the id of an uploaded file."""
WEB_URL = re.compile(r"https?://[^\s]+", re.IGNORECASE)
NO_IMAGE_NAME = re.compile(
    r"[^?#]*\.(pdf|docx?|txt|html?|json|csv|wav|mp3|ogg|flac|m4a|mp4|mov|webm|mpe?g|avi)([?#]|$)",
    re.IGNORECASE,
)
"""Matches the beginning of a URL whose path ends as that of another file than an image."""
