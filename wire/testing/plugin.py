"""The emulator as pytest fixtures. pytest loads this at every start, so that all else is loaded by
the fixtures.
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
    """Gemini on loopback: `base_url=gemini_emulator.url`; what it received stands in `.requests`,
    and each test begins with none.
    """
    _gemini_server.emulator.reset()
    return _gemini_server


@pytest.fixture
def gemini_transport() -> EmulatorTransport:
    """Gemini without a socket: `http=gemini_transport`; its `.emulator` is this test's own."""
    from wire.testing.emulator import EmulatorTransport

    return EmulatorTransport()
