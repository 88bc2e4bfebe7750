"""The seam around a call: generators that see it, and may change, answer, delay or refuse it.

No clock, no I/O. A client with the option `around` runs each of its functions once for each call,
outside the retries. A function gets the call as `Outgoing` and returns a generator, so that it is
written once for threads, asyncio and trio:

>>> def timed(outgoing: Outgoing) -> Around:
...     while True:
...         moment = yield
...         if isinstance(moment, CallEnded):
...             print(outgoing.model, moment.account.status, moment.account.attempts)
>>> from wire import Chat
>>> from wire.testing.emulator import Emulator, EmulatorTransport
>>> http = EmulatorTransport(Emulator([{"say": "Hello."}]))
>>> with Chat("gemini:gemini-3.8-flash", api_key="fake-key", http=http, around=timed) as chat:
...     text = chat.ask("Hi").text
gemini-3.8-flash 200 1

A bare `yield` continues the call and returns its next moment. What else a generator may yield, and
where:

                        before the first    AttemptStarted    AttemptRefused, AttemptFailed,
                        bare yield                            CallFailed, CallEnded of a plain call
    Pause, Wait, Call   yes                 yes               yes
    Change              the call            this attempt      no
    Again               no                  no                AttemptRefused
    Give                yes                 no                CallFailed, CallEnded

`Pause` and `Wait` delay the call, and their `yield` returns `None`. A `Call` is sent by the same
client without its `around`; its `yield` returns the result or raises the error. After any other
moment only a bare `yield` is possible: the bytes of the response are being read. Delays before the
call and between its attempts count to its total time.

A `WireError` that a generator raises refuses the call, or replaces its error; after
`AttemptStarted`, `HeadReceived` and `FirstEvent` it fails the attempt. A generator that returns
hears no more of the call. A generator that is left at a `yield` when the call is over, or when it
is cancelled, is closed: `finally` in it always runs.

A session over a WebSocket (`client.connect`) is one call, from its opening to its end: the moments
of the opening are the same, `FirstEvent` is its first message, and `CallEnded` without a result, or
`CallFailed`, its end, whoever ended it. It cannot be given, and its messages are not seen; its
account counts them. A thread that listens reports its first message, and the one that leaves its
end.

Several functions nest. The first is the outermost: it runs first before the call and on
`AttemptStarted`, and last on every other moment. An outer one sees what an inner one changed.
"""

from __future__ import annotations

import inspect
import math
import threading
from collections.abc import Callable, Generator, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec

from wire.core.account import Account, Preview
from wire.core.call import Call, SocketCall, StreamCall
from wire.core.errors import ConfigurationError, WireError
from wire.core.exchange import Pause
from wire.core.forks import at_fork
from wire.core.secret import type_name

if TYPE_CHECKING:
    from wire.neutral.request import Request

__all__ = [
    "Again",
    "Around",
    "AttemptFailed",
    "AttemptRefused",
    "AttemptStarted",
    "CallEnded",
    "CallFailed",
    "Change",
    "FirstEvent",
    "Give",
    "HeadReceived",
    "Outgoing",
    "Pause",
    "Signal",
    "StreamLeft",
    "Wait",
]


class Outgoing(msgspec.Struct, frozen=True):
    """A call before it is sent, and the client that sends it."""

    call: Call[Any] | StreamCall[Any, Any] | SocketCall[Any, Any]
    """The call as the outer functions have changed it, before the rules of the provider apply."""
    provider: str
    """Name of the client's provider, with its region: `kimi@cn`."""
    base_url: str
    """The URL to which the client sends calls."""
    account: str = ""
    """A digest of the client's API key, equal for equal keys; empty without one."""
    parse_request: Callable[[bytes], Any] | None = None
    """Converts a body of the client's wire to the neutral form, as for `request`."""

    @property
    def request(self) -> Request | None:
        """The neutral form of the body, without credentials in it.

        `None` if the call asks no model for text, or its body cannot be read.
        """
        from wire.core.secret_fields import masked_body  # few programs look at requests

        call = self.call
        if self.parse_request is None or call.method != "POST" or not call.body:
            return None
        try:
            request: Request = self.parse_request(masked_body(call.body)).request
        except WireError:
            return None
        return request

    @property
    def is_stream(self) -> bool:
        """Whether the response is streamed."""
        return isinstance(self.call, StreamCall)

    @property
    def is_session(self) -> bool:
        """Whether the call opens a session over a WebSocket."""
        return isinstance(self.call, SocketCall)

    @property
    def model(self) -> str:
        """The model that the call names; empty if it names none."""
        call = self.call
        place = call.target if self.is_session else call.path
        return Preview(call.method, place or call.url, {}, call.body).model


class AttemptStarted(msgspec.Struct, frozen=True):
    """An attempt is about to be sent."""

    attempt: int
    """Its number, from 1."""
    account: Account
    """The account of the call so far, the same object at each moment."""


class HeadReceived(msgspec.Struct, frozen=True):
    """The status and the headers of a response have arrived."""

    status: int
    """HTTP status."""
    headers: dict[str, str]
    """Names in lower case. Values that look like credentials are hidden."""
    account: Account
    """The account of the call so far."""


class FirstEvent(msgspec.Struct, frozen=True):
    """The first event of a stream, or the first message of a session, has arrived."""

    account: Account
    """The account of the call so far."""


class AttemptRefused(msgspec.Struct, frozen=True):
    """A server has refused an attempt because of its load, with the status 429, 503 or 529.

    `Again` repeats the attempt, whatever the retry policy says. `AttemptFailed` follows.
    """

    attempt: int
    """Its number, from 1."""
    error: WireError
    """The refusal; it is retryable."""
    account: Account
    """The account of the call so far."""


class AttemptFailed(msgspec.Struct, frozen=True):
    """An attempt has failed."""

    attempt: int
    """Its number, from 1."""
    error: WireError
    """The cause of the failure."""
    wait: float | None
    """Seconds until the next attempt; `None`: there is none, and `CallFailed` follows."""
    account: Account
    """The account of the call so far."""


class CallEnded(msgspec.Struct, frozen=True):
    """The call has a complete result; of a stream, its last event has arrived. A session is over,
    and no error ended it.
    """

    result: Any
    """The result of `send`, or of the stream's `result()`; `None` of a session."""
    account: Account
    """The account of the call."""


class CallFailed(msgspec.Struct, frozen=True):
    """The call has failed: no attempt is left, a stream broke off after its first event, or an
    error ended a session.
    """

    error: WireError
    """The cause of the failure."""
    account: Account | None
    """The account of the call; `None` if the call was refused before its first attempt."""


class StreamLeft(msgspec.Struct, frozen=True):
    """The caller has left a stream before its end."""

    account: Account
    """The account of the call."""


Moment: TypeAlias = (
    AttemptStarted
    | HeadReceived
    | FirstEvent
    | AttemptRefused
    | AttemptFailed
    | CallEnded
    | CallFailed
    | StreamLeft
)


class Signal:
    """An event that happens once. Any thread or task may set it, and any number may wait for it.

    >>> signal = Signal()
    >>> signal.set()
    >>> signal.is_set
    True

    `yield Wait(signal)` waits for it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wakers: list[Callable[[], object]] | None = []
        at_fork(self, Signal._forked)

    def _forked(self) -> None:
        """Drop the waiters, which are threads of the parent."""
        self._lock = threading.Lock()
        self._wakers = None if self._wakers is None else []

    @property
    def is_set(self) -> bool:
        """Whether it was set."""
        return self._wakers is None

    def set(self) -> None:
        """Wake all who wait. Setting it twice has no effect."""
        with self._lock:
            wakers, self._wakers = self._wakers, None
        for wake in wakers or ():
            wake()

    def when_set(self, wake: Callable[[], object]) -> None:
        """Call `wake` once, in the thread that sets the signal; at once if it is set.

        `wake` must neither block nor raise.
        """
        with self._lock:
            if self._wakers is not None:
                self._wakers.append(wake)
                return
        wake()

    def forget(self, wake: Callable[[], object]) -> None:
        """Remove `wake`, because nobody waits any more."""
        with self._lock:
            if self._wakers is not None and wake in self._wakers:
                self._wakers.remove(wake)


class Wait(msgspec.Struct, frozen=True):
    """Wait until `signal` is set, at most for `seconds`; `None`: without a limit."""

    signal: Signal
    """The signal to wait for."""
    seconds: float | None = None
    """The longest wait."""
    is_timed: bool = True
    """Whether the wait counts to the total time of the call."""

    def __post_init__(self) -> None:
        if not isinstance(self.signal, Signal):
            raise ConfigurationError(f"signal: expected a Signal, not {type_name(self.signal)}")
        seconds: object = self.seconds
        if seconds is not None and not (
            isinstance(seconds, (int, float)) and not isinstance(seconds, bool) and seconds >= 0
        ):
            raise ConfigurationError("seconds: expected a number from 0 up, or None")


class Change(msgspec.Struct, frozen=True):
    """Send `call` in place of the call; it has the same kind, such as `StreamCall`."""

    call: Call[Any] | StreamCall[Any, Any] | SocketCall[Any, Any]
    """The call to send."""


class Give(msgspec.Struct, frozen=True):
    """End the call with `result`, which no server has sent for it.

    >>> from wire import Chat, Message, Reply, Stop
    >>> def offline(outgoing: Outgoing) -> Around:
    ...     yield Give(Reply(Message.assistant("Not now."), Stop("end")))
    >>> with Chat("gemini:gemini-3.8-flash", api_key="fake-key", around=offline) as chat:
    ...     chat.ask("Hi").text
    'Not now.'
    """

    result: Any
    """The result of `send`, or of the stream's `result()`."""
    events: Sequence[Any] = ()
    """The events that the caller of a stream gets. By default, those of a `Reply`."""


stands_in: ContextVar[bool] = ContextVar("stands_in", default=False)
"""Whether another model is asked if the one of this call fails (`wire.FallbackChat`)."""


class Again(msgspec.Struct, frozen=True):
    """Repeat an attempt that was refused; it takes neither an attempt of the retry policy nor
    tokens of its budget. `AttemptStarted` comes before it, so a function may delay it there.
    """


Delay: TypeAlias = Pause | Wait | Call[Any]
Around: TypeAlias = Generator[Delay | Change | Again | Give | None, Any, None]
"""The return type of a function of `around=`."""
AroundFunction: TypeAlias = Callable[[Outgoing], Around]
Waits: TypeAlias = Generator[Delay, Any, Any]
"""A job that the client carries out: it sleeps, waits, or sends a call and returns its outcome."""


def checked_around(given: Any) -> tuple[AroundFunction, ...]:
    """Return the functions of the option `around`: one, or several in order.

    Raises `ConfigurationError` for anything else.
    """
    if given is None:
        return ()
    several = isinstance(given, list | tuple)
    functions = tuple(given) if several else (given,)
    for position, function in enumerate(functions):
        is_type = hasattr(function, "__origin__")  # such as `list[int]`, which can be called
        if not callable(function) or is_type or inspect.isasyncgenfunction(function):
            where = f"around[{position}]" if several else "around"
            raise ConfigurationError(
                f"{where}: expected a function that returns a generator, not {_kind(function)}"
            )
    return functions


def _kind(function: Any) -> str:
    is_async = inspect.isasyncgenfunction(function)
    return "an async one: a plain generator serves all" if is_async else type_name(function)


_KINDS = (StreamCall, SocketCall, Call)


class Surroundings:
    """Runs the generators around one call.

    `begin`, `attempt`, `failed` and `ended` are generators of delays that the client carries out.
    `tell` is for the moments at which nothing can be delayed.
    """

    def __init__(self, functions: Sequence[AroundFunction], outgoing: Outgoing) -> None:
        self._functions, self._outgoing = functions, outgoing
        self._running: list[Around] = []  # from the outermost to the innermost

    def begin(self) -> Waits:
        """Start all functions; return the call to send, or a `Give`."""
        outgoing = self._outgoing
        for function in self._functions:
            generator = function(outgoing)
            if not isinstance(generator, Generator):
                name = getattr(function, "__name__", type_name(function))
                raise ConfigurationError(
                    f"around: {name} returned a {type_name(generator)}, not a generator"
                )
            self._running.append(generator)
            allowed = Change if outgoing.is_session else Change | Give
            decided = yield from self._resumed(generator, None, allowed)
            if isinstance(decided, Give):
                self._drop(generator)
                return decided
            if decided is not None:
                self._check_kind(decided)
                outgoing = msgspec.structs.replace(outgoing, call=decided.call)
        return outgoing.call

    def attempt(self, moment: AttemptStarted) -> Waits:
        """Report an attempt, the outermost first; return another call for it, or `None`."""
        call = None
        for generator in tuple(self._running):
            decided = yield from self._resumed(generator, moment, Change)
            if decided is not None:
                self._check_kind(decided)
                call = decided.call
        return call

    def attempt_refused(self, moment: AttemptRefused) -> Waits:
        """Report a refusal, the innermost first; return whether the attempt is repeated."""
        is_again = False
        for generator in reversed(self._running[:]):
            decided = yield from self._resumed(generator, moment, Again)
            is_again = is_again or decided is not None
        return is_again

    def attempt_failed(self, moment: AttemptFailed) -> Waits:
        """Report a failed attempt, the innermost first."""
        for generator in reversed(self._running[:]):
            yield from self._resumed(generator, moment, ())

    def over(self, end: CallEnded | CallFailed | Give) -> Waits:
        """Report the end of the call, the innermost first; return the final end.

        An error that a generator raises is reported to the next one, and so is a result.
        """
        account = Account() if isinstance(end, Give) else end.account
        for generator in reversed(self._running[:]):
            moment = CallEnded(end.result, account or Account()) if isinstance(end, Give) else end
            try:
                end = (yield from self._resumed(generator, moment, Give)) or end
            except WireError as error:
                end = CallFailed(error, account)
            self._drop(generator)
        return end

    def tell(self, moment: Moment) -> None:
        """Report a moment at which the call cannot be delayed, the innermost first.

        Raises the errors of the generators.
        """
        for generator in reversed(self._running[:]):
            action = self._sent(generator, moment)
            if action is not None:
                raise self._refused(generator, action, type(moment).__name__)

    def close(self) -> None:
        """Close all generators, the innermost first."""
        while self._running:
            self._running.pop().close()

    def _drop(self, generator: Around) -> None:
        if generator in self._running:
            self._running.remove(generator)
            generator.close()

    def _sent(self, generator: Around, value: Any) -> Any:
        """Send a value to a generator, or throw an error into it; return what it yields."""
        try:
            return generator.throw(value) if isinstance(value, WireError) else generator.send(value)
        except BaseException as end:
            if generator in self._running:
                self._running.remove(generator)
            if isinstance(end, StopIteration):
                return None
            raise

    def _resumed(self, generator: Around, value: Any, allowed: Any) -> Waits:
        """Resume a generator until its next bare `yield`; return its last decision, or its `Give`.

        A `Give` ends the generator, because it decides the result.
        """
        decided = None
        moment = "its start" if value is None else f"a {type(value).__name__}"
        while (action := self._sent(generator, value)) is not None:
            if isinstance(action, Pause | Wait | Call):
                _check_pause(action)
                try:
                    value = yield action
                except WireError as error:  # the total time of the call has passed
                    value = error
            elif allowed and isinstance(action, allowed):
                decided, value = action, None
                if isinstance(action, Give):
                    return action
            else:
                raise self._refused(generator, action, moment)
        return decided

    def _check_kind(self, change: Change) -> None:
        kind = next(each for each in _KINDS if isinstance(self._outgoing.call, each))
        if not isinstance(change.call, kind):
            raise ConfigurationError(
                f"around: Change.call: expected a {kind.__name__}, not {type_name(change.call)}"
            )

    def _refused(self, generator: Around, action: object, moment: str) -> ConfigurationError:
        self._drop(generator)
        name = getattr(generator, "__name__", "a generator")
        return ConfigurationError(
            f"around: {name} yielded a {type_name(action)} after {moment}; the documentation of "
            "wire.around lists what may be yielded there"
        )


def _check_pause(action: Delay) -> None:
    if isinstance(action, Pause):
        seconds: object = action.seconds
        if not (isinstance(seconds, (int, float)) and 0 <= seconds < math.inf):
            raise ConfigurationError("around: Pause.seconds: expected a finite number from 0 up")
