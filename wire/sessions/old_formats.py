"""Sessions of other making, in the words of today: lists of messages as agents kept them before
there was a version.

Their parts are `{"text": ...}`, `{"function_call": {"name", "arguments", "id"}}` and
`{"function_response": {"name", "response", "call_id"}}`, or the same laid flat under a `type`;
roles are Gemini's. Nothing here decides whether they are right: what is made is read as strictly as
a file of today, and a key that is not known here is left for it to name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import msgspec

from wire.core.memory import Note

_KNOWN = "schema_version"
_KNOWN_AS = "1.0"
_KINDS = {
    "function_call": "tool_call",
    "functionCall": "tool_call",
    "function_response": "tool_result",
    "functionResponse": "tool_result",
    "inline_data": "media",
    "inlineData": "media",
}
_SIGNATURE = ("thought_signature", "thoughtSignature", "thought_signature_b64")


def refusal(document: Any) -> str:
    """Why this is no session without a version, or nothing."""
    if isinstance(document, list):
        return ""
    if not isinstance(document, dict):
        return f"a session is an object or a list of messages, not {type(document).__name__}"
    version = document.get(_KNOWN, _KNOWN_AS)
    if version != _KNOWN_AS:
        return (
            f"{_KNOWN} {version!r} of a session is not known here; this release reads {_KNOWN_AS}"
        )
    return (
        ""
        if isinstance(_holder(document).get("messages"), list)
        else "no session: it has neither a format nor messages"
    )


def _holder(document: dict[str, Any]) -> dict[str, Any]:
    inner = document.get("conversation")
    return inner if "messages" not in document and isinstance(inner, dict) else document


def history(document: Any, notes: list[Note]) -> tuple[list[Any], dict[str, Any]]:
    """Messages in the words of today, and everything else that stood beside them."""
    if isinstance(document, list):
        old, beside = document, {}
    else:
        holder = _holder(document)
        old = holder["messages"]
        beside = {
            key: value
            for key, value in document.items()
            if value is not holder and key not in ("messages", _KNOWN)
        }
        if holder is not document and (
            rest := {key: value for key, value in holder.items() if key != "messages"}
        ):
            beside["conversation"] = rest
    notes.append(Note("", "a session without a version, read as an older one"))
    messages: list[Any] = []
    for index, message in enumerate(old):
        messages += _parted(
            today(message, f"messages[{index}]", notes), f"messages[{index}]", notes
        )
    _pair(messages)
    return messages, beside


def today(message: Any, path: str, notes: list[Note]) -> Any:
    """A message in the words of today: the same object if it is in them."""
    if not isinstance(message, dict) or not isinstance(message.get("parts"), list):
        return message
    parts = [
        _part(part, f"{path}.parts[{place}]", place, notes)
        for place, part in enumerate(message["parts"])
    ]
    role = message.get("role")
    if role == "model":
        role = "assistant"
    elif role == "user" and parts and all(map(_is_result, parts)):
        role = "tool"
    if role != message.get("role"):
        notes.append(Note(f"{path}.role", f"{message['role']}, read as {role}"))
    return {**message, "role": role, "parts": parts}


def _is_result(part: Any) -> bool:
    return isinstance(part, dict) and part.get("type") == "tool_result"


def _part(part: Any, path: str, place: int, notes: list[Note]) -> Any:
    if not isinstance(part, dict):
        return part
    left = _said(part)
    kind = left.pop("type", None)
    name = (
        kind
        if kind in _KINDS
        else next(
            (name for name in _KINDS if kind is None and isinstance(left.get(name), dict)), None
        )
    )
    if name is not None:
        if name in left:
            # What stands beside is of the part, not of the call; but for a signature it cannot be
            # kept, and is named as unknown.
            inside, along = (
                _said(left.pop(name)),
                {key: left.pop(key) for key in _SIGNATURE if key in left},
            )
            left = {
                **inside,
                **along,
                **{f"{key} beside {name}": value for key, value in left.items() if value != ""},
            }
        kind = _KINDS[name]
    elif kind is None and "text" in left:
        kind = "thought" if left.pop("thought", False) is True else "text"
    elif kind == "text" and "content" in left and "text" not in left:
        left["text"] = left.pop("content")
    else:
        return dict(part)  # of today, or nothing that is known
    _rename(left, "signature", _SIGNATURE)
    if kind == "tool_call":
        _rename(left, "arguments", ("args",), {})
        if not left.get("id"):
            digest = hashlib.sha256(path.encode() + msgspec.json.encode(part)).hexdigest()[:12]
            left["id"] = f"call_{digest}_{place}"  # the same whenever it is read
            notes.append(Note(path, f"a call without an id, now {left['id']}"))
    elif kind == "tool_result":
        _rename(left, "content", ("response",), {})
        _rename(left, "id", ("call_id",), "")
    elif kind == "media":
        _rename(left, "media_type", ("mime_type", "mimeType"))
    return {"type": kind, **left}


def _said(old: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in old.items() if value is not None}


def _rename(left: dict[str, Any], today: str, names: tuple[str, ...], default: Any = None) -> None:
    """The first of the names becomes that of today; a second one for the same thing stays, and will
    be named as unknown.
    """
    if (
        today not in left
        and (found := next((left.pop(name) for name in names if name in left), default)) is not None
    ):
        left[today] = found


def _parted(message: Any, path: str, notes: list[Note]) -> Iterator[Any]:
    """Results that stand beside other parts in a user's message are a message of their own
    today.
    """
    parts = (
        message.get("parts")
        if isinstance(message, dict) and message.get("role") == "user"
        else None
    )
    if not isinstance(parts, list) or not any(map(_is_result, parts)):
        yield message
        return
    notes.append(Note(path, "results beside other parts, now a tool message before them"))
    yield {**message, "role": "tool", "parts": [part for part in parts if _is_result(part)]}
    yield {**message, "parts": [part for part in parts if not _is_result(part)]}


def _pair(messages: list[Any]) -> None:
    """Give results without an id that of the first call of their name in the turn before them that
    has no answer yet.
    """
    open_calls: list[dict[str, Any]] = []
    before: Any = None
    for message in messages:
        role, parts = (
            (message.get("role"), message.get("parts"))
            if isinstance(message, dict)
            else (None, None)
        )
        if role == "assistant" != before:
            open_calls = []
        before = role
        for part in parts if isinstance(parts, list) else ():
            if _is_result(part):
                id, name = part.get("id") or "", part.get("name")
                call = next(
                    (
                        call
                        for call in open_calls
                        if id in ("", call.get("id")) and call.get("name") == name
                    ),
                    None,
                )
                if call is not None:
                    part["id"] = call["id"]
                    open_calls.remove(call)
            elif isinstance(part, dict) and part.get("type") == "tool_call":
                open_calls.append(part)
