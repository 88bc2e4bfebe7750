"""One way to run a pipeline in a test: `run(backend, text, ...)`, its models played by an
emulator.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import anyio

from wire.chat.chat import AsyncChat
from wire.core.retry import NONE
from wire.pipeline.checkpoint import Checkpoint
from wire.pipeline.dot import parse
from wire.pipeline.engine import Ended, Engine
from wire.pipeline.handlers import Handler, Visit
from wire.pipeline.node_types import NodeTypes
from wire.testing.emulator import AsyncEmulatorTransport, Emulator

BACKENDS = ["asyncio", "trio"]


def run(
    backend: str,
    text: str,
    variables: Mapping[str, Any] | None = None,
    *,
    types: Mapping[str, Handler] | None = None,
    script: Any = None,
    emulator: Emulator | None = None,
    begin: Checkpoint | None = None,
    **options: Any,
) -> Ended:
    """Run a pipeline from its start, or after the last node of `begin`.

    `types` are handlers of the test's own.
    """
    node_types = NodeTypes()
    for name, handler in (types or {}).items():
        node_types.register(name, handler)
    if emulator is None:
        emulator = Emulator(script, lenient=True)
    engine = Engine(
        parse(text, "test"),
        types=node_types,
        **{"connect": connecting(emulator), "now": lambda: "now", **options},
    )
    begun = (
        functools.partial(engine.run, variables)
        if begin is None
        else functools.partial(engine.resume, begin, variables)
    )
    return anyio.run(begun, backend=backend)


def connecting(emulator: Emulator, **options: Any) -> Callable[[str], AsyncChat]:
    """What an engine takes as `connect`: every provider is the emulator."""
    of_chat = {"api_key": "fake-key", "retry": NONE, **options}
    return lambda name: AsyncChat(name, http=AsyncEmulatorTransport(emulator), **of_chat)


class Seen:
    """A handler that writes down which nodes were run, and fails where it is told to."""

    def __init__(self, fails: Mapping[str, Exception] | None = None) -> None:
        self.nodes: list[str] = []
        self._fails = dict(fails or {})

    async def __call__(self, visit: Visit) -> dict[str, Any]:
        await anyio.lowlevel.checkpoint()
        if visit.node.id in self._fails:
            raise self._fails[visit.node.id]
        self.nodes.append(visit.node.id)
        return {f"{visit.node.id}_seen": True}
