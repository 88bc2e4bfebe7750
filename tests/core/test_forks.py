"""What a forked child has in place of what belongs to its parent; `http/test_forks.py` calls."""

from __future__ import annotations

import gc
import os
import re
import sys
import threading
import weakref
from pathlib import Path

import pytest

import wire
from wire.core import forks
from wire.core.forks import at_fork, new_in_child

ROOT = Path(wire.__file__).parent

UNREACHABLE = {
    "agent/live_run.py": "of one run, which goes on in the parent",
    "agent/tool_calls.py": "of one turn, which runs in the parent",
    "agent/tool_threads.py": "of one turn, which runs in the parent",
    "http/httpx_lane.py": "of one lane, which the child drops",
}
"""Locks that a call of a child cannot meet."""


class Owner:
    def __init__(self) -> None:
        self.lock, self.renewed = threading.Lock(), 0
        new_in_child(self, lock=threading.Lock)
        at_fork(self, Owner.renew)

    def renew(self) -> None:
        self.renewed += 1


def fails(owner: Owner) -> None:
    raise ValueError("renew")


def in_child(owner: Owner) -> int:
    """The bits of what a child finds."""
    pid = os.fork()
    if not pid:
        free = owner.lock.acquire(blocking=False)
        os._exit(free | (owner.renewed == 1) << 1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_a_child_has_new_locks_and_the_parent_keeps_its_own() -> None:
    first, second = Owner(), Owner()
    at_fork(second, fails)  # the ones after it are renewed all the same
    third = Owner()
    lock = third.lock
    with first.lock, second.lock, lock:
        assert [in_child(each) for each in (first, second, third)] == [3, 3, 3]
        assert third.lock is lock
    assert [each.renewed for each in (first, second, third)] == [0, 0, 0]


def test_an_owner_is_not_kept() -> None:
    owner = Owner()
    reference = weakref.ref(owner)
    rows = {number for number, (each, _) in list(forks._OWNERS.items()) if each() is owner}
    assert len(rows) == 2
    del owner
    gc.collect()
    assert reference() is None
    assert rows.isdisjoint(forks._OWNERS)  # other tests' owners come and go meanwhile


def test_each_lock_of_the_library_is_renewed_in_a_child() -> None:
    made = re.compile(r"\b(?:threading|_thread)\.(?:R?Lock|Condition|Semaphore)\(|= R?Lock\(\)")
    texts = {
        path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in ROOT.rglob("*.py")
    }
    own = "core/forks.py"
    assert [name for name, text in texts.items() if "register_at_fork" in text] == [own]
    assert [name for name, text in texts.items() if "getpid" in text] == ["core/files.py"]
    forgotten = {
        name
        for name, text in texts.items()
        if made.search(text) and "from wire.core.forks import" not in text
    }
    assert forgotten == set(UNREACHABLE)
