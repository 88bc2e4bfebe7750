"""`httpx_lane.py` for asyncio and trio."""

from __future__ import annotations

import ssl
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import httpx

from wire.http.httpx_lane import ONE_CONNECTION, HttpxLaneState, unwanted
from wire.http.watchdog import ATTEMPT, Clocks


async def async_send_in_time(
    send: Callable[[httpx.Request], Awaitable[httpx.Response]],
    request: httpx.Request,
    http: Any = None,
) -> httpx.Response:
    """Send with a transport or client of httpx, with the clocks of the attempt.

    After a failure, the pools of `http` get back the places that they would have lost. Raises
    `TimeoutError` at the deadline of the attempt.
    """
    clocks: Clocks | None = request.extensions.get(ATTEMPT)
    if clocks is None:
        return await send(request)
    try:
        with anyio.fail_after(clocks.until_deadline) as scope:

            async def trace(name: str, info: dict[str, Any]) -> None:
                if clocks.trace(name, info):
                    scope.deadline = anyio.current_time() + clocks.until_deadline

            request.extensions["trace"] = trace
            return await send(request)
    except BaseException:
        # Without an `await`: the shield does not stop a native `task.cancel()`.
        connections = unwanted(clocks, http)
        if connections:
            with anyio.CancelScope(shield=True):
                for connection in connections:
                    await connection.aclose()
        raise


class AsyncHttpxLane(HttpxLaneState):
    """A lane for asyncio and trio."""

    __slots__ = ()

    def __init__(self, verify: ssl.SSLContext, proxy: httpx.Proxy | None) -> None:
        super().__init__(
            httpx.AsyncHTTPTransport(
                verify=verify, limits=ONE_CONNECTION, proxy=proxy, trust_env=False
            )
        )

    async def send(self, request: httpx.Request) -> httpx.Response:
        """Send a request; the body of the response is not read."""
        if self._network is None:
            response = await async_send_in_time(self._transport.handle_async_request, request)
        else:
            # The watchdog wakes the read: a timeout scope costs as much as a read.
            if ATTEMPT in request.extensions:
                request.extensions[ATTEMPT].connected(self._network)
            response = await self._transport.handle_async_request(request)
        return self._opened(response)

    async def aclose(self) -> None:
        """Close the connection."""
        with anyio.CancelScope(shield=True):
            await self._transport.aclose()
