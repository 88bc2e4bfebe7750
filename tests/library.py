"""Tells code of the library from other code, wherever the checkout lies.

A folder of any name may hold the checkout, one called `wire` too: a test that looks for `/wire/` in
the path of a file takes its own code for the library's there.
"""

from __future__ import annotations

import os
from pathlib import Path

import wire

FOLDER = Path(wire.__file__).parent


def is_library(filename: str, *rooms: str) -> bool:
    """Return whether a file, by the path in its code object, is in the library or in its rooms."""
    folders = [FOLDER / room for room in rooms] or [FOLDER]
    return any(filename.startswith(f"{folder}{os.sep}") for folder in folders)
