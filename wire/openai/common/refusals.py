"""The fields of a request that a host refuses or ignores, found by the patterns of its dialect."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import Any

from wire.core.errors import Violation
from wire.core.memory import WireStruct
from wire.openai.common.dialect import Refusal, matches_model


def refused_fields(
    refusals: Iterable[Refusal], request: Any, model: str, rule: str
) -> Iterator[Violation]:
    """Yield a violation for each field of the request that a refusal matches.

    `request` is a struct or decoded JSON. `rule` is the id of the rule in docs/rules.md.

    >>> refusals = (Refusal("tools[].type=mcp", "no '{value}' for {model}"),)
    >>> request = {"tools": [{"type": "function"}, {"type": "mcp"}]}
    >>> [str(each) for each in refused_fields(refusals, request, "m", "P16")]
    ["tools[1].type: no 'mcp' for m [P16]"]
    """
    for refusal in refusals:
        if not refusal.models or matches_model(refusal.models, model):
            severity = "warning" if refusal.ignored else "error"
            words = refusal.words.replace("{model}", model)
            for path, value in _walk(request, *_steps(refusal.path), ""):
                message = words.replace("{path}", path).replace("{value}", str(value))
                yield Violation(
                    path, message, rule, severity, refusal.remedy, code=refusal.code, field=path
                )


@functools.cache
def _steps(path: str) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """Split a pattern into its keys and its values; `None` stands for any value.

    >>> _steps("tool_choice=required|none")
    (('tool_choice',), ('required', 'none'))
    """
    keys, has_value, value = path.partition("=")
    return tuple(keys.split(".")), tuple(value.split("|")) if has_value else None


def _walk(
    node: Any, keys: tuple[str, ...], values: tuple[str, ...] | None, path: str
) -> Iterator[tuple[str, Any]]:
    """Yield the path and the value of each refused field in the request."""
    if not keys:
        if values is None or any(_equals(node, value) for value in values):
            yield path, node
        return
    key = keys[0].removesuffix("[]")
    # Not `getattr` of any node: a text has attributes such as `index` that are not fields.
    child = (
        getattr(node, key, None)
        if isinstance(node, WireStruct)
        else node.get(key)
        if isinstance(node, dict)
        else None
    )
    if child is None:
        return
    below = f"{path}.{key}" if path else key
    if key == keys[0]:
        yield from _walk(child, keys[1:], values, below)
    elif isinstance(child, list):
        for index, item in enumerate(child):
            yield from _walk(item, keys[1:], values, f"{below}[{index}]")


def _equals(child: Any, value: str) -> bool:
    """Return whether a value of the request equals that of a pattern; `[]` is the empty list."""
    if isinstance(child, list):
        return not child and value == "[]"
    if isinstance(child, (int, float)):
        return f"{child:g}" == value
    return bool(child == value)


def supported(values: Iterable[str]) -> str:
    """Return the end of the server's words for a value outside a list.

    >>> print(supported(["low", "medium", "high"]))
    Supported values are: 'low', 'medium', and 'high'.
    >>> print(supported(["low", "high"]))
    Supported values are: 'low' and 'high'.
    """
    quoted = [f"'{each}'" for each in values]
    if len(quoted) > 2:
        listed = f"{', '.join(quoted[:-1])}, and {quoted[-1]}"
    else:
        listed = " and ".join(quoted)
    return f"Supported values are: {listed}."
