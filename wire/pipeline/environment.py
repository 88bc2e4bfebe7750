"""The environment of commands, which has no credentials, neither their own nor the program's.

A command on Linux can read two environments: its own, and that of the program that started it, in
`/proc/$PPID/environ`. The kernel serves that file from the program's memory. When a program starts,
the kernel writes its environment there as one block of `NAME=value` entries. `setenv` of libc never
changes the block. It writes an entry to the heap and points to it there, and the old entry stays in
the block, unused but readable.

So `blank_start_block` first sets each variable with a credential to its own value, which moves it
to the heap. Then it overwrites the value in the block with zeros. The program, its `os.environ`,
and other children that it starts still have the variable. Only the file shows an empty value.

This keeps keys from a curious model, not from an attacker: a command with the user's permissions
may be able to read the memory of other processes. A shell is not a sandbox.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Mapping
from logging import Logger
from typing import NamedTuple

from wire.core.credentials import repeats_secret, secret_value, secret_variable
from wire.core.forks import new_in_child
from wire.core.logs import logger
from wire.core.masking import Mask
from wire.core.secret import living_secrets

log: Logger = logger("wire.pipeline")

_STAT, _MEMORY = "/proc/self/stat", "/proc/self/mem"
_FIELDS_BEFORE = 2
"""Fields of `/proc/self/stat` up to the name of the program, which ends with the last `)`."""
_ENV_START = 50
"""Number of the field, from 1, as in proc(5); the next one is the end."""
_lock = threading.Lock()
new_in_child(sys.modules[__name__], _lock=threading.Lock)
_told: set[str] = set()


def without_secrets(variables: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without the variables that hold credentials.

    >>> without_secrets({"PATH": "/bin", "DB_PASS": "fake", "DB": "postgres://app:fake@db/app"})
    {'PATH': '/bin'}

    A variable holds one by its name, by the form of its value, and if it repeats the value of such
    a variable, or a key that a client of this process uses.
    """
    values = (value.strip() for name, value in variables.items() if secret_variable(name))
    keys = living_secrets()
    secrets = frozenset([*values, *(word for each in keys for word in each.words())])
    mask = Mask(keys)  # finds keys in base64 and percent-encoded, and their fragments
    return {
        name: value
        for name, value in variables.items()
        if not secret_variable(name)
        and not secret_value(name, value)
        and not repeats_secret(name, value, secrets)
        and mask.text(value) == value
    }


def blank_start_block() -> None:
    """Remove credentials from `/proc/PID/environ` of this process; `os.environ` keeps them.

    Does nothing on a system without `/proc`. A failure is logged once as a warning, since commands
    then work, but can read the keys.
    """
    try:
        with _lock:
            _blank()
    except FileNotFoundError:
        return  # no /proc, so nothing is shown
    except (OSError, ValueError) as problem:
        text = f"commands can read the keys in the environment of this process: {problem}"
        if text not in _told:
            _told.add(text)
            log.warning(text)


def _blank() -> None:
    begin, end = _block()
    with open(_MEMORY, "r+b", buffering=0) as memory:
        # Through the file, because a wrong address is then an error and no segmentation fault.
        entries = list(_entries(os.pread(memory.fileno(), end - begin, begin)))
        variables = {each.name: each.value for each in entries}
        kept = without_secrets({**os.environ, **variables})
        for entry in entries:
            if entry.name in kept or not entry.value:
                continue
            current = os.environ.get(entry.name)
            if current is not None:
                os.putenv(entry.name, current)
            os.pwrite(memory.fileno(), b"\0" * entry.size, begin + entry.position)


def _block() -> tuple[int, int]:
    """Find the address of the block in the memory."""
    with open(_STAT, "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    first = _ENV_START - _FIELDS_BEFORE - 1
    return int(fields[first]), int(fields[first + 1])


class _Entry(NamedTuple):
    name: str
    value: str
    position: int
    """Of the value, in bytes from the beginning of the block."""
    size: int


def _entries(block: bytes) -> Iterator[_Entry]:
    position = 0
    for entry in block.split(b"\0"):
        name, equals, value = entry.partition(b"=")
        if equals:
            start = position + len(name) + 1
            yield _Entry(os.fsdecode(name), os.fsdecode(value), start, len(value))
        position += len(entry) + 1
