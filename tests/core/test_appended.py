"""A file of lines that knows itself: its path, its place on the disk, its length and its lock."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from wire.core import appended
from wire.core.appended import AppendedFile, lines_of
from wire.core.errors import ConfigurationError, WireError

SAFE = "A new start writes the rest"


def opened(path: Path | str) -> AppendedFile:
    return AppendedFile(path, ConfigurationError, prefix="to: ", safe=SAFE)


def closed(path: Path, *lines: bytes) -> None:
    file = opened(path)
    for line in lines:
        file.append(line)
    file.close()


# --- opening --------------------------------------------------------------------------------------


def test_a_new_file_and_its_folders_are_for_their_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "new" / "deep" / "out"
    closed(path, b"1\n")
    closed(path, b"2\n")
    assert path.read_bytes() == b"1\n2\n"
    modes = [os.stat(each).st_mode & 0o777 for each in (path, path.parent, path.parent.parent)]
    assert modes == [0o600, 0o700, 0o700]


def test_a_file_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b"1\n")
    path.chmod(0o640)
    file = opened(path)
    file.append(b"2\n")
    file.rewrite([b"3\n"])
    file.close()
    assert (path.stat().st_mode & 0o777, path.read_bytes()) == (0o640, b"3\n")


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: path.symlink_to(path.parent / "nowhere"), "a symlink that leads to no file"),
        (lambda path: path.mkdir(), "Is a directory"),
        (lambda path: os.mkfifo(path), "not a regular file"),
        (lambda path: path.symlink_to("/dev/null"), "not a regular file"),
        (lambda path: path.symlink_to("/dev/fd/1"), "not a regular file but an open one"),
    ],
    ids=["a link to nothing", "a folder", "a pipe", "a device", "an open file"],
)
def test_what_is_no_regular_file_is_refused(
    make: Callable[[Path], object], reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "out"
    make(path)
    with pytest.raises(ConfigurationError) as refused:
        opened(path)
    assert refused.value.message == f"to: {path}: cannot be written: {reason}"
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("", "^path: expected a path, not an empty text$"),
        ("a\0b", "^to: a.b: cannot be written: .*null"),
        (5, "^path: expected a path, not int$"),
    ],
)
def test_what_is_no_path_is_refused(path: Any, problem: str) -> None:
    with pytest.raises(ConfigurationError, match=problem):
        opened(path)


# --- locks ----------------------------------------------------------------------------------------


def test_another_process_is_refused_until_the_file_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "out"
    program = (
        "import sys; from wire.core.appended import AppendedFile as File\n"
        "from wire.core.errors import WireError\n"
        "try: File(sys.argv[1], WireError).append(b'2\\n')\n"
        "except WireError as error: print(error.message, end='')"
    )
    file = opened(path)
    file.append(b"1\n")
    told = [subprocess.check_output([sys.executable, "-c", program, str(path)], text=True)]
    file.close()
    told.append(subprocess.check_output([sys.executable, "-c", program, str(path)], text=True))
    assert told == [f"{path}: another process writes to it", ""]
    assert path.read_bytes() == b"1\n2\n"


def test_a_file_that_is_rewritten_stays_locked(tmp_path: Path) -> None:
    path = tmp_path / "out"
    file = opened(path)
    file.rewrite([b"1\n", b"2\n"])
    with pytest.raises(ConfigurationError, match="another process writes to it"):
        opened(path)
    file.append(b"3\n")
    file.close()
    assert path.read_bytes() == b"1\n2\n3\n"


def test_a_file_that_is_replaced_before_it_is_locked_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out"
    lock = appended._lock

    def late(descriptor: int) -> None:
        path.unlink()
        path.write_bytes(b"1\n")
        lock(descriptor)

    monkeypatch.setattr(appended, "_lock", late)
    with pytest.raises(ConfigurationError, match="another process writes to it"):
        opened(path)


def test_a_file_system_without_locks_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(descriptor: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(appended, "_lock", refuses)
    with pytest.raises(ConfigurationError, match="out: cannot be locked: No locks available"):
        opened(tmp_path / "out")


class Windows:
    """What Microsoft's documentation of `_locking` says.

    The region begins at the position of the file, may lie beyond its end, and is that of one
    descriptor. A region that is locked already, or that another one unlocks, is EACCES.
    """

    LK_UNLCK, LK_NBLCK = 0, 2

    def __init__(self) -> None:
        self.locked: dict[tuple[int, int, int], int] = {}

    def locking(self, descriptor: int, mode: int, count: int) -> None:
        found = os.fstat(descriptor)
        region = found.st_dev, found.st_ino, os.lseek(descriptor, 0, os.SEEK_CUR)
        holder = self.locked.get(region)
        assert count == 1
        if mode == self.LK_NBLCK and holder is None:
            self.locked[region] = descriptor
        elif mode == self.LK_UNLCK and holder == descriptor:
            del self.locked[region]
        else:
            raise PermissionError(errno.EACCES, "Permission denied")


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> Iterator[Windows]:
    fake: Any = Windows()
    monkeypatch.setattr(appended, "_IS_WINDOWS", True)
    monkeypatch.setitem(sys.modules, "msvcrt", fake)
    monkeypatch.setitem(sys.modules, "fcntl", None)
    yield fake
    assert fake.locked == {}


def test_on_windows_a_byte_beyond_all_lines_is_locked(tmp_path: Path, windows: Windows) -> None:
    path = tmp_path / "out"
    file = opened(path)
    file.append(b"1\n")
    assert [position for _, _, position in windows.locked] == [1 << 40]
    for _ in range(2):  # a start that is refused leaves the lock of the other one
        with pytest.raises(ConfigurationError, match="another process writes to it"):
            opened(path)
    file.append(b"2\n")
    file.cut(2)
    file.append(b"3\n")
    assert [line.data for line in file.lines()] == [b"1\n", b"3\n"]
    file.close()
    closed(path, b"4\n")
    assert path.read_bytes() == b"1\n3\n4\n"


def test_on_windows_a_file_is_closed_before_it_is_replaced(
    tmp_path: Path, windows: Windows, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out"
    file = opened(path)
    replace = os.replace

    def as_there(*paths: Any, **options: Any) -> None:
        if windows.locked:
            raise PermissionError(errno.EACCES, "Permission denied")
        replace(*paths, **options)

    monkeypatch.setattr(os, "replace", as_there)
    file.append(b"1\n")
    file.rewrite([b"2\n"])
    assert len(windows.locked) == 1
    file.append(b"3\n")
    file.close()
    assert path.read_bytes() == b"2\n3\n"


# --- changes --------------------------------------------------------------------------------------


def removed(path: Path) -> None:
    path.unlink()


def replaced(path: Path) -> None:
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data)


def led_elsewhere(path: Path) -> None:
    target = path.with_name("target")
    target.write_bytes(path.read_bytes())
    path.unlink()
    path.symlink_to(target)


def cut(path: Path) -> None:
    os.truncate(path, 3)


def appended_to(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"more")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (removed, "was removed"),
        (replaced, "was replaced by another file"),
        (led_elsewhere, "was replaced by another file"),
        (cut, "was cut from 4 to 3 bytes"),
        (appended_to, "has 4 bytes that another program wrote"),
    ],
)
def test_a_change_is_told_before_a_line_is_written(
    change: Callable[[Path], None], problem: str, tmp_path: Path
) -> None:
    path = tmp_path / "out"
    file = opened(path)
    file.append(b"{}1\n")
    change(path)
    before = path.read_bytes() if path.exists() else None
    told = f"stopped, because {path} {problem} while this process wrote to it. {SAFE}"
    for look in (file.check, lambda: file.append(b"{}2\n"), lambda: file.rewrite([b""])):
        with pytest.raises(WireError) as stopped:
            look()
        assert (type(stopped.value), stopped.value.message) == (WireError, told)
    file.close()
    assert (path.read_bytes() if path.exists() else None) == before


def test_a_symlink_stays_one(tmp_path: Path) -> None:
    path, target = tmp_path / "out", tmp_path / "target"
    target.write_bytes(b"")
    path.symlink_to(target)
    file = opened(path)
    file.append(b"1\n")
    file.rewrite([b"2\n"])
    file.check()
    file.close()
    assert (os.readlink(path), target.read_bytes()) == (str(target), b"2\n")


def test_a_full_disk_leaves_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out"
    file = opened(path)
    file.append(b"1\n")
    write = os.write

    def full(descriptor: int, data: bytes) -> int:
        if len(data) < 9:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, data[:5])

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(WireError) as stopped:
            file.append(b"a long line\n")
    problem = f"{path} cannot be written: No space left on device"
    assert stopped.value.message == f"stopped, because {problem}. {SAFE}"
    assert path.read_bytes() == b"1\n"
    file.append(b"2\n")
    file.close()
    assert path.read_bytes() == b"1\n2\n"


def test_a_line_that_is_written_in_pieces_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:5]))
    closed(tmp_path / "out", b"a long line\n")
    assert (tmp_path / "out").read_bytes() == b"a long line\n"


def test_what_cannot_be_put_on_the_disk_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = opened(tmp_path / "out")
    file.append(b"1\n")

    def fails(descriptor: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(WireError, match="out cannot be written: Input/output error"):
        file.sync()
    with pytest.raises(ConfigurationError, match=r"^to: .*out: cannot be written: Input"):
        file.rewrite([b"2\n"])
    file.close()
    assert (tmp_path / "out").read_bytes() == b"1\n"


# --- lines ----------------------------------------------------------------------------------------


def test_lines_know_their_place() -> None:
    data = b"{}\n\n" + b"x" * 3_000_000 + b"\r\n\0\0\n[]"
    found = list(lines_of(io.BytesIO(data)))
    assert [(each.number, each.start, each.size, each.ends) for each in found] == [
        (1, 0, 3, True),
        (2, 3, 1, True),
        (3, 4, 3_000_002, True),
        (4, 3_000_006, 3, True),
        (5, 3_000_009, 2, False),
    ]
    assert b"".join(each.data for each in found) == data


def test_a_hole_does_not_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with path.open("wb") as file:
        file.write(b"{}\n")
        file.seek(80_000_000, os.SEEK_CUR)
        file.write(b"\n[]\n")
    tracemalloc.start()
    file = opened(path)
    try:
        found = [(each.size, len(each.data), each.ends) for each in file.lines()]
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        file.close()
    assert found == [(3, 3, True), (80_000_001, 1 << 20, True), (3, 3, True)]
    assert most < 8_000_000


def test_a_line_that_is_too_long_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appended, "_PIECE_BYTES", 4)
    monkeypatch.setattr(appended, "MAX_LINE_BYTES", 10)
    found = list(lines_of(io.BytesIO(b"123456789\n1234567890\n12\n")))
    assert [(each.data, each.size) for each in found] == [
        (b"123456789\n", 10),
        (b"1234", 11),
        (b"12\n", 3),
    ]
