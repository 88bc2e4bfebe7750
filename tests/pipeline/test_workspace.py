"""The tools of a work folder: what they do in it, and that they stay there."""

from __future__ import annotations

import functools
import itertools
import os
import shlex
import signal
import stat
import subprocess
import sys
import threading
import time
import types
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO

import anyio
import anyio.to_thread
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import wire.pipeline.command
import wire.pipeline.tools
import wire.pipeline.workspace
from tests.joined import joined
from tests.property import examples
from wire.agent.tool_calls import run_calls, run_calls_in_threads
from wire.core.bounds import BOUNDS
from wire.errors import ToolError
from wire.neutral.messages import ToolCall
from wire.pipeline.command import OUTPUT_HALF_BYTES
from wire.pipeline.tools import patched, workspace_tools
from wire.pipeline.workspace import Workspace, confined
from wire.tools import FunctionTool, Ready, Toolbox

SECRET = "what is outside"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder, with a file beside it that is none of its business."""
    (tmp_path / "secret").write_text(SECRET)
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def tools_of(folder: Path, **options: Any) -> dict[str, FunctionTool]:
    return {each.name: each for each in workspace_tools(folder, **options)}


def told(tool: FunctionTool, **arguments: Any) -> dict[str, Any]:
    """What a model gets, by the way that its calls go."""
    toolbox = Toolbox([tool])
    ready = toolbox.prepare(ToolCall(id="1", name=tool.name, arguments=arguments))
    if not isinstance(ready, Ready):
        return ready.answer
    try:
        return toolbox.finish(ready, ready.run()).result.answer
    except Exception as error:
        return toolbox.finish(ready, error=error).result.answer


def tree(folder: Path) -> dict[str, str | None]:
    return {
        str(each.relative_to(folder)): os.readlink(each)
        if each.is_symlink()
        else each.read_text()
        if each.is_file()
        else None
        for each in folder.rglob("*")
    }


# --- the tools ------------------------------------------------------------------------------------


@pytest.mark.row("S4-23", "P-28")
def test_the_tools_and_what_a_model_is_told_of_them(work: Path) -> None:
    tools = workspace_tools(work)
    assert [(each.name, each.read_only, each.needs_approval) for each in tools] == [
        ("read_file", True, False),
        ("write_file", False, False),
        ("run_command", False, False),
        ("list_dir", True, False),
        ("search_file", True, False),
        ("patch_file", False, False),
    ]
    parameters = {each.name: each.parameters or {} for each in tools}
    assert {name: each.get("required", []) for name, each in parameters.items()} == {
        "read_file": ["path"],
        "write_file": ["path", "content"],
        "run_command": ["command"],
        "list_dir": [],
        "search_file": ["pattern"],
        "patch_file": ["path", "old", "new"],
    }
    assert all(
        each["description"]
        for of_tool in parameters.values()
        for each in of_tool["properties"].values()
    )
    assert "killed after 30 seconds" in tools[2].description
    assert (
        "killed after 0.5 seconds" in tools_of(work, command_timeout=0.5)["run_command"].description
    )


@pytest.mark.row("S4-23")
@pytest.mark.parametrize("timeout", [0, -1, float("inf"), float("nan"), True, "30"])
def test_a_timeout_is_a_time(work: Path, timeout: Any) -> None:
    with pytest.raises(ToolError, match=r"^command_timeout: expected more than 0 seconds, not "):
        workspace_tools(work, command_timeout=timeout)


@pytest.mark.row("S4-23")
def test_the_folder_must_be_one(work: Path) -> None:
    with pytest.raises(ToolError, match=r"none: No such file or directory$"):
        workspace_tools(work / "none")
    with pytest.raises(ToolError, match=r"secret: Not a directory$"):
        workspace_tools(work.parent / "secret")


@pytest.mark.row("S4-23", "P-28")
def test_read_write_list_and_patch(work: Path) -> None:
    tools = tools_of(work)
    assert tools["list_dir"]() == "[the folder is empty]"
    assert (
        tools["write_file"]("src/deep/a.py", "x = 1\ny = 2\n")
        == "wrote src/deep/a.py, which is new: 12 bytes"
    )
    assert tools["read_file"]("src/deep/a.py") == "x = 1\ny = 2\n"
    assert (
        tools["patch_file"]("src/deep/a.py", "y = 2", "y = 'ü'")
        == "patched src/deep/a.py at line 2"
    )
    assert (work / "src/deep/a.py").read_bytes() == "x = 1\ny = 'ü'\n".encode()
    assert tools["write_file"]("src/deep/a.py", "ü") == "wrote src/deep/a.py: 2 bytes"
    assert tools["read_file"]("src/deep/a.py") == "ü"
    (work / "src/b").symlink_to("deep/a.py")
    (work / "src/A").touch()
    assert tools["list_dir"]("src") == "A\nb -> deep/a.py\ndeep/"
    assert tools["list_dir"](str(work / "src/deep")) == "a.py"
    assert tools["read_file"]("src/A") == ""


@pytest.mark.row("S4-23")
def test_what_the_system_refuses_is_told(work: Path) -> None:
    (work / "file").write_text("x")
    tools = tools_of(work)
    assert told(tools["read_file"], path="none/at/all") == {
        "error": "none/at/all: No such file or directory"
    }
    assert told(tools["read_file"], path=".") == {"error": ".: it is a folder"}
    assert told(tools["write_file"], path="", content="x") == {"error": "'': it is a folder"}
    assert told(tools["write_file"], path="file/in", content="x") == {
        "error": "file/in: Not a directory"
    }
    assert told(tools["list_dir"], path="file") == {"error": "file: Not a directory"}
    assert told(tools["read_file"], path="n" * 300)["error"].endswith("n: File name too long")
    assert told(tools["read_file"], path="\ud800") == {
        "error": "'': the path cannot be encoded in UTF-8"
    }
    assert told(tools["write_file"], path="new", content="\ud800") == {
        "error": "content: it contains a lone surrogate, which UTF-8 cannot encode"
    }
    assert tree(work) == {"file": "x"}


@pytest.mark.row("R-34")
def test_no_file_is_created_under_a_name_that_acts_on_a_terminal(work: Path) -> None:
    write = tools_of(work)["write_file"]
    for name in ("a\x1b[2J", "a\nb", "new\r/b", "a\u202etxt.exe", "a\x9b", "a\u200b", "a\tb"):
        problem = "the path of a new file cannot contain control or invisible characters"
        assert told(write, path=name, content="x")["error"].endswith(f": {problem}")
    assert tree(work) == {}
    (work / "old\n").write_text("old")
    assert write("old\n", "new") == "wrote old\n: 3 bytes"
    assert write("Résumé 👩\u200d💻.md", "x") == "wrote Résumé 👩\u200d💻.md, which is new: 1 bytes"
    assert tree(work) == {"old\n": "new", "Résumé 👩\u200d💻.md": "x"}


# --- reading --------------------------------------------------------------------------------------


@pytest.mark.row("S4-23")
def test_a_long_file_comes_in_pieces_that_are_all_of_it(work: Path) -> None:
    (work / "long").write_text("".join(f"line {n}\n" for n in range(1, 5001)))
    read = tools_of(work)["read_file"]
    assert read("long").endswith("line 2000\n[the file has more lines: continue with offset=2001]")
    assert (
        read("long", offset=2, limit=2)
        == "line 2\nline 3\n[the file has more lines: continue with offset=4]"
    )
    assert read("long", offset=5000) == "line 5000\n"
    assert read("long", offset=5001) == "[there is no line 5001: the file has 5000 lines]"
    assert read("long", offset=6000) == "[there is no line 6000: the file has 5000 lines]"
    assert told(read, path="long", offset=0) == {
        "error": "offset and limit: expected numbers of lines, from 1 up"
    }
    assert told(read, path="long", limit=0) == {
        "error": "offset and limit: expected numbers of lines, from 1 up"
    }


@pytest.mark.row("S4-23")
def test_a_piece_ends_with_a_line(work: Path) -> None:
    lines = [f"{n}" * 30_000 + "\n" for n in range(1, 6)]
    (work / "wide").write_text("".join(lines))
    read = tools_of(work)["read_file"]
    assert read("wide") == "".join(lines[:3]) + "[the file has more lines: continue with offset=4]"
    assert read("wide", offset=4) == "".join(lines[3:])


@pytest.mark.row("S4-23")
def test_a_line_too_long_is_cut_and_passed(work: Path) -> None:
    (work / "one").write_text("x" + "ü" * 60_000 + "\nnext\n")
    read = tools_of(work)["read_file"]
    assert read("one") == (
        "x"
        + "ü" * 49_999
        + "\n[line 1 is longer than 100,000 bytes; the rest of it is omitted; the file "
        "has more lines: continue with offset=2]"
    )
    assert read("one", offset=2) == "next\n"


@pytest.mark.row("S4-23")
@pytest.mark.parametrize("data", [b"\x89PNG\0", b"a" * 9000 + b"\0", "text".encode("utf-16")])
def test_what_is_binary_is_refused(work: Path, data: bytes) -> None:
    (work / "b").write_bytes(data)
    assert told(tools_of(work)["read_file"], path="b") == {
        "error": "b: it is a binary file, not text"
    }


@pytest.mark.row("S4-23")
@pytest.mark.parametrize("data", [b"caf\xe9\n", b"caf\xe9"])
def test_what_is_not_utf_8_is_shown_and_said(work: Path, data: bytes) -> None:
    (work / "latin").write_bytes(data)
    assert (
        tools_of(work)["read_file"]("latin")
        == "caf�\n[the file is not UTF-8: � replaces bytes that could not be decoded]"
    )


# --- patching -------------------------------------------------------------------------------------


@pytest.mark.row("S4-23")
@joined(
    ("text", "old", "new", "becomes"),
    [
        (b"a\nb\n", b"b", b"c", (b"a\nc\n", 2)),
        (b"a\nb\n", b"a\nb\n", b"", (b"", 1)),
        (b"a\r\nb\r\n", b"a\nb", b"a\nc\nd", (b"a\r\nc\r\nd\r\n", 1)),
        (b"a\r\nb\r\n", b"b", b"c\nd", (b"a\r\nc\r\nd\r\n", 2)),
        (b"a\r\nb\r\n", b"a\r\n", b"a\n", (b"a\nb\r\n", 1)),
        (b"a\r\nb\n", b"b\n", b"c\nd\n", (b"a\r\nc\nd\n", 2)),
        (
            b"caf\xe9 a",
            b"a",
            b"b",
            ToolError("old is in the file 2 times, at the lines 1, 1: add more context"),
        ),
        (b"caf\xe9 x", b"x", b"y", (b"caf\xe9 y", 1)),
        (
            b"aaa",
            b"aa",
            b"b",
            ToolError("old is in the file 2 times, at the lines 1, 1: add more context"),
        ),
        (
            b"a\n" * 12,
            b"a",
            b"b",
            ToolError(
                "old is in the file 12 times, at the lines 1, 2, 3, 4, 5, 6, 7, 8, 9, "
                "10, ...: add more context"
            ),
        ),
        (
            b"a",
            b"b",
            b"c",
            ToolError("old is not in the file: copy it exactly, with its blanks and line ends"),
        ),
        (
            b"a\r\nb\n",
            b"a\nb",
            b"c",
            ToolError("old is not in the file: copy it exactly, with its blanks and line ends"),
        ),
        (b"a", b"", b"c", ToolError("old is empty: give the text to replace")),
        (b"a", b"a", b"a", ToolError("old and new are the same")),
        (b"a\r\nb\r\n", b"a\n", b"a\r\n", ToolError("old and new are the same")),
    ],
)
def test_a_patch_is_exact_or_refused(
    text: bytes, old: bytes, new: bytes, becomes: tuple[bytes, int] | ToolError
) -> None:
    if isinstance(becomes, tuple):
        assert patched(text, old, new) == becomes
        return
    with pytest.raises(ToolError) as caught:
        patched(text, old, new)
    assert str(caught.value) == str(becomes)


@pytest.mark.row("S4-23")
@given(
    st.text("ab\n", max_size=12),
    st.text("ab\n", min_size=1, max_size=3),
    st.text("abc\n", max_size=3),
)
def test_a_patch_changes_the_one_place(text: str, old: str, new: str) -> None:
    places = [place for place in range(len(text)) if text.startswith(old, place)]
    if len(places) == 1 and old != new:
        made, line = patched(text.encode(), old.encode(), new.encode())
        assert made.decode() == text[: places[0]] + new + text[places[0] + len(old) :]
        assert line == text[: places[0]].count("\n") + 1
    else:
        with pytest.raises(ToolError):
            patched(text.encode(), old.encode(), new.encode())


@pytest.mark.row("S4-23")
def test_a_patch_that_is_refused_changes_nothing(work: Path) -> None:
    (work / "a").write_text("x x")
    before = os.stat(work / "a")
    assert told(tools_of(work)["patch_file"], path="a", old="x", new="y")["error"].startswith(
        "old is in the file 2 times"
    )
    after = os.stat(work / "a")  # not all of it: reading the file may set its access time
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert tree(work) == {"a": "x x"}


@pytest.mark.row("S4-23")
def test_patches_of_one_turn_all_arrive(work: Path) -> None:
    """Calls of a turn run at once: without waiting for each other, the last would write what the
    first have not changed.
    """
    (work / "a").write_text("".join(f"<{n}>\n" for n in range(40)))
    patch = tools_of(work)["patch_file"]
    start = threading.Barrier(8)

    def change(part: int) -> None:
        start.wait(20)
        for n in range(part, 40, 8):
            patch("a", f"<{n}>", f"[{n}]")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(change, range(8)))
    assert (work / "a").read_text() == "".join(f"[{n}]\n" for n in range(40))


# --- writing --------------------------------------------------------------------------------------


@pytest.mark.row("S4-23")
def test_a_file_is_replaced_whole_or_not_at_all(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = tools_of(work)["write_file"]
    write("a", "before")

    def full(*args: Any, **options: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", full)
        assert told(write, path="a", content="after") == {"error": "a: No space left on device"}
    assert tree(work) == {"a": "before"}


@pytest.mark.row("S4-23")
def test_what_a_file_allows_stays(work: Path) -> None:
    tools = tools_of(work)
    (work / "script").write_text("echo 1")
    (work / "script").chmod(0o750)
    tools["patch_file"]("script", "1", "2")
    assert stat.S_IMODE(os.stat(work / "script").st_mode) == 0o750
    (work / "script").chmod(0o440)
    assert told(tools["write_file"], path="script", content="x") == {
        "error": "script: Permission denied"
    }
    assert (work / "script").read_text() == "echo 2"
    tools["write_file"]("plain", "")
    (work / "by_hand").touch()
    assert os.stat(work / "plain").st_mode == os.stat(work / "by_hand").st_mode


@pytest.mark.row("S4-23")
def test_a_hard_link_to_elsewhere_is_not_written_through(work: Path) -> None:
    os.link(work.parent / "secret", work / "twin")
    tools_of(work)["write_file"]("twin", "mine")
    assert ((work / "twin").read_text(), (work.parent / "secret").read_text()) == ("mine", SECRET)


# --- searching ------------------------------------------------------------------------------------


@pytest.mark.row("S4-23", "P-28")
def test_search(work: Path) -> None:
    for name, data in {
        "b.txt": b"one\r\nTwo needle\r\nneedle caf\xe9",
        "a/z.py": b"needle\n",
        "a/b/c.py": b"# needle # needle\n",
        "a.txt": b"Needle\n",
        ".git/config": b"needle\n",
        "a/.git/config": b"needle\n",
        ".env": b"needle=1\n",
        "binary": b"\0needle\n",
    }.items():
        (work / name).parent.mkdir(parents=True, exist_ok=True)
        (work / name).write_bytes(data)
    (work / "out").symlink_to("..")
    (work / "link").symlink_to("b.txt")
    (work / "loop").symlink_to(".")
    os.mkfifo(work / "pipe")
    search = tools_of(work)["search_file"]
    assert search("needle").splitlines() == [
        ".env:1: needle=1",
        "b.txt:2: Two needle",
        "b.txt:3: needle caf�",
        "a/z.py:1: needle",
        "a/b/c.py:1: # needle # needle",
    ]
    assert search("needle", "a/b") == "a/b/c.py:1: # needle # needle"
    assert search("needle", "a/z.py") == "a/z.py:1: needle"
    assert search("needle", "link") == "link:2: Two needle\nlink:3: needle caf�"
    assert search("need.e") == "no matches found"
    assert search("outside") == "no matches found"
    assert (
        told(search, pattern="outside", path="out")["error"] == "out: it is outside the work folder"
    )
    assert told(search, pattern="needle", path="none") == {
        "error": "none: No such file or directory"
    }
    for pattern in ("", "a\nb"):
        assert told(search, pattern=pattern) == {
            "error": "pattern: expected a text without line ends"
        }


@pytest.mark.row("S4-23")
def test_search_gives_200_lines(work: Path) -> None:
    search = tools_of(work)["search_file"]
    (work / "a").write_text("x\n" * 199)
    (work / "b").write_text("x\n")
    assert search("x").splitlines() == [f"a:{n}: x" for n in range(1, 200)] + ["b:1: x"]
    (work / "c").write_text("x\n")
    lines = search("x").splitlines()
    assert lines[199:] == [
        "b:1: x",
        "[only the first 200 lines are shown: search for a rarer text, or in a smaller folder]",
    ]


@pytest.mark.row("S4-23")
def test_a_long_line_is_shown_around_what_was_found(work: Path) -> None:
    (work / "min.js").write_text("a" * 1000 + "needle" + "b" * 1000)
    assert (
        tools_of(work)["search_file"]("needle")
        == "min.js:1: ..." + "a" * 100 + "needle" + "b" * 394 + "..."
    )


@pytest.mark.row("S4-23")
def test_what_was_not_searched_is_said(work: Path) -> None:
    with open(work / "huge", "wb") as file:
        file.write(b"needle\n")
        file.truncate(16_000_001)
    note = "[not searched: 1 that cannot be opened or have more than 16,000,000 bytes]"
    assert tools_of(work)["search_file"]("needle") == f"no matches found\n{note}"
    error = {"error": "huge: it has more than 16,000,000 bytes"}
    assert told(tools_of(work)["patch_file"], path="huge", old="needle", new="x") == error


@pytest.mark.row("S4-23")
def test_what_cannot_be_opened_is_counted(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By whom the tests run, nothing may be refused to; so the system says it here."""
    for name in ("a", "b", "closed/c"):
        (work / name).parent.mkdir(exist_ok=True)
        (work / name).write_text("x")
    really = os.open

    def refuses(path: Any, *args: Any, **options: Any) -> int:
        if path in ("a", "closed"):
            raise PermissionError(13, "Permission denied", path)
        return really(path, *args, **options)

    tools = tools_of(work)
    monkeypatch.setattr(os, "open", refuses)
    assert (
        tools["search_file"]("x")
        == "b:1: x\n[not searched: 2 that cannot be opened or have more than 16,000,000 bytes]"
    )


def nested(folder: Path, levels: int) -> None:
    """Make folders inside each other, each with a file: their paths are too long for the system."""
    open_ = [os.open(folder, os.O_RDONLY)]
    for _ in range(levels):
        os.mkdir("d", dir_fd=open_[-1])
        inner = os.open("d", os.O_RDONLY, dir_fd=open_[-1])
        os.close(os.open("f", os.O_WRONLY | os.O_CREAT, dir_fd=inner))
        os.close(open_.pop())
        open_.append(inner)
    os.close(open_.pop())


@pytest.mark.row("S4-23")
def test_a_search_in_nested_folders_is_cut_and_says_so(
    work: Path, request: pytest.FixtureRequest
) -> None:
    nested(work, 1_500)
    request.addfinalizer(lambda: subprocess.run(["rm", "-rf", work / "d"], check=True))
    (work / "z").write_text("needle")
    search = tools_of(work)["search_file"]
    before = len(os.listdir("/dev/fd"))
    assert search("needle") == (
        "z:1: needle\n"
        "[the search was cut at more than 200 levels of folders: search in a smaller folder]"
    )
    assert search("needle", "/".join(["d"] * 199)).startswith("no matches found\n[the search was")
    deep = "/".join(["d"] * 300)
    assert told(search, pattern="needle", path=deep)["error"].endswith(
        ": more than 200 levels of folders: use a shorter path"
    )
    assert len(os.listdir("/dev/fd")) == before


@pytest.mark.row("S4-23")
@joined(
    ("bound", "told_"),
    [
        ({"searched_entries": 4}, "more than 4 entries"),
        ({"searched_folders": 2}, "more than 2 folders"),
        ({"searched_depth": 1}, "more than 1 levels of folders"),
        ({"searched_bytes": 3}, "more than 3 bytes"),
    ],
)
def test_a_search_is_cut_at_each_bound(bound: dict[str, int], told_: str) -> None:
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        for name in ("a", "b", "c/d/e", "c/f", "g/h"):
            (Path(folder) / name).parent.mkdir(parents=True, exist_ok=True)
            (Path(folder) / name).write_text("xx")
        search = tools_of(Path(folder))["search_file"]
        assert "cut" not in search("x")
        for module in (wire.pipeline.workspace, wire.pipeline.tools):
            patch.setattr(module, "BOUNDS", msgspec.structs.replace(BOUNDS, **bound))
        assert search("x").splitlines()[-1] == (
            f"[the search was cut at {told_}: search in a smaller folder]"
        )


@pytest.mark.slow
def test_a_search_of_100_000_files_and_of_links_ends(work: Path) -> None:
    for each in range(100):
        (work / f"{each}").mkdir()
        (work / f"{each}" / "up").symlink_to("..")
        (work / f"{each}" / "next").symlink_to(f"../{each + 1}")
        os.mkfifo(work / f"{each}" / "pipe")
        for name in range(1_000):
            (work / f"{each}" / f"{name}").touch()
    began = time.monotonic()
    assert tools_of(work)["search_file"]("needle") == (
        "no matches found\n[the search was cut at more than 50,000 entries: search in a smaller "
        "folder]"
    )
    assert time.monotonic() - began < 15


@pytest.mark.row("S4-23")
def test_names_of_files_stay_on_their_line(work: Path) -> None:
    (work / "a\nb").write_text("x")
    assert tools_of(work)["search_file"]("x") == "a\\nb:1: x"
    assert tools_of(work)["list_dir"]() == "a\\nb"


@pytest.mark.row("S4-23")
def test_a_folder_too_full_is_cut(work: Path) -> None:
    for n in range(1001):
        (work / f"{n:04}").touch()
    lines = tools_of(work)["list_dir"]().splitlines()
    assert lines[998:] == ["0998", "0999", "[1 more are omitted]"]


# --- staying in the folder ------------------------------------------------------------------------

_OUT = "it is outside the work folder"


@pytest.mark.row("S4-23", "P-28")
@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("../secret", _OUT),
        ("..", _OUT),
        ("a/../../secret", _OUT),
        ("../work2", _OUT),
        ("/etc/passwd", _OUT),
        ("//etc/passwd", _OUT),
        ("/", _OUT),
        ("{work}/../secret", _OUT),
        ("{work}2", _OUT),
        ("out", _OUT),
        ("absolute", _OUT),
        ("up/secret", _OUT),
        ("in/up/secret", _OUT),
        ("chain", _OUT),
        ("dangling", _OUT),
        ("back/work/in/file", _OUT),
        ("root/etc/passwd", _OUT),
        ("loop", "too many links"),
        ("pipe", "it is not a regular file"),
        ("null", _OUT),
        ("in/file\0", "a path cannot contain NUL"),
        ("~/secret", "`~` is not expanded: give a path in the work folder"),
    ],
)
def test_what_is_outside_is_not_read_and_not_written(work: Path, path: str, why: str) -> None:
    (work / "in").mkdir()
    (work / "in/file").write_text("inside")
    (work / "out").symlink_to("../secret")
    (work / "absolute").symlink_to(work.parent / "secret")
    (work / "up").symlink_to("..")
    (work / "in/up").symlink_to("../up")
    (work / "chain").symlink_to("in/up/secret")
    (work / "dangling").symlink_to("../new")
    (work / "back").symlink_to(work.parent)
    (work / "root").symlink_to("/")
    (work / "loop").symlink_to("loop")
    (work / "null").symlink_to("/dev/null")
    os.mkfifo(work / "pipe")
    path = path.format(work=work)
    before = tree(work), sorted(os.listdir(work.parent))
    tools = tools_of(work)
    for name, more in {
        "read_file": {},
        "write_file": {"content": "x"},
        "list_dir": {},
        "search_file": {"pattern": "e"},
        "patch_file": {"old": "e", "new": "x"},
    }.items():
        error = told(tools[name], path=path, **more)["error"]
        if name == "list_dir" and path == "pipe":
            assert error == "pipe: Not a directory"
        else:
            assert error == f"{path.replace(chr(0), ' ').strip()}: {why}"
    assert (tree(work), sorted(os.listdir(work.parent))) == before
    assert (work.parent / "secret").read_text() == SECRET


@pytest.mark.row("S4-23")
def test_devices_are_not_opened() -> None:
    """Not everybody may make one, but each system has them in one folder."""
    tools = tools_of(Path("/dev"))
    assert told(tools["read_file"], path="zero") == {"error": "zero: it is not a regular file"}
    assert told(tools["write_file"], path="null", content="x") == {
        "error": "null: it is not a regular file"
    }
    assert told(tools["patch_file"], path="zero", old="x", new="y") == {
        "error": "zero: it is not a regular file"
    }


@pytest.mark.row("S4-23")
def test_links_that_stay_in_the_folder_are_followed(work: Path) -> None:
    (work / "a/b").mkdir(parents=True)
    (work / "a/b/file").write_text("x")
    (work / "short").symlink_to("a/b")
    (work / "whole").symlink_to(work / "short")
    (work / "a/b/around").symlink_to("../../a/./b/../b/file")
    (work / "new").symlink_to("a/not/there")
    tools = tools_of(work)
    for path in (
        "short/file",
        "whole/file",
        "whole/around",
        "short/../a/b/file",
        str(work / "short/file"),
    ):
        assert tools["read_file"](path) == "x"
    tools["write_file"]("short/file", "y")
    tools["write_file"]("new", "z")
    assert tools["list_dir"]("whole") == "around -> ../../a/./b/../b/file\nfile"
    assert (work / "short").is_symlink()
    assert (work / "new").is_symlink()
    assert (tools["read_file"]("whole/around"), (work / "a/not/there").read_text()) == ("y", "z")


@pytest.mark.row("S4-23")
def test_the_folder_itself_may_be_a_link(work: Path) -> None:
    (work / "file").write_text("x")
    given_as = work.parent / "given"
    given_as.symlink_to(work)
    (work / "link").symlink_to(given_as / "file")
    read = tools_of(given_as)["read_file"]
    assert [
        read(path) for path in ("file", str(given_as / "file"), str(work / "file"), "link")
    ] == ["x"] * 4
    # What it leads to is found out once: nobody moves the agent elsewhere.
    given_as.unlink()
    given_as.symlink_to(work.parent)
    assert read("file") == "x"
    assert told(read, path="secret") == {"error": "secret: No such file or directory"}


@pytest.mark.row("S4-23", "P-28")
@pytest.mark.parametrize("swapped", ["in", "in/file"])
def test_a_link_that_comes_while_the_path_is_looked_at(
    work: Path, monkeypatch: pytest.MonkeyPatch, swapped: str
) -> None:
    """Between the look at an entry and its opening the entry is put out of the way, and a link that
    leads out in its place.
    """
    (work.parent / "file").write_text(SECRET)
    (work / "in").mkdir()
    (work / "in/file").write_text("inside")
    tools = tools_of(work)
    looked = wire.pipeline.workspace._target

    def swap(name: str, within: int) -> Path | None:
        target = looked(name, within)
        if name == Path(swapped).name and not (work / swapped).is_symlink():
            (work / swapped).rename(work / "moved")
            (work / swapped).symlink_to(work.parent if swapped == "in" else work.parent / "file")
        return target

    monkeypatch.setattr(wire.pipeline.workspace, "_target", swap)
    assert "error" in told(tools["read_file"], path="in/file")
    (work / swapped).unlink()
    (work / "moved").rename(work / swapped)
    assert "error" in told(tools["patch_file"], path="in/file", old="outside", new="x")
    (work / swapped).unlink()
    (work / "moved").rename(work / swapped)
    assert "error" in told(tools["write_file"], path="in/file", content="x")
    assert (work.parent / "file").read_text() == SECRET


@pytest.mark.row("S4-23")
def test_a_link_that_comes_between_the_look_at_a_file_and_its_opening(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (work / "file").write_text("inside")
    held = wire.pipeline.workspace._check_regular_file

    def swap(mode: int, path: str) -> None:
        held(mode, path)
        if not (work / "file").is_symlink():
            (work / "file").unlink()
            (work / "file").symlink_to("../secret")

    monkeypatch.setattr(wire.pipeline.workspace, "_check_regular_file", swap)
    assert told(tools_of(work)["read_file"], path="file") == {
        "error": "file: Too many levels of symbolic links"
    }


@pytest.mark.row("S4-23")
def test_folders_are_made_for_paths_that_need_them_alone(work: Path) -> None:
    (work / "odd").symlink_to("new/../file")
    assert told(tools_of(work)["write_file"], path="odd", content="x") == {
        "error": "odd: No such file or directory"
    }
    assert os.listdir(work) == ["odd"]


_NAMES = st.sampled_from(
    ["a", "b", "c", "..", ".", "up", "down", "root", "self", "secret", "", "{work}", "/"]
)


@pytest.mark.row("S4-23", "P-28")
@given(st.lists(_NAMES, max_size=7).map("/".join))
def test_a_confined_path_is_below_the_folder(path: str) -> None:
    folder = Path("/home/agent/folder")
    path = path.format(work=folder)
    expected = os.path.normpath(os.path.join(folder, path))
    try:
        place = confined(folder, path)
    except ToolError:
        assert not (expected + "/").startswith("/home/agent/folder/")
    else:
        assert str(place) == expected
        assert place.is_relative_to(folder)


@pytest.mark.row("S4-23", "P-28")
@settings(
    max_examples=examples(300),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.dictionaries(
        st.sampled_from(["up", "down", "root", "self", "a/up", "a/b/self", "a/c"]),
        st.lists(_NAMES, min_size=1, max_size=5).map("/".join),
    ),
    st.lists(_NAMES, max_size=6).map("/".join),
)
def test_whatever_links_there_are_nothing_outside_is_reached(
    tmp_path_factory: Any, links: dict[str, str], path: str
) -> None:
    base = tmp_path_factory.mktemp("confined")
    work = base / "work"
    (work / "a/b").mkdir(parents=True)
    for place in (base, work, work / "a", work / "a/b"):
        (place / "secret").write_text("out" if place is base else "in")
    for name, target in links.items():
        target = target.format(work=work)
        if target:
            (work / name).symlink_to(target)
    path = path.format(work=work)
    outside = {"secret": "out", "work": None}
    tools = tools_of(work)
    real = os.path.realpath(
        work / os.path.normpath(path or ".")
    )  # the text is taken together first, as `confined` does
    answer = told(tools["read_file"], path=path)
    if "result" in answer:
        assert answer["result"] == "in"
        assert real.startswith(f"{work}/")
    told(tools["write_file"], path=f"{path}/new/file", content="new")
    told(tools["write_file"], path=path, content="new")
    assert {
        name: None if (base / name).is_dir() else (base / name).read_text()
        for name in os.listdir(base)
    } == outside


# --- commands -------------------------------------------------------------------------------------


@pytest.mark.row("S4-23", "P-28")
def test_a_command_gives_its_output_and_its_status(work: Path) -> None:
    run = tools_of(work)["run_command"]
    assert run("pwd; echo $PWD") == f"{work}\n{work}\n[exit status 0]"
    assert told(run, command="echo out; echo err >&2; printf last; exit 3") == {
        "result": "out\nerr\nlast\n[exit status 3]"
    }
    assert run("true") == "[exit status 0]"
    assert run("cat; no-such-command 2>/dev/null") == "[exit status 127]"
    assert run("kill -9 $$") == "[killed by SIGKILL]"
    assert (
        run(f"kill -{int(signal.SIGRTMIN) + 1} $$")
        == f"[killed by signal {int(signal.SIGRTMIN) + 1}]"
    )
    assert run("printf 'caf\\351'") == "caf�\n[exit status 0]"
    assert told(run, command="a\0b") == {
        "error": "the command cannot be started: embedded null byte"
    }


@pytest.mark.row("S4-23")
def test_a_command_does_not_read_what_is_typed_to_the_program(work: Path) -> None:
    """A pipe that says nothing and does not end, as a terminal does."""
    end, other_end = os.pipe()
    before = os.dup(0)
    os.dup2(end, 0)
    try:
        assert tools_of(work)["run_command"]("cat") == "[exit status 0]"
    finally:
        os.dup2(before, 0)
        for each in (end, other_end, before):
            os.close(each)


@pytest.mark.row("S4-23")
def test_output_goes_on_after_it_was_closed(work: Path) -> None:
    assert (
        tools_of(work)["run_command"]("echo x; exec >&- 2>&-; sleep 0.2; exit 4")
        == "x\n[exit status 4]"
    )


@pytest.mark.row("S4-23")
def test_of_a_long_output_the_ends_are_kept(work: Path) -> None:
    run = tools_of(work)["run_command"]
    exact = "x" * (2 * OUTPUT_HALF_BYTES)
    (work / "exact").write_text(exact)
    assert run("cat exact") == f"{exact}\n[exit status 0]"
    (work / "long").write_text("first" + "x" * 1_000_000 + "last")
    half = OUTPUT_HALF_BYTES - 5
    assert run("cat long; exit 1") == (
        f"first{'x' * half}\n[{1_000_009 - 2 * OUTPUT_HALF_BYTES:,} bytes are "
        f"omitted]\n{'x' * (OUTPUT_HALF_BYTES - 4)}last\n[exit status 1]"
    )
    # A character at the seam is not torn as long as nothing is omitted.
    (work / "seam").write_text("x" + "ü" * OUTPUT_HALF_BYTES)
    assert "�" not in run("head -c 20001 seam")


@pytest.mark.row("S4-23")
def test_a_command_gets_no_keys(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "GEMINI_API_KEY",
        "MY_TOKEN",
        "APP_SECRET",
        "my_password",
        "AWS_SECRET_ACCESS_KEY",
        "GITHUB_TOKEN_2",
    ):
        monkeypatch.setenv(name, "sesame")
    monkeypatch.setenv("HARMLESS", "told")
    answer = tools_of(work)["run_command"]("env")
    assert "sesame" not in answer
    assert "HARMLESS=told\n" in answer


@pytest.fixture
def alive(work: Path) -> Path:
    """A pipe that commands hold open: its reader sees the end of it when the last of them
    is gone.
    """
    os.mkfifo(work / "alive")
    return work / "alive"


HOLD = "exec 3>alive; sleep 1000 & sleep 1000 & echo go >&3; "


def _begun(alive: Path) -> BinaryIO:
    pipe = open(alive, "rb")  # noqa: SIM115  # closed by `_gone`
    assert pipe.readline() == b"go\n"
    return pipe


def _gone(pipe: BinaryIO) -> None:
    with pipe:
        assert pipe.read() == b""


def _clock(monkeypatch: pytest.MonkeyPatch, monotonic: Callable[[], float]) -> None:
    monkeypatch.setattr(
        wire.pipeline.command, "time", types.SimpleNamespace(monotonic=monotonic, sleep=time.sleep)
    )


@pytest.mark.row("S4-23", "P-28")
def test_a_command_over_its_time_is_killed_with_all_that_it_started(
    work: Path, alive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    _clock(monkeypatch, lambda: now[0])
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(tools_of(work)["run_command"], f"echo begun; {HOLD} wait")
        begun = _begun(alive)
        now[0] = 29.9
        assert not answer.done()
        now[0] = 30.0
        _gone(begun)
        assert answer.result() == "begun\n[killed after 30 s]"


@pytest.mark.row("S4-23")
def test_one_whose_output_is_closed_is_killed_too(
    work: Path, alive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    _clock(monkeypatch, lambda: now[0])
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(
            tools_of(work, command_timeout=0.5)["run_command"], f"exec >&- 2>&-; {HOLD} wait"
        )
        begun = _begun(alive)
        now[0] = 0.5
        _gone(begun)
        assert answer.result() == "[killed after 0.5 s]"


@pytest.mark.row("S4-23")
def test_one_that_writes_without_end_is_killed_too(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _clock(monkeypatch, functools.partial(next, itertools.count()))
    answer = tools_of(work, command_timeout=300)["run_command"]("yes")
    assert answer.startswith("y\ny\n")
    assert answer.endswith("y\n[killed after 300 s]")
    assert len(answer) < 2 * OUTPUT_HALF_BYTES + 100


@pytest.mark.row("S4-23")
def test_what_a_command_leaves_running_is_ended(work: Path, alive: Path) -> None:
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(tools_of(work)["run_command"], f"{HOLD} echo begun")
        _gone(_begun(alive))
        assert answer.result() == "begun\n[background processes were killed]\n[exit status 0]"


@pytest.mark.row("S4-23")
def test_one_that_left_the_group_is_not_waited_for(work: Path, alive: Path) -> None:
    """It holds the output open: whoever waits for its end waits for as long as it lives."""
    with ThreadPoolExecutor(1) as pool:
        left = (
            f"setsid {shlex.quote(sys.executable)} -c 'import os; print(os.getpid(), flush=True); "
            'open("alive", "w").close(); os.read(0, 1)\' '
        )
        # stdin of what runs in the background is /dev/null, so that it gets a pipe of its own to
        # wait on
        answer = pool.submit(
            tools_of(work)["run_command"], f"mkfifo end; {left} <>end & read x <alive; echo done"
        )
        text = answer.result()
    pid = int(text.splitlines()[0])
    os.kill(pid, signal.SIGKILL)
    assert text == f"{pid}\ndone\n[background processes were killed]\n[exit status 0]"


@pytest.mark.row("S4-23", "P-28")
@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_command_whose_run_is_cancelled_is_killed(work: Path, alive: Path, backend: str) -> None:
    """Long before its own time is over, which the test would not live to see."""
    toolbox = Toolbox(workspace_tools(work, command_timeout=10_000))

    async def main() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(
                run_calls,
                toolbox,
                [ToolCall(id="1", name="run_command", arguments={"command": f"{HOLD} wait"})],
            )
            begun = await anyio.to_thread.run_sync(_begun, alive)
            group.cancel_scope.cancel()
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(_gone, begun)

    anyio.run(main, backend=backend)


@pytest.mark.row("S4-23", "P-28")
def test_an_agents_calls(work: Path) -> None:
    """Both ways in which agents call."""

    def in_tasks(toolbox: Toolbox, calls: list[ToolCall]) -> list[Any]:
        return anyio.run(run_calls, toolbox, calls)

    ways: list[Callable[[Toolbox, list[ToolCall]], list[Any]]] = [in_tasks, run_calls_in_threads]
    for way in ways:
        calls = [
            ToolCall(
                id="1",
                name="write_file",
                arguments={"path": f"{way.__name__}/a", "content": "needle"},
            ),
            ToolCall(id="2", name="read_file", arguments={"path": "../secret"}),
            ToolCall(id="3", name="run_command", arguments={"command": "echo no; exit 1"}),
        ]
        assert [each.result.answer for each in way(Toolbox(workspace_tools(work)), calls)] == [
            {"result": f"wrote {way.__name__}/a, which is new: 6 bytes"},
            {"error": "../secret: it is outside the work folder"},
            {"result": "no\n[exit status 1]"},
        ]


def descriptors() -> set[str]:
    return set(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else set()


@pytest.mark.row("S4-23")
def test_nothing_stays_open(work: Path) -> None:
    """Whatever came of the call."""
    (work / "a/b").mkdir(parents=True)
    (work / "a/b/file").write_text("x\n" * 500)
    (work / "a/up").symlink_to("../..")
    files, tools = Workspace(work), tools_of(work)
    before = descriptors()
    for name, arguments in [
        ("search_file", {"pattern": "x"}),
        ("read_file", {"path": "a/b/file"}),
        ("read_file", {"path": "a/up/secret"}),
        ("list_dir", {"path": "a/b/file"}),
        ("write_file", {"path": "a/b", "content": ""}),
        ("run_command", {"command": "sleep 1000 &"}),
    ]:
        told(tools[name], **arguments)
    with pytest.raises(KeyError), files.read("a/b/file"):
        raise KeyError
    assert descriptors() <= before  # what other tests left may end meanwhile
