"""The errors of this library, as one tree::

    WireError
    ├── ConfigurationError             nothing was sent: key, provider, option, name of the model
    │   └── FieldError                 a struct has no such field, or lacks one; also a `TypeError`
    ├── RuleError                      nothing was sent: `.violations` has paths and remedies
    │   ├── HistoryError               the turns of a conversation cannot be sent as they are
    │   └── SchemaError                a schema cannot be written in the wire's dialect
    ├── APIError                       the provider answered with an error
    │   ├── BadRequestError            400, 413, 422
    │   │   └── ContextLengthError     the input is longer than the model's window
    │   ├── AuthError
    │   │   ├── AuthenticationError    401, and Gemini's 400 API_KEY_INVALID
    │   │   └── AccessDeniedError      403
    │   ├── NotFoundError              404
    │   ├── RequestTimeoutError        408, and DEADLINE_EXCEEDED and its like
    │   ├── RateLimitError             429
    │   │   └── QuotaError             a hard quota: waiting a minute does not help, never retried
    │   └── ServerError                5xx
    │       └── OverloadedError        503, 529
    ├── BlockedError                   neutral API only: prompt or response blocked
    ├── ConnectionLost                 no response, or its body broke off
    ├── ClockError                     a timeout expired
    │   ├── ConnectClock  ├── FirstByteClock  ├── IdleClock  └── TotalClock
    ├── StreamError                    the response is incomplete or malformed
    │   ├── StreamIncomplete           it ended without a finish reason, or was left early
    │   └── StreamInvalid              it is malformed
    ├── OutputError                    a complete response does not fit `output=`
    ├── FallbackError                  none of several models answered: `.failures` has their errors
    ├── LimitError                     event, body, ratio, depth or headers over the limit
    └── CassetteError, ToolError, PipelineError     of `testing`, `tools`, `pipeline`

Every error can be pickled. A message is one line of at most 2 KiB without control characters (R-12,
R-34). No name shadows a built-in one.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from wire.core.credentials import without_known
from wire.core.lazy import Foreign, lazy_pattern, no_attribute
from wire.core.printable import UNSAFE, printable_line

if TYPE_CHECKING:
    from wire.core.account import Account, Preview

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
    "FallbackError",
    "FieldError",
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
    "RequestTimeoutError",
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
"""Bytes of a message. A longer one is cut in the middle, because servers put the reason at either
end.
"""

_KEPT_AT_EACH_END = 32 * 1024
"""Characters of a message that are stored. They are masked before the message is cut further."""

_CONTROL = lazy_pattern(f"[{UNSAFE}]+")


def _text(value: object) -> str:
    """Return `str(value)`, or the class of a value whose `__str__` raises.

    Building an error never raises.
    """
    try:
        return value if isinstance(value, str) else str(value)
    except Exception:
        return type(value).__name__


def _line(value: Any) -> Any:
    """Remove control characters from a server's text, which is printed and logged (R-34)."""
    return printable_line(value) if isinstance(value, str) else value


def _items(value: Any) -> tuple[Any, ...]:
    """Return the items of an iterable; a tuple of the value itself if it is not iterable."""
    try:
        return tuple(value)
    except Exception:
        return (value,)


def _cleaned(text: str) -> str:
    kept = _KEPT_AT_EACH_END
    if len(text) > 2 * kept:
        text = text[:kept] + text[-kept:]
    return _CONTROL().sub(" ", text).strip()


def one_line(text: str, limit: int = MESSAGE_LIMIT) -> str:
    """Make a text safe for a log line of at most `limit` bytes.

    >>> one_line("first\\nsecond"), one_line("x" * 20, 15)
    ('first second', 'xxxxx ... xxxxx')

    Runs of control characters and line ends become one space. A longer text is cut in the middle.
    """
    text = _cleaned(text)
    data = text.encode("utf-8")
    if len(data) <= limit:
        return text
    half = (limit - 5) // 2
    return f"{data[:half].decode('utf-8', 'ignore')} ... {data[-half:].decode('utf-8', 'ignore')}"


def ungrouped(error: BaseException) -> BaseException:
    """Return the exception to raise in place of a group, so that `except` clauses match it.

    >>> ungrouped(ExceptionGroup("tasks", [ValueError("x"), KeyError("y")])).__notes__
    ["raised together with KeyError('y')"]

    Prefers an exception that ends the program (`KeyboardInterrupt`, `SystemExit`), then a
    cancellation, then the first one. Its notes name the others. An exception that is not a group is
    returned unchanged.
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
    """Return the exceptions in a group, at every depth; any other exception in a list."""
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    return [leaf for each in error.exceptions for leaf in leaves(each)]


def _rank(error: BaseException) -> int:
    if isinstance(error, (KeyboardInterrupt, SystemExit)):
        return 0
    return 2 if isinstance(error, Exception) else 1


class Violation(msgspec.Struct, frozen=True, repr_omit_defaults=True):
    """One rule that a request breaks, and the refusal with which a server would respond.

    >>> print(Violation("contents", "is empty", remedy="add a turn"))
    contents: is empty (add a turn)
    """

    path: str
    """JSON path of the field."""
    message: str
    """Description of the violation."""
    rule: str = ""
    """Id of the rule in docs/rules.md; empty if it has none."""
    severity: str = "error"
    """`error`: servers refuse it. `warning`: older servers refuse it, some do, or it is ignored."""
    remedy: str = ""
    """Value or change to send instead; empty if there is no single remedy."""
    status: int = 400
    """HTTP status of the refusal; `code` is the name of that status."""
    code: str = "INVALID_ARGUMENT"
    """Name of the status, as the server sends it."""
    words: str = ""
    """Message of the server; empty if it equals `message`."""
    field: str = ""
    """Path in the server's spelling, if its response has the path in a field of its own."""
    layer: str = ""
    """`parser`: a server reports all such violations together. `validator`: it stops at the first.
    Empty if neither.
    """

    def __str__(self) -> str:
        where = f"{self.path}: " if self.path else ""
        rule = f" [{self.rule}]" if self.rule else ""
        remedy = f" ({self.remedy})" if self.remedy else ""
        # Paths and names in it are those of a request, of a model or of a server.
        return printable_line(f"{where}{self.message}{rule}{remedy}")


class Received:
    """Bytes of a body; `repr` shows their size only, since they may contain the key (R-29)."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        self.data: bytes = data

    def __repr__(self) -> str:
        return f"<{len(self.data)} bytes>"


class Deferred:
    """A `partial` of an error that is folded on first use.

    Folding a long stream takes seconds, and most callers of a failed one do not use the fold.
    """

    __slots__ = ("fold",)

    def __init__(self, fold: Callable[[WireError], Any]) -> None:
        self.fold: Callable[[WireError], Any] = fold
        """Function that receives the error. The object does not hold the error, to avoid reference
        cycles."""


class WireError(Exception):
    """Base of all errors of this library.

    >>> error = WireError("no capacity", provider="gemini", status=503, retryable=True)
    >>> print(error)
    gemini: 503: no capacity
    >>> error.retryable, error.retry_after
    (True, None)

    Every error has all fields; `None` or empty means "not known":

    - `provider`, the provider's own `code`, `request_id`;
    - `status`: the HTTP status of the response that failed, or the one that an error in a stream
      names; 200, or 101 of a socket, if a response began well and then failed; `None` without a
      response. `str(error)` leaves out 101 and 2xx;
    - `retryable`: whether the call may be sent again; false once a part of the answer was handed
      out, since a repetition would repeat it; `retry_after` in seconds as the server requested it;
    - `attempts`: how many were made;
    - `retry_budget_empty`: whether another attempt was not made because earlier retries to this
      host had used up the budget of `Retry.budget`;
    - `partial`: the result of the chunks before the error, folded when it is first read;
    - `raw`: the body of the response as received. Of a stream, only the event that is malformed
      or was cut; what the events before it say is in `partial`;
    - `response_headers`: the headers of the response, what looks like a credential hidden;
    - `preview`: the request, as `client.preview(call)` returns it. A `RuleError` has the request
      that was not sent, if a chat or a client refused a complete one;
    - `account`: attempts, waits, bytes and times of the call.

    Otherwise the last three are empty if nothing was sent. `preview` refers to the body of the
    request, so an error that is kept keeps the body; a copy of the error refers to the same bytes,
    and a pickle contains them.
    """

    args: tuple[Any, ...]
    """The message, as for other exceptions."""

    _partial: Any
    preview: Preview | None
    """The request that was sent, or that was refused before, with keys hidden; `None` if there was
    none."""
    account: Account | None
    """Attempts, waits, bytes and times of the call; `None` if nothing was sent."""

    if not TYPE_CHECKING:
        __getattr__ = Foreign.__getattr__

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
        # Bad values are quoted in many places, and any of them may be a key.
        self._full_message = without_known(_cleaned(_text(message)))
        super().__init__(self.message)
        self.provider = provider
        self.status = status
        self.code: str | None = _line(code)
        self.request_id: str | None = _line(request_id)
        self.retryable = retryable
        self.retry_after = retry_after
        self.attempts = attempts
        self.retry_budget_empty = False
        self.preview = self.account = None
        self.response_headers: dict[str, str] = {}
        self.partial = partial
        self._raw = Received(raw)

    @property
    def message(self) -> str:
        """The message, in one line."""
        return one_line(self._full_message)

    @property
    def partial(self) -> Any:
        """The result of the chunks before the error; `None` if there were none.

        It is also `None` if they cannot be folded; a note of the error then reports why.
        """
        if isinstance(self._partial, Deferred):
            try:
                self._partial = self._partial.fold(self)
            except Exception as error:  # the chunks are untrusted, and this error is what counts
                self._partial = None
                self.add_note(f"partial: it cannot be folded: {one_line(repr(error))}")
        return self._partial

    @partial.setter
    def partial(self, partial: Any) -> None:
        self._partial = partial

    @property
    def raw(self) -> bytes:
        """The body of the response as received. It may contain your key: do not log it."""
        return self._raw.data

    def __str__(self) -> str:
        # A 2xx status is not the cause of the error, nor is that of a socket that was opened. Some
        # hosts repeat the status as their code.
        good = isinstance(self.status, int) and (200 <= self.status < 300 or self.status == 101)
        status_and_code = " ".join(
            dict.fromkeys(
                one_line(_text(word), 80)
                for word in (None if good else self.status, self.code)
                if word is not None
            )
        )
        head = ": ".join(
            one_line(word, 80) for word in (_text(self.provider), status_and_code) if word
        )
        attempts = (
            f"after {self.attempts} attempts"
            if isinstance(self.attempts, int) and self.attempts > 1
            else ""
        )
        budget = "the retry budget of this host is used up" if self.retry_budget_empty else ""
        facts = ", ".join(filter(None, (attempts, budget)))
        tail = f" ({facts})" if facts else ""
        return f"{head}: {self.message}{tail}" if head else f"{self.message}{tail}"

    def __repr__(self) -> str:
        return f'{type(self).__name__}("{self}")'

    def __reduce__(self) -> tuple[Any, ...]:
        self.partial  # noqa: B018  folds it, since a function cannot be pickled
        return _restore, (type(self), self._full_message, dict(self.__dict__))

    def masked(self, mask: Callable[[str], str]) -> None:
        """Replace message and code by `mask` of them; `raw` is unchanged (R-29).

        The full message is masked, before its middle is cut: a cut could split a key, and its
        halves would no longer be recognised.
        """
        try:
            message, code = mask(self._full_message), self.code and mask(self.code)
        except Exception as cause:
            problem = f"mask: expected a function of a text; it raised {type(cause).__name__}"
            raise ConfigurationError(problem) from None
        if not isinstance(message, str) or not isinstance(code, str | None):
            raise ConfigurationError("mask: expected a function that returns a text")
        self._full_message, self.code = message, code
        self.args = (self.message,)


def add_to_message(error: WireError, words: str) -> None:
    """Add words to the end of a message, for whoever knows more of what to do."""
    error._full_message += words
    error.args = (error.message,)


def convert_partial(error: WireError, convert: Callable[[Any, WireError], Any]) -> None:
    """Apply `convert` to the `partial` of an error, when it is first read."""
    before = error._partial

    def fold(error: WireError) -> Any:
        return convert(before.fold(error) if isinstance(before, Deferred) else before, error)

    if before is not None:
        error.partial = Deferred(fold)


def _restore(cls: type[WireError], message: str, state: dict[str, Any]) -> WireError:
    error = cls(message)
    error.__dict__.update(state)
    return error


class ConfigurationError(WireError):
    """Nothing was sent: key, provider, option or model name is missing or invalid.

    Remedy: set the option or the environment variable that the message names.
    """


class FieldError(ConfigurationError, TypeError):
    """Nothing was sent: a struct was built with a field that it does not have, or without one."""


class RuleError(WireError):
    """Nothing was sent: the request breaks rules. `violations` lists them with JSON paths.

    Remedy: send what `remedy` of each violation says, or make the raw call with
    `checked=False`.
    """

    def __init__(
        self, message: str = "", *, violations: Iterable[Violation] = (), **fields: Any
    ) -> None:
        self.violations: tuple[Violation, ...] = tuple(
            map(_without_credentials, _items(violations))
        )
        unsaid = isinstance(message, str) and not message
        super().__init__("; ".join(map(_text, self.violations)) if unsaid else message, **fields)


def _without_credentials(violation: Any) -> Any:
    if not isinstance(violation, Violation):
        return violation
    path, message = without_known(_text(violation.path)), without_known(_text(violation.message))
    if path == violation.path and message == violation.message:
        return violation
    return msgspec.structs.replace(violation, path=path, message=message)


def refuse(
    violations: Iterable[Violation], error: type[RuleError] = RuleError, *, provider: str = ""
) -> None:
    """Raise `error` for the violations of severity `error`, if any; ignore warnings."""
    errors = [each for each in violations if each.severity == "error"]
    if errors:
        raise error(violations=errors, provider=provider)


def violations_below(path: str, error: RuleError) -> list[Violation]:
    """Return the violations of one request among several, whose own path is `path`."""
    return [
        msgspec.structs.replace(
            each,
            path=f"{path}{'' if each.path.startswith('[') else '.'}{each.path}"
            if each.path
            else path,
        )
        for each in error.violations
    ]


class HistoryError(RuleError):
    """The turns of a conversation cannot be brought into the order that the wire requires.

    Remedy: let a chat keep the turns, or mend a list of your own with `wire.history.repair`.
    """


class SchemaError(RuleError):
    """A JSON Schema cannot be written in the wire's dialect without changing what it accepts.

    Remedy: change the keyword at the path that the message names.
    """


class APIError(WireError):
    """The provider responded with an error; `details` has the fields besides the message.

    Remedy: read `message` and `preview`; the vendor's support wants `request_id`.
    """

    def __init__(self, message: str = "", *, details: Iterable[Any] = (), **fields: Any) -> None:
        self.details: tuple[Any, ...] = _items(details)
        super().__init__(message, **fields)


class BadRequestError(APIError):
    """The provider refused the request as invalid (400, 413, 422).

    Remedy: read `message`, which names the field, then `preview.body`.
    """


class ContextLengthError(BadRequestError):
    """The input is longer than the model's context window.

    Remedy: shorten the history with `wire.history.prune`, or take a model with a larger window.
    """


class AuthError(APIError):
    """The provider refused the credentials.

    Remedy: look at `describe()["key"]` of the client, which says where the key came from.
    """


class AuthenticationError(AuthError):
    """The key or token is invalid (401; Gemini responds with 400 API_KEY_INVALID).

    Remedy: give a valid key of this vendor and region as `api_key=` or in the vendor's
    variable.
    """


class AccessDeniedError(AuthError):
    """The key is valid, but lacks the permission (403).

    Remedy: enable the API or the model in the vendor's console, or take another project.
    """


class NotFoundError(APIError):
    """The model or resource does not exist (404).

    Remedy: look at `preview.url`; `wire models` lists the names of the models.
    """


class RequestTimeoutError(APIError):
    """The provider gave up on the request after a time of its own (408, `DEADLINE_EXCEEDED`).

    A timeout of this library is a `ClockError`.

    Remedy: send a smaller request, or stream it.
    """


class RateLimitError(APIError):
    """Too many requests for now (429).

    Remedy: wait `retry_after` seconds, or give the calls one `Pace`.
    """


class QuotaError(RateLimitError):
    """A quota that does not refill soon is exhausted; never retried.

    Remedy: raise the quota, pay the bill, or take another model.
    """


class ServerError(APIError):
    """The provider failed (5xx).

    Remedy: ask again later, or take another model with `FallbackChat`.
    """


class OverloadedError(ServerError):
    """The provider has no capacity at the moment (503, 529).

    Remedy: ask again later, or take another model with `FallbackChat`.
    """


class BlockedError(WireError):
    """The provider's filters blocked the prompt or the response.

    Remedy: change the prompt, or the safety settings where the vendor has them.
    """


class ConnectionLost(WireError):
    """No response, or its body broke off; `partial` is the result so far.

    Remedy: look at the host and the proxy in the message; `describe()` has both.
    """


class ClockError(WireError):
    """A timeout of `Timeouts` expired; the class names it.

    Remedy: give more time with `Timeouts`, or stream the answer.
    """


class ConnectClock(ClockError):
    """No connection within the connect time.

    Remedy: look at the host and the proxy, then give `Timeouts(connect=)` more seconds.
    """


class FirstByteClock(ClockError):
    """No response within the first-byte time.

    Remedy: stream the answer, or give `Timeouts(first_byte=)` more seconds.
    """


class IdleClock(ClockError):
    """No event within the idle time; comments and keep-alives are not events.

    Remedy: ask again, or give `Timeouts(idle=)` more seconds.
    """


class TotalClock(ClockError):
    """The call with its attempts and waits took longer than the total time.

    Remedy: give `Timeouts(total=)` more seconds, or ask for less.
    """


class StreamError(WireError):
    """A response is incomplete or malformed.

    Remedy: ask again; `partial` is the result so far.
    """


class StreamIncomplete(StreamError):
    """A response ended without a finish reason, or its stream was left before the end.

    `partial` is the result so far.

    Remedy: ask again, or let the model go on from `partial`.
    """


class StreamInvalid(StreamError):
    """A response is malformed; the message shows the beginning of the malformed part.

    Remedy: read `raw` and `response_headers`: a proxy may have answered in the vendor's place.
    """


class OutputError(WireError):
    """A complete response does not fit `output=`; `partial` is the reply.

    Remedy: read the text of `partial`, then change the type or the prompt.
    """


class FallbackError(WireError):
    """Every model failed; `failures` has the error of each model that was asked.

    Remedy: read each error of `failures`.
    """

    failures: dict[str, WireError]
    """Name of a model to its error: the name as it was given, such as `gemini:gemini-3.8-flash`, or
    `provider:model` of a chat. A name that an earlier model has is followed by the position, as in
    `gemini:gemini-3.8-flash (models[1])`. Skipped models are not in it; the message names them."""

    def __init__(self, *args: Any, **fields: Any) -> None:
        super().__init__(*args, **fields)
        self.failures = {}


class LimitError(WireError):
    """An event, body, compression ratio, nesting depth or header exceeds its limit.

    Remedy: raise the field of `Limits` that the message names, if you trust the server.
    """


class CassetteError(WireError):
    """A recording cannot be read, written or matched.

    Remedy: record again with `--record-mode`, or change the request as `differences` say.
    """

    differences: tuple[Any, ...] = ()
    """The differences of a request without a match to the closest recorded one:
    `wire.testing.Difference`, with `path`, `recorded` and `sent`."""


class ToolError(WireError):
    """A tool cannot be defined or called.

    Remedy: change the tool where the message says.
    """


class PipelineError(WireError):
    """A pipeline cannot be read or run.

    Remedy: change the pipeline where the message says; `attractor lint` finds more.
    """


# --- shared by the error readers of all wires -----------------------------------------------------

_BY_STATUS: dict[int, type[APIError]] = {
    400: BadRequestError,
    401: AuthenticationError,
    403: AccessDeniedError,
    404: NotFoundError,
    408: RequestTimeoutError,
    413: BadRequestError,
    422: BadRequestError,
    429: RateLimitError,
    503: OverloadedError,
    529: OverloadedError,
}

RETRYABLE_STATUS = frozenset({408, 409, 429})


def class_of_status(status: int) -> type[APIError]:
    """Return the error class of an HTTP status."""
    by_status = _BY_STATUS.get(status)
    if by_status is None:
        by_status = ServerError if status >= 500 else APIError
    return by_status


def retryable_status(status: int) -> bool:
    """Return whether the same request may succeed later (R-15)."""
    return status in RETRYABLE_STATUS or status >= 500


def invalid(cause: Exception, raw: bytes = b"") -> StreamInvalid:
    """Build the error of a response whose decoding raised `cause`, its `__cause__`.

    >>> try:
    ...     {}["id"]
    ... except KeyError as cause:
    ...     error = invalid(cause)
    >>> error.message.partition(" in ")[0], error.__cause__
    ("the response cannot be decoded: KeyError('id')", KeyError('id'))

    The message names the function and the line, because the cause has no frames left.
    """
    import traceback  # for errors only

    frames = traceback.extract_tb(cause.__traceback__)
    where = (
        f" in {frames[-1].name}, {os.path.basename(frames[-1].filename)}:{frames[-1].lineno}"
        if frames
        else ""
    )
    error = StreamInvalid(f"the response cannot be decoded: {_shown(cause)}{where}", raw=raw)
    error.__cause__ = frameless(cause)
    return error


def _shown(cause: Exception) -> str:
    try:
        return repr(cause)
    except Exception:  # of an exception class of the caller's
        return type(cause).__name__


_SENT = frozenset({"_request", "request", "response"})
"""Attributes of exceptions of httpx and httpx2."""


def frameless(cause: BaseException) -> BaseException:
    """Remove the frames of an exception and of its causes, which may hold a key (R-28).

    The request of an exception of httpx is removed too, because its headers hold the key.
    """
    todo: list[BaseException | None] = [cause]
    seen: set[int] = set()
    while todo:
        each = todo.pop()
        if each is not None and id(each) not in seen:
            seen.add(id(each))
            each.__traceback__ = None
            for name in _SENT.intersection(vars(each)):
                setattr(each, name, None)
            todo += [each.__cause__, each.__context__]
    return cause


def __getattr__(name: str) -> Any:
    raise no_attribute("wire.errors", name, __all__)


def __dir__() -> list[str]:
    return list(__all__)


# Tracebacks and pickles name the module from which users import the classes.
for _name in __all__:
    globals()[_name].__module__ = "wire.errors"


def _typed() -> Callable[[Exception], None]:
    # Names of this function, as those of a module become `None` in the end.
    is_finalizing, lost, ours = sys.is_finalizing, ConnectionLost, WireError

    def typed_at_the_end(raised: Exception) -> None:
        """Raise a `ConnectionLost` in place of a foreign exception, if the interpreter ends.

        A call in a `__del__` works then with what has been loaded before. An import fails, so that
        Python raises exceptions that have nothing to do with the call.

        >>> typed_at_the_end(ImportError("no such module"))
        """
        if not is_finalizing() or isinstance(raised, ours):
            return
        problem = f"the interpreter ends, and has unloaded what the call needs: {raised!r}"
        try:
            error = lost(problem)
        except Exception:  # the names of its module are `None`
            error = lost.__new__(lost, problem)
        raise error from None

    return typed_at_the_end


typed_at_the_end = _typed()
