"""Files of configuration that are deep, large, ambiguous or bombs (R-38)."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.joined import joined
from wire.core.bounds import BOUNDS
from wire.core.configuration import Unreadable, read_configuration

DEEP, DIGITS = 10_000, "9" * 5_000


def bomb(levels: int, merge: bool = False) -> bytes:
    """Each level has the one before twice, as items or by merge keys."""
    lines = ["a0: &a0 {x: 1}"]
    for level in range(1, levels):
        both = f"[*a{level - 1}, *a{level - 1}]"
        lines.append(
            f"a{level}: &a{level} {{<<: {both}}}" if merge else f"a{level}: &a{level} {both}"
        )
    return "\n".join(lines).encode()


WIDE = ", ".join(map(str, range(60_000)))
REFUSED: dict[str, tuple[str, bytes, str]] = {
    "a key twice in JSON": (
        ".json",
        b'{"a": [{"b": 1, "c": 2, "b": 3}]}',
        "a[0].b: the key occurs twice: remove one",
    ),
    "a key twice in YAML": (
        ".yaml",
        b"a:\n  - b: 1\n    b: 2\n",
        "a[0].b: the key occurs twice: remove one",
    ),
    "a key twice in TOML": (".toml", b"a = 1\na = 2\n", "not TOML: Cannot overwrite a value"),
    "deep JSON": (
        ".json",
        b"[" * DEEP + b"]" * DEEP,
        "nested more than 100 levels deep: flatten it",
    ),
    "deep YAML": (
        ".yaml",
        b"[" * DEEP + b"]" * DEEP,
        "nested more than 100 levels deep: flatten it",
    ),
    "deep large YAML": (".yaml", b"[" * 100_000, "nested more than 100 levels deep: flatten it"),
    "deep TOML": (".toml", b"a = " + b"[" * DEEP + b"]" * DEEP, "nested more than 100 levels"),
    "a deep key of TOML": (
        ".toml",
        b".".join([b"a"] * DEEP) + b" = 1",
        "nested more than 100 levels",
    ),
    "digits of JSON": (
        ".json",
        f'{{"a":\n {DIGITS}}}'.encode(),
        "line 2: a number of more than 4,000",
    ),
    "digits of TOML": (
        ".toml",
        f"a = {DIGITS}".encode(),
        "line 1: a number of more than 4,000 digits",
    ),
    "digits of YAML": (
        ".yaml",
        f"a: {DIGITS}".encode(),
        "line 1: a number of more than 4,000 digits",
    ),
    "hexadecimal digits": (
        ".yaml",
        b"a: 0x" + b"f" * 5_000,
        "a: a number of more than 4,000 digits",
    ),
    "a bomb": (".yaml", bomb(30), "its aliases make more than 30,000 values: split it"),
    "a bomb of merge keys": (
        ".yaml",
        bomb(30, merge=True),
        "its aliases make more than 30,000 values",
    ),
    "an alias inside its value": (".yaml", b"a: &a [*a]", "a[0]: this value contains itself"),
    "many values of JSON": (".json", f"[{WIDE}]".encode(), "more than 30,000 values: split it"),
    "many values of YAML": (".yaml", f"[{WIDE}]".encode(), "more than 30,000 values: split it"),
    "many values of TOML": (".toml", f"a = [{WIDE}]".encode(), "more than 30,000 values: split it"),
    "a long name": (
        ".json",
        b'{"a": {"' + b"n" * 500_000 + b'": 1}}',
        "a: a key of more than 1,000",
    ),
    "a large file": (".toml", b"#" * 2_000_000, "larger than 1,048,576 bytes: split it"),
    "a date that is none": (
        ".yaml",
        b"a: 2026-99-99",
        "not YAML: a value that is none of its type",
    ),
    "a list as key": (".yaml", b"? [1]\n: 2", "not YAML: found unhashable key"),
}


@pytest.mark.row("R-38")
@joined("kind", REFUSED)
def test_a_file_over_a_bound_is_refused_with_its_place(kind: str) -> None:
    suffix, data, told = REFUSED[kind]
    with pytest.raises(Unreadable) as caught:
        read_configuration(suffix, data)
    said = str(caught.value)
    assert told in said
    assert "\n" not in said
    assert len(said) < 400


@pytest.mark.slow
@pytest.mark.parametrize("kind", REFUSED)
def test_a_file_is_refused_within_a_second(kind: str) -> None:
    suffix, data, _ = REFUSED[kind]
    began = time.monotonic()
    with pytest.raises(Unreadable):
        read_configuration(suffix, data)
    assert time.monotonic() - began < 1


@joined(
    ("suffix", "data", "value"),
    [
        (
            ".yaml",
            b"a: &a {x: yes}\nb: {<<: *a, y: 1}\nc: *a",
            {"a": {"x": True}, "b": {"x": True, "y": 1}, "c": {"x": True}},
        ),
        (".yaml", b"", None),
        (".json", b'\xef\xbb\xbf{"a": {"b": 1}, "c": {"b": 1}}', {"a": {"b": 1}, "c": {"b": 1}}),
        (".toml", b"a.b = 1_000", {"a": {"b": 1000}}),
        (".json", f"[{'9' * BOUNDS.digits}]".encode(), [int("9" * BOUNDS.digits)]),
        (".json", b"[" * 100 + b"]" * 100, None),
    ],
)
def test_what_people_write_is_read(suffix: str, data: bytes, value: Any) -> None:
    read = read_configuration(suffix, data)
    assert value is None or read == value
