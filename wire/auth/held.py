"""The credential of a client, and what it was exchanged for.

Any number of threads and tasks ask for it at the same time: one of them exchanges it, the others
wait, or use what is still valid.
"""

from __future__ import annotations

import copy
import math
import threading
import time
from collections.abc import Callable, Generator, Mapping
from typing import Any, Literal

import msgspec

from wire.around.seam import Signal, Wait
from wire.auth.credential import Chain, Credential, Place, Ready, Step, Unsent
from wire.core.errors import ConfigurationError, WireError
from wire.core.forks import at_fork

_QUIET = 5.0
"""Seconds after a failed renewal in which a token that is still valid is used without another."""
EXPIRED = frozenset({"ExpiredToken", "ExpiredTokenException", "RequestExpired"})
"""Codes of AWS for credentials that have ended."""
SKEWED = frozenset(
    {
        "InvalidSignatureException",
        "RequestExpired",
        "RequestInTheFuture",
        "RequestTimeTooSkewed",
        "SignatureDoesNotMatch",
    }
)
"""Codes of AWS for a signature that is too old or too new, or that does not match."""
_SAME_TIME = 60.0
"""Seconds by which two clocks may differ without a signature being refused for it (AWS: 300)."""


Lesson = Literal["", "clock", "end"]
"""What was wrong: the clock, or that the credentials have ended."""


class Renewal:
    """One exchange that is under way."""

    def __init__(self) -> None:
        self.signal = Signal()
        self.ready: Ready | None = None
        self.error: WireError | None = None


class _Kept(msgspec.Struct, frozen=True):
    """What a credential was exchanged for."""

    ready: Ready
    renew: float
    """When it is exchanged again, in seconds since 1970."""
    end: float
    """When it must not be used any more."""


class Held:
    """The credential of one client."""

    def __init__(
        self, credential: Credential, place: Place, clock: Callable[[], float] = time.time
    ) -> None:
        self.credential, self.place = credential, place
        self.skew = 0.0
        """Seconds by which the clock of the server is ahead of that of this machine."""
        self._clock = clock
        self._lock = threading.Lock()
        self._kept: _Kept | None = None
        self._renewal: Renewal | None = None
        at_fork(self, Held._forked)

    def _forked(self) -> None:
        """Forget an exchange of the parent, which no thread of this process will end."""
        self._lock, self._renewal = threading.Lock(), None

    def __repr__(self) -> str:
        return f"Held({self.credential.name!r})"

    def __deepcopy__(self, memo: object) -> Held:
        return self

    def __reduce__(self) -> tuple[type[Held], tuple[Credential, Place]]:
        return Held, (self.credential, self.place)  # its lock cannot be pickled

    def described(self) -> dict[str, Any]:
        """Return what `describe` of a client tells: the credential, where it was found, and where
        it was looked for.
        """
        looked = dict(self.place.looked)
        found = next((name for name, told in looked.items() if told == "found"), "")
        title = getattr(self.credential, "title", self.credential.name)
        return {
            "key": "credentials",
            "credentials": f"{title} ({found})" if found else title,
            **({"credentials_looked_at": looked} if looked else {}),
        }

    @property
    def now(self) -> float:
        """The time by the clock of the server, as far as it is known."""
        return self._clock() + self.skew

    def steps(self) -> Generator[Step | Wait, Any, Ready]:
        """Yield the steps to what heads or signs an attempt; none while that is still valid."""
        if isinstance(self.credential, Ready) and self._kept is None:
            self._kept = self._granted(self.credential)
        while True:
            with self._lock:
                now, grant = self._clock(), self._kept
                if grant is not None and now < grant.renew:
                    return grant.ready
                others, mine = self._renewal, Renewal()
                if others is None:
                    self._renewal = mine
                elif grant is not None and now < grant.end:
                    return grant.ready
            if others is None:
                return (yield from self._renewed(mine, grant))
            yield Wait(others.signal)
            if others.error is not None:
                raise copy.copy(others.error)
            if others.ready is not None:
                return others.ready

    def _renewed(self, renewal: Renewal, before: _Kept | None) -> Generator[Step, Any, Ready]:
        kept = before
        try:
            kept = grant = self._granted((yield from self.credential._exchange(self.place)))
        except WireError as error:
            now = self._clock()
            if before is None or now >= before.end:
                renewal.error = error
                raise
            kept = grant = msgspec.structs.replace(before, renew=min(before.end, now + _QUIET))
        finally:
            # A task that was cancelled leaves the exchange to the next one.
            renewal.ready = None if kept is before or kept is None else kept.ready
            with self._lock:
                self._kept, self._renewal = kept, None
            renewal.signal.set()
        return grant.ready

    def _granted(self, ready: Ready) -> _Kept:
        end, now = ready._valid_until, self._clock()
        if end is None:
            end = -math.inf if self.credential.is_asked_each_time else math.inf
            return _Kept(ready, end, end)
        if end <= now:
            day = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(end))
            raise ConfigurationError(
                f"credentials: {self.credential.name}: they ended at {day}; give new ones",
                provider=self.place.provider,
            )
        # Of a short life, half: otherwise a token of five minutes would be renewed at each call.
        owner = ready if isinstance(self.credential, Chain) else self.credential
        return _Kept(ready, end - min(owner.before, (end - now) / 2), end)

    def learns(
        self, code: str, status: int | None, ready: Ready, server_time: float | None
    ) -> Lesson:
        """Return what was wrong with a refused attempt that may succeed with what is known now.

        A clock that is wrong is corrected by the date of the response. What the server calls
        expired is exchanged anew.
        """
        if server_time is not None and code in SKEWED:
            skew = server_time - self._clock()
            if abs(skew - self.skew) > _SAME_TIME:
                self.skew = skew
                return "clock"
        is_expired = status == 401 or code in EXPIRED
        if not is_expired or isinstance(self.credential, Ready):
            return ""
        with self._lock:
            if self._kept is not None and self._kept.ready is ready:
                self._kept = None
        return "end"


class Grant(msgspec.Struct, frozen=True):
    """What heads or signs the attempts of one call."""

    held: Held
    ready: Ready

    def headed(
        self, method: str, target: str, headers: list[tuple[str, str]], body: Any
    ) -> list[tuple[str, str]]:
        """Return the headers of a request with those of the credential."""
        request = Unsent(method, target, headers, body)
        return self.ready._headed(request, self.held.place, self.held.now)

    def learns(self, error: WireError, headers: Mapping[str, str]) -> Lesson:
        """Return what the response to a refused attempt tells of its credentials."""
        from wire.core.server_clock import http_date

        code = headers.get("x-amzn-errortype", "") or error.code or ""
        date = http_date(headers.get("date", ""))
        return self.held.learns(code.partition(":")[0], error.status, self.ready, date)
