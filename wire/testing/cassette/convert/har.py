"""Reads and writes HTTP Archives, HAR 1.2 (C-37).

A HAR has texts, so a body that is not UTF-8 is in base64: a response's in `content` with
`encoding`, as HAR has it, a request's in `postData` with `_encoding`, since HAR has no field for
it. Names that begin with `_` are free for each program.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any, get_args
from urllib.parse import parse_qsl, urlencode

import msgspec
from msgspec import UNSET

from wire.core.printable import printable_json
from wire.core.version import VERSION
from wire.testing.cassette.convert.foreign import (
    At,
    Exchange,
    Headers,
    Notes,
    base64_text,
    reason_phrase,
)
from wire.testing.cassette.format.bodies import body_bytes
from wire.testing.cassette.format.sent import Sent, session_url
from wire.testing.cassette.format.structs import Close, End, Interaction
from wire.testing.cassette.heard import Heard

_EPOCH = datetime(1970, 1, 1)
_OPCODES = (1, 2)
_FORM = "application/x-www-form-urlencoded"
_OWN_ENDS: dict[str, End] = {end: end for end in get_args(End)}
_ENDS: tuple[tuple[str, End], ...] = (
    ("timed_out", "timeout"),
    ("timeout", "timeout"),
    ("incomplete", "cut"),
    ("mismatch", "cut"),
    ("aborted", "closed by the caller"),
)
"""Parts of the names that Chromium gives in `response._error`, and how the body ended."""


def is_har(file: At) -> bool:
    """Return whether a document is a HAR."""
    return "log" in file and "entries" in file.child("log")


def read_har(file: At, notes: Notes) -> Iterator[Exchange]:
    """Yield the exchanges of a HAR; raises `Fault` with the path of what is malformed.

    An entry that is not an HTTP exchange with its bodies is left out, with a note.
    """
    log = file.child("log")
    version = log.get("version")
    if version is not None and version.text() not in ("", "1.1", "1.2"):
        raise version.fault("unknown version of HAR; expected 1.2")
    for entry in log.child("entries").items():
        request, response = entry.child("request"), entry.child("response")
        reason = _unusable(entry, request, response)
        if reason:
            notes.add(f"{entry.shown}: not converted: {reason}")
            continue
        if "_webSocketMessages" in entry:
            yield _session(entry, request, response)
            continue
        body, decoded = _content(response, notes)
        yield Exchange(
            entry.path,
            Sent(
                request.child("method").text(),
                request.child("url").url(),
                _headers(request),
                _posted(request),
            ),
            response.child("status").status(),
            _headers(response),
            body,
            decoded,
            _end(response),
        )
    notes.add("the times, cookies and other fields of HAR are not kept")


def write_har(interactions: Iterable[Interaction], notes: Notes) -> str:
    """Return a HAR 1.2 as an indented JSON document."""
    entries = [_entry(each, notes) for each in interactions]
    creator = {"name": "wire", "version": VERSION}
    har = {"log": {"version": "1.2", "creator": creator, "entries": entries}}
    if entries:
        notes.add(f"startedDateTime: a cassette has no date; the first is {_date(0)}")
    text = msgspec.json.format(msgspec.json.encode(har), indent=2).decode()
    return printable_json(text) + "\n"


# --- reading --------------------------------------------------------------------------------------


def _unusable(entry: At, request: At, response: At) -> str:
    """Return the reason why an entry cannot be replayed; empty if it can."""
    kind = entry.get("_resourceType")
    status = response.child("status")
    if "_webSocketMessages" in entry:
        return "" if status.value == 101 else "a WebSocket that was not opened"
    if (kind is not None and kind.value == "websocket") or status.value == 101:
        return "a WebSocket without its messages"
    if status.value == 0:
        return "it got no response"
    if not request.child("url").text().lower().startswith(("http://", "https://")):
        return "its URL is not http or https"
    content = response.get("content")
    if _is_missing(content, response.get("bodySize")):
        return "the archive does not hold the body of its response"
    post = request.get("postData")
    size = request.get("bodySize")
    if post is None and size is not None and isinstance(size.value, int) and size.value > 0:
        return "the archive does not hold the body of its request"
    if post is not None and "text" not in post and not _is_form(post):
        return "the body of its request is given as parameters, not as its bytes"
    return ""


def _session(entry: At, request: At, response: At) -> Exchange:
    """Read a session, whose messages stand as Chromium writes them."""
    heard = Heard()
    for each in entry.child("_webSocketMessages").items():
        opcode, data, way = each.child("opcode"), each.child("data"), each.child("type")
        if opcode.value not in _OPCODES:
            raise opcode.fault("expected 1, a text, or 2, binary")
        is_text = opcode.value == 1
        message = data.utf8() if is_text else data.base64()
        if way.text() not in ("send", "receive"):
            raise way.fault("expected send or receive")
        heard.note("sent" if way.text() == "send" else "received", message, is_text=is_text)
    if (close := entry.get("_webSocketClose")) is not None:
        code, reason = close.child("code"), close.child("reason").text()
        try:
            made = Close(code=int(code.text()), reason=reason)
            heard.closed(made.code, made.reason)
        except ValueError as cause:
            raise close.fault(f"not the close of a server: {cause}") from None
    elif (end := _end(response)) in ("cut", "reset", "timeout"):
        heard.broke(end)
    url = session_url(request.child("url").url(("ws", "wss")))
    sent = Sent(request.child("method").text(), url, _headers(request), b"")
    return Exchange(entry.path, sent, 101, _headers(response), b"", True, heard.end, heard)


def _is_missing(content: At | None, body_size: At | None) -> bool:
    if content is not None and content.get("text") is not None:
        return False
    size = None if content is None else content.get("size")
    return any(
        each is not None and isinstance(each.value, int) and each.value > 0
        for each in (size, body_size)
    )


def _is_form(post: At) -> bool:
    kind = post.get("mimeType")
    return "params" in post and kind is not None and kind.text().startswith(_FORM)


def _headers(owner: At) -> Headers:
    headers = owner.get("headers")
    if headers is None:
        return []
    return [
        (each.child("name").text(), each.child("value").text())
        for each in headers.items()
        # Names with a colon are those of HTTP/2's own fields, such as :authority.
        if not each.child("name").text().startswith(":")
    ]


def _posted(request: At) -> bytes:
    post = request.get("postData")
    if post is None:
        return b""
    text = post.get("text")
    if text is None:
        pairs = [
            (each.child("name").text(), each.child("value").text() if "value" in each else "")
            for each in post.child("params").items()
        ]
        return urlencode(pairs).encode()
    encoding = post.get("_encoding")
    if encoding is None:
        return text.utf8()
    if encoding.text() != "base64":
        raise encoding.fault("unknown encoding; expected base64")
    return text.base64()


def _content(response: At, notes: Notes) -> tuple[bytes, bool]:
    content = response.get("content")
    text = None if content is None else content.get("text")
    if content is None or text is None:
        return b"", True
    encoding = content.get("encoding")
    if encoding is None or not encoding.text():
        kind = content.get("mimeType")
        charset = "" if kind is None else kind.text().lower().partition("charset=")[2].strip(' "')
        if charset and not charset.startswith(("utf-8", "utf8", "us-ascii")):
            notes.add(f"a text that was in {charset[:40]} is written in UTF-8")
        return text.utf8(), True
    if encoding.text() != "base64":
        raise encoding.fault("unknown encoding; expected base64")
    return text.base64(), True


def _end(response: At) -> End:
    error = response.get("_error")
    if error is None or not error.text():
        return "eof"
    name = error.text().lower()
    for part, end in _ENDS:
        if part in name:
            return end
    return _OWN_ENDS.get(name, "reset")


# --- writing --------------------------------------------------------------------------------------


def _entry(interaction: Interaction, notes: Notes) -> dict[str, Any]:
    request, response = interaction.request, interaction.response
    sent, received = body_bytes(request.body), body_bytes(response.body)
    if response.decoded is not UNSET:
        notes.drop("fields of a response", "decoded")
    if response.emulated:
        notes.drop("fields of a response", "emulated")
    written_request: dict[str, Any] = {
        "method": request.method,
        "url": request.url,
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": _named(request.headers),
        "queryString": [
            {"name": name, "value": value}
            for name, value in parse_qsl(request.url.partition("?")[2], keep_blank_values=True)
        ],
        "headersSize": -1,
        "bodySize": len(sent),
    }
    if sent:
        text, encoding = _text(sent)
        written_request["postData"] = {
            "mimeType": request.headers.get("content-type", ""),
            "text": text,
            **encoding,
        }
        if encoding:
            written_request["postData"]["_encoding"] = encoding["encoding"]
            del written_request["postData"]["encoding"]
            notes.add("a binary request is in base64, which other programs may not decode")
    text, encoding = _text(received)
    written_response: dict[str, Any] = {
        "status": response.status,
        "statusText": reason_phrase(response.status),
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": _named(response.headers),
        "content": {
            "size": len(received),
            "mimeType": response.headers.get("content-type", ""),
            "text": text,
            **encoding,
        },
        "redirectURL": "",
        "headersSize": -1,
        "bodySize": len(received),
    }
    if response.end != "eof":
        written_response["_error"] = response.end
        notes.add(f"response.end: {response.end!r} is in the field _error, as Chromium has it")
    times = response.times or []
    if len(times) > 1:
        notes.drop("fields of a response", "times of single chunks")
    return {
        "startedDateTime": _date(interaction.started or 0),
        "time": sum(times),
        "request": written_request,
        "response": written_response,
        **_written_session(interaction, notes),
        "cache": {},
        "timings": {"send": 0, "wait": sum(times[:1]), "receive": sum(times[1:])},
    }


def _written_session(interaction: Interaction, notes: Notes) -> dict[str, Any]:
    """Return the fields of an entry for a session, as Chromium has them; none for a call."""
    if interaction.messages is UNSET:
        return {}
    now = interaction.started or 0
    messages = []
    for each in interaction.messages:
        now += each.after or 0
        data = body_bytes(each.body)
        text, encoding = (base64_text(data), {}) if each.binary else _text(data)
        if encoding:
            notes.add("a text message that is not UTF-8 is written as a binary one")
        messages.append(
            {
                "type": "send" if each.direction == "sent" else "receive",
                "time": now / 1000,
                "opcode": 2 if each.binary or encoding else 1,
                "data": text,
            }
        )
    fields: dict[str, Any] = {"_resourceType": "websocket", "_webSocketMessages": messages}
    if (close := interaction.response.close) is not UNSET:
        fields["_webSocketClose"] = {"code": close.code, "reason": close.reason}
        notes.add("response.close: it is in the field _webSocketClose of this library")
    return fields


def _date(milliseconds: int) -> str:
    """Format a time after 1970 as ISO 8601."""
    moment = _EPOCH + timedelta(milliseconds=milliseconds)
    return f"{moment.isoformat(timespec='milliseconds')}Z"


def _named(headers: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in headers.items()]


def _text(data: bytes) -> tuple[str, dict[str, str]]:
    try:
        return data.decode(), {}
    except UnicodeDecodeError:
        return base64_text(data), {"encoding": "base64"}
