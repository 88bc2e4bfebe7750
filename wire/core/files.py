"""Reads files completely, and writes them completely or not at all."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from wire.errors import WireError


def read_whole(path: str | os.PathLike[str], error: type[WireError]) -> bytes:
    """All bytes of a file.

    Raises `error` with the path and the reason of the system.
    """
    try:
        return Path(path).read_bytes()
    except (OSError, ValueError) as cause:
        raise error(f"{path}: cannot be read: {_reason(cause)}") from cause


def write_whole(path: str | os.PathLike[str], data: bytes, error: type[WireError]) -> None:
    """Write a file completely or not at all, with the folders that it needs.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(f"{folder}/new/notes.txt", b"Hi", WireError)
    ...     read_whole(f"{folder}/new/notes.txt", WireError)
    b'Hi'

    A new file has mode 0600; a file that is replaced keeps its mode. A symlink stays a symlink, and
    the file that it points to is replaced. Only regular files are replaced.

    Raises `error` with the path and the reason of the system; the old file is then unchanged.
    """
    try:
        # Renaming over a symlink would replace the link itself.
        target = os.path.realpath(path)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        replace_file(target, data)
    except (OSError, ValueError) as cause:
        raise error(f"{path}: cannot be written: {_reason(cause)}") from cause


def _reason(cause: OSError | ValueError) -> str:
    """Why a path was refused. A path that no system accepts, such as one with a NUL, is a
    `ValueError`.
    """
    if isinstance(cause, OSError):
        return cause.strerror or type(cause).__name__
    return str(cause)


def replace_file(
    name: str, data: bytes, *, dir_fd: int | None = None, new_mode: int = 0o600
) -> None:
    """Write a regular file that appears under `name` only when all of it is on disk.

    With `dir_fd`, `name` is an entry of that open folder. A new file has `new_mode`, less what the
    umask takes away; a file that is replaced keeps its mode.

    Raises `OSError`; the old file is then unchanged. A last component that is a symlink is refused.
    """
    mode = _mode_of_regular_file(name, dir_fd)
    # In the same folder, because a rename is atomic within one file system only.
    temporary = os.path.join(os.path.dirname(name), f".{uuid4().hex}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    # A file that others may not read must not be readable for a moment under its temporary name.
    descriptor = os.open(temporary, flags, new_mode if mode is None else 0o600, dir_fd=dir_fd)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if mode is not None and hasattr(os, "fchmod"):
                os.fchmod(descriptor, mode)
            # Without it, a loss of power after the rename can leave an empty file.
            os.fsync(descriptor)
        os.replace(temporary, name, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
    except BaseException:
        os.unlink(temporary, dir_fd=dir_fd)
        raise
    _sync_folder(os.path.dirname(name), dir_fd)


def _mode_of_regular_file(name: str, dir_fd: int | None) -> int | None:
    """The permissions of the file that is to be replaced; `None` if there is none."""
    try:
        mode = os.stat(name, dir_fd=dir_fd, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    # A rename over /dev/null or a named pipe would replace it for every program.
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file")
    return mode & 0o777


def _sync_folder(folder: str, dir_fd: int | None) -> None:
    """Ask the system to put the rename on disk.

    A failure is ignored: some file systems cannot sync a folder. After a loss of power the name is
    then that of the old file or of the new one, and either is complete.
    """
    with suppress(OSError):
        if dir_fd is not None:
            os.fsync(dir_fd)
            return
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
