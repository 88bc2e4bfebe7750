"""What both clients know about httpx: the request object, what its exceptions mean, proxies, one
TLS context.

The clients talk to a transport (request in, response out). Nothing of httpx reaches the caller:
every exception of its family becomes one of ours, chained, its frames taken off, because they hold
the header with the key (R-28, R-36).
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import AsyncIterator, Generator, Iterator, Mapping
from random import Random
from typing import Any, Generic

import httpx

from wire.core.account import (
    Account,
    answer_account,
    completed,
    keep_account,
    rate_limits,
    request_id,
)
from wire.core.call import Answer, Call, Chunk, Preview, StreamCall
from wire.core.exchange import Failed, Outcome, Pause, Step, exchange
from wire.core.incoming import Incoming
from wire.core.limits import BodyReader
from wire.core.provider import Provider
from wire.core.retry import NONE
from wire.core.secret import Secret
from wire.errors import (
    APIError,
    ConfigurationError,
    ConnectClock,
    ConnectionLost,
    FirstByteClock,
    IdleClock,
    StreamError,
    TotalClock,
    WireError,
)
from wire.http.network import shown_proxy
from wire.http.target import Target

_log = logging.getLogger("wire")

AnyCall = Call[Any] | StreamCall[Any, Any]

DRAIN_SECONDS = 0.1
"""Seconds that the end of a body may take after the wire's terminator, so that the connection can
be used again.
"""

TRANSPORT_ERRORS = (httpx.RequestError, httpx.InvalidURL, httpx.StreamError, OSError, RuntimeError)
"""What a transport raises when a connection does not do what it should; httpcore and anyio raise
RuntimeErrors of their own for a connection that was closed under a reader."""


class Attempt:
    """One call on its way: what both clients ask while they send it.

    It reads the clock, and does no I/O.
    """

    def __init__(self, target: Target, call: AnyCall) -> None:
        self.target = target
        self.call = call
        self.clocks = call.timeouts or target.timeouts
        self.account = Account(sent=len(call.body))
        self._began = time.monotonic()
        self._token: Secret | None = None
        self._head = False
        self._headers: Mapping[str, str] = {}
        self._waited = 0.0  # seconds in reads since the last event
        self._waits: dict[str, float | None] = {}

    def steps(self, dice: Random) -> Generator[Step, Outcome, None]:
        """The attempts and pauses of this call."""
        return exchange(
            self.target.retry if self.call.idempotent else NONE, self.clocks.total, dice
        )

    @property
    def elapsed(self) -> float:
        """Seconds since the call began."""
        return time.monotonic() - self._began

    @property
    def left(self) -> float | None:
        """What is left of the total time."""
        return None if self.clocks.total is None else self.clocks.total - self.elapsed

    @property
    def until_head(self) -> float | None:
        """How long an attempt may take until the head of its answer."""
        return _least(self.clocks.first_byte, self.left)

    @property
    def until_event(self) -> float | None:
        """How long the next read may take, `None` if the transport's own time-out sees to it.

        Bytes that complete no event (comments, a slow drip) reset the time-out of the socket, and
        must not reset this one. An event that merely came in two packets is no drip: a clock of our
        own costs as much as the read.
        """
        if self._waited < 0.25 and self.clocks.total is None:
            return None
        return _least(self.clocks.idle and self.clocks.idle - self._waited, self.left)

    def read(self, incoming: Incoming[Any, Any], data: bytes | None, began: float) -> None:
        """A read that began at `began` gave `data`, or the end of the body."""
        now = time.monotonic()
        if data is None:
            incoming.end()
        elif incoming.feed(data):
            self._waited = 0.0
            if self.account.first_event is None:
                self.account.first_event = now - self._began
            if self.clocks.total is None and not incoming.over:
                return  # as nearly always
        else:
            # Time in reads only: how long the caller thinks between two of them is not the server's
            # silence.
            self._waited += now - began
        idle = self.clocks.idle is not None and self._waited >= self.clocks.idle
        if not incoming.over and (idle or (self.left is not None and self.left <= 0)):
            incoming.lost(self.lost(TimeoutError()))
        if incoming.over:
            self.account.seconds = now - self._began

    def request(self, token: Secret | None) -> httpx.Request:
        """The request of the next attempt."""
        self._head, self._token = False, token
        self.account.attempts += 1
        first_byte = self.until_head
        self._waits = {
            "connect": _least(self.clocks.connect, self.left),
            "read": first_byte,
            "write": first_byte,
            "pool": self.left,
        }
        try:
            made = httpx.Request(
                self.call.method,
                self.target.url(self.call),
                headers=self.target.send_headers(self.call, token),
                content=self.call.body,
                extensions={"timeout": self._waits},
            )
            made.stream = _Body(self.call.body)
            return made
        except Exception as cause:  # of whatever kind: the frames that it passed hold the key
            problem = f"call: httpx cannot make a request of it: {type(cause).__name__}"
        raise ConfigurationError(problem, provider=self.target.provider.name)

    def head(self, response: httpx.Response) -> bool:
        """The head of an answer is there; True if it is a good one."""
        self._head, self._headers = True, response.headers
        self.account.status = response.status_code
        self.account.first_byte = self.elapsed
        self.account.request_id = request_id(response.headers)
        self.account.rate_limits = rate_limits(response.headers)
        # From here on a read may take the idle time: httpcore looks it up when it begins with the
        # body.
        self._waits["read"] = _least(self.clocks.idle, self.left)
        return 200 <= response.status_code < 300

    def incoming(self, response: httpx.Response) -> Incoming[Any, Any]:
        """The state of the stream that begins with this head."""
        assert isinstance(self.call, StreamCall)
        return Incoming(
            self.call, self._encoding(response), self.target.limits, self.account, self._masked
        )

    def body_reader(self, response: httpx.Response, *, error: bool) -> BodyReader:
        """The collector of the body that begins with this head; of an error body the beginning is
        enough.
        """
        limits = self.target.limits
        return BodyReader(
            self._encoding(response), limits.error_body if error else limits.body, limits, cut=error
        )

    def _encoding(self, response: httpx.Response) -> str:
        return str(response.headers.get("content-encoding", ""))

    def refused(self, response: httpx.Response, body: bytes) -> WireError:
        """What an answer of another status than 2xx means."""
        if 300 <= response.status_code < 400:
            where = response.headers.get("location", "nowhere")
            return APIError(
                f"redirects are not followed, this one is to {where}",
                status=response.status_code,
                raw=body,
            )
        error = self.call.read_error(response.status_code, response.headers, body)
        return completed(error, response.headers, time.time())

    def lost(self, cause: BaseException) -> WireError:
        """What an exception of the transport means.

        The exception stands in its chain without frames (R-28).
        """
        clocks, late = self.clocks, isinstance(cause, (httpx.TimeoutException, TimeoutError))
        error: WireError
        if late and self.left is not None and self.left <= 0.01:
            error = TotalClock(f"the call took longer than {_shown(clocks.total)}")
        elif isinstance(cause, (httpx.ConnectTimeout, httpx.PoolTimeout)):
            error = ConnectClock(f"no connection within {_shown(clocks.connect)}", retryable=True)
        elif late and self._head:
            error = IdleClock(f"no event within {_shown(clocks.idle)}", retryable=True)
        elif late:
            error = FirstByteClock(f"no answer within {_shown(clocks.first_byte)}", retryable=True)
        else:
            what = "the answer broke off" if self._head else "no answer"
            error = ConnectionLost(f"{what}: {type(cause).__name__}: {cause}", retryable=True)
        error.__cause__ = _frameless(cause)
        return error

    def answer(self, body: bytes) -> Any:
        """The answer that a whole body is, with the account beside it."""
        assert isinstance(self.call, Call)
        answer = self.call.parse(body)
        if self.call.read_headers is not None:
            answer = self.call.read_headers(answer, self._headers)
        self.account.seconds, self.account.received = self.elapsed, len(body)
        keep_account(answer, self.account)
        return answer

    def failed(self, error: WireError) -> Failed:
        """What to tell the exchange about an error."""
        error.request_id = error.request_id or self.account.request_id
        _log.info("attempt %d failed: %s", self.account.attempts, self._masked(error))
        return Failed(error, self.elapsed)

    def _masked(self, error: WireError) -> WireError:
        if self._token is not None:
            self._token.mask(error)
        return self.target.masked(error)

    def paused(self, step: Step) -> float:
        """How long to sleep before the next attempt."""
        seconds = step.seconds if isinstance(step, Pause) else 0.0
        self.account.waits.append(seconds)
        _log.info("the next attempt in %.2f s", seconds)
        return seconds


class StreamState(Generic[Chunk, Answer]):
    """What a stream is in every style: a call on its way, and what has come of it."""

    def __init__(self, attempt: Attempt, incoming: Incoming[Chunk, Answer]) -> None:
        self._attempt, self._incoming = attempt, incoming
        self._one_reader = _OneReader()

    def partial(self) -> Answer:
        """The answer so far, folded anew each time.

        Nothing is read, and being early is no error. `wire.notes` of an answer that is not whole
        has `wire.core.memory.PARTIAL`.
        """
        return self._incoming.partial()

    @property
    def account(self) -> Account:
        """What the call has cost so far."""
        return self._incoming.account


class _OneReader:
    """Lets one thread or task read a stream at a time.

    Without it a second one would fail inside the transport, and end the stream of the first.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            raise StreamError("the stream is being read by another thread or task")

    def __exit__(self, *_: object) -> None:
        self._lock.release()


class ClientState:
    """What a client is in every style: a target, and the transport to it."""

    _http: Any

    def __init__(self, target: Target) -> None:
        self._target = target

    @property
    def provider(self) -> str:
        """The name of who is asked, with its region: `kimi@cn`."""
        return self._target.provider.name

    @property
    def row(self) -> Provider:
        """The row of the provider that calls go to, with the options of this client."""
        return self._target.provider

    @property
    def wire(self) -> str:
        """The wire that calls for it must speak: `gemini`, `openai`."""
        return self._target.provider.wire

    @property
    def dialect(self) -> Any:
        """What this provider does differently: the `Dialect` of its wire."""
        return self._target.provider.dialect

    @property
    def key_variable(self) -> str:
        """The environment variable that is asked for a key."""
        return self._target.provider.key_variable

    def require_key(self) -> None:
        """Raise `ConfigurationError`, which names the variable, if there is no key for calls to be
        sent with.
        """
        self._target.require_key()

    def preview(self, call: AnyCall) -> Preview:
        """What would be sent, as a value; needs no key, shows none, sends nothing."""
        return self._target.preview(call)

    def account(self, answer: object) -> Account | None:
        """What a received answer has cost: attempts, waits, bytes, times, request id, rate
        limits.
        """
        return answer_account(answer)

    def describe(self) -> dict[str, Any]:
        """Settings, the transport and the proxy in use, without keys."""
        return {
            **self._target.describe(),
            "http": type(self._http).__name__,
            "proxy": shown_proxy(self._target),
        }


class _Body(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A request body. httpx's own is an async generator, and one that a cancelled send leaves
    behind is a warning on trio.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __iter__(self) -> Iterator[bytes]:
        return iter((self._data,))

    def __aiter__(self) -> AsyncIterator[bytes]:
        return _Once(self._data)


class _Once:
    def __init__(self, data: bytes) -> None:
        self._left = [data]

    def __aiter__(self) -> _Once:
        return self

    async def __anext__(self) -> bytes:
        if not self._left:
            raise StopAsyncIteration
        return self._left.pop()


def _least(*seconds: float | None) -> float | None:
    """The shortest of several times, `None` meaning no limit."""
    given = [each for each in seconds if each is not None]
    return max(0.001, min(given)) if given else None


def _shown(seconds: float | None) -> str:
    return "the time of the transport" if seconds is None else f"{seconds:g} s"


def _frameless(cause: BaseException) -> BaseException:
    """The exception and those it came from, without their frames."""
    todo: list[BaseException | None] = [cause]
    seen: set[int] = set()
    while todo:
        each = todo.pop()
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            each.__traceback__ = None
            todo += [each.__cause__, each.__context__]
    return cause
