"""Files are written completely or not at all, by every door of the library that writes one."""

from __future__ import annotations

import os
import re
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.joined import joined
from wire.agent import read_run, save_run
from wire.agent.run_state import begin_run
from wire.core import files
from wire.core.files import read_whole, replace_file, write_output, write_whole
from wire.errors import CassetteError, ConfigurationError, PipelineError, WireError
from wire.neutral.messages import Message
from wire.pipeline.checkpoint import Checkpoint, write_checkpoint
from wire.sessions import read_session, save_export, save_session
from wire.testing.cassette.recorder import Recorder, Sent


def write(path: Path, data: bytes = b"new") -> None:
    write_whole(path, data, ConfigurationError)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def test_a_new_file_is_private_and_its_folders_are_made(tmp_path: Path):
    path = tmp_path / "a" / "b" / "file"
    write(path, b"\x00\r\n\xff")
    assert (path.read_bytes(), mode(path)) == (b"\x00\r\n\xff", 0o600)
    assert (mode(tmp_path / "a"), mode(tmp_path / "a" / "b")) == (0o700, 0o700)
    assert os.listdir(path.parent) == ["file"]


@pytest.mark.parametrize("umask", [0, 0o077])
def test_files_and_folders_are_private_from_the_first_byte_whatever_the_umask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, umask: int
):
    modes: list[int] = []
    fsync = os.fsync

    def seen(descriptor: int) -> None:
        modes.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", seen)
    before = os.umask(umask)
    try:
        write(tmp_path / "a" / "b" / "file")
    finally:
        os.umask(before)
    # Synced: the folders that hold new ones, the file under its temporary name, its folder.
    assert modes == [mode(tmp_path), 0o700, 0o600, 0o700]
    assert mode(tmp_path / "a" / "b" / "file") == 0o600


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
    path.write_bytes(b"old")
    link.symlink_to(path if absolute else "real/file")
    write(link, b"new")
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


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        # Relative, because the path of a socket has at most 107 bytes.
        before = os.getcwd()
        os.chdir(path.parent)
        try:
            listener.bind(path.name)
        finally:
            os.chdir(before)


def _link_to_itself(path: Path) -> None:
    path.symlink_to(path)


def _link_to_nothing(path: Path) -> None:
    path.symlink_to("gone")


def _link_to_a_device(path: Path) -> None:
    path.symlink_to("/dev/null")


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (_directory, "Is a directory"),
        (_pipe, "not a regular file"),
        (_socket, "not a regular file"),
        (_link_to_itself, "a symlink that leads to no file"),
        (_link_to_nothing, "a symlink that leads to no file"),
        (_link_to_a_device, "not a regular file"),
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


def test_a_folder_that_is_a_symlink_to_nothing_is_refused(tmp_path: Path):
    (tmp_path / "folder").symlink_to("gone")
    with pytest.raises(ConfigurationError, match=r"a symlink that leads to no file$"):
        write(tmp_path / "folder" / "inner" / "file")
    assert os.listdir(tmp_path) == ["folder"]


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="needs /proc")
def test_an_open_file_is_not_replaced_by_its_path_in_dev(tmp_path: Path):
    path = tmp_path / "out"
    with path.open("wb") as file:
        number = file.fileno()
        (tmp_path / "link").symlink_to(f"/dev/fd/{number}")
        names = [f"/dev/fd/{number}", f"/proc/self/fd/{number}", tmp_path / "link"]
        for name in names:
            with pytest.raises(ConfigurationError, match=r"not a regular file but an open one$"):
                write_whole(name, b"{}", ConfigurationError)
        for name in names:
            write_output(name, b"ab", ConfigurationError)
        file.write(b"cd")
    assert path.read_bytes() == b"abababcd"


def test_output_goes_through_a_pipe_and_a_device_and_replaces_a_file(tmp_path: Path):
    _pipe(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_output(tmp_path / "pipe", b"Hi", PipelineError)
        assert os.read(reader, 10) == b"Hi"
    finally:
        os.close(reader)
    write_output("/dev/null", b"Hi", PipelineError)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    write_output(tmp_path / "file", b"Hi", PipelineError)
    assert ((tmp_path / "file").read_bytes(), mode(tmp_path / "file")) == (b"Hi", 0o600)
    with pytest.raises(PipelineError, match=r"cannot be written: Is a directory$"):
        write_output(tmp_path, b"Hi", PipelineError)
    with pytest.raises(PipelineError, match=r"/dev/fd/987: cannot be .*: Bad file descriptor$"):
        write_output("/dev/fd/987", b"Hi", PipelineError)


@joined("path", [None, 1, True, "", b"", 1.5, ["a"]])
def test_what_is_no_path_is_a_typed_error(path: Any):
    for door in (
        lambda: write_whole(path, b"", CassetteError),
        lambda: write_output(path, b"", CassetteError),
        lambda: read_whole(path, CassetteError),
    ):
        with pytest.raises(CassetteError, match=r"^path: expected a path, not "):
            door()


def test_the_size_of_a_file_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "file"
    monkeypatch.setattr(files, "MAX_FILE_BYTES", 1 << 20)
    write(path, b"x" * (1 << 20))
    assert len(read_whole(path, ConfigurationError)) == 1 << 20
    with pytest.raises(ConfigurationError, match="1,048,577 bytes, more than the 1,048,576 that"):
        write(path, b"x" * ((1 << 20) + 1))
    os.truncate(path, 1 << 40)
    for each in (path, Path("/dev/zero")):
        with pytest.raises(ConfigurationError, match=r"it has more than 1,048,576 bytes$"):
            read_whole(each, ConfigurationError)


def test_a_temporary_file_is_named_after_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    names: list[str] = []
    replace = os.replace

    def seen(source: str, target: str, **options: Any) -> None:
        names.append(os.path.basename(source))
        replace(source, target, **options)

    monkeypatch.setattr(os, "replace", seen)
    write(tmp_path / "talk.json")
    write(tmp_path / ("ä" * 127))  # 254 bytes
    assert re.fullmatch(r"\.talk\.json\.[0-9a-f]{16}\.locked\.tmp", names[0])
    assert re.fullmatch(r"\.ä{90}\.[0-9a-f]{16}\.locked\.tmp", names[1])


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
import os, resource, signal, sys
from wire.core.files import write_whole
from wire.errors import WireError

path, step = sys.argv[1], sys.argv[2]
if step.isdigit():
    # The system ends the process at that byte of the file.
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(step), int(step)))
else:
    when, name = step.split()
    call = getattr(os, name)

    def killed(*arguments, **options):
        if when == "after":
            call(*arguments, **options)
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(os, name, killed)
write_whole(path, b"new" * 100_000, WireError)
"""
STEPS = {
    "before open": b"old",
    "after open": b"old",
    "0": b"old",
    "1": b"old",
    "150000": b"old",
    "299999": b"old",
    "before fchmod": b"old",
    "after fchmod": b"old",
    "before fsync": b"old",
    "after fsync": b"old",
    "before replace": b"old",
    "after replace": b"new" * 100_000,
}


@pytest.mark.processes
@pytest.mark.parametrize("step", STEPS)
def test_a_process_killed_at_any_step_leaves_the_old_file_or_the_new_one(tmp_path: Path, step: str):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    process = subprocess.run([sys.executable, "-c", KILLED, str(path), step], timeout=60)
    assert process.returncode == (-signal.SIGXFSZ if step.isdigit() else -signal.SIGKILL)
    assert path.read_bytes() == STEPS[step]
    left = [each for each in os.listdir(tmp_path) if each != "file"]
    assert all(re.fullmatch(r"\.file\.[0-9a-f]{16}\.locked\.tmp", each) for each in left)
    assert len(left) == (step not in ("before open", "after replace"))
    write(path)
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["file"]  # what the dead process left is removed


SAVING = """
import sys
from wire.neutral.messages import Message
from wire.sessions import save_session

for number in range(100):
    save_session(sys.argv[1], [Message.user(sys.argv[2] * 20_000)])
"""


@pytest.mark.processes
def test_a_session_that_two_processes_save_is_always_that_of_one(tmp_path: Path):
    path = tmp_path / "talk.json"
    save_session(path, [Message.user("a" * 20_000)])
    writers = [
        subprocess.Popen([sys.executable, "-c", SAVING, str(path), letter]) for letter in "ab"
    ]
    seen: set[str] = set()
    while any(each.poll() is None for each in writers):
        seen.add(read_session(path).messages[0].text)
    seen.add(read_session(path).messages[0].text)
    assert [each.returncode for each in writers] == [0, 0]
    assert seen <= {"a" * 20_000, "b" * 20_000}
    assert os.listdir(tmp_path) == ["talk.json"]


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


def test_what_is_saved_is_read_again(tmp_path: Path):
    path, state = tmp_path / "run.json", begin_run([Message.user("Hi")])
    save_run(path, state, {"title": "Greetings"})
    assert read_run(path) == state
    assert read_session(path).metadata["title"] == "Greetings"
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(ConfigurationError, match=r"/run\.json: not JSON: it ends after 50 bytes"):
        read_run(path)
    save_export(tmp_path / "talk.txt", state.messages, "text")
    assert (tmp_path / "talk.txt").read_text("utf-8") == "user:\n  Hi\n"


FULL = """
import resource, sys
from wire.core.files import write_whole
from wire.errors import WireError

resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_whole(sys.argv[1], b"new" * 1000, WireError)
except WireError as error:
    print(error)
"""


def test_a_disk_that_is_full_leaves_the_old_file_and_no_other(tmp_path: Path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    command = [sys.executable, "-c", FULL, str(path)]
    told = subprocess.run(command, timeout=60, capture_output=True, text=True, check=True).stdout
    assert told == f"{path}: cannot be written: File too large\n"
    assert (path.read_bytes(), os.listdir(tmp_path)) == (b"old", ["file"])


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
        (lambda path: save_run(path, begin_run([])), ConfigurationError),
        (lambda path: save_export(path, [Message.user("Hi")]), ConfigurationError),
        (lambda path: write_checkpoint(path, Checkpoint(last_node_id="a", data={})), PipelineError),
        (record, CassetteError),
    ],
    ids=["session", "run", "export", "checkpoint", "cassette"],
)
def test_every_door_writes_the_same_way_and_has_its_own_error(
    tmp_path: Path, door: Callable[[Path], None], error: type[WireError]
):
    path, link = tmp_path / "file", tmp_path / "link"
    door(path)
    link.symlink_to(path)
    door(link)
    assert (link.is_symlink(), mode(path), len(os.listdir(tmp_path))) == (True, 0o600, 2)
    path.chmod(0o644)
    door(path)
    assert mode(path) == 0o644
    _pipe(tmp_path / "pipe")
    with pytest.raises(error, match=r"pipe: cannot be written: not a regular file$"):
        door(tmp_path / "pipe")
