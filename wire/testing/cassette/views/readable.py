"""Bodies and messages as a person reads them: JSON, text, or the type and size of bytes."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from wire.testing.cassette.format.bodies import body_bytes
from wire.testing.cassette.format.structs import Body, Direction, Message

_MAX_DEPTH = 200
"""Levels of JSON that are shown as JSON. A deeper value is shown as text: each function here that
walks a value calls itself."""
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{120,}={0,2}")


class Said(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A message of a session."""

    direction: Direction
    at: int | UnsetType = UNSET
    """Milliseconds since the request, if they are recorded."""
    name: str
    """The type of the message, else its keys; empty if it is not a JSON object."""
    binary: bool = False
    body: Any
    """Its JSON, its text, or type, size and digest of its bytes."""


def said(messages: Iterable[Message]) -> list[Said]:
    """Read the messages of a session."""
    messages = list(messages)
    timed = any(each.after is not UNSET for each in messages)
    times = list(itertools.accumulate(each.after or 0 for each in messages))
    found: list[Said] = []
    for each, at in zip(messages, times, strict=True):
        value = json_of(each.body)
        body = value if value is not UNSET else _unreadable(each.body)
        found.append(
            Said(
                direction=each.direction,
                at=at if timed else UNSET,
                name=_name(value),
                binary=each.binary,
                body=body,
            )
        )
    return found


def _unreadable(body: Body | UnsetType) -> Any:
    """Return the text of a message that is not JSON, or size and digest of its bytes."""
    data = body_bytes(body)
    if body is not UNSET and body.base64 is not UNSET:
        return {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    return data.decode("utf-8", "replace")


def _name(body: Any) -> str:
    if not isinstance(body, dict):
        return ""
    kind = body.get("type")
    return kind if isinstance(kind, str) else ", ".join(body)


def brief(value: Any) -> Any:
    """Replace base64 in a JSON value, such as audio, by its size.

    >>> brief({"delta": "AAAA" * 1000})
    {'delta': '<3,000 bytes of base64>'}
    """
    if isinstance(value, str) and _BASE64.fullmatch(value):
        return f"<{len(value.rstrip('=')) * 3 // 4:,} bytes of base64>"
    if isinstance(value, dict):
        return {key: brief(item) for key, item in value.items()}
    return [brief(item) for item in value] if isinstance(value, list) else value


def json_of(body: Body | UnsetType) -> Any:
    """Return the JSON value of a body; `UNSET` if it is not JSON."""
    if body is UNSET:
        return UNSET
    try:
        value = msgspec.json.decode(body.json if body.json is not UNSET else body_bytes(body))
    except (ValueError, RecursionError):
        return UNSET
    return UNSET if _is_deep(value) else value


def _is_deep(value: Any) -> bool:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(_MAX_DEPTH):
        level = [
            inner
            for each in level
            for inner in (each.values() if isinstance(each, dict) else each)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return False
    return True


def readable(body: Body | UnsetType, headers: Mapping[str, str]) -> Any:
    """Show a body to a person: its JSON, its text, or the type, size and digest of its bytes."""
    value = json_of(body)
    if body is UNSET or value is not UNSET:
        return value
    data = body_bytes(body)
    if body.base64 is not UNSET:
        digest = hashlib.sha256(data).hexdigest()
        return {
            "media_type": headers.get("content-type", ""),
            "size": len(data),
            "sha256": digest,
        }
    return data.decode("utf-8", "replace")
