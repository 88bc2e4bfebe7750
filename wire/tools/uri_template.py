"""Fills a template of addresses with values: RFC 6570, for texts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from wire.core.errors import ToolError


class _Place(NamedTuple):
    """How the values of one kind of place are written (RFC 6570, appendix A)."""

    first: str
    between: str
    assign: str | None = None
    """What follows a name whose value is empty; `None` for values without names."""
    keeps: str = ""
    """Characters that are not encoded, besides those that never are."""
    may_be_empty: bool = False


_RESERVED = ":/?#[]@!$&'()*+,;="
_PLACES = {
    "+": _Place("", ",", keeps=_RESERVED),
    "#": _Place("#", ",", keeps=_RESERVED, may_be_empty=True),
    ".": _Place(".", "."),
    "/": _Place("/", "/"),
    ";": _Place(";", ";", "", may_be_empty=True),
    "?": _Place("?", "&", "=", may_be_empty=True),
    "&": _Place("&", "&", "=", may_be_empty=True),
}
_SIMPLE = _Place("", ",")
_EXPRESSION = re.compile(r"\{([^{}]*)\}")
_NAME = re.compile(r"([\w.%]+)(?:\*|:(\d{1,4}))?", re.ASCII)
_ENCODED = re.compile("(%[0-9A-Fa-f]{2})")


def expanded(template: str, values: Mapping[str, Any]) -> str:
    """Fill a template.

    >>> expanded("tide://{port}{/day}{?unit}", {"port": "Le Conquet", "day": "1/2"})
    'tide://Le%20Conquet/1%2F2'

    Places after `?`, `&`, `;` and `#` may stay empty. Raises `ToolError` for another value that is
    missing, for one without a place, and for a template that cannot be read.
    """
    named: set[str] = set()
    address = _EXPRESSION.sub(lambda found: _filled(found[1], values, named, template), template)
    if "{" in (rest := _EXPRESSION.sub("", template)) or "}" in rest:
        raise ToolError(f"{template}: a brace without the other one")
    if unknown := [name for name in values if name not in named]:
        raise ToolError(f"{template}: it has no place for {', '.join(unknown)}")
    return address


def _filled(text: str, values: Mapping[str, Any], named: set[str], template: str) -> str:
    place = _PLACES.get(text[:1])
    specs = (text if place is None else text[1:]).split(",")
    place = place or _SIMPLE
    filled = []
    for spec in specs:
        parts = _NAME.fullmatch(spec)
        if parts is None:
            raise ToolError(f"{template}: {{{text}}} is no place of RFC 6570")
        name, value = parts[1], values.get(parts[1])
        named.add(name)
        if isinstance(value, str):
            filled.append(_value(place, name, value[: int(parts[2])] if parts[2] else value))
        elif value is not None:
            raise ToolError(f"{template}: {name}: expected a text, not {type(value).__name__}")
        elif not place.may_be_empty:
            raise ToolError(f"{template}: no value for {name}")
    return place.first + place.between.join(filled) if filled else ""


def _value(place: _Place, name: str, value: str) -> str:
    if place.keeps:  # what is encoded already stays as it is, in such a place only
        pieces = enumerate(_ENCODED.split(value))
        encoded = "".join(each if at % 2 else quote(each, place.keeps) for at, each in pieces)
    else:
        encoded = quote(value, "")
    if place.assign is None:
        return encoded
    return f"{name}={encoded}" if encoded else name + place.assign
