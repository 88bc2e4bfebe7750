"""The files of one folder, and nothing outside it.

`confined` decides by the text of a path. What text does not show are links, and who may change them
meanwhile: so `Workspace` goes from folder to folder by open descriptors, looks at each link itself,
and lets the kernel follow none.
"""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from wire.core.files import replace_file
from wire.errors import ConfigurationError, ToolError, one_line

_LINKS = 40  # as many as Linux follows
_SHOWN = 200  # bytes of a path in an error


def confined(folder: Path, path: str) -> Path:
    """The place in `folder`, which is absolute, that `path` names by its text: without `..`,
    absolute.

    >>> confined(Path("/home/agent"), "src/../notes.md").as_posix(), confined(Path("/home/agent"), "/home/agent/src").as_posix()
    ('/home/agent/notes.md', '/home/agent/src')
    >>> confined(Path("/home/agent"), "../etc/passwd")
    Traceback (most recent call last):
    wire.errors.ToolError: ../etc/passwd: it is outside the work folder

    Raises `ToolError` for a path that leads out of the folder, or that nobody means: with a NUL, or
    in a home folder.
    """
    if "\0" in path:
        raise ToolError(f"{_said(path)}: a path has no NUL in it")
    if Path(path).parts[:1] == ("~",):
        raise ToolError(f"{_said(path)}: `~` is no folder here: give a path in the work folder")
    place = Path(os.path.normpath(folder / path))
    if not place.is_relative_to(folder):
        raise _outside(path)
    return place


def _outside(path: str) -> ToolError:
    return ToolError(f"{_said(path)}: it is outside the work folder")


def _said(path: str) -> str:
    return one_line(path, _SHOWN) or "''"


class Workspace:
    """The files of one folder. Each method raises a `ToolError` with the path, if that leads out,
    and if the system refuses.

    Links are followed as long as they stay in the folder. Only regular files are opened: a device
    could do something, a pipe would wait. Files are written whole or not at all; edits of one file
    wait for each other.
    """

    def __init__(self, folder: Path) -> None:
        if os.open not in os.supports_dir_fd:
            raise ConfigurationError(
                "the tools of a work folder need a system that opens files relative to a "
                "folder, such as Linux or macOS"
            )
        self._given = Path(os.path.abspath(folder))
        with _told(str(folder)):
            self.folder = self._given.resolve(strict=True)
            os.close(os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY))
        self._writing = threading.Lock()

    def inner(self, path: str) -> Path:
        """`path` relative to the folder; an absolute one may begin with the folder as it was given,
        or with what that is without links.
        """
        folder = self._given if Path(path).is_relative_to(self._given) else self.folder
        return confined(folder, path).relative_to(folder)

    @contextmanager
    def read(self, path: str) -> Iterator[BinaryIO]:
        """A file to read from."""
        with self._entry(path) as (within, name), _opened(name, within, path) as file:
            yield file

    def write(self, path: str, data: bytes) -> bool:
        """Put a file there, with the folders that it needs; whether there was one before."""
        with self._writing, self._entry(path, make=True) as (within, name):
            return _replace(name, within, path, data)

    def edit(self, path: str, change: Callable[[bytes], bytes], limit: int) -> None:
        """Put what `change` makes of a file, of up to `limit` bytes, in its place; what `change`
        raises leaves it as it is.
        """
        with self._writing, self._entry(path) as (within, name):
            with _opened(name, within, path) as file:
                data = file.read(limit + 1)
            if len(data) > limit:
                raise ToolError(f"{_said(path)}: it has more than {limit:,} bytes")
            _replace(name, within, path, change(data))

    def names(self, path: str) -> list[str]:
        """What is in a folder, sorted: folders end with a slash, links show where to."""
        with self._entry(path) as (within, name):
            folder = _folder(name, within)
            try:
                with os.scandir(folder) as entries:
                    return sorted(_shown(each, folder) for each in entries)
            finally:
                os.close(folder)

    def files(self, path: str, skipped: frozenset[str]) -> Generator[tuple[str, BinaryIO | None]]:
        """Regular files of a folder, at whatever depth, by their paths in the work folder; or the
        one file. `None` is one that cannot be opened, or a folder that cannot.

        Links in it are not followed, folders of a name in `skipped` not entered.
        """
        top = self.inner(path)
        with self._entry(path) as (within, name):
            if not stat.S_ISDIR(os.stat(name, dir_fd=within, follow_symlinks=False).st_mode):
                with _opened(name, within, path) as file:
                    yield str(top), file
                return
            refused: list[OSError] = []
            for folder, folders, names, descriptor in os.fwalk(
                name, onerror=refused.append, dir_fd=within
            ):
                folders[:] = sorted(set(folders) - skipped)
                inner = top / Path(folder).relative_to(name)
                for each in sorted(names):
                    if not stat.S_ISREG(_mode(each, descriptor)):
                        continue
                    try:
                        file = _opened(each, descriptor, each)
                    except (OSError, ToolError):
                        yield str(inner / each), None
                        continue
                    with file:
                        yield str(inner / each), file
            for cause in refused:
                yield str(cause.filename), None

    @contextmanager
    def _entry(self, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """The open folder that an entry is in, and the entry's name there, which is no link: `.` is
        the folder itself.
        """
        with _told(path):
            folders = [os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)]
            try:
                name = self._walk(path, folders, make)
                yield folders[-1], name
            finally:
                for each in folders:
                    os.close(each)

    def _walk(self, path: str, folders: list[int], make: bool) -> str:
        """Go as the kernel would, with `folders` as the way back: `..` of a link's target cannot be
        followed out of the first.
        """
        pending = list(reversed(self.inner(path).parts))
        links = 0
        while pending:
            name = pending.pop()
            if name == "..":
                if len(folders) == 1:
                    raise _outside(path)
                os.close(folders.pop())
            elif (target := _target(name, folders[-1])) is not None:
                links += 1
                if links > _LINKS:
                    raise ToolError(f"{_said(path)}: too many links")
                if target.is_absolute():
                    while len(folders) > 1:
                        os.close(folders.pop())
                    target = self._relative(target, path)
                pending.extend(reversed(target.parts))
            elif not pending:
                return name
            else:
                # What is not there has no `..` to go back from.
                folders.append(_folder(name, folders[-1], make and ".." not in pending))
        return "."

    def _relative(self, target: Path, path: str) -> Path:
        for folder in (self.folder, self._given):
            if target.is_relative_to(folder):
                return target.relative_to(folder)
        raise _outside(path)


@contextmanager
def _told(path: str) -> Iterator[None]:
    """The system's refusals, with the path as the model wrote it."""
    try:
        yield
    except OSError as cause:
        raise ToolError(f"{_said(path)}: {cause.strerror or cause}") from cause
    except UnicodeEncodeError as cause:
        raise ToolError(f"{_said(path)}: it cannot be written in UTF-8") from cause


def _target(name: str, within: int) -> Path | None:
    """Where a link leads; `None` for what is none, or is not there."""
    try:
        return Path(os.readlink(name, dir_fd=within))
    except OSError as cause:
        if cause.errno not in (errno.EINVAL, errno.ENOENT):
            raise
        return None


def _folder(name: str, within: int, make: bool = False) -> int:
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    try:
        return os.open(name, flags, dir_fd=within)
    except FileNotFoundError:
        if not make:
            raise
    with suppress(FileExistsError):
        os.mkdir(name, dir_fd=within)
    return os.open(name, flags, dir_fd=within)


def _mode(name: str, within: int) -> int:
    """What an entry is, and what it allows; 0 if it is not there."""
    try:
        return os.stat(name, dir_fd=within, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return 0


def _held_to_file(mode: int, path: str) -> None:
    if not stat.S_ISREG(mode):
        raise ToolError(
            f"{_said(path)}: it is a folder"
            if stat.S_ISDIR(mode)
            else f"{_said(path)}: it is no regular file"
        )


def _opened(name: str, within: int, path: str) -> BinaryIO:
    """A regular file.

    Looked at before it is opened, which can have effects, and after it, since it may be another by
    then.
    """
    _held_to_file(os.stat(name, dir_fd=within, follow_symlinks=False).st_mode, path)
    file = os.fdopen(
        os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=within), "rb"
    )
    try:
        _held_to_file(os.fstat(file.fileno()).st_mode, path)
    except BaseException:
        file.close()
        raise
    return file


def _replace(name: str, within: int, path: str, data: bytes) -> bool:
    """Replace a file of an open folder; whether there was one.

    The new file takes the name of the old one, so that a hard link in the work folder to a file
    outside of it is cut and never written through.
    """
    mode = _mode(name, within)
    if mode:
        _held_to_file(mode, path)
        if not mode & 0o222:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    # Files of a project are for all whom the umask allows.
    replace_file(name, data, dir_fd=within, new_mode=0o666)
    return bool(mode)


def _shown(entry: os.DirEntry[str], within: int) -> str:
    if entry.is_dir(follow_symlinks=False):
        return f"{entry.name}/"
    return (
        f"{entry.name} -> {os.readlink(entry.name, dir_fd=within)}"
        if entry.is_symlink()
        else entry.name
    )
