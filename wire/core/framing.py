"""Detects the framing of a body: server-sent events, JSON, or the frames of an event stream.

The first non-blank byte decides, because hosts send the wrong content type (Q1): `{` or `[` is
JSON, 0 or 1 is the size of a binary frame (`wire.core.event_stream`), any other byte is SSE.

Also: what received bytes may be that are no value of the wire.
"""

from __future__ import annotations

import re

import msgspec

from wire.core.decoders import decoder
from wire.core.errors import one_line

BOM = b"\xef\xbb\xbf"


class Framing:
    """Buffers a body until its first non-blank byte shows its framing.

    >>> framing = Framing()
    >>> framing.feed(b" "), framing.feed(b'{"id"'), framing.as_json
    (b'', b'{"id"', True)

    `as_json` and `as_frames` are valid once `feed` has returned bytes. From then on `feed`
    returns its input.
    """

    __slots__ = ("_head", "as_frames", "as_json")

    def __init__(self) -> None:
        self.as_json: bool = False
        self.as_frames: bool = False
        # Undecided: the first bytes of a BOM, or `b" "` for blanks. Decided: `None`. A BOM after a
        # blank is data, and the blank that is kept makes sure that it is not removed.
        self._head: bytes | None = b""

    def feed(self, data: bytes) -> bytes:
        """Return the bytes to decode, without a BOM and blanks at the beginning of the body."""
        if self._head is None:
            return data
        data = self._head + data
        bare = data.removeprefix(BOM).lstrip()
        if not bare or BOM.startswith(data):
            self._head = data if BOM.startswith(data) else b" "
            return b""
        self._head = None
        self.as_json = bare[:1] in b"[{"
        # A frame begins with its size in 4 bytes. It has at most 24 MiB: the first byte is 0 or 1.
        self.as_frames = bare[:1] in b"\0\1"
        return bare


# --- bytes that are no value ---------------------------------------------------------------------

_SSE_FIELDS = (b"data", b"event", b"id", b"retry")
_JSON = re.compile(rb"\{|\[\s*[\[{\"]")
MAX_SHOWN_BYTES = 200


def shown(data: bytes) -> str:
    """Return the beginning of malformed bytes, for an error message."""
    return one_line(data[:MAX_SHOWN_BYTES].decode("utf-8", "replace"))


def items(data: bytes) -> list[bytes] | None:
    """Split a JSON list, in most cases of one error; `None` if `data` is not a list."""
    try:
        return [bytes(item) for item in decoder(list[msgspec.Raw]).decode(data)]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def are_several(data: bytes) -> bool:
    """Return whether the lines are values of their own, not one value on several lines."""
    first, newline, _ = data.partition(b"\n")
    return bool(newline) and not is_damaged(first)


def may_be_events(head: bytes) -> bool:
    """Return whether a body begins with a comment or an event's field, which may be cut off."""
    name = re.split(rb"[:\r\n]", head, maxsplit=1)[0]
    if len(name) < len(head):
        return name in (b"", *_SSE_FIELDS)
    return any(field.startswith(name) for field in _SSE_FIELDS)


def is_damaged(data: bytes) -> bool:
    """Return whether a text begins as JSON and is not valid.

    `[DONE` and other JSON than objects do not count.
    """
    if not _JSON.match(data):
        return False
    try:
        decoder(msgspec.Raw).decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return True
    return False


def is_scalar(data: bytes) -> bool:
    """Return whether a body is one JSON value that is neither object nor array."""
    if data.lstrip()[:1] in (b"", b"["):
        return False
    try:
        decoder(msgspec.Raw).decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True
