"""Access to the files of one folder, and to nothing outside of it.

`confined` checks the text of a path. The text does not show symlinks, and another process may
change them after a check. `Workspace` therefore opens each folder of a path by the descriptor of
its parent, resolves each symlink itself, and never lets the kernel follow one.
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

from wire.core.bounds import BOUNDS
from wire.core.errors import ConfigurationError, ToolError, one_line
from wire.core.files import replace_file
from wire.core.forks import new_in_child
from wire.core.printable import printable_lines
from wire.core.temporary_files import remove_dead

_MAX_LINKS = 40  # as on Linux
_MAX_PATH_SHOWN = 200  # bytes of a path in an error


def confined(folder: Path, path: str) -> Path:
    """Return the absolute path, without `..`, that `path` names in the absolute `folder`.

    >>> folder = Path("/home/agent")
    >>> [confined(folder, path).name for path in ("src/../notes.md", "/home/agent/src")]
    ['notes.md', 'src']
    >>> confined(folder, "../etc/passwd")
    Traceback (most recent call last):
    wire.errors.ToolError: ../etc/passwd: it is outside the work folder

    Raises `ToolError` for a path outside of the folder, with a NUL, or that starts with `~`.
    """
    if "\0" in path:
        raise ToolError(f"{_shown_path(path)}: a path cannot contain NUL")
    if Path(path).parts[:1] == ("~",):
        raise ToolError(f"{_shown_path(path)}: `~` is not expanded: give a path in the work folder")
    absolute = Path(os.path.normpath(folder / path))
    if not absolute.is_relative_to(folder):
        raise _outside(path)
    return absolute


def _outside(path: str) -> ToolError:
    return ToolError(f"{_shown_path(path)}: it is outside the work folder")


def _acts_on_terminal(path: str) -> bool:
    return printable_lines(path) != path or "\n" in path or "\t" in path


def _shown_path(path: str) -> str:
    return one_line(path, _MAX_PATH_SHOWN) or "''"


class Workspace:
    """The files of one folder.

    Each method raises `ToolError` with the path if the path is outside of the folder, or if the
    system refuses. Symlinks are followed if they stay in the folder. Only regular files are opened:
    to open a device can have effects, and to open a pipe can block. Files are written completely or
    not at all. Edits of one file wait for each other.
    """

    def __init__(self, folder: Path) -> None:
        if os.open not in os.supports_dir_fd:
            raise ConfigurationError(
                "the tools of a work folder need a system that opens files relative to a "
                "folder, such as Linux or macOS"
            )
        self._given = Path(os.path.abspath(folder))
        with _system_errors(str(folder)):
            self.folder: Path = self._given.resolve(strict=True)
            os.close(os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY))
        self._writing = threading.Lock()
        new_in_child(self, _writing=threading.Lock)

    def inner(self, path: str) -> Path:
        """Return `path` relative to the folder.

        An absolute path may start with the folder as it was given, or with its real path.
        """
        folder = self._given if Path(path).is_relative_to(self._given) else self.folder
        return confined(folder, path).relative_to(folder)

    @contextmanager
    def read(self, path: str) -> Iterator[BinaryIO]:
        """Open a file for reading."""
        with self._entry(path) as (within, name), _opened(name, within, path) as file:
            yield file

    def write(self, path: str, data: bytes) -> bool:
        """Write a file and the folders that it needs; whether the file existed before.

        A file is not created under a name that would act on the terminal which lists it.
        """
        with self._writing:
            if _acts_on_terminal(path) and not self._exists(path):
                raise ToolError(
                    f"{_shown_path(path)}: the path of a new file cannot contain control or "
                    "invisible characters"
                )
            with self._entry(path, make=True) as (within, name):
                return _replace(name, within, path, data)

    def _exists(self, path: str) -> bool:
        try:
            with self._entry(path) as (within, name):
                return bool(_mode(name, within))
        except ToolError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return False
            raise

    def edit(self, path: str, change: Callable[[bytes], bytes], limit: int) -> None:
        """Replace a file of up to `limit` bytes by what `change` returns for its content.

        If `change` raises, the file stays as it is.
        """
        with self._writing, self._entry(path) as (within, name):
            with _opened(name, within, path) as file:
                data = file.read(limit + 1)
            if len(data) > limit:
                raise ToolError(f"{_shown_path(path)}: it has more than {limit:,} bytes")
            _replace(name, within, path, change(data))

    def names(self, path: str) -> list[str]:
        """List the sorted entries of a folder; folders end with a slash, symlinks show a target."""
        with self._entry(path) as (within, name):
            folder = _folder(name, within)
            try:
                remove_dead("", folder)
                with os.scandir(folder) as entries:
                    return sorted(_shown(each, folder) for each in entries)
            finally:
                os.close(folder)

    def files(
        self, path: str, skipped: frozenset[str], cut: list[str]
    ) -> Generator[tuple[str, BinaryIO | None]]:
        """Yield all regular files below a folder, or the one file, with paths in the work folder.

        A file or folder that cannot be opened comes with `None`. Symlinks in the folder are not
        followed. Folders whose names are in `skipped` are not entered. What is beyond a bound is
        left out, and `cut` gets the reason, once for each bound.
        """
        top = self.inner(path)
        with self._entry(path) as (within, name):
            if not stat.S_ISDIR(os.stat(name, dir_fd=within, follow_symlinks=False).st_mode):
                with _opened(name, within, path) as file:
                    yield str(top), file
                return
            yield from _Search(skipped, cut).files(name, within, top)

    @contextmanager
    def _entry(self, path: str, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """Open the folder that holds an entry; yield its descriptor and the name of the entry.

        The entry is not a symlink. The name `.` is the work folder itself.
        """
        with _system_errors(path):
            folders = [os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)]
            try:
                name = self._walk(path, folders, make)
                yield folders[-1], name
            finally:
                for each in folders:
                    os.close(each)

    def _walk(self, path: str, folders: list[int], make: bool) -> str:
        """Resolve a path as the kernel does, and return the name of its last component.

        `folders` has the open folders of the path so far. `..` in the target of a symlink closes
        the last one, so it cannot leave the first one, the work folder.
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
                if links > _MAX_LINKS:
                    raise ToolError(f"{_shown_path(path)}: too many links")
                if target.is_absolute():
                    while len(folders) > 1:
                        os.close(folders.pop())
                    target = self._relative(target, path)
                pending.extend(reversed(target.parts))
            elif not pending:
                return name
            else:
                if len(folders) > BOUNDS.searched_depth:  # each of them is open
                    deepest = f"more than {BOUNDS.searched_depth} levels of folders"
                    raise ToolError(f"{_shown_path(path)}: {deepest}: use a shorter path")
                # The kernel refuses `..` after a folder that does not exist.
                folders.append(_folder(name, folders[-1], make and ".." not in pending))
        return "."

    def _relative(self, target: Path, path: str) -> Path:
        for folder in (self.folder, self._given):
            if target.is_relative_to(folder):
                return target.relative_to(folder)
        raise _outside(path)


class _Search:
    """The walk of one search: depth first, each folder opened by the descriptor of its parent."""

    def __init__(self, skipped: frozenset[str], cut: list[str]) -> None:
        self._skipped, self._cut = skipped, cut
        self._entries = self._folders = 0

    def files(self, name: str, within: int, top: Path) -> Generator[tuple[str, BinaryIO | None]]:
        """Yield the files of `Workspace.files`."""
        open_: list[tuple[int, Path, list[str]]] = []
        todo: tuple[str, int, Path] | None = (name, within, top)
        try:
            while todo is not None:
                name, within, inner = todo
                try:
                    folder = _folder(name, within)
                except OSError:
                    yield str(inner), None
                else:
                    folders: list[str] = []
                    open_.append((folder, inner, folders))
                    yield from self._regular(folder, inner, folders)
                todo = self._next(open_)
        finally:
            for folder, _, _ in open_:
                os.close(folder)

    def _regular(
        self, folder: int, inner: Path, folders: list[str]
    ) -> Generator[tuple[str, BinaryIO | None]]:
        """Yield the regular files of one folder, and add its folders, the last one first."""
        names: list[str] = []
        with os.scandir(folder) as entries:
            for entry in entries:
                self._entries += 1
                if self._entries > BOUNDS.searched_entries:
                    self._say(f"more than {BOUNDS.searched_entries:,} entries")
                    break
                if entry.is_dir(follow_symlinks=False):
                    folders += [] if entry.name in self._skipped else [entry.name]
                elif entry.is_file(follow_symlinks=False):
                    names.append(entry.name)
        folders.sort(reverse=True)
        for each in sorted(names):
            try:
                file = _opened(each, folder, each)
            except (OSError, ToolError):
                yield str(inner / each), None
                continue
            with file:
                yield str(inner / each), file

    def _next(self, open_: list[tuple[int, Path, list[str]]]) -> tuple[str, int, Path] | None:
        """Return the next folder to enter, and close those that are done."""
        while open_:
            folder, inner, folders = open_[-1]
            if folders and len(open_) > BOUNDS.searched_depth:
                self._say(f"more than {BOUNDS.searched_depth} levels of folders")
            elif folders and self._entries <= BOUNDS.searched_entries:
                self._folders += 1
                if self._folders <= BOUNDS.searched_folders:
                    name = folders.pop()
                    return name, folder, inner / name
                self._say(f"more than {BOUNDS.searched_folders:,} folders")
            os.close(open_.pop()[0])
        return None

    def _say(self, reason: str) -> None:
        if reason not in self._cut:
            self._cut.append(reason)


@contextmanager
def _system_errors(path: str) -> Iterator[None]:
    """Raise errors of the system as `ToolError`, with the path as the model wrote it."""
    try:
        yield
    except OSError as cause:
        raise ToolError(f"{_shown_path(path)}: {cause.strerror or cause}") from cause
    except UnicodeEncodeError as cause:
        raise ToolError(f"{_shown_path(path)}: the path cannot be encoded in UTF-8") from cause


def _target(name: str, within: int) -> Path | None:
    """Return the target of a symlink; `None` if the entry is not a symlink or does not exist."""
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
    """Return the type and permissions of an entry; 0 if it does not exist."""
    try:
        return os.stat(name, dir_fd=within, follow_symlinks=False).st_mode
    except FileNotFoundError:
        return 0


def _check_regular_file(mode: int, path: str) -> None:
    if not stat.S_ISREG(mode):
        raise ToolError(
            f"{_shown_path(path)}: it is a folder"
            if stat.S_ISDIR(mode)
            else f"{_shown_path(path)}: it is not a regular file"
        )


def _opened(name: str, within: int, path: str) -> BinaryIO:
    """Open a regular file.

    It is checked before it is opened, because to open a device can have effects, and again
    afterwards, because another process may have replaced it.
    """
    _check_regular_file(os.stat(name, dir_fd=within, follow_symlinks=False).st_mode, path)
    file = os.fdopen(
        os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=within), "rb"
    )
    try:
        _check_regular_file(os.fstat(file.fileno()).st_mode, path)
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
        _check_regular_file(mode, path)
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
