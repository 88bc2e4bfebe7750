"""Bodies of several parts: multipart/related of Google, multipart/form-data of the others.

Split at the boundary in one pass: a mail parser splits lines, and a body of line ends alone would
cost it minutes.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from email.message import Message
from email.parser import BytesHeaderParser

from wire.testing.emulator.received import Received

_MAX_PARTS = 100
_MAX_HEAD_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class Part:
    """One part of a body."""

    name: str
    """The name of the form field; empty in multipart/related."""
    filename: str
    kind: str
    """The media type."""
    data: bytes


def parts(request: Received) -> list[Part]:
    """Return the parts of a body, in their order; a body of another type is one part.

    Parts beyond the hundredth, and parts whose head is longer than 16 KiB, are left out.
    """
    whole = Message()
    whole["content-type"] = request.headers.get("content-type", "")
    boundary = whole.get_boundary()
    if whole.get_content_maintype() != "multipart" or not boundary:
        return [_part(whole, request.body)]
    begin = b"--" + boundary.encode("utf-8", "replace")
    _, *pieces = (b"\r\n" + request.body).split(b"\r\n" + begin, _MAX_PARTS + 1)
    if len(pieces) < 2:  # some clients end lines with LF
        _, *pieces = (b"\n" + request.body).split(b"\n" + begin, _MAX_PARTS + 1)
    found: list[Part] = []
    for piece in pieces[:_MAX_PARTS]:
        if piece.startswith(b"--"):
            break  # the end; what follows it means nothing
        head, data = _divided(piece)
        if head is not None:
            found.append(_part(BytesHeaderParser().parsebytes(head), data))
    return found


def _divided(piece: bytes) -> tuple[bytes | None, bytes]:
    """Split a part, which begins with the rest of its boundary's line, into head and data."""
    for blank in (b"\r\n\r\n", b"\n\n"):
        at = piece.find(blank, 0, _MAX_HEAD_BYTES)
        if at >= 0:
            return piece[:at].lstrip(b" \t\r\n"), piece[at + len(blank) :]
    return None, b""


def _part(head: Message, data: bytes) -> Part:
    if str(head.get("content-transfer-encoding", "")).strip().lower() == "base64":
        try:
            data = base64.b64decode(data)
        except ValueError:
            pass  # it is kept as it was sent
    name = head.get_param("name", "", header="content-disposition")
    return Part(str(name), head.get_filename("") or "", head.get_content_type(), data)
