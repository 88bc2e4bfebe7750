"""The arguments of tool calls: a text that is JSON, or the input of a custom tool."""

from __future__ import annotations

import json
from collections.abc import Container
from typing import TYPE_CHECKING, Any

import msgspec

from wire.core.lenient import portable
from wire.core.memory import Note, well_formed_utf8

if TYPE_CHECKING:
    from wire.neutral.messages import ToolCall


def arguments_of(text: str, *, cut: bool = False) -> dict[str, Any] | None:
    """Parse the arguments of a call as an object; return `None` if the text is not one (Q11).

    The empty text and `null` are a call without arguments, hence `{}`. `cut` means that the
    response was truncated: the arguments may then be missing, hence `None`.

    >>> (
    ...     arguments_of('{"city": "Paris"}'),
    ...     arguments_of(""),
    ...     arguments_of("", cut=True),
    ...     arguments_of("[1]"),
    ... )
    ({'city': 'Paris'}, {}, None, None)
    """
    if text.strip() in ("", "null"):
        return None if cut else {}
    try:
        value = msgspec.json.decode(text)
    except msgspec.DecodeError:
        try:
            # json decodes an escaped half of a surrogate pair, which msgspec refuses.
            value = json.loads(text, parse_constant=_refused)
        except (ValueError, RecursionError):
            return None
    except (UnicodeEncodeError, RecursionError):
        return None
    value = portable(value)  # a text if it is nested too deeply
    return value if isinstance(value, dict) else None


def as_object(text: str, path: str, notes: list[Note]) -> str:
    """Return arguments for a host that parses those of the history, and refuses all but objects.

    >>> print(as_object('[1]', "messages[1]", notes := []), notes[0].path)
    {"invalid_json":"[1]"} messages[1]
    """
    if text.strip() in ("", "null"):
        return "{}"
    if arguments_of(text) is not None:
        return text
    notes.append(Note(path, "wrapped: this host refuses arguments that are not a JSON object"))
    return msgspec.json.encode({"invalid_json": text}).decode()


def compact_json(value: Any) -> str:
    """Encode arguments that came as an object instead of text as compact JSON."""
    try:
        return msgspec.json.encode(value).decode()
    except UnicodeEncodeError:
        return well_formed_utf8(
            json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        ).decode()


def custom_input(call: ToolCall, custom_tools: Container[str] = ()) -> str | None:
    """Return the text of a call of a custom tool; `None` for a call of a function.

    A host without custom tools called one of the `custom_tools` as a function.

    >>> from wire import ToolCall
    >>> custom_input(ToolCall(name="run_sql", arguments={"input": "SELECT 1"}), {"run_sql"})
    'SELECT 1'
    """
    from wire.neutral.request import TEXT_PARAMETER  # rules of chat completions do without

    text = (call.arguments or {}).get(TEXT_PARAMETER)
    if call.kind == "custom":
        return text if isinstance(text, str) else call.text
    is_text = isinstance(text, str) and len(call.arguments or ()) == 1
    return text if is_text and call.name in custom_tools else None


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is not valid JSON")
