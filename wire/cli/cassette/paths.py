"""The files that PATH arguments name: files, and all files in folders."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path


def files_in(paths: Iterable[str]) -> Iterator[tuple[Path, bool]]:
    """Yield each file once, and whether it was named itself, in the order of the names.

    Folders whose name begins with a dot, such as `.git`, and symlinks inside folders are left out.
    Raises `ConfigurationError` for a path that does not exist.
    """
    from wire.core.errors import ConfigurationError

    seen: set[Path] = set()
    for name in paths:
        path = Path(name)
        if not path.exists():
            raise ConfigurationError(f"{name}: no such file or folder")
        for file in _below(path) if path.is_dir() else (path,):
            if file not in seen:
                seen.add(file)
                yield file, file == path


def _below(folder: Path) -> Iterator[Path]:
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        for name in sorted(names):
            file = Path(root, name)
            if file.is_file() and not file.is_symlink():
                yield file
