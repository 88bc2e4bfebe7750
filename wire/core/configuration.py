"""Readers of configuration files, by their endings, within `wire.core.bounds`.

They are as strict as the readers of cassettes: a key that occurs twice is an error. No error has a
text of the file other than the names of its keys: it may be a key of a host (R-28).
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from wire.core.bounds import BOUNDS
from wire.core.limits import is_deeper
from wire.core.memory import key_path
from wire.core.secret import quoted

_BITS = BOUNDS.digits * 10 // 3
_DEPTH = f"nested more than {BOUNDS.file_depth} levels deep: flatten it"
_VALUES = f"more than {BOUNDS.file_values:,} values: split it"
_SHOWN = 100
"""Characters of a key that a path shows."""
_SMALL_YAML = 16 * 1024
_MERGE = "tag:yaml.org,2002:merge"
_STEP = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
_LONG_TABLE = re.compile(rf"(?<![\w.-]){_STEP}(?:[ \t]*+\.[ \t]*+{_STEP}){{{BOUNDS.file_depth}}}")
_LONG_INTEGER = re.compile(rf"(?<![\d_])[\d_]{{{BOUNDS.digits + 1}}}")


class Unreadable(Exception):
    """The problem of a file, without any of its values."""


def read_configuration(suffix: str, data: bytes) -> Any:
    """Return the value of a file of configuration, of a suffix in `READERS`.

    >>> read_configuration(".json", b'{"model": "a", "model": "b"}')
    Traceback (most recent call last):
    wire.core.configuration.Unreadable: model: the key occurs twice: remove one

    Raises `Unreadable`, and `UnicodeDecodeError` for a file that is not UTF-8.
    """
    if len(data) > BOUNDS.file_bytes:
        raise Unreadable(f"larger than {BOUNDS.file_bytes:,} bytes: split it")
    try:
        value = READERS[suffix](data.decode("utf-8-sig"))
    except RecursionError:
        raise Unreadable(_DEPTH) from None
    except ValueError as cause:
        if isinstance(cause, UnicodeDecodeError):
            raise
        raise Unreadable(f"a number of more than {BOUNDS.digits:,} digits: shorten it") from None
    _check(value)
    return value


def _toml(text: str) -> Any:
    _check_digits(text)
    if (found := _LONG_TABLE.search(text)) is not None:  # the reader needs its square
        line = text.count("\n", 0, found.start()) + 1
        raise Unreadable(f"line {line}: {_DEPTH}")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as cause:
        raise Unreadable(f"not TOML: {cause}") from None


def _json(text: str) -> Any:
    if is_deeper(text.encode("utf-8", "surrogatepass"), BOUNDS.file_depth):
        raise Unreadable(_DEPTH)
    _check_digits(text)
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except json.JSONDecodeError as cause:
        raise Unreadable(f"not JSON: {cause.msg}, line {cause.lineno}") from None


class _Twice(dict[str, Any]):
    """An object with a key that occurs twice. Only a walk knows its path."""

    key = ""


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        value = _Twice(value)
        value.key = Counter(key for key, _ in pairs).most_common(1)[0][0]
    return value


def _yaml(text: str) -> Any:
    try:
        import yaml
    except ImportError:
        raise Unreadable(
            "YAML needs PyYAML: pip install 'wire-llm[yaml]'; .toml and .json are read without it"
        ) from None
    # The loader in C needs a hundredth of the time; not every PyYAML has it.
    large = len(text) > _SMALL_YAML
    kind: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader) if large else yaml.SafeLoader
    _check_digits(text)
    try:
        depth = count = 0
        for event in yaml.parse(text, Loader=kind):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            count += isinstance(event, yaml.NodeEvent)
            if depth > BOUNDS.file_depth:
                raise Unreadable(_DEPTH)
            if count > 2 * BOUNDS.file_values:  # keys count here, too
                raise Unreadable(_VALUES)
        loader = kind(text)
        node = loader.get_single_node()
        if node is None:
            return None
        _check_node(node)
        return loader.construct_document(node)
    except yaml.YAMLError as cause:
        if "nesting depth" in str(cause):  # libyaml has a bound of its own
            raise Unreadable(_DEPTH) from None
        mark = getattr(cause, "problem_mark", None)
        line = f", line {mark.line + 1}" if mark is not None else ""
        raise Unreadable(
            f"not YAML: {getattr(cause, 'problem', None) or type(cause).__name__}{line}"
        ) from None
    except (ValueError, OverflowError, TypeError):  # such as a date that no calendar has
        raise Unreadable("not YAML: a value that is none of its type") from None


def _check_node(root: Any) -> None:
    """Refuse keys that occur twice, and aliases that expand: each counts with what it repeats."""
    sizes: dict[int, int] = {}
    todo: list[tuple[Any, str, bool]] = [(root, "", False)]
    around: set[int] = set()
    while todo:
        node, path, counted = todo.pop()
        parts = list(_parts(node, path))
        if not counted:
            if id(node) in around:
                raise Unreadable(f"{path}: this value contains itself: write it without the alias")
            if id(node) in sizes:
                continue
            _check_keys(node, path)
            around.add(id(node))
            todo += [(node, path, True), *((each, at, False) for each, at in parts)]
            continue
        around.discard(id(node))
        sizes[id(node)] = 1 + sum(sizes[id(each)] for each, _ in parts)
        if sizes[id(node)] > BOUNDS.file_values:
            raise Unreadable(f"{path or 'the file'}: its aliases make {_VALUES}")


def _parts(node: Any, path: str) -> Iterator[tuple[Any, str]]:
    """Yield the values in a node of YAML, each with its path."""
    if isinstance(node.value, list):
        for index, each in enumerate(node.value):
            if isinstance(each, tuple):
                yield each[0], path
                yield each[1], key_path(path, _name(each[0]))
            else:
                yield each, f"{path}[{index}]"


def _name(node: Any) -> str:
    return node.value[:_SHOWN] if isinstance(node.value, str) else "..."


def _check_keys(node: Any, path: str) -> None:
    if isinstance(node.value, list):
        keys = Counter(
            (each[0].tag, each[0].value)
            for each in node.value
            if isinstance(each, tuple) and isinstance(each[0].value, str)
        )
        for (tag, key), times in keys.items():
            if times > 1 and tag != _MERGE:
                raise _twice(key_path(path, key))


def _twice(path: str) -> Unreadable:
    return Unreadable(f"{quoted(path, 200)[1:-1]}: the key occurs twice: remove one")


def _check_digits(text: str) -> None:
    if (found := _LONG_INTEGER.search(text)) is not None:
        line = text.count("\n", 0, found.start()) + 1
        raise Unreadable(f"line {line}: a number of more than {BOUNDS.digits:,} digits: shorten it")


def _check(value: Any) -> None:
    """Refuse what is nested too deeply, has too many values, or has names that are too long."""
    level: list[tuple[Any, str]] = [(value, "")]
    count = 0
    for _ in range(BOUNDS.file_depth + 1):
        inner: list[tuple[Any, str]] = []
        for each, path in level:
            if isinstance(each, Mapping):
                if isinstance(each, _Twice):
                    raise _twice(key_path(path, each.key))
                for key in each:
                    if isinstance(key, str) and len(key) > BOUNDS.name:
                        name = path or "the file"
                        problem = f"a key of more than {BOUNDS.name:,} characters"
                        raise Unreadable(f"{name}: {problem}: shorten it")
                inner += [(item, key_path(path, str(key)[:_SHOWN])) for key, item in each.items()]
            elif isinstance(each, list):
                inner += [(item, f"{path}[{index}]") for index, item in enumerate(each)]
            elif type(each) is int and each.bit_length() > _BITS:
                problem = f"a number of more than {BOUNDS.digits:,} digits: shorten it"
                raise Unreadable(f"{path}: {problem}")
        count += len(inner)
        if count > BOUNDS.file_values:
            raise Unreadable(_VALUES)
        if not inner:
            return
        level = inner
    raise Unreadable(_DEPTH)


READERS: dict[str, Callable[[str], Any]] = {
    ".toml": _toml,
    ".json": _json,
    ".yaml": _yaml,
    ".yml": _yaml,
}
