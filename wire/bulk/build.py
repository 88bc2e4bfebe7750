"""The build of `wire` that this process runs: two commits of one version have different builds."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

from wire.core.version import VERSION

_ROOT = Path(__file__).parents[1]
_SUFFIXES = frozenset({".py", ".json"})
_ADDED = "schemas"
"""A folder that an installed package has, and a checkout does not."""


@functools.cache
def build() -> str:
    """Return the version, and a digest of the source and data files, which are read once.

    Call it when the modules are imported: files that are replaced later are not what runs.

    >>> import re
    >>> re.fullmatch(r"[0-9.]+, build [0-9a-f]{8}", build()) is not None
    True
    """
    return f"{VERSION}, build {_digest(_ROOT)}"


def _digest(root: Path) -> str:
    files = {
        path.relative_to(root).as_posix(): path
        for path in root.rglob("*")
        if path.suffix in _SUFFIXES and path.relative_to(root).parts[0] != _ADDED
    }
    digest = hashlib.blake2b(digest_size=4)
    for name in sorted(files):
        data = files[name].read_bytes()
        digest.update(f"{name}\0{len(data)}\0".encode())
        digest.update(data)
    return digest.hexdigest()
