"""The file of a test's cassette, named after the test (C-24)."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

_LONGEST = 120
"""Characters of a name without its ending, so that file systems and archives keep it whole."""
_TAIL = 8
"""Characters of the hash."""
_OTHERS = re.compile(r"[^a-z0-9_.-]+", re.IGNORECASE)
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)


def cassette_path(test_file: Path, node_id: str) -> Path:
    """The cassette of a test: `cassettes/<module>/<test>.json` beside the test's file.

    >>> cassette_path(Path("tests/test_tide.py"), "tests/test_tide.py::test_time").as_posix()
    'tests/cassettes/test_tide/test_time.json'
    >>> cassette_path(Path("test_tide.py"), "test_tide.py::test_port[Saint-Malo]").name
    'test_port-Saint-Malo-5fa1ce47.json'
    """
    test = node_id.partition("::")[2].replace("::", ".")
    folder = test_file.parent / "cassettes" / safe_name(test_file.stem)
    return folder / f"{safe_name(test)}.json"


def safe_name(text: str) -> str:
    """A file name for a text, without an ending: the text itself where every system can have it.

    Otherwise a hash of the text follows, since two texts may become the same name: other characters
    are replaced, long names are cut, and some systems ignore case.
    """
    name = _OTHERS.sub("-", text).strip("-.") or "test"
    if _RESERVED.match(name):  # Windows opens a device, whatever follows the dot
        name = f"_{name}"
    if name == text.lower() and len(name) <= _LONGEST:
        return name
    tail = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_TAIL]
    return f"{name[: _LONGEST - _TAIL - 1].rstrip('-.')}-{tail}"
