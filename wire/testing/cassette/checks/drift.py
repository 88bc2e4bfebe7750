"""Drift: what a vendor sends that the types do not know, and what changed since a recording (C-30).

`drift` reads one interaction with the structs of its wire. `changes` compares the shape of two
responses: their keys, types and enum values, but not their texts, ids, numbers and signatures,
which differ in each response.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from wire.core.errors import LimitError, RuleError
from wire.core.event_stream import Decoder as FrameDecoder
from wire.core.lenient import Unreadable, decoded, fields_of, plain
from wire.core.memory import WireStruct, key_path, unknown
from wire.core.sse import Decoder
from wire.testing.cassette.checks.endpoints import ERRORS, Endpoint, endpoint_of
from wire.testing.cassette.format.bodies import body_bytes
from wire.testing.cassette.format.json_style import MAX_JSON_DEPTH
from wire.testing.cassette.format.structs import Body, Interaction, Message, Response

_SHOWN_VALUE = 80
"""Characters of a value in a report."""
_INDEX = re.compile(r"\[\d+\]")
_TERM = re.compile(r"[A-Za-z][\w.:/+-]{0,63}")
"""The form of an enum value. A longer text, or one with blanks, is words."""


# --- one interaction against the types ------------------------------------------------------------


class Drift(NamedTuple):
    """One thing in an interaction that the types of its wire do not know."""

    place: str
    """`request`, `response`, an event of the response such as `response event 3`, or a message of a
    session, such as `sent message 0` or `received message 1`."""
    path: str
    """JSON path in the body, in the data of the event or in the message."""
    kind: Literal["key", "type", "value", "body"]
    """`key`: an unknown key. `type`: a known key with a value of another type. `value`: an unknown
    enum value. `body`: a body that is not a JSON object, or is nested too deeply to be read.
    """
    value: str
    """The JSON text, shortened."""
    times: int = 1
    """How often it is in the interaction, at other indices or in other events too."""

    def __str__(self) -> str:
        more = f", {self.times} times" if self.times > 1 else ""
        return f"{self.place}, {self.path}: {_WORDS[self.kind]}: {self.value}{more}"


_OF_LINES = ("MessageBatchResult", "ChatResponse", "GenerateResponse", "Progress")
"""Structs of bodies with one JSON object a line."""
_SPELLED = ("gemini", "gemini.live")
"""Wires whose server accepts several spellings of a key."""
_WORDS = {
    "key": "unknown key with the value",
    "type": "another type than the known one",
    "value": "unknown enum value",
    "body": "not a readable JSON object",
}


def drift(interaction: Interaction) -> list[Drift]:
    """List the keys, types and enum values of an interaction that the types do not know.

    A finding that repeats at other list indices or in other events is listed once. The list is
    empty too for a request that belongs to none of the wires: see `endpoint_of`.
    """
    request, response = interaction.request, interaction.response
    endpoint = endpoint_of(request.method, request.url, request.headers)
    if endpoint is None:
        return []
    found = list(_in_body("request", request.body, endpoint, endpoint.request, endpoint.request))
    if response.status >= 400:
        # Chat completions and Responses have one struct for errors.
        shared = endpoint.wire.partition(".")[0]
        endpoint = Endpoint(shared, "", ERRORS.get(shared, "ErrorBody"))
    if interaction.messages is not UNSET:
        found += _in_messages(interaction.messages, endpoint)
    event = endpoint.event or endpoint.answer
    found += _in_body("response", response.body, endpoint, endpoint.answer, event)
    together: dict[tuple[str, str, str, str], Drift] = {}
    for each in found:
        side, path = each.place.partition(" ")[0], _INDEX.sub("[*]", each.path)
        # An unknown key is one finding whatever its values are; each enum value is one.
        key = (side, path, each.kind, each.value if each.kind == "value" else "")
        first = together.setdefault(key, each._replace(times=0))
        together[key] = first._replace(times=first.times + 1)
    return list(together.values())


def _in_messages(messages: Iterable[Message], endpoint: Endpoint) -> Iterator[Drift]:
    """Yield what the messages of a session have that the structs of the endpoint do not know."""
    for number, message in enumerate(messages):
        is_sent = message.direction == "sent"
        kind = endpoint.struct(endpoint.request if is_sent else endpoint.answer)
        assert kind is not None
        place, data = f"{message.direction} message {number}", body_bytes(message.body)
        for each in _in_object(place, data, "$", endpoint, kind, is_request=is_sent):
            # The type of a request of Responses is no field of its struct, which HTTP has too.
            if not (is_sent and each[1:3] == ("$.type", "key")):
                yield each


def _in_body(
    place: str, body: Body | UnsetType, endpoint: Endpoint, whole: str, event: str
) -> Iterator[Drift]:
    """Yield what one body has that the structs of these names do not know."""
    kind, event_kind = endpoint.struct(whole), endpoint.struct(event)
    if body is UNSET or kind is None:
        return
    if place == "response" and _is_stream(body):
        for number, (_, data) in enumerate(_events(body)):
            if event_kind is not None and data.strip() not in (b"", b"[DONE]"):
                yield from _in_object(f"{place} event {number}", data, "$", endpoint, event_kind)
        return
    data = body_bytes(body)
    if place == "response" and event_kind is not None and data[:1] == b"\0":
        for number, frame in enumerate(_frames(data)):
            yield from _in_object(f"{place} event {number}", frame, "$", endpoint, event_kind)
        return
    value = plain(data)
    if isinstance(value, list):  # Gemini's stream without SSE, and its errors
        for index, item in enumerate(value):
            data = msgspec.json.encode(item)
            yield from _in_object(place, data, f"$[{index}]", endpoint, kind)
    elif value is None and whole in _OF_LINES:
        for line in data.splitlines():
            yield from _in_object(place, line, "$", endpoint, kind)
    else:
        yield from _in_object(place, data, "$", endpoint, kind, is_request=place == "request")


def _in_object(
    place: str,
    data: bytes,
    root: str,
    endpoint: Endpoint,
    kind: type[WireStruct],
    *,
    is_request: bool = False,
) -> Iterator[Drift]:
    misfits: set[str] = set()
    known = _known_values().get(endpoint.wire, {})  # those of sessions are in no inventory
    try:
        struct = _decoded(data, endpoint, kind, is_request=is_request)
        values = list(_values(struct, "", known, plain(data), misfits))
        keys = unknown(struct)
    except (Unreadable, LimitError, RecursionError):
        yield Drift(place, root, "body", _shown(data.decode("utf-8", "replace")))
        return
    if endpoint.wire in _SPELLED and is_request:  # Google's server takes `object` for `OBJECT`
        upper = frozenset(text.upper() for texts in known.values() for text in texts)
        values = [each for each in values if each[1].upper() not in upper]
    for path, value in keys:
        yield Drift(place, _below(root, path), "type" if path in misfits else "key", _shown(value))
    for path, text in values:
        yield Drift(place, _below(root, path), "value", _shown(text))


def _decoded(
    data: bytes, endpoint: Endpoint, kind: type[WireStruct], *, is_request: bool
) -> WireStruct:
    if endpoint.wire in _SPELLED and is_request:
        from wire.gemini.decode import decode  # reads the spellings that Google's server accepts

        try:
            return decode(data, kind)
        except RuleError:
            pass  # a value of a wrong type, which the lenient decoder reports
    return decoded(data, kind)


def _values(
    struct: Any, path: str, known: dict[str, frozenset[str]], received: Any, misfits: set[str]
) -> Iterator[tuple[str, str]]:
    """Yield unknown enum values with their paths; add the paths of wrong types to `misfits`."""
    if isinstance(struct, WireStruct):
        names = zip(struct.__struct_encode_fields__, struct.__struct_fields__, strict=True)
        for key, field in names:
            value, here = getattr(struct, field), key_path(path, key)
            inner = received.get(key) if isinstance(received, dict) else None
            if value is None and inner is not None:
                misfits.add(here)
            listed = known.get(f"{type(struct).__name__}.{key}")
            if listed is not None:
                texts = _texts(value, here)  # hosts send "" for an absent value
                yield from ((at, each) for at, each in texts if each and each not in listed)
            yield from _values(value, here, known, inner, misfits)
    elif isinstance(struct, list):
        items = received if isinstance(received, list) else [received]
        for index, item in enumerate(struct):
            inner = items[index] if index < len(items) else None
            yield from _values(item, f"{path}[{index}]", known, inner, misfits)
    elif isinstance(struct, dict):
        for key, item in struct.items():
            if isinstance(item, WireStruct | list):
                inner = received.get(key) if isinstance(received, dict) else None
                yield from _values(item, key_path(path, key), known, inner, misfits)


def _texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield a text, or the texts of a list."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from ((f"{path}[{index}]", item),) if isinstance(item, str) else ()


@functools.cache
def _known_values() -> dict[str, dict[str, frozenset[str]]]:
    path = Path(__file__).with_name("known_values.json")
    read: dict[str, dict[str, list[str]]] = msgspec.json.decode(path.read_bytes())
    return {
        name: {field: frozenset(texts) for field, texts in fields.items()}
        for name, fields in read.items()
    }


def _is_stream(body: Body) -> bool:
    return body.events is not UNSET


def _events(body: Body) -> list[tuple[str, bytes]]:
    """Return the name and the data of each complete event."""
    decoder = Decoder()
    events = [*decoder.feed(body_bytes(body)), *decoder.close()]
    return [(each.event, each.data) for each in events if not (each.blank or each.cut)]


def _frames(data: bytes) -> list[bytes]:
    """Return the event in each frame, whose type is its only key, without its padding `p`.

    An exception is none.
    """
    found = []
    for frame in FrameDecoder().feed(data):
        name, fields = frame.text(":event-type"), fields_of(msgspec.Raw(frame.payload))
        fields.pop("p", None)
        if name:
            found.append(msgspec.json.encode({name: fields}))
    return found


def _below(root: str, path: str) -> str:
    return root if not path else f"{root}{path}" if path.startswith("[") else f"{root}.{path}"


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN_VALUE else f"{text[:_SHOWN_VALUE]}..."


# --- two responses against each other -------------------------------------------------------------


class Change(NamedTuple):
    """One change in the shape of a response since it was recorded."""

    path: str
    """`status`, `end`, `close`, `body`, `event NAME`, `header NAME`, or a JSON path: `$...`, and
    `event NAME, $...` in a stream whose events have names. `[*]` stands for all items of a list.
    """
    recorded: str
    """The value in the recording; empty if it has none there."""
    live: str
    """The value in the live response; empty if it has none there."""

    def __str__(self) -> str:
        if not self.live:
            return f"{self.path}: gone, recorded {self.recorded}"
        if not self.recorded:
            return f"{self.path}: new, {self.live}"
        return f"{self.path}: recorded {self.recorded}, live {self.live}"


def changes(
    recorded: Response,
    live: Response,
    recorded_messages: Iterable[Message] = (),
    live_messages: Iterable[Message] = (),
) -> list[Change]:
    """List what changed in shape between two responses to one request, or two sessions.

    Of a session, the messages of the server count as the events of a stream.

    Compared are the status, how the body ended, the names of the stored headers, the kinds of
    events, the keys of JSON with the types of their values, and enum values. Texts, numbers, the
    length of lists and the number of events are not.

    A key that is new inside a new object is not listed; the object is.
    """
    old, new = _shape(recorded, recorded_messages), _shape(live, live_messages)
    found = []
    for path in (*old, *(path for path in new if path not in old)):
        before, after = old.get(path, _ABSENT), new.get(path, _ABSENT)
        parent = before.parent or after.parent
        if before.kinds != after.kinds and (not parent or (parent in old and parent in new)):
            found.append(Change(path, before.listed(), after.listed()))
    return found


class _Place:
    """The values at one path of a response, in all events and at all indices together."""

    def __init__(self, parent: str = "") -> None:
        self.parent = parent
        self.kinds: set[str] = set()
        """Types, and enum values in quotes."""

    def listed(self) -> str:
        return " or ".join(sorted(self.kinds))


_ABSENT = _Place()
_Shape = dict[str, _Place]


def _shape(response: Response, messages: Iterable[Message]) -> _Shape:
    """Return the values that are compared, by path."""
    shape: _Shape = {}
    _add(shape, "status", str(response.status))
    _add(shape, "end", response.end)
    for name, value in response.headers.items():
        media_type = value.partition(";")[0].strip()
        _add(shape, f"header {name}", media_type if name == "content-type" else "present")
    if response.close is not UNSET:
        _add(shape, "close", str(response.close.code))
    for each in messages:
        if each.direction == "received":
            _add_event(shape, "", body_bytes(each.body))
    body = response.body
    if body is UNSET:
        _add(shape, "body", "none")
    elif _is_stream(body):
        _add(shape, "body", "events")
        for name, data in _events(body):
            _add_event(shape, name, data)
    elif (value := plain(body_bytes(body))) is not None:
        _add(shape, "body", "JSON")
        _add_value(shape, value, "$")
    else:
        _add(shape, "body", "text" if body.base64 is UNSET else "bytes")
    return shape


def _add_event(shape: _Shape, name: str, data: bytes) -> None:
    value = plain(data)
    kind = value.get("type") if isinstance(value, dict) else None
    if not isinstance(kind, str):
        kind = "" if name == "message" else name
    if value is None:
        kind = kind or data.decode("utf-8", "replace")[:_SHOWN_VALUE]  # such as [DONE]
    if kind:
        _add(shape, f"event {kind}", "present")
    if value is not None:
        event = f"event {kind}" if kind else ""
        _add_value(shape, value, f"{event}, $" if event else "$", event)


def _add_value(
    shape: _Shape, value: Any, path: str, parent: str = "", key: str = "", depth: int = 0
) -> None:
    """Add the types and enum values of a JSON value, down to a depth that no vendor sends."""
    if isinstance(value, str) and key in _enum_keys() and _TERM.fullmatch(value):
        _add(shape, path, json.dumps(value), parent)
        return
    _add(shape, path, _type_of(value), parent)
    if key in _FREE_KEYS or depth == MAX_JSON_DEPTH:
        return
    if isinstance(value, dict):
        for name, item in value.items():
            _add_value(shape, item, key_path(path, name), path, name, depth + 1)
    elif isinstance(value, list):
        for item in value:
            _add_value(shape, item, f"{path}[*]", path, key, depth + 1)


def _add(shape: _Shape, path: str, kind: str, parent: str = "") -> None:
    shape.setdefault(path, _Place(parent)).kinds.add(kind)


_FREE_KEYS = frozenset({"args", "arguments", "input", "metadata", "labels", "parsed"})
"""Keys whose values the model or the user writes: their shape is not the vendor's."""


@functools.cache
def _enum_keys() -> frozenset[str]:
    """Return the keys that are an enum in a struct of any wire."""
    return frozenset(
        field.partition(".")[2] for fields in _known_values().values() for field in fields
    )


def _type_of(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    names: tuple[tuple[Any, str], ...] = (
        (dict, "object"),
        (list, "list"),
        (str, "text"),
        (int | float, "number"),
    )
    return next((name for kind, name in names if isinstance(value, kind)), "null")
