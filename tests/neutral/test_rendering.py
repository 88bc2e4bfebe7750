"""Names of tools that a wire does not take, under names that it takes."""

from __future__ import annotations

import re

from tests.joined import joined
from wire.core.memory import Note
from wire.neutral.ids import ToolNames, safe_names

GEMINI = ToolNames(re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}"), 64, 64, "{name} -> {safe}")
MESSAGES = ToolNames(re.compile(r"[a-zA-Z0-9_-]{1,128}"), 128, 120, "{name} -> {safe}")


@joined(
    ("rule", "names", "taken", "safe"),
    [
        (GEMINI, ["now", "a-b"], [], {}),
        (
            GEMINI,
            ["fs.read", "fs:read", "fs.read"],
            [],
            {"fs.read": "fs_read", "fs:read": "fs_read_2"},
        ),
        (GEMINI, ["fs.read", "fs_read"], ["fs_read_2"], {"fs.read": "fs_read_3"}),
        (GEMINI, ["1a", "", "é"], [], {"1a": "_1a", "": "_", "é": "__2"}),
        (GEMINI, ["a" * 65], ["a" * 64], {"a" * 65: "a" * 62 + "_2"}),
        (MESSAGES, ["1a", ""], [], {"": "_"}),
        (MESSAGES, ["a" * 129], ["a" * 120], {"a" * 129: "a" * 120 + "_2"}),
    ],
)
def test_each_name_gets_one_of_its_own(
    rule: ToolNames, names: list[str], taken: list[str], safe: dict[str, str]
) -> None:
    found: list[Note] = []
    calls = [(f"messages[{index}]", name) for index, name in enumerate(names)]
    assert safe_names(calls, taken, rule, found) == safe
    assert [(note.path, note.message) for note in found] == [
        (f"messages[{names.index(name)}]", f"{name!r} -> {new}") for name, new in safe.items()
    ]


def test_many_names_stay_legal_and_different() -> None:
    calls = [("", "." * length) for length in range(1, 200)]
    names = safe_names(calls, [], GEMINI, [])
    assert len(set(names.values())) == len(names) == 199
    assert all(GEMINI.legal.fullmatch(name) for name in names.values())
