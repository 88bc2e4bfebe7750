"""Converts sessions from before the format had a version to the current format.

Their parts are `{"text": ...}`, `{"function_call": {"name", "arguments", "id"}}` and
`{"function_response": {"name", "response", "call_id"}}`, or the same keys in an object with a
`type`. Their roles are those of Gemini. This module validates nothing: the result is decoded as
strictly as a current file, and that decoder reports the keys that were not converted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import msgspec

from wire.core.memory import Note

_VERSION_KEY = "schema_version"
_OLD_VERSION = "1.0"
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
    """Return why a document is not a session without a version; empty if it is one."""
    if isinstance(document, list):
        return ""
    if not isinstance(document, dict):
        return f"expected an object or a list of messages, not {type(document).__name__}"
    version = document.get(_VERSION_KEY, _OLD_VERSION)
    if version != _OLD_VERSION:
        return f"{_VERSION_KEY}: unknown version {version!r}; this release reads {_OLD_VERSION}"
    return (
        ""
        if isinstance(_holder(document).get("messages"), list)
        else "not a session: it has neither a format nor messages"
    )


def _holder(document: dict[str, Any]) -> dict[str, Any]:
    inner = document.get("conversation")
    return inner if "messages" not in document and isinstance(inner, dict) else document


def history(document: Any, notes: list[Note]) -> tuple[list[Any], dict[str, Any]]:
    """Convert the messages; return them, and the other keys of the document as metadata."""
    if isinstance(document, list):
        old, metadata = document, {}
    else:
        holder = _holder(document)
        old = holder["messages"]
        metadata = {
            key: value
            for key, value in document.items()
            if value is not holder and key not in ("messages", _VERSION_KEY)
        }
        if holder is not document and (
            rest := {key: value for key, value in holder.items() if key != "messages"}
        ):
            metadata["conversation"] = rest
    notes.append(Note("", "a session without a version, read as an older one"))
    messages: list[Any] = []
    for index, message in enumerate(old):
        messages += _split_results(
            today(message, f"messages[{index}]", notes), f"messages[{index}]", notes
        )
    _pair(messages)
    return messages, metadata


def today(message: Any, path: str, notes: list[Note]) -> Any:
    """Convert a message to the current format; return the same object if it already has it."""
    if not isinstance(message, dict) or not isinstance(message.get("parts"), list):
        return message
    parts = [
        _part(part, f"{path}.parts[{index}]", index, notes)
        for index, part in enumerate(message["parts"])
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


def _part(part: Any, path: str, index: int, notes: list[Note]) -> Any:
    if not isinstance(part, dict):
        return part
    left = _without_nulls(part)
    kind = left.pop("type", None)
    if kind is not None and not isinstance(kind, str):
        return dict(part)  # the decoder reports other values
    name = (
        kind
        if kind in _KINDS
        else next(
            (name for name in _KINDS if kind is None and isinstance(left.get(name), dict)), None
        )
    )
    if name is not None:
        if name in left:
            # Keys next to the call belong to the part. The current format has only a signature
            # there; the decoder reports the others as unknown.
            inside, signatures = (
                _without_nulls(left.pop(name)),
                {key: left.pop(key) for key in _SIGNATURE if key in left},
            )
            left = {
                **inside,
                **signatures,
                **{f"{key} next to {name}": value for key, value in left.items() if value != ""},
            }
        kind = _KINDS[name]
    elif kind is None and "text" in left:
        kind = "thought" if left.pop("thought", False) is True else "text"
    elif kind == "text" and "content" in left and "text" not in left:
        left["text"] = left.pop("content")
    else:
        return dict(part)  # in the current format, or unknown
    _rename(left, "signature", _SIGNATURE)
    if kind == "tool_call":
        _rename(left, "arguments", ("args",), {})
        if not left.get("id"):
            digest = hashlib.sha256(path.encode() + msgspec.json.encode(part)).hexdigest()[:12]
            left["id"] = f"call_{digest}_{index}"  # stable: the same for each reading of the file
            notes.append(Note(path, f"a call without an id, now {left['id']}"))
    elif kind == "tool_result":
        _rename(left, "content", ("response",), {})
        _rename(left, "id", ("call_id",), "")
    elif kind == "media":
        _rename(left, "media_type", ("mime_type", "mimeType"))
    return {"type": kind, **left}


def _without_nulls(old: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in old.items() if value is not None}


def _rename(left: dict[str, Any], today: str, names: tuple[str, ...], default: Any = None) -> None:
    """Rename the first key of `names` that exists; the decoder reports a second one as unknown."""
    if (
        today not in left
        and (value := next((left.pop(name) for name in names if name in left), default)) is not None
    ):
        left[today] = value


def _split_results(message: Any, path: str, notes: list[Note]) -> Iterator[Any]:
    """Move results that are in a message of the user into a message of their own."""
    parts = (
        message.get("parts")
        if isinstance(message, dict) and message.get("role") == "user"
        else None
    )
    if not isinstance(parts, list) or not any(map(_is_result, parts)):
        yield message
        return
    notes.append(Note(path, "results among other parts, moved to a tool message before them"))
    yield {**message, "role": "tool", "parts": [part for part in parts if _is_result(part)]}
    yield {**message, "parts": [part for part in parts if not _is_result(part)]}


def _pair(messages: list[Any]) -> None:
    """Give each result without an id the id of a call in the turn before it.

    It is the first call with the same name that has no result yet.
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
