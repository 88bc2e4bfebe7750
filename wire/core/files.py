"""Reads files completely, and writes them completely or not at all.

The files hold conversations, so nobody else may read them: a new file has mode 0600 from its first
byte, and a folder that is made for it has 0700.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, BinaryIO

from wire.core.errors import WireError
from wire.core.lazy import lazy_pattern
from wire.core.temporary_files import open_temporary, remove_dead

MAX_FILE_BYTES = 256 * 1024 * 1024
"""Size of the largest file that is read or written. Without a limit, a path such as /dev/zero would
be read until the memory is full.
"""

_READ_BYTES = 1 << 20
_MAX_LINKS = 40  # as on Linux
_OPEN_FILES = lazy_pattern(r"/dev/fd|/proc/(?P<process>\d+)(/task/\d+)?/fd")
_IS_WINDOWS = os.name == "nt"


def read_whole(path: str | os.PathLike[str], error: type[WireError]) -> bytes:
    """Read all bytes of a file of up to `MAX_FILE_BYTES`.

    Raises `error` with the path and the reason.
    """
    name = checked_path(path, error)
    pieces: list[bytes] = []
    try:
        with open(name, "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size  # 0 for a device or a pipe
            read = 0
            while max(size, read) <= MAX_FILE_BYTES and (piece := file.read(_READ_BYTES)):
                pieces.append(piece)
                read += len(piece)
    except (OSError, ValueError) as cause:
        raise error(f"{name}: cannot be read: {reason_of(cause)}") from cause
    if max(size, read) > MAX_FILE_BYTES:
        raise error(f"{name}: cannot be read: it has more than {MAX_FILE_BYTES:,} bytes")
    return b"".join(pieces)


def open_regular(path: str | os.PathLike[str], error: type[WireError]) -> BinaryIO:
    """Open a regular file for reading, however large it is. The caller closes it.

    Raises `error` with the path and the reason. A pipe or a device has no size, and opening one may
    wait for ever.
    """
    name = checked_path(path, error)
    try:
        if not stat.S_ISREG(os.stat(name).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        return open(name, "rb")
    except (OSError, ValueError) as cause:
        raise error(f"{name}: cannot be read: {reason_of(cause)}") from cause


def write_whole(path: str | os.PathLike[str], data: bytes, error: type[WireError]) -> None:
    """Write a file completely or not at all, with the folders that it needs.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_whole(f"{folder}/new/notes.txt", b"Hi", WireError)
    ...     read_whole(f"{folder}/new/notes.txt", WireError)
    b'Hi'

    A new file has mode 0600 and a new folder 0700; a file that is replaced keeps its mode. A
    symlink stays a symlink, and the file that it points to is replaced. Only regular files are
    replaced, and a symlink that leads to no file is refused. Of several processes that write one
    file, the last one wins.

    Raises `error` with the path and the reason; the old file is then unchanged.
    """
    name = checked_path(path, error)
    try:
        if len(data) > MAX_FILE_BYTES:
            raise ValueError(f"{len(data):,} bytes, more than the {MAX_FILE_BYTES:,} that are read")
        replace_file(_target_of(name), data)
    except (OSError, ValueError) as cause:
        raise error(f"{name}: cannot be written: {reason_of(cause)}") from cause


def open_to_append(name: str, error: type[WireError], prefix: str = "") -> tuple[int, str]:
    """Open a regular file that is read and appended to, and make it with the folders that it needs.

    Returns its descriptor, and its path without symlinks. The rules are those of `write_whole`.
    Raises `error` with the prefix, the path and the reason.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0)
    try:
        target = _target_of(name)
        is_new = _mode_of_regular_file(target, None) is None
        descriptor = os.open(target, flags | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except (OSError, ValueError) as cause:
        raise error(f"{prefix}{name}: cannot be written: {reason_of(cause)}") from cause
    if is_new:
        _sync_folder(os.path.dirname(target), None)
    return descriptor, target


def write_output(path: str | os.PathLike[str], data: bytes, error: type[WireError]) -> None:
    """Write as `write_whole`, but append to a pipe, a terminal, a device or an open file.

    So /dev/stderr, /dev/null and a process substitution of the shell work as they do for other
    programs.

    Raises `error` with the path and the reason.
    """
    name = checked_path(path, error)
    try:
        descriptor = _descriptor_in(name)
        if descriptor is not None:
            # Opened anew by its path, a regular file would be written from its beginning.
            descriptor = os.dup(descriptor)
        elif os.path.exists(name) and not _is_file_or_folder(os.stat(name).st_mode):
            descriptor = os.open(name, os.O_WRONLY | getattr(os, "O_BINARY", 0))
        if descriptor is not None:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            return
    except (OSError, ValueError) as cause:
        raise error(f"{name}: cannot be written: {reason_of(cause)}") from cause
    write_whole(name, data, error)


def checked_path(path: Any, error: type[WireError]) -> str:
    """Return the path as text.

    Other types are refused: `open` takes a number for an open file.
    """
    try:
        name = os.fsdecode(path)
    except Exception:  # whatever `__fspath__` raises
        raise error(f"path: expected a path, not {type(path).__name__}") from None
    if not name:
        raise error("path: expected a path, not an empty text")
    return name


def reason_of(cause: OSError | ValueError) -> str:
    """Return why a path was refused.

    A path that no system accepts, such as one with a NUL, raises a `ValueError`.
    """
    if isinstance(cause, OSError):
        return cause.strerror or type(cause).__name__
    return str(cause)


def _descriptor_in(name: str) -> int | None:
    """Return the descriptor that a path such as /dev/stdout or /proc/self/fd/3 names, or `None`."""
    for _ in range(_MAX_LINKS):
        folder = _OPEN_FILES().fullmatch(os.path.realpath(os.path.dirname(name)))
        number = os.path.basename(name)
        if folder and number.isascii() and number.isdigit():
            own = folder["process"] in (None, str(os.getpid()))
            return int(number) if own else None
        if not os.path.islink(name):
            return None
        name = os.path.join(os.path.dirname(name), os.readlink(name))
    return None


def _target_of(name: str) -> str:
    """Return the path without symlinks of a file that is to be written, and make its folder."""
    if _descriptor_in(name) is not None:
        # Behind /dev/stdout may be a regular file. If it were replaced, what is printed later
        # would go to a file without a name.
        raise OSError(errno.EINVAL, "not a regular file but an open one")
    _check_links(name)
    # Renaming over a symlink would replace the link itself.
    target = os.path.realpath(name)
    _make_folder(os.path.dirname(target))
    return target


def _check_links(name: str) -> None:
    """Raise `OSError` if the path or a folder in it is a symlink that leads to no file.

    Nobody can see from the path where such a file would be created.
    """
    before = ""
    while name != before:
        if os.path.islink(name) and not os.path.exists(name):
            raise OSError(errno.EINVAL, "a symlink that leads to no file")
        before, name = name, os.path.dirname(name)


def _is_file_or_folder(mode: int) -> bool:
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


def _make_folder(folder: str) -> None:
    """Make a folder and its missing parents, readable by their owner only.

    `os.makedirs` would make the parents readable to everybody.
    """
    if os.path.isdir(folder):
        return
    above = os.path.dirname(folder)
    if above != folder:
        _make_folder(above)
    with suppress(FileExistsError):  # another process may make it at the same time
        os.mkdir(folder, 0o700)
    _sync_folder(above, None)


def replace_file(
    name: str,
    data: bytes | Iterable[bytes],
    *,
    dir_fd: int | None = None,
    new_mode: int = 0o600,
) -> None:
    """Write a regular file that appears under `name` only when all of it is on disk.

    `data` may come in pieces, so that a large file is never in memory.

    With `dir_fd`, `name` is an entry of that open folder. A new file has `new_mode`, less what the
    umask takes away; a file that is replaced keeps its mode. Until then the bytes are in a file
    whose name begins with a dot and `name`, and ends with `.tmp`. A process that is killed leaves
    it; the next one that writes to the folder removes it.

    Raises `OSError`; the old file is then unchanged. A last component that is a symlink is refused.
    """
    mode = _mode_of_regular_file(name, dir_fd)
    remove_dead(os.path.dirname(name), dir_fd)
    # A file that others may not read must not be readable for a moment under its temporary name.
    temporary, descriptor = open_temporary(name, new_mode if mode is None else 0o600, dir_fd)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines((data,) if isinstance(data, bytes) else data)
            file.flush()
            if mode is not None and hasattr(os, "fchmod"):
                os.fchmod(descriptor, mode)
            # Without it, a loss of power after the rename can leave an empty file.
            os.fsync(descriptor)
            if not _IS_WINDOWS:  # there, a file that is open cannot be renamed
                os.replace(temporary, name, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
        if _IS_WINDOWS:
            os.replace(temporary, name)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=dir_fd)
        raise
    _sync_folder(os.path.dirname(name), dir_fd)


def _mode_of_regular_file(name: str, dir_fd: int | None) -> int | None:
    """Return the permissions of the file that is to be replaced; `None` if there is none."""
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
