"""The account of a call: attempts, waits, bytes and times. It is metadata of the result."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from wire.core.errors import WireError
from wire.core.memory import ACCOUNT
from wire.core.printable import printable_line

if TYPE_CHECKING:
    from wire.core.masking import Mask
    from wire.core.rate_limits import RateLimit

_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")
MAX_WAIT = 1e9
"""Seconds. A server that asks for a longer wait is mistaken, so the wish is ignored."""
_REQUEST_IDS = (
    "x-request-id",
    "request-id",
    "x-goog-request-id",
    "x-cloud-trace-context",
    "cf-ray",
)


class Account(msgspec.Struct):
    """Attempts, waits, bytes and times of one call.

    `client.account(result)` returns it; an error of the call has it as `error.account`.

    >>> from wire import Chat
    >>> from wire.testing.emulator import Emulator, EmulatorTransport
    >>> http = EmulatorTransport(Emulator([{"say": "Hello."}]))
    >>> with Chat("gemini:gemini-3.8-flash", api_key="fake-key", http=http) as chat:
    ...     account = chat.client.account(chat.ask("Hi"))
    >>> account.attempts, account.status
    (1, 200)

    Times are seconds since the call began. Bytes are those of the bodies of the last attempt, as
    sent and received, before decompression.
    """

    attempts: int = 0
    """Number of requests that were sent, the first one included."""
    waits: list[float] = msgspec.field(default_factory=list)
    """Seconds of each pause between attempts."""
    status: int | None = None
    """HTTP status of the last response; `None` if none came."""
    sent: int = 0
    """Bytes of the request body."""
    received: int = 0
    """Bytes of the response body."""
    first_byte: float | None = None
    """When the headers of the last response had arrived."""
    first_event: float | None = None
    """When the first event of a stream had arrived."""
    seconds: float | None = None
    """When the response was complete, or the call had failed."""
    request_id: str | None = None
    """The provider's id of the request; `None` if no header has one."""
    events: int = 0
    """Number of chunks of a stream; 0 for a call that is not streamed."""
    received_at: float | None = None
    """When the headers of the last response had arrived, in seconds since 1970."""
    response_headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    """The headers of the last response by their names in lower case; credentials are hidden. They
    are masked when they are first read; JSON of an account needs `enc_hook=dict`."""
    error_limits: tuple[Any, ...] = ()
    """The rate limits that the body of a 429 names, if that was the last response."""

    @property
    def rate_limits(self) -> dict[str, str]:
        """The headers of the last response that report rate limits, as received."""
        from wire.core.response_headers import rate_limit_headers  # many calls need no headers

        return rate_limit_headers(self.response_headers)

    @property
    def limits(self) -> tuple[RateLimit, ...]:
        """The rate limits that the last response reports, in its body and its headers.

        They are parsed when this is read. A header that is malformed gives no value; it is still
        in `response_headers`.
        """
        from wire.core.rate_limits import header_limits  # many programs read none

        return (*self.error_limits, *header_limits(self.response_headers, self.received_at or 0.0))


class ResponseHeaders(Mapping[str, str]):
    """Headers by their names in lower case; credentials in them are `***`.

    They are masked when somebody reads them: few programs do, and it costs more than decoding a
    small reply. Until then the secrets of `mask` stay alive; with `at_once`, what they hide is
    masked now, and they are not kept.
    """

    __slots__ = ("_masked", "_masking")

    def __init__(self, headers: Mapping[str, str], mask: Mask, *, at_once: bool = False) -> None:
        self._masked: dict[str, str] = {}
        kept = None if at_once else mask
        received = mask.value(dict(headers)) if at_once else headers
        # A function, as in `Secret`: attributes with texts would show what is not masked yet.
        self._masking: Callable[[], dict[str, str]] | None = lambda: _shown(received, kept)

    def _shown(self) -> dict[str, str]:
        masking = self._masking
        if masking is not None:
            self._masked = masking()
            self._masking = None  # after the result: another thread may be between the two
        return self._masked

    def __getitem__(self, name: str) -> str:
        return self._shown()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._shown())

    def __len__(self) -> int:
        return len(self._shown())

    def __repr__(self) -> str:
        return repr(self._shown())

    def __copy__(self) -> ResponseHeaders:
        return self

    def __deepcopy__(self, memo: object) -> ResponseHeaders:
        return self

    def __reduce__(self) -> tuple[type[dict[str, str]], tuple[dict[str, str]]]:
        return dict, (self._shown(),)


def _shown(headers: Mapping[str, str], mask: Mask | None) -> dict[str, str]:
    from wire.core.response_headers import shown  # many programs read no headers

    return shown(headers if mask is None else mask.value(dict(headers)))


def answer_account(answer: Any) -> Account | None:
    """The account of a received result or of an error; `None` if no client of this process received
    it.

    `client.account(result)` and `error.account` are the same.
    """
    if isinstance(answer, WireError):
        return answer.account
    account: Account | None = getattr(answer, "__dict__", {}).get(ACCOUNT)
    return account


def keep_account(answer: Any, account: Account) -> None:
    """Attach the account to a result as metadata, unless its type has no room for it."""
    metadata = getattr(answer, "__dict__", None)
    if metadata is not None:
        metadata[ACCOUNT] = account


def request_id(headers: Mapping[str, str]) -> str | None:
    """The provider's id of the request; `None` if no header has one."""
    id = next((headers[name] for name in _REQUEST_IDS if name in headers), None)
    return id and printable_line(id)  # it is printed and logged


def error_limits(error: WireError, now: float) -> tuple[RateLimit, ...]:
    """The rate limits that the body of an error names, if it is a 429 (Google, OpenRouter)."""
    if error.status != 429 or not error.raw:
        return ()
    from wire.core.rate_limits import body_limits  # few calls end so

    return body_limits(error.raw, now)


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that the server wants the client to wait.

    Reads milliseconds, seconds and dates. Any other value is ignored.

    >>> retry_after({"retry-after": "2.5"}, 0), retry_after({"retry-after": "-1"}, 0)
    (2.5, None)
    """
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        text = headers.get(name, "").strip()
        seconds = float(text) * scale if _NUMBER.fullmatch(text) else _until(text, now)
        if seconds is not None and seconds <= MAX_WAIT:
            return seconds
    return None


def _until(text: str, now: float) -> float | None:
    if not text:
        return None
    # Both cost more than a third of `import httpx`, and few servers send a date.
    import datetime
    import email.utils

    try:
        date = email.utils.parsedate_to_datetime(text)
        # A date without a zone is in GMT (RFC 9110), not in the local zone.
        return max(
            0.0, (date if date.tzinfo else date.replace(tzinfo=datetime.UTC)).timestamp() - now
        )
    except (ValueError, TypeError, OverflowError):
        return None


def completed(error: WireError, headers: Mapping[str, str], now: float) -> WireError:
    """Add request id, wait and retryability from the response headers to an error.

    Of a wait in the body and one in the headers, the longer one counts.
    """
    error.request_id = error.request_id or request_id(headers)
    seconds = retry_after(headers, now)
    if seconds is not None:
        error.retry_after = max(seconds, error.retry_after or 0.0)
    should_retry = headers.get("x-should-retry")
    if should_retry in ("true", "false"):
        error.retryable = should_retry == "true"
    return error
