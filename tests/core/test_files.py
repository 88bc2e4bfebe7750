"""Files are written completely or not at all, by every door of the library that writes one."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from wire.core.files import read_whole, replace_file, write_whole
from wire.errors import CassetteError, ConfigurationError, PipelineError, WireError
from wire.pipeline.checkpoint import Checkpoint, write_checkpoint
from wire.sessions import save_session
from wire.testing.tape import Recorder, Sent


def write(path: Path, data: bytes = b"new") -> None:
    write_whole(path, data, ConfigurationError)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_a_new_file_is_private_and_its_folders_are_made(tmp_path: Path):
    path = tmp_path / "a" / "b" / "file"
    write(path, b"\x00\r\n\xff")
    assert (path.read_bytes(), mode(path)) == (b"\x00\r\n\xff", 0o600)
    assert os.listdir(path.parent) == ["file"]


@pytest.mark.parametrize("old", [0o644, 0o600, 0o640, 0o755, 0o444])
def test_a_file_that_is_replaced_keeps_its_mode(tmp_path: Path, old: int):
    path = tmp_path / "file"
    path.write_bytes(b"a longer old text")
    path.chmod(old)
    write(path)
    assert (path.read_bytes(), mode(path)) == (b"new", old)


def test_the_temporary_file_is_private_until_it_is_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o600)
    modes: list[int] = []
    chmod = os.fchmod

    def seen(descriptor: int, permissions: int) -> None:
        modes.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        chmod(descriptor, permissions)

    monkeypatch.setattr(os, "fchmod", seen)
    write(path)
    assert modes == [0o600]


@pytest.mark.parametrize("absolute", [True, False])
def test_a_symlink_stays_one_and_the_file_behind_it_is_replaced(tmp_path: Path, absolute: bool):
    (tmp_path / "real").mkdir()
    path, link = tmp_path / "real" / "file", tmp_path / "link"
    link.symlink_to(path if absolute else "real/file")
    write(link, b"new")  # to a file that is not there yet
    write(link, b"newer")
    assert link.is_symlink()
    assert (path.read_bytes(), path.is_symlink()) == (b"newer", False)
    assert (os.listdir(tmp_path / "real"), len(os.listdir(tmp_path))) == (["file"], 2)


def test_a_hard_link_keeps_the_old_content(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"old")
    os.link(tmp_path / "file", tmp_path / "other")
    write(tmp_path / "file")
    assert ((tmp_path / "file").read_bytes(), (tmp_path / "other").read_bytes()) == (b"new", b"old")


def _directory(path: Path) -> None:
    path.mkdir()


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _link_to_itself(path: Path) -> None:
    path.symlink_to(path)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (_directory, "Is a directory"),
        (_pipe, "not a regular file"),
        (_link_to_itself, "not a regular file"),
    ],
)
def test_only_regular_files_are_replaced(tmp_path: Path, make: Callable[[Path], None], reason: str):
    path = tmp_path / "file"
    make(path)
    before = path.lstat()
    with pytest.raises(ConfigurationError) as caught:
        write(path)
    assert str(caught.value) == f"{path}: cannot be written: {reason}"
    assert (path.lstat().st_mode, path.lstat().st_ino) == (before.st_mode, before.st_ino)
    assert os.listdir(tmp_path) == ["file"]


def test_dev_null_stays_a_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def renames(source: str, target: str, **_: object) -> None:  # root could do it
        raise AssertionError(f"{target} would have been replaced")

    monkeypatch.setattr(os, "replace", renames)
    (tmp_path / "link").symlink_to("/dev/null")
    for path in ("/dev/null", tmp_path / "link"):
        with pytest.raises(WireError, match=r"(null|link): cannot be written: not a regular file$"):
            write_whole(path, b"", WireError)


def test_paths_that_no_system_accepts_are_typed_errors(tmp_path: Path):
    for path in ("a\0b", str(tmp_path / ("x" * 300))):
        with pytest.raises(PipelineError, match="cannot be written: "):
            write_whole(path, b"", PipelineError)
        with pytest.raises(PipelineError, match="cannot be read: "):
            read_whole(path, PipelineError)
    with pytest.raises(PipelineError, match=r"gone: cannot be read: No such file or directory$"):
        read_whole(tmp_path / "gone", PipelineError)
    assert os.listdir(tmp_path) == []


class Crash(BaseException):
    """The end of the program: no `except Exception` sees it."""


@pytest.mark.parametrize("step", ["fchmod", "fsync", "replace"])
@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), Crash()])
def test_a_failure_before_the_rename_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, failure: BaseException
):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o640)

    def fails(*_: object, **__: object) -> None:
        raise failure

    monkeypatch.setattr(os, step, fails)
    with pytest.raises((ConfigurationError, Crash)) as caught:
        write(path)
    if isinstance(failure, OSError):
        assert str(caught.value) == f"{path}: cannot be written: No space left on device"
        assert caught.value.__cause__ is failure
    assert (path.read_bytes(), mode(path)) == (b"old", 0o640)
    assert os.listdir(tmp_path) == ["file"]


def test_the_content_is_synced_before_the_rename_and_the_folder_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    steps: list[tuple[str, bytes | str]] = []
    fsync, replace = os.fsync, os.replace

    def synced(descriptor: int) -> None:
        fsync(descriptor)
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        steps.append(("folder" if is_folder else "file", path.read_bytes()))

    def replaced(source: str, target: str, **options: int | None) -> None:
        steps.append(("rename", Path(source).read_bytes()))
        replace(source, target, **options)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    write(path)
    assert steps == [("file", b"old"), ("rename", b"new"), ("folder", b"new")]


def test_a_folder_that_cannot_be_synced_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    fsync = os.fsync

    def refuses_folders(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(22, "Invalid argument")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", refuses_folders)
    write(tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"new"


KILLED = """
import os, signal, sys
from wire.core.files import write_whole
from wire.errors import WireError

os.replace = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
write_whole(sys.argv[1], b"new", WireError)
"""


def test_a_process_killed_before_the_rename_leaves_the_old_file(tmp_path: Path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    process = subprocess.run([sys.executable, "-c", KILLED, str(path)], timeout=60)
    assert (process.returncode, path.read_bytes()) == (-signal.SIGKILL, b"old")
    write(path)
    assert path.read_bytes() == b"new"


def test_a_file_of_an_open_folder_is_replaced_there_although_the_folder_was_moved(tmp_path: Path):
    (tmp_path / "folder").mkdir()
    folder = os.open(tmp_path / "folder", os.O_RDONLY)
    try:
        (tmp_path / "folder").rename(tmp_path / "moved")
        (tmp_path / "folder").mkdir()
        replace_file("file", b"new", dir_fd=folder, new_mode=0o640)
        (tmp_path / "moved" / "link").symlink_to("file")
        with pytest.raises(OSError, match="not a regular file"):
            replace_file("link", b"newer", dir_fd=folder)
    finally:
        os.close(folder)
    assert os.listdir(tmp_path / "folder") == []
    assert sorted(os.listdir(tmp_path / "moved")) == ["file", "link"]
    assert (tmp_path / "moved" / "file").read_bytes() == b"new"
    assert mode(tmp_path / "moved" / "file") & ~0o640 == 0


def record(path: Path) -> None:
    recorder = Recorder(path)
    sent = Sent("POST", "http://127.0.0.1/v1", [], b"{}")
    error = recorder.keep(recorder.send(sent), sent, 200, [], b"{}", "eof")
    if error is not None:
        raise error


@pytest.mark.parametrize(
    ("door", "error"),
    [
        (lambda path: save_session(path, []), ConfigurationError),
        (lambda path: write_checkpoint(path, Checkpoint(last_node_id="a", data={})), PipelineError),
        (record, CassetteError),
    ],
    ids=["session", "checkpoint", "cassette"],
)
def test_every_door_writes_the_same_way_and_has_its_own_error(
    tmp_path: Path, door: Callable[[Path], None], error: type[WireError]
):
    path, link = tmp_path / "file", tmp_path / "link"
    link.symlink_to(path)
    door(link)
    assert (link.is_symlink(), mode(path), len(os.listdir(tmp_path))) == (True, 0o600, 2)
    path.chmod(0o644)
    door(path)
    assert mode(path) == 0o644
    _pipe(tmp_path / "pipe")
    with pytest.raises(error, match=r"pipe: cannot be written: not a regular file$"):
        door(tmp_path / "pipe")
