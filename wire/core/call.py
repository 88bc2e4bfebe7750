"""An endpoint is a value: what to send and how to read the answer, with no I/O and no HTTP
library.
"""

from __future__ import annotations

import dataclasses
import math
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, Self, TypeAlias, TypeVar
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from wire.core.decoders import decoder
from wire.core.json_values import checked
from wire.core.memory import Note, encode
from wire.core.provider import Provider
from wire.core.secret import SHOWN, Headers, checked_headers, sealed, shown_headers
from wire.errors import APIError, ConfigurationError, RuleError, Violation, WireError

Answer = TypeVar("Answer")
Chunk = TypeVar("Chunk")
Chunk_co = TypeVar("Chunk_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Four clocks, in seconds; `None` switches one off.

    `connect`: until there is a connection. `first_byte`: from the start of an attempt to the head
    of its answer, waiting for a free lane included. `idle`: between events of a stream, where
    comments and keep-alives are no events, and between reads of a whole answer. `total`: the call
    with all attempts and waits; a stream until its last event.

    On asyncio and trio they are kept to the moment. The client for threads cannot interrupt a read:
    where bytes drip in, a clock is looked at after each read of a body, and the head of an answer
    is timed read by read.
    """

    connect: float | None = 10.0
    first_byte: float | None = 300.0
    idle: float | None = 120.0
    total: float | None = None

    def __post_init__(self) -> None:
        for each in dataclasses.fields(self):
            seconds = getattr(self, each.name)
            if seconds is not None and not (
                isinstance(seconds, (int, float)) and 0 < seconds < math.inf
            ):
                raise ConfigurationError(
                    f"timeouts.{each.name}: a positive number of seconds or None, not {seconds!r}"
                )


class Reader(Protocol[Chunk_co]):
    """Bytes of one body in, chunks out.

    It raises nothing: what went wrong stands in `error` after the chunks before it.
    """

    error: WireError | None
    """Why no chunk will come any more, or `None`."""
    done: bool
    """The wire's own terminator was read: nothing that follows belongs to the answer."""
    finished: bool
    """The last chunk carried a finish: the answer is whole as far as its sender says."""
    notes: list[Note]
    """What was dropped in reading; `wire.notes` tells it of the folded answer."""

    def feed(self, data: bytes) -> Sequence[Chunk_co]:
        """Chunks that `data` completes."""
        ...

    def close(self) -> Sequence[Chunk_co]:
        """Chunks that the end of the body completes; `error` is set if it came too early."""
        ...


class EventSource(Protocol):
    """What a stream hands out in place of the chunks that it reads."""

    def feed(self, chunk: Any, /) -> Sequence[Any]:
        """What one chunk says, which may be nothing."""
        ...

    def close(self, answer: Any, /) -> Sequence[Any]:
        """What is left to say of a stream that came to its end; `answer` is what it folds to.

        Raises the `WireError` that it means.
        """
        ...


class ReadError(Protocol):
    """Makes of an error answer the typed error that the wire's words ask for."""

    def __call__(self, status: int, headers: Mapping[str, str], body: bytes) -> APIError:
        """The error; it never raises one."""
        ...


Convert: TypeAlias = Callable[[Any, WireError | None], Answer]
"""Makes the caller's answer of a folded one, and of the error that the stream broke with (`None` if
it did not break). An answer that is not whole has `wire.core.memory.PARTIAL` in its notes."""


_HIDDEN = re.compile(r"((?:[A-Za-z]+ )?)\*\*\*")
_VALUE = re.compile(r"(?<==)[^&]+")

LOOPBACK = re.compile(r"localhost|127(\.\d{1,3}){3}|\[?::1\]?|[^.]+\.localhost")
"""Hosts that are this machine: what is sent to them travels in no wire."""


@dataclass(frozen=True, slots=True)
class Preview:
    """What would be sent: no key in it, and none needed.

    `str` gives it as HTTP, `curl` as a command line.
    """

    method: str
    url: str
    headers: dict[str, str]
    body: bytes

    def __str__(self) -> str:
        head = [
            f"{self.method} {self.url}",
            *(f"{name}: {value}" for name, value in self.headers.items()),
        ]
        body = (
            f"<{len(self.body)} bytes>"
            if _is_binary(self.body)
            else self.body.decode("utf-8", "replace")
        )
        return "\n".join([*head, "", body]).rstrip("\n")

    @property
    def curl(self) -> str:
        """A command line that sends the same; hidden headers stand there as shell variables to be
        set.
        """
        words = ["curl", "-sS", "-X", self.method, shlex.quote(self.url)]
        for name, value in self.headers.items():
            hidden = _HIDDEN.fullmatch(value)
            words += [
                "-H",
                f'"{name}: {hidden[1]}$API_KEY"' if hidden else shlex.quote(f"{name}: {value}"),
            ]
        if self.body:
            words += [
                "--data-binary",
                "@-"
                if _is_binary(self.body)
                else shlex.quote(self.body.decode("utf-8", "replace")),
            ]
        return " ".join(words)


def _is_binary(body: bytes) -> bool:
    """A piece of a file, which nobody reads on a terminal."""
    return b"\0" in body


@dataclass(frozen=True, slots=True)
class _Request:
    """The half of a call that is sent."""

    wire: str
    method: str
    path: str
    body: bytes = b""
    query: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    headers: Headers = field(default_factory=dict, kw_only=True)
    timeouts: Timeouts | None = field(default=None, kw_only=True)
    host_rules: Callable[[Any, Provider], Any] | None = field(
        default=None, kw_only=True, repr=False
    )
    """What `judge` asks: given this call and a provider, the call as that provider takes it.

    Raises `RuleError` for what the provider refuses, `ConfigurationError` for an endpoint that it
    does not have. `None`: every provider takes the call as it is.
    """
    path_prefix: str = field(default="", kw_only=True, repr=False)
    """Stands before the version: `/upload` of `/upload/v1beta/files`."""
    url: str = field(default="", kw_only=True, repr=False)
    """A whole URL that a server handed out, in place of path and query; https, or a loopback
    address. It is a permission of its own: no key and no header of the client goes there, and it is
    shown without the values of its query."""
    idempotent: bool = field(default=True, kw_only=True, repr=False)
    """False: sending it twice has a different effect, so it is never retried automatically."""
    notes: tuple[Note, ...] = field(default=(), kw_only=True, repr=False)
    """What was changed, added or dropped in building it; `wire.notes(call)` tells it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "headers", checked_headers(sealed(self.headers)))
        query: object = self.query
        if not isinstance(query, Mapping) or not all(
            isinstance(each, str) for pair in query.items() for each in pair
        ):
            raise ConfigurationError("query: a mapping of texts to texts is wanted")
        if self.url and (self.path or self.query):
            raise ConfigurationError("url: it is in place of path and query")
        if self.url and (problem := _unsafe(self.url)):
            raise ConfigurationError(f"url: {problem}")
        if not isinstance(self.timeouts, Timeouts | None):
            raise ConfigurationError(
                f"timeouts: a Timeouts is wanted, not {type(self.timeouts).__name__}"
            )

    def replace(
        self,
        *,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        body_extra: Mapping[str, Any] | None = None,
        timeouts: Timeouts | None = None,
    ) -> Self:
        """A copy with more headers, query parameters or top-level keys of the body (what is there
        is replaced), or other clocks.

        Raises `ConfigurationError` for what is no header, `RuleError` for what JSON cannot say.

        >>> from wire import gemini
        >>> call = gemini.generate_content(
        ...     "gemini-3-pro-preview",
        ...     gemini.GenerateContentRequest(contents=gemini.contents("Hi")),
        ... )
        >>> call.replace(body_extra={"labels": {"team": "a"}}).body
        b'{"contents":[{"parts":[{"text":"Hi"}],"role":"user"}],"labels":{"team":"a"}}'
        """
        return dataclasses.replace(
            self,
            headers=self.headers
            if headers is None
            else {**self.headers, **checked_headers(sealed(headers))},
            query=query
            if query is not None and not isinstance(query, Mapping)
            else {**self.query, **(query or {})},
            body=_extended(self.body, body_extra) if body_extra else self.body,
            timeouts=self.timeouts if timeouts is None else timeouts,
        )

    def judge(self, provider: Provider) -> Self:
        """This call as `provider` takes it. Every door asks before it sends.

        Raises `RuleError` for what the provider refuses, `ConfigurationError` for an endpoint that
        it does not have.
        """
        if self.host_rules is None:
            return self
        judged: Self = self.host_rules(self, provider)
        return judged

    @property
    def target(self) -> str:
        """Path and query, percent-encoded; or the whole URL that a server handed out."""
        if self.url:
            return self.url
        path = quote(self.path, safe="/:@!$&'()*+,;=~-._")
        return f"{path}?{urlencode(self.query, quote_via=quote)}" if self.query else path

    def preview(self) -> Preview:
        """What would be sent, without a host: that is the client's to know."""
        return Preview(
            self.method,
            self.shown(self.path_prefix + self.target),
            shown_headers(self.headers),
            self.body,
        )

    def shown(self, url: str) -> str:
        """Its URL as it may be printed."""
        return (
            f"{url.partition('?')[0]}?{_VALUE.sub(SHOWN, urlsplit(url).query)}"
            if self.url and "?" in url
            else url
        )


def _unsafe(url: str) -> str | None:
    """Why nothing is sent to a URL that a server handed out; the query, which may be a permission,
    is not told.
    """
    try:
        parts = urlsplit(
            url
            if isinstance(url, str) and url.isascii() and url.isprintable() and " " not in url
            else ""
        )
        host = (
            parts.hostname
            if parts.port != 0 and parts.username is None and not parts.fragment
            else None
        )
    except ValueError:
        return "an http(s) URL is wanted"  # brackets that do not close, a port that is none
    if not host or parts.scheme not in ("http", "https"):
        return "an http(s) URL with a host is wanted, without user and fragment"
    if parts.scheme == "http" and not LOOPBACK.fullmatch(host):
        return f"https is wanted for {host}, or what is sent would travel in the open"
    return None


def _extended(body: bytes, extra: Mapping[str, Any]) -> bytes:
    if not isinstance(extra, Mapping):
        raise RuleError(
            violations=[
                Violation(
                    "body_extra",
                    f"a mapping of keys to values is wanted, not {type(extra).__name__}",
                )
            ]
        )
    try:
        merged: dict[str, Any] = decoder(dict[str, msgspec.Raw]).decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise RuleError(
            violations=[Violation("body_extra", "this call has no JSON object for a body")]
        ) from None
    added = {
        key: msgspec.Raw(encode(value)) for key, value in checked(dict(extra), "body_extra").items()
    }
    return msgspec.json.encode(merged | added)


@dataclass(frozen=True, slots=True)
class Call(_Request, Generic[Answer]):
    """One request whose whole answer is an `Answer`."""

    parse: Callable[[bytes], Answer] = field(kw_only=True, repr=False)
    read_error: ReadError = field(kw_only=True, repr=False)
    read_headers: Callable[[Answer, Mapping[str, str]], Answer] | None = field(
        default=None, kw_only=True, repr=False
    )
    """Given the answer and the headers that it came under: the answer with what they say.

    `None`: they say nothing.
    """


@dataclass(frozen=True, slots=True)
class StreamCall(_Request, Generic[Chunk, Answer]):
    """One request answered by a stream of `Chunk`.

    `reader` makes the reader of one answer, given the most bytes that one event may have. `fold`
    makes of the bytes that the chunks came in what the plain call would have given. The neutral
    door hands out something else: as `Chunk` what `events` makes of the chunks, as `Answer` what
    `convert` makes of the folded answer.
    """

    reader: Callable[[int], Reader[Any]] = field(kw_only=True, repr=False)
    events: Callable[[], EventSource] | None = field(default=None, kw_only=True, repr=False)
    fold: Callable[[Sequence[msgspec.Raw]], Any] = field(kw_only=True, repr=False)
    convert: Convert[Answer] | None = field(default=None, kw_only=True, repr=False)
    read_error: ReadError = field(kw_only=True, repr=False)
