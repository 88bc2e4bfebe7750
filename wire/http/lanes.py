"""A connection pool for threads: an httpx transport made of lanes.

`async_lanes.py` has the one for asyncio and trio. It has a module of its own because a program with
threads needs neither asyncio nor anyio, and loading them takes time.

A lane has one connection and sends one request at a time. It is an httpx transport with room for
one connection (`wire.http.httpx_lane`), or a socket (`wire.http.direct`). httpx's own pool loses
connection slots (`wire.http.pools`), and its work grows with about the cube of the number of
streams. Here httpx never has to search a pool.

All lanes have `send`, `is_reusable`, `is_clean`, `was_closed`, `socket` and `cut_off`, and `close`
or `aclose`.

A lane is in one of three states:

    idle     in the stack of its origin, no limiter slot taken
    busy     leased to one response body, one limiter slot taken
    dropped  closed, its slot released

    idle -> busy     a call takes the lane, or opens a new one
    busy -> idle     the body was read to the end and its close returned normally
    busy -> dropped  anything else: an error, a cancellation, a body that was left early

Invariants (R-21, R-25):

- The number of taken slots is the number of busy lanes and of calls that are opening one. A slot
  that is released twice would exceed the limit; one that is never released would block a later
  call forever.
- A lane whose body has unread bytes is never idle. The next call on it would read them as the
  beginning of its own response.
- A lane is taken again only if nothing has arrived since its last response: neither bytes, which
  would be read as the next response, nor the end of the connection.
- `anyio.CancelScope(shield=True)` does not stop a native `task.cancel()`. Therefore nothing is
  awaited between the end of the body's close and the return of the lane, and the slot is released
  before anything that can be cancelled.

A server may close an idle connection at the same moment as a call is sent on it. If such a call
gets no byte of a response, it is sent once more, at once and on a new connection. This does not
count as an attempt of `Retry`. It is done only for a call that may be sent twice
(`Call.idempotent`).

A connection belongs to the process that opened it, and to its event loop (R-24, R-42):

- A forked child inherits the parent's sockets. If both used one, each would read responses to the
  other. The child therefore drops all lanes, and starts with new locks and a new limiter.
- A second event loop cannot use a socket that is registered with the first. Each loop therefore has
  lanes and a limiter of its own, and closes its lanes when it ends.
"""

from __future__ import annotations

import importlib.util
import math
import queue
import ssl
import threading
import time
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

import httpx

from wire.core.arguments import whole_number
from wire.core.errors import ConfigurationError
from wire.core.forks import at_fork
from wire.core.secret import quoted
from wire.http.httpx_lane import HttpxLane
from wire.http.network import (
    is_patched,
    proxy_for,
    proxy_option,
    shown_proxy,
    tls,
)
from wire.http.prepared import Origin, request_origin
from wire.http.sockets import shut_down
from wire.http.watchdog import ATTEMPT, UPGRADE, await_signal

if TYPE_CHECKING:
    from wire.core import hosts
    from wire.http.direct import DirectLane, DirectLaneState
    from wire.http.httpx_lane import HttpxLaneState

    Lane = HttpxLane | DirectLane

AnyLane = TypeVar("AnyLane", bound="HttpxLaneState | DirectLaneState")

MAX_LANES = 1000
"""Default for busy lanes, for all origins together."""
MAX_IDLE_LANES = 100
"""Default for idle lanes of one origin."""
_KEPT_SECONDS = 60.0
"""Seconds for which an idle lane is kept."""
BROKEN = (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError)
"""Exceptions of httpx for a connection that the server has closed."""


def client_closed() -> ConfigurationError:
    """Build the error of a request after `close`."""
    return ConfigurationError("the client is closed")


Connections = Literal["auto", "direct", "httpx"]
"""Kind of connections of lanes: `direct` (`wire.http.direct`), `httpx`, or `auto`, which is direct
where possible and httpx elsewhere."""


_CONNECTIONS = ("auto", "direct", "httpx")


def _check_options(limit: int, keep: int, connections: str) -> None:
    whole_number("limit", limit, least=1, error=ConfigurationError)
    whole_number("keep", keep, least=0, error=ConfigurationError)
    if not isinstance(connections, str) or connections not in _CONNECTIONS:
        raise ConfigurationError(
            f"connections: expected 'auto', 'direct' or 'httpx', not {quoted(connections)}"
        )


def _direct_problem(proxy: str | None, on_trio: bool) -> str:
    """Return why a direct lane is not possible, as one sentence; empty if it is."""
    try:
        importlib.util.find_spec("wire.http.direct")
    except ImportError:
        return "the interpreter ends, and imports nothing more"
    if on_trio:
        return "it runs on asyncio and in threads, not on trio"
    if proxy is not None:
        return "it uses no proxy, and the environment names one for this host"
    return ""


def may_send_again(request: httpx.Request) -> bool:
    """Return whether a request that reached no server may be sent on another lane."""
    clocks = request.extensions.get(ATTEMPT)
    return clocks is not None and clocks.watch.repeatable and not clocks.watch.fired


def seconds_for_a_lane(request: httpx.Request) -> float | None:
    """Return how long a request may wait for a lane: until the deadline of its attempt.

    A request of another client has the timeout of httpx's pool. `None`: not limited.
    """
    clocks = request.extensions.get(ATTEMPT)
    if clocks is None:
        pool: float | None = request.extensions.get("timeout", {}).get("pool")
        return pool
    left: float = clocks.until_deadline
    return left


class LanesState(Generic[AnyLane]):
    """The part of a connection pool that the one for threads and the async one share."""

    trust_env: bool
    """Whether the proxies and certificates of the environment are used."""

    connections: Connections
    """The kind of connections of new lanes."""

    def __init__(
        self,
        limit: int = MAX_LANES,
        keep: int = MAX_IDLE_LANES,
        *,
        trust_env: bool = True,
        connections: Connections = "auto",
    ) -> None:
        _check_options(limit, keep, connections)
        self._limit, self._keep, self.trust_env = limit, keep, trust_env
        self.connections = connections
        self._closed = False
        self._reset()
        at_fork(self, lambda lanes: lanes._forked())

    def _reset(self) -> None:
        """Set the state of a process that has no connection yet."""
        self._sessions: dict[Origin, ssl.SSLSession] = {}

    def _connections_to(self, origin: Origin) -> str:
        """Return the connection kind of a new lane to an origin: `direct` or `httpx`."""
        if self.connections != "auto":
            return self.connections
        return "direct" if self._is_direct(proxy_for(*origin, self.trust_env)) else "httpx"

    def _described(self, origin: hosts.Origin) -> dict[str, str | None]:
        """Describe the kind of connections to an origin, their proxy, and what is verified."""
        parts = origin.scheme, origin.host, origin.port
        return {
            "connections": self._connections_to(parts),
            "proxy": shown_proxy(origin, self.trust_env),
            "certificates": "verified" if origin.scheme == "https" else "none: plain http",
        }

    def _is_direct(self, proxy: str | None, *, upgrades: bool = False) -> bool:
        """Return whether a new lane connects directly.

        Raises `ConfigurationError` if the option requires it and it is not possible.
        """
        if self.connections == "httpx" or upgrades:
            return False
        problem = _direct_problem(proxy, self._is_on_trio())
        if problem and self.connections == "direct":
            raise ConfigurationError(f"connections='direct': {problem}")
        return not problem and not (self.connections == "auto" and is_patched())

    def _is_on_trio(self) -> bool:
        """Return whether the running event loop is trio's."""
        return False

    def _open(self, origin: Origin, *, upgrades: bool = False) -> AnyLane:
        """Make a new lane of this pool's style.

        It connects when it sends its first request. One that `upgrades` can become a WebSocket.
        """
        env = self.trust_env
        proxy = proxy_for(*origin, env)
        if self._is_direct(proxy, upgrades=upgrades):
            context = tls("https", env) if origin[0] == "https" else None
            return self._direct_lane()(origin, context, self._sessions)
        return self._httpx_lane(tls(origin[0], env), proxy_option(proxy, env))

    _httpx_lane: Callable[[ssl.SSLContext, httpx.Proxy | None], AnyLane]
    """The class of lanes of httpx."""

    def _direct_lane(self) -> Callable[..., AnyLane]:
        """Return the class of direct lanes, whose module is loaded when it is used."""
        raise NotImplementedError

    def _is_kept(self, lane: AnyLane) -> bool:
        """Return whether an idle lane may send another request (R-25, R-26)."""
        if time.monotonic() - lane.idle_since >= _KEPT_SECONDS or not lane.is_clean():
            return False
        return not (lane.is_direct and self.connections == "auto" and is_patched())

    def _forked(self) -> None:
        """Leave all connections to the parent."""
        raise NotImplementedError


class _Place:
    """A place among the busy lanes, or in the queue for one; it ends when nothing refers to it."""

    __slots__ = ("__weakref__",)


class _Turn(weakref.ref[_Place]):
    """A place in the queue; `over` has something when the place has ended."""

    __slots__ = ("over",)

    over: queue.SimpleQueue[Any]


class _Slots:
    """The limiter for threads: first come, first served.

    Without a queue, the thread that releases a slot takes it again before one that waits for it has
    woken up, call after call.

    A KeyboardInterrupt may arrive between any two lines, also between taking a place and storing it
    (R-43). Therefore a place is taken as long as its object lives. What happens at its end are
    functions of C, as an interrupt in a `__del__` would be lost and the place with it. The newest
    runs first: the place is free before the next thread is woken.

    The first in the queue waits for a release, each other one for the end of the place before it,
    whether that got a slot or gave up.
    """

    def __init__(self, limit: int) -> None:
        self._limit, self._lock = limit, threading.Lock()
        self._taken: dict[weakref.ref[_Place], weakref.ref[_Place]] = {}
        self._queue: dict[_Turn, weakref.ref[_Place]] = {}
        self._released: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def take(self, timeout: float | None) -> _Place | None:
        """Wait for a slot; `None` after the timeout."""
        ends = math.inf if timeout is None else time.monotonic() + timeout
        slot = place = turn = None
        try:
            while True:
                with self._lock:
                    before = list(self._queue)  # copied, as a place may end at any moment
                    if turn is not None:
                        del before[before.index(turn) :]
                    if not before and len(self._taken) < self._limit:
                        slot = _Place()
                        wake = weakref.ref(slot, self._released.put)
                        self._taken[weakref.ref(slot, self._taken.pop)] = wake
                        if not self._released.empty():
                            self._released.get_nowait()  # a release that no thread waited for
                    elif turn is None:
                        place, over = _Place(), queue.SimpleQueue[Any]()
                        wake = weakref.ref(place, over.put)
                        turn = _Turn(place, self._queue.pop)
                        turn.over, self._queue[turn] = over, wake
                left = ends - time.monotonic()
                if slot is not None or left <= 0:
                    return slot
                await_signal(before[-1].over if before else self._released, min(left, 1.0))
        finally:
            slot = place = None  # a traceback that keeps this frame would keep them


class Lanes(LanesState["Lane"], httpx.BaseTransport):
    """The connection pool for threads, an httpx transport.

    >>> from wire import Client
    >>> with Client("gemini", api_key="fake-key", http=Lanes(limit=20)) as client:
    ...     client.describe()["http"]
    'Lanes'

    At most `limit` connections are busy at a time. Further calls wait, first come, first served,
    within the time to their first byte. At most `keep` idle connections are kept for each origin.
    `trust_env=False` ignores the proxies and TLS settings of the environment. Requests to this
    machine never use a proxy.

    `connections="direct"` connects without httpx, which costs a third of the CPU; `"httpx"`
    connects with it. `"auto"` is direct where no proxy applies, and no test library such as respx
    has replaced a part of httpx.

    Raises `ConfigurationError` for a request after `close`, `httpx.PoolTimeout` if no connection is
    free within the pool timeout.
    """

    _httpx_lane = HttpxLane

    def _direct_lane(self) -> type[DirectLane]:
        from wire.http.direct import DirectLane

        return DirectLane

    def _reset(self) -> None:
        super()._reset()
        self._slots, self._lock = _Slots(self._limit), threading.Lock()
        self._idle: defaultdict[Origin, list[Lane]] = defaultdict(list)
        self._busy: dict[weakref.ref[_Leased], None] = {}

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send on a lane of the request's origin; the lane is held until the response is closed."""
        origin = request_origin(request)
        slot = lane = None
        try:
            slot = self._slots.take(seconds_for_a_lane(request))
            if slot is None:
                raise httpx.PoolTimeout("no free lane", request=request)
            lane = self._take(origin, upgrades=UPGRADE in request.extensions)
            try:
                response = lane.send(request)
            except BROKEN:
                if not (lane.was_closed() and may_send_again(request)):
                    raise
                lane.close()
                lane = self._open(origin)
                response = lane.send(request)
            leased = _Leased(response, self, origin, lane, slot)
            self._busy[weakref.ref(leased, self._busy.pop)] = None
        except BaseException:
            if lane is not None:
                lane.close()
            raise
        finally:
            slot = None  # a traceback that keeps this frame would keep it
        response.stream = leased
        return response

    def _take(self, origin: Origin, *, upgrades: bool) -> Lane:
        while True:
            with self._lock:
                if self._closed:
                    raise client_closed()
                idle = self._idle[origin]
                lane = idle.pop() if idle and not upgrades else None
            if lane is None:
                return self._open(origin, upgrades=upgrades)
            if self._is_kept(lane):
                return lane
            lane.close()

    def _take_back(self, leased: _Leased, clean: bool) -> bool:
        """Return True if the lane was kept."""
        self._busy.pop(weakref.ref(leased), None)
        with self._lock:
            idle = self._idle[leased.origin]
            kept = clean and not self._closed and len(idle) < self._keep
            kept = kept and leased.lane.is_reusable()
            if kept:
                leased.lane.idle_since = time.monotonic()
                idle.append(leased.lane)
        return kept

    def close(self) -> None:
        """Close idle lanes, and shut busy ones down, which wakes their readers with an error."""
        with self._lock:
            self._closed = True
            idle = [lane for lanes in self._idle.values() for lane in lanes]
            self._idle.clear()
            busy = self._leased()
        for lane in idle:
            lane.close()
        for leased in busy:
            leased.abort()

    def _leased(self) -> list[_Leased]:
        return [leased for each in list(self._busy) if (leased := each()) is not None]

    def _forked(self) -> None:
        """Leave all connections to the parent, whose threads may hold the old locks."""
        for leased in self._leased():
            leased.forget()
        for lanes in self._idle.values():
            for lane in lanes:
                lane.cut_off()
        self._reset()


class _Leased(httpx.SyncByteStream):
    """The body of a response, and the lane it comes on."""

    def __init__(
        self,
        response: httpx.Response,
        lanes: Lanes,
        origin: Origin,
        lane: Lane,
        slot: _Place,
    ) -> None:
        assert isinstance(response.stream, httpx.SyncByteStream)
        self.origin, self.lane = origin, lane
        self.slot: _Place | None = slot
        self._body, self._lanes = response.stream, lanes
        self._whole = self._ended = self._aborted = False

    def __iter__(self) -> Iterator[bytes]:
        yield from self._body
        self._whole = True

    def close(self) -> None:
        if self._ended:
            return
        self._ended, clean = True, False
        try:
            self._body.close()
            clean = self._whole and not self._aborted
        finally:
            try:
                if not self._lanes._take_back(self, clean):
                    self.lane.close()
            finally:
                self.slot = None  # at any interrupt: the caller may keep this object

    def abort(self) -> None:
        """Shut the socket down, which wakes its reader with an error."""
        self._aborted = True
        shut_down(self.lane.socket)

    def forget(self) -> None:
        """Leave the connection to the parent. A further read in this process raises an error."""
        self._ended = True
        self.lane.cut_off()
