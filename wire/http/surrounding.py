"""Runs the functions of `around=` for one call of a client. No I/O.

`SurroundedCall.steps` yields the steps that the client carries out: a `Pause`, a `Wait`, a `Call`
to send in between, an `Attempt` to send, or a `Given` in place of an attempt. The client sends the
outcome back: the result, or the `WireError`. The `Attempt` itself reports events that cannot wait.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import msgspec

from wire.around.seam import (
    AttemptFailed,
    AttemptRefused,
    AttemptStarted,
    CallEnded,
    CallFailed,
    Delay,
    FirstEvent,
    Give,
    HeadReceived,
    Outgoing,
    StreamLeft,
    Surroundings,
    Wait,
    Waits,
)
from wire.core.call import Call, StreamCall
from wire.core.errors import TotalClock, WireError
from wire.core.exchange import Pause, Step
from wire.core.flow import Flow, FlowRun
from wire.core.forks import new_in_child
from wire.core.incoming import Incoming
from wire.core.pacing import BUSY, RATE_LIMITED
from wire.core.retry import is_off
from wire.http.sending import AnyCall, Attempt, ClientState, over_clock
from wire.neutral.events import events_of
from wire.neutral.messages import Reply
from wire.wires.contract import WIRES

if TYPE_CHECKING:
    from random import Random


class Given:
    """A stream that a function of `around=` gave: no body belongs to it."""

    def __init__(self, attempt: Attempt, incoming: Incoming[Any, Any]) -> None:
        self.attempt, self.incoming = attempt, incoming


Action: TypeAlias = Pause | Wait | Call[Any] | Attempt | Given
Steps: TypeAlias = Generator[Action, Any, Any]


class StepsRun(FlowRun[Any]):
    """Runs steps as `FlowRun` runs a flow; an error that `tell` gets is sent as any outcome."""

    step: Any

    def __init__(self, steps: Steps) -> None:
        super().__init__(cast(Flow[Any], steps))

    def tell(self, outcome: Any) -> None:
        """Send the outcome of `step`: its result, or the `WireError`. Raises as the steps do."""
        try:
            self.step = self._flow.send(outcome)
        except StopIteration as end:
            self.step, self.answer = None, end.value


def steps_around(client: ClientState, call: AnyCall, kind: type) -> Steps:
    """Return the steps of a call of a client with `around`."""
    if not isinstance(call, kind):
        Attempt(client._target, call, kind=kind)  # raises for a bad call
    return SurroundedCall(client, call, kind).steps(client._dice)


class SurroundedCall:
    """One call with its surroundings, from the first function to the end of its stream."""

    def __init__(self, client: ClientState, call: AnyCall, kind: type) -> None:
        target = client._target
        self._client, self._call, self._kind = client, call, kind
        account = "" if target.key is None else target.key.digest
        wire = WIRES[target.provider.wire]
        outgoing = Outgoing(
            call, target.provider.name, target.base_url, account, wire.parse_request
        )
        self._total = (call.timeouts or target.timeouts).total
        self._uncounted = 0.0  # seconds of waits that do not count to the total time
        self._surroundings = Surroundings(client._around, outgoing)
        self._begun = False  # whether the caller has the stream, or the session
        # Of a session, one thread may report the first message while another one ends it.
        self._telling = threading.RLock()
        new_in_child(self, _telling=threading.RLock)

    def steps(self, dice: Random) -> Steps:
        """Run the steps of the call; return its result, or a stream that has begun."""
        surroundings, client = self._surroundings, self._client
        attempt, answer = None, None
        end: CallEnded | CallFailed | Give
        try:
            try:
                began = monotonic()
                begun = yield from self._timed(surroundings.begin(), None)
                if isinstance(begun, Give):
                    end = begun
                else:
                    attempt = Attempt(
                        client._target, begun, client._http, kind=self._kind, around=self
                    )
                    attempt.shift(self._uncounted - (monotonic() - began))
                    answer = yield from self.attempts(attempt, dice)
                    if self._kind is not Call:
                        self._begun = True
                        return answer  # it ends later: `stream_ended`, `left`, `session_ended`
                    end = CallEnded(answer, attempt.account)
            except WireError as error:
                end = CallFailed(error, attempt.account if attempt is not None else None)
            end = yield from surroundings.over(end)
            # A call that was never sent has no account.
            attempt = attempt or Attempt(client._target, self._call, client._http)
            return (yield from self._ended(end, attempt, answer))
        except BaseException:
            surroundings.close()
            raise

    def attempts(self, attempt: Attempt, dice: Random) -> Steps:
        """Run the attempts of the call, and the delays between them."""
        surroundings, account = self._surroundings, attempt.account
        steps = attempt.steps(dice, self._client._budgets)
        step: Step | None = next(steps)
        refusal: WireError | None = None
        while step is not None:
            if isinstance(step, Pause):
                yield Pause(attempt.paused(step))
                step = next(steps)
                continue
            number = step.attempt
            began = monotonic()
            try:
                delays = surroundings.attempt(AttemptStarted(number, account))
                changed = yield from self._timed(delays, attempt)
            except TotalClock as error:
                raise refusal or error from None
            if refusal is not None:
                account.waits[-1] += monotonic() - began
            if changed is not None:
                attempt.change(self._client._target.accept(changed, self._kind))
            outcome = yield attempt
            if not isinstance(outcome, WireError):
                next(steps, None)
                return outcome
            failed = attempt.failed(outcome)
            refusal = outcome if is_refused(attempt, outcome) else None
            if refusal is not None:
                moment = AttemptRefused(number, outcome, account)
                if (yield from surroundings.attempt_refused(moment)):
                    failed = msgspec.structs.replace(failed, is_again=True)
                else:
                    refusal = None
            try:
                step = steps.send(failed)
            except WireError as error:
                yield from surroundings.attempt_failed(AttemptFailed(number, error, None, account))
                raise
            wait = step.seconds
            yield from surroundings.attempt_failed(AttemptFailed(number, outcome, wait, account))

    def _timed(self, delays: Waits, attempt: Attempt | None) -> Steps:
        """Yield the delays of functions until the total time has passed.

        Raises `TotalClock` then. `attempt` is the one that waits; `None` before the first.
        """
        began = monotonic()
        try:
            delay = next(delays)
            while True:
                left = self._left(began) if attempt is None else attempt.left
                if isinstance(delay, Wait) and not delay.is_timed:
                    yield from self._uncounted_wait(delay, attempt)
                    delay = delays.send(None)
                    continue
                if left is not None and left <= 0:
                    delay = delays.throw(self._too_late())
                    continue
                shorter = _cut(delay, left)
                outcome = yield shorter
                # One that was cut is not over: the total time has passed.
                if shorter == delay or (isinstance(delay, Wait) and delay.signal.is_set):
                    delay = delays.send(outcome)
        except StopIteration as end:
            return end.value
        finally:
            delays.close()

    def _uncounted_wait(self, wait: Wait, attempt: Attempt | None) -> Steps:
        began = monotonic()
        yield wait
        seconds = monotonic() - began
        if attempt is None:
            self._uncounted += seconds
        else:
            attempt.shift(seconds)

    def _left(self, began: float) -> float | None:
        """Return the seconds left of the total time before the first attempt; `None`: no limit."""
        total = self._total
        return None if total is None else total + self._uncounted - (monotonic() - began)

    def _too_late(self) -> TotalClock:
        """Build the error of a call whose total time has passed before its turn."""
        problem = f"{over_clock('total', self._total)}: the call waited for its turn at around="
        return TotalClock(problem, provider=self._client._target.provider.name)

    def _ended(self, end: CallEnded | CallFailed | Give, attempt: Attempt, answer: Any) -> Steps:
        """Return the result of a call that is over; raise its error."""
        self._surroundings.close()
        if isinstance(end, CallFailed):
            _log_end(attempt, "failed", answer, end.error)
            raise end.error
        _log_end(attempt, "given" if isinstance(end, Give) else "answered", answer)
        if not (isinstance(end, Give) and self._kind is StreamCall):
            return end.result
        given = Attempt(self._client._target, self._call, self._client._http)
        incoming = given.incoming()
        events = end.events
        if not events and isinstance(end.result, Reply):
            events = events_of(end.result)
        incoming.give(events, end.result)
        return (yield Given(given, incoming))

    # --- called by the attempt
    # ---------------------------------------------------------------------

    def head(self, attempt: Attempt, status: int, headers: dict[str, str]) -> None:
        """Report that the head of a response has arrived."""
        self._surroundings.tell(HeadReceived(status, headers, attempt.account))

    def first_event(self, attempt: Attempt) -> None:
        """Report that the first event of a stream, or message of a session, has arrived."""
        with self._telling:
            self._surroundings.tell(FirstEvent(attempt.account))

    def session_ended(self, attempt: Attempt, error: WireError | None) -> None:
        """Report the end of a session. Raises the errors of the functions."""
        account = attempt.account
        try:
            with self._telling:
                self._surroundings.tell(
                    CallEnded(None, account) if error is None else CallFailed(error, account)
                )
        finally:
            with self._telling:
                self._surroundings.close()
            _log_end(attempt, "answered" if error is None else "failed", error=error)

    def stream_ended(self, attempt: Attempt, incoming: Incoming[Any, Any]) -> None:
        """Report the end of a stream.

        An error that a function raises replaces that end.
        """
        error = incoming.error
        try:
            self._surroundings.tell(
                CallFailed(error, attempt.account)
                if error is not None
                else CallEnded(incoming.partial(), attempt.account)
            )
        except WireError as raised:
            incoming.refuse(raised)
        finally:
            self._surroundings.close()
        error = incoming.error
        answer = None if error is not None else incoming.folded
        _log_end(attempt, "answered" if error is None else "failed", answer, error)

    def left(self, attempt: Attempt) -> None:
        """Report that the caller has left a stream before its end."""
        if not self._begun:
            return  # its attempt has failed; another one may follow
        try:
            self._surroundings.tell(StreamLeft(attempt.account))
        finally:
            self._surroundings.close()
            _log_end(attempt, "left")


def _cut(delay: Delay, left: float | None) -> Delay:
    """Return a delay that ends with the total time; a call has that of its own."""
    if left is None or isinstance(delay, Call):
        return delay
    if isinstance(delay, Pause):
        return Pause(min(left, delay.seconds))
    return Wait(delay.signal, left if delay.seconds is None else min(left, delay.seconds))


def is_refused(attempt: Attempt, error: WireError) -> bool:
    """Return whether the server has refused an attempt because of its load.

    A call that must not run twice counts as refused with 429 only. An error in the body of a
    response with another status refuses nothing: the server has taken the call.
    """
    statuses = BUSY if attempt.call.idempotent else (RATE_LIMITED,)
    is_load = error.status in statuses and attempt.account.status == error.status
    return error.retryable and is_load and not is_off()


def _log_end(
    attempt: Attempt, outcome: str, answer: Any = None, error: WireError | None = None
) -> None:
    if attempt.log.has_calls:
        attempt.log_end(outcome, answer, error)
