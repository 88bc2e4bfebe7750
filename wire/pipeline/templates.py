"""Prompts and values with places for what the context holds: `{{.key}}`, and `$goal` of the other
dialect.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from wire.errors import PipelineError
from wire.pipeline.graph import written

_PLACE = re.compile(r"\{\{(?P<inside>.*?)\}\}|\{\{|\$goal(?![A-Za-z0-9_])", re.DOTALL)
_KEY = re.compile(r"\s*\.(\w+(?:\.\w+)*)\s*")
_TOLD = 60  # letters of a place that an error shows


def render(
    text: str, context: Mapping[str, Any], *, node: str = "", goal: str | None = None
) -> str:
    """`text` with the values of the context in their places, read once: what a value says is text,
    not a template.

    >>> render("Hello, {{ .seed }}! $goal", {"seed": "{{.x}}"}, goal="Be brief.")
    'Hello, {{.x}}! Be brief.'

    `$goal` is text if there is no `goal` (P-53). `node` is told in errors.

    Raises `PipelineError` for a key that the context has not (P-51) and for what is more than a key
    (P-52).
    """

    def value(place: re.Match[str]) -> str:
        if place["inside"] is None and place.group() != "{{":
            return place.group() if goal is None else goal
        key = _key(place, node)
        if key not in context:
            raise PipelineError(
                f"{_of(node)}the template wants {place.group()[:_TOLD]}, and nothing has "
                f"set {key!r}"
            )
        return written(context[key])

    return _PLACE.sub(value, text)


def keys_of(text: str, *, node: str = "") -> list[str]:
    """The keys that `text` wants, each once, in order. Raises `PipelineError` for what is more than
    a key.

    >>> keys_of("{{.a}}, {{ .b }}, {{.a}}")
    ['a', 'b']
    """
    return list(
        dict.fromkeys(
            _key(place, node) for place in _PLACE.finditer(text) if place.group() != "$goal"
        )
    )


def _key(place: re.Match[str], node: str) -> str:
    if place["inside"] is None:
        raise PipelineError(f"{_of(node)}a template's {{{{ is not closed")
    found = _KEY.fullmatch(place["inside"])
    if found is None:
        raise PipelineError(
            f"{_of(node)}unsupported template syntax {place.group()[:_TOLD]!r}: only "
            f"{{{{.key}}}} is"
        )
    return found.group(1)


def _of(node: str) -> str:
    return f"node {node!r}: " if node else ""
