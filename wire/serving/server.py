"""The gateway as an HTTP server."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator

from wire.core.errors import ConfigurationError
from wire.serving.admission import LOOPBACK
from wire.serving.gateway import Gateway
from wire.serving.sockets import opened
from wire.testing.emulator.answer import Answer, LiveAnswer
from wire.testing.emulator.connection import Connection
from wire.testing.emulator.server import Awaiting, HttpServer
from wire.testing.emulator.sessions import Session


class GatewayServer(HttpServer):
    """A running gateway; `url` is its address."""

    name = "wire-gateway"
    part_of_descriptors = 1 / 2  # each client may need another one for its call

    def __init__(
        self,
        gateway: Gateway,
        port: int = 0,
        log: Callable[[str], object] | None = None,
        host: str = "127.0.0.1",
    ) -> None:
        if not gateway.has_key and host not in LOOPBACK:
            problem = f"{host}: other machines could use the key of the backend"
            raise ConfigurationError(f"host: {problem}; give the gateway a key")
        self._gateway = gateway
        super().__init__(gateway, port, log, host)

    async def respond(
        self,
        connection: Connection,
        method: str,
        target: str,
        headers: list[tuple[str, str]],
        body: bytes,
    ) -> Answer | LiveAnswer:
        """Respond to one request; its call is cancelled when the client goes away."""
        async with connection.while_here():
            try:
                return await self._gateway.respond(method, target, headers, body)
            except Exception as error:  # a defect here: the client gets an answer all the same
                words = f"The gateway failed: {type(error).__name__}."
                return self._gateway.rejected(method, target, headers, 500, words)

    async def session(
        self, connection: Connection, target: str, headers: list[tuple[str, str]]
    ) -> Session | Answer:
        """Open a session of Responses, or return the response that refuses it."""
        run = Awaiting(self.loop, connection.while_here)
        made = functools.partial(opened, self._gateway, target, headers, run)
        found: Session | Answer = await self.asked(made)
        return found

    async def on_stop(self) -> None:
        """Close the connections to the backend."""
        await self._gateway.aclose()


@contextlib.contextmanager
def serve(
    gateway: Gateway,
    port: int = 0,
    *,
    host: str = "127.0.0.1",
    log: Callable[[str], object] | None = None,
) -> Iterator[GatewayServer]:
    """Serve the gateway while the block runs, on a free port of loopback if none is given.

    `log` gets a line for each request: method, path without keys, and status. The connections to
    the backend are closed at the end.

    Raises `ConfigurationError` for an address of another host than loopback if the gateway has no
    key, for a port that is in use, and for an address that this machine has not.
    """
    server = GatewayServer(gateway, port, log, host)
    try:
        yield server
    finally:
        server.stop()
