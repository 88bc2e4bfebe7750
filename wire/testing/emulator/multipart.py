"""Bodies of several parts: multipart/related of Google, multipart/form-data of the others."""

from __future__ import annotations

from dataclasses import dataclass
from email.parser import BytesParser

from wire.testing.emulator.received import Received


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
    """The parts of a body, in their order; a body of another type is one part."""
    head = f"content-type: {request.headers.get('content-type', '')}\r\n\r\n".encode()
    message = BytesParser().parsebytes(head + request.body)
    found: list[Part] = []
    for each in message.walk():
        if each.is_multipart():
            continue
        data = each.get_payload(decode=True)
        assert isinstance(data, bytes)
        name = each.get_param("name", "", header="content-disposition")
        found.append(Part(str(name), each.get_filename("") or "", each.get_content_type(), data))
    return found
