"""The emulator as pytest fixtures.

pytest imports this module at every start, so the fixtures import everything else when they run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from wire.testing.emulator import EmulatorTransport, Server


@pytest.fixture(scope="session")
def _gemini_server() -> Iterator[Server]:
    from wire.testing.emulator import Emulator, serve

    with serve(Emulator()) as server:
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
    from wire.testing.emulator import EmulatorTransport

    return EmulatorTransport()
