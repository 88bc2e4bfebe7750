"""Temporary files beside the files that they become, and those that dead processes have left.

A process holds a lock on its temporary file until the file has its name. The system removes the
lock with the process, also in another container, where the number of a process says nothing.
"""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress

from wire.core.lazy import lazy_pattern

_MAX_NAME_BYTES = 180  # of the file's name in that of its temporary file; a name has at most 255
_NAME = lazy_pattern(r"\..+\.[0-9a-f]{16}(?P<locked>\.locked)?\.tmp")
_OLD_SECONDS = 86_400.0
"""Age of a file without a lock whose writer is dead: that of an earlier version, or on Windows."""
_MAX_FOLDERS = 10_000

_searched: set[tuple[int, int]] = set()
"""Folders, by device and inode, that this process has searched."""

_CAN_LOCK = os.name != "nt"


def open_temporary(name: str, mode: int, dir_fd: int | None) -> tuple[str, int]:
    """Make the temporary file of a file, in the same folder; returns its path and its descriptor.

    A rename is atomic within one file system only.
    """
    folder, base = os.path.split(name)
    kept = base.encode("utf-8", "ignore")[:_MAX_NAME_BYTES].decode("utf-8", "ignore")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    while True:
        path = os.path.join(folder, f".{kept}.{os.urandom(8).hex()}.locked.tmp")
        descriptor = os.open(path, flags, mode, dir_fd=dir_fd)
        # Before it was locked, another process may have taken it for one of a dead process.
        if _lock(descriptor) is not False and _exists(path, dir_fd):
            return path, descriptor
        os.close(descriptor)


def remove_dead(folder: str, dir_fd: int | None) -> None:
    """Remove the temporary files that dead processes have left in a folder.

    A process searches each folder once. A file that cannot be removed is left.
    """
    with suppress(OSError):
        found = os.stat(folder or ".") if dir_fd is None else os.stat(dir_fd)
        key = found.st_dev, found.st_ino
        if key in _searched:
            return
        if len(_searched) >= _MAX_FOLDERS:
            _searched.clear()
        _searched.add(key)
        with os.scandir((folder or ".") if dir_fd is None else dir_fd) as entries:
            names = [each.name for each in entries if each.name.endswith(".tmp")]
        for name in names:
            if match := _NAME().fullmatch(name):
                path = os.path.join(folder, name)
                with suppress(OSError):
                    _remove(path, dir_fd, has_lock=bool(match["locked"]) and _CAN_LOCK)


def _remove(path: str, dir_fd: int | None, *, has_lock: bool) -> None:
    found = os.stat(path, dir_fd=dir_fd, follow_symlinks=False)
    if not stat.S_ISREG(found.st_mode):
        return
    if not has_lock:
        if time.time() - found.st_mtime > _OLD_SECONDS:
            os.unlink(path, dir_fd=dir_fd)
        return
    descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=dir_fd)
    try:
        # If the file got its name meanwhile, there is none at this path: it is never used again.
        if _lock(descriptor):
            os.unlink(path, dir_fd=dir_fd)
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool | None:
    """Lock a file until it is closed.

    Returns false if another process has the lock, and `None` if there are no locks here.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return None
    return True


def _exists(path: str, dir_fd: int | None) -> bool:
    try:
        os.stat(path, dir_fd=dir_fd, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
