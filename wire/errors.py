"""Everything that can go wrong, as one tree.

    WireError
    ├── ConfigurationError             nothing was sent: key, provider, option, name of the model
    ├── RuleError                      nothing was sent: `.violations` says where and what to do
    │   ├── HistoryError               the turns of a conversation cannot be sent as they are
    │   └── SchemaError                a tool or response schema that the wire cannot express
    ├── APIError                       the provider answered with an error
    │   ├── BadRequestError            400, 413, 422
    │   │   └── ContextLengthError     the input is longer than the model's window
    │   ├── AuthError
    │   │   ├── AuthenticationError    401, and Gemini's 400 API_KEY_INVALID
    │   │   └── AccessDeniedError      403
    │   ├── NotFoundError              404
    │   ├── RateLimitError             429
    │   │   └── QuotaError             a hard quota: waiting a minute does not help, never retried
    │   └── ServerError                5xx
    │       └── OverloadedError        503, 529
    ├── BlockedError                   neutral door only: prompt or answer blocked
    ├── ConnectionLost                 no response, or its body broke off
    ├── ClockError                     a time of ours ran out
    │   ├── ConnectClock  ├── FirstByteClock  ├── IdleClock  └── TotalClock
    ├── StreamError                    the answer came, and is not whole or not readable
    │   ├── StreamIncomplete           it ended without a finish, or was left before its end
    │   └── StreamInvalid              it is not what the wire allows
    ├── OutputError                    the answer is whole, and not what `output=` asked for
    ├── LimitError                     event, body, ratio, depth or headers over the limit
    └── CassetteError, ToolError, PipelineError     of their rooms

Rules of this file: no error holds anything that can not be pickled; a message is one line of at
most 2 KiB without control characters (R-12, R-34); no built-in name is shadowed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

__all__ = [
    "APIError",
    "AccessDeniedError",
    "AuthError",
    "AuthenticationError",
    "BadRequestError",
    "BlockedError",
    "CassetteError",
    "ClockError",
    "ConfigurationError",
    "ConnectClock",
    "ConnectionLost",
    "ContextLengthError",
    "FirstByteClock",
    "HistoryError",
    "IdleClock",
    "LimitError",
    "NotFoundError",
    "OutputError",
    "OverloadedError",
    "PipelineError",
    "QuotaError",
    "RateLimitError",
    "RuleError",
    "SchemaError",
    "ServerError",
    "StreamError",
    "StreamIncomplete",
    "StreamInvalid",
    "ToolError",
    "TotalClock",
    "Violation",
    "WireError",
]

MESSAGE_LIMIT = 1500
"""Bytes of a message; what is longer is cut in the middle, since servers put the reason at either
end.
"""

_KEPT = 32 * 1024  # letters at either end that are kept at all

# Controls, line and paragraph ends, surrogates, and the format characters that turn or hide what a
# terminal shows.
_CONTROL = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb]+"
)


def _cleaned(text: str) -> str:
    return _CONTROL.sub(
        " ", f"{text[:_KEPT]}{text[-_KEPT:]}" if len(text) > 2 * _KEPT else text
    ).strip()


def one_line(text: str, limit: int = MESSAGE_LIMIT) -> str:
    """`text` fit for a log: control characters and line ends become one space, the middle is cut
    out beyond `limit` bytes.
    """
    text = _cleaned(text)
    data = text.encode("utf-8")
    if len(data) <= limit:
        return text
    half = (limit - 5) // 2
    return f"{data[:half].decode('utf-8', 'ignore')} ... {data[-half:].decode('utf-8', 'ignore')}"


def ungrouped(error: BaseException) -> BaseException:
    """The exception to raise in place of a group, so that `except` clauses match it.

    >>> ungrouped(ExceptionGroup("tasks", [ValueError("x"), KeyError("y")])).__notes__
    ["raised together with KeyError('y')"]

    Of several exceptions it is the one that has to end the program (`KeyboardInterrupt`,
    `SystemExit`), else a cancellation, else the first; its notes name the other ones. An
    exception that is no group is returned as it is.
    """
    if not isinstance(error, BaseExceptionGroup):
        return error
    inside = leaves(error)
    first = min(inside, key=_rank)
    known = getattr(first, "__notes__", ())
    for other in inside:
        note = f"raised together with {other!r}"
        if other is not first and isinstance(other, Exception) and note not in known:
            first.add_note(note)
    return first


def leaves(error: BaseException) -> list[BaseException]:
    """The exceptions in a group, at every depth; of an exception that is no group, itself."""
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    return [leaf for each in error.exceptions for leaf in leaves(each)]


def _rank(error: BaseException) -> int:
    if isinstance(error, (KeyboardInterrupt, SystemExit)):
        return 0
    return 2 if isinstance(error, Exception) else 1


class Violation(msgspec.Struct, frozen=True, repr_omit_defaults=True):
    """One rule that a request breaks: the JSON path, what is wrong, what to do; and how a server
    would refuse it.
    """

    path: str
    message: str
    rule: str = ""
    severity: str = "error"
    """`error`: refused today; `warning`: refused once, or in part, or not done as asked."""
    remedy: str = ""
    status: int = 400
    """The HTTP status of the refusal, and in `code` its name."""
    code: str = "INVALID_ARGUMENT"
    words: str = ""
    """What the server says; empty if that is the message."""
    field: str = ""
    """The place in the server's own spelling, where its answer names it apart from the words."""
    layer: str = ""
    """`parser`, whose refusals a server lists all at once, or `validator`, which stops at the
    first; empty if neither.
    """

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        rule = f" [{self.rule}]" if self.rule else ""
        remedy = f" ({self.remedy})" if self.remedy else ""
        return f"{where}{self.message}{rule}{remedy}"


class Received:
    """Bytes of a body that show their size and not themselves: a server may repeat the key in them
    (R-29).
    """

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data = data

    def __repr__(self) -> str:
        return f"<{len(self.data)} bytes>"


class WireError(Exception):
    """Base of all errors of this library; every field is there on every error, `None` or empty
    where it has no meaning.

    `provider`, HTTP `status`, the provider's own `code`, `request_id`; `retryable` and
    `retry_after` (seconds the server asked for); `attempts` made; `partial`, the answer folded from
    what had arrived; `raw`, the body as received.
    """

    def __init__(
        self,
        message: str = "",
        *,
        provider: str = "",
        status: int | None = None,
        code: str | None = None,
        request_id: str | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
        attempts: int = 0,
        partial: Any = None,
        raw: bytes = b"",
    ) -> None:
        self._told = _cleaned(message)
        super().__init__(self.message)
        self.provider = provider
        self.status = status
        self.code = code
        self.request_id = request_id
        self.retryable = retryable
        self.retry_after = retry_after
        self.attempts = attempts
        self.partial = partial
        self._raw = Received(raw)

    @property
    def message(self) -> str:
        """What went wrong, in one line."""
        return one_line(self._told)

    @property
    def raw(self) -> bytes:
        """The body as the server sent it. It may repeat your key: do not log it."""
        return self._raw.data

    def __str__(self) -> str:
        # Some hosts repeat the status as their code.
        told = " ".join(
            dict.fromkeys(
                one_line(str(word), 80) for word in (self.status, self.code) if word is not None
            )
        )
        head = ": ".join(one_line(word, 80) for word in (self.provider, told) if word)
        tail = f" (after {self.attempts} attempts)" if self.attempts > 1 else ""
        return f"{head}: {self.message}{tail}" if head else f"{self.message}{tail}"

    def __repr__(self) -> str:
        return f'{type(self).__name__}("{self}")'

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self), self._told, dict(self.__dict__))

    def masked(self, secret: str) -> None:
        """Take `secret` out of what is shown; `raw` keeps what the server sent (R-29).

        What is masked is the message before its middle is cut out: a cut could leave half a key
        standing.
        """
        if not secret:
            return
        self._told = self._told.replace(secret, "***")
        self.args = (self.message,)
        if self.code and secret in self.code:
            self.code = self.code.replace(secret, "***")


def _restore(cls: type[WireError], message: str, state: dict[str, Any]) -> WireError:
    error = cls(message)
    error.__dict__.update(state)
    return error


class ConfigurationError(WireError):
    """Nothing was sent: the key, the provider, an option or the name of the model is missing or
    wrong.
    """


class RuleError(WireError):
    """Nothing was sent: the request breaks rules that `violations` names, each with its
    JSON path.
    """

    def __init__(
        self, message: str = "", *, violations: Iterable[Violation] = (), **fields: Any
    ) -> None:
        self.violations = tuple(violations)
        super().__init__(message or "; ".join(map(str, self.violations)), **fields)


def refuse(
    violations: Iterable[Violation], error: type[RuleError] = RuleError, *, provider: str = ""
) -> None:
    """Raise `error`, with the provider's name, if any violation is an error; ignore warnings."""
    errors = [each for each in violations if each.severity == "error"]
    if errors:
        raise error(violations=errors, provider=provider)


class HistoryError(RuleError):
    """The turns of a conversation cannot be brought into the order that the wire asks for."""


class SchemaError(RuleError):
    """A JSON Schema cannot be written in the wire's dialect without changing what it accepts."""


class APIError(WireError):
    """The provider answered with an error; `details` holds what it said beside the message."""

    def __init__(self, message: str = "", *, details: Iterable[Any] = (), **fields: Any) -> None:
        self.details = tuple(details)
        super().__init__(message, **fields)


class BadRequestError(APIError):
    """The provider refused the request as it is (400, 413, 422)."""


class ContextLengthError(BadRequestError):
    """The input is longer than the model's context window."""


class AuthError(APIError):
    """The provider did not accept who is asking."""


class AuthenticationError(AuthError):
    """The key or token is wrong (401; Gemini says 400 API_KEY_INVALID)."""


class AccessDeniedError(AuthError):
    """The key is good, and may not do this (403)."""


class NotFoundError(APIError):
    """The model or resource does not exist (404)."""


class RateLimitError(APIError):
    """Too many requests for now (429)."""


class QuotaError(RateLimitError):
    """A quota that does not refill soon is used up; never retried."""


class ServerError(APIError):
    """The provider failed (5xx)."""


class OverloadedError(ServerError):
    """The provider has no capacity at the moment (503, 529)."""


class BlockedError(WireError):
    """Prompt or answer was blocked by the provider's filters."""


class ConnectionLost(WireError):
    """There was no response, or its body broke off; `partial` has what had arrived."""


class ClockError(WireError):
    """A time that the caller set ran out; the class says which."""


class ConnectClock(ClockError):
    """No connection within the connect time."""


class FirstByteClock(ClockError):
    """No response within the first-byte time."""


class IdleClock(ClockError):
    """No event within the idle time; comments and keep-alives are no events."""


class TotalClock(ClockError):
    """The call, attempts and waits together, took longer than the total time."""


class StreamError(WireError):
    """The answer came, and cannot be taken as whole."""


class StreamIncomplete(StreamError):
    """The answer ended without a finish, or its stream was left before its end; `partial` has what
    had arrived."""


class StreamInvalid(StreamError):
    """What came is not what the wire allows; the message shows its beginning."""


class OutputError(WireError):
    """The answer is whole, and does not fit what `output=` asked for; `partial` is the reply."""


class LimitError(WireError):
    """Event, body, ratio, depth or headers are over the limit."""


class CassetteError(WireError):
    """A recording cannot be read, written or matched."""


class ToolError(WireError):
    """A tool cannot be defined or called."""


class PipelineError(WireError):
    """A pipeline cannot be read or run."""


# --- what every wire's error reader shares --------------------------------------------------------

_BY_STATUS: dict[int, type[APIError]] = {
    400: BadRequestError,
    401: AuthenticationError,
    403: AccessDeniedError,
    404: NotFoundError,
    413: BadRequestError,
    422: BadRequestError,
    429: RateLimitError,
    503: OverloadedError,
    529: OverloadedError,
}

RETRYABLE_STATUS = frozenset({408, 409, 429})


def class_of_status(status: int) -> type[APIError]:
    """The class of an error answer that says nothing but its HTTP status."""
    found = _BY_STATUS.get(status)
    if found is None:
        found = ServerError if status >= 500 else APIError
    return found


def retryable_status(status: int) -> bool:
    """Whether the same request may succeed a little later (R-15)."""
    return status in RETRYABLE_STATUS or status >= 500
