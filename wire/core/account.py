"""The preview of a request, and the account of its call. Errors hold both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from wire.core.decoders import decoder
from wire.core.lazy import lazy_pattern
from wire.core.printable import printable_line

if TYPE_CHECKING:
    from wire.core.rate_limits import RateLimit


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
    """Bytes of the request body, or of the messages that a session sent."""
    received: int = 0
    """Bytes of the response body, or of the messages that a session received."""
    first_byte: float | None = None
    """Seconds from the start of the call to the headers of the last response."""
    first_event: float | None = None
    """Seconds from the start of the call to the first event of a stream."""
    seconds: float | None = None
    """Seconds from the start of the call to its complete response, or to its failure."""
    request_id: str | None = None
    """The provider's id of the request; `None` if no header has one."""
    events: int = 0
    """Number of chunks of a stream, or of messages that a session received; else 0."""
    sent_events: int = 0
    """Number of messages that a session sent."""
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
        from wire.core.rate_limits import rate_limit_headers

        return rate_limit_headers(self.response_headers)

    @property
    def limits(self) -> tuple[RateLimit, ...]:
        """The rate limits that the last response reports, in its body and its headers.

        They are parsed when this is read. A header that is malformed gives no value; it is still
        in `response_headers`.
        """
        from wire.core.rate_limits import header_limits  # many programs never read it

        return (*self.error_limits, *header_limits(self.response_headers, self.received_at or 0.0))


class Form(Protocol):
    """A body that is read in pieces: `wire.core.multipart.Multipart`, which few calls load."""

    @property
    def content_type(self) -> str:
        """Value of the header `content-type`."""
        ...

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[bytes]: ...

    def shown(self) -> bytes:
        """Return the body with `<N bytes>` in place of each file."""
        ...

    def curl_words(self) -> list[str]:
        """Return the options of curl that send the same form."""
        ...


_HIDDEN = lazy_pattern(r"((?:[A-Za-z]+ )?)\*\*\*")


_MODEL_IN_QUERY = lazy_pattern(r"[?&]model=([^&]+)")
_MODEL_IN_PATH = lazy_pattern(r"/(?:models|tunedModels|deployments)/([^/?#]+)")


class _Model(msgspec.Struct):
    model: str = ""


class Preview(msgspec.Struct, frozen=True):
    """A request as it is sent, without its key and without the credentials in its body.

    `str` formats it as HTTP, `curl` as a command line; `repr` shows the size of the body only.
    `client.preview(call)` returns it before the call is sent, `error.preview` after it failed.
    """

    method: str
    url: str
    headers: dict[str, str]
    body: bytes
    """With `***` in place of credentials, such as the token of an MCP server; of a form, with
    `<N bytes>` in place of each file."""
    form: Form | None = None
    key_variable: str = "API_KEY"
    """The environment variable that `curl` takes hidden values from; that of the vendor where a
    client made the preview."""

    @property
    def model(self) -> str:
        """The model that the body or the path names; empty if neither does."""
        try:
            model = decoder(_Model).decode(self.body).model
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            model = ""  # a file, or a body whose `model` is not a text
        from urllib.parse import unquote

        if not model and (match := _MODEL_IN_QUERY().search(self.url)):  # of a session
            return printable_line(unquote(match[1]))
        if not model and (match := _MODEL_IN_PATH().search(self.url)):
            model = unquote(match[1])
            if self.method == "POST":  # Gemini's paths have the name of the method after a colon
                model = model.partition(":")[0]
        return printable_line(model)

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [
            ("method", self.method),
            ("url", self.url),
            ("headers", self.headers),
            ("body", f"<{len(self.body)} bytes>"),
        ]

    def __repr__(self) -> str:
        return (
            f"Preview({self.method!r}, {self.url!r}, headers={self.headers!r}, "
            f"body=<{len(self.body)} bytes>)"
        )

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
        if self.form is not None:  # whose lines end in CRLF
            body = body.replace("\r\n", "\n")
        return "\n".join([*head, "", body]).rstrip("\n")

    @property
    def curl(self) -> str:
        """A command line that sends the same request; `$OPENAI_API_KEY`, or the variable of another
        vendor, stands for hidden values."""
        import shlex  # few programs print a command line

        words = ["curl", "-sS", "-X", self.method, shlex.quote(self.url)]
        for name, value in self.headers.items():
            if self.form is not None and name.lower() == "content-type":
                continue  # curl writes one with its own boundary
            hidden = _HIDDEN().fullmatch(value)
            words += [
                "-H",
                f'"{name}: {hidden[1]}${self.key_variable}"'
                if hidden
                else shlex.quote(f"{name}: {value}"),
            ]
        if self.form is not None:
            words += self.form.curl_words()
        elif self.body:
            words += [
                "--data-binary",
                "@-"
                if _is_binary(self.body)
                else shlex.quote(self.body.decode("utf-8", "replace")),
            ]
        return " ".join(words)


def _is_binary(body: bytes) -> bool:
    """Return whether a body is not text, such as a part of a file."""
    return b"\0" in body
