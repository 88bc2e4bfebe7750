"""Carries out the steps of a credential for one attempt, for both clients. No I/O.

Requests for tokens go through the client's own transport, with clocks and limits of their own.
"""

from __future__ import annotations

from collections.abc import Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeAlias
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from wire.around.seam import Wait
from wire.auth.credential import Fetch, Fetched, Ready, Work
from wire.auth.held import Grant
from wire.core.call import Call, Timeouts
from wire.core.errors import APIError, TotalClock, WireError, add_to_message
from wire.core.hosts import origin_of
from wire.core.masking import Mask
from wire.core.retry import NONE
from wire.core.secret import Secret
from wire.http.call_logs import CallLog
from wire.http.sending import Attempt, over_clock
from wire.wires.providers import unlisted

if TYPE_CHECKING:
    from wire.http.target import Target

_MOST_BYTES = 1024 * 1024
"""Bytes of the answer of a server of tokens."""

Request: TypeAlias = Attempt | Wait | Work


class Granting:
    """The steps to what heads or signs an attempt: `step` is the next one, `None` at the end."""

    step: Request | None

    def __init__(self, attempt: Attempt) -> None:
        held = attempt.target.credentials
        assert held is not None
        self._attempt, self._held = attempt, held
        self._steps: Generator[Any, Any, Ready] = held.steps()
        self._fetch: Fetch | None = None
        self._secrets: list[Secret] = []
        """What was sent to servers of tokens, which may repeat it in an error."""
        self.step = None
        # A transport that only plays sends nothing, so nobody looks at credentials.
        if not getattr(attempt._http, "plays_only", False):
            self._advance(None)

    def tell(self, outcome: Any) -> None:
        """Send the outcome of `step`: a value, or the error."""
        if self._fetch is not None:
            outcome = _fetched(outcome, self.step)
            if isinstance(outcome, WireError):
                add_to_message(outcome, f" (credentials: {self._fetch.what})")
        self._advance(outcome)

    def _advance(self, outcome: Any) -> None:
        """Go on to the next step.

        Whatever is raised, the exchange is left, or others would wait for it.
        """
        self._fetch = self.step = None
        try:
            is_error = isinstance(outcome, BaseException)
            step = self._steps.throw(outcome) if is_error else self._steps.send(outcome)
            if isinstance(step, Fetch):
                self._fetch = step
                headers = (each for each in step.headers.values() if isinstance(each, Secret))
                self._secrets += [*step.secrets, *headers]
                step = token_attempt(step, self._attempt)
            self.step = self._within_time(step) if isinstance(step, Wait) else step
        except StopIteration as end:
            self._attempt.granted(Grant(self._held, end.value))
        except BaseException as error:
            self._steps.close()
            if isinstance(error, WireError):
                error.provider = error.provider or self._attempt.target.provider.name
                Mask(self._secrets).error(error)
            raise

    def _within_time(self, wait: Wait) -> Wait:
        """Return a wait for the exchange of another call that ends with the time of this one."""
        left = self._attempt.left
        if left is None:
            return wait
        if left <= 0:
            over = over_clock("total", self._attempt.clocks.total)
            raise TotalClock(f"{over}: the call waited for its credentials")
        return Wait(wait.signal, left)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._steps.close()


class _Silent(CallLog):
    """Logs nothing: bodies of servers of tokens have tokens."""

    __slots__ = ()

    @property
    def has_bodies(self) -> bool:
        """No."""
        return False

    @property
    def has_calls(self) -> bool:
        """No."""
        return False


def token_attempt(fetch: Fetch, attempt: Attempt) -> Attempt:
    """Return the attempt that sends a request for a token.

    It has nothing of the client's configuration but the transport and the limits: neither its key,
    nor its headers, nor its `around`.
    """
    target = attempt.target
    left = attempt.left
    seconds = fetch.seconds if left is None else max(0.001, min(fetch.seconds, left))
    parts = urlsplit(fetch.url)
    own = _own_target(target, f"{parts.scheme}://{parts.netloc}", fetch)
    connect = min(seconds, 10.0)
    call: Call[bytes] = Call(
        own.provider.wire,
        fetch.method,
        unquote(parts.path) or "/",
        fetch.body,
        query=dict(parse_qsl(parts.query, keep_blank_values=True)),
        headers=fetch.headers,
        timeouts=Timeouts(connect=connect, first_byte=seconds, idle=seconds, total=seconds),
        retry=NONE,
        parse=bytes,
        read_error=_as_it_is,
    )
    made = Attempt(own, call, attempt._http)
    made.log, made.is_for_token = _Silent(), True
    return made


def _own_target(target: Target, base: str, fetch: Fetch) -> Target:
    provider = unlisted(target.provider.name, key_required=False)
    limits = target.limits
    own = msgspec.structs.replace(
        target,
        provider=provider,
        base_url=base,
        origin=origin_of(base),
        prefix="",
        prefixes={},
        headers={},
        key=None,
        token=None,
        credentials=None,
        around=(),
        retry=NONE,
        limits=msgspec.structs.replace(limits, body=min(limits.body, _MOST_BYTES)),
    )
    # What the body has, a server may repeat.
    msgspec.structs.force_setattr(own, "mask", Mask(fetch.secrets))
    return own


def _as_it_is(status: int, headers: Any, body: bytes) -> APIError:
    error = APIError(f"status {status}", status=status, raw=body)
    error.response_headers = dict(headers)
    return error


def _fetched(outcome: Any, step: Any) -> Any:
    """Return the answer of a server of tokens, of any status; an error without one as it is."""
    headers = step._headers if isinstance(step, Attempt) else {}
    if isinstance(outcome, bytes):
        return Fetched(step.account.status or 200, dict(headers), outcome)
    if isinstance(outcome, APIError) and outcome.status is not None:
        return Fetched(outcome.status, dict(headers), outcome.raw)
    return outcome
