"""What an agent of a pipeline can do in its work folder: read, write, list, search and patch files,
run commands.
"""

from __future__ import annotations

import codecs
import math
from contextlib import closing
from pathlib import Path
from typing import BinaryIO

from wire.errors import ToolError, one_line
from wire.pipeline.command import raise_if_cancelled, run_shell
from wire.pipeline.workspace import Workspace
from wire.tools import tool
from wire.tools.definition import FunctionTool

LINES = 200
"""Lines that a search gives."""

_ENTRIES = 1000
_READ = 100_000  # bytes of a file that are told at once
_WHOLE = 16_000_000  # bytes of a file that is searched or patched: it is held whole
_SAMPLE = 8192  # bytes that say whether a file is text: git looks at as many
_LONG = 500  # characters of a line that was found
_BEFORE = 100  # of them before what was looked for
_SKIPPED = frozenset({".git"})
_RUN = (
    "Run a command by /bin/sh in the work folder. You get what it wrote on stdout and "
    "stderr, the middle left out if it is long, and its "
    "exit status. It has no input, and is killed after {:g} seconds; what it leaves "
    "running is ended with it."
)


def workspace_tools(folder: Path, *, command_timeout: float = 30) -> list[FunctionTool]:
    """The tools `read_file`, `write_file`, `run_command`, `list_dir`, `search_file` and
    `patch_file` of one folder.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tools = {each.name: each for each in workspace_tools(Path(folder))}
    ...     tools["write_file"]("src/a.py", "x = 1\\n"), tools["search_file"]("x ="), tools["run_command"]("cat src/a.py; exit 3")
    ('wrote src/a.py, which is new: 6 bytes', 'src/a.py:1: x = 1', 'x = 1\\n[exit status 3]')

    Files are read and written in the folder alone: paths and links that lead out are refused, as is
    what is no regular file. Commands begin in the folder and get no keys out of the environment,
    but a shell can go anywhere: who runs an agent that is not trusted runs it in a container. A
    command that takes longer than `command_timeout` seconds is killed, and so is one whose run is
    cancelled.

    Raises `ToolError` for a folder that is none and a timeout that is no time, `ConfigurationError`
    on a system that cannot open files relative to a folder.
    """
    if (
        isinstance(command_timeout, bool)
        or not isinstance(command_timeout, (int, float))
        or not 0 < command_timeout < math.inf
    ):
        raise ToolError(f"command_timeout: seconds from 0 up are wanted, not {command_timeout!r}")
    files = Workspace(folder)

    @tool(read_only=True)
    def read_file(path: str, offset: int = 1, limit: int = 2000) -> str:
        """Read a text file of the work folder. You get its text exactly as it is, without line
        numbers; if it is long, the first lines and a note in brackets that says how to go on.

        Args:
            path: The file, relative to the work folder.
            offset: The line to begin with, from 1.
            limit: How many lines at most.
        """
        if offset < 1 or limit < 1:
            raise ToolError("offset and limit are numbers of lines, from 1")
        with files.read(path) as file:
            return _lines(file, path, offset, limit)

    @tool
    def write_file(path: str, content: str) -> str:
        """Write a text file of the work folder, whole: what was in it is replaced. Folders that it
        needs are made.

        Args:
            path: The file, relative to the work folder.
            content: All of its text.
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
        """List a folder of the work folder, a name on each line; folders end with a slash.

        Args:
            path: The folder, relative to the work folder.
        """
        names = [_on_one_line(each) for each in files.names(path)]
        note = [f"[{len(names) - _ENTRIES} more are left out]"] if len(names) > _ENTRIES else []
        return "\n".join(names[:_ENTRIES] + note) or "[the folder is empty]"

    @tool(read_only=True)
    def search_file(pattern: str, path: str = ".") -> str:
        """Search the text files of the work folder for a text, upper and lower case as given; it is
        no regular expression. You get up to 200 lines, each as `file:line: text`.

        Args:
            pattern: The text that a line must contain.
            path: The file, or the folder with all that is below it, relative to the work folder.
        """
        return _found(files, pattern, path)

    @tool
    def patch_file(path: str, old: str, new: str) -> str:
        """Replace one text in a file of the work folder by another. Nothing is changed unless the
        old text stands there exactly once.

        Args:
            path: The file, relative to the work folder.
            old: The text to replace, exactly as in the file, blanks and line ends too, with enough
                around it to be the only one.
            new: The text that comes in its place.
        """
        line = 0

        def change(text: bytes) -> bytes:
            nonlocal line
            changed, line = patched(text, _encoded(old, "old"), _encoded(new, "new"))
            return changed

        files.edit(path, change, _WHOLE)
        return f"patched {path} at line {line}"

    return [read_file, write_file, run_command, list_dir, search_file, patch_file]


def patched(text: bytes, old: bytes, new: bytes) -> tuple[bytes, int]:
    """`text` with the one `old` in it replaced by `new`, and the line where it stands.

    >>> patched(b"a = 1\\nb = 2\\n", b"b = 2", b"b = 3")
    (b'a = 1\\nb = 3\\n', 2)

    In a text whose lines all end in CR LF, an `old` without CR, as models write it, means those,
    and so does `new`.

    Raises `ToolError` unless `old` stands there exactly once, and if nothing would change.
    """
    if not old:
        raise ToolError("old is empty: give the text that is to be replaced")
    if b"\r" not in old and 0 < text.count(b"\n") == text.count(b"\r\n"):
        old, new = _with_crlf(old), _with_crlf(new)
    if old == new:
        raise ToolError("old and new are the same")
    places = _places(text, old)
    lines = [text.count(b"\n", 0, place) + 1 for place in places[:10]]
    if not places:
        raise ToolError(
            "old is not in the file: it must be exactly as there, blanks and line ends too"
        )
    if len(places) > 1:
        told = ", ".join(map(str, lines)) + (", ..." if len(places) > len(lines) else "")
        raise ToolError(
            f"old is in the file {len(places)} times, at the lines {told}: give more of "
            "what is around it"
        )
    return text[: places[0]] + new + text[places[0] + len(old) :], lines[0]


def _with_crlf(text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def _places(text: bytes, old: bytes) -> list[int]:
    """Where it stands, also where it overlaps itself."""
    found: list[int] = []
    place = text.find(old)
    while place >= 0:
        found.append(place)
        place = text.find(old, place + 1)
    return found


def _encoded(text: str, name: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise ToolError(
            f"{name}: it has half of a surrogate pair, which no text file can hold"
        ) from None


def _lines(file: BinaryIO, path: str, offset: int, limit: int) -> str:
    """Lines as they are, and a note if the file does not end with them."""
    if b"\0" in file.read(_SAMPLE):
        raise _binary(path)
    file.seek(0)
    before = 0
    while before < offset - 1 and _skip(file):
        before += 1
    lines: list[bytes] = []
    room, whole = _READ, True
    while room > 0 and len(lines) < limit and (line := file.readline(room)):
        lines.append(line)
        room -= len(line)
        whole = line.endswith(b"\n")
    if not lines and offset > 1:
        return f"[there is no line {offset}: the file has {before} lines]"
    more = bool(file.read(1))
    notes: list[str] = []
    if more and not whole:
        if len(lines) > 1:
            lines.pop()
        else:
            notes.append(
                f"line {offset} is longer than {_READ:,} bytes, the rest of it is left out"
            )
    data = b"".join(lines)
    if b"\0" in data:
        raise _binary(path)
    text, strict = _decoded(data, cut=more)
    if not strict:
        notes.append("it is not UTF-8: \ufffd stands for what could not be read")
    if more:
        notes.append(f"the file goes on: read it with offset={offset + len(lines)}")
    return (
        text
        if not notes
        else f"{text}{'' if text.endswith(chr(10)) else chr(10)}[{'; '.join(notes)}]"
    )


def _skip(file: BinaryIO) -> bool:
    """Past one line, however long; whether there was one."""
    line = piece = file.readline(_READ)
    while piece and not piece.endswith(b"\n"):
        piece = file.readline(_READ)
    return bool(line)


def _binary(path: str) -> ToolError:
    return ToolError(f"{one_line(path)}: it is binary, and no text")


def _decoded(data: bytes, *, cut: bool) -> tuple[str, bool]:
    """The text, and whether it is all of it; the last character of a line that is cut may not be
    whole.
    """
    try:
        return codecs.getincrementaldecoder("utf-8")().decode(data, final=not cut), True
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace"), False


def _found(files: Workspace, pattern: str, path: str) -> str:
    wanted = _encoded(pattern, "pattern")
    if not pattern or "\n" in pattern:
        raise ToolError("pattern: a text is wanted that one line can contain")
    found: list[str] = []
    unread = 0
    with closing(files.files(path, _SKIPPED)) as opened:
        for name, file in opened:
            raise_if_cancelled()
            data = b"" if file is None else file.read(_WHOLE + 1)
            if file is None or len(data) > _WHOLE:
                unread += 1
            elif wanted in data and b"\0" not in data[:_SAMPLE]:
                for number, line in enumerate(data.split(b"\n"), 1):
                    if wanted in line:
                        found.append(f"{_on_one_line(name)}:{number}: {_excerpt(line, wanted)}")
            if len(found) > LINES:
                break
    notes = (
        [
            f"[only the first {LINES} lines are here: look for something rarer, or in a "
            "smaller folder]"
        ]
        if len(found) > LINES
        else []
    )
    if unread:
        notes.append(
            f"[not searched: {unread} that cannot be opened or have more than {_WHOLE:,} bytes]"
        )
    return "\n".join((found[:LINES] or ["no matches found"]) + notes)


def _excerpt(line: bytes, wanted: bytes) -> str:
    text = line.decode("utf-8", "replace").rstrip("\r")
    if len(text) <= _LONG:
        return text
    start = max(0, text.find(wanted.decode()) - _BEFORE)
    return f"{'...' if start else ''}{text[start : start + _LONG]}{'...' if start + _LONG < len(text) else ''}"


def _on_one_line(name: str) -> str:
    return (
        name.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
        if "\n" in name or "\r" in name
        else name
    )
