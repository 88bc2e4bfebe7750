"""The emulator, and a switch for retries, as pytest fixtures.

A wheel has this module a second time as `wire_llm_pytest`, which is what pytest imports at every
start: the name of a project's own module `wire` is left alone. So nothing of `wire` is imported
before a fixture is used.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from wire.testing.emulator import EmulatorTransport, Server


def _imported(name: str) -> ModuleType:
    """A module of `wire`; the test fails if another `wire` is first on the path."""
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:  # a module of the project may raise anything
        spec = PathFinder.find_spec("wire")
        folders = list((spec and spec.submodule_search_locations) or [])
        if any(Path(folder, "testing", "emulator").is_dir() for folder in folders):
            raise
        place = (spec and spec.origin) or folders
        pytest.fail(
            "this fixture needs the package wire of wire-llm, but `import wire` finds "
            f"{place} ({type(error).__name__}: {error})",
            pytrace=False,
        )


@pytest.fixture(scope="session")
def _gemini_server() -> Iterator[Server]:
    emulator = _imported("wire.testing.emulator")
    with emulator.serve(emulator.Emulator()) as server:
        yield server


@pytest.fixture
def gemini_emulator(_gemini_server: Server) -> Server:
    """Gemini's emulator on loopback: pass `base_url=gemini_emulator.url` to a client.

    `.requests` holds the requests that it received in this test.
    """
    _gemini_server.emulator.reset()
    return _gemini_server


@pytest.fixture
def gemini_transport() -> EmulatorTransport:
    """Gemini's emulator without a socket: pass `http=gemini_transport` to a client.

    Each test gets a new `.emulator`.
    """
    transport: EmulatorTransport = _imported("wire.testing.emulator").EmulatorTransport()
    return transport


@pytest.fixture
def no_retries() -> Iterator[None]:
    """`wire.retry.off()` during the test: the first error is raised, and nothing waits."""
    with _imported("wire.core.retry").off():
        yield
