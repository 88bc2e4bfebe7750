"""Bodies as Google's servers write them: indented JSON, events with CRLF, a growing array."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from wire.testing.cassette.format.json_style import Layout, Style, written
from wire.testing.emulator.answer import Answer, json_answer, json_bytes

JSON = "application/json; charset=UTF-8"
EVENTS = "text/event-stream"


def google_json(value: Any, layout: Layout = "google") -> bytes:
    """Encode JSON on one line, as in events, or indented, as in complete bodies.

    `<` and `>` are escaped.
    """
    try:
        plain = msgspec.json.encode(value)
    except UnicodeEncodeError:  # text that repeats half a surrogate pair of the request
        plain = json_bytes(value)
    return written(plain, Style(layout, "google"))


def whole(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """Build a complete body, indented."""
    return json_answer(google_json(value, "indent 2") + b"\n", status, headers, JSON)


def frame(data: bytes) -> bytes:
    """Encode one event."""
    return b"data: " + data + b"\r\n\r\n"


def events(chunks: Iterable[Any]) -> Answer:
    """Build a response of server-sent events."""
    pieces = tuple(frame(google_json(chunk)) for chunk in chunks)
    return Answer(200, (("content-type", EVENTS),), pieces or (b"",))


def array(chunks: Iterable[Any]) -> Answer:
    """Build a stream without `alt=sse`: one indented array, each item sent when it is there."""
    pieces = [
        (b"\n,\r\n" if index else b"[") + google_json(chunk, "indent 2")
        for index, chunk in enumerate(chunks)
    ]
    return Answer(200, (("content-type", JSON),), (*(pieces or [b"["]), b"\n]"))
