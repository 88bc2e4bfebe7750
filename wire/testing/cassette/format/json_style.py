r"""The styles in which servers write JSON.

A cassette stores the value indented for people, plus the name of the style that reproduces the
received bytes (C-02). Number texts, key order and duplicate keys never change. Only white space
between tokens (`Layout`) and the choice between a character and its `\u` escape (`Escapes`) change,
and only if the style reproduces the identical bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple, get_args

import msgspec

from wire.core.decoders import decoder
from wire.core.printable import json_escape

OneLineLayout = Literal["compact", "google", "spaced", "commas"]
"""White space of JSON on one line. `compact`: `{"a":1,"b":2}`. `google`: `{"a": 1,"b": 2}`, as in
Gemini's events. `spaced`: `{"a": 1, "b": 2}`, as Python writes it. `commas`: `{"a":1, "b":2}`.
"""

Layout = Literal[
    "compact",
    "google",
    "spaced",
    "commas",
    "indent 2",
    "indent 4",
    "indent 1",
    "tabs",
    "google list",
]
"""White space of JSON. `indent 2` and the like: one item on each line, with that many blanks for
each level. `tabs`: a tab for each level. `google list`: Gemini's array of chunks.
"""

Escapes = Literal["raw", "google", "ascii", "html", "as received"]
r"""Characters that are written as a `\u` escape. `raw`: none. `google`: `<` and `>`. `ascii`: all
beyond ASCII. `html`: `<`, `>`, `&`, U+2028 and U+2029, as Go does. `as received`: any others, so
the cassette keeps the received escapes."""

LAYOUTS: tuple[Layout, ...] = get_args(Layout)
ON_ONE_LINE: tuple[OneLineLayout, ...] = get_args(OneLineLayout)
_ESCAPES: tuple[Escapes, ...] = get_args(Escapes)

MAX_JSON_DEPTH = 100
"""Levels of a body that is stored as JSON; a deeper one is stored as text.

msgspec recurses in C for each level, and the cassette adds levels of its own.
"""

_format = msgspec.json.format
_PUNCTUATION = re.compile(rb'"(?:[^"\\]|\\.)*+"|([:,])')
_INDENT = re.compile(rb"(?m)^ +")
_ESCAPED = re.compile(r"\\(?!u).|(?:\\u[0-9a-fA-F]{4})+", re.DOTALL)
_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{}]', re.DOTALL)
# Invisible in a diff: line ends that only some editors know, marks of the writing direction, and
# byte order marks.
INVISIBLE = re.compile("[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")


class Style(NamedTuple):
    """How a server writes JSON."""

    layout: Layout
    escapes: Escapes


class Readable(NamedTuple):
    """JSON for the cassette, and the style that reproduces the received bytes."""

    json: bytes
    style: Style


def readable(
    payload: bytes, layouts: Iterable[Layout] = LAYOUTS, first: Style | None = None
) -> Readable | None:
    r"""Return the JSON of `payload` and its style; `None` if no style reproduces the bytes.

    The style `first` is tried before all others.

    >>> readable(rb'{"a": "\u00fc"}')
    Readable(json=b'{"a":"\xc3\xbc"}', style=Style(layout='google', escapes='ascii'))
    """
    try:
        msgspec.json.decode(payload)  # `format` alone accepts invalid UTF-8 and malformed numbers
        text = payload.decode()
        if _depth(text) > MAX_JSON_DEPTH:
            return None
        compact = _format(payload, indent=-1)
    except (ValueError, RecursionError):
        return None
    candidates: list[Layout] = list(layouts)
    all_escapes: list[Escapes] = list(_ESCAPES)
    if first is not None:
        candidates.sort(key=lambda each: each != first.layout)
        all_escapes.sort(key=lambda each: each != first.escapes)
    layout: Layout | None = next(
        (each for each in candidates if _laid_out(compact, each) == payload), None
    )
    if layout is None:
        return None
    received = compact.decode()
    shown = _shown(received)
    for escapes in all_escapes:
        kept = received if escapes == "as received" else shown
        if (
            INVISIBLE.search(kept) is None
            and written(kept.encode(), Style(layout, escapes)) == payload
        ):
            return Readable(kept.encode(), Style(layout, escapes))
    return None


def written(json: bytes, style: Style) -> bytes:
    """Write a JSON value of a cassette in a style. Its layout in the cassette does not matter."""
    compact = _format(json, indent=-1)
    if style.escapes != "as received":
        compact = _WRITERS[style.escapes](_plain(compact.decode())).encode()
    return _laid_out(compact, style.layout)


def escape_invisible(text: str) -> str:
    """Escape the invisible characters of a JSON text."""
    return INVISIBLE.sub(json_escape, text)


def _laid_out(compact: bytes, layout: Layout) -> bytes:
    if layout == "compact":
        return compact
    if layout == "spaced":
        return _format(compact, indent=0)
    if layout == "google":
        return _PUNCTUATION.sub(lambda match: b": " if match[1] == b":" else match[0], compact)
    if layout == "commas":
        return _PUNCTUATION.sub(lambda match: b", " if match[1] == b"," else match[0], compact)
    if layout == "tabs":
        return _INDENT.sub(lambda match: b"\t" * len(match[0]), _format(compact, indent=1))
    if layout == "google list":
        if compact[:1] != b"[":
            return b""
        items = decoder(list[msgspec.Raw]).decode(compact)
        return b"[" + b"\n,\r\n".join(_format(bytes(item), indent=2) for item in items) + b"\n]"
    return _format(compact, indent=int(layout[-1]))


def _depth(text: str) -> int:
    """Return the nesting of a JSON text; 0 if it has too few brackets to exceed the maximum."""
    if text.count("[") + text.count("{") <= MAX_JSON_DEPTH:
        return 0
    depth = deepest = 0
    for match in _BRACKET.finditer(text):
        if match[0] in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif match[0] in "]}":
            depth -= 1
    return deepest


# --- escapes: JSON text contains the characters that are escaped below inside strings only


def _letters(match: re.Match[str]) -> str:
    return bytes.fromhex(match[0].replace("\\u", "")).decode("utf-16-be")


def _shown(text: str) -> str:
    """Unescape readable characters and escape invisible ones."""
    if "\\" in text:
        text = _ESCAPED.sub(_show, text)
    return escape_invisible(text)


def _show(match: re.Match[str]) -> str:
    if match[0][1] != "u":
        return match[0]
    return "".join(
        each if each >= " " and each not in '"\\' else f"\\u{ord(each):04x}"
        for each in _letters(match)
    )


def _plain(text: str) -> str:
    """Undo `_shown`: unescape the characters that only the cassette escapes."""
    return _ESCAPED.sub(_unshow, text) if "\\u" in text else text


def _unshow(match: re.Match[str]) -> str:
    if match[0][1] != "u":
        return match[0]
    return "".join(each if each >= "\x7f" else f"\\u{ord(each):04x}" for each in _letters(match))


_WRITERS: dict[str, Callable[[str], str]] = {
    "raw": lambda text: text,
    "google": lambda text: re.sub("[<>]", json_escape, text),
    "ascii": lambda text: text if text.isascii() else _BEYOND_ASCII.sub(json_escape, text),
    "html": lambda text: re.sub("[<>&\u2028\u2029]", json_escape, text),
}
