"""The emulator as pytest fixtures.

A wheel has this module a second time as `wire_llm_pytest`, which is what pytest imports at every
start: the name of a project's own module `wire` is left alone. So nothing of `wire` is imported
before a fixture is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from wire.testing.emulator import EmulatorTransport, Server


def _emulator() -> ModuleType:
    """The module of the emulator; the test fails if another `wire` is first on the path."""
    try:
        from wire.testing import emulator
    except (ImportError, AttributeError):
        import wire

        place = getattr(wire, "__file__", None) or list(getattr(wire, "__path__", []))
        pytest.fail(
            f"this fixture needs the package wire of wire-llm, but `import wire` finds {place}",
            pytrace=False,
        )
    return emulator


@pytest.fixture(scope="session")
def _gemini_server() -> Iterator[Server]:
    emulator = _emulator()
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
    transport: EmulatorTransport = _emulator().EmulatorTransport()
    return transport
