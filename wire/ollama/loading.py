"""Requests that load a model, or unload it, and ask for no output."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_ZERO = re.compile(r"[+-]?0*(\.0*)?(ns|us|µs|ms|s|m|h)?")
"""A duration of nothing, as Go reads it."""
_EMPTY: Mapping[str, dict[str, Any]] = {
    "messages": {"message": {"role": "assistant", "content": ""}},
    "prompt": {"response": ""},
}
"""What an endpoint is asked with -> the answer without output."""


def loaded(body: Mapping[str, Any], key: str) -> dict[str, Any] | None:
    """Return the answer to a request that only loads or unloads a model; `None` for another one.

    `key` is what the endpoint is asked with.

    >>> loaded({"model": "qwen3", "messages": [], "keep_alive": 0}, "messages")["done_reason"]
    'unload'
    >>> loaded({"model": "qwen3"}, "prompt")["done_reason"]
    'load'
    >>> loaded({"model": "qwen3", "prompt": "Hi"}, "prompt")
    """
    if body.get(key) or body.get("images"):
        return None
    return {
        "model": body.get("model"),
        "created_at": "2026-01-01T00:00:00Z",
        **_EMPTY[key],
        "done": True,
        "done_reason": "unload" if _is_zero(body.get("keep_alive")) else "load",
    }


def _is_zero(given: Any) -> bool:
    if isinstance(given, str):
        return _ZERO.fullmatch(given) is not None and "0" in given
    return isinstance(given, int | float) and not isinstance(given, bool) and given == 0
