"""The structs of a cassette: one indented JSON document.

It holds no count, length or checksum of its content, so it can be edited by hand (C-28); only a
side file is checked against its name. Its first key holds the version; later releases still read
every earlier version (C-29).
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from wire.core.errors import ConfigurationError
from wire.testing.cassette.format.json_paths import parsed
from wire.testing.cassette.format.json_style import ON_ONE_LINE, Escapes, Layout
from wire.testing.cassette.format.side_files import DIGEST, Coding

VERSION = 1

End = Literal["eof", "reset", "cut", "timeout", "closed by the caller"]
"""How a body ended. `eof`: complete. `reset`: the connection was reset. `cut`: the connection was
closed before the announced end. `timeout`: no byte arrived in time. `closed by the caller`: the
caller stopped reading. Replay raises after the last byte unless it is `eof` (C-04, C-05).

Of a session, `eof`: the server closed it, with the code in `close`. `cut`: the connection ended
without a close, or by bytes that are no message. `timeout`: the server was silent for too long.
`closed by the caller`: the program left it."""

Direction = Literal["sent", "received"]
"""Who sent a message of a session. `sent`: the client. `received`: the server."""

Framing = Literal["crlf", "lf", "crlf tight", "lf tight"]
"""Line ends of an event stream. `tight` means no blank after the colon of a field."""

OneLine = Annotated[str, Meta(pattern=r"^[^\r\n]*$")]
Lines = list[str]

BODY_FORMS = ("json", "events", "text", "base64", "file")
EVENT_FORMS = ("json", "data", "comment", "text", "base64")
_MAX_REASON = 123
_LINE_END = re.compile(r"[\r\n]")


class _Strict(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Base of all structs here. An unknown key, which may be a misspelt one, is an error."""


class SideFile(_Strict, frozen=True, kw_only=True):
    """A file in the folder beside the cassette, whose name is that of the cassette and `.files`."""

    sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")]
    """The file's name, and the SHA-256 of its content."""
    type: str
    """Media type."""
    length: Annotated[int, Meta(ge=0)]
    """Bytes."""
    coding: Coding | UnsetType = UNSET
    """How JSON has the content. The token `<sha256:...>` stands in the JSON in its place."""

    def __post_init__(self) -> None:
        # Checked here too, because the `$` of the pattern accepts a line end at the end.
        if not DIGEST.fullmatch(self.sha256):
            raise ValueError("sha256: expected 64 hexadecimal digits in lower case")


class Event(_Strict, frozen=True, kw_only=True, gc=False):
    """One event of a stream: its fields if they reproduce its bytes in the framing of its body,
    else its text, else base64.
    """

    event: OneLine | UnsetType = UNSET
    """The field `event`: its kind."""
    id: OneLine | UnsetType = UNSET
    """The field `id`."""
    retry: Annotated[int, Meta(ge=0)] | UnsetType = UNSET
    """The field `retry`, in milliseconds."""
    outside: bool = False
    """True: the JSON stands between the events, without `data:`, as errors of some servers do."""
    before: Annotated[str, Meta(pattern=r"^[\ufeff \t\r\n]*$")] | UnsetType = UNSET
    """White space before the first line. After a blank, `data:` is not a field of SSE."""
    end: Annotated[str, Meta(pattern=r"^[\r\n]*$")] | UnsetType = UNSET
    """The bytes after the last line. Without it: its line end and a blank line."""
    layout: Layout | UnsetType = UNSET
    """Present only if it differs from the body's. One line, unless the JSON is `outside`."""
    escapes: Escapes | UnsetType = UNSET
    """Present only if it differs from the body's."""
    pad: Annotated[int, Meta(ge=1)] | UnsetType = UNSET
    """Number of blanks before the last brace. Anthropic inserts them to hide lengths."""
    json: msgspec.Raw | UnsetType = UNSET
    """The field `data`, if it is a JSON object or array."""
    data: OneLine | UnsetType = UNSET
    """The field `data`, if it is another text, such as `[DONE]`."""
    comment: OneLine | UnsetType = UNSET
    """The text of a comment."""
    text: Lines | UnsetType = UNSET
    """Lines with their ends, of an event that its fields do not reproduce."""
    base64: Lines | UnsetType = UNSET
    """The bytes of an event that is not UTF-8."""

    def __post_init__(self) -> None:
        form = _only_one(self, EVENT_FORMS)
        if form not in ("json", "data") and (self.event, self.id, self.retry) != (
            UNSET,
            UNSET,
            UNSET,
        ):
            raise ValueError(
                f"event, id and retry are allowed with json or data only, not with {form}"
            )
        if form in ("text", "base64") and (self.before, self.end) != (UNSET, UNSET):
            raise ValueError(f"before and end are not allowed with {form}, which has all bytes")
        if self.outside and (form, self.event, self.id, self.retry) != (
            "json",
            UNSET,
            UNSET,
            UNSET,
        ):
            raise ValueError("outside is allowed with json only, without event, id and retry")
        if not self.outside and self.layout not in (UNSET, *ON_ONE_LINE):
            raise ValueError(
                f"layout: expected a layout on one line for an event, not {self.layout!r}"
            )
        if any(
            _LINE_END.search(value)
            for value in (self.event, self.id, self.data, self.comment)
            if value is not UNSET
        ):
            # Checked here too, because the `$` of the pattern accepts a line end at the end.
            raise ValueError("a field of an event cannot contain a line end; use text")
        _check_base64(self.base64)


class Body(_Strict, frozen=True, kw_only=True):
    """A body in a readable form: a JSON value with its style, events, lines of text, base64, or a
    side file.
    """

    framing: Framing | UnsetType = UNSET
    """How the events are framed. Without it: `lf`."""
    layout: Layout | UnsetType = UNSET
    """The white space of the JSON. Without it: `compact`."""
    escapes: Escapes | UnsetType = UNSET
    r"""The characters that are written as `\u` escapes. Without it: `raw`."""
    before: str | UnsetType = UNSET
    """White space before the JSON."""
    after: str | UnsetType = UNSET
    """White space after the JSON."""
    files: list[SideFile] | UnsetType = UNSET
    """Side files whose tokens are in the JSON of the body or of its events."""
    json: msgspec.Raw | UnsetType = UNSET
    """A JSON object or array. Its numbers, the order of its keys and its repeated keys are those
    that were received."""
    events: list[Event] | UnsetType = UNSET
    """An event stream."""
    text: Lines | UnsetType = UNSET
    """Lines with their ends. The body is their concatenation."""
    base64: Lines | UnsetType = UNSET
    """A body that is not UTF-8, in lines of 76 columns. On loading, lines may have any length."""
    file: SideFile | UnsetType = UNSET
    """The whole body as a side file: binary, and larger than 4 KiB."""

    def __post_init__(self) -> None:
        form = _only_one(self, BODY_FORMS)
        if self.files is not UNSET:
            if form not in ("json", "events"):
                raise ValueError(f"files are allowed with json or events only, not with {form}")
            if any(each.coding is UNSET for each in self.files):
                raise ValueError("files: each needs its coding")
        if form == "events" and self.layout not in (UNSET, *ON_ONE_LINE):
            raise ValueError(
                f"layout: expected a layout on one line for events, not {self.layout!r}"
            )
        _check_base64(self.base64)


class Request(_Strict, frozen=True, kw_only=True):
    """A sent request, without its secrets."""

    method: str
    """As sent, such as `POST`."""
    url: str
    """Without user, password and fragment. The values of keys in the query are `***`. That of a
    session begins with `wss:` or `ws:`."""
    headers: dict[str, str] = {}
    """Those of the allow-list, with names in lower case, sorted."""
    redacted: list[str] | UnsetType = UNSET
    """JSON paths in the body, or in sent messages, whose values were replaced by `[redacted]`
    (C-13)."""
    body: Body | UnsetType = UNSET
    """Absent if nothing was sent."""

    def __post_init__(self) -> None:
        _check_paths(self.redacted)


class Close(_Strict, frozen=True, kw_only=True):
    """The close message of a server."""

    code: Annotated[int, Meta(ge=1000, le=4999)]
    """The code of RFC 6455; 1005 if the server named none."""
    reason: str = ""
    """The server's text, of at most 123 bytes."""

    def __post_init__(self) -> None:
        if len(self.reason.encode()) > _MAX_REASON:
            raise ValueError(f"reason: a close message has room for {_MAX_REASON} bytes")


class Response(_Strict, frozen=True, kw_only=True):
    """The received response."""

    emulated: bool = False
    """True: the emulator answered, and not the vendor."""
    status: Annotated[int, Meta(ge=100, le=999)]
    """Status code."""
    headers: dict[str, str] = {}
    """Those of the allow-list, with names in lower case, sorted. Ids of requests are `***`."""
    decoded: str | UnsetType = UNSET
    """The content encoding of the received body. In the cassette and on replay the body is decoded
    (C-07).
    """
    redacted: list[str] | UnsetType = UNSET
    """JSON paths in the body, in its events or in received messages, whose values were replaced by
    `[redacted]`."""
    times: list[Annotated[int, Meta(ge=0)]] | UnsetType = UNSET
    """Milliseconds before each chunk of the body, the first since the request was sent (C-06)."""
    chunks: list[Annotated[int, Meta(ge=0)]] | UnsetType = UNSET
    """Bytes of each chunk, recorded with `times` if a chunk is not an event. They do not count
    after an edit that changed the length of the body."""
    body: Body | UnsetType = UNSET
    """Absent if no byte was received."""
    close: Close | UnsetType = UNSET
    """How the server closed a session."""
    end: End
    """How the body, or the session, ended."""

    def __post_init__(self) -> None:
        _check_paths(self.redacted)


class Message(_Strict, frozen=True, kw_only=True):
    """A message of a session."""

    direction: Direction
    """Who sent it: `sent` by the client or `received` from the server."""
    after: Annotated[int, Meta(ge=0)] | UnsetType = UNSET
    """Milliseconds since the message before; the first, since the request was sent (C-06)."""
    binary: bool = False
    """True: a binary message. Without it: a text message."""
    body: Body | UnsetType = UNSET
    """Absent if the message is empty."""

    def __post_init__(self) -> None:
        if self.body is not UNSET and self.body.events is not UNSET:
            raise ValueError("a message has no events: expected json, text, base64 or file")


class Interaction(_Strict, frozen=True, kw_only=True):
    """One request and its response, or one session over a WebSocket."""

    started: Annotated[int, Meta(ge=0, le=10**12)] | UnsetType = UNSET
    """Milliseconds from the first recorded request to this one (C-06)."""
    request: Request
    """The request that was sent."""
    response: Response
    """The response that was received."""
    messages: list[Message] | UnsetType = UNSET
    """The messages of a session in both directions, in the order in which the client sent and
    received them. Absent if the request opened none."""

    def __post_init__(self) -> None:
        response = self.response
        if self.messages is UNSET:
            if response.close is not UNSET:
                raise ValueError("close is allowed with messages only")
            return
        if response.status != 101 or response.body is not UNSET or self.request.body is not UNSET:
            raise ValueError("messages are allowed with status 101 only, without bodies")
        if (response.end == "eof") != (response.close is not UNSET):
            raise ValueError("a session with messages has a close if its end is eof, and else none")


class CassetteFile(_Strict, frozen=True, kw_only=True):
    """A recording: interactions in the order in which they were sent."""

    wire_cassette: Literal[1]
    """Version of the format."""
    interactions: list[Interaction]
    """In the order in which they were sent."""


# --- checks ---------------------------------------------------------------------------------------


def in_columns(content: bytes) -> Lines:
    """Encode base64 in lines of 76 columns."""
    text = base64.b64encode(content).decode()
    return [text[at : at + 76] for at in range(0, len(text), 76)]


def _only_one(struct: msgspec.Struct, forms: tuple[str, ...]) -> str:
    given = [form for form in forms if getattr(struct, form) is not UNSET]
    if len(given) != 1:
        raise ValueError(
            f"expected exactly one of {', '.join(forms)}, not {' and '.join(given) or 'none'}"
        )
    return given[0]


def _check_paths(paths: list[str] | UnsetType) -> None:
    for index, path in enumerate(paths or ()):
        try:
            parsed(path, f"redacted[{index}]")
        except ConfigurationError as cause:
            raise ValueError(cause.message) from None


def _check_base64(lines: Lines | UnsetType) -> None:
    if lines is not UNSET:
        try:
            binascii.a2b_base64("".join(lines), strict_mode=True)
        except ValueError as cause:  # UnicodeEncodeError too: a letter beyond ASCII
            raise ValueError(f"base64: {cause}") from None
