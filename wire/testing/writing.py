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

OneLineLayout = Literal["compact", "google", "spaced", "commas"]
"""`{"a":1,"b":2}`; `{"a": 1,"b": 2}` of Gemini's events; `{"a": 1, "b": 2}` of Python; `{"a":1,
"b":2}`.
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
"""One of those, or one item a line, so many blanks deep; the same with tabs; Gemini's array of
chunks.
"""

Escapes = Literal["raw", "google", "ascii", "html", "as received"]
r"""Letters stand for themselves; `<` and `>` as `\u003c`; all beyond ASCII escaped; `<`, `>`, `&`
and U+2028 escaped, as Go does; neither of these, so the escapes stand in the cassette as they
came."""

LAYOUTS: tuple[Layout, ...] = get_args(Layout)
ON_ONE_LINE: tuple[OneLineLayout, ...] = get_args(OneLineLayout)
_ESCAPES: tuple[Escapes, ...] = get_args(Escapes)

DEEPEST = 100
"""Maximum nesting of a body that is stored as JSON; a deeper one is stored as text.

msgspec recurses in C for each level, and the cassette adds levels of its own.
"""

_format = msgspec.json.format
_PUNCTUATION = re.compile(rb'"(?:[^"\\]|\\.)*"|([:,])')
_INDENT = re.compile(rb"(?m)^ +")
_ESCAPED = re.compile(r"\\(?!u).|(?:\\u[0-9a-fA-F]{4})+", re.DOTALL)
_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)
# Invisible in a diff: line ends that only some editors know, marks of the writing direction, and
# byte order marks.
UNSEEN = re.compile("[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
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
    r"""Returns the JSON of `payload` and its style; `None` if no style reproduces the bytes.

    The style `first` is tried before all others.

    >>> readable(rb'{"a": "\u00fc"}')
    Readable(json=b'{"a":"\xc3\xbc"}', style=Style(layout='google', escapes='ascii'))
    """
    try:
        msgspec.json.decode(
            payload
        )  # `format` alone takes invalid UTF-8 and numbers that nobody can read
        text = payload.decode()
        if _depth(text) > DEEPEST:
            return None
        compact = _format(payload, indent=-1)
    except (ValueError, RecursionError):
        return None
    wanted: list[Layout] = list(layouts)
    styles: list[Escapes] = list(_ESCAPES)
    if first is not None:
        wanted.sort(key=lambda each: each != first.layout)
        styles.sort(key=lambda each: each != first.escapes)
    layout: Layout | None = next(
        (each for each in wanted if _laid_out(compact, each) == payload), None
    )
    if layout is None:
        return None
    received = compact.decode()
    shown = _shown(received)
    for escapes in styles:
        kept = received if escapes == "as received" else shown
        if (
            UNSEEN.search(kept) is None
            and written(kept.encode(), Style(layout, escapes)) == payload
        ):
            return Readable(kept.encode(), Style(layout, escapes))
    return None


def written(json: bytes, style: Style) -> bytes:
    """Writes a JSON value of a cassette in a style, whatever its layout in the cassette."""
    compact = _format(json, indent=-1)
    if style.escapes != "as received":
        compact = _WRITERS[style.escapes](_plain(compact.decode())).encode()
    return _laid_out(compact, style.layout)


def seen(text: str) -> str:
    """Escapes the invisible characters of a JSON text."""
    return UNSEEN.sub(_escape, text)


def _laid_out(compact: bytes, layout: Layout) -> bytes:
    if layout == "compact":
        return compact
    if layout == "spaced":
        return _format(compact, indent=0)
    if layout == "google":
        return _PUNCTUATION.sub(lambda found: b": " if found[1] == b":" else found[0], compact)
    if layout == "commas":
        return _PUNCTUATION.sub(lambda found: b", " if found[1] == b"," else found[0], compact)
    if layout == "tabs":
        return _INDENT.sub(lambda found: b"\t" * len(found[0]), _format(compact, indent=1))
    if layout == "google list":
        if compact[:1] != b"[":
            return b""
        items = decoder(list[msgspec.Raw]).decode(compact)
        return b"[" + b"\n,\r\n".join(_format(bytes(item), indent=2) for item in items) + b"\n]"
    return _format(compact, indent=int(layout[-1]))


def _depth(text: str) -> int:
    if text.count("[") + text.count("{") <= DEEPEST:
        return 0
    depth = deepest = 0
    for found in _BRACKET.finditer(text):
        if found[0] in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif found[0] in "]}":
            depth -= 1
    return deepest


# --- escapes: everything below works on JSON text, in which these letters stand inside strings only


def _escape(found: re.Match[str]) -> str:
    code = found[0].encode("utf-16-be")
    return "".join(f"\\u{code[at : at + 2].hex()}" for at in range(0, len(code), 2))


def _letters(found: re.Match[str]) -> str:
    return bytes.fromhex(found[0].replace("\\u", "")).decode("utf-16-be")


def _shown(text: str) -> str:
    """Unescapes readable characters and escapes invisible ones."""
    if "\\" in text:
        text = _ESCAPED.sub(_show, text)
    return seen(text)


def _show(found: re.Match[str]) -> str:
    if found[0][1] != "u":
        return found[0]
    return "".join(
        each if each >= " " and each not in '"\\' else f"\\u{ord(each):04x}"
        for each in _letters(found)
    )


def _plain(text: str) -> str:
    """Undoes `_shown`: unescapes the characters that only the cassette escapes."""
    return _ESCAPED.sub(_unshow, text) if "\\u" in text else text


def _unshow(found: re.Match[str]) -> str:
    if found[0][1] != "u":
        return found[0]
    return "".join(each if each >= "\x7f" else f"\\u{ord(each):04x}" for each in _letters(found))


_WRITERS: dict[str, Callable[[str], str]] = {
    "raw": lambda text: text,
    "google": lambda text: re.sub("[<>]", _escape, text),
    "ascii": lambda text: text if text.isascii() else _BEYOND_ASCII.sub(_escape, text),
    "html": lambda text: re.sub("[<>&\u2028\u2029]", _escape, text),
}
