"""The same exchange through an httpx client for threads, for asyncio and for trio, over a transport
that records or replays.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest

from tests.http.loopback import loopback
from wire.http.async_lanes import AsyncLanes
from wire.http.lanes import Lanes
from wire.testing import AsyncRecord, AsyncReplay, Record, Replay


@contextlib.contextmanager
def serving(script: Any) -> Iterator[Served]:
    """A server on loopback whose address is still known when it has gone."""
    with loopback(script) as server:
        yield Served(server.url, server.requests)


@dataclass
class Served:
    url: str
    requests: list[bytes]


READS = ("read", "iter_raw", "iter_bytes", "iter_lines", "iter_text")


@dataclass
class Got:
    """What a caller saw of one response."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    parts: list[Any] = field(default_factory=list)
    error: Exception | None = None

    @property
    def body(self) -> bytes:
        return b"".join(self.parts)


@dataclass(frozen=True)
class Way:
    """One way of using a transport."""

    name: str

    def record(self, path: Path, inner: Any = None, **options: Any) -> Any:
        return (
            Record(inner or Lanes(), path, **options)
            if self.name == "sync"
            else AsyncRecord(inner or AsyncLanes(), path, **options)
        )

    def replay(self, path: Path, **options: Any) -> Any:
        return (Replay if self.name == "sync" else AsyncReplay)(path, **options)

    def get(
        self,
        transport: Any,
        url: str,
        reads: str = "iter_raw",
        *,
        most: int | None = None,
        seen: Any = None,
        **request: Any,
    ) -> Got:
        """One exchange, read by the method of httpx named `reads`, at most `most` parts;
        `seen(part)` is called between.
        """
        return self.gets(transport, [{"url": url, **request}], reads, most=most, seen=seen)[0]

    def gets(
        self,
        transport: Any,
        requests: list[Any],
        reads: str = "iter_raw",
        *,
        most: int | None = None,
        seen: Any = None,
    ) -> list[Got]:
        """Several exchanges, one after the other."""
        if self.name == "sync":
            with httpx.Client(transport=transport) as client:
                return [
                    _get(client, {"method": "POST", **request}, reads, most, seen)
                    for request in requests
                ]

        async def main() -> list[Got]:
            async with httpx.AsyncClient(transport=transport) as client:
                return [
                    await _aget(client, {"method": "POST", **request}, reads, most, seen)
                    for request in requests
                ]

        return anyio.run(main, backend=self.name)


def _get(client: httpx.Client, request: Any, reads: str, most: int | None, seen: Any) -> Got:
    got = Got()
    try:
        with client.stream(**request) as response:
            got.status, got.headers = response.status_code, dict(response.headers)
            if reads == "read":
                got.parts.append(response.read())
            else:
                for part in getattr(response, reads)():
                    got.parts.append(part)
                    if seen is not None:
                        seen(part)
                    if len(got.parts) == most:
                        break
    except Exception as error:
        got.error = error
    return got


async def _aget(
    client: httpx.AsyncClient, request: Any, reads: str, most: int | None, seen: Any
) -> Got:
    got = Got()
    try:
        async with client.stream(**request) as response:
            got.status, got.headers = response.status_code, dict(response.headers)
            if reads == "read":
                got.parts.append(await response.aread())
            else:
                async with contextlib.aclosing(getattr(response, f"a{reads}")()) as parts:
                    async for part in parts:
                        got.parts.append(part)
                        if seen is not None:
                            seen(part)
                        if len(got.parts) == most:
                            break
    except Exception as error:
        got.error = error
    return got


WAYS = [Way("sync"), Way("asyncio"), Way("trio")]
EVERY_WAY = [pytest.param(way, id=way.name) for way in WAYS]
