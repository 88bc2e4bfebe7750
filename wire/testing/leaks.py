"""The values that nobody else may know, and whether one of them stands in what is about to be
written (C-12).

Names of headers and patterns of keys find the secrets that somebody thought of. This searches for
the very values: as they are, percent-encoded, in base64 at every alignment, wrapped over lines, and
dealt out over the events of a stream.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec
from msgspec import UNSET, UnsetType

from wire.testing.bodies import body_bytes, event_bytes
from wire.testing.cassette import Body, Interaction
from wire.testing.file_position import Path, shown
from wire.testing.written_headers import SHOWN, Headers, key_like

SHORTEST = 8
"""Letters of a key in a header or URL below which it is not searched for: `test` is no secret, and
stands in many answers.
"""

_SHORTEST_OF_ENVIRONMENT = 12
_VARIABLE = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
_SPACE = re.compile(r"\s+")

Leaf = tuple[Path, str]


class Leak(NamedTuple):
    """A secret, by what it is, and where it stands."""

    secret: str
    place: str


class Known:
    """Secrets by value; a message may say what each of them is, never its value.

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

    def learn(self, value: str, name: str, shortest: int = SHORTEST) -> None:
        """Search for `value` from now on; `name` says what it is."""
        if len(value) < shortest or value in self._names:
            return
        self._names[value] = name
        self._needles += [(needle, name) for needle in (value, *_in_base64(value.encode()))]

    def learn_request(self, url: str, headers: Headers) -> None:
        """Learn the keys of a request: in headers whose names say so, in its URL."""
        for name, value in headers:
            if key_like(name):
                for secret in _header_secrets(value):
                    self.learn(secret, f"the value of header {name.lower()}")
        parts = urlsplit(url)
        self.learn(unquote(parts.password or ""), "the password in the URL")
        for name, value in parse_qsl(parts.query):
            if key_like(name):
                self.learn(value, f"the value of query parameter {name}")

    def learn_environment(self, environment: Mapping[str, str]) -> None:
        """Learn the values of variables named ...KEY, ...TOKEN, ...SECRET, ...PASSWORD."""
        for name, value in environment.items():
            if _VARIABLE.search(name):
                self.learn(value.strip(), f"environment variable {name}", _SHORTEST_OF_ENVIRONMENT)

    def within(self, text: str) -> str | None:
        """What the first secret is that stands in `text`, in any form."""
        return next(
            (name for form in _forms(text) for needle, name in self._needles if needle in form),
            None,
        )

    def masked(self, text: str) -> str:
        """`text` without secrets, for a message."""
        for needle, _ in sorted(self._needles, key=lambda each: -len(each[0])):
            text = text.replace(needle, SHOWN)
        return SHOWN if self.within(text) else text

    def leak(self, interaction: Interaction, text: str) -> Leak | None:
        """The first secret in an interaction, `text` being what would be written of it."""
        if not self._names:
            return None
        parts = list(_parts(interaction, text))
        if self.within("\0".join(part.text for part in parts)) is None:
            return None  # mostly so; one search of everything costs a tenth of one for each part
        for part in parts:
            found = self.within(part.text)
            if found is not None:
                return Leak(
                    found,
                    self.masked(part.words + (shown(part.path) if part.path is not None else "")),
                )
        return None


def _forms(text: str) -> Iterator[str]:
    yield text
    if "%" in text:
        yield unquote(text)
    if _SPACE.search(text):
        yield _SPACE.sub("", text)


def _in_base64(value: bytes) -> Iterator[str]:
    """The letters that base64 has for `value` wherever it stands in what is encoded, in both
    alphabets.
    """
    for before, skipped in ((0, 0), (1, 2), (2, 3)):
        whole = (before + len(value)) * 8 // 6
        text = base64.b64encode(b"\0" * before + value).decode()[skipped:whole]
        yield text
        if "+" in text or "/" in text:
            yield text.translate(str.maketrans("+/", "-_"))


def _header_secrets(value: str) -> Iterator[str]:
    """Parts of a header's value that are secret: what follows a scheme, the password of Basic, the
    values of cookies.
    """
    scheme, _, rest = value.strip().partition(" ")
    yield value.strip()
    if "=" in value and ";" in value:
        yield from (each.partition("=")[2].strip() for each in value.split(";"))
    elif rest:
        yield rest.strip()
        if scheme.lower() == "basic":
            try:
                yield base64.b64decode(rest).decode().partition(":")[2]
            except ValueError:
                pass  # no base64: then the whole was searched for


# --- where to search ------------------------------------------------------------------------------


class _Part(NamedTuple):
    """A text to search, and its place: words, and a path that is only written out when something
    was found.
    """

    text: str
    words: str
    path: Path | None = None


def _parts(interaction: Interaction, text: str) -> Iterator[_Part]:
    """Texts of an interaction with their places, the most exact place first."""
    request, response = interaction.request, interaction.response
    yield _Part(request.url, "the request's URL")
    yield _Part(request.method, "the request's method")
    for who, headers in (("request", request.headers), ("response", response.headers)):
        for name, value in headers.items():
            yield _Part(value, f"the {who}'s header {name}")
    yield from _body_parts("the request's", request.body)
    yield from _body_parts("the response's", response.body)
    yield _Part(text, "the interaction")


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
    found: list[Leaf] = []
    for number, (event, data) in enumerate(zip(body.events, events, strict=True)):
        leaves = (
            list(_leaves(bytes(event.json)))
            if isinstance(event.json, msgspec.Raw)
            else [(("data",), event.data or "")]
        )
        found += leaves
        for path, leaf in leaves:
            yield _Part(leaf, f"{whose} event {number}, ", path)
        yield _Part(_text(data), f"{whose} event {number}")
    yield _Part(_text(b"".join(events)), f"{whose} body, over several events")
    yield from _dealt_out(whose, found)


def _dealt_out(whose: str, found: Iterable[Leaf]) -> Iterator[_Part]:
    """The texts that a reader puts together from events: those of one path, and of one path
    whatever its indexes.
    """
    together: dict[Path, list[str]] = {}
    for path, text in found:
        together.setdefault(path, []).append(text)
        anywhere = tuple("*" if isinstance(step, int) else step for step in path)
        if anywhere != path:
            together.setdefault(anywhere, []).append(text)
    for path, texts in together.items():
        yield _Part("".join(texts), f"{whose} body, over several events at ", path)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _leaves(data: bytes) -> Iterator[Leaf]:
    """Every text of a JSON value with its path, keys too."""
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
