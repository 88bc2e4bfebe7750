"""Temporary files of dead processes are removed, and those of living ones never."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from wire.core import temporary_files
from wire.core.files import replace_file
from wire.core.temporary_files import open_temporary, remove_dead
from wire.pipeline.workspace import Workspace

WRITER = """
import os, sys
from wire.core.files import replace_file


def pieces():
    yield b"half"
    print(*[name for name in os.listdir() if name.endswith(".tmp")], flush=True)
    sys.stdin.readline()
    yield b" and half"


replace_file("file", pieces())
"""


@pytest.fixture(autouse=True)
def _searches_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(temporary_files, "_searched", set())


def writer(folder: Path) -> tuple[subprocess.Popen[str], str]:
    """A process in the middle of a file, and the name of its temporary file."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def new_name(folder: Path, base: str = "file", number: int = 1) -> Path:
    return folder / f".{base}.{number:016x}.locked.tmp"


def test_the_file_of_a_living_process_stays_and_that_of_a_dead_one_goes(tmp_path: Path) -> None:
    dead, dead_name = writer(tmp_path)
    living, living_name = writer(tmp_path)  # prints both, the dead one is alive here
    with dead, living:
        assert len(set(living_name.split())) == 2
        dead.kill()
        assert dead.wait(60) == -signal.SIGKILL
        for _ in range(2):
            temporary_files._searched.clear()
            replace_file(str(tmp_path / "other"), b"")
            left = {dead_name, *living_name.split()} & set(os.listdir(tmp_path))
            assert left == set(living_name.split()) - {dead_name}
        living.communicate("\n", timeout=60)
        assert living.returncode == 0
    assert sorted(os.listdir(tmp_path)) == ["file", "other"]
    assert (tmp_path / "file").read_bytes() == b"half and half"


@pytest.mark.parametrize("by", ["path", "descriptor", "relative path"])
def test_all_files_of_dead_processes_in_the_folder_go_at_the_first_write(
    tmp_path: Path, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for number in range(3):
        new_name(tmp_path, "file" if number else "another", number).write_bytes(b"x")
    descriptor = os.open(tmp_path, os.O_RDONLY)
    try:
        if by == "descriptor":
            replace_file("file", b"", dir_fd=descriptor)
        else:
            replace_file("file" if by == "relative path" else str(tmp_path / "file"), b"")
    finally:
        os.close(descriptor)
    assert os.listdir(tmp_path) == ["file"]


def test_a_process_searches_a_folder_once(tmp_path: Path) -> None:
    replace_file(str(tmp_path / "file"), b"")
    new_name(tmp_path).write_bytes(b"")
    replace_file(str(tmp_path / "file"), b"")
    assert new_name(tmp_path).exists()


@pytest.mark.parametrize(("hours", "stays"), [(0, True), (23, True), (25, False)])
def test_a_file_of_an_earlier_version_goes_after_a_day(
    tmp_path: Path, hours: int, stays: bool
) -> None:
    old = tmp_path / ".file.0123456789abcdef.tmp"
    old.write_bytes(b"x")
    os.utime(old, (time.time() - hours * 3600,) * 2)
    replace_file(str(tmp_path / "file"), b"")
    assert old.exists() == stays


def test_other_files_stay(tmp_path: Path) -> None:
    names = ["a.tmp", ".file.tmp", "file.0123456789abcdef.locked.tmp", ".file.0123.locked.tmp"]
    for name in names:
        (tmp_path / name).write_bytes(b"x")
        os.utime(tmp_path / name, (0, 0))
    new_name(tmp_path, number=1).mkdir()
    new_name(tmp_path, number=2).symlink_to("a.tmp")
    os.mkfifo(new_name(tmp_path, number=3))
    before = set(os.listdir(tmp_path))
    replace_file(str(tmp_path / "file"), b"")
    assert set(os.listdir(tmp_path)) == before | {"file"}


def test_a_file_that_is_taken_for_dead_before_it_is_locked_gets_another_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, taken = temporary_files._lock, list[str]()

    def late(descriptor: int) -> bool | None:
        if not taken:
            taken.extend(os.listdir(tmp_path))
            temporary_files._searched.clear()
            remove_dead(str(tmp_path), None)  # as another process would
        return lock(descriptor)

    monkeypatch.setattr(temporary_files, "_lock", late)
    path, descriptor = open_temporary(str(tmp_path / "file"), 0o600, None)
    os.close(descriptor)
    assert len(taken) == 1
    assert os.listdir(tmp_path) == [os.path.basename(path)] != taken


def test_without_locks_only_old_files_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setattr(temporary_files, "_CAN_LOCK", False)
    for number, hours in enumerate((23, 25)):
        new_name(tmp_path, number=number).write_bytes(b"")
        os.utime(new_name(tmp_path, number=number), (time.time() - hours * 3600,) * 2)
    replace_file(str(tmp_path / "file"), b"new")
    assert sorted(os.listdir(tmp_path)) == [new_name(tmp_path, number=0).name, "file"]


def test_a_folder_that_cannot_be_searched_is_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "scandir", refused)
    replace_file(str(tmp_path / "file"), b"new")
    assert (tmp_path / "file").read_bytes() == b"new"


def test_a_work_folder_loses_them_too(tmp_path: Path) -> None:
    for folder in ("src", "docs"):
        (tmp_path / folder).mkdir()
        new_name(tmp_path / folder, "main.py").write_bytes(b"half")
    Workspace(tmp_path).write("src/main.py", b"whole")
    assert os.listdir(tmp_path / "src") == ["main.py"]
    assert Workspace(tmp_path).names("docs") == []
