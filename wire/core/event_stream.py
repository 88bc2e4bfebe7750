"""Reads and writes the frames of `application/vnd.amazon.eventstream`, without I/O.

>>> data = frame_bytes({":message-type": "event", ":event-type": "metadata"}, b"{}")
>>> decoder = Decoder()
>>> decoder.feed(data[:20])
[]
>>> [(frame.text(":event-type"), frame.payload) for frame in decoder.feed(data[20:])]
[('metadata', b'{}')]

A frame is a prelude of 12 bytes (size of the frame, size of its headers, CRC-32 of these 8 bytes),
the headers, the payload, and the CRC-32 of all bytes before it. Numbers are big endian.

The frames do not depend on where the network cut the bytes. A wrong checksum or size is an error,
because the content of that frame would be missing in the response, and nothing after it can be
found.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from wire.core.decoders import decoder, from_base64
from wire.core.errors import StreamInvalid, WireError, one_line
from wire.core.limits import Limits, over
from wire.core.sse import Event

CONTENT_TYPE = "application/vnd.amazon.eventstream"
"""The content type of a body of frames, and the value of `Accept` that requests one."""
MAX_HEADERS = 128 * 1024
"""Bytes of the headers of a frame."""
MAX_PAYLOAD = 24 * 1024 * 1024
"""Bytes of the payload of a frame."""

TRUE, FALSE, BYTE, SHORT, INTEGER, LONG, BYTES, STRING, TIMESTAMP, UUID = range(10)
"""Types of header values. A timestamp is in milliseconds; a UUID is its 16 bytes."""

_PRELUDE = struct.Struct(">III")
_CRC = struct.Struct(">I")
_AROUND = _PRELUDE.size + _CRC.size  # bytes of a frame beside its headers and its payload
_NUMBERS = {
    BYTE: struct.Struct(">b"),
    SHORT: struct.Struct(">h"),
    INTEGER: struct.Struct(">i"),
    LONG: struct.Struct(">q"),
    TIMESTAMP: struct.Struct(">q"),
}
_LENGTH = struct.Struct(">H")
_MAX_NAME = 255
_UUID_SIZE = 16


class Header(msgspec.Struct, frozen=True):
    """The value of a header, and its type on the wire."""

    type: int
    value: bool | int | str | bytes


class Frame(msgspec.Struct, frozen=True):
    """One frame."""

    headers: Mapping[str, Header]
    payload: bytes = b""

    def text(self, name: str) -> str:
        """Return the text of a header; empty without that header, or if it is no text."""
        header = self.headers.get(name)
        return header.value if header is not None and isinstance(header.value, str) else ""


class Decoder:
    """Decodes the frames of one stream from its bytes.

    `feed` raises nothing. `error` is set after the frames before the error were returned: a
    `StreamInvalid` with the bytes of the malformed frame that had arrived, or a `LimitError` for a
    frame larger than `limits.event`.
    """

    __slots__ = ("_count", "_limits", "_needed", "_rest", "error")

    def __init__(self, limits: Limits = Limits()) -> None:  # noqa: B008  it is immutable
        self.error: WireError | None = None
        self._limits = limits
        self._rest = bytearray()  # of the frame that has not ended
        self._needed = _PRELUDE.size  # bytes of it: first its prelude, then the whole frame
        self._count = 0

    @property
    def rest(self) -> bytes:
        """The bytes of the frame that has not ended, or that is malformed."""
        return bytes(self._rest)

    @property
    def held(self) -> int:
        """The number of bytes of the frame that has not ended."""
        return len(self._rest)

    def feed(self, data: bytes) -> list[Frame]:
        """Return the frames that `data` completes, in order."""
        rest, frames, start = self._rest, [], 0
        rest += data
        while self.error is None and len(rest) - start >= self._needed:
            piece = bytes(rest[start : start + self._needed])
            try:
                if self._needed == _PRELUDE.size:
                    self._needed = self._size(piece)
                else:
                    frames.append(self._frame(piece))
                    start += self._needed
                    self._needed, self._count = _PRELUDE.size, self._count + 1
            except WireError as error:
                self.error = error
        del rest[:start]
        return frames

    def _size(self, prelude: bytes) -> int:
        """Return the size of a frame."""
        size, headers, checksum = _PRELUDE.unpack(prelude)
        if zlib.crc32(prelude[:8]) != checksum:
            raise self._invalid("the checksum of its prelude is wrong", prelude)
        if size < _AROUND or headers > size - _AROUND:
            problem = f"it has {size} bytes, {headers} of them headers; {_AROUND} are others"
            raise self._invalid(problem, prelude)
        if headers > MAX_HEADERS or size - headers - _AROUND > MAX_PAYLOAD:
            problem = f"it has {size} bytes, {headers} of them headers, more than the format allows"
            raise self._invalid(problem, prelude)
        if size > self._limits.event:
            raise over("event", f"a frame is larger than {self._limits.event} bytes")
        return int(size)

    def _frame(self, data: bytes) -> Frame:
        if zlib.crc32(data[: -_CRC.size]) != _CRC.unpack(data[-_CRC.size :])[0]:
            raise self._invalid("its checksum is wrong", data)
        end = _PRELUDE.size + _PRELUDE.unpack(data[: _PRELUDE.size])[1]
        try:
            headers = _headers(data[_PRELUDE.size : end])
        except (ValueError, IndexError, struct.error) as cause:
            raise self._invalid(f"its headers are malformed ({cause})", data) from None
        return Frame(headers, data[end : -_CRC.size])

    def _invalid(self, problem: str, data: bytes) -> StreamInvalid:
        return StreamInvalid(f"frame {self._count} of the event stream: {problem}", raw=data)


class EventDecoder(Decoder):
    """Decodes the events in the frames of one stream.

    An exception and an error become an event `error` with the JSON object `{"error": {...}}`, as
    hosts send it in other framings.
    """

    __slots__ = ("_unframed",)

    def __init__(self, limits: Limits, unframed: Callable[[str, bytes], tuple[bytes, str]]) -> None:
        super().__init__(limits)
        self._unframed = unframed

    def feed(self, data: bytes) -> list[Event]:  # type: ignore[override]
        """Return the events in the frames that `data` completes, in order."""
        events: list[Event] = []
        for frame in super().feed(data):
            try:
                events.append(self._event(frame))
            except WireError as error:
                self.error = error
                break
        return events

    def _event(self, frame: Frame) -> Event:
        kind, name, payload = frame.text(":message-type"), frame.text(":event-type"), frame.payload
        if kind == "event":
            return Event(*self._unframed(name, payload))
        try:
            fields = decoder(dict[str, Any]).decode(payload or b"{}")
        except (ValueError, RecursionError):
            fields = {"message": payload.decode("utf-8", "replace")}
        if kind == "exception":
            fields["type"] = frame.text(":exception-type")
        elif kind == "error":
            fields |= {"code": frame.text(":error-code"), "message": frame.text(":error-message")}
        else:
            problem = f"a frame of the unknown type {one_line(kind, 80)!r}"
            raise StreamInvalid(problem, raw=payload)
        return Event(msgspec.json.encode({"error": fields}), "error")


def object_in(name: str, payload: bytes) -> tuple[bytes, str]:
    """Return the JSON object in the payload of a frame, and the name of its event.

    `name` is the type of the event. A `chunk` has an event of another wire, as base64.

    >>> object_in("chunk", b'{"bytes": "e30="}')
    (b'{}', 'message')

    Raises `StreamInvalid` for a chunk without bytes.
    """
    if name != "chunk":
        return payload, name
    try:
        return from_base64(decoder(dict[str, Any]).decode(payload)["bytes"]), "message"
    except (ValueError, LookupError, TypeError, RecursionError):
        pass
    text = one_line(payload.decode("utf-8", "replace"), 200)
    raise StreamInvalid(f"a chunk without bytes: {text}", raw=payload)


def _headers(data: bytes) -> dict[str, Header]:
    """Decode the headers of a frame. Raises `ValueError`, `IndexError` or `struct.error`."""
    headers: dict[str, Header] = {}
    at, size = 0, len(data)
    while at < size:
        start = at + 1
        at = start + data[at]
        name, kind = data[start:at].decode("utf-8"), data[at]
        at += 1
        value: bool | int | str | bytes
        if kind in (TRUE, FALSE):
            value = kind == TRUE
        elif (number := _NUMBERS.get(kind)) is not None:
            value = number.unpack_from(data, at)[0]
            at += number.size
        elif kind in (BYTES, STRING, UUID):
            length = _UUID_SIZE
            if kind != UUID:
                length = _LENGTH.unpack_from(data, at)[0]
                at += _LENGTH.size
            value = data[at : at + length]
            at += length
            if kind == STRING:
                value = value.decode("utf-8")
        else:
            raise ValueError(f"{name!r} has the unknown type {kind}")
        if at > size:
            raise ValueError(f"the value of {name!r} is longer than the headers")
        if name in headers:
            raise ValueError(f"{name!r} is there twice")
        headers[name] = Header(kind, value)
    return headers


def frame_bytes(headers: Mapping[str, Header | str], payload: bytes = b"") -> bytes:
    """Encode a frame. A text in place of a `Header` has the type `STRING`.

    >>> len(frame_bytes({}))
    16

    Raises `ValueError` for a header that no frame can have.
    """
    encoded = b"".join([_header_bytes(name, value) for name, value in headers.items()])
    sizes = (_AROUND + len(encoded) + len(payload), len(encoded))
    if len(encoded) > MAX_HEADERS or len(payload) > MAX_PAYLOAD:
        raise ValueError(f"a frame of {sizes[0]} bytes: the format allows no larger one")
    checked = struct.pack(">II", *sizes)
    data = checked + _CRC.pack(zlib.crc32(checked)) + encoded + payload
    return data + _CRC.pack(zlib.crc32(data))


def _header_bytes(name: str, header: Header | str) -> bytes:
    if isinstance(header, str):
        header = Header(STRING, header)
    kind, value, encoded = header.type, header.value, name.encode()
    if not 0 < len(encoded) <= _MAX_NAME:
        raise ValueError(f"header {name!r}: a name has 1 to {_MAX_NAME} bytes")
    head = bytes([len(encoded)]) + encoded + bytes([kind])
    try:
        if kind in (TRUE, FALSE):
            return head
        if kind in _NUMBERS:
            return head + _NUMBERS[kind].pack(value)
        data = value.encode() if isinstance(value, str) else bytes(value)
        return head + (data if kind == UUID else _LENGTH.pack(len(data)) + data)
    except (struct.error, TypeError) as cause:
        raise ValueError(f"header {name!r}: {cause}") from None
