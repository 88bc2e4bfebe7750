"""Where the CPU of a client goes, by library: a profile of cProfile, summed up.

A profile makes calls slower and leaves C as it is, so that shares are of use, and seconds are not.
"""

from __future__ import annotations

import cProfile
import pstats
import time
from collections import Counter
from collections.abc import Callable
from pathlib import PurePath
from typing import Any

from bench.implementations import ROOT

_Function = tuple[str, int, str]

GROUPS = ("wire", "wire.http", "msgspec", "httpx", "httptools", "asyncio", "sockets", "other")
"""What the shares are of. httpx is what it stands on, too: httpcore, h11 and anyio. `other` is the
standard library and the code that measures."""

_WIRE = f"{ROOT}/wire/"
_STACK = {"httpx", "httpcore", "h11", "anyio", "sniffio", "httpx_sse"}
_OF_C = {
    "msgspec": ("msgspec",),
    "httptools": ("httptools",),
    "sockets": ("_socket", "socket.", "select.", "'send'", "'recv'"),
}


def shares(work: Callable[[], object]) -> dict[str, float]:
    """Run the work once; the share of each group."""
    profile = cProfile.Profile(time.process_time)
    profile.enable()
    try:
        work()
    finally:
        profile.disable()
    return summed(pstats.Stats(profile).stats)  # type: ignore[attr-defined]


def summed(stats: dict[_Function, Any]) -> dict[str, float]:
    """The shares of the groups in the statistics of `pstats`, of which all together are 1."""
    seconds: Counter[str] = Counter()
    for function, (_, _, own, _, callers) in stats.items():
        group = group_of(function)
        if group or not callers:
            seconds[group or "other"] += own
            continue
        # A function in C without a group of its own is a part of what called it.
        for caller, (_, _, of_caller, _) in callers.items():
            seconds[group_of(caller) or "other"] += of_caller
    total = seconds.total() or 1.0
    return {group: seconds[group] / total for group in GROUPS}


def group_of(function: _Function) -> str:
    """The group of a function; empty for one in C that any library may call."""
    file, _, name = function
    if file == "~":
        fits = (group for group, words in _OF_C.items() if any(word in name for word in words))
        return next(fits, "")
    if file.startswith(_WIRE):
        return "wire.http" if file.startswith(f"{_WIRE}http/") else "wire"
    folders = PurePath(file).parts
    if "site-packages" in folders:
        package = folders[folders.index("site-packages") + 1].removesuffix(".py")
        return "httpx" if package in _STACK else package if package in GROUPS else "other"
    return "asyncio" if "asyncio" in folders else "other"
