"""Searches an interaction for known secrets before it is written to a cassette (C-12).

A deny-list of header names or key patterns misses secrets in other positions. This module searches
for the values themselves: plain, percent-encoded, with the escapes of JSON, in base64 at every
alignment, wrapped over lines, and split over the events of a stream.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec
from msgspec import UNSET, UnsetType

from wire.core.credentials import (
    SHOWN,
    credentials_in,
    known_credential,
    secret_name,
    secret_parameter,
    secret_variable,
)
from wire.core.secret import in_base64
from wire.core.secret_fields import body_secrets
from wire.testing.cassette.format.bodies import body_bytes, event_bytes
from wire.testing.cassette.format.content_coding import decode_content
from wire.testing.cassette.format.file import Block
from wire.testing.cassette.format.file_position import Path, shown
from wire.testing.cassette.format.kept_headers import Headers
from wire.testing.cassette.format.structs import Body, Direction, Interaction

MIN_SECRET_LENGTH = 8
"""Characters of a secret in a header or URL.

A shorter value such as `test` is not searched for, since it occurs in many responses.
"""

_MIN_VARIABLE_LENGTH = 12
"""Characters of a secret in an environment variable."""
_SPACE = re.compile(r"\s+")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([\"\\/bfnrt]))")
_ESCAPED = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_MAX_ESCAPED = 3
"""Levels of escapes that are read. A body of escaped backslashes only would have thousands."""

Leaf = tuple[Path, str]


class Leak(NamedTuple):
    """A detected secret: its name, never its value, and its position."""

    secret: str
    position: str


class Known:
    """The known secrets by value, each with a name that error messages may show.

    >>> known = Known()
    >>> known.learn("fake-key-1234", "header x-api-key")
    >>> known.within("... ZmFrZS1rZXktMTIzNA== ...")
    'header x-api-key'
    """

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._needles: list[tuple[str, str]] = []

    def __len__(self) -> int:
        return len(self._names)

    def learn(self, value: str, name: str, shortest: int = MIN_SECRET_LENGTH) -> None:
        """Add a secret; `name` describes it in error messages."""
        if len(value) < shortest or value in self._names:
            return
        self._names[value] = name
        # A text is searched without its white space too: so is a secret of several lines.
        needles = dict.fromkeys((value, _SPACE.sub("", value), *in_base64(value.encode())))
        self._needles += [(needle, name) for needle in needles]

    def learn_request(self, url: str, headers: Headers, body: bytes = b"") -> None:
        """Add the secrets of a request: values of headers and query parameters with a key's name or
        form, those of the URL's user and path, and credentials in fields of the body.
        """
        for found in body_secrets(body):
            for word in found.words():
                self.learn(word, "a credential in the request's body")
        for name, value in headers:
            if secret_name(name) or known_credential(value):
                for secret in _header_secrets(name, value):
                    self.learn(secret, f"the value of header {name.lower()}")
        parts = urlsplit(url)
        self.learn(unquote(parts.password or ""), "the password in the URL")
        if not parts.password:  # a token; beside a password it is a name
            self.learn(unquote(parts.username or ""), "the user in the URL")
        for name, value in parse_qsl(parts.query):
            if secret_parameter(name, value):
                self.learn(value, f"the value of query parameter {name}")
        for form, match in credentials_in(unquote(parts.path)):
            if (
                form.begin
            ):  # else a part of it that is public, such as the first line of a PEM block
                self.learn(match[0], "a key in the URL's path")

    def learn_environment(self, environment: Mapping[str, str]) -> None:
        """Add the values of variables that hold credentials by their names."""
        for name, value in environment.items():
            if secret_variable(name):
                self.learn(value.strip(), f"environment variable {name}", _MIN_VARIABLE_LENGTH)

    def within(self, text: str) -> str | None:
        """Return the name of the first secret that `text` contains in any form, else `None`."""
        return next(
            (name for form in _forms(text) for needle, name in self._needles if needle in form),
            None,
        )

    def masked(self, text: str) -> str:
        """Replace secrets in `text` by `***`, for an error message."""
        for needle, _ in sorted(self._needles, key=lambda each: -len(each[0])):
            text = text.replace(needle, SHOWN)
        return SHOWN if self.within(text) else text

    def leak(self, interaction: Interaction, block: Block) -> Leak | None:
        """Return the first secret in an interaction; `block` is what would be written of it."""
        if not self._names:
            return None
        parts = list(_parts(interaction, block))
        if self.within("\0".join(part.text for part in parts)) is None:
            return None  # the usual case: one search of all text costs a tenth of one per part
        for part in parts:
            secret = self.within(part.text)
            if secret is not None:
                return Leak(
                    secret,
                    self.masked(part.words + (shown(part.path) if part.path is not None else "")),
                )
        return None


def _forms(text: str) -> Iterator[str]:
    for form in unescaped(text):
        yield form
        if _SPACE.search(form):
            yield _SPACE.sub("", form)


def unescaped(text: str) -> Iterator[str]:
    r"""Yield a text, and what it is without percent-encoding and without the escapes of JSON.

    >>> list(unescaped(r"a\u0062%63"))
    ['a\\u0062%63', 'a\\u0062c', 'ab%63']
    """
    yield text
    if "%" in text:
        yield unquote(text)
    # JSON in a text of JSON, such as a piece of the arguments of a call, has escapes of its own.
    for _ in range(_MAX_ESCAPED):
        if "\\" not in text or (plain := _ESCAPE.sub(_character, text)) == text:
            return
        text = plain
        yield text


def _character(escape: re.Match[str]) -> str:
    return chr(int(escape[1], 16)) if escape[1] else _ESCAPED.get(escape[2], escape[2])


def _header_secrets(name: str, value: str) -> Iterator[str]:
    """Yield the secret parts of a header's value.

    These are the complete value, the credentials after a scheme, the password of Basic, and the
    values of cookies.
    """
    scheme, _, rest = value.strip().partition(" ")
    yield value.strip()
    if "=" in value and (";" in value or "cookie" in name.lower()):
        yield from (each.partition("=")[2].strip() for each in value.split(";"))
    elif rest:
        yield rest.strip()
        if scheme.lower() == "basic":
            try:
                yield base64.b64decode(rest).decode().partition(":")[2]
            except ValueError:
                pass  # not base64: the value itself is yielded already


# --- where to search ------------------------------------------------------------------------------


class _Part(NamedTuple):
    """A text to search and its position: a description and a JSON path.

    The path is formatted only when a secret was detected, since there is one for each value.
    """

    text: str
    words: str
    path: Path | None = None


def _parts(interaction: Interaction, block: Block) -> Iterator[_Part]:
    """Yield the texts of an interaction with their positions, the most exact position first."""
    request, response = interaction.request, interaction.response
    yield _Part(request.url, "the request's URL")
    yield _Part(request.method, "the request's method")
    for who, headers in (("request", request.headers), ("response", response.headers)):
        for name, value in headers.items():
            yield _Part(value, f"the {who}'s header {name}")
    yield from _body_parts("the request's", request.body)
    yield from _body_parts("the response's", response.body)
    yield from _message_parts(interaction)
    for who, part in (("request", request), ("response", response)):
        # A body that stayed compressed, as one that is broken does.
        coding = part.headers.get("content-encoding", "").strip().lower()
        found = decode_content(coding, body_bytes(part.body)) if coding else None
        if found is not None:
            yield _Part(_text(found.content), f"the {who}'s body, decoded")
    for digest, content in block.files.items():
        yield _Part(_text(content), f"the side file {digest}")
    yield _Part(block.text, "the interaction")


def _body_parts(whose: str, body: Body | UnsetType) -> Iterator[_Part]:
    if body is UNSET:
        return
    if body.events is UNSET:
        data = body_bytes(body)
        leaves = list(_leaves(data))
        for path, leaf in leaves:
            yield _Part(leaf, f"{whose} body, ", path)
        yield _Part(_text(data), f"{whose} body")
        yield _Part("".join(leaf for _, leaf in leaves), f"{whose} body, over several values")
        return
    events = [event_bytes(event, body) for event in body.events]
    all_leaves: list[Leaf] = []
    for number, (event, data) in enumerate(zip(body.events, events, strict=True)):
        leaves = (
            list(_leaves(bytes(event.json)))
            if isinstance(event.json, msgspec.Raw)
            else [(("data",), event.data or "")]
        )
        all_leaves += leaves
        for path, leaf in leaves:
            yield _Part(leaf, f"{whose} event {number}, ", path)
        yield _Part(_text(data), f"{whose} event {number}")
    yield _Part(_text(b"".join(events)), f"{whose} body, over several events")
    yield from _split_texts(f"{whose} body,", all_leaves)


def _message_parts(interaction: Interaction) -> Iterator[_Part]:
    """Yield the texts of the messages of a session, and what they have together."""
    together: dict[Direction, list[Leaf]] = {"sent": [], "received": []}
    whole: dict[Direction, list[bytes]] = {"sent": [], "received": []}
    for number, message in enumerate(interaction.messages or ()):
        data = body_bytes(message.body)
        leaves = list(_leaves(data))
        together[message.direction] += leaves
        whole[message.direction].append(data)
        for path, leaf in leaves:
            yield _Part(leaf, f"the {message.direction} message {number}, ", path)
        yield _Part(_text(data), f"the {message.direction} message {number}")
    for direction, found in together.items():
        yield _Part(_text(b"".join(whole[direction])), f"several {direction} messages")
        yield from _split_texts(f"the {direction} messages,", found)


def _split_texts(whose: str, leaves: Iterable[Leaf]) -> Iterator[_Part]:
    """Join the texts that a client joins from events: those with one path, and those whose paths
    differ only in list indexes.
    """
    together: dict[Path, list[str]] = {}
    for path, text in leaves:
        together.setdefault(path, []).append(text)
        anywhere = tuple("*" if isinstance(step, int) else step for step in path)
        if anywhere != path:
            together.setdefault(anywhere, []).append(text)
    for path, texts in together.items():
        yield _Part("".join(texts), f"{whose} over several events at ", path)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _leaves(data: bytes) -> Iterator[Leaf]:
    """Yield every string of a JSON value, including keys, with its path."""
    try:
        value = msgspec.json.decode(data)
    except (ValueError, RecursionError):
        return
    todo: list[tuple[Path, Any]] = [((), value)]
    while todo:
        path, value = todo.pop()
        if isinstance(value, str):
            yield path, value
        elif isinstance(value, dict):
            for key, item in reversed(value.items()):
                todo.append(((*path, key), item))
            for key in value:
                yield path, key
        elif isinstance(value, list):
            todo += [((*path, index), item) for index, item in reversed(list(enumerate(value)))]
