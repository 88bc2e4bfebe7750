"""Calls: a request as a value, and how to decode its response. No I/O."""

from __future__ import annotations

import enum
import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Generic, Protocol, Self, TypeAlias, TypeVar

import msgspec

from wire.core.account import Form, Preview
from wire.core.arguments import HALF_PAIR, checked_arguments
from wire.core.chunk_bytes import TextChunk
from wire.core.credentials import SHOWN, hidden_in_url
from wire.core.decoders import decoder
from wire.core.errors import (
    APIError,
    ConfigurationError,
    RuleError,
    Violation,
    WireError,
    frameless,
)
from wire.core.fields import Fields
from wire.core.hosts import origin_of
from wire.core.json_values import checked
from wire.core.lazy import lazy_pattern
from wire.core.limits import Limits
from wire.core.memory import Note, encode, steps_of
from wire.core.provider import Provider
from wire.core.retry import Retry
from wire.core.secret import (
    Headers,
    Secret,
    checked_headers,
    quoted,
    seal_fields,
    sealed_headers,
    sealed_query,
    shown_headers,
    type_name,
    unsealed,
)

Answer = TypeVar("Answer")
Chunk = TypeVar("Chunk")
Chunk_co = TypeVar("Chunk_co", covariant=True)
Sent = TypeVar("Sent")
Received = TypeVar("Received")


_LONGEST = float(1 << 53)
"""Seconds: a longer time is no time limit, and `inf` is written None."""


class Timeouts(msgspec.Struct, frozen=True, metaclass=Fields):
    """Four time limits in seconds; `None` switches one off.

    >>> Timeouts(idle=30, total=None).idle
    30

    Each limit interrupts what the call waits for, on asyncio and trio and in threads. In a thread
    nothing can interrupt the resolution of a name, nor what a transport of your own does before
    the response headers on a connection that it kept or that is not a socket: there the limits are
    checked after each read.

    Raises `ConfigurationError` that names the field with a bad value.
    """

    connect: float | None = 10.0
    """Until a connection is open: TCP, the CONNECT of a proxy, and TLS."""
    first_byte: float | None = 300.0
    """From the start of an attempt to the response headers, the wait for a free connection
    included."""
    idle: float | None = 120.0
    """Between two events of a stream, and between two reads of any other body. Comments and
    keep-alives are not events. The time between an event and the next read does not count."""
    total: float | None = 900.0
    """The call with all its attempts and waits, for a stream until its last event."""

    def __post_init__(self) -> None:
        seal_fields(self)
        for name in self.__struct_fields__:
            seconds = getattr(self, name)
            if seconds is not None and not (
                isinstance(seconds, (int, float))
                and not isinstance(seconds, bool)
                and 0 < seconds < _LONGEST
            ):
                raise ConfigurationError(
                    f"timeouts.{name}: expected a positive number of seconds or None, "
                    f"not {quoted(seconds)}"
                )


NO_TIMEOUTS = Timeouts(connect=None, first_byte=None, idle=None, total=None)


def timeouts_of(given: object) -> Timeouts:
    """Convert the option `timeouts` to time limits.

    >>> timeouts_of(30)
    Timeouts(connect=30, first_byte=30, idle=30, total=900.0)

    As `timeout` of httpx, a number limits each single wait, the one for a connection included, and
    `None` switches all limits off. `total` has no counterpart there: it keeps its default.

    Raises `ConfigurationError` for another value.
    """
    if given is None:
        return NO_TIMEOUTS
    if isinstance(given, Timeouts):
        return given
    expected = "a positive number of seconds, a Timeouts or None"
    if not isinstance(given, (int, float)) or isinstance(given, bool):
        raise ConfigurationError(f"timeouts: expected {expected}, not {type_name(given)}")
    if not 0 < given < math.inf:
        raise ConfigurationError(f"timeouts: expected {expected}, not {quoted(given)}")
    return Timeouts(connect=given, first_byte=given, idle=given)


class ClientDefault(enum.Enum):
    """The type of `USE_CLIENT_DEFAULT`."""

    USE_CLIENT_DEFAULT = "the client's"

    def __repr__(self) -> str:
        return self.name


USE_CLIENT_DEFAULT = ClientDefault.USE_CLIENT_DEFAULT
"""The default of `timeouts` and `retry` of a request: those of the client apply. `None` has another
meaning there, the same as for a client.
"""


class Reader(Protocol[Chunk_co]):
    """Decodes one body incrementally into chunks.

    It raises nothing. `error` is set after the chunks before the error were returned.
    """

    error: WireError | None
    """The error that ended the body, or `None`."""
    done: bool
    """The terminator of the wire was read. Bytes after it are ignored."""
    finished: bool
    """The last chunk had a finish reason: the response is complete."""
    notes: list[Note]
    """Reports of dropped values; `wire.notes` returns them for the folded response."""

    def feed(self, data: bytes) -> Sequence[Chunk_co]:
        """Return the chunks that `data` completes."""
        ...

    def close(self) -> Sequence[Chunk_co]:
        """Return the last chunks at the end of the body; set `error` if it ended too early."""
        ...


class EventSource(Protocol):
    """Converts the chunks of a stream to the events that its caller sees."""

    def feed(self, chunk: Any, /) -> Sequence[Any]:
        """Return the events of one chunk, perhaps none."""
        ...

    def close(self, answer: Any, /) -> Sequence[Any]:
        """Return the last events of a complete stream; `answer` is the folded response.

        Raises a `WireError` if the response means one.
        """
        ...


class TextSource(EventSource, Protocol):
    """An `EventSource` that also takes texts in place of chunks."""

    def feed_texts(self, texts: Sequence[str], /) -> Sequence[Any]:
        """Return the events of chunks that repeat the last one with other texts."""
        ...


class ReadError(Protocol):
    """Maps an error response to a typed error."""

    def __call__(self, status: int, headers: Mapping[str, str], body: bytes) -> APIError:
        """Return the error; never raise."""
        ...


Convert: TypeAlias = Callable[[Any, WireError | None], Answer]
"""Converts the folded response and the error that ended the stream (`None`: none) to the result of
the call. An incomplete response has `wire.core.memory.PARTIAL` in its notes."""


_VALUE = lazy_pattern(r"(?<==)[^&]+")


_PLAIN_HEADERS: tuple[dict[str, str], ...] = ({}, {"content-type": "application/json"})
"""Headers of most calls; to check them and to search them for credentials would cost time."""


class _Message(msgspec.Struct, frozen=True):
    """The fields of a request that may be given by position."""

    wire: str
    method: str
    path: str
    body: bytes = b""


_OPTIONAL_FUNCTIONS = frozenset(
    {"host_rules", "amend", "read_headers", "follow", "events", "convert", "resume", "turns"}
)


class _Request(_Message, frozen=True, kw_only=True):
    """The request of a call."""

    _functions: ClassVar[tuple[str, ...]] = ()
    """The fields that are functions."""
    _structs: ClassVar[tuple[str, ...]] = ()
    """The fields that are types of structs, or `None`."""
    query: Mapping[str, str | Sequence[str] | Secret] = msgspec.field(default_factory=dict)
    """Values that may be credentials are stored as a `Secret`. A list repeats its parameter."""
    headers: Headers = msgspec.field(default_factory=dict)
    timeouts: Timeouts | None = None
    """`None`: those of the client."""
    retry: Retry | None = None
    """`None`: the policy of the client. `wire.retry.NONE` switches retries off for this call."""
    host_rules: Callable[[Any, Provider], Any] | None = None
    """Function behind `judge`: adapts this call to a provider.

    Raises `RuleError` for a request that the provider refuses, `ConfigurationError` for an endpoint
    that it does not have. `None`: no provider has rules for the call.
    """
    amend: Callable[[Any, WireError], Any] | None = None
    """Returns the call that is sent in place of this one after an error, or `None` for an error
    that another call would end in, too. It is asked once, and counts as an attempt."""
    path_prefix: str = ""
    """Path before the version: `/upload` in `/upload/v1beta/files`."""
    url: str = ""
    """A complete URL that a server returned, such as an upload URL. Replaces path and query.

    It is https or a loopback address. A client sends nothing to a private host, unless its own base
    URL is private too. The URL itself grants access, so no key and no header of the client is sent
    to it, and the values of its query are hidden in previews and logs."""
    form: Form | None = None
    """A body that is read in pieces while it is sent, in place of `body`."""
    idempotent: bool = True
    """False: sending it twice has another effect, so it is never retried, whatever `retry` is."""
    turns: Callable[[], Any] | None = None
    """Makes the `wire.core.turns.Turns` of a WebSocket on which such calls follow each other, which
    a client with `connection="socket"` opens. `None`: they go over HTTP."""
    notes: tuple[Note, ...] = ()
    """Notes on changes, additions and omissions while the call was built; see `wire.notes`."""

    def __post_init__(self) -> None:
        is_plain = type(self.headers) is dict and self.headers in _PLAIN_HEADERS
        if not is_plain:
            msgspec.structs.force_setattr(self, "headers", sealed_headers(self.headers))
        if self.query != {}:
            msgspec.structs.force_setattr(self, "query", sealed_query(self.query))
        headers = dict(self.headers) if is_plain else checked_headers(self.headers)
        msgspec.structs.force_setattr(self, "headers", headers)
        if self.query and not _is_texts(self.query):
            raise ConfigurationError("query: expected a mapping of str to str, or to lists of str")
        for name in ("wire", "url"):
            if not isinstance(given := getattr(self, name), str):
                raise ConfigurationError(f"{name}: expected a str, not {type(given).__name__}")
        if self.url and (self.path or self.query):
            raise ConfigurationError("url: expected either url, or path and query")
        for name in ("path", "path_prefix"):
            path: object = getattr(self, name)
            # Without the slash it would continue the host of the base URL.
            if not isinstance(path, str) or not (path.startswith("/") or path == ""):
                raise ConfigurationError(f"{name}: expected a text that begins with /")
            if not path.isascii() and HALF_PAIR().search(path):
                raise ConfigurationError(f"{name}: it has {_HALF}")
        if self.url and (problem := _unsafe(self.url)):
            raise ConfigurationError(f"url: {problem}")
        _check_body(self.form, self.body)
        if not isinstance(self.timeouts, Timeouts | None):
            raise ConfigurationError(
                f"timeouts: expected a Timeouts, not {type(self.timeouts).__name__}"
            )
        if not isinstance(self.retry, Retry | None):
            raise ConfigurationError(f"retry: expected a Retry, not {type(self.retry).__name__}")
        for name in self._functions:
            function = getattr(self, name)
            if not callable(function) and not (function is None and name in _OPTIONAL_FUNCTIONS):
                raise ConfigurationError(f"{name}: expected a function, not {type_name(function)}")
        for name in self._structs:
            kind = getattr(self, name)
            if kind is not None and not (
                isinstance(kind, type) and issubclass(kind, msgspec.Struct)
            ):
                raise ConfigurationError(f"{name}: expected a type of structs, or None")

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        from wire.core.secret_fields import masked_body

        # Not the functions, and not `url`, which grants access.
        shown = ("wire", "method", "path", "body", "query", "headers", "timeouts", "retry")
        fields = [(name, getattr(self, name)) for name in shown]
        return [(name, masked_body(each) if name == "body" else each) for name, each in fields]

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.__rich_repr__())
        return f"{type(self).__name__}({shown})"

    def secrets(self) -> list[Secret]:
        """Return the headers and parameters of this call that may be credentials."""
        values = (*(self.headers or {}).values(), *(self.query or {}).values())
        return [each for each in values if isinstance(each, Secret)]

    @checked_arguments(ConfigurationError)
    def replace(
        self,
        *,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str | Sequence[str]] | None = None,
        body_extra: Mapping[str, Any] | None = None,
        timeouts: Timeouts | None = None,
        retry: Retry | None = None,
    ) -> Self:
        """Return a copy with other headers, query parameters, body keys, timeouts or retry policy.

        A header, parameter or key of the same name is replaced. A key of `body_extra` is a JSON
        path as errors write it: `mood` is a key of the body, `tools[0].mood` one of its first tool,
        `["a.b"]` one with a dot in its name. Raises `ConfigurationError` for an invalid header or
        query, `RuleError` for a value that JSON cannot represent, and for a path that leads through
        an object or a list item that the body does not have.

        >>> from wire import gemini
        >>> request = gemini.GenerateContentRequest(contents=gemini.contents("Hi"))
        >>> call = gemini.generate_content("gemini-3.8-flash", request)
        >>> call.replace(body_extra={"labels": {"team": "a"}}).body
        b'{"contents":[{"parts":[{"text":"Hi"}],"role":"user"}],"labels":{"team":"a"}}'
        >>> call.replace(body_extra={"contents[0].parts[0].mood": "calm"}).body
        b'{"contents":[{"parts":[{"text":"Hi","mood":"calm"}],"role":"user"}]}'
        """
        headers, query = sealed_headers(headers), sealed_query(query)
        return msgspec.structs.replace(
            self,
            headers=self.headers
            if headers is None
            else {**self.headers, **checked_headers(headers)},
            query=query
            if query is not None and not isinstance(query, Mapping)
            else {**self.query, **(query or {})},
            body=_extended(self.body, body_extra) if body_extra else self.body,
            timeouts=self.timeouts if timeouts is None else timeouts,
            retry=self.retry if retry is None else retry,
        )

    def judge(self, provider: Provider) -> Self:
        """Adapt this call to `provider`. Clients do so before they send.

        Raises `RuleError` for a request that the provider refuses, `ConfigurationError` for an
        endpoint that it does not have.
        """
        if self.host_rules is None:
            return self
        try:
            judged: Self = self.host_rules(self, provider)
        except WireError:
            raise
        except Exception as cause:  # of a call that the user made
            problem = f"call.host_rules raised {type_name(cause)}"
            raise ConfigurationError(problem, provider=provider.name) from frameless(cause)
        if not isinstance(judged, _Request):
            problem = f"call.host_rules returned a {type_name(judged)}, not a call"
            raise ConfigurationError(problem, provider=provider.name)
        return judged

    @property
    def target(self) -> str:
        """Path and query, percent-encoded; or `url`."""
        if self.url:
            return self.url
        path = _quoted(self.path)
        if not self.query:
            return path
        from urllib.parse import quote, urlencode

        query = {name: unsealed(value) for name, value in self.query.items()}
        try:
            return f"{path}?{urlencode(query, doseq=True, quote_via=quote)}"
        except UnicodeEncodeError:
            pass  # its text has the value
        raise ConfigurationError(f"query: it has {_HALF}")

    def preview(self) -> Preview:
        """Return a preview of the request without its host, which only a client knows."""
        from wire.core.secret_fields import masked_body  # few programs preview a request

        return Preview(
            self.method,
            self.shown(self.path_prefix + self.target),
            shown_headers(self.headers),
            masked_body(self.body if self.form is None else self.form.shown()),
            self.form,
        )

    @checked_arguments(ConfigurationError)
    def shown(self, url: str) -> str:
        """Return `url` without credentials; a URL from a server loses all its query values."""
        if not self.url or "?" not in url:
            return hidden_in_url(url)
        from urllib.parse import urlsplit

        return f"{url.partition('?')[0]}?{_VALUE().sub(SHOWN, urlsplit(url).query)}"


_HALF = "half of a surrogate pair, which no URL can encode"


@functools.lru_cache(maxsize=256)
def _quoted(path: str) -> str:
    from urllib.parse import quote

    # A name in a segment may have an escaped slash; no other name has one (`path_segment`).
    return quote(path, safe="/:@!$&'()*+,;=~-._").replace("%252F", "%2F")


def _is_texts(query: Any) -> bool:
    """Return whether a query maps texts to texts or lists of texts, which may be sealed."""
    return isinstance(query, Mapping) and all(
        isinstance(name, str) and (isinstance(value, tuple) or isinstance(unsealed(value), str))
        for name, value in query.items()
    )


def _check_body(form: object, body: object) -> None:
    if not isinstance(body, bytes | bytearray | memoryview):
        raise ConfigurationError(f"body: expected bytes, not {type_name(body)}")
    if form is None:
        return
    from wire.core.multipart import Multipart

    if not isinstance(form, Multipart) or body:
        raise ConfigurationError("form: expected a Multipart, without a body beside it")


def _unsafe(url: str) -> str | None:
    """Return why a URL from a server is refused.

    The text omits the URL's query, which may grant access.
    """
    try:
        origin = origin_of(url)
    except ValueError as problem:
        return f"expected {problem}"
    if origin.scheme == "http" and not origin.is_loopback:
        return f"expected https for {origin.host}: plain http would send the request unencrypted"
    return None


def _extended(body: bytes, extra: Mapping[str, Any]) -> bytes:
    if not isinstance(extra, Mapping):
        raise RuleError(
            violations=[
                Violation(
                    "body_extra",
                    f"expected a mapping of keys to values, not {type(extra).__name__}",
                )
            ]
        )
    if body.lstrip()[:1] != b"{":
        raise RuleError(
            violations=[Violation("body_extra", "the body of this call is not a JSON object")]
        )
    extended = msgspec.Raw(body)
    for key, value in extra.items():
        path = '[""]' if key == "" else key  # an empty text is a key, not a path
        where = f"body_extra{path if str(path).startswith('[') else f'.{path}'}"
        try:
            path.encode()
            steps = steps_of(path)
        except (AttributeError, TypeError, ValueError):
            raise RuleError(
                violations=[
                    Violation("body_extra", f"expected a JSON path as key, not {quoted(path)}")
                ]
            ) from None
        try:
            extended = _set(extended, steps, msgspec.Raw(encode(checked(value, where))))
        except (LookupError, msgspec.DecodeError, UnicodeDecodeError):
            raise RuleError(
                violations=[
                    Violation(
                        where,
                        "the body has no such object or list item",
                        remedy="set a key of an object that the body has",
                    )
                ]
            ) from None
    return bytes(extended)


def _set(raw: msgspec.Raw, steps: Sequence[str | int], value: msgspec.Raw) -> msgspec.Raw:
    """Replace the value at a path of a JSON value, and keep the bytes of everything else.

    Raises `LookupError` or `DecodeError` if the path leads through a missing value, or through one
    that is neither an object nor a list.
    """
    if not steps:
        return value
    step, *rest = steps
    if isinstance(step, int):
        items = decoder(list[msgspec.Raw]).decode(raw)
        items[step] = _set(items[step], rest, value)
        return msgspec.Raw(msgspec.json.encode(items))
    fields = decoder(dict[str, msgspec.Raw]).decode(raw)
    fields[step] = _set(fields[step], rest, value) if rest else value
    return msgspec.Raw(msgspec.json.encode(fields))


class Call(_Request, Generic[Answer], frozen=True, kw_only=True):
    """One request whose body is decoded at once, to an `Answer`.

    >>> from wire import gemini
    >>> gemini.get_model("gemini-3.8-flash").target
    '/models/gemini-3.8-flash'
    """

    _functions = ("host_rules", "amend", "parse", "read_error", "read_headers", "follow", "turns")
    parse: Callable[[bytes], Answer]
    """Decodes the body of a 2xx response."""
    read_error: ReadError
    """Maps a response of another status to an error."""
    read_headers: Callable[[Answer, Mapping[str, str]], Answer] | None = None
    """Hook that adds information from the response headers to the decoded response."""
    any_content: bool = False
    """The body may be anything, such as sound, so that the limits for JSON do not apply. So it is
    for a `parse` that is `bytes`."""
    follow: Callable[[Any, Any], Any] | None = None
    """Returns the flow of the calls that continue the answer, with the whole answer as its result;
    `None` if it is whole. The arguments are this call and its answer."""


class StreamCall(_Request, Generic[Chunk, Answer], frozen=True, kw_only=True):
    """One request whose response is a stream of `Chunk`.

    `reader` creates the reader of one response, within the limits of the client. `fold` combines
    the bytes of the chunks to the response of the plain call; `text_chunk` is the struct of a
    chunk whose text may be joined to its neighbour's before that. A neutral call also sets
    `events`, which converts chunks to events, and `convert`, which converts the folded response to
    a `Reply`.

    >>> from wire import gemini
    >>> request = gemini.GenerateContentRequest(contents=gemini.contents("Hi"))
    >>> gemini.stream_generate_content("gemini-3.8-flash", request).target
    '/models/gemini-3.8-flash:streamGenerateContent?alt=sse'
    """

    _functions = (
        *("host_rules", "amend", "reader", "events", "fold", "convert", "read_error", "resume"),
        "turns",
    )
    _structs = ("text_chunk",)
    reader: Callable[[Limits], Reader[Any]]
    """Creates the reader of one response, within the limits of the client."""
    events: Callable[[], EventSource] | None = None
    """Creates the source that converts chunks to events; `None`: the chunks are the events."""
    fold: Callable[[Sequence[msgspec.Raw]], Any]
    """Combines the bytes of the chunks to the response of the plain call."""
    text_chunk: type[TextChunk] | None = None
    """Struct of a chunk whose text may be joined to its neighbour's before `fold`."""
    convert: Convert[Answer] | None = None
    """Converts the folded response to the result of the call."""
    read_error: ReadError
    """Maps a response of another status than 2xx to an error."""
    resume: Callable[[Any, Any], Any] | None = None
    """Returns the call that continues the stream of this call, and prepares its reader for another
    body; `None` if the server cannot continue it. The arguments are this call and the reader. It
    is asked after a stream broke off, and after one whose reader `continues`. Only the request of
    the returned call counts."""


class SocketCall(_Request, Generic[Sent, Received], frozen=True, kw_only=True):
    """One request that opens a WebSocket, on which both sides send messages.

    `client.connect(call)` opens it. The request of the handshake is a GET; the headers of the
    handshake are those of the client's transport.
    """

    _functions = ("host_rules", "amend", "encode", "parse", "read_error")
    encode: Callable[[Sent], bytes]
    """Encodes one message, and refuses what is none."""
    parse: Callable[[bytes], Received]
    """Decodes one message of the server."""
    read_error: ReadError
    """Maps a response that refuses the handshake to an error."""
