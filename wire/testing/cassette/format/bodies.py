"""Converts the bytes of a body to the form that a cassette stores, and back.

The form is the JSON value with the name of its style, else lines of text, else base64. A form is
used only if it converts back to the identical bytes (C-01, C-02). In an event stream each event has
its own form.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

import msgspec
from msgspec import UNSET, UnsetType

from wire.testing.cassette.format.json_style import (
    LAYOUTS,
    ON_ONE_LINE,
    Escapes,
    Layout,
    Style,
    readable,
    written,
)
from wire.testing.cassette.format.structs import Body, Event, Framing, in_columns

_SPACE = b" \t\r\n"
# Atomic groups: without them, backtracking splits a CRLF into CR and LF, which is a blank line.
_EVENT = re.compile(rb".*?(?>\r\n|\r|\n)(?>\r\n|\r|\n)+|.+", re.DOTALL)
_BEFORE = re.compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*")
_LIKE_EVENTS = re.compile(rb"(?:\xef\xbb\xbf)?(?:data|event|id|retry|):")
_FIELDS = {"event", "id", "retry", "data"}
_RETRY = re.compile(r"[0-9]{1,18}")
_PLAIN = Style("compact", "raw")


def read_body(data: bytes, content_type: str = "") -> Body | UnsetType:
    """Return the most readable form that converts back to `data`; `UNSET` for no bytes."""
    if not data:
        return UNSET
    # JSON first, since servers send JSON error bodies as text/event-stream too.
    body = _as_json(data)
    if body is None and ("text/event-stream" in content_type or _LIKE_EVENTS.match(data)):
        body = _as_events(data)
    return _checked(data, body or _as_text(data))


def read_message(data: bytes) -> Body | UnsetType:
    """As `read_body`, for a message of a session, which has no events."""
    return _checked(data, _as_json(data) or _as_text(data)) if data else UNSET


def _checked(data: bytes, body: Body) -> Body:
    return body if b"".join(body_chunks(body)) == data else Body(base64=in_columns(data))


def _as_text(data: bytes) -> Body:
    text = _lines(data)
    return Body(base64=in_columns(data)) if text is None else Body(text=text)


def body_bytes(body: Body | UnsetType) -> bytes:
    """Convert a form back to its bytes."""
    return b"".join(body_chunks(body))


def body_chunks(body: Body | UnsetType) -> list[bytes]:
    """Convert a form back to its bytes, one item for each event."""
    if body is UNSET:
        return []
    if body.events is not UNSET:
        return [event_bytes(event, body) for event in body.events]
    if body.text is not UNSET:
        return ["".join(body.text).encode()]
    if body.base64 is not UNSET:
        return [base64.b64decode("".join(body.base64))]
    return [
        (body.before or "").encode()
        + written(_raw(body.json), _style(body))
        + (body.after or "").encode()
    ]


def event_bytes(event: Event, body: Body) -> bytes:
    """Convert one event of a body back to its bytes."""
    if event.text is not UNSET:
        return "".join(event.text).encode()
    if event.base64 is not UNSET:
        return base64.b64decode("".join(event.base64))
    line_end, gap = _marks(body.framing or "lf")
    end = line_end * 2 if event.end is UNSET else event.end.encode()
    return (event.before or "").encode() + line_end.join(_lines_of(event, body, gap)) + end


def _lines_of(event: Event, body: Body, gap: bytes) -> list[bytes]:
    if event.comment is not UNSET:
        return [gap + event.comment.encode()]
    if event.outside:
        return [_payload(event, body)]
    fields = (("event", event.event), ("id", event.id), ("retry", event.retry))
    lines = [
        name.encode() + gap + str(value).encode() for name, value in fields if value is not UNSET
    ]
    return [*lines, b"data" + gap + _payload(event, body)]


def _payload(event: Event, body: Body) -> bytes:
    if event.data is not UNSET:
        return event.data.encode()
    style = _style(body)
    payload = written(
        _raw(event.json), Style(event.layout or style.layout, event.escapes or style.escapes)
    )
    return payload[:-1] + b" " * event.pad + payload[-1:] if event.pad else payload


def _marks(framing: Framing) -> tuple[bytes, bytes]:
    """Return the line end, and the separator between the name and the value of a field."""
    return (b"\r\n" if framing.startswith("crlf") else b"\n"), (
        b":" if framing.endswith("tight") else b": "
    )


def _raw(value: object) -> bytes:
    assert isinstance(value, msgspec.Raw)
    return bytes(value)


def _style(body: Body) -> Style:
    return Style(body.layout or _PLAIN.layout, body.escapes or _PLAIN.escapes)


def _unless_raw(escapes: Escapes) -> Escapes | UnsetType:
    return UNSET if escapes == _PLAIN.escapes else escapes


def _lines(data: bytes) -> list[str] | None:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return None
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _as_json(data: bytes) -> Body | None:
    payload = data.strip(_SPACE)
    if payload[:1] not in (b"{", b"["):
        return None  # a bare word or number is more readable as text
    before, _, after = data.partition(payload)
    form = readable(payload, LAYOUTS)
    if form is None:
        return None
    layout, escapes = form.style
    return Body(
        layout=layout,
        escapes=_unless_raw(escapes),
        before=before.decode() or UNSET,
        after=after.decode() or UNSET,
        json=msgspec.Raw(form.json),
    )


# --- events ---------------------------------------------------------------------------------------


class _ReadEvent(NamedTuple):
    """An event; if its data is JSON, also its received bytes and their style."""

    event: Event
    payload: bytes = b""
    style: Style | None = None


def _as_events(data: bytes) -> Body:
    end = "crlf" if b"\r\n" in data else "lf"
    framing = cast(Framing, end if b"data: " in data else f"{end} tight")
    read: list[_ReadEvent] = []
    style = _PLAIN
    for piece in _EVENT.findall(data):
        read.append(_as_event(piece, framing, style))
        style = read[-1].style or style
    common = _common(read)
    events = [_restyled(each, common) for each in read]
    if common is None:
        return Body(framing=framing, events=events)
    return Body(
        framing=framing, layout=common.layout, escapes=_unless_raw(common.escapes), events=events
    )


def _as_event(piece: bytes, framing: Framing, first: Style) -> _ReadEvent:
    """Return the most readable form of one event that converts back to its bytes.

    The event names its style even if the body has the same; `_restyled` removes it later.
    """
    text = _lines(piece)
    if text is None:
        return _ReadEvent(Event(base64=in_columns(piece)))
    body = Body(framing=framing, events=[])
    line_end, gap = _marks(framing)
    start, inside, end = _around(piece)
    around: dict[str, Any] = {
        "before": start.decode() or UNSET,
        "end": UNSET if end == line_end * 2 else end.decode(),
    }
    for form in _json_forms(inside, LAYOUTS, first):
        event = _event(around | form | {"outside": True})
        if event is not None and event_bytes(event, body) == piece:
            return _ReadEvent(event)
    lines = [line.partition(gap) for line in inside.split(line_end)]
    fields: dict[str, Any] = {name.decode(): value.decode() for name, _, value in lines}
    if "data" in fields and fields.keys() <= _FIELDS and _RETRY.fullmatch(fields.get("retry", "0")):
        payload = fields.pop("data").encode()
        if "retry" in fields:
            fields["retry"] = int(fields["retry"])
        for form in _json_forms(payload, ON_ONE_LINE, first):
            event = _event(around | fields | form)
            if event is not None and event_bytes(event, body) == piece:
                assert event.layout is not UNSET
                style = Style(event.layout, event.escapes or _PLAIN.escapes)
                return _ReadEvent(event, _unpadded(payload, event.pad), style)
        fields["data"] = payload.decode()
    else:
        fields = {"comment": fields.get("", UNSET)}
    event = _event(around | fields)
    if event is not None and event_bytes(event, body) == piece:
        return _ReadEvent(event)
    return _ReadEvent(Event(text=text))


def _around(piece: bytes) -> tuple[bytes, bytes, bytes]:
    """Split an event into the white space before it, its lines, and the line ends after it."""
    found = _BEFORE.match(piece)
    assert found is not None  # it matches no bytes too
    rest = piece[found.end() :]
    inside = rest.rstrip(b"\r\n")
    return found[0], inside, rest[len(inside) :]


def _json_forms(
    payload: bytes, layouts: tuple[Layout, ...], first: Style
) -> Iterator[dict[str, Any]]:
    """Yield forms of a payload as JSON: as received, or without blanks before its last brace."""
    if payload[:1] not in (b"{", b"["):
        return
    blanks = len(payload) - 1 - len(payload[:-1].rstrip(b" "))
    for pad in (UNSET, blanks) if blanks and payload.endswith(b"}") else (UNSET,):
        form = readable(_unpadded(payload, pad), layouts, first)
        if form is not None:
            yield {
                "layout": form.style.layout,
                "escapes": form.style.escapes,
                "pad": pad,
                "json": msgspec.Raw(form.json),
            }


def _unpadded(payload: bytes, pad: int | UnsetType) -> bytes:
    return payload[: -1 - pad] + payload[-1:] if pad else payload


def _event(fields: dict[str, Any]) -> Event | None:
    """Build the event of these fields; `None` for an unknown field or an event without content."""
    try:
        return Event(**fields)
    except (TypeError, ValueError):
        return None


def _common(events: list[_ReadEvent]) -> Style | None:
    """Return the style that fits most events.

    Each event is tried in each style, because the style that it was read with is only one of those
    that fit: `{}` fits every style.
    """
    styles = {each.style for each in events if each.style is not None}
    if len(styles) < 2:
        return next(iter(styles), None)
    return max(
        sorted(styles), key=lambda style: sum(_in_style(each, style) is not None for each in events)
    )


def _in_style(read: _ReadEvent, style: Style) -> msgspec.Raw | None:
    """Return the JSON of an event for the cassette if `style` reproduces its bytes."""
    if read.style is None:
        return None
    form = readable(read.payload, (style.layout,), style)
    return msgspec.Raw(form.json) if form is not None and form.style == style else None


def _restyled(read: _ReadEvent, common: Style | None) -> Event:
    """Remove the style of the event, as far as it equals the style of the body."""
    if common is None or read.style is None:
        return read.event
    json = read.event.json if read.style == common else _in_style(read, common)
    if json is not None:
        return msgspec.structs.replace(read.event, layout=UNSET, escapes=UNSET, json=json)
    layout = UNSET if read.style.layout == common.layout else read.style.layout
    escapes = UNSET if read.style.escapes == common.escapes else read.style.escapes
    return msgspec.structs.replace(read.event, layout=layout, escapes=escapes)
