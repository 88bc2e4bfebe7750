"""The tools of an agent in its work folder: they access its files, and run commands."""

from __future__ import annotations

import codecs
import itertools
import math
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import BinaryIO

from wire.core.bounds import BOUNDS
from wire.core.errors import ToolError, one_line
from wire.core.secret import quoted
from wire.pipeline.command import raise_if_cancelled, run_shell
from wire.pipeline.workspace import Workspace
from wire.tools import FunctionTool, tool

MAX_FOUND_LINES = 200
"""The most lines that a search returns."""

_MAX_ENTRIES = 1000  # of a folder, in one listing
_MAX_READ_BYTES = 100_000  # of a file, in one result
_MAX_FILE_BYTES = 16_000_000  # of a file that is searched or patched in memory
_SAMPLE_BYTES = 8192  # that decide whether a file is text, as in git
_MAX_EXCERPT = 500  # characters of a found line
_EXCERPT_BEFORE = 100  # of them before the found text
_SKIPPED = frozenset({".git"})
_RUN = (
    "Run a command by /bin/sh in the work folder. You get its output on stdout and stderr, "
    "without the middle if it is long, and its exit status. It has no input, and is killed after "
    "{:g} seconds; processes that it leaves in the background are killed with it."
)


def workspace_tools(folder: Path, *, command_timeout: float = 30) -> list[FunctionTool]:
    """Build the tools that read and change one folder, and run commands in it.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tools = {each.name: each for each in workspace_tools(Path(folder))}
    ...     tools["write_file"]("src/a.py", "x = 1\\n")
    ...     tools["search_file"]("x =")
    ...     tools["run_command"]("cat src/a.py; exit 3")
    'wrote src/a.py, which is new: 6 bytes'
    'src/a.py:1: x = 1'
    'x = 1\\n[exit status 3]'

    The tools for files access regular files in the folder only; paths and symlinks that lead out of
    it are refused. Commands start in the folder, without the keys in the environment. A shell can
    still reach every file of its user: run an agent that you do not trust in a container. A command
    is killed after `command_timeout` seconds, and when its run is cancelled.

    Raises `ToolError` if `folder` is not a folder or `command_timeout` is not a time, and
    `ConfigurationError` on a system that cannot open files relative to a folder.
    """
    if (
        isinstance(command_timeout, bool)
        or not isinstance(command_timeout, (int, float))
        or not 0 < command_timeout < math.inf
    ):
        raise ToolError(
            f"command_timeout: expected more than 0 seconds, not {quoted(command_timeout)}"
        )
    files = Workspace(folder)

    @tool(read_only=True)
    def read_file(path: str, offset: int = 1, limit: int = 2000) -> str:
        """Read a text file of the work folder. You get its exact text, without line numbers. Of a
        long file you get the first lines, and a note in brackets on how to read the rest.

        Args:
            path: The file, relative to the work folder.
            offset: The first line to read, from 1.
            limit: The most lines to read.
        """
        if offset < 1 or limit < 1:
            raise ToolError("offset and limit: expected numbers of lines, from 1 up")
        with files.read(path) as file:
            return _lines(file, path, offset, limit)

    @tool
    def write_file(path: str, content: str) -> str:
        """Write a text file of the work folder. An old content is replaced completely. Missing
        folders are created.

        Args:
            path: The file, relative to the work folder.
            content: The complete text.
        """
        data = _encoded(content, "content")
        new = not files.write(path, data)
        return f"wrote {path}{', which is new' if new else ''}: {len(data)} bytes"

    @tool(description=_RUN.format(command_timeout))
    def run_command(command: str) -> str:
        """Run a command.

        Args:
            command: The command line.
        """
        return run_shell(command, files.folder, command_timeout)

    @tool(read_only=True)
    def list_dir(path: str = ".") -> str:
        """List a folder of the work folder, one name on a line; folders end with a slash.

        Args:
            path: The folder, relative to the work folder.
        """
        names = [_on_one_line(each) for each in files.names(path)]
        note = (
            [f"[{len(names) - _MAX_ENTRIES} more are omitted]"] if len(names) > _MAX_ENTRIES else []
        )
        return "\n".join(names[:_MAX_ENTRIES] + note) or "[the folder is empty]"

    @tool(read_only=True)
    def search_file(pattern: str, path: str = ".") -> str:
        """Search the text files of the work folder for a text. The search is case-sensitive; the
        text is not a regular expression. You get up to 200 lines, each as `file:line: text`.

        Args:
            pattern: The text that a line must contain.
            path: The file or folder to search, relative to the work folder.
        """
        return _search(files, pattern, path)

    @tool
    def patch_file(path: str, old: str, new: str) -> str:
        """Replace a text in a file of the work folder by another. Nothing is changed unless the
        file contains the old text exactly once.

        Args:
            path: The file, relative to the work folder.
            old: The exact text to replace, with enough of its context to be unique.
            new: The text that replaces it.
        """
        line = 0

        def change(text: bytes) -> bytes:
            nonlocal line
            changed, line = patched(text, _encoded(old, "old"), _encoded(new, "new"))
            return changed

        files.edit(path, change, _MAX_FILE_BYTES)
        return f"patched {path} at line {line}"

    return [read_file, write_file, run_command, list_dir, search_file, patch_file]


def patched(text: bytes, old: bytes, new: bytes) -> tuple[bytes, int]:
    """Replace the one `old` in `text` by `new`; return the text and the line of the change.

    >>> patched(b"a = 1\\nb = 2\\n", b"b = 2", b"b = 3")
    (b'a = 1\\nb = 3\\n', 2)

    Models write LF only. If all lines of the text end in CR LF, LF in `old` and `new` means CR LF.

    Raises `ToolError` unless the text contains `old` exactly once, and if nothing would change.
    """
    if not old:
        raise ToolError("old is empty: give the text to replace")
    if b"\r" not in old and 0 < text.count(b"\n") == text.count(b"\r\n"):
        old, new = _with_crlf(old), _with_crlf(new)
    if old == new:
        raise ToolError("old and new are the same")
    offsets = _offsets(text, old)
    lines = [text.count(b"\n", 0, offset) + 1 for offset in offsets[:10]]
    if not offsets:
        raise ToolError("old is not in the file: copy it exactly, with its blanks and line ends")
    if len(offsets) > 1:
        shown = ", ".join(map(str, lines)) + (", ..." if len(offsets) > len(lines) else "")
        raise ToolError(
            f"old is in the file {len(offsets)} times, at the lines {shown}: add more context"
        )
    return text[: offsets[0]] + new + text[offsets[0] + len(old) :], lines[0]


def _with_crlf(text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def _offsets(text: bytes, old: bytes) -> list[int]:
    """Return the offsets of all occurrences, also of those that overlap."""
    offsets: list[int] = []
    offset = text.find(old)
    while offset >= 0:
        offsets.append(offset)
        offset = text.find(old, offset + 1)
    return offsets


def _encoded(text: str, name: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise ToolError(
            f"{name}: it contains a lone surrogate, which UTF-8 cannot encode"
        ) from None


def _lines(file: BinaryIO, path: str, offset: int, limit: int) -> str:
    """Read the lines from `offset` on, and add a note if the file has more."""
    if b"\0" in file.read(_SAMPLE_BYTES):
        raise _binary(path)
    file.seek(0)
    before = 0
    while before < offset - 1 and _skip(file):
        before += 1
    lines: list[bytes] = []
    room, line_is_complete = _MAX_READ_BYTES, True
    while room > 0 and len(lines) < limit and (line := file.readline(room)):
        lines.append(line)
        room -= len(line)
        line_is_complete = line.endswith(b"\n")
    if not lines and offset > 1:
        return f"[there is no line {offset}: the file has {before} lines]"
    more = bool(file.read(1))
    notes: list[str] = []
    if more and not line_is_complete:
        if len(lines) > 1:
            lines.pop()
        else:
            notes.append(
                f"line {offset} is longer than {_MAX_READ_BYTES:,} bytes; the rest of it is omitted"
            )
    data = b"".join(lines)
    if b"\0" in data:
        raise _binary(path)
    text, strict = _decoded(data, cut=more)
    if not strict:
        notes.append("the file is not UTF-8: \ufffd replaces bytes that could not be decoded")
    if more:
        notes.append(f"the file has more lines: continue with offset={offset + len(lines)}")
    return (
        text
        if not notes
        else f"{text}{'' if text.endswith(chr(10)) else chr(10)}[{'; '.join(notes)}]"
    )


def _skip(file: BinaryIO) -> bool:
    """Skip one line; whether there was one. A long line is read in pieces."""
    line = piece = file.readline(_MAX_READ_BYTES)
    while piece and not piece.endswith(b"\n"):
        piece = file.readline(_MAX_READ_BYTES)
    return bool(line)


def _binary(path: str) -> ToolError:
    return ToolError(f"{one_line(path)}: it is a binary file, not text")


def _decoded(data: bytes, *, cut: bool) -> tuple[str, bool]:
    """Decode bytes; return the text, and whether it is UTF-8.

    With `cut`, the last character may be incomplete.
    """
    try:
        return codecs.getincrementaldecoder("utf-8")().decode(data, final=not cut), True
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace"), False


def _search(files: Workspace, pattern: str, path: str) -> str:
    encoded = _encoded(pattern, "pattern")
    if not pattern or "\n" in pattern:
        raise ToolError("pattern: expected a text without line ends")
    lines: list[str] = []
    cut: list[str] = []
    unread = size = 0
    with closing(files.files(path, _SKIPPED, cut)) as opened:
        for name, file in opened:
            raise_if_cancelled()
            data = b"" if file is None else file.read(_MAX_FILE_BYTES + 1)
            size += len(data)
            if file is None or len(data) > _MAX_FILE_BYTES:
                unread += 1
            elif encoded in data and b"\0" not in data[:_SAMPLE_BYTES]:
                room = MAX_FOUND_LINES + 1 - len(lines)
                found = itertools.islice(_found(data, encoded), room)
                shown = _on_one_line(name)
                lines += [f"{shown}:{number}: {_excerpt(line, encoded)}" for number, line in found]
            if len(lines) > MAX_FOUND_LINES:
                break
            if size > BOUNDS.searched_bytes:
                cut.append(f"more than {BOUNDS.searched_bytes:,} bytes")
                break
    notes: list[str] = []
    if len(lines) > MAX_FOUND_LINES:
        shown = f"only the first {MAX_FOUND_LINES} lines are shown"
        notes.append(f"[{shown}: search for a rarer text, or in a smaller folder]")
    if cut:
        notes.append(f"[the search was cut at {', '.join(cut)}: search in a smaller folder]")
    if unread:
        notes.append(
            f"[not searched: {unread} that cannot be opened or have more than "
            f"{_MAX_FILE_BYTES:,} bytes]"
        )
    return "\n".join((lines[:MAX_FOUND_LINES] or ["no matches found"]) + notes)


def _found(data: bytes, pattern: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that contain a text, each with its number."""
    at, number, counted = data.find(pattern), 1, 0
    while at >= 0:
        number += data.count(b"\n", counted, at)
        start, end = data.rfind(b"\n", 0, at) + 1, data.find(b"\n", at)
        end = len(data) if end < 0 else end
        yield number, data[start:end]
        counted, at = end, data.find(pattern, end)


def _excerpt(line: bytes, pattern: bytes) -> str:
    text = line.decode("utf-8", "replace").rstrip("\r")
    if len(text) <= _MAX_EXCERPT:
        return text
    start = max(0, text.find(pattern.decode()) - _EXCERPT_BEFORE)
    end = start + _MAX_EXCERPT
    return f"{'...' if start else ''}{text[start:end]}{'...' if end < len(text) else ''}"


def _on_one_line(name: str) -> str:
    return (
        name.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
        if "\n" in name or "\r" in name
        else name
    )
