"""Templates: `{{.key}}` is replaced by a value of the context, `$goal` by the graph's goal."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from wire.core.errors import PipelineError
from wire.pipeline.graph import written

_PLACEHOLDER = re.compile(r"\{\{(?P<inside>.*?)\}\}|\{\{|\$goal(?![A-Za-z0-9_])", re.DOTALL)
_KEY = re.compile(r"\s*\.(\w+(?:\.\w+)*)\s*")
_MAX_SHOWN = 60  # characters of a placeholder in an error


def render(
    text: str, context: Mapping[str, Any], *, node: str = "", goal: str | None = None
) -> str:
    """Replace the placeholders of `text` by values of the context.

    A placeholder inside a value is text; it is not replaced.

    >>> render("Hello, {{ .seed }}! $goal", {"seed": "{{.x}}"}, goal="Be brief.")
    'Hello, {{.x}}! Be brief.'

    Without a `goal`, `$goal` stays in the text (P-53). Errors name the `node`.

    Raises `PipelineError` for a key that the context does not have (P-51), and for a placeholder
    that is not a key (P-52).
    """

    def value(placeholder: re.Match[str]) -> str:
        if placeholder["inside"] is None and placeholder.group() != "{{":
            return placeholder.group() if goal is None else goal
        key = _key(placeholder, node)
        if key not in context:
            raise PipelineError(
                f"{_of(node)}the template uses {placeholder.group()[:_MAX_SHOWN]}, but nothing has "
                f"set {key!r}"
            )
        return written(context[key])

    return _PLACEHOLDER.sub(value, text)


def keys_of(text: str, *, node: str = "") -> list[str]:
    """List the keys that `text` uses, each once, in order.

    >>> keys_of("{{.a}}, {{ .b }}, {{.a}}")
    ['a', 'b']

    Raises `PipelineError` for a placeholder that is not a key.
    """
    return list(
        dict.fromkeys(
            _key(placeholder, node)
            for placeholder in _PLACEHOLDER.finditer(text)
            if placeholder.group() != "$goal"
        )
    )


def _key(placeholder: re.Match[str], node: str) -> str:
    if placeholder["inside"] is None:
        raise PipelineError(f"{_of(node)}a template's {{{{ is not closed")
    key = _KEY.fullmatch(placeholder["inside"])
    if key is None:
        raise PipelineError(
            f"{_of(node)}unsupported template syntax {placeholder.group()[:_MAX_SHOWN]!r}: only "
            f"{{{{.key}}}} is"
        )
    return key.group(1)


def _of(node: str) -> str:
    return f"node {node!r}: " if node else ""
