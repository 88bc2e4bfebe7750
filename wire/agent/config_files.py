"""Readers of configuration files, by their endings. No error has a text of the file: it may be a
key (R-28).
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from typing import Any


class Unreadable(Exception):
    """The problem of a file, without any of its text."""


def _toml(data: bytes) -> Any:
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except tomllib.TOMLDecodeError as cause:
        raise Unreadable(f"not TOML: {cause}") from None


def _json(data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8-sig"))
    except json.JSONDecodeError as cause:
        raise Unreadable(f"not JSON: {cause.msg}, line {cause.lineno}") from None


def _yaml(data: bytes) -> Any:
    try:
        import yaml
    except ImportError:
        raise Unreadable(
            "YAML needs PyYAML: pip install 'wire-llm[yaml]'; .toml and .json are read without it"
        ) from None
    try:
        return yaml.safe_load(data.decode("utf-8-sig"))
    except yaml.YAMLError as cause:
        mark = getattr(cause, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark is not None else ""
        raise Unreadable(
            f"not YAML: {getattr(cause, 'problem', None) or type(cause).__name__}{line}"
        ) from None


READERS: dict[str, Callable[[bytes], Any]] = {
    ".toml": _toml,
    ".json": _json,
    ".yaml": _yaml,
    ".yml": _yaml,
}
