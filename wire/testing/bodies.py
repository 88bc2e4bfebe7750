"""Bytes of a body to the form in which a cassette holds them, and back.

A form is chosen only after it gave back the identical bytes (C-01, C-02): the JSON value with the
name of its style, else lines of text, else base64. In a stream of events the choice is made for
each event.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

import msgspec
from msgspec import UNSET, UnsetType

from wire.testing.cassette import Body, Event, Framing
from wire.testing.writing import LAYOUTS, ON_ONE_LINE, Escapes, Style, readable, written

_SPACE = b" \t\r\n"
# Atomic groups: a CRLF must not be taken for a CR and an LF, which would be a blank line.
_EVENT = re.compile(rb".*?(?>\r\n|\r|\n)(?>\r\n|\r|\n)+|.+", re.DOTALL)
_LIKE_EVENTS = re.compile(rb"(?:\xef\xbb\xbf)?(?:data|event|id|retry|):")
_FIELDS = {"event", "id", "retry", "data"}
_RETRY = re.compile(r"[0-9]{1,18}")
_PLAIN = Style("compact", "raw")


def read_body(data: bytes, content_type: str = "") -> Body | UnsetType:
    """The most readable form that gives back `data`; `UNSET` for no bytes."""
    if not data:
        return UNSET
    # JSON first: error bodies are sent as text/event-stream too.
    body = _as_json(data)
    if body is None and ("text/event-stream" in content_type or _LIKE_EVENTS.match(data)):
        body = _as_events(data)
    if body is None:
        text = _lines(data)
        body = Body(base64=_columns(data)) if text is None else Body(text=text)
    return body if b"".join(body_chunks(body)) == data else Body(base64=_columns(data))


def body_bytes(body: Body | UnsetType) -> bytes:
    """The bytes that a form stands for."""
    return b"".join(body_chunks(body))


def body_chunks(body: Body | UnsetType) -> list[bytes]:
    """The same, event by event."""
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
    """The bytes of one event of a body."""
    if event.text is not UNSET:
        return "".join(event.text).encode()
    if event.base64 is not UNSET:
        return base64.b64decode("".join(event.base64))
    end, gap = _marks(body.framing or "lf")
    if event.comment is not UNSET:
        return gap.join((b"", event.comment.encode())) + end + end
    fields = (("event", event.event), ("id", event.id), ("retry", event.retry))
    lines = [
        name.encode() + gap + str(value).encode() for name, value in fields if value is not UNSET
    ]
    return end.join((*lines, b"data" + gap + _payload(event, body), b"", b""))


def _payload(event: Event, body: Body) -> bytes:
    if event.data is not UNSET:
        return event.data.encode()
    style = _style(body)
    payload = written(
        _raw(event.json), Style(event.layout or style.layout, event.escapes or style.escapes)
    )
    return payload[:-1] + b" " * event.pad + payload[-1:] if event.pad else payload


def _marks(framing: Framing) -> tuple[bytes, bytes]:
    """What ends a line, and what stands between the name of a field and its value."""
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


def _columns(data: bytes) -> list[str]:
    text = base64.b64encode(data).decode()
    return [text[at : at + 76] for at in range(0, len(text), 76)]


def _as_json(data: bytes) -> Body | None:
    payload = data.strip(_SPACE)
    if payload[:1] not in (b"{", b"["):
        return None  # a bare word or number says more as the text it is
    before, _, after = data.partition(payload)
    found = readable(payload, LAYOUTS)
    if found is None:
        return None
    layout, escapes = found.style
    return Body(
        layout=layout,
        escapes=_unless_raw(escapes),
        before=before.decode() or UNSET,
        after=after.decode() or UNSET,
        json=msgspec.Raw(found.json),
    )


# --- events ---------------------------------------------------------------------------------------


class _Found(NamedTuple):
    """An event, and its JSON on the wire with the style of that, if it has any."""

    event: Event
    payload: bytes = b""
    style: Style | None = None


def _as_events(data: bytes) -> Body:
    end = "crlf" if b"\r\n" in data else "lf"
    framing = cast(Framing, end if b"data: " in data else f"{end} tight")
    found: list[_Found] = []
    style = _PLAIN
    for piece in _EVENT.findall(data):
        found.append(_as_event(piece, framing, style))
        style = found[-1].style or style
    common = _common(found)
    events = [_restyled(each, common) for each in found]
    if common is None:
        return Body(framing=framing, events=events)
    return Body(
        framing=framing, layout=common.layout, escapes=_unless_raw(common.escapes), events=events
    )


def _as_event(piece: bytes, framing: Framing, first: Style) -> _Found:
    """The most readable form of one event that gives back its bytes; its style stands in it."""
    text = _lines(piece)
    if text is None:
        return _Found(Event(base64=_columns(piece)))
    body = Body(framing=framing, events=[])
    end, gap = _marks(framing)
    lines = [line.partition(gap) for line in piece.removesuffix(end + end).split(end)]
    fields: dict[str, Any] = {name.decode(): value.decode() for name, _, value in lines}
    if "data" in fields and fields.keys() <= _FIELDS and _RETRY.fullmatch(fields.get("retry", "0")):
        payload = fields.pop("data").encode()
        if "retry" in fields:
            fields["retry"] = int(fields["retry"])
        for found in _json_forms(payload, first):
            event = _event(fields | found)
            if event is not None and event_bytes(event, body) == piece:
                assert event.layout is not UNSET
                style = Style(event.layout, event.escapes or _PLAIN.escapes)
                return _Found(event, _unpadded(payload, event.pad), style)
        fields["data"] = payload.decode()
    else:
        fields = {"comment": fields.get("", UNSET)}
    event = _event(fields)
    if event is not None and event_bytes(event, body) == piece:
        return _Found(event)
    return _Found(Event(text=text))


def _json_forms(payload: bytes, first: Style) -> Iterator[dict[str, Any]]:
    """Ways to say a payload as JSON: as it is, or without the blanks before its last brace."""
    if payload[:1] not in (b"{", b"["):
        return
    blanks = len(payload) - 1 - len(payload[:-1].rstrip(b" "))
    for pad in (UNSET, blanks) if blanks and payload.endswith(b"}") else (UNSET,):
        found = readable(_unpadded(payload, pad), ON_ONE_LINE, first)
        if found is not None:
            yield {
                "layout": found.style.layout,
                "escapes": found.style.escapes,
                "pad": pad,
                "json": msgspec.Raw(found.json),
            }


def _unpadded(payload: bytes, pad: int | UnsetType) -> bytes:
    return payload[: -1 - pad] + payload[-1:] if pad else payload


def _event(fields: dict[str, Any]) -> Event | None:
    """The event of these fields, `None` if there is no such event: an unknown field, nothing that
    it carries.
    """
    try:
        return Event(**fields)
    except (TypeError, ValueError):
        return None


def _common(found: list[_Found]) -> Style | None:
    """The style that fits most events: `{}` fits any, so that the style in which one was found says
    little.
    """
    styles = {each.style for each in found if each.style is not None}
    if len(styles) < 2:
        return next(iter(styles), None)
    return max(
        sorted(styles), key=lambda style: sum(_in_style(each, style) is not None for each in found)
    )


def _in_style(found: _Found, style: Style) -> msgspec.Raw | None:
    """The JSON of an event for the cassette if it can be said in `style`."""
    if found.style is None:
        return None
    json = readable(found.payload, (style.layout,), style)
    return msgspec.Raw(json.json) if json is not None and json.style == style else None


def _restyled(found: _Found, common: Style | None) -> Event:
    """The event without what its body says already."""
    if common is None or found.style is None:
        return found.event
    json = found.event.json if found.style == common else _in_style(found, common)
    if json is not None:
        return msgspec.structs.replace(found.event, layout=UNSET, escapes=UNSET, json=json)
    layout = UNSET if found.style.layout == common.layout else found.style.layout
    escapes = UNSET if found.style.escapes == common.escapes else found.style.escapes
    return msgspec.structs.replace(found.event, layout=layout, escapes=escapes)
