"""Tables that stand as JSON files beside the modules that read them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def table(module: str, name: str) -> Any:
    """Return the table `name.json` beside a module, which passes its `__file__`."""
    return json.loads(Path(module).with_name(f"{name}.json").read_bytes())


def filled(node: Any, words: Mapping[str, object]) -> Any:
    """Put words for the names in braces of all texts of a table.

    A text that is one name alone becomes the word itself.

    >>> filled({"message": "no {name}", "code": "{code}"}, {"name": "key", "code": 3})
    {'message': 'no key', 'code': 3}
    """
    if isinstance(node, dict):
        return {key: filled(each, words) for key, each in node.items()}
    if isinstance(node, list):
        return [filled(each, words) for each in node]
    if not isinstance(node, str):
        return node
    name = node[1:-1]
    return words[name] if node == f"{{{name}}}" and name in words else node.format(**words)
