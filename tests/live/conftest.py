"""With `EMULATOR=1` the emulator is the vendor, for recording without one."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.live.answers import GOOD
from wire.testing.emulator import AsyncEmulatorTransport, Emulator, EmulatorTransport


@pytest.fixture
def wire_cassette_config(request: pytest.FixtureRequest) -> dict[str, Any]:
    if os.environ.get("EMULATOR") != "1":
        return {}
    check = getattr(request.node, "callspec", None) and request.node.callspec.params.get("check")
    name = check.__name__ if check else request.node.originalname
    is_async = "async_wire_client" in request.fixturenames
    transport = AsyncEmulatorTransport if is_async else EmulatorTransport
    return {"inner": transport(Emulator(GOOD.get(name)))}
