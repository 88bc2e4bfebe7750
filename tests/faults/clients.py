"""The clients under test: three styles, four transports, three ways to the server."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import anyio
import httpx
import trio  # noqa: F401  before any thread: two that import it at once may get half of it

from tests.faults.behind import of_the_gateway, rows
from tests.faults.families import LEFT_AFTER, Fault, canary
from tests.faults.pieces import Pieces
from wire import AsyncChat, Chat, Retry, TextDelta, Timeouts
from wire.core.secret import Secret
from wire.http.async_lanes import AsyncLanes
from wire.http.lanes import Lanes

try:
    import httpx2
except ImportError:
    httpx2 = None  # type: ignore[assignment]

STYLES = ("threads", "asyncio", "trio")
PROGRAMS = ("gateway", "bulk")
"""Clients that are programs: a client of the gateway, whose backend meets the fault, and `wire
bulk`."""
TRANSPORTS = ("direct", "lanes", "httpx", "httpx2")
"""The pool of this library with direct connections and with those of httpx, and the pools of httpx
and httpx2."""
WAYS = ("plain", "TLS", "TLS through a proxy")
HAS_HTTPX2 = httpx2 is not None

NEXT = "Next"
"""The prompt of the call after the fault, by which the server knows it."""

FAR = Timeouts(connect=10, first_byte=15, idle=15, total=18)
"""Clocks that fire only where a client hangs."""
_ASKED_AGAIN = 3.0
"""Seconds for which a row is asked that its server refuses."""
_DRIPS = 8.0
"""Seconds of a row whose answer drips: each byte resets the idle clock of a whole answer, so that
the total time alone ends it. After `FAR` too little would be left until it counts as a hang."""


@dataclass(frozen=True)
class Ports:
    """Where the server is."""

    plain: int
    tls: int
    proxy: int
    authority: str
    """File with the certificate that signed the server's own."""

    def origin(self, way: str) -> str:
        """The origin of a way; a name that only the proxy resolves, for the last one."""
        if way == "plain":
            return f"http://127.0.0.1:{self.plain}"
        host = "127.0.0.1" if way == "TLS" else "hostile.test"
        return f"https://{host}:{self.tls}"


@dataclass
class Seen:
    """What a caller has after one call."""

    text: str | None = None
    error: BaseException | None = None
    pieces: str = ""
    """The texts of the stream's events, joined."""
    written: str = ""
    """What a program has written to files."""


@dataclass(frozen=True)
class Cell:
    """One client: a style, a transport and a way to the server."""

    style: str
    transport: str
    way: str

    def __str__(self) -> str:
        return f"{self.style}, {self.transport}, {self.way}"

    @property
    def exists(self) -> bool:
        """Direct connections are for threads and asyncio, and use no proxy.

        httpx2 is an optional package.
        """
        if self.transport == "httpx2":
            return HAS_HTTPX2
        return self.transport != "direct" or (self.style != "trio" and "proxy" not in self.way)

    @property
    def is_program(self) -> bool:
        """Whether the client is a program, with errors of its own."""
        return self.style in PROGRAMS

    @property
    def has_own_pool(self) -> bool:
        """Whether the pool is that of this library."""
        return self.transport in ("direct", "lanes")

    def http(self, ports: Ports) -> Any:
        """The transport, with room for one connection."""
        threads = self.style == "threads"
        if self.has_own_pool:
            connections = "direct" if self.transport == "direct" else "httpx"
            return (Lanes if threads else AsyncLanes)(limit=1, connections=connections)
        library = httpx if self.transport == "httpx" else httpx2
        kind = library.HTTPTransport if threads else library.AsyncHTTPTransport
        proxy = f"http://127.0.0.1:{ports.proxy}" if "proxy" in self.way else None
        limits = library.Limits(max_connections=1, max_keepalive_connections=1)
        verify = _context(ports.authority) if self.way != "plain" else False
        return kind(verify=verify, limits=limits, proxy=proxy, trust_env=False)

    def run(self, ports: Ports, fault: Fault, pieces: Pieces, run: str) -> tuple[Seen, Seen]:
        """One call that meets the fault, and the next call of the same client."""
        options = {
            "http": self.http(ports),
            "api_key": Secret(canary(run)),
            "retry": Retry(attempts=fault.attempts, base=0),
            "base_url": f"{ports.origin(self.way)}/{run}/{fault.name}/{pieces.wire}",
        }
        clocks = {each: getattr(FAR, each) for each in ("connect", "first_byte", "idle", "total")}
        if self.style == "bulk" and fault.refuses:
            clocks["total"] = _ASKED_AGAIN
        elif self.style == "bulk" and fault.family == "drip":
            clocks["total"] = _DRIPS
        options["timeouts"] = Timeouts(**{**clocks, **fault.clocks})
        if self.style == "threads":
            return _in_threads(pieces.model, fault, options)
        if self.style == "gateway":
            return of_the_gateway(_in_a_loop, fault, pieces.wire, options, FAR)
        if self.style == "bulk":
            return anyio.run(_in_bulk, pieces.model, options, self.http(ports))
        return anyio.run(_in_a_loop, pieces.model, fault, options, backend=self.style)


_CONTEXTS: dict[str, ssl.SSLContext] = {}


def _context(authority: str) -> ssl.SSLContext:
    """Shared: it takes 20 ms to make."""
    if authority not in _CONTEXTS:
        _CONTEXTS[authority] = ssl.create_default_context(cafile=authority)
    return _CONTEXTS[authority]


def _again(chat: Chat | AsyncChat) -> Retry:
    """The policy of the call after the fault: one attempt on the lanes of this library.

    httpx does not see that a server has closed a kept connection of TLS, so the first attempt on
    such a pool may fail (R-26).
    """
    own = chat.client.describe()["http"] in ("Lanes", "AsyncLanes")
    return Retry(attempts=1 if own else 2, base=0)


class Left(Exception):
    """What a caller raises in the block of a stream."""


def _in_threads(model: str, fault: Fault, options: dict[str, Any]) -> tuple[Seen, Seen]:
    seen, then = Seen(), Seen()
    with Chat(model, **options) as chat:
        with _kept(seen):
            if fault.streamed:
                _streamed(chat, fault, seen)
            else:
                seen.text = chat.ask("Hi").text
        time.sleep(fault.pause)
        with _kept(then):
            then.text = chat.ask(NEXT, retry=_again(chat), timeouts=FAR).text
    return seen, then


def _streamed(chat: Chat, fault: Fault, seen: Seen) -> None:
    with chat.stream("Hi") as events:
        for event in events:
            if isinstance(event, TextDelta):
                seen.pieces += event.text
                if fault.caller == "raise":
                    raise Left
                if fault.caller:
                    return
        seen.text = events.reply().text


async def _in_a_loop(model: str, fault: Fault, options: dict[str, Any]) -> tuple[Seen, Seen]:
    seen, then = Seen(), Seen()
    async with AsyncChat(model, **options) as chat:
        with _kept(seen), anyio.move_on_after(LEFT_AFTER if "cancel" in fault.caller else None):
            if fault.streamed:
                await _streamed_in_a_loop(chat, fault, seen)
            else:
                seen.text = (await chat.ask("Hi")).text
        await anyio.sleep(fault.pause)
        with _kept(then):
            then.text = (await chat.ask(NEXT, retry=_again(chat), timeouts=FAR)).text
    return seen, then


async def _in_bulk(model: str, options: dict[str, Any], other: Any) -> tuple[Seen, Seen]:
    """Two rows of one run. If the first one ends it, the second is that of a run of its own."""
    found, written = await rows(model, ("Hi", NEXT), options)
    if "all" in found:
        again, _ = await rows(model, (NEXT,), {**options, "http": other})
        found = {**again, **found}
    seen, then = (_of_a_row(found.get(each), found.get("all")) for each in ("Hi", NEXT))
    seen.written = written
    return seen, then


def _of_a_row(result: Any, error: BaseException | None) -> Seen:
    if result is None:
        return Seen(error=error)
    return Seen(text=result.reply and result.reply.text, error=result.error)


async def _streamed_in_a_loop(chat: AsyncChat, fault: Fault, seen: Seen) -> None:
    async with chat.stream("Hi") as events:
        async for event in events:
            if isinstance(event, TextDelta):
                seen.pieces += event.text
                if fault.caller == "raise":
                    raise Left
                if fault.caller == "break":
                    return
        seen.text = (await events.reply()).text


@contextmanager
def _kept(seen: Seen) -> Iterator[None]:
    try:
        yield
    except Left:
        pass
    except Exception as error:
        seen.error = error
