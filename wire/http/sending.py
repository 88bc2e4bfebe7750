"""The parts of sending that both clients share: httpx requests, timeouts, errors, client state.

No httpx exception reaches the caller. Each becomes the `__cause__` of a `WireError`, without its
frames, because they hold the header with the key (R-28, R-36).
"""

from __future__ import annotations

import functools
import math
import queue
import ssl
import time
from collections.abc import Generator, Mapping
from random import Random
from typing import TYPE_CHECKING, Any, Generic, Protocol

import httpx
import msgspec

from wire.core.account import Account, Preview
from wire.core.call import Answer, Call, Chunk, SocketCall, StreamCall, Timeouts
from wire.core.errors import (
    APIError,
    ClockError,
    ConfigurationError,
    ConnectClock,
    ConnectionLost,
    FirstByteClock,
    IdleClock,
    LimitError,
    StreamError,
    StreamIncomplete,
    TotalClock,
    WireError,
    class_of_status,
    frameless,
    invalid,
    retryable_status,
)
from wire.core.exchange import (
    Failed,
    Outcome,
    Pause,
    Step,
    completed,
    error_limits,
    exchange,
    request_id,
)
from wire.core.hosts import origin_of
from wire.core.incoming import Incoming
from wire.core.lazy import Foreign
from wire.core.limits import MAX_FRAMING_BYTES, BodyReader, check_headers, check_json
from wire.core.masking import MIN_FRAGMENT, Mask, ResponseHeaders
from wire.core.memory import Note, answer_account, change_notes, keep_account, with_notes
from wire.core.provider import Provider
from wire.core.retry import NONE, Retry, RetryBudgets
from wire.core.secret import Secret
from wire.http.call_logs import BODY_CHARACTERS, CallLog, follow_variable, mask_transport_logs
from wire.http.lanes import LanesState
from wire.http.network import described, shown_proxy
from wire.http.prepared import PreparedRequest, header_texts, kept_url, raw_headers, url_of
from wire.http.target import Calls, Target
from wire.http.watchdog import ATTEMPT, UPGRADE, Watch

if TYPE_CHECKING:
    from wire.around.seam import AroundFunction
    from wire.auth.held import Grant
    from wire.neutral.models import ModelPages

AnyCall = Call[Any] | StreamCall[Any, Any] | SocketCall[Any, Any]

DRAIN_SECONDS = 0.1
"""Seconds to wait for the end of a body after the wire's terminator. A body that was read to its
end leaves the connection reusable."""

TRANSPORT_ERRORS = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError, RuntimeError)
"""Exceptions of a transport for a failed connection. httpcore and anyio raise `RuntimeError` if a
connection is closed during a read."""


BROKE_OFF = Note(
    "usage",
    "an earlier attempt broke off after its answer had begun; the vendor may charge for it, and "
    "usage and cost leave it out",
)


class AttemptListener(Protocol):
    """Receives the events of an attempt; `wire.http.surrounding` has the one for `around=`."""

    def attempts(self, attempt: Attempt, dice: Random) -> Any:
        """Yield the steps of further attempts of a call, for a stream that continues."""

    def head(self, attempt: Attempt, status: int, headers: dict[str, str]) -> None:
        """Handle the arrival of a response's head."""

    def first_event(self, attempt: Attempt) -> None:
        """Handle the arrival of a stream's first event."""

    def stream_ended(self, attempt: Attempt, incoming: Incoming[Any, Any]) -> None:
        """Handle the end of a stream."""

    def session_ended(self, attempt: Attempt, error: WireError | None) -> None:
        """Handle the end of a session."""

    def left(self, attempt: Attempt) -> None:
        """Handle a stream that its caller has left before its end."""


class Attempt:
    """State of one call with all its attempts, shared by both clients. Reads the clock; no I/O."""

    __slots__ = (
        "_began",
        "_connect",
        "_connect_ends",
        "_continues",
        "_ends",
        "_extensions",
        "_first_byte",
        "_head",
        "_head_ends",
        "_headers",
        "_http",
        "_idle",
        "_notes",
        "_opening",
        "_shift",
        "_silent_since",
        "_waits",
        "account",
        "around",
        "call",
        "clocks",
        "grant",
        "half_open",
        "is_for_token",
        "lessons",
        "log",
        "mask",
        "stopped",
        "stops",
        "target",
        "watch",
    )

    def __init__(
        self,
        target: Target,
        call: Calls,
        http: Any = None,
        account: Account | None = None,
        *,
        kind: type | None = None,
        around: AttemptListener | None = None,
    ) -> None:
        """Start a call. With `kind`, the target checks the call; a refusal is logged and raised."""
        self.target = target
        self.log: CallLog = CallLog()
        self.around = around
        if kind is not None:
            try:
                call = target.accept(call, kind)
            except WireError as error:
                if around is None:
                    self.log.refused(target, call, error)
                raise
        self.call: Calls = target.with_id(call)
        self._http = http
        self.grant: Grant | None = None
        """What heads or signs the next request, of a client with credentials."""
        self.is_for_token = False
        """Whether it asks a server of tokens: no cassette has it."""
        self.lessons: list[str] = []
        """What refused attempts have told of their credentials: each counts once."""
        self.clocks: Timeouts = call.timeouts or target.timeouts
        self._continues = account is not None
        self.account: Account = (
            Account(sent=len(call.form or call.body)) if account is None else account
        )
        self.mask: Mask = target.mask.and_also(call.secrets())
        self._began = time.monotonic()
        self._head = False
        self._notes: list[Note] = []
        self._headers: Mapping[str, str] = {}
        self._waits: dict[str, float | None] = {}
        self._extensions: dict[str, Any] = {}
        self._connect = self.clocks.connect or math.inf
        self._first_byte = self.clocks.first_byte or math.inf
        self._idle = self.clocks.idle or math.inf
        self._ends = self._began + (self.clocks.total or math.inf)
        self._shift = 0.0  # seconds that do not count to the total time; negative before the call
        self._head_ends = self._connect_ends = math.inf
        self._opening = False
        self.half_open: Any = None
        """A connection of httpcore that is being opened. A cancelled TLS handshake leaves it open.
        """
        self._silent_since: float | None = None
        self.watch: Watch = Watch(math.inf, math.inf)
        self.stopped: bool = False
        """The caller has closed the stream: no further request is sent."""
        self.stops: queue.SimpleQueue[None] | None = None
        """Gets an item from `stop`; a call that continues a stream waits for it in its pauses."""

    def stop(self) -> None:
        """Wake the thread that reads or continues the stream. Any thread may call it."""
        self.stopped = True
        if self.stops is not None:
            self.stops.put(None)
        self.watch.cut()

    def steps(self, dice: Random, budgets: RetryBudgets) -> Generator[Step, Outcome, None]:
        """Yield the attempts and pauses of this call."""
        policy = self._policy
        host = origin_of(self.call.url).host if self.call.url else self.target.origin.host
        steps = exchange(policy, self.clocks.total, dice, budgets.of(host, policy))
        # A stream that cannot be continued is logged at its own end (`give_up`).
        return self._logged(steps) if self.log.has_calls and not self._continues else steps

    def _logged(self, steps: Generator[Step, Outcome, None]) -> Generator[Step, Outcome, None]:
        """Yield the steps; the error that ends the call is logged."""
        try:
            yield from steps
        except WireError as error:
            self._log_end("failed", error=error)
            raise

    @property
    def _policy(self) -> Retry:
        return (self.call.retry or self.target.retry) if self.call.idempotent else NONE

    @property
    def elapsed(self) -> float:
        """Seconds since the call began."""
        return time.monotonic() - self._began

    @property
    def left(self) -> float | None:
        """Seconds left of the total time; `None`: not limited."""
        total = self.clocks.total
        return None if total is None else total + self._shift - self.elapsed

    def shift(self, seconds: float) -> None:
        """Let the total time end so many seconds later."""
        self._shift += seconds
        self._ends += seconds

    @property
    def until_deadline(self) -> float:
        """Seconds until the deadline of the current wait."""
        return self.watch.deadline - time.monotonic()

    def arm(self, *, event: bool = False) -> None:
        """Set the deadline of the next read. Raises `TimeoutError` if it has passed.

        The idle time runs from the first read after an event. Bytes that complete no event
        (comments, a slow drip) reset the timeout of the socket, but not this one, however fast they
        arrive. The time that the caller takes between an event and the next read does not count.
        With `event`, the last read completed one.
        """
        now = time.monotonic()
        if self._silent_since is None or event:
            self._silent_since = now
        self.watch.deadline = deadline = min(self._silent_since + self._idle, self._ends)
        if deadline <= now:
            raise TimeoutError

    def disarm(self) -> None:
        """Clear the deadline after the last read of a body.

        Raises `TimeoutError` if the watchdog caused the end of the file.
        """
        self.watch.deadline = math.inf
        if self.watch.fired:
            raise TimeoutError

    def read(
        self,
        incoming: Incoming[Any, Any],
        data: bytes | None,
        broken: BaseException | None = None,
    ) -> None:
        """Process the data of a read; `None` is the end of the body.

        `broken` is the exception of a read that failed.
        """
        if broken is not None:
            incoming.lost(self.lost(broken, incoming))
        elif data is None and self.watch.fired:  # the watchdog caused the end of the file
            incoming.lost(self.lost(TimeoutError(), incoming))
        elif data is None:
            incoming.end()
        elif incoming.feed(data):
            self._silent_since = None
            self.watch.deadline = math.inf  # the caller decides when to read next
            if self.account.first_event is None:
                self.account.first_event = self.elapsed
                if self.around is not None:
                    self.around.first_event(self)
        if incoming.over:
            self.watch.deadline = math.inf
            self._ended(incoming)

    def _ended(self, incoming: Incoming[Any, Any]) -> None:
        """Record and log the end of a stream. `failed` logs an error before its first event."""
        self.account.seconds = self.elapsed
        if self.log.has_bodies and incoming.events:
            received = incoming.received(BODY_CHARACTERS)
            self.log.body(self.account.attempts, received, self._whole_mask())
        error = incoming.error
        if error is not None:
            if not incoming.begun:
                return  # an error before the first event is one of the call
            self.log.failure(self.account.attempts, error)
        if self.around is not None:
            self.around.stream_ended(self, incoming)
        elif error is None:
            self._log_end("answered", incoming.folded)
        else:
            self._log_end("failed", error=error)

    def request(self, token: Secret | None) -> httpx.Request:
        """Build the request of the next attempt."""
        if self.stopped:
            raise StreamIncomplete("the stream was closed while it was being continued")
        self._head, self._headers, self._silent_since = False, {}, None
        if token is not None:
            # With the tokens of earlier attempts, which a server may repeat too.
            self.mask = self.mask.and_also((token,))
        self.account.attempts += 1
        self.account.received = 0
        if self.log.has_bodies:
            self.log.request(self.account.attempts, self._preview(), self.mask)
        now = time.monotonic()
        self._head_ends = min(now + self._first_byte, self._ends)
        self._connect_ends = now + self._connect
        self._opening, self.half_open = False, None
        shortest = min(self._connect, self._first_byte, self._idle)
        self.watch = Watch(shortest, self._ends, repeatable=self.call.idempotent)
        self.watch.deadline = self._head_ends
        left = self._ends - now
        first_byte = _wait(min(self._first_byte, left))
        self._waits = {
            "connect": _wait(min(self._connect, self._first_byte, left)),
            "read": first_byte,
            "write": first_byte,
            "pool": first_byte,
        }
        extensions = self._extensions = {"timeout": self._waits, ATTEMPT: self}
        try:
            return _request(
                self.call,
                self.target.url(self.call),
                self.target.send_headers(self.call, token),
                extensions,
                self.grant,
            )
        except WireError:
            raise
        except Exception as cause:  # any kind, because its frames hold the key
            problem = f"call: httpx cannot build a request from it: {type(cause).__name__}"
        raise ConfigurationError(problem, provider=self.target.provider.name)

    def opening(self) -> None:
        """Start the connect time, because a connection is being opened.

        The time covers TCP, a proxy's CONNECT and TLS together.
        """
        self._opening = True
        self._connect_ends = time.monotonic() + self._connect
        self.watch.deadline = min(self._connect_ends, self._head_ends)

    def connected(self, connection: Any) -> None:
        """Let the watchdog shut the connection down, a lane or a network stream of httpcore."""
        self.watch.connection = connection.get_extra_info("socket")
        if self.stopped:
            self.watch.cut()  # `stop` came before it

    def sending(self) -> None:
        """Start the time to the first byte, because the connection is open."""
        self._opening, self.half_open = False, None
        self.watch.deadline = self._head_ends

    def trace(self, name: str, info: Mapping[str, Any]) -> bool:
        """Process an event of httpcore's `trace`; return True if it moved the deadline."""
        kind, _, event = name.partition(".")
        if event == "connect_tcp.started":
            self.opening()
            return True
        if event in ("connect_tcp.complete", "start_tls.complete"):
            self.half_open = info["return_value"]
            self.connected(self.half_open)
        elif event == "send_request_headers.started" and info["request"].method != b"CONNECT":
            self.sending()
            if kind == "http2":
                self.watch.connection = None
            return True
        return False

    def head(self, response: httpx.Response) -> bool:
        """Record the response headers; return True for a 2xx status.

        Raises `LimitError` for headers over the limits, `FirstByteClock` if they came too late.
        """
        if self.watch.clear():
            raise self.lost(TimeoutError())
        check_headers(raw_headers(response), self.target.limits)
        hook = getattr(self.call, "read_headers", None)  # may ask for a name in any case
        self._headers = header_texts(response) if hook is None else response.headers
        self._head = True
        network = response.extensions.get("network_stream")
        if network is None or response.extensions.get("http_version") == b"HTTP/2":
            self.watch.connection = None  # other calls use the same connection of HTTP/2
        else:
            self.connected(network)
        self.account.status = response.status_code
        self.account.first_byte = self.elapsed
        reason = response.extensions.get("reason_phrase", b"")
        if len(reason) >= MIN_FRAGMENT:
            # `repr(response)` shows it, and tracebacks show the response.
            response.extensions["reason_phrase"] = self.mask.value(reason)
        id = request_id(self._headers)
        self.account.request_id = id and self.mask.text(id)
        self.account.received_at = time.time()
        self.account.error_limits = ()
        # A reply that is kept must not keep a token of this call alive.
        at_once = self.mask is not self.target.mask
        shown = ResponseHeaders(self._headers, self.mask, at_once=at_once)
        self.account.response_headers = shown
        if self.log.has_bodies:
            self.log.head(self.account, shown)
        if self.around is not None:
            self.around.head(self, response.status_code, dict(shown))
        # httpcore reads this entry again before the body, so the idle time holds from here.
        self._waits["read"] = _wait(min(self._idle, self._ends - time.monotonic()))
        # Not by a function, which would be one more call for each answer.
        return 200 <= response.status_code < 300 or (
            response.status_code == 101 and UPGRADE in self._extensions
        )

    @property
    def _is_answer(self) -> bool:
        """Whether the headers of this attempt have arrived, with a 2xx status."""
        return self._head and 200 <= (self.account.status or 0) < 300

    @property
    def _encoding(self) -> str:
        return self._headers.get("content-encoding", "")

    def incoming(self) -> Incoming[Any, Any]:
        """Create the state of the stream with the response headers."""
        assert isinstance(self.call, StreamCall)
        return Incoming(
            self.call,
            self._encoding,
            self.target.limits,
            self.account,
            self.masked,
            self._policy.attempts - 1,
            self._notes,
        )

    def resumed(self, call: StreamCall[Any, Any], *, broke_off: bool) -> Attempt:
        """Create the state of the call that continues the stream of this attempt.

        After a break, both calls share one total time; a further request has its own.
        """
        own = msgspec.structs.replace(self.clocks, total=self.left) if broke_off else call.timeouts
        call = msgspec.structs.replace(call, timeouts=own, retry=self.call.retry)
        resumed = Attempt(self.target, call, self._http, self.account, around=self.around)
        resumed.log = self.log
        return resumed

    def give_up(self, incoming: Incoming[Any, Any], error: WireError) -> None:
        """End a stream that could not be continued."""
        incoming.give_up(error)
        self._ended(incoming)

    def reopen(self, incoming: Incoming[Any, Any]) -> None:
        """Continue a stream with the body of this attempt."""
        incoming.reopen(self._encoding)

    def body_reader(self, *, error: bool) -> BodyReader:
        """Create the reader of the body with the response headers.

        An error body is cut at its limit.
        """
        limits = self.target.limits
        return BodyReader(
            self._encoding, limits.error_body if error else limits.body, limits, cut=error
        )

    def refused(self, response: httpx.Response, body: bytes) -> WireError:
        """Map a response with a status other than 2xx to an error."""
        self.account.received = len(body)
        if 300 <= response.status_code < 400:
            from wire.core.response_headers import shown_location  # only few servers redirect

            location = shown_location(response.headers.get("location", "no location"))
            return APIError(
                f"redirects are not followed; this one is to {location}",
                status=response.status_code,
                raw=body,
            )
        try:
            error: WireError = self.call.read_error(response.status_code, response.headers, body)
            return completed(error, response.headers, time.time())
        except Exception as cause:
            status = response.status_code  # this error counts, whatever the body holds
            error = class_of_status(status)(
                f"the error body cannot be decoded: {type(cause).__name__}",
                status=status,
                retryable=retryable_status(status),
                raw=body,
            )
            error.__cause__ = frameless(cause)
            return error

    def lost(
        self, cause: BaseException, received: Incoming[Any, Any] | BodyReader | None = None
    ) -> WireError:
        """Map an exception of the transport to an error; it becomes the `__cause__` (R-28)."""
        error: WireError
        host = self._host()
        if isinstance(received, BodyReader) and self._is_answer:
            self.account.received = received.taken
        if self.watch.fired or isinstance(cause, (httpx.TimeoutException, TimeoutError)):
            error = self._late(cause, received)
        elif isinstance(cause, httpx.HTTPStatusError):  # from a hook that calls `raise_for_status`
            status = cause.response.status_code
            error = class_of_status(status)(
                "a hook of http= raised HTTPStatusError before the body was read",
                status=status,
                retryable=retryable_status(status),
            )
        elif _is_over_framing(cause):
            what = "a line of the body's framing" if self._head else "the response head"
            error = LimitError(
                f"{what} is larger than the {MAX_FRAMING_BYTES} bytes that are buffered"
            )
        elif _is_untrusted(cause):
            error = ConnectionLost(f"{host}: the server's certificate is not trusted: {cause}")
        else:
            problem = (
                f"the response from {host} broke off" if self._head else f"no response from {host}"
            )
            error = ConnectionLost(f"{problem}: {type(cause).__name__}: {cause}", retryable=True)
        error.__cause__ = frameless(cause)
        return error

    def _late(
        self, cause: BaseException, received: Incoming[Any, Any] | BodyReader | None
    ) -> ClockError:
        """Build the error of the clock that has run out. It reports what was received (R-14)."""
        clocks, host = self.clocks, self._host()
        arrived = _arrived(received) if self._head else "nothing was received"
        if self.left is not None and self.left <= 0.01:
            problem = f"{over_clock('total', clocks.total)}: the call to {host} is not complete"
            return TotalClock(f"{problem}; {arrived}")
        connecting = self._opening or isinstance(cause, httpx.ConnectTimeout)
        if connecting and self._connect_ends <= self._head_ends:
            problem = f"{over_clock('connect', clocks.connect)}: no connection to {host}"
            return ConnectClock(problem, retryable=True)
        if self._head:
            kind = "event" if isinstance(received, Incoming) else "data"
            problem = f"{over_clock('idle', clocks.idle)}: no further {kind} from {host}; {arrived}"
            return IdleClock(problem, retryable=True)
        waits = f"no connection to {host}" if connecting else f"no response from {host}"
        if isinstance(cause, httpx.PoolTimeout):
            waits = f"no free connection to {host}"
        problem = f"{over_clock('first_byte', clocks.first_byte)}: {waits}; {arrived}"
        return FirstByteClock(problem, retryable=True)

    def answer(self, body: bytes) -> Any:
        """Decode a complete body and attach the account.

        Raises the error in the body, and `StreamInvalid` for any other exception of decoding.
        """
        assert isinstance(self.call, Call)
        self.account.received = len(body)
        try:
            if not self.call.any_content and self.call.parse is not bytes:
                check_json(body, self.target.limits)
            answer = self.call.parse(body)
            if self.call.read_headers is not None:
                answer = self.call.read_headers(answer, self._headers)
        except WireError:
            raise
        except Exception as cause:
            raise invalid(cause, body) from cause
        self.account.seconds = self.elapsed
        keep_account(answer, self.account)
        if self._notes and getattr(answer, "usage", None) is not None:
            with_notes(answer, self._notes)
        self.masked(answer)
        if self.log.has_bodies:
            self.log.body(self.account.attempts, body, self._whole_mask())
        self._log_end("answered", answer)
        return answer

    def _log_end(self, outcome: str, answer: Any = None, error: WireError | None = None) -> None:
        """Log the end of a call; with `around=`, its functions may still change it."""
        if self.around is None and self.log.has_calls:
            self.log_end(outcome, answer, error)

    def log_end(self, outcome: str, answer: Any = None, error: WireError | None = None) -> None:
        """Log the end of a call. `answer` is the result that the server sent."""
        preview, provider = self._preview(), self.target.provider.name
        self.log.ended(provider, preview, self.account, outcome, answer, error)

    def failed(self, error: WireError) -> Failed:
        """Return the outcome of this attempt for `exchange`."""
        self.account.seconds = self.elapsed
        # An error in a body with a good status is none that a vendor charges for.
        if self._is_answer and self.account.received and not isinstance(error, APIError):
            self._notes.append(BROKE_OFF)
        error.retryable = error.retryable and not self.stopped
        error.request_id = error.request_id or self.account.request_id
        self.masked(error)
        if self.log.has_bodies and error.raw:
            self.log.body(self.account.attempts, error.raw, self._whole_mask())
        self.log.failure(self.account.attempts, error)
        elapsed = self.account.seconds - self._shift
        return Failed(error, elapsed, self._amend(error), self._learns(error))

    def _learns(self, error: WireError) -> bool:
        """Return whether the attempt is repeated, since its credentials are corrected now."""
        if self.grant is None or not self._head or self.stopped:
            return False
        lesson = self.grant.learns(error, self._headers)
        if not lesson or lesson in self.lessons:
            return False
        self.lessons.append(lesson)
        return True

    def granted(self, grant: Grant) -> None:
        """Head or sign the next request with these credentials."""
        self.grant = grant
        self.mask = self.mask.and_also(grant.ready._secrets())

    def _amend(self, error: WireError) -> bool:
        """Replace the call by the result of `Call.amend`; return whether there was one."""
        amended = self.call.amend(self.call, error) if self.call.amend is not None else None
        if amended is None:
            return False
        self.change(msgspec.structs.replace(amended, amend=None))
        return True

    def change(self, call: Calls) -> None:
        """Send another call from the next attempt on."""
        self.call = call
        self.mask = self.mask.and_also(call.secrets())
        self.account.sent = len(call.form or call.body)

    def masked(self, received: Any) -> Any:
        """Mask the keys of this call in an error, or in the notes of an answer; return it.

        An error gets the request, the account and the status of the response that failed, so that
        the failed call can be looked at.
        """
        if isinstance(received, WireError):
            received.provider = received.provider or self.target.provider.name
            if self.account.attempts:
                received.preview, received.account = self._preview(), self.account
                received.response_headers = dict(
                    self.account.response_headers if self._head else {}
                )
                self.account.error_limits = error_limits(received, time.time())
                if self._head and received.status is None:
                    received.status = self.account.status
            self._whole_mask().error(received)
        else:
            change_notes(received, self.mask.value)
        return received

    def _whole_mask(self) -> Mask:
        """Return the mask for shown values, which knows the credentials in the body too."""
        from wire.core.secret_fields import body_secrets

        return self.mask.and_also(body_secrets(self.call.body))

    def _preview(self) -> Preview:
        return self.target.preview(self.call, self.mask)

    def _host(self) -> str:
        """Return the host of the call and its proxy, for the message of an error."""
        origin = origin_of(self.call.url) if self.call.url else self.target.origin
        http = self._http
        proxy = shown_proxy(origin, http.trust_env) if isinstance(http, LanesState) else None
        return f"{origin} through the proxy {proxy}" if proxy else str(origin)

    def paused(self, step: Step) -> float:
        """Record a pause and return its seconds."""
        seconds = step.seconds if isinstance(step, Pause) else 0.0
        self.account.waits.append(seconds)
        self.log.pause(self.account.attempts, seconds)
        return seconds


class StreamState(Generic[Chunk, Answer]):
    """The part of a stream that the sync and the async one share."""

    __slots__ = ("__weakref__", "_attempt", "_closed", "_incoming")

    def __init__(self, attempt: Attempt, incoming: Incoming[Chunk, Answer]) -> None:
        self._attempt, self._incoming = attempt, incoming
        self._closed = False

    def partial(self) -> Answer:
        """Return the result so far, folded anew each time.

        It reads nothing and may be called at any time. `wire.notes` of an incomplete result
        contains `wire.core.memory.PARTIAL`.
        """
        return self._incoming.partial()

    @property
    def account(self) -> Account:
        """The account of the call so far: attempts, waits, bytes, times."""
        return self._incoming.account

    def _leave(self) -> None:
        """End the stream for its caller; log one that had not ended."""
        attempt, early = self._attempt, not self._incoming.over
        self._incoming.abandon()
        if early:
            attempt.account.seconds = attempt.elapsed
            attempt._log_end("left")
            if attempt.around is not None:
                attempt.around.left(attempt)


def second_reader() -> StreamError:
    """Build the error of a second thread or task that reads a stream."""
    return StreamError("the stream is being read by another thread or task")


class ClientState(Foreign):
    """The part of a client that the sync and the async one share."""

    _http: Any
    _dice: Random

    def __init__(self, target: Target) -> None:
        self._around: tuple[AroundFunction, ...] = target.around
        self._target = target
        self._budgets = RetryBudgets()
        self._closed = False
        mask_transport_logs()
        follow_variable()

    def __repr__(self) -> str:
        target: Target | None = getattr(self, "_target", None)
        if target is None:  # a traceback with locals shows a client whose options were refused
            return f"{type(self).__name__}()"
        return f"{type(self).__name__}({target.provider.name!r}, base_url={target.base_url!r})"

    def _model_pages(self) -> ModelPages:
        """Return the list of models, one page after the other."""
        from wire.neutral.models import ModelPages
        from wire.wires.contract import WIRES

        return ModelPages(functools.partial(WIRES[self.wire].models_call, provider=self.row))

    def _require_open(self) -> None:
        # A transport or client of the caller's own may send after it was closed.
        if self._closed:
            raise ConfigurationError("the client is closed")

    @property
    def provider(self) -> str:
        """The name of the provider, with its region: `kimi@cn`."""
        return self._target.provider.name

    @property
    def row(self) -> Provider:
        """The row of the provider, with the options of this client applied."""
        return self._target.provider

    @property
    def retry(self) -> Retry:
        """The retry policy of calls that have none of their own."""
        return self._target.retry

    @property
    def wire(self) -> str:
        """Name of the wire that the provider speaks: `gemini`, `openai`, `anthropic`."""
        return self._target.provider.wire

    @property
    def dialect(self) -> Any:
        """The `Dialect` of its wire: how this provider differs from the vendor's reference."""
        return self._target.provider.dialect

    @property
    def key_variable(self) -> str:
        """The environment variable for the key."""
        return self._target.provider.key_variable

    def require_key(self) -> None:
        """Raise `ConfigurationError`, which names the variable, if a key is needed and missing."""
        self._target.require_key()

    def preview(self, call: Calls) -> Preview:
        """Return the request without sending it. Needs no key and shows none."""
        return self._target.preview(call)

    def account(self, answer: object) -> Account | None:
        """Return the account of a result: attempts, waits, bytes, times, request id, limits."""
        return answer_account(answer)

    def describe(self) -> dict[str, Any]:
        """Describe settings, transport and proxy of this client, without keys."""
        http, origin = self._http, self._target.origin
        return {
            **self._target.describe(),
            "http": type(http).__name__,
            **(http._described(origin) if isinstance(http, LanesState) else described(http)),
        }


def _request(
    call: Calls,
    target: str,
    headers: list[tuple[str, str]],
    extensions: dict[str, Any],
    grant: Grant | None,
) -> PreparedRequest:
    url = url_of(target) if call.url else kept_url(target)
    given = {name.lower() for name, _ in headers}
    added = [] if "host" in given else [("Host", url.netloc)]
    body = call.form or call.body
    if (body or call.method in ("POST", "PUT", "PATCH")) and "content-length" not in given:
        added.append(("Content-Length", str(len(body))))
    if isinstance(call, SocketCall):
        from wire.http.websocket import new_key, upgrade_headers  # few calls open a session

        extensions[UPGRADE] = new_key()
        added += upgrade_headers(extensions[UPGRADE])
    all_headers = [*added, *headers]
    if grant is not None:
        all_headers = grant.headed(call.method.upper(), url.target, all_headers, body)
    return PreparedRequest(call.method, url, all_headers, call.body, extensions, call.form)


def _wait(seconds: float) -> float | None:
    """Convert seconds to a timeout of httpx, whose `None` means no limit."""
    return None if seconds == math.inf else max(0.001, seconds)


def over_clock(clock: str, seconds: float | None) -> str:
    """Return the words for a limit of `Timeouts` that has passed."""
    limit = "the timeout of the transport" if seconds is None else f"{seconds:g} s"
    return f"timeouts.{clock} of {limit} is over"


def _arrived(received: Incoming[Any, Any] | BodyReader | None) -> str:
    if isinstance(received, Incoming):
        return f"received {received.events} events in {received.account.received} bytes"
    return f"received {received.taken if received is not None else 0} bytes of the body"


def _is_over_framing(cause: BaseException | None) -> bool:
    """Return whether a head, or a line of the chunked encoding, exceeded `MAX_FRAMING_BYTES`."""
    while cause is not None:
        # The status with which a server would refuse such a request, as h11 reports it.
        if getattr(cause, "error_status_hint", None) == 431:
            return True
        cause = cause.__cause__ or cause.__context__
    return False


def _is_untrusted(cause: BaseException | None) -> bool:
    """Return whether a certificate did not verify.

    No later attempt gets another certificate.
    """
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError) or "CERTIFICATE_VERIFY" in str(cause):
            return True
        cause = cause.__cause__ or cause.__context__
    return False
